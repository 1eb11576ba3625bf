"""Options that several commands share, such as the cases to run, and time limits for a program."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tokenref.catalogue import Catalogue, Selection, open_catalogue
from tokenref.commands.paths import FILE, FOLDER, Decorator, options_as
from tokenref.commands.text import PATTERN, naming_options, say_notes
from tokenref.files import files_named
from tokenref.protocol.channel import Patience
from tokenref.record import OPS, SAMPLER_OPS

if TYPE_CHECKING:
    from tokenref.known import Known


class _Operation(click.Choice[str]):
    """A choice among many names. The error for an unknown name suggests the nearest one."""

    def get_metavar(self, *_: Any, **__: Any) -> str:
        """Return the placeholder that help shows for the value."""
        return "OP"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the operation. An unknown one is a usage error."""
        if value in self.choices:
            return str(value)
        if value in OPS:
            self.fail(f"{value!r} is an operation on tokenizers, which has no rules.", param, ctx)
        near = difflib.get_close_matches(str(value), list(self.choices), 1)
        meant = (
            f"; did you mean {near[0]!r}?"
            if near
            else "; `tokenref show fixtures/README.md` lists them."
        )
        return self.fail(f"unknown operation {value!r}{meant}", param, ctx)


OPERATION: Final = _Operation(OPS)
"""Any operation of records."""

SAMPLER_OPERATION: Final = _Operation(SAMPLER_OPS)
"""An operation on samplers."""

FIXTURES: Final = click.option(
    "--fixtures", type=FOLDER, help="Use the fixtures in this folder, not those of the package."
)
FIXTURES_DIGEST: Final = click.option(
    "--fixtures-digest",
    "digest",
    metavar="sha256:...",
    help="Refuse fixtures whose manifest has another digest. `tokenref engines` prints it.",
)


@dataclass(frozen=True)
class Given:
    """Where the records of a command are: the fixtures, or a user's own files."""

    fixtures: Path | None = None
    records: Sequence[Path] = ()
    vocabulary: Sequence[str] = ()
    """The vocabulary of own records, unless it lies next to each file."""

    pattern: str | None = None

    def catalogue(self, digest: str | None = None, *, upgrade: bool = False) -> Catalogue:
        """Open the records. Errors are those of `open_own`, and `UsageError` for wrong options."""
        for option in ("pattern", "vocabulary") if not self.records else ():
            if getattr(self, option):
                raise click.UsageError(f"--{option} needs --records")
        if not self.records:
            return open_catalogue(self.fixtures, digest)
        if self.fixtures is not None:
            raise click.UsageError("--fixtures cannot be used together with --records")
        if len(self.vocabulary) > 1:
            raise click.UsageError("--records needs exactly one --vocabulary")
        from tokenref.goldens import joined, open_own  # here, so that other commands start quickly

        with naming_options("pattern"):
            vocabulary = next(iter(self.vocabulary), None)
            opened = joined(
                open_own(path, vocabulary, self.pattern, upgrade=upgrade)
                for path in dict.fromkeys(self.records)
            )
        if upgrade:
            say_notes(opened.notes)
        return opened

    def known(self, path: Path | None, engines: Sequence[str]) -> "list[Known]":
        """Return known differences. The list of tokenref is only about the fixtures."""
        from tokenref.known import read_known  # here, so that other commands start quickly

        return [] if self.records and path is None else read_known(path, engines)

    def about(self, catalogue: Catalogue) -> dict[str, object]:
        """Return what a file of results says about the records."""
        kind = "records" if self.records else "fixtures"
        return {kind: catalogue.digest, "fixtures_version": catalogue.manifest.version}


def record_files(_: click.Context, __: click.Parameter, paths: Sequence[str]) -> Sequence[Path]:
    """Return the files of --records."""
    return [each for path in paths for each in files_named(path, "--records", ".jsonl")]


def given_options(*left_out: str) -> Decorator:
    """Return a decorator: the command receives where the records are as the argument `given`."""
    records = (
        "Use the records in this file, written by `fill` or `promote`; repeatable. A folder is all "
        ".jsonl files in it, and a pattern such as '*.jsonl', in quotes, all files that match."
    )
    vocabulary = "The vocabulary of --records, unless it lies next to them."
    options = {
        "records": click.option(
            "--records", metavar="PATH", multiple=True, help=records, callback=record_files
        ),
        "vocabulary": click.option("--vocabulary", multiple=True, help=vocabulary),
        "pattern": PATTERN,
        "fixtures": FIXTURES,
    }
    return options_as("given", Given, **{k: v for k, v in options.items() if k not in left_out})


KNOWN: Final = click.option(
    "--known", "known_path", type=FILE, help="Use this list of known differences."
)
JSON_LINES: Final = click.option(
    "--json",
    "json_path",
    type=FILE,
    help="Write the results of all cases to this file, as JSON lines.",
)
ANSWERED_AT_LEAST: Final = click.option(
    "--answered-at-least",
    "least",
    type=click.IntRange(min=1),
    metavar="N",
    help="Fail if an engine answers fewer than N cases, for example because it lost an operation.",
)
ORDER: Final = click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Seed of the order in which cases are run.",
)
PROGRAM_HELP: Final = (
    "Test this program. It speaks the protocol (`tokenref show docs/protocol.md`) and is started "
    "without a shell."
)


def selection_options(verb: str) -> Decorator:
    """Return a decorator: the command receives the cases to run as the argument `selection`."""
    only = f"{verb} only"
    each = partial(click.option, multiple=True)
    return options_as(
        "selection",
        Selection,
        ids=each("--id", "ids", metavar="GLOB", help=f"{only} cases whose id matches."),
        ops=each("--op", "ops", type=OPERATION, help=f"{only} this operation."),
        flags=each("--flag", "flags", help=f"{only} cases with this flag."),
        without_flags=each(
            "--without-flag", "without_flags", help=f"{verb} no cases with this flag."
        ),
        vocabularies=each(
            "--vocabulary", "vocabularies", help=f"{only} cases of this vocabulary (a name)."
        ),
        profiles=each(
            "--profile",
            "profiles",
            help=f"{only} cases of this profile, the name of a rule or an engine.",
        ),
        rows_at_most=click.option(
            "--rows-at-most",
            type=click.IntRange(min=1),
            metavar="N",
            help=f"{verb} no cases with more than N rows in one call.",
        ),
        large=click.option(
            "--large", is_flag=True, help=f"{verb} also the cases that take long (flag Large)."
        ),
    )


def number_of_seconds(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    """Raise `BadParameter` for NaN, which every range of click accepts."""
    if value is not None and isnan(value):
        raise click.BadParameter("nan is not a number of seconds.")
    return value


def _limit(option: str, parameter: str, text: str) -> Decorator:
    """Return the option of a time limit in `Patience`."""
    return click.option(
        option,
        parameter,
        type=click.FloatRange(min=0, max=86_400, min_open=True),
        callback=number_of_seconds,
        default=getattr(Patience, parameter),
        show_default=True,
        help=text,
    )


IDS_ONLY: Final = click.option(
    "--ids-only",
    is_flag=True,
    help="Of answers about a tokenizer.json (`tokenize`), compare only the ids.",
)
_LIMITS: Final = {
    "per_batch": _limit("--timeout", "per_batch", "Seconds allowed per batch of questions."),
    "per_case": _limit("--timeout-per-case", "per_case", "More seconds allowed per question."),
    "to_start": _limit("--timeout-to-start", "to_start", "Seconds allowed to start, and to load."),
}
patience_options: Final = options_as("patience", Patience, **_LIMITS)
"""Adds the time limits to a command. It receives them as the argument `patience`."""

program_options: Final = options_as(
    "patience",
    Patience,
    **_LIMITS,
    restarts=click.option(
        "--restarts",
        type=click.IntRange(min=0),
        default=Patience.restarts,
        show_default=True,
        metavar="N",
        help="Give a program up after N restarts. Those of crashes and timeouts listed as known "
        "differences do not count.",
    ),
)
"""Adds the time limits and the limit of restarts, as `patience_options` does."""


@click.command()
@program_options
def read_limits(patience: Patience) -> Patience:
    """Return the limits of options, for the pytest plugin."""
    return patience
