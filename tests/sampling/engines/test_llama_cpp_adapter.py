"""llama.cpp through its adapter: the bits of `sampling_ref` in 32 bits."""

import platform
import sys
from collections.abc import Sequence
from math import inf
from typing import Any

import pytest

pytest.importorskip("llama_cpp", reason="this file is about llama.cpp")

from sampling_ref import SamplingError, distribution, explain, step
from tests.sampling.engines.asking_adapters import out, question
from tests.sampling.engines.llama_cpp_chains import KINDS, history_of, random_of, row_of
from tests.sampling.engines.llama_cpp_parameters import parameters_of
from tests.texts import CAMPAIGN
from tokenref.answers import Crashed, Ok, Refused, Unsupported
from tokenref.engines.llama_cpp_samplers import ROWS as LLAMA_ROWS
from tokenref.engines.llama_cpp_samplers import LlamaCppSession
from tokenref.floats import pack, unpack
from tokenref.questions.sampling import pack_parameters

HERE = sys.platform == "linux" and platform.machine() == "x86_64"
"""Where the numbers of llama.cpp are those of the reference: glibc's."""


@pytest.fixture(scope="module")
def llama() -> LlamaCppSession:
    if not HERE:
        pytest.skip("the numbers are those of glibc on x86-64")
    return LlamaCppSession("llama.cpp")


def bits(row: Sequence[float]) -> dict[str, str]:
    return pack(row)


def fair(params: dict[str, Any]) -> dict[str, Any]:
    """Leave out the coin that the engine tosses itself."""
    if 0 < params.get("xtc_probability", 0.0) < 1:
        return params | {"xtc_probability": 1.0}
    return params


@pytest.mark.parametrize("kind", KINDS)
def test_llama_cpp_has_the_stages_and_shares_of_the_reference_in_bits(
    llama: LlamaCppSession, kind: str
) -> None:
    random, compared = random_of(("adapter", kind)), 0
    for _ in range(40 * CAMPAIGN):
        size = random.choice([1, 2, 3, 7, 40, 130])
        params = fair(parameters_of(random, size))
        row, history = row_of(random, size, kind), history_of(random, size)
        about: dict[str, Any] = {"uniforms": [0.5], "precision": "f32", **params}
        asked = question(row, history, **params)
        try:
            trace = explain("llama.cpp", row, history, **about)
            shares = distribution("llama.cpp", row, history, **about)
        except SamplingError:
            continue
        found = out(llama.answer("chain", asked))
        stages = [{"step": one.step, "keep": sorted(one.kept)} for one in trace.steps]
        assert found["stages"] == stages, params
        assert found["keep"] == (stages[-1]["keep"] if stages else list(range(size)))
        law = out(llama.answer("distribution", asked))["probs"]
        if params.get("mirostat") or params.get("adaptive_target", -1) >= 0:
            assert unpack(law) == pytest.approx(shares, rel=1e-4, abs=1e-37)
        else:
            assert law == bits(shares), params
        compared += 1
    assert compared > 10


SAMPLERS: dict[str, tuple[str, ...]] = {
    "top_k": ("top_k",),
    "top_p": ("top_p", "min_keep"),
    "min_p": ("min_p", "min_keep"),
    "typical": ("typical_p", "min_keep"),
    "top_n_sigma": ("top_n_sigma",),
    "xtc": ("xtc_probability", "xtc_threshold", "min_keep"),
    "logit_bias": ("logit_bias",),
    "penalties": (*("repeat_last_n", "repeat_penalty", "frequency_penalty", "presence_penalty"),),
    "dry": (
        *("dry_multiplier", "dry_base", "dry_allowed_length", "dry_penalty_last_n"),
        "dry_sequence_breakers",
    ),
    "temperature": ("temp",),
    "dynamic_temperature": ("temp", "dynatemp_range", "dynatemp_exponent"),
}
"""The parameters of each step."""


@pytest.mark.parametrize("op", SAMPLERS)
def test_a_step_of_llama_cpp_is_the_references_in_bits(llama: LlamaCppSession, op: str) -> None:
    random, compared = random_of(("adapter", op)), 0
    while compared < 60 * CAMPAIGN:
        kind, size = random.choice(KINDS), random.choice([1, 2, 3, 7, 40, 130])
        every = fair(parameters_of(random, size))
        params = {name: value for name, value in every.items() if name in SAMPLERS[op]}
        row, history = row_of(random, size, kind), history_of(random, size)
        more: dict[str, Any] = {"uniforms": [0.5], **params}
        try:
            ours = step("llama.cpp", op, row, history, precision="f32", **more)
        except SamplingError:
            continue
        found = out(llama.answer(op, question(row, history, **params)))
        if op in LLAMA_ROWS:
            assert found == {"logits": bits(ours)}, params
        else:
            kept = [token for token, logit in enumerate(ours) if logit > -inf]
            assert found == {"keep": kept}, params
        compared += 1


def test_a_parameter_is_off_where_it_is_so_in_32_bits(llama: LlamaCppSession) -> None:
    found = out(llama.answer("chain", question([1.0, 2.0], top_p=1 - 2.0**-40, min_p=2.0**-200)))
    steps = [stage["step"] for stage in found["stages"]]
    trace = explain("llama.cpp", [1.0, 2.0], top_p=1 - 2.0**-40, min_p=2.0**-200)
    assert steps == [one.step for one in trace.steps] == ["top_k", "temperature"]


def test_an_assertion_in_the_engine_is_a_crash_of_one_question(llama: LlamaCppSession) -> None:
    asked = question([1.0, 2.0], top_k=1)
    empty = {**asked, "logits": {"f32": ""}, "params": pack_parameters({"mirostat": 2})}
    answer = llama.answer("chain", empty)
    assert isinstance(answer, Crashed)
    assert "GGML_ASSERT" in answer.log
    assert out(llama.answer("top_k", asked)) == {"keep": [1]}


def test_what_llama_cpp_cannot_be_asked_is_unsupported(llama: LlamaCppSession) -> None:
    row = [1.0, 2.0]
    asked = question(row)
    two = {"logits": pack(row), "uniforms": pack([0.5])}
    for op, request in (
        ("top_k", {"probs": pack([0.5, 0.5]), "params": {}}),
        *(("sample", {**asked, "uniforms": pack([0.5, 0.5])}), ("eta", asked)),
        ("sequence", {"prompt": [0], "calls": [{"sample": two}], "params": {"mirostat": 2}}),
        ("xtc", question(row, xtc_probability=0.5)),
        ("chain", question(row, xtc_probability=0.5)),
        ("chain", {**question(row, mirostat=2), "state": {"mu": pack([3.0])}}),
        ("stat", {**question(row, mirostat=2), "draws": 3}),
        ("top_k", question([1.0 + 2.0**-40], dtype="f64")),
        ("temperature", question(row, dtype="f64")),
        ("distribution", question(row, dtype="bf16")),
    ):
        assert isinstance(llama.answer(op, request), Unsupported), op
    state = {**question(row, mirostat=2), "state": {"mu": pack([10.0])}}
    assert isinstance(llama.answer("chain", state), Ok)
    assert out(llama.answer("top_k", question(row, dtype="bf16", top_k=1))) == {"keep": [1]}
    answer = llama.answer("chain", question(row, top_k=2**40))
    assert isinstance(answer, Refused)
    assert answer.code == "INVALID_PARAMETER"
