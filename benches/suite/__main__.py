"""Runs the sections and writes the results; see tools/bench.sh."""

import argparse
import datetime
import os
import pathlib
import subprocess
import sys

import sections
from inputs import ROOT, Inputs
from measuring import Bench
from report import facts, machine, number, table

HOW = """\
Whole processes: CPU seconds (user and system) and wall seconds are medians of {runs} runs, the
contenders in turn within each run; spread is the lowest and the highest run. Peak memory is the sum
over the processes of a pipe. What contenders write is compared before a number is printed. Ratios
of one run carry the claims. Absolute numbers are this machine's, on this day: their goals were set
where tiktoken-rs encodes 36 MB/s and the Python original makes 621 rows in a CPU second.

```
{command}
```
"""


def arguments():
    names = [section.__name__ for section in sections.ALL]
    parser = argparse.ArgumentParser(prog="tools/bench.sh", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small inputs, 2 runs: 3 minutes")
    parser.add_argument("--only", metavar="NAME", nargs="+", choices=names, help=" ".join(names))
    parser.add_argument("-o", "--output", metavar="FILE", type=pathlib.Path, help="the results")
    return parser.parse_args()


def verdict(goal):
    """Whether a goal was reached, and if not, which share of it."""
    share = goal.asked / goal.reached if goal.less else goal.reached / goal.asked
    return "yes" if share >= 1 else f"no: {share:.0%}"


def main():
    options = arguments()
    data = os.environ.get("GRISTMILL_DATA")
    if not data:
        sys.exit("bench.sh: GRISTMILL_DATA is not set: there is nothing to measure with")
    runs = 2 if options.quick else 5
    directory = ROOT / "target/bench"
    directory.mkdir(parents=True, exist_ok=True)
    bench = Bench(directory, ROOT / "target/release", runs)
    inputs = Inputs(bench, pathlib.Path(data).resolve())

    git = lambda *words: subprocess.run(
        ["git", *words], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()
    commit = git("rev-parse", "--short", "HEAD") + (", changed" if git("status", "-s") else "")
    machine_facts = facts(commit)

    day = datetime.date.today().isoformat()
    output = options.output
    if not output and not options.quick and not options.only:
        output = ROOT / f"benches/results/{day}-{machine()}.md"
    # Files in the repository do not name directories of this machine.
    names = [(str(ROOT), "."), (sys.executable, "python"), (data, "$GRISTMILL_DATA")]
    names.append((str(inputs.data), "$GRISTMILL_DATA"))

    done = []
    for section in sections.ALL:
        if options.only and section.__name__ not in options.only:
            continue
        print(f"measuring: {section.__name__}", file=sys.stderr)
        done.append((section, section(bench, inputs, options.quick)))
        text = results(day, machine_facts, runs, done)
        for path, name in names:
            text = text.replace(str(path), name)
        if output:
            # After each section: what a long run has measured is not lost if a later one fails.
            output.parent.mkdir(parents=True, exist_ok=True)
            output.write_text(text)
    if output:
        print(f"wrote {output}", file=sys.stderr)
    else:
        print(text)


def results(day, machine_facts, runs, done):
    goals = [
        [goal.what, f"{number(goal.asked)} {goal.unit}", f"{number(goal.reached)} {goal.unit}"]
        + [verdict(goal)]
        for _, section in done
        for goal in section.goals
    ]
    command = " ".join(["tools/bench.sh", *sys.argv[1:]])
    parts = [f"# Speed, {day}\n", table(["machine", ""], machine_facts)]
    parts.append(HOW.format(command=command, runs=runs))
    parts.append("## Asked and reached\n")
    parts.append(table(["", "asked", "reached", ""], goals))
    for function, section in done:
        about = " ".join((function.__doc__ or "").split())
        parts += [f"## {section.title}\n", about + "\n", section.text]
    return "\n".join(parts)


main()
