"""``template.yaml`` after SAM's own transform, offline: what CloudFormation would be given."""

import copy
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import boto3
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator
from samtranslator.yaml_helper import yaml_parse

ROOT = Path(__file__).parents[2]
TEMPLATE_FILE = ROOT / "template.yaml"
REGION = "eu-central-1"

# What `sam package` puts in place of a local path; the transform wants it and the tests do not look at it.
_PACKAGED = "s3://bucket/key"
_LOCAL_PATHS = ("CodeUri", "ContentUri", "DefinitionUri")

_SUB_NAME = re.compile(r"\$\{([^!}]+)\}")


@cache
def _source() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml_parse(TEMPLATE_FILE.read_text(encoding="utf-8"))
    return loaded


def source() -> dict[str, Any]:
    """The template as it is written, with the globals beside the functions."""
    return copy.deepcopy(_source())


def _value(name: str, parameter: dict[str, Any]) -> Any:
    """A parameter's value as CloudFormation hands it to the transform: lists are lists."""
    text = str(parameter.get("Default", f"https://{name}"))
    return text.split(",") if parameter["Type"] == "CommaDelimitedList" else text


@cache
def _transformed() -> dict[str, Any]:
    template = source()
    template["Globals"]["Function"]["CodeUri"] = _PACKAGED
    for resource in template["Resources"].values():
        properties = resource["Properties"]
        properties.update({key: _PACKAGED for key in _LOCAL_PATHS if key in properties})
    parameters = {name: _value(name, each) for name, each in template["Parameters"].items()}
    session = boto3.session.Session(region_name=REGION)
    translated: dict[str, Any] = Translator({}, Parser(), boto_session=session).translate(
        template, parameters
    )
    return translated


def transformed() -> dict[str, Any]:
    """The CloudFormation template."""
    return copy.deepcopy(_transformed())


def resources(kind: str) -> dict[str, dict[str, Any]]:
    """The properties of the transformed resources of a type, by logical id."""
    return {
        name: resource["Properties"]
        for name, resource in transformed()["Resources"].items()
        if resource["Type"] == kind
    }


def references(value: Any) -> Iterator[str]:
    """Every logical id (and pseudo parameter) that a value refers to."""
    if isinstance(value, list):
        for element in value:
            yield from references(element)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _reference(key, inner)
            if key != "Fn::GetAtt":
                yield from references(inner)


def _reference(key: str, inner: Any) -> Iterator[str]:
    if key == "Ref":
        yield inner
    elif key == "Fn::GetAtt":
        yield inner[0] if isinstance(inner, list) else inner.split(".")[0]
    elif key == "Fn::Sub":
        text, given = (inner, {}) if isinstance(inner, str) else inner
        yield from (name.split(".")[0] for name in _SUB_NAME.findall(text) if name not in given)


def dependencies(template: dict[str, Any]) -> dict[str, set[str]]:
    """Which resources each resource needs first."""
    known = template["Resources"]
    graph: dict[str, set[str]] = {}
    for name, resource in known.items():
        named = resource.get("DependsOn", [])
        needed = {
            *references(resource.get("Properties", {})),
            *([named] if isinstance(named, str) else named),
        }
        graph[name] = needed & known.keys()
    return graph


def statements() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every statement that allows something, with its role; conditional ones count."""
    for role, properties in resources("AWS::IAM::Role").items():
        for policy in properties.get("Policies", []):
            for statement in policy["PolicyDocument"]["Statement"]:
                yield role, statement["Fn::If"][1] if "Fn::If" in statement else statement


def as_list(value: Any) -> list[Any]:
    """One thing or several, as IAM has it."""
    return value if isinstance(value, list) else [value]


@cache
def allowed_actions(role: str) -> frozenset[str]:
    """The actions that our own policies give to a role."""
    return frozenset(
        action
        for owner, statement in statements()
        if owner == role and statement["Effect"] == "Allow"
        for action in as_list(statement["Action"])
    )
