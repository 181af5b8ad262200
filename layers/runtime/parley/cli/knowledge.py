"""`parley kb`: a project's knowledge base from the command line."""

from __future__ import annotations

import argparse
from typing import Any
from urllib.parse import quote

from parley.cli.api import Api, segment
from parley.cli.document_files import DocumentFile, NotText, document_files
from parley.cli.failure import CommandFailed, Refused
from parley.cli.inspect import moment, table
from parley.cli.servers import reached_server
from parley.cli.terminal import Terminal, clean, shortened

_NAMED = 5
"""Names of files in one line."""


def add_documents(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Add each file; one that cannot be added does not keep the others from it."""
    files, left_out, faults = document_files(arguments.paths)
    if not files:
        raise CommandFailed("; ".join(clean(fault) for fault in faults))
    if arguments.title and len(files) > 1:
        raise CommandFailed(f"--title is for a single file, and these are {len(files)}", status=2)
    with reached_server(arguments) as api:
        failed = sum(not _added(api, arguments.project, file, arguments.title, terminal) for file in files)
    if left_out:
        names = ", ".join(str(path) for path in left_out[:_NAMED])
        more = ", …" if len(left_out) > _NAMED else ""
        terminal.line(clean(f"left out  {len(left_out)} of other kinds: {names}{more}"))
    for fault in faults:
        terminal.line(f"failed    {clean(fault)}")
    if failed or faults:
        missing = len(faults)
        raise CommandFailed(f"{failed + missing} of {len(files) + missing} files and folders were not added")
    return 0


def list_documents(arguments: argparse.Namespace, terminal: Terminal) -> int:
    with reached_server(arguments) as api:
        rows = [
            [document["id"], document["title"], f"{document['size']:,}", moment(document["updated_at"])]
            for document in api.pages(_documents(arguments.project), "documents", limit=100)
        ]
    table(terminal, ["document", "title", "bytes", "updated"], rows)
    return 0


def remove_documents(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Remove documents; one that is not there does not keep the others."""
    failed = 0
    with reached_server(arguments) as api:
        for document_id in arguments.ids:
            try:
                api.delete(_document(arguments.project, document_id))
                terminal.line(f"removed   {clean(document_id)}")
            except Refused as refused:
                failed += 1
                terminal.line(f"failed    {clean(document_id)}: {clean(str(refused))}")
    if failed:
        raise CommandFailed(f"{failed} of {len(arguments.ids)} documents were not removed")
    return 0


def search_documents(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Show the passages that fit best; 1 if there are none."""
    path = f"/api/projects/{segment(arguments.project)}/knowledge"
    with reached_server(arguments) as api:
        passages = api.get(path, query=" ".join(arguments.query), limit=arguments.limit)["passages"]
    for number, passage in enumerate(passages):
        if number:
            terminal.line()
        _show(passage, terminal)
    if not passages:
        terminal.line("Nothing was found.")
    return 0 if passages else 1


def _added(api: Api, project: str, file: DocumentFile, title: str | None, terminal: Terminal) -> bool:
    name = clean(file.document_id)
    try:
        own_title, content = file.read()
        body: dict[str, Any] = {"content": content}
        if wanted := title or shortened(own_title or "", 200):
            body["title"] = wanted
        made = api.put(_document(project, file.document_id), body)
    except NotText as fault:
        terminal.line(f"failed    {name} {fault}")
        return False
    except Refused as refused:
        terminal.line(f"failed    {name}: {clean(str(refused))}")
        return False
    terminal.line(f"added     {name}  {clean(made['title'])} ({made['size']:,} bytes)")
    return True


def _show(passage: dict[str, Any], terminal: Terminal) -> None:
    source = " › ".join(name for name in (passage["title"], passage["heading"]) if name)
    terminal.line(f"{terminal.styled('bold', clean(source))}  {clean(passage['document_id'])}")
    for line in clean(passage["text"]).splitlines():
        terminal.line(f"  {line}".rstrip())


def _documents(project: str) -> str:
    return f"/api/projects/{segment(project)}/documents"


def _document(project: str, document_id: str) -> str:
    return f"{_documents(project)}/{quote(document_id)}"
