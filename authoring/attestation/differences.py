"""The page that lists where real engines are known to differ."""

from collections.abc import Sequence

from tokenref.known import Known
from tokenref.runner import Run

_HEAD = """\
# Where real engines differ

This page lists all known differences between real engines and the golden records, from
`tokenref/known.toml`. The list is strict: if a listed record passes, the run fails, so an
entry cannot outlive its difference. Written by `python -m authoring attest`.
"""


def differences_page(known: Sequence[Known], runs: Sequence[Run]) -> str:
    """Return the page."""
    lines = [_HEAD]
    for run in runs:
        entries = [entry for entry in known if entry.engine == run.engine]
        if not entries:
            lines += [f"## {run.engine} {run.version}", "", "No differences are known.", ""]
        # Of several entries that match a record the first one counts.
        ids: dict[str, list[str]] = {entry.title: [] for entry in entries}
        for result in run.results:
            if result.judgement.status == "xfail":
                case_id = result.case.id
                title = next(e.title for e in entries if e.covers(run.engine, case_id))
                ids[title].append(case_id)
        for entry in entries:
            found = ids[entry.title]
            example = f", for example `{found[0]}`" if found else ""
            records = f"{len(found):,} record{'s' * (len(found) != 1)}"
            lines += [
                f"## {run.engine} {run.version}: {entry.title}",
                "",
                entry.reason,
                "",
                f"{records} ({entry.status}){example}. See <{entry.link}>.",
                "",
            ]
    return "\n".join(lines).rstrip() + "\n"
