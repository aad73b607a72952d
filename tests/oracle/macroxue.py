"""A slow pack of raw games, written from the contract alone: macroxue.py RAW_DIR board|values
writes to stdout what numpy.save makes of the rows. `macroxue.py --check PACK` reads a pack as a
trainer does and prints what it finds as JSON."""

import functools
import gzip
import io
import json
import os
import pathlib
import sqlite3
import sys

import numpy as np

STEP_ROW_DTYPE = np.dtype(
    [
        ("run_id", "<u4"),
        ("step_index", "<u4"),
        ("board", "<u8"),
        ("board_eval", "<i4"),
        ("tile_65536_mask", "<u2"),
        ("move_dir", "u1"),
        ("valuation_type", "u1"),
        ("ev_legal", "u1"),
        ("max_rank", "u1"),
        ("seed", "<u4"),
        ("branch_evs", "<f4", (4,)),
    ],
    align=True,
)
DIRECTIONS = ["up", "down", "left", "right"]
COLUMNS = [tuple(range(4 * i, 4 * i + 4)) for i in range(4)] + [
    tuple(range(i, 16, 4)) for i in range(4)
]


@functools.cache
def line_score(line):
    t = [rank * 2**rank for rank in line]
    score = t[0]
    for x, y in zip(t, t[1:]):
        score += x + y if x >= y else 12 * (x - y)
        if x == y:
            score += x
    return score


@functools.cache
def moves_to_front(line):
    """Whether the tiles of a line can move towards its first cell."""
    gap = any(a == 0 and b for a, b in zip(line, line[1:]))
    return gap or any(a and a == b for a, b in zip(line, line[1:]))


def legal(board):
    rows = [tuple(board[i] for i in cells) for cells in COLUMNS[:4]]
    columns = [tuple(board[i] for i in cells) for cells in COLUMNS[4:]]
    return [
        any(moves_to_front(line) for line in columns),
        any(moves_to_front(line[::-1]) for line in columns),
        any(moves_to_front(line) for line in rows),
        any(moves_to_front(line[::-1]) for line in rows),
    ]


def games(root):
    found = []
    for folder, _, names in os.walk(root, followlinks=True):
        for name in names:
            if name.endswith((".meta.json", ".meta.json.gz")):
                path = pathlib.Path(folder, name)
                found.append(([os.fsencode(p) for p in path.relative_to(root).parts], path))
    return [path for _, path in sorted(found)]


def pack(root, legality):
    types = {"search": 0, "tuple10": 1, "tuple11": 2}
    rows = []
    for run_id, path in enumerate(games(root)):
        opened = gzip.open if path.name.endswith(".gz") else open
        with opened(path, "rt") as file:
            meta = json.load(file)
        stem = str(path).removesuffix(".gz").removesuffix(".meta.json")
        with gzip.open(stem + ".jsonl.gz", "rt") as file:
            steps = [json.loads(line) for line in file if line.strip()]
        assert len(steps) == meta["num_moves"]
        for index, step in enumerate(steps):
            board = step["board"]
            packed = 0
            for rank in board:
                packed = packed << 4 | min(rank, 15)
            can_move = legal(board)
            branches = step.get("branch_evs") or {}
            evs, bits = [0.0] * 4, 0
            for i, name in enumerate(DIRECTIONS):
                value = branches.get(name)
                if value is not None and (legality == "values" or can_move[i]):
                    evs[i] = value
                    bits |= 1 << i
            kind = step.get("valuation_type", "search")
            rows.append(
                (
                    run_id,
                    index,
                    packed,
                    sum(line_score(tuple(board[i] for i in cells)) for cells in COLUMNS),
                    sum(1 << i for i, rank in enumerate(board) if rank > 15),
                    DIRECTIONS.index(step["move"]),
                    types.setdefault(kind, len(types)),
                    bits,
                    max(board),
                    meta["seed"] & 0xFFFFFFFF,
                    evs,
                )
            )
    array = np.zeros(len(rows), STEP_ROW_DTYPE)
    array[:] = rows
    return array


def check(directory):
    directory = pathlib.Path(directory)
    paths = sorted(directory.glob("steps-*.npy")) or [directory / "steps.npy"]
    shards = [np.load(path, mmap_mode="r") for path in paths]
    assert all(shard.dtype == STEP_ROW_DTYPE for shard in shards), shards[0].dtype
    steps = np.concatenate(shards)
    database = sqlite3.connect(f"file:{directory}/metadata.db?mode=ro&immutable=1", uri=True)
    query = "SELECT id, seed, steps, max_score, highest_tile FROM runs ORDER BY id"
    runs = database.execute(query).fetchall()
    counts = np.unique(steps["run_id"], return_counts=True)
    there = {run[0]: run[2] for run in runs if run[2]}
    assert there == dict(zip(*[part.tolist() for part in counts])), "runs.steps"
    chosen = "SELECT id FROM runs WHERE max_score >= 0 AND highest_tile >= 512"
    chosen = [run for (run,) in database.execute(chosen)]
    session = dict(database.execute("SELECT meta_key, meta_value FROM session"))
    types = json.loads((directory / "valuation_types.json").read_text())
    print(
        json.dumps(
            {
                "rows": len(steps),
                "runs": runs,
                "chosen_rows": int(np.isin(steps["run_id"], chosen).sum()),
                "session": session,
                "types": types,
            }
        )
    )


if __name__ == "__main__":
    if sys.argv[1] == "--check":
        check(sys.argv[2])
    else:
        out = io.BytesIO()
        np.save(out, pack(sys.argv[1], sys.argv[2]))
        sys.stdout.buffer.write(out.getvalue())
