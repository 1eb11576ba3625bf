"""Each verdict lets the right answers pass, and no wrong one."""

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from math import inf, nan
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from tokenref.answers import UNDECLARED, Declared, Ok
from tokenref.cli import main
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import floats, pack
from tokenref.judge import judge
from tokenref.questions.sampling import pack_parameters
from tokenref.record import OPERATIONS, Case, RecordError, answer_type, make_case
from tokenref.reports.terminal import split_detail
from tokenref.subjects import SAMPLERS
from tokenref.verdicts import (
    Alternative,
    Close,
    Either,
    Exact,
    Judgement,
    MustRefuse,
    Row,
    Rows,
    Set,
    Stat,
    Survey,
    Verdict,
)

REASON = "An example for the tests of the judge."


def case_of(op: str, request: Mapping[str, Any], out: Any, verdict: Verdict) -> Case:
    return make_case(
        op,
        id=f"sampling/{op}/tests/one",
        profile="standard",
        why=REASON,
        flags=[],
        spec="docs/sampling.md",
        verdict=verdict,
        input=msgspec.convert(dict(request), OPERATIONS[op].question),
        out=None if out is None else msgspec.convert(out, answer_type(op)),
    )


def top_p(verdict: Verdict, keep: Sequence[int], weights: Sequence[float]) -> Case:
    request = {"probs": pack(weights), "params": pack_parameters({"p": 0.75})}
    return case_of("top_p", request, {"keep": list(keep)}, verdict)


def softmax(out: Sequence[float], verdict: Verdict) -> Case:
    request = {"logits": pack([0.0] * len(out))}
    return case_of("softmax", request, {"probs": pack(out)}, verdict)


def judged(case: Case, out: Any, declared: Declared = UNDECLARED) -> Judgement:
    return judge(case, Ok(out), SAMPLERS, declared)


def passes(case: Case, out: Any, declared: Declared = UNDECLARED) -> bool:
    return judged(case, out, declared).status == "pass"


def test_an_exact_set_of_tokens_is_compared_token_by_token() -> None:
    case = top_p(Exact(), [0, 2], [0.5, 0.125, 0.25, 0.125])
    assert passes(case, {"keep": [0, 2]})
    assert passes(case, {"keep": (0, 2)})
    for keep in ([0], [0, 1, 2], [2, 0], [0, 0, 2], [], [0, 1], ["0", "2"], None, [False, 2], 2):
        assert judged(case, {"keep": keep}).status == "fail", keep
    assert judged(case, {}).status == "fail"
    assert judged(case, {"keep": [0, 2], "more": 1}).status == "fail"
    detail = judged(case, {"keep": [0, 3]}).detail
    assert detail == "keep: expected [0, 2], got [0, 3]: without [2] and with [3] as well"


@pytest.mark.parametrize(
    ("got", "says"),
    [
        ([2, 3, 0], "0 instead of 3 at place 2"),
        ([3, 2, 3], "3 instead of 2 at place 0"),
        ([2, 3], "2 tokens instead of 3"),
    ],
)
def test_drawn_tokens_are_a_sequence(got: list[int], says: str) -> None:
    request = {"probs": pack([0.25] * 4), "uniforms": pack([0.5, 0.75, 0.75]), "count": 3}
    case = case_of("draw", request, {"tokens": [2, 3, 3]}, Exact())
    detail = judged(case, {"tokens": got}).detail
    assert detail == f"tokens: expected [2, 3, 3], got {got}: {says}"


def test_a_set_knows_what_must_be_kept_what_may_be_and_how_many() -> None:
    verdict = Set(must=[0], may=[0, 1, 2, 3], sizes=[3], reason=REASON)
    case = top_p(verdict, [0, 1, 2], [0.5, 0.125, 0.125, 0.125, 0.125])
    assert all(passes(case, {"keep": keep}) for keep in ([0, 1, 2], [0, 3, 2], [1, 3, 0]))
    for keep, sentence in [
        ([1, 2, 3], "expected [0] to be kept"),
        ([0, 1, 4], "expected [4] to be removed"),
        ([0, 1], "expected 3 tokens, got 2"),
        ([0, 1, 2, 3], "expected 3 tokens, got 4"),
        ([0, 1, 1], "each token once"),
        ("012", "keep: expected a list, got a string"),
    ]:
        judgement = judged(case, {"keep": keep})
        assert judgement.status == "fail"
        assert sentence in judgement.detail


def test_no_removed_token_of_a_set_may_be_heavier_than_a_kept_one() -> None:
    verdict = Set(must=[], may=[0, 1, 2], sizes=[1, 2], reason=REASON)
    case = top_p(verdict, [1, 2], [0.125, 0.5, 0.375])
    assert passes(case, {"keep": [1]})
    assert passes(case, {"keep": [1, 2]})
    judgement = judged(case, {"keep": [2]})
    assert "no removed token to be heavier" in judgement.detail


def either() -> Case:
    alternatives = [
        Alternative(label="f64", reason=REASON, out={"keep": [0]}),
        Alternative(label="f32.seq.desc", reason=REASON, out={"keep": [0, 1]}),
    ]
    return top_p(Either(alternatives=alternatives), [0], [0.5, 0.5])


def test_one_of_the_alternatives_will_do_and_is_named() -> None:
    assert judged(either(), {"keep": [0]}).remark == "f64"
    assert judged(either(), {"keep": [0, 1]}).remark == "f32.seq.desc"
    assert judged(either(), {"keep": [1]}).status == "fail"


def test_an_engine_that_says_what_its_arithmetic_is_gets_no_other_alternative() -> None:
    declared = Declared(arithmetic="f32.seq.desc")
    assert passes(either(), {"keep": [0, 1]}, declared)
    assert not passes(either(), {"keep": [0]}, declared)
    assert passes(either(), {"keep": [0]}, Declared(arithmetic="f16.own"))
    assert passes(either(), {"keep": [0]}, Declared(tie="f64"))
    detail = judged(either(), {"keep": [0, 2]}, Declared(arithmetic="f64")).detail
    assert split_detail(detail) == [
        ("at", "for f64, keep"),
        ("expected", "[0]"),
        ("got", "[0, 2]: with [2] as well"),
    ]


def test_close_numbers_pass_within_their_units_and_no_farther() -> None:
    case = softmax([0.5, 0.5], Close(ulp=2))
    step = 2.0**-24
    assert judged(case, {"probs": pack([0.5 + 2 * step, 0.5 - step])}).ulp == 2
    assert passes(case, {"probs": pack([0.5, 0.5])})
    judgement = judged(case, {"probs": pack([0.5, 0.5 + 3 * step])})
    assert judgement.status == "fail"
    assert "probs[1]" in judgement.detail
    assert "3 units in the last place" in judgement.detail
    assert not passes(softmax([0.5], Exact()), {"probs": pack([0.5 + step])})


def test_the_class_of_a_number_must_be_right_however_close() -> None:
    case = softmax([0.0, inf, nan], Close(ulp=1000, floor=floats([1.0])))
    assert passes(case, {"probs": pack([0.0, inf, nan])})
    for wrong in ([-0.0, inf, nan], [0.0, 1.0, nan], [0.0, inf, 1.0], [0.0, -inf, nan]):
        assert not passes(case, {"probs": pack(wrong)}), wrong


def test_below_the_floor_the_number_of_units_does_not_matter() -> None:
    case = softmax([2.0**-140, 0.5], Close(ulp=1, floor=floats([2.0**-126])))
    assert passes(case, {"probs": pack([2.0**-130, 0.5])})
    assert not passes(case, {"probs": pack([2.0**-120, 0.5])})
    assert not passes(case, {"probs": pack([-(2.0**-110), 0.5])})


@pytest.mark.parametrize(
    ("probs", "sentence"),
    [
        (pack([0.5], "f64"), "expected {'f32': digits}"),
        ([0.5], "probs: expected an object, got a list"),
        ({"f32": "3f00000"}, "probs: f32 must have 8 digits for each number"),
        ({"f32": "3F000000"}, "lower-case"),
        ({"f32": "3f0000003f000000"}, "expected 1 numbers, got 2"),
        (None, "probs: expected an object, got null"),
        ({"f32": 1}, "probs.f32: expected a string, got an integer"),
    ],
)
def test_numbers_in_another_form_are_a_failure_that_is_explained(
    probs: object, sentence: str
) -> None:
    judgement = judged(softmax([0.5], Close(ulp=3)), {"probs": probs})
    assert judgement.status == "fail"
    assert sentence in judgement.detail


def test_the_stages_of_a_chain_are_judged_where_an_engine_tells_them() -> None:
    stages = [{"step": "top_k", "keep": [0, 1]}, {"step": "top_p", "keep": [0]}]
    request = {"logits": pack([1.0, 0.0]), "history": [], "prompt_length": 0, "params": {}}
    case = case_of("chain", request, {"keep": [0], "stages": stages}, Exact())
    assert passes(case, {"keep": [0]})
    assert passes(case, {"keep": [0], "stages": stages})
    for wrong, sentence in [
        (stages[:1], "expected ['top_k', 'top_p']"),
        (stages[::-1], "expected top_k next"),
        ([{"step": "top_k", "keep": [0]}, stages[1]], "stage top_k, keep: expected [0, 1]"),
        ("top_k", "stages: expected a list, got a string"),
    ]:
        judgement = judged(case, {"keep": [0], "stages": wrong})
        assert judgement.status == "fail"
        assert sentence in judgement.detail


def test_each_row_of_a_batch_is_compared() -> None:
    row = {"probs": pack([0.5, 0.5]), "params": pack_parameters({"k": 1})}
    case = case_of(
        "batch", {"op": "top_k", "rows": [row, row]}, {"rows": [{"keep": [0]}] * 2}, Exact()
    )
    assert passes(case, {"rows": [{"keep": [0]}, {"keep": [0]}]})
    judgement = judged(case, {"rows": [{"keep": [0]}, {"keep": [1]}]})
    assert judgement.detail.startswith("rows[1].keep: ")
    assert not passes(case, {"rows": [{"keep": [0]}]})
    assert not passes(case, {"rows": [{"keep": [0]}, None]})


def test_an_answer_of_another_form_is_told_the_right_one() -> None:
    case = softmax([0.5, 0.5], Exact())
    said = judged(case, {"token": 1}).detail
    assert said.endswith('unknown field `token`; the form is {"probs":{"f32":"..."}}')
    batch = {"op": "greedy", "rows": [{"logits": pack([0.0, 1.0])}]}
    case = case_of("batch", batch, {"rows": [{"token": 1}]}, Exact())
    said = judged(case, {"rows": [{"tokens": [1]}]}).detail
    assert said.endswith('; the form is {"rows":[{"token":N}]}')


def test_a_survey_expects_nothing() -> None:
    case = top_p(Survey(), [], [0.5])
    assert passes(msgspec.structs.replace(case, out=None), {"keep": [7]})


def stat() -> Case:
    verdict = Stat(
        bins=[[0], [1, 2]],
        shares=floats([0.5, 0.5]),
        never=[3],
        must=[0, 1],
        limit=floats([24.0]),
        least=floats([2.0**-40]),
        alpha="1e-6",
        power=REASON,
    )
    request = {"probs": pack([0.5, 0.25, 0.25, 0.0]), "params": {}, "draws": 1000}
    return case_of("stat", request, None, verdict)


def test_counts_that_fit_the_law_pass() -> None:
    assert passes(stat(), {"counts": [[0, 520], [1, 230], [2, 250]]})
    assert "too good" in judged(stat(), {"counts": [[0, 500], [1, 250], [2, 250]]}).remark


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        ([[0, 700], [1, 150], [2, 150]], "G of at most 24"),
        ([[0, 520], [1, 239], [2, 240], [3, 1]], "never to be drawn"),
        ([[0, 500], [2, 500]], "[1] to be drawn"),
        ([[0, 500], [1, 250], [2, 249]], "expected 1000 draws"),
        ([[0, 500], [1, 250], [4, 250]], "each token of the row once"),
        ([[0, 500], [1, 250], [1, 250]], "each token of the row once"),
        ([[0, 1250], [1, -250]], "counts[1][1]: expected an integer >= 0"),
        ([[0, 1000.0]], "counts[0][1]: expected an integer, got a number with a point"),
        ([[-1, 1000]], "counts[0][0]: expected an integer >= 0"),
        ({"0": 1000}, "counts: expected a list, got an object"),
        (None, "counts: expected a list, got null"),
    ],
)
def test_counts_that_do_not_fit_are_refused(counts: object, sentence: str) -> None:
    judgement = judged(stat(), {"counts": counts})
    assert judgement.status == "fail"
    assert sentence in judgement.detail


# ---- how a difference is shown


def test_rows_that_lack_different_tokens_are_shown_as_ids() -> None:
    request = {"logits": pack([1.0, 2.0, 3.0]), "history": [], "prompt_length": 0}
    request["params"] = pack_parameters({"tokens": [0, 2]})
    case = case_of("allowed_tokens", request, {"logits": pack([1.0, -inf, 3.0])}, Exact())
    detail = judged(case, {"logits": pack([1.0, 2.0, 3.0])}).detail
    assert detail == ("logits, tokens above -inf: expected [0, 2], got [0, 1, 2]: with [1] as well")
    assert (
        "logits[0]: expected 1.0, got 2.0"
        in judged(case, {"logits": pack([2.0, -inf, 3.0])}).detail
    )


def test_an_answer_that_should_be_a_refusal_is_shown_with_numbers_not_bits() -> None:
    case = case_of("softmax", {"logits": pack([-inf])}, None, MustRefuse(codes=["INVALID_ROW"]))
    detail = judged(case, {"probs": pack([0.5])}).detail
    assert detail == "expected INVALID_ROW, got an answer: probs {'f32': [0.5]}"


# ---- long rows


def halved(verdict: Row) -> Case:
    request = {"logits": pack([1.0, 2.0, 1.0, 4.0]), "history": [], "prompt_length": 0}
    return case_of("temperature", {**request, "params": {"temperature": 2}}, None, verdict)


def hexed(value: float) -> str:
    return pack([value])["f32"]


def test_a_row_is_told_by_values_and_by_places() -> None:
    values = [(hexed(1.0), hexed(0.5)), (hexed(2.0), hexed(1.0)), (hexed(4.0), hexed(2.0))]
    for verdict in (
        Row(part="logits", changed=[], values=values),
        Row(
            part="logits", changed=[(3, hexed(2.0))], values=[*values[:2], (hexed(4.0), hexed(9.0))]
        ),
        Row(
            part="logits",
            changed=[(0, hexed(0.5)), (1, hexed(1.0)), (2, hexed(0.5)), (3, hexed(2.0))],
        ),
    ):
        case = halved(verdict)
        assert passes(case, {"logits": pack([0.5, 1.0, 0.5, 2.0])})
        for wrong in ([0.5, 1.0, 0.5, 4.0], [0.5, 1.0, 0.5], [0.5, 1.0, 0.5, 2.0 + 2.0**-22]):
            assert not passes(case, {"logits": pack(wrong)})
    unchanged = halved(Row(part="logits", changed=[]))
    assert passes(unchanged, {"logits": pack([1.0, 2.0, 1.0, 4.0])})
    assert judged(unchanged, {"logits": pack([1.0, 2.0, 1.5, 4.0])}).detail == (
        "logits[2]: expected 1.0, got 1.5 (4194304 units in the last place)"
    )


def test_a_row_may_be_off_by_units() -> None:
    case = halved(Row(part="logits", changed=[], ulp=2))
    assert passes(case, {"logits": pack([1.0, 2.0, 1.0 + 2.0**-22, 4.0])})
    assert not passes(case, {"logits": pack([1.0, 2.0, 1.0 + 2.0**-21, 4.0])})


def test_a_verdict_that_does_not_fit_its_question_is_an_error_of_the_record() -> None:
    answer = {"logits": pack([1.0, 2.0, 1.0, 4.0])}
    with pytest.raises(RecordError, match="changes number 4 of a row of 4"):
        judged(halved(Row(part="logits", changed=[(4, hexed(1.0))])), answer)
    with pytest.raises(RecordError, match="a number for each of the question"):
        judged(halved(Row(part="logits", changed=[], values=[(hexed(1.0), hexed(1.0))])), answer)


def test_rows_of_a_batch_are_told_one_by_one_and_every_call_has_the_bits_of_the_first() -> None:
    rows = [{"logits": pack([0.0, 0.0, 9.0])}, {"logits": pack([1.0, 1.0, 9.0])}]
    verdict = Row(part="probs", changed=[(0, hexed(0.5)), (1, hexed(0.5))], ulp=2)
    batch = {"op": "softmax", "rows": rows, "vocab_size": 2, "calls": 2}
    case = case_of("batch", batch, None, Rows(rows=[verdict, verdict]))
    right, near = {"probs": pack([0.5, 0.5])}, {"probs": pack([0.5, 0.5 + 2.0**-24])}
    assert passes(case, {"rows": [right] * 4})
    assert passes(case, {"rows": [right, near, right, near]})
    assert (
        "row 1: call 2 must have the bits of the first"
        in judged(case, {"rows": [right, near, right, right]}).detail
    )
    assert "row 1: " in judged(case, {"rows": [right, {"probs": pack([0.5, 0.75])}] * 2}).detail
    for wrong in ([right] * 2, [right, right, right, 5], 5, [right, right, right, {}]):
        assert not passes(case, {"rows": wrong})


@pytest.mark.parametrize(
    ("about", "says"),
    [
        ({"vocab_size": 4}, "row 0: vocab_size must be at most the length of the row, got 4"),
        ({"vocab_size": 1}, ""),
        ({"layout": {"stride": 3, "order": [0, 1]}}, ""),
    ],
)
def test_a_batch_whose_sizes_do_not_match_names_the_row(about: dict[str, Any], says: str) -> None:
    rows = [{"logits": pack([0.0, 1.0, 9.0])}, {"logits": pack([1.0, 0.0, 9.0])}]
    answer = SamplerSession("standard").answer("batch", {"op": "greedy", "rows": rows, **about})
    assert getattr(answer, "message", "") == says


@pytest.mark.parametrize("order", [[0], [0, 0], [0, 2], [0, 1, 2]])
def test_a_layout_has_one_place_for_each_row(order: list[int]) -> None:
    rows = [{"logits": pack([0.0])}] * 2
    batch = {"op": "greedy", "rows": rows, "layout": {"stride": 1, "order": order}}
    with pytest.raises(msgspec.ValidationError, match="`order` must have each number below"):
        msgspec.convert(batch, OPERATIONS["batch"].question)


FUSED = """
import json, sys
from tokenref.engines.reference_samplers import SamplerSession

for line in sys.stdin:
    message = json.loads(line)
    if message["cmd"] == "hello":
        reply = {"proto": 1, "impl": {"name": "fused", "version": "1"},
                 "ops": {"steps": {"profiles": ["standard"]}, "batch": {"profiles": ["standard"]}}}
    elif message["cmd"] == "run":
        results = []
        for case in message["cases"]:
            asked = case["in"]
            if asked.get("op", "steps") != "steps" or "draw" not in json.dumps(asked):
                results.append({"k": case["k"], "skip": {"reason": "draws after steps"}})
                continue
            out = SamplerSession("standard").answer(message["op"], asked).out
            if message["op"] == "batch":
                out = {"rows": [{"token": row["token"] + WRONG} for row in out["rows"]]}
            else:
                out = {"token": out["token"] + WRONG}
            results.append({"k": case["k"], "ok": out})
        reply = {"id": message["id"], "results": results}
    else:
        break
    print(json.dumps(reply), flush=True)
"""


@pytest.mark.parametrize("wrong", [0, 1])
def test_a_fused_kernel_may_return_the_token_alone(wrong: int, tmp_path: Path) -> None:
    program = tmp_path / "fused.py"
    program.write_text(FUSED.replace("WRONG", str(wrong)))
    command = f"{shlex.quote(sys.executable)} {shlex.quote(str(program))}"
    chosen = ["--id", "sampling/steps/fused/*", "--id", "sampling/batch/*/steps-*"]
    results = tmp_path / "results.jsonl"
    asked = ["check", "--cmd", command, "--json", str(results), *chosen]
    assert CliRunner().invoke(main, asked).exit_code == wrong
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    statuses: dict[str, set[str]] = {}
    for line in lines:
        if "op" in line:
            statuses.setdefault(line["op"], set()).add(line["status"])
    right = "fail" if wrong else "pass"
    assert statuses == {"steps": {right, "skip"}, "batch": {right, "skip"}}
