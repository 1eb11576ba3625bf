"""llama.cpp: the chain that its command line tools and its server build."""

from sampling_ref.profiles.domains import Interval, TokenNumbers, TokenSequences, Whole
from sampling_ref.profiles.model import Condition, Draw, Logprobs, Parameter, Profile, Stage

SAMPLER = "src/llama-sampler.cpp"
COMMON = "common/common.h:226"

DISCRETE = Draw(
    "discrete distribution",
    "candidates",
    "reach",
    "as walked",
    uniform="libstdc++ double, two words",
    own_stream="libstdc++ mt19937",
    source=f"{SAMPLER}: llama_sample_dist",
)
"""What mirostat and adaptive-p draw with."""


def _is(parameter: str, value: object) -> Condition:
    return Condition(parameter, "==", value)


MIROSTAT_IS_ON = (Condition("mirostat", "!=", 0),)

LLAMA_CPP = Profile(
    name="llama.cpp",
    title="llama.cpp",
    repository="https://github.com/ggml-org/llama.cpp",
    version="as shipped with llama-cpp-python 0.3.36",
    parameters=(
        Parameter("logit_bias", {}, TokenNumbers(), "f32"),
        Parameter("repeat_last_n", 64, Whole(-1), aliases=("penalty_last_n",)),
        Parameter(
            "repeat_penalty",
            1.0,
            Interval(0, low_open=True),
            "f32",
            aliases=("penalty_repeat", "repetition_penalty"),
        ),
        Parameter("frequency_penalty", 0.0, Interval(), "f32", aliases=("penalty_freq",)),
        Parameter("presence_penalty", 0.0, Interval(), "f32", aliases=("penalty_present",)),
        Parameter("dry_multiplier", 0.0, Interval(0), "f32"),
        Parameter("dry_base", 1.75, Interval(), "f32"),
        Parameter("dry_allowed_length", 2, Whole(0)),
        Parameter("dry_penalty_last_n", 64, Whole(-1)),
        Parameter("dry_sequence_breakers", (), TokenSequences(), aliases=("breakers",)),
        Parameter("top_n_sigma", -1.0, Interval(), "f32"),
        Parameter("top_k", 40, Whole()),
        Parameter("typical_p", 1.0, Interval(0), "f32", aliases=("typ_p",)),
        Parameter("top_p", 0.95, Interval(0), "f32"),
        Parameter("min_p", 0.05, Interval(0), "f32"),
        Parameter("xtc_probability", 0.0, Interval(), "f32"),
        Parameter("xtc_threshold", 0.1, Interval(0), "f32"),
        Parameter("temp", 0.8, Interval(), "f32", aliases=("temperature",)),
        Parameter("dynatemp_range", 0.0, Interval(), "f32"),
        Parameter("dynatemp_exponent", 1.0, Interval(), "f32"),
        Parameter("mirostat", 0, Whole(0, 2)),
        Parameter("mirostat_tau", 5.0, Interval(), "f32"),
        Parameter("mirostat_eta", 0.1, Interval(), "f32"),
        Parameter("adaptive_target", -1.0, Interval(-1, 1), "f32"),
        Parameter("adaptive_decay", 0.9, Interval(0, 0.99), "f32"),
        Parameter("min_keep", 0, Whole(0)),
    ),
    stages=(
        Stage(
            "logit_bias",
            {"biases": "logit_bias"},
            off_if=((Condition("logit_bias", "is empty"),),),
            source=f"{SAMPLER}: llama_sampler_logit_bias_apply",
        ),
        Stage(
            "penalties",
            {
                "window": "repeat_last_n",
                "repetition": "repeat_penalty",
                "frequency": "frequency_penalty",
                "presence": "presence_penalty",
            },
            off_if=(
                (Condition("repeat_last_n", "<=", 0),),
                (
                    _is("repeat_penalty", 1.0),
                    _is("frequency_penalty", 0.0),
                    _is("presence_penalty", 0.0),
                ),
                MIROSTAT_IS_ON,
            ),
            source=f"{SAMPLER}:2950",
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
            off_if=(
                (_is("dry_multiplier", 0.0),),
                (Condition("dry_base", "<", 1.0),),
                (Condition("dry_penalty_last_n", "<=", 0),),
                MIROSTAT_IS_ON,
            ),
            source=f"{SAMPLER}:3386",
        ),
        Stage(
            "top_n_sigma",
            {"n": "top_n_sigma"},
            off_if=((Condition("top_n_sigma", "<=", 0.0),), MIROSTAT_IS_ON),
            source=f"{SAMPLER}: llama_sampler_top_n_sigma_apply",
        ),
        Stage(
            "top_k",
            {"k": "top_k"},
            off_if=((Condition("top_k", "<=", 0),), MIROSTAT_IS_ON),
            order="libstdc++",
            source=f"{SAMPLER}:321",
        ),
        Stage(
            "typical",
            {"mass": "typical_p", "least": "min_keep"},
            {"boundary": "exceed", "ties": "lowest id"},
            off_if=((Condition("typical_p", ">=", 1.0),), MIROSTAT_IS_ON),
            source=f"{SAMPLER}: llama_sampler_typical_apply",
        ),
        Stage(
            "top_p",
            {"p": "top_p", "least": "min_keep"},
            {"zero": "best"},
            off_if=((Condition("top_p", ">=", 1.0),), MIROSTAT_IS_ON),
            order="libstdc++",
            source=f"{SAMPLER}:1549",
        ),
        Stage(
            "min_p",
            {"m": "min_p", "least": "min_keep"},
            {"above_one": "best"},
            off_if=((Condition("min_p", "<=", 0.0),), MIROSTAT_IS_ON),
            source=f"{SAMPLER}: llama_sampler_min_p_apply",
        ),
        Stage(
            "xtc",
            {
                "probability": "xtc_probability",
                "threshold": "xtc_threshold",
                "least": "min_keep",
            },
            off_if=(
                (Condition("xtc_probability", "<=", 0.0),),
                (Condition("xtc_threshold", ">", 0.5),),
                MIROSTAT_IS_ON,
            ),
            order="libstdc++",
            source=f"{SAMPLER}:2345",
        ),
        Stage(
            "dynamic_temperature",
            {
                "temperature": "temp",
                "spread": "dynatemp_range",
                "exponent": "dynatemp_exponent",
            },
            off_if=((Condition("dynatemp_range", "<=", 0.0),), MIROSTAT_IS_ON),
            source=f"{SAMPLER}: llama_sampler_temp_ext_apply",
        ),
        Stage(
            "temperature",
            {"temperature": "temp"},
            {"zero": "first largest"},
            off_if=((Condition("dynatemp_range", ">", 0.0), _is("mirostat", 0)),),
            source=f"{SAMPLER}: llama_sampler_temp_impl",
        ),
        Stage(
            "mirostat_1",
            {"tau": "mirostat_tau", "eta": "mirostat_eta"},
            {"flat": "one", "whose": "kept"},
            off_if=((Condition("mirostat", "!=", 1),),),
            order="libstdc++",
            draw=DISCRETE,
            source=f"{SAMPLER}:2460",
        ),
        Stage(
            "mirostat_2",
            {"tau": "mirostat_tau", "eta": "mirostat_eta"},
            {"whose": "kept"},
            off_if=((Condition("mirostat", "!=", 2),),),
            order="libstdc++",
            draw=DISCRETE,
            source=f"{SAMPLER}:2573",
        ),
        Stage(
            "adaptive_p",
            {"target": "adaptive_target", "decay": "adaptive_decay"},
            off_if=((Condition("adaptive_target", "<", 0.0),), MIROSTAT_IS_ON),
            draw=DISCRETE,
            source=f"{SAMPLER}:3750",
        ),
    ),
    draw=Draw(
        "inverse CDF",
        "candidates",
        "reach",
        "as walked",
        uniform="libstdc++ double, two words",
        own_stream="libstdc++ mt19937",
        source=f"{SAMPLER}: llama_sampler_dist_apply",
    ),
    twins="llama.cpp",
    logprobs=(
        Logprobs("before sampling", "nothing", "tools/server/server-context.cpp"),
        Logprobs("post_sampling_probs", "everything", "tools/server/server-context.cpp"),
    ),
)
