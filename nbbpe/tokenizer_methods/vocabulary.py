"""A Tokenizer's methods that extend or reduce its vocabulary, or measure how texts use it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..encoding.special_choice import Choice
from ..system.choices import check_bool
from ..system.lazy import method_on_use
from ..system.paths import Path
from ..system.progress import ProgressOption
from ..text.utf8 import Text
from .encoding import TokenizerEncoding

if TYPE_CHECKING:
    from typing_extensions import Self

    from ..sources.tables.arrow_data import ArrowData
    from ..system.memory_limits import MemoryLimit
    from ..training.token_rules import TokenRules
    from ..vocabulary.frequencies import frequencies
    from ..vocabulary.report_data import ReportFigures
    from ..words.counting_options import MinWordCount
    from ..words.mixture import Mixture


class TokenizerVocabulary(TokenizerEncoding):
    """Extends, reduces, counts and reports on the vocabulary of a Tokenizer."""

    # Its docstring is in vocabulary/frequencies.py; its first parameter is the tokenizer.
    if TYPE_CHECKING:
        frequencies = frequencies
    else:
        frequencies = method_on_use("nbbpe.vocabulary.frequencies", "frequencies")

    def with_special_tokens(self, special_tokens: Sequence[str] | Mapping[str, int]) -> Self:
        """A copy of this tokenizer with more special tokens; this one does not change.

        special_tokens : a list, whose new tokens get the next ids after the highest (or the id of a token in the vocab with
            the same bytes that takes no part in merges); or a dict from string to id, for exactly these ids

        Special tokens that the tokenizer has already keep their ids. Raises ValueError for an id that another token has.

        >>> chat = tok.with_special_tokens(["<|user|>", "<|end|>"])
        >>> chat.special_tokens
        {'<|endoftext|>': 263, '<|user|>': 264, '<|end|>': 265}
        >>> tok.with_special_tokens({"<|pad|>": 300}).vocab_size
        301
        """
        return self._with_model(self._model.with_special_tokens(special_tokens))

    def rename_special_tokens(self, names: Mapping[str, str]) -> Self:
        """A copy of this tokenizer with new names of some special tokens, and the same ids; this one does not change.

        names : a dict from special tokens to their new names

        For tokens that a model keeps in reserve. Nothing else changes: how tokens are found, which are put around a text,
        and all ids. Raises ValueError for a token that the tokenizer lacks, and for a name that it has already.

        >>> tok.rename_special_tokens({"<|endoftext|>": "<|im_end|>"}).encode("the<|im_end|>")
        [258, 263]
        """
        return self._with_model(self._model.with_renamed_special_tokens(names))

    def extend(
        self,
        source: Path | Sequence[Path] | Iterator[Text] | ArrowData | Mixture | None = None,
        vocab_size: int | None = None,
        *,
        tie_break: str | None = None,
        min_frequency: int = 1,
        max_token_length: int | None = None,
        workers: int | None = None,
        progress: ProgressOption = None,
        field: str | None = None,
        on_error: str = "raise",
        split_with: str | None = None,
        documents: Iterable[Text] | None = None,
        rules: TokenRules | None = None,
        on_interrupt: str = "raise",
        counts: Any = None,
        weights: Sequence[Any] | None = None,
        memory_limit: MemoryLimit = None,
        min_word_count: MinWordCount = None,
        executor: Any = None,
    ) -> Self:
        """A tokenizer with more tokens, learned from a source; this one does not change.

        vocab_size : of the result, as the property of this name counts; new tokens get the ids after the highest one
        tie_break  : as in `nbbpe.train`; None takes the rule with which nbbpe trained this tokenizer, else "bytes"
        source, documents, field, on_error, workers, progress, split_with, counts, weights, memory_limit, min_word_count,
        executor : as in `nbbpe.train`
        min_frequency, max_token_length, rules, on_interrupt : as in `nbbpe.train`, for new tokens. With documents=[], the
            seeds of the rules are all that is learned, and `vocab_size` may be left out

        All tokens keep their ids, special tokens too. Text is prepared and split as by this tokenizer, its merges are
        applied to each word, and training continues from there. Counts are used as they are, with a warning if this
        tokenizer would change the text. Trained by nbbpe from the same text with the same rules, the result has the merges
        of training in one go. Works for loaded tokenizers as well, with or without a list of merges; where tokens merge by
        rank, new ones get the next ranks. A vocabulary of characters, as Llama 2's, gets no more characters.

        Warns if the text has too few pairs, of new tokens that older merges make unreachable, and of words that the result
        encodes otherwise than in training (5,000 are tested). The last two happen only to vocabularies with tokens that
        their merges do not make.

        Raises ValueError for a `vocab_size` below that of this tokenizer; other errors are those of `nbbpe.train`.

        >>> larger = tok.extend(documents=["a dog and a dog"], vocab_size=266)
        >>> larger.encode("a dog<|endoftext|>"), larger.id_to_token(265)
        ([97, 32, 265, 263], b'dog')
        """
        from ..training.learning_options import check_learning_options
        from ..vocabulary.extension import extend, tie_break_of
        from ..words.corpus import Corpus
        from ..words.counting_options import check_counting_options

        counting = check_counting_options(
            workers, progress, field, on_error, split_with, executor, memory_limit, min_word_count
        )
        rule = tie_break_of(self._model) if tie_break is None else tie_break
        learning = check_learning_options(rule, min_frequency, max_token_length, rules, on_interrupt)
        corpus = Corpus(source, documents, counts, weights)
        return self._with_model(extend(self._model, corpus, counting, learning, vocab_size))

    def truncate(self, n: int, *, renumber: bool = True) -> tuple[Self, NDArray[np.int64]]:
        """A tokenizer with only the first of the merges, and the new id of each old id; this one does not change.

        n        : the `vocab_size` of the result, if it is renumbered and this tokenizer has no gaps between its ids. The
            difference is how many tokens are dropped, the last ones that merges made. Bytes, special tokens and tokens that
            no merge makes stay. If tokens merge by rank, the highest ranks are dropped
        renumber : True moves each id down by the number of dropped ids below it, so that special tokens at the end follow
            the last merge, as in training. False leaves all ids as they are, with gaps where tokens were dropped

        Returns (tokenizer, old_to_new): int64[vocab_size], -1 for a dropped token and for an id that has no token. A
        tokenizer that nbbpe trained becomes the one that training to the smaller size would have made, and tokens that
        `extend` added are removed again. Raises TypeError or ValueError for an `n` that is not an integer, is above this
        size, or is below what stays, and ValueError if it drops a token that the tokenizer's file puts around texts (its
        post_processor), or for a vocabulary whose ids leave gaps much larger than itself.

        >>> smaller, old_to_new = tok.truncate(260)
        >>> smaller.merges, smaller.special_tokens
        ([(b'a', b't'), (b't', b'h'), (b'th', b'e')], {'<|endoftext|>': 259})
        >>> old_to_new[256:]
        array([256, 257, 258,  -1,  -1,  -1,  -1, 259])
        """
        from ..vocabulary.reduction import truncate

        model, old_to_new = truncate(self._model, n, renumber)
        return self._with_model(model), old_to_new

    def prune(
        self,
        source: Path | Sequence[Path] | Iterator[Text] | ArrowData | None = None,
        n: int | None = None,
        *,
        renumber: bool = True,
        workers: int | None = None,
        progress: ProgressOption = None,
        field: str | None = None,
        on_error: str = "raise",
        allowed_special: Choice | None = None,
        documents: Iterable[Text] | None = None,
    ) -> tuple[Self, NDArray[np.int64]]:
        """The tokenizer without the tokens that a source uses least, and the new id of each old id.

        n        : the `vocab_size` of the result, as in `truncate`; the difference is how many tokens are dropped
        renumber : see `truncate`
        source, documents, workers, progress, field, on_error, allowed_special : as in `frequencies`

        Tokens are dropped one after another: each time, of the tokens that no other token is made of, the one that the
        source uses least (of several, the one with the highest id). Its two parts take its place, and its uses are added to
        theirs. Bytes and special tokens stay, and every token that stays can still be made. In a vocabulary with ends of
        words, as CLIP's, `a</w>` stays as the byte `a` does. Warns of a source without text.

        Returns (tokenizer, old_to_new) as `truncate` does, for the rows of an embedding. Raises TypeError or ValueError for
        an `n` that is not an integer, is above this size, or is below what stays, and ValueError if it drops a token that
        the tokenizer's file puts around texts; other errors are those of `frequencies`.

        >>> smaller, old_to_new = tok.prune(documents=["the hat, the mat"], n=260)
        >>> smaller.merges
        [(b'a', b't'), (b't', b'h'), (b'th', b'e')]
        """
        from ..vocabulary.reduction import check_smaller_size, prune

        if n is None:
            raise TypeError("n is missing: the number of ids of the result")
        check_smaller_size(self._model, n)
        check_bool("renumber", renumber)  # before the text is read
        counts = self.frequencies(
            source,
            workers,
            progress,
            field=field,
            on_error=on_error,
            allowed_special=allowed_special,
            documents=documents,
        )
        model, old_to_new = prune(self._model, counts, n, renumber)
        return self._with_model(model), old_to_new

    def drop(self, ids: Iterable[int], *, renumber: bool = True) -> tuple[Self, NDArray[np.int64]]:
        """The tokenizer without some tokens, and the new id of each old id; this one does not change.

        ids      : of the tokens to drop; bytes and special tokens stay
        renumber : see `truncate`

        Tokens that can be made only of dropped ones are dropped, too. Text that uses none of the dropped tokens keeps its
        tokens, unless merges can make one of them in several ways.

        Returns (tokenizer, old_to_new) as `truncate` does. Raises TypeError for an id that is not an integer, and
        ValueError for one whose token cannot be dropped, or is put around texts by the tokenizer's file (post_processor).

        >>> smaller, old_to_new = tok.drop([tok.token_to_id("th")])
        >>> smaller.merges, int(old_to_new[tok.token_to_id("the")])
        ([(b'a', b't'), (b'c', b'at'), (b' ', b'cat'), (b's', b'at')], -1)
        """
        from ..vocabulary.reduction import drop

        model, old_to_new = drop(self._model, ids, renumber)
        return self._with_model(model), old_to_new

    def unused(
        self,
        source: Path | Sequence[Path] | Iterator[Text] | ArrowData | None = None,
        workers: int | None = None,
        progress: ProgressOption = None,
        **options: Any,
    ) -> NDArray[np.int64]:
        """The ids of the tokens that a source does not use, int64[n], ascending, without special tokens.

        Arguments and errors are those of `frequencies`.

        >>> tok.decode_batch([[token_id] for token_id in tok.unused(documents=["the cat"]).tolist() if token_id > 255])
        ['at', 'th', 'cat', ' the', 'sat']
        """
        from ..vocabulary.frequencies import unused

        return unused(self._model, self.frequencies(source, workers, progress, **options))

    def unreachable(self) -> NDArray[np.int64]:
        """The ids of the tokens that merging never gives, int64[n], ascending, without special tokens.

        These are the tokens whose own bytes, as one pretoken, become other ids. Other tokens may still be in no text, if
        the split pattern always cuts their bytes in two. Empty for everything that nbbpe trains.

        >>> tok.unreachable()
        array([], dtype=int64)
        """
        from ..vocabulary.frequencies import unreachable

        return unreachable(self._model)

    @property
    def token_bytes(self) -> NDArray[np.int32]:
        """The number of bytes of each id, int32[vocab_size], as a new array: 0 for special tokens and ids without one.

        With it, a loss in nats per token can be converted to bits per byte of text, which can be compared between
        vocabularies: the sum of the losses of tokens that have bytes, divided by ln 2 and by the sum of their bytes.
        Special tokens stand for no text. Raises ValueError for a vocabulary whose ids leave gaps much larger than itself.
        """
        from ..vocabulary.frequencies import token_bytes

        return token_bytes(self._model)

    def report(
        self,
        path: Path | None,
        on: Mapping[str, Any] | Sequence[Path] | Path,
        *,
        name: str = "tokenizer",
        workers: int | None = None,
        progress: ProgressOption = None,
        field: str | None = None,
        on_error: str = "raise",
    ) -> ReportFigures:
        """Write a report on this vocabulary as one HTML page, which loads nothing and runs no script, and return its
        figures.

        path : of the page, an .html file; an existing one is replaced; None for the figures alone
        on   : the texts to report on: a path, a list of paths, or a dict from names to sources, each a path, a list of
            paths or an iterator of documents
        name : what the page calls the tokenizer
        workers, progress, field, on_error : as in `nbbpe.train`

        For each text and each script: compression at every size of the vocabulary (the first merges of this one), tokens
        per word, and the gain of twice the vocabulary. Of the tokens: the longest, those that begin or end inside a
        character, those that are never used alone, those that no text uses, near duplicates, unreachable ones. Memory
        holds the distinct words of all texts, and for each text a number for each token.

        Raises TypeError or ValueError for an `on` that names no text, or a path twice, ValueError for a vocabulary whose
        ids leave gaps much larger than itself, OSError for a file that cannot be read or written.

        >>> figures = tok.report("report.html", {"cats": iter(["the cat sat"]), "dogs": iter(["a dog"])})
        >>> "Compression of each script" in open("report.html").read()
        True
        >>> [(row.name, row.n_tokens, row.bytes_per_token, row.tokens_per_word) for row in figures.texts]
        [('cats', 4, 2.75, 1.3333333333333333), ('dogs', 5, 1.0, 2.5)]
        """
        from ..vocabulary.report import write_report

        return write_report(path, name, self._model, on, workers, progress, field, on_error)
