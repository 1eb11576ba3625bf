"""transformers through its adapter: the answers of `sampling_ref` in 32 bits.

What rounding may change is excused by the proofs of `test_transformers_profile`.
"""

from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch", reason="the engine needs PyTorch")
pytest.importorskip("transformers", reason="this file is about transformers")

from sampling_ref import PROFILES, Sampler, SamplingError, distribution, explain, sample, step
from tests.sampling.engines.asking_adapters import logits, out, question
from tests.sampling.engines.llama_cpp_chains import random_of
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
from tests.texts import drawn
from tokenref.answers import Refused, Unsupported
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.engines.transformers_samplers import TransformersSession
from tokenref.engines.transformers_steps import FILTERS, PROCESSORS
from tokenref.floats import TYPES, Type, nearest, pack, unpack
from tokenref.questions.sampling import pack_parameters


@pytest.fixture(scope="module")
def hugging() -> TransformersSession:
    return TransformersSession("transformers")


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
    answer = hugging.answer(op, question(row, **params, **more))
    if op == "top_h" and isinstance(answer, Unsupported):
        assert answer.reason == "does not define which of equal tokens it keeps"
        assert len({*row}) < len(row)
        return
    keep = set(out(answer)["keep"])
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
    for one, engines, ours in zip(trace.steps, theirs, stages, strict=True):
        if engines != ours:  # the first stage that differs does so by rounding, or among equals
            value = params.get(PARAMETER_OF.get(one.step, one.step), 50)
            before = [float(logit) for logit in one.row_before]
            kept = set(engines["keep"])
            assert_explained(one.step, before, kept, set(one.kept), value)
            return
    assert out(answer)["keep"] == stages[-1]["keep"] if stages else True
    if stages and stages[-1]["keep"]:
        shares = distribution(
            *("transformers", row, history), prompt_length=len(prompt), precision="f32", **params
        )
        law = unpack(out(hugging.answer("distribution", asked))["probs"])
        assert law == pytest.approx(shares, rel=1e-5, abs=1e-37)


@drawn(60)
@given(row=rows(), data=st.data(), seed=st.integers(0, 999))
def test_transformers_draws_with_the_random_numbers_that_are_handed_over(
    hugging: TransformersSession, row: list[float], data: st.DataObject, seed: int
) -> None:
    random = random_of(seed)
    numbers = [random.random() for _ in row]
    params: dict[str, Any] = data.draw(st.sampled_from([{}, {"top_k": 2}, {"temperature": 0.5}]))
    ours = sample("transformers", row, uniforms=numbers, precision="f32", **params)
    asked = {**question(row, **params), "uniforms": pack(numbers, "f64")}
    assert out(hugging.answer("sample", asked)) == {"token": ours}


def test_what_cannot_be_put_into_its_generator_is_unsupported(hugging: TransformersSession) -> None:
    for numbers in ([], [0.5], [0.5, 2.0**-60], [0.5, 1.0]):
        asked = {**question([1.0, 1.0]), "uniforms": pack(numbers, "f64")}
        assert isinstance(hugging.answer("sample", asked), Unsupported)
    asked = {**question([1.0] * 400), "uniforms": pack([0.5] * 400, "f64")}
    assert isinstance(hugging.answer("sample", asked), Unsupported)


def test_without_sampling_the_first_largest_is_taken(hugging: TransformersSession) -> None:
    asked = question([0.0, 2.0, 2.0], do_sample=False, top_k=1)
    assert out(hugging.answer("sample", asked)) == {"token": 1}
    assert unpack(out(hugging.answer("distribution", asked))["probs"]) == [0.0, 1.0, 0.0]
    assert out(hugging.answer("stat", {**asked, "draws": 9})) == {"counts": [[1, 9]]}
    assert out(hugging.answer("greedy", asked)) == {"token": 1}


@pytest.mark.parametrize(
    ("op", "params"),
    [
        *(
            ("top_k", {"top_k": -1}),
            ("top_p", {"top_p": -0.5}),
            ("temperature", {"temperature": 0.0}),
        ),
        *(("chain", {"min_p": 2.0}), ("repetition_penalty", {"repetition_penalty": 0.0})),
        *(("top_p", {"top_p": 0.5, "min_tokens_to_keep": 0}), ("chain", {"bad_words_ids": []})),
    ],
)
def test_what_transformers_refuses_is_an_invalid_parameter(
    hugging: TransformersSession, op: str, params: dict[str, Any]
) -> None:
    answer = hugging.answer(op, question([1.0, 2.0], **params))
    assert isinstance(answer, Refused)
    assert answer.code == "INVALID_PARAMETER"
    assert "\n" not in answer.message


def test_a_row_without_a_law_is_an_invalid_row(hugging: TransformersSession) -> None:
    nothing = {**question([-inf, -inf]), "uniforms": pack([0.5, 0.5], "f64")}
    for op, asked in (
        ("sample", nothing),
        ("stat", {**nothing, "draws": 5}),
        ("eta", question([-inf, -inf], eta_cutoff=0.5)),
    ):
        answer = hugging.answer(op, asked)
        assert isinstance(answer, Refused), op
        assert answer.code == "INVALID_ROW"


def test_the_engine_itself_widens_rows_of_16_bits_and_a_processor_alone_does_not(
    hugging: TransformersSession,
) -> None:
    row = [0.0, 1.5, 3.0, 1.5, 1.0]
    keep = out(hugging.answer("top_p", question(row, dtype="bf16", top_p=0.75)))["keep"]
    assert keep == out(hugging.answer("top_p", question(row, top_p=0.75)))["keep"] == [1, 2, 3]
    alone = TransformersSession("ties.highest-id+zero.best")
    asked = {"logits": pack(row, "bf16"), "params": pack_parameters({"p": 0.75})}
    assert out(alone.answer("top_p", asked)) == {"keep": [2, 3]}


def test_a_parameter_that_is_not_given_has_the_engines_default(
    hugging: TransformersSession,
) -> None:
    row = [float(token) for token in range(60)]
    assert out(hugging.answer("top_k", question(row))) == {"keep": list(range(10, 60))}
    assert out(hugging.answer("top_p", question(row))) == {"keep": list(range(60))}


def test_whole_numbers_are_numbers_too(hugging: TransformersSession) -> None:
    assert logits(hugging.answer("temperature", question([1.0, 2.0], temperature=2))) == [0.5, 1.0]
    biased = hugging.answer("sequence_bias", question([1.0, 2.0], [0], sequence_bias={(1,): 2}))
    assert logits(biased) == [1.0, 4.0]


@pytest.mark.parametrize("dtype", TYPES)
def test_a_step_works_on_a_row_in_its_own_type(hugging: TransformersSession, dtype: Type) -> None:
    row = [nearest(logit, dtype) for logit in (1.7, -0.3, 12.5, 0.0, -inf)]
    asked = question(row, dtype=dtype, temperature=0.75)
    answer = out(hugging.answer("temperature", asked))["logits"]
    assert list(answer) == [dtype]
    assert unpack(answer) == [nearest(logit / 0.75, dtype) for logit in row]
    shares = unpack(out(hugging.answer("softmax", asked))["probs"])
    assert sum(shares) == pytest.approx(1, rel=0.02)
    logs = unpack(out(hugging.answer("logprobs", asked))["logprobs"])
    assert logs[2] == pytest.approx(0, abs=0.001)
    for op, params in (("top_p", {"top_p": 0.5}), ("top_k", {"top_k": 1})):
        assert out(hugging.answer(op, question(row, dtype=dtype, **params))) == {"keep": [2]}
    alone = {"logits": asked["logits"]}
    by_rule = TransformersSession("standard").answer("softmax", alone)
    exact = SamplerSession("standard").answer("softmax", alone)
    same_type = unpack(out(by_rule)["probs"])
    assert same_type == pytest.approx(unpack(out(exact)["probs"]), rel=0.02, abs=1e-30)
    law = out(hugging.answer("distribution", question(row, dtype=dtype)))["probs"]
    assert list(law) == [dtype]


def test_rows_of_a_batch_get_the_answers_that_they_get_alone(hugging: TransformersSession) -> None:
    random = random_of(3)
    asked = [
        question([random.gauss(0, 3) for _ in range(9)], [1, row % 9], 1, dtype="f64", top_p=0.6)
        for row in range(5)
    ]
    alone = [out(hugging.answer("top_p", one)) for one in asked]
    assert out(hugging.answer("batch", {"op": "top_p", "rows": asked}))["rows"] == alone
    other = question([1.0] * 9, [1, 1], 1, dtype="f64", top_p=0.5)
    for wrong in (other, {**other, "params": asked[0]["params"], "history": [1]}):
        batch = {"op": "top_p", "rows": [*asked, wrong]}
        assert isinstance(hugging.answer("batch", batch), Unsupported)
    assert isinstance(hugging.answer("batch", {"op": "chain", "rows": asked}), Unsupported)


def test_a_batch_is_asked_several_times_without_its_padding(hugging: TransformersSession) -> None:
    padded = question([1.0, 3.0, 2.0, 9.0], dtype="f64", top_p=0.6)
    plain = question([1.0, 3.0, 2.0], dtype="f64", top_p=0.6)
    batch = {"op": "top_p", "rows": [padded, padded], "vocab_size": 3, "calls": 2}
    alone = out(hugging.answer("top_p", plain))
    assert out(hugging.answer("batch", batch))["rows"] == [alone] * 4


def test_a_sequence_of_calls_is_that_of_a_sampler(hugging: TransformersSession) -> None:
    random = random_of(5)
    params: dict[str, Any] = {"repetition_penalty": 1.5, "no_repeat_ngram_size": 4}
    sampler = Sampler("transformers", prompt=[0, 1], precision="f32", **params)
    calls: list[dict[str, Any]] = []
    answers: list[int | None] = []
    for _ in range(30):
        row, numbers = [random.gauss(0, 2) for _ in range(5)], [random.random() for _ in range(5)]
        row = unpack(pack([nearest(logit, "f32") for logit in row]))
        calls.append({"sample": {"logits": pack(row), "uniforms": pack(numbers, "f64")}})
        token = sampler.sample(row, numbers)
        sampler.accept(token)
        calls.append({"accept": token})
        answers += [token, None]
    asked = {"params": pack_parameters(params), "prompt": [0, 1], "calls": calls}
    assert out(hugging.answer("sequence", asked)) == {"answers": answers}
    first, (back, reset) = calls[:4], ({"truncate": 0}, {"reset": True})
    for between in (back, reset):
        again = {**asked, "calls": [*first, between, *first]}
        assert out(hugging.answer("sequence", again))["answers"] == [
            *answers[:4],
            None,
            *answers[:4],
        ]


def test_what_begins_with_a_prompt_needs_one(hugging: TransformersSession) -> None:
    params: dict[str, Any] = {"min_new_tokens": 3, "eos_token_id": 0}
    asked = question([1.0, 2.0], [1, 1], 0, **params)
    assert isinstance(hugging.answer("min_new_tokens", asked), Unsupported)
    asked = question([1.0, 2.0], [1, 1], 1, **params)
    assert logits(hugging.answer("min_new_tokens", asked)) == [-inf, 2.0]


def test_some_steps_begin_without_a_prompt() -> None:
    by_rule = TransformersSession("standard")
    asked = question([1.0, 2.0], tokens=[1])
    assert logits(by_rule.answer("begin_suppress", asked)) == [1.0, -inf]
    asked = question([1.0, 2.0], [1, 1], max_length=3, ends=[0])
    assert logits(by_rule.answer("forced_eos", asked)) == [0.0, -inf]


def test_a_mask_may_be_of_words() -> None:
    by_rule = TransformersSession("standard")
    for words in ([5], {0: 5}):
        asked = question([1.0, 2.0, 3.0], words=words)
        assert logits(by_rule.answer("token_mask", asked)) == [1.0, -inf, 3.0]
    for wrong in ([5, 0], [1 << 32], []):
        answer = by_rule.answer("token_mask", question([1.0, 2.0, 3.0], words=wrong))
        assert isinstance(answer, Unsupported)


def test_what_is_left_of_a_target_is_calculated_in_64_bits() -> None:
    by_rule = TransformersSession("standard")
    for dtype in TYPES:
        asked = {"target": pack([0.5, 0.25, 0.25], dtype), "draft": pack([1.0, 0.0, 0.0], dtype)}
        assert out(by_rule.answer("residual", asked)) == {"probs": pack([0.0, 0.5, 0.5], dtype)}


def test_other_tokens_of_an_encoder_are_looked_at(hugging: TransformersSession) -> None:
    params: dict[str, Any] = {"encoder_repetition_penalty": 2.0, "encoder_input_ids": [1]}
    asked = question([1.0, 2.0], [0], 1, **params)
    assert logits(hugging.answer("encoder_repetition", asked)) == [1.0, 4.0]


def test_probabilities_and_functions_are_unsupported(hugging: TransformersSession) -> None:
    asked = {"probs": pack([0.5, 0.5]), "params": {}}
    for op, request in (
        ("batch", {"op": "top_p", "rows": [asked]}),
        ("chain", question([1.0], prefix_allowed_tokens_fn="f")),
        ("mirostat_1", question([1.0])),
    ):
        assert isinstance(hugging.answer(op, request), Unsupported)


def test_the_table_of_processors_is_the_profiles() -> None:
    assert list(PROCESSORS.values()) == list(
        dict.fromkeys(stage.step for stage in PROFILES["transformers"].stages)
    )
    assert set(WARPERS) == FILTERS


def test_top_h_is_asked_where_both_entropies_keep_the_same_tokens() -> None:
    by_rule = TransformersSession("standard")
    for dtype in TYPES:
        asked = question([3.0, 1.0, 1.0], dtype=dtype, alpha=0.25)
        assert out(by_rule.answer("top_h", asked)) == {"keep": [0]}
    even = question([0.0] * 16, alpha=0.5)
    assert isinstance(by_rule.answer("top_h", even), Unsupported)  # 4 tokens by one, 8 by the other
    long = [float(-token) for token in range(200)]
    for best, is_asked in ((None, False), (100, True), (50, False)):
        more: dict[str, Any] = {} if best is None else {"best": best}
        asked = question(long, alpha=0.25, **more)
        assert isinstance(by_rule.answer("top_h", asked), Unsupported) != is_asked
