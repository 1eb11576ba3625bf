"""`tokenref rules`: the points that engines decide differently, and the names of the choices."""

from collections.abc import Iterable

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sampling_ref import PROFILES
from tokenref.commands.options import SAMPLER_OPERATION
from tokenref.definitions import definition_of
from tokenref.record import SAMPLER_OPS
from tokenref.rules import STANDARD, points, rule_names, slug


@click.command()
@click.argument("op", required=False, type=SAMPLER_OPERATION, metavar="[OP]")
@click.option("--all", "every", is_flag=True, help="List every rule of OP, one per line.")
@click.option("--definition", is_flag=True, help="Print the full definition of OP and its source.")
def rules(op: str | None, *, every: bool, definition: bool) -> None:
    """List the rules of sampling operations.

    Each point of OP, or of all operations, is listed with its choices.

    A rule is named after its non-standard choices, joined with plus signs. --definition
    explains the operation and each choice; docs/sampling.md does so in fewer words. Engine names
    are profiles too; `tokenref profiles` lists them.
    """
    console = Console()
    if every and op is None:
        raise click.UsageError("--all needs an operation")
    if definition:
        click.echo(_definition(op))
        return
    if op is not None and (every or not points(op)):
        for name in rule_names(op):
            click.echo(name)
        return
    _print_points(console, SAMPLER_OPS if op is None else [op])
    if op is None:
        console.print(f"\nand each of {', '.join(PROFILES)}", soft_wrap=True, highlight=False)
    else:
        count = len(rule_names(op))
        says = f"\n{count} rules, which --all lists; {STANDARD} is the first choice at every point"
        console.print(says, soft_wrap=True, highlight=False)


def _definition(op: str | None) -> str:
    """Return what an operation does, or raise a sentence if nothing is said of it."""
    if op is None:
        raise click.UsageError("--definition needs an operation")
    words = definition_of(op)
    if words is None:
        raise click.UsageError(f"{op} has no definition of its own: see fixtures/README.md")
    return words


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
            table.add_row(Text(first), Text(part), Text(", ".join(names)))
            first = ""
    console.print(table, highlight=False)
