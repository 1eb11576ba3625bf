"""`tokenref report`: show results that `check --json` wrote."""

from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from tokenref.catalogue import Catalogue, open_catalogue
from tokenref.commands.paths import FILE, FOLDER, must_be_writable, write
from tokenref.manifest import manifest_digest
from tokenref.reports.changes import changes, notes, print_changes
from tokenref.reports.html.page import html_report, pages_beside
from tokenref.reports.junit import junit_report
from tokenref.reports.reading import Results, read_results
from tokenref.reports.summary import summaries_of_files
from tokenref.reports.terminal import print_summaries


@click.command()
@click.argument("results", nargs=-1, required=True, type=FILE, metavar="RESULTS.jsonl...")
@click.option("--html", "html_path", type=FILE, help="Write one static page here.")
@click.option("--junit", "junit_path", type=FILE, help="Write JUnit XML here.")
@click.option("--only-changes", "old_path", type=FILE, help="Only what differs from this run.")
@click.option("--fixtures", type=FOLDER, help="Fixtures other than those of the package.")
@click.option(
    "--pages", metavar="ADDRESS", help="Where the pages that records cite are: above docs/."
)
@click.pass_context
def report(  # noqa: PLR0913, PLR0917 - one parameter per option
    ctx: click.Context,
    results: Sequence[Path],
    html_path: Path | None,
    junit_path: Path | None,
    old_path: Path | None,
    fixtures: Path | None,
    pages: str | None,
) -> None:
    """Show the results of runs, as written by `check --json`.

    Several files may be of several engines, or of the shards of one. Ends as the runs did: 0 clean,
    1 failures, 3 invalid; with --only-changes, 1 if there are new failures.
    """
    ctx.exit(
        make_reports(
            [read_results(path) for path in dict.fromkeys(results)],
            open_catalogue(fixtures),
            html_path=html_path,
            junit_path=junit_path,
            old=None if old_path is None else read_results(old_path),
            pages=pages,
        )
    )


def make_reports(
    files: Sequence[Results],
    catalogue: Catalogue,
    *,
    html_path: Path | None = None,
    junit_path: Path | None = None,
    old: Results | None = None,
    pages: str | None = None,
    show: bool = True,
) -> int:
    """Write what is asked for, print the rest, and return the exit code."""
    for path in (html_path, junit_path):
        if path is not None:
            must_be_writable(path)
    console = Console()
    said = [*_about_records(files, catalogue)]
    changed = None
    if old is not None:
        changed = list(changes(old, files))
        said += notes(old, files)
    if junit_path is not None:
        write(junit_report(files), junit_path)
    if html_path is not None:
        if pages is None:
            pages = pages_beside(html_path, catalogue.folder)
        write(html_report(files, catalogue, notes=said, pages=pages, changes=changed), html_path)
    for sentence in said:
        console.print(sentence, style="yellow", markup=False, highlight=False, soft_wrap=True)
    records = {case.id: case for case in catalogue.cases}
    if changed is not None:
        print_changes(console, changed)
    elif show:
        names = {entry.digest: entry.name for entry in catalogue.manifest.subjects}
        unavailable = [pair for results in files for pair in results.header.unavailable.items()]
        print_summaries(console, summaries_of_files(files, records), unavailable, records, names)
    codes = [line.exit for results in files for line in results.engines.values()]
    if not codes or not all(results.footer.complete for results in files):
        return 3
    if changed is not None:
        return int(any(change.kind == "new failure" for change in changed))
    return max(codes)


def _about_records(files: Sequence[Results], catalogue: Catalogue) -> list[str]:
    """Return a sentence for each file whose records are not those that are here."""
    here = manifest_digest(catalogue.manifest)
    return [
        f"{results.path} is of other records than those here: "
        "reasons, questions and flags may be missing, or others than were asked"
        for results in files
        if results.header.fixtures != here
    ]
