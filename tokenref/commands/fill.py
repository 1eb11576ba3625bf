"""`tokenref fill`: write the golden records, or goldens of one's own."""

from pathlib import Path
from typing import Final

import click

from bpe_ref import Vocabulary
from bpe_ref.formats.plain_json import NamedVocabulary, dump_plain_json
from bpe_ref.registry import REGISTRY
from tokenref.commands.paths import FILE, FOLDER, InputError, must_be_writable, progress_bar, write
from tokenref.corpus_files import read_text
from tokenref.manifest import MANIFEST
from tokenref.record import RecordError
from tokenref.record_files import REGRESS
from tokenref.subjects import TokenizerSubject

DEFAULT_FOLDER: Final = Path("fixtures")


@click.command()
@click.option("--check", "only_check", is_flag=True, help="Compare byte for byte, write nothing.")
@click.option("--folder", type=FOLDER, default=DEFAULT_FOLDER, show_default=True)
@click.option("--vocabulary", help="Make goldens for this vocabulary instead (name or path).")
@click.option(
    "--texts",
    type=FILE,
    help="The texts for them, in UTF-8, one per line. A line ends with a line feed, or carriage "
    "return and line feed, and with nothing else; neither is part of the text.",
)
@click.option(
    "--out",
    type=FILE,
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
    """Make goldens for texts and a vocabulary of your own.

    Without --vocabulary, --texts and --out it writes the golden records of this project anew.
    """
    # Generators assert their cases' purposes; loading them takes a moment nobody else should pay.
    from authoring.cases.draft import PurposeError
    from tokenref.fill import FillError, differences, make_files, write_files

    own = (vocabulary, texts, out)
    if any(part is not None for part in own):
        if vocabulary is None or texts is None or out is None or only_check:
            raise click.UsageError("goldens of your own need --vocabulary, --texts and --out")
        _fill_own(vocabulary, texts, out)
        return
    if folder == DEFAULT_FOLDER and not (folder / MANIFEST).is_file():
        raise click.UsageError(
            f"there is no {folder / MANIFEST} here: run it in a checkout, or name a --folder"
        )
    try:
        with progress_bar() as bar:
            task = bar.add_task("", total=None)
            files = make_files(lambda path: bar.update(task, description=path), _kept_in(folder))
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


def _kept_in(folder: Path) -> Path | None:
    """Return the folder whose regression files are taken: a new folder gets the package's."""
    there = (folder / MANIFEST).is_file() or (folder / REGRESS).is_dir()
    return folder if there else None


def _fill_own(vocabulary: str, texts: Path, out: Path) -> None:
    """Write goldens for some texts, and beside them what they are about, if need be."""
    from tokenref.goldens import goldens_for, texts_of

    subject = _own_subject(vocabulary)
    kind = "vocabulary" if isinstance(subject, Vocabulary) else "tokenizer"
    is_known = vocabulary == "tiny" or vocabulary in REGISTRY
    beside = None if is_known else out.with_name(f"{out.stem}.{kind}.json")
    if out.exists() and not out.is_file() and beside is not None:
        raise InputError(f"{out} must be a file, for the {kind} is written beside it")
    inputs = {texts.resolve()} if is_known else {texts.resolve(), Path(vocabulary).resolve()}
    for path in (out, beside):
        if path is not None:
            if path.resolve() in inputs:
                raise InputError(f"{path} would be overwritten, but it is what is read")
            must_be_writable(path)
    lines = texts_of(read_text(texts)[0])
    name = vocabulary if is_known else Path(vocabulary).name
    data, count = goldens_for(subject, name, lines, texts.name, out)
    if beside is None:
        write(data, out)
    else:
        _write_both(data, out, _content(subject, name, out), beside)
    click.echo(f"{out}: {count:,} cases, duplicates left out: {len(lines) - count:,}")
    if beside is not None:
        click.echo(f"{beside}: the {kind}")


def _own_subject(vocabulary: str) -> TokenizerSubject:
    from tokenref.goldens import GoldensError, own_subject

    try:
        return own_subject(vocabulary)
    except GoldensError as error:
        raise InputError(str(error)) from None


def _content(subject: TokenizerSubject, name: str, out: Path) -> bytes:
    """Return the file that the records in `out` are about."""
    if isinstance(subject, Vocabulary):
        why = f"The vocabulary of the records in {out.name}."
        return dump_plain_json(NamedVocabulary(name, why, subject))
    return subject.content


def _write_both(data: bytes, out: Path, content: bytes, beside: Path) -> None:
    """Write both files or none."""
    before = beside.read_bytes() if beside.is_file() else None
    write(content, beside)
    try:
        write(data, out)
    except InputError:
        if before is None:
            beside.unlink(missing_ok=True)
        else:
            write(before, beside)
        raise
