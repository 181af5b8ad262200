"""The rules of a Choice state: one comparison of one variable, or And, Or, Not over rules.

Pages: "Choice workflow state" of the Developer Guide. A value of another type than the operator's is no
match; a variable that is not there is an error, but for IsPresent.
"""

import operator
from collections.abc import Callable
from typing import Any

from parley.embedded.asl import data as json_data
from parley.embedded.asl.paths import Context, compile_path, compile_presence

Rule = Callable[[Any, Context], bool]

_NUMERIC: dict[str, Callable[[Any, Any], bool]] = {
    "NumericEquals": operator.eq,
    "NumericLessThan": operator.lt,
    "NumericGreaterThan": operator.gt,
    "NumericLessThanEquals": operator.le,
    "NumericGreaterThanEquals": operator.ge,
}
_TYPE_TESTS: dict[str, Callable[[Any], bool]] = {
    "IsNull": lambda value: value is None,
    "IsString": lambda value: isinstance(value, str),
    "IsNumeric": json_data.is_number,
    "IsBoolean": lambda value: isinstance(value, bool),
}


def compile_rule(rule: Any, *, top: bool = True) -> Rule:
    """A function that says whether `rule` matches. Raises ValueError for what is not supported."""
    if not isinstance(rule, dict):
        raise ValueError("a rule is an object")
    fields = {key: value for key, value in rule.items() if key not in ("Next", "Comment")}
    if not top and "Next" in rule:
        raise ValueError("Next belongs to the outermost rule only")
    for combinator in ("And", "Or", "Not"):
        if combinator in fields:
            if len(fields) != 1:
                raise ValueError(
                    f"{combinator} stands alone, not beside {sorted(set(fields) - {combinator})}"
                )
            return _compile_combination(combinator, fields[combinator])
    if "Variable" not in fields:
        raise ValueError("a rule needs Variable, And, Or or Not")
    variable = fields.pop("Variable")
    if len(fields) != 1:
        raise ValueError(f"a rule has exactly one comparison, not {sorted(fields)}")
    [(comparison, operand)] = fields.items()
    return _compile_comparison(variable, comparison, operand)


def _compile_combination(combinator: str, operand: Any) -> Rule:
    if combinator == "Not":
        negated = compile_rule(operand, top=False)
        return lambda data, context: not negated(data, context)
    if not isinstance(operand, list) or not operand:
        raise ValueError(f"{combinator} takes an array of rules")
    rules = [compile_rule(rule, top=False) for rule in operand]
    if combinator == "And":
        return lambda data, context: all(rule(data, context) for rule in rules)
    return lambda data, context: any(rule(data, context) for rule in rules)


def _compile_comparison(variable: Any, comparison: str, operand: Any) -> Rule:
    if comparison == "IsPresent":
        present = compile_presence(variable)
        expected = _boolean(comparison, operand)
        return lambda data, context: present(data, context) is expected
    value = compile_path(variable, "Variable")
    if comparison in _TYPE_TESTS:
        test = _TYPE_TESTS[comparison]
        wanted = _boolean(comparison, operand)
        return lambda data, context: test(value(data, context)) is wanted
    if comparison in _NUMERIC:
        if not json_data.is_number(operand):
            raise ValueError(f"{comparison} takes a number")
        compare = _NUMERIC[comparison]

        def numeric(data: Any, context: Context) -> bool:
            found = value(data, context)
            return json_data.is_number(found) and compare(found, operand)

        return numeric
    if comparison == "StringEquals" and isinstance(operand, str):
        return lambda data, context: value(data, context) == operand
    if comparison == "BooleanEquals":
        wanted = _boolean(comparison, operand)
        return lambda data, context: value(data, context) is wanted
    raise ValueError(f"the comparison {comparison} with {operand!r} is not supported")


def _boolean(comparison: str, operand: Any) -> bool:
    if not isinstance(operand, bool):
        raise ValueError(f"{comparison} takes true or false")
    return operand
