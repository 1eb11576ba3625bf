"""Where engines disagree on the same numbers: one record for each engine, with its own answer.

The answers were known before the reference was written: those of transformers, llama.cpp, vLLM,
SGLang and mlx-lm from running their code, the others from reading it. The reference must give
them. Logarithms meet no threshold exactly, but for equal logits, so that each cut here either
lies well between two sums, or meets one of equal tokens.
"""

# A question, its answer and why it is asked stand in one line of a table.

from collections.abc import Iterator, Mapping, Sequence
from math import inf, log
from typing import Final

from authoring.cases.sampling.chains_asking import ChainTopic, alone, chain_request
from authoring.cases.sampling.draft import SamplerDraft, SamplerPurpose, gives, refuses
from tokenref.floats import pack

TOP_P: Final = ChainTopic("disagreements", ("Crossing", "EngineProfile"), "docs/engines.md#top_p")
TOP_K: Final = ChainTopic("disagreements", ("Ties", "EngineProfile"), "docs/engines.md#top_k")
MIN_P: Final = ChainTopic("disagreements", ("EngineProfile",), "docs/engines.md#min_p")
TYPICAL: Final = ChainTopic("disagreements", ("EngineProfile",), "docs/engines.md#typical")
ORDER: Final = ChainTopic(
    "disagreements", ("ChainOrder", "EngineProfile"), "docs/engines.md#the-order-of-the-steps"
)

HALVES: Final = (0.5, 0.25, 0.125, 0.125)
MIXED: Final = (0.125, 0.5, 0.25, 0.125)
EVEN: Final = [0.0] * 4
ALL: Final = {0, 1, 2, 3}

TOP_P_RULES: Final[Mapping[str, tuple[str, ...]]] = {
    "adds from the smallest up": ("transformers", "vllm"),
    "adds falling shares until they reach p": ("candle", "mistral.rs", "openai"),
    "adds falling shares until they reach p, in the order of its library": ("llama.cpp",),
    "adds falling shares until they exceed p": (
        "sglang",
        "tensorrt-llm",
        "chatstream",
        "antigravity",
    ),
    "looks at the sum of all larger shares": ("flashinfer", "mlx-lm"),
    "drops the token that would exceed p": ("exllamav3",),
    "lets go of the smallest as soon as p is exceeded": ("exllamav2",),
}

TOP_P_ROWS: Final = (
    ("inside", HALVES, 0.6, ({0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0}, {0}), "p lies strictly between two sums"),
    ("in-a-tie", HALVES, 0.8, ({0, 1, 3}, {0, 1, 2}, {0, 1, 3}, {0, 1, 2}, ALL, {0, 1}, {0, 1}), "the cut goes through two equal tokens"),
    ("even-half", None, 0.5, ({2, 3}, {0, 1}, {1, 3}, {0, 1, 2}, ALL, {0, 1}, {2, 3}), "four equal tokens, of which two meet p exactly"),
    ("even-inside", None, 0.6, ({1, 2, 3}, {0, 1, 2}, {0, 1, 3}, {0, 1, 2}, ALL, {0, 1}, {2, 3}), "four equal tokens, and p between two and three of them"),
    ("tiny", MIXED, 1e-9, ({1}, {1}, {1}, {1}, {1}, {1}, {1}), "p is tiny, and the best token must stay"),
)  # fmt: skip


def logs(weights: Sequence[float]) -> list[float]:
    """Return the logarithms of weights.

    >>> logs([1.0])
    [0.0]
    """
    return [log(weight) for weight in weights]


def keeps(tokens: set[int]) -> SamplerPurpose:
    """Return the purpose "the chain leaves these tokens".

    >>> keeps({1})  # doctest: +ELLIPSIS
    <function ...>
    """
    return gives(keep=sorted(tokens))


def is_one(token: int, size: int) -> SamplerPurpose:
    """Return the purpose "one token has all the probability".

    >>> is_one(0, 2)  # doctest: +ELLIPSIS
    <function ...>
    """
    return gives(probs=pack([float(place == token) for place in range(size)]))


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from _top_p()
    yield from _top_k()
    yield from _both()
    yield from _typical()


def _top_p() -> Iterator[SamplerDraft]:
    for slug, shares, p, answers, says in TOP_P_ROWS:
        row = EVEN if shares is None else logs(shares)
        for (rule, names), answer in zip(TOP_P_RULES.items(), answers, strict=True):
            for name in names:
                yield TOP_P.case(
                    "chain",
                    f"top_p.{slug}.{name}",
                    name,
                    chain_request(row, alone(name, top_p=p)),
                    f"{name} {rule}: {says}.",
                    keeps(answer),
                    meets=shares is None or slug in {"tiny", "in-a-tie"},
                    tied=shares is None or slug == "in-a-tie",
                )
    nothing = {
        **{
            key: {1}
            for key in (
                "transformers",
                "llama.cpp",
                "tensorrt-llm",
                "exllamav3",
                "openai",
                "chatstream",
                "antigravity",
            )
        },
        **dict.fromkeys(("candle", "mistral.rs", "mlx-lm", "exllamav2"), ALL),
    }
    for name, kept in nothing.items():
        says = "keeps the best token" if kept == {1} else "is off"
        yield TOP_P.case(
            "distribution", f"top_p.zero.{name}", name,
            chain_request(logs(MIXED), alone(name, top_p=0.0)),
            f"Top-p of 0 {says} in {name}.",
            *([is_one(1, 4)] if kept == {1} else []),
            flags=("EmptyResult",),
        )  # fmt: skip
    for name in ("vllm", "sglang", "flashinfer"):
        yield TOP_P.case(
            "chain", f"top_p.zero.{name}", name, chain_request(logs(MIXED), {"top_p": 0.0}),
            f"Top-p of 0 is refused by {name}.", refuses("INVALID_PARAMETER"),
            flags=("ParameterDomain",), spec="docs/sampling.md#errors",
        )  # fmt: skip
    for name in (name for names in TOP_P_RULES.values() for name in names):
        yield TOP_P.case(
            "chain", f"top_p.one.{name}", name, chain_request(logs(MIXED), alone(name, top_p=1.0)),
            f"Top-p of 1 removes nothing in {name}.", keeps(ALL), flags=("AllTokens",),
        )  # fmt: skip


def _top_k() -> Iterator[SamplerDraft]:
    tied = [1.0, 2.0, 2.0, 2.0, 3.0]
    for names, kept, says in (
        (
            ("transformers", "vllm", "flashinfer", "tensorrt-llm"),
            {1, 2, 3, 4},
            "keeps all equals of the third",
        ),
        (
            ("sglang", "mlx-lm", "exllamav3", "mistral.rs"),
            {1, 2, 4},
            "keeps exactly three, whichever of the equals",
        ),
        (
            ("chatstream", "candle", "antigravity"),
            {1, 2, 4},
            "keeps exactly three, of equals those with the lower id",
        ),
        (
            ("llama.cpp",),
            {1, 3, 4},
            "keeps exactly three, of equals those that its library's sort leaves in front",
        ),
        (
            ("exllamav2",),
            {2, 3, 4},
            "keeps exactly three, of equals those that its heap lets go of last",
        ),
    ):
        for name in names:
            yield TOP_K.case(
                "chain", f"top_k.ties.{name}", name, chain_request(tied, alone(name, top_k=3)),
                f"Top-k of 3 on five tokens, three of them equal: {name} {says}.", keeps(kept),
                tied=True, meets=True,
            )  # fmt: skip
            if name == "mlx-lm":
                continue
            yield TOP_K.case(
                "chain", f"top_k.6-of-5.{name}", name,
                chain_request(tied, alone(name, top_k=6)),
                f"Top-k of 6 on five tokens keeps all of them in {name}.",
                keeps({0, 1, 2, 3, 4}), flags=("AllTokens",),
            )  # fmt: skip


def _both() -> Iterator[SamplerDraft]:
    left = "what top-k left has 4/7 for its first token"
    whole = "of the whole row the first token has 2/5"
    for names, half, three_fifths, says in (
        (("transformers", "vllm", "llama.cpp", "mistral.rs", "tensorrt-llm", "chatstream", "flashinfer"), {0}, {0, 1}, left),
        (("sglang", "candle", "antigravity", "mlx-lm"), {0, 1}, {0, 1}, whole),
        (("exllamav2", "exllamav3"), {0}, {0}, f"{left}, and the token across is dropped"),
    ):  # fmt: skip
        for name in names:
            for p, kept in ((0.5, half), (0.6, three_fifths)):
                if p == 0.6 and name in {"exllamav2", "exllamav3"}:
                    continue
                yield ORDER.case(
                    "chain", f"top_k-then-top_p.{int(p * 10)}.{name}", name,
                    chain_request(logs((0.4, 0.3, 0.2, 0.1)), alone(name, top_k=2, top_p=p)),
                    f"Top-k of 2 and top-p of {p} in {name}: {says}.", keeps(kept),
                    flags=("RenormalizedBase",),
                )  # fmt: skip
    for order, kept in (("top_k_first", {0}), ("joint", {0, 1})):
        yield ORDER.case(
            "chain", f"top_k-then-top_p.flashinfer-{order.replace('_', '-')}", "flashinfer",
            chain_request(
                logs((0.4, 0.3, 0.2, 0.1)),
                {"top_k": 2, "top_p": 0.5, "filter_apply_order": order},
            ),
            f"FlashInfer can be told what top-p refers to: here {order}.", keeps(kept),
            flags=("RenormalizedBase",),
        )  # fmt: skip


def _typical() -> Iterator[SamplerDraft]:
    for name, mass, kept, says in (
        ("transformers", 0.2, {1, 2, 3}, "all equals of the crossing token stay"),
        ("transformers", 0.5, {1, 2, 3}, "all equals of the crossing token stay at one half, too"),
        ("transformers", 0.9, ALL, "three times 0.2 are less than 0.9"),
        ("llama.cpp", 0.3, {1, 3}, "one by one, in the order in which its library sorts equals"),
        ("llama.cpp", 0.5, {1, 2, 3}, "three times 0.2 exceed one half"),
        ("exllamav2", 0.3, {1}, "the crossing token is lost"),
        ("exllamav2", 0.5, {1, 2}, "the crossing token is lost at one half, too"),
    ):
        params = alone(name, **{{"exllamav2": "typical"}.get(name, "typical_p"): mass})
        yield TYPICAL.case(
            "chain", f"typical.{int(mass * 10)}.{name}", name,
            chain_request(logs((0.4, 0.2, 0.2, 0.2)), params),
            f"Typical with mass {mass} on 2/5 and three times 1/5 in {name}: {says}.", keeps(kept),
            meets=True, flags=("Ties",),
        )  # fmt: skip
    for name in ("transformers", "llama.cpp"):
        yield TYPICAL.case(
            "chain", f"typical.impossible.{name}", name,
            chain_request([1.0, 0.0, -inf], alone(name, typical_p=0.9)),
            f"Typical in {name} with an impossible token, for which 0 times the logarithm of 0 counts nothing.",
            keeps({0, 1}), flags=("MinusInfinity",), meets=True,
        )  # fmt: skip
