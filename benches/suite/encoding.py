"""Encoding text by itself: a small sample of which every word stays in the processor's caches, and a
large real one, of which most do not."""

import json
import statistics
import subprocess
import sys

from inputs import ROOT
from report import Goal, Section, number, table

OURS = ["gristmill", "gristmill-portable"]


def encode(bench, inputs, quick):
    """Cold is the first pass of a new process, warm the median of those after it."""
    names = [*OURS, "tiktoken-rs", "bpe-openai", "tiktoken", "fastokens"]
    text, goals = "", []
    for file, what in inputs.texts():
        if quick and "synth" not in file:
            continue
        runs = {name: [] for name in names}
        for _ in range(bench.runs):
            for name in names:
                runs[name].append(json.loads(bench.output(["encode", name, file, "4"])))
        median = lambda name, value: statistics.median(map(value, runs[name]))
        first = {name: median(name, lambda run: run["passes"][0]) for name in names}
        later = {
            name: median(name, lambda run: statistics.median(run["passes"][1:])) for name in names
        }
        facts = runs["tiktoken-rs"][0]
        size = facts["bytes"]
        rows = []
        for name in names:
            equal = runs[name][0]["hash"] == facts["hash"]
            if name in OURS and not equal:
                raise SystemExit(f"{file}: {name} differs from the tokens of tiktoken-rs")
            load = median(name, lambda run: run["load"])
            rows.append(
                [
                    name,
                    number(size / first[name] / 1e6),
                    f"{first['tiktoken-rs'] / first[name]:.2f} x",
                    number(size / later[name] / 1e6),
                    f"{later['tiktoken-rs'] / later[name]:.2f} x",
                    number(1e3 * load),
                    number(1e3 * (load + first[name])),
                    "yes" if equal else "no",
                ]
            )
        head = ["", "cold MB/s", "ratio", "warm MB/s", "ratio"]
        head += ["load ms", "load and cold ms", "tokens equal"]
        text += f"{file}, {what}: {size:,} bytes, {facts['tokens']:,} tokens.\n\n"
        text += table(head, rows) + "\n"
        if "synth" in file:
            memory = median("gristmill", lambda run: run["memory"]) / 2**20
            cold = first["fastokens"] / first["gristmill"]
            warm = later["tiktoken-rs"] / later["gristmill"]
            goals = [
                Goal("encode the small sample, cold, against fastokens", 1.2, cold, "x"),
                Goal("encode the small sample, warm, against tiktoken-rs", 25, warm, "x"),
                Goal("encode the small sample, memory of an encoder", 5, memory, "MiB", less=True),
            ]
    text += "```\nencode ENCODER TEXTS.ndjson 4\n```\n"
    return Section("Encoding text", text, goals)


# Those that are fast are run in turn, several passes; the others once, one pass.
FAST = [*OURS, "fastokens", "gigatoken"]
SLOW = ["tiktoken-rs", "bpe-openai"]


class Runs:
    """Encoders over one file of real text, each in processes of its own."""

    def __init__(self, bench, file, fast, runs):
        self.runs = {name: [] for name in [*fast, *SLOW]}
        self.digests = {}
        for at in range(runs):
            for name in [*fast, *SLOW] if at == 0 else fast:
                self.run(bench, file, name, wants_digests=at == 0)
        documents = lambda digests: [digests[at : at + 8] for at in range(0, len(digests), 8)]
        exact = documents(self.digests["tiktoken-rs"])
        self.documents = len(exact)
        self.differ = {
            name: sum(map(bytes.__ne__, documents(digests), exact))
            for name, digests in self.digests.items()
        }
        for name in OURS:
            if self.differ.get(name):
                raise SystemExit(f"{file}: {name}: {self.differ[name]} documents are not exact")

    def run(self, bench, file, name, wants_digests):
        is_python = name == "gigatoken"
        encoder = [sys.executable, f"{ROOT}/benches/suite/encode_gigatoken.py"]
        command = encoder if is_python else ["encode", name]
        command += [file, "1" if name in SLOW else "3"] + ["digests"] * wants_digests
        self.runs[name].append(json.loads(bench.output(command)))
        if wants_digests:
            self.digests[name] = bench.directory.joinpath("digests").read_bytes()

    def median(self, name, value):
        return statistics.median(map(value, self.runs[name]))

    def speed(self, name):
        """Bytes per CPU second: first pass, later ones, the last fifth of the first."""
        later = lambda run: statistics.median(run["passes"][1:] or run["passes"])
        return (
            self.median(name, lambda run: run["bytes"] / run["passes"][0]),
            self.median(name, lambda run: run["bytes"] / later(run)),
            self.median(name, lambda run: run["steady_bytes"] / run["steady"]),
        )


def real_text(bench, inputs, quick):
    """Distinct real documents of 3 to 6 kB in an order drawn once: English, code, many other languages
    and scripts, tables and logs, out of Debian's packages (benches/suite/real_texts.py). Steady is
    the last fifth of the first pass: documents never seen after many others. Memory is what a process
    has at most beyond the texts. tiktoken-rs and bpe-openai make one pass."""
    title = "Encoding real text"
    try:
        directory, made = inputs.real_texts()
    except subprocess.CalledProcessError:
        return Section(title, "Not measured: the text cannot be made here (no network, or no Debian).\n")
    file = directory / "real.ndjson"
    if quick:
        bench.shell(f"head -n 2000 {file} > real_few.ndjson")
        file = "real_few.ndjson"
    # gigatoken reads it.
    inputs.vocabulary()
    runs = Runs(bench, file, FAST, bench.runs)
    rows = []
    base = runs.speed("fastokens")
    for name in runs.runs:
        speeds = runs.speed(name)
        row = [name]
        for speed, of in zip(speeds, base):
            row += [number(speed / 1e6), f"{speed / of:.2f} x"]
        load, memory = (runs.median(name, lambda run: run[key]) for key in ("load", "memory"))
        rows.append([*row, number(1e3 * load), number(memory / 1e6), f"{runs.differ[name]:,}"])
    head = ["MB per CPU s", "first pass", "", "later passes", "", "steady", ""]
    head += ["load ms", "memory MB", "documents that differ"]
    size = runs.runs["gristmill"][0]["bytes"]
    text = f"{size:,} bytes in {runs.documents:,} documents; ratios to fastokens. SHA-256 of the whole text: "
    text += f"`{made['files']['all']['sha256']}`.\n\n" + table(head, rows) + "\n"

    ours, slow = runs.speed("gristmill"), runs.speed("tiktoken-rs")
    memory = runs.median("gristmill", lambda run: run["memory"]) / 2**20
    against = "encode real text, {}, against fastokens"
    goals = [
        Goal(against.format("first pass"), 1.5, ours[0] / base[0], "x"),
        Goal(against.format("later passes"), 1.2, ours[1] / base[1], "x"),
        Goal(against.format("steady"), 1.5, ours[2] / base[2], "x"),
        Goal("encode real text, first pass, against tiktoken-rs", 15, ours[0] / slow[0], "x"),
        Goal("encode real text, memory of an encoder", 24, memory, "MiB", less=True),
    ]
    if not quick:
        lines, more = by_kind(bench, directory, made)
        text, goals = text + lines, goals + more
    text += "```\nencode ENCODER TEXTS.ndjson 3 DIGESTS\n```\n"
    return Section(title, text, goals)


def by_kind(bench, directory, made):
    """Each language or kind of text by itself."""
    rows, goals = [], []
    for kind in made["files"]:
        if kind == "all":
            continue
        runs = Runs(bench, directory / f"real_{kind}.ndjson", ["gristmill", "fastokens"], 3)
        ours, fastokens = runs.speed("gristmill"), runs.speed("fastokens")
        exact = max(runs.speed(name)[0] for name in SLOW)
        ratios = ours[0] / fastokens[0], ours[1] / fastokens[1], ours[0] / exact
        speeds = *ours[:2], *fastokens[:2], exact
        size = runs.runs["gristmill"][0]["bytes"]
        row = [kind, number(size / 1e6), *(number(speed / 1e6) for speed in speeds)]
        rows.append([*row, *(f"{ratio:.2f} x" for ratio in ratios), runs.differ["fastokens"]])
        goals += [
            Goal(f"encode {kind}, first pass, against fastokens", 1.2, ratios[0], "x"),
            Goal(f"encode {kind}, first pass, against the best exact peer", 5, ratios[2], "x"),
        ]
    head = ["MB per CPU s", "MB of text", "ours, first", "later", "fastokens, first", "later"]
    head += ["exact peer, first", "to fastokens, first", "later", "to the exact peer"]
    head += ["fastokens: documents that differ"]
    return table(head, rows) + "\n", goals
