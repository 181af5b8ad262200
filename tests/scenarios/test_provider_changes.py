"""A thread whose agent changes its provider with every turn, among all ten, over real connections.

Each turn calls a function and then answers, so each provider is sent the calls and results of all the others.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar
from urllib.parse import unquote

import pytest

from parley.providers.bedrock import BASE_URL_SETTING
from parley.providers.endpoints import endpoints
from parley.providers.registry import ProviderRegistry
from parley.tools.function import Function, FunctionArguments, FunctionResult
from parley.tools.registry import FunctionRegistry
from tests.providers import (
    samples_anthropic,
    samples_bedrock,
    samples_deepseek,
    samples_gemini,
    samples_groq,
    samples_ollama_generate,
    samples_openai_chat,
    samples_openrouter,
    samples_replicate,
    samples_text_generation,
)
from tests.providers.cases import SERVER, Sample
from tests.support import (
    wire_rules_anthropic,
    wire_rules_bedrock,
    wire_rules_deepseek,
    wire_rules_gemini,
    wire_rules_one_text,
    wire_rules_openai_chat,
    wire_rules_openrouter,
)
from tests.support.systems import System
from tests.support.wire_server import Answer, Received, WireServer, wire_server


@dataclass(frozen=True)
class Target:
    """A provider: what it answers and what it accepts."""

    samples: ModuleType
    rules: ModuleType


TARGETS = {
    "openai": Target(samples_openai_chat, wire_rules_openai_chat),
    "anthropic": Target(samples_anthropic, wire_rules_anthropic),
    "google": Target(samples_gemini, wire_rules_gemini),
    "deepseek": Target(samples_deepseek, wire_rules_deepseek),
    "openrouter": Target(samples_openrouter, wire_rules_openrouter),
    "groq": Target(samples_groq, wire_rules_openai_chat),
    "huggingface": Target(samples_text_generation, wire_rules_one_text),
    "ollama": Target(samples_ollama_generate, wire_rules_one_text),
    "replicate": Target(samples_replicate, wire_rules_one_text),
    "bedrock": Target(samples_bedrock, wire_rules_bedrock),
}
CALLING, SAYING = "text and a call", "text"


def by_letter(at: int) -> tuple[str, ...]:
    """An order of its own for each letter."""
    return tuple(sorted(TARGETS, key=lambda name: name[at:] + name))


ORDERS = (tuple(TARGETS), tuple(reversed(TARGETS)), *map(by_letter, range(4)))


class Weather(Function):
    """What all samples call."""

    name: ClassVar[str] = "get_weather"
    description: ClassVar[str] = "Current weather of a city"

    class Arguments(FunctionArguments):
        city: str

    def handle(self, arguments: Arguments) -> FunctionResult:
        return FunctionResult(f"18 degrees in {arguments.city}, the sun shines")


class AtTheServer:
    """Settings of ten providers that live at one server."""

    def __init__(self, url: str) -> None:
        self.values = {BASE_URL_SETTING: url}
        for row in endpoints():
            self.values |= {row.key_setting: "sk-test-0123456789", row.base_url_setting: url}

    def get(self, name: str) -> str | None:
        return self.values.get(name)


@pytest.fixture
def server(embedded: System, monkeypatch: pytest.MonkeyPatch) -> Iterator[WireServer]:
    """The server that the system's providers are at."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in {
        "NO_PROXY": "127.0.0.1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "none",
    }.items():
        monkeypatch.setenv(name, value)
    with wire_server() as running:
        registry = ProviderRegistry(AtTheServer(running.url))
        functions = FunctionRegistry(embedded.runtime.store, embedded.clock, classes=(Weather,))
        embedded.change_runtime(providers=registry, functions=functions)
        yield running
        registry.close()


def use(system: System, provider: str, **fields: Any) -> None:
    """Let the agent ask this provider from now on."""
    weather = {"name": "get_weather", "implementation": {"kind": "class", "class_name": "get_weather"}}
    samples = TARGETS[provider].samples
    system.agent(
        provider=provider,
        model=getattr(samples, "MODEL", f"{provider}-model"),
        functions=[weather],
        history_window=200,
        turns_per_run=50,
        **fields,
    )


def will_answer(server: WireServer, provider: str, *cases: str) -> None:
    for case in cases:
        sample: Sample = TARGETS[provider].samples.SAMPLES[case]
        for each in (*sample.before, sample):
            body = each.body.replace(SERVER.encode(), server.url.encode())
            kind = {"content-type": "application/vnd.amazon.eventstream"} if provider == "bedrock" else {}
            server.answers.append(Answer((body,), status=each.status, headers={**kind, **dict(each.headers)}))


def check(provider: str, request: Received) -> None:
    """The request keeps the rules of its wire."""
    if provider == "bedrock":
        model = unquote(request.path.split("/")[2])
        wire_rules_bedrock.check({"modelId": model, **request.body})
    else:
        TARGETS[provider].rules.check(request.body)


def held(
    system: System, server: WireServer, orders: tuple[str, ...], between: Callable[[int, str], Any]
) -> str:
    """A conversation of one turn per provider; its thread."""
    thread = ""
    for turn, provider in enumerate(orders, start=1):
        use(system, provider)
        between(turn, provider)
        will_answer(server, provider, CALLING, SAYING)
        server.received.clear()
        if thread:
            system.say(thread, f"Question {turn}?")
        else:
            thread = system.start(f"Question {turn}?", agent="talker")
        system.rest(thread, turns=turn)
        asked = [request for request in server.received if request.method == "POST"]
        assert len(asked) == 2, (
            provider,
            [event for event in system.events(thread) if event["event"] == "TurnFailed"],
        )
        for request in asked:
            check(provider, request)
        said = json.dumps(asked[1].body)
        assert all(f"Question {earlier}?" in said for earlier in range(1, turn + 1)), provider
        assert said.count("18 degrees in Paris") == turn, provider
    return thread


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: "-".join(name[:2] for name in order))
def test_a_thread_goes_through_all_ten_providers_in_any_order(
    embedded: System, server: WireServer, order: tuple[str, ...]
) -> None:
    thread = held(embedded, server, order, lambda turn, provider: None)
    messages = embedded.messages(thread)
    replies = [message for message in messages if message["kind"] == "ASSISTANT_MESSAGE"]
    assert [message["metadata"]["provider"] for message in replies] == list(order)
    assert [message["content"] for message in replies] == ["Hello"] * len(order)
    answers = [message for message in messages if message["kind"] == "TOOL_RESPONSE"]
    assert [(message["ok"], message["content"]) for message in answers] == [
        (True, "18 degrees in Paris, the sun shines")
    ] * len(order)


def test_each_provider_can_be_the_next_after_itself(embedded: System, server: WireServer) -> None:
    held(embedded, server, tuple(name for name in TARGETS for _ in range(2)), lambda turn, provider: None)


def test_forms_and_providers_may_change_at_once(embedded: System, server: WireServer) -> None:
    """Every other turn calls its function as XML in text, or gets the whole conversation as one text."""

    class Flags:
        form = "messages"

        def message_form(self, facts: Any) -> Any:
            return self.form

    flags = Flags()
    embedded.change_runtime(flags=flags)
    conversing = ("openai", "groq", "openrouter", "deepseek")
    thread = ""
    for turn in range(1, 9):
        provider = conversing[turn % 4]
        flags.form = "concatenated" if turn % 3 == 0 else "messages"
        as_xml = turn % 2 == 0 or flags.form == "concatenated"
        use(embedded, provider, tool_form="xml" if turn % 2 == 0 else "native")
        samples = samples_openai_chat.SAMPLES
        calling = _called_in_text() if as_xml else samples[CALLING].body
        server.answers.extend([Answer((calling,)), Answer((samples[SAYING].body,))])
        server.received.clear()
        if thread:
            embedded.say(thread, f"Question {turn}?")
        else:
            thread = embedded.start(f"Question {turn}?", agent="talker")
        embedded.rest(thread, turns=turn)
        first, second = server.received
        for request in (first, second):
            check(provider, request)
        assert ("tools" in first.body) is not as_xml
        if flags.form == "concatenated":
            (message,) = second.body["messages"]
            assert "## Tool Execution Results" in message["content"]
        assert json.dumps(second.body).count("18 degrees in Paris") == turn
    answers = [message for message in embedded.messages(thread) if message["kind"] == "TOOL_RESPONSE"]
    assert [message["ok"] for message in answers] == [True] * 8


def _called_in_text() -> bytes:
    text = 'Let me look. <tool_call name="get_weather">{"city": "Paris"}</tool_call>'
    events = [
        {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ]
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode() + b"data: [DONE]\n\n"
