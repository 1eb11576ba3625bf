"""What the fields of a pre-tokenizer may hold; anything else is a `ParameterError`."""

from bpe_ref.errors import ParameterError


def check_flag(name: str, value: object) -> None:
    """Refuse what is not a bool.

    >>> check_flag("split", 1)
    Traceback (most recent call last):
    bpe_ref.errors.ParameterError: split must be a bool, got 1
    """
    if not isinstance(value, bool):
        raise ParameterError(name, value, "must be a bool")


def check_character(name: str, value: object) -> None:
    """Refuse what is not a single character.

    >>> check_character("delimiter", "--")
    Traceback (most recent call last):
    bpe_ref.errors.ParameterError: delimiter must be one character, got '--'
    """
    if not isinstance(value, str) or len(value) != 1:
        raise ParameterError(name, value, "must be one character")
