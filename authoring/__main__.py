"""`python -m authoring`: write the data that tokenref ships, or check that it is up to date.

Run it in a checkout of the project. Exit codes are those of `tokenref`: 0 everything is up to
date, 1 something differs or an engine fails, 2 the command is wrong, 3 nothing could be made.
"""

import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Final

import click
from rich.console import Console

from authoring import tables as table_scripts
from authoring.attestation.engines import REAL_ENGINES, opened, published
from authoring.attestation.pages import SHARED, pages, says_the_same
from tokenref.catalogue import open_catalogue
from tokenref.cli import OneSentence
from tokenref.commands.paths import FILE, FOLDER, must_be_writable, progress_bar, write
from tokenref.errors import InputError
from tokenref.known import differences_of, read_known
from tokenref.record_files import MANIFEST, REGRESS
from tokenref.reports.results import UNJUDGED
from tokenref.runner import Run, run_engine

FIXTURES: Final = Path("fixtures")
ENGINES_PAGE: Final = Path("docs/engines.md")
TABLES: Final = {
    module.name.removeprefix("make_").removesuffix("_tables"): module.name
    for module in iter_modules(table_scripts.__path__)
}
"""The modules that make tables, by the name of their table."""


@click.group(cls=OneSentence, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Write the data that tokenref ships, or check that it is up to date."""


@main.command()
@click.option("--check", "only_check", is_flag=True, help="Compare byte for byte, write nothing.")
@click.option("--folder", type=FOLDER, default=FIXTURES, show_default=True)
@click.pass_context
def fixtures(ctx: click.Context, folder: Path, *, only_check: bool) -> None:
    """Write the golden records."""
    from authoring.fixtures import differences, make_files, write_files

    if folder == FIXTURES and not (folder / MANIFEST).is_file():
        raise click.UsageError(
            f"there is no {folder / MANIFEST} here: run it in a checkout, or name a --folder"
        )
    has_regressions = (folder / MANIFEST).is_file() or (folder / REGRESS).is_dir()
    with progress_bar() as bar:
        task = bar.add_task("", total=None)
        files = make_files(
            lambda path: bar.update(task, description=path), folder if has_regressions else None
        )
    if not only_check:
        changed = write_files(files, folder)
        click.echo(f"{folder}: {len(files):,} files, {len(changed):,} changed")
        return
    found = differences(files, folder)
    for sentence in found:
        click.echo(sentence)
    click.echo(f"{folder}: {len(files):,} files, {len(found):,} differ")
    ctx.exit(1 if found else 0)


@main.command()
@click.option("--check", "only_check", is_flag=True, help="Compare the files, write nothing.")
@click.pass_context
def figures(ctx: click.Context, *, only_check: bool) -> None:
    """Draw the figures of the pages."""
    from authoring.figures import FOLDER as DRAWN
    from authoring.figures import figures as drawn

    current = [
        _is_current(content, DRAWN / name, only_check=only_check)
        for name, content in drawn().items()
    ]
    ctx.exit(0 if all(current) else 1)


@main.command()
def findings() -> None:
    """Run the scripts of docs/findings, and write their page. All engines must be installed."""
    from authoring.findings_page import FOLDER, findings_page

    page = FOLDER / "README.md"
    write(findings_page().encode(), page)
    click.echo(f"{page} is written")


@main.command()
@click.option("--fixtures", type=FOLDER, help="Fixtures other than those of the checkout.")
@click.option("--page", type=FILE, help="Write the page about mutants here.")
@click.option("--check", "only_check", is_flag=True, help="Compare the files, write nothing.")
@click.pass_context
def mutants(
    ctx: click.Context, fixtures: Path | None, page: Path | None, *, only_check: bool
) -> None:
    """Show that the golden records kill every seeded bug.

    The records that fail, and the wrong answers, are written to a file for `tokenref check`,
    which compares an engine's failures with them.
    """
    from authoring.mutants.gate import rare_kills, run_gate
    from authoring.mutants.page import mutants_page
    from authoring.mutants.printing import print_gate
    from authoring.mutants.signatures import OTHER_RULES, write_signatures

    if only_check and page is None:
        raise InputError("--check compares a page, so it needs --page")
    if page is not None and not only_check:
        must_be_writable(page)
    rare = rare_kills() if fixtures is None else None
    report = run_gate(open_catalogue(fixtures), others=OTHER_RULES, rare=rare)
    print_gate(Console(), report)
    is_good = report.ok
    if fixtures is None:
        is_good &= write_signatures(report, only_check=only_check)
    if page is not None:
        is_good &= _is_current(mutants_page(report), page, only_check=only_check)
    ctx.exit(0 if is_good else 1)


@main.command()
@click.option("--check", "only_check", is_flag=True, help="Compare, write nothing.")
@click.option("--folder", type=FOLDER, default=Path(), help="The project's folder.")
@click.pass_context
def attest(ctx: click.Context, folder: Path, *, only_check: bool) -> None:
    """Run every engine over all records, and write the results into the pages.

    All engines must be installed: the extras engines and sampling-engines, and the npm
    packages that docs/your-engine.md names. Nothing is written while one of them fails.
    """
    there = {path: (folder / path).read_text(encoding="utf-8") for path in SHARED}
    catalogue = open_catalogue()
    known = read_known()
    runs = []
    for engine in opened(REAL_ENGINES):
        start = time.perf_counter()
        run = run_engine(engine, catalogue.cases, catalogue, known=known, complete=True)
        runs.append(published(run))
        click.echo(f"{_sums(run)}, {time.perf_counter() - start:.1f} s", err=True)
    _end_if_one_fails(ctx, runs)
    known = [entry for run in runs for entry in differences_of(known, run.engine, run.version)]
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
    """Exit with the worst exit code if an engine fails, and name the engine."""
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


@main.command()
@click.option("--check", "only_check", is_flag=True, help="Compare, write nothing.")
@click.pass_context
def power(ctx: click.Context, *, only_check: bool) -> None:
    """Measure which tests detect the seeded bugs of samplers, for the book."""
    from authoring.power import PAGE, page

    made = page(PAGE.read_text(encoding="utf-8"))
    ctx.exit(0 if _is_current(made, PAGE, only_check=only_check) else 1)


@main.command()
@click.option("--page", type=FILE, default=ENGINES_PAGE, show_default=True)
@click.option("--check", "only_check", is_flag=True, help="Compare, write nothing.")
@click.pass_context
def profiles(ctx: click.Context, page: Path, *, only_check: bool) -> None:
    """Write the page that shows all engine profiles side by side."""
    from authoring.engines_page import engines_page

    ctx.exit(0 if _is_current(engines_page(), page, only_check=only_check) else 1)


@main.command()
@click.option("--folder", type=FOLDER, default=Path("site"), show_default=True)
@click.option(
    "--pyodide", type=FOLDER, help="The folder of the npm package pyodide, to add the playground."
)
def site(folder: Path, pyodide: Path | None) -> None:
    """Build the documentation as a site, with the slides of the lectures."""
    from authoring.site import build_playground, build_site

    if pyodide is not None:
        build_playground(pyodide, folder / "play")
    build_site(Path.cwd(), folder.absolute())
    click.echo(f"{folder}: {sum(1 for _ in folder.rglob('*.html')):,} pages")


@main.command()
@click.argument("names", nargs=-1, type=click.Choice(sorted(TABLES)), metavar="[NAME]...")
def tables(names: Sequence[str]) -> None:
    """Write the tables that are measured from engines, by default all of them."""
    for name in names or TABLES:
        import_module(f"authoring.tables.{TABLES[name]}").main()


@main.command()
@click.option("--folder", type=FOLDER, default=Path("dist"), show_default=True)
@click.option("--fixtures", type=FOLDER, default=FIXTURES, show_default=True)
@click.option("--previous", type=FILE, help="Refuse what the version in this archive rules out.")
@click.pass_context
def release(ctx: click.Context, folder: Path, fixtures: Path, previous: Path | None) -> None:
    """Write archives of the fixtures, for anyone, npm and Cargo, with checksums."""
    from authoring.release import ReleaseError, broken_promises
    from authoring.release import release as archives

    changelog, licence = Path("CHANGELOG.md"), Path("LICENSE")
    if not (changelog.is_file() and licence.is_file()):
        raise click.UsageError("there is no CHANGELOG.md or LICENSE here: run it in a checkout")
    if previous is not None:
        try:
            broken = list(broken_promises(previous, fixtures, changelog.read_text("utf-8")))
        except ReleaseError as error:
            raise InputError(str(error)) from None
        for sentence in broken:
            click.echo(sentence)
        if broken:
            ctx.exit(1)
    files = archives(fixtures, licence.read_bytes())
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        write(data, folder / name)
        click.echo(f"{folder / name}: {len(data):,} bytes")


def _is_current(page: str, path: Path, *, only_check: bool) -> bool:
    """Write a page, or compare it; return whether the file has this content now."""
    if not only_check:
        write(page.encode(), path)
        return True
    if path.is_file() and path.read_bytes() == page.encode():
        return True
    click.echo(f"{path} differs from what would be written")
    return False


if __name__ == "__main__":
    main(prog_name="python -m authoring")
