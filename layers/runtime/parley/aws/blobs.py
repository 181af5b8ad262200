"""Large values in S3: one object per key, one call per operation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from parley.aws.faults import calling, code_of
from parley.turns.ports import BlobInfo

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_PAGE: Final = 1000
"""Keys in one answer: https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html"""


class S3Blobs:
    """`parley.turns.ports.Blobs` in a bucket.

    The role needs ListBucket too: without it S3 answers 403, not 404, for a key that is not there.
    """

    def __init__(self, client: S3Client, bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def get(self, key: str) -> bytes | None:
        """One GetObject, read to its end."""
        try:
            with calling("S3"):
                return self._client.get_object(Bucket=self._bucket, Key=key)["Body"].read()
        except ClientError as error:
            if code_of(error) == "NoSuchKey":
                return None
            raise

    def put(self, key: str, value: bytes, *, content_type: str = "application/octet-stream") -> None:
        """One PutObject: readers see the old object or the new one."""
        with calling("S3"):
            self._client.put_object(Bucket=self._bucket, Key=key, Body=value, ContentType=content_type)

    def delete(self, key: str) -> None:
        """One DeleteObject, which is content with a key that is not there."""
        with calling("S3"):
            self._client.delete_object(Bucket=self._bucket, Key=key)

    def list_keys(self, prefix: str, *, after: str | None = None, limit: int = 1000) -> list[BlobInfo]:
        """One ListObjectsV2 per thousand keys."""
        request: dict[str, Any] = {"StartAfter": after} if after else {}
        found: list[BlobInfo] = []
        while len(found) < limit:
            with calling("S3"):
                page = self._client.list_objects_v2(
                    Bucket=self._bucket, Prefix=prefix, MaxKeys=min(_PAGE, limit - len(found)), **request
                )
            found.extend(
                BlobInfo(each["Key"], each["Size"], each["LastModified"].timestamp())
                for each in page.get("Contents", [])
            )
            if not page["IsTruncated"]:
                break
            request = {"ContinuationToken": page["NextContinuationToken"]}
        return found
