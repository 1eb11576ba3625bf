"""exllamav2: `ExLlamaV2Sampler` with its C++ functions."""

from sampling_ref.engines.profile import Draw, Greedy, Logprobs, Parameter, Profile, Stage

SAMPLER = "exllamav2/generator/sampler.py"
NATIVE = "exllamav2/exllamav2_ext/cpp/sampling.cpp"
BINDING = "exllamav2/exllamav2_ext/ext_sampling.cpp"

NEUTRAL = (
    "token_repetition_penalty == 1.0 and token_frequency_penalty == 0.0 and "
    "token_presence_penalty == 0.0"
)
PENALTIES = {
    "repetition": "token_repetition_penalty",
    "frequency": "token_frequency_penalty",
    "presence": "token_presence_penalty",
}

EXLLAMAV2 = Profile(
    name="exllamav2",
    title="exllamav2",
    repository="https://github.com/turboderp-org/exllamav2",
    version="0.3.2, da07facd (2025-12-09)",
    parameters=(
        Parameter("token_repetition_penalty", 1.025, "(0, inf)", "f32", f"{SAMPLER}:54"),
        Parameter("token_repetition_range", -1, "whole [-1, inf)", source=f"{SAMPLER}:55"),
        Parameter("token_repetition_decay", 0, "whole [0, inf)", source=f"{SAMPLER}:56"),
        Parameter("token_frequency_penalty", 0.0, "number", "f32", f"{SAMPLER}:58"),
        Parameter("token_presence_penalty", 0.0, "number", "f32", f"{SAMPLER}:59"),
        Parameter("blocked_tokens", None, "tokens or None", source=f"{SAMPLER}:316"),
        Parameter("token_bias", None, "token numbers or None", "f32", f"{SAMPLER}:81"),
        Parameter("dry_multiplier", 0.0, "[0, inf)", "f64", f"{SAMPLER}:88"),
        Parameter("dry_base", 1.75, "(0, inf)", "f64", f"{SAMPLER}:87"),
        Parameter("dry_allowed_length", 2, "whole [1, inf)", source=f"{SAMPLER}:86"),
        Parameter("dry_sequence_breakers", (), "tokens", source=f"{SAMPLER}:89"),
        Parameter("dry_max_ngram", 20, "whole [1, inf)", source=f"{SAMPLER}:91"),
        Parameter("temperature", 0.8, "[0, inf)", "f32", f"{SAMPLER}:61"),
        Parameter("temperature_last", default=False, allowed="flag", source=f"{SAMPLER}:74"),
        Parameter("smoothing_factor", 0.0, "number", "f32", f"{SAMPLER}:62"),
        Parameter("top_k", 50, "whole", source=f"{SAMPLER}:66"),
        Parameter("top_p", 0.8, "number", "f32", f"{SAMPLER}:67"),
        Parameter("top_a", 0.0, "[-inf, 1]", "f32", f"{SAMPLER}:68"),
        Parameter("min_p", 0.0, "number", "f32", f"{SAMPLER}:69"),
        Parameter("tfs", 0.0, "number", "f32", f"{SAMPLER}:70"),
        Parameter("typical", 0.0, "number", "f32", f"{SAMPLER}:71"),
        Parameter("mirostat", default=False, allowed="flag", source=f"{SAMPLER}:76"),
        Parameter("mirostat_tau", 1.5, "number", "f32", f"{SAMPLER}:77"),
        Parameter("mirostat_eta", 0.1, "number", "f32", f"{SAMPLER}:78"),
    ),
    aliases={
        "repetition_penalty": "token_repetition_penalty",
        "frequency_penalty": "token_frequency_penalty",
        "presence_penalty": "token_presence_penalty",
        "logit_bias": "token_bias",
    },
    engine_rules={
        "token_repetition_penalty": "Nothing is checked anywhere in this engine.",
        "token_repetition_range": "-1 is the whole sequence.",
        "token_bias": "A row of numbers, one for each token.",
        "dry_sequence_breakers": "By default every token whose text has punctuation or a line "
        "break.",
    },
    stages=(
        Stage(
            "decaying_penalties",
            PENALTIES,
            {"fading": "penalty", "line": "late", "last": "included", "sustain": None, "decay": 0},
            off_if=f"{NEUTRAL} or token_repetition_range != -1",
            note="The whole sequence, including the prompt.",
            source=f"{NATIVE}:66-106",
        ),
        Stage(
            "decaying_penalties",
            {**PENALTIES, "sustain": "token_repetition_range", "decay": "token_repetition_decay"},
            {"fading": "penalty", "line": "late", "last": "included"},
            off_if=f"{NEUTRAL} or token_repetition_range == -1",
            note="A range, then a decay; both from the newest token backwards.",
            source=f"{NATIVE}:66-106",
        ),
        Stage(
            "suppress",
            {"tokens": "blocked_tokens"},
            off_if="blocked_tokens is empty",
            note="The engine sets -1e30, not minus infinity, so a bias can revive them.",
            source=f"{SAMPLER}:422",
        ),
        Stage(
            "logit_bias",
            {"biases": "token_bias"},
            {"limit": None},
            off_if="token_bias is empty",
            note="After the penalties.",
            source=f"{SAMPLER}:427-429",
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
            off_if="dry_multiplier <= 0.0",
            source=f"{SAMPLER}:192-272, 433",
        ),
        Stage(
            "smoothing",
            {"smoothing_factor": "smoothing_factor"},
            off_if="smoothing_factor <= 0.0",
            note="In one step with the temperature, which is divided by the factor once for "
            "every row of a batch, so for the second row it is divided twice.",
            source=f"{BINDING}:153-160, {NATIVE}:144",
        ),
        Stage(
            "temperature",
            {"temperature": "temperature"},
            {"zero": "error", "added": 0},
            off_if="temperature_last == True",
            note="Multiplies by the rounded 1 / temperature.",
            source=f"{NATIVE}:126, 148",
        ),
        Stage(
            "top_k",
            {"k": "top_k"},
            {"ties": "lowest id", "zero": "error", "beyond": "all", "least": 1},
            off_if="top_k <= 0",
            order="heap",
            note="Among equal tokens at the cut, the earlier ones are kept, unless a larger "
            "token follows. Above k = 500 it uses a quicksort, whose order of equal tokens "
            "is not reproduced here.",
            source=f"{NATIVE}:443-521",
        ),
        Stage(
            "top_p",
            {"p": "top_p"},
            {
                "boundary": "fitting",
                "ties": "lowest id",
                "zero": "error",
                "base": "what is left",
                "least": 1,
                "walked": "downwards",
            },
            off_if="top_p <= 0.0 or top_p >= 1.0",
            note="A heap: the token that crosses p is dropped, and smaller ones may still "
            "enter. Tokens below 1e-6 are skipped before. Sorts the kept tokens.",
            source=f"{NATIVE}:524-566",
        ),
        Stage(
            "top_a",
            {"a": "top_a"},
            {"ties": "lowest id", "least": 1},
            off_if="top_a <= 0.0",
            source=f"{NATIVE}:594-617",
        ),
        Stage(
            "min_p",
            {"m": "min_p"},
            {"equality": "kept", "above_one": "error", "ties": "lowest id", "least": 1},
            off_if="min_p <= 0.0 or min_p >= 1.0",
            note="Equality is kept.",
            source=f"{NATIVE}:569-592, 620-639",
        ),
        Stage(
            "tail_free",
            {"z": "tfs"},
            {"cut": "centred", "ties": "lowest id", "least": 1},
            off_if="tfs <= 0.0 or tfs >= 1.0",
            order="sorted",
            source=f"{NATIVE}:642-688",
        ),
        Stage(
            "typical",
            {"mass": "typical"},
            {"boundary": "short", "ties": "lowest id", "least": 1, "zero": "error"},
            off_if="typical <= 0.0 or typical >= 1.0",
            note="Stops before the token at which the sum reaches the mass. The engine adds "
            "probability and logarithm, where the definition uses only the logarithm; this "
            "mistake is not reproduced.",
            source=f"{NATIVE}:748-810",
        ),
        Stage(
            "mirostat_2",
            {"tau": "mirostat_tau", "eta": "mirostat_eta"},
            {"whose": "kept"},
            off_if="mirostat == False",
            order="sorted",
            note="A mu of 0 means that there is none yet, so 2 * tau is used.",
            source=f"{NATIVE}:691-745",
        ),
        Stage(
            "temperature",
            {"temperature": "temperature"},
            {"zero": "error", "added": 0},
            off_if="temperature_last == False",
            note="On probabilities: p ** (1 / temperature).",
            source=f"{BINDING}:217-220, {NATIVE}:195-251",
        ),
    ),
    draw=Draw(
        "inverse CDF",
        "candidates",
        "reach",
        "as walked",
        uniform="Python's random.random(), 32 bits, times 0.9998 "
        "(`random.uniforms.exllamav2_float`)",
        source=f"{BINDING}:270-281, {NATIVE}:872-913",
    ),
    greedy=Greedy(
        condition="temperature < 0.01 and temperature_last == False",
        after=("decaying_penalties", "suppress", "logit_bias", "dry_longest"),
        note="The temperature becomes 1 and top_k 1: the first of the largest tokens.",
        source=f"{BINDING}:147-151, {NATIVE}:456-462",
    ),
    logprobs=(Logprobs("kprobs", "everything", f"{BINDING}:244-256"),),
    notes=(
        (
            "XTC in this engine is not a coin flip but an average over both outcomes, and "
            f"reads beyond its row ({NATIVE}:812-869); skew (u ** e**-skew on sorted "
            f"candidates, {BINDING}:272) and the temperature by entropy (min_temp, max_temp, "
            f"temp_exponent; {NATIVE}:208-234) are not described here."
        ),
        (
            "Random numbers are used as given. The engine multiplies its own by 0.9998, so it "
            "never draws a token in the last 0.0002 of the walk."
        ),
        (
            "dry_range, which forgets old tokens, is not described here. `greedy_clone` copies "
            f"dry_base from dry_allowed_length ({SAMPLER}:129)."
        ),
        f"cfg_scale mixes two rows before everything ({SAMPLER}:390).",
    ),
)
