"""The loader on packs that these tests write themselves.

    PYTHONPATH=python python -m unittest discover -s python/tests
"""

import json
import sqlite3
import tempfile
import unittest
from pathlib import Path

import numpy as np

from gristmill_data import (
    PACKED_STEP_ROW_DTYPE,
    STEP_ROW_DTYPE,
    Pack,
    decode_boards,
    legal_moves,
    read_valuation_names,
)

NAMES = {"search": 0, "tuple10": 1, "tuple11": 2}


def make_rows(lengths, seed=0):
    """Rows of runs of these lengths, and their boards as exponents."""
    random = np.random.default_rng(seed)
    count = sum(lengths)
    boards = random.integers(0, 16, (count, 16), dtype=np.uint8)
    large = random.integers(0, 6, count)
    boards[large == 0, 3] = 16
    boards[large == 1, 9] = 17
    rows = np.zeros(count, STEP_ROW_DTYPE)
    rows["run_id"] = np.repeat(np.arange(len(lengths)), lengths)
    rows["step_index"] = np.concatenate([np.arange(n) for n in lengths])
    for cell in range(16):
        exponents = boards[:, cell].astype(np.uint64)
        rows["board"] |= np.minimum(exponents, 15) << np.uint64(60 - 4 * cell)
        rows["tile_65536_mask"] |= (boards[:, cell] > 15).astype(np.uint16) << np.uint16(cell)
    rows["board_eval"] = random.integers(-(10**6), 10**6, count)
    rows["move_dir"] = random.integers(0, 4, count)
    rows["valuation_type"] = random.integers(0, 3, count)
    rows["ev_legal"] = random.integers(1, 16, count)
    rows["max_rank"] = boards.max(axis=1)
    rows["seed"] = rows["run_id"] + 1000
    rows["branch_evs"] = random.normal(size=(count, 4)) * legal_moves(rows)
    return rows, boards


class PackTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name)
        self.lengths = [5, 0, 40, 17, 1]
        self.expected, self.boards = make_rows(self.lengths)

    def write(self, shard_rows=None, dtype=STEP_ROW_DTYPE, names=NAMES):
        rows = np.zeros(len(self.expected), dtype)
        for name in dtype.names:
            rows[name] = self.expected[name]
        if shard_rows is None:
            np.save(self.path / "steps.npy", rows)
        else:
            for number, start in enumerate(range(0, len(rows), shard_rows)):
                shard = rows[start : start + shard_rows]
                np.save(self.path / f"steps-{number:05}.npy", shard)
        database = sqlite3.connect(self.path / "metadata.db")
        database.execute(
            "CREATE TABLE runs (id INTEGER PRIMARY KEY, seed BIGINT, steps INT, "
            "max_score INT, highest_tile INT)"
        )
        for number, steps in enumerate(self.lengths):
            run = (number, 1000 + number, steps, 100 * number, 2**number)
            database.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?)", run)
        database.commit()
        database.close()
        if names is not None:
            (self.path / "valuation_types.json").write_text(json.dumps(names))
        return Pack(self.path)

    def test_rows_come_as_the_contract_has_them(self):
        pack = self.write()
        self.assertEqual(pack.shards[0].dtype, STEP_ROW_DTYPE)
        self.assertIsInstance(pack.shards[0], np.memmap)
        self.assertEqual(len(pack), 63)
        numbers = [62, 0, 17, 17]
        np.testing.assert_array_equal(pack.rows(numbers), self.expected[numbers])
        with self.assertRaises(IndexError):
            pack.rows([63])
        with self.assertRaises(IndexError):
            pack.rows([-1])

    def test_shards_are_one_pack(self):
        pack = self.write(shard_rows=10)
        self.assertEqual(len(pack.shards), 7)
        np.testing.assert_array_equal(pack.rows(np.arange(63)), self.expected)

    def test_rows_of_46_bytes_are_converted(self):
        for shard_rows in (None, 20):
            with self.subTest(shard_rows=shard_rows):
                self.setUp()
                pack = self.write(shard_rows=shard_rows, dtype=PACKED_STEP_ROW_DTYPE)
                rows = pack.rows(np.arange(63))
                self.assertEqual(rows.dtype, STEP_ROW_DTYPE)
                self.assertEqual(rows.tobytes(), self.expected.tobytes())

    def test_boards_are_exponents_up_to_17(self):
        rows = self.write().rows(np.arange(63))
        self.assertIn(16, self.boards)
        self.assertIn(17, self.boards)
        boards = decode_boards(rows)
        self.assertEqual(boards.dtype, np.uint8)
        np.testing.assert_array_equal(boards, self.boards)
        np.testing.assert_array_equal(decode_boards(rows[7]), self.boards[7])

    def test_of_several_large_tiles_each_is_16(self):
        row = np.zeros(1, STEP_ROW_DTYPE)
        row["board"] = 0xFF << 56
        row["tile_65536_mask"] = 0b11
        row["max_rank"] = 17
        self.assertEqual(decode_boards(row)[0, :3].tolist(), [16, 16, 0])

    def test_cell_15_has_the_last_bit(self):
        row = np.zeros(1, STEP_ROW_DTYPE)
        row["board"] = 0x10000000_0000000F
        row["tile_65536_mask"] = 1 << 15
        row["max_rank"] = 17
        self.assertEqual(decode_boards(row)[0].tolist(), [1] + [0] * 14 + [17])

    def test_legality_is_up_down_left_right(self):
        row = np.zeros(1, STEP_ROW_DTYPE)
        row["ev_legal"] = 0b0101
        self.assertEqual(legal_moves(row).tolist(), [[True, False, True, False]])

    def test_runs_are_selected_by_sql(self):
        pack = self.write(shard_rows=8)
        runs = pack.select_runs("max_score >= ? AND steps > 0", (200,))
        self.assertEqual(runs.tolist(), [2, 3, 4])
        numbers = pack.rows_of_runs(runs)
        wanted = np.flatnonzero(np.isin(self.expected["run_id"], [2, 3, 4]))
        np.testing.assert_array_equal(numbers, wanted)
        self.assertEqual(pack.select_runs().tolist(), [0, 1, 2, 3, 4])
        self.assertEqual(len(pack.rows_of_runs([])), 0)
        self.assertEqual(pack.run(3)["step_index"].tolist(), list(range(17)))
        self.assertEqual(len(pack.run(1)), 0)

    def test_an_epoch_has_every_row_once(self):
        pack = self.write(shard_rows=25)
        batches = list(pack.batches(16, seed=3))
        self.assertEqual([len(batch) for batch in batches], [16, 16, 16, 15])
        order = ["run_id", "step_index"]
        np.testing.assert_array_equal(np.sort(np.concatenate(batches), order=order), self.expected)
        again = list(pack.batches(16, seed=3))
        np.testing.assert_array_equal(np.concatenate(batches), np.concatenate(again))
        other = list(pack.batches(16, seed=4))
        self.assertFalse((np.concatenate(batches) == np.concatenate(other)).all())
        self.assertEqual([len(b) for b in pack.batches(16, 3, drop_last=True)], [16] * 3)
        some = np.concatenate(list(pack.batches(1024, seed=3, runs=[0, 4])))
        self.assertEqual(sorted(some["run_id"].tolist()), [0] * 5 + [4])

    def test_batches_of_the_trainers_size(self):
        self.lengths = [9000, 700]
        self.expected, self.boards = make_rows(self.lengths, seed=1)
        pack = self.write(shard_rows=4096)
        for size in (1024, 4096):
            total = sum(len(decode_boards(rows)) for rows in pack.batches(size, seed=0))
            self.assertEqual(total, 9700)

    def test_valuation_names_in_three_forms(self):
        forms = {
            "name to id": {"search": 0, "tuple11": 1, "tuple10": 2, "new": 7},
            "id to name": {"0": "search", "1": "tuple11", "2": "tuple10", "7": "new"},
        }
        for form, names in forms.items():
            with self.subTest(form):
                (self.path / "valuation_types.json").write_text(json.dumps(names))
                expected = {0: "search", 1: "tuple11", 2: "tuple10", 7: "new"}
                self.assertEqual(read_valuation_names(self.path), expected)
        (self.path / "valuation_types.json").write_text('["search", "tuple11"]')
        self.assertEqual(read_valuation_names(self.path), {0: "search", 1: "tuple11"})

    def test_without_the_file_no_name_is_known(self):
        pack = self.write(names=None)
        self.assertEqual(pack.valuation_names, {})

    def test_other_lookups_are_refused(self):
        for text in ('{"search": "0"}', '{"a": 0, "b": 0}', '{"a": 256}', "[1]", "3"):
            with self.subTest(text):
                (self.path / "valuation_types.json").write_text(text)
                with self.assertRaisesRegex(ValueError, "valuation_types.json"):
                    read_valuation_names(self.path)

    def test_other_pools_are_refused(self):
        rows = np.zeros(3, [("run_id", "<u8"), ("step_idx", "<u4"), ("exps", "u1", (16,))])
        np.save(self.path / "steps-000001.npy", rows)
        with self.assertRaisesRegex(ValueError, "no rows of a Macroxue pack"):
            Pack(self.path)
        with self.assertRaises(FileNotFoundError):
            Pack(self.path / "nothing")


if __name__ == "__main__":
    unittest.main()
