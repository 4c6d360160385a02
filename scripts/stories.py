"""Make up children's stories, in place of TinyStories if that cannot be downloaded.

    python scripts/stories.py stories.txt --megabytes 100

A story has a hero, a friend, and sentences for a beginning, a middle and an end, with random words in their slots. Words
follow Zipf's law, and names, sounds and numbers are made of parts, so that new words keep appearing, ever more slowly, as
in real text. The same seed gives the same stories on every platform and Python version.
"""

from __future__ import annotations

import argparse
import errno
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path

SEPARATOR = "\n<|endoftext|>\n"  # follows each story, as in TinyStories' files
MAX_STORY_BYTES = 1 << 14  # a text ends with the story that makes it long enough
BLOCK_BYTES = 1 << 20  # written at once

# In the order of frequency: the k-th word is drawn about 1/k as often as the first. All begin with a consonant, as "a"
# comes before some of them, and all nouns have a plural in "s".
WORDS = {
    "noun": """dog cat bird ball tree toy boat flower car rabbit bear frog box book house duck rock stick cake kite bug
        bike bunny train doll cookie star boot hat leaf balloon truck puppy ribbon shell lion button blanket ladder pie
        basket robot puzzle drum monkey whistle bell turtle dragon rocket carrot pumpkin castle river bridge lantern
        kitten garden mitten pebble feather crayon muffin penguin tractor tower window pillow zebra marble sandwich
        seed banana trumpet bucket cloud mushroom snail wagon tiger mirror potato cupcake spoon whale fountain camel
        candle pencil teapot sparrow necklace violin hammer beetle lizard parrot tunnel coconut scarecrow map jar sled
        worm moth hedgehog squirrel pirate wizard giant princess king queen farmer doctor baker sailor painter""",
    "adjective": """big little happy sad red small pretty nice soft blue good kind shiny new brave green long funny warm
        cold round fast loud tiny yellow purple bright wet strong special magic silly gentle curious lovely quiet tall
        dirty fluffy sweet scary dark lucky clever heavy rusty hungry sleepy lonely broken sparkling golden wooden
        wild strange proud friendly polite careful muddy crunchy dusty secret noisy tasty deep pink striped spotted
        wobbly smooth bumpy mighty gloomy jolly fancy cozy plain hollow frozen silver tender rare famous modern""",
    "verb": """played looked jumped smiled laughed walked ran danced sang waited helped cried shouted talked listened
        stopped danced climbed wandered rested giggled hopped slept whispered cheered worked tumbled splashed searched
        nodded wondered yawned waved trembled hummed clapped stumbled paused bounced raced skipped sighed crawled
        dreamed marched twirled shivered sneezed whistled blushed galloped paddled tiptoed""",
    "did": """saw found took made wanted liked loved opened lost held gave hid fixed carried painted shared built caught
        dropped cleaned touched followed washed pushed kicked chased counted drew threw watched borrowed wrapped
        polished planted decorated rescued collected measured admired balanced stirred patted traded guarded""",
    "feeling": """happy sad scared sorry proud tired sleepy surprised mad lonely thankful brave hungry calm cheerful shy
        worried grumpy safe jealous bored confused hopeful glad nervous puzzled delighted startled relieved cross""",
    "place": """park house garden forest room kitchen beach school lake farm river yard store hill pond field bed door
        table zoo market mountain meadow library barn castle cave playground street bridge village town sea cellar
        harbor desert island valley museum station bakery tower jungle swamp orchard lighthouse""",
    "time": """day morning afternoon night evening week winter spring weekend holiday birthday Sunday Monday Friday
        Saturday Tuesday Wednesday Thursday Christmas""",
    "syllable": """li ma ti lu sa be mi jo ta no ri da le ka pe ro do fi bo na mo ra te vi ze ki lo su pa ni fe ga ru ha
        wi sho bra che dri flo gre pli que ska tru vo xi ya zu""",
    "ending": "ly m n a my b x s ra lla ne tty nny r ck l na th bel dor kin wen ska rius",
    "sound": "whoo splash boom bang pop woof meow zoom crash quack ding tick squeak buzz hiss thump clang vroom",
}
SENTENCES = {
    "beginning": """Once upon a time, there was a {adjective} {noun} named {hero}. {hero} loved to play in the {place}.
        One {time}, {hero} went to the {place} with {friend}. They {verb} and {verb} all day.
        {hero} and {friend} were best friends. They liked to play with the {adjective} {noun}.
        There once was a {noun} who lived near the {place}. Its name was {hero}, and it was very {feeling}.
        {hero} was {number} years old. {hero} had a {adjective} {noun} that {friend} {did}.
        On a {adjective} {time}, {hero} woke up and felt {feeling}.
        In a {adjective} {place} lived a {noun} called {hero}.""",
    "middle": """One {time}, {hero} {did} a {adjective} {noun} near the {place}.
        "What a {adjective} {noun}!" said {friend}. "Can we play with it?"
        "Look, {friend}!" said {hero}. "I {did} {number} {noun}s!"
        {hero} {verb}, but the {noun} was too {adjective}.
        Then a {noun} came out of the {place}. It was {adjective} and {adjective}.
        {friend} felt {feeling}. "Don't worry," said {hero}. "We'll find your {noun}."
        The {noun} went "{sound}!" and {hero} {verb}.
        "{sound}! {sound}!" said the {adjective} {noun}.
        They {verb} to the {place} and {did} the {noun}.
        {hero}'s mom said, "Leave the {noun} alone. It isn't yours."
        {hero} asked {friend}, "Why are you so {feeling}?"
        "I'm {feeling} because I {did} my {noun}," said {friend}.
        It was {number} o'clock, and the {adjective} {noun} still {verb} by the {place}.
        Suddenly, {hero} {did} something {adjective} under the {noun}.
        A {noun} named {name} {verb} in the {place}. {name} {did} the {noun}s.
        {friend} {verb} and {verb}, but nobody {did} the {adjective} {noun}.
        The {noun}'s {noun} was {adjective}, so {hero} {did} a {adjective} one.
        {hero} counted the {noun}s: there were {number} of them in the {place}.""",
    "end": """{hero} and {friend} were very {feeling}. They {verb} home and told everyone about the {noun}.
        From that day on, {hero} never {did} a {noun} without {friend} again.
        {hero} learned that it is good to be {adjective}. The end.
        "Thank you, {friend}," said {hero}. "You're the best friend I've ever had."
        They all {verb} together, and the {noun} was {feeling}, too.
        {hero} hugged the {noun} and {verb} until the {time} was over.
        And they lived {feeling} ever after in the {adjective} {place}.""",
}


class Cast(dict[str, str]):
    """The words for the slots of one story: its heroes stay the same, all other words are drawn each time.

    It uses only `random.random()`, as Python guarantees its sequence.
    """

    words: dict[str, list[str]] = {slot: text.split() for slot, text in WORDS.items()}  # noqa: RUF012

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance.random
        super().__init__(hero=self["name"], friend=self["name"])

    def __missing__(self, slot: str) -> str:
        if slot == "name":
            n_syllables = int(1 + 1.5 * self._chance() ** 3 + self._chance())
            return "".join([self.drawn("syllable") for _ in range(n_syllables)] + [self.drawn("ending")]).capitalize()
        if slot == "sound" and self._chance() < 0.3:
            sound = self.drawn("sound")
            return sound[:2] + sound[2] * int(1 + 8 * self._chance()) + sound[3:]
        if slot == "number":
            return str(2 + int(10 ** (3 * self._chance() ** 3)))
        return self.drawn(slot)

    def drawn(self, slot: str) -> str:
        """A word for a slot, by Zipf's law."""
        words = self.words[slot]
        return words[int((len(words) + 1) ** self._chance()) - 1]


def lines_of(text: str) -> list[str]:
    """The lines of a text without the whitespace around them."""
    return [line.strip() for line in text.strip().splitlines()]


BEGINNINGS, MIDDLES, ENDS = (lines_of(SENTENCES[part]) for part in ("beginning", "middle", "end"))


def tell(chance: random.Random) -> str:
    """One story, without the separator."""

    def one_of(sentences: list[str]) -> str:
        return sentences[int(chance.random() * len(sentences))]

    cast = Cast(chance)
    paragraphs = [[one_of(BEGINNINGS)]]
    for _ in range(1 + int(3 * chance.random())):
        paragraphs.append([one_of(MIDDLES) for _ in range(2 + int(4 * chance.random()))])
    paragraphs.append([one_of(ENDS)])
    return "\n\n".join(" ".join(sentences) for sentences in paragraphs).format_map(cast)


def write_stories(path: Path, n_bytes: int, seed: int = 0, progress: Callable[[int], object] = int) -> int:
    """Write at least `n_bytes` of stories, and less than MAX_STORY_BYTES more; returns how many bytes.

    The write is atomic. `progress` is called with the number of bytes of each block. Raises OSError where nothing can be
    written, as for a folder or a device, whose place the file would take.
    """
    if path.exists() and not path.is_file():
        raise FileExistsError(errno.EEXIST, "not a file, whose place the stories would take", str(path))
    chance = random.Random(seed)
    partial = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    written = 0
    try:
        with open(partial, "wb") as file:
            while written < n_bytes:
                block = bytearray()
                while len(block) < BLOCK_BYTES and written + len(block) < n_bytes:
                    block += (tell(chance) + SEPARATOR).encode()
                written += file.write(block)
                progress(len(block))
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    return written


def size_in_megabytes(text: str) -> float:
    """The size that an option gives, a positive number."""
    size = float(text)
    if not 0 < size < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number of megabytes")
    return size


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--megabytes", type=size_in_megabytes, default=100, help="(%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    arguments = parser.parse_args()
    try:
        write_stories(arguments.path, int(arguments.megabytes * 1e6), arguments.seed)
    except OSError as error:
        sys.exit(f"{parser.prog}: {arguments.path}: {error.strerror}")
