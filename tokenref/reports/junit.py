"""Results as JUnit XML: a suite per engine and a test per case."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final
from xml.sax.saxutils import escape

from tokenref.answers import BEFORE_LOG, NO_SUCH_OP, without_log
from tokenref.catalogue import Catalogue
from tokenref.errors import InvalidRunError
from tokenref.judge import FAILURES
from tokenref.readable import readable_answer
from tokenref.reports.changes import ONLY_IDS
from tokenref.reports.results import (
    LONGEST_DETAIL,
    CaseLine,
    EngineEntry,
    EngineLine,
    Results,
    bounded,
    command_again,
    options_again,
)
from tokenref.reports.terminal import about_failure
from tokenref.visible import visible

MOST_LINES: Final = 300_000
"""Maximum number of results in one file, because its readers load all of it."""


def junit_report(files: Sequence[Results], catalogue: Catalogue) -> bytes:
    """Return the XML. Raises `InvalidRunError` for more results than its readers can load.

    The statuses that make a run fail are failures. Known differences and unanswered cases are
    skipped. An invalid run is an error, and stale known differences are a failure. The names of
    tests never contain a message, so that servers can follow them.
    """
    total = sum(results.footer.cases for results in files)
    if total > MOST_LINES:
        raise InvalidRunError(f"JUnit XML can have at most {MOST_LINES:,} results, got {total:,}")
    parts = ['<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n']
    for results in files:
        if results.header.trouble:
            sums = EngineLine(
                engine="", statuses={}, trouble=[results.header.trouble], stale=[], exit=3
            )
            parts += _suite("tokenref", sums, [])
        for entry in results.header.engines:
            tests = _tests(results, entry, catalogue)
            name = f"{entry.name} {entry.version}".strip()
            parts += _suite(name, results.engines[entry.name], tests)
    parts.append("</testsuites>\n")
    return "".join(parts).encode("utf-8")


def _tests(results: Results, entry: EngineEntry, catalogue: Catalogue) -> Iterator[str]:
    """Yield the test of each case of an engine, and one for all of an operation that it lacks."""
    lacking: Counter[tuple[str, str]] = Counter()
    reasons = {known.title: known.reason for known in results.header.differences}
    options, records, names = options_again(results.header), catalogue.records, catalogue.names
    for line in results.cases():
        if line.engine == entry.name and line.status in FAILURES:
            again = command_again(entry, line.id, options)
            yield _case(line, about=about_failure(line, records.get(line.id), again, names))
        elif line.engine == entry.name and line.detail.startswith(NO_SUCH_OP):
            lacking[line.op, line.detail] += 1
        elif line.engine == entry.name:
            yield _case(line, reasons.get(line.known, ""))
    for (op, why), count in lacking.items():
        test = _attributes({"classname": op, "name": "all records"})
        message = _attributes({"message": f"unsupported: {why} ({count:,} records)"})
        yield f"<testcase{test}><skipped{message}/></testcase>\n"


def _suite(name: str, sums: EngineLine, tests: Iterable[str]) -> Iterator[str]:
    """Yield the parts of one suite."""
    tests = [*tests]
    counts = Counter(sums.statuses)
    failed = sum(counts[status] for status in FAILURES)
    no_case = bool(sums.stale) + bool(sums.incidents)
    attributes = {
        "name": name,
        "tests": len(tests) + no_case + bool(sums.trouble),
        "failures": failed + no_case,
        "errors": int(bool(sums.trouble)),
        "skipped": len(tests) - failed - counts["pass"],
    }
    yield f"<testsuite{_attributes(attributes)}>\n"
    yield from tests
    for kind, element, sentences in (
        ("valid", "error", sums.trouble),
        ("known differences", "failure", sums.stale),
        ("incidents", "failure", sums.incidents),
    ):
        if sentences:
            test = _attributes({"classname": "run", "name": kind})
            said = _attributes({"message": _short(without_log(sentences[0])), "type": kind})
            text = "\n".join(map(_lines, sentences))
            yield f"<testcase{test}><{element}{said}>{text}</{element}></testcase>\n"
    yield f"<system-out>{ONLY_IDS}</system-out>\n" if sums.only_ids else ""
    yield "</testsuite>\n"


def _case(line: CaseLine, reason: str = "", about: Iterable[tuple[str, str]] = ()) -> str:
    """Return the test of one case; `about` is what is said about it if it fails."""
    test = _attributes(
        {"classname": line.op, "name": line.id, "time": f"{line.microseconds / 1e6:.6f}"}
    )
    if line.status == "pass":
        return f"<testcase{test}/>\n"
    if line.status in FAILURES:
        said = _attributes({"message": _short(line.detail), "type": line.status})
        shown = readable_answer(line.got, LONGEST_DETAIL)
        more = [f"{label}: {content}" for label, content in about]
        more += [f"answer: {shown}"] if line.got else []
        if '"f' in line.got:  # numbers, which were made readable
            more.append(f"in bits: {line.got}")
        more[-1] += f"{BEFORE_LOG}{line.log}" if line.log else ""
        has_cause = line.cause and line.status != "xpass"
        more += [f"likely cause: {line.cause}"] if has_cause else []
        text = "\n".join(map(_lines, more))
        return f"<testcase{test}><failure{said}>{text}</failure></testcase>\n"
    known = f"known: {line.known}: {reason}" if line.known else line.detail
    said = _attributes({"message": f"{line.status}: {known}"})
    return f"<testcase{test}><skipped{said}/></testcase>\n"


_NOT_SHORT: Final = re.compile(
    "; (?:on standard error: |its last line on |ask again with ).*", re.DOTALL
)
"""What the text of a test has, too: it begins behind the first sentence."""


def _short(message: str) -> str:
    """Return the first sentence of a message, without what a program wrote.

    >>> _short("it was ended by SIGSEGV; on standard error: 'a ... b'; ask again with --id c")
    'it was ended by SIGSEGV'
    """
    return bounded(_NOT_SHORT.sub("", message), 300)


def _lines(said: str) -> str:
    r"""Return a sentence and the lines of a log behind it, escaped as attributes are.

    >>> print(_lines("it\n ended\nlog: a<\x00\r\n\tb"))
    it\n ended
    log: a&lt;\x00
            b
    """
    log = said.removeprefix(without_log(said)).splitlines()[1:]
    return "\n".join(escape(visible(each.expandtabs())) for each in [without_log(said), *log])


def _attributes(values: dict[str, object]) -> str:
    r"""Return attributes, with characters escaped that XML 1.0 does not allow or that do not print.

    >>> _attributes({"name": 'a"<\x00\ufffe\n'})
    ' name="a&quot;&lt;\\x00\\ufffe\\n"'
    """
    return "".join(
        f' {key}="{escape(visible(str(value)), {chr(34): "&quot;"})}"'
        for key, value in values.items()
    )
