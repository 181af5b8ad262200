"""`parley prompt`: one prompt to one provider, without a conversation."""

from __future__ import annotations

import argparse
import time

from pydantic import ValidationError

from parley import wiring
from parley.cli.failure import CommandFailed
from parley.cli.terminal import Terminal, clean
from parley.domain.agents import DEFAULT_SYSTEM_PROMPT, Agent, Capabilities
from parley.domain.messages import Message, MessageKind
from parley.prompts.build import build_prompt
from parley.prompts.prompt import Prompt
from parley.turns.model_ports import Finish, TextDelta

# The one provider of whom we know what models it has.
_MODELS = {"scripted": "demo"}


def prompt(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Compose the prompt as a turn would and stream the answer, or with `--show` print the prompt."""
    providers = wiring.providers()
    try:
        provider = providers.get(arguments.provider)
        composed = _composed(arguments, provider.capabilities())
        if arguments.show:
            terminal.line(composed.model_dump_json(indent=2))
            return 0
        if not provider.is_configured():
            raise CommandFailed(
                f"{arguments.provider} is not configured: set its API key or base URL in the environment"
            )
        for delta in provider.stream(composed):
            if isinstance(delta, TextDelta):
                terminal.write(clean(delta.text))
            elif isinstance(delta, Finish):
                terminal.line()
                if delta.reason != "stop":
                    raise CommandFailed(f"the answer ended early: {delta.reason}")
    finally:
        providers.close()
    return 0


def _composed(arguments: argparse.Namespace, capabilities: Capabilities) -> Prompt:
    model = arguments.model or _MODELS.get(arguments.provider)
    if model is None:
        raise CommandFailed(f"say which of {arguments.provider}'s models to ask, with --model", status=2)
    try:
        agent = Agent(
            agent_id="prompt",
            name="prompt",
            system_prompt=arguments.system or DEFAULT_SYSTEM_PROMPT,
            provider=arguments.provider,
            model=model,
        )
    except ValidationError as error:
        raise CommandFailed(f"this cannot be asked: {error.errors()[0]['msg']}", status=2) from error
    message = Message(
        id="prompt",
        kind=MessageKind.USER_MESSAGE,
        role="user",
        content=arguments.text,
        timestamp=time.time(),
        turn=1,
    )
    return build_prompt(agent, capabilities, [message])
