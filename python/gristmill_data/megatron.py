"""SynthKDDataset: Megatron's GPT dataset over triples, for BlendedMegatronDatasetBuilder.

    from megatron.core.datasets import blended_megatron_dataset_builder as builder
    from gristmill_data.megatron import SynthKDDataset

    sizes = [n_train, n_valid, n_test]
    built = builder.BlendedMegatronDatasetBuilder(SynthKDDataset, sizes, on_rank, config).build()

Samples, index caches and their names are those of vpMoE's class of this name, for the same config
(a plain GPTDatasetConfig); Megatron's own code makes the indices. On top of it the files are
checked before any cache is written, sequences when a sample first touches them, and an index cache
that is not of these data is refused.

Needs torch and megatron-core.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import torch
from megatron.core.datasets.gpt_dataset import (
    GPTDataset,
    GPTDatasetConfig,
    _get_ltor_masks_and_position_ids,
)
from megatron.core.datasets.indexed_dataset import IndexedDataset
from megatron.core.datasets.utils import Split

from . import contents
from .index_cache import Expected, StaleCacheError, check_cache, paths_of
from .mmidx import Index
from .triples import TripleError, check_triple

__all__ = ["StaleCacheError", "SynthKDDataset", "TripleError"]

#: A document, the offset in it, and how many tokens, None for all that follow.
_Part = tuple[int, int, "int | None"]


class SynthKDDataset(GPTDataset):
    """The samples of one `X_tokens` with `X_lossmask` and `X_span`.

    Those of GPTDataset, and last `span_id` int64 [sequence_length]; `loss_mask` float32 is the
    stored one. Both are aligned with the labels.

    Two options, as keywords or, through Megatron's builder, as attributes set on the config:
    `rebuild_stale_cache` (False) builds an index anew that is not of these data, and
    `check_contents` (True) checks each sequence when it is first touched: values of the masks,
    token ids, the place of EOD, masks against the messages. Without it only the values of the masks
    are checked.

    Raises TripleError, StaleCacheError, FileNotFoundError; ValueError for a path that does not end
    in `_tokens`.
    """

    def __init__(
        self,
        indexed_dataset: IndexedDataset,
        dataset_path: str | None,
        indexed_indices: np.ndarray,
        num_samples: int | None,
        index_split: Split,
        config: GPTDatasetConfig,
        *,
        rebuild_stale_cache: bool | None = None,
        check_contents: bool | None = None,
    ) -> None:
        prefix = _prefix_of(dataset_path)
        index = getattr(indexed_dataset, "_checked_triple", None) or _check(prefix)
        _check_opened(indexed_dataset, index["tokens"])
        _check_indices(indexed_indices, index["tokens"])
        self._rebuild = _option(rebuild_stale_cache, config, "rebuild_stale_cache", False)
        self._rules = contents.rules_of(prefix)
        self._checks_contents = _option(check_contents, config, "check_contents", True)
        #: Whether a sequence has been checked.
        self._checked = np.zeros(len(index["tokens"]), bool)
        self.loss_mask_dataset = _open(f"{prefix}_lossmask", config)
        self.span_dataset = _open(f"{prefix}_span", config)
        super().__init__(
            indexed_dataset, dataset_path, indexed_indices, num_samples, index_split, config
        )

    @staticmethod
    def build_low_level_dataset(dataset_path: str, config: GPTDatasetConfig) -> IndexedDataset:
        """Checks the triple first: the errors of IndexedDataset do not say what is wrong where."""
        index = _check(_prefix_of(dataset_path))
        _check_counts(dataset_path, index["tokens"], config)
        dataset = GPTDataset.build_low_level_dataset(dataset_path, config)
        dataset._checked_triple = index
        return dataset

    def __getitem__(self, idx: int | None) -> dict[str, torch.Tensor]:
        parts = self.parts_of(0 if idx is None else idx)
        self._check_parts(parts)
        pad = self._pad_token_id
        text = self._gather(self.dataset, parts, pad)
        loss_mask = self._gather(self.loss_mask_dataset, parts, 0)
        span_id = self._gather(self.span_dataset, parts, 0)
        if not self._checks_contents:
            self._check_values(loss_mask, span_id, parts)

        length = self.config.sequence_length
        tokens = torch.from_numpy(text[:length].copy())
        if self.config.add_extra_token_to_sequence:
            labels = torch.from_numpy(text[1:].copy())
        else:
            labels = torch.roll(tokens, shifts=-1, dims=0)
            labels[-1] = pad
        # Megatron looks for EOD before pads are replaced; a pad may be EOD.
        attention_mask, position_ids = self._attention_and_positions(tokens)

        padded = labels == pad
        sample_mask = torch.from_numpy(loss_mask[:length].astype(np.float32))
        sample_span = torch.from_numpy(span_id[:length].copy())
        sample_mask[padded] = 0.0
        sample_span[padded] = 0
        if idx is None:
            sample_mask.zero_()
            sample_span.zero_()
        tokens[tokens == pad] = 0
        labels[padded] = 0

        sample = {"tokens": tokens, "labels": labels}
        if self.config.create_attention_mask:
            sample["attention_mask"] = attention_mask
        sample["loss_mask"] = sample_mask
        sample["position_ids"] = position_ids
        sample["span_id"] = sample_span
        return sample

    def _attention_and_positions(self, tokens: torch.Tensor) -> tuple[Any, torch.Tensor]:
        if self.masks_and_position_ids_are_cached:
            return self.cached_attention_mask, self.cached_position_ids
        # The loss mask that this makes (eod_mask_loss) is not ours.
        attention_mask, _, position_ids = _get_ltor_masks_and_position_ids(
            tokens,
            self.config.tokenizer.eod,
            self.config.reset_position_ids,
            self.config.reset_attention_mask,
            self.config.eod_mask_loss,
            self.config.create_attention_mask,
        )
        if self.masks_and_position_ids_are_cacheable:
            self.cached_attention_mask = attention_mask
            self.cached_position_ids = position_ids
            self.masks_and_position_ids_are_cached = True
        return attention_mask, position_ids

    def parts_of(self, idx: int) -> list[_Part]:
        """What sample `idx` is cut from: of each sequence the offset and the number of tokens, None
        for all that follow."""
        if self.shuffle_index is None:  # config.defer_npy_index_mmap
            self.shuffle_index = np.load(self.path_to_shuffle_index, mmap_mode="r")
            self.sample_index = np.load(self.path_to_sample_index, mmap_mode="r")
            self.document_index = np.load(self.path_to_document_index, mmap_mode="r")
        number = int(self.shuffle_index[idx])
        (begin, begin_offset), (end, end_offset) = self.sample_index[number : number + 2].tolist()
        extra = int(self.config.add_extra_token_to_sequence)
        documents = self.document_index[begin : end + 1].tolist()
        if begin == end:
            return [(documents[0], begin_offset, end_offset - begin_offset + extra)]
        first, *between, last = documents
        whole: list[_Part] = [(document, 0, None) for document in between]
        return [(first, begin_offset, None), *whole, (last, 0, end_offset + extra)]

    def _gather(self, dataset: IndexedDataset, parts: list[_Part], pad: int) -> np.ndarray:
        """int64 [sequence_length + 1], or without the extra token; short ones are filled up."""
        pieces = [dataset.get(document, offset, count) for document, offset, count in parts]
        wanted = self.config.sequence_length + int(self.config.add_extra_token_to_sequence)
        missing = wanted - sum(map(len, pieces))
        if missing > 0:
            pieces.append(np.full(missing, pad, np.int64))
        return np.concatenate(pieces, dtype=np.int64)

    def _check_parts(self, parts: list[_Part]) -> None:
        """Checks the sequences that no sample has touched yet, as a whole."""
        if not self._checks_contents:
            return
        for document, _, _ in parts:
            if self._checked[document]:
                continue
            datasets = (self.dataset, self.loss_mask_dataset, self.span_dataset)
            tokens, loss_mask, span_id = (dataset.get(document) for dataset in datasets)
            rules = self._rules
            if rules.eod == contents.EOD:
                rules = rules._replace(eod=self.config.tokenizer.eod)
            try:
                contents.check_sequence(tokens, loss_mask, span_id, **rules._asdict())
            except contents.ContentError as error:
                raise self._error(error, document) from None
            self._checked[document] = True

    def _check_values(self, loss_mask: np.ndarray, span_id: np.ndarray, parts: list[_Part]) -> None:
        try:
            contents.check_masks(loss_mask, span_id, self._rules.spans)
        except contents.ContentError as error:
            message = f"{error.cause} (of a sample that begins in this sequence)"
            raise self._error(contents.ContentError(error.member, message), parts[0][0]) from None

    def _error(self, error: contents.ContentError, sequence: int) -> TripleError:
        path = f"{_prefix_of(self.dataset_path)}_{error.member}.bin"
        return TripleError(path, error.cause, sequence)

    def _build_document_sample_shuffle_indices(self) -> tuple[np.ndarray, ...]:
        """Megatron's own, after a look at the index that it would take from the cache."""
        folder = self.config.path_to_cache
        if folder is None and not self.config.mock:
            name = f"{type(self).__name__}_indices"
            folder = os.path.join(self.dataset.path_prefix, "cache", name)
        tokens = self._get_num_tokens_per_epoch()
        if tokens == 0 and self.num_samples:  # Megatron would count epochs without end
            cause = f"has no tokens in its {len(self.indices)} sequences to draw samples from"
            raise TripleError(f"{self.dataset.path_prefix}.idx", cause)
        if folder:
            self._check_cache(folder, tokens)
        return super()._build_document_sample_shuffle_indices()

    def _check_cache(self, folder: str, tokens: int) -> None:
        base = f"{self.unique_description_hash}-{type(self).__name__}-{self.index_split.name}"
        paths = paths_of(folder, base)
        if not all(path.is_file() for path in paths):
            return
        keeps_last = (
            self.index_split == Split.valid
            and not self.config.drop_last_partial_validation_sequence
        )
        expected = Expected(
            lengths=self.dataset.sequence_lengths,
            indices=self.indices,
            epochs=self._get_num_epochs(tokens),
            tokens=tokens,
            sequence_length=self.config.sequence_length,
            extra=int(self.config.add_extra_token_to_sequence),
            drop_last=not keeps_last,
            num_samples=self.num_samples,
            description=self.unique_description,
        )
        try:
            check_cache(folder, base, expected)
        except StaleCacheError:
            distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
            if not self._rebuild or (distributed and torch.distributed.get_rank() != 0):
                raise
            for path in paths:
                path.unlink()


def _prefix_of(dataset_path: str | None) -> str:
    if not dataset_path:
        raise ValueError("SynthKDDataset requires a dataset path prefix.")
    if not dataset_path.endswith("_tokens"):
        cause = f"expects token prefixes to end with _tokens: {dataset_path}"
        raise ValueError(f"SynthKDDataset {cause}")
    return dataset_path.removesuffix("_tokens")


def _check(prefix: str) -> dict[str, Index]:
    index = check_triple(prefix)
    if index["tokens"].bin_bytes == 0:
        raise TripleError(index["tokens"].bin_path, "has no tokens to draw samples from")
    return index


def _check_counts(dataset_path: str, tokens: Index, config: GPTDatasetConfig) -> None:
    """Counts of the config stand for those in the file, which Megatron then does not read."""
    if not config.sequences_per_dataset:
        return
    given = tuple(config.sequences_per_dataset.get(dataset_path, ()))
    found = (len(tokens), len(tokens.documents))
    if given != found:
        stated = f"{given[0]} and {given[1]}" if len(given) == 2 else "nothing about it"
        cause = f"has {found[0]} sequences and {found[1]} document indices"
        raise TripleError(tokens.path, f"{cause}; sequences_per_dataset says {stated}")


def _check_opened(dataset: IndexedDataset, tokens: Index) -> None:
    """That Megatron read the index as it is: its counts and type may be given by the config."""
    if dataset.index.dtype != tokens.dtype:
        cause = f"holds {tokens.dtype.name}, but was opened as {np.dtype(dataset.index.dtype).name}"
        raise TripleError(tokens.path, cause)
    if not np.array_equal(dataset.sequence_lengths, tokens.lengths):
        cause = f"has {len(tokens)} sequences, but the dataset was opened with others"
        raise TripleError(tokens.path, cause)


def _check_indices(indices: np.ndarray | None, tokens: Index) -> None:
    if indices is None or len(indices) == 0:
        return
    low, high = int(np.min(indices)), int(np.max(indices))
    if low < 0 or high >= len(tokens):
        wrong = low if low < 0 else high
        raise TripleError(tokens.path, f"has {len(tokens)} sequences; {wrong} is asked for")


def _open(prefix: str, config: GPTDatasetConfig) -> IndexedDataset:
    return IndexedDataset(
        prefix,
        multimodal=False,
        mmap=config.mmap_bin_files,
        fast_cache_load=config.fast_cache_load,
    )


def _option(value: bool | None, config: GPTDatasetConfig, name: str, default: bool) -> bool:
    return getattr(config, name, default) if value is None else value
