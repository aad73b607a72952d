"""`python -m gristmill_data.samples` against the samples and caches of vpMoE's own class, and as a
command: what it refuses, and with which exit code."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np
from support import (
    DATA,
    link_roots,
    needs_data,
    needs_megatron,
    plain_sequences,
    torch,
    write_triple,
)

from gristmill_data import cli, samples

#: Settings of a case that the command has options for; others are left at Megatron's default.
OPTIONS = {"sequence_length", "random_seed", "drop_last_partial_validation_sequence"}


class InDirectory(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(directory.name)
        self.path = Path(directory.name)
        write_triple("shard_00", plain_sequences([20, 30, 40]))

    def outcome(self, *arguments):
        """In this process: the exit code, stdout and stderr."""
        out, err = io.StringIO(), io.StringIO()
        with (
            mock.patch.object(sys, "argv", ["samples", *map(str, arguments)]),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            code = cli.outcome("gristmill_data.samples", samples.main)
        return code, out.getvalue(), err.getvalue()

    def run_here(self, *arguments):
        code, _, err = self.outcome(*arguments)
        self.assertEqual(code, 0, err)

    def start(self, *arguments, before="", **more):
        """As a process; `before` is run first."""
        code = f"{before}\nfrom gristmill_data import cli, samples\n"
        code += "cli.run('gristmill_data.samples', samples.main)"
        how = ["-c", code] if before else ["-m", "gristmill_data.samples"]
        command = [sys.executable, *how, *map(str, arguments)]
        environment = os.environ | {"PYTHONPATH": ":".join(sys.path), "OMP_NUM_THREADS": "1"}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, env=environment, **{**pipes, **more})

    def run_apart(self, *arguments, **more):
        process = self.start(*arguments, **more)
        out, err = process.communicate()
        return process.returncode, out, err

    def left(self):
        """What is here besides the triple."""
        return sorted(name for name in os.listdir(".") if not name.startswith("shard_00_"))


@needs_data
@needs_megatron
class GoldenTest(InDirectory):
    def test_every_case_that_the_command_can_state(self):
        link_roots(".")
        tested = 0
        for path in sorted((DATA / "kd_dataset/cases").iterdir()):
            case = json.loads((path / "config.json").read_text())
            config = case["config"]
            plain = case["tokenizer"]["pad"] == -1 and case["indices"] is None
            if not plain or set(config) - OPTIONS:
                continue
            with self.subTest(path.name):
                arguments = [case["prefix"], "--seq-length", config["sequence_length"]]
                arguments += ["--split", case["split"], "--cache", f"caches/{path.name}"]
                arguments += ["--seed", config.get("random_seed", 1234), "-o", f"{path.name}.npz"]
                if case["num_samples"] is not None:
                    arguments += ["--num-samples", case["num_samples"]]
                if not config.get("drop_last_partial_validation_sequence", True):
                    arguments.append("--keep-last")
                self.run_here(*arguments)
                with np.load(path / "samples.npz") as file, np.load(f"{path.name}.npz") as ours:
                    golden = dict(file)
                    keys = [key for key in golden if key != "idx" and not key.startswith("none_")]
                    self.assertEqual(ours.files, keys)
                    for key in keys:
                        self.assertEqual(len(ours[key]), case["len"])
                        self.assertEqual(ours[key].dtype, golden[key].dtype)
                        np.testing.assert_array_equal(ours[key][golden["idx"]], golden[key], key)
                for file in (path / "cache").iterdir():
                    written = Path(f"caches/{path.name}") / file.name
                    self.assertEqual(written.read_bytes(), file.read_bytes(), file.name)
                tested += 1
        self.assertGreater(tested, 0)


@needs_megatron
class OutputTest(InDirectory):
    def test_the_file_is_the_dataset_and_the_same_bytes_each_time(self):
        self.run_here("shard_00_tokens", "--seq-length", 16, "-o", "a.npz")
        self.run_here("shard_00_tokens", "--seq-length", 16, "-o", "b.npz")
        self.assertEqual(Path("a.npz").read_bytes(), Path("b.npz").read_bytes())
        self.assertEqual(self.left(), ["a.npz", "b.npz"])
        arrays = np.load("a.npz", allow_pickle=False)
        self.assertEqual(
            {key: arrays[key].shape for key in arrays}, dict.fromkeys(samples.KEYS, (5, 16))
        )
        self.run_here("shard_00_tokens", "--seq-length", 16, "--seed", 7, "-o", "c.npz")
        self.assertNotEqual(Path("a.npz").read_bytes(), Path("c.npz").read_bytes())

    def test_no_samples(self):
        self.run_here("shard_00_tokens", "--seq-length", 100, "-o", "a.npz")
        self.assertEqual(np.load("a.npz")["loss_mask"].shape, (0, 100))

    def test_one_is_shown_with_its_spans(self):
        arguments = ("shard_00_tokens", "--seq-length", 60, "--split", "valid", "--keep-last")
        self.run_here(*arguments, "-o", "a.npz")
        arrays = np.load("a.npz")
        for index in (0, 1, -1):
            code, out, err = self.outcome(*arguments, "--show", index)
            self.assertEqual((code, err), (0, ""))
            self.assertIn(f"sample {index % 2} of 2, 60 tokens\n", out)
            cut, runs = out.split("cut from\n")[1].split("labels\n", 1)
            span = np.concatenate(
                [
                    np.full(int(stop) - int(start), list(samples.SPANS.values()).index(name))
                    for start, stop, name, *_ in map(str.split, runs.split("\n\n")[0].splitlines())
                ]
            )
            np.testing.assert_array_equal(span, arrays["span_id"][index])
            parts = [line.split() for line in cut.splitlines()[:-2] if line]
            self.assertEqual([int(parts[0][0]), int(parts[-1][1])], [0, 60])
            filled = [line for line in parts if line[2] == "nothing:"]
            self.assertEqual(len(filled), int((arrays["labels"][index][-5:] == 0).all()))

    def test_a_cache_of_other_data(self):
        arguments = ("shard_00_tokens", "--seq-length", 16, "--cache", "caches", "-o", "a.npz")
        self.run_here(*arguments)
        write_triple("shard_00", plain_sequences([20, 30, 47]))
        code, _, err = self.outcome(*arguments, "--overwrite")
        self.assertEqual(code, 1)
        self.assertRegex(
            err,
            "^gristmill_data.samples: caches: the cached index .* does not belong to the data.*\n$",
        )
        self.run_here(*arguments, "--overwrite", "--rebuild-stale-cache")
        names = set(os.listdir("caches"))
        self.run_here(*arguments[:-1], "b.npz", "--tokenizer-model", "other.tiktoken")
        self.assertEqual(len(set(os.listdir("caches")) - names), 4)


class CommandTest(InDirectory):
    def assert_fails(self, code, cause, *arguments):
        found, out, err = self.outcome(*arguments)
        self.assertEqual((found, out), (code, ""), err)
        self.assertRegex(err, f"^gristmill_data.samples: .*{cause}.*\n$")
        self.assertEqual(err.count("\n"), 1)

    def test_usage(self):
        good = ("shard_00_tokens", "--seq-length", 16)
        for cause, *arguments in (
            ("required: PREFIX_tokens, --seq-length",),
            ("nothing to do", *good),
            ("'1' is no number of at least 2", "shard_00_tokens", "--seq-length", 1, "-o", "a"),
            ("'x' is no number of at least 0", *good, "--seed", "x", "-o", "a"),
            ("'-1' is no number of at least 0", *good, "--num-samples=-1", "-o", "a"),
            ("unrecognized arguments: --nope", *good, "--nope"),
            ("--keep-last is for --split valid", *good, "--keep-last", "-o", "a"),
            ("--overwrite is for -o", *good, "--overwrite", "--show", 1),
            ("--tokenizer-model is for --cache", *good, "--tokenizer-model", "x", "-o", "a"),
            ("--rebuild-stale-cache is for", *good, "--rebuild-stale-cache", "-o", "a"),
            (
                "shard_00: does not end with _tokens; try: shard_00_tokens",
                "shard_00",
                *good[1:],
                "-o",
                "a",
            ),
            ("nowhere: there is no such directory", *good, "-o", "nowhere/a.npz"),
            ("/dev/null: is not a regular file", *good, "-o", "/dev/null", "--overwrite"),
        ):
            with self.subTest(cause):
                self.assert_fails(2, cause, *arguments)
        Path("there.npz").write_text("mine")
        self.assert_fails(
            2, "there.npz: is already there; try: --overwrite", *good, "-o", "there.npz"
        )
        self.assertEqual(Path("there.npz").read_text(), "mine")
        self.assertEqual(self.left(), ["there.npz"])

    @needs_megatron
    def test_bad_data_and_missing_ones(self):
        more = ("--seq-length", 16, "-o", "a.npz")
        self.assert_fails(2, "no_tokens.idx: No such file", "no_tokens", *more)
        self.assert_fails(2, "there are 5 samples", "shard_00_tokens", *more[:2], "--show", 5)
        sequences = plain_sequences([20, 30, 40])
        sequences[2][1][5] = 255
        write_triple("shard_00", sequences)
        cause = "shard_00_lossmask.bin: sequence 2: position 5 is 255"
        self.assert_fails(1, cause, "shard_00_tokens", *more)
        os.truncate("shard_00_span.bin", 7)
        self.assert_fails(1, "shard_00_span.bin: sequence 0: ends", "shard_00_tokens", *more)
        self.assertEqual(self.left(), [])

    @needs_megatron
    def test_a_disk_that_is_full(self):
        good = ("shard_00_tokens", "--seq-length", 16)
        with open("/dev/full", "w") as full:
            code, _, err = self.run_apart(*good, "--show", 0, stdout=full)
        cause = "stdout: No space left on device"
        self.assertEqual((code, err), (75, f"gristmill_data.samples: {cause}\n"))
        limit = "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        limit += "resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))"
        code, _, err = self.run_apart(*good, "--num-samples", 100, "-o", "a.npz", before=limit)
        self.assertEqual((code, err), (75, "gristmill_data.samples: a.npz: File too large\n"))
        self.assertEqual(self.left(), [])

    @needs_megatron
    def test_a_closed_pipe(self):
        read, write = os.pipe()
        os.close(read)
        arguments = ("shard_00_tokens", "--seq-length", 16, "--show", 0)
        code, _, err = self.run_apart(*arguments, stdout=write)
        os.close(write)
        self.assertEqual((code, err), (-signal.SIGPIPE, ""))

    #: A dataset that says when its first sample is asked for, and gives none.
    HOLD = """
import signal
from gristmill_data import megatron
def hold(self, index):
    print("here", flush=True)
    signal.pause()
megatron.SynthKDDataset.__getitem__ = hold
"""

    @needs_megatron
    def test_one_that_is_stopped_leaves_nothing(self):
        arguments = ("shard_00_tokens", "--seq-length", 16, "-o", "a.npz")
        process = self.start(*arguments, before=self.HOLD)
        self.assertEqual(process.stdout.readline(), "here\n")
        self.assertEqual(len(self.left()), 1)
        process.terminate()
        self.assertEqual(process.communicate(), ("", ""))
        self.assertEqual(process.returncode, -signal.SIGTERM)
        self.assertEqual(self.left(), [])

    @needs_megatron
    def test_what_a_killed_one_left_is_removed_by_the_next(self):
        arguments = ("shard_00_tokens", "--seq-length", 16, "-o")
        process = self.start(*arguments, "a.npz", before=self.HOLD)
        self.assertEqual(process.stdout.readline(), "here\n")
        # Of one that lives, nothing is removed.
        self.run_here(*arguments, "b.npz")
        self.assertEqual(len(self.left()), 2)
        process.kill()
        process.communicate()
        self.run_here(*arguments, "c.npz")
        self.assertEqual(self.left(), ["b.npz", "c.npz"])

    def test_help(self):
        code, short, err = self.run_apart("-h")
        self.assertEqual((code, err), (0, ""))
        lines = short.splitlines()
        self.assertLessEqual(len(lines), 24)
        self.assertLessEqual(max(map(len, lines)), 80)
        code, long, err = self.run_apart("--help")
        self.assertEqual((code, err), (0, ""))
        self.assertTrue(long.startswith(short.rstrip()))
        self.assertIn("Examples:\n", long)
        self.assertIn(cli.EXIT_CODES, long)

    def test_what_is_not_installed_is_said(self):
        arguments = ("shard_00_tokens", "--seq-length", 16, "--show", 0)
        for module, extra in (("torch", "torch"), ("megatron.core.datasets", "megatron")):
            if extra == "megatron" and not torch:
                continue
            without = f"import sys; sys.modules['{module}'] = None"
            code, out, err = self.run_apart(*arguments, before=without)
            self.assertEqual((code, out), (2, ""))
            package = {"torch": "torch", "megatron": r"\S*megatron\S*"}[extra]
            cause = rf"{module}\S* is not installed \(try: pip install '?{package}'?\)"
            self.assertRegex(err, f"^gristmill_data.samples: {cause}\n$")


if __name__ == "__main__":
    unittest.main()
