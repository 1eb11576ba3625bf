"""The variants `script`, `fork_march` and `fork_july` are what was published.

On a development machine the programs themselves were run beside the variants, on 40,000
random histories each (6,715,795 logits): the largest difference was 7.2e-7 of the size of
the number, or of one, which is what 32-bit floats leave.
"""

from math import isclose

import pytest

from sampling_ref.lz.variants import Variant
from sampling_ref.lz.variants.script import shortest_match
from sampling_ref.steps.lz import lz_penalty
from tests.sampling.lz_published_numbers import CASES, Case

VARIANTS_PUBLISHED: tuple[Variant, ...] = ("script", "fork_march", "fork_july")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[2]}-{case[3]}")
def test_the_published_programs_compute_the_same(case: Case) -> None:
    digits, size, window, buffer, *published = case
    history = [int(digit) for digit in digits]
    for variant, row in zip(VARIANTS_PUBLISHED, published, strict=True):
        changed = lz_penalty(
            [0.0] * size, history, strength=1, window=window, buffer=buffer, variant=variant
        )
        for ours, theirs in zip(changed, map(float, row.split()), strict=True):
            assert isclose(ours, theirs, rel_tol=2e-6, abs_tol=2e-6), variant


@pytest.mark.parametrize(
    ("size", "window", "shortest"),
    [
        (128_256, 512, 1),
        (512, 512, 1),  # as many tokens as places: still one
        (511, 512, 2),
        (256, 512, 2),
        (50, 512, 2),
        (4, 8, 2),  # 8 * 2 = 4 ** 2
        (4, 9, 3),
        (4, 512, 6),
        (2, 512, 13),
        (1, 1, 1),
        (1, 2, 3),  # none is long enough: the script's way out
    ],
)
def test_the_shortest_match_of_the_script(size: int, window: int, shortest: int) -> None:
    assert shortest_match(size, window) == shortest


def test_the_script_finds_nothing_where_fewer_tokens_than_a_match_are_left() -> None:
    # Three tokens, a window of four: 4 * 2 <= 3 ** 2, so two tokens must lie in the window.
    sizes = {"window": 4, "buffer": 2}
    in_the_window = lz_penalty([0.0] * 3, [0, 0, 1, 2, 0, 1], strength=1, variant="script", **sizes)
    assert in_the_window[2] > in_the_window[0] == in_the_window[1]
    at_its_border = lz_penalty([0.0] * 3, [2, 2, 2, 0, 1, 2], strength=1, variant="script", **sizes)
    assert len(set(at_its_border)) == 1
