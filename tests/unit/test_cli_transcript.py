"""What the command line shows of a conversation."""

import io

from parley.cli.asked import value_text
from parley.cli.person import Decided
from parley.cli.terminal import Terminal, clean, shortened, terminal_for
from parley.cli.transcript import Transcript
from tests.unit.cli_events import event

# What is shown.


def shown(*events, transcript=None):
    out = io.StringIO()
    transcript = Transcript(Terminal(out, colours=False))
    for one in events:
        transcript.show(one)
    return out.getvalue().splitlines()


def test_a_turn_reads_as_a_conversation():
    assert shown(
        event(1, "UserMessage", message_id="u", content="Hello\nyou"),
        event(2, "ThreadStart", message_id="u"),
        event(3, message_id="m", offset=0, text="Good "),
        event(4, message_id="m", offset=5, text="day\n!"),
        event(5, "MessageEnd", message_id="m", content="Good day\n!"),
        event(6, "ThreadEnd"),
    ) == ["you    Hello", "       you", "agent  Good day", "       !"]


def test_calls_show_their_arguments_and_results():
    assert shown(
        event(1, "ToolCall", tool_call_id="c", name="f", arguments={"n": 1, "s": "é"}),
        event(2, "ToolResponse", tool_call_id="c", name="f", content="two\nlines\n", ok=True),
        event(3, "ToolResponse", tool_call_id="d", name="f", content="no", ok=False),
    ) == ['       → f(n=1, s="é")', "       ✓ two", "         lines", "       ✗ no"]


def test_results_of_several_calls_say_whose_they_are():
    calls = [("a", "f", {"n": 1}), ("b", "f", {"n": 2}), ("c", "g", {})]
    assert shown(
        *(event(1, "ToolCall", tool_call_id=one, name=name, arguments=given) for one, name, given in calls),
        event(2, "ToolResponse", tool_call_id="c", name="g", content="three", ok=True),
        event(3, "ToolResponse", tool_call_id="b", name="f", content="two", ok=True),
        event(4, "ToolResponse", tool_call_id="a", name="f", content="one", ok=False),
        event(5, "ToolCall", tool_call_id="d", name="h", arguments={}),
        event(6, "ToolResponse", tool_call_id="d", name="h", content="four", ok=True),
    )[3:] == [
        "       ✓ g: three",
        "       ✓ f(n=2): two",
        "       ✗ f(n=1): one",
        "       → h()",
        "       ✓ four",
    ]


def test_a_subagent_stands_below_the_call_that_opened_it():
    inside = {"subthread": "s", "parent": "t-1"}
    assert shown(
        event(1, "ToolCall", tool_call_id="c", name="manage", arguments={}),
        event(2, "AgentSubthreadStart", tool_call_id="c", subthread_id="s", agent_id="manager"),
        event(3, "SubthreadUserMessage", message_id="q", content="do it", **inside),
        event(4, "ToolCall", tool_call_id="d", name="f", arguments={}, **inside),
        event(5, message_id="m", offset=0, text="done", **inside),
        event(6, "MessageEnd", message_id="m", content="done", **inside),
        event(7, "ToolResponse", tool_call_id="c", name="manage", content="done", ok=True),
    ) == [
        "       → manage()",
        "         manager ← do it",
        "         → f()",
        "         manager: done",
        "       ✓ done",
    ]


def test_two_subagents_that_write_at_once_are_not_mixed_up():
    starts = [
        event(n, "AgentSubthreadStart", tool_call_id=s, subthread_id=s, agent_id=s)
        for n, s in ((1, "a"), (2, "b"))
    ]
    inside_a = {"subthread": "a", "message_id": "ma"}
    inside_b = {"subthread": "b", "message_id": "mb"}
    assert shown(
        *starts,
        event(3, offset=0, text="one ", **inside_a),
        event(4, offset=0, text="eins ", **inside_b),
        event(5, offset=4, text="two", **inside_a),
        event(6, "MessageEnd", content="one two", **inside_a),
        event(7, offset=5, text="zwei", **inside_b),
        event(8, "MessageEnd", content="eins zwei", **inside_b),
    ) == ["         a: one two", "         b: eins zwei"]


def test_a_message_that_begins_again_says_so_and_is_whole_in_the_end():
    assert shown(
        event(1, message_id="m", offset=0, text="Goo"),
        event(2, "MessageReset", message_id="m", attempt=2),
        event(3, message_id="m", offset=0, text="Good day"),
        event(4, message_id="m", offset=5, text="day"),
        event(5, "MessageEnd", message_id="m", content="Good day"),
    ) == ["agent  Goo", "       (interrupted, trying again)", "agent  Good day"]


def test_a_message_that_goes_on_behind_another_line_keeps_its_column():
    assert shown(
        event(1, message_id="m", offset=0, text="one "),
        event(2, "RunContinued", generation=2),
        event(3, message_id="m", offset=4, text="two "),
        event(4, message_id="m", offset=8, text="three"),
        event(5, "TurnCancelled", turn=1),
    ) == ["agent  one ", "       · continued as run 2", "       two three", "       ✗ cancelled"]


def test_a_message_without_pieces_is_shown_when_it_ends():
    assert shown(event(1, "MessageEnd", message_id="m", content="All at once")) == ["agent  All at once"]
    assert shown(event(1, "MessageEnd", message_id="m", content="")) == []


def test_failures_and_ends_are_said_in_plain_words():
    assert shown(
        event(1, "TurnFailed", type="ProviderOverloaded", message="The model is busy.", retryable=True),
        event(2, "TurnCancelled"),
        event(3, "RunContinued", generation=2),
        event(4, "ActionRejected", proposal_id="p", reason="expired"),
        event(5, "ActionConfirmed", proposal_id="p", reviewer="eve"),
        event(6, "ProposeActions", actions=[{"label": "More", "message": "more"}]),
        event(7, "ConversationCompleted", reason="ended"),
        event(8, "SomethingNew", anything=1),
    ) == [
        "       ! The model is busy. Trying again may help.",
        "       ✗ cancelled",
        "       · continued as run 2",
        "       ✗ nobody decided in time: expired",
        "       approved by eve",
        "       next: More",
        "       · conversation completed",
    ]


def test_what_a_person_ended_is_said_once_and_in_words_for_people():
    inside = {"subthread": "s", "parent": "t-1"}
    model = {"content": "Words for the model.", "ok": False}
    asks = {"name": "f", "arguments": {}, "question": "Do it?"}
    assert shown(
        event(1, "ActionRequiresConfirmation", proposal_id="p", tool_call_id="c", **asks),
        event(2, "ActionRejected", proposal_id="p", reason="declined"),
        event(3, "ToolResponse", tool_call_id="c", name="f", additional_data={"reason": "too late"}, **model),
        event(4, "AgentSubthreadStart", tool_call_id="d", subthread_id="s", agent_id="helper"),
        event(5, "TurnFailed", type="ProviderOverloaded", message="It is busy.", retryable=False, **inside),
        event(6, "TurnCancelled", turn=1, **inside),
        event(
            7, "ToolResponse", tool_call_id="d", name="g", additional_data={"stopped": "Stopped."}, **model
        ),
    ) == [
        "       ? Do it?",
        "       ✗ declined: too late",
        "         ! It is busy.",
        "         ✗ cancelled",
        "       ✗ Stopped.",
    ]


def test_nothing_that_is_said_commands_the_terminal():
    lines = shown(event(1, "MessageEnd", message_id="m", content="a\x1b[31mred\x07\r\x9b2J"))
    assert lines == ["agent  a[31mred2J"]
    assert clean("tab\tline\nend") == "tab\tline\nend"
    assert clean("pay \u202e001\u202c \u2066to\u2069 שלום") == "pay 001 to שלום"


def test_what_does_not_show_is_named_where_somebody_decides():
    call = {"tool_call_id": "c", "name": "pay", "arguments": {"to": "A-\u202e10\u200b"}}
    asks = {**call, "proposal_id": "p", "question": "Pay A-\u202e10\u200b\r\x1b[2K?"}
    given = {"to": "A-\u2066\U000e0041"}
    assert shown(
        event(1, "ToolCall", **call),
        event(2, "ActionRequiresConfirmation", **asks),
        event(3, "ActionConfirmed", proposal_id="p", reviewer="eva", arguments=given),
    ) == [
        '       → pay(to="A-⟦U+202E⟧10⟦U+200B⟧")',
        "       ? Pay A-⟦U+202E⟧10⟦U+200B⟧⟦U+000D⟧⟦U+001B⟧[2K?",
        '       approved by eva with to="A-⟦U+2066⟧⟦U+E0041⟧"',
    ]
    out = io.StringIO()
    Transcript(Terminal(out, colours=False)).ask("Pay A-\u202e10?")
    assert out.getvalue() == "       ? Pay A-⟦U+202E⟧10? "


def test_a_line_of_a_question_does_not_look_like_a_line_of_the_conversation():
    out = io.StringIO()
    Transcript(Terminal(out, colours=False)).ask("Pay 1.00?\nagent  Paid.", indent=1)
    assert out.getvalue() == "         ? Pay 1.00?\n           agent  Paid. "


def asked_behind(*events, **proposal):
    out = io.StringIO()
    transcript = Transcript(Terminal(out, colours=False))
    for one in events:
        transcript.show(one)
    before = len(out.getvalue())
    Decided(approve=False).decide(transcript, proposal, 0)
    return out.getvalue()[before:].splitlines()


def test_whoever_is_asked_has_seen_every_argument():
    short = {"tool_call_id": "c", "name": "pay", "arguments": {"amount": 5}}
    long = {**short, "arguments": {"note": "x" * 200, "a b\n": "A\u200b", "amount": 5}}
    call, other = event(1, "ToolCall", **short), event(2, "ToolCall", **{**short, "tool_call_id": "d"})
    question = "       ? Pay? [decline]"
    assert asked_behind(call, **short, question="Pay?") == [question], "it stands right above"
    whole = ["       → pay", "           amount: 5", question]
    assert asked_behind(call, other, **short, question="Pay?") == whole
    assert asked_behind(**short, question="Pay?") == whole
    assert asked_behind(event(1, "ToolCall", **long), **long, question="Pay?") == [
        "       → pay",
        f'           note: "{"x" * 200}"',
        '           "a b\\n": "A⟦U+200B⟧"',
        "           amount: 5",
        question,
    ]


def test_a_very_long_value_shows_both_ends_and_how_long_it_is():
    shown = value_text("a" * 3000 + "z" * 3000)
    assert shown.startswith('"aaa')
    assert shown.endswith('zzz"')
    assert "4002 of 6002 characters left out" in shown


def test_a_decision_of_somebody_else_names_them():
    rejected = event(1, "ActionRejected", proposal_id="p", reason="declined", reviewer="eva")
    assert shown(rejected) == ["       ✗ declined by eva"]


def test_long_text_is_shortened():
    assert shortened("abcdef", 4) == "abc…"
    assert shortened("abcd", 4) == "abcd"


def test_colours_are_for_terminals_whose_users_want_them():
    class Tty(io.StringIO):
        def isatty(self):
            return True

    assert terminal_for(Tty(), no_color=False).styled("red", "x") == "\x1b[31mx\x1b[0m"
    assert terminal_for(Tty(), no_color=True).styled("red", "x") == "x"
    assert terminal_for(io.StringIO(), no_color=False).styled("red", "x") == "x"
