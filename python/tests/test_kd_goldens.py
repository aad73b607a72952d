"""SynthKDDataset on the real megatron-core, against what vpMoE's own class gave.

Every folder of data/kd_dataset/cases and blend is a case; its config.json says what to build.
"""

import json
import os
import tempfile
import unittest
import warnings
from pathlib import Path

import numpy as np
from support import DATA, Tokenizer, link_roots, needs_data, needs_megatron, torch

FLAGS = {"reset_position_ids": False, "reset_attention_mask": False, "eod_mask_loss": False}


def arrays_of(path):
    with np.load(path) as file:
        return dict(file)


class InRoots(unittest.TestCase):
    """In a folder where the data have the relative names that stand in the configs."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(directory.name)
        link_roots(directory.name)

    def assert_same_files(self, folder, expected):
        """Every file that was expected, with the same bytes."""
        for path in sorted(expected):
            self.assertEqual((Path(folder) / path.name).read_bytes(), path.read_bytes(), path.name)

    def assert_samples(self, dataset, golden):
        keys = [key for key in golden if key != "idx" and not key.startswith("none_")]
        for row, index in enumerate(golden["idx"].tolist()):
            sample = dataset[index]
            self.assertEqual(list(sample), keys)
            for key in keys:
                value = np.asarray(sample[key])
                self.assertEqual(value.dtype, golden[key].dtype, key)
                np.testing.assert_array_equal(value, golden[key][row], f"{key} of sample {index}")
                self.assertEqual(value.shape, golden[key][row].shape)


@needs_data
@needs_megatron
class CasesTest(InRoots):
    def build(self, case, cache, **options):
        from gristmill_data.megatron import SynthKDDataset
        from megatron.core.datasets.gpt_dataset import GPTDatasetConfig
        from megatron.core.datasets.utils import Split

        settings = {"random_seed": 1234, "create_attention_mask": False, **FLAGS, **case["config"]}
        tokenizer = Tokenizer(**case["tokenizer"])
        blend = [([case["prefix"]], None)] * 3
        config = GPTDatasetConfig(
            path_to_cache=cache, tokenizer=tokenizer, blend_per_split=blend, **settings
        )
        low = SynthKDDataset.build_low_level_dataset(case["prefix"], config)
        indices = np.arange(len(low), dtype=np.int32)
        if case["indices"] is not None:
            indices = np.array(case["indices"], np.int32)
        split = Split[case["split"]]
        arguments = (low, case["prefix"], indices, case["num_samples"], split, config)
        return SynthKDDataset(*arguments, **options)

    def test_every_case_gives_the_samples_and_caches_of_the_original(self):
        cases = sorted((DATA / "kd_dataset/cases").iterdir())
        self.assertGreater(len(cases), 0)
        for path in cases:
            with self.subTest(path.name):
                case = json.loads((path / "config.json").read_text())
                cache = f"caches/{path.name}"
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    dataset = self.build(case, cache)
                # Megatron's; the original's are cut off in the case.
                said = [str(w.message) for w in caught if "pad token" in str(w.message)]
                self.assertEqual(len(said), len(case["warnings"]))
                for ours, theirs in zip(said, case["warnings"]):
                    self.assertTrue(ours.startswith(theirs.rstrip()), (ours, theirs))
                self.assertEqual(len(dataset), case["len"])
                self.assertEqual(dataset._pad_token_id, case["pad_token_id"])
                self.assertEqual(dataset.unique_description_hash, case["description_hash"])
                expected = list((path / "cache").iterdir())
                self.assertEqual({p.name for p in expected}, set(os.listdir(cache)))
                self.assert_same_files(cache, expected)
                golden = arrays_of(path / "samples.npz")
                self.assert_case(dataset, case, golden)
                # And once more, from the cache that was written.
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    again = self.build(case, cache)
                self.assert_case(again, case, golden)
                self.assert_same_files(cache, expected)

    def assert_case(self, dataset, case, golden):
        if not len(dataset):
            for index in (0, -1, None):
                with self.assertRaises(IndexError):
                    dataset[index]
            return
        self.assert_samples(dataset, golden)
        types = {k: f"{v.dtype} {list(v.shape)}" for k, v in dataset[0].items()}
        self.assertEqual(types, case["dtypes"])
        nothing = dataset[None]
        for key, value in nothing.items():
            np.testing.assert_array_equal(value.numpy(), golden[f"none_{key}"], key)
        for key, value in dataset[-1].items():
            self.assertTrue(torch.equal(value, dataset[len(dataset) - 1][key]), key)
        with self.assertRaises(IndexError):
            dataset[len(dataset)]

    def test_every_blend_is_that_of_the_original(self):
        from gristmill_data.megatron import SynthKDDataset
        from megatron.core.datasets.blended_megatron_dataset_builder import (
            BlendedMegatronDatasetBuilder,
        )
        from megatron.core.datasets.gpt_dataset import GPTDatasetConfig

        if not torch.distributed.is_available():
            self.skipTest("torch without torch.distributed")
        # With a cache, Megatron asks for the rank of a blend.
        rendezvous = f"file://{os.getcwd()}/rendezvous"
        torch.distributed.init_process_group("gloo", rendezvous, rank=0, world_size=1)
        self.addCleanup(torch.distributed.destroy_process_group)
        for path in sorted((DATA / "kd_dataset/blend").iterdir()):
            with self.subTest(path.name):
                case = json.loads((path / "config.json").read_text())
                train = [f"smoke/train/shard_{shard:02}_tokens" for shard in case["shards"]]
                valid = ["smoke/valid/shard_00_tokens"]
                cache = f"blends/{path.name}"
                settings = {"random_seed": 1234, "create_attention_mask": False, **FLAGS}
                config = GPTDatasetConfig(
                    path_to_cache=cache,
                    tokenizer=Tokenizer(),
                    blend_per_split=[(train, case["weights"]), (valid, None), None],
                    **{**settings, **case["config"]},
                )
                builder = BlendedMegatronDatasetBuilder(
                    SynthKDDataset, case["sizes"], lambda: True, config
                )
                blend, held_out, nothing = builder.build()
                self.assertIsNone(nothing)
                lengths = (len(blend), len(held_out))
                self.assertEqual(lengths, (case["len_train"], case["len_valid"]))
                expected = [p for p in path.iterdir() if "-" in p.name]
                self.assertEqual({p.name for p in expected}, set(os.listdir(cache)))
                self.assert_same_files(cache, expected)
                self.assert_samples(blend, arrays_of(path / "samples.npz"))
                types = {key: str(value.dtype) for key, value in blend[0].items()}
                self.assertEqual(types, case["keys"])


if __name__ == "__main__":
    unittest.main()
