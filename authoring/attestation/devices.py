"""The record of the page about devices: how the kernels of torch fared, by type of number."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from authoring.attestation.parts import with_part
from tokenref.floats import TYPES, type_of
from tokenref.record import Case
from tokenref.reports.results import UNJUDGED
from tokenref.runner import Run

ENGINES: Final = ("torch", "transformers")
"""The engines that run on any device of PyTorch."""

START: Final = "<!-- on the processor: written by `python -m authoring attest` -->"


def with_processor(page: str, runs: Sequence[Run]) -> str:
    """Return the page about devices with the processor's table replaced.

    Raises `AttestationError` if it has no place.
    """
    lines = [
        "| engine | numbers | tested | agree | known differences |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for run in runs:
        if run.engine not in ENGINES:
            continue
        counts: dict[str, Counter[str]] = {name: Counter() for name in (*TYPES, "none")}
        for result in run.results:
            if result.judgement.status not in UNJUDGED:
                counts[numbers_of(result.case)][result.judgement.status] += 1
        for name, ended in counts.items():
            if ended:
                cells = (ended.total(), ended["pass"], ended["xfail"])
                shown = " | ".join(f"{cell:,}" if cell else "" for cell in cells)
                lines.append(f"| {run.engine} {run.version} | {name} | {shown} |")
    return with_part("docs/gpu.md", page, START, [*lines, ""])


def numbers_of(case: Case) -> str:
    """Return the type of the row that a record asks about, or "none" if it has no row.

    Of a batch or a sequence the first row counts.
    """
    return _first_type(msgspec.to_builtins(case.input)) or "none"


def _first_type(value: Any) -> str | None:
    if isinstance(value, list):
        return next(filter(None, map(_first_type, value)), None)
    if not isinstance(value, dict):
        return None
    for name in ("logits", "probs"):
        if name in value:
            return type_of(value[name])
    rows = (value.get(name) for name in ("rows", "calls", "sample"))
    return next(filter(None, map(_first_type, rows)), None)
