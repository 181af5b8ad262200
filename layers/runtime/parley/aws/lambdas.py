"""Lambda functions that agents call."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    NoRegionError,
    PartialCredentialsError,
    ReadTimeoutError,
)

from parley.aws.faults import code_of, status_of
from parley.turns.function_ports import LambdaFailed

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

TRIES = 3
_PAUSE_SECONDS = 0.5
_LOG = logging.getLogger("parley.functions")
_NO_CREDENTIALS = (
    "is a Lambda function, and there are no AWS credentials or no region here: "
    "set AWS_PROFILE, or AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION"
)
_BAD_SETTINGS = "is a Lambda function, and the AWS settings here cannot be used; the server's log says why"
_WORDS = {
    "AccessDeniedException": "is a Lambda function that may not be invoked from here",
    "ResourceNotFoundException": "is a Lambda function that does not exist",
    "RequestTooLargeException": "was given more than a Lambda function takes",
}
_BUSY = frozenset({"TooManyRequestsException", "ThrottlingException", "EC2ThrottledException"})
"""Lambda's own words for what it did not begin. https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html"""


class LambdaFunctions:
    """`parley.turns.function_ports.LambdaInvoker` on boto3.

    ``client`` is asked at the first call, and per time limit: boto3 keeps its read timeout in the client, and
    tries of its own would run a slow function again.
    """

    def __init__(self, client: Callable[[float], LambdaClient], sleep: Callable[[float], None]) -> None:
        self._client = client
        self._sleep = sleep
        self._lock = threading.Lock()
        self._clients: dict[float, LambdaClient] = {}

    def invoke(self, function: str, payload: bytes, seconds: float) -> bytes:
        """See the port. What was surely not begun is tried again."""
        for tries_left in reversed(range(TRIES)):
            try:
                return self._invoke(function, payload, seconds)
            except (EndpointConnectionError, ConnectTimeoutError):
                words = "could not be reached"
            except (NoCredentialsError, NoRegionError, PartialCredentialsError):
                raise LambdaFailed(_NO_CREDENTIALS, ran=False) from None
            except ReadTimeoutError:
                raise LambdaFailed(f"did not answer within {seconds:g} s", ran=True) from None
            except ClientError as error:
                code = code_of(error)
                if code not in _BUSY:
                    _LOG.warning("Lambda refused to invoke %s: %s", function, code)
                    words = _WORDS.get(code, f"was not invoked by Lambda ({code})")
                    raise LambdaFailed(words, ran=status_of(error) >= 500) from None
                words = "is busy: Lambda takes no more calls of it now"
            except BotoCoreError as error:
                _LOG.warning("invoking %s failed: %s", function, type(error).__name__)
                raise LambdaFailed("broke the connection off before it answered", ran=True) from None
            if tries_left:
                self._sleep(_PAUSE_SECONDS)
        raise LambdaFailed(words, ran=False)

    def _invoke(self, function: str, payload: bytes, seconds: float) -> bytes:
        answer: Any = self._client_for(seconds).invoke(
            FunctionName=function, InvocationType="RequestResponse", Payload=payload
        )
        result: bytes = answer["Payload"].read()
        if answer.get("FunctionError"):
            # Its message and trace are for whoever wrote it, who has them in the function's own log.
            _LOG.warning("the Lambda function %s ended with an error (%s)", function, answer["FunctionError"])
            raise LambdaFailed("ended with an error of its own", ran=True)
        return result

    def _client_for(self, seconds: float) -> LambdaClient:
        with self._lock:  # boto3 makes one client at a time
            if seconds not in self._clients:
                try:
                    self._clients[seconds] = self._client(seconds)
                except NoRegionError:
                    raise
                except (BotoCoreError, ValueError) as error:
                    # A profile that is not there, an endpoint that is none: nothing that the model can mend.
                    _LOG.error("the AWS settings of this installation cannot be used: %s", error)
                    raise LambdaFailed(_BAD_SETTINGS, ran=False) from None
            return self._clients[seconds]
