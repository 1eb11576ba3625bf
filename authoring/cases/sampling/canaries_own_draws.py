"""Records about an engine's own random numbers that no right engine passes."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import msgspec

from authoring.cases.sampling.statistics_bins import judged, judged_pairs
from tokenref.engines.reference_laws import law_of_step, rows_of_step
from tokenref.floats import pack
from tokenref.record import OPERATIONS, Case, make_case
from tokenref.rules import STANDARD
from tokenref.verdicts import Seeds, Verdict


def own_draw_canaries() -> list[Case]:
    """Return the records, always in the same order.

    >>> sorted({case.id.split("/")[1] for case in own_draw_canaries()})
    ['seeds', 'stat', 'stat_batch', 'stat_speculative']
    """
    return [*_counts(), *_steps(), *_batches(), *_seeds()]


def _canary(
    op: str, slug: str, why: str, request: Mapping[str, Any], verdict: Verdict, spec: str
) -> Case:
    return make_case(
        op,
        id=f"canary/{op}/{slug}",
        profile=STANDARD,
        why=f"{why} A right engine must fail this.",
        flags=["Canary"],
        spec=f"docs/sampling.md#{spec}",
        verdict=verdict,
        input=msgspec.convert(dict(request), OPERATIONS[op].question),
        out=None,
    )


def _counts() -> Iterator[Case]:
    """Yield records whose law is not the row's: no right sampler draws by it."""
    half, quarter = Fraction(1, 2), Fraction(1, 4)
    question = {"probs": pack([0.5, 0.25, 0.25]), "params": {}, "draws": 10_000}
    wrong = (
        ("shares-exchanged", [quarter, half, quarter], "The shares of two tokens are exchanged."),
        ("possible-forbidden", [half, half, Fraction(0)], "A possible token is forbidden."),
    )
    for slug, shares, why in wrong:
        verdict = judged(shares, 10_000, 1)
        yield _canary("stat", slug, why, question, verdict, "random-numbers-and-draws")


def _steps() -> Iterator[Case]:
    draws = 5_000
    question = {
        "draft": [pack([2.0, 0.0, 1.0])],
        "target": [pack([0.0, 2.0, 1.0]), pack([1.0, 1.0, 1.0])],
        "draft_params": {},
        "params": {},
        "draws": draws,
    }
    drafts, (first, bonus) = rows_of_step(question)
    right = law_of_step({}, drafts, [first, bonus])
    accepted = {out: share for out, share in right.items() if len(out) > 1}
    shorter = {out: share / sum(accepted.values()) for out, share in accepted.items()}
    for slug, law, why in (
        ("law-of-the-draft", law_of_step({}, drafts, [drafts[0], bonus]),
         "The drafting model's law is expected, not the target's."),
        ("never-rejected", shorter, "Drafts are expected to be accepted always."),
    ):  # fmt: skip
        verdict = judged(list(law.values()), draws, 1, outcomes=list(law))
        yield _canary("stat_speculative", slug, why, question, verdict, "speculative-decoding")


def _batches() -> Iterator[Case]:
    question = {"probs": pack([0.5, 0.25, 0.25]), "params": {}, "rows": 3, "draws": 1_000}
    shares = [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)]
    yield _canary(
        "stat_batch", "shares-exchanged", "The shares of two tokens are exchanged in all rows.",
        question, judged_pairs(shares, 3, 1_000, 1), "random-numbers-and-draws",
    )  # fmt: skip


def _seeds() -> Iterator[Case]:
    question = {"probs": pack([0.0, 1.0]), "params": {}, "batches": [[7, None]], "tokens": 4}
    yield _canary(
        "seeds", "nothing-to-draw", "Two rows are expected to differ where one token is possible.",
        question, Seeds(alpha="2^-1"), "random-numbers-and-draws",
    )  # fmt: skip
