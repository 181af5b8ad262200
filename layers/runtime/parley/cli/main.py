"""The command `parley`: the one place where failures become a line and an exit status."""

from __future__ import annotations

import argparse
import importlib
import io
import logging
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NoReturn

from parley.cli.arguments import add_commands
from parley.cli.failure import CommandFailed
from parley.cli.terminal import OutputFailed, Terminal, terminal_for
from parley.domain.errors import ParleyError

Command = Callable[[argparse.Namespace, Terminal], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 done, 1 not done, 2 called wrongly, 130 interrupted."""
    _open_streams()
    try:
        arguments = build_parser().parse_args(argv)
        logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
        return _command(arguments.target)(arguments, _terminal())
    except OutputFailed as failure:
        _drop_output()
        return _fail(str(failure), 1)
    except CommandFailed as failure:
        return _fail(str(failure), failure.status)
    except ParleyError as error:
        return _fail(str(error), 1)
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Whoever read our output has enough.
        _drop_output()
        return 1


def _open_streams() -> None:
    """Let what is read and said be any text; streams that were closed are empty and swallow it."""
    nothing = Path(os.devnull)
    sys.stdin = sys.stdin or nothing.open()
    sys.stdout = sys.stdout or nothing.open("w")
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        # Not every terminal has our arrows, and not all that is typed or piped is text in its encoding.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _drop_output() -> None:
    """Nothing is left to be flushed at exit, where it would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line; the usage of some commands would bury it."""

    def error(self, message: str) -> NoReturn:
        """End with status 2."""
        self.exit(2, f"{self.prog}: {message}; `{self.prog} --help` explains\n")


def build_parser() -> argparse.ArgumentParser:
    """All commands and their arguments."""
    parser = _Parser(
        prog="parley",
        description="Durable AI-agent conversations: serve them, hold them, look at them.",
        epilog="`parley COMMAND --help` says more about a command.",
    )
    parser.add_argument("--version", action="version", version=f"parley {_version()}")
    add_commands(parser.add_subparsers(metavar="COMMAND", required=True))
    return parser


def _command(target: str) -> Command:
    """The function behind `module:function`; only the module that is needed is loaded."""
    module, _, function = target.partition(":")
    command: Command = getattr(importlib.import_module(f"parley.cli.{module}"), function)
    return command


def _terminal() -> Terminal:
    from parley import wiring

    return terminal_for(sys.stdout, no_color=wiring.no_color())


def _fail(message: str, status: int) -> int:
    sys.stdout.flush()
    print(f"parley: {message}", file=sys.stderr)
    return status


def _version() -> str:
    try:
        return version("parley-agents")
    except PackageNotFoundError:  # run from the sources, not installed
        return "(not installed)"
