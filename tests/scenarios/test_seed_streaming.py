"""Text and arguments are shown while the model generates them, from every provider that streams them.

A server stops in the middle of a call's arguments until the test has seen, in the thread's events, what it sent.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from parley.providers.endpoints import endpoints
from parley.providers.registry import ProviderRegistry
from tests.providers import samples_bedrock
from tests.providers.test_bedrock import _live_in_one_account
from tests.providers.test_wires import PROVIDERS, SettingsOf, row_of, samples_of
from tests.support.outline import outline
from tests.support.soundness import assert_sound, named
from tests.support.systems import System
from tests.support.wire_server import Answer, WireServer, wire_server

INTERLEAVED = "two calls, their arguments interleaved"
MARKERS = (rb"Paris\"}", rb"Rome\"}")
"""The second piece of a call's arguments begins here, or before; the first came whole."""
WHOLE = {"google": "a part", "ollama/conversing": "an object"}
"""Providers that send a call's arguments whole, as what."""
IN_TEXT = {"ollama", "huggingface", "replicate"}
"""Providers whose models call functions in their text."""
ALL = [*PROVIDERS, "bedrock"]
STREAMING = [provider for provider in ALL if provider not in {*WHOLE, *IN_TEXT}]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[WireServer]:
    _live_in_one_account(monkeypatch)
    with wire_server() as running:
        yield running


def samples(provider: str) -> ModuleType:
    found = samples_bedrock if provider == "bedrock" else samples_of(provider)
    assert found is not None
    return found


def answer(
    provider: str, case: str, *, cut: int | None = None, hold: threading.Event | None = None
) -> Answer:
    sample = samples(provider).SAMPLES[case]
    headers = dict(sample.headers)
    if provider == "bedrock":
        headers["content-type"] = "application/vnd.amazon.eventstream"
    rest = (sample.body[cut:],) if cut is not None else ()
    return Answer((sample.body[:cut],), headers=headers, hold=hold, rest=rest)


def talk(system: System, server: WireServer, provider: str) -> None:
    """An agent on the provider, which lives at the test's server."""
    name, _, chosen = provider.partition("/")
    settings: Any = SimpleNamespace(get={"BEDROCK_BASE_URL": server.url}.get)
    if provider != "bedrock":
        settings = SettingsOf(provider, server.url)
    system.change_runtime(providers=ProviderRegistry(settings))
    able = {"supports_conversation": True, "supports_tool_calls": True} if chosen == "conversing" else {}
    model = getattr(samples(provider), "MODEL", "model")
    system.agent(provider=name, model=model, capabilities=able)


def test_every_provider_is_one_that_streams_arguments_or_not() -> None:
    assert {row.name for row in endpoints()} | {"bedrock"} == {provider.partition("/")[0] for provider in ALL}
    for provider in (*WHOLE, *IN_TEXT):
        assert INTERLEAVED not in samples(provider).SAMPLES, f"{provider} streams them"
        assert row_of(provider)[0].wire is not None


@pytest.mark.parametrize("provider", STREAMING)
def test_arguments_are_shown_as_they_are_generated(
    embedded: System, server: WireServer, provider: str
) -> None:
    body = samples(provider).SAMPLES[INTERLEAVED].body
    cut = min(place for place in map(body.find, MARKERS) if place > 0)
    if b'{\\"city\\":' not in body[:cut]:
        cut = max(map(body.find, MARKERS))
    go_on = threading.Event()
    server.answers.append(answer(provider, INTERLEAVED, cut=cut, hold=go_on))
    server.answers.append(answer(provider, "text"))
    talk(embedded, server, provider)
    thread = embedded.start("What is the weather?", "talker")
    try:
        shown = embedded.wait_until(
            lambda: named(embedded.events(thread), "FunctionArgumentsChunk"), "the first piece is shown"
        )
    finally:
        go_on.set()
    assert shown[0]["text"].startswith('{"city":')
    assert not named(embedded.events(thread)[: len(shown)], "ToolCall")
    embedded.rest(thread, turns=1)
    events = assert_sound(embedded, thread)
    cities = [data["arguments"] for data in named(events, "ToolCall")]
    assert cities == [{"city": "Paris"}, {"city": "Rome"}]
    pieces = [data["tool_call_id"] for data in named(events, "FunctionArgumentsChunk")]
    assert len(pieces) > len(set(pieces)), "some arguments came in more than one piece"
    assert named(events, "MessageEnd")[-1]["content"] == "Hello"


@pytest.mark.parametrize("provider", WHOLE)
def test_arguments_that_a_provider_sends_whole_are_shown_whole(
    embedded: System, server: WireServer, provider: str
) -> None:
    server.answers.append(answer(provider, "two calls"))
    server.answers.append(answer(provider, "text"))
    talk(embedded, server, provider)
    thread = embedded.start("What is the weather?", "talker")
    embedded.rest(thread, turns=1)
    events = assert_sound(embedded, thread)
    assert [entry[0] for entry in outline(events)][2:8] == [
        *("FunctionGenerationStart", "FunctionArgumentsChunk"),
        *("FunctionGenerationStart", "FunctionArgumentsChunk"),
        *("ToolCall", "ToolCall"),
    ]


@pytest.mark.parametrize("provider", ALL)
def test_text_is_shown_as_it_is_generated(embedded: System, server: WireServer, provider: str) -> None:
    if provider == "replicate":
        pytest.skip("its reply begins with another request; see the provider's own tests")
    body = samples(provider).SAMPLES["text"].body
    cut = body.index(b'"lo"', body.index(b"Hel"))
    go_on = threading.Event()
    server.answers.append(answer(provider, "text", cut=cut, hold=go_on))
    talk(embedded, server, provider)
    thread = embedded.start("Hi", "talker")
    try:
        (first,) = embedded.wait_until(
            lambda: named(embedded.events(thread), "StreamMessageChunk"), "the first piece is shown"
        )
    finally:
        go_on.set()
    assert first["text"] == "Hel"
    embedded.rest(thread, turns=1)
    assert named(assert_sound(embedded, thread), "MessageEnd")[0]["content"] == "Hello"
