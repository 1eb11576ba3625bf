"""Questions to a sampler: one strategy per operation and profile, which draws a record's `in`.

Filters, draws and speculative decoding are asked about dyadic weights, where rounding decides
nothing. Filters and draws are also asked about logits; steps and chains only about logits. Draws
are also asked about weights that do not add up to 1. Whether rounding
may decide such a question is up to the judge.

In a draw by noise each token has its own random number. Most are multiples of 1/64, so that the
logarithms of the number and of 1 minus the number are far from where rounding matters; some are
0 or the largest number below 1.

Half of the rows for mirostat and adaptive-p have a power of two of equal logits. Their
probabilities and surprises are exact, so a random number may lie exactly at a border, and the
state may be missing. The other rows have a few plain logits, mostly with numbers between borders.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from math import inf
from typing import Any, Final, TypeAlias

from hypothesis import find  # noqa: F401 - used in the examples
from hypothesis import strategies as st

from sampling_ref import PROFILES
from tokenref.floats import Type, nearest, pack, type_of, unpack
from tokenref.generators import CONVERSIONS, GENERATORS
from tokenref.questions.sampling import pack_parameters
from tokenref.record import FILTER_OPS, ROW_OPS
from tokenref.rules import RACE_PROFILES, STANDARD, choices_of, rule_name, rule_names
from tokenref.strategies.rows import (
    dyadic_weights,
    histories,
    invalid_rows,
    logits,
    profile_parameters,
    step_parameters,
    stepped,
    uniforms,
)
from tokenref.strategies.texts import mostly

Request: TypeAlias = dict[str, Any]


@st.composite
def speculative(draw: st.DrawFn) -> Request:
    """Draw a question with an exact answer: drafts are powers of two, so all ratios are exact.

    >>> find(speculative(), lambda request: request["tokens"])["tokens"]
    [0]
    """
    size, count = draw(st.integers(2, 4)), draw(st.integers(0, 3))
    offered = st.permutations([*(2.0 ** -min(n, size - 1) for n in range(1, size + 1))])
    wanted = st.lists(st.integers(0, 15), min_size=size - 1, max_size=size - 1).map(_sixteenths)
    drafts = [draw(offered) for _ in range(count)]
    targets = [draw(wanted) for _ in range(count + 1)]
    tokens = [draw(st.integers(0, size - 1)) for _ in range(count)]
    numbers = [
        draw(uniforms([target[token] / draft[token]]))
        for target, draft, token in zip(targets, drafts, tokens, strict=False)
    ]
    return {
        "draft": [pack(row) for row in drafts],
        "target": [pack(row) for row in targets],
        "tokens": tokens,
        "uniforms": pack([*numbers, draw(uniforms(targets[-1]))]),
        "params": {},
    }


_LOOP: Final[Mapping[str, Mapping[str, Any]]] = {
    "temperature": {"temperature": 0.5},
    "frequency_penalty": {"penalty": 1.0},
    "presence_penalty": {"penalty": 1.5},
    "repetition_penalty": {"penalty": 2.0},
    "no_repeat_ngram": {"ngram_size": 2},
    "bad_words": {"words": [[0, 1], [1, 1]]},
    "top_k": {"k": 2},
}
"""Steps between a target's row and the draw from it."""


@st.composite
def speculative_steps(draw: st.DrawFn, profile: str) -> Request:
    """Draw a question about drafts whose target draws after steps.

    >>> find(speculative_steps("standard"), lambda request: request["tokens"])["tokens"]
    [0]
    """
    size, count = draw(st.integers(2, 4)), draw(st.integers(0, 3))
    tokens = st.lists(st.integers(0, size - 1), max_size=4)
    logit = st.lists(st.integers(-4, 4), min_size=size, max_size=size, unique=True)
    offered = st.permutations([*(2.0 ** -min(n, size - 1) for n in range(1, size + 1))])
    matching = choices_of("speculative_steps", profile) == {"method": "matching"}
    history = draw(tokens)
    names = draw(st.lists(st.sampled_from([*_LOOP]), min_size=1, max_size=2, unique=True))
    numbers = st.integers(0, 15).map(lambda number: number / 16 + 1 / 32)
    drafted = st.integers(0, size - 1)
    return {
        "target": [pack([number / 2 for number in draw(logit)]) for _ in range(count + 1)],
        "draft": [pack(draw(offered)) for _ in range(0 if matching else count)],
        "tokens": draw(st.lists(drafted, min_size=count, max_size=count)),
        "history": history,
        "prompt_length": draw(st.integers(0, len(history))),
        "steps": [{"step": name, "params": pack_parameters(_LOOP[name])} for name in names],
        "uniforms": pack(draw(st.lists(numbers, min_size=count + 1, max_size=count + 1))),
    }


_EIGHTHS: Final = st.integers(-64, 64).map(lambda number: number / 8)
_FUSED: Final[Mapping[str, st.SearchStrategy[dict[str, Any]]]] = {
    "repetition_penalty": st.sampled_from([2.0, 0.5, 4.0]).map(lambda n: {"penalty": n}),
    "frequency_penalty": st.integers(-4, 8).map(lambda n: {"penalty": n / 4}),
    "presence_penalty": st.integers(-4, 8).map(lambda n: {"penalty": n / 4}),
    "temperature": st.sampled_from([0.5, 2.0, 0.25]).map(lambda n: {"temperature": n}),
    "top_k": st.integers(1, 6).map(lambda n: {"k": n}),
    "top_p": st.integers(1, 32).map(lambda n: {"p": n / 32}),
    "min_p": st.integers(0, 15).map(lambda n: {"m": n / 32}),
}
"""Parameters of fused steps. All arithmetic on logits in eighths is exact."""


@st.composite
def steps(draw: st.DrawFn, _: str) -> Request:
    """Draw a question to a fused kernel: penalties, biases, masks, temperature, filters, a draw.

    >>> sorted(find(steps("standard"), lambda request: "draw" in request))
    ['draw', 'history', 'logits', 'prompt_length', 'steps']
    """
    row = draw(st.lists(mostly(_EIGHTHS, st.just(-inf), 8), min_size=1, max_size=12))
    row = row if max(row) > -inf else [*row, 0.0]
    history, token = draw(histories(len(row))), st.integers(0, len(row) - 1)
    biases = st.dictionaries(token, mostly(_EIGHTHS, st.just(-inf), 8), min_size=1, max_size=3)
    of_row = {
        "logit_bias": biases.map(lambda given: {"biases": given}),
        "token_mask": st.lists(token, min_size=1, max_size=6).map(lambda given: {"tokens": given}),
    }
    known: dict[str, st.SearchStrategy[Any]] = {**_FUSED, **of_row}
    names = draw(st.lists(st.sampled_from(sorted(known)), min_size=1, max_size=5))
    names = [name for at, name in enumerate(names) if name in _FUSED or name not in names[:at]]
    request = {
        "logits": pack(row),
        "history": history,
        "prompt_length": draw(st.integers(0, len(history))),
        "steps": [{"step": n, "params": pack_parameters(draw(known[n]))} for n in names],
    }
    number = mostly(st.integers(0, 63).map(lambda n: (n + 0.5) / 64), uniforms(), 8)
    return {**request, "draw": pack([draw(number)])} if draw(st.booleans()) else request


def _sixteenths(cuts: Sequence[int]) -> list[float]:
    ends = [0, *sorted(cuts), 16]
    return [(high - low) / 16 for low, high in pairwise(ends)]


@st.composite
def residual(draw: st.DrawFn) -> Request:
    """Draw a target's row and a draft's, of one to four tokens.

    >>> sorted(find(residual(), lambda request: True))
    ['draft', 'params', 'target']
    """
    size = draw(st.integers(1, 4))
    wanted = st.lists(st.integers(0, 16), min_size=size - 1, max_size=size - 1).map(_sixteenths)
    return {"target": pack(draw(wanted)), "draft": pack(draw(wanted)), "params": {}}


_LENGTHS: Final = {
    "philox4x32-10": (2, 4),
    "philox4x64-10": (2, 4),
    "threefry2x32-20": (2, 2),
    "threefry4x64-20": (4, 4),
}
"""Number of words of the key and of the counter, for generators that have both."""

SEEDED: Final = (
    *(name for name, generator in GENERATORS.items() if generator.needs == ("seed",)),
    *_LENGTHS,
)
"""The generators in questions about words."""

_EDGES: Final = (0, 1, 0xFF, 0x1FF)
_LONG: Final = (0, 0, 1, 2, 3, 4, 7, 8, 623, 624, 625)
"""Numbers of words skipped first: around the ends of the blocks of some generators."""


@st.composite
def random_words(draw: st.DrawFn, profile: str) -> Request:
    """Draw a start, mostly edge cases, and which words to return.

    >>> find(random_words("mt19937"), lambda request: True)
    {'taken': 0, 'count': 1, 'seed': '0'}
    """
    request: Request = {"taken": draw(st.sampled_from(_LONG)), "count": draw(st.integers(1, 6))}
    if profile not in _LENGTHS:
        seeds = mostly(st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2**32 - 1, 2**32]), 2)
        return {**request, "seed": f"{draw(seeds):x}"}
    bits = GENERATORS[profile].inner
    for name, length in zip(("key", "counter"), _LENGTHS[profile], strict=True):
        word = _words(bits)
        given = draw(st.lists(word, min_size=length, max_size=length))
        request[name] = [f"{each:0{bits // 4}x}" for each in given]
    return request


@st.composite
def uniforms_of_words(draw: st.DrawFn, profile: str) -> Request:
    """Draw random words, mostly edge cases, as many as the numbers need.

    >>> find(uniforms_of_words("torch-cpu-float"), lambda request: True)
    {'words': ['00000000']}
    """
    way = CONVERSIONS[profile]
    word = _words(way.bits)
    count = way.words * draw(st.integers(1, 3))
    words = draw(st.lists(word, min_size=count, max_size=count))
    return {"words": [f"{each:0{way.bits // 4}x}" for each in words]}


def _words(bits: int) -> st.SearchStrategy[int]:
    largest = (1 << bits) - 1
    edges = st.sampled_from([*_EDGES, largest, 1 << (bits - 1), largest - 0xFF])
    return mostly(edges, st.integers(0, largest), 2)


LARGEST: Final = 1 - 2.0**-24
_WALK: Final = rule_name("draw", method="torch walk")
_64THS: Final = st.integers(1, 63).map(lambda number: number / 64)
_ENDS: Final = st.sampled_from([LARGEST, 0.0, 2.0**-20, 1 - 2.0**-16])


def race_numbers(size: int) -> st.SearchStrategy[list[float]]:
    """Return a strategy for one random number per token, some of them 0 or nearly 1.

    >>> len(find(race_numbers(3), lambda numbers: True))
    3
    """
    one = mostly(_64THS, _ENDS, 8)
    equal = one.map(lambda number: [number] * size)
    return mostly(st.lists(one, min_size=size, max_size=size), equal, 8)


@st.composite
def races(draw: st.DrawFn, profile: str) -> Request:
    """Draw a row, a number for each token, and sometimes how many tokens are drawn.

    >>> sorted(find(races("method.gumbel-max"), lambda request: "count" in request))
    ['count', 'logits', 'uniforms']
    """
    method = (choices_of("draw", profile) or {})["method"]
    by_logits = method == "gumbel max"
    row = draw(logits(8)) if by_logits else draw(dyadic_weights())
    possible = sum(number > (-inf if by_logits else 0) for number in row)
    request: Request = {"logits" if by_logits else "probs": pack(row)}
    if profile == _WALK:
        count = draw(st.integers(2, 5))
        numbers = draw(st.lists(mostly(_64THS, _ENDS, 8), min_size=count, max_size=count))
        return {**request, "uniforms": pack(numbers), "count": count}
    request["uniforms"] = pack(draw(race_numbers(len(row))))
    if draw(st.integers(0, 3)) == 0:
        request["count"] = draw(st.integers(1, min(possible, 6)))
    return request


_QUARTERS: Final = st.integers(-16, 16).map(lambda number: number / 4)
_RATES: Final = st.sampled_from([0.5, 0.25, 1.0, 0.125, 0.0, -0.5])
_AIMS: Final = st.sampled_from([2.0, 1.5, 1.0, 3.0, 2.5, 0.5, 0.0])
_SHARES: Final = st.sampled_from([0.5, 0.25, 0.75, 0.0, 1.0])
_DECAYS: Final = st.sampled_from([0.5, 0.75, 0.0])
_STEERING: Final = st.integers(-2, 16).map(lambda number: number / 2)
_BETWEEN: Final = st.integers(0, 31).map(lambda number: (2 * number + 1) / 64)
_SIZES: Final = (0, 1, 1000)
"""By how many tokens a vocabulary may be larger than the row."""


@st.composite
def even_rows(draw: st.DrawFn) -> list[float]:
    """Draw a row whose possible tokens are equal, and 1, 2, 4 or 8 of them.

    >>> find(even_rows(), lambda row: True)
    [0.0]
    """
    equal = draw(st.sampled_from([0.0, 1.0, -2.5]))
    row = [equal] * 2 ** draw(st.integers(0, 3))
    for place in draw(st.lists(st.integers(0, len(row)), max_size=2)):
        row.insert(place, -inf)
    return row


@st.composite
def plain_rows(draw: st.DrawFn) -> list[float]:
    """Draw a row of multiples of 1/4, often with ties, sometimes a peak or an impossible token.

    >>> find(plain_rows(), lambda row: len(row) > 2)
    [0.0, 0.0, 0.0]
    """
    odd = st.sampled_from([-inf, -20.0, 30.0])
    row = draw(st.lists(mostly(_QUARTERS, odd, 8), min_size=2, max_size=9))
    return row if max(row) > -inf else [*row, 0.0]


def _steered_row(draw: st.DrawFn) -> tuple[list[float], bool]:
    """Draw a row, and whether its possible tokens are a power of two of equals."""
    is_even = draw(st.booleans())
    return draw(even_rows() if is_even else mostly(plain_rows(), invalid_rows(), 32)), is_even


def _steered(
    draw: st.DrawFn, row: list[float], params: Request, state: Request, *, is_even: bool
) -> Request:
    """Draw the end of a question: whether there is a state, and the random number.

    The number is at a boundary of equal shares, or anywhere in [0, 1].
    """
    state = {} if is_even and draw(st.integers(0, 3)) == 0 else state
    count = sum(logit > -inf for logit in row)
    number = draw(uniforms([1 / count] * count) if is_even else mostly(_BETWEEN, uniforms(), 8))
    packed = pack_parameters(params)
    return {"logits": pack(row), "params": packed, "state": state, "uniforms": pack([number])}


@st.composite
def mirostat(draw: st.DrawFn, op: str) -> Request:
    """Draw a step of mirostat 1 or 2.

    >>> find(mirostat("mirostat_2"), lambda request: not request["state"])["params"]
    {'tau': {'f32': '40000000'}, 'eta': {'f32': '3f000000'}}
    """
    row, is_even = _steered_row(draw)
    params: Request = {"tau": draw(_AIMS), "eta": draw(_RATES)}
    if op == "mirostat_1":
        more = {
            "ranks": st.sampled_from([2, 3, 100]),
            "vocabulary": st.sampled_from([len(row) + by for by in _SIZES]),
        }
        params |= draw(st.fixed_dictionaries({}, optional=more))
    mu = draw(_STEERING)
    if is_even and mu > 0 and draw(st.integers(0, 3)) == 0:
        mu = stepped(mu, -1)
    return _steered(draw, row, params, {"mu": pack([mu])}, is_even=is_even)


@st.composite
def adaptive_p(draw: st.DrawFn) -> Request:
    """Draw a step of adaptive-p.

    >>> sorted(find(adaptive_p(), lambda request: True))
    ['logits', 'params', 'state', 'uniforms']
    """
    row, is_even = _steered_row(draw)
    params = {"target": draw(_SHARES), "decay": draw(_DECAYS)}
    weight = draw(st.sampled_from([2.0, 1.0, 4.0, 0.5, 0.0]))
    past = [draw(st.integers(0, 8)) / 8 * weight, weight]
    return _steered(draw, row, params, {"past": pack(past)}, is_even=is_even)


Drawn: TypeAlias = st.SearchStrategy[Request]

_NEEDS_LOGITS: Final = frozenset({"top_n_sigma"})
"""Filters that are defined for logits only."""

_TYPES: Final[Sequence[Type]] = ("f32", "f32", "f32", "f64", "bf16", "f16")
_RACES: Final = frozenset({"exponential race", "Gumbel-max"})
"""Ways to draw that need a random number for each token."""

LATER: Final[Mapping[str, Sequence[str]]] = {"draw": RACE_PROFILES}
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
    if op == "top_k" and draw(st.integers(0, 15)) == 15:
        size = draw(st.integers(257, 600))
        turned = [place * 101 % size / 8 for place in range(size)]  # not by size, not by place
        return {"logits": pack(turned), "params": {"k": draw(st.integers(256, size + 1))}}
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
        "token": draw(st.integers(0, max(len(row) - 1, 0))),
        "n": draw(st.integers(0, len(row) + 1)),
    }


@st.composite
def _prompt_logprobs(draw: st.DrawFn, _: str) -> Request:
    size = draw(st.integers(2, 5))
    tokens = draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=5))
    row = st.lists(st.integers(-16, 16), min_size=size, max_size=size)
    rows = [pack([number / 4 for number in draw(row)]) for _ in tokens]
    return {"rows": rows, "tokens": tokens, "n": draw(st.integers(0, size + 1))}


_TOTALS: Final = st.sampled_from([1.0, 1.0, 1.0, 0.5, 2.0, 16.0])
"""What weights add up to: powers of two, so that all sums and shares are exact."""


@st.composite
def _draw(draw: st.DrawFn, profile: str) -> Request:
    if profile in RACE_PROFILES:
        return draw(races(profile))
    kind = draw(st.integers(0, 7))
    if kind in {6, 7}:
        return {"logits": _logits(draw)[1], "uniforms": pack([draw(uniforms())])}
    weights = draw(dyadic_weights())
    if kind < 4:
        number = pack([draw(uniforms(weights))])
        total = draw(_TOTALS)
        return {"probs": pack([weight * total for weight in weights]), "uniforms": number}
    count = draw(st.integers(1, sum(weight > 0 for weight in weights)))
    quarters = st.sampled_from([0.0, 0.25, 0.5, 0.75])  # times what is left, they are exact
    numbers = draw(st.lists(quarters, min_size=count, max_size=count))
    return {"probs": pack(weights), "uniforms": pack(numbers), "count": count}


@st.composite
def chains(draw: st.DrawFn, profile: str, *, drawing: bool = False) -> Request:
    """Draw a question about an engine's whole chain: a row, a history, up to four parameters.

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

    >>> len(find(uniforms_for("vllm", 3), lambda numbers: True))
    3
    """
    count = size if PROFILES[profile].draw.method in _RACES else 1
    return st.lists(uniforms(), min_size=count, max_size=count)


@st.composite
def sampler_calls(draw: st.DrawFn, profile: str, size: int) -> list[Request]:
    """Draw calls on one sampler: draws, tokens chosen elsewhere, truncations, resets.

    >>> find(sampler_calls("openai", 3), lambda calls: any("reset" in call for call in calls))
    [{'reset': True}]
    """
    calls, length = list[Request](), 0
    for _ in range(draw(st.integers(1, 6))):
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


_BATCHED: Final = (
    *("top_k", "top_p", "min_p", "repetition_penalty", "temperature", "greedy", "draw"),
    *("softmax", "logprobs"),
)
"""Operations that engines perform for several rows at once."""


@st.composite
def _batch(draw: st.DrawFn, profile: str) -> Request:
    """Draw several questions of one operation, each with its own row and parameters.

    Mostly all rows are logits or all are weights, of one type, as kernels take them. In some of
    these batches the last row is the first one, far above or below it. Some are padded: their rows
    have the length of the first one and a few numbers more.
    """
    op = draw(st.sampled_from(_BATCHED))
    rows = draw(st.lists(SAMPLER_QUESTIONS[op](profile), min_size=1, max_size=4))
    if draw(st.integers(0, 7)) == 7:
        return {"op": op, "rows": rows}
    part = "probs" if "probs" in rows[0] else "logits"
    dtype, rows = type_of(rows[0][part]), [row for row in rows if part in row]
    numbers = [[nearest(number, dtype) for number in unpack(row[part])] for row in rows]
    if part == "logits" and (far := draw(st.sampled_from([0.0, 0.0, 200.0, -200.0]))):
        rows, apart = [*rows, rows[0]], [nearest(number + far, dtype) for number in numbers[0]]
        numbers.append(apart)
    size, padding = len(numbers[0]), draw(st.lists(_PADDING, max_size=3))
    if not size or not padding or part == "probs":
        packed = [{**row, part: pack(each, dtype)} for row, each in zip(rows, numbers, strict=True)]
        return {"op": op, "rows": packed}
    padded = [
        {**row, part: pack([*each, *padding], dtype)}
        for row, each in zip(rows, numbers, strict=True)
        if len(each) == size
    ]
    return {"op": op, "rows": padded, "vocab_size": size}


_PADDING: Final = st.sampled_from([100.0, -inf, 0.0])
"""Numbers of the padding, which may be larger than all logits."""

SAMPLER_QUESTIONS: Final[Mapping[str, Callable[[str], Drawn]]] = {
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
    "steps": steps,
    "residual": lambda _: residual(),
    "batch": _batch,
    "chain": chains,
    "distribution": chains,
    "sample": partial(chains, drawing=True),
    "sequence": _sequence,
}
"""The strategy for the questions of each operation, given a profile."""
