"""The Bedrock knowledge base of a stack: only where it is named, and no more rights than what is done with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from parley import wiring
from parley.turns.runtime import Runtime
from parley.variables import BadSetting
from tests.support.bedrock_knowledge import DATA_SOURCE, KNOWLEDGE_BASE
from tests.support.moto_aws import MockedAws, mocked_aws
from tests.support.template import allowed_actions, as_list, resources, source, transformed

VARIABLES = ("PARLEY_KNOWLEDGE_BASE_ID", "PARLEY_KNOWLEDGE_DATA_SOURCE_ID")
MANAGING = {
    "bedrock:StartIngestionJob",
    "bedrock:IngestKnowledgeBaseDocuments",
    "bedrock:GetKnowledgeBaseDocuments",
    "bedrock:DeleteKnowledgeBaseDocuments",
}


def conditional(role: str) -> list[dict[str, Any]]:
    """The statements of a role that stand there only with a knowledge base."""
    (policies,) = [
        properties["Policies"]
        for name, properties in resources("AWS::IAM::Role").items()
        if name == role and "Policies" in properties
    ]
    found = [each for policy in policies for each in policy["PolicyDocument"]["Statement"]]
    return [each["Fn::If"][1] for each in found if each.get("Fn::If", [None])[0] == "HasKnowledge"]


def test_only_the_api_puts_documents_in_and_only_it_and_functions_search() -> None:
    rights = {
        role: allowed_actions(role) & (MANAGING | {"bedrock:Retrieve"})
        for role in resources("AWS::IAM::Role")
    }
    assert {role: actions for role, actions in rights.items() if actions} == {
        "ApiFunctionRole": MANAGING | {"bedrock:Retrieve"},
        "ToolTasksFunctionRole": {"bedrock:Retrieve"},
    }


@pytest.mark.parametrize("role", ["ApiFunctionRole", "ToolTasksFunctionRole"])
def test_the_rights_are_for_the_one_knowledge_base_and_absent_without_one(role: str) -> None:
    (statement,) = conditional(role)
    assert {each["Fn::Sub"].rpartition(":")[2] for each in as_list(statement["Resource"])} == {
        "knowledge-base/${KnowledgeBaseId}"
    }


def test_a_stack_has_no_knowledge_base_unless_both_of_its_ids_are_given() -> None:
    condition = transformed()["Conditions"]["HasKnowledge"]
    named = [each["Fn::Not"][0]["Fn::Equals"] for each in condition["Fn::And"]]
    assert named == [[{"Ref": "KnowledgeBaseId"}, ""], [{"Ref": "KnowledgeDataSourceId"}, ""]]
    for name in ("KnowledgeBaseId", "KnowledgeDataSourceId"):
        assert source()["Parameters"][name]["Default"] == ""
    for name, function in resources("AWS::Lambda::Function").items():
        given = {each: function["Environment"]["Variables"].get(each) for each in VARIABLES}
        wanted = name in ("ApiFunction", "ToolTasksFunction")
        assert (
            all((value or {}).get("Fn::If", [None])[0] == "HasKnowledge" for value in given.values())
            == wanted
        )


@pytest.fixture(scope="module")
def aws() -> Iterator[MockedAws]:
    with mocked_aws() as account:
        yield account


def runtime(**variables: str) -> Runtime:
    return wiring.aws_runtime({"PARLEY_TABLE": "items", **variables})


@pytest.mark.usefixtures("aws")
def test_the_variables_make_a_knowledge_base_and_nothing_else_does() -> None:
    assert runtime().knowledge is None
    assert runtime(**dict.fromkeys(VARIABLES, "")).knowledge is None
    assert runtime(**dict(zip(VARIABLES, (KNOWLEDGE_BASE, DATA_SOURCE), strict=True))).knowledge is not None


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("missing", VARIABLES)
def test_one_id_without_the_other_is_told(missing: str) -> None:
    (given_one,) = set(VARIABLES) - {missing}
    with pytest.raises(BadSetting, match=f"{missing} is not set"):
        runtime(**{given_one: KNOWLEDGE_BASE})
