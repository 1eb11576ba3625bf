"""candle: `LogitsProcessor`, with the repetition penalty that its examples apply."""

from sampling_ref.profiles.domains import Interval, OrNone, Whole
from sampling_ref.profiles.model import (
    Draw,
    Greedy,
    Parameter,
    Profile,
    Stage,
    at_least,
    at_most,
    below,
    equals,
    is_none,
)

GENERATION = "candle-transformers/src/generation/mod.rs"
UTILS = "candle-transformers/src/utils.rs"

CANDLE = Profile(
    name="candle",
    title="candle",
    repository="https://github.com/huggingface/candle",
    version="2a13b0f3 (2026-08-14)",
    parameters=(
        Parameter("repeat_penalty", 1.1, Interval(0, low_open=True), "f32", source=f"{UTILS}:68"),
        Parameter(
            "repeat_last_n",
            64,
            Whole(0),
            engine_rule="The caller's window; 64 in most examples, 128 in that for Llama.",
        ),
        Parameter(
            "temperature",
            None,
            OrNone(Interval(0)),
            "f32",
            engine_rule="Nothing is checked anywhere in this engine.",
            source=f"{GENERATION}:31",
        ),
        Parameter("top_k", None, OrNone(Whole(1)), aliases=("k",), source=f"{GENERATION}:10"),
        Parameter(
            "top_p", None, OrNone(Interval(0, 1)), "f32", aliases=("p",), source=f"{GENERATION}:10"
        ),
    ),
    stages=(
        Stage(
            "repetition_penalty",
            {"penalty": "repeat_penalty", "window": "repeat_last_n"},
            off_if=(equals("repeat_penalty", 1.0),),
            source=f"{UTILS}:68",
        ),
        Stage(
            "temperature",
            {"temperature": "temperature"},
            off_if=(is_none("temperature"),),
            note="A product with the rounded 1 / temperature.",
            source=f"{GENERATION}:117",
        ),
        Stage(
            "top_k",
            {"k": "top_k"},
            off_if=(is_none("top_k"),),
            order="sorted",
            note="Exactly k, in the order of Rust's partition, which is not followed here: the "
            "draw walks by falling logit.",
            source=f"{GENERATION}:85",
        ),
        Stage(
            "top_p",
            {"p": "top_p"},
            {"base": "the whole row", "zero": "off"},
            off_if=(is_none("top_p"), at_most("top_p", 0.0), at_least("top_p", 1.0)),
            note="A stable sort; what top_k removed is not made up for.",
            source=f"{GENERATION}:64",
        ),
    ),
    draw=Draw(
        "inverse CDF",
        "candidates",
        "exceed",
        uniform="23 bits of ChaCha12, f32, scaled to the total",
        source=f"{GENERATION}:50",
    ),
    greedy=Greedy(
        if_any=(is_none("temperature"), below("temperature", 1e-7)),
        after=("repetition_penalty",),
        source=f"{GENERATION}:31",
    ),
    notes=(
        (
            "GumbelSoftmax, another choice of this engine, cuts the noise off: a token that lies "
            "9.7 below the maximum is never drawn. It is not described here."
        ),
    ),
)
