"""Any conversation, any accident: what was accepted is answered once, in order; only what was approved is done.

The use cases run over a store whose worker dies or stalls at any call, and over an orchestrator whose signals
are lost, late or doubled; the state machine is the shipped one. In the end everybody who stalled goes on,
repair passes by every minute, and the thread has to come to rest by that alone.

``PARLEY_FAULTS=1000`` asks for that many longer examples per backend in place of the suite's few, and for the
smallest one that fails, which takes minutes to find.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from parley.domain import keys
from parley.domain.proposals import Outcome, Proposal
from parley.turns.ports import ExecutionStatus
from parley.turns.repair import repair_due, repair_execution
from tests.faults.world import CONFIRMATION, INACTIVITY, World
from tests.support.faulty import Fault

EXAMPLES = int(os.environ.get("PARLEY_FAULTS", "0"))

WHICH = st.integers(0, 7)
DEATHS = st.builds(Fault, st.just("dies"), st.integers(1, 9), st.booleans())
MAYBE_DEATH = st.none() | DEATHS
STALLS = st.builds(Fault, st.just("stalls"), st.integers(1, 9), st.booleans())


class InMemory(World):
    backend = "memory"


class OverSqlite(World):
    backend = "sqlite"


class Conversations(RuleBasedStateMachine):
    """What may happen, in any order."""

    make: type[World] = InMemory

    def __init__(self) -> None:
        super().__init__()
        self.world = self.make()

    @initialize(
        policy=st.sampled_from(["supersede", "queue", "reject"]), turns=st.integers(1, 3), fault=MAYBE_DEATH
    )
    def a_person_starts_a_conversation(self, policy: str, turns: int, fault: Fault | None) -> None:
        self.world.begin(policy, turns, fault)

    # What people do.

    @rule(kind=st.sampled_from(["talk", "act", "act", "ask", "ask", "deep"]), fault=MAYBE_DEATH)
    def a_person_writes(self, kind: str, fault: Fault | None) -> None:
        self.world.write(f"{kind} {len(self.world.messages)}", fault)

    @precondition(lambda self: len(self.world.messages) > 8)
    @rule(fault=MAYBE_DEATH)
    def a_person_ends_the_conversation(self, fault: Fault | None) -> None:
        self.world.write("/end", fault)

    @rule(which=WHICH, fault=MAYBE_DEATH)
    def a_client_sends_again(self, which: int, fault: Fault | None) -> None:
        sent = self.world.messages[which % len(self.world.messages)]
        known = sent.content in self.world.accepted
        answer = self.world.post(sent, fault)
        now = self.world.conversation()
        message_id = keys.message_id_for(self.world.thread_id, sent.client_id)
        if not known and message_id in (*now.inbox, now.run.message_id):
            self.world.accepted.append(sent.content)
        if answer is not None:
            assert answer.message_id == message_id

    @precondition(lambda self: self.world.conversation().proposals or self.world.decisions)
    @rule(which=WHICH, approved=st.booleans(), fault=MAYBE_DEATH)
    def a_person_decides(self, which: int, approved: bool, fault: Fault | None) -> None:
        shown = self._proposals()
        proposal = shown[which % len(shown)]
        self.world.decide(proposal.proposal_id, approved, fault)

    def _proposals(self) -> list[Proposal]:
        shown = [entry.proposal_id for entry in self.world.conversation().proposals] + sorted(
            self.world.decisions
        )
        items = [self.world.store.get(keys.proposal_partition(entry), keys.PROPOSAL) for entry in shown]
        return [Proposal.model_validate_json(item.body) for item in items if item]

    @precondition(lambda self: self.world.conversation().run.message_id)
    @rule(fault=MAYBE_DEATH)
    def a_person_cancels(self, fault: Fault | None) -> None:
        self.world.cancel(fault)

    # What the world does.

    @rule(which=WHICH, steps=st.integers(1, 15), late=st.booleans())
    def tasks_run(self, which: int, steps: int, late: bool) -> None:
        for _ in range(steps):
            self.world.step(which, None)
        if late and self.world.zombies:
            self.a_stalled_worker_goes_on(which)

    @rule(which=WHICH, before=st.integers(0, 9), fault=DEATHS | STALLS)
    def a_task_has_an_accident(self, which: int, before: int, fault: Fault) -> None:
        if not self.world.orchestrator.sent and not self.world.stepper.ready():
            self.world.write(f"act {len(self.world.messages)}", None)
        for _ in range(before):
            self.world.step(which, None)
        self.world.step(which, fault)

    @precondition(lambda self: self.world.orchestrator.sent)
    @rule(which=WHICH, fate=st.sampled_from(["arrives", "arrives", "is lost", "arrives twice"]))
    def a_signal(self, which: int, fate: str) -> None:
        signal = self.world.orchestrator.sent.pop(which % len(self.world.orchestrator.sent))
        for _ in range({"arrives": 1, "is lost": 0, "arrives twice": 2}[fate]):
            self.world.orchestrator.deliver(signal)

    @rule(which=WHICH, told=st.booleans())
    def an_execution_dies(self, which: int, told: bool) -> None:
        running = [e for e in self.world.stepper.executions.values() if e.status is ExecutionStatus.RUNNING]
        if running:
            name = running[which % len(running)].name
            self.world.stepper.kill(name)
            if told:
                repair_execution(self.world.runtime, name)

    @precondition(lambda self: self.world.zombies)
    @rule(which=WHICH)
    def a_stalled_worker_goes_on(self, which: int) -> None:
        self.world.zombies.pop(which % len(self.world.zombies)).go_on()

    @rule(seconds=st.sampled_from([1.0, 10.0, 70.0, 1_000.0, INACTIVITY + 100.0, CONFIRMATION + 100.0]))
    def time_passes(self, seconds: float) -> None:
        self.world.time_passes(seconds)

    @rule(fault=MAYBE_DEATH)
    def repair_passes(self, fault: Fault | None) -> None:
        self.world.guarded(fault, lambda: repair_due(self.world.runtime))

    # What holds at any time, and in the end.

    @invariant()
    def only_what_was_approved_is_done(self) -> None:
        for class_name, key in self.world.outside.done:
            if class_name == "refund":
                item = self.world.store.get(keys.proposal_partition(key), keys.PROPOSAL)
                assert item is not None
                decision = Proposal.model_validate_json(item.body).decision
                assert decision is not None
                assert decision.outcome is Outcome.APPROVED

    def teardown(self) -> None:
        self.world.close()


class ConversationsOverSqlite(Conversations):
    make = OverSqlite


def _profile(examples: int) -> settings:
    return settings(
        max_examples=EXAMPLES or examples,
        stateful_step_count=200 if EXAMPLES else 50,
        deadline=None,
        phases=set(Phase) - (set() if EXAMPLES else {Phase.shrink, Phase.explain}),
        suppress_health_check=list(HealthCheck),
    )


TestConversations = Conversations.TestCase
TestConversations.settings = _profile(30)
TestConversationsOverSqlite = ConversationsOverSqlite.TestCase
TestConversationsOverSqlite.settings = _profile(8)
