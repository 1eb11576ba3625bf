"""The tokens so far, oldest first: windows of them, parts of them, counts in them.

Scope and window
    First the part (prompt, output or all), then the last `window` tokens of that part.
    Engines that have a window take it over the whole history, engines that count the
    output take all of it, so this order is only ours where both are given.
Padding
    A history holds the tokens of one sequence and no padding. An engine that fills a
    batch up with a padding token must not count it; some have.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias, TypeGuard, get_args

from sampling_ref.errors import HistoryError, ParameterError, shown
from sampling_ref.parameters import is_whole, read_choice, read_whole
from sampling_ref.row import TokenId

Scope: TypeAlias = Literal["all", "prompt", "output"]
"""Which part of a history a step looks at: everything, the prompt, or what followed it."""


def is_token(value: object, size: int | None = None) -> TypeGuard[TokenId]:
    """Say whether a value is a token id of a row with `size` numbers, or of any row.

    >>> is_token(2, 3), is_token(3, 3), is_token(3), is_token(True)
    (True, False, True, False)
    """
    return is_whole(value) and (size is None or value < size)


def read_history(
    history: Any,
    size: int | None,
    name: str = "history",
) -> list[TokenId]:
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
    for place, token in enumerate(tokens):
        if not is_token(token, size):
            rule = "must be a token id" if size is None else f"must be a token id below {size}"
            raise HistoryError(f"{name}[{place}] {rule}, got {shown(token)}")
    return tokens


def read_window(window: Any, name: str = "window") -> int | None:
    """Return how many tokens a window holds, or None for all.

    >>> read_window(None), read_window(64)
    (None, 64)
    """
    if window is not None and not is_whole(window):
        raise ParameterError(name, window, "must be a whole number of at least 0, or None")
    return window


def read_prompt_length(prompt_length: Any, length: int) -> int:
    """Return how many tokens of a history of some length are the prompt.

    >>> read_prompt_length(3, 2)
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: prompt_length must be at most the length of the history, \
2, got 3
    """
    if read_whole("prompt_length", prompt_length) > length:
        rule = f"must be at most the length of the history, {length}"
        raise ParameterError("prompt_length", prompt_length, rule)
    checked: int = prompt_length
    return checked


def last_tokens(history: Sequence[TokenId], window: int | None) -> Sequence[TokenId]:
    """Return the last `window` tokens of a history, or all of it if `window` is None.

    >>> last_tokens([1, 2, 3], 2), last_tokens([1, 2, 3], 0), last_tokens([1, 2, 3], None)
    ([2, 3], [], [1, 2, 3])
    """
    size = read_window(window)
    return history if size is None else history[max(0, len(history) - size) :]


def part_of(history: Sequence[TokenId], prompt_length: int, scope: Scope) -> Sequence[TokenId]:
    """Return the part of a history that a step looks at; its first tokens are the prompt.

    >>> part_of([7, 8, 9], 2, "prompt"), part_of([7, 8, 9], 2, "output")
    ([7, 8], [9])
    """
    read_prompt_length(prompt_length, len(history))
    read_choice("scope", scope, get_args(Scope))
    if scope == "all":
        return history
    return history[:prompt_length] if scope == "prompt" else history[prompt_length:]


def tokens_seen(
    history: Any,
    size: int,
    *,
    window: int | None,
    scope: Scope,
    prompt_length: int,
) -> list[TokenId]:
    """Return the tokens that a penalty sees, oldest first, for a row of `size` numbers.

    >>> tokens_seen([3, 1, 2, 0], 4, window=2, scope="output", prompt_length=1)
    [2, 0]
    """
    part = part_of(read_history(history, size), prompt_length, scope)
    return list(last_tokens(part, window))


def counts_of(history: Sequence[TokenId]) -> dict[TokenId, int]:
    """Return how often each token occurs, in order of first occurrence.

    >>> counts_of([4, 1, 4])
    {4: 2, 1: 1}
    """
    return dict(Counter(history))
