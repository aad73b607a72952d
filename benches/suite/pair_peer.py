"""TRL's preparation of preference data for DPOTrainer: its own functions, mapped over the rows of a dataset as it does.

    python pair_peer.py make CHATS.ndjson OUT.ndjson     preference data of chats of texts alone
    python pair_peer.py trl MODEL PAIRS.ndjson OUT       the ids of all pairs, 4 bytes each
    python pair_peer.py ours OUT < PAIRS.arrows

What the template prints behind the stop token is left out of the ids, since the model does not generate it.
"""

import array
import importlib.util
import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"


def make(chats, out):
    with open(chats) as lines, open(out, "w") as file:
        before = None
        for line in lines:
            messages = json.loads(line)["messages"]
            while messages and messages[-1]["role"] != "assistant":
                messages.pop()
            if len(messages) < 2:
                continue
            other, before = before, messages[-1]
            if other and other != before:
                record = {"prompt": messages[:-1], "chosen": [before], "rejected": [other]}
                file.write(json.dumps(record, ensure_ascii=False) + "\n")


def of_trl(*names):
    """Functions of trl.data_utils, which imports torch."""
    home = os.path.dirname(importlib.util.find_spec("trl").origin)
    source = open(os.path.join(home, "data_utils.py")).read()
    found = {"ProcessorMixin": ()}
    for name in names:
        start = source.index(f"def {name}(")
        exec("from __future__ import annotations\n" + source[start : source.find("\n\n\n", start)], found)
    return [found[name] for name in names]


def trl(model, pairs, out):
    import datasets
    from transformers import AutoTokenizer

    datasets.disable_progress_bars()
    tokenizer = AutoTokenizer.from_pretrained(model)
    tokenize, common_prefix_length = of_trl("_tokenize", "common_prefix_length")

    def tokenize_fn(example, processing_class):
        prompt_ids = tokenize(processing_class, example["prompt"], add_generation_prompt=True)["input_ids"]
        chosen = tokenize(processing_class, example["prompt"] + example["chosen"])["input_ids"]
        rejected = tokenize(processing_class, example["prompt"] + example["rejected"])["input_ids"]
        length = min(common_prefix_length(prompt_ids, chosen), common_prefix_length(prompt_ids, rejected))
        return {"prompt_ids": prompt_ids[:length], "chosen_ids": chosen[length:], "rejected_ids": rejected[length:]}

    rows = datasets.load_dataset("json", data_files=pairs, split="train", cache_dir=f"{out}.cache")
    rows = rows.map(tokenize_fn, fn_kwargs={"processing_class": tokenizer}, load_from_cache_file=False)
    with open(out, "wb") as file:
        for row in rows:
            file.write(array.array("i", row["prompt_ids"]).tobytes())
            for ids in (row["chosen_ids"], row["rejected_ids"]):
                while ids[-1] not in tokenizer.all_special_ids:
                    ids.pop()
                file.write(array.array("i", ids).tobytes())


def ours(out):
    import pyarrow as pa

    with open(out, "wb") as file:
        for batch in pa.ipc.open_stream(sys.stdin.buffer):
            for row in zip(*(batch.column(name).to_pylist() for name in ("prompt", "chosen", "rejected"))):
                for ids in row:
                    file.write(array.array("i", ids).tobytes())


{"make": make, "trl": trl, "ours": ours}[sys.argv[1]](*sys.argv[2:])
