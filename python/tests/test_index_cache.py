"""Index caches that Megatron itself wrote, against the data that they lie beside."""

import json
import unittest

import numpy as np
from support import DATA, needs_data

from gristmill_data import Triple
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


if __name__ == "__main__":
    unittest.main()
