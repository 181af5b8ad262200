"""A system on either backend: a fresh data folder, or a project of its own in the mocked account."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast
from unittest import mock

import boto3
import pytest

from parley import assets, installation, wiring
from parley.clock import MovableClock
from parley.tools import registry
from parley.tools.registry import FunctionRegistry
from parley.turns import ports, projects
from parley.turns.projects import Project, Role
from parley.turns.runtime import Runtime, Settings
from tests.support.bedrock_knowledge import DATA_SOURCE, KNOWLEDGE_BASE
from tests.support.counted import CountedBlobs, CountedOrchestrator, CountedStore, Counts, counted_pusher
from tests.support.moto_aws import MockedAws
from tests.support.systems import HELD, Backend, Note, System

BACKENDS: tuple[Backend, ...] = ("embedded", "aws")
ONLY_EMBEDDED = pytest.mark.parametrize("system", ["embedded"], indirect=True)
"""For a scenario whose subject lies above the ports: it would fail the same on both."""

_SETTINGS = Settings(fence_seconds=0.05)
_packs = functools.cache(registry._from_entry_points)
"""What is installed stays the same; looking through all that is takes as long as a short turn."""


def _system(
    backend: Backend, inner: Runtime, clock: MovableClock, project: str, pusher: ports.Pusher | None
) -> System:
    counts = Counts()
    store = CountedStore(inner.store, counts)
    blobs = CountedBlobs(inner.blobs, counts)
    functions = FunctionRegistry(
        store,
        clock,
        modules=("parley_marketer",),
        classes=(Note,),
        blobs=blobs,
        image_makers=inner.providers,
        knowledge=inner.knowledge,
        remote=cast(FunctionRegistry, inner.functions).remote,
    )
    runtime = replace(
        inner,
        store=store,
        blobs=blobs,
        orchestrator=CountedOrchestrator(inner.orchestrator, counts),
        pusher=counted_pusher(pusher, counts),
        functions=functions,
        settings=_SETTINGS,
    )
    wiring.use(runtime)
    projects.ensure_project(runtime, Project(project_id=project, name=project))
    projects.ensure_member(runtime, project, "dev", Role.OWNER)
    return System(backend, runtime, clock, counts, project)


@contextmanager
def embedded_system(folder: Path, project: str = "demo") -> Iterator[System]:
    """Parley on a fresh data folder. Nobody signs in here, so no key to sign with is made: that takes longest."""
    clock = MovableClock()
    with mock.patch.object(registry, "_from_entry_points", _packs):
        with mock.patch.object(installation, "LocalIssuer"):
            opened = wiring.embedded(folder, clock=clock, workers=16, demo_user=None)
        try:
            yield _system("embedded", opened.runtime, clock, project, None)
        finally:
            opened.interpreter.close()
            clock.advance(10 * HELD)
            opened.close()
            wiring.use(None)


@dataclass(frozen=True)
class Account:
    """A mocked account with the shipped state machine, and Parley's clients of it: slow to make, so it is shared."""

    aws: MockedAws
    clock: MovableClock
    runtime: Runtime


def set_up(account: MockedAws) -> Account:
    """Parley in a mocked account, once."""
    clock = MovableClock(time.time())
    arns = {f"{name}Arn": account.function_arn(name) for name in assets.TASK_FUNCTIONS}
    environment = {
        "PARLEY_TABLE": account.table,
        "PARLEY_BUCKET": account.bucket,
        "PARLEY_STATE_MACHINE_ARN": account.create_machine(assets.definition(arns)),
        "PARLEY_SOCKET_ENDPOINT": account.socket_endpoint,
        "PARLEY_KNOWLEDGE_BASE_ID": KNOWLEDGE_BASE,
        "PARLEY_KNOWLEDGE_DATA_SOURCE_ID": DATA_SOURCE,
    }
    tasks = assets.handler(assets.TASK_HANDLER)
    account.functions = lambda name, payload: tasks(payload, name)
    # What moto has no answer for is answered to clients of the account's own session.
    with mock.patch.object(boto3.session, "Session", return_value=account.session):
        runtime = wiring.aws_runtime(environment, clock=clock)
    return Account(account, clock, runtime)


@contextmanager
def aws_system(account: Account, project: str) -> Iterator[System]:
    """A project of its own in the account; what still runs at the end is stopped."""
    with mock.patch.object(registry, "_from_entry_points", _packs):
        system = _system("aws", account.runtime, account.clock, project, account.runtime.pusher)
        try:
            yield system
        finally:
            account.clock.advance(10 * HELD)
            for name in system.orchestrator.names:
                system.orchestrator.stop(name, "the test is over")
            account.aws.forget()
            wiring.use(None)
