"""Reading the fields that several states share, with a DefinitionError for what is not as it must be."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from parley.embedded.asl import data as json_data
from parley.embedded.asl.errors import RUNTIME, DefinitionError, StateError
from parley.embedded.asl.paths import Resolver, compile_path, compile_result_path
from parley.embedded.asl.templates import compile_template, compile_value

T = TypeVar("T")

LONGEST_SECONDS = 99_999_999


def only(raw: Mapping[str, Any], allowed: set[str], state: str) -> None:
    """Refuse every field that is not in `allowed`, and every query language but JSONPath."""
    if raw.get("QueryLanguage", "JSONPath") != "JSONPath":
        raise DefinitionError(state, "QueryLanguage", "only JSONPath is supported")
    if unknown := sorted(set(raw) - allowed):
        raise DefinitionError(state, unknown[0], "is not supported here")


def successor(name: str, raw: Mapping[str, Any]) -> str | None:
    """The name after Next, or None for End."""
    if ("Next" in raw) == ("End" in raw):
        raise DefinitionError(name, "Next", "exactly one of Next and End is needed")
    if "End" in raw:
        if raw["End"] is not True:
            raise DefinitionError(name, "End", "must be true")
        return None
    if not isinstance(raw["Next"], str):
        raise DefinitionError(name, "Next", "must name a state")
    return raw["Next"]


def compiled(name: str, field: str, compiler: Callable[..., T], *arguments: Any) -> T:
    """What `compiler` makes of `arguments`; its ValueError becomes a DefinitionError with the place."""
    try:
        return compiler(*arguments)
    except ValueError as error:
        raise DefinitionError(name, field, str(error)) from error


def template(name: str, raw: Mapping[str, Any], field: str) -> Resolver | None:
    """The compiled payload template of `field`, None if it is not there."""
    return compiled(name, field, compile_template, raw[field]) if field in raw else None


def data_path(name: str, raw: Mapping[str, Any], field: str) -> Resolver | None:
    """InputPath or OutputPath: null stands for an empty object."""
    if raw.get(field, "$") == "$":
        return None
    if raw[field] is None:
        return lambda data, context: {}
    return compiled(name, field, compile_path, raw[field], field)


def result_path(name: str, raw: Mapping[str, Any]) -> Callable[[Any, Any], Any] | None:
    """The function that places a result, None for the default, which is to replace the input."""
    if raw.get("ResultPath", "$") == "$":
        return None
    return compiled(name, "ResultPath", compile_result_path, raw["ResultPath"])


def text(name: str, raw: Mapping[str, Any], field: str) -> Resolver:
    """Error or Cause of a Fail state: a string, or ErrorPath or CausePath. Evaluates to a string."""
    path_field = f"{field}Path"
    if path_field in raw:
        if field in raw:
            raise DefinitionError(name, path_field, f"{field} and {path_field} exclude each other")
        found = compiled(name, path_field, compile_value, raw[path_field], path_field)

        def resolve(data: Any, context: Callable[[], dict[str, Any]]) -> str:
            value = found(data, context)
            if not isinstance(value, str):
                raise StateError(RUNTIME, f"The value of {path_field} is no string.")
            return value

        return resolve
    literal = raw.get(field, "")
    if not isinstance(literal, str):
        raise DefinitionError(name, field, "must be a string")
    return lambda data, context: literal


def number_or_path(name: str, raw: Mapping[str, Any], field: str, *, least: int) -> Resolver | None:
    """Seconds given or found by path, or None. Evaluates to an integer in range or States.Runtime."""
    path_field = f"{field}Path"
    if field in raw and path_field in raw:
        raise DefinitionError(name, path_field, f"{field} and {path_field} exclude each other")
    if field in raw:
        fixed = seconds(raw[field], name, field, least=least)
        return lambda data, context: fixed
    if path_field not in raw:
        return None
    found = compiled(name, path_field, compile_path, raw[path_field], path_field)

    def resolve(data: Any, context: Callable[[], dict[str, Any]]) -> int:
        value = found(data, context)
        if not json_data.is_integer(value) or not least <= value <= LONGEST_SECONDS:
            raise StateError(RUNTIME, f"The value of {path_field} must be an integer of at least {least}.")
        return int(value)

    return resolve


def seconds(value: Any, name: str, field: str, *, least: int) -> int:
    """`value` itself if it is an integer from `least` on."""
    if not json_data.is_integer(value) or not least <= value <= LONGEST_SECONDS:
        raise DefinitionError(name, field, f"must be an integer from {least} to {LONGEST_SECONDS}")
    return int(value)
