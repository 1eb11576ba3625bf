"""`tokenref encode`, `decode`, `count` and `chunks`.

The argument is a text. Files are named with `--file`, as often as needed. One text is answered in
full. Several files, a folder or a pattern give one line for each file, and a total.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from bpe_ref import BpeError, ParameterError, TokenIdError, Tokenizer
from bpe_ref.added_tokens import spelled_in
from bpe_ref.loading import LIKE_TRANSFORMERS
from bpe_ref.models.byte_bpe import ByteBPE
from tokenref.commands.endings import standard_input
from tokenref.commands.paths import Decorator, options_as, progress_bar, say, shown_in
from tokenref.errors import InputError
from tokenref.files import LARGEST, files_named, load_tokenizer, read_bytes, text_of
from tokenref.visible import visible

if TYPE_CHECKING:
    from tokenref.goldens import Treated

_Asked = TypeVar("_Asked")
_Answer = TypeVar("_Answer")

VOCABULARY: Final = click.option(
    "--vocabulary",
    help="A name, a file in any known format, or a folder that contains one.  [default: tiny]",
)
LIKE: Final = click.option(
    "--like",
    type=click.Choice(LIKE_TRANSFORMERS),
    help="Read the other settings of a folder, too, as this version of transformers does.",
)
PATTERN: Final = click.option(
    "--pattern",
    metavar="NAME|REGEX",
    help="For a file that holds no pattern, such as one in the tiktoken format: use the pattern of "
    "this vocabulary, such as cl100k_base, that of llama3, or a regular expression.",
)
USUAL: Final = "tiny"
"""The vocabulary of a command that is given none."""

_NONE_GIVEN: Final = (
    f"no --vocabulary was given, so {USUAL} was used, a small vocabulary for examples"
)

JSON: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
SMALL: Final = 1 << 20
"""Bytes of the largest text that is counted at once, without a progress bar."""


_DASH: Final = Path("-")
"""Standard input, as in other commands."""

_WIDEST: Final = 30
"""Characters of a name in front of a progress bar."""


@dataclass(frozen=True)
class Source:
    """A text that a command was given: an argument, a file, or standard input."""

    argument: str | None = None
    path: Path | None = None

    @property
    def name(self) -> str:
        """The name for messages and tables, in one line."""
        unnamed = "standard input" if self.argument is None else "an argument"
        return unnamed if self.path is None else visible(str(self.path))

    def __str__(self) -> str:
        """Return the name."""
        return self.name

    def text(self) -> str:
        """Read the text. Raises `InputError` if it cannot be read or is not UTF-8."""
        if self.argument is not None:
            return argument_text(self.argument)
        if self.path is None:
            return text_of(standard_input().read(LARGEST + 1), self.name)
        return text_of(read_bytes(self.path), self.name)


def given_texts(text: Sequence[str], path: Sequence[str]) -> Sequence[Source]:
    """Return the text, or the files. Raises `InputError` unless it is clear which are meant.

    >>> given_texts(["to be"], [])
    [Source(argument='to be', path=None)]
    """
    files = [each for each in text if os.path.isfile(each)]  # noqa: PTH113 - False for any text
    if files:
        options = " ".join(
            f"--file {quote(each)}" for each in [*files[:2], *["..."] * (len(files) > 2)]
        )
        raise InputError(
            f"TEXT must be a text, but {files[0][:80]!r} is a file: use {options[:200]}, "
            "or send a text with this name to standard input"
        )
    if len(text) > 1:
        raise InputError(f"TEXT must be one argument in quotes, got {len(text)} arguments")
    if text and path:
        raise InputError("give the text either as an argument or with --file, not both")
    if text:
        return [Source(argument=text[0])]
    return sources_of(path, "--file") if path else [Source()]


def sources_of(path: Sequence[str], option: str) -> Sequence[Source]:
    """Return the files that an option names, which may be standard input, folders or patterns."""
    if path.count(str(_DASH)) > 1:
        raise InputError(f"{option} - must be given at most once: standard input is read only once")
    named = ([None] if one == str(_DASH) else files_named(one, option) for one in path)
    return [Source(path=each) for files in named for each in files]


def named_sources(
    lines: Sequence[str], path: Sequence[str], text: Sequence[str] | None = None
) -> Sequence[tuple[Source, str]]:
    """Return what texts are read from, and what a text is there: the whole, or a line.

    Without any, it is standard input, unless `text` is None.
    """
    if "-" in lines and "-" in path:
        raise InputError("only one of --texts and --file may be -: standard input is read once")
    whole = sources_of(path, "--file")
    if text or not (text is None or lines or path):
        whole = given_texts(text, path)
    by_line = sources_of(lines, "--texts")
    return [*((each, "whole") for each in whole), *((each, "line") for each in by_line)]


def texts_of(sources: Iterable[tuple[Source, str]]) -> list[tuple[str, str]]:
    """Return the texts of what `named_sources` returns, each behind its place."""
    from tokenref.goldens import texts_in  # here, so that other commands start quickly

    return [each for source, how in sources for each in texts_in(source.text(), source.name, how)]


def argument_text(text: str) -> str:
    """Return a text given as an argument. Raises `InputError` if it is not valid UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:  # bytes that are no characters come as lone surrogates
        with suppress(UnicodeError):
            return os.fsencode(text).decode()  # in the locale C, these are all bytes above 127
        raise InputError(
            f"the text must be UTF-8, but its character {error.start} is not"
        ) from None
    return text


def write_exactly(data: bytes) -> None:
    """Write bytes to standard output as they are, after what was printed before.

    `click.echo` would remove escape sequences, and a terminal that only knows ASCII would get
    question marks.
    """
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.flush()


def write_lines(*lines: str) -> None:
    """Print lines at once. Text from users must have been made visible."""
    write_exactly("".join(f"{line}\n" for line in lines).encode())


def loaded(
    vocabulary: str | None, like: str | None = None, pattern: str | None = None
) -> Tokenizer:
    """Return the tokenizer, by default the usual one."""
    with naming_options("pattern"):
        return load_tokenizer(USUAL if vocabulary is None else vocabulary, like, pattern)


@contextmanager
def naming_options(*options: str) -> Iterator[None]:
    """Within this context, an error about an argument of these names is one about the option."""
    try:
        yield
    except ParameterError as error:
        if error.name not in options:
            raise
        raise InputError(f"--{error}") from None


def each_answer(
    asked: Sequence[_Asked], answer: Callable[[_Asked], _Answer], errors: dict[_Asked, str]
) -> Iterator[tuple[_Asked, _Answer]]:
    """Yield each of several files or vocabularies, and what `answer` returns for it.

    An error about one of them is printed and kept in `errors`, and the others follow. If there is
    only one, it is raised.
    """
    for one in asked:
        try:
            found = answer(one)
        except (BpeError, InputError) as error:
            if len(asked) == 1:
                raise
            said, name = str(error), str(one[0] if isinstance(one, tuple) else one)
            errors[one] = said if name in said else f"{name}: {said}"
            say(errors[one])
        else:
            yield one, found


def end_with(errors: Mapping[Any, str]) -> None:
    """End the command with exit code 2 if there were errors."""
    if errors:
        click.get_current_context().exit(2)


def say_notes(notes: Iterable[str]) -> None:
    """Say on standard error what a file of a tokenizer lacks."""
    for note in notes:
        say(note)


def say_usual(vocabulary: str | None) -> None:
    """Say on standard error which vocabulary was used if none was named."""
    if vocabulary is None:
        say(_NONE_GIVEN)


_SPELLED: Final = "special tokens in the text, such as {}, were treated as text; "
"""Said if a text spells special tokens that are not recognised, before how they are."""


def special_of(
    *, special: bool, as_text: bool, added_as_text: bool
) -> "tuple[bool | None, Treated | None]":
    """Return whether special tokens are recognised, and which tokens are text.

    Both are None if none of the options `SPECIAL` says it. Raises `InputError` if two are given.
    """
    options = {"--added-as-text": added_as_text, "--special": special, "--as-text": as_text}
    given = [option for option, is_given in options.items() if is_given]
    if len(given) > 1:
        raise InputError(f"{given[0]} and {given[1]} must not be given together")
    if added_as_text:
        return None, "ordinary_added"
    return (special, "ordinary" if as_text else None) if given else (None, None)


def noted(tokenizer: Tokenizer, special: bool | None, texts: Iterable[str]) -> list[str]:
    """Return a sentence if a text spells a token whose treatment may surprise, or none."""
    if special:
        return []
    names, added = tokenizer.unspellable, tokenizer.added
    sentence = f"{_SPELLED}a SentencePiece model never recognises its control pieces"
    if special is False:
        names = frozenset(added.ids.keys() - added.special)
        sentence = "added tokens in the text, such as {}, were recognised, because the file "
        sentence += "does not call them special; --added-as-text treats them as text"
    elif isinstance(tokenizer.model, ByteBPE):
        names = frozenset(added.special)
        sentence = f"{_SPELLED}--special recognises them, as Python's encode does by default"
    elif not names:
        names = frozenset(added.special)
        sentence = "special tokens in the text, such as {}, were recognised; --as-text treats "
        sentence += "them as text"
    found = next((each for text in texts for each in spelled_in(text, names)), None)
    return [sentence.format(found)] if found else []


@dataclass(frozen=True)
class Asked:
    """Texts, and how they are encoded, as `encode`, `count` and `chunks` are told."""

    sources: Sequence[Source]
    vocabulary: str | None
    like: str | None
    pattern: str | None
    special: bool | None
    treated: "Treated | None"
    refuse: bool
    template: bool
    as_json: bool
    several: bool
    """Whether there are several texts, or might have been: a folder or a pattern was named."""

    errors: dict[Source, str] = field(default_factory=dict)
    """What is wrong with some of several files."""

    noted: list[str] = field(default_factory=list)
    """A sentence about a special or added token that is treated in a way to be noted."""

    spelled: dict[Source, list[str]] = field(default_factory=dict)
    """The special and added tokens that each text spells, if these are refused."""

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer."""
        return loaded(self.vocabulary, self.like, self.pattern)

    @property
    def how(self) -> dict[str, Any]:
        """How special tokens are treated; by default as text in a vocabulary of bytes."""
        model, special = self.tokenizer.model, self.special
        unspellable = self.tokenizer.unspellable
        if special and unspellable:
            why = f"a text never becomes one of its control pieces, such as {min(unspellable)}"
            raise InputError(
                f"{self.vocabulary} is a SentencePiece model, which takes no --special: {why}"
            )
        if special is None:
            special = not isinstance(model, ByteBPE)
        usual = "recognise" if special else "ordinary"
        return {"add_special_tokens": self.template, "special": self.treated or usual}

    def text(self, source: Source) -> str:
        """Read a text, and note the tokens to refuse, or the first one that may surprise."""
        text = source.text()
        if self.refuse:
            self.spelled[source] = self.tokenizer.spelled(text)
        elif not (self.treated == "ordinary_added" or self.noted):
            self.noted.extend(noted(self.tokenizer, self.special, [text]))
        return text

    def end(self, rows: Sequence[dict[str, Any]], totals: dict[str, Any]) -> None:
        """Print the totals of several files; as JSON everything, which is in `rows`.

        If no vocabulary was named, say on standard error which one was used. The exit code is 2
        if a file could not be read or encoded, and otherwise 1 if a text spells refused tokens.
        """
        if self.refuse:
            read = [each for each in self.sources if each not in self.errors]
            rows = [
                row | {"spelled": self.spelled[each]} for row, each in zip(rows, read, strict=False)
            ]
        if self.as_json and not self.several:
            write_lines(json.dumps(rows[0]))
        elif self.as_json:
            right = iter(rows)
            entries = [
                {"file": str(source.path or _DASH)}
                | ({"error": self.errors[source]} if source in self.errors else next(right))
                for source in self.sources
            ]
            write_lines(json.dumps({"files": entries, **totals}))
        elif self.several:
            write_lines("\t".join(["total", *map(str, totals.values())]))
        say_usual(self.vocabulary)
        say_notes(self.tokenizer.notes)
        for sentence in self.noted[:1]:
            say(sentence)
        found = {source: names for source, names in self.spelled.items() if names}
        for source, names in found.items():
            more = f" and {len(names) - _NAMED} more" * (len(names) > _NAMED)
            say(f"{source.name} spells {visible(', '.join(names[:_NAMED]))}{more}")
        if found and self.several:
            say(f"{len(found)} of {len(self.sources)} texts spell added tokens")
        end_with(self.errors)
        click.get_current_context().exit(int(bool(found)))


_NAMED: Final = 8
"""Tokens of a text that are named on standard error."""


def _asked(
    text: Sequence[str],
    path: Sequence[str],
    *,
    special: bool,
    as_text: bool,
    added_as_text: bool,
    **how: Any,
) -> Asked:
    options = {"special": special, "as_text": as_text, "added_as_text": added_as_text}
    how["special"], how["treated"] = special_of(**options)
    sources = given_texts(text, path)
    several = len(sources) > 1 or not {each.path for each in sources} <= {None, *map(Path, path)}
    return Asked(sources, several=several, **how)


TEXT: Final = click.argument("text", nargs=-1)
FILE_OF_TEXT: Final = click.option(
    "--file",
    "path",
    metavar="PATH",
    multiple=True,
    help="Read a text from this file, or from standard input (-); repeatable. A folder is all "
    "files in it but hidden ones, and a pattern such as '*.md', in quotes, all files that match.",
)

LINES_OF_TEXT: Final = click.option(
    "--texts",
    "lines",
    metavar="PATH",
    multiple=True,
    help="Read texts from this file, one per line; otherwise as --file. A line ends with a line "
    "feed, or with a carriage return and a line feed; neither is part of the text. If the file's "
    'name ends in .jsonl, each line is JSON: a string, or an object whose "text" is a string.',
)

SPECIAL: Final[Mapping[str, Decorator]] = {
    "special": click.option(
        "--special",
        is_flag=True,
        help="Recognise special tokens in the text. By default they are treated as text if the "
        "file is a list of tokens of bytes, such as tiktoken's, and recognised otherwise. "
        "Python's encode always recognises them by default. A SentencePiece .model never does.",
    ),
    "as_text": click.option("--as-text", is_flag=True, help="Treat special tokens as text."),
    "added_as_text": click.option(
        "--added-as-text",
        is_flag=True,
        help="Treat all added tokens as text. --as-text, like engines, still recognises those that "
        "the file does not call special, such as Qwen3's <think>. Use this for untrusted text.",
    ),
}

asked_options: Final = options_as(
    "asked",
    _asked,
    text=TEXT,
    path=FILE_OF_TEXT,
    vocabulary=VOCABULARY,
    like=LIKE,
    pattern=PATTERN,
    **SPECIAL,
    refuse=click.option(
        "--refuse",
        is_flag=True,
        help="Exit with 1 if a text spells special or other added tokens, and name them and the "
        "files on standard error. Nothing else changes.",
    ),
    template=click.option(
        "--template/--no-template", default=True, help="Add the special tokens of the template."
    ),
    as_json=JSON,
)
"""Lets a command read texts from an argument, files, or standard input, and encode them."""


@contextmanager
def _progress(source: Source, text: str) -> Iterator[Callable[[int], None]]:
    """Within this context, show how many characters of a long text are done."""
    if len(text) <= SMALL:
        yield lambda _done: None
        return
    from rich import markup

    with progress_bar() as bar:
        task = bar.add_task(markup.escape(Path(source.name).name[:_WIDEST]), total=len(text))
        yield shown_in(bar, task)


@click.command()
@asked_options
def encode(asked: Asked) -> None:
    r"""Print the tokens of TEXT, or of files.

    Each line has an id and the token's text. In tokens of bytes, ␣ is a space, and \xf0 is a byte
    of a character of which the token has only a part. --json prints tokens as the file has them,
    or their bytes in hex, and the offsets of each: its start and end in the text, in characters.
    With several files, each line has the name of a file, its number of tokens and their ids, and
    the last line has the total.
    """
    tokenizer, how = asked.tokenizer, asked.how
    of_bytes = isinstance(tokenizer.model, ByteBPE)
    key = "bytes" if of_bytes else "tokens"
    rows: list[dict[str, Any]] = []
    total = 0

    def written(token: int) -> str:
        return tokenizer.decode_bytes([token]).hex() if of_bytes else tokenizer.id_to_token(token)

    def encoded(source: Source) -> tuple[Sequence[int], Sequence[tuple[int, int]]]:
        text = asked.text(source)
        if not asked.as_json:
            return tokenizer.encode(text, **how), ()
        found = tokenizer.tokenize(text, **how)
        return found.ids, found.offsets

    for source, (ids, offsets) in each_answer(asked.sources, encoded, asked.errors):
        total += len(ids)
        if asked.several and not asked.as_json:
            write_lines(f"{source.name}\t{len(ids)}\t{' '.join(map(str, ids))}")
            continue
        spelled = written if asked.as_json else tokenizer.show_token
        known = {token: spelled(token) for token in set(ids)}
        if asked.as_json:
            rows.append({"ids": ids, key: [known[token] for token in ids], "offsets": offsets})
        else:
            write_lines(*(f"{token}\t{known[token]}" for token in ids))
    asked.end(rows, {"total": total})


@click.command(context_settings={"ignore_unknown_options": True})  # -1 is a wrong id
@click.argument("ids", nargs=-1)
@click.option("--file", "path", metavar="PATH", help="Read the ids from this file.")
@VOCABULARY
@LIKE
@click.option("--skip-special", is_flag=True, help="Omit special tokens.")
@click.option("--strict", is_flag=True, help="Fail if the bytes are not valid UTF-8.")
@JSON
def decode(
    ids: Sequence[str],
    path: str | None,
    vocabulary: str | None,
    like: str | None,
    *,
    skip_special: bool,
    strict: bool,
    as_json: bool,
) -> None:
    """Write the bytes of token IDS, and nothing else.

    They may also be read from a file or standard input, as numbers, as the lines that `encode`
    prints with the same --vocabulary, or as its JSON. --json prints the text, with U+FFFD for bytes
    that are not UTF-8.
    """
    if ids and path is not None:
        raise InputError("give the ids either as arguments or with --file, not both")
    tokenizer = loaded(vocabulary, like)
    source = Source(path=None if path in (None, str(_DASH)) else Path(path))
    written = " ".join(ids) if ids else source.text()
    tokens = printed_ids(written, tokenizer) or parsed_ids(written)
    text, content = "", b""
    try:
        if as_json or strict:
            text = tokenizer.decode(
                tokens, skip_special_tokens=skip_special, errors="strict" if strict else "replace"
            )
        if not as_json:
            content = tokenizer.decode_bytes(tokens, skip_special_tokens=skip_special)
    except TokenIdError as error:
        if vocabulary is not None:
            raise
        raise InputError(f"{error}; {_NONE_GIVEN}") from None
    if as_json:
        write_lines(json.dumps({"text": text}))
    else:
        write_exactly(content)
        if sys.stdout.isatty() and sys.stderr.isatty():
            click.echo(err=True)  # the prompt of a shell starts on a line of its own
    say_usual(vocabulary)


def printed_ids(written: str, tokenizer: Tokenizer) -> list[int]:
    """Return the ids in lines of `encode`, each with the text of its token; none in other text."""
    lines = [line.partition("\t") for line in written.splitlines()]
    try:
        ids = [int(first) for first, _, _ in lines]
        known = {token: tokenizer.show_token(token) for token in set(ids)}
    except (ValueError, TokenIdError):
        return []
    fits = all(known[token] == line[2] for token, line in zip(ids, lines, strict=True))
    return ids if fits else []


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
        if isinstance(given, dict) and "files" in given:
            raise InputError("ids must be those of one text, got those of several files")
        if not isinstance(rows, list) or not all(type(row) is int for row in rows):
            raise InputError(f"ids must be a list of whole numbers, got {written[:40]!r}")
        return rows
    words = written.replace(",", " ").split()
    try:
        return [int(word) for word in words]
    except ValueError:
        odd = next(
            (word for word in words if not word.lstrip("-").isdecimal()), max(words, key=len)
        )
        rule = (
            "ids must be whole numbers, or what `tokenref encode --json` writes, or `tokenref "
            "encode` with the same --vocabulary"
        )
        raise InputError(f"{rule}, got {odd[:40]!r}") from None


@click.command()
@asked_options
@click.option(
    "--limit", type=click.IntRange(min=0), help="Stop as soon as a text must have more tokens."
)
def count(asked: Asked, limit: int | None) -> None:
    """Print how many tokens TEXT has.

    This is how many ids `encode` prints with the same options, without truncation and padding. With
    several files, each line has the name of a file and its count, and the last line has the total.
    --limit applies to each file. A text with more tokens is no error: the exit code is 0, and with
    --json the count is null.
    """
    tokenizer, how = asked.tokenizer.replace(truncation=None, padding=None), asked.how
    counts: list[int | None] = []

    def count_of(source: Source) -> int | None:
        text = asked.text(source)
        if limit is None:
            return _counted(tokenizer, source, text, **how)
        return tokenizer.count_till_limit(text, limit, **how)

    for source, found in each_answer(asked.sources, count_of, asked.errors):
        counts.append(found)
        if not asked.as_json:
            name = [source.name] if asked.several else []
            write_lines("\t".join([*name, f"more than {limit}" if found is None else str(found)]))
    least = sum(limit or 0 if found is None else found for found in counts)
    total = (None if asked.as_json else f"more than {least}") if None in counts else least
    asked.end([{"count": found} for found in counts], {"total": total})


def _counted(tokenizer: Tokenizer, source: Source, text: str, **how: Any) -> int:
    """Return the number of tokens. A long text is counted in parts, to show how far it is."""
    if len(text) <= SMALL:
        return tokenizer.count(text, **how)
    from bpe_ref.cutting.counting import running_counts

    counter = tokenizer.framed_counter(**how)
    with _progress(source, text) as show:
        for stop, counted in running_counts(counter, text, SMALL):  # noqa: B007
            show(stop)
    return counted + counter.added


@click.command()
@asked_options
@click.option(
    "--most", type=click.IntRange(min=1), required=True, help="Maximum number of tokens per chunk."
)
@click.option(
    "--overlap", type=int, default=0, help="Maximum number of tokens that consecutive chunks share."
)
def chunks(asked: Asked, most: int, overlap: int) -> None:
    """Cut TEXT into chunks of at most --most tokens.

    A chunk may end within a word. Special tokens of a template count. Prints one line per chunk:
    start and end (in characters), number of tokens, text. With several files, each line has the
    name of a file, its number of chunks and the sum of their tokens, and the last line has the
    totals; --json has all chunks.
    """
    from bpe_ref.cutting.splitting import Chunk

    tokenizer, how = asked.tokenizer, asked.how
    rows: list[dict[str, Any]] = []
    total_chunks = total_tokens = 0

    def chunks_of(source: Source) -> tuple[str, list[Chunk]]:
        text, found = asked.text(source), []
        with naming_options("most", "overlap"), _progress(source, text) as show:
            for chunk in tokenizer.each_chunk(text, most, overlap, **how):
                found.append(chunk)
                show(chunk.stop)
        return text, found

    for source, (text, found) in each_answer(asked.sources, chunks_of, asked.errors):
        tokens = sum(chunk.tokens for chunk in found)
        total_chunks, total_tokens = total_chunks + len(found), total_tokens + tokens
        if asked.as_json:
            named = [chunk._asdict() | {"text": text[chunk.start : chunk.stop]} for chunk in found]
            rows.append({"chunks": named})
        elif not asked.several:
            cut = ((*chunk, repr(text[chunk.start : chunk.stop])) for chunk in found)
            write_lines(*("\t".join(map(str, cells)) for cells in cut))
        else:
            write_lines(f"{source.name}\t{len(found)}\t{tokens}")
    totals = {"chunks": total_chunks, "tokens": total_tokens}
    asked.end(rows, {"total": totals} if asked.as_json else totals)
