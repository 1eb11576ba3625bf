"""What the doctor says of an answer to hello: rules without records are one note, not fifty."""

import pytest
from msgspec import UNSET, UnsetType

from tokenref.answers import PartialSums
from tokenref.doctor.conversation import Finding
from tokenref.doctor.walk import about_hello
from tokenref.protocol.messages import Ability, HelloAnswer, Implementation
from tokenref.rules import rule_names


def said(
    op: str,
    profiles: list[str],
    *,
    in_records: list[str],
    accum: str | PartialSums | UnsetType = UNSET,
) -> list[Finding]:
    hello = HelloAnswer(
        proto=1,
        impl=Implementation(name="mine", version="1"),
        ops={op: Ability(profiles=profiles, accum=accum)},
    )
    return list(about_hello(hello, {op: set(in_records)}))[1:]


def test_all_rules_of_an_operation_can_be_named_at_the_price_of_one_note() -> None:
    names = rule_names("top_p")
    [note] = said("top_p", names, in_records=names[:3])
    assert note.kind == "note"
    assert note.text.startswith(f"{len(names) - 3} declared rules have no records")


def test_one_rule_without_a_record_is_said_in_the_singular() -> None:
    [note] = said("greedy", ["standard", "ties.last"], in_records=["standard"])
    assert note.text.startswith("1 declared rule has no records")


def test_a_name_that_is_no_rule_is_still_shown_with_the_one_that_was_meant() -> None:
    [note] = said("top_p", ["standard", "zero.bset"], in_records=["standard", "zero.best"])
    assert note.kind == "note"
    assert 'did you mean "zero.best"?' in note.text


@pytest.mark.parametrize("name", ["zero.best", "mine"])
def test_where_no_record_can_be_asked_at_all_that_is_a_problem(name: str) -> None:
    [problem] = said("top_p", [name], in_records=["standard"])
    assert problem.kind == "problem"


@pytest.mark.parametrize(
    ("op", "accum", "text"),
    [
        ("top_p", "f32.blocked", None),
        ("softmax", PartialSums(size=256), None),
        (
            "top_p",
            "f32.blocks",
            "accum of top_p: unknown label 'f32.blocks'; did you mean \"f32.blocked\"?",
        ),
        (
            "top_p",
            PartialSums(size=256),
            "accum of top_p must be a label: partial sums are for softmax, logprobs, batch",
        ),
    ],
)
def test_how_sums_are_declared_is_a_problem_if_it_has_no_effect(
    op: str, accum: str | PartialSums, text: str | None
) -> None:
    found = said(op, ["standard"], in_records=["standard"], accum=accum)
    assert [(each.kind, each.text) for each in found] == ([("problem", text)] if text else [])


def test_what_is_in_the_records_is_not_mentioned() -> None:
    assert said("encode", ["definition"], in_records=["definition", "tiktoken"]) == []
