"""Payload templates: Parameters, ResultSelector, ItemSelector. A `"key.$"` names a path or a call."""

from typing import Any

from parley.embedded.asl.intrinsics import compile_intrinsic
from parley.embedded.asl.paths import Context, Resolver, compile_path


def compile_value(text: Any, field: str) -> Resolver:
    """The value of a `.$` key: a path or an intrinsic function. Raises ValueError otherwise."""
    if not isinstance(text, str):
        raise ValueError(f"{field!r} must be a string with a path or an intrinsic function")
    return compile_path(text, field) if text.startswith("$") else compile_intrinsic(text, field)


def compile_template(template: Any) -> Resolver:
    """A function that fills `template` in. Raises ValueError for a key it cannot read."""
    if isinstance(template, dict):
        return _compile_object(template)
    if isinstance(template, list):
        items = [compile_template(item) for item in template]
        if all(_is_constant(item) for item in template):
            return lambda data, context: template
        return lambda data, context: [item(data, context) for item in items]
    return lambda data, context: template


def _compile_object(template: dict[str, Any]) -> Resolver:
    if _is_constant(template):
        return lambda data, context: template
    fields: list[tuple[str, Resolver]] = []
    for key, value in template.items():
        name, dynamic = (key[:-2], True) if key.endswith(".$") else (key, False)
        if any(name == other for other, _ in fields):
            raise ValueError(f"{name!r} is given twice")
        fields.append((name, compile_value(value, key) if dynamic else compile_template(value)))

    def fill(data: Any, context: Context) -> Any:
        return {name: resolver(data, context) for name, resolver in fields}

    return fill


def _is_constant(template: Any) -> bool:
    if isinstance(template, dict):
        return all(not key.endswith(".$") and _is_constant(value) for key, value in template.items())
    if isinstance(template, list):
        return all(_is_constant(item) for item in template)
    return True
