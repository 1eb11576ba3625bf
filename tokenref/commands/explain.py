"""`tokenref explain`: the views of `trace`, `sample` and `compare` as files with pictures."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from tokenref.commands import look, sampling
from tokenref.commands.paths import FILE, must_be_writable, write
from tokenref.commands.text import argument_text

_HTML: Final = click.option(
    "--html", "path", type=FILE, required=True, help="The file to write, which needs no other."
)

_ENCODER: Final = click.Option(
    ["--encoder"],
    type=click.Choice(["naive", "heap", "prefix_table", "backtracking"]),
    default="naive",
    show_default=True,
    help="Whose steps are shown; naive is the definition.",
)


@click.group()
def explain() -> None:
    """Write pictures of a trace, a chain or a comparison to a file."""


def _like(shown: click.Command, *left_out: str) -> Sequence[click.Parameter]:
    """Return the parameters of the command that prints the same."""
    return [each for each in shown.params if each.name not in left_out]


def _bpe(text: str, vocabulary: str, encoder: str, path: Path) -> None:
    """Show how a text becomes tokens, merge by merge, with the pairs that lost.

    With `--encoder`, the steps of a quick encoder are shown instead of those of the definition:
    entries of the heap with stale ones, cells of the prefix table, guesses and steps back.
    """
    from bpe_ref import load
    from tokenref.commands.pictures import merges, page

    must_be_writable(path)
    content = argument_text(text)
    sections = list(merges(load(vocabulary), content, encoder))
    write(page(f"Merges of the vocabulary {Path(vocabulary).name}", sections), path)


def _sample(profile: str, path: Path, **typed: Any) -> None:
    """Show what each stage of an engine's chain keeps and removes, and the draw."""
    _write([profile], path, sampling.Asked(**typed))


def _compare(one: str, other: str, path: Path, **typed: Any) -> None:
    """Show two engines side by side, with the first stage at which they differ."""
    _write([one, other], path, sampling.Asked(**typed))


def _write(names: Sequence[str], path: Path, asked: sampling.Asked) -> None:
    """Write what one engine does with a row, or two side by side."""
    from tokenref.commands.pictures import page, question, row_pictures

    must_be_writable(path)
    engines = sampling.compared_engines(names, asked)
    shown = " and ".join(made.profile.name for made, _, _ in engines)
    title = f"What {shown} does with a row" if len(engines) == 1 else f"Where {shown} differ"
    write(page(title, [question(asked), *row_pictures(engines, asked.uniforms)]), path)


for name, callback, params in (
    ("bpe", _bpe, [*_like(look.trace_command), _ENCODER]),
    ("sample", _sample, _like(sampling.sample, "seed", "as_json")),
    ("compare", _compare, _like(sampling.compare)),
):
    command = click.command(name, context_settings={"ignore_unknown_options": True})(
        _HTML(callback)
    )
    command.params[:0] = params
    explain.add_command(command)
