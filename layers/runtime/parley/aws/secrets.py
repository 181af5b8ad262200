"""Settings and API keys in Parameter Store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from parley.aws.faults import calling, code_of
from parley.turns.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

KEPT_SECONDS = 300
"""How long a value, or its absence, is remembered: a rotated key takes effect within this time."""


class SsmSecrets:
    """`parley.turns.ports.Secrets` under a path such as ``/parley/prod``."""

    def __init__(self, client: SSMClient, prefix: str, clock: Clock) -> None:
        self._client = client
        self._prefix = prefix.rstrip("/")
        self._clock = clock
        self._kept: dict[str, tuple[str | None, float]] = {}

    def get(self, name: str) -> str | None:
        """The decrypted parameter ``{prefix}/{name}``: one GetParameter per name and five minutes."""
        now = self._clock.now()
        if (kept := self._kept.get(name)) is not None and now < kept[1]:
            return kept[0]
        value = self._read(name)
        self._kept[name] = (value, now + KEPT_SECONDS)
        return value

    def _read(self, name: str) -> str | None:
        try:
            with calling("Parameter Store"):
                answer = self._client.get_parameter(Name=f"{self._prefix}/{name}", WithDecryption=True)
        except ClientError as error:
            if code_of(error) == "ParameterNotFound":
                return None
            raise
        return answer["Parameter"]["Value"]
