"""A model as a compressor: arithmetic coding, exactly.

Witten, Neal and Cleary, "Arithmetic coding for data compression", Communications of the
ACM 30 (6), 1987 (https://doi.org/10.1145/214762.214771); the length: Cover and Thomas,
"Elements of Information Theory", 2006, section 13.3. The rule:

    Begin with the interval [0, 1). For each token, divide the interval among all tokens
    in proportion to their probabilities and keep the part of the one that comes. At the
    end, write the shortest binary fraction all of whose continuations lie in the interval.

Length
    The width of the last interval is the probability P that the model gives the sequence.
    An interval of width P has room for a binary fraction of ceil(-log2 P) + 1 digits with
    all its continuations, so the code is less than two bits longer than -log2 P. (The
    paper above this package says "within two bits of the entropy". It is the information
    in this sequence, not the average.)
Order of the parts
    By token id, from 0 up.
Continuations
    Because all continuations of a code lie in its interval, no code of n tokens begins
    another code of n tokens. The number of tokens is not written; the decoder is told.
Rounding
    None. The interval is held as whole numbers over a common denominator, which grows
    with every token. The coders of the article round to stay fast; on weights like these
    they would write the same number of bits, plus a few.
Impossible tokens
    A token of weight zero has no part of the interval, and coding it is an error.
"""

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

from sampling_ref.errors import HistoryError, ParameterError
from sampling_ref.lz.compressor import read_bits
from sampling_ref.lz.compressor_as_model import Model
from sampling_ref.parameters import read_history, read_whole
from sampling_ref.row import TokenId, read_weights, whole_numbers


def whole_weights(model: Model, history: Sequence[TokenId]) -> list[int]:
    """Return the model's weights after a history as whole numbers in the same proportions.

    >>> whole_weights(lambda history: [0.5, 0.25, 0.0], [])
    [2, 1, 0]
    """
    return whole_numbers(read_weights(model(tuple(history))))[0]


def narrowed(
    low: int, width: int, scale: int, weights: Sequence[int], token: TokenId
) -> tuple[int, int, int]:
    """Return the part of the interval [low, low + width) / scale that belongs to a token.

    >>> narrowed(0, 1, 1, [2, 1, 1], token=1)  # from 2/4 to 3/4
    (2, 1, 4)
    """
    before, total = sum(weights[:token]), sum(weights)
    return low * total + width * before, width * weights[token], scale * total


def interval_of(tokens: Sequence[TokenId], model: Model) -> tuple[int, int, int]:
    """Return the interval of a sequence as (low, width, scale): [low, low + width) / scale."""
    low, width, scale = 0, 1, 1
    tokens = read_history(tokens, None, "tokens")
    for place, token in enumerate(tokens):
        weights = whole_weights(model, tokens[:place])
        if token >= len(weights):
            rule = f"must be a token id below {len(weights)}"
            raise HistoryError(f"tokens[{place}] {rule}, got {token}")
        if not weights[token]:
            sentence = f"tokens[{place}] is {token}, to which the model gives no weight"
            raise HistoryError(sentence)
        low, width, scale = narrowed(low, width, scale, weights, token)
    return low, width, scale


def probability(tokens: Sequence[TokenId], model: Model) -> Fraction:
    """Return the probability that the model gives a sequence.

    >>> probability([0, 0, 1], lambda history: [3, 1])
    Fraction(9, 64)
    """
    _, width, scale = interval_of(tokens, model)
    return Fraction(width, scale)


def encode(tokens: Sequence[TokenId], model: Model) -> str:
    """Return the bits of a sequence, a string of the digits 0 and 1.

    Eight tokens of probability 3/4 are 3.3 bits of information:

    >>> encode([0] * 8, lambda history: [3, 1])
    '0000'
    >>> encode([1, 0], lambda history: [3, 1])  # [48, 60) / 64 holds 110 and all after it
    '110'
    """
    low, width, scale = interval_of(tokens, model)
    digits = max(0, (scale // width).bit_length() - 1)
    while True:
        first = -(-(low << digits) // scale)
        if (first + 1) * scale <= (low + width) << digits:
            return f"{first:0{digits}b}" if digits else ""
        digits += 1


def decode(bits: str, model: Model, length: int) -> list[TokenId]:
    """Return the `length` tokens that these bits are the code of.

    Bits that follow the code change nothing. Bits that end too early are an error.

    >>> decode("110", lambda history: [3, 1], length=2)
    [1, 0]
    """
    read_bits(bits)
    read_whole("length", length)
    value, parts = int(bits or "0", 2), 1 << len(bits)  # the code is [value, value + 1) / parts
    low, width, scale = 0, 1, 1
    tokens: list[TokenId] = []
    while len(tokens) < length:
        weights = whole_weights(model, tokens)
        # How far into the interval the code begins, on the scale of the weights.
        reached = (value * scale - low * parts) * sum(weights) // (width * parts)
        token = bisect_right(list(accumulate(weights)), reached)
        low, width, scale = narrowed(low, width, scale, weights, token)
        tokens.append(token)
    if (value + 1) * scale > (low + width) * parts:
        rule = f"must be the whole code of {length} tokens"
        raise ParameterError("bits", bits, rule)
    return tokens
