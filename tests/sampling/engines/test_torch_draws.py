"""What torch draws by itself: rows of a batch apart, and by its rules where campaigns ask."""

from collections import Counter

import msgspec
import pytest

from tokenref.answers import LoadsProfiles, Unsupported
from tokenref.catalogue import open_catalogue
from tokenref.engines.table import engine
from tokenref.fuzzing.campaign import open_engine
from tokenref.fuzzing.comparing import Comparer
from tokenref.fuzzing.drawn_questions import questions_of
from tokenref.fuzzing.plan import Selection
from tokenref.judge import judge
from tokenref.record import OWN_DRAW_OPS, Case, op_of
from tokenref.rules import RACE_PROFILES
from tokenref.subjects import SAMPLERS

pytest.importorskip("torch", reason="these tests run torch: pip install '.[sampling-engines]'")

CASES = [case for case in open_catalogue().cases if op_of(case) in OWN_DRAW_OPS[1:]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_torch_draws_rows_of_a_batch_apart_and_answers_nothing_else_of_its_own(case: Case) -> None:
    torch = engine("torch")
    assert isinstance(torch, LoadsProfiles)
    session = torch.load_profile(case.profile)
    if isinstance(session, Unsupported):
        assert op_of(case) != "stat_batch"
        return
    answer = session.answer(op_of(case), msgspec.to_builtins(case.input))
    is_plain = case.id != "sampling/stat_batch/rows/filtered"  # torch has no filters
    expected = "pass" if op_of(case) == "stat_batch" and is_plain else "unsupported"
    assert judge(case, answer, SAMPLERS).status == expected


@pytest.mark.parametrize("profile", [name for name in RACE_PROFILES if "torch" in name])
def test_torch_draws_as_its_rule_says(profile: str) -> None:
    comparer = Comparer(open_engine("torch"))
    selection = Selection(ops=["draw"], profiles=[profile])
    outcomes = [
        outcome
        for group in range(2)
        for outcome in comparer.compare(questions_of(selection, 1, group))
    ]
    fates = Counter(outcome.fate for outcome in outcomes)
    assert not fates["failed"]
    if "unsupported" in fates and "same" not in fates:
        pytest.skip("torch uses another generator for noise on this machine")
    assert fates["same"] > 15
