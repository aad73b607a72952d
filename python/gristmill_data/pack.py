"""Macroxue packs: memory-mapped rows of steps, read at random.

    pack = Pack("PACK_DIR")
    runs = pack.select_runs("max_score >= ? AND highest_tile >= 16384", (300_000,))
    for rows in pack.batches(2048, seed=1, runs=runs):
        boards = decode_boards(rows)          # uint8 [2048, 16]: exponents, row-major
        values = rows["branch_evs"]           # float32 [2048, 4]: up, down, left, right
        legal = legal_moves(rows)             # bool [2048, 4]

Packs have 48-byte rows, or rows of 46 bytes without padding; both are returned as
STEP_ROW_DTYPE. Other pools (self-play v1, legacy) are refused: `open_pool` reads those.
"""

from __future__ import annotations

import numpy as np

from .pool import Pool

STEP_ROW_DTYPE = np.dtype(
    [
        ("run_id", np.uint32),  # sequential game id
        ("step_index", np.uint32),  # index within the run
        ("board", np.uint64),  # 16 packed 4-bit tiles (MSB nibble = cell 0)
        ("board_eval", np.int32),  # heuristic score of the board
        ("tile_65536_mask", np.uint16),  # bit i: the exponent of cell i is >= 16
        ("move_dir", np.uint8),  # 0 up, 1 down, 2 left, 3 right
        ("valuation_type", np.uint8),  # see Pack.valuation_names
        ("ev_legal", np.uint8),  # bit i: the move i is legal and has a value
        ("max_rank", np.uint8),  # the largest exponent of the board
        ("seed", np.uint32),  # the low 32 bits of the run's seed
        ("branch_evs", np.float32, (4,)),  # up, down, left, right; 0.0 where not legal
    ],
    align=True,
)
assert STEP_ROW_DTYPE.itemsize == 48

#: The same row without padding, 46 bytes.
PACKED_STEP_ROW_DTYPE = np.dtype(
    [(name, STEP_ROW_DTYPE[name]) for name in STEP_ROW_DTYPE.names or ()]
)
assert PACKED_STEP_ROW_DTYPE.itemsize == 46


class Pack(Pool):
    """A pack on disk. Rows are numbered from 0 through all shards, and are STEP_ROW_DTYPE."""

    kind = "Macroxue pack"
    may_lack_metadata = False

    def _row_dtype(self, dtype: np.dtype) -> np.dtype:
        if dtype not in (STEP_ROW_DTYPE, PACKED_STEP_ROW_DTYPE):
            raise ValueError(f"no rows of a Macroxue pack, but {dtype}")
        return STEP_ROW_DTYPE
