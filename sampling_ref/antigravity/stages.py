"""What every step leaves behind, for those who want to look inside."""

from collections.abc import Collection
from dataclasses import dataclass

from sampling_ref.row import Number, Row, TokenId


@dataclass(frozen=True)
class Stages:
    """The row after each step, and the tokens in play, likeliest first.

    At temperature 0 nothing is scaled, sorted or drawn: those lists are then empty.
    """

    penalised: Row
    """Logits after the repetition penalty."""

    scaled: Row
    """Logits after the temperature."""

    probabilities: Row
    """After the softmax. The exact version gives the nearest floats; it decides without them."""

    top_k: list[TokenId]
    """The candidates that top-k leaves, in the order of the sort."""

    top_p: list[TokenId]
    """The candidates that top-p leaves, in the same order."""

    is_exhausted: bool
    """Whether the subtraction ended above 0, so that `exhausted` had to say what is drawn."""

    token: TokenId
    """The token that was drawn."""

    def rows(self) -> list[tuple[str, Row]]:
        """Return the steps' names with their rows; a filter leaves 0 where it removed a token.

        >>> stages = Stages([1.0, 2.0], [2.0, 4.0], [0.125, 0.875], [1, 0], [1], False, 1)
        >>> stages.rows()[3:]
        [('top-k', [0.125, 0.875]), ('top-p', [0.0, 0.875])]
        """
        rows: list[tuple[str, Row]] = [("repetition penalty", self.penalised)]
        if self.probabilities:
            rows += [
                ("temperature", self.scaled),
                ("softmax", self.probabilities),
                ("top-k", self._only(self.top_k)),
                ("top-p", self._only(self.top_p)),
            ]
        return rows

    def _only(self, tokens: Collection[TokenId]) -> list[Number]:
        kept = set(tokens)
        return [
            probability if token in kept else 0.0
            for token, probability in enumerate(self.probabilities)
        ]
