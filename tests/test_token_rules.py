# ruff: noqa: RUF001  (ambiguous characters are the point of these texts)
"""Rules for tokens: the kernel beside its twin, and training by rule beside textbook BPE that refuses pairs."""

from __future__ import annotations

import functools
import re

import naive
import numpy as np
import pytest
import texts
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from training_structures import spelled
from vocabularies import LIMITS

import nbbpe
from nbbpe.counting.word_counts import words_from_dict
from nbbpe.kernels.training import linked_words, token_limits
from nbbpe.patterns.pattern import NAMED
from nbbpe.text.character_properties import character_table
from nbbpe.training.learning_options import TIE_BREAKS, LearningOptions
from nbbpe.training.merges import learn_merges
from nbbpe.training.token_rules import TokenFilter

CHARACTERS = "abéдגا한中ひカㄅʰ1٣Ⅷ .-\n\u0301😀"
PARTS = [b"\xe4", b"\xb8\xad", b"\x80", b"\xff", b"\xc3", b"\xd0", b"\xf0\x9f"]
BYTES = st.lists(st.sampled_from([character.encode() for character in CHARACTERS] + PARTS), min_size=1, max_size=6).map(
    b"".join
)


@njit
def keeps_limits(text, end, limits):
    return token_limits.keeps_limits(text, 0, end, limits)


@pytest.fixture(scope="module")
def kernel():
    """Whether bytes keep limits, said by the kernel. What lies after the bytes must not matter."""
    characters = character_table(scripts=True)

    def keeps(token: bytes, limits: dict[str, int]) -> bool:
        numbers = TokenFilter(nbbpe.TokenRules(**limits)).limits(None).numbers
        answers = {
            bool(
                keeps_limits(
                    np.frombuffer(token + behind, dtype=np.uint8), len(token), token_limits.TokenLimits(numbers, characters)
                )
            )
            for behind in (b"\x00\x00\x00", b"\x80\xbf\x80")
        }
        assert len(answers) == 1
        return answers.pop()

    return keeps


@given(token=BYTES, limits=LIMITS)
@settings(max_examples=examples(400, 1500))
def test_limits_are_the_twins(kernel, token, limits):
    assert kernel(token, limits) == naive.keeps_limits(token, **limits)


@pytest.mark.parametrize(
    ("token", "limits", "keeps"),
    [
        ("中".encode()[:2], {"whole_characters": True}, True),
        ("中".encode()[1:], {"whole_characters": True}, True),
        ("中文".encode()[2:], {"whole_characters": True}, False),
        (b"a\xe4", {"whole_characters": True}, False),
        ("食べる".encode(), {"one_script": True}, True),
        ("べ한".encode(), {"one_script": True}, False),
        ("中한".encode(), {"one_script": True}, True),
        ("中a".encode(), {"one_script": True}, False),
        ("aа".encode(), {"one_script": True}, False),  # the second one is Cyrillic
        ("e\u0301 1.".encode(), {"one_script": True}, True),
        (b" of the", {"max_words": 2}, True),
        (b" of the ", {"max_words": 2}, True),
        (b"of the x", {"max_words": 2}, False),
        ("1٣Ⅷ".encode(), {"max_numbers": 2}, False),
    ],
)
def test_limits_of_some_tokens(kernel, token, limits, keeps):
    assert kernel(token, limits) == keeps


def test_no_word_is_longer_than_no_limit():
    assert token_limits.NO_LIMIT >= linked_words.MOST_CELLS


def test_every_script_is_listed():
    # Else letters of two scripts that are not listed would go together. A newer Unicode may need a longer list.
    assert not np.any(character_table(scripts=True) & 0xFF == 0xFF)


def learned(words, n_tokens, tie_break="bytes", max_token_length=None, **rules):
    options = LearningOptions(tie_break, 1, max_token_length, nbbpe.TokenRules(**rules))
    return spelled(learn_merges(words_from_dict(words), n_tokens, options))


@given(words=texts.word_counts("ab1é中д "), limits=LIMITS, tie_break=st.sampled_from(TIE_BREAKS))
def test_training_within_limits_is_the_textbooks(words, limits, tie_break):
    expected, _ = naive.train(words, 300, tie_break, allows=lambda token: naive.keeps_limits(token, **limits))
    assert learned(words, 300, tie_break, **limits) == expected


@given(words=texts.word_counts("abc "), max_token_length=st.sampled_from([None, 3]))
def test_training_with_forbidden_tokens_is_the_textbooks(words, max_token_length):
    asked = []

    def is_forbidden(token: bytes) -> bool:
        asked.append(token)
        return token.startswith(b"a") and len(token) == 3

    def allows(token: bytes) -> bool:
        return not (token.startswith(b"a") and len(token) == 3) and b"bb" not in token

    expected, _ = naive.train(words, 300, max_token_length=max_token_length, allows=allows)
    assert learned(words, 300, max_token_length=max_token_length, forbidden=["bb", is_forbidden]) == expected
    assert len(asked) == len(set(asked))  # none is asked about twice


@given(words=texts.word_counts("ab "))
def test_training_without_space_duplicates_is_the_textbooks(words):
    tokens = set()

    def allows(token: bytes) -> bool:
        if b" " + token in tokens or (token.startswith(b" ") and token[1:] in tokens):
            return False
        tokens.add(token)
        return True

    expected, _ = naive.train(words, 300, allows=allows)
    assert learned(words, 300, no_space_duplicates=True) == expected


def test_of_two_spaces_and_one_the_first_is_the_only_token():
    words = {b"  ": 5, b"  x": 1, b" x": 1}
    assert learned(words, 300, no_space_duplicates=True) == [(b" ", b" "), (b"  ", b"x")]


def test_rules_work_in_training_from_text_and_are_recorded(tmp_path):
    text = "naïve 12345 Straße привет123 the the 3 thé 中文 " * 3
    rules = nbbpe.TokenRules(
        whole_characters=True, one_script=True, max_numbers=2, forbidden=["^.he", b"\xc3\x9f$"], no_space_duplicates=True
    )
    tok = nbbpe.train(documents=[text], vocab_size=290, rules=rules, pattern=None)
    tokens = [token for token in tok.vocab.values() if len(token) > 1]
    assert any(token in (b"12", b"23") for token in tokens)
    for token in tokens:
        assert naive.keeps_limits(token, whole_characters=True, one_script=True, max_numbers=2)
        assert token[1:3] != b"he"
        assert not token.endswith("ß".encode())
        assert b" " + token not in tokens
    assert tok.decode(tok.encode(text)) == text
    assert tok.provenance["training"]["rules"] == {
        "whole_characters": True,
        "one_script": True,
        "max_numbers": 2,
        "no_space_duplicates": True,
        "forbidden": ["^.he", r"b'\xc3\x9f$'"],
    }
    tok.save(tmp_path / "tok")
    assert nbbpe.load(tmp_path / "tok").provenance["training"] == tok.provenance["training"]


def test_an_object_that_is_called_is_recorded_without_its_address():
    """Or the files of two runs would differ."""
    found = nbbpe.TokenRules(forbidden=[functools.partial(bytes.startswith, b"x"), texts.SAMPLE.__contains__, len])
    assert found.record() == {"forbidden": ["partial", "str.__contains__", "len"]}


def test_no_rules_are_no_rules():
    words = {b"the": 3, b" the": 5, "中文".encode(): 4}
    assert learned(words, 300) == naive.train(words, 300)[0]
    tok = nbbpe.train(documents=["the the"], vocab_size=258, rules=nbbpe.TokenRules())
    assert "rules" not in tok.provenance["training"]


def test_an_error_of_a_predicate_reaches_the_user():
    def fails(token: bytes) -> bool:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        nbbpe.train(documents=["the the"], vocab_size=258, rules=nbbpe.TokenRules(forbidden=fails))


@pytest.mark.parametrize(
    ("options", "limits"),
    [
        ({}, " asks for, so"),
        ({"min_frequency": 3}, " asks for, with min_frequency=3, so"),
        ({"rules": nbbpe.TokenRules()}, " asks for, so"),
        (
            {"max_token_length": 2, "rules": nbbpe.TokenRules(forbidden=r"\w")},
            " asks for, with max_token_length=2 and rules for tokens, so",
        ),
    ],
)
def test_a_warning_of_few_merges_names_what_refuses_pairs(options, limits):
    with pytest.warns(UserWarning, match=limits):
        small = nbbpe.train(documents=["the the"], vocab_size=290, **options)
    with pytest.warns(UserWarning, match=limits):
        small.extend(documents=["to be"], vocab_size=290, **options)


# Seeds


def test_seeds_are_tokens_and_training_goes_on_from_them():
    text = "the cat sat on the mat with the hat " * 5
    seeds = [" cats", b"caf\xc3\xa9", "q"]
    tok = nbbpe.train(documents=[text], vocab_size=276, special_tokens=["<s>"], rules=nbbpe.TokenRules(seeds=seeds))
    assert [tok.id_to_token(tok.encode(seed)[0]) for seed in seeds] == [b" cats", b"caf\xc3\xa9", b"q"]
    assert all(len(tok.encode(seed)) == 1 for seed in seeds)
    # The seeds' merges are those of BPE on the seeds, and training goes on from these.
    first = nbbpe.train(documents=[" cats", "café"], vocab_size=263).merges
    assert tok.merges[:7] == first
    words = naive.count_words([text.encode()], NAMED["gpt2"].compiled)
    assert tok.merges[7:] == naive.train(words, 275, start=first)[0]
    assert tok.special_tokens == {"<s>": 275}
    assert tok.provenance["training"]["rules"] == {"seeds": [" cats", "café", "q"]}


def test_seeds_go_before_other_rules_and_into_a_vocabulary_that_is_extended():
    tok = nbbpe.train(documents=["the cat sat on the mat"], vocab_size=262)
    rules = nbbpe.TokenRules(seeds=["12345"], max_numbers=1)
    larger = tok.extend(documents=["12 12 123 the mats the mats"], vocab_size=270, rules=rules)
    assert len(larger.encode("12345")) == 1
    assert larger.merges[: len(tok.merges)] == tok.merges
    assert all(naive.keeps_limits(token, max_numbers=1) or token in b"12345" for token in larger.vocab.values())
    again = larger.extend(documents=["the cats"], vocab_size=271, rules=rules)  # the seed is there already
    assert len(again.vocab) == 271


def test_seeds_may_be_longer_than_max_token_length():
    rules = nbbpe.TokenRules(seeds=["photo"])
    tok = nbbpe.train(documents=["the then the"], vocab_size=261, max_token_length=2, rules=rules)
    assert tok.count("photo") == 1
    assert max(len(token) for token in tok.vocab.values() if token not in b"photo") == 2


def test_seeds_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="'New York' cannot be a token, as the pattern splits it: 'New', ' York'"):
        nbbpe.train(documents=["the"], vocab_size=300, rules=nbbpe.TokenRules(seeds=["New York"]))
    with pytest.raises(ValueError, match=r"the seeds and the .* are 4 new tokens, and vocab_size leaves room for 2"):
        nbbpe.train(documents=["the"], vocab_size=258, rules=nbbpe.TokenRules(seeds=["seeds"]))
    exact = nbbpe.train(documents=["the"], vocab_size=260, rules=nbbpe.TokenRules(seeds=["seeds"]))
    assert exact.encode("seeds") == [259]


def test_seeds_behind_the_highest_id_that_can_be_are_refused():
    rules = nbbpe.TokenRules(seeds=["hello"])
    for last, room in (2**31 - 2, 0), (2**31 - 4, 2):
        tok = nbbpe.Tokenizer({byte: bytes([byte]) for byte in range(256)}, [], {"<a>": last})
        with pytest.raises(ValueError, match=f"are 4 new tokens, and vocab_size leaves room for {room}"):
            tok.extend(documents=[], rules=rules)


def test_seeds_that_cannot_be_are_refused_before_words_are_counted():
    def documents():
        yield pytest.fail("the text is read")

    tok = nbbpe.train(documents=["the cat sat on the mat"], vocab_size=262)
    for seed, n_more, message in ("New York", 44, "cannot be a token"), ("seeds", 2, "the seeds .* are 4 new tokens"):
        rules = nbbpe.TokenRules(seeds=[seed])
        with pytest.raises(ValueError, match=message):
            nbbpe.train(documents(), 256 + n_more, rules=rules)
        with pytest.raises(ValueError, match=message):
            tok.extend(documents(), len(tok) + n_more, rules=rules)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"seeds": "the"}, TypeError, "seeds must be a list of str or bytes, not 'the'"),
        ({"seeds": [3]}, TypeError, r"seeds must be a list of str or bytes, not \[3\]"),
        ({"seeds": [""]}, ValueError, "seeds has an empty text"),
        ({"whole_characters": 1}, TypeError, "whole_characters must be True or False, not 1"),
        ({"max_letters": 0}, ValueError, "max_letters must be at least 1, not 0"),
        ({"max_words": 2.5}, TypeError, "max_words must be a positive integer or None, not 2.5"),
        ({"forbidden": 3}, TypeError, "forbidden must be a regex, a function or a list of these, not 3"),
        ({"forbidden": [3]}, TypeError, "forbidden must be a regex, a function or a list of these, not 3"),
        ({"forbidden": "("}, ValueError, r"forbidden has '\(', which is not a valid regex: missing \)"),
        ({"forbidden": "(" * 5000 + ")" * 5000}, ValueError, r"forbidden has '\(\(.*, which is too complex for `regex`"),
    ],
)
def test_invalid_rules_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        nbbpe.TokenRules(**arguments)


def test_rules_of_another_kind_are_refused_before_any_work():
    with pytest.raises(TypeError, match="rules must be a TokenRules"):
        nbbpe.train(documents=["the"], vocab_size=258, rules={"max_words": 1})


def test_rules_and_patterns_for_invalid_bytes_are_saved(tmp_path):
    """A seed of bytes, and a regex for them, are text with lone surrogates in the files of a tokenizer."""
    rules = nbbpe.TokenRules(seeds=[b"\xff\xfe"], forbidden="[\udcf0-\udcfd]")
    tok = nbbpe.train(documents=[b"ab \xf1\xf2 ab"], vocab_size=258, pattern="[\udc80-\udcff]+|[a-z]+| ", rules=rules)
    tok.save(tmp_path / "tok")
    again = nbbpe.load(tmp_path / "tok")
    assert (again, again.provenance) == (tok, tok.provenance)
    with pytest.raises(ValueError, match=r"'\[\\udc80.*holds a lone surrogate"):
        tok.to_hf(tmp_path / "tokenizer.json")


@pytest.mark.usefixtures("quiet")
def test_a_regex_that_matches_an_empty_text_may_forbid_few_tokens():
    text = "the  \n  the  \n"
    merges = nbbpe.train(documents=[text], vocab_size=270, rules=nbbpe.TokenRules(forbidden=r"^\s*$")).merges
    assert merges
    assert not any((left + right).isspace() for left, right in merges)
    assert any((left + right).isspace() for left, right in nbbpe.train(documents=[text], vocab_size=270).merges)


@pytest.mark.parametrize(("forbidden", "is_named"), [(r"\d*", True), (rb"x?|y", True), (r"^\s*$", False), (".", False)])
def test_a_regex_that_forbids_every_token_as_it_matches_the_empty_text_is_named(forbidden, is_named):
    with pytest.warns(UserWarning, match="with rules for tokens") as caught:
        nbbpe.train(documents=["the cat the cat"], vocab_size=300, rules=nbbpe.TokenRules(forbidden=["qq", forbidden]))
    said = f"(forbidden has {forbidden!r}, which matches the empty text, and so every token), so the vocabulary has"
    assert (said in str(caught[0].message)) == is_named


@pytest.mark.parametrize("kind", [str, str.encode])
@pytest.mark.parametrize(
    ("forbidden", "seconds", "message"),
    [
        ("(?R)a", 60.0, "'(?R)a', which calls itself without end"),
        ("^(a|a|aa)+c", 0.1, "'^(a|a|aa)+c', which takes too long"),
    ],
)
def test_a_regex_that_forbids_tokens_and_does_not_end_is_named(sizes, kind, forbidden, seconds, message):
    sizes(splitting=seconds)
    rules = nbbpe.TokenRules(forbidden=kind(forbidden))
    with pytest.raises(ValueError, match=rf"forbidden has b?{re.escape(message)}.* in the token b'a+'"):
        nbbpe.train(documents=["a" * 4096], vocab_size=268, rules=rules)


@pytest.mark.parametrize("forbidden", ["^[ -~]*$", r"^\P{Han}*$", rb"^.{0,9}$", "(?=[ -~])"])
def test_a_regex_that_takes_all_of_many_tokens_is_not_said_to_match_every_token(forbidden):
    text = "the cat été 日本 日本 the-cats-and-hats the-cats-and-hats"
    with pytest.warns(UserWarning, match="with rules for tokens, so the vocabulary has"):
        nbbpe.train(documents=[text], vocab_size=400, rules=nbbpe.TokenRules(forbidden=forbidden))
