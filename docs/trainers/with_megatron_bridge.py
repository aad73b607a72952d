"""Megatron-Bridge on CPU: its own packed dataset makes the batches of two steps of our rows.

python docs/trainers/with_megatron_bridge.py ROOT/train/shard_00 train.idx.parquet

The release on PyPI reads `.npy` files of the same rows; its class is given the rows of the Parquet file
(versions after 0.3 read that themselves). Its training needs a GPU; the model here is a small one.
"""

import importlib.util
import sys
import types
from pathlib import Path

import pyarrow.parquet as pq
import torch
from transformers import AutoTokenizer

import tiny

prefix, path = sys.argv[1:]


def packed_dataset_class():
    """The class without the rest of the package, which needs CUDA."""
    folder = Path(importlib.util.find_spec("megatron.core").submodule_search_locations[0]).parent
    for name in ("bridge", "bridge.data", "bridge.data.datasets", "bridge.training"):
        package = types.ModuleType(f"megatron.{name}")
        package.__path__ = [str(folder / name.replace(".", "/"))]
        sys.modules[package.__name__] = package
    # Of tokenizers and helpers only the names are needed where batches are made.
    class Named(types.ModuleType):
        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return type(name, (), {})

    for name in ("training.tokenizers", "training.tokenizers.tokenizer", "data.datasets.utils"):
        sys.modules[f"megatron.bridge.{name}"] = Named(name)
    from megatron.bridge.data.datasets.sft import GPTSFTPackedDataset

    return GPTSFTPackedDataset


# A root keeps its tokenizer; that of gpt-oss is part of gristmill, and its sequences end in <|return|>.
kept = Path(prefix).parent.parent / "tokenizer"
eos_id = AutoTokenizer.from_pretrained(kept).eos_token_id if kept.exists() else 200_002

rows = pq.read_table(path).to_pylist()
of = tiny.sequences(prefix)
dataset = packed_dataset_class().__new__(packed_dataset_class())
longest = max(len(row["input_ids"]) for row in rows)
vars(dataset).update(
    indexed_dataset=rows, samples_mapping=None, answer_only_loss=True, pad_to_max_length=False, ceil_to_power_2=False,
    max_seq_length=-(-longest // 16) * 16, pad_seq_length_to_mult=16, _pad_seq_to_mult=1,
    pad_cu_seqlens=False, return_cu_seqlen=True, pack_metadata=None,
    tokenizer=types.SimpleNamespace(eos_id=eos_id),
)  # fmt: skip

model = tiny.model(of)
for step in range(2):
    row = dataset[step]
    batch = dataset.collate_fn([row])
    with torch.no_grad():
        inputs = {"input_ids": batch["tokens"], "position_ids": batch["position_ids"]}
        logits = model(**inputs, use_cache=False).logits[0]
    losses = torch.nn.functional.cross_entropy(logits, batch["labels"][0], reduction="none")
    mask = batch["loss_mask"][0]
    loss = (losses * mask).double().sum() / mask.sum()
    ends = row["seq_boundaries"]
    pieces = [row["input_ids"][start:end] for start, end in zip(ends, ends[1:])]
    wanted = tiny.expected(model, [tiny.found(of, piece) for piece in pieces])
    tiny.same(f"row {step}", [loss.item()], [wanted])
