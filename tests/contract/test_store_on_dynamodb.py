"""What only DynamoStore has to stand: lost answers, throttling, batches read in parts."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.exceptions import ClientError, ConnectTimeoutError, EndpointConnectionError, ReadTimeoutError
from botocore.stub import ANY, Stubber

from parley.aws import clients
from parley.aws.dynamo_item import encode
from parley.aws.store import DynamoStore
from parley.clock import MovableClock
from parley.domain.errors import StoreUnavailable
from parley.turns.ports import IndexKey, Item
from tests.support.moto_aws import MockedAws


class NapClock(MovableClock):
    """Notes what it is asked to sleep."""

    def __init__(self) -> None:
        super().__init__()
        self.naps: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)


@pytest.fixture
def client(aws: MockedAws) -> Any:
    return clients.dynamodb(aws.session)


@pytest.fixture
def dynamo(aws: MockedAws, client: Any) -> DynamoStore:
    return DynamoStore(client, aws.create_table(f"items-{uuid.uuid4().hex}"), NapClock())


@pytest.fixture
def stubbed(client: Any) -> Iterator[Stubber]:
    with Stubber(client) as stubber:
        yield stubber


def lose_first_answer(client: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The first request arrives, but its sender hears of a server error; the SDK sends it again."""
    sent: list[str] = []
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _: None)

    def lose(request: Any, **_: Any) -> AWSResponse | None:
        sent.append(request.body)
        if len(sent) > 1:
            return None
        client.meta.events.unregister("before-send.dynamodb", lose)
        client.meta.events.emit_until_response("before-send.dynamodb.PutItem", request=request)
        client.meta.events.register_first("before-send.dynamodb", lose)
        return AWSResponse(request.url, 500, HTTPHeaders(), _Nothing())

    client.meta.events.register_first("before-send.dynamodb", lose)
    return sent


class _Nothing:
    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        return iter(())


def test_every_read_of_the_table_sees_the_last_write(client: Any, dynamo: DynamoStore) -> None:
    asked: list[tuple[str, dict[str, Any]]] = []

    def note(params: dict[str, Any], model: Any, **_: Any) -> None:
        asked.append((model.name, params))

    dynamo.put(Item("p", "s", "{}", due=IndexKey("DUE", "1")), if_version=0)
    client.meta.events.register("provide-client-params.dynamodb", note)
    try:
        assert dynamo.get("p", "s")
        assert dynamo.query("p", "")
        assert dynamo.query_index("due", "DUE")
    finally:
        client.meta.events.unregister("provide-client-params.dynamodb", note)
    assert [name for name, _ in asked] == ["GetItem", "Query", "Query", "BatchGetItem"]
    (_, get), (_, query), (_, index), (_, batch) = asked
    (of_table,) = batch["RequestItems"].values()
    assert [read["ConsistentRead"] for read in (get, query, of_table)] == [True] * 3
    assert "ConsistentRead" not in index  # DynamoDB has none of a global index


def test_a_put_whose_answer_was_lost_is_a_success(
    client: Any, dynamo: DynamoStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = lose_first_answer(client, monkeypatch)
    assert dynamo.put(Item("p", "a", "1"), if_version=0).version == 1
    assert len(sent) == 2
    assert sent[0] == sent[1]
    stored = dynamo.get("p", "a")
    assert stored is not None
    assert (stored.body, stored.version) == ("1", 1)


def test_a_port_call_is_one_api_call(client: Any, dynamo: DynamoStore) -> None:
    calls: list[str] = []
    client.meta.events.register("before-call.dynamodb", lambda model, **_: calls.append(model.name))
    item = dynamo.put(Item("p", "a", "1", due=IndexKey("D", "1")), if_version=0)
    dynamo.put(item, if_version=1)
    dynamo.put(item, if_version=None)
    dynamo.get("p", "a")
    dynamo.query("p", "", limit=1)
    dynamo.delete("p", "a")
    assert calls == ["PutItem", "PutItem", "UpdateItem", "GetItem", "Query", "DeleteItem"]


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("ProvisionedThroughputExceededException", 400),
        ("ThrottlingException", 400),
        ("RequestLimitExceeded", 400),
        ("InternalServerError", 500),
        ("AnythingElse", 503),
    ],
)
def test_what_may_work_later_is_store_unavailable(
    stubbed: Stubber, dynamo: DynamoStore, code: str, status: int
) -> None:
    stubbed.add_client_error("get_item", code, http_status_code=status)
    with pytest.raises(StoreUnavailable, match="DynamoDB"):
        dynamo.get("p", "a")


@pytest.mark.parametrize(
    "code", ["ValidationException", "AccessDeniedException", "ResourceNotFoundException"]
)
@pytest.mark.parametrize("operation", ["get_item", "put_item", "delete_item"])
def test_what_is_wrong_stays_loud(stubbed: Stubber, dynamo: DynamoStore, code: str, operation: str) -> None:
    stubbed.add_client_error(operation, code, http_status_code=400)
    calls = {
        "get_item": lambda: dynamo.get("p", "a"),
        "put_item": lambda: dynamo.put(Item("p", "a", "1"), if_version=0),
        "delete_item": lambda: dynamo.delete("p", "a", if_version=1),
    }
    with pytest.raises(ClientError):
        calls[operation]()


@pytest.mark.parametrize(
    "error",
    [
        EndpointConnectionError(endpoint_url="x"),
        ConnectTimeoutError(endpoint_url="x"),
        ReadTimeoutError(endpoint_url="x"),
    ],
)
def test_no_answer_is_store_unavailable(
    client: Any, dynamo: DynamoStore, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _: None)

    def refuse(**_: Any) -> None:
        raise error

    client.meta.events.register_first("before-send.dynamodb", refuse)
    with pytest.raises(StoreUnavailable, match="did not answer"):
        dynamo.get("p", "a")


def indexed(sort: str) -> dict[str, Any]:
    return {"pk": {"S": "p"}, "sk": {"S": sort}, "due_partition": {"S": "D"}, "due_sort": {"S": sort}}


def stored(sort: str, *, due: str | None = None) -> Any:
    return encode(Item("p", sort, "1", due=IndexKey("D", due or sort)), 1, "w")


def test_keys_that_a_batch_left_unread_are_asked_for_again(stubbed: Stubber, dynamo: DynamoStore) -> None:
    keys = [{"pk": {"S": "p"}, "sk": {"S": sort}} for sort in ("1", "2")]
    table = dynamo._table
    stubbed.add_response("query", {"Items": [indexed("1"), indexed("2")]})
    stubbed.add_response(
        "batch_get_item",
        {
            "Responses": {table: [stored("2")]},
            "UnprocessedKeys": {table: {"Keys": keys[:1], "ConsistentRead": True}},
        },
        {"RequestItems": {table: {"Keys": keys, "ConsistentRead": True}}},
    )
    stubbed.add_response(
        "batch_get_item",
        {"Responses": {table: [stored("1")]}, "UnprocessedKeys": {}},
        {"RequestItems": {table: {"Keys": keys[:1], "ConsistentRead": True}}},
    )
    assert [item.sort for item in dynamo.query_index("due", "D")] == ["1", "2"]
    assert isinstance(dynamo._clock, NapClock)
    assert len(dynamo._clock.naps) == 1


def test_a_batch_that_is_never_read_whole_is_store_unavailable(stubbed: Stubber, dynamo: DynamoStore) -> None:
    keys = {dynamo._table: {"Keys": [{"pk": {"S": "p"}, "sk": {"S": "1"}}]}}
    stubbed.add_response("query", {"Items": [indexed("1")]})
    for _ in range(6):
        stubbed.add_response("batch_get_item", {"Responses": {}, "UnprocessedKeys": keys})
    with pytest.raises(StoreUnavailable):
        dynamo.query_index("due", "D")


def test_an_index_entry_that_lags_behind_its_item_is_left_out(stubbed: Stubber, dynamo: DynamoStore) -> None:
    """And the next page is read, because what was left out does not count."""
    table = dynamo._table
    first = {"Items": [indexed("1"), indexed("2")], "LastEvaluatedKey": indexed("2")}
    stubbed.add_response("query", first)
    stubbed.add_response("batch_get_item", {"Responses": {table: [stored("1", due="9"), stored("2")]}})
    stubbed.add_response(
        "query",
        {"Items": [indexed("3")]},
        {
            "TableName": table,
            "IndexName": "due",
            "Limit": 2,
            "ScanIndexForward": True,
            "KeyConditionExpression": ANY,
            "ExpressionAttributeValues": ANY,
            "ExclusiveStartKey": indexed("2"),
        },
    )
    stubbed.add_response("batch_get_item", {"Responses": {table: [stored("3")]}})
    assert [item.sort for item in dynamo.query_index("due", "D", limit=2)] == ["2", "3"]
