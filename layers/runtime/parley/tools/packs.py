"""Function packs: modules with ``functions()``, whose classes have to be ones that an agent can be given."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence

from parley.domain.agents import NAME_PATTERN
from parley.domain.errors import ParleyError
from parley.domain.remote_functions import LONGEST_LIMIT
from parley.tools.function import Function


class PackFailed(ParleyError, ValueError):
    """A function pack cannot be used; the message says which and why."""


def from_modules(modules: Sequence[str]) -> list[type[Function]]:
    """What the modules register. Raises PackFailed, and whatever a module of a pack raises itself."""
    found: list[type[Function]] = []
    for name in modules:
        try:
            found += importlib.import_module(name).functions()
        except (ImportError, AttributeError) as error:
            raise PackFailed(f"the function pack {name!r} cannot be loaded: {error}") from error
    return found


def by_name(classes: Iterable[type[Function]]) -> dict[str, type[Function]]:
    """The classes by name. Raises PackFailed for one that no agent could have, and for a name given twice."""
    found: dict[str, type[Function]] = {}
    for function in classes:
        place = f"{function.__module__}.{function.__qualname__}"
        name = getattr(function, "name", None)
        if not isinstance(name, str) or not NAME_PATTERN.fullmatch(name):
            raise PackFailed(f"{place}: its name must be 1 to 64 letters, digits, _ and -; it is {name!r}")
        known = found.setdefault(name, function)
        if known is not function:
            places = f"{known.__module__} and {function.__module__}"
            raise PackFailed(f"two function classes are named {name!r}, in {places}")
        if not 1 <= function.time_limit_seconds <= LONGEST_LIMIT:
            raise PackFailed(f"{name}: its time_limit_seconds must be from 1 to {LONGEST_LIMIT}")
    return found
