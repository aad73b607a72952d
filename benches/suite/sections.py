"""What is measured, a function for each row (or two) of the speed table. Each makes its inputs,
compares what the contenders write, measures them in turn, and returns a `Section`. Those about
encoding alone are in encoding.py."""

import hashlib
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys

import hard_texts as hard
from any_model import any_model, control_tokens, long_chats, other_rows, preference_pairs, same_tools, tokens_and_masks
from encoding import encode, real_text
from packing import packing
from inputs import ROOT
from make_sessions import FILES, LINES
from measuring import chain, pipe
from report import Goal, Section, commands, contenders, megabytes, number, spread, table

PYTHON = sys.executable
PEERS = f"{PYTHON} {ROOT}/benches/suite/peers.py"
ORIGINAL = f"{PYTHON} {ROOT}/tests/oracle/synth_kd_original.py"
#: The forms of sessions.
FORMS = [*FILES, *LINES]
#: The stand-in of the published builder takes half of its time.
STAND_IN = 2


def conversations_to_root(shard, root, join=chain, **env):
    """Our filters from conversations to a root."""
    return join(
        f"harmony-tok -q {shard} | span-mask -q | mmidx-write -q --overwrite --shard shard_00"
        f" --valid-fraction 0.1 --root {root}",
        **env,
    )


def hard_texts(bench, inputs, quick):
    """Texts of one kind and one piece, in a new process: nanoseconds for a byte do not grow with
    the size. The tokens of the shortest are compared with those of tiktoken-rs."""
    sizes = [2**14, 2**20] if quick else [2**14, 2**17, 2**20, 2**23]
    rows = []
    for kind, make in hard.KINDS.items():
        row = [kind]
        for size in sizes:
            text = make(size, random.Random(1))
            inputs.path("hard.ndjson").write_text(json.dumps(text) + "\n")
            run = lambda name: json.loads(bench.output(["encode", name, "hard.ndjson", "1"]))
            ours = min((run("gristmill") for _ in range(bench.runs // 2)), key=lambda run: run["passes"])
            if size == sizes[0] and ours["hash"] != run("tiktoken-rs")["hash"]:
                raise SystemExit(f"{kind}: the tokens differ from those of tiktoken-rs")
            row.append(number(1e9 * ours["passes"][0] / ours["bytes"]))
        rows.append(row)
    head = ["ns a byte"] + [f"{size >> 10:,} KiB" for size in sizes]
    return Section("Hard texts", table(head, rows))


def synth(bench, inputs, quick):
    """Parquet to `.bin/.idx`; all rows distinct, start-up included. The filters are in one process, in
    two lines with pipes between them."""
    small, medium, large = (250, 1_000, 10_000) if quick else (1_000, 10_000, 100_000)
    environment = {"TIKTOKEN_ENCODINGS_BASE": inputs.vocabulary()}
    shards = {count: inputs.conversations(count) for count in (small, medium, large)}
    roots = "original medium cold warm pipes ndjson large"
    bench.shell(f"rm -rf {roots}; mkdir {roots}")
    theirs = lambda shard, root: pipe(f"{ORIGINAL} {shard} {root} shard_00 0.1", **environment)
    ours = conversations_to_root
    pipes = {
        f"the Python original, {small:,} rows": theirs(shards[small], "original"),
        f"cold, {small:,} rows": ours(shards[small], "cold"),
        f"the Python original, {medium:,} rows": theirs(shards[medium], "medium"),
        f"{medium:,} rows": ours(shards[medium], "warm"),
        f"{medium:,} rows, pipes": ours(shards[medium], "pipes", pipe),
        f"{medium:,} rows, pipes, NDJSON": ours(shards[medium], "ndjson", pipe, GRISTMILL_TO="ndjson"),
        f"warm, {large:,} rows": ours(shards[large], "large"),
    }
    rows = dict(zip(pipes, [small, small, medium, medium, medium, medium, large]))
    results = bench.compare(pipes, min(bench.runs, 3))
    for left, right in [("original", "cold"), ("medium", "warm"), ("medium", "pipes"), ("medium", "ndjson")]:
        bench.shell(f"for split in train valid; do diff -r {left}/$split {right}/$split; done")
    rates = {name: rows[name] / result.cpu_median for name, result in results.items()}
    first, cold, second, same, piped, ndjson, _ = rates.values()
    lines = []
    for name, result in results.items():
        rate, to = rates[name], first if rows[name] == small else second
        line = [name, number(rate), f"{rate / to:.1f} x", number(1e6 / rate)]
        lines.append([*line, spread(result.cpu), f"{result.wall_median:.3f}", megabytes(result.peak)])
    head = ["", "rows per CPU s", "ratio", "CPU µs a row", "spread", "wall s", "peak MB"]
    text = "The files of both are equal byte for byte.\n\n" + table(head, lines)
    peak = max(results[name].peak for name in pipes if "original" not in name) / 1e6
    goals = [
        Goal(f"SYNTH pipeline, {medium:,} rows, against the published builder", 100, STAND_IN * same / second, "x"),
        Goal(f"SYNTH pipeline, {small:,} rows, against the published builder", 50, STAND_IN * cold / first, "x"),
        Goal("SYNTH pipeline in NDJSON, by Arrow", 2, piped / ndjson, "x", less=True),
        Goal("SYNTH pipeline, memory of all processes", 200, peak, "MB", less=True),
    ]
    return Section("SYNTH pipeline", text + "\n" + commands(results), goals)


def synth_real(bench, inputs, quick):
    """The same on real text of which nothing comes twice: caches of words help less."""
    rows = 1_000 if quick else 10_000
    try:
        shard = inputs.real_conversations(rows)
    except subprocess.CalledProcessError:
        return Section("SYNTH pipeline, distinct real text", "Not measured: the packages cannot be downloaded.\n")
    environment = {"TIKTOKEN_ENCODINGS_BASE": inputs.vocabulary()}
    bench.shell("rm -rf original real; mkdir original real")
    pipes = {
        "the Python original": pipe(f"{ORIGINAL} {shard} original shard_00 0.1", **environment),
        "gristmill": conversations_to_root(shard, "real"),
    }
    results = bench.compare(pipes, min(bench.runs, 3))
    bench.shell("for split in train valid; do diff -r original/$split real/$split; done")
    theirs, ours = results.values()
    text = f"{rows:,} rows; the files of both are equal byte for byte.\n\n"
    text += contenders(results, rows, "rows", next(iter(pipes)))
    ratio = STAND_IN * theirs.cpu_median / ours.cpu_median
    goals = [Goal(f"SYNTH pipeline, {rows:,} rows of distinct real text, against the published builder", 65, ratio, "x")]
    return Section("SYNTH pipeline, distinct real text", text + "\n" + commands(results), goals)


def raw_rows(bench, inputs, quick):
    """Raw SYNTH rows to conversations, and on to `.bin/.idx`; start-up included."""
    small, large = (250, 10_000) if quick else (1_000, 100_000)
    environment = {"TIKTOKEN_ENCODINGS_BASE": inputs.vocabulary(), "HF_HUB_OFFLINE": "1"}
    environment["HF_HOME"] = str(inputs.path("huggingface"))
    convert = f"{PYTHON} {ROOT}/benches/suite/convert_raw.py"
    shards = lambda raw, out: f"synth-harmony -q {raw} --to parquet -o {out} --overwrite"
    whole = lambda raw, root: chain(
        f"synth-harmony -q {raw} | harmony-tok -q | span-mask -q | mmidx-write -q --overwrite"
        f" --shard shard_00 --valid-fraction 0.1 --root {root}"
    )
    first, second = inputs.raw_rows(small), inputs.raw_rows(large)
    bench.shell("rm -rf original cold warm; mkdir original cold warm")
    converted = {
        f"the published way, {large:,} rows": pipe(f"{convert} {second} theirs.parquet", **environment),
        f"synth-harmony, {large:,} rows": pipe(shards(second, "ours.parquet")),
    }
    conversions = bench.compare(converted, min(bench.runs, 3))
    same = "import pyarrow.parquet as pq; a, b = map(pq.read_table, ['theirs.parquet', 'ours.parquet']);"
    bench.shell(f'{PYTHON} -c "{same} assert a.equals(b)"')
    built = {
        f"converter, {small:,} rows": pipe(f"{convert} {first} theirs.parquet", **environment),
        f"builder, {small:,} rows": pipe(
            f"{ORIGINAL} theirs.parquet original shard_00 0.1", **environment
        ),
        f"one pipe of ours, {small:,} rows": whole(first, "cold"),
        f"one pipe of ours, {large:,} rows": whole(second, "warm"),
    }
    builds = bench.compare(built)
    bench.shell("for split in train valid; do diff -r original/$split cold/$split; done")
    text = "The shards of both have equal columns, the files of both pipelines are equal.\n\n"
    text += contenders(conversions, large / 1e3, "k rows", next(iter(conversions))) + "\n"
    names = list(built)
    sizes = dict(zip(names, [small, small, small, large]))
    lines = [
        [name, number(sizes[name] / result.cpu_median), spread(result.cpu), megabytes(result.peak)]
        for name, result in builds.items()
    ]
    text += table(["", "rows per CPU s", "spread", "peak MB"], lines)
    both = small / sum(builds[name].cpu_median for name in names[:2])
    goals = [
        Goal(
            f"raw rows to .bin/.idx, {sizes[name]:,} rows, against converter and builder",
            100,
            sizes[name] / builds[name].cpu_median / both,
            "x",
        )
        for name in names[2:]
    ]
    return Section("Raw SYNTH rows", text + "\n" + commands({**conversions, **builds}), goals)


def rows_of(inputs, file):
    """How many rows of 48 bytes follow the header of an .npy file."""
    return (os.path.getsize(inputs.path(file)) - 384) // 48


def chats(bench, inputs, quick):
    """Chats as people have them, beside the encoder on the conversations that they become."""
    rows = 10_000 if quick else 100_000
    source = inputs.chats(rows)
    size = inputs.path(source).stat().st_size
    bench.shell(f"chat-harmony -q --turns all {source} > conversations.arrows")
    results = bench.compare({
        "chat-harmony": pipe(f"chat-harmony -q --turns all {source}"),
        "harmony-tok": pipe("harmony-tok -q conversations.arrows"),
    })
    ours, encoder = results.values()
    speed = size / 1e6 / ours.cpu_median
    lines = [
        [name, number(size / 1e6 / result.cpu_median), spread(result.cpu), megabytes(result.peak)]
        for name, result in results.items()
    ]
    goals = [
        Goal("chat-harmony, one thread", 60, speed, "MB/s"),
        Goal("chat-harmony, CPU time by that of harmony-tok", 1, ours.cpu_median / encoder.cpu_median, "x", less=True),
    ]
    text = f"{rows:,} chats of {size / 1e6:,.0f} MB; rates are MB of chats a CPU second.\n\n"
    head = ["", "MB per CPU s", "spread", "peak MB"]
    return Section("Chats", text + table(head, lines) + "\n" + commands(results), goals)


def sessions(bench, inputs, quick):
    """Sessions of agents to conversations, in each form that is read; most bytes are results of tools. The peer parses
    each line with Python's json, and prints it."""
    lines, goals, all_results = [], [], {}
    for form in FORMS:
        files = inputs.sessions(form, 40 if quick else 320)
        size, names = sum(file.stat().st_size for file in files), " ".join(map(str, files))
        peer = pipe(f"{PYTHON} {ROOT}/benches/suite/make_sessions.py --copy {names}")
        ours = pipe(f"chat-harmony -q -j 1 --turns all {names}")
        results = bench.compare({f"{form}, json of Python": peer, form: ours}, min(bench.runs, 3))
        theirs, result = results.values()
        speed = size / 1e6 / result.cpu_median
        ratio = f"{theirs.cpu_median / result.cpu_median:.1f} x"
        lines.append([form, number(speed), ratio, spread(result.cpu), megabytes(result.peak)])
        goals.append(Goal(f"sessions, {form}", 1000, speed, "MB/s"))
        if len(files) == 1:
            all_results |= results
    head = ["", "MB per CPU s", "against json of Python", "spread", "peak MB"]
    return Section("Sessions", table(head, lines) + "\n" + commands(all_results), goals)


def macroxue(bench, inputs, quick):
    """Raw logs to a pack. The peer is a packer of the usual crates (flate2, serde_json), which
    keeps all rows in memory and checks almost nothing."""
    copies = 4 if quick else 20
    raw = inputs.raw_games(copies)
    pipes = {
        "pack_games (serde_json, flate2)": pipe(f"pack_games {raw} peer.npy"),
        "gristmill, decoding alone": pipe(f"mx-decode -q {raw}"),
        "gristmill, to a pack": chain(f"mx-decode -q {raw} | npy-pack -q --overwrite -o packed"),
        "gristmill, to a pack, pipe": pipe(f"mx-decode -q {raw} | npy-pack -q --overwrite -o packed_piped"),
        "gristmill, to a pack, pipe, NDJSON": pipe(
            f"mx-decode -q {raw} | npy-pack -q --overwrite -o packed_lines", GRISTMILL_TO="ndjson"
        ),
    }
    results = bench.compare(pipes)
    bench.shell("for pack in packed packed_piped packed_lines; do cmp peer.npy $pack/steps.npy; done")
    rows = rows_of(inputs, "peer.npy")
    peer, alone, whole, piped, lines = (result.cpu_median for result in results.values())
    text = f"{rows:,} rows; the rows of both are equal byte for byte.\n\n"
    text += contenders(results, rows / 1e6, "M rows", next(iter(pipes)))
    goals = [
        Goal("raw games, decoding alone, against a packer of crates", 5, peer / alone, "x"),
        Goal("raw games, decoding alone", 4.4, rows / alone / 1e6, "M rows/s"),
        # The peer is 1.35 x faster than the published packer.
        Goal("raw games to a pack, against the published packer", 5.5, 1.35 * peer / whole, "x"),
        Goal("raw games to a pack in NDJSON, by Arrow", 2, lines / piped, "x", less=True),
    ]
    return Section("Macroxue logs to a pack", text + "\n" + commands(results), goals)


def merging(bench, inputs, quick):
    """Two packs into one. The peer copies with numpy and writes no hashes."""
    pack = inputs.pack(4 if quick else 20)
    pipes = {
        "numpy, memory-mapped": pipe(f"{PEERS} merge merged_peer {pack} {pack}"),
        "gristmill": pipe(f"npy-pack -q --overwrite -o merged {pack} {pack}"),
        "gristmill, as a pipe": pipe(f"ds-cat -q {pack} {pack} | npy-pack -q --overwrite -o piped"),
    }
    results = bench.compare(pipes)
    bench.shell("cmp merged_peer/steps.npy merged/steps.npy; cmp merged/steps.npy piped/steps.npy")
    rows = rows_of(inputs, "merged/steps.npy")
    seconds = results["gristmill"].cpu_median
    text = f"{rows:,} rows; the rows of both are equal byte for byte.\n\n"
    text += contenders(results, rows / 1e6, "M rows", "numpy, memory-mapped")
    ratio = results["numpy, memory-mapped"].cpu_median / seconds
    goals = [
        Goal("merging packs, against numpy, without checks or hashes", 1, ratio, "x"),
        Goal("merging packs (4.5 x the published 3.5)", 15.9, rows / seconds / 1e6, "M rows/s"),
    ]
    return Section("Merging packs", text + "\n" + commands(results), goals)


def writers(bench, inputs, quick):
    """The writers alone, from an Arrow stream in a file; the peers are pyarrow with numpy, and
    compute no hashes."""
    tokens = inputs.tokens(10_000 if quick else 100_000)
    games = inputs.games(4 if quick else 20)
    bench.shell("rm -rf triples; mkdir triples")
    text, goals = "", []
    for name, asked, peer, ours, output in [
        (
            "mmidx-write",
            1,
            pipe(f"{PEERS} mmidx triples/peer", stdin=tokens),
            pipe("mmidx-write -q --overwrite --prefix triples/ours", stdin=tokens),
            "triples/ours_*.bin",
        ),
        (
            "npy-pack",
            0.6,
            pipe(f"{PEERS} npy rows.npy", stdin=games),
            pipe("npy-pack -q --overwrite -o rows", stdin=games),
            "rows/steps.npy",
        ),
    ]:
        results = bench.compare({"pyarrow and numpy": peer, name: ours})
        size = sum(file.stat().st_size for file in pathlib.Path(bench.directory).glob(output))
        text += contenders(results, size / 1e9, "GB of output", "pyarrow and numpy") + "\n"
        text += commands(results) + "\n"
        rate = size / results[name].wall_median / 1e9
        goals.append(Goal(f"{name} alone, from an Arrow stream, wall", asked, rate, "GB/s"))
    bench.shell(
        "for file in triples/peer_*; do cmp $file triples/ours_${file#*_}; done;"
        " cmp rows.npy rows/steps.npy"
    )
    return Section("Writers", text + "What ours and the peer write is equal byte for byte.\n", goals)


def checking(bench, inputs, quick):
    """ds-check compared with `sha256sum` of the same files, the usual check without it."""
    sets = [
        ("pack", "rows", inputs.pack(4 if quick else 20)),
        ("root", "sequences", inputs.root(10_000 if quick else 100_000)),
        ("sudoku", "examples", inputs.sudoku(50 if quick else 200)),
        ("arc", "examples", inputs.arc(20 if quick else 50)),
    ]
    text, goals = "", []
    for name, unit, path in sets:
        files = [file for file in pathlib.Path(bench.directory, path).rglob("*") if file.is_file()]
        size = sum(file.stat().st_size for file in files)
        names = " ".join(str(file.relative_to(bench.directory)) for file in sorted(files))
        hashes = "pool.manifest,kd.manifest,puzzle.build"
        pipes = {
            "sha256sum": pipe(f"sha256sum {names}"),
            "structure": pipe(f"ds-check -q --structure {path}"),
            "every rule": pipe(f"ds-check -q -j 1 --skip {hashes} {path}"),
            "every rule and the hashes": pipe(f"ds-check -q -j 1 {path}"),
        }
        if name == "root":
            # What the texts of the root cost when they are encoded for the first time.
            shard = inputs.conversations(10_000 if quick else 100_000)
            pipes["harmony-tok"] = pipe(f"harmony-tok -q -j 1 {shard}")
        results = bench.compare(pipes)
        summary = bench.output(["ds-check", "--format", "json", "--structure", path])
        records = json.loads(summary.splitlines()[-1])["summary"]["records"]
        text += f"{name}: {size / 1e6:,.0f} MB, {records:,} {unit}.\n\n"
        text += contenders(results, size / 1e6, "MB", "sha256sum") + "\n"
        seconds = {name: result.cpu_median for name, result in results.items()}
        goals.append(
            Goal(f"ds-check, structure: {name}", 2, size / seconds["structure"] / 1e9, "GB/s")
        )
        if name == "pack":
            rate = records / seconds["every rule"] / 1e6
            goals.append(Goal("ds-check -j 1, every rule of a pack", 15, rate, "M rows/s"))
        if name == "root":
            ratio = seconds["every rule"] / seconds["harmony-tok"]
            goals.append(
                Goal("ds-check of a root, every rule, by harmony-tok", 1.3, ratio, "x", less=True)
            )
    text += "```\n" + f"ds-check -q -j 1 [--structure | --skip {hashes}] SET\n" + "```\n"
    return Section("ds-check", text, goals)


def looking(bench, inputs, quick):
    """ds-stat and ds-diff beside reading alone (ds-cat), and one record among many, by its id and
    by its number."""
    rows = 10_000 if quick else 100_000
    sets = {
        "root": inputs.root(rows),
        "stream of tokens": inputs.tokens(rows),
        "conversations": inputs.conversations(rows),
        "pack": inputs.pack(4 if quick else 20),
        "sudoku": inputs.sudoku(50 if quick else 200),
    }
    text, goals = "", []
    for name, path in sets.items():
        results = bench.compare(
            {
                "reading": pipe(f"ds-cat -q {path}"),
                "ds-stat": pipe(f"ds-stat -q -j1 {path}"),
                "ds-stat, no repeats": pipe(f"ds-stat -q -j1 --no-repeats {path}"),
                "ds-diff with itself": pipe(f"ds-diff -q {path} {path}"),
            }
        )
        records = int(bench.output(["ds-cat", "--count", path]))
        text += f"{name}: {records:,} records.\n\n" + contenders(results, records, "records", "reading")
        text += "\n"
        seconds = {name: result.cpu_median for name, result in results.items()}
        ratio = seconds["ds-stat"] / seconds["reading"]
        goals.append(Goal(f"ds-stat beside reading: {name}", 1.5, ratio, "x", less=True))
        ratio = seconds["ds-diff with itself"] / seconds["reading"] / 2
        goals.append(Goal(f"ds-diff beside reading both: {name}", 1.2, ratio, "x", less=True))
    rows = 100_000 if quick else 1_000_000
    root = inputs.short_root(rows)
    wanted = hashlib.md5(str(rows * 3 // 4).encode()).hexdigest()
    results = bench.compare(
        {
            "ds-cat --id": pipe(f"ds-cat -q {root} --id short-{wanted}"),
            "ds-view --id": pipe(f"ds-view -q {root} --id short-{wanted}"),
            "ds-cat --nth": pipe(f"ds-cat -q {root} --nth {rows * 3 // 4}"),
        }
    )
    text += f"One record among {rows:,}.\n\n" + contenders(results, rows, "records", "ds-cat --nth")
    for name, result in results.items():
        goals.append(Goal(f"{name} among {rows:,}", 50, 1e3 * result.wall_median, "ms", less=True))
    return Section("Looking", text + "\n" + commands(results), goals)


def triples(bench, inputs, quick):
    """Opening a triple in Python: the whole process, with all checks of its three indices."""
    program = f"{PYTHON} {ROOT}/benches/suite/open_triple.py"
    rows = []
    for sequences in [10_000, 10_000_000]:
        prefix = inputs.path(f"opened_{sequences}")
        if not prefix.with_name(f"{prefix.name}_span.bin").exists():
            bench.shell(f"{program} make {prefix} {sequences}")
        [result] = bench.compare({"": pipe(f"{program} open {prefix}")}).values()
        seconds = [f"{result.wall_median:.2f}", f"{result.cpu_median:.2f}"]
        rows.append([f"{sequences:,}", *seconds, megabytes(result.peak)])
    goals = [Goal("opening 10,000,000 sequences in Python", 2, result.wall_median, "s", less=True)]
    return Section("Triples", table(["sequences", "wall s", "CPU s", "peak MB"], rows), goals)


FILTERS = (
    "chat-harmony chat-tok harmony-tok span-mask mmidx-write mx-decode npy-pack puzzle-encode seq-pack"
    " ds-cat ds-check ds-manifest ds-plan ds-view"
).split()


def starting(bench, inputs, quick):
    """From the start of the process to its end (or to its first byte), in wall time."""
    runs = 11 if quick else 51
    wall = lambda name, command: statistics.median(
        bench.compare({name: pipe(command)}, runs)[name].wall
    )
    one = inputs.conversations(1)
    first = bench.first_byte(pipe(f"harmony-tok -q {one}"), runs)
    inputs.path("one.ndjson").write_text('"a"\n')
    rows = [
        ["`true`", f"{1e3 * wall('true', 'true'):.2f}"],
        ["harmony-tok, one conversation, to its first byte", f"{1e3 * first:.2f}"],
    ]
    for name in ["bpe-openai", "tiktoken", "tiktoken-rs", "fastokens"]:
        load = statistics.median(
            json.loads(bench.output(["encode", name, "one.ndjson", "1"]))["load"]
            for _ in range(bench.runs)
        )
        rows.append([f"{name}, its vocabulary alone", f"{1e3 * load:.2f}"])
    goals = [Goal("harmony-tok, to its first byte", 5, 1e3 * first, "ms", less=True)]
    slowest = 0
    for name in FILTERS:
        taken = 1e3 * wall(name, f"{name} --version")
        slowest = max(slowest, taken)
        rows.append([f"{name} --version", f"{taken:.2f}"])
    goals.append(Goal("every filter's start", 5, slowest, "ms", less=True))
    return Section("Start", table(["", "ms"], rows), goals)


def threads(bench, inputs, quick):
    """`-j 2` against `-j 1`, in wall time; the output is the same bytes (the tests compare)."""
    rows, goals = [], []
    raw, many = inputs.data / "hrm/raw", 10_000 if quick else 100_000
    filters = [
        ("harmony-tok", 1.85, f"harmony-tok -q {inputs.conversations(many)}"),
        ("chat-harmony", 1.85, f"chat-harmony -q --turns all {inputs.chats(many)}"),
        ("mx-decode", 1.8, f"mx-decode -q {inputs.raw_games(4 if quick else 20)}"),
        ("puzzle-encode", 1.8, f"puzzle-encode arc -q {raw}/arc --num-aug {20 if quick else 200}"),
        ("ds-check of a root", 1.85, f"ds-check -q {inputs.root(many)}"),
        ("ds-check of a pack", 1.85, f"ds-check -q --skip pool.manifest {inputs.pack(4 if quick else 20)}"),
    ]
    if (ROOT / "target/models/qwen3").is_dir():
        chats = inputs.model_chats(many, True)
        filters.append(("chat-tok", 1.85, f"chat-tok -q --turns all --model {ROOT}/target/models/qwen3 {chats}"))
    for name, asked, command in filters:
        results = bench.compare({f"-j {n}": pipe(f"{command} -j {n}") for n in (1, 2)})
        one, two = (result.wall_median for result in results.values())
        cpu = results["-j 2"].cpu_median / results["-j 1"].cpu_median
        rows.append([f"`{command}`", f"{one:.3f}", f"{two:.3f}", f"{one / two:.2f} x", f"{cpu:.2f}"])
        goals.append(Goal(f"{name} -j 2 against -j 1", asked, one / two, "x"))
    head = ["", "-j 1 wall s", "-j 2 wall s", "ratio", "CPU s of -j 2 by -j 1"]
    return Section("Threads", table(head, rows), goals)


def sizes(bench, inputs, quick):
    """Cost of a row at several sizes, start-up included, and the peak of memory."""
    lines = []
    for rows in [100, 1_000, 10_000] + ([] if quick else [100_000]):
        shard = inputs.conversations(rows)
        bench.shell("rm -rf grown; mkdir grown")
        command = f"harmony-tok -q {shard} | span-mask -q | mmidx-write -q --overwrite --prefix grown/x"
        [result] = bench.compare({"": chain(command)}, 3).values()
        lines.append(["SYNTH pipeline", rows, result.cpu_median, result.peak])
    for raw in [inputs.few_games(), *map(inputs.raw_games, [1, 4] if quick else [1, 4, 20, 40])]:
        command = f"mx-decode -q {raw} | npy-pack -q --overwrite -o grown/pack"
        [result] = bench.compare({"": chain(command)}, 3).values()
        rows = rows_of(inputs, "grown/pack/steps.npy")
        lines.append(["raw games to a pack", rows, result.cpu_median, result.peak])
    table_rows = [
        [name, f"{rows:,}", number(1e9 * cpu / rows), megabytes(peak)]
        for name, rows, cpu, peak in lines
    ]
    head = ["", "rows", "CPU ns a row", "peak MB, all processes"]
    return Section("Growing inputs", table(head, table_rows))


ALL = [encode, real_text, hard_texts, starting, synth, synth_real, raw_rows, chats, sessions, any_model, same_tools, control_tokens, long_chats, other_rows, tokens_and_masks, preference_pairs]
ALL += [macroxue, merging, writers, checking]
ALL += [looking, triples, packing, threads, sizes]
