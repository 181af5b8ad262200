"""Puts the parts together: which backend, which settings. The only module that reads the environment.

A Lambda calls ``runtime()``, which builds the AWS runtime once per process. A laptop calls ``embedded(folder)``
and ``use(installation.runtime)``; the very same handlers then work on that.
"""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.metrics import MetricUnit

from parley import variables
from parley.clock import SystemClock
from parley.providers.client import ProviderClient
from parley.providers.registry import ProviderRegistry
from parley.tools.registry import FunctionRegistry
from parley.tools.remote import RemoteFunctions
from parley.turns import agents, knowledge, projects
from parley.turns.function_ports import LambdaInvoker
from parley.turns.knowledge_ports import Knowledge
from parley.turns.ports import Clock, Secrets
from parley.turns.repair import Repaired
from parley.turns.rollout_ports import Flags, Meter, NoFlags, NoMeter
from parley.turns.runtime import Runtime
from parley.variables import BadSetting, VariablesFirst

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

    from parley.aws.page_host import PageHost
    from parley.embedded.database import Durability
    from parley.installation import Installation

ENVIRONMENT = frozenset(
    {
        "PARLEY_BACKEND",
        "PARLEY_TABLE",
        "PARLEY_BUCKET",
        "PARLEY_STATE_MACHINE_ARN",
        "PARLEY_SOCKET_ENDPOINT",
        "PARLEY_SECRETS_PREFIX",
        "PARLEY_PACKS",
        "PARLEY_CHUNK_MILLISECONDS",
        "PARLEY_EVENT_RETENTION_DAYS",
        "PARLEY_DEMO_USER",
        "PARLEY_FLAGS",
        "PARLEY_FUNCTION_HOSTS",
        "PARLEY_KNOWLEDGE_BASE_ID",
        "PARLEY_KNOWLEDGE_DATA_SOURCE_ID",
    }
)
"""The variables that the template sets; provider settings such as OPENAI_BASE_URL come on top."""

_TALKATIVE = ("boto3", "botocore", "httpcore", "httpcore2", "httpx", "httpx2", "mcp", "urllib3")
"""Packages that log addresses with what stands in them, and at DEBUG bodies, keys and all."""

DEMO_PROJECT = "demo"
DEMO_PACK = "parley_marketer"

_used: Runtime | None = None


def use(runtime: Runtime | None) -> None:
    """Let this process's handlers work on ``runtime``; None goes back to the environment's."""
    global _used  # noqa: PLW0603 - one runtime per process, as a Lambda has one environment
    _used = runtime


def runtime() -> Runtime:
    """The runtime that this process's handlers work on."""
    return _used or _from_environment()


@cache
def _from_environment() -> Runtime:
    backend = os.environ.get("PARLEY_BACKEND", "")
    if backend != "aws":
        raise RuntimeError(
            f"PARLEY_BACKEND is {backend!r}; a deployed function has aws, a laptop runs parley serve or parley chat"
        )
    for name in _TALKATIVE:  # the level that a stack is deployed with is Lambda's for every logger
        logging.getLogger(name).setLevel(logging.WARNING)
    built = aws_runtime(os.environ)
    demo_user = os.environ.get("PARLEY_DEMO_USER")
    if demo_user and DEMO_PACK in variables.modules(os.environ.get("PARLEY_PACKS", "")):
        ensure_demo(built, demo_user)
    return built


def aws_runtime(environment: Any, *, clock: Clock | None = None) -> Runtime:
    """The runtime on AWS, from the variables that the template sets. A part whose variable is missing is absent."""
    import boto3

    from parley.aws import blobs, clients, orchestrator, pusher, store

    session = boto3.session.Session()
    clock = clock or SystemClock()
    table = store.DynamoStore(clients.dynamodb(session), environment["PARLEY_TABLE"], clock)
    settings = _aws_settings(session, environment, clock)
    objects = blobs.S3Blobs(clients.s3(session), environment.get("PARLEY_BUCKET", ""))
    models = ProviderRegistry(settings, sleep=clock.sleep)
    passages = _knowledge(session, environment)
    return Runtime(
        store=table,
        blobs=objects,
        orchestrator=orchestrator.StepFunctionsOrchestrator(
            clients.stepfunctions(session), environment.get("PARLEY_STATE_MACHINE_ARN", "")
        ),
        pusher=pusher.ApiGatewayPusher(
            clients.apigatewaymanagementapi(
                session, environment.get("PARLEY_SOCKET_ENDPOINT", "https://unset.invalid")
            )
        ),
        clock=clock,
        providers=models,
        functions=FunctionRegistry(
            table,
            clock,
            modules=variables.modules(environment.get("PARLEY_PACKS", "")),
            blobs=objects,
            image_makers=models,
            knowledge=passages,
            remote=_remote_functions(settings, environment, clock, session),
        ),
        settings=variables.settings(environment, chunk_milliseconds=150),
        flags=_appconfig_flags(session, environment.get("PARLEY_FLAGS", "")),
        meter=_emf_meter(environment),
        knowledge=passages,
    )


def _aws_settings(session: Any, environment: Any, clock: Clock) -> Secrets:
    from parley.aws import clients, secrets

    prefix = environment.get("PARLEY_SECRETS_PREFIX", "/parley")
    return VariablesFirst(environment, secrets.SsmSecrets(clients.ssm(session), prefix, clock))


def page_host(stack: str, *, region: str | None, profile: str | None) -> PageHost:
    """Where a deployed stack's page goes. Raises PageNotHosted."""
    import boto3

    from parley.aws.page_host import open_page_host

    return open_page_host(boto3.session.Session(region_name=region, profile_name=profile), stack)


def _remote_functions(
    settings: Secrets, environment: Any, clock: Clock, session: Any = None
) -> RemoteFunctions:
    """Functions that run elsewhere. ``session``: AWS's, if this runs there."""

    def lambdas() -> LambdaInvoker:
        import boto3

        from parley.aws import clients
        from parley.aws.lambdas import LambdaFunctions

        def client(seconds: float) -> LambdaClient:
            # As with Bedrock: AWS's other tools know this variable, boto3 does not.
            own = session or boto3.session.Session(region_name=settings.get("AWS_REGION"))
            return clients.lambdas(own, seconds)

        return LambdaFunctions(client, clock.sleep)

    hosts = variables.function_hosts(environment, on_aws=session is not None)
    return RemoteFunctions(settings, hosts, lambdas, clock.sleep)


def _knowledge(session: Any, environment: Any) -> Knowledge | None:
    names = ("PARLEY_KNOWLEDGE_BASE_ID", "PARLEY_KNOWLEDGE_DATA_SOURCE_ID")
    given = [environment.get(name) or "" for name in names]
    if not any(given):
        return None
    if not all(given):
        raise BadSetting(f"{names[given.index('')]} is not set; a knowledge base needs {' and '.join(names)}")
    from parley.aws.knowledge import bedrock_knowledge

    return bedrock_knowledge(session, *given)


def _appconfig_flags(session: Any, names: str) -> Flags:
    """``names``: application, environment and profile in AppConfig, with a slash between them."""
    if not names:
        return NoFlags()
    from parley.aws import clients, flags

    application, environment, profile = variables.flag_names(names)
    return flags.appconfig_flags(clients.appconfigdata(session), application, environment, profile)


def _emf_meter(environment: Any) -> Meter:
    """Only where a log is read by CloudWatch."""
    namespace = environment.get("POWERTOOLS_METRICS_NAMESPACE")
    if not namespace:
        return NoMeter()
    from parley.aws import meter

    return meter.EmfMeter(namespace, environment.get("POWERTOOLS_SERVICE_NAME"))


def provider_client(name: str) -> ProviderClient:
    """One provider with this environment's settings, without a conversation. Raises ProviderNotConfigured."""
    return ProviderClient(name, VariablesFirst(os.environ))


def no_color() -> bool:
    """Whether the terminal's user wants no colours (https://no-color.org)."""
    return bool(os.environ.get("NO_COLOR"))


def ensure_demo(runtime: Runtime, user_id: str) -> None:
    """The demo project with its agents and data, once; the user becomes its owner.

    The project's own record comes last: a start that is cut off is made whole by the next.
    """
    projects.ensure_member(runtime, DEMO_PROJECT, user_id, projects.Role.OWNER)
    if projects.has_project(runtime, DEMO_PROJECT):
        return
    pack = importlib.import_module(DEMO_PACK)
    pack.install(runtime.store, DEMO_PROJECT, runtime.clock)
    for agent in pack.agents():
        agents.put_agent(runtime, DEMO_PROJECT, agent)
    knowledge.install(runtime, DEMO_PROJECT, pack.documents())
    projects.ensure_project(runtime, projects.Project(project_id=DEMO_PROJECT, name="Demo"))


def count_repairs(done: Repaired) -> None:
    """Report what repair did as metrics; a pass that found nothing says nothing."""
    if not (done.looked_at or done.failed) or os.environ.get("PARLEY_BACKEND") != "aws":
        return
    metrics = Metrics()
    metrics.add_metric(name="RunsRestarted", unit=MetricUnit.Count, value=done.restarted)
    metrics.add_metric(name="SignalsRepaired", unit=MetricUnit.Count, value=done.signalled)
    metrics.add_metric(name="RepairsFailed", unit=MetricUnit.Count, value=done.failed)
    metrics.flush_metrics()


def embedded(
    data: Path,
    *,
    clock: Any = None,
    synchronous: Durability | None = None,
    workers: int = 64,
    demo_user: str | None = "dev",
    environment: Mapping[str, str] | None = None,
    working: bool = True,
) -> Installation:
    """Open a data folder for this process's handlers. Raises FolderLocked and StorageError.

    ``workers``: tasks at once; most of their time they wait for a model. ``environment`` stands for the process's own.
    Not ``working``: no conversation goes on meanwhile.
    """
    # What the embedded backend needs is not in the Lambda layer.
    from parley.installation import Choices, open_folder

    clock = clock or SystemClock()
    given = os.environ if environment is None else environment
    secrets = VariablesFirst(given)
    choices = Choices(
        secrets=secrets,
        remote=_remote_functions(secrets, given, clock),
        settings=variables.settings(given, chunk_milliseconds=50),
        packs=variables.modules(given.get("PARLEY_PACKS", DEMO_PACK)),
        synchronous=synchronous or variables.durability(given),
        workers=workers,
        flags=Path(flags) if (flags := given.get("PARLEY_FLAGS")) else None,
        working=working,
    )
    installation = open_folder(data, choices, clock)
    try:
        use(installation.runtime)
        if demo_user:
            ensure_demo(installation.runtime, demo_user)
        installation.begin()
    except BaseException:
        installation.close()
        raise
    return installation
