"""Finds tokenizers by well-known names, with the libraries that provide them: tiktoken and huggingface_hub.

These libraries download files as they are configured, into their own caches.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from ..system.excerpt import shown
from .ranks.tiktoken_package import tiktoken_package
from .shared.transformers_names import ADDED, CONFIG, MAP, MODEL_CONFIG

_ORG_MODEL = re.compile(r"([\w.-]+/[\w.-]+)(?:@([\w./-]+))?")
# The files in a model's repository that hold a tokenizer; the first that exist are used. The last two are ranks, as Llama
# 3's, or of sentencepiece.
_FILES = [["tokenizer.json"], ["tekken.json"], ["vocab.json", "merges.txt"], ["tokenizer.model"], ["tiktoken.model"]]
# The files that transformers saves beside these; a repository may have any of them.
_BESIDE = {"tokenizer.json": (CONFIG, MAP, ADDED), "vocab.json": (CONFIG, MAP, ADDED, MODEL_CONFIG)}
_ENCODINGS = ("gpt2", "r50k_base", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base", "o200k_harmony")


def found_by_name(name: str) -> Any:
    """Find a tokenizer by name: an encoding of tiktoken, or the path or paths of a model's files; None for other names.

    name : of an encoding, or of a model, which may include a revision (a commit, branch or tag): "org/model@revision"

    Raises FileNotFoundError that says what is missing: the library, the network, or the files.
    """
    if name in _ENCODINGS:
        return _encoding(name)
    found = _ORG_MODEL.fullmatch(name)
    if found is None or name.startswith(".") or os.path.exists(os.path.dirname(found[1])):
        return None
    return _of_hub(*found.groups())


def at_revision(name: object, revision: object) -> str:
    """Append a revision to the name of a model, for `found_by_name`.

    Raises TypeError if the name is not that of a model, or has a revision already, or if the revision is not a str.
    """
    if not isinstance(revision, str):
        raise TypeError(f"revision must be a commit, branch or tag as a str, or None, not {shown(revision)}")
    found = _ORG_MODEL.fullmatch(name) if isinstance(name, str) else None
    if found is None or os.path.exists(name):  # type: ignore[arg-type]
        raise TypeError(
            f"revision={shown(revision)} is for the name of a model on Hugging Face's hub, such as 'org/model', not for "
            f"{shown(name)}"
        )
    if found[2]:
        raise TypeError(f"{name!r} has a revision, {found[2]!r}: leave revision={shown(revision)} out")
    return f"{name}@{revision}"


def encoding_of_model(name: str) -> str | None:
    """The name of the encoding of an OpenAI model, such as "gpt-4o"; None for other names, or without tiktoken."""
    try:
        return tiktoken_package().model.encoding_name_for_model(name)
    except (ImportError, AttributeError, KeyError):  # older versions do not have this function
        return None


def _encoding(name: str) -> Any:
    try:
        tiktoken = tiktoken_package()
    except ModuleNotFoundError as error:
        if error.name != "tiktoken":
            raise
        raise FileNotFoundError(
            f"{name!r} is not a file here, and tiktoken, which has the encoding of this name, is not installed: "
            'pip install "nbbpe[tiktoken]", or give the path of a .tiktoken file'
        ) from None
    try:
        return tiktoken.get_encoding(name)
    except Exception as error:  # tiktoken may use any library to download, with its errors
        raise FileNotFoundError(
            f"{name!r} is not a file here, and tiktoken could not fetch the encoding of this name "
            f"({_reason(error)}). Without a network, put its file into a folder and name "
            "that in TIKTOKEN_CACHE_DIR (see tiktoken), or give the path of a .tiktoken file"
        ) from None


def _of_hub(name: str, revision: str | None) -> Any:
    if importlib.util.find_spec("huggingface_hub") is None:
        raise FileNotFoundError(
            f"{name!r} is not a file here, and huggingface_hub, which fetches models by such names, is not installed: pip "
            "install huggingface_hub, or give the path of the model's tokenizer.json"
        )
    import huggingface_hub
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    whole_name = f"{name}@{revision}" if revision else name
    problem = _not_reached(huggingface_hub, name, revision)
    for files in _FILES:
        # Without a network, only the cache is searched.
        fetch = partial(huggingface_hub.hf_hub_download, name, revision=revision, local_files_only=problem is not None)
        try:
            paths = tuple(map(fetch, files))
            for file in _BESIDE.get(files[0], ()):
                _fetch_if_there(fetch, file, problem is not None)
        except LocalEntryNotFoundError as error:  # no network, and not in the cache
            problem = problem or error
            continue
        except EntryNotFoundError:
            continue
        except Exception as error:  # huggingface_hub may use any library to download, with its errors
            problem = error
            break
        return paths[0] if len(paths) == 1 else paths
    if problem is None:
        raise FileNotFoundError(
            f"the model {whole_name!r} has none of " + ", ".join(" with ".join(files) for files in _FILES)
        )
    raise FileNotFoundError(
        f"{whole_name!r} is not a file here, and huggingface_hub could not fetch the model of this name "
        f"({_reason(problem)}). Give the path of the model's tokenizer.json"
    ) from None


def _fetch_if_there(fetch: Callable[[str], object], file: str, offline: bool) -> None:
    """Download a file of a model to the cache, if the repository has it; offline, do nothing if it is not in the cache."""
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    try:
        fetch(file)
    except LocalEntryNotFoundError:
        if not offline:
            raise
    except EntryNotFoundError:
        pass


def _not_reached(hub: Any, name: str, revision: str | None) -> Exception | None:
    """Return the error if the hub cannot be reached; None if it answers, even with an error.

    This makes one request. Without a network, `hf_hub_download` would try again for 24 seconds and print warnings.
    """
    try:
        hub.get_hf_file_metadata(hub.hf_hub_url(name, _FILES[0][0], revision=revision))
    except hub.errors.HfHubHTTPError:
        pass
    except Exception as error:  # errors of any library, as above
        return error
    return None


def _reason(error: Exception) -> str:
    """A short reason for a download error: the message of the system error that caused it, if there is one."""
    import textwrap

    found: BaseException | None = error
    while found is not None and not (isinstance(found, OSError) and found.strerror):
        found = found.__cause__ or found.__context__
    if isinstance(found, OSError):
        return str(found.strerror)
    return f"{type(error).__name__}: {textwrap.shorten(str(error), 200, placeholder=' ...')}"
