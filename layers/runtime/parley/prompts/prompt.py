"""A provider-ready prompt: everything a wire needs to make its request, and nothing else."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from parley.domain.agents import Capabilities
from parley.domain.messages import ToolCall
from parley.domain.values import Value

MessageForm = Literal["messages", "concatenated"]
"""How a conversation is put to a model: as an array of messages, or as one text that holds them all."""

Purpose = Literal["reply", "predefined", "suggestions"]
"""What a model is asked for: its reply in a conversation, the content of a predefined message, or what the person
may want to do next.
"""


class PromptMessage(Value):
    """One message of the array.

    ``role`` user or assistant: ``content`` (and the assistant's ``tool_calls``). ``role`` tool: the result of
    ``tool_call_id`` (``name``, ``ok``). Each call is answered right behind the message that made it.
    ``internal``: a user's message that no person wrote, the results of calls as text.
    ``provider_data`` came from ``provider``'s ``model``, and only that one gets it back: see ``Prompt.own_data``.
    """

    role: Literal["user", "assistant", "tool"]
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    ok: bool = True
    internal: bool = False
    provider: str | None = None
    model: str | None = None
    provider_data: dict[str, Any] = Field(default_factory=dict)


class ToolSpec(Value):
    """A function offered to the model; ``parameters`` is a JSON schema (object)."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)


class Prompt(Value):
    """What a model call sends: ``system`` and ``messages``, or ``text`` instead of both.

    ``text`` is for models that do not converse, and for conversing ones in the older form: one user's message.
    ``xml_tools``: the conversation calls functions in text, so the reply's text may do so too.
    ``response_schema``: the JSON schema (an object at its root) that the reply's text has to follow. Set only
    where the capabilities say that the provider holds its models to one.
    """

    provider: str
    model: str
    capabilities: Capabilities = Capabilities()
    system: str = ""
    messages: tuple[PromptMessage, ...] = ()
    text: str | None = None
    tools: tuple[ToolSpec, ...] = ()
    xml_tools: bool = False
    purpose: Purpose = "reply"
    response_schema: dict[str, Any] | None = None
    settings: dict[str, Any] = Field(default_factory=dict)

    @property
    def form(self) -> MessageForm:
        """Which of the two forms this is."""
        return "messages" if self.text is None else "concatenated"

    def own_data(self, message: PromptMessage) -> dict[str, Any]:
        """The message's ``provider_data`` if the very model that is asked now made it, else nothing."""
        if message.provider != self.provider or message.model not in (None, self.model):
            return {}
        return message.provider_data
