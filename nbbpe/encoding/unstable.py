"""Find the ids that the end of a text may get when more text follows it, as in tiktoken's `encode_with_unstable`.

The end of a prompt may mislead a model: the ids of "hello wo" are not those with which "hello world" begins. So the ids of
the last pretoken are unstable, and only stand for bytes. The other ids may be followed by lists of ids whose last one
reaches the end of these bytes, or goes beyond it. The rules are those of tiktoken's core, which says itself that they are
rough: they look at one token that begins within the bytes, and at whitespace that is split in another way.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence

from ..text.unicode_sets import WHITESPACE

_SPACES = b" \n\t"  # a token of only these is taken together with those before it

EncodesAll = Callable[[list[str]], list[list[int]]]
MergesAll = Callable[[list[bytes]], list[list[int]]]


class Completions:
    """Finds completions by the tokens of a vocabulary.

    ranks  : from the bytes of each ordinary token to its id
    encode : gives the ids of texts, in which no special token is recognised
    merge  : gives the ids of pretokens, by merges alone
    """

    def __init__(self, ranks: Mapping[bytes, int], encode: EncodesAll, merge: MergesAll) -> None:
        self._ranks = ranks
        self._sorted = sorted(ranks)
        self._lengths = {token_id: len(token) for token, token_id in ranks.items()}
        self._encode = encode
        self._merge = merge

    def of(self, ids: list[int], tokens: Sequence[bytes | None], n_last: int) -> tuple[list[int], list[list[int]]]:
        """The stable ids of a text, and in ascending order the lists of ids that may follow them.

        ids, tokens : the ids of the text, and the bytes of each, None for a special token
        n_last      : how many of them its last pretoken has; 0 where it ends with a special token, or is empty
        """
        if not n_last:
            return ids, []
        if _is_space(tokens[-n_last]):
            while n_last < len(ids) and _is_space(tokens[-n_last - 1]):
                n_last += 1
        unstable = b"".join(token for token in tokens[-n_last:] if token is not None)
        found: set[tuple[int, ...]] = {(self._ranks[token],) for token in self._beginning_with(unstable)}
        found.update(self._straddling(unstable))
        found.update(self._split_before_whitespace(unstable))
        return ids[:-n_last], list(map(list, sorted(found)))

    def _beginning_with(self, data: bytes) -> list[bytes]:
        """The tokens that begin with some bytes of a text, sorted."""
        first = bisect_left(self._sorted, data)
        # Up to the next bytes that do not begin with `data`, whose last byte can be raised: no byte of UTF-8 is 0xff.
        end = bisect_left(self._sorted, data[:-1] + bytes([data[-1] + 1]), first)
        return self._sorted[first:end]

    def _straddling(self, unstable: bytes) -> Iterator[tuple[int, ...]]:
        """Yield ids for each token that begins within the bytes and reaches their end, as far as they cover the bytes."""
        texts: list[str] = []
        others: list[bytes] = []
        for at in range(1, len(unstable)):
            for token in self._beginning_with(unstable[at:]):
                data = unstable[:at] + token
                try:
                    texts.append(data.decode())  # valid UTF-8, which the pattern may split
                except UnicodeDecodeError:
                    others.append(data)
        for ids in (*self._encode(texts), *self._merge(others)):
            n = n_bytes = 0
            while n < len(ids) and n_bytes < len(unstable):
                n_bytes += self._lengths[ids[n]]
                n += 1
            yield tuple(ids[:n])

    def _split_before_whitespace(self, unstable: bytes) -> Iterator[tuple[int, ...]]:
        """Yield the ids of the bytes if they are split before a last whitespace character, as `\\s+(?!\\S)` may do."""
        last = unstable.decode(errors="replace")[-1]
        n_last = len(last.encode())
        if n_last < len(unstable) and last in WHITESPACE:
            first, second = self._merge([unstable[:-n_last], unstable[-n_last:]])
            yield (*first, *second)


def _is_space(token: bytes | None) -> bool:
    return token is not None and not token.strip(_SPACES)
