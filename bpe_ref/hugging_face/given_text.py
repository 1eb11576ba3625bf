"""What callers give as a text: checked, and free of surrogates.

Definition
    Two surrogates that make a pair are the character that they stand for. One
    alone is U+FFFD.

What the source leaves open: Hugging Face tokenizers 0.23.3 refuses a text with
surrogates. Here it means what it means to the rest of this package.
"""

from collections.abc import Sequence

from bpe_ref.errors import ParameterError

Text = str | Sequence[str]
"""A text, or its words."""


def without_surrogates(name: str, text: object) -> str:
    r"""Return the text with surrogate pairs joined and lone surrogates replaced by U+FFFD.

    Raises `ParameterError` for what is not text.

    >>> without_surrogates("text", "\ud83d!") == "\ufffd!"
    True
    """
    if not isinstance(text, str):
        raise ParameterError(name, text, "must be a str")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
