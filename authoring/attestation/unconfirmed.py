"""The page of what no real engine confirms: counts, and ids where an engine had a say."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from authoring.attestation.engines import SAMPLERS, Said, is_confirmed, is_contradicted, said_of
from sampling_ref import PROFILES
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


def is_unasked(said: Sequence[Said]) -> bool:
    """Return whether no engine gave an answer.

    >>> is_unasked([Said("one", "unsupported", "has no such operation")])
    True
    """
    return all(one.status in UNJUDGED for one in said)


def grouped(cases: Iterable[Case], key: Callable[[Case], str]) -> dict[str, list[Case]]:
    """Return the records of each key, in their order."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(key(case), []).append(case)
    return groups


def listed(groups: Mapping[tuple[str, ...], Sequence[Case]]) -> list[str]:
    """Return the lines of a page: what the records of a group have in common, then their ids.

    Groups come by falling size, those of one size by what they have in common.

    >>> listed({("b",): [], ("a",): []})
    ['- a', '', '```text', '```', '', '- b', '', '```text', '```', '']
    """
    lines: list[str] = []
    for names, cases in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        lines += [*(f"- {name}" for name in names), "", "```text", *_folded(cases), "```", ""]
    return lines


def _folded(cases: Sequence[Case]) -> list[str]:
    """Return the ids, those of one file on one line."""
    files: dict[str, list[str]] = {}
    for case in cases:
        topic, _, slug = case.id.rpartition("/")
        files.setdefault(topic, []).append(slug)
    return [f"{topic}/  {' '.join(slugs)}" for topic, slugs in files.items()]


def profiles_section(cases: Sequence[Case], said: Mapping[str, Sequence[Said]]) -> list[str]:
    """Say, per engine that is described, how many of its records an engine confirms."""
    lines = [
        "## Samplers: profiles of engines",
        "",
        "| profile | records | confirmed |",
        "| --- | ---: | ---: |",
    ]
    by_profile = grouped(
        (case for case in cases if case.profile in PROFILES), lambda case: case.profile
    )
    for profile, group in sorted(by_profile.items(), key=lambda item: -len(item[1])):
        confirmed = sum(is_confirmed(said[case.id]) for case in group)
        lines.append(f"| {profile} | {len(group):,} | {confirmed:,} |")
    return [*lines, ""]


def rules_section(cases: Sequence[Case], said: Mapping[str, Sequence[Said]]) -> list[str]:
    """Say, per operation, how many of the records about rules an engine confirms."""
    lines = [
        "## Samplers: rules",
        "",
        "| operation | rules | records | confirmed | rules that an engine follows |",
        "| --- | ---: | ---: | ---: | --- |",
    ]
    by_op = grouped((case for case in cases if case.profile not in PROFILES), op_of)
    for op, group in by_op.items():
        rules = dict.fromkeys(case.profile for case in group)
        confirmed = sum(is_confirmed(said[case.id]) for case in group)
        followed = dict.fromkeys(case.profile for case in group if is_confirmed(said[case.id]))
        names = ", ".join(f"`{name}`" for name in followed)
        lines.append(f"| `{op}` | {len(rules)} | {len(group):,} | {confirmed:,} | {names} |")
    return [*lines, ""]


def unasked_section(cases: Sequence[Case], said: Mapping[str, Sequence[Said]]) -> list[str]:
    """List the records nobody could be asked although an engine answers others of their kind."""
    answering: dict[tuple[str, str], set[str]] = defaultdict(set)
    for case in cases:
        for one in said[case.id]:
            if one.status not in UNJUDGED:
                answering[op_of(case), case.profile].add(one.engine)
    groups: dict[tuple[str, ...], list[Case]] = defaultdict(list)
    for case in cases:
        engines = answering[op_of(case), case.profile]
        if engines and is_unasked(said[case.id]):
            asked = [one for one in said[case.id] if one.engine in engines]
            groups[tuple(f"{one.engine}: {one.reason}" for one in asked)].append(case)
    return [
        "## Samplers: not tested, although the engine has the step",
        "",
        "An engine follows the rule or profile of these records, but does not accept their input.",
        "",
        *listed(groups),
    ]
