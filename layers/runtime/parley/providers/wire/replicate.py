"""Replicate's predictions: a model is run, and its output is streamed or fetched.

``POST {base}/models/{owner}/{name}/predictions``, or ``{base}/predictions`` with a version, answers with a
prediction: ``{id, status, output, error, urls: {get, cancel, stream}}``. If it names a stream, that goes on as
server-sent events ``output`` (text), ``error`` and ``done``; else ``urls.get`` is asked until the status is final.
There are no roles and no tools: input is the model's own, our settings included. Source: requests recorded from
the official client and https://replicate.com/docs/reference/http.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from parley.domain.errors import ProviderError, StreamCut
from parley.domain.messages import Usage
from parley.prompts.concatenated import text_of
from parley.prompts.prompt import Prompt
from parley.providers.wire.failures import error_for_status, error_in_stream, read_json, retry_after
from parley.providers.wire.ndjson import object_in
from parley.providers.wire.protocol import FollowUp
from parley.providers.wire.shapes import as_count, as_object
from parley.providers.wire.sse import decode_events, json_or_lines
from parley.turns.model_ports import Delta, Finish, TextDelta

POLL_SECONDS = 1.0
LONGEST_WAIT = 60
NOT_INPUT = frozenset({"wait", "extra_body", "script", "delay"})
"""Settings that are not the model's input."""
_VERSION = re.compile(r"(?:[^/:]+/[^/:]+:)?[0-9a-f]{64}")
_SECONDS_IN_WORDS = re.compile(r"(?:available|resets?) in ~?(\d{1,4}(?:\.\d+)?)\s*s", re.IGNORECASE)


def path(prompt: Prompt) -> str:
    """``owner/name`` has a path of its own; a version, with or without the model's name, is named in the body."""
    return "/predictions" if _is_version(prompt.model) else f"/models/{quote(prompt.model)}/predictions"


def headers(prompt: Prompt) -> dict[str, str]:
    """``Prefer: wait``, if the setting ``wait`` (true, or 1 to 60 seconds) asks for the answer in one piece."""
    wait = prompt.settings.get("wait")
    if not wait:
        return {}
    seconds = isinstance(wait, int | float) and not isinstance(wait, bool)
    return {"prefer": f"wait={min(LONGEST_WAIT, max(1, int(wait)))}" if seconds else "wait"}


def encode(prompt: Prompt) -> dict[str, Any]:
    """The request body: ``input`` has the prompt and all settings; ``extra_body`` is merged in."""
    given = {
        key: value for key, value in prompt.settings.items() if key not in NOT_INPUT and value is not None
    }
    body: dict[str, Any] = {"input": {"prompt": text_of(prompt), **given}}
    if _is_version(prompt.model):
        body["version"] = prompt.model.rpartition(":")[2]
    if not prompt.settings.get("wait"):
        body["stream"] = True
    return body | as_object(prompt.settings.get("extra_body"))


def _is_version(model: str) -> bool:
    return _VERSION.fullmatch(model) is not None


def decode_stream(lines: Iterable[str]) -> Iterator[Delta | FollowUp]:
    """A prediction, or the events of one."""
    whole, lines = json_or_lines(lines)
    if whole:
        yield from _prediction(object_in(whole))
    else:
        yield from _events(lines)


def _prediction(prediction: dict[str, Any]) -> Iterator[Delta | FollowUp]:
    urls = as_object(prediction.get("urls"))
    status = prediction.get("status")
    if status == "succeeded":
        if text := _text(prediction.get("output")):
            yield TextDelta(text)
        yield Finish("stop", _usage(as_object(prediction.get("metrics"))))
    elif status in ("failed", "canceled", "aborted"):
        raise error_in_stream(str(prediction.get("error") or f"the prediction was {status}"))
    elif isinstance(urls.get("stream"), str):
        yield FollowUp(urls["stream"], accept="text/event-stream", cancel_url=_address(urls, "cancel"))
    elif isinstance(urls.get("get"), str):
        yield FollowUp(urls["get"], delay=POLL_SECONDS, cancel_url=_address(urls, "cancel"))
    else:
        raise StreamCut("the provider's answer is not a prediction")


def _events(lines: Iterable[str]) -> Iterator[Delta]:
    for event in decode_events(lines):
        if event.event == "output":
            if event.data:
                yield TextDelta(event.data)
        elif event.event == "error":
            raise error_in_stream(_words(event.data))
        elif event.event == "done":
            reason = as_object(read_json(event.data)).get("reason")
            if reason:
                raise StreamCut(f"the prediction ended early: {reason}")
            yield Finish("stop")
            return
    raise StreamCut("the stream ended without its last event")


def _address(urls: dict[str, Any], name: str) -> str | None:
    return urls[name] if isinstance(urls.get(name), str) else None


def _text(output: Any) -> str:
    """Most language models give a list of pieces, some one string."""
    match output:
        case None:
            return ""
        case str():
            return output
        case list():
            return "".join(map(_text, output))
        case _:
            return json.dumps(output, ensure_ascii=False)


def _usage(metrics: dict[str, Any]) -> Usage | None:
    if "input_token_count" not in metrics and "output_token_count" not in metrics:
        return None
    return Usage(
        input_tokens=as_count(metrics.get("input_token_count")),
        output_tokens=as_count(metrics.get("output_token_count")),
    )


def _words(body: str) -> str:
    """``{title, detail}``, or any text."""
    fields = as_object(read_json(body))
    said = [str(fields[name]) for name in ("title", "detail") if fields.get(name)]
    return ": ".join(said) or body


def decode_error(status: int, headers: Mapping[str, str], body: str) -> ProviderError:
    """``{title, detail, status}``; how long to wait stands in a header or in the words."""
    words = _words(body)
    wait = retry_after(headers)
    said = _SECONDS_IN_WORDS.search(words)
    if wait is None and said is not None:
        wait = float(said[1])
    return error_for_status(status, words, retry_after=wait)
