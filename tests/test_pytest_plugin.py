"""The plugin gives golden records as parameters, and helpers that say what is wrong."""

import json
import sys
from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from bpe_ref import load
from sampling_ref import PROFILES, step
from tests.fakes.honest import changed
from tests.small_fixtures import checkout_fixtures
from tokenref.answers import Ok
from tokenref.catalogue import open_catalogue
from tokenref.cli import main
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.errors import InputError
from tokenref.floats import unpack
from tokenref.pytest import (
    NoCasesError,
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
    cases,
)
from tokenref.pytest.golden import SELECTED
from tokenref.record import FILTER_OPS, RecordError

pytest_plugins = ["pytester"]

ROW = [0.125, 0.5, 0.125, 0.25]


def says(check: Callable[..., None], *given: Any, **more: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        check(*given, **more)
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


def row_of(case: Any) -> list[float]:
    numbers: list[float] = case.probs if "probs" in case.request else case.logits
    return numbers


def kept_by(engine: str, row: list[float], params: dict[str, Any]) -> list[int]:
    """Return what an engine keeps, from the row that its own step leaves."""
    (op,) = {
        stage.step
        for stage in PROFILES[engine].stages
        if set(params) <= stage.parameters() and stage.step in FILTER_OPS
    }
    left = step(engine, op, row, uniforms=[0.0], **params)
    return [token for token, logit in enumerate(left) if logit > -inf]


def _answers(case: Any) -> list[dict[str, Any]]:
    """Return the right answers to a batch, with numbers as floats."""
    answer = SamplerSession(case.profile).answer("batch", case.request)
    assert isinstance(answer, Ok)
    return [
        {
            name: list(unpack(value)) if isinstance(value, dict) else value
            for name, value in row.items()
        }
        for row in answer.out["rows"]
    ]


# ---- golden records as parameters


@pytest.mark.parametrize("case", cases("count", ids="bpe/count/texts/*"))
def test_a_record_is_judged_by_its_own_verdict(case: Any) -> None:
    right = case.record.out.count
    case.check(count=right)
    case.check(count=np.int64(right))
    assert f"expected {right}, got {right + 1}. Why" in says(case.check, count=right + 1)


def test_a_refusal_is_judged_by_its_code() -> None:
    case = cases("encode", refused=True)[0].values[0]
    assert case.is_refused
    (code,) = case.record.verdict.codes
    case.check_refused(code)
    assert "expected" in says(case.check_refused, "INVALID_UNIFORM")
    assert "got an answer" in says(case.check, ids=[1])
    usual = cases("encode", refused=False)[0].values[0]
    assert "a valid input was refused" in says(usual.check_refused, "MISSING_BYTE")


def test_the_parts_of_a_question_are_attributes_with_numbers_in_them() -> None:
    case = cases("top_p", profile="standard", refused=False)[0].values[0]
    row = case.probs if "probs" in case.request else case.logits
    assert all(type(number) is float for number in row)
    assert type(case.params["p"]) in {float, int}
    assert case.type == "f32"
    with pytest.raises(AttributeError, match="a question of top_p has"):
        _ = case.history


def test_kept_tokens_may_come_in_any_order_and_as_arrays() -> None:
    case = next(
        each.values[0]
        for each in cases("top_k", refused=False)
        if len(getattr(each.values[0].record.out, "keep", [])) > 1
    )
    keep = case.record.out.keep
    case.check(keep=np.array(keep[::-1]))
    case.check(keep=set(keep))
    assert f"without [{keep[0]}]" in says(case.check, keep=keep[1:])


def test_kept_tokens_may_be_a_mask_or_the_row_that_is_left() -> None:
    for case in (each.values[0] for each in cases("top_k", "top_p", refused=False)):
        keep = getattr(case.record.out, "keep", None)
        if keep is None or not set(keep) < set(range(len(row_of(case)))):
            continue
        row, gone = row_of(case), -inf if "logits" in case.request else 0.0
        if all(row[token] != gone for token in keep):
            mask = [token in keep for token in range(len(row))]
            case.check(keep=mask)
            case.check(keep=np.array(mask))
            case.check(keep=[entry if token in keep else gone for token, entry in enumerate(row)])
            assert "the mask must have" in says(case.check, keep=[*mask, True])


def test_numbers_that_the_type_does_not_hold_are_said_to_be_so() -> None:
    case = cases("softmax", refused=False)[0].values[0]
    assert "f32 must represent 0.1 exactly" in says(case.check, probs=[0.1])


@pytest.mark.parametrize(
    ("ops", "more", "sentence"),
    [
        (("top-p",), {}, "unknown operation 'top-p'; did you mean 'top_p'"),
        (("top_p",), {"profile": "lama.cpp"}, "no golden record matches op top_p, profile lama"),
        (("count",), {"flags": ["NoSuchFlag"]}, "flags NoSuchFlag"),
        (("count",), {"vocabulary": "tinny"}, "vocabulary tinny; did you mean 'tiny'"),
    ],
)
def test_a_selection_of_nothing_is_an_error(
    ops: tuple[str, ...], more: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(NoCasesError, match=sentence):
        cases(*ops, **more)


# ---- tokenizers


def test_records_are_chosen_by_their_vocabulary() -> None:
    chosen = [each.values[0] for each in cases("encode", vocabulary="tiny")]
    assert 0 < len(chosen) < len(cases("encode"))
    assert {case.catalogue.name(case.record.vocab) for case in chosen} == {"tiny"}


def test_a_vocabulary_that_is_not_here_is_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = open_catalogue()
    monkeypatch.setattr(empty, "_load", lambda entry: f"there is no {entry.name}")
    monkeypatch.setattr("tokenref.pytest.golden.catalogue", lambda: empty)
    with pytest.raises(NoCasesError, match="vocabulary cl100k_base; there is no cl100k_base"):
        cases("encode", vocabulary="cl100k_base")


def test_the_text_of_a_question_is_always_there() -> None:
    tokenizer = load("tiny")
    chosen = [each.values[0] for each in cases("count", profile="definition", vocabulary="tiny")]
    assert {"text", "recipe"} <= {key for case in chosen for key in case.request}
    for case in chosen:
        case.check(count=tokenizer.count(case.text, special="ordinary"))
    bad = next(
        each.values[0]
        for each in cases("encode", profile="tiktoken")
        if "bytes" in each.values[0].request
    )
    with pytest.raises(AttributeError, match="is bytes that are not UTF-8"):
        _ = bad.text


def test_records_of_ones_own_are_parameters(tmp_path: Path) -> None:
    file = checkout_fixtures() / "tokenizer" / "family_llama2.json"
    texts, out = tmp_path / "texts.txt", tmp_path / "own.jsonl"
    texts.write_text("Hello\nb\u00e4b\n", encoding="utf-8")
    fill = ["fill", "--vocabulary", str(file), "--texts", str(texts), "--out", str(out)]
    assert CliRunner().invoke(main, fill).exit_code == 0
    tokenizer = load(file)
    for vocabulary in (None, str(file)):
        chosen = [each.values[0] for each in cases(records=out, vocabulary=vocabulary)]
        assert [case.text for case in chosen] == ["Hello", "b\u00e4b"]
        for case in chosen:
            assert case.op == "tokenize"
            right = tokenizer.encode(case.text)
            case.check(ids=right)
            wrong = says(case.check, ids=[*right, 3])
            assert f"ids, from token {len(right)}: expected the end, got 3 " in wrong
            assert "there are no tokens" not in wrong
            assert "tokens" in says(case.check, ids=right, tokens=[])
            parts = tokenizer.tokenize(case.text)
            some = {"ids": right, "offsets": parts.offsets}
            assert "expected" in says(case.check, **some)
            case.check(**some, only_given=True)
            shifted = [(start, stop + 1) for start, stop in parts.offsets]
            wrong = says(case.check, ids=right, offsets=shifted, only_given=True)
            assert ": offsets, entry 0" in wrong
            assert ": ids, from token 0" in says(case.check, **some | {"ids": [3]}, only_given=True)
            for only_given in (False, True):
                wrong = says(case.check, ids=right, offset=[], only_given=only_given)
                assert "unknown field 'offset'; the fields are ids, tokens, offsets, " in wrong
            assert "only_given needs parts" in says(case.check, only_given=True)
    assert len(cases("tokenize", records=str(out), ids=chosen[1].id)) == 1
    with pytest.raises(NoCasesError, match=f"op encode, records {out}"):
        cases("encode", records=out)
    with pytest.raises(InputError, match="cannot be read"):
        cases(records=tmp_path / "no.jsonl")


def test_records_of_ones_own_may_be_in_several_files_which_are_read_once(tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    fill = ["fill", "--vocabulary", "tiny", "--replace", "--out"]
    for path, text in ((one, "a"), (two, "b")):
        assert CliRunner().invoke(main, [*fill, str(path), text]).exit_code == 0
    chosen = [each.values[0] for each in cases(records=[one, str(two)])]
    assert [case.text for case in chosen] == ["a", "b"]
    again = [each.values[0] for each in cases(records=one)]
    assert again[0].catalogue is chosen[0].catalogue is not chosen[1].catalogue
    assert CliRunner().invoke(main, [*fill, str(one), "another"]).exit_code == 0
    assert [each.values[0].text for each in cases(records=one)] == ["another"]
    (tmp_path / "texts.txt").write_text("no records\n", encoding="utf-8")
    for several in (tmp_path, f"{tmp_path}/*.jsonl"):
        assert [each.id for each in cases(records=several)] == [
            each.id for each in cases(records=[one, two])
        ]
    with pytest.raises(NoCasesError, match=f"op count, records {one} {two}"):
        cases("count", records=[one, two])
    with pytest.raises(InputError, match=r"records must name files, but '.*nothing.*' has none"):
        cases(records=tmp_path / "nothing*")
    with pytest.raises(RecordError, match=r"texts.txt, line 1: not a record file, as `fill` and"):
        cases(records=tmp_path / "texts.txt")
    with pytest.raises(NoCasesError, match="no golden record matches anything"):
        cases(records=[])


def test_chunks_may_be_those_of_the_library_or_pairs(tmp_path: Path) -> None:
    fill = ["fill", "--vocabulary", "tiny", "--op", "chunks", "--most", "3", "to be or not to be"]
    assert CliRunner().invoke(main, [*fill, "--out", str(tmp_path / "c.jsonl")]).exit_code == 0
    (case,) = (each.values[0] for each in cases(records=tmp_path))
    found = load("tiny").chunks(case.text, case.most, case.overlap)
    case.check(chunks=found)
    case.check(chunks=[(chunk.start, chunk.stop) for chunk in found])
    late = [found[0]._replace(stop=9), *found[1:]]
    assert "chunks, entry 0: expected [0, 8], got [0, 9]" in says(case.check, chunks=late)
    for wrong in (3, [1, 2], [(0, 8, 3, 0), (8, 18, 3, 0)], [(0,), (8,)], [(0, 8)]):
        assert "chunks" in says(case.check, chunks=wrong)


# ---- helpers


@pytest.mark.parametrize(
    "result",
    [
        [1, 3],
        (3, 1),
        {1, 3},
        np.array([1, 3]),
        [False, True, False, True],
        np.array([False, True, False, True]),
        [0.0, 0.5, 0.0, 0.25],
        [0.0, 2 / 3, 0.0, 1 / 3],
        np.array([0.0, 0.5, 0.0, 0.25], dtype=np.float32),
    ],
)
def test_a_result_may_be_ids_a_mask_or_a_row(result: object) -> None:
    assert_top_p(ROW, result, p=0.75)
    assert_top_p(np.array(ROW), result, p=0.75)
    assert_top_k(ROW, result, k=2)


def test_tensors_are_rows_as_well() -> None:
    torch = pytest.importorskip("torch", reason="the samplers' engines are an extra")
    row = torch.tensor(ROW).log()
    gone = torch.tensor([-inf, float(row[1]), -inf, float(row[3])])
    assert_top_k(row, gone, k=2, logits=True)
    assert "crossing" in says(assert_top_k, row, gone, k=1 + 2, logits=True)
    assert_softmax(row, row.softmax(-1))
    assert_draw(torch.tensor(ROW), torch.tensor([1]), uniforms=torch.tensor([0.25]))


@pytest.mark.parametrize(
    ("kept", "sentence"),
    [
        ([1], "the crossing token is dropped, or more: [3] must be kept as well"),
        ([], "too much is removed: [1, 3] must be kept as well"),
        ([0, 1, 3], "too much is kept: [0] as well; that is what the rule boundary.exceed gives"),
        ([0, 1], "the order is wrong: 3 (0.25) is removed and the lighter 0 (0.125) kept"),
        ([1, 1], "the token 1 is kept twice"),
        ([1, 4], "4 is not a token of a row of 4"),
        ([True, False], "the mask must have 4 entries like the question, got 2"),
        ([0.5], "the row must have 4 entries"),
        (None, "the result must be ids, a mask or a row, got None"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(kept: object, sentence: str) -> None:
    assert sentence in says(assert_top_p, ROW, kept, p=0.75)


def test_a_tie_that_is_broken_the_other_way_is_recognised() -> None:
    sentence = says(assert_top_p, ROW, [1, 2, 3], p=0.875)
    assert "of equals, 0 is kept and 2 removed" in sentence
    assert "the rule ties.highest-id gives, not standard" in sentence
    assert_top_p(ROW, [1, 2, 3], p=0.875, rule="ties.highest-id")


def test_where_rounding_decides_each_arithmetic_is_right() -> None:
    row = [0.5, 0.25, 0.25]
    p = 0.5 + 2**-30
    assert_top_p(row, [0, 1], p=p)
    assert_top_p(row, [0], p=p)
    assert "top_p: " in says(assert_top_p, row, [0, 1, 2], p=p)


def test_an_engine_is_a_rule_as_well() -> None:
    assert_kept("top_k", [3.0, 2.0, 2.0], [0, 1, 2], rule="vllm", logits=True, top_k=2)
    assert_top_k([3.0, 2.0, 2.0], [0, 1, 2], rule="vllm", logits=True, top_k=2)
    assert "[2] must be kept" in says(
        assert_kept, "top_k", [3.0, 2.0, 2.0], [0, 1], rule="vllm", logits=True, top_k=2
    )


def test_every_filter_has_its_helper() -> None:
    half = [0.5, 0.25, 0.25]
    helpers: list[tuple[Callable[..., None], str, str, float]] = [
        (assert_min_p, "min_p", "m", 0.75),
        (assert_epsilon, "epsilon", "cutoff", 0.5),
        (assert_top_a, "top_a", "a", 2.0),
        (assert_tail_free, "tail_free", "z", 0.0),
        (assert_top_h, "top_h", "alpha", 0.125),
    ]
    for check, op, name, value in helpers:
        check(half, [0], **{name: value})
        for kept in ([0, 1, 2], [1, 2]):
            assert says(check, half, kept, **{name: value}).startswith(f"{op}: ")
    assert_eta(half, [0, 1, 2], cutoff=0.125)
    assert "eta: " in says(assert_eta, half, [0], cutoff=0.125)
    clear = [0.5, 0.25, 0.125, 0.125]  # of two equals, rounding would decide
    assert_typical(clear, [1], mass=0.125)
    assert "typical: " in says(assert_typical, clear, [0], mass=0.125)
    assert_top_n_sigma([4.0, 0.0, 0.0, 0.0], [0], n=1.0)
    assert "top_n_sigma: " in says(assert_top_n_sigma, [4.0, 0.0, 0.0], [0, 1], n=1.0)
    assert_xtc(half, [0, 1, 2], threshold=0.25, probability=0.5, uniforms=[0.75])
    assert "xtc: " in says(
        assert_xtc, half, [0, 1, 2], threshold=0.25, probability=0.5, uniforms=[0.25]
    )


def test_numbers_are_compared_in_units_in_the_last_place() -> None:
    assert_softmax([0.0, 0.0], [0.5, 0.5 + 2**-23])
    assert "softmax[1]: expected 0.5" in says(assert_softmax, [0.0, 0.0], [0.5, 0.5 + 2**-20])
    apart = says(assert_softmax, [0.0, 0.0], [0.5, 0.5 + 6 * 2**-24])
    assert apart.endswith("(6 units in the last place); ulp=6 allows it")
    assert_softmax([0.0, 0.0], [0.5, 0.5 + 6 * 2**-24], ulp=6)
    doubles = says(assert_softmax, [0.0, 0.0], [0.5, 0.5 + 2**-50])
    assert doubles.endswith(", which is no number of the type f32: round it first")
    assert says(assert_step, "temperature", [0.0], [-0.0], temperature=0.5).endswith("got -0.0")
    if_logits = "; if the row contains logits, give logits=True"
    for row in ([3.0, -2.0, 1.0], [3.0, 2.0, 1.0]):
        assert says(assert_top_p, row, [1], p=0.75).endswith(if_logits)
        assert if_logits not in says(assert_top_p, row, [1], p=0.75, logits=True)
    assert if_logits not in says(assert_top_p, [0.5, 0.25, 0.25], [1], p=0.75)
    assert "expected 2 numbers, got 1" in says(assert_softmax, [0.0, 0.0], [0.5])
    assert_step("frequency_penalty", [1.0, 2.0], [0.0, 2.0], history=[0, 0], penalty=0.5)
    assert "expected 0.0, got 0.5" in says(
        assert_step, "frequency_penalty", [1.0, 2.0], [0.5, 2.0], history=[0, 0], penalty=0.5
    )
    assert_step("presence_penalty", [1.0], [0.5], history=[0, 0], penalty=0.5)
    assert "the question is invalid" in says(
        assert_step, "temperature", [1.0], [1.0], temperature=-1.0
    )


def test_a_draw_is_checked_with_the_numbers_that_were_used() -> None:
    assert_draw(ROW, 1, uniforms=[0.125])
    assert_draw(ROW, 0, uniforms=[0.125], rule="boundary.reach")
    assert "expected the token 1, got 0" in says(assert_draw, ROW, 0, uniforms=[0.125])


def test_an_engine_and_its_parameters_work_in_every_helper() -> None:
    row = [3.0, 2.0, 2.0, 1.0]
    helpers: list[tuple[Callable[..., None], str, dict[str, Any]]] = [
        (assert_top_k, "vllm", {"top_k": 2}),
        (assert_top_p, "vllm", {"top_p": 0.75}),
        (assert_min_p, "vllm", {"min_p": 0.5}),
        (assert_typical, "transformers", {"typical_p": 0.25}),
        (assert_epsilon, "transformers", {"epsilon_cutoff": 0.25}),
        (assert_eta, "transformers", {"eta_cutoff": 0.0625}),
        (assert_top_h, "transformers", {"top_h": 0.5}),
        (assert_top_n_sigma, "llama.cpp", {"top_n_sigma": 1.0}),
        (assert_top_a, "exllamav2", {"top_a": 0.5}),
        (assert_tail_free, "exllamav2", {"tfs": 0.5}),
        (assert_xtc, "mlx-lm", {"xtc_threshold": 0.25, "xtc_probability": 1.0}),
    ]
    for check, engine, params in helpers:
        more = {"uniforms": [0.0]} if check is assert_xtc else {}
        given = {"rule": engine, **params, **more}
        expected = kept_by(engine, row, params)
        check(row, expected, **given)
        assert "must be kept" in says(check, row, [], **given)
        assert "give logits" in says(check, row, expected, logits=False, **given)
        assert "has no parameter 'temperature', only" in says(
            check, row, expected, temperature=0.5, **given
        )
    assert_step("temperature", row, [6.0, 4.0, 4.0, 2.0], rule="vllm", temperature=0.5)
    assert_step("top_k", row, [3.0, 2.0, 2.0, -inf], rule="vllm", top_k=2)
    assert_softmax([4.0, 4.0, 1.0], [0.5, 0.5, 0.0], rule="vllm", temperature=0.5, top_k=1)
    assert_draw(row, 0, uniforms=[0.5], rule="llama.cpp", top_k=2)
    assert "expected the token 0" in says(
        assert_draw, row, 3, uniforms=[0.5], rule="llama.cpp", temp=0.0
    )
    assert "did you mean 'vllm'?" in says(assert_top_p, row, [0], rule="vlm", p=0.5)
    assert "vllm has no parameter 'p'" in says(assert_top_p, row, [0], rule="vllm", p=0.5)
    assert "top_p has no parameter 'k'" in says(assert_top_p, row, [0], p=0.5, k=1)


def test_helpers_accept_batches() -> None:
    rows = [[0.5, 0.25, 0.125, 0.125], [0.125, 0.125, 0.25, 0.5]]
    kept = [[0.5, 0.25, 0.0, 0.0], [0.0, 0.0, 0.25, 0.5]]
    for batch in (rows, np.array(rows)):
        for result in (kept, np.array(kept), [[0, 1], [3, 2]], np.array(kept) > 0):
            assert_top_k(batch, result, k=2)
            assert_top_p(batch, result, p=0.75)
            assert_top_k(batch, result, k=np.array([2, 2]))
    assert_top_k(rows, [[0], [2, 3]], k=np.array([1, 2]))
    assert "row 1: top_k: too much is kept: [2] as well" in says(
        assert_top_k, rows, [[0, 1], [2, 3]], k=np.array([2, 1])
    )
    assert "the result must have an entry for each of 2 rows, got 1" in says(
        assert_top_k, rows, [[0, 1]], k=2
    )
    assert "k must have an entry for each of 2 rows, got 3" in says(
        assert_top_k, rows, kept, k=np.array([1, 2, 3])
    )
    assert_step(
        "presence_penalty",
        np.zeros((2, 2)),
        [[-0.5, 0.0], [0.0, -0.5]],
        history=[[0, 0], [1]],
        penalty=0.5,
    )
    assert_softmax(np.zeros((2, 2)), np.full((2, 2), 0.5))
    assert_draw(rows, np.array([1, 3]), uniforms=np.array([[0.5], [0.75]]))
    assert "row 1: draw: expected the token 3, got 2" in says(
        assert_draw, rows, [1, 2], uniforms=[[0.5], [0.75]]
    )


def test_batches_have_floats_and_are_judged_row_by_row() -> None:
    batches = [each.values[0] for each in cases("batch", refused=False)]
    assert len(batches) > 50
    for case in batches:
        for row in case.rows:
            numbers = [number for name in ("probs", "logits") for number in row.get(name, ())]
            assert numbers or case.request["op"] in {"speculative", "speculative_steps", "residual"}
            assert all(type(number) is float for number in numbers)
            params = row.get("params", {})
            dicts = [value for value in params.values() if isinstance(value, dict)]
            assert all(type(token) is int for value in dicts for token in value)
        case.check(rows=_answers(case))
    case = next(each for each in batches if each.request["op"] == "top_k" and len(each.rows) > 1)
    assert "vocab_size" not in case.request
    keeps = [answer["keep"] for answer in case.record.out.rows]
    case.check(rows=keeps)
    case.check(
        rows=[
            [token in keep for token in range(len(row.get("logits", row.get("probs"))))]
            for keep, row in zip(keeps, case.rows, strict=True)
        ]
    )
    assert "rows: expected" in says(case.check, rows=keeps[1:])
    assert "rows[0]: the result must be ids" in says(case.check, rows=[None, *keeps[1:]])


PADDED_TOP_K = "sampling/batch/long/top-k-heavy-4000-of-4097"


def test_a_padded_batch_is_answered_with_masks_as_long_as_its_vocabulary() -> None:
    (case,) = cases("batch", ids=PADDED_TOP_K)[0].values
    size = case.request["vocab_size"]
    keeps = [answer["keep"] for answer in case.record.out.rows]
    case.check(rows=[[token in keep for token in range(size)] for keep in keeps])
    assert f"the mask must have {size} entries like the question, got {size + 1}" in says(
        case.check, rows=[[token in keep for token in range(size + 1)] for keep in keeps]
    )


def test_a_batch_that_is_asked_twice_has_an_entry_for_each_row_of_each_call() -> None:
    twice = [
        each.values[0]
        for each in cases("batch", refused=False)
        if each.values[0].request.get("calls") == 2
    ]
    assert twice
    for case in twice:
        answers = _answers(case)
        case.check(rows=answers)
        assert f"expected {len(answers)} rows" in says(case.check, rows=answers[: len(case.rows)])


def test_numbers_within_calls_and_states_are_floats() -> None:
    case = cases("mirostat_2", refused=False)[0].values[0]
    assert type(case.state["mu"]) is float
    out = case.record.out
    case.check(token=out.token, state={"mu": out.state.mu.values()[0]})
    assert "state.mu" in says(case.check, token=out.token, state={"mu": 0.125})
    sampled = [call for call in cases("sequence")[0].values[0].calls if "sample" in call]
    assert all(type(number) is float for call in sampled for number in call["sample"]["logits"])


# ---- the plugin itself, in a suite of its own


SUITE = """
    import pytest
    from tokenref.pytest import cases

    @pytest.mark.parametrize("case", cases("count", ids="bpe/count/texts/*"))
    def test_count(case):
        assert case.id
"""


@pytest.fixture(autouse=True)
def _nothing_stays_selected() -> Iterator[None]:
    yield
    SELECTED.flags, SELECTED.shard = (), (0, 1)


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess("-q", "-p", "no:cacheprovider", *options)


def test_shards_are_disjoint_and_complete(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SUITE)
    every = len(cases("count", ids="bpe/count/texts/*"))
    whole = run(pytester).parseoutcomes()["passed"]
    parts = [
        run(pytester, f"--tokenref-shard={index}/3").parseoutcomes()["passed"]
        for index in (1, 2, 3)
    ]
    assert sum(parts) == whole == every
    assert max(parts) < whole


def test_a_selection_with_fewer_records_than_shards_is_skipped_where_it_has_none(
    pytester: pytest.Pytester,
) -> None:
    (lone,) = cases("count", ids="bpe/count/texts/nbsp-word")
    pytester.makepyfile(SUITE.replace("bpe/count/texts/*", lone.id))
    runs = [run(pytester, f"--tokenref-shard={index}/3") for index in (1, 2, 3)]
    assert [ran.ret for ran in runs] == [0, 0, 0]
    assert sorted("passed" in ran.parseoutcomes() for ran in runs) == [False, False, True]


def test_a_failure_shows_the_test_and_the_question_and_nothing_of_ours(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile("""
        import pytest
        from tokenref.pytest import assert_top_p, cases

        @pytest.mark.parametrize("case", cases("top_k", ids="*/ties/both-ends-standard"))
        def test_mine(case):
            case.check(keep=[])

        def test_row():
            assert_top_p([0.5, 0.5], [0, 1], p=0.5)
    """)
    shown = run(pytester).stdout.str()
    assert "case = <sampling/top_k/ties/both-ends-standard: " in shown
    assert "[0.1875, 0.3125, 0.3125, 0.1875]" in shown
    assert "golden.py" not in shown
    assert "asserting.py" not in shown


def test_flags_narrow_every_selection_and_none_left_is_an_error(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SUITE.replace("count/texts", "count"))
    whole = run(pytester).parseoutcomes()["passed"]
    assert 1 <= run(pytester, "--tokenref-flags=MissingByte").parseoutcomes()["passed"] < whole
    result = run(pytester, "--tokenref-flags=Canary")
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*no golden record matches op count*Canary*"])


@pytest.mark.parametrize("shard", ["0/3", "4/3", "x", "1/0", "1"])
def test_a_shard_that_is_none_ends_with_one_sentence(pytester: pytest.Pytester, shard: str) -> None:
    pytester.makepyfile(SUITE)
    result = run(pytester, f"--tokenref-shard={shard}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*must be i/n with 1 <= i <= n, got '{shard}'*"])


DRIVEN = """
    import pytest
    from tokenref.pytest import cases

    @pytest.mark.parametrize("case", cases("top_k", "greedy", profile="standard"))
    def test_my_engine(case, tokenref_engine):
        tokenref_engine(case)
"""


def test_a_program_is_driven_and_judged(pytester: pytest.Pytester, tmp_path: Path) -> None:
    honest = tmp_path / "honest.py"
    honest.write_text(
        "import json, sys\n"
        "from tokenref.engines.reference_samplers import SamplerSession\n"
        "session = SamplerSession('standard')\n"
        "wrong = 'wrong' in sys.argv\n"
        "for line in sys.stdin:\n"
        "    message = json.loads(line)\n"
        "    if message['cmd'] == 'hello':\n"
        "        answer = {'proto': 1, 'impl': {'name': 'mine', 'version': '1'},\n"
        "                  'ops': {'top_k': {'profiles': ['standard']}}, 'limits': {'batch': 8}}\n"
        "    elif message['cmd'] == 'run':\n"
        "        results = []\n"
        "        for case in message['cases']:\n"
        "            given = session.answer(message['op'], case['in'])\n"
        "            if wrong:\n"
        "                results.append({'k': case['k'], 'ok': {'keep': []}})\n"
        "            elif hasattr(given, 'out'):\n"
        "                results.append({'k': case['k'], 'ok': given.out})\n"
        "            else:\n"
        "                results.append({'k': case['k'], 'err': {'code': given.code, 'msg': ''}})\n"
        "        answer = {'id': message['id'], 'results': results}\n"
        "    else:\n"
        "        break\n"
        "    print(json.dumps(answer), flush=True)\n"
    )
    pytester.makepyfile(DRIVEN)
    outcomes = run(pytester, f"--tokenref-cmd={sys.executable} {honest}").parseoutcomes()
    assert outcomes.get("failed", 0) == 0
    assert outcomes["passed"] == len(cases("top_k", profile="standard"))
    assert outcomes["skipped"] == len(cases("greedy", profile="standard"))
    wrong = run(pytester, f"--tokenref-cmd={sys.executable} {honest} wrong")
    assert wrong.parseoutcomes()["failed"] > 5
    wrong.stdout.fnmatch_lines(["*sampling/top_k/*keep: expected*Why the case exists*"])

    known = tmp_path / "known.toml"
    known.write_text(LISTED.replace("crash", "fail"), "utf-8")
    listed = (f"--tokenref-known={known}", "-rx", f"--tokenref-cmd={sys.executable} {honest}")
    now = run(pytester, *listed[:2], f"{listed[2]} wrong")
    assert now.parseoutcomes()["xfailed"] == wrong.parseoutcomes()["failed"]
    now.stdout.fnmatch_lines(["XFAIL *sampling/top_k/*known: It always did so, and for long."])
    gone = run(pytester, *listed)
    assert gone.parseoutcomes()["failed"] == outcomes["passed"]
    gone.stdout.fnmatch_lines(["*: xpass: is listed as a known difference but passes: It always*"])


LISTED = """
[[known]]
title = "does so"
engine = "mine"
cases = ["sampling/top_k/*"]
status = "crash"
reason = "It always did so, and for long."
"""


def test_listed_crashes_are_no_failures_and_restart_the_program_as_often_as_needed(
    pytester: pytest.Pytester, tmp_path: Path
) -> None:
    program, known = tmp_path / "dies", tmp_path / "known.toml"
    ops = {"top_k": {"profiles": ["standard"]}}
    hello = json.dumps({"proto": 1, "impl": {"name": "mine", "version": "1"}, "ops": ops})
    program.write_text(f"#!/bin/sh\nread line\necho '{hello}'\nread line\nexit 3\n")
    program.chmod(0o755)
    pytester.makepyfile(DRIVEN)
    options = (f"--tokenref-cmd={program}", f"--tokenref-known={known}", "-k", "top_k")
    for name, number in (("mine", len(cases("top_k", profile="standard"))), ("other", 0)):
        known.write_text(LISTED.replace("mine", name), "utf-8")
        ended = run(pytester, *options)
        assert ended.parseoutcomes().get("xfailed", 0) == number
    ended.stdout.fnmatch_lines(
        ["*known.toml: an entry must be about mine, but all are about other*"]
    )


def test_limits_of_a_program_are_those_of_check(pytester: pytest.Pytester, tmp_path: Path) -> None:
    program = tmp_path / "dies"
    hello = {"proto": 1, "impl": {"name": "mine", "version": "1"}}
    said = json.dumps({**hello, "ops": {"top_k": {"profiles": ["standard"]}}})
    pytester.makepyfile(DRIVEN)
    command = (f"--tokenref-cmd={program}", "-k", "top_k")
    for end, limit, message in (
        ("exit 3", "restarts=2", "*it ended with exit status 3*"),
        ("sleep 60", "timeout=0.1", "*it did not answer within 0.15 seconds*"),
    ):
        program.write_text(f"#!/bin/sh\nread line\necho '{said}'\nread line\n{end}\n")
        program.chmod(0o755)
        shown = run(pytester, *command, f"--tokenref-{limit}", "--tokenref-restarts=2")
        found = shown.parseoutcomes()
        assert (shown.ret, found["failed"], found["errors"]) == (1, 3, 1)
        assert found["skipped"] == len(cases("top_k", profile="standard")) - 3
        shown.stdout.fnmatch_lines([message])
        shown.stdout.fnmatch_lines(["mine: the engine was abandoned: it failed again after 2 *"])
    wrong = run(pytester, *command, "--tokenref-timeout=nan")
    wrong.stdout.fnmatch_lines(["*'--tokenref-timeout': nan is not a number of seconds.*"])


def test_a_program_that_fails_after_bye_is_an_error(
    pytester: pytest.Pytester, tmp_path: Path
) -> None:
    command = changed(tmp_path, ops=["greedy"], bye="sys.exit('SUMMARY: a leak')")
    pytester.makepyfile(DRIVEN)
    shown = run(pytester, f"--tokenref-cmd={command}", "-k", "greedy")
    assert (shown.ret, shown.parseoutcomes()["errors"]) == (1, 1)
    shown.stdout.fnmatch_lines(["honest: after bye, it ended with exit status 1*a leak'"])
    shown.stdout.fnmatch_lines(["log: SUMMARY: a leak"])


def test_a_fixture_without_a_program_says_what_is_missing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(DRIVEN)
    run(pytester).stdout.fnmatch_lines(["*--tokenref-cmd must name the program*"])
    run(pytester, "--tokenref-cmd=/no/such/program").stdout.fnmatch_lines(["*/no/such/program*"])
