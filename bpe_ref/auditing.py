"""What is unusual about a vocabulary: the facts that clever encoders silently rely on.

Improper tokens
    are made from a part of higher rank than their own. Training makes none; editing a vocabulary
    does. Encoders that take ranks to rise along the way (radix queues, the seam test used without a
    check) are wrong for them.
Dead tokens
    do not encode to themselves: no merging ever makes them. If a piece that is a token is taken
    whole, no token is dead, and those that no merging makes are listed as `whole_tokens`. Of a
    model that does not merge bytes (`audit_model`), a dead token is one whose string does not
    become that token. Not dead are special and other added tokens, which are found before the model
    sees the text or are added by programs, the token for what is unknown, and the byte tokens of a
    model with byte fallback, which stand for the bytes of characters without a token.
Holes
    are ids below the highest one that belong to no token, special or not.
Missing bytes
    have no token of their own, so a text that contains one cannot be encoded.

Llama 3 has 81 improper tokens, and 588 that no merging makes; cl100k_base, o200k_base and
voyage3_base have none.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bpe_ref.components import Model
from bpe_ref.errors import SymbolError
from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.byte_alphabet import BYTE_PIECES
from bpe_ref.vocabulary.compatibility import build_derivations
from bpe_ref.vocabulary.merges import Pair, TokenId


@dataclass(frozen=True, repr=False)
class Audit:
    """The findings. Every sequence of ids is in rising order.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> found = audit(vocabulary_by_concatenation({b"a": 0, b"aaa": 1, b"aa": 2, b"abc": 5}))
    >>> found.improper_tokens, found.dead_tokens, found.holes
    ((1,), (5,), (range(3, 5),))
    >>> found
    <Audit: 2 merged, 1 dead, 1 improper tokens; 2 ids in holes; 255 missing bytes>
    """

    splits: Mapping[TokenId, Pair]
    """Token to the pair that merges into it; symbols and tokens that no merging makes have none."""

    dead_tokens: Sequence[TokenId]
    improper_tokens: Sequence[TokenId]
    holes: Sequence[range]
    missing_bytes: bytes | None
    """None if the model does not spell text as bytes."""

    ids_follow_ranks: bool
    """Whether ids and ranks put the tokens in the same order (by concatenation)."""

    changes: Sequence[str] = ()
    """What the other settings of its folder changed; see `Tokenizer.changes`."""

    whole_tokens: Sequence[TokenId] = ()
    """No merging makes them, but a piece that is one of them is taken whole."""

    notes: Sequence[str] = ()
    """What the file lacks: a pattern."""

    def __repr__(self) -> str:
        """Return the numbers of what was found, not the tens of thousands of ids."""
        missing = "" if self.missing_bytes is None else f"; {len(self.missing_bytes)} missing bytes"
        return (
            f"<Audit: {len(self.splits)} merged, {len(self.dead_tokens)} dead, "
            f"{len(self.improper_tokens)} improper tokens; "
            f"{sum(map(len, self.holes))} ids in holes{missing}>"
        )

    @property
    def is_orderly(self) -> bool:
        """Whether GitHub's original conditions hold: merging makes all tokens, none improper."""
        return not (self.dead_tokens or self.whole_tokens or self.improper_tokens)


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
    unmade = vocabulary.tokens.keys() - made.places.keys()
    dead, whole = (set(), unmade) if vocabulary.text.whole_piece else (unmade, set())
    missing = bytes(byte for byte in range(256) if chr(byte) not in vocabulary.symbol_of_letter)
    ids = {*vocabulary.tokens, *vocabulary.special_bytes}
    ranks = getattr(vocabulary.rule, "ranks", {})
    return _audit(splits, dead, improper, ids, missing, ranks, whole)


def audit_model(model: Model, added: Iterable[TokenId], rank_of: Mapping[TokenId, float]) -> Audit:
    """Examine a model of any kind, by what it makes of the strings of its tokens.

    `rank_of` is the rank of each token that a merge makes; `added` are the ids of special and
    other added tokens.

    >>> from bpe_ref.models.bpe import BPE
    >>> audit_model(BPE({"a": 0, "b": 1, "ab": 2, "ba": 4}, [("a", "b")]), (), {2: 0}).dead_tokens
    (4,)
    >>> model = BPE({"?": 0, "<0x61>": 1}, [], unk_token="?", byte_fallback=True)
    >>> audit_model(model, (), {}).dead_tokens
    ()
    """
    splits: dict[TokenId, Pair] = {}
    dead: list[TokenId] = []
    found = frozenset(added)
    stand_ins = {getattr(model, name, None) for name in ("unk_token", "unk_id", "unknown_id")}
    stand_ins |= {*BYTE_PIECES} if getattr(model, "byte_fallback", False) else set()
    for token, string in model.strings.items():
        if not stand_ins.isdisjoint((token, string)):
            continue
        try:
            steps = getattr(model, "last_steps", model.steps)(string)
        except SymbolError:
            steps = [[]]
        if steps[-1] != [token]:
            dead += [token] if token not in found else []
        elif len(steps) > 1 and len(steps[-2]) == 2:
            splits[token] = (steps[-2][0], steps[-2][1])
    first = min(rank_of.values(), default=0)
    improper = [
        token
        for token, parts in splits.items()
        if max(rank_of.get(part, first) for part in parts) > rank_of.get(token, first)
    ]
    return _audit(splits, dead, improper, {*model.strings, *found}, None, rank_of)


def _audit(
    splits: Mapping[TokenId, Pair],
    dead: Iterable[TokenId],
    improper: Iterable[TokenId],
    ids: Iterable[TokenId],
    missing: bytes | None,
    rank_of: Mapping[TokenId, float],
    whole: Iterable[TokenId] = (),
) -> Audit:
    """Return the findings in order; holes are the gaps between ids, and before the first."""
    by_id = [rank_of[token] for token in sorted(rank_of)]
    ends = pairwise([-1, *sorted(ids)])
    return Audit(
        splits=dict(sorted(splits.items())),
        dead_tokens=tuple(sorted(dead)),
        improper_tokens=tuple(sorted(improper)),
        holes=tuple(range(last + 1, first) for last, first in ends if first > last + 1),
        missing_bytes=missing,
        ids_follow_ranks=by_id == sorted(by_id),
        whole_tokens=tuple(sorted(whole)),
    )
