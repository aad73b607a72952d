"""What the commands of this package share: help, one-line errors, exit codes as the filters have.

0 done; 1 the data are bad; 2 usage, or an input is missing; 75 temporary failure: an I/O error
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

EXIT_CODES = """\
Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 temporary failure (an I/O error)."""


class UsageError(Exception):
    """A command that cannot be carried out as it was given: exit code 2."""


class _Stopped(BaseException):
    """A signal that ends the process, after what it was writing has been removed.

    Extension modules turn it into errors of their own, so it is also noted here.
    """

    by: int | None = None


class Parser(argparse.ArgumentParser):
    """`-h` is the options; `--help` also has `examples` and the exit codes."""

    def __init__(self, prog: str, arguments: str, description: str, examples: str) -> None:
        command = f"python -m gristmill_data.{prog}"
        super().__init__(
            prog=command,
            usage=f"{command} {arguments} [OPTIONS]",
            description=description,
            formatter_class=_Layout,
            add_help=False,
            allow_abbrev=False,
        )
        self._examples = f"{examples}\n{EXIT_CODES}"
        self.add_argument("-h", action=_Help, help="print this (--help: with examples)")
        self.add_argument("--help", action=_Help, help=argparse.SUPPRESS)

    def long_help(self) -> str:
        self.epilog = self._examples
        return self.format_help()

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; try: --help")


class _Layout(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=80)


class _Help(argparse.Action):
    def __init__(self, **arguments: Any) -> None:
        super().__init__(nargs=0, **arguments)

    def __call__(self, parser: Any, *_: Any) -> NoReturn:
        option = _[-1] if _ else None
        write_out(parser.long_help() if option == "--help" else parser.format_help())
        parser.exit()


def number(kind: Callable[[str], Any], least: int, most: int = 2**31 - 1) -> Callable[[str], Any]:
    """A type of arguments: an int or float of at least `least`."""

    def read(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is no number of at least {least}")
        return value

    return read


def run(name: str, main: Callable[[], None]) -> NoReturn:
    """Runs a command and ends the process with its exit code."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for stop in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(stop) != signal.SIG_IGN:
            signal.signal(stop, _stop)
    code = outcome(name, main)
    # Not sys.exit: what is left to do at the end must not change the code, or be said again.
    os._exit(code)


def write_out(text: str) -> None:
    """Prints to stdout, and names it where that fails."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        raise OSError(error.errno, error.strerror, "stdout") from None


def _stop(number: int, _: Any) -> NoReturn:
    _Stopped.by = number
    raise _Stopped


def outcome(name: str, main: Callable[[], None]) -> int:
    """The exit code of a command; says on stderr what went wrong."""
    message: object
    try:
        with suppress(SystemExit):  # of argparse, after the help
            main()
        return 0
    except _Stopped:
        code, message = 75, "stopped"
    except (FileNotFoundError, FileExistsError, NotADirectoryError) as error:
        code, message = 2, _io_cause(error)
    except OSError as error:
        code, message = 75, _io_cause(error)
    except MemoryError:
        code, message = 75, "not enough memory"
    except (UsageError, ImportError) as error:
        code, message = 2, _missing(error) if isinstance(error, ImportError) else error
    except (ValueError, RuntimeError) as error:
        code, message = 1, error
    if _Stopped.by is not None:
        signal.signal(_Stopped.by, signal.SIG_DFL)
        os.kill(os.getpid(), _Stopped.by)
    text = " ".join(str(message).split())
    print(f"{name}: {text}", file=sys.stderr, flush=True)
    return code


def _io_cause(error: OSError) -> str:
    cause = error.strerror or str(error)
    return f"{error.filename}: {cause}" if error.filename is not None else cause


def _missing(error: ImportError) -> str:
    package = "megatron-core" if (error.name or "").startswith("megatron") else error.name or "torch"
    hint = f"(try: pip install {package.partition('.')[0]})"
    if isinstance(error, ModuleNotFoundError):
        return f"{error.name} is not installed {hint}"
    return f"{error.name} cannot be imported: {error} {hint}"
