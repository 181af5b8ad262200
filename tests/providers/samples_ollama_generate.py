"""Ollama's completion of one text: the bytes for each case."""

from tests.providers import ollama_bytes
from tests.providers.cases import Sample
from tests.providers.ollama_bytes import HAND, done, line
from tests.providers.text_samples import NO_FILTER, PARIS, PIECES, WHOLE_CALLS

FIXTURES = ollama_bytes.FIXTURES / "ollama_generate"
MODEL = "llama3.2"
SETTINGS = {"num_predict": 16}


def body(*pieces: str, reason: str = "stop") -> bytes:
    return b"".join(line(response=piece) for piece in pieces) + done(reason)


SAMPLES = (
    ollama_bytes.ERRORS
    | {case: Sample(HAND, body(*pieces)) for case, pieces in PIECES.items()}
    | {
        "text": Sample(HAND, (FIXTURES / "text.ndjson").read_bytes()),
        "text cut at the token limit": Sample(HAND, body("Hel", reason="length")),
        "noise between the events": Sample(HAND, b"\n  \n" + line(thinking="Hm.") + body("Hel", "lo")),
        "CRLF line ends": Sample(HAND, (FIXTURES / "text.ndjson").read_bytes().replace(b"\n", b"\r\n")),
        "no terminal event": Sample(HAND, line(response="Hel")),
        "the connection breaks in mid-stream": Sample(HAND, line(response="Hel"), abrupt=True),
        "the connection breaks inside a call": Sample(
            HAND, line(response="Hel") + line(response=PARIS[:40]), abrupt=True
        ),
        "an error inside HTTP 200": Sample(HAND, line(response="Par") + b'{"error": "unexpected EOF"}\n'),
    }
)
NOT_APPLICABLE = {
    "refused by the content filter": NO_FILTER,
    "two calls, their arguments interleaved": WHOLE_CALLS,
}
