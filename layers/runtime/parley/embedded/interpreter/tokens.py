"""Task tokens: opaque, unguessable, and readable without a table of them.

A token names the execution, the branch and the try, and is signed with a key that stays in the database: one
that was never given out is told from one that was used.
"""

import base64
import binascii
import hmac
from typing import NamedTuple

from parley.embedded.interpreter.types import InvalidToken

_MAC_BYTES = 16


class TokenFor(NamedTuple):
    """What a token stands for: the execution's id, the branch's path, the attempt."""

    execution: int
    path: str
    attempt: int


def mint(key: bytes, target: TokenFor) -> str:
    """The token for `target`: always the same one for the same target."""
    text = f"{target.execution}/{target.path}/{target.attempt}".encode()
    return base64.urlsafe_b64encode(hmac.digest(key, text, "sha256")[:_MAC_BYTES] + text).decode()


def read(key: bytes, token: str) -> TokenFor:
    """What `token` stands for. Raises InvalidToken if it is none of ours."""
    try:
        raw = base64.b64decode(token.encode("ascii"), altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error) as error:
        raise InvalidToken("the token is malformed") from error
    mac, text = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
    if not hmac.compare_digest(mac, hmac.digest(key, text, "sha256")[:_MAC_BYTES]):
        raise InvalidToken("the token was never given out")
    execution, path, attempt = text.decode().split("/")
    return TokenFor(int(execution), path, int(attempt))
