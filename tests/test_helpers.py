"""The house of the tests: what several files use is in modules of helpers, and what fails there is shown as in a test."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.rglob("*.py"))}
HELPERS = [path for path in TREES if path.parent == FOLDER and not path.name.startswith(("test_", "conftest"))]


def imported(tree: ast.Module) -> set[str]:
    """The modules that a file imports."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def test_no_file_imports_a_file_of_tests():
    """What several files use goes into a module of helpers, with a name that says what it is. So it is with benchmarks."""
    benchmarks = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FOLDER.parent.glob("benchmarks/*.py")}
    found = {
        path.name: [name for name in imported(tree) if name.rpartition(".")[2].startswith("test_")]
        for path, tree in (TREES | benchmarks).items()
    }
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize("path", HELPERS, ids=lambda path: path.stem)
def test_what_fails_in_a_helper_is_shown_with_its_values(path):
    """Or with a message: pytest rewrites the assertions of the modules that conftest.py registers."""
    if any(isinstance(node, ast.Assert) and node.msg is None for node in ast.walk(TREES[path])):
        assert "@pytest_ar" in vars(importlib.import_module(path.stem)), f"register {path.stem} in conftest.py"


def test_the_first_line_of_each_file_says_what_it_is_for():
    first = {path.name: (ast.get_docstring(tree) or "").partition("\n\n")[0] for path, tree in TREES.items()}
    assert {path: text for path, text in first.items() if not text or "\n" in text} == {}
