"""`BertNormalizer`: what BERT does to its texts.

Definition
    In this order: with `clean_text`, U+0000, U+FFFD and control characters are left out and white
    space becomes plain spaces; with `handle_chinese_chars`, each ideograph gets a space before and
    after it; with `strip_accents`, the text is put in NFD and its nonspacing marks are left out;
    with `lowercase`, capitals become small. Where `strip_accents` is None, it is as `lowercase`.

Source: normalizers/bert.rs of Hugging Face tokenizers 0.23.3.

What the source leaves open
    *Control characters* are the categories Cc, Cf and Co of Unicode 8, but for tab, line feed and
    carriage return: private letters vanish, and what is not assigned stays. So U+000B, U+000C and
    U+0085, which are both, vanish.
    *Ideographs* are eight ranges, that of U+2B740 to U+2B81F among them and U+2B820 to U+2B91F not.
    *Nonspacing marks* are of Unicode 8 too, where the Hanunoo vowel U+1734 still was one.
"""

from dataclasses import dataclass

from bpe_ref.aligned_text import AlignedText, Change
from bpe_ref.errors import ParameterError
from bpe_ref.normalizers.normalization_forms import NFD, to_form
from bpe_ref.normalizers.normalizer_tables import one_of
from bpe_ref.normalizers.rewriting import Lowercase, cleaned, lowercase, without
from bpe_ref.parameters import check_flag


@dataclass(frozen=True)
class BertNormalizer:
    r"""Clean text for BERT.

    >>> BertNormalizer().normalize_text("\u00c9t\u00e9\t\u4f60\x07")
    'ete  \u4f60 '
    """

    clean_text: bool = True
    handle_chinese_chars: bool = True
    strip_accents: bool | None = None
    lowercase: bool = True

    def __post_init__(self) -> None:
        """Raise `ParameterError` unless every flag is a bool."""
        for name in ("clean_text", "handle_chinese_chars", "lowercase"):
            check_flag(name, getattr(self, name))
        if not isinstance(self.strip_accents, bool | None):
            raise ParameterError("strip_accents", self.strip_accents, "must be a bool or None")

    def normalize(self, text: AlignedText) -> AlignedText:
        if self.clean_text:
            text = cleaned(text, one_of("BERT_REMOVED"), one_of("BERT_SPACES"))
        if self.handle_chinese_chars:
            text = _spaced(text)
        if self._strips_accents():
            text = without(NFD().normalize(text), one_of("BERT_ACCENTS"))
        return Lowercase().normalize(text) if self.lowercase else text

    def normalize_text(self, text: str) -> str:
        if self.clean_text:
            text = one_of("BERT_SPACES").sub(" ", one_of("BERT_REMOVED").sub("", text))
        if not text.isascii():
            if self.handle_chinese_chars:
                text = one_of("BERT_CHINESE").sub(r" \g<0> ", text)
            if self._strips_accents():
                text = one_of("BERT_ACCENTS").sub("", to_form("NFD", text))
        return lowercase(text) if self.lowercase else text

    def _strips_accents(self) -> bool:
        return self.lowercase if self.strip_accents is None else self.strip_accents


def _spaced(text: AlignedText) -> AlignedText:
    """Put spaces around ideographs: the space before takes the place, the rest is inserted."""
    ideographs = one_of("BERT_CHINESE")
    if not text.starts_with_insertion and not ideographs.search(text.text):
        return text
    changes: list[Change] = []
    for character in text.text:
        if ideographs.match(character):
            changes += [(" ", 0), (character, 1), (" ", 1)]
        else:
            changes.append((character, 0))
    return text.transform(changes)
