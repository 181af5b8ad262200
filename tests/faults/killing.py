"""A server under load that is killed at random instants, again and again; ``make kill`` has it done fifty times.

Many people hold conversations with functions, confirmations, subagents and bursts of messages, while ``parley
serve`` is killed (SIGKILL) in its start or in its work and started again on the same folder. In the end every message
has to be answered once and in order, every approved action done under one key, the log without gaps and equal to what
its follower has, and nothing left hanging. The instants come from a seed.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parley.cli.servers import member_token
from tests.faults.kill_checks import (
    PATIENCE,
    WORDS,
    Person,
    check_folder,
    check_log,
    check_person,
    check_till,
)
from tests.support import till
from tests.support.killed import KilledServer
from tests.support.live import LiveClient

ROUNDS: tuple[tuple[tuple[str, bool], ...], ...] = (
    (("talk", True),),
    (("look", True),),
    (("pay", True),),
    (("pay", False),),
    (("manage", True),),
    (("talk", True), ("look", True), ("talk", True)),
)
"""What a person writes, in turn: a message or several at once, and how a question about it is answered."""


def _function(name: str, **facts: Any) -> dict[str, Any]:
    return {"name": name, "implementation": {"kind": "class", "class_name": name}, **facts}


def _agent(agent_id: str, functions: list[dict[str, Any]], script: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "agent_id": agent_id,
        "name": agent_id,
        "provider": "scripted",
        "model": "demo",
        "functions": functions,
        "turns_per_run": 4,
        "settings": {"script": script, "delay": 0.01},
    }


def _call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"when": name, "text": "Let me see.", "tool_calls": [{"name": name, "arguments": arguments}]}


def agents() -> list[dict[str, Any]]:
    """The agent that people talk to, and the one that it hands payments to."""
    subagent = {
        "kind": "subagent",
        "subagent_id": "cashier",
        "subagent_user_message": "Please pay: {request}",
    }
    request = {"type": "object", "properties": {"request": {"type": "string"}}, "required": ["request"]}
    manage = {
        "name": "manage",
        "description": "Has it paid.",
        "parameters": request,
        "implementation": subagent,
    }
    answers = [{"when": name, "text": f"{name}: {WORDS}"} for name in ("look", "pay", "manage", "talk")]
    calls = [_call("look", amount=1), _call("pay", amount=5), _call("manage", request="the bill")]
    paying = [_call("pay", amount=7), {"when": "pay", "text": f"It is settled: {WORDS}"}]
    return [
        _agent("cashier", [_function("pay")], paying),
        _agent("teller", [_function("look"), _function("pay"), manage], [*calls, *answers]),
    ]


@dataclass(frozen=True, slots=True)
class Plan:
    """How hard it is tried. ``start_kills``: the share of kills that fall into a start.

    ``full_disks``: how often, before the kills, the disk takes nothing for a while.
    """

    seed: int
    kills: int
    conversations: int
    longest_life: float = 2.0
    start_kills: float = 0.25
    start_seconds: float = 1.2
    full_disks: int = 0
    full_seconds: float = 1.0


class Talker(Person):
    """Holds one conversation."""

    async def converse(self, random_: random.Random, enough: asyncio.Event) -> None:
        """Round after round until it is enough, each waiting for the one before."""
        self.said, self.answered = [], set()
        self.follow()
        rounds = list(ROUNDS)
        while not enough.is_set() or rounds:
            if not rounds:
                rounds = list(ROUNDS)
            for text, approves in rounds.pop(random_.randrange(len(rounds))):
                number = len(self.said)
                client_id = f"{self.user}-{number}"
                words = f"{text} {number}"
                message_id = await self.say(words, client_id, "teller")
                self.said.append((words, message_id, approves))
            await self._until_answered()

    async def _until_answered(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while self._ends() < len(self.said):
            for proposal_id, approves in self._questions():
                await self.decide(proposal_id, approves)
                self.answered.add(proposal_id)
            left = deadline - time.monotonic()
            try:
                await self.until(lambda: self._ends() == len(self.said) or bool(self._questions()), left)
            except TimeoutError:
                status = await self.request("GET", self.path())
                raise AssertionError(
                    f"{self.user} waits in vain: {status}, follower at {len(self.events)}"
                ) from None

    def _ends(self) -> int:
        return sum(event["event"] == "ThreadEnd" and not event["subthread_id"] for event in self.events)

    def _questions(self) -> list[tuple[str, bool]]:
        return [
            (event["data"]["proposal_id"], self.said[event["turn"] - 1][2])
            for event in self.events
            if event["event"] == "ActionRequiresConfirmation"
            and event["data"]["proposal_id"] not in self.answered
        ]


async def run(plan: Plan, folder: Path) -> dict[str, Any]:
    """Kill and check; figures of what happened. Raises AssertionError on any loss."""
    instants = random.Random(plan.seed)  # noqa: S311 - it has to be the same again
    till_file = folder / "till.jsonl"
    server = KilledServer(
        folder / "data",
        folder / "server.log",
        PARLEY_PACKS="parley_marketer,tests.support.till",
        **{till.VARIABLE: str(till_file)},
    )
    people: list[Talker] = []
    try:
        server.start()
        await asyncio.to_thread(server.wait_until_it_serves)
        people = await _people(server, plan.conversations)
        enough = asyncio.Event()
        talks = [
            asyncio.create_task(person.converse(random.Random(instants.random()), enough))  # noqa: S311
            for person in people
        ]
        try:
            await _fill(server, plan, instants)
            killed = await _kill(server, plan, instants, talks)
            enough.set()
            await asyncio.gather(*talks)
        finally:
            for talk in talks:
                talk.cancel()
        payments = [await check_person(person) for person in people]
        for person in people:
            await person.close()
        assert server.stop() == 0
        calls = check_till(till_file, payments)
        check_folder(folder / "data", len(people))
        check_log(server.log.read_text(), full_disks=plan.full_disks)
        turns = sum(len(person.said) for person in people)
        seen = sum((person.counts for person in people), Counter())
        return {"seed": plan.seed, **killed, "turns": turns, "function calls": calls, **seen}
    finally:
        for person in people:
            await person.close()
        server.stop()


async def _people(server: KilledServer, count: int) -> list[Talker]:
    owner = LiveClient(server.url, "dev", await asyncio.to_thread(_token, server, "dev"))
    for agent in agents():
        await owner.request("PUT", f"/api/projects/demo/agents/{agent['agent_id']}", agent)
    await owner.close()
    users = [f"person-{number}" for number in range(count)]
    return [Talker(server.url, user, await asyncio.to_thread(_token, server, user)) for user in users]


def _token(server: KilledServer, user: str) -> str:
    return member_token(server.data, server.url, user, "demo")


async def _fill(server: KilledServer, plan: Plan, instants: random.Random) -> None:
    """The disk takes nothing for a while, and then everything again."""
    for _ in range(plan.full_disks):
        await asyncio.sleep(instants.uniform(0, plan.longest_life))
        server.refuse_writes()
        await asyncio.sleep(instants.uniform(0, plan.full_seconds))
        server.take_writes()


async def _kill(
    server: KilledServer, plan: Plan, instants: random.Random, talks: list[asyncio.Task[None]]
) -> dict[str, Any]:
    """The kills. The server serves afterwards."""
    in_start = 0
    for _ in range(plan.kills):
        starts = instants.random() < plan.start_kills
        wait = instants.uniform(0, plan.start_seconds if starts else plan.longest_life)
        if starts:
            server.kill()
            server.start()
        in_start += starts
        await asyncio.sleep(wait)
        server.kill()
        server.start()
        await asyncio.to_thread(server.wait_until_it_serves)
        for talk in talks:
            if talk.done():
                talk.result()
    return {"kills": plan.kills + in_start, "in a start": in_start}
