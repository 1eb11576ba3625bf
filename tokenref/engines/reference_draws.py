"""What the reference answers about draws, random words and random numbers.

The table at the end has speculative decoding and adaptive samplers as well.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from sampling_ref import EXACT, WEIGHTS
from sampling_ref.draws.exponential_race import exponential_race_order
from sampling_ref.draws.gumbel_max import gumbel_top
from sampling_ref.draws.inverse_cdf import inverse_cdf
from sampling_ref.draws.torch_cpu import (
    multinomial_torch_cpu_with_replacement,
    multinomial_torch_cpu_without_replacement,
)
from sampling_ref.draws.without_replacement import (
    without_replacement,
)
from sampling_ref.errors import ParameterError, RandomNumberError, UnknownNameError
from sampling_ref.random.sources import read_uniforms
from tokenref.engines.reference_adaptive import ADAPTIVE
from tokenref.engines.reference_speculative import SPECULATIVE
from tokenref.floats import pack, type_of, unpack
from tokenref.generators import CONVERSIONS, GENERATORS, Start, numbers_of, words_of
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


def _gumbel(chosen: Choices, request: Request, count: int) -> list[int]:
    row = _row(request, "gumbel max", "logits")
    return gumbel_top(row, count, unpack(request["uniforms"]), noise=chosen["noise"])


def _race(chosen: Choices, request: Request, count: int) -> list[int]:
    row = _row(request, "exponential race", "probs")
    return exponential_race_order(row, count, unpack(request["uniforms"]), noise=chosen["noise"])


def _torch(several: Callable[..., list[int]]) -> Callable[[Choices, Request, int], list[int]]:
    def draw(chosen: Choices, request: Request, count: int) -> list[int]:
        row = _row(request, str(chosen["method"]), "probs")
        dtype = type_of(request["probs"])
        if dtype not in {"f32", "f64"}:
            raise UnknownNameError("torch race or walk over numbers of", dtype, ["f32", "f64"])
        uniforms = read_uniforms(unpack(request["uniforms"]))
        needed = len(row) if several is multinomial_torch_cpu_without_replacement else count
        if len(uniforms) != needed:
            raise RandomNumberError(f"uniforms must hold {needed} numbers, got {len(uniforms)}")
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
    "gumbel max": _gumbel,
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
            raise ParameterError(name, word, f"must hold words of {bits} bits")
    return tuple(int(word, 16) for word in words)


def _uniforms(choices: Choices, request: Request) -> Out:
    name = str(choices["name"])
    if name not in CONVERSIONS:
        raise UnknownNameError("conversion", name, CONVERSIONS)
    way = CONVERSIONS[name]
    words = _read(request["words"], way.bits, "words")
    return {"uniforms": pack(numbers_of(name, words), way.dtype)}


DRAWS: Final[Mapping[str, Callable[[Choices, Request], Out]]] = MappingProxyType(
    {
        "draw": _draw,
        "random_words": _random_words,
        "uniforms": _uniforms,
        **SPECULATIVE,
        **ADAPTIVE,
    }
)
"""What answers each operation, from the choices of its rule and the request."""
