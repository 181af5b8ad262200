"""Functions over tasks for people."""

from __future__ import annotations

import hashlib

from pydantic import Field

from parley.tools.function import Function, FunctionArguments, FunctionResult
from parley_marketer.data import PACK, TASKS


class CreateTask(Function):
    """A task's number comes from the call's key: a second run finds the task that the first one made."""

    name = "createTask"
    description = "Creates a task for a person of the team."
    pack = PACK
    requires_user_confirmation = True
    confirmation_question = "Create the task '{title}'?"

    class Arguments(FunctionArguments):
        """What is to be done."""

        title: str = Field(min_length=1, max_length=200, description="In a few words.")
        description: str = Field(default="", max_length=4000, description="All that one needs to know.")

    def handle(self, arguments: Arguments) -> FunctionResult:
        """The task's number."""
        number = "T-" + hashlib.sha256(self.context.idempotency_key.encode()).hexdigest()[:8].upper()
        task = {
            "id": number,
            "title": arguments.title,
            "description": arguments.description,
            "created_by": self.context.user_id,
            "created_at": int(self.context.clock.now()),
        }
        self.context.data.put(f"{TASKS}{number}", task, if_version=0)
        return FunctionResult(f"Created task {number}: {arguments.title}", {"task_id": number})
