"""candle: `LogitsProcessor`, with the repetition penalty that its examples apply."""

from sampling_ref.engines.draws import Draw
from sampling_ref.engines.profile import (
    Greedy,
    Interval,
    OrNone,
    Parameter,
    Profile,
    Stage,
    Whole,
    at_least,
    at_most,
    below,
    equals,
    is_none,
)

GENERATION = "candle-transformers/src/generation/mod.rs"
UTILS = "candle-transformers/src/utils.rs"
EXAMPLE = "candle-examples/examples/llama/main.rs"

CANDLE = Profile(
    name="candle",
    title="candle",
    repository="https://github.com/huggingface/candle",
    version="2a13b0f3 (2026-08-14)",
    parameters=(
        Parameter(
            "repeat_penalty",
            1.1,
            Interval(0, low_open=True),
            "f32",
            engine_rule="The default of the examples; the function has none.",
            source=f"{UTILS}:68, {EXAMPLE}:257",
        ),
        Parameter(
            "repeat_last_n",
            64,
            Whole(0),
            engine_rule="The caller's window; 64 in most examples, 128 in the one for Llama.",
            source=EXAMPLE,
        ),
        Parameter(
            "temperature",
            None,
            OrNone(Interval(0)),
            "f64",
            engine_rule="Nothing is checked anywhere in this engine; negative means greedy.",
            source=f"{GENERATION}:31-35",
        ),
        Parameter("top_k", None, OrNone(Whole(1)), aliases=("k",), source=f"{GENERATION}:13-15"),
        Parameter(
            "top_p",
            None,
            OrNone(Interval(0, 1)),
            "f32",
            aliases=("p",),
            source=f"{GENERATION}:14-15",
        ),
    ),
    stages=(
        Stage(
            "repetition_penalty",
            {"penalty": "repeat_penalty", "window": "repeat_last_n"},
            {
                "method": "by sign",
                "counting": "distinct",
                "arithmetic": "division",
                "scope": "all",
                "skipped": 0,
            },
            off_if=(equals("repeat_penalty", 1.0),),
            note="Once for each token of the slice that the caller passes: the last tokens of "
            "prompt and output.",
            source=f"{UTILS}:68-87",
        ),
        Stage(
            "temperature",
            {"temperature": "temperature"},
            {"zero": "error", "added": 0},
            off_if=(is_none("temperature"),),
            note="Multiplies by 1 / temperature, rounded to 32 bits.",
            source=f"{GENERATION}:120, candle-core/src/tensor.rs:3070",
        ),
        Stage(
            "top_k",
            {"k": "top_k"},
            {"ties": "lowest id", "zero": "error", "beyond": "all", "least": 1},
            off_if=(is_none("top_k"),),
            order="sorted if cut",
            note="Exactly k, in the order of Rust's partition, which is not reproduced here: "
            "the draw walks by falling logit. If k is the whole row, it walks the "
            "vocabulary.",
            source=f"{GENERATION}:84-94",
        ),
        Stage(
            "top_p",
            {"p": "top_p"},
            {
                "base": "the whole row",
                "zero": "off",
                "boundary": "reach",
                "ties": "lowest id",
                "least": 1,
                "walked": "downwards",
            },
            off_if=(is_none("top_p"), at_most("top_p", 0.0), at_least("top_p", 1.0)),
            note=(
                "A stable sort; the probabilities are not scaled up for tokens that top_k removed."
            ),
            source=f"{GENERATION}:64-82, 97-115",
        ),
    ),
    draw=Draw(
        "inverse CDF",
        "candidates",
        "exceed",
        uniform="23 bits of ChaCha12, f32, times the total (`random.uniforms.rust_weighted_index`)",
        source=f"{GENERATION}:55-59",
    ),
    greedy=Greedy(
        if_any=(is_none("temperature"), below("temperature", 1e-7)),
        after=("repetition_penalty",),
        note="`argmax` of a tensor: on a CPU the first of equal numbers.",
        source=f"{GENERATION}:31-48",
    ),
    notes=(
        (
            "GumbelSoftmax, another option of this engine, limits the noise: a token that is "
            "9.7 below the maximum is never drawn (candle-nn/src/sampling.rs:9-22). It is not "
            "described here."
        ),
        (
            "top_k of at least the whole row together with top_p = 0 is an error in the engine: "
            "every probability is set to zero."
        ),
    ),
)
