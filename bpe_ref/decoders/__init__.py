"""Turn the strings of tokens into text.

Definition
    A decoder maps a list of strings to a list of strings; the text is the last list, joined.
    Without a decoder the strings are joined with a space between them.

Source: decoders/*.rs, pre_tokenizers/byte_level.rs and metaspace.rs, and normalizers/replace.rs of
Hugging Face tokenizers 0.23.3.

What the source leaves open, and what it does unexpectedly
    - `Strip` cannot strip a string that has fewer characters than it looks at
      (`Quirks.short_strip_fails`: the library panics): an empty one, for one.
    - `Metaspace` removes every replacement from the first string, not only a leading one.
    - `Replace` finds an empty pattern before, between and after all characters.
    - `BPEDecoder` replaces the suffix wherever it stands in a string, and an empty one between
      all characters.
    - `WordPiece` puts the space before, and cleans up each string by itself: what spans two
      strings stays.
    - `CTC` is for speech, which byte-pair tokens are not: there is none here.
    - `ByteLevel` reads a string as bytes where all its letters are byte letters, whoever wrote
      it: an added token `é!` becomes a lone byte E9 and an exclamation mark, and `Ġfoo` loses its
      letter. (`Quirks.byte_level_maps_added_tokens`; a decoder sees strings and not which of
      them are added tokens, so the pipeline has to do otherwise.)
    - `ByteFallback`: if a run of byte tokens is not UTF-8 as a whole, each of its bytes becomes one
      U+FFFD, even the valid ones. It reads `<0x+1>` as a byte.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, replace
from typing import TYPE_CHECKING, Final

from bpe_ref.components import Decoder, by_name
from bpe_ref.decoders.to_bytes import bytes_to_text
from bpe_ref.errors import DecodingError
from bpe_ref.parameters import check_character, check_count, check_flag, check_text
from bpe_ref.patterns.matches import Literal, Regex
from bpe_ref.quirks import HUGGING_FACE, Quirks
from bpe_ref.vocabulary.byte_alphabet import from_letters

if TYPE_CHECKING:
    from bpe_ref.normalizers.replacing import Replace as ReplaceText

_REPLACEMENT: Final = "\ufffd"
_BYTE_TOKEN: Final = re.compile(r"<0x([0-9A-F]{2})>")
_NUMBER_TOKEN: Final = re.compile(r"<0x([0-9A-Fa-f]{2}|\+[0-9A-Fa-f])>")

CLEANUP: Final[tuple[tuple[str, str], ...]] = (
    *((" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't")),
    *((" 'm", "'m"), (" do not", " don't"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re")),
)
"""What `WordPiece` cleans up, in this order."""


def decode_tokens(decoder: Decoder | None, tokens: Sequence[str]) -> str:
    """Return the text of some tokens' strings.

    >>> decode_tokens(None, ["a", "b"]), decode_tokens(Fuse(), ["a", "b"])
    ('a b', 'ab')
    """
    return " ".join(tokens) if decoder is None else "".join(decoder.decode_chain(tokens))


def with_errors(decoder: Decoder | None, errors: str) -> Decoder | None:
    """Return the decoder with another treatment of bytes that are not UTF-8.

    "replace" is the decoder's own: what is replaced is part of its definition. The others are
    those of `to_bytes`. Raises `ParameterError` for any other.

    >>> with_errors(ByteFallback(), "ignore").decode_chain(["<0xC3>", "a"])
    ['', 'a']
    """
    bytes_to_text(b"", errors)  # raises for an unknown handler
    if errors == "replace":
        return decoder
    if isinstance(decoder, DecoderSequence):
        parts = (with_errors(part, errors) for part in decoder.decoders)
        return DecoderSequence(tuple(part for part in parts if part is not None))
    if decoder is None or not hasattr(decoder, "errors"):
        return decoder
    changed: Decoder = replace(decoder, errors=errors)  # type: ignore[type-var]  # a dataclass
    return changed


@dataclass(frozen=True)
class DecoderSequence:
    """One decoder after the other.

    >>> DecoderSequence((Metaspace("▁"), Fuse())).decode_chain(["▁a", "▁b"])
    ['a b']
    """

    decoders: tuple[Decoder, ...]

    def decode_chain(self, tokens: Sequence[str]) -> list[str]:
        chain = list(tokens)
        for decoder in self.decoders:
            chain = decoder.decode_chain(chain)
        return chain


@dataclass(frozen=True)
class ByteLevel:
    """Reads byte letters as bytes; what is not UTF-8 becomes U+FFFD. The fields mean nothing here.

    >>> ByteLevel(add_prefix_space=True, trim_offsets=True).decode_chain(["Ġa", "Ã", "©"])
    [' aé']
    """

    add_prefix_space: bool = True
    trim_offsets: bool = True
    use_regex: bool = True
    errors: str = "replace"
    """What becomes of bytes that are not UTF-8. No field of the format: see `with_errors`."""

    joins_over_special: bool = True
    """Whether bytes on both sides of a special token that is left out can be one character.
    No field of the format: mistral-common decodes what is between special tokens by itself."""

    def __post_init__(self) -> None:
        """Raise `ParameterError` unless every flag is a bool."""
        check_flag("add_prefix_space", self.add_prefix_space)
        check_flag("trim_offsets", self.trim_offsets)
        check_flag("use_regex", self.use_regex)

    def decode_chain(self, tokens: Sequence[str]) -> list[str]:
        return [bytes_to_text(b"".join(map(self.to_bytes, tokens)), self.errors)]

    def to_bytes(self, token: str) -> bytes:
        """Return the bytes of a token by its string.

        >>> ByteLevel(add_prefix_space=True, trim_offsets=True).to_bytes("Ġa")
        b' a'
        """
        try:
            return from_letters(token)
        except KeyError:  # it has other letters
            return token.encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class ByteFallback:
    """Reads tokens such as `<0xE4>` as bytes.

    >>> ByteFallback().decode_chain(["<0xC3>", "<0xA9>", "a", "<0xC3>"])
    ['é', 'a', '\ufffd']
    """

    quirks: Quirks = HUGGING_FACE
    errors: str = "replace"
    """What becomes of bytes that are not UTF-8. No field of the format: see `with_errors`."""

    def decode_chain(self, tokens: Sequence[str]) -> list[str]:
        """Return the list, in which each run of byte tokens is replaced by its text."""
        bytes_ = {token: self.byte_of(token) for token in set(tokens) if token[:1] == "<"}
        chain: list[str] = []
        run = bytearray()
        for token in tokens:
            byte = bytes_.get(token)
            if byte is not None:
                run.append(byte)
                continue
            if run:
                chain += self._text(bytes(run))
                run.clear()
            chain.append(token)
        return chain + self._text(bytes(run))

    def byte_of(self, token: str) -> int | None:
        """Return the byte that a token stands for, or None.

        >>> ByteFallback().byte_of("<0xC3>"), ByteFallback().byte_of("a")
        (195, None)
        """
        any_number = self.quirks.byte_fallback_reads_any_number
        found = (_NUMBER_TOKEN if any_number else _BYTE_TOKEN).fullmatch(token)
        return int(found[1], 16) if found else None

    def _text(self, run: bytes) -> list[str]:
        """Return the strings that a run becomes; none for an empty one."""
        if not run:
            return []
        if self.errors != "replace" or not self.quirks.byte_fallback_all_or_nothing:
            return [bytes_to_text(run, self.errors)]
        try:
            return [run.decode("utf-8")]
        except UnicodeDecodeError:
            return [_REPLACEMENT] * len(run)


@dataclass(frozen=True)
class Metaspace:
    """Turns the replacement into spaces, but removes it from the first string.

    `prepend_scheme` is "always", "first" or "never"; with "never" nothing is removed. `split`
    means nothing here; nor do `add_prefix_space` and `str_rep`, which old files have.

    >>> Metaspace("▁").decode_chain(["▁a▁b", "▁c"])
    ['ab', ' c']
    """

    replacement: str = "▁"
    prepend_scheme: str = "always"
    split: bool = True
    add_prefix_space: InitVar[bool | None] = None
    str_rep: InitVar[str | None] = None

    def __post_init__(self, add_prefix_space: bool | None, str_rep: str | None) -> None:
        """Check the fields as the pre-tokenizer does, whose fields these are."""
        from bpe_ref.pre_tokenizers.metaspace import Metaspace as MetaspacePreTokenizer

        fields = (self.replacement, self.prepend_scheme, self.split)
        MetaspacePreTokenizer(*fields, add_prefix_space, str_rep)

    def decode_chain(self, tokens: Sequence[str]) -> list[str]:
        first = " " if self.prepend_scheme == "never" else ""
        return [
            token.replace(self.replacement, " " if number else first)
            for number, token in enumerate(tokens)
        ]


@dataclass(frozen=True)
class Replace:
    """Puts `content` for each match of a pattern, in each string by itself.

    >>> Replace(Literal("_"), " ").decode_chain(["a_b"])
    ['a b']
    """

    pattern: Literal | Regex
    content: str

    def __post_init__(self) -> None:
        """Check the fields as the normalizer does, whose fields these are."""
        _ = self._in_text

    def decode_chain(self, tokens: Sequence[str]) -> list[str]:
        if isinstance(self.pattern, Literal) and 0 < len(self.pattern.text) >= len(self.content):
            return [token.replace(self.pattern.text, self.content) for token in tokens]
        return list(map(self._in_text.normalize_text, tokens))

    @property
    def _in_text(self) -> "ReplaceText":
        """The normalizer that replaces the same in a text."""
        from bpe_ref.normalizers.replacing import Replace as ReplaceText

        return ReplaceText(self.pattern, self.content)


@dataclass(frozen=True)
class Fuse:
    """Joins all strings into one, so that the decoders after it see the whole.

    >>> Fuse().decode_chain(["a", "b"])
    ['ab']
    """

    def decode_chain(self, tokens: Sequence[str]) -> list[str]:
        return ["".join(tokens)]


@dataclass(frozen=True)
class Strip:
    """Removes `content`, a character, up to `start` times in front and `stop` times behind.

    >>> Strip("_", start=1, stop=1).decode_chain(["__a", "b_"])
    ['_a', 'b']
    """

    content: str
    start: int
    stop: int
    quirks: Quirks = HUGGING_FACE

    def __post_init__(self) -> None:
        """Raise `ParameterError` unless they are a character and two counts."""
        check_character("content", self.content)
        check_count("start", self.start)
        check_count("stop", self.stop)

    def decode_chain(self, tokens: Sequence[str]) -> list[str]:
        """Return the new list. Raises `DecodingError` for a string that is too short."""
        return list(map(self._strip, tokens))

    def _strip(self, token: str) -> str:
        leading = min(len(token) - len(token.lstrip(self.content)), self.start)
        trailing = len(token) - len(token.rstrip(self.content))
        reads_on = trailing == len(token) and self.stop > trailing
        trailing = min(trailing, self.stop)
        if self.quirks.short_strip_fails and (reads_on or leading + trailing > len(token)):
            raise DecodingError(
                f"Strip must be given tokens that are long enough to strip, got {token!r}"
            )
        return token[leading : max(len(token) - trailing, leading)]


@dataclass(frozen=True)
class BPEDecoder:
    """Turns the suffix that ends a word into a space, in the last string into nothing.

    >>> BPEDecoder("</w>").decode_chain(["a</w>", "b</w>"])
    ['a ', 'b']
    """

    suffix: str = "</w>"

    def __post_init__(self) -> None:
        """Raise `ParameterError` unless it is a text."""
        check_text("suffix", self.suffix)

    def decode_chain(self, tokens: Sequence[str]) -> list[str]:
        last = len(tokens) - 1
        return [
            token.replace(self.suffix, "" if number == last else " ")
            for number, token in enumerate(tokens)
        ]


@dataclass(frozen=True)
class WordPiece:
    """Puts a space before each string but the first, where it has no prefix to remove instead.

    With `cleanup`, spaces before punctuation and English contractions are taken out.

    >>> WordPiece("##", cleanup=True).decode_chain(["a", "##b", "c", "."])
    ['a', 'b', ' c', '.']
    """

    prefix: str = "##"
    cleanup: bool = True

    def __post_init__(self) -> None:
        """Raise `ParameterError` unless they are a text and a bool."""
        check_text("prefix", self.prefix)
        check_flag("cleanup", self.cleanup)

    def decode_chain(self, tokens: Sequence[str]) -> list[str]:
        chain = []
        for number, token in enumerate(tokens):
            if number:
                has_prefix = token.startswith(self.prefix)
                word = token.removeprefix(self.prefix) if has_prefix else f" {token}"
            else:
                word = token
            if self.cleanup:
                for old, new in CLEANUP:
                    word = word.replace(old, new)
            chain.append(word)
        return chain


DECODERS: Final[Mapping[str, type]] = {
    "Sequence": DecoderSequence,
    **by_name(ByteLevel, ByteFallback, Metaspace, Replace, Fuse, Strip, BPEDecoder, WordPiece),
}
"""The decoders by the format's type names. Their fields have the format's names."""
