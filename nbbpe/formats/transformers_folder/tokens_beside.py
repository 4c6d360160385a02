"""Reads the tokens that files beside a tokenizer.json, or beside vocab.json (see two_files.py), add or change.

transformers adds the tokens of tokenizer_config.json that the tokenizer.json lacks, with the next ids; so does it with the
pad token of the tokenizer.json's padding, if the config has none. If the config has no added_tokens_decoder, as in older
versions, special_tokens_map.json and added_tokens.json count, too. Nothing else in these files changes ids here: neither
`add_bos_token`, which transformers 5 ignores beside a tokenizer.json, nor the class. (For some classes, AutoTokenizer of
transformers 5 uses only vocab and merges of the tokenizer.json, and the pattern in its own code. If these differ, its ids
are not those that the model was trained with; nbbpe follows the file, as transformers 4 does.)
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from ...system.excerpt import shown
from ...text.steps import steps_of
from ..shared.json_text import read_json
from ..shared.named_errors import naming
from ..shared.transformers_names import ADDED, CONFIG, JSON, LISTS, MAP, ROLES
from ..tokenizer_json.added_tokens import TOKEN_FLAGS


class Named(NamedTuple):
    """A special token that a file names.

    role      : its role, or another name; None for a token in a list
    token     : the token with all flags
    has_flags : whether the file gives the flags
    """

    role: str | None
    token: dict[str, Any]
    has_flags: bool


class Beside(NamedTuple):
    """The content of the files beside a tokenizer.

    config    : the tokenizer_config.json
    listed    : tokens by id, from its added_tokens_decoder, or if it has none, from the older added_tokens.json
    named     : the special tokens in roles and lists, in the order of transformers 5
    otherwise : (file, token) of special tokens with other names, such as image_token, which only some versions know
    dropped   : tokens in a list of the older special_tokens_map.json that the list in the config lacks
    """

    config: dict[str, Any]
    listed: dict[int, dict[str, Any]]
    named: list[Named]
    otherwise: list[tuple[str, Named]]
    dropped: list[str]

    def in_turn(self) -> list[Named]:
        """`named`, and those of `otherwise` that are also in `named`, in the order in which transformers 5 handles them."""
        texts = {each.token["content"] for each in self.named}
        others = [each for _, each in self.otherwise if each.token["content"] in texts]
        return sorted([*self.named, *others], key=lambda each: each.role is None)


def read_beside(folder: str, config: dict[str, Any]) -> Beside:
    """Read the files beside a tokenizer. Raises ValueError that names a broken file.

    config : the tokenizer_config.json, with default tokens for roles that it does not mention
    """
    with naming(os.path.join(folder, CONFIG)):
        named, otherwise = list(_named(config)), _otherwise_named(CONFIG, config)
        if "added_tokens_decoder" in config:
            texts = {each.token["content"] for each in [*named, *(each for _, each in otherwise)] if each.role is not None}
            return Beside(config, _by_id(config["added_tokens_decoder"], texts), named, otherwise, [])
    roles = read_object(folder, MAP)
    lists = {name: config[name] for name in LISTS if config.get(name)}
    with naming(os.path.join(folder, MAP)):
        named = list(_named(config | roles | lists))
        in_map = [each.token["content"] for each in _named({name: roles.get(name) for name in LISTS})]
    special = {each.token["content"] for each in named}
    listed = {}
    with naming(os.path.join(folder, ADDED)):
        for text, token_id in read_object(folder, ADDED).items():
            if type(token_id) is not int:
                raise ValueError(f"the id of {shown(text)} must be an integer, and is {shown(token_id)}")
            listed[token_id] = _token({"content": text}, text in special)
    otherwise += _otherwise_named(MAP, roles)
    return Beside(config, listed, named, otherwise, [text for text in in_map if text not in special] if lists else [])


def tokens_beside(folder: str, document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The added tokens of a folder that its tokenizer.json lacks, or has with other flags, in transformers' order.

    document : the content of a valid tokenizer.json

    Raises ValueError that names a file that is broken, or that versions of transformers read differently.
    """
    own, padding = document.get("added_tokens") or [], document.get("padding")
    roles = {"pad_token": padding.get("pad_token")} if isinstance(padding, dict) else {}
    beside = read_beside(folder, {**roles, **read_object(folder, CONFIG)})
    config, listed, named, otherwise, _ = beside
    _check_prefix_space(folder, config, document)
    _check_versions(folder, config.get("fast_tokenizer_files"))
    known = {token["content"]: _token(token, False) for token in own}
    by_id = {token["content"] for token in listed.values()}
    if "added_tokens_decoder" not in config:
        listed |= {token["id"]: known[token["content"]] for token in own}
        by_id = set(known)
        _check_emptied(folder, config, [each.token["content"] for each in named if each.role is None], known)
    added = {token["content"]: token for _, token in sorted(listed.items())}
    _check_lists(folder, beside, known.keys() | added.keys())
    _check_rules(folder, beside.in_turn(), known | added, by_id)
    for each in named:
        text = each.token["content"]
        if text not in known:
            added.setdefault(text, each.token)
    for name, each in otherwise:
        text = each.token["content"]
        if text not in added and text not in known:
            raise ValueError(
                f"{os.path.join(folder, name)}: {each.role} is {shown(text)}, which is not a token elsewhere in the "
                "folder, and versions of transformers differ in whether it becomes one. Remove it, or give the path of "
                "tokenizer.json"
            )
    # Tokens with a role, or that are special in the tokenizer.json, are special: decoding can skip them.
    special = {each.token["content"] for each in [*named, *(each for _, each in otherwise)] if each.role is not None}
    special |= {text for text, token in known.items() if token["special"]}
    added = {text: token | {"special": token["special"] or text in special} for text, token in added.items()}
    return [token for text, token in added.items() if text and token != known.get(text)]


def _check_versions(folder: str, files: object) -> None:
    """Raise ValueError if the folder has other files for other versions of transformers."""
    if isinstance(files, list) and any(name != JSON for name in files):
        raise ValueError(
            f"{os.path.join(folder, CONFIG)}: fast_tokenizer_files is {shown(files)}, and the version of transformers "
            "decides which of them it reads. Give the path of the one that you mean"
        )


def _check_emptied(folder: str, config: Mapping[str, Any], others: list[str], known: Collection[str]) -> None:
    """Raise ValueError if the older map lists special tokens without a role, but the list in the config is empty.

    transformers 4 adds these tokens, and 5 usually does not. Tokens that the tokenizer.json has are not affected.
    """
    emptied = [name for name in LISTS if name in config and not config[name]]
    alone = [text for text in others if text not in known]
    if emptied and alone and not any(config.get(name) for name in LISTS):
        raise ValueError(
            f"{os.path.join(folder, MAP)}: {shown(alone[0])} is not in {JSON}, and {emptied[0]} is empty in {CONFIG}; "
            f"versions of transformers differ in whether it is a special token. Remove {emptied[0]} there, or give the "
            "path of tokenizer.json"
        )


def _check_lists(folder: str, beside: Beside, known: Collection[str]) -> None:
    """Raise ValueError if versions of transformers differ in the tokens, or their ids, that lists of special tokens give.

    transformers 4 adds the tokens of a list before those with other names than roles, and 5 after them. And 4 adds the
    tokens of the older special_tokens_map.json to those of the config, and 5 does not.
    """
    new = [each for each in beside.in_turn() if each.token["content"] not in known]
    older = sorted(new, key=lambda each: 1 if each.role is None else 2 * (each.role not in ROLES))
    orders = [list(dict.fromkeys(each.token["content"] for each in order)) for order in (new, older)]
    lacking = next((text for text in beside.dropped if text not in known), None)
    if lacking is None and orders[0] == orders[1]:
        return
    if lacking is not None:
        reason = f"{os.path.join(folder, MAP)}: {shown(lacking)} is in a list there, but not in the list in {CONFIG}"
    else:
        text = next(text for text, other in zip(*orders, strict=True) if text != other)
        reason = f"{folder}: {CONFIG} or {MAP} has a list of special tokens, and {shown(text)} with a name of its own"
    raise ValueError(
        f"{reason}; versions of transformers then give different ids. Give the path of tokenizer.json, or save the "
        "tokenizer again"
    )


def _check_rules(folder: str, named: list[Named], known: Mapping[str, Any], by_id: Collection[str]) -> None:
    """Raise ValueError if a token is named with other flags than it has elsewhere.

    known : the tokens that the tokenizer.json or a list by id has
    by_id : the known tokens whose flags transformers 4 does not change if they have a role

    If a token that is not known is named several times, transformers 4 uses the first flags, and 5 the last. For a known
    token, 4 uses the flags where it is named (except in a role, see `by_id`), and 5 does not.
    """
    first: dict[str, dict[str, Any]] = {}
    for role, token, has_flags in named:
        text = token["content"]
        if text in known and (not has_flags or (role in ROLES and text in by_id)):
            continue
        for flag in TOKEN_FLAGS:
            if (known.get(text) or first.setdefault(text, token))[flag] != token[flag]:
                having = "with" if token[flag] else "without"
                raise ValueError(
                    f"{folder}: {CONFIG} or {MAP} names {shown(text)} {having} {flag}, unlike another place in the folder, "
                    "and versions of transformers differ in which of them counts. Make the two alike, or give the path of "
                    "tokenizer.json"
                )


def _check_prefix_space(folder: str, config: Mapping[str, Any], document: Mapping[str, Any]) -> None:
    """Raise ValueError if a config contradicts the tokenizer.json about the space in front of texts.

    Then transformers 4 follows the config, and 5 usually the tokenizer.json. (Neither changes a pre_tokenizer that is a
    Sequence.) For a vocabulary of characters with such a space, it depends on the class whether a config that says False
    counts.
    """
    wanted, pre_tokenizer = config.get("add_prefix_space"), document.get("pre_tokenizer")
    has = pre_tokenizer.get("add_prefix_space") if isinstance(pre_tokenizer, dict) else None
    if has is None and document["model"].get("byte_fallback") is True and wanted is False:
        steps = [*steps_of(document.get("normalizer"), "normalizer"), *steps_of(pre_tokenizer, "pre_tokenizer")]
        has = any(step["type"] == "Prepend" or step.get("prepend_scheme") in ("always", "first") for step in steps)
    if isinstance(wanted, bool) and isinstance(has, bool) and wanted != has:
        raise ValueError(
            f"{os.path.join(folder, CONFIG)}: add_prefix_space is {wanted}, and in tokenizer.json it is {has}; versions of "
            "transformers differ in which of them counts. Make the two alike, or give the path of tokenizer.json"
        )


def read_object(folder: str, name: str) -> dict[str, Any]:
    """Read the JSON object in a file of the folder; {} if the file is missing.

    Raises ValueError that names the file if it is invalid JSON, or not an object.
    """
    path = os.path.join(folder, name)
    if not os.path.lexists(path):
        return {}
    found = read_json(path)
    if not isinstance(found, dict):
        raise ValueError(f"{path}: must be an object, and is {shown(found)}")
    return found


def _by_id(entries: object, special: Collection[str]) -> dict[int, dict[str, Any]]:
    if not isinstance(entries, dict) or not all(key.isascii() and key.isdecimal() and len(key) < 20 for key in entries):
        raise ValueError(f"added_tokens_decoder must be an object from ids to tokens, and is {shown(entries)}")
    return {int(key): _token(entry, False, special) for key, entry in entries.items()}


def _named(config: Mapping[str, Any]) -> Iterator[Named]:
    """Yield the special tokens in the roles and lists of a config, in the order of transformers 5."""
    roles = {role: config.get(role) for role in ROLES}
    others: list[object] = []
    for found in (config.get(name) for name in LISTS):
        if isinstance(found, dict):
            roles |= found
        elif isinstance(found, list) and found:
            others = found
    of_roles: set[str] = set()
    for role, value in [*roles.items(), *((None, value) for value in others)]:
        if value is not None:
            entry = {"content": value} if isinstance(value, str) else value
            # Tokens with a role are special. So is a token in a list, unless it is an AddedToken object ("__type") that
            # does not say so.
            if role is not None and isinstance(entry, dict):
                entry = {**entry, "special": True}
            token = _token(entry, not (isinstance(entry, dict) and "__type" in entry), of_roles)
            if role is not None:
                of_roles.add(token["content"])
            yield Named(role, token, not isinstance(value, str))


def _otherwise_named(file: str, entries: Mapping[str, Any]) -> list[tuple[str, Named]]:
    """The special tokens with other names than roles, such as image_token."""
    names = {key: value for key, value in entries.items() if key.endswith("_token") and key not in ROLES}
    others = entries.get("model_specific_special_tokens")  # used by transformers only if `names` has none
    found = _tokens(names) or (_tokens(others) if isinstance(others, dict) else {})
    return [(file, Named(key, token, False)) for key, token in found.items()]


def _tokens(entries: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The entries whose values are tokens."""
    as_objects = {key: {"content": value} if isinstance(value, str) else value for key, value in entries.items()}
    return {
        key: _token(value, True)
        for key, value in as_objects.items()
        if isinstance(value, dict) and isinstance(value.get("content"), str)
    }


def _token(entry: object, is_special: bool, special: Collection[str] = ()) -> dict[str, Any]:
    """An added token with all flags; by default, a token that is not special is normalized.

    is_special : whether the token is special if the entry does not say so
    special    : the texts of tokens that are special whatever the entry says
    """
    if not isinstance(entry, Mapping) or not isinstance(entry.get("content"), str):
        raise ValueError(f"a token must be a string, or an object with a content, and is {shown(entry)}")
    is_special = entry["content"] in special or bool(entry.get("special", is_special))
    flags = {flag: bool(entry.get(flag, flag == "normalized" and not is_special)) for flag in TOKEN_FLAGS}
    return {"content": entry["content"], **flags, "special": is_special}
