"""What a person may answer when an action waits, and what is asked again."""

from __future__ import annotations

import io
from typing import Any

import pytest

from parley.cli.person import HELP, Approve, Asked, Decline, Leave, Write, understand
from parley.cli.terminal import Terminal
from parley.cli.transcript import Transcript

PROPOSAL: dict[str, Any] = {
    "proposal_id": "p",
    "tool_call_id": "c",
    "name": "refund",
    "question": "Refund 5.00?",
    "arguments": {"amount": "5.00", "reason": "late"},
}


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("y", Approve()),
        ("YES", Approve()),
        ("yes.", Approve()),
        ("n", Decline()),
        ("No", Decline()),
        ("n too expensive", Decline("too expensive")),
        ("no, ask me in May", Decline("ask me in May")),
        ('e {"amount": "4.00"}', Approve({"amount": "4.00"})),
        ("w", Leave()),
        ("Show me analytics instead", Write("Show me analytics instead")),
        ("why though?", Write("why though?")),
    ],
)
def test_an_answer_is_understood(typed: str, answer: object) -> None:
    assert understand(typed) == answer


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("", "Please answer y, n, e or w; ? explains."),
        ("perhaps", "Please answer y, n, e or w; ? explains."),
        ("?", HELP),
        ("yes please do", "Please answer y alone to approve."),
        ("e {amount: 4}", "that is no JSON (Expecting property name"),
        ("e [1]", "that is no JSON object"),
        ('e {"amount": 4, "amount": 5}', 'that is no JSON ("amount" is in it twice'),
        ("e", "To change arguments, type e"),
    ],
)
def test_what_is_no_answer_decides_nothing_and_is_explained(typed: str, words: str) -> None:
    understood = understand(typed)
    assert isinstance(understood, str)
    assert understood.startswith(words)


def asked(monkeypatch: pytest.MonkeyPatch, typed: str) -> tuple[object, str]:
    out = io.StringIO()
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    answer = Asked().decide(Transcript(Terminal(out, colours=False)), PROPOSAL, 0)
    return answer, out.getvalue()


def test_it_is_asked_until_there_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    answer, shown = asked(monkeypatch, 'maybe\ne\ne {"amount": "4.00"}\n')
    assert answer == Approve({"amount": "4.00"})
    assert shown.count("[y/n/e/w/?]") == 3
    assert shown.count("Refund 5.00?") == 1
    assert '{"amount": "5.00", "reason": "late"}' in shown


def test_with_nobody_there_nothing_is_approved(monkeypatch: pytest.MonkeyPatch) -> None:
    answer, shown = asked(monkeypatch, "maybe\n")
    assert answer == Decline()
    assert "declined: nobody answered" in shown
