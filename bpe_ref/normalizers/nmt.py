"""`Nmt`: control characters are left out, and some others become spaces.

Source: `do_nmt` in normalizers/unicode.rs of Hugging Face tokenizers 0.23.3, after the rules that
SentencePiece calls nmt.

What the source leaves open: nothing; U+0000 stays, U+0085 and U+00A0 too.
"""

import re
from dataclasses import dataclass
from typing import Final

from bpe_ref.aligned_text import AlignedText
from bpe_ref.normalizers.rewriting import rewritten, without

_REMOVED: Final = re.compile("[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]")
_SPACES: Final = re.compile("[\t\n\x0c\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]")


@dataclass(frozen=True)
class Nmt:
    r"""Plain spaces, and no control characters.

    >>> Nmt().normalize_text("a\x07\tb\u2581")
    'a b '
    """

    def normalize(self, text: AlignedText) -> AlignedText:
        """Return the text cleaned."""
        kept = without(text, _REMOVED)
        if not kept.starts_with_insertion and not _SPACES.search(kept.text):
            return kept
        return rewritten(kept, lambda character: _SPACES.sub(" ", character))

    def normalize_text(self, text: str) -> str:
        """Return the text only."""
        return _SPACES.sub(" ", _REMOVED.sub("", text))
