"""The Lambda functions: their code, their time, their settings, their logs."""

import importlib
import os
import re
import subprocess
import sys
import tomllib

import pytest

from parley import wiring
from parley.domain.remote_functions import LONGEST_LIMIT
from parley.providers.http import TimeLimits
from parley.tools.remote import LIST_SECONDS
from parley.turns.runtime import Settings
from tests.support.machine import ROOT, definition, lambda_tasks, substitutions
from tests.support.template import resources, source

FUNCTIONS = resources("AWS::Lambda::Function")
TASKS = lambda_tasks(definition())

# They run in InvokeModel's function, whose time is the model's. One that hangs is ended by the Task's limit.
SHORTER_THAN_THEIR_FUNCTION = {"BuildPrompt", "ProposeActions"}


def function_of(state: str) -> str:
    """The logical id of the function that a Task state invokes."""
    (name,) = substitutions(TASKS[state]["Parameters"]["FunctionName"])
    return name.removesuffix("Arn")


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_handler_can_be_imported_by_the_name_that_lambda_uses(name: str) -> None:
    module, _, attribute = FUNCTIONS[name]["Handler"].rpartition(".")
    assert callable(getattr(importlib.import_module(module), attribute))


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_function_runs_on_the_layers_own_runtime_and_processor(name: str) -> None:
    function = FUNCTIONS[name]
    assert function["Runtime"] == "python3.13"
    assert function["Architectures"] == ["arm64"]
    layers = {layer["Ref"].rstrip("0123456789abcdef") for layer in function["Layers"]}
    assert layers - {"McpLayer"} == {"RuntimeLayer", "MarketerLayer"}


def test_only_what_talks_to_mcp_servers_carries_their_client() -> None:
    carrying = {name for name, function in FUNCTIONS.items() if len(function["Layers"]) == 3}
    assert carrying == {"ApiFunction", "ToolTasksFunction"}


def test_the_layers_are_built_for_the_processor_that_they_run_on() -> None:
    layers = [
        each for each in source()["Resources"].values() if each["Type"] == "AWS::Serverless::LayerVersion"
    ]
    assert len(layers) == 3
    for layer in layers:
        assert layer["Metadata"] == {"BuildMethod": "python3.13", "BuildArchitecture": "arm64"}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_function_has_a_log_of_its_own_that_is_not_kept_for_ever(name: str) -> None:
    logs = resources("AWS::Logs::LogGroup")
    log = FUNCTIONS[name]["LoggingConfig"]["LogGroup"]["Ref"]
    assert logs[log]["RetentionInDays"] == {"Ref": "LogRetentionDays"}
    assert [other["LoggingConfig"]["LogGroup"]["Ref"] for other in FUNCTIONS.values()].count(log) == 1


def test_no_log_is_kept_for_ever() -> None:
    assert all("RetentionInDays" in log for log in resources("AWS::Logs::LogGroup").values())


@pytest.mark.parametrize("state", sorted(TASKS))
def test_a_function_ends_before_the_task_that_waits_for_it(state: str) -> None:
    if "TimeoutSecondsPath" in TASKS[state]:
        return  # a person's time, up to a month: Lambda's own limit ends a function that hangs
    ends_first = FUNCTIONS[function_of(state)]["Timeout"] < TASKS[state]["TimeoutSeconds"]
    assert ends_first != (state in SHORTER_THAN_THEIR_FUNCTION)


def test_a_model_call_ends_before_the_function_that_makes_it() -> None:
    limits, settings = TimeLimits(), Settings()
    # The provider may ask for a moment once, in the head of its answer, and is then called again.
    refused = limits.connect + limits.read + settings.retry_after_here
    answered = limits.connect + limits.total + limits.read
    assert refused + answered < FUNCTIONS[function_of("InvokeModel")]["Timeout"]


def test_a_functions_longest_limit_ends_before_the_lambda_that_waits_for_it() -> None:
    assert FUNCTIONS[function_of("RunTool")]["Timeout"] > LONGEST_LIMIT + 30


def test_the_tools_of_a_few_mcp_servers_are_told_before_api_gateway_gives_up() -> None:
    assert FUNCTIONS["ApiFunction"]["Timeout"] > 3 * LIST_SECONDS


def test_an_answer_to_a_request_comes_before_api_gateway_gives_up() -> None:
    assert 20 < FUNCTIONS["ApiFunction"]["Timeout"] < 30
    assert FUNCTIONS["SocketFunction"]["Timeout"] < 29


def test_the_environment_is_what_wiring_reads() -> None:
    given = {
        name
        for function in FUNCTIONS.values()
        for name in function["Environment"]["Variables"]
        if name.startswith("PARLEY_")
    }
    assert given == wiring.ENVIRONMENT


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_function_says_who_it_is_in_its_logs_and_metrics(name: str) -> None:
    variables = FUNCTIONS[name]["Environment"]["Variables"]
    assert {
        "POWERTOOLS_SERVICE_NAME",
        "POWERTOOLS_METRICS_NAMESPACE",
        "POWERTOOLS_LOG_LEVEL",
    } <= variables.keys()
    assert variables["PARLEY_BACKEND"] == "aws"


def test_no_two_functions_bear_the_same_service_name() -> None:
    names = [
        function["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"] for function in FUNCTIONS.values()
    ]
    assert len(names) == len(set(names))


def test_repair_runs_every_minute_and_when_an_execution_dies() -> None:
    rules = resources("AWS::Events::Rule")
    (schedule,) = [rule for rule in rules.values() if "ScheduleExpression" in rule]
    (pattern,) = [rule["EventPattern"] for rule in rules.values() if "EventPattern" in rule]
    assert schedule["ScheduleExpression"] == "rate(1 minute)"
    assert pattern["detail-type"] == ["Step Functions Execution Status Change"]
    assert set(pattern["detail"]["status"]) == {"FAILED", "TIMED_OUT", "ABORTED"}
    assert pattern["detail"]["stateMachineArn"]


def test_every_handler_runs_without_what_the_layer_does_not_carry() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layer = {re.split(r"[\[<>=!;]", each)[0] for each in declared["dependency-groups"]["layer"]}
    others = {re.split(r"[\[<>=!;]", each)[0] for each in declared["project"]["dependencies"]} - layer
    # Lambda's own runtime has boto3; these are imported under other names than they are installed by.
    missing = sorted({"jwt" if each == "PyJWT" else each for each in others - {"boto3"}})
    handlers = sorted(path.stem for path in (ROOT / "functions" / "on_task").glob("*.py"))
    modules = [f"on_task.{name}" for name in handlers if name != "__init__"]
    modules += [function["Handler"].rpartition(".")[0] for function in FUNCTIONS.values()]
    program = (
        "import importlib, sys\n"
        f"sys.modules.update(dict.fromkeys({missing!r}))\n"
        f"for name in {modules!r}: importlib.import_module(name)\n"
        "import parley.aws.clients, parley.aws.orchestrator, parley.aws.store, parley_marketer\n"
    )
    paths = [str(ROOT / part) for part in ("functions", "layers/runtime", "layers/marketer")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, timeout=60)
