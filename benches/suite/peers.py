"""What one would write with pyarrow and numpy in place of our writers:

    peers.py mmidx PREFIX < tokens.arrows     Megatron triples of a stream of masked tokens
    peers.py npy OUT.npy < games.arrows       rows of a stream of game records
    peers.py merge OUT PACK...                packs into one, run ids numbered anew
"""

import json
import pathlib
import shutil
import sqlite3
import struct
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from gristmill_data import STEP_ROW_DTYPE as ROW  # noqa: E402

TYPES = {"search": 0, "tuple10": 1, "tuple11": 2}


def batches():
    import pyarrow as pa

    # After the end marker gristmill writes what was dropped; readers of Arrow stop before it.
    return pa.ipc.open_stream(sys.stdin.buffer)


def mmidx(prefix):
    columns = {"tokens": (4, "<i4"), "loss_mask": (1, "u1"), "span_id": (1, "u1")}
    names = {"tokens": "tokens", "loss_mask": "lossmask", "span_id": "span"}
    bins = {column: open(f"{prefix}_{names[column]}.bin", "wb") for column in columns}
    lengths = []
    for batch in batches():
        for column, (_, dtype) in columns.items():
            values = batch.column(column)
            bins[column].write(values.flatten().to_numpy().astype(dtype, copy=False))
        lengths.append(batch.column("tokens").value_lengths().to_numpy())
    lengths = np.concatenate(lengths).astype("<i4")
    for column, (code, dtype) in columns.items():
        bins[column].close()
        ends = np.cumsum(lengths.astype("<i8") * np.dtype(dtype).itemsize)
        with open(f"{prefix}_{names[column]}.idx", "wb") as file:
            file.write(b"MMIDIDX\x00\x00" + struct.pack("<QB", 1, code))
            file.write(struct.pack("<QQ", len(lengths), len(lengths) + 1))
            file.write(lengths)
            file.write(np.concatenate([[0], ends[:-1]]).astype("<i8"))
            file.write(np.arange(len(lengths) + 1, dtype="<i8"))


def npy(out):
    import pyarrow as pa
    import pyarrow.compute as pc

    names = pa.array(TYPES)
    rows = []
    run_id = 0
    for batch in batches():
        lengths = batch.column("steps").value_lengths().to_numpy()
        steps = batch.column("steps").flatten()
        field = lambda name: steps.field(name)
        part = np.zeros(len(steps), ROW)
        part["run_id"] = np.repeat(np.arange(run_id, run_id + len(lengths)), lengths)
        run_id += len(lengths)
        for name in ["step_index", "board_eval", "move_dir", "ev_legal", "max_rank"]:
            part[name] = field(name).to_numpy(zero_copy_only=False)
        part["seed"] = field("seed").to_numpy(zero_copy_only=False) & 0xFFFFFFFF
        board = field("board").flatten().to_numpy().reshape(-1, 16)
        large = board >= 16
        part["tile_65536_mask"] = large @ (1 << np.arange(16))
        nibbles = np.minimum(board, 15).reshape(-1, 8, 2)
        part["board"] = (nibbles[..., 0] << 4 | nibbles[..., 1]).copy().view(">u8")[:, 0]
        evs = field("branch_evs").flatten().fill_null(0).to_numpy().reshape(-1, 4)
        legal = part["ev_legal"][:, None] >> np.arange(4) & 1
        part["branch_evs"] = np.where(legal, evs, 0)
        part["valuation_type"] = pc.index_in(field("valuation_type"), names).to_numpy()
        rows.append(part)
    np.save(out, np.concatenate(rows))


def merge(out, packs):
    out = pathlib.Path(out)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    maps = [np.load(f"{pack}/steps.npy", mmap_mode="r") for pack in packs]
    total = sum(map(len, maps))
    rows = np.lib.format.open_memmap(out / "steps.npy", "w+", ROW, (total,))
    db = sqlite3.connect(out / "metadata.db")
    db.execute(
        "CREATE TABLE runs(id INTEGER PRIMARY KEY, seed BIGINT, steps INT, max_score INT,"
        " highest_tile INT)"
    )
    db.execute("CREATE TABLE session(meta_key TEXT PRIMARY KEY, meta_value TEXT)")
    at = runs = 0
    for pack, part in zip(packs, maps):
        names = json.load(open(f"{pack}/valuation_types.json"))
        assert names == TYPES, "names to be unified"
        rows[at : at + len(part)] = part
        rows["run_id"][at : at + len(part)] += runs
        at += len(part)
        source = sqlite3.connect(f"file:{pack}/metadata.db?mode=ro", uri=True)
        found = source.execute("SELECT * FROM runs ORDER BY id").fetchall()
        db.executemany("INSERT INTO runs VALUES(?,?,?,?,?)", [(r[0] + runs, *r[1:]) for r in found])
        for key, value in source.execute("SELECT * FROM session ORDER BY meta_key"):
            kind, _, number = key.partition(".")
            if kind == "run":
                key = f"run.{int(number) + runs}"
            db.execute("INSERT OR IGNORE INTO session VALUES(?,?)", (key, value))
        runs += len(found)
    rows.flush()
    db.commit()
    (out / "valuation_types.json").write_text(json.dumps(TYPES))


if __name__ == "__main__":
    what, target, *rest = sys.argv[1:]
    {"mmidx": mmidx, "npy": npy, "merge": lambda out: merge(out, rest)}[what](target)
