"""A running execution in memory: its branches, and what the next commit will write.

An execution has a root branch (path "") and, while it is in a Map, a branch per iteration (path "3", "3.0"
in a Map within). Each branch stands in one state and waits there for one thing, its status. Everything here
is read and changed only by the thread that holds the execution's lock.
"""

import functools
import itertools
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NamedTuple

from parley.embedded.asl import data as json_data
from parley.embedded.asl.definition import Machine, MapState, State
from parley.turns.ports import ExecutionStatus


class Status(StrEnum):
    """What a branch waits for."""

    TASK = "task"  # a worker that runs its Lambda function: claimed
    TOKEN = "token"  # noqa: S105 - the function has returned, the task token is not answered
    WAIT = "wait"  # the end of a Wait state
    RETRY = "retry"  # the end of a retrier's delay
    NESTED = "nested"  # the execution it started
    MAP = "map"  # its iterations
    DONE = "done"  # its siblings: this iteration has its output


class Claim(NamedTuple):
    """The right to run one Task once: void as soon as the branch's serial is another."""

    execution: int
    path: str
    serial: int
    function: str
    payload: str


class BranchKey(NamedTuple):
    """A branch for its timer; path None stands for the whole execution."""

    execution: int
    path: str | None


class Visit(NamedTuple):
    """A state that was left. `path` is the branch's; times are epoch seconds."""

    execution: int
    number: int
    name: str
    type: str
    path: str
    entered_at: float
    exited_at: float
    outcome: str
    error: str | None
    retries: int


# Where a branch stands before it enters its first state.
_NOWHERE = State(name="", type="")


@dataclass(slots=True, eq=False)
class Branch:
    """One position in the machine.

    data, text: the state's raw input (of a DONE iteration: its output), parsed and as JSON.
    serial: new with every saved change; `saved` is the one in the database, 0 if the row is not there.
    due: when the current wait is over, epoch seconds. lease_until: when a dead worker's claim is free.
    tries: per retrier. attempt: identifies the try, and so its task token. child: the execution it waits for.
    events, transitions: this branch's share of the execution's counts.
    """

    path: str
    parent: "Branch | None"
    index: int = 0
    state: State = _NOWHERE
    status: Status = Status.WAIT
    data: Any = None
    text: str = ""
    visit: int = 0
    entered_at: float = 0.0
    due: float | None = None
    lease_until: float = 0.0
    tries: list[int] = field(default_factory=list)
    retries: int = 0
    redelivered: int = 0
    attempt: int = 0
    child: int | None = None
    events: int = 0
    transitions: int = 0
    serial: int = 0
    saved: int = 0
    touched: bool = False
    gone: bool = False
    call: tuple[str, str] | None = None
    children: "dict[int, Branch]" = field(default_factory=dict)
    items: list[Any] = field(default_factory=list)


class Closing(NamedTuple):
    """How an execution ended."""

    status: ExecutionStatus
    at: float
    output: str | None = None
    error: str | None = None
    cause: str | None = None


@dataclass(slots=True, eq=False)
class LiveExecution:
    """A running execution, and the changes since its last commit (`touched`, `visits`, `started`, `to_stop`).

    stale: this object is out of use; whoever waited for its lock looks the execution up again.
    todo: (branch, step) still to be made in the current move.
    """

    id: int
    name: str
    machine: Machine
    definition: str
    input: str
    started_at: float
    is_new: bool = False
    nested: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    branches: dict[str, Branch] = field(default_factory=dict)
    events: int = 0
    transitions: int = 0
    next_visit: int = 1
    closing: Closing | None = None
    stale: bool = False
    touched: list[Branch] = field(default_factory=list)
    visits: list[Visit] = field(default_factory=list)
    started: "list[LiveExecution]" = field(default_factory=list)
    to_stop: list[int] = field(default_factory=list)
    todo: "list[tuple[Branch, Step]]" = field(default_factory=list)
    _own_context: dict[str, Any] | None = None

    def touch(self, branch: Branch, serials: "itertools.count[int]") -> None:
        """Have the next commit write `branch`, under a new serial."""
        if not branch.touched:
            branch.touched = True
            branch.serial = next(serials)
            self.touched.append(branch)

    def deadline(self) -> float | None:
        """When the whole execution times out, epoch seconds."""
        seconds = self.machine.timeout_seconds
        return None if seconds is None else self.started_at + seconds

    def context(self, branch: Branch, token: str = "") -> dict[str, Any]:
        """The context object ($$) as `branch` sees it in its state."""
        machine = self.machine
        if self._own_context is None:
            self._own_context = {
                "Id": execution_arn(machine.id, self.name),
                "Input": json_data.decode(self.input),
                "Name": self.name,
                "StartTime": iso_time(self.started_at),
            }
        context: dict[str, Any] = {
            "Execution": self._own_context,
            "State": {
                "EnteredTime": iso_time(branch.entered_at),
                "Name": branch.state.name,
                "RetryCount": branch.retries + branch.redelivered,
            },
            "StateMachine": {"Id": machine.id, "Name": machine.name},
        }
        if token:
            context["Task"] = {"Token": token}
        if branch.parent is not None:
            context["Map"] = map_context(branch.index, self.item(branch))
        return context

    def item(self, branch: Branch) -> Any:
        """The item that this iteration is for."""
        parent = branch.parent
        if parent is None:
            return None
        return self.items(parent)[branch.index]

    def items(self, branch: Branch) -> list[Any]:
        """The items of the Map that `branch` stands in; they follow from its input."""
        if not branch.items and isinstance(branch.state, MapState):
            data = branch.state.effective_input(branch.data, lambda: self.context(branch))
            branch.items = branch.state.items_path(data, lambda: self.context(branch))
        return branch.items


class Step(NamedTuple):
    """The move of a branch into `next`; None ends the branch with this output."""

    next: str | None
    data: Any
    text: str


class ContextSource:
    """Builds a branch's context object when a path first asks for it, once."""

    __slots__ = ("_branch", "_built", "_execution", "_token")

    def __init__(self, execution: LiveExecution, branch: Branch, token: str = "") -> None:
        self._execution = execution
        self._branch = branch
        self._token = token
        self._built: dict[str, Any] | None = None

    def __call__(self) -> dict[str, Any]:
        """The context object."""
        if self._built is None:
            self._built = self._execution.context(self._branch, self._token)
        return self._built


def map_context(index: int, value: Any) -> dict[str, Any]:
    """What $$.Map is for one item."""
    return {"Item": {"Index": index, "Value": value}}


def iso_time(epoch: float) -> str:
    """ISO 8601 in UTC with milliseconds, as the context object writes times."""
    milliseconds = int(epoch * 1000)
    return f"{_iso_second(milliseconds // 1000)}.{milliseconds % 1000:03d}Z"


@functools.lru_cache(maxsize=1024)
def _iso_second(epoch: int) -> str:
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def execution_arn(machine: str, name: str) -> str:
    """The execution's ARN, made from its machine's."""
    return f"{machine.replace(':stateMachine:', ':execution:')}:{name}"
