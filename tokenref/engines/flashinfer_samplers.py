"""FlashInfer's samplers as an engine: https://github.com/flashinfer-ai/flashinfer.

The CUDA kernels are in the wheel as source (`from_wheels`), and compiled once for each process.
If `TOKENREF_TORCH_DEVICE` names a GPU, nvcc compiles them as they are. Without one g++ does: the
templates take the number of threads of a block, so with one thread they are C++. Each row of a
batch is a block. `flashinfer_build.cpp` gives the random numbers, and replaces what the kernels
need of CUDA on a CPU. SGLang's kernel that verifies trees of drafts is built on these, and compiled
here.

What it answers
    The profile "flashinfer", and the rules of the kernels: the tokens that one filter keeps, or
    top-k and top-p in one kernel, in batches, too; the distribution; the token for a given random
    number. Most filters draw by rejection. A token is kept if the kernel accepts it in its first
    round, with a random number from the middle of the token's part of the row. On a GPU also many
    draws with its own generator, from one row.
What is unsupported
    Two filters one after the other, whose kernels need more threads. Tokens after a rejection. Rows
    and parameters that only the Python functions in front of the kernels would check.
"""

import ctypes
import os
import subprocess
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import accumulate, pairwise
from math import fsum, inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Final

from tokenref.answers import Answer, Ok, Unsupported
from tokenref.engines.from_wheels import wheel
from tokenref.engines.own_rules import (
    NotExpressibleError,
    OwnRule,
    SamplerSession,
    profiles_of,
    row_in_32_bits,
)
from tokenref.engines.torch_draws import device_name
from tokenref.floats import pack, unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.rules import STANDARD, rule_name

NAME: Final = "flashinfer"
_HEADERS: Final = "flashinfer/data/include/flashinfer/"
_SAMPLERS: Final = f"{_HEADERS}sampling.cuh"
_PARTS: Final = (
    ("struct ValueCount", "struct DataAndIndex"),
    ("void SamplingFromProbKernel", "cudaError_t OnlineSoftmax("),
)
"""Names in the first declaration of a part of the header, and in that behind it."""

_TEMPLATE: Final = "template <"

_TREES: Final = "sglang/kernels/jit/include/sgl_kernel/speculative/sampling.cuh"
_KERNELS: Final[Mapping[frozenset[str], int]] = {
    frozenset(names): kernel
    for kernel, names in enumerate([(), ("top_k",), ("top_p",), ("min_p",), ("top_k", "top_p")])
}
"""The kernel for each set of filters."""

_FILTERS: Final = ("top_k", "top_p", "min_p")
_NEUTRAL: Final[Mapping[str, Any]] = {
    "top_k": 1 << 30,
    "top_p": 1.0,
    "min_p": 0.0,
    "temperature": 1.0,
    "filter_apply_order": "top_k_first",
}
"""Settings with which the engine does nothing."""

RULES: Final[Mapping[str, OwnRule]] = {
    "top_k": OwnRule(rule_name("top_k", ties="all"), {"k": "top_k"}),
    "top_p": OwnRule(rule_name("top_p", ties="all"), {"p": "top_p"}),
    "min_p": OwnRule(STANDARD, {"m": "min_p"}),
    "draw": OwnRule(STANDARD, {}),
}
"""The rules that the kernels follow."""

_MIN_P: Final = 3
_SEED: Final = ctypes.c_uint64(0)
_LONGEST: Final = {"cpu": 1100}
"""The longest row whose tokens are tried one by one; on a GPU 2**17."""

_MOST: Final = 1 << 16
"""How many numbers are tried to find all tokens that min-p's kernel draws, without rejection."""


@cache
def library() -> Any:
    """Compile the kernels, and return the library."""
    own = Path(__file__).with_name("flashinfer_build.cpp").read_text(encoding="utf-8")
    with zipfile.ZipFile(wheel("sglang")) as archive:
        trees = archive.read(_TREES).decode().replace(".Sum<", ".template Sum<")  # for g++
    kernels = [line for line in trees.splitlines() if not line.startswith(("#include", "#pragma"))]
    with TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel("flashinfer-python")) as archive:
            archive.extractall(folder, [name for name in archive.namelist() if _HEADERS in name])
        if device_name() == "cpu":
            unit = "unit.cpp"
            command = [os.environ.get("CXX") or "g++", "-O1", "-ffp-contract=off", "-w", "-fPIC"]
            samplers = _kernels_alone(Path(folder, _SAMPLERS).read_text(encoding="utf-8"))
        else:
            unit = "unit.cu"
            command = ["nvcc", "-O2", "-arch=native", "-w", "-Xcompiler", "-fPIC"]
            samplers = f'#include "{_SAMPLERS}"'
        parts = ["#define TOKENREF_BEFORE", own, "#undef TOKENREF_BEFORE", samplers, *kernels, own]
        Path(folder, unit).write_text("\n".join(parts), encoding="utf-8")
        command += ["-std=c++17", "-shared", "-o", "it", unit]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        return ctypes.CDLL(str(Path(folder, "it")))


def _kernels_alone(header: str) -> str:
    """Return the parts of the header that are no functions of the host."""
    found = ""
    for begin, end in _PARTS:
        start, stop = (header.rindex(_TEMPLATE, 0, header.index(one) + 1) for one in (begin, end))
        found += header[start:stop]
    return found + "}\n}"  # the ends of the namespaces


def _run(function: str, *given: Any) -> None:
    """Call a function of the library, which returns 0 or an error of CUDA."""
    error = getattr(library(), function)(*given)
    if error:
        raise RuntimeError(f"CUDA error {error} in {function}")


class FlashinferSession(SamplerSession):
    """The kernels with the engine's own profile."""

    profiles: ClassVar = profiles_of(RULES) | {NAME}
    start: ClassVar = staticmethod(library)

    def _answered(self, op: str, request: Mapping[str, Any]) -> Answer:
        if op == "stat" and device_name() != "cpu":
            return Ok({"counts": self._counts(request)})
        if op == "batch":
            rows = request["rows"] * request.get("calls", 1)
            if "layout" in request or "vocab_size" in request:
                return Unsupported("takes rows that are next to each other")
            return Ok({"rows": self._answers(request["op"], rows)})
        return Ok(self._answers(op, [request])[0])

    def _answers(self, op: str, requests: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Answer questions of one kind with one call of each kernel."""
        if op not in (
            {*RULES, "chain", "distribution", "sample"} if self.profile == NAME else RULES
        ):
            raise NotExpressibleError(f"has no {op} that can be called alone")
        given = [self._given(op, request) for request in requests]
        shares = _shares(
            requests, [one["temperature"] for one in given], exact=op != "distribution"
        )
        if self.profile != NAME:
            _check_distinct(requests, shares)
        kernel = _kernel(given)
        if op == "distribution":
            if kernel:
                raise NotExpressibleError("draws by rejection, from no other distribution")
            return [{"probs": pack(row, "f32")} for row in shares]
        if op not in {"sample", "draw"}:
            return [{"keep": sorted(keep)} for keep in _kept(kernel, shares, given)]
        numbers = [row_in_32_bits({"probs": request["uniforms"]}) for request in requests]
        if any(len(one) != 1 or not 0 <= one[0] < 1 for one in numbers):
            raise NotExpressibleError("takes one random number below 1")
        if kernel not in {0, _MIN_P}:
            raise NotExpressibleError("draws by rejection")
        places, chosen = [*range(len(shares))], [number for (number,) in numbers]
        drawn = _drawn(kernel, shares, given, places, chosen)
        return [{"token": token} for token, _ in drawn]

    def _counts(self, request: Mapping[str, Any]) -> list[list[int]]:
        """Return how often each token is drawn, with the generator of the kernels."""
        names = {"k": "top_k", "p": "top_p", "m": "min_p"}
        asked = unpack_parameters(request["params"])
        given = _checked({names.get(name, name): value for name, value in asked.items()})
        shares = _shares([request], [given["temperature"]], exact=False)
        drawn = _drawn(_kernel([given]), shares, [given], [0] * request["draws"], None)
        return [list(pair) for pair in sorted(Counter(token for token, _ in drawn).items())]

    def _given(self, op: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of a question under the engine's names, and those not given."""
        given = unpack_parameters(request.get("params", {}))
        if not {"count", "order"}.isdisjoint(request):
            raise NotExpressibleError("draws one token, in the order of the vocabulary")
        if self.profile != NAME:
            given = RULES[op].parameters(op, self.profile, given, request)
        return _checked(given)


def _checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that are given, and neutral ones for the others."""
    found = {**_NEUTRAL, **{name: value for name, value in given.items() if value is not None}}
    if not (
        isinstance(found["top_k"], int)
        and found["top_k"] > 0 < found["top_p"] <= 1 >= found["min_p"] >= 0
        and 0 < found["temperature"] < inf
    ):
        raise NotExpressibleError("does not check its parameters")
    return found


def _check_distinct(
    requests: Sequence[Mapping[str, Any]], shares: Sequence[Sequence[float]]
) -> None:
    """Raise `NotExpressibleError` if different logits have equal probabilities, or none."""
    for request, row in zip(requests, shares, strict=True):
        logits = set(unpack(request["logits"] if "logits" in request else request["probs"]))
        if len(logits - {-inf, 0.0 if "probs" in request else -inf}) != len(set(row) - {0.0}):
            raise NotExpressibleError("rounds different logits to one probability")


def _kernel(given: Sequence[Mapping[str, Any]]) -> int:
    """Return the kernel for all filters of a batch."""
    filters = {name for one in given for name in _FILTERS if one[name] != _NEUTRAL[name]}
    if frozenset(filters) not in _KERNELS:
        raise NotExpressibleError("has kernels for a single filter only, and draws from it")
    if len(filters) > 1 and any(one["filter_apply_order"] != "joint" for one in given):
        raise NotExpressibleError("has no kernel of one thread for top-k before top-p")
    return _KERNELS[frozenset(filters)]


def _shares(
    requests: Sequence[Mapping[str, Any]], temperatures: Sequence[float], *, exact: bool
) -> list[list[float]]:
    """Return the rows of probabilities that the kernels are given."""
    rows = [row_in_32_bits(request, exact=exact) for request in requests]
    if len({*map(len, rows)}) > 1:
        raise NotExpressibleError("needs one vocabulary for all rows of a batch")
    if "probs" in requests[0]:
        if any(not row or min(row) < 0 or fsum(row) != 1 for row in rows):
            raise NotExpressibleError("takes probabilities that sum to 1")
        return rows
    if not rows[0] or any(max(row) == -inf or not all(x < inf for x in row) for row in rows):
        raise NotExpressibleError("does not check its row")
    return _softmax(rows, temperatures)


def _softmax(rows: Sequence[Sequence[float]], temperatures: Sequence[float]) -> list[list[float]]:
    out = _floats([0.0] * (len(rows) * len(rows[0])))
    flat = _floats([number for row in rows for number in row])
    _run("softmax", flat, out, _floats(temperatures), len(rows), len(rows[0]))
    return [out[at : at + len(rows[0])] for at in range(0, len(out), len(rows[0]))]


def _kept(
    kernel: int, shares: Sequence[Sequence[float]], given: Sequence[Mapping[str, Any]]
) -> list[set[int]]:
    """Return the tokens of each row that a kernel may draw."""
    found: list[set[int]] = [set() for _ in shares]
    size = len(shares[0])
    if kernel == _MIN_P:
        tries = int(2 / min(share for row in shares for share in row if share)) + 1
        if tries > _MOST:
            raise NotExpressibleError("finds only tokens that are not too improbable")
        numbers = [(at + 0.5) / tries for at in range(tries)] * len(shares)
    elif size > _LONGEST.get(device_name(), 1 << 17):
        raise NotExpressibleError("is not asked about so long a row")
    else:
        tries, sums = size, [[0.0, *accumulate(row)] for row in shares]
        numbers = [(one[token] + one[token + 1]) / 2 for one in sums for token in range(size)]
    places = [row for row in range(len(shares)) for _ in range(tries)]
    drawn = _drawn(kernel, shares, given, places, numbers)
    for at, (row, (token, is_rejected)) in enumerate(zip(places, drawn, strict=True)):
        if kernel == _MIN_P:
            found[row].add(token)
        elif shares[row][at % size] and not is_rejected:
            if token != at % size:
                raise NotExpressibleError("rounds its sums")
            found[row].add(token)
    return found


def _drawn(
    kernel: int,
    shares: Sequence[Sequence[float]],
    given: Sequence[Mapping[str, Any]],
    places: Sequence[int],
    numbers: Sequence[float] | None,
) -> list[tuple[int, bool]]:
    """Draw a token from each of these rows, with the kernel's own numbers if none are given.

    Returns the tokens, and whether the first one was rejected.
    """
    count, size, draws = len(given), len(shares[0]), len(places)
    tokens, rejected = (ctypes.c_int * draws)(), (ctypes.c_bool * draws)()
    name = "min_p" if kernel == _MIN_P else "top_p"
    _run(
        "draw",
        *(kernel, _floats([share for row in shares for share in row]), count, size),
        (ctypes.c_int * count)(*(min(one["top_k"], size) for one in given)),
        _floats([one[name] for one in given]),
        *(draws, (ctypes.c_int * draws)(*places), None if numbers is None else _floats(numbers)),
        *(tokens, rejected, _SEED),
    )
    return list(zip(tokens, rejected, strict=True))


def verified(
    tokens: Sequence[int],
    parents: Sequence[int],
    target: Sequence[Sequence[float]],
    numbers: Sequence[float],
    *,
    single: float,
    acc: float,
) -> dict[str, Any]:
    """Return what SGLang's kernel accepts of a tree of drafts without rows, and its tokens.

    `parents` are places of nodes, where 0 is the root and the drafts follow. The last number draws.
    """
    count, size = len(tokens) + 1, len(target[0])
    children = [
        [at for at, parent in enumerate(parents, 1) if parent == node] for node in range(count)
    ]
    first = [own[0] if own else -1 for own in children]
    after = {one: other for own in children for one, other in pairwise(own)}
    siblings = [after.get(node, -1) for node in range(count)]
    nodes = (ctypes.c_int64 * (4 * count))(0, *tokens, *range(count), *first, *siblings)
    predicted, path, accepted = (ctypes.c_int * count)(), (ctypes.c_int * count)(), ctypes.c_int()
    _run(
        "verify",
        *(predicted, path, ctypes.byref(accepted), nodes),
        *(_floats(numbers[:-1]), _floats(numbers[-1:])),
        *(_floats([share for row in target for share in row]), _floats([0.0] * count * size)),
        *(count, count, size, ctypes.c_float(single), ctypes.c_float(max(acc, 1e-9))),
    )
    found = [predicted[node] for node in path[: accepted.value + 1]]
    return {"accepted": accepted.value, "tokens": found}


def _floats(numbers: Sequence[float]) -> Any:
    return (ctypes.c_float * len(numbers))(*numbers)
