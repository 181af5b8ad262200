"""``make faults``: play every case of the matrix, print what survived, and how to play again what did not.

python -m tests.faults                      everything
python -m tests.faults plain large          these scenarios
python -m tests.faults CASE...              these cases, each with its whole trace
--double N   besides, N pairs of deaths per scenario      --seed S   which ones
--every K    every K-th case only                         --workers W
--aws        the two scenarios on AWS too (mocked), or alone with their names
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import logging
import multiprocessing
import os
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tests.faults.matrix import Case, cases_of, clean, clean_up, double_cases, read_case, survive
from tests.faults.on_aws import AWS_SCENARIOS, OnAws, aws_cases, on_aws
from tests.faults.scenarios import SCENARIOS

PORTS = ("store", "orchestrator", "provider", "functions", "pusher", "blobs", "interpreter")


_kept = contextlib.ExitStack()
"""What a process opens and holds until it ends."""


class Played(NamedTuple):
    """What became of a case. ``row``: its scenario and backend; ``wrong`` is empty if it survived."""

    case: str
    row: str
    port: str
    wrong: str


class Task(NamedTuple):
    """A case to play, and where it counts."""

    case: str
    row: str
    port: str


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    _quiet()
    try:
        wanted = options.wanted or list(SCENARIOS)
        single = [name for name in wanted if ":" in name]
        if single:
            return max(_trace(case) for case in single)
        return _matrix(wanted, options)
    finally:
        _kept.close()
        clean_up()


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description="The fault matrix.")
    parser.add_argument("wanted", nargs="*", metavar="SCENARIO|CASE")
    parser.add_argument("--double", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int, default=1, metavar="K")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--aws", action="store_true")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.wanted if ":" not in name and name not in SCENARIOS]:
        parser.error(f"no scenario is called {', '.join(unknown)}; there are {', '.join(SCENARIOS)}")
    return options


def _trace(text: str) -> int:
    """One case, with everything that there is to see."""
    try:
        _survive(read_case(text))
    except AssertionError:
        traceback.print_exc()
        return 1
    print(f"{text}: survived")
    return 0


def _survive(case: Case) -> None:
    if case.how == "lambda":
        _account().survive(case)
    else:
        survive(case)


@functools.cache
def _account() -> OnAws:
    """A process's own, for as long as it lives."""
    return _kept.enter_context(on_aws())


def _matrix(scenarios: list[str], options: argparse.Namespace) -> int:
    begun = time.monotonic()
    tasks = list(_tasks(scenarios, options))
    fork = multiprocessing.get_context("fork")
    with fork.Pool(options.workers, initializer=_quiet) as pool:
        for name in AWS_SCENARIOS if options.aws else ():
            if name in scenarios:
                tasks += pool.apply(_tasks_on_aws, (name, options.every))
        print(f"{len(tasks)} cases", flush=True)
        played = list(_watched(pool.imap_unordered(_play, tasks, chunksize=4), len(tasks)))
    _print_table(played)
    lost = [each for each in played if each.wrong]
    for each in lost:
        print(f'\n{each.wrong}\n  again: make faults ARGS="{each.case}"')
    minutes = (time.monotonic() - begun) / 60
    print(f"\n{len(played)} tried, {len(played) - len(lost)} survived, {minutes:.1f} minutes")
    return 1 if lost else 0


def _tasks(scenarios: list[str], options: argparse.Namespace) -> Iterator[Task]:
    for name in scenarios:
        points = clean(name).points
        for case, point in list(cases_of(name, points))[:: options.every]:
            yield Task(str(case), name, point.port)
        for case, point in double_cases(name, points, options.double, options.seed):
            yield Task(str(case), f"{name}, twice", point.port)


def _tasks_on_aws(scenario: str, every: int) -> list[Task]:
    cases = list(aws_cases(scenario, _account().clean(scenario).points))
    return [Task(str(case), f"{scenario}, AWS", point.port) for case, point in cases[::every]]


def _quiet() -> None:
    """What dies is logged by whoever survives it."""
    logging.disable(logging.CRITICAL)


def _play(task: Task) -> Played:
    try:
        _survive(read_case(task.case))
    except Exception:  # noqa: BLE001 - whatever a case ends with, the others are played
        return Played(*task, traceback.format_exc(limit=-3))
    return Played(*task, "")


def _watched(played: Iterable[Played], total: int) -> Iterator[Played]:
    """What was played, with a word about it now and then."""
    for count, each in enumerate(played, start=1):
        if each.wrong:
            print(f"LOST {each.case}", flush=True)
        if count % 500 == 0:
            print(f"{count} of {total}", flush=True)
        yield each


def _print_table(played: list[Played]) -> None:
    """Scenario by port: survived of tried."""
    tried: Counter[tuple[str, str]] = Counter((each.row, each.port) for each in played)
    lost: Counter[tuple[str, str]] = Counter((each.row, each.port) for each in played if each.wrong)
    rows = list(dict.fromkeys(each.row for each in played))
    print("\n| scenario | " + " | ".join(PORTS) + " | in all |")
    print("|---|" + "---:|" * (len(PORTS) + 1))
    for row in rows:
        cells = [_cell(tried[row, port], lost[row, port]) for port in PORTS]
        whole = sum(tried[row, port] for port in PORTS), sum(lost[row, port] for port in PORTS)
        print(f"| {row} | " + " | ".join(cells) + f" | {_cell(*whole)} |")


def _cell(tried: int, lost: int) -> str:
    if not tried:
        return ""
    return f"{tried}" if not lost else f"{tried - lost} of {tried}"


if __name__ == "__main__":
    sys.exit(main())
