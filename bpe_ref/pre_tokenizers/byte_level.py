r"""`ByteLevel`: cut as GPT-2 does, and write each byte as a letter.

Definition
    1. If `add_prefix_space`, prepend a space, unless the text is empty or starts with one.
    2. If `use_regex`, cut with GPT-2's pattern: each match is a piece. It matches every text
       completely.
    3. Write each character of each piece as the letters of its UTF-8 bytes (`byte_alphabet`). All
       of them stand for the character.

    `trim_offsets` is for the post-processor of the same name.

Source: pre_tokenizers/byte_level.rs of Hugging Face tokenizers 0.23.3; the pattern is that of
encoder.py of OpenAI's gpt-2 (2019).

What the source leaves open
    *Tables*: the library's regular expressions are Oniguruma's, of Unicode 16.0.
    *In a `Sequence`*, step 1 applies to every piece, not to the first only.

Where the engine differs
    A normalizer may insert text before everything, where no character of the original is near: a
    `Replace` with a pattern that matches the empty text, as `^` does. The library panics at the
    letters of such a text, or, where the inserted text is a piece of its own, writes it twice: as
    letters, and again as it was. `cut` does as `AlignedText.transform` does there; `cut_text`,
    which does not know, writes it as letters, once.
"""

from dataclasses import dataclass
from itertools import accumulate, chain, pairwise, repeat
from typing import Final

from bpe_ref.aligned_text import AlignedText, Change
from bpe_ref.components import Meeting
from bpe_ref.parameters import check_flag
from bpe_ref.pre_tokenizers.pattern import Pattern
from bpe_ref.vocabulary.byte_alphabet import to_letters

GPT2_PATTERN: Final = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

_GPT2: Final = Pattern(GPT2_PATTERN, "unicode-16.0-oniguruma")


@dataclass(frozen=True)
class ByteLevel:
    """Cuts as GPT-2 does and writes bytes as letters.

    >>> ByteLevel(add_prefix_space=True, trim_offsets=True).cut_text("né it's")
    ['ĠnÃ©', 'Ġit', "'s"]
    """

    add_prefix_space: bool = True
    trim_offsets: bool = True
    use_regex: bool = True

    writes_letters = True

    def __post_init__(self) -> None:
        """Raise `ParameterError` unless every flag is a bool."""
        check_flag("add_prefix_space", self.add_prefix_space)
        check_flag("trim_offsets", self.trim_offsets)
        check_flag("use_regex", self.use_regex)

    def cut(self, text: AlignedText) -> list[AlignedText]:
        if self.add_prefix_space and not text.text.startswith(" "):
            text = text.prepend(" ")
        if not self.use_regex:
            return [write_aligned(text)] if text.text else []
        ends = accumulate(map(len, _GPT2.cut_text(text.text)), initial=0)
        return [write_aligned(text.slice(start, end)) for start, end in pairwise(ends)]

    def cut_text(self, text: str, at_start: bool = True) -> list[str]:
        return [to_letters(piece.encode()) for piece in self.plain_pieces(text)]

    def plain_pieces(self, text: str) -> list[str]:
        """Return the pieces' texts before their bytes are written as letters.

        Whoever keeps the tokens of pieces seen before needs the letters of new ones only.

        >>> ByteLevel(add_prefix_space=False, trim_offsets=True).plain_pieces("né it's")
        ['né', ' it', "'s"]
        """
        if self.add_prefix_space and text and not text.startswith(" "):
            text = " " + text
        if self.use_regex:
            return _GPT2.cut_text(text)
        return [text] if text else []

    def meeting(self, left: str, right: str) -> Meeting | None:
        if self.use_regex:
            borders = _GPT2.borders
            if borders is None or not borders.is_border(left, right):
                return None
        last, first = to_letters(left.encode())[-1], to_letters(right.encode())[0]
        alone = not self.add_prefix_space or right == " "
        return Meeting(frozenset(last), frozenset(first), self.use_regex, alone)


def write_aligned(text: AlignedText) -> AlignedText:
    """Return the text with each character written as the letters of its bytes.

    >>> write_aligned(AlignedText.of("é!")).spans
    ((0, 1), (0, 1), (1, 2))
    """
    if text.starts_with_insertion:  # the engine has rules of its own
        changes: list[Change] = []
        for character in text.text:
            letters = to_letters(character.encode())
            changes += [(letter, int(number > 0)) for number, letter in enumerate(letters)]
        return text.transform(changes)
    spans = text.spans
    if not text.text.isascii():
        lengths = (len(character.encode()) for character in text.text)
        spans = tuple(chain.from_iterable(map(repeat, spans, lengths)))
    return AlignedText(to_letters(text.text.encode()), spans, text.start, text.end)
