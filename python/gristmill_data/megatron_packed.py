"""PackedMegatronDataset: rows of an index of seq-pack as samples of Megatron, for BlendedMegatronDatasetBuilder.

    seq-pack ROOT/train --index packs.parquet --seq-length 8192 --overflow drop

    config = GPTDatasetConfig(blend=(["packs.parquet"], None), split="1", sequence_length=8192, ...)
    built = BlendedMegatronDatasetBuilder(PackedMegatronDataset, sizes, on_rank, config).build()

The tokens are read from the `.bin` files that the index names; nothing is copied, and no cache is written. A sample
has `sequence_length` positions S, and is padded with 0 and masks 0 at its end:

| key | type | |
|---|---|---|
| `tokens` | int64 [S] | the sequences of a row, one after the other |
| `labels` | int64 [S] | of position t: the token at t + 1 |
| `loss_mask` | float32 [S] | the stored mask: 1 where the label is trained on; 0 at the last position of a sequence |
| `position_ids` | int64 [S] | from 0 in each sequence |
| `span_id` | int64 [S] | of the label |
| `cu_seqlens` | int32 [P + 2] | where each sequence begins, then S again and again: for attention that crosses no seam |
| `attention_mask` | bool [1, S, S] | with `create_attention_mask`: whether a position must not be seen |

P is the most sequences of a row. Each row comes once an epoch, in an order drawn from the seed and the epoch.
Attention keeps to a sequence only where it gets `attention_mask` or `cu_seqlens`.

Needs torch, pyarrow and megatron-core.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from megatron.core.datasets.gpt_dataset import GPTDatasetConfig
from megatron.core.datasets.megatron_dataset import MegatronDataset
from megatron.core.datasets.utils import Split

from .packed import IGNORED, PackedError, PackedTriples

__all__ = ["PackedMegatronDataset"]


class PackedMegatronDataset(MegatronDataset):
    """The rows of one index. Raises PackedError for an index that is not of its triples, or has longer rows."""

    def __init__(
        self,
        dataset: PackedTriples,
        dataset_path: str | None,
        indices: np.ndarray,
        num_samples: int | None,
        index_split: Split,
        config: GPTDatasetConfig,
    ) -> None:
        super().__init__(dataset, dataset_path, indices, num_samples, index_split, config)
        length = config.sequence_length
        if dataset.seq_length is None or dataset.seq_length > length:
            rows = "of any length" if dataset.seq_length is None else f"of {dataset.seq_length} positions"
            raise PackedError(f"{dataset.path}: has rows {rows}; sequence_length is {length}")
        if len(indices) == 0 and num_samples:
            raise PackedError(f"{dataset.path}: has no rows for the split {index_split.name}")

    @staticmethod
    def build_low_level_dataset(dataset_path: str, config: GPTDatasetConfig) -> PackedTriples:
        return PackedTriples(index=dataset_path)

    @staticmethod
    def numel_low_level_dataset(low_level_dataset: PackedTriples) -> int:
        return len(low_level_dataset)

    def __len__(self) -> int:
        return len(self.indices) if self.num_samples is None else self.num_samples

    def row(self, idx: int) -> int:
        """The number of the row of a sample."""
        epoch, place = divmod(idx, len(self.indices))
        return int(self.indices[self._order(epoch)[place]])

    def _order(self, epoch: int) -> np.ndarray:
        key = (self.config.random_seed, self.index_split.value, epoch, len(self.indices))
        return _permutation(*key)

    def __getitem__(self, idx: int | None) -> dict[str, torch.Tensor]:
        row = self.dataset[self.row(idx or 0)]
        length, count = self.config.sequence_length, len(row["input_ids"])

        def padded(values: torch.Tensor, value: int = 0) -> torch.Tensor:
            return torch.nn.functional.pad(values, (0, length - len(values)), value=value)

        # A label stands at its own token, and none at the first of a piece.
        labels = padded(row["labels"][1:], IGNORED)
        trained = labels != IGNORED
        if idx is None:
            # (A sample that Megatron asks for to fill a batch counts for nothing.)
            trained = torch.zeros_like(trained)
        sample = {
            "tokens": padded(row["input_ids"]),
            "labels": padded(row["input_ids"][1:]),
            "loss_mask": trained.float(),
            "position_ids": torch.cat([row["position_ids"], torch.arange(length - count)]),
            "span_id": torch.where(trained, padded(row["span_id"][1:]), 0),
        }
        # (Padding is a piece, too.)
        ends = torch.cat([row["cu_seqlens"], torch.tensor([length], dtype=torch.int32)])
        most = self.dataset.most_pieces + 2
        sample["cu_seqlens"] = torch.nn.functional.pad(ends, (0, most - len(ends)), value=length)
        if self.config.create_attention_mask:
            piece = torch.searchsorted(ends[1:].contiguous(), torch.arange(length, dtype=torch.int32), right=True)
            seen = (piece[:, None] == piece[None]).tril()
            sample["attention_mask"] = ~seen[None]
        return sample


@lru_cache(maxsize=4)
def _permutation(seed: int, split: int, epoch: int, count: int) -> np.ndarray:
    return np.random.default_rng([seed, split, epoch]).permutation(count)
