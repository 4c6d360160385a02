"""Reads and writes GPT-2's vocab.json and merges.txt, where each byte is spelled as a visible character."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Mapping
from itertools import starmap
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...kernels.compiler.collector import paused_collector
from ...model.model import Model
from ...model.packed_vocab import PackedVocab
from ...model.special_tokens import MAX_ID, SpecialTokens, check_distinct_ids, check_given, tokens_of_merges
from ...model.vocab_checks import check_bytes
from ...patterns.pattern import Pattern
from ...patterns.pattern_argument import PatternLike, get_pattern
from ...system.arguments import argument
from ...system.atomic_files import name_before, name_in_errors, put_together, write_text
from ...system.choices import check_bool
from ...system.excerpt import shown
from ...system.links import target_of
from ...system.paths import Path, check_tokenizer_file, checked_name
from ...system.user_warnings import warn_user
from ..shared.json_text import read_json
from ..shared.named_errors import naming
from ..shared.owners import OWN_NAMES, belongs_to_folder, find_owner
from ..shared.plain_formats import WRITES_JSON, check_plain
from .packed_entries import has_twice, packed_entries, packed_merges
from .spelling import spell, spelled_lines, spelled_tokens, token_of, unspell, unspelled

_END = "<|endoftext|>"
_FEW_UNUSED = 0.01  # share of all tokens that may be without a merge
_ENDING_WORDS = {bytes([byte]) + b"</w>" for byte in range(256)}


def read(vocab_path: Path, merges_path: Path) -> tuple[PackedVocab, list[tuple[bytes, bytes]] | NDArray[np.int32]]:
    """Read (vocab, merges), and check that they fit together. Merges are an array if neither file has anything unusual.

    A vocab entry with a character that does not stand for a byte (a special token added by hand) means its own UTF-8.

    Raises ValueError that names the file, and the line or entry, of what is broken.
    """
    return _read(vocab_path, merges_path)[:2]


def _read(
    vocab_path: Path, merges_path: Path
) -> tuple[PackedVocab, list[tuple[bytes, bytes]] | NDArray[np.int32], dict[str, int]]:
    """Return (vocab, merges, twins): as `read`, and the entries that stand for their own UTF-8, with their ids, if another
    entry spells the same bytes."""
    entries = read_entries(vocab_path)
    packed = packed_entries(entries)
    if packed is not None and (packed_ids := _read_packed_merges(merges_path, entries)) is not None:
        return packed, packed_ids, {}
    tokens = unspelled(entries)
    vocab = vocab_of(entries, tokens, os.fspath(vocab_path))
    merges = read_merges(merges_path, tokens)
    known = set(vocab.values())
    for number, (left, right) in merges.items():
        for token in left, right, left + right:
            if token not in known:
                raise ValueError(
                    f"{os.fspath(merges_path)}, line {number}: merges {shown(left)} and {shown(right)}, but {shown(token)} "
                    f"is not in {os.fspath(vocab_path)}"
                )
    spelled = set(tokens.values())
    twins = {text: entries[text] for text in entries if text not in tokens and text.encode() in spelled}
    return PackedVocab.of(vocab), list(merges.values()), twins


@paused_collector()
def read_model(
    vocab_path: Path,
    merges_path: Path,
    special_tokens: SpecialTokens | None = None,
    pattern: PatternLike = "gpt2",
) -> Model:
    """See Tokenizer.from_files. By default, <|endoftext|> is special if the vocab has it and merges do not make it."""
    vocab_path, merges_path = checked_name(vocab_path), checked_name(merges_path)
    vocab, merges, twins = _read(vocab_path, merges_path)
    if len(vocab.among(_ENDING_WORDS)) == len(_ENDING_WORDS):
        raise ValueError(
            f"{os.fspath(vocab_path)}: has each byte also with </w> behind it, which is the end of a word in tokenizers "
            "such as CLIP's; give its tokenizer.json, or the folder, if a tokenizer_config.json there names the class"
        )
    if has_twice(merges) if isinstance(merges, np.ndarray) else len(set(merges)) < len(merges):
        raise _twice(merges_path)
    if special_tokens is None:
        ends = vocab.among({_END.encode()})
        if isinstance(merges, list):
            is_made = _END.encode() in starmap(add, merges)
        else:
            is_made = bool(np.isin(merges[:, 2], list(ends)).any())
        special_tokens = [_END] if ends and not is_made else []
    split = get_pattern(pattern)
    with naming(vocab_path):
        check_bytes(vocab)
        model = _fitting(vocab, merges, twins, special_tokens, split)
    warn_of_missing_merges(model, merges_path)
    return model


def _fitting(
    vocab: PackedVocab,
    merges: list[tuple[bytes, bytes]] | NDArray[np.int32],
    twins: dict[str, int],
    special_tokens: SpecialTokens,
    split: Pattern | None,
) -> Model:
    """Make the model; special tokens may be in the vocabulary or not.

    twins : see `_read`
    """
    if not twins:
        return Model.fitting(vocab, merges, special_tokens, split)
    wanted = check_given(special_tokens)
    if isinstance(wanted, list) and not twins.keys().isdisjoint(wanted):
        # The special token gets the twin's id; the other entry, of the same bytes, is the token that merges make.
        others = Model.fitting(vocab, merges, [token for token in wanted if token not in twins], split).special
        wanted = {token: twins[token] if token in twins else others[token] for token in wanted}
    is_special = wanted.items() if isinstance(wanted, dict) else ()
    assert isinstance(merges, list)  # with twins
    _check_twins(vocab, merges, dict(twins.items() - is_special))
    return Model.fitting(vocab, merges, wanted, split)


def warn_of_missing_merges(model: Model, merges_path: Path) -> None:
    """Warn if more than a few tokens have no merge, as when the end of merges.txt is missing.

    A few may be special tokens that the user has not named.
    """
    vocab, merges = model.packed_ordinary, model.merge_ids
    assert merges is not None
    is_made = (vocab.lengths == 1) | np.isin(vocab.ids, merges[:, 2])
    n, n_missing = len(vocab.ids), int(np.count_nonzero(~is_made))
    if n_missing > n * _FEW_UNUSED:
        warn_user(
            f"{os.fspath(merges_path)}: has no merge for {n_missing:,} of {n:,} tokens, so that these are never used: the "
            f"end of the file may be missing, or special tokens must be named by {argument('special_tokens', ...)}"
        )


def _check_twins(vocab: PackedVocab, merges: list[tuple[bytes, bytes]], twins: Mapping[str, int]) -> None:
    """Raise ValueError if an entry of `twins` would be taken for the token that merges make, because its id is lower."""
    needed = tokens_of_merges(merges) if twins else set()
    for text, token_id in twins.items():
        token = text.encode()
        following = [other for other in vocab.among({token}) if other > token_id]
        if token in needed and following:
            raise ValueError(
                f"id {token_id}, {shown(text)}, and id {following[-1]}, {shown(spell(token))}, both stand for "
                f"{shown(token)}, of which merges make the second; if the first is a special token, give it with "
                f"{argument('special_tokens', ...)}"
            )


def _twice(path: Path) -> ValueError:
    """The error for a merges.txt with a merge that occurs twice. (nbbpe would use the first, other libraries the last.)"""
    lines: dict[tuple[bytes, bytes], int] = {}
    for number, merge in read_merges(path, {}).items():
        if lines.setdefault(merge, number) != number:
            break
    left, right = map(shown, merge)
    return ValueError(f"{os.fspath(path)}, line {number}: merges {left} and {right}, as line {lines[merge]} does")


def read_vocab(path: Path) -> PackedVocab:
    """Read a vocab.json: an object from spelled tokens to ids."""
    entries = read_entries(path)
    packed = packed_entries(entries)
    return PackedVocab.of(vocab_of(entries, unspelled(entries), os.fspath(path))) if packed is None else packed


def read_entries(path: Path) -> dict[str, Any]:
    """Read the object of a vocab.json, without checking its entries."""
    entries = read_json(path)
    if not isinstance(entries, dict):
        raise ValueError(f"{os.fspath(path)}: must hold a JSON object from tokens to ids, not {type(entries).__name__}")
    if entries and all(isinstance(token, str) and key.isdecimal() for key, token in entries.items()):
        key, token = next(iter(entries.items()))
        raise ValueError(
            f"{os.fspath(path)}: maps ids to tokens ({shown(key)}: {shown(token)}), and GPT-2's vocab.json maps tokens "
            "to ids: swap them, and spell bytes as GPT-2 does (Tokenizer.save_gpt2, or `nbbpe convert --to gpt2`, "
            "writes both files)"
        )
    return entries


def vocab_of(entries: dict[str, Any], tokens: dict[str, bytes], name: str) -> dict[int, bytes]:
    """Make a vocabulary from entries (spelled tokens) with their ids.

    tokens : the result of `unspelled` for the entries; an entry that is missing there stands for its own UTF-8
    name   : the name of the file or its part in errors
    """
    owners: dict[int, str] = {}
    for text, token_id in entries.items():
        if type(token_id) is not int or token_id < 0:
            raise ValueError(f"{name}: token {shown(text)} has the id {shown(token_id)}, which is not an integer from 0 up")
        if token_id > MAX_ID:
            raise ValueError(f"{name}: token {shown(text)} has the id {shown(token_id)}; ids must be at most {MAX_ID:,}")
        if owners.setdefault(token_id, text) != text:
            raise ValueError(f"{name}: id {token_id} is given to {shown(owners[token_id])} and to {shown(text)}")
    try:
        return {token_id: tokens.get(text) or text.encode() for text, token_id in entries.items()}
    except UnicodeEncodeError as error:
        raise ValueError(f"{name}: token {shown(error.object)} holds a lone surrogate, which has no UTF-8") from None


def spelled_vocab(vocab: PackedVocab, special: Mapping[str, int] | None = None) -> dict[str, int]:
    """The spelled tokens of a vocabulary with their ids, in the order of ids.

    Special tokens stay unspelled, as other libraries write them, if `read_vocab` reads the same token from that. Raises
    ValueError if two ids have equal tokens, which the format cannot hold.
    """
    texts, ids = spelled_tokens(vocab.lengths, vocab.text), vocab.ids.tolist()
    names = {token_id: token for token, token_id in (special or {}).items() if token_of(token) == token.encode()}
    spelled: dict[str, int] = {}
    for text, token_id in zip(texts, ids, strict=True):
        first = spelled.setdefault(names.get(token_id, text), token_id)
        if first != token_id:
            raise ValueError(f"ids {first} and {token_id} are both {shown(token_of(text))}, which vocab.json cannot hold")
    return spelled


def _read_packed_merges(path: Path, entries: Mapping[str, int]) -> NDArray[np.int32] | None:
    """Read the merges of a merges.txt by `packed_merges`; None if it cannot."""
    check_tokenizer_file(path)
    with open(path, "rb") as file:
        data = file.read().removesuffix(b"\n")
    if data.startswith(b"#version"):
        data = data.partition(b"\n")[2]
    try:
        return packed_merges(data.decode(), entries)
    except UnicodeDecodeError:
        return None


def read_merges(path: Path, tokens: dict[str, bytes]) -> dict[int, tuple[bytes, bytes]]:
    """Read a merges.txt: {line number: (left, right)}. A first line that begins with #version is skipped.

    tokens : the result of `unspelled` for some texts, whose tokens are looked up here to save time
    """
    merges: dict[int, tuple[bytes, bytes]] = {}
    for number, line in read_merge_lines(path).items():
        try:
            left, right = [tokens.get(side) or unspell(side) for side in line.split(" ")]
        except KeyError as error:
            raise ValueError(
                f"{os.fspath(path)}, line {number}: the character {error.args[0]!r} in {shown(line)} stands for no byte"
            ) from None
        merges[number] = left, right
    return merges


def read_merge_lines(path: Path) -> dict[int, str]:
    """Read the merges of a merges.txt without unspelling them: {line number: "left right"}."""
    name = os.fspath(path)
    check_tokenizer_file(path)
    with open(path, "rb") as file:
        lines = file.read().split(b"\n")
    first = int(lines[0].startswith(b"#version"))
    found: dict[int, str] = {}
    for number, raw in enumerate(lines[first:], start=first + 1):
        try:
            line = raw.decode().rstrip("\r")
        except UnicodeDecodeError:
            raise ValueError(f"{name}, line {number}: not valid UTF-8: {shown(raw)}") from None
        if not line:
            continue
        if line.count(" ") != 1 or line[0] == " " or line[-1] == " ":
            raise ValueError(f"{name}, line {number}: must be two tokens with one space between them, and is {shown(line)}")
        found[number] = line
    return found


def write(vocab_path: Path, merges_path: Path, model: Model, version_line: bool = True) -> None:
    """Write vocab.json and merges.txt, each as an atomic write; Ctrl-C leaves both or none.

    Before anything is written, raises ValueError for what the format cannot hold (two ids of equal tokens, two special
    tokens of one id, or without a version line a first merge that looks like one) or if both paths are the same, and
    FileExistsError for files of a folder that Tokenizer.save wrote.
    """
    check_bool("version_line", version_line)
    targets = target_of(vocab_path), target_of(merges_path)
    if targets[0] == targets[1]:
        raise ValueError(f"{os.fspath(vocab_path)!r} is given for both files, of which one would replace the other")
    for path, target in zip((vocab_path, merges_path), targets, strict=True):
        if find_owner(target, OWN_NAMES):  # even for the same tokenizer, as the folder's own files hold more
            raise belongs_to_folder(path)
    check_plain(model, "the format of GPT-2's files")
    if model.whole:
        raise ValueError(
            "this tokenizer takes pretokens that are tokens as they are, which merges.txt cannot express. A tokenizer.json "
            f"({WRITES_JSON}) can, and a .tiktoken file of ranks if ranks give the same ids"
        )
    model.listed_merges()  # raises if the model has no list of merges
    check_distinct_ids(model.special, ", which vocab.json cannot hold")
    merges = model.merge_ids
    if merges is not None and has_twice(merges):
        # Of equal merges, nbbpe uses the first, and other libraries the last: so only the first is written.
        _, first = np.unique(merges[:, :2], axis=0, return_index=True)
        model = copy.copy(model)
        model.merge_ids = merges[np.sort(first)]
    lines = lines_of(model)
    if not version_line and lines.startswith("#version"):
        raise ValueError(
            "the first merge begins with '#version', so that readers would take it for the version line of merges.txt and "
            "skip it: write that line, with version_line=True"
        )
    with name_before(vocab_path) as new_vocab, name_before(merges_path) as new_merges:
        with name_in_errors(vocab_path):
            write_vocab(new_vocab, model.packed, model.special)
        write_merges(new_merges, lines, version_line)
        put_together([(new_merges, merges_path), (new_vocab, vocab_path)])
    if n_skipped := f"\n{lines}".count("\n#version"):
        is_one = n_skipped == 1
        warn_user(
            f"{os.fspath(merges_path)}: {n_skipped:,} merge{'' if is_one else 's'} begin{'s' if is_one else ''} with "
            "'#version'. nbbpe reads such lines, but tokenizers (Hugging Face's) skips them, so that its ids may differ; "
            f"{WRITES_JSON}, writes a file that it reads completely"
        )


def write_vocab(path: Path, vocab: PackedVocab, special: Mapping[str, int] | None = None) -> None:
    """Write a vocab.json in the order of ids, as OpenAI's is. Raises ValueError if two ids have equal tokens."""
    write_text(path, json.dumps(spelled_vocab(vocab, special)))  # json.dump is slow: it runs in Python, entry by entry


def lines_of(model: Model) -> str:
    """The lines of a merges.txt, without the version line."""
    sides = model.sides()
    return "" if sides is None else spelled_lines(*sides)


def write_merges(path: Path, lines: str, version_line: bool = True) -> None:
    """Write a merges.txt: a version line, as OpenAI's has, if `version_line`, and `lines` (see `lines_of`)."""
    write_text(path, ("#version: 0.2\n" if version_line else "") + lines)
