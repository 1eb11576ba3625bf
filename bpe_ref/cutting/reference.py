"""Our own `Tokenizer`, told apart into what counting and cutting ask for.

What is sure about it is in `by_pieces`: special tokens are cut out, the rest is
normalized and cut by a pattern, or one piece without, and bytes merge.
"""

from collections.abc import Sequence
from itertools import accumulate

from bpe_ref.added_tokens.special_tokens import SpecialChoice, choose, split_special
from bpe_ref.cutting.borders import border_rule
from bpe_ref.cutting.by_pieces import CountedByPieces, Pieces, SpecialTokens
from bpe_ref.cutting.whole import Span, Whole
from bpe_ref.errors import ParameterError
from bpe_ref.given_text import without_surrogates
from bpe_ref.tokenizer import Tokenizer


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

    def count(text: str) -> int:
        if not specials:
            return tokenizer.count(text)
        parts = split_special(without_surrogates(text), specials)
        return sum(tokenizer.count(stretch) + (special is not None) for stretch, special in parts)

    def special_spans(text: str) -> Sequence[Span]:
        parts = [part for both in split_special(text, specials) for part in both]
        ends = [0, *accumulate(len(part or "") for part in parts)]
        return [(ends[at], ends[at + 1]) for at in range(1, len(parts), 2) if parts[at] is not None]

    pieces = Pieces(
        cut=tokenizer.pieces,
        count=lambda piece: len(tokenizer.encode_piece(piece.encode())),
        rule=rule,
        patterned=rules.pattern is not None,
        normalized=normalized,
        vocabulary=vocabulary,
    )
    special_tokens = SpecialTokens(specials, special_spans)
    longest = max(sizes, default=1) if bounded else None
    return CountedByPieces(count, special_tokens, special_tokens.pairs(), pieces, longest)
