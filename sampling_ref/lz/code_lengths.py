"""How many bits LZSS needs for a match and for a literal: propositions 1 and 2.

Ginart et al., "LZ Penalty", 2025, section 2.2, propositions 1 and 2
(https://arxiv.org/abs/2504.20131), after Storer and Szymanski, "Data compression via
textual substitution", Journal of the ACM 29 (4), 1982. The rule:

    A match of length l at distance d costs log l + log d + 1 bits.
    A literal costs log V + 1 bits, V being the number of tokens in the vocabulary.

The 1 is the flag that says which of the two follows.

Base
    Two: the lengths are bits. The paper uses "binary logarithms" in its example only.
Rounding
    None. A length is the binary logarithm of a whole number, its *power*, and the power
    is what is kept. Lengths add where powers multiply, so every sum and every comparison
    of lengths is exact.
Whole bits
    The lengths are no whole numbers, and no code has them even on the average: the sum of
    2^-length over all codes that can come next passes 1 as soon as the window holds more
    than one token, so no decoder could tell them apart (Kraft's inequality). They are what
    the fields would cost if the decoder knew how wide each field is. `compressor` writes
    real bits, and they are never fewer.
"""

from typing import Any

from sampling_ref.errors import ParameterError


def pair_power(length: int, distance: int) -> int:
    """Return 2 to the length in bits of the code of a match: proposition 1.

    >>> pair_power(length=2, distance=4)  # 1 + 2 + 1 = 4 bits
    16
    """
    return 2 * length * distance


def literal_power(size: int) -> int:
    """Return 2 to the length in bits of the code of a literal: proposition 2.

    `size` is the number of tokens in the vocabulary.

    >>> literal_power(size=8)  # 3 + 1 = 4 bits
    16
    """
    return 2 * size


def read_bits(value: Any) -> str:
    """Return the parameter `bits`: a string of the digits 0 and 1.

    >>> read_bits("012")
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: bits must be a string of the digits 0 and 1, got '012'
    """
    if not isinstance(value, str) or not set(value) <= {"0", "1"}:
        raise ParameterError("bits", value, "must be a string of the digits 0 and 1")
    return value
