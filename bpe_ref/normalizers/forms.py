"""`NFC`, `NFD`, `NFKC`, `NFKD`: the forms of `normalization_forms`.

Source: normalizers/unicode.rs of Hugging Face tokenizers 0.23.3.

What the source leaves open: nothing beyond `normalization_forms`. A text that
is in the form already keeps its ranges.
"""

from dataclasses import dataclass
from typing import cast

from bpe_ref.aligned_text import AlignedText
from bpe_ref.components import Meeting
from bpe_ref.normalizers.normalization_forms import Form, form_changes, meeting_in_form, to_form


@dataclass(frozen=True)
class _InForm:
    """What the four have in common; only the form differs."""

    @property
    def form(self) -> Form:
        """The name of the form, which is that of the class."""
        return cast("Form", type(self).__name__)

    def normalize(self, text: AlignedText) -> AlignedText:
        """Return the text in the form."""
        if not text.starts_with_insertion and self.normalize_text(text.text) == text.text:
            return text
        return text.transform(form_changes(self.form, text.text))

    def normalize_text(self, text: str) -> str:
        """Return the text only."""
        return to_form(self.form, text)

    def meeting(self, left: str, right: str) -> Meeting | None:
        """Return what the two characters become; see `components.Meeting`."""
        return meeting_in_form(self.normalize_text, left, right)


class NFC(_InForm):
    """Canonical decomposition, then composition.

    >>> NFC().normalize(AlignedText.of("e\u0301a")).spans
    ((0, 1), (2, 3))
    """


class NFD(_InForm):
    """Canonical decomposition.

    >>> NFD().normalize(AlignedText.of("\u00e9a")).spans
    ((0, 1), (0, 1), (1, 2))
    """


class NFKC(_InForm):
    """Compatibility decomposition, then composition.

    >>> NFKC().normalize_text("\ufb01 \u00b2")
    'fi 2'
    """


class NFKD(_InForm):
    """Compatibility decomposition.

    >>> NFKD().normalize_text("\u210c")
    'H'
    """
