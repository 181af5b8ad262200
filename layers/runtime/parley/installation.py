"""An open data folder: the embedded backend put together, with everything that one process owns of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parley.assets import TASK_FUNCTIONS, TASK_HANDLER, definition, handler, load_task_handlers
from parley.clock import SystemClock
from parley.domain import keys
from parley.embedded.blobs import FolderBlobs
from parley.embedded.data_file import open_data_file
from parley.embedded.database import Database, Durability
from parley.embedded.flags import FILE as FLAGS_FILE
from parley.embedded.flags import FileFlags
from parley.embedded.interpreter import Interpreter
from parley.embedded.issuer import LocalIssuer
from parley.embedded.knowledge import SqliteKnowledge
from parley.embedded.lock import FolderLock
from parley.embedded.orchestrator import EmbeddedOrchestrator
from parley.embedded.sockets import SocketHub
from parley.embedded.store import SqliteStore
from parley.providers.registry import ProviderRegistry
from parley.tools.registry import FunctionRegistry
from parley.tools.remote import RemoteFunctions
from parley.turns.documents import Documents
from parley.turns.ports import Secrets
from parley.turns.runtime import DAY, Runtime, Settings

MACHINE = "arn:aws:states:local:000000000000:stateMachine:parley-conversation"
KEPT_SECONDS = 90 * DAY
"""How long closed executions stay visible, as in Step Functions."""
LEASE_SECONDS = 700.0
"""Longer than any Task's own limit: a lease that ends means a worker that died, never one that is slow."""


@dataclass(frozen=True, slots=True)
class Installation:
    """An open data folder. ``begin`` once the process's handlers work on ``runtime``; ``close`` at the end."""

    runtime: Runtime
    interpreter: Interpreter
    hub: SocketHub
    issuer: LocalIssuer
    lock: FolderLock
    store: SqliteStore
    database: Database
    knowledge: SqliteKnowledge
    working: bool

    def begin(self) -> None:
        """Forget the former process's connections, and carry on with what was under way.

        Not ``working``: neither; the folder can be read and written, what is under way in it rests.
        """
        if self.working:
            for partition in (keys.channel_partition(""), keys.connection_partition("")):
                self.store.forget(partition)
        self.interpreter.open(working=self.working)

    def purge(self) -> int:
        """Delete expired items and executions closed long ago, as AWS does; how many it were.

        What was saved until then is in the database's own file afterwards.
        """
        before = self.runtime.clock.now() - KEPT_SECONDS
        gone = self.store.purge_expired(self.runtime.blobs.delete) + self.interpreter.forget_closed(before)
        self.database.copy_back()
        return gone

    def close(self) -> None:
        """Stop working on the folder and give it up; what is under way goes on at the next opening."""
        self.interpreter.close()
        self.knowledge.close()
        self.database.close()
        self.lock.release()


@dataclass(frozen=True, slots=True)
class Choices:
    """What may differ between installations."""

    secrets: Secrets
    settings: Settings
    packs: tuple[str, ...]
    synchronous: Durability = "NORMAL"
    workers: int = 64
    remote: RemoteFunctions | None = None
    flags: Path | None = None
    """The file of the feature flags, if it is not the folder's own."""
    working: bool = True
    """Whether conversations go on while the folder is open."""


def open_folder(data: Path, choices: Choices, clock: Any = None) -> Installation:
    """Take the folder's lock and open what is in it. Raises FolderLocked, StorageError and BadFlags."""
    clock = clock or SystemClock()
    flags = FileFlags(choices.flags or data / FLAGS_FILE)
    flags.check()
    with ExitStack() as undo:
        lock = FolderLock.acquire(data)
        undo.callback(lock.release)
        database = open_data_file(data / "parley.db", choices.synchronous)
        undo.callback(database.close)
        interpreter = _interpreter(database, clock, choices.workers)
        store = SqliteStore(database, clock)
        hub = SocketHub()
        blobs = FolderBlobs(data / "blobs", synchronous=choices.synchronous)
        providers = ProviderRegistry(choices.secrets, sleep=clock.sleep)
        knowledge = SqliteKnowledge(
            data / "knowledge.db", lambda project_id: Documents(store, blobs, clock, project_id)
        )
        parts: dict[str, Any] = {"blobs": blobs, "image_makers": providers, "knowledge": knowledge}
        functions = FunctionRegistry(store, clock, choices.packs, remote=choices.remote, **parts)
        functions.classes()  # a pack that cannot be loaded is told now, not in the middle of a turn
        runtime = Runtime(
            store=store,
            blobs=blobs,
            orchestrator=EmbeddedOrchestrator(interpreter, MACHINE),
            pusher=hub,
            clock=clock,
            providers=providers,
            functions=functions,
            settings=choices.settings,
            flags=flags,
            knowledge=knowledge,
        )
        issuer = LocalIssuer(data, clock.now)
        undo.pop_all()
    return Installation(runtime, interpreter, hub, issuer, lock, store, database, knowledge, choices.working)


def _interpreter(database: Database, clock: Any, workers: int) -> Interpreter:
    return Interpreter(
        database,
        {MACHINE: definition({f"{name}Arn": name for name in TASK_FUNCTIONS})},
        _invoker(),
        clock,
        workers=workers,
        lease_seconds=LEASE_SECONDS,
        on_closed=_repair_failed,
    )


class _TaskContext:
    """The Lambda context of a task that the embedded interpreter invokes."""

    function_version = "$LATEST"
    memory_limit_in_mb = 0
    aws_request_id = "embedded"

    def __init__(self, function_name: str) -> None:
        self.function_name = function_name
        self.invoked_function_arn = f"arn:aws:lambda:local:000000000000:function:{function_name}"


def _invoker() -> Callable[[str, Any], Any]:
    contexts = {name: _TaskContext(name) for name in TASK_FUNCTIONS}
    load_task_handlers()

    def invoke(function_name: str, payload: Any) -> Any:
        return handler(TASK_HANDLER)(payload, contexts[function_name])

    return invoke


def _repair_failed(execution: Any) -> None:
    """An execution that ended badly is looked at at once, as EventBridge's rule has it."""
    if execution.status.value not in ("FAILED", "TIMED_OUT", "ABORTED"):
        return
    event = {"detail-type": "Step Functions Execution Status Change", "detail": {"name": execution.name}}
    repair = handler("on_schedule.repair.handler")
    threading.Thread(target=repair, args=(event, None), name="parley-repair", daemon=True).start()
