"""The shipped state machine as data, for the tests that look at it without running it."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DEFINITION_FILE = ROOT / "statemachine" / "conversation.asl.json"

TOKEN_RESOURCE = "arn:aws:states:::lambda:invoke.waitForTaskToken"
LAMBDA_RESOURCES = ("arn:aws:states:::lambda:invoke", TOKEN_RESOURCE)


@dataclass(frozen=True)
class Flow:
    """One scope of states: the machine itself, or the body of a Map, whose name it bears."""

    owner: str
    start: str
    states: dict[str, dict[str, Any]]


def definition(text: str | None = None) -> dict[str, Any]:
    """The definition with its substitutions still in it; given ``text``, that one."""
    loaded: dict[str, Any] = json.loads(DEFINITION_FILE.read_text(encoding="utf-8") if text is None else text)
    return loaded


def flows(machine: dict[str, Any], owner: str = "") -> Iterator[Flow]:
    """The outer flow first, then what it nests."""
    yield Flow(owner, machine["StartAt"], machine["States"])
    for name, state in machine["States"].items():
        if state["Type"] == "Map":
            yield from flows(state["ItemProcessor"], name)


def tasks(machine: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """All Task states, wherever they lie, by name."""
    return {
        name: state
        for flow in flows(machine)
        for name, state in flow.states.items()
        if state["Type"] == "Task"
    }


def lambda_tasks(machine: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The Task states that a module in functions/on_task answers."""
    return {name: state for name, state in tasks(machine).items() if state["Resource"] in LAMBDA_RESOURCES}


def successors(state: dict[str, Any]) -> set[str]:
    """Every state that may follow."""
    found = {state[key] for key in ("Next", "Default") if key in state}
    found |= {choice["Next"] for choice in state.get("Choices", [])}
    return found | {catcher["Next"] for catcher in state.get("Catch", [])}


def substitutions(value: Any) -> set[str]:
    """The names of the ``${...}`` in a definition."""
    return set(re.findall(r"\$\{(\w+)\}", json.dumps(value)))


def snake_case(state: str) -> str:
    """The module that answers a state."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", state).lower()
