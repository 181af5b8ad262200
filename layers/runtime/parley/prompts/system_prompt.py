"""The system prompt: its parts, their order and headings. Empty parts leave no trace."""

from __future__ import annotations

from collections.abc import Iterable

PROJECT_STRUCTURE = "## Current Project Structure"
ADDITIONAL_CONTEXT = "## Additional Context"


def compose_system_prompt(
    *, base: str, file_tree: str = "", tools: str = "", context: Iterable[str] = ()
) -> str:
    """Base instructions, the workspace's file tree, how to call tools, and what else there is to know.

    ``tools`` is for models that cannot be offered functions natively and brings its own heading;
    the paragraphs of ``context`` share one.
    """
    known = "\n\n".join(paragraph.strip() for paragraph in context if paragraph.strip())
    parts = (
        base.strip(),
        _under(PROJECT_STRUCTURE, file_tree.strip("\n")),
        tools.strip(),
        _under(ADDITIONAL_CONTEXT, known),
    )
    return "\n\n".join(part for part in parts if part)


def _under(heading: str, text: str) -> str:
    return f"{heading}\n\n{text}" if text.strip() else ""
