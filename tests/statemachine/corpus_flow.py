"""Cases about flow: errors, retries, Maps, tokens, nested executions, waits, stops."""

from tests.statemachine.corpus import (
    ANY,
    Advance,
    Answers,
    Case,
    Echoes,
    Fail,
    Hangs,
    Raises,
    Returns,
    Stop,
    Succeed,
    call,
    catch,
    each,
    flow,
    main,
    nested,
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

MAPS = [
    Case(
        name="results come in the order of the items",
        rule="The result of a Map is an array in the order of its items. (Map state)",
        machines=main(("M", each(("T", call())))),
        input=[3, 1, 2],
        functions={"f": [Echoes()]},
        output=[3, 1, 2],
        states=["M", "T", "T", "T"],
    ),
    Case(
        name="ItemsPath, ItemSelector and the item's index and value",
        rule="ItemSelector sees the input and $$.Map.Item.Index and Value. (Map state)",
        machines=main(
            (
                "M",
                each(
                    ("P", passing()),
                    ItemsPath="$.items",
                    ItemSelector={"i.$": "$$.Map.Item.Index", "v.$": "$$.Map.Item.Value", "k.$": "$.k"},
                    ResultPath="$.out",
                ),
            )
        ),
        input={"items": ["a", "b"], "k": 1},
        output={"items": ["a", "b"], "k": 1, "out": [{"i": 0, "v": "a", "k": 1}, {"i": 1, "v": "b", "k": 1}]},
    ),
    Case(
        name="a Map without items",
        rule="A Map over an empty array gives an empty array. (Map state)",
        machines=main(("M", each(("P", passing())))),
        input=[],
        output=[],
        states=["M"],
    ),
    Case(
        name="a Map may discard its results",
        rule="A null ResultPath discards the result. (ResultPath)",
        machines=main(("M", each(("T", call()), ItemsPath="$.items", ResultPath=None))),
        input={"items": [1, 2]},
        functions={"f": [Echoes()]},
        output={"items": [1, 2]},
    ),
    Case(
        name="MaxConcurrency 1 takes one after the other",
        rule="At most MaxConcurrency iterations at once; 1 keeps the order. (Map state)",
        machines=main(("M", each(("T", call()), MaxConcurrency=1))),
        input=["a", "b", "c"],
        functions={"f": [Echoes()]},
        output=["a", "b", "c"],
        payloads={"f": ["a", "b", "c"]},
        states=["M", "T", "T", "T"],
    ),
    Case(
        name="one uncaught failure ends the Map and its siblings",
        rule="An iteration's uncaught error fails the Map, all other iterations are stopped. (Map state)",
        machines=main(
            (
                "M",
                each(
                    (
                        "Kind",
                        {
                            "Type": "Choice",
                            "Choices": [{"Variable": "$.wait", "BooleanEquals": True, "Next": "Wait"}],
                            "Default": "Bad",
                        },
                    ),
                    ("Wait", wait_for_token("waiting", End=True)),
                    ("Bad", call("bad", End=True)),
                    Catch=[catch("Oops", ResultPath=None)],
                ),
            ),
            ("Caught", passing(Result="caught")),
        ),
        input=[{"wait": True}, {"wait": False}],
        functions={"waiting": [Returns()], "bad": [Raises("Oops")]},
        signals=[Succeed(("waiting", 1), refused="TaskTimedOut")],
        output="caught",
        embedded_only="moto takes the answer of a token whose iteration is gone",
    ),
    Case(
        name="an iteration that catches its own error does not disturb its siblings",
        rule="A caught error stays inside its iteration. (Handling errors)",
        machines=main(
            (
                "M",
                each(("T", call("f", Catch=[catch("Oops")], End=True)), ("Caught", passing(Result="sorry"))),
            ),
        ),
        input=[1],
        functions={"f": [Raises("Oops")]},
        output=["sorry"],
        states=["M", "T", "Caught"],
    ),
    Case(
        name="a Map is retried as a whole",
        rule="A retrier of the Map starts all iterations again. (Handling errors)",
        machines=main(("M", each(("T", call()), Retry=[retry("Oops", MaxAttempts=1)]))),
        input=[1],
        functions={"f": [Raises("Oops"), Returns("good")]},
        output=["good"],
        states=["M", "T", "T"],
        retries={"M": 1},
    ),
    Case(
        name="a Map within a Map",
        rule="Iterations may hold a Map of their own. (Map state)",
        machines=main(("Outer", each(("Inner", each(("T", call())))))),
        input=[[1, 2], [], [3]],
        functions={"f": [Echoes()]},
        output=[[1, 2], [], [3]],
        states=["Outer", "Inner", "Inner", "Inner", "T", "T", "T"],
        unordered=True,
    ),
    Case(
        name="items that are no array",
        rule="ItemsPath must name an array. (Map state)",
        machines=main(("M", each(("P", passing())))),
        input={"a": 1},
        status="FAILED",
        error="States.Runtime",
        embedded_only="moto reports a Python error",
    ),
]

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

_CHILD = flow(("T", call("g")))

NESTED = [
    Case(
        name="a nested execution that succeeds",
        rule="sync:2 gives DescribeExecution's answer with Output as JSON. (Start from a running execution)",
        machines={
            "main": flow(
                (
                    "N",
                    nested(ResultSelector={"out.$": "$.Output", "status.$": "$.Status", "name.$": "$.Name"}),
                )
            ),
            "child": _CHILD,
        },
        input={"a": 1},
        functions={"g": [Echoes()]},
        output={"out": {"a": 1}, "status": "SUCCEEDED", "name": "child"},
        states=["N"],
    ),
    Case(
        name="a nested execution that fails",
        rule="The Task fails with States.TaskFailed; its cause is the execution as JSON. (Start from …)",
        machines={
            "main": flow(
                ("N", nested(Catch=[catch("States.TaskFailed")], End=True)),
                ("Caught", passing(Parameters={"e.$": "$.Error", "c.$": "States.StringToJson($.Cause)"})),
                ("Pick", passing(Parameters={"e.$": "$.e", "s.$": "$.c.Status", "inner.$": "$.c.Error"})),
            ),
            "child": _CHILD,
        },
        functions={"g": [Raises("Oops")]},
        output={"e": "States.TaskFailed", "s": "FAILED", "inner": "Oops"},
    ),
    Case(
        name="a nested execution under a name that was used",
        rule="StepFunctions.ExecutionAlreadyExistsException. (Start from a running execution)",
        machines={
            "main": flow(
                ("N", nested()),
                ("Again", nested(Catch=[catch("StepFunctions.ExecutionAlreadyExistsException")], End=True)),
                ("Caught", passing(Result="used")),
            ),
            "child": _CHILD,
        },
        functions={"g": [Returns()]},
        output="used",
        states=["N", "Again", "Caught"],
    ),
    Case(
        name="nested executions side by side, names from the input",
        rule="Each iteration may start its own. (Map state)",
        machines={
            "main": flow(("M", each(("N", nested("$.n", OutputPath="$.Output.n"))))),
            "child": _CHILD,
        },
        input=[{"n": "one"}, {"n": "two"}, {"n": "three"}],
        functions={"g": [Echoes()]},
        output=["one", "two", "three"],
    ),
    Case(
        name="a machine that nests itself",
        rule="$$.StateMachine.Id names the machine that runs. (Accessing the Context object)",
        machines={
            "main": flow(
                (
                    "Deep",
                    {
                        "Type": "Choice",
                        "Choices": [{"Variable": "$.depth", "NumericLessThan": 1, "Next": "Bottom"}],
                        "Default": "Down",
                    },
                ),
                (
                    "Down",
                    {
                        "Type": "Task",
                        "Resource": "arn:aws:states:::states:startExecution.sync:2",
                        "Parameters": {
                            "StateMachineArn.$": "$$.StateMachine.Id",
                            "Name.$": "States.Format('depth-{}', $.depth)",
                            "Input": {"depth.$": "States.MathAdd($.depth, -1)"},
                        },
                        "OutputPath": "$.Output",
                        "End": True,
                    },
                ),
                ("Bottom", passing(Result="bottom")),
            )
        },
        input={"depth": 2},
        output="bottom",
        states=["Deep", "Down"],
    ),
    Case(
        name="stopping the parent stops the child",
        rule="When the execution is stopped, Step Functions stops its sync task too. (Run a Job, .sync)",
        machines={"main": flow(("N", nested())), "child": flow(("T", wait_for_token("g")))},
        functions={"g": [Returns()]},
        signals=[
            Stop(after=("g", 1), error="Enough", cause="stopped"),
            Succeed(("g", 1), refused="TaskTimedOut"),
        ],
        status="ABORTED",
        error="Enough",
        cause="stopped",
        embedded_only="moto does not stop what an execution nests",
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

FLOW_CASES = [*ERRORS, *MAPS, *TOKENS, *NESTED, *STOPS]
assert all(case.output is ANY or case.status == "SUCCEEDED" for case in FLOW_CASES)
