"""Who decides about proposed actions in a terminal: a person that types, or a script that always says the same."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any, Protocol

from parley.cli.argument_types import object_in
from parley.cli.terminal import named
from parley.cli.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Approve:
    """Run it. ``changes``: arguments in place of the proposed ones; those that are not named stay."""

    changes: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Decline:
    """Do not run it; the model sees the reason."""

    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """Say something else instead."""

    text: str


@dataclass(frozen=True, slots=True)
class Leave:
    """Somebody else decides, or time does."""


Answer = Approve | Decline | Write | Leave


class Person(Protocol):
    """Who decides about proposed actions."""

    def decide(self, transcript: Transcript, proposal: dict[str, Any], indent: int) -> Answer:
        """The answer; shows the question, and what was answered. `proposal` has `question` and `arguments`."""
        ...


class Decided:
    """Answers every question as `--decision` says."""

    def __init__(self, approve: bool) -> None:
        self._approve = approve

    def decide(self, transcript: Transcript, proposal: dict[str, Any], indent: int) -> Answer:
        """See Person."""
        transcript.call(proposal, indent=indent)
        transcript.ask(proposal["question"], indent=indent)
        transcript.answered("approve" if self._approve else "decline")
        return Approve() if self._approve else Decline()


class Asked:
    """Answers as the person at the terminal does; with nobody there, nothing is approved."""

    def decide(self, transcript: Transcript, proposal: dict[str, Any], indent: int) -> Answer:
        """See Person. Asks until the answer can be understood."""
        transcript.call(proposal, indent=indent)
        question = f"{proposal['question']} [y/n/e/w/?]"
        while True:
            transcript.ask(question, indent=indent)
            try:
                typed = input().strip()
            except EOFError:
                transcript.answered("declined: nobody answered")
                return Decline()
            transcript.answered(typed, echoed=sys.stdin.isatty())
            understood = understand(typed)
            if not isinstance(understood, str):
                return understood
            for line in understood.splitlines():
                transcript.line(line, indent=indent, style="dim")
            if typed.lower() in _EDIT:
                transcript.line(f"  {named(_json(proposal['arguments']))}", indent=indent)
            question = "[y/n/e/w/?]"


HELP = """y  approve
n REASON  decline; the model sees the reason, if you give one
e {"NAME": VALUE}  approve with other arguments; those that you do not name stay
w  wait: somebody else decides
Anything of more than one word is sent as a message instead."""
_YES = {"y", "yes"}
_EDIT = {"e", "edit"}
_EDIT_HOW = """To change arguments, type e and what is to change, such as e {"NAME": VALUE}. Proposed are:"""


def understand(typed: str) -> Answer | str:
    """What was typed as an answer, or else words that help."""
    first, _, rest = typed.partition(" ")
    first, rest = first.lower().rstrip(",.:;!"), rest.strip()
    if first in {"n", "no"}:
        return Decline(rest or None)
    if first in _EDIT:
        return _changes(rest) if rest else _EDIT_HOW
    if rest:
        return "Please answer y alone to approve." if first in _YES else Write(typed)
    if first in _YES:
        return Approve()
    if first in {"w", "wait"}:
        return Leave()
    return HELP if first == "?" else "Please answer y, n, e or w; ? explains."


def _changes(text: str) -> Answer | str:
    try:
        return Approve(object_in(text))
    except ValueError as error:
        return f"{error}; nothing was decided."


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
