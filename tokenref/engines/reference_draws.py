"""The reference's answers about draws, random numbers, speculative decoding, adaptive steps."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, Final, TypeAlias

from sampling_ref import EXACT, STEPS, WEIGHTS
from sampling_ref.draws.exponential_race import exponential_race_order
from sampling_ref.draws.gumbel_max import gumbel_top
from sampling_ref.draws.inverse_cdf import inverse_cdf, without_replacement
from sampling_ref.draws.torch_cpu import (
    multinomial_torch_cpu_with_replacement,
    multinomial_torch_cpu_without_replacement,
)
from sampling_ref.engines.draws import walk
from sampling_ref.errors import ParameterError, RandomNumberError, UnknownNameError
from sampling_ref.random.sources import read_uniforms
from sampling_ref.row import all_candidates, read_possible_logits
from sampling_ref.speculative.block import verify_block
from sampling_ref.speculative.chain import verify_by_matching, verify_chain
from sampling_ref.speculative.residual import ensemble, residual
from sampling_ref.speculative.target_only import verify_target_only
from sampling_ref.speculative.tree import read_children, verify_tree
from sampling_ref.speculative.typical import best_typical_candidate
from sampling_ref.steps.step import Situation
from tokenref.floats import Type, nearest, pack, type_of, unpack
from tokenref.generators import CONVERSIONS, GENERATORS, Start, numbers_of, words_of
from tokenref.questions.sampling import unpack_parameters
from tokenref.rules import Choices, all_choices

Request: TypeAlias = Mapping[str, Any]
Out: TypeAlias = Mapping[str, Any]

_DIGITS: Final = {32: 8, 64: 16}


# ---- draws


def _draw(choices: Choices, request: Request) -> Out:
    chosen = all_choices("draw", choices)
    method, count = chosen["method"], request.get("count")
    if "order" in request and (method != "inverse cdf" or count is not None):
        raise ParameterError("order", request["order"], "must be given for one draw by walking")
    tokens = _METHODS[method](chosen, request, count or 1)
    return {"token": tokens[0]} if count is None else {"tokens": tokens}


def _row(request: Request, method: str, *kinds: str) -> list[float]:
    """Return the row of a request; some methods take logits only, or probabilities only."""
    kind = "probs" if "probs" in request else "logits"
    if kind not in kinds:
        raise UnknownNameError(f"row of {method} that is given as", kind, kinds)
    return unpack(request[kind])


def _walk(chosen: Choices, request: Request, count: int) -> list[int]:
    row = _row(request, "inverse cdf", "probs", "logits")
    boundary, uniforms = chosen["boundary"], unpack(request["uniforms"])
    numbers = WEIGHTS if "probs" in request else EXACT
    if "count" in request:
        return without_replacement(row, count, uniforms, boundary=boundary, numbers=numbers)
    (u,) = read_uniforms(uniforms, 1)
    order, zero = request.get("order"), chosen["zero_weight"]
    return [inverse_cdf(row, u, order=order, boundary=boundary, zero_weight=zero, numbers=numbers)]


def _race(chosen: Choices, request: Request, count: int) -> list[int]:
    by_logits = chosen["method"] == "gumbel max"
    row = _row(request, str(chosen["method"]), "logits" if by_logits else "probs")
    race = gumbel_top if by_logits else exponential_race_order
    return race(row, count, unpack(request["uniforms"]), noise=chosen["noise"])


def _torch(several: Callable[..., list[int]]) -> Callable[[Choices, Request, int], list[int]]:
    def draw(chosen: Choices, request: Request, count: int) -> list[int]:
        row = _row(request, str(chosen["method"]), "probs")
        dtype = type_of(request["probs"])
        if dtype not in {"f32", "f64"}:
            raise UnknownNameError("torch race or walk over numbers of", dtype, ["f32", "f64"])
        uniforms = read_uniforms(unpack(request["uniforms"]))
        needed = len(row) if several is multinomial_torch_cpu_without_replacement else count
        if len(uniforms) != needed:
            raise RandomNumberError(f"uniforms must have {needed} numbers, got {len(uniforms)}")
        return several(row, count, iter(_words(uniforms)), bits=64 if dtype == "f64" else 32)

    return draw


def _words(uniforms: Sequence[Any]) -> list[int]:
    """Return the words from which torch makes these numbers, the high one first."""
    words: list[int] = []
    for u in uniforms:
        number = Fraction(u) * 2**53
        if number.denominator != 1:
            raise RandomNumberError(f"uniforms must be multiples of 2**-53, got {u!r}")
        words += divmod(number.numerator, 2**32)
    return words


_METHODS: Final[Mapping[str, Callable[[Choices, Request, int], list[int]]]] = {
    "inverse cdf": _walk,
    "gumbel max": _race,
    "exponential race": _race,
    "torch race": _torch(multinomial_torch_cpu_without_replacement),
    "torch walk": _torch(multinomial_torch_cpu_with_replacement),
}


# ---- random words and numbers


def _random_words(choices: Choices, request: Request) -> Out:
    name = str(choices["name"])
    if name not in GENERATORS:
        raise UnknownNameError("generator", name, GENERATORS)
    generator = GENERATORS[name]
    given = frozenset({"seed", "key", "counter"} & request.keys())
    start = Start(
        seed=int(request.get("seed", "0"), 16),
        key=_read(request.get("key", ()), generator.inner, "key"),
        counter=_read(request.get("counter", ()), generator.inner, "counter"),
        taken=request["taken"],
        count=request["count"],
    )
    digits = _DIGITS[generator.bits]
    return {"words": [f"{word:0{digits}x}" for word in words_of(name, start, given)]}


def _read(words: Sequence[str], bits: int, name: str) -> tuple[int, ...]:
    for word in words:
        if len(word) != _DIGITS[bits]:
            raise ParameterError(name, word, f"must contain words of {bits} bits")
    return tuple(int(word, 16) for word in words)


def _uniforms(choices: Choices, request: Request) -> Out:
    name = str(choices["name"])
    if name not in CONVERSIONS:
        raise UnknownNameError("conversion", name, CONVERSIONS)
    way = CONVERSIONS[name]
    words = _read(request["words"], way.bits, "words")
    return {"uniforms": pack(numbers_of(name, words), way.dtype)}


# ---- speculative decoding


def _speculative(choices: Choices, request: Request) -> Out:
    chosen = all_choices("speculative", choices)
    method = chosen["method"]
    params = unpack_parameters(request["params"])
    target, draft = ([unpack(row) for row in request[name]] for name in ("target", "draft"))
    tokens, uniforms = list(request["tokens"]), unpack(request["uniforms"])
    allowed, open_points = _SPECULATIVE[method]
    for name in sorted(params.keys() - allowed):
        raise ParameterError(name, params[name], f"must not be given for {method}")
    judge = {name: chosen[name] for name in open_points}
    if method == "typical":
        return _typical(target, tokens, params)
    if method in {"chain", "block"}:
        verify = verify_chain if method == "chain" else verify_block
        rows = _mixed(target, draft, params["weight"]) if "weight" in params else target
        found = verify(rows, draft, tokens, uniforms, **judge)
    elif method == "matching":
        found = verify_by_matching(target, tokens, uniforms)
    else:
        parents = params.pop("parents", list(range(len(tokens))))
        if method == "tree":
            found = verify_tree(target, draft, tokens, parents, uniforms, **judge)
        else:
            found = verify_target_only(target, tokens, parents, uniforms, **params)
    return {"accepted": found.accepted, "tokens": list(found.tokens)}


_SPECULATIVE: Final[Mapping[str, tuple[frozenset[str], tuple[str, ...]]]] = {
    "chain": (frozenset({"weight"}), ("equality", "undrafted", "if_equal")),
    "block": (frozenset(), ("equality",)),
    "tree": (frozenset({"parents"}), ("equality",)),
    "target only": (frozenset({"parents", "threshold_single", "threshold_acc"}), ()),
    "matching": (frozenset(), ()),
    "typical": (frozenset({"parents", "epsilon", "delta"}), ()),
}
"""The parameters of each method, and its open points."""


def _mixed(target: list[Any], draft: list[Any], weight: Any) -> list[Any]:
    """Return the mixture where there is a draft, and the target's own row for the bonus."""
    mixed = [ensemble(mine, offered, weight) for mine, offered in zip(target, draft, strict=False)]
    return [*mixed, *target[len(mixed) :]]


def _typical(target: list[Any], tokens: list[int], params: dict[str, Any]) -> Out:
    """Return the best of the ways from the beginning of a tree to its ends."""
    parents = params.pop("parents", list(range(len(tokens))))
    children = read_children(parents, len(tokens))
    ways = []
    for end in (node for node in range(1, len(tokens) + 1) if not children[node]):
        way = [end]
        while parents[way[0] - 1]:
            way.insert(0, parents[way[0] - 1])
        ways.append(way)
    rows = [[target[parents[node - 1]] for node in way] for way in ways]
    candidates = [[tokens[node - 1] for node in way] for way in ways]
    best, length = best_typical_candidate(rows, candidates, **params)
    return {"accepted": length, "tokens": candidates[best][:length]}


def _residual(choices: Choices, request: Request) -> Out:
    chosen = all_choices("residual", choices)
    for name, value in sorted(request.get("params", {}).items()):
        raise ParameterError(name, value, "must not be given for a residual")
    target, draft = unpack(request["target"]), unpack(request["draft"])
    shares = residual(target, draft, if_equal=chosen["if_equal"])
    dtype = type_of(request["target"])
    return {"probs": pack([nearest(share, dtype) for share in shares], dtype)}


# ---- adaptive steps


_ADAPTIVE: Final[Mapping[str, tuple[str, frozenset[str]]]] = {
    "mirostat_1": ("mu", frozenset({"tau", "eta", "ranks", "vocabulary", "largest_k"})),
    "mirostat_2": ("mu", frozenset({"tau", "eta"})),
    "adaptive_p": ("past", frozenset({"target", "decay"})),
}
"""What each adaptive step remembers, and its parameters."""


def _steered(op: str, choices: Choices, request: Request) -> Out:
    """Return the token that is drawn behind an adaptive step, and its next state."""
    (remembered, allowed), step = _ADAPTIVE[op], STEPS[op]
    params, chosen = unpack_parameters(request["params"]), dict(all_choices(op, choices))
    for name in sorted(params.keys() - allowed):
        raise ParameterError(name, params[name], f"must not be given for {op}")
    (uniform,) = read_uniforms(unpack(request["uniforms"]), 1)
    before = all_candidates(read_possible_logits(unpack(request["logits"])))
    size, boundary = params.pop("vocabulary", len(before.tokens)), chosen.pop("boundary", "reach")
    values, given = step.read({**params, **chosen}), request["state"].get(remembered)
    dtype: Type = "f64" if given is None else type_of(given)
    situation = Situation(size, state={} if given is None else _state(remembered, unpack(given)))
    after = step.apply(before, situation, values)
    order = None if remembered == "past" else walk(after, "sorted")
    token = inverse_cdf(after, uniform, order=order, boundary=boundary)
    assert step.remember is not None  # noqa: S101 - or it would not adapt
    left = step.remember(before, after, situation, values, token)[remembered]
    numbers = [nearest(float(one), dtype) for one in (left if remembered == "past" else [left])]
    return {"token": token, "state": {remembered: pack(numbers, dtype)}}


def _state(remembered: str, numbers: list[float]) -> dict[str, Any]:
    if remembered == "mu" and len(numbers) == 1:
        return {"mu": numbers[0]}
    if remembered == "past" and len(numbers) == 2:
        return {"past": tuple(numbers)}
    count = "one number" if remembered == "mu" else "two numbers"
    raise ParameterError(remembered, numbers, f"must be {count}")


DRAWS: Final[Mapping[str, Callable[[Choices, Request], Out]]] = {
    "draw": _draw,
    "random_words": _random_words,
    "uniforms": _uniforms,
    "speculative": _speculative,
    "residual": _residual,
    **{op: partial(_steered, op) for op in _ADAPTIVE},
}
"""The function that answers each operation, given the choices of its rule and the request."""
