"""Golden records for your pytest suite, and helpers that compare with the definition.

    from tokenref.pytest import assert_top_p, cases

    @pytest.mark.parametrize("case", cases("top_p", profile="standard"))
    def test_my_top_p(case):
        case.check(keep=my_top_p(case.probs, **case.params))

    def test_my_top_p_on_my_own_row():
        assert_top_p([0.5, 0.25, 0.25], my_top_p([0.5, 0.25, 0.25], 0.75), p=0.75)

Rows and results may be lists, numpy arrays or torch tensors. A helper that fails explains the
mistake in one sentence.
"""

from tokenref.pytest.asserting import (
    assert_draw,
    assert_epsilon,
    assert_eta,
    assert_kept,
    assert_min_p,
    assert_softmax,
    assert_step,
    assert_tail_free,
    assert_top_a,
    assert_top_h,
    assert_top_k,
    assert_top_n_sigma,
    assert_top_p,
    assert_typical,
    assert_xtc,
)
from tokenref.pytest.golden import Golden, NoCasesError, cases

__all__ = [
    "Golden",
    "NoCasesError",
    "assert_draw",
    "assert_epsilon",
    "assert_eta",
    "assert_kept",
    "assert_min_p",
    "assert_softmax",
    "assert_step",
    "assert_tail_free",
    "assert_top_a",
    "assert_top_h",
    "assert_top_k",
    "assert_top_n_sigma",
    "assert_top_p",
    "assert_typical",
    "assert_xtc",
    "cases",
]
