"""Files of records: a header line, then one record per line; read, checked and written.

A record file is JSON lines in ASCII, with sorted keys and without floats. Each line is
self-contained, so a difference between two files is a difference between cases.
"""

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from tokenref.floats import Strict
from tokenref.record import (
    ANY_CASE,
    FORMAT,
    Case,
    RecordError,
    canonical_json,
    has_answer,
    meaning_digest,
    op_of,
)

REGRESS: Final = "regress"
"""The folder of regression files in the fixtures, and the topic of their records."""

GZIP: Final = b"\x1f\x8b"
"""The first bytes of a file that is compressed with gzip."""

LARGEST: Final = 2**28
"""Maximum size of a file that is read as a whole, in bytes."""


class Header(Strict, frozen=True, kw_only=True):
    """The first line of a record file."""

    kind: Literal["header"]
    format: Literal[1]
    file: str
    cases: Annotated[int, Meta(ge=1)]


def dump_records(file: str, cases: Sequence[Case]) -> bytes:
    """Return the content of a record file, header first."""
    header = {"cases": len(cases), "file": file, "format": FORMAT, "kind": "header"}
    lines = [header, *(msgspec.to_builtins(case) for case in cases)]
    return b"".join(canonical_json(line) + b"\n" for line in lines)


_HEADER: Final = msgspec.json.Decoder(Header)
_CASE: Final = msgspec.json.Decoder(ANY_CASE)


def parse_records(data: bytes, source: str, *, file: str | None = None) -> list[Case]:
    """Return the cases of a record file; `source` names it in errors.

    `file` is the name that the header must have, if it is known. Raises `RecordError` for a
    truncated file, a line that is not a record, an unknown field, a duplicate id, a wrong count,
    and a `sum` that does not match its record.

    >>> parse_records(b'{"kind":"header"}', "cases.jsonl")
    Traceback (most recent call last):
    tokenref.record.RecordError: cases.jsonl, line 1: the file is truncated, ...
    """
    if not data:
        raise RecordError(f"{source}: the file is empty")
    if data.startswith(GZIP):
        raise RecordError(f"{source}: the file is compressed; decompress it with gunzip first")
    if data.split(b"\n", 1)[0].endswith(b"\r"):
        raise RecordError(
            f"{source}: lines must end with a line feed only, not with carriage return and line "
            "feed. If git converts the file, write `*.jsonl -text` to .gitattributes"
        )
    if not data.endswith(b"\n"):
        last = data.count(b"\n") + 1
        raise RecordError(f"{source}, line {last}: the file is truncated, its last line has no end")
    lines = data.split(b"\n")[:-1]
    header = decoded(_HEADER, lines[0], f"{source}, line 1")
    if len(lines) - 1 != header.cases:
        raise RecordError(
            f"{source}, line 1: the header announces {header.cases} cases, "
            f"but the file has {len(lines) - 1}"
        )
    if file is not None and header.file != file:
        raise RecordError(
            f"{source}, line 1: the header must name the file {file!r}, got {header.file!r}"
        )
    first_line: dict[str, int] = {}
    cases: list[Case] = []
    for number, line in enumerate(lines[1:], start=2):
        place = f"{source}, line {number}"
        case: Case = decoded(_CASE, line, place)
        if case.id in first_line:
            raise RecordError(
                f"{place}: the id {case.id!r} is already used in line {first_line[case.id]}"
            )
        _check_case(case, line, place, file)
        first_line[case.id] = number
        cases.append(case)
    return cases


def _check_case(case: Case, line: bytes, place: str, file: str | None) -> None:
    """Raise `RecordError` unless the parts of a record are consistent and fit its file."""
    topic = case.id.rpartition("/")[0]
    if file is not None and not _belongs(topic, file):
        raise RecordError(f"{place}: the id {case.id!r} does not belong in {file}")
    if f"/{op_of(case)}/" not in case.id:
        raise RecordError(f"{place}: the id {case.id!r} must name the operation {op_of(case)}")
    if canonical_json(msgspec.to_builtins(case)) != line:
        raise RecordError(f"{place}: the record must be in canonical form with sorted keys")
    if case.sum != meaning_digest(case):
        raise RecordError(f"{place}: the sum of {case.id!r} does not match its content")
    if (case.out is not None) != has_answer(case.verdict):
        raise RecordError(f"{place}: {case.id!r} must have either an answer or an error code")


def _belongs(topic: str, file: str) -> bool:
    """Return whether a file of the fixtures may contain records of a topic.

    >>> _belongs("bpe/encode/words", "bpe/encode/words.jsonl")
    True
    >>> _belongs("bpe/encode/words", f"{REGRESS}/2026.jsonl")
    False
    """
    if file.startswith(f"{REGRESS}/"):
        return topic.endswith(f"/{REGRESS}")
    return file.startswith("canary") or f"{topic}.jsonl" == file


FixturePath: TypeAlias = Path | zipfile.Path
"""A file or folder of fixtures, on the disk or in the archive that is installed."""


def read_records(path: FixturePath, *, file: str | None = None) -> list[Case]:
    """Return the cases of a record file. Raises `RecordError`."""
    return parse_records(read_file(path), str(path), file=file)


def read_file(path: FixturePath) -> bytes:
    """Return the content of a file. Raises `RecordError` if it is unreadable or too large.

    >>> read_file(Path("no/such.jsonl"))
    Traceback (most recent call last):
    tokenref.record.RecordError: no/such.jsonl: cannot be read: No such file or directory
    """
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # a path with a NUL in it
        raise RecordError(f"{str(path)!r}: cannot be read: {error}") from None
    if len(data) > LARGEST:
        raise RecordError(f"{path}: must have at most {LARGEST:,} bytes")
    return data


def decoded(decoder: Any, data: bytes, place: str, kind: str = "a record") -> Any:
    """Decode a line or a file. Raises `RecordError`, which names its place."""
    try:
        return decoder.decode(data)
    except RecursionError:
        raise RecordError(f"{place}: not {kind}: it is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RecordError(f"{place}: not {kind}: {error}") from None
