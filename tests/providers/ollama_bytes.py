"""What the samples of Ollama's two wires share."""

import json
from pathlib import Path
from typing import Any

from tests.providers.cases import Sample

FIXTURES = Path(__file__).parent / "fixtures"
HAND = "hand-built"


def line(**fields: Any) -> bytes:
    return json.dumps({"model": "llama3.2", "done": False, **fields}, ensure_ascii=False).encode() + b"\n"


def done(reason: str = "stop") -> bytes:
    return line(done=True, done_reason=reason, prompt_eval_count=20, eval_count=3)


_answers = json.loads((FIXTURES / "ollama_chat" / "errors.json").read_text())["answers"]


def _refused(place: int) -> Sample:
    answer = _answers[place]
    return Sample(HAND, json.dumps(answer["body"]).encode(), status=answer["status"])


ERRORS = {
    "an empty body": Sample(HAND, b""),
    "something that is not JSON": Sample(HAND, b"<html>\n"),
    "rate limited": Sample(
        HAND, b'{"error": "too many requests"}', status=429, headers=(("retry-after", "1.85"),)
    ),
    "no money left": Sample(HAND, b'{"error": "this needs a subscription"}', status=402),
    "wrong key": Sample(HAND, b'{"error": "unauthorized"}', status=401),
    "request at fault": _refused(0),
    "server error": Sample(HAND, b'{"error": "llama runner process has terminated"}', status=500),
    "overloaded": _refused(2),
    "an error page in HTML": Sample(HAND, b"<html><h1>502 Bad Gateway</h1></html>", status=502),
}
