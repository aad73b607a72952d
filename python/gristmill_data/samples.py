"""What a trainer would see: the samples of a triple, through SynthKDDataset.

python -m gristmill_data.samples PREFIX_tokens --seq-length S -o FILE.npz
python -m gristmill_data.samples PREFIX_tokens --seq-length S --show I
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from . import cli
from .publish import check_target, publish, staging_for
from .tokenizer import HarmonyIds

#: The keys of a sample, in their order.
KEYS: dict[str, np.dtype[Any]] = {
    "tokens": np.dtype("<i8"),
    "labels": np.dtype("<i8"),
    "loss_mask": np.dtype("<f4"),
    "position_ids": np.dtype("<i8"),
    "span_id": np.dtype("<i8"),
}
SPANS = {0: "-", 1: "reasoning", 2: "final"}
#: Span ids are bytes.
SPAN_IDS = 256

EXAMPLES = """\
Examples:
  python -m gristmill_data.samples out/train/shard_00_tokens --seq-length 1024 -o samples.npz
  python -m gristmill_data.samples out/train/shard_00_tokens --seq-length 1024 --show 0
  python -m gristmill_data.samples out/valid/shard_00_tokens --seq-length 4096 --split valid \\
      --keep-last --cache caches -o valid.npz

In: a triple PREFIX_tokens, PREFIX_lossmask, PREFIX_span. Out: an .npz with tokens, labels,
loss_mask, position_ids and span_id, each [samples, S], in the order in which a trainer asks for
them. Position t of the masks is about labels[t]. Needs torch and megatron-core.
"""


def parser() -> cli.Parser:
    arguments = "PREFIX_tokens --seq-length S"
    description = "Write or show the samples that a trainer would see."
    made = cli.Parser("samples", arguments, description, EXAMPLES)
    add = made.add_argument
    add("prefix", metavar="PREFIX_tokens", help="the tokens of a triple, without .bin and .idx")
    add(
        "--seq-length",
        metavar="S",
        type=cli.number(int, 2, 2**31 - 2),
        required=True,
        help="tokens",
    )
    add(
        "--num-samples",
        metavar="N",
        type=cli.number(int, 0),
        help="at least N, in as many epochs (one epoch)",
    )
    add(
        "--seed",
        metavar="K",
        type=cli.number(int, 0, 2**32 - 1),
        default=1234,
        help="of the shuffle (1234)",
    )
    splits = ["train", "valid", "test"]
    add("--split", metavar="NAME", choices=splits, default="train", help="(train), valid or test")
    add("--keep-last", action="store_true", help="of valid: keep a short last sample")
    add("--cache", metavar="DIR", help="keep and find Megatron's index here")
    add("--rebuild-stale-cache", action="store_true", help="replace an index of other data")
    add("--tokenizer-model", metavar="PATH", help="the trainer's: caches are named by it")
    add("-o", "--output", metavar="FILE", type=Path, help="write all samples to this .npz")
    add("--overwrite", action="store_true", help="replace the file if it exists")
    add("--show", metavar="I", type=int, help="print sample I with its spans; -1 is the last")
    return made


def main() -> None:
    options = parser().parse_args()
    _check(options)
    with _dataset(options) as dataset:
        if options.show is not None:
            cli.write_out(show(dataset, options.show))
        if options.output is not None:
            write(dataset, options.output, options.overwrite)


def _check(options: argparse.Namespace) -> None:
    if options.output is None and options.show is None:
        raise cli.UsageError("nothing to do; try: -o FILE.npz, or --show I")
    if options.overwrite and options.output is None:
        raise cli.UsageError("--overwrite is for -o FILE.npz")
    if options.keep_last and options.split != "valid":
        raise cli.UsageError(
            "--keep-last is for --split valid: of others a short last sample is dropped"
        )
    if options.cache is None:
        for option in ("rebuild_stale_cache", "tokenizer_model"):
            if getattr(options, option):
                raise cli.UsageError(f"--{option.replace('_', '-')} is for --cache DIR")
    if not options.prefix.endswith("_tokens"):
        prefix = options.prefix
        there = Path(f"{prefix}_tokens.idx").exists()
        hint = f"; try: {prefix}_tokens" if there else ""
        raise cli.UsageError(f"{prefix}: does not end with _tokens{hint}")
    if options.output is not None:
        try:
            check_target(options.output, options.overwrite)
        except FileExistsError as error:
            raise cli.UsageError(f"{error.filename}: {error.strerror}") from None
        if not options.output.parent.is_dir():
            raise cli.UsageError(f"{options.output.parent}: there is no such directory")


@contextmanager
def _dataset(options: argparse.Namespace) -> Iterator[Any]:
    import torch  # noqa: F401  (so that what is missing is said of torch first)
    from megatron.core.datasets.gpt_dataset import GPTDatasetConfig
    from megatron.core.datasets.utils import Split

    from .megatron import SynthKDDataset

    with tempfile.TemporaryDirectory(prefix="gristmill-samples-") as folder:
        path = options.tokenizer_model
        config = GPTDatasetConfig(
            random_seed=options.seed,
            sequence_length=options.seq_length,
            blend_per_split=[([options.prefix], None)] * 3,
            tokenizer=HarmonyIds(path) if path else HarmonyIds(),
            path_to_cache=options.cache or folder,
            reset_position_ids=False,
            reset_attention_mask=False,
            eod_mask_loss=False,
            create_attention_mask=False,
            drop_last_partial_validation_sequence=not options.keep_last,
        )
        tokens = SynthKDDataset.build_low_level_dataset(options.prefix, config)
        yield SynthKDDataset(
            tokens,
            options.prefix,
            np.arange(len(tokens), dtype=np.int32),
            options.num_samples,
            Split[options.split],
            config,
            rebuild_stale_cache=options.rebuild_stale_cache,
        )


def write(dataset: Any, path: Path, overwrite: bool) -> None:
    """All samples as an .npz, in constant memory: each key is a file until all are there."""
    shape = (len(dataset), dataset.config.sequence_length)
    spans = np.zeros(SPAN_IDS, np.int64)
    with staging_for(path) as staging:
        parts = {key: staging / f"{key}.npy" for key in KEYS}
        files = {key: open(part, "wb") for key, part in parts.items()}
        try:
            for key, file in files.items():
                header = {"descr": KEYS[key].str, "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(file, header)
            for index in range(len(dataset)):
                sample = dataset[index]
                for key, file in files.items():
                    file.write(sample[key].numpy().astype(KEYS[key], copy=False).tobytes())
                spans += np.bincount(sample["span_id"].numpy(), minlength=SPAN_IDS)
        finally:
            for file in files.values():
                file.close()
        whole = staging / "whole.npz"
        with zipfile.ZipFile(whole, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            for part in parts.values():
                # With a fixed date, the same samples are the same bytes.
                with archive.open(zipfile.ZipInfo(part.name), "w", force_zip64=True) as member:
                    with open(part, "rb") as written:
                        shutil.copyfileobj(written, member, 1 << 20)
                part.unlink()
        publish(whole, path, overwrite)
    made = f"{shape[0]} samples of {shape[1]} tokens"
    print(f"{path}: {made}: {_in_words(spans, '')}", file=sys.stderr)


def show(dataset: Any, index: int) -> str:
    """One sample: the sequences that it is cut from, and its runs of equal spans."""
    if not -len(dataset) <= index < len(dataset):
        raise cli.UsageError(f"--show {index}: there are {len(dataset)} samples")
    sample = {key: value.numpy() for key, value in dataset[index].items()}
    length = dataset.config.sequence_length
    lines = [f"sample {index % len(dataset)} of {len(dataset)}, {length} tokens", ""]
    lines.append(f"{'from':>7} {'to':>7}  cut from")
    begin = 0
    for sequence, offset, count in dataset.parts_of(index):
        there = int(dataset.dataset.sequence_lengths[sequence])
        count = there - offset if count is None else count
        end = min(begin + count, length)
        if begin < end:
            place = f"sequence {sequence}, tokens {offset} to {offset + end - begin} of {there}"
            lines.append(f"{begin:>7} {end:>7}  {place}")
        begin += count
    if begin < length:
        lines.append(f"{begin:>7} {length:>7}  nothing: filled up")
    lines += ["", f"{'from':>7} {'to':>7}  {'span':<9}  labels"]
    span, labels = sample["span_id"], sample["labels"].tolist()
    cuts = [0, *(np.flatnonzero(np.diff(span)) + 1).tolist(), length]
    for start, stop in zip(cuts, cuts[1:]):
        name = _name(int(span[start]))
        lines.append(f"{start:>7} {stop:>7}  {name:<9}  {_some(labels[start:stop])}")
    counts = np.bincount(span, minlength=SPAN_IDS)
    lines += ["", f"{_in_words(counts, 'of ').replace(' of', ' labels of', 1)}, of {length}"]
    return "\n".join(lines) + "\n"


def _name(span: int) -> str:
    return SPANS.get(span, f"span {span}")


def _in_words(counts: np.ndarray, of: str) -> str:
    """How many labels each span has; the two of the contract are always named."""
    others = [number for number in range(3, SPAN_IDS) if counts[number]]
    return ", ".join(f"{counts[number]} {of}{_name(number)}" for number in (1, 2, *others))


def _some(labels: list[int]) -> str:
    if len(labels) <= 8:
        return " ".join(map(str, labels))
    return f"{' '.join(map(str, labels[:5]))} ... {' '.join(map(str, labels[-2:]))}"


if __name__ == "__main__":
    cli.run("gristmill_data.samples", main)
