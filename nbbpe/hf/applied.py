"""A tokenizer of tokenizers (Hugging Face's), applied by nbbpe: to ids, to offsets, to text."""

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

_FEW, _SHORT = 128, 1 << 14  # texts, and their characters, which are encoded one by one in less time than as a batch
_OFF = ("", "0", "off", "false", "f", "no", "n")  # TOKENIZERS_PARALLELISM, as tokenizers reads it
_FEW_IDS = 512  # whose words are numbered one by one in less time than by NumPy


def _most_threads() -> int | None:
    """The most threads that the environment allows tokenizers, by the variables that it reads; None for any number."""
    if os.environ.get("TOKENIZERS_PARALLELISM", "on").lower() in _OFF:
        return 1
    n_threads = os.environ.get("RAYON_NUM_THREADS", "")
    return int(n_threads) or None if n_threads.isascii() and n_threads.isdecimal() else None


class Applied:
    """What nbbpe applies a tokenizer with; made again where that has changed.

    Raises ValueError for a tokenizer that nbbpe cannot honour exactly, and names the part.
    """

    def __init__(self, backend: Backend) -> None:
        self.tokenizer = Tokenizer.from_hf(backend)
        self._model = self.tokenizer._model
        self._backend = backend
        # Whether a text is not cut by the pattern alone: also by steps in Python, and by Digits between bytes.
        part = backend.pre_tokenizer
        steps = [] if part is None else steps_of(json.loads(part.__getstate__()), "pre_tokenizer")
        # Idle ones, as making one takes a tenth of a short call; append and pop are atomic.
        self._splitters: list[TextSplitter] = []
        extras = self._model.extras
        # Of characters, the pattern cuts more.
        self._cuts_otherwise = bool(extras.byte_fallback or extras.cutter or digits_of_bytes(steps))

    @lazy
    def found_when_split(self) -> set[str] | None:
        """The added tokens that are found in a text in which special tokens are split: those that are not special.

        None where one of them may be within a special token, or begin there: tokenizers passes over all of a special token.
        And where a special token is always found by nbbpe, as it is said to be part of ordinary text, where tokenizers
        does not tell whether a token is special, or where it takes a pretoken for a special token by ignore_merges.
        """
        model, backend, decode = self._model, self._backend, self._backend.decode
        # To tokenizers, a special token that is added again is still one, though its tokenizer.json may say otherwise. It
        # is skipped in decoding then, unless the normalizer changes it.
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
        return plain.intersection(model.choosable)  # the others are parts of ordinary text, and always found

    def encode(
        self, texts: list[str], allowed_special: Choice
    ) -> tuple[list[int] | NDArray[Any], list[int] | NDArray[np.int64]]:
        """The ids of texts, one after another; and where those of each text start, and the last ones end."""
        tokenizer = self.tokenizer
        if len(texts) <= _FEW and sum(map(len, texts)) <= _SHORT:
            encode = tokenizer._encoder.encode_short  # for a word, `tokenizer.encode` takes half as long again
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
        """What is put around the texts of a row: by whether there are two, and whether ids are put there."""
        part = self._model.extras.post_processor
        templates, types = read_templates(part), read_types(part)
        sides = (templates.single, types.single), (templates.pair, types.pair)
        n_usual = sum(len(piece) for piece in templates.single if isinstance(piece, list))
        # tokenizers numbers what is there again at each step: the texts, or also the tokens that a step before put around.
        steps = steps_of(part, "post_processor")
        is_numbered_once = all(step["type"] == "ByteLevel" for step in steps[:-1])
        return {
            (is_pair, has_ids): Frame(*sides[is_pair], later, is_pair, has_ids, n_usual, is_numbered_once)
            for is_pair in (False, True)
            for has_ids, later in ((False, TYPES_OF_TEXTS), (True, types.later))
        }

    @lazy
    def number_of_padding(self) -> int | None:
        """What stands for the number of the text where a row of one text is filled.

        tokenizers before 0.23 gives padding the number of the text, 0, if the tokenizer has no post_processor.
        """
        found = self._backend.encode("a")
        found.pad(len(found) + 1)
        return found.sequence_ids[-1]

    @lazy
    def finder(self) -> OffsetFinder | None:
        """What finds the offsets in texts; None if tokenizers must find them."""
        model, extras = self._model, self._model.extras
        trimming = read_trimming(extras.post_processor)
        if trimming is None or model.normalizer.does_more or extras.prefix_space or extras.shared:
            return None
        if extras.suffix is not None:  # the end of a word would be taken for a space that follows it
            return None
        return OffsetFinder(model, trimming)

    def words_in(
        self, ids: list[int] | NDArray[Any], starts: list[int] | NDArray[np.int64]
    ) -> list[int] | NDArray[np.int64] | None:
        """The number of the word of each of the `ids` of texts; None if tokenizers must tell.

        starts : where the ids of each text start, and where the last ones end
        """
        model = self._model
        # An id that an added token shares with an ordinary one does not say whether it is a word of its own.
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
        """The tokens of ids as tokenizers shows them; None if it shows the text that was found for one of them."""
        return list(map(self._spelling.__getitem__, ids)) if self._as_found.isdisjoint(ids) else None

    @lazy
    def _spelling(self) -> dict[int, str]:
        return {token_id: token for token, token_id in self._backend.get_vocab().items()}

    @lazy
    def _as_found(self) -> frozenset[int]:
        """The added tokens that are shown with the whitespace that they take, or as the normalizer leaves them; and those
        that a template spells otherwise."""
        model = self._model
        spellings = read_spellings(model.extras.post_processor)
        others = (token_id for token_id, token in spellings if token != self._spelling.get(token_id))
        return frozenset([*others, *(model.special[token] for token in model.extras.flags)])

    @lazy
    def decoders(self) -> tuple[Decoder, Decoder]:
        """What decodes as the decoder ByteLevel of tokenizers, without and with special tokens skipped.

        It takes the characters of an added token for bytes, too, if all of them stand for one. And it does not skip a
        special token that its normalizer changes.
        """
        added = list(self._backend.get_added_tokens_decoder())
        tokens = self._model.vocab | {token_id: token_of(str(self._backend.id_to_token(token_id))) for token_id in added}
        skipped = {token_id: b"" for token_id in added if not self._backend.decode([token_id])}
        return Decoder(tokens), Decoder(tokens | skipped)
