"""Every error that Parley raises on purpose.

The class names of the second and third group are the ``ErrorEquals`` of the state machine, so renaming
one changes ``statemachine/conversation.asl.json`` too.

::

    ParleyError
    ├─ Refusal                    the caller's request is at fault; becomes an HTTP answer, never a retry
    │  ├─ NotFound (404)          Conflict (409)           Gone (410)
    │  └─ TooLarge (413)          InvalidRequest (422)     TooManyQueued (429)
    ├─ StaleRun                   this run may no longer act: end quietly
    ├─ StillPending               woken before the proposal was decided or expired: wait again
    ├─ SubagentApproved           a person approved a call that a subagent answers: go on to OpenSubthread
    ├─ SubagentRefused            the call cannot be given to a subagent; the words are for the model
    ├─ TurnGivenUp                a run's execution died too often on this message
    ├─ StoreUnavailable           retryable: the store, blobs or orchestrator did not answer
    ├─ SaveConflict               retryable: too many writers at once on one item
    ├─ StorageError               the disk is full or read-only: a person has to act
    └─ ProviderError
       ├─ RetryableProviderError  ProviderRateLimited, ProviderOverloaded, ProviderUnavailable,
       │                          ProviderTimeout, StreamCut
       └─ FatalProviderError      ProviderRejectedRequest, ProviderUnauthorized, ProviderQuotaExceeded,
                                  ProviderNotConfigured
"""

from __future__ import annotations

from typing import ClassVar


class ParleyError(Exception):
    """Base of all; ``str(error)`` is plain words for a person."""


class Refusal(ParleyError):
    """A request that is answered with an error. ``type`` is a stable, machine-readable name."""

    status: ClassVar[int]

    def __init__(self, type: str, message: str, **details: object) -> None:
        super().__init__(message)
        self.type = type
        self.message = message
        self.details = details


class InvalidRequest(Refusal):
    """The request was read and a value in it is not accepted."""

    status = 422


class NotFound(Refusal):
    """No such thing, or not the caller's: the two are answered alike."""

    status = 404


class Conflict(Refusal):
    """The thing exists, in a state in which this cannot be done."""

    status = 409


class Gone(Refusal):
    """It was there and its time is over."""

    status = 410


class TooLarge(Refusal):
    """What was sent is more than is kept."""

    status = 413


class TooManyQueued(Refusal):
    """The thread's inbox is full."""

    status = 429


class StaleRun(ParleyError):
    """Another run or attempt speaks for this thread now; the task that met this must change nothing."""


class StillPending(ParleyError):
    """A confirmation's timer fired before ``expires_at``: the state machine goes back to waiting."""


class SubagentApproved(ParleyError):
    """A person approved a call that a subagent answers: the state machine goes on to OpenSubthread."""


class SubagentRefused(ParleyError):
    """The call cannot be given to a subagent; the message says why, for the model."""


class TurnGivenUp(ParleyError):
    """The run's execution died too often on this message."""


class StoreUnavailable(ParleyError):
    """A backend did not answer in time or throttled; trying again is right."""


class SaveConflict(ParleyError):
    """An item changed under every one of several tries to save it."""


class StorageError(ParleyError):
    """The embedded data folder cannot be written; the message says what to do."""


class ProviderError(ParleyError):
    """A model call failed. ``retry_after`` (seconds) is the provider's own wish, if it had one."""

    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, provider: str = "", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.provider = provider
        self.retry_after = retry_after


class RetryableProviderError(ProviderError):
    """The same request may succeed later."""

    retryable = True


class ProviderRateLimited(RetryableProviderError):
    """429 that is not about money."""


class ProviderOverloaded(RetryableProviderError):
    """529, ``overloaded_error``, a model that is still loading."""


class ProviderUnavailable(RetryableProviderError):
    """5xx, or no connection."""


class ProviderTimeout(RetryableProviderError):
    """No answer, or no further byte, in time."""


class StreamCut(RetryableProviderError):
    """The stream ended without its terminal event, or with an error inside HTTP 200."""


class FatalProviderError(ProviderError):
    """Trying again would fail the same way."""


class ProviderRejectedRequest(FatalProviderError):
    """400, 404, 413, 422: the request itself is at fault."""


class ProviderUnauthorized(FatalProviderError):
    """401, 403: the key is missing, wrong or not allowed this."""


class ProviderQuotaExceeded(FatalProviderError):
    """``insufficient_quota``, 402: no money left."""


class ProviderNotConfigured(FatalProviderError):
    """A setting is missing; the message names it."""
