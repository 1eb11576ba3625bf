"""What is done with each group of a campaign that is done: kept, written, shown."""

from collections.abc import Iterable
from typing import Final

from rich.console import Console

from tokenref.fuzzing.findings import Finding
from tokenref.fuzzing.groups import Done
from tokenref.fuzzing.journal import Bug, Footer, Journal, Writer
from tokenref.fuzzing.likely_bugs import LikelyBugs, likely_bugs
from tokenref.fuzzing.printing import Bar, print_finding, print_summary
from tokenref.fuzzing.printing_bugs import print_bugs, sentence_of

ALIKE: Final = 10
"""So many findings for each likely bug that is wanted, and the campaign ends all the same."""


class CampaignRun:
    """A campaign while it runs."""

    def __init__(self, journal: Journal, writer: Writer | None, most: int) -> None:
        """Say what is there already, if anything is. `most` are likely bugs, then it ends."""
        self.trouble = False
        self._journal, self._writer, self._most = journal, writer, most
        self._console = Console()
        self._bugs = LikelyBugs(journal.findings.values())
        self._shown: set[str] = set()
        plan = journal.plan
        groups = None if plan.groups is None else -(-plan.groups // plan.shard.count)
        self._bar = Bar(groups)
        if journal.groups:
            found = sentence_of(len(self._bugs), len(journal.findings))
            self._console.print(
                f"going on after {len(journal.groups):,} groups, {found}", highlight=False
            )

    def take_smaller(self, findings: Iterable[Finding]) -> None:
        """Keep what findings became that a campaign before had not made small."""
        try:
            for finding in findings:
                self._keep(finding)
        finally:
            self._bugs = LikelyBugs(self._journal.findings.values())

    def take(self, done: Done) -> bool:
        """Keep what became of a group; return whether to go on.

        Findings are written before the group is said to be done: if the
        campaign is ended between the two, the group is done once more.
        """
        for finding in done.findings:
            known = self._journal.findings
            if not finding.is_kept(known):
                continue
            is_new = finding.sum not in known
            self._keep(finding)
            if is_new and self._bugs.add(finding):
                self._shown.add(finding.sum)
                print_finding(self._console, finding, self._journal.plan)
        self._journal.add(done.group)
        if self._writer is not None:
            self._writer.write(done.group)
        self.trouble = bool(done.trouble)
        self._bar.show(len(self._journal.groups), len(self._bugs))
        return len(self._bugs) < self._most and len(self._journal.findings) < ALIKE * self._most

    def end(self, why: str) -> None:
        """Say what the campaign was, and keep which findings are likely one bug."""
        self._bar.close()
        bugs = likely_bugs(self._journal.findings.values())
        if self._writer is not None:
            together = [
                Bug(
                    first=str(bug.first.record["id"]),
                    others=[str(other.record["id"]) for other in bug.others],
                )
                for bug in bugs
            ]
            self._writer.write(Footer(why=why, bugs=together))
            self._writer.close()
        plan = self._journal.plan
        print_bugs(self._console, bugs, plan, self._shown)
        sentence = f"{why} (seed {plan.seed}, shard {plan.shard})"
        found = sentence_of(len(bugs), len(self._journal.findings))
        print_summary(self._console, self._journal.counts(), found, sentence)

    def _keep(self, finding: Finding) -> None:
        self._journal.add(finding)
        if self._writer is not None:
            self._writer.write(finding)
