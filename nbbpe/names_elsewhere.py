"""What other libraries' names are called here, for the errors of those who try them first."""

from __future__ import annotations

_PADDED = "encode_padded(texts, max_length=..., pad_token=...)"
_TRAIN = "nbbpe.train(source, vocab_size, special_tokens), which makes a Tokenizer"
_WITH_SPECIAL = "with_special_tokens([...]), which gives another Tokenizer"
_TRANSFORMERS = "nbbpe.hf.NbbpeTokenizerFast.from_tokenizer(tok)"
_ID_OF = "special_tokens[...], as in tok.special_tokens['<|endoftext|>']"
_ENCODING = "nbbpe.load(name), or as in tiktoken the function of nbbpe.tiktoken"

# Names of tokenizers, sentencepiece, minbpe and transformers, with what a Tokenizer has for them.
OF_TOKENIZER = {
    "add_special_tokens": _WITH_SPECIAL,
    "add_tokens": _WITH_SPECIAL,
    "all_special_ids": "special_tokens, a dict from token to id",
    "all_special_tokens": "special_tokens, a dict from token to id",
    "apply_chat_template": _TRANSFORMERS,
    "batch_decode": "decode_batch(rows)",
    "batch_encode_plus": "encode_batch(texts) or encode_padded(texts), or " + _TRANSFORMERS,
    "bos_id": _ID_OF,
    "bos_token_id": _ID_OF,
    "convert_ids_to_tokens": "id_to_token(id)",
    "convert_tokens_to_ids": "token_to_id(token)",
    "decode_ids": "decode(ids)",
    "enable_padding": _PADDED,
    "enable_truncation": _PADDED,
    "encode_as_ids": "encode(text)",
    "encode_as_pieces": "tokenize(text)",
    "encode_batch_fast": "encode_batch(texts)",
    "encode_plus": "encode(text) or encode_padded([text]), or " + _TRANSFORMERS,
    "eos_id": _ID_OF,
    "eos_token_id": _ID_OF,
    "from_file": "nbbpe.load(path)",
    "from_pretrained": "nbbpe.load(name)",
    "get_piece_size": "vocab_size",
    "get_vocab": "vocab, a mapping from id to bytes",
    "get_vocab_size": "vocab_size",
    "id_to_piece": "id_to_token(id)",
    "pad": _PADDED,
    "pad_id": _ID_OF,
    "pad_token_id": _ID_OF,
    "piece_to_id": "token_to_id(token)",
    "register_special_tokens": _WITH_SPECIAL,
    "save_model": "save_gpt2(vocab_path, merges_path)",
    "to_str": "to_hf(path)",
    "train": _TRAIN,
    "train_from_iterator": "nbbpe.train(documents=..., vocab_size=...), which makes a Tokenizer",
}

# Those of modules.
OF_MODULE = {
    "AutoTokenizer": "nbbpe.load(name_or_folder), or nbbpe.hf.NbbpeTokenizerFast",
    "Encoding": "nbbpe.tiktoken.Encoding",
    "SentencePieceProcessor": "nbbpe.load(path); the models of sentencepiece are not among the formats",
    "SentencePieceTrainer": _TRAIN,
    "encoding_for_model": _ENCODING,
    "from_file": "nbbpe.load(path)",
    "from_pretrained": "nbbpe.load(name)",
    "get_encoding": _ENCODING,
    "train_from_iterator": "nbbpe.train(documents=..., vocab_size=...)",
}
