"""The LZ penalty adds strength * D(a) to each logit; D is held against its definitions."""

from array import array
from collections import deque
from collections.abc import Sequence
from fractions import Fraction
from math import inf, isclose, nan, nextafter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref.errors import HistoryError, ParameterError, RowError
from sampling_ref.lz.changes import Change, Changes, add_to_all, amount_of
from sampling_ref.lz.compressor import code_power
from sampling_ref.lz.matches import longest_match, window_and_buffer
from sampling_ref.lz.variants import VARIANTS, Variant, lz_changes
from sampling_ref.lz.variants.codelength import codelength
from sampling_ref.lz.variants.corrected import corrected, paper
from sampling_ref.numbers.reals import Real
from sampling_ref.row import Number, TokenId
from sampling_ref.steps.lz import lz_penalty
from tests.sampling.lz_histories import Setting, Wrong, settings_
from tests.sampling.rows import rows


def codelength_by_definition(
    history: Sequence[TokenId], size: int, window: int, buffer: int
) -> Changes:
    """Return the change that each next token brings, in bits, by compressing for each."""
    before, last = (part[::-1] for part in window_and_buffer(history, window, buffer))
    without = code_power(last, before, size)
    powers = {
        token: Fraction(code_power([token, *last], before, size), 2 * without)
        for token in dict.fromkeys(before)
    }
    by_token = {token: Change(power) for token, power in powers.items()}
    return Changes(by_token, otherwise=Change(Fraction(size)))


def changes_by_the_definition(setting: Setting, *, printed: bool) -> list[Fraction]:
    """Return 2^D for each token: the definition, written out oldest first."""
    x, t = setting.history, len(setting.history)
    b = x[t - min(t, setting.buffer) :]
    n = min(max(t - setting.buffer, 0), setting.window)
    w = x[t - len(b) - n : t - len(b)]

    def matched(e: int) -> int:
        return max(
            k for k in range(min(len(b), e + 1) + 1) if w[e + 1 - k : e + 1] == b[len(b) - k :]
        )

    lengths = [matched(e) for e in range(n)]
    longest = max(lengths, default=0)
    powers = []
    for a in range(setting.size):
        followed = [
            n - (e + 1) for e in range(n - 1) if lengths[e] == longest >= 1 and w[e + 1] == a
        ]
        if followed:
            delta, d = min(followed), min(followed) + 1
            if printed:
                powers.append((1 - Fraction(d - longest + 1, longest * d)) / 2)
            else:
                powers.append(Fraction((longest + 1) * delta, longest * d) / 2)
        elif a in w:
            powers.append(Fraction(min(n - i for i in range(n) if w[i] == a)))
        else:
            powers.append(Fraction(setting.size))
    return powers


def arguments(setting: Setting) -> tuple[list[int], int, int, int]:
    return setting.history, setting.size, setting.window, setting.buffer


@given(settings_())
def test_corrected_is_its_definition(setting: Setting) -> None:
    changes = corrected(*arguments(setting))
    powers = [changes.of(token).power for token in range(setting.size)]
    assert powers == changes_by_the_definition(setting, printed=False)


@given(settings_())
def test_paper_is_equation_14(setting: Setting) -> None:
    changes = paper(*arguments(setting))
    powers = [changes.of(token).power for token in range(setting.size)]
    assert powers == changes_by_the_definition(setting, printed=True)


@given(settings_())
def test_codelength_is_the_change_that_the_compressor_shows(setting: Setting) -> None:
    changes = codelength(*arguments(setting))
    window, buffer = (
        part[::-1] for part in window_and_buffer(setting.history, setting.window, setting.buffer)
    )
    for token in range(setting.size):
        with_token = code_power([token, *buffer], window, setting.size)
        without = code_power(buffer, window, setting.size)
        assert changes.of(token).power == Fraction(with_token, without) / 2


@given(settings_())
def test_codelength_fast_and_by_definition_are_one(setting: Setting) -> None:
    assert codelength(*arguments(setting)) == codelength_by_definition(*arguments(setting))


@given(settings_())
def test_corrected_is_right_wherever_the_paper_has_a_case(setting: Setting) -> None:
    exact, cases = codelength(*arguments(setting)), corrected(*arguments(setting))
    window, buffer = (
        part[::-1] for part in window_and_buffer(setting.history, setting.window, setting.buffer)
    )
    match = longest_match(buffer, window)
    for token in range(setting.size):
        grown = longest_match([token, *buffer], window)
        if grown.length == match.length + 1 > 1:  # it extends, with d(a) = delta + 1
            its_distance = grown.distance + 1
            ratio = exact.of(token).power / cases.of(token).power
            assert ratio == Fraction(its_distance, match.distance)
        elif grown.length <= 1:
            assert exact.of(token) == cases.of(token)


@given(settings_(), st.sampled_from(sorted(VARIANTS)), st.fractions(0, 4), st.data())
def test_each_new_logit_is_the_nearest_float(
    setting: Setting, variant: Variant, strength: Fraction, data: st.DataObject
) -> None:
    logits = data.draw(st.lists(st.floats(-100, 100), min_size=setting.size, max_size=setting.size))
    sizes: Wrong = {"window": setting.window, "buffer": setting.buffer, "variant": variant}
    changed = lz_penalty(logits, setting.history, strength=strength, **sizes)
    changes = lz_changes(setting.history, setting.size, **sizes)
    for token, (old, new) in enumerate(zip(logits, changed, strict=True)):
        if strength == 0:
            assert new == old
        elif changes.of(token).power == 0:
            assert new == -inf
        else:
            exact = Real(old) + Real(strength) * changes.of(token).real()
            for beside in (nextafter(float(new), inf), nextafter(float(new), -inf)):
                assert (exact - new) * (exact - new) <= (exact - beside) * (exact - beside)


@given(rows(), st.fractions(0, 3), st.fractions(Fraction(1, 100), 100))
def test_one_amount_added_to_all_is_the_same_as_added_to_each_exactly(
    row: list[float], strength: Fraction, power: Fraction
) -> None:
    amount = amount_of(Change(power), strength)
    one_by_one = [-inf if x == -inf else float(Real(x) + amount.real) for x in row]
    assert add_to_all(row, amount) == one_by_one


@pytest.mark.parametrize("ulps", range(-4, 5))
@pytest.mark.parametrize("power", [2, 3, 7, 100, 128_256])
def test_a_sum_that_almost_vanishes_is_rounded_once_too(ulps: int, power: int) -> None:
    # What is left is far below the last digit of both, so a second float must be right too.
    amount = amount_of(Change(Fraction(power)), 0.15)
    logit = -amount.main + ulps * 2.0**-54
    expected = float(Real(logit) + amount.real)
    assert add_to_all([logit], amount) == [expected]
    assert add_to_all([Fraction(0), logit], amount)[1] == expected


def test_halves_are_rounded_to_even_where_the_sum_is_rational() -> None:
    amount = amount_of(Change(Fraction(2)), 1)  # exactly 1
    just_below = 1 - 2.0**-53
    assert add_to_all([just_below, 1 + 2.0**-52], amount) == [2.0, 2.0]
    assert add_to_all([1 + 3 * 2.0**-52], amount) == [2 + 2.0**-50]


@given(settings_(), st.sampled_from(sorted(VARIANTS)))
def test_impossible_tokens_stay_impossible(setting: Setting, variant: Variant) -> None:
    sizes: Wrong = {"window": setting.window, "buffer": setting.buffer, "variant": variant}
    logits = [-inf if token % 2 == 0 else 0.5 for token in range(setting.size)]
    changed = lz_penalty(logits, setting.history, **sizes)
    assert changed[::2] == logits[::2]


@given(settings_(), st.sampled_from(sorted(VARIANTS)), st.sampled_from([0, 0.0, Fraction(0)]))
def test_a_strength_of_zero_returns_the_row_as_it_is(
    setting: Setting, variant: Variant, strength: Number
) -> None:
    sizes: Wrong = {"window": setting.window, "buffer": setting.buffer, "variant": variant}
    logits: list[Any] = [Fraction(token, 3) for token in range(setting.size)]
    logits[0] = -inf
    assert lz_penalty(logits, setting.history, strength=strength, **sizes) == logits


def test_a_ban_times_zero_is_no_ban() -> None:
    sizes: Wrong = {"window": 8, "buffer": 1, "variant": "paper"}
    assert lz_penalty([0.5, 0.5, 0.5], [1, 2, 1], strength=0, **sizes) == [0.5, 0.5, 0.5]
    assert lz_penalty([0.5, 0.5, 0.5], [1, 2, 1], strength=1e-300, **sizes)[2] == -inf


def test_no_argument_is_changed() -> None:
    logits, history = [0.5, 1.5, -inf], [0, 1, 0, 1, 0]
    lz_penalty(logits, history, window=3, buffer=1)
    assert (logits, history) == ([0.5, 1.5, -inf], [0, 1, 0, 1, 0])


def test_the_defaults_are_those_of_the_paper() -> None:
    history = [7, 8, 9] * 300
    expected = lz_penalty(
        [0.0] * 16, history, strength=0.15, window=512, buffer=32, variant="corrected"
    )
    assert lz_penalty([0.0] * 16, history) == expected
    assert expected[0] == 0.6  # 0.15 * log2(16)


def test_rows_of_fractions_are_exact_numbers_that_give_floats() -> None:
    third = Fraction(1, 3)
    changed = lz_penalty([third, third], [0, 0, 1], strength=1, window=2, buffer=1)
    assert changed == [float(third), float(third + 1)]
    assert all(type(logit) is float for logit in changed)


def test_large_whole_numbers_are_not_rounded_before_they_are_added() -> None:
    assert lz_penalty([2**53 + 1, 0], [], strength=1) == [float(2**53 + 2), 1.0]
    assert lz_penalty([2**53 + 1, 0], [0, 1], strength=0.5, window=1, buffer=1) == [2.0**53, 0.5]


@pytest.mark.parametrize("variant", sorted(VARIANTS))
def test_a_history_no_longer_than_the_buffer_moves_all_tokens_alike(variant: Variant) -> None:
    for length in range(4):
        changed = lz_penalty([0.5] * 4, [1, 2, 1][:length], buffer=3, variant=variant)
        assert len(set(changed)) == 1


@pytest.mark.parametrize("variant", ["corrected", "paper", "codelength", "script"])
def test_an_empty_window_moves_all_tokens_alike(variant: Variant) -> None:
    changed = lz_penalty([0.5] * 4, [1, 2, 1, 2, 1, 2], window=0, buffer=2, variant=variant)
    assert len(set(changed)) == 1


@pytest.mark.parametrize("variant", sorted(VARIANTS))
def test_only_the_end_of_the_history_counts(variant: Variant) -> None:
    end = [1, 2, 3, 1, 2, 3, 1, 2]
    sizes: Wrong = {"window": 6, "buffer": 2, "variant": variant}
    changed = lz_penalty([0.0] * 8, end, **sizes)
    assert lz_penalty([0.0] * 8, [7, 6, 5, 3, 2, 1] * 9 + end, **sizes) == changed


class Watched(list[int]):
    """A history that notes how many of its tokens are taken."""

    taken = 0

    def __getitem__(self, places: Wrong) -> Wrong:
        """Return a part, and note its length."""
        part: Wrong = super().__getitem__(places)
        self.taken += len(part)
        return part

    def __iter__(self) -> Wrong:
        """Refuse to walk."""
        message = "the whole history was walked through"
        raise AssertionError(message)


@pytest.mark.parametrize("variant", sorted(VARIANTS))
def test_the_beginning_of_a_long_history_is_not_read(variant: Variant) -> None:
    history = Watched([1, 2, 3, 4] * 1000)
    lz_penalty([0.0] * 8, history, window=16, buffer=4, variant=variant)
    assert history.taken == 20


@pytest.mark.parametrize("variant", ["fork_march", "fork_july"])
def test_the_fork_does_not_see_the_prompt(variant: Variant) -> None:
    prompt, output = [1, 2, 3, 4, 1, 2], [3, 5, 1, 3, 5]
    whole = lz_penalty([0.0] * 8, prompt + output, buffer=2, variant=variant, prompt_length=6)
    assert whole == lz_penalty([0.0] * 8, output, buffer=2, variant=variant)
    assert whole != lz_penalty([0.0] * 8, prompt + output, buffer=2, variant=variant)


@pytest.mark.parametrize("variant", ["corrected", "paper", "codelength", "script"])
def test_the_paper_and_its_script_see_the_prompt(variant: Variant) -> None:
    history = [1, 2, 3, 4, 1, 2, 3]
    changed = lz_penalty([0.0] * 8, history, buffer=3, variant=variant, prompt_length=5)
    assert changed == lz_penalty([0.0] * 8, history, buffer=3, variant=variant)


@pytest.mark.parametrize(
    "history", [(1, 2, 1), array("i", [1, 2, 1]), deque([1, 2, 1]), range(1, 4), iter([1, 2, 1])]
)
def test_any_container_holds_a_history(history: Wrong) -> None:
    given_twice = list(history) if not hasattr(history, "__next__") else [1, 2, 1]
    changed = lz_penalty([0.0] * 4, history, window=2, buffer=1)
    assert changed == lz_penalty([0.0] * 4, given_twice, window=2, buffer=1)


@pytest.mark.parametrize(
    ("history", "sentence"),
    [
        ([0, 9, 0], r"^history\[1\] must be a token id below 4, got 9$"),
        ([0] * 50 + [4], r"^history\[50\] must be a token id below 4, got 4$"),
        ([-1], r"^history\[0\] must be a token id below 4, got -1$"),
        ([True], r"^history\[0\] must be a token id below 4, got True$"),
        ([1.0], r"^history\[0\] must be a token id below 4, got 1.0$"),
        ("11", r"^history must be a sequence of token ids, got str$"),
        (None, r"^history must be a sequence of token ids, got NoneType$"),
        ({1: 0, 2: 0}, r"^history must be a sequence of token ids, got dict$"),
        ({1, 2}, r"^history must be a sequence of token ids, got set$"),
        (3, r"^history must be a sequence of token ids, got int$"),
    ],
)
def test_a_history_that_does_not_fit_is_an_error(history: Wrong, sentence: str) -> None:
    with pytest.raises(HistoryError, match=sentence):
        lz_penalty([0.0] * 4, history, window=8, buffer=2)


@pytest.mark.parametrize("strength", [-0.1, -5e-324, nan, inf, -inf, True, "1", None, 1j, 10**400])
def test_a_strength_that_is_no_finite_number_from_zero_on_is_an_error(strength: Wrong) -> None:
    with pytest.raises(
        ParameterError, match=r"^strength must be a finite number of at least 0, got "
    ):
        lz_penalty([0.0], [], strength=strength)


@pytest.mark.parametrize("strength", [0, 5e-324, 1, 1e300, Fraction(1, 10**400)])
def test_any_other_strength_is_allowed(strength: Wrong) -> None:
    # One token, one value: log2(1) = 0, whatever the strength.
    assert lz_penalty([0.5], [], strength=strength) == [0.5]


@pytest.mark.parametrize(("name", "least"), [("window", 0), ("buffer", 1), ("prompt_length", 0)])
def test_sizes_have_a_least_value(name: str, least: int) -> None:
    lz_penalty([0.0], [], **{name: least})  # type: ignore[arg-type] # all three are int
    for value in [least - 1, 1.0, True, "1", None, nan]:
        with pytest.raises(
            ParameterError, match=f"^{name} must be a whole number of at least {least}, got "
        ):
            lz_penalty([0.0], [], **{name: value})  # type: ignore[arg-type] # the point


def test_sizes_beyond_all_histories_are_allowed() -> None:
    history = [1, 2, 1, 2, 1]
    huge = lz_penalty([0.0] * 4, history, window=10**30, buffer=2)
    assert huge == lz_penalty([0.0] * 4, history, window=3, buffer=2)
    assert len(set(lz_penalty([0.0] * 4, history, window=3, buffer=10**30))) == 1


def test_a_prompt_is_no_longer_than_the_history() -> None:
    lz_penalty([0.0] * 4, [1, 2], prompt_length=2, variant="fork_july")
    rule = r"^prompt_length must be at most the length of the history, 2, got 3$"
    with pytest.raises(ParameterError, match=rule):
        lz_penalty([0.0] * 4, [1, 2], prompt_length=3)


@pytest.mark.parametrize("variant", ["", "Corrected", None, 1, ["paper"]])
def test_an_unknown_variant_is_an_error_that_lists_them(variant: Wrong) -> None:
    names = "corrected, paper, codelength, script, fork_march, fork_july"
    with pytest.raises(ParameterError, match=f"^variant must be one of {names}, got "):
        lz_penalty([0.0], [], variant=variant)


@pytest.mark.parametrize("logits", [[], [nan], [inf], "ab", None])
def test_a_row_that_means_nothing_is_an_error(logits: Wrong) -> None:
    with pytest.raises(RowError):
        lz_penalty(logits, [])


def test_a_row_of_minus_infinities_stays_one() -> None:
    assert lz_penalty([-inf, -inf], [0, 1, 0, 1], window=3, buffer=1) == [-inf, -inf]


def test_a_logit_that_no_float_can_hold_is_an_error_above_and_minus_infinity_below() -> None:
    with pytest.raises(RowError, match=r"finite number of the logit of token 1, 1.7e\+308$"):
        lz_penalty([0.0, 1.7e308], [], strength=1e307)
    with pytest.raises(RowError, match=r"finite number of the logit of token 0, 0.0$"):
        lz_penalty([0.0] * 8, [], strength=1.7e308)
    with pytest.raises(RowError, match=r"finite number of the logit of token 0, "):
        lz_penalty([Fraction(10**400), Fraction(0)], [], strength=1)
    lowest = lz_penalty([-1.7e308] * 4, [1, 2, 1], strength=1.7e308, buffer=2, variant="script")
    assert lowest == [-inf] * 4
    impossible = lz_penalty([-inf] + [0.0] * 7, [0], strength=1.7e308, variant="script")
    assert impossible == [-inf] * 8


@pytest.mark.parametrize("variant", sorted(VARIANTS))
def test_a_vocabulary_of_one_token_is_one_too(variant: Variant) -> None:
    changed = lz_penalty([0.5], [0] * 9, window=6, buffer=2, variant=variant)
    assert len(changed) == 1


@given(settings_(), st.sampled_from(["corrected", "paper"]))
def test_novelty_is_never_worse_than_anything_if_the_vocabulary_is_larger_than_the_window(
    setting: Setting, variant: Variant
) -> None:
    size = max(setting.size, setting.window + 1)
    changes = VARIANTS[variant](setting.history, size, setting.window, setting.buffer)
    for change in changes.by_token.values():
        assert change.power < changes.otherwise.power == size


def test_float_of_a_change_is_its_nearest_float() -> None:
    assert isclose(float(Change(Fraction(3))), 1.584962500721156, rel_tol=0)
    assert float(Change(Fraction(3), base="e", offset=-1)) == 0.09861228866810969
    assert float(Change(Fraction(0))) == -inf
