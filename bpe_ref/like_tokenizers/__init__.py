"""A facade shaped like the Python package `tokenizers` 0.23.3.

Change `import tokenizers` to `import bpe_ref.like_tokenizers as tokenizers`, and the reference
replaces the library: `Tokenizer`, `Encoding`, `AddedToken`, `Regex`, and the
components in `models`, `normalizers`, `pre_tokenizers`, `processors` and `decoders`.

Where it differs
    - Errors are `BpeError`s, all of which are `ValueError`s but for a few: the library raises
      `Exception`, `TypeError` and `OverflowError`, and panics.
    - Unknown keyword arguments are errors; the library prints a line and goes on.
    - Components are frozen, and have the methods of the reference: `normalize_text`, `cut_text`,
      `decode_chain`, `process_encodings`.
    - Not there: training, sampling from a Unigram model, the `async` methods, `from_pretrained`
      (which needs a network), the ready-made `implementations`, `NormalizedString` and
      `PreTokenizedString`, components written in Python, numpy arrays of other kinds of strings.
"""

from bpe_ref.like_tokenizers import decoders, models, normalizers, pre_tokenizers, processors
from bpe_ref.like_tokenizers.encodings import Encoding
from bpe_ref.like_tokenizers.tokenizer import Tokenizer
from bpe_ref.like_tokenizers.tokens import AddedToken
from bpe_ref.patterns import matches


def Regex(pattern: str) -> matches.Regex:  # noqa: N802 -- the library's name
    """Return a regular expression. Raises `PatternError` if it is not one.

    >>> Regex("a+").source
    'a+'
    """
    regex = matches.Regex(pattern)
    regex.compile()
    return regex


__all__ = [
    "AddedToken",
    "Encoding",
    "Regex",
    "Tokenizer",
    "decoders",
    "models",
    "normalizers",
    "pre_tokenizers",
    "processors",
]
