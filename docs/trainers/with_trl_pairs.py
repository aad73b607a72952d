"""TRL on CPU: two steps of DPOTrainer, RewardTrainer and KTOTrainer on pairs; their batches hold the ids of the pairs.

python docs/trainers/with_trl_pairs.py pairs.ndjson dpo.parquet reward.parquet kto.parquet
"""

import json
import sys
import tempfile

import torch
from datasets import load_dataset
from transformers import LlamaConfig, LlamaForCausalLM, LlamaForSequenceClassification
from trl import DPOConfig, DPOTrainer, KTOConfig, KTOTrainer, RewardConfig, RewardTrainer

import tiny

pairs, *files = sys.argv[1:]
pairs = [json.loads(line) for line in open(pairs)]
SIZE = 2


def model(kind, **options):
    torch.manual_seed(1)
    largest = max(max(pair[part]) for pair in pairs for part in ("prompt", "chosen", "rejected"))
    config = LlamaConfig(
        vocab_size=largest + 1, hidden_size=8, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        pad_token_id=0, **options,
    )  # fmt: skip
    return kind(config)


def batches(trainer_of, config_of, data, own_model, **models):
    """Two steps; returns the batches that the model was given, as lists without padding."""
    seen = []

    class Prepared(trainer_of):
        def _prepare_dataset(self, dataset, processing_class, args, dataset_name):
            if trainer_of is RewardTrainer:
                return super()._prepare_dataset(dataset, processing_class, args, dataset_name)
            if trainer_of is DPOTrainer:
                return dataset
            turned = lambda rows: {"KL_completion_ids": rows["completion_ids"][-1:] + rows["completion_ids"][:-1]}
            return dataset.map(turned, batched=True, batch_size=args.per_device_train_batch_size)

        def training_step(self, model, inputs, *rest, **named):
            seen.append({name: of.tolist() for name, of in inputs.items() if torch.is_tensor(of)})
            loss = super().training_step(model, inputs, *rest, **named)
            assert torch.isfinite(loss), loss
            return loss

        # (In the order of the file, so that it is known what is in a step.)
        def _get_train_sampler(self, *_):
            return range(2 * SIZE)

    with tempfile.TemporaryDirectory() as folder:
        config = config_of(
            output_dir=folder, max_steps=2, per_device_train_batch_size=SIZE, logging_steps=1, report_to=[], use_cpu=True,
            bf16=False, gradient_checkpointing=False, max_length=None,
        )  # fmt: skip
        Prepared(own_model, args=config, train_dataset=data, processing_class=tiny.tokenizer(), **models).train()
    assert len(seen) == 2, len(seen)
    return seen


def rows(batch, prefix=""):
    """Each row without its padding, and the part of it that counts."""
    masks = batch.get(prefix + "completion_mask") or batch[prefix + "attention_mask"]
    kept = zip(batch[prefix + "input_ids"], batch[prefix + "attention_mask"], masks)
    for ids, attended, counts in kept:
        own = [(token, count) for token, is_there, count in zip(ids, attended, counts) if is_there]
        yield [token for token, _ in own], [token for token, count in own if count]


def load(path):
    return load_dataset("parquet", data_files=path, split="train")


dpo, reward, kto = map(load, files)
steps = [pairs[:SIZE], pairs[SIZE : 2 * SIZE]]

for step, batch in enumerate(batches(DPOTrainer, DPOConfig, dpo, model(LlamaForCausalLM), ref_model=model(LlamaForCausalLM))):
    wanted = [(pair["prompt"] + pair[name], pair[name]) for name in ("chosen", "rejected") for pair in steps[step]]
    assert list(rows(batch)) == wanted, step
    print(f"DPOTrainer takes the pairs, step {step}: {len(wanted)} answers")

classifier = model(LlamaForSequenceClassification, num_labels=1)
for step, batch in enumerate(batches(RewardTrainer, RewardConfig, reward, classifier)):
    wanted = [pair["prompt"] + pair[name] for name in ("chosen", "rejected") for pair in steps[step]]
    assert [ids for ids, _ in rows(batch)] == wanted, step
    print(f"RewardTrainer takes the pairs, step {step}: {len(wanted)} answers")

for step, batch in enumerate(batches(KTOTrainer, KTOConfig, kto, model(LlamaForCausalLM), ref_model=model(LlamaForCausalLM))):
    wanted = [(pair["prompt"] + pair["chosen"], pair["chosen"]) for pair in steps[step]]
    assert list(rows(batch)) == wanted, step
    # The prompt with the answer to the prompt before it.
    turned = [steps[step][at - 1]["chosen"] for at in range(SIZE)]
    others = [(pair["prompt"] + other, other) for pair, other in zip(steps[step], turned)]
    assert list(rows(batch, "KL_")) == others, step
    print(f"KTOTrainer takes the pairs, step {step}: {len(wanted)} answers, {len(others)} for its KL term")
