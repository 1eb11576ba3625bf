"""What the parameters of components may be; anything else is a `ParameterError`."""

from operator import index

from bpe_ref.errors import ParameterError, shown


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise `ParameterError` unless the value is one of the choices.

    >>> check_choice("direction", "Right", ("Right", "Left"))
    """
    if value not in choices:
        raise ParameterError(name, value, f"must be one of {', '.join(choices)}")


def check_count(name: str, value: object, least: int = 0) -> None:
    """Raise `ParameterError` unless the value is a whole number of at least that size.

    >>> check_count("stride", 0)
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ParameterError(name, value, f"must be a whole number of at least {shown(least)}")


def as_count(name: str, value: object, least: int = 0) -> int:
    """Return a whole number of any type, such as one of numpy, as an int.

    Raises `ParameterError` for anything else, such as a bool, and for a number below `least`.

    >>> as_count("most", 3)
    3
    """
    if isinstance(value, bool) or not hasattr(value, "__index__") or index(value) < least:
        raise ParameterError(name, value, f"must be a whole number of at least {shown(least)}")
    return index(value)


def check_index(name: str, value: object, most: int) -> int:
    """Return a whole number from 0 to `most` as an int; raise `ParameterError` for anything else.

    >>> check_index("length", 3, 2)
    Traceback (most recent call last):
    bpe_ref.errors.ParameterError: length must be an int in [0, 2], got 3
    """
    if isinstance(value, bool) or not hasattr(value, "__index__") or not 0 <= index(value) <= most:
        raise ParameterError(name, value, f"must be an int in [0, {shown(most)}]")
    return index(value)


def check_text(name: str, value: object) -> None:
    """Raise `ParameterError` unless the value is a text.

    >>> check_text("suffix", "</w>")
    """
    if not isinstance(value, str):
        raise ParameterError(name, value, "must be a str")


def check_flag(name: str, value: object) -> None:
    """Raise `ParameterError` unless the value is a bool.

    >>> check_flag("split", 1)
    Traceback (most recent call last):
    bpe_ref.errors.ParameterError: split must be a bool, got 1
    """
    if not isinstance(value, bool):
        raise ParameterError(name, value, "must be a bool")


def check_character(name: str, value: object) -> None:
    """Raise `ParameterError` unless the value is a single character.

    >>> check_character("delimiter", "--")
    Traceback (most recent call last):
    bpe_ref.errors.ParameterError: delimiter must be one character, got '--'
    """
    if not isinstance(value, str) or len(value) != 1:
        raise ParameterError(name, value, "must be one character")
