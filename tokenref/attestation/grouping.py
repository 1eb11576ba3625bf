"""Records in groups, as the page of what is not confirmed lists them."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from tokenref.attestation.engines import Said
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


def largest_first(
    groups: Mapping[tuple[str, ...], list[Case]],
) -> list[tuple[tuple[str, ...], list[Case]]]:
    """Return groups by falling size, those of one size by what they have in common.

    >>> largest_first({("b",): [], ("a",): []})
    [(('a',), []), (('b',), [])]
    """
    return sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))


def folded(cases: Sequence[Case]) -> list[str]:
    """Return the ids, those of one file on one line."""
    files: dict[str, list[str]] = {}
    for case in cases:
        topic, _, slug = case.id.rpartition("/")
        files.setdefault(topic, []).append(slug)
    return [f"{topic}/  {' '.join(slugs)}" for topic, slugs in files.items()]
