"""The report on a vocabulary: its figures equal those of encoding again, and the page shows text without acting on it."""

from __future__ import annotations

import json
import re
import warnings
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import numpy as np
import processes
import pytest
import texts
from hypothesis import given
from hypothesis import strategies as st
from vocabularies import BYTES, saved_as_ranks, through_hf, tokenizer_json

import nbbpe
from nbbpe.evaluation import evaluate
from nbbpe.inspection import compression_by_size, merge_counts
from nbbpe.sources import find_inputs
from nbbpe.text.scripts import script_of
from nbbpe.vocabulary import report_figures as report_figures_module
from nbbpe.vocabulary.charts import Series, line_chart
from nbbpe.vocabulary.report import write_report
from nbbpe.vocabulary.report_data import ReportFigures
from nbbpe.vocabulary.report_figures import report_figures

VOID = {"meta", "br"}
EVIL = '<script>alert(1)</script> "quoted" & <b>bold</b> \u202eback \x00\x1b ]]>\''


def figures_of(tok: nbbpe.Tokenizer, named: dict[str, list]) -> ReportFigures:
    inputs = {name: find_inputs(None, None, "raise", documents=documents) for name, documents in named.items()}
    return report_figures(tok._model, inputs, 1, lambda n: None, "raise")


class Checked(HTMLParser):
    """All tags of a page, each closed in its turn, and the text between them."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


# Figures


def test_rows_are_what_encoding_gives(small):
    named = {"a": [texts.SAMPLE, "the cat " * 9], "b": ["dog 12\n\n"]}
    found = figures_of(small, named)
    for row in found.texts:
        joined = "".join(named[row.name])
        assert row.n_bytes == len(joined.encode())
        assert row.n_characters == len(joined)
        assert row.n_tokens == sum(len(small.encode_ordinary(each)) for each in named[row.name])
        assert row.bytes_per_token_by_size[-1] == row.n_bytes / row.n_tokens
    dog = found.texts[1]
    assert (dog.n_words, dog.n_tokens_of_words) == (1, len(small.encode_ordinary("dog")))
    assert found.total.n_tokens == sum(row.n_tokens for row in found.texts) == sum(row.n_tokens for row in found.scripts)
    assert found.total.n_bytes == sum(row.n_bytes for row in found.scripts)
    assert {"Latin", "Cyrillic", "Han", "digits", "whitespace"} <= {row.name for row in found.scripts}


@given(st.lists(texts.data(), min_size=1, max_size=3))
def test_characters_are_those_of_an_evaluation_in_invalid_text_too(small, tmp_path_factory, documents):
    """Where a byte of invalid UTF-8 is a character."""
    path = tmp_path_factory.mktemp("texts") / "a.txt"
    path.write_bytes(b"x \x80\xbf" + b" ".join(documents).replace(texts.SPECIAL.encode(), b""))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NUL bytes, and marks of a byte order
        (row,) = evaluate({"small": small}, path)
        found = small.report(None, path).total
    assert (found.n_bytes, found.n_characters, found.n_tokens) == (row.n_bytes, row.n_characters, row.n_tokens)


def test_curves_are_those_of_the_truncated_tokenizers(small):
    found = figures_of(small, {"a": [texts.SAMPLE], "b": ["the cat sat on the mat"]})
    assert found.vocab_sizes[0] == 257
    assert found.vocab_sizes[-1] == 400
    assert {200, 100}.isdisjoint(found.vocab_sizes)  # below the bytes
    for place in range(0, len(found.vocab_sizes), 7):
        smaller, _ = small.truncate(found.vocab_sizes[place])
        for row, text in zip(found.texts, [texts.SAMPLE, "the cat sat on the mat"], strict=True):
            assert row.bytes_per_token_by_size[place] == row.n_bytes / len(smaller.encode_ordinary(text))


def test_the_curve_is_that_of_inspection(small):
    counts = small.frequencies(documents=[texts.SAMPLE])
    sizes, ratios = compression_by_size(small, counts)
    found = figures_of(small, {"a": [texts.SAMPLE]})
    expected = dict(zip(sizes.tolist(), ratios.tolist(), strict=True))
    assert found.texts[0].bytes_per_token_by_size == [expected[size] for size in found.vocab_sizes]


def test_a_doubled_vocabulary_is_the_extended_one(quiet):
    tok = nbbpe.train(documents=[texts.SAMPLE], vocab_size=290)
    text = texts.SAMPLE * 3 + " these were here only once, as were their pairs: qzvjkx"
    found = figures_of(tok, {"a": [text]})
    larger = tok.extend(documents=[text], vocab_size=580, min_frequency=2)
    assert found.doubled_vocab_size == len(larger)
    assert found.total.bytes_per_token_doubled == len(text.encode()) / len(larger.encode(text))


@given(st.lists(texts.texts(), min_size=1, max_size=4))
def test_idle_tokens_are_those_that_the_twin_does_not_use(small, documents):
    documents = [*documents, "x"]
    found = figures_of(small, {"all": documents})
    ids = [token_id for text in documents for token_id in small.encode(text)]
    used = {small.vocab[token_id] for token_id in ids}
    counts = small.frequencies(documents=documents, allowed_special="all")
    applied = merge_counts(small, counts)
    made = {left + right for (left, right), n in zip(small.merges, applied.tolist(), strict=True) if n}
    all_made = {left + right for left, right in small.merges}
    assert {each.token for each in found.tokens.intermediate} == made - used
    assert {each.token for each in found.tokens.unseen} == all_made - made
    assert all(each.n_uses == 0 for each in found.tokens.intermediate + found.tokens.unseen)


def test_duplicates_broken_and_long_tokens_by_hand():
    tokens = [b"ca", b"Ca", b" c", b" ca", b"zz", b"\xc3\xa9", b"a\xc3", b"\xa9\xa9", b"12", b"21"]
    merges = [(token[:-1], token[-1:]) for token in tokens if len(token) == 2] + [(b" c", b"a")]
    vocab = dict(enumerate([*BYTES.values(), *tokens]))
    found = figures_of(nbbpe.Tokenizer(vocab, merges, pattern=None), {"t": ["ca"]}).tokens
    assert [{each.token for each in group} for group in found.near_duplicates] == [{b"ca", b"Ca", b" ca"}]
    assert (found.n_by_space, found.n_by_case) == (2, 2)
    assert {each.token for each in found.partial_utf8} == {b"a\xc3", b"\xa9\xa9"}
    assert found.longest[0].token == b" ca"
    assert found.n_ordinary == 266


def test_tokens_are_listed_in_the_order_that_is_said(tmp_path):
    """Groups of duplicates by the number of their tokens, their uses and their first id; long ones by length and id; others
    by how often they are used, or made."""
    tokens = [b"ab", b"Ab", b"cd", b"Cd", b"12", b" 12", b"ef", b"eF", b"EF"]
    tok = saved_as_ranks(tokens, tmp_path)
    found = figures_of(tok, {"a": ["cd", "Cd"]}).tokens
    groups = [[each.token for each in group] for group in found.near_duplicates]
    assert groups == [[b"ef", b"eF", b"EF"], [b"cd", b"Cd"], [b"ab", b"Ab"]]  # without digits, which have no case
    assert [each.token for each in found.longest] == [b" 12", *(token for token in tokens if token != b" 12")]
    broken = [b"\xa9a", b"a\xc3", b"\xa9\xc3"]
    tok = nbbpe.Tokenizer(
        dict(enumerate([*BYTES.values(), *broken, b"ef", b"gh", b"efi", b"ghi"])),
        [(each[:-1], each[-1:]) for each in (*broken, b"ef", b"gh", b"efi", b"ghi")],
        pattern=None,
    )
    found = figures_of(tok, {"a": ["efi ghi ghi", b"a\xc3"]}).tokens
    assert [each.token for each in found.partial_utf8] == [b"a\xc3", b"\xa9a", b"\xa9\xc3"]
    assert [each.token for each in found.intermediate] == [b"gh", b"ef"]


@pytest.mark.parametrize("n_others", [0, 2])
def test_the_largest_scripts_are_rows_and_the_others_one(small, n_others):
    letters = "aбγאबকกකაあㄅ가中 ⲁ"  # noqa: RUF001
    n_most = report_figures_module._MOST_SCRIPTS
    documents = [letter * (30 - i) for i, letter in enumerate(letters[: n_most - 1 + (n_others or 1)])]
    rows = figures_of(small, {"a": documents}).scripts
    # Some have as many bytes as others: these are in the order of their names.
    wanted = sorted((-len(document.encode()), script_of(document)) for document in documents)
    if n_others:
        wanted[-n_others:] = [(sum(n for n, _ in wanted[-n_others:]), "other scripts")]
    assert [(-row.n_bytes, row.name) for row in rows] == wanted
    assert len(rows) == n_most


def test_a_vocabulary_that_merges_by_rank_has_a_curve_too(tmp_path):
    tok = saved_as_ranks([b"bc", b"abcd", b"xy", b"xyz"], tmp_path, ["<|s|>"])
    assert tok._model.merges is None
    text = "abcd xyz abcdxy"
    found = figures_of(tok, {"t": [text]})
    assert found.vocab_sizes == [257, 258, 259, 260, 261]
    for size, ratio in zip(found.vocab_sizes, found.total.bytes_per_token_by_size, strict=True):
        smaller, _ = tok.truncate(size)
        assert ratio == len(text) / len(smaller.encode_ordinary(text))
    assert found.tokens.longest[0].n_made is None


def test_a_token_that_is_an_added_one_too_is_no_hindrance_to_a_curve(tmp_path):
    """It stays in every smaller vocabulary that a user makes, and would be in none of the words here."""
    merges = [(b"b", b"c"), (b"a", b"b"), (b"ab", b"c"), (b"1", b"2"), (b"x", b"y")]
    ordinary = nbbpe.Tokenizer(BYTES | {256 + i: left + right for i, (left, right) in enumerate(merges)}, merges)
    tok = through_hf(ordinary, tmp_path, "12", ignore_merges=True)
    assert tok._model.whole  # abc
    found = figures_of(tok, {"t": ["abc 12xy", "xyabc"]})
    assert found.vocab_sizes == list(range(256, 262))
    ordinary = nbbpe.Tokenizer(tok.vocab, tok.merges)
    words = ["abc", " ", "xy", "xyabc"]
    for size, ratio in zip(found.vocab_sizes, found.total.bytes_per_token_by_size, strict=True):
        # Ignoring merges, as long as abc is a token.
        n_tokens = sum(1 if word == "abc" and size > 258 else ordinary.truncate(size)[0].count(word) for word in words)
        assert ratio == len("".join(words)) / n_tokens


def test_what_is_not_known_of_tokens_that_are_made_is_not_told(small, tmp_path):
    """Which tokens are made on the way to longer ones, where a pretoken that is a token is that token."""
    small.to_hf(tmp_path / "tokenizer.json")
    described = json.loads((tmp_path / "tokenizer.json").read_text())
    described["model"] |= {"ignore_merges": True, "vocab": described["model"]["vocab"] | {"xyz": len(small)}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(described))
    (tmp_path / "a.txt").write_text("the cat")
    whole = nbbpe.load(tmp_path / "tokenizer.json")
    for tok, knows in (small, True), (whole, False):
        found = tok.report(tmp_path / "r.html", tmp_path / "a.txt").tokens
        assert (found.knows_made, bool(found.intermediate)) == (knows, knows)
        page = (tmp_path / "r.html").read_text()
        assert ("more are neither used nor made" in page) == knows
        assert (") only as parts of longer ones; " in page) == knows
        assert ("is not known for merges of this kind" in page) != knows
    done = processes.ended("-m", "nbbpe", "report", "tokenizer.json", "--on", "a.txt", "--json", cwd=tmp_path)
    tokens = json.loads(done.stdout)["tokens"]
    assert (tokens["n_intermediate"], tokens["n_unseen"]) == (None, len(found.unseen))


def test_curves_are_the_same_for_any_number_of_columns_at_once(small, monkeypatch):
    """Which bounds memory where there are many texts."""
    named = {str(number): [texts.SAMPLE[number * 20 :]] for number in range(5)}
    found = figures_of(small, named)
    for n in 1, 2, 3:
        monkeypatch.setattr(report_figures_module, "_COLUMNS_AT_ONCE", n)
        again = figures_of(small, named)
        assert (again.texts, again.scripts, again.total) == (found.texts, found.scripts, found.total)
        assert vars(again.tokens) == vars(found.tokens)


def test_both_ways_to_a_curve_agree(small, monkeypatch):
    named = {"a": [texts.SAMPLE], "b": ["the cat"]}
    found = figures_of(small, named)
    expected = dict(zip(found.vocab_sizes, found.total.bytes_per_token_by_size, strict=True))
    monkeypatch.setattr(report_figures_module, "merge_counts", lambda *_: None)
    monkeypatch.setattr(report_figures_module, "_POINTS_BY_TRUNCATION", 80)
    again = figures_of(small, named)
    assert dict(zip(again.vocab_sizes, again.total.bytes_per_token_by_size, strict=True)) == expected
    assert [row.bytes_per_token_by_size for row in again.scripts] == [row.bytes_per_token_by_size for row in found.scripts]


@pytest.mark.parametrize(
    ("word", "script"),
    [
        *[
            (" the", "Latin"),
            ("дом", "Cyrillic"),
            ("中文", "Han"),
            ("한", "Hangul"),
            ("12", "digits"),
            ("\n ", "whitespace"),
        ],
        *[
            ("--", "punctuation and symbols"),
            ("'s", "Latin"),
            ("\udc80", "punctuation and symbols"),
            ("ᐊ", "Canadian Aboriginal"),
        ],
    ],
)
def test_scripts(word, script):
    assert script_of(word) == script


# The page


def test_the_page_is_whole_escaped_and_loads_nothing(tmp_path, quiet):
    text = EVIL * 4
    tok = nbbpe.train(documents=[text], vocab_size=400, special_tokens=["<|a|>"], pattern=r"<script>|[^<]+|<")
    tok.report(tmp_path / "r.html", {EVIL: iter([text])}, name=EVIL)
    html = (tmp_path / "r.html").read_text(encoding="utf-8")
    checked = Checked()
    checked.feed(html)
    checked.close()
    assert checked.open == []
    assert not checked.tags & {"script", "b", "a", "img", "link", "iframe", "object"}
    assert not {name for name in checked.attributes if name.startswith("on")} | checked.attributes & {"href", "src"}
    assert "alert" in "".join(re.findall(r"<bdi>.*?</bdi>", html))
    assert not re.search(r"[\u202e\x00\x1b]", html)  # shown as escapes
    assert any("<script>" in each for each in checked.texts)
    assert "default-src 'none'" in html
    assert "A word is a pretoken with a letter" in html  # not what `nbbpe compare` takes for one
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.html"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a" * 22, "a" * 22),
        ("x" + "a" * 22, "…" + "a" * 21),
        ("中文" * 5 + "文", "中文" * 5 + "文"),  # as wide as 22 letters
        ("中" + "文" * 11, "…" + "文" * 10),
    ],
)
def test_names_in_a_legend_are_cut_to_its_width(name, shown):
    assert f">{shown}</text>" in line_chart("title", "y", [Series(name, [1, 2], [1.0, 2.0])])


def test_a_page_has_no_ratio_of_an_empty_text(small, tmp_path):
    small.report(tmp_path / "r.html", {"full": iter(["the cat"]), "empty": iter([])})
    page = (tmp_path / "r.html").read_text()
    of_empty = [re.findall("<td>([^<]*)</td>", row) for row in re.findall("<tr>.*?</tr>", page) if "<td>empty</td>" in row]
    assert len(of_empty) == 2
    assert [set(cells[1:]) - {"0", "0.0 %"} for cells in of_empty] == [{"-"}, {"-"}]


def test_charts_are_xml_and_draw_every_point():
    chart = line_chart("a < b", "y & z", [Series("<b>", [256, 512, 1000], [1.0, 2.0, 4.25]), Series("none", [], [])])
    root = ElementTree.fromstring(chart)
    line = next(each for each in root if each.tag.endswith("polyline"))
    points = np.array([[float(number) for number in point.split(",")] for point in line.get("points").split()])
    assert len(points) == 3
    assert (np.diff(points[:, 0]) > 0).all()
    assert (np.diff(points[:, 1]) < 0).all()  # downwards is up
    assert line_chart("t", "y", []) == ""
    flat = ElementTree.fromstring(line_chart("t", "y", [Series("s", [300], [0.0])]))
    assert flat.get("viewBox")


@given(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=5), st.lists(st.integers(1, 10**6), min_size=5, max_size=5))
def test_charts_of_any_numbers_stay_within_their_frame(y, x):
    x = sorted(x)[: len(y)]
    root = ElementTree.fromstring(line_chart("t", "y", [Series("s", x, y)]))
    line = next(each for each in root if each.tag.endswith("polyline"))
    _, _, width, height = map(float, root.get("viewBox").split())
    for point in line.get("points").split():
        at_x, at_y = map(float, point.split(","))
        assert 0 <= at_x <= width
        assert 0 <= at_y <= height


def test_texts_may_be_paths_a_path_or_a_dict(small, tmp_path):
    for folder in "a", "b":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "t.txt").write_text(f"the {folder} cat")
    a, b = tmp_path / "a" / "t.txt", tmp_path / "b" / "t.txt"
    for on, names in [(a, ["t.txt"]), ([a, b], [str(a), str(b)]), ({"one": [a, b]}, ["one"])]:
        found = write_report(tmp_path / "r.html", "tok", small._model, on)
        assert [row.name for row in found.texts] == names


def test_a_field_is_of_records_and_other_texts_may_be_plain(small, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"body": "the cat"}\n')
    (tmp_path / "b.txt").write_text("the dog")
    found = write_report(tmp_path / "r.html", "tok", small._model, [tmp_path / "a.jsonl", tmp_path / "b.txt"], field="body")
    assert [row.n_bytes for row in found.texts] == [7, 7]
    for on, field in [([tmp_path / "b.txt"], "body"), ([tmp_path / "a.jsonl", tmp_path / "b.txt"], "nobody")]:
        with pytest.raises(ValueError, match=field):
            small.report(tmp_path / "r.html", on, field=field)


def test_invalid_texts_are_errors(small, tmp_path):
    (tmp_path / "empty.txt").write_text("")
    for on, error, message in [
        (5, TypeError, "on must be a path"),
        ([], ValueError, "no text to report on"),
        ([tmp_path / "empty.txt"] * 2, ValueError, "two texts have the name 'empty.txt', so that one would be lost"),
        ({1: "x"}, TypeError, "names as its keys"),
        ([tmp_path / "none.txt"], FileNotFoundError, "none.txt"),
        ([tmp_path / "empty.txt"], ValueError, r"no text to report on: the sources \('empty.txt'\) are empty"),
    ]:
        with pytest.raises(error, match=message):
            small.report(tmp_path / "r.html", on)
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(IsADirectoryError):
        small.report(tmp_path / "folder.html", [tmp_path / "empty.txt"])
    (tmp_path / "b.txt").write_bytes(b"cat \xff")
    with pytest.raises(ValueError, match=r"^the text 'b': byte 4 of the text is 0xff"):
        tokenizer_json(tmp_path, lacking={0xFF}).report(None, {"a": iter(["cat"]), "b": tmp_path / "b.txt"})
    with pytest.raises(TypeError, match="name must be a str, what the page calls the tokenizer, not 3"):
        small.report(tmp_path / "r.html", {"a": iter(["the cat"])}, name=3)
    assert not (tmp_path / "r.html").exists()


def test_the_command_writes_the_same_page(small, tmp_path):
    small.save(tmp_path / "tok")
    (tmp_path / "a.txt").write_text(texts.SAMPLE, encoding="utf-8")
    command = ["-m", "nbbpe", "report", "tok", "--on"]
    done = processes.ended(*command, "a.txt", "-o", "r.html", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "r.html: a vocabulary of 400 tokens on a.txt\n"
    several = [f"{number}.txt" for number in range(6)]
    for name in several:
        (tmp_path / name).write_text("the cat")
    done = processes.ended(*command, *" --on ".join(several).split(), "-o", "s.html", cwd=tmp_path)
    assert done.stdout == "s.html: a vocabulary of 400 tokens on 0.txt, 1.txt, 2.txt, 3.txt, 4.txt, ...\n"
    small.report(tmp_path / "mine.html", tmp_path / "a.txt", name="tok")
    assert (tmp_path / "r.html").read_bytes() == (tmp_path / "mine.html").read_bytes()
    done = processes.ended(*command, "a.txt", "-o", "r.txt", cwd=tmp_path)
    assert done.returncode == 2
    assert "must end in .html" in done.stderr


def test_the_command_prints_the_figures_as_json(small, tmp_path):
    small.save(tmp_path / "tok")
    (tmp_path / "a.txt").write_text(texts.SAMPLE, encoding="utf-8")
    (tmp_path / "b.txt").write_text("12 [\n1, 2\n]")
    command = ["-m", "nbbpe", "report", "tok", "--on", "a.txt", "--on", "b.txt"]
    done = processes.ended(*command, "--json", "-o", "r.html", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "r.html").exists()
    data = json.loads(done.stdout)
    figures = small.report(None, [tmp_path / "a.txt", tmp_path / "b.txt"])
    assert (data["tokenizer"], data["n_vocab"], data["vocab_sizes"]) == ("tok", 400, figures.vocab_sizes)
    assert f'"vocab_sizes": {figures.vocab_sizes}' in done.stdout  # in one line
    rows = [*data["texts"], *data["scripts"], data["total"]]
    for row, of_json in zip([*figures.texts, *figures.scripts, figures.total], rows, strict=True):
        ratios = {
            "bytes_per_token": row.n_bytes / row.n_tokens,
            "characters_per_token": row.n_characters / row.n_tokens,
            "tokens_per_word": row.n_tokens_of_words / row.n_words if row.n_words else None,
        }
        assert of_json == row._asdict() | ratios
    assert data["texts"][1]["tokens_per_word"] is None  # no letters
    for name in "partial_utf8", "intermediate", "unseen", "unreachable":
        found = getattr(figures.tokens, name)
        assert data["tokens"][f"n_{name}"] == len(found)
        of_json = [
            (each["id"], bytes.fromhex(each["hex"]), each["n_uses"], each["n_made"]) for each in data["tokens"][name]
        ]
        assert of_json == found[:25]
    assert data["tokens"]["n_near_duplicates"] == len(figures.tokens.near_duplicates)
    done = processes.ended(*command, cwd=tmp_path)
    assert done.returncode == 2
    assert "give -o FILE for a page, --json for the figures, or both" in done.stderr


def test_figures_are_returned_with_or_without_a_page_and_are_shown_in_a_line(small, tmp_path):
    documents = ["the cat sat", "a dog"]
    figures = small.report(tmp_path / "r.html", {"all": iter(documents)})
    assert figures == small.report(None, {"all": iter(documents)})
    assert (figures.total.n_bytes, figures.total.n_tokens) == (16, sum(map(small.count, documents)))
    assert repr(figures) == f"ReportFigures(texts: 1, bytes: 16, tokens: {figures.total.n_tokens})"
    assert repr(figures.tokens).startswith("TokenFigures(longest: 143, partial_utf8: ")
    assert len(repr(figures.tokens)) < 200
    assert [each.name for each in tmp_path.iterdir()] == ["r.html"]


def test_a_page_does_not_replace_the_text_that_it_is_about(small, tmp_path):
    path = tmp_path / "page.html"
    path.write_text("the cat")
    with pytest.warns(UserWarning, match="markup"), pytest.raises(ValueError, match="cannot be both input and output"):
        small.report(path, on=[path])
    assert path.read_text() == "the cat"


def test_a_page_does_not_replace_a_text_where_the_arguments_are_swapped(small, tmp_path):
    text, page = tmp_path / "text.txt", tmp_path / "page.html"
    text.write_text("the cat")
    small.report(page, text)
    with pytest.raises(ValueError, match=r"path must be a name that ends in \.html, for the page, not .*text\.txt"):
        small.report(text, page)
    assert text.read_text() == "the cat"
