"""What the records of engines say about weights, where logits cannot meet a threshold exactly.

e**logit is irrational for every rational logit but 0, so that only equal logits have sums
that are exactly some share. A record's own choices, order and parameters are therefore put
to the filter functions that take weights.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import inf, log
from typing import Any

from sampling_ref import PROFILES
from sampling_ref.engines.llama_cpp_order import falling_positions
from sampling_ref.engines.profile import holds
from sampling_ref.numbers.orders import ORDERS
from sampling_ref.row import Candidates, ReadRow
from tests.sampling.filtering import min_p, tail_free, top_a, top_k, top_p, typical

Weights = Sequence[float | Fraction]

FILTERS: Mapping[str, Callable[..., frozenset[int]]] = {
    "top_k": top_k,
    "top_p": top_p,
    "min_p": min_p,
    "top_a": top_a,
    "tail_free": tail_free,
    "typical": typical,
}

ALONE: Mapping[str, Mapping[str, Any]] = {
    "transformers": {"top_k": 0},
    "llama.cpp": {"top_k": 0, "top_p": 1.0, "min_p": 0.0, "temp": 1.0},
    "candle": {"temperature": 1.0, "repeat_penalty": 1.0},
    "mlx-lm": {"temp": 1.0},
    "exllamav2": {"top_k": 0, "top_p": 0.0, "temperature": 1.0, "token_repetition_penalty": 1.0},
    "tensorrt-llm": {"temperature": 1.0},
    "antigravity": {"top_k": 99, "top_p": 1.0, "temperature": 1.0, "repetition_penalty": 1.0},
}
"""What switches an engine's defaults off, so that one step can be looked at alone."""


def alone(name: str, **params: object) -> dict[str, Any]:
    """Return parameters under which an engine does what is given, and nothing else."""
    return {**ALONE.get(name, {}), **params}


def kept_of_weights(name: str, op: str, weights: Weights, **params: object) -> set[int]:
    """Return the ids that a record keeps of exact weights; parameters are taken as they are."""
    profile = PROFILES[name]
    given = {profile.parameter(name).name: value for name, value in params.items()}
    values = {**profile.defaults(), **given}
    if holds(profile.greedy.condition, values):
        return {list(weights).index(max(weights))}
    stages = [stage for stage in profile.stages_of(op) if not holds(stage.off_if, values)]
    if not stages:
        return {token for token, weight in enumerate(weights) if weight > 0}
    (stage,) = stages
    taken: dict[str, Any] = {ours: values[theirs] for ours, theirs in stage.takes.items()}
    candidates = Candidates(range(len(weights)), ReadRow(weights))
    wanted = min(taken.get("k", len(weights)), len(weights))
    if stage.order == "libstdc++":
        candidates = candidates.at(falling_positions(list(map(float, weights)), wanted))
    elif stage.order in ORDERS:
        candidates = ORDERS[stage.order](candidates, wanted)
    choices = {key: value for key, value in stage.choices.items() if key != "base"}
    places = FILTERS[op](list(candidates.logits), **choices, **taken)
    return {candidates.tokens[place] for place in places}


def kept(row: Iterable[float]) -> set[int]:
    """Return the ids of a row of logits that are not at minus infinity."""
    return {token for token, logit in enumerate(row) if logit > -inf}


def support(shares: Iterable[float]) -> set[int]:
    """Return the ids that have a probability."""
    return {token for token, share in enumerate(shares) if share > 0}


def logs(weights: Iterable[float | Fraction]) -> list[float]:
    """Return the logarithms of weights, as the nearest floats."""
    return [log(weight) if weight else -inf for weight in weights]
