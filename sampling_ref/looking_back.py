"""Which tokens of a history a penalty sees.

Scope and window
    First the part (prompt, output or all), then the last `window` tokens of that part.
    Engines that have a window take it over the whole history, engines that count the
    output take all of it, so this order is only ours where both are given.
Padding
    A history holds the tokens of one sequence and no padding. An engine that fills a
    batch up with a padding token must not count it; some have.
"""

from typing import Any

from sampling_ref.history import Scope, last_tokens, part_of, read_history
from sampling_ref.row import TokenId


def tokens_seen(
    history: Any,  # noqa: ANN401 - whatever read_history takes
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
