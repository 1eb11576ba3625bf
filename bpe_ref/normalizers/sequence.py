"""`Sequence`: normalizers one after the other.

Source: normalizers/utils.rs of Hugging Face tokenizers 0.23.3.

What the source leaves open: nothing; an empty sequence changes nothing.
"""

from dataclasses import dataclass
from functools import cached_property

from bpe_ref.aligned_text import AlignedText
from bpe_ref.components import Meeting, Normalizer, meet
from bpe_ref.errors import ParameterError


@dataclass(frozen=True)
class Sequence:
    """Normalizers, applied in order.

    >>> from bpe_ref.normalizers.normalization_forms import NFD
    >>> from bpe_ref.normalizers.stripping import StripAccents
    >>> Sequence((NFD(), StripAccents())).normalize_text("\u00e9")
    'e'
    """

    normalizers: tuple[Normalizer, ...]

    def __post_init__(self) -> None:
        """Raise `ParameterError` unless it is a tuple."""
        if not isinstance(self.normalizers, tuple):
            raise ParameterError("normalizers", self.normalizers, "must be a tuple")

    @cached_property
    def may_insert_first(self) -> bool:
        """Whether the first character can come to stand for nothing."""
        return any(getattr(step, "may_insert_first", False) for step in self.normalizers)

    def normalize(self, text: AlignedText) -> AlignedText:
        for step in self.normalizers:
            text = step.normalize(text)
        return text

    def normalize_text(self, text: str) -> str:
        """Return the text only.

        What stands for nothing decides in the engine about the text too, see `AlignedText`.
        """
        if self.may_insert_first:
            return self.normalize(AlignedText.of(text)).text
        for step in self.normalizers:
            text = step.normalize_text(text)
        return text

    def meeting(self, left: str, right: str) -> Meeting | None:
        return meet(self.normalizers, (left,), (right,))
