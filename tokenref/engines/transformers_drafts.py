"""transformers' loop of assisted decoding, with given drafts, rows and random numbers.

`_assisted_decoding` processes the rows of the target, accepts drafts and draws. One object replaces
the model, which returns given logits, and the source of the drafts. Given random numbers replace
those of the loop. Its draws take one number each (`walked`).

Source: `generation/utils.py`.
"""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from tokenref.engines.from_wheels import Nothing
from tokenref.engines.own_rules import InvalidParameterError
from tokenref.engines.torch_draws import walked

if TYPE_CHECKING:
    import torch


class _Loop(SimpleNamespace):
    """What the loop calls a model: it returns rows."""

    def __call__(self, **_: object) -> SimpleNamespace:
        return SimpleNamespace(logits=self.rows, past_key_values=Nothing())


def verified(
    history: Sequence[int],
    tokens: Sequence[int],
    target: "torch.Tensor",
    draft: "torch.Tensor | None",
    numbers: Sequence[float],
    processors: Any = (),
    weight: float | None = None,
) -> dict[str, Any]:
    """Return how many drafts the loop accepts, and its tokens.

    `target` and `draft` are rows of logits. Without rows of drafts the loop compares tokens. Raises
    `InvalidParameterError` for a weight that the engine refuses, and what `torch.multinomial`
    raises.
    """
    import torch
    from transformers import GenerationConfig, GenerationMixin

    before = torch.tensor([list(history)], dtype=torch.long)
    drafted = torch.cat((before, torch.tensor([list(tokens)], dtype=torch.long)), dim=-1)
    loop = _Loop(
        rows=target.unsqueeze(0),
        device=before.device,
        config=SimpleNamespace(is_encoder_decoder=False),
        requires_model_outputs=False,
        get_candidates=lambda _: (drafted, None if draft is None else draft.unsqueeze(0)),
        update_candidate_strategy=lambda *_: None,
        prepare_inputs_for_generation=lambda *_, **__: {},
        _has_unfinished_sequences=lambda is_finished, *_, **__: not is_finished,
        _update_model_kwargs_for_generation=lambda *_, **__: {},
    )
    loop._get_candidate_generator = lambda **_: loop  # noqa: SLF001 - the engine's name
    try:
        config = GenerationConfig(  # type: ignore[no-untyped-call]  # transformers has no types there
            do_sample=True, max_length=drafted.shape[-1] + 1, assistant_ensemble_weight=weight
        )
    except ValueError as error:
        raise InvalidParameterError(error) from error
    with (
        patch.object(
            torch, "rand_like", lambda like: torch.tensor(numbers[:-1]).reshape(like.shape)
        ),
        patch.object(torch, "multinomial", _drawing(numbers, torch.multinomial)),
    ):
        found = GenerationMixin._assisted_decoding(  # noqa: SLF001 - the engine's loop
            loop,  # type: ignore[arg-type]  # which stands for a model
            before,  # type: ignore[arg-type]  # has this type
            processors,
            lambda *_: torch.tensor([True]),  # type: ignore[arg-type]  # which stands for a list
            config,
            use_cache=True,
            past_key_values=Nothing(),
        )
    new = found[0, before.shape[-1] :].tolist()
    return {"accepted": len(new) - 1, "tokens": new}


def _drawing(numbers: Sequence[float], draw: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that draws a token from each row with the last of these numbers."""

    def drawn(rows: "torch.Tensor", **_: object) -> "torch.Tensor":
        last = numbers[len(numbers) - len(rows) :]
        tokens = [walked(row, number, draw) for row, number in zip(rows, last, strict=True)]
        return rows.new_tensor(tokens, dtype=torch.long).unsqueeze(1)

    import torch

    return drawn
