"""Records in groups, as the page of what is not confirmed lists them."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from authoring.attestation.engines import Said
from tokenref.record import Case
from tokenref.reports.results import UNJUDGED


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
