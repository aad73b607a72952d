"""Templates with random changes, rendered by transformers and by the Rust program.

    mutations.py PROGRAM [COUNT [SEED]]

PROGRAM is lib/template/examples/render. Pieces of templates and of expressions are left out, repeated, or
replaced by others, mostly of their kind. Both sides must give the same text, or both must refuse. (What is not
supported is refused by name, and counted.)
"""

import json
import random
import re
import signal
import sys

import template_chats as chats
import templates
from jinja2 import nodes

TOKEN = re.compile(r"""\{\{-?|-?\}\}|\{%[-+]?|[-+]?%\}|\{#|\#\}|[A-Za-z_]\w*|\d+|'[^']*'|"[^"]*"|\s+|.""", re.S)


def no_constant(*_):
    raise nodes.Impossible


# jinja2 computes constants before a run, and a slice that cannot be made, as of `false[1:]`, is undefined there. In a run
# it is an error, and so it always is here.
nodes.Slice.as_const = no_constant


def kind(token):
    kinds = {"name": r"[A-Za-z_]", "number": r"\d", "text": r"['\"]", "space": r"\s", "operator": r".$"}
    return next((name for name, pattern in kinds.items() if re.match(pattern, token)), token)


def mutated(rng, source, pool):
    tokens = TOKEN.findall(source)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if not tokens:
            break
        at, until = rng.randrange(len(tokens)), rng.randint(1, 8)
        how = rng.randrange(8)
        if how == 0:
            del tokens[at : at + until]
        elif how == 1:
            tokens[at:at] = tokens[at : at + until]
        elif how == 2:
            tokens.insert(at, rng.choice(pool[None]))
        elif how == 3:
            tokens[at] = rng.choice(tokens)
        else:
            tokens[at] = rng.choice(pool[kind(tokens[at])])
    return "".join(tokens)


def late(*_):
    raise TimeoutError


def main():
    path, count, seed = sys.argv[1], int((sys.argv[2:] + ["2000"])[0]), int((sys.argv[3:] + ["1"])[0])
    rng = random.Random(seed)
    sources, lines = chats.templates(), list(templates.expressions())
    pool = {None: []}
    for source in [*sources.values(), *(line["template"] for line in lines)]:
        for token in TOKEN.findall(source):
            pool[None].append(token)
            pool.setdefault(kind(token), []).append(token)
    cases = []
    for _ in range(count):
        is_line = rng.random() < 0.6
        case = dict(rng.choice(lines)) if is_line else chats.case(rng, sources) | {"date": templates.DATE}
        cases.append(case | {"template": mutated(rng, case["template"], pool)})
    differ = refused = by_name = 0
    signal.signal(signal.SIGALRM, late)
    for case, ours in zip(cases, templates.program(path, cases), strict=True):
        signal.alarm(10)
        theirs = templates.render(case)
        signal.alarm(0)
        refused += "error" in theirs
        # (An address in memory is never the same.)
        has_address = re.search(r"(?i) at 0x[0-9a-f]{6}", theirs.get("text", ""))
        if ours == theirs or "error" in ours and ("error" in theirs or has_address):
            continue
        if "not supported" in ours.get("error", ""):
            by_name += 1
            continue
        differ += 1
        print(f"{json.dumps(case['template'])}\n  ours   {ours}\n  theirs {theirs}")
    print(f"mutations: {differ} differences of {count}, {refused} refused, {by_name} not supported")
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
