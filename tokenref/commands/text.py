"""`tokenref encode`, `decode`, `count` and `chunks`."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Final, Literal

import click

from bpe_ref import ParameterError, Tokenizer, load
from bpe_ref.models.byte_bpe import ByteBPE
from bpe_ref.models.sentencepiece import SentencePieceModel
from tokenref.commands.endings import standard_input
from tokenref.commands.paths import FILE, InputError, options_as
from tokenref.corpus_files import LARGEST

VOCABULARY: Final = click.option(
    "--vocabulary",
    default="tiny",
    show_default=True,
    help="A name, a file in any known format, or a folder that contains one.",
)
JSON: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
SPECIAL: Final = click.option(
    "--special/--as-text",
    "special",
    default=None,
    help="Whether to recognize special tokens in the text. "
    "By default they are recognized for a tokenizer.json and treated as text otherwise.",
)


def given_text(text: str | None, path: Path | None) -> str:
    """Return the text. Raises `InputError` if it is given twice or is not UTF-8."""
    if text is not None and path is not None:
        raise InputError("give the text either as an argument or with --file, not both")
    if text is not None:
        return argument_text(text)
    source = "standard input" if path is None else str(path)
    data = _read(standard_input()) if path is None else _read_file(path)
    if len(data) > LARGEST:
        raise InputError(f"{source} must have at most {LARGEST} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{source} must be UTF-8, but byte {error.start} is not") from None


def argument_text(text: str) -> str:
    """Return a text given as an argument. Raises `InputError` if it is not valid UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:  # bytes that are no characters come as lone surrogates
        raise InputError(
            f"the text must be UTF-8, but its character {error.start} is not"
        ) from None
    return text


def _read_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return _read(file)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None


def _read(stream: BinaryIO) -> bytes:
    """Return the content of a stream, but at most one byte more than is allowed."""
    return stream.read(LARGEST + 1)


text_arguments: Final = options_as(
    "content",
    given_text,
    text=click.argument("text", required=False),
    path=click.option("--file", "path", type=FILE, help="Read the text from this file."),
)
"""Lets a command read its text from an argument, a file, or standard input."""


@click.command()
@text_arguments
@VOCABULARY
@SPECIAL
@click.option(
    "--template/--no-template", default=True, help="Add the special tokens of the template."
)
@JSON
def encode(
    content: str, vocabulary: str, *, special: bool | None, template: bool, as_json: bool
) -> None:
    """Print the tokens of TEXT.

    Each line has an id and the token's text or bytes.
    """
    tokenizer = load(vocabulary)
    ids = tokenizer.encode(
        content,
        add_special_tokens=template,
        special=_recognised(tokenizer, vocabulary, special=special),
    )
    of_bytes = isinstance(tokenizer.model, ByteBPE)
    if as_json:
        spelled = {"bytes": [tokenizer.decode_bytes([token]).hex() for token in ids]}
        strings = {"tokens": [tokenizer.id_to_token(token) for token in ids]}
        click.echo(json.dumps({"ids": ids, **(spelled if of_bytes else strings)}))
        return
    for token in ids:
        shown = repr(tokenizer.decode_bytes([token])) if of_bytes else tokenizer.id_to_token(token)
        click.echo(f"{token}\t{shown}")


def _recognised(
    tokenizer: Tokenizer, name: str, *, special: bool | None
) -> Literal["recognise", "ordinary"]:
    """Return how to treat special tokens; by default as text in a vocabulary of bytes."""
    if special and isinstance(tokenizer.model, SentencePieceModel):
        raise InputError(f"{name} is a SentencePiece model, which takes no --special")
    if special is None:
        special = not isinstance(tokenizer.model, ByteBPE)
    return "recognise" if special else "ordinary"


@click.command()
@click.argument("ids", nargs=-1)
@VOCABULARY
@click.option("--skip-special", is_flag=True, help="Omit special tokens.")
@click.option("--strict", is_flag=True, help="Fail if the bytes are not valid UTF-8.")
@JSON
def decode(
    ids: Sequence[str], vocabulary: str, *, skip_special: bool, strict: bool, as_json: bool
) -> None:
    """Print the text of token IDS.

    They may also be read from standard input, as JSON or as numbers.
    """
    tokenizer = load(vocabulary)
    tokens = parsed_ids(" ".join(ids) if ids else given_text(None, None))
    text = tokenizer.decode(
        tokens,
        skip_special_tokens=skip_special,
        errors="strict" if strict else "replace",
        unknown_ids="refuse"
        if isinstance(tokenizer.model, ByteBPE | SentencePieceModel)
        else "skip",
    )
    if as_json:
        click.echo(json.dumps({"text": text}))
        return
    click.echo(text, nl=sys.stdout is not None and sys.stdout.isatty())


def parsed_ids(written: str) -> list[int]:
    """Return ids written as JSON or separated by spaces or commas. Raises `InputError`.

    >>> parsed_ids("[1, 2]"), parsed_ids('{"ids": [3]}'), parsed_ids("4 5"), parsed_ids("")
    ([1, 2], [3], [4, 5], [])
    """
    if written.lstrip().startswith(("[", "{")):
        try:
            given = json.loads(written)
        except (ValueError, RecursionError) as error:
            raise InputError(f"ids must be valid JSON, got {written[:40]!r}: {error}") from None
        rows = given.get("ids") if isinstance(given, dict) else given
        if not isinstance(rows, list) or not all(type(row) is int for row in rows):
            raise InputError(f"ids must be a list of whole numbers, got {written[:40]!r}")
        return rows
    words = written.replace(",", " ").split()
    try:
        return [int(word) for word in words]
    except ValueError:
        odd = next(word for word in words if not word.lstrip("-").isdecimal())
        raise InputError(f"ids must be whole numbers, got {odd[:40]!r}") from None


@click.command()
@text_arguments
@VOCABULARY
@SPECIAL
@click.option(
    "--limit", type=click.IntRange(min=0), help="Stop as soon as the count must exceed this."
)
@JSON
def count(
    content: str, vocabulary: str, *, special: bool | None, limit: int | None, as_json: bool
) -> None:
    """Print how many tokens TEXT has.

    Special tokens of a template are not counted.
    """
    tokenizer = load(vocabulary)
    how = _recognised(tokenizer, vocabulary, special=special)
    if limit is None:
        bare = tokenizer.replace(truncation=None, padding=None)
        found: int | None = bare.count(content, add_special_tokens=False, special=how)
    else:
        found = tokenizer.count_till_limit(content, limit, add_special_tokens=False, special=how)
    if as_json:
        click.echo(json.dumps({"count": found}))
        return
    click.echo(f"more than {limit}" if found is None else found)


@click.command()
@text_arguments
@VOCABULARY
@SPECIAL
@click.option(
    "--most", type=click.IntRange(min=1), required=True, help="Maximum number of tokens per chunk."
)
@click.option(
    "--overlap", type=int, default=0, help="Number of tokens that consecutive chunks share."
)
@JSON
def chunks(
    content: str, vocabulary: str, *, special: bool | None, most: int, overlap: int, as_json: bool
) -> None:
    """Cut TEXT into chunks of at most --most tokens.

    Prints one line per chunk: start and end (in characters), number of tokens, text.
    """
    tokenizer = load(vocabulary)
    how = _recognised(tokenizer, vocabulary, special=special)
    try:
        found = tokenizer.chunks(content, most, overlap, add_special_tokens=False, special=how)
    except ParameterError as error:  # it names the function's parameter, not the option
        raise InputError(f"--{error.name}{str(error).removeprefix(error.name)}") from None
    if as_json:
        rows = [
            {"start": start, "stop": stop, "tokens": tokens, "text": content[start:stop]}
            for start, stop, tokens in found
        ]
        click.echo(json.dumps({"chunks": rows}))
        return
    for start, stop, tokens in found:
        click.echo(f"{start}\t{stop}\t{tokens}\t{content[start:stop]!r}")
