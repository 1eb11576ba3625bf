"""Where the token counts of a text's parts add up, whatever the tokenizer is made of.

The place between two characters l and r is a *safe cut* if

    count(x + y) = count(x) + count_after(l, y)

for all texts x that end with l and all y that begin with r. `count_after(l, y)` is the number of
tokens that y adds to a text that ends with l. For most tokenizers it is `count(y)`. But some put a
space in front of every text, and y is then not at the front. It always equals
count(l + y) - count(l): put x = l in the formula. As only two characters decide, nothing that comes
later makes a safe cut unsafe. That is what lets a text grow.

How it is found
    Every component that can says what happens between two characters: its method `meeting` (see
    `components.Meeting`) for normalizers and pre-tokenizers, `is_border` for models. A component
    without these methods makes no place safe. So a new kind of file needs no code here.

    A place is safe if the normalizer works on both sides separately, and then a piece always ends
    there, or the pieces on both sides are one piece within which no merge can cross the place.

    | component | where it separates |
    | --- | --- |
    | NFC, NFKC, ... | between characters that do not change and join none before |
    | `Replace`, `Split`, patterns | where no match contains both characters: `patterns.borders` |
    | `Lowercase`, byte levels | everywhere: each character changes by itself |
    | SentencePiece's normalizer | not behind spaces, nor where a rule has both characters |
    | `Metaspace` | before a space, if it splits |
    | BPE and Unigram | where no token contains both characters side by side |

Added tokens
    They must not reach over the place, now or later. So wherever some added token has these two
    characters next to each other, in the given or in the normalized text, nothing is sure.

    Some take the white space before (behind) them. A run of white space that begins (ends) at the
    place has all of it on one side, so that this can change nothing on the other one. What remains
    is white space left of the place, which a token on the right may take; and white space right of
    it, with a token that takes it, or more white space, on the left.

    Some match only between characters that are no letters (`single_word`). So a place right behind
    the last character of such a token is not safe, nor is one right before its first character.

    Where something is put in front of the text between two added tokens, a place right behind the
    last character of some added token is not safe: it may be inside such a text, or at its
    beginning.

Files of which nothing is known
    A normalizer may strip or replace anything anywhere, a model may be of any kind, and merges may
    be left out at random. Then there is no safe cut, and every count encodes its text from the
    start. If it is known how few tokens a text may have (`fewest`), and none stands for more than
    `longest` characters, a chunk of n tokens takes at most n * longest + 1 counts of texts of at
    most as many characters; else the bound is the length of the text.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import pairwise, product
from typing import Final, TypeAlias

from bpe_ref.added_tokens import AddedToken, Recognised, Treatment
from bpe_ref.components import meet
from bpe_ref.cutting.fewest import Fewest, fewest_of
from bpe_ref.cutting.long_pieces import (
    Countable,
    CountingModel,
    LongPieces,
    long_pieces_of,
    merges_symbols,
    merging_of,
)
from bpe_ref.given_text import any_surrogate, places_in, without_surrogates
from bpe_ref.patterns.unicode_tables import white_space
from bpe_ref.pieces import encode_pieces, pieces_of

Span: TypeAlias = tuple[int, int]
"""A half-open range of characters."""

_MOST_PAIRS: Final = 1 << 16
_ALONE: Final = 1
_AFTER: Final = 2
_NO: Final = 0


def _never(_left: str, _right: str) -> int:
    return _NO


@dataclass(frozen=True, eq=False)
class TextCounter:
    """What counting and cutting need to know of a tokenizer.

    With nothing but `count`, everything is counted by definition.

    >>> counter = TextCounter(lambda text: len(text.split()))
    >>> counter.count("to be or not"), counter.is_safe_cut("o", " ")
    (4, False)
    """

    count: Callable[[str], int]
    """Returns the number of tokens of a text alone, without those of a template."""

    spans: Callable[[str], Sequence[Span]] = lambda _text: ()
    """Returns where the added tokens are in a text without surrogates, in order."""

    kind: Callable[[str, str], int] = _never
    """Returns whether a place is a safe cut, and if so whether texts behind it count as alone."""

    find_fewest: Callable[[], Fewest | None] = lambda: None
    """Returns what is known of the fewest tokens of a text, if anything."""

    find_long_pieces: Callable[[], LongPieces | None] = lambda: None
    """Returns what is known about long pieces, if anything."""

    remembering: Callable[[bool], Callable[[str], int] | None] = lambda _forwards: None
    """Returns what counts fast if texts begin alike (end alike, if the flag is false), or None."""

    added: int = 0
    """The number of tokens that a template adds to every text; `count` leaves them out."""

    _kinds: dict[str, int] = field(default_factory=dict)
    _single: dict[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return whether any safe cuts are known."""
        return f"<TextCounter {'without' if self.kind is _never else 'with'} safe cuts>"

    @property
    def fewest(self) -> Fewest | None:
        """What is known of the fewest tokens of a text, if anything."""
        return self.find_fewest()

    @property
    def longest(self) -> int | None:
        """No text of more characters times n has n tokens; None if that is not known."""
        return None if self.fewest is None else self.fewest.longest

    @property
    def long_pieces(self) -> LongPieces | None:
        """What is known about long pieces, if anything."""
        return self.find_long_pieces()

    def is_safe_cut(self, left: str, right: str) -> bool:
        """Return whether counts add up between two characters."""
        return self._kind(left + right) != _NO

    def count_after(self, left: str, text: str, count: Callable[[str], int] | None = None) -> int:
        """Return the number of tokens that a text adds to one that ends with `left`.

        There must be a safe cut between them; or `left` is empty. `count` counts as `self.count`.
        """
        count = count or self.count
        if not text:
            return 0
        if not left or self._kind(left + text[0]) == _ALONE:
            return count(text)
        before = self._single.get(left)
        if before is None:
            before = self._single[left] = self.count(left)
        return count(left + text) - before

    def unbreakable(self, text: str) -> Sequence[Span]:
        r"""Return the parts that must not be cut: added tokens and surrogate pairs.

        >>> TextCounter(len).unbreakable("a\ud83d\ude00")
        [(1, 3)]
        """
        if text.isascii() or not any_surrogate(text):
            return self.spans(text)
        places = places_in(text)
        pairs = [(start, stop) for start, stop in pairwise(places) if stop - start > 1]
        found = self.spans(without_surrogates(text))
        return sorted([(places[start], places[stop]) for start, stop in found] + pairs)

    def _kind(self, pair: str) -> int:
        found = self._kinds.get(pair)
        if found is None:
            if len(self._kinds) >= _MOST_PAIRS:
                self._kinds.clear()
            found = self._kinds[pair] = self.kind(pair[0], pair[1])
        return found


def counter_of(tokenizer: Countable, special: Recognised = "recognise") -> TextCounter:
    """Return the counter of a tokenizer, without regard to its template.

    >>> from bpe_ref import load
    >>> counter = counter_of(load("tiny"))
    >>> counter.count("to be"), counter.is_safe_cut("o", " "), counter.is_safe_cut(" ", "b")
    (2, True, False)
    """
    treatment = tokenizer.treatment(special)

    def count(text: str, by: Countable = tokenizer) -> int:
        return len(by.encode(text, add_special_tokens=False, special=special))

    def spans(text: str) -> Sequence[Span]:
        return _added_spans(tokenizer, text, treatment)

    @cache
    def long_pieces() -> LongPieces | None:
        return long_pieces_of(tokenizer, treatment, count, spans, merging_of(tokenizer.model))

    def remembering(forwards: bool) -> Callable[[str], int] | None:
        if not merges_symbols(tokenizer.model):
            return None
        model = CountingModel(tokenizer.model, forwards=forwards)
        return partial(count, by=tokenizer.replace(model=model))

    return TextCounter(
        count,
        spans,
        _never if tokenizer.model.drops_merges else _Rule(tokenizer).kind,
        cache(lambda: fewest_of(tokenizer)),
        long_pieces,
        remembering,
    )


class _Rule:
    """Whether two characters make a safe cut."""

    def __init__(self, tokenizer: Countable) -> None:
        self._normalizers = [step for step in (tokenizer.normalizer,) if step is not None]
        self._pre_tokenizers = [step for step in (tokenizer.pre_tokenizer,) if step is not None]
        self._model = tokenizer.model
        added = tokenizer.added
        self._given = _Contents(added.contents(normalized=False))
        self._normalized = _Contents(added.contents(normalized=True))
        frozen = getattr(tokenizer.model, "user_defined", None)
        self._frozen = _Contents(
            {text: AddedToken(text) for text in frozen.pieces} if frozen else {}
        )

    def kind(self, left: str, right: str) -> int:
        if any_surrogate(left + right):
            return _NO
        if self._given.may_reach(left, right) or self._frozen.may_reach(left, right):
            return _NO
        changed = meet(self._normalizers, (left,), (right,))
        if changed is None:
            return _NO
        for one, other in product(changed.lefts, changed.rights):
            if self._normalized.may_reach(one, other) or self._frozen.may_reach(one, other):
                return _NO
        found = meet(self._pre_tokenizers, changed.lefts, changed.rights)
        if found is None:
            return _NO
        alone = changed.alone and found.alone
        if not alone and (left in self._given.ends or changed.lefts & self._normalized.ends):
            return _NO
        if not found.border:
            is_border = getattr(self._model, "is_border", None)
            if is_border is None or not all(
                is_border(one, other) for one, other in product(found.lefts, found.rights)
            ):
                return _NO
        return _ALONE if alone else _AFTER


class _Contents:
    """What is known about places in added tokens, and beside them."""

    def __init__(self, tokens: Mapping[str, AddedToken]) -> None:
        self._pairs = frozenset(a + b for text in tokens for a, b in pairwise(text))
        self.ends = frozenset(text[-1] for text in tokens)
        self._words = frozenset(text for text, token in tokens.items() if token.single_word)
        self._takes_before = any(token.lstrip for token in tokens.values())
        self._takes_behind = frozenset(text[-1] for text, token in tokens.items() if token.rstrip)

    def may_reach(self, left: str, right: str) -> bool:
        """Return whether an added token on one side may have to do with the other side."""
        if left + right in self._pairs:
            return True
        if any(text[-1] == left or text[0] == right for text in self._words):
            return True
        if self._takes_before and left in white_space():
            return True
        return (
            bool(self._takes_behind)
            and right in white_space()
            and (left in white_space() or left in self._takes_behind)
        )


def _added_spans(tokenizer: Countable, text: str, treatment: Treatment) -> Sequence[Span]:
    """Return where the added tokens are in a text without surrogates, with what they strip.

    The user-defined pieces of a SentencePiece model are among them.
    """
    added, normalizer = tokenizer.added, tokenizer.normalizer
    frozen = getattr(tokenizer.model, "user_defined", None)
    if frozen is not None and frozen.pieces:
        pieces = pieces_of(text, added, normalizer, None, treatment)
        encoding = encode_pieces(tokenizer.model, pieces, text, 0)
        ids = {tokenizer.model.vocab[piece] for piece in frozen.pieces} | added.tokens.keys()
        found = zip(encoding.ids, encoding.offsets, strict=True)
        return [span for token, span in found if token in ids]
    if normalizer is not None and added.has(normalized=True):
        pieces = pieces_of(text, added, normalizer, None, treatment)
        return [(piece.start, piece.end) for piece, token in pieces if token is not None]
    spans: list[Span] = []
    for start, stop, token in added.cut(text, normalized=False, treatment=treatment):
        if token is not None:
            spans.append((start, stop))
            continue
        inner = added.cut(text[start:stop], normalized=True, treatment=treatment)
        spans += [(start + cut.start, start + cut.stop) for cut in inner if cut.token is not None]
    return spans
