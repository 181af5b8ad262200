"""Routes of conversations."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from aws_lambda_powertools.event_handler.api_gateway import Router
from aws_lambda_powertools.event_handler.openapi.params import Header, Path, Query

from on_http.answers import Cursor, Limit, Name, Written
from on_http.resolver import current_user
from parley import wiring
from parley.turns import accept_message, read_events, read_runs, read_threads
from parley.turns.accept_message import MessageAccepted, NewMessage
from parley.turns.cancel import cancel

router = Router()  # type: ignore[no-untyped-call]
THREADS = "/api/projects/<project>/chat-threads"
THREAD = f"{THREADS}/<thread>"
IdempotencyKey = Annotated[str | None, Header(alias="Idempotency-Key", max_length=200)]
Subthread = Annotated[str | None, Query(max_length=200)]
Number = Annotated[int, Path(ge=1, le=10**9)]
Turn = Annotated[int | None, Query(ge=1, le=10**9, description="Only this turn's messages and model calls")]


class MessageInput(NewMessage, Written):
    """A message as a person posts it."""


def _keyed(message: NewMessage, key: str | None) -> NewMessage:
    return message.but(client_message_id=key) if key and not message.client_message_id else message


@router.post("/api/projects/<project>/agents/<agent>/chat", tags=["threads"])
def start(project: Name, agent: Name, message: MessageInput, key: IdempotencyKey = None) -> MessageAccepted:
    """Start a conversation; answers before any AI work."""
    caller = current_user()
    return accept_message.start_thread(wiring.runtime(), caller, project, agent, _keyed(message, key))


@router.post(THREAD, tags=["threads"])
def post(project: Name, thread: Name, message: MessageInput, key: IdempotencyKey = None) -> MessageAccepted:
    """Continue a conversation."""
    caller = current_user()
    return accept_message.continue_thread(wiring.runtime(), caller, project, thread, _keyed(message, key))


@router.get(THREADS, tags=["threads"])
def threads(project: Name, limit: Limit = 20, cursor: Cursor = None) -> dict[str, Any]:
    """The caller's threads, newest first."""
    return read_threads.list_threads(wiring.runtime(), current_user(), project, limit, cursor)


@router.get(THREAD, tags=["threads"])
def status(project: Name, thread: Name) -> dict[str, Any]:
    """A thread as it stands."""
    return read_threads.thread_status(wiring.runtime(), current_user(), project, thread)


@router.get(f"{THREAD}/messages", tags=["threads"])
def messages(
    project: Name,
    thread: Name,
    limit: Limit = 100,
    cursor: Cursor = None,
    subthread: Subthread = None,
    order: Annotated[Literal["oldest", "newest"], Query(description="Which come first")] = "oldest",
) -> dict[str, Any]:
    """The messages that a person sees, oldest first unless asked otherwise."""
    return read_threads.list_messages(
        wiring.runtime(), current_user(), project, thread, limit, cursor, subthread, order == "newest"
    )


@router.get(f"{THREAD}/replies/<turn>", tags=["threads"])
def reply(project: Name, thread: Name, turn: Number) -> dict[str, Any]:
    """The reply behind a reference."""
    return read_threads.read_reply(wiring.runtime(), current_user(), project, thread, turn)


@router.get(f"{THREAD}/events", tags=["threads"])
def events(
    project: Name,
    thread: Name,
    after: Annotated[int, Query(ge=0, le=10**11)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 500,
    wait: Annotated[float, Query(ge=0, le=20)] = 0,
    before: Annotated[int | None, Query(ge=1, le=10**11, description="In place of `after`")] = None,
) -> dict[str, Any]:
    """The event log behind `after`, waiting up to `wait` seconds for the next; or the last events below `before`."""
    if before is not None:
        return read_events.read_events_before(
            wiring.runtime(), current_user(), project, thread, before, limit
        )
    return read_events.read_events(
        wiring.runtime(), current_user(), project, thread, after=after, limit=limit, wait=wait
    )


@router.get(f"{THREAD}/runs", tags=["runs"])
def runs(project: Name, thread: Name) -> dict[str, Any]:
    """The chain of runs."""
    return read_runs.list_runs(wiring.runtime(), current_user(), project, thread)


@router.get(f"{THREAD}/runs/<generation>", tags=["runs"])
def run(
    project: Name, thread: Name, generation: Number, turn: Turn = None, prompts: bool = True
) -> dict[str, Any]:
    """One run's states, and what its turns asked, sent and got; the prompts on request only, if `prompts` is false."""
    return read_runs.read_run(
        wiring.runtime(), current_user(), project, thread, generation, turn=turn, prompts=prompts
    )


@router.post(f"{THREAD}/cancel", tags=["threads"])
def stop(project: Name, thread: Name) -> dict[str, bool]:
    """Ask the current turn to stop."""
    return {"cancelled": cancel(wiring.runtime(), current_user(), project, thread)}
