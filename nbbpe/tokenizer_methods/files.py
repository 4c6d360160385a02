"""A Tokenizer's methods that read and write files, and objects of other libraries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ..formats.nbbpe_folder import folder
from ..formats.shared.plain_formats import WRITES_JSON
from ..formats.vocab_json import gpt2
from ..model.post_processor import read_templates
from ..patterns.pattern_argument import PatternLike
from ..system.excerpt import first_few
from ..system.paths import Path
from ..system.user_warnings import warn_user
from .data import TokenizerData

if TYPE_CHECKING:
    from typing_extensions import Self


class TokenizerFiles(TokenizerData):
    """Reads and writes tokenizers; each format is a module of `formats`."""

    @classmethod
    def from_files(
        cls,
        vocab_path: Path,
        merges_path: Path,
        special_tokens: Sequence[str] | None = None,
        pattern: PatternLike = "gpt2",
    ) -> Self:
        """Read a GPT-2 style vocab.json and merges.txt.

        Parameters
        ----------
        vocab_path, merges_path : the two files; the first line of merges.txt may be its version
        special_tokens : those that the vocab has keep their ids, others get the next ids after its highest
        pattern : a name, a regex, a list of these, or None (see `nbbpe.train`); the files do not name it

        Raises OSError, or ValueError that names the file and the line that is broken.

        >>> tok.save_gpt2("vocab.json", "merges.txt")
        >>> nbbpe.Tokenizer.from_files("vocab.json", "merges.txt", ["<|endoftext|>"]) == tok
        True
        """
        return cls._of(gpt2.read_model(vocab_path, merges_path, [] if special_tokens is None else special_tokens, pattern))

    @classmethod
    def from_tiktoken(
        cls,
        path_or_encoding: Path | Any,
        pattern: PatternLike = None,
        special_tokens: Mapping[str, int] | Sequence[str] | None = None,
    ) -> Self:
        """Read a rank file of tiktoken (`.tiktoken`), or take a `tiktoken.Encoding`; the ids are those of tiktoken.

        Parameters
        ----------
        path_or_encoding : path of a rank file, or an Encoding
        pattern : a name or a regex. None takes the pattern of the Encoding, or of the known encoding to which the file
            belongs (r50k_base, p50k_base, cl100k_base, o200k_base, Whisper's multilingual, Llama 3's, Llama 4's and Qwen
            1's; recognised by content, or else by name)
        special_tokens : a dict from special tokens to ids, which may leave gaps; or a list, for the next ids after the
            highest rank. None takes those of the Encoding or the known encoding; other files have none

        A token's rank is its id. The adjacent pair whose concatenated bytes have the lowest rank is merged first, and a
        pretoken that is itself a token becomes that token. If a list of merges gives the same ids (as for OpenAI's
        encodings), `merges` is that list.

        Raises ValueError that names the file and the line that is broken, or if the pattern is not known; OSError for a
        file that is missing or cannot be read; TypeError for any other object.

        >>> tok.save_tiktoken("mine.tiktoken")
        >>> nbbpe.Tokenizer.from_tiktoken("mine.tiktoken", "gpt2", tok.special_tokens) == tok
        True
        """
        from ..formats.ranks import tiktoken

        return cls._of(tiktoken.read_model(path_or_encoding, pattern, special_tokens))

    @classmethod
    def from_hf(cls, path_or_tokenizer: Path | Any, *, normalizer: Literal["apply", "ignore"] = "apply") -> Self:
        """Read a `tokenizer.json` of Hugging Face with a BPE model, or take a `tokenizers.Tokenizer` or a
        `PreTrainedTokenizerFast`; the ids are those of its `encode(text, add_special_tokens=False)`.

        Parameters
        ----------
        path_or_tokenizer : path of a tokenizer.json, or an object of tokenizers or transformers
        normalizer : "apply" keeps the file's normalizer, such as NFC (in Qwen's); "ignore" drops it, for callers who
            normalize texts themselves

        All added tokens become special tokens, which are found in text as tokenizers finds them. Tokens that a
        post_processor adds are added with `encode(text, add_special_tokens=True)`; truncation and padding are ignored. Any
        other part that nbbpe cannot honour exactly is an error that names it.

        Raises ValueError that names the file and the part that is broken or cannot be honoured.

        >>> tok.to_hf("tokenizer.json")
        >>> nbbpe.Tokenizer.from_hf("tokenizer.json") == tok
        True
        """
        from ..formats.tokenizer_json import reading

        return cls._of(reading.read_model(path_or_tokenizer, normalizer))

    def save(self, path: Path) -> None:
        """Write the tokenizer to a folder of plain JSON and text, which is made if it is missing; `nbbpe.load` reads it.

        For a large vocabulary, there is also a copy as arrays, `nbbpe.tables`, which loads faster and may be deleted. The
        folder also gets tokenizer.json and tokenizer_config.json, so that transformers'
        `AutoTokenizer.from_pretrained(folder)` can read it. If `to_hf` refuses the tokenizer, these are left out, and
        nbbpe.json says why.

        A tokenizer that `save` wrote there is replaced. Entries that users or transformers added to tokenizer_config.json
        stay, except tokens that are not special tokens of this tokenizer. Raises FileExistsError for files of these names
        that `save` did not write, another OSError if the folder cannot be written to, and ValueError for two ids with equal
        bytes, which the files cannot distinguish.

        >>> tok.save("tokenizer")
        >>> nbbpe.load("tokenizer") == tok
        True
        """
        folder.write(path, self._model)

    @classmethod
    def load(cls, path: Path, *, check: bool = True) -> Self:
        """Read a folder that `save` wrote (see `nbbpe.load`).

        >>> tok.save("tokenizer")
        >>> nbbpe.Tokenizer.load("tokenizer") == tok
        True
        """
        return cls._of(folder.read_model(path, check))

    def save_pretrained(
        self,
        folder: Path,
        *,
        chat_template: str | None = None,
        model_max_length: int | None = None,
        **roles: str,
    ) -> list[str]:
        """Write the files that transformers' `AutoTokenizer.from_pretrained(folder)` reads, and `nbbpe.load(folder)` too.

        chat_template    : a Jinja template
        model_max_length : the most ids that the model takes
        roles            : bos_token, eos_token, unk_token, sep_token, pad_token, cls_token, mask_token; each a special
            token of this tokenizer

        In a folder that `save` wrote, nbbpe's own files are replaced, too. With `chat_template`, a chat_template.jinja of
        transformers is also replaced, as transformers would prefer it. Returns the paths of the files: tokenizer.json,
        tokenizer_config.json, special_tokens_map.json, and chat_template.jinja if it was replaced. Raises TypeError or
        ValueError for an invalid argument, such as a role that is not a special token, and ValueError if `to_hf` does; then
        nothing is written.

        >>> files = tok.save_pretrained("my-model", eos_token="<|endoftext|>")
        >>> nbbpe.load("my-model") == tok
        True
        """
        from ..formats.transformers_folder.pretrained import save_pretrained

        return save_pretrained(self._model, folder, chat_template, model_max_length, roles)

    def to_hf(self, path: Path) -> None:
        """Write a `tokenizer.json` that `tokenizers.Tokenizer.from_file` reads, and transformers'
        `PreTrainedTokenizerFast(tokenizer_file=path)`, with the same ids.

        Raises ValueError for what that format cannot hold: a custom pattern with a different meaning in the regex engine of
        tokenizers, or special tokens that share an id or are spelled like another token. Raises FileExistsError for the
        tokenizer.json of a folder in which `save` wrote another tokenizer. Characters that are newer than the Unicode
        version of that engine may be split or normalized differently there.

        >>> tok.to_hf("tokenizer.json")
        >>> nbbpe.load("tokenizer.json") == tok
        True
        """
        from ..formats.tokenizer_json import writing

        writing.write(path, self._model)

    def save_gpt2(self, vocab_path: Path, merges_path: Path, *, version_line: bool = True) -> None:
        """Write GPT-2's vocab.json and merges.txt, byte for byte as OpenAI's were; `from_files` reads them.

        `version_line` says whether merges.txt begins with "#version: 0.2", as OpenAI's does. The files name neither the
        pattern nor the special tokens, so pass these to `from_files`. Raises ValueError for one path for both, and for what
        the files cannot hold: two ids with equal bytes, two special tokens with one id, a normalizer, a vocabulary of ranks
        without a list of merges, or, without the version line, a first merge that looks like one; FileExistsError for files
        of a folder that `save` wrote. Warns of merges that look like one, which tokenizers skips. A merge that occurs
        twice is written once.

        >>> tok.save_gpt2("vocab.json", "merges.txt")
        >>> open("merges.txt").readlines()[:2]
        ['#version: 0.2\\n', 'a t\\n']
        """
        gpt2.write(vocab_path, merges_path, self._model, version_line)
        self._warn_of_tokens_around("GPT-2's files")

    def to_tiktoken(self, name: str | None = None) -> Any:
        """A `tiktoken.Encoding` that gives the same ids; needs tiktoken.

        name : of the encoding; None for `tok.name`, which is "nbbpe" unless this is an Encoding of `nbbpe.tiktoken`

        Raises ImportError if tiktoken is not installed. Raises ValueError if ranks would give other ids than the merges
        (never for what nbbpe trains), if the pattern or the special tokens have a different meaning in tiktoken, and with a
        normalizer.

        >>> encoding = tok.to_tiktoken()
        >>> encoding.encode("the cat") == tok.encode("the cat")
        True
        """
        from ..formats.ranks import tiktoken

        encoding = tiktoken.new_encoding(self.name if name is None else name, self._model)
        self._warn_of_tokens_around("an encoding of tiktoken's")
        return encoding

    def save_tiktoken(self, path: Path) -> None:
        """Write a `.tiktoken` file of ranks. The file does not hold the pattern and the special tokens, so pass
        these to `from_tiktoken`. Raises ValueError if ranks would give other ids than the merges, or with a normalizer.

        >>> tok.save_tiktoken("mine.tiktoken")
        >>> len(open("mine.tiktoken").readlines())
        263
        """
        from ..formats.ranks import tiktoken

        tiktoken.write(path, self._model)
        self._warn_of_tokens_around("a file of ranks")

    def save_tekken(self, path: Path) -> None:
        """Write Mistral's `tekken.json`, which mistral-common's `Tekkenizer.from_file` reads, and `nbbpe.load` too.

        Raises ValueError unless the special tokens have the first ids and the bytes the next ones, in order, and if merging
        by ranks would give other ids.

        >>> vocab = {0: b"<s>"} | {i + 1: bytes([i]) for i in range(256)} | {257: b"th", 258: b"the"}
        >>> small = nbbpe.Tokenizer(vocab, [(b"t", b"h"), (b"th", b"e")], ["<s>"])
        >>> small.save_tekken("tekken.json")
        >>> nbbpe.load("tekken.json").encode("<s>the")
        [0, 258]
        """
        from ..formats.ranks import tekken

        tekken.write(path, self._model)
        self._warn_of_tokens_around("tekken.json")

    def _warn_of_tokens_around(self, format_name: str) -> None:
        """Warn if the tokenizer's file puts tokens around a text, for a format that cannot say so."""
        templates = read_templates(self._model.extras.post_processor)
        ids = [token_id for part in (*templates.single, *templates.pair) if isinstance(part, list) for token_id in part]
        if not ids:
            return
        tokens = [self._model.vocab[token_id].decode(errors="replace") for token_id in dict.fromkeys(ids)]
        warn_user(
            f"{format_name} cannot hold which tokens encode(text, add_special_tokens=True) puts around a text "
            f"({first_few(tokens)}): who reads it must add them. A tokenizer.json ({WRITES_JSON}) holds them"
        )
