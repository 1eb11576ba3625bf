"""SGLang's Triton kernel for speculative decoding as an engine: https://github.com/sgl-project/sglang.

The kernel runs out of the wheel (`from_wheels`) without a GPU: Triton's own interpreter executes it
on the CPU.

What it answers
    Chains of drafts with given random numbers, draft by draft and as a block, by the rule that the
    kernel follows: a draft is rejected if the number reaches the ratio, and if the draft row gives
    the token no probability. Its numbers have 32 bits.
What is unsupported
    Trees, which need a GPU. Rows that are no probabilities, because the kernel checks nothing.
"""

import os
from collections.abc import Mapping
from math import inf
from typing import Any, ClassVar, Final
from unittest.mock import patch

from tokenref.answers import Answer, Ok, Unsupported
from tokenref.engines.from_wheels import sglang_kernels
from tokenref.engines.own_rules import NotExpressibleError, OwnRule, SamplerSession, row_in_32_bits
from tokenref.rules import rule_name, rule_names

BLOCK: Final = rule_name("speculative", method="block")
_OWN: Final = OwnRule(rule_name("speculative", undrafted="reject"), {})
_OWN_BLOCK: Final = OwnRule(rule_name("speculative", method="block"), {})


_INTERPRETED: Final = patch.dict(os.environ, {"TRITON_INTERPRET": "1"})
"""Triton looks at this variable when it is imported and when a kernel is called."""


@_INTERPRETED
def _kernels() -> Any:
    return sglang_kernels().reject_sampling


class SglangKernelsSession(SamplerSession):
    """The kernel with a selected rule."""

    profiles: ClassVar = frozenset(rule_names("speculative"))

    def __init__(self, profile: str) -> None:
        self.profile = profile
        _kernels()

    def _answered(self, op: str, request: Mapping[str, Any]) -> Answer:
        if op != "speculative":
            return Unsupported(f"has no operation {op}")
        is_block = self.profile == BLOCK
        (_OWN_BLOCK if is_block else _OWN).parameters(op, self.profile, request["params"], request)
        return Ok(_verified(request, is_block=is_block))


@_INTERPRETED
def _verified(request: Mapping[str, Any], *, is_block: bool) -> dict[str, Any]:
    import torch

    tokens, (*coins, last) = (
        request["tokens"],
        row_in_32_bits({"probs": request["uniforms"]}) or [inf],
    )
    target, draft = (
        [row_in_32_bits({"probs": row}) for row in request[name]] for name in ("target", "draft")
    )
    sizes = {len(row) for row in (*target, *draft)}
    count = len(tokens)
    if not count or (len(coins), len(draft), len(target)) != (count, count, count + 1):
        raise NotExpressibleError("verifies at least one draft, with a number and a row for each")
    if len(sizes) != 1 or not all(0 <= token < max(sizes) for token in tokens):
        raise NotExpressibleError("does not check its rows and tokens")
    if not all(0 <= number < 1 for number in (*coins, last)):
        raise NotExpressibleError("does not check its random numbers")
    if not all(min(row) >= 0 and sum(row) == 1 for row in (*target, *draft)):
        raise NotExpressibleError("takes probabilities that sum to 1")
    predicted = torch.full((count + 1,), -1, dtype=torch.int32)
    places, accepted = (
        torch.full((1, count + 1), -1, dtype=torch.int32),
        torch.zeros(1, dtype=torch.int32),
    )
    _kernels().chain_speculative_sampling_triton(
        *(predicted, places, accepted),
        *(torch.tensor([[0, *tokens]]), torch.arange(count + 1).reshape(1, -1), None, None),
        *(
            torch.tensor([coins]),
            torch.tensor([last]),
            torch.tensor([target]),
            torch.tensor([draft]),
        ),
        *(1.0, 1.0, True),
        block_verification=is_block,
    )
    found = int(accepted)
    return {"accepted": found, "tokens": predicted.tolist()[: found + 1]}
