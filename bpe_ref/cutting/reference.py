"""Our own `Tokenizer`, told apart into what counting and cutting ask for.

Safe cuts
    With a pattern of the registry: its certain borders (see `borders`). Without
    a pattern: where no token has the two bytes left and right of the place next
    to each other, for then nothing merges across it (see
    `compatibility.joints`). With any other pattern: none.

    Special tokens must not reach over the place, now or later: so wherever some
    special token has these two characters next to each other, nothing is sure.
    At both ends of a special token that is there, the text is cut; but a
    special token elsewhere may take a part of it away, as long as the text
    grows. So these ends are no safe cuts, but *settled* ones once the longest
    special token could not begin there any more.

Code points
    A surrogate pair in a Python string is one code point, and is not cut.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from bpe_ref.compatibility import joints
from bpe_ref.cutting.borders import BorderRule, border_rule
from bpe_ref.cutting.long_pieces import ReferencePieces
from bpe_ref.cutting.surrogates import any_surrogate, in_the_original
from bpe_ref.cutting.whole import LongPieces, Span, Whole
from bpe_ref.errors import ParameterError
from bpe_ref.special_tokens import SpecialChoice, choose, split_special
from bpe_ref.tokenizer import Tokenizer, without_surrogates

_FIRST_MARK: Final = "\u0300"


def whole_tokenizer(tokenizer: Tokenizer, *, allowed_special: SpecialChoice = "all") -> Whole:
    """Return a tokenizer as the functions of this package take it.

    Special tokens that are not allowed are text like any other.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1}, special_tokens={"<ab>": 9})
    >>> whole = whole_tokenizer(Tokenizer(vocabulary))
    >>> whole.count("a<ab>b"), whole.unbreakable("a<ab>b"), whole.is_safe_cut("", "a", "b")
    (3, [(1, 5)], False)
    """
    if not isinstance(tokenizer, Tokenizer):
        raise ParameterError("tokenizer", tokenizer, "must be a Tokenizer")
    vocabulary = tokenizer.vocabulary
    allowed, _ = choose(vocabulary.special_tokens, allowed_special, ())
    specials = allowed.intersection(vocabulary.special_tokens)
    rules = vocabulary.text
    normalized = rules.normalization is not None
    rule = (
        None
        if rules.pattern is None
        else border_rule(rules.pattern, rules.tables, normalized=normalized)
    )
    bounded = (rules.pattern is None or rule is not None) and not normalized
    sizes = [*map(len, vocabulary.tokens.values()), *map(len, specials)]
    return _Reference(
        tokenizer,
        specials,
        rule,
        special_pairs=frozenset(a + b for text in specials for a, b in pairwise(text)),
        normalized=normalized,
        longest=max(sizes, default=1) if bounded else None,
    )


@dataclass(frozen=True)
class _Reference:
    """A tokenizer, the special tokens that it may find, and what is sure about its borders."""

    tokenizer: Tokenizer
    specials: frozenset[str]
    rule: BorderRule | None
    special_pairs: frozenset[str]
    """Every two characters next to each other in some special token."""

    normalized: bool
    longest: int | None

    def count(self, text: str) -> int:
        """Return the number of tokens of the text alone; allowed special tokens count one."""
        if not self.specials:
            return self.tokenizer.count(text)
        parts = split_special(without_surrogates(text), self.specials)
        return sum(
            self.tokenizer.count(stretch) + (special is not None) for stretch, special in parts
        )

    def unbreakable(self, text: str) -> Sequence[Span]:
        """Return where the special tokens and the surrogate pairs are."""
        spans: list[Span] = []
        at = 0
        for stretch, special in split_special(without_surrogates(text), self.specials):
            at += len(stretch)
            if special is not None:
                spans.append((at, at + len(special)))
                at += len(special)
        return in_the_original(text, spans)

    def is_safe_cut(self, before: str, left: str, right: str) -> bool:
        """Return whether counts add up between two characters, see the module."""
        if left + right in self.special_pairs:
            return False
        if self.rule is not None:
            return self.rule.is_certain(before, left, right)
        if self.tokenizer.vocabulary.text.pattern is not None or any_surrogate(left + right):
            return False
        if self.normalized and max(left, right) >= _FIRST_MARK:
            return False
        seam = left.encode()[-1:] + right.encode()[:1]
        return seam.decode("latin-1") not in self.tokenizer.vocabulary.remember(joints)

    @property
    def long_pieces(self) -> LongPieces | None:
        """What is known about long pieces: of the registry's patterns, and without a pattern."""
        if self.rule is None and self.tokenizer.vocabulary.text.pattern is not None:
            return None
        return ReferencePieces(
            self.tokenizer, self.count, self.specials, self.special_pairs, self.rule
        )
