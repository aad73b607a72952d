"""seq-pack and its peers."""

import sys

from inputs import ROOT
from measuring import pipe
from report import Goal, Section, commands, megabytes, number, spread, table

PEERS = f"{sys.executable} {ROOT}/benches/suite/pack_peers.py"
LENGTH = 8192


def triple(bench, inputs, sequences, holes):
    prefix = f"packed_{sequences}{'_holes' if holes else ''}"
    if not inputs.path(f"{prefix}_span.bin").exists():
        bench.shell(f"{PEERS} make new_packed {sequences} {'holes' if holes else ''}")
        # The last name says that all is there.
        for member in ("tokens", "lossmask", "span"):
            for end in ("idx", "bin"):
                bench.shell(f"mv new_packed_{member}.{end} {prefix}_{member}.{end}")
    return prefix


def packing(bench, inputs, quick):
    """Bins of lengths alone (an index; sequences of 838 tokens on average, in rows of 8192), and rows with
    their tokens. TRL packs a thousand rows at a time in the first table's last line, as it is used; its best
    fit on the whole table is the line before. Megatron-Bridge's release on PyPI looks for a bin by going
    through all, so that it is given fewer."""
    million, ten, few = (100_000, 1_000_000, 2_000) if quick else (1_000_000, 10_000_000, 20_000)
    how = f"-n {LENGTH} --overflow cut --keep-eod --overwrite -q"
    pipes, counts = {}, {}
    for count in (few, million, ten):
        prefix = triple(bench, inputs, count, True)
        name = f"seq-pack --index, {count:,}"
        pipes[name] = pipe(f"seq-pack {prefix} --index packs.parquet {how}")
        counts[name] = count
        if count == few:
            pipes[f"Megatron-Bridge, {count:,}"] = pipe(f"{PEERS} bridge-lengths {prefix} {LENGTH}")
            counts[f"Megatron-Bridge, {count:,}"] = count
        if count == million:
            whole = f"TRL, best fit of the whole table, {count:,}"
            pipes[whole] = pipe(f"{PEERS} trl-lengths {prefix} {LENGTH}")
            counts[whole] = count
    runs = min(bench.runs, 3)
    results = bench.compare(pipes, runs)
    lines = []
    for name, result in results.items():
        seconds = [f"{result.wall_median:.2f}", f"{result.cpu_median:.2f}"]
        each = number(1e9 * result.cpu_median / counts[name])
        lines.append([name, *seconds, each, megabytes(result.peak)])
    text = table(["", "wall s", "CPU s", "CPU ns a sequence", "peak MB"], lines) + "\n" + commands(results)
    own = {count: results[f"seq-pack --index, {count:,}"] for count in (million, ten)}
    goals = [
        Goal(f"bins of {million:,} lengths", 0.5, own[million].wall_median, "s", less=True),
        Goal(f"bins of {ten:,} lengths", 8, own[ten].wall_median, "s", less=True),
        Goal(f"memory of {ten:,} lengths", 700, own[ten].peak / 1e6, "MB", less=True),
    ]
    prefix = triple(bench, inputs, 20_000 if quick else 300_000, False)
    small = triple(bench, inputs, 5_000 if quick else 50_000, False)
    bench.shell(f"seq-pack {small} -o unpacked.parquet --overwrite -q")
    packed = f"--form trl -n {LENGTH} --overflow cut"
    bridge = f"--form megatron-bridge -n {LENGTH} --overflow drop"

    def write(of, form, jobs):
        rows = f"rows_{jobs}.parquet"
        own = pipe(f"seq-pack {of} -o {rows} -q -j {jobs} {form}")
        own.written = rows
        return own

    pipes = {
        "TRL, 50,000 unpacked rows": pipe(f"{PEERS} trl unpacked.parquet {LENGTH} trl.parquet"),
        "trl, the same": write(small, packed, 1),
        "rows": write(prefix, "", 1),
        "rows, -j 2": write(prefix, "", 2),
        "trl": write(prefix, packed, 1),
        "trl, -j 2": write(prefix, packed, 2),
        "megatron-bridge": write(prefix, bridge, 1),
        "megatron-bridge, -j 2": write(prefix, bridge, 2),
    }
    sizes = {}
    for name, own in pipes.items():
        bench.once(own)
        written = next(word for word in reversed(own.commands[0]) if word.endswith(".parquet"))
        sizes[name] = inputs.path(written).stat().st_size
    results = bench.compare(pipes, runs)
    lines = []
    for name, result in results.items():
        size = sizes[name] / 1e9
        rates = [f"{size / seconds:.2f}" for seconds in (result.wall_median, result.cpu_median)]
        seconds = [f"{result.wall_median:.2f}", f"{result.cpu_median:.2f}"]
        lines.append([name, f"{size:.2f}", *seconds, *rates, spread(result.cpu), megabytes(result.peak)])
    head = ["", "GB written", "wall s", "CPU s", "GB a wall s", "GB a CPU s", "spread", "peak MB"]
    text += "\n" + table(head, lines) + "\n" + commands(results)
    rate = lambda name: sizes[name] / results[name].wall_median / 1e9
    peak = max(result.peak for name, result in results.items() if "TRL" not in name)
    theirs, same = (results[name] for name in ("TRL, 50,000 unpacked rows", "trl, the same"))
    goals += [
        Goal("unpacked rows, -j 2, wall", 0.6, rate("rows, -j 2"), "GB/s"),
        Goal("packed rows for TRL, -j 2, wall", 0.6, rate("trl, -j 2"), "GB/s"),
        Goal("packed rows for TRL, -j 1, wall", 0.6, rate("trl"), "GB/s"),
        Goal("packing rows, against TRL's pack_dataset", 1, theirs.cpu_median / same.cpu_median, "x"),
        Goal("memory of writing rows, -j 2", 200, peak / 1e6, "MB", less=True),
    ]
    for name in ("rows", "trl", "megatron-bridge"):
        ratio = results[name].wall_median / results[f"{name}, -j 2"].wall_median
        goals.append(Goal(f"seq-pack {name} -j 2 against -j 1", 1.85, ratio, "x"))
    return Section("Packing", text, goals)
