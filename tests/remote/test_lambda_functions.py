"""Functions that are Lambdas: the event, the result, and what a failure is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.exceptions import (
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
)
from botocore.stub import Stubber

from parley.aws import clients
from parley.aws.lambdas import TRIES, LambdaFunctions
from parley.tools.answers import LARGEST_ANSWER, NOTHING_SAID
from parley.turns.function_ports import FunctionOutcome
from tests.remote.conftest import Elsewhere
from tests.support.moto_aws import mocked_aws

ARN = "arn:aws:lambda:eu-central-1:123456789012:function:orders:live"
MAYBE = " It may or may not have acted."
NOTHING = " Nothing was done."


def asked(
    functions: Callable[[str, Any], Any], arguments: dict[str, Any], name: str = "orders"
) -> FunctionOutcome:
    """A call of a Lambda in a mocked account, whose functions are these."""
    with mocked_aws(functions) as aws:
        made = LambdaFunctions(lambda seconds: clients.lambdas(aws.session, seconds), lambda seconds: None)
        return Elsewhere(lambdas=made)(arguments).of("lambda", function=name)


@pytest.mark.parametrize("name", ["orders", ARN])
def test_a_lambda_gets_arguments_caller_and_key(name: str) -> None:
    events: list[tuple[str, Any]] = []

    def orders(function: str, event: Any) -> Any:
        events.append((function, event))
        return {"content": "Ordered ü.", "additional_data": {"order": 7}}

    outcome = asked(orders, {"items": ["é"], "deep": {"a": None}}, name)
    assert outcome == FunctionOutcome("Ordered ü.", True, {"order": 7})
    assert [event for _, event in events] == [
        {
            "function": "shop",
            "arguments": {"items": ["é"], "deep": {"a": None}},
            "idempotency_key": "key-1",
            "context": {"user_id": "ana", "project_id": "demo", "agent_id": "helper", "thread_id": "t-1"},
        }
    ]


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        ("Just text.", FunctionOutcome("Just text.")),
        (None, FunctionOutcome(NOTHING_SAID)),
        ({"orders": 1}, FunctionOutcome('{"orders": 1}')),
        ({"content": "There is no order X.", "ok": False}, FunctionOutcome("There is no order X.", False)),
        (
            {"content": 1},
            FunctionOutcome(
                "shop gave an answer in which content is no text, ok no boolean or additional_data no object."
                + MAYBE,
                False,
            ),
        ),
        (
            "x" * LARGEST_ANSWER,
            FunctionOutcome(f"shop answered with more than {LARGEST_ANSWER:,} bytes." + MAYBE, False),
        ),
    ],
)
def test_a_result_is_text_or_json_in_one_form(result: Any, outcome: FunctionOutcome) -> None:
    assert asked(lambda name, event: result, {}) == outcome


def test_a_lambda_that_fails_tells_nothing_of_its_inside() -> None:
    def breaks(name: str, event: Any) -> Any:
        raise RuntimeError("password=hunter2")

    assert asked(breaks, {}) == FunctionOutcome(f"shop ended with an error of its own.{MAYBE}", ok=False)


class Failing:
    """A Lambda client whose calls end so; then one that answers."""

    def __init__(self, *errors: Any) -> None:
        self.errors = list(errors)
        self.calls = 0
        self.real = boto3.client("lambda")

    def client(self, seconds: float) -> Any:
        return self

    def invoke(self, **wanted: Any) -> Any:
        self.calls += 1
        error = self.errors.pop(0) if self.errors else None
        if isinstance(error, str):
            with Stubber(self.real) as stubber:
                status = 500 if error == "ServiceException" else 400
                stubber.add_client_error("invoke", error, "10.0.0.7", status)
                return self.real.invoke(**wanted)
        if error is not None:
            raise error
        return {"Payload": _Payload(b'"fine"')}


class _Payload:
    def __init__(self, content: bytes) -> None:
        self._content = content

    def read(self) -> bytes:
        return self._content


@pytest.mark.parametrize(
    ("error", "words", "calls"),
    [
        ("AccessDeniedException", "is a Lambda function that may not be invoked from here." + NOTHING, 1),
        ("ResourceNotFoundException", "is a Lambda function that does not exist." + NOTHING, 1),
        ("RequestTooLargeException", "was given more than a Lambda function takes." + NOTHING, 1),
        ("InvalidRuntimeException", "was not invoked by Lambda (InvalidRuntimeException)." + NOTHING, 1),
        ("ServiceException", "was not invoked by Lambda (ServiceException)." + MAYBE, 1),
        (
            "TooManyRequestsException",
            "is busy: Lambda takes no more calls of it now." + NOTHING,
            TRIES,
        ),
        (EndpointConnectionError(endpoint_url="https://10.0.0.7"), "could not be reached." + NOTHING, TRIES),
        (ConnectTimeoutError(endpoint_url="https://10.0.0.7"), "could not be reached." + NOTHING, TRIES),
        (ReadTimeoutError(endpoint_url="https://10.0.0.7"), "did not answer within 10 s." + MAYBE, 1),
        (
            NoCredentialsError(),
            "is a Lambda function, and there are no AWS credentials or no region here: set AWS_PROFILE, or "
            "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION." + NOTHING,
            1,
        ),
    ],
)
def test_what_lambda_refuses_is_told_and_only_what_did_not_begin_is_tried_again(
    error: Any, words: str, calls: int
) -> None:
    client = Failing(*[error] * TRIES)
    functions = LambdaFunctions(client.client, lambda seconds: None)
    outcome = Elsewhere(lambdas=functions)().of("lambda", function="orders")
    assert outcome == FunctionOutcome(f"shop {words}", ok=False)
    assert client.calls == calls


def test_a_lambda_that_is_busy_for_a_moment_is_invoked_in_the_end() -> None:
    client = Failing("TooManyRequestsException")
    slept: list[float] = []
    outcome = Elsewhere(lambdas=LambdaFunctions(client.client, slept.append))().of(
        "lambda", function="orders"
    )
    assert outcome == FunctionOutcome("fine")
    assert len(slept) == 1


def test_a_client_waits_as_long_as_the_function_may_take_and_asks_once() -> None:
    client = clients.lambdas(boto3.session.Session(), 123)
    config: Any = client.meta.config
    assert config.read_timeout == 123
    assert config.retries["total_max_attempts"] == 1


def test_one_client_is_made_per_time_limit() -> None:
    made: list[float] = []

    def client(seconds: float) -> Any:
        made.append(seconds)
        return Failing()

    elsewhere = Elsewhere(lambdas=LambdaFunctions(client, lambda seconds: None))
    for seconds in (10, 10, 20):
        assert elsewhere(seconds=seconds).of("lambda", function="orders").ok
    assert made == [10, 20]
