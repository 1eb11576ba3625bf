"""The engines that sample, asked through their adapters: same answers as `sampling_ref` in 32 bits.

What rounding may change is excused by the proofs of `test_transformers_profile`; llama.cpp is
compared without any excuse.
"""

import platform
import sys
from collections.abc import Mapping, Sequence
from math import inf
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch", reason="the engine needs PyTorch")
pytest.importorskip("transformers", reason="this file is about transformers")
pytest.importorskip("llama_cpp", reason="and about llama.cpp")

from sampling_ref import (
    PROFILES,
    Sampler,
    SamplingError,
    distribution,
    explain,
    sample,
    step,
)
from tokenref.engines.answers import Answer, Crashed, LoadsProfiles, Ok, Refused, Unsupported
from tokenref.engines.llama_cpp_samplers import ROWS as LLAMA_ROWS
from tokenref.engines.llama_cpp_samplers import LlamaCppSession
from tokenref.engines.table import Unavailable, engine
from tokenref.engines.torch_rows import to_floats, to_tensor
from tokenref.engines.transformers_samplers import TransformersSession
from tokenref.engines.transformers_steps import FILTERS, PROCESSORS
from tokenref.floats import TYPES, Type, nearest, pack, unpack
from tokenref.questions.parameters import pack_parameters
from tokenref.rules import rule_name
from tests.sampling.engines.llama_cpp_chains import KINDS, history_of, random_of, row_of
from tests.sampling.engines.llama_cpp_parameters import parameters_of
from tests.sampling.engines.test_transformers_profile import (
    CHAIN_ROWS,
    PARAMETER_OF,
    PENALTIES,
    SIZE,
    SMALL_ROWS,
    WARPERS,
    assert_explained,
    settings_of_generate,
    used_by,
)
from tests.sampling.rows import histories, rows
from tests.texts import CAMPAIGN, drawn

HERE = sys.platform == "linux" and platform.machine() == "x86_64"
"""Where the numbers of llama.cpp are those of the reference: glibc's."""


@pytest.fixture(scope="module")
def hugging() -> TransformersSession:
    return TransformersSession("transformers")


@pytest.fixture(scope="module")
def llama() -> LlamaCppSession:
    if not HERE:
        pytest.skip("the numbers are those of glibc on x86-64")
    return LlamaCppSession("llama.cpp")


def question(
    row: Sequence[float],
    history: Sequence[int] = (),
    prompt: int = 0,
    *,
    dtype: Type = "f32",
    **params: Any,  # noqa: ANN401 - each engine has its own
) -> dict[str, Any]:
    return {
        "logits": pack(row, dtype),
        "history": list(history),
        "prompt_length": prompt,
        "params": pack_parameters(params),
    }


def out(answer: Answer) -> Mapping[str, Any]:
    assert isinstance(answer, Ok), answer
    return answer.out


def logits(answer: Answer) -> list[float]:
    return unpack(out(answer)["logits"])


# ---- transformers


def written(params: dict[str, Any]) -> dict[str, Any] | None:
    """Return parameters that a record can have, or None."""
    return None if "prefix_allowed_tokens_fn" in params else params


@pytest.mark.parametrize("op", [op for op in PENALTIES if op != "prefix_allowed_tokens"])
@drawn(15)
@given(row=SMALL_ROWS, data=st.data())
def test_a_step_of_transformers_makes_the_numbers_of_the_reference(
    hugging: TransformersSession, op: str, row: list[float], data: st.DataObject
) -> None:
    prompt = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    history = prompt + data.draw(histories(SIZE, most=8))
    params = {
        name: value for name, value in data.draw(PENALTIES[op]).items() if op in used_by(name)
    }
    if params.get("prompt_ignore_length", 0) >= len(prompt):
        params["prompt_ignore_length"] = 0
    if "max_length" in params:  # which the prompt must not have reached
        params["max_length"] += len(prompt)
    answer = hugging.answer(op, question(row, history, len(prompt), **params))
    ours = step(
        "transformers", op, row, history, prompt_length=len(prompt), precision="f32", **params
    )
    assert logits(answer) == ours


@pytest.mark.parametrize("op", WARPERS)
@drawn(25)
@given(row=rows(), data=st.data())
def test_a_filter_of_transformers_keeps_the_tokens_of_the_reference(
    hugging: TransformersSession, op: str, row: list[float], data: st.DataObject
) -> None:
    params = data.draw(WARPERS[op])
    (value,) = params.values()
    least = 1 if op == "top_h" else data.draw(st.sampled_from([1, 1, 2, 50]))
    more: dict[str, Any] = {} if least == 1 else {"min_tokens_to_keep": least}
    keep = set(out(hugging.answer(op, question(row, **params, **more)))["keep"])
    ours = step("transformers", op, row, precision="f32", **params, **more)
    kept = {token for token, logit in enumerate(ours) if logit > -inf}
    assert_explained(op, row, keep, kept, value, least)


@drawn(150)
@given(row=CHAIN_ROWS, params=settings_of_generate(), data=st.data())
def test_a_chain_of_transformers_has_the_stages_of_the_reference(
    hugging: TransformersSession, row: list[float], params: dict[str, Any], data: st.DataObject
) -> None:
    params.pop("prefix_allowed_tokens_fn", None)
    prompt = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    history = prompt + data.draw(histories(SIZE, most=6))
    try:
        trace = explain(
            *("transformers", row, history), prompt_length=len(prompt), precision="f32", **params
        )
    except SamplingError:
        return
    asked = question(row, history, len(prompt), **params)
    answer = hugging.answer("chain", asked)
    if isinstance(answer, Refused):  # transformers' entropy does not take a row of minus infinities
        assert answer.code == "INVALID_ROW"
        assert -inf in row or not trace.steps[-1].kept
        return
    stages = [{"step": one.step, "keep": sorted(one.kept)} for one in trace.steps]
    theirs = out(answer)["stages"]
    assert [one["step"] for one in theirs] == [one["step"] for one in stages]
    TALLY.append(theirs == stages)
    law = hugging.answer("distribution", asked)
    if TALLY[-1] and trace.steps[-1].kept:
        shares = distribution(
            *("transformers", row, history), prompt_length=len(prompt), precision="f32", **params
        )
        assert unpack(out(law)["probs"]) == pytest.approx(shares, rel=1e-5, abs=1e-37)


TALLY: list[bool] = []


def test_hardly_any_chain_differs() -> None:
    """It runs behind the test above; alone it has nothing to say."""
    assert TALLY.count(False) <= len(TALLY) / 50
