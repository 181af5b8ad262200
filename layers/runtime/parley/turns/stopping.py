"""Stopping a turn that has no reply: nothing waits for approval, every call has a response, its place is sealed.

Of the root's turn or of a subthread's, with all that is open below it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from parley.domain import keys
from parley.domain.conversation import Conversation, OpenProposal
from parley.domain.events import EventName, NewEvent
from parley.domain.messages import Message, MessageKind
from parley.domain.proposals import Outcome
from parley.turns import history
from parley.turns.calls import (
    REFUSALS,
    OpenCall,
    decision_events,
    decision_of,
    read_proposal,
    respond,
    response_event,
    settle,
    shown_id,
)
from parley.turns.closing import withdraw_proposals
from parley.turns.event_log import EventLog
from parley.turns.function_ports import FunctionOutcome, stopped
from parley.turns.ports import ConditionFailed
from parley.turns.projects import agent_to_stop
from parley.turns.records import load, put
from parley.turns.runtime import Runtime
from parley.turns.task import Scope, Subthread, Task, subthread_scope

PERHAPS_RAN = "This call had perhaps begun: it may have been carried out, or in part, or not at all."
"""What the model is told of a call that nobody saw the end of."""
_LOOK_FIRST = "An action was interrupted and may have been carried out: look before you ask for it again."
"""What the person is told of a turn that failed with such a call."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a turn is stopped. ``words`` are for the person; ``unrun`` and ``perhaps`` for the model, of a call that
    certainly did not run and of any other.
    """

    kind: MessageKind
    words: str
    unrun: str
    perhaps: str
    metadata: dict[str, Any] = field(default_factory=dict)

    def answer(self, *, unrun: bool) -> FunctionOutcome:
        """The response of a call that has no other."""
        content = self.unrun if unrun else self.perhaps
        if self.kind is MessageKind.TURN_CANCELLED:
            return stopped(content, unrun=unrun)
        return FunctionOutcome(content, ok=False)


CANCELLED = Stop(
    MessageKind.TURN_CANCELLED,
    "This turn was cancelled.",
    REFUSALS[Outcome.CANCELLED],
    f"The user cancelled this turn. {PERHAPS_RAN}",
)


def failed(words: str, **metadata: Any) -> Stop:
    """A turn that failed, with what the person is told of it."""
    unrun = f"The turn failed: {words} The action did not run."
    return Stop(MessageKind.TURN_FAILED, words, unrun, f"The turn failed: {words} {PERHAPS_RAN}", metadata)


def stop_turn(runtime: Runtime, task: Task, log: EventLog, scope: Scope, stop: Stop) -> Message:
    """Close what is open and seal the turn; the message that seals it, an earlier try's if there was one.

    A reply that is recorded meanwhile, by a model call that goes on, is closed like the one before it.
    """
    conversation = withdraw_proposals(runtime, task, scope).value
    agent = agent_to_stop(runtime, conversation.project_id, scope.agent_id)
    while True:
        perhaps = False
        messages = history.recent(runtime, scope, agent.history_window)
        replies = [m for m in messages if m.turn == scope.turn and m.role == "assistant"]
        for index, call in enumerate(replies[-1].tool_calls if replies else ()):
            last = replies[-1]
            opened = OpenCall(scope, agent, last, call, index, last.step, agent.function(call.name))
            response = next((m for m in messages if _answers(m, opened)), None)
            if response is None:
                response = _stop_call(runtime, task, log, opened, conversation, stop)
            elif task.rerun:  # whoever recorded it may have died before it was told
                log.append(response_event(opened, response))
            perhaps |= PERHAPS_RAN in response.content
        step = replies[-1].step + 1 if replies else 1
        sealed = history.seal(runtime, scope, _seal(runtime, scope, stop, step, perhaps=perhaps))
        if sealed.kind in history.SEALS:
            return sealed


def _answers(message: Message, opened: OpenCall) -> bool:
    place = (message.turn, message.step, message.call)
    mine = (opened.scope.turn, opened.step, opened.index)
    return message.kind is MessageKind.TOOL_RESPONSE and place == mine


def _stop_call(
    runtime: Runtime, task: Task, log: EventLog, opened: OpenCall, conversation: Conversation, stop: Stop
) -> Message:
    stop_subthread_of(runtime, task, log, opened, stop)
    entry = conversation.proposal(opened.proposal_id)
    if entry is not None and log.knows(shown_id(opened)):
        _tell_decision(runtime, log, opened, entry)
    unrun = entry is not None and entry.outcome is not Outcome.APPROVED
    return respond(runtime, log, opened, stop.answer(unrun=unrun))


def _tell_decision(runtime: Runtime, log: EventLog, opened: OpenCall, entry: OpenProposal) -> None:
    """Whoever was shown the action hears what became of it."""
    stored = read_proposal(runtime, opened.proposal_id)
    if stored is None:
        return
    outcome = entry.outcome or Outcome.CANCELLED
    decision = decision_of(runtime, opened.scope.conversation.thread_id, outcome, entry.decision)
    proposal = settle(runtime, stored, decision)
    decided, _ = decision_events(opened, proposal, proposal.decision or decision)
    log.append(decided)


def _seal(runtime: Runtime, scope: Scope, stop: Stop, step: int, *, perhaps: bool) -> Message:
    look_first = perhaps and stop.kind is MessageKind.TURN_FAILED and _LOOK_FIRST not in stop.words
    return Message(
        id=f"{scope.thread_id}-{scope.turn}-stopped",
        kind=stop.kind,
        role="system",
        content=f"{stop.words} {_LOOK_FIRST}" if look_first else stop.words,
        timestamp=runtime.clock.now(),
        turn=scope.turn,
        step=step,
        ok=False,
        metadata=stop.metadata,
    )


def stop_subthread_of(
    runtime: Runtime, task: Task, log: EventLog, opened: OpenCall, stop: Stop
) -> Scope | None:
    """End the subthread that works for a call, if it does not know that it is over; its scope, if there is one."""
    scope = opened.scope
    link = load(runtime, scope.partition, opened.key(keys.LINK), Message)
    if link is None:
        return None
    inner = subthread_scope(runtime, scope.stored, link.value.metadata["subthread_id"])
    sub = inner.subthread
    if sub is not None and sub.tool_call_id == opened.call.tool_call_id and not sub.done:
        stop_subthread(runtime, task, log, inner, stop)
        return subthread_scope(runtime, scope.stored, sub.subthread_id)
    return inner


def stop_subthread(runtime: Runtime, task: Task, log: EventLog, scope: Scope, stop: Stop) -> None:
    """Stop a subthread's turn, and tell those who show it that it is over."""
    sealed = stop_turn(runtime, task, log, scope, stop)
    log.append(stopped_event(scope, sealed))
    end_subthread(runtime, scope, sealed.content)


def stopped_event(scope: Scope, sealed: Message) -> NewEvent:
    """TurnFailed or TurnCancelled of a turn that was sealed so, the root's or a subthread's."""
    place = scope.subthread.tool_call_id if scope.subthread else f"turn:{scope.turn}"
    if sealed.kind is MessageKind.TURN_CANCELLED:
        turn = scope.conversation.turn or scope.conversation.turns
        return scope.event(EventName.TurnCancelled, f"{place}:cancelled", turn=turn)
    return scope.event(
        EventName.TurnFailed,
        f"{place}:failed",
        type=sealed.metadata.get("type", ""),
        message=sealed.content,
        retryable=bool(sealed.metadata.get("retryable")),
    )


def end_subthread(runtime: Runtime, scope: Scope, failure: str | None = None) -> None:
    """Mark the subthread's turn as over; its tasks can do nothing from here on. Unchanged if it is over."""
    mine = scope.subthread
    if mine is None:
        return
    sort = keys.subthread(mine.subthread_id)
    while True:
        stored = load(runtime, scope.partition, sort, Subthread)
        if stored is None or stored.value != mine:
            return
        try:
            ended = mine.but(done=True, failure=failure)
            put(runtime, scope.partition, sort, ended, if_version=stored.version)
        except ConditionFailed:
            continue
        return
