"""A regex, or several in turn, that split as a named pattern does are that pattern, and are soon known to be."""

from __future__ import annotations

import os
import subprocess
import sys

import processes
import pytest
import real_patterns
import regex
from conftest import ROOT

from nbbpe.text import named_digests
from nbbpe.text import pattern as pattern_module
from nbbpe.text.pattern import ALIASES, NAMED, digests_of_names, get_pattern

# Another spelling of each regex of DeepSeek's sequence.
DEEPSEEK = [
    r"\p{N}{1,2}\p{N}|\p{N}",
    "(?:[一-龥]|[\u3040-ゟ\u30a0-ヿ])+",
    real_patterns.DEEPSEEK_WORDS.replace(r"\s*[\r\n]+", r"\s*(?:\r|\n)+"),
]
needs_this_regex = pytest.mark.skipif(
    regex.__version__ != named_digests.REGEX_VERSION, reason="the digests of the package are of another version of regex"
)


@pytest.fixture
def without_digests(monkeypatch):
    """As with another version of `regex`."""
    monkeypatch.setattr(named_digests, "REGEX_VERSION", "another")
    pattern_module._names.cache_clear()
    yield
    pattern_module._names.cache_clear()


@needs_this_regex
def test_the_digests_of_the_package_are_those_of_today():
    assert digests_of_names() == named_digests.NAMES, "run `python scripts/make_digests.py`"
    assert set(named_digests.NAMES.values()) == set(NAMED)


@needs_this_regex
def test_the_script_makes_the_digests_as_they_are(tmp_path):
    copy = tmp_path / "named_digests.py"
    whole = (ROOT / "nbbpe/text/named_digests.py").read_text(encoding="utf-8")
    copy.write_text(whole.partition("REGEX_VERSION")[0] + "REGEX_VERSION = 'old'\nNAMES = {}\n", encoding="utf-8")
    script = f"import nbbpe.text.named_digests as d; d.__file__ = {str(copy)!r}\nimport make_digests; make_digests.main()"
    paths = os.pathsep.join([str(ROOT), str(ROOT / "scripts")])
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, "PYTHONPATH": paths})
    assert copy.read_text(encoding="utf-8") == whole


def test_names_are_known_with_another_version_of_regex(without_digests):
    assert get_pattern(real_patterns.GPT2) is NAMED["gpt2"]
    assert get_pattern(DEEPSEEK) is NAMED["deepseek3"]
    assert get_pattern(r"\w+|\W").name is None


@pytest.mark.parametrize("digits", [r"\p{N}", r"[\p{N}]", r"\p{N}{1}"])
@pytest.mark.parametrize("rest", ["gpt2", real_patterns.GPT2])
def test_a_sequence_in_any_spelling_is_the_named_one(digits, rest):
    assert get_pattern([digits, rest]) is NAMED["starcoder"]
    assert get_pattern(DEEPSEEK) is NAMED["deepseek3"]
    assert get_pattern(DEEPSEEK[:2]).name is None
    assert get_pattern([*DEEPSEEK, r"\s"]).name is None
    assert get_pattern([rest, digits]).name is None


def test_no_two_names_split_alike_and_no_alias_is_a_name():
    assert len(set(digests_of_names())) == len(NAMED) + 1  # starcoder is known as two lists
    assert not set(ALIASES) & set(NAMED)
    assert set(ALIASES.values()) <= set(NAMED)


@needs_this_regex
def test_a_first_custom_regex_compiles_no_named_pattern():
    script = r"import nbbpe.text.pattern as p; p.get_pattern(r'\w+|\W'); print(p._automaton_or_why_not.cache_info())"
    assert processes.run(script).startswith("CacheInfo(hits=0, misses=1")
