"""InvokeModel: call the provider with the stored prompt, stream its reply as events, record it once."""

from __future__ import annotations

import math
from typing import Any

from parley.domain import keys
from parley.domain.agents import AgentFunction, SubagentFunction
from parley.domain.decisions import register
from parley.domain.errors import RetryableProviderError, StaleRun
from parley.domain.messages import Message, MessageKind, ToolCall
from parley.domain.patience import pause
from parley.domain.protocol import count_calls
from parley.prompts.prompt import Prompt
from parley.turns import conversations, history
from parley.turns.calls import AWAIT, EXPIRY_MARGIN, OpenCall
from parley.turns.event_log import EventLog
from parley.turns.model_call import ask
from parley.turns.model_ports import TextDelta
from parley.turns.projects import get_agent
from parley.turns.proposing import open_proposal, record_proposal
from parley.turns.records import load
from parley.turns.reply_events import ATTEMPT, closing_events
from parley.turns.runtime import Runtime, Settings
from parley.turns.streaming import Interrupted, ReplyDraft, Streamer
from parley.turns.task import Scope, Task, enter, open_log

CALL_LIMIT = 40
"""Calls of one reply that are kept; a model that asks for more is told of these only."""
NO_FINAL_ANSWER = "I could not finish this: it took more steps than one turn may have."
"""The reply of a model that, asked for its final answer, gave no text."""
WAITS_PER_CALL = 5
"""How often one model call may be put off by a long Retry-After."""
RETRY_PAUSE = 16.0
"""Seconds that the state machine waits at most before it tries a refused model call again."""


def invoke_model(runtime: Runtime, task: Task) -> dict[str, Any]:
    """Returns ``{"next", "turn", "step", "calls", "wait_seconds", "waits", "seq"}``."""
    scope = enter(runtime, task)
    step = task.input.turn.step
    if scope.conversation.cancelled:
        return _result("RecordReply", scope, step)
    log = open_log(runtime, task, scope, rerun=task.input.turn.waits > 0)
    message = history.model_message(runtime, scope, step)
    if message is None:
        try:
            message = _call(runtime, task, scope, log, step)
        except Interrupted:
            return _interrupted(runtime, task, scope, step)
        except RetryableProviderError as error:
            return _put_off(runtime, task, scope, step, error)
    log.append_made(lambda: closing_events(log, scope, message))
    if not message.tool_calls:
        return _result("RecordReply", scope, step, seq=log.last_seq)
    routed = _route_calls(runtime, task, scope, message)
    return _result("HandleToolCalls", scope, step, seq=log.last_seq, calls=routed)


def _put_off(
    runtime: Runtime, task: Task, scope: Scope, step: int, error: RetryableProviderError
) -> dict[str, Any]:
    """The state machine waits: for as long as the provider asked, or, of the error itself, before it tries again."""
    waits = task.input.turn.waits + 1
    asked = _long_wait(runtime.settings, error, waits)
    try:
        _pause(runtime, task, asked or RETRY_PAUSE)
    except Interrupted:
        return _interrupted(runtime, task, scope, step)
    if asked is None:
        raise error
    return _result("WaitForProvider", scope, step, wait=math.ceil(asked), waits=waits)


def _long_wait(settings: Settings, error: RetryableProviderError, waits: int) -> float | None:
    """A Retry-After that is too long to hold a worker for and not too long to wait."""
    wait = error.retry_after
    if wait is None or waits > WAITS_PER_CALL:
        return None
    return wait if settings.retry_after_here < wait <= settings.retry_after_limit else None


def _pause(runtime: Runtime, task: Task, seconds: float) -> None:
    """Note that this run does nothing for so long: whoever cancels it then need not wait. Raises Interrupted."""
    until = runtime.clock.now() + seconds
    run = task.run.run_id
    if conversations.change(runtime, run.thread_id, lambda c: pause(c, run, until)).cancelled:
        raise Interrupted


def _result(
    state: str,
    scope: Scope,
    step: int,
    *,
    seq: int | None = None,
    calls: list[dict[str, Any]] | None = None,
    wait: int = 0,
    waits: int = 0,
) -> dict[str, Any]:
    where = {"next": state, "turn": scope.turn, "step": step, "seq": seq}
    return {**where, "calls": calls or [], "wait_seconds": wait, "waits": waits}


def _interrupted(runtime: Runtime, task: Task, scope: Scope, step: int) -> dict[str, Any]:
    """Cancelled: RecordReply closes the turn. Otherwise another run took over: StaleRun."""
    enter(runtime, task)
    return _result("RecordReply", scope, step)


def _call(runtime: Runtime, task: Task, scope: Scope, log: EventLog, step: int) -> Message:
    found = load(runtime, scope.partition, keys.prompt(scope.thread_id, scope.turn, step), Prompt)
    if found is None:
        raise LookupError(f"no prompt for turn {scope.turn}, step {step}")
    prompt = found.value
    message_id = keys.model_message_id(scope.thread_id, scope.turn, step)
    attempt = _attempt(task)
    streamer = Streamer(log, scope, message_id, attempt, step)
    streamer.begin()
    draft = _stream(runtime, task, prompt, streamer)
    if draft.calls and _is_final(runtime, scope, step):
        _drop_calls(streamer)
    message = _message(runtime, scope, step, message_id, prompt, draft)
    if attempt > 1:
        message.metadata[ATTEMPT] = attempt
    return history.record_reply(runtime, scope, step, message)


def _is_final(runtime: Runtime, scope: Scope, step: int) -> bool:
    """Whether the prompt asked for a final answer and offered no functions."""
    agent = get_agent(runtime, scope.conversation.project_id, scope.agent_id)
    return step > agent.max_iterations


def _drop_calls(streamer: Streamer) -> None:
    """A model that calls functions which it was not offered could go on for ever."""
    streamer.draft.calls.clear()
    if not streamer.draft.text:
        streamer.take(TextDelta(NO_FINAL_ANSWER))
        streamer.flush()


def _attempt(task: Task) -> int:
    """Counts the tries of this model call: retries of a visit, visits after a wait, and executions.

    A visit is retried at most twelve times and a call put off at most five, so no two tries share a number.
    """
    return 1 + task.retry_count + 16 * task.input.turn.waits + 100 * (task.run.attempt - 1)


def _stream(runtime: Runtime, task: Task, prompt: Prompt, streamer: Streamer) -> ReplyDraft:
    """The whole reply; a short Retry-After before any text is waited out here, once."""

    def may_go_on() -> bool:
        try:
            return not enter(runtime, task).conversation.cancelled
        except StaleRun:
            return False

    try:
        return ask(runtime, prompt, streamer, may_go_on)
    except RetryableProviderError as error:
        wait = error.retry_after
        if (
            wait is None
            or wait > runtime.settings.retry_after_here
            or streamer.draft.text
            or streamer.draft.calls
        ):
            raise
    _pause(runtime, task, wait)
    runtime.clock.sleep(wait)
    if not may_go_on():
        raise Interrupted
    return ask(runtime, prompt, streamer, may_go_on)


def _message(
    runtime: Runtime, scope: Scope, step: int, message_id: str, prompt: Prompt, draft: ReplyDraft
) -> Message:
    calls = draft.tool_calls(scope.thread_id, scope.turn, step)[:CALL_LIMIT]
    finish = draft.finish
    metadata: dict[str, Any] = {"provider": prompt.provider, "model": prompt.model}
    if finish and finish.provider_data:
        metadata["provider_data"] = finish.provider_data
    return Message(
        id=message_id,
        kind=MessageKind.ASSISTANT_TOOL_CALL if calls else MessageKind.ASSISTANT_MESSAGE,
        role="assistant",
        content="".join(draft.text),
        timestamp=runtime.clock.now(),
        turn=scope.turn,
        step=step,
        tool_calls=calls,
        finish_reason=finish.reason if finish else None,
        usage=finish.usage if finish else None,
        metadata=metadata,
    )


def _route_calls(runtime: Runtime, task: Task, scope: Scope, message: Message) -> list[dict[str, Any]]:
    """The Map's items: which state answers each call. What waits for a person is registered, all in one save."""
    agent = get_agent(runtime, scope.conversation.project_id, scope.agent_id)
    timeout = agent.confirmation_seconds + EXPIRY_MARGIN
    run_id, turn = task.run.run_id, scope.conversation.turn
    routed, proposals = [], []
    for index, call in enumerate(message.tool_calls):
        function = agent.function(call.name)
        state = _state_for(runtime, function, call)
        facts = {"index": index, "tool_call_id": call.tool_call_id, "next": state}
        routed.append({**facts, "timeout_seconds": timeout})
        if state == AWAIT:
            opened = OpenCall(scope, agent, message, call, index, message.step, function)
            proposals.append(open_proposal(record_proposal(runtime, opened, agent.confirmation_seconds)))
    conversations.change(
        runtime,
        run_id.thread_id,
        lambda c: register(count_calls(c, run_id, len(routed)), run_id, turn, proposals),
        known=scope.stored,
    )
    return routed


def _state_for(runtime: Runtime, function: AgentFunction | None, call: ToolCall) -> str:
    """A call that cannot succeed goes straight to RunTool, which tells the model why; nobody is asked about it."""
    if function is None or call.arguments_error:
        return "RunTool"
    if runtime.functions.fault(function, call.arguments):
        return "RunTool"
    if function.requires_user_confirmation:
        return AWAIT
    return "OpenSubthread" if isinstance(function.implementation, SubagentFunction) else "RunTool"
