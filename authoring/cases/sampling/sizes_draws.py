"""Draws, batches, calls and random numbers at sizes where programs break."""

from collections.abc import Iterator
from itertools import accumulate
from math import log
from typing import Any, Final

import msgspec

from authoring.cases.sampling.batches import A, B, C
from authoring.cases.sampling.draft import SamplerDraft, gives, told_apart
from authoring.cases.sampling.draws_races import is_clear
from authoring.cases.sampling.sizes_rows import history_of
from authoring.cases.splitmix import SplitMix64
from authoring.grids import grid
from tokenref.floats import nearest, pack
from tokenref.generators import GENERATORS
from tokenref.questions.sampling import pack_parameters
from tokenref.rounding.rows import softmax_verdict
from tokenref.rules import STANDARD, rule_name

SMALL: Final = (64, 100, 128, 256, 512, 1000, 1024)
EVERY: Final = (*SMALL, 2048, 4096, 1 << 15, 1 << 16)
DRAWS: Final = "docs/sampling.md#random-numbers-and-draws"
ENGINES: Final = "docs/sampling.md#engines"

_SEED: Final = 0x64_72_61_77


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from told_apart(_all())


def _all() -> Iterator[SamplerDraft]:
    yield from _walks()
    yield from _orders()
    yield from _several()
    yield from _races()
    yield from _shares()
    yield from _speculative()
    yield from _batches()
    yield from _calls()
    yield from _words()


def _case(
    op: str, slug: str, profile: str, request: dict[str, Any], why: str, flag: str, *purposes: Any,
    spec: str = DRAWS, **more: Any,
) -> SamplerDraft:  # fmt: skip
    return SamplerDraft(
        op=op,
        topic="sizes",
        slug=slug,
        profile=profile,
        request=request,
        why=why,
        flags=[flag],
        spec=spec,
        purposes=purposes,
        **more,
    )


# ---- walks


def _walks() -> Iterator[SamplerDraft]:
    for size in EVERY:
        length = size + 5
        span = min(1 << 10, (1 << 20) // length)
        row = grid(
            size, length, span=span, put={size - 1: 8 / 1024, size: 4 / 1024, size + 1: 8 / 1024}
        )
        units = [round(weight * 2**20) for weight in row.values()]
        total = sum(units)
        ends = list(accumulate(units))
        for token in (size - 1, size, size + 1):
            middle = (ends[token] - units[token] / 2) / total
            yield _case(
                "draw",
                f"walk-{length}-token-{token}",
                STANDARD,
                {"probs": msgspec.to_builtins(row), "uniforms": pack([nearest(middle, "f32")])},
                f"A walk along {length:,} weights to token {token:,}.",
                "DrawGivenNumber",
                gives(token=token),
            )


def _orders() -> Iterator[SamplerDraft]:
    for size in (64, 100, 256, 1024):
        order = [(place * 7 + 3) % (size + 1) for place in range(size + 1)]
        if len(set(order)) != size + 1:
            order = list(range(size, -1, -1))
        yield _case(
            "draw",
            f"order-{size + 1}",
            STANDARD,
            {
                "probs": pack([1.0] * (size + 1)),
                "uniforms": pack([nearest((size + 0.5) / (size + 1), "f32")]),
                "order": order,
            },
            f"A walk in an order of {size + 1:,} tokens, to the last one of it.",
            "DrawOrder",
            gives(token=order[-1]),
        )


def _several() -> Iterator[SamplerDraft]:
    for size in (64, 100, 128, 256):
        generator = SplitMix64(_SEED + size)
        row = [float(1 + generator.below(9)) for _ in range(size + 9)]
        numbers = [
            nearest((generator.below(1 << 20) + 0.5) / (1 << 20), "f32") for _ in range(size + 1)
        ]
        yield _case(
            "draw",
            f"several-{size + 1}",
            STANDARD,
            {"probs": pack(row), "uniforms": pack(numbers), "count": size + 1},
            f"{size + 1} different tokens of {size + 9}, one number for each.",
            "DrawSeveral",
        )


def _races() -> Iterator[SamplerDraft]:
    for size in (64, 100, 128, 256):
        generator = SplitMix64(_SEED + size)
        numbers = [
            nearest((1 + generator.below(1 << 10)) / (1 << 11), "f32") for _ in range(size + 1)
        ]
        best = size  # the last token
        numbers[best] = 1023 / 1024
        for method in ("gumbel max", "exponential race"):
            logits = [0.0] * (size + 1)
            name = rule_name("draw", method=method, noise="-log u")
            part = (
                {"logits": pack(logits)}
                if method == "gumbel max"
                else {"probs": pack([1.0] * (size + 1))}
            )
            yield _case(
                "draw",
                f"{method.replace(' ', '-')}-{size + 1}",
                name,
                {**part, "uniforms": pack(numbers)},
                f"A race of {size + 1:,} equal tokens, which the last one wins.",
                "RaceNoise",
                gives(token=best),
                is_clear("-log u"),
            )


# ---- probabilities


def _shares() -> Iterator[SamplerDraft]:
    for size in (64, 100, 128, 256, 1024):
        put = {size: log(size), 0: log(size) - 1}
        row = grid(
            size, size + 1, span=1 << 20, put={at: nearest(x, "f32") for at, x in put.items()}
        )
        request = {"logits": msgspec.to_builtins(row)}
        for op, spec in (
            ("softmax", "docs/sampling.md#exactness"),
            ("logprobs", "docs/engines.md#logprobs"),
        ):
            yield _case(
                op, f"row-{size + 1}", STANDARD, request,
                f"The probabilities of {size + 1:,} tokens, of which the last one is a third.",
                "StableSoftmax", spec=spec,
                verdict=softmax_verdict(op, request["logits"], "f32"),
            )  # fmt: skip


# ---- speculative decoding


def _speculative() -> Iterator[SamplerDraft]:
    target, draft, bonus = [0.25, 0.75, 0.0], [0.5, 0.25, 0.25], [0.0, 0.0, 1.0]
    for size in (64, 100, 256):
        count = size + 1
        tokens = [0] * count
        for slug, last in (("all", 0.25), ("all-but-one", 0.75)):
            uniforms = [0.25] * (count - 1) + [last, 0.5]
            yield _case(
                "speculative",
                f"drafts-{count}-{slug}",
                STANDARD,
                {
                    "draft": [pack(draft)] * count,
                    "target": [*[pack(target)] * count, pack(bonus)],
                    "tokens": tokens,
                    "uniforms": pack(uniforms),
                    "params": {},
                },
                f"{count} drafted tokens, of which {count - (last > 0.5)} are accepted.",
                "SpeculativeRatio",
                gives(accepted=count - (last > 0.5)),
                spec="docs/sampling.md#speculative-decoding",
            )


# ---- batches


def _batches() -> Iterator[SamplerDraft]:
    rows = (A, B, C)
    for size in (63, 64, 65, 101, 129, 257):
        asked = [
            {
                "logits": pack(rows[place * place % 7 % 3][:4]),
                "params": pack_parameters({"top_k": 1 + place % 3}),
            }
            for place in range(size - 1)
        ]
        asked.append(
            {"logits": pack([0.0, 0.0, 1.0, 5.0]), "params": pack_parameters({"top_k": 1})}
        )
        yield _case(
            "batch",
            f"rows-{size}",
            "vllm",
            {"op": "top_k", "rows": asked},
            f"A batch of {size} rows, of which no other one has the answer of the last.",
            "BatchSize",
            spec=ENGINES,
        )


# ---- calls on one sampler


def _calls() -> Iterator[SamplerDraft]:
    # the last token is the best if 0, 1 and 2 are remembered, otherwise one that is forgotten
    row = [4.0, 3.5, 3.0, 1.0, 0.0, -1.0, 2.875]
    sample = {"sample": {"logits": pack(row), "uniforms": pack([])}}
    for size in (64, 128, 256, 1024):
        for engine, params in (
            ("vllm", {"temperature": 0.0, "presence_penalty": 1.5}),
            ("transformers", {"do_sample": False, "repetition_penalty": 2.0}),
        ):
            if engine == "transformers" and size > 256:
                continue
            accepted = [{"accept": token} for token in history_of(size + 1)]
            calls = [*accepted, sample, {"truncate": size - 1}, sample, {"truncate": 1}, sample]
            yield _case(
                "sequence",
                f"{engine}-accepted-{size + 1}",
                engine,
                {"params": pack_parameters(params), "prompt": [], "calls": calls},
                f"{size + 1:,} tokens are accepted, then all but {size - 1:,} forgotten, then all but one.",
                "MemoryTruncate",
                spec=ENGINES,
            )
        if size > 256:
            continue
        yield _case(
            "sequence",
            f"sampled-{size + 1}",
            "vllm",
            {
                "params": pack_parameters({"temperature": 0.0, "frequency_penalty": 0.0078125}),
                "prompt": [],
                "calls": [
                    call
                    for number in range(size + 1)
                    for call in ([{"accept": number % 2}, sample] if number % 16 == 0 else [{"accept": number % 2}])
                ],
            },
            f"{size + 1:,} tokens are accepted, and a token is drawn after each sixteenth.",
            "MemoryAccepted",
            spec=ENGINES,
        )  # fmt: skip
    for size in (64, 256, 1024):
        for engine, params in (
            ("transformers", {"do_sample": False, "repetition_penalty": 2.0}),
            ("vllm", {"temperature": 0.0, "repetition_penalty": 2.0}),
        ):
            yield _case(
                "sequence",
                f"{engine}-prompt-{size + 1}",
                engine,
                {
                    "params": pack_parameters(params),
                    "prompt": [3 + token % 3 for token in history_of(size)] + [0],
                    "calls": [sample, {"accept": 1}, sample, {"reset": True}, sample],
                },
                f"A prompt of {size + 1:,} tokens, of which the last one occurs only there.",
                "MemoryPrompt",
                spec=ENGINES,
            )


# ---- random words

_STARTS: Final[dict[str, dict[str, Any]]] = {
    "mt19937": {"seed": "1571"},
    "mt19937.by-array": {"key": ["00000123", "00000234"]},
    "philox4x32-10": {"key": ["0000002a", "00000000"]},
    "philox4x64-10.numpy": {"key": [f"{42:016x}", f"{0:016x}"]},
    "threefry2x32-20": {"key": ["0000002a", "00000000"]},
    "threefry4x64-20": {"key": [f"{42:016x}", *[f"{0:016x}"] * 3]},
    "chacha8": {"key": [f"{number:08x}" for number in range(8)]},
    "chacha20": {"key": [f"{number:08x}" for number in range(8)]},
    "pcg64": {"key": [f"{number:016x}" for number in (1, 2, 3, 5)]},
    "isaac64": {"key": [f"{number:016x}" for number in (1, 23, 456, 7890)]},
    "xoshiro256plusplus": {"key": [f"{number:016x}" for number in (1, 2, 3, 4)]},
    "splitmix64": {"seed": "2a"},
}
_FAR: Final = ("philox4x32-10", "chacha8", "mt19937", "splitmix64")


def _words() -> Iterator[SamplerDraft]:
    for name, start in _STARTS.items():
        assert name in GENERATORS  # noqa: S101 - it is one of them
        for size in (64, 256, 1024, 1 << 16):
            if size > 1024 and name not in _FAR:
                continue
            yield _case(
                "random_words",
                f"{name}-after-{size - 2}",
                name,
                {**start, "taken": size - 2, "count": 4},
                f"Words {size - 2:,} to {size + 1:,}: a counter or a buffer may begin anew there.",
                "StreamPlace",
            )
        if name in _FAR:
            yield _case(
                "random_words",
                f"{name}-after-65537",
                name,
                {**start, "taken": 65_537, "count": 2},
                "Words 65,537 and 65,538: a number of 16 bits has begun anew.",
                "StreamPlace",
            )
        yield _case(
            "random_words",
            f"{name}-count-130",
            name,
            {**start, "taken": 0, "count": 130},
            "130 words at once: more than a buffer of 64 or of 128 holds.",
            "StreamPlace",
        )
