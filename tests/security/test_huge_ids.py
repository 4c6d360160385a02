"""One id of 2^31 - 2 costs no more memory than its token, whatever is done with the vocabulary."""

from __future__ import annotations

import sys

import numpy as np
import processes
import pytest
import texts
from hypothesis import given
from hypothesis import strategies as st
from vocabularies import BYTES, rank_lines

import nbbpe
from nbbpe import inspection

HUGE = 2**31 - 2

# Runs where a table of 2^31 entries finds no room, of whatever type; the kernels are there before that is so.
SCRIPT = r"""
import resource, sys
import numpy as np
import nbbpe
from nbbpe import inspection
from nbbpe.cli import main
source, folder, text = sys.argv[1:]
small = nbbpe.Tokenizer({i: bytes([i]) for i in range(256)} | {70_000: b"<|s|>"}, [], ["<|s|>"])
small.decode(small.encode_array("a<|s|>" * 20_000)); small.count("a" * 300)
inspection.text_figures(small, documents=["a b"])
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (1 << 30),) * 2)

tokenizer = nbbpe.load(source)
some = "the cat<|s|> sat zz" * 5000
assert tokenizer.decode(tokenizer.encode(some)) == some
assert tokenizer.decode(tokenizer.encode_array(some)) == some
assert tokenizer.decode([2**31 - 2]) in ("<|s|>", "zz")
assert tokenizer.count(some) == len(tokenizer.encode_batch([some])[0])
assert tokenizer.encode_padded(["a", "ab"], pad_id=2**31 - 2)[0].max() == 2**31 - 2
tokenizer.tokenize(some)
figures = inspection.text_figures(tokenizer, documents=[some])
assert figures.n_bytes == len(some)
assert inspection.compare(tokenizer, small, documents=[some]).a.n_tokens == figures.n_tokens
inspection.merge_counts(tokenizer, figures.counts), inspection.compression_by_size(tokenizer, figures.counts)
tokenizer.save(folder + "/again")
assert nbbpe.load(folder + "/again").fingerprint == tokenizer.fingerprint
tokenizer.encode_file(text, folder + "/ids.bin")
data = nbbpe.TokenFile(folder + "/ids.bin", tokenizer)
assert tokenizer.decode_bytes(data.ids) == open(text, "rb").read()
for arguments in (
    ["count", text, "-t", folder + "/again"],
    ["inspect", folder + "/again", "--on", text],
    ["inspect", folder + "/again", "--on", text, "--json"],
    ["compare", folder + "/again", folder + "/again", "--on", text],
    ["decode", folder + "/ids.bin", "-o", folder + "/text", "-t", folder + "/again"],
):
    try:
        main(arguments)
    except SystemExit as error:
        assert not error.code, arguments
print("done")
"""


def tokenizer(special: bool) -> nbbpe.Tokenizer:
    vocab = BYTES | {256: b"th", 257: b"the", **({} if special else {HUGE: b"zz"})}
    merges = [(b"t", b"h"), (b"th", b"e"), *([] if special else [(b"z", b"z")])]
    return nbbpe.Tokenizer(vocab, merges, {"<|s|>": HUGE if special else 300})


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc, and limits its address space")
@pytest.mark.parametrize("special", [True, False], ids=["special", "ordinary"])
@pytest.mark.parametrize("kind", ["nbbpe", "huggingface", "gpt2", "tiktoken"])
def test_a_huge_id_costs_no_memory(tmp_path, kind, special):
    pytest.importorskip("click")
    (tmp_path / "text").write_text(texts.SAMPLE + "the cat<|s|> sat zz", encoding="utf-8", newline="")
    made = tokenizer(special)
    source = tmp_path / "source"
    if kind == "nbbpe":
        made.save(source)
    elif kind == "gpt2":
        source.mkdir()
        made.save_gpt2(source / "vocab.json", source / "merges.txt")
    elif kind == "huggingface":
        source = tmp_path / "tokenizer.json"
        made.to_hf(source)
    else:
        if special:
            pytest.skip("a file of ranks holds no special tokens")
        source = tmp_path / "r50k_base.tiktoken"
        tokens = {token: token_id for token_id, token in made.vocab.items() if token_id != 300}
        source.write_bytes(rank_lines(tokens))
    assert processes.run(SCRIPT, source, tmp_path, tmp_path / "text").endswith("done\n")


@given(st.lists(st.integers(258, 6000) | st.integers(258, HUGE), unique=True, max_size=6), texts.texts())
def test_figures_are_the_same_whatever_the_ids(more, text):
    """Tokens numbered without gaps, with few, with many: the figures differ by the ids only."""
    names = [f"<{i}>" for i in range(len(more))]
    text += "".join(names[::2]) + "the"
    dense = nbbpe.Tokenizer(BYTES | {256: b"th", 257: b"the"}, [(b"t", b"h"), (b"th", b"e")], names)
    ids = dict(zip(names, sorted(more), strict=True))
    wide = nbbpe.Tokenizer(BYTES | {256: b"th", 257: b"the"}, dense.merges, ids)
    found, wanted = (inspection.text_figures(each, None, 1000, documents=[text]) for each in (wide, dense))
    assert found.counts.tolist() == wanted.counts.tolist()
    assert (found.n_bytes, found.n_tokens, found.n_used) == (wanted.n_bytes, wanted.n_tokens, wanted.n_used)
    assert (found.unused, found.most_frequent) == (wanted.unused, wanted.most_frequent)
    np.testing.assert_array_equal(
        inspection.merge_counts(wide, found.counts), inspection.merge_counts(dense, wanted.counts)
    )
    for a, b in zip(
        inspection.compression_by_size(wide, found.counts),
        inspection.compression_by_size(dense, wanted.counts),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)
    assert inspection.compare(wide, dense, documents=[text]).n_differing == 0
    again = wide.encode(text) * 3
    assert wide.decode(again) == wide.decode(np.array(again)) == text * 3


def test_ids_are_decoded_in_bulk_beside_a_huge_one():
    """The compiled loop is used for all texts that do not hold it."""
    made = tokenizer(special=True)
    ids = made.encode_array("the cat sat " * 5000)
    assert made.decode(ids) == "the cat sat " * 5000
    assert made._decoder._idle
    more = [*ids.tolist(), HUGE, *ids.tolist()]
    assert made.decode(more) == made.decode(np.array(more)) == "the cat sat " * 5000 + "<|s|>" + "the cat sat " * 5000
    with pytest.raises(ValueError, match="id 5000 "):
        made.decode([1, 5000])
