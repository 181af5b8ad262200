"""What functions over HTTP answer, and what a bad answer is called."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from parley.tools.answers import LARGEST_ANSWER, NOTHING_SAID
from parley.turns.function_ports import FunctionOutcome
from tests.remote.conftest import MAYBE, NOTHING, SECRET, Elsewhere
from tests.support.wire_server import Answer, WireServer, json_answer

JSON = {"content-type": "application/json"}
TEXT = {"content-type": "text/plain; charset=utf-8"}
LATIN = {"content-type": "text/plain; charset=latin-1"}


@pytest.mark.parametrize(
    ("sent", "outcome"),
    [
        (json_answer("Just text."), FunctionOutcome("Just text.")),
        (Answer((b"Just text.",), headers=TEXT), FunctionOutcome("Just text.")),
        (Answer((b"No type.",)), FunctionOutcome("No type.")),
        (Answer(("Grüße".encode("latin-1"),), headers=LATIN), FunctionOutcome("Grüße")),
        (Answer((b"a\xffb",), headers=TEXT), FunctionOutcome("a\ufffdb")),
        (Answer((b"x",), headers={"content-type": "text/plain; charset=none-such"}), FunctionOutcome("x")),
        (Answer(status=204), FunctionOutcome(NOTHING_SAID)),
        (Answer((b"",), headers=JSON), FunctionOutcome(NOTHING_SAID)),
        (Answer((b" \r\n",), headers=JSON), FunctionOutcome(NOTHING_SAID)),
        (json_answer(None), FunctionOutcome(NOTHING_SAID)),
        (json_answer({"content": ""}), FunctionOutcome(NOTHING_SAID)),
        (Answer((b'\xef\xbb\xbf{"content": "a"}',), headers=JSON), FunctionOutcome("a")),
        (json_answer({"orders": [1, 2]}), FunctionOutcome('{"orders": [1, 2]}')),
        (json_answer([1, {"a": "ü"}]), FunctionOutcome('[1, {"a": "ü"}]')),
        (json_answer({"content": "No order.", "ok": False}), FunctionOutcome("No order.", False)),
        (json_answer({"content": "a", "additional_data": None, "more": 1}), FunctionOutcome("a")),
        (json_answer({"content": "There is no order X."}, 404), FunctionOutcome("There is no order X.", False)),
        (
            Answer((b'{"content": "\\ud83d"}',), headers={"content-type": "application/problem+json"}),
            FunctionOutcome("\ufffd"),
        ),
    ],
)  # fmt: skip
def test_an_answer_is_text_or_json_in_one_form(
    server: WireServer, elsewhere: Elsewhere, sent: Answer, outcome: FunctionOutcome
) -> None:
    server.answers.append(sent)
    assert elsewhere().of("http", url=server.url) == outcome


LEAK = "Traceback: 10.0.0.7 password=hunter2"


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (Answer((LEAK.encode(),), 400, TEXT), "answered 400 Bad Request." + NOTHING),
        (json_answer({"error": LEAK}, 404), "answered 404 Not Found." + NOTHING),
        (json_answer({"content": 5}, 403), "answered 403 Forbidden." + NOTHING),
        (Answer((LEAK.encode(),), 500, TEXT), "answered 500 Internal Server Error." + MAYBE),
        (json_answer({"content": LEAK}, 503), "answered 503 Service Unavailable." + MAYBE),
        (Answer((), 599), "answered 599." + MAYBE),
        (
            Answer((), 302, {"location": "http://169.254.169.254/"}),
            "answered with a redirect, which is not followed: its agent needs the new address." + MAYBE,
        ),
        (
            Answer((LEAK.encode(),), headers=JSON),
            "gave an answer that calls itself JSON and is none." + MAYBE,
        ),
        (Answer((b"\xff\xfe",), headers=JSON), "gave an answer that calls itself JSON and is none." + MAYBE),
        (
            Answer((b"[" * 100_000,), headers=JSON),
            "gave an answer that calls itself JSON and is none." + MAYBE,
        ),
        (
            json_answer({"content": ["a"]}),
            "gave an answer in which content is no text, ok no boolean or additional_data no object." + MAYBE,
        ),
        (
            json_answer({"content": "a", "additional_data": [1]}),
            "gave an answer in which content is no text, ok no boolean or additional_data no object." + MAYBE,
        ),
        (
            Answer((b"\x89PNG",), headers={"content-type": "image/png"}),
            "answered with image/png, which is neither text nor JSON." + MAYBE,
        ),
        (
            Answer((b"?",), headers={"content-type": f"image/{SECRET}"}),
            "answered with image/[secret], which is neither text nor JSON." + MAYBE,
        ),
        (
            Answer((b"x" * 600_000, b"x" * 600_000), headers=TEXT),
            f"answered with more than {LARGEST_ANSWER:,} bytes." + MAYBE,
        ),
        (
            Answer((b"half",), headers=TEXT, abrupt=True),
            "broke the connection off in the middle of its answer." + MAYBE,
        ),
    ],
)
def test_a_bad_answer_is_told_in_words_and_nothing_of_it_goes_on(
    server: WireServer, elsewhere: Elsewhere, sent: Answer, words: str
) -> None:
    server.answers.append(sent)
    outcome = elsewhere().of("http", url=server.url, secret="SHOP_KEY")
    assert outcome == FunctionOutcome(f"shop {words}", ok=False)
    assert len(server.received) == 1


def test_a_secret_that_the_server_says_back_goes_no_further(server: WireServer, elsewhere: Elsewhere) -> None:
    server.answers.append(
        json_answer({"content": f"Bad key {SECRET}!", "additional_data": {"sent": [f"Bearer {SECRET}"]}})
    )
    outcome = elsewhere().of("http", url=server.url, secret="SHOP_KEY")
    assert outcome == FunctionOutcome("Bad key [secret]!", True, {"sent": ["Bearer [secret]"]})


@pytest.mark.parametrize("secret", ["12345678", "n12345678"])
def test_a_secret_may_come_back_as_a_number_or_behind_a_line_end(
    server: WireServer, elsewhere: Elsewhere, secret: str
) -> None:
    elsewhere.settings["PARLEY_SECRET__demo__SHOP_KEY"] = secret
    server.answers.append(json_answer({"content": f"a\n{secret[1:]}", "additional_data": {secret: 12345678}}))
    outcome = elsewhere().of("http", url=server.url, secret="SHOP_KEY")
    shown: Any = "[secret]" if secret == "12345678" else 12345678
    assert outcome == FunctionOutcome(f"a\n{secret[1:]}", True, {"[secret]": shown})


def test_an_answer_that_does_not_come_is_given_up_after_the_limit(
    server: WireServer, elsewhere: Elsewhere
) -> None:
    server.answers.append(Answer(hold=threading.Event(), headers=TEXT))
    outcome = elsewhere(seconds=0.2).of("http", url=server.url)
    assert outcome == FunctionOutcome(f"shop did not finish its answer within 0.2 s.{MAYBE}", ok=False)
    assert server.client_left.wait(120)
    assert len(server.received) == 1
