"""OpenAI's Responses API: how a reply is read.

Server-sent events, each with its ``type`` in the data; the end is ``response.completed``, ``.incomplete`` or
``.failed``, or an ``error``. There is no ``[DONE]``. Source: streams parsed by the official SDK and
https://platform.openai.com/docs/api-reference/responses-streaming.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from parley.domain.errors import ProviderError, StreamCut
from parley.domain.messages import Usage
from parley.providers.wire.block_order import BlockOrder
from parley.providers.wire.failures import error_in_stream
from parley.providers.wire.ndjson import object_in
from parley.providers.wire.shapes import as_count, as_list, as_object
from parley.providers.wire.sse import decode_events, json_or_lines
from parley.turns.model_ports import Delta, Finish, TextDelta, ToolArgumentsDelta, ToolCallStart

_REASONING = ("type", "id", "summary", "encrypted_content")
_SEPARATOR = "\n\n"


def decode_stream(lines: Iterable[str]) -> Iterator[Delta]:
    """Events to deltas. What comes behind the end is not looked at."""
    reply = _Reply()
    for event in _events(lines):
        yield from reply.take(event)
        if reply.finish is not None:
            yield reply.finish
            return
    raise StreamCut("the stream ended without a terminal event")


def _events(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The events' data. A body that is one JSON object is a whole response, or an error."""
    body, lines = json_or_lines(lines)
    if body:
        whole = object_in(body)
        error = whole.get("error")
        yield {"type": "error", "error": error} if error else {"type": "response", "response": whole}
    for event in decode_events(lines):
        data = object_in(event.data)
        yield data if data.get("type") else {"type": event.event} | data


class _Reply:
    """What has come of one reply so far. Items are told apart by ``output_index``.

    Kept among its blocks: reasoning, and ``{"phase"}`` before the text of a message that has one.
    """

    def __init__(self) -> None:
        self.finish: Finish | None = None
        self._order = BlockOrder()
        self._calls: dict[int, int] = {}  # item → index of its call
        self._begun: set[int] = set()
        self._streamed: set[int] = set()  # items of which some text or arguments came
        self._has_text = False
        self._refused = False

    def take(self, event: dict[str, Any]) -> Iterator[Delta]:
        """The deltas of one event. Raises if it tells of an error."""
        place = event.get("output_index")
        place = place if isinstance(place, int) else 0
        match event.get("type"):
            case "response.output_item.added":
                yield from self._begin(place, as_object(event.get("item")))
            case "response.output_text.delta" | "response.refusal.delta" as kind:
                self._refused = self._refused or kind == "response.refusal.delta"
                yield from self._text(place, event.get("delta"))
            case "response.function_call_arguments.delta":
                yield from self._arguments(place, event.get("delta"))
            case "response.output_item.done":
                yield from self._end_of(place, as_object(event.get("item")))
            case "error" | "response.error":
                raise _error_of(event.get("error") or event)
            case "response.failed" | "response.cancelled":
                raise _error_of(as_object(event.get("response")).get("error"))
            case "response.completed" | "response.incomplete" | "response":
                yield from self._end(as_object(event.get("response")))
            case _:
                pass  # progress, and what the deltas and items above say again

    def _begin(self, place: int, item: dict[str, Any]) -> Iterator[Delta]:
        if place in self._begun:
            return
        self._begun.add(place)
        if item.get("type") == "function_call":
            name, call_id = item.get("name"), item.get("call_id")
            if not isinstance(name, str) or not name:
                raise StreamCut("the provider sent a function call without a name")
            self._calls[place] = index = len(self._calls)
            self._order.call()
            yield ToolCallStart(index, name, call_id if isinstance(call_id, str) else None)
        elif item.get("type") == "message" and isinstance(item.get("phase"), str):
            self._order.kept({"phase": item["phase"]})

    def _text(self, place: int, text: Any) -> Iterator[Delta]:
        """More text of an item; what one item says is set off from what the one before said."""
        if not isinstance(text, str) or not text:
            return
        if self._has_text and place not in self._streamed:
            text = _SEPARATOR + text
        self._streamed.add(place)
        self._has_text = True
        self._order.text(len(text))
        yield TextDelta(text)

    def _arguments(self, place: int, text: Any) -> Iterator[Delta]:
        if place not in self._calls:
            raise StreamCut("the provider sent arguments of a call that it had not begun")
        if isinstance(text, str) and text:
            self._streamed.add(place)
            yield ToolArgumentsDelta(self._calls[place], text)

    def _end_of(self, place: int, item: dict[str, Any]) -> Iterator[Delta]:
        """A finished item: reasoning comes with it alone, and so may anything that was not streamed."""
        yield from self._begin(place, item)
        match item.get("type"):
            case "reasoning" if isinstance(item.get("encrypted_content"), str):
                self._order.kept({name: item[name] for name in _REASONING if name in item})
            case "message" if place not in self._streamed:
                for part in map(as_object, as_list(item.get("content"))):
                    self._refused = self._refused or bool(part.get("refusal"))
                    yield from self._text(place, part.get("text") or part.get("refusal"))
            case "function_call" if place not in self._streamed:
                yield from self._arguments(place, item.get("arguments"))
            case _:
                pass

    def _end(self, response: dict[str, Any]) -> Iterator[Delta]:
        status = response.get("status")
        if status in ("failed", "cancelled"):
            raise _error_of(response.get("error"))
        if not self._begun:  # a server that does not stream, or that streams nothing but the end
            for place, item in enumerate(map(as_object, as_list(response.get("output")))):
                yield from self._end_of(place, item)
        why = as_object(response.get("incomplete_details")).get("reason")
        if why == "content_filter" or (self._refused and not self._calls):
            reason = "content_filter"
        elif status == "incomplete":
            reason = "length"
        elif status == "completed":
            reason = "tool_calls" if self._calls else "stop"
        else:
            raise StreamCut("the stream ended before the response was complete")
        self.finish = Finish(reason, _usage(response), self._order.provider_data())


def _usage(response: dict[str, Any]) -> Usage | None:
    usage = as_object(response.get("usage"))
    if not usage:
        return None
    return Usage(
        input_tokens=as_count(usage.get("input_tokens")), output_tokens=as_count(usage.get("output_tokens"))
    )


def _error_of(error: Any) -> ProviderError:
    fields = error if isinstance(error, dict) else {"message": error}
    code, kind = str(fields.get("code") or ""), str(fields.get("type") or "")
    words = fields.get("message")
    at_fault = code.startswith("invalid_")  # invalid_prompt, invalid_image…: asked again it fails again
    return error_in_stream(
        words if isinstance(words, str) else code, code=code, kind=kind, status=400 if at_fault else None
    )
