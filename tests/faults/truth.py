"""What has to be true of a conversation that came to rest, whatever happened to it."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from parley.domain import keys
from parley.domain.conversation import Conversation, Phase
from parley.domain.events import BETWEEN_TURNS, TURN_ENDS
from parley.domain.messages import Message, MessageKind
from parley.domain.proposals import Outcome, Proposal
from parley.turns.calls import REFUSALS
from parley.turns.event_log import LoggedEvent, first_seq, parse_events
from parley.turns.history import SEALS
from parley.turns.ports import Store
from parley.turns.stopping import PERHAPS_RAN
from parley.turns.task import Subthread

DONE = "refund done"
"""What the function says that acts."""


def check_history(store: Store, conversation: Conversation, accepted: list[str]) -> None:
    """Each accepted message has one turn, in order; each call one response; a stopped turn nothing behind its end."""
    history = _messages(store, conversation, conversation.thread_id)
    asked = [message for message in history if message.kind is MessageKind.USER_MESSAGE]
    answered = [message.content for message in asked]
    if conversation.phase is Phase.COMPLETED:
        answered.append("/end")
    assert answered == accepted
    assert [message.turn for message in asked] == list(range(1, conversation.turns + 1))
    for turn in range(1, conversation.turns + 1):
        check_turn([message for message in history if message.turn == turn])
    for subthread in _subthreads(store, conversation):
        assert subthread.done
        inner = _messages(store, conversation, subthread.subthread_id)
        for turn in range(1, subthread.turn + 1):
            check_turn([message for message in inner if message.turn == turn])


def check_turn(turn: list[Message]) -> None:
    """A turn's messages: its question, replies with a response to each call, a last reply or what stopped it."""
    said = turn[0].content
    for message in turn:
        if message.kind is MessageKind.ASSISTANT_MESSAGE:
            assert message.content == f"answer to {said}"
    calls = [call.tool_call_id for message in turn for call in message.tool_calls]
    responses = [m.metadata["tool_call_id"] for m in turn if m.kind is MessageKind.TOOL_RESPONSE]
    assert sorted(calls) == sorted(responses)
    assert turn[-1].kind in (MessageKind.ASSISTANT_MESSAGE, *SEALS)
    assert not any(message.kind in SEALS for message in turn[:-1])


def _messages(store: Store, conversation: Conversation, thread_id: str) -> list[Message]:
    items = store.query(keys.thread_partition(conversation.thread_id), keys.messages(thread_id), limit=10_000)
    return [Message.model_validate_json(item.body) for item in items]


def _subthreads(store: Store, conversation: Conversation) -> list[Subthread]:
    items = store.query(keys.thread_partition(conversation.thread_id), keys.subthread(""), limit=10_000)
    return [Subthread.model_validate_json(item.body) for item in items]


def check_log(store: Store, conversation: Conversation) -> None:
    """``seq`` is 1, 2, 3, …; no event is there twice; each turn ends once, and nothing of it comes behind."""
    items = store.query(keys.thread_partition(conversation.thread_id), keys.EVENTS, limit=10_000)
    expected = 1
    ids: Counter[str] = Counter()
    log: list[LoggedEvent] = []
    for item in items:
        assert first_seq(item) == expected
        events = parse_events(item.body)
        expected += len(events)
        ids.update(event["id"] for event in events if event["id"])
        log += events
    twice = [event_id for event_id, times in ids.items() if times > 1]
    assert not twice
    assert sum(event["event"] == "UserMessage" for event in log) == conversation.turns
    assert sorted(_ends(log)) == list(range(1, conversation.turns + 1))
    _check_runs(log, conversation)


def _ends(log: list[LoggedEvent]) -> dict[int, str]:
    """How each turn ended. Nothing of a turn comes behind its end, and turns come in order."""
    ends: dict[int, str] = {}
    for event in log:
        turn = event["turn"]
        if event["event"] in BETWEEN_TURNS:
            assert turn == max(ends, default=0), event
        else:
            assert turn == max(ends, default=0) + 1, event
            if event["event"] in TURN_ENDS and event["sub"] is None:
                ends[turn] = event["event"]
    return ends


def _check_runs(log: list[LoggedEvent], conversation: Conversation) -> None:
    """The log tells the whole chain of runs: each but the last ended or was continued, in order, before the next."""
    chain = [
        (event["data"]["generation"], event["event"])
        for event in log
        if event["event"] in ("RunContinued", "RunEnded")
    ]
    assert chain == sorted(chain, key=lambda entry: (entry[0], entry[1] == "RunEnded"))
    began = {generation for generation, name in chain if name == "RunContinued"}
    ended = {generation for generation, name in chain if name == "RunEnded"}
    for generation in range(1, conversation.run.generation):
        assert (generation in ended) != (generation + 1 in began), chain
    assert conversation.untold == ()


def ends_of(store: Store, conversation: Conversation) -> dict[int, str]:
    """The name of the event with which each turn ended."""
    items = store.query(keys.thread_partition(conversation.thread_id), keys.EVENTS, limit=10_000)
    return _ends([event for item in items for event in parse_events(item.body)])


def check_cancels(
    store: Store, conversation: Conversation, accepted: list[str], cancelled: dict[str, bool]
) -> None:
    """Who was told that a turn will stop, was told the truth; and no turn stopped that nobody asked to."""
    for turn, end in ends_of(store, conversation).items():
        promised = cancelled.get(accepted[turn - 1])
        if promised:
            assert end == "TurnCancelled"
        elif promised is None:
            assert end != "TurnCancelled"


def check_decisions(
    store: Store, conversation: Conversation, told: dict[str, Outcome], done: Counter[tuple[str, str]]
) -> None:
    """People were told what stands, what stands was done, and the models were told so."""
    responses = _responses(store, conversation)
    ends = ends_of(store, conversation)
    for proposal in _proposals(store, conversation, told):
        assert proposal.decision is not None, "left open"
        outcome = proposal.decision.outcome
        assert told.get(proposal.proposal_id, outcome) is outcome
        (response,) = responses[proposal.tool_call_id]
        acted = done["refund", proposal.proposal_id]
        if outcome is Outcome.APPROVED:
            stopped = ends[proposal.root_turn or 0] != "ThreadEnd"
            if acted:
                assert response == DONE or (stopped and PERHAPS_RAN in response)
            assert acted or stopped or response.startswith("refund failed: ")
        else:
            assert not acted
            assert response == REFUSALS[outcome] or "did not run" in response


def _responses(store: Store, conversation: Conversation) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    threads = [conversation.thread_id, *(sub.subthread_id for sub in _subthreads(store, conversation))]
    for thread in threads:
        for message in _messages(store, conversation, thread):
            if message.kind is MessageKind.TOOL_RESPONSE:
                found[message.metadata["tool_call_id"]].append(message.content)
    return found


def _proposals(store: Store, conversation: Conversation, told: dict[str, Outcome]) -> list[Proposal]:
    """All that were shown in the log, and those that somebody decided."""
    items = store.query(keys.thread_partition(conversation.thread_id), keys.EVENTS, limit=10_000)
    log = [event for item in items for event in parse_events(item.body)]
    shown = {e["data"]["proposal_id"] for e in log if e["event"] == "ActionRequiresConfirmation"}
    return [_proposal(store, proposal_id) for proposal_id in sorted(shown | set(told))]


def _proposal(store: Store, proposal_id: str) -> Proposal:
    item: Any = store.get(keys.proposal_partition(proposal_id), keys.PROPOSAL)
    return Proposal.model_validate_json(item.body)
