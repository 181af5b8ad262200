"""The question that a person answers before an action runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parley.prompts.template import as_words, fill_template

LONGEST_VALUE = 200
LONGEST_QUESTION = 1000


def confirmation_question(
    template: str | None, name: str, arguments: Mapping[str, Any], parameters: Mapping[str, Any] | None = None
) -> str:
    """The function's question with its placeholders filled (see ``template``), such as
    ``Change {field} to '{label}' for {products.count} products?``; without a template one that names the
    function and its arguments.

    ``parameters`` is the function's JSON schema: what the model left out stands with its default, as it will run.
    """
    if template and template.strip():
        known = {**_defaults(parameters or {}), **arguments}
        question = fill_template(template.strip(), known, longest=LONGEST_VALUE)
    else:
        given = "; ".join(f"{key}: {_short(as_words(value))}" for key, value in arguments.items())
        question = f"Run {name} ({given})?" if given else f"Run {name}?"
    return question if len(question) <= LONGEST_QUESTION else question[: LONGEST_QUESTION - 1] + "…"


def _defaults(parameters: Mapping[str, Any]) -> dict[str, Any]:
    properties = parameters.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {
        name: schema["default"]
        for name, schema in properties.items()
        if isinstance(schema, Mapping) and "default" in schema
    }


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE].rstrip() + "…"
