"""`tokenref rules`: the points that engines decide differently, and the names of the choices."""

from collections.abc import Iterable
from importlib import import_module
from inspect import cleandoc
from typing import Final

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sampling_ref import PROFILES
from tokenref.commands.options import SAMPLER_OPERATION
from tokenref.commands.paths import output_console
from tokenref.operations import ABOUT
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
    are profiles too; `tokenref profiles` lists them. `chain`, `distribution`, `sample` and
    `sequence` run the whole chain of an engine, so they have names of engines instead of rules.
    """
    console = output_console()
    if every and op is None:
        raise click.UsageError("--all needs an operation")
    if definition:
        click.echo(_definition(op))
        return
    if op in OF_ENGINES:
        _print_engines(op, only_names=every)
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


OF_ENGINES: Final = ("chain", "distribution", "sample", "sequence")
"""The operations that run the whole chain of an engine."""


def _print_engines(op: str, *, only_names: bool) -> None:
    """Print the engines, which are the profiles of an operation on a whole chain."""
    if not only_names:
        click.echo(
            f"{op} runs the whole chain of an engine, so its records have the name of an engine "
            "instead of a rule.\n`tokenref profiles ENGINE` shows the steps of an engine, "
            "`tokenref rules STEP` the rules of a step.\n"
        )
    for name in PROFILES:
        click.echo(name)


def definition_of(op: str) -> str | None:
    """Return the docstrings of the modules that define an operation, or None if there are none.

    >>> print(definition_of("top_k").splitlines()[0])
    Top-k filtering.
    >>> definition_of("batch") is None
    True
    """
    modules = [import_module(f"sampling_ref.{name}") for name in ABOUT[op].modules]
    return "\n\n".join(cleandoc(module.__doc__ or "").strip() for module in modules) or None


def _definition(op: str | None) -> str:
    """Return what an operation does, or raise a sentence if nothing is said of it."""
    if op is None:
        raise click.UsageError("--definition needs an operation")
    words = definition_of(op)
    if words is None and op in OF_ENGINES:
        raise click.UsageError(
            f"{op} runs the whole chain of an engine: see `tokenref profiles ENGINE`"
        )
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
