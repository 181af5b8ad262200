"""The local token issuer: what an OpenID provider is to the deployed API, for one data folder.

Owns the RSA key (`issuer.pem` in the folder, readable by its owner alone), tokens signed RS256 with it, and
their check, which is the one that API Gateway's JWT authorizer makes. It keeps no users: whoever can read
the folder can issue tokens for anybody, as they could read and write everything anyway.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from parley.domain.errors import ParleyError, StorageError
from parley.embedded.disk_words import words

ISSUER = "https://issuer.parley.local"
AUDIENCE = "parley"
OPERATOR_AUDIENCE = "parley-operator"
"""Of the tokens with which the command line asks a server on its machine to do an operator's work."""
TOKEN_SECONDS = 12 * 3600
_FILE = "issuer.pem"
_REMEMBERED = 1024


class InvalidToken(ParleyError):
    """The token is not one that this issuer accepts now; the message says why, in API Gateway's manner."""


class LocalIssuer:
    """Issues and checks tokens with the folder's key, which is made at first use."""

    def __init__(self, folder: Path, now: Callable[[], float]) -> None:
        self._now = now
        self._key = _load_or_make(folder)
        numbers = self._key.public_key().public_numbers()
        self._public = {"e": _base64(numbers.e), "kty": "RSA", "n": _base64(numbers.n)}
        # RFC 7638: the key's id is the hash of its required members, in order and without blanks.
        canonical = json.dumps(self._public, separators=(",", ":"), sort_keys=True).encode()
        self.key_id = base64.urlsafe_b64encode(hashlib.sha256(canonical).digest()).rstrip(b"=").decode()
        self._checked: dict[tuple[str, str], dict[str, Any]] = {}

    def issue(self, user: str, ttl: int = TOKEN_SECONDS, *, audience: str = AUDIENCE) -> str:
        """A token for `user` that is good for `ttl` seconds."""
        issued_at = int(self._now())
        claims = {
            "iss": ISSUER,
            "aud": audience,
            "sub": user,
            "iat": issued_at,
            "nbf": issued_at,
            "exp": issued_at + ttl,
            "jti": secrets.token_hex(8),
        }
        return jwt.encode(claims, self._key, algorithm="RS256", headers={"kid": self.key_id})

    def verify(self, token: str, audience: str = AUDIENCE) -> dict[str, Any]:
        """The token's claims. Raises InvalidToken."""
        claims = self._checked.get((token, audience))
        if claims is None:
            claims = self._check_signature(token, audience)
            if len(self._checked) >= _REMEMBERED:
                self._checked.clear()
            self._checked[token, audience] = claims
        now = self._now()
        if now >= claims["exp"]:
            raise InvalidToken("the token has expired")
        if now < claims.get("nbf", 0):
            raise InvalidToken("the token is not valid yet")
        return claims

    def key_set(self) -> dict[str, Any]:
        """The document at `/.well-known/jwks.json`."""
        return {"keys": [{**self._public, "alg": "RS256", "kid": self.key_id, "use": "sig"}]}

    def configuration(self, base_url: str) -> dict[str, Any]:
        """The document at `/.well-known/openid-configuration`; the server is reached at `base_url`."""
        return {
            "issuer": ISSUER,
            "jwks_uri": f"{base_url}/.well-known/jwks.json",
            "id_token_signing_alg_values_supported": ["RS256"],
            "response_types_supported": ["token"],
            "subject_types_supported": ["public"],
        }

    def _check_signature(self, token: str, audience: str) -> dict[str, Any]:
        try:
            if jwt.get_unverified_header(token).get("kid") != self.key_id:
                raise InvalidToken("the token was not signed by this issuer's key")
            claims: dict[str, Any] = jwt.decode(
                token,
                self._key.public_key(),
                algorithms=["RS256"],
                audience=audience,
                issuer=ISSUER,
                # Times are compared by our own clock, every time the token is shown.
                options={"verify_exp": False, "verify_nbf": False, "verify_iat": False},
            )
            float(claims["exp"])
            float(claims.get("nbf", 0))
        except jwt.InvalidAudienceError as error:
            raise InvalidToken("the token does not have a valid audience") from error
        except jwt.InvalidIssuerError as error:
            raise InvalidToken("the token does not have a valid issuer") from error
        except (jwt.PyJWTError, KeyError, TypeError, ValueError) as error:
            raise InvalidToken("the token is malformed or its signature is wrong") from error
        if not isinstance(claims.get("sub"), str) or not claims["sub"]:
            raise InvalidToken("the token names no subject")
        return claims


def _load_or_make(folder: Path) -> rsa.RSAPrivateKey:
    path = folder / _FILE
    try:
        if not path.exists():
            _make(path)
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise StorageError(f"{path}: {words(error)}") from error
    except ValueError as error:
        raise StorageError(f"{path} is no private key: remove it, and a new one is made") from error
    if not isinstance(key, rsa.RSAPrivateKey):
        raise StorageError(f"{path} is no RSA key: remove it, and a new one is made")
    return key


def _make(path: Path) -> None:
    """Write a new key under its name at once and whole; the first of two writers wins."""
    path.parent.mkdir(parents=True, exist_ok=True)
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    draft = path.with_name(f"{path.name}.{secrets.token_hex(6)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(pem)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()


def _base64(number: int) -> str:
    octets = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()
