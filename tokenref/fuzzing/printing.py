"""A campaign on a terminal: its progress, what it found, and what it asked."""

import shlex
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from bpe_ref.patterns.unicode_tables import category
from sampling_ref import PROFILES
from tokenref.answers import without_log
from tokenref.fuzzing.comparing import Outcome, fitting_choices
from tokenref.fuzzing.findings import Finding, LikelyBug, disagreement, said
from tokenref.fuzzing.journal import Journal
from tokenref.fuzzing.plan import GROUP, Plan
from tokenref.readable import readable_json
from tokenref.record import OPS, canonical_json
from tokenref.reports.changes import ONLY_IDS
from tokenref.reports.terminal import (
    count_cell,
    counts_table,
    print_labelled,
    print_line,
    print_reasons,
    split_detail,
)
from tokenref.rules import rule_of
from tokenref.subjects import SAMPLERS
from tokenref.visible import visible

_WIDEST: Final = 300
_LONGEST_RECORD: Final = 2000
_FATES: Final = {
    "same": "green",
    "failed": "red",
    "known": "yellow",
    "ignored": "yellow",
    "unsupported": "dim",
    "undecided": "dim",
}


def print_finding(console: Console, finding: Finding, plan: Plan) -> None:
    """Print a finding: question, expected answer, answer, difference, rule, record."""
    record = finding.record
    op, profile = str(record["op"]), str(record["profile"])
    expected = record.get("out") or {"error": record["verdict"].get("codes")}
    lines = [("in", readable_json(record["in"], _WIDEST))]
    if finding.subject is not None:
        lines.append(("of", _about(finding.subject)))
    lines += [("expected", readable_json(expected, _WIDEST)), *_got(finding)]
    if finding.now_and_then:
        says = "it did not fail when asked again: it is intermittent, or depends on earlier"
        lines.append(("but", f"{says} questions"))
    elif finding.only_later:
        says = "it does not fail as the first question of a new process: the answer depends on"
        lines.append(("but", f"{says} earlier questions"))
    elif finding.unfinished:
        smaller = "it may become smaller; with --state, the same command continues shrinking"
        lines.append(("but", smaller))
    if finding.perhaps:
        lines.append(("perhaps", f"the listed {visible(finding.perhaps)!r}, or a new bug"))
    if recent := _recent(f"{record['in'].get('text', '')}{record['in'].get('pair', '')}"):
        says = "other versions of Unicode may give it another class; patterns here follow 16.0"
        lines.append(("note", f"U+{ord(recent):04X}: {says}"))
    fitting = fitting_rules(op, profile, record["in"], finding.got.get("ok"))
    if fitting:
        lines.append(("matches", f"the rule {', or '.join(fitting)}"))
    line = canonical_json(record).decode()
    if len(line) > _LONGEST_RECORD:
        line = f"has {len(line):,} characters; use --state FILE and `tokenref promote` to write it"
    lines += [
        ("rule", f"{profile}: {rule_of(op, profile)}"),
        ("see", f"tokenref show {record['spec']}"),
        ("again", again(plan, "--at", finding.index)),
        ("record", line),
    ]
    name = visible(str(record["id"]))
    console.print(Text(f"\n{name}", style="bold"), Text(visible(finding.status), style="red"))
    print_labelled(console, lines, indent=2, width=10)


def _recent(text: str) -> str:
    """Return the first character that no version of Unicode has yet, or not each, or nothing.

    >>> _recent("a\U0003316b"), _recent("a\uffff")  # the second is none in any version
    ('\U0003316b', '')
    """

    def is_recent(code_point: int) -> bool:
        is_none = code_point & 0xFFFE == 0xFFFE or 0xFDD0 <= code_point <= 0xFDEF
        versions = {category(code_point), unicodedata.category(chr(code_point))}
        return not is_none and (len(versions) > 1 or versions == {"Cn"})

    return next((each for each in text if is_recent(ord(each))), "")


def fitting_rules(
    op: str, profile: str, request: Mapping[str, Any], out: Mapping[str, Any] | None
) -> list[str]:
    """Return the rules with one other choice that give this answer, with engines that use them.

    >>> row = {"logits": {"f32": "3f8000003f80000000000000"}, "params": {"k": 1}}
    >>> fitting_rules("top_k", "standard", row, {"keep": [1]})
    ['ties.highest-id']
    """
    found = []
    for (point, choice), name in fitting_choices(op, profile, request, out).items():
        engines = [
            each.name
            for each in PROFILES.values()
            if any(s.step == op and s.choices.get(point) == choice for s in each.stages)
        ]
        found.append(f"{name} (of {', '.join(engines)})" if engines else name)
    return found


def print_question(console: Console, outcome: Outcome) -> None:
    """Print one question and its outcome."""
    question = outcome.question
    of = [] if question.subject is SAMPLERS else [("of", question.name or "a random one")]
    lines = [
        ("op", question.op),
        ("profile", question.profile),
        *of,
        ("in", readable_json(dict(question.request), _WIDEST)),
        ("expected", readable_json(said(outcome.right), _WIDEST)),
        ("got", readable_json(said(outcome.got), _WIDEST)),
        ("outcome", outcome.fate),
    ]
    print_labelled(console, lines, indent=0, width=10)


def _got(finding: Finding) -> Iterator[tuple[str, str]]:
    """Yield the answer and where it first differs if that is known, or why there is no answer."""
    parts = dict(split_detail(finding.detail))
    if finding.got.keys() & {"ok", "err"}:
        yield "got", readable_json(finding.got, _WIDEST)
        if "at" not in parts:
            yield "says", finding.detail
        else:
            yield "first", f"{parts['at']}: expected {parts['expected']}, got {parts['got']}"
    else:
        yield "got", finding.detail


def _about(subject: Mapping[str, Any]) -> str:
    if "vocabulary" not in subject:
        return str(subject["name"])
    content = subject["vocabulary"]
    tokens = [bytes.fromhex(spelled) for spelled, *_ in content["tokens"]]
    shown = ", ".join(map(repr, tokens[:12])) + (", ..." if len(tokens) > 12 else "")
    pattern = "" if content["pattern"] is None else f", pattern {content['pattern']!r:.40}"
    return f"a vocabulary by {content['rule']} of {len(tokens)} tokens: {shown}{pattern}"


def again(plan: Plan, *which: object) -> str:
    """Return the command with these options that asks questions of a campaign again."""
    return shlex.join(["tokenref", "fuzz", *plan.again, "--seed", *map(str, (plan.seed, *which))])


def print_summary(
    console: Console, journal: Journal, bugs: Sequence[LikelyBug], sentence: str
) -> None:
    """Print the number of questions by operation and outcome, why some have no answer, and more."""
    plan, counts = journal.plan, journal.counts()
    shown = [
        fate
        for fate in _FATES
        if fate in {"same", "failed"} or any(fate in each for each in counts.values())
    ]
    rows = {op: counts[op] for op in OPS if op in counts}
    if len(rows) > 1:
        rows["all"] = {fate: sum(each.get(fate, 0) for each in counts.values()) for fate in _FATES}
    table = counts_table(["operation"], ["questions", *shown])
    for name, row in rows.items():
        cells = [count_cell(row.get(fate, 0), _FATES[fate]) for fate in shown]
        table.add_row(Text(name), f"{sum(row.values()):,}", *cells)
    console.print()
    console.print(table)
    unasked = [op for op in plan.selection.ops if op not in counts and "--op" in plan.again]
    if unasked:
        said = f"no question was asked about {', '.join(unasked)}: ask more, or nothing else"
        print_line(console, said, "yellow", above="\n")
    if any(each.get("known") for each in counts.values()):
        own = dict(pairwise(plan.again)).get("--known", "")
        where = own or "tokenref show docs/differences.md"
        said = f"known: failures like those of known differences ({where}); --all"
        said += " instead of --known" * bool(own)
        print_line(console, f"{said} shows them too", "dim", above="\n")
    if any(each.get("failed") for each in counts.values()):
        said = "failed: questions. Of each 16, the first of each kind was shrunk to a finding"
        print_line(
            console, f"{said}; findings that look alike are one likely bug", "dim", above="\n"
        )
    if plan.ids_only and "tokenize" in plan.selection.ops:
        print_line(console, ONLY_IDS, "dim", above="\n")
    declined = {f"{op}: {why}": n for op, of in journal.declined().items() for why, n in of.items()}
    if declined:
        count = _counted(sum(declined.values()), "question")
        title = f"unsupported: {count} that the program declined"
        print_reasons(console, title, Counter(dict(sorted(declined.items()))), "other reasons")
    for groups in journal.incidents().values():
        group, said = groups[0]
        often = f"{len(groups):,} times, the first time: " if len(groups) > 1 else ""
        print_line(console, f"{often}{without_log(said)}", "red", above="\n")
        # the group alone is the last shard of a campaign that ends with it
        end = min(GROUP * (group + 1), plan.cases or inf)
        alone = again(plan, "--cases", end, "--shard", f"{group + 1}/{group + 1}")
        of_them = f"{GROUP * group:,} to {end - 1:,}"
        print_labelled(console, [("questions", of_them), ("again", alone)], indent=2, width=11)
    found = sentence_of(len(bugs), len(journal.findings))
    print_line(console, f"{found}; {sentence}", above="\n")


_SHOWN: Final = 3
"""How many ids and profiles are listed; the others are counted."""


def print_bugs(
    console: Console, bugs: Sequence[LikelyBug], plan: Plan, shown: Collection[str] = ()
) -> None:
    """Print the simplest finding of each bug, unless its sum is in `shown`, then a list of bugs."""
    for bug in bugs:
        if bug.first.sum not in shown:
            print_finding(console, bug.first, plan)
    if not bugs:
        return
    console.print(Text(f"\n{_counted(len(bugs), 'likely bug')}, the simplest question of each:"))
    for bug in bugs:
        for place, line in enumerate(_lines(bug)):
            console.print(Text("    " * bool(place) + "  " + visible(line)), soft_wrap=True)


def sentence_of(bugs: int, findings: int) -> str:
    """Return how much was found.

    >>> sentence_of(1, 1), sentence_of(2, 1007)
    ('1 likely bug (1 finding)', '2 likely bugs (1,007 findings)')
    """
    return f"{_counted(bugs, 'likely bug')} ({_counted(findings, 'finding')})"


def _counted(number: int, name: str) -> str:
    return f"{number:,} {name}" if number == 1 else f"{number:,} {name}s"


def _lines(bug: LikelyBug) -> list[str]:
    first = bug.first
    status, *where = disagreement(first)
    often = " intermittently" if first.now_and_then else ""
    often = " after other questions" if first.only_later else often
    how = f"{status}{often}{' at' if len(where) > 1 else ':'} {where[-1]}"
    perhaps = f", perhaps the listed {first.perhaps!r}" if first.perhaps else ""
    lines = [f"{first.record['id']}  {how}{perhaps}"]
    if bug.others:
        ids = [str(finding.record["id"]) for finding in bug.others]
        lines.append(f"{_counted(len(ids), 'more finding')} like it: {_some(ids)}")
    if len(bug.profiles) > 1:
        lines.append(f"under {len(bug.profiles):,} profiles: {_some(bug.profiles)}")
    return lines


def _some(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
