"""Negative controls: other ways to compute the same, which no record may call wrong.

Each was once taken for a bug. A fixture that kills one judges an implementation's
way, and not its answer.
"""

from collections.abc import Mapping
from math import inf
from typing import Any, Final

from authoring.mutants.mutant import Mutant
from authoring.mutants.sampling_filters import filtering
from authoring.mutants.sampling_rows import Request, asking
from tokenref.answers import Answer, Ok
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import FloatsError, pack, type_of, unpack


def _not_lighter_than_the_kth(right: Any, row: Any, values: Mapping[str, Any]) -> frozenset[int]:
    """Keep what is not lighter than the k-th, where equals of it are to be kept."""
    kept: frozenset[int] = right(row, **values)
    if values.get("ties", "lowest id") != "all":
        return kept
    kth = sorted(row, reverse=True)[min(max(values["k"], values.get("least", 1)), len(row)) - 1]
    lowest = 0 if min(row) >= 0 else -inf
    at_least = frozenset(t for t, number in enumerate(row) if number >= kth and number > lowest)
    return at_least if values["k"] > 0 else kept


def _drawn_and_matched(session: SamplerSession, op: str, request: Request) -> Answer:
    """Draw from the target first, and accept the draft if it is the same token."""
    right = session.answer(op, request)
    if session.profile != "method.matching" or not isinstance(right, Ok):
        return right
    drawer, tokens = SamplerSession("standard", session.tools), list[int]()
    for place, (row, u) in enumerate(
        zip(request["target"], unpack(request["uniforms"]), strict=True)
    ):
        drawn = drawer.answer("draw", {"probs": row, "uniforms": pack([u], "f64")})
        if not isinstance(drawn, Ok):
            return drawn
        tokens.append(drawn.out["token"])
        if place < len(request["tokens"]) and request["tokens"][place] != tokens[-1]:
            break
    return Ok({"accepted": len(tokens) - 1, "tokens": tokens})


def _of_log_probabilities(session: SamplerSession, op: str, request: Request) -> Answer:
    """Take logits less their largest, as log-probabilities are: the law is the same."""
    right = session.answer(op, request)
    if "logits" not in request or not isinstance(right, Ok):
        return right
    row = unpack(request["logits"])
    try:
        moved = pack([number - max(row) for number in row], type_of(request["logits"]))
    except FloatsError:  # the type does not hold the differences
        return right
    return session.answer(op, {**request, "logits": moved})


CONTROLS: Final[tuple[Mutant, ...]] = (
    filtering(
        "control-top-k-by-the-kth-logit",
        "Cutting by the k-th logit keeps its equals, which is right where they are asked for; "
        "maxtext#950, withdrawn by its author.",
        "top_k",
        _not_lighter_than_the_kth,
        [0.5, 0.25, 0.25],
        profile="ties.all",
        k=2,
    ),
    asking(
        "control-sample-and-match",
        "Drawing from the target and comparing with the draft is exact; mlx-swift-lm#459.",
        {"speculative"},
        _drawn_and_matched,
        {
            "draft": [],
            "target": [pack([0.5, 0.5]), pack([0.25, 0.75])],
            "tokens": [0],
            "uniforms": pack([0.25, 0.5]),
            "params": {},
        },
        profile="method.matching",
    ),
    asking(
        "control-log-probabilities-for-logits",
        "Working on log-probabilities, which are logits moved by a constant, is right for all "
        "that depends on the law alone; Kimi-Audio#161.",
        ("top_k", "top_p", "min_p", "typical", "softmax", "logprobs", "greedy", "draw"),
        _of_log_probabilities,
        {"logits": pack([1.0, 0.0])},
        op="greedy",
    ),
)
"""Each must pass all records."""
