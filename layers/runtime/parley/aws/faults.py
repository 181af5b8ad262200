"""Which failures of an AWS call are worth another try later, and which are loud.

The SDK has tried again already (see `parley.aws.clients`); what arrives here outlasted that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from botocore.exceptions import ClientError, ConnectionError, HTTPClientError

from parley.domain.errors import StoreUnavailable

# The codes that botocore itself calls throttling, and those that services answer while they recover.
# https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html
_TRY_LATER: Final = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "ExecutionLimitExceeded",
        "InternalError",
        "InternalFailure",
        "InternalServerError",
        "LimitExceededException",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "RequestTimeout",
        "RequestTimeoutException",
        "ReplicatedWriteConflictException",
        "ServiceUnavailable",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)

NO_ANSWER: Final = (ConnectionError, HTTPClientError)
"""No connection, none in time, no answer in time, or an answer cut off."""


def code_of(error: ClientError) -> str:
    """The service's own name for what went wrong."""
    return error.response.get("Error", {}).get("Code", "")


def status_of(error: ClientError) -> int:
    """The answer's HTTP status; 0 if it had none."""
    return error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)


def is_temporary(error: ClientError) -> bool:
    """Whether the service throttled or failed, rather than refused."""
    status = status_of(error)
    return status >= 500 or status == 429 or code_of(error) in _TRY_LATER


@contextmanager
def calling(service: str) -> Iterator[None]:
    """Raise StoreUnavailable for what may work later; let everything else through."""
    try:
        yield
    except NO_ANSWER as error:
        raise StoreUnavailable(f"{service} did not answer: {error}") from error
    except ClientError as error:
        if is_temporary(error):
            raise StoreUnavailable(f"{service} is not available: {code_of(error)}") from error
        raise
