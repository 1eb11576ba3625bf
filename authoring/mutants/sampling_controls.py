"""Negative controls: other ways to compute the same, which no record may call wrong.

Each was once taken for a bug. A fixture that kills one judges an implementation's
way, and not its answer.
"""

from math import inf

from authoring.mutants.samplers import Request, answering
from authoring.mutants.sampling_filters import Kept, Right, Row, Values, filtering
from tokenref.answers import Answer, Ok
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import FloatsError, pack, type_of, unpack


@filtering("top_k", [0.5, 0.25, 0.25], profile="ties.all", k=2)
def control_top_k_by_the_kth_logit(right: Right, row: Row, values: Values) -> Kept:
    """Cutting at the k-th logit keeps its equals, which is right where ties are to be kept;
    maxtext#950, withdrawn by its author.
    """
    kept = right(row, **values)
    if values.get("ties", "lowest id") != "all":
        return kept
    kth = sorted(row, reverse=True)[min(max(values["k"], values.get("least", 1)), len(row)) - 1]
    lowest = 0 if min(row) >= 0 else -inf
    at_least = frozenset(t for t, number in enumerate(row) if number >= kth and number > lowest)
    return at_least if values["k"] > 0 else kept


@answering(
    "speculative",
    {
        "draft": [],
        "target": [pack([0.5, 0.5]), pack([0.25, 0.75])],
        "tokens": [0],
        "uniforms": pack([0.25, 0.5]),
        "params": {},
    },
    profile="method.matching",
)
def control_sample_and_match(session: SamplerSession, op: str, request: Request) -> Answer:
    """Drawing from the target and comparing with the draft is exact; mlx-swift-lm#459."""
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


@answering(
    ("top_k", "top_p", "min_p", "typical", "softmax", "logprobs", "greedy", "draw"),
    {"logits": pack([1.0, 0.0])},
    op="greedy",
)
def control_log_probabilities_for_logits(
    session: SamplerSession, op: str, request: Request
) -> Answer:
    """Log-probabilities are logits shifted by a constant, so they are right for everything that
    depends only on the distribution; Kimi-Audio#161.
    """
    right = session.answer(op, request)
    if "logits" not in request or not isinstance(right, Ok):
        return right
    row = unpack(request["logits"])
    try:
        moved = pack([number - max(row) for number in row], type_of(request["logits"]))
    except FloatsError:  # the type does not hold the differences
        return right
    return session.answer(op, {**request, "logits": moved})
