"""Intrinsic functions: States.Format, StringToJson, JsonToString, Array, ArrayLength, MathAdd; no others.

States.UUID is refused on purpose: a Task delivered again after a crash must get the same payload.
Page: "Intrinsics for JSONPath state machines" of the Developer Guide.
"""

import math
import re
from collections.abc import Callable
from typing import Any

from parley.embedded.asl import data, paths
from parley.embedded.asl.errors import INTRINSIC, StateError
from parley.embedded.asl.paths import Context, Resolver

_NAME = re.compile(r"States\.\w+")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])")
_PATH = re.compile(r"\$(?:[^\s,()'\[]|\['(?:[^'\\]|\\.)*'\]|\[\d+\])*")
_WORD = re.compile(r"(?:true|false|null)\b")
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}
_MATH_BOUNDS = (-(2**31), 2**31 - 1)


def compile_intrinsic(text: str, field: str) -> Resolver:
    """A function that computes `text`. Raises ValueError for what is not supported or malformed.

    At run time a bad argument is StateError States.IntrinsicFailure.
    """
    resolver, position = _call(text, 0, field)
    if text[position:].strip():
        raise ValueError(f"{text!r}: unexpected {text[position:]!r} after the call")
    return resolver


def _call(text: str, position: int, field: str) -> tuple[Resolver, int]:
    match = _NAME.match(text, position)
    name = match.group() if match else text[position : position + 20]
    if match is None or name not in _FUNCTIONS:
        raise ValueError(f"the intrinsic function {name!r} is not supported")
    position = _skip(text, match.end())
    if text[position : position + 1] != "(":
        raise ValueError(f"{text!r}: '(' expected after {name}")
    arguments, position = _arguments(text, position + 1, field)
    function, least, most = _FUNCTIONS[name]
    if len(arguments) < least or (most is not None and len(arguments) > most):
        raise ValueError(f"{text!r}: {name} does not take {len(arguments)} arguments")

    def compute(value: Any, context: Context) -> Any:
        return function([argument(value, context) for argument in arguments])

    return compute, position


def _arguments(text: str, position: int, field: str) -> tuple[list[Resolver], int]:
    arguments: list[Resolver] = []
    position = _skip(text, position)
    if text[position : position + 1] == ")":
        return arguments, position + 1
    while True:
        argument, position = _argument(text, _skip(text, position), field)
        arguments.append(argument)
        position = _skip(text, position)
        mark = text[position : position + 1]
        position += 1
        if mark == ")":
            return arguments, position
        if mark != ",":
            raise ValueError(f"{text!r}: ',' or ')' expected at {position - 1}")


def _argument(text: str, position: int, field: str) -> tuple[Resolver, int]:
    if text[position : position + 1] == "'":
        literal, position = _string(text, position + 1)
        return _constant(literal), position
    if text.startswith("States.", position):
        return _call(text, position, field)
    if match := _PATH.match(text, position):
        return paths.compile_path(match.group(), field), match.end()
    if match := _NUMBER.match(text, position):
        return _constant(data.decode(match.group())), match.end()
    if match := _WORD.match(text, position):
        return _constant(_WORDS[match.group()]), match.end()
    raise ValueError(f"{text!r}: no argument at {position}")


def _string(text: str, position: int) -> tuple[str, int]:
    """The literal up to its closing quote, and where it ends. Only quotes are unescaped: see _constant."""
    parts: list[str] = []
    while position < len(text):
        character = text[position]
        if character == "'":
            return "".join(parts), position + 1
        if character == "\\":
            position += 1
            character = text[position : position + 1]
            if character in ("{", "}", "\\"):
                character = "\\" + character
            elif character != "'":
                raise ValueError(f"{text!r}: \\{character} is no escape")
        parts.append(character)
        position += 1
    raise ValueError(f"{text!r}: a string without its closing quote")


def _constant(value: Any) -> Resolver:
    if isinstance(value, str):
        plain = re.sub(r"\\([{}\\])", r"\1", value)
        # An escaped brace is no place for a value: Format must still see the escapes.
        literal = _Literal(plain)
        literal.source = value
        return lambda data, context: literal
    return lambda data, context: value


class _Literal(str):
    """A string literal of the definition: its value, and `source` with braces still escaped."""

    __slots__ = ("source",)
    source: str


def _skip(text: str, position: int) -> int:
    while text[position : position + 1].isspace():
        position += 1
    return position


def _fail(name: str, reason: str) -> StateError:
    return StateError(INTRINSIC, f"{name}: {reason}")


def _format(arguments: list[Any]) -> Any:
    template, *values = arguments
    if not isinstance(template, str):
        raise _fail("States.Format", "the first argument is no string")
    source = template.source if isinstance(template, _Literal) else template
    pieces = re.split(r"(\\.|\{\})", source)
    if pieces.count("{}") != len(values):
        raise _fail("States.Format", f"{pieces.count('{}')} places for {len(values)} values")
    rest = iter(values)
    return "".join(
        _written(next(rest)) if piece == "{}" else piece[1:] if re.fullmatch(r"\\[{}\\]", piece) else piece
        for piece in pieces
    )


def _written(value: Any) -> str:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, dict | list):
        raise _fail("States.Format", "a value is an object or an array; use States.JsonToString")
    return data.encode(value)


def _string_to_json(arguments: list[Any]) -> Any:
    if not isinstance(arguments[0], str):
        raise _fail("States.StringToJson", "the argument is no string")
    try:
        return data.decode(arguments[0])
    except (ValueError, RecursionError) as error:
        raise _fail("States.StringToJson", f"not JSON: {error}") from error


def _array_length(arguments: list[Any]) -> Any:
    if not isinstance(arguments[0], list):
        raise _fail("States.ArrayLength", "the argument is no array")
    return len(arguments[0])


def _math_add(arguments: list[Any]) -> Any:
    if not all(data.is_number(value) for value in arguments):
        raise _fail("States.MathAdd", "both arguments must be numbers")
    # "If you specify a non-integer value for one or both the arguments, Step Functions will round it off."
    total = sum(math.floor(value + 0.5) for value in arguments)
    if not _MATH_BOUNDS[0] <= total <= _MATH_BOUNDS[1]:
        raise _fail("States.MathAdd", "the sum is out of the range of 32-bit integers")
    return total


_FUNCTIONS: dict[str, tuple[Callable[[list[Any]], Any], int, int | None]] = {
    "States.Format": (_format, 1, None),
    "States.StringToJson": (_string_to_json, 1, 1),
    "States.JsonToString": (lambda arguments: data.encode(arguments[0]), 1, 1),
    "States.Array": (lambda arguments: [str(v) if isinstance(v, str) else v for v in arguments], 0, None),
    "States.ArrayLength": (_array_length, 1, 1),
    "States.MathAdd": (_math_add, 2, 2),
}
