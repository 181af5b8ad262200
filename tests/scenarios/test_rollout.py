"""A rollout: flags choose a prompt's form by provider, and each model call is counted with its form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from parley import wiring
from parley.domain.messages import Usage
from parley.embedded.flags import BadFlags
from parley.turns.rollout_ports import ModelCall
from tests.support.systems import HELD, System


class Counter:
    """A meter that keeps what it is told."""

    def __init__(self) -> None:
        self.calls: list[ModelCall] = []

    def model_call(self, call: ModelCall) -> None:
        self.calls.append(call)


@pytest.fixture
def counter() -> Counter:
    return Counter()


def flag(provider: str) -> dict[str, Any]:
    conditions = [{"action": "EQUALS", "key": "provider", "value": provider}]
    rules = {"old": {"when_match": "concatenated", "conditions": conditions}}
    return {"message_form": {"boolean_type": False, "default": "messages", "rules": rules}}


def prompt_of(system: System, thread: str, run: int = 1) -> dict[str, Any]:
    call: dict[str, Any] = system.get(system.of_thread(thread, f"/runs/{run}"))["model_calls"][-1]
    return dict(call["prompt"])


def test_a_model_call_is_counted_once(system: System, counter: Counter) -> None:
    system.change_runtime(meter=counter)
    system.agent(script=[{"tool_calls": [{"name": "nothing"}]}, {"text": "Done."}])
    thread = system.start("Hi", agent="talker")
    system.rest(thread, turns=1)
    assert [(call.provider, call.form, call.outcome) for call in counter.calls] == [
        ("scripted", "messages", "answered")
    ] * 2
    assert all(isinstance(call.usage, Usage) and call.seconds >= 0 for call in counter.calls)


def test_a_failed_call_is_counted_by_its_error_and_the_next_one_for_itself(
    embedded: System, counter: Counter
) -> None:
    embedded.change_runtime(meter=counter)
    embedded.agent(script=[{"error": {"type": "ProviderOverloaded", "times": 1}, "text": "At last."}])
    thread = embedded.start("Hi", agent="talker")
    embedded.rest(thread, turns=1, moving=1.0)
    assert [(call.outcome, call.failure) for call in counter.calls] == [
        ("failed", "ProviderOverloaded"),
        ("answered", None),
    ]


def test_a_call_that_was_waited_out_is_two(embedded: System, counter: Counter) -> None:
    embedded.change_runtime(meter=counter)
    error = {"type": "ProviderRateLimited", "retry_after": 2, "times": 1}
    embedded.agent(script=[{"error": error, "text": "At last."}])
    thread = embedded.start("Hi", agent="talker")
    embedded.rest(thread, turns=1, moving=1.0)
    assert [call.outcome for call in counter.calls] == ["failed", "answered"]


def test_a_cancelled_call_is_no_failure(embedded: System, counter: Counter) -> None:
    embedded.change_runtime(meter=counter)
    embedded.agent(script=[{"delay": HELD, "text": "Too late."}])
    thread = embedded.start("Hi", agent="talker")
    embedded.held()
    assert embedded.cancel(thread)
    embedded.rest(thread, turns=1)
    assert [(call.outcome, call.failure) for call in counter.calls] == [("interrupted", None)]


def test_a_flag_puts_one_providers_prompts_into_the_older_form(
    embedded: System, counter: Counter, tmp_path: Path
) -> None:
    embedded.change_runtime(meter=counter)
    embedded.agent(script=[{"text": "One."}, {"text": "Two."}, {"text": "Three."}])
    thread = embedded.start("First", agent="talker", turns_per_run=10)
    embedded.rest(thread, turns=1)
    flags = tmp_path / "flags.json"
    flags.write_text(json.dumps(flag("scripted")))
    embedded.say(thread, "Second")
    embedded.rest(thread, turns=2)
    text = prompt_of(embedded, thread)["text"]
    assert text == (
        "System: You are a helpful assistant.\n\nHuman: First\n\nAssistant: One.\n\nHuman: Second\n\nAssistant:"
    )
    flags.write_text(json.dumps(flag("another")))
    embedded.say(thread, "Third")
    embedded.rest(thread, turns=3)
    prompt = prompt_of(embedded, thread)
    assert prompt["text"] is None
    assert len(prompt["messages"]) == 5
    assert [call.form for call in counter.calls] == ["messages", "concatenated", "messages"]
    replies = [message["content"] for message in embedded.messages(thread) if message["role"] == "assistant"]
    assert replies == ["One.", "Two.", "Three."]


def test_a_prompt_that_its_model_has_no_room_for_fails_its_turn_in_plain_words(embedded: System) -> None:
    embedded.agent(capabilities={"max_context_length": 100})
    thread = embedded.start("x" * 1000, agent="talker")
    embedded.rest(thread, turns=1)
    (failed,) = [event for event in embedded.events(thread) if event["event"] == "TurnFailed"]
    assert "the model has room for 100" in failed["data"]["message"]
    assert failed["data"]["retryable"] is False
    embedded.say(thread, "Shorter, then")
    embedded.rest(thread, turns=2)
    assert embedded.messages(thread)[-1]["role"] == "assistant"


def test_a_folder_with_flags_that_cannot_be_used_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "flags.json").write_text("{")
    with pytest.raises(BadFlags, match=r"flags\.json"):
        wiring.embedded(tmp_path)
    (tmp_path / "flags.json").unlink()
    wiring.embedded(tmp_path, demo_user=None).close()
    wiring.use(None)


def test_the_file_of_the_flags_may_be_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere.toml"
    elsewhere.write_text("[message_form]\ndefault = 1\n")
    monkeypatch.setenv("PARLEY_FLAGS", str(elsewhere))
    with pytest.raises(BadFlags, match=r"elsewhere\.toml"):
        wiring.embedded(tmp_path / "data")
