"""A rule's name says every choice that is not the standard one, and nothing that is not open."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref import PROFILES
from tests.texts import drawn
from tokenref.generators import CONVERSIONS, GENERATORS, Start, numbers_of, words_of
from tokenref.record import SAMPLER_OPS
from tokenref.rules import (
    NAMED,
    OPEN_AFTER,
    STANDARD,
    all_choices,
    choices_of,
    is_open,
    points,
    rule_name,
    rule_names,
)

RULED = [op for op in SAMPLER_OPS if op not in NAMED]


@pytest.mark.parametrize("op", SAMPLER_OPS)
def test_every_name_stands_for_its_choices_alone(op: str) -> None:
    names = rule_names(op)
    assert len(names) == len(set(names))
    for name in names:
        assert re.fullmatch(r"[a-z0-9][a-z0-9.+_-]*", name)
        assert name not in PROFILES
        assert choices_of(op, name) is not None


@pytest.mark.parametrize("op", RULED)
def test_names_and_choices_lead_to_each_other(op: str) -> None:
    assert rule_names(op)[0] == STANDARD
    for name in rule_names(op):
        choices = choices_of(op, name)
        assert choices is not None
        assert rule_name(op, **choices) == name
        assert all(is_open(op, point, choices) for point in choices)
        assert all(choice != points(op)[point][0] for point, choice in choices.items())


@pytest.mark.parametrize("op", RULED)
def test_every_choice_has_a_name(op: str) -> None:
    found = [all_choices(op, choices_of(op, name) or {}) for name in rule_names(op)]
    for point, allowed in points(op).items():
        assert {choices[point] for choices in found} == set(allowed)


@pytest.mark.parametrize(
    ("op", "choices", "sentence"),
    [
        ("draw", {"noise": "-log(1-u)"}, "noise needs method gumbel max or expon"),
        ("draw", {"method": "gumbel max", "boundary": "reach"}, "boundary needs"),
        ("draw", {"zero_weight": "as walked"}, "zero_weight needs boundary reach"),
        ("speculative", {"method": "block", "undrafted": "reject"}, "undrafted needs"),
        ("draw", {"method": "dice"}, "method must be one of .*, got 'dice'"),
        ("draw", {"dice": 6}, "a point of draw must be one of method, boundary"),
    ],
)
def test_what_is_not_open_has_no_name(op: str, choices: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        rule_name(op, **choices)


def test_a_standard_choice_may_be_named_wherever_it_stands() -> None:
    assert rule_name("draw", method="gumbel max", boundary="exceed") == "method.gumbel-max"


@pytest.mark.parametrize(
    "name",
    [
        "noise.log-1-u",
        "method.gumbel-max+boundary.reach",
        "zero-weight.as-walked",
        "zero-weight.as-walked+boundary.reach",
        "boundary.reach+boundary.reach",
        "boundary.exceed",
        "standard+boundary.reach",
        "mt19937",
        "",
        "+",
    ],
)
def test_a_name_that_is_none_stands_for_nothing(name: str) -> None:
    assert choices_of("draw", name) is None


@drawn(50)
@given(st.sampled_from(SAMPLER_OPS), st.text("abcdefghnorst.+-_19", max_size=30))
def test_other_texts_are_no_names(op: str, text: str) -> None:
    assert (choices_of(op, text) is not None) == (text in rule_names(op))


def test_points_are_closed_by_earlier_points_only() -> None:
    for (op, point), (earlier, needed) in OPEN_AFTER.items():
        order = list(points(op))
        assert order.index(earlier) < order.index(point)
        assert set(needed) < set(points(op)[earlier])


def test_generators_and_conversions_are_known_by_their_own_names() -> None:
    assert rule_names("random_words") == list(GENERATORS)
    assert rule_names("uniforms") == list(CONVERSIONS)
    assert choices_of("uniforms", "numpy-double") == {"name": "numpy-double"}
    assert choices_of("uniforms", STANDARD) is None


@pytest.mark.parametrize("name", GENERATORS)
def test_a_generator_goes_on_where_words_were_taken(name: str) -> None:
    generator = GENERATORS[name]
    size = {
        "pcg64": 4, "xoshiro256plusplus": 4, "threefry4x64-20": 4,
        **dict.fromkeys(("chacha8", "chacha12", "chacha20"), 8),
    }.get(name, 2)  # fmt: skip
    start = Start(seed=7, key=tuple(range(1, size + 1)), counter=(3,) * (name[:6] == "murmur"))
    given_ = frozenset(generator.needs)
    if name in {"murmur3-32", "threefry2x32-20.mlx"}:
        return  # one word; all words at once
    many = words_of(name, Start(start.seed, start.key, start.counter, 0, 40), given_)
    for taken in (1, 15, 37):
        later = Start(start.seed, start.key, start.counter, taken, 3)
        assert words_of(name, later, given_) == many[taken : taken + 3]
    assert max(many) < 2**generator.bits


def test_a_conversion_takes_whole_groups_of_words() -> None:
    assert numbers_of("numpy-float", [2**31, 0]) == [0.5, 0.0]
    assert numbers_of("libstdcxx-double", []) == []
