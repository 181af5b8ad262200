"""Every sample payload of ``events/`` through the handler of the function that gets it, on mocked AWS.

A payload comes in the middle of a story: what comes before it is told with the other payloads.
"""

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from parley import wiring
from parley.clock import MovableClock
from parley.domain import keys
from parley.turns.records import put
from parley.turns.sockets import Ticket
from tests.support.deployment import Account, Deployment, account
from tests.support.machine import ROOT, definition, lambda_tasks, substitutions
from tests.support.moto_aws import mocked_aws
from tests.support.template import resources

EVENTS = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (ROOT / "events").glob("*.json")
}
TASKS = lambda_tasks(definition())
NOW = 1_767_261_600.0
MANAGE = EVENTS["task-open-subthread"]["input"]["run"]


@dataclass(frozen=True)
class Told:
    """A payload with parts of its ``input``, or of its JSON body, replaced."""

    name: str
    input: Any = None
    body: Any = None


Step = str | Told


def model_step(step: int) -> Told:
    return Told("task-invoke-model", input={"turn": {"next": "InvokeModel", "turn": 1, "step": step}})


# The refund: asked for, called, proposed, approved, run, reported.
ASKED: list[Step] = ["api-post-chat"]
RECEIVED = [*ASKED, "task-receive-message"]
PROMPTED = [*RECEIVED, "task-build-prompt"]
CALLED = [*PROMPTED, "task-invoke-model"]
PROPOSED = [*CALLED, "task-await-confirmation"]
APPROVED = [*PROPOSED, "api-post-confirmation"]
RAN = [*APPROVED, "task-run-tool"]
REPLIED = [*RAN, "task-build-prompt", model_step(2)]
RECORDED = [*REPLIED, "task-record-reply"]
PARKED = [*RECORDED, "task-receive-message"]
ENDED = [*PARKED, "api-post-end", "task-receive-message", "task-build-prompt"]
ONE_TURN_PER_RUN = Told(
    "api-post-chat", body={**json.loads(EVENTS["api-post-chat"]["body"]), "turns_per_run": 1}
)
LAST_TURN = [ONE_TURN_PER_RUN, *RECORDED[1:]]

# The other thread, which a subagent works for.
DELEGATED: list[Step] = [
    "api-post-chat-subagent",
    Told("task-receive-message", input={"run": MANAGE}),
    Told("task-build-prompt", input={"run": MANAGE}),
    Told("task-invoke-model", input={"run": MANAGE}),
]
OPENED = [*DELEGATED, "task-open-subthread"]

CONNECTED: list[Step] = ["socket-connect"]

STORIES: dict[str, list[Step]] = {
    "api-get-events": RECORDED,
    "api-get-thread": PROPOSED,
    "api-post-chat": [],
    "api-post-chat-subagent": [],
    "api-post-confirmation": PROPOSED,
    "api-post-end": PARKED,
    "api-post-socket-ticket": [],
    "repair-execution-failed": RECEIVED,
    "repair-schedule": ASKED,
    "socket-authorize": [],
    "socket-connect": [],
    "socket-disconnect": CONNECTED,
    "socket-message-ping": CONNECTED,
    "socket-message-resume": [*PROPOSED, *CONNECTED],
    "socket-message-subscribe": CONNECTED,
    "task-await-confirmation": CALLED,
    "task-build-prompt": RECEIVED,
    "task-close-run": PARKED,
    "task-close-subthread": OPENED,
    "task-complete-conversation": ENDED,
    "task-continue-as-new": LAST_TURN,
    "task-fail-call": CALLED,
    "task-fail-turn": PROMPTED,
    "task-invoke-model": PROMPTED,
    "task-open-subthread": DELEGATED,
    "task-propose-actions": RECORDED,
    "task-receive-message": ASKED,
    "task-record-reply": REPLIED,
    "task-run-tool": APPROVED,
}

# What comes of it: fields of a task's result, or of an HTTP answer's body.
NEXT = {
    "task-build-prompt": "InvokeModel",
    "task-close-run": "RunClosed",
    "task-fail-turn": "ReceiveMessage",
    "task-invoke-model": "HandleToolCalls",
    "task-propose-actions": "ReceiveMessage",
    "task-record-reply": "ProposeActions",
}
BODIES = {
    "api-get-events": {"events", "next"},
    "api-get-thread": {"thread_id", "agent_id", "title", "phase", "pending", "generation", "turns", "queued"},
    "api-post-chat": {"thread_id", "message_id"},
    "api-post-chat-subagent": {"thread_id", "message_id"},
    "api-post-confirmation": {"outcome", "decision"},
    "api-post-end": {"thread_id", "message_id"},
    "api-post-socket-ticket": {"ticket"},
}
FRAMES = {
    "socket-message-ping": ["Pong"],
    "socket-message-subscribe": ["Subscribed"],
}


@pytest.fixture(scope="module")
def shared() -> Iterator[Account]:
    with mocked_aws() as aws, account(aws) as found:
        yield found


@pytest.fixture(scope="module")
def furnished(shared: Account) -> Deployment:
    """A stack with the demo project and the sample's ticket."""
    deployment = Deployment(shared, MovableClock(NOW))
    runtime = deployment.runtime("ApiFunction")
    wiring.ensure_demo(runtime, "dev")
    ticket = EVENTS["socket-authorize"]["queryStringParameters"]["ticket"]
    record = Ticket(user_id="dev", expires_at=NOW + 60)
    put(runtime, keys.ticket_partition(ticket), keys.TICKET, record, if_version=0)
    return deployment


@pytest.fixture
def stack(shared: Account, furnished: Deployment) -> Iterator[Deployment]:
    """A stack that begins with what is in the furnished one; nothing in it may overstep its rights."""
    shared.overstepped.clear()
    deployment = Deployment(shared, MovableClock(NOW))
    shared.aws.copy_items(furnished.table, deployment.table)
    yield deployment
    assert shared.overstepped == set()


def function_of(name: str) -> str:
    """The logical id of the function that gets a payload."""
    kind, _, rest = name.partition("-")
    match kind:
        case "api":
            return "ApiFunction"
        case "repair":
            return "RepairFunction"
        case "socket":
            return "SocketAuthorizerFunction" if rest == "authorize" else "SocketFunction"
        case _:
            (arn,) = substitutions(TASKS[EVENTS[name]["state"]]["Parameters"]["FunctionName"])
            return arn.removesuffix("Arn")


def send(stack: Deployment, step: Step) -> Any:
    told = Told(step) if isinstance(step, str) else step
    event = copy.deepcopy(EVENTS[told.name])
    if told.input is not None:
        event["input"] |= told.input
    if told.body is not None:
        event["body"] = json.dumps(told.body)
    stack.clock.advance(10)
    return stack.invoke(function_of(told.name), event)


def tell(stack: Deployment, name: str) -> Any:
    """The story that leads to a payload, then the payload itself."""
    for step in STORIES[name]:
        send(stack, step)
    stack.aws.frames.clear()
    return send(stack, name)


def test_every_payload_has_its_story() -> None:
    assert STORIES.keys() == EVENTS.keys()


def test_every_function_and_every_task_state_has_a_payload() -> None:
    assert {function_of(name) for name in EVENTS} == resources("AWS::Lambda::Function").keys()
    assert {event["state"] for name, event in EVENTS.items() if name.startswith("task-")} == TASKS.keys()


@pytest.mark.parametrize("name", sorted(name for name in EVENTS if name.startswith("task-")))
def test_a_task_answers_what_the_state_machine_picks_out(stack: Deployment, name: str) -> None:
    result = tell(stack, name)
    state = TASKS[EVENTS[name]["state"]]
    picked = {path.removeprefix("$.Payload.") for path in state.get("ResultSelector", {}).values()}
    assert picked <= result.keys()
    assert result.get("next") == NEXT.get(name)


@pytest.mark.parametrize("name", sorted(BODIES))
def test_a_request_is_answered(stack: Deployment, name: str) -> None:
    answer = tell(stack, name)
    assert answer["statusCode"] == 200
    assert BODIES[name] <= json.loads(answer["body"]).keys()


@pytest.mark.parametrize("name", sorted(BODIES))
def test_a_request_takes_a_route_of_the_template(name: str) -> None:
    method, _, path = EVENTS[name]["routeKey"].partition(" ")
    assert method.lower() in resources("AWS::ApiGatewayV2::Api")["HttpApi"]["Body"]["paths"][path]


@pytest.mark.parametrize("name", ["socket-connect", "socket-disconnect", *sorted(FRAMES)])
def test_a_message_on_a_socket_is_taken_and_answered(stack: Deployment, name: str) -> None:
    assert tell(stack, name) == {"statusCode": 200}
    assert [json.loads(frame)["event"] for _, frame in stack.aws.frames] == FRAMES.get(name, [])


def test_a_client_that_resumes_gets_the_events_that_it_missed(stack: Deployment) -> None:
    assert tell(stack, "socket-message-resume") == {"statusCode": 200}
    *frames, end = [json.loads(frame) for _, frame in stack.aws.frames]
    last = frames[-1]["seq"]
    assert end == {"event": "Resumed", "data": {**end["data"], "after": last, "more": False}}
    assert [frame["seq"] for frame in frames] == list(range(1, len(frames) + 1))
    assert frames[-1]["event"] == "ActionRequiresConfirmation"


def test_a_ticket_opens_one_socket_only(stack: Deployment) -> None:
    effects = [tell(stack, "socket-authorize")["policyDocument"]["Statement"][0]["Effect"] for _ in range(2)]
    assert effects == ["Allow", "Deny"]


@pytest.mark.parametrize("name", ["repair-execution-failed", "repair-schedule"])
def test_repair_starts_a_dead_run_again(stack: Deployment, name: str) -> None:
    assert tell(stack, name) == {"looked_at": 1, "signalled": 1, "restarted": 1, "failed": 0}


def test_a_call_that_a_role_does_not_allow_is_noticed(stack: Deployment) -> None:
    with stack.acting_as("SocketAuthorizerFunction") as runtime:
        runtime.store.query(keys.project_partition("demo"), "")
    assert stack.account.overstepped == {("SocketAuthorizerFunction", "dynamodb:Query")}
    stack.account.overstepped.clear()
