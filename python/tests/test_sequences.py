"""Sequences of chats, without files between: what is yielded, and how errors and breaks end."""

import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np

from gristmill_data.sequences import FilterError, sequences

try:
    import pyarrow.parquet as parquet
except ImportError:
    parquet = None

BIN = os.environ.get("GRISTMILL_BIN")
PROGRAM = os.path.join(BIN, "gristmill") if BIN else None


def chat(number, answer="It is open."):
    return {
        "id": f"gate-{number}",
        "messages": [
            {"role": "user", "content": f"Is gate {number} open?"},
            {"role": "assistant", "reasoning": f"Gate {number}.", "content": answer},
        ],
    }


def children():
    """The programs that this process waits for."""
    out = subprocess.run(["ps", "-o", "comm=", "--ppid", str(os.getpid())], capture_output=True, text=True)
    return [name for name in out.stdout.split() if name.startswith("gristmill")]


@unittest.skipUnless(PROGRAM and parquet, "GRISTMILL_BIN is not set, or pyarrow is not installed")
class SequencesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def read(self, chats, **more):
        return list(sequences(chats, model="gpt-oss", program=PROGRAM, **more))

    def written(self, count):
        path = self.folder / "chats.jsonl"
        path.write_text("".join(json.dumps(chat(number)) + "\n" for number in range(count)))
        return path

    def rows(self, path):
        """The rows that the filters write to a file."""
        out = self.folder / "rows.parquet"
        made = "chat-tok -q --model gpt-oss {} | span-mask -q | seq-pack -q --columns id,span_id -o {}"
        subprocess.run(["bash", "-o", "pipefail", "-c", made.format(path, out)], check=True, env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"})
        return parquet.read_table(out).to_pylist()

    def test_they_are_the_rows_that_seq_pack_writes(self):
        path = self.written(3000)
        wanted = self.rows(path)
        found = self.read(path)
        self.assertEqual(len(found), len(wanted))
        for one, other in zip(found, wanted, strict=True):
            self.assertEqual(one["id"], other["id"])
            for name in ("input_ids", "labels", "span_id"):
                np.testing.assert_array_equal(one[name], other[name], name)
            self.assertEqual({one["input_ids"].dtype, one["labels"].dtype}, {np.dtype(np.int64)})
        self.assertTrue((found[0]["labels"] != -100).any())

    def test_chats_are_paths_lists_and_generators(self):
        path = self.written(20)
        wanted = self.read(path)
        records = [chat(number) for number in range(20)]
        for chats in ([path], str(path), records, iter(records), (chat(number) for number in range(20))):
            found = self.read(chats)
            for one, other in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(one["input_ids"], other["input_ids"])
        self.assertEqual(len(self.read([path, path])), 40)
        with self.assertRaises(TypeError):
            self.read(records[0])

    def test_options_are_those_of_the_filters(self):
        call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        called = chat(1)
        called["messages"][1:1] = [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c", "content": "open"}]
        [row] = self.read([called], spans=["commentary=3"])
        self.assertIn(3, row["span_id"])
        [row] = self.read([called], turns="last", options=["--set", "reasoning_effort=high"])
        self.assertNotIn(3, row["span_id"])

    def test_a_bad_chat_raises_what_the_filter_says(self):
        bad = {"messages": [{"role": "user", "content": "?"}, {"role": "oracle", "content": "!"}]}
        for chats in ([chat(1), bad], (record for record in [chat(1), bad])):
            with self.assertRaisesRegex(FilterError, "chat-tok: .*oracle") as raised:
                self.read(chats)
            self.assertEqual(raised.exception.code, 1)
        with self.assertRaisesRegex(FilterError, "no-such-file.jsonl") as raised:
            self.read("no-such-file.jsonl")
        self.assertEqual(raised.exception.code, 2)
        with self.assertRaises(FileNotFoundError):
            list(sequences([chat(1)], model="gpt-oss", program="no-such-program"))
        self.assertEqual(children(), [])

    def test_an_error_of_the_records_is_raised(self):
        def broken():
            yield from map(chat, range(5000))
            raise KeyError("the source broke")

        with self.assertRaisesRegex(KeyError, "the source broke"):
            self.read(broken())
        with self.assertRaises(TypeError):
            self.read([{"messages": [{"role": "user", "content": {1, 2}}]}])
        self.assertEqual(children(), [])

    def test_a_break_ends_the_child(self):
        def endless():
            number = 0
            while True:
                number += 1
                yield chat(number)

        started = time.monotonic()
        for row in sequences(endless(), model="gpt-oss", program=PROGRAM):
            self.assertEqual(row["id"], "gate-1")
            break
        del row
        self.assertEqual(children(), [])
        self.assertLess(time.monotonic() - started, 60)

    def test_a_loader_takes_ten_lines(self):
        code = """
import sys
from torch.utils.data import DataLoader, IterableDataset
from gristmill_data.sequences import sequences

class Chats(IterableDataset):
    def __iter__(self):
        return sequences(sys.argv[1], model="gpt-oss", program=sys.argv[2])

print(sum(len(row["input_ids"]) for row in DataLoader(Chats(), batch_size=None)))
"""
        try:
            import torch  # noqa: F401
        except ImportError:
            self.skipTest("torch is not installed")
        path = self.written(50)
        out = subprocess.run([sys.executable, "-c", code, path, PROGRAM], capture_output=True, text=True)
        self.assertEqual(out.returncode, 0, out.stderr)
        self.assertEqual(int(out.stdout), sum(len(row["input_ids"]) for row in self.rows(path)))


if __name__ == "__main__":
    unittest.main()
