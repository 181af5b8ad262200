"""Who may do what, and what is kept from whom."""

import json
import re
from typing import Any

import pytest

from parley.domain.agents import Agent
from parley.rollout import NEW_FORM, check_flags
from parley.turns.records import EXPIRING, EXPIRING_LATER, LONGEST_WAIT
from parley.turns.runtime import DAY
from parley.variables import settings
from tests.support.template import allowed_actions, as_list, resources, source, statements, transformed

# Actions for which IAM knows no resource: AWS's service authorization reference names none for them.
WITHOUT_RESOURCE = {
    "states:SendTaskSuccess",
    "logs:CreateLogDelivery",
    "logs:GetLogDelivery",
    "logs:UpdateLogDelivery",
    "logs:DeleteLogDelivery",
    "logs:ListLogDeliveries",
    "logs:PutResourcePolicy",
    "logs:DescribeResourcePolicies",
    "logs:DescribeLogGroups",
    "xray:PutTraceSegments",
    "xray:PutTelemetryRecords",
    "xray:GetSamplingRules",
    "xray:GetSamplingTargets",
}


@pytest.mark.parametrize(("role", "statement"), list(statements()))
def test_every_action_is_named(role: str, statement: dict[str, Any]) -> None:
    assert not [action for action in as_list(statement["Action"]) if "*" in action], role
    assert "NotAction" not in statement


@pytest.mark.parametrize(("role", "statement"), list(statements()))
def test_every_resource_is_named_where_iam_knows_one(role: str, statement: dict[str, Any]) -> None:
    if "*" in as_list(statement["Resource"]):
        assert set(as_list(statement["Action"])) <= WITHOUT_RESOURCE, role


def test_every_function_has_a_role_of_its_own() -> None:
    roles = [function["Role"]["Fn::GetAtt"][0] for function in resources("AWS::Lambda::Function").values()]
    assert len(roles) == len(set(roles))
    assert set(roles) < resources("AWS::IAM::Role").keys()


def test_only_what_talks_to_models_reads_secrets() -> None:
    readers = {role for role, _ in statements() if "ssm:GetParameter" in allowed_actions(role)}
    assert readers == {"ModelTasksFunctionRole", "ToolTasksFunctionRole", "ApiFunctionRole"}


def test_only_what_builds_prompts_reads_feature_flags() -> None:
    reading = {"appconfig:StartConfigurationSession", "appconfig:GetLatestConfiguration"}
    readers = {role: allowed_actions(role) & reading for role in resources("AWS::IAM::Role")}
    assert {role: actions for role, actions in readers.items() if actions} == {
        "ModelTasksFunctionRole": reading
    }


def test_feature_flags_cost_nothing_until_they_are_wanted() -> None:
    parts = [each for each in transformed()["Resources"].values() if "AppConfig" in each["Type"]]
    assert len(parts) == 5
    assert all(each["Condition"] == "HasFlags" for each in parts)
    assert source()["Parameters"]["FeatureFlags"]["Default"] == "false"


def test_the_first_feature_flags_are_what_there_is_without_any() -> None:
    (version,) = resources("AWS::AppConfig::HostedConfigurationVersion").values()
    assert check_flags(json.loads(version["Content"])) is None
    assert json.loads(version["Content"])["message_form"]["default"] == NEW_FORM


def test_a_tool_can_neither_answer_tokens_nor_start_runs() -> None:
    assert not {action for action in allowed_actions("ToolTasksFunctionRole") if action.startswith("states:")}


def test_only_what_runs_functions_invokes_lambdas_of_agents_and_only_those_that_are_named() -> None:
    invoking = {role for role, _ in statements() if "lambda:InvokeFunction" in allowed_actions(role)}
    assert invoking == {"ToolTasksFunctionRole", "ConversationMachineRole"}
    (named,) = [
        statement
        for role, statement in statements()
        if role == "ToolTasksFunctionRole" and "lambda:InvokeFunction" in as_list(statement["Action"])
    ]
    assert named["Resource"] == {"Ref": "FunctionLambdaArns"}
    assert source()["Parameters"]["FunctionLambdaArns"]["Default"] == ""


@pytest.mark.parametrize(
    ("hosts", "accepted"),
    [
        ("public", True),
        ("tools.internal", True),
        ("public,*.internal,10.0.0.1", True),
        ("*", False),
        ("public,*", False),
        ("public, *", False),
        ("", False),
    ],
)
def test_a_deployment_cannot_let_functions_reach_everything(hosts: str, accepted: bool) -> None:
    pattern = source()["Parameters"]["FunctionHosts"]["AllowedPattern"]
    assert bool(re.fullmatch(pattern, hosts)) is accepted


def test_repair_may_stop_a_run_that_waits_on_a_lost_token() -> None:
    assert {action for action in allowed_actions("RepairFunctionRole") if action.startswith("states:")} == {
        "states:StartExecution",
        "states:DescribeExecution",
        "states:StopExecution",
        "states:SendTaskSuccess",
    }


def test_what_reads_and_writes_workspace_files_has_the_three_rights_on_objects() -> None:
    wanted = {"s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:ListBucket"}
    for role in ("ApiFunctionRole", "ToolTasksFunctionRole", "ModelTasksFunctionRole"):
        assert {action for action in allowed_actions(role) if action.startswith("s3:")} == wanted


def test_the_authorizer_can_only_take_tickets() -> None:
    assert allowed_actions("SocketAuthorizerFunctionRole") == {"dynamodb:GetItem", "dynamodb:DeleteItem"}


def test_the_machine_reads_no_data() -> None:
    services = {action.split(":")[0] for action in allowed_actions("ConversationMachineRole")}
    assert services == {"lambda", "states", "events", "logs", "xray"}


def test_the_machine_may_await_a_nested_execution() -> None:
    assert {
        "states:StartExecution",
        "states:DescribeExecution",
        "states:StopExecution",
        "events:PutTargets",
        "events:PutRule",
        "events:DescribeRule",
    } <= allowed_actions("ConversationMachineRole")


def test_execution_data_stays_out_of_the_machines_log() -> None:
    (machine,) = resources("AWS::StepFunctions::StateMachine").values()
    assert machine["LoggingConfiguration"]["IncludeExecutionData"] is False
    assert machine["LoggingConfiguration"]["Level"] == "ERROR"
    assert machine["StateMachineType"] == "STANDARD"


def test_access_logs_leave_out_query_strings_and_tokens() -> None:
    formats = [
        settings["Format"]
        for stage in resources("AWS::ApiGatewayV2::Stage").values()
        for settings in [stage["AccessLogSettings"].get("Fn::If", [None, stage["AccessLogSettings"]])[1]]
    ]
    assert len(formats) == 2
    for text in formats:
        assert "$context.routeKey" in text
        assert not any(
            word in text
            for word in (
                "querystring",
                "$context.path",
                "resourcePath",
                "authorizer.claims",
                "header",
                "authorizer.principal",
            )
        )


def test_what_people_wrote_outlives_the_stack() -> None:
    kept = [
        each
        for each in transformed()["Resources"].values()
        if each["Type"] in {"AWS::DynamoDB::Table", "AWS::S3::Bucket"}
    ]
    assert len(kept) == 3
    assert all(each["DeletionPolicy"] == each["UpdateReplacePolicy"] == "Retain" for each in kept)


def test_the_table_is_the_one_that_the_store_expects() -> None:
    (table,) = resources("AWS::DynamoDB::Table").values()
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert table["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}
    assert table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True
    assert table["SSESpecification"]["SSEEnabled"] is True
    keys = {"": table["KeySchema"]} | {
        each["IndexName"]: each["KeySchema"] for each in table["GlobalSecondaryIndexes"]
    }
    assert {index: [key["AttributeName"] for key in schema] for index, schema in keys.items()} == {
        "": ["pk", "sk"],
        "due": ["due_partition", "due_sort"],
        "listed": ["listed_partition", "listed_sort"],
    }
    assert {each["Projection"]["ProjectionType"] for each in table["GlobalSecondaryIndexes"]} == {"KEYS_ONLY"}


def test_the_bucket_is_private_encrypted_and_answers_over_tls_only() -> None:
    bucket = resources("AWS::S3::Bucket")["Bucket"]
    assert all(bucket["PublicAccessBlockConfiguration"].values())
    assert bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert bucket["LifecycleConfiguration"]["Rules"]
    policy = resources("AWS::S3::BucketPolicy")["BucketPolicy"]
    (statement,) = policy["PolicyDocument"]["Statement"]
    assert statement["Effect"] == "Deny"
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_what_is_too_large_for_an_event_goes_with_its_event() -> None:
    rules = {
        rule["Prefix"]: rule["ExpirationInDays"]
        for rule in source()["Resources"]["Bucket"]["Properties"]["LifecycleConfiguration"]["Rules"]
        if "Prefix" in rule
    }
    kept = {"Ref": "EventRetentionDays"}
    kept_longer = {"Fn::FindInMap": ["EventRetention", kept, "DaysWithWait"]}
    assert rules == {EXPIRING: kept, EXPIRING_LATER: kept_longer}
    (longest,) = [
        rule.le for rule in Agent.model_fields["confirmation_seconds"].metadata if hasattr(rule, "le")
    ]
    assert longest == LONGEST_WAIT
    days = source()["Parameters"]["EventRetentionDays"]["AllowedValues"]
    expected = {str(each): {"DaysWithWait": each + int(LONGEST_WAIT / DAY)} for each in days}
    assert source()["Mappings"]["EventRetention"] == expected
    for each in days:
        settings({"PARLEY_EVENT_RETENTION_DAYS": str(each)}, chunk_milliseconds=0)


def test_readers_of_the_bucket_may_list_it_so_that_a_missing_key_is_not_a_forbidden_one() -> None:
    for role in resources("AWS::IAM::Role"):
        actions = allowed_actions(role)
        assert ("s3:GetObject" in actions) == ("s3:ListBucket" in actions)
