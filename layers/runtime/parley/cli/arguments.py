"""The arguments of each command, and their help."""

from __future__ import annotations

import argparse
from typing import Any

from parley.cli.argument_types import add_command, encodable, folder, json_object, number, text
from parley.cli.inspection_arguments import add_inspection
from parley.cli.knowledge_arguments import add_kb
from parley.cli.mcp_arguments import add_mcp
from parley.cli.shared_arguments import add_agent, add_data, add_project, add_server, add_user

Subparsers = Any  # argparse's own type for this is private


def add_commands(commands: Subparsers) -> None:
    """Add all commands, in the order in which the help lists them."""
    _add_serve(commands)
    _add_chat(commands)
    _add_confirmations(commands)
    _add_token(commands)
    _add_backup(commands)
    add_inspection(commands)
    _add_import(commands)
    add_kb(commands)
    add_mcp(commands)
    _add_prompt(commands)
    _add_page(commands)


def _add_serve(commands: Subparsers) -> None:
    parser = add_command(
        commands,
        "serve",
        "serve:serve",
        "serve the API, the WebSocket and the page",
        "Serve a data folder: the HTTP API, the WebSocket (/ws) and the page (/) on one port. "
        "Everything is durable: stopped in any way and started again, every conversation goes on.",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument(
        "--port", type=number(0, 65535), default=8000, help="port; 0 picks a free one (default: 8000)"
    )
    add_data(parser)
    parser.add_argument(
        "--allow-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="let pages of this origin call the API (repeatable; * for all)",
    )
    parser.add_argument("--access-log", action="store_true", help="log requests, without their query strings")


def _add_wishes(parser: argparse.ArgumentParser) -> None:
    """What a conversation asks of its runs."""
    parser.add_argument(
        "--turns-per-run",
        type=number(1, 50),
        metavar="N",
        help="turns until a run continues as a new one (1-50)",
    )
    parser.add_argument(
        "--inactivity-seconds", type=number(1, 2_592_000), metavar="N", help="silence that ends a run"
    )


def _add_content(parser: argparse.ArgumentParser) -> None:
    """What is said; without any of it, messages are typed."""
    parser.add_argument(
        "--message",
        action="append",
        default=[],
        metavar="TEXT",
        type=text("message"),
        help="send this once the one before got its reply (repeatable)",
    )
    parser.add_argument(
        "--predefined",
        metavar="ID",
        type=text("predefined message"),
        help="send this predefined message of the agent first (`parley agents` lists them)",
    )


def _add_thread(parser: argparse.ArgumentParser) -> None:
    """Which conversation: a new one with an agent, or one that goes on."""
    add_agent(parser, "agent to talk to")
    parser.add_argument(
        "--thread", type=text("thread"), metavar="ID", help="go on with this thread, and its agent"
    )


def _add_chat(commands: Subparsers) -> None:
    parser = add_command(
        commands,
        "chat",
        "chat:chat",
        "hold a conversation",
        "Talk to an agent. Without --url, to the server that owns the data folder, or to one of its own. "
        "Without --message and --predefined, messages are typed: /end finishes, Ctrl-C cancels a turn. "
        "The exit status is 0 only if every message got its reply.",
    )
    _add_content(parser)
    _add_thread(parser)
    _add_wishes(parser)
    parser.add_argument(
        "--decision",
        choices=("approve", "decline"),
        help="decide proposed actions this way instead of asking",
    )
    parser.add_argument(
        "--timeout",
        type=number(1, 86_400),
        default=300,
        metavar="SECONDS",
        help="give a reply up after this long without any event (default: 300)",
    )
    add_server(parser)


def _add_confirmations(commands: Subparsers) -> None:
    listing = add_command(
        commands,
        "confirmations",
        "decisions:confirmations",
        "list what waits for your decision",
        "List proposed actions that wait for a decision: those of your own threads, "
        "and for an approver those of the whole project.",
    )
    deciding = add_command(
        commands,
        "confirm",
        "decisions:confirm",
        "decide a proposed action",
        "Approve or decline an action that waits. The exit status is 0 only if this decision counts.",
    )
    deciding.add_argument(
        "proposal",
        metavar="PROPOSAL",
        type=text("proposal"),
        help="its id, as `parley confirmations` shows it",
    )
    decision = deciding.add_mutually_exclusive_group(required=True)
    decision.add_argument("--approve", action="store_true", help="let it run")
    decision.add_argument("--decline", action="store_true", help="do not let it run")
    deciding.add_argument("--reason", type=text("reason"), metavar="TEXT", help="why; the model sees it")
    deciding.add_argument(
        "--arguments",
        type=json_object,
        metavar="JSON",
        help="approve with these arguments; those that are not named stay as proposed",
    )
    for parser in (listing, deciding):
        add_server(parser)


def _add_token(commands: Subparsers) -> None:
    parser = add_command(
        commands,
        "token",
        "serve:token",
        "print a token of the local issuer",
        "Print a token for a user of a local data folder, and make the user a member of the project "
        "(its owner, if the project is new).",
    )
    add_user(parser, "who the token speaks for")
    add_project(parser, "project to be a member of")
    parser.add_argument(
        "--role",
        choices=("owner", "member", "approver"),
        help="role in the project; without it, one that the user has stays",
    )
    parser.add_argument(
        "--ttl",
        type=number(1, 31_536_000),
        default=43_200,
        metavar="SECONDS",
        help="its life (default: 12 hours)",
    )
    add_data(parser)


def _add_backup(commands: Subparsers) -> None:
    parser = add_command(
        commands,
        "backup",
        "backup:backup",
        "copy a data folder, also while it is served",
        "Copy a data folder to a new one, as of one instant, also while a server works on it. "
        "The copy can be served as it is; it holds the key that signs tokens.",
    )
    parser.add_argument("folder", metavar="FOLDER", type=folder, help="the new folder")
    add_data(parser)


def _add_import(commands: Subparsers) -> None:
    parser = add_command(
        commands,
        "import",
        "importing:import_sessions",
        "import sessions of an older program",
        "Make threads of the sessions in a JSON file: one session, a list, or an object with a list of sessions. "
        "A session that was imported before is left as it is.",
    )
    parser.add_argument("file", metavar="FILE", type=text("file"), help="the file; - reads the input")
    add_project(parser, "project of the threads")
    add_user(parser, "whose threads they become")
    add_agent(parser, "agent that goes on with them")
    add_data(parser)


def _add_prompt(commands: Subparsers) -> None:
    parser = add_command(
        commands,
        "prompt",
        "prompt:prompt",
        "send one prompt to a model provider",
        "Send TEXT to a provider and stream its answer: a quick way to see whether it is set up. "
        "Settings come from the environment (for example OPENAI_API_KEY and OPENAI_BASE_URL).",
    )
    parser.add_argument("text", metavar="TEXT", type=text("text"), help="what to ask")
    parser.add_argument("--provider", default="scripted", help="provider to ask (default: scripted)")
    parser.add_argument("--model", help="model to ask")
    parser.add_argument(
        "--system", default="", type=encodable, help="system prompt (default: a helpful assistant)"
    )
    parser.add_argument(
        "--show", action="store_true", help="print the composed prompt as JSON and ask nobody"
    )


def _add_page(commands: Subparsers) -> None:
    parser = add_command(
        commands,
        "page",
        "page:page",
        "put the page into a deployed stack",
        "Upload the page to the bucket of a stack that was deployed with HostPage=true, with the configuration "
        "that its outputs name, and let CloudFront forget what it kept. Uses your AWS credentials.",
    )
    parser.add_argument("--stack", required=True, type=text("stack"), help="the stack's name")
    parser.add_argument("--region", help="the stack's region (default: that of your AWS configuration)")
    parser.add_argument("--profile", help="a profile of your AWS configuration")
