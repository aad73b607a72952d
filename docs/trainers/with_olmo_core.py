"""OLMo-core on CPU: its own dataset and labels on a folder of --form olmo-core, two losses.

python docs/trainers/with_olmo_core.py ROOT/train/shard_00 FOLDER
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from olmo_core.data.numpy_dataset import NumpyPackedFSLDataset
from olmo_core.data.utils import get_document_indices, get_labels

import tiny

prefix, folder = sys.argv[1:]
of = tiny.sequences(prefix)
model = tiny.model(of)
tokens = sorted(map(str, Path(folder).glob("token_ids_part_*.npy")))
masks = sorted(map(str, Path(folder).glob("labels_mask_part_*.npy")))
longest = max(end - start for start, end in get_document_indices(tokens[0]))
with tempfile.TemporaryDirectory() as work:
    data = NumpyPackedFSLDataset(
        *tokens, label_mask_paths=masks, dtype=np.uint32, sequence_length=1 << int(longest - 1).bit_length(), pad_token_id=0,
        eos_token_id=0, vocab_size=201_088, generate_doc_lengths=True, use_array_if_local=False,
    )  # fmt: skip
    data.work_dir = Path(work)
    data.prepare()
    losses, steps = [], []
    for row in (data[0], data[1]):
        ids, labels = row["input_ids"].long(), get_labels({"input_ids": row["input_ids"][None].long(), "label_mask": row["label_mask"][None]})[0]
        total, count, at, step = 0.0, 0, 0, []
        for length in row["doc_lens"].tolist():
            document = ids[at : at + length]
            if length > 1 and document.any():
                # Labels are moved by one already; the last of a document is of the next one.
                wanted = labels[at : at + length - 1]
                logits = model(input_ids=document[None]).logits[0][:-1]
                each = torch.nn.functional.cross_entropy(logits, wanted, ignore_index=-100, reduction="none")
                total, count = total + each.double().sum().item(), count + int((wanted != -100).sum())
                step.append(tiny.found(of, document))
            at += length
        losses.append(total / count)
        steps.append(step)
    tiny.same("packed rows", losses, [tiny.expected(model, step) for step in steps])
