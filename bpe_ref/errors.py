"""Every exception that this package raises on purpose; `BpeError` is the base of all."""

from collections.abc import Callable
from typing import Any

LONGEST = 200
"""The largest number of characters of a value in an error message."""

LONGEST_MESSAGE = 1000
"""The largest number of characters of a message, from which the middle is left out."""


def shown(value: object) -> str:
    """Return a value as an error message shows it, however long it is.

    >>> shown(1.5), shown(10**5000), len(shown("a" * 10**6))
    ('1.5', 'a whole number of more than 4000 digits', 203)
    """
    try:
        text = repr(value)
    except ValueError:  # Python writes no integer of more than 4,300 digits
        return "a whole number of more than 4000 digits"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _made_again(kind: type[Exception], message: str) -> Exception:
    return kind.__new__(kind, message)


class BpeError(Exception):
    """Base class of the errors below.

    A message is short, whatever it is about. A pickled error keeps its message and its
    attributes; an attribute that is neither a number nor a text becomes its `shown` form.

    >>> issubclass(VocabularyFileError, BpeError), len(str(SymbolError("a" * 10**6)))
    (True, 1000)
    """

    def __init__(self, message: str) -> None:
        if len(message) > LONGEST_MESSAGE:
            message = f"{message[: LONGEST_MESSAGE - LONGEST - 5]} ... {message[-LONGEST:]}"
        super().__init__(message)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        """Return how to make the error again without its constructor's arguments."""
        state = {
            name: value if isinstance(value, str | int | float) else shown(value)
            for name, value in vars(self).items()
        }
        return _made_again, (type(self), str(self)), state


class VocabularyError(BpeError, ValueError):
    """These tokens, ranks and merges do not make a vocabulary."""


class VocabularyFileError(VocabularyError):
    """A file that should hold a vocabulary does not; the sentence names the place."""


class UnknownVocabularyError(BpeError, LookupError):
    """A vocabulary or model name that nobody registered, or that was found nowhere.

    `similar` are names that may be meant, and `uses` is what the model of that name uses.

    >>> error = UnknownVocabularyError("there is no 'gtp2'", similar="'gpt2'")
    >>> str(error), error.reason
    ("there is no 'gtp2'; did you mean 'gpt2'?", "there is no 'gtp2'")
    """

    def __init__(self, reason: str, *, similar: str = "", uses: str = "") -> None:
        meant = f"; did you mean {similar}?" * bool(similar)
        super().__init__(reason + meant + f"; the model of that name uses {uses}" * bool(uses))
        self.reason, self.similar, self.uses = reason, similar, uses


class SymbolError(BpeError, ValueError):
    """A byte, or a first symbol, that the vocabulary lacks."""


class TokenIdError(BpeError, ValueError):
    """Something that is not a token of this vocabulary, or not the id of one."""


class PatternError(BpeError, ValueError):
    """A pre-tokenization pattern that does not compile or cannot be pinned."""


class SpecialTokenError(BpeError, ValueError):
    """The text spells a special token that is not allowed there."""


class DecodingError(BpeError, ValueError):
    """The decoded bytes are not valid UTF-8, and the caller asked for text or an error."""


class ParameterError(BpeError, ValueError):
    """An argument lies outside its documented domain.

    >>> str(ParameterError("size", 3, "must be at least 256"))
    'size must be at least 256, got 3'
    """

    def __init__(self, name: str, value: object, requirement: str) -> None:
        super().__init__(f"{name} {requirement}, got {shown(value)}")
        self.name = name
        self.value = value
