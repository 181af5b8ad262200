"""RunTool: obey the stored decision, run the function, record its one response."""

from __future__ import annotations

from typing import Any

from parley.domain.agents import ClassFunction, SubagentFunction
from parley.domain.decisions import take_decision
from parley.domain.errors import StillPending, SubagentApproved
from parley.domain.proposals import Decision, Outcome
from parley.turns import conversations, history
from parley.turns.calls import (
    REFUSALS,
    OpenCall,
    close_proposal,
    decision_events,
    decision_of,
    open_call,
    read_proposal,
    respond,
    response_event,
    settle,
)
from parley.turns.event_log import EventLog
from parley.turns.function_ports import FunctionCall, FunctionOutcome
from parley.turns.runtime import Runtime
from parley.turns.task import Task, open_log

AWAIT = "AwaitConfirmation"


def run_tool(runtime: Runtime, task: Task) -> dict[str, Any]:
    """Raises StillPending (wait again) and SubagentApproved; every other way ends with a response."""
    opened = open_call(runtime, task)
    log = open_log(runtime, task, opened.scope)
    recorded = history.call_response(runtime, opened.scope, opened.step, opened.index)
    if recorded is not None:
        close_proposal(runtime, task, opened)
        log.append(response_event(opened, recorded))
        return {}
    confirmed = task.call.next == AWAIT
    decision = _obey(runtime, task, opened, log) if confirmed else None
    respond(runtime, log, opened, _answer(runtime, opened, decision))
    return {}


def _obey(runtime: Runtime, task: Task, opened: OpenCall, log: EventLog) -> Decision:
    """The decision on the call, settled and shown."""
    run_id = task.run.run_id
    now = runtime.clock.now()
    conversation = conversations.change(
        runtime,
        run_id.thread_id,
        lambda c: take_decision(c, run_id, opened.proposal_id, now=now),
        known=opened.scope.stored,
    )
    entry = conversation.proposal(opened.proposal_id)
    stored = read_proposal(runtime, opened.proposal_id)
    if entry is None or entry.outcome is None or stored is None:
        raise StillPending("The action is neither decided nor expired.")
    decision = decision_of(runtime, run_id.thread_id, entry.outcome, entry.decision)
    proposal = settle(runtime, stored, decision)
    decision = proposal.decision or decision
    log.append(*decision_events(opened, proposal, decision))
    return decision


def _answer(runtime: Runtime, opened: OpenCall, decision: Decision | None) -> FunctionOutcome:
    call, function = opened.call, opened.function
    if decision is not None and decision.outcome is not Outcome.APPROVED:
        reason = f" Reason: {decision.reason}" if decision.reason else ""
        return FunctionOutcome(REFUSALS[decision.outcome] + reason, ok=False)
    if opened.scope.conversation.cancelled and decision is None:
        return FunctionOutcome(REFUSALS[Outcome.CANCELLED], ok=False)
    if function is None:
        known = ", ".join(entry.name for entry in opened.agent.functions) or "none"
        return FunctionOutcome(f"There is no function {call.name}. Available: {known}.", ok=False)
    if call.arguments_error:
        return FunctionOutcome(f"Validation failed: {call.arguments_error}.", ok=False)
    if function.requires_user_confirmation and decision is None and _valid(runtime, opened):
        return FunctionOutcome(
            "This action needs a person's confirmation and did not run. Try again.", ok=False
        )
    arguments = call.arguments if decision is None or decision.arguments is None else decision.arguments
    return _run(runtime, opened, arguments, confirmed=decision is not None)


def _valid(runtime: Runtime, opened: OpenCall) -> bool:
    function = opened.function
    if function is None or not isinstance(function.implementation, ClassFunction):
        return True
    return runtime.functions.validate(function.implementation.class_name, opened.call.arguments) is None


def _run(
    runtime: Runtime, opened: OpenCall, arguments: dict[str, Any], *, confirmed: bool
) -> FunctionOutcome:
    function = opened.function
    if function is None or isinstance(function.implementation, SubagentFunction):
        raise SubagentApproved(opened.call.name)
    conversation = opened.scope.conversation
    return runtime.functions.call(
        FunctionCall(
            class_name=function.implementation.class_name,
            arguments=arguments,
            user_id=conversation.user_id,
            project_id=conversation.project_id,
            agent_id=opened.agent.agent_id,
            thread_id=opened.scope.thread_id,
            idempotency_key=opened.proposal_id if confirmed else opened.call.tool_call_id,
            images=opened.agent.images,
        )
    )
