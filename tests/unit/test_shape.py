"""The size rules of the code base, which no linter of ours measures in lines."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST_MODULE = 300
LONGEST_FUNCTION = 40


def modules(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def functions(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Name and length in lines of each function, its decorators and docstring not counted."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = node.body[0] if ast.get_docstring(node) is not None else None
            told = (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1 if docstring else 0
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1 - told


@pytest.mark.parametrize("path", modules("functions", "layers"), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_function_stays_short(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    long = {name: size for name, size in functions(tree) if size > LONGEST_FUNCTION}
    assert not long, "look for the second idea in them"


@pytest.mark.parametrize("folder", ["functions", "layers", "tests", "benchmarks"])
def test_modules_stay_short(folder: str) -> None:
    sizes = {path.relative_to(ROOT): path.read_text(encoding="utf-8").count("\n") for path in modules(folder)}
    long = {str(path): size for path, size in sizes.items() if size > LONGEST_MODULE}
    assert not long, "look for the second idea in them"
