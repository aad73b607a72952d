"""What a trainer imports to read gristmill's datasets: numpy and sqlite3, nothing else.

`gristmill_data.megatron` and `gristmill_data.loss` need torch, and are imported by their names.
"""

from .pack import (
    PACKED_STEP_ROW_DTYPE,
    STEP_ROW_DTYPE,
    Pack,
    decode_boards,
    legal_moves,
    read_valuation_names,
)
from .triples import Triple, TripleError, TripleSequence

__all__ = [
    "PACKED_STEP_ROW_DTYPE",
    "STEP_ROW_DTYPE",
    "Pack",
    "Triple",
    "TripleError",
    "TripleSequence",
    "decode_boards",
    "legal_moves",
    "read_valuation_names",
]
