"""Textbook byte-pair encoding in plain Python: the slow, obvious twins of nbbpe's kernels. Imports nothing of nbbpe."""

import base64
import functools
import itertools
import json
import re
from collections import Counter
from fractions import Fraction
from string import ascii_letters, ascii_lowercase

import regex

HF_VISIBLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
HF_BYTES = HF_VISIBLE + [b for b in range(256) if b not in HF_VISIBLE]  # Hugging Face's alphabet, in its order


# The scripts of the letters in tests.
SCRIPTS = ["Latn", "Cyrl", "Grek", "Arab", "Hebr", "Deva", "Thai", "Hani", "Hira", "Kana", "Hang", "Bopo"]


def merge_word(symbols, left, right, result):
    """Replace each (left, right) by result, left to right."""
    out, i = [], 0
    while i < len(symbols):
        if i + 1 < len(symbols) and symbols[i] == left and symbols[i + 1] == right:
            out.append(result)
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return out


def first_symbols(word, tie_break):
    """The symbols of a word before any merge: byte strings, or numbers with "ids"."""
    return list(word) if tie_break == "ids" else [bytes([byte]) for byte in word]


def spelled(pair, tokens, tie_break):
    """The bytes of the two symbols of a pair."""
    return tuple(tokens[side] for side in pair) if tie_break == "ids" else pair


def pairs_to_merge(words, tokens, tie_break, min_frequency, max_token_length, refused):
    """{pair: count} of the pairs in words, [(symbols, count)], that may be merged."""
    counts = Counter()
    for symbols, count in words:
        for pair in itertools.pairwise(symbols):
            counts[pair] += count
    longest = float("inf") if max_token_length is None else max_token_length
    return {
        pair: count
        for pair, count in counts.items()
        if count >= min_frequency and pair not in refused and sum(map(len, spelled(pair, tokens, tie_break))) <= longest
    }


def best_pair(pairs, tokens, tie_break):
    """The pair of the highest count, by the tie rule if there are several; None if there is none."""
    top = max(pairs.values(), default=0)
    best = [pair for pair, count in pairs.items() if count == top]
    if not best:
        return None
    if tie_break == "bytes":
        return max(best)
    if tie_break == "ids":
        return min(best)
    order = {bytes([b]): i for i, b in enumerate(HF_BYTES)}
    for i, token in enumerate(tokens):
        order.setdefault(token, i)
    return min(best, key=lambda pair: (order[pair[0]], order[pair[1]]))


def train(
    word_counts, n_tokens, tie_break="bytes", min_frequency=1, max_token_length=None, allows=lambda token: True, start=()
):
    """Merges as [(left bytes, right bytes)] and tokens as [bytes], by counting all pairs again for every merge.

    start: merges that are made first, each with a new token; they are not in the result.

    With "bytes" and "huggingface" a symbol is a byte string; with "huggingface" a merge whose bytes are already a token
    adds no token. With "ids" a symbol is a number, and each merge makes a new one. A pair of the highest count whose token
    `allows` refuses is never tried again.
    """
    refused = set()
    tokens = [bytes([b]) for b in range(256)]
    words = [(first_symbols(word, tie_break), count) for word, count in word_counts.items()]
    merges = []
    for left, right in start:
        result = len(tokens) if tie_break == "ids" else left + right
        sides = (tokens.index(left), tokens.index(right)) if tie_break == "ids" else (left, right)
        words = [(merge_word(symbols, *sides, result), count) for symbols, count in words]
        tokens.append(left + right)
    while len(tokens) < n_tokens:
        pairs = pairs_to_merge(words, tokens, tie_break, min_frequency, max_token_length, refused)
        pair = best_pair(pairs, tokens, tie_break)
        if pair is None:
            break
        sides = spelled(pair, tokens, tie_break)
        token = b"".join(sides)
        if not allows(token):
            refused.add(pair)
            continue
        merges.append(sides)
        result = len(tokens) if tie_break == "ids" else token
        if tie_break != "huggingface" or token not in tokens:
            tokens.append(token)
        words = [(merge_word(symbols, *pair, result), count) for symbols, count in words]
    return merges, tokens


def train_for_parity(
    sources,
    n_tokens,
    tie_break="bytes",
    min_frequency=1,
    max_token_length=None,
    allows=lambda token: True,
    start=(),
    measures=None,
    window=0,
):
    """Merges and tokens as from `train`: each merge is the most frequent pair of the source that is compressed worst.

    sources  : [{word: count}]; if several are compressed equally badly, the first is taken
    measures : [{word: count}] for each source: the more tokens these words have, the worse the source is compressed;
               None: the fewer bytes for each token of the source, the worse it is compressed
    window   : a source waits, if there is another, when it was taken in more than twice its share of the last `window`
               merges; 0 for no limit

    A source without a pair that may be merged is passed over. A pair that is refused is never tried again for that source.
    """
    tokens = [bytes([b]) for b in range(256)]

    groups = [[(first_symbols(word, tie_break), n) for word, n in words.items()] for words in [*sources, *(measures or [])]]
    first_measure = len(sources) if measures else 0
    n_bytes = [sum(len(word) * n for word, n in words.items()) for words in sources]
    refused = [set() for _ in sources]
    taken = []
    merges = []

    def apply(left, right, result):
        for group in groups:
            group[:] = [(merge_word(symbols, left, right, result), n) for symbols, n in group]

    for left, right in start:
        sides = (tokens.index(left), tokens.index(right)) if tie_break == "ids" else (left, right)
        apply(*sides, len(tokens) if tie_break == "ids" else left + right)
        tokens.append(left + right)

    def best_of(source):
        pairs = pairs_to_merge(groups[source], tokens, tie_break, min_frequency, max_token_length, refused[source])
        return best_pair(pairs, tokens, tie_break)

    def badness(source):
        n = sum(len(symbols) * n for symbols, n in groups[first_measure + source])
        recent = taken[max(len(taken) - window, 0) :] if window else []
        waits = recent.count(source) > 2 * window // len(sources)
        return waits, Fraction(1 if measures else n_bytes[source], n)

    while len(tokens) < n_tokens:
        best = {source: best_of(source) for source in range(len(sources))}
        able = [source for source, pair in best.items() if pair is not None]
        if not able:
            break
        source = min(able, key=badness)
        pair = best[source]
        sides = spelled(pair, tokens, tie_break)
        token = b"".join(sides)
        if not allows(token):
            refused[source].add(pair)
            continue
        taken.append(source)
        merges.append(sides)
        apply(*pair, len(tokens) if tie_break == "ids" else token)
        tokens.append(token)
    return merges, tokens


def keeps_limits(token, whole_characters=False, one_script=False, max_letters=None, max_numbers=None, max_words=None):
    """Whether a token keeps the limits of TokenRules."""
    text = token.decode("utf-8", "surrogateescape")
    is_whole = not regex.search(r"[\udc80-\udcff]", text)
    character = rb"[\x80-\xbf]{1,3}|[\xc0-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xff][\x80-\xbf]{0,2}"
    if whole_characters and not is_whole and not regex.fullmatch(character, token):
        return False
    for most, item in (max_letters, r"\p{L}"), (max_numbers, r"\p{N}"), (max_words, r"\S+"):
        if most is not None and len(regex.findall(item, text)) > most:
            return False
    if not one_script:
        return True
    together = [r"\p{Hani}\p{Hira}\p{Kana}", r"\p{Hani}\p{Hang}", r"\p{Hani}\p{Bopo}"]
    letters = regex.findall(r"[^\p{Script=Zyyy}\p{Script=Zinh}\p{Script=Zzzz}\ud800-\udfff]", text)
    if any(all(regex.match(f"[{system}]", letter) for letter in letters) for system in together):
        return True
    scripts = {name for name in SCRIPTS for letter in letters if regex.match(rf"\p{{Script={name}}}", letter)}
    return len(scripts) <= 1


def prune(merges, used, n_dropped):
    """The tokens that are dropped, in order: each time the least used token that no merge needs, of several the youngest.

    merges : [(left, right)], each of which makes a new token; used : from token to how often it occurs in a text
    """
    used, dropped = dict(used), []
    made = [left + right for left, right in merges]
    for _ in range(n_dropped):
        there = [(sides, token) for sides, token in zip(merges, made, strict=True) if token not in dropped]
        needed = {side for sides, _ in there for side in sides}
        _, _, (left, right), token = min(
            (used[token], -made.index(token), sides, token) for sides, token in there if token not in needed
        )
        dropped.append(token)
        used[left] += used[token]
        used[right] += used[token]
    return dropped


def bucket(count):
    """The frequency bucket of a count: counts below 2048 have one each, then 1024 buckets for each power of two."""
    exponent = max(count.bit_length() - 11, 0)
    return 1024 * exponent + (count >> exponent)


# Split patterns. A tree is nested tuples: ("set", edges), ("sequence", parts), ("choice", options),
# ("repeat", part, least, most or None, mode), ("look", edges, or_end), ("end", or_newline).


def is_in(edges, character):
    """Whether a character is in a set, given by the code points where membership changes."""
    return sum(edge <= ord(character) for edge in edges) % 2 == 1


def tree_ends(tree, text, at):
    """The ends of the matches that begin at a place, the preferred first, by textbook backtracking."""
    kind, *rest = tree
    if kind == "set":
        if at < len(text) and is_in(rest[0], text[at]):
            yield at + 1
    elif kind == "look":
        edges, or_end = rest
        if or_end if at == len(text) else is_in(edges, text[at]):
            yield at
    elif kind == "long look":
        part, negative = rest
        if (next(tree_ends(part, text, at), None) is not None) != negative:
            yield at
    elif kind == "end":
        if at == len(text) or (rest[0] and text[at:] == "\n"):
            yield at
    elif kind == "choice":
        for option in rest[0]:
            yield from tree_ends(option, text, at)
    elif kind == "sequence":
        if not rest[0]:
            yield at
        else:
            for middle in tree_ends(rest[0][0], text, at):
                yield from tree_ends(("sequence", rest[0][1:]), text, middle)
    else:
        part, least, most, mode = rest
        if mode == "possessive":
            yield from itertools.islice(tree_ends(("repeat", part, least, most, "greedy"), text, at), 1)
            return
        if mode == "lazy" and least == 0:
            yield at
        if most is None or most > 0:
            for middle in tree_ends(part, text, at):
                if middle == at and least == 0:
                    yield at  # a repeat that matches nothing is the last one
                else:
                    again = "repeat", part, max(least - 1, 0), None if most is None else most - 1, mode
                    yield from tree_ends(again, text, middle)
        if mode == "greedy" and least == 0:
            yield at


def split_at_matches(text, match_end):
    """The matches in a text and the parts between them; match_end(text, at) is the end of a match, None if none begins at
    `at`."""
    parts, gap, at = [], 0, 0
    while at < len(text):
        end = match_end(text, at)
        if end is None:
            at += 1
        else:
            parts += [text[gap:at], text[at:end]]
            gap = at = end
    return [part for part in [*parts, text[gap:]] if part]


def split_by_tree(tree, text):
    """The matches of a tree in a text, and the parts between them."""
    return split_at_matches(text, lambda text, at: next(tree_ends(tree, text, at), None))


def split_by_states(automata, classes):
    """The parts of a sequence of classes after splitting by automata in turn.

    automata : [(next_state, tells)], by state and class; `tells` says that a match ends before that class, its last column
               that one ends at the end
    """

    def match_end(next_state, tells, part, at):
        state, end = 1, None
        for place in range(at, len(part)):
            if tells[state][part[place]]:
                end = place
            state = next_state[state][part[place]]
            if state == 0:
                return end
        return len(part) if tells[state][-1] else end

    parts = [classes]
    for states in automata:
        parts = [inner for part in parts for inner in split_at_matches(part, functools.partial(match_end, *states))]
    return parts


def split_decided(pieces, counts, splits):
    """The parts of pieces with counts, and which pieces are undecided: these are one part each, with the count 0.

    splits : functions that split in turn, each the parts of the one before; None is undecided
    """
    found, undecided = [], []
    for number, (piece, count) in enumerate(zip(pieces, counts, strict=True)):
        parts = [piece]
        for split_one in splits:
            split_parts = [split_one(part) for part in parts]
            parts = None if None in split_parts else [part for each in split_parts for part in each]
            if parts is None:
                break
        if parts is None:
            undecided.append(number)
            found.append((piece, 0))
        else:
            found += [(part, count) for part in parts]
    return found, undecided


def ends_otherwise(of_texts, of_pieces):
    """Whether a piece is split differently if the text ends with it. Both arguments are (automaton as for split_by_states,
    classes of the piece)."""
    lengths = [[len(part) for part in split_by_states([states], classes)] for states, classes in (of_texts, of_pieces)]
    return lengths[0] != lengths[1]


def cuts(data, class_of, pairs):
    """Byte offsets of the boundaries between two characters, by a table of pairs of classes."""
    offsets, offset, before = [], 0, None
    for character in data.decode(errors="surrogateescape"):
        after = class_of(character)
        if before is not None and pairs[before][after]:
            offsets.append(offset)
        offset += len(character.encode(errors="surrogateescape"))
        before = after
    return offsets


def cuts_of_three(data, class_of, triples, block=64):
    """Byte offsets of the boundaries by a table of three classes: of the characters before and after a boundary, and the
    next.

    Only boundaries before an ASCII character that is in a whole block together with the byte after it.
    """
    offsets, offset = [], 0
    text = data.decode(errors="surrogateescape")
    for i, character in enumerate(text):
        in_block = offset % block < block - 1 and offset - offset % block + block <= len(data)
        if 0 < i < len(text) - 1 and in_block and character.isascii():
            before, here, after = map(class_of, text[i - 1 : i + 2])
            if triples[before][here][after]:
                offsets.append(offset)
        offset += len(character.encode(errors="surrogateescape"))
    return offsets


def seams(data, merges, class_of, letters, harm, keep):
    """Byte offsets of the seams of data: places between two characters of the classes `letters` at which no merge could
    join.

    Merges are compared with the last two bytes of the character before and the first three bytes of the character after,
    which must have three. A run of characters of `letters` and `keep` that follows a character of `harm` has no seams.
    """
    text = data.decode(errors="surrogateescape")
    offsets, offset, allowed = [], 0, False
    members = letters | keep
    for i, character in enumerate(text):
        encoded = character.encode(errors="surrogateescape")
        if class_of(character) not in members:
            allowed = False
        elif i == 0 or class_of(text[i - 1]) not in members:
            allowed = i == 0 or class_of(text[i - 1]) not in harm
        elif allowed and len(encoded) > 2 and {class_of(text[i - 1]), class_of(character)} <= letters:
            before, after = text[i - 1].encode()[-2:], encoded[:3]
            if not any(
                (before.endswith(left) or left.endswith(before)) and (right.startswith(after) or after.startswith(right))
                for left, right in merges
            ):
                offsets.append(offset)
        offset += len(encoded)
    return offsets


def is_plain_word(piece):
    """Whether a piece is under 64 bytes: perhaps a space, and ASCII letters, of which only the first may be a capital."""
    return len(piece) < 64 and re.fullmatch(rb" ?[A-Za-z][a-z]*", piece) is not None


def random_ascii_word(source, leads, least, any_case):
    """A random word as patterns/ascii_words.py describes: perhaps a lead, then `least` to 40 letters."""
    letters = ascii_letters if any_case else ascii_lowercase
    rest = source.choices(letters, k=source.choice([least, least + 1, 40]) - 1)
    return source.choice(leads) + source.choice(ascii_letters) + "".join(rest)


def pieces(data, offsets):
    """The stretches between boundaries; none is empty."""
    edges = sorted({0, *offsets, len(data)})
    return [data[start:end] for start, end in itertools.pairwise(edges)]


def find_specials(data, specials):
    """[(start, end, special token)], leftmost first, of several that start at one place the longest."""
    found, position = [], 0
    while position < len(data):
        fitting = [token for token in specials if data.startswith(token, position)]
        if fitting:
            token = max(fitting, key=len)
            found.append((position, position + len(token), token))
            position += len(token)
        else:
            position += 1
    return found


def endings(tokens):
    """For each ending of tokens: the longest shorter ending that it begins with, and the longest such token, or None."""
    found = {token[i:] for token in tokens for i in range(len(token) + 1)}
    longest_first = sorted(found, key=len, reverse=True)
    return {
        ending: (
            next((other for other in longest_first if len(other) < len(ending) and ending.startswith(other)), b""),
            max((token for token in tokens if ending.startswith(token)), key=len, default=None),
        )
        for ending in found
    }


def beginning(data, tokens):
    """The longest ending of a token that some bytes begin with."""
    return max(
        (token[i:] for token in tokens for i in range(len(token)) if data.startswith(token[i:])), key=len, default=b""
    )


def overlapping_specials(data, specials):
    """[(start, end)] of the longest special token at each place."""
    longest = (
        (i, max((len(token) for token in specials if data.startswith(token, i)), default=0)) for i in range(len(data))
    )
    return [(i, i + n) for i, n in longest if n]


def find_overlap(first, later):
    """Whether a token of `first` is inside one of `later`, or an end of one of `later` is the beginning of one of
    `first`."""
    return any(
        token in other or any(other.endswith(token[:n]) for n in range(1, min(len(token), len(other))))
        for token in first
        for other in later
    )


def documents(data, specials):
    """The text between special tokens, with the special token after each (None after the last)."""
    out, done = [], 0
    for start, end, token in find_specials(data, specials):
        out.append((data[done:start], token))
        done = end
    return [*out, (data[done:], None)]


def split(data, pattern):
    """The pretokens of a document as bytes: the matches of a compiled regex, and the parts between them.

    With None the document is one pretoken; a list of regexes splits in turn.
    """
    if pattern is None:
        return [data] if data else []
    if isinstance(pattern, list):
        parts = [data] if data else []
        for each in pattern:
            parts = [inner for part in parts for inner in split(part, each)]
        return parts
    text = data.decode(errors="surrogateescape")
    edges = {0, len(text)}
    for match in pattern.finditer(text):
        edges |= set(match.span())
    edges = sorted(edges)
    return [text[start:end].encode(errors="surrogateescape") for start, end in itertools.pairwise(edges)]


def count_words(texts, pattern, specials=()):
    """Counter of the pretokens of several texts."""
    return Counter(word for data in texts for document, _ in documents(data, specials) for word in split(document, pattern))


def _mix(x):
    """The finaliser of SplitMix64."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) % 2**64
    return x ^ (x >> 31)


def tokens_of_merges(merges):
    """The 256 bytes, and what each merge of two ids makes of these and of the results of earlier merges."""
    tokens = [bytes([byte]) for byte in range(256)]
    for left, right in merges:
        tokens.append(tokens[left] + tokens[right])
    return tokens


def digest_words(word_counts):
    """The sum over all words of a 64-bit hash of count and bytes."""
    total = 0
    for word, count in word_counts.items():
        hashed = _mix(count)
        for byte in word:
            hashed = ((hashed ^ byte) * 0x100000001B3) % 2**64
        total += _mix(hashed)
    return total % 2**64


def document_digest(document, seed):
    """A 64-bit hash of a document, eight bytes at a time, keyed by its length and a seed."""
    digest = _mix(_mix(seed % 2**64) ^ len(document))
    for at in range(0, len(document), 8):
        digest = _mix(digest ^ int.from_bytes(document[at : at + 8], "little"))
    return digest


def take_sample(documents, seed, first, last):
    """The documents whose digests are in a range, but for empty ones."""
    return [each for each in documents if each and first <= document_digest(each, seed) <= last]


def checksum(data):
    """The low 64 bits of a number in a large base whose digits are the data's little-endian 16-bit numbers."""
    total = 0
    for low, high in zip(data[::2], data[1::2], strict=True):
        total = (total * 0x9E3779B97F4A7C15 + low + 256 * high) % 2**64
    return total


def mix(low, high, secret):
    """One number of 64 bits from two, by a secret of two such numbers."""
    sums = (low + secret[0]) % 2**64, (high + secret[1]) % 2**64
    return sum(each % 2**32 * (each >> 32) for each in sums) % 2**64


def home(low, high, secret, n_slots):
    """The slot where the search for a key of two numbers of 64 bits starts; the secret is three such numbers."""
    return (mix(low, high, secret[:2]) * secret[2] % 2**64 >> 32) % n_slots


def long_hash(key, secret):
    """The hash of a key of 16 bytes or more: a polynomial modulo 2^61 - 1 of its parts of 16 bytes; the last part may
    overlap."""
    hashed = len(key)
    for part in [key[at : at + 16] for at in range(0, len(key) - 16, 16)] + [key[-16:]]:
        mixed = mix(int.from_bytes(part[:8], "little"), int.from_bytes(part[8:], "little"), secret[:2])
        hashed = (hashed * secret[2] + mixed) % (2**61 - 1)
    return hashed


def first_line(left, right, secret, n_lines):
    """The line where the search for a pair of symbols starts."""
    return ((left << 21 | right) * secret % 2**64 >> 32) % n_lines


def utf8(text, room):
    """The bytes of a text if there are at most `room`, and kernels take it: a str or bytes, not of a derived type; else
    None."""
    if type(text) is str and not any("\ud800" <= character <= "\udfff" for character in set(text)):
        text = text.encode()
    elif type(text) is str:
        handlers = ["surrogateescape" if "\udc80" <= character <= "\udcff" else "surrogatepass" for character in text]
        text = b"".join(character.encode(errors=errors) for character, errors in zip(text, handlers, strict=True))
    return text if type(text) is bytes and len(text) <= room else None


def most_bytes(text):
    """The most UTF-8 that a text of this length may have, by the width of its characters in Python's memory; None if it is
    not exactly a str or bytes."""
    if type(text) is bytes or (type(text) is str and text.isascii()):
        return len(text)
    if type(text) is not str:
        return None
    greatest = ord(max(text))
    return len(text) * (2 if greatest < 0x100 else 3 if greatest < 0x10000 else 4)


def put_texts(texts, first, last, room, most):
    """As put_strings, for the texts from number `first` up to `last`, up to an item that is not a text."""
    taken = []
    for text in texts[first:last]:
        if most_bytes(text) is None:
            break
        taken.append(utf8(text, 4 * len(text)))
    return put_strings(taken, room, most)


def encode_pretoken(pretoken, ranks):
    """The tokens of a pretoken: merge the pair of lowest rank, the leftmost of several, one at a time."""
    symbols = [bytes([byte]) for byte in pretoken]
    while True:
        known = [(ranks[pair], i) for i, pair in enumerate(itertools.pairwise(symbols)) if pair in ranks]
        if not known:
            return symbols
        _, i = min(known)
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]


def candidates(symbols, ranks):
    """The pairs of adjacent symbols that have a merge, as (rank, place), in the order in which they are merged."""
    pairs = enumerate(itertools.pairwise(symbols))
    return sorted((ranks[pair], place) for place, pair in pairs if pair in ranks)


def encode_with_dropout(pretoken, ranks, is_dropped, n_kept=0):
    """The tokens of a pretoken; at each step `is_dropped()` is called for the pairs in order, until it returns False.

    n_kept : for pairs of lower ranks it is not called
    """
    symbols = [bytes([byte]) for byte in pretoken]
    while True:
        pairs = candidates(symbols, ranks)
        kept = next((place for rank, place in pairs if rank < n_kept or not is_dropped()), None)
        if kept is None:
            return symbols
        symbols[kept : kept + 2] = [symbols[kept] + symbols[kept + 1]]


def dropout_distribution(pretoken, ranks, p):
    """The probability of each way to split a pretoken, as {tokens: probability}, straight from the definition."""
    chances = {}

    def follow(symbols, chance):
        places = [place for _, place in candidates(symbols, ranks)]
        for number, place in enumerate(places):
            merged = (*symbols[:place], symbols[place] + symbols[place + 1], *symbols[place + 2 :])
            follow(merged, chance * p**number * (1 - p))  # all before it are dropped, and it is not
        chances[symbols] = chances.get(symbols, 0) + chance * p ** len(places)

    follow(tuple(bytes([byte]) for byte in pretoken), 1.0)
    return {symbols: chance for symbols, chance in chances.items() if chance}


def splitmix64(state):
    """Random numbers of 64 bits, without end."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        yield _mix(state)


def byte_pairs(data, before, first, n, pairs):
    """The bytes as numbers, and for each with a position from 1 to n - 1 the table entry of the pair that it ends."""
    turns = []
    for i, byte in enumerate(data):
        left = data[i - 1] if i > 0 else before
        turn = (pairs[256 * left + byte] * 256 + first + i) % (1 << 32)
        turns.append(turn if 0 < first + i < n else (1 << 32) - 1)
    return list(data), turns


def settle(pretoken, ranks, n_places):
    """The symbols of a pretoken after those merges of two bytes that no other merge can precede, if merges ascend.

    Only pairs at the first `n_places` places are merged.
    """
    symbols = [bytes([byte]) for byte in pretoken]
    turns = {i: (ranks[pair], i) for i, pair in enumerate(itertools.pairwise(symbols)) if pair in ranks}
    never = (float("inf"), 0)
    out = []
    i = 0
    while i < len(symbols):
        turn = turns.get(i, never)
        is_first = turn < min(turns.get(i - 1, never), turns.get(i + 1, never)) and i < n_places
        for (left, right), rank in ranks.items():
            takes_left = i > 0 and right == symbols[i] and len(left) > 1
            takes_right = is_first and left == symbols[i + 1] and len(right) > 1
            if rank < turn[0] and (takes_left or takes_right):
                is_first = False
        out.append(symbols[i] + symbols[i + 1] if is_first else symbols[i])
        i += 1 + is_first
    return out


def merge_by_ranks(pretoken, ranks):
    """The tokens of a pretoken: join the adjacent pair whose bytes have the lowest rank, the leftmost, one at a time."""
    symbols = [bytes([byte]) for byte in pretoken]
    while True:
        known = [
            (ranks[left + right], i) for i, (left, right) in enumerate(itertools.pairwise(symbols)) if left + right in ranks
        ]
        if not known:
            return symbols
        _, i = min(known)
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]


def encode_by_ranks(data, ranks, pattern):
    """The ids of a text for a vocabulary of ranks, which are ids; a pretoken that is a token is that token."""
    out = []
    for pretoken in split(data, pattern):
        out += [ranks[token] for token in ([pretoken] if pretoken in ranks else merge_by_ranks(pretoken, ranks))]
    return out


def merging_pairs(tokens):
    """(left, right, token), as numbers of tokens, for each way in which two tokens merge to one; shorter lefts first."""
    numbers = {token: number for number, token in enumerate(tokens)}
    return [
        (numbers[token[:middle]], numbers[token[middle:]], number)
        for number, token in enumerate(tokens)
        for middle in range(1, len(token))
        if token[:middle] in numbers and token[middle:] in numbers
    ]


def irregular(ranks):
    """The tokens whose bytes, merged by ranks below their own, do not end as exactly two tokens, by ascending rank."""
    found = []
    for token in sorted((token for token in ranks if len(token) > 1), key=ranks.get):
        below = {other: rank for other, rank in ranks.items() if rank < ranks[token]}
        if len(merge_by_ranks(token, below)) != 2:
            found.append(token)
    return found


def encode(data, merges, ids, pattern, specials=None):
    """The ids of a text. ids: from token to id; specials: from special token (bytes) to id."""
    specials = specials or {}
    ranks = {pair: rank for rank, pair in reversed(list(enumerate(merges)))}
    out = []
    for document, special in documents(data, specials):
        for pretoken in split(document, pattern):
            out += [ids[token] for token in encode_pretoken(pretoken, ranks)]
        if special is not None:
            out.append(specials[special])
    return out


def find_chunk_boundaries(data, n_chunks, token):
    """0, the size, and for each even cut the place of the first token from there on (the size if there is none)."""
    found = [data.find(token, len(data) * i // n_chunks) for i in range(1, n_chunks)]
    return sorted({0, len(data), *(place if place >= 0 else len(data) for place in found)})


def decode(ids, vocab):
    """The bytes of ids."""
    return b"".join(vocab[token_id] for token_id in ids)


def plain_ids(ids):
    """The list of ids if kernels take it, with only int of 64 bits, not of a derived type; else None."""
    if type(ids) is list and all(type(token_id) is int and -(2**63) <= token_id < 2**63 for token_id in ids):
        return ids
    return None


def char_offsets(tokens, characters):
    """For each token (bytes) the first character of which it has a byte, and one more than the last.

    characters : the bytes of each character; joined, they equal the tokens joined
    """
    owners = [number for number, character in enumerate(characters) for _ in character]
    offsets, start = [], 0
    for token in tokens:
        offsets.append([owners[start], owners[start + len(token) - 1] + 1])
        start += len(token)
    return offsets


def pad(rows, max_length, width, padding_side, truncation_side):
    """Rows of ids cut to max_length, then filled up with None to `width`, or to the longest."""
    if max_length is not None:
        rows = [row[:max_length] if truncation_side == "right" else row[::-1][:max_length][::-1] for row in rows]
    if width is None:
        width = max(map(len, rows), default=0)
    missing = [[None] * (width - len(row)) for row in rows]
    return [row + fill if padding_side == "right" else fill + row for row, fill in zip(rows, missing, strict=True)]


def compare_splits(a: list[bytes], b: list[bytes]) -> tuple[int, Counter[tuple[tuple[bytes, ...], tuple[bytes, ...]]]]:
    """How many tokens two splits of one text share, and how often each pair of stretches between common cuts differs."""
    n_same = 0
    differing: Counter[tuple[tuple[bytes, ...], tuple[bytes, ...]]] = Counter()
    a, b = list(a), list(b)
    while a:
        left, right = [a.pop(0)], [b.pop(0)]
        while (n := sum(map(len, left))) != (m := sum(map(len, right))):
            (left if n < m else right).append((a if n < m else b).pop(0))
        if left == right and len(left) == 1:
            n_same += 1
        else:
            differing[tuple(left), tuple(right)] += 1
    return n_same, differing


# Records.


class UnusualJson(Exception):
    """A line that is left to `json`."""


class Members(list):
    """The members of an object as pairs, all of them if names are equal."""


def json_depth(value):
    """How deeply objects and arrays are nested. Raises UnusualJson for a lone surrogate."""
    if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
        raise UnusualJson
    if isinstance(value, Members):
        return 1 + max((json_depth(part) for pair in value for part in pair), default=0)
    if isinstance(value, list):
        return 1 + max(map(json_depth, value), default=0)
    return 0


def json_record_text(line, field, most_depth):
    """The text in a line's record as UTF-8, or None if the line is not a record, or an unusual one.

    Unusual: the field is missing, twice, or not a string; a lone surrogate; NaN or Infinity; nesting deeper than
             most_depth.
    """

    def refuse(constant):
        raise UnusualJson

    decode = json.JSONDecoder(parse_int=float, parse_constant=refuse, object_pairs_hook=Members).decode
    try:
        record = decode(line.decode())
        if not isinstance(record, Members) or json_depth(record) > most_depth:
            return None
    except (ValueError, UnusualJson, RecursionError):
        return None
    texts = [value for name, value in record if name == field]
    return texts[0].encode() if len(texts) == 1 and isinstance(texts[0], str) else None


def put_strings(strings, room, most):
    """(how many of the strings fit into `room`, each with 0xff after it, at most `most`; the bytes; the ends of the
    strings)."""
    data, ends = b"", []
    for string in strings[:most]:
        if len(data) + len(string) + 1 > room:
            break
        data += string + b"\xff"
        ends.append(len(data) - 1)
    return len(ends), data, ends


def add_up(words):
    """Words with counts as a sorted list, in which each word occurs once, with the sum of its counts."""
    counts = Counter()
    for word, count in words:
        counts[word] += count
    return sorted(counts.items())


def rank_lines(data):
    """The tokens and ranks of lines such as "dG9rZW4= 1234"; None if a line is anything else."""
    lines = data.decode("latin-1").removesuffix("\n").split("\n") if data else []
    found = [
        re.fullmatch(r"((?:[A-Za-z0-9+/]{4})*(?:|[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)) ([0-9]+)", line) for line in lines
    ]
    if not all(match and match[1] and int(match[2]) < 2**31 - 1 for match in found):
        return None
    tokens = [base64.b64decode(match[1]) for match in found]
    if [base64.b64encode(token).decode() for token in tokens] != [match[1] for match in found]:
        return None
    return tokens, [int(match[2]) for match in found]


@functools.cache
def any_whitespace():
    """A regex of bytes for as many characters of whitespace as there are."""
    characters = regex.findall(r"\s", "".join(map(chr, range(0x3001))))
    return b"(?:" + b"|".join(character.encode() for character in characters) + b")*"


def take_whitespace(text, tokens):
    """The tokens of bytes, with the whitespace that they take: from (start, end, id, takes before, takes after) to
    (start, end, id).

    Those of a negative id, or that begin with the byte 0xFF, end a document, beyond which no token takes anything.
    """
    spaces = any_whitespace()
    found, done = [], 0
    for start, end, token_id, before, after in tokens:
        if token_id < 0 or text[start] == 0xFF:
            found.append((start, end, token_id))
            done = end
            continue
        if before:
            start = done + re.search(spaces + rb"\Z", text[done:start]).start() if done < start else done
        if after:
            end += len(re.match(spaces, text[end:])[0])
        if start >= end:
            continue  # it is whitespace that another token took
        if found and found[-1][1] > start:
            found[-1] = (found[-1][0], start, found[-1][2])
        found.append((start, end, token_id))
        done = end
    return found


def skip_inert(text, start, end, inert):
    """The place of the first character of bytes that is not in a set, or `end`; bytes of invalid UTF-8 are skipped."""
    at = start
    while at < end:
        for length in range(1, 5):
            try:
                character = text[at : at + length].decode()
            except UnicodeDecodeError:
                continue
            if len(character) == 1:
                break
        else:
            character, length = None, 1
        if character is not None and (at + length > end or character not in inert):
            return at
        at += length
    return at


def find_unknown(text, known):
    """The places of the bytes that go on with a character that is unknown, or with none; ASCII is known."""
    places, at = [], 0
    for character in text.decode(errors="surrogateescape"):
        data = character.encode(errors="surrogateescape")
        if character not in known and ord(character) >= 0x80:
            places += [at + i for i, byte in enumerate(data) if byte & 0xC0 == 0x80]
        at += len(data)
    return places


def encode_characters(stretch, merges, ids, byte_ids):
    """The ids of a stretch of text by merges of characters, the first merge first; an unknown character is its bytes.

    merges : pairs of str;  ids : from str to id;  byte_ids : of the 256 bytes
    """
    symbols = [[c] if c in ids else [byte_ids[byte] for byte in c.encode()] for c in stretch]
    symbols = list(itertools.chain.from_iterable(symbols))
    ranks = {pair: rank for rank, pair in reversed(list(enumerate(merges)))}
    while True:
        known = [(ranks[pair], i) for i, pair in enumerate(itertools.pairwise(symbols)) if pair in ranks]
        if not known:
            return [symbol if isinstance(symbol, int) else ids[symbol] for symbol in symbols]
        _, i = min(known)
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]


def json_merges(data):
    """The sides of the merges in the JSON list that data begins with, and where it ends; None if it holds anything else."""
    text = data.decode(errors="surrogateescape")
    try:
        lines, end = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return None
    if not isinstance(lines, list) or not lines or any(0xD800 <= ord(character) < 0xE000 for character in text[:end]):
        return None
    pairs = lines
    if all(isinstance(line, str) for line in lines):
        if any(line.startswith("#version") for line in lines):
            return None
        pairs = [line.split(" ") for line in lines]
    if not all(isinstance(pair, list) and len(pair) == 2 and all(isinstance(side, str) for side in pair) for pair in pairs):
        return None
    try:
        return [side.encode() for pair in pairs for side in pair], len(text[:end].encode())
    except UnicodeEncodeError:  # an escaped lone surrogate
        return None


def merge_ids(pairs, ids):
    """The ids of left, right and result of each merge; None if one of them has none."""
    merges = [(left, right, left + right) for left, right in pairs]
    return (
        [[ids[token] for token in merge] for merge in merges] if all(ids.keys() >= set(merge) for merge in merges) else None
    )
