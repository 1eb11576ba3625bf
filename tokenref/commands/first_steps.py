"""`tokenref doctor`, `init` and `fill`: start with your own engine, or your own golden records."""

from pathlib import Path
from shlex import quote
from typing import Any

import click
from rich.markup import escape

from bpe_ref import Vocabulary
from bpe_ref.added_tokens import any_of
from bpe_ref.formats.plain_json import NamedVocabulary, dump_plain_json
from bpe_ref.registry import REGISTRY
from tokenref.catalogue import open_catalogue
from tokenref.commands.options import IDS_ONLY, PROGRAM_HELP, patience_options
from tokenref.commands.paths import (
    FILE,
    FOLDER,
    must_be_writable,
    must_not_overwrite,
    progress_bar,
    said_if_slow,
    shown_in,
    write,
)
from tokenref.commands.text import PATTERN, naming_options, say_notes, say_spelled
from tokenref.doctor.conversation import Finding
from tokenref.doctor.walk import examine
from tokenref.errors import InputError
from tokenref.protocol.channel import Patience
from tokenref.skeletons import LANGUAGES, write_skeleton
from tokenref.subjects import TokenizerSubject, load_text_subject
from tokenref.visible import visible

_MARKS = {"ok": "ok     ", "note": "note   ", "problem": "PROBLEM"}


@click.command()
@click.option("--cmd", "command", required=True, metavar="'PROGRAM ARGS'", help=PROGRAM_HELP)
@IDS_ONLY
@patience_options
@click.pass_context
def doctor(ctx: click.Context, command: str, patience: Patience, *, ids_only: bool) -> None:
    """Test your program step by step and explain each mistake."""
    problems = 0
    findings = examine(command, open_catalogue(), patience, ids_only=ids_only)
    while True:
        with said_if_slow(patience.waiting(command)):
            finding = next(findings, None)
        if finding is None:
            break
        click.echo(as_text(finding))
        problems += finding.kind == "problem"
    quoted = f"--cmd {quote(command)}" + " --ids-only" * ids_only
    if problems:
        many = "one problem" if problems == 1 else f"{problems} problems"
        click.echo(f"\n{many}. Fix the first one, then run this again:\n  tokenref doctor {quoted}")
        ctx.exit(1)
    click.echo(f"\nIt speaks the protocol. Next, run all records:\n  tokenref check {quoted}")


@click.command()
@click.option(
    "--lang", type=click.Choice(list(LANGUAGES)), required=True, help="Programming language."
)
@click.argument("folder", type=FOLDER, metavar="DIR")
def init(lang: str, folder: Path) -> None:
    """Write a small engine to DIR, to add your code to.

    It is complete, runs as it is, and speaks the protocol.
    """
    skeleton = LANGUAGES[lang]
    for path in write_skeleton(lang, folder):
        click.echo(f"wrote {visible(str(path))}")
    click.echo("\nNext:")
    for line in (
        f"cd {quote(str(folder))}",
        *skeleton.build,
        f"tokenref doctor --cmd {quote(skeleton.run)}",
        f"tokenref check --cmd {quote(skeleton.run)}",
    ):
        click.echo(f"  {line}")


def as_text(finding: Finding) -> str:
    r"""Return a finding as lines of a terminal.

    >>> print(as_text(Finding("problem", "hello", "it is not JSON", "hi", '{"proto":1}', "say so")))
    PROBLEM hello: it is not JSON
              it wrote  hi
              expected  {"proto":1}
              hint      say so
    """
    lines = [f"{_MARKS[finding.kind]} {visible(finding.about)}: {visible(finding.text)}"]
    for label, text in (
        ("question", finding.asked),
        ("it wrote", finding.wrote),
        ("expected", finding.right),
        ("hint", finding.hint),
    ):
        if text:
            lines.append(f"          {label:<9} {visible(text)}")
    return "\n".join(lines)


@click.command()
@click.option(
    "--vocabulary",
    required=True,
    help="A name, a vocabulary file, a tokenizer.json or a GGUF file.",
)
@PATTERN
@click.option(
    "--texts",
    type=FILE,
    required=True,
    help="The texts, in UTF-8, one per line. A line ends with a line feed, or with a carriage "
    "return and a line feed; neither is part of the text. If the file's name ends in .jsonl, each "
    'line is JSON: a string, or an object whose "text" is a string.',
)
@click.option(
    "--template/--no-template",
    default=True,
    help="Add the special tokens of a tokenizer's template.",
)
@click.option(
    "--out",
    type=FILE,
    required=True,
    help="The file for the golden records. The vocabulary is written next to it, unless its name "
    "is known.",
)
@click.option(
    "--special/--as-text",
    "special",
    default=None,
    help="Whether to recognise special tokens in the texts. By default they are treated as text if "
    "the vocabulary is one of bytes. A tokenizer.json always recognises them.",
)
@click.option("--replace", is_flag=True, help="Replace files that exist.")
def fill(
    vocabulary: str,
    pattern: str | None,
    texts: Path,
    out: Path,
    *,
    template: bool,
    special: bool | None,
    replace: bool,
) -> None:
    """Make golden records for your own texts and vocabulary."""
    from tokenref.goldens import goldens_for, texts_in

    with naming_options("pattern"):
        subject, tokenizer = load_text_subject(vocabulary, pattern)
    say_notes(tokenizer)
    of_bytes = isinstance(subject, Vocabulary)
    if special is False and not of_bytes:
        raise InputError(
            "--as-text must not be given for a tokenizer.json, which recognises special tokens, "
            f"got {vocabulary}"
        )
    if isinstance(subject, Vocabulary) and subject.text.pattern is None:
        click.echo("tokenref: without a pattern, the records test only how pieces merge", err=True)
    kind = "vocabulary" if of_bytes else "tokenizer"
    is_known = vocabulary == "tiny" or vocabulary in REGISTRY
    beside = None if is_known else out.with_name(f"{out.stem}.{kind}.json")
    if out.exists() and not out.is_file() and beside is not None:
        raise InputError(f"{out} must be a file, because the {kind} is written next to it")
    must_not_overwrite(
        {"--out": out, f"the {kind} next to --out": beside},
        {"--texts": [texts], "--vocabulary": [None if is_known else vocabulary]},
    )
    for path in (out, beside):
        if path is not None:
            if path.is_file() and not replace:
                raise InputError(f"{path} exists already; use --replace to write it anew")
            must_be_writable(path)
    lines = texts_in(texts)
    name = vocabulary if is_known else Path(vocabulary).name
    with progress_bar() as bar:
        show = shown_in(bar, bar.add_task(escape(visible(name)), total=len(lines)))
        how: dict[str, Any] = {"template": template, "special": bool(special), "progress": show}
        data, count = goldens_for(subject, name, lines, texts.name, out, **how)
    if of_bytes and special is None:
        found = any_of(frozenset(tokenizer.added.special)).search("\n".join(lines))
        say_spelled([found.group()] if found else [], "--special recognises them")
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
