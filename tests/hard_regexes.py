"""Regexes that have no automaton of the usual kind, of every kind and random ones."""

from __future__ import annotations

import random

from nbbpe.patterns.pattern import NAMED

GPT2 = NAMED["gpt2"].regex
AFTER_LETTER = r"(?<=\p{L})" + GPT2  # 's and the like
# What has no automaton, of every kind, with pairs of characters between which there is a certain boundary, and others.
CASES = {
    r"\b\w+\b|\W+": (["a ", " a", "a."], ["ab", "  "]),
    r"\b\w+\b|(?s:.)": (["a ", " a", "  "], ["ab"]),
    r"\w+\B|(?s:.)": (["a ", " a", "  "], ["ab"]),
    r"\w+\b\W|(?s:.)": ([" a", "  "], ["ab", "a "]),
    r"^a|a|b": (["ab"], ["ba", "xc"]),  # x and c are left between matches
    r"^a|(?s:.)": (["ab", " b"], []),
    r"^ab?|(?s:.)": (["bb", " b"], ["ba", " a", "ab"]),
    r"\Aab|(?s:.)": (["bb", " b"], ["ba", " a", "ab"]),
    r"(?m)^ab|(?s:.)": (["bb", "\na"], ["ba", " a", "ab"]),
    r"(?m)ab$|(?s:.)": (["b\n", "aa", "ca"], ["ab", "bb"]),
    r"ab$|(?s:.)": (["aa", "cb"], ["bb", "b\n", "ab", "\nb"]),
    r"ab\Z|(?s:.)": (["aa", "cb", "\nb"], ["bb", "b\n", "ab"]),
    r"(?<=x)ab|(?s:.)": (["xb", "ba"], ["xa", "ab"]),
    r"(?<!x)a+|(?s:.)": (["xb", "ba"], ["xa", "aa"]),
    r"a(?!bc)|(?s:.)": (["cb", "a ", "bb"], ["ab", "bc"]),
    r"a(?=b*c)a?|(?s:.)": (["cb", "ca", "c "], ["ab", "ac", "bb", "bc"]),
    r"(?>ab|a)c|(?s:.)": (["ca", "cb", "ba"], ["ab", "ac", "bc"]),
    r"(?:ab)++|(?s:.)": (["bb", "a "], ["ab", "ba"]),
    # Which branch an atomic group is left by decides what comes after it, even where nothing can follow at once.
    r"(?>xa(?=b)|x)(?:c|a)|(?s:.)": (["bb"], ["ab", "xa"]),
    r"(?:xa$|x)?+(?:c|a)|(?s:.)": (["bb"], ["ab", "xa"]),
    r"(?>^|x)b?c|(?s:.)": ([], ["ax", "xb", "bc"]),
    r"(?:^|x)b?c|(?s:.)": (["aa", "ax"], ["xb", "bc"]),
    r"(?:a*b?)*c|(?s:.)": (["ca", "cb", "a "], ["aa", "ab", "bc", "ac"]),
    r"(?>a+)a|(?s:.)": (["ab", "ba"], ["aa"]),
    r"(?>a+)a|b": (["cb"], ["ac", "ca"]),  # no a is in a match
    r"(?:ab|a)?+a|b": (["cb"], ["ca"]),
    AFTER_LETTER: (["a ", "a1", "1a", "'a"], ["a'", " a", "  ", "ab"]),
    r"\d{1,3}(?=(?:\d{3})*\b)|\p{L}+|\s+|.": (["a ", " a", "1 ", "a1"], ["11", "ab"]),
}


def random_regex(rng: random.Random, depth: int) -> str:
    """A regex of sets, repeats of all kinds, atomic groups, and assertions about what is before and after."""

    def inner() -> str:
        return random_regex(rng, depth - 1)

    kind = rng.random()
    if depth == 0 or kind < 0.3:
        return rng.choice(["a", "b", "1", " ", r"\n", r"\w", r"\W", r"\s", r"\S", "[ab]", "[^a]", ".", "(?s:.)", "(?i:a)"])
    if kind < 0.4:
        return rng.choice([r"\b", r"\B", "^", "$", r"\A", r"\Z", "(?m:^)", "(?m:$)"])
    if kind < 0.5:
        return rng.choice([f"(?<={rng.choice('ab ')})", f"(?<!{rng.choice('ab ')})", f"(?={inner()})", f"(?!{inner()})"])
    if kind < 0.62:
        return f"(?:{inner()}|{inner()})"
    if kind < 0.72:
        return f"(?>{inner()}|{inner()})"
    if kind < 0.87:
        return f"(?:{inner()}){rng.choice(['*', '+', '?', '{2}', '{1,3}', '{2,}'])}{rng.choice(['', '', '?', '+'])}"
    return inner() + inner()
