"""What the pages name exists, and what a user meets is named there: links, targets, settings, events."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from parley import wiring
from parley.cli.main import build_parser
from parley.domain.events import EventName
from parley.domain.messages import MessageKind
from tests.support.template import ROOT, source

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
LINK = re.compile(r"!?\[[^\]]*\]\(([^()\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


@cache
def anchors(page: Path) -> set[str]:
    """What GitHub makes of a page's headings."""
    plain = (
        re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in HEADING.findall(prose(page))
    )
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


def links() -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        for target in LINK.findall(prose(page)):
            if not target.startswith(("http:", "https:", "mailto:")):
                yield page, target


def test_every_link_of_a_page_leads_somewhere() -> None:
    broken = []
    for page, target in links():
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert broken == []


def test_every_make_target_that_a_page_names_is_there_and_every_one_has_its_line_of_help() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (phony,) = re.findall(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    explained = set(re.findall(r"^([a-z-]+):.* ## ", makefile, re.MULTILINE))
    assert explained == set(phony.split())
    named = {
        name
        for page in PAGES
        for name in re.findall(
            r"(?:^|`|\()make (?:-s )?([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE
        )
    }
    assert named <= explained


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("deploying.md", source()["Parameters"]),
        ("operations.md", wiring.ENVIRONMENT),
    ],
)
def test_every_setting_is_explained(page: str, names: set[str]) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert [name for name in names if f"`{name}`" not in text] == []


def test_every_command_is_listed() -> None:
    commands = re.findall(r"^    (\w+)\b", build_parser().format_help(), re.MULTILINE)
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert re.findall(r"^parley (\w+)  ", text, re.MULTILINE) == commands


def test_every_event_and_every_kind_of_message_is_explained() -> None:
    text = (ROOT / "docs" / "http-api.md").read_text(encoding="utf-8")
    assert [name for name in [*EventName, *MessageKind] if name not in text] == []


def test_every_conflict_and_the_like_is_listed() -> None:
    """Errors that a client tells apart by their type, other than by the status alone."""
    raised = re.compile(r'\b(?:Conflict|Gone|TooLarge|TooManyQueued)\(\s*"(\w+)"')
    sources = (ROOT / "layers" / "runtime" / "parley").rglob("*.py")
    types = {name for path in sources for name in raised.findall(path.read_text(encoding="utf-8"))}
    text = (ROOT / "docs" / "http-api.md").read_text(encoding="utf-8")
    assert sorted(name for name in types if f"`{name}`" not in text) == []
