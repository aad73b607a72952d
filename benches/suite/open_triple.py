"""Opens a triple with gristmill_data, which checks all of its indices.

    open_triple.py make PREFIX SEQUENCES    # real indices, over .bin files that are holes
    open_triple.py open PREFIX
"""

import pathlib
import struct
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python"))

from gristmill_data import Triple  # noqa: E402


def make(prefix, sequences):
    lengths = np.random.default_rng(0).integers(1, 2000, sequences, dtype=np.int32)
    ends = np.cumsum(lengths, dtype=np.int64)
    for member, code, size in [("tokens", 4, 4), ("lossmask", 1, 1), ("span", 1, 1)]:
        header = struct.pack("<9sQBQQ", b"MMIDIDX\0\0", 1, code, sequences, sequences + 1)
        with open(f"{prefix}_{member}.idx", "wb") as file:
            file.write(header + lengths.tobytes())
            file.write(((ends - lengths) * size).tobytes())
            file.write(np.arange(sequences + 1).tobytes())
        with open(f"{prefix}_{member}.bin", "wb") as file:
            file.truncate(int(ends[-1]) * size)


if sys.argv[1] == "make":
    make(sys.argv[2], int(sys.argv[3]))
else:
    print(Triple(sys.argv[2]))
