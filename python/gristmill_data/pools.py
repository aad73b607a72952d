"""The other pools of 2048 games: self-play v1, and the legacy ones with the fields that they have.

    pool = open_pool("POOL_DIR")      # Pack, SelfPlayPool or LegacyPool, by the type of its rows
    rows = pool.run(2**53 + 3)        # ids of runs are u64 everywhere
    features = pool.embeddings(pool.find(rows["run_id"], rows["step_idx"]))   # or None

Batches of several pools together, with boards as exponents: mix.py.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from . import shards
from .pack import PACKED_STEP_ROW_DTYPE, STEP_ROW_DTYPE, Pack
from .pool import Pool
from .row_index import RowIndex

#: The row of self-play v1, 28 bytes.
SELFPLAY_ROW_DTYPE = np.dtype(
    [
        ("run_id", np.uint64),  # the engine's id of the game
        ("step_idx", np.uint32),  # index within the run; a sampled pool has gaps
        ("exps", np.uint8, (16,)),  # exponents, row-major
    ]
)


def open_pool(directory: str | Path, *, check: bool = True) -> Pool:
    """The pool in a directory, as its kind; `check` as for `Pool`."""
    paths = shards.shard_paths(Path(directory))
    dtype = shards.open_npy(paths[0]).dtype
    if dtype in (STEP_ROW_DTYPE, PACKED_STEP_ROW_DTYPE):
        return Pack(directory, check=check)
    if _has(dtype, "run_id") and _step_name(dtype) and _has(dtype, "exps"):
        return SelfPlayPool(directory, check=check)
    return LegacyPool(directory, check=check)


class SelfPlayPool(Pool):
    """Self-play v1: `run_id`, `step_idx`, `exps`; sometimes embeddings. No moves, no values.

    Fields may be of other widths, in another order, and there may be more of them.
    """

    kind = "self-play pool"
    may_lack_metadata = False

    def _row_dtype(self, dtype: np.dtype) -> np.dtype:
        if not _has(dtype, "exps"):
            raise ValueError(f"no rows of self-play, which have exps, but {dtype}")
        for name in ("run_id", _step_name(dtype) or "step_idx"):
            if not _has(dtype, name):
                raise ValueError(f"no rows of self-play, which have {name}, but {dtype}")
        return _checked(dtype)


class LegacyPool(Pool):
    """Packed boards without `tile_65536_mask`, and the fields that the pool happens to have.

    What rows do not say of `run_id` and `step_index` is added: without `run_id` the runs of
    `metadata.db` follow one another with the steps that it counts, and without that file all rows
    are of run 0; without a step it is the position among the run's rows. Also for rows that are
    only boards, or that have fields of other kinds in another arrangement.
    """

    kind = "legacy pool"

    def _row_dtype(self, dtype: np.dtype) -> np.dtype:
        if dtype.names is None:
            dtype = np.dtype([("board", dtype)])
        if not (_has(dtype, "board") or _has(dtype, "exps")):
            raise ValueError(f"no rows of game steps, which have board or exps, but {dtype}")
        stored = _checked(dtype)
        added: list[Any] = [] if _has(dtype, "run_id") else [("run_id", np.uint64)]
        if _step_name(dtype) is None:
            added.append(("step_index", np.uint32))
        #: The fields that are not stored.
        self.added_fields = tuple(name for name, _ in added)
        return np.dtype(added + [(name, stored[name]) for name in stored.names or ()])

    def _column(self, name: str, rows: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        if name not in self.added_fields:
            return rows if rows.dtype.names is None else rows[name]
        if name == "step_index" and "run_id" not in self.added_fields:
            return self._positions[numbers]
        ids, starts = self._runs_in_order
        run = np.searchsorted(starts, numbers, side="right") - 1
        return ids[run] if name == "run_id" else numbers - starts[run]

    @cached_property
    def _positions(self) -> np.ndarray:
        run_ids = self._whole_column("run_id")
        return RowIndex(run_ids, np.zeros(len(run_ids), np.uint64)).positions()

    @cached_property
    def _runs_in_order(self) -> tuple[np.ndarray, np.ndarray]:
        """Ids of runs, and the number of the first row of each. Of runs that begin at the same row
        the last has it."""
        counted = self._steps_of_runs()
        if counted is None:
            if self.metadata.exists():
                raise ValueError(f"{self.metadata.path}: no steps of runs, and rows have no run_id")
            return np.zeros(1, np.uint64), np.zeros(1, np.int64)
        self._check_count()
        ids, steps = counted
        return ids, (np.cumsum(steps) - steps).astype(np.int64)


def _step_name(dtype: np.dtype) -> str | None:
    found = [name for name in ("step_index", "step_idx") if _has(dtype, name)]
    return found[0] if found else None


def _has(dtype: np.dtype, name: str) -> bool:
    return name in (dtype.names or ())


#: What a known field has to be: kinds of numpy's types, items.
_KNOWN_FIELDS = {
    "run_id": ("iu", 1),
    "step_index": ("iu", 1),
    "step_idx": ("iu", 1),
    "exps": ("iu", 16),
    "board_eval": ("iu", 1),
    "tile_65536_mask": ("iu", 1),
    "move_dir": ("iu", 1),
    "valuation_type": ("iu", 1),
    "ev_legal": ("iu", 1),
    "max_rank": ("iu", 1),
    "branch_evs": ("f", 4),
}


def _checked(dtype: np.dtype) -> np.dtype:
    """The same fields in this machine's byte order, without padding; ValueError if a known field
    is of a type that it cannot be."""
    fields = []
    for name in dtype.names or ():
        base, shape = dtype[name].base, dtype[name].shape
        items = int(np.prod(shape, dtype=np.int64))
        kinds, wanted = _KNOWN_FIELDS.get(name, (base.kind, items))
        if name == "board":
            # Sixteen exponents, or packed.
            kinds, wanted = "iu", 16 if shape else 1
            if not shape and base.itemsize != 8:
                raise ValueError(f"board is {base}, not 8 bytes of packed cells")
        if base.kind not in kinds or items != wanted:
            raise ValueError(f"the field {name} is {dtype[name]}, which is not read")
        fields.append((name, base.newbyteorder("="), shape))
    return np.dtype(fields)
