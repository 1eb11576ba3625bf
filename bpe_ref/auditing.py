"""What is unusual about a vocabulary: the facts that clever encoders silently rely on.

Improper tokens
    are made from a part of higher rank than their own. Training makes none;
    editing a vocabulary does. Encoders that take ranks to rise along the way
    (radix queues, the seam test used without a check) are wrong for them.

Dead tokens
    do not encode to themselves: no merging ever makes them. They can still be
    reached where a piece that is a token is taken whole.

Holes
    are ids below the highest one that belong to no token, special or not.

Missing bytes
    have no token of their own, so a text that contains one cannot be encoded.

Llama 3 has 588 dead and 81 improper tokens; cl100k_base, o200k_base and
voyage3_base have none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.compatibility import build_derivations
from bpe_ref.vocabulary.merges import Pair, TokenId


@dataclass(frozen=True)
class Audit:
    """The findings. Every sequence of ids is in rising order.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> found = audit(vocabulary_by_concatenation({b"a": 0, b"aaa": 1, b"aa": 2, b"abc": 5}))
    >>> found.improper_tokens, found.dead_tokens, found.holes
    ((1,), (5,), (range(3, 5),))
    """

    splits: Mapping[TokenId, Pair]
    """Token to the pair that merges into it; symbols and dead tokens have none."""

    dead_tokens: Sequence[TokenId]
    improper_tokens: Sequence[TokenId]
    holes: Sequence[range]
    missing_bytes: bytes
    ids_follow_ranks: bool
    """Whether ids and ranks put the tokens in the same order (by concatenation)."""

    @property
    def is_orderly(self) -> bool:
        """Whether GitHub's original conditions hold: no dead and no improper tokens."""
        return not self.dead_tokens and not self.improper_tokens


def audit(vocabulary: Vocabulary) -> Audit:
    """Examine a vocabulary. Takes about half a second for 100,000 tokens.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> audit(vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2})).splits
    {2: (0, 1)}
    """
    made = vocabulary.remember(build_derivations)
    merged = range(made.symbols, len(made.ids))
    splits = {
        made.ids[place]: (made.ids[made.lefts[place]], made.ids[made.rights[place]])
        for place in merged
    }
    improper = [
        made.ids[place] for place in merged if max(made.lefts[place], made.rights[place]) > place
    ]
    ranks = getattr(vocabulary.rule, "ranks", {})
    by_id = [ranks[token] for token in sorted(ranks)]
    return Audit(
        splits=dict(sorted(splits.items())),
        dead_tokens=tuple(sorted(vocabulary.tokens.keys() - made.places.keys())),
        improper_tokens=tuple(sorted(improper)),
        holes=tuple(_holes(sorted({*vocabulary.tokens, *vocabulary.special_bytes}))),
        missing_bytes=bytes(
            byte for byte in range(256) if chr(byte) not in vocabulary.symbol_of_letter
        ),
        ids_follow_ranks=by_id == sorted(by_id),
    )


def _holes(ids: Sequence[TokenId]) -> list[range]:
    """Return the gaps between sorted ids, and before the first."""
    return [
        range(before + 1, after)
        for before, after in zip([-1, *ids], ids, strict=False)
        if after > before + 1
    ]
