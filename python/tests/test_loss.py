"""The span-normalized loss: against the published one's figures, and against plain numpy.

The figures are under GRISTMILL_DATA, kd_dataset/loss: X.npz has losses [microbatches, B, S] and
masks, X.json what the published loss and Megatron's log make of them, as float32 and float64.
"""

import json
import math
import os
import unittest
from pathlib import Path

import numpy as np

try:
    import torch

    from gristmill_data.loss import (
        COMMENTARY_KEYS,
        REPORT_KEYS,
        global_span_counts,
        megatron_loss_func,
        span_counts,
        span_normalized_loss,
    )
    from gristmill_data.loss_log import ReportReducer, format_log
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise unittest.SkipTest("torch is not installed: the loss is not tested") from None

DATA = os.environ.get("GRISTMILL_DATA")


def schedule(loss, num_tokens, num_microbatches):
    """What Megatron's schedule makes of a loss_func's answer before it calls backward, in place."""
    loss /= torch.clamp(num_tokens, min=1)
    mean = loss.item()
    loss /= num_microbatches
    return mean, loss


def plain(losses, mask, span, w_reasoning, w_final, counts=None):
    """Loss and gradient in float64 by numpy, one token after another."""
    losses, mask, span = (np.asarray(values).ravel() for values in (losses, mask, span))
    value, gradient = 0.0, np.zeros(losses.size)
    for place, (number, weight) in enumerate(((1, w_reasoning), (2, w_final))):
        tokens = [i for i in range(losses.size) if span[i] == number and mask[i] != 0]
        count = sum(float(mask[i]) for i in tokens) if counts is None else counts[place]
        for i in tokens:
            gradient[i] = weight * float(mask[i]) / max(count, 1.0)
            value += gradient[i] * float(losses[i])
    return value, gradient


def some(random, shape):
    """Losses and masks of random tokens, also such as count nowhere."""
    losses = torch.from_numpy(random.exponential(2.0, shape))
    mask = torch.from_numpy(random.integers(0, 2, shape).astype(np.float32))
    span = torch.from_numpy(random.integers(0, random.integers(2, 5), shape))
    return losses, mask, span


@unittest.skipUnless(DATA, "GRISTMILL_DATA is not set: the published loss's figures are not there")
class PublishedFiguresTest(unittest.TestCase):
    def test_all_cases_are_equal_bit_for_bit(self):
        paths = sorted(Path(DATA, "kd_dataset", "loss").glob("*.json"))
        self.assertTrue(paths)
        for path in paths:
            arrays = np.load(path.with_suffix(".npz"))
            arrays = {name: arrays[name] for name in ("losses", "loss_mask", "span_id")}
            poisoned = not np.isfinite(arrays["losses"]).all()
            for setting, expected in json.loads(path.read_text()).items():
                with self.subTest(path.stem, setting=setting):
                    self.compare(arrays, setting, expected, poisoned)

    def compare(self, arrays, setting, expected, poisoned):
        dtype, w_reasoning, w_final = setting.split()
        dtype = getattr(torch, dtype)
        weights = {
            "w_reasoning": float(w_reasoning.removeprefix("w_r=")),
            "w_final": float(w_final.removeprefix("w_f=")),
        }
        reducer = ReportReducer(dtype=dtype)
        microbatches = expected["microbatches"]
        self.assertEqual(len(microbatches), len(arrays["losses"]))
        for number, wanted in enumerate(microbatches):
            losses = torch.from_numpy(arrays["losses"][number]).to(dtype).requires_grad_()
            mask = torch.from_numpy(arrays["loss_mask"][number])
            span = torch.from_numpy(arrays["span_id"][number])
            loss, num_tokens, report = megatron_loss_func(mask, span, losses, **weights)
            value = loss.item()
            mean, objective = schedule(loss, num_tokens, len(microbatches))
            objective.backward()
            reducer.add(report)
            gradient = losses.grad
            self.assertEqual(num_tokens.dtype, torch.int32)
            self.assertEqual(num_tokens.item(), wanted["num_tokens"])
            self.assertEqual(gradient.sum().item(), wanted["grad_sum"])
            values = sorted(set(gradient[gradient != 0].tolist()))
            self.assertEqual(values, wanted["grad_nonzero_values"])
            if poisoned:
                # The published loss multiplies by the mask: what does not count makes it NaN too.
                counts = (mask != 0) & ((span == 1) | (span == 2))
                clean = torch.where(counts, losses.detach(), torch.zeros_like(losses))
                wanted = self.published(clean, mask, span, **weights)
            # (NaN is equal to itself here.)
            np.testing.assert_equal(value, wanted["loss"])
            np.testing.assert_equal(mean, wanted["mean"])
            for key, pair in wanted["report"].items():
                np.testing.assert_equal(report[key].tolist(), pair, key)
                self.assertEqual(report[key].dtype, dtype)
        if not poisoned:
            self.compare_logs(reducer, expected)

    def compare_logs(self, reducer, expected):
        training, evaluation = reducer.training_log(), reducer.evaluation_log()
        for key, wanted in expected["logged_in_training"].items():
            self.assertEqual(training[key], wanted, key)
        for key, wanted in expected["logged_in_evaluation"].items():
            if key.endswith(" tokens"):
                wanted = training[key]
            self.assertEqual(repr(evaluation[key]), repr(wanted), key)

    def published(self, losses, mask, span, w_reasoning, w_final):
        """The published formula, for losses without NaN."""
        means, report, total = [], {}, 0
        for name, number in (("reasoning", 1), ("final", 2)):
            tokens = mask.view(-1).to(losses.dtype) * (span.view(-1) == number)
            pair = [(losses.view(-1) * tokens).sum(), tokens.sum()]
            means.append(pair[0] / pair[1].clamp(min=1))
            report[f"{name} loss"] = [value.item() for value in pair]
            report[f"{name} tokens"] = [pair[1].item(), 1.0]
            total += pair[1]
        mean = w_reasoning * means[0] + w_final * means[1]
        report["lm loss"] = [(mean * total).item(), total.item()]
        return {
            "loss": (mean * total).item(),
            "mean": (mean * total / total).item(),
            "report": report,
        }


class LossTest(unittest.TestCase):
    def test_random_microbatches_against_numpy(self):
        random = np.random.default_rng(1)
        for case in range(200):
            shape = tuple(random.integers(1, 9, random.integers(1, 4)))
            losses, mask, span = some(random, shape)
            weights = [float(w) for w in random.choice([0, 0.5, 1, 3], 2)]
            if case % 5 == 0:
                mask *= 255
            losses.requires_grad_()
            result = span_normalized_loss(losses, mask, span, *weights)
            result.loss.backward()
            value, gradient = plain(losses.detach(), mask, span, *weights)
            self.assertAlmostEqual(result.loss.item(), value, places=10)
            np.testing.assert_allclose(losses.grad.ravel(), gradient, rtol=1e-12)
            self.assertEqual(tuple(result.report), REPORT_KEYS)
            self.assertFalse(any(pair.requires_grad for pair in result.report.values()))

    def test_commentary_is_a_third_span_where_it_has_a_weight(self):
        generator = np.random.default_rng(20261124)
        for normalize in ("microbatch", "global"):
            losses = generator.random((3, 40))
            span = generator.integers(0, 4, (3, 40))
            mask = (span > 0).astype(np.uint8)
            tensors = [torch.from_numpy(values) for values in (losses, mask, span)]
            two = span_normalized_loss(*tensors, normalize=normalize)
            means = [losses[span == number].mean() for number in (1, 2, 3)]
            self.assertAlmostEqual(two.loss.item(), means[0] + means[1], 12)
            self.assertEqual(tuple(two.report), REPORT_KEYS)
            three = span_normalized_loss(*tensors, w_final=2.0, w_commentary=0.5, normalize=normalize)
            wanted = means[0] + 2 * means[1] + 0.5 * means[2]
            self.assertAlmostEqual(three.loss.item(), wanted, 12)
            self.assertEqual(tuple(three.report), REPORT_KEYS + COMMENTARY_KEYS)
            total, count = three.report["commentary loss"].tolist()
            self.assertAlmostEqual(total / count, means[2], 12)
            span_normalized_loss(*tensors, w_commentary=1.0, strict=True)
        with self.assertRaisesRegex(ValueError, "span_id is not 0, 1 or 2"):
            span_normalized_loss(*tensors, strict=True)
        pairs = [(tensors[1], tensors[2])]
        counts = global_span_counts(pairs, commentary=True)
        self.assertEqual(counts.tolist(), [(span == number).sum() for number in (1, 2, 3)])
        self.assertEqual(global_span_counts([], device="cpu", commentary=True).shape, (3,))

    def test_masks_of_all_number_types(self):
        losses, mask, span = some(np.random.default_rng(2), (3, 8))
        wanted = span_normalized_loss(losses, mask, span).loss
        for mask_type in (torch.bool, torch.uint8, torch.int64, torch.float16, torch.float64):
            for span_type in (torch.uint8, torch.int32):
                result = span_normalized_loss(losses, mask.to(mask_type), span.to(span_type))
                self.assertEqual(result.loss.item(), wanted.item())

    def test_it_is_calculated_in_float32_or_float64(self):
        losses, mask, span = some(np.random.default_rng(3), (2, 5))
        for given, wanted in (
            (torch.float16, torch.float32),
            (torch.bfloat16, torch.float32),
            (torch.float32, torch.float32),
            (torch.float64, torch.float64),
        ):
            result = span_normalized_loss(losses.to(given), mask, span)
            self.assertEqual(result.loss.dtype, wanted)

    def test_inputs_need_not_be_contiguous(self):
        losses, mask, span = some(np.random.default_rng(4), (6, 4))
        wanted = span_normalized_loss(losses.T.contiguous(), mask.T.contiguous(), span.T)
        result = span_normalized_loss(losses.T, mask.T, span.T)
        self.assertEqual(result.loss.item(), wanted.loss.item())

    def test_losses_or_masks_may_be_in_a_row(self):
        losses, mask, span = some(np.random.default_rng(4), (3, 4))
        wanted = span_normalized_loss(losses, mask, span).loss.item()
        for case in ((losses.ravel(), mask, span), (losses, mask.ravel(), span.ravel())):
            self.assertEqual(span_normalized_loss(*case).loss.item(), wanted)

    def test_what_does_not_count_changes_neither_loss_nor_gradient(self):
        losses, mask, span = some(np.random.default_rng(5), (4, 16))
        counts = (mask != 0) & ((span == 1) | (span == 2))
        wanted = losses.clone().requires_grad_()
        span_normalized_loss(wanted, mask, span).loss.backward()
        for poison in (math.nan, math.inf, -math.inf, 1e300):
            poisoned = torch.where(counts, losses, torch.full_like(losses, poison))
            poisoned.requires_grad_()
            result = span_normalized_loss(poisoned, mask, span)
            result.loss.backward()
            self.assertEqual(result.loss.item(), span_normalized_loss(wanted, mask, span)[0].item())
            self.assertTrue(torch.equal(poisoned.grad, wanted.grad))
            for pair in result.report.values():
                self.assertTrue(torch.isfinite(pair).all())

    def test_nan_where_it_counts_is_seen(self):
        losses, mask, span = torch.tensor([math.nan]), torch.ones(1), torch.tensor([1])
        self.assertTrue(math.isnan(span_normalized_loss(losses, mask, span).loss.item()))

    def test_nothing_waits_for_the_device(self):
        # A tensor on "meta" has no values: whoever asks for one fails.
        losses = torch.empty(2, 8, device="meta", requires_grad=True)
        mask = torch.empty(2, 8, device="meta")
        span = torch.empty(2, 8, dtype=torch.int64, device="meta")
        for normalize in ("microbatch", "global"):
            loss, _, report = megatron_loss_func(mask, span, losses, normalize=normalize)
            loss.backward()
            reducer = ReportReducer()
            reducer.add(report)
            reducer.add(report)
        counts = global_span_counts([(mask, span)] * 2)
        span_normalized_loss(losses, mask, span, 1, 1, "global", global_counts=counts)
        with self.assertRaises((RuntimeError, NotImplementedError)):
            span_normalized_loss(losses, mask, span, strict=True)

    def test_wrong_tensors_are_refused(self):
        losses, mask, span = some(np.random.default_rng(6), (2, 4))
        cases = [
            ((losses, mask, None), RuntimeError, "Synth KD requires span_id in the batch."),
            ((losses.long(), mask, span), TypeError, "losses are torch.int64"),
            ((losses, mask, span.float()), TypeError, "span_id is torch.float32"),
            ((losses, mask, span.bool()), TypeError, "span_id is torch.bool"),
            ((losses, mask.to(torch.complex64), span), TypeError, "loss_mask is torch.complex64"),
            ((losses.T, mask, span), ValueError, r"losses \(4, 2\), loss_mask \(2, 4\)"),
            ((losses, mask, span[0]), ValueError, r"loss_mask \(2, 4\), span_id \(4,\)"),
            ((losses[0], mask, span), ValueError, r"losses \(4,\), loss_mask \(2, 4\)"),
            ((losses, mask, span, -1.0), ValueError, "w_reasoning is -1.0"),
            ((losses, mask, span, 1.0, math.nan), ValueError, "w_final is nan"),
            ((losses, mask, span, 1, 1, "batch"), ValueError, "normalize is 'batch'"),
        ]
        for arguments, error, message in cases:
            with self.subTest(message), self.assertRaisesRegex(error, message):
                span_normalized_loss(*arguments)

    def test_wrong_options_are_refused(self):
        batch = some(np.random.default_rng(7), (2, 4))
        counts = torch.ones(2)
        cases = [
            ({"global_counts": counts}, "only with"),
            ({"num_microbatches": 2}, "only with"),
            ({"normalize": "global", "num_microbatches": 2}, "need the global_counts"),
            ({"normalize": "global", "num_microbatches": 0}, "at least 1"),
            ({"normalize": "global", "replicas": 0}, "at least 1"),
            ({"normalize": "global", "global_counts": torch.ones(3)}, r"shape \(3,\)"),
        ]
        for options, message in cases:
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                span_normalized_loss(*batch, **options)

    def test_strict_names_the_first_token_that_is_wrong(self):
        losses, mask, span = torch.ones(2, 3), torch.zeros(2, 3), torch.zeros(2, 3).long()
        mask[0, 0], span[0, 0] = 1, 2
        span_normalized_loss(losses, mask, span, strict=True)
        cases = [
            (255.0, 1, 1.0, "is not 0 or 1"),
            (math.nan, 0, 1.0, "is not 0 or 1"),
            (1.0, 3, 1.0, "is not 0, 1 or 2"),
            (0.0, -1, 1.0, "is not 0, 1 or 2"),
            (1.0, 0, 1.0, "loss_mask is 1 without a span"),
            (0.0, 2, 1.0, "span_id is set where loss_mask is 0"),
            (1.0, 1, math.inf, "not finite"),
        ]
        for values in cases:
            with self.subTest(values=values):
                tensors = [tensor.clone() for tensor in (mask, span, losses)]
                for tensor, value in zip(tensors, values):
                    tensor[1, 1] = value
                with self.assertRaisesRegex(ValueError, rf"^at \(1, 1\): .*{values[3]}"):
                    span_normalized_loss(tensors[2], tensors[0], tensors[1], strict=True)
        # NaN where nothing counts is no fault.
        losses[1, 2] = math.nan
        span_normalized_loss(losses, mask, span, strict=True)


class GlobalTest(unittest.TestCase):
    def gradients(self, losses, mask, span, parts, normalize, **weights):
        """Of a step in these microbatches, by a trainer that averages them."""
        losses = losses.clone().requires_grad_()
        parts = [(losses[part], mask[part], span[part]) for part in parts]
        counts = global_span_counts([part[1:] for part in parts])
        reducer, value = ReportReducer(), 0.0
        for part in parts:
            options = {"global_counts": counts, "num_microbatches": len(parts)}
            options = options if normalize == "global" else {}
            loss, tokens, report = megatron_loss_func(
                part[1], part[2], part[0], normalize=normalize, **weights, **options
            )
            _, objective = schedule(loss, tokens, len(parts))
            objective.backward()
            value += objective.item()
            reducer.add(report)
        return value, losses.grad.numpy(), reducer.training_log()

    def test_the_objective_does_not_depend_on_the_micro_batches(self):
        random = np.random.default_rng(8)
        splits = [
            [slice(0, 8)],
            [slice(0, 4), slice(4, 8)],
            [slice(0, 1), slice(1, 7), slice(7, 8)],
            [slice(i, i + 1) for i in range(8)],
        ]
        weights = {"w_reasoning": 0.5, "w_final": 2.0}
        for _ in range(20):
            losses, mask, span = some(random, (8, 6))
            mask[3] = 0
            value, gradient = plain(losses, mask, span, **weights)
            for parts in splits:
                found = self.gradients(losses, mask, span, parts, "global", **weights)
                self.assertAlmostEqual(found[0], value, places=10)
                np.testing.assert_allclose(found[1].ravel(), gradient, rtol=1e-10)
                self.assertAlmostEqual(found[2]["objective"], value, places=10)
                self.assertAlmostEqual(found[2]["lm loss"], value, places=10)
        # The other way it does.
        first = self.gradients(losses, mask, span, splits[0], "microbatch", **weights)
        other = self.gradients(losses, mask, span, splits[2], "microbatch", **weights)
        self.assertAlmostEqual(first[0], value, places=10)
        self.assertGreater(abs(other[0] - value), 1e-3)
        self.assertAlmostEqual(other[2]["objective"], other[0], places=10)

    def test_a_trainer_that_adds_microbatches(self):
        losses, mask, span = some(np.random.default_rng(9), (5, 12))
        value, gradient = plain(losses, mask, span, 1.0, 1.0)
        counts = span_counts(mask, span)
        self.assertEqual(counts.dtype, torch.float64)
        losses.requires_grad_()
        total = 0.0
        for i in range(5):
            part = losses[i], mask[i], span[i]
            loss = span_normalized_loss(*part, normalize="global", global_counts=counts).loss
            loss.backward()
            total += loss.item()
        self.assertAlmostEqual(total, value, places=10)
        np.testing.assert_allclose(losses.grad.ravel(), gradient, rtol=1e-12)

    def test_one_microbatch_alone_is_the_same_in_both_ways(self):
        for dtype in (torch.float32, torch.float64):
            losses, mask, span = some(np.random.default_rng(10), (4, 100))
            both = [
                span_normalized_loss(losses.to(dtype), mask, span, 0.3, 0.7, normalize)
                for normalize in ("microbatch", "global")
            ]
            self.assertEqual(both[0].loss.item(), both[1].loss.item())
            for key in REPORT_KEYS:
                self.assertEqual(both[0].report[key].tolist(), both[1].report[key].tolist(), key)

    def test_no_microbatch_counts_nothing(self):
        self.assertEqual(global_span_counts([]).tolist(), [0, 0])
        self.assertEqual(global_span_counts([], device="cpu").tolist(), [0, 0])


class LogTest(unittest.TestCase):
    def test_effective_weights(self):
        # Four tokens of reasoning, one of the final, in two microbatches.
        mask = torch.ones(2, 3)
        span = torch.tensor([[1, 1, 2], [1, 1, 0]])
        reducer = ReportReducer()
        for i in range(2):
            report = span_normalized_loss(torch.ones(3), mask[i], span[i], 1.0, 3.0).report
            reducer.add(report)
        log = reducer.training_log()
        self.assertEqual(log["reasoning tokens"], 4)
        self.assertEqual(log["final tokens"], 1)
        self.assertEqual(log["reasoning weight"], 1 / 2)
        self.assertEqual(log["final weight"], 3.0)
        # 1/4 in the first microbatch, all in the second.
        self.assertEqual(log["reasoning share"], (1 / 4 + 1) / 2)
        self.assertEqual(log["final share"], (3 / 4 + 0) / 2)
        counts = global_span_counts(zip(mask, span))
        self.assertEqual(counts.tolist(), [4, 1])
        reducer.reset()
        for i in range(2):
            part = torch.ones(3), mask[i], span[i], 1.0, 3.0, "global"
            reducer.add(span_normalized_loss(*part, global_counts=counts).report)
        log = reducer.training_log()
        self.assertEqual(log["reasoning weight"], 1 / 4)
        self.assertEqual(log["final weight"], 3.0)
        self.assertAlmostEqual(log["reasoning share"], 1 / 4)
        self.assertAlmostEqual(log["final share"], 3 / 4)

    def test_the_weight_of_a_token_is_its_gradient(self):
        random = np.random.default_rng(11)
        for _ in range(20):
            losses, mask, span = some(random, (3, 9))
            losses.requires_grad_()
            result = span_normalized_loss(losses, mask, span, 0.5, 2.0)
            result.loss.backward()
            for number, name in ((1, "reasoning"), (2, "final")):
                of_span = losses.grad[(span == number) & (mask != 0)]
                total, count = result.report[f"{name} weight"].tolist()
                self.assertEqual(count, len(of_span))
                if count:
                    self.assertAlmostEqual(of_span[0].item(), total / count)

    def test_nothing_to_learn(self):
        zeros = torch.zeros(4)
        for normalize in ("microbatch", "global"):
            losses = torch.ones(4, requires_grad=True)
            result = span_normalized_loss(losses, zeros, zeros.long(), 1, 1, normalize)
            result.loss.backward()
            self.assertEqual(result.loss.item(), 0)
            self.assertEqual(losses.grad.tolist(), [0] * 4)
            reducer = ReportReducer()
            reducer.add(result.report)
            self.assertEqual(set(reducer.training_log().values()), {0.0})
            evaluation = reducer.evaluation_log()
            self.assertTrue(math.isnan(evaluation["reasoning loss"]))
            self.assertEqual(evaluation["final tokens"], 0)

    def test_counts_are_exact_over_many_steps(self):
        report = {key: torch.tensor([2.0**24, 1.0]) for key in REPORT_KEYS}
        one = {key: torch.tensor([1.0, 1.0]) for key in REPORT_KEYS}
        reducer = ReportReducer()
        for added in (report, one, one, one):
            reducer.add(added)
        self.assertEqual(reducer.training_log()["final tokens"], 2**24 + 3)
        reducer.reset()
        self.assertEqual(reducer.training_log()["final tokens"], 0)

    def test_reports_of_other_keys(self):
        reducer = ReportReducer(keys=("lm loss", "aux loss"))
        reducer.add({"aux loss": torch.tensor([3.0, 2.0]), "lm loss": torch.tensor([8.0, 4.0])})
        self.assertEqual(format_log(reducer.training_log()), "lm loss: 2 | aux loss: 1.5")
        with self.assertRaisesRegex(KeyError, "the report has no 'aux loss'"):
            reducer.add({"lm loss": torch.zeros(2)})


if __name__ == "__main__":
    unittest.main()
