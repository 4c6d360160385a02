"""The regexes of named split patterns, and their aliases."""

from __future__ import annotations

# Written as in tiktoken, if it has them: the same matches as in the originals, and faster for `regex`. "llama.cpp" is
# the list of models' regexes in llama.cpp's src/llama-vocab.cpp.
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_LEAD = r"[^\r\n\p{L}\p{N}]?"
_SUFFIX = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"


def _cased(upper: str, lower: str, suffix: str) -> str:
    """Words whose capitals come first, or that are all capitals."""
    return rf"{_LEAD}{upper}*{lower}+{suffix}|{_LEAD}{upper}+{lower}*{suffix}"


REGEXES: dict[str, str | list[str]] = {
    # OpenAI's r50k_base and p50k_base; its original form is that of GPT-2's encoder.py.
    "gpt2": r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s""",
    # BigCode's StarCoder: GPT-2's for the text between digits, each of which is a pretoken, as one regex.
    "starcoder": r"""\p{N}|'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?[^\s\p{L}\p{N}]++|\s++$|\s++(?=\p{N})|\s+(?!\S)|\s""",
    # OpenAI's cl100k_base.
    "cl100k": r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|"""
    r"""\s++$|\s*[\r\n]|\s+(?!\S)|\s""",
    # OpenAI's o200k_base.
    "o200k": _cased(_UPPER, _LOWER, _SUFFIX) + rf"""|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_SPACES}""",
    # Meta's Llama 3: what tiktoken's cl100k was at first. It matches the same but for "\n " at the end of a text.
    "llama3": r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"""
    r"""\s*[\r\n]+|\s+(?!\S)|\s+""",
    # Alibaba's Qwen 2.
    "qwen2": r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|"""
    r"""\s*[\r\n]+|\s+(?!\S)|\s+""",
    # Alibaba's Qwen 3.5, from tokenizer.json as llama.cpp quotes it: marks are a part of words.
    "qwen3.5": r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|"""
    r"""\s*[\r\n]+|\s+(?!\S)|\s+""",
    # Karpathy's nanochat.
    "nanochat": r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|"""
    r"""\s+(?!\S)|\s+""",
    # Mistral's Tekken, from tokenizer.json as llama.cpp quotes it.
    "tekken": _cased(_UPPER, _LOWER, "") + rf"""|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_SPACES}""",
    # Moonshot's Kimi K2, from its tokenization_kimi.py. That has "&&[^\p{Han}]" in sets, as Rust's engine reads them.
    "kimi-k2": r"""[\p{Han}]+|"""
    + _cased(rf"(?:(?!\p{{Han}}){_UPPER})", rf"(?:(?!\p{{Han}}){_LOWER})", _SUFFIX)
    + rf"""|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_SPACES}""",
    # DeepSeek's V3 and R1: llama.cpp's deepseek-v3.
    "deepseek3": [
        r"\p{N}{1,3}",
        "[一-龥\u3040-ゟ\u30a0-ヿ]+",
        r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"""
        + _SPACES,
    ],
    # DeepSeek-Coder: llama.cpp's deepseek-coder.
    "deepseek-coder": [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", r"[一-龥ࠀ-一가-퟿]+", r"\p{N}"],
    # BigScience's BLOOM, whose file has a set within the set: " ?[^(\\s|[.,!?…。，、।۔،])]+".
    "bloom": " ?[^()\\s|.,!?…。\uff0c、।\u06d4،]+",
    # LG's EXAONE of experts, from tokenizer.json as llama.cpp quotes it (exaone-moe): words that go on over spaces.
    "exaone-moe": r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}|"""
    r""" ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+""",
    # ByteDance's Seed-Coder, from tokenizer.json as llama.cpp quotes it.
    "seed-coder": r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|"""
    r"""\s+(?!\S)|\s+""",
}

# Names of encodings and models that use a named pattern.
ALIASES = {
    **dict.fromkeys(["r50k", "r50k_base", "p50k", "p50k_base", "p50k_edit"], "gpt2"),
    # What llama.cpp has for LG's EXAONE 4, and, below, for EXAONE 3; so for those that follow.
    **dict.fromkeys(["exaone4", "mpt", "olmo"], "gpt2"),
    **dict.fromkeys(["cl100k_base", "gpt-3.5", "gpt-4"], "cl100k"),
    # llama.cpp has gpt-4o's for Llama 4, too.
    **dict.fromkeys(["o200k_base", "o200k_harmony", "gpt-4o", "gpt-oss", "llama4", "minimax-m2"], "o200k"),
    # llama.cpp's chatglm-bpe, dbrx and smaug-bpe.
    **dict.fromkeys(["glm4", "dbrx", "smaug"], "llama3"),
    **dict.fromkeys(["qwen2.5", "qwen3", "stablelm2", "hunyuan", "solar-open", "grok2"], "qwen2"),
    # Their files have the sequence of digits and GPT-2's, which splits the same; a test holds the two together.
    **dict.fromkeys(["starcoder2", "smollm", "smollm2", "granite", "command-r", "exaone"], "starcoder"),
    **dict.fromkeys(["refact", "codeshell", "minerva"], "starcoder"),
    **dict.fromkeys(["deepseek-v3", "deepseek-r1", "hunyuan-dense"], "deepseek3"),
    "poro": "bloom",
}
