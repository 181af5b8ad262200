"""The one form in which a function that runs elsewhere answers, and what a model and a person are told of it.

An answer is text; or JSON ``{"content": text, "ok": bool, "additional_data": object}``, of which ``content`` alone has
to be there; or any other JSON, which the model gets as it is. What a server says of its own errors never goes on,
unless it says it in this form: it may hold anything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from parley.tools.results import clean_content, clean_data
from parley.turns.function_ports import FunctionOutcome

LARGEST_ANSWER = 1_048_576
"""Bytes that are read of an answer: several times what a model gets of it."""
NOTHING_SAID = "Done. Nothing was said about it."
HIDDEN = "[secret]"
_SHORTEST_SECRET = 6
"""Characters. A shorter one may stand in a text by chance."""


class Unanswered(Exception):
    """The function gave no answer that can be used. ``str(error)`` is what it did, in words that go on a name.

    ``ran``: whether it may have run, and so may have acted.
    """

    def __init__(self, words: str, *, ran: bool = True) -> None:
        super().__init__(words)
        self.ran = ran


class NotReached(Unanswered):
    """No connection came about: nothing was done, and the next try may have more luck."""

    def __init__(self) -> None:
        super().__init__("could not be reached", ran=False)


def failed(name: str, error: Unanswered) -> FunctionOutcome:
    """What the model and the person are told of it."""
    acted = "It may or may not have acted." if error.ran else "Nothing was done."
    return FunctionOutcome(f"{name} {error}. {acted}", ok=False)


def read_json(body: bytes) -> FunctionOutcome:
    """The outcome in a JSON answer. Raises Unanswered: not JSON, or not quite in our form.

    No body at all says nothing, and is no broken JSON: frameworks name a type for it all the same.
    """
    if not body.strip():
        return read_text("")
    try:
        value = _json(body)
    except (ValueError, RecursionError):
        raise Unanswered("gave an answer that calls itself JSON and is none") from None
    if value is None:
        return read_text("")
    if isinstance(value, str):
        return read_text(value)
    if not isinstance(value, dict) or "content" not in value:
        return read_text(json.dumps(value, ensure_ascii=False))
    return _in_form(value)


def _json(body: bytes) -> Any:
    """The value, with or without the mark that some servers put in front of UTF-8. Raises ValueError."""
    return json.loads(body.decode("utf-8-sig"))


def _in_form(value: Mapping[str, Any]) -> FunctionOutcome:
    content, ok, data = value["content"], value.get("ok", True), value.get("additional_data") or {}
    if not isinstance(content, str) or not isinstance(ok, bool) or not isinstance(data, dict):
        raise Unanswered(
            "gave an answer in which content is no text, ok no boolean or additional_data no object"
        )
    return FunctionOutcome(clean_content(content) or NOTHING_SAID, ok, clean_data(data))


def read_text(text: str) -> FunctionOutcome:
    return FunctionOutcome(clean_content(text) if text.strip() else NOTHING_SAID)


def meant_for_the_model(body: bytes) -> FunctionOutcome | None:
    """A refusal in our form, or None: the words of a server that does not know the form are not passed on."""
    try:
        value = _json(body)
        outcome = _in_form(value) if isinstance(value, dict) and "content" in value else None
    except (ValueError, RecursionError, Unanswered):
        return None
    return FunctionOutcome(outcome.content, False, outcome.additional_data) if outcome else None


def without(outcome: FunctionOutcome, secret: str | None) -> FunctionOutcome:
    """The outcome, should the server have said the secret back."""
    if not secret or len(secret) < _SHORTEST_SECRET:
        return outcome
    content, data = _hidden([outcome.content, outcome.additional_data], secret)
    return FunctionOutcome(content, outcome.ok, data)


def _hidden(value: Any, secret: str) -> Any:
    match value:
        case str():
            return value.replace(secret, HIDDEN)
        case list():
            return [_hidden(each, secret) for each in value]
        case dict():
            return {_hidden(name, secret): _hidden(each, secret) for name, each in value.items()}
        case _:
            return HIDDEN if secret in str(value) else value  # a secret of digits, said back as a number
