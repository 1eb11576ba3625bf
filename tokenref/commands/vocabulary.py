"""`tokenref vocabulary` and `tokenref train`: download, examine and train vocabularies."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import click
from rich.console import Console
from rich.text import Text

from bpe_ref import Tokenizer, VocabularyError, load, train, vocabulary_of
from bpe_ref.formats.tiktoken import write_tiktoken
from bpe_ref.learning.training import TrainingProgress
from bpe_ref.registry import REGISTRY
from bpe_ref.vocabulary.merges import ByConcatenation
from tokenref.commands.paths import (
    FILE,
    FOLDER,
    InputError,
    must_be_writable,
    output_console,
    progress_bar,
)
from tokenref.corpus_files import read_text


@click.group()
def vocabulary() -> None:
    """Download and examine vocabularies."""


@vocabulary.command()
@click.argument("name")
@click.option(
    "--folder",
    type=FOLDER,
    help="Target folder; by default the folder where tokenref looks for vocabularies.",
)
@click.option("--url", help="Download from this address instead of the publisher's.")
def fetch(name: str, folder: Path | None, url: str | None) -> None:
    """Download a vocabulary and check its digest."""
    from tokenref.fetching import FetchError, fetch_vocabulary

    try:
        click.echo(fetch_vocabulary(name, folder, url=url))
    except FetchError as error:
        raise InputError(str(error)) from None


@vocabulary.command("audit")
@click.argument("name_or_path")
def audit_command(name_or_path: str) -> None:
    """Report what is unusual about a vocabulary.

    Lists dead and improper tokens, holes in the ids, and missing bytes.
    """
    print_audit(output_console(), load(name_or_path))


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

    It is written in the tiktoken format.
    """
    must_be_writable(out)
    rules = REGISTRY[pattern_of].text_rules()
    contents = (read_text(path)[0] for path in texts)
    with progress_bar() as shown:
        task = shown.add_task("counting pieces", total=size)

        def progress(now: TrainingProgress) -> None:
            shown.update(task, description=f"{now.texts:,} texts", completed=now.tokens)

        learned = train(contents, size, text_rules=rules, progress=progress)
    ranks = {content: token for token, content in learned.tokens.items()}
    try:
        write_tiktoken(ranks, out)
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror or error}") from None
    fewer = f", fewer than {size:,} because no pair is left to merge" if len(ranks) < size else ""
    click.echo(f"{out}: {len(ranks):,} tokens{fewer}")


_SHOWN: Final = 5


def print_audit(console: Console, tokenizer: Tokenizer) -> None:
    """Print one line per finding, with the first few tokens it concerns."""
    found = tokenizer.audit()
    holes = sum(map(len, found.holes))
    ids = len(tokenizer.model.strings)
    try:
        vocabulary = vocabulary_of(tokenizer)
    except VocabularyError:  # it does not merge bytes
        kind = type(tokenizer.model).__name__
        rule = [("model", kind)]
        contents: Mapping[int, str | bytes] = tokenizer.model.strings
        specials = len(tokenizer.added.tokens)
    else:
        by_concatenation = isinstance(vocabulary.rule, ByConcatenation)
        rule = [
            ("digest", vocabulary.digest()),
            ("merge rule", "by concatenation" if by_concatenation else "by pair"),
        ]
        contents, ids = vocabulary.tokens, len(vocabulary.tokens)
        specials = len(vocabulary.special_tokens)
    for label, value in (
        *rule,
        ("tokens", f"{ids:,}, {len(found.splits):,} of them made by merging"),
        ("special tokens", f"{specials:,}"),
        ("dead tokens", _tokens(contents, found.dead_tokens)),
        ("improper tokens", _tokens(contents, found.improper_tokens)),
        ("holes", f"{holes:,}" + (f", the first at {found.holes[0].start}" if holes else "")),
        *([] if found.missing_bytes is None else [("missing bytes", _bytes(found.missing_bytes))]),
        ("ids follow ranks", "yes" if found.ids_follow_ranks else "no"),
        ("fast seam test", "valid for all tokens" if found.is_orderly else "valid for some tokens"),
    ):
        # Not a table, which would wrap long lines: a digest must stay in one piece to be copied.
        console.print(Text(f"{label:18}", style="dim"), Text(value), sep="", soft_wrap=True)


def _tokens(contents: Mapping[int, str | bytes], ids: Sequence[int]) -> str:
    """Show how many tokens these are, and the first few of them."""
    return _few([f"{token} {contents[token]!r}" for token in ids[:_SHOWN]], len(ids), ", ")


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
