"""candle: `LogitsProcessor`, with the repetition penalty that its examples apply."""

from sampling_ref.engines.profile import Draw, Greedy, Parameter, Profile, Stage

GENERATION = "candle-transformers/src/generation/mod.rs"
UTILS = "candle-transformers/src/utils.rs"
EXAMPLE = "candle-examples/examples/llama/main.rs"

CANDLE = Profile(
    name="candle",
    title="candle",
    repository="https://github.com/huggingface/candle",
    version="2a13b0f3 (2026-08-14)",
    parameters=(
        Parameter("repeat_penalty", 1.1, "(0, inf)", "f32", f"{UTILS}:68, {EXAMPLE}:257"),
        Parameter("repeat_last_n", 64, "whole [0, inf)", source=EXAMPLE),
        Parameter("temperature", None, "[0, inf) or None", "f64", f"{GENERATION}:31-35"),
        Parameter("top_k", None, "whole [1, inf) or None", source=f"{GENERATION}:13-15"),
        Parameter("top_p", None, "[0, 1] or None", "f32", f"{GENERATION}:14-15"),
    ),
    aliases={"k": "top_k", "p": "top_p"},
    engine_rules={
        "repeat_penalty": "The default of the examples; the function has none.",
        "repeat_last_n": "The caller's window; 64 in most examples, 128 in the one for Llama.",
        "temperature": "Nothing is checked anywhere in this engine; negative means greedy.",
    },
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
            off_if="repeat_penalty == 1.0",
            note="Once for each token of the slice that the caller passes: the last tokens of "
            "prompt and output.",
            source=f"{UTILS}:68-87",
        ),
        Stage(
            "temperature",
            {"temperature": "temperature"},
            {"zero": "error", "added": 0},
            off_if="temperature is None",
            note="Multiplies by 1 / temperature, rounded to 32 bits.",
            source=f"{GENERATION}:120, candle-core/src/tensor.rs:3070",
        ),
        Stage(
            "top_k",
            {"k": "top_k"},
            {"ties": "lowest id", "zero": "error", "beyond": "all", "least": 1},
            off_if="top_k is None",
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
            off_if="top_p is None or top_p <= 0.0 or top_p >= 1.0",
            note="A stable sort; the probabilities are not scaled up for tokens that top_k "
            "removed.",
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
        condition="temperature is None or temperature < 1e-07",
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
