"""pandas keeps the largest numbers of a row, by its three rules for equal ones."""

from typing import Any

import pytest

pytest.importorskip("pandas", reason="the engine is pandas")

from tests.sampling.engines.asking_adapters import out, question, taken_up
from tokenref.answers import Unsupported
from tokenref.floats import pack
from tokenref.rules import rule_name

ROW = [1.0, 2.0, float("-inf"), 2.0, 3.0, 2.0]


def session(op: str = "top_k", **choices: Any) -> Any:
    return taken_up("pandas", rule_name(op, **choices))


def test_it_keeps_the_first_the_last_or_all_of_equal_tokens() -> None:
    for ties, keep in (("lowest id", [1, 3, 4]), ("highest id", [3, 4, 5]), ("all", [1, 3, 4, 5])):
        assert out(session(ties=ties).answer("top_k", question(ROW, k=3))) == {"keep": keep}
    assert out(session(zero="none").answer("top_k", question(ROW, k=0))) == {"keep": []}
    assert out(session().answer("top_k", question(ROW, k=9))) == {"keep": [0, 1, 3, 4, 5]}
    assert out(session("greedy", ties="last").answer("greedy", question([1.0, 1.0]))) == {
        "token": 1
    }


def test_it_keeps_the_largest_of_each_row_of_a_batch() -> None:
    rows: list[dict[str, Any]] = [
        {"probs": pack([0.25] * 4, "f32"), "params": {"k": 2}},
        {"probs": pack([0.0, 0.5, 0.0, 0.5], "f32"), "params": {"k": 2}},
    ]
    asked = {"op": "top_k", "rows": rows}
    assert out(session().answer("batch", asked)) == {"rows": [{"keep": [0, 1]}, {"keep": [1, 3]}]}
    short = {**asked, "vocab_size": 2, "calls": 2}
    assert out(session().answer("batch", short)) == {"rows": [{"keep": [0, 1]}, {"keep": [1]}] * 2}
    for wrong in (
        {**asked, "layout": {"order": [0, 1], "stride": 4}},
        {**asked, "rows": [rows[0], {**rows[1], "params": {"k": 1}}]},
        {**asked, "op": "top_p"},
    ):
        assert isinstance(session().answer("batch", wrong), Unsupported)


def test_what_it_does_not_check_is_not_put_to_it() -> None:
    for row in ([float("nan"), 0.0], [float("inf")], [float("-inf")], []):
        assert isinstance(session().answer("top_k", question(row, k=1)), Unsupported), row
    negative = {"probs": pack([1.5, -0.5], "f32"), "params": {"k": 1}}
    assert isinstance(session().answer("top_k", negative), Unsupported)
    assert isinstance(session().answer("top_k", question([1.0], k=-1)), Unsupported)
    assert isinstance(session().answer("top_k", question([1.0], k=0)), Unsupported)  # no error
