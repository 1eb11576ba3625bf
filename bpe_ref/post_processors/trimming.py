"""White space taken out of the offsets of byte-level tokens.

Definition
    As many white characters as a token's string begins with, its offsets begin later; as many as
    it ends with, they end earlier. White are the letter Ġ of a space, and white space as it is.
    With `add_prefix_space`, one white character stays with the first token, or with one that
    begins at 0, for it was put there.

Source: `process_offsets` in pre_tokenizers/byte_level.rs of Hugging Face tokenizers 0.23.3.

What the source leaves open
    Offsets never cross: their start stays at most their old end, their end at least their start. An
    end that is less than the number of white characters stays. Parts of overflowing parts stay as
    they are.
"""

from dataclasses import replace
from functools import cache

from bpe_ref.aligned_text import Span
from bpe_ref.encoding import Encoding
from bpe_ref.patterns.unicode_tables import TABLES, to_ranges
from bpe_ref.vocabulary.byte_alphabet import LETTER_OF_BYTE


@cache
def _spaces() -> str:
    """Return white space and the letter of a space; read when it is first needed."""
    ranges = to_ranges(TABLES["unicode-16.0"].code_points("White_Space"))
    white = (chr(point) for first, last in ranges for point in range(first, last + 1))
    return "".join((*white, LETTER_OF_BYTE[0x20]))


def trim_offsets(encoding: Encoding, *, add_prefix_space: bool) -> Encoding:
    """Return an encoding and its parts with white space taken out of the offsets.

    >>> trim_offsets(Encoding.of([(0, "Ġa", (0, 2), 0)]), add_prefix_space=False).offsets
    ((1, 2),)
    """
    parts = (  # a part of a part stays as it is: the library looks no deeper
        replace(part, offsets=_trimmed(part, add_prefix_space)) for part in encoding.overflowing
    )
    offsets = _trimmed(encoding, add_prefix_space)
    return replace(encoding, offsets=offsets, overflowing=tuple(parts))


def _trimmed(encoding: Encoding, add_prefix_space: bool) -> tuple[Span, ...]:
    """Return the offsets of all tokens without white space."""
    return tuple(
        _trim_span(token, span, is_prefix=add_prefix_space and (number == 0 or span[0] == 0))
        for number, (token, span) in enumerate(zip(encoding.tokens, encoding.offsets, strict=True))
    )


def _trim_span(token: str, span: Span, *, is_prefix: bool) -> Span:
    """Return the characters of a token without its white space, as its string shows it."""
    start, end = span
    spaces = _spaces()
    leading = len(token) - len(token.lstrip(spaces))
    trailing = len(token) - len(token.rstrip(spaces))
    if leading and not (is_prefix and leading == 1):
        start = min(start + leading, end)
    if trailing and end >= trailing:
        end = max(end - trailing, start)
    return start, end
