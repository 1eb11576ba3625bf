r"""A few texts that stand for all, as far as a pattern can tell what follows.

A pattern sees of a character only which of its sets hold it (see `stand_ins`).
So the code points fall into classes that it cannot tell apart, and one
character of each class stands for the whole class. Where a piece ends may
depend on what comes after it; to see how, it is enough to try one character of
every class, and each word that the pattern spells letter by letter ("ll" and
"ve" of the contractions); and after white space, whose runs give their last
character away to what follows, every two characters.

What this leaves open
    A pattern may look further than that. The registry's patterns do not; for
    others the witnesses are a sample.
    *Bytes the vocabulary lacks*: a character with such a byte stands for no one.
"""

import re
from dataclasses import dataclass
from itertools import product
from typing import Final

from bpe_ref.decoders.utf8_stream import length_from
from bpe_ref.patterns.rust import parse
from bpe_ref.patterns.unicode_tables import EVERY_CODE_POINT, TABLES, CodePoints, to_ranges
from bpe_ref.vocabulary import Vocabulary

_ESCAPE = re.compile(r"\\[pP]\{[^}]*\}|\\.", re.DOTALL)
_WORD = re.compile(r"[A-Za-z]{2,}")
_SURROGATES: CodePoints = ((1 << 0x800) - 1) << 0xD800
WHITE: Final = tuple(
    map(
        str.encode,
        "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
        "\u200a\u2028\u2029\u202f\u205f\u3000",
    )
)
"""Every character that is White_Space in Unicode, as bytes; the same for many years."""

_NO_TEXT = 0x80  # the first byte that alone is no character


@dataclass(frozen=True)
class Witnesses:
    """What may follow a text, one of each kind, as bytes; see `witnesses`."""

    general: tuple[bytes, ...]
    """Nothing; one character of each class; the words; a byte that is no text."""

    pairs: tuple[bytes, ...]
    """Two characters, of each class each."""

    classes: tuple[CodePoints, ...]
    """The code points by class."""

    symbols: frozenset[int]
    """The bytes that the vocabulary can encode."""

    def after(self, data: bytes) -> tuple[bytes, ...]:
        r"""Return what may follow these bytes; where they stop inside a character, its rest too.

        >>> from bpe_ref import TextRules, vocabulary_by_concatenation
        >>> ranks = {bytes([byte]): byte for byte in range(256)}
        >>> known = witnesses(vocabulary_by_concatenation(ranks, text=TextRules(r"\p{L}+|é|.")))
        >>> [bytes([0xC3]) + rest for rest in known.after(b"\xc3")[-3:]] == [
        ...     content.encode() for content in "éÀ\xd7"
        ... ]
        True
        """
        part = incomplete_end(data)
        if not part:
            return self.general + self.pairs if data.endswith(WHITE) else self.general
        missing = length_from(part[0]) - len(part)
        least = _least(part, missing)
        reach = ((1 << (1 << 6 * missing)) - 1) << least
        found = (_first_of(members & reach, self.symbols) for members in self.classes)
        return self.general + tuple(
            character[len(part) :] for character in found if character is not None
        )


def witnesses(vocabulary: Vocabulary) -> Witnesses:
    r"""Return what may follow. Use it through `vocabulary.remember`.

    >>> from bpe_ref import TextRules, vocabulary_by_concatenation
    >>> ranks = {bytes([byte]): byte for byte in range(128)}
    >>> rules = TextRules(r"'ll|\d+|\s")
    >>> witnesses(vocabulary_by_concatenation(ranks, text=rules)).general
    (b'', b"'", b'l', b'0', b'\t', b'\x00', b'll')
    """
    symbols = frozenset(map(ord, vocabulary.symbol_of_letter))
    if vocabulary.text.pattern is None:
        return Witnesses((b"",), (), (EVERY_CODE_POINT & ~_SURROGATES,), symbols)
    classes = _classes(vocabulary)
    found = [_first_of(members, symbols) for members in classes]
    characters = [character for character in found if character is not None]
    spelled = _WORD.findall(_ESCAPE.sub(" ", vocabulary.text.pattern))
    words = [word.encode() for word in spelled if symbols.issuperset(word.encode())]
    no_text = [bytes([byte]) for byte in sorted(symbols) if byte >= _NO_TEXT][:1]
    general = tuple(dict.fromkeys([b"", *characters, *words, *no_text]))
    pairs = tuple(map(b"".join, product(characters, repeat=2)))
    return Witnesses(general, pairs, classes, symbols)


def _classes(vocabulary: Vocabulary) -> tuple[CodePoints, ...]:
    """Return the classes of characters that the pattern cannot tell apart."""
    table = TABLES[vocabulary.text.tables]
    classes = [EVERY_CODE_POINT & ~_SURROGATES]
    for part in parse(vocabulary.text.pattern or "", table):
        if not isinstance(part, str):
            members = part(table)
            halves = ((one & members, one & ~members) for one in classes)
            classes = [half for both in halves for half in both if half]
    return tuple(classes)


def _first_of(members: CodePoints, symbols: frozenset[int]) -> bytes | None:
    """Return the first character of a class whose bytes are all symbols, or None."""
    for first, last in to_ranges(members):
        for code_point in range(first, last + 1):
            content = chr(code_point).encode()
            if symbols.issuperset(content):
                return content
    return None


def _least(part: bytes, missing: int) -> int:
    """Return the first code point whose bytes begin with `part`."""
    length = len(part) + missing
    value = part[0] & (0xFF >> (length + 1))
    for byte in part[1:]:
        value = value << 6 | byte & 0x3F
    return value << 6 * missing


def incomplete_end(data: bytes) -> bytes:
    r"""Return the beginning of a character that UTF-8 text stops in; b"" if there is none.

    >>> incomplete_end(b"a\xe2\x82"), incomplete_end(b"a"), incomplete_end(b"\xff\xe2\x82")
    (b'\xe2\x82', b'', b'')
    """
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            return data[error.start :]
    return b""
