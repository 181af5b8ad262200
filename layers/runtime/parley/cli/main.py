"""The command `parley`: the one place where failures become a line and an exit status."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version

from parley.cli.arguments import add_commands
from parley.cli.failure import CommandFailed
from parley.cli.terminal import Terminal, terminal_for
from parley.domain.errors import ParleyError

Command = Callable[[argparse.Namespace, Terminal], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 done, 1 not done, 2 called wrongly, 130 interrupted."""
    arguments = build_parser().parse_args(argv)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    try:
        return _command(arguments.target)(arguments, _terminal())
    except CommandFailed as failure:
        return _fail(str(failure), failure.status)
    except ParleyError as error:
        return _fail(str(error), 1)
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Whoever read our output has enough: nothing is left to be flushed to them at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def build_parser() -> argparse.ArgumentParser:
    """All commands and their arguments."""
    parser = argparse.ArgumentParser(
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
