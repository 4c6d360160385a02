"""Arrow in and out: columns of all kinds of strings to lists of ids, back to text, and into training."""

from __future__ import annotations

import contextlib
import inspect
import re
import warnings
from typing import get_args

import numpy as np
import processes
import pytest
import texts
from conftest import ROOT

import nbbpe
from nbbpe import arrow_functions
from nbbpe.sources import optional_packages
from nbbpe.sources.tables.arrow_data import ArrowData
from nbbpe.sources.tables.columns import as_strings

pa = pytest.importorskip("pyarrow", reason='needs pyarrow: pip install "nbbpe[data]"')

pc = pytest.importorskip("pyarrow.compute")

DOCUMENTS = [texts.SAMPLE, "", None, "the cat", f"one{texts.SPECIAL}two", "é中😀", None, "x" * 700] * 3
KINDS = ["string", "large_string", "binary", "large_binary", "dictionary", "runs", "extension", "extension of runs"]


class Prose(pa.ExtensionType):
    """A type as a library may define it, and as pyarrow has one for JSON."""

    def __init__(self, storage) -> None:
        super().__init__(storage, "example.prose")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage, serialized):
        return cls(storage)


def column(kind: str, documents=DOCUMENTS):
    strings = pa.array(documents, pa.string())
    if kind.startswith("extension"):
        if kind.endswith("runs") and int(pa.__version__.split(".")[0]) < 26:
            pytest.skip("pyarrow before 26 passes on no table with a column of this type")
        stored = column("runs", documents) if kind.endswith("runs") else strings
        return pa.ExtensionArray.from_storage(Prose(stored.type), stored)
    if kind == "runs":
        return pc.run_end_encode(strings)
    return strings.dictionary_encode() if kind == "dictionary" else strings.cast(getattr(pa, kind)())


def wanted(tokenizer: nbbpe.Tokenizer, documents=DOCUMENTS) -> list[list[int] | None]:
    return [None if text is None else tokenizer.encode(text) for text in documents]


@pytest.fixture(params=[1, 1 << 21])
def any_parts(request, sizes) -> None:
    """Parts of a row, in threads; or one."""
    sizes(for_threads=request.param, thread_part=request.param)


@pytest.mark.usefixtures("any_parts")
@pytest.mark.parametrize("pattern", ["gpt2", texts.SPLIT_WITH_GAPS, None])
@pytest.mark.parametrize("kind", KINDS)
def test_ids_are_those_of_each_text(kind, pattern):
    tokenizer = nbbpe.train(iter([texts.SAMPLE]), 380, [texts.SPECIAL], pattern=pattern)
    ids = tokenizer.encode_arrow(column(kind))
    assert ids.type == pa.list_(pa.uint16())
    ids.validate(full=True)
    assert ids.to_pylist() == wanted(tokenizer)
    assert tokenizer.encode_arrow(column(kind), allowed_special=()).to_pylist() == [
        None if text is None else tokenizer.encode_ordinary(text) for text in DOCUMENTS
    ]
    assert tokenizer.decode_arrow(ids).to_pylist() == DOCUMENTS
    assert tokenizer.encode_arrow(column(kind)[5:11]).to_pylist() == wanted(tokenizer)[5:11]
    assert tokenizer.decode_arrow(ids[5:11]).to_pylist() == DOCUMENTS[5:11]


def test_views_of_strings_are_read(small):
    try:
        views = column("string").cast(pa.string_view())
    except (AttributeError, pa.ArrowNotImplementedError):
        pytest.skip("this version of pyarrow has no views, or does not cast them")
    assert small.encode_arrow(views).to_pylist() == wanted(small)
    assert small.encode_arrow(views[5:11]).to_pylist() == wanted(small)[5:11]


VIEWS_OF_NULLS = """
import numpy as np
import pyarrow as pa
import nbbpe

texts = ["the", None, "a text that is longer than a view", *["cat", None] * 20]
column = pa.array(texts, pa.string_view())
marks, views, *data = column.buffers()
changed = np.frombuffer(views, np.int32).reshape(-1, 4).copy()
changed[[text is None for text in texts]] = -(2**28), 0, 0, 0
column = pa.Array.from_buffers(column.type, len(column), [marks, pa.py_buffer(changed), *data])
column.validate(full=True)
tok = nbbpe.Tokenizer({byte: bytes([byte]) for byte in range(256)}, [])
for first in 0, 1, 2, 9, 17:
    for end in 0, 2, 20, len(texts):
        found = tok.decode_arrow(tok.encode_arrow(column[first:end])).to_pylist()
        assert found == texts[first:end], (first, end, found)
print("read")
"""


def test_views_of_nulls_may_hold_anything():
    """pyarrow does not look at them when it checks an array, and crashes for some when it casts one."""
    if not hasattr(pa.DataType, "has_variadic_buffers"):
        pytest.skip("this version of pyarrow makes no views from buffers")
    assert processes.run(VIEWS_OF_NULLS) == "read\n"


@pytest.mark.parametrize("kind", ["string_view", "binary_view", "dictionary"])
def test_runs_of_what_pyarrow_does_not_decode_are_read(small, kind):
    try:
        values = column(kind, ["the", None, "cat sat", "the mat"])
        runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3, 7, 9], pa.int32()), values)
    except (AttributeError, pa.ArrowNotImplementedError):
        pytest.skip("this version of pyarrow has no views, or does not cast them")
    expected = wanted(small, ["the", "the", None, *["cat sat"] * 4, "the mat", "the mat"])
    assert small.encode_arrow(runs).to_pylist() == expected
    for first in range(9):
        for last in range(first, 10):
            assert small.encode_arrow(runs[first:last]).to_pylist() == expected[first:last]


@pytest.mark.parametrize("kind", ["dictionary", "runs"])
def test_repeated_strings_may_have_more_bytes_than_32_bits_count(kind):
    repeated = as_strings(column(kind))  # 2 GB of them would be needed to see it otherwise
    assert repeated.type == pa.large_binary()
    assert repeated.to_pylist() == [None if text is None else text.encode() for text in DOCUMENTS]


@pytest.mark.parametrize("offsets", [[0, 5, -3_000_000, 9], [0, 5, 3, 9], [0, 3_000_000, 6, 9]])
@pytest.mark.parametrize("large", ["", "large_"])
def test_offsets_that_lead_anywhere_are_an_error(small, tmp_path, offsets, large):
    places = np.array(offsets, dtype=np.int64 if large else np.int32)
    buffers = [None, pa.py_buffer(places), pa.py_buffer(b"the cat a")]
    broken = pa.Array.from_buffers(getattr(pa, f"{large}string")(), 3, buffers)
    for read in (
        lambda: small.encode_arrow(broken),
        lambda: small.encode_file(pa.table({"text": broken}), tmp_path / "ids.bin"),
        lambda: nbbpe.train(broken, 300, workers=1),
    ):
        with pytest.raises(ValueError, match=r"the Arrow data is broken: .* outside of their 9 bytes"):
            read()


@pytest.mark.parametrize("offsets", [[0, 5, -3_000_000, 5], [0, 5, 3, 5], [0, 3_000_000, 5]])
def test_lists_of_ids_whose_offsets_lead_anywhere_are_an_error(small, offsets):
    places = pa.py_buffer(np.array(offsets, dtype=np.int32))
    ids = pa.array([100, 101, 102, 103, 104])
    broken = pa.Array.from_buffers(pa.list_(pa.int64()), len(offsets) - 1, [None, places], children=[ids])
    with pytest.raises(ValueError, match="ffset"):
        small.decode_arrow(broken)


def test_strings_of_a_fixed_size_are_read(small):
    codes = pa.array([b"the", None, b"cat", b"\xff\x00\xc3"], pa.binary(3))
    assert small.encode_arrow(codes).to_pylist() == wanted(small, codes.to_pylist())
    assert small.encode_arrow(codes[1:3]).to_pylist() == [None, small.encode("cat")]


def test_what_is_no_text_is_refused_however_it_is_wrapped(small):
    numbers = pa.array([1, 1, 2])
    for wrapped in numbers, numbers.dictionary_encode(), pc.run_end_encode(numbers):
        for data in wrapped, pa.ExtensionArray.from_storage(Prose(wrapped.type), wrapped):
            with pytest.raises(ValueError, match="must hold strings or binary"):
                small.encode_arrow(data)


def test_text_within_a_column_is_refused_with_what_to_do(small, tmp_path):
    rows = pa.table({"text": [{"body": "the cat"}], "turns": [["the", "cat"]]})
    pytest.importorskip("pyarrow.parquet").write_table(rows, tmp_path / "a.parquet")
    for source in rows, tmp_path / "a.parquet":
        for field in "text", "turns":
            with pytest.raises(ValueError, match="must hold strings or binary: give texts from within records as"):
                small.encode_file(source, tmp_path / "a.bin", field=field)
    small.encode_file(rows.flatten(), tmp_path / "a.bin", field="text.body")
    assert nbbpe.TokenFile(tmp_path / "a.bin", small).ids.tolist() == small.encode("the cat")


@pytest.mark.parametrize("kind", ["string", "binary"])
def test_dictionaries_of_views_are_read(small, tmp_path, kind):
    encoded = column("dictionary")
    try:
        views = column(kind, encoded.dictionary.to_pylist()).cast(getattr(pa, f"{kind}_view")())
    except (AttributeError, pa.ArrowNotImplementedError):
        pytest.skip("this version of pyarrow has no views, or does not cast them")
    data = pa.DictionaryArray.from_arrays(encoded.indices, views)
    assert small.encode_arrow(data).to_pylist() == wanted(small)
    assert small.encode_arrow(data[5:11]).to_pylist() == wanted(small)[5:11]
    documents = [text for text in DOCUMENTS if text is not None]
    assert nbbpe.train(data.drop_null(), 350) == nbbpe.train(iter(documents), 350)
    small.encode_file(data.drop_null(), tmp_path / "ids.bin")
    found = nbbpe.TokenFile(tmp_path / "ids.bin", small)
    assert [ids.tolist() for ids in found.documents()] == list(map(small.encode_ordinary, documents))


def test_categories_of_polars_are_read(small):
    polars = pytest.importorskip("polars")
    names = ["the cat", "", None, "x" * 30, "the cat"]
    for kind in polars.Categorical, polars.Enum(["the cat", "", "x" * 30]):
        series = polars.Series("text", names, dtype=kind)
        for data in series, series.to_frame():
            assert small.encode_arrow(data).to_pylist() == wanted(small, names)
        assert small.encode_arrow(series[2:]).to_pylist() == wanted(small, names)[2:]


@pytest.mark.usefixtures("any_parts")
def test_columns_tables_and_streams_are_read(small):
    strings = column("string")
    chunked = pa.chunked_array([strings[:5], strings[5:5], strings[5:]])
    table = pa.table({"id": range(len(DOCUMENTS)), "text": chunked})
    for data in chunked, table, table.to_reader(), pa.RecordBatchReader.from_batches(table.schema, table.to_batches(3)):
        ids = small.encode_arrow(data)
        assert isinstance(ids, pa.ChunkedArray)
        assert ids.to_pylist() == wanted(small)
        assert small.decode_arrow(ids).to_pylist() == DOCUMENTS
    assert small.encode_arrow(table.combine_chunks().to_batches()[0]).to_pylist() == wanted(small)
    assert small.encode_arrow(table.rename_columns(["id", "body"]), field="body").to_pylist() == wanted(small)


def test_a_reader_that_was_used_before_is_told(small, tmp_path):
    table = pa.table({"text": ["the cat"]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small.encode_arrow(reader := table.to_reader())
        assert len(small.encode_arrow(table[:0])) == 0  # which says what it has
    for use in small.encode_arrow, lambda data: small.encode_file(data, tmp_path / "ids.bin"):
        with pytest.warns(UserWarning, match="^the RecordBatchReader gives no rows: .*make a new one for each use"):
            use(reader)


def test_what_only_speaks_the_c_interface_is_read(small):
    class Stream:
        def __init__(self, data) -> None:
            self._data = data

        def __arrow_c_stream__(self, requested_schema=None):
            return self._data.__arrow_c_stream__(requested_schema)

    class Array:
        def __init__(self, data) -> None:
            self._data = data

        def __arrow_c_array__(self, requested_schema=None):
            return self._data.__arrow_c_array__(requested_schema)

    table = pa.table({"text": column("string")})
    for data in Stream(table), Stream(table["text"]), Array(column("string")), Array(table.to_batches()[0]):
        assert small.encode_arrow(data).to_pylist() == wanted(small)


@pytest.mark.parametrize("marks", [0b101, 0b010, 0b110, 0b011, 0b000])
def test_text_that_a_null_has_is_no_text(small, tmp_path, marks):
    """Arrow allows it, though most libraries leave none there."""
    offsets = np.array([0, 3, 6, 9], dtype=np.int32)
    buffers = [pa.py_buffer(each) for each in (bytes([marks]), offsets, b"thecatsat")]
    column = pa.Array.from_buffers(pa.string(), 3, buffers)
    texts = [text if marks >> number & 1 else None for number, text in enumerate(("the", "cat", "sat"))]
    assert column.to_pylist() == texts
    expected = [None if text is None else small.encode(text) for text in texts]
    assert small.encode_arrow(column).to_pylist() == expected
    assert small.encode_arrow(column[1:]).to_pylist() == expected[1:]
    with pytest.warns(UserWarning, match=r"malformed records? (was|were) skipped"):
        small.encode_file(column, tmp_path / "a.bin", on_error="skip")
    ids = nbbpe.TokenFile(tmp_path / "a.bin", small)[:].tolist()
    assert ids == [each for row in expected if row is not None for each in row]


def test_empty_columns_and_only_nulls(small):
    for documents in [], [None], [None, None, ""]:
        ids = small.encode_arrow(pa.array(documents, pa.string()))
        assert ids.to_pylist() == wanted(small, documents)
        assert ids.type == pa.list_(pa.uint16())
        assert small.decode_arrow(ids).to_pylist() == documents
    assert small.encode_arrow(pa.chunked_array([], pa.string())).to_pylist() == []


def test_a_column_of_type_null_has_nulls_only(small, tmp_path):
    for documents in [], [None], [None, None]:
        column = pa.array(documents)
        table = pa.table({"text": column})
        for data in column, pa.chunked_array([column]), table, column.dictionary_encode():
            ids = small.encode_arrow(data)
            assert ids.type == pa.list_(pa.uint16())
            assert ids.to_pylist() == documents
        assert small.decode_arrow(column).to_pylist() == documents
        with pytest.warns(UserWarning, match="malformed") if documents else contextlib.nullcontext():
            assert small.encode_file(table, tmp_path / "ids.bin", on_error="skip") == 0
    assert small.decode_arrow(pa.array([[], None, []])).to_pylist() == ["", None, ""]


def kinds_of_lists():
    made = [pa.list_(pa.int64()), pa.large_list(pa.int32()), pa.list_(pa.uint16(), 2)]
    return made + [getattr(pa, name)(pa.int64()) for name in ("list_view", "large_list_view") if hasattr(pa, name)]


@pytest.mark.parametrize("kind", kinds_of_lists(), ids=str)
def test_ids_in_any_kind_of_list_are_decoded(small, kind):
    ids = pa.array([[97, 98], None, [0xC3, 0xA9], [99, 100]], kind)
    documents = ["ab", None, "é", "cd"]
    for data in ids, pa.chunked_array([ids[:1], ids[1:], ids[:0]]):
        assert small.decode_arrow(data).to_pylist() == documents
    for part in slice(1, None), slice(2, 3), slice(0, 0):
        assert small.decode_arrow(ids[part]).to_pylist() == documents[part]
    with pytest.raises(ValueError, match=r"^row 1: id 9999 at index 0 is not in the vocabulary"):
        small.decode_arrow(pa.array([[97, 98], [9999, 97]], kind))


def test_lists_over_other_data_are_decoded(small):
    """Lists that share ids, stand in another order, or are null where there are ids."""
    ids, mask = pa.array(list(b"abcdef")), pa.array([False, True, False])
    assert small.decode_arrow(pa.FixedSizeListArray.from_arrays(ids, 2, mask=mask)).to_pylist() == ["ab", None, "ef"]
    if hasattr(pa, "ListViewArray"):
        views = pa.ListViewArray.from_arrays(pa.array([4, 0, 1], pa.int32()), pa.array([2, 2, 3], pa.int32()), ids)
        assert small.decode_arrow(views).to_pylist() == ["ef", "ab", "bcd"]
        assert small.decode_arrow(views[1:]).to_pylist() == ["ab", "bcd"]


@pytest.mark.parametrize("chunks", [1, 2])
def test_a_row_of_ids_that_cannot_be_decoded_is_named(small, chunks):
    good = [pa.array([[97], None, []])] * (chunks - 1)
    row = 3 * len(good)
    for ids, message in [
        ([[1], [2, 77777]], rf"^row {row + 1}: id 77777 at index 1 is not in the vocabulary of 400 tokens"),
        ([None, [1, None]], rf"^row {row + 1}: the id at index 1 is null"),
        ([[None], [77777]], rf"^row {row}: the id at index 0 is null"),
    ]:
        with pytest.raises(ValueError, match=message):
            small.decode_arrow(pa.chunked_array([*good, pa.array(ids)]))
    with pytest.raises(ValueError, match=r"lists of ids, which are integers, and is of type list<.*double>"):
        small.decode_arrow(pa.array([[1.0]]))


def test_bytes_that_are_no_utf8_are_kept_as_ids_and_decoded_as_asked(small):
    ids = small.encode_arrow(pa.array([b"caf\xc3", b"\xa9 b", b"a"]))
    assert ids.to_pylist() == [small.encode(b"caf\xc3"), small.encode(b"\xa9 b"), small.encode(b"a")]
    assert small.decode_arrow(ids).to_pylist() == ["caf\ufffd", "\ufffd b", "a"]
    with pytest.raises(UnicodeDecodeError):
        small.decode_arrow(ids, errors="strict")


def test_what_cannot_be_meant_is_told(small):
    table = pa.table({"n": [1, 2]})
    with pytest.raises(ValueError, match="'Arrow data' has no column 'text'; its columns are 'n'"):
        small.encode_arrow(table)
    with pytest.raises(ValueError, match="is of type int64, and must hold strings"):
        small.encode_arrow(table, field="n")
    with pytest.raises(ValueError, match="is of type int64, and must hold strings or binary"):
        small.encode_arrow(table["n"])
    for data in "text", b"text", {"text": "x"}, None, 3:
        with pytest.raises(TypeError, match="texts must be a list of texts, or any iterable of them, not"):
            small.encode_arrow(data)
    with pytest.raises(ValueError, match="must be a column of lists of ids, which are integers, and is of type int64"):
        small.decode_arrow(table["n"])
    with pytest.raises(ValueError, match="999"):
        small.decode_arrow(pa.array([[999]]))
    for wrong in None, 3, [], [[97]]:
        with pytest.raises((TypeError, ValueError), match=r"data must be a.* column of lists of ids"):
            small.decode_arrow(wrong)


class ReadOnce:
    """A stream that is gone when it has been asked for, as readers of arrays are."""

    def __init__(self, data, kind) -> None:
        self._data, self._kind = [data], kind

    def __arrow_c_schema__(self):
        return self._kind.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema=None):
        return self._data.pop().__arrow_c_stream__(requested_schema)


@pytest.mark.skipif(not hasattr(pa.ChunkedArray, "__arrow_c_stream__"), reason="an older pyarrow")
def test_a_stream_is_asked_for_once(small):
    column = pa.chunked_array([["the cat", None], ["sat"]])
    table = pa.table({"text": column})
    for data, kind in (column, column.type), (table, table.schema):
        ids = small.encode_arrow(ReadOnce(data, kind))
        assert ids.to_pylist() == [small.encode("the cat"), None, small.encode("sat")]


def test_a_tokenizer_by_its_name_is_refused(small):
    with pytest.raises(TypeError, match=r"tokenizer must be a Tokenizer .*, not 'gpt2'"):
        arrow_functions.encode_table(pa.table({"text": ["the cat"]}), tokenizer="gpt2")


@pytest.mark.parametrize("kind", ["LazyFrame", "InMemoryDataset", "Scanner"])
def test_a_plan_of_work_is_refused_with_how_to_get_its_data(small, kind):
    columns = {"text": ["the cat"], "count": [1]}
    if kind == "LazyFrame":
        frame, way_out = pytest.importorskip("polars").LazyFrame(columns), ".collect()"
    elif kind == "Scanner":
        frame, way_out = pytest.importorskip("pyarrow.dataset").dataset(pa.table(columns)).scanner(), ".to_reader()"
    else:
        frame, way_out = pytest.importorskip("pyarrow.dataset").dataset(pa.table(columns)), ".scanner().to_reader()"
    for argument, call in {
        "source": lambda: nbbpe.train(frame, 260),
        "documents": lambda: nbbpe.train(documents=frame, vocab_size=260),
        "counts": lambda: nbbpe.train(counts=frame, vocab_size=260),
        "texts": lambda: small.encode_batch(frame),
        "data": lambda: small.encode_arrow(frame),
        "table": lambda: arrow_functions.encode_table(frame, tokenizer=small),
    }.items():
        message = f"{argument} is a {kind}, which has no data yet: give {argument}{way_out}"
        with pytest.raises(TypeError, match=re.escape(message)):
            call()
    for call in lambda: small.decode_arrow(frame), lambda: arrow_functions.count_table(frame):
        with pytest.raises(TypeError, match=re.escape(way_out)):
            call()
    if kind != "LazyFrame":
        reader = frame.to_reader() if kind == "Scanner" else frame.scanner().to_reader()
        assert small.encode_arrow(reader).to_pylist() == [small.encode("the cat")]


@pytest.mark.parametrize("kind", ["array", "chunked", "polars"])
def test_a_field_beside_a_column_is_refused_unless_it_is_that_of_another_source(small, tmp_path, kind):
    column = pa.array(["the cat"])
    if kind == "chunked":
        column = pa.chunked_array([column])
    elif kind == "polars":
        column = pytest.importorskip("polars").Series(["the cat"])
    with pytest.raises(ValueError, match="field='body' names a column of a table, and the Arrow data is a column"):
        small.encode_file(column, tmp_path / "a.bin", field="body")
    (tmp_path / "a.jsonl").write_text('{"body": "the the"}')
    both = nbbpe.Mixture({"a": tmp_path / "a.jsonl", "b": column})
    assert nbbpe.train(both, 257, field="body").vocab[256] == b"th"


@pytest.mark.parametrize("kind", KINDS)
def test_training_and_files_of_ids_from_arrow(small, tmp_path, kind):
    documents = [text for text in DOCUMENTS if text is not None]
    strings = column(kind, documents)
    table = pa.table({"text": strings})
    trained = nbbpe.train(iter(documents), 350, [texts.SPECIAL])
    for data in strings, pa.chunked_array([strings]), table, table.to_reader():
        assert nbbpe.train(data, 350, [texts.SPECIAL]) == trained
    small.encode_file(table, tmp_path / "ids.bin")
    found = nbbpe.TokenFile(tmp_path / "ids.bin", small)
    assert [ids.tolist() for ids in found.documents()] == list(map(small.encode_ordinary, documents))


@pytest.mark.parametrize("entry", ["no", "an"])
def test_a_null_is_named_or_left_out(small, tmp_path, entry):
    table = pa.table({"text": pa.chunked_array([["a"], [None, "b"]])})
    if entry == "an":  # of a dictionary, which the array itself does not count as a null
        table = pa.table({"text": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["a", None, "b"]))})
    with pytest.raises(ValueError, match=r"'Arrow data', row 1 \(from 0\): the text is null"):
        nbbpe.train(table, 300)
    with pytest.warns(UserWarning, match="1 malformed record was skipped"):
        assert small.encode_file(table, tmp_path / "ids.bin", on_error="skip") == 2


def test_a_pyarrow_that_is_too_old_is_told_with_the_extra_that_has_another(monkeypatch):
    assert f'"pyarrow>={optional_packages.OLDEST_PYARROW}.0"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    monkeypatch.setattr(pa, "__version__", "17.0.1")
    with pytest.raises(ImportError, match=r'\(18 or later, and 17\.0\.1 is installed\): .*"nbbpe\[data\]"'):
        nbbpe.train(pa.table({"text": DOCUMENTS}), 257)


@pytest.mark.parametrize("module", ["polars", "pandas", "duckdb"])
def test_other_libraries(small, module):
    library = pytest.importorskip(module)
    if module == "duckdb":
        texts_of_all = pa.table({"text": column("string")})  # noqa: F841 (the query finds it by name)
        frame = library.sql("select * from texts_of_all")
    else:
        frame = library.DataFrame({"text": DOCUMENTS})
    assert small.encode_arrow(frame).to_pylist() == wanted(small)


@pytest.mark.parametrize("function", [nbbpe.train, nbbpe.count_words, nbbpe.Tokenizer.extend, nbbpe.Tokenizer.frequencies])
def test_annotations_of_sources_have_arrow_data(function):
    assert "ArrowData" in inspect.signature(function).parameters["source"].annotation
    for data in pa.array(["a"]), pa.table({"text": ["a"]}):
        assert any(hasattr(data, name) for kind in get_args(ArrowData) for name in vars(kind) if name.startswith("__arrow"))


@pytest.mark.parametrize("data", [pa.array(["the cat"]), pa.chunked_array([["the cat"]])], ids=["array", "chunked"])
def test_arrow_data_is_a_source_and_not_documents(data):
    assert nbbpe.train(data, 258).merges
    with pytest.raises(TypeError, match=r"documents is Arrow data .*: give it as the source"):
        nbbpe.train(documents=data, vocab_size=258)


@pytest.mark.parametrize("kind", [pa.string_view(), pa.binary_view()], ids=str)
def test_views_of_short_strings_in_a_table_are_read(kind):
    """pyarrow 24 and older crash on these where they come through the C interface."""
    table = pa.table({"text": pa.array(["the cat", "sat", ""]).cast(kind)})
    expected = nbbpe.train(documents=["the cat", "sat", ""], vocab_size=259)
    for given in table, table.to_reader(), table.to_batches()[0]:
        assert nbbpe.train(given, vocab_size=259).merges == expected.merges


@pytest.mark.parametrize("kind", ["table", "column", "polars", "lazy"])
def test_a_table_in_a_list_is_refused_with_what_is_taken(kind):
    table = pa.table({"text": ["the cat"]})
    if kind in ("polars", "lazy"):
        table = pytest.importorskip("polars").from_arrow(table)
    data = {"column": lambda: table["text"], "lazy": lambda: table.lazy()}.get(kind, lambda: table)()
    with pytest.raises(TypeError, match=r"item 0 of source is \w+, .*: give a table or a column by itself"):
        nbbpe.train([data], 257)
    assert nbbpe.train(data.collect() if kind == "lazy" else data, 257).merges
