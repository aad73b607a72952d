"""Triples: what opens, what is read, and that each fault is found and named."""

import json
import os
import pickle
import tempfile
import unittest
from pathlib import Path

import numpy as np
from support import DATA, needs_data, plain_sequences, write_member, write_triple

from gristmill_data import Triple, TripleError
from gristmill_data.publish import refuse_unfinished
from gristmill_data.contents import (
    CALL,
    CHANNEL,
    CONSTRAIN,
    END,
    EOD,
    MESSAGE,
    RETURN,
    SPANS,
    START,
    ContentError,
    check_sequence,
    spans_of,
)

ASSISTANT, ANALYSIS, FINAL, USER = 173_781, 35_644, 17_196, 1428


def conversation(*messages):
    """Tokens and label-aligned span ids of messages (header, content, end, span)."""
    tokens, spans = [], []
    for header, content, end, span in messages:
        message = [START, *header, MESSAGE, *content, end]
        tokens += message
        spans += [span] * len(message)
    return np.array([*tokens, EOD], np.int32), np.array([*spans[1:], 0, 0], np.uint8)


def answer(reasoning=(5, 6, 7), final=(8, 9)):
    return conversation(
        ([USER], [1, 2, 3], END, 0),
        ([ASSISTANT, CHANNEL, ANALYSIS], reasoning, END, 1),
        ([ASSISTANT, CHANNEL, FINAL], final, RETURN, 2),
    )


def masked(tokens, spans):
    return tokens, (spans > 0).astype(np.uint8), spans


class HalfPublished(unittest.TestCase):
    def test_nothing_below_a_root_is_read(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        root = Path(directory.name) / "root"
        for folder in ("train", "parts"):
            (root / folder).mkdir(parents=True)
        for name in ("a", "b"):
            write_triple(str(root / "train" / name), plain_sequences([5, 7]))
        (root.parent / "link").symlink_to("root/train")
        names = [f"train/a_{member}.{ending}\0" for member in ("tokens", "span") for ending in ("idx", "bin")]
        (root / "parts/.a.json.gristmill-half").write_text("".join(names))
        for prefix in (root / "train/a", root / "train/a_tokens", root.parent / "link/a"):
            with self.assertRaisesRegex(OSError, "half published"):
                Triple(prefix)
        for folder in (root, root / "train", root.parent / "link"):
            with self.assertRaisesRegex(OSError, "half published"):
                refuse_unfinished(folder)
        Triple(root / "train/b")
        (root / "parts/a.json").write_text("{}")
        Triple(root / "train/a", check_contents=False)


class InDirectory(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name)
        self.prefix = str(self.path / "shard_00")

    def assert_refused(self, cause, file=None, sequence=None):
        with self.assertRaisesRegex(TripleError, cause) as caught:
            list(Triple(self.prefix))
        if file is not None:
            self.assertEqual(caught.exception.path.name, f"shard_00_{file}")
        self.assertEqual(caught.exception.sequence, sequence)
        self.assertNotIn("\n", str(caught.exception))
        return caught.exception


class ReadingTest(InDirectory):
    def test_sequences_come_as_they_were_written(self):
        sequences = plain_sequences([5, 0, 1, 300, 0, 2])
        write_triple(self.prefix, sequences)
        for prefix in (self.prefix, f"{self.prefix}_tokens", Path(self.prefix)):
            triple = Triple(prefix)
            self.assertEqual((len(triple), triple.token_count), (6, 308))
            for number, written in enumerate(sequences):
                for read in (triple[number], triple[number - 6], triple[np.int64(number)]):
                    for array, expected, dtype in zip(read, written, ("<i4", "u1", "u1")):
                        np.testing.assert_array_equal(array, expected)
                        self.assertEqual(array.dtype, np.dtype(dtype))
        self.assertEqual([len(s.tokens) for s in triple[1:5:2]], [0, 300])
        self.assertEqual([len(s.span_id) for s in triple], [5, 0, 1, 300, 0, 2])
        for index in (6, -7):
            with self.assertRaisesRegex(IndexError, "of 6"):
                triple[index]

    def test_a_range_is_its_sequences_one_after_another(self):
        sequences = plain_sequences([5, 0, 1, 300, 0, 2])
        write_triple(self.prefix, sequences)
        triple = Triple(self.prefix)
        for start in range(7):
            for stop in range(start, 7):
                part = triple.range(start, stop)
                for kind, array in enumerate(part):
                    pieces = [sequence[kind] for sequence in sequences[start:stop]]
                    np.testing.assert_array_equal(array, np.concatenate([[], *pieces]))
        for start, stop in ((0, 7), (-1, 2), (3, 2)):
            with self.assertRaises(IndexError):
                triple.range(start, stop)

    def test_what_is_read_cannot_be_written(self):
        write_triple(self.prefix, plain_sequences([5]))
        with self.assertRaises(ValueError):
            Triple(self.prefix)[0].tokens[0] = 1

    def test_a_triple_without_sequences_or_tokens(self):
        for lengths in ([], [0], [0, 0]):
            sequences = plain_sequences(lengths) or []
            for member, dtype in (("tokens", "<i4"), ("lossmask", "u1"), ("span", "u1")):
                empty = [np.empty(0) for _ in sequences]
                write_member(f"{self.prefix}_{member}", empty, dtype)
            triple = Triple(self.prefix)
            self.assertEqual((len(triple), triple.token_count), (len(lengths), 0))
            self.assertEqual([len(s.tokens) for s in triple], lengths)

    @needs_data
    def test_real_triples_are_good_and_equal_the_files(self):
        prefixes = sorted(DATA.glob("synth_kd/*/*/*_tokens.idx"))
        prefixes += sorted(DATA.glob("kd_wild/*/*/*_tokens.idx"))
        prefixes += sorted(DATA.glob("kd_dataset/prefixes/*/*_tokens.idx"))
        self.assertGreater(len(prefixes), 5)
        for path in prefixes:
            triple = Triple(str(path)[: -len(".idx")])
            part = triple.range(0, len(triple))
            for member, array in zip(("tokens", "lossmask", "span"), part):
                raw = Path(f"{triple.prefix}_{member}.bin").read_bytes()
                self.assertEqual(array.tobytes(), raw)
            ends = np.cumsum(triple.lengths)
            self.assertTrue((part.tokens[ends[triple.lengths > 0] - 1] == EOD).all())


@needs_data
class MalformedTest(unittest.TestCase):
    def test_every_bad_folder_is_refused_with_its_file(self):
        root = DATA / "malformed/kd"
        verdicts = json.loads((root / "verdicts.json").read_text())
        self.assertGreater(len(verdicts), 0)
        for name, verdict in verdicts.items():
            with self.subTest(name):
                (index,) = (root / name).glob("*_tokens.idx")
                prefix = str(index)[: -len(".idx")]
                try:
                    list(Triple(prefix))
                    answer = "ok"
                except (TripleError, FileNotFoundError) as error:
                    answer = "bad"
                    self.assertIn(str(root / name), str(error))
                if verdict["verdict"] != "any":
                    self.assertEqual(answer, verdict["verdict"])


class FaultsTest(InDirectory):
    """Faults that Megatron does not see, in triples of these tests."""

    def setUp(self):
        super().setUp()
        self.sequences = plain_sequences([20, 30, 1, 40, 50])

    def write(self, **members):
        write_triple(self.prefix, self.sequences)
        for member, (values, dtype, *more) in members.items():
            write_member(f"{self.prefix}_{member}", values, dtype, *more)

    def values(self, kind):
        return [sequence[kind].copy() for sequence in self.sequences]

    def test_good_ones_are_read(self):
        self.write()
        self.assertEqual(len(list(Triple(self.prefix))), 5)

    def test_a_shorter_or_longer_mask_sequence(self):
        for member, kind in (("lossmask", 1), ("span", 2)):
            for change in (-1, 1):
                values = self.values(kind)
                values[3] = values[3][:-1] if change < 0 else np.append(values[3], 0)
                self.write(**{member: (values, "u1")})
                cause = f"has {40 + change} values, its tokens are 40"
                self.assert_refused(cause, f"{member}.idx", 3)

    def test_a_change_that_keeps_the_sum_of_lengths(self):
        values = self.values(1)
        values[1], values[3] = values[3], values[1]
        self.write(lossmask=(values, "u1"))
        self.assert_refused("has 40 values, its tokens are 30", "lossmask.idx", 1)

    def patch(self, file, offset, array):
        with open(f"{self.prefix}_{file}", "r+b") as opened:
            opened.seek(offset)
            opened.write(array.tobytes())

    def test_swapped_pointers(self):
        for member, size in (("tokens", 4), ("lossmask", 1), ("span", 1)):
            self.write()
            swapped = np.array([50 * size, 20 * size], "<i8")
            self.patch(f"{member}.idx", 34 + 5 * 4 + 8, swapped)
            cause = f"begins at byte {50 * size}, not {20 * size}"
            self.assert_refused(cause, f"{member}.idx", 1)

    def test_lengths_below_zero(self):
        self.write()
        self.patch("tokens.idx", 34 + 4, np.array([-30], "<i4"))
        self.assert_refused("its length is -30", "tokens.idx", 1)

    def test_headers(self):
        for offset, value, cause in (
            (0, np.array([0], "u1"), "not an index"),
            (9, np.array([2], "<i8"), "version 2"),
            (17, np.array([0], "u1"), "data type 0"),
            (17, np.array([9], "u1"), "data type 9"),
            (17, np.array([8], "u1"), "holds uint16, not int32"),
            (18, np.array([6], "<i8"), "its counts need"),
            (18, np.array([-1], "<i8"), "its counts need"),
            (26, np.array([5], "<i8"), "its counts need"),
            (26, np.array([2**61], "<i8"), "its counts need"),
        ):
            self.write()
            self.patch("tokens.idx", offset, value)
            self.assert_refused(cause, "tokens.idx")
        self.write()
        os.truncate(f"{self.prefix}_span.idx", 33)
        self.assert_refused("has 33 bytes", "span.idx")
        os.truncate(f"{self.prefix}_span.idx", 0)
        self.assert_refused("has 0 bytes", "span.idx")

    def test_files_that_are_missing(self):
        for member in ("tokens", "lossmask", "span"):
            for kind in ("bin", "idx"):
                self.write()
                os.remove(f"{self.prefix}_{member}.{kind}")
                with self.assertRaisesRegex(FileNotFoundError, f"_{member}.{kind}"):
                    Triple(self.prefix)

    def test_data_types(self):
        self.write(tokens=(self.values(0), "<i8"))
        self.assert_refused("holds int64, not int32", "tokens.idx")
        self.write(span=(self.values(2), "<i4"))
        self.assert_refused("holds int32, not uint8", "span.idx")

    def test_bins_that_are_shorter_or_longer(self):
        for member, size in (("tokens", 4), ("lossmask", 1), ("span", 1)):
            self.write()
            os.truncate(f"{self.prefix}_{member}.bin", 51 * size - 1)
            cause = f"ends at byte {51 * size}; the file has {51 * size - 1}"
            self.assert_refused(cause, f"{member}.bin", 2)
            os.truncate(f"{self.prefix}_{member}.bin", 141 * size + 1)
            cause = f"has {141 * size + 1} bytes; its lengths need {141 * size}"
            self.assert_refused(cause, f"{member}.bin")

    def test_documents(self):
        for documents, cause, sequence in (
            ([], "has no document indices", None),
            ([0, 5], "has 2 document indices, the tokens have 6", None),
            ([1, 1, 2, 3, 4, 5], "its first document index is 1", None),
            ([0, 1, 2, 3, 4, 4], "its last document index is 4", None),
            ([0, 3, 2, 3, 4, 5], "document index 2 is 2, after 3", 2),
            ([0, 1, 2, 2, 4, 5], "document index 3 is 2, in the tokens 3", 2),
        ):
            self.write(span=(self.values(2), "u1", documents))
            self.assert_refused(cause, "span.idx", sequence)
        # Of all three: documents of several sequences, and one without any.
        members = {}
        for kind, (member, dtype) in enumerate(
            (("tokens", "<i4"), ("lossmask", "u1"), ("span", "u1"))
        ):
            members[member] = (self.values(kind), dtype, [0, 2, 2, 5])
        self.write(**members)
        self.assertEqual(Triple(self.prefix).documents.tolist(), [0, 2, 2, 5])

    def test_modes_are_those_of_text(self):
        self.write(span=(self.values(2), "u1", None, [0] * 5))
        self.assertEqual(len(Triple(self.prefix)), 5)
        self.write(span=(self.values(2), "u1", None, [0, 0, 1, 0, 0]))
        self.assert_refused("has the mode 1", "span.idx", 2)

    def test_faults_beyond_the_first_chunk(self):
        from gristmill_data import triples

        chunk, triples._CHUNK = triples._CHUNK, 2
        self.addCleanup(setattr, triples, "_CHUNK", chunk)
        self.test_good_ones_are_read()
        self.test_a_shorter_or_longer_mask_sequence()
        self.test_swapped_pointers()
        self.test_documents()
        self.test_bins_that_are_shorter_or_longer()

    def test_values_of_masks(self):
        for kind, value, cause, file in (
            (1, 255, "is 255, not 0 or 1", "lossmask.bin"),
            (1, 2, "is 2, not 0 or 1", "lossmask.bin"),
            (2, 3, "is 3, not 0, 1 or 2", "span.bin"),
        ):
            values = self.values(kind)
            values[3][7] = value
            self.write(**{file[:-4]: (values, "u1")})
            self.assert_refused(f"position 7 {cause}", file, 3)
            with self.assertRaisesRegex(TripleError, cause):
                Triple(self.prefix, check_contents=False)[3]

    def test_a_supervised_span_that_no_channel_has(self):
        spans, masks = self.values(2), self.values(1)
        spans[3][7], masks[3][7] = 3, 1
        self.write(lossmask=(masks, "u1"), span=(spans, "u1"))
        self.assert_refused("position 7 is 3, not 0, 1 or 2", "span.bin", 3)

    def test_mask_1_with_span_0_and_the_other_way(self):
        spans = self.values(2)
        spans[1][:] = 0
        masks = self.values(1)
        masks[1][:] = 0
        masks[1][4] = 1
        self.write(span=(spans, "u1"), lossmask=(masks, "u1"))
        self.assert_refused("position 4 has loss mask 1 and span id 0", "lossmask.bin", 1)
        masks[1][4], spans[1][5] = 0, 2
        self.write(span=(spans, "u1"), lossmask=(masks, "u1"))
        self.assert_refused("position 5 has loss mask 0 and span id 2", "lossmask.bin", 1)

    def test_swapped_mask_and_span(self):
        spans = self.values(2)
        spans[0][:3] = (0, 1, 2)
        self.write(lossmask=(spans, "u1"), span=([(s > 0).astype("u1") for s in spans], "u1"))
        self.assert_refused("seem to be swapped", "lossmask.bin", 0)

    def test_token_ids(self):
        for value in (-1, -(2**31), 201_088, 2**31 - 1):
            tokens = self.values(0)
            tokens[4][9] = value
            self.write(tokens=(tokens, "<i4"))
            self.assert_refused(f"token 9 is {value}, outside", "tokens.bin", 4)
            self.assertEqual(Triple(self.prefix, check_contents=False)[4].tokens[9], value)

    def test_eod_in_the_middle(self):
        tokens = self.values(0)
        tokens[4][9] = EOD
        self.write(tokens=(tokens, "<i4"))
        self.assert_refused("token 9 of 50 is 199999", "tokens.bin", 4)

    def test_a_supervised_end(self):
        for place in (48, 49):
            masks, spans = self.values(1), self.values(2)
            masks[4][place], spans[4][place] = 1, 2
            self.write(lossmask=(masks, "u1"), span=(spans, "u1"))
            self.assert_refused(f"position {place} of 50 is supervised", "lossmask.bin", 4)

    def test_errors_are_values(self):
        self.write(tokens=(self.values(0), "<i8"))
        error = self.assert_refused("int64")
        self.assertIsInstance(error, ValueError)
        self.assertIsInstance(error, RuntimeError)
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(again), again.path), (str(error), error.path))


class ConversationTest(unittest.TestCase):
    """Masks against the messages of Harmony conversations."""

    def check(self, tokens, spans):
        check_sequence(*masked(np.asarray(tokens, np.int32), np.asarray(spans, np.uint8)))

    def assert_refused(self, cause, tokens, spans, member):
        with self.assertRaisesRegex(ContentError, cause) as caught:
            self.check(tokens, spans)
        self.assertEqual(caught.exception.member, member)

    def test_good_ones(self):
        self.check(*answer())
        self.check(*answer(reasoning=(), final=()))
        prompt = ([USER], [4], END, 0)
        self.check(*conversation(prompt))
        analysis = ([ASSISTANT, CHANNEL, ANALYSIS], [4], END, 1)
        self.check(*conversation(analysis, prompt, analysis, prompt))
        # A final message that is not the last ends as all do.
        final = ([ASSISTANT, CHANNEL, FINAL], [4], END, 2)
        self.check(*conversation(final, prompt))
        # The tokens of a call: whether it is supervised, its header does not say here.
        for span in (0, 1, 2):
            call = ([ASSISTANT, 4, 5, CHANNEL, 12606, 815, CONSTRAIN, 9], [4], CALL, span)
            self.check(*conversation(prompt, call))

    def test_spans_are_those_of_the_manifest(self):
        """Ids that were given to the channels on purpose are right, and the usual ones then wrong."""
        tokens, spans = answer()
        stated = {"analysis": 7, "final": 1}
        other = np.choose(spans, [0, 7, 1]).astype(np.uint8)
        pair = masked(np.asarray(tokens, np.int32), other)
        check_sequence(*pair, spans=stated)
        check_sequence(*pair, spans=None)
        usual = masked(np.asarray(tokens, np.int32), np.asarray(spans, np.uint8))
        for values, of in [(pair, SPANS), (usual, stated)]:
            with self.assertRaises(ContentError):
                check_sequence(*values, spans=of)
        with tempfile.TemporaryDirectory() as folder:
            prefix = os.path.join(folder, "train", "p")
            self.assertEqual(spans_of(prefix), SPANS)
            os.makedirs(os.path.join(folder, "parts"))
            os.makedirs(os.path.dirname(prefix))
            for place in (os.path.join(folder, "parts", "p.json"), f"{prefix}.part.json"):
                os.makedirs(os.path.dirname(place), exist_ok=True)
                for known in (stated, None):
                    with open(place, "w") as file:
                        json.dump({"source": {"spans": known}}, file)
                    self.assertEqual(spans_of(prefix), known)
                    # In its own folder it is a bare name.
                    before = os.getcwd()
                    os.chdir(os.path.dirname(prefix))
                    try:
                        self.assertEqual(spans_of("p"), known)
                    finally:
                        os.chdir(before)

    def test_masks_of_the_token_itself_or_shifted_twice(self):
        tokens, spans = answer()
        token = np.concatenate([[0], spans[:-1]])
        self.assert_refused("aligned to their own token", tokens, token, "span")
        twice = np.concatenate([spans[1:], [0]])
        self.assert_refused("shifted twice", tokens, twice, "span")

    def test_any_other_span(self):
        tokens, spans = answer()
        for place in range(len(spans)):
            for wrong in {0, 1, 2} - {int(spans[place])}:
                changed = spans.copy()
                changed[place] = wrong
                self.assert_refused(
                    f"position {place} has span id {wrong}", tokens, changed, "span"
                )

    def test_control_tokens_that_are_missing(self):
        tokens, spans = answer()
        for place in np.flatnonzero(tokens >= 199_998):
            if tokens[place] in (CHANNEL, EOD):
                continue
            # An ordinary token in its place.
            changed = tokens.copy()
            changed[place] = 11
            self.assert_refused("not a Harmony|return", changed, spans, "tokens")
        self.assert_refused("not 199999", tokens[:-1], spans[:-1], "tokens")

    def test_return_ends_a_last_final_message_only(self):
        tokens, spans = answer()
        (place,) = np.flatnonzero(tokens == RETURN)
        changed = tokens.copy()
        changed[place] = END
        self.assert_refused("does not end in", changed, spans, "tokens")
        changed = tokens.copy()
        changed[np.flatnonzero(tokens == END)[0]] = RETURN
        self.assert_refused("is not the end of a last final", changed, spans, "tokens")

    def test_reserved_ids(self):
        tokens, spans = answer()
        for wrong in (199_998, 200_000, 200_500, 201_087):
            changed = tokens.copy()
            changed[3] = wrong
            self.assert_refused(f"token 3 is {wrong}, a reserved id", changed, spans, "tokens")

    def test_random_tokens_never_crash(self):
        random = np.random.default_rng(0)
        controls = [START, MESSAGE, END, RETURN, CALL, CHANNEL, CONSTRAIN, ASSISTANT, FINAL, 5]
        refused = 0
        for _ in range(3000):
            tokens = np.append(random.choice(controls, random.integers(0, 12)), EOD)
            spans = np.zeros(len(tokens))
            try:
                self.check(tokens, spans)
            except ContentError:
                refused += 1
        self.assertGreater(refused, 2000)


if __name__ == "__main__":
    unittest.main()
