"""Files of tokenizers and ids that were changed at random: each is read, or is one error that names the file.

NBBPE_MUTATIONS says how many of each format there are, NBBPE_SEED which.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import warnings

import pytest
from effort import examples
from limits import takes_memory_below
from mutations import FORMATS, TEXT, fault, little_room, mutated, read_ids, trained, write_hf, write_ids
from vocabularies import BYTES

import nbbpe

N_MUTATIONS = int(os.environ.get("NBBPE_MUTATIONS", "600"))
SEED = int(os.environ.get("NBBPE_SEED", "1"))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FORMATS)
def test_mutated_files_are_read_or_named(tmp_path, name):
    form = FORMATS[name]
    good, folder = tmp_path / "good", tmp_path / "mutated"
    good.mkdir()
    form.write(good)
    form.read(good)  # loads what reading needs, before there is little room
    contents = {name: (good / name).read_bytes() for name in form.names}
    faults: dict[str, str] = {}
    n_read = 0
    n_mutations = examples(N_MUTATIONS // 4, N_MUTATIONS)
    with warnings.catch_warnings(), little_room():
        warnings.simplefilter("ignore")
        for number in range(n_mutations):
            source = random.Random(f"{SEED} {name} {number}")
            shutil.copytree(good, folder)
            target = source.choice(form.names)
            (folder / target).write_bytes(mutated(target, contents[target], source))
            wrong = fault(form.read, folder, form.names)
            if wrong is not None:
                faults.setdefault(wrong.strip().splitlines()[-1][:60], f"mutation {number} of {target}: {wrong}")
            n_read += wrong is None
            shutil.rmtree(folder)
    assert not faults, f"{len(faults)} kinds of faults:\n\n" + "\n\n".join(faults.values())
    assert n_read == n_mutations


PATTERNS = {
    "groups in groups": "(" * 5000 + "a" + ")" * 5000,
    "itself": "(?R)",
    "a number": "a{100000000}",
    "numbers of groups": "(?:(?:a{999}){999}){999}",
    "a number after a comment": "(?:a{999})(?#x){9999}",
    "a number after blanks": "(?x)(?:a{999}) # a comment\n {9999}",
    "long, and not closed": "(" + "a" * 10_000,
}


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_a_pattern_that_is_too_much_is_one_short_error(tmp_path, pattern):
    trained().save(tmp_path)
    about = json.loads((tmp_path / "nbbpe.json").read_text())
    (tmp_path / "nbbpe.json").write_text(json.dumps(about | {"pattern": pattern}))
    with little_room():
        with pytest.raises(ValueError, match="pattern '") as raised:
            nbbpe.load(tmp_path)
        assert len(str(raised.value)) < 400 + len(str(tmp_path))
        with takes_memory_below(100 << 20), pytest.raises(ValueError, match="pattern '"):  # `regex` takes 600 MB for (?R)
            nbbpe.load(tmp_path)
        assert "nbbpe.json" in str(raised.value)
        for given in pattern, ["gpt2", pattern]:
            with pytest.raises(ValueError, match="pattern '"):
                nbbpe.Tokenizer(BYTES, [], pattern=given)


@pytest.mark.parametrize(
    "pattern", [r"\d{4}-\d{2}-\d{2}|\s|\S{1,500}", r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}|.", "(?x) \\d{3} | \\D{1,99}"]
)
def test_patterns_with_numbers_are_taken(pattern):
    tokenizer = nbbpe.Tokenizer(BYTES, [], pattern=pattern)
    assert tokenizer.decode(tokenizer.encode(TEXT)) == TEXT


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("depth", [150, 900, 100_000])
def test_json_that_is_nested_deeply_is_an_error_that_names_the_file(tmp_path, opening, depth):
    closing = "]" if opening == "[" else "}"
    nested = opening * depth + "1" + closing * depth
    trained().save(tmp_path)
    write_hf(tmp_path)
    write_ids(".bin")(tmp_path)
    files = ["nbbpe.json", "vocab.json", "tokenizer.json", "ids.bin.json"]
    for name in files:
        path = tmp_path / name
        good = path.read_text()
        for content in nested, good.rstrip()[:-1] + f', "more": {nested}}}':
            path.write_text(content)
            with pytest.raises(ValueError, match=f"{name}: not valid JSON .nested too deeply"):
                read_ids(".bin")(tmp_path) if name.startswith("ids") else nbbpe.load(
                    path if name == "tokenizer.json" else tmp_path
                )
        path.write_text(good)


def test_special_tokens_without_utf8_are_named_with_their_file(tmp_path):
    trained().save(tmp_path)
    write_hf(tmp_path)
    about = json.loads((tmp_path / "nbbpe.json").read_text())
    about["special_tokens"]["x\udc80"] = 1000
    (tmp_path / "nbbpe.json").write_text(json.dumps(about))
    document = json.loads((tmp_path / "tokenizer.json").read_text())
    document["added_tokens"].append(document["added_tokens"][-1] | {"id": 290, "content": "x\udc80"})
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    for path, name in (tmp_path, r"nbbpe\.json"), (tmp_path / "tokenizer.json", r"tokenizer\.json: added_tokens\[2\]"):
        with pytest.raises(ValueError, match=rf"{name}: 'x\\udc80' holds a lone surrogate") as raised:
            nbbpe.load(path)
        assert type(raised.value) is ValueError


@pytest.mark.parametrize(
    "header", [b"{'descr': '<u2', (", b"{" * 500, b"'\\", b"\0" * 50, b"1" * 6000, b"[" * 9000, b"\xff" * 99]
)
def test_a_broken_npy_header_is_named(tmp_path, header):
    header = header.ljust(118) + b"\n"
    path = tmp_path / "ids.npy"
    path.write_bytes(b"\x93NUMPY\x01\0" + len(header).to_bytes(2, "little") + header + bytes(100))
    with pytest.raises(ValueError, match=r"ids\.npy is not a NumPy array file") as raised:
        nbbpe.TokenFile(path)
    assert len(str(raised.value)) < 400 + len(str(path))
