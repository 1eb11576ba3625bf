"""Speculative decoding keeps the law of the target: exactly, by enumeration.

Every claim here compares two laws as dictionaries of rational numbers. The second half
turns the claim round: rules that are known to be wrong must be seen to break the law.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import permutations, product
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sampling_ref import RowError, Use, chain
from sampling_ref.numbers.softmax import softmax
from sampling_ref.row import Row
from sampling_ref.speculative import (
    Verified,
    acceptance_rate,
    block_breakpoints,
    chain_breakpoints,
    ensemble,
    law_of,
    matching_breakpoints,
    output_law,
    processed_targets,
    residual,
    target_law,
    target_only_breakpoints,
    tree_breakpoints,
    verify_block,
    verify_by_matching,
    verify_chain,
    verify_target_only,
    verify_tree,
)
from sampling_ref.speculative.acceptance import Equality, accepts
from sampling_ref.speculative.law import Law, Model
from sampling_ref.speculative.shares import read_shares, running_shares, token_at
from tests.sampling.speculative_models import model_pairs, weights
from tests.texts import drawn

EACH = drawn(40)

Run = Callable[..., Any]
Rows = Sequence[Row]
Tokens = Sequence[int]
Uniforms = Sequence[Fraction]
Points = Sequence[Sequence[Fraction]]


def first_token(law: Law) -> dict[int, Fraction]:
    """Sum a law of sequences over everything after the first token."""
    summed: dict[int, Fraction] = {}
    for tokens, probability in law.items():
        summed[tokens[0]] = summed.get(tokens[0], Fraction(0)) + probability
    return summed


def as_law(row: Row) -> dict[int, Fraction]:
    return {token: share for token, share in enumerate(read_shares(row)) if share}


# --- the theorem ------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, 2])
@given(data=st.data())
@EACH
def test_a_chain_of_drafts_follows_the_target(length: int, data: st.DataObject) -> None:
    target, draft, _ = data.draw(model_pairs(length))
    law = output_law(target, draft, length, verify_chain, chain_breakpoints)
    assert law == target_law(target, length + 1)


@given(model_pairs(3, most=2))
@drawn(30)
def test_a_chain_of_three_drafts_follows_the_target(models: tuple[Model, Model, int]) -> None:
    target, draft, _ = models
    assert output_law(target, draft, 3, verify_chain, chain_breakpoints) == target_law(target, 4)


LOOP = {
    "frequency_penalty": Use("frequency_penalty", penalty=1.5),
    "no_repeat_ngram": Use("no_repeat_ngram", ngram_size=2),
    "bad_words": Use("bad_words", words=[[0, 1], [1, 0, 0]]),
    "top_k": Use("top_k", k=2),
}


@pytest.mark.parametrize("name", LOOP)
@given(model_pairs(2), st.data())
@drawn(20)
def test_with_steps_in_the_loop_drafts_follow_what_is_drawn_one_by_one(
    name: str, models: tuple[Model, Model, int], data: st.DataObject
) -> None:
    """The target draws after steps that see all tokens before; so must it judge the drafts."""
    _, draft, size = models
    assume(size > 1)
    row = st.lists(st.integers(-4, 4).map(lambda k: k / 2), min_size=size, max_size=size)
    beginnings = [each for n in range(3) for each in product(range(size), repeat=n)]
    raw = {each: data.draw(row) for each in beginnings}
    history = data.draw(st.lists(st.integers(0, size - 1), max_size=3))

    def process(logits: Row, seen: Tokens) -> list[float]:
        return chain([LOOP[name]], logits, seen).row

    try:
        one_by_one = {each: softmax(process(raw[each], [*history, *each])) for each in beginnings}
    except RowError:  # nothing was left of a row
        return

    def verify(_targets: Rows, drafts: Rows, tokens: Tokens, uniforms: Uniforms) -> Verified:
        rows = [raw[tuple(tokens[:place])] for place in range(len(tokens) + 1)]
        targets = processed_targets(rows, tokens, process, history)
        return verify_chain(targets, drafts, tokens, uniforms, if_equal="target")

    law = output_law(one_by_one.__getitem__, draft, 2, verify, chain_breakpoints)
    assert law == target_law(one_by_one.__getitem__, 3)


@pytest.mark.parametrize("length", [1, 2])
@given(data=st.data())
@EACH
def test_a_block_of_drafts_follows_the_target(length: int, data: st.DataObject) -> None:
    target, draft, _ = data.draw(model_pairs(length))
    law = output_law(target, draft, length, verify_block, block_breakpoints)
    assert law == target_law(target, length + 1)


@given(model_pairs(3, most=2))
@drawn(30)
def test_a_block_of_three_drafts_follows_the_target(models: tuple[Model, Model, int]) -> None:
    target, draft, _ = models
    assert output_law(target, draft, 3, verify_block, block_breakpoints) == target_law(target, 4)


@pytest.mark.parametrize("verify", [verify_chain, verify_block])
@given(model_pairs(2))
@drawn(30)
def test_what_happens_at_equality_has_no_share_in_the_law(
    verify: Run, models: tuple[Model, Model, int]
) -> None:
    target, draft, _ = models
    breakpoints: Run = chain_breakpoints if verify is verify_chain else block_breakpoints
    law = output_law(target, draft, 2, partial(verify, equality="accept"), breakpoints)
    assert law == target_law(target, 3)


def test_a_block_that_ends_early_draws_from_the_excess_of_what_it_accepted() -> None:
    """Two tokens exceed, in a ratio that depends on the product of 3/4 before them."""

    def target(beginning: tuple[int, ...]) -> Row:
        return [1, 2, 1] if beginning else [3, 5, 0]

    def draft(beginning: tuple[int, ...]) -> Row:
        return [3, 1, 0] if beginning else [1, 1, 0]

    law = output_law(target, draft, 2, verify_block, block_breakpoints)
    assert law == target_law(target, 3)
    rows = ([[3, 5, 0], [1, 2, 1], [1, 2, 1]], [[1, 1, 0], [3, 1, 0]], [0, 0])
    ends = [Fraction(0), Fraction(2, 5) - Fraction(1, 99), Fraction(2, 5)]
    drawn = [verify_block(*rows, [0, Fraction(99, 100), end]).tokens for end in ends]
    assert drawn == [(0, 1), (0, 1), (0, 2)]  # excesses 1/8 and 3/16


@given(model_pairs(2))
@EACH
def test_drawing_and_matching_follows_the_target(models: tuple[Model, Model, int]) -> None:
    target, draft, _ = models

    def verify(targets: Rows, _: Rows, tokens: Tokens, uniforms: Uniforms) -> Verified:
        return verify_by_matching(targets, tokens, uniforms)

    def breakpoints(targets: Rows, _: Rows, tokens: Tokens) -> Points:
        return matching_breakpoints(targets, tokens)

    assert output_law(target, draft, 2, verify, breakpoints) == target_law(target, 3)


@given(model_pairs(2))
@EACH
def test_no_probabilities_from_the_drafter_are_needed(models: tuple[Model, Model, int]) -> None:
    """A token that was drafted somehow counts as drafted with certainty."""
    target, draft, size = models

    def certain(tokens: Tokens) -> list[list[int]]:
        return [[int(token == x) for x in range(size)] for token in tokens]

    def verify(targets: Rows, _: Rows, tokens: Tokens, uniforms: Uniforms) -> Verified:
        return verify_chain(targets, certain(tokens), tokens, uniforms)

    def breakpoints(targets: Rows, _: Rows, tokens: Tokens) -> Points:
        return chain_breakpoints(targets, certain(tokens), tokens)

    assert output_law(target, draft, 2, verify, breakpoints) == target_law(target, 3)


def drawn_trees(
    draft: Model, parents: list[int], *, replacement: bool
) -> list[tuple[tuple[int, ...], Fraction, list[tuple[int, ...]], list[Row]]]:
    """Return every tree that can be drafted: tokens, probability, beginnings and rows by node."""
    trees: list[tuple[tuple[int, ...], Fraction, list[tuple[int, ...]], list[Row]]]
    trees = [((), Fraction(1), [()], [])]
    for place, parent in enumerate(parents):
        grown = []
        for tokens, probability, beginnings, rows in trees:
            row = draft(beginnings[parent])
            siblings = {tokens[i] for i in range(place) if parents[i] == parent}
            if not replacement and len(siblings) < len(row):
                row = [0 if token in siblings else weight or 1 for token, weight in enumerate(row)]
            for token, share in as_law(row).items():
                nodes = [*beginnings, (*beginnings[parent], token)]
                grown.append(((*tokens, token), probability * share, nodes, [*rows, row]))
        trees = grown
    return trees


def law_of_a_tree(
    target: Model,
    draft: Model,
    parents: list[int],
    *,
    replacement: bool = True,
    verify: Run = verify_tree,
    breakpoints: Run = tree_breakpoints,
) -> Law:
    """Return the law of the tokens that come out of a tree, finished by the target."""
    depths = [0]
    for parent in parents:
        depths.append(depths[parent] + 1)
    law: Law = {}
    trees = drawn_trees(draft, parents, replacement=replacement)
    for tokens, probability, beginnings, rows in trees:
        given = ([target(beginning) for beginning in beginnings], rows, tokens, parents)
        judged = law_of(
            lambda u, given=given: tuple(verify(*given, u).tokens),  # type: ignore[misc]
            breakpoints(*given),
        )
        for verified, part in judged.items():
            for whole, rest in target_law(target, max(depths) + 1, verified).items():
                law[whole] = law.get(whole, Fraction(0)) + probability * part * rest
    return law


TREES = [[0], [0, 0], [0, 0, 0], [0, 1], [0, 0, 1], [0, 1, 1], [0, 0, 2]]


@pytest.mark.parametrize("parents", TREES, ids=str)
@pytest.mark.parametrize("drawn", ["independently", "without replacement"])
@given(data=st.data())
@drawn(15)
def test_a_tree_of_drafts_follows_the_target(
    parents: list[int], drawn: str, data: st.DataObject
) -> None:
    target, draft, _ = data.draw(model_pairs(2, most=3 if len(parents) < 3 else 2))
    law = law_of_a_tree(target, draft, parents, replacement=drawn == "independently")
    assert law == target_law(target, max(map(len, law)))


@given(weights(3), weights(3), st.lists(st.integers(0, 2), max_size=3, unique=True))
@EACH
def test_guesses_judged_by_the_target_alone_follow_it(
    target: list[int], after: list[int], guesses: list[int]
) -> None:
    """Whichever distinct tokens are guessed, and in whatever order."""
    targets = [target] + [after] * len(guesses)
    parents = [0] * len(guesses)
    law = law_of(
        lambda uniforms: verify_target_only(targets, guesses, parents, uniforms).tokens,
        target_only_breakpoints(targets, guesses, parents),
    )
    assert first_token(law) == as_law(target)


@given(weights(3), weights(3), weights(3))
@EACH
def test_the_second_level_of_guesses_follows_its_own_row(
    target: list[int], left: list[int], right: list[int]
) -> None:
    targets, guesses, parents = [target, left, right, right], [0, 1, 2], [0, 0, 1]
    law = law_of(
        lambda uniforms: verify_target_only(targets, guesses, parents, uniforms).tokens,
        target_only_breakpoints(targets, guesses, parents),
    )
    accepted = {tokens: share for tokens, share in law.items() if tokens[0] == 0}
    whole = sum(accepted.values())
    seconds: dict[int, Fraction] = {}
    for tokens, share in accepted.items():
        seconds[tokens[1]] = seconds.get(tokens[1], Fraction(0)) + share / whole
    assert not accepted or seconds == as_law(left)


@given(weights(3), weights(3), st.integers(0, 4))
@EACH
def test_an_ensemble_follows_the_mixture_where_there_is_a_draft(
    target: list[int], draft: list[int], quarters: int
) -> None:
    mixture = ensemble(target, draft, Fraction(quarters, 4))
    law = output_law(lambda _: mixture, lambda _: draft, 1, verify_chain, chain_breakpoints)
    assert first_token(law) == as_law(mixture)


# --- numbers that go with it --------------------------------------------------------------


@given(weights(4), weights(4))
@EACH
def test_the_acceptance_rate_is_one_minus_the_total_variation_distance(
    target: list[int], draft: list[int]
) -> None:
    p, q = read_shares(target), read_shares(draft)
    distance = sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2
    assert acceptance_rate(target, draft) == 1 - distance
    accepted = Fraction(0)
    for x, share in as_law(draft).items():
        mine, offered = p[x], q[x]
        judged = law_of(
            lambda u, mine=mine, offered=offered: accepts(mine, offered, u[0], "reject", "reject"),  # type: ignore[misc]
            [[mine / offered]],
        )
        accepted += share * judged.get(True, Fraction(0))
    assert accepted == 1 - distance


@given(weights(4), weights(4))
@EACH
def test_smaller_share_and_weighted_residual_add_up_to_the_target(
    target: list[int], draft: list[int]
) -> None:
    p, q = read_shares(target), read_shares(draft)
    rejected = 1 - acceptance_rate(target, draft)
    left = residual(target, draft) if rejected else [Fraction(0)] * len(p)
    assert [min(a, b) + rejected * r for a, b, r in zip(p, q, left, strict=True)] == p


def mean_accepted(target: Model, draft: Model, verify: Run, breakpoints: Run) -> Fraction:
    total = Fraction(0)
    for tokens, probability in target_law(draft, 2).items():
        rows = (
            [target(tokens[:n]) for n in range(3)],
            [draft(tokens[:n]) for n in range(2)],
            tokens,
        )
        law = law_of(lambda u, rows=rows: verify(*rows, u).accepted, breakpoints(*rows))  # type: ignore[misc]
        total += probability * sum(count * share for count, share in law.items())
    return total


@given(model_pairs(2))
@EACH
def test_a_block_accepts_at_least_as_many_drafts_as_a_chain(
    models: tuple[Model, Model, int],
) -> None:
    target, draft, _ = models
    block = mean_accepted(target, draft, verify_block, block_breakpoints)
    assert block >= mean_accepted(target, draft, verify_chain, chain_breakpoints)


def test_a_block_can_accept_more_drafts_than_a_chain() -> None:
    """Sun et al. 2024, section 2: the target 1/3, 2/3, the draft the other way round."""
    target, draft = (lambda _: [1, 2]), (lambda _: [2, 1])
    assert mean_accepted(target, draft, verify_chain, chain_breakpoints) == Fraction(10, 9)
    assert mean_accepted(target, draft, verify_block, block_breakpoints) == Fraction(11, 9)


@given(model_pairs(2), st.data())
@EACH
def test_between_breakpoints_nothing_changes(
    models: tuple[Model, Model, int], data: st.DataObject
) -> None:
    target, draft, _ = models
    tokens = data.draw(st.sampled_from(sorted(target_law(draft, 2))))
    targets = [target(tuple(tokens[:n])) for n in range(3)]
    drafts = [draft(tuple(tokens[:n])) for n in range(2)]
    both: list[tuple[Run, Run]] = [
        (verify_chain, chain_breakpoints),
        (verify_block, block_breakpoints),
    ]
    for verify, breakpoints in both:
        one, other = [], []
        for points in breakpoints(targets, drafts, tokens):
            ends = sorted({Fraction(0), Fraction(1), *(x for x in points if 0 < x < 1)})
            cell = data.draw(st.integers(0, len(ends) - 2))
            width = ends[cell + 1] - ends[cell]
            inside = st.sampled_from([Fraction(0), Fraction(1, 10**9), 1 - Fraction(1, 10**9)])
            one.append(ends[cell] + width / 2)
            other.append(ends[cell] + width * data.draw(inside))
        assert verify(targets, drafts, tokens, one) == verify(targets, drafts, tokens, other)


# --- wrong rules are seen to be wrong -------------------------------------------------------

P, Q = (
    [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)],
    [Fraction(1, 4), Fraction(3, 4), Fraction(0)],
)


def law_of_one_draft(
    *,
    target: Sequence[Fraction] = P,
    drawn_from: Sequence[Fraction] = Q,
    claimed: Sequence[Fraction] = Q,
    left: Callable[[Sequence[Fraction], Sequence[Fraction]], Sequence[Fraction]] = residual,
) -> dict[int, Fraction]:
    """Return the law of the token that comes out, with one part of the rule replaced."""
    law: dict[int, Fraction] = {}
    for token, drafted in as_law(drawn_from).items():
        ratio = min(Fraction(1), target[token] / claimed[token]) if claimed[token] else Fraction(1)
        law[token] = law.get(token, Fraction(0)) + drafted * ratio
        if ratio < 1:
            for other, share in as_law(left(target, claimed)).items():
                law[other] = law.get(other, Fraction(0)) + drafted * (1 - ratio) * share
    return law


def test_the_rule_itself_passes_the_control() -> None:
    assert law_of_one_draft() == as_law(P)


def test_a_draft_row_that_is_not_the_law_of_the_draft_breaks_the_law() -> None:
    """The row before a filter, a temperature or a rounding of the drafter (47932)."""
    assert law_of_one_draft(drawn_from=[Fraction(0), Fraction(1), Fraction(0)]) == {
        0: Fraction(1, 3),
        1: Fraction(1, 3),
        2: Fraction(1, 3),
    }


def test_a_draft_that_was_picked_and_not_drawn_breaks_the_law() -> None:
    """llama.cpp's example drafts the likeliest token and judges it by its probability."""
    target, draft = [Fraction(1, 2), Fraction(1, 2)], [Fraction(3, 4), Fraction(1, 4)]
    law = law_of_one_draft(target=target, claimed=draft, drawn_from=[Fraction(1), Fraction(0)])
    assert law == {0: Fraction(2, 3), 1: Fraction(1, 3)}


def test_a_replacement_from_the_target_itself_breaks_the_law() -> None:
    assert law_of_one_draft(left=lambda p, _: p) != as_law(P)


def test_a_residual_by_place_instead_of_token_breaks_the_law() -> None:
    """Candidate lists of different tokens, subtracted entry by entry (llama.cpp's example)."""

    def by_place(p: Sequence[Fraction], q: Sequence[Fraction]) -> list[Fraction]:
        mine, offered = ([x for x, w in enumerate(row) if w] for row in (p, q))
        row = [Fraction(0)] * len(p)
        for place, token in enumerate(mine):
            other = q[offered[place]] if place < len(offered) else Fraction(0)
            row[token] = max(p[token] - other, Fraction(0))
        return row

    target = [Fraction(0), Fraction(1, 2), Fraction(1, 2)]
    draft = [Fraction(3, 4), Fraction(0), Fraction(1, 4)]
    right = law_of_one_draft(target=target, claimed=draft, drawn_from=draft)
    assert {token: share for token, share in right.items() if share} == as_law(target)
    broken = law_of_one_draft(target=target, claimed=draft, drawn_from=draft, left=by_place)
    assert broken == {0: 0, 2: 1}  # token 1, half of the target, never comes out


def test_a_draft_that_shares_its_random_number_with_the_judge_breaks_the_law() -> None:
    p, q = P, Q

    def run(u: Sequence[Fraction]) -> int:
        token = token_at(q, u[0])
        return verify_chain([p, p], [q], [token], u).tokens[0]

    ratios = [p[x] / q[x] for x in as_law(q)]
    ends = running_shares(residual(p, q))
    assert law_of(run, [running_shares(q) + ratios, ends]) != as_law(p)


def test_a_draft_that_shares_its_random_number_with_the_replacement_breaks_the_law() -> None:
    p, q = P, Q

    def run(u: Sequence[Fraction]) -> int:
        token = token_at(q, u[1])
        return verify_chain([p, p], [q], [token], u).tokens[0]

    ratios = [p[x] / q[x] for x in as_law(q)]
    ends = running_shares(residual(p, q))
    assert law_of(run, [ratios, running_shares(q) + ends]) != as_law(p)


def test_a_judge_that_shares_its_random_number_with_the_replacement_breaks_the_law() -> None:
    p, q = [Fraction(1, 3)] * 3, [Fraction(1), Fraction(0), Fraction(0)]

    def run(u: Sequence[Fraction]) -> int:
        return verify_chain([p, p], [q], [0], [u[0], u[0]]).tokens[0]

    ends = running_shares(residual(p, q))
    assert law_of(run, [[Fraction(1, 3), *ends]]) == {
        0: Fraction(1, 3),
        1: Fraction(1, 6),
        2: Fraction(1, 2),
    }


def test_a_draft_that_shares_its_random_number_with_a_matching_target_is_harmless() -> None:
    """The control: drawing and matching is right whatever the draft knows."""
    law = law_of(
        lambda u: verify_by_matching([P, P], [token_at(Q, u[0])], u).tokens[0],
        [running_shares(P) + running_shares(Q), []],
    )
    assert law == as_law(P)


def test_a_bonus_from_the_draft_breaks_the_law() -> None:
    law: dict[int, Fraction] = {}
    for token, drafted in as_law(Q).items():
        run = law_of(
            lambda u, token=token: verify_chain([P, Q], [Q], [token], u).tokens,  # type: ignore[misc]
            chain_breakpoints([P, Q], [Q], [token]),
        )
        for tokens, share in run.items():
            if len(tokens) == 2:
                law[tokens[1]] = law.get(tokens[1], Fraction(0)) + drafted * share
    whole = sum(law.values())
    assert {token: share / whole for token, share in law.items()} == as_law(Q) != as_law(P)


def test_siblings_judged_without_residuals_break_the_law() -> None:
    def verify(
        targets: Rows, drafts: Rows, tokens: Tokens, parents: Tokens, uniforms: Uniforms
    ) -> Verified:
        for node, token in enumerate(tokens):
            if uniforms[node] * Q[token] < P[token]:
                return Verified((token, 0), 1)
        return verify_tree(
            targets, drafts, tokens, parents, [*[1 - Fraction(1, 9**9)] * 2, uniforms[-1]]
        )

    def breakpoints(*given: Sequence[Any]) -> Points:
        *ratios, ends = tree_breakpoints(*given)
        return [[*points, Fraction(1, 3)] for points in ratios] + [ends]

    law = law_of_a_tree(lambda _: P, lambda _: Q, [0, 0], verify=verify, breakpoints=breakpoints)
    assert first_token(law) != as_law(P)


def test_siblings_without_replacement_under_the_row_of_the_first_break_the_law() -> None:
    target, draft = [0, 1, 1], [2, 0, 1]
    law: dict[int, Fraction] = {}
    for first, second in permutations([0, 2]):
        given = ([target] * 3, [draft] * 2, [first, second], [0, 0])
        run = law_of(
            lambda u, given=given: verify_tree(*given, u).tokens[0],  # type: ignore[misc]
            tree_breakpoints(*given),
        )
        for token, share in run.items():  # only one token is left for the second draw
            law[token] = law.get(token, Fraction(0)) + read_shares(draft)[first] * share
    assert law == {1: Fraction(1, 6), 2: Fraction(5, 6)}


def test_a_guess_that_occurs_twice_is_counted_twice_by_the_target_alone() -> None:
    targets = [P] * 3
    law = law_of(
        lambda u: verify_target_only(targets, [1, 1], [0, 0], u).tokens[0],
        target_only_breakpoints(targets, [1, 1], [0, 0]),
    )
    assert law == {1: Fraction(1, 2), 0: Fraction(1, 3), 2: Fraction(1, 6)}


@pytest.mark.parametrize(
    ("thresholds", "expected"),
    [
        ({}, {0: Fraction(1, 2), 1: Fraction(1, 4), 2: Fraction(1, 4)}),
        ({"threshold_acc": 0.5}, {1: Fraction(1, 2), 0: Fraction(1, 3), 2: Fraction(1, 6)}),
        ({"threshold_single": 0.25}, {1: Fraction(1)}),
    ],
    ids=["both 1", "threshold_acc", "threshold_single"],
)
def test_thresholds_below_one_break_the_law(
    thresholds: dict[str, float], expected: dict[int, Fraction]
) -> None:
    acc = thresholds.get("threshold_acc", 1.0)
    law = law_of(
        lambda u: verify_target_only([P, P], [1], [0], u, **thresholds).tokens[0],
        target_only_breakpoints([P, P], [1], [0], acc),
    )
    assert law == expected


@pytest.mark.parametrize("equality", ["reject", "accept"])
def test_on_a_grid_of_random_numbers_only_rejecting_equality_is_exact(equality: Equality) -> None:
    """Random numbers are multiples of 1/4 here; in engines of 2^-24 or 2^-53."""
    p, q = [Fraction(0), Fraction(1)], [Fraction(1, 2), Fraction(1, 2)]
    grid = [Fraction(n, 4) for n in range(4)]
    law: dict[int, Fraction] = {}
    for (token, drafted), u, last in product(as_law(q).items(), grid, grid):
        out = verify_chain([p, p], [q], [token], [u, last], equality=equality).tokens[0]
        law[out] = law.get(out, Fraction(0)) + drafted / 16
    assert (law == as_law(p)) == (equality == "reject")
    assert law.get(0, 0) == (0 if equality == "reject" else Fraction(1, 8))
