"""The arguments of `parley kb` and its actions."""

from __future__ import annotations

import argparse
from typing import Any

from parley.cli.argument_types import add_command, number, text
from parley.cli.shared_arguments import add_server

MOST_PASSAGES = 20
"""As in ``domain.documents``, which loads more than a help text needs."""


def add_kb(commands: Any) -> None:
    """The command with its four actions."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "kb",
        help="keep a project's knowledge base",
        description="Add documents to a project's knowledge base, list, remove and search them.",
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    add = _add_add(actions)
    shown = _action(actions, "list", "list the documents", "List the project's documents.")
    for action in (add, shown, _add_remove(actions), _add_search(actions)):
        add_server(action)


def _add_add(actions: Any) -> argparse.ArgumentParser:
    add = _action(
        actions,
        "add",
        "add files, or all text files of folders",
        "Add text, Markdown and HTML files. A document's id is its path as it is written here; one of that id "
        "that is there is replaced. Of a folder, all such files below it are added.",
    )
    add.add_argument(
        "paths", nargs="+", metavar="PATH", type=text("path"), help="a file or a folder (repeatable)"
    )
    add.add_argument(
        "--title", type=text("title"), help="title of a single file (default: its first heading)"
    )
    return add


def _add_remove(actions: Any) -> argparse.ArgumentParser:
    remove = _action(actions, "remove", "remove documents", "Remove documents.")
    remove.add_argument(
        "ids", nargs="+", metavar="ID", type=text("id"), help="a document's id, as in the list"
    )
    return remove


def _add_search(actions: Any) -> argparse.ArgumentParser:
    search = _action(
        actions,
        "search",
        "search the documents",
        "Show the passages that fit a question best. The exit status is 1 if there are none.",
    )
    search.add_argument(
        "query", nargs="+", metavar="WORD", type=text("query"), help="a question, or words of the answer"
    )
    search.add_argument(
        "--limit",
        type=number(1, MOST_PASSAGES),
        default=5,
        metavar="N",
        help="how many passages (default: 5)",
    )
    return search


def _action(actions: Any, name: str, help: str, description: str) -> argparse.ArgumentParser:
    return add_command(actions, name, f"knowledge:{name}_documents", help, description)
