"""Functions that run elsewhere: called with their secret, within the installation's rules, and answered in words.

A secret is kept under a name of its own for each project, so that no project's owner can have another's, or one of
the installation's own, sent to an address of theirs.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, assert_never

from parley.domain.errors import ParleyError
from parley.domain.remote_functions import HttpFunction, LambdaFunction, McpFunction
from parley.tools.answers import NotReached, Unanswered, failed, without
from parley.tools.hosts import HostRefused, HostRules
from parley.tools.http_calls import call_http
from parley.tools.lambda_calls import call_lambda
from parley.turns.function_ports import FunctionOutcome, LambdaInvoker, RemoteCall
from parley.turns.ports import Secrets

if TYPE_CHECKING:
    from parley.tools.mcp_calls import Tool

_LOG = logging.getLogger("parley.functions")
_PAUSES = (0.3, 1.0)
"""Seconds before the next try of a connection that did not come about. Nothing else is tried again: whether a function
that was reached has acted is its own knowledge."""
LIST_SECONDS = 8.0
"""For the tools of one server: a person waits for the answer to their PUT."""


def secret_setting(project_id: str, name: str) -> str:
    """The setting that holds a project's secret, such as ``PARLEY_SECRET__demo__WEATHER_KEY``.

    The name has no double underscore in it: two projects' settings are alike only if their ids are, but for
    characters that no variable may have. Ids that Parley makes have none of these.
    """
    return f"PARLEY_SECRET__{re.sub(r'[^A-Za-z0-9_]', '_', project_id)}__{name}"


class RemoteFunctions:
    """Calls them. ``lambdas`` gives who invokes those that are Lambdas; it is asked at the first one."""

    def __init__(
        self,
        secrets: Secrets,
        hosts: HostRules,
        lambdas: Callable[[], LambdaInvoker],
        sleep: Callable[[float], None],
    ) -> None:
        self._secrets = secrets
        self._hosts = hosts
        self._lambdas = cache(lambdas)
        self._sleep = sleep

    def call(self, call: RemoteCall) -> FunctionOutcome:
        """What it came to; ``ok`` is False for whatever went wrong. Raises ParleyError when secrets cannot be read."""
        secret: str | None = None
        try:
            match call.implementation:
                case LambdaFunction() as function:
                    return call_lambda(function, call, self._lambdas())
                case HttpFunction() | McpFunction() as function:
                    self._check(function)
                    secret = self._secret(call.project_id, function)
                    return without(self._ask(function, call, secret), secret)
                case _ as never:
                    assert_never(never)
        except Unanswered as error:
            return without(failed(call.name, error), secret)
        except ParleyError:
            raise
        except Exception as error:  # noqa: BLE001 - a client met something that it did not foresee; the turn goes on
            _LOG.exception("function %s failed", call.name)
            words = f"failed with an unexpected error ({type(error).__name__})"
            return failed(call.name, Unanswered(words))

    def check_address(self, function: HttpFunction | McpFunction) -> None:
        """What can be told of the address without a look-up. Raises HostRefused."""
        self._hosts.check_url(function.url)

    def tools(self, project_id: str, function: McpFunction) -> list[Tool]:
        """The tools of the server. Raises Unanswered."""
        from parley.tools.mcp_calls import list_tools  # noqa: PLC0415 - see there

        self._check(function)
        return list_tools(function, self._secret(project_id, function), self._hosts, LIST_SECONDS)

    def _ask(
        self, function: HttpFunction | McpFunction, call: RemoteCall, secret: str | None
    ) -> FunctionOutcome:
        for pause in _PAUSES:
            try:
                return self._ask_once(function, call, secret)
            except NotReached:
                self._sleep(pause)
        return self._ask_once(function, call, secret)

    def _ask_once(
        self, function: HttpFunction | McpFunction, call: RemoteCall, secret: str | None
    ) -> FunctionOutcome:
        if isinstance(function, HttpFunction):
            return call_http(function, call, secret, self._hosts)
        from parley.tools.mcp_calls import call_tool  # noqa: PLC0415 - see there

        return call_tool(function, call, secret, self._hosts)

    def _check(self, function: HttpFunction | McpFunction) -> None:
        """Again at each call: the setting may have become stricter since the agent was put."""
        try:
            self.check_address(function)
        except HostRefused as refused:
            raise Unanswered(str(refused), ran=False) from None

    def _secret(self, project_id: str, function: HttpFunction | McpFunction) -> str | None:
        if function.secret is None:
            return None
        setting = secret_setting(project_id, function.secret)
        value = (self._secrets.get(setting) or "").strip()
        if not value:
            raise Unanswered(f"needs a secret that this installation does not have: set {setting}", ran=False)
        return value
