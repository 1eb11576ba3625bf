"""`tokenref show`, `engines`, `trace`, `rules`; `explain` shows the same as pictures in files."""

import difflib
import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from inspect import cleandoc
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import click
import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bpe_ref import SymbolError, Tokenizer
from bpe_ref.models.bpe import BPE
from bpe_ref.models.byte_bpe import ByteBPE
from bpe_ref.tracing import check_length, lost_pairs, render_details, trace
from sampling_ref import PROFILES
from tokenref.catalogue import open_catalogue
from tokenref.commands import sampling
from tokenref.commands.options import SAMPLER_OPERATION, Given, given_options
from tokenref.commands.paths import (
    FILE,
    must_be_writable,
    must_not_overwrite,
    output_console,
    write,
)
from tokenref.commands.text import PATTERN, argument_text, given_texts, loaded, say_notes
from tokenref.engines.table import Unavailable, engine, engine_names
from tokenref.errors import InputError
from tokenref.operations import ABOUT
from tokenref.packaged import fixtures_named
from tokenref.pages import meanings, page_addresses, page_text
from tokenref.questions.sampling import BatchInput
from tokenref.readable import readable_json, readable_verdict
from tokenref.record import OWN_DRAW_OPS, SAMPLER_OPS, Case, canonical_case, form_of, op_of
from tokenref.reports.terminal import print_labelled
from tokenref.rules import DECIDES, STANDARD, points, rule_names, slug
from tokenref.verdicts import MustRefuse, Survey
from tokenref.visible import short_json, visible


@click.command()
@click.argument("words", metavar="ID|PAGE|WORD", nargs=-1)
@click.option(
    "--json", "as_line", is_flag=True, help="Print the line of the record file unchanged."
)
@given_options()
def show(words: Sequence[str], given: Given, *, as_line: bool) -> None:
    """Show golden records, a page, or what a word means.

    ID is that of a record; with * and ? it may be that of many. PAGE is a page that records name,
    such as docs/bpe.md, or one section of it, such as docs/bpe.md#definition. WORD is in the
    glossary, such as rank or byte fallback; the word glossary shows all of them. With --records
    alone, all their ids are listed, each with its question.

    Floats are shown in decimal. Canaries, which have wrong answers, can be shown too.
    """
    if not (words or given.records):
        raise click.UsageError("Missing argument 'ID|PAGE|WORD'.")
    case_id = " ".join(words)
    if case_id.partition("#")[0].endswith(".md"):
        click.echo(page_text(case_id))
        return
    catalogue = given.catalogue()
    by_id = catalogue.records
    cases = [by_id[each] for each in fnmatch.filter(by_id, case_id)] if words else catalogue.cases
    if not cases and (found := meanings(case_id)):
        click.echo("\n".join(found))
    elif not cases:
        own = [case.id for case in catalogue.cases if given.records]
        raise InputError(
            _unknown(case_id, own or by_id) + "; --records alone lists all" * bool(own)
        )
    for number, case in enumerate(cases):
        if as_line:
            click.echo(canonical_case(case))
        elif not words:
            asked = readable_json(msgspec.to_builtins(case.input), _ASKED)
            click.echo(f"{case.id}\t{visible(asked)}")
        else:
            click.echo("\n" * (number > 0), nl=False)
            print_case(output_console(), case, catalogue.name(case.vocab))


def _unknown(name: str, ids: Iterable[str]) -> str:
    """Return the message for a name that is no record, no page and no word of the glossary."""
    says = f"no record has the id {name!r}"
    if "/" not in name:
        says += ", and the glossary has no such word (`tokenref show glossary` lists all)"
    step = re.sub("[ -]", "_", name.lower())
    if step in SAMPLER_OPS:
        return f"{says}; `tokenref rules {step} --definition` explains this operation"
    words = [each for row in meanings("glossary") for each in row.partition(": ")[0].split(", ")]
    nearest = [each for each in page_addresses() if each.endswith(f"/{name}.md")]
    nearest = nearest or difflib.get_close_matches(name, words, cutoff=0.7)
    nearest = nearest or difflib.get_close_matches(name, ids, cutoff=0.4)
    return says + (f"; did you mean {', '.join(nearest)}?" if nearest else "")


@click.command("trace")
@click.argument("text", nargs=-1)
@click.option(
    "--file", "paths", metavar="PATH", multiple=True, help="Read the text from this file."
)
@click.option("--vocabulary", default="tiny", show_default=True, help="A name or a path.")
@PATTERN
def trace_command(
    text: Sequence[str], paths: Sequence[str], vocabulary: str, pattern: str | None
) -> None:
    """Show how a text becomes tokens, merge by merge.

    The text is split into pieces first. After each merge the ids are shown, and the pairs that
    could have merged but have a higher rank, or the same rank further right. A place is the
    number of tokens before a pair; those behind "instead of" count in the row before the merge.
    Special tokens are recognised, as with `tokenref encode --special`. Without TEXT and --file, the
    text is read from standard input.
    """
    sources = given_texts(text, paths)
    if len(sources) > 1:
        raise InputError(f"--file must name one file, got {len(sources)}")
    content = sources[0].text()
    tokenizer = loaded(vocabulary, pattern=pattern)
    say_notes(tokenizer.notes)
    if isinstance(tokenizer.model, ByteBPE):
        for piece in tokenizer.pieces(content):
            if piece in tokenizer.added.ids:
                click.echo(f"piece {piece!r} is the special token {tokenizer.added.ids[piece]}")
                continue
            check_length(piece)
            _trace_bytes(tokenizer.model, piece)
        return
    for traced in tokenizer.trace(content):
        click.echo(f"piece {traced.piece!r}")
        for number, tokens in enumerate(traced.steps):
            shown = " ".join(map(tokenizer.show_token, tokens))
            click.echo(f"{number:4}  {shown}")
            click.echo(f"      ids {' '.join(map(str, tokens))}")
            for line in _merge_lines(tokenizer, traced.steps, number):
                click.echo(f"      {line}")


def _merge_lines(tokenizer: Tokenizer, steps: Sequence[Sequence[int]], number: int) -> list[str]:
    """Return the merge of a step and the pairs that lost, for a model with a list of merges."""
    model = tokenizer.model
    if not number or not isinstance(model, BPE):
        return []
    before, after = steps[number - 1], steps[number]
    place = next(
        at for at, pair in enumerate(zip(before, [*after, -1], strict=False)) if pair[0] != pair[1]
    )
    ranks = model.ranked.ranks
    pairs = sorted(
        (ranks[pair], at)
        for at, pair in enumerate(pairwise(before))
        if pair in ranks and at != place
    )
    names = list(map(tokenizer.show_token, before))
    left, right, result = *names[place : place + 2], tokenizer.show_token(after[place])
    rank = ranks[before[place], before[place + 1]]
    merged = f"merged {left} + {right} = {result} (rank {rank}, place {place})"
    return [merged, *lost_pairs(names, pairs)]


def _trace_bytes(model: ByteBPE, piece: str) -> None:
    """Print the merges of one piece of a vocabulary of bytes."""
    token = model.whole_token(piece.encode())
    if token is not None and token in model.vocabulary.symbol_of_letter.values():
        click.echo(f"piece {piece!r} is token {token}, a single byte")
        return
    if token is None:
        click.echo(f"piece {piece!r}")
    else:
        click.echo(
            f"piece {piece!r} is token {token}: whole pieces that are tokens are not merged; "
            "merging would proceed like this"
        )
    try:
        symbols = model.symbols(piece.encode())
    except SymbolError as error:
        if token is None:
            raise
        click.echo(f"not possible: {error}")
        return
    steps = trace(model.vocabulary, symbols)
    click.echo(render_details(model.vocabulary, symbols, steps))


@click.command()
def engines() -> None:
    """List the engines and the version of the fixtures."""
    click.echo(fixtures_named())
    for name in engine_names():
        entry = engine(name)
        state = f"unavailable: {entry.reason}" if isinstance(entry, Unavailable) else entry.version
        click.echo(f"{name:14} {state}")


_ASKED: Final = 80
"""Characters of a question in a list."""

_WIDEST: Final = 400


def print_case(console: Console, case: Case, vocabulary: str) -> None:
    """Print a record with its reason, question and answer. Floats are in decimal."""
    from sampling_ref import STEPS
    from tokenref.rules import rule_of

    content = msgspec.to_builtins(case)
    match content["out"]:
        case {"stages": {"pieces": pieces}} | {"pieces": pieces}:
            texts = [bytes.fromhex(piece).decode(errors="backslashreplace") for piece in pieces]
        case _:
            texts = []
    rule = f": {rule_of(op_of(case), case.profile)}" if op_of(case) in STEPS else ""
    console.print(Text(case.id, style="bold"))
    lines = [
        ("why", case.why),
        ("asks", op_of(case)),
        ("of", f"{vocabulary} ({case.vocab})" if case.vocab else vocabulary),
        ("in", readable_json(content["in"], _WIDEST)),
        ("out", _shown_answer(case, content["out"])),
        *([("pieces", short_json(texts, _WIDEST))] if texts else []),
        ("verdict", short_json(readable_verdict(content["verdict"], content["in"]), _WIDEST)),
        ("flags", ", ".join(case.flags) or "none"),
        ("rules", f"{case.profile}{rule}"),
        ("see", f"tokenref show {case.spec}"),
        ("learn", f"tokenref show {ABOUT[op_of(case)].lesson}"),
    ]
    print_labelled(console, lines, indent=2, width=8)


def _shown_answer(case: Case, out: Any) -> str:
    """Return the answer of a record, or in words why it has none."""
    if out is not None:
        return readable_json(out, _WIDEST)
    if op_of(case) in OWN_DRAW_OPS and not isinstance(case.verdict, MustRefuse):
        return f"any of the form {form_of(op_of(case))} that fits the verdict"
    if isinstance(case.verdict, MustRefuse):
        return "none: the question must be refused"
    return "none is expected" if isinstance(case.verdict, Survey) else "as the verdict says"


def _must_be_named(ctx: click.Context, _: click.Parameter, path: Path | None) -> Path:
    """Return the file of a page. Raises `UsageError`, with the command that prints the same."""
    if path is None:
        name = "trace" if ctx.info_name == "bpe" else ctx.info_name
        text = f"; tokenref {name} prints the same as text" * (name != "speculative")
        raise click.UsageError(f"pictures need a file: add --html page.html{text}")
    return path


_HTML: Final = click.option(
    "--html", "path", type=FILE, callback=_must_be_named, help="The file to write.  [required]"
)

_ENCODER: Final = click.Option(
    ["--encoder"],
    type=click.Choice(["naive", "heap", "prefix_table", "backtracking"]),
    default="naive",
    show_default=True,
    help="Whose steps are shown; naive is the definition.",
)


_DRAFTS: Final = (
    click.Argument(["target"]),
    click.Argument(["draft"]),
    click.Option(
        ["--uniforms"],
        type=(float, float, float),
        default=(0.6, 0.4, 0.3),
        show_default=True,
        help="The random numbers of the draft, of its acceptance, and of the draw at the end.",
    ),
    click.Option(
        ["--further"],
        type=(float, float),
        multiple=True,
        help="The random numbers of one more draft, and of its acceptance; may be repeated.",
    ),
    click.Option(
        ["--before"],
        default="The sum of all",
        show_default=True,
        help="The text that the small model continues.",
    ),
)


@click.group()
def explain() -> None:
    """Write pictures of merges, chains or drafts to a file."""


def _like(shown: click.Command, *left_out: str) -> Sequence[click.Parameter]:
    """Return the parameters of the command that prints the same."""
    return [each for each in shown.params if each.name not in left_out]


def _explain_bpe(text: str, vocabulary: str, pattern: str | None, encoder: str, path: Path) -> None:
    """Show how a text becomes tokens, merge by merge, with the pairs that lost.

    With `--encoder`, the steps of a quick encoder are shown instead of those of the definition:
    entries of the heap with stale ones, cells of the prefix table, guesses and steps back.
    """
    from tokenref.commands.pictures import page
    from tokenref.commands.pictures.merges import merges

    _begin(path, {"--vocabulary": vocabulary})
    content = argument_text(text)
    tokenizer = loaded(vocabulary, pattern=pattern)
    say_notes(tokenizer.notes)
    sections = list(merges(tokenizer, content, encoder))
    _write(page(f"Merges of the vocabulary {Path(vocabulary).name}", sections), path)


def _explain_sample(profile: str, path: Path, **typed: Any) -> None:
    """Show what each stage of an engine's chain keeps and removes, and the draw."""
    _draw([profile], path, sampling.Asked(**typed))


def _explain_compare(one: str, other: str, path: Path, **typed: Any) -> None:
    """Show two engines side by side, with the first stage at which they differ."""
    _draw([one, other], path, sampling.Asked(**typed))


def _explain_speculative(
    target: str,
    draft: str,
    uniforms: tuple[float, float, float],
    further: Sequence[tuple[float, float]],
    before: str,
    path: Path,
) -> None:
    """Show how a token is drafted, accepted or replaced, and why the target's law is kept.

    TARGET and DRAFT are the probabilities of the two models, or other weights, as LOGITS of
    `tokenref sample`. `model` means a small model that sees three tokens, for DRAFT one that sees
    the last token only.

    With `--further`, several tokens are drafted in a row. The pictures show those that are
    accepted, and the token that replaces the first rejected one or follows them all.
    """
    from tokenref.commands.pictures import page
    from tokenref.commands.pictures.drafts import drafts_pictures
    from tokenref.small_model import DRAFT_ORDER, ORDER, probabilities, tokenizer

    _begin(path, {"TARGET": target, "DRAFT": draft})
    tokens = tokenizer().encode(before, special="ordinary")
    typed = {
        each: None if text == "model" else sampling.read_row(text, each)
        for each, text in (("TARGET", target), ("DRAFT", draft))
    }

    def after(name: str, order: int, drafted: Sequence[int]) -> Sequence[float]:
        return typed[name] or probabilities(order, [*tokens, *drafted])

    rows = partial(after, "TARGET", ORDER), partial(after, "DRAFT", DRAFT_ORDER)
    named = tokenizer().show_token if None in typed.values() else str
    count = f"{len(further) + 1} tokens" if further else "one token"
    pictures = drafts_pictures(*rows, uniforms, further, named)
    _write(page(f"Speculative decoding of {count}", pictures), path)


def _begin(path: Path, inputs: Mapping[str, str]) -> None:
    """Raise `InputError` if a page cannot be written, or would replace what it is made from."""
    must_not_overwrite({"--html": path}, {name: [given] for name, given in inputs.items()})
    must_be_writable(path)


def _write(content: bytes, path: Path) -> None:
    """Write a page, and print its name."""
    write(content, path)
    click.echo(f"wrote {visible(str(path))}")


def _draw(names: Sequence[str], path: Path, asked: sampling.Asked) -> None:
    """Write what one engine does with a row, or two side by side."""
    from tokenref.commands.pictures import page
    from tokenref.commands.pictures.chains import question, row_pictures

    _begin(path, {"LOGITS": asked.logits})
    engines = sampling.compared_engines(names, asked)
    shown = " and ".join(made.profile.name for made, _, _ in engines)
    title = f"What {shown} does with a row" if len(engines) == 1 else f"Where {shown} differ"
    notes = sampling.notes_about(names, asked.settings) if len(names) > 1 else []
    _write(page(title, [question(asked, notes), *row_pictures(engines, asked.uniforms)]), path)


for name, callback, params in (
    (
        "bpe",
        _explain_bpe,
        [click.Argument(["text"]), *_like(trace_command, "text", "paths"), _ENCODER],
    ),
    ("sample", _explain_sample, _like(sampling.sample, "seed", "as_json")),
    ("compare", _explain_compare, _like(sampling.compare, "seed", "every", "as_json")),
    ("speculative", _explain_speculative, _DRAFTS),
):
    command = click.command(name, cls=sampling.RowCommand)(_HTML(callback))
    command.params[:0] = params
    explain.add_command(command)


@click.command()
@click.argument("op", required=False, type=SAMPLER_OPERATION, metavar="[OP]")
@click.option("--all", "every", is_flag=True, help="List every rule of OP, one per line.")
@click.option("--definition", is_flag=True, help="Print the full definition of OP and its source.")
def rules(op: str | None, *, every: bool, definition: bool) -> None:
    """List the rules of sampling operations.

    Each point of OP, or of all operations, is listed with its choices.

    A rule is named after its non-standard choices, joined with plus signs. --definition
    explains the operation and each choice; `tokenref show docs/sampling.md` does so in fewer words.
    Engine names are profiles too; `tokenref profiles` lists them. `chain`, `distribution`, `sample`
    and `sequence` run the whole chain of an engine, so they have names of engines instead of rules.
    """
    console = output_console()
    if every and op is None:
        raise click.UsageError("--all needs an operation")
    if definition:
        click.echo(_definition(op))
        return
    if op in OF_ENGINES:
        _print_engines(op, only_names=every)
        return
    if op == "batch":
        _print_batches(only_names=every)
        return
    if op == "steps" and not every:
        click.echo("Each step has its choices among its parameters, so there is one profile.\n")
    if op is not None and (every or not points(op)):
        click.echo("\n".join(rule_names(op)))
        return
    _print_points(console, SAMPLER_OPS if op is None else [op])
    if op is None:
        console.print(f"\nand each of {', '.join(PROFILES)}", soft_wrap=True, highlight=False)
    else:
        decided = Table("point", "what it decides", box=None, pad_edge=False)
        for point in points(op):
            decided.add_row(point.replace("_", "-"), DECIDES[point])
        console.print("", decided, highlight=False)
        says = f"\n`tokenref rules {op} --definition` explains each choice; --all lists all "
        says += (
            f"{len(rule_names(op))} rules, of which {STANDARD} has the first choice at every point"
        )
        console.print(says, soft_wrap=True, highlight=False)


OF_ENGINES: Final = ("chain", "distribution", "sample", "sequence")
"""The operations that run the whole chain of an engine."""


def _print_engines(op: str, *, only_names: bool) -> None:
    """Print the engines, which are the profiles of an operation on a whole chain."""
    if not only_names:
        click.echo(
            f"{op} runs the whole chain of an engine, so its records have the name of an engine "
            "instead of a rule.\n`tokenref profiles ENGINE` shows the steps of an engine, "
            "`tokenref rules STEP` the rules of a step.\n"
        )
    click.echo("\n".join(PROFILES))


def _print_batches(*, only_names: bool) -> None:
    """Print the profiles that records of batches have, with the operations of each rule."""
    found: dict[str, set[str]] = {}
    for case in open_catalogue().cases:
        if isinstance(case.input, BatchInput):
            found.setdefault(case.profile, set()).add(case.input.op)
    if not only_names:
        click.echo(
            "A batch has the rules and engines of the operation that it is about: see\n"
            "`tokenref rules OP`. There are records of batches with these profiles, about:\n"
        )
    for name in sorted(found, key=lambda name: (name in PROFILES, name != STANDARD, name)):
        click.echo(name if only_names else f"{name:16} {', '.join(sorted(found[name]))}")


def definition_of(op: str) -> str | None:
    """Return the docstrings of the modules that define an operation, or None if there are none.

    >>> print(definition_of("top_k").splitlines()[0])
    Top-k filtering.
    >>> definition_of("batch") is None
    True
    """
    modules = [import_module(f"sampling_ref.{name}") for name in ABOUT[op].modules]
    return "\n\n".join(cleandoc(module.__doc__ or "").strip() for module in modules) or None


def _definition(op: str | None) -> str:
    """Return what an operation does, or raise a sentence if nothing is said of it."""
    if op is None:
        raise click.UsageError("--definition needs an operation")
    words = definition_of(op)
    if words is None:
        reason = "has no definition of its own: see `tokenref show fixtures/README.md`"
        if op in OF_ENGINES:
            reason = "runs the whole chain of an engine: see `tokenref profiles ENGINE`"
        raise click.UsageError(f"{op} {reason}")
    return words


def _print_points(console: Console, ops: Iterable[str]) -> None:
    """Print the points of operations, and how each choice is written."""
    table = Table(box=None, pad_edge=False)
    for title in ("operation", "point", "choices, the standard one first"):
        table.add_column(title, no_wrap=not title.startswith("choices"))
    for each in ops:
        first = each
        for point, (standard, *others) in points(each).items():
            part = point.replace("_", "-")
            names = [slug(standard), *(f"{part}.{slug(choice)}" for choice in others)]
            table.add_row(Text(first), Text(part), Text(", ".join(names)))
            first = ""
    console.print(table, highlight=False)
