"""Functions over tasks for people."""

from __future__ import annotations

import hashlib
from typing import Any

from pydantic import Field

from parley.tools.function import Function, FunctionArguments, FunctionResult
from parley_marketer.data import PACK, TASKS, OneLine

SHOWN = 20
"""Tasks on the page, the newest first."""


class CreateTask(Function):
    """A task's number comes from the call's key: a second run finds the task that the first one made."""

    name = "createTask"
    description = "Creates a task for a person of the team."
    pack = PACK
    requires_user_confirmation = True
    confirmation_question = "Create the task '{title}'?"

    class Arguments(FunctionArguments):
        """What is to be done."""

        title: OneLine = Field(max_length=200, description="In a few words.")
        description: str = Field(default="", max_length=4000, description="All that one needs to know.")

    def handle(self, arguments: Arguments) -> FunctionResult:
        """The task's number, and for the page all tasks of the project."""
        number = "T-" + hashlib.sha256(self.context.idempotency_key.encode()).hexdigest()[:8].upper()
        task = {
            "id": number,
            "title": arguments.title,
            "description": arguments.description,
            "created_by": self.context.user_id,
            "created_at": int(self.context.clock.now()),
        }
        self.context.data.put(f"{TASKS}{number}", task, if_version=0)
        return FunctionResult(
            f"Created task {number}: {arguments.title}",
            {
                "task_id": number,
                "table_data": _table([entry.value for entry in self.context.data.list(TASKS)]),
            },
        )


def _table(tasks: list[dict[str, Any]]) -> dict[str, Any]:
    newest_first = sorted(tasks, key=lambda task: (-task["created_at"], task["id"]))
    rows = [[task["id"], task["title"], task["description"], task["created_by"]] for task in newest_first]
    return {"columns": ["task", "title", "description", "created by"], "rows": rows[:SHOWN]}
