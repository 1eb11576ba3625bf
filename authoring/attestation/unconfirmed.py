"""The page of what no real engine confirms: counts, and ids where an engine had a say."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from authoring.attestation.engines import SAMPLERS, Said, is_confirmed, is_contradicted, said_of
from authoring.attestation.grouping import grouped, is_unasked, listed
from authoring.attestation.unconfirmed_samplers import (
    profiles_section,
    rules_section,
    unasked_section,
)
from tokenref.catalogue import Catalogue
from tokenref.known import Known
from tokenref.record import Case, op_of
from tokenref.reports.results import UNJUDGED
from tokenref.runner import Run


def unconfirmed_page(runs: Sequence[Run], catalogue: Catalogue, known: Sequence[Known]) -> str:
    """Return the page."""
    said = said_of(runs)
    cases = [case for case in catalogue.cases if case.id in said]
    tokenizers = [case for case in cases if case.vocab is not None]
    samplers = [case for case in cases if case.vocab is None]
    engines = ", ".join(f"{run.engine} {run.version}" for run in runs)
    lines = [
        "# What no real engine confirms",
        "",
        f"This page lists the records that no engine confirms. Engines tested: {engines}.",
        "Written by `python -m authoring attest`.",
        "",
        "| records | all | confirmed by at least one | answered differently by each | not tested |",
        "| --- | ---: | ---: | ---: | ---: |",
        _sums("about tokenizers", tokenizers, said),
        _sums("about samplers", samplers, said),
        "",
        "A record that is not confirmed rests on the definition alone. Records about samplers also",
        "rest on the profiles, which were compared with their engines where these can be run: see",
        "[findings.md](findings.md).",
        "",
        *_contradicted(cases, said, known),
        *_tokenizers(tokenizers, said),
        *profiles_section(samplers, said),
        *rules_section(samplers, said),
        *unasked_section(samplers, said),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _sums(name: str, cases: Sequence[Case], said: Mapping[str, Sequence[Said]]) -> str:
    confirmed = sum(is_confirmed(said[case.id]) for case in cases)
    contradicted = sum(is_contradicted(said[case.id]) for case in cases)
    counts = (len(cases), confirmed, contradicted, len(cases) - confirmed - contradicted)
    return f"| {name} | {' | '.join(f'{count:,}' for count in counts)} |"


def _contradicted(
    cases: Sequence[Case], said: Mapping[str, Sequence[Said]], known: Sequence[Known]
) -> list[str]:
    """List the records that engines answer, and none of them as the record says."""
    groups: dict[tuple[str, ...], list[Case]] = defaultdict(list)
    for case in cases:
        if is_contradicted(said[case.id]):
            answered = [one for one in said[case.id] if one.status not in UNJUDGED]
            titles = tuple(f"{one.engine}: {_title(one, case, known)}" for one in answered)
            groups[titles].append(case)
    return [
        "## Answered differently by each engine",
        "",
        "Every engine that answers these records has a known difference there: see",
        "[differences.md](differences.md).",
        "",
        *listed(groups),
    ]


def _title(said: Said, case: Case, known: Sequence[Known]) -> str:
    titles = (entry.title for entry in known if entry.covers(said.engine, case.id))
    return next(titles, said.reason)


def _tokenizers(cases: Sequence[Case], said: Mapping[str, Sequence[Said]]) -> list[str]:
    """Say, per operation, how many records nobody could be asked, and why."""
    lines = [
        "## Tokenizers: not tested",
        "",
        "| operation | records | not tested | because the engine |",
        "| --- | ---: | ---: | --- |",
    ]
    by_op = grouped(cases, op_of)
    for op, group in by_op.items():
        left = [case for case in group if is_unasked(said[case.id])]
        if left:
            reasons = _reasons(left, said)
            lines.append(f"| `{op}` | {len(group):,} | {len(left):,} | {reasons} |")
    return [*lines, ""]


def _reasons(cases: Sequence[Case], said: Mapping[str, Sequence[Said]]) -> str:
    """Return all reasons, the most frequent first, each with the engines that have it."""
    counts: Counter[str] = Counter()
    engines: dict[str, dict[str, None]] = defaultdict(dict)
    for case in cases:
        for one in said[case.id]:
            if one.engine not in SAMPLERS:
                counts[one.reason] += 1
                engines[one.reason][one.engine] = None
    ordered = sorted(counts, key=lambda text: (-counts[text], text))
    return "; ".join(f"{text} ({', '.join(engines[text])})" for text in ordered)
