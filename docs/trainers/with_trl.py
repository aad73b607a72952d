"""TRL on CPU: two steps of SFTTrainer on unpacked rows, two on packed rows.

python docs/trainers/with_trl.py ROOT/train/shard_00 rows.parquet packed.parquet
"""

import sys
import tempfile

from datasets import load_dataset
from transformers import TrainerCallback
from trl import SFTConfig, SFTTrainer

import tiny

prefix, rows, packed = sys.argv[1:]
of = tiny.sequences(prefix)


class Losses(TrainerCallback):
    def __init__(self):
        self.losses = []

    def on_log(self, args, state, control, logs=None, **_):
        if "loss" in (logs or {}):
            self.losses.append(logs["loss"])


def train(path, size, **options):
    """The losses of two steps; with a rate of 0 the model stays as it is."""
    data = load_dataset("parquet", data_files=path, split="train").select(range(2 * size))
    with tempfile.TemporaryDirectory() as folder:
        config = SFTConfig(
            output_dir=folder, max_steps=2, per_device_train_batch_size=size, learning_rate=0.0,
            logging_steps=1, report_to=[], use_cpu=True, bf16=False, shuffle_dataset=False,
            gradient_checkpointing=False,
            # What must be set: without it rows are cut after 1024 tokens.
            max_length=None, packing=False, **options,
        )  # fmt: skip
        seen = Losses()
        trainer = SFTTrainer(tiny.model(of), config, train_dataset=data, callbacks=[seen],
                             processing_class=tiny.tokenizer())  # fmt: skip
        # In the order of the file, so that it is known what is in a step.
        trainer._get_train_sampler = lambda *_: range(2 * size)
        trainer.train()
    return seen.losses, data


model = tiny.model(of)
losses, data = train(rows, 2)
steps = [[tiny.found(of, row["input_ids"]) for row in data.select(range(at, at + 2))] for at in (0, 2)]
tiny.same("rows", losses, [tiny.expected(model, step) for step in steps])

# Rows that were packed before: padding_free makes the positions from seq_lengths.
losses, data = train(packed, 1, padding_free=True)
steps = []
for row in data:
    at, step = 0, []
    for length in row["seq_lengths"]:
        step.append(tiny.found(of, row["input_ids"][at : at + length]))
        at += length
    steps.append(step)
tiny.same("packed rows", losses, [tiny.expected(model, step) for step in steps])
