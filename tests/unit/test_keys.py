"""Ids that are made from names, and keys: each depends on all that it is made from, and on where one part ends."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature

import pytest

from parley.domain import keys

MADE_FROM_NAMES: list[Callable[..., str]] = [
    keys.thread_id_for,
    keys.imported_thread_id,
    keys.message_id_for,
    keys.model_message_id,
    keys.tool_call_id_for,
    keys.proposal_id_for,
    keys.subthread_id_for,
    keys.preserved_subthread_id,
]
KEYS: list[Callable[..., str]] = [
    keys.execution_name,
    keys.subagent_execution_name,
    keys.thread_partition,
    keys.inbox,
    keys.messages,
    keys.message,
    keys.call_message,
    keys.prompt,
    keys.run_record,
    keys.event,
    keys.decision,
    keys.subthread,
    keys.proposal_partition,
    keys.project_partition,
    keys.agent,
    keys.member,
    keys.agent_use,
    keys.data_partition,
    keys.project_files,
    keys.documents_partition,
    keys.document,
    keys.document_texts,
    keys.channel_partition,
    keys.connection_partition,
    keys.ticket_partition,
    keys.listed_threads,
    keys.listed_proposals,
]


def parts_of(made: Callable[..., str], text: str, number: int) -> list[str | int]:
    """Arguments of the right kinds."""
    kinds = [parameter.annotation for parameter in signature(made).parameters.values()]
    return [number if "int" in str(kind) else f"{text}{place}" for place, kind in enumerate(kinds)]


@pytest.mark.parametrize("made", [*MADE_FROM_NAMES, *KEYS], ids=lambda made: made.__name__)
def test_another_part_makes_another_key(made: Callable[..., str]) -> None:
    parts, others = parts_of(made, "name", 2), parts_of(made, "other", 3)
    changed = [[*parts[:place], others[place], *parts[place + 1 :]] for place in range(len(parts))]
    found = [made(*each) for each in [parts, *changed]]
    assert len(set(found)) == len(found)
    assert made(*parts) == found[0]


@pytest.mark.parametrize("made", MADE_FROM_NAMES, ids=lambda made: made.__name__)
def test_names_that_run_together_make_another_id(made: Callable[..., str]) -> None:
    parts = parts_of(made, "name", 2)
    shifted = [f"{parts[0]}x", *parts[1:]], [parts[0], f"x{parts[1]}", *parts[2:]]
    assert made(*shifted[0]) != made(*shifted[1])


def test_ids_of_two_kinds_are_never_alike() -> None:
    ids = [made(*parts_of(made, "name", 2)) for made in MADE_FROM_NAMES]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("made", [keys.message, keys.call_message, keys.prompt, keys.run_record, keys.event])
def test_numbers_sort_as_numbers(made: Callable[..., str]) -> None:
    parts = parts_of(made, "name", 9)
    more = [10 if isinstance(part, int) else part for part in parts]
    assert made(*parts) < made(*more)


def test_a_ticket_itself_is_not_in_its_key() -> None:
    assert "open-sesame" not in keys.ticket_partition("open-sesame")


def test_a_projects_id_cannot_lead_out_of_its_folder() -> None:
    assert keys.project_files("a/files/../b") == "projects/a%2Ffiles%2F..%2Fb/files/"
    assert keys.document_texts("a/b") == "projects/a%2Fb/documents/"
