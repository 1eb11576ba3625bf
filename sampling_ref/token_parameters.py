"""Parameters that name tokens: sets of them, sequences, numbers for some of them."""

from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import Any

from sampling_ref.errors import ParameterError
from sampling_ref.history import is_token, read_history
from sampling_ref.parameters import is_finite, read_number
from sampling_ref.row import Number, TokenId


def read_token_set(tokens: Any, size: int, name: str) -> frozenset[TokenId]:
    """Return the tokens that a parameter names: one token id or any number of them.

    >>> sorted(read_token_set([2, 0, 2], 3, "ends")), sorted(read_token_set(1, 3, "ends"))
    ([0, 2], [1])
    """
    if isinstance(tokens, int):
        tokens = [tokens]
    return frozenset(read_history(tokens, size, name))


def read_sequences(
    sequences: Any,
    size: int,
    name: str,
) -> list[tuple[TokenId, ...]]:
    """Return the token sequences that a parameter names, each of at least one token.

    A bare token id stands for the sequence of this one token.

    >>> read_sequences([[0, 1], 2], 3, "breakers")
    [(0, 1), (2,)]
    """
    if isinstance(sequences, str | bytes) or not isinstance(sequences, Iterable):
        raise ParameterError(name, sequences, "must be a collection of token sequences")
    found = []
    for place, sequence in enumerate(sequences):
        tokens = [sequence] if isinstance(sequence, int) else sequence
        found.append(tuple(read_history(tokens, size, f"{name}[{place}]")))
        if not found[-1]:
            raise ParameterError(f"{name}[{place}]", sequence, "must hold at least one token")
    return found


def read_bias(name: str, bias: Any) -> Number:
    """Return what is added to a logit: a number, or minus infinity, which bans the token.

    >>> read_bias("bias", float("-inf")), read_bias("bias", 1)
    (-inf, 1)
    >>> read_bias("bias", float("inf"))
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: bias must be finite or minus infinity, got inf
    """
    if isinstance(bias, float) and bias == -inf:
        return bias
    if not is_finite(bias):
        raise ParameterError(name, bias, "must be finite or minus infinity")
    return read_number(name, bias)


def read_numbers_of_tokens(
    numbers: Any,
    size: int,
    name: str,
    read: Callable[[str, Any], Number],
) -> dict[TokenId, Number]:
    """Return a mapping from token ids to numbers, each number checked by `read`.

    >>> read_numbers_of_tokens({1: 0.5}, 2, "biases", read_bias)
    {1: 0.5}
    >>> read_numbers_of_tokens({2: 0.5}, 2, "biases", read_bias)
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: biases must name token ids below 2, got 2
    """
    if not isinstance(numbers, Mapping):
        raise ParameterError(name, numbers, "must map token ids to numbers")
    found = {}
    for token, number in numbers.items():
        if not is_token(token, size):
            raise ParameterError(name, token, f"must name token ids below {size}")
        found[token] = read(f"{name}[{token}]", number)
    return found
