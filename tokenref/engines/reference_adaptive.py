"""What the reference answers about samplers that steer by what was drawn: one step of each."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from sampling_ref.candidates import all_candidates
from sampling_ref.draws.inverse_cdf import inverse_cdf
from sampling_ref.engines.draws import walk
from sampling_ref.errors import ParameterError
from sampling_ref.numbers.softmax import softmax
from sampling_ref.parameters import read_fraction
from sampling_ref.random.sources import read_uniforms
from sampling_ref.row import read_possible_logits
from sampling_ref.steps.adaptive_p import (
    PastProbabilities,
    adaptive_p,
    adaptive_p_next,
    adaptive_p_start,
)
from sampling_ref.steps.mirostat import next_mu
from sampling_ref.steps.mirostat_1 import mirostat_1
from sampling_ref.steps.mirostat_2 import mirostat_2
from tokenref.floats import nearest, pack, type_of, unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.rules import Choices, all_choices

Request: TypeAlias = Mapping[str, Any]
Out: TypeAlias = Mapping[str, Any]


def _adaptive(
    op: str, request: Request, needed: Sequence[str], allowed: Sequence[str] = ()
) -> tuple[list[Any], dict[str, Any], Any]:
    """Return the row, the parameters and the random number of an adaptive step."""
    params = unpack_parameters(request["params"])
    for name in needed:
        if name not in params:
            raise ParameterError(name, None, f"must be given for {op}")
    for name in sorted(params.keys() - {*needed, *allowed}):
        raise ParameterError(name, params[name], f"must not be given for {op}")
    (uniform,) = read_uniforms(unpack(request["uniforms"]), 1)
    return read_possible_logits(unpack(request["logits"])), params, uniform


def _steer(op: str) -> Callable[[Choices, Request], Out]:
    """Return what answers one of the two mirostats."""

    def answer(choices: Choices, request: Request) -> Out:
        chosen = all_choices(op, choices)
        more = ("ranks", "vocabulary", "largest_k") if op == "mirostat_1" else ()
        row, params, uniform = _adaptive(op, request, ("tau", "eta"), more)
        tau, eta = params.pop("tau"), params.pop("eta")
        for name, number in (("tau", tau), ("eta", eta)):
            read_fraction(name, number, "(-inf, inf)")
        whose = chosen.pop("whose")
        given = request["state"].get("mu")
        mu = 2 * tau if given is None else unpack(given)[0]
        dtype = "f64" if given is None else type_of(given)
        before = all_candidates(row)
        if op == "mirostat_1":
            if "vocabulary" in params:
                params["size"] = params.pop("vocabulary")
            after = mirostat_1(before, mu, tau=tau, **params, **chosen)
        else:
            after = mirostat_2(before, mu, tau=tau)
        token = inverse_cdf(after, uniform, order=walk(after, "sorted"), boundary="reach")
        state = next_mu(before, after, token, mu, tau=tau, eta=eta, whose=whose)
        return {"token": token, "state": {"mu": pack([nearest(float(state["mu"]), dtype)], dtype)}}

    return answer


def _adaptive_p(choices: Choices, request: Request) -> Out:
    chosen = all_choices("adaptive_p", choices)
    row, params, uniform = _adaptive("adaptive_p", request, ("target", "decay"))
    start = adaptive_p_start(params["target"], params["decay"])
    given = request["state"].get("past")
    past = start if given is None else PastProbabilities(*_pair(unpack(given)))
    dtype = "f64" if given is None else type_of(given)
    changed = adaptive_p(row, past, target=params["target"], decay=params["decay"])
    token = inverse_cdf(changed, uniform, boundary=chosen["boundary"])
    after = adaptive_p_next(past, softmax(row)[token], params["decay"])
    numbers = [nearest(float(number), dtype) for number in after]
    return {"token": token, "state": {"past": pack(numbers, dtype)}}


def _pair(numbers: list[float]) -> list[float]:
    if len(numbers) != len(PastProbabilities._fields):
        raise ParameterError("past", numbers, "must be two numbers")
    return numbers


ADAPTIVE: Final[Mapping[str, Callable[[Choices, Request], Out]]] = MappingProxyType(
    {
        "mirostat_1": _steer("mirostat_1"),
        "mirostat_2": _steer("mirostat_2"),
        "adaptive_p": _adaptive_p,
    }
)
"""What answers each operation, from the choices of its rule and the request."""
