"""Cases about Map states."""

from tests.statemachine.corpus import (
    Case,
    Echoes,
    Raises,
    Returns,
    Succeed,
    call,
    catch,
    each,
    main,
    passing,
    retry,
    wait_for_token,
)

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
