"""AWS in this process, for tests: moto with a table, a bucket, running state machines and answering Lambdas.

`mocked_aws` gives it and takes it down again, threads included. Time in it is real; ``pace`` shortens what
state machines sleep between tries and in Wait states (timeouts stay real).
"""

from __future__ import annotations

import functools
import json
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock
from urllib.parse import unquote, urlsplit

import boto3
import botocore.session
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.loaders import Loader
from moto import mock_aws
from moto.core.config import DefaultConfig, default_user_config
from moto.dynamodb.models import dynamodb_backends
from moto.stepfunctions.parser.asl.component.common.retry import retrier_decl
from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils
from moto.stepfunctions.parser.asl.component.state.wait.wait_function.wait_function import WaitFunction
from moto.stepfunctions.parser.models import stepfunctions_parser_backends
from moto.stepfunctions.parser.utils import TMP_THREADS

from tests.support.bedrock_knowledge import KnowledgeBase
from tests.support.moto_repairs import Repair, repaired
from tests.support.moto_task_repairs import interrupt_tokens

ACCOUNT = "123456789012"
REGION = "eu-central-1"
TABLE = "parley-test-items"
BUCKET = "parley-test-blobs"
MACHINE = "parley-test-conversation"
SOCKET_ENDPOINT = f"https://socketapi.execute-api.{REGION}.amazonaws.com/live"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/parley-test"

Functions = Callable[[str, Any], Any]
"""What answers invocations: (function name, payload) -> result; what it raises is the Lambda's error."""


def _no_function(name: str, payload: Any) -> Any:
    raise LookupError(f"this test answers no function, and {name} was invoked")


@dataclass
class MockedAws:
    """The mocked account. ``functions`` may be set later; ``gone`` are connections that API Gateway lost."""

    session: boto3.Session
    functions: Functions = _no_function
    frames: list[tuple[str, str]] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    invocations: list[tuple[str, Any]] = field(default_factory=list)
    knowledge: KnowledgeBase = field(default_factory=KnowledgeBase)
    table: str = TABLE
    bucket: str = BUCKET
    region: str = REGION
    socket_endpoint: str = SOCKET_ENDPOINT

    def client(self, service: str, **options: Any) -> Any:
        """A client of the mocked account; `parley.aws.clients` with ``session`` gives the configured ones."""
        if service == "apigatewaymanagementapi":
            options.setdefault("endpoint_url", SOCKET_ENDPOINT)
        make: Any = self.session.client  # its overloads want literal names
        return make(service, **options)

    @staticmethod
    def machine_arn(name: str = MACHINE) -> str:
        """The ARN that a machine of that name has."""
        return f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:{name}"

    @staticmethod
    def function_arn(name: str) -> str:
        """The ARN of a Lambda function: any name will do."""
        return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}"

    def create_machine(
        self,
        definition: str | Mapping[str, Any],
        substitutions: Mapping[str, str] | None = None,
        *,
        name: str = MACHINE,
    ) -> str:
        """A state machine from ASL, ``${Name}`` replaced as SAM's DefinitionSubstitutions are; its ARN."""
        text = definition if isinstance(definition, str) else json.dumps(definition)
        for key, value in (substitutions or {}).items():
            text = text.replace(f"${{{key}}}", value)
        created = self.client("stepfunctions").create_state_machine(name=name, definition=text, roleArn=ROLE)
        return str(created["stateMachineArn"])

    def create_table(self, name: str = TABLE) -> str:
        """An empty table, as template.yaml has it; its name."""
        client = self.client("dynamodb")
        names = ("pk", "sk", "due_partition", "due_sort", "listed_partition", "listed_sort")
        client.create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": each, "AttributeType": "S"} for each in names],
            KeySchema=_keys("pk", "sk"),
            GlobalSecondaryIndexes=[
                {
                    "IndexName": index,
                    "KeySchema": _keys(f"{index}_partition", f"{index}_sort"),
                    "Projection": {"ProjectionType": "KEYS_ONLY"},
                }
                for index in ("due", "listed")
            ],
        )
        expiry = {"AttributeName": "expires_at", "Enabled": True}
        client.update_time_to_live(TableName=name, TimeToLiveSpecification=expiry)
        return name

    def forget(self) -> None:
        """End what runs and drop every item and execution: a query of moto's looks at all items of a table."""
        _end_executions()
        dynamodb_backends[ACCOUNT][REGION].tables[self.table].items.clear()
        for machine in stepfunctions_parser_backends[ACCOUNT][REGION].state_machines:
            machine.executions.clear()
        self.frames.clear()
        self.invocations.clear()

    def running(self) -> list[str]:
        """Names of the executions that still run."""
        return [each.name for each in _executions() if each.status == "RUNNING"]

    def wait_for_rest(self, timeout: float = 20.0) -> None:
        """Wait until no execution runs."""
        wait_until(lambda: not self.running(), timeout=timeout, what="every execution has ended")


def wait_until(condition: Callable[[], Any], *, timeout: float = 10.0, what: str = "") -> Any:
    """The first true value of ``condition``; fails after ``timeout`` real seconds."""
    until = time.monotonic() + timeout
    while not (value := condition()):
        if time.monotonic() > until:
            raise TimeoutError(f"not within {timeout} s: {what or condition}")
        time.sleep(0.005)
    return value


@contextmanager
def mocked_aws(
    functions: Functions = _no_function, *, pace: float = 1.0, without: Repair | None = None
) -> Iterator[MockedAws]:
    """An empty account with our table and bucket. ``without`` leaves one repair of moto out."""
    closing = threading.Event()
    # A request for which moto has an answer would get it, whatever another handler says.
    ours = {"services": ["bedrockagent"], "urls": []}
    config: DefaultConfig = {
        "stepfunctions": {"execute_state_machine": True},
        "core": {**default_user_config["core"], "passthrough": ours},  # type: ignore[typeddict-item]
    }
    with repaired(without=without), _paced(pace, closing), mock_aws(config=config):
        session = _new_default_session()
        aws = MockedAws(session, functions)
        events: Any = session.events
        events.register("before-send.lambda.Invoke", lambda request, **_: _invoke(aws, request))
        events.register(
            "before-send.apigatewaymanagementapi.PostToConnection", lambda request, **_: _post(aws, request)
        )
        aws.knowledge.answer_on(events)
        # A task's time runs while its client is made, so that is done before.
        lambdas: Any = lambda_eval_utils
        lambdas.boto_client_for(region=REGION, service="lambda")
        aws.create_table()
        aws.client("s3").create_bucket(
            Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION}
        )
        try:
            yield aws
        finally:
            closing.set()
            _end_executions()


@functools.cache
def _loader() -> Loader:
    """One reader of the service models for all sessions: reading them takes longer than most tests."""
    return Loader()


def _new_default_session() -> boto3.Session:
    core = botocore.session.Session()
    core.register_component("data_loader", _loader())
    boto3.setup_default_session(botocore_session=core, region_name=REGION)
    return boto3._get_default_session()


def _keys(partition: str, sort: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": partition, "KeyType": "HASH"},
        {"AttributeName": sort, "KeyType": "RANGE"},
    ]


class _Body:
    """The raw body that botocore reads an answer from."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def read(self, *_: Any, **__: Any) -> bytes:
        content, self._content = self._content, b""
        return content

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        if content := self.read():
            yield content


def _answer(request: Any, status: int, body: Any, headers: Mapping[str, str] | None = None) -> AWSResponse:
    all_headers = HTTPHeaders()
    for name, value in {"x-amzn-requestid": "test", **(headers or {})}.items():
        all_headers[name] = value
    return AWSResponse(request.url, status, all_headers, _Body(json.dumps(body).encode()))


def _invoke(aws: MockedAws, request: Any) -> AWSResponse:
    """A Lambda invocation, answered as Lambda does; a function that kills its worker is Lambda.Unknown.

    https://docs.aws.amazon.com/lambda/latest/dg/python-exceptions.html
    """
    name = unquote(urlsplit(request.url).path.split("/")[-2]).rpartition(":")[2]
    payload = json.loads(request.body or b"null")
    aws.invocations.append((name, payload))
    version = {"X-Amz-Executed-Version": "$LATEST"}
    failed = {"X-Amz-Function-Error": "Unhandled", **version}
    try:
        result = aws.functions(name, payload)
    except Exception as error:  # noqa: BLE001 - a Lambda reports whatever its function raises
        trace = traceback.format_tb(error.__traceback__)
        body = {"errorMessage": str(error), "errorType": type(error).__name__, "stackTrace": trace}
        return _answer(request, 200, body, failed)
    except BaseException as error:  # noqa: BLE001 - models a killed worker
        return _answer(request, 200, {"errorMessage": str(error), "errorType": "Lambda.Unknown"}, failed)
    try:
        return _answer(request, 200, result, version)
    except TypeError as error:
        return _answer(
            request, 200, {"errorMessage": str(error), "errorType": "Runtime.MarshalError"}, failed
        )


def _post(aws: MockedAws, request: Any) -> AWSResponse:
    connection = unquote(urlsplit(request.url).path.rpartition("/")[2])
    if connection in aws.gone:
        return _answer(request, 410, {"message": "Gone"}, {"x-amzn-ErrorType": "GoneException"})
    body = request.body.read() if hasattr(request.body, "read") else request.body
    aws.frames.append((connection, bytes(body).decode()))
    return _answer(request, 200, {})


@contextmanager
def _paced(pace: float, closing: threading.Event) -> Iterator[None]:
    """Sleep ``pace`` times as long between tries and in Wait states, and no longer once it all closes."""
    wait_interval: Any = WaitFunction._wait_interval

    class Time:
        @staticmethod
        def sleep(seconds: float) -> None:
            closing.wait(seconds * pace)

    def wait(self: WaitFunction, env: Any, wait_seconds: float) -> None:
        wait_interval(self, env=env, wait_seconds=wait_seconds if pace == 1.0 else wait_seconds * pace)

    with (
        mock.patch.object(retrier_decl, "time", Time),
        mock.patch.object(WaitFunction, "_wait_interval", wait),
    ):
        yield


def _executions() -> list[Any]:
    backend = stepfunctions_parser_backends[ACCOUNT][REGION]
    return [execution for machine in backend.state_machines for execution in machine.executions]


def _end_executions() -> None:
    """Stop what runs and wait for moto's threads, so that none of them calls AWS after the mock is gone."""
    until = time.monotonic() + 10
    while left := [thread for thread in TMP_THREADS if thread.is_alive()]:
        if time.monotonic() > until:
            raise RuntimeError(f"threads of moto outlived the test: {[thread.name for thread in left]}")
        # Again and again, because some may only just have begun.
        for execution in _executions():
            environment = execution.exec_worker and execution.exec_worker.env
            if environment:
                execution.stop(stop_date=None, error=None, cause="the test is over")
                interrupt_tokens(environment)
        left[0].join(0.02)
    TMP_THREADS.clear()
