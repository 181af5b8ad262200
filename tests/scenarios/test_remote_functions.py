"""Functions that run elsewhere, in whole turns: by HTTP, as a Lambda, as an MCP server's tool; and limits of time."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from parley.aws import clients
from parley.aws.lambdas import LambdaFunctions
from parley.tools.function import Function, FunctionArguments, agent_function
from parley.tools.hosts import HostRules
from parley.tools.registry import FunctionRegistry
from parley.tools.remote import RemoteFunctions
from parley.turns.function_ports import LambdaInvoker
from tests.support.mcp_server import ToolServer, tool_server
from tests.support.soundness import CALL, REPLY, assert_sound, named, story, told
from tests.support.systems import Account, System
from tests.support.wire_server import Answer, WireServer, json_answer, wire_server

JSON = {"content-type": "application/json"}
SECRET = "sk-0123456789"
MAYBE = "It may or may not have acted."
ITEM: dict[str, Any] = {
    "type": "object",
    "properties": {"item": {"type": "string", "minLength": 2}},
    "required": ["item"],
}


class Slow(Function):
    """Takes as long as a test wants."""

    name: ClassVar[str] = "slow"
    time_limit_seconds: ClassVar[int] = 200
    begun: ClassVar[threading.Event]
    end: ClassVar[threading.Event]

    class Arguments(FunctionArguments):
        pass

    def handle(self, arguments: Arguments) -> str:
        type(self).begun.set()
        type(self).end.wait(30)
        return "done"


class InProcess:
    """Lambda functions without AWS, for a laptop."""

    def __init__(self, handler: Callable[[Any], Any]) -> None:
        self._handler = handler

    def invoke(self, function: str, payload: bytes, seconds: float) -> bytes:
        return json.dumps(self._handler(json.loads(payload))).encode()


@dataclass
class Elsewhere:
    """What the agent's functions reach."""

    system: System
    http: WireServer
    tools: ToolServer
    events: list[Any] = field(default_factory=list)

    def put(self, *functions: Any, script: list[Any], **fields: Any) -> Any:
        """An agent ``talker`` by the HTTP API; the answer."""
        agent = {
            "agent_id": "talker",
            "name": "Talker",
            "provider": "scripted",
            "model": "demo",
            "settings": {"script": script},
            "functions": functions,
            **fields,
        }
        return self.system.request("PUT", self.system.of_project("/agents/talker"), body=agent)

    def by_http(self, name: str = "order", **fields: Any) -> dict[str, Any]:
        implementation = {"kind": "http", "url": f"{self.http.url}/orders", "secret": "SHOP_KEY"}
        return {
            "name": name,
            "description": "Orders.",
            "parameters": ITEM,
            "implementation": implementation,
            **fields,
        }

    def by_lambda(self, name: str = "count", **fields: Any) -> dict[str, Any]:
        implementation = {"kind": "lambda", "function": "orders"}
        return {"name": name, "parameters": ITEM, "implementation": implementation, **fields}

    def by_mcp(self, name: str, tool: str, **fields: Any) -> dict[str, Any]:
        return {
            "name": name,
            "implementation": {"kind": "mcp", "url": self.tools.url, "tool": tool},
            **fields,
        }

    def lambda_handler(self, event: Any) -> Any:
        self.events.append(event)
        if event["arguments"]["item"] == "closed":
            return {"content": "It is closed.", "ok": False}
        return {"content": f"Counted {event['arguments']['item']}.", "additional_data": {"count": 3}}


@pytest.fixture(scope="module")
def shared_tools() -> Iterator[ToolServer]:
    with tool_server() as running:
        yield running


@pytest.fixture
def elsewhere(
    system: System, shared_tools: ToolServer, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Elsewhere]:
    shared_tools.ordered.clear()
    Slow.begun, Slow.end = threading.Event(), threading.Event()
    with wire_server() as running:
        there = Elsewhere(system, running, shared_tools)
        lambdas: LambdaInvoker = InProcess(there.lambda_handler)
        if system.backend == "aws":
            account: Account = request.getfixturevalue("account")
            tasks = account.aws.functions
            monkeypatch.setattr(
                account.aws,
                "functions",
                lambda name, event: there.lambda_handler(event) if name == "orders" else tasks(name, event),
            )
            lambdas = LambdaFunctions(
                lambda seconds: clients.lambdas(account.aws.session, seconds), system.clock.sleep
            )
        secrets = {f"PARLEY_SECRET__{system.project.replace('-', '_')}__SHOP_KEY": SECRET}
        remote = RemoteFunctions(secrets, HostRules.of("*"), lambda: lambdas, system.clock.sleep)
        functions = FunctionRegistry(system.runtime.store, system.clock, classes=(Slow,), remote=remote)
        system.change_runtime(functions=functions)
        yield there
        Slow.end.set()


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def test_functions_of_each_kind_answer_side_by_side(elsewhere: Elsewhere) -> None:
    system = elsewhere.system
    elsewhere.http.answers.append(json_answer({"content": "Ordered.", "additional_data": {"order": 7}}))
    calls = [call("order", item="tea"), call("count", item="cups"), call("weather", city="Bern")]
    put = elsewhere.put(
        elsewhere.by_http(),
        elsewhere.by_lambda(),
        elsewhere.by_mcp("weather", "weather"),
        script=[{"tool_calls": calls}, {"text": "All done."}],
    )
    assert put.status == 200, put.text
    assert put.body["functions"][2]["description"] == "Tells the weather of a city."
    thread = system.start("Do it", "talker")
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    assert story(events)[:2] == ["UserMessage", "ThreadStart"]
    assert sorted(story(events)[2:]) == sorted([*CALL * 3, *["ToolResponse"] * 3, *REPLY])
    assert told(system, thread) == [
        ("Ordered.", True),
        ("Counted cups.", True),
        ("Bern: sun for 1 days", True),
    ]
    data = {event["name"]: event["additional_data"] for event in named(events, "ToolResponse")}
    assert data["order"] == {"order": 7}
    assert data["count"] == {"count": 3}
    ids = {event["name"]: event["tool_call_id"] for event in named(events, "ToolCall")}
    headers = elsewhere.http.received[0].headers
    assert headers["idempotency-key"] == ids["order"]
    assert headers["authorization"] == f"Bearer {SECRET}"
    assert (headers["parley-user"], headers["parley-thread"]) == ("dev", thread)
    assert elsewhere.events[0]["idempotency_key"] == ids["count"]
    assert elsewhere.events[0]["context"]["thread_id"] == thread
    assert not [item for item in system.items(thread) if SECRET in item.body]


@pytest.mark.parametrize("kind", ["http", "lambda", "mcp"])
def test_a_confirmed_action_runs_elsewhere_once_with_the_edited_arguments(
    elsewhere: Elsewhere, kind: str
) -> None:
    system = elsewhere.system
    elsewhere.http.answers.append(json_answer("Ordered."))
    asks: dict[str, Any] = {"requires_user_confirmation": True, "confirmation_question": "Really {item}?"}
    function = {
        "http": elsewhere.by_http(**asks),
        "lambda": elsewhere.by_lambda("order", **asks),
        "mcp": elsewhere.by_mcp("order", "order", confirmation_question="Really {item}?"),
    }[kind]
    script = [{"tool_calls": [call("order", item="tea", count=1)]}, {"text": "All done."}]
    assert elsewhere.put(function, script=script).status == 200
    thread = system.start("Do it", "talker")
    (proposal,) = system.pending(thread)
    assert proposal["question"] == "Really tea?"
    refused = system.request(
        "POST", f"/confirmations/{proposal['proposal_id']}", body={"approved": True, "arguments": {"item": 1}}
    )
    assert (refused.status, refused.error) == (422, "invalid_arguments")
    assert "item must be text" in refused.body["error"]["message"]
    assert elsewhere.http.received == elsewhere.events == elsewhere.tools.ordered == []
    edited = {"item": "coffee", "count": 2}
    assert system.decide(proposal, True, arguments=edited)["outcome"] == "applied"
    system.rest(thread, turns=1)
    assert_sound(system, thread)
    assert told(system, thread)[0][1] is True
    received = {
        "http": [(each.headers.get("idempotency-key"), each.body) for each in elsewhere.http.received],
        "lambda": [(event["idempotency_key"], event["arguments"]) for event in elsewhere.events],
        "mcp": [(each["key"], {k: each[k] for k in edited}) for each in elsewhere.tools.ordered],
    }
    assert received.pop(kind) == [(proposal["proposal_id"], edited)]
    assert not any(received.values())


def test_a_person_is_asked_with_the_default_of_what_the_model_left_out(elsewhere: Elsewhere) -> None:
    system = elsewhere.system
    properties = {**ITEM["properties"], "count": {"type": "integer", "default": 12}}
    asks: dict[str, Any] = {
        "requires_user_confirmation": True,
        "confirmation_question": "Order {count} times {item}?",
    }
    function = elsewhere.by_http(parameters={**ITEM, "properties": properties, "required": ["item"]}, **asks)
    assert elsewhere.put(function, script=[{"tool_calls": [call("order", item="tea")]}]).status == 200
    (proposal,) = system.pending(system.start("Do it", "talker"))
    assert (proposal["question"], proposal["arguments"]) == ("Order 12 times tea?", {"item": "tea"})


def test_a_declined_action_reaches_nobody(elsewhere: Elsewhere) -> None:
    system = elsewhere.system
    script = [{"tool_calls": [call("order", item="tea")]}, {"text": "All right."}]
    elsewhere.put(elsewhere.by_http(requires_user_confirmation=True), script=script)
    thread = system.start("Do it", "talker")
    (proposal,) = system.pending(thread)
    system.decide(proposal, False)
    system.rest(thread, turns=1)
    assert_sound(system, thread)
    assert elsewhere.http.received == []


def test_what_fails_elsewhere_is_told_and_the_turn_goes_on(elsewhere: Elsewhere) -> None:
    system = elsewhere.system
    elsewhere.http.answers.append(json_answer({"content": "password=hunter2"}, 500))
    calls = [call("order", item="tea"), call("count", item="closed"), call("shop_refuse", why="today")]
    put = elsewhere.put(
        elsewhere.by_http(),
        elsewhere.by_lambda(),
        elsewhere.by_mcp("shop", "*"),
        script=[{"tool_calls": calls}, {"text": "Some of it failed."}],
    )
    assert put.status == 200, put.text
    thread = system.start("Do it", "talker")
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    results = told(system, thread)
    assert [ok for _, ok in results] == [False] * 3
    assert results[0][0] == f"order answered 500 Internal Server Error. {MAYBE}"
    assert results[1][0] == "It is closed."
    assert results[2][0] == "Error executing tool refuse: No, for today."
    shown = [(event["content"], event["ok"]) for event in named(events, "ToolResponse")]
    assert sorted(shown) == sorted(results)
    assert "hunter2" not in json.dumps(events)


def test_arguments_that_do_not_fit_are_told_and_nobody_is_asked(elsewhere: Elsewhere) -> None:
    system = elsewhere.system
    system.agent("helper")
    asks: dict[str, Any] = {"requires_user_confirmation": True, "parameters": ITEM}
    hand_over = {"kind": "subagent", "subagent_id": "helper", "subagent_user_message": "{item}"}
    names = ["order", "count", "weather", "help", "helpAtOnce"]
    bad = [call(name, item="x") for name in names]
    put = elsewhere.put(
        elsewhere.by_http(requires_user_confirmation=True),
        elsewhere.by_lambda(**asks),
        elsewhere.by_mcp("weather", "weather"),
        {"name": "help", "implementation": hand_over, **asks},
        {"name": "helpAtOnce", "implementation": hand_over, "parameters": ITEM},
        script=[{"tool_calls": bad}, {"text": "None of it worked."}],
    )
    assert put.status == 200, put.text
    thread = system.start("Do it", "talker")
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    short = ("Validation failed: item must have at least 2 characters", False)
    assert told(system, thread) == [
        short,
        short,
        ("Validation failed: city is missing", False),
        short,
        short,
    ]
    assert not {"ActionRequiresConfirmation", "AgentSubthreadStart"} & set(story(events))
    assert elsewhere.http.received == elsewhere.events == []


def test_a_function_that_hangs_is_given_up_and_its_turn_goes_on(elsewhere: Elsewhere) -> None:
    system = elsewhere.system
    script = [{"tool_calls": [call("slow")]}, {"text": "It hangs."}]
    slow = agent_function(Slow).model_dump(exclude_none=True)
    put = elsewhere.put({**slow, "time_limit_seconds": 1}, script=script)
    assert put.status == 200, put.text
    thread = system.start("Do it", "talker")
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    words = f"slow did not finish within 1 s. {MAYBE}"
    assert told(system, thread) == [(words, False)]
    assert named(events, "ToolResponse")[0]["content"] == words
    assert story(events)[-1] == "ThreadEnd"
    system.say(thread, "Never mind")
    Slow.end.set()
    system.rest(thread, turns=2)


def test_an_endpoint_that_hangs_is_given_up_and_its_turn_goes_on(elsewhere: Elsewhere) -> None:
    system = elsewhere.system
    elsewhere.http.answers.append(Answer(hold=threading.Event(), headers=JSON))
    script = [{"tool_calls": [call("order", item="tea")]}, {"text": "It hangs."}]
    elsewhere.put(elsewhere.by_http(time_limit_seconds=1), script=script)
    thread = system.start("Do it", "talker")
    system.rest(thread, turns=1)
    assert_sound(system, thread)
    ((words, ok),) = told(system, thread)
    assert not ok
    assert words.endswith(f"within 1 s. {MAYBE}")
    assert elsewhere.http.client_left.wait(10)


@pytest.mark.parametrize("kind", ["class", "http"])
def test_a_cancelled_turn_waits_for_no_function(elsewhere: Elsewhere, kind: str) -> None:
    system = elsewhere.system
    hold = threading.Event()
    elsewhere.http.answers.append(Answer(hold=hold, headers=JSON))
    wanted = call("slow") if kind == "class" else call("order", item="tea")
    elsewhere.put(
        agent_function(Slow).model_dump(exclude_none=True),
        elsewhere.by_http(time_limit_seconds=30),
        script=[{"tool_calls": [wanted]}, {"text": "Never said."}],
    )
    thread = system.start("Do it", "talker")
    system.wait_until(lambda: Slow.begun.is_set() or elsewhere.http.received, "the function runs")
    assert system.cancel(thread)
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    assert story(events)[-1] == "TurnCancelled"
    (response,) = named(events, "ToolResponse")
    name = "slow" if kind == "class" else "order"
    assert response["ok"] is False
    assert response["content"] == f"The user cancelled this turn while {name} was running. {MAYBE}"
    hold.set()
    Slow.end.set()
    system.say(thread, "Again")
    system.rest(thread, turns=2)


def test_a_class_has_a_limit_of_its_own_and_the_agents_is_in_front(elsewhere: Elsewhere) -> None:
    system = elsewhere.system
    slow = {"name": "slow", "implementation": {"kind": "class", "class_name": "slow"}}
    limits = {}
    for limit in (None, 7):
        elsewhere.put({**slow, "time_limit_seconds": limit}, elsewhere.by_http(), script=[])
        (agent,) = system.get(system.of_project("/agents"))["agents"]
        limits[limit] = [function["time_limit_seconds"] for function in agent["functions"]]
    assert limits == {None: [200, 60], 7: [7, 60]}
    for wrong in (0, 301, "long"):
        assert elsewhere.put({**slow, "time_limit_seconds": wrong}, script=[]).status == 422
