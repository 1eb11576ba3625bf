"""`tokenref report`: show results that `check --json` wrote."""

from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from tokenref.catalogue import Catalogue, open_catalogue
from tokenref.commands.paths import FILE, FOLDER, InputError
from tokenref.commands.reports import Wanted, report_options, with_changes
from tokenref.manifest import manifest_digest
from tokenref.reports.html.page import is_address
from tokenref.reports.reading import Results, read_results
from tokenref.reports.summary import summaries_of_files
from tokenref.reports.terminal import print_summaries


@click.command()
@click.argument("results", nargs=-1, required=True, type=FILE, metavar="RESULTS.jsonl...")
@report_options
@click.option("--fixtures", type=FOLDER, help="Fixtures other than those of the package.")
@click.option(
    "--pages", metavar="ADDRESS", help="Where the pages that records cite are: above docs/."
)
@click.pass_context
def report(
    ctx: click.Context,
    results: Sequence[Path],
    fixtures: Path | None,
    pages: str | None,
    reports: Wanted,
) -> None:
    """Show the results of runs, as written by `check --json`.

    Several files may be of several engines, or of the shards of one. Ends as the runs did: 0 clean,
    1 failures, 3 invalid; with --only-changes, 1 if there are new failures.
    """
    if pages is not None and not is_address(pages):
        raise InputError(f"--pages must be a path, or an http or https address, got {pages!r}")
    files = [read_results(path) for path in dict.fromkeys(results)]
    catalogue = open_catalogue(fixtures)
    changed = reports.make(files, catalogue, _about_records(files, catalogue), pages)
    code = exit_code(files)
    if changed is None:
        _print_all(files, catalogue)
    else:
        code = with_changes(code, changed)
    ctx.exit(code)


def _print_all(files: Sequence[Results], catalogue: Catalogue) -> None:
    records = {case.id: case for case in catalogue.cases}
    names = {entry.digest: entry.name for entry in catalogue.manifest.subjects}
    unavailable = [pair for results in files for pair in results.header.unavailable.items()]
    print_summaries(Console(), summaries_of_files(files, records), unavailable, records, names)


def exit_code(files: Sequence[Results]) -> int:
    """Return 3 if a run is invalid, else 1 for failures.

    >>> exit_code([])
    3
    """
    codes = [line.exit for results in files for line in results.engines.values()]
    if not codes or not all(results.footer.complete for results in files):
        return 3
    return max(codes)


def _about_records(files: Sequence[Results], catalogue: Catalogue) -> list[str]:
    """Return a sentence for each file whose records are not those that are here."""
    here = manifest_digest(catalogue.manifest)
    return [
        f"{results.path} is of records of one's own: their reasons and questions are not here; "
        "`tokenref check --records FILE --html` shows them"
        if results.header.records
        else f"{results.path} is of other records than those here: "
        "reasons, questions and flags may be missing, or others than were asked"
        for results in files
        if results.header.fixtures != here
    ]
