"""SplitMix64: the generator of random cases, named so that anybody can make them again.

Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators",
OOPSLA 2014, figure 17 (https://doi.org/10.1145/2660193.2660195), with the
constants of Vigna's version. Whole numbers only, so that every machine agrees.
"""

from collections.abc import Sequence
from typing import TypeVar

_MASK = (1 << 64) - 1

_Item = TypeVar("_Item")


class SplitMix64:
    """A row of random 64-bit words, from a seed.

    >>> generator = SplitMix64(1234567)
    >>> generator.word(), generator.word()
    (6457827717110365317, 3203168211198807973)
    """

    def __init__(self, seed: int) -> None:
        """Start from a seed."""
        self._state = seed & _MASK

    def word(self) -> int:
        """Return the next 64 bits."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return mixed ^ (mixed >> 31)

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
