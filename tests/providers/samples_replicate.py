"""Replicate's predictions: the bytes for each case. What is streamed comes behind the answer that names the stream."""

import json
from pathlib import Path

from tests.providers.cases import SERVER, Sample
from tests.providers.text_samples import NO_FILTER, PARIS, PIECES, WHOLE_CALLS

FIXTURES = Path(__file__).parent / "fixtures" / "replicate"
HAND = "hand-built"
MODEL = "meta/meta-llama-3-70b-instruct"
SETTINGS = {
    "system_prompt": "Be brief.",
    "prompt_template": "<|user|>{prompt}<|assistant|>",
    "max_tokens": 64,
}

CREATED = Sample(
    HAND,
    json.dumps(
        {
            "id": "gm3",
            "status": "starting",
            "output": None,
            "error": None,
            "urls": {
                "get": f"{SERVER}/v1/predictions/gm3",
                "cancel": f"{SERVER}/v1/predictions/gm3/cancel",
                "stream": f"{SERVER}/stream/v1/files/abc",
            },
        }
    ).encode(),
    status=201,
)
DONE = b"event: done\nid: 9:0\ndata: {}\n\n"
_answers = json.loads((FIXTURES / "errors.json").read_text())["answers"]


def output(text: str) -> bytes:
    data = "\n".join(f"data: {line}" for line in text.split("\n"))
    return f"event: output\nid: 1:0\n{data}\n\n".encode()


def streamed(body: bytes, *, abrupt: bool = False) -> Sample:
    return Sample(HAND, body, abrupt=abrupt, before=(CREATED,))


def said(*pieces: str) -> Sample:
    return streamed(b"".join(map(output, pieces)) + DONE)


def _refused(place: int, *headers: tuple[str, str]) -> Sample:
    answer = _answers[place]
    return Sample(HAND, json.dumps(answer["body"]).encode(), status=answer["status"], headers=headers)


SAMPLES = {case: said(*pieces) for case, pieces in PIECES.items()} | {
    "noise between the events": streamed(
        b": hi\n\nevent: logs\ndata: loading\n\n" + output("Hel") + output("lo") + DONE
    ),
    "CRLF line ends": streamed((output("Hel") + output("lo") + DONE).replace(b"\n", b"\r\n")),
    "no terminal event": streamed(output("Hel")),
    "an empty body": streamed(b""),
    "the connection breaks in mid-stream": streamed(output("Hel"), abrupt=True),
    "the connection breaks inside a call": streamed(output("Hel") + output(PARIS[:40]), abrupt=True),
    "an error inside HTTP 200": streamed((FIXTURES / "error_in_stream.sse").read_bytes()),
    "something that is not JSON": Sample(HAND, b"<html>\n\n"),
    "rate limited": _refused(0, ("retry-after", "1.85")),
    "no money left": _refused(2),
    "wrong key": _refused(1),
    "request at fault": _refused(3),
    "server error": Sample(HAND, b'{"detail": "Internal server error"}', status=500),
    "overloaded": Sample(HAND, b'{"detail": "The model is overloaded"}', status=529),
    "an error page in HTML": Sample(HAND, b"<html><h1>502 Bad Gateway</h1></html>", status=502),
}
NOT_APPLICABLE = {
    "refused by the content filter": NO_FILTER,
    "two calls, their arguments interleaved": WHOLE_CALLS,
    "text cut at the token limit": "the end of a prediction says nothing of limits",
}
