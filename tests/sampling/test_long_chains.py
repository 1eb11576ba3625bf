"""Rows of thousands of candidates: exact and 32-bit chains keep the same tokens.

A chain of two filters is run in both precisions. Running sums in 32 bits are wrong by less
than 2**-10 of themselves on these rows. So the threshold of the second filter is moved by
that much either way, and what 32 bits keep must lie between what the exact chain keeps.
"""

from collections.abc import Mapping
from itertools import permutations
from math import log
from typing import Any

import pytest

from sampling_ref import PROFILES, distribution
from tests.sampling.records import alone

LOGARITHMS = [log(weight) for weight in range(1, 3001)]
SIZES = (1025, 2050, 3000)
MARGIN = 2.0**-10

FILTERS: Mapping[str, Mapping[str, Any]] = {
    "top_n_sigma": {"top_n_sigma": 1.5},
    "top_k": {"top_k": 1700},
    "typical": {"typical_p": 0.7},
    "top_p": {"top_p": 0.7},
    "min_p": {"min_p": 0.3},
    "top_h": {"top_h": 0.6},
    "epsilon": {"epsilon_cutoff": 0.0003},
    "eta": {"eta_cutoff": 0.0004},
    "top_a": {"top_a": 0.5},
}
"""Parameters with which each filter keeps hundreds of candidates, under their usual names.

Tail-free is missing: the weights of these rows rise in equal steps, so that there is no tail.
"""

OTHER_NAMES = {"typical_p": "typical", "top_n_sigma": "n_sigma"}


def parameters_of(name: str, op: str) -> dict[str, Any] | None:
    """Return a filter's parameters under an engine's names; None if it has no such filter."""
    profile = PROFILES[name]
    if op not in {stage.step for stage in profile.stages}:
        return None
    own = {parameter.name for parameter in profile.parameters}
    found = {
        key if key in own else OTHER_NAMES.get(key, key): value
        for key, value in FILTERS[op].items()
    }
    return found if found.keys() <= own else None


def chains() -> list[tuple[str, str, str]]:
    """Return every pair of filters that an engine applies in this order."""
    found = []
    for name in ("llama.cpp", "transformers", "exllamav2", "exllamav3", "vllm", "candle"):
        places = {stage.step: place for place, stage in enumerate(PROFILES[name].stages)}
        for first, second in permutations(FILTERS, 2):
            given = [parameters_of(name, op) for op in (first, second)]
            if None not in given and places[first] < places[second]:
                found.append((name, first, second))
    found.remove(("exllamav2", "top_k", "top_p"))  # whose top-p keeps no more for a larger p
    return found


def kept(name: str, row: list[float], precision: str, *given: Mapping[str, Any]) -> set[int]:
    params = alone(name, precision=precision)
    for parameters in given:
        params |= parameters
    shares = distribution(name, row, **params)
    return {token for token, share in enumerate(shares) if share}


def moved(parameters: Mapping[str, Any], factor: float) -> dict[str, Any]:
    return {
        name: value if isinstance(value, int) else value * factor
        for name, value in parameters.items()
    }


@pytest.mark.parametrize(
    ("name", "first", "second", "size"),
    [(*chain, SIZES[place % len(SIZES)]) for place, chain in enumerate(chains())],
)
def test_two_filters_keep_the_same_of_long_rows_in_both_precisions(
    name: str, first: str, second: str, size: int
) -> None:
    one, two = parameters_of(name, first), parameters_of(name, second)
    assert one is not None
    assert two is not None
    row = LOGARITHMS[:size]
    rounded = kept(name, row, "f32", one, two)
    bounds = [
        kept(name, row, "exact", moved(one, 1 + a * MARGIN), moved(two, 1 + b * MARGIN))
        for a in (-1, 1)
        for b in (-1, 1)
    ]
    assert rounded
    assert set.intersection(*bounds) <= rounded <= set.union(*bounds)
    assert len(set.union(*bounds)) - len(set.intersection(*bounds)) < size / 50


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("precision", ["exact", "f32"])
def test_top_p_after_a_filter_takes_a_share_of_what_the_filter_left(
    size: int, precision: str
) -> None:
    """Of n equal tokens, typical keeps the first half and one more, and top-p half of those."""
    off = alone("llama.cpp", precision=precision)
    after = kept("llama.cpp", [0.0] * size, precision, off, {"typical_p": 0.5, "top_p": 0.5})
    left = size // 2 + 1
    assert len(after) == left // 2 + left % 2 or (
        precision == "f32" and len(after) <= left // 2 + 1
    )


def test_top_p_after_typical_keeps_513_of_2050_equal_tokens_and_574_of_3000_logarithms() -> None:
    params = alone("llama.cpp")
    equal = kept("llama.cpp", [0.0] * 2050, "exact", params, {"typical_p": 0.5, "top_p": 0.5})
    assert len(equal) == 513
    assert (
        len(kept("llama.cpp", LOGARITHMS, "exact", params, {"typical_p": 0.6, "top_p": 0.5})) == 574
    )
