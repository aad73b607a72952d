"""The loss on several ranks equals that of one: real processes, gloo, DistributedDataParallel.

Run with arguments this file is one of the ranks: RANK WORLD STORE FILE.
"""

import json
import subprocess
import sys
import tempfile
import unittest
from datetime import timedelta
from pathlib import Path

import numpy as np

try:
    import torch
    from torch import distributed
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise unittest.SkipTest("torch is not installed: the loss is not tested on ranks") from None

from gristmill_data.loss import global_span_counts, megatron_loss_func, span_normalized_loss
from gristmill_data.loss_log import ReportReducer

WEIGHTS = {"w_reasoning": 0.5, "w_final": 2.0}
WIDTH = 5


def batches():
    """The microbatches of each rank in each of the jobs: x [B, S, WIDTH], mask, span."""
    random = np.random.default_rng(12)

    def batch(rows, spans):
        x = torch.from_numpy(random.normal(size=(rows, 6, WIDTH)))
        mask = torch.from_numpy(random.integers(0, 2, (rows, 6)).astype(np.float32))
        return x, mask, torch.from_numpy(random.choice(spans, (rows, 6)))

    both, no_reasoning, nothing = [0, 1, 2], [0, 2], [0]
    return {
        "even": [[batch(2, both), batch(2, both)], [batch(2, both), batch(2, both)]],
        "a rank without reasoning": [[batch(3, both)] * 2, [batch(2, no_reasoning)] * 2],
        "a rank without a span": [[batch(1, both)] * 2, [batch(4, nothing)] * 2],
        "no rank has a final": [[batch(1, [1])] * 2, [batch(2, [0, 1])] * 2],
        "uneven": [[batch(2, both), batch(1, both), batch(5, both)], [batch(1, both)]],
    }


def model():
    torch.manual_seed(13)
    return torch.nn.Sequential(
        torch.nn.Linear(WIDTH, 7), torch.nn.Tanh(), torch.nn.Linear(7, 1)
    ).double()


def losses_of(network, x):
    return network(x).squeeze(-1) ** 2


def rank_step(network, microbatches, way):
    """One step on this rank. Gives its loss and leaves its gradients."""
    counts = global_span_counts([batch[1:] for batch in microbatches])
    reducer, total = ReportReducer(), 0.0
    for number, (x, mask, span) in enumerate(microbatches, 1):
        last = number == len(microbatches)
        losses = losses_of(network if last else network.module, x)
        options = {"normalize": "global", "global_counts": counts, **WEIGHTS}
        if way == "averaged":
            options["num_microbatches"] = len(microbatches)
            loss, tokens, report = megatron_loss_func(mask, span, losses, **options)
            loss = loss / tokens.clamp(min=1) / len(microbatches)
        else:
            loss, report = span_normalized_loss(losses, mask, span, **options)
        if last:
            loss.backward()
        else:
            accumulate(network, loss)
        total += loss.item()
        reducer.add(report)
    reducer.all_reduce()
    log = reducer.training_log()
    return total, log


def accumulate(network, loss):
    """Adds gradients without a word to the other ranks, as `no_sync` does."""
    with network.no_sync():
        loss.backward()


def rank(number, world, store, target):
    distributed.init_process_group(
        "gloo",
        init_method=f"file://{store}",
        rank=number,
        world_size=world,
        timeout=timedelta(seconds=300),
    )
    results = {}
    for name, ranks in batches().items():
        for way in ("averaged", "added"):
            if way == "averaged" and name == "uneven":
                continue
            network = torch.nn.parallel.DistributedDataParallel(model())
            # A forward through the wrapper prepares its hooks.
            value, log = rank_step(network, ranks[number], way)
            gradients = [p.grad.ravel().tolist() for p in network.parameters()]
            results[f"{name}, {way}"] = {"loss": value, "log": log, "gradients": sum(gradients, [])}
    Path(target).write_text(json.dumps(results))
    distributed.destroy_process_group()


def alone(ranks):
    """All tokens of all ranks in one call."""
    network = model()
    every = [batch for microbatches in ranks for batch in microbatches]
    losses = torch.cat([losses_of(network, x).ravel() for x, _, _ in every])
    mask = torch.cat([mask.ravel() for _, mask, _ in every])
    span = torch.cat([span.ravel() for _, _, span in every])
    loss, report = span_normalized_loss(losses, mask, span, **WEIGHTS)
    loss.backward()
    reducer = ReportReducer()
    reducer.add(report)
    gradients = torch.cat([p.grad.ravel() for p in network.parameters()])
    return loss.item(), reducer.training_log(), gradients.numpy()


class RanksTest(unittest.TestCase):
    def run_ranks(self, world):
        with tempfile.TemporaryDirectory() as directory:
            targets = [Path(directory, f"{number}.json") for number in range(world)]
            ranks = []
            for number, target in enumerate(targets):
                command = [sys.executable, __file__, number, world, f"{directory}/store", target]
                ranks.append(
                    subprocess.Popen(
                        [str(word) for word in command], stderr=subprocess.PIPE, text=True
                    )
                )
            errors = [process.communicate()[1] for process in ranks]
            for process, error in zip(ranks, errors):
                self.assertEqual(process.returncode, 0, error)
            return [json.loads(target.read_text()) for target in targets]

    def test_two_ranks_equal_one(self):
        results = self.run_ranks(2)
        for name, ranks in batches().items():
            value, log, gradients = alone(ranks)
            for way in ("averaged", "added"):
                key = f"{name}, {way}"
                if key not in results[0]:
                    continue
                with self.subTest(key):
                    # What DDP averages is the objective.
                    mean = sum(result[key]["loss"] for result in results) / 2
                    self.assertAlmostEqual(mean, value, places=12)
                    for result in results:
                        found = np.array(result[key]["gradients"])
                        np.testing.assert_allclose(found, gradients, rtol=1e-9, atol=1e-15)
                        for figure, wanted in log.items():
                            self.assertAlmostEqual(result[key]["log"][figure], wanted, msg=figure)


if __name__ == "__main__":
    if len(sys.argv) == 5:
        rank(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4])
    else:
        unittest.main()
