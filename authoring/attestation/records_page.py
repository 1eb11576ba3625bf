"""The page that lists the records of each rule: by the section that they cite, then by profile."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from tokenref.record import Case

_HEAD: Final = """\
# The records of each rule

The `spec` of a record cites the section that states its rule. This page lists the records of each
section, by profile, which names the rule or the engine. Ids that begin alike are listed together:
`bpe/limit/cutting/` followed by `one` stands for `bpe/limit/cutting/one`. `tokenref show ID` prints
a record. Written by `python -m authoring attest`.
"""


def records_page(cases: Iterable[Case]) -> str:
    """Return the page.

    >>> print(records_page([]).splitlines()[0])
    # The records of each rule
    """
    sections: dict[str, dict[str, dict[str, list[str]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for case in cases:
        folder, _, slug = case.id.rpartition("/")
        sections[case.spec][case.profile][folder].append(slug)
    lines = [_HEAD]
    for spec, profiles in sorted(sections.items()):
        lines.append(f"## [{spec}]({spec.removeprefix('docs/')})\n")
        for profile, folders in sorted(profiles.items()):
            count = sum(map(len, folders.values()))
            lines.append(f"`{profile}`, {count:,} record{'s' * (count != 1)}:\n")
            for folder, slugs in sorted(folders.items()):
                lines.append(f"* `{folder}/`: {', '.join(f'`{slug}`' for slug in sorted(slugs))}")
            lines.append("")
    return "\n".join(lines)
