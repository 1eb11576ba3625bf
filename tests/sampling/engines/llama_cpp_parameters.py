"""Random parameters of the profile `llama.cpp`, and the chain that the engine makes of them.

The chain and the defaults are those of the adapter, `tokenref.engines.llama_cpp_chain`.
"""

from random import Random
from typing import Any

from tests.sampling.engines.llama_cpp_chains import sampler_of
from tokenref.engines.llama_cpp_chain import REALS, WHOLES, read
from tokenref.engines.llama_cpp_chain import chain_of as chain_of_values

ARGUMENTS = {
    "penalties": ("repeat_last_n", "repeat_penalty", "frequency_penalty", "presence_penalty"),
    "dry": (
        *("dry_multiplier", "dry_base", "dry_allowed_length", "dry_penalty_last_n"),
        "dry_sequence_breakers",
    ),
    "top_n_sigma": ("top_n_sigma",),
    "top_k": ("top_k",),
    "typical": ("typical_p",),
    "top_p": ("top_p",),
    "min_p": ("min_p",),
    "xtc": ("xtc_probability", "xtc_threshold"),
    "temp_ext": ("temp", "dynatemp_range", "dynatemp_exponent"),
    "mirostat_v2": ("mirostat_tau", "mirostat_eta"),
}
"""Which parameters the arguments of the engine's samplers are."""

STEPS_OF = {
    "logit_bias": "logit_bias",
    "penalties": "penalties",
    "dry": "dry",
    "top_n_sigma": "top_n_sigma",
    "top_k": "top_k",
    "typical": "typical",
    "top_p": "top_p",
    "min_p": "min_p",
    "xtc": "xtc",
    "temp_ext": "dynamic_temperature",
    "temp": "temperature",
    "mirostat": "mirostat_1",
    "mirostat_v2": "mirostat_2",
    "adaptive_p": "adaptive_p",
}
"""Which step of the profile each of the engine's samplers is."""

DEFAULTS: dict[str, Any] = {**REALS, **WHOLES, "logit_bias": {}, "dry_sequence_breakers": []}
"""The programs' defaults (common/common.h:226); breakers are given as tokens here."""

FIRST = {"penalties": 1, "mirostat_v2": 1}
"""How many arguments stand before them."""


def parameters_of(random: Random, size: int) -> dict[str, Any]:
    """Return parameters for a vocabulary of a size: none, a few, or all."""
    pick = random.choice
    found: dict[str, Any] = {
        "logit_bias": dict(sampler_of(random, "logit_bias", size)[2]),
        "min_keep": pick([0, 0, 0, 1, 2, 5, 50]),
        "mirostat": pick([0, 0, 0, 1, 2]),
        "adaptive_target": pick([-1.0, -1.0, 0.0, 0.1, 0.5, 1.0, random.random()]),
        "adaptive_decay": pick([0.0, 0.5, 0.9, 0.99]),
    }
    for name, theirs in ARGUMENTS.items():
        arguments = sampler_of(random, name, size)[1 + FIRST.get(name, 0) :]
        found |= zip(theirs, arguments, strict=False)
    found["temp"] = abs(found["temp"])
    wanted = random.sample(sorted(found), pick([0, 1, 2, 3, 5, 10, len(found)]))
    return {name: found[name] for name in wanted}


def chain_of(parameters: dict[str, Any], size: int, seed: int) -> list[list[Any]]:
    """Return the engine's chain, as the adapter makes it."""
    return chain_of_values(read(parameters), size, seed)
