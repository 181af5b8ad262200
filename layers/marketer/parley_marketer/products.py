"""Functions over products: the best ones, their labels, copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from parley.tools.function import Function, FunctionArguments, FunctionFailed, FunctionResult
from parley_marketer.data import COPIES, NEXT_PRODUCT, PACK, PRODUCTS, OneLine, money, product_key

ProductIds = Annotated[
    list[Annotated[int, Field(ge=1)]], Field(min_length=1, max_length=100, description="Product numbers.")
]
LabelField = Literal["custom_label_0", "custom_label_1", "custom_label_2", "custom_label_3", "custom_label_4"]


class GetTopProducts(Function):
    """Reads only."""

    name = "getTopProducts"
    description = "Lists the project's best products by revenue, units sold or clicks."
    pack = PACK

    class Arguments(FunctionArguments):
        """How many, by what."""

        limit: int = Field(default=10, ge=1, le=100, description="How many products.")
        sortBy: Literal["revenue", "units", "clicks"] = Field(default="revenue", description="What counts.")

    def handle(self, arguments: Arguments) -> FunctionResult:
        """One line per product, and the same as a table."""
        measure = "revenue_cents" if arguments.sortBy == "revenue" else arguments.sortBy
        products = [entry.value for entry in self.context.data.list(PRODUCTS)]
        products.sort(key=lambda product: (-product[measure], product["id"]))
        top = products[: arguments.limit]
        lines = [f"Top {len(top)} products by {arguments.sortBy}:"]
        lines += [f"{rank}. {_line(product)}" for rank, product in enumerate(top, start=1)]
        return FunctionResult("\n".join(lines), {"table_data": _table(top)})


def _line(product: dict[str, Any]) -> str:
    figures = (
        f"revenue {money(product['revenue_cents'])}, {product['units']} units, {product['clicks']} clicks"
    )
    labels = f", {named}" if (named := _labels(product)) else ""
    return f"product {product['id']} ({product['name']}): {figures}{labels}"


def _labels(product: dict[str, Any]) -> str:
    return ", ".join(f"{field} '{label}'" for field, label in sorted(product["labels"].items()))


def _table(products: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "columns": ["id", "name", "revenue", "units", "clicks", "labels"],
        "rows": [
            [
                product["id"],
                product["name"],
                money(product["revenue_cents"]),
                product["units"],
                product["clicks"],
                _labels(product),
            ]
            for product in products
        ],
    }


class ChangeCustomLabel(Function):
    """Repeatable by nature: setting a label that is set changes nothing."""

    name = "changeCustomLabel"
    description = "Sets a custom label of products."
    pack = PACK
    requires_user_confirmation = True
    confirmation_question = "Change {field|custom_label_0} to '{label}' for {products.count} products?"

    class Arguments(FunctionArguments):
        """Which products, which label."""

        products: ProductIds
        label: OneLine = Field(max_length=100, description="The label's new text.")
        field: LabelField = Field(default="custom_label_0", description="Which of the custom labels.")

    def handle(self, arguments: Arguments) -> FunctionResult:
        """All products, or none if one of them does not exist."""
        chosen = list(dict.fromkeys(arguments.products))
        _existing(self, chosen)
        changed = [
            self.context.data.update(
                product_key(product_id),
                lambda product: {
                    **product,
                    "labels": {**product["labels"], arguments.field: arguments.label},
                },
            )
            for product_id in chosen
        ]
        count = f"{len(chosen)} product{'s' if len(chosen) != 1 else ''}"
        return FunctionResult(
            f"Changed {arguments.field} to '{arguments.label}' for {count}.",
            {
                "products": chosen,
                "field": arguments.field,
                "label": arguments.label,
                "table_data": _table(changed),
            },
        )


class DuplicateProducts(Function):
    """The copies' numbers are kept under the call's key before any copy is made: a second run finds them."""

    name = "duplicateProducts"
    description = "Makes a copy of each of the given products."
    pack = PACK

    class Arguments(FunctionArguments):
        """Which products."""

        products: Annotated[ProductIds, Field(max_length=20)]

    def handle(self, arguments: Arguments) -> FunctionResult:
        """One copy each, with a new number and no sales."""
        chosen = list(dict.fromkeys(arguments.products))
        originals = _existing(self, chosen)
        copies = self._numbers(len(chosen))
        made: list[dict[str, Any]] = []
        for original, number in zip(originals, copies, strict=True):
            copy = {**original, "id": number, "name": f"{original['name']} (copy)"}
            copy |= {"units": 0, "clicks": 0, "revenue_cents": 0, "labels": {}}
            self.context.data.put(product_key(number), copy, if_version=0)
            made.append(copy)
        pairs = ", ".join(f"{old} as {new}" for old, new in zip(chosen, copies, strict=True))
        return FunctionResult(f"Duplicated product {pairs}.", {"copies": copies, "table_data": _table(made)})

    def _numbers(self, count: int) -> list[int]:
        """New product numbers, the same ones whenever this call runs. A crash in between leaves a gap."""
        data, key = self.context.data, f"{COPIES}{self.context.idempotency_key}"
        kept = data.get(key)
        if kept is None:
            following = data.update(NEXT_PRODUCT, lambda value: {"id": value["id"] + count})["id"]
            numbers = list(range(following - count, following))
            kept = data.put(key, {"numbers": numbers}, if_version=0) or data.get(key)
        return list(kept.value["numbers"]) if kept is not None else []


def _existing(function: Function, product_ids: Sequence[int]) -> list[dict[str, Any]]:
    """The products; raises FunctionFailed naming those that are not there."""
    entries = {product_id: function.context.data.get(product_key(product_id)) for product_id in product_ids}
    if missing := [str(product_id) for product_id, entry in entries.items() if entry is None]:
        raise FunctionFailed(f"There is no product {', '.join(missing)}. Nothing was changed.")
    return [entry.value for entry in entries.values() if entry is not None]
