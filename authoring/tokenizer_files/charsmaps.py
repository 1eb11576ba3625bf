"""Write rewrite rules as SentencePiece does; `bpe_ref.normalizers.charsmap` has the format."""

import struct
from collections.abc import Mapping
from typing import Final

from bpe_ref.errors import VocabularyFileError

_BLOCK: Final = 256  # units that one byte can choose among
_HAS_LEAF: Final = 1 << 8
_OFFSET_SHIFT: Final = 10
_MOST_UNITS: Final = 1 << 21  # beyond, offsets must be scaled, which is not done here
_IS_VALUE: Final = 1 << 31


def _error(requirement: str, value: object) -> VocabularyFileError:
    return VocabularyFileError(f"precompiled_charsmap {requirement}, got {value}")


def compile_charsmap(rules: Mapping[str, str] | Mapping[bytes, str]) -> bytes:
    r"""Return the charsmap of these rules, as `Charsmap` reads it.

    A rule from a string stands for one from its UTF-8. Raises `VocabularyFileError` if a rule is
    from nothing, or has a NUL, or if there are too many (some 100,000).

    >>> from bpe_ref.normalizers.charsmap import Charsmap
    >>> rules = Charsmap(compile_charsmap({"a": "x", "ab": "yz"}))
    >>> rules.longest_match("cab", 1), rules.shortest_match("cab", 1), rules.longest_match("cab", 0)
    ((2, 'yz'), (1, 'x'), None)
    """
    replacements = b""
    places: dict[bytes, int] = {}
    for source, replacement in sorted((_to_bytes(source), to) for source, to in rules.items()):
        if not source or 0 in source or "\0" in replacement:
            raise _error("must have rules from something, without NUL", (source, replacement))
        places[source] = len(replacements)
        replacements += replacement.encode() + b"\0"
    units = _double_array(places)
    if len(units) > _MOST_UNITS:
        raise _error(f"must have rules for at most {_MOST_UNITS} units", len(units))
    return struct.pack(f"<{len(units) + 1}I", 4 * len(units), *units) + replacements


def _double_array(values: Mapping[bytes, int]) -> list[int]:
    """Return the units of a trie: each node takes the first base around which there is room.

    No two nodes share a base, else the children of one would be those of the other.
    """
    children: dict[bytes, list[int]] = {b"": []}
    for key in values:
        for end in range(1, len(key) + 1):
            if key[:end] not in children:
                children[key[:end]] = []
                children[key[: end - 1]].append(key[end - 1])
    units = [0] * _BLOCK
    taken, bases = {0}, {0}
    positions = {b"": 0}
    first_base = 1
    for prefix, labels in children.items():
        wanted = [*([0] if prefix in values else []), *labels]
        base = first_base
        while base in bases or not taken.isdisjoint([base ^ label for label in wanted]):
            base += 1
        if base - first_base > _BLOCK:
            first_base = base  # what is almost full is not searched again
        bases.add(base)
        taken.update(base ^ label for label in wanted)
        units += [0] * ((base | (_BLOCK - 1)) + 1 - len(units))
        units[positions[prefix]] |= (positions[prefix] ^ base) << _OFFSET_SHIFT
        if prefix in values:
            units[positions[prefix]] |= _HAS_LEAF
            units[base] = _IS_VALUE | values[prefix]
        for label in labels:
            positions[prefix + bytes([label])] = base ^ label
            units[base ^ label] |= label
    return units


def _to_bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text
