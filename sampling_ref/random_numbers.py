"""Random numbers that somebody gives: numbers in [0, 1), 0 included and 1 not."""

from typing import Any

from sampling_ref.errors import RandomNumberError, shown
from sampling_ref.row import Number, is_number


def read_uniform(uniform: Any, name: str = "uniform") -> Number:
    """Return one random number after checking that it lies in [0, 1).

    >>> read_uniform(0.25)
    0.25
    >>> read_uniform(1.0)
    Traceback (most recent call last):
    sampling_ref.errors.RandomNumberError: uniform must be in [0, 1), got 1.0
    """
    if is_number(uniform) and 0 <= uniform < 1:
        return uniform
    raise RandomNumberError(f"{name} must be in [0, 1), got {shown(uniform)}")


def read_uniforms(
    uniforms: Any,
    count: int | None = None,
) -> list[Number]:
    """Return random numbers as a list, each checked to lie in [0, 1), and how many there are.

    >>> read_uniforms([0.25, 1.0])
    Traceback (most recent call last):
    sampling_ref.errors.RandomNumberError: uniforms[1] must be in [0, 1), got 1.0
    >>> read_uniforms([0.5], 2)
    Traceback (most recent call last):
    sampling_ref.errors.RandomNumberError: uniforms must hold 2 numbers, got 1
    """
    if hasattr(uniforms, "tolist"):
        uniforms = uniforms.tolist()
    if is_number(uniforms):
        uniforms = [uniforms]
    try:
        numbers = list(uniforms)
    except TypeError:
        kind = type(uniforms).__name__
        raise RandomNumberError(f"uniforms must be a sequence of numbers, got {kind}") from None
    for place, number in enumerate(numbers):
        if type(number) is not float or not 0 <= number < 1:
            read_uniform(number, f"uniforms[{place}]")
    if count is not None and len(numbers) != count:
        raise RandomNumberError(f"uniforms must hold {count} numbers, got {len(numbers)}")
    return numbers
