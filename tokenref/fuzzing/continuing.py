"""Go on with what was not made as small as it can be when a campaign was ended."""

from collections.abc import Iterator

import msgspec

from bpe_ref import BpeError
from tokenref.fuzzing.comparing import Comparer
from tokenref.fuzzing.errors import CampaignError
from tokenref.fuzzing.findings import Finding, finding_of, question_of
from tokenref.fuzzing.journal import Journal
from tokenref.fuzzing.limits import Limits
from tokenref.fuzzing.plan import Plan
from tokenref.fuzzing.shrinking import shrunk
from tokenref.goldens import GoldensError
from tokenref.runner import quiet_standard_error


def made_smaller(journal: Journal, comparer: Comparer, limits: Limits) -> Iterator[Finding]:
    """Yield, for each unfinished finding of a journal, what it becomes; it says what it replaces.

    After an interrupt, the last one is what was reached, and `KeyboardInterrupt` is raised.
    """
    waiting = [finding for finding in journal.findings.values() if finding.unfinished]
    for finding in waiting:
        if not limits.left():
            return
        smaller, was_interrupted = _smaller(finding, comparer, journal.plan, limits)
        yield smaller
        if was_interrupted:
            raise KeyboardInterrupt


def _smaller(
    finding: Finding, comparer: Comparer, plan: Plan, limits: Limits
) -> tuple[Finding, bool]:
    try:
        question = question_of(finding)
    except (BpeError, GoldensError, LookupError, TypeError, ValueError) as error:
        name = finding.record["id"]
        raise CampaignError(f"{name}: what it is about cannot be loaded: {error}") from None
    with quiet_standard_error():
        (failed,) = comparer.compare([question])
        if failed.fate != "failed":
            return msgspec.structs.replace(finding, unfinished=False, now_and_then=True), False
        found = shrunk(failed, comparer, limits)
    engine = f"{comparer.name} {comparer.version}"
    smaller = finding_of(failed, found, index=finding.index, seed=plan.seed, engine=engine)
    replaces = "" if smaller.sum == finding.sum else finding.sum
    whole = msgspec.structs.replace(smaller, asked=finding.asked, replaces=replaces)
    return whole, found.was_interrupted
