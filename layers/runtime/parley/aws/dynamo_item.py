"""How an item lies in the table: attribute names and their types, both ways.

===================  ====  =========================================================
attribute            type  what
===================  ====  =========================================================
pk, sk               S     partition and sort key
body                 S     JSON text
version              N     1, 2, 3, …
write_id             S     of the last write, by which a writer knows its own
expires_at           N     epoch seconds; the table's TTL attribute; absent: never
{index}_partition    S     key of the index ``due`` or ``listed``; absent: not in it
{index}_sort         S     its range key
===================  ====  =========================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from parley.turns.ports import Index, IndexKey, Item

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

OPTIONAL = ("expires_at", "due_partition", "due_sort", "listed_partition", "listed_sort")
"""Attributes that an item may lack."""


def text(value: str) -> AttributeValueTypeDef:
    return {"S": value}


def number(value: int) -> AttributeValueTypeDef:
    return {"N": str(value)}


def key(partition: str, sort: str) -> dict[str, AttributeValueTypeDef]:
    return {"pk": {"S": partition}, "sk": {"S": sort}}


def encode(item: Item, version: int, write_id: str) -> dict[str, AttributeValueTypeDef]:
    """The attributes of ``item`` as stored by the write ``write_id``."""
    attributes = key(item.partition, item.sort)
    attributes["body"] = {"S": item.body}
    attributes["version"] = number(version)
    attributes["write_id"] = {"S": write_id}
    if item.expires_at is not None:
        attributes["expires_at"] = number(item.expires_at)
    if item.due is not None:
        attributes["due_partition"] = {"S": item.due.partition}
        attributes["due_sort"] = {"S": item.due.sort}
    if item.listed is not None:
        attributes["listed_partition"] = {"S": item.listed.partition}
        attributes["listed_sort"] = {"S": item.listed.sort}
    return attributes


def decode(attributes: Mapping[str, Any]) -> Item:
    """The item that these attributes hold."""
    expires_at = attributes.get("expires_at")
    return Item(
        partition=attributes["pk"]["S"],
        sort=attributes["sk"]["S"],
        body=attributes["body"]["S"],
        version=int(attributes["version"]["N"]),
        expires_at=None if expires_at is None else int(expires_at["N"]),
        due=_entry(attributes, "due"),
        listed=_entry(attributes, "listed"),
    )


def _entry(attributes: Mapping[str, Any], index: Index) -> IndexKey | None:
    partition = attributes.get(f"{index}_partition")
    return None if partition is None else IndexKey(partition["S"], attributes[f"{index}_sort"]["S"])
