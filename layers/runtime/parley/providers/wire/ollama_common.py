"""What Ollama's two endpoints share: options, errors, and how a stream of objects ends.

Source: requests recorded from the official client and https://github.com/ollama/ollama/blob/main/docs/api.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parley.domain.errors import ProviderError
from parley.domain.messages import Usage
from parley.prompts.prompt import Prompt
from parley.providers.wire.failures import error_for_status, error_in_stream, read_json, retry_after
from parley.providers.wire.shapes import as_count

OPTIONS = (
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "seed",
    "num_ctx",
    "num_predict",
    "repeat_penalty",
    "presence_penalty",
    "frequency_penalty",
)
FIELDS = ("keep_alive", "format", "think", "raw")
"""Settings that stand beside ``options`` in the body."""


def settings_of(prompt: Prompt, stop: list[str]) -> dict[str, Any]:
    """``options`` and the fields beside it. ``options`` and ``extra_body`` in the settings are merged in.

    The context is made as long as the prompt was composed for: the server's own length is shorter than most
    models', and it drops what does not fit without a word.
    """
    settings = prompt.settings
    options = {name: settings[name] for name in OPTIONS if settings.get(name) is not None}
    if settings.get("max_tokens") is not None:
        options.setdefault("num_predict", settings["max_tokens"])
    if prompt.capabilities.max_context_length is not None:
        options.setdefault("num_ctx", prompt.capabilities.max_context_length)
    if stop:
        options["stop"] = stop
    if isinstance(settings.get("options"), dict):
        options |= settings["options"]
    body: dict[str, Any] = {"options": options} if options else {}
    body |= {name: settings[name] for name in FIELDS if settings.get(name) is not None}
    if prompt.response_schema is not None:
        body["format"] = prompt.response_schema
    return body | settings["extra_body"] if isinstance(settings.get("extra_body"), dict) else body


def check(chunk: dict[str, Any]) -> None:
    """Raises if the object tells of an error."""
    if chunk.get("error"):
        raise error_in_stream(str(chunk["error"]))


def usage_of(chunk: dict[str, Any]) -> Usage | None:
    """The last object's counts."""
    if "prompt_eval_count" not in chunk and "eval_count" not in chunk:
        return None
    return Usage(
        input_tokens=as_count(chunk.get("prompt_eval_count")), output_tokens=as_count(chunk.get("eval_count"))
    )


def decode_error(status: int, headers: Mapping[str, str], body: str) -> ProviderError:
    """``{"error": "…"}``, or any text."""
    value = read_json(body)
    words = str(value.get("error") or body) if isinstance(value, dict) else body
    busy = status == 503 and "busy" in words.lower()
    return error_for_status(status, words, retry_after=retry_after(headers), overloaded=busy)
