"""Checks the steps of `games.py GAMES.ndjson` (or `-`): they are what Python's json writes, and numbers have
the digits that numpy gives to the shortest form of their type. Prints how many steps there are."""

import json
import sys

import numpy as np

steps = 0
for line in sys.stdin.buffer if sys.argv[1] == "-" else open(sys.argv[1], "rb"):
    text = line.decode().removesuffix("\n")
    # Floats stay their texts, in quotes that no other text has.
    floats = json.loads(text, parse_float=lambda number: f"\0{number}")
    for step in floats["steps"]:
        steps += 1
        values = [(np.float64, step["valuation"])]
        values += [(np.float32, value) for value in step["branch_evs"]]
        for kind, value in values:
            if value is not None:
                number = value.removeprefix("\0")
                shortest = np.format_float_positional(kind(number), unique=True, trim="0")
                assert value != number and number == shortest, (number, shortest)
    again = json.dumps(floats, separators=(",", ":"), ensure_ascii=False)
    parts = again.split('"\\u0000')
    again = parts[0] + "".join(part.replace('"', "", 1) for part in parts[1:])
    assert again == text, "not as json.dumps writes it"
print(steps)
