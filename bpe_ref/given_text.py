"""What callers give as a text: checked, and free of surrogates.

Definition
    Two surrogates that make a pair are the character that they stand for. One alone is U+FFFD.

Source: tiktoken 0.14.0, `Encoding.encode` (tiktoken/core.py). Hugging Face tokenizers 0.23.3 and
sentencepiece 0.2.3 refuse a text with surrogates. Here it means the same everywhere.
"""

from bpe_ref.errors import ParameterError


def without_surrogates(text: object, name: str = "text") -> str:
    r"""Return the text with surrogate pairs joined and lone surrogates replaced by U+FFFD.

    Raises `ParameterError`, which calls it `name`, for what is not text.

    >>> without_surrogates("\ud83d\ude00 \ud83d!") == "\U0001f600 \ufffd!"
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


def places_in(text: str) -> list[int]:
    r"""Return where each character of the joined text begins in the given text, and its end.

    >>> places_in("\ud83d\ude00 \ud83d!")
    [0, 2, 3, 4, 5]
    """
    places: list[int] = []
    at = 0
    while at < len(text):
        places.append(at)
        is_pair = "\ud800" <= text[at] <= "\udbff" and "\udc00" <= text[at + 1 : at + 2] <= "\udfff"
        at += 2 if is_pair else 1
    return [*places, len(text)]


def any_surrogate(text: str) -> bool:
    r"""Return whether there is any surrogate, in a pair or not.

    >>> any_surrogate("a"), any_surrogate("\ud83d")
    (False, True)
    """
    return any("\ud800" <= character <= "\udfff" for character in text)
