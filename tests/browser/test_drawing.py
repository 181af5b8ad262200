"""How a run and the state machine are laid out: the page's pure modules, asked in a browser."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

MACHINE = json.loads((Path(__file__).parents[2] / "statemachine/conversation.asl.json").read_text("utf-8"))
HOUR = 3600.0


def ask(page: Page, module: str, expression: str, *given: Any) -> Any:
    """What an expression gives over a module's exports `m` and what it is given."""
    source = f"async (given) => {{ const m = await import('/inspector/{module}.js'); return {expression}; }}"
    return page.evaluate(source, list(given))


def visit(name: str, entered: float, exited: float | None, **facts: Any) -> dict[str, Any]:
    state = {"name": name, "type": "Task", "entered_at": entered, "exited_at": exited, "outcome": "succeeded"}
    return {**state, "turn": 1, "step": 1, "call": None, "retries": 0, "waiting": False, **facts}


def run(*states: dict[str, Any]) -> dict[str, Any]:
    return {"states": list(states), "model_calls": [], "asked": []}


def spans(page: Page, part: dict[str, Any], now: float) -> list[dict[str, float]]:
    expression = (
        "given[0].states.map((s) => m.span(s, m.scale(given[0], given[0].states, given[1]), given[1]))"
    )
    found: list[dict[str, float]] = ask(page, "trace", expression, part, now)
    return found


def flat(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Every node, those inside a Map too."""
    return [
        each for node in plan["nodes"] for each in (node, *(flat(node["inner"]) if node.get("inner") else ()))
    ]


def test_bars_lie_where_the_states_lay_in_time(modules: Page) -> None:
    bars = spans(modules, run(visit("BuildPrompt", 0, 1), visit("InvokeModel", 1, 4)), 4)
    assert [(round(bar["start"], 3), round(bar["length"], 3)) for bar in bars] == [(0, 0.25), (0.25, 0.75)]


def test_a_wait_of_hours_leaves_the_work_beside_it_to_be_seen(modules: Page) -> None:
    part = run(
        visit("InvokeModel", 0, 2),
        visit("AwaitConfirmation", 2, 5 * HOUR),
        visit("RunTool", 5 * HOUR, 5 * HOUR + 2),
    )
    model, wait, tool = spans(modules, part, 6 * HOUR)
    assert model["length"] == pytest.approx(tool["length"])
    assert model["length"] > 0.3
    assert wait["length"] < 0.3
    assert ask(modules, "trace", "m.scale(given[0], given[0].states, 0).cut", part) is True


def test_work_beside_a_wait_is_not_cut_with_it(modules: Page) -> None:
    part = run(visit("AwaitConfirmation", 0, 10), visit("RunTool", 0, 8))
    wait, tool = spans(modules, part, 10)
    assert tool["length"] == pytest.approx(0.8)
    assert wait["length"] == pytest.approx(1.0)


def test_what_still_runs_ends_now_and_what_took_no_time_can_be_seen(modules: Page) -> None:
    moment, running = spans(
        modules, run(visit("BuildPrompt", 1, 1), visit("InvokeModel", 1, None, outcome="running")), 3
    )
    assert moment["length"] > 0
    assert running["start"] + running["length"] == pytest.approx(1.0)


def test_states_stand_in_their_turns_and_what_lies_between_apart(modules: Page) -> None:
    part = run(
        visit("Start", 0, 0, type="Choice", turn=None),
        visit("ReceiveMessage", 0, 1, turn=None),
        visit("BuildPrompt", 1, 2),
        visit("TurnDone", 2, 2, type="Choice", turn=None),
        visit("ReceiveMessage", 2, None, turn=None, outcome="running"),
    )
    found = ask(modules, "trace", "m.groups(given[0].states).map((g) => [g.turn, g.states.length])", part)
    assert found == [[None, 2], [1, 2], [None, 1]]


def test_every_state_of_the_machine_is_drawn_and_no_two_lie_upon_each_other(modules: Page) -> None:
    plan = ask(modules, "machine", "m.layout(given[0])", MACHINE)
    inside = MACHINE["States"]["HandleToolCalls"]["ItemProcessor"]["States"]
    assert {node["name"] for node in flat(plan)} == MACHINE["States"].keys() | inside.keys()
    levels = [plan["nodes"], *(node["inner"]["nodes"] for node in plan["nodes"] if node.get("inner"))]
    for one, other in itertools.chain(*(itertools.combinations(level, 2) for level in levels)):
        beside = one["x"] + one["width"] <= other["x"] or other["x"] + other["width"] <= one["x"]
        below = one["y"] + one["height"] <= other["y"] or other["y"] + other["height"] <= one["y"]
        assert beside or below, (one["name"], other["name"])
    assert all(node["x"] >= 0 and node["x"] + node["width"] <= plan["width"] for node in plan["nodes"])


def test_the_usual_way_through_the_machine_leads_downwards(modules: Page) -> None:
    plan = ask(modules, "machine", "m.layout(given[0])", MACHINE)
    height = {node["name"]: node["y"] for node in plan["nodes"]}
    way = [
        "Start",
        "ReceiveMessage",
        "BuildPrompt",
        "PromptReady",
        "InvokeModel",
        "ModelReplied",
        "RecordReply",
        "TurnDone",
    ]
    assert [height[name] for name in way] == sorted({height[name] for name in way})
    back = {(edge["from"], edge["to"]) for edge in plan["edges"] if edge["kind"] == "back"}
    assert ("TurnDone", "ReceiveMessage") in back
    assert ("HandleToolCalls", "BuildPrompt") in back


def test_of_many_turns_the_last_and_those_that_failed_are_open(modules: Page) -> None:
    failed = {"outcome": "failed", "error": "States.TaskFailed"}
    part = run(
        *(visit("BuildPrompt", at, at + 1, turn=at, **(failed if at == 3 else {})) for at in range(1, 9))
    )
    open_turns = (
        "(() => { const line = m.timeline(given[0], { opened: new Map(), every: false, now: 9 });"
        " return [...line.querySelectorAll('[aria-expanded=true].turn-head')].map((turn) => turn.innerText); })()"
    )
    assert ask(modules, "timeline", open_turns, part) == ["Turn 3", "Turn 8"]
    few = {**part, "states": part["states"][:4]}
    assert len(ask(modules, "timeline", open_turns, few)) == 4


def test_long_code_grows_without_being_made_anew(modules: Page) -> None:
    grown = modules.evaluate(
        """async () => {
          const { Code } = await import("/code.js");
          const lines = Array.from({ length: 450 }, (_, number) => `line ${number}\\n`);
          const code = new Code({ text: lines[0], lang: "py" });
          const [first] = code.code.children;
          for (let count = 2; count <= lines.length; count += 7) {
            code.becomes({ text: lines.slice(0, count).join(""), lang: "py" });
          }
          const other = new Code({ text: code.text, lang: "py" });
          return {
            whole: code.code.textContent === code.text,
            same: code.code.innerHTML === other.code.innerHTML,
            kept: code.code.firstElementChild === first && first.textContent.split("\\n").length === 101,
            refused: code.becomes({ text: "something else", lang: "py" }),
          };
        }"""
    )
    assert grown == {"whole": True, "same": True, "kept": True, "refused": False}
