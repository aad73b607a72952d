"""The samples of the example: through Megatron's builder, or cut from triples. Needs torch."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import distributed

from .tokenizer import HarmonyIds
from .triples import Triple

#: At most this many samples are evaluated.
EVALUATED = 64


def megatron_samples(
    arguments: argparse.Namespace, prefixes: dict[str, list[str]], cache: str
) -> tuple[Any, Any]:
    """As a trainer gets them. The index is cached in `cache`, not beside the data."""
    from megatron.core.datasets.blended_megatron_dataset_builder import (
        BlendedMegatronDatasetBuilder,
    )
    from megatron.core.datasets.gpt_dataset import GPTDatasetConfig

    from .megatron import SynthKDDataset

    config = GPTDatasetConfig(
        random_seed=arguments.seed,
        sequence_length=arguments.seq_length,
        blend_per_split=[_blend(prefixes["train"], weighted=True), _blend(prefixes["valid"]), None],
        tokenizer=HarmonyIds(),
        path_to_cache=cache,
        drop_last_partial_validation_sequence=False,
        reset_position_ids=False,
        reset_attention_mask=False,
        eod_mask_loss=False,
        create_attention_mask=False,
    )
    # As many samples as the steps take, of as many epochs as that needs; of valid, one epoch.
    sizes = [wanted_samples(arguments), None, None]
    with _process_group():
        builder = BlendedMegatronDatasetBuilder(SynthKDDataset, sizes, lambda: True, config)
        train, valid, _ = builder.build()
    return train, valid and torch.utils.data.Subset(valid, range(min(EVALUATED, len(valid))))


def triple_samples(
    arguments: argparse.Namespace, prefixes: dict[str, list[str]]
) -> tuple[Any, Any]:
    """Without Megatron: windows of the triples, those of train in random order."""
    length, wanted = arguments.seq_length, wanted_samples(arguments)
    train = Windows([Triple(prefix) for prefix in prefixes["train"]], length)
    if not len(train):
        cause = f"fewer tokens than a sample of {length} and its last label need"
        raise ValueError(f"{arguments.root}/train: {cause} (try: a smaller --seq-length)")
    random = np.random.default_rng(arguments.seed)
    epochs = [random.permutation(len(train)) for _ in range(-(-wanted // len(train)))]
    valid = Windows([Triple(prefix) for prefix in prefixes["valid"]], length, keep_last=True)
    evaluated = torch.utils.data.Subset(valid, range(min(EVALUATED, len(valid))))
    order = np.concatenate(epochs)[:wanted].tolist()
    return torch.utils.data.Subset(train, order), evaluated if len(valid) else None


def wanted_samples(arguments: argparse.Namespace) -> int:
    return arguments.steps * arguments.micro_batches * arguments.micro_batch_size


class Windows(torch.utils.data.Dataset):
    """The tokens of each triple in their order, cut every `length` tokens. A sample has the label
    of its last token too, so neighbours share a token."""

    def __init__(self, triples: list[Triple], length: int, keep_last: bool = False) -> None:
        self.triples = triples
        self.length = length
        rest = length - 1 if keep_last else 0
        counts = [max(0, triple.token_count - 1 + rest) // length for triple in triples]
        self._ends = np.cumsum(counts, dtype=np.int64)
        self._sequence_ends = [np.cumsum(triple.lengths, dtype=np.int64) for triple in triples]

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
        place = int(np.searchsorted(self._ends, number, side="right"))
        start = (number - (int(self._ends[place - 1]) if place else 0)) * self.length
        text, loss_mask, span_id = self._read(place, start)
        return {
            "tokens": torch.from_numpy(text[:-1]),
            "labels": torch.from_numpy(text[1:]),
            # The stored masks speak of labels already.
            "loss_mask": torch.from_numpy(loss_mask[:-1]).float(),
            "span_id": torch.from_numpy(span_id[:-1]),
        }

    def _read(self, place: int, start: int) -> list[np.ndarray]:
        """`length` + 1 values of each dataset, int64; what is missing at the end is 0."""
        triple, ends = self.triples[place], self._sequence_ends[place]
        stop = min(start + self.length + 1, triple.token_count)
        first = int(np.searchsorted(ends, start, side="right"))
        last = int(np.searchsorted(ends, stop - 1, side="right"))
        skipped = start - (int(ends[first]) - int(triple.lengths[first]))
        out = []
        for values in triple.range(first, last + 1):
            whole = np.zeros(self.length + 1, np.int64)
            whole[: stop - start] = values[skipped : skipped + stop - start]
            out.append(whole)
        return out


_Blend = tuple[list[str], "list[float] | None"]


def _blend(prefixes: list[str], weighted: bool = False) -> _Blend | None:
    """Several prefixes: one epoch of all, or drawn from by their size."""
    if not prefixes:
        return None
    if not weighted or len(prefixes) == 1:
        return prefixes, None
    return prefixes, [float(os.path.getsize(f"{prefix}.bin")) for prefix in prefixes]


@contextlib.contextmanager
def _process_group() -> Iterator[None]:
    """Megatron asks for the rank when it caches a blend."""
    if not distributed.is_available() or distributed.is_initialized():
        yield
        return
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    try:
        yield
    finally:
        distributed.destroy_process_group()
