"""Runs shown on a terminal: counts, then the smallest failures with everything that helps."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import takewhile
from operator import itemgetter
from textwrap import shorten
from typing import Final, get_args

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bpe_ref.tracing import show_token
from tokenref.catalogue import CANARY, Catalogue
from tokenref.corpus import Comparison, CorpusResult, CorpusStatus, Tokens
from tokenref.diagnosis.diagnose import UNSPECIFIC, is_of_few, is_vague
from tokenref.diagnosis.facts import VAGUE
from tokenref.diagnosis.questions import PROPERTIES
from tokenref.judge import FAILURES, IDS_ALONE, SAME_IDS
from tokenref.operations import ABOUT
from tokenref.questions.sampling import BatchInput
from tokenref.readable import readable_json
from tokenref.record import OPS, Case, rows_op
from tokenref.reports.changes import WORSE, Change, Kind
from tokenref.reports.results import (
    LOOKS,
    NO_ANSWER,
    UNJUDGED,
    CaseLine,
    EngineEntry,
    EngineLine,
    Look,
    Results,
    command_again,
    in_short,
    judged,
    options_again,
)
from tokenref.result import condensed, place_of, size
from tokenref.verdicts import Status
from tokenref.visible import unmistakable, visible

SHOWN_FAILURES: Final = 5
_KEPT: Final = 1000
"""How many failures are kept before the smallest are selected, to bound memory."""


@dataclass
class Summary:
    """The counts and the smallest failures of one engine."""

    entry: EngineEntry
    sums: EngineLine
    records: Mapping[str, Case]
    """The available records by id."""

    names: Mapping[str, str] = field(default_factory=dict)
    """The names of vocabularies by digest."""

    options: Sequence[str] = ()
    """The options that running one case again needs besides its engine and id."""

    is_of_ops: bool = False
    """Whether `--op` selected the operations."""

    counts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """For each operation, the number of cases by status."""

    reasons: dict[tuple[str, str], Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    """Why cases have no answer, with counts, for each status and operation."""

    places: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """The number of cases by status, for each operation and for the batches of each."""

    by_cause: Counter[str] = field(default_factory=Counter)
    """The number of failures by their likely cause."""

    unexplained: Counter[str] = field(default_factory=Counter)
    """The number of failures without a likely cause, by their operation."""

    _failures: dict[tuple[str, str], list[CaseLine]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """The failures by their likely cause and operation."""

    def add(self, line: CaseLine) -> None:
        """Add the result of one case."""
        self.counts[line.op][line.status] += 1
        case = self.records.get(line.id)
        self.places[line.op if case is None else place_of(case)][line.status] += 1
        if line.status in UNJUDGED:
            self.reasons[line.status, line.op][line.detail] += 1
        if line.status in FAILURES:
            self.by_cause[line.cause] += 1
            if not line.cause:
                self.unexplained[line.op] += 1
            alike = self._failures[line.cause, line.op]
            alike.append(line)
            if len(alike) > _KEPT:
                alike[:] = nsmallest(SHOWN_FAILURES, alike, key=self._order)

    def failures(self, cause: str = "") -> list[CaseLine]:
        """Return the failures with a likely cause that have the smallest questions.

        Those without one may be several bugs, so the smallest of each operation are first.
        """
        of_ops = [
            enumerate(nsmallest(SHOWN_FAILURES, lines, key=self._order))
            for (name, _), lines in self._failures.items()
            if name == cause
        ]
        ranked = ((at * (not cause), self._order(line), line) for of in of_ops for at, line in of)
        return [line for *_, line in nsmallest(SHOWN_FAILURES, ranked, key=itemgetter(0, 1))]

    def _order(self, line: CaseLine) -> tuple[bool, bool, tuple[int, int], str]:
        """Return a key that sorts the smallest questions first.

        With --upgrade, failures with other ids are first: other fields matter less. Answers that
        have right ids alone are last.
        """
        is_upgrade = "--upgrade" in self.options
        record, is_canary = self.records.get(line.id), line.id.startswith(CANARY)
        is_other = line.detail.startswith(IDS_ALONE) or (is_upgrade and SAME_IDS in line.detail)
        return (is_canary, is_other, size(record) if record else (0, 0), line.id)

    def why(self, status: str) -> Counter[str]:
        """Return why cases of all operations have this status, with counts."""
        return sum((of for (each, _), of in self.reasons.items() if each == status), Counter())

    def count(self, *statuses: str) -> int:
        """Return the number of cases with one of these statuses."""
        return sum(counts[status] for counts in self.counts.values() for status in statuses)


def ordered(ops: Iterable[str]) -> list[str]:
    """Return operations in their usual order, unknown ones last.

    >>> ordered(["zeal", "count", "encode"])
    ['encode', 'count', 'zeal']
    """
    known = {op: at for at, op in enumerate(OPS)}
    return sorted(ops, key=lambda op: (known.get(op, len(known)), op))


def summaries_of_files(files: Sequence[Results], catalogue: Catalogue) -> list[Summary]:
    """Return a summary of each engine of each file, reading every file once more."""
    found: list[Summary] = []
    records, names = catalogue.records, catalogue.names
    for results in files:
        options, is_of_ops = options_again(results.header), "op" in results.header.selection
        here = {
            entry.name: Summary(
                entry, results.engines[entry.name], records, names, options, is_of_ops
            )
            for entry in results.header.engines
        }
        for line in results.cases():
            here[line.engine].add(line)
        found += here.values()
    return found


# ---- printing

_MOST_FRAMES: Final = 3
_WIDEST_QUESTION: Final = 100
_WIDEST_STEPS: Final = 1000
_WIDEST_REASON: Final = 70

_KNOWN: Final = (
    "known: known differences, that is, wrong answers on the list of known differences, with the "
    "reason of each (`tokenref show docs/differences.md` prints the list that is used without "
    "--known); they are not failures"
)


def print_results(console: Console, files: Sequence[Results], catalogue: Catalogue) -> None:
    """Print the counts of all engines of results files, then the failures of each."""
    summaries = summaries_of_files(files, catalogue)
    unavailable = [pair for results in files for pair in results.header.unavailable.items()]
    shown = {
        status: look
        for status, look in LOOKS.items()
        if status in {"pass", "fail"} or any(each.count(status) for each in summaries)
    }
    table = counts_table(
        ["engine", "operation"], ["cases", *(each.title for each in shown.values())]
    )
    for summary in summaries:
        _add_engine(table, summary, shown)
    for name, _ in unavailable:
        table.add_row(Text(visible(name)), "unavailable", style="dim")
        table.add_section()
    console.print(table)
    if any(summary.count("xfail") for summary in summaries):
        print_line(console, _KNOWN, "dim", above="\n")
    for name, reason in unavailable if summaries else ():
        print_line(console, f"{name} is unavailable: {reason}", "yellow", above="\n")
    _print_not_run(console, summaries)
    for summary in summaries:
        _print_skipped(console, summary)
    for summary in summaries:
        _print_failures(console, summary)


def counts_table(left: Sequence[str], right: Sequence[str]) -> Table:
    """Return an empty table with columns of texts and, to their right, of numbers."""
    table = Table(header_style="bold", show_edge=False, pad_edge=False)
    for title in left:
        table.add_column(title)
    for title in right:
        table.add_column(title, justify="right")
    return table


def count_cell(count: int, style: str) -> Text:
    """Return a number as a cell of a table, or a dash for 0."""
    return Text(f"{count:,}" if count else "-", style=style if count else "dim")


def print_line(console: Console, line: str, style: str = "", above: str = "") -> None:
    """Print a line as it is: not as markup, not wrapped, with unprintable characters escaped."""
    console.print(above + visible(line), style=style, markup=False, highlight=False, soft_wrap=True)


def print_incidents(console: Console, incidents: Mapping[str, Iterable[str]]) -> bool:
    """Print failures that no single question caused, by engine. Return whether there are any."""
    found = [
        f"{name}: {each}" for name, of_engine in incidents.items() for each in condensed(of_engine)
    ]
    for sentence in found:
        print_line(console, sentence, "red", above="\n")
    return bool(found)


def print_labelled(
    console: Console, lines: Iterable[tuple[str, str]], indent: int = 4, width: int = 9
) -> None:
    """Print labels, and next to each of them a text."""
    for label, content in lines:
        escaped = unmistakable if label in _ANSWERS else visible
        shown = Text(f"{' ' * indent}{label:{width}}", style="dim"), Text(escaped(content))
        console.print(*shown, sep="", soft_wrap=True)


_ANSWERS: Final = frozenset({"expected", "got", "smallest", "first"})
"""Labels of texts that are compared."""


def _print_not_run(console: Console, summaries: Sequence[Summary]) -> None:
    """Print why cases were not run. A reason that applies to all engines is printed once."""
    engines: dict[tuple[str, int], list[str]] = {}
    for summary in summaries:
        for reason, count in summary.why("not_run").items():
            engines.setdefault((reason, count), []).append(summary.entry.name)
    for (reason, count), names in engines.items():
        whose = "" if len(names) == len(summaries) else f"{', '.join(names)}: "
        cases = "1 case was" if count == 1 else f"{count:,} cases were"
        print_line(console, f"{whose}{cases} not run: {reason}", "yellow", above="\n")


_MOST_REASONS: Final = 5


def print_reasons(console: Console, title: str, reasons: Counter[str], rest: str) -> None:
    """Print the most frequent reasons why questions have no answer, and how many have others."""
    most = reasons.most_common(_MOST_REASONS)
    others = reasons.total() - sum(count for _, count in most)
    print_line(console, title, "dim", above="\n")
    for reason, count in [*most, *([(rest, others)] if others else [])]:
        said = shorten(reason, _WIDEST_REASON, placeholder=" ...")
        print_line(console, f"  {count:,}: {said}", "dim")


def _print_skipped(console: Console, summary: Summary) -> None:
    """Print why an engine skipped cases, or has no answer to an operation that was selected."""
    name = summary.entry.name
    if skipped := summary.why("skip"):
        print_reasons(console, f"{name} skipped", skipped, "other reasons, see --json FILE")
    places = [each for each, of in summary.places.items() if of["skip"] and not judged(of)]
    if places:
        print_line(console, f"  no answer was judged of {', '.join(places)}", "yellow")
    is_selected = summary.is_of_ops or "--records" in summary.options
    answered = {op for op, of_op in summary.counts.items() if judged(of_op)}
    for (status, op), reasons in summary.reasons.items():
        if status == "unsupported" and is_selected and answered and op not in answered:
            why = "; ".join(reason for reason, _ in reasons.most_common(3))
            print_line(console, f"{name}: {op} is unsupported: {why}", "dim", above="\n")


def _add_engine(table: Table, summary: Summary, columns: Mapping[Status, Look]) -> None:
    """Add one row per operation, and one for the total.

    Operations without any judged case share a row, because an engine may lack dozens.
    """
    counts = {op: summary.counts[op] for op in ordered(summary.counts)}
    rows = {op: of_op for op, of_op in counts.items() if judged(of_op)}
    others = [of_op for op, of_op in counts.items() if op not in rows]
    if len(others) == 1 or not rows:
        rows = counts
    elif others:
        rows[f"{len(others)} others"] = sum(others, Counter())
    if len(rows) > 1:
        rows["all"] = sum(counts.values(), Counter())
    first = visible(f"{summary.entry.name} {summary.entry.version}")
    for name, row in rows.items():
        cells = [count_cell(row[status], look.style) for status, look in columns.items()]
        style = "bold" if name == "all" else ""
        table.add_row(Text(first), Text(visible(name)), f"{row.total():,}", *cells, style=style)
        first = ""
    table.add_section()


def _print_failures(console: Console, summary: Summary) -> None:
    """Print why a run is invalid, then its smallest failures and how to run each again."""
    name, sums = summary.entry.name, summary.sums
    for sentence in [
        *(f"{name}: the run is invalid: {trouble}" for trouble in sums.trouble),
        *(f"{name}: {incident}" for incident in condensed(sums.incidents)),
        *(f"a known difference did not occur: {stale}" for stale in sums.stale),
    ]:
        print_line(console, sentence, "red", above="\n")
    counts = Counter(sums.statuses)
    if judged(counts):
        shown = in_short(counts, len(sums.stale), " answered cases")
        print_line(console, f"{name}: {shown}", "bold red" if summary.by_cause else "", above="\n")
    others = summary.by_cause[""]
    sizes = {cause: summary.by_cause[cause] for cause in sums.causes}
    before, after = in_order(sizes, others)
    _print_causes(console, summary, before)
    if others:
        count = f"{others:,} failures match" if others > 1 else "1 failure matches"
        numbers = summary.unexplained.most_common()
        of_ops = ", ".join(f"{number:,} of {op}" for op, number in numbers)
        of_ops = f" ({of_ops})" * (len(numbers) > 1)
        print_line(console, f"{count} no known cause{of_ops}. The smallest:", "bold", above="\n")
    failures = summary.failures()
    if all(each.detail.startswith(IDS_ALONE) for each in failures):  # one says it for all
        failures = failures[:1]
    for failure in failures:
        _print_failure(console, summary, failure)
    _print_rest(console, others - len(failures))
    if others and summary.is_of_ops:
        console.print("  other operations may show the cause: try without --op", style="dim")
    _print_causes(console, summary, after)


def in_order(sizes: Mapping[str, int], others: int) -> tuple[list[str], list[str]]:
    """Return the causes to print before and after the failures without one.

    The largest group is first; properties of questions and vague facts count a quarter.
    What says little is behind a larger group without a cause, and long inputs behind all others.

    >>> in_order({"long inputs": 9, "one": 1, "two": 2}, others=3)
    (['two', 'one'], ['long inputs'])
    """
    few = {cause for cause in sizes if is_of_few(cause)}
    vague = {cause for cause in sizes if cause in PROPERTIES or is_vague(cause)}
    weight = {cause: size / 4 if cause in vague else size for cause, size in sizes.items()}
    by_size = sorted(sizes, key=lambda c: (c in UNSPECIFIC, c in few, -weight[c]))
    is_after = {
        cause: cause == "long inputs" or (sizes[cause] < others and cause in {*few, *VAGUE})
        for cause in by_size
    }
    return [c for c in by_size if not is_after[c]], [c for c in by_size if is_after[c]]


def _print_causes(console: Console, summary: Summary, causes: Sequence[str]) -> None:
    """Print what is said about each cause, its smallest failure, and how many differ from it."""
    for cause in causes:
        print_line(console, f"{summary.sums.causes[cause]}. The smallest:", "bold", above="\n")
        _print_failure(console, summary, summary.failures(cause)[0])
        if cause in UNSPECIFIC or cause.partition(":")[0] in NO_ANSWER:
            _print_rest(console, summary.by_cause[cause] - 1)


def _print_rest(console: Console, more: int) -> None:
    """Print how many failures are not shown, if any."""
    if more > 0:
        console.print(f"  and {more:,} more; use --json FILE to see all", style="dim")


def _print_failure(console: Console, summary: Summary, line: CaseLine) -> None:
    """Print one failure, with information from its record if that is available."""
    again = command_again(summary.entry, line.id, summary.options)
    console.print(Text(f"\n  {visible(line.id)}", style="bold"), Text(line.status, style="red"))
    about = about_failure(line, summary.records.get(line.id), again, summary.names)
    frames = re.findall(r"^\s*(#\d.*)", line.log, re.MULTILINE)[:_MOST_FRAMES]  # of sanitizers
    for label, content in about:
        print_labelled(console, [(label, content)])
        print_labelled(console, [("", each) for each in frames if label == "got"])


def about_failure(
    line: CaseLine, case: Case | None, again: str, names: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Return what reports say about one failure, with labels, from its record if available.

    `again` is the command that asks it again, and `names` are those of vocabularies by digest.
    """
    lines = [*split_detail(line.detail), ("again", again)]
    if case is not None:
        parts = msgspec.to_builtins(case.input)
        question = readable_json(parts, _WIDEST_QUESTION)
        about = [("why", case.why), ("of", names.get(case.vocab or "", case.profile))]
        pages = {"see": case.spec, "learn": ABOUT[rows_op(case)].lesson}
        rule = [(label, f"tokenref show {page}") for label, page in pages.items()]
        asked = [("in", question), *_failing_row(case, line.detail)]
        if "steps" in parts:  # behind a row, which is often cut
            asked.insert(1, ("steps", readable_json(parts["steps"], _WIDEST_STEPS)))
        lines = [*about, *asked, *lines[:-1], *rule, lines[-1]]
    return lines


def _failing_row(case: Case, detail: str) -> list[tuple[str, str]]:
    """Return the question of the row of a batch that a detail names, if it names one."""
    named = re.match(r"row (\d+): |rows\[(\d+)\]", detail)
    if named is None or not isinstance(case.input, BatchInput):
        return []
    number = int(named[1] or named[2])
    row = case.input.rows[number % len(case.input.rows)]
    return [(f"row {number}", readable_json(msgspec.to_builtins(row), _WIDEST_QUESTION))]


def split_detail(detail: str) -> list[tuple[str, str]]:
    """Return a judgement's detail as labelled lines: the place, the expected value, the value got.

    A detail of another form, or one that can be split in several ways, stays in one piece.

    >>> split_detail("count: expected 1, got 2")
    [('at', 'count'), ('expected', '1'), ('got', '2')]
    >>> split_detail("boom")
    [('got', 'boom')]
    """
    where, expects, rest = detail.partition("expected ")
    if not expects or rest.count(", got ") != 1 or (where and not where.endswith(": ")):
        return [("got", detail)]
    expected, _, got = rest.partition(", got ")
    at = [("at", where.removesuffix(": "))] if where else []
    return [*at, ("expected", expected), ("got", got)]


_STYLES: Final = {"same": "green", "unsupported": "dim"}


def print_corpus(console: Console, compared: Sequence[Comparison]) -> None:
    """Print how many texts each engine encodes how, then where each first differs."""
    rows: dict[tuple[str, str], list[CorpusResult]] = defaultdict(list)
    for each in compared:
        for result in each.results:
            rows[f"{result.engine} {result.version}", each.vocabulary].append(result)
    statuses = [
        status
        for status in get_args(CorpusStatus)
        if status == "same" or any(one.status == status for row in rows.values() for one in row)
    ]
    table = counts_table(["engine", "vocabulary"], ["texts", *statuses, "tokens"])
    for names, row in rows.items():
        counts = Counter(result.status for result in row)
        cells = [count_cell(counts[each], _STYLES.get(each, "red")) for each in statuses]
        tokens = count_cell(sum(result.tokens for result in row), "")
        shown_names = (Text(visible(name)) for name in names)
        table.add_row(*shown_names, str(len(row)), *cells, tokens)
    console.print(table)
    shown: Counter[str] = Counter()
    for each in compared:
        where = f" ({each.text} by {each.vocabulary})" if len(compared) > 1 else ""
        for result in each.results:
            if result.status != "same" and shown[result.engine] < SHOWN_FAILURES:
                _print_corpus_result(console, result, where)
            shown[result.engine] += result.status != "same"
    for name, count in shown.items():
        if count > SHOWN_FAILURES:
            print_line(console, f"{name}: {count - SHOWN_FAILURES:,} more like these", above="\n")


def _print_corpus_result(console: Console, result: CorpusResult, where: str) -> None:
    name, found = f"{result.engine}{where}", result.difference
    if found is None:
        print_line(console, f"{name}: {result.detail or result.status}", above="\n")
        return
    place = f"{name}: first differs at line {found.line:,}, byte {found.byte:,}"
    print_line(console, place, "bold red", above="\n")
    smallest = repr(found.smallest) if found.smallest else "no short part differs by itself"
    lines = [("expected", _tokens(found.expected)), ("got", _tokens(found.got))]
    print_labelled(console, [*lines, ("smallest", smallest)])


def _tokens(tokens: Tokens) -> str:
    if not tokens:
        return "the end"
    return ", ".join(
        f"{token} {'(no such token)' if content is None else show_token(content)}"
        for token, content in tokens
    )


# ---- changes between two runs


_KINDS: Final[Mapping[Kind, str]] = {
    **dict.fromkeys(get_args(Kind), ""),
    **dict.fromkeys(WORSE, "red"),
    "newly passing": "green",
    "disappeared": "yellow",
}
"""The style of each kind of change."""

_SHOWN_CHANGES: Final = 20
"""How many changes of a kind are listed that are none to the worse."""


def print_changes(console: Console, found: Sequence[Change]) -> None:
    """Print the number of changes of each kind, then the cases, those that fail first."""
    if not found:
        console.print("nothing changed", style="green")
        return
    counts = Counter((change.engine, change.kind) for change in found)
    table = counts_table(["engine"], [*_KINDS])
    for engine in dict.fromkeys(change.engine for change in found):
        cells = [count_cell(counts[engine, kind], style) for kind, style in _KINDS.items()]
        table.add_row(Text(visible(engine)), *cells)
    console.print(table)
    for kind, style in _KINDS.items():
        of_kind = [change for change in found if change.kind == kind]
        if of_kind:
            console.print(f"\n{kind}: {len(of_kind):,}", style=f"bold {style}", highlight=False)
        by_cause: dict[str, list[Change]] = defaultdict(list)
        for change in of_kind:
            by_cause[change.cause].append(change)
        for cause, alike in sorted(by_cause.items(), key=lambda each: (not each[0], -len(each[1]))):
            if cause or len(by_cause) > 1:
                others = f"{len(alike):,} match{'es' * (len(alike) == 1)} no known cause"
                print_line(console, f"  {cause or others}:", "bold")
            _print_alike(console, alike)


def _print_alike(console: Console, alike: Sequence[Change]) -> None:
    """Print changes of one kind with one cause, and what helps with those to the worse."""
    is_other, worse = alike[0].kind == "another answer", alike[0].kind in WORSE
    most = SHOWN_FAILURES if worse or is_other else _SHOWN_CHANGES
    for change in alike[:most]:
        states = f"{change.was or 'none'} -> {change.now or 'none'}"
        if is_other:
            states = f"still {change.now}, with another answer"
        print_line(console, f"  {change.engine}  {change.id}  {states}")
        if is_other:
            expected = [pair for pair in split_detail(change.detail) if pair[0] != "got"]
            answers = zip(("before", "now"), _where_they_differ(*change.answers), strict=True)
            print_labelled(console, [*expected, *answers, ("again", change.again)], indent=6)
        if worse:
            no_answer = change.now in UNJUDGED or change.now == "xpass"
            why = [("because", change.detail)] if no_answer else split_detail(change.detail)
            lines = [*why, ("again", change.again)]
            print_labelled(console, [(label, said) for label, said in lines if said], indent=6)
    if len(alike) > most:
        console.print(f"  and {len(alike) - most:,} more", style="dim", highlight=False)


def _where_they_differ(*texts: str) -> list[str]:
    """Return the parts of two texts around the place where they first differ.

    >>> _where_they_differ(str([*range(50), 7]), str([*range(50), 8, 9]))
    ['... 43, 44, 45, 46, 47, 48, 49, 7]', '... 43, 44, 45, 46, 47, 48, 49, 8, 9]']
    """
    same = takewhile(lambda signs: len({*signs}) == 1, zip(*texts, strict=False))
    start = max(0, sum(1 for _ in same) - _AROUND)
    parts = (text[start : start + 4 * _AROUND] for text in texts)
    return [
        f"{'...' * bool(start)}{part}{'...' * (len(text) > start + len(part))}"
        for text, part in zip(texts, parts, strict=True)
    ]


_AROUND: Final = 30
"""How many characters of equal answers are shown before the first that differs."""
