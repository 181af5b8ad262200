"""What moto works out again with every call though it comes out the same, kept: it answers what it answered before.

Nearly half of a scenario's processor time on AWS went into these. moto's version is pinned, see `moto_repairs`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import moto.core.responses
from moto.core.serialize import BaseJSONSerializer
from moto.dynamodb.parsing import ast_nodes
from moto.stepfunctions.parser.asl.component.common.path import result_path
from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser
from moto.stepfunctions.parser.asl.utils import json_path

_AS_IT_IS = {"S", "N", "BOOL", "NULL"}
"""Kinds of DynamoDB's values that moto holds in the form in which they are answered."""

# Of these each is a pure function of text or of a class. A machine that was read holds nothing of its executions,
# only keys under which they keep theirs.
_nodes: Any = ast_nodes
_responses: Any = moto.core.responses
_paths: Any = json_path
_result_paths: Any = result_path
_read_machine = functools.cache(AmazonStateLanguageParser.parse)
_read_path = functools.cache(_paths.parse)
_read_result_path = functools.cache(_result_paths.parse)
_actions_of = functools.cache(_responses.method_names_from_class)
_serialize_structure = BaseJSONSerializer._serialize_type_structure


def _serialize(self: Any, serialized: Any, value: Any, shape: Any, key: str) -> None:
    """moto looks for each of ten kinds under a handful of names, in every value of every item."""
    if shape.name == "AttributeValue" and type(value) is dict and value.keys() <= _AS_IT_IS:
        serialized[key] = value
    else:
        _serialize_structure(self, serialized, value, shape, key)


_is_a: Callable[[Any, Any], bool] = functools.cache(issubclass)
_processed: dict[type, tuple[type, ...]] = {}
"""What each of moto's processors of expressions processes."""


def _traverse(self: Any, node: Any, child_id: int = -1) -> Any:
    """moto's own walk, which asks ten times of hundreds of nodes what they are, by way of an abstract class."""
    kind = type(node)
    if not _is_a(kind, _nodes.Node):
        return node
    parent = node.parent
    for place, child in enumerate(node.children or ()):
        self.pre_processing_of_child(node, place)
        _traverse(self, child, place)
    processed = _processed.get(type(self))
    if processed is None:
        processed = _processed[type(self)] = self.nodes_to_be_processed()
    if _is_a(kind, processed):
        node = self.process(node)
        node.parent = parent
        if parent:
            parent.children[child_id] = node
    return node


@contextmanager
def quick() -> Iterator[None]:
    """moto with all of it kept for the rest of the process."""
    with ExitStack() as stack:
        for target, name, replacement in (
            (AmazonStateLanguageParser, "parse", staticmethod(_read_machine)),
            (_paths, "parse", _read_path),
            (_result_paths, "parse", _read_result_path),
            (_responses, "method_names_from_class", _actions_of),
            (_nodes.DepthFirstTraverser, "traverse_node_recursively", _traverse),
            (BaseJSONSerializer, "_serialize_type_structure", _serialize),
        ):
            stack.enter_context(mock.patch.object(target, name, replacement))
        yield
