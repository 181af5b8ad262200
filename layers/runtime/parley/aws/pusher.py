"""Frames to WebSocket connections through API Gateway."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from parley.aws.faults import NO_ANSWER, code_of, is_temporary
from parley.turns.ports import ConnectionGone

if TYPE_CHECKING:
    from mypy_boto3_apigatewaymanagementapi import ApiGatewayManagementApiClient

_log = logging.getLogger(__name__)


class ApiGatewayPusher:
    """`parley.turns.ports.Pusher`. How long a post may take is the client's: see `parley.aws.clients`."""

    def __init__(self, client: ApiGatewayManagementApiClient) -> None:
        self._client = client

    def post(self, connection_id: str, frame: str) -> None:
        """One PostToConnection. A lost frame is no loss: the client sees the gap and resumes from the log."""
        try:
            self._client.post_to_connection(ConnectionId=connection_id, Data=frame.encode())
        except NO_ANSWER as error:
            _log.debug("a frame was dropped: %s", type(error).__name__)
        except ClientError as error:
            if code_of(error) == "GoneException":
                raise ConnectionGone(connection_id) from error
            if not is_temporary(error):
                raise
            _log.debug("a frame was dropped: %s", code_of(error))
