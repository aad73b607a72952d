"""Batches of several pools together, with what every pool lacks marked.

    mix = PoolMix([open_pool("d6"), open_pool("selfplay"), open_pool("legacy")])
    for batch in mix.batches(2048, seed=1):
        batch["boards"]                       # uint8 [2048, 16]: exponents, row-major
        batch["branch_evs"][batch["branch_evs_known"]]

A batch is a dictionary of arrays with the same keys for every mix. What a row's pool does not say
is False in the array with `_known` in its name, and the value beside it means nothing.

| key | type | |
|---|---|---|
| `pool` | int64 [B] | number of the row's pool in the mix |
| `run_id`, `step_index` | uint64, int64 [B] | with `pool` they identify the row |
| `boards` | uint8 [B, 16] | exponents, row-major |
| `boards_exact` | bool [B] | see `exact_boards` |
| `move_dir` | uint8 [B] | 0 up, 1 down, 2 left, 3 right; 255 where not known |
| `legal` | bool [B, 4] | up, down, left, right |
| `branch_evs` | float32 [B, 4] | known for each branch by itself, 0.0 where not |
| `board_eval` | int32 [B] | |
| `max_rank` | uint8 [B] | as it is stored: with `boards_exact` False it says more than `boards` |
| `valuation_type` | int64 [B] | position in `valuation_names`; -1 where not known |
| `embeddings` | float32 [B, D] | only if asked for and some pool has them |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .boards import RowError, decode_boards, exact_boards, legal_moves, refuse_rows
from .pool import Pool, epoch
from .row_index import as_ids
from .valuations import KNOWN_VALUATIONS

DIRECTIONS = ("up", "down", "left", "right")
UNKNOWN_MOVE = 255

#: Fields that not all pools have: type, items of a row, value where it is not known.
_OPTIONAL: dict[str, tuple[Any, tuple[int, ...], Any]] = {
    "move_dir": (np.uint8, (), UNKNOWN_MOVE),
    "legal": (np.bool_, (4,), False),
    "branch_evs": (np.float32, (4,), 0.0),
    "board_eval": (np.int32, (), 0),
    "max_rank": (np.uint8, (), 0),
    "valuation_type": (np.int64, (), -1),
}


class PoolMix:
    """The rows of several pools, numbered through. As a map of numbers to batches for a DataLoader:
    `dataset=range(len(mix)), collate_fn=mix.collate`.

    `runs`: for each pool the ids of the runs that are wanted, or None for all. `require`: fields
    that every pool must have, of those in `_OPTIONAL` and "embeddings"; ValueError names the pool
    that lacks one.
    """

    def __init__(
        self,
        pools: Sequence[Pool],
        *,
        runs: Sequence[Any] | None = None,
        require: Sequence[str] = (),
        embeddings: bool = False,
    ) -> None:
        self.pools = list(pools)
        if not self.pools:
            raise ValueError("a mix needs at least one pool")
        runs = [None] * len(self.pools) if runs is None else list(runs)
        if len(runs) != len(self.pools):
            raise ValueError(f"runs of {len(runs)} pools for {len(self.pools)}")
        for pool in self.pools:
            for name in require:
                _require(pool, name)
        chosen = zip(self.pools, runs)
        self._rows = [None if ids is None else pool.rows_of_runs(ids) for pool, ids in chosen]
        lengths = [
            len(pool) if rows is None else len(rows) for pool, rows in zip(self.pools, self._rows)
        ]
        self._starts = np.cumsum([0] + lengths, dtype=np.int64)
        #: The names of all pools' valuations; the known three come first.
        self.valuation_names = list(KNOWN_VALUATIONS.values())
        for pool in self.pools:
            new = [name for name in pool.valuation_names.values()]
            self.valuation_names += [name for name in new if name not in self.valuation_names]
        wide = self.pools if embeddings else []
        widths = {width for pool in wide if (width := pool.embedding_width) is not None}
        if len(widths) > 1:
            raise ValueError(f"embeddings of different widths: {sorted(widths)}")
        self._width = widths.pop() if widths else None

    def __len__(self) -> int:
        return int(self._starts[-1])

    def batches(
        self, batch_size: int, seed: int, drop_last: bool = False
    ) -> Iterator[dict[str, np.ndarray]]:
        """One epoch: every row once, in the random order of `seed`."""
        for chosen in epoch(np.arange(len(self)), batch_size, seed, drop_last):
            yield self.collate(chosen)

    def collate(self, indices: Any) -> dict[str, np.ndarray]:
        """The rows of these numbers, in their order, as a batch. ValueError for values that no
        row can have, with the pool, run and step."""
        indices = np.asarray(indices, dtype=np.int64)
        if indices.size and not (0 <= indices.min() and indices.max() < len(self)):
            raise IndexError(f"a row outside of 0..{len(self)}")
        batch = self._empty(len(indices))
        pool_of = np.searchsorted(self._starts, indices, side="right") - 1
        for number in np.unique(pool_of):
            here = np.flatnonzero(pool_of == number)
            numbers = indices[here] - self._starts[number]
            chosen = self._rows[number]
            numbers = numbers if chosen is None else chosen[numbers]
            batch["pool"][here] = number
            self._fill(batch, here, self.pools[number], numbers)
        return batch

    def _empty(self, size: int) -> dict[str, np.ndarray]:
        batch: dict[str, np.ndarray] = {
            "pool": np.zeros(size, np.int64),
            "run_id": np.zeros(size, np.uint64),
            "step_index": np.zeros(size, np.int64),
            "boards": np.zeros((size, 16), np.uint8),
            "boards_exact": np.zeros(size, bool),
        }
        for name, (dtype, shape, missing) in _OPTIONAL.items():
            batch[name] = np.full((size, *shape), missing, dtype)
            known = shape if name == "branch_evs" else ()
            batch[f"{name}_known"] = np.zeros((size, *known), bool)
        if self._width is not None:
            batch["embeddings"] = np.zeros((size, self._width), np.float32)
            batch["embeddings_known"] = np.zeros(size, bool)
        return batch

    def _fill(
        self, batch: dict[str, np.ndarray], here: np.ndarray, pool: Pool, numbers: np.ndarray
    ) -> None:
        rows = pool.rows(numbers)
        batch["run_id"][here] = as_ids(rows["run_id"])
        batch["step_index"][here] = rows[pool.step_name]
        try:
            batch["boards"][here] = decode_boards(rows)
            batch["boards_exact"][here] = exact_boards(rows)
            for name, read in _READERS.items():
                found = read(self, pool, rows)
                if found is not None:
                    batch[name][here], batch[f"{name}_known"][here] = found
        except RowError as error:
            row = rows[error.row]
            place = f"run {row['run_id']}, step {row[pool.step_name]}"
            raise ValueError(f"{pool.directory}: {place}: {error.what}") from None
        features = None if self._width is None else pool.embeddings(numbers)
        if features is not None:
            batch["embeddings"][here] = features
            batch["embeddings_known"][here] = True


# What the rows of a pool say of a field: values and which are known; None if they do not have it.

_Found = tuple[np.ndarray, Any]


def _move_dir(mix: PoolMix, pool: Pool, rows: np.ndarray) -> _Found | None:
    if "move_dir" in pool.fields:
        moves = rows["move_dir"]
        refuse_rows((moves < 0) | (moves > 3), "a move_dir that is not 0, 1, 2 or 3")
        return moves, True
    if not _has_text_moves(pool):
        return None
    text = rows["move"]
    text = np.char.lower(text if text.dtype.kind == "U" else np.char.decode(text, "latin1"))
    moves = np.full(rows.shape, UNKNOWN_MOVE, np.uint8)
    for number, name in enumerate(DIRECTIONS):
        # Some have the first letter alone.
        moves[(text == name) | (text == name[0])] = number
    known = moves != UNKNOWN_MOVE
    refuse_rows(~known & (text != ""), "a move that is no direction")
    return moves, known


def _legal(mix: PoolMix, pool: Pool, rows: np.ndarray) -> _Found | None:
    if "ev_legal" not in pool.fields:
        return None
    refuse_rows((rows["ev_legal"] < 0) | (rows["ev_legal"] > 15), "an ev_legal over 15")
    return legal_moves(rows), True


def _branch_evs(mix: PoolMix, pool: Pool, rows: np.ndarray) -> _Found | None:
    if "branch_evs" not in pool.fields:
        return None
    with np.errstate(over="ignore"):
        values = rows["branch_evs"].astype(np.float32)
    known = np.isfinite(values)
    if "ev_legal" in pool.fields:
        legal = legal_moves(rows)
        refuse_rows((legal & ~known).any(axis=-1), "a value of a legal move that is not finite")
        # 0.0 is stored where there is no value.
        known &= legal | (values.view(np.uint32) != 0)
    return np.where(known, values, np.float32(0)), known


def _stored(name: str) -> Callable[[PoolMix, Pool, np.ndarray], _Found | None]:
    """An integer that is taken as it is, if it fits."""
    limits = np.iinfo(_OPTIONAL[name][0])

    def read(mix: PoolMix, pool: Pool, rows: np.ndarray) -> _Found | None:
        if name not in pool.fields:
            return None
        values = rows[name]
        is_out = (values < limits.min) | (values > limits.max)
        refuse_rows(is_out, f"a {name} that is no {limits.dtype}")
        return values, True

    return read


def _valuation_type(mix: PoolMix, pool: Pool, rows: np.ndarray) -> _Found | None:
    if "valuation_type" not in pool.fields:
        return None
    ids = rows["valuation_type"]
    positions = np.full(ids.shape, -1, np.int64)
    for number, name in pool.valuation_names.items():
        positions[ids == number] = mix.valuation_names.index(name)
    known = positions >= 0
    if pool.has_valuation_file:
        refuse_rows(~known, "a valuation_type that is not in valuation_types.json")
    return positions, known


_READERS = {
    "move_dir": _move_dir,
    "legal": _legal,
    "branch_evs": _branch_evs,
    "board_eval": _stored("board_eval"),
    "max_rank": _stored("max_rank"),
    "valuation_type": _valuation_type,
}


def _has_text_moves(pool: Pool) -> bool:
    """Whether moves are names. What a number as `move` means is not known."""
    return "move" in pool.fields and pool.row_dtype["move"].kind in "SU"


def _require(pool: Pool, name: str) -> None:
    if name == "embeddings":
        if pool.embedding_width is None:
            raise ValueError(f"{pool.directory}: a {pool.kind} without embeddings")
    elif name not in _OPTIONAL:
        raise ValueError(f"no field {name} of a mix; there are {', '.join(_OPTIONAL)}, embeddings")
    elif not (name == "move_dir" and _has_text_moves(pool)):
        pool.require("ev_legal" if name == "legal" else name)
