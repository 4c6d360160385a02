"""A tokenizer for transformers: its class for fast tokenizers, with texts encoded and ids decoded by nbbpe.

transformers does the rest: chat templates, added tokens, `convert_ids_to_tokens`, files. A call that asks for more than
ids, masks and lengths of whole texts (pairs, offsets, overflowing tokens, words) goes to tokenizers unchanged. So both
classes give the same for every call, and only plain calls are faster.

This module alone imports transformers, so `import nbbpe` does not.
"""

from __future__ import annotations

import copy
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

from .conversion import load
from .encoding.decoder import Decoder
from .formats.folder import ABOUT
from .formats.spelling import token_of
from .model.model import Model
from .model.special_tokens import find_overlap
from .model.surround import has_one_type
from .system.atomic_files import whole_file
from .system.paths import Path
from .text.utf8 import has_surrogates
from .tokenizer import Tokenizer

try:
    from tokenizers import Tokenizer as Backend
    from tokenizers.decoders import ByteLevel
    from transformers import AutoTokenizer, BatchEncoding, PreTrainedTokenizerFast
except ImportError as error:
    raise ImportError(
        f'nbbpe.hf needs transformers ({error}): pip install "nbbpe[hf]"', name=getattr(error, "name", None)
    ) from error

# The options of a call that nbbpe's ids and masks are enough for; any other that is set goes to tokenizers.
_PLAIN = {
    *("add_special_tokens", "padding_strategy", "truncation_strategy", "max_length", "stride", "pad_to_multiple_of"),
    *(
        "padding_side",
        "return_tensors",
        "return_token_type_ids",
        "return_attention_mask",
        "return_special_tokens_mask",
        "return_length",
        "verbose",
        "split_special_tokens",
    ),
}
_NOT_SAVED = ("_ours", "_refusal", "_state", "_when_split", "_decoders", "_n_decoded")  # what is worked out again
# How many ids are decoded by tokenizers, in 0.2 s, before a tokenizer of nbbpe is made for decoding alone, in as much time.
_MANY_IDS = 1 << 20
_FEW_IDS = 24  # a row of fewer is decoded by tokenizers: to see that no part of it was replaced takes two microseconds
_PLAIN_TRUNCATION = ("do_not_truncate", "longest_first", "only_first")
# The options of `from_pretrained` that say how files are found; every other one is of the tokenizer, and saved with it.
_FINDING = {
    *("cache_dir", "force_download", "resume_download", "local_files_only", "token", "use_auth_token", "revision"),
    *("trust_remote_code", "proxies", "subfolder", "user_agent", "mirror", "gguf_file", "_from_pipeline", "_from_auto"),
    *("_commit_hash", "use_fast", "tokenizer_type"),
}


class NbbpeEncoding(BatchEncoding):  # type: ignore[misc]
    """The result of a call.

    What only tokenizers knows (`encodings`: tokens, words, offsets) is worked out when it is asked for, with the tokenizer
    as it is then. A pickled result goes without.
    """

    def __init__(self, data: dict[str, Any], theirs: Callable[[], Any] | None = None, tensor_type: Any = None) -> None:
        self._theirs = theirs
        super().__init__(data, tensor_type=tensor_type, n_sequences=1)

    @property
    def is_fast(self) -> bool:
        """Whether tokens and offsets can be asked for."""
        return self._theirs is not None or self.__dict__.get("_found") is not None

    @property
    def _encodings(self) -> Any:
        if self._theirs is not None:
            self._found, self._theirs = self._theirs().encodings, None
        return self.__dict__.get("_found")

    @_encodings.setter
    def _encodings(self, encodings: Any) -> None:
        self._found = encodings

    def __deepcopy__(self, memo: dict[int, Any]) -> NbbpeEncoding:
        copied = NbbpeEncoding(copy.deepcopy(self.data, memo), self._theirs)
        copied._found = copy.deepcopy(self.__dict__.get("_found"), memo)
        return copied

    def __getstate__(self) -> dict[str, Any]:
        return {"data": self.data, "encodings": self.__dict__.get("_found")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._theirs, self._n_sequences = None, 1
        super().__setstate__(state)


class NbbpeTokenizerFast(PreTrainedTokenizerFast):  # type: ignore[misc]
    """A PreTrainedTokenizerFast that encodes texts with nbbpe, to the same ids.

    `from_pretrained(folder)` reads what every PreTrainedTokenizerFast does; `from_tokenizer` takes a nbbpe.Tokenizer. The
    first text raises ValueError for a tokenizer that nbbpe cannot honour exactly, and names the part.

    >>> from nbbpe.hf import NbbpeTokenizerFast
    >>> fast = NbbpeTokenizerFast.from_tokenizer(tok, eos_token="<|endoftext|>", pad_token="<|endoftext|>")
    >>> fast(["the cat", "the"], padding=True)["input_ids"]
    [[258, 261], [258, 263]]
    >>> fast.decode([258, 261, 263], skip_special_tokens=True)
    'the cat'
    """

    # No `__init__`: transformers 5 reads a tokenizer.json as it is for classes without one only.
    _ours: Tokenizer | None = None
    _refusal: str | None = None  # why there is no `_ours`
    _state: Any = None  # what `_ours` or `_refusal` was made for
    _when_split: tuple[Tokenizer, set[str] | None] | None = None  # what `_found_when_split` says of a tokenizer
    _decoders: tuple[Tokenizer, Decoder, Decoder] | None = None  # without, and with special tokens skipped
    _n_decoded = 0  # ids, by tokenizers

    @classmethod
    def from_tokenizer(cls, tokenizer: Tokenizer | Path, **options: Any) -> NbbpeTokenizerFast:
        """From a tokenizer, or from anything that `nbbpe.load` takes.

        options : as of PreTrainedTokenizerFast: roles such as eos_token and pad_token, model_max_length, chat_template

        Raises ValueError for a tokenizer that a tokenizer.json cannot hold (see `Tokenizer.to_hf`).
        """
        with tempfile.TemporaryDirectory(prefix="nbbpe-") as folder:
            path = os.path.join(folder, "tokenizer.json")
            load(tokenizer).to_hf(path)
            backend = Backend.from_file(path)
        options.setdefault("clean_up_tokenization_spaces", False)
        made: NbbpeTokenizerFast = cls(tokenizer_object=backend, **options)
        return made

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Path, *args: Any, **options: Any) -> NbbpeTokenizerFast:
        """As that of PreTrainedTokenizerFast; or from a folder of `Tokenizer.save` in which tokenizer.json is missing."""
        folder = os.fspath(pretrained_model_name_or_path)
        if os.path.isfile(os.path.join(folder, ABOUT)) and not os.path.isfile(os.path.join(folder, "tokenizer.json")):
            return cls.from_tokenizer(folder, **{name: each for name, each in options.items() if name not in _FINDING})
        made: NbbpeTokenizerFast = super().from_pretrained(folder, *args, **options)
        return made

    @property
    def nbbpe(self) -> Tokenizer:
        """The nbbpe.Tokenizer that encodes for this one; made again after tokens were added, or a part was replaced.

        Another model of as many tokens is not seen: to compare all of its tokens would take longer than most texts.
        """
        backend = self._tokenizer
        # All that users and transformers replace or set; reading it takes two microseconds.
        parts = backend.normalizer, backend.pre_tokenizer, backend.post_processor
        state = [None if part is None else part.__getstate__() for part in parts]
        options = (getattr(backend.model, name, None) for name in ("dropout", "ignore_merges"))
        state += [backend, *options, backend.get_vocab_size(with_added_tokens=False), backend.get_vocab_size()]
        if state != self._state:
            self._ours = self._refusal = None
            try:
                self._ours = Tokenizer.from_hf(backend)
            except ValueError as error:
                self._refusal = str(error)
            self._state = state
        if self._ours is None:
            raise ValueError(self._refusal)
        return self._ours

    def _add_tokens(self, new_tokens: Any, special_tokens: bool = False) -> int:
        self._state = None
        n_added: int = super()._add_tokens(new_tokens, special_tokens=special_tokens)
        return n_added

    def __getstate__(self) -> dict[str, Any]:
        # Another process makes its own. And `datasets` names what it caches by this state, which encoding must not change.
        return {name: value for name, value in self.__dict__.items() if name not in _NOT_SAVED}

    def save_pretrained(self, save_directory: Path, *args: Any, keep_class: bool = False, **options: Any) -> Any:
        """Write a folder that any transformers reads; arguments are those of PreTrainedTokenizerFast.save_pretrained.

        keep_class : whether the folder names this class, so that AutoTokenizer gives it where nbbpe.hf was imported. By
            default it names PreTrainedTokenizerFast, as transformers 4 refuses a class that it does not know
        """
        written = super().save_pretrained(save_directory, *args, **options)
        if not keep_class and written:
            prefix = options.get("filename_prefix")
            path = os.path.join(save_directory, f"{prefix}-tokenizer_config.json" if prefix else "tokenizer_config.json")
            with open(path, encoding="utf-8") as file:
                config = json.load(file)
            config["tokenizer_class"] = "PreTrainedTokenizerFast"
            with whole_file(path) as unfinished, open(unfinished, "w", encoding="utf-8") as file:
                file.write(json.dumps(config, ensure_ascii=False, indent=2, sort_keys=True) + "\n")
        return written

    # transformers 5 calls `_encode_plus` for a text or a batch, 4 for a text only; for a batch it calls the other.

    def _encode_plus(self, text: Any, text_pair: Any = None, **options: Any) -> Any:
        if isinstance(text, list):
            text = text.copy()  # tokenizers may be asked later, when the caller has changed the list
        with_tokenizers = partial(super()._encode_plus, text, text_pair=text_pair, **options)
        is_one = isinstance(text, str)
        found = None
        if text_pair is None:
            found = self._encode_plain([text] if is_one else text, options, with_tokenizers)
        # One text has a row of its own, except as a tensor.
        if found is not None and is_one and options.get("return_tensors") is None:
            one = {name: rows[0] if isinstance(rows[0], list) else rows for name, rows in found.items()}  # lengths are ints
            return NbbpeEncoding(one, with_tokenizers)
        return with_tokenizers() if found is None else found

    def _batch_encode_plus(self, batch_text_or_text_pairs: Any, **options: Any) -> Any:
        if isinstance(batch_text_or_text_pairs, list):
            batch_text_or_text_pairs = batch_text_or_text_pairs.copy()  # as above
        with_tokenizers = partial(super()._batch_encode_plus, batch_text_or_text_pairs, **options)
        found = self._encode_plain(batch_text_or_text_pairs, options, with_tokenizers)
        return with_tokenizers() if found is None else found

    def decode(
        self,
        token_ids: Any,
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        **options: Any,
    ) -> Any:
        """The text of ids, or of each list of ids; arguments are those of PreTrainedTokenizerFast."""
        if isinstance(token_ids, list) and token_ids:
            is_one = not isinstance(token_ids[0], list)
            if not is_one or len(token_ids) >= _FEW_IDS:
                rows = [token_ids] if is_one else token_ids
                texts = self._decode_plain(rows, skip_special_tokens, clean_up_tokenization_spaces)
                if texts is not None:
                    return texts[0] if is_one else texts
        options |= {"clean_up_tokenization_spaces": clean_up_tokenization_spaces}
        return super().decode(token_ids, skip_special_tokens, **options)

    def batch_decode(
        self,
        sequences: Any,
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        **options: Any,
    ) -> list[str]:
        """The text of each list of ids, or of each row of an array; arguments are those of PreTrainedTokenizerFast."""
        if hasattr(sequences, "tolist"):
            sequences = sequences.tolist()  # as theirs, which then looks at each id
        if isinstance(sequences, list):
            texts = self._decode_plain(sequences, skip_special_tokens, clean_up_tokenization_spaces)
            if texts is not None:
                return texts
        texts = super().batch_decode(sequences, skip_special_tokens, clean_up_tokenization_spaces, **options)
        return texts

    def _decode_plain(self, rows: list[list[Any]], skips_special: bool, cleans: bool | None) -> list[str] | None:
        """The text of each row of ids, by nbbpe; None if tokenizers must decide."""
        if (self.clean_up_tokenization_spaces if cleans is None else cleans) or set(map(type, rows)) != {list}:
            return None
        backend = self._tokenizer
        if type(backend.decoder) is not ByteLevel:
            return None
        if self._state is None and self._n_decoded < _MANY_IDS:
            self._n_decoded += sum(map(len, rows))
            return None
        try:
            tokenizer = self.nbbpe
            if self._decoders is None or self._decoders[0] is not tokenizer:
                self._decoders = tokenizer, *_byte_level_decoders(tokenizer._model, backend)
            decoder = self._decoders[2 if skips_special else 1]
            return [decoder.decode(row, "replace") for row in rows]
        except ValueError:  # nbbpe cannot honour the tokenizer, or a row has an id without a token, which tokenizers skips
            return None

    def _encode_plain(
        self, texts: Any, options: Mapping[str, Any], with_tokenizers: Callable[[], Any]
    ) -> NbbpeEncoding | None:
        """A batch of texts, by nbbpe; None if they are not a batch of texts, or more than ids and masks is asked for."""
        if not isinstance(texts, (list, tuple)) or not texts or not all(isinstance(text, str) for text in texts):
            return None
        if any(value for name, value in options.items() if name not in _PLAIN):
            return None
        if any(map(has_surrogates, texts)):  # which tokenizers refuses
            return None
        tokenizer, names = self.nbbpe, self.model_input_names
        needs_types, needs_mask = options.get("return_token_type_ids"), options.get("return_attention_mask")
        if needs_types is None:
            needs_types = "token_type_ids" in names
        if needs_mask is None:
            needs_mask = "attention_mask" in names
        surround, model = tokenizer._surround, tokenizer._model
        surrounds = options.get("add_special_tokens", True) and surround.single != ["A"]
        n_around = sum(len(part) for part in surround.single if isinstance(part, list)) if surrounds else 0
        longest = _longest(options, n_around)
        if longest is None or (needs_types and not has_one_type(model.extras.surround)):
            return None
        padding_side = options.get("padding_side") or self.padding_side
        if not _is_padded_plainly(options) or {padding_side, self.truncation_side} - {"left", "right"}:
            return None
        splits = options.get("split_special_tokens")
        allowed = self._allowed(tokenizer, self.split_special_tokens if splits is None else splits)
        if allowed is None:
            return None
        # As in their class, what a call before set in the tokenizer of tokenizers is not left there, nor saved with it.
        backend = self._tokenizer
        if backend.truncation is not None:
            backend.no_truncation()
        if backend.padding is not None:
            backend.no_padding()
        if len(texts) == 1:  # which a batch takes ten times as long for, if it is short
            rows = [tokenizer.encode(texts[0], allowed_special=allowed)]
        else:
            rows = tokenizer.encode_batch(texts, allowed_special=allowed)
        if longest >= 0:
            from_end = self.truncation_side == "left"
            rows = [
                row if len(row) <= longest else row[len(row) - longest :] if from_end else row[:longest] for row in rows
            ]
        marks = [[0] * len(row) for row in rows] if options.get("return_special_tokens_mask") else None
        if surrounds:
            rows = list(map(surround.around, rows))
            if marks is not None:
                of_ones = [[1] * len(part) if isinstance(part, list) else part for part in surround.single]
                marks = list(map(surround._replace(single=of_ones).around, marks))
        verbose = options.get("verbose", True)
        self._eventual_warn_about_too_long_sequence(max(rows, key=len), options.get("max_length"), verbose)
        found = self._padded(rows, options, bool(needs_types), bool(needs_mask), marks)
        if options.get("return_length"):
            found["length"] = list(map(len, found["input_ids"]))
        return NbbpeEncoding(found, with_tokenizers, options.get("return_tensors"))

    def _allowed(self, tokenizer: Tokenizer, splits: bool) -> set[str] | Literal["all"] | None:
        """The added tokens to be found in a text, in which special tokens may be split; None if tokenizers must decide."""
        if not splits:
            return "all"
        if self._when_split is None or self._when_split[0] is not tokenizer:
            self._when_split = tokenizer, _found_when_split(tokenizer._model)
        return self._when_split[1]

    def _padded(
        self,
        rows: list[list[int]],
        options: Mapping[str, Any],
        needs_types: bool,
        needs_mask: bool,
        marks: list[list[int]] | None,
    ) -> dict[str, list[Any]]:
        """Rows of ids with their types and masks, padded as tokenizers does; `marks` are the masks of special tokens."""
        lengths = list(map(len, rows))
        columns = {"input_ids": rows}
        if needs_types:
            columns["token_type_ids"] = [[0] * length for length in lengths]
        if needs_mask:
            columns["attention_mask"] = [[1] * length for length in lengths]
        if marks is not None:
            columns["special_tokens_mask"] = marks
        strategy = _value(options.get("padding_strategy"), "do_not_pad")
        if strategy == "do_not_pad":
            return columns
        width: int = options["max_length"] if strategy == "max_length" else max(lengths)
        multiple = options.get("pad_to_multiple_of") or 1
        width = -(-width // multiple) * multiple
        pads = {
            "input_ids": self.pad_token_id,
            "token_type_ids": self.pad_token_type_id,
            "attention_mask": 0,
            "special_tokens_mask": 1,
        }
        at_end = (options.get("padding_side") or self.padding_side) == "right"
        for name, column in columns.items():
            short = [[pads[name]] * (width - length) for length in lengths]
            columns[name] = [row + pad if at_end else pad + row for row, pad in zip(column, short, strict=True)]
        return columns


def _byte_level_decoders(model: Model, backend: Backend) -> tuple[Decoder, Decoder]:
    """What decodes as the decoder ByteLevel of tokenizers, without and with special tokens skipped.

    It takes the characters of an added token for bytes, too, if all of them stand for one. And it does not skip a special
    token that its normalizer changes.
    """
    special = set(model.special.values())
    tokens = {token_id: token for token_id, token in model.vocab.items() if token_id not in special}
    added = list(backend.get_added_tokens_decoder())
    tokens |= {token_id: token_of(str(backend.id_to_token(token_id))) for token_id in added}
    skipped = {token_id: b"" for token_id in added if not backend.decode([token_id])}
    return Decoder(tokens), Decoder(tokens | skipped)


def _value(strategy: Any, default: str) -> str:
    """The name of a strategy of transformers."""
    return default if strategy is None else str(getattr(strategy, "value", strategy))


def _found_when_split(model: Model) -> set[str] | None:
    """The added tokens that are found in a text in which special tokens are split: those that are not special.

    None where one of them may be within a special token, or begin there: tokenizers passes over all of a special token.
    """
    plain = set(model.special).difference(model.skipped)
    chain = model.chain
    spelled, hiding = ({*some, *(chain.apply(token, set()) for token in some)} - {""} for some in (plain, model.skipped))
    if not spelled.isdisjoint(hiding) or find_overlap(list(spelled), list(hiding)) is not None:
        return None
    return plain.intersection(model.choosable)  # the others are parts of ordinary text, and always found


def _longest(options: Mapping[str, Any], n_around: int) -> int | None:
    """How many ids a text may have before others are put around it; -1 for any number, None if tokenizers must decide."""
    strategy, most = _value(options.get("truncation_strategy"), "do_not_truncate"), options.get("max_length")
    if strategy == "do_not_truncate":
        return -1
    # tokenizers refuses a stride that does not fit, and what leaves no room for text.
    if strategy not in _PLAIN_TRUNCATION or not isinstance(most, int) or most <= n_around or options.get("stride"):
        return None
    return most - n_around


def _is_padded_plainly(options: Mapping[str, Any]) -> bool:
    """Whether padding is by whole numbers; tokenizers says what is wrong with others."""
    numbers = options.get("max_length"), options.get("pad_to_multiple_of")
    strategy = _value(options.get("padding_strategy"), "do_not_pad")
    return strategy == "do_not_pad" or all(each is None or (isinstance(each, int) and each >= 0) for each in numbers)


class _Config:
    """Stands for the configuration of a model, by which AutoTokenizer files its classes."""


AutoTokenizer.register(_Config, fast_tokenizer_class=NbbpeTokenizerFast, exist_ok=True)
