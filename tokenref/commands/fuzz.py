"""`tokenref fuzz`, `merge`, `promote`: random questions, and what becomes of findings."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import click

from tokenref.commands.paths import FILE, InputError, write
from tokenref.commands.patience import patience_options
from tokenref.protocol.patience import Patience
from tokenref.record import OPS


@click.command()
@click.argument("engine", required=False, metavar="[ENGINE]")
@click.option("--cmd", "command", metavar="'PROGRAM ARGS'", help="A program instead of ENGINE.")
@click.option("--op", "ops", multiple=True, type=click.Choice(OPS), help="Only this operation.")
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
    help="Draw no question later; what fails is still made small.",
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
    help="End after so many findings.",
)
@click.option(
    "--executor",
    metavar="NAME",
    help="Who does the work: processes, processes:N, or module:factory.",
)
@click.option("--state", type=FILE, help="Keep what is done and found in this file, and go on.")
@patience_options
@click.pass_context
def fuzz(  # noqa: PLR0913, PLR0917 - one parameter per option
    ctx: click.Context,
    engine: str | None,
    command: str | None,
    ops: Sequence[str],
    profiles: Sequence[str],
    subjects: Sequence[str],
    ignored: Sequence[str],
    seconds: float | None,
    cases: int | None,
    seed: int | None,
    shard: str,
    index: int | None,
    most: int,
    executor: str | None,
    state: Path | None,
    patience: Patience,
) -> None:
    """Ask an engine random questions, compare with the reference, and make failures small.

    Question number i of a seed is always the same one. What is found is printed
    at once, and kept in the --state file, from which `tokenref promote` makes golden
    records. A campaign that was ended, in whatever way, goes on with the same --state.

    Without --seconds and --cases it goes on until it is interrupted.
    """
    if (engine is None) == (command is None):
        raise click.UsageError("exactly one of ENGINE and --cmd must be given")
    try:
        from tokenref.commands.campaigns import Wanted, ask_again, campaign  # noqa: PLC0415 - slow
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
        ctx.exit(ask_again(wanted, index))
    ctx.exit(campaign(wanted, seconds=seconds, most=most, executor_name=executor))


@click.command()
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.pass_context
def merge(ctx: click.Context, files: Sequence[Path]) -> None:
    """Put the --state files of all shards of one campaign together, and print the sum.

    Ends with 3, and says what is missing or there twice, if they are not all
    of one campaign.
    """
    from rich.console import Console  # noqa: PLC0415 - with what follows

    from tokenref.fuzzing.journal import read_journal  # noqa: PLC0415 - slow
    from tokenref.fuzzing.merging import merged  # noqa: PLC0415 - slow
    from tokenref.fuzzing.printing import print_finding, print_summary  # noqa: PLC0415 - slow
    from tokenref.reports.short import visible  # noqa: PLC0415 - with what precedes

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
    for finding in result.findings.values():
        print_finding(console, finding, plan)
    print_summary(
        console,
        result.counts,
        len(result.findings),
        f"{len(files)} shards, questions 0 to {result.questions - 1:,} (seed {plan.seed})",
    )
    ctx.exit(1 if result.findings else 0)


@click.command()
@click.argument("findings", type=FILE)
@click.option("--id", "ids", multiple=True, metavar="GLOB", help="Only findings with such an id.")
@click.option("--why", required=True, help="Why the case matters, for all who read it later.")
@click.option("--slug", help="The last part of the id, if it is to be another one.")
@click.option(
    "--out", required=True, type=FILE, help="The regression file; made if it is not there."
)
def promote(findings: Path, ids: Sequence[str], why: str, slug: str | None, out: Path) -> None:
    """Make golden records of what a campaign found, and add them to a regression file.

    FINDINGS is the --state file of `tokenref fuzz`. The answers are computed anew by the
    reference. Vocabularies that are not those of the fixtures are put beside the
    file, in vocab. Run them with `tokenref check ENGINE --records FILE`.
    """
    from tokenref.fuzzing.journal import read_journal  # noqa: PLC0415 - slow
    from tokenref.fuzzing.promoting import promoted  # noqa: PLC0415 - slow

    journal = read_journal(findings)
    chosen = [
        finding
        for finding in journal.findings.values()
        if not ids or any(fnmatchcase(str(finding.record["id"]), glob) for glob in ids)
    ]
    if slug is not None and len(chosen) > 1:
        raise InputError(f"--slug is for one finding, {len(chosen)} were chosen")
    result = promoted(chosen, why, out, slug=slug)
    for path, content in result.files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write(content, path)
    for case in result.cases:
        click.echo(case.id)
