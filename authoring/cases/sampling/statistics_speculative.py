"""Steps of speculative decoding in which the engine draws all itself, drafts included.

What comes out must have its law whatever the drafts were drawn with: that holds only if an
engine judges them by the row that they were drawn from, and with random numbers of their own.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from authoring.cases.sampling.draft import SamplerDraft, asked_as
from authoring.cases.sampling.statistics_bins import OTHERS, judged
from tokenref.engines.reference_laws import law_of_step, rows_of_step
from tokenref.floats import pack
from tokenref.questions.sampling import pack_parameters
from tokenref.rules import STANDARD, choices_of, rule_name

DRAWS: Final = 20_000
SPEC: Final = "docs/sampling.md#speculative-decoding"
OP: Final = "stat_speculative"
BLOCK: Final = rule_name(OP, method="block")
MATCHING: Final = rule_name(OP, method="matching")


class _Step(NamedTuple):
    slug: str
    draft: Sequence[Sequence[float]]
    target: Sequence[Sequence[float]]
    draft_params: Mapping[str, Any]
    params: Mapping[str, Any]
    why: str
    flags: Sequence[str]
    profiles: Sequence[str] = (STANDARD,)


_LIKED: Final = (-0.25, 1.0, 0.5, -1.0)
_WANTED: Final = (1.0, -0.5, 0.75, 0.25)
_NEXT: Final = (0.0, 1.0, 1.5, -1.0)
_LAST: Final = (0.5, -1.5, 0.25, 1.0)

_SPREAD: Final = (2.0, 1.5, 0.0, -0.5, -1.0, 0.5)
_RISING: Final = (0.0, 0.25, 1.0, 1.25, 0.5, 1.5)

_OFFERED: Final = (1.0, -2.0, -0.75, 0.5, 1.5, 1.25)
_MISSED: Final = (-1.25, 1.5, -1.25, 1.5, -1.5, 1.75)
"""What the target likes best is what the drafting model likes least, and third best."""

_FINE: Final = (100.0, 100.1875, 99.6875, 100.25, 99.8125)
_FINE_TARGET: Final = (99.75, 100.125, 100.1875, 99.8125, 100.0625)
"""In bf16 numbers beside 100 are multiples of a half."""

_STEPS: Final = (
    _Step(
        "one-draft", [_LIKED], [_WANTED, _NEXT], {}, {},
        "One draft, and a further token where it is accepted: what comes out follows the target.",
        ["SpeculativeOwnNoise", "SpeculativeOwnRow"],
        (STANDARD, MATCHING),
    ),
    _Step(
        "draft-of-the-two-best", [_LIKED], [_WANTED, _NEXT], {"k": 2}, {},
        "The draft is one of its row's two best: judged by the whole row, it is accepted too often.",
        ["SpeculativeOwnRow"],
    ),
    _Step(
        "hot-draft-cold-target", [_SPREAD], [_RISING, _SPREAD],
        {"temperature": 2.0}, {"temperature": 0.5, "k": 4},
        "Drafts are drawn hot, the target is cold and filtered: each row has its own parameters.",
        ["SpeculativeOwnRow"],
    ),
    _Step(
        "drafts-finer-than-16-bits", [_FINE], [_FINE_TARGET, _FINE], {}, {},
        "Rows that bf16 does not hold: a draft that is drawn from the rounded row is judged by it, too.",
        ["SpeculativeOwnRow"],
    ),
    _Step(
        "many-replacements", [_OFFERED], [_MISSED, _SPREAD], {}, {},
        "More than half of the drafts are rejected, and three tokens may replace them: the noise that drew the draft does not draw these.",
        ["SpeculativeOwnNoise"],
    ),
    _Step(
        "two-drafts", [_LIKED, _WANTED], [_WANTED, _NEXT, _LAST], {}, {},
        "Two drafts and a further token: the second is independent of the first, and so is the third.",
        ["SpeculativeOwnNoise", "SpeculativeOwnRow"],
        (STANDARD, BLOCK),
    ),
    _Step(
        "two-filtered-drafts", [_LIKED, _WANTED], [_WANTED, _NEXT, _LAST],
        {"temperature": 0.75, "k": 2}, {"k": 3},
        "Two drafts from filtered rows, and a filtered target: impossible tokens come nowhere.",
        ["SpeculativeOwnRow"],
        (STANDARD, BLOCK, MATCHING),
    ),
)  # fmt: skip


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for step in _STEPS:
        for profile in step.profiles:
            request = {
                "draft": [pack(row) for row in step.draft],
                "target": [pack(row) for row in step.target],
                "draft_params": pack_parameters(step.draft_params),
                "params": pack_parameters(step.params),
                "draws": DRAWS,
            }
            law = law_of_step(choices_of(OP, profile) or {}, *rows_of_step(request))
            yield SamplerDraft(
                op=OP,
                topic="chain" if profile == STANDARD else profile.rpartition(".")[2],
                slug=step.slug,
                profile=profile,
                request=request,
                why=asked_as(step.why, profile),
                flags=step.flags,
                verdict=judged(list(law.values()), DRAWS, OTHERS, outcomes=list(law)),
                spec=SPEC,
            )
