"""A chain of samplers as `sampling_ref.engines.llama_cpp` computes it, described as for the engine.

A chain is the list of lists that `llama_cpp_c.Engine` takes. This file holds what the
engine's objects remember between two tokens: the accepted tokens, a generator of words
for each sampler with a seed, and the states of mirostat and adaptive-p.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import exp
from typing import Any

from sampling_ref.numbers.binary32 import all_to_binary32, to_binary32
from sampling_ref.numbers.llama32 import sum_in_order
from sampling_ref.random.mt19937 import mt19937
from sampling_ref.row import Candidates
from tests.sampling.engines.llama_cpp_c import Result
from tests.sampling.llama_cpp_samplers import (
    AdaptiveState,
    adaptive_p,
    adaptive_p_accept,
    adaptive_p_start,
    adaptive_p_transformed,
    dist,
    dist_probabilities,
    dry,
    greedy,
    logit_bias,
    min_p,
    mirostat,
    mirostat_kept,
    mirostat_v2,
    mirostat_v2_kept,
    penalties,
    softmax,
    sorted_fully,
    temp,
    temp_ext,
    top_k,
    top_n_sigma,
    top_p,
    typical,
    xtc,
)

SEEDS = {"dist": 0, "xtc": 3, "mirostat": 1, "mirostat_v2": 0, "adaptive_p": 2}
"""Where the seed stands among the arguments of a sampler."""


@dataclass
class Memory:
    """What one sampler remembers."""

    words: Iterator[int] = field(default_factory=lambda: iter(()))
    mu: float = 0.0
    adaptive: AdaptiveState = field(default_factory=lambda: AdaptiveState(0.0, 0.0))


class Twin:
    """A chain that answers as the engine's would."""

    def __init__(self, samplers: list[list[Any]]) -> None:
        self.samplers = samplers
        self.history: list[int] = []
        self.memories = [Memory() for _ in samplers]
        for memory, (name, *arguments) in zip(self.memories, samplers, strict=True):
            if name in SEEDS:
                memory.words = mt19937(arguments[SEEDS[name]])
            if name == "mirostat":
                memory.mu = to_binary32(2 * to_binary32(arguments[2]))
            if name == "mirostat_v2":
                memory.mu = to_binary32(2 * to_binary32(arguments[1]))
            if name == "adaptive_p":
                memory.adaptive = adaptive_p_start(arguments[0], arguments[1])

    def accept(self, token: int) -> None:
        """Accept a token."""
        self.history.append(token)
        for memory, (name, *arguments) in zip(self.memories, self.samplers, strict=True):
            if name == "adaptive_p":
                memory.adaptive = adaptive_p_accept(memory.adaptive, token, arguments[1])

    def apply(self, tokens: list[int], logits: list[float], *, is_sorted: bool = False) -> Result:
        """Let the chain work on candidates."""
        candidates = Candidates(tokens, logits, is_sorted=is_sorted)
        probabilities = dict.fromkeys(tokens, 0.0)
        selected: int | None = None
        for memory, (name, *arguments) in zip(self.memories, self.samplers, strict=True):
            before = candidates
            probabilities |= left_before(name, before, arguments)
            if name in SELECTORS:
                candidates, selected = SELECTORS[name](memory, before, arguments)
            elif name == "xtc":
                candidates = xtc(before, memory.words, *arguments[:3])
                if candidates is not before:
                    probabilities |= shares(sorted_fully(before))
            else:
                candidates = FILTERS[name](before, self.history, arguments)
            probabilities |= left_after(name, before, candidates, arguments)
        kept = list(candidates.tokens)
        return Result(
            kept,
            [float(logit) for logit in candidates.logits],
            [probabilities[token] for token in kept],
            candidates.is_sorted,
            -1 if selected is None else kept.index(selected),
        )


def shares(candidates: Candidates) -> dict[int, float]:
    return dict(zip(candidates.tokens, softmax(candidates), strict=True))


def left_before(name: str, candidates: Candidates, arguments: list[Any]) -> dict[int, float]:
    """Return the probabilities that a sampler computes of what it is given."""
    if name == "top_p" and to_binary32(arguments[0]) < 1:
        return shares(candidates)
    if name == "typical" and to_binary32(arguments[0]) < 1:
        return shares(sorted_fully(candidates))
    return {}


def left_after(
    name: str, before: Candidates, after: Candidates, arguments: list[Any]
) -> dict[int, float]:
    """Return the probabilities that a sampler computes of what it leaves."""
    if name == "dist":
        return dict(zip(after.tokens, dist_probabilities(after), strict=True))
    if name in {"mirostat", "mirostat_v2", "adaptive_p"}:
        return shares(after)
    if name == "temp_ext" and arguments[1] > 0 and len(before.tokens) > 1:
        weights = [exp(logit - after.logits[0]) for logit in after.logits]
        total = sum_in_order(weights)
        return dict(
            zip(
                after.tokens,
                all_to_binary32([weight / total for weight in all_to_binary32(weights)]),
                strict=True,
            )
        )
    return {}


def run_mirostat(
    memory: Memory, candidates: Candidates, arguments: list[Any]
) -> tuple[Candidates, int]:
    n_vocab, _, tau, eta, m = arguments
    kept = mirostat_kept(candidates, memory.mu, n_vocab=n_vocab, m=m)
    token, memory.mu = mirostat(
        candidates, memory.words, memory.mu, n_vocab=n_vocab, tau=tau, eta=eta, m=m
    )
    return kept, token


def run_mirostat_v2(
    memory: Memory, candidates: Candidates, arguments: list[Any]
) -> tuple[Candidates, int]:
    _, tau, eta = arguments
    kept = mirostat_v2_kept(candidates, memory.mu)
    token, memory.mu = mirostat_v2(candidates, memory.words, memory.mu, tau=tau, eta=eta)
    return kept, token


def run_adaptive_p(
    memory: Memory, candidates: Candidates, arguments: list[Any]
) -> tuple[Candidates, int]:
    target = arguments[0]
    kept = candidates
    if target >= 0:
        kept = adaptive_p_transformed(candidates, memory.adaptive, target)
    token, memory.adaptive = adaptive_p(candidates, memory.words, memory.adaptive, target)
    return kept, token


SELECTORS: dict[str, Callable[[Memory, Candidates, list[Any]], tuple[Candidates, int]]] = {
    "greedy": lambda memory, candidates, arguments: (candidates, greedy(candidates)),  # noqa: ARG005 - one shape
    "dist": lambda memory, candidates, arguments: (candidates, dist(candidates, memory.words)),  # noqa: ARG005
    "mirostat": run_mirostat,
    "mirostat_v2": run_mirostat_v2,
    "adaptive_p": run_adaptive_p,
}

FILTERS: dict[str, Callable[[Candidates, Sequence[int], list[Any]], Candidates]] = {
    "logit_bias": lambda candidates, _, arguments: logit_bias(candidates, arguments[1]),
    "penalties": lambda candidates, history, arguments: penalties(
        candidates, history, *arguments[1:]
    ),
    "dry": lambda candidates, history, arguments: dry(candidates, history, *arguments),
    "top_n_sigma": lambda candidates, _, arguments: top_n_sigma(candidates, *arguments),
    "top_k": lambda candidates, _, arguments: top_k(candidates, *arguments),
    "typical": lambda candidates, _, arguments: typical(candidates, *arguments),
    "top_p": lambda candidates, _, arguments: top_p(candidates, *arguments),
    "min_p": lambda candidates, _, arguments: min_p(candidates, *arguments),
    "temp": lambda candidates, _, arguments: temp(candidates, *arguments),
    "temp_ext": lambda candidates, _, arguments: temp_ext(candidates, *arguments),
}
