"""Puts the parts together: which backend, which settings. The only module that reads the environment.

A Lambda calls ``runtime()``, which builds the AWS runtime once per process. A laptop calls ``embedded(folder)``
and ``use(installation.runtime)``; the very same handlers then work on that.
"""

from __future__ import annotations

import importlib
import json
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.metrics import MetricUnit

from parley.clock import SystemClock
from parley.domain import keys
from parley.providers.registry import ProviderRegistry
from parley.tools.registry import FunctionRegistry
from parley.turns import projects
from parley.turns.ports import Clock, Secrets
from parley.turns.repair import Repaired
from parley.turns.runtime import DAY, Runtime, Settings

ENVIRONMENT = frozenset(
    {
        "PARLEY_BACKEND",
        "PARLEY_TABLE",
        "PARLEY_BUCKET",
        "PARLEY_STATE_MACHINE_ARN",
        "PARLEY_SOCKET_ENDPOINT",
        "PARLEY_SECRETS_PREFIX",
        "PARLEY_PACKS",
        "PARLEY_CHUNK_MILLISECONDS",
        "PARLEY_EVENT_RETENTION_DAYS",
        "PARLEY_DEMO_USER",
    }
)
"""The variables that the template sets; provider settings such as OPENAI_BASE_URL come on top."""

DEMO_PROJECT = "demo"
DEMO_PACK = "parley_marketer"
MACHINE = "arn:aws:states:local:000000000000:stateMachine:parley-conversation"
TASK_HANDLER = "on_task.dispatch.handler"
TASK_FUNCTIONS = ("ModelTasksFunction", "ToolTasksFunction", "ThreadTasksFunction")
LEASE_SECONDS = 700.0
"""Longer than any Task's own limit: a lease that ends means a worker that died, never one that is slow."""

_used: Runtime | None = None


def use(runtime: Runtime | None) -> None:
    """Let this process's handlers work on ``runtime``; None goes back to the environment's."""
    global _used  # noqa: PLW0603 - one runtime per process, as a Lambda has one environment
    _used = runtime


def runtime() -> Runtime:
    """The runtime that this process's handlers work on."""
    return _used or _from_environment()


@cache
def _from_environment() -> Runtime:
    backend = os.environ.get("PARLEY_BACKEND", "")
    if backend != "aws":
        raise RuntimeError(
            f"PARLEY_BACKEND is {backend!r}; a deployed function has aws, a laptop runs parley serve or parley chat"
        )
    return aws_runtime(os.environ)


def aws_runtime(environment: Any, *, clock: Clock | None = None) -> Runtime:
    """The runtime on AWS, from the variables that the template sets. A part whose variable is missing is absent."""
    import boto3

    from parley.aws import blobs, clients, orchestrator, pusher, secrets, store

    session = boto3.session.Session()
    clock = clock or SystemClock()
    table = store.DynamoStore(clients.dynamodb(session), environment["PARLEY_TABLE"], clock)
    settings = secrets.SsmSecrets(
        clients.ssm(session), environment.get("PARLEY_SECRETS_PREFIX", "/parley"), clock
    )
    return Runtime(
        store=table,
        blobs=blobs.S3Blobs(clients.s3(session), environment.get("PARLEY_BUCKET", "")),
        orchestrator=orchestrator.StepFunctionsOrchestrator(
            clients.stepfunctions(session), environment.get("PARLEY_STATE_MACHINE_ARN", "")
        ),
        pusher=pusher.ApiGatewayPusher(
            clients.apigatewaymanagementapi(
                session, environment.get("PARLEY_SOCKET_ENDPOINT", "https://unset.invalid")
            )
        ),
        clock=clock,
        providers=ProviderRegistry(_EnvironmentFirst(environment, settings), sleep=clock.sleep),
        functions=FunctionRegistry(table, clock, modules=_modules(environment.get("PARLEY_PACKS", ""))),
        settings=_settings(environment, chunk_milliseconds=150),
    )


def _settings(environment: Any, *, chunk_milliseconds: int) -> Settings:
    return Settings(
        chunk_seconds=float(environment.get("PARLEY_CHUNK_MILLISECONDS") or chunk_milliseconds) / 1000,
        event_retention_seconds=float(environment.get("PARLEY_EVENT_RETENTION_DAYS") or 30) * DAY,
    )


def _modules(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())


class _EnvironmentFirst:
    """Settings from the environment, and behind it from another source."""

    def __init__(self, environment: Any, behind: Secrets | None = None) -> None:
        self._environment = environment
        self._behind = behind

    def get(self, name: str) -> str | None:
        """An empty variable counts as none."""
        return self._environment.get(name) or (self._behind.get(name) if self._behind else None)


def providers() -> ProviderRegistry:
    """The providers of this environment, without a conversation."""
    return ProviderRegistry(_EnvironmentFirst(os.environ), sleep=SystemClock().sleep)


def no_color() -> bool:
    """Whether the terminal's user wants no colours (https://no-color.org)."""
    return bool(os.environ.get("NO_COLOR"))


def data_folder(name: str) -> Path:
    """A folder of data that comes along: in the installed package, or in the clone that it is run from."""
    package = Path(__file__).parent
    installed = package / "_data" / name
    return installed if installed.is_dir() else package.parents[2] / name


def definition(substitutions: dict[str, str]) -> dict[str, Any]:
    """The state machine with its ``${Name}`` replaced."""
    text = (data_folder("statemachine") / "conversation.asl.json").read_text()
    for name, value in substitutions.items():
        text = text.replace(f"${{{name}}}", value)
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def handler(path: str) -> Callable[[Any, Any], Any]:
    """The handler that a template's ``Handler`` names."""
    module, _, function = path.rpartition(".")
    found: Callable[[Any, Any], Any] = getattr(importlib.import_module(module), function)
    return found


def ensure_demo(runtime: Runtime, user_id: str) -> None:
    """The demo project with its agents and data, once; the user becomes its owner."""
    project = projects.Project(project_id=DEMO_PROJECT, name="Demo")
    projects.ensure_member(runtime, DEMO_PROJECT, user_id, projects.Role.OWNER)
    pack = importlib.import_module(DEMO_PACK)
    pack.install(runtime.store, DEMO_PROJECT, runtime.clock)
    if projects.ensure_project(runtime, project):
        for agent in pack.agents():
            projects.put_agent(runtime, DEMO_PROJECT, agent)


def count_repairs(done: Repaired) -> None:
    """Report what repair did as metrics; a pass that found nothing says nothing."""
    if not done.looked_at or os.environ.get("PARLEY_BACKEND") != "aws":
        return
    metrics = Metrics()
    metrics.add_metric(name="RunsRestarted", unit=MetricUnit.Count, value=done.restarted)
    metrics.add_metric(name="SignalsRepaired", unit=MetricUnit.Count, value=done.signalled)
    metrics.flush_metrics()


@dataclass(frozen=True, slots=True)
class Installation:
    """An open data folder: the embedded runtime and the parts around it."""

    runtime: Runtime
    interpreter: Any
    hub: Any
    issuer: Any
    lock: Any
    database: Any

    def purge(self) -> int:
        """Delete expired items, as DynamoDB's TTL does."""
        purged: int = self.runtime.store.purge_expired()  # type: ignore[attr-defined]
        return purged

    def close(self) -> None:
        """Stop working on the folder and give it up; what is under way goes on at the next opening."""
        self.interpreter.close()
        self.database.close()
        self.lock.release()


def embedded(
    data: Path,
    *,
    clock: Any = None,
    synchronous: Literal["NORMAL", "FULL"] | None = None,
    workers: int = 64,
    demo_user: str | None = "dev",
) -> Installation:
    """Open a data folder: take its lock, carry on with what was under way. Raises FolderLocked, StorageError."""
    from parley.embedded import blobs, database, interpreter, issuer, lock, orchestrator, sockets, store

    clock = clock or SystemClock()
    durability = synchronous or _durability()
    folder_lock = lock.FolderLock.acquire(data)
    try:
        opened = database.Database(data / "parley.db", synchronous=durability)
        machine = interpreter.Interpreter(
            opened,
            {MACHINE: definition({f"{name}Arn": name for name in TASK_FUNCTIONS})},
            _invoke,
            clock,
            workers=workers,
            lease_seconds=LEASE_SECONDS,
            on_closed=_repair_failed,
        )
        table = store.SqliteStore(opened, clock)
        hub = sockets.SocketHub()
        runtime = Runtime(
            store=table,
            blobs=blobs.FolderBlobs(data / "blobs", synchronous=durability),
            orchestrator=orchestrator.EmbeddedOrchestrator(machine, MACHINE),
            pusher=hub,
            clock=clock,
            providers=ProviderRegistry(_EnvironmentFirst(os.environ), sleep=clock.sleep),
            functions=FunctionRegistry(
                table, clock, modules=_modules(os.environ.get("PARLEY_PACKS", DEMO_PACK))
            ),
            settings=_settings(os.environ, chunk_milliseconds=50),
        )
        use(runtime)
        if demo_user:
            ensure_demo(runtime, demo_user)
        for partition in (keys.channel_partition(""), keys.connection_partition("")):
            table.forget(partition)
        machine.open()
    except BaseException:
        folder_lock.release()
        raise
    return Installation(runtime, machine, hub, issuer.LocalIssuer(data, clock.now), folder_lock, opened)


def _durability() -> Literal["NORMAL", "FULL"]:
    """How hard SQLite makes a commit: NORMAL survives a crash of the process, FULL also a loss of power."""
    return "FULL" if os.environ.get("PARLEY_SYNCHRONOUS", "").upper() == "FULL" else "NORMAL"


class _TaskContext:
    """The Lambda context of a task that the embedded interpreter invokes."""

    function_version = "$LATEST"
    memory_limit_in_mb = 0
    aws_request_id = "embedded"

    def __init__(self, function_name: str) -> None:
        self.function_name = function_name
        self.invoked_function_arn = f"arn:aws:lambda:local:000000000000:function:{function_name}"


def _invoke(function_name: str, payload: Any) -> Any:
    return handler(TASK_HANDLER)(payload, _TaskContext(function_name))


def _repair_failed(execution: Any) -> None:
    """An execution that ended badly is looked at at once, as EventBridge's rule has it."""
    if execution.status.value in ("FAILED", "TIMED_OUT", "ABORTED"):
        event = {"detail-type": "Step Functions Execution Status Change", "detail": {"name": execution.name}}
        worker = threading.Thread(
            target=handler("on_schedule.repair.handler"), args=(event, None), daemon=True
        )
        worker.start()
