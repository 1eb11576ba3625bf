"""`tokenref fill`: make golden records for your own texts and vocabulary."""

from pathlib import Path

import click

from bpe_ref import Vocabulary
from bpe_ref.formats.plain_json import NamedVocabulary, dump_plain_json
from bpe_ref.registry import REGISTRY
from tokenref.commands.paths import FILE, must_be_writable, write
from tokenref.errors import InputError
from tokenref.files import read_text
from tokenref.subjects import TokenizerSubject
from tokenref.visible import visible


@click.command()
@click.option("--vocabulary", required=True, help="A vocabulary or tokenizer.json: name or path.")
@click.option(
    "--texts",
    type=FILE,
    required=True,
    help="The texts, in UTF-8, one per line. A line ends with a line feed, or with a carriage "
    "return and a line feed; neither is part of the text.",
)
@click.option(
    "--out",
    type=FILE,
    required=True,
    help="The file for the golden records. The vocabulary is written next to it, unless its name "
    "is known.",
)
def fill(vocabulary: str, texts: Path, out: Path) -> None:
    """Make golden records for your own texts and vocabulary."""
    from tokenref.goldens import goldens_for, own_subject, texts_of

    subject = own_subject(vocabulary)
    kind = "vocabulary" if isinstance(subject, Vocabulary) else "tokenizer"
    is_known = vocabulary == "tiny" or vocabulary in REGISTRY
    beside = None if is_known else out.with_name(f"{out.stem}.{kind}.json")
    if out.exists() and not out.is_file() and beside is not None:
        raise InputError(f"{out} must be a file, because the {kind} is written next to it")
    inputs = {texts.resolve()} if is_known else {texts.resolve(), Path(vocabulary).resolve()}
    for path in (out, beside):
        if path is not None:
            if path.resolve() in inputs:
                raise InputError(f"{path} is also an input and would be overwritten")
            must_be_writable(path)
    lines = texts_of(read_text(texts))
    name = vocabulary if is_known else Path(vocabulary).name
    data, count = goldens_for(subject, name, lines, texts.name, out)
    if beside is None:
        write(data, out)
    else:
        _write_both(data, out, _content(subject, name, out), beside)
    again = len(lines) - count
    cases = f"{count:,} case{'s' * (count != 1)}, {again:,} duplicate{'s' * (again != 1)} omitted"
    click.echo(f"{visible(str(out))}: {cases}")
    if beside is not None:
        click.echo(f"{visible(str(beside))}: the {kind}")


def _content(subject: TokenizerSubject, name: str, out: Path) -> bytes:
    """Return the file with the subject of the records in `out`."""
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
