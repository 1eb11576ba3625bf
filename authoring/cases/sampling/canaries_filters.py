"""Filters with wrong answers: kept sets, members and sizes of sets, alternatives, refusals.

Each is a right record with one thing changed, so that a right engine fails it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from authoring.cases.sampling.filter_draft import FilterCase, Row, eighths, logits
from tokenref.questions.sampling import FilterInput, KeepOutput
from tokenref.record import Case, make_case
from tokenref.verdicts import Alternative, Either, Exact, MustRefuse, Set, Verdict

_ROW: Final = eighths(1, 4, 1, 2)
_LOGITS: Final = logits(1.0, 4.0, 0.0, 2.0)

# op, slug, profile, row, params, what is wrong, the wrong answer
_WRONG: Final[tuple[tuple[str, str, str, Row, dict[str, Any], str, list[int]], ...]] = (
    ("top_k", "one-too-few", "standard", _ROW, {"k": 2}, "A token is missing.", [1]),
    ("top_k", "ids-of-the-sorted-row", "standard", _ROW, {"k": 2}, "These are places.", [0, 1]),
    (
        "top_p",
        "crossing-dropped",
        "standard",
        _ROW,
        {"p": 0.625},
        "The crossing token is lost.",
        [1],
    ),
    ("top_p", "one-too-many", "standard", _ROW, {"p": 0.75}, "There is one too many.", [0, 1, 3]),
    ("min_p", "equality-removed", "standard", _ROW, {"m": 0.5}, "The equal one is lost.", [1]),
    ("typical", "by-weight", "standard", _ROW, {"mass": 0.25}, "The heaviest is kept.", [1]),
    ("epsilon", "nothing", "standard", _ROW, {"cutoff": 0.75}, "Nothing is kept.", []),
    ("eta", "epsilon", "standard", _ROW, {"cutoff": 0.25}, "A light token is kept.", [1, 2, 3]),
    ("top_a", "no-square", "standard", _ROW, {"a": 1.0}, "The square is forgotten.", [1]),
    ("tail_free", "all", "standard", _ROW, {"z": 0.5}, "Nothing is removed.", [0, 1, 2, 3]),
    ("top_h", "all", "standard", _ROW, {"alpha": 0.5}, "Nothing is removed.", [0, 1, 2, 3]),
    ("top_n_sigma", "all", "standard", _LOGITS, {"n": 0.5}, "Nothing is removed.", [0, 1, 2, 3]),
    (
        "xtc",
        "last-removed",
        "standard",
        _ROW,
        {"threshold": 0.25},
        "The last top choice is gone.",
        [0, 2],
    ),
    ("top_k", "transformers", "transformers", _LOGITS, {"top_k": 2}, "The best is lost.", [3]),
    (
        "top_p",
        "transformers",
        "transformers",
        _LOGITS,
        {"top_p": 0.5},
        "There is one too many.",
        [1, 3],
    ),
    (
        "min_p",
        "transformers",
        "transformers",
        _LOGITS,
        {"min_p": 0.5},
        "Nothing is removed.",
        [0, 1, 2, 3],
    ),
    ("top_k", "llama.cpp", "llama.cpp", _LOGITS, {"top_k": 2}, "The best is lost.", [3]),
    ("top_p", "llama.cpp", "llama.cpp", _LOGITS, {"top_p": 0.5}, "There is one too many.", [1, 3]),
    (
        "min_p",
        "llama.cpp",
        "llama.cpp",
        _LOGITS,
        {"min_p": 0.5},
        "Nothing is removed.",
        [0, 1, 2, 3],
    ),
)


def filter_canaries() -> list[Case]:
    """Return the records with wrong answers.

    >>> all(case.id.startswith("canary/") for case in filter_canaries())
    True
    """
    cases = [
        _canary(_asking(op, slug, row, params, profile), why, keep=keep)
        for op, slug, profile, row, params, why, keep in _WRONG
    ]
    return [*cases, *_sets(), *_alternatives(), *_refusals()]


def _canary(
    asked: FilterCase, why: str, verdict: Verdict | None = None, keep: Sequence[int] | None = None
) -> Case:
    return make_case(
        asked.op,
        id=f"canary/{asked.op}/{asked.slug}",
        profile=asked.profile,
        why=f"{why} A right engine must fail this.",
        flags=["Canary"],
        spec=f"docs/engines.md#{asked.op}",
        verdict=verdict or Exact(),
        input=msgspec.convert(asked.request(), FilterInput),
        out=None if keep is None else KeepOutput(keep=list(keep)),
    )


def _asking(
    op: str, slug: str, row: Row, params: Mapping[str, Any], profile: str = "standard"
) -> FilterCase:
    uniform = 0.5 if op == "xtc" else None
    return FilterCase(op, "canary", slug, row, params, "", (), profile=profile, uniform=uniform)


def _sets() -> list[Case]:
    """Return sets that the right answer, tokens 1 and 3, is not in."""
    reason = "This set is wrong on purpose."
    sets = (
        (
            "set-member-missing",
            "A token that is not kept is listed as certain.",
            [0, 1],
            [0, 1, 3],
            [2, 3],
        ),
        (
            "set-too-narrow",
            "A token that is kept is listed as impossible.",
            [1],
            [0, 1],
            [2],
        ),
        ("set-wrong-size", "The number of tokens is wrong.", [1], [0, 1, 2, 3], [1, 3]),
    )
    return [
        _canary(
            _asking("top_k", slug, _ROW, {"k": 2}),
            why,
            Set(must=must, may=may, sizes=sizes, reason=reason),
            [1, 3],
        )
        for slug, why, must, may, sizes in sets
    ]


def _alternatives() -> list[Case]:
    reason = "This alternative is wrong on purpose."
    wrong = Either(
        alternatives=[
            Alternative(label="f64", reason=reason, out={"keep": [1]}),
            Alternative(label="f32.tree", reason=reason, out={"keep": [0, 1, 3]}),
        ]
    )
    why = "Every alternative is wrong, and the right answer lies between them."
    return [_canary(_asking("top_p", "either", _ROW, {"p": 0.75}), why, wrong, [1])]


def _refusals() -> list[Case]:
    wrong_code = MustRefuse(codes=["INVALID_HISTORY"])
    needless = MustRefuse(codes=["INVALID_PARAMETER"])
    return [
        _canary(
            _asking("top_k", "wrong-reason", _ROW, {"k": 0}), "The reason is wrong.", wrong_code
        ),
        _canary(
            _asking("top_k", "needless-refusal", _ROW, {"k": 2}), "Nothing is wrong here.", needless
        ),
    ]
