"""What an audit found, in words."""

from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from bpe_ref import Audit, ByConcatenation, Vocabulary

_SHOWN: Final = 5


def print_audit(console: Console, vocabulary: Vocabulary, found: Audit) -> None:
    """Print one line per finding, with the first few tokens that it concerns."""
    by_concatenation = isinstance(vocabulary.rule, ByConcatenation)
    holes = sum(map(len, found.holes))
    for label, value in (
        ("digest", vocabulary.digest()),
        ("merge rule", "by concatenation" if by_concatenation else "by pair"),
        ("tokens", f"{len(vocabulary.tokens):,}, of them {len(found.splits):,} made by merging"),
        ("special tokens", f"{len(vocabulary.special_tokens):,}"),
        ("dead tokens", _tokens(vocabulary, found.dead_tokens)),
        ("improper tokens", _tokens(vocabulary, found.improper_tokens)),
        ("holes", f"{holes:,}" + (f", the first at {found.holes[0].start}" if holes else "")),
        ("missing bytes", _bytes(found.missing_bytes)),
        ("ids follow ranks", "yes" if found.ids_follow_ranks else "no"),
        (
            "fast seam test",
            "holds for every token" if found.is_orderly else "holds for a part of the tokens",
        ),
    ):
        # Not a table: that would break a long line, and a digest must be whole to be copied.
        console.print(Text(f"{label:18}", style="dim"), Text(value), sep="", soft_wrap=True)


def _tokens(vocabulary: Vocabulary, ids: Sequence[int]) -> str:
    """Show how many tokens these are, and the first few of them."""
    return _few([f"{token} {vocabulary.tokens[token]!r}" for token in ids[:_SHOWN]], len(ids), ", ")


def _bytes(missing: bytes) -> str:
    r"""Show how many bytes these are, and the first few of them.

    >>> _bytes(b""), _bytes(b"\x00\x01"), _bytes(bytes(254))
    ('0', '2: 00 01', '254: 00 00 00 00 00, ...')
    """
    return _few([f"{byte:02x}" for byte in missing[:_SHOWN]], len(missing), " ")


def _few(shown: Sequence[str], count: int, between: str) -> str:
    """Return the count, then what is shown, and whether that is not all."""
    more = ", ..." if count > len(shown) else ""
    return f"{count:,}" + (f": {between.join(shown)}{more}" if shown else "")
