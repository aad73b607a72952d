"""Chats as token sequences, without files between: the filters run as a child process (needs pyarrow).

    for row in sequences("chats.jsonl", model="Qwen3-8B"):
        row["input_ids"], row["labels"]

`chats` is a path, a list of paths, or an iterable of records: a list of dicts, a dataset of `datasets`, a generator.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

#: The label of a token that is not trained on.
IGNORED = -100

Chats = str | os.PathLike[str] | Iterable[Any]


class FilterError(RuntimeError):
    """What a filter said when it failed; `code` is its exit code."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


def sequences(
    chats: Chats,
    *,
    model: str | os.PathLike[str],
    turns: str | None = None,
    spans: Sequence[str] = (),
    options: Sequence[str] = (),
    program: str | os.PathLike[str] = "gristmill",
) -> Iterator[dict[str, Any]]:
    """Yields the sequences of chats: {id, input_ids, labels, span_id}.

    `input_ids` and `labels` are int64 [tokens]; a label stands at its own token, and is -100 where nothing is trained on.
    `span_id` is uint8 [tokens]: 1 reasoning, 2 answer, and what `spans` names (`["commentary=3"]` for calls). The
    <|endoftext|> of gpt-oss's sequences is left out. `model`, `turns` and `options` are those of chat-tok.

    Raises FilterError with the words of the filter that fails, and whatever an iterable of records raises. What a
    filter warns of is a warning. The child ends with the iterator.
    """
    for batch in batches(chats, model=model, turns=turns, spans=spans, options=options, program=program):
        stated = json.loads((batch.schema.metadata or {}).get(b"gristmill.parameters", b"{}"))
        end = stated.get("eod_token_id")
        columns = [batch.column(name) for name in ("tokens", "loss_mask", "span_id")]
        offsets = columns[0].offsets.to_numpy()
        tokens, masks, marks = (column.values.to_numpy() for column in columns)
        for row, name in enumerate(batch.column("id").to_pylist()):
            start, stop = offsets[row], offsets[row + 1]
            if stop > start and tokens[stop - 1] == end:
                stop -= 1
            ids = tokens[start:stop].astype(np.int64)
            labels = np.where(masks[start:stop] == 1, ids, IGNORED)
            yield {"id": name, "input_ids": ids, "labels": labels, "span_id": marks[start:stop].copy()}


def batches(
    chats: Chats,
    *,
    model: str | os.PathLike[str],
    turns: str | None = None,
    spans: Sequence[str] = (),
    options: Sequence[str] = (),
    program: str | os.PathLike[str] = "gristmill",
) -> Iterator[pa.RecordBatch]:
    """Yields the records of token sequences as Arrow batches: {id, tokens, loss_mask, span_id, ...}, masks about their
    own tokens. Otherwise as `sequences`."""
    command = [os.fspath(program), "chat-tok", "-q", "--model", os.fspath(model), *options]
    if turns is not None:
        command += ["--turns", turns]
    paths, records = _inputs(chats)
    command += ["--", *paths, "|", "span-mask", "-q", "--align", "token", "--to", "arrow"]
    command += [word for span in spans for word in ("--span", span)]
    return _run(command, records)


def _inputs(chats: Chats) -> tuple[list[str], Iterator[Any] | None]:
    """The paths of chats, or `-` and their records."""
    if isinstance(chats, (str, os.PathLike)):
        return [os.fspath(chats)], None
    if isinstance(chats, dict):
        raise TypeError("chats is one record; give a list of records")
    items = iter(chats)
    first = list(zip(range(1), items, strict=False))
    if first and isinstance(first[0][1], (str, os.PathLike)):
        return [os.fspath(path) for path in chain([first[0][1]], items)], None
    return ["-"], chain((item for _, item in first), items)


def _run(command: list[str], records: Iterator[Any] | None) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    failures: list[BaseException] = []
    with tempfile.TemporaryFile() as said:
        stdin = subprocess.DEVNULL if records is None else subprocess.PIPE
        child = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=said)
        try:
            if records is not None:
                threading.Thread(target=_feed, args=(child, records, failures), daemon=True).start()
            cut = None
            try:
                yield from pa.ipc.open_stream(child.stdout)
            except (pa.ArrowInvalid, OSError) as error:
                cut = error
            code = child.wait()
            if failures:
                raise failures[0]
            said.seek(0)
            lines = said.read().decode(errors="replace").splitlines()
            if code != 0 or cut is not None:
                raise FilterError("\n".join(lines) or f"{command[0]} ended with {code}", code) from cut
            for line in lines:
                warnings.warn(line, stacklevel=4)
        finally:
            child.kill()
            child.stdout.close()
            child.wait()


def _feed(child: subprocess.Popen[bytes], records: Iterator[Any], failures: list[BaseException]) -> None:
    """Writes records to a child. If they end in an error, the child is ended before it takes them for all."""
    try:
        # (A child that has failed reads no more: its exit code says so.)
        with suppress(BrokenPipeError), child.stdin:
            for record in records:
                child.stdin.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
    except BaseException as error:
        failures.append(error)
        child.kill()
