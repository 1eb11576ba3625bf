"""Rows as long as real vocabularies: 32,000 and 128,256 tokens, by recipe.

The rows are built: a heavy head at places all over the vocabulary, above a tail of logits
between 0 and 1. In random rows of this length every cut would be a matter of rounding. Only
questions with short answers are asked: what is kept, which token is drawn.
"""

# A question, its answer and why it is asked stand in one line of a table.

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from authoring.cases.sampling.chain_draft import ChainTopic, alone, chain_request
from authoring.cases.sampling.draft import SamplerDraft, gives
from authoring.cases.sampling.row_draft import Topic
from authoring.grids import grid
from tokenref.floats import Floats, Type
from tokenref.verdicts import Exact

CHAINS: Final = ChainTopic(
    "long", ("LongRow", "EngineProfile"), "docs/engines.md#the-order-of-the-steps"
)
GREEDY: Final = Topic("long", ("LongRow",), "docs/engines.md#when-an-engine-draws-nothing")

SPANS: Final[Mapping[Type, int]] = {"f64": 1 << 20, "f32": 1 << 20, "f16": 128, "bf16": 16}
NOTHING: Final[Mapping[int, float]] = MappingProxyType({})
SIZES: Final = (32_000, 128_256)


def long_row(size: int, dtype: Type = "f32", put: Mapping[int, float] = NOTHING) -> Floats:
    """Return a row of this size with a heavy head: 20 at its last place, 19 at the first, and so on.

    >>> row = long_row(1000).values()
    >>> row[-1], row[0], sum(logit > 1 for logit in row)
    (20.0, 19.0, 6)
    """
    head = {size - 1: 20.0, 0: 19.0, size // 3: 18.0, size // 2: 17.0, 255: 16.0, 256: 15.0}
    return grid(7, size, span=SPANS[dtype], dtype=dtype, put={**head, **put})


CASES: Final[tuple[tuple[str, str, str, int, dict[str, Any], list[int], list[float] | None, str], ...]] = (
    ("chain", "defaults", "transformers", 1, {"top_k": 5}, [], None, ("top-k of 5 finds the five best anywhere "
                                                                     "in the row")),
    ("chain", "top_p", "transformers", 0, {"top_k": 0, "top_p": 0.875}, [], None, "top-p whose cut is in the head"),
    ("chain", "defaults", "llama.cpp", 1, {"top_k": 5, "temp": 1.0}, [], None, "the default chain with top-k 5"),
    ("chain", "min_p", "llama.cpp", 0, alone("llama.cpp", min_p=0.0625, temp=1.0), [], None, "min-p of a sixteenth"),
    ("chain", "top_k-top_p", "flashinfer", 0, {"top_k": 4, "top_p": 0.875}, [], None, "top-k and top-p, both in the head"),
    ("sample", "penalised", "candle", 0, {"temperature": 1.0, "top_k": 4, "repeat_penalty": 2.0}, [31_999, 31_999, 0], [0.25], ("the two best occurred before and are "
                                                                                                                               "halved")),
    ("sample", "penalised", "mistral.rs", 1, {"frequency_penalty": 4.0, "top_k": 3}, [128_255, 128_255], [0.125], "the best occurred twice and costs eight"),
    ("sample", "cold", "openai", 0, {"temperature": 0.25, "top_p": 0.5}, [], [0.75], "a low temperature leaves the best alone"),
    ("sample", "walk", "flashinfer", 0, {"top_k": 3}, [], [0.125], "the walk by the vocabulary meets token 0 first"),
    ("sample", "walk-late", "flashinfer", 0, {"top_k": 3}, [], [0.9375], "the walk by the vocabulary meets the last token last"),
    ("sample", "greedy", "vllm", 1, {"temperature": 0.0, "repetition_penalty": 4.0}, [128_255], [], "greedy after a penalty on the best, which is the last token"),
    ("sample", "greedy", "transformers", 0, {"do_sample": False, "repetition_penalty": 4.0}, [31_999, 0], [], "greedy after penalties on the two best"),
    ("sample", "greedy", "sglang", 0, {"temperature": 0.0, "frequency_penalty": 2.0}, [31_999], [], ("greedy after the best occurred once and "
                                                                                                    "costs two")),
)  # fmt: skip


FILTERS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("llama.cpp", {"typical_p": 0.5, "top_p": 0.03125}),
    ("llama.cpp", {"top_k": 2000, "top_p": 0.03125}),
    ("llama.cpp", {"top_p": 0.5, "min_p": 0.99}),
    ("transformers", {"top_k": 2000, "top_p": 0.03125}),
    ("transformers", {"top_p": 0.5, "min_p": 0.99}),
    ("transformers", {"top_p": 0.5, "typical_p": 0.03125}),
    ("transformers", {"typical_p": 0.5, "epsilon_cutoff": 0.0006}),
    ("vllm", {"top_k": 2000, "top_p": 0.03125}),
    ("vllm", {"min_p": 0.5, "top_p": 0.03125}),
    ("sglang", {"top_k": 2000, "top_p": 0.03125}),
    ("exllamav2", {"top_k": 2000, "top_p": 0.03125}),
    ("exllamav3", {"top_k": 2000, "top_p": 0.03125}),
    ("mlx-lm", {"top_p": 0.5, "min_p": 0.99}),
    ("mistral.rs", {"top_k": 2000, "top_p": 0.03125}),
    ("candle", {"top_k": 2000, "top_p": 0.03125}),
    ("tensorrt-llm", {"top_k": 1000, "top_p": 0.03125}),
    ("antigravity", {"top_k": 1500, "top_p": 0.03125}),
    ("flashinfer", {"top_k": 2000, "top_p": 0.03125}),
    ("flashinfer", {"min_p": 0.5, "top_p": 0.03125}),
)
"""Two filters in a row. About a thousand tokens or more are left between them."""


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from _filter_after_filter()
    rows = [long_row(size) for size in SIZES]
    for op, slug, name, which, params, history, uniforms, says in CASES:
        yield CHAINS.case(
            op,
            f"{slug}.{name}-{SIZES[which]}",
            name,
            chain_request(rows[which], params, history, uniforms=uniforms),
            f"{name} on a row of {SIZES[which]} tokens: {says}.",
        )
    yield from _greedy()


def _filter_after_filter() -> Iterator[SamplerDraft]:
    flat = grid(11, 4096, span=1 << 20)
    for name, params in FILTERS:
        first, second = params
        yield CHAINS.case(
            "chain",
            f"{first}-{second}.{name}-4096",
            name,
            chain_request(flat, alone(name, **params)),
            f"{name} applies {first} and {second} to 4,096 tokens that are all about equally "
            "probable; the second filter must see what the first one left.",
        )
    equal = chain_request(grid(11, 2050, span=1), alone("llama.cpp", typical_p=0.5, top_p=0.5))
    yield CHAINS.case(
        "chain",
        "typical_p-top_p.llama.cpp-equal-2050",
        "llama.cpp",
        equal,
        "Of 2,050 equal tokens, typical keeps 1,026 and top-p half of these: 513, or 514 after "
        "rounding to 32 bits. A program that takes half of all 2,050 keeps more.",
        hangs=True,
    )


def _greedy() -> Iterator[SamplerDraft]:
    asked: tuple[tuple[Type, int, dict[int, float], int, str], ...] = (
        ("f32", 128_256, {}, 128_255, "the best token is the last of the vocabulary"),
        ("f32", 32_000, {31_999: 1.0, 0: 1.0, 16_000: 25.0}, 16_000, "the best token is in the middle"),
        ("bf16", 128_256, {70_000: 20.0}, 70_000, "two best tokens in bfloat16, of which the lower id is taken"),
        ("f16", 32_000, {3: 20.0, 4: 20.0}, 3, "three best tokens in binary16, of which the lowest id is taken"),
        ("f32", 128_256, {65_536: 20.0, 65_535: 20.0}, 65_535, "three equals around 2 to the sixteenth"),
    )  # fmt: skip
    for dtype, size, put, token, says in asked:
        plain = msgspec.to_builtins(long_row(size, dtype, put))
        yield GREEDY.case(
            "greedy", f"{dtype}-{size}-{token}", "standard", {"logits": plain},
            f"Greedy on {size} logits of {dtype}: {says}.", gives(token=token), verdict=Exact(),
            flags=("SixteenBit",) if dtype != "f32" else (),
        )  # fmt: skip
