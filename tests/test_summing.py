"""Ten right orders of a sum are judged right, and a sum without a block is not."""

from math import exp, fsum

import pytest

from authoring.cases.sampling.rows_long import long_row
from authoring.summing import BLOCK, ORDERS, softmax_units, weights_of
from tokenref.answers import Ok
from tokenref.catalogue import open_catalogue
from tokenref.floats import nearest, pack
from tokenref.judge import judge
from tokenref.subjects import SAMPLERS


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

    def passes(total: float) -> bool:
        probs = [nearest(weight / total, "f32") for weight in weights]
        return judge(case, Ok({"probs": pack(probs)}), SAMPLERS).status == "pass"

    for name, order in ORDERS.items():
        assert passes(order(weights)), name
    blocks = [range(at, min(at + BLOCK, size)) for at in range(0, size, BLOCK)]
    for block in (blocks[0], blocks[len(blocks) // 2], blocks[-1]):
        left = [weight for place, weight in enumerate(weights) if place not in block]
        for name in ("one after another", "a tree"):
            assert not passes(ORDERS[name](left)), (name, block)


def test_weights_are_rounded_to_32_bits() -> None:
    assert weights_of([0.0, -1.0]) == [1.0, nearest(exp(-1.0), "f32")]
    assert fsum(weights_of(long_row(257).values())) < 257
    assert softmax_units(long_row(257).values(), "f32") < 64
