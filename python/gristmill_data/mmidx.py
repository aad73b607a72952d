"""The `.idx` of a Megatron IndexedDataset, memory-mapped.

Layout (lib/tokens/format/mmidx/FORMAT.md): a header of 34 bytes, then for S sequences and D document
indices int32 lengths [S], int64 byte offsets into the `.bin` [S], int64 document indices [D], and
for multimodal datasets int8 modes [S]. All little-endian.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import numpy as np

from .publish import refuse_unfinished

_MAGIC = b"MMIDIDX\x00\x00"
_HEADER = struct.Struct("<9sQBQQ")

#: By the code in the header.
DTYPES: dict[int, np.dtype[Any]] = {
    1: np.dtype("u1"),
    2: np.dtype("i1"),
    3: np.dtype("<i2"),
    4: np.dtype("<i4"),
    5: np.dtype("<i8"),
    6: np.dtype("<f8"),
    7: np.dtype("<f4"),
    8: np.dtype("<u2"),
}


class TripleError(ValueError, RuntimeError):
    """What is wrong with a dataset: one line that names the file and, if there is one, the sequence.

    A RuntimeError too, as vpMoE's SynthKDDataset raises for masks that do not fit.
    """

    def __init__(self, path: str | Path, cause: str, sequence: int | None = None) -> None:
        place = "" if sequence is None else f": sequence {sequence}"
        super().__init__(f"{path}{place}: {cause}")
        self.path = Path(path)
        self.cause = cause
        #: The first sequence that is wrong; None if it is the file as a whole.
        self.sequence = sequence

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.path, self.cause, self.sequence))


class Index:
    """A `.idx` whose size is exactly what its counts say; nothing else is checked yet.

    The arrays are views of the mapped file, at odd addresses: copy what is read often.
    """

    def __init__(self, prefix: str | os.PathLike[str]) -> None:
        self.path = Path(f"{os.fspath(prefix)}.idx")
        self.bin_path = Path(f"{os.fspath(prefix)}.bin")
        refuse_unfinished(self.path)
        size = self.path.stat().st_size
        self.bin_bytes = self.bin_path.stat().st_size
        if size < _HEADER.size:
            raise TripleError(self.path, f"has {size} bytes; its header alone has {_HEADER.size}")
        self._mapped = np.memmap(self.path, np.uint8, mode="r")
        magic, version, code, sequences, documents = _HEADER.unpack_from(self._mapped.data)
        if magic != _MAGIC:
            raise TripleError(self.path, "is not an index of a Megatron dataset")
        if version != 1:
            raise TripleError(self.path, f"has version {version}; 1 is known")
        if code not in DTYPES:
            raise TripleError(self.path, f"has the unknown data type {code}")
        needed = _HEADER.size + 12 * sequences + 8 * documents
        if size not in (needed, needed + sequences):
            raise TripleError(self.path, f"has {size} bytes; its counts need {needed}")
        self.dtype = DTYPES[code]
        self.lengths = self._array("<i4", sequences, _HEADER.size)
        self.offsets = self._array("<i8", sequences, _HEADER.size + 4 * sequences)
        self.documents = self._array("<i8", documents, _HEADER.size + 12 * sequences)
        #: Of multimodal datasets; else of length 0.
        self.modes = self._array("i1", size - needed, needed)

    def __len__(self) -> int:
        return len(self.lengths)

    def _array(self, dtype: str, count: int, offset: int) -> np.ndarray:
        return np.frombuffer(self._mapped, dtype, count, offset)

    def map_values(self) -> np.ndarray:
        """All values of the `.bin`; an empty file cannot be mapped, but has none."""
        if self.bin_bytes == 0:
            return np.empty(0, self.dtype)
        return np.memmap(self.bin_path, self.dtype, mode="r")
