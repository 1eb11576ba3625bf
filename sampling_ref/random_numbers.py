"""Random numbers that somebody gives: numbers in [0, 1), 0 included and 1 not."""

from typing import Any

from sampling_ref.errors import RandomNumberError
from sampling_ref.row import Number


def read_uniforms(uniforms: Any) -> list[Number]:  # noqa: ANN401 - whatever has tolist()
    """Return random numbers as a list, each checked to lie in [0, 1).

    >>> read_uniforms([0.25, 1.0])
    Traceback (most recent call last):
    sampling_ref.errors.RandomNumberError: uniforms[1] must be a number in [0, 1), got 1.0
    """
    if hasattr(uniforms, "tolist"):
        uniforms = uniforms.tolist()
    if isinstance(uniforms, int | float) and not isinstance(uniforms, bool):
        uniforms = [uniforms]
    try:
        numbers = list(uniforms)
    except TypeError:
        kind = type(uniforms).__name__
        raise RandomNumberError(f"uniforms must be a sequence of numbers, got {kind}") from None
    for place, number in enumerate(numbers):
        is_number = isinstance(number, int | float) or hasattr(number, "numerator")
        if isinstance(number, bool) or not is_number or not 0 <= number < 1:
            raise RandomNumberError(f"uniforms[{place}] must be a number in [0, 1), got {number!r}")
    return numbers
