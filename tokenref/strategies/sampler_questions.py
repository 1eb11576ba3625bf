"""Questions to a sampler: one strategy per operation and profile, which draws a record's `in`.

Filters, draws and speculative decoding are asked about dyadic weights, where rounding decides
nothing. Filters are also asked about logits; steps and chains only about logits. Whether rounding
may decide such a question is up to the judge.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from hypothesis import strategies as st

from sampling_ref import PROFILES
from tokenref.floats import Type, pack
from tokenref.generators import CONVERSIONS
from tokenref.questions.sampling import pack_parameters
from tokenref.record import FILTER_OPS, ROW_OPS
from tokenref.rules import RACE_PROFILES, STANDARD, rule_name, rule_names
from tokenref.strategies.draw_questions import (
    SEEDED,
    adaptive_p,
    mirostat,
    races,
    random_words,
    residual,
    speculative,
    speculative_steps,
    uniforms_of_words,
)
from tokenref.strategies.parameters import profile_parameters, step_parameters
from tokenref.strategies.rows import dyadic_weights, histories, invalid_rows, logits, uniforms
from tokenref.strategies.texts import mostly

Request: TypeAlias = dict[str, Any]
Drawn: TypeAlias = st.SearchStrategy[Request]

_NEEDS_LOGITS: Final = frozenset({"top_n_sigma"})
"""Filters that are defined for logits only."""

_TYPES: Final[Sequence[Type]] = ("f32", "f32", "f32", "f64", "bf16", "f16")
_RACES: Final = frozenset({"exponential race", "Gumbel-max"})
"""Ways to draw that need a random number for each token."""

LATER: Final[Mapping[str, Sequence[str]]] = MappingProxyType({"draw": RACE_PROFILES})
"""Profiles that were added after the questions of their operations had been numbered."""

_FUNCTIONS: Final = frozenset({"prefix_allowed_tokens"})
"""Steps that take a function, which no request can contain."""


def profiles_of(op: str) -> list[str]:
    """Return the profiles under which an operation is asked.

    >>> profiles_of("greedy"), profiles_of("chain")[:2]
    (['standard', 'ties.last'], ['transformers', 'llama.cpp'])
    """
    if op in {"chain", "distribution", "sample", "sequence"}:
        return list(PROFILES)
    if op in {"uniforms", "random_words"}:
        return list(CONVERSIONS if op == "uniforms" else SEEDED)
    if op == "batch":
        return [STANDARD]
    if op == "draw":
        return [STANDARD, rule_name("draw", boundary="reach"), *LATER[op]]
    if op == "speculative":
        return [STANDARD, rule_name("speculative", equality="accept")]
    return rule_names(op)


def _logits(draw: st.DrawFn) -> tuple[list[float], dict[str, str]]:
    """Draw a row of logits of any type, and return it with its form in a record."""
    dtype = draw(st.sampled_from(_TYPES))
    row = draw(mostly(logits(dtype=dtype), invalid_rows(dtype), 32))
    return row, pack(row, dtype)


@st.composite
def _filtered(draw: st.DrawFn, op: str, _: str) -> Request:
    request: Request
    if op in _NEEDS_LOGITS or draw(st.integers(0, 2)) == 2:
        row, packed = _logits(draw)
        request = {"logits": packed}
    else:
        row = draw(dyadic_weights())
        request = {"probs": pack(row)}
    params = draw(step_parameters(op, row))
    request["params"] = pack_parameters(params)
    if op == "xtc":
        chance = [float(params.get("probability", 1.0))]
        request["uniforms"] = pack([draw(uniforms(chance))])
    return request


@st.composite
def _row(draw: st.DrawFn, op: str, _: str) -> Request:
    row, packed = _logits(draw)
    history = draw(histories(max(len(row), 1)))
    return {
        "logits": packed,
        "history": history,
        "prompt_length": draw(st.integers(0, len(history))),
        "params": pack_parameters(draw(step_parameters(op, row))),
    }


@st.composite
def _logits_alone(draw: st.DrawFn, _: str) -> Request:
    return {"logits": _logits(draw)[1]}


@st.composite
def _top_logprobs(draw: st.DrawFn, _: str) -> Request:
    row, packed = _logits(draw)
    return {
        "logits": packed,
        "steps": [],
        "token": draw(st.integers(0, len(row) - 1)),
        "n": draw(st.integers(0, len(row) + 1)),
    }


@st.composite
def _prompt_logprobs(draw: st.DrawFn, _: str) -> Request:
    size = draw(st.integers(2, 5))
    tokens = draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=5))
    row = st.lists(st.integers(-16, 16), min_size=size, max_size=size)
    rows = [pack([number / 4 for number in draw(row)]) for _ in tokens]
    return {"rows": rows, "tokens": tokens, "n": draw(st.integers(0, size + 1))}


@st.composite
def _draw(draw: st.DrawFn, profile: str) -> Request:
    if profile in RACE_PROFILES:
        return draw(races(profile))
    weights = draw(dyadic_weights())
    if draw(st.integers(0, 3)) < 3:
        return {"probs": pack(weights), "uniforms": pack([draw(uniforms(weights))])}
    count = draw(st.integers(1, sum(weight > 0 for weight in weights)))
    quarters = st.sampled_from([0.0, 0.25, 0.5, 0.75])  # times what is left, they are exact
    numbers = draw(st.lists(quarters, min_size=count, max_size=count))
    return {"probs": pack(weights), "uniforms": pack(numbers), "count": count}


@st.composite
def chains(draw: st.DrawFn, profile: str, *, drawing: bool = False) -> Request:
    """Draw a question about an engine's whole chain: a row, a history, up to four parameters.

    >>> from hypothesis import find
    >>> sorted(find(chains("vllm"), lambda request: True))
    ['history', 'logits', 'params', 'prompt_length']
    """
    row = draw(logits())
    history = draw(histories(len(row)))
    request = {
        "logits": pack(row),
        "history": history,
        "prompt_length": draw(st.integers(0, len(history))),
        "params": pack_parameters(draw(profile_parameters(profile, len(row)))),
    }
    if drawing:
        request["uniforms"] = pack(draw(uniforms_for(profile, len(row))), "f64")
    return request


def uniforms_for(profile: str, size: int) -> st.SearchStrategy[list[float]]:
    """Return a strategy for as many random numbers as an engine's draw needs.

    >>> from hypothesis import find
    >>> len(find(uniforms_for("vllm", 3), lambda numbers: True))
    3
    """
    count = size if PROFILES[profile].draw.method in _RACES else 1
    return st.lists(uniforms(), min_size=count, max_size=count)


@st.composite
def sampler_calls(draw: st.DrawFn, profile: str, size: int, most: int = 6) -> list[Request]:
    """Draw calls on one sampler: draws, tokens chosen elsewhere, truncations, resets.

    >>> from hypothesis import find
    >>> find(sampler_calls("openai", 3), lambda calls: any("reset" in call for call in calls))
    [{'reset': True}]
    """
    calls, length = list[Request](), 0
    for _ in range(draw(st.integers(1, most))):
        kind = draw(st.sampled_from(["reset", "accept", "sample", "sample", "truncate", "accept"]))
        if kind == "sample":
            row = draw(st.lists(st.integers(-16, 16), min_size=size, max_size=size))
            numbers = [number / 4 for number in row]
            given = pack(draw(uniforms_for(profile, size)), "f64")
            calls.append({"sample": {"logits": pack(numbers), "uniforms": given}})
            length += 1
        elif kind == "accept":
            calls.append({"accept": draw(st.integers(0, size - 1))})
            length += 1
        elif kind == "truncate":
            length = draw(st.integers(0, length))
            calls.append({"truncate": length})
        else:
            length = 0
            calls.append({"reset": True})
    return calls


@st.composite
def _sequence(draw: st.DrawFn, profile: str) -> Request:
    size = draw(st.integers(2, 5))
    return {
        "params": pack_parameters(draw(profile_parameters(profile, size))),
        "prompt": draw(histories(size, 3)),
        "calls": draw(sampler_calls(profile, size)),
    }


_BATCHED: Final = ("top_k", "top_p", "min_p", "repetition_penalty", "temperature", "greedy", "draw")
"""Operations that engines perform for several rows at once."""


@st.composite
def _batch(draw: st.DrawFn, profile: str) -> Request:
    """Draw several questions of one operation, each with its own row and parameters."""
    op = draw(st.sampled_from(_BATCHED))
    rows = draw(st.lists(SAMPLER_QUESTIONS[op](profile), min_size=1, max_size=4))
    return {"op": op, "rows": rows}


SAMPLER_QUESTIONS: Final[Mapping[str, Callable[[str], Drawn]]] = MappingProxyType(
    {
        **{op: partial(_filtered, op) for op in FILTER_OPS},
        **{op: partial(_row, op) for op in ROW_OPS if op not in _FUNCTIONS},
        **dict.fromkeys(("softmax", "logprobs", "greedy"), _logits_alone),
        "top_logprobs": _top_logprobs,
        "prompt_logprobs": _prompt_logprobs,
        "mirostat_1": lambda _: mirostat("mirostat_1"),
        "mirostat_2": lambda _: mirostat("mirostat_2"),
        "adaptive_p": lambda _: adaptive_p(),
        "draw": _draw,
        "random_words": random_words,
        "uniforms": uniforms_of_words,
        "speculative": lambda _: speculative(),
        "speculative_steps": speculative_steps,
        "residual": lambda _: residual(),
        "batch": _batch,
        "chain": chains,
        "distribution": chains,
        "sample": partial(chains, drawing=True),
        "sequence": _sequence,
    }
)
"""The strategy for the questions of each operation, given a profile."""
