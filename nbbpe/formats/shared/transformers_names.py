"""The names that transformers gives the files of a tokenizer's folder, and the special tokens in them."""

JSON = "tokenizer.json"
CONFIG = "tokenizer_config.json"
MAP = "special_tokens_map.json"
MODEL_CONFIG = "config.json"
ADDED = "added_tokens.json"
ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
LISTS = ("additional_special_tokens", "extra_special_tokens")
