"""Moderation of the user's message, by the agent's setting."""

from __future__ import annotations

from typing import Any

import pytest

from parley.domain.errors import ProviderUnavailable
from parley.turns.moderation import REFUSAL
from tests.support.soundness import assert_sound, named, prompts, story
from tests.support.systems import System

REFUSED = ["UserMessage", "ThreadStart", "StreamMessageChunk…", "MessageEnd", "ThreadEnd"]
BAD = "Something vile [flagged]"


def test_a_flagged_message_gets_a_plain_refusal_and_never_reaches_the_model(system: System) -> None:
    system.agent(moderation={"provider": "scripted"})
    thread = system.start("Hello", "talker")
    system.rest(thread, turns=1)
    system.say(thread, BAD)
    system.rest(thread, turns=2)
    system.say(thread, "And now?")
    system.rest(thread, turns=3)
    events = assert_sound(system, thread)
    second = [event for event in events if event["turn"] == 2]
    assert story(second) == REFUSED
    assert named(second, "MessageEnd")[0]["content"] == REFUSAL
    assert named(second, "MessageEnd")[0]["finish_reason"] == "content_filter"
    sent = prompts(system, thread)
    assert len(sent) == 2, "no prompt is made for the flagged message"
    assert not any("vile" in prompt.model_dump_json() for prompt in sent)
    assert "vile" not in system.status(thread)["summary"]


class _Down:
    """A moderator that cannot be asked."""

    name = "down"

    def __init__(self, providers: Any) -> None:
        self._providers = providers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._providers, name)

    def moderator(self, name: str) -> Any:
        return self

    def moderate(self, text: str) -> Any:
        raise ProviderUnavailable("the moderation is down")


@pytest.mark.parametrize(("allowed", "last"), [(True, "ThreadEnd"), (False, "TurnFailed")])
@pytest.mark.parametrize("system", ["embedded"], indirect=True)
def test_a_moderation_that_fails_stops_the_turn_unless_the_agent_lets_messages_pass(
    system: System, allowed: bool, last: str
) -> None:
    system.agent(moderation={"provider": "scripted", "allow_on_failure": allowed})
    system.change_runtime(providers=_Down(system.runtime.providers))
    thread = system.start("Hello", "talker")
    system.rest(thread, turns=1, moving=5.0)
    assert story(assert_sound(system, thread))[-1] == last


def test_an_agents_messages_are_checked_by_one_that_can(embedded: System) -> None:
    embedded.agent()
    path = embedded.of_project("/agents/talker")
    body = embedded.get(path)
    answer = embedded.request("PUT", path, body={**body, "moderation": {"provider": "ollama"}})
    assert answer.status == 422
    assert answer.body["error"]["message"].startswith("moderation.provider: no provider 'ollama' moderates")
    answer = embedded.request("PUT", path, body={**body, "moderation": {"provider": "scripted"}})
    assert answer.status == 200
