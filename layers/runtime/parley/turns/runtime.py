"""What every use case gets: the ports and the settings of this installation."""

from __future__ import annotations

from dataclasses import dataclass, field

from parley.turns.function_ports import Functions
from parley.turns.knowledge_ports import Knowledge
from parley.turns.model_ports import InstalledProviders
from parley.turns.ports import Blobs, Clock, Orchestrator, Pusher, Store
from parley.turns.rollout_ports import Flags, Meter, NoFlags, NoMeter

DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Settings:
    """Tunable facts. Times are seconds, sizes bytes."""

    chunk_seconds: float = 0.05
    """How long text is gathered before it is logged and pushed (the first piece goes at once)."""
    fence_seconds: float = 1.0
    """How often a model call looks whether it may still act, and whether it was cancelled."""
    aside_seconds: float = 20.0
    """How long a model may take for what nobody watches being written: a predefined message, suggestions."""
    event_retention_seconds: float = 30 * DAY
    inline_limit: int = 200_000
    """Larger bodies go to the blobs (a DynamoDB item holds 400 KB)."""
    frame_limit: int = 32_000
    """Larger events are pushed as a reference (a WebSocket frame holds 32 KB)."""
    retry_after_here: float = 10.0
    """A provider's Retry-After up to this is waited out by the worker itself."""
    retry_after_limit: float = 300.0
    socket_url: str | None = None
    """Where clients open a WebSocket, if that is not ``/ws`` at the API's own address."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """The ports of one installation."""

    store: Store
    blobs: Blobs
    orchestrator: Orchestrator
    pusher: Pusher
    clock: Clock
    providers: InstalledProviders
    functions: Functions
    settings: Settings = field(default_factory=Settings)
    flags: Flags = field(default_factory=NoFlags)
    meter: Meter = field(default_factory=NoMeter)
    knowledge: Knowledge | None = None
    """None: on AWS without a Bedrock knowledge base."""
