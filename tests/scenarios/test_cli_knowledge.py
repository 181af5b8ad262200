"""`parley kb` against a running server, and on a folder of its own."""

from __future__ import annotations

import re

import pytest

from parley.cli import main as cli
from tests.support.served import served


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory.mktemp("data")) as running:
        yield running


@pytest.fixture
def parley(server, capsys, tmp_path, monkeypatch):
    """Runs a command against the server, in a folder of its own; gives its exit status and output."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        status = cli.main([*arguments, "--data", str(server.data)])
        return status, capsys.readouterr()

    return run


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_files_are_added_found_listed_and_removed(parley, tmp_path):
    write(tmp_path, "docs/shipping.md", "# Shipping\n\nParcels leave at noon.\n")
    write(tmp_path, "docs/deep/tax & duty.html", "<title>Taxes</title><p>Customs are the customer's.")
    status, shown = parley("kb", "add", "docs")
    assert (status, shown.out.splitlines()) == (
        0,
        [
            "added     docs/deep/tax & duty.html  Taxes (28 bytes)",
            "added     docs/shipping.md  Shipping (35 bytes)",
        ],
    )
    status, shown = parley("kb", "search", "when", "do", "parcels", "leave?", "--limit", "1")
    assert (status, shown.out.splitlines()) == (
        0,
        ["Shipping  docs/shipping.md", "  # Shipping", "", "  Parcels leave at noon."],
    )
    assert parley("kb", "add", "docs/shipping.md", "--title", "How we ship")[0] == 0
    status, shown = parley("kb", "list")
    assert status == 0
    lines = [" ".join(line.split()) for line in shown.out.splitlines()]
    assert lines[0] == "document title bytes updated"
    assert any(line.startswith("docs/shipping.md How we ship 35 ") for line in lines)
    status, shown = parley("kb", "remove", "docs/deep/tax & duty.html", "docs/shipping.md")
    assert (status, shown.out.splitlines()) == (
        0,
        ["removed   docs/deep/tax & duty.html", "removed   docs/shipping.md"],
    )
    assert "docs/" not in parley("kb", "list")[1].out


def test_the_page_of_a_list_is_not_its_end(parley, tmp_path):
    for number in range(101):
        write(tmp_path, f"many/{number:03}.txt", f"Note {number}")
    assert parley("kb", "add", "many")[0] == 0
    assert parley("kb", "list")[1].out.count("many/") == 101
    assert parley("kb", "remove", *(f"many/{number:03}.txt" for number in range(101)))[0] == 0


def test_what_cannot_be_added_or_removed_is_told_and_the_rest_is_done(parley, tmp_path):
    write(tmp_path, "a.pdf", "%PDF-1.7")
    write(tmp_path, "blank.md", " \n")
    write(tmp_path, "good.md", "Good.")
    status, shown = parley("kb", "add", "a.pdf", "nowhere.md", "blank.md", "good.md")
    assert status == 1
    assert shown.out.splitlines() == [
        "failed    a.pdf is a PDF; make it a text file first, for instance with pdftotext",
        "failed    blank.md: content: must have some text in it.",
        "added     good.md  good (5 bytes)",
        "failed    nowhere.md: there is no such file or folder",
    ]
    assert shown.err == "parley: 3 of 4 files and folders were not added\n"
    status, shown = parley("kb", "add", "nowhere.md")
    assert (status, shown.err) == (1, "parley: nowhere.md: there is no such file or folder\n")
    status, shown = parley("kb", "remove", "nowhere.md", "good.md")
    assert (status, shown.err) == (1, "parley: 1 of 2 documents were not removed\n")
    assert shown.out.splitlines() == [
        "failed    nowhere.md: There is no such document.",
        "removed   good.md",
    ]


def test_nothing_found_is_said_and_is_no_success(parley):
    status, shown = parley("kb", "search", "xylophone")
    assert (status, shown.out) == (1, "Nothing was found.\n")


def test_a_title_is_for_one_file(parley, tmp_path):
    write(tmp_path, "a.md", "a")
    write(tmp_path, "b.md", "b")
    status, shown = parley("kb", "add", "a.md", "b.md", "--title", "Both")
    assert (status, shown.err) == (2, "parley: --title is for a single file, and these are 2\n")


def test_what_a_document_says_cannot_steer_the_terminal(parley, tmp_path):
    write(tmp_path, "evil.html", "<title>\x1b[2Jgone</title><p>marimba \x1b[31mred \u202etxt")
    assert parley("kb", "add", "evil.html")[0] == 0
    shown = parley("kb", "search", "marimba")[1].out + parley("kb", "list")[1].out
    assert "marimba" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    parley("kb", "remove", "evil.html")


def test_in_a_conversation_a_search_shows_where_its_passages_are_from(parley):
    status, shown = parley("chat", "--message", "What is our policy for gift cards?")
    assert status == 0
    lines = shown.out.splitlines()
    assert lines[1] == '       → searchKnowledgeBase(query="What is our policy for gift cards?")'
    assert re.fullmatch(r"       ✓ \d+ passages? from Returns policy.*", lines[2])
    assert lines[3] == "agent  Here is what Returns policy (returns-policy.md) says:"


def test_a_folder_that_nobody_serves_is_served_for_as_long_as_it_takes(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "note.md", "The code word is marimba.")
    data = ("--data", str(tmp_path / "data"))
    assert cli.main(["kb", "add", "note.md", "--project", "mine", *data]) == 0
    assert cli.main(["kb", "search", "marimba", "--project", "mine", *data]) == 0
    assert "note.md" in capsys.readouterr().out
    assert cli.main(["kb", "search", "marimba", *data]) == 1
