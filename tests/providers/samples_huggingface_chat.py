"""Hugging Face's router: OpenAI's chat wire."""

from pathlib import Path

from tests.providers import samples_openai_chat
from tests.providers.cases import Sample

FIXTURES = Path(__file__).parent / "fixtures" / "huggingface_chat"
HAND = samples_openai_chat.HAND
MODEL = "meta-llama/Llama-3.3-70B-Instruct"
SETTINGS = {"max_tokens": 256}

SAMPLES = samples_openai_chat.SAMPLES | {
    "text": Sample(HAND, (FIXTURES / "text.sse").read_bytes()),
    "no money left": Sample(
        HAND, b'{"error": "You have exceeded your monthly included credits"}', status=402
    ),
    "overloaded": Sample(HAND, b'{"error": "Model is overloaded", "error_type": "overloaded"}', status=429),
}
NOT_APPLICABLE: dict[str, str] = {}
