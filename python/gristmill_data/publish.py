"""Output that is there as a whole or not at all.

Files are written in `DIR/.gristmill-tmp.RANDOM/`, in the directory that they will be in, and then
renamed. As the filters do (lib/stream/publish), a run holds a lock in its staging directory as long as
it lives; one whose lock can be taken was left by a killed process and is removed by the next run.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_MARK = ".gristmill-tmp."
_HALF = ".gristmill-half"
#: Where the manifests of a dataset stand, below its directory.
_MANIFESTS = ("", "parts", "train", "valid")
_LOCK = ".gristmill-lock"
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


def refuse_unfinished(path: str | os.PathLike[str]) -> None:
    """Raises OSError (EAGAIN) if a publication that did not end names `path` or a file below it."""
    whole = os.path.realpath(path)
    directory = whole
    for _ in range(3):
        for place in _MANIFESTS:
            folder = os.path.join(directory, place)
            for marker in _markers(folder):
                manifest = os.path.join(folder, marker[1 : -len(_HALF)])
                if os.path.lexists(manifest):
                    continue
                with open(os.path.join(folder, marker), "rb") as file:
                    names = os.fsdecode(file.read()).split("\0")[:-1]
                left = (os.path.join(directory, name) for name in names)
                if any(file == whole or file.startswith(whole + os.sep) for file in left):
                    cause = "is being published, or was left half published"
                    raise OSError(errno.EAGAIN, cause, manifest)
        directory = os.path.dirname(directory)


def _markers(folder: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if name.startswith(".") and name.endswith(_HALF)]
    # (Who may not list a folder may read the files whose names he knows.)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []


def check_target(path: Path, overwrite: bool) -> None:
    """Raises FileExistsError if the output is there, or is no file and cannot be replaced."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        raise FileExistsError(errno.EEXIST, "is not a regular file", str(path))
    if not overwrite:
        raise FileExistsError(errno.EEXIST, "is already there; try: --overwrite", str(path))


@contextmanager
def staging_for(path: Path) -> Iterator[Path]:
    """A directory for what will be `path`, removed at the end with what is still in it.

    An OSError in it that names no file, or one in it, names `path`: there it cannot be written.
    """
    try:
        with _staging(path) as staging:
            yield staging
    except OSError as error:
        if error.filename is None or _MARK in str(error.filename):
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise


@contextmanager
def _staging(path: Path) -> Iterator[Path]:
    _sweep(path.parent)
    staging = path.parent / f"{_MARK}{secrets.token_hex(8)}"
    staging.mkdir()
    try:
        descriptor = os.open(staging / _LOCK, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in _NO_LOCKS:
                    raise
            yield staging
        finally:
            os.close(descriptor)
    finally:
        _remove(staging)


def publish(written: Path, path: Path, overwrite: bool) -> None:
    """Gives a finished file of a staging directory its name."""
    with open(written, "rb+") as file:
        os.fsync(file.fileno())
    check_target(path, overwrite)
    os.replace(written, path)


def _sweep(directory: Path) -> None:
    """Removes what killed processes left. What cannot be removed stays."""
    for staging in directory.glob(f"{_MARK}*"):
        with suppress(OSError):
            descriptor = os.open(staging / _LOCK, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(descriptor).st_nlink:
                    _remove(staging)
            finally:
                os.close(descriptor)


def _remove(staging: Path) -> None:
    """The lock last."""
    with suppress(OSError):
        for path in staging.iterdir():
            if path.name != _LOCK:
                path.unlink()
        (staging / _LOCK).unlink(missing_ok=True)
        staging.rmdir()
