"""`tokenref report`: show results that `check --json` wrote."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

import click
from rich.console import Console

from tokenref.catalogue import Catalogue, open_catalogue
from tokenref.commands.endings import on_error, reached
from tokenref.commands.options import ANSWERED_AT_LEAST, Given, given_options
from tokenref.commands.paths import (
    FILE,
    must_be_writable,
    must_not_overwrite,
    options_as,
    output_console,
    write,
)
from tokenref.diagnosis.facts import DIFFERS
from tokenref.errors import InputError
from tokenref.known import Known
from tokenref.protocol.messages import HelloAnswer
from tokenref.record import Case, op_of
from tokenref.record_files import Manifest
from tokenref.reports.changes import WORSE, Change, changes, contradictions, notes, warnings
from tokenref.reports.known_list import UNEXPLAINED, known_list
from tokenref.reports.results import (
    Results,
    badge,
    bounded,
    dump_report,
    merged,
    read_results,
    with_too_few,
)
from tokenref.reports.terminal import print_changes, print_line, print_results
from tokenref.visible import visible


@dataclass(frozen=True)
class Wanted:
    """The requested reports."""

    html: Path | None = None
    junit: Path | None = None
    badge: Path | None = None
    known: Path | None = None
    """A new list of known differences."""

    old: Results | None = None
    """The run to compare with."""

    strict: bool = False
    """Whether another wrong answer than in that run counts, too."""

    _missing: set[Path] = field(default_factory=set, compare=False)
    """The files that this run has not written yet."""

    def begin(
        self, json_path: Path | None, inputs: Mapping[str, Iterable[str | Path | None]]
    ) -> None:
        """Write all files as of a run that did not finish, so that no older ones survive.

        If an error ends the command, those that are still missing get its sentence. The results
        to compare with are kept until there are new ones. `inputs` are the files that each option
        reads.
        """
        reports = {
            "--json": json_path,
            "--html": self.html,
            "--junit": self.junit,
            "--badge": self.badge,
        }
        kept = None if self.old is None else self.old.path.resolve()
        old = [] if self.old is None or self._replaces_old(json_path) else [self.old.path]
        must_not_overwrite(
            reports | {"--write-known": self.known}, {**inputs, "--only-changes": old}
        )
        if json_path is not None:
            must_be_writable(json_path)
        wanted = {*reports.values()}
        self._missing.update(path for path in wanted if path and path.resolve() != kept)
        on_error(partial(self._write_invalid, json_path))
        streams = {path for path in self._missing if path.exists() and not path.is_file()}
        self._missing.difference_update(streams)  # pipes and devices take only one report
        self._write_invalid(json_path, "it did not finish")
        self._missing.update(streams)

    def _replaces_old(self, json_path: Path | None) -> bool:
        """Return whether the results are written to the file that they are compared with."""
        if self.old is None or json_path is None:
            return False
        return json_path.resolve() == self.old.path.resolve()

    def keep_old(
        self,
        json_path: Path | None,
        engines: Container[str],
        cases: Sequence[Case],
        catalogue: Catalogue,
        *,
        own: bool,
    ) -> None:
        """Raise `InputError` if results of these engines and cases would replace those of more.

        Records that do not exist any more are no loss. `own` is whether these are a user's own.
        """
        if self.old is None or not self._replaces_old(json_path):
            return
        asked = {case.id for case in cases}
        others = {case.id for case in catalogue.cases} - asked
        are_others = bool(self.old.header.records) != own
        lost = sum(
            line.id in others or are_others or (line.id in asked and line.engine not in engines)
            for line in self.old.cases()
        )
        if lost:
            raise InputError(
                f"--json must be another file than that of --only-changes, {self.old.path}, "
                f"because {lost:,} of its results are about records or engines that are not run now"
            )

    def _write_invalid(self, json_path: Path | None, sentence: str) -> None:
        """Write what is missing as of a run that `sentence` ended."""
        data = dump_report([], {"trouble": bounded(sentence)})
        results = [read_results(Path("results"), data)]
        if json_path in self._missing and json_path is not None:
            write(data, json_path)
        for path, content in self._contents(results, _NOTHING, warnings(results)):
            if path in self._missing:
                write(content, path)

    def write(self, content: bytes, path: Path) -> None:
        """Write one of the files."""
        write(content, path)
        self._missing.discard(path)

    def write_results(
        self, data: bytes, path: Path | None, records: Container[str] = (), least: int = 0
    ) -> tuple[Results, list[str]]:
        """Write the results of a run, if wanted. Return them, and sentences about the file.

        If they would replace those that they are compared with, these stay after an invalid run,
        and after a worse one. The other arguments are as for `make`.
        """
        results = read_results(Path("results"), data)
        if path is None:
            return results, []
        if self.old is not None and self._replaces_old(path):
            is_invalid = exit_code([results]) > 1
            code = self._compared(self.old, [results], records)[2] or least
            if is_invalid or (code and self.old.footer.complete):
                why = "is invalid" if is_invalid else "has changes to the worse"
                return results, [f"{path} keeps the results of the run before: this one {why}"]
        self.write(data, path)
        return results, []

    def _compared(
        self, old: Results, files: Sequence[Results], records: Container[str]
    ) -> tuple[list[Change], list[str], int]:
        """Return the changes, sentences about the comparison, and the exit code."""
        changed, found, code = [*changes(old, files, records)], notes(old, files), exit_code(files)
        worse = WORSE | ({"another answer"} if self.strict else set())
        code = code if code > 1 else int(any(change.kind in worse for change in changed))
        return changed, [said for said, _ in found], max(code, *(each for _, each in found), 0)

    def make(
        self,
        files: Sequence[Results],
        catalogue: Catalogue,
        said: Sequence[str] = (),
        pages: str | None = None,
        least: int = 0,
        known: Sequence[Known] = (),
    ) -> tuple[list[Change] | None, int]:
        """Write the reports. If there is an old run, print the changes. Return them, and the code.

        `said` are sentences for the top of every report. `pages` is the address of the pages
        that records cite. The exit code is at least `least`. `known` is the list of known
        differences that a new one continues.
        """
        changed, code = None, exit_code(files)
        said = [*warnings(files), *said]
        if self.old is not None:
            changed, found, code = self._compared(self.old, files, catalogue.records)
            said += found
        for path, content in self._contents(files, catalogue, said, pages, changed):
            self.write(content, path)
        is_same = changed is not None and not code  # also no engine is missing
        code = max(code, least)
        reached(code)
        console = output_console()
        for sentence in [*said, *self._write_known(files, known, catalogue)]:
            print_line(console, sentence, "yellow")
        if changed is not None and (changed or is_same):
            print_changes(console, changed)
        return changed, code

    def _write_known(
        self, files: Sequence[Results], known: Sequence[Known], catalogue: Catalogue
    ) -> Iterator[str]:
        """Write the list of known differences, and yield a sentence about it."""
        sums = [line for results in files for line in results.engines.values()]
        if self.known is None:
            if known and any(line.stale or line.statuses.get("xpass") for line in sums):
                yield "--write-known FILE writes the list of known differences without what passes"
            return
        if not all(results.footer.complete for results in files):
            more = any("(--restarts)" in each for line in sums for each in line.trouble)
            hint = "; with --restarts 1000 it may reach its end" if more else ""
            yield f"{self.known} is not written: the run is invalid{hint}"
            return
        content, kept, not_run, count = known_list(files, known, catalogue.records)
        write(content, self.known)
        new = "new " if known else ""
        said = f"1 {new}entry" if count == 1 else f"{count:,} {new}entries"
        if known:
            as_before = sum(each in known for each in kept)
            shorter, removed = len(kept) - as_before, len(known) - len(kept)
            of_them = f", {len(not_run):,} of them not run" * bool(not_run)
            said += f" (old ones: {as_before:,} kept{of_them}, {shorter:,} shortened, "
            said += f"{removed:,} removed)"
        todo = f"; replace each {UNEXPLAINED!r} by the reason" if count else ""
        if any(DIFFERS in name for line in sums for name in line.causes):
            todo += "; operations whose answers differ are not listed"
        yield f"{self.known} lists the failures in {said}{todo}"

    def _contents(
        self,
        files: Sequence[Results],
        catalogue: Catalogue,
        said: Sequence[str],
        pages: str | None = None,
        changed: Sequence[Change] | None = None,
    ) -> Iterator[tuple[Path, bytes]]:
        """Yield the path and the content of each report."""
        if self.junit is not None:
            from tokenref.reports.junit import junit_report

            yield self.junit, junit_report(files, catalogue)
        if self.badge is not None:
            yield self.badge, badge(files, exit_code(files))
        if self.html is not None:
            from tokenref.reports.html.page import html_report, pages_beside

            if pages is None:
                pages = pages_beside(self.html, catalogue.folder)
            page = html_report(files, catalogue, notes=said, pages=pages, changes=changed)
            yield self.html, page


_EMPTY: Final = ("flags", "files", "vocabularies", "tokenizers", "retired")
_NO_FILES: Final = Manifest(format=1, cases=0, version="0.0.0", **{name: [] for name in _EMPTY})
_NOTHING: Final = Catalogue(Path(), _NO_FILES, [], [])
"""The records of a run that did not begin."""


def _wanted(
    html: Path | None,
    junit: Path | None,
    badge: Path | None,
    known: Path | None,
    old: Path | None,
    *,
    strict: bool,
) -> Wanted:
    """Return the requested reports, after a check that they can be written."""
    for path in (html, junit, badge, known):
        if path is not None:
            must_be_writable(path)
    if known is not None and known.is_file():
        raise InputError(f"--write-known must be a new file, so that no reasons are lost: {known}")
    # Kept in memory, because the run may write its own results to the same path.
    kept = None if old is None else replace(read_results(old), data=old.read_bytes())
    if strict and old is None:
        raise click.UsageError("--other-answers needs --only-changes")
    return Wanted(html, junit, badge, known, kept, strict)


report_options: Final = options_as(
    "reports",
    _wanted,
    html=click.option(
        "--html", type=FILE, help="Write an HTML page with all results, to browse and search."
    ),
    junit=click.option("--junit", type=FILE, help="Write JUnit XML."),
    badge=click.option(
        "--badge", type=FILE, help="Write a badge as JSON, for an endpoint badge of shields.io."
    ),
    known=click.option(
        "--write-known",
        "known",
        type=FILE,
        help="Write the failures to a new list of known differences, whose reasons you fill in.",
    ),
    old=click.option(
        "--only-changes",
        "old",
        type=FILE,
        help="Print only cases whose status differs from these results. Only new failures, lost "
        "answers and unexpected passes count.",
    ),
    strict=click.option(
        "--other-answers",
        "strict",
        is_flag=True,
        help="With --only-changes, wrong answers that are other ones now count, too: a known "
        "difference may hide a new bug.",
    ),
)
"""Adds the options to a command. It receives them as the argument `reports`."""


@click.command()
@click.argument("results", nargs=-1, required=True, type=FILE, metavar="RESULTS.jsonl...")
@report_options
@given_options()
@ANSWERED_AT_LEAST
@click.option(
    "--pages",
    metavar="ADDRESS",
    help="Address of the folder above docs/, for links to the pages that records cite.",
)
@click.pass_context
def report(
    ctx: click.Context,
    results: Sequence[Path],
    given: Given,
    least: int | None,
    pages: str | None,
    reports: Wanted,
) -> None:
    """Show results written by `check --json`.

    The files may be from different engines, or shards of one run. The exit code is that of the
    runs: 0 clean, 1 failures, 3 invalid. With --only-changes it is 1 if there are new failures,
    lost answers, unexpected passes or incidents, and 3 if the old results cannot be compared.
    """
    from tokenref.reports.html.page import is_address

    if pages is not None and not is_address(pages):
        raise InputError(f"--pages must be a path or an http(s) address, got {pages!r}")
    reports.begin(None, {"RESULTS": results, "--records": given.records})
    files = [read_results(path) for path in dict.fromkeys(results)]
    catalogue = given.catalogue()
    digests = {catalogue.digest}
    if given.records and not all(each.header.records for each in files):  # some are of the fixtures
        package = open_catalogue()
        catalogue = replace(catalogue, cases=[*package.cases, *catalogue.cases])
        digests.add(package.digest)
    said = [*_about_records(files, digests, given), *contradictions(files)]
    whole = merged(files)
    files = with_too_few(whole, least)
    changed, code = reports.make(files, catalogue, said, pages, int(files != whole))
    if changed is None:
        print_results(output_console(), files, catalogue)
    ctx.exit(code)


def print_unknown_profiles(
    console: Console, hellos: Iterable[HelloAnswer], cases: Iterable[Case], catalogue: Catalogue
) -> None:
    """Print for which of these operations a program declares only profiles without records.

    Their names may be misspelt.
    """
    from tokenref.doctor.walk import about_hello, profiles_of

    ops = {op_of(case) for case in cases}
    profiles = profiles_of(case for case in catalogue.cases if op_of(case) in ops)
    for hello in hellos:
        for found in about_hello(hello, profiles):
            if found.kind == "problem" and found.about in ops:
                print_line(console, f"{visible(hello.impl.name)}: {visible(found.text)}", "yellow")


def exit_code(files: Sequence[Results]) -> int:
    """Return 3 if a run is invalid, else 1 for failures.

    >>> exit_code([])
    3
    """
    codes = [line.exit for results in files for line in results.engines.values()]
    if not codes or not all(results.footer.complete for results in files):
        return 3
    return max(codes)


def _about_records(files: Sequence[Results], digests: Container[str], given: Given) -> list[str]:
    """Return a sentence for each file that was made with other records than those here."""
    return [
        f"{results.path} contains results for your own records, whose questions and reasons are "
        "not available here; --records with their file shows them"
        if results.header.records and not given.records
        else f"{results.path} was made with other records than those here, so reasons, "
        "questions and flags may be missing or wrong"
        for results in files
        if results.header.engines
        and (results.header.records or results.header.fixtures) not in digests
    ]
