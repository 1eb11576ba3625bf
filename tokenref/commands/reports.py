"""Options that ask for reports besides what is printed, and making these."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

from tokenref.catalogue import Catalogue
from tokenref.commands.paths import FILE, must_be_writable, write
from tokenref.reports.changes import Change, changes, notes, print_changes
from tokenref.reports.reading import Results, read_results

_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class Wanted:
    """The reports that were asked for."""

    html: Path | None = None
    junit: Path | None = None
    old: Results | None = None
    """The run that this one is compared with."""

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is asked for.

        >>> Wanted().is_nothing
        True
        """
        return self == Wanted()

    def make(
        self,
        files: Sequence[Results],
        catalogue: Catalogue,
        said: Sequence[str] = (),
        pages: str | None = None,
    ) -> list[Change] | None:
        """Write the files. Print and return what changed, if there is an old run.

        `said` are sentences about the runs for the top of every report, `pages` the address of the
        pages that records cite.
        """
        changed = None
        if self.old is not None:
            changed = list(changes(self.old, files))
            said = [*said, *notes(self.old, files)]
        if self.junit is not None:
            from tokenref.reports.junit import junit_report

            write(junit_report(files), self.junit)
        if self.html is not None:
            from tokenref.reports.html.page import (
                html_report,
                pages_beside,
            )

            if pages is None:
                pages = pages_beside(self.html, catalogue.folder)
            page = html_report(files, catalogue, notes=said, pages=pages, changes=changed)
            write(page, self.html)
        console = Console()
        for sentence in said:
            console.print(sentence, style="yellow", markup=False, highlight=False, soft_wrap=True)
        if changed is not None:
            print_changes(console, changed)
        return changed

    def make_of(self, data: bytes, catalogue: Catalogue, codes: Sequence[int]) -> list[int]:
        """Make them of a results file that was not written yet.

        `codes` are the exit codes of its runs. Compared with an old run, old failures are none.
        """
        if self.is_nothing:
            return list(codes)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "results.jsonl"
            write(data, path)
            changed = self.make([read_results(path)], catalogue)
        return list(codes) if changed is None else [with_changes(code, changed) for code in codes]


def with_changes(code: int, changed: Sequence[Change]) -> int:
    """Return an exit code where only changes count: 1 for new failures; 3 stays.

    >>> with_changes(1, []), with_changes(3, [])
    (0, 3)
    """
    return code if code > 1 else int(any(change.kind == "new failure" for change in changed))


def report_options(command: _Command) -> _Command:
    """Add the options to a command, which is given them as `reports`."""

    @wraps(command)
    def with_reports(
        *args: Any,
        html_path: Path | None,
        junit_path: Path | None,
        old_path: Path | None,
        **others: Any,
    ) -> Any:
        for path in (html_path, junit_path):
            if path is not None:
                must_be_writable(path)
        old = None if old_path is None else read_results(old_path)
        return command(*args, reports=Wanted(html_path, junit_path, old), **others)

    decorated: Any = with_reports
    for name, parameter, text in reversed(
        (
            ("--html", "html_path", "Write a page to look at, to search and to pass on."),
            ("--junit", "junit_path", "Write JUnit XML."),
            ("--only-changes", "old_path", "Print only what differs from these results."),
        )
    ):
        decorated = click.option(name, parameter, type=FILE, help=text)(decorated)
    result: _Command = decorated
    return result
