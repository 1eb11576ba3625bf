"""`tiktoken.Encoding`, with all its public methods. See the package for what differs.

Source: openai/tiktoken 0.14.0, tiktoken/core.py and src/py.rs. Errors are of
the kinds that are raised there, so they are Python's own and not this package's.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from importlib import import_module
from operator import index
from typing import Any, Final, Literal, TypeVar

from bpe_ref.added_tokens import any_of
from bpe_ref.completions import encode_with_unstable
from bpe_ref.decoders.to_bytes import decode_with_offsets
from bpe_ref.errors import SpecialTokenError, shown
from bpe_ref.finding import registered_vocabulary
from bpe_ref.models.byte_bpe import ByteBPE, encode_bytes
from bpe_ref.tokenizer import tokenizer_of
from bpe_ref.vocabulary import TextRules, Vocabulary, vocabulary_by_concatenation
from bpe_ref.vocabulary.merges import ID_LIMIT

_ENCODINGS: "Final[dict[str, Encoding]]" = {}  # registered ones, by name

_ALL: Final = "all"
_NOBODY: Final[frozenset[str]] = frozenset()

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")


class Encoding:
    """A vocabulary and all that is done with it.

    >>> ranks = {b"a": 0, b"b": 1, b" ": 2, b"ab": 3}
    >>> encoding = Encoding("small", pat_str="[ab]+| ", mergeable_ranks=ranks, special_tokens={})
    >>> encoding.encode("ab ba"), encoding.decode([3, 2, 1, 0]), encoding.n_vocab
    ([3, 2, 1, 0], 'ab ba', 4)
    """

    def __init__(
        self,
        name: str,
        *,
        pat_str: str,
        mergeable_ranks: dict[bytes, int],
        special_tokens: dict[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:
        """Build an encoding.

        Raises `ValueError` for tokens that make no vocabulary and for a pattern
        that cannot be used, and `AssertionError` if there are not
        `explicit_n_vocab` tokens (which nobody need give).
        """
        vocabulary = vocabulary_by_concatenation(
            mergeable_ranks,
            text=TextRules(pat_str, whole_piece=True),
            special_tokens=special_tokens,
        )
        self._fill(name, vocabulary, mergeable_ranks)
        count = len(mergeable_ranks) + len(special_tokens)
        if explicit_n_vocab and {count, self.n_vocab} != {explicit_n_vocab}:
            raise AssertionError(
                f"explicit_n_vocab must be the number of tokens and the highest id + 1, "
                f"{shown(count)} and {shown(self.n_vocab)}, got {shown(explicit_n_vocab)}"
            )

    @classmethod
    def of(cls, name: str, vocabulary: Vocabulary) -> "Encoding":
        """Return the encoding of a vocabulary with a pattern; tiktoken has no such method."""
        self = cls.__new__(cls)
        ranks = {content: token for token, content in vocabulary.tokens.items()}
        self._fill(name, vocabulary, ranks)
        return self

    def _fill(self, name: str, vocabulary: Vocabulary, ranks: dict[bytes, int]) -> None:
        self.name = name
        self._pat_str = vocabulary.text.pattern
        self._mergeable_ranks = ranks
        self._special_tokens = dict(vocabulary.special_tokens)
        self._special_token_values = set(self._special_tokens.values())
        self.max_token_value = max(*ranks.values(), *self._special_token_values, 0)
        self._tokenizer = tokenizer_of(vocabulary, name=name)
        self._model = ByteBPE(vocabulary, vocabulary.text.whole_piece)
        self._vocabulary = vocabulary

    def __repr__(self) -> str:
        """Name the encoding."""
        return f"<Encoding {self.name!r}>"

    # ---- encoding

    def encode_ordinary(self, text: str) -> list[int]:
        """Return the tokens of a text in which nothing is special."""
        return self._tokenizer.encode(_of_type(text, str), special="ordinary")

    def encode(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | AbstractSet[str] = _NOBODY,
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> list[int]:
        """Return the tokens of a text. Raises `ValueError` for a disallowed special token."""
        allowed = self._allowed(text, allowed_special, disallowed_special)
        return self._tokenizer.encode(text, special=allowed)

    def encode_to_numpy(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | AbstractSet[str] = _NOBODY,
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> Any:
        """Return the tokens of a text as an array of uint32.

        Raises `ImportError` without numpy, `UnicodeEncodeError` for surrogates.
        """
        allowed = self._allowed(text, allowed_special, disallowed_special)
        try:
            numpy = import_module("numpy")  # by name: this package does not need it
        except ImportError:
            raise ImportError("encode_to_numpy needs the package numpy to be installed") from None
        text.encode("utf-8")
        tokens = self._tokenizer.encode(text, special=allowed)
        return numpy.array(tokens, dtype=numpy.uint32)

    def encode_ordinary_batch(self, text: list[str], *, num_threads: int = 8) -> list[list[int]]:
        """Return the tokens of each text, as `encode_ordinary` does."""
        return _each(self.encode_ordinary, text, num_threads)

    def encode_batch(
        self,
        text: list[str],
        *,
        num_threads: int = 8,
        allowed_special: Literal["all"] | AbstractSet[str] = _NOBODY,
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> list[list[int]]:
        """Return the tokens of each text, as `encode` does."""

        def encode(one: str) -> list[int]:
            return self.encode(
                one, allowed_special=allowed_special, disallowed_special=disallowed_special
            )

        return _each(encode, text, num_threads)

    def encode_with_unstable(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | AbstractSet[str] = _NOBODY,
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> tuple[list[int], list[list[int]]]:
        """Return tiktoken's stable tokens and completions; see `completions` for all of them.

        Raises `ValueError` as `encode` does, `UnicodeEncodeError` for surrogates.
        """
        allowed = self._allowed(text, allowed_special, disallowed_special)
        text.encode("utf-8")
        stable, completions = encode_with_unstable(
            self._tokenizer, text, special=allowed, complete=False
        )
        return stable, list(map(list, sorted(completions)))

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """Return the id of a token, special or not. Raises `KeyError` if there is no such token."""
        content = _as_bytes(text_or_bytes)
        token = self._mergeable_ranks.get(content)
        if token is None:
            token = self._special_tokens.get(content.decode("utf-8", "replace"))
        if token is None:
            raise KeyError(content)
        return token

    # ---- decoding

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes of the tokens. Raises `KeyError` for an unknown one."""
        contents = []
        for token in map(_as_id, _as_row(tokens)):
            content = self._content(token)
            if content is None:
                raise KeyError(f"Invalid token for decoding: {token}")
            contents.append(content)
        return b"".join(contents)

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """Return the text of the tokens. Raises `KeyError` for an unknown one."""
        return self.decode_bytes(tokens).decode("utf-8", errors=errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """Return the bytes of a token, special or not. Raises `KeyError` for an unknown one."""
        content = self._content(_as_id(token))
        if content is None:
            raise KeyError(str(token))
        return content

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """Return the bytes of each token. Raises `KeyError` for an unknown one."""
        return [self.decode_single_token_bytes(token) for token in tokens]

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """Return the text, and the character that each token starts in.

        Raises `KeyError` for an unknown token and `UnicodeDecodeError` for what is not UTF-8.
        """
        b"".join(self.decode_tokens_bytes(tokens)).decode("utf-8")
        return decode_with_offsets(self._vocabulary, tokens)

    def decode_batch(
        self, batch: Sequence[Sequence[int]], *, errors: str = "replace", num_threads: int = 8
    ) -> list[str]:
        """Return the text of each row of tokens, as `decode` does."""
        return _each(lambda tokens: self.decode(tokens, errors), batch, num_threads)

    def decode_bytes_batch(
        self, batch: Sequence[Sequence[int]], *, num_threads: int = 8
    ) -> list[bytes]:
        """Return the bytes of each row of tokens, as `decode_bytes` does."""
        return _each(self.decode_bytes, batch, num_threads)

    # ---- what there is

    def token_byte_values(self) -> list[bytes]:
        """Return the bytes of all tokens that are not special, in order."""
        return sorted(self._mergeable_ranks)

    @property
    def eot_token(self) -> int:
        """The id of `<|endoftext|>`. Raises `KeyError` if there is none."""
        return self._special_tokens["<|endoftext|>"]

    @cached_property
    def special_tokens_set(self) -> set[str]:
        """The texts of the special tokens."""
        return set(self._special_tokens)

    def is_special_token(self, token: int) -> bool:
        """Return whether an id is that of a special token."""
        if not isinstance(token, int):
            raise AssertionError(f"token must be an int, got {shown(token)}")  # noqa: TRY004 - as there
        return token in self._special_token_values

    @property
    def n_vocab(self) -> int:
        """The highest id, and one."""
        return self.max_token_value + 1

    # ---- not public there either, but used

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        return self._model.ids_of_bytes(_as_bytes(text_or_bytes))

    def _encode_only_native_bpe(self, text: str) -> list[int]:
        text.encode("utf-8")  # surrogates are an error there too
        pieces = self._tokenizer.pieces(text, special="ordinary")
        return [token for piece in pieces for token in self._encode_single_piece(piece)]

    def _encode_bytes(self, text: bytes) -> list[int]:
        return encode_bytes(self._tokenizer, _of_type(text, bytes))

    def __getstate__(self) -> object:
        """Return the name of an encoding that has one, else what it is built from."""
        if self is _ENCODINGS.get(self.name):
            return self.name
        return {
            "name": self.name,
            "pat_str": self._pat_str,
            "mergeable_ranks": self._mergeable_ranks,
            "special_tokens": self._special_tokens,
        }

    def __setstate__(self, value: object) -> None:
        """Become the encoding of that name, or build it."""
        if isinstance(value, str):
            self.__dict__ = registered_encoding(value).__dict__
        elif isinstance(value, dict):
            Encoding.__init__(self, **value)

    def _allowed(
        self,
        text: str,
        allowed: Literal["all"] | AbstractSet[str],
        disallowed: Literal["all"] | Collection[str],
    ) -> frozenset[str]:
        """Return the special tokens that are allowed; raise `ValueError` for one that is not."""
        _of_type(text, str)
        if allowed == _ALL:
            allowed = self.special_tokens_set
        _of_type(allowed, AbstractSet)
        refused = self.special_tokens_set - allowed if disallowed == _ALL else frozenset(disallowed)
        found = any_of(frozenset(refused)).search(text)
        if found is not None:
            raise SpecialTokenError(_DISALLOWED.format(found.group()))
        return frozenset(self.special_tokens_set & allowed)

    def _content(self, token: int) -> bytes | None:
        vocabulary = self._vocabulary
        return vocabulary.tokens.get(token, vocabulary.special_bytes.get(token))


def registered_encoding(name: str) -> Encoding:
    """Return the encoding of a registered vocabulary, the same object each time.

    >>> registered_encoding("cl100k")
    Traceback (most recent call last):
    bpe_ref.errors.UnknownVocabularyError: a registered vocabulary must be one of gpt2, ...
    """
    if name not in _ENCODINGS:
        _ENCODINGS[name] = Encoding.of(name, registered_vocabulary(name))
    return _ENCODINGS[name]


_DISALLOWED: Final = (
    "Encountered text corresponding to disallowed special token {0!r}.\n"
    "If you want this text to be encoded as a special token, "
    "pass it to `allowed_special`, e.g. `allowed_special={{{0!r}, ...}}`.\n"
    "If you want this text to be encoded as normal text, disable the check for this token "
    "by passing `disallowed_special=(enc.special_tokens_set - {{{0!r}}})`.\n"
    "To disable this check for all special tokens, pass `disallowed_special=()`.\n"
)
"""tiktoken's sentence, which programs look for."""


def _each(
    function: Callable[[_Given], _Made], batch: Iterable[_Given], num_threads: int
) -> list[_Made]:
    """Return `function` of each, one after the other; the number of threads is only checked."""
    if num_threads <= 0:
        raise ValueError("max_workers must be greater than 0")
    return list(map(function, batch))


def _as_bytes(text_or_bytes: str | bytes) -> bytes:
    if isinstance(text_or_bytes, str):
        return text_or_bytes.encode("utf-8")
    return _of_type(text_or_bytes, bytes)


def _as_id(token: int) -> int:
    """Return a whole number; raise `OverflowError` for one that no id can be."""
    number = index(token)
    if not 0 <= number < ID_LIMIT:
        raise OverflowError("out of range integral type conversion attempted")
    return number


def _as_row(tokens: Sequence[int]) -> Sequence[int]:
    """Return the ids; raise `TypeError` unless they are a sequence; an array is not one."""
    if isinstance(tokens, str | Mapping) or not hasattr(tokens, "__getitem__"):
        return _of_type(tokens, list)
    return tokens


def _of_type(value: _Given, kind: type) -> _Given:
    """Return the value; raise `TypeError` for one of another type."""
    if not isinstance(value, kind):
        raise TypeError(f"{type(value).__name__!r} object is not an instance of {kind.__name__!r}")
    return value
