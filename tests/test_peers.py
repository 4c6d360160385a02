"""Real text against other libraries: their trainers' merges under each tie rule, tiktoken's ids with GPT-2's vocabulary."""

from __future__ import annotations

import base64
import json
import warnings
from pathlib import Path

import numpy as np
import pytest
import texts
from effort import examples, mostly_slow
from training_structures import spelled

import nbbpe
from nbbpe.formats.vocab_json.spelling import unspell
from nbbpe.patterns.pattern import NAMED
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.training.merges import learn_merges
from nbbpe.words.corpus import Corpus
from nbbpe.words.counting_options import check_counting_options
from nbbpe.words.finding import find_supply

VOCAB_SIZE = 2000
SLICE = 1_000_000


@pytest.fixture(params=mostly_slow(texts.FILES, usual=["books_en", "cjk", "code_rails"]))
def documents(request, shared) -> list[str]:
    """The documents of a slice of a file, from its middle where it is large."""
    return texts.middle_of(shared, request.param, SLICE).split(texts.SPECIAL)


def train_hugging_face(documents, **options):
    """Their trainer's merges, and its vocabulary without the bytes."""
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE())
    byte_level = tokenizers.pre_tokenizers.ByteLevel
    theirs.pre_tokenizer = byte_level(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE, initial_alphabet=byte_level.alphabet(), show_progress=False, **options
    )
    theirs.train_from_iterator(iter(documents), trainer)
    model = json.loads(theirs.to_str())["model"]
    pairs = [merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"]]
    # It numbers the bytes in its alphabet's order; merges have the same ids as ours.
    vocab = {unspell(token): token_id for token, token_id in model["vocab"].items() if token_id >= 256}
    return [(unspell(left), unspell(right)) for left, right in pairs], vocab


def test_merges_are_those_of_hugging_faces_trainer(documents):
    merges, vocab = train_hugging_face(documents)
    ours = nbbpe.train(iter(documents), VOCAB_SIZE, tie_break="huggingface")
    assert ours.merges == merges
    assert len(ours.merges) == VOCAB_SIZE - 256
    assert {token: token_id for token_id, token in ours.vocab.items() if token_id >= 256} == vocab


@pytest.mark.parametrize("limits", [{"max_token_length": 5}, {"max_token_length": 2}, {"min_frequency": 40}])
def test_limits_in_training_are_those_of_hugging_faces_trainer(documents, limits):
    # Theirs takes a length as the first that is too long, but does not apply it to pairs of two bytes.
    text = ["".join(documents)[:200_000]]
    theirs, _ = train_hugging_face(text, **{name: n + (name == "max_token_length") for name, n in limits.items()})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the text has pairs")
        ours = nbbpe.train(iter(text), VOCAB_SIZE, tie_break="huggingface", **limits)
    assert ours.merges == theirs


def test_merges_are_those_of_rustbpe(documents):
    rustbpe = pytest.importorskip("rustbpe")
    theirs = rustbpe.Tokenizer()
    theirs.train_from_iterator(iter(documents[:1]), 256)
    assert nbbpe.explain_pattern(theirs.get_pattern()).name == "llama3"  # as docs/recipes.md says
    theirs.train_from_iterator(iter(documents), VOCAB_SIZE, pattern=NAMED["gpt2"].regex)
    ours = nbbpe.train(iter(documents), VOCAB_SIZE, tie_break="ids")
    assert {bytes(token): rank for token, rank in theirs.get_mergeable_ranks()} == {t: i for i, t in ours.vocab.items()}


@pytest.mark.parametrize(("theirs", "ours"), [("huggingface", "huggingface"), ("raw_token_ids", "ids")])
def test_merges_are_those_of_gigatoken(documents, tmp_path: Path, theirs, ours):
    gigatoken = pytest.importorskip("gigatoken")
    path = tmp_path / "text.txt"
    path.write_bytes(texts.SPECIAL.join(documents).encode())
    source = gigatoken.TextFileSource([str(path)], separator=texts.SPECIAL.encode())
    _, merges = gigatoken.train_bpe(source, VOCAB_SIZE + 1, [texts.SPECIAL], tie_breaking=theirs)
    tokenizer = nbbpe.train(path, VOCAB_SIZE + 1, [texts.SPECIAL], tie_break=ours)
    assert tokenizer.merges == [(bytes(left), bytes(right)) for left, right in merges]


@pytest.fixture(scope="module")
def encoding(shared):
    """tiktoken's GPT-2, from the shared file: nothing is downloaded."""
    tiktoken = pytest.importorskip("tiktoken")
    lines = (shared / "vocabs" / "r50k_base.tiktoken").read_bytes().splitlines()
    ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines)}
    return tiktoken.Encoding(
        "gpt2", pat_str=NAMED["gpt2"].regex, mergeable_ranks=ranks, special_tokens={texts.SPECIAL: 50256}
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize("file", texts.FILES)
def test_ids_are_tiktokens_on_real_text(shared, gpt2, encoding, file):
    data = (shared / "text" / f"{file}.txt").read_bytes()
    data = data[: examples(500_000, len(data))].decode(errors="ignore").encode()
    expected = encoding.encode_to_numpy(data.decode(), allowed_special="all")
    ids = gpt2.encode_array(data)
    assert ids.dtype == np.uint16
    assert np.array_equal(ids, expected)
    assert gpt2.decode_bytes(ids) == data


def test_ids_are_tiktokens_where_special_tokens_are_plain_text(gpt2, encoding, stories):
    text = stories.read_text(encoding="utf-8")[:50_000] + texts.SAMPLE
    assert gpt2.encode_ordinary(text) == encoding.encode_ordinary(text)
    assert gpt2.encode(text, allowed_special=set()) == encoding.encode(text, disallowed_special=())


def test_ids_are_tiktokens_on_texts_of_all_kinds(gpt2, encoding):
    for text in (
        texts.SAMPLE,
        "Hello world! 你好，世界 안녕 naïve 🙂 12345\r\n\r\n  x",  # noqa: RUF001
        "a" * 5000,
        " " * 3000 + "x",
        "\n" * 1000,
        "^" * 2000,
        "中" * 1000,
        "é" * 1000 + "'s't've",
        "",
        texts.SPECIAL * 3,
    ):
        assert gpt2.encode(text) == encoding.encode(text, allowed_special="all")


def test_a_tokenizer_trained_here_gives_the_same_ids_in_tiktoken(stories):
    tiktoken = pytest.importorskip("tiktoken")
    tokenizer = nbbpe.train(stories, 2000, [texts.SPECIAL])
    special = tokenizer.special_tokens
    theirs = tiktoken.Encoding(
        "stories",
        pat_str=NAMED["gpt2"].regex,
        mergeable_ranks={token: i for i, token in tokenizer.vocab.items() if i not in special.values()},
        special_tokens=special,
    )
    text = stories.read_text(encoding="utf-8")
    assert tokenizer.encode(text) == theirs.encode(text, allowed_special="all")
    assert tokenizer.encode(texts.SAMPLE) == theirs.encode(texts.SAMPLE)


def test_ids_are_those_of_the_vocabularies_readme(gpt2):
    text = "Hello world! 你好，世界 안녕 naïve 🙂 12345\r\n\r\n  x"  # noqa: RUF001
    ids = [15496, 995, 0, 220, 19526, 254, 25001, 121, 171, 120, 234, 10310, 244, 45911, 234, 23821, 243, 230, 167, 227]
    ids += [243, 41492, 32485, 17031, 2231, 201, 198, 201, 198, 220, 2124]
    assert gpt2.encode(text) == ids
    assert gpt2.decode(ids) == text


@pytest.mark.exhaustive
@pytest.mark.parametrize("has_parallel", [True, False])
@pytest.mark.parametrize("window", [None, 100])
def test_parity_is_that_of_its_authors_trainer(shared, has_parallel, window):
    """ParityBpeTrainer of `tokenizers`, which breaks ties by the strings that stand for bytes: the greatest pair of them.

    So the bytes of words are renumbered here, such that the greatest bytes are those of the greatest strings.
    """
    trainers = pytest.importorskip("tokenizers.trainers")
    if not hasattr(trainers, "ParityBpeTrainer"):
        pytest.skip("this version of tokenizers has no ParityBpeTrainer")
    from tokenizers import Tokenizer, models, pre_tokenizers

    n_merges = examples(500, 1500)
    documents = (shared / "text" / "bible_multilingual.txt").read_text(encoding="utf-8").split(texts.SPECIAL)[:-1]
    trained = {f"{number:02}": text[: examples(10_000, 40_000)] for number, text in enumerate(documents)}
    parallel = {name: text[-examples(1000, 4000) :] for name, text in zip(trained, documents, strict=True)}
    theirs = Tokenizer(models.BPE())
    theirs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.ParityBpeTrainer(
        num_merges=n_merges,
        variant="window" if window else "base",
        window_size=window or 1,
        min_frequency=1,
        initial_alphabet=alphabet,
        show_progress=False,
    )
    measure = {"dev_iterators": [iter([text]) for text in parallel.values()]} if has_parallel else {"ratio": [1.0] * 14}
    trainer.train_from_iterator(theirs, train_iterators=[iter([text]) for text in trained.values()], **measure)
    expected = [tuple(map(unspell, pair)) for pair in json.loads(theirs.to_str())["model"]["merges"]]

    rank = np.argsort(np.argsort(sorted(alphabet, key=unspell))).astype(np.uint8)  # of each byte: that of its string
    parity = nbbpe.Parity(
        parallel={name: iter([text]) for name, text in parallel.items()} if has_parallel else None, window=window
    )
    mixture = nbbpe.Mixture({name: iter([text]) for name, text in trained.items()}, parity=parity)
    counting = check_counting_options(1, False, None, "raise", None, None, None, None)
    supply = find_supply(Corpus(mixture), counting, get_pattern("gpt2"), [])
    [stage] = supply.stages(supply.count(256 + n_merges), 256 + n_merges)
    renumbered = stage.words._replace(text=rank[stage.words.text])
    tokens = [bytes([byte]) for byte in np.argsort(rank).tolist()]
    assert spelled(learn_merges(renumbered, 256 + n_merges, groups=stage.groups), tokens) == expected
