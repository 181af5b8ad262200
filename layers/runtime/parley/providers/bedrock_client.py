"""boto3 for Bedrock: the client, and what its errors mean.

The one module of ``providers`` that imports boto3, and itself imported at the first call only: whoever asks
no Bedrock model need not have it, nor wait for it.

::

    no region, no credentials, no such profile    ProviderNotConfigured
    no connection                                 ProviderUnavailable
    no byte in time                               ProviderTimeout
    broken behind the status line                 StreamCut
    arguments that the SDK refuses                ProviderRejectedRequest
    an error of the service                       what the wire's ``decode_error`` says
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from boto3.session import Session
from botocore import exceptions as sdk
from botocore.config import Config
from botocore.eventstream import EventStreamError, ParserError
from botocore.parsers import ResponseParserError
from urllib3 import exceptions as connection

from parley.domain.errors import (
    ProviderError,
    ProviderNotConfigured,
    ProviderRejectedRequest,
    ProviderTimeout,
    ProviderUnavailable,
    StreamCut,
)
from parley.providers.http import TimeLimits
from parley.providers.wire.bedrock_converse import decode_error

# While a stream is read, the SDK lets errors of the connection through as they are.
_TIMEOUTS = (sdk.ConnectTimeoutError, sdk.ReadTimeoutError, connection.TimeoutError)
_BROKEN = (
    sdk.ConnectionError,
    sdk.HTTPClientError,
    connection.HTTPError,
    ParserError,
    ResponseParserError,
)


def make_client(*, region: str | None, profile: str | None, base_url: str | None, limits: TimeLimits) -> Any:
    """A client for many threads. It asks once: trying again is the caller's business."""
    config = Config(
        connect_timeout=limits.connect,
        read_timeout=limits.read,
        max_pool_connections=64,
        retries={"mode": "standard", "total_max_attempts": 1},
        tcp_keepalive=True,
    )
    session = Session(profile_name=profile, region_name=region)
    return cast("Any", session).client("bedrock-runtime", endpoint_url=base_url, config=config)


@contextmanager
def calling(*, answered: bool = False) -> Iterator[None]:
    """Raise our errors instead of the SDK's. ``answered``: the status line has come."""
    try:
        yield
    except sdk.ClientError as error:
        raise _of_service(error) from None
    except _TIMEOUTS as error:
        raise ProviderTimeout(f"no answer in time ({type(error).__name__})") from None
    except _BROKEN as error:
        words = f"the connection failed ({type(error).__name__}: {error})"
        raise (StreamCut if answered else ProviderUnavailable)(words) from None
    except sdk.ParamValidationError as error:
        raise ProviderRejectedRequest(str(error)) from None
    except sdk.BotoCoreError as error:
        # What is left is about settings: region, profile, credentials and where they come from.
        raise ProviderNotConfigured(str(error)) from None


def _of_service(error: sdk.ClientError) -> ProviderError:
    said = error.response.get("Error", {})
    metadata = error.response.get("ResponseMetadata", {})
    in_stream = isinstance(error, EventStreamError)
    return decode_error(
        said.get("Code", ""),
        said.get("Message", ""),
        status=None if in_stream else metadata.get("HTTPStatusCode", 500),
        headers={} if in_stream else metadata.get("HTTPHeaders", {}),
    )
