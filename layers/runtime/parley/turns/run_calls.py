"""What went into a run's states and came out of them: messages, model calls, tool calls, subagents' runs.

Everything here is read from the store, under the keys that the states wrote it: the orchestrator keeps no data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from parley.domain import keys
from parley.domain.conversation import RunId
from parley.domain.messages import Message, MessageKind, ToolCall
from parley.prompts.prompt import Prompt
from parley.turns import history
from parley.turns.calls import read_proposal
from parley.turns.ports import StateVisit
from parley.turns.records import load, parse
from parley.turns.run_places import Place, places
from parley.turns.runtime import Runtime
from parley.turns.task import Subthread

TEXT_LIMIT = 20_000
"""Characters of a reply or a result that are shown here; the messages have it whole."""
PROMPTS_LIMIT = 3_000_000
"""Characters of prompts in one answer, which must stay under Lambda's 6 MB; later ones are left out."""
TURN_LIMIT = 1000
"""Messages of one turn that are read: more than its steps and calls can make."""


@dataclass(slots=True)
class RunReader:
    """Reads one run. ``attempts``: how often it was started. ``prompts``: whether they are wanted."""

    runtime: Runtime
    run_id: RunId
    attempts: int
    prompts: bool = True
    _prompts: int = field(default=0, init=False)

    @property
    def _partition(self) -> str:
        return keys.thread_partition(self.run_id.thread_id)

    def states(
        self, first_turn: int, turns: Iterable[int], call_id: str | None = None
    ) -> list[dict[str, Any]]:
        """The states entered, attempt by attempt; with ``call_id``, those of the subagent's run for that call."""
        known = frozenset(turns)
        visited = [
            (attempt, visit) for attempt in self._numbers() for visit in self._history(attempt, call_id)
        ]
        found = places((visit for _, visit in visited), first_turn)
        return [
            {"attempt": attempt, **_shown_visit(visit, place if place.turn in known else Place())}
            for (attempt, visit), place in zip(visited, found, strict=True)
        ]

    def turn(self, thread_id: str, turn: int) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
        """What a turn was asked, and how it failed or that a person stopped it; its model calls.

        None: it has no message yet.
        """
        messages = [message for message in self._messages(thread_id, turn) if not message.internal]
        asked = next((message for message in messages if message.kind is MessageKind.USER_MESSAGE), None)
        seal = next((message for message in messages if message.kind in history.SEALS), None)
        shown = _shown_question(turn, asked, seal) if asked else None
        return shown, list(self._model_calls(thread_id, turn, messages))

    def _numbers(self) -> range:
        return range(1, self.attempts + 1)

    def _history(self, attempt: int, call_id: str | None) -> list[StateVisit]:
        run = (self.run_id.thread_id, self.run_id.generation, attempt)
        name = keys.execution_name(*run) if call_id is None else keys.subagent_execution_name(*run, call_id)
        return self.runtime.orchestrator.history(name)

    def _messages(self, thread_id: str, turn: int) -> list[Message]:
        items = self.runtime.store.query(self._partition, keys.messages(thread_id, turn), limit=TURN_LIMIT)
        return [parse(self.runtime, item, Message).value for item in items]

    def _model_calls(self, thread_id: str, turn: int, messages: list[Message]) -> Iterator[dict[str, Any]]:
        """One entry per prompt: a call that is under way or failed for good has no reply."""
        replies = {message.step: message for message in messages if message.role == "assistant"}
        step = 0
        while True:
            step += 1
            reply = replies.get(step)
            wanted = self.prompts or reply is None
            sort = keys.prompt(thread_id, turn, step)
            prompt = load(self.runtime, self._partition, sort, Prompt) if wanted else None
            if prompt is None and reply is None:
                return
            beside = [message for message in messages if message.step == step]
            yield {
                "turn": turn,
                "step": step,
                **self._shown_prompt(prompt.value if prompt else None, reply),
                "finish_reason": reply.finish_reason if reply else None,
                "usage": reply.usage.model_dump() if reply and reply.usage else None,
                "content": cut(reply.content) if reply else None,
                "at": reply.timestamp if reply else None,
                "tool_calls": [
                    self._shown_call(call, [message for message in beside if message.call == index])
                    for index, call in enumerate(reply.tool_calls if reply else ())
                ],
            }

    def _shown_prompt(self, prompt: Prompt | None, reply: Message | None) -> dict[str, Any]:
        metadata = reply.metadata if reply else {}
        shown: dict[str, Any] = {
            "provider": prompt.provider if prompt else metadata.get("provider"),
            "model": prompt.model if prompt else metadata.get("model"),
            "prompt": None,
            "prompt_left_out": prompt is None and not self.prompts,
        }
        if prompt is None:
            return shown
        size = len(prompt.model_dump_json())
        if not self.prompts or self._prompts + size > PROMPTS_LIMIT:
            return {**shown, "prompt_left_out": True}
        self._prompts += size
        return {**shown, "prompt": prompt.model_dump(mode="json")}

    def _shown_call(self, call: ToolCall, beside: list[Message]) -> dict[str, Any]:
        """A call with what was answered; ``beside`` are the messages that belong to it."""
        kinds = {message.kind: message for message in beside}
        response = kinds.get(MessageKind.TOOL_RESPONSE)
        pending = kinds.get(MessageKind.PENDING_USER_CONFIRMATION)
        link = kinds.get(MessageKind.AGENT_SUBTHREAD)
        return {
            "tool_call_id": call.tool_call_id,
            "name": call.name,
            "arguments": call.arguments,
            "arguments_error": call.arguments_error,
            "response": response
            and {"content": cut(response.content), "ok": response.ok, "at": response.timestamp},
            "confirmation": self._shown_confirmation(pending.id) if pending else None,
            "subagent": self._subagent(call.tool_call_id, link) if link else None,
        }

    def _shown_confirmation(self, proposal_id: str) -> dict[str, Any] | None:
        stored = read_proposal(self.runtime, proposal_id)
        if stored is None:
            return None
        proposal, decision = stored.value, stored.value.decision
        return {
            "proposal_id": proposal_id,
            "question": proposal.question,
            "asked_at": proposal.created_at,
            "expires_at": proposal.expires_at,
            "decision": decision and decision.model_dump(mode="json"),
        }

    def _subagent(self, call_id: str, link: Message) -> dict[str, Any]:
        """The nested run that answered a call, in the same form as a run."""
        subthread_id = str(link.metadata["subthread_id"])
        turn = self._turn_of(subthread_id, call_id, link)
        asked, calls = self.turn(subthread_id, turn)
        return {
            "subthread_id": subthread_id,
            "agent_id": link.metadata["agent_id"],
            "asked": asked,
            "states": self.states(turn, [turn], call_id),
            "model_calls": calls,
        }

    def _turn_of(self, subthread_id: str, call_id: str, link: Message) -> int:
        """Which turn of the subthread answered the call: a subthread that is kept answers one after the other."""
        if (turn := link.metadata.get("subthread_turn")) is not None:
            return int(turn)
        known = load(self.runtime, self._partition, keys.subthread(subthread_id), Subthread)
        return known.value.turn if known and known.value.tool_call_id == call_id else 1


def cut(text: str) -> str:
    """The text, or its beginning and a word on how much is missing."""
    if len(text) <= TEXT_LIMIT:
        return text
    return f"{text[:TEXT_LIMIT]}… ({len(text) - TEXT_LIMIT} more characters)"


def _shown_question(turn: int, asked: Message, seal: Message | None) -> dict[str, Any]:
    failed = seal is not None and seal.kind is MessageKind.TURN_FAILED
    return {
        "turn": turn,
        "content": cut(asked.content),
        "at": asked.timestamp,
        "failure": {"type": seal.metadata.get("type"), "message": seal.content} if seal and failed else None,
        "cancelled": seal is not None and not failed,
    }


def _shown_visit(visit: StateVisit, place: Place) -> dict[str, Any]:
    return {
        "name": visit.name,
        "type": visit.type,
        "entered_at": visit.entered_at,
        "exited_at": visit.exited_at,
        "outcome": visit.outcome,
        "error": visit.error,
        "retries": visit.retries,
        "waiting": visit.waiting,
        "iteration": list(visit.iteration),
        "turn": place.turn,
        "step": place.step,
        "call": place.call,
    }
