"""Superwords: the second stage beside textbook BPE on windows of words, and encoding beside textbook merging of phrases."""

from __future__ import annotations

import os

import naive
import pytest
import regex
import texts
from hypothesis import given, settings
from hypothesis import strategies as st

import nbbpe
from nbbpe.patterns.pattern import NAMED
from nbbpe.patterns.pattern_argument import get_pattern

TEXT = (
    "by the way, by the by, it's the end of the day: the end, in the end of the 12 days!\n\n"
    "  By the way  of the end, the beginning of another way was at the end of the other.\n"
    "of the days of the beginning there is no end, and nobody knows which way the end is\n"
) * 3
GPT2 = NAMED["gpt2"].regex
PHRASE = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+"


def naive_train(text, after, n_tokens, max_words, window=8):
    words = naive.count_words([text.encode()], regex.compile(GPT2))
    first, _ = naive.train(words, after)
    windows = naive.count_words([text.encode()], regex.compile(f"(?:{PHRASE}){{1,{window}}}|{GPT2}"))
    more, _ = naive.train(
        windows, n_tokens, start=first, allows=lambda token: naive.keeps_limits(token, max_words=max_words)
    )
    return first + more


@given(
    text=st.lists(
        st.sampled_from(["the", " the", " of", " end", "'s", ", ", " 1", "\n", "é", " é"]), min_size=3, max_size=40
    ),
    max_words=st.integers(1, 3),
    window=st.integers(2, 5),
)
@settings(max_examples=30)
@pytest.mark.filterwarnings("ignore:the text has pairs for only")
def test_both_stages_are_the_textbooks(text, max_words, window):
    text = "".join(text)
    superwords = nbbpe.Superwords(after=260, max_words=max_words, window=window)
    tok = nbbpe.train(documents=[text], vocab_size=290, superwords=superwords)
    assert tok.merges == naive_train(text, 260, 290, max_words, window)


def test_tokens_of_several_words_are_learned_after_those_of_words():
    tok = nbbpe.train(documents=[TEXT], vocab_size=310, special_tokens=["<s>"], superwords=nbbpe.Superwords(after=280))
    plain = nbbpe.train(documents=[TEXT], vocab_size=280)
    assert tok.merges[:24] == plain.merges
    several = [token for token in tok.vocab.values() if len(token.split()) > 1]
    assert b" the end" in several
    assert all(len(token.split()) <= 4 and tok.token_to_id(token) > 279 for token in several)
    assert tok.count(TEXT) < 0.9 * nbbpe.train(documents=[TEXT], vocab_size=309).count(TEXT)
    assert tok.special_tokens == {"<s>": 309}
    assert tok.provenance["training"]["superwords"] == {"after": 280, "max_words": 4, "phrase": PHRASE, "window": 8}


@given(text=texts.texts())
@settings(max_examples=40)
def test_phrases_are_encoded_by_all_merges(superword_tokenizer, text):
    tok = superword_tokenizer
    pattern = regex.compile(f"(?:{PHRASE})+|{GPT2}")
    ids = {token: i for i, token in tok.vocab.items()}
    assert tok.encode_ordinary(text) == naive.encode(text.encode(), tok.merges, ids, pattern)


@pytest.fixture(scope="module")
def superword_tokenizer():
    return nbbpe.train(documents=[TEXT, texts.SAMPLE], vocab_size=340, superwords=nbbpe.Superwords(after=280))


def test_a_phrase_has_no_limit_in_encoding(superword_tokenizer):
    # Windows are of training only.
    text = "the end of the day by the way" * 20
    ids = {token: i for i, token in superword_tokenizer.vocab.items()}
    pattern = regex.compile(f"(?:{PHRASE})+|{GPT2}")
    assert superword_tokenizer.encode(text) == naive.encode(text.encode(), superword_tokenizer.merges, ids, pattern)
    assert len(pattern.findall(text)) == 1
    assert nbbpe.explain_pattern(superword_tokenizer.pattern).is_compiled


def test_it_is_saved_and_exported(superword_tokenizer, tmp_path):
    tok = superword_tokenizer
    tok.save(tmp_path / "tok")
    assert nbbpe.load(tmp_path / "tok").encode(TEXT) == tok.encode(TEXT)
    tokenizers = pytest.importorskip("tokenizers")
    tok.to_hf(tmp_path / "tokenizer.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in TEXT, texts.SAMPLE:
        assert theirs.encode(text).ids == tok.encode(text)


def test_a_pattern_and_a_phrase_of_ones_own_and_rules_hold_in_both_stages():
    superwords = nbbpe.Superwords(after=262, phrase=r"[a-z]+|_", max_words=2)
    rules = nbbpe.TokenRules(forbidden="e_|_e")
    tok = nbbpe.train(
        documents=["the_end the_end in_it in_it a_b a_b"],
        vocab_size=266,
        pattern=r"[a-z]+|_|\W",
        superwords=superwords,
        rules=rules,
    )
    assert any(b"_" in token and len(token) > 1 for token in tok.vocab.values())
    assert not any(b"e_" in token or b"_e" in token for token in tok.vocab.values())


def test_flags_of_a_pattern_and_of_a_phrase_stay_compiled_and_apart():
    text = "The End of THE END of the end, the enD: the_end"
    superwords = nbbpe.Superwords(after=258, phrase="(?i) ?[a-z]+")
    options = {"documents": [text] * 3, "vocab_size": 275, "superwords": superwords}
    tok = nbbpe.train(**options, pattern=r"(?is) ?[a-z]+|_+|.", split_with="compiled")
    assert tok == nbbpe.train(**options, pattern=r"(?is) ?[a-z]+|_+|.", split_with="regex")
    assert tok.merges == nbbpe.train(**options, pattern=r" ?[a-zA-Z\u0130\u0131\u017f\u212a]+|_+|[\s\S]").merges
    # Neither has those of the other.
    alone = nbbpe.Superwords(after=258, phrase=" ?[a-z]+")
    pattern = nbbpe.train(**{**options, "superwords": alone}, pattern="(?i) ?[a-z]+|.").pattern
    assert get_pattern(pattern).split("the end THE END") == ["the end", " THE", " END"]


@pytest.mark.filterwarnings("ignore:the text has pairs for only")
@pytest.mark.parametrize("window", [2**32 - 2, 2**32 - 1, 10**30])
def test_a_window_may_be_wider_than_any_text(window):
    options = {"documents": ["the end of the day, the end of it"], "vocab_size": 290}
    wide = nbbpe.Superwords(after=260, window=100, max_words=50)
    wider = nbbpe.Superwords(after=260, window=window, max_words=window)
    assert nbbpe.train(**options, superwords=wider).merges == nbbpe.train(**options, superwords=wide).merges


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.filterwarnings("ignore:the text has pairs for only")
def test_the_rule_about_words_holds_in_the_second_stage(most):
    superwords = nbbpe.Superwords(after=280, max_words=2)
    tok = nbbpe.train(documents=[TEXT], vocab_size=310, superwords=superwords, rules=nbbpe.TokenRules(max_words=most))
    assert tok.merges == naive_train(TEXT, 280, 310, max_words=min(most, 2))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"after": 255}, ValueError, "after=255 is too small: the 256 bytes are tokens, too"),
        ({"after": 300, "max_words": 0}, ValueError, "max_words must be at least 1, not 0"),
        ({"after": 300, "window": 1}, ValueError, "window must be at least 2"),
        ({"after": 300, "phrase": ""}, TypeError, "phrase must be a regex, not ''"),
        # Beside the pattern, these would be other regexes.
        ({"after": 300, "phrase": "["}, ValueError, r"phrase '\[' is not a valid regex: unterminated character set"),
        ({"after": 300, "phrase": "a)|(?:b"}, ValueError, r"phrase 'a\)\|\(\?:b' is not a valid regex: unbalanced"),
        ({"after": 300, "phrase": "(" * 2000 + ")" * 2000}, ValueError, r"phrase '\(\(.* is too complex for `regex`"),
        ({"after": "300"}, TypeError, "after must be a positive integer, not '300'"),
    ],
)
def test_invalid_arguments_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        nbbpe.Superwords(**arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"superwords": nbbpe.Superwords(after=301)},
            ValueError,
            "superwords begin after 301 tokens, and vocab_size asks for 300",
        ),
        ({"superwords": 3}, TypeError, "superwords must be a Superwords, not 3"),
        (
            {"superwords": nbbpe.Superwords(after=300), "pattern": None},
            ValueError,
            "superwords need a pattern of one regex",
        ),
        ({"superwords": nbbpe.Superwords(after=300), "documents": iter(["a"])}, ValueError, "read twice: not an iterator"),
        (
            {"superwords": nbbpe.Superwords(after=300, phrase=r" ?([a-z])+"), "pattern": r"(\d)\1|\D+|."},
            ValueError,
            "has numbered groups",
        ),
        (
            {"superwords": nbbpe.Superwords(after=300, phrase=r" ?([a-z])+"), "pattern": r"([.!?])\1*|\w+|\s|."},
            ValueError,
            "has numbered groups",
        ),
        (
            {"superwords": nbbpe.Superwords(after=300, phrase=r"\b\w+"), "split_with": "compiled"},
            ValueError,
            r"cannot be compiled: .b",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        nbbpe.train(**{"documents": ["the end"], "vocab_size": 300, **arguments})


def test_a_source_that_can_be_read_only_once_is_refused(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    (tmp_path / "a.txt").write_text(TEXT)
    table = pyarrow.table({"text": [TEXT]})
    sources = [table, nbbpe.Mixture({"a": tmp_path / "a.txt", "b": iter([TEXT])})]
    parallel = nbbpe.Parity(parallel={"a": iter([TEXT])})
    sources.append(nbbpe.Mixture({"a": tmp_path / "a.txt"}, parity=parallel))
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        sources.append(tmp_path / "pipe")
    for source in sources:
        with pytest.raises(ValueError, match="read twice: not an iterator, Arrow data or a pipe"):
            nbbpe.train(source, 300, superwords=nbbpe.Superwords(after=280))


@pytest.mark.filterwarnings("ignore:the text has pairs for only")
def test_words_and_windows_that_are_left_out_are_both_told():
    tok = nbbpe.train(documents=[TEXT], vocab_size=300, superwords=nbbpe.Superwords(after=280), min_word_count=4)
    told = tok.provenance["training"]
    words = naive.count_words([TEXT.encode()], regex.compile(GPT2))
    windows = naive.count_words([TEXT.encode()], regex.compile(f"(?:{PHRASE}){{1,8}}|{GPT2}"))
    for counts, left_out in (words, told["left_out"]), (windows, told["superwords"]["left_out"]):
        assert left_out["n_all_words"] == len(counts)
        assert left_out["n_words"] == sum(n < 4 for n in counts.values())


def test_windows_that_do_not_occur_often_enough_are_an_error_before_merges_are_learned():
    said = []
    with pytest.raises(ValueError, match="min_word_count=3 skips every word"):
        nbbpe.train(
            documents=["the end of the end of the end"],
            vocab_size=300,
            superwords=nbbpe.Superwords(after=260),
            min_word_count=3,
            progress=lambda *each: said.append(each[0]),
        )
    assert set(said) == {"count words"}
