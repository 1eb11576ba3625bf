"""The tables that the README shows: how the records fared with each engine."""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from authoring.attestation.engines import SAMPLERS
from authoring.attestation.parts import with_part
from tokenref.catalogue import Catalogue
from tokenref.record import Case
from tokenref.reports.results import UNJUDGED
from tokenref.runner import Run

VOCABULARIES: Final = ("cl100k_base", "o200k_base")
"""The vocabularies that have a row of their own."""

START: Final = "<!-- what real engines say: written by `python -m authoring attest` -->"

_COUNTED: Final[Sequence[tuple[str, AbstractSet[str]]]] = (
    ("agree", frozenset({"pass"})),
    ("known differences", frozenset({"xfail"})),
    ("not tested", UNJUDGED),
)
"""An engine that fails a record otherwise is never written down: `attest` refuses."""


def with_tables(readme: str, runs: Sequence[Run], catalogue: Catalogue) -> str:
    """Return the README with its tables replaced. Raises `AttestationError` if it has no place."""
    return with_part("README.md", readme, START, _tables(runs, catalogue))


def _tables(runs: Sequence[Run], catalogue: Catalogue) -> list[str]:
    names = [name for name, _ in _COUNTED]
    numbers = " ---: |" * (len(names) + 1)
    tokenizers = [
        f"| tokenizer | vocabulary | records | {' | '.join(names)} |",
        f"| --- | --- |{numbers}",
    ]
    samplers = [f"| sampler | records | {' | '.join(names)} |", f"| --- |{numbers}"]
    for run in runs:
        label = f"{run.engine} {run.version}"
        if run.engine in SAMPLERS:
            samplers.append(f"| {label} | {_cells(run, lambda case: case.vocab is None)} |")
            continue
        for name in VOCABULARIES:
            cells = _cells(run, _of_vocabulary(catalogue, name))
            tokenizers.append(f"| {label} | `{name}` | {cells} |")
        tokenizers.append(f"| {label} | all | {_cells(run, lambda case: case.vocab is not None)} |")
    return [*tokenizers, "", *samplers, ""]


def _of_vocabulary(catalogue: Catalogue, name: str) -> Callable[[Case], bool]:
    return lambda case: case.vocab is not None and catalogue.name(case.vocab) == name


def _cells(run: Run, wanted: Callable[[Case], bool]) -> str:
    """Return the number of such records, and how many ended how; nothing for none."""
    statuses = [result.judgement.status for result in run.results if wanted(result.case)]
    counts = [sum(status in ended for status in statuses) for _, ended in _COUNTED]
    return " | ".join(f"{count:,}" if count else "" for count in (len(statuses), *counts))
