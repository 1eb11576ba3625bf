"""Text from the strings of tokens, one token at a time, through a decoder chain.

    After each token comes the text that no later token can change; `finish` returns the rest. The
    pieces, joined, are what the decoder makes of all the tokens at once.

Each decoder is one step of a chain: strings in, strings out, as soon as they are certain. Behind
`Fuse` and `ByteLevel` there is one string only, which grows till the end: there the steps pass on
parts of it.

What each step holds back
    Metaspace, WordPiece    nothing: only the first string differs.
    Replace, Strip          nothing, string by string; see below for one that grows.
    BPEDecoder              the last string, if it holds the suffix.
    ByteFallback            a run of byte tokens, until another token ends it: one more byte can
                            turn all of it into U+FFFD. (Under quirks that are not all or nothing,
                            until the run is one string.)
    ByteLevel               an incomplete character.
    SentencePiece           the same; everything, if the model denormalizes.

In a string that grows
    Replace of a text   as much of the end as the text begins with.
    Strip               as many of its characters as it may take from the end.
    Others              everything, till the end. Files have none of these there.

A decoder of another kind holds back everything, wherever it is. So text may come later than it
must: there, in the last string of BPEDecoder, and where a longer text to replace would have been
replaced by the same text.

Source: the decoders', see `decoders`. What the library does instead is in `decode_stream`.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from bpe_ref.components import Decoder, steps_of
from bpe_ref.decoders import (
    BPEDecoder,
    ByteFallback,
    ByteLevel,
    DecoderSequence,
    Fuse,
    Metaspace,
    Replace,
    Strip,
    WordPiece,
)
from bpe_ref.decoders.sentencepiece import PieceStream, SentencePieceDecoder
from bpe_ref.decoders.utf8_stream import Utf8Stream
from bpe_ref.patterns.matches import Literal


class Step(Protocol):
    """One decoder of a chain. Behind a step that fuses, the strings are parts of one.

    All strings that it returns, in order, are the list that the decoder makes of all strings.
    """

    def push(self, string: str, /) -> list[str]:
        """Return the strings, or the parts of one, that are certain now."""

    def finish(self) -> list[str]:
        """Return the rest: nothing if nothing is held back."""
        return []


class ChainStream:
    """Strings of tokens in, text out.

    >>> llama = DecoderSequence(
    ...     (Replace(Literal("▁"), " "), ByteFallback(), Fuse(), Strip(" ", start=1, stop=0))
    ... )
    >>> stream = ChainStream(llama)
    >>> [stream.push(token) for token in ["▁Hi", "▁", "<0xC3>", "<0xA9>", "!"]], stream.finish()
    (['Hi', ' ', '', '', 'é!'], '')
    """

    def __init__(self, decoder: Decoder | None) -> None:
        self._decoder: Final = decoder
        self._steps = _steps(decoder)

    def __repr__(self) -> str:
        """Return the kind of the decoder, which may contain a whole vocabulary."""
        return f"<ChainStream of {type(self._decoder).__name__}>"

    def push(self, token: str) -> str:
        """Return the text that is certain now and was not before; often "".

        Raises `DecodingError` where the decoder does.
        """
        return "".join(_through(self._steps, [token]))

    def finish(self) -> str:
        """Return the rest of the text; the stream is then as new. Raises `DecodingError`."""
        text: list[str] = []
        try:
            for number, step in enumerate(self._steps, 1):
                text += _through(self._steps[number:], step.finish())
        finally:
            self._steps = _steps(self._decoder)
        return "".join(text)


def _through(steps: Sequence[Step], strings: list[str]) -> list[str]:
    for step in steps:
        strings = [after for string in strings for after in step.push(string)]
    return strings


def _steps(decoder: Decoder | None) -> list[Step]:
    if decoder is None:
        return [_Spaced()]
    steps: list[Step] = []
    grows = False
    parts = steps_of(decoder)
    for number, part in enumerate(parts):
        if not isinstance(part, _KNOWN):
            fused = [Fuse()] if grows else []
            return [*steps, _AllAtOnce(DecoderSequence((*fused, *parts[number:])))]
        steps += _growing(part) if grows else _separate(part)
        grows = grows or isinstance(part, Fuse | ByteLevel | SentencePieceDecoder)
    return steps


_KNOWN: Final = (
    *(BPEDecoder, ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Strip, WordPiece),
    SentencePieceDecoder,
)


def _separate(decoder: Decoder) -> list[Step]:
    """Return the step of a decoder that sees the strings one by one."""
    match decoder:
        case BPEDecoder():
            return [_LastDiffers(decoder)]
        case ByteFallback():
            return [_Runs(decoder)]
        case ByteLevel():
            return [_Letters(decoder)]
        case SentencePieceDecoder():
            return [PieceStream(decoder)]
        case Fuse():
            return []
        case _:
            return [_OneByOne(decoder)]


def _growing(decoder: Decoder) -> list[Step]:
    """Return the steps of a decoder that sees one string, part by part."""
    match decoder:
        case Fuse():
            return []
        case Replace(pattern=Literal(text=text), content=content) if text:
            return [_ReplacedText(text, content)]
        case Strip():
            return [_Stripped(decoder)]
        case _:
            return [_AllAtOnce(DecoderSequence((Fuse(), decoder)))]


class _Spaced(Step):
    """No decoder: a space between any two strings."""

    def __init__(self) -> None:
        self._between = ""

    def push(self, string: str) -> list[str]:
        between, self._between = self._between, " "
        return [between + string]


class _OneByOne(Step):
    """A decoder that at most treats the first string differently, and holds back nothing."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder: Final = decoder
        self._before: list[str] = []

    def push(self, string: str) -> list[str]:
        chain = self._decoder.decode_chain([*self._before, string])
        decoded = chain[len(self._before) :]
        self._before = ["long enough"]  # any string that is there and that Strip can strip
        return decoded


class _LastDiffers(Step):
    """BPEDecoder: in the last string the suffix becomes nothing, in the others a space."""

    def __init__(self, decoder: BPEDecoder) -> None:
        self._decoder: Final = decoder
        self._held: list[str] = []

    def push(self, string: str) -> list[str]:
        """Return the string before, which is not the last one; this one if that does not matter."""
        decoded = self._decoder.decode_chain([*self._held, ""])[:-1]
        self._held = [string] if self._decoder.suffix in string else []
        return decoded if self._held else [*decoded, string]

    def finish(self) -> list[str]:
        return self._decoder.decode_chain(self._held)


class _Runs(Step):
    """ByteFallback: a run of byte tokens is decoded when it is over."""

    def __init__(self, decoder: ByteFallback) -> None:
        self._decoder: Final = decoder
        self._run: list[str] = []

    def push(self, string: str) -> list[str]:
        self._run.append(string)
        # another token ends the run and follows it unchanged
        return self.finish() if self._decoder.byte_of(string) is None else []

    def finish(self) -> list[str]:
        run, self._run = self._run, []
        return self._decoder.decode_chain(run)


class _Letters(Step):
    """ByteLevel: letters are bytes, and the bytes are one text that grows."""

    def __init__(self, decoder: ByteLevel) -> None:
        self._decoder: Final = decoder
        self._stream: Final = Utf8Stream(decoder.errors)

    def push(self, string: str) -> list[str]:
        return [self._stream.push(self._decoder.to_bytes(string))]

    def finish(self) -> list[str]:
        return [self._stream.finish()]


class _AllAtOnce(Step):
    """Any decoder: everything is held back till the end."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder: Final = decoder
        self._strings: list[str] = []

    def push(self, string: str) -> list[str]:
        self._strings.append(string)
        return []

    def finish(self) -> list[str]:
        return self._decoder.decode_chain(self._strings)


class _ReplacedText(Step):
    """In a string that grows: one text, not empty, for another, from the left."""

    def __init__(self, old: str, new: str) -> None:
        self._old: Final = old
        self._new: Final = new
        self._waiting = ""

    def push(self, part: str) -> list[str]:
        """Return what cannot be the beginning of another match."""
        *before, rest = (self._waiting + part).split(self._old)
        longest = min(len(rest), len(self._old) - 1)
        ends = range(len(rest) - longest, len(rest) + 1)
        certain = next(end for end in ends if self._old.startswith(rest[end:]))
        self._waiting = rest[certain:]
        return [self._new.join([*before, rest[:certain]])]

    def finish(self) -> list[str]:
        return [self._waiting]


class _Stripped(Step):
    """Strip, in a string that grows: what it may take from the end waits."""

    def __init__(self, decoder: Strip) -> None:
        self._decoder: Final = decoder
        self._only = 0  # how many there are, as long as there is nothing else
        self._nothing_else = True
        self._waiting = 0

    def push(self, part: str) -> list[str]:
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
