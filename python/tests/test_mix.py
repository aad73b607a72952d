"""Batches of several pools together, against plain Python one row after another."""

import json
import tempfile
import unittest
from pathlib import Path

import numpy as np
from support import needs_torch

from gristmill_data import (
    PACKED_STEP_ROW_DTYPE,
    SELFPLAY_ROW_DTYPE,
    STEP_ROW_DTYPE,
    PoolMix,
    decode_boards,
    open_pool,
)

LEGACY = np.dtype([("board", "<u8"), ("move", "U5"), ("run_id", "<u4"), ("step_idx", "<i8")])
MOVES = ["up", "down", "left", "right", ""]


def pack_rows(random, count, ids=3):
    rows = np.zeros(count, STEP_ROW_DTYPE)
    rows["run_id"] = random.integers(0, 5, count)
    rows["step_index"] = np.arange(count)
    rows["board"] = random.integers(0, 2**64, count, dtype=np.uint64)
    for row in rows:
        for cell in range(16):
            if int(row["board"]) >> (60 - 4 * cell) & 15 == 15 and random.integers(2):
                row["tile_65536_mask"] |= 1 << cell
    rows["max_rank"] = random.choice([15, 16, 17], count)
    rows["board_eval"] = random.integers(-(2**31), 2**31, count)
    rows["move_dir"] = random.integers(0, 4, count)
    rows["valuation_type"] = random.integers(0, ids, count)
    rows["ev_legal"] = random.integers(0, 16, count)
    rows["branch_evs"] = random.normal(size=(count, 4)) * random.integers(0, 2, (count, 4))
    return rows


def other_rows(random, count, dtype):
    rows = np.zeros(count, dtype)
    rows["run_id"] = random.integers(0, 5, count)
    rows["step_idx"] = random.permutation(count)
    if "exps" in dtype.names:
        rows["exps"] = random.integers(0, 18, (count, 16))
        rows["run_id"] += np.uint64(2**60 + 1)
    else:
        rows["board"] = random.integers(0, 2**64, count, dtype=np.uint64)
        rows["move"] = random.choice(MOVES, count)
    return rows


class MixTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name)
        self.random = np.random.default_rng(5)

    def pool(self, name, rows, names=None, dtype=None):
        path = self.path / name
        path.mkdir(exist_ok=True)
        stored = rows
        if dtype is not None:
            stored = np.zeros(len(rows), dtype)
            for field in dtype.names:
                stored[field] = rows[field]
        for number, start in enumerate(range(0, len(rows), 40)):
            np.save(path / f"steps-{number:05}.npy", stored[start : start + 40])
        if names is not None:
            (path / "valuation_types.json").write_text(json.dumps(names))
        return open_pool(path, check=False)

    def expected(self, row, names):
        """A row as the contract describes it: key -> value, without those that are not known."""
        fields = row.dtype.names
        step = "step_index" if "step_index" in fields else "step_idx"
        wanted = {"run_id": int(row["run_id"]), "step_index": int(row[step])}
        if "exps" in fields:
            return wanted | {"boards": row["exps"].tolist()}
        cells = [int(row["board"]) >> (60 - 4 * cell) & 15 for cell in range(16)]
        if "move" in fields:
            known = {"move_dir": MOVES.index(row["move"])} if row["move"] else {}
            return wanted | {"boards": cells} | known
        mask = int(row["tile_65536_mask"])
        large = 17 if bin(mask).count("1") == 1 and row["max_rank"] == 17 else 16
        cells = [large if mask >> i & 1 else cell for i, cell in enumerate(cells)]
        return wanted | {
            "boards": cells,
            "move_dir": int(row["move_dir"]),
            "legal": [bool(row["ev_legal"] >> bit & 1) for bit in range(4)],
            "board_eval": int(row["board_eval"]),
            "max_rank": int(row["max_rank"]),
            "valuation_type": names[int(row["valuation_type"])],
        }

    def test_pools_of_all_kinds_in_one_batch(self):
        old = {"search": 0, "tuple11": 1, "tuple10": 2}
        new = {"search": 0, "tuple10": 1, "tuple11": 2, "tuple12": 3}
        rows = [
            pack_rows(self.random, 100),
            pack_rows(self.random, 90, ids=4),
            other_rows(self.random, 110, SELFPLAY_ROW_DTYPE),
            other_rows(self.random, 70, LEGACY),
        ]
        pools = [
            self.pool("old", rows[0], names=old, dtype=PACKED_STEP_ROW_DTYPE),
            self.pool("new", rows[1], names=new),
            self.pool("selfplay", rows[2]),
            self.pool("legacy", rows[3]),
        ]
        mix = PoolMix(pools)
        self.assertEqual(mix.valuation_names, ["search", "tuple10", "tuple11", "tuple12"])
        self.assertEqual(len(mix), 370)
        names = [dict(zip(table.values(), table)) for table in (old, new, {}, {})]
        seen = []
        for batch in mix.batches(64, seed=2):
            self.assertEqual({len(values) for values in batch.values()}, {len(batch["pool"])})
            for i, pool in enumerate(batch["pool"].tolist()):
                row = np.flatnonzero(
                    (rows[pool]["run_id"] == batch["run_id"][i])
                    & (rows[pool][pools[pool].step_name] == batch["step_index"][i])
                )
                seen.append((pool, int(row[0])))
                row = rows[pool][row[0]]
                wanted = self.expected(row, names[pool])
                if "valuation_type" in wanted:
                    name = wanted["valuation_type"]
                    wanted["valuation_type"] = mix.valuation_names.index(name)
                for key in ("run_id", "step_index", "boards"):
                    self.assertEqual(batch[key][i].tolist(), wanted[key], key)
                for key in ("move_dir", "legal", "board_eval", "max_rank", "valuation_type"):
                    self.assertEqual(bool(batch[f"{key}_known"][i]), key in wanted, key)
                    if key in wanted:
                        self.assertEqual(batch[key][i].tolist(), wanted[key], key)
                self.assert_values(batch, i, row)
        self.assertEqual(len(seen), 370)
        self.assertEqual(len(set(seen)), 370)

    def assert_values(self, batch, i, row):
        known, values = [False] * 4, [0.0] * 4
        if "branch_evs" in row.dtype.names:
            stored = row["branch_evs"].tolist()
            # -0.0 is a value too.
            bits = row["branch_evs"].view(np.uint32)
            known = [bool(row["ev_legal"] >> k & 1 or bits[k] != 0) for k in range(4)]
            values = [stored[k] if known[k] else 0.0 for k in range(4)]
        self.assertEqual(batch["branch_evs_known"][i].tolist(), known)
        self.assertEqual(batch["branch_evs"][i].tolist(), values)

    def test_the_order_is_that_of_the_numbers(self):
        pools = [self.pool(name, pack_rows(self.random, 50)) for name in "abc"]
        mix = PoolMix(pools)
        numbers = self.random.integers(0, 150, 400)
        batch = mix.collate(numbers)
        self.assertEqual(batch["pool"].tolist(), (numbers // 50).tolist())
        self.assertEqual(batch["step_index"].tolist(), (numbers % 50).tolist())
        again = list(mix.batches(64, seed=9))
        for first, second in zip(mix.batches(64, seed=9), again):
            np.testing.assert_array_equal(first["boards"], second["boards"])
        self.assertEqual([len(batch["pool"]) for batch in again], [64, 64, 22])
        self.assertEqual(len(list(mix.batches(64, seed=9, drop_last=True))), 2)
        self.assertEqual(len(mix.collate([])["boards"]), 0)
        for wrong in (-1, 150):
            with self.assertRaises(IndexError):
                mix.collate([wrong])

    def test_runs_are_chosen_for_each_pool(self):
        rows = [pack_rows(self.random, 60), other_rows(self.random, 30, SELFPLAY_ROW_DTYPE)]
        pools = [self.pool("a", rows[0]), self.pool("b", rows[1])]
        mix = PoolMix(pools, runs=[[1, 3], None])
        chosen = rows[0]["step_index"][np.isin(rows[0]["run_id"], [1, 3])]
        self.assertEqual(len(mix), len(chosen) + 30)
        batch = mix.collate(np.arange(len(mix)))
        self.assertEqual(batch["step_index"][: len(chosen)].tolist(), chosen.tolist())
        self.assertEqual(batch["step_index"][len(chosen) :].tolist(), rows[1]["step_idx"].tolist())
        with self.assertRaisesRegex(ValueError, "runs of 1 pools for 2"):
            PoolMix(pools, runs=[None])
        with self.assertRaisesRegex(ValueError, "at least one pool"):
            PoolMix([])

    def test_what_every_pool_must_have(self):
        pack = self.pool("pack", pack_rows(self.random, 10))
        selfplay = self.pool("selfplay", other_rows(self.random, 10, SELFPLAY_ROW_DTYPE))
        legacy = self.pool("legacy", other_rows(self.random, 10, LEGACY))
        every = ["move_dir", "legal", "branch_evs", "board_eval", "max_rank", "valuation_type"]
        PoolMix([pack], require=every)
        PoolMix([pack, legacy], require=["move_dir"])
        for pools, name, message in (
            ([pack, selfplay], "branch_evs", "selfplay: a self-play pool without branch_evs"),
            ([pack, legacy], "legal", "legacy: a legacy pool without ev_legal"),
            ([selfplay], "move_dir", "without move_dir; it has run_id, step_idx, exps"),
            ([pack], "moves", "no field moves of a mix"),
        ):
            with self.subTest(name), self.assertRaisesRegex(ValueError, message):
                PoolMix(pools, require=[name])

    def test_values_that_no_row_can_have(self):
        cases = [
            ("move_dir", 4, "a move_dir that is not 0, 1, 2 or 3"),
            ("ev_legal", 16, "an ev_legal over 15"),
            ("branch_evs", [np.inf, 0, 0, 0], "a value of a legal move that is not finite"),
            ("tile_65536_mask", 1 << 15, "a bit in tile_65536_mask of a cell that is not 15"),
            ("valuation_type", 9, "a valuation_type that is not in valuation_types.json"),
        ]
        for field, value, message in cases:
            rows = pack_rows(self.random, 60)
            rows["ev_legal"] = 15
            rows["board"][44] = 0
            rows["tile_65536_mask"][44] = 0
            rows[field][44] = value
            pool = self.pool("pack", rows, names={"search": 0, "tuple10": 1, "tuple11": 2})
            place = f"run {rows['run_id'][44]}, step 44: "
            with self.subTest(field), self.assertRaisesRegex(ValueError, f"pack: {place}{message}"):
                PoolMix([pool]).collate(np.arange(60))
            PoolMix([pool]).collate(np.arange(44))
        rows = other_rows(self.random, 20, SELFPLAY_ROW_DTYPE)
        rows["exps"][3, 5] = 18
        pool = self.pool("selfplay", rows)
        with self.assertRaisesRegex(ValueError, "a cell that is no exponent from 0 to 17"):
            PoolMix([pool]).collate(np.arange(20))

    def test_fields_that_are_too_wide(self):
        rows = np.zeros(3, [("board", "<u8"), ("board_eval", "<i8"), ("max_rank", "<i4")])
        rows["board_eval"] = [-(2**31), 2**31 - 1, 5]
        rows["max_rank"] = [0, 255, 3]
        batch = PoolMix([self.pool("wide", rows)]).collate([0, 1, 2])
        self.assertEqual(batch["board_eval"].tolist(), rows["board_eval"].tolist())
        self.assertEqual(batch["max_rank"].tolist(), [0, 255, 3])
        for field, value in (("board_eval", 2**31), ("board_eval", -(2**31) - 1), ("max_rank", -1)):
            wrong = rows.copy()
            wrong[field][2] = value
            with self.assertRaisesRegex(ValueError, f"step 2: a {field} that is no "):
                PoolMix([self.pool("wide", wrong)]).collate([0, 1, 2])

    def test_ids_without_a_name_in_a_pool_without_the_file(self):
        rows = pack_rows(self.random, 20, ids=5)
        batch = PoolMix([self.pool("pack", rows)]).collate(np.arange(20))
        self.assertFalse(batch["valuation_type_known"].any())
        self.assertEqual(set(batch["valuation_type"].tolist()), {-1})

    def test_boards_of_which_not_all_is_known(self):
        rows = np.zeros(4, STEP_ROW_DTYPE)
        rows["board"] = 0xFF << 56
        rows["tile_65536_mask"] = [0, 1, 3, 3]
        rows["max_rank"] = [15, 17, 16, 17]
        batch = PoolMix([self.pool("pack", rows)]).collate(np.arange(4))
        self.assertEqual(batch["boards_exact"].tolist(), [True, True, True, False])
        wanted = [[15, 15], [17, 15], [16, 16], [16, 16]]
        self.assertEqual(batch["boards"][:, :2].tolist(), wanted)

    @needs_torch
    def test_in_a_data_loader(self):
        from torch.utils.data import DataLoader

        mix = PoolMix([self.pool(name, pack_rows(self.random, 50)) for name in "ab"])
        loader = DataLoader(range(len(mix)), batch_size=16, collate_fn=mix.collate)
        found = np.concatenate([batch["boards"] for batch in loader])
        np.testing.assert_array_equal(found, mix.collate(np.arange(100))["boards"])

    def test_boards_of_one_row(self):
        rows = other_rows(self.random, 3, SELFPLAY_ROW_DTYPE)
        np.testing.assert_array_equal(decode_boards(rows[1]), rows["exps"][1])
        rows = other_rows(self.random, 3, LEGACY)
        self.assertEqual(decode_boards(rows[1]).shape, (16,))


if __name__ == "__main__":
    unittest.main()
