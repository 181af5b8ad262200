"""Functions elsewhere as an installation wires them: its rules, its secrets, its credentials."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import boto3
import pytest

from parley import wiring
from parley.aws.secrets import KEPT_SECONDS
from parley.clock import MovableClock
from parley.domain.remote_functions import HttpFunction, LambdaFunction
from parley.turns.function_ports import FunctionOutcome, RemoteCall
from parley.turns.runtime import Runtime
from parley.variables import BadSetting
from tests.remote.conftest import SECRET
from tests.support.moto_aws import TABLE, MockedAws, mocked_aws
from tests.support.wire_server import Answer, WireServer

VARIABLES = {"PARLEY_TABLE": TABLE, "PARLEY_SECRETS_PREFIX": "/parley/"}


def call(runtime: Runtime, implementation: Any) -> FunctionOutcome:
    return runtime.functions.call(
        RemoteCall("shop", implementation, {}, "ana", "demo", "helper", "t-1", "key-1")
    )


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Any:
    with mocked_aws(lambda name, event: f"{name} for {event['context']['project_id']}") as mocked:
        monkeypatch.setattr(boto3.session, "Session", lambda: mocked.session)
        yield mocked


@pytest.mark.parametrize(
    "url", ["http://example.com/", "https://127.0.0.1:9001/2018-06-01/runtime/invocation/next"]
)
def test_on_aws_nothing_within_is_reached(aws: MockedAws, url: str) -> None:
    runtime = wiring.aws_runtime(VARIABLES, clock=MovableClock())
    outcome = call(runtime, HttpFunction(url=url))
    assert not outcome.ok
    assert outcome.content.endswith("Nothing was done.")
    with pytest.raises(BadSetting):
        wiring.aws_runtime({**VARIABLES, "PARLEY_FUNCTION_HOSTS": "*"}, clock=MovableClock())


def test_on_aws_lambdas_are_invoked_and_secrets_are_parameters(aws: MockedAws) -> None:
    clock = MovableClock()
    runtime = wiring.aws_runtime(VARIABLES, clock=clock)
    assert call(runtime, LambdaFunction(function="orders")) == FunctionOutcome("orders for demo")
    needs = HttpFunction(url="https://nowhere.invalid/", secret="SHOP_KEY")
    assert "set PARLEY_SECRET__demo__SHOP_KEY" in call(runtime, needs).content
    name = "/parley/PARLEY_SECRET__demo__SHOP_KEY"
    aws.client("ssm").put_parameter(Name=name, Value="half\na header", Type="SecureString")
    clock.advance(KEPT_SECONDS)
    assert "its secret holds characters that no header may have" in call(runtime, needs).content


def test_no_level_of_logging_tells_a_secret(
    aws: MockedAws, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    aws.client("ssm").put_parameter(
        Name="/parley/PARLEY_SECRET__demo__SHOP_KEY", Value=SECRET, Type="SecureString"
    )
    for name, value in {**VARIABLES, "PARLEY_BACKEND": "aws"}.items():
        monkeypatch.setenv(name, value)
    wiring._from_environment.cache_clear()
    before = {name: logging.getLogger(name).level for name in wiring._TALKATIVE}
    caplog.set_level(logging.DEBUG)
    try:
        outcome = call(wiring.runtime(), HttpFunction(url="https://nowhere.invalid/", secret="SHOP_KEY"))
    finally:
        wiring._from_environment.cache_clear()
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
    assert outcome.content == "shop could not be reached. Nothing was done."
    assert SECRET not in caplog.text


def test_on_a_laptop_this_machine_is_reached_with_secrets_of_the_environment(
    tmp_path: Path, server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARLEY_SECRET__demo__SHOP_KEY", SECRET)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server.answers.append(Answer((b"fine",), headers={"content-type": "text/plain"}))
    installation = wiring.embedded(tmp_path, clock=MovableClock(), demo_user=None)
    try:
        outcome = call(installation.runtime, HttpFunction(url=server.url, secret="SHOP_KEY"))
    finally:
        installation.close()
        wiring.use(None)
    assert outcome == FunctionOutcome("fine")
    assert server.received[0].headers["authorization"] == f"Bearer {SECRET}"


@pytest.mark.parametrize(
    "settings",
    [
        {"AWS_PROFILE": "none-such"},
        {"AWS_REGION": "not a region"},
        {"AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL_LAMBDA": "nonsense"},
    ],
)
def test_aws_settings_that_cannot_be_used_are_the_owners_to_mend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str]
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    installation = wiring.embedded(tmp_path, clock=MovableClock(), demo_user=None)
    try:
        outcome = call(installation.runtime, LambdaFunction(function="orders"))
    finally:
        installation.close()
        wiring.use(None)
    assert outcome.content == (
        "shop is a Lambda function, and the AWS settings here cannot be used; the server's log says why. "
        "Nothing was done."
    )
