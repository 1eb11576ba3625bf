"""The published function: its steps, its open points, and what it does with bad input.

The exact version is held against the published steps in 80 decimal digits. Sums of
exponentials of rational numbers are equal only where the same terms stand on both sides,
and then they are equal to 80 digits too.
"""

from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from math import inf, nan
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sampling_ref
from sampling_ref.errors import HistoryError, ParameterError, RandomNumberError, RowError
from sampling_ref.evaluation import Precision
from sampling_ref.numbers.binary32 import to_binary32
from sampling_ref.row import TokenId
from tests.sampling.antigravity_stages import Settings, Stages, stages
from tests.sampling.rows import histories, rows, uniforms
from tests.texts import drawn

BOTH: tuple[Precision, ...] = get_args(Precision)
JUST_BELOW_1 = 1 - 2.0**-24
TOO_CLOSE = Decimal(10) ** -60

both = pytest.mark.parametrize("precision", BOTH)


def sample(logits: Any, history: Any, r: Any, **settings: Any) -> TokenId:
    return sampling_ref.sample("antigravity", logits, history, uniforms=[r], **settings)


def greater(a: Decimal, b: Decimal) -> bool:
    """Tell whether a is greater, equals being equal to 60 digits."""
    return a - b > TOO_CLOSE


def published(
    logits: Sequence[float], history: Sequence[TokenId], r: float, settings: Settings
) -> tuple[list[TokenId], list[TokenId], TokenId]:
    """Return what top-k leaves, what top-p leaves and the token, in 80 decimal digits."""
    with localcontext() as context:
        context.prec = 80
        penalty = Fraction(settings.repetition_penalty)
        row: list[Fraction | None] = [None if x == -inf else Fraction(x) for x in logits]
        start = max(0, len(history) - settings.repetition_window)
        for token in history[start:]:
            logit = row[token]
            if logit is not None:
                row[token] = logit * penalty if logit < 0 else logit / penalty
        scaled = [None if x is None else x / Fraction(settings.temperature) for x in row]
        most = max(x for x in scaled if x is not None)
        weights = []
        for x in scaled:
            difference = Fraction(0) if x is None else x - most
            exponent = Decimal(difference.numerator) / Decimal(difference.denominator)
            weights.append(Decimal(0) if x is None else exponent.exp())
        total = sum(weights, Decimal(0))
        probabilities = [weight / total for weight in weights]

        possible = [token for token, x in enumerate(row) if x is not None]
        order = sorted(possible, key=lambda token: scaled[token] or Fraction(0), reverse=True)
        top_k = order[: settings.top_k]
        top_p, running = list(top_k), Decimal(0)
        share = Fraction(settings.top_p)
        p = Decimal(share.numerator) / Decimal(share.denominator)
        for place, token in enumerate(top_k):
            running += probabilities[token]
            if greater(running, p):
                top_p = top_k[: place + 1]
                break
        left = Decimal(r) * sum((probabilities[token] for token in top_p), Decimal(0))
        for token in top_p:
            left -= probabilities[token]
            if not greater(left, Decimal(0)):
                return top_k, top_p, token
        raise AssertionError("exact sums reach 0")


@st.composite
def calls(draw: st.DrawFn) -> tuple[list[float], list[int], float, Settings]:
    row = draw(rows())
    settings = Settings(
        temperature=to_binary32(draw(st.sampled_from([0.8, 1, 0.25, 3.0]) | st.floats(0.1, 5))),
        top_p=to_binary32(draw(st.sampled_from([0.9, 0.5, 0.25, 0, 1]) | st.floats(0, 1))),
        top_k=draw(st.sampled_from([40, 1, 2, 3])),
        repetition_penalty=to_binary32(draw(st.sampled_from([1.1, 1, 2, 0.5]) | st.floats(0.5, 2))),
        repetition_window=draw(st.sampled_from([64, 0, 1, 3])),
    )
    return row, draw(histories(len(row))), draw(uniforms()), settings


@drawn(150)
@given(calls())
def test_the_exact_version_takes_the_published_steps(
    call: tuple[list[float], list[int], float, Settings],
) -> None:
    looked_into = stages(*call)
    assert (looked_into.top_k, looked_into.top_p, looked_into.token) == published(*call)
    assert not looked_into.is_exhausted


@drawn(60)
@given(calls(), st.sampled_from(BOTH))
def test_sample_returns_the_token_of_the_stages(
    call: tuple[list[float], list[int], float, Settings], precision: Precision
) -> None:
    row, history, r, settings = call
    given_values = {name: getattr(settings, name) for name in Settings.__dataclass_fields__}
    token = sample(row, history, r, precision=precision, **given_values)
    assert token == stages(row, history, r, settings, precision=precision).token
    assert row[token] > -inf


@given(rows(), st.sampled_from(BOTH))
def test_nothing_that_is_given_is_changed(row: list[float], precision: Precision) -> None:
    logits, history = list(row), [0, 0]
    sample(logits, history, 0.5, precision=precision)
    assert logits == row
    assert history == [0, 0]


def test_the_defaults_are_those_of_the_command_line() -> None:
    assert stages([1.0, 2.0], [], 0.5) == stages(
        [1.0, 2.0], [], 0.5, Settings(0.8, 0.9, 40, 1.1, 64)
    )
    assert sample([1.0, 2.0, 0.5], [1], 0.5) == stages([1.0, 2.0, 0.5], [1], 0.5).token


@both
def test_the_penalty_is_applied_once_per_occurrence_in_the_window(precision: Precision) -> None:
    settings = Settings(temperature=1, repetition_penalty=2, repetition_window=4)
    told = stages([8.0, -1.0, 3.0], [2, 0, 1, 0, 1], 0.0, settings, precision=precision)
    assert list(told.penalised) == [2.0, -4.0, 3.0]


@both
@pytest.mark.parametrize(("window", "logit"), [(0, 8.0), (1, 4.0), (2, 2.0), (3, 2.0)])
def test_a_window_is_the_last_tokens(precision: Precision, window: int, logit: float) -> None:
    settings = Settings(repetition_penalty=2, repetition_window=window)
    told = stages([8.0, 1.0], [0, 0], 0.0, settings, precision=precision)
    assert told.penalised[0] == logit


@both
def test_a_penalty_below_1_favours_and_keeps_impossible_tokens_impossible(
    precision: Precision,
) -> None:
    settings = Settings(repetition_penalty=0.5)
    told = stages([1.0, -1.0, -inf, 0.0], [0, 1, 2, 3], 0.0, settings, precision=precision)
    assert list(told.penalised) == [2.0, -0.5, -inf, 0.0]


@both
def test_at_temperature_0_the_last_of_equal_maxima_wins(precision: Precision) -> None:
    assert sample([2.0, 1.0, 2.0, 0.0], [], 0.5, temperature=0, precision=precision) == 2
    assert (
        sample(
            [2.0, 1.0, 4.0], [2], 0.5, temperature=0.0, repetition_penalty=2, precision=precision
        )
        == 2
    )
    assert sample([2.0, 1.0], [], 0.5, temperature=-0.0, precision=precision) == 0


@both
def test_at_temperature_0_plus_0_is_above_minus_0(precision: Precision) -> None:
    assert sample([0.0, -0.0], [], 0.5, temperature=0, precision=precision) == 0
    assert sample([-0.0, 0.0], [], 0.5, temperature=0, precision=precision) == 1
    if precision == "f32":  # a rational zero, which the penalty makes, has no sign
        assert sample([0.0, -0.0], [0, 1], 0.5, temperature=0, precision=precision) == 0


@both
def test_at_temperature_0_nothing_is_scaled_sorted_or_drawn(precision: Precision) -> None:
    told = stages([1.0, 2.0], [1], 0.5, Settings(temperature=0), precision=precision)
    assert told == Stages(told.penalised, [], [], [], [], is_exhausted=False, token=1)


@both
def test_equal_probabilities_keep_the_order_of_their_ids(precision: Precision) -> None:
    told = stages(
        [1.0, 2.0, 1.0, 2.0, 1.0], [], 0.5, Settings(top_p=1, top_k=3), precision=precision
    )
    assert told.top_k == [1, 3, 0]


def test_different_logits_can_have_equal_probabilities_in_32_bits_only() -> None:
    row = [-100.0, -99.0, 20.0]  # e^-120 and e^-119 are below every 32-bit number
    assert stages(row, [], 0.5, Settings(top_p=1, temperature=1)).top_k == [2, 1, 0]
    assert stages(row, [], 0.5, Settings(top_p=1, temperature=1), precision="f32").top_k == [
        2,
        0,
        1,
    ]


@both
def test_a_running_sum_of_exactly_top_p_is_not_enough(precision: Precision) -> None:
    row = [0.0, 0.0, 0.0, 0.0]
    for top_p, kept in ((0.5, 3), (0.499, 2), (0.75, 4), (0, 1), (1, 4)):
        told = stages(row, [], 0.5, Settings(top_p=top_p), precision=precision)
        assert told.top_p == list(range(kept)), top_p


@both
def test_probabilities_are_not_made_to_sum_to_1_after_top_k(precision: Precision) -> None:
    told = stages([0.0] * 8, [], 0.5, Settings(top_k=4, top_p=0.5), precision=precision)
    assert told.top_p == [0, 1, 2, 3]  # renormalised, three of them would do


@both
def test_the_draw_takes_the_first_token_that_leaves_no_more_than_0(precision: Precision) -> None:
    four: dict[str, Any] = {"top_p": 1, "precision": precision}
    for r, token in ((0.0, 0), (0.25, 0), (0.26, 1), (0.5, 1), (0.75, 2), (JUST_BELOW_1, 3)):
        assert sample([0.0] * 4, [], r, **four) == token


@both
def test_the_draw_walks_the_likeliest_first(precision: Precision) -> None:
    assert sample([0.0, 1.0, 2.0], [], 0.0, top_p=1, precision=precision) == 2
    assert sample([0.0, 1.0, 2.0], [], JUST_BELOW_1, top_p=1, precision=precision) == 0


def forty_candidates() -> list[list[float]]:
    """Return rows of 39 possible tokens and an impossible one."""
    return [
        [*(((token * token * seed) % 97) / 64 for token in range(39)), -inf]
        for seed in range(1, 50)
    ]


def exhausting_row() -> list[float]:
    """Find a row of 40 candidates of which the largest random number reaches none in 32 bits."""
    for row in forty_candidates():
        told = stages(row, [], JUST_BELOW_1, Settings(1, 1), precision="f32")
        if told.is_exhausted and len(told.top_p) == 40:
            return row
    raise AssertionError("a quarter of such rows should do")


def test_where_32_bit_sums_reach_no_token_the_last_possible_one_is_drawn() -> None:
    row = exhausting_row()
    told = stages(row, [], JUST_BELOW_1, Settings(1, 1), precision="f32")
    assert told.is_exhausted
    assert told.top_p[-1] == 39  # counted among the candidates, and still never drawn
    in_32_bits: dict[str, Any] = {"temperature": 1, "top_p": 1, "precision": "f32"}
    assert told.token == sample(row, [], JUST_BELOW_1, **in_32_bits) == told.top_p[-2]
    assert stages(row, [], JUST_BELOW_1, Settings(1, 1)).token == told.token  # exact sums reach it


@both
def test_a_top_k_beyond_the_row_keeps_it_all(precision: Precision) -> None:
    told = stages([0.0, 1.0], [], 0.5, Settings(top_k=10**30, top_p=1), precision=precision)
    assert told.top_k == [1, 0]


def test_impossible_tokens_are_candidates_in_32_bits_only() -> None:
    assert stages([0.0, -inf], [], 0.5, Settings(top_p=1)).top_p == [0]
    assert stages([0.0, -inf], [], 0.5, Settings(top_p=1), precision="f32").top_p == [0, 1]


def test_the_exact_version_decides_where_32_bits_cannot() -> None:
    # Four equal weights and one that is smaller by a factor of 2^-60: the running sum of two
    # of them is just below one half, and 32 bits take it for one half.
    row = [0.0, 0.0, 0.0, 0.0, -41.6]
    for precision, r, token in (("exact", 0.5, 2), ("f32", 0.5, 1)):
        assert sample(row, [], r, temperature=1, top_p=1, precision=precision) == token


def test_rational_parameters_and_logits_are_taken_as_they_are() -> None:
    half = Fraction(1, 2)
    told = stages([Fraction(1), half * 2, 1], [0], half, Settings(half, half, 2, half * 3))
    assert told.penalised == [Fraction(2, 3), Fraction(1), 1]
    assert told.top_k == [1, 2]


BAD_PARAMETERS: list[tuple[str, Any, str]] = [
    ("temperature", -0.5, "must be a finite number of at least 0"),
    ("temperature", inf, "must be a finite number of at least 0"),
    ("temperature", nan, "must be a finite number of at least 0"),
    ("temperature", True, "must be a finite number of at least 0"),
    ("temperature", "hot", "must be a finite number of at least 0"),
    ("top_p", -0.001, "must be a number in [0, 1]"),
    ("top_p", 1.001, "must be a number in [0, 1]"),
    ("top_p", nan, "must be a number in [0, 1]"),
    ("top_p", None, "must be a number in [0, 1]"),
    ("top_k", -1, "must be a whole number of at least 1"),
    ("top_k", 0, "must be a whole number of at least 1"),
    ("top_k", 1.5, "must be a whole number of at least 1"),
    ("top_k", True, "must be a whole number of at least 1"),
    ("repetition_penalty", 0, "must be a finite number above 0"),
    ("repetition_penalty", -1.1, "must be a finite number above 0"),
    ("repetition_penalty", inf, "must be a finite number above 0"),
    ("repetition_penalty", nan, "must be a finite number above 0"),
    ("repetition_window", -1, "must be a whole number of at least 0"),
    ("repetition_window", 2.0, "must be a whole number of at least 0"),
    ("precision", "f64", "must be one of exact, f32"),
]


@both
@pytest.mark.parametrize(("name", "value", "rule"), BAD_PARAMETERS)
def test_a_parameter_outside_its_domain_is_one_sentence(
    precision: Precision, name: str, value: object, rule: str
) -> None:
    given_values: dict[str, Any] = {"precision": precision, name: value}
    with pytest.raises(ParameterError) as caught:
        sample([1.0, 2.0], [], 0.5, **given_values)
    assert str(caught.value) == f"{name} {rule}, got {value!r}"


@both
def test_the_ends_of_the_domains_are_inside(precision: Precision) -> None:
    edges: list[dict[str, Any]] = [
        {"temperature": 0},
        {"temperature": 2.0**-100},
        {"temperature": 1e30},
        {"top_p": 0},
        {"top_p": 1},
        {"top_k": 1},
        {"repetition_penalty": 2.0**-20},
        {"repetition_penalty": 1e30},
        {"repetition_window": 0},
    ]
    for edge in edges:
        assert sample([-1.0, 0.0, -2.0], [0], 0.5, precision=precision, **edge) in {0, 1, 2}


@both
@pytest.mark.parametrize(("name", "value"), [("temperature", 1e300), ("repetition_penalty", 1e300)])
def test_a_parameter_that_32_bits_cannot_hold_is_refused(
    precision: Precision, name: str, value: float
) -> None:
    given_values: dict[str, Any] = {name: value}
    with pytest.raises(
        ParameterError, match=f"^{name} must be a number that 32 bits can hold, got"
    ):
        sample([1.0, 2.0], [], 0.5, precision=precision, **given_values)


@both
def test_a_temperature_that_32_bits_round_to_0_is_greedy(precision: Precision) -> None:
    assert sample([2.0, 2.0], [], 0.0, temperature=1e-60, precision=precision) == 1


@both
@pytest.mark.parametrize("r", [1.0, 1, -0.001, inf, nan, True, "0.5", None])
def test_a_random_number_outside_0_to_1_is_an_error(precision: Precision, r: Any) -> None:
    with pytest.raises(RandomNumberError, match=r"^uniforms(\[0\])? must be in \[0, 1\), got "):
        sample([1.0, 2.0], [], r, precision=precision)


@both
@pytest.mark.parametrize("row", [[], [-inf, -inf], [nan, 1.0], [inf, 1.0], ["1"], "row", 7, [True]])
def test_a_row_that_means_nothing_is_an_error(precision: Precision, row: Any) -> None:
    with pytest.raises(RowError):
        sample(row, [], 0.5, precision=precision)


@both
@pytest.mark.parametrize("temperature", [0, 1])
def test_a_row_without_a_possible_token_is_an_error_at_any_temperature(
    precision: Precision, temperature: int
) -> None:
    with pytest.raises(RowError, match=r"^logits must leave a token possible"):
        sample([-inf, -inf], [], 0.5, temperature=temperature, precision=precision)


@both
@pytest.mark.parametrize("history", [[2], [-1], [0.0], [True], ["a"], "a", 1])
def test_a_history_that_is_not_of_the_row_is_an_error(precision: Precision, history: Any) -> None:
    with pytest.raises(HistoryError):
        sample([1.0, 2.0], history, 0.5, precision=precision)


@pytest.mark.parametrize(
    ("row", "settings", "sentence"),
    [
        ([1.0, 3e38], Settings(temperature=0.5), "logits[1] must stay finite in 32 bits after"),
        ([3e38, 1.0], Settings(1, 1, 40, 0.5), "the repetition penalty makes no finite number of"),
        ([-3e38], Settings(temperature=0.5), "logits must leave a token possible in 32 bits after"),
        ([1e300], Settings(), "logits[0] is too large for 32 bits"),
    ],
)
def test_what_leaves_the_32_bit_range_is_an_error_there_alone(
    row: list[float], settings: Settings, sentence: str
) -> None:
    with pytest.raises(RowError) as caught:
        stages(row, [0], 0.5, settings, precision="f32")
    assert str(caught.value).startswith(sentence)
    assert stages(row, [0], 0.5, settings).token in {0, 1}


@both
def test_a_row_may_be_anything_with_tolist(precision: Precision) -> None:
    class Row:
        def tolist(self) -> list[float]:
            return [0.0, 5.0]

    assert sample(Row(), memoryview(b"\x00"), 0.5, precision=precision) == 1


@given(rows(impossible=False), uniforms().filter(lambda r: r < JUST_BELOW_1))
def test_both_versions_give_nearly_the_same_probabilities(row: list[float], r: float) -> None:
    exact = stages(row, [0], r)
    rounded = stages(row, [0], r, precision="f32")
    for a, b in zip(exact.probabilities, rounded.probabilities, strict=True):
        assert float(b) == pytest.approx(float(a), rel=2e-4, abs=1e-37)
