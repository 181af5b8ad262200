"""The shipped file in both interpreters: every way through it ends where it should."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from parley.turns.ports import ExecutionStatus
from tests.statemachine.scripted import ROOT, WAKE, Embedded, Moto, Outcome, Script, run
from tests.support.moto_aws import mocked_aws

SUCCEEDED, FAILED = ExecutionStatus.SUCCEEDED, ExecutionStatus.FAILED

ASK = {"next": "InvokeModel", "turn": 1, "step": 1}
RECORD = {"next": "RecordReply", "turn": 1, "step": 1}


def calls(*states: str, timeout: int = 3600) -> dict[str, Any]:
    """A reply with calls, each going to a state."""
    entries = [
        {"index": index, "tool_call_id": f"call_{index}", "next": state, "timeout_seconds": timeout}
        for index, state in enumerate(states)
    ]
    return {**RECORD, "next": "HandleToolCalls", "calls": entries}


# One turn that is answered at once; the run then hands over, so that no test waits for an inactive person.
PLAIN: Script = {
    "ReceiveMessage": [WAKE],
    "BuildPrompt": [ASK],
    "InvokeModel": [RECORD],
    "RecordReply": [{"next": "ContinueAsNew"}],
    "FailTurn": [{"next": "ContinueAsNew"}],
    "CloseRun": [{"next": "RunClosed"}],
}
SUBAGENT: Script = {
    "sub:BuildPrompt": [ASK],
    "sub:InvokeModel": [RECORD],
    "sub:RecordReply": [{"next": "RunClosed"}],
    "sub:FailTurn": [{"next": "RunClosed"}],
}

PROMPT = ["BuildPrompt", "PromptReady"]
MODEL = [*PROMPT, "InvokeModel", "ModelReplied"]
BEGIN = ["Start", "ReceiveMessage"]
HAND_OVER = ["TurnDone", "ContinueAsNew", "RunClosed"]
ANSWERED = ["RecordReply", *HAND_OVER]
TOOLS = [*BEGIN, *MODEL, "HandleToolCalls", *MODEL, *ANSWERED]
FAILED_TURN = ["FailTurn", *HAND_OVER]
NESTED = ["CallKind", "OpenSubthread", "RunSubagent", "CloseSubthread"]


@dataclass(frozen=True)
class Way:
    """A script and where it leads: the states outside the Map, those of each call, the nested executions."""

    script: Script
    outer: list[str]
    inner: Mapping[int, list[str]] = field(default_factory=dict)
    nested: Mapping[str, ExecutionStatus] = field(default_factory=dict)
    status: ExecutionStatus = SUCCEEDED
    inactivity_seconds: int = 3600


WAYS = {
    "a plain turn": Way(PLAIN, [*BEGIN, *MODEL, *ANSWERED]),
    "nobody writes": Way(
        {**PLAIN, "ReceiveMessage": [{}]},
        [*BEGIN, "CloseRun", "TurnDone", "RunClosed"],
        inactivity_seconds=1,
    ),
    "a message comes just as the run closes": Way(
        {**PLAIN, "ReceiveMessage": [{}, WAKE], "CloseRun": [{"next": "ReceiveMessage"}]},
        [*BEGIN, "CloseRun", "TurnDone", "ReceiveMessage", *MODEL, *ANSWERED],
        inactivity_seconds=1,
    ),
    "a second turn": Way(
        {**PLAIN, "RecordReply": [{"next": "ReceiveMessage"}, {"next": "ContinueAsNew"}]},
        [*BEGIN, *MODEL, "RecordReply", "TurnDone", "ReceiveMessage", *MODEL, *ANSWERED],
    ),
    "actions are proposed": Way(
        {**PLAIN, "RecordReply": [{"next": "ProposeActions"}], "ProposeActions": [{"next": "ContinueAsNew"}]},
        [*BEGIN, *MODEL, "RecordReply", "TurnDone", "ProposeActions", *HAND_OVER],
    ),
    "the person ends it": Way(
        {**PLAIN, "BuildPrompt": [{**ASK, "next": "CompleteConversation"}]},
        [*BEGIN, *PROMPT, "CompleteConversation", "RunClosed"],
    ),
    "nothing to answer": Way(
        {**PLAIN, "BuildPrompt": [{**ASK, "next": "ReceiveMessage"}, ASK]},
        [*BEGIN, *PROMPT, "ReceiveMessage", *MODEL, *ANSWERED],
    ),
    "a turn that was cancelled before the model": Way(
        {**PLAIN, "BuildPrompt": [{**ASK, "next": "RecordReply"}]}, [*BEGIN, *PROMPT, *ANSWERED]
    ),
    "the provider asks for patience": Way(
        {**PLAIN, "InvokeModel": [{**RECORD, "next": "WaitForProvider", "wait_seconds": 1}, RECORD]},
        [*BEGIN, *MODEL, "WaitForProvider", "InvokeModel", "ModelReplied", *ANSWERED],
    ),
    "the provider fails for good": Way(
        {**PLAIN, "InvokeModel": ["ProviderUnauthorized"]}, [*BEGIN, *PROMPT, "InvokeModel", *FAILED_TURN]
    ),
    "an answer that nobody knows": Way(
        {**PLAIN, "InvokeModel": [{**RECORD, "next": "Elsewhere"}]}, [*BEGIN, *MODEL, *FAILED_TURN]
    ),
    "two calls": Way(
        {**PLAIN, "InvokeModel": [calls("RunTool", "RunTool"), RECORD]},
        TOOLS,
        {0: ["CallKind", "RunTool"], 1: ["CallKind", "RunTool"]},
    ),
    "a confirmed call": Way(
        {**PLAIN, "InvokeModel": [calls("AwaitConfirmation"), RECORD], "AwaitConfirmation": [WAKE]},
        TOOLS,
        {0: ["CallKind", "AwaitConfirmation", "RunTool"]},
    ),
    "a confirmation that nobody gives": Way(
        {**PLAIN, "InvokeModel": [calls("AwaitConfirmation", timeout=1), RECORD]},
        TOOLS,
        {0: ["CallKind", "AwaitConfirmation", "RunTool"]},
    ),
    "a timer that fired too early": Way(
        {
            **PLAIN,
            "InvokeModel": [calls("AwaitConfirmation", timeout=1), RECORD],
            "AwaitConfirmation": [{}, WAKE],
            "RunTool": ["StillPending", {}],
        },
        TOOLS,
        {0: ["CallKind", "AwaitConfirmation", "RunTool", "AwaitConfirmation", "RunTool"]},
    ),
    "one call fails for good": Way(
        {**PLAIN, "InvokeModel": [calls("RunTool", "RunTool"), RECORD], "RunTool:0": ["ValueError"]},
        TOOLS,
        {0: ["CallKind", "RunTool", "FailCall"], 1: ["CallKind", "RunTool"]},
    ),
    "a call that cannot even be failed": Way(
        {
            **PLAIN,
            "InvokeModel": [calls("AwaitConfirmation", "RunTool")],
            "AwaitConfirmation": [{}],
            "RunTool": ["ValueError"],
            "FailCall": ["ValueError"],
        },
        [*BEGIN, *MODEL, "HandleToolCalls", *FAILED_TURN],
        {0: ["CallKind", "AwaitConfirmation"], 1: ["CallKind", "RunTool", "FailCall"]},
    ),
    "a subagent": Way(
        {**PLAIN, **SUBAGENT, "InvokeModel": [calls("OpenSubthread"), RECORD]},
        TOOLS,
        {0: NESTED},
        {"1-0": SUCCEEDED},
    ),
    "two subagents and a tool": Way(
        {**PLAIN, **SUBAGENT, "InvokeModel": [calls("OpenSubthread", "OpenSubthread", "RunTool"), RECORD]},
        TOOLS,
        {0: NESTED, 1: NESTED, 2: ["CallKind", "RunTool"]},
        {"1-0": SUCCEEDED, "1-1": SUCCEEDED},
    ),
    "a subagent of a subagent": Way(
        {
            **PLAIN,
            **SUBAGENT,
            "InvokeModel": [calls("OpenSubthread"), RECORD],
            "sub:InvokeModel": [calls("OpenSubthread"), RECORD],
        },
        TOOLS,
        {0: NESTED},
        {"1-0": SUCCEEDED, "2-0": SUCCEEDED},
    ),
    "a subagent that needs a confirmation": Way(
        {
            **PLAIN,
            **SUBAGENT,
            "InvokeModel": [calls("OpenSubthread"), RECORD],
            "sub:InvokeModel": [calls("AwaitConfirmation"), RECORD],
            "AwaitConfirmation": [WAKE],
        },
        TOOLS,
        {0: NESTED},
        {"1-0": SUCCEEDED},
    ),
    "a subagent that needs to be confirmed": Way(
        {
            **PLAIN,
            **SUBAGENT,
            "InvokeModel": [calls("AwaitConfirmation"), RECORD],
            "AwaitConfirmation": [WAKE],
            "RunTool": ["SubagentApproved"],
        },
        TOOLS,
        {0: ["CallKind", "AwaitConfirmation", "RunTool", *NESTED[1:]]},
        {"1-0": SUCCEEDED},
    ),
    "a subagent whose run dies": Way(
        {
            **PLAIN,
            **SUBAGENT,
            "InvokeModel": [calls("OpenSubthread"), RECORD],
            "sub:BuildPrompt": ["ValueError"],
            "sub:FailTurn": ["ValueError"],
        },
        TOOLS,
        {0: NESTED},
        {"1-0": FAILED},
    ),
    "a subagent that was started before": Way(
        {
            **PLAIN,
            **SUBAGENT,
            "InvokeModel": [calls("OpenSubthread"), RECORD],
            "OpenSubthread": [{"name": ROOT}],
        },
        TOOLS,
        {0: NESTED},
    ),
    "a run that was replaced while it received": Way(
        {**PLAIN, "ReceiveMessage": ["StaleRun"]}, [*BEGIN, "StaleRun"]
    ),
    "a run that was replaced during a call": Way(
        {
            **PLAIN,
            "InvokeModel": [calls("RunTool")],
            "RunTool": ["StaleRun"],
            "BuildPrompt": [ASK, "StaleRun"],
        },
        [*BEGIN, *MODEL, "HandleToolCalls", "BuildPrompt", "StaleRun"],
        {0: ["CallKind", "RunTool", "CallAbandoned"]},
    ),
    "an inbox that cannot be read": Way(
        {**PLAIN, "ReceiveMessage": ["ValueError"]}, [*BEGIN, "RunLost"], status=FAILED
    ),
    "a turn that cannot even be failed": Way(
        {**PLAIN, "BuildPrompt": ["ValueError"], "FailTurn": ["ValueError"]},
        [*BEGIN, "BuildPrompt", "FailTurn"],
        status=FAILED,
    ),
}


@pytest.fixture(scope="module")
def moto() -> Iterator[Moto]:
    with mocked_aws(pace=0.02) as aws:
        yield Moto(aws)


@pytest.fixture(params=["embedded", "moto"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Embedded | Moto:
    if request.param == "embedded":
        return Embedded(tmp_path)
    shared: Moto = request.getfixturevalue("moto")
    return shared


def follow(backend: Embedded | Moto, way: Way) -> Outcome:
    return run(backend, way.script, way.inactivity_seconds)


@pytest.mark.parametrize("name", WAYS)
def test_a_way_ends_where_it_should(backend: Embedded | Moto, name: str) -> None:
    way = WAYS[name]
    outcome = follow(backend, way)
    assert outcome.status is way.status
    assert outcome.outer == way.outer
    assert outcome.inner == way.inner
    assert outcome.nested == way.nested


@pytest.mark.parametrize("error", ["StreamCut", "ProviderRateLimited", "StoreUnavailable", "SaveConflict"])
def test_a_model_call_is_tried_again_and_told_so(backend: Embedded | Moto, error: str) -> None:
    outcome = run(backend, {**PLAIN, "InvokeModel": [error, error, RECORD]}, 3600)
    assert outcome.status is SUCCEEDED
    assert [call for call in outcome.calls if call[0] == "InvokeModel"] == [
        ("InvokeModel", n) for n in range(3)
    ]


def test_an_inbox_is_tried_again_with_a_token_that_still_works(backend: Embedded | Moto) -> None:
    outcome = run(backend, {**PLAIN, "ReceiveMessage": ["StoreUnavailable", WAKE]}, 3600)
    assert outcome.status is SUCCEEDED
    assert outcome.calls[:2] == [("ReceiveMessage", 0), ("ReceiveMessage", 1)]


def test_a_turn_without_tools_enters_nine_states_at_most(backend: Embedded | Moto) -> None:
    outcome = follow(backend, WAYS["a plain turn"])
    assert len(outcome.visits) - len(HAND_OVER[1:]) <= 9


def test_a_turn_with_one_tool_call_enters_fifteen_states_at_most(backend: Embedded | Moto) -> None:
    outcome = run(backend, {**PLAIN, "InvokeModel": [calls("RunTool"), RECORD]}, 3600)
    assert len(outcome.visits) - len(HAND_OVER[1:]) <= 15


def test_forty_calls_are_all_answered(backend: Embedded | Moto) -> None:
    outcome = run(backend, {**PLAIN, "InvokeModel": [calls(*["RunTool"] * 40), RECORD]}, 3600)
    assert outcome.status is SUCCEEDED
    assert [visit.name for visit in outcome.visits].count("RunTool") == 40
    assert outcome.calls.count(("RunTool", 0)) == 40
