"""Pools of all kinds, written with numpy and sqlite3 alone, and the games that are in them.

    pools.py DIR    writes DIR/NAME (a pool) and DIR/NAME.ndjson (its games) for tests/formats/pools.rs
"""

import json
import sqlite3
import sys
from pathlib import Path

import numpy as np

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

random = np.random.default_rng(2048)


def f32(value):
    """A number as JSON has it if it is an f32: with just enough digits to identify it."""
    return float(str(np.float32(value)))


def nibbles(board):
    value = 0
    for exponent in board:
        value = value << 4 | min(exponent, 15)
    return value


def game(run_id, steps, **fields):
    names = ["seed", "depth", "score", "max_tile", "max_rank", "num_moves", "seconds", "source"]
    record = {"run_id": run_id} | {name: None for name in names}
    return record | {"meta": None, "session": None} | fields | {"steps": steps}


def step(index, board, **fields):
    names = ["board_eval", "move_dir", "valuation_type", "valuation", "ev_legal", "max_rank"]
    nulls = {name: None for name in names + ["seed", "branch_evs"]}
    return {"step_index": index, "board": board} | nulls | fields


def some_board(large=0):
    board = [int(cell) for cell in random.integers(0, 16, 16)]
    for cell in random.choice(16, large, replace=False):
        board[cell] = 16
    if large == 1 and random.integers(2):
        board[board.index(16)] = 17
    return board


def macroxue_games(lengths, names, empty_meta=False):
    games = []
    for run_id, length in enumerate(lengths):
        seed = [7, 2**64 - 1, 2**40 + 5, 272350805][run_id % 4]
        steps = []
        for index in range(length):
            board = some_board(large=index % 3 if index > 3 else 0)
            if index == length - 1:
                # After the last move the highest tile is that of the run.
                board = [min(cell, 13) for cell in board]
                board[length % 16] = 15
            legal = int(random.integers(0, 16))
            evs = [f32(random.normal()) if legal >> i & 1 else None for i in range(4)]
            steps.append(
                step(
                    index,
                    board,
                    board_eval=int(random.integers(-(2**31), 2**31)),
                    move_dir=int(random.integers(4)),
                    valuation_type=names[int(random.integers(len(names)))],
                    ev_legal=legal,
                    max_rank=max(board),
                    seed=seed,
                    branch_evs=evs,
                )
            )
        meta = None if empty_meta else {"game_index": run_id, "steps_file": 'a "b"/ü.jsonl.gz'}
        known = {"seed": seed, "score": 100 * run_id, "max_tile": 2**15, "num_moves": length}
        more = {} if empty_meta else {"depth": 6, "max_rank": 15, "seconds": 50.247026}
        games.append(game(run_id, steps, meta=meta, **known, **more))
    return games


def macroxue_rows(games, dtype, ids):
    # Assigned in place: only so are the bytes of the padding zero.
    rows = np.zeros(sum(len(g["steps"]) for g in games), dtype)
    number = 0
    for g in games:
        for s in g["steps"]:
            mask = sum(1 << i for i, exponent in enumerate(s["board"]) if exponent > 15)
            row = rows[number]
            number += 1
            row["run_id"] = g["run_id"]
            row["step_index"] = s["step_index"]
            row["board"] = nibbles(s["board"])
            row["board_eval"] = s["board_eval"]
            row["tile_65536_mask"] = mask
            row["move_dir"] = s["move_dir"]
            row["valuation_type"] = ids[s["valuation_type"]]
            row["ev_legal"] = s["ev_legal"]
            row["max_rank"] = s["max_rank"]
            row["seed"] = g["seed"] & 0xFFFFFFFF
            row["branch_evs"] = [value or 0.0 for value in s["branch_evs"]]
    return rows


def database(directory, games, own=None, session=True):
    """runs, the other fields of a sidecar under run.<id>, and the pool's own keys."""
    connection = sqlite3.connect(directory / "metadata.db")
    connection.execute(
        "CREATE TABLE runs (id INTEGER PRIMARY KEY, seed BIGINT, steps INT, max_score INT, "
        "highest_tile INT)"
    )
    for g in games:
        seed = g["seed"] - 2**64 if g["seed"] is not None and g["seed"] >= 2**63 else g["seed"]
        values = (g["run_id"], seed, g["num_moves"], g["score"], g["max_tile"])
        connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?)", values)
    if session:
        connection.execute("CREATE TABLE session (meta_key TEXT PRIMARY KEY, meta_value TEXT)")
        for g in games:
            more = {name: g[name] for name in ("depth", "max_rank", "seconds") if g[name]}
            more |= g["meta"] or {}
            if more:
                value = (f"run.{g['run_id']}", json.dumps(more, indent=1, ensure_ascii=False))
                connection.execute("INSERT INTO session VALUES (?, ?)", value)
        for key, value in (own or {}).items():
            connection.execute("INSERT INTO session VALUES (?, ?)", (key, value))
    connection.commit()
    connection.close()


def save(directory, rows, shard_rows=None, first=0, digits=5):
    if shard_rows is None:
        np.save(directory / "steps.npy", rows)
        return
    for number, start in enumerate(range(0, len(rows), shard_rows), first):
        np.save(directory / f"steps-{number:0{digits}}.npy", rows[start : start + shard_rows])


def finish(root, name, games, session=None, left_out=None):
    if games:
        own = {"gristmill.left_out": left_out} if left_out else {}
        games[0]["session"] = (session or {}) | own
    with open(root / f"{name}.ndjson", "w") as file:
        for g in games:
            file.write(json.dumps(g) + "\n")


def macroxue(root, name, dtype, shard_rows=None, ids=None, form=None, **options):
    ids = ids or {"search": 0, "tuple10": 1, "tuple11": 2}
    directory = root / name
    directory.mkdir()
    lengths = options.pop("lengths", [5, 0, 40, 17, 1])
    games = macroxue_games(lengths, list(ids), **options)
    save(directory, macroxue_rows(games, dtype, ids), shard_rows)
    own = {"packer": "x 1.0", "zeta": '{"a": 1}', "run.x": "", "run.01": "0"}
    database(directory, games, own)
    if form is not None:
        (directory / "valuation_types.json").write_text(json.dumps(form))
    else:
        # Ids are per pack: without the file nobody knows what they mean.
        for one in (step for game in games for step in game["steps"]):
            one["valuation_type"] = None
    finish(root, name, games, dict(sorted(own.items())))


def selfplay(root, name, empty=False):
    """Interleaved rows of runs with large ids and gaps in their steps, some without rows."""
    directory = root / name
    directory.mkdir()
    ids = [3, 9, 2**32 + 1, 2**53 + 3, 2**62]
    games, rows = [], []
    for run_id in ids:
        count = 0 if run_id == 9 or empty else int(random.integers(20, 60))
        indices = sorted(int(i) for i in random.choice(500, count, replace=False))
        boards = [some_board(large=count % 2) for _ in indices]
        rows += [(run_id, index, board) for index, board in zip(indices, boards)]
        steps = [step(index, board) for index, board in zip(indices, boards)]
        known = {"seed": run_id * 3, "score": 5, "max_tile": 64, "num_moves": count}
        games.append(game(run_id, steps, **known))
    random.shuffle(rows)
    rows = np.array([(run, index, tuple(board)) for run, index, board in rows], SELFPLAY)
    save(directory, rows, shard_rows=50 if len(rows) else None, first=1, digits=6)
    if not empty:
        for number in (1, 2):
            np.save(directory / f"embeddings-{number:06}.npy", np.zeros((50, 8), "f4"))
    # A run that metadata.db does not know.
    database(directory, games[:-1])
    games[-1] |= {"seed": None, "score": None, "max_tile": None, "num_moves": None}
    if empty:
        games.pop()
    finish(root, name, games, left_out=None if empty else ["embeddings-*.npy"])


def legacy(root):
    directory = root / "legacy"
    directory.mkdir()
    dtype = [("board", "<u8"), ("move", "S5"), ("run_id", "<u4"), ("score", "<f4")]
    names = ["up", "down", "left", "right", ""]
    rows, games = [], []
    for run_id in (4, 2):
        steps = []
        for index in range(6):
            board, move = some_board(), (run_id + index) % 5
            rows.append((nibbles(board), names[move].upper(), run_id, 1.5))
            steps.append(step(index, board, move_dir=move if move < 4 else None))
        games.insert(0, game(run_id, steps, seed=run_id, num_moves=6))
    save(directory, np.array(rows, dtype))
    database(directory, games, session=False)
    finish(root, "legacy", games, left_out=["score"])

    # Text of another width, no metadata.db, and big-endian numbers.
    directory = root / "legacy-big"
    directory.mkdir()
    dtype = [("run_id", ">i8"), ("step_idx", ">i4"), ("board", ">u8"), ("move", ">U5")]
    boards = [some_board() for _ in range(4)]
    rows = [(1, 3 - i, nibbles(board), names[i]) for i, board in enumerate(boards)]
    save(directory, np.array(rows, dtype))
    steps = [step(3 - i, board, move_dir=i) for i, board in enumerate(boards)]
    finish(root, "legacy-big", [game(1, steps[::-1])])

    # The first letters of the moves.
    directory = root / "legacy-letters"
    directory.mkdir()
    boards = [some_board() for _ in range(4)]
    rows = [(1, i, nibbles(board), "UdLr"[i]) for i, board in enumerate(boards)]
    save(directory, np.array(rows, [("run_id", "<i8"), ("step_idx", "<i4"), ("board", "<u8"), ("move", "S1")]))
    steps = [step(i, board, move_dir=i) for i, board in enumerate(boards)]
    finish(root, "legacy-letters", [game(1, steps)])

    # Nothing but boards; metadata.db says where runs end.
    directory = root / "legacy-boards"
    directory.mkdir()
    boards = [some_board() for _ in range(7)]
    save(directory, np.array([nibbles(board) for board in boards], "<u8"))
    parts = {1: boards[:3], 2: [], 3: boards[3:]}
    games = []
    for run_id, part in parts.items():
        steps = [step(index, board) for index, board in enumerate(part)]
        games.append(game(run_id, steps, num_moves=len(part)))
    database(directory, games, session=False)
    finish(root, "legacy-boards", games)


def main(root):
    old = {"search": 0, "tuple11": 1, "tuple10": 2}
    new = {"search": 0, "tuple10": 1, "tuple11": 2, "tuple12": 3}
    known = {"search": 0, "tuple10": 1, "tuple11": 2}
    macroxue(root, "aligned", STEP_ROW, form=known)
    macroxue(root, "shards", STEP_ROW, shard_rows=10, form=new, ids=new)
    macroxue(root, "packed", PACKED, ids=old, form={str(i): name for name, i in old.items()})
    macroxue(root, "packed-shards", PACKED, shard_rows=100, ids=old, form=list(old))
    macroxue(root, "bare", STEP_ROW, empty_meta=True)
    macroxue(root, "no-rows", STEP_ROW, lengths=[0, 0])
    macroxue(root, "no-runs", STEP_ROW, lengths=[])
    selfplay(root, "selfplay")
    selfplay(root, "selfplay-empty", empty=True)
    legacy(root)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
