"""mlx-lm: `make_logits_processors` and `make_sampler`."""

from sampling_ref.engines.profile import Draw, Greedy, Logprobs, Parameter, Profile, Stage

SOURCE = "mlx_lm/sample_utils.py"

MLX_LM = Profile(
    name="mlx-lm",
    title="mlx-lm",
    repository="https://github.com/ml-explore/mlx-lm",
    version="0.32.2",
    parameters=(
        Parameter("logit_bias", None, "token numbers or None", "f32", SOURCE),
        Parameter("repetition_penalty", None, "[0, inf) or None", "f32", SOURCE),
        Parameter("repetition_context_size", 20, "whole [1, inf)", source=SOURCE),
        Parameter("presence_penalty", None, "number or None", "f32", SOURCE),
        Parameter("presence_context_size", 20, "whole [1, inf)", source=SOURCE),
        Parameter("frequency_penalty", None, "number or None", "f32", SOURCE),
        Parameter("frequency_context_size", 20, "whole [1, inf)", source=SOURCE),
        Parameter("temp", 0.0, "[0, inf)", "f64", SOURCE),
        Parameter("top_p", 0.0, "number", "f32", SOURCE),
        Parameter("min_p", 0.0, "[0, 1]", "f64", SOURCE),
        Parameter("min_tokens_to_keep", 1, "whole [1, inf)", source=SOURCE),
        Parameter("xtc_probability", 0.0, "[0, 1]", "f32", SOURCE),
        Parameter("xtc_threshold", 0.1, "[0, 0.5]", "f32", SOURCE),
        Parameter("xtc_special_tokens", (), "tokens", source=SOURCE),
        Parameter("top_k", 0, "whole", source=SOURCE),
    ),
    aliases={"temperature": "temp"},
    engine_rules={
        "repetition_penalty": "0 turns it off, like None.",
        "repetition_context_size": "In the engine, 0 means everything, and -n means everything "
        "except the first n tokens.",
        "temp": "Not checked; a negative number inverts the distribution.",
        "top_p": "Below 2**-150, which is 0 in 32 bits, the engine removes every token; "
        "here it is off.",
        "top_k": "0 or less turns it off. The engine refuses a number that is not below "
        "the size of the vocabulary; here it keeps every token.",
    },
    stages=(
        Stage(
            "logit_bias",
            {"biases": "logit_bias"},
            {"limit": None},
            off_if="logit_bias is empty",
            source=SOURCE,
        ),
        Stage(
            "repetition_penalty",
            {"penalty": "repetition_penalty", "window": "repetition_context_size"},
            {
                "method": "by sign",
                "counting": "distinct",
                "arithmetic": "division",
                "scope": "all",
                "skipped": 0,
            },
            off_if="repetition_penalty is None or repetition_penalty == 0.0",
            note="Prompt and output.",
            source=SOURCE,
        ),
        Stage(
            "presence_penalty",
            {"penalty": "presence_penalty", "window": "presence_context_size"},
            {"scope": "all", "method": "subtract", "skipped": 0},
            off_if="presence_penalty is None or presence_penalty == 0.0",
            source=SOURCE,
        ),
        Stage(
            "frequency_penalty",
            {"penalty": "frequency_penalty", "window": "frequency_context_size"},
            {"scope": "all", "arithmetic": "one by one", "method": "subtract", "skipped": 0},
            off_if="frequency_penalty is None or frequency_penalty == 0.0",
            source=SOURCE,
        ),
        Stage(
            "top_p",
            {"p": "top_p"},
            {
                "ties": "all",
                "boundary": "reach",
                "zero": "error",
                "base": "what is left",
                "least": 1,
                "walked": "downwards",
            },
            off_if="top_p <= 0.0 or top_p >= 1.0",
            note="Before the temperature. Up to 0.32.0, only the highest ids of equal tokens "
            "were kept, and a tiny top_p removed every token.",
            source=SOURCE,
        ),
        Stage(
            "min_p",
            {"m": "min_p", "least": "min_tokens_to_keep"},
            {"equality": "kept", "above_one": "error", "ties": "lowest id"},
            off_if="min_p == 0.0",
            source=SOURCE,
        ),
        Stage(
            "xtc",
            {
                "probability": "xtc_probability",
                "threshold": "xtc_threshold",
                "protected": "xtc_special_tokens",
            },
            {
                "equality": "does not",
                "ties": "all",
                "coin": "at most",
                "least": 1,
                "single": "coin",
                "above_one": "error",
            },
            off_if="xtc_probability <= 0.0",
            note="One random number for a whole batch.",
            source=SOURCE,
        ),
        Stage(
            "top_k",
            {"k": "top_k"},
            {"ties": "lowest id", "zero": "error", "beyond": "all", "least": 1},
            off_if="top_k <= 0",
            note="It is undefined which of several equal tokens are kept; here those with the "
            "lowest ids.",
            source=SOURCE,
        ),
        Stage(
            "temperature",
            {"temperature": "temp"},
            {"zero": "error", "added": 0},
            note="Last: the filters see the distribution without it. Multiplies by the rounded "
            "1 / temp.",
            source=SOURCE,
        ),
    ),
    draw=Draw(
        "inverse CDF",
        uniform="mx.random.uniform: 32 bits of Threefry, below 1",
        source="mlx/random.cpp:392, categorical_inverse_cdf, of mlx 0.32.1 and later",
    ),
    greedy=Greedy(
        condition="temp == 0.0",
        after=("logit_bias", "repetition_penalty", "presence_penalty", "frequency_penalty"),
        note="The largest of the log-probabilities: logits that differ by less than their "
        "rounding are equal there.",
        source=SOURCE,
    ),
    logprobs=(Logprobs("after penalties", ("frequency_penalty",), "mlx_lm/generate.py:398"),),
)
