"""What engines do differently on the same numbers, and bugs that samplers have had.

Disagreements
    There is one record for each engine, with its own answer. The answers were known before the
    reference was written: those of transformers, llama.cpp, vLLM, SGLang and mlx-lm from running
    their code, the others from reading it. The reference must give them. Except for equal logits,
    logarithms equal no threshold exactly, so each cut lies well between two sums or between equal
    tokens.

Bugs
    Each case names the thread in which the bug was reported. The engine is one that is right, and
    the answer is known without the reference.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import exp, inf, log
from typing import Any, Final

from authoring.cases.sampling.chain_draft import ChainTopic, alone, chain_request
from authoring.cases.sampling.draft import SamplerDraft, SamplerPurpose, gives, refuses
from authoring.cases.sampling.row_draft import Topic, becomes, row_request
from tokenref.floats import pack


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from _disagreements_cases()
    yield from _bugs_cases()


# ---- disagreements

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


def _disagreements_cases() -> Iterator[SamplerDraft]:
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


# ---- bugs that no other case covers: penalties, order, greedy

ROWS: Final = Topic("bugs", ("EngineProfile",), "docs/engines.md#repetition_penalty")
CHAINS: Final = ChainTopic("bugs", ("EngineProfile",), "docs/engines.md#the-order-of-the-steps")

BY_ROW: Final[Sequence[tuple[str, str, str, list[float], list[int], int, dict[str, Any], list[float], str, str]]] = (
    ("repetition_penalty", "signs", "transformers", [-2, -0.0, 0, 2], [0, 1, 2, 3], 0, {"repetition_penalty": 2.0}, [-4, -0.0, 0, 1], "PenaltySign", "dividing a negative logit made repeats likelier (transformers#2302, NeMo#8194)"),
    ("repetition_penalty", "compounds", "transformers", [8, 0], [0, 0, 0], 0, {"repetition_penalty": 2.0}, [4, 0], "PenaltyOnce", "the penalty compounded with every occurrence (lattice#312, transformers.js#1062)"),
    ("repetition_penalty", "compounds", "vllm", [8, 0], [0, 0, 0], 1, {"repetition_penalty": 2.0}, [4, 0], "PenaltyOnce", "a token of prompt and output was penalised twice (private-mind#255)"),
    ("repetition_penalty", "padding", "transformers", [2, 2], [0, 0, 1], 3, {"repetition_penalty": 2.0, "prompt_ignore_length": 2}, [2, 1], "PenaltyScope", "padding was counted (text-generation-inference#1765)"),
    ("repetition_penalty", "prompt", "transformers", [2, 2], [0, 1], 1, {"repetition_penalty": 2.0}, [1, 1], "PenaltyScope", "whether the prompt is penalised surprised users (transformers#36642)"),
    ("repetition_penalty", "prompt", "sglang", [2, 2], [0, 1], 1, {"repetition_penalty": 2.0}, [2, 1], "PenaltyScope", "prompt and output were taken for each other (vllm-metal#69)"),
    ("repetition_penalty", "no-op", "sglang", [2, 2], [0], 0, {"repetition_penalty": 2.0}, [1, 2], "PenaltyOff", "the penalty was read and never applied (sglang#28179)"),
    ("repetition_penalty", "twice", "sglang", [8, 2], [0], 0, {"repetition_penalty": 2.0}, [4, 2], "PenaltyOnce", "the penalty was applied twice (sglang-omni#1360)"),
    ("repetition_penalty", "zero-is-off", "mlx-lm", [2, 2], [0], 0, {"repetition_penalty": 0.0}, [2, 2], "PenaltyOff", "a penalty of 0 switches itself off here and is an error elsewhere (mlx_lm/sample_utils.py)"),
    ("frequency_penalty", "output", "vllm", [0, 0], [1] * 10 + [0] * 30, 10, {"frequency_penalty": 0.5}, [-15, 0], "PenaltyScope", "the penalty saw the prompt, and only twenty tokens (vmlx-swift#294, #295, #296)"),
    ("frequency_penalty", "accepted-drafts", "vllm", [1, 1], [1, 0], 0, {"frequency_penalty": 1.0}, [0, 0], "PenaltyCount", "accepted drafts were not in the history (vllm#18902)"),
    ("frequency_penalty", "no-op", "mlx-lm", [2, 2], [0, 0], 0, {"frequency_penalty": 0.5}, [1, 2], "PenaltyOff", "the parameter was accepted and never applied (Rapid-MLX#470, MTPLX#120)"),
    ("penalties", "no-op", "mistral.rs", [2, 2], [0, 0], 0, {"frequency_penalty": 0.5, "presence_penalty": 0.25}, [0.75, 2], "PenaltyOff", "both additive penalties were broken (mistral.rs#158)"),
    ("presence_penalty", "argument-shift", "tensorrt-llm", [1, 0], [0], 1, {"presence_penalty": 0.5}, [0.5, 0], "PenaltyScope", "the length to ignore landed in the place of the next argument (TensorRT-LLM#13633)"),
    ("penalties", "first-of-the-window", "llama.cpp", [2, 2, 2], [0, 1, 2], 0, {"repeat_penalty": 2.0, "repeat_last_n": 2}, [2, 1, 1], "PenaltyWindow", "the first tokens were taken instead of the last (llama-cpp-python#1295)"),
    ("decaying_penalties", "oldest-is-lost", "exllamav3", [2, 2], [0, 1], 0, {"rep_p": 2.0, "rep_sustain_range": 2}, [2, 1], "PenaltyWindow", "without a decay the range loses its oldest token (exllamav3's rep_pen.cu)"),
    ("min_new_tokens", "one-too-long", "vllm", [2, 2], [1, 1, 1], 1, {"min_tokens": 2, "stop_token_ids": [0]}, [2, 2], "LeastLength", "the end was forbidden for one token too long (1Cat-vLLM#533)"),
    ("bad_words", "newest-token", "vllm", [2, 2, 2], [0, 1], 0, {"bad_words": [[0, 1, 2]]}, [2, 2, -inf], "SequenceBias", "the history lacked its newest token (vllm#33433)"),
    ("dry", "exponent", "llama.cpp", [8, 8, 8], [0, 1, 2, 0, 1], 0, {"dry_multiplier": 1.0, "dry_base": 2.0, "dry_allowed_length": 1}, [8, 8, 6], "DryExponent", "DRY's exponent was off by one (aprender#2160)"),
    ("dry", "breakers", "llama.cpp", [8, 8, 8], [0, 1, 2, 0, 1], 0, {"dry_multiplier": 1.0, "dry_sequence_breakers": [[0]]}, [8, 8, 8], "DryBreaker", "DRY's breakers were read and not looked at (mistral.rs#1679, mlxcel#1128)"),
    ("dry_nearby", "last-token-breaks", "mistral.rs", [8, 8, 8], [1, 2, 0, 1], 0, {"dry_multiplier": 1.0, "dry_allowed_length": 1, "dry_sequence_breakers": [1]}, [8, 8, 7], "DryBreaker", "the last token is not tested for being a breaker here (mistralrs-core/src/sampler.rs)"),
    ("dry_longest", "copied-base", "exllamav2", [8, 8, 8, 8], [0, 1, 2, 3, 0, 1, 2], 0, {"dry_multiplier": 1.0}, [8, 8, 8, 6.25], "DryExponent", "a copy took DRY's base from its allowed length (exllamav2/generator/sampler.py)"),
)  # fmt: skip


def _bugs_cases() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for op, slug, name, row, history, prompt, params, answer, flag, says in BY_ROW:
        yield ROWS.case(
            op, f"{slug}.{name}", name,
            row_request([float(logit) for logit in row], history, prompt_length=prompt, **params),
            f"Right in {name}, wrong elsewhere: {says}.", becomes(*answer), flags=(flag,),
            spec=f"docs/engines.md#{op}",
        )  # fmt: skip
    yield from _penalties()
    yield from _chains()
    yield from _controls()


def _penalties() -> Iterator[SamplerDraft]:
    for slug, row, proof in (
        ("even", [2.0, 1.0], gives(probs=pack([0.5, 0.5]))),
        ("shifted", [4.0, 3.0], None),
    ):
        yield CHAINS.case(
            "distribution", f"shift-{slug}", "transformers",
            chain_request(row, {"top_k": 0, "repetition_penalty": 2.0}, [0]),
            f"A division is not invariant under a shift of all logits: {row} (text-generation-webui#3627).",
            *([proof] if proof else []), flags=("PenaltySign",),
        )  # fmt: skip
    yield CHAINS.case(
        "distribution", "prompt-and-output.vllm", "vllm",
        chain_request([2.0, 2.0], {"repetition_penalty": 2.0, "frequency_penalty": 1.0}, [0, 1], prompt_length=1),
        "Repetition sees the prompt and frequency does not: 1 and 0 are left of 2 and 2 (vllm-metal#69).",
        flags=("PenaltyScope", "PenaltyOrder"),
    )  # fmt: skip
    yield CHAINS.case(
        "distribution", "order-of-a-set.sglang", "sglang",
        chain_request(
            [2.0, -2.0, -1.0],
            {"frequency_penalty": 1.0, "presence_penalty": 0.5, "repetition_penalty": 2.0},
            [0, 0, 1],
        ),
        "Three penalties in the order of a Python set: the first token must end up equal to the third (sglang's penaltylib).",
        flags=("PenaltyOrder",),
    )  # fmt: skip


def _chains() -> Iterator[SamplerDraft]:
    halves = logs((0.5, 0.25, 0.125, 0.125))
    yield CHAINS.case(
        "chain", "sigma-and-the-rest", "llama.cpp",
        chain_request(halves, alone("llama.cpp", top_n_sigma=9.0, top_k=1)),
        "Top-n-sigma once took the place of the whole chain; top-k must still act (llama.cpp#13264, #11223).",
        keeps({0}), flags=("ChainOrder",),
    )  # fmt: skip
    yield CHAINS.case(
        "chain", "k-of-one", "vllm", chain_request([0.0, 2.0, 2.0], {"top_k": 1}),
        "Top-k of 1 keeps both of two equal maxima, so that it is not greedy (tpu-inference#3590).",
        keeps({1, 2}), flags=("GreedyTie",), meets=True,
    )  # fmt: skip
    for name, params in (
        ("vllm", {"temperature": 0.0}),
        ("openai", {"temperature": 0.0}),
        ("transformers", {"do_sample": False}),
    ):
        yield CHAINS.case(
            "distribution", f"last-of-equals.{name}", name, chain_request([0.0, 2.0, 2.0], params),
            f"Of equal maxima the last was taken, by its place in an array; {name} takes the first (tt-metal#50687).",
            is_one(1, 3), flags=("GreedyTie",), meets=True,
        )  # fmt: skip
    for u, token in ((0.25, 2), (0.9375, 1)):
        yield CHAINS.case(
            "sample", f"place-for-id-{int(u * 16)}", "llama.cpp",
            chain_request([0.0, 1.0, 2.0], alone("llama.cpp", top_k=2), uniforms=[u]),
            f"With {u} the place among sorted candidates must be turned into an id: {token} (exllamav3#256).",
            gives(token=token), flags=("DrawGivenNumber",),
        )  # fmt: skip
    for name in ("flashinfer", "openai", "mistral.rs"):
        yield CHAINS.case(
            "distribution", f"subnormal.{name}", name, chain_request([0.0, -100.0], alone(name)),
            f"A probability below the normal numbers is small in {name}, and not 0 (flashinfer#769, #774).",
            flags=("Subnormal",),
        )  # fmt: skip
    for temperature in (2.0, 0.5):
        yield CHAINS.case(
            "distribution", f"temperature-{int(temperature * 2)}.vllm", "vllm",
            chain_request([4.0, 2.0, -1.0], {"temperature": temperature}),
            f"The temperature {temperature} was applied twice, and tests with 1 never noticed (RL-Kernel#81).",
            flags=("Temperature",),
        )  # fmt: skip
    for name, params in (
        ("llama.cpp", {"temp": 2.0}),
        ("mlx-lm", {"temp": 2.0}),
        ("vllm", {"temperature": 2.0}),
    ):
        yield CHAINS.case(
            "distribution", f"min_p-and-temperature.{name}", name,
            chain_request(logs((0.8, 0.2)), alone(name, min_p=0.3, **params)),
            f"Where {name} has its temperature decides what min-p removes (llama.cpp#4091, mlxcel#1379).",
            flags=("ChainOrder",),
        )  # fmt: skip
    for name, params in (("vllm", {"temperature": 2.0}), ("llama.cpp", {"temp": 2.0})):
        yield CHAINS.case(
            "distribution", f"top_p-and-temperature.{name}", name,
            chain_request(logs((0.64, 0.36)), alone(name, top_p=0.6, **params)),
            f"Where {name} has its temperature decides what top-p removes (fish-speech#1150, sglang-jax#289).",
            flags=("ChainOrder",),
        )  # fmt: skip


def _controls() -> Iterator[SamplerDraft]:
    """Yield what was reported as a bug and is none: it must not be flagged."""
    row = [3.0, 1.0, 0.0]
    total = log(sum(exp(logit) for logit in row))
    for slug, logits in (("logits", row), ("logprobs", [logit - total for logit in row])):
        yield CHAINS.case(
            "distribution", f"control-{slug}", "vllm", chain_request(logits, {"temperature": 0.5}),
            f"Log-probabilities divided by the temperature give the law of the logits divided by it: here from {slug} (Kimi-Audio#161, right).",
            flags=("Temperature",),
        )  # fmt: skip
