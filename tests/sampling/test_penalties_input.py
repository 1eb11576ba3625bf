"""Bad input: one sentence each, never another kind of error, and no argument changed."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref import Use, chain
from sampling_ref.errors import HistoryError, ParameterError, RowError, SamplingError
from sampling_ref.row import ban, change_logits
from sampling_ref.steps.allowed_tokens import allowed_tokens
from sampling_ref.steps.bad_words import bad_words
from sampling_ref.steps.begin_suppress import begin_suppress
from sampling_ref.steps.decaying_penalties import decaying_penalties
from sampling_ref.steps.dry import dry
from sampling_ref.steps.dry_longest import dry_longest
from sampling_ref.steps.dry_nearby import dry_nearby
from sampling_ref.steps.encoder_no_repeat_ngram import encoder_no_repeat_ngram
from sampling_ref.steps.encoder_repetition import encoder_repetition
from sampling_ref.steps.exponential_decay_length import exponential_decay_length
from sampling_ref.steps.forced_bos import forced_bos
from sampling_ref.steps.forced_eos import forced_eos
from sampling_ref.steps.frequency_penalty import frequency_penalty
from sampling_ref.steps.logit_bias import logit_bias
from sampling_ref.steps.min_length import min_length
from sampling_ref.steps.min_new_tokens import min_new_tokens
from sampling_ref.steps.no_repeat_ngram import no_repeat_ngram
from sampling_ref.steps.penalties import penalties
from sampling_ref.steps.prefix_allowed_tokens import prefix_allowed_tokens
from sampling_ref.steps.presence_penalty import presence_penalty
from sampling_ref.steps.remove_invalid_values import remove_invalid_values
from sampling_ref.steps.repetition_penalty import repetition_penalty
from sampling_ref.steps.sequence_bias import sequence_bias
from sampling_ref.steps.suppress import suppress
from tests.texts import drawn

Penalty = Callable[..., list[Any]]

# Every penalty with parameters that are fine for a row of three tokens, and the domain of
# each parameter: values that are just inside, values that are just outside.
ANY_NUMBER = ([0, -1.5, 1e308, Fraction(1, 3)], [nan, inf, -inf, "1", None, True, 10**400])
ABOVE_0 = ([1e-300, 1, 1e308], [0, -0.0, -5e-324, nan, inf, "1", None, True, Fraction(1, 10**400)])
AT_LEAST_0 = ([0, 1.5], [-5e-324, nan, inf, "1", None, True])
AT_LEAST_1 = ([1, 1.75], [1 - 2.0**-53, nan, inf, "1", None, True])
WHOLE = ([0, 3], [-1, 1.0, nan, "1", None, True])
FROM_1 = ([1, 3], [0, 1.0, nan, "1", None, True])
WINDOW = ([0, 3, None], [-1, 1.0, nan, "1", True])
PROMPT = ([0, 2], [-1, 3, 1.0, "1", None, True])
SCOPE: tuple[list[Any], list[Any]] = (["all", "prompt", "output"], ["prompts", None, 1, [], nan])
TOKENS = ([0, 2, [0, 1], ()], [3, -1, [3], [0.0], "a", None, [None], True, [True]])
INPUT = ([[], [2], None], [[3], [-1], "a", 3, [None]])
ENDS = ([0, 2, [0, 1], (), None], [3, -1, [3], [0.0], "a", [None], True, [True]])
SEQUENCES = ([[[0, 1], [2]], [2], ()], [[[]], [[3]], [3], "ab", None, 5, [None], [["a"]], [True]])
BIAS = ([{0: -inf}, {2: 1.5}, {}], [{0: inf}, {0: nan}, {3: 1.0}, {-1: 1}, {True: 1}, [1], None])

CASES: dict[Penalty, tuple[dict[str, Any], dict[str, tuple[Sequence[Any], Sequence[Any]]]]] = {
    repetition_penalty: (
        {"penalty": 2.0},
        {
            "penalty": ABOVE_0,
            "window": WINDOW,
            "prompt_length": PROMPT,
            "scope": SCOPE,
            "skipped": WHOLE,
            "method": (["by sign", "divide", "subtract"], ["", None, 0]),
            "counting": (["distinct", "each occurrence"], ["", None, 0]),
            "arithmetic": (["division", "reciprocal"], ["", None, 0]),
        },
    ),
    frequency_penalty: (
        {"penalty": 2.0},
        {
            "penalty": ANY_NUMBER,
            "window": WINDOW,
            "prompt_length": PROMPT,
            "scope": SCOPE,
            "method": (["subtract", "divide"], ["", None, 0]),
            "arithmetic": (["at once", "one by one"], ["", None, 0]),
        },
    ),
    presence_penalty: (
        {"penalty": 2.0},
        {
            "penalty": ANY_NUMBER,
            "window": WINDOW,
            "prompt_length": PROMPT,
            "scope": SCOPE,
            "method": (["subtract", "divide"], ["", None, 0]),
        },
    ),
    penalties: (
        {},
        {
            "repetition": ABOVE_0,
            "frequency": ANY_NUMBER,
            "presence": ANY_NUMBER,
            "window": WINDOW,
            "prompt_length": PROMPT,
            "order": (["repetition first", "repetition last"], ["", None, 0]),
            "additive_scope": (["all", "output"], ["prompt", None, 0]),
        },
    ),
    decaying_penalties: (
        {},
        {
            "repetition": ABOVE_0,
            "frequency": ANY_NUMBER,
            "presence": ANY_NUMBER,
            "sustain": WINDOW,
            "decay": WHOLE,
            "fading": (["penalty", "result"], ["", None, 0]),
            "line": (["late", "early"], ["", None, 0]),
            "last": (["included", "excluded"], ["", None, 0]),
        },
    ),
    no_repeat_ngram: ({"ngram_size": 2}, {"ngram_size": FROM_1}),
    encoder_no_repeat_ngram: (
        {"ngram_size": 2, "encoder_input": [0]},
        {"ngram_size": FROM_1, "encoder_input": INPUT, "prompt_length": PROMPT},
    ),
    encoder_repetition: (
        {"penalty": 2.0, "encoder_input": [0]},
        {"penalty": ([0.5, 1e300], ABOVE_0[1]), "encoder_input": INPUT, "prompt_length": PROMPT},
    ),
    dry: (
        {"multiplier": 1.0},
        {
            "multiplier": AT_LEAST_0,
            "base": AT_LEAST_1,
            "allowed_length": WHOLE,
            "window": WINDOW,
            "breakers": SEQUENCES,
        },
    ),
    dry_nearby: (
        {"multiplier": 1.0},
        {
            "multiplier": AT_LEAST_0,
            "base": ABOVE_0,
            "allowed_length": WHOLE,
            "most": FROM_1,
            "breakers": TOKENS,
        },
    ),
    dry_longest: (
        {"multiplier": 1.0},
        {
            "multiplier": AT_LEAST_0,
            "base": ABOVE_0,
            "allowed_length": FROM_1,
            "most": FROM_1,
            "breakers": TOKENS,
        },
    ),
    logit_bias: (
        {"biases": {0: 1.0}},
        {"biases": BIAS, "limit": ([0, 100, None], [-1, nan, inf, "1", True])},
    ),
    sequence_bias: (
        {"biases": [([0], 1.0)]},
        {
            "biases": (
                [[], {(0, 1): 1.0}, [([2], -inf)], [(2, 1)]],
                [[([3], 1.0)], [([], 1.0)], [([0], inf)], [([0], nan)], [1], 5, "ab", [([0],)]],
            )
        },
    ),
    bad_words: (
        {"words": [[0]]},
        {"words": SEQUENCES, "ends": ENDS, "scope": SCOPE, "prompt_length": PROMPT},
    ),
    min_length: ({"length": 1, "ends": 0}, {"length": WHOLE, "ends": TOKENS}),
    min_new_tokens: (
        {"count": 1, "ends": 0},
        {"count": WHOLE, "ends": TOKENS, "prompt_length": PROMPT},
    ),
    forced_bos: ({"token": 0}, {"token": ([0, 2], [3, -1, 0.0, None, True, "a"])}),
    forced_eos: (
        {"max_length": 3, "ends": 0},
        {"max_length": WHOLE, "ends": TOKENS, "new_tokens": WINDOW, "prompt_length": PROMPT},
    ),
    suppress: ({"tokens": 0}, {"tokens": TOKENS}),
    begin_suppress: ({"tokens": 0, "begin": 1}, {"tokens": TOKENS, "begin": WHOLE}),
    exponential_decay_length: (
        {"start": 1, "growth": 2.0, "ends": 0},
        {"start": WHOLE, "growth": ([0.5, 2], ABOVE_0[1]), "ends": TOKENS, "prompt_length": PROMPT},
    ),
    allowed_tokens: ({"tokens": 0}, {"tokens": ([0, [0, 1]], [*TOKENS[1], [], ()])}),
    prefix_allowed_tokens: (
        {"allowed_after": lambda _: [0]},
        {
            "allowed_after": (
                [lambda _: [1], lambda _: 2],
                [None, [0], lambda _: [], lambda _: [3], lambda _: None, lambda _: "a"],
            ),
            "when_none": (["force", "leave"], ["", None]),
        },
    ),
    remove_invalid_values: ({}, {"largest": ABOVE_0}),
}

every_penalty = pytest.mark.parametrize("penalty", CASES, ids=lambda penalty: penalty.__name__)
EDGES = [
    (penalty, name, domain)
    for penalty, (_, domains) in CASES.items()
    for name, domain in domains.items()
]


@pytest.mark.parametrize(
    ("penalty", "name", "domain"), EDGES, ids=[f"{p.__name__}-{n}" for p, n, _ in EDGES]
)
def test_each_edge_of_each_domain(
    penalty: Penalty, name: str, domain: tuple[Sequence[Any], Sequence[Any]]
) -> None:
    fine = CASES[penalty][0]
    for inside in domain[0]:
        assert len(penalty([0.25, -0.25, -inf], [0, 1], **{**fine, name: inside})) == 3
    for outside in domain[1]:
        with pytest.raises(SamplingError) as raised:
            penalty([0.25, -0.25, -inf], [0, 1], **{**fine, name: outside})
        assert isinstance(raised.value, ParameterError | HistoryError)
        assert name.split("_", maxsplit=1)[0] in str(raised.value)
        assert "\n" not in str(raised.value)


@every_penalty
@pytest.mark.parametrize("row", [[], "abc", None, 5, [None], ["1"], [True], [[1.0]]])
def test_a_row_that_is_none_is_an_error(penalty: Penalty, row: Any) -> None:
    with pytest.raises(RowError, match=r"^logits"):
        penalty(row, [], **CASES[penalty][0])


@every_penalty
@pytest.mark.parametrize("number", [nan, inf])
def test_nan_and_plus_infinity_are_errors_for_all_but_one(penalty: Penalty, number: float) -> None:
    if penalty is remove_invalid_values:
        assert penalty([number, 1.0, 2.0], [])[1:] == [1.0, 2.0]
        return
    with pytest.raises(RowError, match=r"^logits\[0\] must be finite or minus infinity"):
        penalty([number, 1.0, 2.0], [], **CASES[penalty][0])


@every_penalty
@pytest.mark.parametrize("history", [[3], [-1], [0.0], [None], "ab", None, 5, [True]])
def test_a_history_that_does_not_fit_is_an_error(penalty: Penalty, history: Any) -> None:
    with pytest.raises(HistoryError, match=r"^history"):
        penalty([1.0, 2.0, 3.0], history, **CASES[penalty][0])


@every_penalty
def test_no_argument_is_changed(penalty: Penalty) -> None:
    row, history = [1.0, -2.0, -inf], [0, 1, 0, 1]
    changed = penalty(row, history, **CASES[penalty][0])
    assert row == [1.0, -2.0, -inf]
    assert history == [0, 1, 0, 1]
    assert changed is not row


@every_penalty
def test_other_containers_are_rows_and_histories_too(penalty: Penalty) -> None:
    class Tensor:
        def __init__(self, values: list[Any]) -> None:
            self.values = values

        def tolist(self) -> list[Any]:
            return self.values

    expected = penalty([1.0, -2.0, 3.0], [0, 1], **CASES[penalty][0])
    assert penalty(Tensor([1.0, -2.0, 3.0]), Tensor([0, 1]), **CASES[penalty][0]) == expected
    assert penalty((1.0, -2.0, 3.0), (0, 1), **CASES[penalty][0]) == expected


def test_a_row_that_was_read_is_not_changed_either() -> None:
    row = [1.0, 2.0]
    assert change_logits("doubling", row, [0], lambda _, logit: logit * 2) == [2.0, 2.0]
    assert ban(row, [0]) == [-inf, 2.0]
    assert row == [1.0, 2.0]


@given(
    st.lists(st.floats(-100, 100), min_size=2, max_size=5),
    st.floats(0.01, 100),
    st.floats(-100, 100),
)
def test_a_bias_behind_a_temperature_rounds_no_logit(
    row: list[float], temperature: float, bias: float
) -> None:
    links = [Use("temperature", temperature=temperature), Use("logit_bias", biases={1: bias})]
    after = chain(links, row).steps[-1].after
    divided = [Fraction(logit) / Fraction(temperature) for logit in row]
    divided[1] += Fraction(bias)
    assert [Fraction(logit) * after.factor for logit in after.logits] == divided


FORCING = (forced_bos, remove_invalid_values, prefix_allowed_tokens)


@every_penalty
def test_what_is_impossible_stays_impossible(penalty: Penalty) -> None:
    if penalty in FORCING:
        return
    assert penalty([-inf, 1.0, 2.0], [0, 1, 0], **CASES[penalty][0])[0] == -inf
    assert penalty([-inf] * 3, [0, 1, 0], **CASES[penalty][0]) == [-inf] * 3


@every_penalty
def test_an_empty_history_is_fine(penalty: Penalty) -> None:
    assert len(penalty([1.0, 2.0, 3.0], [], **CASES[penalty][0])) == 3


HUGE = st.sampled_from([1e308, -1e308, 5e-324, -5e-324, 0.0, -0.0, -inf, 1.0, 3, Fraction(1, 3)])


@drawn(60)
@given(st.sampled_from(sorted(CASES, key=lambda p: p.__name__)), st.data())
def test_extreme_numbers_give_a_row_or_a_sentence(penalty: Penalty, data: st.DataObject) -> None:
    fine, domains = CASES[penalty]
    chosen = dict(fine)
    for name, (inside, _) in domains.items():
        if name != "prompt_length" and data.draw(st.booleans()):
            chosen[name] = data.draw(st.sampled_from(list(inside)))
    row = data.draw(st.lists(HUGE, min_size=3, max_size=3))
    history = data.draw(st.lists(st.integers(0, 2), max_size=2000))
    try:
        changed = penalty(row, history, **chosen)
    except SamplingError as error:
        assert "\n" not in str(error)  # noqa: PT017 - either way is fine, other errors are not
    else:
        assert all(-inf <= number < inf for number in changed)


def test_a_power_that_no_float_can_hold_is_a_sentence() -> None:
    with pytest.raises(RowError, match=r"^the frequency penalty makes no finite number of"):
        frequency_penalty([1.0], [0] * 2000, 0.5, method="divide")
    with pytest.raises(RowError, match=r"^the frequency penalty makes no finite number of"):
        frequency_penalty([1.0], [0] * 2000, Fraction(2), method="divide")
    one, two = Fraction(1), Fraction(2)
    assert frequency_penalty([one], [0] * 2000, two, method="divide") == [one / two**2000]
    with pytest.raises(RowError, match=r"^the repetition penalty makes no finite number of"):
        repetition_penalty([0.25], [0], 5e-324)
    with pytest.raises(RowError, match=r"^the exponential length decay makes no finite number"):
        exponential_decay_length([1.0], [0] * 2000, 0, 2.0, 0)
