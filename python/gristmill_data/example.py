"""Trains a few steps of a tiny model on a KD dataset root, on the CPU.

    python -m gristmill_data.example ROOT

It shows a trainer's parts together: samples through Megatron's own builder where megatron-core is
installed (else cut from the triples), the span-normalized loss, and the log. The model is a toy:
token ids are taken modulo its small vocabulary. Nothing is written into ROOT.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .cli import Parser, UsageError, number, run
from .publish import refuse_unfinished

NAME = "gristmill_data.example"
VOCABULARY = 4096
WIDTH = 48

EXAMPLES = """\
examples:
  scripts/quickstart.sh target/quickstart
  python -m gristmill_data.example target/quickstart/dataset
  python -m gristmill_data.example ROOT --normalize global --micro-batch-size 1
  python -m gristmill_data.example ROOT --w-reasoning 0.5 --w-final 2 | grep ^valid
"""


def main() -> None:
    arguments = parse()
    prefixes = {split: find_prefixes(arguments.root, split) for split in ("train", "valid")}
    if not prefixes["train"]:
        raise UsageError(f"{arguments.root}: no train/*_tokens.idx: not the root of a KD dataset")
    import torch

    torch.manual_seed(arguments.seed)
    torch.use_deterministic_algorithms(True)
    with tempfile.TemporaryDirectory() as cache:
        train, valid = open_samples(arguments, prefixes, cache)
        train_steps(arguments, train, valid)


def parse() -> argparse.Namespace:
    parser = Parser("example", "ROOT", __doc__.partition("\n")[0], EXAMPLES)

    def option(name: str, kind: Callable[[str], Any], default: Any, what: str) -> None:
        what = f"{what} (default {default})"
        parser.add_argument(name, type=kind, default=default, metavar="N", help=what)

    whole, weight = number(int, 1), number(float, 0)
    parser.add_argument("root", metavar="ROOT", type=Path, help="as scripts/synth-kd.sh makes it")
    option("--steps", whole, 10, "steps of the optimizer")
    option("--seq-length", whole, 128, "tokens of a sample")
    option("--micro-batch-size", whole, 2, "samples of a micro-batch")
    option("--micro-batches", whole, 2, "micro-batches of a step")
    option("--seed", number(int, 0), 0, "of the model and of the samples' order")
    option("--w-reasoning", weight, 1.0, "weight of the reasoning")
    option("--w-final", weight, 1.0, "weight of the final answer")
    parser.add_argument(
        "--normalize",
        choices=["microbatch", "global"],
        default="microbatch",
        help="tokens that a mean is taken over: those of a micro-batch (default), or of a step",
    )
    parser.add_argument(
        "--samples",
        choices=["auto", "megatron", "triple"],
        default="auto",
        help="Megatron's builder, or cut from the triples (default: Megatron if it is installed)",
    )
    return parser.parse_args()


def find_prefixes(root: Path, split: str) -> list[str]:
    """The prefixes `.../shard_NN_tokens` of a split, in order."""
    if not root.is_dir():
        raise UsageError(f"{root}: no such folder")
    refuse_unfinished(root / split)
    return [str(path)[: -len(".idx")] for path in sorted((root / split).glob("*_tokens.idx"))]


def open_samples(
    arguments: argparse.Namespace, prefixes: dict[str, list[str]], cache: str
) -> tuple[Any, Any]:
    """Samples to train on and to evaluate on; the second may be None."""
    if arguments.samples != "triple":
        try:
            from .example_samples import megatron_samples

            print("samples: Megatron's builder", file=sys.stderr)
            return megatron_samples(arguments, prefixes, cache)
        except ImportError as error:
            if arguments.samples == "megatron":
                raise
            cause = f"without {error.name}" if error.name else str(error)
            print(f"samples: cut from the triples (Megatron: {cause})", file=sys.stderr)
    from .example_samples import triple_samples

    return triple_samples(arguments, prefixes)


def train_steps(arguments: argparse.Namespace, train: Any, valid: Any) -> None:
    import torch

    from .loss import global_span_counts, span_normalized_loss
    from .loss_log import ReportReducer, format_log

    model = make_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    weights = {"w_reasoning": arguments.w_reasoning, "w_final": arguments.w_final}
    reducer = ReportReducer()
    batches = iter(make_batches(train, arguments.micro_batch_size))
    for step in range(1, arguments.steps + 1):
        microbatches = [next(batches) for _ in range(arguments.micro_batches)]
        options = {"normalize": arguments.normalize, **weights}
        if arguments.normalize == "global":
            # The counts of the whole step, before its first backward.
            pairs = [(batch["loss_mask"], batch["span_id"]) for batch in microbatches]
            options["global_counts"] = global_span_counts(pairs)
            options["num_microbatches"] = len(microbatches)
        optimizer.zero_grad()
        for batch in microbatches:
            loss, report = span_normalized_loss(*forward(model, batch), **options)
            # The objective is the mean over the microbatches.
            (loss / len(microbatches)).backward()
            reducer.add(report)
        optimizer.step()
        print(f"step {step} | {format_log(reducer.training_log())}", flush=True)
        reducer.reset()
    if valid is None:
        return
    with torch.no_grad():
        for batch in make_batches(valid, arguments.micro_batch_size):
            reducer.add(span_normalized_loss(*forward(model, batch), **weights).report)
    print(f"valid | {format_log(reducer.evaluation_log())}", flush=True)


def make_batches(samples: Any, size: int) -> Iterator[dict[str, Any]]:
    """Samples in their order, stacked."""
    import torch

    return torch.utils.data.DataLoader(samples, batch_size=size)


def make_model() -> Any:
    """A recurrent network: small, and each position sees only what is before its label."""
    import torch

    return torch.nn.ModuleDict(
        {
            "embedding": torch.nn.Embedding(VOCABULARY, WIDTH),
            "body": torch.nn.GRU(WIDTH, WIDTH, batch_first=True),
            "head": torch.nn.Linear(WIDTH, VOCABULARY),
        }
    )


def forward(model: Any, batch: dict[str, Any]) -> tuple[Any, Any, Any]:
    """The loss of every token, and the masks of the batch."""
    import torch

    hidden, _ = model["body"](model["embedding"](batch["tokens"] % VOCABULARY))
    logits = model["head"](hidden).transpose(1, 2)
    labels = batch["labels"] % VOCABULARY
    losses = torch.nn.functional.cross_entropy(logits, labels, reduction="none")
    return losses, batch["loss_mask"], batch["span_id"]


if __name__ == "__main__":
    run(NAME, main)
