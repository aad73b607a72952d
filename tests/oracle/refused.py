"""Games of which the second is refused, as NDJSON and as Arrow: `refused.py DIRECTORY`.

Lists the names of the cases with the reason of each in `cases`.
"""

import json
import sys

import pyarrow as pa

directory = sys.argv[1]
BOARD = [1, 1, 0, 0] + [0] * 12
STEP = pa.struct([
    ("step_index", pa.int64()), ("board", pa.list_(pa.int64())), ("move_dir", pa.int64()),
    ("valuation_type", pa.string()), ("valuation", pa.float64()),
    ("ev_legal", pa.int64()), ("board_eval", pa.int64()), ("max_rank", pa.int64()),
    ("branch_evs", pa.list_(pa.float64())),
])
SCHEMA = pa.schema([
    ("run_id", pa.int64()), ("seed", pa.int64()), ("max_rank", pa.int64()),
    ("seconds", pa.float64()), ("meta_json", pa.string()), ("session_json", pa.string()),
    ("steps", pa.list_(STEP)),
])


def game(number, **changes):
    step = {"step_index": 0, "board": BOARD, "move_dir": 2, "valuation_type": "search",
            "valuation": 1.5, "ev_legal": 4, "board_eval": 0, "max_rank": 1, "branch_evs": [None, None, 1.5, None]}
    step.update(changes.pop("step", {}))
    record = {"run_id": number, "seed": 5, "max_rank": 1, "seconds": 1.0, "meta_json": "{}",
              "session_json": None, "steps": [step]}
    record.update(changes)
    return record


CASES = {
    "nan": (dict(seconds=float("nan")), "seconds: NaN is no finite number of its type"),
    "infinity": (dict(seconds=float("inf")), "seconds: Infinity is no finite number of its type"),
    "nan_in_a_step": (dict(step=dict(valuation=float("nan"))),
                      "steps: valuation: NaN is no finite number of its type"),
    "branch": (dict(step=dict(branch_evs=[None, None, float("-inf"), None])),
               "steps: branch_evs: -Infinity is no finite number of its type"),
    "too_large": (dict(step=dict(branch_evs=[None, None, 1e300, None])),
                  "steps: branch_evs: 1e+300 is no finite number of its type"),
    "uint8": (dict(max_rank=256), "max_rank: 256 is not a uint8"),
    "negative": (dict(seed=-1), "seed: -1 is not a uint64"),
    "cell": (dict(step=dict(board=[300] + BOARD[1:])), "steps: board: 300 is not a uint8"),
    "null": (dict(steps=None), "steps is null"),
    "no_json": (dict(meta_json="oops"), "meta: holds no JSON: expected a value at byte 0"),
    "no_object": (dict(meta_json="5"), "meta: a number where an object should be"),
    "list": (dict(session_json="[]"), "session: an array where an object should be"),
    "nan_in_meta": (dict(meta_json='{"a": NaN}'), "meta: holds no JSON: expected a value at byte 6"),
    "cut_meta": (dict(meta_json='{"a": 1'), "meta: holds no JSON: expected `,` or `}` at byte 7"),
}

with open(f"{directory}/cases", "w") as cases:
    for name, (changes, reason) in CASES.items():
        games = [game(0), game(1, **changes), game(2)]
        with open(f"{directory}/{name}.ndjson", "w") as lines:
            lines.writelines(json.dumps(record) + "\n" for record in games)
        table = pa.Table.from_pylist(games, schema=SCHEMA)
        with pa.ipc.new_stream(f"{directory}/{name}.arrows", SCHEMA) as stream:
            stream.write_table(table)
        print(name, reason, file=cases)
