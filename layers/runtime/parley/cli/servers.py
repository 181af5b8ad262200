"""Which server a command talks to: one that is named, the one that owns the data folder, or its own."""

from __future__ import annotations

import argparse
import re
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx

from parley.cli.api import Api
from parley.cli.failure import CommandFailed
from parley.embedded.issuer import OPERATOR_AUDIENCE, TOKEN_SECONDS, LocalIssuer
from parley.embedded.lock import FolderLocked, Owner, owner_of
from parley.tools.hosts import on_this_machine

_OWNER_STARTS_SECONDS = 5.0
_COMES_BACK_SECONDS = 2.0
_OPERATOR_SECONDS = 60
_PROJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@contextmanager
def reached_server(arguments: argparse.Namespace, *, working: bool = False) -> Iterator[Api]:
    """The API of the server that the arguments mean, as the user that they mean.

    ``working``: conversations have to go on. Without it, those of a folder that nobody serves rest.
    """
    if arguments.url:
        api = Api(arguments.url, arguments.token or _token_of_folder(arguments))
        try:
            yield api
        finally:
            api.close()
        return
    with ExitStack() as exits:
        server = FolderServer(arguments.data, exits, working=working)
        url = server.find()
        token = arguments.token or member_token(arguments.data, url, arguments.user, arguments.project)
        api = Api(url, token, moved=server.moved, works=server.works)
        exits.callback(api.close)
        yield api


@contextmanager
def local_server(data: Path) -> Iterator[str]:
    """The address of the server that owns the data folder; if nobody does, of our own while this lasts.

    Under our own, conversations rest.
    """
    with ExitStack() as exits:
        yield FolderServer(data, exits).find()


class FolderServer:
    """The server of a data folder, whoever runs it: the process that owns the folder, and when nobody does, this one.

    It may change under a command that goes on: the chat whose server was used is over, or a server is restarted.
    ``exits`` closes a server of our own. In one that is not ``working`` conversations rest, so that to look at a folder
    does nothing in it; it is not announced, since others may want more of it.
    """

    def __init__(self, data: Path, exits: ExitStack, *, working: bool = False) -> None:
        self._data = data
        self._exits = exits
        self._working = working
        self._ours: str | None = None
        self._missed_at: float | None = None

    def find(self) -> str:
        """Its address. Raises CommandFailed if the owner serves nothing."""
        while True:
            owner = _settled_owner(self._data)
            if owner is None:
                try:
                    self._ours = self._exits.enter_context(_own_server(self._data, self._working))
                except FolderLocked:  # somebody else was quicker
                    continue
                return self._ours
            if owner.url is None:
                raise CommandFailed(
                    f"{self._data} is in use by process {owner.pid}, which serves nothing; try again when it is over"
                )
            return owner.url

    def works(self) -> bool:
        """Whether conversations go on in the server that was found."""
        return self._working or self._ours is None

    def moved(self, url: str) -> str | None:
        """Where the server is that does not answer at `url` any more; None if it is not known (yet).

        One that is gone may be about to come back: only after a while is it replaced.
        """
        if self._ours is not None:
            return None
        owner = owner_of(self._data)
        now = time.monotonic()
        if owner is not None:
            self._missed_at = None
            return owner.url if owner.url != url else None
        if self._missed_at is None:
            self._missed_at = now
        return self.find() if now - self._missed_at >= _COMES_BACK_SECONDS else None


@contextmanager
def _own_server(data: Path, working: bool) -> Iterator[str]:
    """Serve the data folder from a thread of this process; gives the address."""
    from parley import wiring
    from parley.embedded.server import EmbeddedServer
    from parley.embedded.server.assembly import service_of

    server = EmbeddedServer("127.0.0.1", 0)
    try:
        installation = wiring.embedded(data, working=working)
        try:
            server.start(service_of(installation))
            if working:
                installation.lock.announce(server.url)
            yield server.url
        finally:
            server.stop()
            installation.close()
    finally:
        server.stop()


def member_token(
    data: Path, url: str, user: str, project: str, *, ttl: int = TOKEN_SECONDS, role: str | None = None
) -> str:
    """A token for a user, who is made a member of the project by the local server at `url`.

    ``role``: the one that the user has from now on; without it, one that is there stays.
    """
    if not _PROJECT.fullmatch(project):
        raise CommandFailed(
            f"{project!r} is no project id: letters, digits, - and _, at most 64, beginning with a letter or digit",
            status=2,
        )
    issuer = LocalIssuer(data, time.time)
    response = operate(data, url, "parley-members", {"user": user, "project": project, "role": role})
    if not response.is_success:
        raise CommandFailed(f"{url} did not make {user} a member of {project}: {reason(response)}")
    return issuer.issue(user, ttl)


def operate(data: Path, url: str, operation: str, wanted: dict[str, Any]) -> httpx.Response:
    """Ask something of the local server at `url` that only the owner of its data folder may ask."""
    operator = LocalIssuer(data, time.time).issue("operator", _OPERATOR_SECONDS, audience=OPERATOR_AUDIENCE)
    try:
        return httpx.post(
            f"{url}/.well-known/{operation}",
            json=wanted,
            headers={"authorization": f"Bearer {operator}"},
            timeout=60,
            trust_env=not on_this_machine(url),
        )
    except httpx.TransportError as error:
        raise CommandFailed(f"no answer from {url}, which owns {data}: {error}") from error


def reason(response: httpx.Response) -> str:
    """The gateway's own words, or whatever else answered."""
    try:
        return str(response.json()["message"])
    except (ValueError, KeyError, TypeError):
        return f"{response.status_code} {response.reason_phrase}"


def _token_of_folder(arguments: argparse.Namespace) -> str:
    """Without `--token`, a server on this machine may still be one whose key lies in the data folder."""
    if not on_this_machine(arguments.url) or not (arguments.data / "issuer.pem").exists():
        raise CommandFailed("--url needs --token: a token that the server's issuer gave", status=2)
    return LocalIssuer(arguments.data, time.time).issue(arguments.user)


def _settled_owner(data: Path) -> Owner | None:
    """Who owns the folder; an owner that is just starting is given a moment to say where it serves."""
    deadline = time.monotonic() + _OWNER_STARTS_SECONDS
    while True:
        owner = owner_of(data)
        if owner is None or owner.url is not None or time.monotonic() >= deadline:
            return owner
        threading.Event().wait(0.1)
