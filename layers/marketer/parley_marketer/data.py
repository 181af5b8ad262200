"""The demo's data: products 1-50, orders A-1001 to A-1010, campaigns 1-5. The same in every installation.

Owns keys and shapes. Money is whole cents; an order's refund is part of the order, so that one write decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any

from pydantic import StringConstraints

from parley.tools.data import ProjectData

PACK = "marketer"
PRODUCTS, ORDERS, CAMPAIGNS, TASKS, COPIES = "product/", "order/", "campaign/", "task/", "copies/"
INSTALLED = "installed"
NEXT_PRODUCT = "next-product"
PRODUCT_COUNT, ORDER_COUNT = 50, 10

OneLine = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, pattern=r"^[^\x00-\x1f\x7f\u2028\u2029]*$")
]
"""Text that stands in lists and questions: something to read, in one line."""

_MATERIALS = ("Canvas", "Leather", "Wool", "Linen", "Cork")
_THINGS = ("Backpack", "Wallet", "Scarf", "Apron", "Sandals", "Tote", "Belt", "Cap", "Blanket", "Slippers")
_CUSTOMERS = ("A. Moreau", "B. Okafor", "C. Lind", "D. Sato", "E. Rossi")
_CAMPAIGNS = (
    ("Spring collection", "enabled"),
    ("Brand search", "enabled"),
    ("Clearance", "paused"),
    ("New visitors", "enabled"),
    ("Gift guide", "paused"),
)


def product_key(product_id: int) -> str:
    """Padded, so that keys order as numbers do."""
    return f"{PRODUCTS}{product_id:06d}"


def order_key(order_id: str) -> str:
    """Order ids are written in capitals."""
    return f"{ORDERS}{order_id.upper()}"


def campaign_key(campaign_id: int) -> str:
    """Padded, so that keys order as numbers do."""
    return f"{CAMPAIGNS}{campaign_id:06d}"


def money(cents: int) -> str:
    """``12.50``"""
    return f"{cents // 100}.{cents % 100:02d}"


def cents(amount: Decimal) -> int:
    """An amount of at most two decimal places as whole cents."""
    return int(amount.scaleb(2))


def product(product_id: int) -> dict[str, Any]:
    """A product as it is at first. The numbers spread without a pattern that anyone would notice."""
    units = 40 + product_id * 37 % 211
    price_cents = 900 + product_id * 419 % 83 * 100
    name = f"{_MATERIALS[product_id % len(_MATERIALS)]} {_THINGS[product_id * 7 // 5 % len(_THINGS)]}"
    return {
        "id": product_id,
        "name": name,
        "price_cents": price_cents,
        "units": units,
        "clicks": units * 9 + product_id * 131 % 400,
        "revenue_cents": units * price_cents,
        "labels": {},
    }


def order(number: int) -> dict[str, Any]:
    """Order 1 is A-1001."""
    bought = product(number * 7 % PRODUCT_COUNT + 1)
    quantity = number % 3 + 1
    return {
        "id": f"A-{1000 + number}",
        "customer": _CUSTOMERS[number % len(_CUSTOMERS)],
        "product_id": bought["id"],
        "quantity": quantity,
        "total_cents": bought["price_cents"] * quantity,
        "refund": None,
    }


def seed(data: ProjectData, *, installed_at: float) -> None:
    """Put everything there that is not; safe to run at once in two processes, or again after a crash."""
    if data.get(INSTALLED) is not None:
        return
    for key, value in _all():
        data.put(key, value, if_version=0)
    data.put(INSTALLED, {"at": int(installed_at)}, if_version=0)


def _all() -> Iterator[tuple[str, dict[str, Any]]]:
    for product_id in range(1, PRODUCT_COUNT + 1):
        yield product_key(product_id), product(product_id)
    for number in range(1, ORDER_COUNT + 1):
        seeded = order(number)
        yield order_key(seeded["id"]), seeded
    for campaign_id, (name, status) in enumerate(_CAMPAIGNS, start=1):
        campaign = {"id": campaign_id, "name": name, "status": status, "negative_keywords": []}
        yield campaign_key(campaign_id), campaign
    yield NEXT_PRODUCT, {"id": PRODUCT_COUNT + 1}
