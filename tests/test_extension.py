"""More tokens on a vocabulary that is there: ids stay, and training goes on as the textbook has it."""

from __future__ import annotations

import itertools
import json
import re
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import naive
import numpy as np
import pytest
import texts
from effort import mostly_slow
from hypothesis import given
from hypothesis import strategies as st
from training_structures import check_structures
from vocabularies import BYTES, saved_as_ranks, tokenizer_json

import nbbpe
from nbbpe.counting.word_counts import words_from_dict
from nbbpe.kernels.training import linked_words, merge_loop
from nbbpe.model.model import Model
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.training import merges
from nbbpe.training.learning_options import TIE_BREAKS, LearningOptions
from nbbpe.training.merges import learn_merges
from nbbpe.vocabulary import extension
from nbbpe.words.supply import Stage

NO_PATTERN = get_pattern(None)

pytestmark = pytest.mark.filterwarnings("ignore:the text has pairs")


def trained(words: dict[bytes, int], n_tokens: int, tie_break: str = "bytes", **options) -> Model:
    found = learn_merges(words_from_dict(words), n_tokens, LearningOptions(tie_break, **options))
    return Model.trained(found, [], NO_PATTERN, {"tie_break": tie_break})


def extended(model: Model, words: dict[bytes, int], vocab_size: int, *options, **named) -> Model:
    return extension.extend_by_words(model, Stage(words_from_dict(words), vocab_size), LearningOptions(*options, **named))


# Equal to training in one go, and to the textbook


def test_the_provenance_tells_of_fractions_as_training_does():
    counts = pytest.importorskip("pyarrow").table({"word": [b"ab", b"abc"], "count": [6, 4]})
    options = {"counts": [counts], "weights": [Fraction(1, 3)], "min_frequency": 2}
    whole = nbbpe.train(vocab_size=257, pattern="gpt2", **options).provenance["training"]
    larger = nbbpe.train(documents=["x"], vocab_size=256).extend(vocab_size=257, **options).provenance["training"]
    assert larger["min_frequency"] == whole["min_frequency"] == 2
    assert larger["corpus"] == whole["corpus"]
    assert larger["corpus"]["denominator"] == 3


@given(texts.word_counts("abc", max_words=10, max_size=14), st.integers(256, 275), st.integers(1, 3))
def test_the_result_equals_training_in_one_go(words, n_start, min_frequency):
    for tie_break in TIE_BREAKS:
        for longest in None, 3:
            options = {"min_frequency": min_frequency, "max_token_length": longest}
            whole = trained(words, 285, tie_break, **options)
            start = trained(words, n_start, tie_break, **options)
            found = extended(start, words, 285, tie_break, min_frequency, longest)
            assert found == whole, tie_break
            assert found.vocab == whole.vocab


@given(texts.word_counts("abé\x00", max_words=8, max_size=10), texts.word_counts("abé\x00", max_words=8, max_size=16))
def test_other_words_go_on_as_the_textbook_has_it(first, words):
    for tie_break in TIE_BREAKS:
        start = trained(first, 264, tie_break)
        expected, _ = naive.train(words, 275, tie_break, start=start.merges)
        assert extended(start, words, 275, tie_break).merges == start.merges + expected, tie_break


def test_by_hand():
    # of ab, which is there, and cab ab: (c, ab) once, (ab, ab) twice: abab is new, then c.
    start = Model.trained(np.array([[97, 98]], dtype=np.int32), ["<s>"], NO_PATTERN, {})
    found = extended(start, {b"abab": 2, b"cab": 1}, 300)
    assert found.merges == [(b"a", b"b"), (b"ab", b"ab"), (b"c", b"ab")]
    assert found.vocab == start.vocab | {258: b"abab", 259: b"cab"}
    assert found.special == {"<s>": 257}


def test_long_runs_and_long_words_keep_the_order_of_overlaps():
    for word in b"a" * 301, b"ab" * 90 + b"a", b"aabb" * 40:
        whole = trained({word: 1, word[1:]: 2}, 280)
        for n_start in 256, 257, 259, 262:
            start = trained({word: 1, word[1:]: 2}, n_start)
            assert extended(start, {word: 1, word[1:]: 2}, whole.size) == whole


def test_a_tokenizer_trained_with_special_tokens_keeps_them_where_they_are(quiet):
    documents = [texts.SAMPLE, "the cat sat on the mat"] * 2
    start = nbbpe.train(documents=documents, vocab_size=300, special_tokens=["<|a|>", "<|b|>"], tie_break="ids")
    whole = nbbpe.train(documents=documents, vocab_size=400, special_tokens=["<|a|>", "<|b|>"], tie_break="ids")
    found = start.extend(documents=documents, vocab_size=400)  # by the same rule, as the start says it
    assert found.merges == whole.merges
    assert found.special_tokens == start.special_tokens == {"<|a|>": 298, "<|b|>": 299}
    assert dict(start.vocab).items() <= dict(found.vocab).items()
    assert sorted(found.vocab) == list(range(400))
    assert found == nbbpe.train(documents=documents, vocab_size=400, start=start, tie_break="ids")
    assert found != nbbpe.train(documents=documents, vocab_size=400, start=start)
    assert found.decode(found.encode(texts.SAMPLE + "<|b|>")) == texts.SAMPLE + "<|b|>"
    assert found.provenance["training"]["start"]["fingerprint"] == start.fingerprint


def test_files_are_counted_as_in_training(stories, tmp_path):
    start = nbbpe.train(stories, 400, [texts.SPECIAL])
    whole = nbbpe.train(stories, 900, [texts.SPECIAL])
    assert start.extend(stories, 900).merges == whole.merges
    found = start.extend([stories, stories], 900, workers=2, split_with="regex")
    assert found.merges == whole.merges
    found.save(tmp_path / "tok")
    assert nbbpe.load(tmp_path / "tok") == found


# The kernels and their twins


@given(texts.word_counts("abé", max_words=8, max_size=14), st.integers(256, 270))
def test_structures_are_true_to_each_other_after_every_merge(sizes, words, n_start):
    start, counted = trained(words, n_start), words_from_dict(words)
    original, calls = merge_loop.merge_batch, []

    def checking(linked, table, queue, ties, tokens, *rest):
        if not calls:
            check_structures(counted, linked, table, ties, tokens)  # as they are entered from the start
        calls.append(original(linked, table, queue, ties, tokens, *rest))
        check_structures(counted, linked, table, ties, tokens)
        return calls[-1]

    sizes(budget=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merge_loop, "merge_batch", checking)
        extension.extend_by_words(start, Stage(counted, 290), LearningOptions())
    assert calls


@given(st.lists(st.lists(st.sampled_from([b"a", b"b", b"ab", b"aba", b"babab"]), min_size=1, max_size=6), max_size=6))
def test_symbols_are_put_as_merges_leave_them(words):
    tokens = [*BYTES.values(), b"ab", b"aba", b"babab"]
    spelled = dict.fromkeys(map(b"".join, words))
    counted = words_from_dict(dict.fromkeys(spelled, 1))
    chosen = {b"".join(word): word for word in words}
    numbers = [[tokens.index(symbol) for symbol in chosen[word]] for word in spelled]
    lengths = np.array([*map(len, tokens)], dtype=np.int32)
    linked = linked_words.new_linked_words(counted.starts, counted.counts, len(tokens))
    symbols = np.array([*itertools.chain(*numbers)], dtype=np.int32)
    ends = np.cumsum([0, *map(len, numbers)], dtype=np.int64)
    linked_words.link_symbols(counted.starts, counted.counts, symbols, ends, lengths, linked)
    count, edge = 1 << linked.symbol_bits, linked_words.edge_of.function(linked.symbol_bits)
    expected = [edge]
    for word in numbers:
        expected += [*itertools.chain(*([number | count] * len(tokens[number]) for number in word)), edge]
    assert linked.cells.tolist() == expected


# Loaded vocabularies


@pytest.mark.parametrize(
    "name", mostly_slow(["cl100k_base.tiktoken", "gpt_neox_20b_tokenizer.json", "gpt2"], ["gpt_neox_20b_tokenizer.json"])
)
def test_a_known_vocabulary_keeps_its_ids(shared, gpt2, name):
    start = gpt2 if name == "gpt2" else nbbpe.load(shared / "vocabs" / name)
    text = (shared / "text" / "novels_de.txt").read_text(encoding="utf-8")[:300_000]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = start.extend(documents=[text], vocab_size=start.vocab_size + 200)
    assert dict(start.vocab).items() <= dict(found.vocab).items()
    assert found.special_tokens == start.special_tokens
    assert found.vocab_size == start.vocab_size + 200
    new = set(range(start.vocab_size, found.vocab_size))
    assert len(found.encode(text)) < 0.97 * len(start.encode(text))
    other = (shared / "text" / "books_en.txt").read_text(encoding="utf-8")[:100_000].split("\n")
    kept = 0
    for line in other:
        ids = found.encode(line)
        if not new.intersection(ids):
            assert ids == start.encode(line)
            kept += 1
    assert kept > 300
    for token_id in new:
        assert found.encode_ordinary(found.id_to_token(token_id)) == [token_id]


GERMAN = "Der Fuchs und die Katze gingen über die Brücke, weil der Fluß zu breit war. "


@pytest.mark.parametrize("name", mostly_slow(["gpt2", "cl100k", "whole"], ["whole"]))
def test_what_an_extended_vocabulary_gives_is_what_tokenizers_gives(gpt2, shared, tmp_path, name):
    tokenizers = pytest.importorskip("tokenizers")
    start = nbbpe.load(shared / "vocabs" / "cl100k_base.tiktoken") if name == "cl100k" else gpt2
    if name == "whole":
        gpt2.to_hf(tmp_path / "whole.json")
        about = json.loads((tmp_path / "whole.json").read_text(encoding="utf-8"))
        about["model"]["ignore_merges"] = True  # as in Llama 3's; and no merge makes the last token
        about["model"]["merges"].pop()
        (tmp_path / "whole.json").write_text(json.dumps(about), encoding="utf-8")
        start = nbbpe.load(tmp_path / "whole.json")
    found = start.extend(documents=[GERMAN * 20], vocab_size=start.vocab_size + 40)
    found.to_hf(tmp_path / "t.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "t.json"))
    assert theirs.encode(GERMAN + texts.SAMPLE).ids == found.encode(GERMAN + texts.SAMPLE)
    assert len(found.encode(GERMAN)) < len(start.encode(GERMAN))
    assert found._model.whole == start._model.whole == (name == "whole")


def test_what_an_extended_vocabulary_gives_is_what_tiktoken_gives(small):
    pytest.importorskip("tiktoken")
    found = small.extend(documents=[GERMAN * 20], vocab_size=small.vocab_size + 40)
    encoding = found.to_tiktoken()
    text = GERMAN + texts.SPECIAL + GERMAN
    assert encoding.encode(text, allowed_special="all") == found.encode(text)
    assert len(found.encode(GERMAN)) < len(small.encode(GERMAN))


@given(texts.word_counts("abc", max_words=8, max_size=10), texts.word_counts("abc", max_words=6), st.randoms())
def test_a_vocabulary_in_disorder_encodes_as_trained_or_says_that_it_does_not(first, words, source):
    """Merges in any order, so that some tokens are not made by them, and some by other ways than they were learned."""
    merges, tokens = naive.train(first, 266)
    source.shuffle(merges)
    start = Model(dict(enumerate(tokens)), merges, {}, NO_PATTERN)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = extended(start, words, 280)
    new = found.merges[len(merges) :]
    tok = nbbpe.Tokenizer._of(found)
    ranks = {pair: rank for rank, pair in reversed(list(enumerate(merges)))}
    differing = False
    for word in words:
        symbols = naive.encode_pretoken(word, ranks)
        for left, right in new:
            symbols = naive.merge_word(symbols, left, right, left + right)
        differing = differing or [tok.id_to_token(token_id) for token_id in tok.encode(word)] != symbols
    assert differing == any("get other ids than training gave them" in str(each.message) for each in said)
    assert len(set(found.vocab.values())) == len(found.vocab)


def test_normalized_text_is_counted_in_its_normal_form(quiet):
    decomposed = "cafe\u0301 " * 9
    start = nbbpe.Tokenizer(BYTES, [], normalizer="NFC")
    found = start.extend(documents=[decomposed], vocab_size=270)
    assert found == start.extend(documents=[decomposed.replace("e\u0301", "é")], vocab_size=270)
    assert found.token_to_id("café") is not None
    assert start.extend(documents=["x<|s|>y"] * 3, vocab_size=258).token_to_id("<|s") is None


def test_of_normalized_text_it_tells_the_progress_and_the_skipped_records(tmp_path, sizes):
    sizes(window=64)
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "the cat"}\n' * 20 + '{"x": 1}\n' * 20)
    start = nbbpe.Tokenizer(BYTES, [], normalizer="NFC")
    said = []
    with pytest.warns(UserWarning, match="^20 malformed records were skipped"):
        start.extend(path, 258, on_error="skip", progress=lambda *each: said.append(each))
    size = path.stat().st_size
    counted = [each for each in said if each[0] == "count words"]
    assert counted[0][1] < size
    assert counted[-1] == ("count words", size, size)


def test_special_tokens_of_the_start_are_no_part_of_a_word(quiet):
    start = nbbpe.Tokenizer(BYTES, [], ["<|s|>"])
    found = start.extend(documents=["<|s|><|s|><|s|>ab"], vocab_size=260)
    assert found.merges == [(b"a", b"b")]


def test_ranks_without_a_list_of_merges_get_the_next_ranks(tmp_path):
    # abcd is whole only: its bytes merge to a, bc, d.
    start = saved_as_ranks([b"bc", b"abcd", b"xy"], tmp_path, {"<|s|>": 300})
    assert start._model.merges is None
    found = start.extend(documents=["zxyz zxyz abcd"], vocab_size=302)
    assert found._model.merges is None
    assert {*found.vocab} - {*start.vocab} == {301}
    assert found.encode_ordinary("zxyz")[0] in (ord("z"), 301)
    assert found.encode_ordinary("abcd") == [257]


def test_a_token_that_merges_do_not_make_becomes_reachable_and_stays_one_token(quiet):
    # "abc" is in the vocabulary, and no merge makes it.
    start = nbbpe.Tokenizer(BYTES | {300: b"ab", 301: b"abc"}, [(b"a", b"b")], pattern=None)
    found = start.extend(documents=["abcabc"] * 3, vocab_size=303)
    assert found.merges == [(b"a", b"b"), (b"ab", b"c"), (b"abc", b"abc")]
    assert found.token_to_id("abc") == 301
    assert found.encode("abcabcabc") == [302, 301]


def test_each_merge_is_asked_once_whether_it_makes_a_token_that_is_there(quiet, monkeypatch):
    """Each one that does allows one more, so that asking about all of them would take minutes for 50,000 tokens."""
    spell, n_spelled = merges._spelled, []

    def spelled(ties, first, end):
        n_spelled.append(end - first)
        return spell(ties, first, end)

    monkeypatch.setattr(merges, "_spelled", spelled)
    whole = nbbpe.train(documents=[texts.SAMPLE * 2], vocab_size=400)
    start = nbbpe.Tokenizer(whole.vocab, [])
    found = start.extend(documents=[texts.SAMPLE * 2], vocab_size=401)
    assert found.merges[:144] == whole.merges
    assert sum(n_spelled) == len(found.merges) == 145


def test_a_rank_vocabulary_in_which_old_ranks_take_a_new_token_warns(tmp_path):
    # xbcd merges to x, bc, d. Once xbc is a token, xbc and d join to the old xbcd, whose rank is lower than any new one.
    start = saved_as_ranks([b"bc", b"xbcd"], tmp_path)
    assert start._model.merges is None
    with pytest.warns(UserWarning, match="words of the source get other ids than training gave them"):
        start.extend(documents=["xbcdz xbcdq xbcdw xbcdv xbce xbce xbce"], vocab_size=start.vocab_size + 2)


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(4, 6)), max_size=8),
    st.lists(st.integers(0, 3), max_size=20),
)
def test_merges_are_applied_to_ids_by_rank(rows, ids):
    first = {(left, right): rank for rank, (left, right, _) in reversed(list(enumerate(rows)))}
    expected = list(ids)
    for _ in range(30):  # a merge may make what one before it takes
        known = [(first[pair], at) for at, pair in enumerate(itertools.pairwise(expected)) if pair in first]
        if known:
            rank, at = min(known)
            expected[at : at + 2] = [rows[rank][2]]
    assert extension._merged(ids, [list(row) for row in rows], first) == expected


def test_few_pairs_are_looked_up_for_each_merge():
    """If all pairs of a word were looked up after each of its merges, 5,000 words of 200 bytes would take 45 s."""

    class Counted(dict):
        n = 0

        def get(self, *arguments):
            Counted.n += 1
            return super().get(*arguments)

        def __contains__(self, key):
            Counted.n += 1
            return super().__contains__(key)

    rows = [[0 if i == 1 else 1000 + i - 1, i, 1000 + i] for i in range(1, 200)]
    ranks = Counted({(left, right): rank for rank, (left, right, _) in enumerate(rows)})
    assert extension._merged(list(range(200)), rows, ranks) == [1199]
    assert Counted.n < 4 * 200


def test_a_token_that_older_merges_make_unreachable_is_named():
    start = nbbpe.Tokenizer(BYTES | {256: b"bc", 257: b"xbc", 258: b"xbcd"}, [(b"xbc", b"d"), (b"b", b"c")])
    with (
        pytest.warns(UserWarning, match="1 of 3 words of the source get other ids than training gave them"),
        pytest.warns(UserWarning, match=r"1 of the 3 new tokens cannot be reached.*b?'xbcdz' \(id 261\)"),
    ):
        larger = start.extend(documents=["xbce"] * 10 + ["dz"] * 5 + ["xbcdz"] * 2, vocab_size=262)
    assert larger.vocab[261] == b"xbcdz"
    assert larger.encode("xbcdz") == [258, ord("z")]


def test_of_many_words_a_sample_is_checked(small, monkeypatch):
    """The order of words is random, and so is which ones are checked."""

    def check(table, words, *rest):
        text = words.text.tobytes()
        all_words.extend(text[start:end] for start, end in itertools.pairwise(words.starts.tolist()))
        original(table, words, *rest)

    def encoded(texts, table):
        checked.append(texts)
        return ids_of_each(texts, table)

    all_words, checked = [], []
    original, ids_of_each = extension._check_sample, extension.ids_of_each
    monkeypatch.setattr(extension, "_check_sample", check)
    monkeypatch.setattr(extension, "_MOST_CHECKED", 2)
    monkeypatch.setattr(extension, "ids_of_each", encoded)
    small.extend(documents=["one two three four five six seven"], vocab_size=small.vocab_size + 1)
    assert len(all_words) == 7
    assert [all_words[0], all_words[4]] in checked


def test_progress_is_that_of_the_new_tokens(small):
    said = []
    small.extend(documents=[texts.SAMPLE], vocab_size=small.vocab_size + 9, progress=lambda *each: said.append(each))
    assert [each for each in said if each[0] == "learn merges"][-1] == ("learn merges", 9, 9)


# Arguments


def test_what_was_extended_very_often_is_saved_and_loaded(quiet, tmp_path):
    tok = nbbpe.train(documents=["the cat"], vocab_size=257)
    first = tok.provenance["training"]
    for size in range(258, 320):
        tok = tok.extend(documents=[texts.SAMPLE], vocab_size=size)
    tok.save(tmp_path / "tok")
    loaded = nbbpe.load(tmp_path / "tok")
    assert loaded == tok
    assert loaded.provenance == tok.provenance
    training = loaded.provenance["training"]
    starts = [training["start"], *training["earlier_starts"]]
    assert [start["vocab_size"] for start in starts] == list(range(318, 256, -1))
    assert starts[0]["training"]["vocab_size"] == 318
    assert starts[-1]["training"] == first
    tok.encode_file(documents=["the cat"], output_path=tmp_path / "ids.bin")
    assert len(nbbpe.TokenFile(tmp_path / "ids.bin", tok))


def test_what_was_interrupted_is_told_from_all_starts():
    def model(*trainings):
        last, *before = trainings
        starts = [{"training": training} for training in before]
        told = {**last, **({"start": starts[0], "earlier_starts": starts[1:]} if starts else {})}
        return Model.trained(np.empty((0, 2), dtype=np.int32), [], NO_PATTERN, told)

    cut, done, first = {"interrupted": True}, {}, {"interrupted": True, "vocab_size": 1}
    for trainings in [first], [cut, first], [cut, cut, cut, first]:
        assert extension.cut_short(model(*trainings)) == first
    for trainings in [done], [done, first], [cut, done], [cut, done, first], [cut, cut, done, first], [cut, cut, done]:
        assert extension.cut_short(model(*trainings)) is None


def test_a_size_that_is_there_already_changes_nothing(small):
    assert small.extend(documents=["abc"], vocab_size=small.vocab_size) == small


@pytest.mark.parametrize("again", [0, 256, 257])
def test_of_several_ids_of_the_same_bytes_the_first_goes_on(again):
    tokens = [*BYTES.values(), b"ab"]
    for twice in b"a", b"ab":
        vocab = dict(enumerate([*tokens[:again], twice, *tokens[again:]]))
        ids = {token: token_id for token_id, token in reversed(vocab.items())}
        tok = nbbpe.Tokenizer(vocab, [(b"a", b"b")]).extend(documents=["abc abc abc"], vocab_size=260)
        assert [tok.id_to_token(token_id) for token_id in (258, 259)] == [b"abc", b" abc"]
        assert tok.encode("a ab abc") == [ids[b"a"], ids[b" "], ids[b"ab"], 259]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, TypeError, "vocab_size is missing"),
        ({"vocab_size": 399}, ValueError, "vocab_size=399 is below the 400 of the tokenizer"),
        ({"vocab_size": True}, TypeError, "must be an integer"),
        ({"vocab_size": np.array([500, 500])}, TypeError, r"vocab_size must be an integer, not array\(\[500, 500\]\)"),
        ({"vocab_size": np.True_}, TypeError, r"vocab_size must be an integer, not (np\.)?True"),
        ({"vocab_size": 2**31}, ValueError, "too large"),
        ({"vocab_size": 2_097_152}, ValueError, "can have 2,097,150 tokens"),
        ({"vocab_size": 500, "tie_break": "x"}, ValueError, "tie_break"),
        ({"vocab_size": 500, "min_frequency": 0}, ValueError, "min_frequency"),
        ({"vocab_size": 500, "workers": 0}, ValueError, "workers"),
    ],
)
def test_invalid_arguments_are_errors(small, arguments, error, message):
    with pytest.raises(error, match=message):
        small.extend(documents=["abc"], **arguments)


def test_what_contradicts_the_start_is_an_error(small):
    for arguments, error, message in [
        ({"start": "tok"}, TypeError, "start must be a Tokenizer"),
        ({"start": small, "special_tokens": ["<|x|>"]}, ValueError, "with_special_tokens"),
        ({"start": small, "pattern": "cl100k"}, ValueError, "is not the pattern of start"),
        ({"start": small, "vocab_size": 300}, ValueError, "below the 400"),
    ]:
        with pytest.raises(error, match=message):
            nbbpe.train(documents=["abc"], **{"vocab_size": 500, **arguments})
    with pytest.raises(ValueError, match="there is no text"):
        small.extend(documents=[texts.SPECIAL], vocab_size=500)
    start = nbbpe.train(documents=["the the"], vocab_size=257, pattern="cl100k")
    with pytest.raises(ValueError, match="pattern='gpt2' is not the pattern of start, 'cl100k'"):
        nbbpe.train(documents=["abc"], vocab_size=258, start=start, pattern="gpt2")


@pytest.mark.parametrize(
    "told",
    ["x", [1], {"interrupted": True, "start": [1]}, {"start": 1, "earlier_starts": 2}, {"tie_break": ["ids"]}],
)
def test_what_a_file_says_of_training_may_be_anything(told):
    start = nbbpe.train(documents=["the the"], vocab_size=257)
    start = start._with_model(start._model.with_training({}))
    start._model._origin["training"] = told
    assert nbbpe.train(documents=["the the"], vocab_size=258, start=start).merges[1:] == [(b"th", b"e")]


def test_the_twin_goes_on_from_a_start():
    words = Counter({b"abab": 2, b"cab": 1})
    whole, _ = naive.train(words, 259)
    assert whole[:1] + naive.train(words, 259, start=whole[:1])[0] == whole


def test_what_has_a_byte_that_the_vocabulary_lacks_is_refused(tmp_path):
    pa = pytest.importorskip("pyarrow")
    tok = tokenizer_json(tmp_path, lacking={0xC0, 0xFF})
    message = "cannot be encoded, as the tokenizer has no token for the byte 0xff: give words, or seeds, that are valid"
    table = pa.table({"word": [b"ab", b"x\xffx"], "count": [3, 5]})
    with pytest.raises(ValueError, match=rf"xffx' {message}"):
        nbbpe.train(counts=table, vocab_size=257, start=tok, pattern="gpt2")
    with pytest.raises(ValueError, match=message):
        tok.extend(documents=["ab"], vocab_size=257, rules=nbbpe.TokenRules(seeds=[b"\xff\xff"]))
    table = pa.table({"word": [b"ab", b"cd", b"\xffx"], "count": [3, 1, 5]})
    with pytest.raises(ValueError, match=rf"xffx' {message}"):  # its first byte is the one
        nbbpe.train(counts=table, vocab_size=257, start=tok, pattern="gpt2")
    assert nbbpe.train(counts=table[:1], vocab_size=255, start=tok, pattern="gpt2").merges == [(b"a", b"b")]


def test_seeds_alone_are_learned_where_there_are_no_documents(gpt2):
    small = nbbpe.train(documents=["the cat sat on the mat"] * 3, vocab_size=264, special_tokens=["<e>"])
    seeds = [" photosynthesis", "dog", "the", b"\xff\xfe"]
    rules = nbbpe.TokenRules(seeds=seeds)
    for tok in small, gpt2:
        larger = tok.extend(documents=[], rules=rules)
        assert [larger.count(seed) for seed in seeds] == [1] * 4
        assert all(larger.id_to_token(i) == tok.id_to_token(i) for i in range(tok.vocab_size))
        made = {larger.id_to_token(i) for i in range(tok.vocab_size, larger.vocab_size)}
        assert all(any(token in (seed if isinstance(seed, bytes) else seed.encode()) for seed in seeds) for token in made)
        assert larger.provenance["training"]["rules"] == nbbpe.TokenRules(seeds=seeds).record()
        assert tok.extend(documents=(), vocab_size=larger.vocab_size + 1000, rules=rules) == larger
        with pytest.raises(ValueError, match=r"are \d+ new tokens, and vocab_size leaves room for 1"):
            tok.extend(documents=[], vocab_size=tok.vocab_size + 1, rules=rules)
        with pytest.raises(TypeError, match="vocab_size is missing"):
            tok.extend(documents=["dog"], rules=rules)
    for others in {}, {"source": "a.txt", "documents": []}, {"weights": [], "documents": []}:
        with pytest.raises(TypeError, match="vocab_size is missing"):
            small.extend(rules=rules, **others)
    assert small.extend(documents=[], rules=nbbpe.TokenRules(seeds=["the"])).vocab_size == 264  # a token already
    with pytest.raises(ValueError, match="there is no text"):
        small.extend(documents=[], vocab_size=300)
    for wrong in {"split_with": "foo"}, {"on_error": "foo"}, {"field": "foo"}:  # as with documents
        (name,) = wrong
        with pytest.raises(ValueError, match=name):
            small.extend(documents=[], rules=rules, **wrong)


@pytest.mark.parametrize("options", [{"normalizer": {"type": "NFC"}}, {"add_prefix_space": True}])
def test_counts_of_text_that_would_be_changed_are_warned_of(tmp_path, options):
    tok = tokenizer_json(tmp_path, **options)
    pytest.importorskip("pyarrow")
    counts = nbbpe.count_words(documents=["the the"])
    with pytest.warns(UserWarning, match="changes text before it splits it .* counts are used as they are"):
        assert tok.extend(counts=counts, vocab_size=257).merges == [(b"t", b"h")]


@pytest.mark.parametrize("arguments", [{"weights": [2]}, {"executor": ThreadPoolExecutor(1)}])
def test_text_that_is_changed_takes_no_weights_and_no_executor(tmp_path, arguments):
    tok = tokenizer_json(tmp_path, normalizer={"type": "NFC"})
    (tmp_path / "a.txt").write_text("the the")
    with pytest.raises(TypeError, match="is counted by this process: leave weights and executor out"):
        nbbpe.train([tmp_path / "a.txt"], 257, start=tok, **arguments)


def test_text_that_is_not_changed_takes_weights(tmp_path):
    (tmp_path / "a.txt").write_text("the the")
    (tmp_path / "b.txt").write_text("hat hat hat")
    weighted = nbbpe.train([tmp_path / "a.txt", tmp_path / "b.txt"], 257, start=nbbpe.Tokenizer(BYTES, []), weights=[2, 1])
    assert weighted.merges == [(b"t", b"h")]


@pytest.mark.parametrize(("ours", "theirs"), [([], ["<s>"]), (["<s>"], []), (["<s>"], ["<t>"])])
def test_counts_with_other_special_tokens_are_refused(ours, theirs):
    pytest.importorskip("pyarrow")
    start = nbbpe.train(documents=["the the"], vocab_size=257 + len(ours), special_tokens=ours)
    counts = nbbpe.count_words(documents=["the<s>the"], special_tokens=theirs)
    said = re.escape(f"with the special tokens {theirs}, and the tokenizer has {ours}: count the text with its own, or")
    with pytest.raises(ValueError, match=said):
        start.extend(counts=counts, vocab_size=260)
    with pytest.raises(ValueError, match=said):
        nbbpe.train(counts=counts, vocab_size=260, start=start)


def test_counts_are_gone_on_from_to_the_same_result():
    pytest.importorskip("pyarrow")
    text = "the cat sat on the mat with the hat, and that is that " * 4
    counts = nbbpe.count_words(documents=[text])
    whole = nbbpe.train(documents=[text], vocab_size=300)
    start = nbbpe.train(counts=counts, vocab_size=280)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="the tokenizer changes text")
        assert nbbpe.train(counts=counts, vocab_size=300, start=start).merges == whole.merges
    assert start.extend(counts=counts, vocab_size=300).merges == whole.merges
    with pytest.raises(ValueError, match="the pattern 'cl100k', and that of the tokenizer is 'gpt2'"):
        start.extend(counts=nbbpe.count_words(documents=[text], pattern="cl100k"), vocab_size=300)
