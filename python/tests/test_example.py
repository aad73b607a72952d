"""The example as a command: what it prints, and how it ends."""

import contextlib
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

from support import DATA, needs_data, needs_megatron, needs_torch, plain_sequences, write_triple

BIN = os.environ.get("GRISTMILL_BIN")
PACKAGE = Path(__file__).parents[1]
KEYS = [
    "lm loss",
    "reasoning loss",
    "final loss",
    "reasoning tokens",
    "final tokens",
    "objective",
    "reasoning weight",
    "final weight",
    "reasoning share",
    "final share",
]
MODULE = ["-m", "gristmill_data.example"]


def run(*words, python=MODULE, **options):
    command = [sys.executable, *python, *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "OMP_NUM_THREADS": "1"}
    options = {"stdout": subprocess.PIPE, **options}
    return subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True, **options)


def run_here(*words):
    """A run that succeeds, without a process of its own: torch is imported only once."""
    from gristmill_data import example

    out, notes = io.StringIO(), io.StringIO()
    arguments = ["example", *map(str, words)]
    with mock.patch.object(sys, "argv", arguments):
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(notes):
            example.main()
    return subprocess.CompletedProcess(arguments, 0, out.getvalue(), notes.getvalue())


def logs(outcome):
    """The lines of a run: label -> figures."""
    lines = [line.split(" | ") for line in outcome.stdout.splitlines()]
    return {
        label: {key: float(value) for key, value in (figure.split(": ") for figure in figures)}
        for label, *figures in lines
    }


class Root(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name, "root")

    def write(self, **splits):
        """For each split the lengths of the sequences of each shard."""
        written = {}
        for number, (split, shards) in enumerate(splits.items()):
            (self.root / split).mkdir(parents=True)
            for shard, lengths in enumerate(shards):
                sequences = plain_sequences(lengths, seed=10 * number + shard)
                write_triple(self.root / split / f"shard_{shard:02}", sequences)
                written[split, shard] = sequences
        return written

    def files(self):
        return {path: path.read_bytes() for path in sorted(self.root.rglob("*")) if path.is_file()}

    def assert_fails(self, code, message, *words, **options):
        outcome = run(*words, **options)
        self.assertEqual(outcome.returncode, code, outcome.stderr)
        last = outcome.stderr.splitlines()[-1]
        self.assertRegex(last, f"^gristmill_data.example: .*{message}")
        self.assertNotIn("Traceback", outcome.stderr)


@needs_torch
class ExampleTest(Root):
    def test_steps_are_logged_and_the_loss_falls(self):
        self.write(train=[[40, 3, 55, 17], [100]], valid=[[30, 20]])
        before = self.files()
        words = [self.root, "--seq-length", 16, "--steps", 25, "--samples", "triple"]
        outcome = run_here(*words)
        found = logs(outcome)
        self.assertEqual(list(found), [*(f"step {i}" for i in range(1, 26)), "valid"])
        for figures in found.values():
            self.assertEqual(list(figures), KEYS)
        self.assertLess(found["step 25"]["objective"], found["step 1"]["objective"] / 2)
        self.assertEqual(self.files(), before)
        # The seed decides everything.
        self.assertEqual(run_here(*words).stdout, outcome.stdout)

    def test_counts_are_those_of_the_masks(self):
        written = self.write(train=[[64, 1]], valid=[[30, 25], [31]])
        figures = logs(run_here(self.root, "--seq-length", 7, "--steps", 1, "--samples", "triple"))
        for number, name in ((1, "reasoning"), (2, "final")):
            count = 0
            for shard in (0, 1):
                spans = np.concatenate([span for _, _, span in written["valid", shard]])
                # The last token of all has no label.
                count += int((spans[:-1] == number).sum())
            self.assertEqual(figures["valid"][f"{name} tokens"], count)

    def test_effective_weights_follow_the_options(self):
        self.write(train=[[200]], valid=[[64]])
        words = [self.root, "--samples", "triple", "--seq-length", 32, "--steps", 2]
        words += ["--w-reasoning", 0.5, "--w-final", 2]
        found = logs(run_here(*words, "--normalize", "global"))["step 1"]
        self.assertAlmostEqual(found["reasoning weight"] * found["reasoning tokens"], 0.5, 5)
        self.assertAlmostEqual(found["final weight"] * found["final tokens"], 2, 5)
        self.assertAlmostEqual(found["final share"], 0.8, 5)
        mixed = 0.5 * found["reasoning loss"] + 2 * found["final loss"]
        self.assertAlmostEqual(found["objective"], mixed, 3)

    def test_a_root_without_valid(self):
        self.write(train=[[64, 64]])
        found = logs(run_here(self.root, "--seq-length", 16, "--steps", 1, "--samples", "triple"))
        self.assertEqual(list(found), ["step 1"])

    def test_what_is_missing_or_wrong_is_said(self):
        self.assert_fails(2, "root: no such folder", self.root)
        self.root.mkdir()
        self.assert_fails(2, "no train/.* not the root of a KD dataset", self.root)
        self.write(train=[[64, 64]])
        triple = [self.root, "--samples", "triple"]
        self.assert_fails(1, "train: fewer tokens .* smaller --seq-length", *triple)
        path = self.root / "train" / "shard_00_span.bin"
        whole = path.read_bytes()
        path.write_bytes(whole[:-1])
        self.assert_fails(1, "shard_00_span", *triple, "--seq-length", 16)
        path.write_bytes(b"\3" * len(whole))
        self.assert_fails(1, "shard_00_.* sequence [01]", *triple, "--seq-length", 16)

    def test_wrong_options(self):
        self.write(train=[[64, 64]])
        for words in (["--steps", 0], ["--w-final", -1], ["--w-final", "nan"], ["--seed", 1.5]):
            outcome = run(self.root, *words)
            self.assertEqual(outcome.returncode, 2)
            self.assertIn("is no number of at least", outcome.stderr)
        outcome = run("--help")
        self.assertEqual(outcome.returncode, 0)
        self.assertIn("examples:", outcome.stdout)

    def test_a_full_disk_and_a_closed_pipe(self):
        self.write(train=[[64, 64]])
        words = [self.root, "--seq-length", 16, "--samples", "triple"]
        with open("/dev/full", "w") as full:
            self.assert_fails(75, "No space left", *words, stdout=full)
        reader, writer = os.pipe()
        os.close(reader)
        outcome = run(*words, stdout=writer)
        os.close(writer)
        self.assertEqual(outcome.returncode, -signal.SIGPIPE, outcome.stderr)

    @needs_megatron
    def test_through_megatron(self):
        self.write(train=[[40, 3, 55, 17], [100, 100]], valid=[[30, 20], [9]])
        before = self.files()
        words = [self.root, "--seq-length", 16, "--steps", 4]
        outcome = run_here(*words, "--seed", 3)
        self.assertIn("samples: Megatron's builder", outcome.stderr)
        self.assertEqual(len(logs(outcome)), 5)
        self.assertNotEqual(run_here(*words).stdout, outcome.stdout)
        self.assertEqual(self.files(), before)
        self.assertEqual(list(self.root.rglob("cache")), [])
        # The same tokens are evaluated: the last, short sample of a prefix too.
        counts = [
            {key: figures["valid"][key] for key in KEYS if key.endswith(" tokens")}
            for figures in (logs(outcome), logs(run_here(*words, "--samples", "triple")))
        ]
        self.assertEqual(counts[0], counts[1])
        (self.root / "train" / "shard_01_lossmask.bin").write_bytes(b"")
        self.assert_fails(1, "shard_01_lossmask", *words)

    @needs_megatron
    @unittest.skipUnless(BIN, "GRISTMILL_BIN is not set: the filters are not there")
    def test_a_root_of_the_quickstart(self):
        source = self.root / "input"
        source.mkdir(parents=True)
        scripts = PACKAGE.parent / "scripts"
        shutil.copy(scripts / "example" / "manifest.json", source)
        conversations = scripts / "example" / "conversations.ndjson"
        shard = source / "synth_harmony_shard_00.parquet"
        path = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
        for command in (
            [f"{BIN}/ds-cat", conversations, "--to", "parquet", "-o", shard],
            [scripts / "synth-kd.sh", source, self.root / "kd", "--valid-fraction", "0.2"],
        ):
            made = subprocess.run(command, env=path, capture_output=True, text=True)
            self.assertEqual(made.returncode, 0, made.stderr)
        found = logs(run_here(self.root / "kd", "--steps", 3))
        self.assertEqual(list(found), ["step 1", "step 2", "step 3", "valid"])
        for figures in found.values():
            self.assertEqual(list(figures), KEYS)
            self.assertGreater(figures["final tokens"], 0)
            self.assertGreater(figures["reasoning loss"], 0)

    @needs_megatron
    @needs_data
    def test_the_published_root(self):
        outcome = run_here(DATA / "kd_wild" / "smoke", "--steps", 2, "--seq-length", 64)
        self.assertEqual(len(logs(outcome)), 3)


class WithoutPackagesTest(Root):
    def without(self, *modules):
        lines = ["import runpy, sys", f"sys.modules.update(dict.fromkeys({modules!r}))"]
        lines.append("runpy.run_module('gristmill_data.example', run_name='__main__')")
        return ["-c", "\n".join(lines)]

    def test_without_torch(self):
        self.write(train=[[64]])
        hint = re.escape("torch is not installed (try: pip install torch)")
        self.assert_fails(2, hint, self.root, python=self.without("torch"))

    @needs_torch
    def test_without_megatron(self):
        self.write(train=[[64, 64]])
        python = self.without("megatron", "megatron.core")
        words = [self.root, "--seq-length", 16, "--steps", 1]
        outcome = run(*words, python=python)
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        self.assertIn("samples: cut from the triples", outcome.stderr)
        self.assert_fails(2, "is not installed", *words, "--samples", "megatron", python=python)


if __name__ == "__main__":
    unittest.main()
