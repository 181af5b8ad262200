"""The runtime's own functions: registered by the runtime, offered to agents that have them switched on.

``domain.agents`` says which switch brings which names.
"""

from __future__ import annotations

from parley.tools.builtin import images, knowledge, workspace
from parley.tools.function import Function


def functions() -> list[type[Function]]:
    """The classes, as a pack has them."""
    return [
        workspace.ListFiles,
        workspace.ReadFile,
        workspace.WriteFile,
        images.GenerateImage,
        knowledge.SearchKnowledgeBase,
    ]
