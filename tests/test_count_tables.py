"""Counts as tables: what is trained from them is what is trained from the text, and what is wrong in them is an error."""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import naive
import numpy as np
import pytest
import texts

import nbbpe
from nbbpe.counting.count_tables import count_rows
from nbbpe.patterns.pattern import NAMED
from nbbpe.system.wrong_argument import WrongArgument
from nbbpe.words.weights import check_weights, whole_factors

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
ipc = pytest.importorskip("pyarrow.ipc")
feather = pytest.importorskip("pyarrow.feather")

SPECIALS = [texts.SPECIAL]
DOCUMENTS = [texts.SAMPLE * 3, "the cat sat on the mat " * 9, b"\xff\xfe the \0 cat", "aaaa" * 20]
pytestmark = pytest.mark.usefixtures("quiet")


def counter_of(table: pa.Table) -> dict[bytes, int]:
    return dict(zip(table["word"].to_pylist(), table["count"].to_pylist(), strict=True))


def table_of(counts: dict[bytes, int], **metadata: object) -> pa.Table:
    """A table without metadata, as an engine leaves it."""
    return pa.table({"word": pa.array(counts, pa.binary()), "count": pa.array(counts.values(), pa.int64())})


@pytest.fixture
def counts() -> pa.Table:
    return nbbpe.count_words(documents=DOCUMENTS, special_tokens=SPECIALS)


# What a table is


def test_a_table_has_each_word_once_sorted_with_its_count(counts):
    words = counts["word"].to_pylist()
    assert words == sorted(set(words))
    expected = naive.count_words(
        [each if isinstance(each, bytes) else each.encode() for each in DOCUMENTS],
        NAMED["gpt2"].compiled,
        [each.encode() for each in SPECIALS],
    )
    assert counter_of(counts) == dict(expected)
    assert [str(field.type) for field in counts.schema] == ["binary", "int64"]
    assert not any(field.nullable for field in counts.schema)


def test_the_metadata_say_how_it_was_counted():
    counts = nbbpe.count_words(documents=["ab 12"], pattern=[r"\d", "gpt2"], special_tokens=["<a>", "<b>"])
    found = json.loads(counts.schema.metadata[b"nbbpe"])
    assert found["special_tokens"] == ["<a>", "<b>"]
    assert found["regexes"] == [r"\d", NAMED["gpt2"].regex]
    assert found["pattern"] == [r"\d", "gpt2"]
    assert (found["nbbpe"], found["format"], found["denominator"]) == (nbbpe.__version__, 1, 1)
    assert found["regex"]


@pytest.mark.parametrize("ending", ["parquet", "arrow", "ipc"])
def test_a_file_of_counts_is_the_table(counts, ending, tmp_path, sizes):
    sizes(counted_batch=2000)
    path = tmp_path / f"counts.{ending}"
    assert nbbpe.count_words(documents=DOCUMENTS, special_tokens=SPECIALS, output=path) is None
    read = parquet.read_table(path) if ending == "parquet" else ipc.open_file(path).read_all()
    assert read.equals(counts, check_metadata=True)
    assert read["word"].num_chunks > 1 or ending == "parquet"
    if ending == "parquet":
        assert parquet.ParquetFile(path).metadata.num_row_groups > 1
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems take only names that are UTF-8")
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_names_that_are_not_utf_8(ending, tmp_path):
    folder = tmp_path / os.fsdecode(b"\xff")
    folder.mkdir()
    path = folder / os.fsdecode(b"c\xff." + ending.encode())
    nbbpe.count_words(documents=["the cat"], output=path)
    assert count_rows(path) == 2
    assert nbbpe.train(counts=path, vocab_size=258) == nbbpe.train(documents=["the cat"], vocab_size=258)


def test_a_run_that_fails_leaves_the_file_that_was_there(tmp_path):
    path = tmp_path / "counts.parquet"
    path.write_bytes(b"before")

    def documents():
        yield "the cat"
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        nbbpe.count_words(documents(), output=path)
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split_with": "foo"}, "split_with must be one of auto, compiled, regex, not 'foo'"),
        ({"split_with": "compiled", "pattern": r"(\w)\1|\w"}, "cannot be compiled"),
    ],
)
def test_a_way_of_splitting_that_cannot_be_is_an_error(options, message):
    with pytest.raises(ValueError, match=message):
        nbbpe.count_words(documents=["aab"], **options)


def test_no_text_is_an_error():
    with pytest.raises(ValueError, match=r"there is no text: the source is empty, or holds nothing but special tokens$"):
        nbbpe.count_words(documents=[""])


# What is trained from it


def test_the_progress_of_counts_is_told_in_words(counts):
    said = []
    nbbpe.train(counts=[counts, counts[:3]], vocab_size=258, progress=lambda *each: said.append(each))
    assert [each for each in said if each[0] == "read counts"][-1] == ("read counts", counts.num_rows + 3, None)


@pytest.mark.parametrize("tie_break", ["bytes", "ids", "huggingface"])
def test_training_from_counts_is_training_from_the_text(counts, tie_break, tmp_path):
    direct = nbbpe.train(documents=DOCUMENTS, vocab_size=400, special_tokens=SPECIALS, tie_break=tie_break)
    parquet.write_table(counts, tmp_path / "a.parquet", row_group_size=7)
    shuffled = counts.take(list(range(len(counts)))[::-1])
    for given in counts, tmp_path / "a.parquet", str(tmp_path / "*.parquet"), f"file://{tmp_path}/a.parquet", shuffled:
        trained = nbbpe.train(counts=given, vocab_size=400, tie_break=tie_break)
        assert trained.merges == direct.merges
        assert trained.vocab == direct.vocab
        assert trained.special_tokens == direct.special_tokens
        assert trained.fingerprint == direct.fingerprint
        assert trained.provenance["training"] == direct.provenance["training"]


def test_several_tables_are_added_up():
    direct = nbbpe.train(documents=DOCUMENTS, vocab_size=400)
    tables = [nbbpe.count_words(documents=[each]) for each in DOCUMENTS]
    for given in tables, tables[::-1], tuple(tables), [pa.concat_tables(tables[:2]), *tables[2:]]:
        assert nbbpe.train(counts=given, vocab_size=400).merges == direct.merges


def test_rows_of_equal_words_are_one_word():
    table = pa.table({"word": [b"ab", b"cd", b"ab"], "count": [1, 1, 1]})
    for given in table, [table], {"ab": 1, b"ab": 1, "cd": 1}:
        trained = nbbpe.train(counts=given, vocab_size=257, pattern=None, min_word_count=2)
        assert trained.merges == [(b"a", b"b")]
        assert trained.provenance["training"]["left_out"]["n_all_words"] == 2


def test_every_arrow_source_is_read(counts):
    class Foreign:
        """What speaks Arrow's C interface, and no more."""

        def __init__(self, data: pa.Table) -> None:
            self._data = data

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return self._data.__arrow_c_stream__(requested_schema)

    expected = nbbpe.train(counts=counts, vocab_size=350).merges
    batches = counts.to_batches(max_chunksize=13)
    for given in (
        Foreign(counts),
        counts.to_reader(max_chunksize=9),
        iter(batches),
        (batch for batch in batches),
        batches,
        iter([counts.slice(0, 20), counts.slice(20)]),
        pa.table({"n": range(len(counts)), "count": counts["count"], "word": counts["word"]}).replace_schema_metadata(
            counts.schema.metadata
        ),
    ):
        assert nbbpe.train(counts=given, vocab_size=350).merges == expected


@pytest.mark.parametrize(
    ("word", "count"),
    [(pa.large_binary(), pa.int64()), (pa.binary_view(), pa.uint32()), (pa.binary(), pa.decimal128(38, 0))],
)
def test_types_that_engines_make_of_it_are_read(counts, word, count):
    given = counts.set_column(0, "word", counts["word"].cast(word)).set_column(1, "count", counts["count"].cast(count))
    assert nbbpe.train(counts=given, vocab_size=350, pattern="gpt2", special_tokens=SPECIALS).merges == (
        nbbpe.train(counts=counts, vocab_size=350).merges
    )


@pytest.mark.skipif(not hasattr(pa, "decimal32"), reason="needs a newer pyarrow")
@pytest.mark.parametrize(("kind", "scale"), [("decimal32", 0), ("decimal32", -2), ("decimal64", 0)])
def test_counts_may_be_short_decimals(kind, scale):
    words = {"the": 900, "then": 300}
    column = pa.array(map(Decimal, words.values()), getattr(pa, kind)(9, scale))
    given = pa.table({"word": list(words), "count": column})
    options = {"vocab_size": 259, "pattern": "gpt2"}
    assert nbbpe.train(counts=given, **options).provenance == nbbpe.train(counts=words, **options).provenance


@pytest.mark.parametrize(
    "word", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())], ids=str
)
def test_words_may_be_strings(word):
    text = "naïve cats 你好 the cat sat"
    counts = nbbpe.count_words(documents=[text])
    column = counts["word"].cast(pa.string())
    column = column.dictionary_encode() if pa.types.is_dictionary(word) else column.cast(word)
    table = pa.table({"word": column, "count": counts["count"]})
    assert nbbpe.train(counts=table, vocab_size=270, pattern="gpt2") == nbbpe.train(counts=counts, vocab_size=270)
    parts = [table.slice(0, 3), table.slice(3), table.slice(3, 0)]
    assert nbbpe.train(counts=parts, vocab_size=270, pattern="gpt2") == nbbpe.train(counts=counts, vocab_size=270)


@pytest.mark.parametrize("word", [pa.binary_view(), pa.dictionary(pa.int32(), pa.binary())])
def test_a_stream_may_have_empty_slices_of_any_type(counts, word):
    column = counts["word"].combine_chunks()
    column = column.cast(word) if word == pa.binary_view() else column.dictionary_encode()
    batch = pa.record_batch([column, counts["count"].combine_chunks()], ["word", "count"])
    stream = pa.RecordBatchReader.from_batches(batch.schema, [batch.slice(5, 0), batch, batch.slice(len(batch))])
    tok = nbbpe.train(counts=stream, vocab_size=350, pattern="gpt2", special_tokens=SPECIALS)
    assert tok.merges == nbbpe.train(counts=counts, vocab_size=350).merges


def test_a_dict_of_counts_is_a_table(counts):
    known = counter_of(counts)
    by_text = {word.decode(): np.int32(n) for word, n in known.items() if word.isascii()}
    rest = Counter({word: n for word, n in known.items() if not word.isascii()})
    expected = nbbpe.train(counts=counts, vocab_size=350)
    for given in known, Counter(known), [by_text, rest], [by_text, counts.filter([not w.isascii() for w in known])]:
        assert nbbpe.train(counts=given, vocab_size=350, pattern="gpt2", special_tokens=SPECIALS) == expected
    assert counter_of(nbbpe.arrow_functions.add_up_counts([by_text, rest])) == known


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({3: 1}, TypeError, r"text must be str or bytes, not int: word 0 \(from 0\) is 3"),
        ({"a": 1, "b": 1.5}, TypeError, r"counts\['b'\] must be a positive integer, not 1\.5"),
        ({"word": ["a"], "count": [1]}, TypeError, r"counts\['word'\] must be a positive integer, not \['a'\]"),
        ({"a": 0}, ValueError, r"counts\['a'\] must be at least 1, not 0"),
        (
            {"b": 1, "a": 2**63},
            OverflowError,
            "'counts' has a count of 9,223,372,036,854,775,808, which does not fit in int64",
        ),
        ({"": 1}, ValueError, "the word is empty"),
        ({}, ValueError, r"the tables of counts \(.counts.\) have no rows"),
    ],
)
def test_wrong_dicts_of_counts_are_errors(given, error, message):
    with pytest.raises(error, match=message):
        nbbpe.train(counts=given, vocab_size=300, pattern="gpt2")


def test_a_table_that_lost_its_metadata_needs_pattern(counts):
    lost = counts.replace_schema_metadata(None)
    with pytest.raises(ValueError, match=r"'counts' does not say how its text was split.*pattern="):
        nbbpe.train(counts=lost, vocab_size=350)
    trained = nbbpe.train(counts=lost, vocab_size=350, pattern="gpt2", special_tokens=SPECIALS)
    assert trained.vocab == nbbpe.train(counts=counts, vocab_size=350).vocab
    both = nbbpe.train(counts=[counts, lost], weights=[1, 1], vocab_size=350, pattern="gpt2")
    assert both.special_tokens == trained.special_tokens


def test_different_patterns_and_special_tokens_are_refused():
    gpt2, cl100k = (nbbpe.count_words(documents=["a b"], pattern=name) for name in ("gpt2", "cl100k"))
    with pytest.raises(
        ValueError, match=r"'counts\[1\]' was counted with the pattern 'cl100k', and 'counts\[0\]' is 'gpt2'"
    ):
        nbbpe.train(counts=[gpt2, cl100k], vocab_size=300)
    with pytest.raises(ValueError, match="with the pattern 'cl100k', and pattern is 'gpt2'"):
        nbbpe.train(counts=cl100k, vocab_size=300, pattern="gpt2")
    assert nbbpe.train(counts=cl100k, vocab_size=257).pattern == "cl100k"
    special = nbbpe.count_words(documents=["a b"], special_tokens=["<s>"])
    with pytest.raises(ValueError, match=r"'counts\[1\]' was counted with the special tokens \['<s>'\]"):
        nbbpe.train(counts=[gpt2, special], vocab_size=300)
    with pytest.raises(ValueError, match="was counted with the special tokens"):
        nbbpe.train(counts=special, vocab_size=300, special_tokens=["<t>"])
    twice = nbbpe.count_words(documents=["a b"], special_tokens=["<s>", "<t>"])
    assert nbbpe.train(counts=twice, vocab_size=300, special_tokens=["<t>", "<s>"]).special_tokens == {
        "<t>": 257,
        "<s>": 258,
    }


def test_foreign_metadata_are_an_error():
    for text, why in ("{}", "KeyError"), ("[1]", "TypeError"), ("{", "JSONDecodeError"), ('{"format": 9}', "format 9"):
        table = table_of({b"ab": 1}).replace_schema_metadata({"nbbpe": text})
        with pytest.raises(ValueError, match=why):
            nbbpe.train(counts=table, vocab_size=300)


def test_counts_of_whole_documents_are_trained_on_as_such():
    counts = nbbpe.count_words(documents=["a b a b", "a b"], pattern=None)
    assert counter_of(counts) == {b"a b a b": 1, b"a b": 1}
    trained = nbbpe.train(counts=counts, vocab_size=258)
    assert trained == nbbpe.train(documents=["a b a b", "a b"], vocab_size=258, pattern=None)


def with_told(counts: pa.Table, **told: object) -> pa.Table:
    """The table with other values in its metadata of nbbpe."""
    found = json.loads(counts.schema.metadata[b"nbbpe"])
    return counts.replace_schema_metadata({"nbbpe": json.dumps({**found, **told})})


@pytest.mark.parametrize("denominator", [0, -1, True, 0.5, "2", None])
def test_a_denominator_that_is_no_whole_number_is_foreign(counts, denominator):
    with pytest.raises(ValueError, match=rf"not those of counts \(TypeError: .denominator {re.escape(repr(denominator))}"):
        nbbpe.train(counts=with_told(counts, denominator=denominator), vocab_size=300)


def test_counts_by_different_versions_of_regex_are_told(counts):
    tables = [with_told(counts, regex=version) for version in ("2025.1.2", "2023.1.2", "2025.1.2")]
    with pytest.warns(UserWarning, match=r"different versions of `regex` \(2023\.1\.2, 2025\.1\.2\)"):
        merges = nbbpe.train(counts=tables, vocab_size=300).merges
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert nbbpe.train(counts=tables[::2], vocab_size=300).merges == merges


# Weights


def test_weights_multiply_exactly(tmp_path):
    (tmp_path / "a.txt").write_text("the cat the cat sat")
    (tmp_path / "b.txt").write_text("the hat")
    (tmp_path / "b2.txt").write_text("that hat")
    source = [tmp_path / "a.txt", str(tmp_path / "b*.txt")]
    counts = nbbpe.count_words(source, weights=[Fraction(1, 3), 0.5])
    a, b = Counter({b"the": 1, b" cat": 2, b" the": 1, b" sat": 1}), Counter({b"the": 1, b" hat": 2, b"that": 1})
    assert counter_of(counts) == {word: 2 * a[word] + 3 * b[word] for word in a | b}
    assert json.loads(counts.schema.metadata[b"nbbpe"])["denominator"] == 6
    direct = nbbpe.train(source, 270, weights=[Fraction(1, 3), 0.5])
    parts = [nbbpe.count_words(each) for each in source]
    assert nbbpe.train(counts=parts, weights=[Fraction(1, 3), 0.5], vocab_size=270).merges == direct.merges
    assert nbbpe.train(counts=counts, vocab_size=270).merges == direct.merges
    # Tables with denominators of their own come together.
    thirds = nbbpe.count_words(source[:1], weights=[Fraction(1, 3)])
    assert nbbpe.train(counts=[thirds, parts[1]], weights=[1, 0.5], vocab_size=270).merges == direct.merges


class Three:
    """An integer of some other library."""

    def __index__(self) -> int:
        return 3


@pytest.mark.parametrize("three", [np.int32(3), np.uint8(3), Three()], ids=["int32", "uint8", "other"])
def test_weights_may_be_integers_of_other_libraries(three, tmp_path):
    (tmp_path / "a.txt").write_text("the cat")
    (tmp_path / "b.txt").write_text("the hat")
    source = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for other in Fraction(1, 10**18), Fraction(np.uint8(1), np.uint8(100)):
        counts = nbbpe.count_words(source, weights=[three, other])
        assert counter_of(counts) == counter_of(nbbpe.count_words(source, weights=[3, Fraction(str(other))]))


def test_a_file_that_appears_while_a_pattern_is_weighted_moves_no_weight():
    fsspec = pytest.importorskip("fsspec")
    memory = pytest.importorskip("fsspec.implementations.memory")

    class Growing(memory.MemoryFileSystem):
        """To which somebody writes one more file after each look."""

        protocol, store = "growing", {}

        @classmethod
        def _strip_protocol(cls, path):
            return super()._strip_protocol(path.removeprefix("growing://"))

        def glob(self, path, **options):
            found = super().glob(path, **options)
            self.pipe_file(f"growing://a{len(found) + 1}.txt", b"late")
            return found

    fsspec.register_implementation("growing", Growing, clobber=True)
    for name, text in ("a1", "once"), ("b", "often"):
        with fsspec.open(f"growing://{name}.txt", "w") as file:
            file.write(text)
    counts = nbbpe.count_words(["growing://a*.txt", "growing://b.txt"], weights=[1, 5])
    assert counter_of(counts) == {b"often": 5, b"once": 1}


def test_weighted_merges_are_those_of_repeated_text():
    once, often = ["low lower lowest " * 2], ["newer wider new " * 3]
    repeated = nbbpe.train(documents=once * 2 + often * 5, vocab_size=280, min_frequency=11)
    tables = [nbbpe.count_words(documents=each) for each in (once, often)]
    assert nbbpe.train(counts=tables, weights=[2, 5], vocab_size=280, min_frequency=11).merges == repeated.merges
    # min_frequency counts occurrences as they are weighted, not their numerators.
    assert nbbpe.train(counts=tables, weights=[0.2, 0.5], vocab_size=280, min_frequency=1).merges == (
        nbbpe.train(counts=tables, weights=[2, 5], vocab_size=280, min_frequency=10).merges
    )
    assert repeated.merges


def test_a_lack_of_pairs_that_small_weights_cause_is_told():
    told = "pairs for only 0 of the 4 merges that vocab_size=260 asks for, with min_frequency=1 of weighted counts, so"
    with pytest.warns(UserWarning, match=told):
        nbbpe.train(counts=[{"the": 2, "hat": 2}], weights=[0.1], vocab_size=260, pattern="gpt2")
    with pytest.warns(UserWarning, match="pairs for only 4 of the 44 merges that vocab_size=300 asks for, so"):
        nbbpe.train(counts=[{"the": 2, "hat": 2}], weights=[10], vocab_size=300, pattern="gpt2")


def test_a_source_without_text_may_have_any_weight(tmp_path):
    (tmp_path / "a.txt").write_text("the the")
    (tmp_path / "b.txt").write_text("")
    counts = nbbpe.count_words([tmp_path / "a.txt", tmp_path / "b.txt"], weights=[1, 10**30])
    assert counter_of(counts) == {b"the": 1, b" the": 1}


def test_a_word_that_a_table_has_twice_occurs_as_often_as_both_rows_say():
    table = pa.table({"word": [b"the", b"the", b"cat"], "count": [1, 1, 1]})
    tokenizer = nbbpe.train(counts=table, vocab_size=257, pattern="gpt2", min_word_count=2)
    assert tokenizer.merges == [(b"t", b"h")]
    assert tokenizer.provenance["training"]["left_out"]["n_words"] == 1


def test_weights_are_integers_over_the_least_common_denominator():
    weights = check_weights([np.float64(0.25), Fraction(np.int64(1), np.int64(6)), np.int64(2)], 3, "counts")
    assert whole_factors(weights) == ([3, 2, 24], 12)
    assert type(weights[1].numerator) is type(weights[1].denominator) is int  # those of NumPy would wrap around


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        ([1, 2, 3], WrongArgument, "weights must have one number for each item of counts: 2, not 3"),
        (3, TypeError, "weights must be a list"),
        ("12", TypeError, "weights must be a list"),
        ([1, 0], ValueError, r"weights\[1\] must be a positive number, not 0"),
        ([-0.5, 1], ValueError, r"weights\[0\] must be a positive number"),
        ([float("nan"), 1], ValueError, r"weights\[0\] must be a positive number"),
        ([1, float("inf")], ValueError, r"weights\[1\] must be a positive number, not inf"),
        (["1", 1], TypeError, r"weights\[0\] must be a positive number or a Fraction, not '1'"),
        ([True, 1], TypeError, r"weights\[0\]"),
        ([2**62, 2**62], OverflowError, r"add up to .* so far, and at most 9,223,372,036,854,775,807"),
        ([10**5000, 1], OverflowError, r"add up to about 2\*\*16,\d+ so far, and at most 9,223,372,036,854,775,807"),
        ([Fraction(1, 2**61 - 1), Fraction(1, 2**61 - 2)], OverflowError, "smaller common denominator"),
    ],
)
def test_wrong_weights_are_errors(weights, error, message):
    tables = [nbbpe.count_words(documents=["a b c"])] * 2
    with pytest.raises(error, match=message):
        nbbpe.train(counts=tables, vocab_size=300, weights=weights)


# What is wrong


@pytest.mark.parametrize(
    ("word", "count", "error", "message"),
    [
        ([b"a", b"b"], [1, 0], ValueError, r"'counts', row 1 \(from 0\): the count is 0, and must be 1 or more"),
        ([b"a", b"b"], [-3, 1], ValueError, r"row 0 \(from 0\): the count is -3"),
        ([b"a", b"b"], [1, None], ValueError, r"row 1 \(from 0\): the column 'count' is null"),
        ([None, b"b"], [1, 1], ValueError, r"row 0 \(from 0\): the column 'word' is null"),
        (pa.DictionaryArray.from_arrays([0, 1], [b"a", None]), [1, 1], ValueError, "row 1 .*: the column 'word' is null"),
        ([b"a", b""], [1, 1], ValueError, r"row 1 \(from 0\): the word is empty"),
        ([1, 2], [1, 1], ValueError, "the column 'word' of 'counts' is of type int64, and must hold strings or binary"),
        (["a", ""], [1, 1], ValueError, r"row 1 \(from 0\): the word is empty"),
        ([b"a", b"b"], [1.0, 2.0], ValueError, r"of type double, and must hold whole numbers.*CAST\(SUM"),
        ([b"a", b"b"], [2**63, 1], OverflowError, "a count does not fit in int64"),
        ([b"ab", b"ab"], [2**62, 2**62], OverflowError, "add up to 9,223,372,036,854,775,808"),
        ([], [], ValueError, "has no rows|have no rows|of type null"),
    ],
)
def test_wrong_rows_are_errors(word, count, error, message):
    kind = pa.uint64() if 2**63 in count else None
    table = pa.table({"word": word, "count": pa.array(count, kind)})
    with pytest.raises(error, match=message):
        nbbpe.train(counts=table, vocab_size=300, pattern="gpt2")


@pytest.mark.parametrize(
    ("word", "count", "said"), [(b"d", 0, "the count is 0"), (None, 1, "the column 'word' is null"), (b"", 1, "is empty")]
)
def test_a_wrong_row_of_a_later_batch_is_named_by_its_number_in_the_table(word, count, said):
    good = pa.record_batch({"word": [b"a", b"b"], "count": [1, 1]})
    wrong = pa.record_batch({"word": pa.array([b"c", word], pa.binary()), "count": [1, count]})
    with pytest.raises(ValueError, match=rf"row 5 \(from 0\): .*{said}"):
        nbbpe.train(counts=pa.Table.from_batches([good, good, wrong]), vocab_size=300, pattern="gpt2")


@pytest.mark.parametrize("ending", ["PARQUET", "Arrow"])
def test_the_ending_of_a_file_of_counts_may_be_in_capitals(counts, ending, tmp_path):
    path = tmp_path / f"counts.{ending}"
    nbbpe.count_words(documents=DOCUMENTS, special_tokens=SPECIALS, output=path)
    assert count_rows(path) == len(counts)
    assert nbbpe.train(counts=path, vocab_size=300) == nbbpe.train(counts=counts, vocab_size=300)


def test_what_is_wrong_of_a_column_or_right_at_its_limit(counts):
    twice = pa.Table.from_arrays([pa.array([b"a"]), pa.array([b"b"]), pa.array([1])], names=["word", "word", "count"])
    with pytest.raises(ValueError, match="must have one column 'word'; its columns are 'word', 'word', 'count'"):
        nbbpe.train(counts=twice, vocab_size=300, pattern="gpt2")
    fractions = pa.table({"word": [b"a"], "count": pa.array([1], pa.decimal128(9, 1))})
    with pytest.raises(ValueError, match="must hold whole numbers"):
        nbbpe.train(counts=fractions, vocab_size=300, pattern="gpt2")
    with pytest.raises(ValueError, match="no rows"):
        nbbpe.train(counts=iter([]), vocab_size=300, pattern="gpt2")
    assert counter_of(nbbpe.arrow_functions.add_up_counts([{"a": 2**63 - 1}])) == {b"a": 2**63 - 1}
    noted = counts.replace_schema_metadata({**counts.schema.metadata, b"note": b"of another program"})
    assert nbbpe.train(counts=iter([counts, noted]), vocab_size=300) == nbbpe.train(counts=[counts] * 2, vocab_size=300)


class OneBatch:
    """A record batch of another library."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch

    def __arrow_c_array__(self, requested_schema=None):
        return self._batch.__arrow_c_array__(requested_schema)


def test_record_batches_of_any_library_may_be_counts():
    one, two = (table_of(each).to_batches()[0] for each in ({b"ab": 2, b"b": 1}, {b"cd": 3}))
    expected = nbbpe.train(counts=[{"ab": 2, "b": 1}, {"cd": 3}], vocab_size=258, pattern="gpt2").merges
    assert expected == [(b"c", b"d"), (b"a", b"b")]
    for counts in [one, two], [OneBatch(one), OneBatch(two)], iter([one, two]), iter([OneBatch(one), two]):
        assert nbbpe.train(counts=counts, vocab_size=258, pattern="gpt2").merges == expected
    for column in pa.array(["ab"]), pa.chunked_array([["ab"]]):
        with pytest.raises(TypeError, match=r"counts must be a table with the columns 'word' and 'count': .*string"):
            nbbpe.train(counts=column, vocab_size=258, pattern="gpt2")


def test_counts_of_pairs_that_would_not_fit_are_an_error():
    table = table_of({b"a" * 100: 2**60})
    with pytest.raises(OverflowError, match="the counts of all pairs add up to"):
        nbbpe.train(counts=table, vocab_size=300, pattern="gpt2")
    assert nbbpe.train(counts=table_of({b"aaa": 2**60}), vocab_size=257, pattern="gpt2").merges == [(b"a", b"a")]


def test_wrong_tables_are_errors(tmp_path, counts):
    for table, message in (
        (pa.table({"word": [b"a"]}), "one column 'count'; its columns are 'word'"),
        (pa.table({"text": ["a"], "count": [1]}), "one column 'word'; its columns are 'text', 'count'"),
        (pa.table({f"c{i}": [1] for i in range(11)}), r"its columns are 'c0', .*, 'c9', \.\.\.$"),
    ):
        with pytest.raises(ValueError, match=message):
            nbbpe.train(counts=table, vocab_size=300, pattern="gpt2")
    for name in "a.parquet", "a.arrow":  # of texts: that is said first, not that it tells of no pattern
        path, table = tmp_path / name, pa.table({"text": ["a"]})
        parquet.write_table(table, path) if name == "a.parquet" else feather.write_feather(table, path)
        with pytest.raises(ValueError, match=rf"{name}' must have one column 'word'; its columns are 'text'"):
            nbbpe.train(counts=path, vocab_size=300)
    (tmp_path / "a.csv").write_text("word,count")
    with pytest.raises(ValueError, match=r"a\.csv' is not a file of counts by its name"):
        nbbpe.train(counts=tmp_path / "a.csv", vocab_size=300)
    broken = counts.to_batches()[0]
    n_bytes = len(b"".join(broken.column(0).to_pylist()))
    offsets = np.array([0, *[2**30] * (len(broken) - 1), n_bytes], dtype=np.int32)  # that lead anywhere
    buffers = [None, pa.py_buffer(offsets), broken.column(0).buffers()[2]]
    word = pa.Array.from_buffers(pa.binary(), len(broken), buffers)
    with pytest.raises(ValueError, match="the column 'word' of 'counts' is broken"):
        nbbpe.train(counts=pa.record_batch([word, broken.column(1)], schema=counts.schema), vocab_size=300)
    for name in "a.parquet", "a.arrow":
        (tmp_path / name).write_bytes(b"PAR1 no, it is not")
        with pytest.raises(OSError, match=rf"{name}' cannot be read as a file of counts, or is broken"):
            nbbpe.train(counts=tmp_path / name, vocab_size=300)
    with pytest.raises(FileNotFoundError):
        nbbpe.train(counts=tmp_path / "missing.parquet", vocab_size=300)
    with pytest.raises(FileNotFoundError, match="no file matches"):
        nbbpe.train(counts=str(tmp_path / "*.pq"), vocab_size=300)
    for given in 3, {"word"}, [3], iter([3]), b"a":
        with pytest.raises(TypeError, match="counts"):
            nbbpe.train(counts=given, vocab_size=300, pattern="gpt2")
    with pytest.raises(ValueError, match="empty list"):
        nbbpe.train(counts=[], vocab_size=300)
    with pytest.raises(ValueError, match="other metadata of nbbpe"):
        nbbpe.train(counts=iter([counts, counts.replace_schema_metadata(None)]), vocab_size=300)
    for items, number in ([{"word": b"a", "count": 1}], 0), ([counts, 3], 1):  # not that it tells of no pattern
        with pytest.raises(TypeError, match=f"item {number} of counts is (dict|int), and must be a record batch"):
            nbbpe.train(counts=iter(items), vocab_size=300)


def test_counts_in_the_place_of_texts_are_refused_with_where_to_give_them(tmp_path):
    counts = nbbpe.count_words(documents=["the cat"])
    nbbpe.count_words(documents=["the cat"], output=tmp_path / "counts.parquet")
    for source in counts, tmp_path / "counts.parquet":
        with pytest.raises(
            ValueError, match=r"no column 'text'; .* use `nbbpe train --counts`, or nbbpe\.train\(counts=\.\.\.\)$"
        ):
            nbbpe.train(source, 260)


def test_words_of_an_empty_file_are_not_said_to_be_trained_on(tmp_path):
    (tmp_path / "a.txt").touch()
    with pytest.raises(ValueError, match=r"^there is no text: the source \(.*a\.txt'\) is empty, .* special tokens$"):
        nbbpe.count_words(tmp_path / "a.txt")
    (tmp_path / "a.jsonl").write_text("{}\n")
    said = r"^there is no text: the source \(.*a\.jsonl'\) is empty, .* and malformed records, which were skipped$"
    with pytest.warns(UserWarning, match="1 malformed record was skipped"), pytest.raises(ValueError, match=said):
        nbbpe.count_words(tmp_path / "a.jsonl", on_error="skip")


@pytest.mark.parametrize("ending", ["arrow", "parquet"])
def test_a_pipe_is_no_file_of_counts(ending, tmp_path):
    os.mkfifo(tmp_path / f"a.{ending}")  # nobody writes to it: whoever opened it would wait
    with pytest.raises(ValueError, match=rf"a\.{ending}' has no known size \(a pipe\?\), and counts are not read in order"):
        nbbpe.train(counts=tmp_path / f"a.{ending}", vocab_size=300)


@pytest.mark.parametrize("name", ["source", "documents", "field", "split_with", "on_error", "executor"])
def test_arguments_about_text_are_refused_beside_counts(counts, name):
    value = {"on_error": "skip", "executor": ThreadPoolExecutor(1)}.get(name, "auto")
    with pytest.raises(TypeError, match=name):
        nbbpe.train(**{"counts": counts, "vocab_size": 300, name: value})


@pytest.mark.parametrize("given", [{"documents": []}, {"field": ""}])
def test_arguments_about_text_are_refused_even_if_they_are_empty(counts, given):
    with pytest.raises(TypeError, match=f"give {next(iter(given))} or counts, not both"):
        nbbpe.train(counts=counts, vocab_size=300, **given)


def test_the_name_of_the_output_says_what_it_is(tmp_path):
    with pytest.raises(ValueError, match=r"must end in one of \.parquet"):
        nbbpe.count_words(documents=["a"], output=tmp_path / "counts.csv")


def test_counts_do_not_replace_the_text_that_they_are_of(tmp_path):
    path = tmp_path / "data.parquet"
    parquet.write_table(pa.table({"text": ["the cat"]}), path)
    os.symlink(path, tmp_path / "link.parquet")
    for source, output in (path, path), ([path], tmp_path / "link.parquet"), (tmp_path / "d*.parquet", path):
        with pytest.raises(ValueError, match=r"data\.parquet' cannot be both input and output"):
            nbbpe.count_words(source, output=output)
    assert parquet.read_table(path)["text"].to_pylist() == ["the cat"]


def test_where_nothing_can_be_written_nothing_is_read(tmp_path):
    documents = iter(["a"])
    with pytest.raises(FileNotFoundError, match="missing"):
        nbbpe.count_words(documents, output=tmp_path / "missing" / "counts.parquet")
    assert next(documents) == "a"


def test_without_pyarrow_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'^a table of counts needs pyarrow .*pip install "nbbpe\[data\]"'):
        nbbpe.count_words(documents=["a b"])
    with pytest.raises(ImportError, match=r'pip install "nbbpe\[data\]"'):
        nbbpe.train(counts=Path("a.parquet"), vocab_size=300)


# With other parts of training


@pytest.mark.filterwarnings("error:the tokenizer changes text")
def test_training_goes_on_from_a_tokenizer_by_counts_as_in_one_go(counts):
    whole = nbbpe.train(counts=counts, vocab_size=330)
    first = nbbpe.train(counts=counts, vocab_size=290)
    larger = nbbpe.train(counts=counts, vocab_size=330, start=first)
    assert larger.merges == whole.merges
    assert larger.merges == nbbpe.train(documents=DOCUMENTS, vocab_size=330, start=first, memory_limit="200MB").merges
    weighted = nbbpe.train(counts=[counts], weights=[Fraction(1, 3)], min_frequency=2, vocab_size=330, start=first)
    assert weighted.merges == nbbpe.train(counts=counts, min_frequency=6, vocab_size=330, start=first).merges
    other = nbbpe.count_words(documents=["a b"], pattern="cl100k", special_tokens=SPECIALS)
    with pytest.raises(ValueError, match="with the pattern 'cl100k'"):
        nbbpe.train(counts=other, vocab_size=330, start=first)


def test_rules_apply_to_counts(counts):
    rules = nbbpe.TokenRules(seeds=["cat"])
    direct = nbbpe.train(documents=DOCUMENTS, vocab_size=330, special_tokens=SPECIALS, rules=rules)
    assert nbbpe.train(counts=counts, vocab_size=330, rules=rules).merges == direct.merges


def test_superwords_need_text_and_take_a_limit(counts):
    superwords = nbbpe.Superwords(after=280)
    with pytest.raises(ValueError, match="superwords are learned from text"):
        nbbpe.train(counts=counts, vocab_size=330, superwords=superwords)
    direct = nbbpe.train(documents=DOCUMENTS, vocab_size=330, superwords=superwords)
    limited = nbbpe.train(documents=DOCUMENTS, vocab_size=330, superwords=superwords, memory_limit="1GB")
    assert limited.merges == direct.merges


def test_a_mixture_has_weights_of_its_own_and_takes_the_rest():
    mixture = nbbpe.Mixture({"a": iter(["the cat " * 3]), "b": iter(["hat once"])}, weights={"b": 5})
    with pytest.raises(TypeError, match="a Mixture has weights of its own: leave weights out"):
        nbbpe.train(mixture, 270, weights=[1, 2])
    with pytest.raises(TypeError, match="a Mixture is counted by nbbpe's own workers: leave executor out"):
        nbbpe.train(mixture, 270, executor=ThreadPoolExecutor(1))
    with pytest.raises(TypeError, match="give source or documents, not both"):
        nbbpe.train(mixture, 270, documents=["the cat"])
    rare = nbbpe.train(mixture, 270, min_word_count=4, memory_limit="1GB")
    assert rare.provenance["training"]["left_out"]["n_words"] == 4
    assert "mixture" in rare.provenance["training"]
