"""Tables of named patterns on disk: no start makes them, and they are what would be made now."""

from __future__ import annotations

import sys

import numpy as np
import processes
import pytest

from nbbpe import warmup
from nbbpe.kernels.compiler import store
from nbbpe.model import provenance
from nbbpe.text import stored_tables
from nbbpe.text.code_points import read_off
from nbbpe.text.pattern import NAMED, Pattern, names_of_digests
from nbbpe.text.pattern_tables import new_pattern_tables

WARMUP = sys.modules["nbbpe.warmup"]  # the function has the name of its module


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """The folder of a wheel's objects, and no other that kernels are looked for in."""
    folder = tmp_path / "objects"
    folder.mkdir(mode=0o700)
    WARMUP.store_tables(str(folder))
    monkeypatch.setattr(store, "_IN_WHEEL", str(folder))
    monkeypatch.setattr(store, "folders", list)
    return folder


@pytest.mark.parametrize("name", NAMED)
def test_tables_in_a_wheel_are_those_that_would_be_made_now(wheel, name):
    kept = stored_tables.stored_pattern_tables(NAMED[name].regexes)
    made = new_pattern_tables(NAMED[name].automata, read_off(r"[\p{Lo}\p{Lm}]"))
    assert kept is not None
    np.testing.assert_array_equal(kept, made)


def test_nothing_is_made_where_a_wheel_has_it(wheel, monkeypatch):
    monkeypatch.setattr(Pattern, "automata", property(lambda self: pytest.fail("an automaton was made")))
    monkeypatch.setattr(provenance, "_digest_of_classes", lambda: pytest.fail("characters were classed"))
    provenance.classes_digest.cache_clear()
    assert len(list(wheel.iterdir())) == len(NAMED) + 2
    for pattern in NAMED.values():
        assert Pattern(pattern.name, pattern.regex, pattern.then).tables is not None
    assert len(provenance.classes_digest()) == 16
    names_of_digests.cache_clear()
    assert set(names_of_digests().values()) == set(NAMED)


@pytest.mark.parametrize("changed", ["the version of regex", "the modules that make them", "the content"])
def test_what_is_not_as_it_was_made_is_not_used(wheel, monkeypatch, changed):
    regexes = NAMED["gpt2"].regexes
    assert stored_tables.stored_pattern_tables(regexes) is not None
    if changed == "the version of regex":
        monkeypatch.setattr(stored_tables, "version_of", lambda name: "another")
    elif changed == "the modules that make them":
        monkeypatch.setattr(stored_tables, "_sources", lambda: b"others")
    else:
        for path in wheel.iterdir():
            path.write_bytes(path.read_bytes()[:-1] + b"\1")
    assert stored_tables.stored_pattern_tables(regexes) is None


def test_a_process_after_warmup_makes_no_tables():
    warmup()
    script = """
import sys
import nbbpe
from nbbpe.text.pattern import NAMED
assert all(pattern.tables is not None for pattern in NAMED.values())
print([name for name in ("regex", "nbbpe.text.automaton", "nbbpe.text.pattern_parser") if name in sys.modules])
"""
    assert processes.run(script).strip() == "[]"
