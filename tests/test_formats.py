"""Tokenizer files: GPT-2's vocab.json and merges.txt, nbbpe's folder, and errors that name the file and the line."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import random
import re
import shutil
import warnings
from pathlib import Path

import naive
import processes
import pytest
import texts
from hypothesis import given
from hypothesis import strategies as st
from vocabularies import BYTES

import nbbpe
from nbbpe.formats.vocab_json import gpt2, spelling
from nbbpe.model.byte_alphabet import byte_characters
from nbbpe.model.packed_vocab import PackedVocab


def test_every_byte_is_spelled_as_gpt2_does():
    characters = byte_characters()
    assert len(set(characters.values())) == 256
    assert sorted(characters, key=characters.get) == naive.HF_BYTES  # by the character, the alphabet's order
    assert spelling.spell(b" the\n!") == "ĠtheĊ!"
    assert spelling.unspell("ĠtheĊ!") == b" the\n!"


@given(st.lists(st.tuples(st.binary(), st.binary())))
def test_many_tokens_are_spelled_as_each_alone(pairs):
    packed = PackedVocab.of(dict(enumerate(token for pair in pairs for token in pair)))
    sides = packed.lengths, packed.text
    alone = [spelling.spell(token) for pair in pairs for token in pair]
    assert spelling.spelled_tokens(*sides) == alone
    assert spelling.spelled_lines(*sides) == "".join(
        f"{left} {right}\n" for left, right in zip(alone[::2], alone[1::2], strict=True)
    )


@given(st.binary())
def test_any_bytes_are_spelled_and_read_back(token):
    spelled = spelling.spell(token)
    assert spelling.unspell(spelled) == token
    assert not set(spelled) & set(" \n\r\t\x00\xa0")


@pytest.fixture
def files(small: nbbpe.Tokenizer, tmp_path: Path) -> tuple[Path, Path]:
    """A good pair of vocab.json and merges.txt."""
    vocab, merges = tmp_path / "the vocab.json", tmp_path / "the merges.txt"
    gpt2.write(vocab, merges, small._model)
    return vocab, merges


def test_what_was_written_is_read_the_same(small, files):
    tokenizer = nbbpe.Tokenizer.from_files(*files, [texts.SPECIAL])
    assert tokenizer == small
    assert nbbpe.Tokenizer.from_files(*map(str, files), special_tokens=[texts.SPECIAL], pattern="gpt2") == small
    assert nbbpe.Tokenizer.from_files(*files, pattern=None).pattern is None


def test_gpt2s_files_are_read_with_and_without_their_version_line(shared, tmp_path, gpt2):
    assert gpt2.vocab_size == 50257
    assert len(gpt2.merges) == 50000
    assert gpt2.merges[0] == (b" ", b"t")
    merges = tmp_path / "merges.txt"
    merges.write_bytes(b"#version: 0.2\n" + (shared / "vocabs" / "gpt2_merges.txt").read_bytes())
    again = nbbpe.Tokenizer.from_files(shared / "vocabs" / "gpt2_vocab.json", merges, [texts.SPECIAL])
    assert again == gpt2


@pytest.mark.parametrize("version_line", [True, False])
def test_gpt2s_files_are_written_byte_for_byte(shared, tmp_path, gpt2, version_line):
    vocab, merges = tmp_path / "vocab.json", tmp_path / "merges.txt"
    gpt2.save_gpt2(vocab, merges, version_line=version_line)
    assert vocab.read_bytes() == (shared / "vocabs" / "gpt2_vocab.json").read_bytes()
    first = b"#version: 0.2\n" if version_line else b""
    assert merges.read_bytes() == first + (shared / "vocabs" / "gpt2_merges.txt").read_bytes()
    if version_line:  # OpenAI's vocab.bpe
        digest = hashlib.sha256(merges.read_bytes()).hexdigest()
        assert digest == "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"


def test_files_of_any_special_tokens_are_stable(tmp_path):
    special = ["<|end|>", "<|a b|>", "<|ende|> 中", "é", "Ġ", "\n\n", "<é 中>"]
    tokenizer = nbbpe.Tokenizer(BYTES | {256: b"ab"}, [(b"a", b"b")], special)
    files = tmp_path / "vocab.json", tmp_path / "merges.txt"
    tokenizer.save_gpt2(*files)
    entries = json.loads(files[0].read_text(encoding="utf-8"))
    assert {"<|end|>", "<|a b|>", "<|ende|> 中"} <= set(entries)  # as other programs write and read them
    again = nbbpe.Tokenizer.from_files(*files, special)
    assert again == tokenizer
    before = [path.read_bytes() for path in files]
    again.save_gpt2(*files)
    assert [path.read_bytes() for path in files] == before
    with pytest.warns(UserWarning, match=r"merges\.txt: has no merge for 7 of 264 .* named by special_tokens="):
        unnamed = nbbpe.Tokenizer.from_files(*files)
    unnamed.save_gpt2(*files)
    assert nbbpe.Tokenizer.from_files(*files, special) == tokenizer


def test_a_first_merge_that_looks_like_the_version_line_needs_that_line(tmp_path):
    tokenizer = nbbpe.Tokenizer(BYTES | {256: b"#version", 257: b"#version:"}, [(b"#version", b":")])
    files = tmp_path / "vocab.json", tmp_path / "merges.txt"
    with pytest.raises(ValueError, match=r"the first merge begins with '#version'.* version_line=True"):
        tokenizer.save_gpt2(*files, version_line=False)
    assert not list(tmp_path.iterdir())
    with pytest.warns(UserWarning, match=r"merges\.txt: 1 merge begins with '#version'"):
        tokenizer.save_gpt2(*files)
    assert nbbpe.Tokenizer.from_files(*files).merges == tokenizer.merges


def test_merges_that_other_readers_of_gpt2s_files_skip_are_a_warning(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = nbbpe.train(documents=["#versions #versions #version."] * 5, vocab_size=265, pattern=r"\S+|\s+")
    skipped = [each for each in tokenizer.merges if each[0].startswith(b"#version")]
    assert len(skipped) == 2
    files = tmp_path / "vocab.json", tmp_path / "merges.txt"
    with pytest.warns(UserWarning, match=r"merges\.txt: 2 merges begin with '#version'.* tokenizers .* skips them"):
        tokenizer.save_gpt2(*files)
    theirs = tokenizers.models.BPE.from_file(*map(str, files))
    assert [token.value for token in theirs.tokenize("#versions")] == ["#version", "s"]
    assert nbbpe.Tokenizer.from_files(*files, pattern=r"\S+|\s+") == tokenizer
    tokenizer.to_hf(tmp_path / "tokenizer.json")
    assert tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")).encode("#versions").tokens == ["#versions"]


def test_what_gpt2s_files_cannot_hold_leaves_nothing(tmp_path):
    with pytest.raises(ValueError, match=r"ids 256 and 257 are both b'ab', which vocab\.json cannot hold"):
        nbbpe.Tokenizer(BYTES | {256: b"ab", 257: b"ab"}, []).save_gpt2(tmp_path / "v", tmp_path / "m")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        nbbpe.Tokenizer(BYTES, []).save_gpt2(tmp_path / "v", tmp_path / "nowhere" / "m")
    assert not list(tmp_path.iterdir())


def test_one_path_for_both_files_is_an_error(small, tmp_path):
    (tmp_path / "link").symlink_to("both")
    for first, second in ("both", "both"), ("both", "link"), ("x/../both", "both"):
        with pytest.raises(ValueError, match="both' is given for both files, of which one would replace the other"):
            small.save_gpt2(tmp_path / first, tmp_path / second)
    assert [path.name for path in tmp_path.iterdir()] == ["link"]


def test_an_empty_name_is_named_as_one(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for write in small.save, small.to_hf, small.save_tiktoken, small.save_pretrained:
        with pytest.raises(FileNotFoundError, match=r"empty|''"):
            write("")
    assert not list(tmp_path.iterdir())


def test_a_lone_surrogate_of_a_pattern_is_kept_and_elsewhere_named(tmp_path):
    tokenizer = nbbpe.Tokenizer(BYTES, [], ["<é>"], pattern="\ud800|[^\ud800]+")
    tokenizer.save(tmp_path / "t")
    assert nbbpe.load(tmp_path / "t") == tokenizer
    with pytest.raises(ValueError, match=r"holds a lone surrogate, which has no UTF-8"):
        tokenizer.to_hf(tmp_path / "t.json")
    assert not (tmp_path / "t.json").exists()
    for step in (
        {"type": "Prepend", "prepend": "\ud800"},
        {
            "type": "Replace",
            "pattern": {"String": "\ud800"},
            "content": "x",
        },
    ):
        with pytest.raises(ValueError, match=r"a step holds a lone surrogate, which has no UTF-8, after .*ud800"):
            nbbpe.Tokenizer(BYTES, [], normalizer=[step])


@pytest.mark.parametrize("end", ["", "\r"])
def test_a_merge_that_comes_twice_is_read_by_nobody_else_as_here(tmp_path, end):
    vocab = BYTES | {256: b"ab", 257: b"bc", 258: b"abc"}
    merges = [(b"a", b"b"), (b"b", b"c"), (b"a", b"bc"), (b"a", b"b")]
    tokenizer = nbbpe.Tokenizer(vocab, merges)
    paths = tmp_path / "vocab.json", tmp_path / "merges.txt"
    tokenizer.save_gpt2(*paths)
    assert paths[1].read_text() == "#version: 0.2\na b\nb c\na bc\n"
    assert tokenizer.merges == merges
    assert nbbpe.Tokenizer.from_files(*paths).encode("abcbc") == tokenizer.encode("abcbc") == [256, 99, 257]
    tokenizer.save(tmp_path / "t")
    assert nbbpe.load(tmp_path / "t") == tokenizer
    paths[1].write_text(f"a b{end}\nb c{end}\na bc{end}\na b{end}\n", newline="")
    with pytest.raises(ValueError, match=r"merges\.txt, line 4: merges b'a' and b'b', as line 1 does"):
        nbbpe.Tokenizer.from_files(*paths)


def test_a_special_token_that_merges_also_make_has_its_id_again(tmp_path):
    face = "\N{GRINNING FACE}"
    trained = nbbpe.train(documents=[face * 9 + " the cat"], vocab_size=262)
    tokenizer = trained.with_special_tokens([face, "<a>"])
    paths = tmp_path / "vocab.json", tmp_path / "merges.txt"
    tokenizer.save_gpt2(*paths)
    assert nbbpe.Tokenizer.from_files(*paths, special_tokens=[face, "<a>"]) == tokenizer
    assert nbbpe.Tokenizer.from_files(*paths, special_tokens=["<b>", face, "<a>"]).special_tokens == {
        "<b>": 264,
        face: 262,
        "<a>": 263,
    }


def test_an_entry_with_the_bytes_of_a_merge_is_not_taken_for_it(tmp_path):
    first, second, third = map(byte_characters().get, "日".encode())
    vocab = {spelling.spell(token): token_id for token_id, token in BYTES.items()}
    paths = tmp_path / "vocab.json", tmp_path / "merges.txt"
    paths[0].write_text(json.dumps(vocab | {"日": 256, first + second: 257, first + second + third: 258}))
    paths[1].write_text(f"{first} {second}\n{first + second} {third}\n", encoding="utf-8")
    for special in None, ["<a>"], {"日": 400}:
        with pytest.raises(ValueError, match=r"vocab\.json: id 256, '日', and id 258, 'æĹ¥', both stand for"):
            nbbpe.Tokenizer.from_files(*paths, special_tokens=special)
    for special in ["日"], {"日": 256}:
        tokenizer = nbbpe.Tokenizer.from_files(*paths, special_tokens=special)
        assert tokenizer.encode("日") == [256]
        assert tokenizer.encode_ordinary("日") == [258]


def test_gpt2s_files_cannot_hold_two_special_tokens_of_one_id(tmp_path):
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {token: token_id for token_id, token in BYTES.items()}
    encoding = tiktoken.Encoding("x", pat_str="(?s:.)", mergeable_ranks=ranks, special_tokens={"<a>": 300, "<b>": 300})
    with pytest.raises(ValueError, match=r"'<a>' and '<b>' both have the id 300, which vocab\.json cannot hold"):
        nbbpe.load(encoding).save_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")
    assert not list(tmp_path.iterdir())


def test_a_merge_that_begins_with_a_hash_is_a_merge(tmp_path):
    tokenizer = nbbpe.Tokenizer(BYTES | {256: b"##", 257: b"#v"}, [(b"#", b"#"), (b"#", b"v")])
    tokenizer.save(tmp_path)
    assert nbbpe.load(tmp_path) == tokenizer


def test_line_ends_of_windows_and_empty_lines_do_no_harm(small, files):
    vocab, merges = files
    merges.write_bytes(merges.read_bytes().replace(b"\n", b"\r\n") + b"\r\n\n")
    assert nbbpe.Tokenizer.from_files(vocab, merges, [texts.SPECIAL]) == small


def test_many_tokens_are_read_as_one_by_one():
    source = random.Random(5)
    characters = [*byte_characters().values(), "中"]
    lengths = [*source.choices(range(7), k=9_000), *[1] * 300, 70_000]
    spelled = list(dict.fromkeys("".join(source.choices(characters, k=n)) for n in lengths))
    texts_of_bytes = [text for text in spelled if "中" not in text]
    for some in texts_of_bytes, spelled, spelled[:3], []:
        wanted = {text: spelling.unspell(text) for text in some if "中" not in text}
        assert list(spelling.unspelled(iter(some)).items()) == list(wanted.items())


def test_results_of_merges_are_found_in_any_order_of_the_entries(tmp_path, small):
    vocab, merges = tmp_path / "vocab.json", tmp_path / "merges.txt"
    small.save_gpt2(vocab, merges)
    entries = list(json.loads(vocab.read_text()).items())
    swapped = entries.copy()
    swapped[300], swapped[301] = swapped[301], swapped[300]  # two results in another order
    shuffled = random.Random(1).sample(entries, len(entries))
    for changed in entries, swapped, shuffled, entries[256:] + entries[:256]:
        vocab.write_text(json.dumps(dict(changed)))
        read = nbbpe.Tokenizer.from_files(vocab, merges, list(small.special_tokens))
        assert (read.vocab, read.merges) == (small.vocab, small.merges)
    of_ids = dict(zip(dict(shuffled), range(len(entries)), strict=True))
    vocab.write_text(json.dumps(of_ids))
    read = nbbpe.Tokenizer.from_files(vocab, merges, list(small.special_tokens))
    assert read.merges == small.merges
    assert {spelling: read.vocab[of_ids[spelling]] for spelling in of_ids} == {s: small.vocab[i] for s, i in entries}


@pytest.mark.parametrize("end", ["\n", ""])
@pytest.mark.parametrize("first", ["#version: 0.2\n", ""])
def test_merges_have_the_numbers_of_their_lines(tmp_path, first, end):
    path = tmp_path / "merges.txt"
    n_before = first.count("\n")
    for content, wanted in ("a b\nab c", [1, 2]), ("a b\n\nab c", [1, 3]), ("a b\r\nab c", [1, 2]), ("a b\nab Ġ", [1, 2]):
        path.write_text(first + content + end, encoding="utf-8", newline="")
        merges = gpt2.read_merges(path, {"a": b"a", "b": b"b", "ab": b"ab", "c": b"c"})
        last = b" " if content.endswith("Ġ") else b"c"
        assert merges == dict(zip([n_before + n for n in wanted], [(b"a", b"b"), (b"ab", last)], strict=True))


def test_the_collector_runs_on_after_a_file_is_read(files):
    gc.disable()
    try:
        nbbpe.Tokenizer.from_files(*files)
        assert not gc.isenabled()
    finally:
        gc.enable()
    nbbpe.Tokenizer.from_files(*files)
    with pytest.raises(FileNotFoundError):
        nbbpe.Tokenizer.from_files("nowhere", "nowhere")
    assert gc.isenabled()


FORKED_WHILE_PAUSED = """
import gc, os, threading
from nbbpe.kernels.compiler.collector import paused_collector
paused, done = threading.Event(), threading.Event()
def pause():
    with paused_collector():
        paused.set()
        done.wait()
thread = threading.Thread(target=pause)
thread.start()
paused.wait()
if not os.fork():
    os._exit(gc.isenabled())
print(os.waitstatus_to_exitcode(os.wait()[1]), gc.isenabled())
done.set()
thread.join()
with paused_collector():
    if not os.fork():
        os._exit(gc.isenabled())
print(os.waitstatus_to_exitcode(os.wait()[1]), gc.isenabled())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_the_collector_runs_in_a_child_that_was_forked_while_another_thread_had_paused_it():
    assert processes.run(FORKED_WHILE_PAUSED).splitlines() == ["1 False", "0 True"]


def test_a_special_token_spelled_with_characters_of_no_byte_is_itself(files):
    vocab, merges = files
    entries = json.loads(vocab.read_text(encoding="utf-8")) | {"<|ende|> 中": 1000}
    vocab.write_text(json.dumps(entries), encoding="utf-8")
    tokenizer = nbbpe.Tokenizer.from_files(vocab, merges, ["<|ende|> 中"])
    assert tokenizer.special_tokens == {"<|ende|> 中": 1000}
    assert tokenizer.encode("<|ende|> 中") == [1000]


def spelled_vocab(**changes) -> str:
    entries = {spelling.spell(bytes([i])): i for i in range(256)} | {"ab": 256} | changes
    return json.dumps({token: i for token, i in entries.items() if i is not None})


BAD_VOCABS = {
    "not JSON": ('{\n"a": 1,\n"b": }', r"vocab\.json, line 3: not valid JSON"),
    "empty": ("", r"vocab\.json, line 1: not valid JSON"),
    "a list": ("[1, 2]", r"vocab\.json: must hold a JSON object from tokens to ids, not list"),
    "a token twice": ('{"a": 1, "b": 2, "a": 3}', r"vocab\.json: the key 'a' comes twice"),
    "an id twice": ('{"a": 1, "b": 1}', r"vocab\.json: id 1 is given to 'a' and to 'b'"),
    "an id as text": ('{"a": "1"}', r"vocab\.json: token 'a' has the id '1', which is not an integer from 0 up"),
    "a negative id": ('{"a": -1}', r"vocab\.json: token 'a' has the id -1"),
    "a fraction": ('{"a": 1.5}', r"vocab\.json: token 'a' has the id 1.5"),
    "true": ('{"a": true}', r"vocab\.json: token 'a' has the id True"),
    "a byte missing": (spelled_vocab(x=None), r"lacks 1 of the 256 single bytes.*b'x'"),
    "a merge's result missing": (spelled_vocab(ab=None), r"merges\.txt, line 2: merges b'a' and b'b', but b'ab' is not"),
    "a lone surrogate": (spelled_vocab(**{"x\udc80": 300}), r"vocab\.json: token 'x\\udc80' holds a lone surrogate"),
    "an id too large": (spelled_vocab(ab=2**31), r"id 2147483648"),
}


@pytest.mark.parametrize(("content", "message"), BAD_VOCABS.values(), ids=BAD_VOCABS)
def test_a_broken_vocab_is_an_error_that_names_file_and_place(tmp_path, content, message):
    vocab, merges = tmp_path / "vocab.json", tmp_path / "merges.txt"
    vocab.write_text(content, encoding="utf-8")
    merges.write_text("#version: 0.2\na b\n", encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        nbbpe.Tokenizer.from_files(vocab, merges)


BAD_MERGES = {
    "three tokens": (
        b"a b\na b c\n",
        r"merges\.txt, line 2: must be two tokens with one space between them, and is 'a b c'",
    ),
    "one token": (b"a b\n\nab\n", r"merges\.txt, line 3: must be two tokens"),
    "two blanks": (b"a  b\n", r"merges\.txt, line 1: must be two tokens"),
    "a blank at the end": (b"a \n", r"merges\.txt, line 1: must be two tokens"),
    "a tab": (b"a\tb\n", r"merges\.txt, line 1: must be two tokens"),
    "no byte's character": ("a b\na 中\n".encode(), r"merges\.txt, line 2: the character '中' in 'a 中' stands for"),
    "an unknown side": (b"a b\nab ab\nabab a\n", r"merges\.txt, line 2: .*b'abab' is not in .*vocab\.json"),
    "not UTF-8": (b"a b\n\xff b\n", r"merges\.txt, line 2: not valid UTF-8"),
    "a second version line": (b"#version: 0.2\n#version: 0.2 x\n", r"merges\.txt, line 2: must be two tokens"),
}


@pytest.mark.parametrize(("content", "message"), BAD_MERGES.values(), ids=BAD_MERGES)
def test_broken_merges_are_an_error_that_names_file_and_line(tmp_path, content, message):
    vocab, merges = tmp_path / "vocab.json", tmp_path / "merges.txt"
    vocab.write_text(spelled_vocab(), encoding="utf-8")
    merges.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        nbbpe.Tokenizer.from_files(vocab, merges)


@pytest.mark.parametrize("line", [b"x" * 10**6, b"\xff" * 10**6, "中 ".encode() + b"x" * 10**6])
def test_errors_show_little_of_a_long_line(files, line):
    """A vocab.json that was given in the place of merges.txt is one line."""
    vocab, merges = files
    merges.write_bytes(line)
    with pytest.raises(ValueError, match=r"line 1: .*\.\.\.") as raised:
        nbbpe.Tokenizer.from_files(vocab, merges)
    assert len(str(raised.value)) < 400


def test_a_vocab_that_is_not_utf8_is_an_error_that_names_it(files):
    vocab, merges = files
    vocab.write_bytes(b'{"\xff": 1}')
    with pytest.raises(ValueError, match=r"the vocab\.json: not valid UTF-8"):
        nbbpe.Tokenizer.from_files(vocab, merges)


def test_a_missing_file_is_named(files, tmp_path):
    vocab, merges = files
    for pair in (tmp_path / "nothing.json", merges), (vocab, tmp_path / "nothing.txt"):
        with pytest.raises(FileNotFoundError, match="nothing"):
            nbbpe.Tokenizer.from_files(*pair)


# nbbpe's own folder


@pytest.fixture
def folder(small: nbbpe.Tokenizer, tmp_path: Path) -> Path:
    small.save(tmp_path / "folder")
    return tmp_path / "folder"


def test_a_folder_holds_plain_json_and_text(folder, small):
    about = json.loads((folder / "nbbpe.json").read_text(encoding="utf-8"))
    assert about["format"] == "nbbpe"
    assert about["pattern"] == "gpt2"
    assert about["special_tokens"] == {texts.SPECIAL: 399}
    lines = (folder / "merges.txt").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("#version")
    assert len(lines) == 1 + len(small.merges)
    assert len(json.loads((folder / "vocab.json").read_text(encoding="utf-8"))) == 399


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, r'nbbpe\.json: must be an object with "format": "nbbpe"'),
        ({"version": 99}, r"nbbpe\.json: has version 99, and this nbbpe reads 1"),
        ({"special_tokens": ["a"]}, r"nbbpe\.json: special_tokens must be an object"),
        ({"special_tokens": {"a": "1"}}, r"nbbpe\.json: special_tokens must be an object"),
        ({"special_tokens": {"a": True}}, r"nbbpe\.json: special_tokens must be an object"),
        ({"special_tokens": {"<s>": 97}}, r"nbbpe\.json: special token '<s>' has id 97, as b'a' has"),
        ({"special_tokens": {"<s>": -5}}, r"nbbpe\.json: special_tokens must be .*-5"),
        ({"special_tokens": {"<s>": 2**40}}, r"nbbpe\.json: special_tokens must be"),
        ({"special_tokens": {"": 1000}}, "empty"),
        ({"pattern": "nonsense"}, "unknown pattern 'nonsense'"),
        ({"pattern": "("}, r"nbbpe\.json: .*neither a name nor a valid regex"),
        ({"pattern": 5}, r"nbbpe\.json: .*pattern must be a name"),
    ],
)
def test_a_broken_folder_is_an_error_that_says_what_is_wrong(folder, change, message):
    about = json.loads((folder / "nbbpe.json").read_text(encoding="utf-8"))
    (folder / "nbbpe.json").write_text(json.dumps(about | change), encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        nbbpe.load(folder)


@pytest.mark.parametrize("content", ["", "{", "[]", "5", '{"format": "nbbpe", "version": 1, "special_tokens": {}}'])
def test_a_broken_nbbpe_json_is_named(folder, content):
    (folder / "nbbpe.json").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=r"nbbpe\.json(, line 1)?: "):
        nbbpe.load(folder)


def test_what_is_no_folder_of_ours_is_an_error_that_says_so(folder, tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing' is missing"):
        nbbpe.load(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match=r"has no nbbpe\.json"):
        nbbpe.load(tmp_path)
    (folder / "merges.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"merges\.txt"):
        nbbpe.load(folder)
    shutil.rmtree(folder)


@pytest.mark.parametrize("n_left", [0, 0.5])
def test_a_file_whose_end_is_missing_is_warned_of(files, n_left):
    merges = files[1]
    lines = merges.read_bytes().splitlines(keepends=True)
    n_merges = len(lines) - 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(nbbpe.load(files).merges) == n_merges
    merges.write_bytes(b"".join(lines[: 1 + int(n_left * n_merges)]))
    n_missing = n_merges - int(n_left * n_merges)
    with pytest.warns(UserWarning, match=f"{re.escape(str(merges))}: has no merge for {n_missing} of") as caught:
        tokenizer = nbbpe.load(files)
    assert caught[0].filename == __file__
    assert len(tokenizer.merges) == n_merges - n_missing
