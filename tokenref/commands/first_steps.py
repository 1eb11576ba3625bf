"""`tokenref doctor`, `init` and `fill`: start with your own engine, or your own golden records."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape

from bpe_ref import Vocabulary
from bpe_ref.formats.plain_json import NamedVocabulary, dump_plain_json
from bpe_ref.registry import REGISTRY
from tokenref.catalogue import open_catalogue
from tokenref.commands.options import IDS_ONLY, PROGRAM_HELP, patience_options
from tokenref.commands.paths import (
    FILE,
    FOLDER,
    must_be_writable,
    must_not_overwrite,
    options_as,
    progress_bar,
    said_if_slow,
    say,
    shown_in,
    write,
)
from tokenref.commands.text import (
    FILE_OF_TEXT,
    LINES_OF_TEXT,
    PATTERN,
    SPECIAL,
    TEXT,
    Source,
    named_sources,
    naming_options,
    noted,
    say_notes,
    special_of,
    texts_of,
)
from tokenref.doctor.conversation import Finding
from tokenref.doctor.walk import examine
from tokenref.errors import InputError
from tokenref.protocol.channel import Patience
from tokenref.record import PIPELINE_OPS, Case
from tokenref.record_files import read_records
from tokenref.skeletons import LANGUAGES, write_skeleton
from tokenref.subjects import TokenizerFile, TokenizerSubject, load_text_subject
from tokenref.visible import visible

if TYPE_CHECKING:
    from tokenref.goldens import Treated

_MARKS = {"ok": "ok     ", "note": "note   ", "problem": "PROBLEM"}


def _refuse_name(_ctx: click.Context, _param: click.Parameter, names: Sequence[str]) -> None:
    """Raise `UsageError` for a name, of an engine or of a program without --cmd."""
    for name in map(quote, names[:1]):
        use = f"use --cmd {name}, or for an engine of tokenref, tokenref check {name}"
        raise click.UsageError(f"doctor tests your program: {use}")


@click.command()
@click.argument("names", nargs=-1, metavar="", callback=_refuse_name, expose_value=False)
@click.option("--cmd", "command", required=True, metavar="'PROGRAM ARGS'", help=PROGRAM_HELP)
@IDS_ONLY
@patience_options
@click.pass_context
def doctor(ctx: click.Context, command: str, patience: Patience, *, ids_only: bool) -> None:
    """Test your program step by step and explain each mistake."""
    problems = answers = 0
    findings = examine(command, open_catalogue(), patience, ids_only=ids_only)
    while True:
        with said_if_slow(patience.waiting(command)):
            finding = next(findings, None)
        if finding is None:
            break
        click.echo(as_text(finding))
        problems += finding.kind == "problem"
        answers += finding.is_answer
    quoted = f"--cmd {quote(command)}" + " --ids-only" * ids_only
    if problems > answers:
        many = "one problem" if problems == 1 else f"{problems} problems"
        click.echo(f"\n{many}. Fix the first one, then run this again:\n  tokenref doctor {quoted}")
        ctx.exit(1)
    many = "one answer is" if answers == 1 else f"{answers} answers are"
    but = f", but {many} wrong" if answers else ""
    click.echo(f"\nIt speaks the protocol{but}. Next, run all records:\n  tokenref check {quoted}")
    ctx.exit(answers > 0)


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


def _also(**fields: Any) -> dict[str, Any]:
    """Return the fields of questions that were given."""
    fields["skip_special_tokens"] = fields.pop("skip") or None
    return {name: value for name, value in fields.items() if value is not None}


@click.command()
@click.option(
    "--vocabulary",
    required=True,
    help="A name, a vocabulary file, a tokenizer.json or a GGUF file.",
)
@PATTERN
@options_as("sources", named_sources, text=TEXT, lines=LINES_OF_TEXT, path=FILE_OF_TEXT)
@click.option(
    "--op",
    "ops",
    metavar="OP",
    multiple=True,
    help="Make records of this operation; repeatable. Those on ids are asked about the ids of each "
    "text.  [default: encode for a vocabulary of bytes, tokenize for others]",
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
    help="The file for the golden records. The vocabulary is written next to it, unless it is one "
    "of bytes with a registered name, such as o200k_base, or other records of the folder have it.",
)
@click.option(
    "--copy/--no-copy",
    default=True,
    help="Whether to write the vocabulary next to the records. Without it, give the other commands "
    "its --vocabulary.",
)
@options_as("special_and_treated", special_of, **SPECIAL)
@options_as(
    "also",
    _also,
    skip=click.option(
        "--skip-special-tokens",
        "skip",
        is_flag=True,
        help="Leave special tokens out of the answers of --op detokenize and detokenize_stream.",
    ),
    most=click.option(
        "--most", type=click.IntRange(min=1), help="Maximum number of tokens, for --op chunks."
    ),
    overlap=click.option(
        "--overlap",
        type=click.IntRange(min=0),
        help="Maximum number of tokens that chunks share, for --op chunks.  [default: 0]",
    ),
)
@click.option("--replace", is_flag=True, help="Replace files that exist.")
@click.option(
    "--append", is_flag=True, help="Keep records that exist, and add others; not with --replace."
)
def fill(
    vocabulary: str,
    pattern: str | None,
    sources: Sequence[tuple[Source, str]],
    ops: Sequence[str],
    special_and_treated: "tuple[bool | None, Treated | None]",
    also: Mapping[str, Any],
    out: Path,
    *,
    copy: bool,
    template: bool,
    replace: bool,
    append: bool,
) -> None:
    """Make golden records for your own texts and vocabulary.

    TEXT and each --file are one text, with its line ends; --texts has a text in each line. A text
    that has a record already is omitted. If one file is not UTF-8, nothing is written. With
    --as-text or --added-as-text, records of a tokenizer.json are those of a copy without the
    tokens, which is written next to them.
    """
    from tokenref.goldens import FILLED, check_without, goldens_for, without_added

    special, treated = special_and_treated
    with naming_options("pattern"):
        subject, tokenizer = load_text_subject(vocabulary, pattern)
    say_notes(tokenizer.notes)
    vocabulary = tokenizer.name or vocabulary  # if it was the name of a model
    of_bytes = isinstance(subject, Vocabulary)
    _check_ops(ops, vocabulary, also, special_and_treated, of_bytes=of_bytes)
    if isinstance(subject, TokenizerFile) and treated:
        _check_as_text(ops, vocabulary, copy=copy)
        subject = without_added(subject, tokenizer, treated)
    if isinstance(subject, Vocabulary) and subject.text.pattern is None:
        say("without a pattern, the records test only how pieces merge")
    kind = "vocabulary" if of_bytes else "tokenizer"
    is_known = vocabulary == "tiny" or vocabulary in REGISTRY
    beside = None if is_known or not copy else out.with_name(f"{out.stem}.{kind}.json")
    if out.exists() and not out.is_file() and beside is not None:
        raise InputError(f"{out} must be a file, because the {kind} is written next to it")
    must_not_overwrite(
        {"--out": out, f"the {kind} next to --out": beside},
        {
            "the texts": [source.path for source, _ in sources],
            "--vocabulary": [None if is_known else vocabulary],
        },
    )
    present = _present(out, subject, vocabulary, replace=replace) if append else []
    has = None
    if beside is not None:
        has = beside if present and beside.is_file() else _copy_for(out, beside, subject)
    beside = None if has else beside
    _must_be_new(out, beside, may_exist=replace or bool(present))
    asked = _texts(sources)
    name = vocabulary if is_known else Path(vocabulary).name
    if treated != "ordinary_added":
        recognise = {*ops} == {"chunks"} or special  # chunks always does
        say_notes(noted(tokenizer, recognise, (text for _, text in asked)))
    if isinstance(subject, TokenizerFile) and treated:
        check_without(subject, tokenizer, treated, asked, template=template)
        without = "special" if treated == "ordinary" else "added"
        asked = [(f"{place}, with {without} tokens as text", text) for place, text in asked]
        name = str((beside or has or out).name)
    wanted = len(asked) * sum(len(FILLED[op]) for op in {*ops} or {"encode"})
    with progress_bar() as bar:
        show = shown_in(bar, bar.add_task(escape(visible(name)), total=wanted))
        data, count = goldens_for(
            *(subject, name, asked, out, present),
            template=template,
            ops=ops,
            encode=tokenizer.encode,
            special=bool(special),
            also=also,
            progress=show,
        )
    copied = _content(subject, name, out) if beside else b""
    _write(data, out, beside, copied)
    again, more = wanted - count, f" added to {len(present):,}" * bool(present)
    cases = f"{count:,} case{'s' * (count != 1)}{more}, {again:,} duplicate{'s' * (again != 1)}"
    click.echo(f"{visible(str(out))}: {cases} omitted")
    if beside or has:
        is_large = len(copied) >= 1_000_000 and (of_bytes or not treated)  # which needs its copy
        large = f", {len(copied) / 1e6:.0f} MB (--no-copy writes none)" * is_large
        click.echo(f"{visible(str(beside or has))}: the {kind}{large}")


def _must_be_new(*paths: Path | None, may_exist: bool) -> None:
    """Raise `InputError` for a file that cannot be written, or that exists and may not."""
    for path in filter(None, paths):
        if path.is_file() and not may_exist:
            how = "--replace to write it anew, or --append to add to its records"
            raise InputError(f"{path} exists already; use {how}")
        must_be_writable(path)


def _check_ops(
    ops: Sequence[str],
    vocabulary: str,
    also: Mapping[str, Any],
    how: "tuple[bool | None, Treated | None]",
    *,
    of_bytes: bool,
) -> None:
    """Raise `InputError` for an operation that is not one of records for texts."""
    from tokenref.goldens import FILLED

    if "skip_special_tokens" in also and not (
        ops and {*ops} <= {"detokenize", "detokenize_stream"}
    ):
        raise InputError("--skip-special-tokens needs --op detokenize or detokenize_stream alone")
    if ("chunks" in ops) != ("most" in also) or also.get("overlap", 0) >= also.get("most", 1):
        rule = "--op chunks needs --most, which must be larger than --overlap"
        raise InputError(f"{rule}; without it, give neither of these options")
    if "chunks" in ops and how != (None, None):
        raise InputError("--op chunks recognises special tokens: do not say how they are treated")
    able = [op for op in FILLED if op != "special" and (op in PIPELINE_OPS) != of_bytes]
    for op in {*ops}.difference(able):
        what = "a vocabulary of bytes" if of_bytes else "a tokenizer.json"
        rule = f"--op must be one of {', '.join(able)} for {what}, such as {vocabulary}"
        raise InputError(f"{rule}, got {op!r:.80}")
    if how[0] and not {"pieces", "count"}.isdisjoint(ops):
        raise InputError("--special must not be given with --op pieces or count, which ignore it")


def _texts(sources: Sequence[tuple[Source, str]]) -> list[tuple[str, str]]:
    """Return the texts, each behind its place. Raises `InputError` if there is none."""
    found = texts_of(sources)
    if not found:
        raise InputError(f"{sources[0][0]} must contain text, got an empty file")
    return found


def _check_as_text(ops: Sequence[str], vocabulary: str, *, copy: bool) -> None:
    """Raise `InputError` for options that do not fit records of a copy without added tokens."""
    options = "--as-text and --added-as-text"
    if not copy:
        rule = f"--no-copy must not be given with {options}, because the records are those of"
        raise InputError(f"{rule} a copy of {vocabulary} without these tokens")
    if not {*ops} <= {"tokenize"}:
        rule = f"--op must be tokenize with {options}, which decide how a text becomes tokens"
        raise InputError(f"{rule}, got {', '.join(ops)}")


def _copy_for(out: Path, beside: Path, subject: TokenizerSubject) -> Path | None:
    """Return the file that records in `out` have the subject in, if they or others have one.

    Raises `InputError` if other records need the present content of the file `beside` them.
    """
    from tokenref.goldens import beside_goldens, copy_for, other_user

    whole = isinstance(subject, TokenizerFile)
    found = copy_for(out, subject.digest(), whole=whole)
    if found is not None and (found == beside or beside_goldens(out) is None):
        return found
    if beside.is_file() and (other := other_user(beside, out)):
        raise InputError(f"{beside} must be kept, because {other} needs it: use another --out")
    return None


def _present(out: Path, subject: TokenizerSubject, name: str, *, replace: bool) -> list[Case]:
    """Return the records that others are added to, which must have the same subject."""
    from tokenref.goldens import check_subject

    if replace:
        raise click.UsageError("--replace and --append must not be given together")
    if not out.exists():
        return []
    if not out.is_file():
        raise InputError(f"{out} must be a file with golden records, because of --append")
    present = read_records(out)
    check_subject(out, present, subject, name, "all records in a file have the same one")
    return present


def _content(subject: TokenizerSubject, name: str, out: Path) -> bytes:
    """Return the file with the subject of the records in `out`."""
    if isinstance(subject, Vocabulary):
        why = f"The vocabulary of the records in {out.name}."
        return dump_plain_json(NamedVocabulary(name, why, subject))
    return subject.content


def _write(data: bytes, out: Path, beside: Path | None, content: bytes) -> None:
    """Write the records, and the content beside them if there is a file for it; both or none."""
    before = beside.read_bytes() if beside is not None and beside.is_file() else None
    if beside is not None:
        write(content, beside)
    try:
        write(data, out)
    except InputError:
        if beside is not None and before is not None:
            write(before, beside)
        elif beside is not None:
            beside.unlink(missing_ok=True)
        raise
