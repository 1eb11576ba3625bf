"""What each engine draws with random numbers that are handed over, and from which law.

The numbers are multiples of 2**-20 from SplitMix64. A question whose token hangs on rounding is
passed over, by the proof that every case must have (`chains_asking.decided`).
"""

# A question, its answer and why it is asked stand in one line of a table.

from collections.abc import Iterator, Sequence
from math import inf
from typing import Any, Final

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.chains_asking import ChainTopic, alone, chain_request
from authoring.cases.sampling.draft import SamplerDraft, gives
from authoring.cases.splitmix import SplitMix64
from sampling_ref import PROFILES
from tokenref.rounding.chains import prove_decided

RACES: Final = frozenset({"transformers", "vllm", "sglang", "tensorrt-llm", "exllamav3"})
"""Engines whose draw takes one random number for each token of the row."""

BITS: Final = 20
ROW: Final = [0.5, 2.0, -1.0, 1.5, -inf, 0.0, -2.5, 1.0]
WANTED: Final = 3

QUESTIONS: Final = (
    ("all", "with every step off"),
    ("defaults", "with its defaults, after a history"),
)


def numbers_for(name: str, random: SplitMix64, size: int) -> list[float]:
    """Return as many random numbers as an engine's draw takes, none of them 0."""
    count = size if name in RACES else 1
    return [(random.below(2**BITS - 1) + 1) / 2**BITS for _ in range(count)]


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for number, name in enumerate(PROFILES):
        topic = ChainTopic(
            f"engine_{name.replace('.', '_').replace('-', '_')}",
            ("DrawGivenNumber", "EngineProfile"),
            "docs/engines.md#the-order-of-the-steps",
        )
        for slug, says in QUESTIONS:
            params = on(name, alone(name) if slug == "all" else {})
            history = [] if slug == "all" else [1, 1, 3, 0]
            random, found = SplitMix64(1000 + number), 0
            for _ in range(40):
                request = chain_request(
                    ROW, params, history, uniforms=numbers_for(name, random, len(ROW)),
                    prompt_length=1 if history else 0,
                )  # fmt: skip
                if not _is_decided(name, request):
                    continue
                found += 1
                yield topic.case(
                    "sample",
                    f"drawn.{slug}-{found}",
                    name,
                    request,
                    f"{PROFILES[name].title} {says}: draw {found} with random numbers from outside.",
                )
                if found == WANTED:
                    break
            yield topic.case(
                "distribution",
                f"law.{slug}",
                name,
                chain_request(ROW, params, history, prompt_length=1 if history else 0),
                f"{PROFILES[name].title} {says}: the law that it draws from.",
                flags=("MinusInfinity",),
            )
    yield from _ranks()


def on(name: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters under which an engine that is greedy by default draws."""
    switches: dict[str, dict[str, Any]] = {
        "candle": {"temperature": 1.0},
        "mlx-lm": {"temp": 1.0},
        "tensorrt-llm": {"temperature": 0.75},
    }
    return {**switches.get(name, {}), **params}


def _is_decided(name: str, request: dict[str, Any]) -> bool:
    try:
        prove_decided(name, request)
    except PurposeError:
        return False
    return True


def _ranks() -> Iterator[SamplerDraft]:
    """Yield draws that show whom a random number belongs to: the token, not its rank."""
    topic = ChainTopic("draws", ("NoiseByRank",), "docs/engines.md#the-order-of-the-steps")
    rows: Sequence[tuple[str, list[float], list[float], dict[str, Any], int, str]] = (
        ("vllm", [0.0, 1.0, 2.0], [0.90625, 0.125, 0.1875], {}, 0, "the first token has the luckiest number"),
        ("vllm", [0.0, 1.0, 2.0], [0.125, 0.90625, 0.1875], {}, 1, "the second token has the luckiest number"),
        ("vllm", [0.0, 1.0, 2.0], [0.90625, 0.125, 0.1875], {"top_k": 2}, 2, "the luckiest number belongs to a token that top-k removed"),
        ("sglang", [0.0, 1.0, 2.0], [0.90625, 0.125, 0.1875], {}, 0, "noise belongs to the token in the plain path"),
        ("exllamav3", [0.0, 1.0, 2.0], [0.90625, 0.125, 0.1875], {"top_k": 3}, 0, "noise belongs to the token, though the row was sorted"),
    )  # fmt: skip
    for number, (name, row, uniforms, params, token, says) in enumerate(rows):
        yield topic.case(
            "sample",
            f"rank-{number}.{name}",
            name,
            chain_request(row, params, uniforms=uniforms),
            f"A race in {name}: {says}.",
            gives(token=token),
        )
