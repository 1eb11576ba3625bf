"""Filters in the examples of papers, articles, and engines' own tests.

llama.cpp
    tests/test-sampling.cpp at 07e4038f (https://github.com/ggml-org/llama.cpp): tenths, whose
    logarithms in 32 bits are the logits.
ChatStream
    "Three penalties in LLM sampling" (Qualiteg), the worked example: its logits after the
    temperature, and the two filters.
Disagreements
    Rows on which engines are known to differ, each with the rules that they follow.
"""

from collections.abc import Iterator, Sequence
from math import inf
from typing import Any, Final

from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.filter_draft import FilterCase, Row, eighths, logits, parts
from sampling_ref.numbers.reals import rounded_log
from tokenref.floats import nearest

HALVES: Final = eighths(4, 2, 1, 1)
EVEN: Final = eighths(2, 2, 2, 2)
MIXED: Final = eighths(1, 4, 2, 1)
TENTHS: Final = (0.1, 0.2, 0.3, 0.4)
FALLING: Final = (0.4, 0.3, 0.2, 0.1)

RULES: Final = {
    "lowest": "standard",
    "highest": "ties.highest-id",
    "one-more": "boundary.exceed",
    "all-ties": "ties.all",
    "one-more-highest": "boundary.exceed+ties.highest-id",
    "not-across": "boundary.within",
}
"""Rules of top-p: candle's, transformers', SGLang's, FlashInfer's, another of its, exllamav3's."""

_TOP_P: Final[tuple[tuple[str, Row, float, tuple[list[int], ...]], ...]] = (
    ("halves-inside", HALVES, 0.6, ([0, 1], [0, 1], [0, 1], [0, 1], [0, 1], [0])),
    (
        "halves-in-a-tie",
        HALVES,
        0.8,
        ([0, 1, 2], [0, 1, 3], [0, 1, 2], [0, 1, 2, 3], [0, 1, 3], [0, 1]),
    ),
    ("even-inside", EVEN, 0.6, ([0, 1, 2], [1, 2, 3], [0, 1, 2], [0, 1, 2, 3], [1, 2, 3], [0, 1])),
    ("mixed-billionth", MIXED, 1e-9, ([1], [1], [1], [1], [1], [1])),
)

_LLAMA_CPP: Final[tuple[tuple[str, str, Sequence[float], dict[str, Any], list[int]], ...]] = (
    ("top_k", "1", TENTHS, {"top_k": 1}, [3]),
    ("top_k", "3", TENTHS, {"top_k": 3}, [1, 2, 3]),
    ("top_k", "4", TENTHS, {"top_k": 4}, [0, 1, 2, 3]),
    ("top_k", "0", TENTHS, {"top_k": 0}, [0, 1, 2, 3]),
    ("top_p", "0", TENTHS, {"top_p": 0.0, "min_keep": 1}, [3]),
    ("top_p", "8", TENTHS, {"top_p": 0.8}, [1, 2, 3]),
    ("top_p", "1", TENTHS, {"top_p": 1.0}, [0, 1, 2, 3]),
    ("min_p", "0", TENTHS, {"min_p": 0.0}, [0, 1, 2, 3]),
    ("min_p", "24", TENTHS, {"min_p": 0.24}, [0, 1, 2, 3]),
    ("min_p", "26", TENTHS, {"min_p": 0.26}, [1, 2, 3]),
    ("min_p", "49", TENTHS, {"min_p": 0.49}, [1, 2, 3]),
    ("min_p", "51", TENTHS, {"min_p": 0.51}, [2, 3]),
    ("min_p", "74", TENTHS, {"min_p": 0.74}, [2, 3]),
    ("min_p", "76", TENTHS, {"min_p": 0.76}, [3]),
    ("min_p", "100", TENTHS, {"min_p": 1.0}, [3]),
    ("min_p", "105", TENTHS, {"min_p": 1.05}, [3]),
    ("xtc", "9", FALLING, {"xtc_probability": 0.99, "xtc_threshold": 0.09}, [3]),
    ("xtc", "19", FALLING, {"xtc_probability": 0.99, "xtc_threshold": 0.19}, [2, 3]),
    ("xtc", "29", FALLING, {"xtc_probability": 0.99, "xtc_threshold": 0.29}, [1, 2, 3]),
    ("xtc", "39", FALLING, {"xtc_probability": 0.99, "xtc_threshold": 0.39}, [0, 1, 2, 3]),
    ("typical", "sure", (0.97, 0.01, 0.01, 0.01), {"typical_p": 0.5}, [0]),
    ("typical", "fifths", (0.4, 0.2, 0.2, 0.2), {"typical_p": 0.5}, [1, 2, 3]),
    ("top_n_sigma", "1", TENTHS, {"top_n_sigma": 1.0}, [2, 3]),
    ("top_n_sigma", "0", TENTHS, {"top_n_sigma": 0.0}, [0, 1, 2, 3]),
    ("top_n_sigma", "3", TENTHS, {"top_n_sigma": 3.0}, [0, 1, 2, 3]),
)

CHATSTREAM: Final = logits(
    *(nearest(number, "f32") for number in (1.27, 2.14, 1.43, 0.71, 0.43, 0.29, 0.14))
)
"""The article's logits after the temperature, of seven tokens."""


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for case in (*_disagreements(), *_llama_cpp(), *_others()):
        yield case.draft()


def _disagreements() -> Iterator[FilterCase]:
    for slug, row, p, answers in _TOP_P:
        for (name, rule), keep in zip(RULES.items(), answers, strict=True):
            yield FilterCase(
                "top_p",
                "published",
                f"{slug}-{name}",
                row,
                {"p": nearest(p, "f32")},
                "Engines differ here: at equality, between equals, or about the token that crosses p.",
                ("Published", "Dyadic", "Ties", "Crossing"),
                profile=rule,
                keep=keep,
            )


def logarithms(shares: Sequence[float]) -> Row:
    """Return the logarithms of shares, in 32 bits.

    >>> logarithms([1.0]).numbers
    (0.0,)
    """
    return logits(*(nearest(rounded_log(nearest(share, "f32")), "f32") for share in shares))


def _llama_cpp() -> Iterator[FilterCase]:
    for op, slug, shares, params, keep in _LLAMA_CPP:
        yield FilterCase(
            op,
            "published",
            f"llama.cpp-{slug}",
            logarithms(shares),
            params,
            "An example of the engine's own tests: what it gives there it must give here.",
            ("Published", "EngineProfile", *(("Xtc",) if op == "xtc" else ())),
            profile="llama.cpp",
            uniform=0.5 if op == "xtc" else None,
            keep=keep,
        )


def _others() -> Iterator[FilterCase]:
    yield FilterCase(
        "top_k",
        "published",
        "chatstream",
        CHATSTREAM,
        {"top_k": 5},
        "The article's example shows the five best of its seven tokens.",
        ("Published", "EngineProfile", "Unsorted"),
        profile="chatstream",
        keep=[0, 1, 2, 3, 4],
    )
    yield FilterCase(
        "top_p",
        "published",
        "chatstream",
        Row(tuple(CHATSTREAM.numbers)[:5], "logits"),  # type: ignore[arg-type]  # no recipe
        {"top_p": 0.9},
        "The article's example keeps four of five tokens: the sum must exceed 0.9.",
        ("Published", "EngineProfile", "Crossing"),
        profile="chatstream",
        keep=[0, 1, 2, 3],
    )
    for mass, keep in ((0.2, [1, 2, 3]), (0.4, [1, 2, 3]), (0.5, [1, 2, 3]), (0.9, [0, 1, 2, 3])):
        yield FilterCase(
            "typical",
            "published",
            f"fifths-{int(mass * 10)}",
            logarithms((0.4, 0.2, 0.2, 0.2)),
            {"typical_p": mass},
            "Three equal tokens lie nearer to the entropy than the heaviest, and stay together.",
            ("Published", "EngineProfile", "Entropy", "Ties"),
            profile="transformers",
            keep=keep,
        )
    yield FilterCase(
        "typical",
        "published",
        "masked",
        logits(1.0, 0.0, -inf),
        {"typical_p": 0.9375},
        "A token at minus infinity: if 0 log 0 is not treated as 0, the entropy is NaN, all "
        "distances are equal, and the result is arbitrary.",
        ("Published", "EngineProfile", "Entropy", "MinusInfinity"),
        profile="transformers",
        keep=[0, 1],
    )
    yield FilterCase(
        "top_h",
        "published",
        "sixteen-own",
        parts(16, *([1] * 16)),
        {"alpha": 0.53125},
        "Of sixteen equal tokens the paper keeps as many as have 17/32 of the entropy of all: "
        "four, where the engines that add up shares of it keep eight.",
        ("Published", "Entropy", "Ties"),
        keep=[0, 1, 2, 3],
        unlike=("entropy.shared",),
    )
