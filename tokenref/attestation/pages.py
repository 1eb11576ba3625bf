"""What real engines say about the golden records, as pages of the documentation.

A record that a real engine confirms is worth more than one that only the
reference vouches for. So the real engines are run over all records, and what
comes out is written down: which records none of them could confirm, and why;
where they are known to differ; and the counts that the README shows.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from tokenref.catalogue import Catalogue
from tokenref.judge import Status
from tokenref.known import Known
from tokenref.record import Case
from tokenref.runner import Run

REAL_ENGINES: Final = ("tiktoken", "tokenizers", "bpe-openai", "rs-bpe")

README_VOCABULARIES: Final = ("cl100k_base", "o200k_base")

README_START: Final = "<!-- what real engines say: written by `tokenref attest` -->"
README_END: Final = "<!-- end -->"

_COUNTED: Final[Sequence[tuple[str, tuple[Status, ...]]]] = (
    ("agree", ("pass",)),
    ("known differences", ("xfail",)),
    ("failures", ("fail", "wrong_error", "crash", "xpass")),
    ("not expressible", ("unsupported",)),
)


class AttestationError(Exception):
    """The attestation cannot be made here."""


def pages(
    runs: Sequence[Run], catalogue: Catalogue, known: Sequence[Known], readme: str
) -> dict[str, str]:
    """Return the content of every page that is written from the runs, by its path."""
    return {
        "README.md": with_table(readme, readme_table(runs, catalogue, README_VOCABULARIES)),
        "docs/differences.md": differences_page(known, runs),
        "docs/unconfirmed.md": unconfirmed_page(runs, catalogue),
    }


def readme_table(runs: Sequence[Run], catalogue: Catalogue, vocabularies: Sequence[str]) -> str:
    """Return the README's table: per engine and vocabulary, how the records fared."""
    lines = [
        README_START,
        "",
        "| engine | vocabulary | records | " + " | ".join(name for name, _ in _COUNTED) + " |",
        "| --- | --- |" + " ---: |" * (len(_COUNTED) + 1),
    ]
    for run in runs:
        for name in (*vocabularies, ""):
            results = [
                result
                for result in run.results
                if not name or catalogue.name(result.case.vocab) == name
            ]
            counts = [
                sum(result.judgement.status in statuses for result in results)
                for _, statuses in _COUNTED
            ]
            cells = [f"{count:,}" if count else "" for count in (len(results), *counts)]
            label = f"`{name}`" if name else "all"
            lines.append(f"| {run.engine} {run.version} | {label} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", README_END])


def with_table(readme: str, table: str) -> str:
    r"""Return the README with its table replaced. Raises `AttestationError` if it has no place.

    >>> with_table(f"a\n{README_START}\nold\n{README_END}\nb", "new")
    'a\nnew\nb'
    """
    start, end = readme.find(README_START), readme.find(README_END)
    if not 0 <= start < end:
        raise AttestationError(
            f"README.md must hold the line {README_START} and, later, {README_END}"
        )
    return readme[:start] + table + readme[end + len(README_END) :]


def unconfirmed_page(runs: Sequence[Run], catalogue: Catalogue) -> str:
    """Return the page that lists the records which no real engine could confirm."""
    said: dict[str, list[str]] = defaultdict(list)
    confirmed: set[str] = set()
    for run in runs:
        for result in run.results:
            if result.judgement.status == "pass":
                confirmed.add(result.case.id)
            else:
                said[result.case.id].append(f"{run.engine}: {_reason(result.judgement.detail)}")
    groups: dict[tuple[str, ...], list[Case]] = defaultdict(list)
    for case in catalogue.cases:
        if case.id not in confirmed:
            groups[tuple(said[case.id])].append(case)
    count = sum(map(len, groups.values()))
    engines = ", ".join(f"{run.engine} {run.version}" for run in runs)
    lines = [
        "# What no real engine confirms",
        "",
        f"Of {len(catalogue.cases):,} golden records, {len(catalogue.cases) - count:,} are",
        f"confirmed by at least one of {engines}. The other",
        f"{count:,} rest on the definition alone; here they are, by what each engine says.",
        "Written by `tokenref attest`.",
        "",
    ]
    for reasons, cases in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        lines += [f"## {len(cases):,} records", "", *(f"- {reason}" for reason in reasons), ""]
        lines += ["```text", *_folded(cases), "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def differences_page(known: Sequence[Known], runs: Sequence[Run]) -> str:
    """Return the page that lists where real engines are known to differ."""
    lines = [
        "# Where real engines differ",
        "",
        "Each of these is on the list of known differences (`tokenref/known.toml`), which is",
        "strict: a record on it that passes makes a run fail, so the list cannot outlive the",
        "difference. Written by `tokenref attest`.",
        "",
    ]
    versions = {run.engine: run.version for run in runs}
    for entry in known:
        matched = [
            result
            for run in runs
            if run.engine == entry.engine
            for result in run.results
            if result.judgement.status == "xfail" and entry.covers(run.engine, result.case.id)
        ]
        example = f", for example `{matched[0].case.id}`" if matched else ""
        lines += [
            f"## {entry.engine} {versions.get(entry.engine, '')}: {entry.title}".rstrip(),
            "",
            entry.reason,
            "",
            f"{len(matched):,} records ({entry.status}){example}. See <{entry.link}>.",
            "",
        ]
    return "\n".join(lines).rstrip() + "\n"


def _reason(detail: str) -> str:
    """Return what an engine says, without what differs from one record to the next."""
    return detail.removeprefix("known: ").split("\n", 1)[0] or "no reason given"


def _folded(cases: Sequence[Case]) -> list[str]:
    """Return the ids, those of one file on one line."""
    files: dict[str, list[str]] = defaultdict(list)
    for case in cases:
        topic, _, slug = case.id.rpartition("/")
        files[topic].append(slug)
    return [f"{topic}/  {' '.join(slugs)}" for topic, slugs in files.items()]
