"""The tokens that are still in play, in the order in which an engine holds them.

Some engines keep a whole row and mark removed tokens with minus infinity; others keep a
list that filters shorten and sort. Both are the same thing here: an ordered list of
tokens with their logits. The order matters where equals are cut and where a draw walks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf

from sampling_ref.row import Number, ReadRow, Row, TokenId


@dataclass(frozen=True)
class Candidates:
    """Tokens and their logits, in an engine's order.

    `tokens` and `logits` have one entry for each candidate. The true logit of a
    candidate is `factor` times its entry: a temperature divides the factor, not the
    entries, so that it rounds nothing. `is_sorted` says that the engine takes the
    candidates to be in falling order already. `whole` are the entries that stood before
    the first filter, for engines whose shares stay shares of the whole row; None if no
    filter has run. `weights` are probabilities that an engine carries along from a softmax
    before its filters; None if it computes them anew.

    >>> candidates = Candidates([2, 0], [1.5, 0.5])
    >>> candidates.row(4)
    [0.5, -inf, 1.5, -inf]
    """

    tokens: Sequence[TokenId]
    logits: Sequence[Number]
    factor: Fraction = Fraction(1)
    is_sorted: bool = False
    whole: Sequence[Number] | None = None
    weights: Sequence[Number] | None = None

    def true_logits(self) -> list[Number]:
        """Return the candidates' logits; those behind a temperature as the nearest floats.

        >>> Candidates([0, 1], [1.0, 3.0], Fraction(1, 2)).true_logits()
        [0.5, 1.5]
        """
        if self.factor == 1:
            return list(self.logits)
        return [
            logit if logit == -inf else float(Fraction(logit) * self.factor)
            for logit in self.logits
        ]

    def row(self, size: int) -> list[Number]:
        """Return the logits as a row of `size` numbers, minus infinity for other tokens."""
        row: list[Number] = [-inf] * size
        logits = self.logits if self.factor == 1 else self.true_logits()
        for token, logit in zip(self.tokens, logits, strict=True):
            row[token] = logit
        return row

    def at(self, places: Sequence[int]) -> "Candidates":
        """Return only the candidates at these places, in this order.

        >>> Candidates([5, 6, 7], [0.5, 1.5, 2.5]).at([2, 0]).tokens
        [7, 5]
        """
        weights = self.weights
        return replace(
            self,
            tokens=[self.tokens[place] for place in places],
            logits=ReadRow(self.logits[place] for place in places),
            whole=self.logits if self.whole is None else self.whole,
            weights=None if weights is None else [weights[place] for place in places],
        )


def all_candidates(logits: Row) -> Candidates:
    """Return every token of a row, in the order of the vocabulary.

    >>> all_candidates([0.5, 1.5]).tokens
    range(0, 2)
    """
    return Candidates(range(len(logits)), logits)
