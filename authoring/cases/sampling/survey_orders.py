"""Where engines disagree on the order of their steps, on windows, on being greedy, on the draw.

One record for each engine, with its own answer, as in `survey_disagreements`.
"""

# A question, its answer and why it is asked stand in one line of a table.

from collections.abc import Iterator, Mapping
from math import inf
from typing import Any, Final

from authoring.cases.sampling.chain_draft import ChainTopic, alone, chain_request
from authoring.cases.sampling.draft import SamplerDraft, gives
from authoring.cases.sampling.row_draft import Topic, becomes, row_request
from authoring.cases.sampling.survey_disagreements import ORDER, is_one, keeps, logs
from tokenref.floats import pack

GREEDY: Final = ChainTopic(
    "disagreements", ("GreedyTie", "EngineProfile"), "docs/engines.md#when-an-engine-draws-nothing"
)
DRAW: Final = ChainTopic(
    "disagreements", ("DrawBoundary", "EngineProfile"), "docs/engines.md#the-order-of-the-steps"
)
WINDOW: Final = Topic(
    "disagreements", ("PenaltyWindow", "EngineProfile"), "docs/engines.md#repetition_penalty"
)

EVEN: Final = [0.0] * 4


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from _windows()
    yield from _penalties()
    yield from _temperature()
    yield from _biases()
    yield from _greedy()
    yield from _draws()


def _windows() -> Iterator[SamplerDraft]:
    for name, op, params, answer in (
        ("llama.cpp", "penalties", {"repeat_penalty": 2.0, "repeat_last_n": 2}, [8, 4, 4]),
        ("candle", "repetition_penalty", {"repeat_penalty": 2.0, "repeat_last_n": 2}, [8, 4, 4]),
        ("mlx-lm", "repetition_penalty", {"repetition_penalty": 2.0, "repetition_context_size": 2}, [8, 4, 4]),
        ("antigravity", "repetition_penalty", {"repetition_penalty": 2.0, "repetition_window": 2}, [8, 4, 4]),
        ("exllamav2", "decaying_penalties", {"token_repetition_penalty": 2.0, "token_repetition_range": 2}, [8, 4, 4]),
        ("exllamav3", "decaying_penalties", {"rep_p": 2.0, "rep_sustain_range": 2}, [8, 8, 4]),
    ):  # fmt: skip
        yield WINDOW.case(
            op, f"window-of-two.{name}", name, row_request([8.0] * 3, [0, 1, 2], **params),
            f"Which of three tokens are in a window of two in {name}.", becomes(*answer),
        )  # fmt: skip
    for window, answer in ((0, [8, 8, 8]), (-1, [8, 8, 8]), (3, [4, 4, 4]), (100, [4, 4, 4])):
        yield WINDOW.case(
            "penalties", f"window-{window}.llama.cpp".replace("--", "-minus-"), "llama.cpp",
            row_request([8.0] * 3, [0, 1, 2], repeat_penalty=2.0, repeat_last_n=window),
            f"A window of {window} over three tokens in llama.cpp, where 0 and -1 switch penalties off.",
            becomes(*answer),
        )  # fmt: skip
    for window in (-1, 0):
        yield WINDOW.case(
            "dry", f"dry-window-{window}.llama.cpp".replace("--", "-minus-"), "llama.cpp",
            row_request([8.0] * 4, [0, 1, 2, 0, 1], dry_multiplier=1.0, dry_penalty_last_n=window),
            f"A window of {window} switches DRY off in llama.cpp.", becomes(8, 8, 8, 8),
            spec="docs/engines.md#dry", flags=("Dry",),
        )  # fmt: skip
    for ignored, answer in ((0, [6, 7, 8]), (1, [7, 7, 8]), (2, [8, 7, 8]), (3, [8, 7, 8])):
        yield WINDOW.case(
            "frequency_penalty", f"ignored-{ignored}.tensorrt-llm", "tensorrt-llm",
            row_request(
                [8.0] * 3, [0, 0, 1], prompt_length=2,
                frequency_penalty=1.0, prompt_ignore_length=ignored,
            ),
            f"TensorRT-LLM ignores the first {ignored} tokens of the prompt.", becomes(*answer),
            spec="docs/engines.md#frequency_penalty", flags=("PenaltyScope",),
        )  # fmt: skip
    for size, answer in ((20, [8, 4]), (21, [4, 4])):
        yield WINDOW.case(
            "repetition_penalty", f"window-{size}.mlx-lm", "mlx-lm",
            row_request(
                [8.0, 8.0], [0] + [1] * 20, repetition_penalty=2.0, repetition_context_size=size
            ),
            f"mlx-lm looks at the last {size} tokens; token 0 is twenty-one tokens back.",
            becomes(*answer),
        )  # fmt: skip


NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    **{key: {} for key in ("vllm", "sglang", "mistral.rs", "tensorrt-llm", "mlx-lm")},
    "llama.cpp": {"repetition_penalty": "repeat_penalty"},
    "exllamav2": {
        "repetition_penalty": "token_repetition_penalty",
        "frequency_penalty": "token_frequency_penalty",
    },
    "exllamav3": {"repetition_penalty": "rep_p", "frequency_penalty": "freq_p"},
}
"""The engines that have both penalties, and what they call them."""

ADDITIVE_FIRST: Final = {"sglang", "mistral.rs"}


def _penalties() -> Iterator[SamplerDraft]:
    for name, names in NAMES.items():
        first = "subtracts first" if name in ADDITIVE_FIRST else "divides first"
        for slug, logit, frequency, other, is_even in (
            ("to-zero", 2.0, 1.0, 0.0, name not in ADDITIVE_FIRST),
            ("to-one-half", 2.0, 1.0, 0.5, name in ADDITIVE_FIRST),
            ("turns-sign", 1.0, 2.0, -2.0, name in ADDITIVE_FIRST),
        ):
            params = {
                names.get("repetition_penalty", "repetition_penalty"): 2.0,
                names.get("frequency_penalty", "frequency_penalty"): frequency,
            }
            even = gives(probs=pack([0.5, 0.5]))
            yield ORDER.case(
                "distribution", f"penalties-{slug}.{name}", name,
                chain_request([logit, other], alone(name, **params), [0]),
                f"{name} {first}: the logit {logit:g} that occurred once, repetition 2, frequency {frequency:g}, beside {other:g}.",
                *([even] if is_even else []),
                flags=("PenaltyOrder",), spec="docs/engines.md#penalties",
            )  # fmt: skip


FIRST: Final[tuple[tuple[str, dict[str, Any]], ...]] = tuple(
    (name, {"temperature": 2.0})
    for name in (
        *("transformers", "vllm", "sglang", "flashinfer", "mistral.rs", "exllamav2", "exllamav3"),
        *("candle", "tensorrt-llm", "chatstream", "openai", "antigravity"),
    )
)
LAST: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("llama.cpp", {"temp": 2.0}),
    ("mlx-lm", {"temp": 2.0}),
    ("exllamav2", {"temperature": 2.0, "temperature_last": True}),
    ("exllamav3", {"temperature": 2.0, "temp_last": True}),
)
WITHOUT_MIN_P: Final = {"candle", "tensorrt-llm", "chatstream", "openai", "antigravity"}
DROPPING: Final = {"exllamav2", "exllamav3"}


def _temperature() -> Iterator[SamplerDraft]:
    for place, engines in (("first", FIRST), ("last", LAST)):
        for name, params in engines:
            slug = f"{name}-last" if place == "last" and "exllama" in name else name
            if name not in WITHOUT_MIN_P:
                yield ORDER.case(
                    "chain", f"temperature-min_p.{slug}", name,
                    chain_request(logs((0.8, 0.2)), alone(name, min_p=0.3, **params)),
                    f"The temperature comes {place} in {name}: 1/5 is less than 0.3 of 4/5, but at temperature 2 the two stand as 2 to 1.",
                    keeps({0, 1} if place == "first" else {0}), spec="docs/engines.md#min_p",
                )  # fmt: skip
            if name not in DROPPING or place == "last":
                yield ORDER.case(
                    "chain", f"temperature-top_p.{slug}", name,
                    chain_request(logs((16 / 25, 9 / 25)), alone(name, top_p=0.6, **params)),
                    f"The temperature comes {place} in {name}: 16/25 is more than 3/5, but at temperature 2 the first token has 4/7.",
                    keeps({0, 1} if place == "first" else {0}), spec="docs/engines.md#top_p",
                )  # fmt: skip
    for name in ("vllm", "transformers", "sglang"):
        yield ORDER.case(
            "distribution", f"temperature-once.{name}", name,
            chain_request([4.0, 2.0, 0.0], alone(name, temperature=2.0)),
            f"The temperature is applied once in {name}; a test with temperature 1 does not notice twice.",
            spec="docs/engines.md#temperature", flags=("Temperature",),
        )  # fmt: skip


def _biases() -> Iterator[SamplerDraft]:
    for name, params, answer in (
        ("transformers", {"sequence_bias": {(0,): 1.0}, "repetition_penalty": 2.0}, 1.0),
        ("llama.cpp", {"logit_bias": {0: 1.0}, "repeat_penalty": 2.0}, 1.0),
        ("vllm", {"logit_bias": {0: 1.0}, "repetition_penalty": 2.0}, 1.0),
        ("mlx-lm", {"logit_bias": {0: 1.0}, "repetition_penalty": 2.0}, 1.0),
        ("exllamav3", {"logit_bias": {0: 1.0}, "rep_p": 2.0}, 1.0),
        ("tensorrt-llm", {"embedding_bias": {0: 1.0}, "repetition_penalty": 2.0}, 1.0),
        ("sglang", {"logit_bias": {0: 1.0}, "repetition_penalty": 2.0}, 1.5),
        ("mistral.rs", {"logits_bias": {0: 1.0}, "repetition_penalty": 2.0}, 1.5),
        ("exllamav2", {"token_bias": {0: 1.0}, "token_repetition_penalty": 2.0}, 1.5),
    ):
        says = (
            "before the penalty, and is divided with the logit"
            if answer == 1
            else "after the penalty, and is not divided"
        )
        yield ORDER.case(
            "distribution", f"bias-and-penalty.{name}", name,
            chain_request([1.0, answer], alone(name, **params), [0]),
            f"In {name} the bias comes {says}; the two tokens end up equal.",
            gives(probs=pack([0.5, 0.5])), flags=("LogitBias",), spec="docs/engines.md#logit_bias",
        )  # fmt: skip
    for name, row, masked in (
        ("vllm", [0.0, 0.0], {"allowed_token_ids": [1], "logit_bias": {0: 100.0}}),
        ("sglang", [-inf, 0.0], {"logit_bias": {0: 100.0}}),
    ):
        yield ORDER.case(
            "distribution", f"bias-and-mask.{name}", name, chain_request(row, masked),
            f"No bias brings a forbidden token back in {name}.", is_one(1, 2),
            flags=("LogitBias", "MinusInfinity"), spec="docs/engines.md#logit_bias",
        )  # fmt: skip


def _greedy() -> Iterator[SamplerDraft]:
    row = [0.0, 2.0, 2.0, 1.0]
    for slug, name, params, token in (
        ("no-sample", "transformers", {"do_sample": False}, 1),
        ("zero", "llama.cpp", {"temp": 0.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}, 1),
        ("zero", "vllm", {"temperature": 0.0}, 1),
        ("below", "sglang", {"temperature": 9e-7}, 1),
        ("k-of-one", "sglang", {"top_k": 1}, 1),
        ("default", "candle", {}, 1),
        ("below", "candle", {"temperature": 9e-8}, 1),
        ("none", "mistral.rs", {"temperature": None}, 1),
        ("below", "mistral.rs", {"temperature": 9e-8}, 1),
        ("default", "mlx-lm", {}, 1),
        ("below", "exllamav2", {"temperature": 0.009}, 1),
        ("zero", "exllamav3", {"temperature": 0.0}, 1),
        ("k-of-one", "exllamav3", {"top_k": 1}, 1),
        ("default", "tensorrt-llm", {}, 1),
        ("zero", "tensorrt-llm", {"temperature": 0.0}, 1),
        ("k-of-one", "tensorrt-llm", {"top_k": 1}, 1),
        ("p-of-zero", "tensorrt-llm", {"top_p": 0.0}, 1),
        ("zero", "openai", {"temperature": 0.0}, 1),
        ("zero", "antigravity", {"temperature": 0.0}, 2),
    ):
        which = "the last" if token == 2 else "the first"
        for op, proof in (("distribution", is_one(token, 4)), ("sample", gives(token=token))):
            if op == "sample" and slug in {"k-of-one", "p-of-zero", "below"}:
                continue
            numbers = [0.5] if name == "llama.cpp" else []
            kind = "its law" if op == "distribution" else "its token, whatever the random numbers"
            yield GREEDY.case(
                op, f"greedy-{slug}.{name}", name,
                chain_request(row, params, uniforms=numbers if op == "sample" else None),
                f"{name} is greedy with {params or 'its defaults'} and takes {which} of equals: {kind}.",
                proof, flags=("TemperatureZero",), meets=True,
            )  # fmt: skip
    for name, params in (
        ("sglang", {"temperature": 2e-6}),
        ("candle", {"temperature": 2e-7}),
        ("mistral.rs", {"temperature": 2e-7}),
        ("vllm", {"temperature": 1e-6}),
        ("exllamav2", alone("exllamav2", temperature=0.005, temperature_last=True)),
    ):
        yield GREEDY.case(
            "chain", f"not-greedy.{name}", name, chain_request(row, params),
            f"From its own threshold on {name} draws, however low the temperature.",
            flags=("TemperatureZero",), meets=True,
        )  # fmt: skip
    yield GREEDY.case(
        "distribution", "raised.vllm", "vllm", chain_request([0.0, 2.0**-10], {"temperature": 1e-6}),
        "vLLM raises a temperature below a hundredth rather than be greedy, so that the other token keeps its share.",
        flags=("TemperatureZero",), meets=True,
    )  # fmt: skip


def _draws() -> Iterator[SamplerDraft]:
    for name, token in (
        *((name, 2) for name in ("flashinfer", "mistral.rs", "candle", "openai", "chatstream")),
        *((name, 1) for name in ("llama.cpp", "exllamav2")),
    ):
        yield DRAW.case(
            "sample", f"boundary.{name}", name,
            chain_request(EVEN, alone(name), uniforms=[0.5]),
            f"The number 1/2 meets the sum of the first two of four equal tokens exactly in {name}.",
            gives(token=token), meets=True,
        )  # fmt: skip
    for name, token in (
        *((name, 0) for name in ("llama.cpp", "exllamav2")),
        *((name, 1) for name in ("flashinfer", "mistral.rs", "candle", "openai")),
    ):
        says = (
            "draws the impossible first token" if token == 0 else "passes over the impossible token"
        )
        yield DRAW.case(
            "sample", f"zero.{name}", name,
            chain_request([-inf, 0.0, 0.0], alone(name), uniforms=[0.0]),
            f"With a random number of 0 {name} {says}.", gives(token=token), meets=True,
            flags=("MinusInfinity",),
        )  # fmt: skip
    for k, token in ((3, 0), (2, 2)):
        yield DRAW.case(
            "sample", f"walk-k{k}.candle", "candle",
            chain_request([0.0, 1.0, 2.0], alone("candle", top_k=k), uniforms=[0.0]),
            f"candle walks {'the vocabulary' if k == 3 else 'what top-k sorted'} with top-k {k} of three tokens.",
            gives(token=token), meets=True,
        )  # fmt: skip
