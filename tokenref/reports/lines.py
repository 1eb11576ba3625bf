"""A run as JSON lines: a header, one line per case or engine, a footer.

The footer says that the report is complete. A report without one, or whose
footer counts other cases than stand above it, proves nothing.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from tokenref.corpus import Comparison, CorpusResult, Tokens
from tokenref.record import canonical_json
from tokenref.reports.corpus import exit_code
from tokenref.runner import Run


def dump_report(runs: Sequence[Run], about: Mapping[str, object]) -> bytes:
    """Return the report of one or more runs over the same selection.

    `about` is what the header says besides the engines: which records, and
    which options were given.
    """
    lines: list[dict[str, object]] = [
        {
            "kind": "header",
            "format": 1,
            **about,
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
    statuses: Counter[str] = Counter()
    for run in runs:
        of_run = Counter[str](result.judgement.status for result in run.results)
        statuses += of_run
        lines.append(
            {
                "kind": "engine",
                "engine": run.engine,
                "statuses": dict(of_run),
                "trouble": run.trouble,
                "stale": run.stale,
                "exit": run.exit_code,
            }
        )
    lines.append(
        {
            "kind": "footer",
            "cases": sum(len(run.results) for run in runs),
            "statuses": dict(statuses),
            "complete": bool(runs) and all(run.is_valid for run in runs),
        }
    )
    return _json_lines(lines)


def dump_corpus_report(compared: Comparison, about: Mapping[str, object]) -> bytes:
    """Return the report of a text that was compared whole; `about` as in `dump_report`."""
    results = compared.results
    header = {
        "kind": "header",
        "format": 1,
        **about,
        "text": {"bytes": compared.text_bytes, "sha256": compared.text_sha256},
        "vocab": compared.vocabulary_digest,
        "engines": [{"name": result.engine, "version": result.version} for result in results],
    }
    footer = {
        "kind": "footer",
        "engines": len(results),
        "statuses": dict(Counter(result.status for result in results)),
        "complete": exit_code(results) in {0, 1},
    }
    return _json_lines([header, *map(_corpus_line, results), footer])


def _corpus_line(result: CorpusResult) -> dict[str, object]:
    """Return what became of the text with one engine."""
    line: dict[str, object] = {
        "kind": "engine",
        "engine": result.engine,
        "status": result.status,
        "tokens": result.tokens,
        "microseconds": round(result.seconds * 1_000_000),
    }
    if result.detail:
        line["detail"] = result.detail
    found = result.difference
    if found is not None:
        line["difference"] = {
            "line": found.line,
            "byte": found.byte,
            "expected": _tokens(found.expected),
            "got": _tokens(found.got),
        }
        line["smallest"] = found.smallest or None
    return line


def _tokens(tokens: Tokens) -> list[list[int | str | None]]:
    """Return tokens as id and bytes in hex; null for an id that is no token's."""
    return [[token, None if content is None else content.hex()] for token, content in tokens]


def _json_lines(lines: Iterable[Mapping[str, object]]) -> bytes:
    return b"".join(canonical_json(line) + b"\n" for line in lines)
