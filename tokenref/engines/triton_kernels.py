"""Triton kernels of SGLang and vLLM as engines.

https://github.com/sgl-project/sglang, https://github.com/vllm-project/vllm. The kernels run out of
the wheels (`from_wheels`) on the device of `TOKENREF_TORCH_DEVICE`. On a CPU, Triton's own
interpreter executes them, but only if a variable says so before it is imported. So the kernels have
a process of their own, `python -m tokenref.engines.triton_kernels`. It reads calls and writes
results, a line of JSON each.

What they answer
    SGLang: chains of drafts with given random numbers, draft by draft and as a block, by the rule
    that the kernel follows: a draft is rejected if the number reaches the ratio, and if the draft
    row gives the token no probability. Its numbers have 32 bits.
    vLLM: its hash as random words, the uniform numbers that it makes of words, and the token that
    it draws from logits by Gumbel-max. Its kernels hash a seed; here a function that loads given
    words or numbers replaces the hash, and the seed is the address of these. Its rejection sampler
    with given random numbers, where only one token can follow the drafts. On a GPU its top-k and
    top-p, which the interpreter cannot run, also in batches, and many draws with its own numbers:
    by Gumbel-max, and from drafts.
What is unsupported
    Rows that are no probabilities, because the kernels check nothing. Several draws at once.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache, partial
from math import inf
from types import SimpleNamespace
from typing import Any, ClassVar, Final
from unittest.mock import patch

from tokenref.answers import Answer, Ok, Unsupported
from tokenref.engines.child import Child
from tokenref.engines.flashinfer_samplers import verified
from tokenref.engines.from_wheels import sglang_kernels, vllm_kernels
from tokenref.engines.own_rules import (
    NotExpressibleError,
    OwnRule,
    SamplerSession,
    checked_drafts,
    profiles_of,
    row_in_32_bits,
    rows_of,
)
from tokenref.engines.torch_draws import device_name, kept_in, laid_out, places_of, row_of
from tokenref.floats import pack, unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.rules import STANDARD, rule_name, rule_names

BLOCK: Final = rule_name("speculative", method="block")
TARGET_ONLY: Final = rule_name("speculative", method="target only")
_OWN: Final = OwnRule(rule_name("speculative", undrafted="reject"), {})
_OWN_BLOCK: Final = OwnRule(BLOCK, {})


class SglangKernelsSession(SamplerSession):
    """SGLang's kernel with a selected rule."""

    profiles: ClassVar = frozenset(rule_names("speculative"))

    def _answered(self, op: str, request: Mapping[str, Any]) -> Answer:
        if op != "speculative":
            return Unsupported(f"has no operation {op}")
        if self.profile == TARGET_ONLY:
            return Ok(_of_a_tree(request))
        is_block = self.profile == BLOCK
        (_OWN_BLOCK if is_block else _OWN).parameters(op, self.profile, request["params"], request)
        tokens, numbers, *laws = checked_drafts(request)
        rows = [[row_in_32_bits({"probs": row}) for row in law] for law in laws]
        accepted, *found = _asked("verify", tokens, numbers, *rows, is_block)
        return Ok({"accepted": accepted, "tokens": found[: accepted + 1]})


def _of_a_tree(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the CUDA kernel for trees accepts, compiled for the CPU."""
    given, tokens = unpack_parameters(request["params"]), request["tokens"]
    parents, numbers = given.get("parents", ()), row_in_32_bits({"probs": request["uniforms"]})
    target = [row_in_32_bits({"probs": row}) for row in request["target"]]
    count, size = len(tokens), len(target[0])
    if (len(parents), len(target), len(numbers)) != (count, count + 1, count + 2) or any(
        parent > at for at, parent in enumerate(parents)
    ):
        raise NotExpressibleError("does not check the form of its tree")
    if any(len(row) != size or min(row) < 0 or sum(row) != 1 for row in target):
        raise NotExpressibleError("takes probabilities that sum to 1")
    if not all(0 <= token < size for token in tokens) or not all(0 <= one < 1 for one in numbers):
        raise NotExpressibleError("checks neither tokens nor numbers")
    single, acc = given.get("threshold_single", 1.0), given.get("threshold_acc", 1.0)
    if not (0 <= single <= 1 and 0 <= acc <= 1):
        raise NotExpressibleError("checks its thresholds in front of the kernel")
    return verified(tokens, parents, target, numbers, single=single, acc=acc)


_WORDS: Final = {"murmur3-32.noise": 0, "murmur3-32.second-noise": 0x9E3779B9}
"""The domain of the hash of each rule."""

_UNIFORMS: Final = {"vllm-float": 32, "vllm-double": 64}
_DRAWS: Final = {
    rule_name("draw", method="gumbel max", noise="-log(1-u)"): 32,
    rule_name("draw", method="gumbel max"): 64,
}
"""The bits of the numbers of each rule."""


_FILTERS: Final = {"top_k": OwnRule(STANDARD, {"k": "k"}), "top_p": OwnRule(STANDARD, {"p": "p"})}
_REJECTION: Final = OwnRule(rule_name("speculative", undrafted="reject", equality="accept"), {})


class VllmKernelsSession(SamplerSession):
    """vLLM's kernels with a selected rule."""

    profiles: ClassVar = frozenset(
        {*_WORDS, *_UNIFORMS, *_DRAWS, *profiles_of(_FILTERS), *rule_names("speculative")}
    )

    def _answered(self, op: str, request: Mapping[str, Any]) -> Answer:
        if op in {"random_words", "uniforms", "draw"} and device_name() != "cpu":
            return Unsupported("only takes given words and numbers from Triton's interpreter")
        if op == "random_words":
            (position,) = request["counter"]
            place = [int(position, 16), request["taken"], request["count"]]
            words = _asked("hashed", int(request["seed"], 16), *place, _WORDS[self.profile])
            return Ok({"words": [f"{word:08x}" for word in words]})
        if op == "uniforms":
            bits = _UNIFORMS[self.profile]
            words = [int(word, 16) for word in request["words"]]
            if any(len(word) != 8 for word in request["words"]) or len(words) % (bits // 32):
                raise NotExpressibleError("takes hashes of 32 bits")
            numbers = _asked("numbers_of", words, bits)
            return Ok({"uniforms": pack(numbers, "f32" if bits == 32 else "f64")})
        if op == "speculative":
            return Ok(self._verified(request))
        if op in {*_FILTERS, "batch", "stat", "stat_batch", "stat_speculative"}:
            if device_name() == "cpu":
                return Unsupported("needs a GPU for its filters, and for many draws")
            is_filter = op in {*_FILTERS, "batch"}
            return self._filtered(op, request) if is_filter else self._many(op, request)
        if op != "draw" or self.profile not in _DRAWS:
            return Unsupported(f"has no {op} by the rule {self.profile}")
        return self._drawn(request)

    def _drawn(self, request: Mapping[str, Any]) -> Answer:
        """Draw a token with given noise."""
        row, numbers = request.get("logits"), request["uniforms"]
        if row is None or "count" in request:
            return Unsupported("only draws one token, from logits")
        row, bits = row_in_32_bits(request), _DRAWS[self.profile]
        numbers = row_in_32_bits({"probs": numbers}) if bits == 32 else unpack(numbers)
        if len(numbers) != len(row) or not all(0 <= number < 1 for number in numbers):
            raise NotExpressibleError("does not check its random numbers")
        if not row or max(row) == -inf or not all(logit < inf for logit in row):
            raise NotExpressibleError("does not check its row")
        return Ok({"token": _asked("draw", row, numbers, bits)})

    def _verified(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Accept drafts, if only one token can follow them: the kernels draw by races."""
        tokens, numbers, target, draft = checked_drafts(request)
        params = unpack_parameters(request["params"])
        _REJECTION.parameters("speculative", self.profile, params, request)
        laws = [[row_in_32_bits({"probs": row}) for row in law] for law in (target, draft)]
        last = [token for token, share in enumerate(laws[0][-1]) if share]
        found = _asked("reject", tokens, numbers, *laws, last[0])
        accepted = len(found) - 1
        rows = zip(*(law[accepted] for law in laws), strict=True) if accepted < len(tokens) else ()
        if len(last if accepted == len(tokens) else [1 for p, q in rows if p > q]) != 1:
            raise NotExpressibleError("draws the token behind the drafts by a race")
        return {"accepted": accepted, "tokens": found}

    def _filtered(self, op: str, request: Mapping[str, Any]) -> Answer:
        """Answer questions about one filter with one call."""
        of = request.get("op", op)
        if of not in _FILTERS:
            return Unsupported(f"has no batches of {of}")
        requests = rows_of(request) if op == "batch" else [request]
        rows, given = list[list[float]](), list[Any]()
        for one in requests:
            params = unpack_parameters(one["params"])
            own = _FILTERS[of].parameters(of, self.profile, params, one)
            given += own.values()
            rows.append(row_of(one, "f32", of).tolist())
        if len({*map(len, rows)}) > 1:
            raise NotExpressibleError("needs one vocabulary for all rows of a batch")
        if not rows[0] or any(max(row) == -inf or not all(x < inf for x in row) for row in rows):
            raise NotExpressibleError("does not check its rows")
        if of == "top_k" and any(not isinstance(one, int) or one < 1 for one in given):
            raise NotExpressibleError("does not check its k")
        if of == "top_p" and not all(0 < one <= 1 for one in given):
            raise NotExpressibleError("does not check its p")
        found = [
            {"keep": keep}
            for _ in range(request.get("calls", 1))
            for keep in _asked("filtered", of, rows, given, request.get("layout"))
        ]
        return Ok({"rows": found} if op == "batch" else found[0])

    def _many(self, op: str, request: Mapping[str, Any]) -> Answer:
        """Draw many times from rows, or decode many times with drafts."""
        if request["params"] or request.get("draft_params"):
            return Unsupported("only draws from unchanged rows")
        if op == "stat_speculative":
            if self.profile != STANDARD:
                return Unsupported(f"does not decode by the rule {self.profile}")
            target, draft = (
                [row_in_32_bits({"logits": row}, exact=False) for row in request[name]]
                for name in ("target", "draft")
            )
            return Ok({"counts": _asked("speculated", target, draft, request["draws"])})
        row, is_law = row_in_32_bits(request, exact=False), "probs" in request
        if op == "stat_batch":
            return Ok({"tokens": _asked("batched", row, is_law, request["rows"], request["draws"])})
        drawn = Counter(token for (token,) in _asked("batched", row, is_law, 1, request["draws"]))
        return Ok({"counts": [list(pair) for pair in sorted(drawn.items())]})


@cache
def _child() -> Child:
    variables = {"TRITON_INTERPRET": "1"} if device_name() == "cpu" else {}
    return Child(sys.executable, "-P", "-m", __name__, variables=variables)


def _asked(*call: Any) -> Any:
    error, found = _child().ask(call)
    if error:
        raise RuntimeError(error)
    return found


# ---- in the process


def verify(
    tokens: list[int],
    numbers: list[float],
    target: list[list[float]],
    draft: list[list[float]],
    is_block: bool,
) -> list[int]:
    """Return the number of accepted drafts, and the tokens."""
    import torch

    size = len(tokens) + 1
    predicted = torch.full((size,), -1, dtype=torch.int32)
    places = torch.full((1, size), -1, dtype=torch.int32)
    accepted = torch.zeros(1, dtype=torch.int32)
    sglang_kernels().reject_sampling.chain_speculative_sampling_triton(
        *(predicted, places, accepted),
        *(torch.tensor([[0, *tokens]]), torch.arange(size).reshape(1, -1), None, None),
        *(torch.tensor(each) for each in ([numbers[:-1]], [numbers[-1]], [target], [draft])),
        *(1.0, 1.0, True),
        block_verification=is_block,
    )
    return [int(accepted), *predicted.tolist()]


def reject(
    tokens: list[int],
    numbers: list[float],
    target: list[list[float]],
    draft: list[list[float]],
    bonus: int,
) -> list[int]:
    """Return the accepted tokens, and the one behind them; after a rejection one of many may be."""
    import torch

    engine, count, size = vllm_kernels().rejection_sampler, len(tokens), len(target[0])
    drafts, sums = torch.tensor([tokens, [count] * count], dtype=torch.int32)
    laws = [torch.tensor(law[:count]) for law in (draft, target)]
    given, found = (sums[:1], drafts, *laws), torch.empty_like(drafts)
    engine._sample_recovered_tokens(found, *given, torch.ones(1, size), max_spec_len=count)  # noqa: SLF001
    uniforms, last = torch.tensor(numbers[:count], dtype=torch.float64), torch.tensor([[bonus]])
    out, is_greedy = torch.full((1, count + 1), -1, dtype=torch.int32), torch.tensor([False])
    engine._rejection_random_sample(  # noqa: SLF001
        out, *given, last.int(), found, uniforms, is_greedy, count, None
    )
    return [token for token in out[0].tolist() if token >= 0]


def filtered(
    op: str, rows: list[list[float]], given: list[float], layout: dict[str, Any] | None
) -> list[list[int]]:
    """Return the tokens that top-k or top-p keeps in each row of a batch."""
    import torch

    places = places_of(len(rows), layout)
    ordered = [given[places.index(place)] for place in range(len(rows))]
    k = torch.tensor(ordered).clamp(max=len(rows[0])) if op == "top_k" else None
    p = None if op == "top_k" else torch.tensor(ordered)
    after = vllm_kernels().topk_topp_triton.apply_top_k_top_p_triton(
        laid_out(torch.tensor(rows), layout), k, p
    )
    return [kept_in(after[place]) for place in places]


def speculated(
    target: list[list[float]], draft: list[list[float]], draws: int
) -> list[tuple[list[int], int]]:
    """Return how often each list of tokens is the output of a step with drafts of its own."""
    import torch

    count, engine = len(draft), vllm_kernels().rejection_sampler
    *rows, last = torch.tensor(target)
    laws = torch.tensor(draft).softmax(-1).repeat(draws, 1)
    tokens = engine.rejection_sample(
        torch.multinomial(laws, 1).flatten().int(),
        [count] * draws,
        count,
        torch.arange(1, draws + 1, dtype=torch.int32) * count,
        laws,
        torch.stack(rows).repeat(draws, 1),
        torch.multinomial(last.softmax(-1), draws, replacement=True)[:, None].int(),
        SimpleNamespace(
            all_greedy=False, all_random=True, generators={}, temperature=torch.ones(draws)
        ),
    ).tolist()
    found = Counter(tuple(token for token in each if token >= 0) for each in tokens)
    return [(list(each), times) for each, times in sorted(found.items())]


def batched(row: list[float], is_law: bool, rows: int, calls: int) -> list[list[int]]:
    """Return the tokens that rows with their own seeds draw in many calls, by Gumbel-max."""
    import torch

    logits = torch.tensor(row).log() if is_law else torch.tensor(row)
    tokens = vllm_kernels().gumbel.gumbel_sample(
        logits.expand(rows * calls, -1),
        torch.arange(rows, dtype=torch.int32).repeat(calls),
        torch.ones(rows),
        torch.arange(rows),
        torch.arange(calls).repeat_interleave(rows),
        apply_temperature=False,
        is_drafting=False,
    )
    found: list[list[int]] = tokens.reshape(calls, rows).tolist()
    return found


def hashed(seed: int, position: int, first: int, count: int, domain: int) -> list[int]:
    """Return the hashes of tokens."""
    import torch

    found = partial(vllm_kernels().gumbel.murmur3_hash32, domain=domain)
    signed = seed - (seed >> 63 << 64)
    return _each(found, signed, position, first, count, torch.uint32)


def numbers_of(words: list[int], bits: int) -> list[float]:
    """Return the uniform numbers of hashes, low ones first where there are two for a number."""
    import torch

    engine, given = vllm_kernels().gumbel, torch.tensor(words, dtype=torch.int64).to(torch.uint32)
    width = bits // 32
    with patch.object(engine, "murmur3_hash32", _loading("uint32", width)):
        found = getattr(engine, f"murmur3_uniform{bits}")
        dtype = torch.float64 if bits == 64 else torch.float32
        return _each(found, given.data_ptr(), 0, 0, len(words) // width, dtype)


def draw(row: list[float], numbers: list[float], bits: int) -> int:
    """Return the token with the largest noisy logit."""
    import torch

    engine, size = vllm_kernels().gumbel, -(-len(row) // 1024) * 1024  # it loads whole blocks
    dtype = torch.float64 if bits == 64 else torch.float32
    given = torch.tensor(numbers + [0.5] * (size - len(row)), dtype=dtype)
    with patch.object(engine, f"murmur3_uniform{bits}", _loading(f"float{bits}")):
        sampled = engine.gumbel_sample(
            torch.tensor([row], dtype=torch.float32),
            torch.tensor([0], dtype=torch.int32),
            torch.tensor([1.0]),
            torch.tensor([given.data_ptr()]),
            torch.tensor([0]),
            apply_temperature=False,
            is_drafting=False,
            use_fp64=bits == 64,
        )
    return int(sampled)


def _each(function: Any, seed: int, position: int, first: int, count: int, dtype: Any) -> list[Any]:
    """Return what a function of the engine's kernels returns for tokens."""
    import torch
    import triton
    import triton.language as tl

    @triton.jit  # type: ignore[untyped-decorator]  # triton has no types
    def kernel(
        out: Any, seeds: Any, places: Any, first: Any, of: tl.constexpr, size: tl.constexpr
    ) -> None:
        at = tl.arange(0, size)
        tl.store(out + at, of(tl.load(seeds), tl.load(places), first + at))

    out = torch.empty(triton.next_power_of_2(count), dtype=dtype)
    kernel[(1,)](out, torch.tensor([seed]), torch.tensor([position]), first, function, len(out))
    found: list[Any] = out.tolist()[:count]
    return found


def _loading(dtype: str, width: int = 1) -> Any:
    """Return a function that loads numbers at the address of a seed, instead of hashing it.

    Of two numbers for a token the second one belongs to the second domain.
    """
    import triton.language as tl

    def load(seed: Any, _position: Any, offset: Any, domain: int = 0) -> Any:
        numbers = seed.to(tl.pointer_type(getattr(tl, dtype)))
        return tl.load(numbers + offset * width + (domain != 0))

    return load


_CALLS: Final[Mapping[str, Callable[..., Any]]] = {
    call.__name__: call
    for call in (verify, hashed, numbers_of, draw, reject, filtered, speculated, batched)
}


def main() -> None:
    """Answer calls until the input ends."""
    import torch

    torch.set_default_device(device_name())
    for line in sys.stdin:
        name, *given = json.loads(line)
        try:
            reply = ["", _CALLS[name](*given)]
        except Exception as error:  # noqa: BLE001 - of a kernel, or of its compiler
            said = " ".join(str(error).split())  # a compiler says the reason last
            reply = [f"{type(error).__name__}: {said[-300:]}", None]
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
