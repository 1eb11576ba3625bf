"""Results as JSON lines: a header, one line per case, one per engine, and a footer.

`docs/reports.md` explains each of them. `tokenref check --json` writes results files, and every
other report is made from them. The footer marks the file as complete. A file without a footer, or
whose footer counts other cases than the lines above it, proves nothing.
"""

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b, sha256
from importlib.metadata import version
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from tokenref.catalogue import CANARY
from tokenref.corpus import Comparison, CorpusResult, Tokens, corpus_exit_code
from tokenref.errors import InvalidRunError
from tokenref.files import lines_of
from tokenref.judge import FAILURES
from tokenref.known import Known, differences_of, entry_for
from tokenref.protocol.messages import short_log
from tokenref.record import canonical_json, op_of
from tokenref.result import Result
from tokenref.runner import Run
from tokenref.verdicts import Status
from tokenref.visible import visible

_T = TypeVar("_T")

FORMAT: Final = 2


class Look(NamedTuple):
    """How reports show a status."""

    title: str
    """The title of its column."""

    words: str
    """What it says after a number of cases."""

    letter: str
    style: str


LOOKS: Final[Mapping[Status, Look]] = {
    "pass": Look("pass", "pass", "p", "green"),
    "fail": Look("fail", "fail", "f", "red"),
    "wrong_error": Look("wrong error", "wrong error", "w", "red"),
    "crash": Look("crash", "crash", "c", "red"),
    "timeout": Look("timeout", "timeout", "t", "red"),
    "xpass": Look("xpass", "pass unexpectedly", "X", "red"),
    "xfail": Look("known", "differ as known", "x", "yellow"),
    "unsupported": Look("unsupported", "unsupported", "u", "dim"),
    "skip": Look("skip", "skipped", "s", "dim"),
    "not_run": Look("not run", "not run", "n", "dim"),
}

UNJUDGED: Final = frozenset({"unsupported", "skip", "not_run"})
"""The statuses of cases without an answer."""

NO_ANSWER: Final = frozenset({"crash", "timeout"})
"""The statuses of failures without an answer."""

LONGEST_DETAIL: Final = 2000
"""Maximum length of a text about one case, in characters."""


class _Compact(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A structure without the keys that contain no information."""


class _Strict(_Compact, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """A line without unknown keys."""


class EngineEntry(_Compact, frozen=True, kw_only=True):
    """An engine with the name and version that it reports."""

    name: str
    version: str
    again: list[str] = []
    """The arguments of the command that select this engine; if empty, its name."""

    command: str = "check"
    """The command that asks one case again. After `judge` it is `export`: the responses do not say
    which program it was, so one case is exported for it."""


class KnownEntry(_Compact, frozen=True, kw_only=True):
    """A known difference, which cases refer to by its title."""

    engine: str
    title: str
    reason: str
    link: str = ""
    status: str = ""
    """How the cases differ."""


class Header(_Compact, frozen=True, kw_only=True, tag_field="kind", tag="header"):
    """What was run. Other fields are allowed and ignored."""

    format: int
    cases: int
    """The number of case lines."""

    engines: list[EngineEntry]
    tokenref: str = ""
    """The version of tokenref that judged."""

    fixtures: str = ""
    """`sha256:` and the digest of the manifest; empty for a user's own records."""

    fixtures_version: str = ""
    """The version of the fixtures; for a user's own records, of those with the canaries."""

    records: str = ""
    known: str = ""
    """`sha256:` and the digest of the known differences, as one line of JSON."""

    differences: list[KnownEntry] = []
    selection: dict[str, list[str]] = {}
    """The options that selected the cases."""

    unavailable: dict[str, str] = {}
    seed: int | str | None = None
    timeout: str = ""
    trouble: str = ""
    """Why no engine was run, if none was."""


class CaseLine(_Strict, frozen=True, kw_only=True, tag="case"):
    """The result of one case with one engine."""

    engine: str
    id: str
    op: str
    status: Status
    microseconds: int = 0
    detail: str = ""
    """Where the answer first differs, or why there is no answer."""

    stage: str = ""
    """The first stage that differs."""

    got: str = ""
    """The answer as JSON if it is wrong, truncated if it is long."""

    log: str = ""
    """Standard error of an engine that crashed or timed out: its end, and what names the error."""

    remark: str = ""
    """A remark about an answer that passes, such as which alternative it is."""

    ulp: int | None = None
    """The largest distance from the record's floats, in units in the last place."""

    known: str = ""
    """The title of the known difference that covers the case."""

    cause: str = ""
    """The name of the likely cause of a failure."""


class EngineLine(_Strict, frozen=True, kw_only=True, tag="engine"):
    """The totals of one engine."""

    engine: str
    statuses: dict[str, int]
    trouble: list[str]
    """Why the run is invalid, if it is."""

    stale: list[str]
    """Known differences that did not occur in a complete run."""

    exit: int
    incidents: list[str] = []
    """Failures that no single case caused."""

    known_incidents: int = 0
    """How many other ones are known differences."""

    restarts: int = 0
    only_ids: int = 0
    """Answers to `tokenize` that pass, of which only the ids were compared."""

    causes: dict[str, str] = {}
    """The likely causes of failures: their names, and a sentence about each."""


class Footer(_Strict, frozen=True, kw_only=True, tag="footer"):
    """The totals of all engines. It is the last line."""

    cases: int
    statuses: dict[str, int]
    complete: bool


Line: TypeAlias = Header | CaseLine | EngineLine | Footer


def bounded(text: str, longest: int = LONGEST_DETAIL) -> str:
    r"""Return a text that every JSON reader accepts: no lone surrogates, only its start.

    >>> bounded("a\ud800"), bounded("a" * 30, 5)
    ('a\\ud800', 'aaaaa ... (30 characters)')
    """
    part = text[:longest].encode("utf-8", "backslashreplace").decode("utf-8")
    return part if len(text) <= longest else f"{part} ... ({len(text)} characters)"


def judged(counts: Counter[str]) -> int:
    """Return how many cases were answered, correctly or not.

    >>> judged(Counter({"pass": 2, "unsupported": 3}))
    2
    """
    return counts.total() - sum(counts[status] for status in UNJUDGED)


def options_again(header: Header) -> list[str]:
    """Return the options that running one case again needs besides its engine and id.

    >>> header = Header(format=2, cases=0, engines=[], selection={"op": ["encode"], "known": ["k"]})
    >>> options_again(header)
    ['--known', 'k']
    """
    options = []
    own = ["vocabulary", "pattern"] if "records" in header.selection else []
    for name in (*own, "records", "fixtures", "known"):
        for value in header.selection.get(name, []):
            options += [f"--{name}", str(value)]
    return [
        *options,
        *(f"--{flag}" for flag in ("ids-only", "upgrade") if flag in header.selection),
    ]


def command_again(entry: EngineEntry, case_id: str, options: Sequence[str]) -> str:
    """Return the command that asks one case again, with the `options_again` of its file.

    >>> command_again(EngineEntry(name="tiktoken", version="1"), "bpe/count/a", ["--known", "k"])
    'tokenref check tiktoken --id bpe/count/a --known k'
    """
    engine = entry.again or [entry.name]
    return shlex.join(["tokenref", entry.command, *engine, "--id", case_id, *options])


LONGEST_LINE: Final = 1 << 20
"""Maximum length of a line, in bytes."""

_DECODER: Final = msgspec.json.Decoder(Line)


class _Start(msgspec.Struct):
    """The fields of the first line that are read first."""

    kind: str = ""
    format: int = 0
    text: object = None
    file: object = None
    """The name of a file of records."""


@dataclass(frozen=True)
class Results:
    """A results file that was read once and is complete."""

    path: Path
    header: Header
    engines: dict[str, EngineLine]
    footer: Footer
    data: bytes | None = field(default=None, repr=False)
    """The content, if it is not in a file."""

    shards: Sequence["Results"] = ()
    """The files that were merged into one, instead of a file."""

    def cases(self) -> Iterator[CaseLine]:
        """Read the case lines again, one by one. Canaries of several shards count once."""
        seen: set[tuple[str, str]] = set()
        for line in chain.from_iterable(part.cases() for part in self.shards):
            if (key := (line.engine, line.id)) not in seen:
                yield line
            if line.id.startswith(CANARY):
                seen.add(key)
        for _, each in () if self.shards else _lines(self.path, self.data):
            if isinstance(each, CaseLine):
                yield each


def read_results(path: Path, data: bytes | None = None) -> Results:
    """Read a results file, or content that a file could have, to its end; keep only totals.

    Raises `InvalidRunError` if the footer is missing or counts other cases, if a line has another
    kind or format, and if a case has two results with one engine.
    """
    lines = _lines(path, data)
    _, header = next(lines)
    assert isinstance(header, Header)  # noqa: S101 - `_lines` ensures it
    named = [entry.name for entry in header.engines]
    if len(set(named)) != len(named):
        raise InvalidRunError(f"{path}: the header names an engine twice: {', '.join(named)}")
    counts: dict[str, Counter[str]] = {name: Counter() for name in named}
    engines: dict[str, EngineLine] = {}
    seen: set[bytes] = set()
    for number, line in lines:
        where = f"{path}, line {number}"
        if isinstance(line, Header):
            raise InvalidRunError(f"{where}: a second header")
        if isinstance(line, Footer):
            _compare(path, header, counts, engines, line)
            if (after := next(lines, None)) is not None:
                raise InvalidRunError(f"{path}, line {after[0]}: the footer must be the last line")
            return Results(path, header, engines, line, data)
        if line.engine not in counts:
            raise InvalidRunError(f"{where}: the header names no engine {line.engine!r:.80}")
        if isinstance(line, EngineLine):
            if line.engine in engines:
                raise InvalidRunError(f"{where}: a second total of {line.engine!r:.80}")
            engines[line.engine] = line
            continue
        counts[line.engine][line.status] += 1
        # A digest of engine and id needs far less memory than the texts.
        key = blake2b(f"{line.engine}\0{line.id}".encode(), digest_size=11).digest()
        if key in seen:
            raise InvalidRunError(
                f"{where}: {line.engine:.80} has a result for {line.id:.200} already"
            )
        seen.add(key)
    raise InvalidRunError(f"{path}: there is no footer: the run did not finish")


def merged(files: Sequence[Results]) -> list[Results]:
    """Return the results with the shards of each run as one.

    Shards have the same engines, records and known differences, and no case in common except for
    canaries, which several of them may ask.
    """
    runs: dict[object, list[Results]] = {}
    for results in files:
        head = results.header
        engines = sorted((entry.name, entry.version) for entry in head.engines)
        key = (head.tokenref, head.fixtures, head.records, head.known, *engines)
        runs.setdefault(key if engines else id(results), []).append(results)
    return [each for shards in runs.values() for each in _merged(shards)]


def _merged(shards: list[Results]) -> list[Results]:
    """Return the shards as one, or as they are if they overlap."""
    found = Counter((line.engine, line.id) for part in shards for line in part.cases())
    twice = [case_id for (_, case_id), count in found.items() if count > 1]
    if len(shards) == 1 or not all(case_id.startswith(CANARY) for case_id in twice):
        return shards
    first, headers = shards[0], [part.header for part in shards]
    one = replace(first, data=None, shards=shards)
    counts: dict[str, Counter[str]] = {name: Counter() for name in first.engines}
    for line in one.cases():
        counts[line.engine][line.status] += 1
    selection: dict[str, list[str]] = {}
    for name, values in chain.from_iterable(each.selection.items() for each in headers):
        selection[name] = distinct([*selection.get(name, []), *values])
    header = msgspec.structs.replace(
        first.header,
        cases=len(found),
        differences=distinct(chain.from_iterable(each.differences for each in headers)),
        selection=selection,
        unavailable=dict(chain.from_iterable(each.unavailable.items() for each in headers)),
    )
    engines = {
        name: _total([part.engines[name] for part in shards], of_engine)
        for name, of_engine in counts.items()
    }
    footer = Footer(
        cases=len(found),
        statuses=dict(sum(counts.values(), Counter[str]())),
        complete=all(part.footer.complete for part in shards),
    )
    return [replace(one, header=header, engines=engines, footer=footer)]


def _total(lines: Sequence[EngineLine], statuses: Mapping[str, int]) -> EngineLine:
    """Return the totals of an engine in several shards, with the sentences of each about causes."""
    causes: dict[str, list[str]] = {}
    for name, sentence in chain.from_iterable(line.causes.items() for line in lines):
        causes.setdefault(name, []).append(sentence)
    return EngineLine(
        engine=lines[0].engine,
        statuses=dict(statuses),
        trouble=distinct(chain.from_iterable(line.trouble for line in lines)),
        stale=distinct(chain.from_iterable(line.stale for line in lines)),
        exit=max(line.exit for line in lines),
        incidents=distinct(chain.from_iterable(line.incidents for line in lines)),
        known_incidents=sum(line.known_incidents for line in lines),
        restarts=sum(line.restarts for line in lines),
        only_ids=sum(line.only_ids for line in lines),
        causes={name: ". ".join(distinct(said)) for name, said in causes.items()},
    )


def distinct(values: Iterable[_T]) -> list[_T]:
    """Return values without repetitions, in order."""
    return list(dict.fromkeys(values))


def too_few(answered: int, of_all: int, least: int | None) -> list[str]:
    """Return a sentence if an engine answered fewer cases than `--answered-at-least` demands.

    >>> too_few(2, 3, 2), too_few(2, 3, 3)
    ([], ['only 2 of 3 cases were answered, not the 3 of --answered-at-least'])
    """
    said = f"only {answered:,} of {of_all:,} cases were answered, not the {least or 0:,} of"
    return [f"{said} --answered-at-least"] if answered < (least or 0) else []


def with_too_few(files: Sequence[Results], least: int | None) -> list[Results]:
    """Return the results, with a failure of each engine that answered too few cases in every run.

    So a run of own records besides that of the golden ones makes no difference.
    """
    most: dict[str, Counter[str]] = {}
    for line in chain.from_iterable(results.engines.values() for results in files):
        counts = Counter(line.statuses)
        most[line.engine] = max(most.get(line.engine, counts), counts, key=judged)
    short = {name: too_few(judged(each), each.total(), least) for name, each in most.items()}

    def noted(line: EngineLine) -> EngineLine:
        incidents, code = [*line.incidents, *short[line.engine]], int(bool(short[line.engine]))
        return msgspec.structs.replace(line, incidents=incidents, exit=max(line.exit, code))

    return [
        replace(each, engines={name: noted(line) for name, line in each.engines.items()})
        for each in files
    ]


def in_short(counts: Counter[str], stale: int, cases: str = "") -> str:
    """Return how many answered cases passed or failed, and how many known ones are missing.

    Those are the cases that pass unexpectedly, or else the `stale` entries of the list. `cases`
    are words behind the number of answered cases.

    >>> in_short(Counter({"pass": 8, "xfail": 1, "xpass": 1, "skip": 3}), 0, " answered cases")
    '9 of 10 answered cases passed, 1 known difference did not occur'
    """
    gone, answered = counts["xpass"] or stale, judged(counts)
    failed = sum(counts[status] for status in FAILURES) - counts["xpass"]
    number, word = (failed, "failed") if failed else (counts["pass"] + counts["xpass"], "passed")
    said = f"{number:,} of {answered:,}{cases} {word}"
    if gone:
        said += f", {gone:,} known difference{'s' * (gone > 1)} did not occur"
    return said


def badge(files: Sequence[Results], code: int) -> bytes:
    r"""Return a badge in the JSON of shields.io's endpoint badges. `code` is the exit code.

    >>> badge([], 3)
    b'{"color":"lightgrey","label":"tokenref","message":"invalid run","schemaVersion":1}\n'
    >>> data = dump_report([], {"trouble": "known.toml: cannot be read"})
    >>> msgspec.json.decode(badge([read_results(Path("results"), data)], 3))["message"]
    'invalid run: known.toml: cannot be read'
    """
    lines = [line for results in files for line in results.engines.values()]
    troubles = [each for results in files if (each := results.header.trouble)]
    troubles += [each for line in lines for each in line.trouble]
    counts = sum((Counter(results.footer.statuses) for results in files), Counter[str]())
    stale = sum(len(line.stale) for line in lines)
    incidents = [each for line in lines for each in line.incidents]
    message, color = in_short(counts, stale), "brightgreen"
    if code not in {0, 1}:
        message, color = _brief("invalid run", troubles), "lightgrey"
    elif any(counts[status] for status in FAILURES - {"xpass"}):
        color = "red"
    elif incidents:
        message, color = _brief("failed", incidents), "red"
    elif code:
        color = "yellow"
    if color in {"brightgreen", "yellow"}:
        known = [entry for results in files for entry in results.header.differences]
        ending = {(each.engine, each.title) for each in known if each.status in NO_ANSWER}
        cases = chain.from_iterable(results.cases() for results in files if ending)
        ends = sum(line.status == "xfail" and (line.engine, line.known) in ending for line in cases)
        if ends:
            message, color = f"{message}, {ends:,} known to crash or hang", "yellow"
        if happened := sum(line.known_incidents for line in lines):
            color = "yellow"
            message += f", {happened:,} known incident{'s' * (happened > 1)}"
        message += ", only ids compared" if any(line.only_ids for line in lines) else ""
    shown = {"schemaVersion": 1, "label": "tokenref", "message": message, "color": color}
    return canonical_json(shown) + b"\n"


def _brief(words: str, reasons: Sequence[str]) -> str:
    """Return the words, and the beginning of the first reason if there is one."""
    reason = visible(reasons[0]) if reasons else ""
    cut = reason if len(reason) <= _WIDEST_BADGE else f"{reason[:_WIDEST_BADGE]}..."
    return f"{words}: {cut}" if cut else words


_WIDEST_BADGE: Final = 80
"""Maximum length of the reason on a badge, in characters."""


def _compare(
    path: Path,
    header: Header,
    counts: dict[str, Counter[str]],
    engines: dict[str, EngineLine],
    footer: Footer,
) -> None:
    """Raise `InvalidRunError` unless the totals match the lines above."""
    total: Counter[str] = sum(counts.values(), Counter())
    for name, promised in (("header", header.cases), ("footer", footer.cases)):
        if promised != total.total() and (name == "footer" or footer.complete):
            raise InvalidRunError(
                f"{path}: the {name} announces {promised} cases, but the file has {total.total()}"
            )
    for name, of_engine in counts.items():
        if name not in engines:
            raise InvalidRunError(f"{path}: there is no total of {name!r:.80}")
        if Counter(engines[name].statuses) != of_engine:
            raise InvalidRunError(f"{path}: the total of {name!r:.80} does not match its lines")
    if Counter(footer.statuses) != total:
        raise InvalidRunError(f"{path}: the footer does not match the statuses of the lines")


def _lines(path: Path, content: bytes | None) -> Iterator[tuple[int, Line]]:
    """Yield the number and content of each line. The first is a header."""
    if content is None and path.is_fifo():
        raise InvalidRunError(
            f"{path}: must be a file, not a pipe, because it is read more than once"
        )
    number = 0
    lines = (
        lines_of(path, LONGEST_LINE) if content is None else enumerate(BytesIO(content), start=1)
    )
    for number, data in lines:
        where = f"{path}, line {number}"
        if not data.endswith(b"\n"):
            raise InvalidRunError(f"{where}: the line is truncated: no line feed ends it")
        try:
            if number == 1:
                _check_start(where, msgspec.json.decode(data, type=_Start))
            line: Line = _DECODER.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidRunError(f"{where}: not a line of results: {error}") from None
        yield number, line
    if number == 0:
        raise InvalidRunError(f"{path}: the file is empty")


def _check_start(where: str, start: _Start) -> None:
    """Raise `InvalidRunError` unless this is the header of a results file that we can read."""
    if start.kind != "header":
        raise InvalidRunError(f"{where}: the first line must be a header, got {start.kind!r:.80}")
    if start.text is not None:
        raise InvalidRunError(f"{where}: the results of a text (--corpus), not of records")
    if start.format != FORMAT:
        hint = ": written by a newer tokenref" if start.format > FORMAT else ""
        hint = ": it is a file of records, not of results" if start.file is not None else hint
        raise InvalidRunError(f"{where}: the format must be {FORMAT}, got {start.format}{hint}")


# ---- writing


_STAGE: Final = re.compile(r"stage ([^ ,]+), ")
"""How the detail of a case begins if the first difference is in a stage."""


def dump_report(
    runs: Sequence[Run], about: Mapping[str, object], known: Sequence[Known] = ()
) -> bytes:
    """Return the results file of one or more runs of the same selection.

    `about` is what the header contains besides the engines: the records and the options. `known`
    are the known differences that were considered.
    """
    header = Header(
        format=FORMAT,
        cases=sum(run.selected for run in runs),
        engines=[
            EngineEntry(
                name=bounded(run.engine),
                version=bounded(run.version),
                again=[*map(bounded, run.again)],
                command=run.command,
            )
            for run in runs
        ],
        tokenref=version("tokenref"),
        known=f"sha256:{sha256(canonical_json(msgspec.to_builtins(known))).hexdigest()}",
        differences=[
            msgspec.convert(entry, KnownEntry, from_attributes=True)
            for entry in known
            if any(entry.is_about(run.engine, run.version) for run in runs)
        ],
    )
    cases = (case_line(run, result, known) for run in runs for result in run.results)
    engines = [engine_line(run) for run in runs]
    footer = Footer(
        cases=sum(len(run.results) for run in runs),
        statuses=dict(Counter(r.judgement.status for run in runs for r in run.results)),
        complete=bool(runs) and all(run.is_valid for run in runs),
    )
    first = {**msgspec.to_builtins(header), **about}
    lines = chain([first], map(msgspec.to_builtins, chain(cases, engines, [footer])))
    return b"".join(canonical_json(line) + b"\n" for line in lines)


def engine_line(run: Run) -> EngineLine:
    """Return the totals of a run."""
    trouble = [bounded(sentence) for sentence in run.trouble]
    if len(run.results) != run.selected:
        trouble.append(f"{run.selected:,} cases were selected, {len(run.results):,} have a result")
    return EngineLine(
        engine=bounded(run.engine),
        statuses=dict(Counter[str](result.judgement.status for result in run.results)),
        trouble=trouble,
        stale=run.stale,
        exit=run.exit_code,
        incidents=[bounded(each, 3 * LONGEST_DETAIL) for each in run.incidents],
        known_incidents=run.known_incidents,
        restarts=run.restarts,
        only_ids=sum(result.judgement.remark == "only ids" for result in run.results),
        causes={each.name: each.sentence for each in run.diagnoses},
    )


def case_line(run: Run, result: Result, known: Sequence[Known] = ()) -> CaseLine:
    """Return the result of one case. The title of a known difference is found in `known`."""
    case, judgement = result.case, result.judgement
    detail, remark, title = judgement.detail, judgement.remark, ""
    if judgement.status in {"xfail", "xpass"}:
        entry = entry_for(run.engine, case.id, differences_of(known, run.engine, run.version))
        title = entry.title if entry else ""
    if judgement.status == "xfail" and title:
        detail, remark = remark, ""  # the header contains the reason, once
    stage = _STAGE.match(detail)
    return CaseLine(
        engine=bounded(run.engine),
        id=case.id,
        op=op_of(case),
        status=judgement.status,
        microseconds=round(result.milliseconds * 1000),
        detail=bounded(detail),
        stage=stage[1] if stage else "",
        got=bounded(result.got),
        log=bounded(short_log(result.log, LONGEST_DETAIL - 50)),
        remark=bounded(remark),
        ulp=judgement.ulp,
        known=title,
        cause=run.causes.get(case.id, ""),
    )


def dump_corpus_report(
    several: Iterable[Comparison],
    about: Mapping[str, object],
    errors: Mapping[Path, str],
    incidents: Mapping[str, Iterable[str]],
) -> bytes:
    """Return the report of compared texts, and why others could not be; `about` as before.

    `incidents` are failures of engines that no text caused.
    """
    lines: list[Mapping[str, object]] = []
    for compared in several:
        text = {"path": compared.text, "bytes": compared.text_bytes, "sha256": compared.text_sha256}
        engines = [{"name": each.engine, "version": each.version} for each in compared.results]
        about_text = {"text": text, "vocabulary": compared.vocabulary, "engines": engines}
        about_text["vocab"] = compared.vocabulary_digest
        lines.append({"kind": "header", "format": 1, **about, **about_text})
        lines += map(_corpus_line, compared.results)
        footer = {
            "engines": len(compared.results),
            "statuses": dict(Counter(result.status for result in compared.results)),
            "complete": corpus_exit_code([compared]) in {0, 1},
        }
        lines.append({"kind": "footer", **footer})
    for path, detail in errors.items():
        lines.append({"kind": "error", "text": str(path), "detail": detail})
    for name, found in incidents.items():
        lines += [{"kind": "incident", "engine": name, "detail": bounded(each)} for each in found]
    return b"".join(canonical_json(line) + b"\n" for line in lines)


def _corpus_line(result: CorpusResult) -> dict[str, object]:
    """Return the result of the text with one engine."""
    line: dict[str, object] = {"kind": "engine", "engine": result.engine, "status": result.status}
    line |= {"tokens": result.tokens} | ({"detail": result.detail} if result.detail else {})
    if (found := result.difference) is not None:
        sides = {"expected": _tokens(found.expected), "got": _tokens(found.got)}
        line["difference"] = {"line": found.line, "byte": found.byte, **sides}
        line["smallest"] = found.smallest or None
    return line


def _tokens(tokens: Tokens) -> list[list[int | str | None]]:
    """Return tokens as id and bytes in hex; null for an unknown id."""
    return [[token, None if content is None else content.hex()] for token, content in tokens]
