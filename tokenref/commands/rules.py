"""`tokenref rules`: the points that engines decide differently, and the names of the choices."""

from collections.abc import Iterable

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sampling_ref import PROFILES
from tokenref.record import SAMPLER_OPS
from tokenref.rules import STANDARD, points, rule_names, slug


@click.command()
@click.argument("op", required=False, type=click.Choice(SAMPLER_OPS), metavar="[OP]")
@click.option("--all", "every", is_flag=True, help="The name of every rule of OP, one per line.")
def rules(op: str | None, *, every: bool) -> None:
    """List what a record's profile may be: the points of OP, or of all operations.

    A rule's name has the choices that are not the standard ones, joined with a plus
    sign; docs/sampling.md says what each choice means. Names of engines are profiles as
    well; `tokenref profiles` lists those.
    """
    console = Console()
    if every and op is None:
        raise click.UsageError("--all needs an operation")
    if op is not None and (every or not points(op)):
        for name in rule_names(op):
            click.echo(name)
        return
    _print_points(console, SAMPLER_OPS if op is None else [op])
    if op is None:
        console.print(f"\nand each of {', '.join(PROFILES)}", soft_wrap=True, highlight=False)
    else:
        count = len(rule_names(op))
        says = f"\n{count} rules, which --all lists; without any choice: {STANDARD}"
        console.print(says, highlight=False)


def _print_points(console: Console, ops: Iterable[str]) -> None:
    """Print the points of operations, and how each choice is written."""
    table = Table(box=None, pad_edge=False)
    for title in ("operation", "point", "choices, the standard one first"):
        table.add_column(title, no_wrap=not title.startswith("choices"))
    for each in ops:
        first = each
        for point, (standard, *others) in points(each).items():
            part = point.replace("_", "-")
            names = [slug(standard), *(f"{part}.{slug(choice)}" for choice in others)]
            table.add_row(Text(first), Text(point), Text(", ".join(names)))
            first = ""
    console.print(table, highlight=False)
