"""Fill encodings up to a common length.

Definition
    The length is a fixed one, or that of the longest encoding, rounded up to a multiple. Shorter
    encodings get padding tokens on one side: no word, offsets (0, 0), special, no attention. An
    encoding that is longer stays as it is.

Source: `pad_encodings` in utils/padding.rs and `pad` in tokenizer/encoding.rs of Hugging Face
tokenizers 0.23.3.

What the source leaves open, and what it does unexpectedly
    - Overflowing parts are padded to the same length, which they do not take part in finding.
    - A multiple of 0 is no multiple: nothing is rounded.
    - A length beyond `LONGEST` is an error here: a file could ask for more than there is memory.
    - The library pads each encoding by itself first, then the batch: with "longest" both give the
      same, but to a fixed length that happens twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from bpe_ref.encoding import Encoding, merge
from bpe_ref.errors import ParameterError
from bpe_ref.parameters import check_choice, check_count, check_text
from bpe_ref.post_processors.truncation import DIRECTIONS
from bpe_ref.vocabulary.merges import TokenId

LONGEST: Final = 1 << 24
"""The greatest length that encodings are filled up to."""


@dataclass(frozen=True)
class Padding:
    """How a file, or a caller, wants encodings to be filled up.

    Attributes:
        length: the length of every encoding, the format's strategy `{"Fixed": length}`; None
            for that of the longest one, its strategy `"BatchLongest"`.
        direction: the side that is filled, one of `truncation.DIRECTIONS`.
        pad_to_multiple_of: what the length is rounded up to a multiple of.
        pad_id, pad_type_id, pad_token: what the padding is made of.

    >>> a = Encoding.of([(7, "a", (0, 1), 0)])
    >>> Padding(direction="Left", pad_to_multiple_of=2).pad([a])[0].ids
    (0, 7)

    """

    length: int | None = None
    direction: str = "Right"
    pad_to_multiple_of: int | None = None
    pad_id: TokenId = 0
    pad_type_id: int = 0
    pad_token: str = "[PAD]"  # noqa: S105 -- no secret

    def __post_init__(self) -> None:
        """Check the choices."""
        if self.length is not None:
            check_count("length", self.length)
        check_choice("direction", self.direction, DIRECTIONS)
        if self.pad_to_multiple_of is not None:
            check_count("pad_to_multiple_of", self.pad_to_multiple_of)
        check_count("pad_id", self.pad_id)
        check_count("pad_type_id", self.pad_type_id)
        check_text("pad_token", self.pad_token)

    def pad(self, encodings: Sequence[Encoding]) -> list[Encoding]:
        """Return the encodings of a batch, filled up to one length."""
        length = self.length
        if length is None:
            length = max(map(len, encodings), default=0)
        multiple = self.pad_to_multiple_of
        if multiple:
            length = -(-length // multiple) * multiple
        if length > LONGEST:
            raise ParameterError("the length to pad to", length, f"must be at most {LONGEST}")
        return [self.pad_to(encoding, length) for encoding in encodings]

    def pad_to(self, encoding: Encoding, length: int) -> Encoding:
        """Return one encoding and its overflowing parts, filled up to a length.

        >>> Padding().pad_to(Encoding(), 2).attention_mask
        (0, 0)
        """
        count = max(length - len(encoding), 0)
        fill = Encoding(
            ids=(self.pad_id,) * count,
            type_ids=(self.pad_type_id,) * count,
            tokens=(self.pad_token,) * count,
            words=(None,) * count,
            offsets=((0, 0),) * count,
            special_tokens_mask=(1,) * count,
            attention_mask=(0,) * count,
        )
        parts = tuple(self.pad_to(part, length) for part in encoding.overflowing)
        bare = replace(encoding, overflowing=())
        sides = [fill, bare] if self.direction == "Left" else [bare, fill]
        return replace(merge(sides), overflowing=parts)
