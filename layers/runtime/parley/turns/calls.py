"""Answering one tool call: its proposal, its decision, its single response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from parley.domain import keys
from parley.domain.agents import Agent, AgentFunction
from parley.domain.conversation import Conversation
from parley.domain.decisions import close_call
from parley.domain.events import EventName, NewEvent
from parley.domain.messages import Message, MessageKind, ToolCall
from parley.domain.proposals import Decision, Outcome, Proposal
from parley.turns import conversations, history
from parley.turns.event_log import EventLog
from parley.turns.function_ports import FunctionOutcome
from parley.turns.ports import ConditionFailed
from parley.turns.projects import get_agent
from parley.turns.records import Stored, load, put
from parley.turns.runtime import Runtime
from parley.turns.task import Scope, Task, enter

AWAIT = "AwaitConfirmation"
"""The state that a call goes to first which a person has to confirm."""
EXPIRY_MARGIN = 5
"""Seconds by which the confirmation timer fires after ``expires_at`` at the earliest, so that clocks may differ."""
REFUSALS = {
    Outcome.DECLINED: "User declined this action.",
    Outcome.EXPIRED: "This action was not confirmed in time and did not run.",
    Outcome.SUPERSEDED: "Previous action was automatically declined because user sent a new message.",
    Outcome.CANCELLED: "The user cancelled this turn; the action did not run.",
}
"""What the model is told of an action that did not run."""
DECLINED_BY_ANOTHER = "The reviewer declined this action."
"""The same, where the person who declined is not the one whom the model talks with; it does not hear their name."""


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call that a task answers, with everything that belongs to it."""

    scope: Scope
    agent: Agent
    message: Message
    call: ToolCall
    index: int
    step: int
    function: AgentFunction | None

    @property
    def proposal_id(self) -> str:
        """The id of the call's proposal, if it has or gets one."""
        return keys.proposal_id_for(self.scope.thread_id, self.scope.turn, self.step, self.index)

    def event(self, name: EventName, part: str, /, **data: Any) -> NewEvent:
        """An event of this call with a stable id."""
        return self.scope.event(name, f"{self.call.tool_call_id}:{part}", **data)

    def key(self, part: str) -> str:
        """Under which a message of this call lies: its response, its link, its question."""
        return keys.call_message(self.scope.thread_id, self.scope.turn, self.step, self.index, part)

    def note(self, kind: MessageKind, **fields: Any) -> Message:
        """A message of this call, with its place in the thread."""
        return Message(kind=kind, turn=self.scope.turn, step=self.step, call=self.index, **fields)


def shown_id(opened: OpenCall) -> str:
    """The ``event_id`` with which a call's proposal is shown."""
    return f"{opened.call.tool_call_id}:proposed"


def open_call(runtime: Runtime, task: Task) -> OpenCall:
    """Load the call that a state inside the Map answers."""
    scope = enter(runtime, task)
    step = task.input.turn.step
    message = history.model_message(runtime, scope, step)
    if message is None:
        raise LookupError(f"turn {scope.turn}, step {step} has no reply with calls")
    call = message.tool_calls[task.call.index]
    agent = get_agent(runtime, scope.conversation.project_id, scope.agent_id)
    return OpenCall(scope, agent, message, call, task.call.index, step, agent.function(call.name))


def close_proposal(runtime: Runtime, task: Task, opened: OpenCall) -> Conversation:
    """What stands before a call is answered without its decision: it cannot be approved any more."""
    run_id = task.run.run_id
    return conversations.change(
        runtime,
        run_id.thread_id,
        lambda c: close_call(c, run_id, opened.proposal_id, now=runtime.clock.now()),
        known=opened.scope.stored,
    )


def respond(runtime: Runtime, log: EventLog, opened: OpenCall, outcome: FunctionOutcome) -> Message:
    """Record the call's response, unless it has one, and tell the clients what stands."""
    call = opened.call
    message = opened.note(
        MessageKind.TOOL_RESPONSE,
        id=f"{call.tool_call_id}-response",
        role="tool",
        content=outcome.content,
        timestamp=runtime.clock.now(),
        ok=outcome.ok,
        additional_data=outcome.additional_data,
        metadata={"is_tool_response": True, "tool_call_id": call.tool_call_id, "name": call.name},
    )
    recorded = history.record(runtime, opened.scope, opened.key(keys.RESPONSE), message)
    log.append(response_event(opened, recorded))
    return recorded


def response_event(opened: OpenCall, response: Message) -> NewEvent:
    """The ToolResponse of a recorded response."""
    return opened.event(
        EventName.ToolResponse,
        "response",
        tool_call_id=opened.call.tool_call_id,
        name=opened.call.name,
        content=response.content,
        ok=response.ok,
        additional_data=response.additional_data,
    )


def read_proposal(runtime: Runtime, proposal_id: str) -> Stored[Proposal] | None:
    """A proposal's own record."""
    return load(runtime, keys.proposal_partition(proposal_id), keys.PROPOSAL, Proposal)


def settle(runtime: Runtime, stored: Stored[Proposal], decision: Decision) -> Proposal:
    """Copy the decision that counted into the proposal's record; it leaves the list of what waits."""
    proposal = stored.value
    if proposal.decision is not None:
        return proposal
    settled = proposal.but(decision=decision)
    try:
        put(
            runtime,
            keys.proposal_partition(proposal.proposal_id),
            keys.PROPOSAL,
            settled,
            if_version=stored.version,
        )
    except ConditionFailed:
        again = read_proposal(runtime, proposal.proposal_id)
        return again.value if again else settled
    return settled


def decision_of(runtime: Runtime, root_thread_id: str, outcome: Outcome, body: str | None) -> Decision:
    """The decision behind an outcome in the aggregate; ``body`` is the key of what a person sent with it."""
    if body is not None:
        found = load(runtime, keys.thread_partition(root_thread_id), body, Decision)
        if found is not None:
            return found.value
    return Decision(outcome=outcome, decided_at=runtime.clock.now())


def decision_events(opened: OpenCall, proposal: Proposal, decision: Decision) -> list[NewEvent]:
    """ActionConfirmed or ActionRejected, and the ThreadStart with which the thread goes on."""
    proposal_id = proposal.proposal_id
    if decision.outcome is Outcome.APPROVED:
        arguments = proposal.arguments if decision.arguments is None else decision.arguments
        decided = opened.event(
            EventName.ActionConfirmed,
            "decided",
            proposal_id=proposal_id,
            reviewer=decision.reviewer,
            arguments=arguments,
        )
    else:
        by = {} if decision.reviewer is None else {"reviewer": decision.reviewer}
        decided = opened.event(
            EventName.ActionRejected,
            "decided",
            proposal_id=proposal_id,
            reason=decision.outcome.value,
            automaticRejection=decision.outcome is not Outcome.DECLINED,
            **by,
        )
    resumed = opened.event(EventName.ThreadStart, "resumed", message_id=opened.message.id, resumed=True)
    return [decided, resumed]
