"""Ollama's conversation: the bytes for each case."""

from typing import Any

from tests.providers import ollama_bytes
from tests.providers.cases import Sample
from tests.providers.ollama_bytes import HAND, done, line
from tests.providers.text_samples import NO_FILTER

FIXTURES = ollama_bytes.FIXTURES / "ollama_chat"
MODEL = "llama3.2"
SETTINGS = {"temperature": 0, "max_tokens": 64, "keep_alive": "5m"}


def said(text: str) -> bytes:
    return line(message={"role": "assistant", "content": text})


def called(*calls: tuple[str, dict[str, Any]]) -> bytes:
    found = [{"function": {"name": name, "arguments": arguments}} for name, arguments in calls]
    return line(message={"role": "assistant", "content": "", "tool_calls": found})


PARIS = ("get_weather", {"city": "Paris"})
ROME = ("get_weather", {"city": "Rome"})

SAMPLES = ollama_bytes.ERRORS | {
    "text": Sample(HAND, (FIXTURES / "text.ndjson").read_bytes()),
    "text outside ASCII": Sample(HAND, said("Grüße, ") + said("世界 🎉") + done()),
    "text cut at the token limit": Sample(HAND, said("Hel") + done("length")),
    "two calls": Sample(HAND, called(PARIS) + called(ROME) + done()),
    "a call with empty arguments": Sample(HAND, called(("get_time", {})) + done()),
    "text and a call": Sample(HAND, said("Let me look.") + called(PARIS) + done()),
    "noise between the events": Sample(HAND, b"\n \n" + said("Hel") + b"\n" + said("lo") + done()),
    "CRLF line ends": Sample(HAND, (FIXTURES / "text.ndjson").read_bytes().replace(b"\n", b"\r\n")),
    "no terminal event": Sample(HAND, said("Hel")),
    "the connection breaks in mid-stream": Sample(HAND, said("Hel"), abrupt=True),
    "the connection breaks inside a call": Sample(HAND, called(PARIS)[:60], abrupt=True),
    "an error inside HTTP 200": Sample(HAND, (FIXTURES / "error_in_stream.ndjson").read_bytes()),
}
NOT_APPLICABLE = {
    "refused by the content filter": NO_FILTER,
    "two calls, their arguments interleaved": "calls come whole",
}
