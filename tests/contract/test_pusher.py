from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError, ReadTimeoutError
from botocore.stub import Stubber

from parley.aws import clients
from parley.aws.pusher import ApiGatewayPusher
from parley.turns.ports import ConnectionGone, Pusher
from tests.support.moto_aws import MockedAws


@dataclass
class Line:
    """A pusher with one open connection: what arrived there, and how to close it."""

    pusher: Pusher
    connection_id: str
    received: Callable[[], list[str]]
    hang_up: Callable[[], None]


def aws_line(aws: MockedAws) -> Line:
    connection = "L0SM9cOFvHcCIhw="
    aws.frames.clear()
    aws.gone.clear()
    client = clients.apigatewaymanagementapi(aws.session, aws.socket_endpoint)

    def received() -> list[str]:
        return [frame for to, frame in aws.frames if to == connection]

    return Line(ApiGatewayPusher(client), connection, received, lambda: aws.gone.add(connection))


LINES: dict[str, Callable[[pytest.FixtureRequest], Line]] = {
    "aws": lambda request: aws_line(request.getfixturevalue("aws")),
}


@pytest.fixture(params=LINES)
def line(request: pytest.FixtureRequest) -> Line:
    return LINES[request.param](request)


def test_frames_arrive_in_order_and_whole(line: Line) -> None:
    frames = ['{"event": "Pong"}', '{"text": "日本 🎈"}', '"' + "x" * 32_000 + '"']
    for frame in frames:
        line.pusher.post(line.connection_id, frame)
    assert line.received() == frames


def test_a_closed_connection_is_told(line: Line) -> None:
    line.hang_up()
    with pytest.raises(ConnectionGone):
        line.pusher.post(line.connection_id, "{}")
    assert line.received() == []


@pytest.mark.parametrize(
    ("code", "status"), [("LimitExceededException", 429), ("ThrottlingException", 400), ("Whatever", 503)]
)
def test_a_throttled_frame_is_dropped(aws: MockedAws, code: str, status: int) -> None:
    client: Any = clients.apigatewaymanagementapi(aws.session, aws.socket_endpoint)
    with Stubber(client) as stubber:
        stubber.add_client_error("post_to_connection", code, http_status_code=status)
        ApiGatewayPusher(client).post("c", "{}")
        stubber.assert_no_pending_responses()


@pytest.mark.parametrize("error", [ReadTimeoutError, ConnectTimeoutError])
def test_a_slow_connection_costs_one_try(aws: MockedAws, error: type[Exception]) -> None:
    client: Any = clients.apigatewaymanagementapi(aws.session, aws.socket_endpoint)
    tries: list[str] = []

    def never(request: Any, **_: Any) -> None:
        tries.append(request.url)
        raise error(endpoint_url=request.url)  # type: ignore[call-arg]

    client.meta.events.register_first("before-send.apigatewaymanagementapi", never)
    ApiGatewayPusher(client).post("c", "{}")
    assert len(tries) == 1
    assert client.meta.config.read_timeout + client.meta.config.connect_timeout <= 2


def test_a_missing_permission_is_loud(aws: MockedAws) -> None:
    client: Any = clients.apigatewaymanagementapi(aws.session, aws.socket_endpoint)
    with Stubber(client) as stubber:
        stubber.add_client_error("post_to_connection", "ForbiddenException", http_status_code=403)
        with pytest.raises(ClientError):
            ApiGatewayPusher(client).post("c", "{}")
