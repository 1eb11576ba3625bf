"""The tokens so far, oldest first: windows of them, parts of them, counts in them.

Scope and window
    First the part (prompt, output or all), then the last `window` tokens of that part.
    Engines that have a window take it over the whole history, engines that count the
    output take all of it, so this order is only ours where both are given.
Padding
    A history holds the tokens of one sequence and no padding. An engine that fills a
    batch up with a padding token must not count it; some have.
Parameters that name tokens
    Sets of tokens, sequences of tokens, and numbers for some tokens are checked here too.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import Any, Literal, TypeAlias, TypeGuard, get_args

from sampling_ref.errors import HistoryError, ParameterError, shown
from sampling_ref.parameters import is_finite, is_whole, read_choice, read_number, read_whole
from sampling_ref.row import Number, TokenId

Scope: TypeAlias = Literal["all", "prompt", "output"]
"""Which part of a history a step looks at: everything, the prompt, or what followed it."""


def is_token(value: object, size: int | None = None) -> TypeGuard[TokenId]:
    """Return whether a value is a token id of a row with `size` numbers, or of any row.

    >>> is_token(2, 3), is_token(3, 3), is_token(3), is_token(True)
    (True, False, True, False)
    """
    return is_whole(value) and (size is None or value < size)


def read_history(history: Any, size: int | None, name: str = "history") -> list[TokenId]:
    """Return a checked copy of a history: token ids of a row with `size` numbers, or of any row.

    >>> read_history((2, 0), 3)
    [2, 0]
    >>> read_history([3], 3)
    Traceback (most recent call last):
    sampling_ref.errors.HistoryError: history[0] must be a token id below 3, got 3
    """
    if hasattr(history, "tolist"):
        history = history.tolist()
    if isinstance(history, str | bytes) or not isinstance(history, Iterable):
        kind = type(history).__name__
        raise HistoryError(f"{name} must be a sequence of token ids, got {kind}")
    # A scalar of numpy, or of torch, is a number, too.
    tokens = [token.tolist() if hasattr(token, "tolist") else token for token in history]
    limit = inf if size is None else size
    for place, token in enumerate(tokens):
        if type(token) is not int or not 0 <= token < limit:
            rule = "must be a token id" if size is None else f"must be a token id below {size}"
            raise HistoryError(f"{name}[{place}] {rule}, got {shown(token)}")
    return tokens


def read_prompt_length(prompt_length: Any, length: int) -> int:
    """Return how many tokens of a history of some length are the prompt.

    >>> read_prompt_length(3, 2)
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: prompt_length must be at most the length of the history, \
2, got 3
    """
    if type(prompt_length) is not int or prompt_length < 0:
        read_whole("prompt_length", prompt_length)
    if prompt_length > length:
        rule = f"must be at most the length of the history, {length}"
        raise ParameterError("prompt_length", prompt_length, rule)
    checked: int = prompt_length
    return checked


def last_tokens(history: Sequence[TokenId], window: int | None) -> Sequence[TokenId]:
    """Return the last `window` tokens of a history, or all of it if `window` is None.

    >>> last_tokens([1, 2, 3], 2), last_tokens([1, 2, 3], 0), last_tokens([1, 2, 3], None)
    ([2, 3], [], [1, 2, 3])
    """
    return history if window is None else history[max(0, len(history) - window) :]


def tokens_seen(
    history: Any,
    size: int,
    *,
    window: int | None = None,
    scope: Scope = "all",
    prompt_length: int = 0,
    skipped: int = 0,
) -> list[TokenId]:
    """Return the tokens that a penalty sees, oldest first, for a row of `size` numbers.

    They are the last `window` tokens (None: all) of the whole history, of its prompt or of
    what followed the prompt, without the first `skipped` tokens of the history.

    >>> tokens_seen([3, 1, 2, 0], 4, window=2, scope="output", prompt_length=1)
    [2, 0]
    >>> tokens_seen([3, 1, 2, 0], 4, scope="prompt", prompt_length=3, skipped=1)
    [1, 2]
    """
    tokens = read_history(history, size)
    read_prompt_length(prompt_length, len(tokens))
    if window is not None and not is_whole(window):
        raise ParameterError("window", window, "must be a whole number of at least 0, or None")
    if scope not in get_args(Scope):
        read_choice("scope", scope, get_args(Scope))
    begin = max(skipped, prompt_length) if scope == "output" else skipped
    seen = tokens[begin : prompt_length if scope == "prompt" else None]
    return seen if window is None else seen[max(0, len(seen) - window) :]


def counts_of(history: Sequence[TokenId]) -> dict[TokenId, int]:
    """Return how often each token occurs, in order of first occurrence.

    >>> counts_of([4, 1, 4])
    {4: 2, 1: 1}
    """
    return dict(Counter(history))


def read_token_set(tokens: Any, size: int, name: str) -> frozenset[TokenId]:
    """Return the tokens that a parameter names: one token id or any number of them.

    >>> sorted(read_token_set([2, 0, 2], 3, "ends")), sorted(read_token_set(1, 3, "ends"))
    ([0, 2], [1])
    """
    if isinstance(tokens, int):
        tokens = [tokens]
    return frozenset(read_history(tokens, size, name))


def read_sequences(sequences: Any, size: int, name: str) -> list[tuple[TokenId, ...]]:
    """Return the token sequences that a parameter names, each of at least one token.

    A bare token id means the sequence of this one token.

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
    numbers: Any, size: int, name: str, read: Callable[[str, Any], Number]
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
