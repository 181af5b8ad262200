"""How requests are read and refused: one error form for all routes."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.event_handler.openapi.exceptions import (
    RequestUnsupportedContentType,
    RequestValidationError,
)
from aws_lambda_powertools.event_handler.openapi.params import Path, Query
from pydantic import BaseModel, ConfigDict, model_validator

from on_http.resolver import sent_body
from parley.domain.agents import NAME_PATTERN
from parley.domain.errors import Refusal, StorageError, StoreUnavailable
from parley.domain.faults import faults_in, refuse_unknown
from parley.domain.remote_functions import NAME_OF_SETTING, NAME_OF_TOOL

_log = logging.getLogger("parley.http")

Limit = Annotated[int, Query(ge=1, le=100, description="Entries per page")]
Name = Annotated[str, Path(min_length=1, max_length=200)]
"""An id in a path. Longer ones would not fit into a key of the store, and nothing has one."""
Cursor = Annotated[str | None, Query(max_length=600, description="`next` of the page before")]

_OF_A_WHOLE_BODY = ("value_error", "assertion_error")
"""Faults of fields that do not go together: the body is an object all the same."""
_FORMS = {
    NAME_PATTERN.pattern: "1 to 64 letters, digits, _ and -, the first one a letter or digit",
    NAME_OF_SETTING: "a name such as WEATHER_KEY: capital letters and digits, with single _ between them",
    NAME_OF_TOOL: "plain ASCII",
}
"""What patterns accept, in words."""


class Written(BaseModel):
    """A body, or a part of one, as a person writes it: a field that does not exist is a mistake, not to be ignored."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _fields_are_known(cls, given: Any) -> Any:
        if isinstance(given, dict):
            refuse_unknown(given, cls.model_fields)
        return given


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
    """Where the faults lie and what is accepted; never what was sent."""
    errors = invalid.errors()
    first = errors[0]
    if first["type"] == "json_invalid":
        place = first["loc"][-1]  # 0: of the whole
        where = f", at character {place + 1}" if isinstance(place, int) and place else ""
        return error(400, "bad_request", f"The body must be JSON: {first['ctx']['error']}{where}.")
    if tuple(first["loc"]) == ("body",) and first["type"] not in _OF_A_WHOLE_BODY:
        return error(400, "bad_request", "The body must be a JSON object.")
    placed = [{**each, "loc": _within(each["loc"])} for each in errors]
    body = sent_body() if first["loc"][:1] == ("body",) else None
    return error(422, "invalid_request", f"{faults_in(placed, body, _FORMS)}.")


def _within(steps: Sequence[int | str]) -> Sequence[int | str]:
    """The steps behind Powertools' word for the part of the request."""
    return steps[1:] if steps and steps[0] in ("body", "query", "path", "header") else steps
