"""The `tokenref` command.

Exit codes: 0 all is well; 1 an engine fails, fixtures differ, a mutant
survives; 2 the command or its input is wrong; 3 the run is invalid: nothing
was proven.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console
from rich.progress import Progress

from bpe_ref import BpeError, Tokenizer, audit, load, load_vocabulary, render_trace, trace, train
from bpe_ref.formats.files import write_atomically
from bpe_ref.formats.tiktoken import write_tiktoken
from bpe_ref.training import TrainingProgress
from tokenref.attestation import REAL_ENGINES, AttestationError, pages
from tokenref.catalogue import Selection, SelectionError, open_catalogue
from tokenref.corpus import CorpusError, compare_corpus, read_text
from tokenref.engines.table import EngineError, Unavailable, engine, engine_names
from tokenref.fetching import FetchError, fetch_vocabulary
from tokenref.known import default_path, read_known
from tokenref.record import OPS, RecordError
from tokenref.reports.corpus import exit_code, print_corpus
from tokenref.reports.lines import dump_report
from tokenref.reports.terminal import print_runs
from tokenref.runner import Run, run_engine

BAD_INPUT: Final = (AttestationError, BpeError, CorpusError, FetchError, EngineError)
INVALID_RUN: Final = (RecordError, SelectionError)

_FOLDER = click.Path(path_type=Path, file_okay=False)
_FILE = click.Path(path_type=Path, dir_okay=False)


class _OneSentence(click.Group):
    """A command group that ends with one sentence where the input is at fault."""

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - as click has it
        """Run the command; turn our own errors, and the system's, into a sentence."""
        try:
            return super().invoke(ctx)
        except INVALID_RUN as error:
            code, sentence = 3, str(error)
        except BAD_INPUT as error:
            code, sentence = 2, str(error)
        except OSError as error:
            code = 2
            sentence = f"{error.filename}: {error.strerror}" if error.filename else str(error)
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
    fixtures: Path | None,
    known_path: Path | None,
    json_path: Path | None,
    *,
    require: bool,
) -> None:
    """Run engines through the golden records and judge their answers."""
    console = Console()
    found = {name: engine(name) for name in dict.fromkeys(engines)}
    unavailable = [
        (name, entry.reason) for name, entry in found.items() if isinstance(entry, Unavailable)
    ]
    available = [entry for entry in found.values() if not isinstance(entry, Unavailable)]
    if corpus is not None:
        if len(vocabularies) != 1:
            raise click.UsageError("--corpus needs exactly one --vocabulary")
        results = compare_corpus(corpus, vocabularies[0], available)
        print_corpus(console, results)
        for name, reason in unavailable:
            console.print(f"\n{name} is unavailable: {reason}", style="yellow", markup=False)
        ctx.exit(max(exit_code(results), int(require and bool(unavailable))))
    catalogue = open_catalogue(fixtures)
    selection = Selection(ids, ops, flags, vocabularies)
    cases = catalogue.select(selection)
    known = read_known(known_path or default_path())
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
                    complete=selection.is_everything,
                    progress=partial(_advance, progress, task),
                )
            )
            progress.remove_task(task)
    print_runs(console, runs, unavailable)
    if json_path is not None:
        write_atomically(dump_report(runs, catalogue, repr(selection)), json_path)
    codes = [run.exit_code for run in runs]
    if not runs:
        codes.append(3)
    if require and unavailable:
        codes.append(1)
    ctx.exit(max(codes))


def _advance(progress: Progress, task: Any, done: int) -> None:  # noqa: ANN401 - rich's TaskID
    progress.update(task, completed=done)


@main.command()
@click.option("--check", "only_check", is_flag=True, help="Compare byte for byte, write nothing.")
@click.option("--folder", type=_FOLDER, default=Path("fixtures"), show_default=True)
@click.option("--vocabulary", help="Make goldens for this vocabulary instead (name or path).")
@click.option("--texts", type=_FILE, help="The texts for them, one per line, in UTF-8.")
@click.option("--out", type=_FILE, help="Where the goldens go.")
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
    from tokenref.fill import FillError, differences, goldens_for, make_files, write_files  # noqa: PLC0415 - see above

    own = (vocabulary, texts, out)
    if any(part is not None for part in own):
        if vocabulary is None or texts is None or out is None or only_check:
            raise click.UsageError("goldens of your own need --vocabulary, --texts and --out")
        lines = read_text(texts)[0].splitlines()
        try:
            data, count = goldens_for(load_vocabulary(vocabulary), vocabulary, lines, out.name)
        except FillError as error:
            raise click.UsageError(str(error)) from None
        write_atomically(data, out)
        click.echo(f"{out}: {count} cases")
        return
    try:
        files = make_files(lambda path: click.echo(f"  {path}", err=True))
    except (FillError, PurposeError) as error:
        raise RecordError(str(error)) from None
    if not only_check:
        changed = write_files(files, folder)
        click.echo(f"{folder}: {len(files)} files, {len(changed)} changed")
        return
    found = differences(files, folder)
    for sentence in found:
        click.echo(sentence)
    click.echo(f"{folder}: {len(files)} files, {len(found)} differ")
    ctx.exit(1 if found else 0)


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
    """Show one golden record, with its reason."""
    catalogue = open_catalogue(fixtures)
    case = next((case for case in catalogue.cases if case.id == case_id), None)
    if case is None:
        raise SelectionError(f"no case has the id {case_id!r}")
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
    for piece in tokenizer.pieces(text):
        symbols = tokenizer.vocabulary.symbols(piece.encode())
        steps = trace(tokenizer.vocabulary, symbols)
        click.echo(f"piece {piece!r}")
        click.echo(render_trace(tokenizer.vocabulary, symbols, steps))


@main.command("train")
@click.argument("texts", nargs=-1, required=True, type=_FILE, metavar="FILE...")
@click.option("--size", required=True, type=int, help="How many tokens, single bytes included.")
@click.option("--pattern", "pattern_of", default="cl100k_base", show_default=True)
@click.option("--out", required=True, type=_FILE, help="Where the vocabulary goes.")
def train_command(texts: Sequence[Path], size: int, pattern_of: str, out: Path) -> None:
    """Learn a vocabulary from text files and write it in the tiktoken format.

    The pattern is that of a registered vocabulary.
    """
    from bpe_ref.registry import registered  # noqa: PLC0415 - only needed here

    rules = registered(pattern_of).text_rules()
    contents = (read_text(path)[0] for path in texts)
    with Progress(console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("counting pieces", total=size)

        def progress(now: TrainingProgress) -> None:
            shown.update(task, description=f"{now.texts:,} texts", completed=now.tokens)

        learned = train(contents, size, text_rules=rules, progress=progress)
    ranks = {content: token for token, content in learned.tokens.items()}
    write_tiktoken(ranks, out)
    click.echo(f"{out}: {len(ranks)} tokens")


@main.command()
def engines() -> None:
    """List the engines, and which of them are available."""
    for name in engine_names():
        entry = engine(name)
        state = f"unavailable: {entry.reason}" if isinstance(entry, Unavailable) else entry.version
        click.echo(f"{name:14} {state}")
