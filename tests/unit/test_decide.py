"""Decisions on actions: what is asked for, what counts, what is kept of it, and what is told of the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from parley.domain import keys
from parley.domain.agents import AgentFunction
from parley.domain.errors import InvalidRequest
from parley.domain.messages import Message
from parley.domain.proposals import Outcome
from parley.prompts.prompt import Prompt
from parley.turns.calls import REFUSALS, read_proposal
from parley.turns.conversations import sortable
from parley.turns.decide import DecisionRequest, decide, pending_proposals
from parley.turns.function_ports import FunctionCall, FunctionOutcome, FunctionSpec, RemoteCall
from parley.turns.model_ports import Delta, Finish, ToolArgumentsDelta, ToolCallStart
from parley.turns.ports import IndexKey, Item
from parley.turns.records import put
from tests.faults.test_accidents import an_execution_dies, names, reach
from tests.faults.world import CONFIRMATION, World
from tests.support.faulty import OutsideSystem, TalkingProvider
from tests.support.models import OneProvider


class Paying(TalkingProvider):
    """Calls ``refund`` with an amount when asked to pay."""

    def stream(self, prompt: Prompt) -> Iterator[Delta]:
        if prompt.messages[-1].content != "pay":
            yield from super().stream(prompt)
            return
        yield ToolCallStart(0, "refund")
        yield ToolArgumentsDelta(0, '{"amount": 3}')
        yield Finish("tool_calls")


class Till(OutsideSystem):
    """Keeps what it was called with."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[dict[str, Any]] = []
        self.wrong: str | None = None

    def fault(self, function: AgentFunction, arguments: dict[str, Any]) -> str | None:
        return self.wrong

    def call(self, call: FunctionCall | RemoteCall) -> FunctionOutcome:
        self.given.append(call.arguments)
        return super().call(call)


class Slow:
    """A store in which a minute passes behind each message."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world.store, name)

    def put(self, item: Item, *, if_version: int | None) -> Item:
        stored = self._world.store.put(item, if_version=if_version)
        if item.sort.startswith("MESSAGE#"):
            self._world.clock.advance(60)
        return stored


class Interrupting:
    """A store behind whose next read of a proposal something happens."""

    def __init__(self, world: World, happens: Callable[[], object]) -> None:
        self._store = world.store
        self._happens: Callable[[], object] | None = happens

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def get(self, partition: str, sort: str) -> Item | None:
        item = self._store.get(partition, sort)
        if sort == keys.PROPOSAL and self._happens:
            happens, self._happens = self._happens, None
            happens()
        return item


@pytest.fixture
def asked(world: World) -> tuple[World, str, Till]:
    """A conversation in which one action waits; its proposal, and what would carry it out."""
    till = Till()
    world.outside = till
    world.use(replace(world.runtime, functions=till, providers=OneProvider(Paying())))
    world.work()
    world.write("pay")
    world.work()
    (entry,) = world.conversation().proposals
    return world, entry.proposal_id, till


def post(world: World, proposal_id: str, **request: Any) -> tuple[str, Outcome]:
    """Decide as the one who asked; the outcome, and what stands."""
    result = decide(world.runtime, "ann", proposal_id, DecisionRequest(**request))
    world.decisions.setdefault(proposal_id, result.decision)
    return result.outcome, result.decision


def recorded(world: World, proposal_id: str) -> Any:
    """The decision in the proposal's own record."""
    stored = read_proposal(world.runtime, proposal_id)
    assert stored is not None
    return stored.value.decision


def test_arguments_that_a_person_emptied_are_empty(asked: tuple[World, str, Till]) -> None:
    world, proposal_id, till = asked
    assert post(world, proposal_id, approved=True, arguments={}) == ("applied", Outcome.APPROVED)
    assert pending_proposals(world.runtime, "ann", "shop") == []
    world.work()
    (told,) = [event["data"] for event in world.events() if event["event"] == "ActionConfirmed"]
    assert [*till.given, told["arguments"], recorded(world, proposal_id).arguments] == [{}, {}, {}]


def test_nobody_is_asked_about_arguments_that_are_wrong_and_they_run_nowhere(
    asked: tuple[World, str, Till],
) -> None:
    world, proposal_id, till = asked
    post(world, proposal_id, approved=False)
    till.wrong = "Validation failed: the refund did not run, amount is too small"
    world.write("pay")
    world.work()
    assert (world.conversation().turns, till.given) == (3, [])
    responses = [event["data"] for event in world.events() if event["event"] == "ToolResponse"]
    assert (responses[-1]["content"], responses[-1]["ok"]) == (till.wrong, False)
    assert names(world).count("ActionRequiresConfirmation") == 1


@pytest.mark.parametrize("arguments", [{"amount": 5}, {}])
def test_arguments_sent_with_a_refusal_decide_nothing(
    asked: tuple[World, str, Till], arguments: dict[str, Any]
) -> None:
    world, proposal_id, till = asked
    with pytest.raises(InvalidRequest, match="go with an approval") as refused:
        post(world, proposal_id, approved=False, arguments=arguments)
    assert refused.value.type == "invalid_arguments"
    assert [each.proposal_id for each in pending_proposals(world.runtime, "ann", "shop")] == [proposal_id]
    assert post(world, proposal_id, approved=False) == ("applied", Outcome.DECLINED)
    world.work()
    assert (recorded(world, proposal_id).arguments, till.given) == (None, [])
    record = world.store.get(keys.proposal_partition(proposal_id), keys.PROPOSAL)
    assert record is not None
    assert record.version == 2  # made and decided


def test_what_can_be_decided_no_more_is_not_listed(asked: tuple[World, str, Till]) -> None:
    world, proposal_id, _ = asked
    assert [each.proposal_id for each in pending_proposals(world.runtime, "ann", "shop")] == [proposal_id]
    world.clock.advance(CONFIRMATION)
    assert pending_proposals(world.runtime, "ann", "shop") == []


def test_what_waits_for_a_person_is_listed_however_much_others_are_asked(
    asked: tuple[World, str, Till],
) -> None:
    world, proposal_id, _ = asked
    mine = read_proposal(world.runtime, proposal_id)
    assert mine is not None
    world.clock.advance(1)
    order = sortable(world.clock.now())
    for number in range(250):
        other = mine.value.but(proposal_id=f"other-{number}", user_id="eve")
        listed = IndexKey(keys.listed_proposals("shop"), f"{order}#{other.proposal_id}")
        partition = keys.proposal_partition(other.proposal_id)
        put(world.runtime, partition, keys.PROPOSAL, other, if_version=0, listed=listed)
    assert [each.proposal_id for each in pending_proposals(world.runtime, "ann", "shop")] == [proposal_id]


def test_an_action_expires_its_time_after_the_reply_that_asked_for_it(world: World) -> None:
    world.work()
    world.use(replace(world.runtime, store=Slow(world)))
    world.write("act now")
    reach(world, "AwaitConfirmation")
    (reply,) = [
        item
        for item in world.store.query(f"THREAD#{world.thread_id}", keys.messages(world.thread_id, 2))
        if "ASSISTANT" in item.body
    ]
    expiries = {entry.expires_at for entry in world.conversation().proposals}
    assert expiries == {Message.model_validate_json(reply.body).timestamp + CONFIRMATION}


@pytest.mark.parametrize("first", [True, False])
def test_a_decision_that_is_overtaken_by_another_and_the_turns_end_is_told_which(
    asked: tuple[World, str, Till], first: bool
) -> None:
    world, proposal_id, till = asked

    def overtake() -> None:
        world.decide(proposal_id, approved=first)
        world.work()

    runtime = replace(world.runtime, store=Interrupting(world, overtake))
    result = decide(runtime, "ann", proposal_id, DecisionRequest(approved=not first))
    stands = Outcome.APPROVED if first else Outcome.DECLINED
    assert (result.outcome, result.decision) == ("duplicate", stands)
    assert len(till.given) == first


def test_a_call_that_was_cancelled_before_it_began_does_not_run(world: World) -> None:
    world.work()
    world.write("act now")
    reach(world, "RunTool")
    world.cancel()
    world.work()
    assert not world.outside.done
    responses = [event["data"] for event in world.events() if event["event"] == "ToolResponse"]
    assert [data["content"] for data in responses] == 3 * [REFUSALS[Outcome.CANCELLED]]
    assert "TurnCancelled" in names(world)


@pytest.fixture
def waiting(world: World) -> World:
    """Of three calls of a reply one has run, and two wait for a decision; then the execution dies."""
    world.work()
    world.write("act now")
    world.work()
    assert len(world.conversation().proposals) == 2
    return world


def test_a_call_that_has_its_response_does_not_run_again(waiting: World) -> None:
    an_execution_dies(waiting)
    waiting.work()
    assert waiting.conversation().run.attempt == 2
    assert [count for (name, _), count in waiting.outside.done.items() if name == "note"] == [1]


def test_a_call_that_has_its_response_is_not_asked_about_though_it_needs_approval_by_now(
    waiting: World,
) -> None:
    class Strict(Till):
        def spec(self, class_name: str) -> FunctionSpec:
            return FunctionSpec(class_name, "", {"type": "object"}, True, None)

    an_execution_dies(waiting)
    waiting.outside = Strict()
    waiting.use(replace(waiting.runtime, functions=waiting.outside))
    waiting.work()
    outcomes = {entry.outcome for entry in waiting.conversation().proposals if entry.token is None}
    assert len(waiting.conversation().proposals) == 3
    assert outcomes == {Outcome.CANCELLED}


def test_an_action_that_expired_while_nothing_ran_is_not_waited_for_again(waiting: World) -> None:
    waiting.clock.advance(CONFIRMATION)
    an_execution_dies(waiting)
    waiting.work()
    assert waiting.conversation().turns == 2
    told = [event["data"]["reason"] for event in waiting.events() if event["event"] == "ActionRejected"]
    assert told == ["expired", "expired"]
