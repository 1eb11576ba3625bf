"""generate() of transformers over rows that are given, without a model.

A model that returns the rows it was told to return is all that generate() needs: it fills
in its defaults, builds its list of processors in its own order, calculates and draws.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("transformers", reason="this module is about transformers")

import torch
from transformers import GenerationMixin, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput
from transformers.utils import logging

logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # transformers has none


class GivenConfig(PreTrainedConfig):  # type: ignore[no-untyped-call]  # as above
    """The configuration of a model that returns given rows."""

    model_type = "given"

    def __init__(self, vocab_size: int = 2, **kwargs: Any) -> None:
        self.vocab_size = vocab_size
        super().__init__(**kwargs)


class GivenRows(PreTrainedModel, GenerationMixin):  # type: ignore[no-untyped-call]  # as above
    """A model that returns one given row after the other, the last one again and again."""

    config_class = GivenConfig

    def __init__(self, rows: Sequence[Sequence[float]]) -> None:
        super().__init__(GivenConfig(vocab_size=len(rows[0])))
        self.rows = torch.tensor([list(row) for row in rows], dtype=torch.float32)
        self.calls = 0

    def forward(self, input_ids: torch.Tensor, **_: Any) -> CausalLMOutput:
        """Return the next row for the last place."""
        row = self.rows[min(self.calls, len(self.rows) - 1)]
        self.calls += 1
        return CausalLMOutput(logits=row.expand(1, input_ids.shape[1], -1))

    @property
    def device(self) -> torch.device:
        """The place of a model without weights."""
        return torch.device("cpu")


def processors(size: int, prompt: Sequence[int], **params: Any) -> Any:
    """Return the list of processors that generate() builds for a prompt."""

    def catch(model: Any, input_ids: Any, logits_processor: Any, **_: Any) -> Any:
        return logits_processor

    model: Any = GivenRows([[0.0] * size])
    function = params.pop("prefix_allowed_tokens_fn", None)
    ignored = params.pop("prompt_ignore_length", 0)
    mask = torch.tensor([[place >= ignored for place in range(len(prompt))]], dtype=torch.long)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.generate(
            torch.tensor([list(prompt)]),
            attention_mask=mask,
            custom_generate=catch,
            use_cache=False,
            prefix_allowed_tokens_fn=function and (lambda _, tokens: function(tokens.tolist())),
            **{"do_sample": True, **params},
        )


def processed(processor: Any, row: Sequence[float], history: Sequence[int]) -> list[float]:
    """Return what a processor, or a list of them, makes of one row."""
    scores = torch.tensor([list(row)], dtype=torch.float32)
    tokens = torch.tensor([list(history)], dtype=torch.long)
    after: list[float] = processor(tokens, scores)[0].tolist()
    assert scores[0].tolist() == list(row), "the engine changed its argument"
    return after


def generated(
    rows: Sequence[Sequence[float]], prompt: Sequence[int], seed: int, **params: Any
) -> list[int]:
    """Return the tokens that generate() draws from the rows."""
    torch.manual_seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model: Any = GivenRows(rows)
        whole = model.generate(
            torch.tensor([list(prompt)]),
            max_new_tokens=len(rows),
            use_cache=False,
            **{"do_sample": True, **params},
        )
    tokens: list[int] = whole[0, len(prompt) :].tolist()
    return tokens
