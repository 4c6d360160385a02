"""The class for transformers: what it hands over to nbbpe, and what to tokenizers."""

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
from .encodings import NbbpeEncoding, rows_told
from .made import Made
from .rows import SIDES, Batch, Cut, RowPadding, is_padded_plainly, is_unpadded
from .saving import Saving

# The options of a call that nbbpe is enough for; one with any other goes to tokenizers.
_PLAIN = {
    *("is_split_into_words", "sanitize_control_tokens"),
    *("add_special_tokens", "padding_strategy", "truncation_strategy", "max_length", "stride", "pad_to_multiple_of"),
    *("padding_side", "return_tensors", "return_token_type_ids", "return_attention_mask", "return_special_tokens_mask"),
    *("return_offsets_mapping", "return_overflowing_tokens", "return_length", "verbose", "split_special_tokens"),
}
# The columns of a result that are asked for, each by an option; where it is not given, the model takes them or not.
_OPTIONAL = {
    "token_type_ids": "return_token_type_ids",
    "attention_mask": "return_attention_mask",
    "special_tokens_mask": "return_special_tokens_mask",
    "offset_mapping": "return_offsets_mapping",
}
_USUAL = "token_type_ids", "attention_mask"
# Of a call that gives none, as their class makes them.
_USUAL_OPTIONS: dict[str, Any] = {
    "add_special_tokens": True,
    "padding_strategy": PaddingStrategy.DO_NOT_PAD,
    "truncation_strategy": TruncationStrategy.DO_NOT_TRUNCATE,
    "max_length": None,
    "stride": 0,
    "verbose": True,
}
_IDS_ALONE = {_OPTIONAL[name]: False for name in _USUAL}
# How many ids are decoded by tokenizers, in 0.2 s, before a tokenizer of nbbpe is made for decoding alone, in as much time.
_MANY_IDS = 1 << 20
_FEW_IDS = 4  # fewer are decoded by tokenizers: to see whether a token was added takes a microsecond
_NO_IDS = TypeError, OverflowError, ValueError  # where something is no id, or, to nbbpe, has no token
# Without it, transformers 5 cleans up no text of BPE.
_CLEANS_BPE = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"
_TAKES_ROWS = not hasattr(PreTrainedTokenizerFast, "_batch_encode_plus")  # as `encode` and `decode` of transformers 5 do
# The options of `from_pretrained` that say how files are found; every other one is of the tokenizer, and saved with it.
_FINDING = {
    *("cache_dir", "force_download", "resume_download", "local_files_only", "token", "use_auth_token", "revision"),
    *("trust_remote_code", "proxies", "subfolder", "user_agent", "mirror", "gguf_file", "_from_pipeline", "_from_auto"),
    *("_commit_hash", "use_fast", "tokenizer_type"),
}


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

    # What is worked out again, and neither copied nor saved. It is not in `__dict__`, by which `datasets` names what it
    # caches: a call must not change that.
    __slots__ = ("_made", "_n_decoded", "_saving")
    _made: Made | None
    _n_decoded: int  # ids, by tokenizers
    _saving: Saving | None

    def __new__(cls, *args: Any, **options: Any) -> Any:
        if any(isinstance(each, Tokenizer) for each in (*args, options.get("tokenizer_object"))):
            raise TypeError("a nbbpe.Tokenizer is given to NbbpeTokenizerFast.from_tokenizer(tok, eos_token=...)")
        new = super().__new__(cls)
        new._made, new._n_decoded, new._saving = None, 0, None
        return new

    @classmethod
    def from_tokenizer(cls, tokenizer: Tokenizer | Path, **options: Any) -> NbbpeTokenizerFast:
        """From a tokenizer, or from anything that `nbbpe.load` takes.

        options : as of PreTrainedTokenizerFast: roles such as eos_token and pad_token, model_max_length, chat_template

        Raises ValueError for a tokenizer that a tokenizer.json cannot hold (see `Tokenizer.to_hf`).
        """
        with tempfile.TemporaryDirectory(prefix="nbbpe-") as folder:
            path = os.path.join(folder, JSON)
            loaded = load(tokenizer)
            loaded.to_hf(path)
            backend = Backend.from_file(path)
        options.setdefault("clean_up_tokenization_spaces", False)
        if loaded._model.extras.prefix_space:  # which transformers 4 takes away otherwise
            options.setdefault("add_prefix_space", True)
        return cls(tokenizer_object=backend, **options)

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Path, *args: Any, **options: Any) -> NbbpeTokenizerFast:
        """As that of PreTrainedTokenizerFast; or from a folder of `Tokenizer.save` in which tokenizer.json is missing."""
        folder = os.fspath(pretrained_model_name_or_path)
        if os.path.isfile(os.path.join(folder, ABOUT)) and not os.path.isfile(os.path.join(folder, JSON)):
            return cls.from_tokenizer(folder, **{name: each for name, each in options.items() if name not in _FINDING})
        return super().from_pretrained(folder, *args, **options)

    @property
    def nbbpe(self) -> Tokenizer:
        """The nbbpe.Tokenizer that encodes for this one; made again after tokens were added, or a part was replaced.

        Another model of as many tokens is not seen: to compare all of its tokens would take longer than most texts.
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
        """Write a folder that any transformers reads; arguments are those of PreTrainedTokenizerFast.save_pretrained.

        keep_class : whether the folder names this class, so that AutoTokenizer gives it where nbbpe.hf was imported. By
            default it names PreTrainedTokenizerFast, as transformers 4 refuses a class that it does not know

        The files get their names when all of them are complete; Ctrl-C leaves the old ones or the new ones.
        """
        saved = copy.copy(self)
        folder = checked_name(save_directory)
        saved._saving = Saving(folder, keep_class)
        # In transformers, a dangling symlink is a file that exists.
        with made_folder(folder), scratch_folder(os.path.join(folder, JSON), folder) as scratch:
            # Its name, which names the repository on the hub, too, may be that of any file in `scratch`.
            new = os.path.join(scratch, "new", os.path.basename(os.path.abspath(folder)))
            return super(NbbpeTokenizerFast, saved).save_pretrained(new, *args, **options)

    def _save_pretrained(self, save_directory: str, file_names: tuple[str, ...], *args: Any, **options: Any) -> Any:
        # Called after tokenizer_config.json, which is the first file, and before all files are uploaded, if they are.
        saving = self._saving
        if saving is not None and not saving.keeps_class:
            with open(file_names[0], encoding="utf-8") as file:
                config = json.load(file)
            config["tokenizer_class"] = "PreTrainedTokenizerFast"
            write_text(file_names[0], json.dumps(config, ensure_ascii=False, indent=2, sort_keys=True) + "\n")
        names: tuple[str, ...] = super()._save_pretrained(save_directory, file_names, *args, **options)
        return names if saving is None else saving.publish(save_directory, names)

    def _switch_to_input_mode(self) -> None:
        """Nothing. transformers 5 looks for it in each call; where it is missing, that takes a tenth of a short one."""

    def __call__(self, text: Any = None, *args: Any, **options: Any) -> Any:
        # To sort the options of a text alone takes a sixth of a short call.
        if type(text) is str and not args and not options:
            usual = {**_USUAL_OPTIONS, "split_special_tokens": self.split_special_tokens}
            return self._encode_plus(text, None, **usual)
        return super().__call__(text, *args, **options)

    # As `wraps` does, after which type checkers would take the text for the tokenizer.
    update_wrapper(__call__, PreTrainedTokenizerFast.__call__)

    # transformers 5 calls `_encode_plus` for a text or a batch, 4 for a text only; for a batch it calls the other.

    def _encode_plus(self, text: Any, text_pair: Any = None, **options: Any) -> Any:
        if text_pair is not None and not isinstance(text_pair, (str, list, tuple)):  # which their class refuses
            return super()._encode_plus(text, text_pair=text_pair, **options)
        is_split = options.get("is_split_into_words")
        if isinstance(text, str) and not text_pair and not is_split:  # an empty text makes no pair
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
        """The result of a call: for a batch, or for one text, which has a row of its own unless there may be more."""
        with paused_for(0 if batch is None else len(batch.texts)):
            encoded = self._encode_plain(batch, options)
            found = None if encoded is None else self._columns(encoded, options)
        if encoded is None or found is None:
            return with_tokenizers()
        tensors = options.get("return_tensors")
        if is_one and tensors is None and not options.get("return_overflowing_tokens"):
            found = {name: rows[0] if isinstance(rows[0], list) else rows for name, rows in found.items()}  # or ints
        return NbbpeEncoding.of(found, encoded.frame.n_texts, partial(rows_told, encoded, with_tokenizers), tensors)

    def tokenize(self, text: Any, pair: Any = None, add_special_tokens: bool = False, **options: Any) -> list[str]:
        """The tokens of a text, spelled in GPT-2's alphabet; arguments are those of PreTrainedTokenizerFast."""
        if isinstance(text, str) and not pair and not options:
            asked = {"add_special_tokens": add_special_tokens, **_IDS_ALONE}
            encoded = self._encode_plain(Batch([text], False), asked)
            columns = None if encoded is None else self._columns(encoded, asked)
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
        ids = token_ids.tolist() if hasattr(token_ids, "tolist") else token_ids  # as theirs, which then looks at each id
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
            sequences = sequences.tolist()  # as theirs, which then looks at each id
        if isinstance(sequences, list):
            texts = self._decode_rows(sequences, skip_special_tokens, clean_up_tokenization_spaces)
            if texts is not None:
                return texts
        return super().batch_decode(sequences, skip_special_tokens, clean_up_tokenization_spaces, **options)

    def _decode_rows(self, rows: list[Any], skips_special: bool, cleans: bool | None) -> list[str] | None:
        """The text of each row of ids; None if their class must decide."""
        if set(map(type, rows)) == {list}:
            decode = self._plain_decoder(sum(map(len, rows)), skips_special, cleans)
            try:
                return None if decode is None else list(map(decode, rows))
            except _NO_IDS:
                pass
        return None

    def _plain_decoder(self, n_ids: int, skips_special: bool, cleans: bool | None) -> Callable[[list[Any]], str] | None:
        """What decodes a row, of rows with so many ids; it may raise one of _NO_IDS. None if their class must decide."""
        backend = self._tokenizer
        if self.clean_up_tokenization_spaces if cleans is None else cleans:
            if type(backend.model) is not BPE or getattr(self, _CLEANS_BPE, True):
                return None
            super()._decode([], clean_up_tokenization_spaces=True)  # which says, once, that nothing is cleaned up
        if type(skips_special) is not bool:  # which tokenizers refuses
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
        """A batch of texts or pairs, encoded by nbbpe; None if tokenizers must decide."""
        if batch is None or not options.keys() <= _PLAIN or options.get("sanitize_control_tokens"):
            return None
        texts = batch.texts
        whole = texts if batch.n_words is None else ["".join(texts)]  # there are many words
        if any(map(has_surrogates, whole)):  # which tokenizers refuses
            return None
        if not is_padded_plainly(options, self.padding_side) or self.truncation_side not in SIDES:
            return None
        adds = options.get("add_special_tokens", True)
        splits = options.get("split_special_tokens", self.split_special_tokens)
        is_split = options.get("is_split_into_words", False)
        # tokenizers refuses other values, or looks them up.
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
            asked = options.get(option)
            if asked or (asked is None and name in _USUAL and name in usual):
                names.append(name)
        columns = encoded.columns(names)
        if columns is None:
            return None
        # As in their class, what a call before set in the tokenizer of tokenizers is not left there, nor saved with it.
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
        """What fills the rows of each column."""
        return {
            "input_ids": self.pad_token_id,
            "token_type_ids": self.pad_token_type_id,
            "attention_mask": 0,
            "special_tokens_mask": 1,
            "offset_mapping": (0, 0),
            "word_ids": None,
            "sequence_ids": None,
            # As it is given: its id may be another token's, as that of an unknown name is unk_token's.
            "tokens": self.pad_token,
        }


def _copied(texts: Any) -> Any:
    """Texts as they are now: tokenizers may be asked later, when the caller has changed the lists."""
    if not isinstance(texts, (list, tuple)):
        return texts
    copied = texts if texts and isinstance(texts[0], str) else map(_copied, texts)
    return list(copied) if isinstance(texts, list) else tuple(copied)


class _Config:
    """Stands for the configuration of a model, by which AutoTokenizer files its classes."""


AutoTokenizer.register(_Config, fast_tokenizer_class=NbbpeTokenizerFast, exist_ok=True)
