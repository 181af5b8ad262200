"""JSONPath, as far as it names exactly one value: `$`, `.name`, `['name']`, `[3]`; `$$` for the context.

Filters, wildcards, slices and `..` are refused at load. Pages: "Amazon States Language: Paths" of the
specification; "Processing input and output in Step Functions".
"""

import re
from collections.abc import Callable
from typing import Any

from parley.embedded.asl.errors import RESULT_PATH, RUNTIME, StateError

# The context object is built only if a path asks for it.
Context = Callable[[], dict[str, Any]]
Resolver = Callable[[Any, Context], Any]
Step = str | int

_STEP = re.compile(
    r"""\.(?P<name>[^\W][\w-]*)            # .name: letters, digits, _ and -, of any script
      | \[\s*'(?P<single>(?:[^'\\]|\\.)*)'\s*\]
      | \[\s*"(?P<double>(?:[^"\\]|\\.)*)"\s*\]
      | \[\s*(?P<index>\d+)\s*\]""",
    re.VERBOSE,
)
_MISSING = object()


def parse(text: Any) -> tuple[bool, tuple[Step, ...]]:
    """(whether it starts at the context object, its steps). Raises ValueError for what is not supported."""
    if not isinstance(text, str) or not text.startswith("$"):
        raise ValueError(f"{text!r} is not a path: a path starts with $")
    context = text.startswith("$$")
    position = 2 if context else 1
    steps: list[Step] = []
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None:
            raise ValueError(
                f"{text!r}: only .name, ['name'] and [index] are supported, not {text[position:]!r}"
            )
        steps.append(_step(match))
        position = match.end()
    return context, tuple(steps)


def _step(match: re.Match[str]) -> Step:
    if match["index"] is not None:
        return int(match["index"])
    if match["name"] is not None:
        return match["name"]
    quoted = match["single"] if match["single"] is not None else match["double"]
    return re.sub(r"\\(.)", r"\1", quoted)


def find(data: Any, steps: tuple[Step, ...]) -> Any:
    """The value behind `steps`, or the MISSING mark."""
    for step in steps:
        if isinstance(step, str):
            if not isinstance(data, dict) or step not in data:
                return _MISSING
            data = data[step]
        else:
            if not isinstance(data, list) or step >= len(data):
                return _MISSING
            data = data[step]
    return data


def compile_path(text: Any, field: str) -> Resolver:
    """A function that finds the one value `text` names, or raises StateError States.Runtime.

    AWS documents States.ParameterPathFailure for Parameters; what it reports is States.Runtime.
    """
    context, steps = parse(text)
    if not steps:
        return (lambda data, source: source()) if context else (lambda data, source: data)

    def resolve(data: Any, source: Context) -> Any:
        value = find(source() if context else data, steps)
        if value is _MISSING:
            raise StateError(RUNTIME, f"The path {text!r} of the field {field!r} is not in the input.")
        return value

    return resolve


def compile_presence(text: Any) -> Callable[[Any, Context], bool]:
    """A function that says whether `text` names a value."""
    context, steps = parse(text)
    return lambda data, source: find(source() if context else data, steps) is not _MISSING


def compile_result_path(text: Any) -> Callable[[Any, Any], Any]:
    """A function of (state input, result) that gives the input with the result placed at `text`.

    null discards the result; `$` replaces the input. Neither argument is changed. Raises StateError
    States.ResultPathMatchFailure when a step of the path exists and is no object.
    """
    if text is None:
        return lambda data, result: data
    context, steps = parse(text)
    if context or any(isinstance(step, int) for step in steps):
        raise ValueError(f"{text!r}: a result is placed under names of the input only")
    names = [str(step) for step in steps]
    if not names:
        return lambda data, result: result

    def place(data: Any, result: Any) -> Any:
        root = _object(data, text)
        inner = root
        for name in names[:-1]:
            inner[name] = _object(inner.get(name, {}), text)
            inner = inner[name]
        inner[names[-1]] = result
        return root

    return place


def _object(value: Any, path: str) -> dict[str, Any]:
    """A shallow copy of `value`, which must be an object."""
    if not isinstance(value, dict):
        raise StateError(
            RESULT_PATH, f"Unable to apply the step of {path!r} to an input that is no object there."
        )
    return dict(value)
