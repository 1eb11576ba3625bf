"""Where the random numbers of a chain come from: given ones, or an engine's own stream.

Given
    Numbers in [0, 1), taken in order: first by the steps, in the engine's order, then by
    the draw. A twin that wants words gets those that its engine would turn into the number.
libstdc++
    Every stage of llama.cpp that draws has a Mersenne Twister of its own, seeded alike.
torch
    One Mersenne Twister for everything, two words for a number.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Literal, Protocol, TypeAlias

from sampling_ref.errors import RandomNumberError
from sampling_ref.parameters import read_whole
from sampling_ref.random.mt19937 import mt19937
from sampling_ref.random.uniforms import libstdcxx_double, libstdcxx_float, torch_cpu_double
from sampling_ref.row import Number

Width: TypeAlias = Literal["f32", "f64"]
"""How wide the float is that an engine makes of its random bits."""

WORD = 2**32


class Randomness(Protocol):
    """A source of random numbers for the stages of a chain."""

    def uniform(self, stage: str, width: Width) -> Number:
        """Return the next number in [0, 1) for a stage."""

    def words(self, stage: str, width: Width) -> Iterator[int]:
        """Yield the 32-bit words from which the stage's next numbers are made."""

    def many(self, stage: str, count: int) -> list[Number]:
        """Return numbers for a stage that needs one for each of `count` tokens."""

    def taken(self) -> int:
        """Return how many numbers, or words, were taken so far."""


class Given:
    """Numbers that somebody gave, taken in order.

    >>> from itertools import islice
    >>> given = Given([0.5, 0.25])
    >>> given.uniform("xtc", "f32"), list(islice(given.words("draw", "f64"), 2))
    (0.5, [0, 1073741824])
    """

    def __init__(self, numbers: list[Number]) -> None:
        self._numbers = numbers
        self._taken = 0

    def uniform(self, stage: str, width: Width) -> Number:
        """Return the next number."""
        if self._taken == len(self._numbers):
            count = len(self._numbers)
            numbers = "no random number is" if count == 0 else f"only {count} of them are"
            raise RandomNumberError(f"{stage} needs another random number, but {numbers} given")
        self._taken += 1
        return self._numbers[self._taken - 1]

    def words(self, stage: str, width: Width) -> Iterator[int]:
        """Yield the words from which the engine would make the next numbers."""
        while True:
            number = self.uniform(stage, width)
            if width == "f32":
                yield int(number * WORD)
            else:
                high, low = divmod(int(number * WORD * WORD), WORD)
                yield from (low, high)

    def many(self, stage: str, count: int) -> list[Number]:
        """Return all numbers that are left, which must be `count`."""
        left = self._numbers[self._taken :]
        if len(left) != count:
            raise RandomNumberError(
                f"{stage} needs one random number for each of {count} tokens, got {len(left)}"
            )
        self._taken += count
        return left

    def taken(self) -> int:
        """Return how many numbers were taken."""
        return self._taken


class Streams:
    """llama.cpp's own random numbers with GCC's C++ library: a stream for each stage.

    >>> streams = Streams(5489)
    >>> next(streams.words("draw", "f64")), next(streams.words("xtc", "f32"))
    (3499211612, 3499211612)
    """

    def __init__(self, seed: int) -> None:
        self._seed = read_seed(seed)
        self._streams: dict[str, Iterator[int]] = {}
        self._taken = 0

    def uniform(self, stage: str, width: Width) -> Number:
        """Return the stage's next number, as the C++ library makes it of one or two words."""
        words = self.words(stage, width)
        if width == "f32":
            return libstdcxx_float(next(words))
        return libstdcxx_double(next(words), next(words))

    def words(self, stage: str, width: Width) -> Iterator[int]:
        """Yield the stage's words."""
        if stage not in self._streams:
            self._streams[stage] = mt19937(self._seed)
        for word in self._streams[stage]:
            self._taken += 1
            yield word

    def many(self, stage: str, count: int) -> list[Number]:
        """Return the stage's next numbers."""
        return [self.uniform(stage, "f64") for _ in range(count)]

    def taken(self) -> int:
        """Return how many words were taken, of all streams together."""
        return self._taken


class TorchStream:
    """The generator of torch on a CPU, as `torch.manual_seed` leaves it."""

    def __init__(self, seed: int) -> None:
        self._stream = mt19937(read_seed(seed))
        self._taken = 0

    def uniform(self, stage: str, width: Width) -> Number:
        """Return the next number, 53 bits of two words."""
        words = self.words(stage, width)
        return torch_cpu_double(next(words), next(words))

    def words(self, stage: str, width: Width) -> Iterator[int]:
        """Yield the words."""
        for word in self._stream:
            self._taken += 1
            yield word

    def many(self, stage: str, count: int) -> list[Number]:
        """Return the next numbers."""
        words = list(islice(self._stream, 2 * count))
        self._taken += len(words)
        pairs = zip(words[::2], words[1::2], strict=True)
        return [torch_cpu_double(high, low) for high, low in pairs]

    def taken(self) -> int:
        """Return how many words were taken."""
        return self._taken


def read_seed(seed: object) -> int:
    """Return a seed of 32 bits.

    >>> read_seed(-1)
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: seed must be a whole number from 0 to 2**32 - 1, got -1
    """
    return read_whole("seed", seed, most=WORD - 1)
