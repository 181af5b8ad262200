"""Repair: deliver whatever was committed and not signalled, and start dead runs again.

Found through the ``due`` index, never by a scan. Safe at any time, and twice at once: every move is a save on
condition, and every signal may be sent again.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass

from parley.domain import keys
from parley.domain.conversation import (
    DEAD_ATTEMPTS,
    WATCHDOG_SECONDS,
    Conversation,
    Run,
    RunId,
    RunStatus,
    StartRun,
    WakeToken,
    signals,
)
from parley.domain.errors import StorageError
from parley.domain.protocol import new_attempt
from parley.turns import conversations
from parley.turns.announce import tell
from parley.turns.ports import ExecutionStatus, IndexKey, Item
from parley.turns.records import Stored
from parley.turns.runtime import Runtime

_log = logging.getLogger(__name__)

PAGE = 100
PASS_SECONDS = 45.0
"""A pass ends and reports before its minute is over; what is still due is the next one's."""
_ROOT_EXECUTION = re.compile(r"^(?P<thread>[0-9a-f-]{36})-(?P<generation>\d+)-(?P<attempt>\d+)$")


@dataclass(slots=True)
class Repaired:
    """What a pass did. ``failed`` counts threads whose repair raised an error."""

    looked_at: int = 0
    signalled: int = 0
    restarted: int = 0
    failed: int = 0


def repair_due(runtime: Runtime, done: Repaired | None = None) -> Repaired:
    """Look at every thread whose time has come, until the pass has taken ``PASS_SECONDS``.

    One that fails hides no other; its error is raised in the end, with what was done noted in ``done`` all the same.
    """
    done = Repaired() if done is None else done
    failure: Exception | None = None
    began = runtime.clock.now()
    for item in _due(runtime, began):
        thread_id = item.partition.removeprefix(keys.thread_partition(""))
        try:
            examine(runtime, thread_id, done, due=item.due)
        except StorageError:
            raise  # a disk that takes no change of one takes none of the others
        except Exception as error:  # noqa: BLE001 - whatever it is, it comes again with every pass
            _log.exception("thread %s could not be repaired", thread_id)
            done.failed += 1
            failure = failure or error
        if runtime.clock.now() - began >= PASS_SECONDS:
            break
    if failure is not None:
        raise failure
    return done


def _due(runtime: Runtime, now: float) -> Iterator[Item]:
    """What is due, from the index alone. Each minute begins with another shard: what comes last is first one day."""
    until = conversations.sortable(now)
    first = int(now // 60) % len(keys.DUE_SHARDS)
    for shard in (*keys.DUE_SHARDS[first:], *keys.DUE_SHARDS[:first]):
        yield from _due_in(runtime, shard, until)


def _due_in(runtime: Runtime, shard: str, until: str) -> Iterator[Item]:
    """Watchdog times are round, so many threads share one: a page that ends within an instant is followed by one
    that begins with it.
    """
    after, limit, seen = None, PAGE, set[str]()
    while True:
        items = runtime.store.query_index("due", shard, after=after, until=until, limit=limit)
        yield from (item for item in items if item.partition not in seen)
        if len(items) < limit:
            return
        seen.update(item.partition for item in items)
        times = sorted({item.due.sort for item in items if item.due})
        if len(times) > 1:
            after = times[-2]
        else:
            limit *= 2


def repair_execution(runtime: Runtime, name: str, done: Repaired | None = None) -> Repaired:
    """Look at the thread of an execution that ended badly; nested ones are their parents' business.

    A run that dies again and again, even of failing its turn or of reading its inbox, would be started at once
    for ever: it is left to the next pass that finds it due, or to the next message.
    """
    done = Repaired() if done is None else done
    match = _ROOT_EXECUTION.match(name)
    stored = conversations.find(runtime, match["thread"]) if match else None
    if stored is not None and not _dies_often(stored.value.run):
        examine(runtime, stored.value.thread_id, done)
    return done


def _dies_often(run: Run) -> bool:
    """Deaths count against a message; of a run that has none, its attempts tell."""
    return (run.deaths if run.message_id else run.attempt - 1) >= DEAD_ATTEMPTS


def examine(runtime: Runtime, thread_id: str, done: Repaired, *, due: IndexKey | None = None) -> None:
    """Signal what waits for it; start the next attempt of a run whose execution is dead, missing or deaf.

    ``due``: when the index said to look, if it did.
    """
    stored = conversations.find(runtime, thread_id)
    if stored is None:
        return
    done.looked_at += 1
    stored = tell(runtime, stored)
    conversation = stored.value
    if conversation.run.status is RunStatus.CLOSED:
        return
    if _dead(runtime, conversation):
        conversation = _start_again(runtime, stored, done)
    elif conversation.run.status is RunStatus.RUNNING and not signals(conversation):
        if conversation.cancelled and due is not None:
            conversation = _start_again(runtime, stored, done)
            runtime.orchestrator.stop(keys.execution_name(*stored.value.run_id), "Its turn was cancelled.")
        else:
            _look_again_later(runtime, conversation)
    if not _signal(runtime, conversation, done) and due is not None:
        long_ago = conversations.sortable(runtime.clock.now() - WATCHDOG_SECONDS)
        if due.sort < long_ago:
            _give_up(runtime, conversation, done)


def _start_again(runtime: Runtime, stored: Stored[Conversation], done: Repaired) -> Conversation:
    done.restarted += 1
    return conversations.start_again(runtime, stored).value


def _signal(runtime: Runtime, conversation: Conversation, done: Repaired) -> bool:
    """Whether each token that was to be woken was one that somebody waits on."""
    heard = True
    for signal in signals(conversation):
        done.signalled += 1
        match signal:
            case StartRun(name, payload):
                runtime.orchestrator.start(name, payload)
            case WakeToken(token):
                heard &= runtime.orchestrator.wake(token)
    return heard


def _give_up(runtime: Runtime, conversation: Conversation, done: Repaired) -> None:
    """Nobody waits on the tokens that the aggregate names, and nothing came of it for a long time.

    A task that was given up may have put its own token in the place of the one that counts.
    """
    deaf, unheard = conversation.run_id, signals(conversation)
    again = conversations.change(
        runtime,
        conversation.thread_id,
        lambda c: new_attempt(c, deaf) if signals(c) == unheard else c,
    )
    if again.run_id != deaf:
        done.restarted += 1
        runtime.orchestrator.stop(keys.execution_name(*deaf), "It waits on a token that nobody knows.")
        _signal(runtime, again, done)


def _dead(runtime: Runtime, conversation: Conversation) -> bool:
    """Whether the run's execution can do nothing more. A starting run's may simply not be there yet."""
    status = runtime.orchestrator.status(keys.execution_name(*conversation.run_id))
    if status is None:
        return conversation.run.status is not RunStatus.STARTING
    return status is not ExecutionStatus.RUNNING


def _look_again_later(runtime: Runtime, conversation: Conversation) -> None:
    """The run is alive: move its due time on."""
    run_id: RunId = conversation.run_id
    conversations.change(
        runtime,
        conversation.thread_id,
        lambda c: c.but() if c.run_id == run_id and not signals(c) else c,
    )
