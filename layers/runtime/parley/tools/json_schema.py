"""Arguments against an agent's own JSON schema, in the same words as those of function classes.

Loaded by the first call that needs it: what it imports takes longer than a warm turn. References lead within the
schema only; nothing is ever fetched.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from parley.tools.bounded_schema import TooMuch, begin, bounded, names_beyond, pattern_fault
from parley.tools.validation import Fault, in_words

_TYPES = {
    "integer": "int_type",
    "number": "float_type",
    "string": "string_type",
    "boolean": "bool_type",
    "array": "list_type",
    "object": "dict_type",
    "null": "none_required",
}
_LIMITS = {
    "minimum": ("greater_than_equal", "ge"),
    "exclusiveMinimum": ("greater_than", "gt"),
    "maximum": ("less_than_equal", "le"),
    "exclusiveMaximum": ("less_than", "lt"),
    "multipleOf": ("multiple_of", "multiple_of"),
    "minItems": ("too_short", "min_length"),
    "maxItems": ("too_long", "max_length"),
    "minLength": ("string_too_short", "min_length"),
    "maxLength": ("string_too_long", "max_length"),
}
_NO_TYPE = "must be string, number, integer, boolean, array, object or null"
_BY_NAME = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
_VALUES = frozenset({"const", "enum", "default", "examples"})
"""Words whose values are no schemas."""
_OTHERS = {
    "uniqueItems": "must not hold the same entry twice",
    "anyOf": "must have one of the accepted forms",
    "oneOf": "must have exactly one of the accepted forms",
    "not": "must not have this form",
    "dependentRequired": "needs another argument beside it",
    "minProperties": "must have more entries",
    "maxProperties": "must have fewer entries",
    "contains": "must hold an entry that it does not",
    "propertyNames": "has a name in it that is not accepted",
}


def schema_fault(schema: Mapping[str, Any], *, ours: bool = True) -> str | None:
    """What is wrong with the schema of a function's parameters, or None if it is one.

    ``ours``: written by the agent's owner, who can mend a pattern that is not checked here. One of somebody's server
    is kept, and left to it.
    """
    if schema.get("type", "object") != "object":
        return "its type must be object, for arguments have names"
    try:
        kind: Any = validator_for(schema, default=Draft202012Validator)
        # Not the format of patterns: what those may be, our own engine says.
        kind.check_schema(dict(schema), format_checker=None)
        _resolve_all(schema)
        return _pattern_fault(schema) if ours else None
    except SchemaError as error:
        place = ".".join(str(step) for step in error.absolute_path)
        words = _NO_TYPE if error.absolute_path and error.absolute_path[-1] == "type" else error.message[:200]
        return f"{place + ': ' if place else ''}{words}"
    except Unresolvable as error:
        return f"$ref {error.ref[:100]} leads nowhere; references must lead within the schema"
    except RecursionError:
        return "it is nested too deep"


def arguments_fault(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str | None:
    """None if the arguments fit; otherwise ``Validation failed: …`` naming the field."""
    begin()
    try:
        faults = [fault for error in _validator(schema).iter_errors(arguments) for fault in _faults(error)]
        return in_words(faults, dict(schema)) if faults else None
    except TooMuch:
        return (
            "Validation failed: the arguments are too large to be checked against the function's parameters"
        )
    except Exception:  # noqa: BLE001 - kept before schemas were checked: what that raises is up to the schema
        return "Validation failed: the function's parameters are not a usable JSON schema"


def _validator(schema: Mapping[str, Any]) -> Validator:
    kind = validator_for(schema, default=Draft202012Validator)
    plain = _of_one_dialect(schema)
    patterns_name = any("patternProperties" in part for _, part in _parts(plain))
    # An empty registry: the default one would go and fetch what a reference names.
    return bounded(kind, patterns_name)(plain, registry=Registry())


def _of_one_dialect(part: Any) -> Any:
    """Without the word by which a part says its dialect: the validator would go on as another, without bounds."""
    if isinstance(part, Mapping):
        return {
            key: value if key in _VALUES else _of_one_dialect(value)
            for key, value in part.items()
            if key != "$schema" or not isinstance(value, str)
        }
    return [_of_one_dialect(each) for each in part] if isinstance(part, list) else part


def _resolve_all(schema: Any) -> None:
    """Follow every reference once. Raises Unresolvable for one that leads nowhere."""
    resource: Resource[Any] = Resource.from_contents(schema, default_specification=DRAFT202012)
    resolver = Registry().with_resource("", resource).resolver("")
    for _, part in _parts(schema):
        for reference in (part.get("$ref"), part.get("$dynamicRef")):
            if isinstance(reference, str):
                resolver.lookup(reference)


def _pattern_fault(schema: Any) -> str | None:
    for place, part in _parts(schema):
        names = part.get("patternProperties")
        written = {
            "pattern": part.get("pattern"),
            **{f"patternProperties.{name}": name for name in names or ()},
        }
        for word, pattern in written.items():
            if isinstance(pattern, str) and (fault := pattern_fault(pattern)):
                return f"{'.'.join((*place, word))}: {fault}"
    return None


def _parts(part: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Every schema within a schema, with its place. Names of properties are no words of one."""
    if isinstance(part, Mapping):
        yield place, part
        for key, value in part.items():
            if key in _BY_NAME and isinstance(value, Mapping):
                for name, each in value.items():
                    yield from _parts(each, (*place, key, name))
            elif key not in _VALUES:
                yield from _parts(value, (*place, key))
    elif isinstance(part, list):
        for number, each in enumerate(part):
            yield from _parts(each, (*place, str(number)))


def _faults(error: ValidationError) -> Iterator[Fault]:
    """An error of jsonschema as one or more of Pydantic's kind: path, type, limits."""
    path, word = tuple(error.absolute_path), str(error.validator)
    wanted: Any = error.validator_value
    given: Any = error.instance
    if word == "required":
        missing = [name for name in wanted if name not in given]
        yield from (Fault((*path, name), "missing") for name in missing)
    elif word == "additionalProperties" and wanted is False:
        part: Any = error.schema
        yield from (Fault((*path, name), "extra_forbidden") for name in names_beyond(part, given))
    elif word == "type":
        names = [wanted] if isinstance(wanted, str) else [name for name in wanted if name != "null"]
        kind = _TYPES.get(names[0]) if len(names) == 1 else None
        yield Fault(path, kind) if kind else Fault(path, "", words=f"must be one of {', '.join(names)}")
    elif word in {"enum", "const"}:
        yield Fault(path, "enum", {"expected": _listed(wanted if word == "enum" else [wanted])})
    elif word == "pattern":
        yield Fault(path, "string_pattern_mismatch")
    elif word in _LIMITS:
        kind, key = _LIMITS[word]
        yield Fault(path, kind, {key: wanted})
    else:
        yield Fault(path, "", words=_OTHERS.get(word, "does not fit the function's schema"))


def _listed(values: list[Any]) -> str:
    texts = [value if isinstance(value, str) else json.dumps(value) for value in values[:20]]
    more = [f"{len(values) - 20} more"] if len(values) > 20 else []
    *first, last = [*texts, *more]
    return f"{', '.join(first)} or {last}" if first else last
