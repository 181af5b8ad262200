"""How long we wait for an AWS service, and how often we ask again: one client factory per service.

boto3's own defaults (60 s to connect, 60 s to read, up to ten tries) outlast every Lambda timeout of ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.config import Config

if TYPE_CHECKING:
    from boto3.session import Session
    from mypy_boto3_apigatewaymanagementapi import ApiGatewayManagementApiClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_ssm import SSMClient
    from mypy_boto3_stepfunctions import SFNClient

CONNECTIONS = 32
"""Connections kept per client: at least the threads that one process calls from at once."""


def _patient(read_timeout: float, tries: int = 4) -> Config:
    return Config(
        connect_timeout=2,
        read_timeout=read_timeout,
        max_pool_connections=CONNECTIONS,
        retries={"mode": "standard", "total_max_attempts": tries},
        tcp_keepalive=True,
    )


def dynamodb(session: Session) -> DynamoDBClient:
    """For DynamoStore. An answer that takes seconds will not come: ask again soon."""
    return session.client("dynamodb", config=_patient(3))


def s3(session: Session) -> S3Client:
    """For S3Blobs. Values may be megabytes, so the time between two reads is longer."""
    return session.client("s3", config=_patient(10))


def stepfunctions(session: Session) -> SFNClient:
    """For StepFunctionsOrchestrator."""
    return session.client("stepfunctions", config=_patient(5))


def ssm(session: Session) -> SSMClient:
    """For SsmSecrets."""
    return session.client("ssm", config=_patient(5))


def appconfigdata(session: Session) -> Any:
    """For the feature flags. A prompt waits for them: one short try, and the flags known so far."""
    config = Config(connect_timeout=1, read_timeout=2, retries={"mode": "standard", "total_max_attempts": 1})
    client: Any = session.client("appconfigdata", config=config)
    return client


def cloudformation(session: Session) -> Any:
    """For PageHost, at a person's command: a stack's outputs."""
    client: Any = session.client("cloudformation", config=_patient(20))
    return client


def cloudfront(session: Session) -> Any:
    """For PageHost."""
    client: Any = session.client("cloudfront", config=_patient(20))
    return client


def bedrock_agent(session: Session) -> Any:
    """For BedrockKnowledge: documents go in and out. A large one takes a moment, and a request waits for it."""
    client: Any = session.client("bedrock-agent", config=_patient(10, tries=2))
    return client


def bedrock_agent_runtime(session: Session) -> Any:
    """For BedrockKnowledge: searches."""
    client: Any = session.client("bedrock-agent-runtime", config=_patient(10, tries=2))
    return client


def lambdas(session: Session, seconds: float) -> LambdaClient:
    """For LambdaFunctions that answer within ``seconds``. One try: a second would run a slow function again."""
    config = Config(
        connect_timeout=2,
        read_timeout=seconds,
        max_pool_connections=CONNECTIONS,
        retries={"mode": "standard", "total_max_attempts": 1},
        tcp_keepalive=True,
    )
    return session.client("lambda", config=config)


def apigatewaymanagementapi(session: Session, endpoint_url: str) -> ApiGatewayManagementApiClient:
    """For ApiGatewayPusher; ``endpoint_url`` is ``https://{api}.execute-api.{region}.amazonaws.com/{stage}``.

    One try of at most two seconds: the frame is in the event log, and a turn does not wait for a client.
    """
    config = Config(
        connect_timeout=1,
        read_timeout=1,
        max_pool_connections=CONNECTIONS,
        retries={"mode": "standard", "total_max_attempts": 1},
    )
    return session.client("apigatewaymanagementapi", endpoint_url=endpoint_url, config=config)
