"""What a trainer imports to read gristmill's datasets: numpy and sqlite3, nothing else."""

from .pack import (
    PACKED_STEP_ROW_DTYPE,
    STEP_ROW_DTYPE,
    Pack,
    decode_boards,
    legal_moves,
    read_valuation_names,
)

__all__ = [
    "PACKED_STEP_ROW_DTYPE",
    "STEP_ROW_DTYPE",
    "Pack",
    "decode_boards",
    "legal_moves",
    "read_valuation_names",
]
