"""Headers as numpy writes and reads them: one JSON object a line for tests/formats/npy.rs."""

import io
import json

import numpy as np

try:
    from numpy.lib import _format_impl as npy
except ImportError:  # numpy before 2.3
    from numpy.lib import format as npy

STEP_ROW = np.dtype(
    [
        ("run_id", np.uint32),
        ("step_index", np.uint32),
        ("board", np.uint64),
        ("board_eval", np.int32),
        ("tile_65536_mask", np.uint16),
        ("move_dir", np.uint8),
        ("valuation_type", np.uint8),
        ("ev_legal", np.uint8),
        ("max_rank", np.uint8),
        ("seed", np.uint32),
        ("branch_evs", np.float32, (4,)),
    ],
    align=True,
)
PACKED = np.dtype([(name, STEP_ROW[name]) for name in STEP_ROW.names])
SELFPLAY = np.dtype([("run_id", "<u8"), ("step_idx", "<u4"), ("exps", "u1", (16,))])

LENGTHS = sorted(
    {0, 1, 2, 2**31, 2**32 - 1, 2**32, 2**63 - 1}
    | {10**i + d for i in range(10) for d in (-1, 0, 1)}
)


def header(dtype, shape, fortran=False, version=None):
    out = io.BytesIO()
    fields = {"descr": npy.dtype_to_descr(dtype), "fortran_order": fortran, "shape": shape}
    npy._write_array_header(out, fields, version)
    return out.getvalue()


def emit(kind, name, dtype, data, shape, fortran=False):
    fields = {n: [dtype.fields[n][1], dtype.fields[n][0].itemsize] for n in dtype.names or ()}
    print(
        json.dumps(
            {
                "kind": kind,
                "dtype": name,
                "header": data.hex(),
                "shape": [str(n) for n in shape],
                "fortran": fortran,
                "itemsize": dtype.itemsize,
                "fields": fields,
            }
        )
    )


WRITTEN = {
    "aligned": (STEP_ROW, ()),
    "packed": (PACKED, ()),
    "selfplay": (SELFPLAY, ()),
    "i4": (np.dtype("<i4"), ()),
    "i4 x 81": (np.dtype("<i4"), (81,)),
    "i4 x 900": (np.dtype("<i4"), (900,)),
    "f4 x 30 x 7": (np.dtype("<f4"), (30, 7)),
    "u1": (np.dtype("u1"), ()),
    "i8": (np.dtype("<i8"), ()),
    "b1": (np.dtype("?"), ()),
}
for name, (dtype, rest) in WRITTEN.items():
    for length in LENGTHS:
        shape = (length, *rest)
        data = header(dtype, shape)
        if length < 100:
            out = io.BytesIO()
            np.save(out, np.zeros(shape, dtype))
            assert out.getvalue()[: len(data)] == data
        emit("written", name, dtype, data, shape)

READ = [
    STEP_ROW,
    PACKED,
    SELFPLAY,
    np.dtype([("run_id", "<u8"), ("step_idx", "<u4"), ("exps", "u1", (16,))], align=True),
    np.dtype([("board", "<u8"), ("move", "U5")]),
    np.dtype([("board", ">u8"), ("move", "S5"), ("x", ">f8", (2, 3))]),
    np.dtype([("a", [("b", "<i2"), ("c", "u1")], (2,)), ("d'e", "?")]),
    np.dtype([(("title", "name"), "<f2"), ("z", "V7")]),
    np.dtype({"names": ["a", "b"], "formats": ["u1", "<u4"], "offsets": [3, 12], "itemsize": 20}),
] + [np.dtype(d) for d in "u1 i1 ? <i2 >i2 <u4 >u4 <i8 <f2 <f4 >f8 <c8 <c16 S3 U4 V9".split()]
for dtype in READ:
    for shape in ((), (0,), (7,), (3, 4), (5, 0, 2)):
        for fortran in (False, True):
            for version in ((1, 0), (2, 0), (3, 0)):
                data = header(dtype, shape, fortran, version)
                emit("read", str(dtype), dtype, data, shape, fortran)
unicode = np.dtype([("größe", "<u4")])
emit("read", "latin-1 name", unicode, header(unicode, (3,), version=(1, 0)), (3,))
emit("read", "utf-8 name", unicode, header(unicode, (3,), version=(3, 0)), (3,))
