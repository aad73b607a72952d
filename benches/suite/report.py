"""The results as Markdown."""

import os
import platform
import subprocess
from dataclasses import dataclass, field


@dataclass
class Goal:
    """One claim: what is asked and what was reached, in the same unit."""

    what: str
    asked: float
    reached: float
    unit: str
    # Whether less is better, as of seconds.
    less: bool = False


@dataclass
class Section:
    title: str
    text: str
    goals: list = field(default_factory=list)


def table(head, rows):
    """A table whose first column is text and whose others are numbers."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def number(value):
    """Three significant digits."""
    if value == 0:
        return "0"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def megabytes(value):
    return number(value / 1e6)


def spread(values):
    """Lowest and highest run, in percent from the median."""
    middle = sorted(values)[len(values) // 2]
    return f"{min(values) / middle - 1:+.0%} {max(values) / middle - 1:+.0%}"


def contenders(results, work, unit, base):
    """One line for each pipe: work done per CPU second, as a ratio to that of `base`."""
    rows = []
    for name, result in results.items():
        seconds = result.cpu_median
        rate = work / seconds
        rows.append(
            [
                name,
                number(rate),
                f"{results[base].cpu_median / seconds:.2f} x",
                f"{seconds:.3f}",
                spread(result.cpu),
                f"{result.wall_median:.3f}",
                megabytes(result.peak),
            ]
        )
    head = ["", f"{unit} per CPU s", "ratio", "CPU s", "spread", "wall s", "peak MB"]
    return table(head, rows)


def commands(results):
    lines = [f"{result.pipe}    # {name}" for name, result in results.items()]
    return "```\n" + "\n".join(lines) + "\n```\n"


def first_line(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return done.stdout.splitlines()[0]


def processor():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def machine():
    """Name for a file: the processor and how many of its cores there are."""
    words = "".join(c if c.isalnum() else " " for c in processor()).lower().split()
    return "-".join(words[:4] + [f"{os.cpu_count()}cores"])


def facts(commit):
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return [
        ["processor", f"{processor()}, {os.cpu_count()} cores"],
        ["memory", f"{memory / 2**30:.0f} GiB"],
        ["system", f"{platform.system()} {platform.release()}"],
        ["compiler", first_line(["rustc", "--version"])],
        ["Python", platform.python_version()],
        ["commit", commit],
        ["load before", f"{os.getloadavg()[0]:.2f}"],
    ]
