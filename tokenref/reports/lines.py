"""Results as JSON lines: a header, one line per case or engine, a footer.

The footer marks the file as complete. A file without a footer, or whose footer counts other cases
than the lines above it, proves nothing.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from importlib.metadata import version
from itertools import chain
from typing import Final

import msgspec

from tokenref.corpus import Comparison, CorpusResult, Tokens, corpus_exit_code
from tokenref.diagnosis import Result
from tokenref.known import Known, differences_of
from tokenref.record import canonical_json, op_of
from tokenref.reports.results import (
    FORMAT,
    CaseLine,
    EngineEntry,
    EngineLine,
    Footer,
    Header,
    KnownEntry,
    bounded,
    plain,
)
from tokenref.runner import Run

_STAGE: Final = re.compile(r"stage ([^ ,]+), ")
"""How the detail of a case begins if the first difference is in a stage."""


def dump_report(
    runs: Sequence[Run], about: Mapping[str, object], known: Sequence[Known] = ()
) -> bytes:
    """Return the results file of one or more runs of the same selection.

    `about` is what the header contains besides the engines: the records and the options. `known`
    are the known differences that were considered.
    """
    about_runs = {
        id(entry) for run in runs for entry in differences_of(known, run.engine, run.version)
    }
    header = Header(
        format=FORMAT,
        cases=sum(run.selected for run in runs),
        engines=[entry_of(run) for run in runs],
        tokenref=version("tokenref"),
        known=f"sha256:{sha256(canonical_json(msgspec.to_builtins(known))).hexdigest()}",
        differences=[
            KnownEntry(engine=entry.engine, title=entry.title, reason=entry.reason, link=entry.link)
            for entry in known
            if id(entry) in about_runs
        ],
    )
    cases = (plain(case_line(run, result, known)) for run in runs for result in run.results)
    engines = [plain(engine_line(run)) for run in runs]
    footer = Footer(
        cases=sum(len(run.results) for run in runs),
        statuses=dict(Counter(r.judgement.status for run in runs for r in run.results)),
        complete=bool(runs) and all(run.is_valid for run in runs),
    )
    return _json_lines(chain([{**plain(header), **about}], cases, engines, [plain(footer)]))


def entry_of(run: Run) -> EngineEntry:
    """Return the entry of a run's engine in the header."""
    return EngineEntry(
        name=bounded(run.engine),
        version=bounded(run.version),
        again=[*map(bounded, run.again)],
        command=run.command,
    )


def engine_line(run: Run) -> EngineLine:
    """Return the totals of a run."""
    trouble = [bounded(sentence) for sentence in run.trouble]
    if len(run.results) != run.selected:
        trouble.append(f"{run.selected:,} cases were selected, {len(run.results):,} have a result")
    return EngineLine(
        engine=bounded(run.engine),
        statuses=dict(Counter[str](result.judgement.status for result in run.results)),
        trouble=trouble,
        stale=run.stale,
        exit=run.exit_code,
        incidents=[*map(bounded, run.incidents)],
        restarts=run.restarts,
        causes={each.name: each.sentence for each in run.diagnoses},
    )


def case_line(run: Run, result: Result, known: Sequence[Known] = ()) -> CaseLine:
    """Return the result of one case. The title of a known difference is found in `known`."""
    case, judgement = result.case, result.judgement
    detail, remark, title = judgement.detail, judgement.remark, ""
    if judgement.status in {"xfail", "xpass"}:
        entries = differences_of(known, run.engine, run.version)
        titles = (entry.title for entry in entries if entry.covers(run.engine, case.id))
        title = next(titles, "")
    if judgement.status == "xfail" and title:
        detail, remark = remark, ""  # the header contains the reason, once
    stage = _STAGE.match(detail)
    return CaseLine(
        engine=bounded(run.engine),
        id=case.id,
        op=op_of(case),
        status=judgement.status,
        microseconds=round(result.milliseconds * 1000),
        detail=bounded(detail),
        stage=stage[1] if stage else "",
        got=bounded(result.got),
        log=bounded(result.log, end=True),
        remark=bounded(remark),
        ulp=judgement.ulp,
        known=title,
        cause=run.causes.get(case.id, ""),
    )


def dump_corpus_report(compared: Comparison, about: Mapping[str, object]) -> bytes:
    """Return the report of a compared text; `about` as in `dump_report`."""
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
        "complete": corpus_exit_code(results) in {0, 1},
    }
    return _json_lines([header, *map(_corpus_line, results), footer])


def _corpus_line(result: CorpusResult) -> dict[str, object]:
    """Return the result of the text with one engine."""
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
    """Return tokens as id and bytes in hex; null for an unknown id."""
    return [[token, None if content is None else content.hex()] for token, content in tokens]


def _json_lines(lines: Iterable[Mapping[str, object]]) -> bytes:
    return b"".join(canonical_json(line) + b"\n" for line in lines)
