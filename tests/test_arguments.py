"""Messages name arguments in one way, by `argument`, so that the command can name its options in their place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import click
import pytest
from conftest import ROOT

from nbbpe.cli.commands import nbbpe
from nbbpe.cli.options import _ARGUMENTS, options_of
from nbbpe.system.arguments import argument, naming_options

SOURCES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "nbbpe").rglob("*.py"))}
GROUP = click.Context(nbbpe)
COMMANDS = [command for name in nbbpe.list_commands(GROUP) if (command := nbbpe.get_command(GROUP, name)) is not None]
OPTIONS = {name for command in COMMANDS for name in options_of(command)}
IN_PYTHON = {"documents"}  # what messages name though no command has it
ATTRIBUTES = "names_of_other_libraries.py"  # which names those of a Tokenizer


def described(node: ast.AST) -> bool:
    return isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None


def texts_of(tree: ast.AST) -> Iterator[ast.Constant]:
    """The texts of a module, also those between the values of f-strings, but no docstrings and nothing that repr says."""
    if described(tree):
        tree.body = tree.body[1:]
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node
        elif not (isinstance(node, ast.FunctionDef) and node.name == "__repr__"):
            yield from texts_of(node)


def named_otherwise(text: str, of_files: bool) -> str | None:
    """An argument that a text names, if the command has an option for it.

    of_files : whether `special_tokens` is an entry of files there
    """
    if text.isidentifier():  # a key, or the name that a function is told
        return None
    text = re.sub(r"\w\([^()]*\)", "", text)  # the arguments of a call are those of Python
    for name in sorted(OPTIONS):
        # Without a value, names of one word are words as others.
        if re.search(rf"\b{name}=" if "_" not in name else rf"\b{name}\b", text) and not (
            of_files and name == "special_tokens"
        ):
            return name
    return None


@pytest.mark.parametrize("path", SOURCES, ids=[str(path.relative_to(ROOT)) for path in SOURCES])
def test_messages_name_arguments_by_one_function(path):
    if {"cli", "kernels"} & set(path.parts) or path.name == ATTRIBUTES:
        return
    of_files = "formats" in path.parts or path.name == "post_processor.py"
    for text in texts_of(SOURCES[path]):
        assert "{argument(" not in text.value, f"line {text.lineno} is not an f-string"
        if (name := named_otherwise(text.value, of_files)) is not None:
            pytest.fail(f"{path.name}:{text.lineno}: {text.value!r}; say {{argument({name!r})}}", pytrace=False)


def test_the_command_has_an_option_for_each_argument_that_messages_name():
    calls = [node for tree in SOURCES.values() for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = {
        call.args[0].value
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == "argument" and isinstance(call.args[0], ast.Constant)
    }
    assert named - OPTIONS == IN_PYTHON
    assert set(_ARGUMENTS) <= {parameter.name for command in COMMANDS for parameter in command.params}


def test_an_argument_in_a_message():
    assert argument("field") == "field"
    assert argument("field", "a b") == "field='a b'"
    assert argument("resume", True) == "resume=True"
    assert argument("pattern", ...) == "pattern=..."
    (encode,) = (command for command in COMMANDS if command.name == "encode")
    with naming_options(options_of(encode)):
        assert argument("field") == "--field"
        assert argument("field", "a b") == "--field 'a b'"
        assert argument("on_error", "skip") == "--on-error skip"
        assert argument("resume", True) == "--resume"
        assert argument("pattern", ...) == "--pattern"
        assert argument("workers", 1) == "--workers 1"
        assert argument("source") == "INPUTS"
        assert argument("allowed_special") == "--allow-special/--no-special"
        assert argument("vocab_size", 300) == "vocab_size=300 (in Python)"
    assert argument("vocab_size", 300) == "vocab_size=300"


class Saying:
    """A job whose results are what messages of its process call an argument."""

    def run(self, task):
        yield argument(task)

    def finish(self):
        return None
