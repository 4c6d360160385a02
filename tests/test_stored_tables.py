"""Tables of named patterns on disk: no start makes them, and they are what would be made now."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import processes
import pytest

import nbbpe
from nbbpe import warmup
from nbbpe.patterns import character_classes, stored_tables
from nbbpe.patterns.code_points import read_off
from nbbpe.patterns.pattern import NAMED
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.patterns.pattern_tables import new_pattern_tables

WARMUP = sys.modules["nbbpe.warmup"]  # the function has the name of its module


@pytest.fixture(scope="module")
def stored(tmp_path_factory) -> Path:
    """A folder with the tables of all patterns, as a wheel has them."""
    folder = tmp_path_factory.mktemp("cache") / "nbbpe"
    folder.mkdir(mode=0o700)
    WARMUP.store_tables(str(folder))
    return folder


@pytest.mark.parametrize("name", [*NAMED, None])
def test_tables_on_disk_are_those_that_would_be_made_now(stored, name, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(stored.parent))
    pattern = get_pattern(name)
    kept = stored_tables.stored_pattern_tables(pattern.applied)
    made = new_pattern_tables(pattern.automata, read_off(r"[\p{Lo}\p{Lm}]"))
    assert kept is not None
    np.testing.assert_array_equal(kept, made)


def test_what_a_process_makes_after_an_upgrade_is_not_stored(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(stored_tables, "_digest_of_sources", lambda: b"of the new ones")
    assert stored_tables.stored_text("what", lambda: "text") == "text"
    assert stored_tables.stored_text("what", lambda: "other text") == "other text"


@pytest.fixture
def wheel(stored, tmp_path, monkeypatch) -> Path:
    """Where nbbpe is installed from a wheel with tables; no other folder has any."""
    shutil.copytree(
        Path(nbbpe.__file__).parent, tmp_path / "nbbpe", ignore=shutil.ignore_patterns("__pycache__", "objects")
    )
    shutil.copytree(stored, tmp_path / "nbbpe" / "kernels" / "objects")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "empty"))
    return tmp_path


IN_WHEEL = """
import sys
sys.path[:0] = sys.argv[1:]
import nbbpe
assert nbbpe.__file__.startswith(sys.argv[-1]), nbbpe.__file__
from nbbpe.patterns.character_classes import classes_digest
from nbbpe.patterns.known_regexes import names_of_digests
from nbbpe.patterns.pattern import NAMED
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.patterns.stored_tables import stored_pattern_tables
"""


def test_nothing_is_made_where_a_wheel_has_it(wheel):
    assert len(list((wheel / "nbbpe" / "kernels" / "objects").iterdir())) == len(NAMED) + 3
    script = f"""{IN_WHEEL}
assert all(pattern.tables is not None for pattern in [*NAMED.values(), get_pattern(None)])
assert len(classes_digest()) == 16
assert set(names_of_digests().values()) == set(NAMED)
print([name for name in ("regex", "nbbpe.patterns.automaton", "nbbpe.patterns.pattern_parser") if name in sys.modules])
"""
    assert processes.run(script, wheel).strip() == "[]"
    assert not list(wheel.glob("empty/nbbpe/pattern.*"))


def another_regex(wheel: Path) -> None:
    (wheel / "other" / "regex").mkdir(parents=True)
    (wheel / "other" / "regex" / "__init__.py").touch()
    (wheel / "other" / "regex-1.0.dist-info").mkdir()


def another_module(wheel: Path) -> None:
    with (wheel / "nbbpe" / "patterns" / "automaton.py").open("a") as file:
        file.write("\n")


def other_content(wheel: Path) -> None:
    for path in (wheel / "nbbpe" / "kernels" / "objects").iterdir():
        path.write_bytes(path.read_bytes()[:-1] + b"\1")


@pytest.mark.parametrize("change", [another_regex, another_module, other_content])
def test_what_is_not_as_it_was_made_is_not_used(wheel, change):
    script = IN_WHEEL + "print(stored_pattern_tables(NAMED['gpt2'].regexes) is not None)"
    places = wheel / "other", wheel
    assert processes.run(script, *places).strip() == "True"
    change(wheel)
    assert processes.run(script, *places).strip() == "False"


def test_the_digest_of_classes_is_made_again_where_what_makes_it_changed(wheel):
    script = IN_WHEEL + "classes_digest(); print('regex' in sys.modules)"
    assert processes.run(script, wheel).strip() == "False"
    module = wheel / "nbbpe" / Path(character_classes.__file__).relative_to(Path(nbbpe.__file__).parent)
    module.write_text(module.read_text() + "\n")
    assert processes.run(script, wheel).strip() == "True"


def test_a_process_after_warmup_makes_no_tables():
    warmup()
    script = """
import sys
import nbbpe
from nbbpe.patterns.pattern import NAMED
from nbbpe.patterns.pattern_argument import get_pattern
assert all(pattern.tables is not None for pattern in [*NAMED.values(), get_pattern(None)])
print([name for name in ("regex", "nbbpe.patterns.automaton", "nbbpe.patterns.pattern_parser") if name in sys.modules])
"""
    assert processes.run(script).strip() == "[]"
