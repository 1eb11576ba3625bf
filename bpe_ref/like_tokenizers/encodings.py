"""`Encoding` as the Python package `tokenizers` has it: lists, and changed in place."""

import warnings
from collections.abc import Iterable
from typing import Any

from bpe_ref import encoding as definition
from bpe_ref.aligned_text import Span
from bpe_ref.parameters import check_choice, check_count
from bpe_ref.post_processors.padding import Padding
from bpe_ref.post_processors.truncation import truncate

SIDES = {"left": "Left", "right": "Right"}
"""The directions' names in Python, and in files."""


def side(direction: str) -> str:
    """Return the file's name of a direction.

    >>> side("left")
    'Left'
    """
    check_choice("direction", direction, tuple(SIDES))
    return SIDES[direction]


def _listed(name: str, meaning: str) -> Any:
    """Return the property that is an attribute of the frozen encoding, as a list."""
    return property(lambda owner: list(getattr(owner.value, name)), doc=meaning)


class Encoding:
    """The tokens of a text or of a pair of texts; `value` is the frozen encoding behind it.

    >>> encoding = Encoding(definition.Encoding.of([(5, "a", (0, 1), 0), (7, "b", (1, 2), 0)]))
    >>> encoding.truncate(1)
    >>> encoding.tokens, encoding.overflowing[0].ids
    (['a'], [7])
    """

    def __init__(self, value: definition.Encoding | None = None) -> None:
        self.value = definition.Encoding() if value is None else value

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self.value)

    def __repr__(self) -> str:
        """Return what the library prints."""
        names = "ids, type_ids, tokens, offsets, attention_mask, special_tokens_mask, overflowing"
        return f"Encoding(num_tokens={len(self)}, attributes=[{names}])"

    @staticmethod
    def merge(encodings: Iterable["Encoding"], growing_offsets: bool = True) -> "Encoding":
        """Return all the encodings, one after the other."""
        values = [encoding.value for encoding in encodings]
        return Encoding(definition.merge(values, growing_offsets=growing_offsets))

    ids = _listed("ids", "The tokens.")
    type_ids = _listed("type_ids", "The number of the part of the input of each token.")
    tokens = _listed("tokens", "The tokens' strings.")
    word_ids = _listed("words", "The number of each token's word.")
    offsets = _listed("offsets", "The characters of each token.")
    special_tokens_mask = _listed("special_tokens_mask", "1 for what a template or padding added.")
    attention_mask = _listed("attention_mask", "0 for padding.")
    sequence_ids = _listed("sequence_ids", "The text of each token.")

    @property
    def words(self) -> list[int | None]:
        """The same as `word_ids`, under its old name."""
        message = "Encoding.words is deprecated, please use Encoding.word_ids instead."
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        found: list[int | None] = self.word_ids
        return found

    @property
    def n_sequences(self) -> int:
        """How many texts went in."""
        return self.value.n_sequences

    @property
    def overflowing(self) -> list["Encoding"]:
        """What truncation cut off."""
        return [Encoding(part) for part in self.value.overflowing]

    def set_sequence_id(self, sequence_id: int) -> None:
        """Put all tokens in that text."""
        check_count("sequence_id", sequence_id)
        self.value = self.value.of_sequence(sequence_id)

    def token_to_sequence(self, token_index: int) -> int | None:
        """Return the text of a token."""
        check_count("token_index", token_index)
        return self.value.token_to_sequence(token_index)

    def token_to_chars(self, token_index: int) -> Span | None:
        """Return the characters of a token."""
        check_count("token_index", token_index)
        return self.value.token_to_chars(token_index)

    def token_to_word(self, token_index: int) -> int | None:
        """Return the word of a token."""
        check_count("token_index", token_index)
        return self.value.token_to_word(token_index)

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> Span | None:
        """Return the tokens of a word."""
        check_count("word_index", word_index)
        return self.value.word_to_tokens(word_index, sequence_index)

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> Span | None:
        """Return the characters of a word."""
        check_count("word_index", word_index)
        return self.value.word_to_chars(word_index, sequence_index)

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Return the token of a character."""
        check_count("char_pos", char_pos)
        return self.value.char_to_token(char_pos, sequence_index)

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Return the word of a character."""
        check_count("char_pos", char_pos)
        return self.value.char_to_word(char_pos, sequence_index)

    def pad(
        self,
        length: int,
        *,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",  # noqa: S107 -- no secret
    ) -> None:
        """Fill up to a length."""
        padding = Padding(length, side(direction), None, pad_id, pad_type_id, pad_token)
        self.value = padding.pad([self.value])[0]

    def truncate(self, max_length: int, stride: int = 0, direction: str = "right") -> None:
        """Cut to a length."""
        self.value = truncate(self.value, max_length, stride, side(direction))
