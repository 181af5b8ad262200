"""Cases about Choice states: every operator that is used, each with what it does not match."""

from typing import Any

from tests.statemachine.corpus import Case, main, passing


def _choosing(*rules: dict[str, Any], default: str | None = "No") -> dict[str, Any]:
    choice: dict[str, Any] = {"Type": "Choice", "Choices": [{**rule, "Next": "Yes"} for rule in rules]}
    if default:
        choice["Default"] = default
    return main(("Choose", choice), ("Yes", passing(Result="yes", End=True)), ("No", passing(Result="no")))


def _choice(name: str, rule: dict[str, Any], data: Any, expected: str) -> Case:
    return Case(
        name=name,
        rule="A rule compares one variable by the operator's type; another type is no match. (Choice state)",
        machines=_choosing(rule),
        input=data,
        output=expected,
        states=["Choose", expected.capitalize()],
    )


def _operator(operator: str, operand: Any, matching: Any, *others: Any) -> list[Case]:
    rule = {"Variable": "$.v", operator: operand}
    cases = [_choice(f"{operator} {operand!r} matches {matching!r}", rule, {"v": matching}, "yes")]
    return cases + [
        _choice(f"{operator} {operand!r} does not match {other!r}", rule, {"v": other}, "no")
        for other in others
    ]


CHOICES = [
    *_operator("StringEquals", "a", "a", "b", 1, None),
    *_operator("BooleanEquals", True, True, False, "true", 1),
    *_operator("NumericEquals", 2, 2.0, 3, "2", True),
    *_operator("NumericGreaterThan", 2, 3, 2, "3"),
    *_operator("NumericGreaterThanEquals", 2, 2, 1),
    *_operator("NumericLessThan", 2, 1.5, 2),
    *_operator("NumericLessThanEquals", 2, 2, 2.5),
    *_operator("IsNull", True, None, 0, ""),
    *_operator("IsString", True, "", 1, None),
    *_operator("IsNumeric", True, 1.5, "1.5", True),
    *_operator("IsBoolean", True, False, "false", 0),
    _choice("IsPresent true matches a null", {"Variable": "$.v", "IsPresent": True}, {"v": None}, "yes"),
    _choice(
        "IsPresent true does not match nothing", {"Variable": "$.v.w", "IsPresent": True}, {"v": 1}, "no"
    ),
    _choice("IsPresent false matches nothing", {"Variable": "$.v", "IsPresent": False}, {}, "yes"),
    _choice(
        "And needs every rule",
        {"And": [{"Variable": "$.v", "IsPresent": True}, {"Variable": "$.v", "StringEquals": "a"}]},
        {"v": "b"},
        "no",
    ),
    _choice(
        "And stops at the first that fails, so that IsPresent guards what follows",
        {"And": [{"Variable": "$.v", "IsPresent": True}, {"Variable": "$.v", "StringEquals": "a"}]},
        {},
        "no",
    ),
    _choice(
        "Or needs one rule",
        {"Or": [{"Variable": "$.v", "StringEquals": "a"}, {"Variable": "$.v", "StringEquals": "b"}]},
        {"v": "b"},
        "yes",
    ),
    _choice("Not turns a rule round", {"Not": {"Variable": "$.v", "StringEquals": "a"}}, {"v": "b"}, "yes"),
    Case(
        name="the first rule that matches wins",
        rule="Rules are tried in order; the first match decides. (Choice state)",
        machines=main(
            (
                "Choose",
                {
                    "Type": "Choice",
                    "Choices": [
                        {"Variable": "$.v", "NumericGreaterThan": 1, "Next": "First"},
                        {"Variable": "$.v", "NumericGreaterThan": 0, "Next": "Second"},
                    ],
                },
            ),
            ("First", passing(Result=1, End=True)),
            ("Second", passing(Result=2)),
        ),
        input={"v": 5},
        output=1,
    ),
    Case(
        name="no rule and no default",
        rule="States.NoChoiceMatched if no rule matches and there is no Default. (Choice state)",
        machines=_choosing({"Variable": "$.v", "StringEquals": "a"}, default=None),
        input={"v": "b"},
        status="FAILED",
        error="States.NoChoiceMatched",
        states=["Choose"],
    ),
    Case(
        name="a variable that is not there",
        rule="A path that finds nothing is States.Runtime, but for IsPresent. (Handling errors)",
        machines=_choosing({"Variable": "$.v", "StringEquals": "a"}),
        input={},
        status="FAILED",
        error="States.Runtime",
    ),
]
