"""Amazon Bedrock: the models of an AWS account, asked through boto3.

Owns what HttpProvider owns for the others: settings, time limits, closing. Where: ``BEDROCK_REGION`` (else
``AWS_REGION``, ``AWS_DEFAULT_REGION``, or the profile's region), ``AWS_PROFILE``, ``BEDROCK_BASE_URL``. The
credentials are boto3's to find.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from typing import Any, Protocol

from parley.domain.agents import Capabilities
from parley.domain.errors import ProviderError, ProviderTimeout
from parley.prompts.prompt import Prompt
from parley.providers.http import TimeLimits
from parley.providers.wire import bedrock_images
from parley.providers.wire.bedrock_converse import decode_events, encode
from parley.turns.model_ports import Delta, Image, ImageOptions
from parley.turns.ports import Secrets

REGION_SETTINGS = ("BEDROCK_REGION", "AWS_REGION", "AWS_DEFAULT_REGION")
PROFILE_SETTING = "AWS_PROFILE"
BASE_URL_SETTING = "BEDROCK_BASE_URL"
_JSON = "application/json"
ANY_REGION = "us-east-1"
"""What requests to a server of one's own are signed for if no region is set."""


class ConverseClient(Protocol):
    """What we use of boto3's ``bedrock-runtime`` client."""

    def converse_stream(self, **request: Any) -> Mapping[str, Any]:
        """The answer; its ``stream`` gives events and can be closed."""
        ...

    def invoke_model(self, **request: Any) -> Mapping[str, Any]:
        """The answer; its ``body`` can be read."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


class BedrockProvider:
    """Implements the ports Provider and ImageMaker.

    ``client`` stands in for boto3's, which is made when the first call needs it.
    """

    name = "bedrock"

    def __init__(
        self,
        secrets: Secrets,
        *,
        client: ConverseClient | None = None,
        limits: TimeLimits | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._secrets = secrets
        self._given = client
        self._made: ConverseClient | None = None
        self._lock = threading.Lock()
        self._limits = limits or TimeLimits()
        self._monotonic = monotonic

    def capabilities(self) -> Capabilities:
        """Those of the Converse API; agents of models that can do less say so."""
        return Capabilities()

    def is_configured(self) -> bool:
        """Whether it is said where to ask. Whether there are credentials, a call has to show."""
        places = (*REGION_SETTINGS, PROFILE_SETTING, BASE_URL_SETTING)
        return self._given is not None or any(map(self._setting, places))

    def stream(self, prompt: Prompt) -> Iterator[Delta]:
        """Call the model; see the port. The request is made when the first delta is asked for."""
        try:
            with closing(self._events(encode(prompt))) as events:
                yield from decode_events(events)
        except ProviderError as error:
            raise self._named(error) from None

    def imagine(self, prompt: str, options: ImageOptions) -> Image:
        """One request; see the port."""
        from parley.providers.bedrock_client import calling  # noqa: PLC0415 - boto3 only where it is used

        body = json.dumps(bedrock_images.encode(prompt, options))
        try:
            with calling():
                answer = self._client().invoke_model(
                    modelId=options.model, body=body, contentType=_JSON, accept=_JSON
                )
            with calling(answered=True):
                whole = answer["body"].read()
            return bedrock_images.decode(whole)
        except ProviderError as error:
            raise self._named(error) from None

    def close(self) -> None:
        """Close the connections. A later call opens new ones."""
        with self._lock:
            if self._made is not None:
                self._made.close()
                self._made = None

    def _events(self, request: dict[str, Any]) -> Generator[Mapping[str, Any], None, None]:
        """Ask, and give out the events as they come. Closing this closes the connection."""
        from parley.providers.bedrock_client import calling  # noqa: PLC0415 - boto3 only where it is used

        deadline = self._monotonic() + self._limits.total
        with calling():
            stream = self._client().converse_stream(**request)["stream"]
        with closing(stream), calling(answered=True):
            for event in stream:
                yield event
                if self._monotonic() > deadline:
                    raise ProviderTimeout(f"the reply took longer than {self._limits.total:g} seconds")

    def _client(self) -> ConverseClient:
        from parley.providers.bedrock_client import make_client  # noqa: PLC0415 - boto3 only where it is used

        if self._given is not None:
            return self._given
        with self._lock:
            if self._made is None:
                base_url = self._setting(BASE_URL_SETTING)
                regions = filter(None, map(self._setting, REGION_SETTINGS))
                self._made = make_client(
                    region=next(regions, ANY_REGION if base_url else None),
                    profile=self._setting(PROFILE_SETTING),
                    base_url=base_url,
                    limits=self._limits,
                )
            return self._made

    def _named(self, error: ProviderError) -> ProviderError:
        message = f"{self.name}: {error.message}"
        return type(error)(message, provider=self.name, retry_after=error.retry_after)

    def _setting(self, name: str) -> str | None:
        return (self._secrets.get(name) or "").strip() or None
