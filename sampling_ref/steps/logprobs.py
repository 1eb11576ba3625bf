"""Log-probabilities: the logarithm of the softmax of a row, in nats.

The rule:

    Replace each logit l by l - log(sum of e**l').

Impossible tokens
    stay at minus infinity.
Rounding
    In exact arithmetic each number is the nearest float.
"""

from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.protocol import Numbers
from sampling_ref.row import Candidates, ReadRow
from sampling_ref.steps.step import rule


@rule("logarithms of the probabilities")
def logprobs(candidates: Candidates, *, numbers: Numbers = EXACT) -> Candidates:
    """Return the candidates with the logarithms of their probabilities as logits.

    >>> logprobs([3.0, float("-inf")]).row(2)
    [0.0, -inf]
    """
    here = numbers.of(candidates)
    candidates, logs = here.candidates, ReadRow(here.probabilities(log=True))
    return Candidates(candidates.tokens, logs, is_sorted=candidates.is_sorted)
