"""RunTool: obey the stored decision, run the function, record its one response."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, assert_never

from parley.domain.agents import AgentFunction, ClassFunction, SubagentFunction
from parley.domain.decisions import take_decision
from parley.domain.errors import StillPending, SubagentApproved
from parley.domain.proposals import Decision, Outcome
from parley.domain.remote_functions import HttpFunction, LambdaFunction, McpFunction
from parley.turns import conversations, history
from parley.turns.calls import (
    AWAIT,
    DECLINED_BY_ANOTHER,
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
from parley.turns.function_call import PERHAPS, run_function
from parley.turns.function_ports import DEFAULT_SECONDS, FunctionCall, FunctionOutcome, RemoteCall, stopped
from parley.turns.runtime import Runtime
from parley.turns.stopping import CANCELLED
from parley.turns.task import Task, open_log

_EARLIER = "But an earlier try of this call was interrupted, and that one may or may not have acted."


def run_tool(runtime: Runtime, task: Task) -> dict[str, Any]:
    """Raises StillPending (wait again) and SubagentApproved; every other way ends with a response."""
    opened = open_call(runtime, task)
    log = open_log(runtime, task, opened.scope)
    recorded = history.call_response(runtime, opened.scope, opened.step, opened.index)
    if recorded is not None:
        close_proposal(runtime, task, opened)
        log.append(response_event(opened, recorded))
        return {}
    decision, again = None, task.rerun and not opened.call.arguments_error
    if task.call.next == AWAIT:
        decision, again = _obey(runtime, task, opened, log)
    outcome = _answer(runtime, task, opened, decision, again=again)
    respond(runtime, log, opened, _of_a_later_try(outcome) if again else outcome)
    return {}


def _obey(runtime: Runtime, task: Task, opened: OpenCall, log: EventLog) -> tuple[Decision, bool]:
    """The decision, settled and shown; and whether an earlier try had shown an approval, and so may have acted."""
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
    events = decision_events(opened, proposal, decision)
    again = task.rerun and all(event.event_id is not None and log.knows(event.event_id) for event in events)
    log.append(*events)
    return decision, again and decision.outcome is Outcome.APPROVED


def _answer(
    runtime: Runtime, task: Task, opened: OpenCall, decision: Decision | None, *, again: bool
) -> FunctionOutcome:
    """``again``: whether an earlier try may have acted."""
    call, function = opened.call, opened.function
    if decision is not None and decision.outcome is not Outcome.APPROVED:
        return _refused(decision, opened.scope.conversation.user_id)
    if opened.scope.conversation.cancelled and decision is None:
        return CANCELLED.answer(unrun=not again)
    if function is None:
        known = ", ".join(entry.name for entry in opened.agent.functions) or "none"
        return FunctionOutcome(f"There is no function {call.name}. Available: {known}.", ok=False)
    if call.arguments_error:
        return FunctionOutcome(f"Validation failed: {call.arguments_error}.", ok=False)
    arguments = call.arguments if decision is None or decision.arguments is None else decision.arguments
    if wrong := runtime.functions.fault(function, arguments):
        return FunctionOutcome(wrong, ok=False)
    if function.requires_user_confirmation and decision is None:
        return FunctionOutcome(
            "This action needs a person's confirmation and did not run. Try again.", ok=False
        )
    return _run(runtime, task, opened, function, arguments, confirmed=decision is not None)


def _of_a_later_try(outcome: FunctionOutcome) -> FunctionOutcome:
    """A failure says what this try did: of the one before, whose worker died, nobody knows."""
    if outcome.ok or outcome.content.endswith(PERHAPS) or "stopped" in outcome.additional_data:
        return outcome
    return replace(outcome, content=f"{outcome.content} {_EARLIER}")


def _refused(decision: Decision, user_id: str) -> FunctionOutcome:
    """What the model is told, which talks with ``user_id``, of an action that did not run."""
    words = REFUSALS[decision.outcome]
    if decision.outcome is Outcome.CANCELLED:
        return stopped(words, unrun=True)
    if decision.outcome is Outcome.DECLINED and decision.reviewer not in (None, user_id):
        words = DECLINED_BY_ANOTHER
    if not decision.reason:
        return FunctionOutcome(words, ok=False)
    return FunctionOutcome(
        f"{words} Reason: {decision.reason}", ok=False, additional_data={"reason": decision.reason}
    )


def _run(
    runtime: Runtime,
    task: Task,
    opened: OpenCall,
    function: AgentFunction,
    arguments: dict[str, Any],
    *,
    confirmed: bool,
) -> FunctionOutcome:
    conversation = opened.scope.conversation
    seconds = function.time_limit_seconds or DEFAULT_SECONDS
    facts: dict[str, Any] = {
        "arguments": arguments,
        "user_id": conversation.user_id,
        "project_id": conversation.project_id,
        "agent_id": opened.agent.agent_id,
        "thread_id": opened.scope.thread_id,
        "idempotency_key": opened.proposal_id if confirmed else opened.call.tool_call_id,
    }
    call: FunctionCall | RemoteCall
    match function.implementation:
        case SubagentFunction():
            raise SubagentApproved(opened.call.name)
        case ClassFunction(class_name=name):
            call = FunctionCall(class_name=name, images=opened.agent.images, **facts)
        case HttpFunction() | LambdaFunction() | McpFunction() as remote:
            call = RemoteCall(name=function.name, implementation=remote, seconds=seconds, **facts)
        case _ as never:
            assert_never(never)
    return run_function(runtime, task, function.name, call, seconds)
