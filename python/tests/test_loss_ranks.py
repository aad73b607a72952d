"""The loss on several ranks equals that of one: real processes, gloo, DistributedDataParallel.

Run with arguments this file is one of the ranks: RANK WORLD STORE FILE.
"""

import contextlib
import faulthandler
import json
import os
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
#: Microbatches averaged as Megatron does, or added; or one without counts given.
WAYS = ("averaged", "added", "one call")
#: Seconds until a rank that hangs says where.
TIME_LIMIT = 120


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
        "one each": [[batch(3, both)], [batch(1, both)]],
        "uneven": [[batch(2, both), batch(1, both), batch(5, both)], [batch(1, both)]],
    }


def fits(way, ranks):
    """Whether a trainer of this kind can do it: one that averages has as many on each rank."""
    numbers = {len(microbatches) for microbatches in ranks}
    return {"averaged": len(numbers) == 1, "added": True, "one call": numbers == {1}}[way]


def model():
    torch.manual_seed(13)
    return torch.nn.Sequential(
        torch.nn.Linear(WIDTH, 7), torch.nn.Tanh(), torch.nn.Linear(7, 1)
    ).double()


def losses_of(network, x):
    return network(x).squeeze(-1) ** 2


def rank_step(network, microbatches, way):
    """One step on this rank. Gives its loss and leaves its gradients."""
    counts = None
    if way != "one call":
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
        # Only the last backward of a step exchanges gradients.
        with contextlib.nullcontext() if last else network.no_sync():
            loss.backward()
        total += loss.item()
        reducer.add(report)
    reducer.all_reduce()
    return total, reducer.training_log()


def rank(number, world, store, target):
    faulthandler.dump_traceback_later(TIME_LIMIT, exit=True)
    distributed.init_process_group(
        "gloo",
        init_method=f"file://{store}",
        rank=number,
        world_size=world,
        timeout=timedelta(seconds=TIME_LIMIT),
    )
    results = {}
    for name, ranks in batches().items():
        for way in WAYS:
            if not fits(way, ranks):
                continue
            network = torch.nn.parallel.DistributedDataParallel(model())
            value, log = rank_step(network, ranks[number], way)
            gradients = [p.grad.ravel().tolist() for p in network.parameters()]
            results[f"{name}, {way}"] = {"loss": value, "log": log, "gradients": sum(gradients, [])}
    Path(target).write_text(json.dumps(results))
    distributed.barrier()
    # Not the usual end of Python, in which torch 1.13 now and then waits for a thread of its own.
    os._exit(0)


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
            logs = [Path(directory, f"{number}.log") for number in range(world)]
            ranks = []
            for number, (target, log) in enumerate(zip(targets, logs)):
                words = [sys.executable, __file__, number, world, f"{directory}/store", target]
                with log.open("w") as output:
                    command = [str(word) for word in words]
                    ranks.append(subprocess.Popen(command, stdout=output, stderr=output))
            # A rank that waits for one that has failed ends by its time limit.
            codes = [process.wait() for process in ranks]
            errors = "\n".join(log.read_text() for log in logs)
            self.assertEqual(codes, [0] * world, errors)
            return [json.loads(target.read_text()) for target in targets]

    def test_two_ranks_equal_one(self):
        results = self.run_ranks(2)
        for name, ranks in batches().items():
            value, log, gradients = alone(ranks)
            for way in WAYS:
                key = f"{name}, {way}"
                if not fits(way, ranks):
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
