"""SGLang's Triton kernel for speculative decoding as an engine: https://github.com/sgl-project/sglang.

The kernel runs out of the wheel (`from_wheels`) without a GPU: Triton's own interpreter executes it
on the CPU. Triton is an interpreter only if a variable says so before it is imported, so the kernel
has a process of its own, `python -m tokenref.engines.sglang_kernels`. It reads calls and writes
results, a line of JSON each.

What it answers
    Chains of drafts with given random numbers, draft by draft and as a block, by the rule that the
    kernel follows: a draft is rejected if the number reaches the ratio, and if the draft row gives
    the token no probability. Its numbers have 32 bits.
What is unsupported
    Trees, which need a GPU. Rows that are no probabilities, because the kernel checks nothing.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Final

from tokenref.answers import Answer, Ok, Unsupported
from tokenref.engines.from_wheels import sglang_kernels
from tokenref.engines.own_rules import OwnRule, SamplerSession, checked_drafts, row_in_32_bits
from tokenref.rules import rule_name, rule_names

BLOCK: Final = rule_name("speculative", method="block")
_OWN: Final = OwnRule(rule_name("speculative", undrafted="reject"), {})
_OWN_BLOCK: Final = OwnRule(BLOCK, {})


class SglangKernelsSession(SamplerSession):
    """The kernel with a selected rule."""

    profiles: ClassVar = frozenset(rule_names("speculative"))

    def __init__(self, profile: str) -> None:
        self.profile = profile
        _process()

    def _answered(self, op: str, request: Mapping[str, Any]) -> Answer:
        if op != "speculative":
            return Unsupported(f"has no operation {op}")
        is_block = self.profile == BLOCK
        (_OWN_BLOCK if is_block else _OWN).parameters(op, self.profile, request["params"], request)
        tokens, numbers, *laws = checked_drafts(request)
        rows = [[row_in_32_bits({"probs": row}) for row in law] for law in laws]
        process = _process()
        process.stdin.write(json.dumps([tokens, numbers, *rows, is_block]) + "\n")
        process.stdin.flush()
        accepted, *tokens = json.loads(process.stdout.readline())
        return Ok({"accepted": accepted, "tokens": tokens[: accepted + 1]})


@cache
def _process() -> Any:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TRITON_INTERPRET": "1"},
    )


def main() -> None:
    """Answer calls until the input ends."""
    import torch

    verify = sglang_kernels().reject_sampling.chain_speculative_sampling_triton
    for line in sys.stdin:
        tokens, (*coins, last), target, draft, is_block = json.loads(line)
        size = len(tokens) + 1
        predicted = torch.full((size,), -1, dtype=torch.int32)
        places = torch.full((1, size), -1, dtype=torch.int32)
        accepted = torch.zeros(1, dtype=torch.int32)
        verify(
            *(predicted, places, accepted),
            *(torch.tensor([[0, *tokens]]), torch.arange(size).reshape(1, -1), None, None),
            *(torch.tensor(numbers) for numbers in ([coins], [last], [target], [draft])),
            *(1.0, 1.0, True),
            block_verification=is_block,
        )
        sys.stdout.write(json.dumps([int(accepted), *predicted.tolist()]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
