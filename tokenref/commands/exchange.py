"""`tokenref export`, `answer` and `judge`: the messages of the protocol as files.

For programs on machines without tokenref, such as a device, a phone or a cluster.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path

import click
from rich.markup import escape

from bpe_ref.formats.files import replacing
from tokenref.catalogue import LARGEST_BATCH, Catalogue, Selection, is_large, rows_of
from tokenref.commands.options import (
    IDS_ONLY,
    JSON_LINES,
    KNOWN,
    ORDER,
    Given,
    given_options,
    selection_options,
)
from tokenref.commands.paths import FILE, FOLDER, output_console, progress_bar, write, written
from tokenref.commands.report import Wanted, print_unknown_profiles
from tokenref.engines.table import available
from tokenref.errors import InvalidRunError
from tokenref.known import differences_of
from tokenref.protocol.messages import Loading
from tokenref.protocol.requests import answer_requests, judge_responses, read_requests
from tokenref.protocol.requests import export as export_lines
from tokenref.record import Case, RecordError, op_of
from tokenref.reports.results import dump_report
from tokenref.reports.terminal import print_results
from tokenref.runner import Run, check_judge, conclude, find_stale, with_known_results
from tokenref.visible import visible


@click.command()
@selection_options("Export")
@given_options("vocabulary")
@click.option(
    "--folder", type=FOLDER, help="Write requests.jsonl and the vocabularies to this folder."
)
@ORDER
@click.option(
    "--repeat",
    type=click.IntRange(1, 100_000),
    default=1,
    show_default=True,
    help="Ask each question this many times, each time among other questions.",
)
@click.option(
    "--batch",
    type=click.IntRange(1, LARGEST_BATCH),
    default=LARGEST_BATCH,
    show_default=True,
    help="Maximum number of questions per message.",
)
def export(
    selection: Selection, given: Given, folder: Path | None, seed: int, repeat: int, batch: int
) -> None:
    """Write the questions of the records as a file.

    Its lines are messages of the protocol. A program reads them from standard input and
    writes its answers to a file:

    \b
        tokenref export --folder there
        cd there && ./engine < requests.jsonl > responses.jsonl
        tokenref judge requests.jsonl responses.jsonl

    If your program has no room for large batches, --rows-at-most leaves them out. Canaries are
    added unless each record is named in full.

    Without --folder the requests go to standard output, and paths of vocabularies are relative to
    the fixtures.
    """  # noqa: D301 - a mark of click
    is_own = bool(given.records)  # then canaries are about other vocabularies
    given = replace(given, vocabulary=selection.vocabularies if is_own else ())
    catalogue = given.catalogue()
    cases = catalogue.select(selection)
    cases = _present(cases, catalogue, shipped=folder is None)
    needed = {(op_of(case), is_own or case.vocab) for case in cases}
    most = selection.rows_at_most or inf
    is_named = selection.ids and catalogue.records.keys() >= set(selection.ids)
    canaries = [
        each
        for each in catalogue.canaries
        if (op_of(each), is_own or each.vocab) in needed and rows_of(each) <= most and not is_named
    ]
    catalogue = replace(catalogue, canaries=canaries)
    if not cases:
        raise InvalidRunError(
            "nothing to export: the vocabularies of all selected cases are missing"
        )

    def lines(path_of: Callable[[Loading], str]) -> Iterable[bytes]:
        return export_lines(
            cases, catalogue, catalogue.digest, path_of, seed=seed, repeat=repeat, largest=batch
        )

    if folder is None:
        paths = {entry.digest: str(entry.path) for entry in catalogue.manifest.subjects}
        output = sys.stdout.buffer
        for line in lines(lambda loading: paths[loading.digest]):
            output.write(line)
        output.flush()
    else:
        with written(folder):
            folder.mkdir(parents=True, exist_ok=True)
        path = folder / "requests.jsonl"
        with written(path), replacing(path) as file:
            file.writelines(lines(lambda loading: _beside(loading, folder)))
    click.echo(
        f"{len(cases) * repeat:,} questions and {len(catalogue.canaries)} canaries", err=True
    )


@click.command()
@click.argument("requests", type=FILE)
@click.argument("responses", type=FILE)
@given_options()
@IDS_ONLY
@KNOWN
@JSON_LINES
@click.pass_context
def judge(
    ctx: click.Context,
    requests: Path,
    responses: Path,
    given: Given,
    known_path: Path | None,
    json_path: Path | None,
    *,
    ids_only: bool,
) -> None:
    """Judge the answers to exported questions.

    If a case has several answers, the worst one counts.
    """
    reports = Wanted()
    inputs: dict[str, Sequence[Path | None]] = {"REQUESTS": [requests], "RESPONSES": [responses]}
    inputs |= {"--known": [known_path], "--records": given.records}
    reports.begin(json_path, inputs)
    catalogue = given.catalogue()
    questions = read_requests(requests, catalogue)
    if questions.fixtures != catalogue.digest:
        raise RecordError(
            f"{requests}: was exported from records {questions.fixtures}, not from these "
            f"({catalogue.digest}): export again, or select those with --fixtures or --records"
        )
    found = judge_responses(responses, questions, catalogue, ids_only=ids_only)
    trouble, failed = check_judge(found.canaries, catalogue)
    results = [*found.results, *failed]
    run = Run(found.hello.impl.name, found.hello.impl.version, len(results))
    known = differences_of(given.known(known_path, [run.engine]), run.engine, run.version)
    run.again, run.command = ["--folder", "again"], "export"  # nothing says which program it was
    run.results = with_known_results(results, run.engine, known)
    run.trouble = [*trouble, *found.trouble]
    judged = {result.case.id for result in found.results}
    every = [] if catalogue.own_digest else catalogue.cases
    if every and all(is_large(case) or case.id in judged for case in every):
        find_stale(run, known, catalogue)
    conclude(run)
    typed: dict[str, Sequence[object]] = {"records": given.records, "vocabulary": given.vocabulary}
    typed |= {"pattern": [given.pattern], "fixtures": [given.fixtures]}
    selected = {name: [*map(str, values)] for name, values in typed.items() if any(values)}
    about = {**given.about(catalogue), "seed": questions.seed, "selection": selected}
    made, _ = reports.write_results(dump_report([run], about, known), json_path)
    reports.make([made], catalogue)
    console = output_console()
    print_results(console, [made], catalogue)
    cases = [case for question in questions.cases for case in question]
    print_unknown_profiles(console, [found.hello], cases, catalogue)
    ctx.exit(run.exit_code)


def _present(cases: Sequence[Case], catalogue: Catalogue, *, shipped: bool) -> list[Case]:
    """Return the cases whose vocabulary can be exported, and print which cannot.

    With `shipped`, only vocabularies that are part of the fixtures can.
    """
    missing: dict[str, int] = {}
    present: list[Case] = []
    absent = {
        entry.digest: f"{entry.name} is not part of the fixtures: use --folder"
        for entry in catalogue.manifest.subjects
        if shipped and entry.path is None
    }
    for case in cases:
        subject = absent.get(case.vocab or "") or catalogue.subject(case.vocab)
        if isinstance(subject, str):
            missing[subject] = missing.get(subject, 0) + 1
        else:
            present.append(case)
    for reason, count in missing.items():
        click.echo(f"{count:,} cases are omitted: {visible(reason)}", err=True)
    return present


def _beside(loading: Loading, folder: Path) -> str:
    """Write the file to load into the folder, and return its path in the folder."""
    path = folder / loading.kind / f"{loading.digest.removeprefix('sha256:')[:16]}.json"
    path.parent.mkdir(exist_ok=True)
    write(loading.content(), path)
    return str(path.relative_to(folder))


@click.command()
@click.argument("name", metavar="ENGINE")
@click.argument("requests", type=FILE)
def answer(name: str, requests: Path) -> None:
    """Answer exported questions with an engine.

    REQUESTS is a file from `tokenref export`. The responses go to standard output.
    `tokenref judge` judges them, on this or another machine:

    \b
        tokenref export > requests.jsonl
        TOKENREF_TORCH_DEVICE=cuda tokenref answer transformers requests.jsonl > responses.jsonl
        tokenref judge requests.jsonl responses.jsonl
    """  # noqa: D301 - a mark of click
    found, output = available(name), sys.stdout.buffer
    with progress_bar() as progress:
        task = progress.add_task(escape(visible(found.name)), total=None)
        for line in answer_requests(found, requests, lambda done: progress.advance(task, done)):
            output.write(line)
    output.flush()
