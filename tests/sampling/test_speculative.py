"""The rules of speculative decoding, one by one: boundaries, open points, and bad input."""

from array import array
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import exp, inf, log, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref.errors import HistoryError, ParameterError, RandomNumberError, RowError
from sampling_ref.speculative import (
    ACCEPTANCE_RULES,
    AcceptanceRule,
    accept,
    acceptance_rate,
    best_typical_candidate,
    ensemble,
    is_typical,
    residual,
    verify_block,
    verify_by_matching,
    verify_chain,
    verify_target_only,
    verify_tree,
)
from tests.sampling.rows import uniforms
from tests.sampling.rows import weights as float_weights
from tests.sampling.speculative_models import weights
from tests.texts import drawn

Call = Callable[[], object]

EVEN = [0.5, 0.5]
LEFT = [0.75, 0.25]
ALMOST_ONE = 1 - 2.0**-53


# --- acceptance ---------------------------------------------------------------------------


@given(weights(3), weights(3), st.integers(0, 2), uniforms())
@drawn(60)
def test_accepts_below_the_ratio_and_rejects_above(
    target: list[int], draft: list[int], token: int, u: float
) -> None:
    p, q = Fraction(target[token], sum(target)), Fraction(draft[token], sum(draft))
    if q:
        assert accept(target, draft, token, u) == (Fraction(u) < p / q)
        assert accept(target, draft, token, u, equality="accept") == (Fraction(u) <= p / q)


@given(weights(3), weights(3), st.integers(0, 2), uniforms(), st.integers(1, 5))
@drawn(60)
def test_only_the_ratios_within_each_row_matter(
    target: list[int], draft: list[int], token: int, u: float, scale: int
) -> None:
    scaled = [weight * scale for weight in target]
    assert accept(scaled, draft, token, u) == accept(target, draft, token, u)


@given(weights(3), st.integers(0, 2), uniforms())
@drawn(60)
def test_a_target_that_gives_as_much_as_the_draft_always_accepts(
    row: list[int], token: int, u: float
) -> None:
    assert not row[token] or accept(row, row, token, u)


@given(float_weights(6), uniforms())
@drawn(60)
def test_float_rows_are_taken_for_the_rationals_they_are(row: list[float], u: float) -> None:
    shares = [Fraction(weight) for weight in row]
    for token in range(len(row)):
        total = sum(shares)
        even = [1] * len(row)
        expected = Fraction(u) < shares[token] / total * len(row)
        assert accept(row, even, token, u) == expected


def test_a_boundary_that_floats_would_round_away_is_decided_exactly() -> None:
    third = Fraction(1, 3)
    assert float(third) < third
    assert accept([third, 1 - third], [1, 0], 0, float(third))
    assert not accept([float(third), 1 - float(third)], [1, 0], 0, third)


RULE_CASES = [
    ("leviathan", True, True, False),
    ("chen", False, True, False),
    ("transformers", True, True, False),
    ("llama.cpp example", True, True, False),
    ("vllm", True, False, False),
    ("vllm model runner 2", False, True, False),
    ("sglang", False, False, False),
    ("flashinfer", False, True, False),
    ("mistral.rs", False, True, False),
    ("tensorrt-llm", True, True, True),
]


@pytest.mark.parametrize(
    ("name", "at_equality", "offered_by_target_only", "by_neither"), RULE_CASES
)
def test_every_rule_decides_the_three_open_cases_as_its_engine_does(
    name: str, at_equality: bool, offered_by_target_only: bool, by_neither: bool
) -> None:
    rule = ACCEPTANCE_RULES[name]
    assert accept([0.25, 0.75], EVEN, 0, 0.5, **rule) == at_equality
    assert accept(EVEN, [0.0, 1.0], 0, 0.5, **rule) == offered_by_target_only
    assert accept([0.0, 1.0], [0.0, 1.0], 0, 0.5, **rule) == by_neither


def test_the_table_of_rules_holds_nothing_else() -> None:
    assert set(ACCEPTANCE_RULES) == {case[0] for case in RULE_CASES}


@pytest.mark.parametrize("name", ACCEPTANCE_RULES)
def test_at_zero_the_rules_that_accept_equality_accept_an_impossible_token(name: str) -> None:
    rule: AcceptanceRule = ACCEPTANCE_RULES[name]
    assert accept([0.0, 1.0], EVEN, 0, 0.0, **rule) == (rule["equality"] == "accept")
    assert not accept([0.0, 1.0], EVEN, 0, 5e-324, **rule)


def test_the_largest_random_number_still_accepts_equal_shares() -> None:
    assert accept(EVEN, EVEN, 0, ALMOST_ONE)
    assert not accept([0.5 - 2.0**-53, 0.5 + 2.0**-53], EVEN, 0, ALMOST_ONE)


def test_the_acceptance_rate_goes_from_disjoint_to_equal() -> None:
    assert acceptance_rate([1, 0], [0, 1]) == 0
    assert acceptance_rate([1, 1], [2, 2]) == 1
    assert acceptance_rate([1, 1], [3, 1]) == Fraction(3, 4)


# --- residual -----------------------------------------------------------------------------


@given(weights(4), weights(4))
@drawn(60)
def test_the_residual_is_what_the_draft_does_not_cover(target: list[int], draft: list[int]) -> None:
    left = residual(target, draft, if_equal="target")
    total, offered = sum(target), sum(draft)
    missing = [
        max(Fraction(p, total) - Fraction(q, offered), Fraction(0))
        for p, q in zip(target, draft, strict=True)
    ]
    if not any(missing):
        assert left == [Fraction(p, total) for p in target]
    else:
        assert [part * sum(missing) for part in left] == missing
    assert sum(left) == 1


def test_the_residual_of_rows_without_a_common_token_is_the_target() -> None:
    assert residual([1, 3, 0], [0, 0, 1]) == [Fraction(1, 4), Fraction(3, 4), 0]


def test_the_residual_of_equal_rows_is_an_error_or_by_choice_the_target() -> None:
    with pytest.raises(RowError, match=r"so nothing is ever rejected$"):
        residual([1, 3], [0.25, 0.75])
    assert residual([1, 3], [0.25, 0.75], if_equal="target") == [Fraction(1, 4), Fraction(3, 4)]


def test_a_chain_reaches_equal_rows_only_with_a_token_that_was_not_drawn_from_them() -> None:
    row = [0.0, 1.0]
    with pytest.raises(RowError, match="nothing is ever rejected"):
        verify_chain([row, row], [row], [0], [0.5, 0.5])
    assert verify_chain([row, row], [row], [0], [0.5, 0.5], if_equal="target") == ((1,), 0)
    with pytest.raises(RowError, match=r"^nothing is left to draw from"):
        verify_block([row, row], [row], [0], [0.5, 0.5])


# --- chains -------------------------------------------------------------------------------


def test_a_chain_stops_at_its_first_rejection_however_good_the_rest_is() -> None:
    sure = [0.0, 1.0]
    given_rows = ([EVEN, sure, EVEN], [LEFT, sure], [0, 1])
    assert verify_chain(*given_rows, [Fraction(2, 3), 0.0, 0.0]) == ((1,), 0)
    assert verify_chain(*given_rows, [Fraction(2, 3) - Fraction(1, 99), 0.0, 0.5]) == ((0, 1, 1), 2)


def test_no_drafts_leave_a_plain_draw_from_the_target() -> None:
    for verify in (verify_chain, verify_block):
        assert verify([LEFT], [], [], [0.75]) == ((1,), 0)
        assert verify([LEFT], [], [], [0.5]) == ((0,), 0)
    assert verify_tree([LEFT], [], [], [], [0.75]) == ((1,), 0)
    assert verify_by_matching([LEFT], [], [0.75]) == ((1,), 0)
    assert verify_target_only([LEFT], [], [], [0.0, 0.75]) == ((1,), 0)


def test_the_last_random_number_draws_by_the_running_sum_and_never_an_impossible_token() -> None:
    row = [0.0, 0.5, 0.0, 0.5]
    ends = [(0.0, 1), (0.5 - 2.0**-54, 1), (0.5, 3), (ALMOST_ONE, 3)]
    assert [verify_chain([row], [], [], [u]).tokens[0] for u, _ in ends] == [x for _, x in ends]


@given(weights(3), weights(3), weights(3), weights(3), weights(3), st.data())
@drawn(60)
def test_a_chain_is_a_tree_of_one_branch(
    p0: list[int], p1: list[int], p2: list[int], q0: list[int], q1: list[int], data: st.DataObject
) -> None:
    tokens = [data.draw(st.sampled_from([x for x in range(3) if q[x]])) for q in (q0, q1)]
    u = data.draw(st.lists(uniforms(), min_size=3, max_size=3))
    rows = ([p0, p1, p2], [q0, q1], tokens)
    assert verify_tree(*rows, [0, 1], u) == verify_chain(*rows, u)


@given(weights(3), weights(3), weights(3), st.data())
@drawn(60)
def test_a_block_of_one_is_a_chain_of_one(
    p0: list[int], p1: list[int], q: list[int], data: st.DataObject
) -> None:
    token = data.draw(st.sampled_from([x for x in range(3) if q[x]]))
    u = data.draw(st.lists(uniforms(), min_size=2, max_size=2))
    assert verify_block([p0, p1], [q], [token], u) == verify_chain([p0, p1], [q], [token], u)


def test_a_block_decides_equality_as_it_is_told() -> None:
    rows = ([EVEN, EVEN], [[0.0, 1.0]], [1])
    assert verify_block(*rows, [0.5, 0.0]).accepted == 0
    assert verify_block(*rows, [0.5, 0.0], equality="accept").accepted == 1


def test_a_block_keeps_the_longest_beginning_and_not_the_first() -> None:
    sure = [0.0, 1.0]
    rows = ([EVEN, sure, EVEN], [sure, EVEN], [1, 1])
    assert verify_block(*rows, [ALMOST_ONE, ALMOST_ONE, 0.0]).accepted == 2
    assert verify_chain(*rows, [ALMOST_ONE, ALMOST_ONE, 0.0]).accepted == 0


# --- trees --------------------------------------------------------------------------------


def test_siblings_are_judged_in_turn_against_what_the_earlier_ones_left() -> None:
    certain = [[1, 0, 0], [0, 1, 0]]
    rows = ([[2, 1, 1]] * 3, certain, [0, 1], [0, 0])
    assert verify_tree(*rows, [0.25, 0.0, 0.0]) == ((0, 0), 1)
    assert verify_tree(*rows, [0.5, 0.25, 0.0]) == ((1, 0), 1)  # 1/4 of the 1/2 that is left
    assert verify_tree(*rows, [0.5, 0.5, 0.0]) == ((2,), 0)


def test_only_the_branch_below_an_accepted_node_is_judged() -> None:
    targets = [EVEN, LEFT, EVEN, EVEN]
    certain = [[1, 0], [0, 1], [1, 0]]
    tree = (targets, certain, [0, 1, 0], [0, 0, 2])
    assert verify_tree(*tree, [0.0, 0.0, 0.0, 0.75]) == ((0, 1), 1)
    assert verify_tree(*tree, [0.5, 0.0, 0.0, 0.75]) == ((1, 0, 1), 2)


@given(weights(3), st.lists(st.integers(0, 2), max_size=3, unique=True), uniforms(), uniforms())
@drawn(60)
def test_the_target_alone_takes_the_guess_in_whose_part_the_random_number_falls(
    row: list[int], guesses: list[int], u: float, last: float
) -> None:
    out = verify_target_only(
        [row] * (len(guesses) + 1), guesses, [0] * len(guesses), [u] * (len(guesses) + 1) + [last]
    )
    running = Fraction(0)
    for guess in guesses:
        running += Fraction(row[guess], sum(row))
        if u < running:
            assert (out.tokens[0], out.accepted) == (guess, 1)
            return
    assert out.accepted == 0
    assert out.tokens[0] not in guesses
    assert row[out.tokens[0]]


@pytest.mark.parametrize("thresholds", list(product([0.0, 0.5, 1.0], repeat=2)))
def test_no_threshold_lets_an_impossible_guess_through(thresholds: tuple[float, float]) -> None:
    single, acc = thresholds
    out = verify_target_only(
        [[0, 1]] * 2, [0], [0], [0.0, 0.0, 0.0], threshold_single=single, threshold_acc=acc
    )
    assert out == ((1,), 0)


def test_a_guess_at_the_single_threshold_is_kept_at_once() -> None:
    rows = ([LEFT] * 2, [1], [0], [ALMOST_ONE, 0.0, 0.0])
    assert verify_target_only(*rows, threshold_single=0.25).accepted == 1
    assert verify_target_only(*rows, threshold_single=0.25 + 2.0**-54).accepted == 0


def test_a_threshold_of_zero_counts_as_a_thousand_millionth() -> None:
    small = Fraction(1, 10**10)
    row = [1 - small, small]
    rows = ([row] * 2, [1], [0])
    share = small / Fraction(1e-9)
    above, below = [share, 0.0, 0.0], [share - Fraction(1, 10**6), 0.0, 0.0]
    assert verify_target_only(*rows, above, threshold_acc=0.0).accepted == 0
    assert verify_target_only(*rows, below, threshold_acc=0.0).accepted == 1


# --- matching, ensemble -------------------------------------------------------------------


@given(weights(3), weights(3), weights(3), st.lists(uniforms(), min_size=3, max_size=3))
@drawn(60)
def test_matching_emits_what_the_target_draws_whatever_was_drafted(
    p0: list[int], p1: list[int], p2: list[int], u: list[float]
) -> None:
    plain = [
        verify_chain([row], [], [], [x]).tokens[0] for row, x in zip((p0, p1, p2), u, strict=True)
    ]
    for tokens in product(range(3), repeat=2):
        out = verify_by_matching([p0, p1, p2], tokens, u)
        assert list(out.tokens) == plain[: len(out.tokens)]
        assert out.accepted == len(out.tokens) - 1
        assert out.tokens[: out.accepted] == tokens[: out.accepted]
        assert out.accepted == 2 or out.tokens[-1] != tokens[out.accepted]


@given(weights(3), weights(3), st.integers(1, 4))
@drawn(60)
def test_the_residual_of_an_ensemble_is_that_of_its_target(
    target: list[int], draft: list[int], quarters: int
) -> None:
    mixture = ensemble(target, draft, Fraction(quarters, 4))
    if acceptance_rate(target, draft) != 1:
        assert residual(mixture, draft) == residual(target, draft)


@given(weights(3), weights(3), st.integers(0, 2), st.integers(0, 4), uniforms())
@drawn(60)
def test_an_ensemble_accepts_by_the_weighted_ratio(
    target: list[int], draft: list[int], token: int, quarters: int, u: float
) -> None:
    w = Fraction(quarters, 4)
    if draft[token]:
        ratio = Fraction(target[token], sum(target)) / Fraction(draft[token], sum(draft))
        mixture = ensemble(target, draft, w)
        assert accept(mixture, draft, token, u) == (Fraction(u) < 1 - w + w * ratio)


# --- typical acceptance -------------------------------------------------------------------


@given(float_weights(6), st.sampled_from([0.0625, 0.3, 1.0]), st.sampled_from([0.09, 0.5, 1.0]))
@drawn(60)
def test_a_draft_is_typical_above_the_smaller_of_both_thresholds(
    row: list[float], epsilon: float, delta: float
) -> None:
    total = sum(map(Fraction, row))
    shares = [float(Fraction(weight) / total) for weight in row]
    entropy = -sum(share * log(share) for share in shares if share)
    threshold = min(epsilon, delta * exp(-entropy))
    for token, share in enumerate(shares):
        if abs(share - threshold) > 1e-9:
            kept = is_typical(row, token, epsilon=epsilon, delta=delta)
            assert kept == (share > threshold)


def test_a_draft_exactly_at_a_threshold_is_rejected() -> None:
    assert not is_typical([0.25] * 4, 0, epsilon=1, delta=1)  # e^-H is 1/4
    assert is_typical([0.25] * 4, 0, epsilon=1, delta=1 - 2.0**-53)
    assert not is_typical([0.5, 0.5], 0, epsilon=0.5, delta=1)
    assert is_typical([0.5, 0.5], 0, epsilon=0.5 - 2.0**-54, delta=1)
    # H of (1/2, 1/4, 1/4) is log(2) * 3/2, no rational power of e^-H is needed
    assert not is_typical([2, 1, 1], 1, epsilon=1, delta=1)


def test_an_impossible_draft_is_never_typical() -> None:
    assert not is_typical([0.0, 1.0], 0, epsilon=2.0**-1000, delta=2.0**-1000)


def test_the_longest_typical_beginning_wins_then_the_likeliest_then_the_first() -> None:
    row = [0.5, 0.25, 0.25, 0.0]
    rows = [[row, row]] * 3
    assert best_typical_candidate(rows, [[3, 0], [0, 3], [3, 3]]) == (1, 1)
    assert best_typical_candidate(rows, [[1, 3], [2, 0], [1, 1]]) == (1, 2)
    assert best_typical_candidate(rows, [[1, 2], [2, 1], [3, 0]]) == (0, 2)
    assert best_typical_candidate(rows, [[3, 0], [3, 0], [3, 0]]) == (0, 0)


# --- bad input ----------------------------------------------------------------------------

OUTSIDE = [-0.25, 1.25, nan, inf, True, "1", None]


@pytest.mark.parametrize("value", OUTSIDE)
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("weight", lambda value: ensemble(EVEN, LEFT, value)),
        (
            "threshold_acc",
            lambda value: verify_target_only([EVEN], [], [], [0, 0], threshold_acc=value),
        ),
        (
            "threshold_single",
            lambda value: verify_target_only([EVEN], [], [], [0, 0], threshold_single=value),
        ),
        ("epsilon", lambda value: is_typical(EVEN, 0, epsilon=value)),
        ("delta", lambda value: is_typical(EVEN, 0, delta=value)),
    ],
    ids=["weight", "threshold_acc", "threshold_single", "epsilon", "delta"],
)
def test_a_parameter_outside_its_domain_is_an_error(
    name: str, call: Callable[[Any], object], value: object
) -> None:
    with pytest.raises(ParameterError, match=rf"^{name} must be in [\[(]0, 1\], got "):
        call(value)


@pytest.mark.parametrize("value", [0, 0.0, Fraction(0)])
def test_thresholds_of_typicality_must_be_above_zero(value: Any) -> None:
    for name in ("epsilon", "delta"):
        with pytest.raises(ParameterError, match=rf"^{name} must be in \(0, 1\], got "):
            is_typical(EVEN, 0, **{name: value})
    assert ensemble(EVEN, LEFT, value) == [Fraction(3, 4), Fraction(1, 4)]
    assert is_typical(EVEN, 0, epsilon=1, delta=5e-324)


@pytest.mark.parametrize("u", [-5e-324, 1.0, nan, True, "0", None])
def test_a_random_number_outside_zero_to_one_is_an_error(u: Any) -> None:
    calls: list[Call] = [
        lambda: accept(EVEN, EVEN, 0, u),
        lambda: verify_chain([EVEN], [], [], [u]),
        lambda: verify_block([EVEN], [], [], [u]),
        lambda: verify_tree([EVEN], [], [], [], [u]),
        lambda: verify_by_matching([EVEN], [], [u]),
        lambda: verify_target_only([EVEN], [], [], [0, u]),
    ]
    for call in calls:
        with pytest.raises(RandomNumberError, match=r"^uniforms\[[01]\] must be in \[0, 1\)"):
            call()


@pytest.mark.parametrize("numbers", [[], [0.5], [0.5] * 3])
def test_a_wrong_count_of_random_numbers_is_an_error(numbers: list[float]) -> None:
    calls: list[Call] = [
        lambda: verify_chain([EVEN] * 2, [EVEN], [0], numbers),
        lambda: verify_block([EVEN] * 2, [EVEN], [0], numbers),
        lambda: verify_tree([EVEN] * 2, [EVEN], [0], [0], numbers),
        lambda: verify_by_matching([EVEN] * 2, [0], numbers),
        lambda: verify_target_only([EVEN] * 2, [0], [0], [*numbers, *numbers]),
    ]
    for call in calls:
        with pytest.raises(RandomNumberError, match=r"^uniforms must hold [23] numbers, got \d$"):
            call()


BAD_ROWS: list[Any] = [[], [nan], [inf, 1.0], [-1.0, 2.0], [0.0, 0.0], "row", None, [True, False]]


@pytest.mark.parametrize("row", BAD_ROWS, ids=repr)
def test_a_row_without_meaning_is_an_error_wherever_it_stands(row: Any) -> None:
    calls: list[Call] = [
        lambda: accept(row, EVEN, 0, 0.5),
        lambda: accept(EVEN, row, 0, 0.5),
        lambda: residual(row, EVEN),
        lambda: ensemble(EVEN, row, 1),
        lambda: verify_chain([EVEN, row], [EVEN], [0], [0.5, 0.5]),
        lambda: verify_chain([EVEN, EVEN], [row], [0], [0.5, 0.5]),
        lambda: verify_tree([row, EVEN], [EVEN], [0], [0], [0.5, 0.5]),
        lambda: is_typical(row, 0),
    ]
    for call in calls:
        with pytest.raises(RowError):
            call()


def test_rows_of_different_lengths_and_counts_are_errors() -> None:
    longer = [0.5, 0.25, 0.25]
    calls: list[Call] = [
        lambda: accept(EVEN, longer, 0, 0.5),
        lambda: residual(EVEN, longer),
        lambda: verify_chain([EVEN, longer], [EVEN], [0], [0.5, 0.5]),
        lambda: verify_chain([EVEN, EVEN], [longer], [0], [0.5, 0.5]),
        lambda: verify_chain([EVEN], [EVEN], [0], [0.5, 0.5]),
        lambda: verify_chain([EVEN] * 2, [EVEN] * 2, [0], [0.5, 0.5]),
        lambda: verify_chain(None, [EVEN], [0], [0.5, 0.5]),
        lambda: verify_chain([EVEN] * 2, 7, [0], [0.5, 0.5]),
    ]
    for call in calls:
        with pytest.raises(RowError):
            call()


@pytest.mark.parametrize("token", [-1, 2, True, 0.0, "0", None])
def test_a_token_outside_the_row_is_an_error(token: Any) -> None:
    calls: list[Call] = [
        lambda: accept(EVEN, EVEN, token, 0.5),
        lambda: verify_chain([EVEN] * 2, [EVEN], [token], [0.5, 0.5]),
        lambda: verify_by_matching([EVEN] * 2, [token], [0.5, 0.5]),
        lambda: is_typical(EVEN, token),
        lambda: best_typical_candidate([[EVEN]], [[token]]),
    ]
    for call in calls:
        with pytest.raises(HistoryError):
            call()
    calls = [
        lambda: verify_chain([EVEN], [], token, [0.5]),
        lambda: best_typical_candidate([[EVEN]], token),
        lambda: best_typical_candidate([[EVEN]], []),
    ]
    for call in calls:
        with pytest.raises((HistoryError, RowError, RandomNumberError)):
            call()


@pytest.mark.parametrize("parents", [[1], [-1], [True], [0.0], [], [0, 0], None, "0"])
def test_parents_must_name_earlier_nodes(parents: Any) -> None:
    calls: list[Call] = [
        lambda: verify_tree([EVEN] * 2, [EVEN], [0], parents, [0.5, 0.5]),
        lambda: verify_target_only([EVEN] * 2, [0], parents, [0.5] * 3),
    ]
    for call in calls:
        with pytest.raises(ParameterError, match=r"^parents"):
            call()


@pytest.mark.parametrize("choice", ["", "maybe", None, 1, True])
def test_a_choice_that_does_not_exist_is_an_error(choice: Any) -> None:
    calls: list[Call] = [
        lambda: accept(EVEN, EVEN, 0, 0.5, equality=choice),
        lambda: accept(EVEN, EVEN, 0, 0.5, undrafted=choice),
        lambda: residual(EVEN, LEFT, if_equal=choice),
        lambda: verify_chain([EVEN], [], [], [0.5], if_equal=choice),
        lambda: verify_block([EVEN], [], [], [0.5], equality=choice),
        lambda: verify_tree([EVEN], [], [], [], [0.5], equality=choice),
    ]
    for call in calls:
        with pytest.raises(ParameterError, match="must be one of"):
            call()


def test_no_argument_is_changed_and_every_container_is_read() -> None:
    targets = [[0.25, 0.75], [0.5, 0.5]]
    drafts = [[0.5, 0.5]]
    tokens, u = [1], [0.25, 0.75]
    before = repr((targets, drafts, tokens, u))
    plain = verify_chain(targets, drafts, tokens, u)
    verify_block(targets, drafts, tokens, u)
    verify_tree(targets, drafts, tokens, [0], u)
    assert repr((targets, drafts, tokens, u)) == before
    rows = [array("f", row) for row in targets], tuple(array("d", row) for row in drafts)
    assert verify_chain(*rows, array("l", tokens), array("d", u)) == plain
