"""SynthKDDataset beside Megatron's own GPTDataset, and what it refuses."""

import json
import os
import pickle
import shutil
import tempfile
import unittest
import warnings
from pathlib import Path

import numpy as np
from support import (
    DATA,
    Tokenizer,
    needs_data,
    needs_megatron,
    plain_sequences,
    torch,
    write_member,
    write_triple,
)

if torch:
    try:
        from megatron.core.datasets.blended_megatron_dataset_builder import (
            BlendedMegatronDatasetBuilder,
        )
        from megatron.core.datasets.gpt_dataset import GPTDataset, GPTDatasetConfig
        from megatron.core.datasets.utils import Split

        from gristmill_data.megatron import StaleCacheError, SynthKDDataset, TripleError
    except ImportError:
        pass  # needs_megatron says so


class InDirectory(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name)
        self.prefix = str(self.path / "shard_00_tokens")
        self.cache = str(self.path / "cache")
        warnings.simplefilter("ignore")
        self.addCleanup(warnings.resetwarnings)

    def write(self, lengths, seed=0):
        self.sequences = plain_sequences(lengths, seed)
        write_triple(self.prefix.removesuffix("_tokens"), self.sequences)

    def config(self, prefixes=None, tokenizer=None, **settings):
        blend = [(prefixes or [self.prefix], None)] * 3
        defaults = {
            "random_seed": 1234,
            "sequence_length": 16,
            "reset_position_ids": False,
            "reset_attention_mask": False,
            "eod_mask_loss": False,
            "create_attention_mask": False,
            "path_to_cache": self.cache,
        }
        tokenizer = tokenizer or Tokenizer()
        return GPTDatasetConfig(
            tokenizer=tokenizer, blend_per_split=blend, **{**defaults, **settings}
        )

    def build(
        self, num_samples=None, split="train", indices=None, cls=None, options=None, **settings
    ):
        cls = cls or SynthKDDataset
        config = self.config(**settings)
        low = cls.build_low_level_dataset(self.prefix, config)
        if indices is None:
            indices = np.arange(len(low), dtype=np.int32)
        arguments = (low, self.prefix, indices, num_samples, Split[split], config)
        return cls(*arguments, **(options or {}))

    def files(self):
        return sorted(path.name for path in Path(self.cache).glob("*"))


@needs_megatron
class SamplesTest(InDirectory):
    def test_samples_are_those_of_gpt_dataset_with_the_stored_masks(self):
        random = np.random.default_rng(7)
        for trial in range(60):
            lengths = random.integers(0, 60, random.integers(1, 25))
            lengths[0] += 8  # There are tokens.
            self.write(lengths, seed=trial)
            split = str(random.choice(["train", "valid", "test"]))
            settings = {
                "sequence_length": int(random.integers(2, 40)),
                "random_seed": int(random.integers(0, 1000)),
                "mmap_bin_files": bool(random.integers(0, 2)),
                "add_extra_token_to_sequence": bool(random.integers(0, 2)),
                "drop_last_partial_validation_sequence": bool(random.integers(0, 2)),
                "reset_position_ids": bool(random.integers(0, 2)),
                "reset_attention_mask": bool(random.integers(0, 2)),
                "eod_mask_loss": bool(random.integers(0, 2)),
                "create_attention_mask": bool(random.integers(0, 2)),
                "allow_ambiguous_pad_tokens": bool(random.integers(0, 2)),
                "tokenizer": Tokenizer(pad=int(random.choice([-1, 5, 199_999]))),
            }
            count = [None, 0, int(random.integers(1, 200))][random.integers(0, 3)]
            with self.subTest(trial=trial, split=split, count=count, **settings):
                caches = [str(self.path / f"{name}_{trial}") for name in ("gpt", "ours")]
                theirs = self.build(
                    count, split, cls=GPTDataset, path_to_cache=caches[0], **settings
                )
                ours = self.build(count, split, path_to_cache=caches[1], **settings)
                self.assertEqual(len(ours), len(theirs))
                for ending in ("document_index", "sample_index", "shuffle_index"):
                    written = [next(Path(c).glob(f"*{ending}.npy")).read_bytes() for c in caches]
                    self.assertEqual(*written)
                for index in range(len(ours)):
                    self.assert_sample(ours, theirs, index)

    def assert_sample(self, ours, theirs, index):
        found, expected = ours[index], theirs[index]
        self.assertEqual(list(found), [*expected, "span_id"])
        for key in set(expected) - {"loss_mask"}:
            self.assertTrue(torch.equal(found[key], expected[key]), key)
            self.assertEqual(found[key].dtype, expected[key].dtype)
        # The masks by themselves: of the stream of all documents, from the sample's place on.
        documents = [self.sequences[number] for number in ours.document_index]
        length = ours.config.sequence_length
        begin = int(ours.shuffle_index[index]) * length
        extra = ours.config.add_extra_token_to_sequence
        streams = [np.concatenate([document[kind] for document in documents]) for kind in range(3)]
        tokens, mask, span = (stream[begin : begin + length + extra] for stream in streams)
        labels = tokens[1:]
        keep = (np.arange(length) < len(labels)).astype(int)
        keep[: len(labels)] &= labels != ours._pad_token_id
        for key, stored in (("loss_mask", mask), ("span_id", span)):
            wanted = np.zeros(length)
            wanted[: min(length, len(stored))] = stored[:length]
            np.testing.assert_array_equal(found[key].numpy(), wanted * keep, key)
        self.assertEqual(found["loss_mask"].dtype, torch.float32)
        self.assertEqual(found["span_id"].dtype, torch.int64)

    def test_index_none_is_sample_0_without_masks(self):
        self.write([40, 50, 60])
        for extra in (True, False):
            dataset = self.build(
                add_extra_token_to_sequence=extra, path_to_cache=f"{self.cache}_{extra}"
            )
            nothing, first = dataset[None], dataset[0]
            self.assertTrue(torch.equal(nothing["tokens"], first["tokens"]))
            self.assertTrue(torch.equal(nothing["labels"], first["labels"]))
            self.assertEqual(nothing["loss_mask"].sum() + nothing["span_id"].sum(), 0)

    def test_position_ids_are_shared_unless_they_are_reset(self):
        self.write([40, 50, 60])
        shared = self.build(create_attention_mask=True)
        for key in ("position_ids", "attention_mask"):
            self.assertEqual(shared[0][key].data_ptr(), shared[1][key].data_ptr())
        for flag in ("reset_position_ids", "reset_attention_mask", "eod_mask_loss"):
            apart = self.build(**{flag: True})
            held = apart[0]["position_ids"]
            self.assertNotEqual(held.data_ptr(), apart[1]["position_ids"].data_ptr())

    def test_samples_do_not_share_what_a_trainer_may_write(self):
        self.write([40, 50, 60])
        dataset = self.build()
        first = {key: value.clone() for key, value in dataset[0].items()}
        for key, value in dataset[0].items():
            if key != "position_ids":
                value.zero_()
        for key, value in dataset[0].items():
            self.assertTrue(torch.equal(value, first[key]), key)

    def test_workers_read_the_same(self):
        self.write([40, 50, 60, 5, 0, 90])
        for settings in ({}, {"mmap_bin_files": False}):
            dataset = self.build(**settings)
            copy = pickle.loads(pickle.dumps(dataset))
            batches = torch.utils.data.DataLoader(dataset, batch_size=4, num_workers=2)
            rows = [row for batch in batches for row in batch["span_id"]]
            self.assertEqual(len(rows), len(dataset))
            for index, row in enumerate(rows):
                self.assertTrue(torch.equal(row, dataset[index]["span_id"]))
                self.assertTrue(torch.equal(row, copy[index]["span_id"]))

    def test_defer_and_fast_cache_load(self):
        self.write([40, 50, 60])
        for flag in ("defer_npy_index_mmap", "fast_cache_load"):
            expected = self.build()
            for settings in ({flag: True}, {flag: True, "path_to_cache": f"{self.cache}_cold"}):
                cold = "path_to_cache" in settings
                with self.subTest(**settings):
                    try:
                        dataset = self.build(**settings)
                        samples = [dataset[index] for index in range(len(dataset))]
                        self.assertFalse(cold)
                    except FileNotFoundError:
                        self.assertTrue(cold)
                        continue
                    for index, sample in enumerate(samples):
                        for key, value in expected[index].items():
                            self.assertTrue(torch.equal(value, sample[key]))
        # As Megatron's builder does it: no indices.
        config = self.config(fast_cache_load=True)
        low = SynthKDDataset.build_low_level_dataset(self.prefix, config)
        again = SynthKDDataset(low, self.prefix, None, None, Split.train, config)
        self.assertTrue(torch.equal(again[3]["tokens"], expected[3]["tokens"]))

    def test_without_a_folder_the_cache_is_beside_the_data(self):
        self.write([40, 50, 60])
        self.build(path_to_cache=None)
        folder = Path(self.prefix) / "cache/SynthKDDataset_indices"
        self.assertEqual(len(list(folder.iterdir())), 4)


@needs_megatron
class CacheTest(InDirectory):
    """An index cache that does not belong to the data."""

    def assert_stale(self, cause, **settings):
        before = {path: path.read_bytes() for path in Path(self.cache).iterdir()}
        with self.assertRaisesRegex(StaleCacheError, cause) as caught:
            self.build(**settings)
        self.assertTrue(str(caught.exception).startswith(self.cache + ": "))
        self.assertNotIn("\n", str(caught.exception))
        again = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual(str(again), str(caught.exception))
        after = {path: path.read_bytes() for path in Path(self.cache).iterdir()}
        self.assertEqual(before, after)
        # And built anew, as if there had been none.
        fresh = f"{self.cache}_fresh"
        shutil.rmtree(fresh, ignore_errors=True)
        expected = self.build(**{**settings, "path_to_cache": fresh})
        rebuilt = self.build(options={"rebuild_stale_cache": True}, **settings)
        for name in os.listdir(fresh):
            written = [(Path(folder) / name).read_bytes() for folder in (self.cache, fresh)]
            self.assertEqual(*written)
        self.assertEqual(len(rebuilt), len(expected))

    def test_data_made_anew_under_the_same_path(self):
        random = np.random.default_rng(3)
        for settings in ({}, {"num_samples": 18}, {"num_samples": 60}):
            base = random.integers(1, 50, 20)
            for name, change in (
                ("one more", lambda a: np.append(a, 30)),
                ("one less", lambda a: a[:-1]),
                ("longer", lambda a: a + np.eye(20, dtype=int)[5] * 3),
                ("shorter", lambda a: np.maximum(a - np.eye(20, dtype=int)[a.argmax()] * 17, 1)),
                ("in another order", lambda a: a[::-1]),
                ("other lengths, same sum", lambda a: np.roll(np.sort(a), 3)),
            ):
                with self.subTest(name, **settings):
                    shutil.rmtree(self.cache, ignore_errors=True)
                    self.write(base)
                    self.build(**settings)
                    self.build(**settings)
                    self.write(change(base.copy()))
                    self.assert_stale(
                        "it draws|samples; the data give|sample \\d+ does", **settings
                    )

    def test_a_change_of_content_keeps_the_cache(self):
        self.write([40, 50, 60])
        self.build()
        self.write([40, 50, 60], seed=1)
        self.build()

    def test_settings_that_are_not_in_the_name(self):
        self.write([40, 50, 61])
        self.build(split="valid")
        self.assert_stale(
            "samples; the data give", split="valid", drop_last_partial_validation_sequence=False
        )
        shutil.rmtree(self.cache)
        self.write([16, 16, 16])
        self.build()
        self.assert_stale("2 samples; the data give 3", add_extra_token_to_sequence=False)

    def test_other_indices(self):
        self.write([40, 50, 60, 40])
        self.build(indices=np.array([0, 1, 2], np.int32))
        self.assert_stale(
            "it draws document 0 1 times, not 0", indices=np.array([3, 1, 2], np.int32)
        )
        self.assert_stale("4 documents in 1 epochs need 4")

    def test_files_that_are_cut_off_or_of_another_kind(self):
        self.write([40, 50, 60])
        for ending in ("document_index.npy", "sample_index.npy", "shuffle_index.npy"):
            for damage in ("empty", "header", "cut", "float", "beyond"):
                with self.subTest(ending=ending, damage=damage):
                    shutil.rmtree(self.cache, ignore_errors=True)
                    self.build()
                    (path,) = Path(self.cache).glob(f"*{ending}")
                    array = np.load(path)
                    whole = path.read_bytes()
                    if damage == "float":
                        np.save(path, array.astype(np.float64))
                    elif damage == "beyond":
                        np.save(path, array + 1000)
                    else:
                        size = {"empty": 0, "header": 20, "cut": len(whole) - 4}[damage]
                        path.write_bytes(whole[:size])
                    self.assert_stale(ending if damage != "beyond" else "")
        (path,) = Path(self.cache).glob("*description.txt")
        path.write_text("{}")
        self.assert_stale("is of another dataset")

    def test_the_option_through_the_builder(self):
        self.write([40, 50, 60])
        self.build()
        self.write([40, 50, 60, 70])
        config = self.config()
        with self.assertRaises(StaleCacheError):
            BlendedMegatronDatasetBuilder(SynthKDDataset, [None] * 3, lambda: True, config).build()
        config.rebuild_stale_cache = True
        builder = BlendedMegatronDatasetBuilder(SynthKDDataset, [None] * 3, lambda: True, config)
        train, valid, test = builder.build()
        self.assertEqual([len(d) for d in (train, valid, test)], [219 // 16] * 3)


@needs_megatron
class RefusalTest(InDirectory):
    def assert_refused(self, error, cause, build=None):
        with self.assertRaisesRegex(error, cause):
            (build or self.build)()
        self.assertEqual(self.files(), [])
        self.assertFalse((Path(self.prefix) / "cache").exists())

    def test_misaligned_triples_before_any_cache_is_written(self):
        base = self.prefix.removesuffix("_tokens")
        self.write([20, 30, 40])
        masks = [sequence[1] for sequence in self.sequences]
        shorter = [masks[0], masks[1][:-1], masks[2]]
        merged = [0, 3]
        for values, documents, cause in (
            (shorter, None, "lossmask.idx: sequence 1: has 29 values, its tokens are 30"),
            (masks[:-1], None, "lossmask.idx: has 2 sequences, the tokens have 3"),
            (masks, merged, "lossmask.idx: has 2 document indices, the tokens have 4"),
        ):
            write_member(f"{base}_lossmask", values, "u1", documents)
            self.assert_refused(TripleError, cause)
            self.assert_refused(RuntimeError, cause, self.with_plain_tokens)
        os.remove(f"{base}_lossmask.bin")
        self.assert_refused(FileNotFoundError, "lossmask.bin")

    def with_plain_tokens(self):
        """With tokens that Megatron's own class opened."""
        config = self.config()
        low = GPTDataset.build_low_level_dataset(self.prefix, config)
        indices = np.arange(len(low), dtype=np.int32)
        return SynthKDDataset(low, self.prefix, indices, None, Split.train, config)

    def test_paths(self):
        self.write([20, 30, 40])
        config = self.config()
        low = SynthKDDataset.build_low_level_dataset(self.prefix, config)
        indices = np.arange(3, dtype=np.int32)
        for path in (None, ""):
            with self.assertRaisesRegex(
                ValueError, "^SynthKDDataset requires a dataset path prefix.$"
            ):
                SynthKDDataset(low, path, indices, None, Split.train, config)
        other = self.prefix.removesuffix("s")
        cause = f"^SynthKDDataset expects token prefixes to end with _tokens: {other}$"
        with self.assertRaisesRegex(ValueError, cause):
            SynthKDDataset(low, other, indices, None, Split.train, config)
        with self.assertRaisesRegex(ValueError, cause):
            SynthKDDataset.build_low_level_dataset(other, config)
        self.assertEqual(self.files(), [])

    def test_sequences_that_are_not_there(self):
        self.write([20, 30, 40])
        for indices in ([0, 3], [-1]):
            build = lambda: self.build(indices=np.array(indices, np.int32))  # noqa: B023, E731
            self.assert_refused(TripleError, f"has 3 sequences; {indices[-1]} is asked for", build)

    def test_no_tokens(self):
        self.write([0, 0])
        self.assert_refused(TripleError, "has no tokens")
        self.write([0, 20])
        build = lambda: self.build(5, indices=np.array([0], np.int32))  # noqa: E731
        self.assert_refused(TripleError, "has no tokens in its 1 sequences", build)

    def test_counts_given_by_the_config(self):
        self.write([20, 30, 40])
        for counts in ((2, 4), (3, 3), (3, 4)):
            settings = {"sequences_per_dataset": {self.prefix: counts}}
            if counts == (3, 4):
                self.build(**settings, path_to_cache=f"{self.cache}_good")
            else:
                cause = f"3 sequences and 4 document indices; .*{counts[0]} and {counts[1]}"
                build = lambda: self.build(**settings)  # noqa: B023, E731
                self.assert_refused(TripleError, cause, build)
        small = Tokenizer()
        small.vocab_size = 1000
        build = lambda: self.build(tokenizer=small, **settings)  # noqa: E731
        self.assert_refused(TripleError, "holds int32, but was opened as uint16", build)

    def test_wrong_values_when_a_sample_touches_them(self):
        lengths = [20, 30, 40, 50, 60, 70]
        for kind, file, value, cause in (
            (0, "tokens", -5, "token 3 is -5"),
            (0, "tokens", 199_999, "token 3 of 40 is 199999"),
            (1, "lossmask", 255, "position 3 is 255"),
            (2, "span", 7, "position 3 is 7"),
        ):
            self.write(lengths)
            self.sequences[2][kind][3] = value
            write_triple(self.prefix.removesuffix("_tokens"), self.sequences)
            dataset = self.build()
            good = 0
            for index in range(len(dataset)):
                touched = any(document == 2 for document, _, _ in dataset.parts_of(index))
                if not touched:
                    dataset[index]
                    good += 1
                    continue
                for _ in range(2):
                    with self.assertRaisesRegex(TripleError, cause) as caught:
                        dataset[index]
                    self.assertEqual(caught.exception.sequence, 2)
                    self.assertIn(f"shard_00_{file}.bin: sequence 2: ", str(caught.exception))
            self.assertGreater(good, 0)
            # Without the check of contents, the values of masks are still looked at.
            trusting = self.build(options={"check_contents": False})
            if kind == 0:
                samples = [trusting[index] for index in range(len(trusting))]
                self.assertEqual(len(samples), len(dataset))
            else:
                with self.assertRaisesRegex(TripleError, f"is {value}, not 0"):
                    [trusting[index] for index in range(len(trusting))]

    @needs_data
    def test_every_bad_folder_is_refused(self):
        verdicts = json.loads((DATA / "malformed/kd/verdicts.json").read_text())
        for name, verdict in verdicts.items():
            with self.subTest(name):
                (index,) = (DATA / "malformed/kd" / name).glob("*_tokens.idx")
                self.prefix = str(index)[: -len(".idx")]
                cache = self.path / name
                built = False
                try:
                    dataset = self.build(path_to_cache=str(cache), sequence_length=512)
                    built = True
                    for number in range(len(dataset)):
                        dataset[number]
                    answer = "ok"
                except (TripleError, FileNotFoundError) as error:
                    answer = "bad"
                    self.assertIn(str(DATA / "malformed/kd" / name), str(error))
                if verdict["verdict"] != "any":
                    self.assertEqual(answer, verdict["verdict"])
                self.assertEqual(cache.exists(), built)


@needs_megatron
class BuilderTest(InDirectory):
    def test_several_prefixes_and_one_that_is_bad(self):
        prefixes = []
        for shard in range(3):
            self.prefix = str(self.path / f"shard_{shard:02}_tokens")
            self.write([20, 30, 40 + shard], seed=shard)
            prefixes.append(self.prefix)
        config = self.config(prefixes, path_to_cache=None)
        sizes = [None, None, None]
        builder = BlendedMegatronDatasetBuilder(SynthKDDataset, sizes, lambda: True, config)
        train, _, _ = builder.build()
        self.assertEqual(len(train), sum((90 + shard - 1) // 16 for shard in range(3)))
        seen = {int(train[index]["dataset_id"]) for index in range(len(train))}
        self.assertEqual(seen, {0, 1, 2})
        base = prefixes[1].removesuffix("_tokens")
        os.truncate(f"{base}_span.bin", 90)
        with self.assertRaisesRegex(TripleError, "shard_01_span.bin: sequence 2: ends at byte 91"):
            BlendedMegatronDatasetBuilder(SynthKDDataset, sizes, lambda: True, config).build()


if __name__ == "__main__":
    unittest.main()
