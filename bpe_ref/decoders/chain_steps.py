"""The decoders as steps of a stream; see `chain_stream`.

A step takes a string and returns those that are certain now. What `finish`
returns comes after all that `push` returned; joined in order they are the list
that the decoder makes of all the strings at once.

`ReplacedText`, `Stripped` and `PerhapsAByte` are for decoders behind one that
fuses. There is one string only, and it comes in parts.
"""

from typing import Final

from bpe_ref.components import Decoder
from bpe_ref.decoders import BPEDecoder, ByteFallback, ByteLevel, Strip
from bpe_ref.decoders.utf8_stream import Utf8Stream

_LONGEST_BYTE_TOKEN: Final = 6  # <0x41>


class Spaced:
    """No decoder: a space between any two strings.

    >>> step = Spaced()
    >>> step.push("a"), step.push("b")
    (['a'], [' b'])
    """

    def __init__(self) -> None:
        """Start with no string."""
        self._between = ""

    def push(self, string: str) -> list[str]:
        """Return the string, behind a space if it is not the first."""
        between, self._between = self._between, " "
        return [between + string]

    def finish(self) -> list[str]:
        """Return nothing: nothing is held back."""
        return []


class OneByOne:
    """A decoder that at most treats the first string differently, and holds back nothing.

    >>> from bpe_ref.decoders import Metaspace
    >>> step = OneByOne(Metaspace("▁"))
    >>> step.push("▁a"), step.push("▁a")
    (['a'], [' a'])
    """

    def __init__(self, decoder: Decoder) -> None:
        """Start with no string."""
        self._decoder: Final = decoder
        self._before: list[str] = []

    def push(self, string: str) -> list[str]:
        """Return the decoded string."""
        chain = self._decoder.decode_chain([*self._before, string])
        decoded = chain[len(self._before) :]
        self._before = ["long enough"]  # any string that is there and that Strip can strip
        return decoded

    def finish(self) -> list[str]:
        """Return nothing: nothing is held back."""
        return []


class LastDiffers:
    """BPEDecoder: in the last string the suffix becomes nothing, in the others a space.

    >>> step = LastDiffers(BPEDecoder("$"))
    >>> step.push("a$"), step.push("b"), step.push("c$"), step.finish()
    ([], ['a ', 'b'], [], ['c'])
    """

    def __init__(self, decoder: BPEDecoder) -> None:
        """Start with no string."""
        self._decoder: Final = decoder
        self._held: list[str] = []

    def push(self, string: str) -> list[str]:
        """Return the string before, which is not the last one; this one if that does not matter."""
        decoded = self._decoder.decode_chain([*self._held, ""])[:-1]
        self._held = [string] if self._decoder.suffix in string else []
        return decoded if self._held else [*decoded, string]

    def finish(self) -> list[str]:
        """Return the last string."""
        return self._decoder.decode_chain(self._held)


class Runs:
    """ByteFallback: a run of byte tokens is decoded when it is over.

    >>> step = Runs(ByteFallback())
    >>> step.push("<0xC3>"), step.push("<0xA9>"), step.push("a")
    ([], [], ['é', 'a'])
    """

    def __init__(self, decoder: ByteFallback) -> None:
        """Start with no string."""
        self._decoder: Final = decoder
        self._run: list[str] = []

    def push(self, string: str) -> list[str]:
        """Return what the run and the string become, if the string ends it."""
        self._run.append(string)
        # what is no byte token ends the run, and is as it was behind it
        return self.finish() if self._decoder.byte_of(string) is None else []

    def finish(self) -> list[str]:
        """Return what the run becomes."""
        run, self._run = self._run, []
        return self._decoder.decode_chain(run)


class Letters:
    """ByteLevel: letters are bytes, and the bytes are one text that grows.

    >>> step = Letters(ByteLevel(add_prefix_space=True, trim_offsets=True))
    >>> step.push("Ã"), step.push("©a")
    ([''], ['éa'])
    """

    def __init__(self, decoder: ByteLevel) -> None:
        """Start with no string."""
        self._decoder: Final = decoder
        self._stream: Final = Utf8Stream(decoder.errors)

    def push(self, string: str) -> list[str]:
        """Return the part of the text that is certain now."""
        return [self._stream.push(self._decoder.to_bytes(string))]

    def finish(self) -> list[str]:
        """Return the rest of the text."""
        return [self._stream.finish()]


class AllAtOnce:
    """Any decoder: everything is held back till the end.

    >>> from bpe_ref.decoders import Fuse
    >>> step = AllAtOnce(Fuse())
    >>> step.push("a"), step.push("b"), step.finish()
    ([], [], ['ab'])
    """

    def __init__(self, decoder: Decoder) -> None:
        """Start with no string."""
        self._decoder: Final = decoder
        self._strings: list[str] = []

    def push(self, string: str) -> list[str]:
        """Return nothing yet."""
        self._strings.append(string)
        return []

    def finish(self) -> list[str]:
        """Return everything."""
        return self._decoder.decode_chain(self._strings)


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
