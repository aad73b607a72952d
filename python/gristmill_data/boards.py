"""Boards as exponents, whatever a pool stores: packed nibbles with or without a mask, or cells."""

from __future__ import annotations

from typing import Any

import numpy as np

#: The largest exponent that a board can have.
MAX_EXPONENT = 17


def decode_boards(rows: np.ndarray) -> np.ndarray:
    """Exponents [..., 16], row-major, uint8, of rows of any pool.

    Packed boards have cell 0 in the most significant nibble. A cell with its bit in
    tile_65536_mask is 16, or 17 if it is the only one and max_rank is 17; rows without that field
    have 15 for every tile of 32768 or more. RowError, a ValueError, for cells over 17, and for
    bits of cells that are not 15.
    """
    names = rows.dtype.names or ()
    cells = np.asarray(rows["exps" if "exps" in names else "board"])
    if "exps" in names or rows.dtype["board"].shape:
        cells = cells.reshape(*rows.shape, 16)
        bad = ((cells < 0) | (cells > MAX_EXPONENT)).any(axis=-1)
        refuse_rows(bad, "a cell that is no exponent from 0 to 17")
        return cells.astype(np.uint8)
    shifts = np.arange(60, -1, -4, dtype=np.uint64)
    packed = cells.astype(np.uint64)[..., None]
    cells = ((packed >> shifts) & np.uint64(15)).astype(np.uint8)
    if "tile_65536_mask" not in names:
        return cells
    over, count = _masked(rows)
    if not count.any():
        return cells
    bad = (over & (cells != 15)).any(axis=-1)
    refuse_rows(bad, "a bit in tile_65536_mask of a cell that is not 15")
    large = np.full(count.shape, 16, np.uint8)
    if "max_rank" in names:
        large[(count == 1) & (rows["max_rank"] == MAX_EXPONENT)] = MAX_EXPONENT
    return np.where(over, large[..., None], cells)


def exact_boards(rows: np.ndarray) -> np.ndarray:
    """Booleans [...]: whether decode_boards gives what was played. False where it cannot be known:
    a cell of 15 in packed boards without a mask, and cells of 16 where one of several is 17."""
    names = rows.dtype.names or ()
    if "exps" in names or rows.dtype["board"].shape:
        return np.ones(rows.shape, bool)
    if "tile_65536_mask" not in names:
        return (decode_boards(rows) != 15).all(axis=-1)
    _, count = _masked(rows)
    if "max_rank" not in names:
        return count == 0
    return (count < 2) | (rows["max_rank"] < MAX_EXPONENT)


def _masked(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which cells have their bit in the mask, and how many."""
    mask = np.asarray(rows["tile_65536_mask"])[..., None]
    over = mask >> np.arange(16).astype(mask.dtype) & mask.dtype.type(1) != 0
    return over, over.sum(axis=-1)


class RowError(ValueError):
    """A value that no row can have; `row` is its place among those that were given."""

    def __init__(self, row: int, what: str) -> None:
        super().__init__(f"row {row} of these has {what}")
        self.row = row
        self.what = what


def refuse_rows(bad: Any, what: str) -> None:
    """RowError for the first row that is bad, of booleans."""
    if bad.any():
        raise RowError(int(np.argmax(bad)), what)


def legal_moves(rows: np.ndarray) -> np.ndarray:
    """Booleans [..., 4]: up, down, left, right."""
    bits = np.asarray(rows["ev_legal"])[..., None] >> np.arange(4, dtype=np.uint8)
    return (bits & np.uint8(1)).astype(bool)
