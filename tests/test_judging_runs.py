"""The tokens of a long text may come as ids or as runs, whichever an engine has."""

import pytest

from bpe_ref import vocabulary_by_concatenation
from tokenref.answers import Ok
from tokenref.judge import judge
from tokenref.questions.text import IdsOutput, Recipe, TextInput
from tokenref.record import Case, make_case
from tokenref.verdicts import Exact

VOCABULARY = vocabulary_by_concatenation({b"a": 0, b"b": 1})


def case(out: IdsOutput, given: TextInput) -> Case:
    return make_case(
        "encode",
        id="bpe/encode/runs/example",
        profile="definition",
        vocab=VOCABULARY.digest(),
        why="Three letters, the last of them another one.",
        flags=[],
        spec="docs/bpe.md#definition",
        verdict=Exact(),
        input=given,
        out=out,
    )


LONG = case(
    IdsOutput(runs=[(0, 2), (1, 1)]),
    TextInput(recipe=Recipe(before="", unit="61", times=2, after="62")),
)
SHORT = case(IdsOutput(ids=[0, 0, 1]), TextInput(text="aab"))


@pytest.mark.parametrize("asked", [LONG, SHORT])
@pytest.mark.parametrize(
    "out", [{"ids": [0, 0, 1]}, {"runs": [[0, 2], [1, 1]]}, {"runs": [(0, 1), (0, 1), (1, 1)]}]
)
def test_the_same_tokens_pass_in_either_form(asked: Case, out: dict[str, object]) -> None:
    assert judge(asked, Ok(out), VOCABULARY).status == "pass"


@pytest.mark.parametrize("asked", [LONG, SHORT])
@pytest.mark.parametrize(
    "out",
    [
        {"ids": [0, 1]},
        {"runs": [[0, 1], [1, 1]]},
        {"runs": [[0, 2]]},
        {"runs": [[1, 1], [0, 2]]},
        {"runs": [[0, 3], [0, -1], [1, 1]]},
        {"runs": [[0, 2], [1, 0], [1, 1]]},
        {"runs": []},
    ],
)
def test_other_tokens_fail_in_either_form(asked: Case, out: dict[str, object]) -> None:
    assert judge(asked, Ok(out), VOCABULARY).status == "fail"
