"""Text from the strings of tokens, one token at a time, through a decoder chain.

    After each token comes the text that no later token can change; `finish`
    returns the rest. The pieces, joined, are what the decoder makes of all the
    tokens at once.

Each decoder is one step of a chain: strings in, strings out, as soon as they
are certain. Behind `Fuse` and `ByteLevel` there is one string only, which grows
till the end: there the steps pass on parts of it.

What each step holds back
    Metaspace, WordPiece    nothing: only the first string differs.
    Replace, Strip          nothing, string by string; see below for one that grows.
    BPEDecoder              the last string, if it holds the suffix.
    ByteFallback            a run of byte tokens, until another token ends it:
                            one more byte can turn all of it into U+FFFD. (Under
                            quirks that are not all or nothing, until the run
                            is one string.)
    ByteLevel               an incomplete character.
    SentencePiece           the same; everything, if the model denormalizes.

In a string that grows
    Replace    of a text: as much of the end as the text begins with. Of a
               regular expression, or of the empty text: everything, till the end.
    WordPiece  the same, for each of its cleanups.
    Strip      as many of its characters as it may take from the end.
    ByteFallback    up to six characters, which may yet be `<0x41>`.
    ByteLevel  everything: a letter that is none changes how all are read.
    Any decoder of another kind: everything, wherever it stands.

So text may come later than it must: behind the last two, with regular
expressions, in the last string of BPEDecoder, and where a longer text to
replace would have been replaced by the same text.

Source: the decoders', see `decoders`. What the library does instead is in
`decode_stream`.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from bpe_ref.components import Decoder
from bpe_ref.decoders import (
    CLEANUP,
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
from bpe_ref.decoders.chain_steps import (
    AllAtOnce,
    LastDiffers,
    Letters,
    OneByOne,
    PerhapsAByte,
    ReplacedText,
    Runs,
    Spaced,
    Stripped,
)
from bpe_ref.decoders.sentencepiece import PieceStream, SentencePieceDecoder
from bpe_ref.patterns.matches import Literal


class Step(Protocol):
    """One decoder of a chain. Behind a step that fuses, the strings are parts of one."""

    def push(self, string: str, /) -> list[str]:
        """Return the strings, or the parts of one, that are certain now."""

    def finish(self) -> list[str]:
        """Return the rest."""


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
        """Start empty; None stands for no decoder, as in `decode_tokens`."""
        self._decoder: Final = decoder
        self._steps = _steps(decoder)

    def push(self, token: str) -> str:
        """Return the text that is certain now and was not before; often "".

        Raises `DecodingError` where the decoder does.
        """
        return "".join(_through(self._steps, [token]))

    def finish(self) -> str:
        """Return the rest of the text; the stream is then as new. Raises `DecodingError`."""
        text: list[str] = []
        try:
            for step, after in zip(self._steps, _tails(self._steps), strict=True):
                text += _through(after, step.finish())
        finally:
            self._steps = _steps(self._decoder)
        return "".join(text)


def _tails(steps: Sequence[Step]) -> list[Sequence[Step]]:
    """Return for each step those that come after it."""
    return [steps[number:] for number in range(1, len(steps) + 1)]


def _through(steps: Sequence[Step], strings: list[str]) -> list[str]:
    """Push strings through all the steps."""
    for step in steps:
        strings = [after for string in strings for after in step.push(string)]
    return strings


def _steps(decoder: Decoder | None) -> list[Step]:
    """Return the steps of a decoder, in order."""
    if decoder is None:
        return [Spaced()]
    steps: list[Step] = []
    grows = False
    parts = _parts(decoder)
    for number, part in enumerate(parts):
        if not isinstance(part, _KNOWN):
            fused = [Fuse()] if grows else []
            return [*steps, AllAtOnce(DecoderSequence((*fused, *parts[number:])))]
        steps += _growing(part) if grows else _separate(part)
        grows = grows or isinstance(part, Fuse | ByteLevel | SentencePieceDecoder)
    return steps


_KNOWN: Final = (
    *(BPEDecoder, ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Strip, WordPiece),
    SentencePieceDecoder,
)


def _parts(decoder: Decoder) -> list[Decoder]:
    """Return the decoders that a sequence, and those in it, come to."""
    if isinstance(decoder, DecoderSequence):
        return [part for one in decoder.decoders for part in _parts(one)]
    return [decoder]


def _separate(decoder: Decoder) -> list[Step]:
    """Return the step of a decoder that sees the strings one by one."""
    match decoder:
        case BPEDecoder():
            return [LastDiffers(decoder)]
        case ByteFallback():
            return [Runs(decoder)]
        case ByteLevel():
            return [Letters(decoder)]
        case SentencePieceDecoder():
            return [PieceStream(decoder)]
        case Fuse():
            return []
        case _:
            return [OneByOne(decoder)]


def _growing(decoder: Decoder) -> list[Step]:
    """Return the steps of a decoder that sees one string, part by part."""
    match decoder:
        case Fuse():
            return []
        case Metaspace(replacement=letter, prepend_scheme=scheme):  # there is a first string only
            return [ReplacedText(letter, " " if scheme == "never" else "")]
        case Replace(pattern=Literal(text=text), content=content) if text:
            return [ReplacedText(text, content)]
        case BPEDecoder(suffix=suffix):
            return [ReplacedText(suffix, "")] if suffix else []
        case WordPiece(cleanup=cleanup):
            return [ReplacedText(old, new) for old, new in CLEANUP] if cleanup else []
        case Strip():
            return [Stripped(decoder)]
        case ByteFallback():
            return [PerhapsAByte(decoder)]
        case _:
            return [AllAtOnce(DecoderSequence((Fuse(), decoder)))]
