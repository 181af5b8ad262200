"""From a parsed definition to a Machine, or to one DefinitionError that names the state and the field.

Page: "State machine structure in Amazon States Language" and the pages of the seven state types.
"""

from collections.abc import Mapping
from typing import Any

from parley.embedded.asl import data as json_data
from parley.embedded.asl.choices import compile_rule
from parley.embedded.asl.definition import (
    ChoiceState,
    FailState,
    Integration,
    Machine,
    MapState,
    PassState,
    State,
    SucceedState,
    TaskState,
    WaitState,
)
from parley.embedded.asl.errors import DefinitionError
from parley.embedded.asl.fields import (
    compiled,
    data_path,
    number_or_path,
    only,
    result_path,
    seconds,
    successor,
    template,
    text,
)
from parley.embedded.asl.paths import compile_path
from parley.embedded.asl.policies import compile_catchers, compile_retriers
from parley.embedded.asl.templates import compile_template

_MACHINE_FIELDS = {"Comment", "StartAt", "States", "TimeoutSeconds", "QueryLanguage", "Version"}
_PROCESSOR_FIELDS = {"Comment", "StartAt", "States", "ProcessorConfig"}
_COMMON = {"Comment", "Type", "InputPath", "OutputPath", "QueryLanguage"}
_FLOW = {"Next", "End"}
_RESULT = {"Parameters", "ResultSelector", "ResultPath", "Retry", "Catch"}
_FIELDS: dict[str, set[str]] = {
    "Pass": _COMMON | _FLOW | {"Parameters", "Result", "ResultPath"},
    "Succeed": _COMMON,
    "Fail": {"Comment", "Type", "Error", "Cause", "ErrorPath", "CausePath", "QueryLanguage"},
    "Choice": _COMMON | {"Choices", "Default"},
    "Wait": _COMMON | _FLOW | {"Seconds", "SecondsPath"},
    "Task": _COMMON | _FLOW | _RESULT | {"Resource", "TimeoutSeconds", "TimeoutSecondsPath"},
    "Map": _COMMON
    | _FLOW
    | (_RESULT - {"Parameters"})
    | {"ItemsPath", "ItemSelector", "ItemProcessor", "MaxConcurrency"},
}
_RESOURCES: dict[str, Integration] = {
    "arn:aws:states:::lambda:invoke": "lambda",
    "arn:aws:states:::lambda:invoke.waitForTaskToken": "lambda_token",
    "arn:aws:states:::states:startExecution.sync:2": "execution",
}
_ARGUMENTS: dict[Integration, tuple[set[str], str]] = {
    "lambda": ({"FunctionName", "Payload"}, "FunctionName"),
    "lambda_token": ({"FunctionName", "Payload"}, "FunctionName"),
    "execution": ({"StateMachineArn", "Name", "Input"}, "StateMachineArn"),
}
_LONGEST_NAME = 80


def load(machine_id: str, definition: Mapping[str, Any]) -> Machine:
    """Compile `definition`. `machine_id` is an ARN or like one; its last part is the machine's name."""
    if not isinstance(definition, Mapping):
        raise DefinitionError("", "States", "a definition is a JSON object")
    only(definition, _MACHINE_FIELDS, "")
    if definition.get("Version", "1.0") != "1.0":
        raise DefinitionError("", "Version", "only 1.0 is supported")
    timeout = definition.get("TimeoutSeconds")
    if timeout is not None:
        seconds(timeout, "", "TimeoutSeconds", least=1)
    states: dict[str, State] = {}
    start_at = _load_scope(definition, "", states)
    return Machine(machine_id, machine_id.rsplit(":", 1)[-1], start_at, states, timeout)


def _load_scope(scope: Mapping[str, Any], owner: str, states: dict[str, State]) -> str:
    """Compile the states of the machine or of a Map into `states`; return StartAt."""
    prefix = "ItemProcessor." if owner else ""
    members = scope.get("States")
    if not isinstance(members, Mapping) or not members:
        raise DefinitionError(owner, f"{prefix}States", "must be an object with at least one state")
    start_at = scope.get("StartAt")
    if not isinstance(start_at, str) or start_at not in members:
        raise DefinitionError(owner, f"{prefix}StartAt", f"{start_at!r} is no state here")
    for name, raw in members.items():
        if not 1 <= len(name) <= _LONGEST_NAME:
            raise DefinitionError(name, "States", f"a state's name has 1 to {_LONGEST_NAME} characters")
        if name in states:
            raise DefinitionError(name, "States", "names are unique in the whole machine")
        if not isinstance(raw, Mapping):
            raise DefinitionError(name, "Type", "a state is an object")
        states[name] = _load_state(name, raw, states)
        _check_targets(name, raw, states[name], members)
    return start_at


def _load_state(name: str, raw: Mapping[str, Any], states: dict[str, State]) -> State:
    kind = raw.get("Type")
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise DefinitionError(name, "Type", f"{kind!r} is not supported")
    only(raw, _FIELDS[kind], name)
    common: dict[str, Any] = {
        "name": name,
        "type": kind,
        "next": successor(name, raw) if "Next" in _FIELDS[kind] else None,
        "input_path": data_path(name, raw, "InputPath"),
        "output_path": data_path(name, raw, "OutputPath"),
    }
    match kind:
        case "Pass":
            return _load_pass(name, raw, common)
        case "Succeed":
            return SucceedState(**common)
        case "Fail":
            return FailState(**common, error=text(name, raw, "Error"), cause=text(name, raw, "Cause"))
        case "Choice":
            return _load_choice(name, raw, common)
        case "Wait":
            duration = number_or_path(name, raw, "Seconds", least=0)
            if duration is None:
                raise DefinitionError(name, "Seconds", "Wait needs Seconds or SecondsPath")
            return WaitState(**common, seconds=duration)
        case "Task":
            return _load_task(name, raw, common)
        case _:
            return _load_map(name, raw, common, states)


def _load_pass(name: str, raw: Mapping[str, Any], common: dict[str, Any]) -> PassState:
    if "Result" in raw and "Parameters" in raw:
        raise DefinitionError(name, "Result", "Result and Parameters exclude each other")
    parameters = template(name, raw, "Parameters")
    if "Result" in raw:
        result = raw["Result"]
        parameters = lambda data, context: result  # noqa: E731 - a constant resolver
    return PassState(**common, parameters=parameters, result_path=result_path(name, raw))


def _load_choice(name: str, raw: Mapping[str, Any], common: dict[str, Any]) -> ChoiceState:
    choices = raw.get("Choices")
    if not isinstance(choices, list) or not choices:
        raise DefinitionError(name, "Choices", "must be an array with at least one rule")
    rules = []
    for position, rule in enumerate(choices):
        field = f"Choices[{position}]"
        matcher = compiled(name, field, compile_rule, rule)
        if not isinstance(rule.get("Next"), str):
            raise DefinitionError(name, f"{field}.Next", "must name a state")
        rules.append((matcher, rule["Next"]))
    default = raw.get("Default")
    if default is not None and not isinstance(default, str):
        raise DefinitionError(name, "Default", "must name a state")
    return ChoiceState(**common, rules=tuple(rules), default=default)


def _load_task(name: str, raw: Mapping[str, Any], common: dict[str, Any]) -> TaskState:
    resource = raw.get("Resource")
    if not isinstance(resource, str) or resource not in _RESOURCES:
        raise DefinitionError(name, "Resource", f"{resource!r} is not supported")
    integration = _RESOURCES[resource]
    allowed, required = _ARGUMENTS[integration]
    arguments = raw.get("Parameters")
    if not isinstance(arguments, Mapping):
        raise DefinitionError(name, "Parameters", f"must be an object with {required}")
    given = {key.removesuffix(".$") for key in arguments}
    if unknown := sorted(given - allowed):
        raise DefinitionError(name, f"Parameters.{unknown[0]}", f"{resource} takes {sorted(allowed)}")
    if required not in given:
        raise DefinitionError(name, f"Parameters.{required}", "is missing")
    if integration == "lambda_token" and "$$.Task.Token" not in json_data.encode(arguments):
        raise DefinitionError(name, "Parameters", "nobody could answer: $$.Task.Token is not handed over")
    return TaskState(
        **common,
        **_retriable(name, raw),
        integration=integration,
        parameters=compiled(name, "Parameters", compile_template, arguments),
        timeout=number_or_path(name, raw, "TimeoutSeconds", least=1),
    )


def _load_map(
    name: str, raw: Mapping[str, Any], common: dict[str, Any], states: dict[str, State]
) -> MapState:
    processor = raw.get("ItemProcessor")
    if not isinstance(processor, Mapping):
        raise DefinitionError(name, "ItemProcessor", "must be an object")
    if unknown := sorted(set(processor) - _PROCESSOR_FIELDS):
        raise DefinitionError(name, f"ItemProcessor.{unknown[0]}", "is not supported")
    if processor.get("ProcessorConfig", {"Mode": "INLINE"}) != {"Mode": "INLINE"}:
        raise DefinitionError(name, "ItemProcessor.ProcessorConfig", "only INLINE is supported")
    concurrency = raw.get("MaxConcurrency", 0)
    if not json_data.is_integer(concurrency) or concurrency < 0:
        raise DefinitionError(name, "MaxConcurrency", "must be an integer of at least 0")
    return MapState(
        **common,
        **_retriable(name, raw),
        parameters=template(name, raw, "ItemSelector"),
        items_path=compiled(name, "ItemsPath", compile_path, raw.get("ItemsPath", "$"), "ItemsPath"),
        max_concurrency=concurrency,
        start_at=_load_scope(processor, name, states),
    )


def _retriable(name: str, raw: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "result_selector": template(name, raw, "ResultSelector"),
        "result_path": result_path(name, raw),
        "retriers": compiled(name, "Retry", compile_retriers, raw.get("Retry", [])),
        "catchers": compiled(name, "Catch", compile_catchers, raw.get("Catch", [])),
    }


def _check_targets(name: str, raw: Mapping[str, Any], state: State, members: Mapping[str, Any]) -> None:
    """Every state named as a successor must be in the same scope: a Map's states reach only each other."""
    targets = [("Next", state.next)]
    if isinstance(state, ChoiceState):
        targets += [(f"Choices[{index}].Next", target) for index, (_, target) in enumerate(state.rules)]
        targets.append(("Default", state.default))
    if isinstance(state, TaskState | MapState):
        targets += [(f"Catch[{index}].Next", catcher.next) for index, catcher in enumerate(state.catchers)]
    for field, target in targets:
        if target is not None and target not in members:
            raise DefinitionError(name, field, f"{target!r} is no state here")
