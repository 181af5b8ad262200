"""What a Task state hands to its use case, and the scope in which it acts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import Field

from parley.domain import keys
from parley.domain.conversation import Conversation, RunId, require_run
from parley.domain.errors import StaleRun
from parley.domain.events import EventName, NewEvent
from parley.domain.values import Value
from parley.turns import conversations
from parley.turns.event_log import EventLog
from parley.turns.records import Stored, load
from parley.turns.runtime import Runtime

_AFTER_A_FAILURE = ("FailCall", "FailTurn")
"""States that are entered only when another one failed, which may have done part of their work."""

_WITHIN_A_TURN = frozenset(
    {
        "InvokeModel",
        "RunTool",
        "AwaitConfirmation",
        "OpenSubthread",
        "CloseSubthread",
        "FailCall",
        "RecordReply",
    }
)
"""States whose input names the turn that they act in. (To the others it may still name the turn before.)"""


class RunRef(Value):
    """The run in the state machine's input. ``subthread_id`` and ``depth`` are set in nested executions."""

    thread_id: str
    generation: int
    attempt: int
    subthread_id: str | None = None
    depth: int = 0
    inactivity_seconds: int = 3600

    @property
    def run_id(self) -> RunId:
        """Who claims to act."""
        return RunId(self.thread_id, self.generation, self.attempt)


class StepRef(Value):
    """Where a turn stands: its number, the model call within it, how often the provider put that off, and how
    far the event log had come.
    """

    turn: int = 0
    step: int = 0
    waits: int = 0
    seq: int | None = None


class CallRef(Value):
    """One call of a reply, as the Map hands it out. ``next`` is the state that answers it."""

    index: int
    tool_call_id: str
    next: str
    timeout_seconds: int = 0


class ErrorRef(Value):
    """A caught error, as Step Functions reports it; ``Cause`` is JSON text for a Lambda's exception."""

    Error: str = ""
    Cause: str = ""


class TaskInput(Value):
    """The state machine's data, as far as a task reads it."""

    run: RunRef
    turn: StepRef = StepRef()
    call: CallRef | None = None
    error: ErrorRef | None = None
    subagent: dict[str, Any] | None = None


class Task(Value):
    """The payload of a Task state's Lambda. ``entered_at``: of states that wait on a token, ISO 8601."""

    state: str
    entered_at: str = ""
    retry_count: int = 0
    input: TaskInput
    token: str | None = None

    @property
    def run(self) -> RunRef:
        """The run that claims to act."""
        return self.input.run

    @property
    def order(self) -> str:
        """Sorts the tasks that read one inbox, or wait for one decision: entries of the state, then tries."""
        return f"{self.entered_at}#{self.retry_count:03d}"

    @property
    def rerun(self) -> bool:
        """Whether this task may have run before, wholly or in part, or finishes what a failed one began."""
        return self.retry_count > 0 or self.run.attempt > 1 or self.state in _AFTER_A_FAILURE

    @property
    def call(self) -> CallRef:
        """The call of a state inside the Map."""
        if self.input.call is None:
            raise ValueError(f"{self.state} was invoked without a call")
        return self.input.call


class Subthread(Value):
    """A subthread's own record. ``tool_call_id`` is the call that it answers now; ``done`` once it has,
    with ``failure`` in words if it did not.
    """

    subthread_id: str
    parent_thread_id: str
    agent_id: str
    tool_call_id: str
    system_prompt: str | None = None
    depth: int
    turn: int = Field(default=1, ge=1)
    done: bool = False
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """The thread in which a task acts: the root itself or a subthread.

    ``turn`` counts the turns of that thread; the root's own open turn is ``conversation.turn``.
    """

    stored: Stored[Conversation]
    thread_id: str
    agent_id: str
    turn: int
    subthread: Subthread | None = None

    @property
    def conversation(self) -> Conversation:
        """The root's aggregate, as read when the task began."""
        return self.stored.value

    @property
    def partition(self) -> str:
        """Where everything of the tree lies."""
        return keys.thread_partition(self.conversation.thread_id)

    def event(self, name: EventName, event_id: str | None, /, **data: Any) -> NewEvent:
        """An event of this thread."""
        sub = self.subthread
        return NewEvent(
            event=name,
            event_id=event_id,
            subthread_id=sub.subthread_id if sub else None,
            parent_thread_id=sub.parent_thread_id if sub else None,
            turn=self.conversation.turn or self.conversation.turns,
            data=data,
        )


def enter(runtime: Runtime, task: Task) -> Scope:
    """Load what the task acts on.

    Raises StaleRun if it may not act any more: another run speaks for the thread, or its turn is over.
    """
    scope = _scope(runtime, task)
    if task.state in _WITHIN_A_TURN and scope.turn != task.input.turn.turn:
        raise StaleRun(f"turn {task.input.turn.turn} is over")
    if task.state in _WITHIN_A_TURN and task.state != "RecordReply" and scope.conversation.turn is None:
        raise StaleRun(f"turn {scope.conversation.turns} of the root is over")
    if scope.subthread is not None and scope.subthread.done:
        raise StaleRun("the subthread has answered its call")
    return scope


def _scope(runtime: Runtime, task: Task) -> Scope:
    run = task.run
    stored = conversations.find(runtime, run.thread_id)
    if stored is None:
        raise StaleRun(f"thread {run.thread_id} is gone")
    conversation = require_run(stored.value, run.run_id)
    if run.subthread_id is None:
        return Scope(stored, run.thread_id, conversation.agent_id, conversation.turn or conversation.turns)
    return subthread_scope(runtime, stored, run.subthread_id)


def subthread_scope(runtime: Runtime, stored: Stored[Conversation], subthread_id: str) -> Scope:
    """The scope of a subthread of the conversation."""
    partition = keys.thread_partition(stored.value.thread_id)
    found = load(runtime, partition, keys.subthread(subthread_id), Subthread)
    if found is None:
        raise LookupError(f"no subthread {subthread_id}")
    sub = found.value
    return Scope(stored, sub.subthread_id, sub.agent_id, sub.turn, sub)


def open_log(runtime: Runtime, task: Task, scope: Scope, *, rerun: bool = False) -> EventLog:
    """The event log, for this task to write: until the response to the call that it works for is there."""
    works_for = [task.input.call.tool_call_id] if task.input.call else []
    if scope.subthread is not None:
        works_for.append(scope.subthread.tool_call_id)
    return EventLog(
        runtime,
        scope.conversation,
        rerun=rerun or task.rerun,
        start=task.input.turn.seq,
        until=[response_event_id(tool_call_id) for tool_call_id in works_for],
    )


def response_event_id(tool_call_id: str) -> str:
    """The ``event_id`` of a call's ToolResponse."""
    return f"{tool_call_id}:response"
