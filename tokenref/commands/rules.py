"""`tokenref rules`: the points that engines decide differently, and the names of the choices."""

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sampling_ref import PROFILES
from tokenref.record import SAMPLER_OPS
from tokenref.rules import points, rule_names, slug


@click.command()
@click.argument("op", required=False, type=click.Choice(SAMPLER_OPS), metavar="[OP]")
def rules(op: str | None) -> None:
    """List what a record's profile may be: rules of OP, or the points of all operations.

    Joined with a plus sign, the choices of several points are one rule. Names of
    engines are profiles as well; `tokenref profiles` lists those.
    """
    console = Console()
    if op is not None:
        for name in rule_names(op):
            click.echo(name)
        return
    table = Table(box=None, pad_edge=False)
    for title in ("operation", "point", "choices, the standard one first"):
        table.add_column(title, no_wrap=not title.startswith("choices"))
    for each in SAMPLER_OPS:
        first = each
        for point, (standard, *others) in points(each).items():
            part = point.replace("_", "-")
            names = [slug(standard), *(f"{part}.{slug(choice)}" for choice in others)]
            table.add_row(Text(first), Text(point), Text(", ".join(names)))
            first = ""
    console.print(table, highlight=False)
    console.print(f"\nand each of {', '.join(PROFILES)}", soft_wrap=True, highlight=False)
