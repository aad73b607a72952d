"""The files of a pool: shards of rows and of embeddings, memory-mapped and compared at opening."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np


def shard_paths(directory: Path) -> list[Path]:
    """`steps-*.npy` by name, or `steps.npy`; both together are an error."""
    shards = _named(directory, "steps")
    single = directory / "steps.npy"
    if not shards:
        return [single]
    if single.exists():
        raise ValueError(f"{directory}: both steps.npy and steps-*.npy; only one can be the pool")
    return shards


def check_numbers(paths: Sequence[Path]) -> None:
    """Shards that are numbered count 0, 1, 2, ... or 1, 2, 3, ...; else one is missing."""
    numbers = [_number(path) for path in paths]
    if len(paths) < 2 or None in numbers:
        return
    first = 1 if numbers[0] == 1 else 0
    for path, number, wanted in zip(paths, numbers, range(first, first + len(paths))):
        if number != wanted:
            raise ValueError(f"{path}: shard {wanted} was expected: one is missing or out of order")


def open_shards(paths: Sequence[Path]) -> list[np.ndarray]:
    """The rows of all shards, which must be of one type."""
    shards = [open_npy(path) for path in paths]
    for path, shard in zip(paths, shards):
        if shard.ndim != 1:
            raise ValueError(f"{path}: shape {shard.shape}, which are no rows")
        if shard.dtype != shards[0].dtype:
            first = f"in {paths[0].name} they are {shards[0].dtype}"
            raise ValueError(f"{path}: its rows are {shard.dtype}; {first}")
    return shards


def open_embeddings(
    directory: Path, paths: Sequence[Path], shards: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """`embeddings-*.npy`, one for each shard and with a row for each of its rows; empty if there
    are none."""
    files = _named(directory, "embeddings")
    if not files:
        return []
    if len(files) != len(shards):
        counts = f"{len(files)} embeddings-*.npy for {len(shards)} shards of steps"
        raise ValueError(f"{directory}: {counts}")
    opened: list[np.ndarray] = []
    for file, path, shard in zip(files, paths, shards):
        if None not in (_number(path), _number(file)) and _number(path) != _number(file):
            raise ValueError(f"{file}: there is no {path.name.replace('steps', 'embeddings', 1)}")
        features = open_npy(file)
        if features.dtype != np.float32:
            raise ValueError(f"{file}: holds {features.dtype}, not float32")
        if features.ndim != 2:
            raise ValueError(f"{file}: shape {features.shape}, not [rows, D]")
        if len(features) != len(shard):
            raise ValueError(f"{file}: {len(features)} rows, {path.name} has {len(shard)}")
        if opened and features.shape[1] != opened[0].shape[1]:
            first = f"{files[0].name} has {opened[0].shape[1]}"
            raise ValueError(f"{file}: {features.shape[1]} columns, {first}")
        opened.append(features)
    return opened


def open_npy(path: Path) -> np.ndarray:
    """A mapped array; ValueError with the path for a file that is not one, or not of its length."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: no such file") from None
    except (ValueError, EOFError, SyntaxError, TypeError, OverflowError) as error:
        raise ValueError(f"{path}: {str(error) or 'is empty'}") from error
    if not isinstance(array, np.memmap):
        raise ValueError(f"{path}: is no .npy file")
    length = array.offset + array.nbytes
    if path.stat().st_size != length:
        raise ValueError(f"{path}: {path.stat().st_size} bytes, its header says {length}")
    return array


def _named(directory: Path, name: str) -> list[Path]:
    return sorted(directory.glob(f"{name}-*.npy"), key=lambda path: path.name)


def _number(path: Path) -> int | None:
    digits = path.stem.partition("-")[2]
    return int(digits) if digits.isdecimal() and digits.isascii() else None
