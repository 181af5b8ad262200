"""`parley page`: the page into a deployed stack's bucket."""

from __future__ import annotations

import argparse

from parley import wiring
from parley.cli.terminal import Terminal


def page(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Upload it, and say where it is now."""
    host = wiring.page_host(arguments.stack, region=arguments.region, profile=arguments.profile)
    uploaded, removed = host.upload()
    gone = f", {removed} old ones removed" if removed else ""
    terminal.line(f"{uploaded} files uploaded{gone}.")
    terminal.line(f"The page is at {host.url}")
    return 0
