"""Ten right orders of a sum are judged right, and a sum without a block is not."""

from collections.abc import Iterator
from itertools import accumulate
from math import exp, fsum, log
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, ValidationError, convert, to_builtins

from authoring.cases.sampling.rows_long import long_row
from authoring.summing import BLOCK, ORDERS, reached, softmax_units, weights_of
from tokenref.answers import Declared, Ok, PartialSums
from tokenref.catalogue import open_catalogue
from tokenref.floats import Floats, cut_floats, nearest, pack, unpack
from tokenref.judge import judge
from tokenref.judging_samplers import sum_apart
from tokenref.protocol.messages import HelloAnswer
from tokenref.questions.sampling import unpack_parameters
from tokenref.record import Case, op_of
from tokenref.subjects import SAMPLERS
from tokenref.verdicts import Exact, Row

DECLARED = {
    "one after another": PartialSums(number=1),
    "backwards": PartialSums(number=1),
    "a tree": PartialSums(size=2),  # a first step; what follows is an order of their sums
    "blocks of 32": PartialSums(size=32),
    "blocks of 256": PartialSums(size=256),
    "blocks of 1,024, then a tree": PartialSums(size=1024),
    "blocks of 4,096": PartialSums(size=4096),
    "32 lanes, then a tree": PartialSums(number=32),
    "1,024 threads, then a tree": PartialSums(number=1024),
    "blocks of 256, atomic additions": PartialSums(size=256),
}


def test_there_are_ten_orders_and_all_of_them_add_up_small_numbers_exactly() -> None:
    assert len(ORDERS) == 10
    row = [float(number % 17) for number in range(5000)]
    assert {order(row) for order in ORDERS.values()} == {sum(row)}


@pytest.mark.parametrize("size", [257, 4097, 32_000])
def test_a_softmax_by_each_order_passes_and_one_without_a_block_fails(size: int) -> None:
    case = next(
        case for case in open_catalogue().cases if case.id == f"sampling/softmax/long/{size}-f32"
    )
    row = case.input.logits.values()
    weights = weights_of(row)

    def passes(total: float, sums: PartialSums | None = None) -> bool:
        probs = [nearest(weight / total, "f32") for weight in weights]
        answer = Ok({"probs": pack(probs)})
        return judge(case, answer, SAMPLERS, Declared(sums)).status == "pass"

    for name, order in ORDERS.items():
        assert passes(order(weights)), name
        assert passes(order(weights), DECLARED[name]), name
    blocks = [range(at, min(at + BLOCK, size)) for at in range(0, size, BLOCK)]
    for block in (blocks[0], blocks[len(blocks) // 2], blocks[-1]):
        left = [weight for place, weight in enumerate(weights) if place not in block]
        for name in ("one after another", "a tree"):
            assert not passes(ORDERS[name](left)), (name, block)
        for name, sums in DECLARED.items():
            assert not passes(ORDERS[name](left), sums), (name, block)


def _case(case_id: str) -> Case:
    return next(case for case in open_catalogue().cases if case.id == case_id)


def _batch_off(case: Case, apart: float) -> Ok:
    size = 4000  # of the 4,097 numbers of each row
    logits = [convert(cut_floats(asked["logits"], size), Floats) for asked in case.input.rows]
    return Ok({"rows": [{"probs": pack(_off(row.values(), apart))} for row in logits]})


def test_declared_partial_sums_make_the_limit_of_a_long_row_wider_or_narrower() -> None:
    case = _case("sampling/softmax/long/32000-f32")
    row = case.input.logits.values()

    def status(apart: float, sums: PartialSums | None) -> str:
        answer = Ok({"probs": pack(_off(row, apart))})
        return judge(case, answer, SAMPLERS, Declared(sums)).status

    blocks, one = PartialSums(size=256), PartialSums(number=1)
    assert isinstance(case.verdict, Row)
    assert case.verdict.ulp is not UNSET
    of_the_record = case.verdict.ulp * 2.0**-24
    of_the_blocks, of_one = sum_apart(blocks, 32_000), sum_apart(one, 32_000)
    assert of_the_record < of_the_blocks < of_one / 16
    for apart, right in ((of_the_record, (None, blocks, one)), (of_the_blocks, (blocks, one))):
        assert {status(apart / 2, sums) for sums in right} == {"pass"}
    for apart, wrong in ((of_the_blocks, None), (3 * of_the_blocks, blocks), (3 * of_one, one)):
        assert status(apart, wrong) == "fail"
    batch = _case("sampling/batch/long/softmax-heavy-4000-of-4097")
    narrow = Declared(PartialSums(size=64))
    answer = _batch_off(batch, 400 * 2.0**-24)
    assert judge(batch, answer, SAMPLERS).status == "pass"
    assert judge(batch, answer, SAMPLERS, narrow).status == "fail"
    assert judge(batch, _batch_off(batch, 2.0**-18), SAMPLERS, narrow).status == "pass"


def test_declared_partial_sums_count_for_logarithms() -> None:
    case = _case("sampling/logprobs/long/32000-f32")
    row = case.input.logits.values()
    largest, weights = max(row), weights_of(row)
    for factor in (1.001, 0.999):
        of_sum = log(fsum(weights) * factor)
        got = Ok({"logprobs": pack([nearest(logit - largest - of_sum, "f32") for logit in row])})
        assert judge(case, got, SAMPLERS).status == "fail"
        assert judge(case, got, SAMPLERS, Declared(PartialSums(number=1))).status == "pass"
        assert judge(case, got, SAMPLERS, Declared(PartialSums(size=512))).status == "fail"


def _off(row: list[float], apart: float) -> list[float]:
    weights = weights_of(row)
    total = fsum(weights) * (1 + apart)
    return [nearest(weight / total, "f32") for weight in weights]


@given(
    st.lists(st.floats(2.0**-20, 1.0, width=32), min_size=1, max_size=70),
    st.integers(1, 80),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_no_sum_is_farther_from_the_exact_one_than_its_partial_sums_allow(
    weights: list[float], count: int, sizes: bool, random: Random
) -> None:
    sums = PartialSums(size=count) if sizes else PartialSums(number=count)
    length = len(weights)
    size = min(count, length) if sizes else -(-length // min(count, length))
    parts = [ORDERS["one after another"](weights[at : at + size]) for at in range(0, length, size)]
    random.shuffle(parts)
    exact = fsum(weights)
    apart = abs(ORDERS["one after another"](parts) - exact) / exact
    assert apart <= sum_apart(sums, length)


def test_partial_sums_are_declared_in_hello() -> None:
    def hello(accum: object) -> HelloAnswer:
        ability = {"profiles": ["standard"], "accum": accum}
        program = {"name": "kernel", "version": "1"}
        return convert({"proto": 1, "impl": program, "ops": {"softmax": ability}}, HelloAnswer)

    declared = hello({"size": 256}).ops["softmax"].declared()
    assert declared.arithmetic == PartialSums(size=256)
    assert hello("f64").ops["softmax"].declared().arithmetic == "f64"
    for wrong in ({}, {"size": 1, "number": 1}, {"size": 0}, {"number": 2**21}, {"sizes": 1}, 3):
        with pytest.raises(ValidationError):
            hello(wrong)


def test_weights_are_rounded_to_32_bits() -> None:
    assert weights_of([0.0, -1.0]) == [1.0, nearest(exp(-1.0), "f32")]
    assert fsum(weights_of(long_row(257).values())) < 257
    assert softmax_units(long_row(257).values(), "f32") < 64


FAR = 2.0**-10
"""No order of a sum in 32 bits is so far from another one, relative to the sum."""


def shares_asked(case: Case) -> Iterator[tuple[str, list[float], float, int]]:
    """Yield operation, weights, share and place of each exact draw or top-p of long rows."""
    op, asked, right = op_of(case), to_builtins(case.input), to_builtins(case.out)
    if case.profile != "standard" or not isinstance(case.verdict, Exact):
        return
    op = asked["op"] if op == "batch" else op
    if op not in {"draw", "top_p"}:
        return
    pairs = zip(asked.get("rows", [asked]), right.get("rows", [right]), strict=False)
    for row, answer in {str(row): (row, answer) for row, answer in pairs}.values():
        values = unpack(row["logits" if "logits" in row else "probs"])[: asked.get("vocab_size")]
        if len(values) <= BLOCK or {"count", "order"} & row.keys():
            continue
        weights = weights_of(values) if "logits" in row else values
        if op == "draw":
            yield op, weights, unpack(row["uniforms"])[0], answer["token"]
        elif unpack_parameters(row["params"])["p"] < 1:
            p = unpack_parameters(row["params"])["p"]
            yield op, sorted(weights, reverse=True), p, len(answer["keep"]) - 1


def test_no_draw_and_no_top_p_of_a_long_row_depends_on_the_order_of_a_sum() -> None:
    checked = 0
    for case in open_catalogue().cases:
        for op, weights, share, place in shares_asked(case):
            sums = [*accumulate(weights)]
            distance = min(abs(each - share * sums[-1]) for each in sums) / sums[-1]
            if distance < FAR:
                assert reached(weights, share, strictly=op == "draw") == {place}, case.id
            checked += 1
    assert checked > 100
