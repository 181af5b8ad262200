"""Hugging Face's text generation: the bytes for each case."""

import json
from pathlib import Path
from typing import Any

from tests.providers.cases import Sample
from tests.providers.text_samples import NO_FILTER, PARIS, PIECES, WHOLE_CALLS

FIXTURES = Path(__file__).parent / "fixtures" / "text_generation"
HAND = "hand-built"
MODEL = "HuggingFaceTB/SmolLM3-3B"
SETTINGS = {"max_new_tokens": 64, "stop": ["</s>"]}

_answers = json.loads((FIXTURES / "errors.json").read_text())["answers"]


def event(text: str, *, special: bool = False, whole: str | None = None, **details: Any) -> bytes:
    token = {"id": 1, "text": text, "logprob": -0.1, "special": special}
    chunk = {"index": 1, "token": token, "generated_text": whole, "details": details or None}
    return f"data:{json.dumps(chunk, ensure_ascii=False)}\n\n".encode()


def body(*pieces: str, reason: str = "eos_token") -> bytes:
    end = event("</s>", special=True, whole="".join(pieces), finish_reason=reason, generated_tokens=3)
    return b"".join(map(event, pieces)) + end


def _refused(place: int, **headers: str) -> Sample:
    answer = _answers[place]
    return Sample(
        HAND, json.dumps(answer["body"]).encode(), status=answer["status"], headers=tuple(headers.items())
    )


SAMPLES = {case: Sample(HAND, body(*pieces)) for case, pieces in PIECES.items()} | {
    "text": Sample(HAND, (FIXTURES / "text.sse").read_bytes()),
    "text cut at the token limit": Sample(HAND, body("Hel", reason="length")),
    "noise between the events": Sample(HAND, b":\n\n\n" + body("Hel", "lo") + b"data:[DONE]\n\n"),
    "CRLF line ends": Sample(HAND, (FIXTURES / "text.sse").read_bytes().replace(b"\n", b"\r\n")),
    "no terminal event": Sample(HAND, event("Hel")),
    "an empty body": Sample(HAND, b""),
    "the connection breaks in mid-stream": Sample(HAND, event("Hel"), abrupt=True),
    "the connection breaks inside a call": Sample(HAND, event("Hel") + event(PARIS[:40]), abrupt=True),
    "an error inside HTTP 200": Sample(HAND, (FIXTURES / "error_in_stream.sse").read_bytes()),
    "something that is not JSON": Sample(HAND, b"data: <html>\n\n"),
    "rate limited": _refused(0, **{"retry-after": "1.85"}),
    "no money left": _refused(1),
    "wrong key": Sample(HAND, b'{"error": "Invalid credentials in Authorization header"}', status=401),
    "request at fault": _refused(3),
    "server error": Sample(HAND, b'{"error": "Request failed during generation"}', status=500),
    "overloaded": _refused(4),
    "an error page in HTML": Sample(HAND, b"<html><h1>502 Bad Gateway</h1></html>", status=502),
}
NOT_APPLICABLE = {
    "refused by the content filter": NO_FILTER,
    "two calls, their arguments interleaved": WHOLE_CALLS,
}
