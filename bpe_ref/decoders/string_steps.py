"""Decoders that see strings one by one, as steps of a stream; see `chain_stream`.

A step takes a string and returns those that are certain now. What `finish`
returns comes after all that `push` returned; joined in order they are the list
that the decoder makes of all the strings at once.
"""

from typing import Final

from bpe_ref.components import Decoder
from bpe_ref.decoders import BPEDecoder, ByteFallback, ByteLevel
from bpe_ref.decoders.utf8_stream import Utf8Stream


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
