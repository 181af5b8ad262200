"""The workspace's files as a tree for the system prompt: one line each, folders indented, never too long.

::

    - docs/
      - plan.md
      - … and 12 more
    - README.md

Folders take turns in being shown, the upper ones first, so that a large one does not hide everything beside it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

MOST_LINES = 200
MOST_CHARACTERS = 8_000
TURN = 10
"""Entries that a folder shows in its turn."""
MORE_FILES = "- … and more files than are counted here"


@dataclass
class _Folder:
    """Files (None) and folders by name, a folder's with its slash.

    ``shown``: how many of the entries, in order, have a line; ``files`` counts all below.
    """

    depth: int = 0
    files: int = 0
    shown: int = 0
    entries: dict[str, _Folder | None] = field(default_factory=dict)

    def add(self, path: str) -> None:
        folder = self
        *names, last = path.split("/")
        for name in names:
            folder.files += 1
            known = folder.entries.setdefault(f"{name}/", _Folder(folder.depth + 1))
            assert known is not None  # noqa: S101 - only folders' names end in a slash
            folder = known
        folder.files += 1
        folder.entries[last] = None

    def sorted(self) -> list[tuple[str, _Folder | None]]:
        return sorted(self.entries.items(), key=lambda entry: entry[0])


def file_tree(paths: Iterable[str], *, more: bool = False) -> str:
    """The tree of these files, "" for none. ``more``: there are others, which the listing did not reach."""
    root = _Folder()
    for path in sorted(set(paths)):
        root.add(path)
    _choose(root)
    lines = list(_lines(root))
    return "\n".join([*lines, MORE_FILES] if more and lines else lines)


def _choose(root: _Folder) -> None:
    lines, characters = MOST_LINES, MOST_CHARACTERS
    waiting = deque([root])
    while waiting:
        folder = waiting.popleft()
        for name, below in folder.sorted()[folder.shown : folder.shown + TURN]:
            lines -= 1
            characters -= _width(folder, name)
            if lines < 0 or characters < 0:
                return
            folder.shown += 1
            if below is not None:
                waiting.append(below)
        if folder.shown < len(folder.entries):
            waiting.append(folder)


def _width(folder: _Folder, name: str) -> int:
    return 2 * folder.depth + len("- \n") + len(name)


def _lines(folder: _Folder) -> Iterator[str]:
    indent = "  " * folder.depth
    hidden = folder.files
    for name, below in folder.sorted()[: folder.shown]:
        yield f"{indent}- {name}"
        hidden -= 1 if below is None else below.files
        if below is not None:
            yield from _lines(below)
    if hidden:
        yield f"{indent}- … and {hidden} more"
