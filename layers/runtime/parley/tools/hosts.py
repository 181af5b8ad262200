"""Which hosts an agent's HTTP and MCP functions may reach: an owner of a project writes the address, and we call it.

The setting is a list with commas. ``public``: any host whose address is public. A name, or ``*.name`` for all below it:
that host, whose address may be a private one too. All of these by https only, and never a loopback or link-local
address: there a Lambda has its runtime API and an instance its credentials. ``*``: everything, http as well, as it
is right on a laptop.

A name is looked up when the call is made, and the connection goes to the very address that was looked at, so that a
name cannot mean something else a moment later.
"""

from __future__ import annotations

import ipaddress
import logging
import socket
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

ANYWHERE = "*"
PUBLIC = "public"

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_LOG = logging.getLogger("parley.functions")


class HostRefused(Exception):
    """The address may not be reached from here; the words are for the owner of the agent, and hold no address."""


Resolve = Callable[[str, int], list[str]]
"""Host and port to addresses. Raises OSError for a name that leads nowhere."""


def resolve(host: str, port: int) -> list[str]:
    """The system's answer, best first."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True, slots=True)
class HostRules:
    """The setting, read."""

    entries: frozenset[str]
    resolve: Resolve = resolve

    @classmethod
    def of(cls, setting: str) -> HostRules:
        """From the setting's text."""
        return cls(frozenset(entry.strip().lower() for entry in setting.split(",") if entry.strip()))

    @property
    def open(self) -> bool:
        """Whether everything may be reached, and nothing has to be looked at."""
        return ANYWHERE in self.entries

    def check_url(self, url: str) -> None:
        """What can be told without a look-up. Raises HostRefused."""
        if self.open:
            return
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
        if parts.scheme != "https":
            raise HostRefused("must be reached by https here")
        if not self._named(host) and PUBLIC not in self.entries:
            raise HostRefused("is not on a host that this installation lets functions reach")
        literal = _literal(host)
        if literal is not None and not self._may(host, literal):
            raise HostRefused("has no public address, and those alone are allowed here")

    def addresses(self, host: str, port: int) -> list[str]:
        """The host's addresses that may be connected to. Raises HostRefused if none may, OSError if it has none."""
        found = self.resolve(host, port)
        allowed = [each for each in found if self._may(host, ipaddress.ip_address(each.partition("%")[0]))]
        if not allowed:
            _LOG.warning("functions may not reach %s, which is at %s", host, ", ".join(found) or "no address")
            raise HostRefused("has no public address, and those alone are allowed here")
        return allowed

    def _named(self, host: str) -> bool:
        host = host.lower().rstrip(".")
        return host in self.entries or any(
            entry.startswith("*.") and host.endswith(entry[1:]) for entry in self.entries
        )

    def _may(self, host: str, address: _Address) -> bool:
        inner = _innermost(address)
        if inner.is_loopback or inner.is_link_local or inner.is_unspecified or inner.is_multicast:
            return False
        if self._named(host):
            return True
        return PUBLIC in self.entries and inner.is_global and not inner.is_reserved


def on_this_machine(url: str) -> bool:
    """Whether an address is this machine's own. A proxy of the environment is no way to get there."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name, or no address at all
        return False


def _literal(host: str) -> _Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _innermost(address: _Address) -> _Address:
    """The IPv4 address that an IPv6 one only wraps."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address.sixtofour is not None:
            return address.sixtofour
        if address.teredo is not None:
            return address.teredo[1]
        if address in _NAT64:
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address
