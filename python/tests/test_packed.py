"""Packed rows from triples and an index: those of seq-pack's own file, each once, with the same loss."""

import itertools
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np

from support import Tokenizer, needs_megatron, write_triple

try:
    import pyarrow.parquet as pq
    import torch
    from torch.utils.data import DataLoader

    from gristmill_data.loss import span_normalized_loss
    from gristmill_data.packed import (
        PackedError,
        PackedStream,
        PackedTriples,
        packed_span_loss,
        token_losses,
    )
except ModuleNotFoundError as error:
    if error.name not in ("torch", "pyarrow"):
        raise
    raise unittest.SkipTest(f"{error.name} is not installed: packed rows are not tested") from None
try:
    from megatron.core.datasets.blended_megatron_dataset_builder import BlendedMegatronDatasetBuilder
    from megatron.core.datasets.gpt_dataset import GPTDatasetConfig

    from gristmill_data.megatron_packed import PackedMegatronDataset
except ImportError:
    pass  # needs_megatron says so

if shutil.which("seq-pack") is None:
    raise unittest.SkipTest("seq-pack is not on the PATH: packed rows are not tested")

EOD = 199_999
VOCABULARY = 50


def write_random(prefix, count, seed, longest=60):
    """Sequences with spans of all kinds and an end of document each; the masks are as their spans."""
    random = np.random.default_rng(seed)
    sequences = []
    for _ in range(count):
        tokens = np.append(random.integers(0, VOCABULARY, random.integers(2, longest)), EOD)
        span = np.repeat(random.integers(0, 3, len(tokens) // 4 + 1), 4)[: len(tokens)]
        # No label is the end of the document, and none follows it.
        span[-2:] = 0
        sequences.append((tokens, span > 0, span))
    write_triple(prefix, sequences)


def seq_pack(*arguments):
    arguments = [str(argument) for argument in arguments]
    subprocess.run(["seq-pack", "-q", "--overwrite", *arguments], check=True)


class TinyModel(torch.nn.Module):
    """One layer of attention in float64, which crosses no seam that `cu_seqlens` names."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(7)
        width = 16
        self.tokens = torch.nn.Embedding(VOCABULARY, width, dtype=torch.float64)
        self.positions = torch.nn.Embedding(128, width, dtype=torch.float64)
        self.heads = torch.nn.Linear(width, 3 * width, dtype=torch.float64)
        self.out = torch.nn.Linear(width, VOCABULARY, dtype=torch.float64)

    def forward(self, tokens, positions, cu_seqlens):
        hidden = self.tokens(tokens) + self.positions(positions)
        query, key, value = self.heads(hidden).chunk(3, -1)
        piece = torch.searchsorted(cu_seqlens[1:], torch.arange(len(tokens)), right=True)
        may_see = (piece[:, None] == piece[None]) & torch.ones(len(tokens), len(tokens)).tril().bool()
        scores = (query @ key.T / 4).masked_fill(~may_see, float("-inf"))
        return self.out(hidden + scores.softmax(-1) @ value)


class PackedTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = Path(directory.name)
        (self.folder / "train").mkdir()
        for seed, name in enumerate(("a", "b")):
            write_random(self.folder / "train" / name, 70 + seed, seed)
        self.index = self.folder / "packs.parquet"

    def pack(self, length=100, *more):
        seq_pack(self.folder / "train", "--index", self.index, "-n", length, *more)
        return PackedTriples(index=self.index)


class RowsTest(PackedTest):
    def test_rows_are_those_of_the_file(self):
        file = self.folder / "rows.parquet"
        ways = itertools.product((30, 100), ("split", "cut", "drop"), ("", "--keep-eod"))
        for length, overflow, eod in ways:
            with self.subTest(length=length, overflow=overflow, eod=eod):
                flags = ["--overflow", overflow, *([eod] if eod else [])]
                rows = self.pack(length, *flags)
                more = ["-n", length, "--form", "trl", "--columns", "span_id", *flags]
                seq_pack(self.folder / "train", "-o", file, *more)
                wanted = pq.read_table(file).to_pylist()
                self.assertEqual(len(rows), len(wanted))
                for number, row in enumerate(wanted):
                    self.same(rows[number], row)
                self.same(rows[-1], wanted[-1])
                self.assertRaises(IndexError, lambda: rows[len(wanted)])
                self.assertEqual(rows.seq_length, length)

    def same(self, row, wanted):
        first = np.cumsum([0, *wanted["seq_lengths"]])
        self.assertEqual(row["input_ids"].tolist(), wanted["input_ids"])
        self.assertEqual(row["seq_lengths"].tolist(), wanted["seq_lengths"])
        self.assertEqual(row["cu_seqlens"].tolist(), first.tolist())
        positions = [at for length in wanted["seq_lengths"] for at in range(length)]
        self.assertEqual(row["position_ids"].tolist(), positions)
        # As TRL's collator does: no label at the first token of a piece.
        labels = np.array(wanted["labels"])
        labels[first[:-1]] = -100
        self.assertEqual(row["labels"].tolist(), labels.tolist())
        spans = np.where(labels == -100, 0, wanted["span_id"])
        self.assertEqual(row["span_id"].tolist(), spans.tolist())

    def test_paths_may_be_given(self):
        rows = self.pack()
        train = self.folder / "train"
        for paths in (train, [train / "a", train / "b"], [train]):
            again = PackedTriples(paths, self.index)
            self.assertTrue(torch.equal(again[3]["input_ids"], rows[3]["input_ids"]))
        with self.assertRaisesRegex(PackedError, "is of 2 prefixes; 1 are there"):
            PackedTriples(train / "a", self.index)
        with self.assertRaisesRegex(PackedError, "is of 70 sequences"):
            PackedTriples([train / "b", train / "a"], self.index)


@needs_megatron
class MegatronTest(PackedTest):
    def build(self, sizes, split="1", length=100, index=None, **settings):
        defaults = {"random_seed": 7, "sequence_length": length, "path_to_cache": str(self.folder / "cache")}
        flags = ("reset_position_ids", "reset_attention_mask", "eod_mask_loss", "create_attention_mask")
        settings = {**defaults, **dict.fromkeys(flags, False), **settings}
        blend = ([str(index or self.index)], None)
        config = GPTDatasetConfig(tokenizer=Tokenizer(), blend=blend, split=split, **settings)
        return BlendedMegatronDatasetBuilder(PackedMegatronDataset, sizes, lambda: True, config).build()

    def test_samples_are_the_rows_of_seq_pack(self):
        rows = self.pack(100, "--overflow", "split")
        file = self.folder / "rows.parquet"
        seq_pack(self.folder / "train", "-o", file, "-n", 100, "--form", "trl", "--columns", "span_id", "--overflow", "split")
        wanted = pq.read_table(file).to_pylist()
        for create in (False, True):
            train, valid, test = self.build([len(rows), None, None], create_attention_mask=create)
            self.assertEqual((len(train), valid, test), (len(rows), None, None))
            self.assertEqual(sorted(train.row(number) for number in range(len(train))), list(range(len(rows))))
            for number in range(len(train)):
                self.same(train[number], wanted[train.row(number)], create)

    def same(self, sample, row, create):
        count, ids, labels = len(row["input_ids"]), row["input_ids"], row["labels"]
        first = np.cumsum([0, *row["seq_lengths"]])
        self.assertEqual(sample["tokens"].tolist(), ids + [0] * (100 - count))
        self.assertEqual(sample["labels"].tolist()[: count - 1], ids[1:])
        # What is trained on at position t is the token at t + 1, never over a seam.
        trained = [labels[at + 1] != -100 and at + 1 not in first for at in range(count - 1)]
        self.assertEqual(sample["loss_mask"].tolist(), [float(of) for of in trained] + [0.0] * (101 - count))
        spans = [row["span_id"][at + 1] if of else 0 for at, of in enumerate(trained)]
        self.assertEqual(sample["span_id"].tolist()[: count - 1], spans)
        positions = [at for length in row["seq_lengths"] for at in range(length)]
        self.assertEqual(sample["position_ids"].tolist()[:count], positions)
        seams = [*first.tolist()] + [100] * (len(sample["cu_seqlens"]) - len(first))
        self.assertEqual(sample["cu_seqlens"].tolist(), seams)
        self.assertEqual("attention_mask" in sample, create)
        if create:
            piece = np.searchsorted(first[1:], np.arange(100), side="right")
            seen = (piece[:, None] == piece[None]) & np.tril(np.ones((100, 100), bool))
            self.assertTrue(np.array_equal(sample["attention_mask"][0].numpy(), ~seen))

    def test_epochs_splits_and_batches(self):
        rows = self.pack(100, "--overflow", "split")
        count = len(rows)
        train, valid, _ = self.build([3 * count, 4, None], split="80,20,0")
        own, others = set(train.indices.tolist()), set(valid.indices.tolist())
        self.assertEqual((own & others, own | others), (set(), set(range(count))))
        orders = [[train.row(epoch * len(own) + at) for at in range(len(own))] for epoch in range(2)]
        self.assertEqual([set(order) for order in orders], [own, own])
        self.assertNotEqual(*orders)
        batch = next(iter(DataLoader(train, batch_size=3)))
        self.assertEqual(batch["tokens"].shape, (3, 100))
        self.assertEqual(float(train[None]["loss_mask"].sum()), 0.0)

    def test_longer_rows_and_other_data_are_refused(self):
        self.pack(100, "--overflow", "split")
        with self.assertRaisesRegex(PackedError, "has rows of 100 positions; sequence_length is 64"):
            self.build([4, None, None], length=64)
        write_random(self.folder / "train" / "a", 70, 9)
        with self.assertRaisesRegex(PackedError, "is of"):
            self.build([4, None, None])


class EachOnceTest(PackedTest):
    def test_each_row_once_for_any_seed_ranks_and_restart(self):
        rows = self.pack()
        every = list(range(len(rows)))
        for seed, world_size in itertools.product((0, 5), (1, 2, 3, 8)):
            def of(rank, state=None, ranks=world_size):
                stream = PackedStream(rows, seed=seed, rank=rank, world_size=ranks)
                if state is not None:
                    stream.load_state_dict(state)
                return stream

            streams = [of(rank) for rank in range(world_size)]
            self.assertEqual(sum(len(stream) for stream in streams), len(rows))
            seen = [[row["row"] for row in stream] for stream in streams]
            self.assertEqual(sorted(itertools.chain(*seen)), every)
            # The next epoch is another order, and once more all.
            again = [[row["row"] for row in stream] for stream in streams]
            self.assertEqual(sorted(itertools.chain(*again)), every)
            self.assertNotEqual(seen, again)
            # Stopped after some rows of each rank, in the first epoch and the second; go on, also with
            # another number of ranks.
            for epoch, taken in itertools.product((0, 1), (0, 1, len(rows) // world_size)):
                before, states = [], []
                for rank in range(world_size):
                    stream = of(rank)
                    for _ in range(epoch):
                        list(stream)
                    before += [row["row"] for row in itertools.islice(stream, taken)]
                    states.append(stream.state_dict())
                self.assertTrue(all(state == states[0] for state in states))
                for ranks in {world_size, 2}:
                    after = [
                        row["row"] for rank in range(ranks) for row in of(rank, states[0], ranks)
                    ]
                    self.assertEqual(sorted(before + after), every, (epoch, taken, ranks))

    def test_ranks_with_as_many_rows(self):
        rows = self.pack()
        lengths = {
            len(list(PackedStream(rows, rank=rank, world_size=7, even=True))) for rank in range(7)
        }
        self.assertEqual(lengths, {len(rows) // 7})
        in_order = PackedStream(rows, shuffle=False)
        self.assertEqual([row["row"] for row in in_order], list(range(len(rows))))

    def test_workers_share_the_rows(self):
        rows = self.pack()
        for data in (rows, PackedStream(rows, seed=3)):
            loader = DataLoader(data, batch_size=None, num_workers=2)
            self.assertEqual(sorted(row["row"] for row in loader), list(range(len(rows))))

    def test_a_state_of_something_else(self):
        rows = self.pack()
        state = PackedStream(rows, seed=1).state_dict()
        with self.assertRaisesRegex(ValueError, "seed 1, not 2"):
            PackedStream(rows, seed=2).load_state_dict(state)
        with self.assertRaisesRegex(ValueError, "shuffle 1, not 0"):
            PackedStream(rows, seed=1, shuffle=False).load_state_dict(state)
        with self.assertRaisesRegex(ValueError, "even 0, not 1"):
            PackedStream(rows, seed=1, even=True).load_state_dict(state)
        # Of a worker: what the others had is not known.
        state = {**state, "world_size": 1}
        with self.assertRaisesRegex(ValueError, "world_size 1, not 2"):
            PackedStream(rows, seed=1, world_size=2).load_state_dict(state)

    def test_epochs_of_workers(self):
        rows = self.pack()
        stream = PackedStream(rows, seed=3)
        seen = []
        for epoch in range(2):
            stream.set_epoch(epoch)
            seen.append([row["row"] for row in DataLoader(stream, batch_size=None, num_workers=2)])
        self.assertEqual(*map(sorted, seen))
        self.assertNotEqual(*seen)


class LossTest(PackedTest):
    def test_the_loss_is_that_of_the_sequences_one_by_one(self):
        model = TinyModel()
        for options in ({}, {"w_final": 3.0}, {"w_reasoning": 0.5, "w_commentary": 2.0}):
            for row in list(self.pack())[:6]:
                self.compare(model, row, options)

    def compare(self, model, row, options):
        logits = model(row["input_ids"], row["position_ids"], row["cu_seqlens"])
        losses = token_losses(logits, row["labels"])
        spans = (row["labels"], row["span_id"], row["seq_lengths"])
        packed = packed_span_loss(losses, *spans, **options)
        model.zero_grad()
        packed.loss.backward()
        gradient = [weights.grad.clone() for weights in model.parameters()]
        model.zero_grad()
        singles, reports = [], []
        for start, end in zip(row["cu_seqlens"], row["cu_seqlens"][1:]):
            tokens, labels = row["input_ids"][start:end], row["labels"][start:end]
            alone = torch.tensor([0, end - start])
            logits = model(tokens, torch.arange(end - start), alone)
            losses = token_losses(logits, labels)
            mask = (labels != -100).double()
            one = span_normalized_loss(losses, mask, row["span_id"][start:end], **options)
            (one.loss / len(row["seq_lengths"])).backward()
            singles.append(one.loss.item())
            reports.append(one.report)
        self.assertAlmostEqual(packed.loss.item(), np.mean(singles), delta=1e-6)
        for ours, weights in zip(gradient, model.parameters()):
            self.assertTrue(torch.allclose(ours, weights.grad, atol=1e-9))
        for key, pair in packed.report.items():
            wanted = sum(report[key] for report in reports)
            self.assertTrue(torch.allclose(pair, wanted), key)
        # Over the sequences of a step that are more than those of this row.
        step = packed_span_loss(
            token_losses(model(row["input_ids"], row["position_ids"], row["cu_seqlens"]), row["labels"]),
            *spans, sequences=10, num_microbatches=4, **options,
        )
        self.assertAlmostEqual(step.loss.item(), sum(singles) / 10 * 4, delta=1e-6)

    def test_lengths_of_another_row(self):
        row = self.pack()[0]
        losses = torch.zeros(len(row["labels"]))
        with self.assertRaisesRegex(ValueError, "seq_lengths of"):
            packed_span_loss(losses, row["labels"], row["span_id"], row["seq_lengths"][:-1])
        with self.assertRaisesRegex(ValueError, "only with the sequences of a step"):
            packed_span_loss(
                losses, row["labels"], row["span_id"], row["seq_lengths"], num_microbatches=2
            )


class RefusedTest(PackedTest):
    def test_an_index_of_other_data(self):
        self.pack()
        prefix = self.folder / "train" / "a"
        tokens = Path(f"{prefix}_tokens.bin")
        good = tokens.read_bytes()
        tokens.write_bytes(bytes([good[0] ^ 1]) + good[1:])
        with self.assertRaisesRegex(PackedError, "a_tokens.bin was changed"):
            PackedTriples(index=self.index)
        PackedTriples(index=self.index, check=False)
        # Other sequences.
        write_random(prefix, 70, 0, longest=61)
        with self.assertRaisesRegex(PackedError, "packs.parquet: is of "):
            PackedTriples(index=self.index)

    def test_what_is_no_index(self):
        rows = self.folder / "rows.parquet"
        seq_pack(self.folder / "train", "-o", rows)
        with self.assertRaisesRegex(PackedError, "is no index .seq-pack --index."):
            PackedTriples(index=rows)
        rows.write_bytes(b"PAR1")
        with self.assertRaisesRegex(PackedError, "rows.parquet: "):
            PackedTriples(index=rows)
        with self.assertRaises(FileNotFoundError):
            PackedTriples(index=self.folder / "nowhere.parquet")


if __name__ == "__main__":
    unittest.main()
