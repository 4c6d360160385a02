"""Every public function and method has an example in its docstring, and what the example shows is what happens."""

from __future__ import annotations

import doctest
import inspect
import os
import re
from collections.abc import Iterator
from typing import Any

import pytest

import nbbpe
import nbbpe.evaluation
import nbbpe.inspection
import nbbpe.njit
import nbbpe.tiktoken
from nbbpe.encoding.batches import FlatBatch
from nbbpe.encoding.padding import Padded
from nbbpe.encoding.tokens import Token, Tokens
from nbbpe.pattern_explanation import CharacterClass, Explanation, Level
from nbbpe.warmup import Warmup

# What these do is shown by the function or class that makes them.
RESULTS = {FlatBatch, Padded, Token, Tokens, CharacterClass, Explanation, Level, Warmup}
NEEDS = {"to_tiktoken": "tiktoken", "encode_arrow": "pyarrow", "decode_arrow": "pyarrow", "count_words": "pyarrow"}
NEEDS |= {"arrow_functions": "pyarrow", "tiktoken": "tiktoken"}  # for each function of a module

SLOW = {"njit.encode_into": pytest.mark.slow}  # Numba compiles the caller


def public() -> Iterator[tuple[str, Any, Any]]:
    """(name, function, class that it is of or None): all that is public and can be called."""
    for name in nbbpe.__all__:
        found = getattr(nbbpe, name)
        yield name, found, None
        if inspect.isclass(found):
            for attribute in dir(found):
                function = getattr(inspect.getattr_static(found, attribute), "__func__", getattr(found, attribute, None))
                if not attribute.startswith("_") and inspect.isfunction(function) and attribute != "encode_part":
                    yield f"{name}.{attribute}", function, found
    for module in nbbpe.arrow_functions, nbbpe.evaluation, nbbpe.inspection, nbbpe.njit, nbbpe.tiktoken:
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__.startswith(module.__name__) and not name.startswith("_"):
                yield f"{module.__name__.removeprefix('nbbpe.')}.{name}", function, None
    yield "njit.encode_into", nbbpe.njit.encode_into, None


@pytest.mark.parametrize(
    ("name", "function", "owner"),
    [pytest.param(*each, id=each[0], marks=SLOW.get(each[0], ())) for each in public()],
)
@pytest.mark.usefixtures("quiet", "no_default")
def test_an_example_does_what_it_shows(name, function, owner, tmp_path, monkeypatch):
    module, _, last = name.rpartition(".")
    if needed := NEEDS.get(module, NEEDS.get(last)):
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.txt").write_text("the cat sat on the mat<|endoftext|>the hat of the cat<|endoftext|>" * 10)
    monkeypatch.setitem(os.environ, "NO_COLOR", "1")
    names: dict[str, Any] = {}
    # A method begins where the example of its class ends.
    for documented in [owner, function] if owner else [function]:
        run(documented, names)


def run(documented: Any, names: dict[str, Any]) -> None:
    """Run the examples of a docstring; `names` is what they know, and what they leave."""
    text = inspect.getdoc(documented)
    assert text, documented
    example = doctest.DocTestParser().get_doctest(text, names, documented.__name__, None, 0)
    assert example.examples, f"{documented.__name__} has no example"
    said: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=said.append, clear_globs=False)
    if result.failed:
        pytest.fail("".join(said), pytrace=False)
    names.update(example.globs)


def test_the_example_of_the_class_for_transformers_runs():
    pytest.importorskip("transformers", reason="needs transformers")
    from nbbpe.hf import NbbpeTokenizerFast

    names: dict[str, Any] = {}
    for documented in nbbpe.Tokenizer, NbbpeTokenizerFast:
        run(documented, names)


@pytest.mark.parametrize("made", sorted(RESULTS, key=lambda each: each.__name__), ids=lambda each: each.__name__)
def test_results_say_what_is_in_them(made):
    text = inspect.getdoc(made)
    fields = getattr(made, "_fields", None) or getattr(made, "__dataclass_fields__", ())
    fields = [field for field in fields if not field.startswith("_")]
    assert all(re.search(rf"^{field}\s*:", text, flags=re.MULTILINE) for field in fields), made
