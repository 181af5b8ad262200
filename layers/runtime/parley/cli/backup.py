"""`parley backup`."""

from __future__ import annotations

import argparse

from parley.cli.terminal import Terminal


def backup(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Copy the data folder, whoever works on it meanwhile."""
    from parley.embedded.backup import back_up

    size = back_up(arguments.data, arguments.folder)
    terminal.line(f"{arguments.data} is backed up in {arguments.folder} ({size / 1_000_000:.1f} MB)")
    return 0
