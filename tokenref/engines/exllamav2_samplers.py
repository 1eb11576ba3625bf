"""exllamav2's samplers as an engine: https://github.com/turboderp-org/exllamav2.

The wheel contains its sources. `ExLlamaV2Sampler` runs out of it (`from_wheels`), and its C++
functions for the CPU are compiled by g++, with the engine's own flags, once for each process.
`exllamav2_build.cpp` stands in for what they need of PyTorch's C++ interface.

What it answers
    The profile "exllamav2", and the rules that its functions follow: the whole chain, its
    distribution, the token for a given random number, and single steps. Filters take probabilities.
What it refuses
    Nothing: the engine checks no parameter.
What is unsupported
    Values that disable a step. Rows with ties where its heap or its sort decides.
"""

import ctypes
import subprocess
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from math import inf, isfinite, nextafter
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from tokenref.answers import Answer, Ok, Unsupported
from tokenref.engines.from_wheels import exllamav2, wheel
from tokenref.engines.libstdcxx_draws import compiler
from tokenref.engines.own_rules import (
    PREFIXES,
    NotExpressibleError,
    OwnRule,
    SamplerSession,
    answer_in_order,
    check_shares,
    check_ties,
    profiles_of,
)
from tokenref.engines.torch_draws import kept_in, tensor_in_32_bits, to_floats
from tokenref.floats import pack, type_of, unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.rules import STANDARD, rule_name

if TYPE_CHECKING:
    import torch

NAME: Final = "exllamav2"
SOURCES: Final = "exllamav2/exllamav2_ext/"
FLAGS: Final = ("-Ofast", "-fPIC", "-w")
_OBJECTS: Final = ("unit.o", "sampling.o", "sampling_avx2.o", "profiling.o")
_TIES: Final = frozenset({"ties"})
RULES: Final[Mapping[str, OwnRule]] = {
    "top_k": OwnRule(STANDARD, {"k": "top_k"}, {"k": (0,)}, _TIES),
    "top_p": OwnRule(rule_name("top_p", boundary="fitting"), {"p": "top_p"}, {"p": (0, 1)}, _TIES),
    "top_a": OwnRule(STANDARD, {"a": "top_a"}, {"a": (0,)}, _TIES),
    "min_p": OwnRule(STANDARD, {"m": "min_p"}, {"m": (0, 1)}, _TIES),
    "tail_free": OwnRule(STANDARD, {"z": "tfs"}, {"z": (0, 1)}, _TIES),
    "decaying_penalties": OwnRule(
        STANDARD,
        {
            "repetition": "token_repetition_penalty",
            "frequency": "token_frequency_penalty",
            "presence": "token_presence_penalty",
            "sustain": "token_repetition_range",
            "decay": "token_repetition_decay",
        },
    ),
    "dry_longest": OwnRule(
        STANDARD,
        {
            "multiplier": "dry_multiplier",
            "base": "dry_base",
            "allowed_length": "dry_allowed_length",
            "breakers": "dry_sequence_breakers",
            "most": "dry_max_ngram",
        },
        {"multiplier": (0,)},
    ),
    "mirostat_2": OwnRule(
        rule_name("mirostat_2", whose="kept"), {"tau": "mirostat_tau", "eta": "mirostat_eta"}
    ),
}
"""The rules of the engine's functions."""

WALK: Final = rule_name("draw", boundary="reach", zero_weight="as walked")
_WALKS: Final = frozenset({WALK, rule_name("draw", boundary="reach")})
_FILTERS: Final = ("top_k", "top_p", "top_a", "min_p", "tail_free")
"""The filters whose functions are called alone, in the order of `filter` in the C++ file."""

_BY_THRESHOLD: Final = frozenset({"top_a", "min_p"})
_CHANGES: Final = frozenset({"decaying_penalties", "suppress", "logit_bias", "dry_longest"})
_NEUTRAL: Final = {
    **dict.fromkeys(("token_repetition_penalty", "temperature"), 1.0),
    **dict.fromkeys(("top_k", "top_p", "top_a", "min_p", "tfs", "typical"), 0),
}
"""Settings with which the engine does nothing."""


@cache
def library() -> Any:
    """Compile the engine's functions, and return the library."""
    own = Path(__file__).with_name("exllamav2_build.cpp").read_text(encoding="utf-8")
    with TemporaryDirectory() as folder, zipfile.ZipFile(wheel(NAME)) as archive:
        for name in archive.namelist():
            if name.startswith(SOURCES + "cpp/") or name.endswith("exllamav2_ext/config.h"):
                archive.extract(name, folder)
        binding = archive.read(SOURCES + "ext_sampling.cpp").decode()
        begin = binding.index("void apply_rep_penalty")
        functions = binding[begin : binding.index("void logit_filter_exclusive")]
        parts = [
            f"#define TOKENREF_BEFORE\n{own}\n#undef TOKENREF_BEFORE",
            '#include "cpp/util.h"\n#include "cpp/sampling.h"',
            functions,
            own,
        ]
        place = Path(folder) / SOURCES
        (place / "unit.cpp").write_text("\n".join(parts), encoding="utf-8")
        files = ["unit.cpp", *(f"cpp/{one}.cpp" for one in ("sampling", "sampling_avx2"))]
        # Linked with -Ofast, the library would make the whole process round tiny numbers to 0.
        for command in (
            (*FLAGS, "-c", *files, "cpp/profiling.cpp"),
            ("-shared", *_OBJECTS, "-o", "it"),
        ):
            subprocess.run([compiler(), *command], cwd=place, check=True, capture_output=True)
        found = ctypes.CDLL(str(place / "it"))
    found.sample.restype = ctypes.c_float
    return found


class Extension:
    """What the engine calls its extension: its functions, for tensors of torch."""

    @staticmethod
    def apply_rep_penalty(
        sequence: "torch.Tensor",
        repetition: float,
        sustain: int,
        decay: int,
        frequency: float,
        presence: float,
        logits: "torch.Tensor",
    ) -> None:
        """Change the logits of tokens of a sequence."""
        library().penalize(
            *(ctypes.c_void_p(sequence.data_ptr()), sequence.shape[-1]),
            *(ctypes.c_float(repetition), sustain, decay),
            *(ctypes.c_float(frequency), ctypes.c_float(presence)),
            *(ctypes.c_void_p(logits.data_ptr()), logits.shape[-1]),
        )

    @staticmethod
    def fast_fadd_cpu(logits: "torch.Tensor", bias: "torch.Tensor") -> None:
        """Add a row to the logits."""
        logits += bias

    @staticmethod
    def sample_basic(*given: Any) -> list[float]:
        """Draw a token; the arguments are those of the engine's function."""
        logits, temperature, top_k, *shares, random, token, share, kprobs, ktokens = given[:13]
        _, mirostat, state, tau, eta, last = given[13:19]
        mu = library().sample(
            *(ctypes.c_void_p(logits.data_ptr()), logits.shape[-1]),
            *(ctypes.c_float(temperature), top_k, *map(ctypes.c_float, [*shares, random])),
            *(ctypes.c_void_p(one.data_ptr()) for one in (token, share, kprobs, ktokens)),
            *(mirostat, *map(ctypes.c_float, [*(state or [0.0]), tau, eta, last, given[25]])),
        )
        return [mu]


class Exllamav2Session(SamplerSession):
    """The sampler with a selected profile."""

    profiles: ClassVar = profiles_of(RULES) | _WALKS | {NAME}
    start: ClassVar = staticmethod(lambda: (exllamav2(Extension), library()))

    def _answered(self, op: str, request: Mapping[str, Any]) -> Answer:
        if op == "draw" and self.profile in _WALKS:
            return self._draw(request)
        if op == "sequence" and self.profile == NAME:
            return answer_in_order(
                request, lambda each: Ok(_whole("sample", each, unpack_parameters(each["params"])))
            )
        if self.profile == NAME and op in {"chain", "distribution", "sample"}:
            return Ok(_whole(op, request, unpack_parameters(request["params"])))
        if op not in (_STEPS if self.profile == NAME else RULES):
            return Unsupported(f"has no operation {op}")
        given = unpack_parameters(request["params"])
        if self.profile != NAME:
            return Ok(
                _one_step(op, request, RULES[op].parameters(op, self.profile, given, request))
            )
        if op == "decaying_penalties":  # on by default
            given = {"token_repetition_penalty": 1.025, **given}
        if op in _CHANGES:
            return Ok(_one_step(op, request, given))
        return Ok(_whole("chain", request, {**_NEUTRAL, **given}))

    def _draw(self, request: Mapping[str, Any]) -> Answer:
        if "probs" not in request or "count" in request:
            return Unsupported("only draws one token from probabilities")
        row, (random, *more) = unpack(request["probs"]), unpack(request["uniforms"]) or [inf]
        order = request.get("order", [*range(len(row))])
        if not order or not all(0 <= token < len(row) for token in order):
            return Unsupported("checks no order")
        weights = [row[token] for token in order]
        if more or not 0 <= random < 1 or sum(weights) != 1 or min(weights) < 0:
            return Unsupported("walks through probabilities that sum to 1")
        if ctypes.c_float(random).value != random:
            return Unsupported("only takes 32-bit random numbers")
        if self.profile != WALK and not random and not weights[0]:
            return Unsupported("may draw a token of no weight")
        return Ok({"token": _called(5, weights, order, random)[0]})


_STEPS: Final = frozenset({*_CHANGES, "typical", *_FILTERS})


def _one_step(op: str, request: Mapping[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Answer a question about a step under a rule."""
    if op == "mirostat_2":
        return _mirostat(request, given)
    row = tensor_in_32_bits(request, exact=op not in _CHANGES)
    if op in _CHANGES:
        _run(row, request["history"], {**_NEUTRAL, **given})
        return {"logits": to_floats(row, "f32")}
    weights = row if "probs" in request else _run(row.clone(), [], _NEUTRAL)[1]
    is_law = weights.isfinite().all() and (weights >= 0).all() and weights.any()
    if op not in _FILTERS or not is_law:
        raise NotExpressibleError(f"has no {op} that is called alone")
    number = given["tfs" if op == "tail_free" else op]
    is_useful = isfinite(number) and ctypes.c_float(float(weights.max()) * number).value > 0
    if op == "top_k":
        is_useful = is_useful and number < len(row)
    if len(row) < 2 or not is_useful:
        raise NotExpressibleError(f"only calls its {op} where it can remove tokens")
    if "logits" in request:
        check_shares(row, weights, given.get("top_k"))
    # Its filters by threshold go beyond the last token if they keep them all.
    shares = [*weights.tolist(), 0.0] if op in _BY_THRESHOLD else weights.tolist()
    kept = _called(_FILTERS.index(op), shares, range(len(shares)), number)
    if op in PREFIXES:
        check_ties(request, kept)
    return {"keep": sorted(kept)}


def _mirostat(request: Mapping[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    (random,), state = unpack(request["uniforms"]), request.get("state", {})
    if "mu" not in state:
        raise NotExpressibleError("is given a state")
    (mu,) = unpack(state["mu"])
    numbers = (random, mu, *given.values())
    if type_of(request["uniforms"]) != "f32":
        raise NotExpressibleError("only has 32-bit numbers")
    if not all(map(isfinite, numbers)) or not 0 <= random < 1 or mu == 0:
        raise NotExpressibleError("checks neither its parameters nor its random numbers")
    settings = {**_NEUTRAL, **given, "mirostat": True}
    row = tensor_in_32_bits(request, exact=False)
    token, _, after = _run(row, [], settings, _unscaled(random), mu, reported=False)
    return {"token": token, "state": {"mu": pack([after], "f32")}}


def _called(
    function: int, weights: Sequence[float], tokens: Sequence[int], number: float
) -> list[int]:
    """Return the tokens that a C++ function leaves, in its order."""
    size = len(weights)
    shares, ids = (ctypes.c_float * size)(*weights), (ctypes.c_int * size)(*tokens)
    left = library().filter(function, size, shares, ids, ctypes.c_float(number))
    return ids[:left]


def _settings(params: Mapping[str, Any], size: int) -> tuple[Any, list[int]]:
    """Return the engine's settings, and the tokens that it blocks."""
    import torch

    sampler = exllamav2(Extension)
    given = dict(params)
    blocked = list(given.pop("blocked_tokens", None) or ())
    biases = given.pop("token_bias", None)
    if biases:
        row = torch.zeros(size)
        for token, bias in biases.items():
            row[token] = bias
        given["token_bias"] = row
    breakers = given.get("dry_sequence_breakers")
    given["dry_sequence_breakers"] = set(breakers or ())
    if "token_repetition_range" in given and given["token_repetition_range"] is None:
        given["token_repetition_range"] = -1
    names = {one.name for one in fields(sampler.Settings)}
    unknown = given.keys() - names
    if unknown:
        raise NotExpressibleError(f"has no parameter {min(unknown)}")
    return sampler.Settings(**given), blocked


def _run(
    row: "torch.Tensor",
    history: Sequence[int],
    params: Mapping[str, Any],
    random: float = 0.5,
    mu: float | None = None,
    *,
    reported: bool = True,
) -> tuple[int, "torch.Tensor", Any]:
    """Run the engine's sampler, which changes the row. Return the token, all shares, and mu."""
    import torch

    size = len(row)
    changed = (params.get("token_bias") or (), params.get("blocked_tokens") or ())
    named = [token for tokens in (history, *changed) for token in tokens]
    if not all(0 <= token < size for token in named) or not size:
        raise NotExpressibleError("reads beyond its row for such tokens, so it is not run")
    if not (row < inf).all() or row.max() == -inf:
        raise NotExpressibleError("reports tokens beyond its row for such logits, so it is not run")
    own, blocked = _settings(params, size)
    if mu is not None:
        own.mirostat_mu = [mu]
    tokenizer = SimpleNamespace(get_vocab_size=lambda: size, actual_vocab_size=size)
    sequence = torch.tensor([list(history)], dtype=torch.long)
    # It reads up to the next multiple of 32 numbers.
    logits = torch.nn.functional.pad(row, (0, 32))[:size].view(1, 1, -1)
    token, ids, shares, *_ = exllamav2(Extension).sample(
        logits, own, sequence, random, tokenizer, None, size if reported else 0, blocked
    )
    row.copy_(logits[0, 0])
    law = torch.zeros(size)
    if reported:  # behind tokens of no probability come other ids, to fill the list
        places = shares[0, 0] > 0
        law[ids[0, 0][places]] = shares[0, 0][places]
    return int(token), law, (own.mirostat_mu or [0.0])[0]


def _whole(op: str, request: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    row = tensor_in_32_bits(request)
    numbers = unpack(request["uniforms"]) if "uniforms" in request else []
    random = _unscaled(numbers[0]) if numbers else 0.5
    history, is_drawn = request.get("history", ()), op == "sample"
    token, law, _ = _run(row, history, params, random, reported=not is_drawn)
    if op == "sample":
        return {"token": token}
    if op == "chain":
        return {"keep": kept_in(law.log())}
    return {"probs": to_floats(law, "f32")}


def _unscaled(uniform: float) -> float:
    """Return a number that is the given one after the engine has multiplied it by 0.9998."""
    guess = uniform / 0.9998
    for number in (guess, nextafter(guess, -inf), nextafter(guess, inf)):
        held = ctypes.c_float(number).value
        for near in (
            held,
            *(ctypes.c_float(held + sign * abs(held) * 1e-7).value for sign in (-1, 1)),
        ):
            if (
                isfinite(near)
                and ctypes.c_float(near * 0.9998).value == ctypes.c_float(uniform).value
            ):
                return near
    raise NotExpressibleError("multiplies its random numbers by 0.9998, which cannot give this one")
