"""Messages that are only a role and a text, as threads have them: with turns, calls and their results.

Owns the rules: a person's message opens a turn; what an assistant wrote as XML calls becomes calls; results in
a user's message are joined to the calls before them by name, in order; those that answer none stay a message
that goes to the model and never to a person.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from parley.domain import keys
from parley.domain.json_text import read_json
from parley.domain.messages import Message, MessageKind, ToolCall
from parley.prompts.old_results import OldResult, looks_like_results, read_results
from parley.prompts.xml_calls import TextCall, TextCalls
from parley.prompts.xml_tools import response_as_text


@dataclass(frozen=True, slots=True)
class PlainMessage:
    """A message of an older session or of a caller. ``timestamp`` is epoch seconds.

    ``is_result``: it is known to hold results of calls; otherwise its text says so. ``provider``: who made it.
    """

    role: Literal["user", "assistant"]
    content: str
    timestamp: float = 0.0
    is_result: bool = False
    provider: str | None = None


def thread_messages(thread_id: str, messages: Iterable[PlainMessage]) -> list[Message]:
    """The messages in stored order, under the keys that ``turn``, ``step`` and ``call`` make.

    What stands before the first person's message is turn 0, which models are not sent. Blank ones are left out.
    """
    thread = _Thread(thread_id)
    for message in messages:
        if message.content.strip():
            thread.take(message)
    return thread.found


@dataclass(slots=True)
class _Thread:
    thread_id: str
    found: list[Message] = field(default_factory=list)
    turn: int = 0
    step: int = -1
    open: list[tuple[int, ToolCall]] = field(default_factory=list)
    calls_at: int = 0
    program_may_speak: bool = False

    def take(self, message: PlainMessage) -> None:
        """Add one. Results follow an assistant: the same words in a person's first message are the person's."""
        if message.role == "assistant":
            self._assistant(message)
        elif message.is_result or (self.program_may_speak and looks_like_results(message.content)):
            self._results(message)
        else:
            self.turn, self.step, self.open = self.turn + 1, -1, []
            self._add(MessageKind.USER_MESSAGE, message, content=message.content)
            self.program_may_speak = False

    def _add(self, kind: MessageKind, message: PlainMessage, **fields: Any) -> None:
        self.step += 1
        message_id = keys.message_id_for(self.thread_id, f"imported:{self.turn}.{self.step}")
        if message.role == "assistant":
            message_id = keys.model_message_id(self.thread_id, self.turn, self.step)
        self.found.append(
            Message(
                id=message_id,
                kind=kind,
                role=message.role,
                timestamp=message.timestamp,
                turn=self.turn,
                step=self.step,
                **fields,
            )
        )

    def _assistant(self, message: PlainMessage) -> None:
        reader = TextCalls()
        parts = [*reader.feed(message.content), *reader.finish()]
        text = "".join(part for part in parts if isinstance(part, str)).strip()
        step = self.step + 1
        calls = tuple(
            self._call(part, step, place)
            for place, part in enumerate(part for part in parts if isinstance(part, TextCall))
        )
        kind = MessageKind.ASSISTANT_TOOL_CALL if calls else MessageKind.ASSISTANT_MESSAGE
        self._add(
            kind,
            message,
            content=text,
            tool_calls=calls,
            finish_reason="tool_calls" if calls else "stop",
            metadata={"provider": message.provider} if message.provider else {},
        )
        self.open, self.calls_at = list(enumerate(calls)), self.step
        self.program_may_speak = True

    def _call(self, call: TextCall, step: int, place: int) -> ToolCall:
        tool_call_id = keys.tool_call_id_for(self.thread_id, self.turn, step, place)
        try:
            arguments = read_json(call.arguments or "{}")
        except ValueError:
            arguments = None
        if isinstance(arguments, dict):
            return ToolCall(
                tool_call_id=tool_call_id, name=call.name, arguments=arguments, arguments_error=call.error
            )
        error = call.error or "the arguments are not a JSON object"
        return ToolCall(tool_call_id=tool_call_id, name=call.name, arguments_error=error)

    def _results(self, message: PlainMessage) -> None:
        results, rest = read_results(message.content)
        lonely = [result for result in results if not self._answer(message, result)]
        if rest and not results and len(self.open) == 1:
            self._answer(message, OldResult("", rest, ok=True))
            rest = ""
        texts = [response_as_text(result.name, result.content, ok=result.ok) for result in lonely]
        said = "\n".join(text for text in (*texts, rest) if text)
        if said:
            internal = {"internal": True, "is_tool_response": True}
            self._add(MessageKind.USER_MESSAGE, message, content=said, metadata=internal)

    def _answer(self, message: PlainMessage, result: OldResult) -> bool:
        """Whether a call waited for this result."""
        place = next(
            (at for at, (_, call) in enumerate(self.open) if result.name in ("", call.name)),
            None,
        )
        if place is None:
            return False
        index, call = self.open.pop(place)
        metadata = {"is_tool_response": True, "tool_call_id": call.tool_call_id, "name": call.name}
        self.found.append(
            Message(
                id=f"{call.tool_call_id}-response",
                kind=MessageKind.TOOL_RESPONSE,
                role="tool",
                content=result.content,
                timestamp=message.timestamp,
                turn=self.turn,
                step=self.calls_at,
                call=index,
                ok=result.ok,
                metadata=metadata,
            )
        )
        return True
