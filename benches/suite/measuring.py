"""Whole processes, measured: CPU seconds, wall seconds, peak memory. `measure` (benches/peers)
starts them, since a child inherits the peak of its parent, and this process is not small."""

import json
import os
import pathlib
import shlex
import statistics
import subprocess
from dataclasses import dataclass, field


@dataclass
class Pipe:
    """Commands that a shell would join by `|`, run in the bench's directory."""

    commands: list
    stdin: str | None = None
    env: dict = field(default_factory=dict)
    #: A file that it writes, removed before it runs: to free the blocks of a large one takes as long as the file
    #: system wants.
    written: str | None = None

    def __str__(self):
        text = " | ".join(shlex.join(command) for command in self.commands)
        variables = "".join(f"{name}={value} " for name, value in self.env.items())
        return variables + text + (f" < {self.stdin}" if self.stdin else "")


def pipe(text, stdin=None, **env):
    """A pipe from a command line without quotes or globs."""
    return Pipe([part.split() for part in text.split("|")], stdin, env)


def chain(text, stdin=None, **env):
    """The same filters in one process, as the scripts run them."""
    return Pipe([["gristmill", *text.split()]], stdin, env)


@dataclass
class Result:
    """What the runs of one pipe used; seconds and bytes."""

    pipe: Pipe
    cpu: list = field(default_factory=list)
    wall: list = field(default_factory=list)
    peak: int = 0

    @property
    def cpu_median(self):
        return statistics.median(self.cpu)

    @property
    def wall_median(self):
        return statistics.median(self.wall)


class Bench:
    """Runs pipes in `directory`, with our programs found first."""

    def __init__(self, directory, programs, runs):
        self.directory, self.runs = directory, runs
        self.env = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}", GRISTMILL_TO="arrow")

    def once(self, pipe, first_byte=False):
        if pipe.written:
            pathlib.Path(self.directory, pipe.written).unlink(missing_ok=True)
        command = ["measure"]
        if pipe.stdin:
            command += ["--stdin", pipe.stdin]
        if first_byte:
            command.append("--first-byte")
        for at, part in enumerate(pipe.commands):
            command += ([":::"] if at else []) + part
        return json.loads(self.output(command, pipe.env))

    def output(self, command, env=None):
        """What a command prints; its failure ends the bench."""
        done = subprocess.run(
            command,
            cwd=self.directory,
            env={**self.env, **(env or {})},
            stdout=subprocess.PIPE,
            check=True,
        )
        return done.stdout.decode()

    def shell(self, script):
        """Runs a preparation."""
        self.output(["bash", "-euo", "pipefail", "-c", script])

    def compare(self, pipes, runs=None):
        """Runs the pipes (by name) in turn, so that a slow moment of the machine hits all."""
        results = {name: Result(pipe) for name, pipe in pipes.items()}
        for _ in range(runs or self.runs):
            for result in results.values():
                used = self.once(result.pipe)
                result.cpu.append(used["cpu"])
                result.wall.append(used["wall"])
                result.peak = max(result.peak, sum(used["peak"]))
        return results

    def first_byte(self, pipe, runs):
        return statistics.median(self.once(pipe, first_byte=True)["wall"] for _ in range(runs))
