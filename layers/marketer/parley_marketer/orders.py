"""Functions over orders."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from parley.tools.function import Function, FunctionArguments, FunctionFailed, FunctionResult
from parley_marketer.data import ORDERS, PACK, cents, money, order_key


def _as_text(value: Any) -> Any:
    """A number that came as JSON's kind, as the decimal that was written; a truth value is no number."""
    return repr(value) if isinstance(value, float) else "true" if value is True else value


Amount = Annotated[
    Decimal,
    BeforeValidator(_as_text),
    Field(gt=0, max_digits=12, decimal_places=2),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": r"^\d+(\.\d{1,2})?$",
            "description": "Amount to refund, such as 12.50. Left out: the whole order.",
        }
    ),
]


class IssueRefund(Function):
    """An order is refunded once: the refund is kept in the order, with the key of the call that made it."""

    name = "issueRefund"
    description = "Refunds an order, in whole or in part."
    pack = PACK
    requires_user_confirmation = True
    confirmation_question = "Refund {amount|the whole amount} for order {order_id}?"

    class Arguments(FunctionArguments):
        """Which order, how much, why."""

        order_id: str = Field(min_length=1, max_length=32, description="Order number, such as A-1001.")
        amount: Amount | None = None
        reason: str = Field(default="", max_length=1000, description="Why, in the customer's words.")

    def handle(self, arguments: Arguments) -> FunctionResult:
        """The same words whenever this call runs; a refused one changes nothing."""
        order_id = arguments.order_id.strip().upper()
        wanted = None if arguments.amount is None else cents(arguments.amount)
        key, now = self.context.idempotency_key, int(self.context.clock.now())

        def refunded(order: dict[str, Any] | None) -> dict[str, Any]:
            if order is None:
                raise FunctionFailed(self._unknown(order_id))
            if (refund := order["refund"]) is not None:
                if refund["key"] == key:
                    return order
                amount = money(refund["amount_cents"])
                raise FunctionFailed(
                    f"Order {order_id} was already refunded ({amount}). Nothing was changed."
                )
            amount_cents = order["total_cents"] if wanted is None else wanted
            if amount_cents > order["total_cents"]:
                total = money(order["total_cents"])
                raise FunctionFailed(f"Order {order_id} was only {total} in total. Nothing was changed.")
            refund = {"key": key, "amount_cents": amount_cents, "reason": arguments.reason, "at": now}
            return {**order, "refund": refund}

        order = self.context.data.update(order_key(order_id), refunded)
        amount = money(order["refund"]["amount_cents"])
        return FunctionResult(
            f"Refunded {amount} for order {order_id}.",
            {"order_id": order_id, "amount": amount, "table_data": _table(order)},
        )

    def _unknown(self, order_id: str) -> str:
        known = ", ".join(entry.value["id"] for entry in self.context.data.list(ORDERS))
        return f"There is no order {order_id}. The orders are: {known or 'none'}."

    def prompt_context(self) -> str:
        """So that a model proposes an order that can be refunded."""
        still_open = [
            entry.value["id"] for entry in self.context.data.list(ORDERS) if entry.value["refund"] is None
        ]
        return f"Orders not yet refunded: {', '.join(still_open) or 'none'}"


def _table(order: dict[str, Any]) -> dict[str, Any]:
    refund = order["refund"]
    row = [
        order["id"],
        order["customer"],
        money(order["total_cents"]),
        money(refund["amount_cents"]),
        refund["reason"],
    ]
    return {"columns": ["order", "customer", "total", "refunded", "reason"], "rows": [row]}
