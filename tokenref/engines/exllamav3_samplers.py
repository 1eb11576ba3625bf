"""exllamav3's sampler as an engine: https://github.com/turboderp-org/exllamav3.

Its modules that sample run out of the wheel (`from_wheels`), on the processor and without the fused
kernel, which needs a GPU, as does adaptive-p. g++ compiles the CUDA kernels of the penalties and of
the noise of draws for blocks of one thread, once for each process. `exllamav3_build.cpp` replaces
what they need of CUDA, and gives the random numbers.

What it answers
    The profile "exllamav3", and the rules that its steps follow: the penalties, the bias, the
    temperature, min-p, top-k and top-p, the chain, its distribution, and tokens for given random
    numbers where no step sorts the row. Filters take probabilities.
What it refuses
    A parameter, with an `AssertionError`.
What is unsupported
    Whatever needs a GPU. Rows with ties where its sort decides, because the sort is not stable.
"""

import ctypes
import os
import re
import zipfile
from collections.abc import Mapping, Sequence
from functools import cache, partialmethod
from math import inf, isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar, Final
from unittest.mock import patch

from tokenref.answers import Answer, Ok, Unsupported
from tokenref.engines.from_wheels import exllamav3, wheel
from tokenref.engines.libstdcxx_draws import compiled
from tokenref.engines.own_rules import (
    NotExpressibleError,
    OwnRule,
    SamplerSession,
    answer_in_order,
    check_ties,
    profiles_of,
    row_in_32_bits,
)
from tokenref.engines.torch_draws import kept_in, to_floats
from tokenref.floats import unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.rules import STANDARD, rule_name

if TYPE_CHECKING:
    import torch

NAME: Final = "exllamav3"
_TIES: Final = frozenset({"ties"})
RULES: Final[Mapping[str, OwnRule]] = {
    "decaying_penalties": OwnRule(
        rule_name("decaying_penalties", fading="result", line="early", last="excluded"),
        {
            "repetition": "rep_p",
            "frequency": "freq_p",
            "presence": "pres_p",
            "sustain": "rep_sustain_range",
            "decay": "rep_decay_range",
        },
    ),
    "logit_bias": OwnRule(STANDARD, {"biases": "logit_bias"}),
    "temperature": OwnRule(STANDARD, {"temperature": "temperature"}, {"temperature": (0,)}),
    "min_p": OwnRule(STANDARD, {"m": "min_p"}, undefined=_TIES),
    "top_k": OwnRule(STANDARD, {"k": "top_k"}, {"k": (0, -1)}, _TIES),
    "top_p": OwnRule(
        rule_name("top_p", boundary="within", zero="best"), {"p": "top_p"}, undefined=_TIES
    ),
}
"""The rules of the engine's steps."""

_CLASSES: Final = {
    "logit_bias": "SS_LogitBias",
    "temperature": "SS_Temperature",
    "min_p": "SS_MinP",
    "top_k": "SS_TopK",
    "top_p": "SS_TopP",
}
_FILTERS: Final = frozenset({"min_p", "top_k", "top_p"})


_SOURCES: Final = "exllamav3/exllamav3_ext/generator/"
_HOST: Final = re.compile(
    r"^void (?!\w*_kernel)\w+\n\(.*?^}$|^#include .*?$|^inline ", re.DOTALL | re.MULTILINE
)
"""What a file of kernels has besides: functions that launch them, and headers of CUDA."""

_THREADS: Final = "#define NUM_THREADS 1024"


@cache
def library() -> Any:
    """Compile the engine's kernels for blocks of one thread, and return the library."""
    own = Path(__file__).with_name("exllamav3_build.cpp").read_text(encoding="utf-8")
    parts = [f"#define TOKENREF_BEFORE\n{own}\n#undef TOKENREF_BEFORE"]
    with TemporaryDirectory() as folder, zipfile.ZipFile(wheel(NAME)) as archive:
        for name in ("rep_pen.cu", "gumbel.cu"):
            kernels = _HOST.sub("", archive.read(_SOURCES + name).decode())
            parts.append(kernels.replace(_THREADS, "#undef NUM_THREADS\n#define NUM_THREADS 1"))
        return compiled(folder, "\n".join([*parts, own]), "-O1", "-ffp-contract=off", "-w")


class Extension:
    """What the engine calls its extension: kernels, for tensors of torch, on a CPU."""

    numbers: Sequence[float] | None = None
    """The random numbers of the next draw, one for each token."""

    def _penalize(
        self,
        kernel: str,
        row: "torch.Tensor",
        out: "torch.Tensor",
        past: "torch.Tensor",
        *settings: float,
    ) -> None:
        *penalties, sustain, decay = settings
        places = [ctypes.c_void_p(each.data_ptr()) for each in (row, out, past)]
        numbers = map(ctypes.c_float, penalties)
        getattr(library(), kernel)(*places, past.shape[-1], row.shape[-1], *numbers, sustain, decay)

    def _noise(self, kind: int, row: "torch.Tensor", out: "torch.Tensor", _: int) -> None:
        import torch

        if self.numbers is None:
            raise NotExpressibleError("draws its own random numbers")
        numbers = torch.tensor(self.numbers, dtype=torch.float32)
        places = [ctypes.c_void_p(each.data_ptr()) for each in (row, out, numbers)]
        library().noise(kind, *places[:2], row.numel(), places[2])

    apply_rep_pens = partialmethod(_penalize, "repetition")
    apply_pres_freq_pens = partialmethod(_penalize, "presence_frequency")
    gumbel_noise_f16 = partialmethod(_noise, 0)
    gumbel_noise_f32 = partialmethod(_noise, 1)
    gumbel_noise_log = partialmethod(_noise, 2)  # for logarithms of probabilities

    def __getattr__(self, name: str) -> Any:
        """Return a function that cannot be called here."""

        def raised(*_: object) -> None:
            raise NotExpressibleError(f"has {name} on a GPU only")

        return raised


@patch.dict(os.environ, {"EXL3_FUSED_SAMPLER": "0"})
def _engine() -> Any:
    return exllamav3(_EXTENSION)


_EXTENSION: Final = Extension()


class Exllamav3Session(SamplerSession):
    """The sampler with a selected profile."""

    profiles: ClassVar = profiles_of(RULES) | {NAME}
    start: ClassVar = staticmethod(_engine)
    refusing: ClassVar = (AssertionError,)

    def _answered(self, op: str, request: Mapping[str, Any]) -> Answer:
        if op == "sequence" and self.profile == NAME:
            return answer_in_order(request, lambda each: self._answered("sample", each))
        if op not in {"chain", "distribution", "sample"} | RULES.keys():
            return Unsupported(f"has no operation {op} on a processor")
        if request.get("state"):
            raise NotExpressibleError("has adaptive-p on a GPU only")
        given = unpack_parameters(request["params"])
        row = _row(request, exact=op in _FILTERS or op in {"chain", "sample"})
        history = request.get("history", ())
        if op == "decaying_penalties":
            if self.profile != NAME:
                given = RULES[op].parameters(op, self.profile, given, request)
            state = _started(row, history)
            _run(state, _engine().presets.ComboSampler(**given).steps[:-1])
            return Ok({"logits": to_floats(_left(state), "f32")})
        if op not in RULES:
            numbers = unpack(request["uniforms"]) if "uniforms" in request else []
            return Ok(_whole(op, row, given, history, numbers))
        if self.profile != NAME:
            given = RULES[op].parameters(op, self.profile, given, request)
        elif given.keys() - {"temp_last"} != {op}:
            raise NotExpressibleError(f"only calls its {op} alone with one parameter")
        state = _started(row, is_law="probs" in request)
        given.pop("temp_last", None)  # which is about other steps
        step = getattr(_engine().custom, _CLASSES[op])(*given.values())
        _run(state, [step.alt() or step])
        if op in _FILTERS:
            keep = kept_in(_left(state, log=True))
            check_ties(request, keep)
            return Ok({"keep": keep})
        return Ok({"logits": to_floats(_left(state), "f32")})


def _row(request: Mapping[str, Any], *, exact: bool) -> "torch.Tensor":
    import torch

    row = row_in_32_bits(request, exact=exact)
    if not row or any(not isfinite(one) and one != -inf for one in row) or max(row) == -inf:
        raise NotExpressibleError("does not check its row")
    if "probs" in request and (min(row) < 0 or not any(row)):
        raise NotExpressibleError("does not check its probabilities")
    return torch.tensor(row, dtype=torch.float32)


def _started(row: "torch.Tensor", history: Sequence[int] = (), *, is_law: bool = False) -> Any:
    """Return the engine's state before the first step."""
    import torch

    custom, past = _engine().custom, torch.tensor([list(history)], dtype=torch.long)
    state = custom.SamplingState(
        rand_u32=0, bsz=1, dim=len(row), in_logits=row.unsqueeze(0), past_ids=past
    )
    if is_law:
        state.probs, state.state = row.unsqueeze(0).clone(), custom.SS.PROBS
    return state


def _run(state: Any, steps: Sequence[Any]) -> None:
    for step in steps:
        for before in step.prep(state.state) or ():
            before().run(state)
        step.run(state)


def _left(state: Any, *, log: bool = False) -> "torch.Tensor":
    """Return the logits or probabilities of a state, in the order of the vocabulary.

    `log` means that probabilities become logarithms.
    """
    kind = state.state.name
    if kind == "INIT":
        row = state.in_logits
    elif kind.startswith("LOGITS"):
        row = state.logits
    else:
        row = state.probs.log() if log else state.probs
    if kind.endswith("_S"):
        row = row.clone().scatter_(-1, state.indices, row)
    found: torch.Tensor = row[0]
    return found


def _whole(
    op: str,
    row: "torch.Tensor",
    params: Mapping[str, Any],
    history: Sequence[int],
    numbers: Sequence[float],
) -> dict[str, Any]:
    engine, state = _engine(), _started(row, history)
    *steps, last = engine.presets.ComboSampler(**params).steps
    for step in steps:
        step.run(state)
    is_greedy = isinstance(last, engine.custom.SS_Argmax)
    if op == "chain":
        return {"keep": kept_in(_left(state, log=True))}
    if is_greedy:
        last.run(state)
        token = int(state.sample)
        law = row.new_zeros(len(row))
        law[token] = 1
    elif op == "sample" and isinstance(last, engine.custom.SS_Sample):
        token = _drawn(state, last, numbers)
    elif not isinstance(last, engine.custom.SS_Sample):
        raise NotExpressibleError("draws on a GPU only")
    else:
        engine.custom.SS_Normalize().run(state)
        law = _left(state)
    return {"token": token} if op == "sample" else {"probs": to_floats(law, "f32")}


def _drawn(state: Any, last: Any, numbers: Sequence[float]) -> int:
    """Draw a token with given random numbers."""
    if state.state.name.endswith("_S"):
        raise NotExpressibleError("gives noise to the places of its sorted row")
    if len(numbers) != state.dim or not all(0 < number <= 1 for number in numbers):
        raise NotExpressibleError("takes a random number for each token")
    if state.state.name == "INIT":
        state.in_logits = state.in_logits.half()
    _EXTENSION.numbers = numbers
    try:
        last.run(state)
    finally:
        _EXTENSION.numbers = None
    return int(state.sample)
