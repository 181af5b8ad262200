"""Metrics of model calls in CloudWatch's embedded metric format."""

import json
from dataclasses import replace

import pytest

from parley.aws.meter import EmfMeter
from parley.domain.messages import Usage
from parley.turns.rollout_ports import ModelCall

CALL = ModelCall("openai", "gpt", "messages", 1.25, "answered", usage=Usage(input_tokens=7, output_tokens=3))


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_call_is_one_line_with_its_provider_and_form(capsys: pytest.CaptureFixture[str]) -> None:
    EmfMeter("Parley", "model-tasks").model_call(CALL)
    (line,) = lines(capsys)
    (described,) = line["_aws"]["CloudWatchMetrics"]  # type: ignore[index]
    assert described["Namespace"] == "Parley"
    assert [sorted(names) for names in described["Dimensions"]] == [["form", "provider", "service"]]
    assert (line["provider"], line["form"], line["service"]) == ("openai", "messages", "model-tasks")
    assert (line["model"], line["purpose"], line["outcome"]) == ("gpt", "reply", "answered")
    assert {name: line[name] for name in ("ModelCalls", "ModelFailures", "ModelLatency")} == {
        "ModelCalls": [1.0],
        "ModelFailures": [0.0],
        "ModelLatency": [1250.0],
    }
    assert (line["InputTokens"], line["OutputTokens"]) == ([7.0], [3.0])


def test_a_failure_is_counted_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    meter = EmfMeter("Parley", "model-tasks")
    meter.model_call(ModelCall("groq", "m", "concatenated", 0.1, "failed", "ProviderOverloaded"))
    meter.model_call(ModelCall("groq", "m", "concatenated", 0.1, "interrupted"))
    failed, interrupted = lines(capsys)
    assert (failed["ModelFailures"], failed["error"]) == ([1.0], "ProviderOverloaded")
    assert (interrupted["ModelFailures"], interrupted["outcome"]) == ([0.0], "interrupted")
    assert "InputTokens" not in failed


def test_a_call_that_cannot_be_counted_fails_nothing(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    EmfMeter("Parley").model_call(replace(CALL, seconds="long"))  # type: ignore[arg-type]
    assert capsys.readouterr().out == ""
    assert "could not be counted" in caplog.text
