"""The size rules of the code base, which no linter of ours measures in lines."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST_MODULE = 300
LONGEST_FUNCTION = 40


def modules() -> list[Path]:
    """Every module of the runtime, the packs and the handlers."""
    return sorted(path for folder in ("functions", "layers") for path in (ROOT / folder).rglob("*.py"))


def functions(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Name and length in lines of each function, its decorators and docstring not counted."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = node.body[0] if ast.get_docstring(node) is not None else None
            told = (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1 if docstring else 0
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1 - told


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_and_its_functions_stay_short(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    lines = source.count("\n")
    assert lines <= LONGEST_MODULE, "look for the second idea in it"
    long = {name: size for name, size in functions(ast.parse(source)) if size > LONGEST_FUNCTION}
    assert not long, "look for the second idea in them"
