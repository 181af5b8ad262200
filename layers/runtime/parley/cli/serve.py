"""`parley serve` and `parley token`."""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import sys

from parley.cli.servers import local_server, member_token
from parley.cli.terminal import Terminal


def serve(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Serve until a signal stops it."""
    from parley import wiring
    from parley.embedded.server import EmbeddedServer
    from parley.embedded.server.assembly import service_of

    if arguments.access_log:
        logging.getLogger("parley.access").setLevel(logging.INFO)
    server = EmbeddedServer(arguments.host, arguments.port)
    try:
        installation = wiring.embedded(arguments.data)
        try:
            service = service_of(installation, allow_origins=arguments.allow_origin)

            def started() -> None:
                installation.lock.announce(server.url)
                service.enroll("dev", "demo")
                _greet(terminal, server.url, installation.issuer.issue("dev"), str(arguments.data))

            server.run(service, on_started=started)
        finally:
            installation.close()
    finally:
        server.stop()
    return 0


def token(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Print a token; its user becomes a member of the project."""
    with local_server(arguments.data) as url:
        wanted = (arguments.user, arguments.project)
        terminal.line(member_token(arguments.data, url, *wanted, ttl=arguments.ttl, role=arguments.role))
    return 0


def _greet(terminal: Terminal, url: str, token: str, data: str) -> None:
    # In the fragment a token is seen by the page alone: no server, log or referrer gets it.
    terminal.line(f"{terminal.styled('bold', 'Parley')} serves {url}, data in {data}")
    terminal.line()
    terminal.line("  The page, signed in as dev:")
    terminal.line(f"    {terminal.styled('cyan', f'{url}/#token={token}')}")
    terminal.line("  A token for the API:")
    terminal.line(f"    {_command()} token --user dev --project demo --data {data}")
    terminal.line()
    terminal.line(terminal.styled("dim", "  Ctrl-C stops it; what is under way goes on at the next start."))


def _command() -> str:
    """How this command was called: `parley`, or the path of one that is not on the PATH."""
    called = sys.argv[0]
    on_path = shutil.which("parley") is not None
    return "parley" if on_path or not called.endswith("parley") else os.path.relpath(called)
