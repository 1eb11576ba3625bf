"""Rows on which samplers go wrong, and the numbers and parameters at which their decisions change.

Independent random floats hardly ever tie, are never minus infinity, and never lie on a threshold.
So rows are drawn in several kinds, and parameters are computed from a row: a sum of some of its
numbers, moved by zero or one step of the type in either direction.

*Dyadic weights* are multiples of 2**-20 that sum to 1. Every sum of some of them is exact in 32
bits, in any order. An engine that decides differently follows another rule; rounding cannot
explain it.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate, cycle, islice, pairwise
from math import inf, ldexp, nan
from typing import Any, Final, TypeAlias

from hypothesis import find  # noqa: F401 - used in the examples
from hypothesis import strategies as st

from sampling_ref import PROFILES, STEPS
from sampling_ref.parameters import Domain
from tokenref.floats import Type, from_digits, nearest, to_digits
from tokenref.strategies.texts import mostly

UNIT: Final = 20
"""Dyadic weights are multiples of 2 to the power of minus this."""

MOST: Final = 12
"""Usual maximum length of a row: long enough for every decision, short enough to read."""

_LONGER: Final = st.sampled_from([16, 32, 64, 128, 256]).flatmap(
    lambda n: st.integers(n - 3, 2 * n)
)
"""Lengths at which a kernel has vectors, warps or blocks, and an incomplete last one."""

_WHOLE: Final = 1 << UNIT
_COARSE: Final = 1 << (UNIT - 4)
_TIED: Final = (-2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 1.5, 2.0)
_TINY: Final = (ldexp(1, -149), ldexp(1, -126), -ldexp(1, -149), 0.0)


@cache
def dyadic_weights() -> st.SearchStrategy[list[float]]:
    """Return a strategy for weights that are multiples of 2**-20 and sum to 1, some of them 0.

    >>> found = find(dyadic_weights(), lambda weights: len(weights) > 2)
    >>> sum(found), all(weight * 2**20 % 1 == 0 for weight in found)
    (1.0, True)
    """
    coarse = st.integers(0, _WHOLE // _COARSE).map(lambda part: part * _COARSE)
    cuts = mostly(coarse, st.integers(0, _WHOLE), 4)
    between = st.lists(cuts, max_size=MOST - 1).map(_parts_between)
    equal = st.integers(0, 3).map(lambda power: [ldexp(1, -power)] * 2**power)
    long = st.sampled_from([9, 11]).map(lambda power: [ldexp(1, -power)] * 2**power)
    return mostly(between, st.one_of(equal, mostly(_LONGER.map(_halved), long, 6)), 6)


def _parts_between(cuts: Sequence[int]) -> list[float]:
    ends = [0, *sorted(cuts), _WHOLE]
    return _mixed([ldexp(high - low, -UNIT) for low, high in pairwise(ends)])


def _halved(size: int) -> list[float]:
    """Return weights of which each is the largest or half of it.

    Equal weights, as many as the largest power of 2 within `size`, are halved until there are
    enough.

    >>> _halved(6)
    [0.125, 0.25, 0.125, 0.125, 0.25, 0.125]
    """
    power = size.bit_length() - 1
    halves = 2 * (size - 2**power)
    return _mixed([ldexp(1, -power - (place < halves)) for place in range(size)])


def _mixed(weights: Sequence[float]) -> list[float]:
    """Return weights in an order that is neither by size nor by place."""
    return [weights[at] for at in sorted(range(len(weights)), key=lambda at: at * 7 % 5)]


@cache
def logits(most: int = MOST, *, dtype: Type = "f32") -> st.SearchStrategy[list[float]]:
    """Return a strategy for rows of logits: ties, peaks, constant, narrow and wide rows.

    Some tokens may be minus infinity, but never all.

    >>> float("-inf") in find(logits(), lambda row: float("-inf") in row)
    True
    """
    tied = st.sampled_from(_TIED)
    small = st.integers(-160, 160).map(lambda number: number / 8)
    any_number = st.floats(-200, 200, width=32)
    tiny = st.sampled_from(_TINY)
    kinds = [tied, small, any_number, tied | small, mostly(tied, tiny, 3)]
    kinds += [mostly(each, st.just(-inf), 4) for each in (tied, any_number)]
    rows = st.one_of(*(st.lists(kind, min_size=1, max_size=most) for kind in kinds))
    equal = st.tuples(tied, st.integers(1, most)).map(lambda drawn: [drawn[0]] * drawn[1])
    peaked = st.tuples(rows, st.integers(0, most - 1), st.sampled_from([30.0, 60.0])).map(_peaked)
    drawn = mostly(st.one_of(rows, peaked), equal, 10).filter(lambda row: max(row) > -inf)
    if most == MOST:
        longer = st.tuples(drawn, _LONGER).map(lambda it: [*islice(cycle(it[0]), it[1])])
        drawn = mostly(drawn, longer, 12)
    return drawn.map(lambda row: [nearest(number, dtype) for number in row])


def _peaked(drawn: tuple[list[float], int, float]) -> list[float]:
    row, place, peak = drawn
    return [*row[: place % len(row)], peak, *row[place % len(row) + 1 :]]


@cache
def invalid_rows(dtype: Type = "f32") -> st.SearchStrategy[list[float]]:
    """Return a strategy for invalid rows: NaN, plus infinity, no possible token, empty.

    >>> find(invalid_rows(), lambda row: True)
    []
    """
    broken = st.tuples(
        logits(4, dtype=dtype), st.sampled_from([nan, inf]), logits(4, dtype=dtype)
    ).map(lambda drawn: [*drawn[0], drawn[1], *drawn[2]])
    nothing = st.integers(0, 3).map(lambda size: [-inf] * size)
    return nothing | broken


def stepped(value: float, by: int) -> float:
    """Return the number in 32 bits that is `by` steps above a nonnegative number.

    >>> stepped(1.0, -1) == 1 - 2**-24, stepped(0.0, -1)
    (True, 0.0)
    """
    bits = int(to_digits([nearest(value, "f32")], "f32"), 16) + by
    return from_digits(f"{max(bits, 0):08x}", "f32")[0]


def near_boundary(weights: Sequence[float], *, high: float = 1.0) -> st.SearchStrategy[float]:
    """Return a strategy for numbers at which a decision about weights may change.

    A weight, or a sum of the first ones in some order (falling, rising, as they
    are), moved by a step in 32 bits: none, one up, one down. Kept from 0 to `high`.

    >>> find(near_boundary([0.75, 0.25]), lambda number: number > 0.5) >= 0.75 - 2**-24
    True
    """
    points = sorted({point for point in _points(weights) if 0 <= point <= high}) or [0.0]
    steps = st.sampled_from([0, 0, -1, 1])
    moved = st.builds(stepped, st.sampled_from(points), steps)
    return moved.map(lambda number: min(max(number, 0.0), high))  # a step from -0.0 is below 0


def _points(weights: Sequence[float]) -> list[float]:
    finite = [weight for weight in weights if 0 <= weight < inf]
    orders = (sorted(finite, reverse=True), sorted(finite), finite)
    return [*finite, *(total for order in orders for total in accumulate(order))]


def uniforms(weights: Sequence[float] = ()) -> st.SearchStrategy[float]:
    """Return a strategy for random numbers in [0, 1): the ends, and where a draw changes.

    >>> find(uniforms([0.5, 0.5]), lambda number: number > 0)
    0.5
    """
    largest = 1 - 2.0**-24
    ends = st.sampled_from([0.0, 0.5, 0.25, 0.75, largest])
    return near_boundary(weights, high=largest) | ends if weights else ends


@cache
def histories(size: int, most: int = 12) -> st.SearchStrategy[list[int]]:
    """Return a strategy for histories of tokens below `size`; repetitions are common.

    >>> set(find(histories(9), lambda history: len(history) > 1)) <= set(range(9))
    True
    """
    few = st.integers(0, min(size, 3) - 1)
    short = st.lists(mostly(few, st.integers(0, size - 1), 3), max_size=most)
    long = st.tuples(short, few, st.sampled_from([20, 64])).map(
        lambda drawn: drawn[0] + [drawn[1]] * drawn[2]
    )
    return mostly(short, long, 12)


# ---- parameters


Values: TypeAlias = st.SearchStrategy[Any]

_HALVES: Final = st.sampled_from([1.0, 1.5, 2.0, 0.5, 1.25, 4.0, 0.75])
_ANY: Final = st.sampled_from([0.0, 0.5, 1.0, -0.5, 2.0, 0.25, -1.0])
_SHARES: Final = st.sampled_from([0.5, 0.25, 0.75, 1.0, 0.875, 0.125, 0.0])
_COUNTS: Final = st.integers(0, 6)


def step_parameters(op: str, row: Sequence[float]) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for the parameters of a step, under the names of `sampling_ref.STEPS`.

    `row` are the weights that the step sees, or zeros; shares and cutoffs lie on
    their sums, or a step beside. What has a default is often left out.

    >>> find(step_parameters("top_p", [0.5, 0.5]), lambda drawn: drawn["p"] > 0.5)["p"] > 0.5
    True
    """
    if op == "token_mask":
        return _masks(len(row))
    required: dict[str, Values] = {}
    optional: dict[str, Values] = {}
    for name, default in STEPS[op].parameters.items():
        values = _of_row(op, name, row)
        if values is None:
            known = _of_tokens(len(row))
            values = known.get((op, name), known.get(("", name)))
        if values is not None:
            (required if type(default) is object else optional)[name] = values
    return st.fixed_dictionaries(required, optional=optional)


def _masks(size: int) -> Values:
    """Return a strategy for masks of a row in all forms, some of them too short or too long."""
    count = -(-size // 32)
    words = st.integers(1, 2**32 - 1) | st.just(2**32 - 1)
    token = st.integers(0, max(size - 1, 0))
    right: list[dict[str, Values]] = [
        {},
        {"words": st.lists(words, min_size=count, max_size=count)},
        {"words": st.dictionaries(st.integers(0, max(count - 1, 0)), words, min_size=1)},
        {"booleans": st.lists(st.booleans(), min_size=size, max_size=size)},
        {"tokens": st.lists(token, min_size=1, max_size=4)},
    ]
    wrong: list[dict[str, Values]] = [
        {"words": st.lists(words, max_size=count + 1)},
        {"booleans": st.lists(st.booleans(), min_size=max(size - 1, 0), max_size=size + 1)},
        {"tokens": st.lists(st.integers(0, size), max_size=4)},
    ]
    optional = {
        "bits": st.sampled_from(["low first", "high first"]),
        "vocab_size": st.integers(max(size - 2, 1), max(size, 1)),
    }
    return mostly(st.sampled_from(right), st.sampled_from(wrong), 16).flatmap(
        lambda form: st.fixed_dictionaries(form, optional=optional)
    )


def _of_row(op: str, name: str, row: Sequence[float]) -> Values | None:
    """Return a strategy for a parameter that is compared with values of a row."""
    size, top = len(row), max(row, default=1.0) or 1.0
    match op, name:
        case "top_k", "k":
            return st.integers(0, size + 1)
        case ("top_p", "p") | ("typical", "mass") | (_, "cutoff" | "threshold"):
            return mostly(near_boundary(row), _SHARES, 2)
        case "min_p", "m":
            return mostly(near_boundary([weight / top for weight in row]), _SHARES, 2)
        case "top_a", "a":
            ratios = [weight / top / top for weight in row]
            return mostly(near_boundary(ratios, high=8.0), _SHARES, 2)
        case "top_h", "best":
            return st.none() | st.integers(1, size + 1)
        case _, "least":
            return st.sampled_from([1, 1, 2, max(size, 1)])
    return None


@cache
def _of_tokens(size: int) -> dict[tuple[str, str], Values]:
    """Return strategies for other parameters, mostly chosen by name whatever the step."""
    token = st.integers(0, max(size - 1, 0))
    tokens = st.lists(token, min_size=1, max_size=3, unique=True)
    word = st.lists(token, min_size=1, max_size=3)
    biases = st.dictionaries(token, _ANY, min_size=1, max_size=3)
    by_name: dict[str, Values] = {
        **dict.fromkeys(("penalty", "repetition", "strength", "growth", "exponent"), _HALVES),
        **dict.fromkeys(("frequency", "presence"), _ANY),
        **dict.fromkeys(("skipped", "decay", "length", "count", "start"), _COUNTS),
        **dict.fromkeys(("window", "sustain"), st.none() | _COUNTS),
        **dict.fromkeys(("multiplier", "smoothing_factor"), mostly(_HALVES, st.just(0.0), 8)),
        **dict.fromkeys(("ngram_size", "most", "buffer"), st.integers(1, 4)),
        **dict.fromkeys(("ends", "tokens"), tokens),
        "encoder_input": st.lists(token, max_size=5),
        "base": st.sampled_from([2.0, 1.5, 1.0]),
        "allowed_length": st.integers(0, 3),
        "words": st.lists(word, min_size=1, max_size=3),
        "token": token,
        "max_length": st.integers(1, 8),
        "temperature": mostly(_HALVES, st.sampled_from([0.0, 3.0, 0.1]), 4),
        "spread": st.sampled_from([0.5, 0.0, 0.25]),
    }
    return {
        **{("", name): values for name, values in by_name.items()},
        ("eta", "scale"): st.none() | _HALVES,
        ("top_n_sigma", "n"): _ANY,
        ("top_h", "alpha"): _SHARES,
        ("tail_free", "z"): _SHARES,
        ("xtc", "probability"): st.sampled_from([1.0, 0.5, 0.0]),
        ("xtc", "protected"): st.lists(token, max_size=2, unique=True),
        ("frequency_penalty", "penalty"): _ANY,
        ("presence_penalty", "penalty"): _ANY,
        ("penalties", "window"): st.sampled_from([64, 1, 2, 3, 0, -1]),
        ("logit_bias", "biases"): biases | st.dictionaries(token, st.just(-100.0), min_size=1),
        ("sequence_bias", "biases"): st.dictionaries(word.map(tuple), _ANY, min_size=1, max_size=3),
        ("dry", "breakers"): st.lists(word, min_size=1, max_size=2),
    }


@cache
def profile_parameters(profile: str, size: int) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for parameters of an engine under its own names: up to four of them.

    The others keep the engine's defaults.

    >>> find(profile_parameters("vllm", 5), lambda drawn: "top_k" in drawn)["top_k"] <= 6
    True
    """
    known = {
        parameter.name: values
        for parameter in PROFILES[profile].parameters
        if (values := _of_domain(parameter.domain, size, parameter.name)) is not None
    }
    names = st.lists(st.sampled_from(sorted(known)), unique=True, max_size=4)
    return names.flatmap(
        lambda chosen: st.fixed_dictionaries({name: known[name] for name in chosen})
    )


def _of_domain(  # noqa: C901, PLR0911 - one line for each kind of domain
    domain: Domain, size: int, name: str
) -> Values | None:
    """Return a strategy for the values of a domain; None if it has no values to draw."""
    token = st.integers(0, size - 1)
    if domain.or_none:
        inner = _of_domain(replace(domain, or_none=False), size, name)
        return None if inner is None else mostly(inner, st.none(), 8)
    match domain.kind:
        case "flag":
            return st.booleans()
        case "one of":
            return st.sampled_from(domain.names)
        case "whole":
            return _whole(domain, size)
        case "number":
            return st.sampled_from(_inside(domain, name))
        case "tokens" | "token or tokens":
            return st.lists(token, min_size=1, max_size=2, unique=True)
        case "words" | "some words":
            return st.lists(st.lists(token, min_size=1, max_size=2), min_size=1, max_size=2)
        case "token numbers":
            numbers = (0.5, -1.0, 2.0, -100.0)
            allowed = [number for number in numbers if domain.low <= number <= domain.high]
            return st.dictionaries(token, st.sampled_from(allowed), min_size=1, max_size=2)
        case "words with numbers":
            words = st.lists(token, min_size=1, max_size=2).map(tuple)
            return st.dictionaries(words, st.sampled_from([0.5, -1.0]), min_size=1, max_size=2)
        case "decay start":
            return st.tuples(_COUNTS, _HALVES).map(list)
    return None


def _whole(domain: Domain, size: int) -> Values:
    low = 0 if domain.low == -inf else int(domain.low)
    high = int(min(domain.high, low + size + 1))
    numbers = st.integers(low, high)
    return numbers if domain.also is None else mostly(numbers, st.just(domain.also), 8)


def _inside(domain: Domain, name: str) -> list[float]:
    """Return numbers of an interval: its ends, if they belong to it, and ordinary ones."""
    plain = (0.5, 1.0, 0.75, 0.25, 0.9, 0.1, 1.5, 2.0, 0.0, -0.5, -1.0, 3.0)
    ends = [float(end) for end in (domain.low, domain.high) if abs(end) < 1e6]
    usual = [1.0, 0.7, 0.5, 2.0] if name.startswith("temp") else []
    return [number for number in dict.fromkeys([*usual, *plain, *ends]) if domain.holds(number)]
