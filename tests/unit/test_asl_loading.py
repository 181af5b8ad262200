"""A definition with anything that is not implemented is refused, with the state's name and the field."""

import copy
from typing import Any

import pytest

from parley.embedded.asl.definition import MapState, TaskState
from parley.embedded.asl.errors import DefinitionError
from parley.embedded.asl.loader import load

_ID = "arn:aws:states:local:000000000000:stateMachine:some"


def _machine(state: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    first = {"Type": "Pass", "End": True} if state is None else state
    return {"StartAt": "S", "States": {"S": first, "Other": {"Type": "Succeed"}}, **fields}


def _task(**fields: Any) -> dict[str, Any]:
    base = {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke",
        "Parameters": {"FunctionName": "f"},
        "End": True,
    }
    return {**base, **fields}


def _map(**fields: Any) -> dict[str, Any]:
    processor = {"StartAt": "In", "States": {"In": {"Type": "Pass", "End": True}}}
    return {"Type": "Map", "ItemProcessor": processor, "End": True, **fields}


def _choice(*rules: dict[str, Any]) -> dict[str, Any]:
    return {"Type": "Choice", "Choices": [{"Next": "Other", **rule} for rule in rules], "Default": "Other"}


_STRING = {"Variable": "$.a", "StringEquals": "a"}

REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({}, "", "States"),
    (_machine(Unknown=1), "", "Unknown"),
    (_machine(QueryLanguage="JSONata"), "", "QueryLanguage"),
    (_machine(Version="2.0"), "", "Version"),
    (_machine(TimeoutSeconds=0), "", "TimeoutSeconds"),
    ({"StartAt": "None", "States": {"S": {"Type": "Succeed"}}}, "", "StartAt"),
    ({"StartAt": "S" * 81, "States": {"S" * 81: {"Type": "Succeed"}}}, "S" * 81, "States"),
    (_machine({"Type": "Parallel", "End": True}), "S", "Type"),
    (_machine({"Type": "Pass"}), "S", "Next"),
    (_machine({"Type": "Pass", "Next": "Other", "End": True}), "S", "Next"),
    (_machine({"Type": "Pass", "Next": "None"}), "S", "Next"),
    (_machine({"Type": "Pass", "End": False}), "S", "End"),
    (_machine({"Type": "Pass", "End": True, "Assign": {}}), "S", "Assign"),
    (_machine({"Type": "Pass", "End": True, "Result": 1, "Parameters": {}}), "S", "Result"),
    (_machine({"Type": "Pass", "End": True, "QueryLanguage": "JSONata"}), "S", "QueryLanguage"),
    (_machine({"Type": "Pass", "End": True, "InputPath": "$..a"}), "S", "InputPath"),
    (_machine({"Type": "Pass", "End": True, "OutputPath": "$.a[*]"}), "S", "OutputPath"),
    (_machine({"Type": "Pass", "End": True, "ResultPath": "$$.a"}), "S", "ResultPath"),
    (_machine({"Type": "Pass", "End": True, "ResultPath": "$.a[0]"}), "S", "ResultPath"),
    (_machine({"Type": "Pass", "End": True, "Parameters": {"a.$": "b"}}), "S", "Parameters"),
    (_machine({"Type": "Pass", "End": True, "Parameters": {"a.$": 1}}), "S", "Parameters"),
    (_machine({"Type": "Pass", "End": True, "Parameters": {"a": 1, "a.$": "$"}}), "S", "Parameters"),
    (_machine({"Type": "Pass", "End": True, "Parameters": {"a.$": "States.UUID()"}}), "S", "Parameters"),
    (_machine({"Type": "Succeed", "Next": "Other"}), "S", "Next"),
    (_machine({"Type": "Fail", "Error": "a", "ErrorPath": "$.a"}), "S", "ErrorPath"),
    (_machine({"Type": "Fail", "Error": 1}), "S", "Error"),
    (_machine({"Type": "Fail", "InputPath": "$"}), "S", "InputPath"),
    (_machine({"Type": "Wait", "End": True}), "S", "Seconds"),
    (_machine({"Type": "Wait", "End": True, "Timestamp": "2030-01-01T00:00:00Z"}), "S", "Timestamp"),
    (_machine({"Type": "Wait", "End": True, "Seconds": -1}), "S", "Seconds"),
    (_machine({"Type": "Wait", "End": True, "Seconds": True}), "S", "Seconds"),
    (_machine({"Type": "Wait", "End": True, "Seconds": 1, "SecondsPath": "$.a"}), "S", "SecondsPath"),
    (_machine(_choice()), "S", "Choices"),
    (_machine(_choice({"Variable": "$.a", "StringMatches": "a*"})), "S", "Choices[0]"),
    (_machine(_choice({"Variable": "$.a", "StringEqualsPath": "$.b"})), "S", "Choices[0]"),
    (_machine(_choice({"Variable": "$.a", "NumericEquals": "1"})), "S", "Choices[0]"),
    (_machine(_choice({"Variable": "$.a", "BooleanEquals": "true"})), "S", "Choices[0]"),
    (_machine(_choice({"Variable": "$.a"})), "S", "Choices[0]"),
    (_machine(_choice({"StringEquals": "a"})), "S", "Choices[0]"),
    (_machine(_choice({**_STRING, "IsPresent": True})), "S", "Choices[0]"),
    (_machine(_choice(_STRING, {"And": [{**_STRING, "Next": "Other"}]})), "S", "Choices[1]"),
    (_machine(_choice({"Or": []})), "S", "Choices[0]"),
    (_machine(_choice({"Not": _STRING, "Variable": "$.a"})), "S", "Choices[0]"),
    (_machine(_choice({**_STRING, "Next": "None"})), "S", "Choices[0].Next"),
    (_machine({**_choice(_STRING), "Default": "None"}), "S", "Default"),
    (_machine({**_choice(_STRING), "End": True}), "S", "End"),
    (_machine(_task(Resource="arn:aws:lambda:eu-central-1:1:function:f")), "S", "Resource"),
    (_machine(_task(Resource="arn:aws:states:::states:startExecution.sync")), "S", "Resource"),
    (_machine(_task(HeartbeatSeconds=5)), "S", "HeartbeatSeconds"),
    (_machine(_task(Credentials={})), "S", "Credentials"),
    (_machine(_task(TimeoutSeconds=0)), "S", "TimeoutSeconds"),
    (_machine(_task(TimeoutSeconds=1, TimeoutSecondsPath="$.a")), "S", "TimeoutSecondsPath"),
    (_machine(_task(Parameters={})), "S", "Parameters.FunctionName"),
    (_machine(_task(Parameters={"FunctionName": "f", "Qualifier": "1"})), "S", "Parameters.Qualifier"),
    (_machine(_task(Resource="arn:aws:states:::lambda:invoke.waitForTaskToken")), "S", "Parameters"),
    (
        _machine(_task(Resource="arn:aws:states:::states:startExecution.sync:2")),
        "S",
        "Parameters.FunctionName",
    ),
    (_machine(_task(Retry=[{"ErrorEquals": []}])), "S", "Retry"),
    (_machine(_task(Retry=[{"ErrorEquals": ["States.ALL", "A"]}])), "S", "Retry"),
    (_machine(_task(Retry=[{"ErrorEquals": ["States.ALL"]}, {"ErrorEquals": ["A"]}])), "S", "Retry"),
    (_machine(_task(Retry=[{"ErrorEquals": ["A"], "BackoffRate": 0.5}])), "S", "Retry"),
    (_machine(_task(Retry=[{"ErrorEquals": ["A"], "IntervalSeconds": 0}])), "S", "Retry"),
    (_machine(_task(Retry=[{"ErrorEquals": ["A"], "MaxAttempts": -1}])), "S", "Retry"),
    (_machine(_task(Retry=[{"ErrorEquals": ["A"], "JitterStrategy": "SOME"}])), "S", "Retry"),
    (_machine(_task(Retry=[{"ErrorEquals": ["A"], "Unknown": 1}])), "S", "Retry"),
    (_machine(_task(Catch=[{"ErrorEquals": ["A"]}])), "S", "Catch"),
    (_machine(_task(Catch=[{"ErrorEquals": ["A"], "Next": "None"}])), "S", "Catch[0].Next"),
    (_machine(_map(Iterator={})), "S", "Iterator"),
    (_machine(_map(MaxConcurrency=-1)), "S", "MaxConcurrency"),
    (_machine(_map(MaxConcurrencyPath="$.a")), "S", "MaxConcurrencyPath"),
    (_machine(_map(ItemsPath="$.a[*]")), "S", "ItemsPath"),
    (_machine(_map(ItemReader={})), "S", "ItemReader"),
    (_machine(_map(ItemProcessor={"StartAt": "S"})), "S", "ItemProcessor.States"),
]


@pytest.mark.parametrize(
    ("definition", "state", "field"),
    REFUSED,
    ids=[f"{number}-{row[2]}" for number, row in enumerate(REFUSED)],
)
def test_what_is_not_supported_is_refused_with_state_and_field(
    definition: dict[str, Any], state: str, field: str
) -> None:
    with pytest.raises(DefinitionError) as refusal:
        load(_ID, definition)
    assert (refusal.value.state, refusal.value.field) == (state, field)
    assert (repr(state) if state else "the machine") in str(refusal.value)


def test_a_distributed_map_is_refused() -> None:
    state = _map()
    state["ItemProcessor"]["ProcessorConfig"] = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
    with pytest.raises(DefinitionError, match="INLINE"):
        load(_ID, _machine(state))


def test_the_states_of_a_map_reach_only_each_other() -> None:
    outwards = _map()
    outwards["ItemProcessor"]["States"]["In"] = {"Type": "Pass", "Next": "Other"}
    with pytest.raises(DefinitionError) as refusal:
        load(_ID, _machine(outwards))
    assert (refusal.value.state, refusal.value.field) == ("In", "Next")
    with pytest.raises(DefinitionError) as refusal:
        load(_ID, _machine(_map(End=True) | {"Catch": [{"ErrorEquals": ["A"], "Next": "In"}]}))
    assert (refusal.value.state, refusal.value.field) == ("S", "Catch[0].Next")


def test_names_are_unique_in_the_whole_machine() -> None:
    twice = _map()
    twice["ItemProcessor"] = {"StartAt": "Other", "States": {"Other": {"Type": "Succeed"}}}
    with pytest.raises(DefinitionError, match="unique"):
        load(_ID, _machine(twice))


def test_a_whole_machine_is_compiled() -> None:
    machine = load(
        _ID,
        _machine(
            _map(
                Comment="all that a Map may say",
                ItemsPath="$.items",
                ItemSelector={"v.$": "$$.Map.Item.Value"},
                MaxConcurrency=3,
                ResultPath=None,
                Retry=[
                    {"ErrorEquals": ["A"], "JitterStrategy": "FULL", "MaxDelaySeconds": 9, "Comment": "c"}
                ],
                Catch=[{"ErrorEquals": ["States.ALL"], "ResultPath": "$.e", "Next": "Other"}],
            ),
            TimeoutSeconds=60,
            Comment="and the machine",
        ),
    )
    assert (machine.name, machine.timeout_seconds, set(machine.states)) == ("some", 60, {"S", "In", "Other"})
    state = machine.states["S"]
    assert isinstance(state, MapState)
    assert (state.max_concurrency, state.start_at, len(state.retriers)) == (3, "In", 1)


def test_loading_leaves_the_definition_as_it_is() -> None:
    definition = _machine(_task(Parameters={"FunctionName": "f", "Payload.$": "$"}))
    before = copy.deepcopy(definition)
    state = load(_ID, definition).states["S"]
    assert isinstance(state, TaskState)
    state.parameters({"a": 1}, dict)
    assert definition == before
