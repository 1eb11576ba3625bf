"""What an audit found, in words."""

from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bpe_ref import Audit, ByConcatenation, Vocabulary

_SHOWN: Final = 5


def print_audit(console: Console, vocabulary: Vocabulary, found: Audit) -> None:
    """Print one line per finding, with the first few tokens that it concerns."""
    table = Table(show_header=False, show_edge=False, box=None, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
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
        ("missing bytes", f"{len(found.missing_bytes)} {found.missing_bytes[:_SHOWN].hex(' ')}"),
        ("ids follow ranks", "yes" if found.ids_follow_ranks else "no"),
        (
            "fast seam test",
            "holds for every token" if found.is_orderly else "holds for a part of the tokens",
        ),
    ):
        table.add_row(Text(label, style="dim"), Text(value))
    console.print(table)


def _tokens(vocabulary: Vocabulary, ids: Sequence[int]) -> str:
    """Show how many tokens these are, and the first few of them."""
    shown = ", ".join(f"{token} {vocabulary.tokens[token]!r}" for token in ids[:_SHOWN])
    return f"{len(ids):,}" + (f": {shown}" if ids else "") + (", ..." if len(ids) > _SHOWN else "")
