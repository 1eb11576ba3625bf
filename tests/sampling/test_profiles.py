"""Profiles are data that fits the steps, and what is asked of them is checked."""

import pickle
import re
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from copy import copy, deepcopy
from fractions import Fraction
from inspect import signature
from itertools import product
from math import exp, inf, log, nan
from multiprocessing import get_context
from statistics import pstdev
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref import (
    PROFILES,
    STEPS,
    HistoryError,
    ParameterError,
    Profile,
    RandomNumberError,
    RowError,
    Sampler,
    SamplingError,
    UnknownNameError,
    Use,
    chain,
    distribution,
    explain,
    logprobs,
    lz_penalty,
    mask,
    sample,
    step,
    top_k,
)
from sampling_ref.engines.profile import Parameter, Stage, compared
from sampling_ref.evaluation import OPTIONS, evaluation
from sampling_ref.parameters import read_domain
from sampling_ref.steps.step import REQUIRED
from tests.sampling.rows import histories, rows

ROW = [1.0, 2.0, 3.0, -inf, 2.5]
HISTORY = [0, 1, 1]

STAGES = [
    pytest.param(profile, stage, id=f"{profile.name}-{place}-{stage.step}")
    for profile in PROFILES.values()
    for place, stage in enumerate(profile.stages)
]
PARAMETERS = [
    pytest.param(profile, parameter, id=f"{profile.name}-{parameter.name}")
    for profile in PROFILES.values()
    for parameter in profile.parameters
]
NAMES = list(PROFILES)
WARM = {
    "candle": {"temperature": 1.0},
    "mlx-lm": {"temp": 1.0},
    "tensorrt-llm": {"temperature": 1.0},
}
"""What makes an engine draw that is greedy unless it is told otherwise."""


def warm(name: str) -> dict[str, Any]:
    return WARM.get(name, {})


def test_the_fourteen_engines_are_described() -> None:
    assert set(PROFILES) == {
        *("transformers", "llama.cpp", "vllm", "sglang", "flashinfer", "candle", "mistral.rs"),
        *("mlx-lm", "exllamav2", "exllamav3", "tensorrt-llm", "chatstream", "antigravity"),
        "openai",
    }


@pytest.mark.parametrize(("profile", "stage"), STAGES)
def test_a_stage_names_every_parameter_and_every_choice_of_its_step(
    profile: Profile, stage: Stage
) -> None:
    known = STEPS[stage.step]
    assert {*stage.takes, *stage.choices} == {*known.parameters, *known.choices}
    assert REQUIRED not in stage.choices.values()
    for name, value in stage.choices.items():
        assert name not in known.choices or value in known.choices[name]
    for name in stage.parameters():
        assert profile.parameter(name)


@pytest.mark.parametrize(("profile", "stage"), STAGES)
def test_a_stage_names_its_source(profile: Profile, stage: Stage) -> None:
    assert stage.source, f"{profile.name}: {stage.step}"


@pytest.mark.parametrize("profile", PROFILES.values(), ids=NAMES)
def test_a_greedy_engine_applies_steps_that_it_has(profile: Profile) -> None:
    assert set(profile.greedy.after) <= {stage.step for stage in profile.stages}
    for name in compared(profile.greedy.condition):
        assert profile.parameter(name)


@pytest.mark.parametrize("profile", PROFILES.values(), ids=NAMES)
def test_parameters_and_aliases_are_named_once(profile: Profile) -> None:
    names = [*(one.name for one in profile.parameters), *profile.aliases]
    assert len(names) == len(set(names))
    assert {*profile.aliases.values(), *profile.engine_rules} <= set(names)


@pytest.mark.parametrize(("profile", "parameter"), PARAMETERS)
def test_a_default_lies_in_its_domain(profile: Profile, parameter: Parameter) -> None:
    assert parameter.domain.holds(parameter.default), profile.name


@pytest.mark.parametrize(("profile", "parameter"), PARAMETERS)
def test_every_parameter_is_used(profile: Profile, parameter: Parameter) -> None:
    used = {name for stage in profile.stages for name in stage.parameters()}
    assert parameter.name in used | compared(profile.greedy.condition)


@pytest.mark.parametrize("precision", ["exact", "f32"])
@pytest.mark.parametrize("name", NAMES)
def test_probabilities_sum_to_one_and_impossible_tokens_have_none(
    name: str, precision: Any
) -> None:
    shares = distribution(name, ROW, HISTORY, precision=precision, **warm(name))
    assert sum(shares) == pytest.approx(1, abs=1e-6)
    assert shares[3] == 0


@pytest.mark.parametrize("name", NAMES)
@given(row=rows(most=8), data=st.data())
def test_every_chain_takes_every_row_and_leaves_it_alone(
    name: str, row: list[float], data: st.DataObject
) -> None:
    history = data.draw(histories(len(row)))
    given_row, given_history = list(row), list(history)
    shares = distribution(name, row, history, prompt_length=len(history) // 2, **warm(name))
    assert len(shares) == len(row)
    assert all(share == 0 for share, logit in zip(shares, row, strict=True) if logit == -inf)
    assert row == given_row
    assert history == given_history


@pytest.mark.parametrize("name", NAMES)
@given(row=rows(most=6), data=st.data())
def test_what_is_drawn_has_a_probability(name: str, row: list[float], data: st.DataObject) -> None:
    many = PROFILES[name].draw.method in {"Gumbel-max", "exponential race"}
    count = len(row) if many else 1
    inside = st.floats(2.0**-20, 1 - 2.0**-20)
    uniforms = data.draw(st.lists(inside, min_size=count, max_size=count))
    token = sample(name, row, uniforms=uniforms, **warm(name))
    assert distribution(name, row, **warm(name))[token] > 0


@pytest.mark.parametrize("name", NAMES)
def test_both_precisions_draw_the_same_away_from_borders(name: str) -> None:
    many = PROFILES[name].draw.method in {"Gumbel-max", "exponential race"}
    uniforms = [0.3, 0.6, 0.2, 0.9, 0.7] if many else [0.4]
    exact = sample(name, ROW, HISTORY, uniforms=uniforms, **warm(name))
    assert sample(name, ROW, HISTORY, uniforms=uniforms, precision="f32", **warm(name)) == exact


def test_a_step_applies_what_the_engine_calls_by_that_name() -> None:
    assert step("transformers", "top_k", [1.0, 2.0, 2.0, 2.0, 3.0], top_k=3) == [
        *(-inf, 2.0, 2.0, 2.0, 3.0)
    ]
    assert step("vllm", "repetition_penalty", [2.0, -2.0], [0, 1], repetition_penalty=2.0) == [
        *(1.0, -4.0)
    ]
    assert step(
        "sglang", "repetition_penalty", [2.0, 2.0], [0, 1], prompt_length=1, repetition_penalty=2.0
    ) == [*(2.0, 1.0)]


def test_a_step_that_is_off_changes_nothing() -> None:
    assert step("llama.cpp", "top_p", ROW, top_p=1.0) == ROW
    assert step("transformers", "top_k", ROW, top_k=0) == ROW


def test_an_alias_is_as_good_as_the_name() -> None:
    by_name = distribution("llama.cpp", ROW, temp=0.5)
    assert distribution("llama.cpp", ROW, temperature=0.5) == by_name


def test_a_name_and_its_alias_together_are_an_error() -> None:
    with pytest.raises(ParameterError, match=r"^temperature is temp, which is given already"):
        distribution("llama.cpp", ROW, temp=0.5, temperature=0.5)


def test_unknown_names_are_errors_that_suggest_the_right_one() -> None:
    with pytest.raises(
        UnknownNameError, match=r"no profile 'lama\.cpp'; did you mean 'llama\.cpp'"
    ):
        distribution("lama.cpp", ROW)
    with pytest.raises(UnknownNameError, match="no step 'topp'; did you mean 'top_p'"):
        step("vllm", "topp", ROW)
    with pytest.raises(
        UnknownNameError, match="vllm has no parameter 'temprature'; did you mean 'temperature'"
    ):
        distribution("vllm", ROW, temprature=1.0)
    with pytest.raises(UnknownNameError, match="openai has no step 'dry'"):
        step("openai", "dry", ROW)
    with pytest.raises(
        UnknownNameError, match="transformers's step top_p has no parameter 'temperature'"
    ):
        step("transformers", "top_p", ROW, temperature=0.5)
    only = r"^llama\.cpp's step top_p has no parameter 'p'; there are: min_keep, mirostat, top_p$"
    with pytest.raises(UnknownNameError, match=only):
        step("llama.cpp", "top_p", ROW, p=0.5)


def test_a_seed_is_for_a_sampler() -> None:
    sentence = (
        r"^llama\.cpp has no parameter 'seed'; "
        r"Sampler\('llama\.cpp', seed=\.\.\.\) draws with the engine's own random numbers$"
    )
    with pytest.raises(UnknownNameError, match=sentence):
        sample("llama.cpp", ROW, seed=3)
    with pytest.raises(UnknownNameError, match=r"^vllm has no parameter 'seed'; its own random"):
        sample("vllm", ROW, seed=3)


@pytest.mark.parametrize(
    ("name", "params", "sentence"),
    [
        ("vllm", {"top_p": 0.0}, r"^top_p must be a number in \(0, 1\], got 0\.0$"),
        ("vllm", {"top_p": nan}, r"^top_p must be a number in \(0, 1\], got nan$"),
        ("vllm", {"top_p": True}, r"^top_p must be a number in \(0, 1\], got True$"),
        ("vllm", {"top_p": "0.5"}, r"^top_p must be a number in \(0, 1\], got '0\.5'$"),
        ("vllm", {"frequency_penalty": 2.5}, r"^frequency_penalty must be a number in \[-2, 2\]"),
        ("vllm", {"top_k": -2}, "^top_k must be a whole number of at least -1, got -2$"),
        ("vllm", {"top_k": 1.5}, "^top_k must be a whole number of at least -1, got 1.5$"),
        ("transformers", {"temperature": 0.0}, "^temperature must be a finite number above 0"),
        ("transformers", {"repetition_penalty": 0.0}, "finite number above 0, or None, got 0.0$"),
        ("llama.cpp", {"repeat_penalty": inf}, "must be a finite number above 0, got inf$"),
        ("vllm", {"repetition_penalty": 1e39}, "must be a number that 32 bits can hold, got 1e"),
        ("vllm", {"repetition_penalty": 1e-300}, "^repetition_penalty .* above 0, got 0.0$"),
        ("vllm", {"logit_bias": {0: 1e39}}, "^logit_bias must be a number that 32 bits can hold"),
        ("sglang", {"top_k": 0}, "^top_k must be a whole number of at least 1, or -1, got 0$"),
        ("antigravity", {"top_k": 0}, "^top_k must be a whole number of at least 1, got 0$"),
        ("openai", {"logit_bias": {0: 101}}, r"must map token ids to numbers in \[-100, 100\]"),
        ("openai", {"logit_bias": [1]}, "must map token ids to numbers"),
    ],
)
def test_a_parameter_outside_its_domain_is_one_sentence(
    name: str, params: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ParameterError, match=sentence):
        distribution(name, ROW, **params)


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"logits": []}, RowError),
        ({"logits": [nan]}, RowError),
        ({"logits": [inf]}, RowError),
        ({"logits": [-inf, -inf]}, RowError),
        ({"logits": "abc"}, RowError),
        ({"logits": 3.0}, RowError),
        ({"logits": [[1.0]]}, RowError),
        ({"logits": [None]}, RowError),
        ({"logits": ROW, "history": [5]}, HistoryError),
        ({"logits": ROW, "history": [-1]}, HistoryError),
        ({"logits": ROW, "history": [1.0]}, HistoryError),
        ({"logits": ROW, "history": 3}, HistoryError),
        ({"logits": ROW, "prompt_length": 1}, ParameterError),
        ({"logits": ROW, "prompt_length": -1}, ParameterError),
        ({"logits": ROW, "precision": "f16"}, ParameterError),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_bad_input_is_one_sentence(
    name: str, arguments: dict[str, Any], kind: type[SamplingError]
) -> None:
    with pytest.raises(kind) as caught:
        distribution(name, **arguments, **warm(name))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("uniforms", [[1.0], [-0.1], [nan], [], ["a"], None])
def test_bad_random_numbers_are_one_sentence(uniforms: Any) -> None:
    with pytest.raises(RandomNumberError):
        sample("llama.cpp", ROW, uniforms=uniforms)


def test_a_race_needs_a_random_number_for_each_token() -> None:
    with pytest.raises(
        RandomNumberError, match="one random number for each of 5 tokens, but uniforms has 1"
    ):
        sample("vllm", ROW, uniforms=[0.5])


@pytest.mark.parametrize("name", ["vllm", "transformers", "llama.cpp"])
def test_numbers_that_a_draw_does_not_need_are_left_over(name: str) -> None:
    numbers = [0.3, 0.9, 0.1, 0.2, 0.4]
    assert sample(name, ROW, uniforms=[*numbers, 0.7, 0.999]) == sample(name, ROW, uniforms=numbers)


@pytest.mark.parametrize("precision", ["exact", "f32"])
def test_a_draw_without_numbers_says_how_to_give_them(precision: Any) -> None:
    sentence = r"needs another random number, but none is given: give uniforms=.* seed="
    with pytest.raises(RandomNumberError, match=sentence):
        sample("llama.cpp", ROW)
    with pytest.raises(
        RandomNumberError, match=r"of 5 tokens, but none is given: give uniforms=.* seed="
    ):
        sample("vllm", ROW)
    with pytest.raises(RandomNumberError, match=sentence):
        Sampler("llama.cpp", precision=precision).sample(ROW)


def test_too_few_numbers_for_a_step_and_the_draw_are_counted() -> None:
    sentence = "^the draw needs another random number, but uniforms has only 1$"
    with pytest.raises(RandomNumberError, match=sentence):
        sample("llama.cpp", [1.0, 2.0, 0.5], xtc_probability=0.5, uniforms=[0.3])


@pytest.mark.parametrize("function", [step, sample, distribution, explain, logprobs])
def test_what_all_engines_take_is_in_signatures_and_help(function: Callable[..., object]) -> None:
    parameters = signature(function).parameters
    for name in OPTIONS:
        assert parameters[name].kind is parameters[name].KEYWORD_ONLY
        assert parameters[name].annotation is not Any
        assert f"`{name}`" in str(function.__doc__)


@pytest.mark.parametrize("name", NAMES)
def test_no_parameter_of_an_engine_is_called_like_an_argument(name: str) -> None:
    arguments = {*signature(step).parameters, *signature(logprobs).parameters} - {"params"}
    assert not arguments & PROFILES[name].by_name.keys()


def test_a_misspelled_argument_is_suggested_to_a_step_too() -> None:
    with pytest.raises(UnknownNameError, match=r"; did you mean 'prompt_length'\?$"):
        step("vllm", "frequency_penalty", ROW, prompt_len=1)


@pytest.mark.parametrize(
    ("name", "given", "where"),
    [
        ("vllm", {"allowed_token_ids": [7]}, "allowed_token_ids[0]"),
        ("vllm", {"bad_words": [[0], [7]]}, "bad_words[1][0]"),
        ("vllm", {"stop_token_ids": [7], "min_tokens": 3}, "stop_token_ids[0]"),
        ("transformers", {"bad_words_ids": [[7]]}, "bad_words_ids[0][0]"),
        ("transformers", {"suppress_tokens": [7]}, "suppress_tokens[0]"),
    ],
)
def test_a_token_that_no_row_has_is_said_with_the_name_that_was_given(
    name: str, given: dict[str, Any], where: str
) -> None:
    with pytest.raises(HistoryError, match=f"^{re.escape(where)} must be a token id below 5, "):
        distribution(name, ROW, **given)


def test_a_sampler_says_whether_the_prompt_or_what_was_accepted_is_wrong() -> None:
    with pytest.raises(HistoryError, match=r"^prompt\[1\] must be a token id below 3, got 99$"):
        Sampler("llama.cpp", seed=42, prompt=[0, 99]).sample([1.0, 2.0, 3.0])
    sampler = Sampler("llama.cpp", seed=42, prompt=[0])
    sampler.accept(99)
    with pytest.raises(HistoryError, match=r"^history\[1\] must be a token id below 3, got 99$"):
        sampler.sample([1.0, 2.0, 3.0])


def test_a_mask_takes_ids_of_numpy_and_says_what_to_do_with_booleans() -> None:
    row = [1.0, 2.0, 3.0]
    assert mask(row, np.array([0, 2])) == mask(row, [np.int64(0), 2]) == [1.0, -inf, 3.0]
    assert mask(np.array(row), {0, 2}) == [1.0, -inf, 3.0]
    for booleans in ([True, False, True], np.array([True, False, True])):
        with pytest.raises(ParameterError, match=r"^kept must hold token ids .*numpy.flatnonzero"):
            mask(row, booleans)
    with pytest.raises(ParameterError, match=r"^kept must hold token ids below 3, got 3$"):
        mask(row, np.array([3]))


def test_a_parameter_is_the_number_that_the_engine_holds() -> None:
    half_open = Fraction(0.1) < Fraction(PROFILES["llama.cpp"].parameter("top_p").default)
    assert half_open
    # 0.7 in 32 bits is 0.69999998807907: 7 of 10 equal tokens have more.
    kept = [share > 0 for share in distribution("llama.cpp", [0.0] * 10, top_p=0.7, min_p=0.0)]
    assert sum(kept) == 7
    exact = [share > 0 for share in distribution("openai", [0.0] * 10, top_p=0.7)]
    assert sum(exact) == 7


def test_explain_says_what_each_step_did() -> None:
    trace = explain("antigravity", [3.0, 2.0, 1.0], [0, 0], repetition_penalty=2.0, top_k=2)
    assert [applied.step for applied in trace.steps] == [
        *("repetition_penalty", "temperature", "top_k", "top_p")
    ]
    assert trace.steps[0].changed == (0,)
    assert trace.steps[0].row_after == [Fraction(3, 4), 2.0, 1.0]
    assert trace.steps[2].removed == (0,)
    assert "keeps the 2 most probable tokens" in str(trace)


def test_a_trace_and_its_steps_are_short_in_a_debugger() -> None:
    trace = explain("transformers", [3.0, 2.0, 1.0], [0], repetition_penalty=2.0, top_k=2)
    assert repr(trace) == ("<Trace repetition_penalty(penalty=2, skipped=0), top_k(k=2, least=1)>")
    assert repr(trace.steps[1]) == "<Applied top_k(k=2, least=1), 2 left>"
    assert repr(explain("vllm", [1.0], temperature=0.0)) == "<Trace without steps>"
    assert "function" not in repr(STEPS["top_k"])


def test_a_share_of_the_whole_row_stays_one_behind_a_sort() -> None:
    row = [0.0, 0.0, 0.0, 0.0]
    # Of four equals two are left, with half of the weight: no share above 1/2 is reached.
    for name in ("candle", "sglang", "antigravity"):
        shares = distribution(name, row, temperature=1.0, top_k=2, top_p=0.75)
        assert sum(share > 0 for share in shares) == 2
        shares = distribution(name, row, temperature=1.0, top_k=2, top_p=0.375)
        assert sum(share > 0 for share in shares) == 2
        shares = distribution(name, row, temperature=1.0, top_k=2, top_p=0.125)
        assert sum(share > 0 for share in shares) == 1


@pytest.mark.parametrize("precision", ["exact", "f32"])
def test_a_protected_token_is_protected_behind_another_filter(
    precision: Literal["exact", "f32"],
) -> None:
    row = [-9.0, 3.0, 2.0, 1.0]  # top-p removes token 0, so that token 1 stands at place 0
    shares = distribution(
        "mlx-lm",
        row,
        uniforms=[0.0],
        precision=precision,
        temp=1.0,
        top_p=0.95,
        xtc_probability=1.0,
        xtc_threshold=0.2,
        xtc_special_tokens=[1],
    )
    assert [share > 0 for share in shares] == [False, True, True, True]


def test_the_usual_name_of_a_penalty_finds_what_does_it() -> None:
    assert step("llama.cpp", "repetition_penalty", [2.0, 1.0], [0], repeat_penalty=2.0) == [
        1.0,
        1.0,
    ]
    assert step(
        "exllamav2",
        "presence_penalty",
        [2.0, 1.0],
        [0],
        token_presence_penalty=0.5,
        token_repetition_penalty=1.0,
    ) == [1.5, 1.0]
    row = step(
        "mistral.rs", "dry", [4.0, 4.0, 4.0], [0, 1, 2, 0, 1], dry_multiplier=1.0, dry_base=2.0
    )
    assert row == [4.0, 4.0, 3.0]


def test_the_lz_penalty_is_a_step_beside_every_engine() -> None:
    row, history = [0.0] * 8, [1, 2, 3, 4, 5, 1, 2, 3]
    expected = lz_penalty(row, history, strength=0.5, window=8, buffer=3)
    assert step("sglang", "lz", row, history, alpha=0.5, window=8, buffer=3) == expected
    with pytest.raises(UnknownNameError, match="the step lz has no parameter 'beta'"):
        step("sglang", "lz", row, history, beta=1)


@pytest.mark.parametrize("name", ["vllm", "sglang", "openai", "mlx-lm", "antigravity"])
def test_a_temperature_that_makes_an_engine_greedy_divides_nothing(name: str) -> None:
    cold: dict[str, Any] = {{"mlx-lm": "temp"}.get(name, "temperature"): 0.0}
    assert step(name, "temperature", [1.0, 2.0], **cold) == [1.0, 2.0]


def test_log_probabilities_are_checked_like_any_step() -> None:
    none = r"^vllm's step logprobs has no parameter 'foo'; there are: none$"
    with pytest.raises(UnknownNameError, match=none):
        step("vllm", "logprobs", ROW, foo=1)
    with pytest.raises(HistoryError):
        step("vllm", "logprobs", ROW, [99])


@pytest.mark.parametrize("state", [3, {"mirostat_mu": 1.0}])
def test_a_state_has_the_parts_that_steps_remember(state: Any) -> None:
    with pytest.raises(SamplingError, match="state"):
        distribution("llama.cpp", ROW, mirostat=2, state=state)


def test_a_state_may_hold_numbers_of_another_library() -> None:
    whole: dict[str, Any] = {"mirostat": 2, "mirostat_tau": 5.0}
    aim: dict[str, Any] = {"adaptive_target": 0.5}
    for how, right, state in (
        (whole, {"mu": 1.5}, {"mu": np.float32(1.5)}),
        (whole, {"mu": 2}, {"mu": np.int64(2)}),
        (whole, {"mu": 1.5}, {"mu": np.array(1.5)}),
        (aim, {"past": (1.5, 2.0)}, {"past": np.array([1.5, 2.0])}),
        (aim, {"past": (1.5, 2.0)}, {"past": (np.float32(1.5), np.float32(2.0))}),
    ):
        made = distribution("llama.cpp", ROW, **how, state=state)
        assert made == distribution("llama.cpp", ROW, **how, state=right)
    with pytest.raises(ParameterError, match=r"must be a finite number, got np\.float32"):
        distribution("llama.cpp", ROW, **whole, state={"mu": np.float32("nan")})


@pytest.mark.parametrize("uniforms", [{0.5}, {0.5: 1}, "0.5", b"\0", None, range])
def test_random_numbers_are_a_sequence(uniforms: Any) -> None:
    with pytest.raises(RandomNumberError, match="uniforms must be a sequence of numbers, got "):
        sample("llama.cpp", ROW, uniforms=uniforms)


def test_a_default_cannot_be_changed() -> None:
    default = PROFILES["llama.cpp"].defaults()["logit_bias"]
    with pytest.raises(TypeError):
        default[0] = -100.0


def test_a_sampler_keeps_to_one_vocabulary() -> None:
    sampler = Sampler("llama.cpp", seed=1)
    sampler.sample([1.0, 2.0])
    with pytest.raises(RowError, match="logits must have 2 numbers, as before, got 3"):
        sampler.sample([1.0, 2.0, 3.0])
    with pytest.raises(HistoryError, match="token must be a token id below 2, got 2"):
        sampler.accept(2)


@pytest.mark.parametrize("row", [{1.0, 2.0}, {0: 1.0}])
def test_what_has_no_order_is_no_row(row: Any) -> None:
    with pytest.raises(RowError, match="logits must be a sequence of numbers"):
        distribution("vllm", row)


def test_scalars_of_numpy_are_numbers() -> None:
    row: list[Any] = [np.float32(0.5), np.float64(1.5)]
    assert step("vllm", "repetition_penalty", row, [np.int64(1)], repetition_penalty=2.0) == [
        *(0.5, 0.75)
    ]
    sampler = Sampler("vllm")
    sampler.accept(np.int64(1))  # type: ignore[arg-type]
    assert sampler.state["history"] == (1,)


@pytest.mark.parametrize(
    ("name", "given", "same"),
    [
        ("top_k", np.int64(2), 2),
        ("temperature", np.float32(0.1), float(np.float32(0.1))),
        ("top_p", np.longdouble(0.5), 0.5),
        ("logit_bias", {np.int64(1): np.float16(1.0)}, {1: 1.0}),
        ("min_tokens", np.array(3), 3),
        ("stop_token_ids", np.array([1, 2]), [1, 2]),
        ("prompt_length", np.uint8(1), 1),
    ],
)
def test_parameters_may_be_numbers_of_numpy(name: str, given: Any, same: Any) -> None:
    history = [0, 1]
    found: Any = explain("vllm", ROW, history, **{name: given})
    expected: Any = explain("vllm", ROW, history, **{name: same})
    assert found.row == expected.row
    assert repr([dict(step.values) for step in found.steps]) == repr(
        [dict(step.values) for step in expected.steps]
    )


@pytest.mark.parametrize("value", [np.bool_(True), np.str_("1"), np.float32(nan), np.array([2])])
def test_other_values_of_numpy_are_still_refused(value: Any) -> None:
    for name in ("temperature", "top_k"):
        params = {name: value}
        with pytest.raises(ParameterError, match=f"^{name} must be "):
            distribution("vllm", ROW, **params)


@pytest.mark.parametrize("history", [{1}, {1: 2.0}, frozenset({0, 1}), b"01"])
def test_a_history_is_in_order(history: Any) -> None:
    with pytest.raises(HistoryError, match=r"^history must be a sequence of token ids, got "):
        distribution("vllm", ROW, history=history)
    assert distribution("vllm", ROW, stop_token_ids={1}) == distribution("vllm", ROW)


def test_names_are_suggested_whatever_their_case_and_belong_to_an_engine() -> None:
    with pytest.raises(UnknownNameError, match=r"^there is no profile 'VLLM'; did you mean 'vllm'"):
        distribution("VLLM", ROW)
    sentence = r"^vllm's step top_k has no parameter 'top_p'; did you mean 'top_k'\?$"
    with pytest.raises(UnknownNameError, match=sentence):
        step("vllm", "top_k", ROW, top_p=0.5)


def test_a_parameter_that_holds_itself_is_refused() -> None:
    endless: Any = []
    endless.append(endless)
    biases: Any = {}
    biases[0] = biases
    for params in ({"stop_token_ids": endless}, {"logit_bias": biases}):
        with pytest.raises(ParameterError, match=r"^(stop_token_ids|logit_bias) must "):
            distribution("vllm", ROW, **params)


def test_rules_seeds_and_random_numbers_may_be_of_numpy() -> None:
    k: Any = np.int64(2)
    assert top_k(ROW, k) == top_k(ROW, 2)
    assert chain([Use("top_k", k=k)], ROW).row == chain([Use("top_k", k=2)], ROW).row
    seed: Any = np.int64(7)
    assert Sampler("llama.cpp", seed).sample(ROW) == Sampler("llama.cpp", 7).sample(ROW)
    assert sample("llama.cpp", ROW, uniforms=[np.float32(0.5)]) == sample(
        "llama.cpp", ROW, uniforms=[0.5]
    )


def test_a_sampler_accepts_nothing_by_itself() -> None:
    sampler = Sampler("llama.cpp", seed=1, repeat_penalty=2.0, top_k=1)
    assert [sampler.sample([3.0, 2.0]) for _ in range(3)] == [0, 0, 0]
    sampler.accept(0)
    assert sampler.sample([3.0, 2.0]) == 1
    assert sampler.state["history"] == (0,)


def test_a_seeded_sampler_repeats_itself() -> None:
    def draws() -> list[int]:
        sampler = Sampler("llama.cpp", seed=3, top_k=0, top_p=1.0, min_p=0.0, temp=1.0)
        return [sampler.sample([0.0] * 100) for _ in range(20)]

    first = draws()
    assert draws() == first
    assert len(set(first)) > 10


def test_only_engines_with_a_known_stream_take_a_seed() -> None:
    with pytest.raises(ParameterError, match="must be None for vllm"):
        Sampler("vllm", seed=1)
    with pytest.raises(ParameterError, match=r"must be a whole number from 0 to 2\*\*32 - 1"):
        Sampler("llama.cpp", seed=-1)


def test_an_argument_that_is_nearly_named_is_suggested() -> None:
    with pytest.raises(UnknownNameError, match=r"parameter 'uniform'; did you mean 'uniforms'\?"):
        sample("llama.cpp", ROW, uniform=[0.5])
    with pytest.raises(UnknownNameError, match=r"parameter 'top_kk'; did you mean 'top_k'\?"):
        sample("llama.cpp", ROW, top_kk=2)
    with pytest.raises(UnknownNameError, match="no parameter 'uniforms'; there are: adaptive_"):
        Sampler("llama.cpp", uniforms=[0.5])


def test_a_seed_and_given_numbers_exclude_each_other() -> None:
    with pytest.raises(RandomNumberError, match="must not be given to a sampler that has a seed"):
        Sampler("llama.cpp", seed=1).sample(ROW, [0.5])


def test_a_sampler_without_a_seed_takes_the_numbers_it_is_given() -> None:
    sampler = Sampler("antigravity", top_k=2, top_p=1.0)
    assert sampler.sample([1.0, 1.0, 0.0], [0.25]) == 0
    assert sampler.sample([1.0, 1.0, 0.0], [0.75]) == 1


def test_mirostat_remembers_its_mu_from_draw_to_draw() -> None:
    sampler = Sampler("llama.cpp", seed=1, mirostat=2, mirostat_tau=3.0)
    sampler.sample([0.0, 1.0, 2.0])
    first = sampler.state["mu"]
    sampler.sample([0.0, 1.0, 2.0])
    assert sampler.state["mu"] != first


def test_adaptive_p_remembers_what_was_accepted() -> None:
    sampler = Sampler("llama.cpp", seed=1, adaptive_target=0.5)
    token = sampler.sample([0.0, 1.0, 2.0])
    assert "past" not in sampler.state
    sampler.accept(token)
    assert "past" in sampler.state


def test_a_token_that_is_none_is_not_accepted() -> None:
    with pytest.raises(HistoryError, match="token must be a token id, got -1"):
        Sampler("vllm").accept(-1)


@pytest.mark.parametrize(
    ("domain", "good", "bad"),
    [
        ("[0, 1]", [0, 1, 0.5, Fraction(1, 2)], [-0.1, 1.1, nan, inf, True, "1", None]),
        ("(0, 1)", [0.5], [0, 1]),
        ("whole [1, 3]", [1, 3], [0, 4, 1.0, True, "1"]),
        ("one of a, b", ["a"], ["c", 1, None]),
        ("whole [1, inf) or None", [None, 1], [0]),
        ("tokens", [[], [0, 1], (2,), {3}], [0, [-1], [True], "12", {1: 2}]),
        ("token or tokens", [0, [1]], [-1, 1.0]),
    ],
)
def test_a_domain_holds_what_it_says(domain: str, good: list[object], bad: list[object]) -> None:
    assert all(map(read_domain(domain).holds, good))
    assert not any(map(read_domain(domain).holds, bad))
    assert str(read_domain(domain)).startswith("must be ")


def seeded(profile: str) -> Sampler:
    return Sampler(profile, seed=7, prompt=[1], **SEEDED[profile])


SEEDED: dict[str, dict[str, Any]] = {
    "llama.cpp": {"repeat_penalty": 1.5, "xtc_probability": 0.5, "adaptive_target": 0.25},
    "transformers": {"repetition_penalty": 1.5, "sequence_bias": [([2], 0.5)]},
}
FIVE_LOGITS = [1.0, 2.0, 3.0, 2.5, 0.5]


def sampled(sampler: Sampler, count: int) -> list[int]:
    """Return the next tokens, each accepted."""
    tokens = []
    for _ in range(count):
        tokens.append(sampler.sample(FIVE_LOGITS))
        sampler.accept(tokens[-1])
    return tokens


def pickled(sampler: Sampler) -> Sampler:
    return pickle.loads(pickle.dumps(sampler))  # type: ignore[no-any-return]  # noqa: S301 - our own


@pytest.mark.parametrize("profile", SEEDED)
@pytest.mark.parametrize("again", [copy, deepcopy, pickled])
def test_a_copy_of_a_sampler_goes_on_alone_from_the_same_state(
    profile: str, again: Callable[[Sampler], Sampler]
) -> None:
    sampler = seeded(profile)
    sampled(sampler, 5)
    sampler.sample(FIVE_LOGITS)  # drawn and not yet accepted
    made = again(sampler)
    assert made.state == sampler.state
    assert str(made.trace) == str(sampler.trace)
    first = sampled(sampler, 20)
    assert sampled(made, 20) == first
    assert made.state == sampler.state


def test_samplers_can_be_sent_to_a_process_pool() -> None:
    samplers = [seeded(profile) for profile in SEEDED]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(sampled, samplers, [10, 10]))
    assert found == [sampled(seeded(profile), 10) for profile in SEEDED]


FILTERED = [[1.0, 1.0, 1.0, 1.0], [2.0, 1.5, 1.0, 0.2, -1.0], [5.0, 1.0, 0.5, 0.4], [0.0, 2.0, 2.0]]
PARAMETERS_OF_FILTERS: dict[str, tuple[str, list[Any]]] = {
    "top_k": ("k", [1, 2, 9]),
    "top_p": ("p", [0.001, 0.3, 0.5, 0.8, 0.95]),
    "min_p": ("m", [0.125, 0.95]),
    "typical": ("mass", [0.125, 0.3, 0.5, 0.8]),
    "epsilon": ("cutoff", [0.125, 0.95]),
    "eta": ("cutoff", [0.125, 0.95]),
    "top_a": ("a", [0.125, 0.95]),
    "top_n_sigma": ("n", [0.5, 1.5]),
    "xtc": ("threshold", [0.125, 0.3]),
}
"""Filters, and numbers for one of their parameters. Only on the row of equals a sum meets one."""


def kept_as_described(  # noqa: C901, PLR0912, PLR0915 - one case for each sentence
    why: str, tokens: list[int], row: list[float]
) -> set[int]:
    """Return what a filter keeps that does what a sentence says; of equals the first of `tokens`.

    `tokens` are in the order in which the filter gets them.
    """
    weights = {token: exp(row[token]) for token in tokens}
    share = {token: weight / sum(weights.values()) for token, weight in weights.items()}
    entropy = -sum(each * log(each) for each in share.values())
    distance = {token: abs(-log(each) - entropy) for token, each in share.items()}
    largest = max(share.values())

    def taken(key: Callable[[int], float], within: Callable[[float], bool]) -> list[int]:
        """Return the first tokens of an order, with a sum before the next one that is allowed."""
        found: list[int] = []
        for token in sorted(tokens, key=key):
            if not within(sum(share[each] for each in [*found, token])):
                break
            found.append(token)
        return found

    def one_more(found: list[int], key: Callable[[int], float]) -> list[int]:
        return sorted(tokens, key=key)[: len(found) + 1]

    about, _, at_least = why.partition(", at least ")
    about = about.partition(", and none if ")[0].removesuffix(", and keeps the equals of that one")
    least = int(at_least.removesuffix(" tokens") or 0)
    has_equals = about.endswith(", and the equals of the last one")
    for added in (", and the equals of the last one", ", of the whole row"):
        about = about.removesuffix(added)
    has_one = about.endswith(", or else the most probable one")
    about = about.removesuffix(", or else the most probable one")
    numbers = [float(each) for each in re.findall(r"\d+(?:\.\d+)?(?:e-\d+)?", about)]
    order = distance if "surprise" in about else {token: -each for token, each in share.items()}
    key = {token: round(each, 9) for token, each in order.items()}.__getitem__
    number = numbers[-1]
    match re.sub(r"\d+(\.\d+)?(e-\d+)?", "#", about):
        case "keeps the # most probable tokens":
            kept = sorted(tokens, key=key)[: int(number)]
        case (
            "keeps the most probable tokens until their probabilities sum to #"
            | "keeps tokens whose surprise is nearest to the entropy until they sum to #"
        ):
            kept = one_more(taken(key, lambda total: total < number), key)
        case (
            "keeps the most probable tokens until their probabilities sum to more than #"
            | "keeps tokens whose surprise is nearest to the entropy until they sum to more than #"
        ):
            kept = one_more(taken(key, lambda total: total <= number), key)
        case "keeps the most probable tokens while their probabilities sum to at most #":
            kept = taken(key, lambda total: total <= number)
        case "keeps tokens whose surprise is nearest to the entropy while they sum to less than #":
            kept = taken(key, lambda total: total < number)
        case "removes the least probable tokens while their probabilities sum to at most # - #":
            gone = taken(share.__getitem__, lambda total: total <= 1 - number)
            kept = [token for token in tokens if token not in gone]
        case (
            "takes the tokens in the order they have; while those held sum to more than #, "
            "the least probable one leaves"
        ):
            kept = []
            for token in tokens:
                kept.append(token)
                while len(kept) > 1 and sum(share[each] for each in kept) > number:
                    kept.remove(min(kept, key=share.__getitem__))
        case "keeps tokens with at least # times the largest probability":
            kept = [token for token in tokens if share[token] >= number * largest]
        case "keeps tokens with more than # times the largest probability":
            kept = [token for token in tokens if share[token] > number * largest]
        case "keeps tokens with at least # times the square of the largest probability":
            kept = [token for token in tokens if share[token] >= number * largest**2]
        case "keeps tokens with a probability of at least #":
            kept = [token for token in tokens if share[token] >= number]
        case (
            "keeps tokens with a probability of at least #, or else the most probable one and its "
            "equals"
        ):
            kept = [token for token in tokens if share[token] >= min(number, largest)]
        case "keeps tokens with a probability of at least #, or less if the entropy is high":
            cutoff = min(number, number**0.5 * exp(-entropy))
            kept = [token for token in tokens if share[token] >= cutoff]
        case "keeps logits at most # standard deviations below the maximum":
            lowest = max(row) - number * pstdev(row[token] for token in tokens)
            kept = [token for token in tokens if row[token] >= lowest]
        case (
            "removes all tokens of at least # but the least probable one, with probability #"
            | "removes all tokens of more than # but the least probable one, with probability #"
        ):
            top = [each for each in tokens if share[each] > numbers[0] or "at least" in about]
            top = [each for each in top if share[each] >= numbers[0]]
            stays = {share[each] for each in sorted(top, key=key)[-1:]}
            gone = [each for each in top if share[each] not in stays]
            if ", and keeps the equals of that one" not in why:
                gone = sorted(top, key=key)[:-1]
            kept = [token for token in tokens if token not in gone]
            if ", and none if fewer than 3 would stay" in why and len(kept) < 3:
                kept = tokens
        case _:
            raise AssertionError(f"an unknown sentence: {why}")
    if not kept and has_one:
        kept = sorted(tokens, key=key)[:1]
    if len(kept) < least:
        kept = sorted(tokens, key=key)[:least]
    if has_equals:
        kept = [token for token in tokens if key(token) <= max(map(key, kept))]
    return set(kept)


@pytest.mark.parametrize(("profile", "stage"), STAGES)
def test_the_sentence_about_a_filter_fits_the_tokens_that_it_keeps(
    profile: Profile, stage: Stage
) -> None:
    if stage.step not in PARAMETERS_OF_FILTERS:
        return
    name, numbers = PARAMETERS_OF_FILTERS[stage.step]
    for row, number in product(FILTERED, numbers):
        for least in (0, 1, 3) if "least" in stage.takes else (None,):
            given: dict[str, Any] = {stage.takes[name]: number}
            if stage.step == "xtc":
                given[stage.takes["probability"]] = 1
            if least is not None:
                given[stage.takes["least"]] = least
            try:
                made = evaluation(profile, row, (), given, uniforms=(0.0,))
            except ParameterError:
                continue  # `least` must be at least 1 there
            applied = made.apply(stage, made.candidates)
            described = kept_as_described(applied.why, list(applied.before.tokens), row)
            logits = sorted(row[token] for token in described)
            assert sorted(row[token] for token in applied.kept) == logits, (row, given, applied.why)
