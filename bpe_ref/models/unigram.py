"""The Unigram model: a piece of text to the tokens whose scores have the largest sum.

Definition
    A path divides the piece into tokens, each of which is in the vocabulary and has a
    score. At a character that is not itself a token, a path may also take that one
    character as unknown, with the lowest score of all tokens minus 10. The tokens of the
    piece are those of the path with the largest sum of scores.

    1. From left to right, for each place: add each token that starts there, and the unknown
       character if that is allowed there, to the best path that ends there. The new path is
       the best one to its own end if no path led there before, or if its sum is larger.
    2. Follow the best path back from the end of the piece.
    3. Unknown characters that follow one another are one text, and so are tokens whose id
       is `unk_id`.
    4. A text that is a token becomes it. Another one becomes, with `byte_fallback`, one token
       per byte, `<0x00>` to `<0xFF>`, if the vocabulary has all that are needed, and
       otherwise the unknown token.

Source: `Unigram` of Hugging Face tokenizers 0.23.3 (tokenizers/src/models/unigram/model.rs);
the idea is that of Kudo, "Subword Regularization", ACL 2018.

What the source leaves open
    *Equal sums*: the path found first stays, which is the one whose last token is longest.
    *Rounding*: sums are 64-bit floats, added from left to right. So two paths whose exact sums
    differ by less than that can count as equal.
    *A fused text that is itself a token*, such as two unknown characters, becomes that token.
    *The string of an unknown token* is the text that it stands for.
    *Bytes of a text*: each of their tokens covers the whole text.
    *No unknown token*: an error, but only where a path would take an unknown character.
    *A token that is listed twice*: the library uses the last one. Here it is an error.
    *An empty token* is never found.
    *Sampling* (`alpha`, `nbest_size`) is no part of files, and the library's random numbers
    cannot be seeded.

Time is proportional to the length of the piece, times the lengths of the tokens that start with
one character; see `vocabulary.longest_matches`.
"""

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import inf, isfinite
from typing import Final, Literal, NamedTuple

from bpe_ref.components import Draw, Token, WithoutMerges
from bpe_ref.errors import SymbolError, VocabularyError
from bpe_ref.vocabulary.longest_matches import Searcher, searcher_of
from bpe_ref.vocabulary.merges import TokenId

UNKNOWN_PENALTY: Final = 10.0
"""An unknown character has the lowest score minus this."""

LONGEST_EXACT: Final = 1 << 24
"""Borders are known only if the sums are exact for all pieces of at most this many characters."""

_BITS: Final = 53  # of a float's precision


class Node(NamedTuple):
    """A step of a path: a token, or a character that is unknown."""

    start: int
    end: int
    is_unknown: bool


def best_path(
    text: str,
    searcher: Searcher,
    score_of: Callable[[str], float],
    unknown_score: float,
    *,
    has_unknown: bool = True,
    precision: Literal["f", "d"] = "d",
    most: float = inf,
) -> list[Node]:
    """Return the best path: steps 1 and 2.

    Args:
        text: the piece.
        searcher: finds the tokens that start at a place.
        score_of: returns the score of a token by its string.
        unknown_score: the score of an unknown character.
        has_unknown: whether there is an unknown token.
        precision: what sums are rounded to: 32-bit or 64-bit floats.
        most: if the sum at a place is beyond this, it is subtracted there and at all places behind.

    Raises `SymbolError` if there is no unknown token, but taking a character as unknown is, from
    left to right, the best path so far. A longer token may cover that character in the end.

    >>> scores = {"a": -1.0, "ab": -3.0, "b": -2.0}
    >>> best_path("abc", searcher_of(list(scores)), scores.__getitem__, -13.0)[1:]
    [Node(start=2, end=3, is_unknown=True)]

    """
    matches = searcher.matches(text)
    sums = array(precision, [0.0]) * (len(text) + 1)
    starts = [-1] * (len(text) + 1)
    unknown = bytearray(len(text) + 1)
    reached = 0  # the last place to which a path leads
    for start in range(len(text)):
        here = sums[start]
        if abs(here) > most:
            _subtract(sums, (place for place in range(start, reached + 1) if starts[place] >= 0))
            here = 0.0
        lengths = matches.lengths_at(start)
        reached = max(reached, start + (lengths[0] if lengths else 1))
        for length in lengths:
            end = start + length
            total = array(precision, [score_of(text[start:end]) + here])[0]
            if starts[end] < 0 or total > sums[end]:
                sums[end], starts[end], unknown[end] = total, start, False
        if not lengths or lengths[-1] != 1:
            end = start + 1
            total = array(precision, [unknown_score + here])[0]
            if starts[end] < 0 or total > sums[end]:
                if not has_unknown:
                    raise SymbolError(
                        f"a text must be made of tokens, but {text[start]!r} is none, "
                        "and there is no unk_id"
                    )
                sums[end], starts[end], unknown[end] = total, start, True
    path: list[Node] = []
    end = len(text)
    while end:
        path.append(Node(starts[end], end, bool(unknown[end])))
        end = starts[end]
    return path[::-1]


def _subtract(sums: "array[float]", places: Iterator[int]) -> None:
    """Subtract the sum at the first place from those at all places."""
    first = next(places)
    offset = sums[first]
    for place in (first, *places):
        sums[place] -= offset


@dataclass(frozen=True, eq=False, repr=False)
class Unigram(WithoutMerges):
    """The model of a tokenizer, as its file describes it.

    Attributes:
        pieces: each token and its score; the id is the place in the list.
        unk_id: the id of the unknown token, or None.
        byte_fallback: whether a text that is no token becomes its bytes.

    Raises `VocabularyError` for a token that is listed twice, a score that is not finite, and an
    `unk_id` that no token has.

    >>> model = Unigram([("?", 0.0), ("a", -1.0), ("b", -1.0), ("ab", -1.5)], unk_id=0)
    >>> model.ids("abab"), model.ids("axya")
    ([3, 3], [1, 0, 1])
    >>> model.tokenize("axya")[1]
    Token(id=0, string='xy', start=1, end=3)

    """

    pieces: Sequence[tuple[str, float]]
    unk_id: TokenId | None = None
    byte_fallback: bool = False

    def __post_init__(self) -> None:
        """Build the tables, so that what is wrong is found at once."""
        for token, (text, score) in enumerate(self.pieces):
            if not isfinite(score):
                raise VocabularyError(f"vocab[{token}] must have a finite score, got {score}")
            if self.vocab[text] != token:
                raise VocabularyError(
                    f"vocab must list each token once, but {text!r:.80} is both "
                    f"number {token} and number {self.vocab[text]}"
                )
        if self.unk_id is not None and not 0 <= self.unk_id < len(self.pieces):
            raise VocabularyError(
                f"unk_id must be a place in vocab, from 0 to {len(self.pieces) - 1}, "
                f"got {self.unk_id}"
            )
        _ = self._searcher

    @cached_property
    def vocab(self) -> Mapping[str, TokenId]:
        """From token to id."""
        return {text: token for token, (text, _) in enumerate(self.pieces)}

    @cached_property
    def strings(self) -> Mapping[TokenId, str]:
        """From id to token."""
        return {token: text for token, (text, _) in enumerate(self.pieces)}

    @cached_property
    def unknown_score(self) -> float:
        """The score of an unknown character."""
        lowest = min((score for _, score in self.pieces), default=float("inf"))
        return lowest - UNKNOWN_PENALTY

    @cached_property
    def _scores(self) -> Mapping[str, float]:
        return dict(self.pieces)

    @cached_property
    def _searcher(self) -> Searcher:
        return searcher_of([text for text, _ in self.pieces if text])

    def texts(self, piece: str) -> Iterator[str]:
        """Yield the texts of a piece that become tokens, in order: steps 1 to 3.

        Raises `SymbolError` if the unknown token is needed and there is none.

        >>> list(Unigram([("?", 0.0), ("a", -1.0)], unk_id=0).texts("aéé?a"))
        ['a', 'éé?', 'a']
        """
        has_unknown = self.unk_id is not None
        unknown_text = None if self.unk_id is None else self.strings[self.unk_id]
        scores = self._scores.__getitem__
        fused = ""
        for start, end, is_unknown in best_path(
            piece, self._searcher, scores, self.unknown_score, has_unknown=has_unknown
        ):
            text = piece[start:end]
            if is_unknown or text == unknown_text:
                fused += text
                continue
            if fused:
                yield fused
                fused = ""
            yield text
        if fused:
            yield fused

    def tokenize(self, piece: str, draw: Draw | None = None) -> list[Token]:
        """Return the tokens of a piece, and the bytes of the piece that each covers.

        Raises `SymbolError` if the unknown token is needed and there is none.
        """
        tokens: list[Token] = []
        start = 0
        for text in self.texts(piece):
            end = start + len(text.encode())
            tokens += [Token(token, string, start, end) for token, string in self._spelled(text)]
            start = end
        return tokens

    def ids(self, piece: str, draw: Draw | None = None) -> list[TokenId]:
        """Return the ids of the tokens of a piece.

        >>> Unigram([("?", 0.0), ("<0xC3>", 0.0), ("<0xA9>", 0.0)], 0, byte_fallback=True).ids("é")
        [1, 2]
        """
        return [token for text in self.texts(piece) for token, _ in self._spelled(text)]

    def _spelled(self, text: str) -> list[tuple[TokenId, str]]:
        """Return the tokens of a text of `texts`, and their strings: step 4."""
        token = self.vocab.get(text)
        if token is not None:
            return [(token, text)]
        if self.byte_fallback:
            found = [self._byte_tokens[byte] for byte in text.encode()]
            spelled = [(token, self.strings[token]) for token in found if token is not None]
            if len(spelled) == len(found):
                return spelled
        assert self.unk_id is not None  # noqa: S101 -- `best_path` takes nothing as unknown then
        return [(self.unk_id, text)]

    @cached_property
    def _byte_tokens(self) -> Sequence[TokenId | None]:
        return [self.vocab.get(f"<0x{byte:02X}>") for byte in range(256)]

    # ---- cutting

    @property
    def gives_a_token(self) -> bool:
        """Whether no token stands for more characters than its string has.

        >>> Unigram([("?", 0.0)], 0).gives_a_token, Unigram([("a", 0.0)]).gives_a_token
        (False, True)
        """
        return self.unk_id is None or (self.byte_fallback and None not in self._byte_tokens)

    def is_border(self, left: str, right: str) -> bool:
        """Return whether the best path always divides a piece between two characters.

        It does if no token has them side by side. It then is the best path on both sides,
        provided that sums are exact, and unknown characters are not fused over the place.

        >>> model = Unigram([("?", 0.0), ("a", -1.0), ("b", -1.0), ("ab", -1.5)], unk_id=0)
        >>> model.is_border("a", "b"), model.is_border("b", "a"), model.is_border("x", "y")
        (False, True, False)
        """
        if left + right in self._joints or not self._is_exact:
            return False
        if self.unk_id is None:
            return left in self.vocab and right in self.vocab
        unknown = self.strings[self.unk_id]
        return (left in self.vocab and unknown[-1:] != left) or (
            right in self.vocab and unknown[:1] != right
        )

    @cached_property
    def _joints(self) -> frozenset[str]:
        """Every two characters side by side in some token."""
        return frozenset(a + b for text, _ in self.pieces for a, b in pairwise(text))

    @cached_property
    def _is_exact(self) -> bool:
        """Whether sums are exact for all pieces of up to `LONGEST_EXACT` characters.

        Scores are multiples of the smallest unit that one of them needs. A sum of n of them is
        exact if n times the largest one is less than 2**53 units.
        """
        scores = [score for _, score in self.pieces]
        if self.unk_id is not None:
            scores.append(self.unknown_score)
        most_units = max(score.as_integer_ratio()[1] for score in scores) if scores else 1
        largest = max(map(abs, scores), default=0.0)
        return Fraction(largest) * most_units * LONGEST_EXACT < 1 << _BITS
