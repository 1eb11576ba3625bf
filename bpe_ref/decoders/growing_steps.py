"""Decoders behind one that fuses, as steps of a stream; see `chain_stream`.

There is one string only, and it comes in parts. A step takes a part and returns
the part that is certain now, as a list, like the steps of `string_steps`.
"""

from typing import Final

from bpe_ref.components import Decoder
from bpe_ref.decoders import ByteFallback, Metaspace, Strip

_LONGEST_BYTE_TOKEN: Final = 6  # <0x41>


class ReplacedLetter:
    """Metaspace: all its letters in the first string, which this is.

    >>> ReplacedLetter(Metaspace("▁")).push("▁a▁")
    ['a']
    """

    def __init__(self, decoder: Metaspace) -> None:
        """Start with nothing."""
        self._decoder: Final = decoder

    def push(self, part: str) -> list[str]:
        """Return the decoded part."""
        return self._decoder.decode_chain([part])

    def finish(self) -> list[str]:
        """Return nothing: nothing is held back."""
        return []


class ReplacedText:
    """One text for another, from the left; as much waits as the text begins with.

    >>> step = ReplacedText("ab", "!")
    >>> step.push("xa"), step.push("ba"), step.finish()
    (['x'], ['!'], ['a'])
    """

    def __init__(self, old: str, new: str) -> None:
        """Start with nothing; `old` is not empty."""
        self._old: Final = old
        self._new: Final = new
        self._waiting = ""

    def push(self, part: str) -> list[str]:
        """Return what cannot be the beginning of another match."""
        *before, rest = (self._waiting + part).split(self._old)
        longest = min(len(rest), len(self._old) - 1)
        ends = (len(rest) - length for length in range(longest, -1, -1))
        waiting = len(rest) - next(end for end in ends if self._old.startswith(rest[end:]))
        self._waiting = rest[len(rest) - waiting :]
        certain = rest[: len(rest) - waiting]
        return [self._new.join([*before, certain])]

    def finish(self) -> list[str]:
        """Return the beginning of a match that was none."""
        return [self._waiting]


class Stripped:
    """Strip: what it may take from the end waits.

    >>> step = Stripped(Strip("_", start=1, stop=1))
    >>> step.push("__a_"), step.push("_"), step.finish()
    (['_a'], ['_'], [])
    """

    def __init__(self, decoder: Strip) -> None:
        """Start with nothing."""
        self._decoder: Final = decoder
        self._only = 0  # how many there are, as long as there is nothing else
        self._nothing_else = True
        self._waiting = 0

    def push(self, part: str) -> list[str]:
        """Return what is neither stripped in front nor may be behind."""
        content, stop = self._decoder.content, self._decoder.stop
        certain: list[str] = []
        for letter in part:
            if letter != content:
                certain.append(content * self._waiting + letter)
                self._waiting = 0
                self._nothing_else = False
                continue
            if self._nothing_else:
                self._only += 1
                if self._only <= self._decoder.start:
                    continue
            self._waiting += 1
            if self._waiting > stop:
                certain.append(content)
                self._waiting = stop
        return ["".join(certain)]

    def finish(self) -> list[str]:
        """Return nothing: what waits is stripped. Raises `DecodingError` where the decoder does."""
        if self._nothing_else:
            self._decoder.decode_chain([self._decoder.content * self._only])
        return []


class PerhapsAByte:
    """ByteFallback: the whole may be one byte token, until it is too long for that.

    >>> step = PerhapsAByte(ByteFallback())
    >>> step.push("<0x4"), step.push("1>"), step.finish()
    ([], [], ['A'])
    """

    def __init__(self, decoder: ByteFallback) -> None:
        """Start with nothing."""
        self._decoder: Final = decoder
        self._waiting = ""
        self._longer = False

    def push(self, part: str) -> list[str]:
        """Return everything, once that is too long."""
        self._waiting += part
        self._longer = self._longer or len(self._waiting) > _LONGEST_BYTE_TOKEN
        if not self._longer:
            return []
        part, self._waiting = self._waiting, ""
        return [part]

    def finish(self) -> list[str]:
        """Return the byte, or the short text that is none."""
        return [] if self._longer else self._decoder.decode_chain([self._waiting])


class Whole:
    """Any decoder: everything is held back till the end.

    >>> from bpe_ref.decoders import Fuse
    >>> step = Whole(Fuse())
    >>> step.push("a"), step.push("b"), step.finish()
    ([], [], ['ab'])
    """

    def __init__(self, decoder: Decoder) -> None:
        """Start with nothing."""
        self._decoder: Final = decoder
        self._parts: list[str] = []

    def push(self, part: str) -> list[str]:
        """Return nothing yet."""
        self._parts.append(part)
        return []

    def finish(self) -> list[str]:
        """Return everything."""
        return self._decoder.decode_chain(["".join(self._parts)])
