"""What all pools of 2048 games have in common: rows in shards, runs in `metadata.db`, features.

The kinds are subclasses: `Pack` (pack.py), `SelfPlayPool` and `LegacyPool` (pools.py). Rows are
numbered from 0 through all shards. Rows of a run may be anywhere in a pool: what identifies a row
is (run_id, step_index), not its number. Which fields rows have differs from pool to pool.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from . import shards
from .metadata import MetadataDb
from .publish import refuse_unfinished
from .row_index import RowIndex, as_ids
from .valuations import VALUATIONS_FILE, read_valuation_names

#: Rows that a scan reads at once.
_CHUNK = 1 << 20


class Pool:
    """A pool on disk.

    Opening it checks that the shards are all there, that the embeddings are those of their rows,
    and that `metadata.db` counts as many steps as there are rows. `check=False` leaves these out,
    for pools of which only the rows are wanted. `check_rows` looks at every row. Errors are
    ValueError and FileNotFoundError, with the path.
    """

    #: What messages call a pool of this kind.
    kind = "pool"
    #: Whether it may lack `metadata.db`.
    may_lack_metadata = True

    def __init__(self, directory: str | Path, *, check: bool = True) -> None:
        self.directory = Path(directory)
        refuse_unfinished(self.directory)
        self.metadata = MetadataDb(self.directory / "metadata.db")
        paths = shards.shard_paths(self.directory)
        self.shards = shards.open_shards(paths)
        #: Number of the first row of each shard; at the end, the number of all rows.
        self.offsets = np.cumsum([0] + [len(shard) for shard in self.shards], dtype=np.int64)
        try:
            #: The type of what `rows` returns.
            self.row_dtype = self._row_dtype(self.shards[0].dtype)
        except ValueError as error:
            raise ValueError(f"{paths[0]}: {error}") from None
        #: id -> name of its valuations; empty if rows do not have them.
        self.valuation_names: dict[int, str] = {}
        if "valuation_type" in self.fields:
            self.valuation_names = read_valuation_names(self.directory)
        #: Whether the pool says itself what the names are.
        self.has_valuation_file = (self.directory / VALUATIONS_FILE).exists()
        self._paths = paths
        if check:
            shards.check_numbers(paths)
            _ = self._embeddings
            self._check_count()

    def __len__(self) -> int:
        return int(self.offsets[-1])

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields that rows have."""
        return self.row_dtype.names or ()

    def require(self, *names: str) -> None:
        """ValueError if rows lack one of these fields."""
        for name in names:
            if name not in self.fields:
                there = ", ".join(self.fields)
                raise ValueError(f"{self.directory}: a {self.kind} without {name}; it has {there}")

    def rows(self, indices: Any) -> np.ndarray:
        """The rows of these numbers, in their order, as `row_dtype`."""
        indices = self._numbers(indices)
        out = np.zeros(indices.shape, dtype=self.row_dtype)
        for shard, here in self._by_shard(indices):
            rows = self.shards[shard][indices[here] - self.offsets[shard]]
            if rows.dtype == self.row_dtype:
                out[here] = rows
                continue
            for name in self.fields:
                out[name][here] = self._column(name, rows, indices[here])
        return out

    def run(self, run_id: int) -> np.ndarray:
        """The rows of one run by ascending step."""
        rows = self.rows(self.rows_of_runs([run_id]))
        return rows[np.argsort(rows[self.step_name], kind="stable")]

    def batches(
        self, batch_size: int, seed: int, runs: Any = None, drop_last: bool = False
    ) -> Iterator[np.ndarray]:
        """One epoch: every row (of `runs`) once, in the random order of `seed`."""
        numbers = np.arange(len(self)) if runs is None else self.rows_of_runs(runs)
        for chosen in epoch(numbers, batch_size, seed, drop_last):
            yield self.rows(chosen)

    def select_runs(self, where: str = "1", parameters: Sequence[Any] = ()) -> np.ndarray:
        """The ids of the runs for which a condition over the table `runs` holds, ascending u64."""
        return self.metadata.select_runs(where, parameters)

    def session(self, key: str) -> str | None:
        """The value of a key of the table `session`, if there is one."""
        return self.metadata.session(key) if self.metadata.exists() else None

    def rows_of_runs(self, runs: Any) -> np.ndarray:
        """The numbers of all rows whose run_id is among `runs`, ascending."""
        runs = np.unique(as_ids(runs))
        found = [np.empty(0, np.int64)]
        for start, ids in self._scan("run_id"):
            found.append(np.flatnonzero(np.isin(ids, runs)) + start)
        return np.concatenate(found)

    def find(self, run_ids: Any, step_indices: Any) -> np.ndarray:
        """The numbers of the rows of these (run_id, step_index), to join what is about the same
        steps. KeyError if one has no row. The first call reads the ids of all rows."""
        self._refuse_repeated()
        found = self._index.find(run_ids, step_indices)
        if (found < 0).any():
            pairs = np.broadcast_arrays(run_ids, step_indices)
            run, step = (int(ids[found < 0][0]) for ids in pairs)
            raise KeyError(f"{self.directory}: no row of run {run}, step {step}")
        return found

    def check_rows(self) -> None:
        """ValueError if two rows have the same (run_id, step_index), or if a run has another number
        of rows than `metadata.db` says."""
        self._refuse_repeated()
        counted = self._steps_of_runs()
        if counted is None:
            return
        known = dict(zip(*(values.tolist() for values in counted)))
        there = dict(zip(self._index.runs.tolist(), self._index.counts.tolist()))
        for run in sorted(known.keys() | there.keys()):
            if run not in known:
                raise ValueError(f"{self.metadata.path}: run {run} is missing; it has rows")
            if known[run] != there.get(run, 0):
                counts = f"{known[run]} steps, but {there.get(run, 0)} rows"
                raise ValueError(f"{self.metadata.path}: run {run} has {counts}")

    @property
    def embedding_width(self) -> int | None:
        """D of the embeddings [rows, D]; None if the pool has none."""
        return self._embeddings[0].shape[1] if self._embeddings else None

    def embeddings(self, indices: Any) -> np.ndarray | None:
        """The embeddings of these rows, float32 [..., D]; None if the pool has none."""
        if not self._embeddings:
            return None
        indices = self._numbers(indices)
        out = np.zeros((*indices.shape, self._embeddings[0].shape[1]), np.float32)
        for shard, here in self._by_shard(indices):
            out[here] = self._embeddings[shard][indices[here] - self.offsets[shard]]
        return out

    @property
    def step_name(self) -> str:
        """`step_index`, or `step_idx` where the pool calls it so."""
        return "step_index" if "step_index" in self.fields else "step_idx"

    # What the kinds say

    def _row_dtype(self, dtype: np.dtype) -> np.dtype:
        """The type of rows for shards of this type; ValueError if it is of another kind."""
        raise NotImplementedError

    def _column(self, name: str, rows: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """A field of the rows of these numbers, which are given as they are stored."""
        return rows[name]

    # Inside

    def _numbers(self, indices: Any) -> np.ndarray:
        indices = np.asarray(indices, dtype=np.int64)
        if indices.size and not (0 <= indices.min() and indices.max() < len(self)):
            raise IndexError(f"{self.directory}: a row outside of 0..{len(self)}")
        return indices

    def _by_shard(self, indices: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """The shards of these rows, and where in `indices` theirs are."""
        shard_of = np.searchsorted(self.offsets, indices, side="right") - 1
        for shard in np.unique(shard_of):
            yield int(shard), shard_of == shard

    def _scan(self, name: str) -> Iterator[tuple[int, np.ndarray]]:
        """A field of ids of all rows, some rows at a time with the number of the first; u64."""
        for offset, shard in zip(self.offsets.tolist(), self.shards):
            for start in range(0, len(shard), _CHUNK):
                rows = shard[start : start + _CHUNK]
                numbers = np.arange(offset + start, offset + start + len(rows))
                try:
                    yield offset + start, as_ids(self._column(name, rows, numbers))
                except ValueError as error:
                    raise ValueError(f"{self.directory}: {name}: {error}") from None

    def _whole_column(self, name: str) -> np.ndarray:
        parts = [ids for _, ids in self._scan(name)]
        return np.concatenate([np.empty(0, np.uint64), *parts])

    @cached_property
    def _embeddings(self) -> list[np.ndarray]:
        return shards.open_embeddings(self.directory, self._paths, self.shards)

    @cached_property
    def _index(self) -> RowIndex:
        steps = self._whole_column(self.step_name)
        if steps.size and steps.max() >= 2**32:
            raise ValueError(f"{self.directory}: the step {steps.max()} is not u32")
        return RowIndex(self._whole_column("run_id"), steps)

    def _refuse_repeated(self) -> None:
        repeated = self._index.first_repeated()
        if repeated is not None:
            run, step = repeated
            raise ValueError(f"{self.directory}: several rows of run {run}, step {step}")

    def _steps_of_runs(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Ids and steps of all runs as `metadata.db` has them, if it does."""
        if not self.metadata.exists() and self.may_lack_metadata:
            return None
        return self.metadata.steps()

    def _check_count(self) -> None:
        counted = self._steps_of_runs()
        if counted is None:
            return
        steps = int(counted[1].sum())
        if steps != len(self):
            counts = f"counts {steps} steps, the shards have {len(self)} rows"
            raise ValueError(f"{self.metadata.path}: {counts} (try: check=False)")


def epoch(numbers: np.ndarray, batch_size: int, seed: int, drop_last: bool) -> Iterator[np.ndarray]:
    """All numbers once in the random order of `seed`, `batch_size` at a time."""
    if batch_size < 1:
        raise ValueError("batch_size must be at least 1")
    numbers = np.random.default_rng(seed).permutation(numbers)
    end = len(numbers) - len(numbers) % batch_size if drop_last else len(numbers)
    for start in range(0, end, batch_size):
        yield numbers[start : min(start + batch_size, end)]
