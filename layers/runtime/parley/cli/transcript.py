"""A conversation as it is shown in a terminal: events in, lines out.

One message streams at a time; text of another one (subagents work side by side) is kept back and shown whole
when it ends. Subagents are indented below the call that opened them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parley.cli.asked import action_lines, listed
from parley.cli.feed import Event
from parley.cli.terminal import Terminal, clean, named, shortened

_LABEL = 7
_ARGUMENTS = 160
_BRIEF = 40
_RESULT = 400


class _Message:
    """A message that is being written: its text so far and how much of it is on the screen."""

    def __init__(self, label: str, indent: int) -> None:
        self.label = label
        self.indent = indent
        self.text = ""
        self.shown = 0


class _Batch:
    """The calls of one reply: several are answered in any order, so each result says whose it is."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[str, str]] = {}
        self._open: set[str] = set()

    def add(self, call_id: str, name: str, arguments: str) -> None:
        """A call; the first one behind the last result begins a new reply."""
        if not self._open:
            self._calls.clear()
        self._open.add(call_id)
        self._calls[call_id] = (name, arguments)

    def answered(self, call_id: str) -> str:
        """What its result begins with."""
        self._open.discard(call_id)
        name, arguments = self._calls.get(call_id, ("", ""))
        if not name or len(self._calls) == 1:
            return ""
        alike = sum(other == name for other, _ in self._calls.values())
        return f"{name}({shortened(arguments, _BRIEF)}): " if alike > 1 else f"{name}: "


class Transcript:
    """Shows the events of one thread, given in order. `say` and `decided` are the person at this terminal."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._messages: dict[str, _Message] = {}
        self._live: str | None = None
        self._line_is_open = False
        self._depth: dict[str, int] = {}
        self._names: dict[str, str] = {}
        self._own: set[str] = set()
        self._proposed: dict[str, dict[str, Any]] = {}
        self._rejections: dict[str, str] = {}
        self._batches: dict[str, _Batch] = {}
        self._whole_above: str | None = None
        self._showers: dict[str, Callable[[Event, dict[str, Any]], None]] = {
            "UserMessage": self._user_message,
            "StreamMessageChunk": self._chunk,
            "MessageReset": self._reset,
            "MessageEnd": self._message_end,
            "ToolCall": self._tool_call,
            "ToolResponse": self._tool_response,
            "AgentSubthreadStart": self._subthread,
            "SubthreadUserMessage": self._subthread_message,
            "ActionRequiresConfirmation": self._proposal,
            "ActionConfirmed": self._confirmed,
            "ActionRejected": self._rejected,
            "ProposeActions": self._suggestions,
            "TurnFailed": self._failed,
            "TurnCancelled": self._cancelled,
            "RunContinued": self._continued,
            "RunEnded": lambda event, data: self.line("· the run ended: inactive", style="dim"),
            "ConversationCompleted": lambda event, data: self.line("· conversation completed", style="dim"),
        }

    def typed(self, message_id: str) -> None:
        """This message stands on the screen already: its author typed it there."""
        self._own.add(message_id)

    def decided(self, proposal_id: str) -> None:
        """This proposal was decided here: its outcome needs no second line."""
        self._own.add(proposal_id)

    def show(self, event: Event) -> None:
        """Show one event; kinds that say nothing to a person are passed over."""
        shower = self._showers.get(event["event"])
        if shower is not None:
            shower(event, event["data"])

    def line(self, text: str, *, indent: int = 0, style: str | None = None) -> None:
        """A line of its own, in the column of the texts."""
        self._end_line()
        pad = " " * (_LABEL + 2 * indent)
        text = clean(text).rstrip("\n").replace("\n", "\n" + pad + "  ")
        self._terminal.line(pad + (text if style is None else self._terminal.styled(style, text)))

    def call(self, proposal: dict[str, Any], *, indent: int = 0) -> None:
        """All that somebody is about to decide on, unless just that stands in the line above."""
        if self._whole_above != proposal["tool_call_id"]:
            for line in action_lines(proposal["name"], proposal["arguments"]):
                self.line(line, indent=indent, style="cyan")

    def ask(self, question: str, *, indent: int = 0) -> None:
        """A question whose answer is written behind it."""
        self._end_line()
        pad = " " * (_LABEL + 2 * indent)
        # A line of what a model wrote must not stand where lines of the conversation begin.
        body = named(question).replace("\n", "\n" + pad + "  ")
        self._terminal.write(f"{pad}{self._terminal.styled('yellow', '?')} {body} ")
        self._line_is_open = True

    def answered(self, answer: str, *, echoed: bool = False) -> None:
        """The answer to the question just asked; `echoed` if it was typed, so that the terminal shows it."""
        if not echoed:
            self._terminal.line(self._terminal.styled("bold", f"[{clean(answer)}]"))
        self._line_is_open = False

    def depth(self, event: Event) -> int:
        """How deep in subagents an event happened."""
        return self._depth.get(event.get("subthread_id") or "", 0)

    def _user_message(self, event: Event, data: dict[str, Any]) -> None:
        if data["message_id"] not in self._own:
            self.labelled("you", str(data["content"]))

    def _chunk(self, event: Event, data: dict[str, Any]) -> None:
        message = self._message(event, data["message_id"])
        # A piece that is tried again overlaps what is there.
        overlap = max(0, len(message.text) - data.get("offset", len(message.text)))
        message.text += data["text"][overlap:]
        if self._live is None:
            self._live = data["message_id"]
        if self._live == data["message_id"]:
            self._show_more(message)

    def _reset(self, event: Event, data: dict[str, Any]) -> None:
        message = self._messages.pop(data["message_id"], None)
        if message is not None and message.shown:
            self.line("(interrupted, trying again)", indent=message.indent, style="dim")
        self._unlock(data["message_id"])

    def _message_end(self, event: Event, data: dict[str, Any]) -> None:
        message = self._message(event, data["message_id"])
        content = str(data.get("content") or message.text)
        if not content.startswith(message.text[: message.shown]):
            message.shown = 0
            self._end_line()
        message.text = content
        if len(content) > message.shown:
            self._show_more(message)
        self._end_line()
        del self._messages[data["message_id"]]
        self._unlock(data["message_id"])

    def _tool_call(self, event: Event, data: dict[str, Any]) -> None:
        whole = listed(data.get("arguments") or {})
        brief = shortened(whole, _ARGUMENTS)
        batch = self._batches.setdefault(event.get("subthread_id") or "", _Batch())
        batch.add(data["tool_call_id"], data["name"], brief)
        self.line(f"→ {data['name']}({brief})", indent=self.depth(event), style="cyan")
        self._whole_above = data["tool_call_id"] if brief == whole else None

    def _tool_response(self, event: Event, data: dict[str, Any]) -> None:
        ok = data.get("ok", True)
        content = _for_people(data) or shortened(str(data.get("content") or "done"), _RESULT)
        if rejected := self._rejections.pop(data["tool_call_id"], None):
            reason = (data.get("additional_data") or {}).get("reason")
            content = f"{rejected}: {reason}" if reason else rejected
        mark, style = ("✓", "green") if ok else ("✗", "red")
        batch = self._batches.get(event.get("subthread_id") or "")
        whose = batch.answered(data["tool_call_id"]) if batch else ""
        self.line(f"{mark} {whose}{content}", indent=self.depth(event), style=style)

    def _subthread(self, event: Event, data: dict[str, Any]) -> None:
        # The event belongs to the parent; what follows in the subthread is one step deeper.
        self._depth[data["subthread_id"]] = self._depth.get(event.get("parent_thread_id") or "", 0) + 1
        self._names[data["subthread_id"]] = str(data["agent_id"])

    def _subthread_message(self, event: Event, data: dict[str, Any]) -> None:
        name = self._names.get(event.get("subthread_id") or "", "subagent")
        self.line(f"{name} ← {data['content']}", indent=self.depth(event), style="dim")

    def proposed(self, proposal: dict[str, Any]) -> None:
        """Remember what was proposed: an approval may change it, and a rejection is told with the call's result."""
        self._proposed[proposal["proposal_id"]] = proposal

    def _proposal(self, event: Event, data: dict[str, Any]) -> None:
        self.proposed(data)
        self.line(f"? {named(data['question'])}", indent=self.depth(event), style="yellow")

    def _confirmed(self, event: Event, data: dict[str, Any]) -> None:
        if data["proposal_id"] not in self._own:
            given, proposal = data.get("arguments") or {}, self._proposed.get(data["proposal_id"])
            proposed = proposal["arguments"] if proposal else given
            changed = {k: v for k, v in given.items() if proposed.get(k) != v}
            changes = f" with {listed(changed)}" if changed else ""
            self.line(f"approved by {data.get('reviewer')}{changes}", indent=self.depth(event), style="dim")

    def _rejected(self, event: Event, data: dict[str, Any]) -> None:
        words = _REJECTIONS.get(str(data.get("reason")), str(data.get("reason")))
        if data.get("reviewer") and data["proposal_id"] not in self._own:
            words = f"{words} by {data['reviewer']}"
        if proposal := self._proposed.get(data["proposal_id"]):
            self._rejections[proposal["tool_call_id"]] = words
        else:
            self.line(f"✗ {words}", indent=self.depth(event), style="yellow")

    def _suggestions(self, event: Event, data: dict[str, Any]) -> None:
        labels = " | ".join(str(action["label"]) for action in data["actions"])
        if labels:
            self.line(f"next: {labels}", style="dim")

    def _failed(self, event: Event, data: dict[str, Any]) -> None:
        again = " Trying again may help." if data.get("retryable") else ""
        self.line(f"! {data['message']}{again}", indent=self.depth(event), style="red")

    def _cancelled(self, event: Event, data: dict[str, Any]) -> None:
        self.line("✗ cancelled", indent=self.depth(event), style="red")

    def _continued(self, event: Event, data: dict[str, Any]) -> None:
        self.line(f"· continued as run {data['generation']}", style="dim")

    # Lines and columns.

    def _message(self, event: Event, message_id: str) -> _Message:
        if message_id not in self._messages:
            subthread = event.get("subthread_id")
            label = self._names.get(subthread, "subagent") if subthread else "agent"
            self._messages[message_id] = _Message(label, self.depth(event))
        return self._messages[message_id]

    def _show_more(self, message: _Message) -> None:
        pad = " " * (_LABEL + 2 * message.indent)
        # The first piece, or one behind a line of something else.
        if message.shown == 0 or not self._line_is_open:
            self._end_line()
            self._terminal.write(self._margin(message.label, message.indent) if message.shown == 0 else pad)
            self._line_is_open = True
        text = clean(message.text[message.shown :])
        self._terminal.write(text.replace("\n", "\n" + pad))
        message.shown = len(message.text)

    def labelled(self, label: str, text: str) -> None:
        """A whole text of somebody's."""
        self._end_line()
        body = clean(text).replace("\n", "\n" + " " * _LABEL)
        self._terminal.line(self._margin(label, 0) + body)

    def _margin(self, label: str, indent: int) -> str:
        """The left column; a subagent's label stands inside the column of the texts."""
        if indent == 0:
            return self._terminal.styled("bold", label) + " " * max(1, _LABEL - len(label))
        return " " * (_LABEL + 2 * indent) + self._terminal.styled("bold", label) + ": "

    def _end_line(self) -> None:
        self._whole_above = None
        if self._line_is_open:
            self._terminal.line()
            self._line_is_open = False

    def _unlock(self, message_id: str) -> None:
        if self._live == message_id:
            self._live = None


_REJECTIONS = {
    "declined": "declined",
    "expired": "nobody decided in time: expired",
    "superseded": "superseded by a newer message",
    "cancelled": "cancelled",
}


def _for_people(data: dict[str, Any]) -> str:
    """A result in place of words that were written for a model, if there is one: what a person stopped, where passages
    are from.
    """
    additional = data.get("additional_data") or {}
    if not data.get("ok", True) and isinstance(additional.get("stopped"), str):
        return str(additional["stopped"])
    sources = additional.get("sources") or ()
    titles = dict.fromkeys(str(source["title"]) for source in sources)
    count = "1 passage" if len(sources) == 1 else f"{len(sources)} passages"
    return f"{count} from {', '.join(titles)}" if titles else ""
