"""Cases about data: paths, templates, intrinsic functions, limits."""

from typing import Any

from tests.statemachine.corpus import (
    Case,
    Echoes,
    Raises,
    Returns,
    call,
    catch,
    each,
    main,
    passing,
    retry,
)

_BIG = "x" * 262_144


def _pass(name: str, rule: str, fields: dict[str, Any], data: Any, output: Any) -> Case:
    return Case(name=name, rule=rule, machines=main(("P", passing(**fields))), input=data, output=output)


def _computed(expression: str, data: Any, output: Any) -> Case:
    return _pass(
        f"intrinsic {expression}",
        "Intrinsics for JSONPath state machines",
        {"Parameters": {"v.$": expression}},
        data,
        {"v": output},
    )


PATHS = [
    _pass("InputPath selects", "InputPath", {"InputPath": "$.a.b"}, {"a": {"b": [1]}}, [1]),
    _pass("InputPath null is an empty object", "InputPath", {"InputPath": None}, {"a": 1}, {}),
    _pass("OutputPath selects", "OutputPath", {"OutputPath": "$.a[1]"}, {"a": [1, 2]}, 2),
    _pass("OutputPath null is an empty object", "OutputPath", {"OutputPath": None}, {"a": 1}, {}),
    _pass(
        "ResultPath adds to the input and makes what is missing on the way",
        "ResultPath",
        {"Result": 1, "ResultPath": "$.b.c"},
        {"a": 0},
        {"a": 0, "b": {"c": 1}},
    ),
    _pass(
        "ResultPath replaces what is there",
        "ResultPath",
        {"Result": 1, "ResultPath": "$.a"},
        {"a": {"x": 0}, "b": 2},
        {"a": 1, "b": 2},
    ),
    _pass(
        "ResultPath null keeps the input", "ResultPath", {"Result": 1, "ResultPath": None}, {"a": 0}, {"a": 0}
    ),
    _pass(
        "a name in brackets may hold anything",
        "Paths (ASL)",
        {"InputPath": "$['a b']['c.d']"},
        {"a b": {"c.d": 1}},
        1,
    ),
    _pass(
        "Parameters mix constants, paths and nested objects",
        "Parameters",
        {"Parameters": {"a": 1, "b.$": "$.x", "c": {"d.$": "$.y[0]"}, "e": [{"f.$": "$.x"}]}},
        {"x": "X", "y": [7]},
        {"a": 1, "b": "X", "c": {"d": 7}, "e": [{"f": "X"}]},
    ),
    Case(
        name="a path in Parameters that finds nothing",
        rule="A path that finds nothing is States.Runtime, which no Catch takes. (Handling errors)",
        machines=main(
            ("T", call(payload={"Payload": {"v.$": "$.missing"}}, Catch=[catch("States.ALL")])),
            ("Caught", passing()),
        ),
        functions={"f": [Returns(1)]},
        status="FAILED",
        error="States.Runtime",
        states=["T"],
    ),
    Case(
        name="ResultSelector shapes the result, ResultPath places it, OutputPath filters last",
        rule="The order is InputPath, Parameters, ResultSelector, ResultPath, OutputPath. (Processing input)",
        machines=main(
            (
                "T",
                call(
                    payload={"Payload": {"v.$": "$.v"}},
                    InputPath="$.in",
                    ResultSelector={"r.$": "$.Payload.v"},
                    ResultPath="$.out",
                    OutputPath="$",
                ),
            )
        ),
        input={"in": {"v": 3}},
        functions={"f": [Echoes()]},
        output={"in": {"v": 3}, "out": {"r": 3}},
        payloads={"f": [{"v": 3}]},
    ),
    Case(
        name="the result of lambda:invoke is the service's answer",
        rule="The function's result is under Payload, beside StatusCode. (Invoke Lambda functions)",
        machines=main(
            (
                "T",
                call(ResultSelector={"p.$": "$.Payload", "s.$": "$.StatusCode", "v.$": "$.ExecutedVersion"}),
            )
        ),
        functions={"f": [Returns({"a": None})]},
        output={"p": {"a": None}, "s": 200, "v": "$LATEST"},
    ),
    Case(
        name="the context object",
        rule="$$ gives the execution, the state and the machine. (Accessing the Context object)",
        machines=main(
            (
                "P",
                passing(
                    Parameters={
                        "input.$": "$$.Execution.Input.a",
                        "state.$": "$$.State.Name",
                        "machine.$": "$$.StateMachine.Id",
                    },
                    ResultPath="$.c",
                ),
            ),
            (
                "Choose",
                {
                    "Type": "Choice",
                    "Choices": [{"Variable": "$$.State.Name", "StringEquals": "Choose", "Next": "Done"}],
                },
            ),
            ("Done", passing(InputPath="$.c.state")),
        ),
        input={"a": 5},
        output="P",
    ),
    Case(
        name="RetryCount counts the tries",
        rule="$$.State.RetryCount is 0 in the first try. (Accessing the Context object)",
        machines=main(
            (
                "T",
                call(
                    payload={"Payload": {"n.$": "$$.State.RetryCount"}},
                    Retry=[retry("Oops", MaxAttempts=2)],
                ),
            )
        ),
        functions={"f": [Raises("Oops"), Raises("Oops"), Echoes()]},
        output={"n": 2},
        payloads={"f": [{"n": 0}, {"n": 1}, {"n": 2}]},
    ),
]

INTRINSICS = [
    _computed("States.Format('{}-{}-{}', $.a, $.b, $.c)", {"a": "x", "b": 2, "c": True}, "x-2-true"),
    _computed(r"States.Format('it\'s {}', $.a)", {"a": "fine"}, "it's fine"),
    _computed("States.StringToJson($.a)", {"a": '{"x":[1,null]}'}, {"x": [1, None]}),
    _computed("States.JsonToString($.a)", {"a": {"x": [1, None]}}, '{"x":[1,null]}'),
    _computed("States.Array('a', 1, $.b, null)", {"b": {"c": 1}}, ["a", 1, {"c": 1}, None]),
    _computed("States.ArrayLength($.a)", {"a": [1, 2, 3]}, 3),
    _computed("States.MathAdd($.a, -1)", {"a": 3}, 2),
    _computed("States.Format('n{}', States.MathAdd($.a, 1))", {"a": 1}, "n2"),
    Case(
        name="a bad argument of an intrinsic function",
        rule="States.IntrinsicFailure: the processing of an intrinsic function failed. (Handling errors)",
        machines=main(("P", passing(Parameters={"v.$": "States.StringToJson($.a)"}))),
        input={"a": "{"},
        status="FAILED",
        error="States.IntrinsicFailure",
        embedded_only="moto reports States.Runtime here",
    ),
]

LIMITS = [
    Case(
        name="a result over 256 KiB",
        rule="States.DataLimitExceeded, which States.ALL does not take. (Handling errors; Service quotas)",
        machines=main(
            ("T", call(Catch=[catch("States.ALL")], Retry=[retry("States.ALL")])),
            ("Caught", passing()),
        ),
        functions={"f": [Returns(_BIG)]},
        status="FAILED",
        error="States.DataLimitExceeded",
        invocations={"f": 1},
        embedded_only="moto does not limit state data",
    ),
    Case(
        name="a result just within 256 KiB",
        rule="The quota is 262,144 bytes of UTF-8. (Service quotas)",
        machines=main(("T", call(ResultSelector={"n.$": "$.StatusCode"}))),
        functions={"f": [Returns("x" * 262_000)]},
        output={"n": 200},
        embedded_only="moto does not limit state data",
    ),
    Case(
        name="bytes are counted, not characters",
        rule="The quota is 262,144 bytes of UTF-8. (Service quotas)",
        machines=main(("T", call())),
        functions={"f": [Returns("ä" * 140_000)]},
        status="FAILED",
        error="States.DataLimitExceeded",
        embedded_only="moto does not limit state data",
    ),
    Case(
        name="a state's output over 256 KiB",
        rule="States.DataLimitExceeded also when a state's output is too large. (Handling errors)",
        machines=main(
            ("Double", passing(Parameters={"a.$": "$.a", "b.$": "$.a"})),
        ),
        input={"a": "x" * 140_000},
        status="FAILED",
        error="States.DataLimitExceeded",
        embedded_only="moto does not limit state data",
    ),
    Case(
        name="the results of a Map over 256 KiB together",
        rule="States.DataLimitExceeded also when a state's output is too large. (Handling errors)",
        machines=main(("M", each(("T", call()), ResultPath=None))),
        input=[1, 2],
        functions={"f": [Returns("x" * 140_000)]},
        status="FAILED",
        error="States.DataLimitExceeded",
        embedded_only="moto does not limit state data",
    ),
    Case(
        name="25,000 history events",
        rule="An execution fails at its 25,000th event unless that is its success. (Avoid the history quota)",
        machines=main(("A", passing(Next="B")), ("B", passing(Next="A"))),
        status="FAILED",
        error="States.Runtime",
        cause="25000",
        embedded_only="moto has no history quota",
    ),
]
