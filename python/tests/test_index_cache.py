"""Index caches that Megatron itself wrote, against the data that they lie beside."""

import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np
from support import DATA, needs_data

from gristmill_data import Triple, index_cache
from gristmill_data.index_cache import Expected, StaleCacheError, check_cache


def expected_of(description, triple):
    """What an index of a triple must be, by the cache's own description: all documents."""
    text = description.read_text()
    case = json.loads(text)
    length, count = case["sequence_length"], case["num_samples"]
    tokens = triple.token_count
    epochs = 1
    while count and epochs * tokens < count * length + 1:
        epochs += 1
    return Expected(triple.lengths, None, epochs, tokens, length, 1, True, count, text)


@needs_data
class RealCachesTest(unittest.TestCase):
    """vpMoE's smoke root: the caches beside the data are of 249 and 250 documents, which the data
    no longer have; those in cache_1024 are right."""

    def check(self, description, triple):
        base = description.name.removesuffix("-description.txt")
        check_cache(description.parent, base, expected_of(description, triple))

    def test_those_in_the_folder_of_their_own_are_good(self):
        root = DATA / "kd_wild/smoke"
        found = sorted((root / "cache_1024").glob("*SynthKDDataset*description.txt"))
        self.assertGreater(len(found), 0)
        for description in found:
            path = json.loads(description.read_text())["dataset_path"]
            split, shard = path.split("/")[-2:]
            self.check(description, Triple(root / split / shard))

    def test_those_beside_the_data_are_stale(self):
        found = sorted((DATA / "kd_wild/smoke").glob("*/*_tokens/cache/*/*description.txt"))
        self.assertGreater(len(found), 0)
        for description in found:
            triple = Triple(description.parents[2])
            with self.assertRaisesRegex(StaleCacheError, r"it draws \d+ documents; ") as caught:
                self.check(description, triple)
            self.assertTrue(str(caught.exception).startswith(f"{description.parent}: "))

    def test_every_golden_cache_is_good(self):
        found = sorted((DATA / "kd_dataset/cases").glob("*/cache/*description.txt"))
        for description in found:
            case = json.loads((description.parents[1] / "config.json").read_text())
            root, *rest = case["prefix"].split("/")
            (base,) = [
                folder / root
                for folder in (DATA / "kd_dataset/prefixes", DATA / "synth_kd", DATA / "kd_wild")
                if (folder / root).exists()
            ]
            triple = Triple(base.joinpath(*rest))
            expected = expected_of(description, triple).__dict__
            config = case["config"]
            extra = int(config.get("add_extra_token_to_sequence", True))
            indices = case["indices"] and np.array(case["indices"])
            lengths = triple.lengths if indices is None else triple.lengths[indices]
            drop = config.get("drop_last_partial_validation_sequence", True)
            expected |= {"extra": extra, "indices": indices, "tokens": int(lengths.sum())}
            expected |= {"drop_last": drop or case["split"] != "valid"}
            base = description.name.removesuffix("-description.txt")
            check_cache(description.parent, base, Expected(**expected))


class EpochsTest(unittest.TestCase):
    """Caches of these tests: 5 documents of 8 tokens, in 3 epochs of 120 tokens, samples of 4."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = directory.name
        lengths = np.full(5, 8, np.int32)
        # 2 epochs have 79 // 4 = 19 samples; an epoch has 9, of which 7 are 80 %.
        self.apart, self.one = (
            Expected(lengths, None, 3, 40, 4, 1, True, count, "text") for count in (25, 26)
        )

    def check(self, expected, documents, shuffle):
        starts = np.arange(30) * 4
        samples = np.stack([starts // 8, starts % 8], axis=1)
        for ending, array in (("document", documents), ("sample", samples), ("shuffle", shuffle)):
            np.save(f"{self.folder}/x-{ending}_index.npy", np.asarray(array, np.int32))
        (Path(self.folder) / "x-description.txt").write_text("text")
        check_cache(self.folder, "x", expected)

    def test_the_last_epoch_is_apart_if_less_than_80_percent_of_it_are_wanted(self):
        self.assertEqual((self.apart.before_last_epoch, self.one.before_last_epoch), (19, None))
        random = np.random.default_rng(0)
        once, twice = np.arange(5), np.tile(np.arange(5), 2)
        for _ in range(20):
            documents = [*random.permutation(twice), *random.permutation(once)]
            shuffle = [*random.permutation(19), *(19 + random.permutation(10))]
            self.check(self.apart, documents, shuffle)
            self.check(self.one, documents, shuffle)
            mixed = [*documents[10:], *documents[:10]]
            if sorted(mixed[10:]) != list(once):
                self.check(self.one, mixed, shuffle)
                with self.assertRaisesRegex(StaleCacheError, "it draws document"):
                    self.check(self.apart, mixed, shuffle)
            self.check(self.one, documents, shuffle[::-1])
            with self.assertRaisesRegex(StaleCacheError, "shuffle is not one of these"):
                self.check(self.apart, documents, shuffle[::-1])

    def test_in_chunks(self):
        with mock.patch.object(index_cache, "_CHUNK", 3):
            self.test_the_last_epoch_is_apart_if_less_than_80_percent_of_it_are_wanted()


if __name__ == "__main__":
    unittest.main()
