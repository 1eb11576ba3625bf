"""llama.cpp's samplers without rounding, where they leave candidates in an order of their own.

The engine draws along its list of candidates, and cuts equals where its sort has left them.
So a sampler here sorts when the engine does, as GCC's C++ library does it, and leaves the
list as the engine would: decisions are exact, the order is the engine's.

Removed candidates
    What `top_n_sigma` removes, and what `logit_bias` bans, stays in the list at minus
    infinity. It counts where the engine counts candidates: for `min_keep`, for the
    largest entropy of the dynamic temperature, and for whether there is anything to do.

Not a number
    Beside an impossible candidate the engine's entropy of `typical` is 0 times infinity.
    No distance is smaller than another then, and the candidates are cut in the order in
    which std::sort leaves equals. Among the ranks that mirostat 1 looks at, an impossible
    candidate leaves one candidate. Both follow from the formulas and not from rounding,
    so they are the same here.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cmp_to_key
from math import inf

from sampling_ref.candidate_orders import ORDERS
from sampling_ref.candidates import Candidates
from sampling_ref.dynamic_temperature import temperature_of_entropy
from sampling_ref.filters.min_p import min_p_logits
from sampling_ref.filters.top_n_sigma import top_n_sigma_logits
from sampling_ref.greedy import only_greedy
from sampling_ref.llama_cpp.falling_order import falling_positions_by_buckets
from sampling_ref.llama_cpp.libstdcxx_order import order_of_sort
from sampling_ref.numbers.reaching import first_reaching
from sampling_ref.numbers.thresholds import probabilities_at_least
from sampling_ref.numbers.totals import side_of_mean
from sampling_ref.row import Number, ReadRow, read_possible_logits
from sampling_ref.situation import Situation
from sampling_ref.steps.step import Values, with_places
from sampling_ref.steps.table import STEPS, steps_applying

MANY = 1024
"""Of more candidates, top-p first takes some of the largest only."""

FIRST_TRY = 256
"""So many."""


LARGEST = 2**31 - 1
"""Mirostat 1 converts its k to a whole number of 32 bits; what does not fit leaves one."""


def _sorted(candidates: Candidates) -> Candidates:
    """Return the candidates by falling logit, unless they count as sorted already."""
    return ORDERS["libstdc++"](candidates, len(candidates.tokens))


def _leading(candidates: Candidates, count: int) -> Candidates:
    return with_places(candidates, range(min(count, len(candidates.tokens))))


def _top_k(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    count = min(values["k"], len(candidates.tokens))
    return _leading(ORDERS["libstdc++"](candidates, count), count)


def _top_n_sigma(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    if len(candidates.tokens) <= 1:
        return candidates
    kept = top_n_sigma_logits(candidates.logits, values["n"])
    logits = [logit if place in kept else -inf for place, logit in enumerate(candidates.logits)]
    return replace(candidates, logits=ReadRow(logits))


def _typical(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    candidates = _sorted(candidates)
    read_possible_logits(candidates.logits)
    places = order_of_sort([-rank for rank in _ranks_by_distance(candidates)])
    walk = [candidates.logits[place] for place in places]
    end = first_reaching(walk, values["mass"], strictly=True, factor=candidates.factor)
    count = len(walk) if end is None else max(end + 1, values["least"])
    return replace(with_places(candidates, places[:count]), is_sorted=False)


def _ranks_by_distance(candidates: Candidates) -> list[float]:
    """Return a number for each candidate that rises with its distance from the mean logit.

    The surprise of a token is farther from the entropy than that of another exactly if its
    logit is farther from the mean logit (see `mean_logit`).
    """
    logits = candidates.logits
    if -inf in logits:
        return [0.0] * len(logits)
    side = side_of_mean(logits, candidates.factor)

    def farther(one: Number, two: Number) -> int:
        return side(one, two) if one > two else -side(one, two)

    nearest_first = sorted(set(logits), key=cmp_to_key(farther))
    ranks = {logit: float(rank) for rank, logit in enumerate(nearest_first)}
    return [ranks[logit] for logit in logits]


def _top_p(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    size = len(candidates.tokens)
    share, factor = values["p"], candidates.factor
    if not candidates.is_sorted and size > MANY:
        floats = [float(logit) for logit in candidates.true_logits()]
        places = falling_positions_by_buckets(floats, FIRST_TRY)
        walk = [candidates.logits[place] for place in places]
        end = first_reaching(walk, share, total=candidates.logits, factor=factor)
        if end is None or values["least"] > FIRST_TRY:
            places = falling_positions_by_buckets(floats, size)
        whole = candidates.logits
        candidates = replace(with_places(candidates, places), is_sorted=True)
    else:
        candidates = _sorted(candidates)
        whole = candidates.logits
    end = first_reaching(candidates.logits, share, total=whole, factor=factor)
    return _leading(candidates, size if end is None else max(end + 1, values["least"]))


def _min_p(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    """Leave unsorted candidates in their order, unless they are too few."""
    read_possible_logits(candidates.logits)
    passing = _passing_min_p(candidates, values["m"])
    if not candidates.is_sorted and len(passing) >= max(1, values["least"]):
        return with_places(candidates, passing)
    return _leading(_sorted(candidates), max(1, len(passing), values["least"]))


def _passing_min_p(candidates: Candidates, share: Number) -> list[int]:
    if share > 1:
        return []
    return sorted(min_p_logits(candidates.logits, share, least=0, factor=candidates.factor))


def _xtc(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    """Take a random number where the engine takes one, and sort if it says so."""
    if len(candidates.tokens) < 2:
        return candidates
    if situation.randomness.uniform("xtc", "f32") > values["probability"]:
        return candidates
    candidates = _sorted(candidates)
    threshold, size = values["threshold"], len(candidates.tokens)
    if threshold == 0:
        last = size - 1
    else:
        top = probabilities_at_least(candidates.logits, threshold, factor=candidates.factor)
        last = max(len(top) - 1, 0)
    if size - last < values["least"]:
        last = 0
    return with_places(candidates, range(last, size))


def _dynamic_temperature(
    candidates: Candidates,
    situation: Situation,
    values: Values,
) -> Candidates:
    size = len(candidates.tokens)
    if size <= 1:
        return candidates
    candidates = _sorted(candidates)
    logits = read_possible_logits(candidates.true_logits())
    found = temperature_of_entropy(
        logits, values["temperature"], values["spread"], values["exponent"], size
    )
    if found == 0:
        return replace(candidates, logits=ReadRow(only_greedy(candidates.logits)))
    return replace(candidates, factor=candidates.factor / Fraction(found))


def _mirostat_1(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    candidates = _sorted(candidates)
    if -inf in candidates.logits[: values["ranks"]]:
        return _leading(candidates, 1)
    return STEPS["mirostat_1"].apply(candidates, situation, {**values, "largest_k": LARGEST})


def _mirostat_2(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    return STEPS["mirostat_2"].apply(_sorted(candidates), situation, values)


EXACT = steps_applying(
    {
        "top_n_sigma": _top_n_sigma,
        "top_k": _top_k,
        "typical": _typical,
        "top_p": _top_p,
        "min_p": _min_p,
        "xtc": _xtc,
        "dynamic_temperature": _dynamic_temperature,
        "mirostat_1": _mirostat_1,
        "mirostat_2": _mirostat_2,
    }
)
"""Steps that sort for themselves."""
