"""LLaMA-Factory on CPU: its own loader and collator on a folder of --form llama-factory, two losses.

python docs/trainers/with_llama_factory.py ROOT/train/shard_00 FOLDER
"""

import sys

from llamafactory.data.data_utils import get_dataset_module
from llamafactory.extras.misc import has_tokenized_data
from datasets import load_from_disk
from transformers import DataCollatorForSeq2Seq

import tiny

prefix, folder = sys.argv[1:]
of = tiny.sequences(prefix)
model = tiny.model(of)

# As llamafactory.data.loader.get_dataset does with tokenized_path.
assert has_tokenized_data(folder)
data = get_dataset_module(load_from_disk(folder))["train_dataset"]
# What its SFT collator does with texts alone.
collate = DataCollatorForSeq2Seq(tiny.tokenizer(), label_pad_token_id=-100, padding=True)
losses, steps = [], []
for at in (0, 2):
    rows = [data[at], data[at + 1]]
    losses.append(model(**collate(rows)).loss.item())
    steps.append([tiny.found(of, row["input_ids"]) for row in rows])
tiny.same("rows", losses, [tiny.expected(model, step) for step in steps])
