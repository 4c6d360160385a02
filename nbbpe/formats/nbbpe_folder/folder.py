"""Reads and writes nbbpe's own folder: vocab.json and merges.txt as in GPT-2, and nbbpe.json with everything else.

A vocabulary of ranks without a list of merges has no merges.txt, and nbbpe.json says so. A large vocabulary is also saved
as nbbpe.tables, which loads faster and is never required, see table_file.py. For other libraries there is a
tokenizer.json, if it can hold the tokenizer, see for_transformers.py; nbbpe does not read it.

Several files cannot be replaced at once. A new folder gets its name when all of its files are complete. In an existing
folder, nbbpe.json says that a save is under way until all other files are replaced, so that an interrupted save is
recognised.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ...kernels.compiler.collector import paused_collector
from ...model.extras import Extras
from ...model.model import Model
from ...model.packed_vocab import PackedVocab
from ...model.provenance import check_classes, taken_as_it_is
from ...model.special_tokens import tokens_for_placing
from ...model.vocab_checks import check_bytes
from ...patterns.pattern_argument import get_pattern
from ...system.atomic_files import name_in_errors, put, sync
from ...system.choices import check_bool
from ...system.excerpt import shown
from ...system.links import target_of
from ...system.paths import Path, checked_name, not_meant
from ...system.scratch import remove_leftovers, scratch_folder
from ...system.signals_later import handlers_later
from ...system.wrong_argument import WrongArgument
from ...text.normalizer import as_normalizer
from ..shared.json_text import check_format, read_json
from ..shared.named_errors import naming
from ..shared.owners import ABOUT, OWN_NAMES
from ..tokenizer_json.character_spelling import with_bytes, with_spelled_bytes
from ..vocab_json import gpt2
from . import for_transformers, table_file
from .entries import read_extras, read_origin, read_special_tokens, spelled_extras

_VOCAB, _MERGES = OWN_NAMES
_TABLES = table_file.TABLES
_VERSION = 1
_VERSION_WITH_RULES = 2  # if special tokens are found by rules that an older nbbpe, which must not read it, ignores
_COPY = "tokenizer_json"  # the entry about the files for other libraries, see for_transformers.py
_SAVING = "saving"  # the entry that marks a folder whose files may be of two tokenizers
# What to call instead if `path` looks like a file of another library, whose `save` writes such a file.
_WRITES_FILE = {".json": "Tokenizer.to_hf", ".tiktoken": "Tokenizer.save_tiktoken"}


@contextmanager
def scratch_for(path: Path, copy: str = "") -> Iterator[tuple[str, str]]:
    """Yield the folder to save a tokenizer in, with symlinks resolved, and a scratch folder on the same disk.

    copy : the text of the tokenizer.json that will be written; an identical file may already be there

    Raises FileNotFoundError for an empty name, NotADirectoryError for a file, ValueError if a new folder has the name of a
    file of another format, FileExistsError if files that `write` would replace are not nbbpe's, PermissionError if the
    folder or one of these files is a symlink of another user, and OSError if the folder is not writable.
    """
    shown = checked_name(path)
    folder = target_of(shown)
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise NotADirectoryError(f"{shown!r} is a file; give a folder to save the tokenizer in")
    ending = os.path.splitext(folder)[1]
    if ending in _WRITES_FILE and not os.path.isdir(folder):
        raise WrongArgument(
            f"{shown!r} is the name of a file, and a tokenizer is saved in a folder: give another name "
            f"({_WRITES_FILE[ending]} writes one {ending} file, as `nbbpe convert` does)"
        )
    _check_ours(folder, shown, copy)
    remove_leftovers(os.path.dirname(folder))  # left by a save that was killed just after it had made the folder
    # Inside the folder if it exists: it may be a mount point, or its parent may not be writable.
    with (
        name_in_errors(shown),
        scratch_folder(os.path.join(folder, ABOUT) if os.path.isdir(folder) else folder, shown) as scratch,
    ):
        yield folder, scratch


def write(path: Path, model: Model) -> None:
    """Write a model to a folder, which is made if it is missing. Old files are replaced when all new ones are complete.

    If this is interrupted at any time, `read_model` gives the old model, the new model, or an error that says so. Ctrl-C
    is handled when all files are in place.

    Raises what `scratch_for` does.
    """
    about = _about(model)
    copy, about[_COPY] = for_transformers.content_of(model)
    with scratch_for(path, copy) as (folder, scratch):
        new = os.path.join(scratch, "new")
        os.mkdir(new)
        names = [*_write_vocabulary(new, model), *for_transformers.write(new, folder, copy, model), ABOUT]
        for_transformers.write_json(os.path.join(new, ABOUT), about)
        if not os.path.exists(folder):
            try:
                put(new, folder)
                return
            except OSError:
                if not os.path.isdir(folder):  # if it exists now, another process has made it meanwhile
                    raise
        _check_ours(folder, os.fsdecode(path), copy)
        _replace(folder, new, names, os.path.join(scratch, ABOUT))


def _about(model: Model) -> dict[str, Any]:
    """The content of nbbpe.json for a model, without the entry about the files for other libraries."""
    about = {
        "format": "nbbpe",
        "version": _VERSION_WITH_RULES if model.search else _VERSION,
        "pattern": model.pattern.spelling,
        "special_tokens": model.special,
        # These two are only for checks: `read_model` compares them with the tokenizer that it has read.
        "fingerprint": model.fingerprint,
        "provenance": model.provenance,
    }
    if model.normalizer.kinds:
        about["normalizer"] = model.normalizer.spelling
    about.update(spelled_extras(model))
    if model.merges is None:
        about["merging"] = "ranks"
    elif model.whole:
        about["merging"] = "whole"
    return about


def _write_vocabulary(new: str, model: Model) -> list[str]:
    """Write the tokens and merges into a new folder; returns the names of the files."""
    names = [_VOCAB]
    vocab, fallback = model.packed_ordinary, model.extras.byte_fallback
    gpt2.write_vocab(os.path.join(new, _VOCAB), with_spelled_bytes(vocab, fallback) if fallback else vocab)
    if model.merges is not None:
        gpt2.write_merges(os.path.join(new, _MERGES), gpt2.lines_of(model))
        names.append(_MERGES)
    if len(model.packed_ordinary.ids) >= table_file.LEAST:
        table_file.write(new, model, names)
        names.insert(0, _TABLES)
    return names


def _replace(folder: str, new: str, names: Sequence[str], saving: str) -> None:
    """Move the files of a new folder into an existing one, and remove other files of an older save.

    names  : the names of the files; the last one is nbbpe.json
    saving : the path where a temporary nbbpe.json is made, which marks the folder until all other files are moved
    """
    # The entry _COPY lets the next save replace the files for other libraries, even if this one has not written them.
    for_transformers.write_json(saving, {"format": "nbbpe", "version": _VERSION, _SAVING: True, _COPY: {}})
    for name in names:
        sync(os.path.join(new, name))  # may take long, and so is done before Ctrl-C has to wait
    with handlers_later():
        put(saving, os.path.join(folder, ABOUT))
        for name in {_MERGES, _TABLES, *for_transformers.NAMES}.difference(names):
            with suppress(FileNotFoundError):
                os.remove(os.path.join(folder, name))
        for name in names:
            put(os.path.join(new, name), os.path.join(folder, name))


def _check_ours(folder: str, shown: str, copy: str) -> None:
    """Raise FileExistsError or PermissionError if a folder has files that `write` must not replace."""
    own = [_VOCAB, _MERGES, _TABLES]
    for name in (ABOUT, *own, *for_transformers.NAMES):
        target = target_of(os.path.join(folder, name))
        # Checked now, as the save could not be undone once nbbpe.json says that it is under way.
        if os.path.exists(target) and not os.path.isfile(target):
            raise FileExistsError(
                f"{shown!r} has a {name} that is a folder, a pipe or a device, and not a file: give another folder, or "
                "move it away"
            )
    # Listed before nbbpe.json is read: another process may create the folder in between, with all files in it.
    there = [name for name in (*own, *for_transformers.NAMES) if os.path.lexists(os.path.join(folder, name))]
    about_path = os.path.join(folder, ABOUT)
    has_about = os.path.exists(about_path)
    about: Any = None
    with suppress(OSError, ValueError):
        about = read_json(about_path)
    is_listed = isinstance(about, dict) and for_transformers.is_listed(about.get(_COPY))
    may_replace = set(own) if has_about else set()
    if is_listed or for_transformers.is_same(folder, copy):
        may_replace.update(for_transformers.NAMES)
    for name in there:
        if name not in may_replace:
            missing = f"that its {ABOUT} does not mention" if has_about else f"and no {ABOUT}"
            raise FileExistsError(
                f"{shown!r} has a {name} {missing}, so nbbpe must not replace it: give another folder, or move the "
                "file away"
            )


@paused_collector()
def read_model(path: Path, check: bool = True) -> Model:
    """Read what `write`, or an older nbbpe, wrote. (Older ones stored less provenance.)

    Raises FileNotFoundError, or ValueError that names what is broken or says that a save was interrupted. With `check`,
    also raises ValueError if the files were not saved together, or if `regex` is another version than the one that the
    tokenizer was made with and classifies characters differently.
    """
    check_bool("check", check)
    folder = os.fsdecode(path)
    about_path = os.path.join(folder, ABOUT)
    about = _read_about(folder)
    special = read_special_tokens(about.get("special_tokens"), about_path)
    if "pattern" not in about:
        raise ValueError(f"{about_path}: has no pattern")
    with naming(about_path):
        try:
            pattern = get_pattern(about["pattern"])
        except TypeError as error:
            raise ValueError(str(error)) from None
        normalizer = as_normalizer(about.get("normalizer"))
        extras = read_extras(about, special)
    fingerprint, provenance = read_origin(about, about_path)
    has_merges, whole = _merging(about, about_path)
    origin = provenance if check else taken_as_it_is(provenance, pattern)

    def model_of(vocab: PackedVocab, merges: Any) -> Model:
        _check_tokens(vocab, special, {token: extras.bytes_of(token) for token in extras.shared}, folder)
        with naming(folder):
            return Model(vocab, merges if has_merges else None, special, pattern, whole, origin, normalizer, extras)

    model = None
    # Without a fingerprint to check the tables by, only the readable files count.
    if check and fingerprint is not None:
        model = _model_of_tables(folder, [_VOCAB, _MERGES] if has_merges else [_VOCAB], fingerprint, model_of)
    if model is None:
        model = model_of(*_read_vocabulary(folder, has_merges, extras))
        if check and fingerprint not in (None, model.fingerprint):
            raise ValueError(
                f"{folder}: the files are not those that were saved together (fingerprint {model.fingerprint}, and "
                f"nbbpe.json says {shown(fingerprint)}): save the tokenizer again, or pass check=False to "
                "nbbpe.load to take it as it is now"
            )
    if check:
        for_transformers.check(folder, about.get(_COPY), model)
        check_classes(provenance, pattern, folder)
    return model


def _read_about(folder: str) -> dict[str, Any]:
    """Read the nbbpe.json of a folder. Raises FileNotFoundError, or ValueError if it is invalid or a save was cut short."""
    path = os.path.join(folder, ABOUT)
    if not os.path.exists(path):
        if not os.path.exists(folder):
            raise FileNotFoundError(f"{folder!r} is missing{not_meant(folder)}")
        raise FileNotFoundError(
            f"{folder!r} is not a folder that Tokenizer.save wrote, as it has no nbbpe.json; nbbpe.load reads other formats"
        )
    about: dict[str, Any] = read_json(path)
    check_format(about, path, "nbbpe", _VERSION, _VERSION_WITH_RULES)
    if about.get(_SAVING):
        raise ValueError(
            f"{folder}: a save to this folder was cut short, so its files may be of two tokenizers (or another process is "
            "saving there now): save the tokenizer again"
        )
    return about


def _merging(about: dict[str, Any], about_path: str) -> tuple[bool, bool]:
    """Read the entry merging: (whether there is a list of merges, whether a pretoken that is a token is not merged)."""
    whole = about.get("merging") == "whole"
    has_merges = "merging" not in about or whole
    if not has_merges and about["merging"] != "ranks":
        raise ValueError(
            f"{about_path}: has merging {shown(about['merging'])}, and this nbbpe knows only 'ranks' and 'whole'"
        )
    return has_merges, whole


def _read_vocabulary(folder: str, has_merges: bool, extras: Extras) -> tuple[PackedVocab, Any]:
    """Read the tokens and merges that `_write_vocabulary` wrote."""
    vocab_path = os.path.join(folder, _VOCAB)
    if has_merges:
        vocab, merges = gpt2.read(vocab_path, os.path.join(folder, _MERGES))
    else:
        vocab, merges = gpt2.read_vocab(vocab_path), []
    if extras.byte_fallback:
        with naming(os.path.join(folder, ABOUT)):
            vocab = with_bytes(vocab, extras.byte_fallback)
    return vocab, merges


def _model_of_tables(
    folder: str, names: list[str], fingerprint: str, model_of: Callable[[PackedVocab, Any], Model]
) -> Model | None:
    """Read the model from a folder's nbbpe.tables; None if the file is missing or does not prove to hold this tokenizer.

    names : the names of the readable files beside it
    """
    tables = table_file.read_tables(folder, names)
    if tables is None:
        return None
    try:
        model = model_of(*tables)
    except ValueError:  # reading the readable files raises the same error, or none
        return None
    return model if table_file.is_proven(model, fingerprint) else None


def _check_tokens(vocab: PackedVocab, special: dict[str, int], shared: dict[str, bytes], folder: str) -> None:
    """Raise ValueError for an invalid vocabulary, or special tokens that do not fit it.

    shared : the special tokens that share their ids with ordinary tokens, and the bytes of these
    """
    about_path, vocab_path = os.path.join(folder, ABOUT), os.path.join(folder, _VOCAB)
    ordinary = tokens_for_placing(special, vocab)
    for token, token_id in special.items():  # two may have one id, as in an encoding of tiktoken's
        if token in shared and ordinary.get(token_id) != shared[token]:
            raise ValueError(
                f"{about_path}: special token {shown(token)} shares its id, {token_id}, with an ordinary token, which "
                f"{vocab_path} does not have"
            )
        if token_id in ordinary and token not in shared:
            raise ValueError(
                f"{about_path}: special token {shown(token)} has id {token_id}, as {shown(ordinary[token_id])} has"
            )
    with naming(vocab_path):
        check_bytes(vocab)
