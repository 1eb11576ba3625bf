"""What an operation on a row does, in full: the words of the module that has it.

Each module of `sampling_ref` begins with its definition, its source, and what every choice
means. Nothing is said twice: this finds these words, and `tokenref rules OP --definition`
prints them.
"""

from collections.abc import Mapping
from importlib import import_module
from inspect import cleandoc
from types import MappingProxyType
from typing import Final

from sampling_ref import STEPS

__all__ = ["DEFINED_IN", "definition_of"]

_SPECULATIVE: Final = (
    "shares",
    "acceptance",
    "residual",
    "chain",
    "ensemble",
    "block",
    "tree",
    "target_only",
    "matching",
    "typical",
)
_DRAWS: Final = (
    "inverse_cdf",
    "without_replacement",
    "noise",
    "gumbel_max",
    "exponential_race",
    "torch_cpu",
)
_GENERATORS: Final = (
    "mt19937",
    "philox",
    "threefry",
    "pcg64",
    "chacha",
    "isaac64",
    "xoshiro256plusplus",
    "murmur",
    "words",
    "splitmix64",
    "seed_sequence",
)

DEFINED_IN: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {op: (f"steps.{op}",) for op in STEPS}
    | {
        "softmax": ("numbers.softmax",),
        "logprobs": ("numbers.softmax",),
        "draw": tuple(f"draws.{name}" for name in _DRAWS),
        "random_words": tuple(f"random.{name}" for name in _GENERATORS),
        "uniforms": ("random.uniforms",),
        "speculative": tuple(f"speculative.{name}" for name in _SPECULATIVE),
        "residual": ("speculative.shares", "speculative.residual"),
    }
)
"""The modules of `sampling_ref` that define an operation. Questions that ask another operation
several times, or an engine's whole chain, have no definition of their own."""


def definition_of(op: str) -> str | None:
    """Return the words of the modules that define an operation, or None if it has none.

    >>> print(definition_of("top_k").splitlines()[0])
    Top-k filtering.
    >>> definition_of("batch") is None
    True
    """
    if op not in DEFINED_IN:
        return None
    modules = (import_module(f"sampling_ref.{name}") for name in DEFINED_IN[op])
    return "\n\n".join(cleandoc(module.__doc__ or "").strip() for module in modules)
