"""AWS in this process, for tests: moto with a table, a bucket, running state machines and answering Lambdas.

`mocked_aws` gives it and takes it down again, threads included. Time in it is real; ``pace`` shortens what
state machines sleep between tries and in Wait states (timeouts stay real).
"""

from __future__ import annotations

import copy
import functools
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import boto3
import botocore.session
from botocore.loaders import Loader
from moto import mock_aws
from moto.core.config import DefaultConfig, default_user_config
from moto.dynamodb.models import dynamodb_backends
from moto.stepfunctions.parser.asl.component.common.retry import retrier_decl
from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils
from moto.stepfunctions.parser.asl.component.state.wait.wait_function.wait_function import WaitFunction
from moto.stepfunctions.parser.models import stepfunctions_parser_backends
from moto.stepfunctions.parser.utils import TMP_THREADS

from tests.support import moto_answers
from tests.support.bedrock_knowledge import KnowledgeBase
from tests.support.moto_repairs import Repair, repaired
from tests.support.moto_speed import quick
from tests.support.moto_task_repairs import interrupt_tokens
from tests.support.waiting import PATIENCE, wait_until

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
    """The mocked account. ``functions`` may be set later; ``gone`` are connections that API Gateway lost.

    While ``closing`` is set, machines sleep no longer between their tries.
    """

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
    closing: threading.Event = field(default_factory=threading.Event)

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

    @staticmethod
    def copy_items(source: str, target: str) -> None:
        """Fill a table with what is in another: writing it anew takes some 5 ms an item."""
        tables = dynamodb_backends[ACCOUNT][REGION].tables
        tables[target].items = copy.deepcopy(tables[source].items)

    def forget(self, *, machines: bool = False) -> None:
        """End what runs and drop every item and execution: a query of moto's looks at all items of a table.

        ``machines``: the state machines too.
        """
        self.closing.set()
        _end_executions()
        self.closing.clear()
        dynamodb_backends[ACCOUNT][REGION].tables[self.table].items.clear()
        known = stepfunctions_parser_backends[ACCOUNT][REGION].state_machines
        for machine in known:
            machine.executions.clear()
        if machines:
            known.clear()
        self.frames.clear()
        self.invocations.clear()

    def running(self) -> list[str]:
        """Names of the executions that still run."""
        return [each.name for each in executions() if each.exec_status in (None, "RUNNING")]

    def wait_for_rest(self) -> None:
        """Wait until no execution runs."""
        wait_until(lambda: not self.running(), what="every execution has ended")


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
    with repaired(without=without), quick(), _paced(pace, closing), mock_aws(config=config):
        session = _new_default_session()
        aws = MockedAws(session, functions, closing=closing)
        events: Any = session.events
        events.register("before-send.lambda.Invoke", lambda request, **_: moto_answers.invoke(aws, request))
        events.register(
            "before-send.apigatewaymanagementapi.PostToConnection",
            lambda request, **_: moto_answers.post(aws, request),
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


def executions() -> list[Any]:
    """All executions of the account, moto's own objects."""
    backend = stepfunctions_parser_backends[ACCOUNT][REGION]
    return [execution for machine in backend.state_machines for execution in machine.executions]


def _end_executions() -> None:
    """Stop what runs and wait for moto's threads, so that none of them calls AWS after the mock is gone."""
    until = time.monotonic() + PATIENCE
    while left := [thread for thread in TMP_THREADS if thread.is_alive()]:
        if time.monotonic() > until:
            raise RuntimeError(f"threads of moto outlived the test: {[thread.name for thread in left]}")
        # Again and again, because some may only just have begun.
        for execution in executions():
            environment = execution.exec_worker and execution.exec_worker.env
            if environment:
                execution.stop(stop_date=None, error=None, cause="the test is over")
                interrupt_tokens(environment)
        left[0].join(0.02)
    TMP_THREADS.clear()
