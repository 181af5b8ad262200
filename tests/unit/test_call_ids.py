"""Under which ids calls are sent: a provider's own go back to it, everybody else's are Parley's, none goes twice."""

from __future__ import annotations

import re

from parley.domain.messages import ToolCall
from parley.prompts.prompt import Prompt, PromptMessage
from parley.providers.wire.call_ids import with_sent_ids

SHORT = re.compile(r"[a-z0-9_]{1,29}")


def sent(*calls: tuple[str, str | None, str | None]) -> tuple[list[str], list[str | None]]:
    """The ids of calls and of their results as they are sent to "here"; each call: ours, the provider, its own."""
    messages: list[PromptMessage] = []
    for ours, provider, own in calls:
        call = ToolCall(tool_call_id=ours, name="f", provider_call_id=own)
        messages.append(PromptMessage(role="assistant", tool_calls=(call,), provider=provider))
        messages.append(PromptMessage(role="tool", content="done", tool_call_id=ours, name="f"))
    found = list(with_sent_ids(Prompt(provider="here", model="m", messages=tuple(messages)), SHORT))
    called = [call.tool_call_id for message in found for call in message.tool_calls]
    return called, [message.tool_call_id for message in found if message.role == "tool"]


def test_a_provider_gets_its_own_ids_back_and_nobody_elses() -> None:
    called, answered = sent(
        ("call_1", "here", "own1"), ("call_2", "elsewhere", "own2"), ("call_3", None, None)
    )
    assert called == answered == ["own1", "call_2", "call_3"]


def test_an_id_that_the_wire_refuses_is_replaced_in_call_and_result_alike() -> None:
    called, answered = sent(
        ("call_1", "here", "functions.f:0"), ("longer_than_the_wire_will_take_it", "here", "")
    )
    assert called == answered
    assert called[0] == "call_1"
    assert called[1] not in ("", "longer_than_the_wire_will_take_it")


def test_no_id_is_sent_twice() -> None:
    called, answered = sent(("call_1", "here", "same"), ("call_2", "here", "same"))
    assert called == answered == ["same", "call_2"]
