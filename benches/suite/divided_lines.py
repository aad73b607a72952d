#!/usr/bin/env python3
"""One JSONL file in shards and in tasks: whether these have equal bytes, and what dividing it costs.

  divided_lines.py [--bytes N] [--rounds N] [FOLDER]

Makes a file of N bytes of chats (1 GB) in FOLDER, and from it
- with scripts/synth-kd.sh --shards 8 a root: the bytes of the lines that each shard has;
- with --jobs 2, and as a plan of two tasks that run side by side, the same root: the time of both, and of planning and
  joining.
Exits with 1 if a shard is more than 2 % from an eighth, if the roots differ, or if the two tasks take more than 10 %
longer than --jobs 2.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/synth-kd.sh"
OPTIONS = ["--chat", "--turns", "all", "--valid-fraction", "0", "-q", "--no-check"]


def make(path, size):
    """Chats of words, of very different lengths, so that shards of equal bytes have other numbers of lines."""
    draw = random.Random(7)
    words = [line for line in SCRIPT.parent.parent.joinpath("docs/design.md").read_text().split()]
    offsets = [0]
    with open(path, "w") as file:
        while offsets[-1] < size:
            turns = [" ".join(draw.choices(words, k=int(draw.lognormvariate(4, 1)) + 1)) for _ in range(4)]
            roles = ["user", "assistant", "user", "assistant"]
            messages = [{"role": role, "content": text} for role, text in zip(roles, turns)]
            line = json.dumps({"id": str(len(offsets)), "messages": messages}) + "\n"
            file.write(line)
            offsets.append(offsets[-1] + len(line))
    return offsets


def run(*words, **more):
    subprocess.run([str(word) for word in words], check=True, **more)


def shards(folder, offsets):
    run("bash", SCRIPT, folder / "chats.jsonl", folder / "shards", "--shards", 8, *OPTIONS)
    shares, first = [], 0
    for number in range(8):
        ids = folder / f"shards/ids/train/shard_{number:02}.parquet"
        rows = int(subprocess.run(["ds-cat", "--count", ids], check=True, capture_output=True).stdout)
        shares.append((offsets[first + rows] - offsets[first]) / offsets[-1] * 8 - 1)
        first += rows
    assert first == len(offsets) - 1, "records are lost"
    print("shards:", ", ".join(f"{share:+.3%}" for share in shares), "from an eighth of the bytes")
    return max(map(abs, shares)) <= 0.02


def seconds(work):
    begin = time.monotonic()
    work()
    return time.monotonic() - begin


def tasks(folder, rounds):
    source = folder / "chats.jsonl"

    def threads():
        run("bash", SCRIPT, source, folder / "threads", *OPTIONS, "--overwrite", "--jobs", 2)

    def planned():
        run("rm", "-rf", folder / "tasks")
        plan = ["bash", SCRIPT, "plan", source, folder / "tasks", *OPTIONS[:-1], "--tasks", 2]
        text = subprocess.run([str(word) for word in plan], check=True, capture_output=True, text=True).stdout
        lines[:] = text.splitlines()

    def side_by_side():
        running = [subprocess.Popen(line, shell=True) for line in lines]
        assert len(running) == 2 and not any([one.wait() for one in running])

    def joined():
        run("bash", SCRIPT, "finish", folder / "tasks", "-q", "--no-check")

    lines = []
    times = [[seconds(work) for work in (threads, planned, side_by_side, joined)] for _ in range(rounds)]
    for kind in ("tokens", "lossmask", "span"):
        run("cmp", folder / f"threads/train/shard_00_{kind}.bin", folder / f"tasks/train/shard_00_{kind}.bin")
    threads, plan, two, join = (min(column) for column in zip(*times))
    size = source.stat().st_size
    print(f"--jobs 2: {threads:.1f} s ({size / threads / 1e6:.0f} MB/s); two tasks side by side: {two:.1f} s "
          f"({two / threads:.2f} of it); planning {plan:.1f} s, joining {join:.1f} s")
    return two <= 1.1 * threads


def main():
    arguments = argparse.ArgumentParser(usage=__doc__)
    arguments.add_argument("--bytes", type=int, default=10**9)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("folder", nargs="?")
    arguments = arguments.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        folder = pathlib.Path(folder)
        offsets = make(folder / "chats.jsonl", arguments.bytes)
        good = [shards(folder, offsets), tasks(folder, arguments.rounds)]
    sys.exit(not all(good))


if __name__ == "__main__":
    main()
