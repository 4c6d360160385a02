"""A regex, or several in turn, that split as a named pattern does are that pattern, and are soon known to be."""

from __future__ import annotations

import processes
import pytest
import real_patterns

from nbbpe.patterns import known_regexes
from nbbpe.patterns.known_regexes import name_of, names_of_digests
from nbbpe.patterns.pattern import ALIASES, NAMED
from nbbpe.patterns.pattern_argument import get_pattern

# Another spelling of each regex of DeepSeek's sequence.
DEEPSEEK = [
    r"\p{N}{1,2}\p{N}|\p{N}",
    "(?:[一-龥]|[\u3040-ゟ\u30a0-ヿ])+",
    real_patterns.DEEPSEEK_WORDS.replace(r"\s*[\r\n]+", r"\s*(?:\r|\n)+"),
]


@pytest.fixture
def empty_store(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    names_of_digests.cache_clear()
    yield
    names_of_digests.cache_clear()


def test_names_are_known_where_no_digest_is_stored(empty_store):
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


def test_regexes_that_are_only_known_together_have_no_name_alone():
    assert set(NAMED["deepseek3"].regexes) <= known_regexes._ONLY_TOGETHER
    for regex in known_regexes._ONLY_TOGETHER:
        assert name_of(regex) is None
        assert known_regexes._digests([regex], checked=True) not in names_of_digests()


def test_no_two_names_split_alike_and_no_alias_is_a_name():
    assert len(names_of_digests()) == len(NAMED) + 1  # starcoder is known as two lists
    assert set(names_of_digests().values()) == set(NAMED)
    assert not set(ALIASES) & set(NAMED)
    assert set(ALIASES.values()) <= set(NAMED)


def test_a_custom_regex_compiles_no_named_pattern_once_their_digests_are_stored():
    names_of_digests()
    script = r"""
from nbbpe.patterns import checked_automaton, pattern_argument
pattern_argument.get_pattern(r"\w+|\W")
print(checked_automaton._automaton_or_why_not.cache_info())
"""
    assert processes.run(script).startswith("CacheInfo(hits=0, misses=1")
