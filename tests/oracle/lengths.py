"""Random chats that are longer than `--max-length`: what `--too-long` keeps of them, beside a decision in Python.

    lengths.py PROGRAM MODEL... [--count N] [--limits L] [--seed S] [--bytes]

PROGRAM is chat-tok, MODEL a folder; with --bytes its template has a tokenizer of single bytes, which is opened at once. N chats of each model are rendered by transformers (fit.py), and taken with L limits, of
which two thirds are just the length of a sequence, or the end of an answer. Compared are the records that each policy
keeps (ids, tokens, masks), the chats that are refused, and the counts that are printed at the end.

Nothing is taken from the Rust code but these words of docs/your-chats.md, for a sequence of more than N tokens:
- refuse: the chat is refused.
- drop: the sequence is left out.
- drop-turns: the oldest turns leave until it fits. A turn is a message of the user with all that follows it. System
  messages at the beginning, and tools, stay. What is left is rendered as a chat of its own, in which the same answers are
  trained on. If nothing fits, the sequence is left out.
- mask: it is cut behind the last answer that is trained on and ends within N tokens. If there is none, it is left out.
A chat of one sequence has its own id, also if others were left out; otherwise its sequences are numbered.
"""

import argparse
import collections
import json
import random
import re
import sys
import tempfile
from pathlib import Path

import fit
import fit_cases

POLICIES = ["refuse", "drop", "drop-turns", "mask"]
SHORTENED = {"drop-turns": "without their oldest turns", "mask": "cut behind the last answer that fits"}
COUNTS = ["tokens", "trained", "sequences", "chats", "turns"]
TOLD = re.compile(
    r"--max-length: ([\d,]+) tokens? left out, ([\d,]+) of them trained on \(sequences (.*?): ([\d,]+); their chats: ([\d,]+)(?:; these turns: ([\d,]+))?\)"
)


class Case:
    """A chat, and what it becomes without its first turns."""

    def __init__(self, model, chat):
        self.model, self.chat = model, chat
        self.whole = fit.records(model, chat)
        self.shorter = {}

    def without(self, record, begin):
        """The records of the beginning of the chat and its messages from `begin` on, with the answers of a record."""
        answers = record["messages"]
        key = begin, *answers
        if key not in self.shorter:
            messages = [message | {"weight": int(at in answers)} for at, message in enumerate(self.chat["messages"])]
            kept = [*messages[: self.lead()], *messages[begin : answers[-1] + 1]]
            self.shorter[key] = fit.records(self.model, self.chat | {"messages": kept})
        return self.shorter[key]

    def lead(self):
        messages = self.chat["messages"]
        return next((at for at, message in enumerate(messages) if message["role"] != "system"), len(messages))

    def turns(self, record):
        """Where the chat may begin behind its system messages, and how many turns have left then."""
        messages = self.chat["messages"][: record["messages"][-1] + 1]
        users = [at for at, message in enumerate(messages) if message["role"] == "user"]
        return list(enumerate(users))[1:]

    def kept(self, record, most, policy):
        """What is left of a sequence that is too long: its records, and how many turns have left."""
        if policy == "mask":
            ends = [end for end in ends_of(record["mask"]) if end <= most]
            return [{**record, "tokens": record["tokens"][: ends[-1]], "mask": record["mask"][: ends[-1]]}] if ends else [], 0
        if policy == "drop-turns":
            for number, begin in self.turns(record):
                made = self.without(record, begin)
                if "refused" in made[0]:
                    raise fit.Refused(made[0]["refused"])
                if all(len(of["tokens"]) <= most for of in made):
                    return made, number
        return [], 0

    def decided(self, most, policy, counts):
        """The records of the chat under a policy; adds to the counts of each kind."""
        if "refused" in self.whole[0]:
            return self.whole
        made, own = [], collections.defaultdict(collections.Counter)
        for record in self.whole:
            if len(record["tokens"]) <= most:
                made.append(record)
                continue
            if policy == "refuse":
                return [{"refused": f"a sequence of {len(record['tokens'])} tokens, more than --max-length {most}; "}]
            try:
                kept, turns = self.kept(record, most, policy)
            except fit.Refused as error:
                return [{"refused": str(error)}]
            count = own[SHORTENED[policy] if kept else "dropped"]
            left = [sum(map(size, [record])) - sum(map(size, kept)) for size in (lambda of: len(of["tokens"]), lambda of: sum(of["mask"]))]
            count.update(dict(zip(COUNTS, [*left, 1, 0, turns])))
            count["chats"] = 1
            made += kept
        for kind, count in own.items():
            counts[kind].update(count)
        name = self.chat["id"]
        return [{**record, "id": name if len(made) == 1 else f"{name}#{at}"} for at, record in enumerate(made, 1)]


def ends_of(mask):
    """Where the answers that are trained on end."""
    return [at + 1 for at, pair in enumerate(zip(mask, [*mask[1:], 0])) if pair == (1, 0)]


def limits(rng, cases, number):
    """In turn: the length of a sequence, the end of an answer within one, and one less than either."""
    records = [record for case in cases for record in case.whole if "refused" not in record]
    lengths = [len(record["tokens"]) for record in records]
    inner = [end for record in records for end in ends_of(record["mask"])[:-1]] or lengths
    middle = lambda places: sorted(places)[len(places) // 10 : -(len(places) // 10) or None]
    return [rng.choice(middle((lengths, inner, lengths + inner)[at % 3])) - (at % 3 == 2) for at in range(number)]


def of_bytes(folder, place):
    """A model of single bytes with the template of a folder."""
    source = json.loads(Path(folder, "tokenizer_config.json").read_text())["chat_template"]
    tokens, eos, bos, stops = fit_cases.guessed(source)
    fit_cases.write_model(place, source, tokens, eos, bos, stops)
    return str(place)


def told(stderr):
    """The counts that are printed, by kind."""
    numbers = lambda found: [int((of or "0").replace(",", "")) for of in found]
    return {kind: dict(zip(COUNTS, numbers(rest))) for kind, rest in (((match[3]), match.group(1, 2, 4, 5, 6)) for match in TOLD.finditer(stderr))}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--limits", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bytes", action="store_true")
    given = parser.parse_args()
    found, bad = collections.Counter(), []
    scratch = tempfile.TemporaryDirectory()
    for number, folder in enumerate(given.models):
        if given.bytes:
            folder = of_bytes(folder, Path(scratch.name, f"{number}"))
        model = fit.Model(folder)
        rng = random.Random(f"{given.seed} {number}")
        writer = fit_cases.Writer(rng, model)
        cases = [Case(model, writer.chat(number)) for number in range(given.count)]
        chats = [case.chat for case in cases]
        for most in limits(rng, cases, given.limits):
            lengths = [len(record["tokens"]) for case in cases for record in case.whole if "refused" not in record]
            found.update({"just as long": lengths.count(most), "longer": sum(length > most for length in lengths)})
            for policy in POLICIES:
                flags = ["--max-length", str(most), "--too-long", policy]
                ours, why, stderr = fit_cases.run(given.program, folder, chats, flags)
                counts = collections.defaultdict(collections.Counter)
                for case in cases:
                    theirs, name = case.decided(most, policy, counts), case.chat["id"]
                    found["refused" if theirs and "refused" in theirs[0] else "kept" if theirs else "left out"] += 1
                    problem = fit_cases.problem(theirs, ours[name], why.get(name)) if theirs or name in why else ours[name] and "records"
                    if theirs and "more than" in theirs[0].get("refused", "") and theirs[0]["refused"] not in why.get(name, ""):
                        problem = f"refused for {why.get(name)}, not for {theirs[0]['refused']}"
                    if problem:
                        bad.append(f"{folder} {' '.join(flags)}: {problem}\n    {case.chat}")
                wanted = {kind: {name: count[name] for name in COUNTS} for kind, count in counts.items()}
                found.update({f"{kind}: {name}": count[name] for kind, count in wanted.items() for name in ("sequences", "turns") if count[name]})
                if told(stderr) != wanted:
                    bad.append(f"{folder} {' '.join(flags)}: told {told(stderr)}, not {wanted}")
    print("\n".join(bad[:20]))
    print({**found, "differ": len(bad)})
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
