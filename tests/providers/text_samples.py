"""Replies of models that complete one text, where calls are text too: what the samples of their wires share."""

PARIS = '<tool_call name="get_weather">{"city": "Paris"}</tool_call>'
ROME = '<tool_call name="get_weather">{"city": "Rome"}</tool_call>'

PIECES: dict[str, tuple[str, ...]] = {
    "text": ("Hel", "lo"),
    "text outside ASCII": (" Grüße, ", "世界 🎉"),
    "two calls": (PARIS[:7], PARIS[7:40], PARIS[40:] + "\n" + ROME[:30], ROME[30:]),
    "a call with empty arguments": ('<tool_call name="get_time">', "</tool_call>"),
    "text and a call": ("Let me ", "look.\n\n", PARIS, "\n"),
}
"""Case → the pieces in which the text comes."""

NO_FILTER = "no content filter tells of itself"
WHOLE_CALLS = "calls are text, one behind the other"
