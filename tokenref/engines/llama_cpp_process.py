"""llama.cpp's C samplers in a separate process, without a model.

A failed assertion in the engine ends its process. So this module also runs as a program
(`python -m tokenref.engines.llama_cpp_process`). It reads requests from standard input, one line of
JSON each, and writes one line for each:

    {"samplers": [[name, argument, ...], ...], "accept": [token, ...], "row": digits}
    {"names": [...], "kept": [[token, ...], ...], "tokens": [...], "logits": digits,
     "probs": digits, "selected": place}

The samplers are applied in order, as in the engine's own chain; `kept` lists the tokens that each
of them left possible. With "draws": n the chain draws n times from the row, and the answer is
{"counts": [[token, n], ...]}. Digits are 32-bit floats in hexadecimal, high byte first.
With "words": {place: [word, ...]} the generator of the sampler at a place, which must have the seed
"seed", gives these 32-bit words next. With "state": [number, ...] the last sampler, a mirostat
(mu) or adaptive_p (sum and weight of its past), has this state; it accepts its token, and the
answer contains the next state. Both are written into the sampler's memory, because the engine has
no function for them. With "calls": [{"accept": token} or {"row": digits, "words": [word, ...]} or
{}, ...], of which {} is a reset, one chain answers them in order, and the answer is
{"drawn": [token, ...]}.
A sampler's arguments are those of its C function. The last argument of `dry` is its breakers,
sequences of tokens; they go through the constructor of the engine's own tests, a C++ symbol of
GCC.
"""

import ctypes
import json
import struct
import sys
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from ctypes import POINTER, Structure, byref, c_float, c_int32, c_void_p
from typing import Any, Final

from tokenref.engines.chosen_words import WORDS, state_of

DRY_WITH_TOKENS: Final = "_Z30llama_sampler_init_dry_testingffiiRKSt6vectorIS_IiSaIiEESaIS1_EE"
IMPOSSIBLE: Final = 0xFF800000 - (1 << 32)
"""The bits of minus infinity, as a 32-bit integer with a sign."""

_HEAD: Final = 512
"""A sampler's generator begins within this many bytes."""

_NEAR: Final = 1e-6
"""How much rounding changes a quotient of two numbers of 32 bits, at most."""

_PARTS: Final = 3
"""Numbers of a candidate: token, logit, probability; all of 32 bits."""


class Vector(Structure):
    """A std::vector of GCC's C++ library: begin, end, end of storage."""

    _fields_ = [("begin", c_void_p), ("end", c_void_p), ("storage", c_void_p)]


def sampler_of(engine: Any, name: str, arguments: Sequence[Any]) -> Any:
    """Return a new sampler of the engine."""
    make = getattr(engine, f"llama_sampler_init_{name}")
    if name == "logit_bias":
        size, biases = arguments
        pairs = (engine.llama_logit_bias * len(biases))(*(tuple(bias) for bias in biases))
        return make(size, len(biases), pairs)
    if name == "dry":
        *numbers, breakers = arguments
        if breakers:
            return _dry_with_tokens(engine, numbers, breakers)
        return make(None, *numbers, None, 0)
    return make(*arguments)


def _dry_with_tokens(
    engine: Any, numbers: Sequence[float], breakers: Sequence[Sequence[int]]
) -> Any:
    """Make a DRY sampler with breakers given as tokens, as only the engine's tests do."""
    buffers = [(c_int32 * len(breaker))(*breaker) for breaker in breakers]
    vectors = (Vector * len(breakers))()
    for vector, buffer in zip(vectors, buffers, strict=True):
        vector.begin = ctypes.addressof(buffer)
        vector.end = vector.storage = vector.begin + ctypes.sizeof(buffer)
    begin = ctypes.addressof(vectors)
    end = begin + ctypes.sizeof(vectors)
    function = getattr(engine._lib, DRY_WITH_TOKENS)  # noqa: SLF001 - the bindings do not name it
    function.restype = engine.llama_sampler_p_ctypes
    function.argtypes = [c_float, c_float, c_int32, c_int32, POINTER(Vector)]
    return function(*numbers, byref(Vector(begin, end, end)))


def answer(engine: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    """Answer one request."""
    samplers = [sampler_of(engine, name, arguments) for name, *arguments in request["samplers"]]
    for token in request["accept"]:
        for sampler in samplers:
            engine.llama_sampler_accept(sampler, token)
    found = _answered(engine, samplers, request)
    for sampler in samplers:
        engine.llama_sampler_free(sampler)
    return found


def _answered(engine: Any, samplers: Sequence[Any], request: Mapping[str, Any]) -> dict[str, Any]:
    if "calls" in request:
        return {"drawn": _in_order(engine, samplers, request)}
    candidates = _candidates(request["row"])
    state: list[c_float] = []
    if "state" in request:
        name, *arguments = request["samplers"][-1]
        state = _state_of(samplers[-1], request["seed"], name, arguments)
        for place, number in zip(state, request["state"], strict=True):
            place.value = number
    for place, words in request.get("words", {}).items():
        _give_words(_generator(samplers[int(place)], request["seed"]), words)
    if "draws" in request:
        return _counts(engine, samplers, candidates, request["draws"])
    found = _applied(engine, samplers, candidates)
    if state:
        engine.llama_sampler_accept(samplers[-1], found["tokens"][found["selected"]])
        found["state"] = [number.value for number in state]
    return found


def _in_order(engine: Any, samplers: Sequence[Any], request: Mapping[str, Any]) -> list[int]:
    """Return the tokens of calls that one chain answers, whose last sampler draws."""
    generator, drawn = _generator(samplers[-1], request["seed"]), []
    for call in request["calls"]:
        if "row" in call:
            _give_words(generator, call["words"])
            found = _applied(engine, samplers, _candidates(call["row"]))
            drawn.append(found["tokens"][found["selected"]])
            continue
        for sampler in samplers:
            if "accept" in call:
                engine.llama_sampler_accept(sampler, call["accept"])
            else:
                engine.llama_sampler_reset(sampler)
    return drawn


def _candidates(digits: str) -> "array[int]":
    """Return a row as candidates."""
    row = array("i", bytes.fromhex(digits))
    if sys.byteorder == "little":
        row.byteswap()
    candidates = array("i", bytes(4 * _PARTS * len(row)))
    candidates[0::_PARTS] = array("i", range(len(row)))
    candidates[1::_PARTS] = row
    return candidates


def _generator(sampler: Any, seed: int) -> int:
    """Return the address of a sampler's std::mt19937, which starts with its seed."""
    context: int = ctypes.cast(sampler, POINTER(ctypes.c_size_t * 2)).contents[1]
    second = (1812433253 * (seed ^ (seed >> 30)) + 1) % (1 << 32)
    content = ctypes.string_at(context, _HEAD)
    place = content.find(struct.pack("=QQ", seed, second))
    if place < 0:
        raise ValueError("the generator of this sampler is not where it is expected")
    return context + place


def _give_words(generator: int, words: Sequence[int]) -> None:
    """Make these the next words of a generator: 624 words of 64 bits, and the index."""
    state = struct.pack(f"={WORDS}QQ", *state_of(words), 0)
    ctypes.memmove(generator, state, len(state))


def _state_of(sampler: Any, seed: int, name: str, arguments: Sequence[Any]) -> list[c_float]:
    """Return the numbers that a sampler remembers, which are beside its generator.

    Mirostat's mu is in front of it, with or without padding; at the start it is 2 * tau. The
    two numbers of adaptive_p are behind it; at the start their quotient is the target.
    """
    at = _generator(sampler, seed)
    if name == "adaptive_p":
        total, weight = (c_float.from_address(at + 8 * (WORDS + 1) + 4 * one) for one in (0, 1))
        if weight.value < 1 or abs(total.value / weight.value - arguments[0]) > _NEAR:
            raise ValueError("the past of adaptive_p is not where it is expected")
        return [total, weight]
    tau = arguments[-3 if name == "mirostat" else -2]
    for place in (at - 4, at - 8):
        found = c_float.from_address(place)
        if found.value == c_float(2 * tau).value:
            return [found]
    raise ValueError("mu is not where it is expected")


def _counts(
    engine: Any, samplers: Sequence[Any], candidates: "array[int]", draws: int
) -> dict[str, Any]:
    counts: Counter[int] = Counter()
    content = candidates.tobytes()
    buffer = bytearray(content)
    data, chosen = _array_of(engine, buffer)
    for _ in range(draws):
        buffer[:] = content
        chosen.data, chosen.size, chosen.selected, chosen.sorted = data, len(data), -1, False
        for sampler in samplers:
            engine.llama_sampler_apply(sampler, byref(chosen))
        counts[chosen.data[chosen.selected].id] += 1
    return {"counts": [list(pair) for pair in sorted(counts.items())]}


def _applied(engine: Any, samplers: Sequence[Any], candidates: "array[int]") -> dict[str, Any]:
    buffer = bytearray(candidates.tobytes())
    _, chosen = _array_of(engine, buffer)
    names, kept = [], []
    left = candidates
    for sampler in samplers:
        engine.llama_sampler_apply(sampler, byref(chosen))
        names.append(engine.llama_sampler_name(sampler).decode())
        left = array("i", ctypes.string_at(chosen.data, 4 * _PARTS * chosen.size))
        pairs = zip(left[0::_PARTS], left[1::_PARTS], strict=True)
        kept.append([token for token, logit in pairs if logit != IMPOSSIBLE])
    return {
        "names": names,
        "kept": kept,
        "tokens": left[0::_PARTS].tolist(),
        "logits": _digits(left[1::_PARTS]),
        "probs": _digits(left[2::_PARTS]),
        "selected": chosen.selected,
    }


def _array_of(engine: Any, buffer: bytearray) -> tuple[Any, Any]:
    """Return the candidates in a buffer, and the engine's structure for them."""
    count = len(buffer) // (4 * _PARTS)
    data = (engine.llama_token_data * count).from_buffer(buffer)
    return data, engine.llama_token_data_array(data, count, -1, False)


def _digits(numbers: "array[int]") -> str:
    if sys.byteorder == "little":
        numbers.byteswap()
    return numbers.tobytes().hex()


def main() -> None:
    """Answer requests until the input ends."""
    import llama_cpp.llama_cpp as engine

    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(engine, json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
