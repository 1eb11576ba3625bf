"""What each stage of the `antigravity` profile leaves behind, for tests."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import inf
from typing import Any

from sampling_ref.evaluation import Precision, evaluation
from sampling_ref.numbers.binary32 import Binary32, sum_in_binary32
from sampling_ref.numbers.plain32 import softmax_in_32_bits
from sampling_ref.numbers.softmax import softmax
from sampling_ref.row import Number, TokenId
from sampling_ref.tracing import Applied


@dataclass(frozen=True)
class Settings:
    """The parameters of one call."""

    temperature: Number = 0.8
    top_p: Number = 0.9
    top_k: int = 40
    repetition_penalty: Number = 1.1
    repetition_window: int = 64


@dataclass(frozen=True)
class Stages:
    """The row after each step, the tokens in play, and the token that was drawn."""

    penalised: list[Number]
    scaled: list[Number]
    probabilities: list[float]
    top_k: list[TokenId]
    top_p: list[TokenId]
    is_exhausted: bool
    token: TokenId


def stages(
    logits: Any,
    history: Any,
    r: Any,
    settings: Settings | None = None,
    *,
    precision: Precision = "exact",
) -> Stages:
    """Run the chain, and return what every stage leaves behind."""
    made = evaluation(
        "antigravity",
        logits,
        history,
        asdict(settings or Settings()),
        uniforms=[r],
        precision=precision,
    )
    run = made.run()
    token = made.draw(run)
    done = {applied.step: applied for applied in run.applied}
    penalised = done["repetition_penalty"].row_after
    if len(done) == 1:
        return Stages(penalised, [], [], [], [], is_exhausted=False, token=token)
    tempered = done["temperature"].after
    if precision == "exact":
        probabilities = softmax(tempered.logits, factor=tempered.factor)
    else:
        probabilities = softmax_in_32_bits(tempered.logits)
    kept = _tokens(done["top_p"], precision)
    is_exhausted = precision == "f32" and _is_exhausted(probabilities, kept, r)
    if is_exhausted:
        assert token == [one for one in kept if probabilities[one] > 0][-1]
    return Stages(
        penalised,
        done["temperature"].row_after,
        probabilities,
        _tokens(done["top_k"], precision),
        kept,
        is_exhausted,
        token,
    )


def _tokens(applied: Applied, precision: Precision) -> list[TokenId]:
    """Return the tokens in their order; 32 bits count impossible ones among the candidates."""
    return list(applied.after.tokens if precision == "f32" else applied.kept)


def _is_exhausted(probabilities: Sequence[float], kept: Sequence[TokenId], r: Number) -> bool:
    """Return whether the subtraction ends above 0, so that the program draws nothing."""
    left = Binary32(r) * sum_in_binary32(probabilities[token] for token in kept)
    smallest: Number = inf
    for token in kept:
        left -= probabilities[token]
        smallest = min(smallest, left)
    return smallest > 0
