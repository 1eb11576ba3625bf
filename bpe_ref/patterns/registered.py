r"""The published patterns of well-known tokenizers, one alternative a line, each explained.

An alternative is tried only if those before it do not match at that place. All patterns match
every text completely: the last alternatives take the white space that is left.

Sources
    gpt2, cl100k, o200k: openai/tiktoken 0.14.0, `tiktoken_ext/openai_public.py`. voyage3:
    github/rust-gems a7aecfb97c96, `crates/bpe-openai/src/lib.rs`. llama3, tekken: the
    `tokenizer.json` files of their makers, in Oniguruma's dialect.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True)
class PublishedPattern:
    r"""A pattern, as alternatives with explanations.

    >>> PATTERNS["gpt2"].alternatives[1]
    (' ?\\p{L}++', 'letters, with the space before them')
    """

    alternatives: tuple[tuple[str, str], ...]

    @property
    def source(self) -> str:
        """The pattern as it was published."""
        return "|".join(source for source, _ in self.alternatives)


_CONTRACTION: Final = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_UPPER: Final = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER: Final = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_NOT_A_WORD: Final = r"[^\r\n\p{L}\p{N}]?"
_WHITE_SPACE: Final = (
    (r"\s*[\r\n]+", "white space up to its last line end"),
    (r"\s+(?!\S)", "white space but for its last character, which belongs to the next word"),
    (r"\s+", "white space that is left: one character before a word"),
)

PATTERNS: Final[Mapping[str, PublishedPattern]] = MappingProxyType(
    {
        "gpt2": PublishedPattern(
            (
                (r"'(?:[sdmt]|ll|ve|re)", "an English contraction: 's, 'll, ..., in small letters"),
                (r" ?\p{L}++", "letters, with the space before them"),
                (r" ?\p{N}++", "digits and other numbers, with the space before them"),
                (r" ?[^\s\p{L}\p{N}]++", "anything else but white space, with the space before it"),
                (r"\s++$", "white space at the end of the text"),
                (r"\s+(?!\S)", "white space but for its last character, before something else"),
                (r"\s", "that last character, if nothing took it"),
            )
        ),
        "cl100k": PublishedPattern(
            (
                (r"'(?i:[sdmt]|ll|ve|re)", "an English contraction, in small or capital letters"),
                (r"[^\r\n\p{L}\p{N}]?+\p{L}++", "letters, a space, symbol or mark before them"),
                (r"\p{N}{1,3}+", "up to three digits"),
                (r" ?[^\s\p{L}\p{N}]++[\r\n]*+", "symbols, marks, a space before, line ends after"),
                (r"\s++$", "white space at the end of the text"),
                (r"\s*[\r\n]", "white space up to its last line end"),
                (r"\s+(?!\S)", "white space but for its last character, before something else"),
                (r"\s", "that last character, if nothing took it"),
            )
        ),
        "o200k": PublishedPattern(
            (
                (
                    f"{_NOT_A_WORD}{_UPPER}*{_LOWER}+{_CONTRACTION}?",
                    "a word that ends in small letters, one symbol before it, a contraction behind",
                ),
                (
                    f"{_NOT_A_WORD}{_UPPER}+{_LOWER}*{_CONTRACTION}?",
                    "a word in capital letters, likewise",
                ),
                (r"\p{N}{1,3}", "up to three digits"),
                (r" ?[^\s\p{L}\p{N}]+[\r\n/]*", "symbols, a space before, line ends and / behind"),
                *_WHITE_SPACE,
            )
        ),
        "voyage3": PublishedPattern(
            (
                # Three patterns in the source, the second one with its last character put back;
                # `\s+$`, `\s+\s`, `\s+` so read are `\s+(?!\S)|\s+`.
                (_CONTRACTION, "an English contraction"),
                (_NOT_A_WORD + r"\p{L}+", "letters, a space, symbol or mark before them"),
                (r"\p{N}", "one digit"),
                (r" ?[^\s\p{L}\p{N}]+[\r\n]*", "symbols, marks, a space before, line ends after"),
                *_WHITE_SPACE,
            )
        ),
        "llama3": PublishedPattern(
            (
                (_CONTRACTION, "an English contraction"),
                (_NOT_A_WORD + r"\p{L}+", "letters, a space, symbol or mark before them"),
                (r"\p{N}{1,3}", "up to three digits"),
                (r" ?[^\s\p{L}\p{N}]+[\r\n]*", "symbols, marks, a space before, line ends after"),
                *_WHITE_SPACE,
            )
        ),
        "tekken": PublishedPattern(
            (
                (f"{_NOT_A_WORD}{_UPPER}*{_LOWER}+", "a word that ends in small letters"),
                (f"{_NOT_A_WORD}{_UPPER}+{_LOWER}*", "a word in capital letters"),
                (r"\p{N}", "one digit"),
                (r" ?[^\s\p{L}\p{N}]+[\r\n/]*", "symbols, a space before, line ends and / behind"),
                *_WHITE_SPACE,
            )
        ),
    }
)
"""Every published pattern by a short name."""
