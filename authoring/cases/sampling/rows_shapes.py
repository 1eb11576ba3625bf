"""Temperature, dynamic temperature and smoothing by their rules."""

# A question, its answer and why it is asked stand in one line of a table.

from collections.abc import Iterator
from math import inf
from typing import Final

from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.row_draft import Row, Topic, becomes, row_request, tabled
from tokenref.floats import Type
from tokenref.rules import STANDARD
from tokenref.verdicts import Exact

PLAIN: Final = Topic("temperature", ("Temperature",), "docs/engines.md#temperature")
DYNAMIC: Final = Topic(
    "temperature", ("DynamicTemperature",), "docs/engines.md#dynamic_temperature"
)
SMOOTH: Final = Topic("temperature", ("Smoothing",), "docs/engines.md#smoothing")

ROW: Final = [4.0, -2.0, 0.0, -0.0, -inf, 1.0]

PLAINS: Final = (
    Row("two", {"temperature": 2.0}, ROW, [], [2, -1, 0.0, -0.0, -inf, 0.5],
        "Every logit is divided once; dividing twice gives a quarter, which a test with 1 never notices."),
    Row("half", {"temperature": 0.5}, ROW, [], [8, -4, 0.0, -0.0, -inf, 2],
        "A temperature below 1 makes the row steeper; multiplying would make it flatter."),
    Row("one", {"temperature": 1.0}, ROW, [], ROW, "A temperature of 1 changes no bit."),
    Row("tiny", {"temperature": 2.0**-20}, [1.0, -1.0, 0.0], [], [2.0**20, -(2.0**20), 0],
        "A tiny temperature makes logits huge, and they stay finite."),
    Row("huge", {"temperature": 2.0**40}, [1.0, -1.0, 0.0], [], [2.0**-40, -(2.0**-40), 0],
        "A huge temperature makes logits tiny, and they keep their signs."),
    Row("into-subnormal", {"temperature": 2.0**40}, [2.0**-100, -(2.0**-100)], [], [2.0**-140, -(2.0**-140)],
        "The quotients are subnormal; flushing them to zero makes the row even.", flags=("Subnormal",)),
    Row("usual", {"temperature": 0.7}, [1.3, -7.25, 19.5, 0.0], [], None,
        "A usual temperature, by division or by a product with its reciprocal."),
    Row("usual-high", {"temperature": 1.2}, [1.3, -7.25, 19.5, 0.0], [], None,
        "A usual temperature above 1, by division or by a product with its reciprocal."),
    Row("three", {"temperature": 3.0}, [1.0, 3.0, -10.0], [], None,
        "A third of 1 needs rounding, a third of 3 does not."),
    Row("zero", {"temperature": 0.0}, [1.0, 3.0, 3.0, 2.0], [], [-inf, 3, -inf, -inf],
        "Where a temperature of 0 means the best token, the first of the largest stays as it is.",
        {"zero": "first largest"}, flags=("TemperatureZero",), rival="standard"),
    Row("not-quite-zero", {"temperature": 2.0**-30}, [1.0, 3.0, 3.0, 2.0], [], [2.0**30, 3 * 2.0**30, 3 * 2.0**30, 2.0**31],
        "A temperature just above 0 is divided by: both of the largest stay.",
        {"zero": "first largest"}, flags=("TemperatureZero",)),
    Row("zero-with-impossible", {"temperature": 0.0}, [-inf, -3.0, -3.0], [], [-inf, -3, -inf],
        "The best of a row of negative logits, the first of them impossible.",
        {"zero": "first largest"}, flags=("TemperatureZero", "MinusInfinity")),
    Row("added", {"temperature": 1.0, "added": 1.0}, [4.0, -2.0], [], [2, -1],
        "Some engines add a small number to the temperature; here it is one that can be seen."),
    Row("added-to-zero", {"temperature": 0.0, "added": 0.5}, [4.0, -2.0], [], [8, -4],
        "What is added keeps a temperature of 0 from being none.", {"zero": "first largest"},
        flags=("TemperatureZero",)),
    Row("f16", {"temperature": 2.0}, [4.0, -2.0, -inf], [], [2, -1, -inf],
        "Temperature on logits of binary16.", dtype="f16", flags=("SixteenBit",)),
    Row("bf16", {"temperature": 0.5}, [4.0, -2.0, -inf], [], [8, -4, -inf],
        "Temperature on logits of bfloat16.", dtype="bf16", flags=("SixteenBit",)),
    Row("bf16-usual", {"temperature": 0.7}, [1.5, -7.25, 19.5], [], None,
        "A usual temperature on logits of bfloat16, rounded to eight bits.", dtype="bf16",
        flags=("SixteenBit",)),
    Row("f16-usual", {"temperature": 0.7}, [1.5, -7.25, 19.5], [], None,
        "A usual temperature on logits of binary16, rounded to eleven bits.", dtype="f16",
        flags=("SixteenBit",)),
    Row("f64", {"temperature": 2.0}, [0.1, -0.3], [], [0.05, -0.15],
        "Temperature on logits of 64 bits: the half of 0.1 has all its digits.", dtype="f64"),
    Row("one-token", {"temperature": 0.5}, [3.0], [], [6],
        "A vocabulary of one token is divided like any other."),
    Row("all-impossible", {"temperature": 2.0}, [-inf, -inf], [], [-inf, -inf],
        "Minus infinity divided stays minus infinity.", flags=("MinusInfinity",)),
)  # fmt: skip

DYN: Final = {"temperature": 1.0, "spread": 0.5}

DYNAMICS: Final = (
    Row("even", DYN, [1.5, 1.5, 1.5, 1.5], [], None,
        "An even row has the largest entropy, so that the temperature is the highest: 1.5."),
    Row("certain", DYN, [2000.0, 0.0, 0.0], [], None,
        "A certain row has no entropy, so that the temperature is the lowest: 0.5."),
    Row("between", DYN, [2.0, 1.0, 0.0, -1.0], [], None,
        ("An ordinary row: the temperature is between its limits, in proportion to the largest "
        "entropy.")),
    Row("exponent", {**DYN, "exponent": 2.0}, [2.0, 1.0, 0.0, -1.0], [], None,
        "The share of the largest entropy is squared before the temperature is made of it."),
    Row("spread-beyond", {"temperature": 1.0, "spread": 2.0}, [2.0, 1.0, 0.0, -1.0], [], None,
        "The spread is larger than the temperature, and the lower end is 0, not negative."),
    Row("impossible", DYN, [2.0, 1.0, -inf, -inf], [], None,
        ("Impossible tokens stay impossible; in_play decides whether they count for the largest "
        "entropy."),
        flags=("MinusInfinity",)),
    Row("in-play", {**DYN, "in_play": 4}, [2.0, 1.0, 0.0, -inf], [], None,
        "The largest entropy is that of four tokens in play, one of which is impossible.",
        flags=("MinusInfinity",)),
    Row("one-token", DYN, [3.0], [], [3],
        "One token has no entropy to compare; its logit is left alone."),
    Row("no-spread", {"temperature": 2.0, "spread": 0.0}, [4.0, 2.0], [], None,
        "Without a spread the temperature is the temperature."),
)  # fmt: skip

SMOOTHS: Final = (
    Row("quadratic", {"smoothing_factor": 0.5}, [4.0, 2.0, 0.0], [], [-0.0, -2, -8],
        "Logits fall with the square of their distance to the largest."),
    Row("shifted", {"smoothing_factor": 0.5}, [14.0, 12.0, 10.0], [], None,
        "The same distances ten higher: the largest stays, and all others fall from there."),
    Row("impossible", {"smoothing_factor": 0.5}, [4.0, -inf, 2.0], [], None,
        "An impossible token stays impossible after smoothing.", flags=("MinusInfinity",)),
    Row("usual", {"smoothing_factor": 0.3}, [7.3, 5.1, -2.6, 6.9], [], None,
        "A usual smoothing factor, with roundings of the difference, the square and the product."),
    Row("equals", {"smoothing_factor": 0.25}, [4.0, 4.0, 0.0], [], None,
        "Two largest logits stay equal after smoothing."),
)  # fmt: skip

SIXTEEN: Final[tuple[tuple[Type, str, float, list[float], list[float], str], ...]] = (
    ("f16", "f16-ties", 2.0, [2.0**-24 * k for k in (1, 3, 5, -7, -1)], [2.0**-24 * k for k in (0, 2, 2, -4, -0.0)],
     "Halves of the smallest numbers of binary16, exact in 32 bits: each tie becomes the even neighbour, and none is flushed."),
    ("bf16", "bf16-thirds", 3.0, [1.0, 2.0, 5.0, -4.0], [171 / 512, 171 / 256, 213 / 128, -171 / 128],
     "Thirds in bfloat16 are far from ties: 32 bits cut off instead of rounded give smaller numbers."),
    ("f16", "f16-beyond", 0.5, [65504.0, 32768.0, 32752.0, -65504.0], [inf, inf, 65504.0, -inf],
     "Twice the largest number of binary16 is infinite. A conversion that saturates gives 65,504."),
    ("f16", "f16-by-0.7", 0.7, [15.125, 19.5, -13.625, 17.75], [21.609375, 27.859375, -19.46875, 25.359375],
     "The quotient is rounded once. A temperature of 16 bits gives other numbers."),
)  # fmt: skip
"""Rows of 16 bits whose answers no rounding in 32 bits can change."""

TABLES: Final = (
    ("temperature", PLAIN, PLAINS),
    ("dynamic_temperature", DYNAMIC, DYNAMICS),
    ("smoothing", SMOOTH, SMOOTHS),
)


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for op, topic, rows in TABLES:
        yield from tabled(op, topic, rows)
    for dtype, slug, divisor, row, answer, why in SIXTEEN:
        yield PLAIN.case(
            "temperature", slug, STANDARD, row_request(row, dtype=dtype, temperature=divisor), why,
            becomes(*answer, dtype=dtype), flags=("SixteenBit",), verdict=Exact(),
        )  # fmt: skip
