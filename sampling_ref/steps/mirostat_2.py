"""Mirostat 2: keep the surprise of the text near a target.

Basu, Ramachandran, Keskar and Varshney, "Mirostat: A Neural Text Decoding Algorithm that
Directly Controls Perplexity", ICLR 2021, algorithm 2 (https://arxiv.org/abs/2007.14966). The
rule:

    Remove the tokens whose surprise, -log2 p, is above mu. Draw one of the others. Then
    mu becomes mu - eta * (surprise of the drawn token - tau). At the start, mu is 2 * tau.

Equality
    A token whose surprise is exactly mu is kept.
None left
    If even the most probable token is more surprising than mu, it is kept alone, the one
    of the lowest id.
Whose surprise, and the draw
    See `steps/mirostat.py`.
Rounding
    What is kept and what is drawn is decided exactly. The surprise is the nearest float,
    and mu is calculated from it in floats.
"""

from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.protocol import Numbers, Surprise
from sampling_ref.parameters import read_fraction
from sampling_ref.row import Candidates, Number
from sampling_ref.steps.mirostat import next_mu
from sampling_ref.steps.step import rule


@rule("removes tokens that are too surprising, to hold the surprise near {tau}", remember=next_mu)
def mirostat_2(
    candidates: Candidates, mu: Number | None = None, *, tau: Number, numbers: Numbers = EXACT
) -> Candidates:
    """Return the candidates of at most `mu` bits of surprise, by default twice tau.

    >>> mirostat_2([0.0, 0.0, 0.0, 0.0], mu=2.0, tau=1.0).tokens
    [0, 1, 2, 3]
    >>> mirostat_2([0.0, 0.0, 0.0, 0.0], mu=1.5, tau=1.0).tokens
    [0]
    """
    most = 2 * read_fraction("tau", tau) if mu is None else read_fraction("mu", mu)
    here = numbers.of(candidates)
    return here.keep_at_least(Surprise(most), strictly=False, least=1, ties="lowest id")
