"""`tokenref mutants` and `tokenref attest`: is what the project says of itself still so."""

from pathlib import Path

import click
from rich.console import Console

from bpe_ref.formats.files import write_atomically
from tokenref.attestation import REAL_ENGINES, AttestationError, pages
from tokenref.catalogue import open_catalogue
from tokenref.commands.paths import FOLDER
from tokenref.engines.table import Unavailable, engine
from tokenref.known import default_path, read_known
from tokenref.runner import run_engine


@click.command()
@click.option("--fixtures", type=FOLDER, help="Fixtures other than those of the package.")
@click.pass_context
def mutants(ctx: click.Context, fixtures: Path | None) -> None:
    """Show that the golden records tell every seeded bug from the reference."""
    from tokenref.mutants.gate import run_gate  # noqa: PLC0415 - only needed here
    from tokenref.reports.mutants import print_gate  # noqa: PLC0415 - only needed here

    report = run_gate(open_catalogue(fixtures))
    print_gate(Console(), report)
    ctx.exit(0 if report.ok else 1)


@click.command()
@click.option("--check", "only_check", is_flag=True, help="Compare, write nothing.")
@click.option("--folder", type=FOLDER, default=Path(), help="The project's folder.")
@click.pass_context
def attest(ctx: click.Context, folder: Path, *, only_check: bool) -> None:
    """Run the real engines over all records, and write what they say into the documentation."""
    catalogue = open_catalogue()
    known = read_known(default_path())
    runs = []
    for name in REAL_ENGINES:
        entry = engine(name)
        if isinstance(entry, Unavailable):
            raise AttestationError(f"{name} must be installed, but {entry.reason}")
        runs.append(run_engine(entry, catalogue.cases, catalogue, known=known, complete=True))
    readme = (folder / "README.md").read_text(encoding="utf-8")
    changed = 0
    for path, content in pages(runs, catalogue, known, readme).items():
        data = content.encode()
        if not (folder / path).is_file() or (folder / path).read_bytes() != data:
            changed += 1
            click.echo(f"{path} {'differs' if only_check else 'is written'}")
            if not only_check:
                write_atomically(data, folder / path)
    ctx.exit(1 if only_check and changed else 0)
