"""The store on DynamoDB: one table, one call per operation.

Reads of the table are consistent. An item whose time is over counts as absent from that second on; DynamoDB
removes it some hours or days later.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from parley.aws.dynamo_item import OPTIONAL, decode, encode, key, number, text
from parley.aws.faults import calling, code_of
from parley.domain.errors import StoreUnavailable
from parley.turns.item_size import check_size
from parley.turns.ports import Clock, ConditionFailed, Index, IndexKey, Item

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

_ALIVE: Final = "(attribute_not_exists(expires_at) OR expires_at > :now)"
_ABSENT: Final = "(attribute_not_exists(pk) OR expires_at <= :now)"
_BATCH: Final = 100
"""Keys in one BatchGetItem: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html"""
_BATCH_TRIES: Final = 6
_FIRST_CHARACTER: Final = "\x00"
_LAST_CHARACTER: Final = "\U0010ffff"


class DynamoStore:
    """`parley.turns.ports.Store` on a table as `parley.aws.dynamo_item` tells, with two KEYS_ONLY indexes."""

    def __init__(self, client: DynamoDBClient, table_name: str, clock: Clock) -> None:
        self._client = client
        self._table = table_name
        self._clock = clock

    def get(self, partition: str, sort: str) -> Item | None:
        """One consistent GetItem."""
        with calling("DynamoDB"):
            answer = self._client.get_item(
                TableName=self._table, Key=key(partition, sort), ConsistentRead=True
            )
        attributes = answer.get("Item")
        return None if attributes is None else self._alive(decode(attributes))

    def put(self, item: Item, *, if_version: int | None) -> Item:
        """One conditional PutItem; without a condition an UpdateItem, so that the version counts on."""
        check_size(item)
        write_id = uuid.uuid4().hex
        if if_version is None:
            return self._overwrite(item, write_id)
        version = if_version + 1
        condition, values = self._condition(if_version)
        try:
            with calling("DynamoDB"):
                self._client.put_item(
                    TableName=self._table,
                    Item=encode(item, version, write_id),
                    ConditionExpression=condition,
                    ExpressionAttributeValues=values,
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
        except ClientError as error:
            stored = _found_instead(error)
            # The SDK sent it twice: the first arrived, its answer was lost.
            if stored is None or stored["write_id"]["S"] != write_id:
                raise ConditionFailed(self._alive(decode(stored)) if stored else None) from error
        return _with_version(item, version)

    def delete(self, partition: str, sort: str, *, if_version: int | None = None) -> None:
        """One DeleteItem."""
        if if_version is None:
            with calling("DynamoDB"):
                self._client.delete_item(TableName=self._table, Key=key(partition, sort))
            return
        try:
            with calling("DynamoDB"):
                self._client.delete_item(
                    TableName=self._table,
                    Key=key(partition, sort),
                    ConditionExpression=f"version = :version AND {_ALIVE}",
                    ExpressionAttributeValues={":version": number(if_version), ":now": self._now()},
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
        except ClientError as error:
            stored = _found_instead(error)
            raise ConditionFailed(self._alive(decode(stored)) if stored else None) from error

    def query(
        self,
        partition: str,
        prefix: str,
        *,
        after: str | None = None,
        limit: int = 100,
        descending: bool = False,
    ) -> list[Item]:
        """A consistent Query; another only where items were over or 1 MB was reached."""
        if limit < 1 or (after and not _before_some(after, prefix, descending=descending)):
            return []
        request: dict[str, Any] = {
            "ConsistentRead": True,
            "KeyConditionExpression": "pk = :partition",
            "FilterExpression": _ALIVE,
            "ExpressionAttributeValues": {":partition": text(partition), ":now": self._now()},
            "ScanIndexForward": not descending,
        }
        if prefix:
            request["KeyConditionExpression"] += " AND begins_with(sk, :prefix)"
            request["ExpressionAttributeValues"][":prefix"] = text(prefix)
        if after and after.startswith(prefix):
            # The key need not exist, but has to lie within the condition.
            request["ExclusiveStartKey"] = key(partition, after)
        items: list[Item] = []
        for page in self._pages(request, limit):
            items.extend(decode(attributes) for attributes in page)
            if len(items) >= limit:
                break
        return items[:limit]

    def query_index(
        self,
        index: Index,
        partition: str,
        *,
        after: str | None = None,
        until: str | None = None,
        limit: int = 100,
        descending: bool = False,
    ) -> list[Item]:
        """A Query of the index, then a consistent BatchGetItem of what it names."""
        low, high = (until, after) if descending else (after, until)
        low, high = low or _FIRST_CHARACTER, high or _LAST_CHARACTER
        if limit < 1 or low > high:
            return []
        request: dict[str, Any] = {
            "IndexName": index,
            "KeyConditionExpression": (
                f"{index}_partition = :partition AND {index}_sort BETWEEN :low AND :high"
            ),
            "ExpressionAttributeValues": {
                ":partition": text(partition),
                ":low": text(low),
                ":high": text(high),
            },
            "ScanIndexForward": not descending,
        }
        items: list[Item] = []
        # BETWEEN includes both ends, so the one that `after` leaves out may take a place.
        for page in self._pages(request, limit if after is None else limit + 1):
            items.extend(self._still_indexed(page, index, after))
            if len(items) >= limit:
                break
        return items[:limit]

    def _overwrite(self, item: Item, write_id: str) -> Item:
        """Store whatever is there. A repeat by the SDK counts the version on twice, which harms nobody."""
        attributes = encode(item, 0, write_id)
        for name in ("pk", "sk", "version"):
            del attributes[name]
        values: dict[str, AttributeValueTypeDef] = {f":{name}": value for name, value in attributes.items()}
        values |= {":zero": number(0), ":one": number(1)}
        sets = [f"{name} = :{name}" for name in attributes]
        sets.append("version = if_not_exists(version, :zero) + :one")
        expression = f"SET {', '.join(sets)}"
        if removed := [name for name in OPTIONAL if name not in attributes]:
            expression += f" REMOVE {', '.join(removed)}"
        with calling("DynamoDB"):
            answer = self._client.update_item(
                TableName=self._table,
                Key=key(item.partition, item.sort),
                UpdateExpression=expression,
                ExpressionAttributeValues=values,
                ReturnValues="UPDATED_NEW",
            )
        return _with_version(item, int(answer["Attributes"]["version"]["N"]))

    def _condition(self, version: int) -> tuple[str, dict[str, AttributeValueTypeDef]]:
        if version == 0:
            return _ABSENT, {":now": self._now()}
        return f"version = :version AND {_ALIVE}", {":version": number(version), ":now": self._now()}

    def _pages(self, request: dict[str, Any], limit: int) -> Iterator[Sequence[dict[str, Any]]]:
        while True:
            with calling("DynamoDB"):
                answer = self._client.query(TableName=self._table, Limit=limit, **request)
            yield answer["Items"]
            if "LastEvaluatedKey" not in answer:
                return
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def _still_indexed(
        self, page: Sequence[dict[str, Any]], index: Index, after: str | None
    ) -> Iterator[Item]:
        """The items behind index entries, in their order, without those that have moved on since."""
        entries: dict[tuple[str, str], IndexKey] = {}
        for entry in page:
            where = IndexKey(entry[f"{index}_partition"]["S"], entry[f"{index}_sort"]["S"])
            if where.sort != after:
                entries[entry["pk"]["S"], entry["sk"]["S"]] = where
        keys = list(entries)
        for first in range(0, len(keys), _BATCH):
            batch = keys[first : first + _BATCH]
            found = self._batch_get(batch)
            for partition_and_sort in batch:
                item = found.get(partition_and_sort)
                current = None if item is None else item.due if index == "due" else item.listed
                if item is not None and current == entries[partition_and_sort]:
                    yield item

    def _batch_get(self, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Item]:
        found: dict[tuple[str, str], Item] = {}
        asked: Any = {self._table: {"Keys": [key(*each) for each in keys], "ConsistentRead": True}}
        for attempt in range(_BATCH_TRIES):
            with calling("DynamoDB"):
                answer = self._client.batch_get_item(RequestItems=asked)
            for attributes in answer["Responses"].get(self._table, []):
                item = self._alive(decode(attributes))
                if item is not None:
                    found[item.partition, item.sort] = item
            asked = answer.get("UnprocessedKeys")
            if not asked:
                return found
            self._clock.sleep(0.05 * 2**attempt)
        raise StoreUnavailable("DynamoDB left keys of a batch unread, several times over")

    def _alive(self, item: Item) -> Item | None:
        return None if item.expires_at is not None and item.expires_at <= self._clock.now() else item

    def _now(self) -> AttributeValueTypeDef:
        return {"N": repr(self._clock.now())}


def _before_some(after: str, prefix: str, *, descending: bool) -> bool:
    """Whether keys with ``prefix`` can follow ``after`` in that direction."""
    return after.startswith(prefix) or ((after > prefix) if descending else (after < prefix))


def _found_instead(error: ClientError) -> dict[str, Any] | None:
    """The item that a failed condition met. Raises ``error`` again if it is about something else."""
    if code_of(error) != "ConditionalCheckFailedException":
        raise error
    return error.response.get("Item")  # type: ignore[return-value]


def _with_version(item: Item, version: int) -> Item:
    return Item(item.partition, item.sort, item.body, version, item.expires_at, item.due, item.listed)
