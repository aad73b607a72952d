"""Megatron triples: tokens, loss masks and span ids of the same sequences, memory-mapped.

    triple = Triple("ROOT/train/shard_00")     # or .../shard_00_tokens
    tokens, loss_mask, span_id = triple[0]     # int32, uint8, uint8 of one sequence
    for sequence in triple[100:200]:
        ...
    part = triple.range(0, 50)                 # 50 sequences as one: views, nothing is copied

Opening a Triple checks that its three datasets fit: data types, lengths, offsets, documents, sizes
of the files. Every read checks the values. Masks speak of labels: position t is about tokens[t + 1].
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np

from . import contents
from .mmidx import Index, TripleError

__all__ = ["Triple", "TripleError", "TripleSequence", "check_triple", "prefix_of"]

#: The endings of the three prefixes, and what each dataset holds.
MEMBERS: dict[str, np.dtype[Any]] = {"tokens": np.dtype("<i4"), "lossmask": np.dtype("u1"), "span": np.dtype("u1")}
#: What tokens of a vocabulary under 65,500 are, as Megatron has it.
_SMALL = np.dtype("<u2")

#: Sequences that are checked at once.
_CHUNK = 1 << 18


class TripleSequence(NamedTuple):
    tokens: np.ndarray  #: int32 [length]
    loss_mask: np.ndarray  #: uint8 [length]: whether the label of each position is trained on
    span_id: np.ndarray  #: uint8 [length]: 0 ignored, 1 reasoning, 2 final, others by --span


class Triple:
    """The triple of a prefix: `X` or `X_tokens` for `X_tokens`, `X_lossmask`, `X_span`.

    Raises TripleError at opening for files that do not fit, and on a read for wrong values; a
    missing file is a FileNotFoundError. `check_contents=False` leaves out, on reads, what needs
    whole sequences: token ids, the place of EOD, masks against the roles and channels in the tokens.
    """

    def __init__(self, prefix: str | os.PathLike[str], *, check_contents: bool = True) -> None:
        self.prefix = prefix_of(prefix)
        self.check_contents = check_contents
        index = check_triple(self.prefix)
        self._rules = contents.rules_of(self.prefix)
        self._index = index
        #: int32 [sequences], a view of the file.
        self.lengths = index["tokens"].lengths
        #: int64 [documents + 1]: the first sequence of each document, last the number of sequences.
        self.documents = index["tokens"].documents
        self._values = [index[member].map_values() for member in MEMBERS]

    def __len__(self) -> int:
        return len(self.lengths)

    def __repr__(self) -> str:
        return f"Triple({self.prefix!r}): {len(self)} sequences, {self.token_count} tokens"

    @property
    def token_count(self) -> int:
        return len(self._values[0])

    @overload
    def __getitem__(self, key: slice) -> list[TripleSequence]: ...

    @overload
    def __getitem__(self, key: int) -> TripleSequence: ...

    def __getitem__(self, key: slice | int) -> list[TripleSequence] | TripleSequence:
        if isinstance(key, slice):
            return [self[number] for number in range(*key.indices(len(self)))]
        number = operator.index(key)
        if number < 0:
            number += len(self)
        if not 0 <= number < len(self):
            raise IndexError(f"{self.prefix}: sequence {key} of {len(self)}")
        sequence = self._read(number, number + 1)
        self._check(number, sequence)
        return sequence

    def __iter__(self) -> Iterator[TripleSequence]:
        return (self[number] for number in range(len(self)))

    def range(self, start: int, stop: int) -> TripleSequence:
        """The sequences from `start` to before `stop`, one after another in one array each.

        `lengths[start:stop]` says where each ends.
        """
        if not 0 <= start <= stop <= len(self):
            raise IndexError(f"{self.prefix}: sequences {start}..{stop} of {len(self)}")
        part = self._read(start, stop)
        place = 0
        for number, length in enumerate(self.lengths[start:stop].tolist(), start):
            self._check(number, TripleSequence(*(a[place : place + length] for a in part)))
            place += length
        return part

    def _read(self, start: int, stop: int) -> TripleSequence:
        # Opening has checked that offsets have no gaps, and those of masks are bytes.
        offsets = self._index["span"].offsets
        begin = int(offsets[start]) if start < len(self) else self.token_count
        end = int(offsets[stop]) if stop < len(self) else self.token_count
        tokens, *masks = (values[begin:end] for values in self._values)
        if tokens.dtype == _SMALL:
            tokens = tokens.astype(MEMBERS["tokens"])
        return TripleSequence(tokens, *masks)

    def _check(self, number: int, sequence: TripleSequence) -> None:
        try:
            if self.check_contents:
                contents.check_sequence(*sequence, **self._rules._asdict())
            else:
                contents.check_masks(sequence.loss_mask, sequence.span_id, self._rules.spans)
        except contents.ContentError as error:
            path = self._index[error.member].bin_path
            raise TripleError(path, error.cause, number) from None


def prefix_of(prefix: str | os.PathLike[str]) -> str:
    """`X` of `X` or `X_tokens`."""
    return os.fspath(prefix).removesuffix("_tokens")


def check_triple(prefix: str) -> dict[str, Index]:
    """Opens the three indices of a prefix (without `_tokens`) and checks that they fit.

    The error is of the first sequence that is wrong. Documents and sequences without tokens are
    good.
    """
    index = {member: Index(f"{prefix}_{member}") for member in MEMBERS}
    tokens = index["tokens"]
    for member, dtype in MEMBERS.items():
        this = index[member]
        is_small = this.dtype == _SMALL and this.bin_bytes == _SMALL.itemsize * this.lengths.sum(dtype=np.int64)
        if this.dtype != dtype and not (member == "tokens" and is_small):
            cause = f"holds {this.dtype.name}, not {dtype.name}"
            raise TripleError(this.path, cause)
        if len(this) != len(tokens):
            cause = f"has {len(this)} sequences, the tokens have {len(tokens)}"
            raise TripleError(this.path, cause)
    _check_sequences(list(index.values()))
    for this in index.values():
        _check_documents(this, tokens)
        place = contents.first_of(this.modes != 0)
        if place is not None:
            cause = f"has the mode {this.modes[place]} of a multimodal dataset; text has 0"
            raise TripleError(this.path, cause, place)
    return index


def _check_sequences(members: list[Index]) -> None:
    """Lengths, offsets and sizes of the `.bin`s, in chunks: memory does not grow with the data."""
    tokens, *masks = members
    begin = 0  # of the chunk, in values
    for start in range(0, len(tokens), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        lengths = tokens.lengths[chunk].copy()
        if lengths.min() < 0:
            place = int((lengths < 0).argmax())
            raise TripleError(tokens.path, f"its length is {lengths[place]}", start + place)
        for mask in masks:
            if not np.array_equal(mask.lengths[chunk], lengths):
                other = mask.lengths[chunk]
                place = int((other != lengths).argmax())
                cause = f"has {other[place]} values, its tokens are {lengths[place]}"
                raise TripleError(mask.path, cause, start + place)
        ends = np.cumsum(lengths, dtype=np.int64)
        ends += begin
        begins = ends - lengths
        for member in members:
            _check_offsets(member, start, begins, ends)
        begin = int(ends[-1])
    for member in members:
        needed = begin * member.dtype.itemsize
        if member.bin_bytes != needed:
            cause = f"has {member.bin_bytes} bytes; its lengths need {needed}"
            raise TripleError(member.bin_path, cause)


def _check_offsets(member: Index, start: int, begins: np.ndarray, ends: np.ndarray) -> None:
    size = member.dtype.itemsize
    found = member.offsets[start : start + len(begins)]
    wanted = begins * size if size > 1 else begins
    if not np.array_equal(found, wanted):
        place = int((found != wanted).argmax())
        cause = f"begins at byte {found[place]}, not {wanted[place]}"
        raise TripleError(member.path, cause, start + place)
    if ends[-1] * size > member.bin_bytes:
        place = int((ends * size > member.bin_bytes).argmax())
        cause = f"ends at byte {ends[place] * size}; the file has {member.bin_bytes}"
        raise TripleError(member.bin_path, cause, start + place)


def _check_documents(member: Index, tokens: Index) -> None:
    documents, sequences = member.documents, len(member)
    if len(documents) == 0:
        raise TripleError(member.path, "has no document indices")
    if len(documents) != len(tokens.documents):
        cause = f"has {len(documents)} document indices, the tokens have {len(tokens.documents)}"
        raise TripleError(member.path, cause)
    if documents[0] != 0:
        raise TripleError(member.path, f"its first document index is {documents[0]}, not 0")
    if documents[-1] != sequences:
        cause = f"its last document index is {documents[-1]}; it has {sequences} sequences"
        raise TripleError(member.path, cause)
    for start in range(0, len(documents), _CHUNK):
        # One more than the chunk, so that its last is compared with the next.
        these = documents[start : start + _CHUNK + 1].copy()
        falls = these[1:] < these[:-1]
        if falls.any():
            place = int(falls.argmax())
            before, this = these[place : place + 2].tolist()
            cause = f"document index {start + place + 1} is {this}, after {before}"
            raise TripleError(member.path, cause, this)
        theirs = tokens.documents[start : start + _CHUNK + 1]
        if member is not tokens and not np.array_equal(these, theirs):
            place = int((these != theirs).argmax())
            this, other = int(these[place]), int(theirs[place])
            cause = f"document index {start + place} is {this}, in the tokens {other}"
            raise TripleError(member.path, cause, min(this, other))
