"""Run the findings about mlx-lm."""

from collections.abc import Callable

import mlx.core as mx
from mlx_lm import sample_utils


def outcome(action: Callable[[], object]) -> str:
    """Return the result, or the exception."""
    try:
        return str(action())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def min_p_zero() -> tuple[str, str]:
    row = mx.array([[-1.0, -2.0]])
    return "[[-1.0, -2.0]]", outcome(lambda: sample_utils.apply_min_p(row, 0.0).tolist())


def context_of_zero() -> tuple[str, str]:
    processor = sample_utils.make_presence_penalty(1.0, 0)
    found = processor(mx.array([0, 1]), mx.array([[2.0, 2.0, 2.0]]))
    return "[[2.0, 2.0, 2.0]]", str(found.tolist())


def whole_vocabulary() -> tuple[str, str]:
    row = mx.array([[-1.0, -2.0]])
    return "[[-1.0, -2.0]]", outcome(lambda: sample_utils.apply_top_k(row, 2).tolist())


def penalty_nan() -> tuple[str, str]:
    found = outcome(lambda: sample_utils.make_repetition_penalty(float("nan")))
    return "ValueError", "accepted" if found.startswith("<function") else found


def penalty_text() -> tuple[str, str]:
    return "ValueError", outcome(lambda: sample_utils.make_repetition_penalty("1")).split(":")[0]


FINDINGS = [context_of_zero, min_p_zero, whole_vocabulary, penalty_nan, penalty_text]

if __name__ == "__main__":
    for finding in FINDINGS:
        print(finding.__name__, *finding(), sep="\n\t")
