"""Every exception this package raises on purpose.

BpeError
├── VocabularyError         also a ValueError: these tokens and rules make no vocabulary
│   └── VocabularyFileError    a file that should hold a vocabulary does not
├── UnknownVocabularyError  also a LookupError: no such name, or found nowhere
├── SymbolError             also a ValueError: a byte or symbol that the vocabulary lacks
├── TokenIdError            also a ValueError: not a token, or not an id, of this vocabulary
├── PatternError            also a ValueError: a pattern that cannot be used
├── SpecialTokenError       also a ValueError: special text that is not allowed here
├── DecodingError           also a ValueError: the bytes are not the text asked for
└── ParameterError          also a ValueError: an argument outside its documented domain
"""


class BpeError(Exception):
    """Base class of the errors below.

    >>> issubclass(VocabularyFileError, BpeError)
    True
    """


class VocabularyError(BpeError, ValueError):
    """These tokens, ranks and merges do not make a vocabulary."""


class VocabularyFileError(VocabularyError):
    """A file that should hold a vocabulary does not; the sentence names the place."""


class UnknownVocabularyError(BpeError, LookupError):
    """A vocabulary or model name that nobody registered, or that was found nowhere."""


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
        super().__init__(f"{name} {requirement}, got {value!r}")
        self.name = name
        self.value = value
