"""Reading the chain of runs, and one run's states."""

from __future__ import annotations

from typing import Any

from parley.domain import keys
from parley.domain.conversation import Conversation, RunId, RunRecord, RunStatus, record_of
from parley.turns import projects
from parley.turns.records import parse
from parley.turns.run_calls import RunReader
from parley.turns.runtime import Runtime

RUN_LIMIT = 1000
_WORDS = {RunStatus.STARTING: "running", RunStatus.RUNNING: "running", RunStatus.PARKED: "waiting"}


def list_runs(runtime: Runtime, user_id: str, project_id: str, thread_id: str) -> dict[str, Any]:
    """The runs of a thread, first to last."""
    conversation = projects.require_thread(runtime, user_id, project_id, thread_id).value
    return {"runs": [_shown(record) for record in _records(runtime, conversation)]}


def _records(runtime: Runtime, conversation: Conversation) -> list[RunRecord]:
    """Records of runs that are over, then the current run off the aggregate, which has what was not recorded yet."""
    run = conversation.run
    items = runtime.store.query(keys.thread_partition(conversation.thread_id), "RUN#", limit=RUN_LIMIT)
    records = [*(parse(runtime, item, RunRecord).value for item in items), *conversation.untold]
    over = {record.generation: record for record in records if record.generation <= run.generation}
    if run.status is not RunStatus.CLOSED:
        over[run.generation] = record_of(run, _WORDS[run.status], stopped_at=0.0)
    return list(over.values())


def _shown(record: RunRecord) -> dict[str, Any]:
    shown = record.model_dump(exclude={"attempts"})
    return {**shown, "stopped_at": record.stopped_at or None}


def read_run(
    runtime: Runtime,
    user_id: str,
    project_id: str,
    thread_id: str,
    generation: int,
    *,
    turn: int | None = None,
    prompts: bool = True,
) -> dict[str, Any]:
    """One run: its states with times, retries and outcomes, per attempt; what its turns asked, sent and got.

    ``turn``: only that one's messages and model calls, whose prompts then are there whole. Not ``prompts``:
    they are left out.
    """
    conversation = projects.require_thread(runtime, user_id, project_id, thread_id).value
    records = _records(runtime, conversation)
    record = next((entry for entry in records if entry.generation == generation), None)
    if record is None:
        raise projects.not_found("run")
    before = sum(entry.turns for entry in records if entry.generation < generation)
    goes_on = conversation.run.generation == generation and conversation.run.status is not RunStatus.CLOSED
    turns = range(before + 1, before + record.turns + 1 + goes_on)
    reader = RunReader(runtime, RunId(thread_id, generation, record.attempts), record.attempts, prompts)
    read = [reader.turn(thread_id, number) for number in turns if turn in (None, number)]
    return {
        **_shown(record),
        "states": reader.states(before + 1, turns),
        "asked": [asked for asked, _ in read if asked],
        "model_calls": [call for _, calls in read for call in calls],
    }
