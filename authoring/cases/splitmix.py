"""The generator of random cases: `sampling_ref.random.splitmix64` with choices."""

from collections.abc import Sequence
from typing import TypeVar

from sampling_ref.random.splitmix64 import WORD, splitmix64

_Item = TypeVar("_Item")


class SplitMix64:
    """A row of random 64-bit words, from a seed.

    >>> generator = SplitMix64(1234567)
    >>> generator.word(), generator.word()
    (6457827717110365317, 3203168211198807973)
    """

    def __init__(self, seed: int) -> None:
        """Start from a seed."""
        self._words = splitmix64(seed & WORD)

    def word(self) -> int:
        """Return the next 64 bits."""
        return next(self._words)

    def below(self, bound: int) -> int:
        """Return a number from 0 to below the bound; the bias is less than bound / 2^64.

        >>> SplitMix64(0).below(10) < 10
        True
        """
        return (self.word() * bound) >> 64

    def choice(self, items: Sequence[_Item]) -> _Item:
        """Return one of the items.

        >>> SplitMix64(0).choice("a")
        'a'
        """
        return items[self.below(len(items))]
