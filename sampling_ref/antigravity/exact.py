"""The function on exact numbers: nothing is rounded, and every decision is the true one.

The probabilities are never calculated. They are in the proportions of the real numbers
e^(logit / temperature), and `first_reaching` decides where a running sum of those reaches a
share of a total. Probabilities sort as logits do, for a temperature above 0.

Subtracting from `r` times the sum until no more than 0 is left ends at the first token
whose running sum is at least `r` times the sum. Since `r` is below 1 there is always one.
"""

from collections.abc import Sequence
from fractions import Fraction
from heapq import nlargest
from math import inf

from sampling_ref.antigravity.penalty import penalise
from sampling_ref.antigravity.settings import Settings
from sampling_ref.antigravity.stages import Stages
from sampling_ref.history import last_tokens
from sampling_ref.numbers.orders import last_greatest
from sampling_ref.numbers.reaching import first_reaching
from sampling_ref.numbers.softmax import softmax
from sampling_ref.row import Number, TokenId


def sample_exactly(
    logits: Sequence[Number], history: Sequence[TokenId], r: Number, settings: Settings
) -> TokenId:
    """Return the token that is drawn. The arguments are read and checked already.

    >>> settings = Settings(Fraction(1), Fraction(1), 2, Fraction(2), 64)
    >>> sample_exactly([4.0, 3.0, 1.0], [0], Fraction(1, 4), settings)
    1
    """
    penalised = penalise(logits, history, settings, Fraction)
    if settings.temperature == 0:
        return last_greatest(penalised)
    touched = set(last_tokens(history, settings.repetition_window))
    candidates = largest(penalised, touched, settings)
    return draw(penalised, nucleus(penalised, candidates, settings), r, settings)


def stages_exactly(
    logits: Sequence[Number], history: Sequence[TokenId], r: Number, settings: Settings
) -> Stages:
    """Return what every step leaves behind."""
    penalised = penalise(logits, history, settings, Fraction)
    if settings.temperature == 0:
        return Stages(penalised, [], [], [], [], is_exhausted=False, token=last_greatest(penalised))
    factor = 1 / Fraction(settings.temperature)
    scaled = [logit if logit == -inf else Fraction(logit) * factor for logit in penalised]
    candidates = largest(penalised, set(history), settings)
    kept = nucleus(penalised, candidates, settings)
    return Stages(
        penalised=penalised,
        scaled=scaled,
        probabilities=list(softmax(penalised, factor=factor)),
        top_k=candidates,
        top_p=kept,
        is_exhausted=False,
        token=draw(penalised, kept, r, settings),
    )


def largest(
    penalised: Sequence[Number], touched: set[TokenId], settings: Settings
) -> list[TokenId]:
    """Return the `top_k` possible tokens with the largest logits, equals by rising id.

    `touched` are tokens whose logit may be a fraction. They are few, and a fraction
    compares slowly, so the others are selected first: whatever is among the `top_k` of
    all is touched, or is among the `top_k` of the others.

    >>> largest([1.0, Fraction(3, 2), 1.0, 2.0, 1.0], {1}, Settings(top_k=3))
    [3, 1, 0]
    """
    count = settings.top_k or len(penalised)
    others = list(penalised)
    for token in touched:
        others[token] = -inf
    least = nlargest(count, others)[-1]
    candidates = {token for token, logit in enumerate(others) if logit >= least} | touched
    possible = sorted(token for token in candidates if penalised[token] != -inf)
    return sorted(possible, key=penalised.__getitem__, reverse=True)[:count]


def nucleus(
    penalised: Sequence[Number], candidates: list[TokenId], settings: Settings
) -> list[TokenId]:
    """Return the candidates up to the first whose running sum is greater than `top_p`.

    Both weights are half of the sum, and exactly half is not more than half:

    >>> row = [0.0, 0.0, -inf]
    >>> nucleus(row, [0, 1], Settings(temperature=1, top_p=Fraction(1, 2)))
    [0, 1]
    """
    crossing = first_reaching(
        [penalised[token] for token in candidates],
        settings.top_p,
        strictly=True,
        total=penalised,
        factor=1 / Fraction(settings.temperature),
    )
    return candidates if crossing is None else candidates[: crossing + 1]


def draw(
    penalised: Sequence[Number], kept: list[TokenId], r: Number, settings: Settings
) -> TokenId:
    """Return the first kept token whose running sum is at least `r` times the sum of all kept.

    >>> draw([0.0, 0.0], [0, 1], Fraction(1, 2), Settings(temperature=1))
    0
    """
    drawn = first_reaching(
        [penalised[token] for token in kept], r, factor=1 / Fraction(settings.temperature)
    )
    assert drawn is not None, "the sum of all is at least r times itself"  # noqa: S101 - our own
    return kept[drawn]
