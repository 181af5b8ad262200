"""A compiled machine: plain objects whose paths, templates and rules are functions already. Immutable."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from parley.embedded.asl.choices import Rule
from parley.embedded.asl.paths import Resolver
from parley.embedded.asl.policies import Catcher, Retrier

Integration = Literal["lambda", "lambda_token", "execution"]


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What every state has. A missing path, template or placing (None) means "as it is".

    next: the following state's name, None if this state ends its branch.
    """

    name: str
    type: str
    next: str | None = None
    input_path: Resolver | None = None
    output_path: Resolver | None = None

    def effective_input(self, data: Any, context: Callable[[], dict[str, Any]]) -> Any:
        """The raw input after InputPath."""
        return data if self.input_path is None else self.input_path(data, context)

    def effective_output(self, data: Any, context: Callable[[], dict[str, Any]]) -> Any:
        """`data` after OutputPath."""
        return data if self.output_path is None else self.output_path(data, context)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassState(State):
    """Pass: its result is Result, or Parameters filled in, or its input."""

    parameters: Resolver | None = None
    result_path: Callable[[Any, Any], Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SucceedState(State):
    """Succeed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailState(State):
    """Fail: error and cause, given or found by path or intrinsic function."""

    error: Resolver
    cause: Resolver


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceState(State):
    """Choice: the first rule that matches names the next state; default is None where there is none."""

    rules: tuple[tuple[Rule, str], ...]
    default: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitState(State):
    """Wait: a number of seconds, given or found by path."""

    seconds: Resolver


@dataclass(frozen=True, slots=True, kw_only=True)
class RetriableState(State):
    """What Task and Map share: a result to shape, and errors to retry or catch."""

    parameters: Resolver | None = None
    result_selector: Resolver | None = None
    result_path: Callable[[Any, Any], Any] | None = None
    retriers: tuple[Retrier, ...] = ()
    catchers: tuple[Catcher, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskState(RetriableState):
    """Task: one of the three integrations. `timeout` finds the seconds that one try may take."""

    integration: Integration
    parameters: Resolver
    timeout: Resolver | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MapState(RetriableState):
    """Map, inline. `parameters` is ItemSelector; max_concurrency 0 means all at once."""

    items_path: Resolver
    max_concurrency: int
    start_at: str


@dataclass(frozen=True, slots=True)
class Machine:
    """One state machine. `states` holds all of them, those inside Maps too: names are unique in a machine."""

    id: str
    name: str
    start_at: str
    states: dict[str, State]
    timeout_seconds: int | None
