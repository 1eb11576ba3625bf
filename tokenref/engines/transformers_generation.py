"""The list of processors that generate() of transformers builds, without a model.

A stand-in that returns the number of tokens it was told is all that generate() needs: it
checks the parameters, fills in its defaults and builds its list in its own order, and
hands it to a function of ours (`custom_generate`) instead of calculating.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Final

from tokenref.engines.torch_rows import device_name

NOT_OF_GENERATE: Final = ("min_tokens_to_keep", "encoder_input_ids", "prompt_ignore_length")
"""Parameters that processors have and generate() does not take under a name of its own."""

REAL: Final = (
    *("encoder_repetition_penalty", "repetition_penalty", "temperature", "top_h", "top_p"),
    *("min_p", "typical_p", "epsilon_cutoff", "eta_cutoff"),
)
"""Parameters that the engine wants as floats of Python: a record's 2 is a number like 2.0."""


@cache
def _model_type() -> Callable[[int], Any]:
    import torch
    from transformers import GenerationMixin, PreTrainedConfig, PreTrainedModel
    from transformers.utils import logging

    logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # transformers has none

    class NoConfig(PreTrainedConfig):  # type: ignore[no-untyped-call]  # as above
        model_type = "none"

        def __init__(self, vocab_size: int = 1, **others: Any) -> None:
            self.vocab_size = vocab_size
            super().__init__(**others)

    class NoModel(PreTrainedModel, GenerationMixin):  # type: ignore[no-untyped-call]  # as above
        config_class = NoConfig

        def __init__(self, size: int) -> None:
            super().__init__(NoConfig(vocab_size=size))

        def forward(self, input_ids: Any) -> Any:
            raise NotImplementedError

        @property
        def device(self) -> torch.device:
            return torch.device(device_name())

    return NoModel


@lru_cache(maxsize=64)
def _model(size: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _model_type()(size)


def prepare() -> None:
    """Import what takes seconds."""
    _model(1)


def processors(size: int, prompt: Sequence[int], parameters: Mapping[str, Any]) -> list[Any]:
    """Return the processors for a row of `size` tokens behind a prompt, which must not be empty.

    Parameters have the engine's names; it samples unless told otherwise. Raises `ValueError`,
    as the engine does, for what its documentation does not allow.
    """
    import torch

    caught: list[Any] = []

    def catch(model: Any, input_ids: Any, logits_processor: Any, **_: Any) -> Any:
        caught.extend(logits_processor)
        return input_ids

    ignored = parameters.get("prompt_ignore_length") or 0
    mask = [[place >= ignored for place in range(len(prompt))]]
    given = {name: _own(name, value) for name, value in parameters.items()}
    for name in NOT_OF_GENERATE:
        given.pop(name, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about parameters that are set and not used
        _model(size).generate(
            torch.tensor([list(prompt)], dtype=torch.long, device=device_name()),
            attention_mask=torch.tensor(mask, dtype=torch.long, device=device_name()),
            custom_generate=catch,
            use_cache=False,
            **{"do_sample": True, **given},
        )
    return caught


def _own(name: str, value: Any) -> Any:
    """Return a parameter in the Python types that the engine asks for."""
    if name in REAL and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if name == "sequence_bias" and isinstance(value, Mapping):
        return {key: _real(bias) for key, bias in value.items()}
    if name == "sequence_bias" and isinstance(value, list):
        return [[tokens, _real(bias)] for tokens, bias in value]
    if name == "exponential_decay_length_penalty" and isinstance(value, list):
        return tuple(value)
    return value


def _real(value: Any) -> Any:
    return float(value) if type(value) is int else value
