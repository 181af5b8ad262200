"""Makes on a moto server what the sample payloads need; docs/sam-local.md says when.

A table, a bucket, a state machine that does nothing (each payload is sent by hand), the demo project and the
ticket of the socket's sample. The server is the one that AWS_ENDPOINT_URL names; run again, this starts anew.
"""

import json
from pathlib import Path
from typing import Any

import boto3

from parley import wiring
from parley.domain import keys
from parley.turns.records import put
from parley.turns.sockets import Ticket

HERE = Path(__file__).parent
USER = "dev"
YEAR = 31_536_000
NOTHING = {"StartAt": "Nothing", "States": {"Nothing": {"Type": "Succeed"}}}


def load(path: Path) -> dict[str, Any]:
    """A JSON file."""
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def make_table(name: str) -> None:
    """The table as template.yaml has it, empty."""
    client: Any = boto3.client("dynamodb")
    if name in client.list_tables()["TableNames"]:
        client.delete_table(TableName=name)
    pairs = {
        "": ("pk", "sk"),
        "due": ("due_partition", "due_sort"),
        "listed": ("listed_partition", "listed_sort"),
    }
    schemas = {
        index: [{"AttributeName": first, "KeyType": "HASH"}, {"AttributeName": second, "KeyType": "RANGE"}]
        for index, (first, second) in pairs.items()
    }
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": attribute, "AttributeType": "S"}
            for pair in pairs.values()
            for attribute in pair
        ],
        KeySchema=schemas.pop(""),
        GlobalSecondaryIndexes=[
            {"IndexName": index, "KeySchema": schema, "Projection": {"ProjectionType": "KEYS_ONLY"}}
            for index, schema in schemas.items()
        ],
    )


def main() -> None:
    """Everything."""
    environment = load(HERE / "env.json")["Parameters"]
    make_table(environment["PARLEY_TABLE"])
    s3: Any = boto3.client("s3")
    where = {"LocationConstraint": s3.meta.region_name}
    if environment["PARLEY_BUCKET"] not in {each["Name"] for each in s3.list_buckets()["Buckets"]}:
        s3.create_bucket(Bucket=environment["PARLEY_BUCKET"], CreateBucketConfiguration=where)
    boto3.client("stepfunctions").create_state_machine(
        name=environment["PARLEY_STATE_MACHINE_ARN"].rpartition(":")[2],
        definition=json.dumps(NOTHING),
        roleArn="arn:aws:iam::123456789012:role/parley-local",
    )
    runtime = wiring.aws_runtime(environment)
    wiring.ensure_demo(runtime, USER)
    ticket = load(HERE.parent / "socket-authorize.json")["queryStringParameters"]["ticket"]
    record = Ticket(user_id=USER, expires_at=runtime.clock.now() + YEAR)
    put(runtime, keys.ticket_partition(ticket), keys.TICKET, record, if_version=0)


if __name__ == "__main__":
    main()
