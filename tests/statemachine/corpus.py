"""The rules of Step Functions that Parley relies on, as machines with a hand-written outcome each.

Backend-neutral: a runner gives each case its machines, answers the functions as scripted, plays the signals,
and compares. `rule` says in words what AWS does and names the page of the Step Functions Developer Guide (or
"ASL", the Amazon States Language specification). Time: a runner on a movable clock plays `Advance`; one in
real time lets it pass by itself, so real waits are short, and cases that need more are `embedded_only`, with
the reason. The cases themselves are in corpus_*.py.

Definitions may say `${NAME}` for the ARN of the machine NAME of the same case. The started one is "main".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = Any
ANY = object()  # an output that the case leaves open


# What a function does when it is invoked.


@dataclass(frozen=True)
class Returns:
    """Returns this value."""

    value: Json = None


@dataclass(frozen=True)
class Echoes:
    """Returns its payload."""


@dataclass(frozen=True)
class Raises:
    """Raises an exception of the class with this name."""

    error: str
    message: str = ""


@dataclass(frozen=True)
class Hangs:
    """Does not return before the case is over."""


@dataclass(frozen=True)
class Answers:
    """Answers the task token of its own payload, then returns."""

    output: Json


Behaviour = Returns | Echoes | Raises | Hangs | Answers


# What happens from outside, in order. `after` = (function, n): not before its n-th invocation (from 1) began.


@dataclass(frozen=True)
class Succeed:
    """SendTaskSuccess with the token that the n-th invocation of a function got. `refused`: AWS's error."""

    after: tuple[str, int]
    output: Json = field(default_factory=dict)
    refused: str | None = None


@dataclass(frozen=True)
class Fail:
    """SendTaskFailure with such a token."""

    after: tuple[str, int]
    error: str = ""
    cause: str = ""
    refused: str | None = None


@dataclass(frozen=True)
class Advance:
    """Time passes. Without `after`: once nothing is running any more."""

    seconds: float
    after: tuple[str, int] | None = None


@dataclass(frozen=True)
class Stop:
    """StopExecution of the case's execution."""

    after: tuple[str, int] | None = None
    error: str = ""
    cause: str = ""


Signal = Succeed | Fail | Advance | Stop


@dataclass(frozen=True)
class Case:
    """One machine, what it is given, and what must come of it.

    functions: per function name its behaviours, one per invocation; the last one repeats.
    states: names in the order of entry; None leaves it open. With `unordered`, the same names in any order.
    payloads: per function the payloads it must have got, in order. cause: a part of the execution's cause.
    invocations: per function how often it must have been invoked. retries: of a state's visit, by its name.
    """

    name: str
    rule: str
    machines: Mapping[str, Mapping[str, Any]]
    input: Json = field(default_factory=dict)
    functions: Mapping[str, Sequence[Behaviour]] = field(default_factory=dict)
    signals: Sequence[Signal] = ()
    status: str = "SUCCEEDED"
    output: Json = ANY
    error: str | None = None
    cause: str | None = None
    states: Sequence[str] | None = None
    unordered: bool = False
    payloads: Mapping[str, Sequence[Json]] = field(default_factory=dict)
    invocations: Mapping[str, int] = field(default_factory=dict)
    retries: Mapping[str, int] = field(default_factory=dict)
    embedded_only: str = ""


# Short forms of what the cases are made of.

LAMBDA = "arn:aws:states:::lambda:invoke"
TOKEN = "arn:aws:states:::lambda:invoke.waitForTaskToken"
NESTED = "arn:aws:states:::states:startExecution.sync:2"


def flow(*states: tuple[str, Mapping[str, Any]], **fields: Any) -> dict[str, Any]:
    """A machine whose states follow one another as given, unless they say Next or End themselves."""
    members: dict[str, Any] = {}
    for position, (name, state) in enumerate(states):
        members[name] = dict(state)
        if state["Type"] in ("Choice", "Succeed", "Fail") or "Next" in state or "End" in state:
            continue
        last = position == len(states) - 1
        members[name].update({"End": True} if last else {"Next": states[position + 1][0]})
    return {"StartAt": states[0][0], "States": members, **fields}


def main(*states: tuple[str, Mapping[str, Any]], **fields: Any) -> dict[str, dict[str, Any]]:
    """The machines of a case with one."""
    return {"main": flow(*states, **fields)}


def call(function: str = "f", payload: Mapping[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """A Lambda Task whose result is the function's own."""
    parameters = {"FunctionName": function, **(payload if payload is not None else {"Payload.$": "$"})}
    selector = {"ResultSelector": {"value.$": "$.Payload"}, "OutputPath": "$.value"}
    if fields.keys() & {"ResultPath", "ResultSelector", "OutputPath"}:
        selector = {}
    return {"Type": "Task", "Resource": LAMBDA, "Parameters": parameters, **selector, **fields}


def wait_for_token(function: str = "f", **fields: Any) -> dict[str, Any]:
    """A Lambda Task that waits for its task token; the function gets {"token", "input"}."""
    payload = {"token.$": "$$.Task.Token", "input.$": "$"}
    parameters = {"FunctionName": function, "Payload": payload}
    return {"Type": "Task", "Resource": TOKEN, "Parameters": parameters, **fields}


def nested(name: Any = "'child'", machine: str = "child", **fields: Any) -> dict[str, Any]:
    """A nested execution of the machine `machine` with the state's input."""
    parameters = {"StateMachineArn": f"${{{machine}}}", "Input.$": "$", **_named(name)}
    return {"Type": "Task", "Resource": NESTED, "Parameters": parameters, **fields}


def _named(name: str) -> dict[str, str]:
    return {"Name.$": name} if name.startswith("$") else {"Name": name.strip("'")}


def retry(*errors: str, **fields: Any) -> dict[str, Any]:
    """An entry of Retry that waits a second."""
    return {"ErrorEquals": list(errors), "IntervalSeconds": 1, "BackoffRate": 1.0, **fields}


def catch(*errors: str, to: str = "Caught", **fields: Any) -> dict[str, Any]:
    """An entry of Catch."""
    return {"ErrorEquals": list(errors), "Next": to, **fields}


def passing(**fields: Any) -> dict[str, Any]:
    """A Pass state."""
    return {"Type": "Pass", **fields}


def each(*states: tuple[str, Mapping[str, Any]], **fields: Any) -> dict[str, Any]:
    """A Map state over the input."""
    processor = {"ProcessorConfig": {"Mode": "INLINE"}, **flow(*states)}
    return {"Type": "Map", "ItemProcessor": processor, **fields}
