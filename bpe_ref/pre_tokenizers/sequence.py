"""`Sequence`: one pre-tokenizer after the other.

Definition: each one cuts every piece that those before it made.

Source: pre_tokenizers/sequence.rs of Hugging Face tokenizers 0.23.3.

What the source leaves open: an empty sequence leaves the text as it is, one piece.

Text alone
    `cut_text` knows of a piece's place in the original only what its caller says. All components
    but one do with less; `Metaspace` with the scheme `first`, after another component, needs to
    know where each piece came from (`needs_alignment`). `cut_text` of such a sequence is right for
    a text that is its own original, because it goes the slow way. (`ByteLevel` differs too where a
    text `starts_with_insertion`: see there.)
"""

from collections.abc import Sequence as Many
from dataclasses import dataclass
from itertools import chain, repeat

from bpe_ref.aligned_text import AlignedText
from bpe_ref.components import Meeting, PreTokenizer, meet
from bpe_ref.errors import ParameterError
from bpe_ref.pre_tokenizers.metaspace import Metaspace


@dataclass(frozen=True)
class Sequence:
    """Applies pre-tokenizers in order.

    >>> from bpe_ref.pre_tokenizers.character_classes import Digits
    >>> from bpe_ref.pre_tokenizers.character_classes import WhitespaceSplit
    >>> Sequence([WhitespaceSplit(), Digits(individual_digits=False)]).cut_text("a12 b")
    ['a', '12', 'b']
    """

    pretokenizers: Many[PreTokenizer]

    def __post_init__(self) -> None:
        """Keep a tuple; raise an error unless it is a list of pre-tokenizers."""
        given: object = self.pretokenizers
        if not isinstance(given, list | tuple) or not all(
            callable(getattr(component, "cut_text", None)) for component in given
        ):
            raise ParameterError("pretokenizers", given, "must be a list of pre-tokenizers")
        object.__setattr__(self, "pretokenizers", tuple(given))

    def cut(self, text: AlignedText) -> list[AlignedText]:
        pieces = [text] if text.text else []
        for component in self.pretokenizers:
            pieces = [part for piece in pieces for part in component.cut(piece)]
        return pieces

    def cut_text(self, text: str, at_start: bool = True) -> list[str]:
        if needs_alignment(self):
            original = AlignedText.of(text if at_start else " " + text)
            return [
                piece.text for piece in self.cut(original.slice(not at_start, len(original.text)))
            ]
        pieces = [text] if text else []
        for component in self.pretokenizers:
            parts = map(component.cut_text, pieces, repeat(at_start))
            pieces = list(chain.from_iterable(parts))
        return pieces

    @property
    def reads_start(self) -> bool:
        """Whether the pieces depend on whether the original begins with the text."""
        return reads_start(self)

    def meeting(self, left: str, right: str) -> Meeting | None:
        return meet(self.pretokenizers, (left,), (right,))


def needs_alignment(pre_tokenizer: PreTokenizer | None) -> bool:
    """Return whether the pieces depend on which characters of the original the text stands for.

    >>> first = Metaspace("_", "first")
    >>> needs_alignment(first), needs_alignment(Sequence([Metaspace(), first]))
    (False, True)
    """
    if not isinstance(pre_tokenizer, Sequence):
        return False
    if any(needs_alignment(component) for component in pre_tokenizer.pretokenizers):
        return True
    return any(reads_start(component) for component in pre_tokenizer.pretokenizers[1:])


def reads_start(pre_tokenizer: PreTokenizer | None) -> bool:
    """Return whether the pieces depend on whether the original begins with the text.

    >>> reads_start(Metaspace()), reads_start(Metaspace("_", "first"))
    (False, True)
    """
    if isinstance(pre_tokenizer, Sequence):
        return any(map(reads_start, pre_tokenizer.pretokenizers))
    return isinstance(pre_tokenizer, Metaspace) and pre_tokenizer.prepend_scheme == "first"
