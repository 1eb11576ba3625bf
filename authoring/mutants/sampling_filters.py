"""Mutants of filters: which tokens of a row are kept."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate
from math import exp, fsum, inf, isqrt, log
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from authoring.mutants.mutant import Mutant
from authoring.mutants.samplers import question, sampler_mutant
from sampling_ref import ParameterError
from tokenref.engines.reference_samplers import SamplerTools
from tokenref.floats import Type, nearest, pack
from tokenref.questions.sampling import pack_parameters

Kept: TypeAlias = frozenset[int]
Row: TypeAlias = Sequence[float]
Right: TypeAlias = Callable[..., Kept]
"""The reference's filter: of a row and its values."""

Wrong: TypeAlias = Callable[[Right, Row, Mapping[str, Any]], Kept]
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
    name: str,
    story: str,
    op: str,
    wrong: Wrong,
    row: Row,
    *,
    profile: str = "standard",
    kind: str = "probs",
    uniforms: Sequence[float] = (),
    dtype: Type = "f32",
    **params: Any,
) -> Mutant:
    """Return a mutant of one filter, with the question that shows it."""
    request: dict[str, Any] = {kind: pack(row, dtype), "params": pack_parameters(params)}
    if uniforms:
        request["uniforms"] = pack(uniforms)
    return sampler_mutant(
        name,
        story,
        question(op, request, profile=profile),
        ops={op, "batch"},
        tools=with_filter(op, wrong),
    )


# ---- top-p


def _share_of(kept: Kept, shares: Row) -> Fraction:
    """Return the share of some tokens; of probabilities in records it is exact."""
    return Fraction(fsum(shares[token] for token in kept))


def _crossing_dropped(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    kept, shares = right(row, **values), weights(row)
    if _share_of(kept, shares) <= Fraction(values["p"]):
        return kept
    return frozenset(
        kept - {heaviest_first([shares[t] if t in kept else 0 for t in range(len(row))])[-1]}
    )


def _one_more_at_equality(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    kept, shares = right(row, **values), weights(row)
    rest = [token for token in heaviest_first(shares) if token not in kept]
    exact = _share_of(kept, shares) == Fraction(values["p"])
    return kept | {rest[0]} if exact and rest else kept


def _walked(right: Right, row: Row, values: Mapping[str, Any], order: Sequence[int]) -> Kept:
    """Keep the beginning of a walk until its share is at least p."""
    del right
    shares = weights(row)
    sums = accumulate(shares[token] for token in order)
    length = next((n for n, total in enumerate(sums, 1) if total >= values["p"]), len(order))
    return frozenset(order[:length])


def _unsorted(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    shares = weights(row)
    return _walked(right, row, values, [token for token, share in enumerate(shares) if share > 0])


def _lightest_first(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    return _walked(right, row, values, heaviest_first(weights(row))[::-1])


def _complement(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    return (
        right(row, **{**values, "p": 1 - values["p"]}) if values["p"] < 1 else right(row, **values)
    )


def _sums_of_logarithms(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    shares, order = weights(row), heaviest_first(weights(row))
    if values["p"] >= 1:
        return right(row, **values)
    sums = accumulate(log(shares[token]) for token in order)
    length = next((n for n, total in enumerate(sums, 1) if total <= log(values["p"])), len(order))
    return frozenset(order[:length])


def _nothing_for_a_small_p(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    kept, shares = right(row, **values), weights(row)
    return frozenset() if len(kept) == 1 and max(shares) > values["p"] else kept


def _first_id_for_a_small_p(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    kept, shares = right(row, **values), weights(row)
    return frozenset({0}) if len(kept) == 1 and max(shares) > values["p"] else kept


def _only_the_best_at_one(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    kept = right(row, **values)
    return frozenset(heaviest_first(weights(row))[:1]) if values["p"] == 1 else kept


def _sums_in(dtype: Type, right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    """Keep by running sums that are rounded to few bits."""
    del right
    shares, order = weights(row), heaviest_first(weights(row))
    total, length = 0.0, 0
    for length, token in enumerate(order, 1):  # noqa: B007 - how far it came is the answer
        total = nearest(Fraction(total) + Fraction(nearest(shares[token], dtype)), dtype)
        if total >= values["p"]:
            break
    return frozenset(order[:length])


def _all_equals(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    kept = right(row, **values)
    lightest = min((row[token] for token in kept), default=inf)
    return frozenset(token for token, number in enumerate(row) if number >= lightest)


def _no_equals(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    """Keep only what is heavier than the lightest kept, if that is a tie."""
    kept = right(row, **values)
    lightest = min((row[token] for token in kept), default=inf)
    heavier = frozenset(token for token in kept if row[token] > lightest)
    is_tied = sum(number == lightest for number in row) > sum(row[t] == lightest for t in kept)
    return heavier if is_tied and heavier else kept


def _other_equals(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    """Take, of equals, the other end of the row."""
    kept = right(row, **values)
    last = len(row) - 1
    mirrored = right(list(row)[::-1], **values)
    return kept if len(mirrored) != len(kept) else frozenset(last - token for token in mirrored)


def _by_place(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    """Take places in the sorted row for ids."""
    return frozenset(range(len(right(row, **values))))


def _weightless_too(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    """Keep what cannot be drawn at all, when everything else is kept."""
    kept, shares = right(row, **values), weights(row)
    possible = {token for token, share in enumerate(shares) if share > 0}
    return frozenset(range(len(row))) if kept == possible else kept


def _half_of_the_row(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    """Look at the first 65,536 tokens only."""
    kept = right(row, **values)
    return frozenset(token & 0xFFFF for token in kept)


P: Final = (
    filtering(
        "top-p-drops-the-crossing-token",
        "The token whose weight makes the sum reach p is removed; llama.cpp#1953, esm#360, C2C#21.",
        "top_p",
        _crossing_dropped,
        [0.5, 0.25, 0.25],
        p=0.625,
    ),
    filtering(
        "top-p-keeps-one-more-at-equality",
        "Where the sum is exactly p, one more token is kept; transformers#18976.",
        "top_p",
        _one_more_at_equality,
        [0.5, 0.25, 0.25],
        p=0.5,
    ),
    filtering(
        "top-p-does-not-sort",
        "The sum runs over the row as it stands; gluon-nlp#1481.",
        "top_p",
        _unsorted,
        [0.25, 0.5, 0.25],
        p=0.5,
    ),
    filtering(
        "top-p-sorts-the-wrong-way",
        "The sum runs from the lightest token on. Own.",
        "top_p",
        _lightest_first,
        [0.25, 0.5, 0.25],
        p=0.5,
    ),
    filtering(
        "top-p-is-one-minus-p",
        "p is taken for the share to remove; magma#29.",
        "top_p",
        _complement,
        [0.5, 0.25, 0.25],
        p=0.75,
    ),
    filtering(
        "top-p-sums-logarithms",
        "Running sums of log-probabilities instead of probabilities; tiny-llm#32.",
        "top_p",
        _sums_of_logarithms,
        [0.5, 0.25, 0.25],
        p=0.75,
    ),
    filtering(
        "top-p-keeps-nothing-for-a-small-p",
        "A p below the largest share removes everything; mlx-lm#1912.",
        "top_p",
        _nothing_for_a_small_p,
        [0.5, 0.25, 0.25],
        p=0.25,
    ),
    filtering(
        "top-p-keeps-token-0-for-a-small-p",
        "A p below the largest share falls back to token 0, not the best one; simply#42.",
        "top_p",
        _first_id_for_a_small_p,
        [0.25, 0.5, 0.25],
        p=0.25,
    ),
    filtering(
        "top-p-1-keeps-only-the-best",
        "p = 1 is taken for greedy; ChatRWKV#170.",
        "top_p",
        _only_the_best_at_one,
        [0.5, 0.25, 0.25],
        p=1.0,
    ),
    filtering(
        "top-p-sums-in-bf16",
        "Running sums in bf16 stop growing; Megatron-LM#7182, tt-metal#41635.",
        "top_p",
        partial(_sums_in, "bf16"),
        [1 / 512] * 512,
        p=0.75,
    ),
    filtering(
        "top-p-sums-in-f16",
        "Running sums in binary16 stop growing on flat rows. Own.",
        "top_p",
        partial(_sums_in, "f16"),
        [1 / 8192] * 8192,
        p=0.75,
    ),
    filtering(
        "top-p-keeps-all-equals-at-the-cut",
        "All tokens as heavy as the last one are kept; flashinfer#3774.",
        "top_p",
        _all_equals,
        [0.5, 0.25, 0.25],
        p=0.75,
    ),
    filtering(
        "top-p-takes-the-other-equals",
        "Of equals at the cut those at the other end of the row are kept. Own.",
        "top_p",
        _other_equals,
        [0.5, 0.25, 0.25],
        p=0.75,
    ),
    filtering(
        "top-p-returns-places",
        "Places in the sorted row are returned for ids; exllamav3#256, TensorRT-LLM#1590.",
        "top_p",
        _by_place,
        [0.25, 0.5, 0.25],
        p=0.5,
    ),
    filtering(
        "top-p-keeps-what-has-no-weight",
        "At p = 1 tokens of probability 0 are kept as well; pytorch#4858 and its relatives.",
        "top_p",
        _weightless_too,
        [0.5, 0.0, 0.5],
        p=1.0,
    ),
    filtering(
        "top-p-cuts-ids-to-16-bits",
        "Token ids are held in 16 bits: those from 65,536 on are others. Own.",
        "top_p",
        _half_of_the_row,
        [*[0.0] * 65536, 1.0],
        p=0.5,
    ),
)


# ---- top-k


def _other_k(
    right: Right, row: Row, values: Mapping[str, Any], change: Callable[[int], int]
) -> Kept:
    try:
        return right(row, **{**values, "k": change(values["k"])})
    except ParameterError:
        return right(row, **values)


def _best_is_all_equals(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    return _all_equals(right, row, values) if values["k"] == 1 else right(row, **values)


def _first_k(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    return frozenset(range(len(right(row, **values))))


def _at_most_1024(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    kept = right(row, **values)
    order = [token for token in heaviest_first(weights(row)) if token in kept]
    return frozenset(order[:1024])


def _ignored(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    del right, values
    lowest = 0.0 if weights(row) == list(row) else -inf
    return frozenset(token for token, number in enumerate(row) if number > lowest)


K: Final = (
    filtering(
        "top-k-keeps-all-equals",
        "All tokens as heavy as the k-th are kept; vllm#50979, sglang#33539, exllamav3's kernel.",
        "top_k",
        _all_equals,
        [0.5, 0.25, 0.25],
        k=2,
    ),
    filtering(
        "top-k-drops-the-equals-of-the-kth",
        "Only tokens heavier than the k-th are kept, where that is a tie. Own.",
        "top_k",
        _no_equals,
        [0.5, 0.25, 0.25],
        k=2,
    ),
    filtering(
        "top-k-takes-the-other-equals",
        "Of equals at the cut those at the other end of the row are kept. Own.",
        "top_k",
        _other_equals,
        [0.5, 0.25, 0.25],
        k=2,
    ),
    filtering(
        "top-k-1-is-not-greedy-on-ties",
        "k = 1 keeps all of several best tokens; tpu-inference#3590.",
        "top_k",
        _best_is_all_equals,
        [0.5, 0.5],
        k=1,
    ),
    filtering(
        "top-k-keeps-one-less",
        "One token too few. Own.",
        "top_k",
        lambda right, row, values: _other_k(right, row, values, lambda k: max(k - 1, 1)),
        [0.5, 0.25, 0.25],
        k=2,
    ),
    filtering(
        "top-k-keeps-one-more",
        "One token too many. Own.",
        "top_k",
        lambda right, row, values: _other_k(right, row, values, lambda k: k + 1),
        [0.5, 0.25, 0.25],
        k=2,
    ),
    filtering(
        "top-k-keeps-the-first-k",
        "The row is taken to be sorted already. Own.",
        "top_k",
        _first_k,
        [0.25, 0.25, 0.5],
        k=1,
    ),
    filtering(
        "top-k-is-cut-to-8-bits",
        "k is held in 8 bits: 256 becomes 0, which is off. Own.",
        "top_k",
        lambda right, row, values: _other_k(right, row, values, lambda k: k & 0xFF or len(row)),
        [1 / 512] * 512,
        k=257,
    ),
    filtering(
        "top-k-is-at-most-1024",
        "A kernel's block holds 1,024 tokens, and no more are kept; as TensorRT-LLM's limit.",
        "top_k",
        _at_most_1024,
        [1 / 2048] * 2048,
        k=1025,
    ),
    filtering(
        "top-k-is-never-applied",
        "The parameter is read and ignored; sglang#28179 did so with a penalty.",
        "top_k",
        _ignored,
        [0.5, 0.25, 0.25],
        k=2,
    ),
)


# ---- filters with a threshold


def _without_equality(name: str, right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    """Remove what is exactly at the threshold, or keep it: the other choice than asked for."""
    other = {"kept": "removed", "removed": "kept"}[values.get(name, "kept")]
    return right(row, **{**values, name: other})


def _of_the_total(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    """Compare with m itself, and not with m times the largest share."""
    shares = weights(row)
    kept = frozenset(token for token, share in enumerate(shares) if share >= values["m"])
    return kept or right(row, **values)


def _in_logits(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    """Compare logits with m times the largest logit; sglang-jax#1563."""
    if weights(row) == list(row) or max(row) <= 0:
        return right(row, **values)
    return frozenset(token for token, number in enumerate(row) if number >= values["m"] * max(row))


def _empty_if_alone(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    """Remove even the best where nothing reaches the threshold."""
    kept, shares = right(row, **values), weights(row)
    cutoff = values.get("cutoff", 0)
    return frozenset() if len(kept) == 1 and max(shares) < cutoff else kept


def _not_at_least(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    """Forget how many must be kept at least."""
    return right(row, **{**values, "least": 1})


def _masked_counts(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    """Take a removed token for one of logit -1e30 in the mean and the deviation."""
    finite = [-1e30 if number == -inf else number for number in row]
    return right(finite, **values) - {token for token, number in enumerate(row) if number == -inf}


def _keeps_all_if_masked(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    """Keep all where a logit is minus infinity: the deviation is NaN, and nothing is below NaN."""
    return (
        frozenset(token for token, number in enumerate(row) if number > -inf)
        if -inf in row
        else right(row, **values)
    )


def _two_sigmas(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    return right(row, **{**values, "n": 2 * values["n"]})


def _squared_twice(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    """Forget the square: a times the largest share."""
    shares = weights(row)
    kept = frozenset(t for t, share in enumerate(shares) if share >= values["a"] * max(shares))
    return kept or right(row, **values)


def _always_the_square_root(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    """Take the square root of epsilon for epsilon in the first term."""
    scale = values.get("scale")
    if scale is not None:
        return right(row, **values)
    root = Fraction(isqrt(int(Fraction(values["cutoff"]) * 10**30)), 10**15)
    return right(row, **{**values, "cutoff": min(float(root), 1.0)})


THRESHOLDS: Final = (
    filtering(
        "min-p-turns-equality-round",
        "What has exactly the threshold is treated the other way: llama.cpp's GPU sampler (S9).",
        "min_p",
        partial(_without_equality, "equality"),
        [0.5, 0.25, 0.25],
        m=0.5,
    ),
    filtering(
        "min-p-compares-with-m-itself",
        "The threshold is m, not m times the largest share. Own.",
        "min_p",
        _of_the_total,
        [0.25, 0.5, 0.25],
        m=0.375,
    ),
    filtering(
        "min-p-compares-logits",
        "The threshold is taken in logits; sglang-jax#1563.",
        "min_p",
        _in_logits,
        [4.0, 3.0, 1.0],
        kind="logits",
        m=0.5,
    ),
    filtering(
        "min-p-forgets-the-least",
        "How many must be kept at least is ignored; llama.cpp#13822.",
        "min_p",
        _not_at_least,
        [0.5, 0.25, 0.25],
        m=1.0,
        least=2,
    ),
    filtering(
        "epsilon-turns-equality-round",
        "What has exactly the cutoff is treated the other way. Own.",
        "epsilon",
        partial(_without_equality, "equality"),
        [0.5, 0.25, 0.25],
        cutoff=0.25,
    ),
    filtering(
        "epsilon-removes-everything",
        "Where no token reaches the cutoff nothing is left; rtp-llm#932.",
        "epsilon",
        _empty_if_alone,
        [0.5, 0.25, 0.25],
        cutoff=0.75,
    ),
    filtering(
        "eta-removes-everything",
        "Where no token reaches eta nothing is left; llama.cpp#13405 did so with typical.",
        "eta",
        lambda right, row, values: (
            frozenset() if len(right(row, **values)) == 1 and len(row) > 1 else right(row, **values)
        ),
        [0.9375, 0.0625],
        cutoff=0.5,
    ),
    filtering(
        "eta-takes-the-root-twice",
        "The first term is the square root of epsilon as well. Own.",
        "eta",
        _always_the_square_root,
        [0.75, 0.25],
        cutoff=0.125,
    ),
    filtering(
        "top-n-sigma-counts-removed-tokens",
        "A removed token counts as a very small logit, so that the deviation is huge. Own.",
        "top_n_sigma",
        _masked_counts,
        [4.0, 3.9375, 0.0, -inf],
        kind="logits",
        n=2.0**-100,
    ),
    filtering(
        "top-n-sigma-is-nan-beside-removed",
        "Minus infinity makes the mean NaN, and nothing is removed; llama.cpp#13344.",
        "top_n_sigma",
        _keeps_all_if_masked,
        [4.0, 0.0, 0.0, -inf],
        kind="logits",
        n=1.0,
    ),
    filtering(
        "top-n-sigma-counts-twice",
        "Twice the deviation. Own.",
        "top_n_sigma",
        _two_sigmas,
        [4.0, 1.0, 0.0, 0.0],
        kind="logits",
        n=1.0,
    ),
    filtering(
        "top-n-sigma-takes-the-other-deviation",
        "The sum of squares is divided by one less, or not. Own.",
        "top_n_sigma",
        lambda right, row, values: right(
            row,
            **{
                **values,
                "deviation": {"population": "sample", "sample": "population"}[
                    values.get("deviation", "population")
                ],
            },
        ),
        [2.0, 0.75, 0.0],
        kind="logits",
        n=1.5,
    ),
    filtering(
        "top-a-forgets-the-square",
        "The threshold is a times the largest share, not its square. Own.",
        "top_a",
        _squared_twice,
        [0.5, 0.25, 0.25],
        a=0.75,
    ),
)


# ---- XTC, typical, tail-free, top-h


def _xtc_removes_all(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    """Remove the least likely of those above the threshold as well."""
    kept, shares = right(row, **values), weights(row)
    if len(kept) == sum(share > 0 for share in shares):
        return kept
    above = [token for token in kept if shares[token] >= values["threshold"]]
    return kept - set(above) or kept


def _xtc_keeps_the_best(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    """Leave the likeliest of those above the threshold, not the least likely."""
    kept, shares = right(row, **values), weights(row)
    if len(kept) == sum(share > 0 for share in shares):
        return kept
    above = {token for token in kept if shares[token] >= values["threshold"]}
    return kept - above | {heaviest_first(shares)[0]}


def _xtc_always(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    return (
        right(row, **{**values, "uniform": 0.0})
        if values["probability"] > 0
        else right(row, **values)
    )


def _xtc_other_coin(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    """Turn the comparison of the coin round where both numbers are equal."""
    coin = {"at most": "below", "below": "at most"}[values.get("coin", "at most")]
    return right(row, **{**values, "coin": coin})


def _xtc_other_equality(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    other = {"counts": "does not", "does not": "counts"}[values.get("equality", "counts")]
    return right(row, **{**values, "equality": other})


def _xtc_unprotected(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    return right(row, **{**values, "protected": ()})


def _reversed_coin(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    """Act with probability 1 - p."""
    acts = 1 - values["uniform"] if 0 < values.get("uniform", 0) < 1 else values.get("uniform", 0)
    return right(row, **{**values, "uniform": acts})


def _typical_by_weight(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    """Walk from the heaviest token, and not from the most typical one: that is top-p."""
    del right
    shares = weights(row)
    order = heaviest_first(shares)
    sums = accumulate(shares[token] for token in order)
    return frozenset(
        order[: next((n for n, s in enumerate(sums, 1) if s >= values["mass"]), len(order))]
    )


def _typical_drops_the_crossing(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    kept, shares = right(row, **values), weights(row)
    if len(kept) < 2 or _share_of(kept, shares) <= Fraction(values["mass"]):
        return kept
    entropy = -sum(share * log(share) for share in shares if share)
    last = max(kept, key=lambda token: abs(entropy + log(shares[token])))
    return kept - {last}


def _nan_if_impossible(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    """Take 0 times minus infinity for NaN, and keep everything possible; trl#7221."""
    shares = weights(row)
    possible = frozenset(token for token, share in enumerate(shares) if share > 0)
    return possible if len(possible) < len(row) else right(row, **values)


def _tail_free_by_place(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    other = {"centred": "counted", "counted": "centred"}[values.get("cut", "centred")]
    return right(row, **{**values, "cut": other})


def _top_h_in_bits(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    return right(row, **{**values, "alpha": min(1.0, values["alpha"] / log(2))})


OTHERS: Final = (
    filtering(
        "xtc-removes-the-last-one-too",
        "The least likely token above the threshold is removed as well; aprender#2131.",
        "xtc",
        _xtc_removes_all,
        [0.5, 0.25, 0.125, 0.125],
        uniforms=[0.0],
        threshold=0.25,
        probability=1.0,
    ),
    filtering(
        "xtc-leaves-the-likeliest",
        "Of the tokens above the threshold the likeliest stays. Own.",
        "xtc",
        _xtc_keeps_the_best,
        [0.5, 0.375, 0.125],
        uniforms=[0.0],
        threshold=0.25,
        probability=1.0,
    ),
    filtering(
        "xtc-acts-always",
        "The probability is read, and no coin is thrown. Own.",
        "xtc",
        _xtc_always,
        [0.5, 0.375, 0.125],
        uniforms=[0.75],
        threshold=0.25,
        probability=0.5,
    ),
    filtering(
        "xtc-acts-when-it-should-not",
        "The coin is compared the wrong way round. Own.",
        "xtc",
        _reversed_coin,
        [0.5, 0.375, 0.125],
        uniforms=[0.25],
        threshold=0.25,
        probability=0.5,
    ),
    filtering(
        "xtc-turns-the-coin-round-at-equality",
        "A random number of exactly the probability is treated the other way. Own.",
        "xtc",
        _xtc_other_coin,
        [0.5, 0.375, 0.125],
        uniforms=[0.5],
        threshold=0.25,
        probability=0.5,
    ),
    filtering(
        "xtc-turns-equality-round",
        "A token of exactly the threshold is treated the other way; mlx-lm#1036 asks which.",
        "xtc",
        _xtc_other_equality,
        [0.5, 0.25, 0.25],
        uniforms=[0.0],
        threshold=0.25,
        probability=1.0,
    ),
    filtering(
        "xtc-forgets-protected-tokens",
        "Line feed and end are removed like others, so that texts never end. Own.",
        "xtc",
        _xtc_unprotected,
        [0.5, 0.375, 0.125],
        uniforms=[0.0],
        threshold=0.25,
        probability=1.0,
        protected=[0],
    ),
    filtering(
        "typical-walks-by-weight",
        "The walk begins at the heaviest token, as in top-p. Own.",
        "typical",
        _typical_by_weight,
        [0.5, 0.25, 0.25],
        mass=0.25,
    ),
    filtering(
        "typical-drops-the-crossing-token",
        "The token whose weight makes the sum reach the mass is removed; exllamav2 (S2).",
        "typical",
        _typical_drops_the_crossing,
        [0.5, 0.375, 0.125],
        mass=0.75,
    ),
    filtering(
        "typical-is-nan-beside-impossible",
        "0 log 0 is NaN, and nothing is removed; llama.cpp (S8), trl#7221.",
        "typical",
        _nan_if_impossible,
        [0.5, 0.375, 0.125, 0.0],
        mass=0.25,
    ),
    filtering(
        "tail-free-counts-from-the-other-end",
        "The cut lies one place beside where it should. Own.",
        "tail_free",
        _tail_free_by_place,
        [0.5, 0.25, 0.125, 0.125],
        z=0.5,
    ),
    filtering(
        "top-h-mixes-bits-and-nats",
        "One entropy is in bits, the other in nats; aprender#2142 did so in mirostat.",
        "top_h",
        _top_h_in_bits,
        [0.5, 0.25, 0.25],
        alpha=0.5,
    ),
)


def _flushed(right: Right, row: Row, values: Mapping[str, Any]) -> Kept:
    """Take subnormal weights for none."""
    kept = right(row, **values)
    if not all(number >= 0 for number in row):
        return kept
    return frozenset(token for token in kept if row[token] >= 2.0**-126) or kept


SUBNORMAL: Final = (
    filtering(
        "min-p-flushes-subnormal-weights",
        "Subnormal probabilities become 0: their tokens are lost; flashinfer#769.",
        "min_p",
        _flushed,
        [1.0, 2.0**-140],
        m=2.0**-141,
    ),
    filtering(
        "top-p-flushes-subnormal-weights",
        "Subnormal probabilities become 0: their tokens are lost; flashinfer#769.",
        "top_p",
        _flushed,
        [1.0, 2.0**-140],
        p=1.0,
    ),
)

FILTERS: Final = (*P, *K, *THRESHOLDS, *OTHERS, *SUBNORMAL)
"""All mutants of filters."""
