"""The variants of the LZ penalty: what the paper prints, what it means, what was published.

Each is one function: the history, the number of tokens in the vocabulary and the two sizes go
in, a `Changes` comes out, which is added to the logits. `lz_changes` checks its
arguments and calls one of them.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

from sampling_ref.errors import HistoryError
from sampling_ref.lz.changes import Changes
from sampling_ref.lz.variants.codelength import codelength
from sampling_ref.lz.variants.corrected import corrected, paper
from sampling_ref.lz.variants.forks import fork_july, fork_march
from sampling_ref.lz.variants.script import script
from sampling_ref.parameters import read_choice, read_history, read_prompt_length, read_whole
from sampling_ref.row import TokenId

Variant: TypeAlias = Literal[
    "corrected", "paper", "codelength", "script", "fork_march", "fork_july"
]
"""The name of a variant."""

VARIANTS: dict[str, Callable[[Sequence[TokenId], int, int, int], Changes]] = {
    "corrected": corrected,
    "paper": paper,
    "codelength": codelength,
    "script": script,
    "fork_march": fork_march,
    "fork_july": fork_july,
}

OF_THE_OUTPUT = frozenset({"fork_march", "fork_july"})
"""The variants that do not see the prompt."""


def lz_changes(
    history: Sequence[TokenId],
    size: int,
    *,
    window: int = 512,
    buffer: int = 32,
    variant: Variant = "corrected",
    prompt_length: int = 0,
) -> Changes:
    """Return D, exactly: what each next token from a vocabulary of `size` would change.

    >>> changes = lz_changes([1, 2, 3, 4, 1, 2, 3], 8, window=4, buffer=3)
    >>> float(changes.of(4)), float(changes.of(0))
    (-1.584962500721156, 3.0)
    """
    read_whole("size", size, 1)
    read_whole("window", window)
    read_whole("buffer", buffer, 1)
    read_choice("variant", variant, tuple(VARIANTS))
    read_whole("prompt_length", prompt_length)
    skipped = prompt_length if variant in OF_THE_OUTPUT else 0
    recent = end_of_history(history, size, window + buffer, prompt_length, skipped)
    return VARIANTS[variant](recent, size, window, buffer)


def end_of_history(
    history: Any, size: int, wanted: int, prompt_length: int, skipped: int
) -> list[TokenId]:
    """Return the last tokens of a history, at most `wanted`, without the first `skipped`.

    >>> end_of_history(range(1000), 1000, 3, prompt_length=998, skipped=998)
    [998, 999]
    """
    try:
        length = len(history)
        recent = history[max(skipped, length - wanted) :]
    except (TypeError, KeyError):  # it can only be walked through, or is no sequence at all
        history = read_history(history, size)
        length = len(history)
        recent = history[max(skipped, length - wanted) :]
    read_prompt_length(prompt_length, length)
    try:
        return read_history(recent, size)
    except HistoryError:
        read_history(history, size)  # says which place of the whole history it is
        raise
