"""llama.cpp: the chain that its command line tools and its server build."""

from dataclasses import replace

from sampling_ref.engines.llama_cpp_order import LLAMA_32, LLAMA_EXACT
from sampling_ref.engines.profile import Draw, Logprobs, Parameter, Profile, Stage

SAMPLER = "src/llama-sampler.cpp"
SCHEMA = "tools/server/server-schema.cpp"
LARGEST = 2**31 - 1
"""The largest whole number that the engine holds."""

WINDOW = f"whole [-1, {LARGEST}]"

DISCRETE = Draw(
    "discrete distribution",
    "candidates",
    "reach",
    "as walked",
    uniform="libstdc++ double, two words",
    own_stream="libstdc++ mt19937",
    source=f"{SAMPLER}:217",
)
"""What mirostat and adaptive-p draw with."""

LLAMA_CPP = Profile(
    name="llama.cpp",
    title="llama.cpp",
    repository="https://github.com/ggml-org/llama.cpp",
    version="as shipped with llama-cpp-python 0.3.36 (commit 0c1e5709)",
    parameters=(
        Parameter("logit_bias", {}, "token numbers", "f32", "common/sampling.cpp:325"),
        Parameter("repeat_last_n", 64, WINDOW, source=f"{SCHEMA}:126, {SAMPLER}:3209"),
        Parameter("repeat_penalty", 1.0, "(0, inf)", "f32", "common/sampling.cpp:190"),
        Parameter("frequency_penalty", 0.0, "number", "f32", "common/sampling.cpp:195"),
        Parameter("presence_penalty", 0.0, "number", "f32", "common/sampling.cpp:198"),
        Parameter("dry_multiplier", 0.0, "[0, inf)", "f32", f"{SCHEMA}:139"),
        Parameter("dry_base", 1.75, "number", "f32", f"{SCHEMA}:142, {SAMPLER}:3645"),
        Parameter("dry_allowed_length", 2, f"whole [0, {LARGEST}]", source=f"{SCHEMA}:149"),
        Parameter("dry_penalty_last_n", 64, WINDOW, source=f"{SCHEMA}:153, {SAMPLER}:3640"),
        # the engine's default is four strings, see `engine_rules`
        Parameter("dry_sequence_breakers", (), "words", source="common/common.h:261"),
        Parameter("top_n_sigma", -1.0, "number", "f32", f"{SCHEMA}:101"),
        Parameter("top_k", 40, f"whole [{-LARGEST - 1}, {LARGEST}]", source=f"{SCHEMA}:89"),
        Parameter("typical_p", 1.0, "[0, inf)", "f32", f"{SCHEMA}:112"),
        Parameter("top_p", 0.95, "[0, inf)", "f32", f"{SCHEMA}:93"),
        Parameter("min_p", 0.05, "[0, inf)", "f32", f"{SCHEMA}:97"),
        Parameter("xtc_probability", 0.0, "number", "f32", f"{SCHEMA}:104"),
        Parameter("xtc_threshold", 0.1, "[0, inf)", "f32", f"{SCHEMA}:108"),
        Parameter(
            "temp", 0.8, "[0, inf)", "f32", f"{SCHEMA}:116, common/arg.cpp:2019, {SAMPLER}:270"
        ),
        Parameter("dynatemp_range", 0.0, "number", "f32", f"{SCHEMA}:120"),
        Parameter("dynatemp_exponent", 1.0, "[0, inf)", "f32", f"{SCHEMA}:123"),
        Parameter("mirostat", 0, "whole [0, 2]", source=f"{SCHEMA}:157"),
        Parameter("mirostat_tau", 5.0, "number", "f32", f"{SCHEMA}:161"),
        Parameter("mirostat_eta", 0.1, "number", "f32", f"{SCHEMA}:164"),
        Parameter("adaptive_target", -1.0, "[-1, 1]", "f32", f"{SCHEMA}:167"),
        Parameter("adaptive_decay", 0.9, "[0, 0.99]", "f32", f"{SCHEMA}:171, {SAMPLER}:3866"),
        Parameter("min_keep", 0, f"whole [0, {LARGEST}]", source=f"{SCHEMA}:183"),
    ),
    aliases={
        "penalty_last_n": "repeat_last_n",
        "penalty_repeat": "repeat_penalty",
        "repetition_penalty": "repeat_penalty",
        "penalty_freq": "frequency_penalty",
        "penalty_present": "presence_penalty",
        "breakers": "dry_sequence_breakers",
        "typ_p": "typical_p",
        "temperature": "temp",
        "mirostat_mode": "mirostat",
        "mirostat_ent": "mirostat_tau",
        "mirostat_lr": "mirostat_eta",
    },
    engine_rules={
        "logit_bias": "minus infinity is added for tokens that the vocabulary suppresses",
        "repeat_last_n": "the programs refuse -1; the sampler treats it as 0, which is off",
        "repeat_penalty": "its reciprocal must also be finite in 32 bits",
        "dry_multiplier": "negative numbers are accepted, and favour repetition",
        "dry_base": "below 1, the programs use their default and the sampler is off",
        "dry_allowed_length": "the command line accepts negative numbers",
        "dry_penalty_last_n": "the programs refuse -1; the sampler treats it as 0, which is off",
        "dry_sequence_breakers": "strings, by default a line break, a colon, a quotation mark "
        "and an asterisk; here the sequences of tokens that they become",
        "top_k": "the server treats negative numbers as 0",
        "typical_p": "any number; negative ones are like 0",
        "top_p": "the server clamps it to [0, 1]",
        "min_p": "the server clamps it to [0, 1]",
        "xtc_probability": "the server clamps it to [0, 1]",
        "xtc_threshold": "the server clamps it to [0, 1]",
        "temp": "the programs and the sampler treat negative numbers as 0",
        "dynatemp_exponent": "negative numbers are accepted; without entropy they divide by zero",
        "adaptive_target": "the server treats more than 1 as 1; negative numbers turn it off",
        "adaptive_decay": "the sampler clamps it to [0, 0.99]",
    },
    stages=(
        Stage(
            "logit_bias",
            {"biases": "logit_bias"},
            {"limit": None},
            off_if="logit_bias is empty",
            source=f"{SAMPLER}:3902, common/sampling.cpp:325",
        ),
        Stage(
            "penalties",
            {
                "window": "repeat_last_n",
                "repetition": "repeat_penalty",
                "frequency": "frequency_penalty",
                "presence": "presence_penalty",
            },
            {"order": "repetition first", "additive_scope": "all"},
            off_if="repeat_last_n <= 0 or "
            "repeat_penalty == 1.0 and frequency_penalty == 0.0 and presence_penalty == 0.0 or "
            "mirostat != 0",
            note="the window contains accepted tokens; the programs also accept the prompt",
            source=f"{SAMPLER}:2950, off :2885",
        ),
        Stage(
            "dry",
            {
                "multiplier": "dry_multiplier",
                "base": "dry_base",
                "allowed_length": "dry_allowed_length",
                "window": "dry_penalty_last_n",
                "breakers": "dry_sequence_breakers",
            },
            off_if="dry_multiplier == 0.0 or dry_base < 1.0 or dry_penalty_last_n <= 0 or "
            "mirostat != 0",
            source=f"{SAMPLER}:3386, off :3645",
        ),
        Stage(
            "top_n_sigma",
            {"n": "top_n_sigma"},
            {"deviation": "population", "zero": "best", "removed": "stay"},
            off_if="top_n_sigma <= 0.0 or mirostat != 0",
            note="removed tokens stay candidates, at minus infinity",
            source=f"{SAMPLER}:3237",
        ),
        Stage(
            "top_k",
            {"k": "top_k"},
            {"ties": "lowest id", "zero": "error", "beyond": "all", "least": 1},
            off_if="top_k <= 0 or mirostat != 0",
            order="libstdc++",
            note="Of equal tokens it keeps those that std::partial_sort leaves in front.",
            source=f"{SAMPLER}:321",
        ),
        Stage(
            "typical",
            {"mass": "typical_p", "least": "min_keep"},
            {"boundary": "exceed", "ties": "lowest id", "zero": "best"},
            off_if="typical_p >= 1.0 or mirostat != 0",
            order="libstdc++",
            note="leaves the candidates in the order of their distance; if one is impossible, "
            "all distances are NaN, and std::sort treats them as equal",
            source=f"{SAMPLER}:1910",
        ),
        Stage(
            "top_p",
            {"p": "top_p", "least": "min_keep"},
            {
                "zero": "best",
                "boundary": "reach",
                "ties": "lowest id",
                "base": "what is left",
                "walked": "downwards",
            },
            off_if="top_p >= 1.0 or mirostat != 0",
            order="libstdc++",
            source=f"{SAMPLER}:1549",
        ),
        Stage(
            "min_p",
            {"m": "min_p", "least": "min_keep"},
            {"above_one": "best", "equality": "kept", "ties": "lowest id"},
            off_if="min_p <= 0.0 or mirostat != 0",
            note="unsorted candidates keep their order, unless there are too few: then they are "
            "sorted",
            source=f"{SAMPLER}:1749",
        ),
        Stage(
            "xtc",
            {"probability": "xtc_probability", "threshold": "xtc_threshold", "least": "min_keep"},
            {
                "equality": "counts",
                "ties": "highest id",
                "coin": "at most",
                "single": "no coin",
                "above_one": "acts",
                "protected": (),
            },
            off_if="xtc_probability <= 0.0 or xtc_threshold > 0.5 or mirostat != 0",
            order="libstdc++",
            note="sorts, and draws with a separate random stream; does nothing if there is one "
            "candidate",
            source=f"{SAMPLER}:2344",
        ),
        Stage(
            "dynamic_temperature",
            {"temperature": "temp", "spread": "dynatemp_range", "exponent": "dynatemp_exponent"},
            {"in_play": "all"},
            off_if="dynatemp_range <= 0.0 or mirostat != 0",
            order="libstdc++",
            note="does nothing if there is one candidate, whatever the temperature",
            source=f"{SAMPLER}:2133",
        ),
        Stage(
            "temperature",
            {"temperature": "temp"},
            {"zero": "first largest", "added": 0},
            off_if="dynatemp_range > 0.0 and mirostat == 0",
            source=f"{SAMPLER}:265, with mirostat common/sampling.cpp:401",
        ),
        Stage(
            "mirostat_1",
            {"tau": "mirostat_tau", "eta": "mirostat_eta"},
            {"flat": "one", "whose": "kept", "ranks": 100, "whole": "floor", "largest_k": LARGEST},
            off_if="mirostat != 1",
            order="libstdc++",
            draw=DISCRETE,
            note="an impossible candidate among the first hundred leaves one token, and so does "
            "a k of more than 32 bits",
            source=f"{SAMPLER}:2460, common/sampling.cpp:401",
        ),
        Stage(
            "mirostat_2",
            {"tau": "mirostat_tau", "eta": "mirostat_eta"},
            {"whose": "kept"},
            off_if="mirostat != 2",
            order="libstdc++",
            draw=DISCRETE,
            source=f"{SAMPLER}:2573, common/sampling.cpp:404",
        ),
        Stage(
            "adaptive_p",
            {"target": "adaptive_target", "decay": "adaptive_decay"},
            {"width": "reciprocal"},
            off_if="adaptive_target < 0.0 or mirostat != 0",
            draw=DISCRETE,
            note="a target of 0 or more means that adaptive_p is among `samplers`, where it "
            "replaces the final draw",
            source=f"{SAMPLER}:3750, common/sampling.cpp:383",
        ),
    ),
    draw=replace(DISCRETE, method="inverse CDF", source=f"{SAMPLER}:1150"),
    exact=LLAMA_EXACT,
    rounded=LLAMA_32,
    notes=(
        "The samplers are in the order that the programs use without `samplers`.",
        "Not described: grammars, the reasoning budget, infill, sampling on a device.",
    ),
    logprobs=(
        Logprobs("before sampling", "nothing", "tools/server/server-context.cpp:1945"),
        Logprobs("post_sampling_probs", "everything", "tools/server/server-context.cpp:1948"),
    ),
)
