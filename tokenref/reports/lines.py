"""A run as JSON lines: a header, one line per case, a footer.

The footer says that the report is complete. A report without one, or whose
footer counts other cases than stand above it, proves nothing.
"""

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256

from tokenref.catalogue import Catalogue
from tokenref.manifest import dump_manifest
from tokenref.record import canonical_json
from tokenref.runner import Run


def dump_report(runs: Sequence[Run], catalogue: Catalogue, selection: str) -> bytes:
    """Return the report of one or more runs over the same selection."""
    lines: list[dict[str, object]] = [
        {
            "kind": "header",
            "format": 1,
            "fixtures": f"sha256:{sha256(dump_manifest(catalogue.manifest)).hexdigest()}",
            "selection": selection,
            "engines": [{"name": run.engine, "version": run.version} for run in runs],
            "cases": sum(run.selected for run in runs),
        }
    ]
    for run in runs:
        for result in run.results:
            line: dict[str, object] = {
                "kind": "case",
                "engine": run.engine,
                "id": result.case.id,
                "status": result.judgement.status,
                "microseconds": round(result.milliseconds * 1000),
            }
            if result.judgement.detail:
                line["detail"] = result.judgement.detail
            lines.append(line)
    for run in runs:
        statuses = Counter(result.judgement.status for result in run.results)
        lines.append(
            {
                "kind": "engine",
                "engine": run.engine,
                "statuses": dict(statuses),
                "trouble": run.trouble,
                "stale": run.stale,
                "exit": run.exit_code,
            }
        )
    lines.append(
        {
            "kind": "footer",
            "cases": sum(len(run.results) for run in runs),
            "complete": all(run.is_valid for run in runs),
        }
    )
    return b"".join(canonical_json(line) + b"\n" for line in lines)
