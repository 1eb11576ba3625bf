"""What vLLM and transformers report of a drawn token, beside the reference."""

from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch", reason="the engine needs PyTorch")

import torch

from sampling_ref import chain, logprobs
from sampling_ref.draws.reported import reported
from sampling_ref.steps.step import Use
from tests.sampling.engines.wheels_of_engines import vllm

DIFFERENT = st.lists(st.integers(-40, 40).map(lambda k: k / 4), min_size=2, max_size=8, unique=True)
EQUAL = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), min_size=2, max_size=8)


def gathered(row: list[float], token: int, n: int) -> tuple[list[int], list[float], int]:
    """Return the tokens, log-probabilities and rank of vLLM's sampler."""
    engine = vllm().sampler
    with patch.object(engine, "LogprobsTensors", lambda *tensors: tensors):
        logs = engine.Sampler.compute_logprobs(torch.tensor([row]))
        tokens, numbers, ranks = engine.Sampler.gather_logprobs(logs, n, torch.tensor([token]))
    return tokens[0].tolist(), numbers[0].tolist(), int(ranks[0])


def answered(row: list[float], token: int, n: int) -> dict[int, Any]:
    """Return what vLLM's interface answers of one position, by token."""
    tokens, numbers, rank = gathered(row, token, n)
    answers: list[Any] = []
    names = ["?"] * len(tokens)
    vllm().logprobs.append_logprobs_for_next_position(answers, tokens, numbers, names, rank, n)
    (found,) = answers
    assert isinstance(found, dict)
    return found


@given(DIFFERENT, st.data())
def test_vllm_reports_the_same_tokens_numbers_and_ranks(
    row: list[float], data: st.DataObject
) -> None:
    token = data.draw(st.integers(0, len(row) - 1))
    n = data.draw(st.integers(0, len(row)))
    ours, theirs = reported(row, token, n), answered(row, token, n)
    assert [*ours.tokens] == [*theirs]
    assert [*ours.logprobs] == pytest.approx([one.logprob for one in theirs.values()], abs=2e-6)
    assert ours.rank == theirs[token].rank
    assert [*ours.logprobs] == [logprobs("vllm", row)[each] for each in ours.tokens]


@given(EQUAL, st.data())
def test_vllm_counts_equal_tokens_in_a_rank(row: list[float], data: st.DataObject) -> None:
    token = data.draw(st.integers(0, len(row) - 1))
    assert reported(row, token, 0).rank == gathered(row, token, 0)[2]
    assert reported(row, token, 0).rank == answered(row, token, 0)[token].rank


def test_vllm_gives_a_drawn_token_among_the_best_the_rank_of_its_place() -> None:
    row = [1.0, 1.0, 1.0, 0.0]
    (first,) = answered(row, 0, 0).values()
    assert first.rank == reported(row, 0, 0).rank == 3
    places = [answered(row, 0, 3)[token].rank for token in range(3)]
    assert sorted(places) == [1, 2, 3]  # topk orders equal tokens as it likes


def test_vllm_has_no_log_probability_for_the_first_token_of_a_prompt() -> None:
    assert [*vllm().logprobs.create_prompt_logprobs(False)] == [None]
    assert [*vllm().logprobs.create_sample_logprobs(False)] == []


@given(DIFFERENT, st.data())
def test_the_scores_of_transformers_are_processed_log_probabilities(
    row: list[float], data: st.DataObject
) -> None:
    from transformers import GenerationMixin

    token = data.draw(st.integers(0, len(row) - 1))
    left = chain([Use("temperature", temperature=0.5)], row).row
    config = SimpleNamespace(get_text_config=lambda: SimpleNamespace(vocab_size=len(row)))
    scores = GenerationMixin.compute_transition_scores(
        SimpleNamespace(config=config),  # type: ignore[arg-type]
        torch.tensor([[token]]),
        (torch.tensor([left]),),
        normalize_logits=True,
    )
    assert scores.item() == pytest.approx(reported(left, token, 0).logprobs[0], abs=4e-6)
