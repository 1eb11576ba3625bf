"""mistral.rs: the sampler on a CPU."""

from sampling_ref.engines.profile import Draw, Greedy, Logprobs, Parameter, Profile, Stage

SAMPLER = "mistralrs-core/src/sampler.rs"
REQUEST = "mistralrs-core/src/engine/add_request.rs"

MISTRAL_RS = Profile(
    name="mistral.rs",
    title="mistral.rs",
    repository="https://github.com/EricLBuehler/mistral.rs",
    version="9e922623 (2026-08-22)",
    parameters=(
        Parameter("dry_multiplier", 0.0, "[0, inf)", "f32", f"{SAMPLER}:214"),
        Parameter("dry_base", 1.75, "(0, inf)", "f32", f"{SAMPLER}:215"),
        Parameter("dry_allowed_length", 2, "whole [0, inf)", source=f"{SAMPLER}:216"),
        Parameter("dry_sequence_breakers", (), "tokens", source=f"{SAMPLER}:18, 217"),
        Parameter("frequency_penalty", 0.0, "number", "f32", f"{SAMPLER}:68, 1701"),
        Parameter("presence_penalty", 0.0, "number", "f32", f"{SAMPLER}:69, 1702"),
        Parameter("repetition_penalty", 1.0, "(0, inf)", "f32", f"{SAMPLER}:70, 1703"),
        Parameter("logits_bias", None, "token numbers or None", "f32", f"{SAMPLER}:75"),
        Parameter("temperature", 1.0, "[0, inf) or None", "f64", f"{REQUEST}:522"),
        Parameter("top_k", -1, "whole", source=f"{SAMPLER}:64"),
        Parameter("top_p", 1.0, "number", "f32", f"{SAMPLER}:65, {REQUEST}:434"),
        Parameter("min_p", 0.0, "number", "f32", f"{SAMPLER}:66"),
    ),
    aliases={"logit_bias": "logits_bias"},
    engine_rules={
        "dry_sequence_breakers": "By default a line break, a colon, a quotation mark and an "
        "asterisk, each encoded after the letter a, and only the last token counts.",
        "temperature": "Nothing is checked; negative means greedy.",
    },
    stages=(
        Stage(
            "dry_nearby",
            {
                "multiplier": "dry_multiplier",
                "base": "dry_base",
                "allowed_length": "dry_allowed_length",
                "breakers": "dry_sequence_breakers",
            },
            {"most": 50},
            off_if="dry_multiplier == 0.0",
            source=f"{SAMPLER}:1742-1825",
        ),
        Stage(
            "penalties",
            {
                "repetition": "repetition_penalty",
                "frequency": "frequency_penalty",
                "presence": "presence_penalty",
            },
            {"order": "repetition last", "additive_scope": "output", "window": None},
            off_if="repetition_penalty == 1.0 and frequency_penalty == 0.0 and presence_penalty "
            "== 0.0",
            note="Frequency and presence look at the output. The repetition penalty is applied "
            "after them, once, and also looks at the prompt.",
            source=f"{SAMPLER}:1691-1735",
        ),
        Stage(
            "logit_bias",
            {"biases": "logits_bias"},
            {"limit": None},
            off_if="logits_bias is empty",
            note="After the penalties. Suppressed tokens get -1e9, not minus infinity.",
            source=f"{SAMPLER}:20, 1682-1688",
        ),
        Stage(
            "temperature",
            {"temperature": "temperature"},
            {"zero": "error", "added": 0},
            off_if="temperature is None",
            note="Multiplies by 1 / temperature, rounded to 32 bits.",
            source=f"{SAMPLER}:1922",
        ),
        Stage(
            "top_k",
            {"k": "top_k"},
            {"ties": "lowest id", "zero": "error", "beyond": "all", "least": 1},
            off_if="top_k <= 0",
            note="It is undefined which of several equal tokens are kept; here those with the "
            "lowest ids.",
            source=f"{SAMPLER}:469-509, 1619-1626",
        ),
        Stage(
            "top_p",
            {"p": "top_p"},
            {
                "boundary": "reach",
                "ties": "lowest id",
                "zero": "error",
                "base": "what is left",
                "least": 1,
                "walked": "downwards",
            },
            off_if="top_p <= 0.0 or top_p >= 1.0",
            note="The cut is p times the sum of what top_k left.",
            source=f"{SAMPLER}:532, 1628-1638",
        ),
        Stage(
            "min_p",
            {"m": "min_p"},
            {"equality": "removed", "above_one": "error", "ties": "lowest id", "least": 1},
            off_if="min_p <= 0.0 or min_p >= 1.0",
            note="A token with exactly min_p times the largest probability is removed.",
            source=f"{SAMPLER}:1640-1658",
        ),
    ),
    draw=Draw(
        "inverse CDF",
        "vocabulary",
        "exceed",
        uniform="23 bits of Isaac64, f32, times the total (`random.uniforms.rust_weighted_index`)",
        source=f"{SAMPLER}:986-1020",
    ),
    greedy=Greedy(
        condition="temperature is None or temperature < 1e-07",
        after=("dry_nearby", "penalties", "logit_bias"),
        note="The first maximum; NaN, plus infinity and a row without any possible token are "
        "errors.",
        source=f"{SAMPLER}:513-529, 576",
    ),
    logprobs=(Logprobs("before filters", ("temperature",), f"{SAMPLER}:1021, 1924"),),
    notes=(
        "On CUDA and Metal, a request with top_k takes other paths, with separate kernels.",
        (
            "With a draft model `sample_speculative_top_kp_min_p` returns the largest of what "
            "the filters left without drawing, and also filters for top_p = 0 "
            f"({SAMPLER}:899-977)."
        ),
    ),
)
