"""From the reports of many microbatches, ranks and steps to the figures of a log.

    reducer = ReportReducer()
    reducer.add(result.report)          # for each microbatch
    reducer.all_reduce(group)           # on every rank, once
    print(format_log(reducer.training_log()))
    reducer.reset()

Nothing waits for the device before a log is asked for. Counts are sums, in evaluation too, where
Megatron divides them by the number of microbatches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from .loss import REPORT_KEYS


class ReportReducer:
    """Adds up reports. In float64: a sum of counts in float32 ends at 2^24.

    Sums are kept on `device`, by default where the first report is. A rank that may have no report
    names it, if `all_reduce` needs tensors there.
    """

    def __init__(
        self,
        keys: Sequence[str] = REPORT_KEYS,
        device: Any = None,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        self.keys = tuple(keys)
        self._sums = torch.zeros(len(self.keys), 2, dtype=dtype, device=device)
        self._follows = device is None

    def reset(self) -> None:
        """Back to nothing added."""
        self._sums = torch.zeros_like(self._sums)

    def add(self, report: Mapping[str, Tensor]) -> None:
        """Adds a report. It must have the reducer's keys; others are left out."""
        missing = [key for key in self.keys if key not in report]
        if missing:
            raise KeyError(f"the report has no {missing[0]!r}")
        pairs = torch.stack([report[key].detach().reshape(2) for key in self.keys])
        if self._follows:
            self._sums = self._sums.to(pairs.device)
            self._follows = False
        self._sums = self._sums + pairs.to(self._sums)

    def all_reduce(self, group: Any = None) -> None:
        """Adds what the other ranks of the group have. To be called once before a log, on every
        rank, also on those without a report; alone it does nothing."""
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            torch.distributed.all_reduce(self._sums, group=group)

    def training_log(self) -> dict[str, float]:
        """As a training log has it: what has no tokens is 0."""
        return self._log(self._sums[:, 1].clamp(min=1))

    def evaluation_log(self) -> dict[str, float]:
        """As an evaluation has it: what has no tokens is NaN, since nothing was measured."""
        return self._log(self._sums[:, 1])

    def _log(self, weights: Tensor) -> dict[str, float]:
        values = self._sums[:, 0] / weights
        rows = torch.stack([self._sums[:, 0], values]).tolist()
        chosen = zip(self.keys, *rows)
        return {key: total if key.endswith(" tokens") else value for key, total, value in chosen}


def format_log(log: Mapping[str, float]) -> str:
    """A log as one line: `lm loss: 2.5 | reasoning tokens: 120 | ...`."""
    return " | ".join(f"{key}: {value:.6g}" for key, value in log.items())
