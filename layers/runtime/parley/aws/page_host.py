"""The page of a deployed stack: its files in S3, CloudFront in front of them. For ``parley page``, no Lambda."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from botocore.exceptions import BotoCoreError, ClientError

from parley import assets, page
from parley.aws import clients
from parley.domain.errors import ParleyError

if TYPE_CHECKING:
    from boto3.session import Session

_CACHE: Final = "no-cache"
"""Asked for anew each time and answered 304: nobody works with half of an old page."""
_AT_ONCE: Final = 1000
"""Keys of one DeleteObjects."""


class PageNotHosted(ParleyError):
    """The stack is not there, hosts no page, or takes it only in part; the message says what to do."""


@dataclass(frozen=True, slots=True)
class PageHost:
    """Where a stack's page is: ``url`` for people, ``bucket`` and ``distribution`` for its files."""

    url: str
    bucket: str
    distribution: str
    config: dict[str, Any]
    s3: Any
    cloudfront: Any

    def upload(self) -> tuple[int, int]:
        """Put every file there, take away what is no longer one. How many of each. Raises PageNotHosted.

        The page itself comes last: whoever loads it meanwhile gets the files that belong to it.
        """
        contents = {name: path.read_bytes() for name, path in page.files(assets.data_folder("web")).items()}
        contents[page.CONFIG] = json.dumps(self.config).encode()
        try:
            for name in sorted(contents, key=lambda name: (name == page.INDEX, name)):
                self._put(name, contents[name])
            old = [key for key in self._keys() if key not in contents]
            kept = [error for start in range(0, len(old), _AT_ONCE) for error in self._delete(old, start)]
            self._forget()
        except (ClientError, BotoCoreError) as error:
            raise PageNotHosted(f"the page could not be uploaded to {self.bucket}: {error}") from error
        if kept:
            first = f"{kept[0]['Key']}: {kept[0]['Code']}" + (
                f", and {len(kept) - 1} more" if kept[1:] else ""
            )
            raise PageNotHosted(
                f"the page is there, but old files could not be removed from {self.bucket}: {first}"
            )
        return len(contents), len(old)

    def _put(self, name: str, content: bytes) -> None:
        kind = page.TYPES[f".{name.rpartition('.')[2]}"]
        self.s3.put_object(Bucket=self.bucket, Key=name, Body=content, ContentType=kind, CacheControl=_CACHE)

    def _delete(self, keys: list[str], start: int) -> list[dict[str, str]]:
        """Delete as many as one request may name; those that S3 did not, each with its key and code."""
        doomed = [{"Key": key} for key in keys[start : start + _AT_ONCE]]
        answer = self.s3.delete_objects(Bucket=self.bucket, Delete={"Objects": doomed, "Quiet": True})
        errors: list[dict[str, str]] = answer.get("Errors", [])
        return errors

    def _keys(self) -> Iterator[str]:
        for listed in self.s3.get_paginator("list_objects_v2").paginate(Bucket=self.bucket):
            yield from (entry["Key"] for entry in listed.get("Contents", []))

    def _forget(self) -> None:
        batch = {"Paths": {"Quantity": 1, "Items": ["/*"]}, "CallerReference": uuid4().hex}
        self.cloudfront.create_invalidation(DistributionId=self.distribution, InvalidationBatch=batch)


def open_page_host(session: Session, stack: str) -> PageHost:
    """The page of a stack, by its outputs. Raises PageNotHosted."""
    try:
        described = clients.cloudformation(session).describe_stacks(StackName=stack)["Stacks"][0]
    except (ClientError, BotoCoreError) as error:
        raise PageNotHosted(f"the stack {stack} cannot be read: {error}") from error
    outputs = {entry["OutputKey"]: entry["OutputValue"] for entry in described.get("Outputs", [])}
    if "PageBucketName" not in outputs:
        raise PageNotHosted(
            f"the stack {stack} hosts no page; deploy it with --parameter-overrides HostPage=true"
        )
    issuer, client_id, scope = outputs["PageSignIn"].split(" ", 2)
    return PageHost(
        url=outputs["PageUrl"],
        bucket=outputs["PageBucketName"],
        distribution=outputs["PageDistributionId"],
        config=page.config(
            socket=outputs["WebSocketUrl"],
            issuer=issuer,
            client_id=client_id,
            scope=scope,
        ),
        s3=clients.s3(session),
        cloudfront=clients.cloudfront(session),
    )
