"""Which row has which (run_id, step_index): the one way to join what is about the same steps."""

from __future__ import annotations

from typing import Any

import numpy as np

_STEP_BITS = np.uint64(32)


class RowIndex:
    """The rows by ascending run and step. Runs are u64, steps u32."""

    def __init__(self, run_ids: np.ndarray, steps: np.ndarray) -> None:
        #: The runs that have rows, and how many.
        self.runs, run_of, self.counts = np.unique(run_ids, return_inverse=True, return_counts=True)
        keys = run_of.astype(np.uint64) << _STEP_BITS | steps
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]

    def find(self, run_ids: Any, steps: Any) -> np.ndarray:
        """The numbers of rows; -1 where there is none."""
        run_ids, steps = np.broadcast_arrays(as_ids(run_ids), as_ids(steps))
        found = np.full(run_ids.shape, -1, np.int64)
        if not len(self._keys):
            return found
        place = np.minimum(np.searchsorted(self.runs, run_ids), len(self.runs) - 1)
        key = place.astype(np.uint64) << _STEP_BITS | steps & np.uint64(2**32 - 1)
        at = np.minimum(np.searchsorted(self._keys, key), len(self._keys) - 1)
        there = (self.runs[place] == run_ids) & (steps < 2**32) & (self._keys[at] == key)
        found[there] = self._order[at[there]]
        return found

    def first_repeated(self) -> tuple[int, int] | None:
        """A (run_id, step_index) that two rows have."""
        again = np.flatnonzero(self._keys[1:] == self._keys[:-1])
        if not len(again):
            return None
        key = int(self._keys[again[0]])
        return int(self.runs[key >> 32]), key & 0xFFFFFFFF

    def positions(self) -> np.ndarray:
        """The position of each row among those of its run by ascending step, u32."""
        starts = np.cumsum(self.counts) - self.counts
        positions = np.empty(len(self._order), np.uint32)
        positions[self._order] = np.arange(len(self._order)) - np.repeat(starts, self.counts)
        return positions


def as_ids(values: Any) -> np.ndarray:
    """Integers that are not negative, as u64. Never by way of float64, where large ids merge."""
    values = np.asarray(values)
    if values.size == 0:
        return values.astype(np.uint64)
    if values.dtype.kind not in "iu":
        raise ValueError(f"ids of {values.dtype} are no integers of up to 64 bits")
    if values.dtype.kind == "i" and values.min() < 0:
        raise ValueError(f"the id {values.min()} is negative")
    return values.astype(np.uint64)
