"""`parley prompt`: one prompt to one provider, without a conversation."""

from __future__ import annotations

import argparse

from parley import wiring
from parley.cli.failure import CommandFailed
from parley.cli.terminal import Terminal, clean
from parley.domain.errors import ProviderRejectedRequest
from parley.prompts.prompt import Prompt
from parley.providers.client import PromptOptions, ProviderClient
from parley.turns.model_ports import Finish, TextDelta


def prompt(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Compose the prompt as a turn would and stream the answer, or with `--show` print the prompt."""
    with wiring.provider_client(arguments.provider) as client:
        if arguments.model:
            client.configure({"model": arguments.model})
        if client.get_config()["model"] is None:
            raise CommandFailed(f"say which of {arguments.provider}'s models to ask, with --model", status=2)
        options = PromptOptions(system=arguments.system or None)
        if arguments.show:
            terminal.line(_composed(client, arguments.text, options).model_dump_json(indent=2))
            return 0
        for delta in client.stream(arguments.text, options):
            if isinstance(delta, TextDelta):
                terminal.write(clean(delta.text))
            elif isinstance(delta, Finish):
                terminal.line()
                if delta.reason != "stop":
                    raise CommandFailed(f"the answer ended early: {delta.reason}")
    return 0


def _composed(client: ProviderClient, text: str, options: PromptOptions) -> Prompt:
    try:
        return client.compose(text, options, unset=True)
    except ProviderRejectedRequest as error:
        raise CommandFailed(str(error), status=2) from error
