"""Cases about task tokens and stopped executions."""

from tests.statemachine.corpus import (
    Advance,
    Answers,
    Case,
    Echoes,
    Fail,
    Raises,
    Returns,
    Stop,
    Succeed,
    call,
    catch,
    main,
    passing,
    retry,
    wait_for_token,
)

_CAUGHT = ("Caught", passing())

TOKENS = [
    Case(
        name="a token that is answered",
        rule="SendTaskSuccess gives the Task its output. (Wait for a Callback with Task Token)",
        machines=main(("T", wait_for_token(ResultPath="$.answer"))),
        input={"a": 1},
        functions={"f": [Returns("ignored")]},
        signals=[Succeed(("f", 1), {"yes": True})],
        output={"a": 1, "answer": {"yes": True}},
        states=["T"],
    ),
    Case(
        name="a token that the function answers itself",
        rule="The token counts, not the function's result, whichever comes first. (Wait for a Callback)",
        machines=main(("T", wait_for_token()), ("Next", call("g"))),
        functions={"f": [Answers({"by": "f"})], "g": [Echoes()]},
        output={"by": "f"},
        states=["T", "Next"],
    ),
    Case(
        name="a token that is answered with a failure",
        rule="SendTaskFailure gives the Task an error for Retry and Catch. (Wait for a Callback)",
        machines=main(("T", wait_for_token(Catch=[catch("Denied")], End=True)), _CAUGHT),
        functions={"f": [Returns()]},
        signals=[Fail(("f", 1), "Denied", "by a person")],
        output={"Error": "Denied", "Cause": "by a person"},
        states=["T", "Caught"],
    ),
    Case(
        name="a token is used once",
        rule="TaskTimedOut: the task token has expired or its task is closed. (SendTaskSuccess)",
        machines=main(("T", wait_for_token()), ("U", wait_for_token("g"))),
        functions={"f": [Returns()], "g": [Returns()]},
        signals=[
            Succeed(("f", 1), 1),
            Succeed(("f", 1), 2, refused="TaskTimedOut"),
            Succeed(("g", 1), 3),
        ],
        output=3,
        embedded_only="moto takes a used token",
    ),
    Case(
        name="a token of a try that timed out",
        rule="TaskTimedOut after the timeout; each try has a token of its own. (Wait for a Callback)",
        machines=main(
            ("T", wait_for_token(TimeoutSeconds=1, Retry=[retry("States.Timeout", MaxAttempts=1)]))
        ),
        functions={"f": [Returns()]},
        signals=[
            Advance(1),
            Advance(1),
            Fail(("f", 1), "Late", refused="TaskTimedOut"),
            Succeed(("f", 2), "in time"),
        ],
        output="in time",
        invocations={"f": 2},
        retries={"T": 1},
        embedded_only="needs the second try's time to stand still",
    ),
    Case(
        name="a function with a token that fails is retried with another token",
        rule="An error of the invocation itself fails the try. (Wait for a Callback)",
        machines=main(("T", wait_for_token(Retry=[retry("Oops", MaxAttempts=1)]))),
        functions={"f": [Raises("Oops"), Returns()]},
        signals=[Advance(1), Succeed(("f", 2), "second")],
        output="second",
        invocations={"f": 2},
    ),
    Case(
        name="a token waits for 24 hours",
        rule="TimeoutSeconds bounds the wait. (Task state)",
        machines=main(
            ("T", wait_for_token(TimeoutSeconds=86_400, Catch=[catch("States.Timeout", ResultPath=None)])),
            ("Caught", passing(Result="expired")),
        ),
        functions={"f": [Returns()]},
        signals=[Advance(86_399), Advance(1)],
        output="expired",
        states=["T", "Caught"],
        embedded_only="24 hours of real time",
    ),
    Case(
        name="an answer to a token must be JSON within the limit",
        rule="InvalidOutput. (SendTaskSuccess)",
        machines=main(("T", wait_for_token())),
        functions={"f": [Returns()]},
        signals=[Succeed(("f", 1), "x" * 262_144, refused="InvalidOutput"), Succeed(("f", 1), "ok")],
        output="ok",
        embedded_only="moto does not limit state data",
    ),
]

STOPS = [
    Case(
        name="a stopped execution",
        rule="StopExecution ends it ABORTED, nothing catches that. (StopExecution)",
        machines=main(("T", wait_for_token(Catch=[catch("States.ALL")], End=True)), _CAUGHT),
        functions={"f": [Returns()]},
        signals=[Stop(after=("f", 1), error="Enough", cause="stopped")],
        status="ABORTED",
        error="Enough",
        cause="stopped",
        states=["T"],
    ),
]
