"""Run the findings about transformers. Only transformers and torch are used."""

import math
import os
from collections.abc import Callable

os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import torch
from torch import Tensor
from transformers.generation import logits_process as processors


def row(*logits: float) -> Tensor:
    return torch.tensor([logits], dtype=torch.float32)


def weights(*values: float) -> Tensor:
    return torch.tensor([values]).log()


def kept(scores: Tensor) -> str:
    return str([i for i, one in enumerate(scores[0].tolist()) if one > -math.inf])


def outcome(action: Callable[[], object]) -> str:
    """Return "accepted", or the name of the exception."""
    try:
        action()
    except Exception as error:
        return type(error).__name__
    return "accepted"


def top_h_entropy() -> tuple[str, str]:
    warper = processors.TopHLogitsWarper(0.64)
    return "[0, 1]", kept(warper(None, weights(0.5, 0.25, 0.25)))


def top_h_hundred() -> tuple[str, str]:
    scores = processors.TopHLogitsWarper(1.0)(None, torch.zeros(1, 101, dtype=torch.float64))
    return "101", str(int((scores > -math.inf).sum()))


def top_p_limits() -> tuple[str, str]:
    found = [outcome(lambda p=p: processors.TopPLogitsWarper(p)) for p in (0.0, 1.0)]
    return "ValueError, ValueError", ", ".join(found)


def top_p_nan() -> tuple[str, str]:
    return "ValueError", outcome(lambda: processors.TopPLogitsWarper(math.nan))


def epsilon_nan() -> tuple[str, str]:
    return "ValueError", outcome(lambda: processors.EpsilonLogitsWarper(math.nan))


def min_p_keep() -> tuple[str, str]:
    warper = processors.MinPLogitsWarper(0.5, min_tokens_to_keep=2)
    return "[0, 3]", kept(warper(None, row(200, 0, 1, 2)))


def typical_smallest_set() -> tuple[str, str]:
    warper = processors.TypicalLogitsWarper(0.5)
    return "2", str(int((warper(None, torch.zeros(1, 4)) > -math.inf).sum()))


def bias_without_tokens() -> tuple[str, str]:
    return "ValueError", outcome(lambda: processors.SequenceBiasLogitsProcessor([[[], 3.0]]))


def minus_zero() -> tuple[str, str]:
    processor = processors.SequenceBiasLogitsProcessor({(1,): 1.0})
    return "[-0.0, 3.0]", str(processor(torch.tensor([[0]]), row(-0.0, 2.0))[0].tolist())


def infinite_penalty() -> tuple[str, str]:
    processor = processors.RepetitionPenaltyLogitsProcessor(math.inf)
    return "an error", str(processor(torch.tensor([[0, 1]]), row(2.0, -1.0, 3.0))[0].tolist())


def nan_bias() -> tuple[str, str]:
    processor = processors.SequenceBiasLogitsProcessor({(1,): math.nan})
    return "an error", str(processor(torch.tensor([[0]]), row(2.0, 1.0))[0].tolist())


def typical_empty_row() -> tuple[str, str]:
    warper = processors.TypicalLogitsWarper(0.5)
    return "ValueError", outcome(lambda: warper(None, torch.zeros(1, 0)))


def eta_nan() -> tuple[str, str]:
    return "ValueError", outcome(lambda: processors.EtaLogitsWarper(math.nan))


def zero_is_positive() -> tuple[str, str]:
    found = [
        outcome(lambda: processors.RepetitionPenaltyLogitsProcessor(2.0, 0)),
        outcome(lambda: processors.MinNewTokensLengthLogitsProcessor(0, 0, 0)),
    ]
    return "ValueError, ValueError", ", ".join(found)


def top_k_ties() -> tuple[str, str]:
    scores = processors.TopKLogitsWarper(1)(None, torch.zeros(1, 3))
    return "1", str(int((scores > -math.inf).sum()))


def epsilon_equal() -> tuple[str, str]:
    return "[0]", kept(processors.EpsilonLogitsWarper(0.25)(None, weights(0.5, 0.25, 0.25)))


FINDINGS = [
    top_h_entropy,
    top_h_hundred,
    top_p_limits,
    top_p_nan,
    epsilon_nan,
    eta_nan,
    epsilon_equal,
    min_p_keep,
    top_k_ties,
    typical_smallest_set,
    bias_without_tokens,
    zero_is_positive,
    minus_zero,
    infinite_penalty,
    nan_bias,
    typical_empty_row,
]

if __name__ == "__main__":
    for finding in FINDINGS:
        print(finding.__name__, *finding(), sep="\n\t")
