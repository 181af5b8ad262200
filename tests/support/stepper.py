"""Runs the shipped state machine one state at a time, where and when a test says so.

It reads the machine with the interpreter's own reader and follows the same rules, but nothing in it happens
by itself: no thread, no disk, no timer that fires unasked.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

from parley import assets
from parley.clock import MovableClock
from parley.embedded.asl.definition import (
    ChoiceState,
    FailState,
    Machine,
    MapState,
    RetriableState,
    SucceedState,
    TaskState,
    WaitState,
)
from parley.embedded.asl.errors import StateError
from parley.embedded.asl.loader import load
from parley.embedded.asl.policies import find_catcher, find_retrier
from parley.embedded.interpreter.live import iso_time
from parley.turns.ports import ExecutionStatus, Started
from tests.support.branches import MAP, NESTED, OVER, READY, TIMER, TOKEN, Branch, Execution

Invoke = Callable[[dict[str, Any]], Any]


class TaskFailed(Exception):
    """An invocation ended with an error of this name."""

    def __init__(self, error: str, message: str = "") -> None:
        super().__init__(error)
        self.error = error
        self.cause = json.dumps({"errorType": error, "errorMessage": message})


class Stepper:
    """Executions of the machine. ``invoke`` answers a Task's payload or raises its error."""

    def __init__(self, invoke: Invoke, clock: MovableClock) -> None:
        arns = {f"{name}Arn": name for name in assets.TASK_FUNCTIONS}
        self.machine: Machine = load("machine", assets.definition(arns))
        self.executions: dict[str, Execution] = {}
        self._invoke = invoke
        self._clock = clock
        self._tokens = itertools.count(1)

    # What an orchestrator is asked for.

    def start(self, name: str, payload: dict[str, Any]) -> Started:
        known = self.executions.get(name)
        if known is not None:
            assert known.payload == payload, "a name fixes its input"
            return Started.RUNNING if known.status is ExecutionStatus.RUNNING else Started.CLOSED
        execution = self.executions[name] = Execution(name, payload)
        execution.branches.append(Branch(execution, self.machine.start_at, payload))
        return Started.STARTED

    def waiting(self, token: str) -> Branch | None:
        """The branch that a token would wake."""
        for branch in self._branches():
            if branch.token == token and branch.status in (TOKEN, READY):
                return branch
        return None

    def wake(self, token: str) -> bool:
        """Answer a token, also one whose Task has not returned yet."""
        branch = self.waiting(token)
        if branch is None:
            return False
        self._succeed(branch, {})
        return True

    def kill(self, name: str, status: ExecutionStatus = ExecutionStatus.ABORTED) -> None:
        """End it; what it nests goes on."""
        execution = self.executions[name]
        if execution.status is ExecutionStatus.RUNNING:
            execution.status = status
            for branch in execution.branches:
                branch.status = OVER
            execution.branches.clear()
            self._ended(execution)

    def stop(self, name: str) -> None:
        """End it, and what it nests."""
        nested = [branch.nested for branch in self.executions[name].branches if branch.nested]
        self.kill(name)
        for child in nested:
            self.stop(child)

    def _ended(self, execution: Execution) -> None:
        """Tell who waits for it."""
        for branch in self._branches():
            if branch.nested == execution.name and branch.status == NESTED:
                branch.nested = ""
                if execution.status is ExecutionStatus.SUCCEEDED:
                    self._succeed(branch, {})
                else:
                    self._fail(branch, StateError("States.TaskFailed", ""))

    # What a test makes happen.

    def _branches(self) -> list[Branch]:
        return [branch for execution in self.executions.values() for branch in execution.branches]

    def ready(self) -> list[Branch]:
        """What could take its next step."""
        return [branch for branch in self._branches() if branch.status == READY]

    def at_task(self, branch: Branch) -> bool:
        """Whether its next step invokes a function."""
        state = self.machine.states[branch.state]
        return isinstance(state, TaskState) and state.integration != "execution"

    def fire_timers(self) -> None:
        """Let all that is due by now happen."""
        for branch in self._branches():
            if (
                branch.due is None
                or branch.due > self._clock.now()
                or branch not in branch.execution.branches
            ):
                continue
            branch.due = None
            if branch.status == TOKEN:
                self._fail(branch, StateError("States.Timeout", ""))
            elif isinstance(self.machine.states[branch.state], WaitState):
                self._succeed(branch, branch.data)
            else:
                branch.status = READY

    def step(self, branch: Branch) -> None:
        """Enter the branch's state, or try it again."""
        state = self.machine.states[branch.state]
        if not branch.retries:
            branch.execution.entered.append(branch.state)
            branch.entered_at = self._clock.now()
        match state:
            case ChoiceState():
                found = (target for rule, target in state.rules if rule(branch.data, self._context(branch)))
                branch.enter(next(found, state.default or ""), branch.data)
            case TaskState(integration="execution"):
                self._nest(branch, state)
            case TaskState():
                self._task(branch, state)
            case MapState():
                self._map(branch, state)
            case WaitState():
                seconds = state.seconds(branch.data, self._context(branch))
                branch.status, branch.due = TIMER, self._clock.now() + seconds
            case SucceedState():
                self._leave(branch)
            case FailState():
                self.kill(branch.execution.name, ExecutionStatus.FAILED)
            case _:
                raise AssertionError(f"{state.type} is not used by the machine")

    def _context(self, branch: Branch) -> Callable[[], dict[str, Any]]:
        return lambda: {
            "Execution": {"Id": branch.execution.name, "Name": branch.execution.name},
            "State": {
                "Name": branch.state,
                "EnteredTime": iso_time(branch.entered_at),
                "RetryCount": branch.retries,
            },
            "StateMachine": {"Id": "machine"},
            "Task": {"Token": branch.token},
            "Map": {"Item": branch.item},
        }

    def _task(self, branch: Branch, state: TaskState) -> None:
        token = f"token-{next(self._tokens)}" if state.integration == "lambda_token" else ""
        branch.token = token
        context = self._context(branch)
        if token and state.timeout is not None:
            branch.due = self._clock.now() + state.timeout(branch.data, context)
        payload = json.loads(json.dumps(state.parameters(branch.data, context)["Payload"]))
        try:
            result = self._invoke(payload)
        except TaskFailed as failed:
            failure = StateError(failed.error, failed.cause)
        except Exception as error:  # noqa: BLE001 - a Lambda's error, whatever it is
            told = TaskFailed(type(error).__name__, str(error))
            failure = StateError(told.error, told.cause)
        else:
            self._returned(branch, token, result)
            return
        if branch in branch.execution.branches and branch.token == token and branch.status == READY:
            self._fail(branch, failure)

    def _nest(self, branch: Branch, state: TaskState) -> None:
        arguments = state.parameters(branch.data, self._context(branch))
        if self.start(arguments["Name"], arguments["Input"]) is Started.CLOSED:
            self._fail(branch, StateError("StepFunctions.ExecutionAlreadyExistsException", ""))
            return
        branch.status, branch.nested = NESTED, arguments["Name"]

    def _returned(self, branch: Branch, token: str, result: Any) -> None:
        if branch not in branch.execution.branches or branch.token != token:
            return  # killed meanwhile, or its token was answered
        if token:
            branch.status = TOKEN
        else:
            self._succeed(branch, {"Payload": result})

    def _map(self, branch: Branch, state: MapState) -> None:
        items = state.items_path(branch.data, self._context(branch))
        for index, value in enumerate(items):
            child = Branch(branch.execution, state.start_at, None, branch, {"Value": value, "Index": index})
            assert state.parameters is not None
            child.data = state.parameters(branch.data, self._context(child))
            branch.children.append(child)
        branch.execution.branches += branch.children
        branch.status = MAP
        if not items:
            self._succeed(branch, [])

    def _succeed(self, branch: Branch, result: Any) -> None:
        state = self.machine.states[branch.state]
        data = result
        if isinstance(state, RetriableState):
            context = self._context(branch)
            if state.result_selector is not None:
                data = state.result_selector(result, context)
            if state.result_path is not None:
                data = state.result_path(branch.data, data)
        if state.next is None:
            branch.data = data
            self._leave(branch)
        else:
            branch.enter(state.next, data)

    def _leave(self, branch: Branch) -> None:
        branch.execution.branches.remove(branch)
        branch.status = OVER
        parent = branch.parent
        if parent is None:
            branch.execution.status = ExecutionStatus.SUCCEEDED
            self._ended(branch.execution)
            return
        parent.children.remove(branch)
        if not parent.children:
            self._succeed(parent, [])

    def _fail(self, branch: Branch, failure: StateError) -> None:
        state = self.machine.states[branch.state]
        if isinstance(state, RetriableState):
            for child in branch.children:
                branch.execution.branches.remove(child)
                child.status = OVER
            branch.children = []
            index = find_retrier(state.retriers, failure.error)
            if index is not None and branch.tries.get(index, 0) < state.retriers[index].attempts:
                branch.tries[index] = branch.tries.get(index, 0) + 1
                branch.retries += 1
                branch.status, branch.token = TIMER, ""
                branch.due = self._clock.now() + state.retriers[index].interval
                return
            catcher = find_catcher(state.catchers, failure.error)
            if catcher is not None:
                error = {"Error": failure.error, "Cause": failure.cause}
                branch.enter(catcher.next, catcher.place(branch.data, error))
                return
        if branch.parent is None:
            self.kill(branch.execution.name, ExecutionStatus.FAILED)
        else:
            self._fail(branch.parent, failure)
