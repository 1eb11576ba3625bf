"""The chain that llama.cpp's programs build from their parameters (`common_sampler_init`).

The function is not part of the library. This is the same in Python, for the programs' default
order of samplers. Names and defaults are the programs' (`common/common.h`, `common/sampling.cpp`).
The breakers of DRY are given as tokens.
"""

from collections.abc import Mapping, Sequence
from ctypes import c_float
from typing import Any, Final

from tokenref.engines.own_rules import InvalidParameterError

REALS: Final[Mapping[str, float]] = {
    "repeat_penalty": 1.0,
    "frequency_penalty": 0.0,
    "presence_penalty": 0.0,
    "dry_multiplier": 0.0,
    "dry_base": 1.75,
    "top_n_sigma": -1.0,
    "typical_p": 1.0,
    "top_p": 0.95,
    "min_p": 0.05,
    "xtc_probability": 0.0,
    "xtc_threshold": 0.1,
    "temp": 0.8,
    "dynatemp_range": 0.0,
    "dynatemp_exponent": 1.0,
    "mirostat_tau": 5.0,
    "mirostat_eta": 0.1,
    "adaptive_target": -1.0,
    "adaptive_decay": 0.9,
}
"""Parameters of the C type float, and their defaults."""

WHOLES: Final[Mapping[str, int]] = {
    "repeat_last_n": 64,
    "dry_allowed_length": 2,
    "dry_penalty_last_n": 64,
    "top_k": 40,
    "mirostat": 0,
    "min_keep": 0,
}
"""Parameters of the C type int32_t (min_keep: size_t), and their defaults."""

STEPS: Final[Mapping[str, str]] = {
    "temp": "temperature",
    "temp_ext": "temperature",
    "mirostat": "mirostat_1",
    "mirostat_v2": "mirostat_2",
}
"""The steps of samplers that have another name than their step."""

_MOST: Final = (1 << 31) - 1
_PENALTIES: Final = ("repeat_last_n", "repeat_penalty", "frequency_penalty", "presence_penalty")
_DRY: Final = ("dry_multiplier", "dry_base", "dry_allowed_length", "dry_penalty_last_n")
_CANDIDATES: Final = 100
"""Mirostat 1 considers this many of the best tokens; no parameter changes that."""


def read(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return all parameters as C represents them.

    Raises `InvalidParameterError` for values that C cannot represent.

    >>> read({"top_k": 3})["top_k"], read({})["temp"]
    (3, 0.800000011920929)
    """
    values: dict[str, Any] = {name: c_float(value).value for name, value in REALS.items()}
    values |= {**WHOLES, "logit_bias": {}, "dry_sequence_breakers": []}
    for name, value in parameters.items():
        if name not in values:
            raise InvalidParameterError(f"llama.cpp has no parameter {name}")
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if name in REALS and not is_number:
            raise InvalidParameterError(f"{name} must be a number, got {value!r:.80}")
        least = 0 if name == "min_keep" else -_MOST - 1
        if name in WHOLES and not (type(value) is int and least <= value <= _MOST):
            raise InvalidParameterError(f"{name} must be a 32-bit integer, got {value!r:.80}")
        values[name] = c_float(value).value if name in REALS else value
    if not isinstance(values["logit_bias"], Mapping):
        raise InvalidParameterError("logit_bias must map tokens to numbers")
    return values


def chain_of(values: Mapping[str, Any], size: int, seed: int) -> list[list[Any]]:
    """Return the chain for a vocabulary size: each sampler with the arguments of its C function.

    >>> [sampler[0] for sampler in chain_of(read({"mirostat": 2}), 3, 1)]
    ['temp', 'mirostat_v2']
    """
    bias = [list(pair) for pair in values["logit_bias"].items()]
    chain: list[list[Any]] = [["logit_bias", size, bias]] if bias else []
    steering = [values["mirostat_tau"], values["mirostat_eta"]]
    if values["mirostat"] == 1:
        last = ["mirostat", size, seed, *steering, _CANDIDATES]
        return [*chain, ["temp", values["temp"]], last]
    if values["mirostat"] == 2:
        return [*chain, ["temp", values["temp"]], ["mirostat_v2", seed, *steering]]
    if values["mirostat"]:
        raise InvalidParameterError(f"mirostat must be 0, 1 or 2, got {values['mirostat']}")
    least = values["min_keep"]
    last = ["dist", seed]
    if values["adaptive_target"] >= 0:
        last = ["adaptive_p", values["adaptive_target"], values["adaptive_decay"], seed]
    # If DRY is off and has breakers, the constructor of the engine's tests writes out of bounds.
    multiplier, base, _, window = _of(values, *_DRY)
    dry_is_on = multiplier != 0 and base >= 1 and window > 0
    chain += [
        ["penalties", size, *_of(values, *_PENALTIES)],
        ["dry", *_of(values, *_DRY), values["dry_sequence_breakers"] if dry_is_on else []],
        ["top_n_sigma", values["top_n_sigma"]],
        ["top_k", values["top_k"]],
        ["typical", values["typical_p"], least],
        ["top_p", values["top_p"], least],
        ["min_p", values["min_p"], least],
        ["xtc", *_of(values, "xtc_probability", "xtc_threshold"), least, seed],
        ["temp_ext", *_of(values, "temp", "dynatemp_range", "dynatemp_exponent")],
        last,
    ]
    return chain


def _of(values: Mapping[str, Any], *names: str) -> list[Any]:
    return [values[name] for name in names]


def step_of(sampler: Sequence[Any]) -> str | None:
    """Return the step of a sampler, or None for the draw.

    >>> step_of(["temp_ext", 0.8, 0.5, 1.0]), step_of(["dist", 1])
    ('dynamic_temperature', None)
    """
    name, *arguments = sampler
    if name == "dist":
        return None
    if name == "temp_ext" and arguments[1] > 0:
        return "dynamic_temperature"
    return STEPS.get(name) or str(name)


def is_off(sampler: Sequence[Any]) -> bool:
    """Return whether a sampler's arguments disable it, as documented in `llama.h`.

    >>> is_off(["top_k", 0]), is_off(["top_p", 0.95, 0])
    (True, False)
    """
    name, *arguments = sampler
    if name == "penalties":
        _, window, *numbers = arguments
        return bool(window <= 0 or numbers == [1.0, 0.0, 0.0])
    if name == "dry":
        multiplier, base, _, window, _ = arguments
        return bool(multiplier == 0 or base < 1 or window <= 0)
    if name == "xtc":
        return bool(arguments[0] <= 0 or arguments[1] > 0.5)
    if name in {"typical", "top_p"}:
        return bool(arguments[0] >= 1)
    return name in {"top_k", "top_n_sigma", "min_p"} and bool(arguments[0] <= 0)
