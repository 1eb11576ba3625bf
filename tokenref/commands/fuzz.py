"""`tokenref fuzz`, `merge`, `promote`: random questions, and what becomes of findings."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import click

from tokenref.commands.options import OPERATION, number_of_seconds, patience_options
from tokenref.commands.paths import FILE, FOLDER, InputError, write
from tokenref.fuzzing.limits import SECONDS
from tokenref.protocol.channel import Patience


@click.command()
@click.argument("engine", required=False, metavar="[ENGINE]")
@click.option("--cmd", "command", metavar="'PROGRAM ARGS'", help="A program instead of ENGINE.")
@click.option("--op", "ops", multiple=True, type=OPERATION, help="Only this operation.")
@click.option("--profile", "profiles", multiple=True, help="Only this profile of samplers.")
@click.option(
    "--vocabulary",
    "subjects",
    multiple=True,
    metavar="NAME",
    help="Ask about this vocabulary or tokenizer, not about drawn ones (a name or a path).",
)
@click.option(
    "--ignore",
    "ignored",
    multiple=True,
    metavar="GLOB",
    help="No finding is what matches 'OP STATUS DETAIL', as 'decode crash *KeyError*'.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    callback=number_of_seconds,
    help="Draw no question later; what has failed is made small for --shrink-seconds more.",
)
@click.option(
    "--shrink-seconds",
    type=click.FloatRange(min=0),
    callback=number_of_seconds,
    default=SECONDS,
    show_default=True,
    help="Make each failure smaller for so long at most.",
)
@click.option("--cases", type=click.IntRange(min=1), help="Questions of all shards together.")
@click.option("--seed", type=click.IntRange(0, 2**63), help="Which campaign; a new one if absent.")
@click.option("--shard", default="1/1", show_default=True, metavar="I/N", help="Which part.")
@click.option("--at", "index", type=click.IntRange(min=0), help="Ask this one question again.")
@click.option(
    "--most",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="End after so many likely bugs, or ten times as many findings.",
)
@click.option(
    "--executor",
    metavar="NAME",
    help="Who does the work: processes, processes:N, or module:factory.",
)
@click.option("--state", type=FILE, help="Keep what is done and found in this file, and go on.")
@patience_options
@click.pass_context
def fuzz(
    ctx: click.Context,
    engine: str | None,
    command: str | None,
    ops: Sequence[str],
    profiles: Sequence[str],
    subjects: Sequence[str],
    ignored: Sequence[str],
    seconds: float | None,
    shrink_seconds: float,
    cases: int | None,
    seed: int | None,
    shard: str,
    index: int | None,
    most: int,
    executor: str | None,
    state: Path | None,
    patience: Patience,
) -> None:
    """Ask an engine random questions, and make failures small.

    Question number i of a seed is always the same one. What is found is printed
    at once, and kept in the --state file, from which `tokenref promote` makes golden
    records. A campaign that was ended, in whatever way, goes on with the same --state.
    Findings that are likely one bug are told once, by the simplest of them.

    Without --seconds and --cases it goes on until it is interrupted.
    """
    if (engine is None) == (command is None):
        raise click.UsageError("exactly one of ENGINE and --cmd must be given")
    try:
        from tokenref.commands.campaigns import Wanted, ask_again, campaign
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        raise InputError("fuzz needs hypothesis: pip install 'tokenref[fuzz]'") from None
    wanted = Wanted(
        engine=engine or f"cmd:{command}",
        ops=ops,
        profiles=profiles,
        subjects=subjects,
        ignored=ignored,
        seed=seed,
        cases=cases,
        shard=shard,
        state=state,
        patience=patience,
    )
    if index is not None:
        ctx.exit(ask_again(wanted, index, shrink_seconds))
    code = campaign(
        wanted, seconds=seconds, shrink_seconds=shrink_seconds, most=most, executor_name=executor
    )
    ctx.exit(code)


@click.command()
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.pass_context
def merge(ctx: click.Context, files: Sequence[Path]) -> None:
    """Put the shards of one campaign together, and print the sum.

    FILES are the --state files of all shards. Ends with 3, and says what is missing or
    there twice, if they are not all of one campaign.
    """
    from rich.console import Console

    from tokenref.fuzzing.journal import read_journal
    from tokenref.fuzzing.likely_bugs import likely_bugs
    from tokenref.fuzzing.merging import merged
    from tokenref.fuzzing.printing import print_summary
    from tokenref.fuzzing.printing_bugs import print_bugs, sentence_of
    from tokenref.reports.short import visible

    journals = {str(path): read_journal(path) for path in files}
    if len(journals) < len(files):
        raise InputError("each file must be given once")
    result = merged(journals)
    console = Console()
    for sentence in result.trouble:
        console.print(visible(sentence), style="red", markup=False, highlight=False, soft_wrap=True)
    if result.trouble:
        ctx.exit(3)
    plan = next(iter(journals.values())).plan
    bugs = likely_bugs(result.findings.values())
    print_bugs(console, bugs, plan)
    print_summary(
        console,
        result.counts,
        sentence_of(len(bugs), len(result.findings)),
        f"{len(files)} shards, questions 0 to {result.questions - 1:,} (seed {plan.seed})",
    )
    ctx.exit(1 if result.findings else 0)


@click.command()
@click.argument("findings", type=FILE)
@click.option("--id", "ids", multiple=True, metavar="GLOB", help="Only findings with such an id.")
@click.option("--why", required=True, help="Why the case matters, for all who read it later.")
@click.option("--slug", help="The last part of the id, if it is to be another one.")
@click.option("--flag", "flags", multiple=True, help="What it hunts, of the glossary: not Random.")
@click.option("--out", type=FILE, help="A regression file of your own; made if it is not there.")
@click.option("--fixtures", type=FOLDER, help="Fixtures to add to, in regress/YEAR.jsonl.")
@click.option("--year", type=click.IntRange(1000, 9999), help="The year of --fixtures.")
def promote(
    findings: Path,
    ids: Sequence[str],
    why: str,
    slug: str | None,
    flags: Sequence[str],
    out: Path | None,
    fixtures: Path | None,
    year: int | None,
) -> None:
    """Make golden records of what a campaign found.

    FINDINGS is the --state file of `tokenref fuzz`. The answers are computed anew by the
    reference.

    With --out it is a file of your own: vocabularies that are not those of the fixtures
    are put beside it, in vocab. Run it with `tokenref check ENGINE --records FILE`.

    With --fixtures and --year the records become part of these fixtures, and so do their
    vocabularies; the manifest is brought up to date.
    """
    from tokenref.fuzzing.journal import read_journal
    from tokenref.fuzzing.promoting import own_target, promoted
    from tokenref.fuzzing.promoting_to_fixtures import promoted_to_fixtures
    from tokenref.glossary import FLAGS

    if (out is None) == (fixtures is None) or (fixtures is None) != (year is None):
        raise click.UsageError("give --out FILE, or --fixtures FOLDER and --year YEAR")
    for flag in flags:
        if flag not in FLAGS:
            raise InputError(f"the glossary has no flag {flag!r}")
    journal = read_journal(findings)
    chosen = [
        finding
        for finding in journal.findings.values()
        if not ids or any(fnmatchcase(str(finding.record["id"]), glob) for glob in ids)
    ]
    if slug is not None and len(chosen) > 1:
        raise InputError(f"--slug is for one finding, {len(chosen)} were chosen")
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
