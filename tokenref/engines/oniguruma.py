"""Oniguruma's dialect, which the library tokenizers reads; the reference writes files in it too."""

from bpe_ref.errors import PatternError as UntranslatableError
from bpe_ref.patterns.to_oniguruma import asks_for_words, to_oniguruma

__all__ = ["UntranslatableError", "asks_for_words", "to_oniguruma"]
