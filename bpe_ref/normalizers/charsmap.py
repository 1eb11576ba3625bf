r"""Rewrite rules as SentencePiece writes them into a model: the `precompiled_charsmap`.

Definition
    A charsmap is a finite map from strings to strings. It is written as

    1. four bytes, little-endian: the size of the trie in bytes;
    2. the trie, a double array of 32-bit units, little-endian;
    3. the replacements, in UTF-8, each followed by a NUL.

    The trie maps the UTF-8 bytes of a string to the place of its replacement in part 3.

The trie (darts-clone, Susumu Yata, https://github.com/s-yata/darts-clone)
    A node is a position in the array and the unit there. The node's children lie around its base,
    which is `position ^ offset(unit)`: the child by byte `b` at `base ^ b`, if the unit there has
    the label `b`; the node's value at `base`, if the unit has a leaf (bit 8). Bits 0 to 7 are the
    label, bits 10 to 30 the offset, times 256 if bit 9 is set. A unit with bit 31 is a value.

Invariant
    Every node's children are in the array. A byte changes only the last eight bits of a position,
    so this holds if the block of 256 units around each base does: `Charsmap` checks that once, and
    a search needs no more checks. Each step of a search takes one byte, so it ends.

What the source leaves open
    NUL ends every search: no rule can hold one. A place that points into a replacement gives the
    rest of it.

Source: `Normalizer::DecodePrecompiledCharsMap` in src/normalizer.cc of google/sentencepiece 0.2.3;
the crate spm_precompiled of Hugging Face.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

from bpe_ref.errors import VocabularyError

_BLOCK: Final = 256  # units that one byte can choose among
_HAS_LEAF: Final = 1 << 8
_OFFSET_IS_SCALED: Final = 1 << 9
_OFFSET_SHIFT: Final = 10
_IS_VALUE: Final = 1 << 31
_LABEL: Final = _IS_VALUE | 0xFF
_INSIDE_A_CHARACTER: Final = 0x80  # in the first two bits of a byte of UTF-8
_MOST_RULES: Final = 1 << 18
_LONGEST_RULE: Final = 256  # in bytes; longer ones could go round in circles
_SIZE: Final = struct.Struct("<I")


class Changes(NamedTuple):
    """What rewrite rules may change where two characters meet."""

    pairs: frozenset[str]
    """Every two characters next to each other in what some rule is from."""

    lasts: Mapping[str, frozenset[str]]
    """By the last character of what rules are from, the last ones of what it becomes, or ""."""

    firsts: Mapping[str, frozenset[str]]
    """Likewise for the first characters."""


class Charsmap:
    r"""Rewrite rules, read and checked.

    Raises `VocabularyError` if the data is not a charsmap.

    The smallest one has a trie of 256 units. In this one the root's child by the byte of "a" is at
    0x61 (`0 ^ 0x61`), and its value at 1 (`0x61 ^ 0x60`).

    >>> units = {0x61: 0x60 << 10 | 1 << 8 | 0x61, 1: 1 << 31}
    >>> trie = struct.pack("<256I", *(units.get(unit, 0) for unit in range(256)))
    >>> rules = Charsmap(struct.pack("<I", len(trie)) + trie + b"x")
    >>> rules.longest_match("ca", 1), rules.longest_match("ca", 0)
    ((1, 'x'), None)
    >>> Charsmap(b"\x08\x00\x00\x00trie")
    Traceback (most recent call last):
    bpe_ref.errors.VocabularyError: precompiled_charsmap must hold a trie of 8 bytes, got 4
    """

    def __init__(self, data: bytes) -> None:
        if len(data) < _SIZE.size:
            raise _error("must have at least 4 bytes", len(data))
        (size,) = _SIZE.unpack_from(data)
        trie, self._replacements = data[_SIZE.size :][:size], data[_SIZE.size + size :]
        if len(trie) != size:
            raise _error(f"must hold a trie of {size} bytes", len(trie))
        if not size or size % (4 * _BLOCK):
            raise _error(f"must hold a trie of whole blocks of {4 * _BLOCK} bytes", size)
        try:
            self._replacements.decode()
        except UnicodeDecodeError as error:
            found = f"an error at byte {error.start} of them"
            raise _error("must have its replacements in UTF-8", found) from None
        self._units: Sequence[int] = struct.unpack(f"<{size // 4}I", trie)
        self._check()

    def _check(self) -> None:
        """Check the invariant, and that every value is a place in the replacements."""
        for position, unit in enumerate(self._units):
            if position and unit & _IS_VALUE:  # the root is a node in any case
                continue
            base = position ^ _offset(unit)
            if base >= len(self._units):
                raise _error(f"must have its {len(self._units)} units in the trie", base)
            if unit & _HAS_LEAF:
                place = self._units[base] & ~_IS_VALUE
                inside = self._replacements[place : place + 1]
                if not inside or inside[0] & 0xC0 == _INSIDE_A_CHARACTER:
                    raise _error("must have its values at replacements", place)

    def longest_match(self, text: str | bytes, start: int) -> tuple[int, str] | None:
        """Return length and replacement of the longest rule that matches at `start`, if any.

        Start and length are in characters for a string, in bytes for bytes. For a string, rules
        that end inside a character do not count.
        """
        found = None
        for found in self._matches(text, start):  # noqa: B007 -- the last one is wanted
            pass
        return found and (found[0], self._replacement(found[1]))

    def shortest_match(self, text: str | bytes, start: int) -> tuple[int, str] | None:
        """Return length and replacement of the shortest rule that matches at `start`, if any."""
        for length, place in self._matches(text, start):
            return length, self._replacement(place)
        return None

    def _matches(self, text: str | bytes, start: int) -> Iterator[tuple[int, int]]:
        """Yield length and place of the replacement, by rising length."""
        units = self._units
        node = _offset(units[0])  # the base of the root, which is at position 0
        for at in range(start, len(text)):
            unit = 0
            for byte in text[at].encode() if isinstance(text, str) else (text[at],):
                unit = units[node ^ byte]
                if not byte or unit & _LABEL != byte:
                    return
                node ^= byte ^ _offset(unit)
            if unit & _HAS_LEAF:
                yield at + 1 - start, units[node] & ~_IS_VALUE

    def _replacement(self, place: int) -> str:
        end = self._replacements.find(b"\0", place)
        return self._replacements[place : end if end >= 0 else None].decode()

    @cached_property
    def changes(self) -> "Changes | None":
        """What the rules change at the ends of texts; None if there are too many rules."""
        pairs: set[str] = set()
        lasts: dict[str, set[str]] = {}
        firsts: dict[str, set[str]] = {}
        for number, (source, place) in enumerate(self._rules()):
            if number >= _MOST_RULES:
                return None
            try:
                text = source.decode()
            except UnicodeDecodeError:
                continue  # it would end inside a character, so it matches no text
            replacement = self._replacement(place)
            pairs.update(a + b for a, b in pairwise(text))
            lasts.setdefault(text[-1], set()).add(replacement[-1:])
            firsts.setdefault(text[0], set()).add(replacement[:1])
        return Changes(
            frozenset(pairs),
            {character: frozenset(found) for character, found in lasts.items()},
            {character: frozenset(found) for character, found in firsts.items()},
        )

    def _rules(self) -> Iterator[tuple[bytes, int]]:
        """Yield each rule: the bytes it is from, and the place of its replacement."""
        units = self._units
        labels: dict[int, list[int]] = {}  # of the children of each node, by its base
        for position, unit in enumerate(units):
            byte = unit & 0xFF
            if byte and unit & _LABEL == byte:
                labels.setdefault(position ^ byte, []).append(byte)
        waiting = [(b"", _offset(units[0]))]
        while waiting:
            source, base = waiting.pop()
            if len(source) >= _LONGEST_RULE:
                continue
            for byte in labels.get(base, ()):
                unit = units[base ^ byte]
                node = base ^ byte ^ _offset(unit)
                if unit & _HAS_LEAF:
                    yield source + bytes([byte]), units[node] & ~_IS_VALUE
                waiting.append((source + bytes([byte]), node))


def _offset(unit: int) -> int:
    offset = (unit & ~_IS_VALUE) >> _OFFSET_SHIFT
    return offset * _BLOCK if unit & _OFFSET_IS_SCALED else offset


def _error(requirement: str, value: object) -> VocabularyError:
    return VocabularyError(f"precompiled_charsmap {requirement}, got {value}")
