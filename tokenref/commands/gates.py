"""`tokenref mutants` and `tokenref attest`: is what the project says of itself still so."""

import time
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from authoring.attestation.engines import REAL_ENGINES, opened, published
from authoring.attestation.pages import SHARED, pages, says_the_same
from tokenref.catalogue import open_catalogue
from tokenref.commands.paths import FILE, FOLDER, InputError, is_current, must_be_writable, write
from tokenref.known import default_path, read_known
from tokenref.reports.results import UNJUDGED
from tokenref.runner import Run, run_engine


@click.command()
@click.option(
    "--fixtures", type=FOLDER, help="Use the fixtures in this folder, not those of the package."
)
@click.option("--page", type=FILE, help="Write the page about mutants here.")
@click.option("--check", "only_check", is_flag=True, help="Compare the page, write nothing.")
@click.pass_context
def mutants(
    ctx: click.Context, fixtures: Path | None, page: Path | None, *, only_check: bool
) -> None:
    """Show that the golden records kill every seeded bug. This is about the project itself."""
    from authoring.mutants.gate import run_gate
    from tokenref.reports.mutants import print_gate
    from tokenref.reports.mutants_page import mutants_page

    if only_check and page is None:
        raise InputError("--check compares a page, so it needs --page")
    if page is not None and not only_check:
        must_be_writable(page)
    report = run_gate(open_catalogue(fixtures))
    print_gate(Console(), report)
    code = 0 if report.ok else 1
    if page is not None and not is_current(
        mutants_page(report).encode(), page, only_check=only_check
    ):
        click.echo(f"{page} differs from what would be written")
        code = 1
    ctx.exit(code)


@click.command()
@click.option("--check", "only_check", is_flag=True, help="Compare, write nothing.")
@click.option("--folder", type=FOLDER, default=Path(), help="The project's folder.")
@click.pass_context
def attest(ctx: click.Context, folder: Path, *, only_check: bool) -> None:
    """Run every shipped engine, and write what they say into docs.

    Each is asked all records. All of them must be installed: the extras engines and
    sampling-engines, and the packages of npm that docs/your-engine.md names. Nothing is
    written while one of them fails.
    """
    there = {path: (folder / path).read_text(encoding="utf-8") for path in SHARED}
    catalogue = open_catalogue()
    known = read_known(default_path())
    runs = []
    for engine in opened(REAL_ENGINES):
        start = time.perf_counter()
        run = run_engine(engine, catalogue.cases, catalogue, known=known, complete=True)
        runs.append(published(run))
        click.echo(f"{_sums(run)}, {time.perf_counter() - start:.1f} s", err=True)
    _end_if_one_fails(ctx, runs)
    changed = 0
    for path, data in pages(runs, catalogue, known, there.__getitem__).items():
        old = (folder / path).read_bytes() if (folder / path).is_file() else b""
        if old == data or (only_check and says_the_same(path, old, data)):
            continue
        changed += 1
        click.echo(f"{path} {'differs' if only_check else 'is written'}")
        if not only_check:
            write(data, folder / path)
    ctx.exit(1 if only_check and changed else 0)


def _sums(run: Run) -> str:
    asked = len(run.results) - sum(r.judgement.status in UNJUDGED for r in run.results)
    return (
        f"{run.engine} {run.version}: asked {asked:,}, {run.count('pass'):,} agree, "
        f"{run.count('xfail'):,} known differences"
    )


def _end_if_one_fails(ctx: click.Context, runs: Sequence[Run]) -> None:
    """End with the worst exit code, if it is none of success, and say which engine it is of."""
    code = max((run.exit_code for run in runs), default=0)
    if not code:
        return
    for run in runs:
        says = [*run.trouble, *run.stale, *run.incidents]
        if run.failures:
            says.append(f"{len(run.failures):,} failures, the first {run.failures[0].case.id}")
        for sentence in says:
            click.echo(f"{run.engine}: {sentence}; see tokenref check {run.engine}", err=True)
    ctx.exit(code)
