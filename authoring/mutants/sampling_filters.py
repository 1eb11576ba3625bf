"""Mutants of filters: which tokens of a row are kept."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate
from math import copysign, exp, fsum, inf, isqrt, log
from types import MappingProxyType
from typing import Any, TypeAlias

from authoring.mutants.mutant import Mutant, mutant
from authoring.mutants.samplers import question
from sampling_ref import ParameterError
from tokenref.engines.reference import ReferenceEngine
from tokenref.engines.reference_samplers import SamplerTools
from tokenref.floats import Type, nearest, pack
from tokenref.questions.sampling import pack_parameters

Kept: TypeAlias = frozenset[int]
Row: TypeAlias = Sequence[float]
Right: TypeAlias = Callable[..., Kept]
"""The reference's filter: of a row and its values."""

Values: TypeAlias = Mapping[str, Any]
Wrong: TypeAlias = Callable[[Right, Row, Values], Kept]
"""What a mutant keeps: from the right filter, the row as it was given, and the values."""


def with_filter(op: str, wrong: Wrong) -> SamplerTools:
    """Return tools in which a filter is another one, of probabilities as well as of logits.

    Questions that the reference refuses are refused as it does.
    """
    right = SamplerTools().filters

    def keep(name: str, row: Row, **values: Any) -> Kept:
        right[name](row, **values)
        return wrong(right[name], row, values)

    names = [name for name in (op, f"{op}_logits") if name in right]
    filters = dict(right) | {name: partial(keep, name) for name in names}
    return SamplerTools(filters=MappingProxyType(filters))


def weights(row: Row) -> list[float]:
    """Return the shares of a row, of probabilities or of logits: which it is shows itself."""
    return list(_weights(tuple(row)))


@lru_cache(maxsize=8)  # many mutants are asked about the same long row
def _weights(row: tuple[float, ...]) -> list[float]:
    if min(row) >= 0 and fsum(row) == 1:
        return list(row)
    best = max(row)
    sizes = [exp(number - best) for number in row]
    total = sum(sizes)
    return [size / total for size in sizes]


def heaviest_first(shares: Row) -> list[int]:
    """Return the tokens that have weight, by falling weight."""
    return list(_heaviest_first(tuple(shares)))


@lru_cache(maxsize=8)
def _heaviest_first(shares: tuple[float, ...]) -> list[int]:
    tokens = [token for token, share in enumerate(shares) if share > 0]
    return sorted(tokens, key=lambda token: -shares[token])  # a stable sort: by id among equals


def filtering(
    op: str,
    row: Row,
    *,
    profile: str = "standard",
    kind: str = "probs",
    uniforms: Sequence[float] = (),
    dtype: Type = "f32",
    **params: Any,
) -> Callable[[Wrong], Mutant]:
    """Return a decorator: the function replaces a filter; the row and parameters show it."""
    request: dict[str, Any] = {kind: pack(row, dtype), "params": pack_parameters(params)}
    if uniforms:
        request["uniforms"] = pack(uniforms)
    return mutant(
        question(op, request, profile=profile),
        lambda label, wrong: ReferenceEngine(label, sampler_tools=with_filter(op, wrong)),
        ops={op, "batch"},
    )


# ---- top-p


@filtering("top_p", [1.0, 0.0], p=0.5, least=2)
def top_p_fills_up_with_nothing(right: Right, row: Row, values: Values) -> Kept:
    """Where fewer tokens than the least have weight, tokens without weight are kept."""
    kept = right(row, **values)
    lacking = values.get("least", 1) - len(kept)
    shares = weights(row)
    others = [token for token, share in enumerate(shares) if share == 0 and token not in kept]
    return kept | frozenset(others[: max(lacking, 0)])


def _share_of(kept: Kept, shares: Row) -> Fraction:
    """Return the share of some tokens; of probabilities in records it is exact."""
    return Fraction(fsum(shares[token] for token in kept))


def _walked(right: Right, row: Row, values: Values, order: Sequence[int]) -> Kept:
    """Keep the beginning of a walk until its share is at least p."""
    del right
    shares = weights(row)
    sums = accumulate(shares[token] for token in order)
    length = next((n for n, total in enumerate(sums, 1) if total >= values["p"]), len(order))
    return frozenset(order[:length])


def _sums_in(dtype: Type, right: Right, row: Row, values: Values) -> Kept:
    """Keep by running sums that are rounded to few bits."""
    del right
    shares, order = weights(row), heaviest_first(weights(row))
    total, length = 0.0, 0
    for length, token in enumerate(order, 1):  # noqa: B007 - how far it came is the answer
        total = nearest(total + nearest(shares[token], dtype), dtype)
        if total >= values["p"]:
            break
    return frozenset(order[:length])


def _all_equals(right: Right, row: Row, values: Values) -> Kept:
    kept = right(row, **values)
    lightest = min((row[token] for token in kept), default=inf)
    return frozenset(token for token, number in enumerate(row) if number >= lightest)


def _other_equals(right: Right, row: Row, values: Values) -> Kept:
    """Take, of equals, the other end of the row."""
    kept = right(row, **values)
    last = len(row) - 1
    mirrored = right(list(row)[::-1], **values)
    return kept if len(mirrored) != len(kept) else frozenset(last - token for token in mirrored)


@filtering("top_p", [0.5, 0.25, 0.25], p=0.625)
def top_p_drops_the_crossing_token(right: Right, row: Row, values: Values) -> Kept:
    """The token whose weight makes the sum reach p is removed; llama.cpp#1953, esm#360, C2C#21."""
    kept, shares = right(row, **values), weights(row)
    if _share_of(kept, shares) <= Fraction(values["p"]):
        return kept
    return frozenset(
        kept - {heaviest_first([shares[t] if t in kept else 0 for t in range(len(row))])[-1]}
    )


@filtering("top_p", [0.5, 0.25, 0.25], p=0.5)
def top_p_keeps_one_more_at_equality(right: Right, row: Row, values: Values) -> Kept:
    """Where the sum is exactly p, one more token is kept; transformers#18976."""
    kept, shares = right(row, **values), weights(row)
    rest = [token for token in heaviest_first(shares) if token not in kept]
    exact = _share_of(kept, shares) == Fraction(values["p"])
    return kept | {rest[0]} if exact and rest else kept


@filtering("top_p", [0.25, 0.5, 0.25], p=0.5)
def top_p_does_not_sort(right: Right, row: Row, values: Values) -> Kept:
    """The sum runs over the row without sorting it; gluon-nlp#1481."""
    shares = weights(row)
    return _walked(right, row, values, [token for token, share in enumerate(shares) if share > 0])


@filtering("top_p", [0.25, 0.5, 0.25], p=0.5)
def top_p_sorts_the_wrong_way(right: Right, row: Row, values: Values) -> Kept:
    """The sum starts with the least likely token."""
    return _walked(right, row, values, heaviest_first(weights(row))[::-1])


@filtering("top_p", [0.5, 0.25, 0.25], p=0.75)
def top_p_is_one_minus_p(right: Right, row: Row, values: Values) -> Kept:
    """p is used as the share to remove; magma#29."""
    return (
        right(row, **{**values, "p": 1 - values["p"]}) if values["p"] < 1 else right(row, **values)
    )


@filtering("top_p", [0.5, 0.25, 0.25], p=0.75)
def top_p_sums_logarithms(right: Right, row: Row, values: Values) -> Kept:
    """Running sums of log-probabilities instead of probabilities; tiny-llm#32."""
    shares, order = weights(row), heaviest_first(weights(row))
    if values["p"] >= 1:
        return right(row, **values)
    limit = log(values["p"]) if values["p"] else -inf
    sums = accumulate(log(shares[token]) for token in order)
    length = next((n for n, total in enumerate(sums, 1) if total <= limit), len(order))
    return frozenset(order[:length])


@filtering("top_p", [0.5, 0.25, 0.25], p=0.25)
def top_p_keeps_nothing_for_a_small_p(right: Right, row: Row, values: Values) -> Kept:
    """A p below the largest share removes everything; mlx-lm#1912."""
    kept, shares = right(row, **values), weights(row)
    return frozenset() if len(kept) == 1 and max(shares) > values["p"] else kept


@filtering("top_p", [0.25, 0.5, 0.25], p=0.25)
def top_p_keeps_token_0_for_a_small_p(right: Right, row: Row, values: Values) -> Kept:
    """A p below the largest share falls back to token 0, not the best one; simply#42."""
    kept, shares = right(row, **values), weights(row)
    return frozenset({0}) if len(kept) == 1 and max(shares) > values["p"] else kept


@filtering("top_p", [0.5, 0.25, 0.25], p=1.0)
def top_p_1_keeps_only_the_best(right: Right, row: Row, values: Values) -> Kept:
    """p = 1 is treated as greedy; ChatRWKV#170."""
    kept = right(row, **values)
    return frozenset(heaviest_first(weights(row))[:1]) if values["p"] == 1 else kept


@filtering("top_p", [1 / 512] * 512, p=0.75)
def top_p_sums_in_bf16(right: Right, row: Row, values: Values) -> Kept:
    """Running sums in bf16 stop growing; Megatron-LM#7182, tt-metal#41635."""
    return _sums_in("bf16", right, row, values)


@filtering("top_p", [1 / 8192] * 8192, p=0.75)
def top_p_sums_in_f16(right: Right, row: Row, values: Values) -> Kept:
    """Running sums in binary16 stop growing on flat rows."""
    return _sums_in("f16", right, row, values)


def _rounded(right: Right, row: Row, values: Values, name: str, dtype: Type) -> Kept:
    """Filter by a parameter that is rounded to few bits."""
    number = nearest(values[name], dtype)
    return right(row, **{**values, name: number}) if 0 < number <= 1 else right(row, **values)


@filtering("top_p", [0.5, 0.25, 0.25], p=0.5 + 2.0**-10)
def top_p_rounds_p_to_bf16(right: Right, row: Row, values: Values) -> Kept:
    """p is rounded to bfloat16."""
    return _rounded(right, row, values, "p", "bf16")


@filtering("top_p", [0.5, 0.25, 0.25], p=0.5 + 2.0**-15)
def top_p_rounds_p_to_f16(right: Right, row: Row, values: Values) -> Kept:
    """p is rounded to binary16."""
    return _rounded(right, row, values, "p", "f16")


@filtering("top_p", [1 - 2.0**-12, 2.0**-12], p=0.9995)
def top_p_of_0_999_is_off(right: Right, row: Row, values: Values) -> Kept:
    """A p of 0.999 or more counts as 1, which leaves top-p out."""
    return right(row, **{**values, "p": 1.0}) if values["p"] >= 0.999 else right(row, **values)


@filtering("top_p", [0.5, 0.25, 0.25], p=0.75)
def top_p_keeps_all_equals_at_the_cut(right: Right, row: Row, values: Values) -> Kept:
    """All tokens as heavy as the last one are kept; flashinfer#3774."""
    return _all_equals(right, row, values)


@filtering("top_p", [0.5, 0.25, 0.25], p=0.75)
def top_p_takes_the_other_equals(right: Right, row: Row, values: Values) -> Kept:
    """Among equals at the cut, those at the other end of the row are kept."""
    return _other_equals(right, row, values)


@filtering("top_p", [0.25, 0.5, 0.25], p=0.5)
def top_p_returns_places(right: Right, row: Row, values: Values) -> Kept:
    """Places in the sorted row are returned instead of ids; exllamav3#256, TensorRT-LLM#1590."""
    return frozenset(range(len(right(row, **values))))


@filtering("top_p", [0.5, 0.0, 0.5], p=1.0)
def top_p_keeps_what_has_no_weight(right: Right, row: Row, values: Values) -> Kept:
    """At p = 1 tokens of probability 0 are kept as well; pytorch#4858 and its relatives."""
    kept, shares = right(row, **values), weights(row)
    possible = {token for token, share in enumerate(shares) if share > 0}
    return frozenset(range(len(row))) if kept == possible else kept


@filtering("top_p", [*[0.0] * 65536, 1.0], p=0.5)
def top_p_cuts_ids_to_16_bits(right: Right, row: Row, values: Values) -> Kept:
    """Token ids are stored in 16 bits, so those from 65,536 on are wrong."""
    kept = right(row, **values)
    return frozenset(token & 0xFFFF for token in kept)


# ---- top-k


def _other_k(right: Right, row: Row, values: Values, change: Callable[[int], int]) -> Kept:
    try:
        return right(row, **{**values, "k": change(values["k"])})
    except ParameterError:
        return right(row, **values)


@filtering("top_k", [0.5, 0.25, 0.25], k=2)
def top_k_keeps_all_equals(right: Right, row: Row, values: Values) -> Kept:
    """All tokens as heavy as the k-th are kept; vllm#50979, sglang#33539, exllamav3's kernel."""
    return _all_equals(right, row, values)


@filtering("top_k", [0.5, 0.25, 0.25], k=2)
def top_k_drops_the_equals_of_the_kth(right: Right, row: Row, values: Values) -> Kept:
    """Only tokens heavier than the k-th are kept where it is tied."""
    kept = right(row, **values)
    lightest = min((row[token] for token in kept), default=inf)
    heavier = frozenset(token for token in kept if row[token] > lightest)
    is_tied = sum(number == lightest for number in row) > sum(row[t] == lightest for t in kept)
    return heavier if is_tied and heavier else kept


@filtering("top_k", [0.5, 0.25, 0.25], k=2)
def top_k_takes_the_other_equals(right: Right, row: Row, values: Values) -> Kept:
    """Among equals at the cut, those at the other end of the row are kept."""
    return _other_equals(right, row, values)


@filtering("top_k", [-0.0, 0.0], kind="logits", k=1)
def top_k_sorts_zeros_by_sign(right: Right, row: Row, values: Values) -> Kept:
    """Of two equal zeros the positive one is larger, as in a radix sort of the bits."""
    kept = right(row, **values)
    zeros = [token for token, number in enumerate(row) if number == 0]
    count = len(kept.intersection(zeros))
    by_sign = sorted(zeros, key=lambda token: copysign(1, row[token]) < 0)
    return kept.difference(zeros) | frozenset(by_sign[:count])


@filtering("top_k", [0.5, 0.5], k=1)
def top_k_1_is_not_greedy_on_ties(right: Right, row: Row, values: Values) -> Kept:
    """k = 1 keeps all of several best tokens; tpu-inference#3590."""
    return _all_equals(right, row, values) if values["k"] == 1 else right(row, **values)


@filtering("top_k", [0.5, 0.25, 0.25], k=2)
def top_k_keeps_one_less(right: Right, row: Row, values: Values) -> Kept:
    """One token too few is kept."""
    return _other_k(right, row, values, lambda k: max(k - 1, 1))


@filtering("top_k", [0.5, 0.25, 0.25], k=2)
def top_k_keeps_one_more(right: Right, row: Row, values: Values) -> Kept:
    """One token too many is kept."""
    return _other_k(right, row, values, lambda k: k + 1)


@filtering("top_k", [0.25, 0.25, 0.5], k=1)
def top_k_keeps_the_first_k(right: Right, row: Row, values: Values) -> Kept:
    """The row is assumed to be sorted."""
    return frozenset(range(len(right(row, **values))))


@filtering("top_k", [1 / 512] * 512, k=257)
def top_k_is_cut_to_8_bits(right: Right, row: Row, values: Values) -> Kept:
    """k is stored in 8 bits: 256 becomes 0, which means off."""
    return _other_k(right, row, values, lambda k: k & 0xFF or len(row))


@filtering("top_k", [0.75, 0.25], k=65_537)
def top_k_is_cut_to_16_bits(right: Right, row: Row, values: Values) -> Kept:
    """k is stored in 16 bits, and one token stays if nothing of it is left."""
    return _other_k(right, row, values, lambda k: max(k & 0xFFFF, 1))


@filtering("top_k", [1 / 2048] * 2048, k=1025)
def top_k_is_at_most_1024(right: Right, row: Row, values: Values) -> Kept:
    """A kernel's block holds 1,024 tokens, and no more are kept; similar to TensorRT-LLM's
    limit.
    """
    return _other_k(right, row, values, lambda k: min(k, 1024))


@filtering("top_k", [0.5, 0.25, 0.25], k=2)
def top_k_is_never_applied(right: Right, row: Row, values: Values) -> Kept:
    """The parameter is read and ignored, as sglang#28179 did with a penalty."""
    del right, values
    lowest = 0.0 if weights(row) == list(row) else -inf
    return frozenset(token for token, number in enumerate(row) if number > lowest)


# ---- filters with a threshold


def _without_equality(name: str, right: Right, row: Row, values: Values) -> Kept:
    """Remove what is exactly at the threshold, or keep it: the other choice than asked for."""
    other = {"kept": "removed", "removed": "kept"}[values.get(name, "kept")]
    return right(row, **{**values, name: other})


@filtering("min_p", [0.5, 0.25, 0.25], m=0.5)
def min_p_turns_equality_round(right: Right, row: Row, values: Values) -> Kept:
    """A token exactly at the threshold is treated the other way: llama.cpp's GPU sampler (S9)."""
    return _without_equality("equality", right, row, values)


@filtering("min_p", [0.25, 0.5, 0.25], m=0.375)
def min_p_compares_with_m_itself(right: Right, row: Row, values: Values) -> Kept:
    """The threshold is m, not m times the largest share."""
    shares = weights(row)
    if values["m"] == 0:
        return right(row, **values)
    kept = frozenset(token for token, share in enumerate(shares) if share >= values["m"])
    return kept | frozenset(heaviest_first(shares)[: values.get("least", 1)])


@filtering("min_p", [0.5, 0.25, 0.25], m=0.5 + 2.0**-10)
def min_p_rounds_m_to_bf16(right: Right, row: Row, values: Values) -> Kept:
    """m is rounded to bfloat16."""
    return _rounded(right, row, values, "m", "bf16")


@filtering("min_p", [0.5, 0.25, 0.25], m=0.5 + 2.0**-15)
def min_p_rounds_m_to_f16(right: Right, row: Row, values: Values) -> Kept:
    """m is rounded to binary16."""
    return _rounded(right, row, values, "m", "f16")


@filtering("min_p", [4.0, 3.0, 1.0], kind="logits", m=0.5)
def min_p_compares_logits(right: Right, row: Row, values: Values) -> Kept:
    """The threshold is applied to logits; sglang-jax#1563."""
    if weights(row) == list(row) or max(row) <= 0:
        return right(row, **values)
    return frozenset(token for token, number in enumerate(row) if number >= values["m"] * max(row))


@filtering("min_p", [0.5, 0.25, 0.25], m=1.0, least=2)
def min_p_forgets_the_least(right: Right, row: Row, values: Values) -> Kept:
    """The minimum number of kept tokens is ignored; llama.cpp#13822."""
    return right(row, **{**values, "least": 1})


@filtering("epsilon", [0.5, 0.25, 0.25], cutoff=0.25)
def epsilon_turns_equality_round(right: Right, row: Row, values: Values) -> Kept:
    """A token exactly at the cutoff is treated the other way."""
    return _without_equality("equality", right, row, values)


@filtering("epsilon", [0.5, 0.25, 0.25], cutoff=0.75)
def epsilon_removes_everything(right: Right, row: Row, values: Values) -> Kept:
    """If no token reaches the cutoff, nothing is left; rtp-llm#932."""
    kept, shares = right(row, **values), weights(row)
    cutoff = values.get("cutoff", 0)
    return frozenset() if len(kept) == 1 and max(shares) < cutoff else kept


@filtering("eta", [0.9375, 0.0625], cutoff=0.5)
def eta_removes_everything(right: Right, row: Row, values: Values) -> Kept:
    """If no token reaches eta, nothing is left; llama.cpp#13405 did so with typical."""
    return frozenset() if len(right(row, **values)) == 1 and len(row) > 1 else right(row, **values)


@filtering("eta", [0.75, 0.25], cutoff=0.125)
def eta_takes_the_root_twice(right: Right, row: Row, values: Values) -> Kept:
    """The first term is the square root of epsilon as well."""
    scale = values.get("scale")
    if scale is not None:
        return right(row, **values)
    root = Fraction(isqrt(int(Fraction(values["cutoff"]) * 10**30)), 10**15)
    return right(row, **{**values, "cutoff": min(float(root), 1.0)})


@filtering("top_n_sigma", [4.0, 3.9375, 0.0, -inf], kind="logits", n=2.0**-100)
def top_n_sigma_counts_removed_tokens(right: Right, row: Row, values: Values) -> Kept:
    """A removed token counts as a very small logit, so the deviation is huge."""
    finite = [-1e30 if number == -inf else number for number in row]
    return right(finite, **values) - {token for token, number in enumerate(row) if number == -inf}


@filtering("top_n_sigma", [4.0, 0.0, 0.0, -inf], kind="logits", n=1.0)
def top_n_sigma_is_nan_beside_removed(right: Right, row: Row, values: Values) -> Kept:
    """Minus infinity makes the mean NaN, and nothing is removed; llama.cpp#13344."""
    return (
        frozenset(token for token, number in enumerate(row) if number > -inf)
        if -inf in row
        else right(row, **values)
    )


@filtering("top_n_sigma", [4.0, 1.0, 0.0, 0.0], kind="logits", n=1.0)
def top_n_sigma_counts_twice(right: Right, row: Row, values: Values) -> Kept:
    """The deviation is doubled."""
    return right(row, **{**values, "n": 2 * values["n"]})


@filtering("top_n_sigma", [2.0, 0.75, 0.0], kind="logits", n=1.5)
def top_n_sigma_takes_the_other_deviation(right: Right, row: Row, values: Values) -> Kept:
    """The sum of squares is divided by n - 1 instead of n, or the reverse."""
    return right(
        row,
        **{
            **values,
            "deviation": {"population": "sample", "sample": "population"}[
                values.get("deviation", "population")
            ],
        },
    )


@filtering("top_a", [0.5, 0.25, 0.25], a=0.75)
def top_a_forgets_the_square(right: Right, row: Row, values: Values) -> Kept:
    """The threshold is a times the largest share, not its square."""
    shares = weights(row)
    kept = frozenset(t for t, share in enumerate(shares) if share >= values["a"] * max(shares))
    return kept or right(row, **values)


# ---- XTC, typical, tail-free, top-h


@filtering("xtc", [0.5, 0.25, 0.125, 0.125], uniforms=[0.0], threshold=0.25, probability=1.0)
def xtc_removes_the_last_one_too(right: Right, row: Row, values: Values) -> Kept:
    """The least likely token above the threshold is removed as well; aprender#2131."""
    kept, shares = right(row, **values), weights(row)
    if len(kept) == sum(share > 0 for share in shares):
        return kept
    above = [token for token in kept if shares[token] >= values["threshold"]]
    return kept - set(above) or kept


@filtering("xtc", [0.5, 0.375, 0.125], uniforms=[0.0], threshold=0.25, probability=1.0)
def xtc_leaves_the_likeliest(right: Right, row: Row, values: Values) -> Kept:
    """The most likely token above the threshold is kept."""
    kept, shares = right(row, **values), weights(row)
    if len(kept) == sum(share > 0 for share in shares):
        return kept
    above = {token for token in kept if shares[token] >= values["threshold"]}
    return kept - above | {heaviest_first(shares)[0]}


@filtering("xtc", [0.5, 0.375, 0.125], uniforms=[0.75], threshold=0.25, probability=0.5)
def xtc_acts_always(right: Right, row: Row, values: Values) -> Kept:
    """The probability is read, but no coin is thrown."""
    return (
        right(row, **{**values, "uniform": 0.0})
        if values["probability"] > 0
        else right(row, **values)
    )


@filtering("xtc", [0.5, 0.375, 0.125], uniforms=[0.25], threshold=0.25, probability=0.5)
def xtc_acts_when_it_should_not(right: Right, row: Row, values: Values) -> Kept:
    """The coin is compared in the wrong direction."""
    acts = 1 - values["uniform"] if 0 < values.get("uniform", 0) < 1 else values.get("uniform", 0)
    return right(row, **{**values, "uniform": acts})


@filtering("xtc", [0.5, 0.375, 0.125], uniforms=[0.5], threshold=0.25, probability=0.5)
def xtc_turns_the_coin_round_at_equality(right: Right, row: Row, values: Values) -> Kept:
    """A random number equal to the probability is treated the other way."""
    coin = {"at most": "below", "below": "at most"}[values.get("coin", "at most")]
    return right(row, **{**values, "coin": coin})


@filtering("xtc", [0.5, 0.25, 0.25], uniforms=[0.0], threshold=0.25, probability=1.0)
def xtc_turns_equality_round(right: Right, row: Row, values: Values) -> Kept:
    """A token exactly at the threshold is treated the other way; mlx-lm#1036 asks which is
    right.
    """
    other = {"counts": "does not", "does not": "counts"}[values.get("equality", "counts")]
    return right(row, **{**values, "equality": other})


@filtering(
    "xtc", [0.5, 0.375, 0.125], uniforms=[0.0], threshold=0.25, probability=1.0, protected=[0]
)
def xtc_forgets_protected_tokens(right: Right, row: Row, values: Values) -> Kept:
    """Line feed and end are removed like other tokens, so texts never end."""
    return right(row, **{**values, "protected": ()})


@filtering("typical", [0.5, 0.25, 0.25], mass=0.25)
def typical_walks_by_weight(right: Right, row: Row, values: Values) -> Kept:
    """The walk begins at the heaviest token, as in top-p."""
    del right
    shares = weights(row)
    order = heaviest_first(shares)
    sums = accumulate(shares[token] for token in order)
    return frozenset(
        order[: next((n for n, s in enumerate(sums, 1) if s >= values["mass"]), len(order))]
    )


@filtering("typical", [0.5, 0.375, 0.125], mass=0.75)
def typical_drops_the_crossing_token(right: Right, row: Row, values: Values) -> Kept:
    """The token whose weight makes the sum reach the mass is removed; exllamav2."""
    kept, shares = right(row, **values), weights(row)
    if len(kept) < 2 or _share_of(kept, shares) <= Fraction(values["mass"]):
        return kept
    entropy = -sum(share * log(share) for share in shares if share)
    last = max(kept, key=lambda token: abs(entropy + log(shares[token])))
    return kept - {last}


@filtering("typical", [0.5, 0.375, 0.125, 0.0], mass=0.25)
def typical_is_nan_beside_impossible(right: Right, row: Row, values: Values) -> Kept:
    """0 log 0 is NaN, and nothing is removed; llama.cpp (S8), trl#7221."""
    shares = weights(row)
    possible = frozenset(token for token, share in enumerate(shares) if share > 0)
    return possible if len(possible) < len(row) else right(row, **values)


@filtering("tail_free", [0.5, 0.25, 0.125, 0.125], z=0.5)
def tail_free_counts_from_the_other_end(right: Right, row: Row, values: Values) -> Kept:
    """The cut is off by one."""
    other = {"centred": "counted", "counted": "centred"}[values.get("cut", "centred")]
    return right(row, **{**values, "cut": other})


@filtering("top_h", [0.5, 0.25, 0.25], alpha=0.5)
def top_h_mixes_bits_and_nats(right: Right, row: Row, values: Values) -> Kept:
    """One entropy is in bits, the other in nats; aprender#2142 did so in mirostat."""
    return right(row, **{**values, "alpha": min(1.0, values["alpha"] / log(2))})


@filtering("top_h", [0.25, 0.25, 0.25, 0.125, 0.125], alpha=0.99609375, best=3)
def top_h_looks_at_one_more(right: Right, row: Row, values: Values) -> Kept:
    """One token more than `best` is looked at."""
    best = values.get("best")
    return right(row, **{**values, "best": best + 1} if best else values)


def _flushed(right: Right, row: Row, values: Values) -> Kept:
    """Take subnormal weights for none."""
    kept = right(row, **values)
    if not all(0 <= number <= 1 for number in row):
        return kept
    return frozenset(token for token in kept if row[token] >= 2.0**-126) or kept


@filtering("min_p", [1.0, 2.0**-140], m=2.0**-141)
def min_p_flushes_subnormal_weights(right: Right, row: Row, values: Values) -> Kept:
    """Subnormal probabilities become 0: their tokens are lost; flashinfer#769."""
    return _flushed(right, row, values)


@filtering("top_p", [1.0, 2.0**-140], p=1.0)
def top_p_flushes_subnormal_weights(right: Right, row: Row, values: Values) -> Kept:
    """Subnormal probabilities become 0: their tokens are lost; flashinfer#769."""
    return _flushed(right, row, values)
