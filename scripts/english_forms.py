"""The forms that English gives to nouns, verbs and adjectives: plural, past, -ing, -er, -est, -ly, and a or an.

Rules and the exceptions that the words of the story generator need, not all of English.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

IRREGULAR_PLURALS = {
    "mouse": "mice", "goose": "geese", "sheep": "sheep", "fish": "fish", "deer": "deer", "moose": "moose", "ox": "oxen",
    "wolf": "wolves", "calf": "calves", "elf": "elves", "leaf": "leaves", "knife": "knives", "shelf": "shelves",
    "scarf": "scarves", "foot": "feet", "tooth": "teeth", "dice": "dice", "policeman": "policemen", "bison": "bison",
    "fireman": "firemen", "salmon": "salmon", "trout": "trout", "shrimp": "shrimp", "squid": "squid", "cod": "cod",
    "snowman": "snowmen", "jack-in-the-box": "jack-in-the-boxes", "potato": "potatoes", "tomato": "tomatoes",
    "buffalo": "buffaloes", "mosquito": "mosquitoes", "octopus": "octopuses", "cactus": "cacti",
    "starfish": "starfish", "jellyfish": "jellyfish", "goldfish": "goldfish", "catfish": "catfish",
    "swordfish": "swordfish", "cuttlefish": "cuttlefish", "carp": "carp", "pike": "pike", "perch": "perch",
    "hair": "hair", "elk": "elk",
}  # fmt: skip
IRREGULAR_PASTS = {
    "run": "ran", "go": "went", "fly": "flew", "swim": "swam", "ride": "rode", "drive": "drove", "slide": "slid",
    "leap": "leapt", "creep": "crept", "sneak": "snuck", "stride": "strode", "spin": "spun", "swing": "swung",
    "flee": "fled", "speed": "sped", "sing": "sang", "draw": "drew", "read": "read", "tell": "told", "build": "built",
    "catch": "caught", "dig": "dug", "feed": "fed", "write": "wrote", "make": "made",
    "eat": "ate", "take": "took", "hold": "held", "find": "found", "throw": "threw", "hide": "hid", "shake": "shook",
    "lend": "lent", "sweep": "swept", "blow": "blew", "dive": "dove", "sleep": "slept", "drink": "drank",
}  # fmt: skip
IRREGULAR_ADVERBS = {"shy": "shyly", "frantic": "frantically"}
# A vowel letter that sounds as a consonant, and the other way round.
TAKES_A = ("uni", "use", "uku", "eu", "one")
TAKES_AN = ("hour", "honest", "heir")

VOWELS = "aeiou"
# One syllable, and a single vowel before a single consonant.
ENDS_SHORT = re.compile("[^aeiou]+[aeiou][^aeiouwxy]")


def with_article(word: str) -> str:
    """Return `word` after "a" or "an": `an apple`, `a unicorn`, `an honest`."""
    lower = word.lower()
    vowel = lower[0] in VOWELS and not lower.startswith(TAKES_A)
    return f"an {word}" if vowel or lower.startswith(TAKES_AN) else f"a {word}"


def plural(noun: str) -> str:
    """Return the plural of a noun or of a compound that ends with one: `boxes`, `toy shops`, `mice`."""
    head, space, last = noun.rpartition(" ")
    if last in IRREGULAR_PLURALS:
        last = IRREGULAR_PLURALS[last]
    elif last.endswith(("s", "x", "z", "ch", "sh")):
        last += "es"
    elif last.endswith("y") and last[-2:-1] not in VOWELS:
        last = last[:-1] + "ies"
    else:
        last += "s"
    return head + space + last


def past(phrase: str) -> str:
    """Return the past tense of a phrase that starts with its verb: `climbed trees`, `ran`."""
    verb, space, rest = phrase.partition(" ")
    if verb in IRREGULAR_PASTS:
        verb = IRREGULAR_PASTS[verb]
    elif verb.endswith("e"):
        verb += "d"
    elif verb.endswith("y") and verb[-2] not in VOWELS:
        verb = verb[:-1] + "ied"
    else:
        verb = _doubled(verb) + "ed"
    return verb + space + rest


def ing(phrase: str) -> str:
    """Return the -ing form of a phrase that starts with its verb: `climbing trees`, `running`."""
    verb, space, rest = phrase.partition(" ")
    silent_e = verb.endswith("e") and not verb.endswith(("ee", "ye", "oe"))
    return (verb[:-1] if silent_e else _doubled(verb)) + "ing" + space + rest


def comparative(adjective: str) -> str:
    """Return the -er form: `bigger`, `happier`, `wiser`."""
    return _graded(adjective) + "er"


def superlative(adjective: str) -> str:
    """Return the -est form: `biggest`, `happiest`, `wisest`."""
    return _graded(adjective) + "est"


def adverb(adjective: str) -> str:
    """Return the -ly form: `happily`, `gently`, `quickly`."""
    if adjective in IRREGULAR_ADVERBS:
        return IRREGULAR_ADVERBS[adjective]
    if adjective.endswith("le"):
        return adjective[:-1] + "y"
    if adjective.endswith("y"):
        return adjective[:-1] + "ily"
    return adjective + ("y" if adjective.endswith("ll") else "ly")


def _graded(adjective: str) -> str:
    """Return the stem that -er and -est are added to."""
    if adjective.endswith("e"):
        return adjective[:-1]
    if adjective.endswith("y") and adjective != "shy":
        return adjective[:-1] + "i"
    return _doubled(adjective)


def _doubled(word: str) -> str:
    """Double the last letter of a one-syllable word that ends consonant, vowel, consonant: `hop` becomes `hopp`."""
    return word + word[-1] if ENDS_SHORT.fullmatch(word) else word


# The forms a template can ask for, as in `{thing.plural}`. Invented words are endless, so the memory is bounded.
FORMS: dict[str, Callable[[str], str]] = {
    name: lru_cache(maxsize=1 << 15)(form)
    for name, form in {
        "a": with_article,
        "plural": plural,
        "past": past,
        "ing": ing,
        "er": comparative,
        "est": superlative,
        "ly": adverb,
    }.items()
}
