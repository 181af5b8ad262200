"""How the demo model reads words: order ids, product numbers, labels, amounts."""

from __future__ import annotations

import re
from html import unescape

_ORDER = re.compile(r"\bA-\d{3,6}\b", re.IGNORECASE)
_AMOUNT = re.compile(
    r"[$€£]\s*(\d+(?:\.\d{1,2})?)|\b(\d+(?:\.\d{1,2})?)\s*(?:dollars?|euros?|eur|usd|€)|(?<![\d.-])(\d+\.\d{2})\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"(?<!\w)['\"“‘]([^'\"“”‘’]{1,100})['\"”’](?!\w)")
_LABEL_TO = re.compile(
    r"\blabels?\b.*?\b(?:to|as)\s+([\w][\w -]{0,60}?)(?:\s+(?:for|on|of)\b|[.,!?]|$)", re.IGNORECASE
)
_TOP = re.compile(r"\btop\s+(\d{1,9})\b|\btop\b[^.]*\bproducts?\b|\bbest[- ]sell", re.IGNORECASE)
_LISTED_PRODUCT = re.compile(r"\b\d+\. product (\d+)\b", re.IGNORECASE)
_NUMBERS = r"\s*#?((?:\d+(?:\s*(?:-|–|to)\s*#?\d+)?(?:\s*,\s*(?:and\s+)?|\s+and\s+|\s*&\s*)?#?)+)"
_RANGE = re.compile(r"(\d+)(?:\s*(?:-|–|to)\s*#?(\d+))?")
_PASSAGE = re.compile(
    r'<passage number="\d+" document="([^"]*)" title="([^"]*)"[^>]*>\n(.*?)\n</passage>', re.DOTALL
)
_DEFAULT_TOP = 10
_MOST_NUMBERS = 200


def order_ids_in(text: str) -> list[str]:
    """Order ids in the order in which they first stand there, each once."""
    return list(dict.fromkeys(order.upper() for order in _ORDER.findall(text)))


def amount_in(text: str) -> str | None:
    """An amount of money as decimal text, if one is named."""
    found = _AMOUNT.search(text)
    return next((group for group in found.groups() if group), None) if found else None


def quoted(text: str) -> str | None:
    """The first words in quotation marks."""
    found = _QUOTED.search(text)
    return found.group(1).strip() if found else None


def label_in(text: str) -> str | None:
    """The label that is asked for: in quotation marks, or behind "label … to"."""
    found = _LABEL_TO.search(text)
    return quoted(text) or (found.group(1).strip() if found else None)


def top_count(text: str) -> int | None:
    """N of "top N", 10 for "top products", None if no top is asked for."""
    found = _TOP.search(text)
    if found is None:
        return None
    return int(found.group(1)) if found.group(1) else _DEFAULT_TOP


def numbers_after(noun: str, text: str) -> list[int]:
    """The numbers listed behind a noun (a pattern): "products 1, 2 and 5-7"; each once, at most 200."""
    found = re.search(rf"\b{noun}\b{_NUMBERS}", text, re.IGNORECASE)
    numbers: dict[int, None] = {}
    for first, last in _RANGE.findall(found.group(1)) if found else ():
        for number in range(int(first), min(int(last or first), int(first) + _MOST_NUMBERS) + 1):
            numbers[number] = None
    return list(numbers)[:_MOST_NUMBERS]


def product_ids_in_result(text: str) -> list[int]:
    """The products that a result of ``getTopProducts`` lists."""
    return list(dict.fromkeys(int(number) for number in _LISTED_PRODUCT.findall(text)))


def passages_in(text: str) -> list[tuple[str, str, str]]:
    """The passages that a result of ``searchKnowledgeBase`` quotes: document, title and text of each."""
    return [
        (document, unescape(title), unescape(passage)) for document, title, passage in _PASSAGE.findall(text)
    ]


def shortened(text: str, length: int = 200) -> str:
    """At most ``length`` characters, with an ellipsis if something is missing."""
    text = text.strip()
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"
