"""The class for transformers, which decides for each call whether nbbpe or tokenizers handles it."""

from __future__ import annotations

import copy
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from functools import partial, update_wrapper
from typing import Any

from tokenizers import Tokenizer as Backend
from tokenizers.decoders import ByteLevel
from tokenizers.models import BPE
from transformers import AutoTokenizer, PreTrainedTokenizerFast
from transformers.tokenization_utils_base import PaddingStrategy, TruncationStrategy

from ..encoding.decoder import Decoder
from ..encoding.special_choice import ALL
from ..formats.shared.owners import ABOUT
from ..formats.shared.transformers_names import JSON
from ..kernels.compiler.collector import paused_for
from ..loading import load
from ..system.atomic_files import made_folder, write_text
from ..system.paths import Path, checked_name
from ..system.scratch import scratch_folder
from ..text.utf8 import has_surrogates
from ..tokenizer import Tokenizer
from .applied import Applied
from .encoded import Encoded
from .encodings import NbbpeEncoding, row_encodings
from .made import Made
from .rows import SIDES, Batch, Cut, RowPadding, is_padded_plainly, is_unpadded
from .saving import Saving

# The options that nbbpe handles; a call with any other option goes to tokenizers.
_PLAIN = {
    *("is_split_into_words", "sanitize_control_tokens"),
    *("add_special_tokens", "padding_strategy", "truncation_strategy", "max_length", "stride", "pad_to_multiple_of"),
    *("padding_side", "return_tensors", "return_token_type_ids", "return_attention_mask", "return_special_tokens_mask"),
    *("return_offsets_mapping", "return_overflowing_tokens", "return_length", "verbose", "split_special_tokens"),
}
# The optional columns of a result, and the option for each. If an option is not given, the columns in _USUAL are returned
# if the model takes them.
_OPTIONAL = {
    "token_type_ids": "return_token_type_ids",
    "attention_mask": "return_attention_mask",
    "special_tokens_mask": "return_special_tokens_mask",
    "offset_mapping": "return_offsets_mapping",
}
_USUAL = "token_type_ids", "attention_mask"
# The options of a call that gives none, as PreTrainedTokenizerFast sets them.
_USUAL_OPTIONS: dict[str, Any] = {
    "add_special_tokens": True,
    "padding_strategy": PaddingStrategy.DO_NOT_PAD,
    "truncation_strategy": TruncationStrategy.DO_NOT_TRUNCATE,
    "max_length": None,
    "stride": 0,
    "verbose": True,
}
_IDS_ALONE = {_OPTIONAL[name]: False for name in _USUAL}
# tokenizers decodes the first 2^20 ids, in 0.2 s. Only then does it pay to make a nbbpe tokenizer just for decoding, which
# takes as long.
_MANY_IDS = 1 << 20
_FEW_IDS = 4  # tokenizers decodes fewer: checking whether the backend has changed takes a microsecond
_NO_IDS = TypeError, OverflowError, ValueError  # raised for a value that is not an id, or an id that nbbpe does not know
# Without this option, transformers 5 does not clean up the text of BPE tokenizers.
_CLEANS_BPE = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"
_TAKES_ROWS = not hasattr(PreTrainedTokenizerFast, "_batch_encode_plus")  # transformers 5: encode, decode take batches
# The options of `from_pretrained` that say how files are found; all others belong to the tokenizer and are saved with it.
_FINDING = {
    *("cache_dir", "force_download", "resume_download", "local_files_only", "token", "use_auth_token", "revision"),
    *("trust_remote_code", "proxies", "subfolder", "user_agent", "mirror", "gguf_file", "_from_pipeline", "_from_auto"),
    *("_commit_hash", "use_fast", "tokenizer_type"),
}


class NbbpeTokenizerFast(PreTrainedTokenizerFast):  # type: ignore[misc]
    """A PreTrainedTokenizerFast that encodes texts with nbbpe, to the same ids.

    `from_pretrained(folder)` reads what every PreTrainedTokenizerFast does; `from_tokenizer` takes a nbbpe.Tokenizer. If
    nbbpe cannot honour a part of the tokenizer exactly, the first text raises ValueError that names the part.

    >>> from nbbpe.hf import NbbpeTokenizerFast
    >>> fast = NbbpeTokenizerFast.from_tokenizer(tok, eos_token="<|endoftext|>", pad_token="<|endoftext|>")
    >>> fast(["the cat", "the"], padding=True)["input_ids"]
    [[258, 261], [258, 263]]
    >>> fast.decode([258, 261, 263], skip_special_tokens=True)
    'the cat'
    """

    # No `__init__`: transformers 5 reads a tokenizer.json unchanged only for classes without one.

    # State that is neither copied nor saved. It is not in `__dict__`, of which `datasets` makes the names of its caches: a
    # call must not change these.
    __slots__ = ("_made", "_n_decoded", "_saving")
    _made: Made | None
    _n_decoded: int  # ids that tokenizers has decoded
    _saving: Saving | None

    def __new__(cls, *args: Any, **options: Any) -> Any:
        if any(isinstance(each, Tokenizer) for each in (*args, options.get("tokenizer_object"))):
            raise TypeError("pass a nbbpe.Tokenizer to NbbpeTokenizerFast.from_tokenizer(tok, eos_token=...)")
        new = super().__new__(cls)
        new._made, new._n_decoded, new._saving = None, 0, None
        return new

    @classmethod
    def from_tokenizer(cls, tokenizer: Tokenizer | Path, **options: Any) -> NbbpeTokenizerFast:
        """Make one from a nbbpe.Tokenizer, or from anything that `nbbpe.load` takes.

        options : of PreTrainedTokenizerFast: roles such as eos_token and pad_token, model_max_length, chat_template

        Raises ValueError for a tokenizer that a tokenizer.json cannot hold (see `Tokenizer.to_hf`).
        """
        with tempfile.TemporaryDirectory(prefix="nbbpe-") as folder:
            path = os.path.join(folder, JSON)
            loaded = load(tokenizer)
            loaded.to_hf(path)
            backend = Backend.from_file(path)
        options.setdefault("clean_up_tokenization_spaces", False)
        if loaded._model.extras.prefix_space:  # else transformers 4 would switch it off
            options.setdefault("add_prefix_space", True)
        return cls(tokenizer_object=backend, **options)

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Path, *args: Any, **options: Any) -> NbbpeTokenizerFast:
        """Like PreTrainedTokenizerFast.from_pretrained; also takes a folder of `Tokenizer.save` without tokenizer.json."""
        folder = os.fspath(pretrained_model_name_or_path)
        if os.path.isfile(os.path.join(folder, ABOUT)) and not os.path.isfile(os.path.join(folder, JSON)):
            return cls.from_tokenizer(folder, **{name: each for name, each in options.items() if name not in _FINDING})
        return super().from_pretrained(folder, *args, **options)

    @property
    def nbbpe(self) -> Tokenizer:
        """The nbbpe.Tokenizer that encodes for this one; made again after tokens were added, or a part was replaced.

        A replaced model with the same number of tokens is not noticed: comparing all tokens would take longer than most
        texts do.
        """
        return self._applied.tokenizer

    @property
    def _applied(self) -> Applied:
        made = self._made
        if made is None or not made.is_current(self._tokenizer):
            made = self._made = Made.of(self._tokenizer)
        if made.applied is None:
            raise ValueError(made.refusal)
        return made.applied

    @property
    def _decoders(self) -> tuple[Decoder, Decoder]:
        made = self._made
        if made is None or made.applied is None or not made.decodes_the_same(self._tokenizer):
            return self._applied.decoders
        return made.applied.decoders

    def _add_tokens(self, new_tokens: Any, special_tokens: bool = False) -> int:
        self._made = None
        return super()._add_tokens(new_tokens, special_tokens=special_tokens)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def save_pretrained(self, save_directory: Path, *args: Any, keep_class: bool = False, **options: Any) -> Any:
        """Write a folder that transformers reads without nbbpe. Takes the arguments of the method of the base class.

        keep_class : whether the folder names this class, so that AutoTokenizer returns it if nbbpe.hf was imported. By
            default it names PreTrainedTokenizerFast, as transformers 4 rejects a class that it does not know

        The files appear in the folder when all of them are complete; Ctrl-C leaves either the old or the new ones.
        """
        saved = copy.copy(self)
        folder = checked_name(save_directory)
        saved._saving = Saving(folder, keep_class)
        # made_folder, because transformers would refuse a folder that is a dangling symlink.
        with made_folder(folder), scratch_folder(os.path.join(folder, JSON), folder) as scratch:
            # The name of the folder that transformers writes also names the repository on the hub, so it is kept. It is in
            # a folder of its own, as `scratch` may have a file of that name.
            new = os.path.join(scratch, "new", os.path.basename(os.path.abspath(folder)))
            return super(NbbpeTokenizerFast, saved).save_pretrained(new, *args, **options)

    def _save_pretrained(self, save_directory: str, file_names: tuple[str, ...], *args: Any, **options: Any) -> Any:
        # Called after tokenizer_config.json, the first of `file_names`, is written, and before files are uploaded (if so).
        saving = self._saving
        if saving is not None and not saving.keeps_class:
            with open(file_names[0], encoding="utf-8") as file:
                config = json.load(file)
            config["tokenizer_class"] = "PreTrainedTokenizerFast"
            write_text(file_names[0], json.dumps(config, ensure_ascii=False, indent=2, sort_keys=True) + "\n")
        names: tuple[str, ...] = super()._save_pretrained(save_directory, file_names, *args, **options)
        return names if saving is None else saving.publish(save_directory, names)

    def _switch_to_input_mode(self) -> None:
        """Do nothing. transformers 5 looks for this method in each call; if missing, that takes a tenth of a short call."""

    def __call__(self, text: Any = None, *args: Any, **options: Any) -> Any:
        # A text without options skips the processing of options in the base class, which takes a sixth of a short call.
        if type(text) is str and not args and not options:
            usual = {**_USUAL_OPTIONS, "split_special_tokens": self.split_special_tokens}
            return self._encode_plus(text, None, **usual)
        return super().__call__(text, *args, **options)

    # Not @wraps, with which type checkers would take the argument `text` for `self`.
    update_wrapper(__call__, PreTrainedTokenizerFast.__call__)

    # transformers 5 calls `_encode_plus` for a text or a batch; 4 calls it for a text, `_batch_encode_plus` for a batch.

    def _encode_plus(self, text: Any, text_pair: Any = None, **options: Any) -> Any:
        if text_pair is not None and not isinstance(text_pair, (str, list, tuple)):  # the base class raises an error
            return super()._encode_plus(text, text_pair=text_pair, **options)
        is_split = options.get("is_split_into_words")
        if isinstance(text, str) and not text_pair and not is_split:  # with an empty second text, it is not a pair
            with_tokenizers = partial(self._by_tokenizers, text, None, options)
            return self._encoded(Batch([text], False), options, with_tokenizers, is_one=True)
        text, text_pair = map(_copied, (text, text_pair))
        with_tokenizers = partial(self._by_tokenizers, text, text_pair, options)
        if is_split:
            is_one = not (isinstance(text, (list, tuple)) and text and isinstance(text[0], (list, tuple)))
        else:
            is_one = isinstance(text, str)
        if is_one:
            text, text_pair = [text], [text_pair] if text_pair else None
        elif not _TAKES_ROWS:
            text = None
        return self._encoded(Batch.of(text, text_pair, bool(is_split)), options, with_tokenizers, is_one)

    def _by_tokenizers(self, text: Any, text_pair: Any, options: Mapping[str, Any]) -> Any:
        return super()._encode_plus(text, text_pair=text_pair, **options)

    def _batch_encode_plus(self, batch_text_or_text_pairs: Any, **options: Any) -> Any:
        batch_text_or_text_pairs = _copied(batch_text_or_text_pairs)
        with_tokenizers = partial(super()._batch_encode_plus, batch_text_or_text_pairs, **options)
        batch = Batch.of(batch_text_or_text_pairs, None, bool(options.get("is_split_into_words")))
        return self._encoded(batch, options, with_tokenizers, is_one=False)

    def _encoded(
        self, batch: Batch | None, options: Mapping[str, Any], with_tokenizers: Callable[[], Any], is_one: bool
    ) -> Any:
        """The result of a call: rows for a batch; for one text its row alone, unless the call may return several rows.

        batch           : None if tokenizers must decide
        with_tokenizers : makes the result with tokenizers
        """
        with paused_for(0 if batch is None else len(batch.texts)):
            encoded = self._encode_plain(batch, options)
            found = None if encoded is None else self._columns(encoded, options)
        if encoded is None or found is None:
            return with_tokenizers()
        tensors = options.get("return_tensors")
        if is_one and tensors is None and not options.get("return_overflowing_tokens"):
            found = {name: rows[0] if isinstance(rows[0], list) else rows for name, rows in found.items()}  # or ints
        return NbbpeEncoding.of(found, encoded.frame.n_texts, partial(row_encodings, encoded, with_tokenizers), tensors)

    def tokenize(self, text: Any, pair: Any = None, add_special_tokens: bool = False, **options: Any) -> list[str]:
        """The tokens of a text, spelled in GPT-2's alphabet; arguments are those of PreTrainedTokenizerFast."""
        if isinstance(text, str) and not pair and not options:
            ids_options = {"add_special_tokens": add_special_tokens, **_IDS_ALONE}
            encoded = self._encode_plain(Batch([text], False), ids_options)
            columns = None if encoded is None else self._columns(encoded, ids_options)
            if encoded is not None and columns is not None:
                spelled = encoded.applied.spelled(columns["input_ids"][0])
                if spelled is not None:
                    return spelled
        return super().tokenize(text, pair, add_special_tokens, **options)

    def decode(
        self,
        token_ids: Any,
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        **options: Any,
    ) -> Any:
        """The text of ids, or of each list of ids; arguments are those of PreTrainedTokenizerFast."""
        ids = token_ids.tolist() if hasattr(token_ids, "tolist") else token_ids  # as the base class does
        if type(ids) is not list:
            ids = [ids] if type(ids) is int else list(ids) if type(ids) is tuple else ids
        if type(ids) is list and ids:
            if type(ids[0]) is not list:
                decode = self._plain_decoder(len(ids), skip_special_tokens, clean_up_tokenization_spaces)
                try:
                    if decode is not None:
                        return decode(ids)
                except _NO_IDS:
                    pass
            elif _TAKES_ROWS:
                texts = self._decode_rows(ids, skip_special_tokens, clean_up_tokenization_spaces)
                if texts is not None:
                    return texts
        if clean_up_tokenization_spaces is not None:
            options["clean_up_tokenization_spaces"] = clean_up_tokenization_spaces
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
            sequences = sequences.tolist()  # as the base class does
        if isinstance(sequences, list):
            texts = self._decode_rows(sequences, skip_special_tokens, clean_up_tokenization_spaces)
            if texts is not None:
                return texts
        return super().batch_decode(sequences, skip_special_tokens, clean_up_tokenization_spaces, **options)

    def _decode_rows(self, rows: list[Any], skips_special: bool, cleans: bool | None) -> list[str] | None:
        """The text of each row of ids; None if the base class must decide."""
        if set(map(type, rows)) == {list}:
            decode = self._plain_decoder(sum(map(len, rows)), skips_special, cleans)
            try:
                return None if decode is None else list(map(decode, rows))
            except _NO_IDS:
                pass
        return None

    def _plain_decoder(self, n_ids: int, skips_special: bool, cleans: bool | None) -> Callable[[list[Any]], str] | None:
        """Return a function that decodes a row and may raise one of _NO_IDS; None if the base class must decide.

        n_ids : the number of ids in all rows
        """
        backend = self._tokenizer
        if self.clean_up_tokenization_spaces if cleans is None else cleans:
            if type(backend.model) is not BPE or getattr(self, _CLEANS_BPE, True):
                return None
            super()._decode([], clean_up_tokenization_spaces=True)  # warns, once, that nothing is cleaned up
        if type(skips_special) is not bool:  # tokenizers raises an error
            return None
        if n_ids < _FEW_IDS:
            return partial(backend.decode, skip_special_tokens=skips_special)
        if self._made is None and self._n_decoded < _MANY_IDS:
            self._n_decoded += n_ids
            return partial(backend.decode, skip_special_tokens=skips_special)
        if type(backend.decoder) is not ByteLevel or getattr(backend.model, "end_of_word_suffix", None):
            return None
        try:
            return partial(self._decoders[skips_special].decode, errors="replace")
        except ValueError:  # nbbpe cannot honour the tokenizer
            return None

    def _encode_plain(self, batch: Batch | None, options: Mapping[str, Any]) -> Encoded | None:
        """Encode a batch of texts or pairs with nbbpe; None if tokenizers must decide."""
        if batch is None or not options.keys() <= _PLAIN or options.get("sanitize_control_tokens"):
            return None
        texts = batch.texts
        whole = texts if batch.n_words is None else ["".join(texts)]  # words are many and short: one check for all
        if any(map(has_surrogates, whole)):  # tokenizers raises an error
            return None
        if not is_padded_plainly(options, self.padding_side) or self.truncation_side not in SIDES:
            return None
        adds = options.get("add_special_tokens", True)
        splits = options.get("split_special_tokens", self.split_special_tokens)
        is_split = options.get("is_split_into_words", False)
        # For other values, tokenizers raises an error or converts them.
        if type(adds) is not bool or type(splits) is not bool or type(is_split) is not bool:
            return None
        applied = self._applied
        allowed = applied.found_when_split if splits else ALL
        if allowed is None or (options.get("return_offsets_mapping") and applied.finder is None):
            return None
        ids, starts = applied.encode(texts, allowed)
        bounds = batch.bounds(starts)
        frame = applied.frames[batch.is_pair, adds]
        cut = Cut.of(bounds, frame, options, self.truncation_side == "left")
        return None if cut is None else Encoded(applied, batch, ids, starts, frame, cut)

    def _columns(self, encoded: Encoded, options: Mapping[str, Any]) -> dict[str, Any] | None:
        """The columns of a result; None if tokenizers must decide."""
        names, usual = ["input_ids"], self.model_input_names
        for name, option in _OPTIONAL.items():
            is_wanted = options.get(option)
            if is_wanted or (is_wanted is None and name in _USUAL and name in usual):
                names.append(name)
        columns = encoded.columns(names)
        if columns is None:
            return None
        # As in the base class: truncation and padding that an earlier call has set in the backend do not stay there.
        backend = self._tokenizer
        if backend.truncation is not None:
            backend.no_truncation()
        if backend.padding is not None:
            backend.no_padding()
        ids = columns["input_ids"]
        most, verbose = options.get("max_length"), options.get("verbose", True)
        self._eventual_warn_about_too_long_sequence(max(ids, key=len), most, verbose)
        found: dict[str, Any] = columns
        if not is_unpadded(options):
            encoded.padding = padding = RowPadding.of(ids, self._pads(), options, self.padding_side)
            found = {name: padding.apply(name, rows) for name, rows in columns.items()}
        if options.get("return_length"):
            found["length"] = list(map(len, found["input_ids"]))
        if options.get("return_overflowing_tokens"):
            found["overflow_to_sample_mapping"] = list(encoded.cut.numbers[: len(ids)])
        return found

    def _pads(self) -> dict[str, Any]:
        """The value with which the rows of each column are padded."""
        return {
            "input_ids": self.pad_token_id,
            "token_type_ids": self.pad_token_type_id,
            "attention_mask": 0,
            "special_tokens_mask": 1,
            "offset_mapping": (0, 0),
            "word_ids": None,
            "sequence_ids": None,
            # Not the token of pad_token_id: if pad_token is not in the vocabulary, that id is unk_token's.
            "tokens": self.pad_token,
        }


def _copied(texts: Any) -> Any:
    """Copy lists of texts: they may be passed to tokenizers later, after the caller has changed them."""
    if not isinstance(texts, (list, tuple)):
        return texts
    copied = texts if texts and isinstance(texts[0], str) else map(_copied, texts)
    return list(copied) if isinstance(texts, list) else tuple(copied)


class _Config:
    """A model configuration, only used as the key under which AutoTokenizer registers the class."""


AutoTokenizer.register(_Config, fast_tokenizer_class=NbbpeTokenizerFast, exist_ok=True)
