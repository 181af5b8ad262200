"""The conversations of the fault matrix: what a person does, whatever dies meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from parley.domain.agents import Agent
from parley.tools.function import Function, FunctionArguments, FunctionResult, agent_function
from tests.faults.person import HOUR, INACTIVITY, Person
from tests.support.mortal_models import MARK

CONFIRMATION = 48 * HOUR


class Note(Function):
    """Writes down, under the call's own key."""

    name: ClassVar[str] = "note"
    description: ClassVar[str] = "Takes a note."
    pack: ClassVar[str] = "notes"
    confirmation_question: ClassVar[str | None] = "Note {text}?"

    class Arguments(FunctionArguments):
        text: str

    def handle(self, arguments: Arguments) -> FunctionResult:
        self.context.data.update(self.context.idempotency_key, lambda _: {"text": arguments.text})
        return FunctionResult(f"Noted: {arguments.text}")


class Report(Function):
    """Answers with more than a store's item holds."""

    name: ClassVar[str] = "report"
    description: ClassVar[str] = "Writes a long report."
    pack: ClassVar[str] = "reports"

    class Arguments(FunctionArguments):
        text: str

    def handle(self, arguments: Arguments) -> FunctionResult:
        return FunctionResult("𝄞" * 100_000, {"asked": len(arguments.text)})


FUNCTIONS: tuple[type[Function], ...] = (Note, Report)


@dataclass(frozen=True)
class Scenario:
    """``play`` is the person.

    ``ordered``: the events come in one order only. ``stopped``: a turn is stopped in the middle, wherever that is.
    ``ends``: nothing more can be written. ``otherwise``: the story may also be that of this scenario.
    """

    name: str
    play: Callable[[Person], None]
    ordered: bool = True
    stopped: bool = False
    ends: bool = False
    otherwise: str = ""


def _note(text: str) -> dict[str, Any]:
    return {"name": "note", "arguments": {"text": text}}


def _agent(agent_id: str, **fields: Any) -> Agent:
    script = fields.pop("script", [])
    facts = {
        "agent_id": agent_id,
        "name": agent_id,
        "provider": "scripted",
        "model": "demo",
        "settings": {"script": [*script, {"when": "more", "text": "As before."}]},
        "confirmation_seconds": CONFIRMATION,
        "inactivity_seconds": INACTIVITY,
        **fields,
    }
    return Agent.model_validate(facts)


_ASKS = agent_function(Note, requires_user_confirmation=True)
_NOTES = agent_function(Note)
_DELEGATES = {
    "name": "delegate",
    "description": "Hands the work over.",
    "parameters": {"type": "object", "properties": {"what": {"type": "string"}}},
    "implementation": {
        "kind": "subagent",
        "subagent_id": "helper",
        "subagent_user_message": "User wants to: {what}",
    },
}

_PATIENCE = {"type": "ProviderRateLimited", "retry_after": 200}

AGENTS = (
    _agent("talker", turns_per_run=50, script=[{"when": "hello", "text": "Hello there."}]),
    _agent("limited", script=[{"when": "work", "text": "Never.", "error": _PATIENCE}]),
    _agent("runner", turns_per_run=1, script=[{"when": "number", "text": "Counted."}]),
    _agent(
        "worker",
        functions=[_NOTES],
        script=[
            {"when": "note", "text": "I will.", "tool_calls": [_note("milk"), _note("bread")]},
            {"when": "note", "text": "Noted."},
        ],
    ),
    _agent(
        "asker",
        functions=[_ASKS],
        script=[{"when": "note", "tool_calls": [_note("milk")]}, {"when": "note", "text": "Settled."}],
    ),
    _agent(
        "helper",
        functions=[_ASKS],
        script=[
            {"when": "note", "tool_calls": [_note("milk")]},
            {"when": "note", "text": "It is on the list."},
        ],
    ),
    _agent(
        "boss",
        functions=[_DELEGATES],
        script=[
            {"when": "buy", "tool_calls": [{"name": "delegate", "arguments": {"what": "note milk"}}]},
            {"when": "buy", "text": "Done."},
        ],
    ),
    _agent(
        "writer",
        functions=[agent_function(Report)],
        script=[
            {"when": "report", "tool_calls": [{"name": "report", "arguments": {"text": MARK}}]},
            {"when": "report", "text": MARK},
        ],
    ),
)


def _plain(stage: Person) -> None:
    stage.begin("Hello", "talker")
    stage.rests(1)
    stage.write("hello again")
    stage.rests(2)


def _tool(stage: Person) -> None:
    stage.begin("note it", "worker")
    stage.rests(1)


def _approved(stage: Person) -> None:
    stage.begin("note it", "asker")
    stage.decides(True, arguments={"text": "oat milk"})
    stage.rests(1)


def _declined(stage: Person) -> None:
    stage.begin("note it", "asker")
    stage.decides(False, reason="We have milk.")
    stage.rests(1)


def _expired(stage: Person) -> None:
    stage.begin("note it", "asker")
    stage.until(stage.waiting, "an action waits")
    stage.time_passes(CONFIRMATION)
    stage.rests(1)


def _superseded(stage: Person) -> None:
    stage.begin("note it", "asker")
    stage.until(stage.waiting, "an action waits")
    stage.write("No more of that.")
    stage.rests(2)


def _cancelled(stage: Person) -> None:
    stage.begin("buy milk", "boss")
    stage.until(stage.waiting, "an action waits")
    stage.cancels()
    stage.rests(1)


def _impatient(stage: Person) -> None:
    stage.begin("work", "limited")
    stage.until(lambda: stage.aggregate(stage.thread).run.paused_until, "the provider asks for patience")
    stage.cancels()
    stage.rests(1)


def _subagent(stage: Person) -> None:
    stage.begin("buy milk", "boss")
    stage.decides(True)
    stage.rests(1)


def _hand_over(stage: Person) -> None:
    stage.before("InvokeModel", lambda: stage.write("number two"))
    stage.before("ContinueAsNew", lambda: stage.write("number three"))
    stage.begin("number one", "runner")
    stage.rests(3)


def _inactivity(stage: Person) -> None:
    stage.begin("Hello", "talker")
    stage.rests(1)
    stage.before("CloseRun", lambda: stage.write("hello again"))
    stage.time_passes(INACTIVITY)
    stage.rests(2)
    stage.time_passes(INACTIVITY)
    stage.closes()
    stage.write("hello once more")
    stage.rests(3)


def _silent(stage: Person) -> None:
    stage.begin("Hello", "talker")
    stage.rests(1)


def _unheard(stage: Person) -> None:
    """Whose connection breaks, and who does not ask again: what was accepted is answered all the same."""
    _silent(stage)
    heard = stage.write_once("hello again")
    stage.settles()
    assert stage.aggregate(stage.thread).turns == 2 or not heard


def _aborted(stage: Person) -> None:
    """Somebody stops the execution in the console: the next attempt goes on where it was."""
    stage.begin("note it", "asker")
    stage.until(stage.waiting, "an action waits")
    stage.aborted()
    stage.decides(True)
    stage.rests(1)


def _ended(stage: Person) -> None:
    stage.begin("Hello", "talker")
    stage.write("/end")
    stage.settles()


def _large(stage: Person) -> None:
    stage.begin(f"report on {'𝄞' * 31_000}", "writer")
    stage.rests(1)


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("plain", _plain),
        Scenario("tool", _tool, ordered=False),
        Scenario("approved", _approved),
        Scenario("declined", _declined),
        Scenario("expired", _expired),
        Scenario("superseded", _superseded),
        Scenario("cancelled", _cancelled, stopped=True),
        Scenario("impatient", _impatient, stopped=True),
        Scenario("subagent", _subagent),
        Scenario("hand-over", _hand_over),
        Scenario("inactivity", _inactivity),
        Scenario("unheard", _unheard, otherwise="silent"),
        Scenario("aborted", _aborted),
        Scenario("ended", _ended, ends=True),
        Scenario("large", _large),
    )
}
OTHERWISE = {"silent": Scenario("silent", _silent)}
"""What is only compared with."""
