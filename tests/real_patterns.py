"""Split regexes of real models. A list is a sequence, each of which splits what the one before left.

The key says where each is from. "llama.cpp" is the list of models' regexes in its src/llama-vocab.cpp, "quoted" where that
quotes the model's tokenizer.json. Those with "not checked" were written from memory, and nobody held them against the file.

Regexes are in the syntax of `regex`; where a file has `&&` in a set, the look-ahead `(?!...)` stands for it. Where llama.cpp
leaves out what matches what is left anyway, `|\\s+`, it stands here.
"""

# ruff: noqa: E501, RUF001

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_SUFFIX = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_U, _L = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_NOT_HAN_U, _NOT_HAN_L = rf"(?:(?!\p{{Han}}){_U})", rf"(?:(?!\p{{Han}}){_L})"
_LEAD = r"[^\r\n\p{L}\p{N}]?"
_REST = r"\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _REST
O200K = rf"{_LEAD}{_U}*{_L}+{_SUFFIX}|{_LEAD}{_U}+{_L}*{_SUFFIX}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_REST}"
TEKKEN = rf"{_LEAD}{_U}*{_L}+|{_LEAD}{_U}+{_L}*|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_REST}"
DEEPSEEK_WORDS = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"""
    + _REST
)
KIMI = (
    rf"[\p{{Han}}]+|{_LEAD}{_NOT_HAN_U}*{_NOT_HAN_L}+{_SUFFIX}|{_LEAD}{_NOT_HAN_U}+{_NOT_HAN_L}*{_SUFFIX}|\p{{N}}{{1,3}}|"
    rf" ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_REST}"
)
QWEN2 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _REST
BLOOM = r" ?[^()\s|.,!?…。，、।۔،]+"  # a set in a set in the file: " ?[^(\\s|[.,!?…。，、।۔،])]+"
PUNCTUATION = r"[\p{P}$+<=>^`|~]"  # of tokenizers' Punctuation, which also takes these of ASCII
LATIN = (  # as escapes: some of these letters change where a file is normalized
    r"A-Za-z\xB5\xC0-\xD6\xD8-\xF6\xF8-\u01BA\u01BC-\u01BF\u01C4-\u0293\u0295-\u02AF\u0370-\u0373\u0376\u0377\u037B-\u037D\u037F"
    r"\u0386\u0388-\u038A\u038C\u038E-\u03A1\u03A3-\u03F5\u03F7-\u0481\u048A-\u052F\u0531-\u0556\u10A0-\u10C5\u13A0-\u13F5"
    r"\u13F8-\u13FD\u1C90-\u1CBA\u1CBD-\u1CBF\u1D00-\u1D2B\u1D6B-\u1D77\u1D79-\u1D9A\u1E00-\u1F15\u1F18-\u1F1D\u1F20-\u1F45"
    r"\u1F48-\u1F4D\u1F50-\u1F57\u1F59\u1F5B\u1F5D\u1F5F-\u1F7D\u1F80-\u1FB4\u1FB6-\u1FBC\u1FBE\u1FC2-\u1FC4\u1FC6-\u1FCC"
    r"\u1FD0-\u1FD3\u1FD6-\u1FDB\u1FE0-\u1FEC\u1FF2-\u1FF4\u1FF6-\u1FFC\u2102\u2107\u210A-\u2113\u2115\u2119-\u211D\u2124"
    r"\u2126\u2128\u212A-\u212D\u212F-\u2134\u2139\u213C-\u213F\u2145-\u2149\u214E\u2183\u2184\u2C00-\u2C7B\u2C7E-\u2CE4"
    r"\u2CEB-\u2CEE\u2CF2\u2CF3\uA640-\uA66D\uA680-\uA69B\uA722-\uA76F\uA771-\uA787\uA78B-\uA78E\uAB70-\uABBF\uFB00-\uFB06"
    r"\uFB13-\uFB17\uFF21-\uFF3A\uFF41-\uFF5A𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃"
)
CJK_AND_MORE = "[一-鿿㐀-䶿豈-﫿぀-ゟ゠-ヿ･-ﾟ⼀-⿟เ-๿຀-໿ក-៿က-႟ꩠ-ꩿꧠ-꧿가-힯ᄀ-ᇿ]+"

REAL: dict[str, str | list[str]] = {
    "openai/gpt-2 encoder.py; GPT-2, MPT, OLMo, Jais, Trillion, Granite Docling, EXAONE 4 in llama.cpp": GPT2,
    "openai/tiktoken r50k_base, p50k_base": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "openai/tiktoken r50k_base before 0.6": r"'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "openai/tiktoken cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
    "pytorch/executorch CL100K_PAT_STR; Llama 3, DBRX, Smaug, GLM-4 in llama.cpp, quoted": LLAMA3,
    "llama.cpp, quoted: GPT-4o, MiniMax M2, Llama 4": O200K,
    "openai/tiktoken o200k_harmony (gpt-oss)": O200K,
    "karpathy/minbpe GPT-4, karpathy/rustbpe": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
    ),
    "karpathy/nanochat": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
    ),
    "llama.cpp, quoted: Qwen 2, StableLM 2, Hunyuan, Solar Open, Grok 2": QWEN2,
    "llama.cpp, quoted: Qwen 3.5": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|"
    + _REST,
    "llama.cpp: DeepSeek-V3, R1, Hunyuan Dense, JoyAI": [r"\p{N}{1,3}", "[一-龥\u3040-ゟ\u30a0-ヿ]+", DEEPSEEK_WORDS],
    "llama.cpp: Spark 2.5": [
        r"\p{N}{1,3}",
        "[一-龥\u3040-ゟ\u30a0-ヿ]+",
        DEEPSEEK_WORDS.replace(r"+[\r\n]*|\s*[\r\n]+|", r"+|[\r\n]|"),
        r"\p{N}",
    ],
    "llama.cpp: DeepSeek LLM": [
        r"[\r\n]",
        rf"\s?[{LATIN}]+",
        r"\s?[!-/:-~！-／：-～‘-‟　-。]+",
        r"\s+$",
        r"[一-龥ࠀ-一가-퟿]+",
        r"\p{N}+",
    ],
    "llama.cpp: DeepSeek-Coder": [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", r"[一-龥ࠀ-一가-퟿]+", r"\p{N}"],
    "llama.cpp, quoted: Tekken (Mistral Nemo, Pixtral)": TEKKEN,
    "moonshotai/Kimi-K2 tokenization_kimi.py, as several repositories quote it": KIMI,
    "bigscience/bloom tokenizer.json as transformers.js quotes it; Poro, GPT-3 Finnish in llama.cpp": BLOOM,
    "llama.cpp: Viking": [BLOOM, r"\p{N}"],
    # In the file the last two see GPT-2's letters for bytes, of which some stand for digits. No list of regexes says that.
    "tiiuae/falcon-7b tokenizer.json as a repository quotes it, for text of ASCII": [
        PUNCTUATION + "+",
        GPT2,
        r"\p{N}+",
        "[0-9][0-9][0-9]",
    ],
    "llama.cpp: StarCoder, Refact, Command R, SmolLM, CodeShell, EXAONE 3, Minerva, Mellum 2": [r"\p{N}", GPT2],
    # 527 states: it counts to 512.
    "llama.cpp, quoted: Jais 2": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|"
        r"\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1}"
    ),
    "llama.cpp, quoted: EXAONE MoE": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|"
        r"\s*[\r\n]|\s+(?!\S)|\s+"
    ),
    "llama.cpp, quoted: Seed-Coder": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "llama.cpp, quoted: Bailing MoE (Ling)": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
    ),
    "llama.cpp, quoted: MiniCPM 5": [
        r"\p{N}{1,3}",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _REST,
    ],
    "llama.cpp: Youtu": [
        "[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥\u3040-ゟ\u30a0-ヿ]+",
        O200K.replace(r"\p{N}{1,3}", r"\p{N}"),
    ],
    "llama.cpp: Laguna": [r"[^\n]+|[\n]+", QWEN2],
    "llama.cpp: UfakZeka": r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _REST,
    "llama.cpp: AFMoE, without its rule for digits": [CJK_AND_MORE, DEEPSEEK_WORDS],
    "llama.cpp: Gemma 4, Sarvam": r"[^\n]+|[\n]+",
    "llama.cpp: Chameleon": [
        r"<sentinel:[0-9]+>",
        r"(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
        r"([\t\n]|    |  )",
        r"\p{N}",
        r"[\p{P}!-/:-@\[-`{-~]",
        GPT2,
    ],
    "not checked: Nemotron-4, Minitron": TEKKEN,
    "not checked: EXAONE with words of letters and marks": (
        r"[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*)+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"
    ),
    "not checked: Llama 3's with marks": LLAMA3.replace(r"\p{L}+", r"[\p{L}\p{M}]+"),
    "not checked: Falcon 3": [PUNCTUATION, GPT2, r"\p{N}"],
    "not checked: AFM": [r"\p{N}{1,3}", LLAMA3],
    "openai/clip simple_tokenizer.py (not checked)": (
        r"(?i:<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+)"
    ),
    "a researcher's words": r"\w+|\W",
    "a researcher's words, numbers, whitespace and symbols": r"[A-Za-z]+| ?\d{1,3}|\s+|[^\s\w]+",
    "a researcher's words with hyphens": r" ?\p{L}+(?:-\p{L}+)*|\p{N}+|[^\p{L}\p{N}]",
    "whitespace and the rest": r"\s+|\S+",
    "lines": r"[^\n]*\n|[^\n]+",
    "characters": r"(?s:.)",
}

# What has no automaton of ours, and is left to `regex`: both look ahead over any number of digits.
LEFT_TO_REGEX: dict[str, str | list[str]] = {
    "llama.cpp, quoted: Tiny Aya": [r"\d{1,3}(?=(?:\d{3})*\b)", O200K],
    "llama.cpp: SuperBPE": [r"\p{N}+", r"(?=(\d{3})+(?!\d))"],
}

# What `regex` must see all of a text for: the parser has no look-behind with an atomic group.
WITHOUT_PIECES = r"(?<=(?>\s\s?))\w+|\w+|\s+|[^\w\s]+"
