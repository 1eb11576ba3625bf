"""Random parameters of the profile `llama.cpp`, and the chain that the engine makes of them.

The engine's programs build their chain in `common_sampler_init` (common/sampling.cpp), which
is no part of the installed library. `chain_of` does the same, for the sampler order that
programs have by default.
"""

from random import Random
from typing import Any

from tests.sampling.engines.llama_cpp_chains import sampler_of

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

DEFAULTS: dict[str, Any] = {
    "logit_bias": {},
    "repeat_last_n": 64,
    "repeat_penalty": 1.0,
    "frequency_penalty": 0.0,
    "presence_penalty": 0.0,
    "dry_multiplier": 0.0,
    "dry_base": 1.75,
    "dry_allowed_length": 2,
    "dry_penalty_last_n": 64,
    "dry_sequence_breakers": [],
    "top_n_sigma": -1.0,
    "top_k": 40,
    "typical_p": 1.0,
    "top_p": 0.95,
    "min_p": 0.05,
    "xtc_probability": 0.0,
    "xtc_threshold": 0.1,
    "temp": 0.8,
    "dynatemp_range": 0.0,
    "dynatemp_exponent": 1.0,
    "mirostat": 0,
    "mirostat_tau": 5.0,
    "mirostat_eta": 0.1,
    "adaptive_target": -1.0,
    "adaptive_decay": 0.9,
    "min_keep": 0,
}
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
    """Return the engine's chain."""
    values = DEFAULTS | parameters
    bias = list(map(list, values["logit_bias"].items()))
    chain: list[list[Any]] = [["logit_bias", size, bias]] if bias else []
    if values["mirostat"]:
        steering = [values["mirostat_tau"], values["mirostat_eta"]]
        first = ["mirostat", size, seed, *steering, 100]
        return [
            *chain,
            ["temp", values["temp"]],
            first if values["mirostat"] == 1 else ["mirostat_v2", seed, *steering],
        ]

    def arguments(name: str) -> list[Any]:
        return [values[theirs] for theirs in ARGUMENTS[name]]

    least = values["min_keep"]
    multiplier, base, allowed, window, breakers = arguments("dry")
    is_on = multiplier != 0 and base >= 1 and window > 0  # see `llama_cpp_chains.dry_of`
    last = ["dist", seed]
    if values["adaptive_target"] >= 0:
        last = ["adaptive_p", values["adaptive_target"], values["adaptive_decay"], seed]
    return [
        *chain,
        ["penalties", size, *arguments("penalties")],
        ["dry", multiplier, base, allowed, window, breakers if is_on else []],
        ["top_n_sigma", *arguments("top_n_sigma")],
        ["top_k", *arguments("top_k")],
        *([name, *arguments(name), least] for name in ("typical", "top_p", "min_p")),
        ["xtc", *arguments("xtc"), least, seed],
        ["temp_ext", *arguments("temp_ext")],
        last,
    ]
