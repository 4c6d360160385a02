"""Rules for the tokens that training may make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ..kernels.training import token_limits
from ..patterns.given_regex import naming_regex, seconds_for
from ..system.arguments import argument
from ..system.choices import check_bool
from ..system.excerpt import shown
from ..system.integers import check_limit
from ..system.lazy import imported_on_use
from ..text.utf8 import each_to_bytes, to_text

regex: Any = imported_on_use("regex")  # most training needs no rule with one

Forbidden = str | bytes | Callable[[bytes], bool]

# A regex that is found in all of these, with an empty match in some text, is found in every token: it may end in * by
# mistake for +, for example. A regex that matches the whole of each, such as "^[ -~]*$", may forbid less.
_ALL_KINDS = (b"", b"a", b" ", b"0", b"-", b"the cat")


@dataclass(frozen=True, kw_only=True)
class TokenRules:
    """Rules for the tokens that `nbbpe.train` may make. A pair whose token would break a rule is never merged, and training
    continues as if it did not exist.

    Parameters
    ----------
    whole_characters
        A token is one or more whole characters, or lies within one character; it never has a part of a character and
        something else.
    one_script
        A token has letters of one script only, such as Latin or Cyrillic. Characters that all scripts share (digits,
        punctuation, accents) may be in any token. Han may be together with Hiragana and Katakana, with Hangul, and with
        Bopomofo.
    max_letters, max_numbers, max_words
        The most letters (`\\p{L}`), numbers (`\\p{N}`, such as digits) or words (runs of characters that are not
        whitespace) in a token.
    no_space_duplicates
        Of "word" and " word", only the one that is learned first becomes a token. Tokens of one byte are exempt.
    forbidden
        What no token may match: a regex for its text (str; searched in it, with invalid bytes as surrogateescape has them),
        a regex for its bytes (bytes), a function that takes its bytes and returns whether it is forbidden, or a list of
        these. These and `no_space_duplicates` are tested in Python, some microseconds for each merge; all other rules cost
        almost nothing.
    seeds
        Texts (str or bytes) that must be tokens, whatever the other rules say. Their merges come first, learned from the
        seeds alone; a seed of n bytes takes up to n - 1 tokens, and seeds share tokens if they can. The pattern must not
        split a seed. Special tokens are different: they are found in text before it is split.

    Raises
    ------
    TypeError, ValueError : an invalid argument or regex

    >>> import nbbpe
    >>> rules = nbbpe.TokenRules(forbidden="^th")
    >>> nbbpe.train(documents=["the the that"], vocab_size=259, rules=rules).merges
    [(b'h', b'e'), (b' ', b't'), (b'h', b'a')]
    """

    whole_characters: bool = False
    one_script: bool = False
    max_letters: int | None = None
    max_numbers: int | None = None
    max_words: int | None = None
    no_space_duplicates: bool = False
    forbidden: Forbidden | Sequence[Forbidden] = ()
    seeds: Sequence[str | bytes] = ()

    def __post_init__(self) -> None:
        for name in "whole_characters", "one_script", "no_space_duplicates":
            object.__setattr__(self, name, check_bool(name, getattr(self, name)))
        for name in "max_letters", "max_numbers", "max_words":
            object.__setattr__(self, name, check_limit(name, getattr(self, name)))
        forbidden = self.forbidden
        if isinstance(forbidden, (str, bytes)) or callable(forbidden):
            forbidden = (forbidden,)
        elif not isinstance(forbidden, (list, tuple)):
            raise TypeError(f"forbidden must be a regex, a function or a list of these, not {shown(forbidden)}")
        for item in forbidden:
            _predicate(item)
        object.__setattr__(self, "forbidden", tuple(forbidden))
        if not isinstance(self.seeds, (list, tuple)) or not all(isinstance(seed, (str, bytes)) for seed in self.seeds):
            raise TypeError(f"seeds must be a list of str or bytes, not {shown(self.seeds)}")
        if not all(self.seeds):
            raise ValueError(f"{argument('seeds')} has an empty text, which cannot be a token")
        object.__setattr__(self, "seeds", tuple(self.seeds))

    def record(self) -> dict[str, Any]:
        """The rules that are set, for a tokenizer's provenance; a function by its name, or that of its type.

        >>> import nbbpe
        >>> nbbpe.TokenRules(max_words=2, forbidden="zz").record()
        {'max_words': 2, 'forbidden': ['zz']}
        """
        set_rules = {field.name: getattr(self, field.name) for field in fields(self)}
        set_rules["seeds"] = [to_text(bytes(seed)) for seed in each_to_bytes(self.seeds, "seed")]
        set_rules["forbidden"] = [item if isinstance(item, str) else _name(item) for item in set_rules["forbidden"]]
        return {name: value for name, value in set_rules.items() if value}


def shown_rules(rules: TokenRules) -> str:
    """The rules in words, for a warning that they leave few tokens; names a regex that leaves none, if there is one."""
    assert isinstance(rules.forbidden, tuple)
    for item in rules.forbidden:
        found = list(map(_predicate(item), _ALL_KINDS)) if isinstance(item, (str, bytes)) else []
        if found and all(found) and not all(match[0] for match in found[1:]):
            has = f"{argument('forbidden')} has {shown(item)}"
            return f"rules for tokens ({has}, which matches the empty text, and so every token)"
    return "rules for tokens"


class TokenFilter:
    """Applies rules during one training; `tokens` are those of the vocabulary that it continues from."""

    def __init__(self, rules: TokenRules, tokens: Iterable[bytes] = ()) -> None:
        self._rules = rules
        assert isinstance(rules.forbidden, tuple)
        self._forbidden = [_predicate(item) for item in rules.forbidden]
        self._tokens = {token for token in tokens if len(token) > 1}

    def limits(self, max_token_length: int | None) -> token_limits.TokenLimits:
        """The rules that the kernel applies, with a limit on the length in bytes."""
        rules = self._rules
        limits = token_limits.no_limits(max_token_length)
        most = rules.max_letters, rules.max_numbers, rules.max_words
        numbers = limits.numbers
        numbers[token_limits.WHOLE_CHARACTERS] = rules.whole_characters
        numbers[token_limits.ONE_SCRIPT] = rules.one_script
        numbers[token_limits.MOST_LETTERS : token_limits.MOST_WORDS + 1] = [
            token_limits.NO_LIMIT if number is None else min(number, token_limits.NO_LIMIT) for number in most
        ]
        numbers[token_limits.ASKS] = bool(self._forbidden or rules.no_space_duplicates)
        needs_characters = rules.one_script or any(number is not None for number in most)
        numbers[token_limits.HAS_LIMITS] = rules.whole_characters or needs_characters or numbers[token_limits.ASKS]
        if needs_characters:
            from ..text.character_properties import character_table  # here, as it needs `regex`

            limits = limits._replace(characters=character_table(rules.one_script))
        return limits

    def allows(self, token: bytes) -> bool:
        """Whether a token within the limits may be made. If so, it counts as made from now on."""
        if any(is_forbidden(token) for is_forbidden in self._forbidden):
            return False
        if self._rules.no_space_duplicates:
            if b" " + token in self._tokens or (token[:1] == b" " and token[1:] in self._tokens):
                return False
            self._tokens.add(token)
        return True


def _name(item: bytes | Callable[[bytes], bool]) -> str:
    # The repr of an object that can be called has its address, and files would differ from run to run.
    return repr(item) if isinstance(item, bytes) else getattr(item, "__qualname__", type(item).__qualname__)


def _predicate(item: Forbidden) -> Callable[[bytes], Any]:
    """A function that says whether a token is forbidden. A regex of str searches its text, and one of bytes its bytes.

    Raises ValueError for an invalid regex; the function does so if the regex takes too much time or memory.

    >>> bool(_predicate("é$")("thé".encode())), bool(_predicate(rb"\\xff")(b"the"))
    (True, False)
    """
    if callable(item):
        return item
    if not isinstance(item, (str, bytes)):
        raise TypeError(f"forbidden must be a regex, a function or a list of these, not {shown(item)}")
    with naming_regex(f"{argument('forbidden')} has {shown(item)}, which"):
        search = regex.compile(item).search

    def is_forbidden(token: bytes) -> Any:
        text = token if isinstance(item, bytes) else to_text(token)
        try:
            return search(text, timeout=seconds_for(text))
        except TimeoutError:
            why = "takes too long: it tries more and more ways to match (backtracking), and was given up"
        except MemoryError:
            why = "calls itself without end, or more often than `regex` has memory for,"
        raise ValueError(f"{argument('forbidden')} has {shown(item)}, which {why} in the token {shown(token)}")

    return is_forbidden
