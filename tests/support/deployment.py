"""The template's functions in this process: each with its own environment of the template, on mocked AWS.

What a function asks of AWS is written down, and held against what its role allows.
"""

import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any
from unittest import mock

import boto3

from parley import assets, wiring
from parley.aws import clients
from parley.clock import MovableClock
from parley.turns.runtime import Runtime
from tests.support.moto_aws import MockedAws
from tests.support.template import allowed_actions, resources, source

# It ends at once: these tests walk from state to state themselves.
NOTHING = {"StartAt": "Nothing", "States": {"Nothing": {"Type": "Succeed"}}}

ABSENT = {"Ref": "AWS::NoValue"}

_IAM_SERVICES = {"stepfunctions": "states", "apigatewaymanagementapi": "execute-api"}
_IAM_ACTIONS = {
    "s3:ListObjectsV2": "s3:ListBucket",
    "execute-api:PostToConnection": "execute-api:ManageConnections",
    "lambda:Invoke": "lambda:InvokeFunction",
}


class Account:
    """The mocked account and its clients, made once: making them is slow.

    ``overstepped`` are the calls that a function made and its role does not allow.
    """

    def __init__(self, aws: MockedAws) -> None:
        self.aws = aws
        self.acting: str | None = None
        self.overstepped: set[tuple[str, str]] = set()

    def note(self, model: Any, **_: Any) -> None:
        """A call to AWS."""
        service = model.service_model.service_name
        action = f"{_IAM_SERVICES.get(service, service)}:{model.name}"
        action = _IAM_ACTIONS.get(action, action)
        if self.acting and action not in allowed_actions(f"{self.acting}Role"):
            self.overstepped.add((self.acting, action))


@contextmanager
def account(aws: MockedAws) -> Iterator[Account]:
    """The account, for as long as stacks stand in it."""
    found = Account(aws)
    factories = ("apigatewaymanagementapi", "dynamodb", "s3", "ssm", "stepfunctions")
    cached: Any = {name: cache(getattr(clients, name)) for name in factories}
    events: Any = aws.session.events
    events.register("before-call", found.note)
    with (
        mock.patch.object(boto3.session, "Session", return_value=aws.session),
        mock.patch.multiple(clients, **cached),
    ):
        yield found
    events.unregister("before-call", found.note)


class Deployment:
    """One stack: a ``table`` and a machine of its own."""

    def __init__(self, account: Account, clock: MovableClock) -> None:
        self.account = account
        self.aws = account.aws
        self.clock = clock
        self._functions = resources("AWS::Lambda::Function")
        self._runtimes: dict[str, Runtime] = {}
        name = f"stack-{uuid.uuid4().hex}"
        self.table = self.aws.create_table(name)
        self._values = {
            "Table": self.table,
            "Bucket": self.aws.bucket,
            "stateMachine": self.aws.create_machine(NOTHING, name=name),
            "SocketApi": self.aws.socket_endpoint,
            "AWS::StackName": "/parley/",
        }

    def invoke(self, function: str, event: Any) -> Any:
        """Invoke a function by its logical id; the result as JSON carries it."""
        handler = assets.handler(self._functions[function]["Handler"])
        with self.acting_as(function) as runtime:
            wiring.use(runtime)
            try:
                return json.loads(json.dumps(handler(event, Context(function))))
            finally:
                wiring.use(None)

    @contextmanager
    def acting_as(self, function: str) -> Iterator[Runtime]:
        """What is called meanwhile needs the rights of that function's role."""
        runtime = self.runtime(function)
        self.account.acting = function
        try:
            yield runtime
        finally:
            self.account.acting = None

    def runtime(self, function: str) -> Runtime:
        """What a function works on: its own variables and no others."""
        if function not in self._runtimes:
            variables: Mapping[str, Any] = self._functions[function]["Environment"]["Variables"]
            chosen = {name: _chosen(value) for name, value in variables.items()}
            environment = {name: self._value(value) for name, value in chosen.items() if value != ABSENT}
            self._runtimes[function] = wiring.aws_runtime(environment, clock=self.clock)
        return self._runtimes[function]

    def _value(self, value: Any) -> str:
        """A variable's value, as far as the template's variables need it."""
        if isinstance(value, str):
            return value
        if "Ref" in value:
            name = value["Ref"]
            return self._values.get(name) or str(source()["Parameters"][name]["Default"])
        return next(known for name, known in self._values.items() if name in value["Fn::Sub"])


def _chosen(value: Any) -> Any:
    """What a value is in a stack with the template's defaults: its conditions switch parts on, so none holds."""
    return value["Fn::If"][2] if isinstance(value, dict) and "Fn::If" in value else value


class Context:
    """A Lambda context, as far as Powertools asks for it."""

    function_version = "$LATEST"
    memory_limit_in_mb = 512
    aws_request_id = "00000000-0000-0000-0000-000000000000"

    def __init__(self, function: str) -> None:
        self.function_name = function
        self.invoked_function_arn = MockedAws.function_arn(function)

    def get_remaining_time_in_millis(self) -> int:
        """Enough."""
        return 60_000
