"""`parley chat`: a conversation in the terminal, scripted by `--message` or typed."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress

from parley.cli.conversation import Conversation
from parley.cli.failure import Refused
from parley.cli.feed import Feed
from parley.cli.person import Asked, Decided
from parley.cli.servers import reached_server
from parley.cli.terminal import Terminal
from parley.cli.transcript import Transcript


def chat(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Run the command. 0 if every message got its reply."""
    terms = {
        name: value
        for name in ("turns_per_run", "inactivity_seconds")
        if (value := getattr(arguments, name)) is not None
    }
    person = Asked() if arguments.decision is None else Decided(arguments.decision == "approve")
    with reached_server(arguments, working=True) as api:
        feed = Feed(api, arguments.project)
        try:
            conversation = Conversation(
                api,
                feed,
                Transcript(terminal),
                person,
                project=arguments.project,
                agent=arguments.agent,
                terms=terms,
                silence_seconds=arguments.timeout,
            )
            answered = conversation.resume(arguments.thread) if arguments.thread else True
            if arguments.predefined:
                answered = conversation.send(arguments.predefined, predefined=True) and answered
            if arguments.message:
                replied = [conversation.send(text) for text in arguments.message]
                answered = answered and all(replied)
            elif not arguments.predefined:
                answered = _typed(conversation, terminal) and answered
            _show_chain(conversation, terminal)
            return 0 if answered else 1
        finally:
            feed.close()


def _typed(conversation: Conversation, terminal: Terminal) -> bool:
    """Read messages until `/end` or the end of the input."""
    with suppress(ImportError):
        import readline  # noqa: F401 - input() edits lines once it is loaded
    if sys.stdin.isatty():
        terminal.line(terminal.styled("dim", "Type a message; /end finishes, Ctrl-C cancels a turn."))
    prompt = "you    " if sys.stdin.isatty() else ""
    answered = True
    while not conversation.completed:
        try:
            text = input(prompt).strip()
        except (EOFError, KeyboardInterrupt):
            terminal.line()
            break
        if not text:
            continue
        try:
            answered = conversation.send(text, typed=bool(prompt)) and answered
        except Refused as refused:
            terminal.line(terminal.styled("red", f"       ! {refused}"))
            answered = False
    return answered


def _show_chain(conversation: Conversation, terminal: Terminal) -> None:
    runs = conversation.chain()
    if runs:
        chain = "  ".join(f"{run['generation']} ({_turns(run['turns'])}, {run['status']})" for run in runs)
        terminal.line(terminal.styled("dim", f"runs   {chain}"))
    # Piped, the output of the same conversation is the same again.
    if sys.stdout.isatty() and conversation.thread is not None and not conversation.completed:
        goes_on = f"thread {conversation.thread.thread_id} (--thread goes on with it)"
        terminal.line(terminal.styled("dim", goes_on))


def _turns(count: int) -> str:
    return "1 turn" if count == 1 else f"{count} turns"
