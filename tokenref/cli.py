"""The `tokenref` command.

Exit codes: 0 all is well; 1 an engine fails, fixtures differ, a mutant
survives; 2 the command or its input is wrong; 3 the run is invalid: nothing
was proven; 4 a bug in tokenref itself; 130 interrupted.
"""

import difflib
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console
from rich.progress import Progress

from bpe_ref import (
    NOT_BPE,
    BpeError,
    NamedVocabulary,
    SymbolError,
    Tokenizer,
    audit,
    dump_plain_json,
    load,
    load_vocabulary,
    render_trace,
    trace,
    train,
)
from bpe_ref.formats.files import write_atomically
from bpe_ref.formats.tiktoken import write_tiktoken
from bpe_ref.registry import REGISTRY
from bpe_ref.training import TrainingProgress
from tokenref.attestation import REAL_ENGINES, AttestationError, pages
from tokenref.catalogue import Catalogue, Selection, SelectionError, open_catalogue
from tokenref.corpus import CorpusError, compare_corpus, read_text
from tokenref.engines.answers import Engine
from tokenref.engines.table import EngineError, Unavailable, engine, engine_names
from tokenref.fetching import FetchError, fetch_vocabulary
from tokenref.known import Known, default_path, read_known
from tokenref.manifest import dump_manifest
from tokenref.record import OPS, Case, RecordError
from tokenref.reports.corpus import exit_code, print_corpus
from tokenref.reports.lines import dump_corpus_report, dump_report
from tokenref.reports.terminal import print_runs
from tokenref.runner import Run, run_engine


class InputError(Exception):
    """Something given to a command that cannot be used."""


BAD_INPUT: Final = (AttestationError, BpeError, CorpusError, FetchError, EngineError, InputError)
INVALID_RUN: Final = (RecordError, SelectionError)

_FOLDER = click.Path(path_type=Path, file_okay=False)
_FILE = click.Path(path_type=Path, dir_okay=False)


class _OneSentence(click.Group):
    """A command group that ends with one sentence where the input is at fault.

    Whatever else goes wrong is a bug here. It must not end with 1, which means
    that an engine fails.
    """

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - as click has it
        """Run the command; turn our own errors, and the system's, into a sentence."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.Abort, click.exceptions.Exit, SystemExit):
            raise
        except KeyboardInterrupt:
            code, sentence = 130, "interrupted"  # click would end with 1
        except INVALID_RUN as error:
            code, sentence = 3, str(error)
        except BAD_INPUT as error:
            code, sentence = 2, str(error)
        except OSError as error:
            code = 2
            sentence = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        except BaseException as error:  # noqa: BLE001 - a Rust panic is a BaseException
            traceback.print_exc()
            code, sentence = 4, f"internal error: {type(error).__name__}: {error}"
        click.echo(f"tokenref: {sentence}", err=True)
        return ctx.exit(code)


@click.group(cls=_OneSentence, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tokenref")
def main() -> None:
    """Judge tokenizers against golden records that a readable definition produced."""


@main.command()
@click.argument("engines", nargs=-1, required=True, metavar="ENGINE...")
@click.option("--id", "ids", multiple=True, metavar="GLOB", help="Only cases with such an id.")
@click.option("--op", "ops", multiple=True, type=click.Choice(OPS), help="Only this operation.")
@click.option("--flag", "flags", multiple=True, help="Only cases with this flag.")
@click.option(
    "--vocabulary", "vocabularies", multiple=True, help="Only cases of this vocabulary (a name)."
)
@click.option("--corpus", type=_FILE, help="Compare encodings of this text instead of the cases.")
@click.option("--records", type=_FILE, help="Run these records, as `fill --texts` makes them.")
@click.option("--fixtures", type=_FOLDER, help="Fixtures other than those of the package.")
@click.option("--known", "known_path", type=_FILE, help="Another list of known differences.")
@click.option("--json", "json_path", type=_FILE, help="Write a report of every case here.")
@click.option("--require", is_flag=True, help="Fail if an engine is unavailable.")
@click.pass_context
def check(  # noqa: PLR0913, PLR0917 - one parameter per option
    ctx: click.Context,
    engines: Sequence[str],
    ids: Sequence[str],
    ops: Sequence[str],
    flags: Sequence[str],
    vocabularies: Sequence[str],
    corpus: Path | None,
    records: Path | None,
    fixtures: Path | None,
    known_path: Path | None,
    json_path: Path | None,
    *,
    require: bool,
) -> None:
    """Run engines through the golden records and judge their answers.

    --corpus and --records need the one --vocabulary that the text or the records are for.
    """
    paths = {"corpus": corpus, "records": records, "fixtures": fixtures, "known": known_path}
    given = {"id": ids, "op": ops, "flag": flags, "vocabulary": vocabularies}
    given |= {name: (str(path),) for name, path in paths.items() if path is not None}
    options = {name: list(values) for name, values in given.items() if values}
    if corpus is not None:
        _only(options, "corpus", [])
    elif records is not None:
        _only(options, "records", ["id", "op", "flag", "known"])
    found = {name: engine(name) for name in dict.fromkeys(engines)}
    unavailable = [
        (name, entry.reason) for name, entry in found.items() if isinstance(entry, Unavailable)
    ]
    available = [entry for entry in found.values() if not isinstance(entry, Unavailable)]
    if json_path is not None:
        _must_be_writable(json_path)
    about = {"selection": options, "unavailable": dict(unavailable)}
    console = Console()
    if corpus is not None:
        code = _check_corpus(console, corpus, vocabularies[0], available, json_path, about)
        for name, reason in unavailable:
            line = f"\n{name} is unavailable: {reason}"
            console.print(line, style="yellow", markup=False, highlight=False)
        _say_what_is_not_bpe(console, available)
        ctx.exit(max(code, int(require and bool(unavailable))))
    if records is not None:
        catalogue = _own_catalogue(records, vocabularies[0])
        selection = Selection(ids, ops, flags)
        about["records"] = f"sha256:{catalogue.manifest.files[0].sha256}"
        known = [] if known_path is None else read_known(known_path)
    else:
        catalogue = open_catalogue(fixtures)
        selection = Selection(ids, ops, flags, vocabularies)
        about["fixtures"] = f"sha256:{sha256(dump_manifest(catalogue.manifest)).hexdigest()}"
        known = read_known(known_path or default_path())
    cases = catalogue.select(selection)
    complete = selection.is_everything and records is None
    runs = _run_all(available, cases, catalogue, known, complete=complete)
    again = [
        part
        for name in ("vocabulary", "records", "fixtures", "known")
        for value in options.get(name, [])
        for part in (f"--{name}", value)
    ]
    print_runs(console, runs, unavailable, catalogue, again)
    _say_what_is_not_bpe(console, available)
    if json_path is not None:
        _write(dump_report(runs, about), json_path)
    codes = [run.exit_code for run in runs]
    if not runs:
        codes.append(3)
    if require and unavailable:
        codes.append(1)
    ctx.exit(max(codes))


def _run_all(
    available: Sequence[Engine],
    cases: Sequence[Case],
    catalogue: Catalogue,
    known: Sequence[Known],
    *,
    complete: bool,
) -> list[Run]:
    """Run one engine after the other, with a bar that shows how far it is."""
    runs: list[Run] = []
    with Progress(console=Console(stderr=True), transient=True) as progress:
        for entry in available:
            task = progress.add_task(entry.name, total=len(cases))
            runs.append(
                run_engine(
                    entry,
                    cases,
                    catalogue,
                    known=known,
                    complete=complete,
                    progress=partial(_advance, progress, task),
                )
            )
            progress.remove_task(task)
    return runs


def _advance(progress: Progress, task: Any, done: int) -> None:  # noqa: ANN401 - rich's TaskID
    progress.update(task, completed=done)


def _only(options: Mapping[str, Sequence[str]], mode: str, others: Sequence[str]) -> None:
    """Refuse options that say nothing together with --corpus or --records."""
    for name in options:
        if name not in {mode, "vocabulary", *others}:
            raise click.UsageError(f"--{name} cannot be used together with --{mode}")
    if len(options.get("vocabulary", ())) != 1:
        raise click.UsageError(f"--{mode} needs exactly one --vocabulary")


def _check_corpus(
    console: Console,
    corpus: Path,
    vocabulary: str,
    available: Sequence[Engine],
    json_path: Path | None,
    about: Mapping[str, object],
) -> int:
    """Compare encodings of a text, report them, and return the exit code."""
    compared = compare_corpus(corpus, vocabulary, available)
    print_corpus(console, compared.results)
    if json_path is not None:
        _write(dump_corpus_report(compared, about), json_path)
    return exit_code(compared.results)


def _own_catalogue(records: Path, vocabulary: str) -> Catalogue:
    from tokenref.fill import FillError, open_goldens  # noqa: PLC0415 - it loads all generators

    try:
        return open_goldens(records, vocabulary)
    except FillError as error:
        raise InputError(str(error)) from None


def _say_what_is_not_bpe(console: Console, available: Sequence[Engine]) -> None:
    """Say of the encoders that are here for comparison that they are no byte-pair encoders."""
    for entry in available:
        if entry.name in NOT_BPE:
            console.print(
                f"\n{entry.name} is not byte-pair encoding: it is here for comparison, "
                "and is expected to fail",
                style="yellow",
                soft_wrap=True,
            )


def _must_be_writable(path: Path) -> None:
    """Raise `InputError` if no file can be written there, so that no long run is in vain."""
    if path.exists() and not path.is_file():
        return  # a pipe or a device, which only writing tests
    try:
        with tempfile.TemporaryFile(dir=path.resolve().parent):
            pass
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from None


def _write(content: bytes, path: Path) -> None:
    """Write a file atomically. Raises `InputError`, which names this path and no other."""
    try:
        write_atomically(content, path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from None


@main.command()
@click.option("--check", "only_check", is_flag=True, help="Compare byte for byte, write nothing.")
@click.option("--folder", type=_FOLDER, default=Path("fixtures"), show_default=True)
@click.option("--vocabulary", help="Make goldens for this vocabulary instead (name or path).")
@click.option(
    "--texts",
    type=_FILE,
    help="The texts for them, in UTF-8, one per line. A line ends with a line feed, or carriage "
    "return and line feed, and with nothing else; neither is part of the text.",
)
@click.option(
    "--out",
    type=_FILE,
    help="Where the goldens go. The vocabulary goes beside them, unless its name is known.",
)
@click.pass_context
def fill(
    ctx: click.Context,
    folder: Path,
    vocabulary: str | None,
    texts: Path | None,
    out: Path | None,
    *,
    only_check: bool,
) -> None:
    """Write the golden records, or make goldens for a vocabulary and texts of your own."""
    # Generators assert their cases' purposes; loading them takes a moment nobody else should pay.
    from tokenref.cases.draft import PurposeError  # noqa: PLC0415 - see above
    from tokenref.fill import FillError, differences, make_files, write_files  # noqa: PLC0415 - see above

    own = (vocabulary, texts, out)
    if any(part is not None for part in own):
        if vocabulary is None or texts is None or out is None or only_check:
            raise click.UsageError("goldens of your own need --vocabulary, --texts and --out")
        _fill_own(vocabulary, texts, out)
        return
    try:
        files = make_files(lambda path: click.echo(f"  {path}", err=True))
    except (FillError, PurposeError) as error:
        raise RecordError(str(error)) from None
    if not only_check:
        changed = write_files(files, folder)
        click.echo(f"{folder}: {len(files):,} files, {len(changed):,} changed")
        return
    found = differences(files, folder)
    for sentence in found:
        click.echo(sentence)
    click.echo(f"{folder}: {len(files):,} files, {len(found):,} differ")
    ctx.exit(1 if found else 0)


def _fill_own(vocabulary: str, texts: Path, out: Path) -> None:
    """Write goldens for a vocabulary and texts, and the vocabulary beside them if need be."""
    from tokenref.fill import goldens_for, texts_of  # noqa: PLC0415 - it loads all generators

    is_known = vocabulary == "tiny" or vocabulary in REGISTRY
    beside = None if is_known else out.with_name(f"{out.stem}.vocabulary.json")
    if out.exists() and not out.is_file() and beside is not None:
        raise InputError(f"{out} must be a file, for the vocabulary is written beside it")
    inputs = {texts.resolve()} if is_known else {texts.resolve(), Path(vocabulary).resolve()}
    for path in (out, beside):
        if path is not None:
            if path.resolve() in inputs:
                raise InputError(f"{path} would be overwritten, but it is what is read")
            _must_be_writable(path)
    lines = texts_of(read_text(texts)[0])
    loaded = load_vocabulary(vocabulary)
    name = vocabulary if is_known else Path(vocabulary).name
    data, count = goldens_for(loaded, name, lines, texts.name, out)
    if beside is not None:
        why = f"The vocabulary of the records in {out.name}."
        content = dump_plain_json(NamedVocabulary(name, why, loaded))
        before = beside.read_bytes() if beside.is_file() else None
        _write(content, beside)
    try:
        _write(data, out)
    except InputError:
        if beside is not None and before is None:  # both or none
            beside.unlink(missing_ok=True)
        elif beside is not None and before is not None:
            _write(before, beside)
        raise
    click.echo(f"{out}: {count:,} cases, duplicates left out: {len(lines) - count:,}")
    if beside is not None:
        click.echo(f"{beside}: the vocabulary")


@main.command()
@click.option("--fixtures", type=_FOLDER, help="Fixtures other than those of the package.")
@click.pass_context
def mutants(ctx: click.Context, fixtures: Path | None) -> None:
    """Show that the golden records tell every seeded bug from the reference."""
    from tokenref.mutants.gate import run_gate  # noqa: PLC0415 - only needed here
    from tokenref.reports.mutants import print_gate  # noqa: PLC0415 - only needed here

    report = run_gate(open_catalogue(fixtures))
    print_gate(Console(), report)
    ctx.exit(0 if report.ok else 1)


@main.command()
@click.option("--check", "only_check", is_flag=True, help="Compare, write nothing.")
@click.option("--folder", type=_FOLDER, default=Path(), help="The project's folder.")
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


@main.command()
@click.argument("case_id", metavar="ID")
@click.option("--fixtures", type=_FOLDER, help="Fixtures other than those of the package.")
def show(case_id: str, fixtures: Path | None) -> None:
    """Show one golden record, with its reason. Canaries, whose answers are wrong, can be shown."""
    catalogue = open_catalogue(fixtures)
    by_id = {case.id: case for case in [*catalogue.cases, *catalogue.canaries]}
    case = by_id.get(case_id)
    if case is None:
        nearest = difflib.get_close_matches(case_id, by_id, cutoff=0.4)
        hint = f"; the nearest are {', '.join(nearest)}" if nearest else ""
        raise InputError(f"no record has the id {case_id!r}{hint}")
    from tokenref.reports.single import print_case  # noqa: PLC0415 - only needed here

    print_case(Console(), case, catalogue.entry(case.vocab))


@main.group()
def vocabulary() -> None:
    """Find, fetch and examine vocabularies."""


@vocabulary.command()
@click.argument("name")
@click.option("--folder", type=_FOLDER, help="Where to put it; by default where it is looked for.")
@click.option("--url", help="Another address than the publisher's.")
def fetch(name: str, folder: Path | None, url: str | None) -> None:
    """Download a vocabulary's file and check its digest."""
    click.echo(fetch_vocabulary(name, folder, url=url))


@vocabulary.command("audit")
@click.argument("name_or_path")
def audit_command(name_or_path: str) -> None:
    """Say what is unusual about a vocabulary: dead and improper tokens, holes, missing bytes."""
    from tokenref.reports.vocabulary import print_audit  # noqa: PLC0415 - only needed here

    vocabulary = load_vocabulary(name_or_path)
    print_audit(Console(), vocabulary, audit(vocabulary))


@main.command()
@click.argument("text")
@click.option("--vocabulary", default="tiny", show_default=True, help="A name or a path.")
def encode(text: str, vocabulary: str) -> None:
    """Print the tokens of a text, one per line: id and bytes. Special tokens are text here."""
    tokenizer = load(vocabulary)
    for token in tokenizer.encode_ordinary(text):
        click.echo(f"{token}\t{tokenizer.token_bytes(token)!r}")


@main.command("trace")
@click.argument("text")
@click.option("--vocabulary", default="tiny", show_default=True, help="A name or a path.")
def trace_command(text: str, vocabulary: str) -> None:
    """Show how a text becomes tokens: its pieces, and every merge of each."""
    tokenizer: Tokenizer = load(vocabulary)
    rules = tokenizer.vocabulary.text
    for piece in tokenizer.pieces(text):
        spelling = piece.encode().decode("latin-1")
        token = tokenizer.vocabulary.ids.get(spelling) if rules.whole_piece else None
        if token is None:
            click.echo(f"piece {piece!r}")
        else:
            click.echo(
                f"piece {piece!r} is token {token}, taken whole by the text rules; "
                "merging would go like this"
            )
        try:
            symbols = tokenizer.vocabulary.symbols(piece.encode())
        except SymbolError as error:
            if token is None:
                raise
            click.echo(f"not at all: {error}")
            continue
        steps = trace(tokenizer.vocabulary, symbols)
        click.echo(render_trace(tokenizer.vocabulary, symbols, steps))


@main.command("train")
@click.argument("texts", nargs=-1, required=True, type=_FILE, metavar="FILE...")
@click.option("--size", required=True, type=int, help="How many tokens, single bytes included.")
@click.option(
    "--pattern",
    "pattern_of",
    type=click.Choice(tuple(REGISTRY)),
    default="cl100k_base",
    show_default=True,
    help="Cut texts as this vocabulary does.",
)
@click.option("--out", required=True, type=_FILE, help="Where the vocabulary goes.")
def train_command(texts: Sequence[Path], size: int, pattern_of: str, out: Path) -> None:
    """Learn a vocabulary from text files and write it in the tiktoken format."""
    _must_be_writable(out)
    rules = REGISTRY[pattern_of].text_rules()
    contents = (read_text(path)[0] for path in texts)
    with Progress(console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("counting pieces", total=size)

        def progress(now: TrainingProgress) -> None:
            shown.update(task, description=f"{now.texts:,} texts", completed=now.tokens)

        learned = train(contents, size, text_rules=rules, progress=progress)
    ranks = {content: token for token, content in learned.tokens.items()}
    try:
        write_tiktoken(ranks, out)
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror or error}") from None
    click.echo(f"{out}: {len(ranks):,} tokens")


@main.command()
def engines() -> None:
    """List the engines, and which of them are available."""
    for name in engine_names():
        entry = engine(name)
        state = f"unavailable: {entry.reason}" if isinstance(entry, Unavailable) else entry.version
        click.echo(f"{name:14} {state}")
