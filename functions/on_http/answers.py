"""How requests are read and refused: one error form for all routes."""

from __future__ import annotations

import json
import logging
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.event_handler.openapi.exceptions import (
    RequestUnsupportedContentType,
    RequestValidationError,
)
from aws_lambda_powertools.event_handler.openapi.params import Path, Query

from parley.domain.errors import Refusal, StorageError, StoreUnavailable

_log = logging.getLogger("parley.http")

Limit = Annotated[int, Query(ge=1, le=100, description="Entries per page")]
Name = Annotated[str, Path(min_length=1, max_length=200)]
"""An id in a path. Longer ones would not fit into a key of the store, and nothing has one."""
Cursor = Annotated[str | None, Query(max_length=600, description="`next` of the page before")]


def install(app: APIGatewayHttpResolver) -> None:
    """Register the error answers."""
    app.exception_handler(Refusal)(_refused)
    app.exception_handler(RequestValidationError)(_invalid)
    app.exception_handler(RequestUnsupportedContentType)(_not_json)
    app.exception_handler(UnicodeDecodeError)(_not_json)
    app.exception_handler(StoreUnavailable)(_unavailable)
    app.exception_handler(StorageError)(_no_storage)
    app.not_found(_unknown_route)


def error(status: int, type: str, message: str, **details: Any) -> Response[str]:
    """``{"error": {"type", "message"}}``."""
    body = json.dumps({"error": {"type": type, "message": message, **details}})
    return Response(status_code=status, content_type="application/json", body=body)


def _refused(refusal: Refusal) -> Response[str]:
    return error(refusal.status, refusal.type, refusal.message, **refusal.details)


def _not_json(_: Exception) -> Response[str]:
    return error(400, "bad_request", "The body must be JSON, sent as application/json.")


def _unavailable(_: StoreUnavailable) -> Response[str]:
    return error(503, "unavailable", "The service is busy; try again in a moment.")


def _no_storage(failure: StorageError) -> Response[str]:
    _log.error("a request failed: %s", failure)
    return error(
        503, "storage_failed", "The server cannot save anything now, its disk may be full; its log says why."
    )


def _unknown_route(_: NotFoundError) -> Response[str]:
    return error(404, "not_found", "There is no such route.")


def _invalid(invalid: RequestValidationError) -> Response[str]:
    """Where the first fault lies and what is accepted; never what was sent."""
    first = invalid.errors()[0]
    where, *names = first["loc"] or ("body",)
    place = [str(part) for part in (names if where in ("body", "query", "path", "header") else first["loc"])]
    if first["type"] == "json_invalid":
        return error(400, "bad_request", f"The body must be JSON: {first['ctx']['error']}.")
    if not place and first["loc"] and first["loc"][0] == "body":
        return error(400, "bad_request", "The body must be a JSON object.")
    words = first["msg"].removeprefix("Value error, ")
    return error(422, "invalid_request", f"{'.'.join(place)}: {words}.")
