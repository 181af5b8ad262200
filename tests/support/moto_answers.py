"""What the mocked account answers itself, where moto has no answer: invocations of functions, posts to connections."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

if TYPE_CHECKING:
    from tests.support.moto_aws import MockedAws


class _Body:
    """The raw body that botocore reads an answer from."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def read(self, *_: Any, **__: Any) -> bytes:
        content, self._content = self._content, b""
        return content

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        if content := self.read():
            yield content


def _answer(request: Any, status: int, body: Any, headers: Mapping[str, str] | None = None) -> AWSResponse:
    all_headers = HTTPHeaders()
    for name, value in {"x-amzn-requestid": "test", **(headers or {})}.items():
        all_headers[name] = value
    return AWSResponse(request.url, status, all_headers, _Body(json.dumps(body).encode()))


def invoke(aws: MockedAws, request: Any) -> AWSResponse:
    """A Lambda invocation, answered as Lambda does; a function that kills its worker is Lambda.Unknown.

    https://docs.aws.amazon.com/lambda/latest/dg/python-exceptions.html
    """
    name = unquote(urlsplit(request.url).path.split("/")[-2]).rpartition(":")[2]
    payload = json.loads(request.body or b"null")
    aws.invocations.append((name, payload))
    version = {"X-Amz-Executed-Version": "$LATEST"}
    failed = {"X-Amz-Function-Error": "Unhandled", **version}
    try:
        result = aws.functions(name, payload)
    except Exception as error:  # noqa: BLE001 - a Lambda reports whatever its function raises
        trace = traceback.format_tb(error.__traceback__)
        body = {"errorMessage": str(error), "errorType": type(error).__name__, "stackTrace": trace}
        return _answer(request, 200, body, failed)
    except BaseException as error:  # noqa: BLE001 - models a killed worker
        return _answer(request, 200, {"errorMessage": str(error), "errorType": "Lambda.Unknown"}, failed)
    try:
        return _answer(request, 200, result, version)
    except TypeError as error:
        return _answer(
            request, 200, {"errorMessage": str(error), "errorType": "Runtime.MarshalError"}, failed
        )


def post(aws: MockedAws, request: Any) -> AWSResponse:
    """A frame for a connection, or 410 for one that is gone."""
    connection = unquote(urlsplit(request.url).path.rpartition("/")[2])
    if connection in aws.gone:
        return _answer(request, 410, {"message": "Gone"}, {"x-amzn-ErrorType": "GoneException"})
    body = request.body.read() if hasattr(request.body, "read") else request.body
    aws.frames.append((connection, bytes(body).decode()))
    return _answer(request, 200, {})
