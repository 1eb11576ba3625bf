"""When a question about a rule can be put to an engine that follows another one."""

from typing import Any

import pytest

from tokenref.engines.own_rules import (
    NotExpressibleError,
    OwnRule,
    check_ties,
    is_clear,
    logarithms,
)
from tokenref.floats import pack
from tokenref.questions.sampling import pack_parameters
from tokenref.rules import rule_name

TIES = frozenset({"ties"})
LAW = [0.5, 0.25, 0.125, 0.125]
ALL = rule_name("top_k", ties="all")
HIGHEST = rule_name("top_p", ties="highest id", zero="best")
EXCEED = rule_name("top_p", boundary="exceed")
OUTPUT = rule_name("repetition_penalty", scope="output")


def can_be_asked(own: OwnRule, op: str, params: dict[str, Any], **request: Any) -> bool:
    try:
        asked = {**request, "params": pack_parameters(params)}
        own.parameters(op, "standard", params, asked)
    except NotExpressibleError:
        return False
    return True


@pytest.mark.parametrize(
    ("op", "rule", "params", "expected"),
    [
        ("top_k", ALL, {"k": 1}, True),
        ("top_k", ALL, {"k": 2}, True),
        ("top_k", ALL, {"k": 3}, False),  # one of the two smallest
        ("top_k", ALL, {"k": 4}, True),
        ("top_p", HIGHEST, {"p": 0.5}, True),
        ("top_p", HIGHEST, {"p": 0.75}, True),  # reached before the ties
        ("top_p", HIGHEST, {"p": 0.8125}, False),
        ("top_p", HIGHEST, {"p": 0.875}, False),
        ("top_p", HIGHEST, {"p": 0.9375}, True),
        ("top_p", HIGHEST, {"p": 0}, False),  # here the rules differ about 0
        ("top_p", EXCEED, {"p": 0.6}, True),
        ("top_p", EXCEED, {"p": 0.75}, False),
        ("top_p", EXCEED, {"p": 0.875}, False),  # a sum within the ties
        ("typical", "boundary.short", {"mass": 0.5}, False),
        ("min_p", rule_name("min_p", ties="all"), {"m": 0.5}, True),
        ("min_p", rule_name("min_p", ties="all"), {"m": 0.5, "least": 3}, False),
        ("min_p", rule_name("min_p", above_one="best"), {"m": 0.5}, True),
        ("min_p", rule_name("min_p", above_one="best"), {"m": 1.5}, False),
        ("epsilon", rule_name("epsilon", ties="all"), {"cutoff": 0.9}, True),
        ("epsilon", rule_name("epsilon", ties="all"), {"cutoff": 0.9, "least": 3}, False),
        ("top_k", rule_name("top_k", beyond="error"), {"k": 3}, True),
        ("top_k", rule_name("top_k", beyond="error"), {"k": 4}, False),
    ],
)
def test_a_question_is_put_where_the_choice_cannot_matter(
    op: str, rule: str, params: dict[str, Any], expected: bool
) -> None:
    own = OwnRule(rule, {name: name for name in params})
    assert can_be_asked(own, op, params, probs=pack(LAW, "f32")) == expected


@pytest.mark.parametrize(
    ("op", "rule", "params", "request_", "expected"),
    [
        # Half of the entropy of 0.8, 0.1 and 0.1 is more than that of 0.8 and 0.1 as they are.
        ("top_h", "entropy.shared", {"alpha": 0.25}, {"logits": pack([3.0, 1.0, 1.0])}, True),
        ("top_h", "entropy.shared", {"alpha": 0.5}, {"logits": pack([0.0] * 16)}, False),
        ("top_h", "entropy.shared", {"alpha": 1.5}, {"logits": pack([0.0] * 16)}, True),  # errors
        ("top_h", "entropy.shared", {"alpha": 0.5}, {"logits": pack([float("nan")])}, False),
        ("repetition_penalty", "counting.each-occurrence", {"penalty": 2.0}, [0, 1], True),
        ("repetition_penalty", "counting.each-occurrence", {"penalty": 2.0}, [1, 1], False),
        ("epsilon", "equality.removed", {"cutoff": 0.2}, {"probs": pack(LAW)}, True),
        ("epsilon", "equality.removed", {"cutoff": 0.25}, {"probs": pack(LAW)}, False),
        ("epsilon", "equality.removed", {"cutoff": 0.5 + 1e-9}, {"logits": pack([1.0] * 2)}, False),
    ],
)
def test_a_question_is_put_where_both_rules_have_one_answer(
    op: str, rule: str, params: dict[str, Any], request_: Any, expected: bool
) -> None:
    own = OwnRule(rule, {name: name for name in params})
    if isinstance(request_, list):
        request_ = {"logits": pack([1.0, 2.0]), "history": request_, "prompt_length": 0}
    assert can_be_asked(own, op, params, **request_) == expected


def test_a_parameter_that_an_engine_lacks_can_be_left_out_where_it_changes_nothing() -> None:
    own = OwnRule("standard", {"m": "m"})
    for least, expected in ((0, True), (1, True), (2, True), (3, False)):
        params = {"m": 0.5, "least": least}
        assert can_be_asked(own, "min_p", params, probs=pack(LAW, "f32")) == expected
    nothing_left_out = {"cutoff": 0.2, "least": 3}
    narrow = OwnRule("standard", {"cutoff": "cutoff"})
    assert not can_be_asked(narrow, "epsilon", nothing_left_out, probs=pack(LAW, "f32"))


def test_undefined_ties_matter_where_they_are_cut() -> None:
    own = OwnRule("standard", {"k": "k"}, {}, TIES)
    assert can_be_asked(own, "top_k", {"k": 2}, probs=pack(LAW, "f32"))
    assert not can_be_asked(own, "top_k", {"k": 3}, probs=pack(LAW, "f32"))


def test_sums_of_logits_are_compared_with_a_margin() -> None:
    own = OwnRule(EXCEED, {"p": "p"})
    for p, expected in ((0.5, False), (0.5 + 1e-8, False), (0.6, True)):
        assert can_be_asked(own, "top_p", {"p": p}, logits=pack([1.0, 1.0], "f32")) == expected


def test_a_scope_matters_where_it_counts_other_tokens() -> None:
    own = OwnRule(OUTPUT, {"penalty": "penalty"})
    row = {"logits": pack([1.0, 2.0], "f32"), "history": [0, 1]}
    assert can_be_asked(own, "repetition_penalty", {"penalty": 2.0}, **row, prompt_length=0)
    assert not can_be_asked(own, "repetition_penalty", {"penalty": 2.0}, **row, prompt_length=1)


def test_probabilities_that_a_softmax_does_not_return_are_not_put() -> None:
    def wrong(row: Any) -> list[float]:
        return [0.5 + 1e-12, 0.5 - 1e-12]

    with pytest.raises(NotExpressibleError, match="does not return"):
        logarithms(pack([0.5, 0.5], "f64"), wrong, float)
    with pytest.raises(NotExpressibleError, match="no probabilities"):
        logarithms(pack([0.5, -0.5], "f64"), wrong, float)


@pytest.mark.parametrize(
    ("op", "near", "far"),
    [
        ("top_p", {"p": 0.75}, {"p": 0.7}),
        ("min_p", {"m": 0.5}, {"m": 0.4}),
        ("top_a", {"a": 1.0}, {"a": 0.9}),
        ("epsilon", {"cutoff": 0.125}, {"cutoff": 0.2}),
        ("eta", {"cutoff": 2**-2.5}, {"cutoff": 0.2}),
        ("xtc", {"threshold": 0.25}, {"threshold": 0.2}),
    ],
)
def test_a_question_is_clear_where_rounding_cannot_decide(
    op: str, near: dict[str, Any], far: dict[str, Any]
) -> None:
    request = {"probs": pack(LAW, "f32")}
    assert not is_clear(op, near, request)
    assert is_clear(op, far, request)
    assert not is_clear(op, far, {"probs": pack([], "f32")})


def test_nearly_equal_probabilities_are_never_clear() -> None:
    assert not is_clear("top_k", {"k": 1}, {"probs": pack([0.5, 0.5 + 2**-23], "f32")})
    assert is_clear("top_k", {"k": 1}, {"probs": pack([0.5, 0.5], "f32")})
    plain = lambda row: [0.5, 0.49] if row else []  # noqa: E731 - a softmax that is always wrong
    assert len(logarithms(pack([0.5, 0.5], "f32"), plain, float, clear=True)) == 2


def test_an_answer_shows_whether_its_ties_matter() -> None:
    request = {"probs": pack(LAW, "f32")}
    for keep in ([0], [0, 1], [0, 1, 2, 3]):
        check_ties(request, keep)
    with pytest.raises(NotExpressibleError, match="which of equal tokens"):
        check_ties(request, [0, 1, 2])
