"""The lines of a results file: a header, one line per case, one per engine, a footer.

`docs/reports.md` says what each of them means. A results file is written by
`tokenref check --json` and is what every other report is made from.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from tokenref.judge import FAILURES, Status

FORMAT: Final = 2

DIFFERENCES: Final = frozenset({*FAILURES, "xfail"})
"""The statuses of a case whose answer was judged and is not the record's, or not expected to be."""

UNJUDGED: Final = frozenset({"unsupported", "skip", "not_run"})
"""The statuses of a case that nobody answered."""

LONGEST_DETAIL: Final = 2000
"""Characters of the longest text about one case that is written."""


class EngineEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An engine, as it says of itself."""

    name: str
    version: str
    again: list[str] = []
    """The arguments of `tokenref check` that mean this engine; empty: its name."""


class KnownEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A known difference that a case may name by its title."""

    engine: str
    title: str
    reason: str
    link: str = ""


class Header(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="header"):
    """What was run. Further fields are allowed, and not looked at."""

    format: int
    cases: int
    """How many case lines there must be."""

    engines: list[EngineEntry]
    tokenref: str = ""
    """The version that judged."""

    fixtures: str = ""
    """`sha256:` and the digest of the manifest; empty if the records were somebody's own."""

    records: str = ""
    known: str = ""
    """`sha256:` and the digest of the known differences, as one line of JSON."""

    differences: list[KnownEntry] = []
    selection: dict[str, list[str]] = {}
    """Which options chose the cases."""

    unavailable: dict[str, str] = {}
    shard: str = ""
    seed: int | str | None = None
    timeout: str = ""


class CaseLine(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    tag_field="kind",
    tag="case",
):
    """What became of one case with one engine."""

    engine: str
    id: str
    op: str
    status: Status
    microseconds: int = 0
    detail: str = ""
    """Where the answer first differs, or why there is none."""

    stage: str = ""
    """The first stage that differs."""

    got: str = ""
    """The answer, if it is not right, as JSON; cut if it is long."""

    log: str = ""
    """The end of what the engine wrote to standard error, if it broke or was late."""

    remark: str = ""
    """What is worth knowing of an answer that passes: which alternative it is."""

    ulp: int | None = None
    """The largest distance to the record's floats, in units in the last place."""

    known: str = ""
    """The title of the known difference that covers the case."""


class EngineLine(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    tag_field="kind",
    tag="engine",
):
    """The sums of one engine."""

    engine: str
    statuses: dict[str, int]
    trouble: list[str]
    """Why the run proves nothing, if so."""

    stale: list[str]
    """Known differences that a complete run did not see."""

    exit: int
    incidents: list[str] = []
    """Failures that are no one case's."""

    restarts: int = 0


class Footer(
    Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="kind",
    tag="footer",
):
    """The sums of all engines. It is the last line."""

    cases: int
    statuses: dict[str, int]
    complete: bool


Line: TypeAlias = Header | CaseLine | EngineLine | Footer


def bounded(text: str, longest: int = LONGEST_DETAIL) -> str:
    r"""Return a text that any JSON reader takes: no lone surrogates, and not too long.

    >>> bounded("a\ud800"), bounded("a" * 30, 5)
    ('a\\ud800', 'aaaaa ... (30 characters)')
    """
    start = text[:longest].encode("utf-8", "backslashreplace").decode("utf-8")
    return start if len(text) <= longest else f"{start} ... ({len(text)} characters)"


def bounded_end(text: str, longest: int = LONGEST_DETAIL) -> str:
    """Return the end of a text that any JSON reader takes.

    >>> bounded_end("abcdef", 3)
    '(6 characters) ... def'
    """
    end = text[-longest:].encode("utf-8", "backslashreplace").decode("utf-8")
    return end if len(text) <= longest else f"({len(text)} characters) ... {end}"


def plain(line: Line) -> Mapping[str, object]:
    """Return a line as plain data.

    >>> plain(CaseLine(engine="e", id="bpe/count/a", op="count", status="pass"))["kind"]
    'case'
    """
    content: Mapping[str, object] = msgspec.to_builtins(line)
    return content


def judged(counts: Counter[str]) -> int:
    """Return how many cases were answered, rightly or not.

    >>> judged(Counter({"pass": 2, "unsupported": 3}))
    2
    """
    return counts.total() - sum(counts[status] for status in UNJUDGED)


def options_again(header: Header) -> list[str]:
    """Return the options that asking for one case again needs, beside its engine and id.

    >>> header = Header(format=2, cases=0, engines=[], selection={"op": ["encode"], "known": ["k"]})
    >>> options_again(header)
    ['--known', 'k']
    """
    options = []
    for name in ("vocabulary", "records", "fixtures", "known"):
        for value in header.selection.get(name, []):
            options += [f"--{name}", str(value)]
    return options
