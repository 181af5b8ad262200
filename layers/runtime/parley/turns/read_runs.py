"""Reading the chain of runs, and one run's states."""

from __future__ import annotations

from typing import Any

from parley.domain import keys
from parley.domain.conversation import Conversation, RunStatus
from parley.domain.messages import Message
from parley.prompts.prompt import Prompt
from parley.turns import projects
from parley.turns.closing import RunRecord
from parley.turns.ports import StateVisit
from parley.turns.records import load, parse
from parley.turns.runtime import Runtime

RUN_LIMIT = 1000
_WORDS = {RunStatus.STARTING: "running", RunStatus.RUNNING: "running", RunStatus.PARKED: "waiting"}


def list_runs(runtime: Runtime, user_id: str, project_id: str, thread_id: str) -> dict[str, Any]:
    """The runs of a thread, first to last."""
    conversation = projects.require_thread(runtime, user_id, project_id, thread_id).value
    return {"runs": [_shown(record) for record in _records(runtime, conversation)]}


def _records(runtime: Runtime, conversation: Conversation) -> list[RunRecord]:
    """Records of runs that are over, then the current run off the aggregate.

    A record is written before the save that ends its run, so one of the current run may not be true yet.
    """
    run = conversation.run
    items = runtime.store.query(keys.thread_partition(conversation.thread_id), "RUN#", limit=RUN_LIMIT)
    records = [parse(runtime, item, RunRecord).value for item in items]
    over = [record for record in records if record.generation < run.generation]
    if run.status is RunStatus.CLOSED:
        return over + [record for record in records if record.generation == run.generation]
    current = RunRecord(
        generation=run.generation,
        status=_WORDS[run.status],
        turns=run.turns,
        attempts=run.attempt,
        started_at=run.started_at,
        stopped_at=0.0,
    )
    return [*over, current]


def _shown(record: RunRecord) -> dict[str, Any]:
    shown = record.model_dump(exclude={"attempts"})
    return {**shown, "stopped_at": record.stopped_at or None}


def read_run(
    runtime: Runtime, user_id: str, project_id: str, thread_id: str, generation: int
) -> dict[str, Any]:
    """One run: its states with times, retries and outcomes, per attempt; the tokens that its turns used."""
    conversation = projects.require_thread(runtime, user_id, project_id, thread_id).value
    records = _records(runtime, conversation)
    record = next((entry for entry in records if entry.generation == generation), None)
    if record is None:
        raise projects.not_found("run")
    states = []
    for attempt in range(1, record.attempts + 1):
        name = keys.execution_name(thread_id, generation, attempt)
        states += [{"attempt": attempt, **_visit(visit)} for visit in runtime.orchestrator.history(name)]
    before = sum(entry.turns for entry in records if entry.generation < generation)
    goes_on = conversation.run.generation == generation and conversation.run.status is not RunStatus.CLOSED
    turns = range(before + 1, before + record.turns + 1 + goes_on)
    return {**_shown(record), "states": states, "model_calls": _model_calls(runtime, thread_id, turns)}


def _visit(visit: StateVisit) -> dict[str, Any]:
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
    }


def _model_calls(runtime: Runtime, thread_id: str, turns: range) -> list[dict[str, Any]]:
    """The prompt that was sent and the tokens used, per model call of these turns."""
    partition = keys.thread_partition(thread_id)
    calls = []
    for turn in turns:
        for item in runtime.store.query(partition, keys.messages(thread_id, turn), limit=500):
            message = parse(runtime, item, Message).value
            if message.role != "assistant":
                continue
            prompt = load(runtime, partition, keys.prompt(thread_id, turn, message.step), Prompt)
            calls.append(
                {
                    "turn": turn,
                    "step": message.step,
                    "model": message.metadata.get("model"),
                    "finish_reason": message.finish_reason,
                    "usage": message.usage.model_dump() if message.usage else None,
                    "prompt": prompt.value.model_dump(mode="json") if prompt else None,
                }
            )
    return calls
