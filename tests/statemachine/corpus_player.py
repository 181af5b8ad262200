"""What every runner of the corpus shares: functions that behave as scripted, ARNs, checks."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never

from tests.statemachine.corpus import (
    ANY,
    Answers,
    Behaviour,
    Case,
    Echoes,
    Hangs,
    Raises,
    Returns,
)

BOUND = 120.0  # real seconds that anything in a case may take


class ScriptedFunctions:
    """The functions of a case, callable as (name, payload). `answer(token, output)` is the backend's."""

    def __init__(self, case: Case, answer: Callable[[str, str], None]) -> None:
        self._behaviours = case.functions
        self._answer = answer
        self._changed = threading.Condition()
        self._over = threading.Event()
        self.payloads: dict[str, list[Any]] = {}

    def __call__(self, function: str, payload: Any) -> Any:
        """Invoke."""
        with self._changed:
            calls = self.payloads.setdefault(function, [])
            calls.append(payload)
            behaviours = self._behaviours[function]
            behaviour = behaviours[min(len(calls), len(behaviours)) - 1]
            self._changed.notify_all()
        return self._behave(behaviour, payload)

    def _behave(self, behaviour: Behaviour, payload: Any) -> Any:
        match behaviour:
            case Returns(value):
                return value
            case Echoes():
                return payload
            case Raises(error, message):
                raise type(error, (Exception,), {})(message)
            case Hangs():
                self._over.wait(BOUND)
                return "too late"
            case Answers(output):
                self._answer(payload["token"], json.dumps(output))
                return None
            case _:
                assert_never(behaviour)

    def payload_of(self, function: str, number: int) -> Any:
        """What the `number`-th invocation got, once it was made."""
        with self._changed:
            made = self._changed.wait_for(lambda: len(self.payloads.get(function, [])) >= number, BOUND)
            assert made, f"invocation {number} of {function} was not made"
            return self.payloads[function][number - 1]

    def end(self) -> None:
        """The case is over: what hangs returns."""
        self._over.set()


def with_arns(definition: Mapping[str, Any], arns: Mapping[str, str]) -> dict[str, Any]:
    """The definition with `${NAME}` replaced by that machine's ARN."""
    text = json.dumps(definition)
    for name, arn in arns.items():
        text = text.replace(f"${{{name}}}", arn)
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def check_end(case: Case, status: str, output: str | None, error: str | None, cause: str | None) -> None:
    """How the execution ended."""
    assert status == case.status, f"{status}: {error}: {cause}"
    if case.status == "SUCCEEDED" and case.output is not ANY:
        assert json.loads(output or "null") == case.output
    if case.error is not None:
        assert error == case.error, cause
    if case.cause is not None:
        assert case.cause in (cause or "")


def check_states(case: Case, names: Sequence[str]) -> None:
    """The states it entered, in order."""
    if case.states is None:
        return
    if case.unordered:
        assert Counter(names) == Counter(case.states)
    else:
        assert list(names) == list(case.states)


def check_functions(case: Case, functions: ScriptedFunctions) -> None:
    """What the functions got."""
    for function, payloads in case.payloads.items():
        assert functions.payloads.get(function, []) == list(payloads)
    for function, count in case.invocations.items():
        assert len(functions.payloads.get(function, [])) == count
