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

from tokenref.pytest.asserting import assert_draw as assert_draw
from tokenref.pytest.asserting import assert_epsilon as assert_epsilon
from tokenref.pytest.asserting import assert_eta as assert_eta
from tokenref.pytest.asserting import assert_kept as assert_kept
from tokenref.pytest.asserting import assert_min_p as assert_min_p
from tokenref.pytest.asserting import assert_softmax as assert_softmax
from tokenref.pytest.asserting import assert_step as assert_step
from tokenref.pytest.asserting import assert_tail_free as assert_tail_free
from tokenref.pytest.asserting import assert_top_a as assert_top_a
from tokenref.pytest.asserting import assert_top_h as assert_top_h
from tokenref.pytest.asserting import assert_top_k as assert_top_k
from tokenref.pytest.asserting import assert_top_n_sigma as assert_top_n_sigma
from tokenref.pytest.asserting import assert_top_p as assert_top_p
from tokenref.pytest.asserting import assert_typical as assert_typical
from tokenref.pytest.asserting import assert_xtc as assert_xtc
from tokenref.pytest.golden import Golden as Golden
from tokenref.pytest.golden import NoCasesError as NoCasesError
from tokenref.pytest.golden import cases as cases
