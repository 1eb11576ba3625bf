r"""Normalizers that rewrite each character by itself: `Lowercase`, `Nmt`, `ByteLevel`.

Definition
    `Lowercase` makes every capital its small letter, `Nmt` leaves out control characters and makes
    plain spaces of some others, and `ByteLevel` writes every byte of the UTF-8 as its letter
    (`byte_alphabet`).

Source: normalizers/utils.rs, unicode.rs (`do_nmt`, after the rules that SentencePiece calls nmt)
and byte_level.rs of Hugging Face tokenizers 0.23.3. Capitals are those of `char::to_lowercase` in
the Rust standard library, which follows Unicode 17.0: 1,488 of them.

What the source leaves open
    *Context*: none is looked at. A capital sigma at the end of a word becomes
    `\u03c3`, where Python's `str.lower` writes `\u03c2`. *Lengths*: only U+0130 becomes two
    characters, `i` and U+0307. `Nmt` keeps U+0000, U+0085 and U+00A0.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bpe_ref.aligned_text import AlignedText, Change
from bpe_ref.components import Meeting
from bpe_ref.normalizers.normalizer_tables import lowercase_table
from bpe_ref.vocabulary.byte_alphabet import to_letters

_REMOVED: Final = re.compile("[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]")
_SPACES: Final = re.compile("[\t\n\x0c\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]")


def rewritten(text: AlignedText, rewrite: Callable[[str], str]) -> AlignedText:
    """Return the text with each character rewritten, never to nothing.

    If a character becomes several, the first one replaces it and the others are inserted.

    >>> rewritten(AlignedText.of("ab"), lambda character: character * 2).spans
    ((0, 1), (0, 1), (1, 2), (1, 2))
    """
    return text.transform(
        [
            (part, min(index, 1))
            for character in text.text
            for index, part in enumerate(rewrite(character))
        ]
    )


def without(text: AlignedText, unwanted: re.Pattern[str]) -> AlignedText:
    """Return the text without the characters that the pattern matches, each one alone.

    >>> import re
    >>> without(AlignedText.of("-a-b"), re.compile("-")).spans
    ((1, 2), (3, 4))
    """
    if not text.starts_with_insertion and not unwanted.search(text.text):
        return text
    changes: list[Change] = []
    removed_first = removed = 0
    for character in text.text:
        if unwanted.match(character):
            removed += 1
            continue
        if changes:
            changes[-1] = (changes[-1][0], -removed)
        else:
            removed_first = removed
        removed = 0
        changes.append((character, 0))
    if changes:
        changes[-1] = (changes[-1][0], -removed)
    return text.transform(changes, removed_first)


def cleaned(text: AlignedText, unwanted: re.Pattern[str], spaces: re.Pattern[str]) -> AlignedText:
    """Return the text without unwanted characters, and with plain spaces for some others.

    >>> import re
    >>> cleaned(AlignedText.of("-a_"), re.compile("-"), re.compile("_")).text
    'a '
    """
    kept = without(text, unwanted)
    if not kept.starts_with_insertion and not spaces.search(kept.text):
        return kept
    return rewritten(kept, lambda character: spaces.sub(" ", character))


def lowercase(text: str) -> str:
    """Return the text in small letters.

    >>> lowercase("\u039f\u03a3") == "\u03bf\u03c3"
    True
    """
    return text.lower() if text.isascii() else text.translate(lowercase_table())


@dataclass(frozen=True)
class Lowercase:
    """Small letters.

    >>> Lowercase().normalize(AlignedText.of("\u0130B")).spans
    ((0, 1), (0, 1), (1, 2))
    """

    def normalize(self, text: AlignedText) -> AlignedText:
        if not text.starts_with_insertion and lowercase(text.text) == text.text:
            return text
        return rewritten(text, lowercase)

    def normalize_text(self, text: str) -> str:
        return lowercase(text)

    def meeting(self, left: str, right: str) -> Meeting:
        return Meeting(frozenset(lowercase(left)[-1]), frozenset(lowercase(right)[0]))


@dataclass(frozen=True)
class Nmt:
    r"""Plain spaces, and no control characters.

    >>> Nmt().normalize_text("a\x07\tb\u2581")
    'a b '
    """

    def normalize(self, text: AlignedText) -> AlignedText:
        return cleaned(text, _REMOVED, _SPACES)

    def normalize_text(self, text: str) -> str:
        return _SPACES.sub(" ", _REMOVED.sub("", text))


@dataclass(frozen=True)
class ByteLevel:
    """Letters for bytes.

    >>> ByteLevel().normalize(AlignedText.of("\u00e9 ")).text
    '\u00c3\u00a9\u0120'
    """

    writes_letters = True

    def normalize(self, text: AlignedText) -> AlignedText:
        return rewritten(text, lambda character: to_letters(character.encode()))

    def normalize_text(self, text: str) -> str:
        return to_letters(text.encode())

    def meeting(self, left: str, right: str) -> Meeting:
        last, first = to_letters(left.encode())[-1], to_letters(right.encode())[0]
        return Meeting(frozenset(last), frozenset(first))
