"""Frames of ``application/vnd.amazon.eventstream``, as Bedrock sends them.

Source: https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html, which describes the
framing that all AWS event streams share.
"""

import json
import struct
import zlib
from typing import Any

_STRING = 7


def event(kind: str, content: Any) -> bytes:
    """An event; ``content`` as JSON, or bytes as they are."""
    return _frame({":message-type": "event", ":event-type": kind}, content)


def exception(kind: str, message: str) -> bytes:
    """An error inside a stream."""
    return _frame({":message-type": "exception", ":exception-type": kind}, {"message": message})


def _frame(named: dict[str, str], content: Any) -> bytes:
    payload = content if isinstance(content, bytes) else json.dumps(content, ensure_ascii=False).encode()
    headers = b"".join(
        struct.pack("!B", len(name))
        + name.encode()
        + struct.pack("!BH", _STRING, len(value))
        + value.encode()
        for name, value in {**named, ":content-type": "application/json"}.items()
    )
    prelude = struct.pack("!II", 16 + len(headers) + len(payload), len(headers))
    checked = prelude + struct.pack("!I", zlib.crc32(prelude)) + headers + payload
    return checked + struct.pack("!I", zlib.crc32(checked))
