"""Loading and saving the thread aggregate: load, apply a rule, save if unchanged, again on conflict."""

from __future__ import annotations

from collections.abc import Callable

from parley.domain import keys
from parley.domain.conversation import Conversation, StartRun, WakeToken, due_at, signals
from parley.domain.errors import SaveConflict
from parley.domain.protocol import new_attempt
from parley.turns.ports import ConditionFailed, IndexKey, Item
from parley.turns.records import Stored
from parley.turns.runtime import Runtime

Rule = Callable[[Conversation], Conversation]
TRIES = 25


def sortable(seconds: float) -> str:
    """A time as an index sort key."""
    return f"{int(seconds * 1000):015d}"


def find(runtime: Runtime, thread_id: str) -> Stored[Conversation] | None:
    """The aggregate of a root thread, or None."""
    item = runtime.store.get(keys.thread_partition(thread_id), keys.CONVERSATION)
    return None if item is None else _parse(item)


def require(runtime: Runtime, thread_id: str) -> Stored[Conversation]:
    """The aggregate of a root thread that is known to exist."""
    stored = find(runtime, thread_id)
    if stored is None:
        raise LookupError(f"no conversation {thread_id}")
    return stored


def get(runtime: Runtime, thread_id: str) -> Conversation:
    """As ``require``, for those who do not save it."""
    return require(runtime, thread_id).value


def save(runtime: Runtime, conversation: Conversation, *, if_version: int) -> Stored[Conversation]:
    """One conditional write. Raises ConditionFailed."""
    due = due_at(conversation, runtime.clock.now())
    item = Item(
        keys.thread_partition(conversation.thread_id),
        keys.CONVERSATION,
        conversation.model_dump_json(),
        due=None if due is None else IndexKey(keys.due_shard(conversation.thread_id), sortable(due)),
        listed=IndexKey(
            keys.listed_threads(conversation.user_id, conversation.project_id),
            f"{sortable(conversation.active_at)}#{conversation.thread_id}",
        ),
    )
    return Stored(conversation, runtime.store.put(item, if_version=if_version).version)


def change(
    runtime: Runtime, thread_id: str, rule: Rule, *, known: Stored[Conversation] | None = None
) -> Conversation:
    """As ``change_stored``, for those who do not save it again."""
    return change_stored(runtime, thread_id, rule, known=known).value


def change_stored(
    runtime: Runtime, thread_id: str, rule: Rule, *, known: Stored[Conversation] | None = None
) -> Stored[Conversation]:
    """Apply ``rule`` and save, again on conflict. Nothing is written if the rule returns what it was given.

    ``known`` (what the caller read a moment ago) spares the first read. What the rule raises passes through.
    """
    stored = known or find(runtime, thread_id)
    for _ in range(TRIES):
        if stored is None:
            raise LookupError(f"no conversation {thread_id}")
        changed = rule(stored.value)
        if changed is stored.value:
            return stored
        try:
            return save(runtime, changed, if_version=stored.version)
        except ConditionFailed as failed:
            stored = None if failed.stored is None else _parse(failed.stored)
    raise SaveConflict(f"the conversation {thread_id} changed under {TRIES} tries to save it")


def start_again(
    runtime: Runtime, stored: Stored[Conversation], still: Callable[[Conversation], bool] = lambda _: True
) -> Stored[Conversation]:
    """The run's next attempt, to be signalled, if ``still`` says so of what is saved by now.

    Nested executions of the last one may wait for a decision: woken, they find that they are stale.
    """
    dead = stored.value.run_id
    again = change_stored(
        runtime, dead.thread_id, lambda c: new_attempt(c, dead) if still(c) else c, known=stored
    )
    for entry in stored.value.proposals:
        if entry.token is not None:
            runtime.orchestrator.wake(entry.token)
    return again


def send_signals(runtime: Runtime, conversation: Conversation) -> None:
    """Signal what this saved state leaves to signal; what is lost here, repair finds by the due index."""
    for signal in signals(conversation):
        match signal:
            case StartRun(name, payload):
                runtime.orchestrator.start(name, payload)
            case WakeToken(token):
                runtime.orchestrator.wake(token)


def _parse(item: Item) -> Stored[Conversation]:
    return Stored(Conversation.model_validate_json(item.body), item.version)
