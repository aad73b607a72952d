"""Beginnings of chats, rendered all at once and each by itself.

    prefixes.py PROGRAM [COUNT [SEED]]

PROGRAM is lib/template/examples/render, which does both; the texts must be the same. A third of the chats are long.
"""

import collections
import json
import random
import subprocess
import sys

import template_chats as chats
import templates


def main():
    path, count, seed = sys.argv[1], int((sys.argv[2:] + ["2000"])[0]), int((sys.argv[3:] + ["1"])[0])
    rng = random.Random(seed)
    sources = chats.templates()
    names = {source: name for name, source in sources.items()}
    cases = []
    for _ in range(count):
        case = chats.case(rng, sources) | {"date": templates.DATE, "prefixes": True}
        while rng.random() < 0.33 and len(case["messages"]) < 60:
            case["messages"] += chats.messages(rng)
        cases.append(json.dumps(case))
    done = subprocess.run([path], input="\n".join(cases) + "\n", capture_output=True, text=True, check=True)
    found = collections.Counter()
    for case, line in zip(cases, done.stdout.splitlines(), strict=True):
        kind = line.split(":")[0]
        found[kind] += 1
        if kind == "differs" and found[kind] <= 5:
            print(names[json.loads(case)["template"]], line[:2000])
    print(f"prefixes: {dict(found)}, {len(sources)} templates")
    sys.exit(1 if found["differs"] or not found["same"] else 0)


if __name__ == "__main__":
    main()
