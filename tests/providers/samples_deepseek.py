"""DeepSeek: OpenAI's chat wire, with reasoning that must come back around calls."""

import json
from pathlib import Path

from parley.domain.messages import ToolCall
from parley.prompts.prompt import PromptMessage
from tests.providers import samples_openai_chat
from tests.providers.cases import Sample

FIXTURES = Path(__file__).parent / "fixtures" / "deepseek"
HAND = samples_openai_chat.HAND
MODEL = "deepseek-chat"
SETTINGS = {"max_tokens": 256, "extra_body": {"thinking": {"type": "enabled"}}}
MESSAGES = (
    PromptMessage(role="user", content="Hi, I am Ann."),
    PromptMessage(role="assistant", content="Hi Ann."),
    PromptMessage(role="user", content="What is the weather in Paris?"),
    PromptMessage(
        role="assistant",
        tool_calls=(ToolCall(tool_call_id="call_Paris1", name="get_weather", arguments={"city": "Paris"}),),
        provider="deepseek",
        model=MODEL,
        provider_data={"reasoning_content": "The user wants weather."},
    ),
    PromptMessage(role="tool", content='{"temp_c":18}', tool_call_id="call_Paris1", name="get_weather"),
)

_answers = json.loads((FIXTURES / "errors.json").read_text())["answers"]


def _refused(place: int) -> Sample:
    answer = _answers[place]
    return Sample(HAND, json.dumps(answer["body"]).encode(), status=answer["status"])


SAMPLES = samples_openai_chat.SAMPLES | {
    "text": Sample(HAND, (FIXTURES / "text.sse").read_bytes()),
    "CRLF line ends": Sample(HAND, (FIXTURES / "text.sse").read_bytes().replace(b"\n", b"\r\n")),
    "no money left": _refused(0),
    "request at fault": _refused(1),
    "overloaded": _refused(2),
}
NOT_APPLICABLE: dict[str, str] = {}
