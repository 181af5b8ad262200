import base64
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.domain.errors import ParleyError
from parley.embedded.gateway import (
    MAX_BODY,
    Gateway,
    HttpAnswer,
    HttpRequest,
    bearer_token,
    claims_as_strings,
    http_answer,
    joined_headers,
    query_parameters,
)
from parley.embedded.gateway_routes import Cors, Routes

ROUTES = Routes(
    [
        ("GET", "/openapi.json"),
        ("GET", "/api/things"),
        ("GET", "/api/things/<thing>"),
        ("GET", "/api/things/special"),
        ("POST", "/api/things/{thing}/parts/{part}"),
        ("GET", "/files/{path+}"),
    ]
)
CLAIMS = {"sub": "dev", "exp": 1_700_000_600, "groups": ["a", "b"], "admin": True}


def verify(token):
    if token != "good":
        raise ParleyError("the token has expired")
    return CLAIMS


def gateway(**options):
    return Gateway(
        ROUTES, verify, public=frozenset({"GET /openapi.json"}), now=lambda: 1_700_000_000.25, **options
    )


def request(method="GET", path="/api/things", **fields):
    headers = [("Host", "localhost:8000"), ("Authorization", "Bearer good"), *fields.pop("headers", [])]
    return HttpRequest(method, path, headers=headers, **fields)


def event_for(*args, **fields):
    event = gateway().receive(request(*args, **fields))
    assert isinstance(event, dict), event
    return event


def test_an_event_has_what_format_2_0_has():
    event = event_for(
        query="a=1&a=2&b=%20x",
        headers=[("X-One", "1"), ("x-one", "2"), ("Cookie", "c=1; d=2"), ("User-Agent", "test/1")],
        client_ip="10.0.0.7",
    )
    assert event["version"] == "2.0"
    assert event["routeKey"] == "GET /api/things"
    assert event["rawPath"] == "/api/things"
    assert event["rawQueryString"] == "a=1&a=2&b=%20x"
    assert event["queryStringParameters"] == {"a": "1,2", "b": " x"}
    assert event["headers"]["x-one"] == "1,2"
    assert "cookie" not in event["headers"]
    assert event["cookies"] == ["c=1", "d=2"]
    assert event["isBase64Encoded"] is False
    context = event["requestContext"]
    assert context["http"] == {
        "method": "GET",
        "path": "/api/things",
        "protocol": "HTTP/1.1",
        "sourceIp": "10.0.0.7",
        "userAgent": "test/1",
    }
    assert context["stage"] == "$default"
    assert context["domainName"] == "localhost:8000"
    assert context["time"] == "14/Nov/2023:22:13:20 +0000"
    assert context["timeEpoch"] == 1_700_000_000_250
    assert context["requestId"]


@pytest.mark.parametrize("absent", ["body", "cookies", "queryStringParameters", "pathParameters"])
def test_what_a_request_does_not_have_its_event_does_not_have(absent):
    assert absent not in event_for()


def test_the_authorizer_passes_claims_as_strings():
    claims = event_for()["requestContext"]["authorizer"]["jwt"]["claims"]
    assert claims == {"sub": "dev", "exp": "1700000600", "groups": "[a b]", "admin": "true"}


def test_other_kinds_of_claims_become_strings_too():
    claims = claims_as_strings({"a": None, "b": 2.0, "c": {"d": 1}, "e": [1, True]})
    assert claims == {"a": "null", "b": "2", "c": '{"d": 1}', "e": "[1 true]"}


def test_the_path_is_decoded_and_ends_at_a_decoded_question_mark():
    assert event_for(path="/files/a%20b%2Fc%25")["rawPath"] == "/files/a b/c%"
    assert event_for(path="/files/a%3Fb=1")["rawPath"] == "/files/a"


def test_path_parameters_are_decoded():
    event = event_for("POST", "/api/things/a%2Fb/parts/%C3%A9")
    assert event["pathParameters"] == {"thing": "a/b", "part": "é"}
    assert event_for(path="/files/x/y/z.txt")["pathParameters"] == {"path": "x/y/z.txt"}


def test_an_exact_route_wins_over_one_with_parameters():
    assert event_for(path="/api/things/special")["routeKey"] == "GET /api/things/special"
    assert event_for(path="/api/things/other")["routeKey"] == "GET /api/things/{thing}"


def test_a_route_with_a_parameter_takes_one_segment_and_wins_over_a_greedy_one():
    routes = Routes([("GET", "/files/{path+}"), ("GET", "/files/{name}")])
    assert routes.match("GET", "/files/a") == ("GET /files/{name}", {"name": "a"})
    assert routes.match("GET", "/files/a/b") == ("GET /files/{path+}", {"path": "a/b"})


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/nope"), ("PUT", "/api/things"), ("GET", "/api/things/")]
)
def test_a_route_that_does_not_exist_is_answered_before_the_token_is_looked_at(method, path):
    answer = gateway().receive(HttpRequest(method, path))
    assert (answer.status, json.loads(answer.body)) == (404, {"message": "Not Found"})


@pytest.mark.parametrize(
    "headers", [[], [("authorization", "Bearer bad")], [("authorization", "Basic good")]]
)
def test_a_request_without_a_good_token_is_unauthorized(headers):
    answer = gateway().receive(HttpRequest("GET", "/api/things", headers=headers))
    assert (answer.status, json.loads(answer.body)) == (401, {"message": "Unauthorized"})
    assert 'error_description="the token has expired"' in dict(answer.headers)["www-authenticate"]


def test_a_public_route_needs_no_token():
    event = gateway().receive(HttpRequest("GET", "/openapi.json"))
    assert "authorizer" not in event["requestContext"]


@pytest.mark.parametrize("value", ["Bearer good", "bearer good", "Bearer  good", "good"])
def test_the_token_may_come_with_or_without_its_scheme(value):
    assert bearer_token({"authorization": value}) == "good"


def test_a_body_over_ten_megabytes_is_too_large():
    most = request("POST", "/api/things/a/parts/b", body=b"x" * MAX_BODY)
    assert "body" in gateway().receive(most)
    answer = gateway().receive(replace(most, body=b"x" * (MAX_BODY + 1)))
    assert (answer.status, json.loads(answer.body)) == (413, {"message": "Request Entity Too Large"})


@given(st.text(min_size=1).filter(lambda text: "\ud800" not in text))
def test_text_bodies_pass_as_they_are(text):
    body = text.encode()
    event = event_for(
        "POST",
        "/api/things/a/parts/b",
        body=body,
        headers=[("content-type", "application/json; charset=utf-8")],
    )
    assert (event["body"], event["isBase64Encoded"]) == (text, False)


@given(st.binary(min_size=1))
def test_any_other_body_passes_as_base64(body):
    event = event_for("POST", "/api/things/a/parts/b", body=body, headers=[("content-type", "image/png")])
    assert event["isBase64Encoded"] is True
    assert base64.b64decode(event["body"]) == body


def test_a_text_body_that_is_not_utf_8_passes_as_base64():
    event = event_for("POST", "/api/things/a/parts/b", body=b"\xff", headers=[("content-type", "text/plain")])
    assert event["isBase64Encoded"] is True


@given(st.lists(st.tuples(st.sampled_from(["A", "a", "B-c", "b-C"]), st.text("xyz ;=", max_size=5))))
def test_headers_are_joined_by_name_in_order(pairs):
    joined = joined_headers(pairs)
    for name in ("a", "b-c"):
        values = [value for given_name, value in pairs if given_name.lower() == name]
        assert joined.get(name) == (",".join(values) if values else None)


@given(st.text("ab=&%+\x7f0Fé", max_size=40))
def test_no_query_string_breaks_the_event(query):
    assert all(isinstance(value, str) for value in query_parameters(query).values())


def test_blank_parameters_are_kept_and_a_plus_is_a_blank():
    assert query_parameters("a=&b=x+y&a=2") == {"a": ",2", "b": "x y"}


def test_an_answer_with_a_status_is_taken_as_it_is():
    answer = http_answer(
        {
            "statusCode": 201,
            "headers": {"Content-Type": "application/json", "X-N": 3},
            "cookies": ["a=1", "b=2"],
            "body": '{"a": "é"}',
        }
    )
    assert answer == HttpAnswer(
        201,
        [("content-type", "application/json"), ("x-n", "3"), ("set-cookie", "a=1"), ("set-cookie", "b=2")],
        '{"a": "é"}'.encode(),
    )


def test_a_base64_answer_is_decoded():
    answer = http_answer(
        {"statusCode": 200, "body": base64.b64encode(b"\x00\xff").decode(), "isBase64Encoded": True}
    )
    assert answer.body == b"\x00\xff"


@pytest.mark.parametrize(
    ("result", "body"),
    [({"hello": 1}, b'{"hello": 1}'), ("hello", b"hello"), ([1], b"[1]"), ({}, b"{}")],
)
def test_a_result_without_a_status_is_the_body_of_a_200(result, body):
    assert http_answer(result) == HttpAnswer(200, [("content-type", "application/json")], body)


@pytest.mark.parametrize(
    "result",
    [
        None,
        object(),
        {"statusCode": "many"},
        {"statusCode": 99},
        {"statusCode": 200, "body": {"not": "text"}},
        {"statusCode": 200, "headers": "none"},
        {"statusCode": 200, "headers": {"x": "a\r\nset-cookie: b"}},
        {"statusCode": 200, "body": "***", "isBase64Encoded": True},
    ],
)
def test_a_malformed_result_is_an_internal_error(result):
    answer = http_answer(result)
    assert (answer.status, json.loads(answer.body)) == (500, {"message": "Internal Server Error"})


def test_a_body_without_a_type_is_plain_text():
    assert dict(http_answer({"statusCode": 200, "body": "x"}).headers)["content-type"].startswith(
        "text/plain"
    )


def test_a_preflight_is_answered_without_a_token():
    cors = Cors(allow_origins=["https://app.example"])
    answer = gateway(cors=cors).receive(
        HttpRequest("OPTIONS", "/api/things", headers=[("Origin", "https://app.example")])
    )
    assert answer.status == 204
    headers = dict(answer.headers)
    assert headers["access-control-allow-origin"] == "https://app.example"
    assert headers["vary"] == "Origin"
    assert "authorization" in headers["access-control-allow-headers"]
    other = gateway(cors=cors).receive(
        HttpRequest("OPTIONS", "/api/things", headers=[("Origin", "https://x")])
    )
    assert other.headers == []


def test_the_apis_own_cors_headers_replace_the_functions():
    api = gateway(cors=Cors(allow_origins=["*"]))
    result = {"statusCode": 200, "headers": {"Access-Control-Allow-Origin": "https://mine", "x": "y"}}
    answer = api.answer(request(headers=[("origin", "https://app.example")]), result)
    assert answer.headers == [("x", "y"), ("access-control-allow-origin", "*")]
    assert gateway().answer(request(), result).headers[0] == ("access-control-allow-origin", "https://mine")
