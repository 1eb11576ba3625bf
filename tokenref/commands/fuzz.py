"""`tokenref fuzz`, `merge`, `promote`: random questions, and what becomes of findings."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokenref.commands.endings import TerminatedError, terminated_in_order
from tokenref.commands.options import (
    IDS_ONLY,
    KNOWN,
    OPERATION,
    number_of_seconds,
    patience_options,
    record_files,
)
from tokenref.commands.paths import FILE, FOLDER, output_console, write
from tokenref.commands.text import PATTERN
from tokenref.errors import InputError
from tokenref.fuzzing.plan import SECONDS

if TYPE_CHECKING:
    from tokenref.fuzzing.findings import Finding
    from tokenref.fuzzing.promoting import Promoted


@click.command()
@click.argument("engine", required=False, metavar="[ENGINE]")
@click.option(
    "--cmd", "command", metavar="'PROGRAM ARGS'", help="Test this program instead of ENGINE."
)
@click.option("--op", "ops", multiple=True, type=OPERATION, help="Ask only about this operation.")
@click.option("--all", "every", is_flag=True, help="Show known differences, too.")
@KNOWN
@click.option(
    "--records",
    metavar="PATH",
    multiple=True,
    callback=record_files,
    help="Your own records that --known lists, too, so that failures like theirs are known.",
)
@click.option("--profile", "profiles", multiple=True, help="Ask samplers only about this profile.")
@click.option(
    "--vocabulary",
    "subjects",
    multiple=True,
    metavar="NAME",
    help="Ask about this vocabulary or tokenizer (a name or a path) instead of random ones.",
)
@PATTERN
@IDS_ONLY
@click.option("--no-pairs", is_flag=True, help="Ask `tokenize` about one text, never about two.")
@click.option(
    "--ignore",
    "ignored",
    multiple=True,
    metavar="GLOB",
    help="Ignore failures whose 'OP STATUS DETAIL' matches, for example 'decode crash *KeyError*'.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    callback=number_of_seconds,
    help="Stop asking after this time. Failures are then shrunk for up to --shrink-seconds.",
)
@click.option(
    "--shrink-seconds",
    type=click.FloatRange(min=0),
    callback=number_of_seconds,
    default=SECONDS,
    show_default=True,
    help="Maximum time to shrink each failure. Half a second is enough for a known one.",
)
@click.option(
    "--cases", type=click.IntRange(min=1), help="Number of questions in all shards together."
)
@click.option(
    "--seed", type=click.IntRange(0, 2**63), help="Seed of the campaign; random by default."
)
@click.option("--shard", default="1/1", show_default=True, metavar="I/N", help="Run shard I of N.")
@click.option("--at", "index", type=click.IntRange(min=0), help="Ask only this question again.")
@click.option(
    "--most",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Stop after this many likely bugs, or ten times as many findings.",
)
@click.option(
    "--executor",
    "executor_name",
    metavar="NAME",
    help="Run in parallel: processes, processes:N, or module:factory.",
)
@click.option(
    "--state", type=FILE, help="Save progress and findings to this file, and resume from it."
)
@patience_options
@click.pass_context
def fuzz(
    ctx: click.Context,
    /,
    engine: str | None,
    command: str | None,
    index: int | None,
    seconds: float | None,
    shrink_seconds: float,
    most: int,
    executor_name: str | None,
    **wanted: Any,
) -> None:
    """Ask an engine random questions and shrink the failures.

    A seed always produces the same questions. Findings are printed as soon as they are found,
    and saved in the --state file; `tokenref promote` turns them into golden records. A campaign
    that was stopped for any reason resumes with the same --state. Findings that are likely the
    same bug are shown once, represented by the simplest.

    Without --seconds and --cases the campaign runs until it is interrupted.
    """
    if (engine is None) == (command is None):
        raise click.UsageError("give exactly one of ENGINE and --cmd")
    if wanted["every"] and wanted["known_path"] is not None:
        raise click.UsageError("give at most one of --all and --known")
    if wanted["records"] and wanted["known_path"] is None:
        raise click.UsageError("--records needs --known")
    try:
        from tokenref.commands.campaigns import Wanted, ask_again, campaign
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        raise InputError("fuzz needs hypothesis: pip install hypothesis") from None
    options = Wanted(engine=engine or f"cmd:{command}", **wanted)
    signals = ctx.with_resource(terminated_in_order())
    if index is not None:
        ctx.exit(ask_again(options, index, shrink_seconds))
    code = campaign(options, seconds, shrink_seconds, most, executor_name)
    if signals:
        raise TerminatedError
    ctx.exit(code)


@click.command()
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.pass_context
def merge(ctx: click.Context, files: Sequence[Path]) -> None:
    """Combine the shards of one campaign and print the result.

    FILES are the --state files of all shards. If they are not exactly the shards of one campaign,
    the command lists what is missing or duplicated and exits with 3.
    """
    from tokenref.fuzzing.findings import likely_bugs
    from tokenref.fuzzing.journal import merged, read_journal
    from tokenref.fuzzing.printing import print_bugs, print_summary
    from tokenref.reports.terminal import print_line

    journals = {str(path): read_journal(path) for path in files}
    if len(journals) < len(files):
        raise InputError("each file must be given only once")
    whole, trouble = merged(journals)
    console = output_console()
    for sentence in trouble:
        print_line(console, sentence, "red")
    if trouble:
        ctx.exit(3)
    bugs = likely_bugs(whole.findings.values())
    print_bugs(console, bugs, whole.plan)
    shards = f"{len(files)} shard{'s' * (len(files) != 1)}"
    asked = f"questions 0 to {whole.questions - 1:,} (seed {whole.plan.seed})"
    print_summary(console, whole, bugs, f"{shards}, {asked}")
    ctx.exit(int(bool(whole.findings or whole.incidents())))


@click.command()
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option(
    "--id", "ids", multiple=True, metavar="GLOB", help="Promote only findings whose id matches."
)
@click.option("--all", "every", is_flag=True, help="Promote more than one finding per likely bug.")
@click.option("--why", required=True, help="Why the case matters, for later readers.")
@click.option("--slug", help="Use this last part of the id instead of a digest.")
@click.option(
    "--flag",
    "flags",
    multiple=True,
    help="The bug it looks for, a flag of the glossary, instead of Random.",
)
@click.option(
    "--out", type=FILE, help="Add to your own regression file, which is created if needed."
)
@click.option("--fixtures", type=FOLDER, help="Add to regress/YEAR.jsonl in these fixtures.")
@click.option("--year", type=click.IntRange(1000, 9999), help="The YEAR of the file in --fixtures.")
def promote(
    files: Sequence[Path],
    ids: Sequence[str],
    why: str,
    slug: str | None,
    flags: Sequence[str],
    out: Path | None,
    fixtures: Path | None,
    year: int | None,
    *,
    every: bool,
) -> None:
    """Turn the findings of a campaign into golden records.

    FILES are --state files of `tokenref fuzz`, such as those of all shards. Of findings that are
    likely the same bug, only the simplest is promoted. The reference computes the answers again.
    What is already there stays as it is, so the command can be repeated. Without findings it writes
    nothing and exits with 0.

    --out writes your own file of records. Vocabularies that are not part of the fixtures are
    written to the folder vocab next to it. Run it with `tokenref check ENGINE --records FILE`.

    --fixtures and --year add the records and their vocabularies to these fixtures and update
    the manifest.
    """
    from tokenref.fuzzing.findings import likely_bugs
    from tokenref.fuzzing.journal import findings_of, read_journal
    from tokenref.fuzzing.promoting import own_target, promoted, promoted_to_fixtures
    from tokenref.operations import FLAGS

    if (out is None) == (fixtures is None) or (fixtures is None) != (year is None):
        raise click.UsageError("give --out FILE, or --fixtures FOLDER and --year YEAR")
    if unknown := sorted({*flags} - FLAGS.keys()):
        raise InputError(f"the glossary has no flag {unknown[0]!r}")
    findings = findings_of(map(read_journal, files))
    if not findings:
        has = f"{', '.join(map(str, files))} {'has' if len(files) == 1 else 'have'}"
        click.echo(f"{has} no findings, so nothing was added", err=True)
        return
    chosen = _selected([*findings.values()], ids)
    selected = len(chosen)
    if not every:
        chosen = [bug.first for bug in likely_bugs(chosen)]
    if slug is not None and len(chosen) > 1:
        raise InputError(f"--slug needs exactly one finding, but {len(chosen)} are selected")
    if fixtures is not None and year is not None:
        result = promoted_to_fixtures(chosen, why, fixtures, year, slug=slug, flags=flags)
    else:
        assert out is not None  # noqa: S101 - one of the two is given
        result = promoted(chosen, why, own_target(out), slug=slug, flags=flags)
    for path, content in result.files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write(content, path)
    for case in result.cases:
        click.echo(case.id)
    _print_present(result, out or fixtures)
    if selected > len(chosen):
        more = selected - len(chosen)
        likely = "finding is likely one" if more == 1 else "findings are likely some"
        click.echo(f"{more:,} more {likely} of the same bugs; --all promotes all", err=True)


def _selected(findings: Sequence["Finding"], ids: Sequence[str]) -> list["Finding"]:
    """Return the findings whose ids match a pattern, if there is any. There must be one."""
    named = [(str(finding.record["id"]), finding) for finding in findings]
    chosen = [each for name, each in named if not ids or any(fnmatchcase(name, i) for i in ids)]
    if not chosen:
        raise InputError(
            f"--id must match one of the {len(named):,} findings, such as {named[0][0]}, "
            f"got {', '.join(ids)!r:.200}"
        )
    return chosen


def _print_present(result: "Promoted", where: Path | None) -> None:
    """Print which records were already there, so that promoting them again changed nothing."""
    if result.present:
        few = ", ".join(result.present[:3]) + ", ..." * (len(result.present) > 3)
        nothing = "" if result.cases else "; nothing was added"
        click.echo(f"already in {where}, and left as they are: {few}{nothing}", err=True)
