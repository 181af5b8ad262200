"""PUT of an agent whose functions run elsewhere: what is not accepted, and that the words say what is."""

from __future__ import annotations

from typing import Any

import pytest

from tests.handlers.world import AGENT, World

PATH = "/api/projects/{project}/agents/a1"
SITE = "http://127.0.0.1:9/orders"


def with_function(implementation: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {**AGENT, "functions": [{"name": "order", "implementation": implementation, **fields}]}


def http(**fields: Any) -> dict[str, Any]:
    return {"kind": "http", "url": SITE, **fields}


@pytest.mark.parametrize(
    ("implementation", "words"),
    [
        ({"kind": "web", "url": SITE}, "its kind must be one of class, subagent, http, lambda, mcp"),
        ({"kind": ["http"]}, "functions.0.implementation: its kind must be one of class,"),
        ({"url": SITE}, "functions.0.implementation: needs a kind"),
        ({"kind": "http"}, "functions.0.implementation.url: is missing."),
        (http(url="localhost:9001"), "url: must be an address such as https://tools.example.com/orders"),
        (http(url="file:///etc/passwd"), "url: must be an address such as"),
        (http(url="http://shop..example/"), "url: must be an address such as"),
        (http(url=f"http://{'a' * 64}.example/"), "url: must be an address such as"),
        (http(url="http://"), "url: must be an address such as"),
        (http(url="http://a b/"), "url: must be an address such as"),
        (http(url="http://host:99999/"), "url: must be an address such as"),
        (
            http(url="http://ann:pw@host/"),
            "url: must not hold a password; name a setting that does as secret",
        ),
        (http(url="http://host/#part"), "url: must not have a part after #"),
        (http(url="http://{host}/"), "url: must name its host itself; arguments may stand behind it"),
        (http(method="HEAD"), "implementation.method: must be one of POST, PUT, PATCH, GET or DELETE."),
        (http(headers={"Host": "a"}), "Host is a header that Parley sets itself"),
        (http(headers={"Idempotency-Key": "a"}), "Idempotency-Key is a header that Parley sets itself"),
        (http(headers={"a b": "a"}), "must be the name of a header, such as X-Api-Key"),
        (http(headers={"X-A": "a\r\nX-B: b"}), "X-A must be at most 2000 plain ASCII characters"),
        (http(headers={"X-A": " a"}), "no space around them"),
        (http(headers={"X-A": "a "}), "no space around them"),
        (http(secret="lower"), "secret: must be a name such as WEATHER_KEY: capital letters and digits"),
        (http(secret="A__B"), "secret: must be a name such as WEATHER_KEY"),
        (http(headers={"X-Key": "[hidden]"}), "[hidden] is what members see in place of a value"),
        (http(url=f"{SITE}?key=[hidden]"), "[hidden] is what members see in place of a value"),
        (
            http(secret="A", secret_header="X-Key", headers={"x-key": "1"}),
            "headers: X-Key is the header of the secret",
        ),
        (http(secrets="A"), "implementation: unknown: secrets; accepted: url, secret, secret_header"),
        ({"kind": "lambda", "function": "a b"}, "function: must be the name or the ARN of a Lambda function"),
        (
            {"kind": "mcp", "url": "http://127.0.0.1:9/mcp", "tool": ""},
            "tool: must have at least 1 character.",
        ),
        (
            {"kind": "mcp", "url": "http://127.0.0.1:9/mcp", "tool": "a"},
            "its MCP server could not be reached",
        ),
        (
            {"kind": "mcp", "url": "http://127.0.0.1:9/mcp", "tool": "*"},
            "its MCP server could not be reached",
        ),
    ],
)
def test_an_implementation_is_refused_with_what_is_accepted(
    world: World, implementation: dict[str, Any], words: str
) -> None:
    answer = world.refused(422, "invalid_request", "PUT", PATH, body=with_function(implementation))
    assert words in answer.body["error"]["message"]
    assert "Value error" not in answer.body["error"]["message"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"time_limit_seconds": 0}, "time_limit_seconds: must be at least 1, not 0."),
        ({"time_limit_seconds": 301}, "time_limit_seconds: must be at most 300, not 301."),
        ({"parameters": {"type": "array"}}, "order: its parameters are not a JSON schema of arguments: its type must"),
        ({"parameters": {"properties": {"a": {"type": "text"}}}}, "properties.a.type: must be string, number"),
        ({"parameters": {"properties": {"a": {"$ref": "#/no"}}}}, "$ref /no leads nowhere"),
        ({"parameters": {"properties": {"a": {"$ref": SITE}}}}, "leads nowhere; references must lead within"),
    ],
)  # fmt: skip
def test_a_limit_and_a_schema_are_checked(world: World, fields: dict[str, Any], words: str) -> None:
    answer = world.refused(422, "invalid_request", "PUT", PATH, body=with_function(http(), **fields))
    assert words in answer.body["error"]["message"]


ORDER_ID = {"type": "object", "properties": {"order_id": {"type": "string"}}}


@pytest.mark.parametrize("parameters", [None, {"type": "object"}, ORDER_ID])
def test_an_address_names_only_arguments_that_there_are(
    world: World, parameters: dict[str, Any] | None
) -> None:
    implementation = http(url=f"{SITE}/{{orderId}}?of={{order_id}}")
    body = with_function(implementation, parameters=parameters)
    answer = world.refused(422, "invalid_request", "PUT", PATH, body=body)
    words = "functions: order: its address names {orderId}, which is not one of its parameters."
    assert answer.body["error"]["message"] == words


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"implementation": http()}, "confirmation_question names {of}; its parameters are order_id."),
        ({"implementation": {"kind": "class", "class_name": "note"}, "parameters": None},
         "confirmation_question names {of}; its parameters are text."),
        ({"implementation": {"kind": "subagent", "subagent_id": "a1"}, "confirmation_question": None},
         "subagent_user_message names {user_request}; its parameters are order_id."),
    ],
)  # fmt: skip
def test_a_question_names_only_arguments_that_there_are(
    world: World, fields: dict[str, Any], words: str
) -> None:
    function = {
        "name": "order",
        "parameters": ORDER_ID,
        "confirmation_question": "Send {of.count|none}?",
        **fields,
    }
    body = {**AGENT, "functions": [function]}
    answer = world.refused(422, "invalid_request", "PUT", PATH, body=body)
    assert answer.body["error"]["message"] == f"functions: order: its {words}"


@pytest.mark.parametrize("parameters", [ORDER_ID, {"type": "object", "allOf": [ORDER_ID]}])
def test_an_address_may_name_arguments(world: World, parameters: dict[str, Any]) -> None:
    body = with_function(http(url=f"{SITE}/{{order_id}}"), parameters=parameters)
    put = world.system.request("PUT", world.system.of_project("/agents/a1"), body=body)
    assert put.status == 200, put.text


def test_a_subagent_has_no_time_limit(world: World) -> None:
    subagent = {"kind": "subagent", "subagent_id": "a1"}
    body = with_function(subagent, time_limit_seconds=5)
    answer = world.refused(422, "invalid_request", "PUT", PATH, body=body)
    assert (
        "time_limit_seconds: a subagent's calls have limits of their own" in answer.body["error"]["message"]
    )


@pytest.mark.parametrize(
    "implementation",
    [
        http(),
        http(url="https://[::1]:8443/a?b=c", method="GET", headers={"X-Shop": "eu"}, secret="SHOP_KEY"),
        {"kind": "lambda", "function": "orders"},
        {"kind": "lambda", "function": "orders:live"},
        {"kind": "lambda", "function": "123456789012:function:orders"},
        {"kind": "lambda", "function": "arn:aws:lambda:eu-central-1:123456789012:function:orders:$LATEST"},
        {"kind": "lambda", "function": "arn:aws-us-gov:lambda:us-gov-west-1:123456789012:function:orders:7"},
    ],
)
def test_what_is_accepted_is_kept_and_given_back(world: World, implementation: dict[str, Any]) -> None:
    body = with_function(
        implementation, parameters={"type": "object", "properties": {}}, time_limit_seconds=7
    )
    put = world.system.request("PUT", world.system.of_project("/agents/a1"), body={**body, "agent_id": "a1"})
    assert put.status == 200, put.text
    kept = world.system.get(world.system.of_project("/agents/a1"))
    assert kept == put.body
    assert implementation.items() <= kept["functions"][0]["implementation"].items()
    again = world.system.request("PUT", world.system.of_project("/agents/a1"), body=kept)
    assert again.body == kept
