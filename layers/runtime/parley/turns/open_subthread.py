"""OpenSubthread: the subagent's subthread, its link in the parent thread, its first message."""

from __future__ import annotations

from typing import Any

from parley.domain import keys
from parley.domain.agents import SubagentFunction
from parley.domain.errors import SubagentRefused
from parley.domain.events import EventName
from parley.domain.messages import Message, MessageKind
from parley.prompts.template import fill_template
from parley.turns import history
from parley.turns.calls import AWAIT, OpenCall, open_call, read_proposal
from parley.turns.ports import ConditionFailed
from parley.turns.projects import get_agent
from parley.turns.records import load, put, put_once
from parley.turns.runtime import Runtime
from parley.turns.task import Scope, Subthread, Task, open_log

DEPTH_LIMIT = 3


def open_subthread(runtime: Runtime, task: Task) -> dict[str, Any]:
    """Returns ``{"name", "run"}`` of the nested execution."""
    opened = open_call(runtime, task)
    function = opened.function
    if function is None or not isinstance(function.implementation, SubagentFunction):
        raise SubagentRefused(f"{opened.call.name} is not answered by a subagent.")
    depth = task.run.depth + 1
    if depth > DEPTH_LIMIT:
        raise SubagentRefused(f"Subagents may nest {DEPTH_LIMIT} deep; this would be one too many.")
    subagent = function.implementation
    agent = get_agent(runtime, opened.scope.conversation.project_id, subagent.subagent_id)
    sub = _claim(runtime, opened, subagent, depth)
    message = fill_template(subagent.subagent_user_message, _arguments(runtime, task, opened))
    _record(runtime, task, opened, sub, agent.agent_id, message)
    run = task.run
    nested = run.but(subthread_id=sub.subthread_id, depth=depth)
    name = keys.subagent_execution_name(*run.run_id, opened.call.tool_call_id)
    return {"name": name, "run": nested.model_dump()}


def _arguments(runtime: Runtime, task: Task, opened: OpenCall) -> dict[str, Any]:
    """The call's, or those that the person who approved it put in their place."""
    stored = read_proposal(runtime, opened.proposal_id) if task.call.next == AWAIT else None
    decision = stored.value.decision if stored else None
    return opened.call.arguments if decision is None or decision.arguments is None else decision.arguments


def _claim(runtime: Runtime, opened: OpenCall, subagent: SubagentFunction, depth: int) -> Subthread:
    """The subthread for this call: the preserved one if it is free, else a fresh one. Found again by a rerun."""
    scope, call = opened.scope, opened.call
    root = scope.conversation.thread_id
    fresh = Subthread(
        subthread_id=keys.subthread_id_for(root, call.tool_call_id),
        parent_thread_id=scope.thread_id,
        agent_id=subagent.subagent_id,
        tool_call_id=call.tool_call_id,
        system_prompt=subagent.subagent_system_prompt,
        depth=depth,
    )
    if subagent.preserve_previous_context:
        preserved_id = keys.preserved_subthread_id(root, scope.thread_id, call.name)
        if preserved := _claim_preserved(runtime, scope, fresh.but(subthread_id=preserved_id)):
            return preserved
    return put_once(runtime, scope.partition, keys.subthread(fresh.subthread_id), fresh)


def _claim_preserved(runtime: Runtime, scope: Scope, fresh: Subthread) -> Subthread | None:
    """None if another call of this moment has it."""
    sort = keys.subthread(fresh.subthread_id)
    known = load(runtime, scope.partition, sort, Subthread)
    if known is not None and known.value.tool_call_id == fresh.tool_call_id:
        return known.value
    if known is not None and not known.value.done:
        return None
    mine = fresh if known is None else fresh.but(turn=known.value.turn + 1)
    try:
        put(runtime, scope.partition, sort, mine, if_version=known.version if known else 0)
    except ConditionFailed:
        return None
    return mine


def _record(
    runtime: Runtime, task: Task, opened: OpenCall, sub: Subthread, agent_id: str, content: str
) -> None:
    scope, call = opened.scope, opened.call
    _link(runtime, opened, sub, agent_id)
    inner = Scope(scope.stored, sub.subthread_id, agent_id, sub.turn, sub)
    asked = Message(
        id=f"{call.tool_call_id}-request",
        kind=MessageKind.USER_MESSAGE,
        role="user",
        content=content,
        timestamp=runtime.clock.now(),
        turn=sub.turn,
    )
    history.record(runtime, inner, keys.message(sub.subthread_id, sub.turn, 0), asked)
    started = opened.event(
        EventName.AgentSubthreadStart,
        "subthread",
        tool_call_id=call.tool_call_id,
        subthread_id=sub.subthread_id,
        agent_id=agent_id,
    )
    message = inner.event(
        EventName.SubthreadUserMessage, f"{asked.id}:user", message_id=asked.id, content=content
    )
    open_log(runtime, task, scope).append(started, message)


def _link(runtime: Runtime, opened: OpenCall, sub: Subthread, agent_id: str) -> None:
    """The AGENT_SUBTHREAD message in the parent thread."""
    tool_call_id = opened.call.tool_call_id
    link = opened.note(
        MessageKind.AGENT_SUBTHREAD,
        id=f"{tool_call_id}-subthread",
        role="system",
        content=sub.subthread_id,
        timestamp=runtime.clock.now(),
        metadata={
            "subthread_id": sub.subthread_id,
            "subthread_turn": sub.turn,
            "agent_id": agent_id,
            "tool_call_id": tool_call_id,
        },
    )
    history.record(runtime, opened.scope, opened.key(keys.LINK), link)
