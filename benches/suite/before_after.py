"""Two builds side by side: CPU and wall seconds of whole commands, in turn, medians.

    cd target/bench; python3 ../../benches/suite/before_after.py OLD_BIN_DIR NEW_BIN_DIR

The inputs are those that tools/bench.sh makes. Outputs go to before_after/ and are replaced.
"""

import os
import resource
import statistics
import subprocess
import sys
import time

COMMANDS = [
    ("start, harmony-tok", "harmony-tok --version", 40),
    ("start, ds-check", "ds-check --version", 40),
    ("harmony-tok, 1,000 rows", "harmony-tok -q conversations_1000.parquet", 7),
    ("harmony-tok, 100,000 rows", "harmony-tok -q conversations_100000.parquet", 5),
    ("the same, -j 2", "harmony-tok -q -j 2 conversations_100000.parquet", 5),
    (
        "SYNTH pipe",
        "harmony-tok -q conversations_100000.parquet | span-mask -q |"
        " mmidx-write -q --overwrite --prefix before_after/p",
        5,
    ),
    ("mmidx-write", "mmidx-write -q --overwrite --prefix before_after/q tokens_100000.arrows", 7),
    ("mx-decode", "mx-decode -q raw_20", 5),
    ("raw games to a pack", "mx-decode -q raw_20 | npy-pack -q --overwrite -o before_after/a", 5),
    ("npy-pack", "npy-pack -q --overwrite -o before_after/b games_20.arrows", 7),
    ("merging packs", "npy-pack -q --overwrite -o before_after/c pack_20 pack_20", 7),
    ("ds-check of a pack", "ds-check -q --skip pool.manifest pack_20", 7),
    ("ds-check of a root", "ds-check -q root_100000", 3),
    ("games to NDJSON", "ds-cat -q --to ndjson games_20.arrows", 3),
    ("tokens to NDJSON", "ds-cat -q --to ndjson tokens_100000.arrows", 3),
]


def measure(directory, command):
    """CPU and wall seconds of a command with the filters of a directory."""
    path = f"{directory}:{os.environ['PATH']}"
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    subprocess.run(
        ["bash", "-c", command],
        env=dict(os.environ, GRISTMILL_TO="arrow", PATH=path),
        stdout=subprocess.DEVNULL,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.time() - start


def main():
    builds = [os.path.abspath(path) for path in sys.argv[1:3]]
    os.makedirs("before_after", exist_ok=True)
    print("| command | CPU s, old | new | ratio | wall s, old | new | ratio | CPU s, old, spread |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for name, command, runs in COMMANDS:
        seconds = {build: [] for build in builds}
        for _ in range(runs):
            for build in builds:
                seconds[build].append(measure(build, command))
        cells = []
        for kind in (0, 1):
            old, new = (statistics.median(s[kind] for s in seconds[b]) for b in builds)
            cells += [f"{old:.4f}", f"{new:.4f}", f"{new / old:.2f}"]
        cpu = [second[0] for second in seconds[builds[0]]]
        spread = f"{min(cpu):.4f} to {max(cpu):.4f}"
        print("|", " | ".join([name, *cells, spread]), "|", flush=True)


if __name__ == "__main__":
    main()
