"""`metadata.db` of a pool: read as a file that nobody changes, without a lock or a file beside it.

Older pools may have no such file, no table `session`, or not all columns of `runs`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

#: In the header of a log in WAL mode, before its first change.
_LOG_HEADER = 32


class MetadataDb:
    """The runs of a pool, and what else its writer has kept of them."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def exists(self) -> bool:
        return self.path.is_file()

    def select_runs(self, where: str, parameters: Sequence[Any]) -> np.ndarray:
        """The ids of runs for which a condition holds: uint64, ascending."""
        rows = self._query(f"SELECT id FROM runs WHERE {where} ORDER BY id", parameters)
        return self._whole([row[0] for row in rows], "id")

    def steps(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Ids and `steps` of all runs, ascending; None if not all runs have `steps`."""
        columns = self._columns("runs")
        if "id" not in columns:
            raise ValueError(f"{self.path}: no table runs with an id")
        if "steps" not in columns:
            return None
        rows = self._query("SELECT id, steps FROM runs ORDER BY id")
        if any(steps is None for _, steps in rows):
            return None
        ids = self._whole([row[0] for row in rows], "id")
        return ids, self._whole([row[1] for row in rows], "steps")

    def session(self, key: str) -> str | None:
        """The value of a key of `session`; None without it, and without the table."""
        if not {"meta_key", "meta_value"} <= self._columns("session"):
            return None
        rows = self._query("SELECT meta_value FROM session WHERE meta_key = ?", (key,))
        return None if not rows or rows[0][0] is None else str(rows[0][0])

    def _columns(self, table: str) -> set[str]:
        rows = self._query("SELECT name FROM pragma_table_info(?)", (table,))
        return {row[0].lower() for row in rows}

    def _whole(self, values: list[Any], column: str) -> np.ndarray:
        """Values of a column that are no negative numbers."""
        for value in values:
            if type(value) is not int or value < 0:
                raise ValueError(f"{self.path}: runs has {value!r} as {column}")
        return np.array(values, np.uint64)

    def _query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._connection() as connection:
            return connection.execute(sql, parameters).fetchall()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        if not self.exists():
            raise FileNotFoundError(f"{self.path}: no such file: the pool does not list its runs")
        self._refuse_changes_beside()
        uri = f"file:{quote(str(self.path.resolve()))}?mode=ro&immutable=1"
        connection = sqlite3.connect(uri, uri=True)
        try:
            yield connection
        except sqlite3.Error as error:
            raise ValueError(f"{self.path}: {error}") from error
        finally:
            connection.close()

    def _refuse_changes_beside(self) -> None:
        """A log or journal of a writer that has not ended well has what the file has not."""
        log = Path(f"{self.path}-wal")
        journal = Path(f"{self.path}-journal")
        for path, holds in (
            (log, log.exists() and log.stat().st_size > _LOG_HEADER),
            (journal, journal.exists() and journal.read_bytes()[:1] not in (b"", b"\0")),
        ):
            if holds:
                raise ValueError(f"{self.path}: {path.name} has changes that are not in it")
