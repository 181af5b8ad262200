"""What the demo model answers: plain rules over the last user message, its results and the functions offered.

Owns the rules; it knows the demo's functions by name and offers none that the prompt does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from parley.prompts.prompt import Prompt, PromptMessage
from parley.providers.demo_reading import (
    amount_in,
    label_in,
    numbers_after,
    order_ids_in,
    passages_in,
    product_ids_in_result,
    quoted,
    shortened,
    top_count,
)
from parley.providers.demo_suggestions import suggest

Call = tuple[str, dict[str, Any]]

DEFAULT_LABEL = "Sale"
FIRST_ORDER, ORDERS = 1001, 10
OPEN_ORDERS = re.compile(r"Orders not yet refunded: ([^\n]*)")
"""What the marketer pack's ``issueRefund`` tells every prompt that offers it."""

# The runtime's own words alone: a coupon that expired and an order that was cancelled are failures like any others.
_REFUSALS = {
    r"automatically declined": "You wrote something else instead",
    r"not confirmed in time": "The time to approve it ran out",
    r"cancelled this turn": "You cancelled it",
    r"reviewer declined this action": "The reviewer declined it",
    r"(declined|rejected|refused)( this)? action|^(user )?(declined|rejected)": "You declined it",
}
_REPORT = re.compile(r"(Done\.|All right\.|That did not work|Here is what) ")
"""How this model's own reports begin: a subagent's is passed on, without what the runtime adds for the model."""
_ADDED = re.compile(r"\n\n[^\n]*automatically declined[^\n]*\Z")


@dataclass(frozen=True, slots=True)
class Reply:
    """The model's reply: text, and calls with their arguments."""

    text: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class _Situation:
    """The prompt, read once: ``said`` is the last user message, ``since`` what came after it."""

    prompt: Prompt
    said: str
    since: Sequence[PromptMessage]
    earlier: Sequence[PromptMessage]

    def offers(self, name: str) -> bool:
        return any(tool.name == name for tool in self.prompt.tools)

    def says(self, pattern: str) -> re.Match[str] | None:
        return re.search(pattern, self.said, re.IGNORECASE)


def answer(prompt: Prompt) -> Reply:
    """The reply to a prompt; the same for the same prompt."""
    messages = prompt.messages
    start = max((place for place, message in enumerate(messages) if message.role == "user"), default=None)
    if start is None:
        return Reply("How can I help?")
    if prompt.purpose == "predefined":
        return Reply(messages[start].content)
    if prompt.purpose == "suggestions":
        return Reply(suggest(prompt))
    situation = _Situation(prompt, messages[start].content, messages[start + 1 :], messages[:start])
    if any(message.role == "tool" for message in situation.since):
        return _after_results(situation)
    for rule in _RULES:
        if calls := rule(situation):
            return Reply(calls=tuple(calls))
    return Reply(f'You said: "{shortened(situation.said)}". How can I help?')


def _after_results(situation: _Situation) -> Reply:
    """The next call of a chain, or a report of the results that came last."""
    latest: list[PromptMessage] = []
    for message in situation.since:
        if message.role == "tool":
            latest.append(message)
        else:
            latest.clear()
    called = {call.name for message in situation.since for call in message.tool_calls}
    top = next((message for message in latest if message.name == "getTopProducts" and message.ok), None)
    listed = product_ids_in_result(top.content) if top is not None else []
    if listed and _wants_label(situation) and "changeCustomLabel" not in called:
        return Reply(calls=(_label_call(situation, listed),))
    if not latest:
        return Reply("That is all I have. How can I help?")
    return Reply("\n".join(_report(message) for message in latest))


def _report(result: PromptMessage) -> str:
    content = shortened(result.content, 4000)
    if result.ok and _REPORT.match(content):
        return _ADDED.sub("", content)
    if result.ok and result.name == "searchKnowledgeBase":
        return _quotation(result.content)
    if result.ok:
        return f"Here is what {result.name} found:\n{content}" if "\n" in content else f"Done. {content}"
    for pattern, because in _REFUSALS.items():
        if re.search(pattern, content, re.IGNORECASE):
            return f"All right. {because}, so I did not run {result.name}."
    return f"That did not work: {content}"


def _quotation(result: str) -> str:
    """The best passage, and where to read on."""
    found = passages_in(result)
    if not found:
        return result
    document, title, passage = found[0]
    others = dict.fromkeys(name for _, name, _ in found if name != title)
    more = f"\n\nSee also: {', '.join(others)}." if others else ""
    return f"Here is what {title} ({document}) says:\n{shortened(passage, 1000)}{more}"


def _wants_label(situation: _Situation) -> bool:
    return (
        situation.offers("changeCustomLabel")
        and situation.says(r"\b(labels?|custom_label_[0-4]|manage)\b") is not None
    )


def _label_call(situation: _Situation, products: Sequence[int]) -> Call:
    arguments: dict[str, Any] = {
        "products": list(products),
        "label": label_in(situation.said) or DEFAULT_LABEL,
    }
    if field := situation.says(r"\bcustom_label_[0-4]\b"):
        arguments["field"] = field.group().lower()
    return ("changeCustomLabel", arguments)


def _manage_products(situation: _Situation) -> list[Call]:
    wanted = situation.says(r"\bmanage\b[^.:\n]*\bproducts?\b\s*[:,-]?\s*(.*)")
    if wanted is None or not situation.offers("manageProducts"):
        return []
    return [("manageProducts", {"user_request": wanted.group(1).strip() or situation.said.strip()})]


def _refund(situation: _Situation) -> list[Call]:
    if not (situation.offers("issueRefund") and situation.says("refund")):
        return []
    orders = order_ids_in(situation.said) or [_open_order(situation)]
    arguments: dict[str, Any] = {"reason": shortened(situation.said)}
    if amount := amount_in(situation.said):
        arguments["amount"] = amount
    return [("issueRefund", {"order_id": order, **arguments}) for order in orders]


def _open_order(situation: _Situation) -> str:
    """The first order that nothing in the prompt shows as refunded; the first of all if there is none."""
    orders = [f"A-{number}" for number in range(FIRST_ORDER, FIRST_ORDER + ORDERS)]
    still_open = orders
    if told := OPEN_ORDERS.search(situation.prompt.system):
        still_open = order_ids_in(told.group(1))
    refunded = {
        order
        for message in situation.earlier
        if message.name == "issueRefund" and (message.ok or "already" in message.content)
        for order in order_ids_in(message.content)
    }
    return next((order for order in still_open if order not in refunded), orders[0])


def _change_label(situation: _Situation) -> list[Call]:
    if not (situation.offers("changeCustomLabel") and situation.says(r"\b(labels?|custom_label_[0-4])\b")):
        return []
    if products := numbers_after("products?", situation.said):
        return [_label_call(situation, products)]
    if top_count(situation.said):
        return []  # first the products, then their label
    for message in reversed(situation.earlier):
        if message.name == "getTopProducts" and message.ok:
            found = product_ids_in_result(message.content)
            first = situation.says(r"\bfirst\s+(\d+)\b")
            return [_label_call(situation, found[: int(first.group(1))] if first else found)]
    return []


def _duplicate(situation: _Situation) -> list[Call]:
    products = numbers_after("products?", situation.said)
    if not (products and situation.offers("duplicateProducts") and situation.says(r"\b(duplicate|copy)\b")):
        return []
    return [("duplicateProducts", {"products": products})]


def _top_products(situation: _Situation) -> list[Call]:
    count = top_count(situation.said)
    if not (count and situation.offers("getTopProducts")):
        return []
    by = situation.says(r"\b(units|clicks)\b")
    return [("getTopProducts", {"limit": count, "sortBy": by.group(1).lower() if by else "revenue"})]


def _create_task(situation: _Situation) -> list[Call]:
    wanted = situation.says(r"\b(?:create|add|make)\b(?:\s+\w+)?\s+task\b\s*(?:to\b|for\b|:)?\s*(.*)")
    if wanted is None or not situation.offers("createTask"):
        return []
    title = (quoted(situation.said) or wanted.group(1).strip(" .!?\"'") or "Follow up")[:200]
    return [("createTask", {"title": title, "description": shortened(situation.said)})]


def _campaign(situation: _Situation) -> list[Call]:
    campaigns = numbers_after("campaigns?", situation.said)
    if not campaigns:
        return []
    words = situation.says(r"\bkeywords?\b\s*:?\s*(.+?)(?:\s+(?:to|for|in|from)\s+campaign|$)")
    if words and situation.offers("addNegativeKeywords"):
        keywords = [word.strip(" .'\"") for word in re.split(r",|\band\b", words.group(1))]
        return [
            (
                "addNegativeKeywords",
                {"campaign_id": campaigns[0], "keywords": [word for word in keywords if word]},
            )
        ]
    status = situation.says(r"\b(pause|stop|enable|start|activate|resume)")
    if status and situation.offers("editCampaignStatus"):
        paused = status.group(1).lower() in {"pause", "stop"}
        return [
            ("editCampaignStatus", {"campaign_id": campaigns[0], "status": "paused" if paused else "enabled"})
        ]
    return []


def _knowledge(situation: _Situation) -> list[Call]:
    wanted = situation.says(
        r"\b(polic(?:y|ies)|guide(?:lines?)?|checklist|how (?:do|long|should|can)|knowledge)\b"
    )
    if wanted is None or not situation.offers("searchKnowledgeBase"):
        return []
    named = situation.says(r"\bknowledge(?: base)?\b\s*(?:for|about|on|:)?\s*(.*)")
    query = (named.group(1).strip(" .?!") if named else "") or situation.said
    return [("searchKnowledgeBase", {"query": shortened(query, 500)})]


_RULES: tuple[Callable[[_Situation], list[Call]], ...] = (
    _manage_products,
    _refund,
    _change_label,
    _duplicate,
    _top_products,
    _create_task,
    _campaign,
    _knowledge,
)
