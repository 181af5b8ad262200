"""Any history that a thread may have: messages of every kind, in any order, made with any provider."""

from typing import Any

from hypothesis import strategies as st

from parley.domain.messages import Message, MessageKind, ToolCall

PROVIDERS = ("openai", "anthropic", "google", "bedrock", "deepseek", "openrouter", "scripted")
MODELS = ("model-a", "model-b")
WIRE_IDS = ("", "functions.x:0", "call_1", "toolu_01", "x" * 70, "é", None)

_texts = st.sampled_from(["", " ", "\n", "text", "Grüße 🎉", '{"a": 1}', "[1]", '{"a": NaN}'])
_names = st.sampled_from(["get_weather", "functions.get:0", "", "9lives", "é", "n" * 80])
_signed = st.sampled_from([{}, {"thought_signature": "c2ln"}])
_arguments: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {"city": "Paris"}, {"n": [1, {"x": None}]}, {"bad": float("nan")}]
)
_kept = st.sampled_from(
    [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"phase": "commentary"},
    ]
)
_block = st.one_of(
    st.builds(lambda kept: {"kept": kept}, _kept),
    st.builds(lambda length: {"text": length}, st.integers(0, 9)),
    st.just({"call": True}),
)
_data = st.one_of(
    st.just({}),
    st.builds(lambda blocks: {"blocks": blocks}, st.lists(_block, max_size=4)),
    st.builds(
        lambda spans: {"text_signatures": [[start, end, "c2ln"] for start, end in spans]},
        st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=3),
    ),
    st.just({"reasoning_content": "hm"}),
    st.just(
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x", "id": "call_1", "index": 0}]}
    ),
)


@st.composite
def stored_histories(draw: st.DrawFn, mostly: str) -> list[Message]:
    """Messages in stored order, most of them made with the provider ``mostly``; any may be the last."""
    made_by = st.sampled_from([*PROVIDERS, *[mostly] * len(PROVIDERS)])
    history: list[Message] = []
    turn = 1
    for place, kind in enumerate(draw(st.lists(st.sampled_from("uuaaccxxxrrn"), max_size=20))):
        turn += kind == "u"
        made = draw(_message(f"m{place}", "c" if kind == "x" else kind, turn, made_by))
        history.append(made)
        if kind == "x":
            history += [draw(_answer(f"m{place}-{n}", turn, c)) for n, c in enumerate(made.tool_calls)]
    if draw(st.booleans()):
        history.append(draw(_message("last", "u", turn + 1, made_by)))
    return history


@st.composite
def _message(
    draw: st.DrawFn, message_id: str, kind: str, turn: int, made_by: st.SearchStrategy[str]
) -> Message:
    shared: dict[str, Any] = {"id": message_id, "timestamp": 1.0, "turn": turn, "content": draw(_texts)}
    match kind:
        case "u":
            return Message(kind=MessageKind.USER_MESSAGE, role="user", **shared)
        case "a":
            metadata = draw(_metadata(shared["content"], 0, made_by))
            return Message(kind=MessageKind.ASSISTANT_MESSAGE, role="assistant", metadata=metadata, **shared)
        case "c":
            calls = tuple(draw(st.lists(_call(), max_size=3)))
            return Message(
                kind=MessageKind.ASSISTANT_TOOL_CALL,
                role="assistant",
                tool_calls=calls,
                metadata=draw(_metadata(shared["content"], len(calls), made_by)),
                **shared,
            )
        case "r":
            answers = {"tool_call_id": draw(_ids), "is_tool_response": True, "internal": True}
            return Message(
                kind=MessageKind.TOOL_RESPONSE,
                role="tool",
                ok=draw(st.booleans()),
                metadata=answers,
                **shared,
            )
        case _:
            noise = draw(st.sampled_from([MessageKind.AGENT_SUBTHREAD, MessageKind.TURN_FAILED]))
            return Message(kind=noise, role="system", **shared)


_ids = st.sampled_from(["c1", "c2", "c3", "", "functions.x:0", "y" * 70])


@st.composite
def _call(draw: st.DrawFn) -> ToolCall:
    return ToolCall(
        tool_call_id=draw(_ids),
        name=draw(_names),
        arguments=draw(_arguments),
        provider_call_id=draw(st.sampled_from(WIRE_IDS)),
        metadata=draw(_signed),
    )


def _answer(message_id: str, turn: int, call: ToolCall) -> st.SearchStrategy[Message]:
    metadata = {"tool_call_id": call.tool_call_id, "is_tool_response": True, "internal": True}
    return st.builds(
        lambda content, ok: Message(
            id=message_id,
            kind=MessageKind.TOOL_RESPONSE,
            role="tool",
            content=content,
            ok=ok,
            timestamp=1.0,
            turn=turn,
            metadata=metadata,
        ),
        _texts,
        st.booleans(),
    )


@st.composite
def _metadata(draw: st.DrawFn, content: str, calls: int, made_by: st.SearchStrategy[str]) -> dict[str, Any]:
    """Provider data that fits the message, or that of any other."""
    blocks: list[dict[str, Any]] = [{"call": True}] * calls + ([{"text": len(content)}] if content else [])
    fitting = st.permutations([*blocks, {"kept": draw(_kept)}]).map(lambda found: {"blocks": list(found)})
    return {
        "provider": draw(made_by),
        "model": draw(st.sampled_from(MODELS)),
        "provider_data": draw(st.one_of(fitting, _data)),
    }
