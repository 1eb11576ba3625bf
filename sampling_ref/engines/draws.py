"""The draw of an engine: which candidate its random numbers choose.

`Draw` is the engine's rule as data. The random numbers are taken from the situation: one for
an inverse CDF, one for each token of the vocabulary for a race.

Discrete distribution
    of the C++ standard library: weights are divided by their sum, the running sums of the
    quotients are taken, and the last one is set to 1. With a single candidate it takes no
    random number.
Subtraction
    An inverse CDF that counts down from the random share to 0; without rounding the same.
Races
    The token with the least e / weight, e = -log of a uniform number, is the one with the
    largest logit - log e: in exact arithmetic an exponential race is Gumbel-max with the same
    noise.
"""

from fractions import Fraction
from itertools import chain

from sampling_ref.draws.exponential_race import exponential_race
from sampling_ref.draws.gumbel_max import gumbel_max
from sampling_ref.draws.inverse_cdf import token_at
from sampling_ref.draws.torch_cpu import multinomial_torch_cpu
from sampling_ref.engines.profile import Draw
from sampling_ref.numbers.torch32 import Torch32
from sampling_ref.row import Candidates, TokenId
from sampling_ref.steps.step import Situation


def draw(candidates: Candidates, rule: Draw, situation: Situation) -> TokenId:
    """Return the candidate that an engine draws with the situation's random numbers.

    >>> from sampling_ref.random.sources import Given
    >>> situation = Situation(2, randomness=Given([0.75]))
    >>> draw(Candidates([1, 0], [0.0, 0.0]), Draw("inverse CDF", "candidates"), situation)
    0
    """
    numbers = situation.numbers
    if rule.method in {"Gumbel-max", "exponential race"}:
        return _race(candidates, rule, situation)
    is_discrete = rule.method == "discrete distribution"
    if is_discrete and len(candidates.tokens) == 1:
        return candidates.tokens[0]
    u = Fraction(numbers.uniform(situation.randomness.uniform("the draw", "f64"), "f64"))
    if is_discrete:
        places = range(len(candidates.tokens))
        end = numbers.of(candidates).reaching(places, u, strictly=False, of="quotients")
        return candidates.tokens[places[-1] if end is None else end]
    return token_at(
        candidates.at(walk(candidates, rule.order)),
        u,
        boundary=rule.boundary,
        zero_weight=rule.zero_weight,
        numbers=numbers,
    )


def walk(candidates: Candidates, order: str) -> list[int]:
    """Return the places of the candidates in the order in which a draw walks.

    >>> walk(Candidates([2, 0], [1.0, 3.0]), "vocabulary")
    [1, 0]
    """
    places = list(range(len(candidates.tokens)))
    if order == "vocabulary":
        return sorted(places, key=candidates.tokens.__getitem__)
    if order == "sorted":
        return sorted(places, key=candidates.logits.__getitem__, reverse=True)
    return places


def _race(candidates: Candidates, rule: Draw, situation: Situation) -> TokenId:
    """Return the token that wins a race of noisy weights."""
    numbers = situation.numbers
    uniforms = situation.randomness.many("the draw", situation.size)
    if isinstance(numbers, Torch32):
        row = candidates.as_row(numbers.law(candidates), situation.size, others=0.0)
        pairs = (divmod(int(number * 2**53), 2**32) for number in uniforms)  # torch's two words
        return multinomial_torch_cpu(row, chain.from_iterable(pairs))
    own = [uniforms[token] for token in candidates.tokens]
    if rule.method == "exponential race" and numbers.rounds:
        place = exponential_race(numbers.law(candidates), own, noise=rule.noise)
    else:
        place = gumbel_max(candidates.logits, own, noise=rule.noise, factor=candidates.factor)
    return candidates.tokens[place]
