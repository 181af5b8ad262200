"""One provider for a program that has no conversation of Parley's: ask it a prompt, a conversation, many prompts.

Owns no wire and no HTTP: it composes prompts as a turn does and hands them to the provider's own port::

    with ProviderClient("openai") as client:
        client.configure({"api_key": "…", "model": "gpt-5.1", "temperature": 0.2})
        print(client.execute_prompt("Say hello").content)

Everything raises a ProviderError; what no request can be made for names the setting that is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, Literal, Self, cast

import httpx
from pydantic import Field, ValidationError

from parley.domain.agents import DEFAULT_SYSTEM_PROMPT, Agent, Capabilities, ToolForm
from parley.domain.errors import ProviderError, ProviderNotConfigured, ProviderRejectedRequest, StreamCut
from parley.domain.faults import faults_in
from parley.domain.messages import ToolCall, Usage
from parley.domain.values import Value
from parley.prompts.build import build_prompt, merge_capabilities
from parley.prompts.old_messages import PlainMessage, thread_messages
from parley.prompts.prompt import MessageForm, Prompt, ToolSpec
from parley.providers.client_settings import ClientSettings
from parley.providers.endpoints import Endpoint
from parley.providers.registry import ProviderRegistry
from parley.turns.model_ports import Delta, Image, ImageOptions
from parley.turns.ports import Secrets
from parley.turns.streaming import ReplyDraft

AT_ONCE = 4
_THREAD = "conversation"


class PromptOptions(Value):
    """How a prompt is asked. What is None is as it was configured.

    ``settings`` (temperature, max_tokens, …) are sent if they are not None. ``capabilities`` override the
    provider's. ``form`` and ``tool_form`` as for agents.
    """

    model: str | None = None
    system: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    capabilities: dict[str, Any] = Field(default_factory=dict)
    tools: tuple[ToolSpec, ...] = ()
    form: MessageForm = "messages"
    tool_form: ToolForm = "native"


class ConversationMessage(Value):
    """A message of a conversation. ``metadata`` may say ``is_tool_response``: results of calls, as XML or words."""

    role: Literal["system", "user", "assistant"]
    content: str
    metadata: dict[str, Any] = Field(default_factory=dict)


class PromptResponse(Value):
    """A whole reply. ``finish_reason``: stop, length, tool_calls or content_filter."""

    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str
    usage: Usage | None = None
    provider: str
    model: str


Asked = str | Sequence[ConversationMessage]
"""A prompt, or a conversation whose last message the model answers."""


class ProviderClient:
    """One provider, its settings and its connections. For many threads; ``close`` it, or use it in a ``with``.

    ``secrets``: where settings are looked up that were not configured here, such as the environment.
    ``transport`` stands in for the network; ``rows`` are for providers of one's own.
    """

    def __init__(
        self,
        provider: str,
        secrets: Secrets | None = None,
        *,
        transport: httpx.BaseTransport | None = None,
        rows: Sequence[Endpoint] | None = None,
    ) -> None:
        self._settings = ClientSettings(provider, secrets, rows)
        self._registry = ProviderRegistry(self._settings, transport=transport, rows=rows)
        self._provider = self._registry.get(provider)
        self.name = provider

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. A later call opens new ones."""
        self._registry.close()

    # What it is set to.

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Set what is given, leave the rest; None takes a setting back.

        ``api_key``, ``base_url`` and ``model``; the installation's settings by their own names (in capitals, such
        as ``OPENAI_ORG_ID``); anything else is a model setting that goes along with each request.
        """
        self._settings.change(settings)

    def get_config(self) -> dict[str, Any]:
        """What it is set to, keys and passwords masked."""
        return self._settings.shown()

    def is_configured(self) -> bool:
        """Whether a request can be made. Whether the key is right, a request has to show."""
        return self._provider.is_configured()

    def get_capabilities(self, options: PromptOptions | None = None) -> Capabilities:
        """What the provider can do, with the options' overrides."""
        return merge_capabilities(self._provider.capabilities(), options.capabilities if options else {})

    def supports_conversation(self) -> bool:
        """Whether it takes an array of messages; one that does not is sent the conversation as one text."""
        return self.get_capabilities().supports_conversation

    # What it is asked.

    def execute_prompt(self, prompt: str, options: PromptOptions | None = None) -> PromptResponse:
        """The reply to one prompt."""
        return self._answer(self.compose(prompt, options))

    def execute_conversation(
        self, messages: Sequence[ConversationMessage], options: PromptOptions | None = None
    ) -> PromptResponse:
        """The reply to the last message; the conversation is made valid for the provider first."""
        return self._answer(self.compose(messages, options))

    def execute_prompts(
        self, prompts: Sequence[str], options: PromptOptions | None = None, *, at_once: int = AT_ONCE
    ) -> list[PromptResponse | ProviderError]:
        """The reply to each, in the order of the prompts; ``at_once`` of them are asked at a time.

        One that fails has its error in the place of its reply, and the others go on. What would fail them all,
        a missing setting, is raised before the first is asked.
        """
        if at_once < 1:
            raise ValueError("at_once must be at least 1")
        composed = [self._composed(prompt, options) for prompt in prompts]

        def answer(prompt: Prompt | ProviderError) -> PromptResponse | ProviderError:
            try:
                return prompt if isinstance(prompt, ProviderError) else self._answer(prompt)
            except ProviderError as error:
                return error

        with ThreadPoolExecutor(at_once, "parley-prompt") as workers:
            return list(workers.map(answer, composed))

    def stream(self, asked: Asked, options: PromptOptions | None = None) -> Iterator[Delta]:
        """The reply as it comes; its last delta is a Finish. Closing the iterator ends the request."""
        return self._provider.stream(self.compose(asked, options))

    def imagine(self, prompt: str, options: ImageOptions) -> Image:
        """An image. Raises ProviderNotConfigured, naming those that can, if the provider makes none."""
        return self._registry.image_maker(self.name).imagine(prompt, options)

    def compose(self, asked: Asked, options: PromptOptions | None = None, *, unset: bool = False) -> Prompt:
        """The prompt that would be sent. ``unset``: even if settings are missing without which it cannot be."""
        if not unset and (missing := None if self.is_configured() else self._settings.missing()):
            raise ProviderNotConfigured(f"{self.name} is not configured: {missing}", provider=self.name)
        options = options or PromptOptions()
        agent = self._agent(options)
        messages = [ConversationMessage(role="user", content=asked)] if isinstance(asked, str) else asked
        instructions = [message.content for message in messages if message.role == "system"]
        history = thread_messages(_THREAD, map(_plain, (m for m in messages if m.role != "system")))
        if not history or history[-1].role == "assistant":
            raise ProviderRejectedRequest("the last message must be a user's, and not empty")
        return build_prompt(
            # All that the caller gives is sent; what the model has no room for is left out by its length.
            agent.but(history_window=len(history)),
            self._provider.capabilities(),
            history,
            system_prompt="\n\n".join(text for text in (agent.system_prompt, *instructions) if text.strip()),
            tools=options.tools,
            form=options.form,
        )

    def _composed(self, prompt: str, options: PromptOptions | None) -> Prompt | ProviderRejectedRequest:
        """The prompt, or what is wrong with it alone."""
        try:
            return self.compose(prompt, options)
        except ProviderRejectedRequest as error:
            return error

    def _agent(self, options: PromptOptions) -> Agent:
        model = options.model or self._settings.model
        if not model:
            raise ProviderNotConfigured(f"{self.name}: the setting model is missing", provider=self.name)
        settings = {**self._settings.model_settings, **options.settings}
        try:
            return Agent(
                agent_id="client",
                name="client",
                system_prompt=DEFAULT_SYSTEM_PROMPT if options.system is None else options.system,
                provider=self.name,
                model=model,
                settings=settings,
                capabilities=options.capabilities,
                tool_form=options.tool_form,
            )
        except ValidationError as error:
            words = faults_in(error.errors(include_url=False), None, {})
            raise ProviderRejectedRequest(f"this cannot be asked: {words}") from None

    def _answer(self, prompt: Prompt) -> PromptResponse:
        draft = ReplyDraft()
        # A provider's stream is a generator: closed, it ends the request whatever is raised here.
        with closing(cast("Any", self._provider.stream(prompt))) as deltas:
            for delta in deltas:
                draft.take(delta)
        if draft.finish is None:
            raise StreamCut(f"{self.name}: the reply broke off before its end", provider=self.name)
        return PromptResponse(
            content="".join(draft.text),
            tool_calls=draft.tool_calls(_THREAD, len(prompt.messages), 1),
            finish_reason=draft.finish.reason,
            usage=draft.finish.usage,
            provider=prompt.provider,
            model=prompt.model,
        )


def _plain(message: ConversationMessage) -> PlainMessage:
    role: Literal["user", "assistant"] = "assistant" if message.role == "assistant" else "user"
    is_result = role == "user" and bool(message.metadata.get("is_tool_response"))
    return PlainMessage(role, message.content, is_result=is_result)
