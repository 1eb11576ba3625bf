"""What a language model is here: a function from the tokens so far to weights."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from sampling_ref.row import Row, TokenId

Model: TypeAlias = Callable[[Sequence[TokenId]], Row]
"""The tokens so far in, oldest first; one weight for each next token out.

Weights are finite, not negative and not all zero, with any common factor. Floats are taken
as the rational numbers they are."""
