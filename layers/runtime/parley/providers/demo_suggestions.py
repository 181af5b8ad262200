"""What the demo model suggests to do next: plain rules over what was said in the turn and the functions there are."""

from __future__ import annotations

import json
import re

from parley.prompts.prompt import Prompt
from parley.prompts.suggestions import INSTRUCTION, SCHEMA
from parley.providers.demo_reading import product_ids_in_result

_LABELLED = 3
_GENERAL = (
    ("getTopProducts", "Show the best sellers", "Show me top 5 products"),
    ("manageProducts", "Label the best sellers", "Manage products: change label for top 10"),
    ("issueRefund", "Refund an order", "Please refund my order"),
    ("createTask", "Note a task", "Create a task to look at the best sellers"),
)
"""Function that it takes, label, message."""


def suggest(prompt: Prompt) -> str:
    """The answer to a prompt for suggestions: JSON of the form that it asks for, or words where it has none."""
    talk = prompt.messages[0].content.removesuffix(INSTRUCTION) if prompt.messages else ""
    offered = re.findall(r"\w+", prompt.system.removeprefix(INSTRUCTION))
    actions = [
        {"label": label, "message": message}
        for function, label, message in (*_about_products(talk), *_GENERAL)
        if function in offered and message.lower() not in talk.lower()
    ]
    name = next(iter(SCHEMA["properties"]))
    return json.dumps({name: actions[:3]}) if actions else "There is nothing that I would suggest."


def _about_products(talk: str) -> list[tuple[str, str, str]]:
    """What one does with products that were just listed."""
    listed = product_ids_in_result(talk)[:_LABELLED]
    if not listed:
        return []
    products = ", ".join(map(str, listed))
    return [
        (
            "changeCustomLabel",
            "Label the first ones 'Sale'",
            f"Change custom_label_0 to 'Sale' for products {products}",
        ),
        ("getTopProducts", "Rank them by clicks", "Show me top 5 products by clicks"),
    ]
