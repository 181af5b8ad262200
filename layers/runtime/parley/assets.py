"""What comes along with the package besides its modules: the state machine, the page, the handlers by name."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

TASK_HANDLER = "on_task.dispatch.handler"
TASK_FUNCTIONS = ("ModelTasksFunction", "ToolTasksFunction", "ThreadTasksFunction")
"""The template's functions that run Task states; the state machine names them as ``${NameArn}``."""


def data_folder(name: str) -> Path:
    """A folder of data: in the installed package, or in the clone that it is run from."""
    package = Path(__file__).parent
    installed = package / "_data" / name
    return installed if installed.is_dir() else package.parents[2] / name


def definition(substitutions: Mapping[str, str]) -> dict[str, Any]:
    """The state machine with its ``${Name}`` replaced."""
    text = (data_folder("statemachine") / "conversation.asl.json").read_text()
    for name, value in substitutions.items():
        text = text.replace(f"${{{name}}}", value)
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def load_task_handlers() -> None:
    """Import every Task state's handler, so that a server goes on with the code that it was started with."""
    package = importlib.import_module(TASK_HANDLER.partition(".")[0])
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")


def handler(path: str) -> Callable[[Any, Any], Any]:
    """The handler that a template's ``Handler`` names, found as Lambda finds it."""
    module, _, function = path.rpartition(".")
    found: Callable[[Any, Any], Any] = getattr(importlib.import_module(module), function)
    return found
