"""How engines encoded a user's own text, as a person wants to see it."""

from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tokenref.corpus import CorpusResult, Tokens
from tokenref.reports.short import visible

_STYLES: Final = {"same": "green", "unsupported": "dim"}


def print_corpus(console: Console, results: Sequence[CorpusResult]) -> None:
    """Print one row per engine, then the first difference of each."""
    table = Table(header_style="bold", show_edge=False, pad_edge=False)
    table.add_column("engine")
    table.add_column("encoding")
    for title in ("tokens", "MB/s", "reference MB/s"):
        table.add_column(title, justify="right")
    for result in results:
        table.add_row(
            Text(visible(f"{result.engine} {result.version}")),
            Text(result.status, style=_STYLES.get(result.status, "red")),
            f"{result.tokens:,}" if result.tokens else "·",
            _speed(result.bytes_per_second),
            _speed(result.reference_bytes_per_second),
        )
    console.print(table)
    for result in results:
        name = visible(result.engine)
        if result.detail:
            line = f"\n{name}: {visible(result.detail)}"
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        if result.difference is None:
            continue
        found = result.difference
        console.print(
            f"\n{name}: first differs at line {found.line:,}, byte {found.byte:,}",
            style="bold red",
            markup=False,
            highlight=False,
        )
        for label, content in (
            ("expected", _tokens(found.expected)),
            ("got", _tokens(found.got)),
            ("smallest", repr(found.smallest) if found.smallest else "no short part differs alone"),
        ):
            console.print(
                Text(f"    {label:9}", style="dim"), Text(content), sep="", soft_wrap=True
            )


def exit_code(results: Sequence[CorpusResult]) -> int:
    """Return 0 if all engines that could encode the text agree, 1 if not, 3 if none could.

    >>> exit_code([])
    3
    """
    judged = [result for result in results if result.status != "unsupported"]
    if not judged:
        return 3
    return int(any(result.status != "same" for result in judged))


def _speed(bytes_per_second: float) -> str:
    return f"{bytes_per_second / 1e6:.2f}" if bytes_per_second else "·"


def _tokens(tokens: Tokens) -> str:
    if not tokens:
        return "the end"
    return ", ".join(f"{token} {content!r}" for token, content in tokens)
