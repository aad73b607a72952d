"""Axolotl on CPU: its own check takes the rows as tokenized, and its own collator (multipack) makes the
batches of two steps of them. (The whole package needs a GPU for its kernels; these parts do not.)

python docs/trainers/with_axolotl.py ROOT/train/shard_00 rows.parquet
"""

import ast
import importlib.util
import sys
from pathlib import Path

import torch
from datasets import Dataset, IterableDataset, load_dataset

import tiny

prefix, path = sys.argv[1:]
package = Path(importlib.util.find_spec("axolotl").submodule_search_locations[0])


def function(file, name, **names):
    """A function of a file of the package, without what else the file imports."""
    tree = ast.parse((package / file).read_text())
    own = [node for node in tree.body if getattr(node, "name", None) == name]
    exec(compile(ast.Module(own, []), file, "exec"), names)
    return names[name]


def module(file):
    spec = importlib.util.spec_from_file_location(Path(file).stem, package / file)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


data = load_dataset("parquet", data_files=path, split="train")
types = {"Dataset": Dataset, "IterableDataset": IterableDataset}
assert function("utils/data/wrappers.py", "_is_dataset_already_tokenized", **types)(data)
print("Axolotl takes the rows as tokenized")

# sample_packing: true: several rows are put together, their positions begin anew (add_position_ids).
collator = module("utils/collators/batching.py").V2BatchSamplerDataCollatorForSeq2Seq
collate = collator(tiny.tokenizer())
of = tiny.sequences(prefix)
model = tiny.model(of)
for step in range(2):
    rows = [data[2 * step], data[2 * step + 1]]
    for row in rows:
        row["position_ids"] = list(range(len(row["input_ids"])))
    batch = collate([rows])
    # Axolotl's attention reads the number of each row in attention_mask; without it transformers takes
    # the positions, where there is no cache of keys.
    inputs = {name: batch[name] for name in ("input_ids", "labels", "position_ids")}
    with torch.no_grad():
        loss = model(**inputs, use_cache=False).loss.item()
    wanted = tiny.expected(model, [tiny.found(of, row["input_ids"]) for row in rows])
    tiny.same(f"step {step}", [loss], [wanted])
