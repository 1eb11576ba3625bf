"""exllamav2: `ExLlamaV2Sampler` with its C++ functions."""

from sampling_ref.profiles.domains import Flag, Interval, OrNone, TokenNumbers, Tokens, Whole
from sampling_ref.profiles.model import (
    Condition,
    Draw,
    Greedy,
    Parameter,
    Profile,
    Stage,
    at_least,
    at_most,
    below,
    equals,
    is_empty,
)

SAMPLER = "exllamav2/generator/sampler.py"
NATIVE = "exllamav2/exllamav2_ext/cpp/sampling.cpp"
BINDING = "exllamav2/exllamav2_ext/ext_sampling.cpp"

EXLLAMAV2 = Profile(
    name="exllamav2",
    title="exllamav2",
    repository="https://github.com/turboderp-org/exllamav2",
    version="0.3.2, da07facd (2025-12-09)",
    parameters=(
        Parameter(
            "token_repetition_penalty",
            1.025,
            Interval(0, low_open=True),
            "f32",
            aliases=("repetition_penalty",),
            engine_rule="Nothing is checked anywhere in this engine.",
            source=f"{SAMPLER}:54",
        ),
        Parameter("token_repetition_range", None, OrNone(Whole(0)), engine_rule="-1 is None here."),
        Parameter("token_repetition_decay", 0, Whole(0), source=f"{SAMPLER}:54"),
        Parameter(
            "token_frequency_penalty", 0.0, Interval(), "f32", aliases=("frequency_penalty",)
        ),
        Parameter("token_presence_penalty", 0.0, Interval(), "f32", aliases=("presence_penalty",)),
        Parameter("disallowed_tokens", None, OrNone(Tokens())),
        Parameter("token_bias", None, OrNone(TokenNumbers()), "f32", aliases=("logit_bias",)),
        Parameter("dry_multiplier", 0.0, Interval(0), "f32"),
        Parameter("dry_base", 1.75, Interval(0, low_open=True), "f32"),
        Parameter("dry_allowed_length", 2, Whole(1)),
        Parameter("dry_sequence_breakers", (), Tokens()),
        Parameter("dry_max_ngram", 20, Whole(1)),
        Parameter("temperature", 0.8, Interval(0), "f32"),
        Parameter("temperature_last", default=False, domain=Flag()),
        Parameter("smoothing_factor", 0.0, Interval(), "f32"),
        Parameter("top_k", 50, Whole()),
        Parameter("top_p", 0.8, Interval(), "f32"),
        Parameter("top_a", 0.0, Interval(high=1), "f32"),
        Parameter("min_p", 0.0, Interval(), "f32"),
        Parameter("tfs", 0.0, Interval(), "f32"),
        Parameter("typical", 0.0, Interval(), "f32"),
        Parameter("mirostat", default=False, domain=Flag()),
        Parameter("mirostat_tau", 1.5, Interval(), "f32"),
        Parameter("mirostat_eta", 0.1, Interval(), "f32"),
    ),
    stages=(
        Stage(
            "decaying_penalties",
            {
                "repetition": "token_repetition_penalty",
                "frequency": "token_frequency_penalty",
                "presence": "token_presence_penalty",
                "sustain": "token_repetition_range",
                "decay": "token_repetition_decay",
            },
            off_if=(
                (
                    Condition("token_repetition_penalty", "==", 1.0),
                    Condition("token_frequency_penalty", "==", 0.0),
                    Condition("token_presence_penalty", "==", 0.0),
                ),
            ),
            source=f"{NATIVE}:75",
        ),
        Stage(
            "suppress",
            {"tokens": "disallowed_tokens"},
            off_if=(is_empty("disallowed_tokens"),),
            note="The engine sets -1e30, not minus infinity.",
            source=f"{SAMPLER}:388",
        ),
        Stage(
            "logit_bias",
            {"biases": "token_bias"},
            off_if=(is_empty("token_bias"),),
            source=f"{SAMPLER}:388",
        ),
        Stage(
            "dry_longest",
            {
                "multiplier": "dry_multiplier",
                "base": "dry_base",
                "allowed_length": "dry_allowed_length",
                "breakers": "dry_sequence_breakers",
                "most": "dry_max_ngram",
            },
            off_if=(at_most("dry_multiplier", 0.0),),
            source=f"{SAMPLER}:388",
        ),
        Stage(
            "smoothing",
            {"smoothing_factor": "smoothing_factor"},
            off_if=(at_most("smoothing_factor", 0.0),),
            note="In one step with the temperature.",
            source=f"{BINDING}:156",
        ),
        Stage(
            "temperature",
            {"temperature": "temperature"},
            off_if=(equals("temperature_last", value=True),),
            note="A product with the rounded 1 / temperature.",
            source=f"{NATIVE}:143",
        ),
        Stage(
            "top_k",
            {"k": "top_k"},
            off_if=(at_most("top_k", 0),),
            order="sorted",
            source=f"{NATIVE}:443",
        ),
        Stage(
            "top_p",
            {"p": "top_p"},
            {"boundary": "within"},
            off_if=(at_most("top_p", 0.0), at_least("top_p", 1.0)),
            order="sorted",
            note="The crossing token is dropped; what has less than 1e-6 is left out before.",
            source=f"{NATIVE}:524",
        ),
        Stage(
            "top_a",
            {"a": "top_a"},
            off_if=(at_most("top_a", 0.0),),
            source=f"{NATIVE}:569",
        ),
        Stage(
            "min_p",
            {"m": "min_p"},
            off_if=(at_most("min_p", 0.0), at_least("min_p", 1.0)),
            source=f"{NATIVE}:569",
        ),
        Stage(
            "tail_free",
            {"z": "tfs"},
            {"cut": "centred"},
            off_if=(at_most("tfs", 0.0), at_least("tfs", 1.0)),
            order="sorted",
            source=f"{NATIVE}:680",
        ),
        Stage(
            "typical",
            {"mass": "typical"},
            {"boundary": "short", "ties": "lowest id"},
            off_if=(at_most("typical", 0.0), at_least("typical", 1.0)),
            note="The engine adds probability and logarithm where the definition multiplies; "
            "that slip is not reproduced.",
            source=f"{NATIVE}:748",
        ),
        Stage(
            "mirostat_2",
            {"tau": "mirostat_tau", "eta": "mirostat_eta"},
            {"whose": "kept"},
            off_if=(equals("mirostat", value=False),),
            order="sorted",
            source=f"{NATIVE}:620",
        ),
        Stage(
            "temperature",
            {"temperature": "temperature"},
            off_if=(equals("temperature_last", value=False),),
            note="On probabilities: p ** (1 / temperature).",
            source=f"{BINDING}:147",
        ),
    ),
    draw=Draw(
        "inverse CDF",
        "candidates",
        "reach",
        "as walked",
        uniform="Python's random.random(), times 0.9998",
        source=f"{NATIVE}:872",
    ),
    greedy=Greedy(
        if_any=(below("temperature", 0.01),),
        after=("decaying_penalties", "suppress", "logit_bias", "dry_longest"),
        note="temperature 1 and top_k 1.",
        source=f"{SAMPLER}:388",
    ),
    notes=(
        (
            "XTC in this engine is no coin but an average over both outcomes, and reads beyond its "
            "row; skew and the temperature by entropy (min_temp, max_temp) are not described here."
        ),
        "Random numbers are given as they are; the engine multiplies its own by 0.9998.",
    ),
)
