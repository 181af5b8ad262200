"""A function class with arguments of many kinds, which does what a test wants."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Literal

from pydantic import AnyUrl, BaseModel, Field, model_validator

from parley.clock import MovableClock
from parley.tools.function import (
    Function,
    FunctionArguments,
    FunctionContext,
)
from parley.tools.registry import FunctionRegistry
from parley.turns.function_ports import FunctionCall, FunctionOutcome
from tests.support.memory_store import MemoryStore


class Range(BaseModel):
    low: int = Field(ge=0)
    high: int = Field(le=9)


class Probe(Function):
    """What it does is up to the test."""

    name = "probe"
    description = "Probes."
    requires_user_confirmation = True
    confirmation_question = "Probe {limit}?"
    does: Callable[[Any], Any] = staticmethod(lambda arguments: "done")
    seen: list[FunctionContext]

    class Arguments(FunctionArguments):
        limit: int = Field(default=10, ge=1, le=100)
        order: Literal["up", "down"] = "up"
        title: str = Field(default="x", min_length=1, max_length=5)
        link: AnyUrl | None = None
        tags: list[str] = Field(default_factory=list, max_length=2)
        ranges: list[Range] = Field(default_factory=list)
        flag: bool = False
        price: Decimal | None = Field(default=None, gt=0, decimal_places=2)
        code: str = Field(default="AB", pattern="^[A-Z]+$", description="capital letters")

        @model_validator(mode="after")
        def _not_thirteen(self) -> "Probe.Arguments":
            if self.limit == 13:
                raise ValueError("thirteen is unlucky")
            return self

    def handle(self, arguments: Arguments) -> Any:
        return type(self).does(arguments)


def registry(does: Callable[[Any], Any] = lambda arguments: "done") -> FunctionRegistry:
    probe = type("Probe", (Probe,), {"does": staticmethod(does)})
    return FunctionRegistry(MemoryStore(), MovableClock(), classes=[probe])


def call(does: Callable[[Any], Any], **arguments: Any) -> FunctionOutcome:
    return registry(does).call(FunctionCall("probe", arguments, "u", "p", "a", "t", "key"))
