"""The XML form of tool calls, for models without native ones: instructions, calls and their results as text.

Owns how the form is written; ``xml_calls`` reads it. The model answers with
``<tool_call name="NAME">{JSON arguments}</tool_call>`` and is told
``<tool_response name="NAME" ok="true">…</tool_response>``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from parley.domain.messages import ToolCall
from parley.prompts.prompt import PromptMessage, ToolSpec


def tool_instructions(tools: Sequence[ToolSpec]) -> str:
    """How to call the tools on offer, for the system prompt; empty if there are none."""
    if not tools:
        return ""
    described = "\n\n".join(
        f"### {tool.name}\n\n{tool.description}\n\nArguments (JSON schema): {_compact(tool.parameters)}"
        for tool in tools
    )
    return (
        "## Tools\n\n"
        "To use a tool, write this outside of any code block, with its arguments as one JSON object:\n\n"
        '<tool_call name="NAME">{"argument": "value"}</tool_call>\n\n'
        "Then stop: the result comes back as <tool_response>. Use only the tools listed here.\n\n" + described
    )


def call_as_text(call: ToolCall) -> str:
    """A call as the model would have written it, with nothing in its arguments that XML could take for its own."""
    arguments = _compact(call.arguments).replace("&", "\\u0026").replace("<", "\\u003c")
    return f"<tool_call name={quoteattr(call.name)}>{arguments}</tool_call>"


def response_as_text(name: str, content: str, *, ok: bool) -> str:
    """A result, escaped so that its content cannot close the element or open another."""
    return f'<tool_response name={quoteattr(name)} ok="{str(ok).lower()}">{escape(content)}</tool_response>'


def as_text(messages: Sequence[PromptMessage]) -> list[PromptMessage]:
    """The conversation in user and assistant messages alone; the results of one reply share an internal message."""
    plain: list[PromptMessage] = []
    after_result = False
    for message in messages:
        if message.role == "tool":
            text = response_as_text(message.name or "", message.content, ok=message.ok)
            if after_result:
                plain[-1] = plain[-1].but(content=f"{plain[-1].content}\n{text}")
            else:
                plain.append(PromptMessage(role="user", content=text, internal=True))
        elif message.tool_calls:
            lines = [message.content, *(call_as_text(call) for call in message.tool_calls)]
            plain.append(message.but(content="\n".join(line for line in lines if line), tool_calls=()))
        else:
            plain.append(message)
        after_result = message.role == "tool"
    return plain


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
