"""What encoding a text gives: tokens in order, and for each what it is and where it comes from.

Source: `Encoding` of Hugging Face tokenizers 0.23.3 (tokenizers/src/tokenizer/encoding.rs).

Representation
    One entry per token in each of the fields from `ids` to `attention_mask`. `sequence_ranges`
    says which tokens come from which of the texts that went in: (0, 1, 4) for tokens 1 to 3 from
    the first text. It is sorted, and no text is named twice. Empty, it means one text throughout.

What the source leaves open, and what it does unexpectedly
    - Where ranges overlap, the library asks a hash table which one comes first, so its answer
      changes from run to run. Here the text with the lower number comes first.
    - `sequence_ids` numbers the texts 0, 1, 2 ... up to their count, and takes a text without a
      range to be everything: with a range for text 1 only, all tokens belong to text 0.
    - The token after the last one belongs to text 0, where there are no ranges.
    - `word_to_tokens` stops at the first word with a higher number.
    - Two encodings of n and m overflowing parts merge into one of n + m + n * m of them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, TypeAlias

from bpe_ref.aligned_text import Span
from bpe_ref.errors import ParameterError
from bpe_ref.vocabulary.merges import TokenId

TokenRow: TypeAlias = tuple[TokenId, str, Span, int | None]
"""The id of an ordinary token, its string, its offsets and its word."""

_SHOWN = 8  # ids in the repr
_PER_TOKEN = (
    *("ids", "type_ids", "tokens", "words", "offsets"),
    *("special_tokens_mask", "attention_mask"),
)


@dataclass(frozen=True, slots=True, repr=False)
class Encoding:
    """The tokens of a text, or of a pair of texts.

    Attributes:
        ids: the tokens.
        type_ids: the number that a model gets for the token's part of the input.
        tokens: their strings.
        words: the number of the word, as the pre-tokenizer cuts, or None for what is in no word.
        offsets: the characters of the text that it stands for; (0, 0) for what stands for none.
        special_tokens_mask: 1 for what a template or padding added.
        attention_mask: 0 for padding.
        overflowing: what truncation cut off, in parts.
        sequence_ranges: text, first token, and token after the last.

    >>> encoding = Encoding.of([(5, "a", (0, 1), 0), (7, "b", (1, 2), 0)])
    >>> encoding, encoding.tokens, encoding.char_to_token(1)
    (<Encoding, 2 tokens: [5, 7]>, ('a', 'b'), 1)

    """

    ids: Sequence[TokenId] = ()
    type_ids: Sequence[int] = ()
    tokens: Sequence[str] = ()
    words: Sequence[int | None] = ()
    offsets: Sequence[Span] = ()
    special_tokens_mask: Sequence[int] = ()
    attention_mask: Sequence[int] = ()
    overflowing: tuple["Encoding", ...] = ()
    sequence_ranges: tuple[tuple[int, int, int], ...] = ()

    def __post_init__(self) -> None:
        """Check that the fields fit together."""
        size = len(self.ids)
        for name in _PER_TOKEN:
            values = getattr(self, name)
            if len(values) != size:
                raise ParameterError(name, values, f"must have one entry per token ({size})")
        for text, start, stop in self.sequence_ranges:
            if not (text >= 0 and 0 <= start <= stop <= size):
                raise ParameterError("sequence_ranges", (text, start, stop), "must hold tokens")

    def __repr__(self) -> str:
        """Return the number of tokens, and the first few ids."""
        few = ", ".join([*map(str, self.ids[:_SHOWN]), *["..."] * (len(self) > _SHOWN)])
        more = f", {len(self.overflowing)} overflowing" if self.overflowing else ""
        return f"<Encoding, {len(self)} tokens: [{few}]{more}>"

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self.ids)

    @classmethod
    def of(cls, tokens: Iterable[TokenRow], type_id: int = 0) -> "Encoding":
        """Return an encoding of ordinary tokens.

        >>> Encoding.of([(5, "a", (0, 1), 0)]).attention_mask
        (1,)
        """
        rows = tuple(tokens)
        columns = zip(*rows, strict=True) if rows else ((), (), (), ())
        return cls.of_columns(*columns, type_id=type_id)

    @classmethod
    def of_columns(
        cls,
        ids: Iterable[TokenId],
        tokens: Iterable[str],
        offsets: Iterable[Span],
        words: Iterable[int | None],
        *,
        type_id: int = 0,
    ) -> "Encoding":
        """Return an encoding of ordinary tokens, given field by field.

        >>> Encoding.of_columns([5], ["a"], [(0, 1)], [0]).attention_mask
        (1,)
        """
        ids = tuple(ids)
        return cls(
            ids=ids,
            type_ids=(type_id,) * len(ids),
            tokens=tuple(tokens),
            words=tuple(words),
            offsets=tuple(offsets),
            special_tokens_mask=(0,) * len(ids),
            attention_mask=(1,) * len(ids),
        )

    def slice(self, start: int, stop: int) -> "Encoding":
        """Return the tokens from `start` to `stop`, without overflowing parts and ranges.

        >>> Encoding.of([(5, "a", (0, 1), 0), (7, "b", (1, 2), 0)]).slice(1, 2).ids
        (7,)
        """
        return Encoding(**{name: getattr(self, name)[start:stop] for name in _PER_TOKEN})

    def of_type(self, type_id: int) -> "Encoding":
        """Return the same with that type id for every token; overflowing parts keep theirs.

        >>> Encoding.of([(5, "a", (0, 1), 0)]).of_type(3).type_ids
        (3,)
        """
        return replace(self, type_ids=(type_id,) * len(self))

    def of_sequence(self, sequence: int) -> "Encoding":
        """Return the same with all its tokens in that text; other texts keep their ranges.

        >>> Encoding.of([(5, "a", (0, 1), 0)]).of_sequence(1).sequence_ranges
        ((1, 0, 1),)
        """
        return replace(
            self, sequence_ranges=_with_ranges(self.sequence_ranges, [(sequence, 0, len(self))])
        )

    def sequence_range(self, sequence: int) -> Span:
        """Return the tokens of that text: all of them, where there is no range for it.

        >>> Encoding.of([(5, "a", (0, 1), 0)]).sequence_range(9)
        (0, 1)
        """
        for number, start, stop in self.sequence_ranges:
            if number == sequence:
                return start, stop
        return 0, len(self)

    @property
    def n_sequences(self) -> int:
        """How many texts went in."""
        return len(self.sequence_ranges) or 1

    @property
    def sequence_ids(self) -> tuple[int | None, ...]:
        """The text that each token comes from, or None."""
        sequences: list[int | None] = [None] * len(self)
        for sequence in range(self.n_sequences):
            start, stop = self.sequence_range(sequence)
            sequences[start:stop] = [sequence] * (stop - start)
        return tuple(sequences)

    def token_to_sequence(self, token: int) -> int | None:
        """Return the text that a token comes from."""
        if not 0 <= token <= len(self):
            return None
        if not self.sequence_ranges:
            return 0
        for sequence, start, stop in self.sequence_ranges:
            if start <= token < stop:
                return sequence
        return None

    def token_to_chars(self, token: int) -> Span | None:
        """Return the characters of a token; None if it comes from no text."""
        if token >= len(self) or self.token_to_sequence(token) is None:
            return None
        return self.offsets[token]

    def token_to_word(self, token: int) -> int | None:
        """Return the word of a token; None if it comes from no text."""
        if token >= len(self) or self.token_to_sequence(token) is None:
            return None
        return self.words[token]

    def word_to_tokens(self, word: int, sequence: int = 0) -> Span | None:
        """Return the tokens of a word: the first, and the one after the last."""
        start, stop = self.sequence_range(sequence)
        found: list[int] = []
        for token in range(start, stop):
            number = self.words[token]
            if number is not None and number > word:
                break
            if number == word:
                found.append(token)
        return (found[0], found[-1] + 1) if found else None

    def word_to_chars(self, word: int, sequence: int = 0) -> Span | None:
        """Return the characters of a word: from its first token's first to its last one's last."""
        tokens = self.word_to_tokens(word, sequence)
        if tokens is None:
            return None
        return self.offsets[tokens[0]][0], self.offsets[tokens[1] - 1][1]

    def char_to_token(self, position: int, sequence: int = 0) -> int | None:
        """Return the first token that covers a character."""
        start, stop = self.sequence_range(sequence)
        for token in range(start, stop):
            first, last = self.offsets[token]
            if first <= position < last:
                return token
        return None

    def char_to_word(self, position: int, sequence: int = 0) -> int | None:
        """Return the word of the first token that covers a character."""
        token = self.char_to_token(position, sequence)
        return None if token is None else self.token_to_word(token)


def merge(encodings: Iterable[Encoding], *, growing_offsets: bool = False) -> Encoding:
    """Return the tokens of all the encodings, one after the other.

    With `growing_offsets`, each encoding's offsets count on from the end of the one before it.

    >>> one, two = (Encoding.of([(5, "a", (0, 1), 0)]).of_sequence(n) for n in (0, 1))
    >>> merge([one, two]).sequence_ids
    (0, 1)
    """
    parts = list(encodings)
    if len(parts) == 1:
        return parts[0]
    if not any(encoding.overflowing for encoding in parts):
        return _join(parts, growing_offsets=growing_offsets)
    merged = Encoding()
    for encoding in parts:
        merged = _merge_two(merged, encoding, growing_offsets=growing_offsets)
    return merged


def _merge_two(first: Encoding, second: Encoding, *, growing_offsets: bool) -> Encoding:
    """Return `first` and `second`, and as overflowing parts all other pairs of their parts."""
    overflowing = [
        _merge_two(part, other, growing_offsets=growing_offsets)
        for part in first.overflowing
        for other in (second, *second.overflowing)
    ]
    overflowing += [
        _merge_two(first, other, growing_offsets=growing_offsets) for other in second.overflowing
    ]
    joined = _join([first, second], growing_offsets=growing_offsets)
    return replace(joined, overflowing=tuple(overflowing))


def _join(parts: Sequence[Encoding], *, growing_offsets: bool) -> Encoding:
    """Return the tokens of all parts, in order, without what overflows."""
    fields: dict[str, tuple[Any, ...]] = {}
    for name in _PER_TOKEN:
        column: list[Any] = []
        for part in parts:
            column += getattr(part, name)
        fields[name] = tuple(column)
    ends = list(accumulate(map(len, parts), initial=0))
    ranges = [
        (text, size + start, size + stop)
        for size, part in zip(ends, parts, strict=False)
        for text, start, stop in part.sequence_ranges
    ]
    if growing_offsets:
        offsets: list[Span] = []
        for part in parts:
            shift = offsets[-1][1] if offsets else 0
            offsets += [(start + shift, stop + shift) for start, stop in part.offsets]
        fields["offsets"] = tuple(offsets)
    return Encoding(**fields, sequence_ranges=_with_ranges((), ranges))


def _with_ranges(
    ranges: Iterable[tuple[int, int, int]], more: Iterable[tuple[int, int, int]]
) -> tuple[tuple[int, int, int], ...]:
    """Return the ranges with those of `more` added, which replace those of the same text."""
    by_text = {row[0]: row for row in (*ranges, *more)}
    return tuple(by_text[text] for text in sorted(by_text))
