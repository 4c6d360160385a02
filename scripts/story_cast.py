"""Who and what a generated story is about: the words that fill the slots of its sentences.

A slot is filled when a sentence first asks for it, and keeps its word for the rest of the story.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import story_words as words
from english_forms import FORMS
from story_grammar import SENTENCES

ANIMAL_SHARE = 0.3  # of the heroes and friends
PET_NAME_SHARE = 0.6  # of the animals among them
MADE_UP_NAME_SHARE = 0.06
LONG_NAME_SHARE = 0.15  # of the made-up names have a middle part
SLOT = re.compile(r"\{([A-Za-z_]+\d*(?:\.\w+)?)\}")
DIGITS = "0123456789"

Random = Callable[[], float]  # a number from 0 up to but not including 1


def zipf_wheel(listed: list[str]) -> list[str]:
    """Return a list with each word in proportion to its rank's Zipf weight, so that a uniform pick is a Zipf draw."""
    return [word for rank, word in enumerate(listed) for _ in range(1 + 4 * len(listed) // (rank + 4))]


def pick(wheel: list[str], random: Random) -> str:
    return wheel[int(random() * len(wheel))]


def pick_steeply(wheel: list[str], random: Random) -> str:
    """Pick with more weight on the first words: made of two parts, words would repeat too seldom otherwise."""
    chance = random()
    square = chance * chance
    return wheel[int(square * square * len(wheel))]


# What each word slot draws from. A slot may end in digits: `{thing2}` draws from the wheel of `thing`.
WHEELS: dict[str, list[str]] = {
    slot: zipf_wheel(words.listed(source))
    for slot, source in {
        "age": words.AGES,
        "animal": words.ANIMALS,
        "animal_does": words.ANIMAL_DOES,
        "animal_move": words.ANIMAL_MOVES,
        "body": words.BODY,
        "colour": words.COLOURS,
        "container": words.CONTAINERS,
        "count": words.COUNTS,
        "cross": words.CROSS_MANNERS,
        "food": words.FOODS,
        "ftrait": words.TRAITS,
        "game": words.GAMES,
        "glad": words.GLAD,
        "graded": words.GRADED,
        "handle": words.HANDLES,
        "hobby": words.HOBBIES,
        "instrument": words.INSTRUMENTS,
        "look": words.LOOKS,
        "magic": words.MAGIC,
        "manner": words.MANNERS,
        "material": words.MATERIALS,
        "measure": words.MEASURES,
        "month": words.MONTHS,
        "move": words.MOVES,
        "noise": words.NOISES,
        "parent": words.PARENTS,
        "person": words.PEOPLE,
        "pet": words.PETS,
        "petname": words.PET_NAMES,
        "place": words.PLACES,
        "plant": words.PLANTS,
        "sad": words.SAD,
        "said": words.SAID,
        "sight": words.SIGHTS,
        "smell": words.SMELLS,
        "sound": words.SOUNDS,
        "taste": words.TASTES,
        "theme": words.THEMES,
        "thing": words.THINGS,
        "time": words.TIMES,
        "trait": words.TRAITS,
        "value": words.VIRTUE_NOUNS,
        "virtue": words.VIRTUES,
        "warm": words.WARM_MANNERS,
        "weather": words.WEATHERS,
        "wow": words.WOWS,
    }.items()
}
GIRL_NAMES = zipf_wheel(words.listed(words.GIRL_NAMES))
BOY_NAMES = zipf_wheel(words.listed(words.BOY_NAMES))
NAME_OPENINGS = zipf_wheel(words.listed(words.NAME_OPENINGS))
NAME_MIDDLES = zipf_wheel(words.listed(words.NAME_MIDDLES))
NAME_ENDINGS = zipf_wheel(words.listed(words.NAME_ENDINGS))
TOWN_OPENINGS = zipf_wheel(words.listed(words.TOWN_OPENINGS))
TOWN_ENDINGS = zipf_wheel(words.listed(words.TOWN_ENDINGS))
COMPOUND_OPENINGS = zipf_wheel(words.listed(words.COMPOUND_OPENINGS))
COMPOUND_ENDINGS = zipf_wheel(words.listed(words.COMPOUND_ENDINGS))
LONG_SOUNDS = zipf_wheel(words.listed(words.LONG_SOUNDS))


def heavy_tailed(random: Random) -> int:
    """Return a whole number from 1 up; one of at least k comes with probability 1/k. At most 9,999."""
    return min(9_999, int(1.0 / (1.0 - random())))


def made_up_name(random: Random) -> str:
    """Return a name like `Zola` or `Pipberton`: an opening, seldom a middle, and an ending."""
    middle = pick(NAME_MIDDLES, random) if random() < LONG_NAME_SHARE else ""
    return pick_steeply(NAME_OPENINGS, random) + middle + pick_steeply(NAME_ENDINGS, random)


def town(random: Random) -> str:
    """Return the made-up name of a town: `Greenville`."""
    return pick_steeply(TOWN_OPENINGS, random) + pick_steeply(TOWN_ENDINGS, random)


def compound(random: Random) -> str:
    """Return a made-up noun of two real words: `moonberry`."""
    return pick_steeply(COMPOUND_OPENINGS, random) + pick_steeply(COMPOUND_ENDINGS, random)


def long_sound(random: Random) -> str:
    """Return a drawn-out sound: `whooosh`."""
    start, end = pick(LONG_SOUNDS, random).split(".")
    drawn_out = start[-1] * 2
    while random() < 0.4:
        drawn_out += start[-1]
    return start + drawn_out + end


def number(random: Random) -> str:
    """Return a number of things, at least two, in digits."""
    return str(1 + heavy_tailed(random) + int(random() * 10))


def clock(random: Random) -> str:
    """Return a time of day: `7:45`."""
    return f"{1 + int(random() * 12)}:{int(random() * 12) * 5:02d}"


# Slots whose words are made, not listed.
MAKERS: dict[str, Callable[[Random], str]] = {
    "clock": clock,
    "compound": compound,
    "day": lambda random: str(1 + int(random() * 30)),
    "longsound": long_sound,
    "number": number,
    "stranger": made_up_name,
    "town": town,
}
PRONOUNS = {
    "girl": {"he": "she", "him": "her", "his": "her"},
    "boy": {"he": "he", "him": "him", "his": "his"},
}
# Slots that a cast starts with.
GIVEN_SLOTS = frozenset(("hero", "kind", "friend", "fkind", "he", "him", "his", "fhe", "fhim", "fhis", "phis"))


class Cast(dict[str, str]):
    """The words of one story by slot; reading a slot that is empty fills it."""

    def __init__(self, random: Random) -> None:
        """Choose hero and friend. `random` gives the chance for these and all that is filled later."""
        super().__init__()
        self.random = random
        gender, self["kind"], self["hero"] = self._character()
        self.update(PRONOUNS[gender])
        gender, self["fkind"], self["friend"] = self._character()
        while self["friend"] == self["hero"]:
            gender, self["fkind"], self["friend"] = self._character()
        self.update({"f" + pronoun: text for pronoun, text in PRONOUNS[gender].items()})
        self["phis"] = "her" if random() < 0.5 else "his"

    def _character(self) -> tuple[str, str, str]:
        """Return gender, kind and name of somebody."""
        random = self.random
        gender = "girl" if random() < 0.5 else "boy"
        is_animal = random() < ANIMAL_SHARE
        kind = pick(WHEELS["animal"], random) if is_animal else gender
        if random() < MADE_UP_NAME_SHARE:
            return gender, kind, made_up_name(random)
        if is_animal and random() < PET_NAME_SHARE:
            return gender, kind, pick(WHEELS["petname"], random)
        return gender, kind, pick(GIRL_NAMES if gender == "girl" else BOY_NAMES, random)

    def __missing__(self, slot: str) -> str:
        text = self[slot] = FILLERS[slot](self)
        return text


def filler(slot: str) -> Callable[[Cast], str]:
    """Return the function that fills a slot such as `thing2`, `thing2.plural` or `Thing2.plural`.

    Raises KeyError for a slot or form that does not exist.
    """
    if slot[0].isupper():
        plain = _without_capital(slot)
        return lambda cast: cast[plain][0].upper() + cast[plain][1:]
    base, dot, form_name = slot.partition(".")
    if dot:
        form = FORMS[form_name]
        return lambda cast: form(cast[base])
    kind = slot.rstrip(DIGITS)
    if kind in MAKERS:
        make = MAKERS[kind]
        return lambda cast: make(cast.random)
    wheel = WHEELS[kind]
    # Another slot of the same kind, as in "a {thing1} and a {thing2}", shall hold another word.
    others = [other for other in BASE_SLOTS if other.rstrip(DIGITS) == kind and other != slot]

    def fill(cast: Cast) -> str:
        taken = [cast[other] for other in others if other in cast]
        text = pick(wheel, cast.random)
        while text in taken:
            text = pick(wheel, cast.random)
        return text

    return fill


def _without_capital(slot: str) -> str:
    return slot[0].lower() + slot[1:]


# The slots of the grammar; those without capital; and those without form too, which the others are made from.
ALL_SLOTS = frozenset(SLOT.findall(SENTENCES))
PLAIN_SLOTS = frozenset(map(_without_capital, ALL_SLOTS))
BASE_SLOTS = frozenset(slot.partition(".")[0] for slot in PLAIN_SLOTS)
FILLERS = {slot: filler(slot) for slot in (ALL_SLOTS | PLAIN_SLOTS | BASE_SLOTS) - GIVEN_SLOTS}
