"""Cases about errors, retries, catchers, timeouts and waits."""

from tests.statemachine.corpus import (
    Advance,
    Case,
    Hangs,
    Raises,
    Returns,
    call,
    catch,
    main,
    passing,
    retry,
    wait_for_token,
)

_CAUGHT = ("Caught", passing())

ERRORS = [
    Case(
        name="a retried error goes away",
        rule="A retrier that matches the error's name tries again. (Handling errors)",
        machines=main(("T", call(Retry=[retry("Oops", MaxAttempts=2)]))),
        functions={"f": [Raises("Oops"), Returns(1)]},
        output=1,
        states=["T"],
        invocations={"f": 2},
        retries={"T": 1},
    ),
    Case(
        name="retries run out and nothing catches",
        rule="MaxAttempts retries, then the execution fails with the error's name. (Handling errors)",
        machines=main(("T", call(Retry=[retry("Oops", MaxAttempts=2)]))),
        functions={"f": [Raises("Oops", "no luck")]},
        status="FAILED",
        error="Oops",
        cause="no luck",
        states=["T"],
        invocations={"f": 3},
    ),
    Case(
        name="MaxAttempts 0 never retries",
        rule="A value of 0 specifies that the error is never retried. (Handling errors)",
        machines=main(
            ("T", call(Retry=[retry("Oops", MaxAttempts=0), retry("States.ALL")])),
        ),
        functions={"f": [Raises("Oops")]},
        status="FAILED",
        error="Oops",
        invocations={"f": 1},
    ),
    Case(
        name="each retrier counts its own tries",
        rule="Retries under one retrier do not count for another. (Handling errors)",
        machines=main(("T", call(Retry=[retry("A", MaxAttempts=1), retry("B", MaxAttempts=1)]))),
        functions={"f": [Raises("A"), Raises("B"), Raises("A")]},
        status="FAILED",
        error="A",
        invocations={"f": 3},
        retries={"T": 2},
    ),
    Case(
        name="the first matching retrier decides, also when it is used up",
        rule="Retriers are scanned in order; the first match is used. (Handling errors)",
        machines=main(("T", call(Retry=[retry("A", MaxAttempts=1), retry("States.ALL", MaxAttempts=5)]))),
        functions={"f": [Raises("A")]},
        status="FAILED",
        error="A",
        invocations={"f": 2},
    ),
    Case(
        name="tries are counted anew when the state is entered again",
        rule="A retrier's count is for one visit of the state. (ASL, Retrying after error)",
        machines=main(
            ("T", call(Retry=[retry("A", MaxAttempts=1)], ResultPath="$.r", Next="Again")),
            (
                "Again",
                {
                    "Type": "Choice",
                    "Choices": [{"Variable": "$.r.Payload", "NumericEquals": 1, "Next": "T"}],
                    "Default": "Done",
                },
            ),
            ("Done", {"Type": "Succeed"}),
        ),
        functions={"f": [Raises("A"), Returns(1), Raises("A"), Returns(2)]},
        states=["T", "Again", "T", "Again", "Done"],
        invocations={"f": 4},
    ),
    Case(
        name="a caught error goes where ResultPath says",
        rule="The error output has Error and Cause; the catcher's ResultPath places it. (Handling errors)",
        machines=main(
            ("T", call(Catch=[catch("Oops", ResultPath="$.e")], End=True)),
            (
                "Caught",
                passing(
                    Parameters={"a.$": "$.a", "error.$": "$.e.Error", "cause.$": "$.e.Cause"}, Next="Parse"
                ),
            ),
            (
                "Parse",
                passing(
                    Parameters={
                        "a.$": "$.a",
                        "error.$": "$.error",
                        "cause.$": "States.StringToJson($.cause)",
                    },
                    Next="Pick",
                ),
            ),
            (
                "Pick",
                passing(
                    Parameters={
                        "a.$": "$.a",
                        "error.$": "$.error",
                        "message.$": "$.cause.errorMessage",
                        "type.$": "$.cause.errorType",
                    }
                ),
            ),
        ),
        input={"a": 1},
        functions={"f": [Raises("Oops", "broken")]},
        output={"a": 1, "error": "Oops", "message": "broken", "type": "Oops"},
        states=["T", "Caught", "Parse", "Pick"],
    ),
    Case(
        name="a catcher without ResultPath replaces the input by the error output",
        rule="ResultPath of a catcher defaults to $. (Handling errors)",
        machines=main(("T", call(Catch=[catch("Oops")], End=True)), ("Caught", passing(InputPath="$.Error"))),
        input={"a": 1},
        functions={"f": [Raises("Oops")]},
        output="Oops",
    ),
    Case(
        name="a catcher with ResultPath null keeps the input",
        rule="A null ResultPath discards the error output. (ResultPath)",
        machines=main(("T", call(Catch=[catch("Oops", ResultPath=None)], End=True)), _CAUGHT),
        input={"a": 1},
        functions={"f": [Raises("Oops")]},
        output={"a": 1},
    ),
    Case(
        name="catchers are tried in order",
        rule="The first catcher whose ErrorEquals has the name is used. (Handling errors)",
        machines=main(
            ("T", call(Catch=[catch("A", to="ForA"), catch("B", to="ForB"), catch("States.ALL")], End=True)),
            ("ForA", passing(Result="a", End=True)),
            ("ForB", passing(Result="b", End=True)),
            ("Caught", passing(Result="all")),
        ),
        functions={"f": [Raises("B")]},
        output="b",
        states=["T", "ForB"],
    ),
    Case(
        name="retriers come before catchers",
        rule="Catchers are used when retries fail to resolve the error. (Handling errors)",
        machines=main(
            ("T", call(Retry=[retry("Oops", MaxAttempts=1)], Catch=[catch("States.ALL")], End=True)),
            ("Caught", passing(Result="caught")),
        ),
        functions={"f": [Raises("Oops")]},
        output="caught",
        invocations={"f": 2},
    ),
    Case(
        name="States.TaskFailed takes what a function raises",
        rule="States.TaskFailed matches any error but States.Timeout. (Handling errors)",
        machines=main(
            ("T", call(Catch=[catch("States.TaskFailed")], End=True)), ("Caught", passing(Result=1))
        ),
        functions={"f": [Raises("Oops")]},
        output=1,
    ),
    Case(
        name="States.TaskFailed does not take a timeout",
        rule="States.TaskFailed matches any error but States.Timeout. (Handling errors)",
        machines=main(
            ("T", wait_for_token(TimeoutSeconds=1, Catch=[catch("States.TaskFailed")], End=True)), _CAUGHT
        ),
        functions={"f": [Returns()]},
        signals=[Advance(1)],
        status="FAILED",
        error="States.Timeout",
        states=["T"],
    ),
    Case(
        name="a Fail state",
        rule="Fail ends the execution with its Error and Cause. (Fail state)",
        machines=main(("F", {"Type": "Fail", "Error": "Mine", "Cause": "because"})),
        status="FAILED",
        error="Mine",
        cause="because",
        states=["F"],
    ),
    Case(
        name="a Fail state that takes its error from the input",
        rule="ErrorPath and CausePath name strings of the input. (Fail state)",
        machines=main(("F", {"Type": "Fail", "ErrorPath": "$.e", "CausePath": "$.c"})),
        input={"e": "E", "c": "C"},
        status="FAILED",
        error="E",
        cause="C",
    ),
    Case(
        name="backoff grows and is bounded",
        rule="IntervalSeconds, times BackoffRate per retry, at most MaxDelaySeconds. (Handling errors)",
        machines=main(
            (
                "T",
                call(
                    Retry=[retry("A", IntervalSeconds=10, BackoffRate=3, MaxDelaySeconds=25, MaxAttempts=3)]
                ),
            )
        ),
        functions={"f": [Raises("A"), Raises("A"), Raises("A"), Returns(1)]},
        signals=[Advance(10), Advance(25), Advance(25)],
        output=1,
        invocations={"f": 4},
        embedded_only="a minute of real time",
    ),
    Case(
        name="a Task that outlives TimeoutSeconds",
        rule="States.Timeout when the task runs longer than TimeoutSeconds; it can be retried. (Task state)",
        machines=main(("T", call(TimeoutSeconds=1, Retry=[retry("States.Timeout", MaxAttempts=1)]))),
        functions={"f": [Hangs(), Returns(2)]},
        signals=[Advance(1, after=("f", 1)), Advance(1, after=("f", 1))],
        output=2,
        invocations={"f": 2},
        embedded_only="an invocation in moto cannot be cut off",
    ),
    Case(
        name="TimeoutSecondsPath",
        rule="The timeout may come from the input. (Task state)",
        machines=main(
            ("T", wait_for_token(TimeoutSecondsPath="$.s", Catch=[catch("States.Timeout", ResultPath=None)])),
            _CAUGHT,
        ),
        input={"s": 1},
        functions={"f": [Returns()]},
        signals=[Advance(1)],
        output={"s": 1},
        states=["T", "Caught"],
    ),
    Case(
        name="the machine's own TimeoutSeconds",
        rule="Longer than the machine's TimeoutSeconds: TIMED_OUT. (State machine structure)",
        machines=main(
            ("T", wait_for_token(Catch=[catch("States.ALL")], End=True)), _CAUGHT, TimeoutSeconds=1
        ),
        functions={"f": [Returns()]},
        signals=[Advance(1)],
        status="TIMED_OUT",
        states=["T"],
    ),
    Case(
        name="a Wait state",
        rule="Wait delays for Seconds or for what SecondsPath names. (Wait state)",
        machines=main(
            ("W", {"Type": "Wait", "Seconds": 1}),
            ("V", {"Type": "Wait", "SecondsPath": "$.s"}),
        ),
        input={"s": 0},
        signals=[Advance(1)],
        output={"s": 0},
        states=["W", "V"],
    ),
]
