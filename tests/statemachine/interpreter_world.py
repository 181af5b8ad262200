"""Machines and functions that several tests of the interpreter play with."""

from typing import Any

from tests.statemachine.corpus import call, each, flow, nested, passing, wait_for_token
from tests.statemachine.corpus_player import with_arns
from tests.statemachine.interpreter_stage import CHILD, MAIN


class Functions:
    """ "ask" keeps its token; the others return their payload."""

    def __init__(self) -> None:
        self.tokens: list[str] = []

    def __call__(self, function: str, payload: Any) -> Any:
        if function == "ask":
            self.tokens.append(payload["token"])
            return None
        if function == "unmarshallable":
            return {"of": object()}
        if function == "nan":
            return float("nan")
        return payload


MACHINES = {
    "main": flow(("Work", call("work")), ("Ask", wait_for_token("ask"))),
    "child": flow(("Ask", wait_for_token("ask"))),
    "parent": with_arns(flow(("Nest", nested("the-child"))), {"child": CHILD}),
    "unmarshallable": flow(("T", call("unmarshallable"))),
    "nan": flow(("T", call("nan"))),
    "map": flow(("M", each(("T", call("work"))))),
    "pass": flow(("P", passing())),
}
PARENT = MAIN.replace("main", "parent")
