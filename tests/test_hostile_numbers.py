"""Numbers at the ends of their ranges: every question ends, with an answer or with one sentence."""

import pickle
import signal
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import inf, nextafter
from typing import Any

import numpy as np
import pytest

import bpe_ref.errors
import sampling_ref.errors
from sampling_ref import (
    PROFILES,
    HistoryError,
    ParameterError,
    RowError,
    SamplingError,
    UndecidedError,
    UnknownNameError,
    Use,
    chain,
    distribution,
    explain,
    logprobs,
    sample,
    step,
    xtc,
)
from sampling_ref.numbers.exponential_sums import sign_of_sum
from sampling_ref.numbers.logarithm_sums import sign_of_logarithms
from sampling_ref.steps.mirostat_1 import mirostat_1

NOTHING: Any = 5


@pytest.fixture(autouse=True)
def _soon() -> Iterator[None]:
    """Fail a test that takes more than ten seconds, instead of waiting for it."""

    def late(*_: object) -> None:
        raise TimeoutError("not decided within ten seconds")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(10)
    yield
    signal.alarm(0)


@pytest.mark.parametrize("row", [[2.0**16, -(2.0**-37)], [3.4e38, 1e38], [0.0, -1.7e308]])
def test_a_correction_that_no_digits_show_decides_a_tie(row: list[float]) -> None:
    exact = Fraction(row[1]) - Fraction(row[0])
    near = float(exact)
    floats = (nextafter(near, -inf), near, nextafter(near, inf))
    below = min(floats, key=lambda number: (abs(Fraction(number) - exact), number))
    assert logprobs("vllm", row) == [0.0, below]


@pytest.mark.parametrize(
    "question",
    [
        lambda: sign_of_sum({Fraction(0): 1, Fraction(1, 10**9000): -1}),
        lambda: sign_of_logarithms([(1, 1 + Fraction(1, 10**9000))]),
    ],
)
def test_a_search_for_precision_has_an_end(question: Any) -> None:
    with pytest.raises(UndecidedError, match=r"^16384 binary places do not decide between two an"):
        question()


def test_a_logit_beyond_every_float_is_an_error_of_the_row() -> None:
    with pytest.raises(RowError, match=r"^temperature makes no finite number of the logit of tok"):
        step("openai", "temperature", [1e308, 1.0], temperature=0.5)
    assert step("openai", "temperature", [1.0, -1e308], temperature=0.5) == [2.0, -inf]
    assert distribution("openai", [1e308, 1.0], temperature=0.5) == [1.0, 0.0]


def test_the_smallest_temperature_can_be_traced() -> None:
    trace = explain("openai", [545.0, 1.0], temperature=5e-324)
    assert trace.row == [inf, inf]
    assert "0:inf" in str(trace)
    assert sample("openai", [545.0, 1.0], temperature=5e-324, uniforms=[0.5]) == 0


@pytest.mark.parametrize("name", PROFILES)
def test_a_temperature_that_32_bits_cannot_hold_is_an_error(name: str) -> None:
    with pytest.raises((RowError, ParameterError)):
        distribution(name, [1.0, -inf, 2.0], temperature=1e308, precision="f32")


@pytest.mark.parametrize("mu", [1e308, 5000.5, -1e308])
def test_mirostat_writes_no_huge_power_down(mu: float) -> None:
    kept = mirostat_1([0.0] * 5, mu=mu, tau=3.0)
    assert list(kept.tokens) == ([0, 1, 2, 3, 4] if mu > 0 else [0])


@pytest.mark.parametrize("power", [Fraction(3, 2), Fraction(199, 100), Fraction(201, 100)])
def test_mirostat_compares_powers_exactly(power: Fraction) -> None:
    kept = mirostat_1([0.0] * 5, mu=power, tau=3.0, whole="nearest and one")
    assert len(kept.tokens) == (5 if power > 2 else 1)


@pytest.mark.parametrize("past", [(), (1.0,), (1.0, "a"), (1.0, inf), "3", (1.0, 2.0, 3.0)])
def test_a_remembered_state_is_checked(past: object) -> None:
    for name in ("antigravity", "llama.cpp"):
        with pytest.raises(ParameterError, match=r"^state\['past'\] must be a pair of finite num"):
            explain(name, [1.0, 2.0], state={"past": past})
    with pytest.raises(ParameterError, match=r"^state\['mu'\] must be a finite number, got"):
        explain("llama.cpp", [1.0, 2.0], state={"mu": past})


def test_an_array_without_a_dimension_is_no_row_and_no_history() -> None:
    with pytest.raises(HistoryError, match="history must be a sequence"):
        step("vllm", "repetition_penalty", [1.0], np.array(0), repetition_penalty=1.5)
    with pytest.raises(RowError, match="logits must be a sequence"):
        step("vllm", "repetition_penalty", np.array(1.0), [0], repetition_penalty=1.5)


def _errors() -> Iterator[Exception]:
    for module in (sampling_ref.errors, bpe_ref.errors):
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, Exception):
                if kind.__name__ == "ParameterError":
                    yield kind("p", 1.5, "must be in (0, 1]")
                elif kind.__name__ == "UnknownNameError":
                    yield kind("step", "topp", ["top_p"])
                else:
                    yield kind("a sentence")


@pytest.mark.parametrize(("error", "protocol"), list(product(_errors(), (0, 2, 5))))
def test_every_error_can_be_pickled(error: Exception, protocol: int) -> None:
    again = pickle.loads(pickle.dumps(error, protocol))  # noqa: S301 - our own
    assert type(again) is type(error)
    assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))


def test_an_error_about_what_cannot_be_pickled_can_be() -> None:
    error = ParameterError("link", lambda: 0, "must be a Use")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert str(again) == str(error)
    assert again.value.startswith("<function")


@pytest.mark.parametrize(
    "question",
    [
        lambda long: step("vllm", long, [1.0]),
        lambda long: step(long, "top_p", [1.0]),
        lambda long: step("vllm", "top_p", [1.0], **dict[str, Any]({long: 1})),
        lambda long: step("vllm", "top_p", [1.0], top_p=long),
        lambda long: step("vllm", "top_p", [long]),
        lambda long: step("vllm", "top_p", [1.0], [long]),
        lambda long: explain("vllm", [1.0], state={long: 1}),
        lambda long: logprobs("vllm", [1.0], which=long),
    ],
)
def test_no_message_is_longer_than_a_few_lines(question: Any) -> None:
    for long in ("a" * 10**6, "\n" * 10**6):
        with pytest.raises(SamplingError) as caught:
            question(long)
        assert len(str(caught.value)) <= 1000
        assert str(caught.value).count("\n") < 3


@pytest.mark.parametrize("which", [[NOTHING], {"raw": 1}, NOTHING])
def test_a_way_to_report_that_is_not_a_name_is_an_error_of_ours(which: Any) -> None:
    with pytest.raises(UnknownNameError, match="there is no way to report logprobs"):
        logprobs("transformers", [1.0], which=which)


def test_a_long_list_of_suggestions_is_short() -> None:
    error = UnknownNameError("step", "x", [f"name {number}" for number in range(10**4)])
    assert len(str(error)) <= 1000
    assert str(error).startswith("there is no step 'x'; there are: name 0, ")


@pytest.mark.parametrize(
    "question",
    [
        lambda: step("tensorrt-llm", "repetition_penalty", [1e308], [0], repetition_penalty=1e-38),
        lambda: chain([Use("logit_bias", biases=0.5)], [1.0]),
        lambda: chain([Use("temperature", temperature=1, added="a")], [1.0]),
        lambda: chain([Use("temperature", temperature=1, added=inf)], [1.0]),
        lambda: chain([Use("penalties", frequency=10**5000)], [1.0], [0]),
        lambda: chain([Use("penalties", frequency=1j)], [1.0], [0]),
        lambda: chain([Use("presence_penalty", penalty=[0])], [1.0], [0]),
        lambda: chain([Use("presence_penalty", penalty=[[0]])], [1.0], [0]),
        lambda: chain([Use("encoder_repetition", penalty=1, encoder_input=1)], [1.0], [0]),
        lambda: chain([Use("exponential_decay_length", start=0, growth=1, ends=0.5)], [1.0]),
        lambda: chain([Use("exponential_decay_length", start=0, growth=1, ends="a")], [1.0]),
        lambda: chain([Use("adaptive_p", target=0.5, decay=0.5)], [1.0], state=NOTHING),
        lambda: xtc([1.0], threshold=0.1, protected=NOTHING),
    ],
)
def test_a_value_of_a_wrong_kind_is_an_error_of_ours(question: Any) -> None:
    with pytest.raises(SamplingError) as caught:
        question()
    assert len(str(caught.value)) < 400


def test_a_trace_shows_whole_numbers_of_any_length() -> None:
    assert "top_k(k=a whole number of more" in str(explain("antigravity", [1.0], top_k=10**5000))


def test_a_penalty_that_makes_a_logit_larger_than_any_float_keeps_the_order() -> None:
    row = [-745.2, 1.7976931348623157e308, -1e308]
    shares = distribution("llama.cpp", row, [1], repeat_penalty=0.5)
    assert shares == [0.0, 1.0, 0.0]
