"""Results files to test reports with."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from bpe_ref import vocabulary_by_concatenation
from tokenref.catalogue import Catalogue
from tokenref.judge import FAILURES
from tokenref.questions.text import CountOutput, TextInput
from tokenref.record import Case, canonical_json, make_case
from tokenref.record_files import Manifest, VocabularyEntry
from tokenref.reports.results import CaseLine, EngineEntry, EngineLine, Footer, Header, Line
from tokenref.verdicts import Exact

VOCABULARY: Final = vocabulary_by_concatenation({b"a": 0})
DIGEST: Final = VOCABULARY.digest()


def record(op: str, slug: str, flags: Sequence[str] = (), **changed: Any) -> Case:
    """Return a record that counts a text, whatever its id says."""
    parts: dict[str, Any] = {
        "id": f"bpe/{op}/topic/{slug}",
        "profile": "definition",
        "vocab": DIGEST,
        "why": f"The reason why {slug} is asked.",
        "flags": list(flags),
        "spec": "docs/bpe.md#definition",
        "verdict": Exact(),
        "input": TextInput(text=slug),
        "out": CountOutput(count=1),
    }
    return make_case("count", **{**parts, **changed})


def catalogue(records: Iterable[Case], name: str = "letters") -> Catalogue:
    """Return a catalogue of these records."""
    entry = VocabularyEntry(name=name, digest=DIGEST, path=None, licence="MIT")
    cases = list(records)
    manifest = Manifest(
        format=1,
        cases=len(cases),
        flags=[],
        files=[],
        vocabularies=[entry],
        tokenizers=[],
        retired=[],
        version="1.0.0",
    )
    return Catalogue(Path(), manifest, cases, [])


def line(engine: str, case_id: str, status: str, **more: Any) -> CaseLine:
    """Return a case line; the operation is the one that the id names."""
    parts: dict[str, Any] = {"op": case_id.split("/")[1], "status": status, **more}
    return CaseLine(engine=engine, id=case_id, **parts)


def whole(
    cases: Sequence[CaseLine],
    engines: Sequence[EngineEntry] | None = None,
    sums: Mapping[str, Mapping[str, Any]] | None = None,
    **header: Any,
) -> list[Line]:
    """Return the lines of a file with these case lines, its sums right.

    `sums` are further fields of the sums of some engines.
    """
    names = dict.fromkeys(case.engine for case in cases)
    entries = engines or [EngineEntry(name=name, version="1") for name in names]
    lines: list[Line] = [Header(format=2, cases=len(cases), engines=list(entries), **header)]
    lines += cases
    complete = True
    for entry in entries:
        counts = Counter[str](case.status for case in cases if case.engine == entry.name)
        failed = any(counts[status] for status in FAILURES)
        more = {"trouble": [], "stale": [], "exit": int(failed), **(sums or {}).get(entry.name, {})}
        complete = complete and not more["trouble"]
        lines.append(EngineLine(engine=entry.name, statuses=dict(counts), **more))
    statuses = dict(Counter[str](case.status for case in cases))
    return [*lines, Footer(cases=len(cases), statuses=statuses, complete=complete)]


def write(path: Path, lines: Iterable[Line | Mapping[str, object] | bytes]) -> Path:
    """Write lines to a file, those that are bytes as they are."""
    path.write_bytes(b"".join(map(_encoded, lines)))
    return path


def _encoded(content: Line | Mapping[str, object] | bytes) -> bytes:
    if isinstance(content, bytes):
        return content
    return (
        canonical_json(content if isinstance(content, Mapping) else msgspec.to_builtins(content))
        + b"\n"
    )
