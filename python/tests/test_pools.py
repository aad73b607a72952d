"""Pools of all kinds: those of the repository's own writer of pools (tests/oracle/pools.py: numpy
and sqlite3 alone, with the games that are in them), those that the filters make, and bad ones."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

from gristmill_data import (
    SELFPLAY_ROW_DTYPE,
    STEP_ROW_DTYPE,
    LegacyPool,
    Pack,
    PoolMix,
    SelfPlayPool,
    open_pool,
)

ORACLE = Path(__file__).parents[2] / "tests" / "oracle" / "pools.py"
BIN = os.environ.get("GRISTMILL_BIN")
DATA = os.environ.get("GRISTMILL_DATA")
LARGE = [3, 2**32 + 1, 2**53 + 3, 2**53 + 4, 2**62]


class Folder(unittest.TestCase):
    """Writes pools into a folder of its own."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name)

    def database(self, runs, session=None, columns="id INTEGER PRIMARY KEY, steps INT"):
        database = sqlite3.connect(self.path / "metadata.db")
        database.execute(f"CREATE TABLE runs ({columns})")
        for run in runs:
            marks = ", ".join("?" * len(run))
            database.execute(f"INSERT INTO runs VALUES ({marks})", run)
        if session is not None:
            database.execute("CREATE TABLE session (meta_key TEXT PRIMARY KEY, meta_value TEXT)")
            database.executemany("INSERT INTO session VALUES (?, ?)", session.items())
        database.commit()
        database.close()

    def selfplay(self, lengths=(4, 0, 7, 9, 5), runs=LARGE, shard_rows=6, width=None, seed=0):
        """Interleaved rows with gaps in their steps; returns them as they are stored."""
        random = np.random.default_rng(seed)
        rows = np.zeros(sum(lengths), SELFPLAY_ROW_DTYPE)
        rows["run_id"] = np.repeat(np.array(runs, np.uint64), lengths)
        steps = [random.choice(500, length, replace=False) for length in lengths]
        rows["step_idx"] = np.concatenate(steps)
        rows["exps"] = random.integers(0, 18, (len(rows), 16))
        rows = random.permutation(rows)
        self.features = random.normal(size=(len(rows), width or 1)).astype(np.float32)
        for number, start in enumerate(range(0, len(rows), shard_rows), 1):
            part = slice(start, start + shard_rows)
            np.save(self.path / f"steps-{number:06}.npy", rows[part])
            if width is not None:
                np.save(self.path / f"embeddings-{number:06}.npy", self.features[part])
        self.database(zip(runs, lengths))
        return rows


class OracleTest(Folder):
    def test_every_pool_has_the_games_that_were_put_in(self):
        subprocess.run([sys.executable, ORACLE, self.path], check=True)
        names = sorted(path.name for path in self.path.iterdir() if path.is_dir())
        self.assertGreater(len(names), 9)
        kinds = {}
        for name in names:
            # One pool has rows of a run that its metadata.db does not list, and too few embeddings.
            pool = open_pool(self.path / name, check=name != "selfplay")
            kinds[name] = type(pool)
            with open(self.path / f"{name}.ndjson") as file:
                games = [json.loads(line) for line in file]
            with self.subTest(name):
                self.assertEqual(len(pool), sum(len(game["steps"]) for game in games))
                for game in games:
                    self.compare(pool, game)
        for name, kind in (("packed", Pack), ("selfplay", SelfPlayPool), ("legacy", LegacyPool)):
            self.assertIs(kinds[name], kind)
        with self.assertRaisesRegex(ValueError, "2 embeddings-.* for 4 shards"):
            open_pool(self.path / "selfplay")

    def compare(self, pool, game):
        mix = PoolMix([pool], runs=[[game["run_id"]]])
        batch = mix.collate(np.arange(len(mix)))
        order = np.argsort(batch["step_index"], kind="stable")
        batch = {name: values[order] for name, values in batch.items()}
        self.assertEqual(len(order), len(game["steps"]))
        found = pool.run(game["run_id"])
        for i, step in enumerate(game["steps"]):
            self.assertEqual(found[pool.step_name][i], step["step_index"])
            self.assertEqual(batch["step_index"][i], step["step_index"])
            self.assertEqual(int(batch["run_id"][i]), game["run_id"])
            self.assertEqual(batch["boards"][i].tolist(), step["board"])
            self.assert_known(batch, i, "move_dir", step["move_dir"], 255)
            self.assert_known(batch, i, "board_eval", step["board_eval"], 0)
            legal = step["ev_legal"]
            bits = None if legal is None else [bool(legal >> bit & 1) for bit in range(4)]
            self.assert_known(batch, i, "legal", bits, [False] * 4)
            name = step["valuation_type"]
            position = None if name is None else mix.valuation_names.index(name)
            self.assert_known(batch, i, "valuation_type", position, -1)
            values = step["branch_evs"] or [None] * 4
            known = [value is not None for value in values]
            self.assertEqual(batch["branch_evs_known"][i].tolist(), known)
            values = np.array([value or 0.0 for value in values], np.float32)
            self.assertEqual(batch["branch_evs"][i].tolist(), values.tolist())

    def assert_known(self, batch, i, name, value, unknown):
        self.assertEqual(bool(batch[f"{name}_known"][i]), value is not None, name)
        self.assertEqual(batch[name][i].tolist(), unknown if value is None else value, name)


@unittest.skipUnless(BIN and DATA, "GRISTMILL_BIN and GRISTMILL_DATA are not set: no real games")
class RealGamesTest(Folder):
    def test_layouts_of_the_same_games_are_the_same_boards(self):
        raw = Path(DATA, "macroxue", "raw_small")
        for layout in ("macroxue", "macroxue-packed", "selfplay-v1"):
            games = subprocess.Popen([f"{BIN}/mx-decode", raw], stdout=subprocess.PIPE)
            lossy = ["--lossy"] if layout == "selfplay-v1" else []
            command = [f"{BIN}/npy-pack", "-q", "--layout", layout, *lossy]
            command += ["-o", str(self.path / layout), "--shard-rows", "1000"]
            subprocess.run(command, stdin=games.stdout, check=True, stderr=subprocess.PIPE)
            games.stdout.close()
            self.assertEqual(games.wait(), 0)
        expected = np.load(Path(DATA, "macroxue", "expected_small.npy"))
        pools = [open_pool(self.path / name) for name in ("macroxue", "macroxue-packed")]
        pools.append(open_pool(self.path / "selfplay-v1"))
        self.assertEqual([type(pool) for pool in pools], [Pack, Pack, SelfPlayPool])
        for pool in pools:
            pool.check_rows()
            self.assertEqual(len(pool), len(expected))
        np.testing.assert_array_equal(pools[1].rows(np.arange(len(expected))), expected)
        count = len(expected)
        mix = PoolMix(pools)
        self.assertEqual(len(mix), 3 * count)
        numbers = np.random.default_rng(1).permutation(count)[:5000]
        batches = [mix.collate(numbers + part * count) for part in range(3)]
        for name in ("run_id", "step_index", "boards"):
            for batch in batches[1:]:
                np.testing.assert_array_equal(batch[name], batches[0][name], name)
        self.assertFalse(batches[2]["move_dir_known"].any())
        found = pools[0].find(batches[2]["run_id"], batches[2]["step_index"])
        np.testing.assert_array_equal(found, numbers)


class SelfPlayTest(Folder):
    def test_rows_are_the_contracts(self):
        stored = self.selfplay()
        pool = open_pool(self.path)
        self.assertIsInstance(pool, SelfPlayPool)
        self.assertEqual(pool.row_dtype, SELFPLAY_ROW_DTYPE)
        self.assertEqual(SELFPLAY_ROW_DTYPE.itemsize, 28)
        self.assertEqual(len(pool.shards), 5)
        np.testing.assert_array_equal(pool.rows(np.arange(25)), stored)
        self.assertIsNone(pool.session("x"))
        self.assertEqual(pool.valuation_names, {})
        with self.assertRaises(IndexError):
            pool.rows([25])

    def test_ids_of_runs_are_whole(self):
        # 2^53 + 3 and 2^53 + 4 are one number in float64.
        stored = self.selfplay()
        pool = open_pool(self.path)
        runs = pool.select_runs("steps > ?", (4,))
        self.assertEqual(runs.dtype, np.uint64)
        self.assertEqual(runs.tolist(), [2**53 + 3, 2**53 + 4, 2**62])
        for run in LARGE:
            wanted = stored[stored["run_id"] == run]
            numbers = pool.rows_of_runs([run])
            np.testing.assert_array_equal(pool.rows(numbers), wanted)
            steps = pool.run(run)["step_idx"].tolist()
            self.assertEqual(steps, sorted(wanted["step_idx"].tolist()))

    def test_ids_of_2_to_the_63_and_more(self):
        # SQLite has no such ids.
        stored = self.selfplay(shard_rows=100)
        stored["run_id"][stored["run_id"] == 2**62] = 2**64 - 1
        stored["run_id"][stored["run_id"] == 2**53 + 3] = 2**63 + 1
        np.save(self.path / "steps-000001.npy", stored)
        pool = open_pool(self.path)
        self.assertEqual(len(pool.rows_of_runs([2**63 + 1])), 7)
        number = pool.find(np.uint64(2**64 - 1), stored["step_idx"][stored["run_id"] == 2**64 - 1])
        self.assertEqual(set(stored["run_id"][number].tolist()), {2**64 - 1})
        batch = PoolMix([pool]).collate(np.arange(25))
        np.testing.assert_array_equal(batch["run_id"], stored["run_id"])

    def test_rows_are_found_by_run_and_step(self):
        stored = self.selfplay()
        pool = open_pool(self.path)
        some = np.random.default_rng(1).permutation(25)[:20]
        found = pool.find(stored["run_id"][some], stored["step_idx"][some])
        np.testing.assert_array_equal(found, some)
        self.assertEqual(pool.find([], []).tolist(), [])
        with self.assertRaisesRegex(KeyError, f"no row of run {2**53 + 3}, step 4000"):
            pool.find([2**53 + 3], [4000])
        # Run 5 would stand where 2^53 + 3 does.
        known = int(stored["step_idx"][stored["run_id"] == 2**53 + 3][0])
        for run, step in ((5, known), (2**64 - 1, known), (LARGE[2], 2**32 + known)):
            with self.assertRaisesRegex(KeyError, f"no row of run {run}, step {step}"):
                pool.find([run], [step])
        for ids in ([-1], [1.5]):
            with self.assertRaises(ValueError):
                pool.find(ids, [0])

    def test_fields_of_other_types_and_more_of_them(self):
        dtype = [("x", "f4"), ("exps", ">i4", (4, 4)), ("step_index", ">i8"), ("run_id", "<i4")]
        rows = np.zeros(3, dtype)
        rows["exps"] = np.arange(16).reshape(4, 4)
        rows["step_index"] = [2, 0, 1]
        rows["x"] = 1.5
        np.save(self.path / "steps-00000.npy", rows)
        self.database([(0, 3)])
        pool = open_pool(self.path)
        self.assertIsInstance(pool, SelfPlayPool)
        self.assertEqual(pool.run(0)["step_index"].tolist(), [0, 1, 2])
        self.assertEqual(pool.rows([1])["x"].tolist(), [1.5])
        self.assertTrue(all(pool.row_dtype[name].base.isnative for name in pool.fields))
        batch = PoolMix([pool]).collate([0])
        self.assertEqual(batch["boards"].tolist(), [list(range(16))])

    def test_counts_are_compared_with_metadata(self):
        self.selfplay()
        database = sqlite3.connect(self.path / "metadata.db")
        # The sum stays the same.
        database.execute("UPDATE runs SET steps = steps + 1 WHERE id = 3")
        database.execute(f"UPDATE runs SET steps = steps - 1 WHERE id = {2**62}")
        database.commit()
        with self.assertRaisesRegex(ValueError, "metadata.db: run 3 has 5 steps, but 4 rows"):
            open_pool(self.path).check_rows()
        database.execute("UPDATE runs SET steps = 4 WHERE id = 3")
        database.execute(f"DELETE FROM runs WHERE id = {2**62}")
        database.commit()
        database.close()
        message = "metadata.db: counts 20 steps, the shards have 25 rows"
        with self.assertRaisesRegex(ValueError, message):
            open_pool(self.path)
        pool = open_pool(self.path, check=False)
        with self.assertRaisesRegex(ValueError, f"run {2**62} is missing; it has rows"):
            pool.check_rows()

    def test_two_rows_of_one_step(self):
        rows = self.selfplay(shard_rows=100)
        rows[3] = rows[9]
        np.save(self.path / "steps-000001.npy", rows)
        pool = open_pool(self.path, check=False)
        message = f"several rows of run {rows['run_id'][9]}, step {rows['step_idx'][9]}"
        for action in (pool.check_rows, lambda: pool.find([3], [0])):
            with self.assertRaisesRegex(ValueError, message):
                action()

    def test_an_epoch_without_rows(self):
        np.save(self.path / "steps-000001.npy", np.zeros(0, SELFPLAY_ROW_DTYPE))
        self.database([])
        pool = open_pool(self.path)
        pool.check_rows()
        self.assertEqual(list(pool.batches(4, seed=0)), [])
        with self.assertRaises(KeyError):
            pool.find([0], [0])


class EmbeddingsTest(Folder):
    def test_they_stand_beside_their_rows(self):
        stored = self.selfplay(width=3)
        pool = open_pool(self.path)
        self.assertEqual(pool.embedding_width, 3)
        numbers = np.random.default_rng(2).permutation(25)[:17]
        features = pool.embeddings(numbers)
        self.assertEqual(features.dtype, np.float32)
        np.testing.assert_array_equal(features, self.features[numbers])
        batch = PoolMix([pool], embeddings=True).collate(numbers)
        np.testing.assert_array_equal(batch["embeddings"], self.features[numbers])
        self.assertTrue(batch["embeddings_known"].all())
        np.testing.assert_array_equal(batch["run_id"], stored["run_id"][numbers])
        self.assertNotIn("embeddings", PoolMix([pool]).collate(numbers))

    def test_they_may_be_absent(self):
        self.selfplay()
        pool = open_pool(self.path)
        self.assertIsNone(pool.embedding_width)
        self.assertIsNone(pool.embeddings([0]))
        self.assertNotIn("embeddings", PoolMix([pool], embeddings=True).collate([0]))
        with self.assertRaisesRegex(ValueError, "a self-play pool without embeddings"):
            PoolMix([pool], require=["embeddings"])

    def test_a_mix_of_pools_with_and_without(self):
        self.selfplay(width=3)
        with_them = open_pool(self.path)
        features = self.features
        for name, width in (("a", None), ("b", 4)):
            self.path = with_them.directory / name
            self.path.mkdir()
            self.selfplay(width=width)
        without = open_pool(with_them.directory / "a")
        batch = PoolMix([without, with_them], embeddings=True).collate([30, 2])
        self.assertEqual(batch["embeddings_known"].tolist(), [True, False])
        np.testing.assert_array_equal(batch["embeddings"][0], features[5])
        pools = [with_them, open_pool(with_them.directory / "b")]
        with self.assertRaisesRegex(ValueError, r"different widths: \[3, 4\]"):
            PoolMix(pools, embeddings=True)
        PoolMix(pools)

    def test_bad_ones_are_refused(self):
        self.selfplay(width=3)
        second = self.path / "embeddings-000002.npy"
        good = np.load(second)
        cases = [
            (good[:5], "embeddings-000002.npy: 5 rows, steps-000002.npy has 6"),
            (good[:, :2].copy(), "embeddings-000002.npy: 2 columns, .*000001.npy has 3"),
            (good.astype(np.float64), "embeddings-000002.npy: holds float64, not float32"),
            (good[:, 0].copy(), r"embeddings-000002.npy: shape \(6,\), not \[rows, D\]"),
        ]
        for array, message in cases:
            np.save(second, array)
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                open_pool(self.path)
        second.rename(self.path / "embeddings-000007.npy")
        with self.assertRaisesRegex(ValueError, "embeddings-000003.npy: there is no .*-000002.npy"):
            open_pool(self.path)
        (self.path / "embeddings-000007.npy").unlink()
        with self.assertRaisesRegex(ValueError, "4 embeddings-.* for 5 shards of steps"):
            open_pool(self.path)


class LegacyTest(Folder):
    def board(self, cells):
        return sum(cell << 60 - 4 * i for i, cell in enumerate(cells))

    def test_nothing_but_boards(self):
        cells = np.random.default_rng(3).integers(0, 16, (7, 16))
        boards = np.array([self.board(row.tolist()) for row in cells], ">u8")
        np.save(self.path / "steps.npy", boards)
        pool = open_pool(self.path)
        self.assertIsInstance(pool, LegacyPool)
        self.assertEqual(pool.fields, ("run_id", "step_index", "board"))
        self.assertEqual(pool.added_fields, ("run_id", "step_index"))
        self.assertEqual(pool.rows(np.arange(7))["step_index"].tolist(), list(range(7)))
        np.testing.assert_array_equal(PoolMix([pool]).collate(np.arange(7))["boards"], cells)
        pool.check_rows()
        with self.assertRaisesRegex(FileNotFoundError, "metadata.db"):
            pool.select_runs()
        # With metadata.db the runs follow one another.
        self.database([(5, 0), (9, 3), (10, 0), (2**40, 4), (2**41, 0)])
        pool = open_pool(self.path)
        rows = pool.rows([6, 0, 3, 2])
        self.assertEqual(rows["run_id"].tolist(), [2**40, 9, 2**40, 9])
        self.assertEqual(rows["step_index"].tolist(), [3, 0, 0, 2])
        self.assertEqual(pool.rows_of_runs([9]).tolist(), [0, 1, 2])
        self.assertEqual(pool.find([2**40], [1]).tolist(), [4])
        self.assertIsNone(pool.session("run.9"))

    def test_rows_that_metadata_does_not_count(self):
        np.save(self.path / "steps.npy", np.zeros(3, "<u8"))
        self.database([(0, 2)])
        with self.assertRaisesRegex(ValueError, "counts 2 steps, the shards have 3 rows"):
            open_pool(self.path)
        with self.assertRaisesRegex(ValueError, "counts 2 steps, the shards have 3 rows"):
            open_pool(self.path, check=False).rows([0])

    def test_moves_by_name_and_no_steps(self):
        rows = np.zeros(5, [("board", "<u8"), ("move", "S5"), ("run_id", "<u4")])
        rows["move"] = [b"up", b"RIGHT", b"", b"Down", b"left"]
        rows["run_id"] = [7, 4, 7, 7, 4]
        np.save(self.path / "steps.npy", rows)
        pool = open_pool(self.path)
        self.assertEqual(pool.rows(np.arange(5))["step_index"].tolist(), [0, 0, 1, 2, 1])
        batch = PoolMix([pool], require=["move_dir"]).collate(np.arange(5))
        self.assertEqual(batch["move_dir"].tolist(), [0, 3, 255, 1, 2])
        self.assertEqual(batch["move_dir_known"].tolist(), [True, True, False, True, True])
        rows["move"][3] = b"jump"
        np.save(self.path / "steps.npy", rows)
        with self.assertRaisesRegex(ValueError, "run 7, step 2: a move that is no direction"):
            PoolMix([open_pool(self.path)]).collate(np.arange(5))

    def test_numbers_as_moves_say_nothing(self):
        rows = np.zeros(2, [("board", "<u8"), ("move", "u1")])
        np.save(self.path / "steps.npy", rows)
        pool = open_pool(self.path)
        self.assertFalse(PoolMix([pool]).collate([0, 1])["move_dir_known"].any())
        with self.assertRaisesRegex(ValueError, "a legacy pool without move_dir; it has .*move"):
            PoolMix([pool], require=["move_dir"])

    def test_large_tiles_are_not_known(self):
        cells = [[1] * 16, [1] * 15 + [15], [15] + [2] * 15]
        np.save(self.path / "steps.npy", np.array([self.board(row) for row in cells], "<u8"))
        batch = PoolMix([open_pool(self.path)]).collate([0, 1, 2])
        self.assertEqual(batch["boards_exact"].tolist(), [True, False, False])
        self.assertEqual(batch["boards"].tolist(), cells)


class FilesTest(Folder):
    def assert_refused(self, error, message, **options):
        with self.subTest(message), self.assertRaisesRegex(error, message) as caught:
            open_pool(self.path, **options)
        self.assertNotIn("\n", str(caught.exception))

    def test_no_pool(self):
        self.assert_refused(FileNotFoundError, "steps.npy: no such file")
        np.save(self.path / "steps.npy", np.zeros(3, [("x", "f4")]))
        self.assert_refused(ValueError, "steps.npy: no rows of game steps")
        np.save(self.path / "steps.npy", np.zeros(3, "f8"))
        self.assert_refused(ValueError, "steps.npy: the field board is float64")
        np.save(self.path / "steps.npy", np.zeros((3, 2), "u8"))
        self.assert_refused(ValueError, r"steps.npy: shape \(3, 2\), which are no rows")
        for name, kind in (("exps", ("exps", "u1", (9,))), ("board", ("board", "<u4"))):
            np.save(self.path / "steps.npy", np.zeros(3, [kind]))
            self.assert_refused(ValueError, f"steps.npy: .*{name}")
        np.save(self.path / "steps.npy", np.zeros(3, [("board", "<u8"), ("ev_legal", "f4")]))
        self.assert_refused(ValueError, "steps.npy: the field ev_legal is float32")
        np.save(self.path / "steps.npy", np.zeros(3, "<u8"))
        for kind in (Pack, SelfPlayPool):
            with self.assertRaisesRegex(ValueError, "steps.npy: no rows of"):
                kind(self.path)

    def test_files_that_are_no_arrays(self):
        self.selfplay(shard_rows=100)
        path = self.path / "steps-000001.npy"
        whole = path.read_bytes()
        np.save(path, np.array([{}], object), allow_pickle=True)
        pickled = path.read_bytes()
        cases = [b"", b"x" * 200, whole[:50], whole[:-1], whole + b"\0", whole[:6] + b"\7\7"]
        for content in [*cases, pickled]:
            path.write_bytes(content)
            self.assert_refused(ValueError, "steps-000001.npy: ")

    def test_shards_are_all_there_and_of_one_type(self):
        self.selfplay()
        np.save(self.path / "steps.npy", np.zeros(3, SELFPLAY_ROW_DTYPE))
        self.assert_refused(ValueError, "both steps.npy and steps-")
        (self.path / "steps.npy").unlink()
        np.save(self.path / "steps-000003.npy", np.zeros(6, STEP_ROW_DTYPE))
        self.assert_refused(ValueError, "steps-000003.npy: its rows are .*in steps-000001.npy")
        (self.path / "steps-000003.npy").unlink()
        self.assert_refused(ValueError, "steps-000004.npy: shard 3 was expected")
        self.assertEqual(len(open_pool(self.path, check=False)), 19)

    def test_shards_are_in_order_of_their_names(self):
        for number in (2, 0, 1):
            np.save(self.path / f"steps-{number:05}.npy", np.full(2, number, "<u8"))
        pool = open_pool(self.path)
        self.assertEqual(pool.rows(np.arange(6))["board"].tolist(), [0, 0, 1, 1, 2, 2])
        # By name 10 comes before 9.
        for number in range(11):
            np.save(self.path / f"steps-{number}.npy", np.full(1, number, "<u8"))
        for number in range(3):
            (self.path / f"steps-{number:05}.npy").unlink()
        self.assert_refused(ValueError, "steps-10.npy: shard 2 was expected")

    def test_metadata(self):
        self.selfplay()
        path = self.path / "metadata.db"
        whole = path.read_bytes()
        path.unlink()
        self.assert_refused(FileNotFoundError, "metadata.db: no such file")
        self.assertEqual(len(open_pool(self.path, check=False)), 25)
        path.write_bytes(b"nothing of SQLite" * 100)
        self.assert_refused(ValueError, "metadata.db: file is not a database")
        path.write_bytes(whole[:4096])
        self.assert_refused(ValueError, "metadata.db: ")
        path.unlink()
        other = sqlite3.connect(path)
        other.execute("CREATE TABLE x (y)")
        other.close()
        self.assert_refused(ValueError, "metadata.db: no table runs with an id")
        path.write_bytes(whole)
        with self.assertRaisesRegex(ValueError, "metadata.db: no such column: score"):
            open_pool(self.path).select_runs("score > 3")

    def test_metadata_of_odd_values(self):
        self.selfplay()
        path = self.path / "metadata.db"
        for steps, message in ((-3, "runs has -3 as steps"), ("x", "runs has 'x' as steps")):
            path.unlink()
            self.database([(3, steps)])
            self.assert_refused(ValueError, message)
        # Nothing to compare with.
        for runs in ([(3, None)], []):
            path.unlink()
            self.database(runs, columns="id INTEGER PRIMARY KEY, steps INT" if runs else "id INT")
            if runs:
                self.assertEqual(len(open_pool(self.path)), 25)
        self.assertEqual(len(open_pool(self.path)), 25)

    def test_a_log_beside_the_database_is_not_overlooked(self):
        self.selfplay()
        path = self.path / "metadata.db"
        writer = sqlite3.connect(path)
        writer.execute("PRAGMA journal_mode = WAL")
        # Nothing in the log yet, and nothing is written beside the file by a reader.
        open_pool(self.path)
        writer.execute("UPDATE runs SET steps = 0")
        writer.commit()
        self.assert_refused(ValueError, "metadata.db: metadata.db-wal has changes")
        writer.close()
        self.assert_refused(ValueError, "counts 0 steps")

    def test_a_folder_without_write_permission(self):
        self.selfplay()
        # In this mode SQLite usually writes beside what it reads.
        writer = sqlite3.connect(self.path / "metadata.db")
        writer.execute("PRAGMA journal_mode = WAL")
        writer.close()
        os.chmod(self.path, 0o555)
        self.addCleanup(os.chmod, self.path, 0o755)
        if os.geteuid() == 0:  # who may write anywhere
            os.seteuid(65534)
            self.addCleanup(os.seteuid, 0)
        before = sorted(self.path.iterdir())
        self.assertEqual(len(open_pool(self.path).select_runs()), 5)
        self.assertEqual(sorted(self.path.iterdir()), before)

    def test_session(self):
        np.save(self.path / "steps.npy", np.zeros(2, "<u8"))
        self.database([(0, 2)], session={"run.0": '{"depth": 6}', "own": None})
        pool = open_pool(self.path)
        self.assertEqual(pool.session("run.0"), '{"depth": 6}')
        self.assertIsNone(pool.session("run.1"))
        self.assertIsNone(pool.session("own"))

    def test_a_folder_with_special_characters(self):
        self.path = self.path / "a?b#c%20 d"
        self.path.mkdir()
        self.selfplay()
        self.assertEqual(len(open_pool(self.path).select_runs()), 5)
        shutil.rmtree(self.path)


if __name__ == "__main__":
    unittest.main()
