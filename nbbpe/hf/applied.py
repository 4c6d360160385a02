"""Encodes and decodes with nbbpe as a given backend (a Tokenizer of Hugging Face's tokenizers) would."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer as Backend

from ..encoding.decoder import Decoder
from ..encoding.offsets import OffsetFinder
from ..encoding.pretoken_numbers import number_few, number_pretokens
from ..encoding.special_choice import ALL, NONE, Choice
from ..formats.tokenizer_json.added_tokens import may_be_pretoken
from ..formats.tokenizer_json.pretokenizers import digits_of_bytes
from ..formats.vocab_json.spelling import token_of
from ..model.post_processor import TYPES_OF_TEXTS, read_spellings, read_templates, read_trimming, read_types
from ..model.special_tokens import find_overlap
from ..system.lazy import lazy
from ..text.steps import steps_of
from ..text.text_splitter import TextSplitter
from ..tokenizer import Tokenizer
from .characters import are_alike
from .rows import Frame

_FEW, _SHORT = 128, 1 << 14  # up to so many texts, with so many characters in all, it is faster to encode one by one
_OFF = ("", "0", "off", "false", "f", "no", "n")  # values of TOKENIZERS_PARALLELISM that tokenizers reads as false
_FEW_IDS = 512  # up to so many ids, it is faster to number words one by one than with NumPy


def _most_threads() -> int | None:
    """The most threads that the environment variables of tokenizers allow; None for any number."""
    if os.environ.get("TOKENIZERS_PARALLELISM", "on").lower() in _OFF:
        return 1
    n_threads = os.environ.get("RAYON_NUM_THREADS", "")
    return int(n_threads) or None if n_threads.isascii() and n_threads.isdecimal() else None


class Applied:
    """Does the work of a backend with nbbpe. After the backend has changed, made.py makes another one.

    Raises ValueError that names the part of the backend that nbbpe cannot honour exactly.
    """

    def __init__(self, backend: Backend) -> None:
        self.tokenizer = Tokenizer.from_hf(backend)
        self._model = self.tokenizer._model
        self._backend = backend
        # Idle splitters, kept because making one takes a tenth of a short call; append and pop are atomic.
        self._splitters: list[TextSplitter] = []
        part = backend.pre_tokenizer
        steps = [] if part is None else steps_of(json.loads(part.__getstate__()), "pre_tokenizer")
        extras = self._model.extras
        # Whether words differ from the pattern's pretokens: with steps in Python, with Digits between bytes, and for a
        # model of characters, where the pattern cuts more.
        self._cuts_otherwise = bool(extras.byte_fallback or extras.cutter or digits_of_bytes(steps))

    @lazy
    def found_when_split(self) -> set[str] | None:
        """The added tokens that are found in a text with split_special_tokens=True: those that are not special.

        None if tokenizers must decide, because
        - one of them may be inside a special token, or begin there, where tokenizers does not search;
        - nbbpe always finds a special token, because it is declared as part of ordinary text;
        - tokenizers does not tell whether a token is special;
        - with ignore_merges, tokenizers gives a pretoken that equals a special token its id.
        """
        model, backend, decode = self._model, self._backend, self._backend.decode
        # If a special token is added again as an ordinary one, tokenizer.json calls it ordinary, but tokenizers still
        # treats it as special: then it is skipped in decoding, unless the normalizer changes it.
        skipped = model.skipped
        ids = {token: i for token, i in model.special.items() if token not in skipped}
        if any(backend.id_to_token(i) != token for token, i in ids.items()):
            return None
        still = {token for token, i in ids.items() if decode([i], skip_special_tokens=False) and not decode([i])}
        special = still.union(skipped)
        plain = set(model.special).difference(special)
        spelled, hiding = (
            {*some, *(model.normalizer.apply(token, set()) for token in some)} - {""} for some in (plain, special)
        )
        if find_overlap(list(spelled), list(hiding)) is not None:
            return None
        if not special.issubset(model.choosable):
            return None
        kept = backend.model
        if getattr(kept, "ignore_merges", False) and any(
            kept.token_to_id(token) is not None and may_be_pretoken(model, token, is_split=True) for token in special
        ):
            return None
        return plain.intersection(model.choosable)  # others are declared as part of ordinary text: always found

    def encode(
        self, texts: list[str], allowed_special: Choice
    ) -> tuple[list[int] | NDArray[Any], list[int] | NDArray[np.int64]]:
        """Return (ids, starts): the concatenated ids of texts; where the ids of each text start, and the last end."""
        tokenizer = self.tokenizer
        if len(texts) <= _FEW and sum(map(len, texts)) <= _SHORT:
            encode = tokenizer._encoder.encode_short  # for one word, `tokenizer.encode` takes 1.5 times as long
            is_usual = allowed_special is ALL
            specials = tokenizer._specials if is_usual else tokenizer._recognised("", allowed_special, NONE)
            ids: list[int] = []
            starts = [0]
            for text in texts:
                found: list[int] | None = encode(text, specials, list)
                ids += tokenizer.encode(text, allowed_special=allowed_special) if found is None else found
                starts.append(len(ids))
            return ids, starts
        return tokenizer.encode_batch_flat(texts, allowed_special=allowed_special, num_threads=_most_threads())

    @lazy
    def frames(self) -> dict[tuple[bool, bool], Frame]:
        """The Frame for rows, by (is_pair, has_ids): whether a row has two texts, and whether special tokens are added."""
        part = self._model.extras.post_processor
        templates, types = read_templates(part), read_types(part)
        sides = (templates.single, types.single), (templates.pair, types.pair)
        n_usual = sum(len(piece) for piece in templates.single if isinstance(piece, list))
        # Each step of a post_processor numbers its input again: the texts, or also the tokens that an earlier step added.
        steps = steps_of(part, "post_processor")
        is_numbered_once = all(step["type"] == "ByteLevel" for step in steps[:-1])
        return {
            (is_pair, has_ids): Frame(*sides[is_pair], later, is_pair, has_ids, n_usual, is_numbered_once)
            for is_pair in (False, True)
            for has_ids, later in ((False, TYPES_OF_TEXTS), (True, types.later))
        }

    @lazy
    def number_of_padding(self) -> int | None:
        """The entry of sequence_ids for padding in a row of one text.

        It is None, but 0, the number of the text, in tokenizers before 0.23 if the backend has no post_processor.
        """
        found = self._backend.encode("a")
        found.pad(len(found) + 1)
        return found.sequence_ids[-1]

    @lazy
    def finder(self) -> OffsetFinder | None:
        """The OffsetFinder for texts; None if tokenizers must decide."""
        model, extras = self._model, self._model.extras
        trimming = read_trimming(extras.post_processor)
        if trimming is None or model.normalizer.does_more or extras.prefix_space or extras.shared:
            return None
        if extras.suffix is not None:  # an OffsetFinder would take the end of a word for a space after it
            return None
        return OffsetFinder(model, trimming)

    def words_in(
        self, ids: list[int] | NDArray[Any], starts: list[int] | NDArray[np.int64]
    ) -> list[int] | NDArray[np.int64] | None:
        """The number of the word of each id in its text; None if tokenizers must decide.

        ids, starts : the results of `encode`
        """
        model = self._model
        # An added token is a word of its own; if it shares its id with an ordinary token, the id does not tell which it is.
        if self._cuts_otherwise or model.extras.shared:
            return None
        if isinstance(ids, list) and isinstance(starts, list) and len(ids) <= _FEW_IDS:
            tokens = list(map(model.vocab.__getitem__, ids))
            data = b"".join(tokens)
            if not are_alike(data.decode()):
                return None
            try:
                splitter = self._splitters.pop()
            except IndexError:
                splitter = TextSplitter(model.pattern)
            numbers = number_few(data, tokens, ids, starts, self._special, splitter)
            self._splitters.append(splitter)
            return numbers
        ids = np.array(ids, dtype=np.int64)
        data = self.tokenizer.decode_bytes(ids)
        if not are_alike(data.decode()):
            return None
        starts = np.array(starts, dtype=np.int64)
        return number_pretokens(data, ids, starts, model.packed, self._special, TextSplitter(model.pattern))

    @lazy
    def _special(self) -> frozenset[int]:
        return frozenset(self._model.special.values())

    def spelled(self, ids: list[int]) -> list[str] | None:
        """The tokens of ids as tokenizers spells them; None if for one of them that depends on the text."""
        return list(map(self._spelling.__getitem__, ids)) if self._as_found.isdisjoint(ids) else None

    @lazy
    def _spelling(self) -> dict[int, str]:
        return {token_id: token for token, token_id in self._backend.get_vocab().items()}

    @lazy
    def _as_found(self) -> frozenset[int]:
        """The ids whose spelling depends on the text or the template.

        These are added tokens with flags, which are spelled with the whitespace that they take in or as normalized, and
        tokens of which the template has another spelling.
        """
        model = self._model
        spellings = read_spellings(model.extras.post_processor)
        others = (token_id for token_id, token in spellings if token != self._spelling.get(token_id))
        return frozenset([*others, *(model.special[token] for token in model.extras.flags)])

    @lazy
    def decoders(self) -> tuple[Decoder, Decoder]:
        """Decoders that give the same text as the decoder ByteLevel of tokenizers: (special tokens kept, skipped).

        ByteLevel also converts an added token to bytes, if each of its characters stands for a byte. And it does not skip
        a special token that the normalizer changes.
        """
        added = list(self._backend.get_added_tokens_decoder())
        tokens = self._model.vocab | {token_id: token_of(str(self._backend.id_to_token(token_id))) for token_id in added}
        skipped = {token_id: b"" for token_id in added if not self._backend.decode([token_id])}
        return Decoder(tokens), Decoder(tokens | skipped)
