"""`tokenref check`: run engines through records, or through a text."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from bpe_ref.encoders import NOT_BPE
from tokenref.answers import Engine
from tokenref.catalogue import CANARY, Catalogue, Selection, is_large
from tokenref.commands.endings import terminated_in_order
from tokenref.commands.options import (
    ANSWERED_AT_LEAST,
    FIXTURES_DIGEST,
    IDS_ONLY,
    JSON_LINES,
    KNOWN,
    ORDER,
    PROGRAM_HELP,
    Given,
    given_options,
    program_options,
    selection_options,
)
from tokenref.commands.paths import output_console, progress_bar, said_if_slow, shown_in, write
from tokenref.commands.report import Wanted, print_unknown_profiles, report_options
from tokenref.commands.text import each_answer, naming_options
from tokenref.corpus import Comparison, CorpusComparer, corpus_exit_code
from tokenref.diagnosis.facts import DIFFERS
from tokenref.engines.table import Unavailable, engine
from tokenref.errors import InputError
from tokenref.files import files_named
from tokenref.known import Known, differences_of, read_known
from tokenref.protocol.channel import Patience, StartError
from tokenref.protocol.engine import NOT_RESTARTED, WHILE_LOADING, ProtocolEngine, incidents_of
from tokenref.protocol.opening import GreetingError, arguments_of, open_program
from tokenref.record import OWN_DRAW_OPS, Case, op_of
from tokenref.reports.results import UNJUDGED, dump_corpus_report, dump_report, too_few
from tokenref.reports.terminal import print_corpus, print_incidents, print_line, print_results
from tokenref.result import Result, condensed, length
from tokenref.runner import Run, Sessions, run_engine
from tokenref.visible import visible

ALONE = 3
"""How many wrong answers are asked for once more, each of a new process."""

OFTEN = 20
"""How often it is asked for if the answers differ: a random one would differ again."""


@click.command()
@click.argument("engines", nargs=-1, metavar="ENGINE...")
@click.option("--cmd", "commands", multiple=True, metavar="'PROGRAM ARGS'", help=PROGRAM_HELP)
@selection_options("Run")
@given_options("vocabulary")
@click.option(
    "--corpus",
    "corpora",
    metavar="PATH",
    multiple=True,
    help="Compare encodings of this text file instead of running the records; repeatable. A folder "
    "is all files in it but hidden ones, and a pattern such as '*.md', in quotes, all that match.",
)
@click.option(
    "--upgrade",
    is_flag=True,
    help="Test --vocabulary as what replaces the vocabulary of --records, with its old answers.",
)
@IDS_ONLY
@FIXTURES_DIGEST
@KNOWN
@JSON_LINES
@click.option("--require", is_flag=True, help="Fail if an engine is unavailable.")
@ANSWERED_AT_LEAST
@ORDER
@program_options
@report_options
@click.pass_context
def check(
    ctx: click.Context,
    engines: Sequence[str],
    commands: Sequence[str],
    selection: Selection,
    given: Given,
    corpora: Sequence[str],
    digest: str | None,
    known_path: Path | None,
    json_path: Path | None,
    seed: int,
    least: int | None,
    patience: Patience,
    reports: Wanted,
    *,
    upgrade: bool,
    ids_only: bool,
    require: bool,
) -> None:
    """Run engines on the golden records and judge their answers.

    ENGINE is a name from `tokenref engines` or py:module:function. --cmd tests any program.

    --corpus needs --vocabulary: a name, a vocabulary file, a tokenizer.json or a GGUF file. With
    several, each text is encoded by each. --records needs exactly one, unless the vocabulary lies
    next to each file, where `fill` and `promote` write it.
    """
    one = {"fixtures": [given.fixtures], "known": [known_path]}
    texts = [text for path in corpora for text in files_named(path, "--corpus")]
    paths: dict[str, Sequence[Path | None]] = {"corpus": texts, "records": given.records, **one}
    named = {**paths, "fixtures-digest": [digest], "pattern": [given.pattern]}
    flags = {"ids-only": ids_only, "upgrade": upgrade}
    options: dict[str, list[str]] = {flag: [] for flag, is_set in flags.items() if is_set} | {
        name: typed
        for name, values in {**selection.named(), **named}.items()
        if (typed := [str(value) for value in values if value is not None])
    }
    _refuse_mixtures([*engines, *commands], options, reports, least)
    reports.begin(
        json_path,
        {"--vocabulary": selection.vocabularies, "--cmd": _words(commands)}
        | {f"--{name}": each for name, each in paths.items()},
    )
    ctx.with_resource(terminated_in_order())
    available, unavailable = _open_engines(ctx, engines, commands, patience)
    about: dict[str, object] = {"selection": options, "unavailable": dict(unavailable)}
    about |= {"seed": seed, "timeout": patience.sentence()} if commands else {"seed": seed}
    console = output_console()
    if texts:
        code = _check_corpora(
            console,
            texts,
            selection.vocabularies,
            given.pattern,
            available,
            unavailable,
            json_path,
            about,
        )
        ctx.exit(max(code, int(require and bool(unavailable))))
    is_own = bool(given.records)
    given = replace(given, vocabulary=selection.vocabularies if is_own else ())
    catalogue = given.catalogue(digest, upgrade=upgrade)
    about |= given.about(catalogue)
    names = [*(entry.name for entry in available), *dict(unavailable)]
    known = given.known(known_path, names)
    cases = catalogue.select(selection)
    reports.keep_old(json_path, {entry.name for entry in available}, cases, catalogue, own=is_own)
    complete = selection.is_everything and not is_own
    runs = _run_all(
        available, cases, catalogue, known=known, complete=complete, seed=seed, ids_only=ids_only
    )
    there = [name for name in dict.fromkeys(engines) if name not in dict(unavailable)]
    _complete_again(runs, there, patience)
    short = [too_few(run.answered, run.selected, least) for run in runs]
    for run, found in zip(runs, short, strict=True):
        run.incidents += found
    lowest_code = int(any(short) or (require and bool(unavailable)))
    if not runs:
        about["trouble"] = "no engine is available: " + "; ".join(map(": ".join, unavailable))
    # before printing, which may fail
    data = dump_report(runs, about, known)
    results, said = reports.write_results(data, json_path, catalogue.records, lowest_code)
    changed, code = reports.make(
        [results], catalogue, said, least=lowest_code, known=known if known_path else ()
    )
    if changed is None:
        print_results(console, [results], catalogue)
        _print_large(console, catalogue, selection, runs)
    _print_not_bpe(console, available)
    _print_not_listed(console, known_path, known, runs)
    if is_own and known_path is None:
        _print_known_elsewhere(console, runs)
    _print_restarted(console, runs)
    if commands:
        print_unknown_profiles(
            console,
            [each.hello for each in available if isinstance(each, ProtocolEngine)],
            cases,
            catalogue,
        )
        console.print(f"\norder: --seed {seed}; time: {patience.sentence()}", highlight=False)
    ctx.exit(code)


def _print_large(
    console: Console, catalogue: Catalogue, selection: Selection, runs: Sequence[Run]
) -> None:
    """Print how many records with the flag Large were left out, of operations that were asked."""
    asked = {
        op_of(each.case) for run in runs for each in run.results if each.status not in UNJUDGED
    }
    every = catalogue.select(replace(selection, large=True))
    left_out = {case.id for case in every if is_large(case) and op_of(case) in asked}
    left_out -= {each.case.id for run in runs for each in run.results}
    if left_out:
        count = f"{len(left_out):,} Large record{' was' if len(left_out) == 1 else 's were'}"
        print_line(console, f"{count} not asked (--large)", "dim", above="\n")


def _open_engines(
    ctx: click.Context, names: Sequence[str], commands: Sequence[str], patience: Patience
) -> tuple[list[Engine], list[tuple[str, str]]]:
    """Return the available engines, and why the others are not. Programs are started."""
    available: list[Engine] = []
    unavailable: list[tuple[str, str]] = []
    for name in dict.fromkeys(names):
        entry = engine(name)
        if isinstance(entry, Unavailable):
            unavailable.append((name, entry.reason))
        else:
            available.append(entry)
            if isinstance(entry, ProtocolEngine):
                ctx.call_on_close(entry.close)
    for command in dict.fromkeys(commands):
        with said_if_slow(patience.waiting(command)):
            program = open_program(command, patience)
        ctx.call_on_close(program.close)
        available.append(program)
    must_differ([entry.name for entry in available])
    return available, unavailable


def _words(commands: Sequence[str]) -> list[str]:
    """Return the words of commands: names of files among them are programs, or what they read."""
    words: list[str] = []
    for command in commands:
        with suppress(StartError):
            words += arguments_of(command)
    return words


def _run_all(
    available: Sequence[Engine], cases: Sequence[Case], catalogue: Catalogue, **how: Any
) -> list[Run]:
    """Run the engines one after another, with a progress bar."""
    runs: list[Run] = []
    with progress_bar() as bar:
        for entry in available:
            task = bar.add_task(escape(visible(entry.name)), total=len(cases))
            shown = shown_in(bar, task)
            if isinstance(entry, ProtocolEngine):
                entry.when_late = partial(_print_late, bar.console, entry.name)
            runs.append(run_engine(entry, cases, catalogue, progress=shown, **how))
            every = incidents_of(entry)  # it may fail when it is closed
            listed = differences_of(how["known"], entry.name, entry.version)
            runs[-1].take_incidents(every, listed)
            for each in condensed(said for said in every if said not in runs[-1].incidents):
                print_line(bar.console, f"known: {entry.name}: {each}", "yellow")
            bar.remove_task(task)
    alone = partial(Sessions, catalogue=catalogue, ids_only=how["ids_only"])
    _note_what_passes_alone(runs, available, alone)
    return runs


def _note_what_passes_alone(
    runs: Sequence[Run], available: Sequence[Engine], sessions: Callable[[Engine], Sessions]
) -> None:
    """Note in each run of a program which of its smallest failures a new process does not have."""
    for run, program in zip(runs, available, strict=True):
        if not isinstance(program, ProtocolEngine) or "--cmd" not in program.again:
            continue
        wrong = [
            each
            for each in run.failures
            if each.judgement.status in {"fail", "wrong_error"}
            and op_of(each.case) not in OWN_DRAW_OPS  # whose streams may go on
            and not each.case.id.startswith(CANARY)  # which a right program does not pass
        ]
        passed = [
            each.case.id
            for each in sorted(wrong, key=lambda each: length(each.case))[:ALONE]
            if _passes_alone(each, program, sessions)
        ]
        if passed:
            passes = "passes" if len(passed) == 1 else "pass"
            run.incidents.append(
                f"{' and '.join(passed)} failed, but {passes} if a new process is asked nothing "
                "else: the program seems to keep something from one question to the next"
            )


def _passes_alone(
    failed: Result, program: ProtocolEngine, sessions: Callable[[Engine], Sessions]
) -> bool:
    """Return whether a new process passes, always if the answers of the one before differed."""
    try:
        alone = open_program(program.again[1], program.patience)
    except (StartError, GreetingError):
        return False
    with closing(alone):
        asked = [failed.case] * (OFTEN if DIFFERS in failed.facts else 1)
        return all(each.status == "pass" for each in sessions(alone).results(asked))


def _complete_again(runs: Sequence[Run], names: Sequence[str], patience: Patience) -> None:
    """Add to each run what selects its engine again: the argument, or limits for a program."""
    for run, name in zip(runs, names, strict=False):  # programs of --cmd know their arguments
        run.again = run.again or ([name] if name != run.engine else [])
    for run in runs:
        run.again = [*run.again, *patience.options()] if "--cmd" in run.again else run.again


def _print_late(console: Console, name: str, sentence: str) -> None:
    """Print at once that an engine is late: the results follow much later."""
    print_line(console, f"tokenref: {name}: {sentence}", "yellow")


def must_differ(names: Sequence[str]) -> None:
    """Raise `InputError` if two engines have the same name: reports could not distinguish them.

    >>> must_differ(["one", "two", "one"])
    Traceback (most recent call last):
    tokenref.errors.InputError: two engines are named 'one': run one at a time
    """
    for at, name in enumerate(names):
        if name in names[:at]:
            raise InputError(f"two engines are named {name!r}: run one at a time")


def _refuse_mixtures(
    engines: Sequence[str], options: Mapping[str, Sequence[str]], reports: Wanted, least: int | None
) -> None:
    """Raise `UsageError` for options that cannot be combined, before any file is written."""
    if not engines:
        raise click.UsageError("Missing argument 'ENGINE...' or option --cmd")
    if "corpus" in options:
        if reports != Wanted():
            raise click.UsageError("--corpus has no report except --json")
        if least is not None:
            raise click.UsageError("--answered-at-least cannot be used together with --corpus")
        _only(options, "corpus", ["pattern"])
    elif "records" in options:
        others = "id op flag without-flag profile rows-at-most known pattern ids-only upgrade"
        _only(options, "records", others.split())
    elif "pattern" in options:
        raise click.UsageError("--pattern needs --corpus or --records")
    if "upgrade" in options and not ("records" in options and "vocabulary" in options):
        raise click.UsageError("--upgrade needs --records and --vocabulary")


def _only(options: Mapping[str, Sequence[str]], mode: str, others: Sequence[str]) -> None:
    """Raise `UsageError` for options that cannot be combined with --corpus or --records."""
    for name in options:
        if name not in {mode, "vocabulary", *others}:
            raise click.UsageError(f"--{name} cannot be used together with --{mode}")
    count = len(options.get("vocabulary", ()))
    if mode == "corpus" and not count:
        raise click.UsageError("--corpus needs at least one --vocabulary")
    if mode == "records" and count > 1:
        raise click.UsageError("--records needs exactly one --vocabulary")


def _check_corpora(
    console: Console,
    texts: Sequence[Path],
    vocabularies: Sequence[str],
    pattern: str | None,
    available: Sequence[Engine],
    unavailable: Sequence[tuple[str, str]],
    json_path: Path | None,
    about: Mapping[str, object],
) -> int:
    """Compare encodings of texts by vocabularies, report them, and return the worst exit code.

    It is 2 if one of several texts could not be compared.
    """
    compared: list[Comparison] = []
    errors: dict[Path, str] = {}
    with progress_bar() as bar:
        task = bar.add_task("texts", total=len(texts) * len(vocabularies))
        for vocabulary in vocabularies:
            with naming_options("pattern"):
                comparer = CorpusComparer(vocabulary, available, pattern)
            for _, each in each_answer(texts, comparer.compare, errors):
                compared.append(each)
                bar.update(task, advance=1)
    incidents = {entry.name: incidents_of(entry) for entry in available}
    if json_path is not None:
        write(dump_corpus_report(compared, about, errors, incidents), json_path)
    print_corpus(console, compared)
    for note in dict.fromkeys(note for each in compared for note in each.notes):
        print_line(console, f"note: {note}", "yellow")
    code = max(corpus_exit_code(compared), int(print_incidents(console, incidents)))
    for name, reason in unavailable:
        print_line(console, f"{name} is unavailable: {reason}", "yellow", above="\n")
    _print_not_bpe(console, available)
    return 2 if errors else code


def _print_not_bpe(console: Console, available: Sequence[Engine]) -> None:
    """Print which engines are not byte-pair encoders and are only compared."""
    for entry in available:
        if entry.name in NOT_BPE:
            said = "is not byte-pair encoding. It is included for comparison and expected to fail"
            console.print(f"\n{entry.name} {said}", style="yellow", soft_wrap=True)


def _print_not_listed(
    console: Console, path: Path | None, known: Sequence[Known], runs: Sequence[Run]
) -> None:
    """Print which engines a list of known differences does not mention: names may be misspelt."""
    listed = list(dict.fromkeys(entry.engine for entry in known))
    for run in runs:
        if path is not None and listed and run.engine not in listed:
            names = ", ".join(map(visible, listed[:5])) + ", ..." * (len(listed) > 5)
            sentence = f"{path} has no entry for {visible(run.engine)}, only for {names}"
            print_line(console, sentence, "yellow", above="\n")


def _print_known_elsewhere(console: Console, runs: Sequence[Run]) -> None:
    """Print which engines that fail own records have known differences in the fixtures."""
    listed = read_known() if any(run.failures for run in runs) else []
    for run in runs:
        count = len(differences_of(listed, run.engine, run.version)) if run.failures else 0
        if count:
            sentence = (
                f"{run.engine} has {count} known difference{'s' * (count != 1)} in tokenref's own "
                "records, and these failures may be the same ones: tokenref show "
                "docs/differences.md"
            )
            print_line(console, sentence, "yellow", above="\n")


def _print_restarted(console: Console, runs: Sequence[Run]) -> None:
    """Print which programs died or were late, and what shows why.

    `doctor` asks few questions, so it explains only what happens at the start.
    """
    for run in runs:
        if run.restarts and "--cmd" in run.again:
            times = "once" if run.restarts == 1 else f"{run.restarts} times in all"
            said = [*run.trouble, *(each.judgement.detail for each in run.failures)]
            why = ". The line `again` of such a question asks it alone" if run.failures else ""
            if any(WHILE_LOADING in each or NOT_RESTARTED in each for each in said):
                why = f". To find out why: {shlex.join(['tokenref', 'doctor', *run.again])}"
            sentence = f"{visible(run.engine)} was started again, {times}{why}"
            print_line(console, sentence, "yellow", above="\n")
