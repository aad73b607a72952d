"""Packed rows straight from the `.bin` files of triples: `seq-pack --index` says which sequences make a row.

    rows = PackedTriples(index="packs.parquet")           # the index names its triples
    rows = PackedTriples("ROOT/train", "packs.parquet")   # where they stand now
    row = rows[0]
    losses = token_losses(model(row), row["labels"])
    loss = packed_span_loss(losses, row["labels"], row["span_id"], row["seq_lengths"]).loss

    stream = PackedStream(rows, seed=1, rank=rank, world_size=world_size)
    for row in stream: ...
    state = stream.state_dict()                           # and stream.load_state_dict(state)

A row is a dictionary of tensors. Of T tokens in P pieces (a piece is a sequence, or a part of one):

| key | type | |
|---|---|---|
| `input_ids` | int64 [T] | one piece after the other, not padded |
| `labels` | int64 [T] | token-aligned: the token where it is trained on, else -100; -100 at the first of a piece |
| `position_ids` | int64 [T] | from 0 in each piece |
| `span_id` | int64 [T] | of the label at the same position: 0 where that is -100 |
| `seq_lengths` | int32 [P] | tokens of each piece |
| `cu_seqlens` | int32 [P + 1] | where each piece begins, and the end: for attention that crosses no seam |
| `row` | int | |

Another length of rows is another index of some megabytes; the tokens are not copied. An index that is
not of these triples, or of what they were, is refused (PackedError) when it is opened: by the hash of
each `.idx`, and by the size and blocks of each `.bin`. Needs torch, and pyarrow for the index.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset, IterableDataset, get_worker_info

from .loss import SpanLoss, span_losses_of_sequences
from .publish import refuse_unfinished
from .triples import Triple

__all__ = ["PackedError", "PackedStream", "PackedTriples", "packed_span_loss", "token_losses"]

IGNORED = -100
EOD = 199_999
_KEY = b"gristmill.rows"
_SCHEMA = "gristmill_rows_v1"
#: See lib/rows/format/token_rows/sample.rs.
_WHOLE, _BLOCKS, _BLOCK = 4 << 20, 256, 4096


class PackedError(ValueError):
    """An index that cannot be used: one line that names the file and the cause."""


class PackedTriples(Dataset):
    """The rows of an index, by number.

    `triples`: a prefix, a folder of prefixes, or a list of these, in the order of the index; without it
    the paths that the index names, which are relative to its folder. `check=False` leaves out the hashes.
    """

    def __init__(
        self,
        triples: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
        index: str | os.PathLike[str] = "",
        *,
        check: bool = True,
    ) -> None:
        self.path = Path(index)
        self.manifest, pieces = _read_index(self.path)
        stated = self.manifest["inputs"] or []
        if triples is None:
            prefixes = [os.fspath(self.path.parent / of["path"]) for of in stated]
        else:
            prefixes = _prefixes(triples)
        if len(prefixes) != len(stated):
            self._refuse(f"is of {len(stated)} prefixes; {len(prefixes)} are there")
        self.prefixes = prefixes
        self._keep_eod = self.manifest["keep_eod"]
        self._open()
        for triple, of in zip(self._triples, stated):
            self._check(triple, of, check)
        rows, self._sequence, self._start, self._length = pieces
        # Where the pieces of each row begin, and the end of the last.
        self._row_starts = np.searchsorted(rows, np.arange(self.manifest["rows"] + 1))
        if len(rows) and (np.diff(rows).min(initial=0) < 0 or rows[-1] != self.manifest["rows"] - 1):
            self._refuse("has rows that are not in order")

    def _open(self) -> None:
        self._triples = [Triple(prefix, check_contents=False) for prefix in self.prefixes]
        #: The number of the first sequence of each, and of all.
        self._first = np.cumsum([0, *(len(triple) for triple in self._triples)])

    # Workers of a DataLoader map the files themselves.
    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("_triples", "_first")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()

    def _refuse(self, cause: str) -> None:
        raise PackedError(f"{self.path}: {cause}")

    def _check(self, triple: Triple, stated: dict[str, Any], hashes: bool) -> None:
        if len(triple) != stated["sequences"] or triple.token_count != stated["tokens"]:
            self._refuse(
                f"is of {stated['sequences']} sequences with {stated['tokens']} tokens; "
                f"{triple.prefix} has {len(triple)} with {triple.token_count}"
            )
        if not hashes:
            return
        if _sha256(f"{triple.prefix}_tokens.idx") != stated["idx_sha256"]:
            self._refuse(f"is of other sequences: {triple.prefix}_tokens.idx has another hash")
        for member, wanted in zip(("tokens", "lossmask", "span"), stated["bin_samples"]):
            if _sample(f"{triple.prefix}_{member}.bin") != wanted:
                self._refuse(f"{triple.prefix}_{member}.bin was changed since it was made")

    def __repr__(self) -> str:
        return f"PackedTriples({str(self.path)!r}): {len(self)} rows of {self.seq_length} positions"

    def __len__(self) -> int:
        return self.manifest["rows"]

    @property
    def seq_length(self) -> int | None:
        """The most positions of a row."""
        return self.manifest["seq_length"]

    @property
    def most_pieces(self) -> int:
        """The most pieces of a row."""
        return int(np.diff(self._row_starts).max(initial=0))

    def pieces(self, row: int) -> list[tuple[int, int, int]]:
        """(sequence, start, length) of each piece of a row; sequences are numbered over all prefixes."""
        of = slice(self._row_starts[row], self._row_starts[row + 1])
        columns = (self._sequence[of], self._start[of], self._length[of])
        return list(zip(*(column.tolist() for column in columns)))

    def __getitem__(self, row: int) -> dict[str, Any]:
        number = row + len(self) if row < 0 else row
        if not 0 <= number < len(self):
            raise IndexError(f"{self.path}: row {row} of {len(self)}")
        parts = [self._piece(*piece) for piece in self.pieces(number)]
        tokens, labels, spans = (np.concatenate(arrays) for arrays in zip(*parts))
        lengths = torch.tensor([len(part[0]) for part in parts], dtype=torch.int32)
        ends = torch.cumsum(lengths, 0, dtype=torch.int32)
        return {
            "input_ids": torch.from_numpy(tokens),
            "labels": torch.from_numpy(labels),
            "position_ids": torch.cat([torch.arange(int(length)) for length in lengths]),
            "span_id": torch.from_numpy(spans),
            "seq_lengths": lengths,
            "cu_seqlens": torch.cat([torch.zeros(1, dtype=torch.int32), ends]),
            "row": number,
        }

    def _piece(self, sequence: int, start: int, length: int) -> tuple[np.ndarray, ...]:
        which = int(np.searchsorted(self._first, sequence, side="right")) - 1
        triple, number = self._triples[which], sequence - int(self._first[which])
        tokens, mask, span = triple[number]
        if not self._keep_eod:
            if len(tokens) == 0 or tokens[-1] != EOD:
                self._refuse(f"leaves out ends of documents; sequence {number} of {triple.prefix} has none")
        if start + length > len(tokens) - (not self._keep_eod):
            self._refuse(f"names tokens that sequence {number} of {triple.prefix} does not have")
        piece = slice(start, start + length)
        tokens = tokens[piece].astype(np.int64)
        # Masks are about the next token, labels stand at their own; a seam is not crossed.
        before = slice(start, start + length - 1)
        trained = np.concatenate([[False], mask[before] == 1])
        spans = np.concatenate([[0], span[before].astype(np.int64)])
        return tokens, np.where(trained, tokens, IGNORED), np.where(trained, spans, 0)


class PackedStream(IterableDataset):
    """All rows once an epoch, in an order drawn from `seed` and the epoch; a rank gets every
    `world_size`-th row of it, a worker of a DataLoader its share of these.

    After an iteration the next is of the next epoch; where workers end with an iteration (a DataLoader without
    `persistent_workers=True`), call `set_epoch()` before it. `state_dict()` says how far it is, and
    `load_state_dict()` goes on from there, also with another `world_size`, if all ranks were as far.
    (Of workers each has its own state: torchdata's StatefulDataLoader keeps them, for as many ranks as before.) `even=True` leaves out
    the last rows of an epoch so that all ranks have as many.
    """

    def __init__(
        self,
        rows: PackedTriples,
        *,
        seed: int = 0,
        rank: int = 0,
        world_size: int = 1,
        shuffle: bool = True,
        even: bool = False,
    ) -> None:
        if not 0 <= rank < world_size:
            raise ValueError(f"rank {rank} of {world_size}")
        self.rows, self.seed, self.shuffle, self.even = rows, seed, shuffle, even
        self.rank, self.world_size = rank, world_size
        self.epoch = 0
        #: Rows of the epoch that all ranks together had before this stream began.
        self._begin = 0
        #: Rows of this rank since (of this worker, in one).
        self._taken = 0

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is of this epoch, from its beginning."""
        self.epoch, self._begin, self._taken = epoch, 0, 0

    def order(self) -> np.ndarray:
        """The rows of the epoch in their order."""
        count = len(self.rows)
        if not self.shuffle:
            return np.arange(count)
        return np.random.default_rng([self.seed, self.epoch]).permutation(count)

    def __len__(self) -> int:
        return len(self._own(0, 1))

    def _own(self, worker: int, workers: int) -> np.ndarray:
        left = self.order()[self._begin :]
        if self.even:
            left = left[: len(left) // self.world_size * self.world_size]
        return left[self.rank :: self.world_size][worker::workers]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        info = get_worker_info()
        worker, workers = (0, 1) if info is None else (info.id, info.num_workers)
        for number in self._own(worker, workers)[self._taken :]:
            self._taken += 1
            yield self.rows[int(number)]
        self.epoch, self._begin, self._taken = self.epoch + 1, 0, 0

    def state_dict(self) -> dict[str, int]:
        info = get_worker_info()
        state = {"epoch": self.epoch, "seed": self.seed, "rows": len(self.rows)}
        state |= {"shuffle": int(self.shuffle), "even": int(self.even)}
        if info is not None:
            workers = {"workers": info.num_workers, "world_size": self.world_size}
            return {**state, **workers, "begin": self._begin, "taken": self._taken}
        return {**state, "begin": self._begin + self._taken * self.world_size, "taken": 0}

    def load_state_dict(self, state: dict[str, int]) -> None:
        same = {"seed": self.seed, "rows": len(self.rows), "shuffle": int(self.shuffle), "even": int(self.even)}
        # Of a worker it is not known what the others had.
        same["world_size"] = self.world_size
        for name, own in same.items():
            if state.get(name, own) != own:
                raise ValueError(f"the state is of {name} {state[name]}, not {own}")
        info = get_worker_info()
        if state.get("workers", 0) != (0 if info is None else info.num_workers):
            raise ValueError("the state is of another number of workers")
        self.epoch, self._begin, self._taken = state["epoch"], state["begin"], state["taken"]


def token_losses(logits: Tensor, labels: Tensor) -> Tensor:
    """The loss of each label, at the label's own position; 0 where it is -100.

    `logits` [T, V] of a row, `labels` [T]: position t of the logits predicts token t + 1.
    """
    losses = torch.nn.functional.cross_entropy(
        logits[:-1], labels[1:], ignore_index=IGNORED, reduction="none"
    )
    return torch.cat([losses.new_zeros(1), losses])


def packed_span_loss(
    losses: Tensor, labels: Tensor, span_id: Tensor, seq_lengths: Tensor, **options: Any
) -> SpanLoss:
    """The span loss of a packed row: the mean of the losses of its pieces, each normalized by itself, as if
    they came one by one. All but `seq_lengths` are [T], aligned to the labels (`token_losses`).

    Options: `w_reasoning`, `w_final`, `w_commentary`, and `sequences`, the number of pieces over which the
    mean goes, where that is not this row's alone (see `gristmill_data.loss.span_losses_of_sequences`).
    """
    if not int(seq_lengths.sum()) == labels.numel() == losses.numel():
        raise ValueError(f"seq_lengths of {int(seq_lengths.sum())} tokens for {labels.numel()} labels")
    lengths = seq_lengths.to(losses.device).long()
    piece = torch.repeat_interleave(torch.arange(len(lengths), device=losses.device), lengths)
    mask = (labels != IGNORED).to(losses.dtype)
    return span_losses_of_sequences(losses, mask, span_id, piece, len(lengths), **options)


def _read_index(path: Path) -> tuple[dict[str, Any], list[np.ndarray]]:
    """The manifest, and the columns row, sequence, start, length."""
    import pyarrow
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(path)
    except pyarrow.ArrowInvalid as error:
        raise PackedError(f"{path}: {error}") from None
    text = (file.metadata.metadata or {}).get(_KEY)
    if text is None:
        raise PackedError(f"{path}: is no index of seq-pack")
    manifest = json.loads(text)
    if manifest.get("schema_version") != _SCHEMA:
        raise PackedError(f"{path}: schema_version is {manifest.get('schema_version')!r}, not {_SCHEMA!r}")
    if manifest["contents"] != "index":
        raise PackedError(f"{path}: has rows of tokens, and is no index (seq-pack --index)")
    columns = file.read(["row", "sequence", "start", "length"]).columns
    if file.metadata.num_rows != manifest["pieces"]:
        raise PackedError(f"{path}: has {file.metadata.num_rows} pieces, not {manifest['pieces']}")
    return manifest, [column.to_numpy() for column in columns]


def _prefixes(triples: Any) -> list[str]:
    """The prefixes that are named, those of a folder by their names."""
    if isinstance(triples, (str, os.PathLike)):
        triples = [triples]
    found: list[str] = []
    for path in map(Path, triples):
        if path.is_dir():
            refuse_unfinished(path)
            found += sorted(os.fspath(idx)[: -len("_tokens.idx")] for idx in path.glob("*_tokens.idx"))
        else:
            found.append(os.fspath(path))
    return found


def _sha256(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _sample(path: str) -> str:
    """The hash of the size of a file and of blocks of it."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        digest = hashlib.sha256(size.to_bytes(8, "little"))
        if size <= _WHOLE:
            digest.update(file.read())
            return digest.hexdigest()
        for number in range(_BLOCKS):
            file.seek((size - _BLOCK) * number // (_BLOCKS - 1))
            digest.update(file.read(_BLOCK))
        return digest.hexdigest()
