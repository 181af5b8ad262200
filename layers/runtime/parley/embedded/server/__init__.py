"""The embedded server: the HTTP API, the WebSocket API and the page of one data folder, on one port."""

from parley.embedded.server.contracts import Handlers, Service
from parley.embedded.server.run import EmbeddedServer, PortUnavailable

__all__ = ["EmbeddedServer", "Handlers", "PortUnavailable", "Service"]
