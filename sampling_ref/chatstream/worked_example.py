"""The worked example of ChatStream's article, three times.

Qualiteg, "Three penalties in LLM sampling" (in Japanese;
https://blog.qualiteg.com/making_penalty_processor), section "a concrete example of the
sampling calculation". Seven tokens; "Qualiteg" was generated once; repetition 1.2,
frequency 0.8, presence 1.5, temperature 0.7, top-k 50, top-p 0.9.

As published
    The printed digits come out if every stage is rounded to two decimals, also the weights
    and the shares, if the logit is *multiplied* by the frequency penalty, and if top-k
    leaves five tokens ("50, but only the five best are shown" is where the article leaves
    the other two out of the sum). Kept: until the sum of shares exceeds 0.9.
Exactly
    The same operations without rounding, and with k = 50, which leaves all seven. Their
    weight counts, so that two more are kept.
As coded
    The article's own code divides by the frequency penalty. Without rounding, k = 50.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp
from typing import Final, Literal, TypeAlias

from sampling_ref.candidates import Candidates
from sampling_ref.chatstream.processors import (
    FrequencyPenaltyProcessor,
    PresencePenaltyProcessor,
    RepetitionPenaltyProcessor,
)
from sampling_ref.numbers.exact import WEIGHTS
from sampling_ref.numbers.orders import largest_first
from sampling_ref.row import Number, TokenId
from sampling_ref.steps.top_k import top_k
from sampling_ref.steps.top_p import top_p

TOKENS: Final = ("Qualiteg", "May", "Change", "the", "World", "with", "ChatStream")
LOGITS: Final = tuple(map(Fraction, ("2", "1.5", "1", "0.5", "0.3", "0.2", "0.1")))
GENERATED: Final = (0,)
REPETITION, FREQUENCY, PRESENCE = Fraction("1.2"), Fraction("0.8"), Fraction("1.5")
TEMPERATURE, TOP_K, TOP_P = Fraction("0.7"), 50, Fraction("0.9")
SHOWN: Final = 5
DECIMALS: Final = 2

FrequencyOperation: TypeAlias = Literal["multiply", "divide"]


@dataclass(frozen=True)
class Stages:
    """What the example shows.

    `penalised` has the logit of "Qualiteg" after repetition, frequency and presence
    penalty, `divided` all logits after the temperature, `kept` the tokens that are left,
    likeliest first.
    """

    penalised: tuple[Number, ...]
    divided: tuple[Number, ...]
    kept: tuple[str, ...]


def as_published() -> Stages:
    """Return the stages with the digits that the article prints.

    >>> published = as_published()
    >>> [float(number) for number in published.penalised]
    [1.67, 1.34, 0.89]
    >>> [float(number) for number in published.divided]
    [1.27, 2.14, 1.43, 0.71, 0.43, 0.29, 0.14]
    >>> published.kept
    ('May', 'Change', 'Qualiteg', 'the')
    """
    row: list[Number] = list(LOGITS)
    seen = []
    for change in (1 / REPETITION, FREQUENCY, 1 / PRESENCE):
        row[0] = round(Fraction(row[0]) * change, DECIMALS)
        seen.append(row[0])
    divided = [round(Fraction(logit) / TEMPERATURE, DECIMALS) for logit in row]
    best = largest_first(divided)[:SHOWN]
    weights = [round(Fraction(exp(divided[token])), DECIMALS) for token in best]
    total = sum(weights)
    shares = [round(weight / total, DECIMALS) for weight in weights]
    row_of_shares = Candidates(range(len(shares)), shares, whole=[Fraction(1)])
    kept = top_p(
        row_of_shares, TOP_P, boundary="exceed", base="the whole row", numbers=WEIGHTS
    ).tokens
    return Stages(tuple(seen), tuple(divided), tuple(TOKENS[best[place]] for place in sorted(kept)))


def exactly(frequency: FrequencyOperation = "multiply") -> Stages:
    """Return the stages without rounding.

    >>> exactly().penalised
    (Fraction(5, 3), Fraction(4, 3), Fraction(8, 9))
    >>> exactly().kept
    ('May', 'Change', 'Qualiteg', 'the', 'World', 'with')
    """
    past = {"past_tokens": GENERATED, "penalty": REPETITION}
    repeated = RepetitionPenaltyProcessor().process(LOGITS, past)["logits"]
    counting = FrequencyPenaltyProcessor()
    counting.update_token_counts(GENERATED)
    divisor = FREQUENCY if frequency == "divide" else 1 / FREQUENCY
    counted = counting.process(repeated, {"penalty": divisor})["logits"]
    seeing = PresencePenaltyProcessor()
    seeing.update_seen_tokens(GENERATED)
    seen = seeing.process(counted, {"penalty": PRESENCE})["logits"]
    divided = [Fraction(logit) / TEMPERATURE for logit in seen]
    kept = kept_of(divided)
    return Stages(
        (repeated[0], counted[0], seen[0]), tuple(divided), tuple(TOKENS[token] for token in kept)
    )


def as_coded() -> Stages:
    """Return the stages as the article's code calculates them, without rounding.

    >>> as_coded().penalised
    (Fraction(5, 3), Fraction(25, 12), Fraction(25, 18))
    >>> as_coded().kept
    ('May', 'Qualiteg', 'Change', 'the', 'World')
    """
    return exactly(frequency="divide")


def kept_of(logits: Sequence[Number]) -> list[TokenId]:
    """Return what top-k and top-p leave, likeliest first.

    >>> kept_of([0.0, 100.0])
    [1]
    """
    kept = top_p(top_k(logits, TOP_K), TOP_P, boundary="exceed").tokens
    return [token for token in largest_first(logits) if token in kept]
