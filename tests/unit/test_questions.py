"""Templates over arguments: questions for a person, messages for a subagent."""

import pytest

from parley.prompts.question import confirmation_question
from parley.prompts.template import fill_template


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        (
            "Change {field|it} to '{label}' for {products.count} products?",
            "Change it to 'Sale' for 3 products?",
        ),
        ("{products} {empty|none} {empty} {nothing}", "1, 2, 3 none  {nothing}"),
        ("{label.__class__} {label!r} {0} {} {{label}}", "{label.__class__} {label!r} {0} {} {Sale}"),
        ("{nested.count} {nested.inner.count} {flag}", "7 1 yes"),
        ("{tricky}", "{label}"),
    ],
)
def test_a_template_reads_arguments_and_nothing_else(template: str, filled: str) -> None:
    arguments = {
        "products": [1, 2, 3],
        "label": "Sale",
        "empty": "",
        "nested": {"count": 7, "inner": {"a": 1}},
        "flag": True,
        "tricky": "{label}",
    }
    assert fill_template(template, arguments) == filled


def test_a_question_shows_the_default_of_what_the_model_left_out() -> None:
    properties = {
        "field": {"default": "label_0"},
        "labels": {"default": ["new"]},
        "note": {"default": None},
        "a": True,
    }
    template = "Set {field} to {labels} ({labels.count}) {note|no note}?"

    def asked(arguments: dict[str, object], parameters: dict[str, object] | None) -> str:
        return confirmation_question(template, "f", arguments, parameters)

    assert asked({}, {"properties": properties}) == "Set label_0 to new (1) no note?"
    assert asked({"field": "x", "note": "n"}, {"properties": properties}) == "Set x to new (1) n?"
    unusable: list[dict[str, object] | None] = [{}, {"properties": []}, None]
    for parameters in unusable:
        assert asked({"field": "x"}, parameters) == "Set x to {labels} ({labels.count}) no note?"


def test_a_question_without_a_template_names_the_function_and_its_arguments() -> None:
    assert confirmation_question(None, "f", {"a": 1, "b": ["x"]}) == "Run f (a: 1; b: x)?"
    assert confirmation_question(" ", "f", {}) == "Run f?"
    assert len(confirmation_question("{a}" * 30, "f", {"a": "x" * 500})) <= 1000
