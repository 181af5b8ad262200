"""An agent's functions, made fit to be kept: schemas that are some, addresses that are allowed, tools that are there.

What an MCP server tells of its tools is asked once, when the agent is put, and kept: a server that changes its mind
later changes no prompt, and takes no confirmation away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from parley.domain.agents import AgentFunction, SubagentFunction
from parley.domain.errors import InvalidRequest
from parley.domain.remote_functions import (
    ARGUMENT_IN_ADDRESS,
    EVERY_TOOL,
    HttpFunction,
    McpFunction,
    name_of_tool,
)
from parley.prompts.template import names_in
from parley.tools.hosts import HostRefused
from parley.tools.remote import RemoteFunctions
from parley.tools.results import clean_content
from parley.tools.tool_lists import list_all

if TYPE_CHECKING:
    from parley.tools.mcp_calls import Tool

_SHOWN_TOOLS = 20
_SHOWN_NAME = 60
_SAYS_MORE = frozenset({"$ref", "allOf", "anyOf", "oneOf", "patternProperties", "if"})
"""Words of a schema that may bring properties beside its own."""


def settle_functions(
    functions: Sequence[AgentFunction], project_id: str, remote: RemoteFunctions | None
) -> tuple[AgentFunction, ...]:
    """See ``Functions.settled``; that classes are there is looked at elsewhere. Raises InvalidRequest."""
    for function in functions:
        _check(function, remote)
    lists = _tool_lists(functions, project_id, remote)
    named = {_tool_of(function) for function in functions}
    settled: list[AgentFunction] = []
    for function in functions:
        implementation = function.implementation
        if not isinstance(implementation, McpFunction) or not _is_open(function, implementation):
            settled.append(function)
            continue
        tools = lists[_server(implementation)]
        if implementation.tool == EVERY_TOOL:
            settled += [
                _filled(_one_of(function, implementation, tool.name), tool)
                for tool in tools
                if (implementation.url, tool.name) not in named
            ]
        else:
            settled.append(_filled(function, _tool(function, implementation, tools)))
    for function in settled:
        check_templates(function, function.parameters)
    return tuple(settled)


def check_templates(function: AgentFunction, schema: Mapping[str, Any] | None) -> None:
    """What a question or a subagent's message names has to be an argument, or it would stand there as it is written.

    As far as the schema says which there are. Raises InvalidRequest.
    """
    known = (schema or {}).get("properties")
    if not schema or not known or not _SAYS_MORE.isdisjoint(schema):
        return
    texts = {"confirmation_question": function.confirmation_question}
    if isinstance(function.implementation, SubagentFunction):
        texts["subagent_user_message"] = function.implementation.subagent_user_message
    for field, text in texts.items():
        for name in names_in(text or ""):
            if name not in known:
                accepted = ", ".join(known)
                raise _refused(function, f"its {field} names {{{name}}}; its parameters are {accepted}")


def _tool_lists(
    functions: Sequence[AgentFunction], project_id: str, remote: RemoteFunctions | None
) -> dict[McpFunction, list[Tool]]:
    """Each server that is needed is asked once."""
    wanted: dict[McpFunction, str] = {}
    for function in functions:
        implementation = function.implementation
        if isinstance(implementation, McpFunction) and _is_open(function, implementation):
            if remote is None:
                raise _refused(function, "it runs elsewhere, and nothing is called from here")
            wanted.setdefault(_server(implementation), function.name)
    return list_all(remote, project_id, wanted) if remote is not None and wanted else {}


def _is_open(function: AgentFunction, implementation: McpFunction) -> bool:
    """Whether something of it has to come from its server."""
    said = (function.description, function.parameters, function.requires_user_confirmation)
    return implementation.tool == EVERY_TOOL or None in said


def _server(implementation: McpFunction) -> McpFunction:
    """What says which server it is, and how it is asked: the same for all its tools."""
    return implementation.but(tool=EVERY_TOOL)


def _tool_of(function: AgentFunction) -> tuple[str, str] | None:
    implementation = function.implementation
    return (implementation.url, implementation.tool) if isinstance(implementation, McpFunction) else None


def _check(function: AgentFunction, remote: RemoteFunctions | None) -> None:
    if function.parameters is not None:
        _check_schema(function, function.parameters)
    if isinstance(function.implementation, HttpFunction):
        _check_placeholders(function, function.implementation.url)
    if remote is not None and isinstance(function.implementation, HttpFunction | McpFunction):
        try:
            remote.check_address(function.implementation)
        except HostRefused as refused:
            raise _refused(function, f"its address {refused}") from None


def _check_placeholders(function: AgentFunction, url: str) -> None:
    """What stands in an address has to be an argument, as far as the schema says at its top which there are."""
    schema = function.parameters or {}
    if not _SAYS_MORE.isdisjoint(schema):
        return
    for name in ARGUMENT_IN_ADDRESS.findall(url):
        if name not in schema.get("properties", {}):
            raise _refused(function, f"its address names {{{name}}}, which is not one of its parameters")


def _check_schema(function: AgentFunction, schema: dict[str, Any]) -> None:
    from parley.tools.json_schema import schema_fault  # noqa: PLC0415 - see there

    if fault := schema_fault(schema, ours=not isinstance(function.implementation, McpFunction)):
        raise _refused(function, f"its parameters are not a JSON schema of arguments: {fault}")


def _one_of(function: AgentFunction, implementation: McpFunction, tool: str) -> AgentFunction:
    """One tool of all: named after the entry that asked for all of them.

    What a server calls its tools is up to it; an agent whose function is none could not be read again.
    """
    name = name_of_tool(function.name, tool)
    try:
        one = McpFunction.model_validate({**implementation.model_dump(), "tool": tool})
    except ValidationError:
        shown = repr(tool[:_SHOWN_NAME])
        words = f"its MCP server has a tool {shown}, which cannot be called by that name; name the tools that you want"
        raise _refused(function, words) from None
    return function.but(name=name, description=None, parameters=None, implementation=one)


def _filled(function: AgentFunction, tool: Tool) -> AgentFunction:
    """What the agent does not say, from the server. A tool that may change something wants a confirmation."""
    parameters = function.parameters
    if parameters is None:
        # Some providers insist on both.
        parameters = {"type": "object", "properties": {}, **tool.parameters}
        parameters.pop("$schema", None)
        _check_schema(function, parameters)
    confirm = function.requires_user_confirmation
    return function.but(
        description=clean_content(tool.description) if function.description is None else function.description,
        parameters=parameters,
        requires_user_confirmation=not tool.reads_only if confirm is None else confirm,
    )


def _tool(function: AgentFunction, implementation: McpFunction, tools: Sequence[Tool]) -> Tool:
    for tool in tools:
        if tool.name == implementation.tool:
            return tool
    names = [tool.name for tool in tools]
    more = f" and {len(names) - _SHOWN_TOOLS} more" if len(names) > _SHOWN_TOOLS else ""
    known = ", ".join(names[:_SHOWN_TOOLS]) or "none"
    raise _refused(function, f"its MCP server has no tool {implementation.tool}; it has {known}{more}")


def _refused(function: AgentFunction, words: str) -> InvalidRequest:
    return InvalidRequest("invalid_request", f"functions: {function.name}: {words}.")
