"""Engines that draw with given random numbers, and the reference, side by side."""

from math import exp
from random import Random
from typing import Any

import pytest

pytest.importorskip("llama_cpp", reason="the engine is llama.cpp")

from sampling_ref import WEIGHTS
from sampling_ref.draws.inverse_cdf import inverse_cdf
from tests.sampling.engines.asking_adapters import out, taken_up
from tests.texts import CAMPAIGN
from tokenref.answers import Unsupported
from tokenref.engines.table import available
from tokenref.floats import nearest, pack, unpack
from tokenref.questions.sampling import pack_parameters
from tokenref.rules import rule_name

INF = float("inf")
REACH = rule_name("draw", boundary="reach")


def test_python_draws_like_the_definition() -> None:
    session: Any = available("python").load_profile("standard")  # type: ignore[attr-defined]
    random = Random(1)
    for _ in range(200 * CAMPAIGN):
        weights = [float(random.choice([0, 1, 2, 5])) for _ in range(random.randint(1, 9))]
        number = random.randrange(1 << 24) / (1 << 24)
        if not any(weights):
            continue
        asked = {"probs": pack(weights, "f32"), "uniforms": pack([number], "f64")}
        token = inverse_cdf(weights, number, numbers=WEIGHTS)
        assert out(session.answer("draw", asked)) == {"token": token}
        order = random.sample(range(len(weights)), len(weights))
        walked = inverse_cdf([weights[one] for one in order], number, numbers=WEIGHTS)
        assert out(session.answer("draw", {**asked, "order": order})) == {"token": order[walked]}


def test_llama_cpp_draws_where_a_given_number_lies() -> None:
    session, random = taken_up("llama.cpp", REACH), Random(2)
    for _ in range(40 * CAMPAIGN):
        row = [nearest(random.uniform(-3, 3), "f32") for _ in range(random.randint(1, 9))]
        number = random.randrange(1, 1 << 24) / (1 << 24)
        asked = {"logits": pack(row, "f32"), "uniforms": pack([number], "f64")}
        token = out(session.answer("draw", asked))["token"]
        shares = [exp(logit) / sum(map(exp, row)) for logit in row]
        assert sum(shares[:token]) - 1e-5 <= number <= sum(shares[: token + 1]) + 1e-5


def test_llama_cpp_takes_a_state_and_returns_the_next_one() -> None:
    session = taken_up("llama.cpp", rule_name("mirostat_2", whose="kept"))
    row = [2.0, 1.0, 0.5, 0.0, -1.0, 1.5, -2.0, 0.25]
    asked: dict[str, Any] = {
        "logits": pack(row, "f32"),
        "params": {"tau": pack([1.5], "f32"), "eta": pack([0.25], "f32")},
        "state": {"mu": pack([3.0], "f32")},
        "uniforms": pack([0.3125], "f32"),
    }
    found = out(session.answer("mirostat_2", asked))
    assert found["token"] == 0
    assert abs(unpack(found["state"]["mu"])[0] - 3.1296) < 1e-3
    equal = {**asked, "logits": pack([1.0, 1.0], "f32")}
    assert isinstance(session.answer("mirostat_2", equal), Unsupported)


def test_llama_cpp_remembers_the_probabilities_of_what_it_drew() -> None:
    asked: dict[str, Any] = {
        "logits": pack([0.0] * 4, "f32"),
        "params": {"target": pack([0.5], "f32"), "decay": pack([0.5], "f32")},
        "state": {"past": pack([1.0, 2.0], "f32")},
        "uniforms": pack([0.5], "f32"),
    }
    session = taken_up("llama.cpp", rule_name("adaptive_p", boundary="reach"))
    past = {"past": pack([0.25 + 0.5 * 1, 1 + 0.5 * 2], "f32")}
    assert out(session.answer("adaptive_p", asked)) == {"token": 1, "state": past}
    standard = taken_up("llama.cpp", "standard")  # which does not draw by reaching a number
    assert isinstance(standard.answer("adaptive_p", asked), Unsupported)
    between = {**asked, "uniforms": pack([0.625], "f32")}
    assert out(standard.answer("adaptive_p", between)) == {"token": 2, "state": past}
    for wrong in (
        {"state": {"past": pack([1.0, 2.0], "f64")}},
        {"logits": pack([-INF], "f32")},
        {"params": {"target": pack([1.5], "f32"), "decay": pack([0.5], "f32")}},
    ):
        assert isinstance(session.answer("adaptive_p", {**asked, **wrong}), Unsupported)


def test_llama_cpp_steers_through_a_sequence() -> None:
    # Token 1 has 1.09 bits of surprise. Mu is 1 at the start, and 1.25 after token 0, which
    # is alone and has no surprise.
    sample = {"sample": {"logits": pack([0.0, -0.125], "f32"), "uniforms": pack([0.96875], "f32")}}
    asked = {
        "calls": [sample, {"accept": 0}, sample, {"reset": True}, sample],
        "params": pack_parameters({"mirostat": 2, "mirostat_tau": 0.5, "mirostat_eta": 0.5}),
        "prompt": [],
    }
    session = taken_up("llama.cpp", "llama.cpp")
    assert out(session.answer("sequence", asked)) == {"answers": [0, None, 1, None, 0]}
    for call in ({"truncate": 1}, {"accept": -1}):
        other = {**asked, "calls": [sample, call, sample]}
        assert isinstance(session.answer("sequence", other), Unsupported)
