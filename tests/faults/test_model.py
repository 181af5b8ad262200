"""Any conversation, any accident: what was accepted is answered once, in order; only what was approved is done.

The use cases run over a store whose worker dies or stalls at any call, and over an orchestrator whose signals
are lost, late or doubled; the state machine is the shipped one. In the end everybody who stalled goes on,
repair passes by every minute, and the thread has to come to rest by that alone.

``PARLEY_FAULTS=1000`` asks for that many longer examples per backend in place of the suite's few.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from parley.clock import MovableClock
from parley.domain import keys
from parley.domain.agents import Agent
from parley.domain.conversation import QUEUE_LIMIT, Conversation, Phase, RunStatus
from parley.domain.errors import Conflict, TooManyQueued
from parley.domain.messages import Message, MessageKind
from parley.domain.proposals import Outcome, Proposal
from parley.embedded.blobs import FolderBlobs
from parley.embedded.database import Database
from parley.embedded.store import SqliteStore
from parley.turns import accept_message, conversations, projects
from parley.turns.accept_message import NewMessage
from parley.turns.cancel import cancel
from parley.turns.decide import DecisionRequest, decide
from parley.turns.event_log import first_seq, parse_events
from parley.turns.ports import ExecutionStatus, Store
from parley.turns.repair import repair_due, repair_execution
from parley.turns.runtime import Runtime
from parley.wiring import handler, use
from tests.support.faulty import (
    Died,
    Fault,
    FaultyOrchestrator,
    FaultyStore,
    NobodyListens,
    OneProvider,
    OutsideSystem,
    Zombie,
)
from tests.support.memory_store import MemoryStore
from tests.support.stepper import READY, Stepper, TaskFailed

EXAMPLES = int(os.environ.get("PARLEY_FAULTS", "0"))
INACTIVITY, CONFIRMATION = 7_200, 86_400
MINUTE = 60.0
REST = 4_000.0
"""Seconds within which repair alone has to bring a thread to rest: less than the inactivity time."""

WHICH = st.integers(0, 7)
DEATHS = st.builds(Fault, st.just("dies"), st.integers(1, 9), st.booleans())
MAYBE_DEATH = st.none() | DEATHS
STALLS = st.builds(Fault, st.just("stalls"), st.integers(1, 9), st.booleans())


class Sent(NamedTuple):
    """A message as a client sent it, and what it was told: its id, or None while it does not know."""

    client_id: str
    content: str


class Conversations(RuleBasedStateMachine):
    """``accepted`` are the contents of the messages that were accepted, in that order."""

    backend: ClassVar[str] = "memory"

    def __init__(self) -> None:
        super().__init__()
        self.resources = ExitStack()
        self.clock = MovableClock()
        folder = Path(self.resources.enter_context(tempfile.TemporaryDirectory()))
        self.store = FaultyStore(self._open_store(folder))
        self.stepper = Stepper(self.invoke, self.clock)
        self.orchestrator = FaultyOrchestrator(self.stepper)
        self.world = OutsideSystem()
        self.runtime = Runtime(
            store=self.store,
            blobs=FolderBlobs(folder / "blobs"),
            orchestrator=self.orchestrator,
            pusher=NobodyListens(),
            clock=self.clock,
            providers=OneProvider(),
            functions=self.world,
        )
        use(self.runtime)
        self.fault: Fault | None = None
        self.zombies: list[Zombie] = []
        self.messages: list[Sent] = []
        self.accepted: list[str] = []
        self.decisions: dict[str, Outcome] = {}
        self.thread_id = ""

    def _open_store(self, folder: Path) -> Store:
        if self.backend == "memory":
            return MemoryStore()
        database = Database(folder / "parley.db")
        self.resources.callback(database.close)
        return SqliteStore(database, self.clock)

    @initialize(policy=st.sampled_from(["supersede", "queue"]), turns=st.integers(1, 3), fault=MAYBE_DEATH)
    def a_person_starts_a_conversation(self, policy: Any, turns: int, fault: Fault | None) -> None:
        functions = [
            {"name": name, "implementation": {"kind": "class", "class_name": name}}
            for name in ("note", "refund")
        ]
        facts = {
            "agent_id": "helper",
            "name": "Helper",
            "provider": "talking",
            "model": "any",
            "functions": functions,
            "turns_per_run": turns,
            "inactivity_seconds": INACTIVITY,
            "confirmation_seconds": CONFIRMATION,
            "on_message_while_pending": policy,
        }
        projects.ensure_member(self.runtime, "shop", "ann", projects.Role.OWNER)
        projects.put_agent(self.runtime, "shop", Agent.model_validate(facts))
        message = NewMessage(message="talk 0", client_message_id="c0")
        self.messages.append(Sent("c0", "talk 0"))
        for accident in (fault, None):
            self._guarded(accident, lambda: self._begin(message))
        self.accepted.append("talk 0")

    def _begin(self, message: NewMessage) -> None:
        answer = accept_message.start_thread(self.runtime, "ann", "shop", "helper", message)
        self.thread_id = answer.thread_id

    # Workers.

    def invoke(self, payload: dict[str, Any]) -> Any:
        """A Task's function; ``fault`` is what happens to it."""
        fault, self.fault = self.fault, None
        self.orchestrator.own_token = payload.get("token")

        def work() -> Any:
            self.store.arm(fault, zombie)
            return handler("on_task.dispatch.handler")(payload, None)

        zombie: Zombie | None = None
        if fault is None or fault.kind == "dies":
            return self._dying(work)
        zombie = Zombie(work)
        zombie.start()
        self.orchestrator.own_token = None
        if zombie.stalled:
            self.zombies.append(zombie)
            raise TaskFailed("Sandbox.Timedout")
        if zombie.error is not None:
            raise zombie.error
        return zombie.result

    def _dying(self, work: Any) -> Any:
        try:
            return work()
        except Died:
            raise TaskFailed("Runtime.ExitError") from None
        finally:
            self.orchestrator.own_token = None
            self.store.arm(None)

    def _guarded(self, fault: Fault | None, request: Any) -> Any:
        """A request of a client; None if its worker died on it."""
        self.store.arm(fault)
        try:
            return request()
        except Died:
            return None
        finally:
            self.store.arm(None)

    def conversation(self) -> Conversation:
        return conversations.get(self.runtime, self.thread_id)

    # What people do.

    def _post(self, sent: Sent, fault: Fault | None) -> Any:
        message = NewMessage(message=sent.content, client_message_id=sent.client_id)

        def request() -> Any:
            return accept_message.continue_thread(self.runtime, "ann", "shop", self.thread_id, message)

        try:
            return self._guarded(fault, request)
        except (Conflict, TooManyQueued):
            now = self.conversation()
            assert now.ending or len(now.inbox) == QUEUE_LIMIT
            return None

    @rule(kind=st.sampled_from(["talk", "talk", "act", "act", "act"]), fault=MAYBE_DEATH)
    def a_person_writes(self, kind: str, fault: Fault | None) -> None:
        self._write(f"{kind} {len(self.messages)}", fault)

    @precondition(lambda self: len(self.messages) > 8)
    @rule(fault=MAYBE_DEATH)
    def a_person_ends_the_conversation(self, fault: Fault | None) -> None:
        self._write("/end", fault)

    def _write(self, content: str, fault: Fault | None) -> None:
        sent = Sent(f"c{len(self.messages)}", content)
        self.messages.append(sent)
        answer = self._post(sent, fault)
        now = self.conversation()
        message_id = keys.message_id_for(self.thread_id, sent.client_id)
        if message_id in (*now.inbox, now.run.message_id):
            self.accepted.append(content)
        else:
            assert answer is None, "told that it was accepted"

    @rule(which=WHICH, fault=MAYBE_DEATH)
    def a_client_sends_again(self, which: int, fault: Fault | None) -> None:
        sent = self.messages[which % len(self.messages)]
        known = sent.content in self.accepted
        answer = self._post(sent, fault)
        now = self.conversation()
        message_id = keys.message_id_for(self.thread_id, sent.client_id)
        if not known and message_id in (*now.inbox, now.run.message_id):
            self.accepted.append(sent.content)
        if answer is not None:
            assert answer.message_id == message_id

    @precondition(lambda self: self.conversation().proposals or self.decisions)
    @rule(which=WHICH, approved=st.booleans(), fault=MAYBE_DEATH)
    def a_person_decides(self, which: int, approved: bool, fault: Fault | None) -> None:
        shown = self._proposals()
        proposal = shown[which % len(shown)]
        self._decide(proposal.proposal_id, approved, fault)

    def _decide(self, proposal_id: str, approved: bool, fault: Fault | None = None) -> None:
        request = DecisionRequest(approved=approved)
        result = self._guarded(fault, lambda: decide(self.runtime, "ann", proposal_id, request))
        if result is None:
            return
        if result.outcome == "applied":
            assert proposal_id not in self.decisions
            assert result.decision is (Outcome.APPROVED if approved else Outcome.DECLINED)
        assert self.decisions.setdefault(proposal_id, result.decision) is result.decision

    def _proposals(self) -> list[Proposal]:
        shown = [entry.proposal_id for entry in self.conversation().proposals] + sorted(self.decisions)
        items = [self.store.get(keys.proposal_partition(entry), keys.PROPOSAL) for entry in shown]
        return [Proposal.model_validate_json(item.body) for item in items if item]

    @precondition(lambda self: self.conversation().turn and not self.conversation().cancelled)
    @rule(fault=MAYBE_DEATH)
    def a_person_cancels(self, fault: Fault | None) -> None:
        self._guarded(fault, lambda: cancel(self.runtime, "ann", "shop", self.thread_id))

    # What the world does.

    @rule(which=WHICH, steps=st.integers(1, 15), late=st.booleans())
    def tasks_run(self, which: int, steps: int, late: bool) -> None:
        for _ in range(steps):
            self._step(which, None)
        if late and self.zombies:
            self.a_stalled_worker_goes_on(which)

    @rule(which=WHICH, before=st.integers(0, 9), fault=DEATHS | STALLS)
    def a_task_has_an_accident(self, which: int, before: int, fault: Fault) -> None:
        if not self.orchestrator.sent and not self.stepper.ready():
            self._write(f"act {len(self.messages)}", None)
        for _ in range(before):
            self._step(which, None)
        self._step(which, fault)

    def _step(self, which: int, fault: Fault | None) -> None:
        for signal in self._take_signals():
            self.orchestrator.deliver(signal)
        if ready := self.stepper.ready():
            branch = ready[which % len(ready)]
            while fault and branch.status == READY and not self.stepper.at_task(branch):
                self.stepper.step(branch)
            self.fault = fault
            if branch.status == READY:
                self.stepper.step(branch)
            self.fault = None

    def _take_signals(self) -> list[tuple[str, Any]]:
        taken, self.orchestrator.sent = self.orchestrator.sent, []
        return taken

    @precondition(lambda self: self.orchestrator.sent)
    @rule(which=WHICH, fate=st.sampled_from(["arrives", "arrives", "is lost", "arrives twice"]))
    def a_signal(self, which: int, fate: str) -> None:
        signal = self.orchestrator.sent.pop(which % len(self.orchestrator.sent))
        for _ in range({"arrives": 1, "is lost": 0, "arrives twice": 2}[fate]):
            self.orchestrator.deliver(signal)

    @rule(which=WHICH, told=st.booleans())
    def an_execution_dies(self, which: int, told: bool) -> None:
        running = [e for e in self.stepper.executions.values() if e.status is ExecutionStatus.RUNNING]
        if running:
            name = running[which % len(running)].name
            self.stepper.kill(name)
            if told:
                repair_execution(self.runtime, name)

    @precondition(lambda self: self.zombies)
    @rule(which=WHICH)
    def a_stalled_worker_goes_on(self, which: int) -> None:
        self.zombies.pop(which % len(self.zombies)).go_on()

    @rule(seconds=st.sampled_from([1.0, 10.0, 70.0, 1_000.0, INACTIVITY + 100.0, CONFIRMATION + 100.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.stepper.fire_timers()

    @rule(fault=MAYBE_DEATH)
    def repair_passes(self, fault: Fault | None) -> None:
        self._guarded(fault, lambda: repair_due(self.runtime))

    # What holds at any time.

    @invariant()
    def only_what_was_approved_is_done(self) -> None:
        for class_name, key in self.world.done:
            if class_name == "refund":
                item = self.store.get(keys.proposal_partition(key), keys.PROPOSAL)
                assert item is not None
                decision = Proposal.model_validate_json(item.body).decision
                assert decision is not None
                assert decision.outcome is Outcome.APPROVED

    def teardown(self) -> None:
        try:
            if self.thread_id:
                self._come_to_rest()
                self._check_history()
                self._check_log()
        finally:
            for zombie in self.zombies:
                zombie.go_on()
            use(None)
            self.resources.close()

    def _come_to_rest(self) -> None:
        while self.zombies:
            self.zombies.pop().go_on()
        until = self.clock.now() + REST
        while self.clock.now() < until:
            self._work()
            conversation = self.conversation()
            waiting = [entry for entry in conversation.proposals if entry.outcome is None]
            for entry in waiting:
                self._decide(entry.proposal_id, approved=True)
            idle = conversation.run.status in (RunStatus.PARKED, RunStatus.CLOSED)
            if idle and not conversation.run.message_id and not conversation.inbox and not waiting:
                return
            self.clock.advance(MINUTE)
            self.stepper.fire_timers()
            repair_due(self.runtime)
        raise AssertionError(f"not at rest: {self.conversation()!r}\n{self._where()}")

    def _work(self) -> None:
        """Deliver every signal and run every Task, until there is nothing more to do now."""
        for _ in range(1_000):
            if not self.orchestrator.sent and not self.stepper.ready():
                return
            self._step(0, None)
        raise AssertionError(f"it never ends\n{self._where()}")

    def _where(self) -> str:
        lines = [f"{e.name} {e.status} {e.entered[-8:]}" for e in self.stepper.executions.values()]
        return "\n".join(lines)

    def _check_history(self) -> None:
        conversation = self.conversation()
        items = self.store.query(
            keys.thread_partition(self.thread_id), keys.messages(self.thread_id), limit=10_000
        )
        history = [Message.model_validate_json(item.body) for item in items]
        asked = [message for message in history if message.kind is MessageKind.USER_MESSAGE]
        answered = [message.content for message in asked]
        if conversation.phase is Phase.COMPLETED:
            answered.append("/end")
        assert answered == self.accepted
        assert [message.turn for message in asked] == list(range(1, conversation.turns + 1))
        for turn in range(1, conversation.turns + 1):
            self._check_turn([message for message in history if message.turn == turn])

    def _check_turn(self, turn: list[Message]) -> None:
        said = turn[0].content
        for message in turn:
            if message.kind is MessageKind.ASSISTANT_MESSAGE:
                assert message.content == f"answer to {said}"
            calls = {call.tool_call_id for call in message.tool_calls}
            responses = [m.metadata["tool_call_id"] for m in turn if m.kind is MessageKind.TOOL_RESPONSE]
            assert calls <= set(responses)
            assert len(responses) == len(set(responses))

    def _check_log(self) -> None:
        items = self.store.query(keys.thread_partition(self.thread_id), keys.EVENTS, limit=10_000)
        expected = 1
        ids: Counter[str] = Counter()
        names: Counter[str] = Counter()
        for item in items:
            assert first_seq(item) == expected
            events = parse_events(item.body)
            expected += len(events)
            ids.update(event["id"] for event in events if event["id"])
            names.update(event["event"] for event in events)
        assert [event_id for event_id, times in ids.items() if times > 1] == []
        conversation = self.conversation()
        assert names["UserMessage"] == conversation.turns
        assert names["ThreadEnd"] + names["TurnFailed"] + names["TurnCancelled"] >= conversation.turns


class OverSqlite(Conversations):
    backend = "sqlite"


def _profile(examples: int) -> settings:
    return settings(
        max_examples=EXAMPLES or examples,
        stateful_step_count=200 if EXAMPLES else 50,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


TestConversations = Conversations.TestCase
TestConversations.settings = _profile(40)
TestConversationsOverSqlite = OverSqlite.TestCase
TestConversationsOverSqlite.settings = _profile(12)
