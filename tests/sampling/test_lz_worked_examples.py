"""Small examples, each variant, to four decimals, checked by hand or with the published code.

A row is what the variant adds (`paper`, `corrected`, `codelength`) or subtracts (the
script and the fork), as their sources write it.
"""

from fractions import Fraction

import pytest

from sampling_ref.lz.changes import Change
from sampling_ref.lz.variants import VARIANTS, Variant, lz_changes
from sampling_ref.steps.lz import lz_penalty

SUBTRACTED = {"script", "fork_march", "fork_july"}

LOOP = [1, 2, 3] * 33 + [1]
TIE = [1, 2, 3, 7, 1, 2, 4, 8, 1, 2]
PARTIAL = [9, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3]


def shown(history: list[int], size: int, window: int, buffer: int, variant: Variant) -> list[float]:
    changes = lz_changes(history, size, window=window, buffer=buffer, variant=variant)
    sign = -1 if variant in SUBTRACTED else 1
    return [round(sign * value, 4) + 0.0 for value in changes.row(size)]


EVERY_VARIANT: list[tuple[list[int], int, int, int, dict[Variant, list[float]]]] = [
    # E1: the buffer 1 2 3 was followed by 4.
    ([1, 2, 3, 4, 5, 1, 2, 3], 8, 8, 3, {
        "corrected": [3, 2.3219, 2, 1.585, -1.1699, 0, 3, 3],
        "paper": [3, 2.3219, 2, 1.585, -1.1699, 0, 3, 3],
        "codelength": [3, 2.3219, 2, 1.585, -1.1699, 0, 3, 3],
        "script": [2.0794, 2.0794, 2.0794, 2.0794, -1.2231, 2.0794, 2.0794, 2.0794],
        "fork_march": [0, 1, 1.415, 2, 1.8538, 0.6781, 0, 0],
        "fork_july": [0, 1.415, 2, 3, 0.6781, 1, 0, 0],
    }),
    # E2: only the last three tokens of the buffer 8 1 2 3 were there before.
    (PARTIAL, 10, 8, 4, {
        "corrected": [3.3219, 2.8074, 2.585, 2.3219, -0.9069, 1.585, 1, 0, 3.3219, 3],
        "paper": [3.3219, 2.8074, 2.585, 2.3219, -1.3219, 1.585, 1, 0, 3.3219, 3],
        "codelength": [3.3219, 2.8074, 2.585, 2.3219, -0.9069, 1.585, 1, 0, 3.3219, 3],
        "script": [2.3026] * 10,
    }),
    # E4: the buffer 5 1 2, oldest first, begins with a 5 that was there before.
    ([5, 6, 7, 8, 5, 1, 2], 16, 4, 3, {
        "corrected": [4] * 5 + [2, 1.585, 1, 0] + [4] * 7,
        "paper": [4] * 5 + [2, 1.585, 1, 0] + [4] * 7,
        "codelength": [4] * 5 + [2, 1.585, 1, 0] + [4] * 7,
        "script": [2.7726, 1.3863, 1.3863, 2.7726, 2.7726] + [1.3863] * 4 + [2.7726] * 7,
        "fork_march": [0, 0, 3.0] + [0] * 13,
        "fork_july": [0, 0, 4.0] + [0] * 13,
    }),
    # E5: two longest matches, followed by 3 (far) and by 4 (near).
    (TIE, 16, 8, 2, {
        "corrected": [4, 2, 1.585, -0.6374, -1, 4, 4, 2.3219, 0] + [4] * 7,
        "paper": [4, 2, 1.585, -1.8074, -1.585, 4, 4, 2.3219, 0] + [4] * 7,
        "codelength": [4, 2, 1.585, 0.585, -1, 4, 4, 2.3219, 0] + [4] * 7,
        "script": [2.7726] * 3 + [-1.5754] * 2 + [2.7726] * 11,
        "fork_march": [0, 2.415, 3, 0, 2.6977, 0, 0, 0, 2] + [0] * 7,
        "fork_july": [0, 3, 4, 0, 2, 0, 0, 0, 2.415] + [0] * 7,
    }),
    # E9: what was just written is in the buffer only, so it counts as new.
    ([4, 5, 6, 7, 1, 2, 3], 8, 4, 3, {
        "corrected": [3, 3, 3, 3, 2, 1.585, 1, 0],
        "paper": [3, 3, 3, 3, 2, 1.585, 1, 0],
        "codelength": [3, 3, 3, 3, 2, 1.585, 1, 0],
        "script": [2.0794] * 8,
        "fork_march": [0, 0, 0, 2, 0, 0, 0, 0],
        "fork_july": [0, 0, 0, 3, 0, 0, 0, 0],
    }),
]  # fmt: skip


@pytest.mark.parametrize(
    ("history", "size", "window", "buffer", "variant", "row"),
    [
        (history, size, window, buffer, variant, row)
        for history, size, window, buffer, rows in EVERY_VARIANT
        for variant, row in rows.items()
    ],
)
def test_worked_example(
    history: list[int], size: int, window: int, buffer: int, variant: Variant, row: list[float]
) -> None:
    assert shown(history, size, window, buffer, variant) == row


@pytest.mark.parametrize(
    ("history", "size", "buffer", "variant", "expected"),
    [  # The look-back of the fork holds the whole output here.
        (PARTIAL, 16, 4, "fork_march", {3: 3.0, 4: 2.7075}),
        (PARTIAL, 16, 4, "fork_july", {3: 4.0, 4: 1.0}),
        (TIE, 16, 2, "fork_march", {3: 2.415, 4: 2.6977}),
        (TIE, 16, 2, "fork_july", {3: 1.0, 4: 2.0}),
    ],
)
def test_worked_example_of_the_fork_with_its_own_look_back(
    history: list[int], size: int, buffer: int, variant: Variant, expected: dict[int, float]
) -> None:
    row = shown(history, size, 512, buffer, variant)
    assert {token: row[token] for token in expected} == expected


# E3: a loop of three tokens, a hundred tokens long; 2 comes next. 7 is new.
LOOPING: dict[Variant, dict[int, float]] = {
    "corrected": {1: 1.0, 2: -1.9556, 3: 1.585, 7: 5.6439},
    "paper": {1: 1.0, 2: -0.4608, 3: 1.585, 7: 5.6439},
    "codelength": {1: 1.0, 2: -1.9556, 3: 1.585, 7: 5.6439},
    "script": {1: 3.912, 2: -1.0167, 3: 3.912, 7: 3.912},
    "fork_march": {1: 4.6439, 2: 5.4304, 3: 4.0589, 7: 0.0},
    "fork_july": {1: 5.6439, 2: 4.0589, 3: 4.6439, 7: 0.0},
}


@pytest.mark.parametrize("variant", sorted(VARIANTS))
def test_worked_example_of_a_loop(variant: Variant) -> None:
    row = shown(LOOP, 50, 512, 32, variant)
    assert {token: row[token] for token in (1, 2, 3, 7)} == LOOPING[variant]


def test_the_script_pushes_a_loop_on_and_all_else_back() -> None:
    changed = lz_penalty([0.0] * 50, LOOP, variant="script")
    assert [round(changed[token], 4) for token in (1, 2, 3, 7)] == [-0.5868, 0.1525] + [-0.5868] * 2
    assert round(changed[2] - changed[7], 3) == 0.739
    short = lz_penalty([0.0] * 8, [1, 2, 3, 4, 5, 1, 2, 3], window=8, buffer=3, variant="script")
    assert [round(change, 4) for change in short] == [-0.3119] * 4 + [0.1835] + [-0.3119] * 3


@pytest.mark.parametrize(
    ("period", "exact", "cases"),
    [
        (1, -0.956, -1.956),
        (2, 0.044, -1.541),
        (3, -1.956, -1.956),
        (4, 1.044, -1.278),
        (8, 2.044, -1.126),
        (16, 3.044, -1.043),
        (32, 4.044, -1.0),
    ],
)
def test_corrected_sees_loops_whose_period_divides_the_buffer(
    period: int, exact: float, cases: float
) -> None:
    history = [place % period for place in range(1000)]
    following = 1000 % period
    by_cases = lz_changes(history, 99, variant="corrected")
    by_length = lz_changes(history, 99, variant="codelength")
    assert round(float(by_cases.of(following)), 3) == cases
    assert round(float(by_length.of(following)), 3) == exact


def test_changes_of_whole_bits_are_exact() -> None:
    assert lz_changes(TIE, 16, window=8, buffer=2).of(4) == Change(Fraction(1, 2))
    assert Change(Fraction(1, 2)).rational() == -1
