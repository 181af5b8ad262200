"""Groq: OpenAI's chat wire, with usage in an object of its own and calls that it could not read."""

import json
from pathlib import Path

from tests.providers import samples_openai_chat
from tests.providers.cases import Sample

FIXTURES = Path(__file__).parent / "fixtures" / "groq"
HAND = samples_openai_chat.HAND
MODEL = "llama-3.3-70b-versatile"
SETTINGS = {"max_completion_tokens": 256}

_answers = json.loads((FIXTURES / "errors.json").read_text())["answers"]

SAMPLES = samples_openai_chat.SAMPLES | {
    "text": Sample(HAND, (FIXTURES / "text.sse").read_bytes()),
    "an error inside HTTP 200": Sample(HAND, (FIXTURES / "tool_use_failed.sse").read_bytes()),
    "overloaded": Sample(HAND, json.dumps(_answers[1]["body"]).encode(), status=498),
}
NOT_APPLICABLE: dict[str, str] = {}
