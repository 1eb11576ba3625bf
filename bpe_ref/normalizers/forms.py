"""`NFC`, `NFD`, `NFKC`, `NFKD`: the forms of `normalization_forms`.

Source: normalizers/unicode.rs of Hugging Face tokenizers 0.23.3.

What the source leaves open: nothing beyond `normalization_forms`. A text that
is in the form already keeps its ranges.
"""

from dataclasses import dataclass

from bpe_ref.aligned_text import AlignedText
from bpe_ref.components import Meeting
from bpe_ref.normalizers.normalization_forms import Form, form_changes, meeting_in_form, to_form


def _in_form(form: Form, text: AlignedText) -> AlignedText:
    if not text.starts_with_insertion and to_form(form, text.text) == text.text:
        return text
    return text.transform(form_changes(form, text.text))


@dataclass(frozen=True)
class NFC:
    """Canonical decomposition, then composition.

    >>> NFC().normalize(AlignedText.of("e\u0301a")).spans
    ((0, 1), (2, 3))
    """

    def normalize(self, text: AlignedText) -> AlignedText:
        """Return the text in the form."""
        return _in_form("NFC", text)

    def normalize_text(self, text: str) -> str:
        """Return the text only."""
        return to_form("NFC", text)

    def meeting(self, left: str, right: str) -> Meeting | None:
        """Return what the two characters become; see `components.Meeting`."""
        return meeting_in_form(self.normalize_text, left, right)


@dataclass(frozen=True)
class NFD:
    """Canonical decomposition.

    >>> NFD().normalize(AlignedText.of("\u00e9a")).spans
    ((0, 1), (0, 1), (1, 2))
    """

    def normalize(self, text: AlignedText) -> AlignedText:
        """Return the text in the form."""
        return _in_form("NFD", text)

    def normalize_text(self, text: str) -> str:
        """Return the text only."""
        return to_form("NFD", text)

    def meeting(self, left: str, right: str) -> Meeting | None:
        """Return what the two characters become; see `components.Meeting`."""
        return meeting_in_form(self.normalize_text, left, right)


@dataclass(frozen=True)
class NFKC:
    """Compatibility decomposition, then composition.

    >>> NFKC().normalize_text("\ufb01 \u00b2")
    'fi 2'
    """

    def normalize(self, text: AlignedText) -> AlignedText:
        """Return the text in the form."""
        return _in_form("NFKC", text)

    def normalize_text(self, text: str) -> str:
        """Return the text only."""
        return to_form("NFKC", text)

    def meeting(self, left: str, right: str) -> Meeting | None:
        """Return what the two characters become; see `components.Meeting`."""
        return meeting_in_form(self.normalize_text, left, right)


@dataclass(frozen=True)
class NFKD:
    """Compatibility decomposition.

    >>> NFKD().normalize_text("\u210c")
    'H'
    """

    def normalize(self, text: AlignedText) -> AlignedText:
        """Return the text in the form."""
        return _in_form("NFKD", text)

    def normalize_text(self, text: str) -> str:
        """Return the text only."""
        return to_form("NFKD", text)

    def meeting(self, left: str, right: str) -> Meeting | None:
        """Return what the two characters become; see `components.Meeting`."""
        return meeting_in_form(self.normalize_text, left, right)
