"""Retry and Catch of a state: which error they take, when to try again, where to go.

Page: "Handling errors in Step Functions workflows". Each retrier counts its own tries while the execution
is in the state; the first retrier whose ErrorEquals matches decides, also when its tries are used up.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from parley.embedded.asl import data as json_data
from parley.embedded.asl.errors import ALL, matches
from parley.embedded.asl.paths import compile_result_path

_RETRY_FIELDS = {
    "Comment",
    "ErrorEquals",
    "IntervalSeconds",
    "MaxAttempts",
    "BackoffRate",
    "MaxDelaySeconds",
    "JitterStrategy",
}
_CATCH_FIELDS = {"Comment", "ErrorEquals", "ResultPath", "Next"}
_LONGEST_DELAY = 31_622_400
_MOST_ATTEMPTS = 99_999_999


@dataclass(frozen=True, slots=True)
class Retrier:
    """One entry of Retry. Delays in seconds."""

    names: frozenset[str]
    interval: float
    attempts: int
    rate: float
    longest: float
    jitter: bool

    def delay(self, tries: int) -> float:
        """Seconds before the next try when this retrier has been used `tries` times already."""
        try:
            seconds = min(self.interval * self.rate**tries, self.longest)
        except OverflowError:
            seconds = self.longest
        return random.uniform(0, seconds) if self.jitter else seconds  # noqa: S311 - spreads load, hides nothing


@dataclass(frozen=True, slots=True)
class Catcher:
    """One entry of Catch. `place` puts the error output {"Error", "Cause"} into the state's input."""

    names: frozenset[str]
    place: Callable[[Any, Any], Any]
    next: str


def find_retrier(retriers: tuple[Retrier, ...], error: str) -> int | None:
    """The index of the first retrier that takes `error`, used up or not."""
    for index, retrier in enumerate(retriers):
        if matches(error, retrier.names):
            return index
    return None


def find_catcher(catchers: tuple[Catcher, ...], error: str) -> Catcher | None:
    """The first catcher that takes `error`."""
    for catcher in catchers:
        if matches(error, catcher.names):
            return catcher
    return None


def compile_retriers(entries: Any) -> tuple[Retrier, ...]:
    """Compile Retry. Raises ValueError for what is not supported."""
    names = _error_names(entries, "Retry", _RETRY_FIELDS)
    return tuple(_retrier(entry, taken) for entry, taken in zip(entries, names, strict=True))


def compile_catchers(entries: Any) -> tuple[Catcher, ...]:
    """Compile Catch. Raises ValueError for what is not supported."""
    names = _error_names(entries, "Catch", _CATCH_FIELDS)
    catchers = []
    for entry, taken in zip(entries, names, strict=True):
        if not isinstance(entry.get("Next"), str):
            raise ValueError("Next must name a state")
        catchers.append(Catcher(taken, compile_result_path(entry.get("ResultPath", "$")), entry["Next"]))
    return tuple(catchers)


def _error_names(entries: Any, field: str, allowed: set[str]) -> list[frozenset[str]]:
    if not isinstance(entries, list):
        raise ValueError(f"{field} is an array")
    all_names = []
    for position, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise ValueError(f"{field}[{position}] is no object")
        if unknown := sorted(set(entry) - allowed):
            raise ValueError(f"{unknown[0]!r} in {field}[{position}] is not supported")
        names = entry.get("ErrorEquals")
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            raise ValueError(f"ErrorEquals in {field}[{position}] must be an array of error names")
        if ALL in names and (len(names) > 1 or position < len(entries) - 1):
            raise ValueError(f"{ALL} in {field}[{position}] must stand alone and come last")
        all_names.append(frozenset(names))
    return all_names


def _retrier(entry: dict[str, Any], names: frozenset[str]) -> Retrier:
    interval = _integer(entry, "IntervalSeconds", 1, least=1, most=_MOST_ATTEMPTS)
    longest = _integer(entry, "MaxDelaySeconds", _LONGEST_DELAY, least=interval, most=_LONGEST_DELAY)
    rate = entry.get("BackoffRate", 2.0)
    if not json_data.is_number(rate) or rate < 1:
        raise ValueError("BackoffRate must be a number of at least 1.0")
    jitter = entry.get("JitterStrategy", "NONE")
    if jitter not in ("FULL", "NONE"):
        raise ValueError("JitterStrategy must be FULL or NONE")
    attempts = _integer(entry, "MaxAttempts", 3, least=0, most=_MOST_ATTEMPTS)
    return Retrier(names, interval, attempts, rate, longest, jitter == "FULL")


def _integer(entry: dict[str, Any], field: str, default: int, *, least: int, most: int) -> int:
    value = entry.get(field, default)
    if not json_data.is_integer(value) or not least <= value <= most:
        raise ValueError(f"{field} must be an integer from {least} to {most}")
    return int(value)
