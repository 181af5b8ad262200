"""Real processes that are killed, and the processes that come after them."""

import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.statemachine.interpreter_stage import wait_until

_PROGRAM = """
import sys
from pathlib import Path
from parley.clock import SystemClock
from parley.embedded.database import Database
from parley.embedded.interpreter import Interpreter
from tests.statemachine.corpus import call, flow
from tests.statemachine.interpreter_stage import MAIN

def function(name, payload):
    print(name, payload["n"], flush=True)
    if name == "b" and sys.argv[2] == "stay":
        sys.stdin.read()
    return {"n": payload["n"] + 1}

interpreter = Interpreter(
    Database(Path(sys.argv[1])),
    {MAIN: flow(("A", call("a")), ("B", call("b")), ("C", call("c")))},
    function,
    SystemClock(),
    on_closed=lambda execution: print("end", execution.output, flush=True),
)
interpreter.open()
if sys.argv[2] == "stay":
    interpreter.start_execution(MAIN, "x", '{"n": 0}')
sys.stdin.read()
"""


def _process(path: Path, mode: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(path), mode],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": ":".join(path for path in sys.path if path)},
    )


def test_a_killed_process_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "killed.sqlite"
    with _process(path, "stay") as first:
        assert first.stdout is not None
        assert [first.stdout.readline() for _ in range(2)] == ["a 0\n", "b 1\n"]
        first.send_signal(signal.SIGKILL)
    with _process(path, "go on") as second:
        assert second.stdout is not None
        lines = [second.stdout.readline() for _ in range(3)]
        second.communicate("")
    assert lines == ["b 1\n", "c 2\n", 'end {"n":3}\n']


_BUSY_PROGRAM = """
import contextlib, json, os, sys
from pathlib import Path
from parley.clock import SystemClock
from parley.embedded.database import Database
from parley.embedded.interpreter import ExecutionAlreadyExists, Interpreter
from tests.statemachine.corpus import call, each, flow
from tests.statemachine.interpreter_stage import MAIN

log = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

def function(name, payload):
    os.write(log, f"{payload['x']}-{name}\\n".encode())
    return payload

machine = flow(
    ("A", call("a")), ("B", call("b")), ("C", call("c")),
    ("M", each(("D", call("d")), ItemSelector={"x.$": "$.x"}, ItemsPath="$.items", ResultPath=None)),
    ("E", call("e")),
)
interpreter = Interpreter(Database(Path(sys.argv[1])), {MAIN: machine}, function, SystemClock(), workers=6)
interpreter.open()
for number in range(30):
    with contextlib.suppress(ExecutionAlreadyExists):
        interpreter.start_execution(MAIN, f"x{number}", json.dumps({"x": number, "items": [1, 2]}))
print("started", flush=True)
while any(interpreter.describe_execution(f"x{number}").status == "RUNNING" for number in range(30)):
    pass
print("done", flush=True)
interpreter.close()
"""


def _busy_process(folder: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", _BUSY_PROGRAM, str(folder / "busy.sqlite"), str(folder / "log")],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": ":".join(path for path in sys.path if path)},
    )


@pytest.mark.parametrize("lines", [5, 60])
def test_a_busy_process_that_is_killed_runs_nothing_again_that_was_saved(tmp_path: Path, lines: int) -> None:
    log = tmp_path / "log"
    with _busy_process(tmp_path) as first:
        wait_until(lambda: log.exists() and log.read_text().count("\n") >= lines)
        first.send_signal(signal.SIGKILL)
    before = log.read_text().split()
    with _busy_process(tmp_path) as second:
        assert second.stdout is not None
        assert [line.strip() for line in second.stdout] == ["started", "done"]
    counts = Counter(log.read_text().split())
    expected = {f"{number}-{name}": 2 if name == "d" else 1 for number in range(30) for name in "abcde"}
    assert set(counts) == set(expected)
    again = {key: count - expected[key] for key, count in counts.items() if count > expected[key]}
    # Only what ran when the process died runs again: at most one Task per worker.
    assert sum(again.values()) <= 6
    assert set(again) <= set(before)
