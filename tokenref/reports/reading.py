"""Read results files line by line, and refuse those that prove nothing."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec

from tokenref.reports.results import FORMAT, CaseLine, EngineLine, Footer, Header, Line

LONGEST_LINE: Final = 1 << 20
"""Bytes of the longest line that is read."""

_DECODER: Final = msgspec.json.Decoder(Line)


class ResultsError(Exception):
    """A results file that proves nothing; the sentence names file and line."""


class _Start(msgspec.Struct):
    """What is looked at first, whatever else the line holds."""

    kind: str = ""
    format: int = 0
    text: object = None


@dataclass(frozen=True)
class Results:
    """A results file that was read once and is whole."""

    path: Path
    header: Header
    engines: dict[str, EngineLine]
    footer: Footer

    def cases(self) -> Iterator[CaseLine]:
        """Read the case lines again, one by one."""
        for _, line in _lines(self.path):
            if isinstance(line, CaseLine):
                yield line


def read_results(path: Path) -> Results:
    """Read a results file to its end, keeping only sums.

    Raises `ResultsError` for a file without a footer or whose footer counts other cases, for a
    line of another kind or format, and for a case that has two results with one engine.
    """
    lines = _lines(path)
    _, header = next(lines)  # there is one: `_lines` sees to it
    assert isinstance(header, Header)  # noqa: S101 - `_lines` sees to it
    named = [entry.name for entry in header.engines]
    if len(set(named)) != len(named):
        raise ResultsError(f"{path}: the header names an engine twice: {', '.join(named)}")
    counts: dict[str, Counter[str]] = {name: Counter() for name in named}
    engines: dict[str, EngineLine] = {}
    seen: set[int] = set()
    for number, line in lines:
        if isinstance(line, Header):
            raise ResultsError(f"{path}, line {number}: a second header")
        if isinstance(line, Footer):
            _compare(path, header, counts, engines, line)
            after = next(lines, None)
            if after is not None:
                raise ResultsError(f"{path}, line {after[0]}: the footer must be the last line")
            return Results(path, header, engines, line)
        if line.engine not in counts:
            raise ResultsError(
                f"{path}, line {number}: the header names no engine {line.engine!r:.80}"
            )
        if isinstance(line, EngineLine):
            if line.engine in engines:
                raise ResultsError(f"{path}, line {number}: a second sum of {line.engine!r:.80}")
            engines[line.engine] = line
            continue
        counts[line.engine][line.status] += 1
        key = _key(line)
        if key in seen:
            raise ResultsError(
                f"{path}, line {number}: {line.engine:.80} has a result for {line.id:.200} already"
            )
        seen.add(key)
    raise ResultsError(f"{path}: there is no footer: the run did not come to its end")


def _compare(
    path: Path,
    header: Header,
    counts: dict[str, Counter[str]],
    engines: dict[str, EngineLine],
    footer: Footer,
) -> None:
    """Raise `ResultsError` where sums are not those of the lines above."""
    total: Counter[str] = sum(counts.values(), Counter())
    for name, promised in (("header", header.cases), ("footer", footer.cases)):
        if promised != total.total() and (name == "footer" or footer.complete):
            raise ResultsError(
                f"{path}: the {name} promises {promised} cases, but the file holds {total.total()}"
            )
    for name, of_engine in counts.items():
        if name not in engines:
            raise ResultsError(f"{path}: there is no sum of {name!r:.80}")
        if Counter(engines[name].statuses) != of_engine:
            raise ResultsError(f"{path}: the sum of {name!r:.80} counts other cases than its lines")
    if Counter(footer.statuses) != total:
        raise ResultsError(f"{path}: the footer counts other statuses than the lines")


def _key(line: CaseLine) -> int:
    """Return a digest of engine and id: a million of them need far less memory than the texts."""
    name = f"{line.engine}\0{line.id}".encode()
    return int.from_bytes(blake2b(name, digest_size=11).digest(), "big")


def _lines(path: Path) -> Iterator[tuple[int, Line]]:
    """Yield the number and content of each line. The first is a header."""
    if path.is_fifo():
        raise ResultsError(f"{path}: must be a file, not a pipe: it is read more than once")
    try:
        with path.open("rb") as file:
            number = 0
            while data := file.readline(LONGEST_LINE + 1):
                number += 1
                where = f"{path}, line {number}"
                if len(data) > LONGEST_LINE:
                    raise ResultsError(f"{where}: a line has at most {LONGEST_LINE} bytes")
                if not data.endswith(b"\n"):
                    raise ResultsError(f"{where}: the line is cut off: no line feed ends it")
                if number == 1:
                    _check_start(where, data)
                yield number, _decode(where, data)
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read: {error.strerror or error}") from None
    if number == 0:
        raise ResultsError(f"{path}: the file is empty")


def _check_start(where: str, data: bytes) -> None:
    """Raise `ResultsError` unless this is the header of a results file that we can read."""
    try:
        start = msgspec.json.decode(data, type=_Start)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ResultsError(f"{where}: not a line of results: {error}") from None
    if start.kind != "header":
        raise ResultsError(f"{where}: the first line must be a header, got {start.kind!r:.80}")
    if start.text is not None:
        raise ResultsError(f"{where}: the results of a text (--corpus), not of records")
    if start.format != FORMAT:
        hint = ": a newer tokenref made it" if start.format > FORMAT else ""
        raise ResultsError(f"{where}: the format must be {FORMAT}, got {start.format}{hint}")


def _decode(where: str, data: bytes) -> Line:
    try:
        line: Line = _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ResultsError(f"{where}: not a line of results: {error}") from None
    return line
