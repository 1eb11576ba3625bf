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

from tokenref.record import FILTER_OPS

__all__ = ["DEFINED_IN", "definition_of"]

_PENALTIES: Final = MappingProxyType(
    {
        "repetition_penalty": ("repetition",),
        "frequency_penalty": ("frequency",),
        "presence_penalty": ("presence",),
        "penalties": ("repetition_frequency_presence",),
        "decaying_penalties": ("decaying",),
        "suppress": ("suppress",),
        "begin_suppress": ("begin_suppress",),
        "remove_invalid_values": ("remove_invalid",),
        "allowed_tokens": ("allowed",),
        "prefix_allowed_tokens": ("prefix_allowed",),
    }
    | {
        name: (name,)
        for name in (
            "encoder_repetition",
            "no_repeat_ngram",
            "encoder_no_repeat_ngram",
            "dry",
            "dry_nearby",
            "dry_longest",
            "logit_bias",
            "sequence_bias",
            "bad_words",
            "min_length",
            "min_new_tokens",
            "forced_bos",
            "forced_eos",
            "exponential_decay_length",
        )
    }
)
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
    "widths",
    "seeding.splitmix64",
    "seeding.pcg32_key",
    "seeding.seed_sequence",
)

DEFINED_IN: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {op: (f"filters.{op}",) for op in FILTER_OPS}
    | {
        op: (*(f"penalties.{name}" for name in names), "history")
        for op, names in _PENALTIES.items()
    }
    | {op: (op,) for op in ("temperature", "dynamic_temperature", "smoothing", "greedy")}
    | {op: (f"adaptive.{op}",) for op in ("mirostat_1", "mirostat_2", "adaptive_p")}
    | {
        "lz": ("lz.penalty",),
        "softmax": ("softmax",),
        "logprobs": ("softmax",),
        "draw": tuple(f"drawing.{name}" for name in _DRAWS),
        "random_words": tuple(f"rng.{name}" for name in _GENERATORS),
        "uniforms": ("rng.uniforms",),
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
