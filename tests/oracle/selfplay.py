"""What --layout selfplay-v1 has to make of pools, by numpy and sqlite3 alone.

    selfplay.py OUT SHARD_ROWS POOL...    writes OUT/steps-000001.npy, ... as numpy.save does, and
                                          prints the runs: id, seed, steps, score, highest tile
"""

import json
import sqlite3
import sys
from pathlib import Path

import numpy as np

SELFPLAY = np.dtype([("run_id", "<u8"), ("step_idx", "<u4"), ("exps", "u1", (16,))])


def exponents(row):
    if "exps" in row.dtype.names:
        return row["exps"]
    board = int(row["board"])
    cells = [board >> (60 - 4 * cell) & 15 for cell in range(16)]
    mask = int(row["tile_65536_mask"])
    large = 17 if bin(mask).count("1") == 1 and row["max_rank"] == 17 else 16
    return [large if mask >> cell & 1 else exponent for cell, exponent in enumerate(cells)]


def runs_of(pool):
    """Runs by id: what the database knows, and the rows by step."""
    paths = sorted(pool.glob("steps-*.npy")) or [pool / "steps.npy"]
    rows = np.concatenate([np.load(path) for path in paths])
    step = "step_idx" if "step_idx" in rows.dtype.names else "step_index"
    database = sqlite3.connect(f"file:{pool}/metadata.db?mode=ro", uri=True)
    known = {run[0]: run[1:] for run in database.execute("SELECT * FROM runs")}
    for run_id in sorted(set(known) | set(rows["run_id"].tolist())):
        own = rows[rows["run_id"] == run_id]
        own = own[np.argsort(own[step], kind="stable")]
        yield known.get(run_id), [(row[step], exponents(row)) for row in own]


def main(out, shard_rows, pools):
    rows, runs = [], []
    for known, steps in (run for pool in pools for run in runs_of(Path(pool))):
        run_id = len(runs)
        seed, _, score, tile = known or (None,) * 4
        runs.append([run_id, seed, len(steps), score, tile])
        rows += [(run_id, index, tuple(board)) for index, board in steps]
    rows = np.array(rows, SELFPLAY)
    for number, start in enumerate(range(0, max(len(rows), 1), shard_rows), 1):
        np.save(Path(out) / f"steps-{number:06}.npy", rows[start : start + shard_rows])
    print(json.dumps(runs))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
