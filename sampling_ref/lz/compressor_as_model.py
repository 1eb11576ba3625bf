"""A compressor as a model: the shorter a token's code, the likelier the token.

Ginart et al., "LZ Penalty", 2025, section 2.3, proposition 3
(https://arxiv.org/abs/2504.20131); the duality itself is Shannon's, and in Cover and
Thomas, "Elements of Information Theory", 2006, chapter 5. The rule:

    p(a) = 2^-|C(a)| / Z,  Z the sum of 2^-|C(a)| over all tokens.

Sign and base
    The paper prints softmax(+|C|). That makes tokens with long codes likely, and it is
    measured in nats, not in bits. Two to the power of minus the length is meant.
When rate and cross-entropy agree
    -log2 p(a) = |C(a)| + log2 Z. So they agree for a complete code only, Z = 1 (Kraft:
    Z <= 1 for every code that can be decoded). Otherwise the model predicts better than
    the compressor compresses, by log2(1/Z) bits a token.
Lengths that are no whole numbers
    The lengths of LZSS (see `compressor`) are logarithms of rational numbers q, and
    2^-log2(q) is 1/q. So the powers are what this module takes, and every probability is
    an exact rational number.
Compressors that write several tokens at once
    They have no code length for the next token alone. The paper takes the change of the
    length of a pretended buffer; so does `lz_model`. A constant in all changes cancels.
What the penalty is then
    With p the dual model of the compressor, adding strength * D(a) to a logit divides the
    weight of the token by p(a)^(strength / ln 2), up to a common factor.
"""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from sampling_ref.errors import ParameterError
from sampling_ref.lz.variants import lz_changes
from sampling_ref.parameters import read_choice
from sampling_ref.row import Row, TokenId

Model: TypeAlias = Callable[[Sequence[TokenId]], Row]
"""The tokens so far in, oldest first; one weight for each next token out.

Weights are finite, not negative and not all zero, with any common factor. Floats are taken
as the rational numbers they are."""


DualVariant: TypeAlias = Literal["corrected", "codelength"]
"""The variants of the penalty whose changes are lengths of codes."""


def kraft_sum(powers: Iterable[Any]) -> Fraction:
    """Return Z, the sum of 2^-length; `powers` holds 2^length for each token.

    >>> kraft_sum([2, 4, 8, 8]), kraft_sum([2, 4, 8])
    (Fraction(1, 1), Fraction(7, 8))
    """
    return sum((1 / power for power in read_powers(powers)), start=Fraction(0))


def dual_distribution(powers: Iterable[Any]) -> list[Fraction]:
    """Return the probability of each token; `powers` holds 2^length for each.

    Codes of 1, 2, 3 and 3 bits:

    >>> [str(p) for p in dual_distribution([2, 4, 8, 8])]
    ['1/2', '1/4', '1/8', '1/8']
    """
    powers = read_powers(powers)
    total = kraft_sum(powers)
    return [1 / (power * total) for power in powers]


def read_powers(powers: Iterable[Any]) -> list[Fraction]:
    """Return powers as fractions: rational numbers above 0, at least one."""
    read: list[Fraction] = []
    for place, power in enumerate(powers):
        is_rational = isinstance(power, int | Fraction) and not isinstance(power, bool)
        if not is_rational or power <= 0:
            raise ParameterError(f"powers[{place}]", power, "must be a rational number above 0")
        read.append(Fraction(power))
    if not read:
        raise ParameterError("powers", read, "must hold at least one number")
    return read


def lz_model(
    size: int, *, window: int = 512, buffer: int = 32, variant: DualVariant = "codelength"
) -> Model:
    """Return the dual model of the sliding window compressor, over `size` tokens.

    After 1 2 3 4 1 2 3 the model expects 4:

    >>> model = lz_model(8, window=4, buffer=3)
    >>> [str(p) for p in model([1, 2, 3, 4, 1, 2, 3])]
    ['3/110', '3/55', '4/55', '6/55', '36/55', '3/110', '3/110', '3/110']
    """
    read_choice("variant", variant, ("corrected", "codelength"))

    def model(history: Sequence[TokenId]) -> list[Fraction]:
        changes = lz_changes(history, size, window=window, buffer=buffer, variant=variant)
        return dual_distribution([changes.of(token).power for token in range(size)])

    return model
