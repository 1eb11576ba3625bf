"""What no engine confirms about samplers: engines that are described, rules, single records."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from authoring.attestation.engines import Said, is_confirmed
from authoring.attestation.grouping import grouped, is_unasked, listed
from sampling_ref import PROFILES
from tokenref.record import Case, op_of
from tokenref.reports.results import UNJUDGED


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
