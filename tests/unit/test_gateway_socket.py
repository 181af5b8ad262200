import pytest

from parley.embedded.gateway_socket import (
    Handshake,
    SocketEvents,
    admission,
    new_connection_id,
    refusal_status,
)


def events():
    made = SocketEvents(
        "abc=",
        Handshake("ticket=t%20t", [("Host", "h:1"), ("User-Agent", "ua")], "10.0.0.1", 1_700_000_000.5),
    )
    made.admit({"principalId": "dev", "user_id": "dev"})
    return made


def policy(effect="Allow", **context):
    statement = {"Action": "execute-api:Invoke", "Effect": effect, "Resource": "*"}
    return {
        "principalId": "dev",
        "policyDocument": {"Version": "2012-10-17", "Statement": [statement]},
        "context": context,
    }


def test_the_authorizer_sees_the_query_string():
    event = events().authorize()
    assert event["type"] == "REQUEST"
    assert event["queryStringParameters"] == {"ticket": "t t"}
    assert event["requestContext"]["routeKey"] == "$connect"


def test_every_event_of_a_connection_names_it_and_carries_the_authorizers_word():
    made = events()
    shapes = [
        (made.connect(), "$connect", "CONNECT"),
        (made.message("{}"), "$default", "MESSAGE"),
        (made.disconnect(1000, "bye"), "$disconnect", "DISCONNECT"),
    ]
    for event, route_key, event_type in shapes:
        context = event["requestContext"]
        assert (context["routeKey"], context["eventType"]) == (route_key, event_type)
        assert context["connectionId"] == "abc="
        assert context["connectedAt"] == 1_700_000_000_500
        assert context["authorizer"] == {"principalId": "dev", "user_id": "dev"}
        assert context["identity"] == {"sourceIp": "10.0.0.1", "userAgent": "ua"}


def test_a_message_carries_its_text_and_a_disconnect_its_reason():
    assert events().message("hi")["body"] == "hi"
    context = events().disconnect(1001, "gone")["requestContext"]
    assert (context["disconnectStatusCode"], context["disconnectReason"]) == (1001, "gone")


def test_a_policy_that_allows_passes_its_context_on_as_strings():
    assert admission(policy(user_id="dev", n=1, b=True)) == {
        "principalId": "dev",
        "user_id": "dev",
        "n": "1",
        "b": "true",
    }


@pytest.mark.parametrize(
    "result", [None, {}, policy("Deny"), {"principalId": "x", "policyDocument": 3}, "yes"]
)
def test_anything_but_an_allowing_policy_admits_nobody(result):
    assert admission(result) is None


def test_a_denying_statement_wins_over_an_allowing_one():
    both = policy()
    both["policyDocument"]["Statement"].append({"Effect": "Deny"})
    assert admission(both) is None


def test_connect_refuses_with_its_status():
    assert refusal_status({"statusCode": 200}) is None
    assert refusal_status({"statusCode": 403}) == 403
    assert refusal_status(None) == 500
    assert refusal_status({}) == 500


def test_connection_ids_differ():
    assert len({new_connection_id() for _ in range(100)}) == 100
