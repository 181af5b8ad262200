"""OpenRouter: OpenAI's chat wire, with comments, errors in mid-stream and a name of one's own application."""

import json
from pathlib import Path

from tests.providers import samples_openai_chat
from tests.providers.cases import Sample

FIXTURES = Path(__file__).parent / "fixtures" / "openrouter"
HAND = samples_openai_chat.HAND
MODEL = "openai/gpt-4o-mini"
SETTINGS = {
    "extra_body": {
        "usage": {"include": True},
        "provider": {"order": ["OpenAI"], "allow_fallbacks": True},
        "reasoning": {"effort": "low"},
        "models": ["openai/gpt-4o-mini", "mistralai/mistral-small"],
    }
}
INSTALLATION = {"OPENROUTER_HTTP_REFERER": "https://app.example", "OPENROUTER_X_TITLE": "Example App"}

_answers = json.loads((FIXTURES / "errors.json").read_text())["answers"]

SAMPLES = samples_openai_chat.SAMPLES | {
    "text": Sample(HAND, (FIXTURES / "text.sse").read_bytes()),
    "noise between the events": Sample(HAND, (FIXTURES / "text.sse").read_bytes()),
    "an error inside HTTP 200": Sample(HAND, (FIXTURES / "error_in_stream.sse").read_bytes()),
    "no money left": Sample(HAND, json.dumps(_answers[1]["body"]).encode(), status=402),
    "request at fault": Sample(HAND, json.dumps(_answers[2]["body"]).encode(), status=403),
}
NOT_APPLICABLE: dict[str, str] = {}
