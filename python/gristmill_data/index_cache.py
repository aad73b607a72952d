"""Whether one of Megatron's index caches belongs to the data.

Megatron names a cache by the path of the data and the settings of a run, and uses it if its four
files exist. Data that were made anew under the same path, other documents, or another treatment of
the last tokens then read an index that is not theirs, without a word.

An index is accepted if it draws exactly the documents asked for, in exactly the epochs needed, and
cuts their lengths every `sequence_length` tokens. The order of the shuffle is not computed again:
it depends on nothing but numbers in the name.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

#: The endings of the files of one cache.
ENDINGS = ("description.txt", "document_index.npy", "sample_index.npy", "shuffle_index.npy")

_CHUNK = 1 << 20


class StaleCacheError(RuntimeError):
    """A cached index that does not belong to the data. Names the folder."""

    def __init__(self, folder: str | os.PathLike[str], base: str, cause: str) -> None:
        message = f"the cached index {base} does not belong to the data: {cause}"
        hint = "try: remove it, or rebuild_stale_cache=True"
        super().__init__(f"{os.fspath(folder)}: {message}; {hint}")
        self.folder = Path(folder)
        self.base = base
        self.cause = cause

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.folder, self.base, self.cause))


class _Stale(Exception):
    pass


@dataclass(frozen=True)
class Expected:
    """What an index must be of."""

    lengths: np.ndarray  #: int32 [sequences], of the whole dataset
    indices: np.ndarray | None  #: the sequences that are drawn; None is all
    epochs: int
    tokens: int  #: in one epoch
    sequence_length: int
    extra: int  #: 1 if a sample has one token more than its length, else 0
    drop_last: bool
    num_samples: int | None
    description: str

    @property
    def samples(self) -> int:
        total = self.epochs * self.tokens - self.extra
        if self.drop_last:
            return max(total, 0) // self.sequence_length
        # Megatron divides as float32, which for many tokens is not exact.
        return int(np.ceil(np.float32(total) / np.float32(self.sequence_length)))

    @property
    def before_last_epoch(self) -> int | None:
        """The samples that are shuffled apart from those of the last epoch; None if all are one."""
        if self.epochs == 1 or self.num_samples is None:
            return None
        before = ((self.epochs - 1) * self.tokens - self.extra) // self.sequence_length
        in_epoch = (self.tokens - self.extra) // self.sequence_length
        return before if self.num_samples - before < int(0.80 * in_epoch) else None


def paths_of(folder: str | os.PathLike[str], base: str) -> list[Path]:
    return [Path(folder) / f"{base}-{ending}" for ending in ENDINGS]


def check_cache(folder: str | os.PathLike[str], base: str, expected: Expected) -> None:
    """Raises StaleCacheError if the cache is not of these data. Its four files exist."""
    description, *arrays = paths_of(folder, base)
    try:
        if description.read_text(encoding="utf-8") != expected.description:
            raise _Stale(f"{description.name} is of another dataset")
        documents, samples, shuffle = (_load(path) for path in arrays)
        _check_documents(documents, expected)
        _check_samples(samples, documents, expected)
        _check_shuffle(shuffle, expected)
    except _Stale as stale:
        raise StaleCacheError(folder, base, str(stale)) from None


def _load(path: Path) -> np.ndarray:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise _Stale(f"{path.name} cannot be read ({error})") from None
    if array.dtype.kind not in "iu":
        raise _Stale(f"{path.name} holds {array.dtype}")
    return array


def _check_documents(documents: np.ndarray, expected: Expected) -> None:
    sequences = len(expected.lengths)
    indices = expected.indices
    count = sequences if indices is None else len(indices)
    if documents.shape != (count * expected.epochs,):
        found = documents.shape[0] if documents.ndim else 0
        wanted = f"{count} documents in {expected.epochs} epochs need {count * expected.epochs}"
        raise _Stale(f"it draws {found} documents; {wanted}")
    drawn = np.ones(sequences, np.int64)
    if indices is not None:
        drawn = np.bincount(indices, minlength=sequences)
    apart = len(documents) - count if expected.before_last_epoch is not None else len(documents)
    parts = [(0, apart, expected.epochs - (apart < len(documents)))]
    parts.append((apart, len(documents), 1))
    for start, stop, epochs in parts:
        found = np.zeros(sequences, np.int64)
        for first in range(start, stop, _CHUNK):
            chunk = documents[first : min(first + _CHUNK, stop)]
            if chunk.min() < 0 or chunk.max() >= sequences:
                wrong = chunk.min() if chunk.min() < 0 else chunk.max()
                raise _Stale(f"it draws document {wrong}; the data have {sequences}")
            found += np.bincount(chunk, minlength=sequences)
        if stop > start and not np.array_equal(found, drawn * epochs):
            place = int((found != drawn * epochs).argmax())
            wanted = drawn[place] * epochs
            raise _Stale(f"it draws document {place} {found[place]} times, not {wanted} times")


def _check_samples(samples: np.ndarray, documents: np.ndarray, expected: Expected) -> None:
    count = expected.samples
    if samples.shape != (count + 1, 2):
        found = samples.shape[0] - 1 if samples.ndim else 0
        raise _Stale(f"it has {found} samples; the data give {count}")
    places = samples[:, 0].astype(np.int64)
    offsets = samples[:, 1].astype(np.int64)
    if places[0] < 0 or places[-1] >= len(documents) or (places[1:] < places[:-1]).any():
        raise _Stale("its samples are not in the order of its documents")
    length = expected.sequence_length
    end = expected.epochs * expected.tokens - expected.extra
    begin = 0
    for start in range(0, len(documents), _CHUNK):
        lengths = expected.lengths[documents[start : start + _CHUNK]]
        ends = np.cumsum(lengths, dtype=np.int64) + begin
        first, last = np.searchsorted(places, (start, start + len(lengths)))
        here = places[first:last] - start
        found = ends[here] - lengths[here] + offsets[first:last]
        wrong = found != np.minimum(np.arange(first, last) * length, end)
        wrong |= (offsets[first:last] < 0) | (offsets[first:last] > lengths[here])
        if wrong.any():
            sample = first + int(wrong.argmax())
            raise _Stale(f"sample {sample} does not begin where the lengths put it")
        begin = int(ends[-1])


def _check_shuffle(shuffle: np.ndarray, expected: Expected) -> None:
    count = expected.samples
    if shuffle.shape != (count,):
        raise _Stale(f"it shuffles {shuffle.size} samples; the data give {count}")
    seen = np.zeros(count, bool)
    for start in range(0, count, _CHUNK):
        chunk = shuffle[start : start + _CHUNK]
        if chunk.max() >= count or chunk.min() < 0:
            raise _Stale("its shuffle names samples that are not there")
        seen[chunk] = True
    apart = expected.before_last_epoch
    if not seen.all() or (apart and shuffle[:apart].max() >= apart):
        raise _Stale("its shuffle is not one of these samples")
