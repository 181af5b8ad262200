"""Repair: what it finds, what it costs, and that it may run at any time, twice at once."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from on_schedule import repair
from parley import installation, wiring
from parley.domain.conversation import SIGNAL_GRACE_SECONDS, WATCHDOG_SECONDS
from parley.domain.keys import DUE_SHARDS
from parley.embedded.interpreter import Execution
from parley.turns import conversations
from parley.turns import repair as rules
from parley.turns.ports import ExecutionStatus
from parley.turns.repair import PASS_SECONDS, Repaired
from tests.support.soundness import PLAIN, assert_sound, story
from tests.support.systems import System

NOTHING_DONE = {"looked_at": 0, "signalled": 0, "restarted": 0, "failed": 0}
BADLY = [ExecutionStatus.FAILED, ExecutionStatus.TIMED_OUT, ExecutionStatus.ABORTED]


def pass_by(event: dict[str, Any] | None = None) -> dict[str, int]:
    return repair.handler(event or {}, None)


def unsignalled(system: System, monkeypatch: pytest.MonkeyPatch, count: int) -> list[str]:
    """Threads whose first message was accepted by workers that died before they signalled it."""
    with monkeypatch.context() as dying:
        dying.setattr(conversations, "send_signals", lambda *_: None)
        return [system.start(f"Hello {number}", system.agent()) for number in range(count)]


def test_a_pass_asks_the_due_index_and_nothing_else_however_many_threads_there_are(embedded: System) -> None:
    threads = [embedded.start("Hello", embedded.agent()) for _ in range(30)]
    for thread in threads:
        embedded.rest(thread, turns=1)
    embedded.clock.advance(SIGNAL_GRACE_SECONDS + 1)
    before = embedded.counts.snapshot()
    assert pass_by() == NOTHING_DONE
    assert embedded.counts.since(before)[0] == {"store.query_index": len(DUE_SHARDS)}


def test_what_a_pass_costs_depends_on_what_is_due_alone(
    embedded: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = []
    for count in (2, 4):
        unsignalled(embedded, monkeypatch, count)
        embedded.clock.advance(SIGNAL_GRACE_SECONDS + 1)
        with monkeypatch.context() as idle:  # what the runs do then is not what repair costs
            idle.setattr(embedded.orchestrator.inner, "start", lambda *_: None)
            before = embedded.counts.snapshot()
            assert pass_by()["signalled"] == count
            costs.append(embedded.counts.since(before)[0])
        embedded.clock.advance(WATCHDOG_SECONDS)
        pass_by()
        for name in embedded.orchestrator.names:
            embedded.rest(name[:36], turns=1)
    few, many = costs
    assert few["store.query_index"] == many["store.query_index"] == len(DUE_SHARDS)
    assert {name: 2 * n for name, n in few.items() if name != "store.query_index"} == {
        name: n for name, n in many.items() if name != "store.query_index"
    }
    assert few["store.get"] == few["orchestrator.start"] == 2


def test_a_message_that_was_never_signalled_is_delivered_when_its_grace_is_over(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    (thread,) = unsignalled(system, monkeypatch, 1)
    pass_by()
    assert system.aggregate(thread).turns == 0
    assert system.orchestrator.status(f"{thread}-1-1") is None
    system.clock.advance(SIGNAL_GRACE_SECONDS + 1)
    assert pass_by()["signalled"] >= 1
    system.rest(thread, turns=1)
    assert story(assert_sound(system, thread))[: len(PLAIN)] == PLAIN


def test_two_passes_at_once_deliver_each_message_once(
    embedded: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = unsignalled(embedded, monkeypatch, 6)
    embedded.clock.advance(SIGNAL_GRACE_SECONDS + 1)
    both = threading.Barrier(3)
    done: list[dict[str, int]] = []

    def go() -> None:
        both.wait(120)
        done.append(pass_by())

    passes = [threading.Thread(target=go) for _ in range(3)]
    for each in passes:
        each.start()
    for each in passes:
        each.join(120)
    assert len(done) == 3
    for thread in threads:
        embedded.rest(thread, turns=1)
        assert story(assert_sound(embedded, thread)) == PLAIN
    assert sorted(embedded.orchestrator.names) == sorted(f"{thread}-1-1" for thread in threads)


def record(name: str, status: ExecutionStatus) -> Execution:
    return Execution(name, installation.MACHINE, status, "{}", 0.0, 1.0, None, "Some", "why", 0, 0)


@pytest.mark.parametrize("status", BADLY)
def test_an_execution_that_ends_badly_is_looked_at_at_once(embedded: System, status: ExecutionStatus) -> None:
    """The interpreter tells of its end as EventBridge's rule does on AWS."""
    embedded.agent(script=[{"text": "At last.", "delay": 60.0}])
    thread = embedded.start("Hello", "talker")
    embedded.held()
    embedded.orchestrator.inner.stop(f"{thread}-1-1", "it is aborted")
    embedded.wait_until(lambda: embedded.aggregate(thread).run.attempt == 2, "the next attempt has begun")
    before = embedded.counts.snapshot()
    installation._repair_failed(record(f"{thread}-1-1", status))
    embedded.wait_until(lambda: embedded.counts.since(before)[0].get("store.get"), "it is looked at")
    assert embedded.aggregate(thread).run.attempt == 2, "what was done already is not done again"
    embedded.let_go()
    embedded.rest(thread, turns=1, moving=1.0)
    assert_sound(embedded, thread)


@pytest.mark.parametrize(
    ("system", "status"),
    [*(("embedded", status) for status in BADLY), ("aws", ExecutionStatus.FAILED)],
    indirect=["system"],
)
def test_eventbridge_tells_of_an_execution_that_ended_badly(system: System, status: ExecutionStatus) -> None:
    system.agent(script=[{"when": "hello", "text": "At last."}])
    thread = system.start("Hello", "talker")
    system.rest(thread, turns=1)
    detail = {"name": f"{thread}-1-1", "status": status.value}
    event = {"detail-type": "Step Functions Execution Status Change", "detail": detail}
    assert pass_by(event)["restarted"] == 0, "it lives"
    nested = {**event, "detail": {**detail, "name": f"{thread}-1-1-0ae7b872480a5002add4"}}
    assert pass_by(nested) == NOTHING_DONE
    assert pass_by({**event, "detail": {**detail, "name": "of another machine"}}) == NOTHING_DONE


def test_an_execution_that_succeeded_is_nobodys_business(embedded: System) -> None:
    before = embedded.counts.snapshot()
    installation._repair_failed(record("any", ExecutionStatus.SUCCEEDED))
    assert embedded.counts.since(before)[0] == {}


def test_a_pass_ends_in_time_and_the_next_ones_reach_the_rest(
    embedded: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    unsignalled(embedded, monkeypatch, 9)
    embedded.clock.advance(SIGNAL_GRACE_SECONDS + 1)
    seen: list[str] = []
    shipped = rules.examine

    def slow(runtime: Any, thread_id: str, done: Repaired, **options: Any) -> None:
        shipped(runtime, thread_id, done, **options)
        seen.append(thread_id)
        embedded.clock.advance(PASS_SECONDS / 3)

    monkeypatch.setattr(rules, "examine", slow)
    for passes in (1, 2, 3):
        pass_by()
        assert len(seen) == 3 * passes
        for thread in seen:
            embedded.rest(thread, turns=1)
    assert len(set(seen)) == 9


def test_a_pass_reports_what_it_did_even_if_a_thread_of_it_failed(
    embedded: System, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PARLEY_BACKEND", "aws")
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Parley")
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "repair")
    pass_by()
    assert capsys.readouterr().out == "", "nothing was found, nothing is said"
    good, bad = unsignalled(embedded, monkeypatch, 2)
    embedded.clock.advance(SIGNAL_GRACE_SECONDS + 1)
    shipped = rules.examine

    def fails(runtime: Any, thread_id: str, done: Repaired, **options: Any) -> None:
        if thread_id == bad:
            raise ZeroDivisionError
        shipped(runtime, thread_id, done, **options)

    with monkeypatch.context() as broken:
        broken.setattr(rules, "examine", fails)
        with pytest.raises(ZeroDivisionError):
            pass_by()
    reported = json.loads(capsys.readouterr().out)
    assert {name: reported[name] for name in ("SignalsRepaired", "RunsRestarted", "RepairsFailed")} == {
        "SignalsRepaired": [1.0],
        "RunsRestarted": [0.0],
        "RepairsFailed": [1.0],
    }
    assert reported["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "Parley"
    pass_by()
    for thread in (good, bad):
        embedded.rest(thread, turns=1)
    assert wiring.runtime() is embedded.runtime
