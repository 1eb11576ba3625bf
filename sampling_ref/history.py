"""The tokens so far, oldest first: windows of them, parts of them, counts in them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias, get_args

from sampling_ref.errors import HistoryError, ParameterError
from sampling_ref.row import TokenId

Scope: TypeAlias = Literal["all", "prompt", "output"]
"""Which part of a history a step looks at: everything, the prompt, or what followed it."""


def read_history(history: Any, size: int, name: str = "history") -> list[TokenId]:  # noqa: ANN401
    """Return a checked copy of a history: token ids of a row with `size` numbers.

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
    tokens = list(history)
    for place, token in enumerate(tokens):
        if isinstance(token, bool) or not isinstance(token, int) or not 0 <= token < size:
            raise HistoryError(f"{name}[{place}] must be a token id below {size}, got {token!r}")
    return tokens


def last_tokens(history: Sequence[TokenId], window: int | None) -> Sequence[TokenId]:
    """Return the last `window` tokens of a history, or all of it if `window` is None.

    >>> last_tokens([1, 2, 3], 2), last_tokens([1, 2, 3], 0), last_tokens([1, 2, 3], None)
    ([2, 3], [], [1, 2, 3])
    """
    if window is None:
        return history
    if window < 0:
        raise ParameterError("window", window, "must be at least 0, or None")
    return history[max(0, len(history) - window) :]


def part_of(history: Sequence[TokenId], prompt_length: int, scope: Scope) -> Sequence[TokenId]:
    """Return the part of a history that a step looks at; its first tokens are the prompt.

    >>> part_of([7, 8, 9], 2, "prompt"), part_of([7, 8, 9], 2, "output")
    ([7, 8], [9])
    """
    if not 0 <= prompt_length <= len(history):
        rule = f"must be between 0 and the length of the history, {len(history)}"
        raise ParameterError("prompt_length", prompt_length, rule)
    if scope == "all":
        return history
    if scope == "prompt":
        return history[:prompt_length]
    if scope == "output":
        return history[prompt_length:]
    raise ParameterError("scope", scope, f"must be one of {', '.join(get_args(Scope))}")


def counts_of(history: Sequence[TokenId]) -> dict[TokenId, int]:
    """Return how often each token occurs, in order of first occurrence.

    >>> counts_of([4, 1, 4])
    {4: 2, 1: 1}
    """
    return dict(Counter(history))
