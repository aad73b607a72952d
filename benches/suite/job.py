"""The real job at a twentieth of its size, from raw rows to a checked root, on one machine in one run.

    GRISTMILL_DATA=DIR job.py PLACE [--files N] [--rows N] [--games N] [--bin DIR] [-o FILE]

PLACE receives the input (5 GB) and what is made of it (20 GB, and 5 GB of a pack); both stay for
tools/cluster-test.sh --input PLACE/raw. The texts are those of the benchmark (target/bench/texts,
which tools/bench.sh makes). For each stage: wall time, CPU time and peak memory of each filter, by
GNU time, and its memory in the first and in the last gigabyte of what is written.
"""

import argparse
import collections
import datetime
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILTERS = "synth-harmony harmony-tok span-mask mmidx-write ds-cat ds-check ds-manifest seq-pack mx-decode npy-pack"
GIGABYTE = 10**9


class Place:
    """Filters that say what they used, and the scripts beside them."""

    def __init__(self, directory, built):
        self.directory = directory
        self.used = directory / "used"
        watched = directory / "bin"
        shutil.rmtree(watched, ignore_errors=True)
        shutil.rmtree(directory / "scripts", ignore_errors=True)
        watched.mkdir(parents=True)
        shutil.copytree(ROOT / "scripts", directory / "scripts")
        shutil.copy2(built / "ds-plan", watched)
        for name in FILTERS.split():
            timed = f"exec /usr/bin/time -q -a -o {self.used} -f '{name} %U %S %M' {built / name} \"$@\""
            (watched / name).write_text(f"#!/bin/sh\n{timed}\n")
            (watched / name).chmod(0o755)
        self.environment = dict(os.environ, PATH=f"{watched}:{os.environ['PATH']}")

    def stage(self, name, command, written):
        """Runs a command in bash; `written` is the directory whose growth is watched."""
        print(f"{name}: {command}", file=sys.stderr)
        self.used.write_text("")
        start, before = time.monotonic(), os.times()
        process = subprocess.Popen(
            ["bash", "-o", "pipefail", "-c", command], env=self.environment, cwd=self.directory
        )
        watch = Watch(self.directory / written)
        thread = threading.Thread(target=watch.run, daemon=True)
        thread.start()
        code = process.wait()
        wall, after = time.monotonic() - start, os.times()
        watch.ended.set()
        thread.join()
        if code != 0:
            raise SystemExit(f"{name}: exit {code}")
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        used = collections.defaultdict(lambda: [0, 0.0, 0.0, 0])
        for line in self.used.read_text().splitlines():
            filter, user, system, peak = line.split()
            own = used[filter]
            own[0] += 1
            own[1] += float(user)
            own[2] += float(system)
            own[3] = max(own[3], int(peak) * 1024)
        return Stage(name, command, wall, cpu, size(self.directory / written), dict(used), watch)


class Stage:
    def __init__(self, name, command, wall, cpu, bytes, used, watch):
        self.name, self.command, self.wall, self.cpu = name, command, wall, cpu
        self.bytes, self.used, self.watch = bytes, used, watch

    def lines(self):
        yield f"| **{self.name}** | | {self.cpu:,.0f} | {self.wall:,.0f} | {self.bytes / 1e9:.2f} GB | | |"
        for filter, (count, user, system, peak) in self.used.items():
            first, last = self.watch.of(filter)
            ends = [f"{memory / 1e6:.0f}" if memory else "" for memory in (first, last)]
            row = [f"{filter}", f"{count}", f"{user + system:,.1f} ({system:,.1f} system)", "", ""]
            row += [f"{peak / 1e6:.0f} MB", " / ".join(ends) if all(ends) else ""]
            yield "| " + " | ".join(row) + " |"


class Watch:
    """How much memory each filter has as the output grows, looked at each second."""

    def __init__(self, directory):
        self.directory, self.seen, self.ended = directory, [], threading.Event()

    def run(self):
        while not self.ended.wait(1.0):
            done = size(self.directory)
            for status in pathlib.Path("/proc").glob("[0-9]*/status"):
                try:
                    text = status.read_text()
                except OSError:
                    continue
                name = re.search(r"^Name:\t(.*)$", text, re.M)[1]
                memory = re.search(r"^RssAnon:\s+(\d+) kB$", text, re.M)
                if memory and name in FILTERS.split():
                    self.seen.append((done, name, int(memory[1]) * 1024))

    def of(self, filter):
        """Its memory (its own, without mapped files) at most, in the first and in the last gigabyte."""
        own = [(done, memory) for done, name, memory in self.seen if name == filter[:15]]
        total = max((done for done, _ in own), default=0)
        if total < 2 * GIGABYTE:
            return 0, 0
        first = max((memory for done, memory in own if done < GIGABYTE), default=0)
        return first, max((memory for done, memory in own if done > total - GIGABYTE), default=0)


def size(directory):
    """Bytes of all files below it, those that are gone meanwhile left out."""
    total = 0
    for folder, _, files in os.walk(directory):
        for file in files:
            try:
                total += os.lstat(os.path.join(folder, file)).st_blocks * 512
            except OSError:
                pass
    return total


def make_input(place, built, data, files, rows):
    raw, sample = place / "raw", place / "sample.parquet"
    if raw.exists():
        return
    texts = ROOT / "target/bench/texts/real.ndjson"
    conversations = data / "synth_harmony/synth_harmony_shard_00.parquet"
    make = [sys.executable, ROOT / "benches/suite/make_raw_rows.py", conversations, sample]
    subprocess.run(make, check=True)
    new = place / "new"
    shutil.rmtree(new, ignore_errors=True)
    subprocess.run([built / "make_job", sample, texts, new, str(files), str(rows)], check=True)
    new.rename(raw)


def machine():
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())[1]
    load = " ".join(pathlib.Path("/proc/loadavg").read_text().split()[:3])
    return f"{model}, {os.cpu_count()} cores, load before {load}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("place", type=pathlib.Path)
    parser.add_argument("--files", type=int, default=25)
    parser.add_argument("--rows", type=int, default=152_000, help="of each file")
    parser.add_argument("--games", type=int, default=400, help="times the games of the reference data")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "target/release")
    parser.add_argument("-o", type=pathlib.Path)
    given = parser.parse_args()
    data = pathlib.Path(os.environ["GRISTMILL_DATA"])
    built, directory = given.bin.resolve(), given.place.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    start = machine()
    make_input(directory, built, data, given.files, given.rows)
    place = Place(directory, built)
    subprocess.run(["rm", "-rf", "root", "pack", "games", "packs.parquet"], cwd=directory, check=True)
    games = directory / "games"
    games.mkdir()
    for copy in range(given.games):
        (games / f"{copy:04}").symlink_to(data / "macroxue/raw_bench")
    stages = [
        place.stage(
            "raw rows to a root",
            "scripts/synth-kd.sh raw root --raw --shards 4 --valid-fraction 0.001 --no-check -q",
            "root",
        ),
        place.stage("the check", "ds-check -q root", "root"),
        place.stage(
            "an index of rows",
            "seq-pack -q root/train --index root/packs.parquet --seq-length 8192 --overflow drop",
            "root",
        ),
        place.stage("raw games to a pack", "mx-decode -q --to arrow games | npy-pack -q -o pack", "pack"),
        place.stage("the pack's check", "ds-check -q pack", "pack"),
    ]
    rows = given.files * given.rows
    command = f"GRISTMILL_DATA=DIR benches/suite/job.py PLACE --files {given.files} --rows {given.rows}"
    text = [
        f"# The real job at a twentieth, {datetime.date.today()}",
        "",
        f"{rows:,} raw rows ({size(directory / 'raw') / 1e9:.2f} GB of Parquet in {given.files} files), and the games of",
        f"the reference data {given.games} times. {start}. Filters of `{version(built)}`.",
        "",
        f"    {command} --games {given.games}",
        "",
        "| stage, filter | processes | CPU s | wall s | written | peak memory | own memory in the first / last GB, MB |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        *(line for stage in stages for line in stage.lines()),
        "",
        *(f"- {stage.name}: `{stage.command}`" for stage in stages),
    ]
    text = "\n".join(text) + "\n"
    print(text)
    if given.o:
        given.o.write_text(text)


def version(built):
    return subprocess.run([built / "ds-cat", "--version"], capture_output=True, text=True).stdout.strip()


main()
