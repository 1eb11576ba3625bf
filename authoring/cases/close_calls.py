"""Cases that were missing: each one is here because a wrong tokenizer passed all the others.

The wrong tokenizers are the mutants (`authoring.mutants`). Each row names those
that must fail it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from authoring.cases.draft import Draft, tells_apart
from authoring.mutants.table import MUTANTS
from tokenref.questions.text import TextInput


@dataclass(frozen=True)
class _Row:
    slug: str
    op: str
    vocabulary: str
    text: str
    why: str
    flags: tuple[str, ...]
    mutants: tuple[str, ...]
    anchor: str = "definition"


_QUEUE: Final = ("queue-never-goes-back",)
_SHORT_LOOK_UP: Final = ("whole-piece-below-16",)
_ZERO: Final = ("tokens-with-zero-byte-lost",)
_COMMENT: Final = ("merges-like-comments-lost",)
_SLASH: Final = ("slash-leaves-signs",)
_DOLLAR: Final = ("end-before-last-line-end",)

_ROWS: Final = (
    _Row(
        "rising-queue",
        "encode",
        "improper_outside",
        "xaby",
        "ab comes last by rank and makes two better pairs, of which aby is first; a queue that "
        "only rises takes xab.",
        ("ImproperRank",),
        _QUEUE,
    ),
    _Row(
        "rising-queue-twice",
        "encode",
        "improper_outside",
        "xabyxaby",
        "The same twice: after each ab the better pair on its right, not the one on its left.",
        ("ImproperRank",),
        _QUEUE,
    ),
    _Row(
        "whole-piece-of-16",
        "encode",
        "dead_runs_whole",
        "a" * 16,
        "A piece of 16 bytes that is a dead token is taken whole, as shorter ones are.",
        ("WholePiece", "LongToken"),
        _SHORT_LOOK_UP,
        "whole-piece",
    ),
    _Row(
        "whole-piece-of-40",
        "encode",
        "dead_runs_whole",
        "a" * 40,
        "A piece of 40 bytes that is a dead token is taken whole.",
        ("WholePiece", "LongToken"),
        _SHORT_LOOK_UP,
        "whole-piece",
    ),
    _Row(
        "whole-piece-of-17",
        "encode",
        "dead_runs_whole",
        "a" * 17,
        "A piece that is one longer than a dead token is merged, and becomes other tokens.",
        ("WholePiece", "LongToken"),
        (),
        "whole-piece",
    ),
    _Row(
        "whole-piece-of-32",
        "encode",
        "dead_runs_whole",
        "a" * 32,
        "A piece that is a dead token twice over is merged.",
        ("WholePiece", "LongToken"),
        (),
        "whole-piece",
    ),
    _Row(
        "zero-twice",
        "encode",
        "zero_bytes",
        "\0\0",
        "Two zero bytes are one token; a string of C has none of it.",
        ("ByteOrder",),
        _ZERO,
    ),
    _Row(
        "zero-last",
        "encode",
        "zero_bytes",
        "a\0",
        "A token that ends in a zero byte.",
        ("ByteOrder",),
        _ZERO,
    ),
    _Row(
        "zero-inside",
        "encode",
        "zero_bytes",
        "a\0a",
        "A zero byte between two letters, and the token of all three ranks last.",
        ("ByteOrder",),
        _ZERO,
    ),
    _Row(
        "zero-first",
        "encode",
        "zero_bytes",
        "\0a\0\0a",
        "Zero bytes before each letter: which of the tokens comes first is a matter of rank.",
        ("ByteOrder", "MergeOrder"),
        _ZERO,
    ),
    _Row(
        "hashes",
        "encode",
        "pair_hashes",
        "##",
        "The merge of # with # looks like a comment in a file of merges, and is none.",
        ("ByPair",),
        _COMMENT,
        "by-pair",
    ),
    _Row(
        "hashes-version",
        "encode",
        "pair_hashes",
        "##v#v",
        "Merges that begin with a hash, several of them in one text.",
        ("ByPair",),
        _COMMENT,
        "by-pair",
    ),
    _Row(
        "slash-after-line",
        "pieces",
        "tiny_o200k",
        ".\n/",
        "Signs take line ends and slashes behind them in o200k's pattern, in any order.",
        ("LineEnd", "PatternVariant"),
        _SLASH,
        "pieces",
    ),
    _Row(
        "slash-between-lines",
        "pieces",
        "tiny_o200k",
        "!\n/\n//\r\nx",
        "Slashes between line ends stay with the sign before them in o200k's pattern.",
        ("LineEnd", "PatternVariant"),
        _SLASH,
        "pieces",
    ),
    _Row(
        "end-is-the-end",
        "pieces",
        "end_of_text",
        "aa\n",
        "The end of the text is not before its last line end, as Python's dollar would have it.",
        ("Pretokenization", "LineEnd"),
        _DOLLAR,
        "pieces",
    ),
    _Row(
        "end-is-the-end-tokens",
        "encode",
        "end_of_text",
        "aaa\n",
        "Three letters before a last line end are three pieces, and so three tokens.",
        ("Pretokenization", "LineEnd"),
        _DOLLAR,
        "pieces",
    ),
    _Row(
        "end-without-line",
        "encode",
        "end_of_text",
        "a\naaa",
        "Three letters at the very end are one piece.",
        ("Pretokenization", "LineEnd"),
        (),
        "pieces",
    ),
)


def drafts() -> Iterator[Draft]:
    """Yield the cases of this topic."""
    for row in _ROWS:
        yield Draft(
            op=row.op,
            topic="close_calls",
            slug=row.slug,
            vocabulary=row.vocabulary,
            request=TextInput(text=row.text),
            why=row.why,
            flags=row.flags,
            spec=f"docs/bpe.md#{row.anchor}",
            purposes=tuple(tells_apart(name, MUTANTS[name].engine) for name in row.mutants),
        )
