"""Where the random numbers of a chain come from: given ones, or an engine's own stream.

Given
    Numbers in [0, 1), taken in order: first by the steps, in the engine's order, then by
    the draw.
libstdc++
    Every stage of llama.cpp that draws has a Mersenne Twister of its own, seeded alike.
torch
    One Mersenne Twister for everything, two words for a number.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Any, Protocol, SupportsFloat, TypeAlias, runtime_checkable

from sampling_ref.errors import RandomNumberError, shown
from sampling_ref.numbers.protocol import Width
from sampling_ref.parameters import read_whole
from sampling_ref.random.mt19937 import mt19937
from sampling_ref.random.uniforms import libstdcxx_double, libstdcxx_float, torch_cpu_double
from sampling_ref.row import Listed, Number, is_number, plain

WORD = 2**32

_HOW = "give uniforms=[...], or seed=... to a Sampler of an engine whose stream is known"


@runtime_checkable
class Randomness(Protocol):
    """A source of random numbers for the stages of a chain."""

    def uniform(self, stage: str, width: Width) -> Number:
        """Return the next number in [0, 1) for a stage."""

    def many(self, stage: str, count: int) -> list[Number]:
        """Return numbers for a stage that needs one for each of `count` tokens."""

    def taken(self) -> int:
        """Return how many numbers, or words, were taken so far."""


Uniforms: TypeAlias = Iterable[SupportsFloat] | SupportsFloat | Listed | Randomness
"""What functions accept as random numbers: some in [0, 1), one, or a source of them."""


def read_uniform(uniform: Any, name: str = "uniform") -> Number:
    """Return one random number after checking that it lies in [0, 1).

    >>> read_uniform(0.25)
    0.25
    >>> read_uniform(1.0)
    Traceback (most recent call last):
    sampling_ref.errors.RandomNumberError: uniform must be in [0, 1), got 1.0
    """
    number = plain(uniform)
    if is_number(number) and 0 <= number < 1:
        return number
    raise RandomNumberError(f"{name} must be in [0, 1), got {shown(uniform)}")


def read_uniforms(uniforms: Any, count: int | None = None) -> list[Number]:
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
    if not isinstance(uniforms, list | tuple) and is_number(uniforms):
        uniforms = [uniforms]
    is_other = isinstance(uniforms, str | bytes | Mapping | AbstractSet)
    if is_other or not isinstance(uniforms, Iterable):
        kind = type(uniforms).__name__
        raise RandomNumberError(f"uniforms must be a sequence of numbers, got {kind}")
    numbers = list(uniforms)
    for place, number in enumerate(numbers):
        if type(number) is not float or not 0 <= number < 1:
            numbers[place] = read_uniform(number, f"uniforms[{place}]")
    if count is not None and len(numbers) != count:
        raise RandomNumberError(f"uniforms must hold {count} numbers, got {len(numbers)}")
    return numbers


class Given:
    """Numbers that somebody gave, taken in order.

    >>> given = Given([0.5, 0.25])
    >>> given.uniform("xtc", "f32"), given.left()
    (0.5, 1)
    """

    def __init__(self, numbers: Any) -> None:
        self._numbers = read_uniforms(numbers)
        self._taken = 0

    def left(self) -> int:
        """Return how many numbers are left."""
        return len(self._numbers) - self._taken

    def uniform(self, stage: str, width: Width) -> Number:
        """Return the next number."""
        if self._taken == len(self._numbers):
            count = len(self._numbers)
            numbers = f"uniforms has only {count}"
            if count == 0:
                numbers = f"none is given: {_HOW}"
            raise RandomNumberError(f"{stage} needs another random number, but {numbers}")
        self._taken += 1
        return self._numbers[self._taken - 1]

    def many(self, stage: str, count: int) -> list[Number]:
        """Return the next `count` numbers."""
        left = self._numbers[self._taken :]
        if len(left) < count:
            has = f"uniforms has {len(left)} left" if self._taken else f"uniforms has {len(left)}"
            numbers = has if self._numbers else f"none is given: {_HOW}"
            raise RandomNumberError(
                f"{stage} needs one random number for each of {count} tokens, but {numbers}"
            )
        self._taken += count
        return left[:count]

    def taken(self) -> int:
        """Return how many numbers were taken."""
        return self._taken


class Counted(Given):
    """As many numbers as are taken, all of them 1/2, to learn how many an engine needs.

    >>> counted = Counted()
    >>> counted.uniform("xtc", "f32"), counted.many("the draw", 2), counted.taken()
    (0.5, [0.5, 0.5], 3)
    """

    def __init__(self) -> None:
        super().__init__(())

    def uniform(self, stage: str, width: Width) -> Number:
        """Return the next number."""
        self._taken += 1
        return 0.5

    def many(self, stage: str, count: int) -> list[Number]:
        """Return the next `count` numbers."""
        return [self.uniform(stage, "f64") for _ in range(count)]


NO_NUMBERS = Given(())
"""The source for who gives no numbers: taking one is an error."""


class Twisters:
    """Mersenne Twisters of one seed, each with a name, which can be copied and pickled.

    >>> from copy import copy
    >>> streams = Streams(5489)
    >>> streams.take("xtc", 1), copy(streams).take("xtc", 1) == streams.take("xtc", 1)
    ([3499211612], True)
    """

    def __init__(self, seed: int) -> None:
        self._seed = read_seed(seed)
        self._taken: dict[str, int] = {}
        self._words: dict[str, Any] = {}

    def take(self, name: str, count: int) -> list[int]:
        """Return the next `count` words of a twister."""
        taken = self._taken.get(name, 0)
        if name not in self._words:
            self._words[name] = mt19937(self._seed, taken=taken)
        self._taken[name] = taken + count
        return list(islice(self._words[name], count))

    def taken(self) -> int:
        """Return how many words were taken, of all twisters together."""
        return sum(self._taken.values())

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but the generators, which are made anew where words are taken."""
        return {"_seed": self._seed, "_taken": dict(self._taken), "_words": {}}


class Streams(Twisters):
    """llama.cpp's own random numbers with GCC's C++ library: a stream for each stage."""

    def uniform(self, stage: str, width: Width) -> Number:
        """Return the stage's next number, as the C++ library makes it of one or two words."""
        if width == "f32":
            return libstdcxx_float(*self.take(stage, 1))
        return libstdcxx_double(*self.take(stage, 2))

    def many(self, stage: str, count: int) -> list[Number]:
        """Return the stage's next numbers."""
        return [self.uniform(stage, "f64") for _ in range(count)]


class TorchStream(Twisters):
    """The generator of torch on a CPU, as `torch.manual_seed` leaves it."""

    def uniform(self, stage: str, width: Width) -> Number:
        """Return the next number, 53 bits of two words."""
        return self.many(stage, 1)[0]

    def many(self, stage: str, count: int) -> list[Number]:
        """Return the next numbers."""
        words = self.take("", 2 * count)
        pairs = zip(words[::2], words[1::2], strict=True)
        return [torch_cpu_double(high, low) for high, low in pairs]


def read_seed(seed: object) -> int:
    """Return a seed of 32 bits.

    >>> read_seed(-1)
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: seed must be a whole number from 0 to 2**32 - 1, got -1
    """
    return read_whole("seed", seed, most=WORD - 1)
