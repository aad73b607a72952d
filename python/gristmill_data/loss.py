"""The span-normalized loss of SYNTH-KD: each span's mean by itself, mixed by weights.

    L = w_reasoning * mean(loss | span_id = 1) + w_final * mean(loss | span_id = 2)

    result = span_normalized_loss(losses, batch["loss_mask"], batch["span_id"])
    result.loss.backward()
    reducer.add(result.report)                # see gristmill_data.loss_log

With `w_commentary` the calls of tools, and what is said beside them, are a third span
(`span-mask --span commentary=3`), which adds w_commentary * mean(loss | span_id = 3); without it they
count nowhere. The report has its keys too (COMMENTARY_KEYS), and counts of spans have three numbers.

`losses` are those of single tokens, in the shape of the masks, or all in a row. A span without
tokens adds 0. The mask is a weight: what it has is what a token counts. A token counts only if it
has a mask other than 0 and the span 1 or 2; what stands at other tokens, NaN and infinity too,
changes neither loss nor gradient. All is calculated in float32, or in float64 if `losses` are
float64.

`normalize` says over which tokens a mean goes:

- "microbatch": those of this call. A trainer that averages microbatches then optimises the mean
  of L, so that the objective depends on the micro-batch size.
- "global": those of all microbatches of a step on all data-parallel ranks, so that it does not.
  Their counts are needed before the first backward:

    counts = global_span_counts([(b["loss_mask"], b["span_id"]) for b in microbatches], group)
    for b in microbatches:
        span_normalized_loss(..., normalize="global", global_counts=counts,
                             num_microbatches=len(microbatches), group=group).loss.backward()

  Without `global_counts` the step is this one call on every rank.

With "global" the result is the share of these tokens in the step's objective, times `replicas`,
times `num_microbatches`. That is right for a trainer that divides the gradients by the number of
ranks, as DistributedDataParallel and Megatron do, and those of the microbatches by their number.
Where ranks are summed, give `replicas=1`; where microbatches are summed (`.backward()` called for
each), leave `num_microbatches` at 1. Ranks may have other numbers of microbatches then.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

SPAN_REASONING = 1
SPAN_FINAL = 2
SPAN_COMMENTARY = 3
#: The spans by name; the last only where it has a weight.
_SPANS = {"reasoning": SPAN_REASONING, "final": SPAN_FINAL, "commentary": SPAN_COMMENTARY}

#: The keys of a report. Each value is a pair [sum, weight]; pairs add up over microbatches, ranks
#: and steps, and sum / weight is then the figure. Of keys that end in " tokens" it is the sum.
REPORT_KEYS = (
    "lm loss",  # L, weighted by tokens
    "reasoning loss",  # mean over the tokens of the span
    "final loss",
    "reasoning tokens",  # counts
    "final tokens",
    "objective",  # what is optimised: the mean of L over microbatches, or over steps ("global")
    "reasoning weight",  # weight of one token of the span in its L: w / count
    "final weight",
    "reasoning share",  # part of the whole weight that the span has: w / (sum of w of spans)
    "final share",
)
#: The further keys with `w_commentary`.
COMMENTARY_KEYS = (
    "commentary loss",
    "commentary tokens",
    "commentary weight",
    "commentary share",
)


class SpanLoss(NamedTuple):
    """A loss to differentiate, and what is to be logged of it (detached)."""

    loss: Tensor
    report: dict[str, Tensor]


def span_normalized_loss(
    losses: Tensor,
    loss_mask: Tensor,
    span_id: Tensor | None,
    w_reasoning: float = 1.0,
    w_final: float = 1.0,
    normalize: str = "microbatch",
    *,
    global_counts: Tensor | None = None,
    num_microbatches: int = 1,
    replicas: int | None = None,
    group: Any = None,
    strict: bool = False,
    w_commentary: float | None = None,
) -> SpanLoss:
    """The loss of a microbatch, see above.

    `strict` checks values too, which waits for the device: ValueError for a mask that is not 0 or
    1, a span that is none of these, a mask that is not 1 where the span is not 0, and a loss
    that is not finite where it counts.
    """
    losses, mask, span = _flat(losses, loss_mask, span_id)
    weights = _checked_weights(w_reasoning, w_final, w_commentary)
    if strict:
        _check_values(losses, mask, span, loss_mask.shape, len(weights))
    sums, counts = _sums_and_counts(losses, mask.to(losses.dtype), span, len(weights))
    if normalize == "microbatch":
        if global_counts is not None or num_microbatches != 1 or replicas is not None:
            raise ValueError('global_counts, num_microbatches, replicas: only with "global"')
        whole, scale = counts, 1
    elif normalize == "global":
        scale = _scale(num_microbatches, replicas, group)
        if global_counts is None and num_microbatches != 1:
            raise ValueError("several microbatches need the global_counts of their step")
        if global_counts is None:
            global_counts = _all_reduced(counts.double(), group)
        elif tuple(global_counts.shape) != (len(weights),):
            shape = tuple(global_counts.shape)
            raise ValueError(f"global_counts: shape {shape}, not ({len(weights)},)")
        whole = global_counts.to(device=losses.device, dtype=losses.dtype)
    else:
        raise ValueError(f'normalize is {normalize!r}; it must be "microbatch" or "global"')
    means = sums / whole.clamp(min=1)
    part = weights[0] * means[0] + weights[1] * means[1]
    if w_commentary is not None:
        part = part + w_commentary * means[2]
    report = _report(part.detach(), sums.detach(), counts, whole, weights, normalize)
    return SpanLoss(part if scale == 1 else part * scale, report)


def span_losses_of_sequences(
    losses: Tensor,
    loss_mask: Tensor,
    span_id: Tensor,
    sequence: Tensor,
    count: int,
    w_reasoning: float = 1.0,
    w_final: float = 1.0,
    w_commentary: float | None = None,
    *,
    sequences: int | None = None,
    num_microbatches: int = 1,
    replicas: int | None = None,
    group: Any = None,
) -> SpanLoss:
    """The mean of L over sequences that stand together in a row, each normalized by its own tokens.

    `sequence` says of each token in which of `count` sequences it is. `sequences`: over how many the mean
    goes, where that is more than this call: those of all microbatches of a step on all ranks; the result
    is then multiplied by `num_microbatches` and `replicas`, as with "global" above. The report is the sum
    of the reports that each sequence has by itself.
    """
    losses, mask, span = _flat(losses, loss_mask, span_id)
    weights = _checked_weights(w_reasoning, w_final, w_commentary)
    if sequences is None and (num_microbatches != 1 or replicas is not None):
        raise ValueError("num_microbatches, replicas: only with the sequences of a step")
    losses, of_tokens = _that_count(losses, mask.to(losses.dtype), span, len(weights))
    sequence = sequence.reshape(-1)
    by_sequence = lambda values: losses.new_zeros(count).index_add(0, sequence, values)  # noqa: E731
    sums = torch.stack([by_sequence(losses * of) for of in of_tokens])
    counts = torch.stack([by_sequence(of) for of in of_tokens])
    scales = torch.tensor(weights, dtype=losses.dtype, device=losses.device)
    parts = (scales[:, None] * sums / counts.clamp(min=1)).sum(0)
    loss = parts.sum() / max(count if sequences is None else sequences, 1)
    if sequences is not None:
        loss = loss * _scale(num_microbatches, replicas, group)
    return SpanLoss(loss, _report_of_sequences(parts.detach(), sums.detach(), counts, weights))


def _report_of_sequences(
    parts: Tensor, sums: Tensor, counts: Tensor, weights: tuple[float, ...]
) -> dict[str, Tensor]:
    """The sum of the reports of sequences; [spans, sequences]."""
    reports = [
        _report(parts[at], sums[:, at], counts[:, at], counts[:, at], weights, "microbatch")
        for at in range(parts.numel())
    ]
    keys = REPORT_KEYS if len(weights) == 2 else REPORT_KEYS + COMMENTARY_KEYS
    zeros = parts.new_zeros(2)
    return {key: sum((report[key] for report in reports), zeros) for key in keys}


def megatron_loss_func(
    loss_mask: Tensor,
    span_id: Tensor | None,
    output_tensor: Tensor,
    **options: Any,
) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """The loss in the form that Megatron's schedules want from a `loss_func`: (L * n, n, report).

    For `forward_step` of pretrain_gpt.py, with the options of `span_normalized_loss`:

        return output_tensor, partial(megatron_loss_func, loss_mask, span_id, w_final=2.0)

    The schedule divides L * n by max(n, 1) and by the number of microbatches, DDP by the ranks.
    So what is optimised is the mean of L. Not for --calculate-per-token-loss, which would weigh
    each L by its tokens. With context parallelism a rank has a part of each sequence, over which
    "microbatch" takes the means: take "global", with the group that gradients are averaged in.
    """
    loss, report = span_normalized_loss(output_tensor, loss_mask, span_id, **options)
    num_tokens = report["lm loss"][1]
    return loss * num_tokens, num_tokens.to(torch.int32), report


def span_counts(loss_mask: Tensor, span_id: Tensor, commentary: bool = False) -> Tensor:
    """The tokens that count of each span, as float64: reasoning, final, and commentary if that is one."""
    _check_masks(loss_mask, span_id)
    spans = 3 if commentary else 2
    return _counts(loss_mask.reshape(-1).double(), span_id.reshape(-1), spans)


def global_span_counts(
    microbatches: Iterable[tuple[Tensor, Tensor]],
    group: Any = None,
    device: Any = None,
    commentary: bool = False,
) -> Tensor:
    """The counts of a step: those of (loss_mask, span_id) of all microbatches on all ranks.

    To be called on every rank of `group` (of all where it is None), also by one that has no
    microbatch; that one names the `device` unless it is the CPU.
    """
    zeros = torch.zeros(3 if commentary else 2, dtype=torch.float64)
    total = None if device is None else zeros.to(device)
    for loss_mask, span_id in microbatches:
        counts = span_counts(loss_mask, span_id, commentary)
        total = counts if total is None else total + counts
    if total is None:
        total = zeros
    return _all_reduced(total, group)


def _checked_weights(
    w_reasoning: float, w_final: float, w_commentary: float | None
) -> tuple[float, ...]:
    """Of each span that has one."""
    weights = (w_reasoning, w_final)
    if w_commentary is not None:
        weights = (*weights, w_commentary)
    for name, weight in zip(_SPANS, weights):
        if not (math.isfinite(weight) and weight >= 0):
            raise ValueError(f"w_{name} is {weight}; it must be a number of at least 0")
    return weights


def _scale(num_microbatches: int, replicas: int | None, group: Any) -> int:
    """By what the trainer will divide."""
    replicas = _world_size(group) if replicas is None else replicas
    for name, value in (("num_microbatches", num_microbatches), ("replicas", replicas)):
        if value < 1:
            raise ValueError(f"{name} is {value}; it must be at least 1")
    return num_microbatches * replicas


def _flat(
    losses: Tensor, loss_mask: Tensor, span_id: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """All three as vectors, the losses as float32 or float64."""
    if span_id is None:
        raise RuntimeError("Synth KD requires span_id in the batch.")
    if not losses.is_floating_point():
        raise TypeError(f"losses are {losses.dtype}, not floating point")
    _check_masks(loss_mask, span_id)
    is_flat = 1 in (losses.ndim, loss_mask.ndim) and losses.numel() == loss_mask.numel()
    if losses.shape != loss_mask.shape and not is_flat:
        shapes = f"losses {tuple(losses.shape)}, loss_mask {tuple(loss_mask.shape)}"
        raise ValueError(f"shapes differ: {shapes}; one loss of each token is wanted")
    if losses.device != loss_mask.device:
        raise ValueError(f"losses are on {losses.device}, loss_mask is on {loss_mask.device}")
    if losses.dtype != torch.float64:
        losses = losses.float()
    return losses.reshape(-1), loss_mask.reshape(-1), span_id.reshape(-1)


def _check_masks(loss_mask: Tensor, span_id: Tensor) -> None:
    if loss_mask.is_complex():
        raise TypeError(f"loss_mask is {loss_mask.dtype}, not real numbers")
    if span_id.is_floating_point() or span_id.is_complex() or span_id.dtype == torch.bool:
        raise TypeError(f"span_id is {span_id.dtype}, not an integer")
    if loss_mask.shape != span_id.shape:
        shapes = f"loss_mask {tuple(loss_mask.shape)}, span_id {tuple(span_id.shape)}"
        raise ValueError(f"shapes differ: {shapes}")
    if loss_mask.device != span_id.device:
        raise ValueError(f"loss_mask is on {loss_mask.device}, span_id is on {span_id.device}")


def _check_values(
    losses: Tensor, mask: Tensor, span: Tensor, shape: torch.Size, spans: int
) -> None:
    supervised = mask == 1
    known = "0, 1 or 2" if spans == 2 else "0, 1, 2 or 3"
    faults = {
        "loss_mask is not 0 or 1": ~supervised & (mask != 0),
        f"span_id is not {known}": (span < 0) | (span > spans),
        "loss_mask is 1 without a span": supervised & (span == 0),
        "span_id is set where loss_mask is 0": ~supervised & (span != 0),
        "the loss is not finite at a token that counts": supervised & ~torch.isfinite(losses),
    }
    for what, found in faults.items():
        if bool(found.any()):
            flat = int(found.nonzero()[0])
            place = tuple(int(i) for i in np.unravel_index(flat, tuple(shape)))
            values = f"loss_mask {mask[flat].item()}, span_id {span[flat].item()}"
            values += f", loss {losses[flat].item():.6g}"
            raise ValueError(f"at {place}: {what} ({values})")


def _counts(mask: Tensor, span: Tensor, spans: int) -> Tensor:
    return torch.stack([weights.sum() for weights in _weights_of(mask, span, spans)])


def _weights_of(mask: Tensor, span: Tensor, spans: int) -> list[Tensor]:
    """Of each of the first so many spans: what every token counts."""
    return [mask * (span == number) for number in list(_SPANS.values())[:spans]]


def _sums_and_counts(
    losses: Tensor, mask: Tensor, span: Tensor, spans: int
) -> tuple[Tensor, Tensor]:
    """Of each span: the sum of its losses, and its tokens."""
    losses, of_tokens = _that_count(losses, mask, span, spans)
    sums = torch.stack([(losses * weights).sum() for weights in of_tokens])
    return sums, torch.stack([weights.sum() for weights in of_tokens])


def _that_count(
    losses: Tensor, mask: Tensor, span: Tensor, spans: int
) -> tuple[Tensor, list[Tensor]]:
    """The losses, 0 where none counts, and of each span what every token counts."""
    of_tokens = _weights_of(mask, span, spans)
    # 0 * NaN is NaN, in the gradient too: what does not count is taken out, not multiplied.
    return losses.masked_fill(sum(of_tokens) == 0, 0.0), of_tokens


def _report(
    part: Tensor,
    sums: Tensor,
    counts: Tensor,
    whole: Tensor,
    weights: tuple[float, ...],
    normalize: str,
) -> dict[str, Tensor]:
    """What to log of a call with these sums and counts, normalized by the counts `whole`."""
    one = torch.ones_like(part)
    tokens, all_tokens = counts.sum(), whole.sum()
    # The part of its step that this call is; the parts of a step have the sum 1.
    step_part = tokens / all_tokens.clamp(min=1)
    present = torch.stack([weight * (count > 0) for weight, count in zip(weights, whole)])
    total = present.sum()
    shares = present / torch.where(total > 0, total, one)
    pairs = {
        "lm loss": (part * all_tokens, tokens),
        "objective": (part, one if normalize == "microbatch" else step_part),
    }
    for i, name in enumerate(list(_SPANS)[: len(weights)]):
        pairs[f"{name} loss"] = (sums[i], counts[i])
        pairs[f"{name} tokens"] = (counts[i], one)
        pairs[f"{name} weight"] = (weights[i] * (counts[i] / whole[i].clamp(min=1)), counts[i])
        pairs[f"{name} share"] = (shares[i] * step_part, step_part)
    keys = REPORT_KEYS if len(weights) == 2 else REPORT_KEYS + COMMENTARY_KEYS
    return {key: torch.stack(pairs[key]) for key in keys}


def _all_reduced(counts: Tensor, group: Any) -> Tensor:
    """The sum over the ranks of a group; alone, the same."""
    counts = counts.clone()
    if _world_size(group) > 1:
        torch.distributed.all_reduce(counts, group=group)
    return counts


def _world_size(group: Any) -> int:
    distributed = torch.distributed
    if not (distributed.is_available() and distributed.is_initialized()):
        return 1
    return distributed.get_world_size(group)
