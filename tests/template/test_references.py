"""What refers to what: neither `sam validate` nor cfn-lint sees a circle, only the deployment does."""

from graphlib import CycleError, TopologicalSorter

import pytest

from tests.support.machine import definition, substitutions
from tests.support.template import dependencies, references, resources, source, transformed

PSEUDO = {
    "AWS::AccountId",
    "AWS::NoValue",
    "AWS::Partition",
    "AWS::Region",
    "AWS::StackName",
    "AWS::URLSuffix",
}


def test_no_resource_waits_for_itself() -> None:
    TopologicalSorter(dependencies(transformed())).prepare()


def test_a_reference_inside_an_arn_counts_as_one() -> None:
    circle = {
        "Resources": {
            "Machine": {"Properties": {"Arn": {"Fn::GetAtt": ["Function", "Arn"]}}},
            "Function": {"Properties": {"Variable": {"Fn::Sub": "arn:${AWS::Partition}:${Machine.Name}"}}},
        }
    }
    with pytest.raises(CycleError):
        TopologicalSorter(dependencies(circle)).prepare()


def test_a_dependency_by_name_alone_counts_too() -> None:
    circle = {"Resources": {"One": {"DependsOn": "Two"}, "Two": {"DependsOn": ["One"]}}}
    with pytest.raises(CycleError):
        TopologicalSorter(dependencies(circle)).prepare()


def test_every_reference_is_to_something_that_exists() -> None:
    template = transformed()
    known = template["Resources"].keys() | template["Parameters"].keys() | PSEUDO
    assert set(references(template["Resources"])) | set(references(template["Outputs"])) <= known


def test_every_parameter_is_used() -> None:
    template = source()
    parts = ("Resources", "Globals", "Conditions", "Outputs")
    used = set(references([template[part] for part in parts]))
    assert template["Parameters"].keys() <= used


def test_every_parameter_is_shown_in_a_group() -> None:
    template = source()
    groups = template["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    assert sorted(name for group in groups for name in group["Parameters"]) == sorted(template["Parameters"])


def test_the_machine_gets_exactly_the_substitutions_that_its_definition_asks_for() -> None:
    (machine,) = resources("AWS::StepFunctions::StateMachine").values()
    assert machine["DefinitionSubstitutions"].keys() == substitutions(definition())


def test_a_substitution_is_the_arn_of_the_function_that_it_names() -> None:
    (machine,) = resources("AWS::StepFunctions::StateMachine").values()
    for name, value in machine["DefinitionSubstitutions"].items():
        assert value == {"Fn::GetAtt": [name.removesuffix("Arn"), "Arn"]}


def test_the_machine_has_the_name_that_the_functions_put_its_arn_together_from() -> None:
    (machine,) = resources("AWS::StepFunctions::StateMachine").values()
    name = machine["StateMachineName"]["Fn::Sub"]
    for properties in resources("AWS::Lambda::Function").values():
        arn = properties["Environment"]["Variables"].get("PARLEY_STATE_MACHINE_ARN")
        assert arn is None or arn["Fn::Sub"].endswith(f":stateMachine:{name}")


def test_the_outputs_say_where_everything_is() -> None:
    assert transformed()["Outputs"].keys() == {
        "HttpApiUrl",
        "WebSocketUrl",
        "StateMachineArn",
        "TableName",
        "BucketName",
        "PageUrl",
        "PageSignIn",
        "PageBucketName",
        "PageDistributionId",
    }
