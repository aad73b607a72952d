"""What the commands of this package share: one-line errors and the exit codes of the filters."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

EXIT_CODES = """exit codes:
  0   done
  1   the data are bad
  2   usage, a missing input, or a missing package
  75  it could not be done now: an I/O error, no memory"""


class UsageError(Exception):
    """What the caller has to change, exit 2."""


def run(name: str, main: Callable[[], None]) -> NoReturn:
    """Runs a command and exits: errors become one line on stderr that begins with `name`."""
    # `| head` and Ctrl-C end it as they end any filter.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    code, message = 0, ""
    try:
        main()
    except SystemExit as exit:  # argparse has said all
        code = exit.code if isinstance(exit.code, int) else 2
    except (UsageError, FileNotFoundError, NotADirectoryError, ModuleNotFoundError) as error:
        code, message = 2, _line(error)
    except ValueError as error:
        code, message = 1, _line(error)
    except OSError as error:
        code, message = 75, _line(error)
    except MemoryError:
        code, message = 75, "not enough memory"
    try:
        sys.stdout.flush()
    except OSError as error:
        code, message = code or 75, message or f"stdout: {_line(error)}"
    if message:
        print(f"{name}: {message}", file=sys.stderr)
    sys.stderr.flush()
    # Not `sys.exit`, which would write to stdout again.
    os._exit(code)


def _line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror is not None:
        path = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
        return f"{path}{error.strerror}"
    if isinstance(error, ModuleNotFoundError):
        extra = "megatron" if (error.name or "").startswith("megatron") else "torch"
        return f"{error.name} is not installed (try: pip install 'gristmill-data[{extra}]')"
    return " ".join(str(error).split())
