"""The routes: the template, the resolver and the OpenAPI document must name the same ones."""

import re
from typing import Any

import pytest

from on_http.api import app, routes
from tests.support.template import resources

PUBLIC = ("GET", "/openapi.json")


def template_routes() -> dict[tuple[str, str], dict[str, Any]]:
    """The operations of the HTTP API, by method and path."""
    api = resources("AWS::ApiGatewayV2::Api")["HttpApi"]
    return {
        (method.upper(), path): operation
        for path, operations in api["Body"]["paths"].items()
        for method, operation in operations.items()
    }


def braces(path: str) -> str:
    """A path with its parameters in braces, greedy or not: resolver and OpenAPI know no greedy ones."""
    return re.sub(r"<(\w+)>|\{(\w+)\+?\}", lambda found: "{" + (found[1] or found[2]) + "}", path)


def resolver_routes() -> set[tuple[str, str]]:
    """What the Powertools resolver answers."""
    return {(route.method, braces(route.openapi_path)) for route in app._static_routes + app._dynamic_routes}


def test_the_template_and_the_resolver_name_the_same_routes() -> None:
    assert {(method, braces(path)) for method, path in template_routes()} == resolver_routes()


def test_the_server_takes_the_same_routes_as_the_template_greedy_ones_included() -> None:
    assert set(template_routes()) == set(routes())
    assert ("PUT", "/api/projects/{project}/files/{path+}") in routes()


def test_the_openapi_document_names_the_same_routes() -> None:
    paths = app.get_openapi_schema().model_dump(by_alias=True, exclude_none=True, mode="json")["paths"]
    documented = {
        (method.upper(), braces(path)) for path, operations in paths.items() for method in operations
    }
    assert documented | {PUBLIC} == resolver_routes()


@pytest.mark.parametrize(("route", "operation"), sorted(template_routes().items()))
def test_a_route_wants_a_token_unless_it_is_the_openapi_document(
    route: tuple[str, str], operation: dict[str, Any]
) -> None:
    assert operation["security"] == [{"NONE" if route == PUBLIC else "Jwt": []}]


@pytest.mark.parametrize("operation", template_routes().values())
def test_a_route_calls_the_api_function_with_the_second_payload_format(operation: dict[str, Any]) -> None:
    integration = operation["x-amazon-apigateway-integration"]
    assert integration["payloadFormatVersion"] == "2.0"
    assert "${ApiFunction.Arn}" in integration["uri"]["Fn::Sub"]


def test_the_tokens_issuer_and_audience_are_parameters() -> None:
    api = resources("AWS::ApiGatewayV2::Api")["HttpApi"]
    authorizer = api["Body"]["components"]["securitySchemes"]["Jwt"]["x-amazon-apigateway-authorizer"]
    assert authorizer["type"] == "jwt"
    assert authorizer["identitySource"] == "$request.header.Authorization"
    assert authorizer["jwtConfiguration"] == {
        "issuer": {"Ref": "JwtIssuer"},
        "audience": {"Ref": "JwtAudience"},
    }


def test_pages_of_other_origins_may_call_with_a_token() -> None:
    cors = resources("AWS::ApiGatewayV2::Api")["HttpApi"]["Body"]["x-amazon-apigateway-cors"]
    assert cors["allowOrigins"] == ["http://localhost:8000"]
    assert {"authorization", "content-type", "idempotency-key"} <= set(cors["allowHeaders"])
    assert {"GET", "POST", "PUT", "DELETE"} <= set(cors["allowMethods"])


def test_both_apis_are_throttled() -> None:
    for stage in resources("AWS::ApiGatewayV2::Stage").values():
        assert stage["DefaultRouteSettings"].keys() == {"ThrottlingRateLimit", "ThrottlingBurstLimit"}


def test_the_socket_has_the_three_routes_of_the_service_and_no_others() -> None:
    routes = {route["RouteKey"]: route for route in resources("AWS::ApiGatewayV2::Route").values()}
    assert routes.keys() == {"$connect", "$disconnect", "$default"}
    assert routes["$connect"]["AuthorizationType"] == "CUSTOM"


def test_a_socket_is_opened_with_a_ticket() -> None:
    (authorizer,) = resources("AWS::ApiGatewayV2::Authorizer").values()
    assert authorizer["AuthorizerType"] == "REQUEST"
    assert authorizer["IdentitySource"] == ["route.request.querystring.ticket"]
    assert "SocketAuthorizerFunction" in str(authorizer["AuthorizerUri"])
