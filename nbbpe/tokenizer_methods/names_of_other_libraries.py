"""Names of other libraries and of the command, with what to use instead: for the errors of users who try them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

_PADDED = "encode_padded(texts, max_length=..., pad_token=...)"
_TRAIN = "nbbpe.train(source, vocab_size, special_tokens), which makes a Tokenizer"
_WITH_SPECIAL = "with_special_tokens([...]), which gives another Tokenizer"
_TRANSFORMERS = "nbbpe.hf.NbbpeTokenizerFast.from_tokenizer(tok)"
_ID_OF = "special_tokens[...], as in tok.special_tokens['<|endoftext|>']"
_NAMED = "special_tokens, a dict from token to id, which says nothing of roles; or " + _TRANSFORMERS
_RANKS = "vocab, a mapping from id to bytes; or nbbpe.tiktoken.Encoding"
_PUSH = "save_pretrained(folder, ...), and `hf upload organization/name folder`; or " + _TRANSFORMERS
_COMPARE = "nbbpe.inspection.compare(a, b, path)"
_ENCODING = "nbbpe.load(name), or as in tiktoken the function of nbbpe.tiktoken"

# Methods in tokenizers, sentencepiece, minbpe, rustbpe, transformers, nanochat and Megatron, and what a Tokenizer has.
OF_TOKENIZER = {
    "Decode": "decode(ids)",
    "DecodePieces": "decode(ids)",
    "Encode": "encode(text)",
    "EncodeAsIds": "encode(text)",
    "EncodeAsPieces": "tokenize(text)",
    "DecodeIds": "decode(ids)",
    "GetPieceSize": "vocab_size",
    "IdToPiece": "id_to_token(id)",
    "Load": "nbbpe.load(path)",
    "PieceToId": "token_to_id(token)",
    "add_special_tokens": _WITH_SPECIAL,
    "add_tokens": _WITH_SPECIAL,
    "all_special_ids": "special_tokens, a dict from token to id",
    "all_special_tokens": "special_tokens, a dict from token to id",
    "apply_chat_template": _TRANSFORMERS,
    "batch_decode": "decode_batch(rows)",
    "batch_encode_plus": "encode_batch(texts) or encode_padded(texts), or " + _TRANSFORMERS,
    "bos_id": _ID_OF,
    "bos_token": _NAMED,
    "bos_token_id": _ID_OF,
    "chat_template": _TRANSFORMERS,
    "cls_token": _NAMED,
    "cls_token_id": _ID_OF,
    "compare": _COMPARE,
    "convert_ids_to_tokens": "id_to_token(id)",
    "convert_tokens_to_ids": "token_to_id(token)",
    "decode_ids": "decode(ids)",
    "decode_pieces": "decode(ids)",
    "detokenize": "decode(ids)",
    "enable_padding": _PADDED,
    "enable_truncation": _PADDED,
    "encode_as_ids": "encode(text)",
    "encode_as_pieces": "tokenize(text)",
    "encode_batch_fast": "encode_batch(texts)",
    "encode_plus": "encode(text) or encode_padded([text]), or " + _TRANSFORMERS,
    "encode_special": _ID_OF,
    "eod": _ID_OF,
    "eos_id": _ID_OF,
    "eos_token": _NAMED,
    "eos_token_id": _ID_OF,
    "from_directory": "nbbpe.load(folder)",
    "from_file": "nbbpe.load(path)",
    "from_pretrained": "nbbpe.load(name)",
    "from_str": "nbbpe.load(tokenizers.Tokenizer.from_str(text))",
    "get_added_tokens_decoder": "special_tokens, a dict from token to id",
    "get_added_vocab": "special_tokens, a dict from token to id",
    "get_bos_token_id": _ID_OF,
    "get_mergeable_ranks": _RANKS,
    "get_pattern": "pattern",
    "get_piece_size": "vocab_size",
    "get_special_tokens": "special_tokens, a dict from token to id",
    "get_vocab": "vocab, a mapping from id to bytes",
    "get_vocab_size": "vocab_size",
    "id_to_piece": "id_to_token(id)",
    "is_control": "is_special_token(id)",
    "mask_token": _NAMED,
    "mask_token_id": _ID_OF,
    "mergeable_ranks": _RANKS,
    "model_max_length": "encode_padded(texts, max_length=..., pad_token=...)",
    "pad": _PADDED,
    "pad_id": _ID_OF,
    "pad_token": _NAMED,
    "pad_token_id": _ID_OF,
    "padding_side": "encode_padded(texts, padding_side=..., pad_token=...)",
    "piece_to_id": "token_to_id(token)",
    "post_processor": "encode(text, add_special_tokens=True), which adds what it adds",
    "pre_tokenizer": "pattern, by which text is split",
    "push_to_hub": _PUSH,
    "register_special_tokens": _WITH_SPECIAL,
    "save_model": "save_gpt2(vocab_path, merges_path)",
    "save_vocabulary": "save_gpt2(vocab_path, merges_path)",
    "sep_token": _NAMED,
    "sep_token_id": _ID_OF,
    "special_tokens_map": _NAMED,
    "to_str": "to_hf(path)",
    "train": _TRAIN,
    "train_from_iterator": "nbbpe.train(documents=..., vocab_size=...), which makes a Tokenizer",
    "train_new_from_iterator": "truncate(n) to the bytes, and extend(documents=..., vocab_size=...) of what that gives",
    "unk_id": _ID_OF,
    "unk_token": _NAMED,
    "unk_token_id": _ID_OF,
}

# Names in other libraries' modules, and subcommands, which are methods here; and what to use instead.
OF_MODULE = {
    "AutoTokenizer": "nbbpe.load(name_or_folder), or nbbpe.hf.NbbpeTokenizerFast",
    "BPE": _TRAIN,
    "BasicTokenizer": "nbbpe.train(source, vocab_size, pattern=None), which makes a Tokenizer",
    "BpeTrainer": _TRAIN,
    "ByteLevelBPETokenizer": _TRAIN,
    "Encoding": "nbbpe.tiktoken.Encoding",
    "GPT4Tokenizer": "nbbpe.load('cl100k_base')",
    "HuggingFaceTokenizer": _TRAIN,
    "PreTrainedTokenizerFast": "nbbpe.hf.NbbpeTokenizerFast",
    "RegexTokenizer": _TRAIN,
    "RustBPETokenizer": _TRAIN,
    "SentencePieceProcessor": "nbbpe.load(path)",
    "SentencePieceTrainer": _TRAIN,
    "compare": _COMPARE,
    "convert": "nbbpe.load(path), and to_hf, save_tiktoken or another method of what it gives",
    "count": "nbbpe.Tokenizer.count, as in tok.count(text)",
    "decode_batch": "nbbpe.Tokenizer.decode_batch, as in tok.decode_batch(rows)",
    "encode_batch": "nbbpe.Tokenizer.encode_batch, as in tok.encode_batch(texts)",
    "encode_file": "nbbpe.Tokenizer.encode_file, as in tok.encode_file(source, 'ids.bin')",
    "encoding_for_model": _ENCODING,
    "extend": "nbbpe.Tokenizer.extend, as in tok.extend(source, vocab_size)",
    "from_file": "nbbpe.load(path)",
    "from_pretrained": "nbbpe.load(name)",
    "get_encoding": _ENCODING,
    "inspect": "nbbpe.inspection.vocabulary_figures(tok), or nbbpe.inspection.text_figures(tok, path)",
    "report": "nbbpe.Tokenizer.report, as in tok.report('report.html', path)",
    "tokenize": "nbbpe.Tokenizer.tokenize, as in tok.tokenize(text)",
    "train_from_iterator": "nbbpe.train(documents=..., vocab_size=...)",
}


class _Elsewhere:
    """A name that a Tokenizer lacks: to get or set it raises AttributeError, which says what to use instead.

    A subclass may define the name, and set it on its tokenizers.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.__doc__ = f"Not here: use {OF_TOKENIZER[name]}."  # in `help`

    def __get__(self, tokenizer: object, owner: type) -> Any:
        if tokenizer is not None and self._name in vars(tokenizer):
            return vars(tokenizer)[self._name]
        raise AttributeError(f"a Tokenizer has no {self._name!r}; use {OF_TOKENIZER[self._name]}")

    def __set__(self, tokenizer: object, value: object) -> None:
        if NamesElsewhere in type(tokenizer).__bases__:
            # A Tokenizer itself, not of a subclass: tokenizer.pad_token = "<pad>" would have no effect.
            self.__get__(tokenizer, type(tokenizer))
        vars(tokenizer)[self._name] = value


class NamesElsewhere:
    """The names of other libraries, as attributes of a Tokenizer that raise an error.

    A `__getattr__` in their place would slow down every look-up of an attribute: encoding a short text took 1.12 times as
    long, counting its tokens 1.25 times.
    """

    if not TYPE_CHECKING:  # type checkers report a call themselves, and a subclass may define its own

        def __call__(self, *args: object, **options: object) -> None:
            # No alias of `encode`: in transformers a call gives a dict with input_ids and more.
            raise TypeError(
                "a Tokenizer cannot be called: use encode(text), encode_batch(texts) or encode_padded(texts), or "
                f"{_TRANSFORMERS}, which is called as in transformers"
            )

    def __dir__(self) -> Iterable[str]:
        """The names that can be used."""
        own = vars(self)  # names that a subclass has set are in use
        names = super().__dir__()
        return [name for name in names if name not in OF_TOKENIZER or name in own or hasattr(type(self), name)]


for _name in OF_TOKENIZER:
    setattr(NamesElsewhere, _name, _Elsewhere(_name))
