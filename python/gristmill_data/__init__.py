"""What a trainer imports to read gristmill's datasets: numpy and sqlite3, nothing else.

`gristmill_data.megatron` and `gristmill_data.loss` need torch, and are imported by their names.
"""

from .boards import decode_boards, exact_boards, legal_moves
from .mix import PoolMix
from .pack import PACKED_STEP_ROW_DTYPE, STEP_ROW_DTYPE, Pack
from .pools import SELFPLAY_ROW_DTYPE, LegacyPool, SelfPlayPool, open_pool
from .triples import Triple, TripleError, TripleSequence
from .valuations import read_valuation_names

__all__ = [
    "PACKED_STEP_ROW_DTYPE",
    "SELFPLAY_ROW_DTYPE",
    "STEP_ROW_DTYPE",
    "LegacyPool",
    "Pack",
    "PoolMix",
    "SelfPlayPool",
    "Triple",
    "TripleError",
    "TripleSequence",
    "decode_boards",
    "exact_boards",
    "legal_moves",
    "open_pool",
    "read_valuation_names",
]
