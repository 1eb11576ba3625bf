"""exllamav3: `ComboSampler`, its steps one by one."""

from sampling_ref.engines.profile import Draw, Greedy, Parameter, Profile, Stage

CUSTOM = "exllamav3/generator/sampler/custom.py"
PRESETS = "exllamav3/generator/sampler/presets.py"
PENALTY = "exllamav3/exllamav3_ext/generator/rep_pen.cu"
BASIC = "exllamav3/exllamav3_ext/generator/sampling_basic.cu"
EXTRA = "exllamav3/exllamav3_ext/generator/sampling_extra.cu"
FUSED = "exllamav3/exllamav3_ext/generator/sampling_fused.cu"

EXLLAMAV3 = Profile(
    name="exllamav3",
    title="exllamav3",
    repository="https://github.com/turboderp-org/exllamav3",
    version="1.4.1, 4f8ad012 (2026-08-08)",
    parameters=(
        Parameter("logit_bias", None, "token numbers or None", "f32", f"{CUSTOM}:586"),
        Parameter("rep_p", 1.0, "(0, inf)", "f32", f"{PRESETS}:88"),
        Parameter("rep_sustain_range", 10**8, "whole [0, inf)", source=f"{PRESETS}:91"),
        Parameter("rep_decay_range", 0, "whole [0, inf)", source=f"{PRESETS}:92"),
        Parameter("freq_p", 0.0, "number", "f32", f"{PRESETS}:89"),
        Parameter("pres_p", 0.0, "number", "f32", f"{PRESETS}:90"),
        Parameter("temperature", 1.0, "[0, inf)", "f32", f"{PRESETS}:93"),
        Parameter("temp_last", default=False, allowed="flag", source=f"{PRESETS}:97"),
        Parameter("min_p", 0.0, "[0, 1]", "f32", f"{PRESETS}:94, {CUSTOM}:497"),
        Parameter("top_k", 0, "whole", source=f"{PRESETS}:95, {CUSTOM}:429"),
        Parameter("top_p", 1.0, "[0, 1]", "f32", f"{PRESETS}:96, {CUSTOM}:462"),
        Parameter("adaptive_target", 1.0, "[0, 1]", "f32", f"{PRESETS}:98, {CUSTOM}:890"),
        Parameter("adaptive_decay", 0.9, "[0, 0.99]", "f32", f"{PRESETS}:99, {CUSTOM}:876"),
    ),
    aliases={
        "repetition_penalty": "rep_p",
        "frequency_penalty": "freq_p",
        "presence_penalty": "pres_p",
    },
    engine_rules={
        "rep_p": "Not checked.",
        "temperature": "Not checked.",
        "adaptive_target": "Clamped to [0, 1] at every step.",
        "adaptive_decay": "Clamped to [0, 0.99] at the start, and not afterwards.",
    },
    stages=(
        Stage(
            "logit_bias",
            {"biases": "logit_bias"},
            {"limit": None},
            off_if="logit_bias is empty",
            note="First. Zero, NaN and numbers above the largest 32-bit float are dropped.",
            source=f"{CUSTOM}:586-635",
        ),
        Stage(
            "decaying_penalties",
            {
                "repetition": "rep_p",
                "frequency": "freq_p",
                "presence": "pres_p",
                "sustain": "rep_sustain_range",
                "decay": "rep_decay_range",
            },
            {"fading": "result", "line": "early", "last": "excluded"},
            off_if="rep_p == 1.0 and freq_p == 0.0 and pres_p == 0.0 or "
            "rep_sustain_range <= 0 and rep_decay_range <= 0",
            note="Prompt and output. Without a decay, the oldest token of the range is ignored. "
            "A negative presence penalty has no effect in the engine.",
            source=f"{PENALTY}:48-90, 165-200, {CUSTOM}:791, 856",
        ),
        Stage(
            "temperature",
            {"temperature": "temperature"},
            {"zero": "error", "added": 0},
            off_if="temp_last == True or temperature == 1.0",
            source=f"{PRESETS}:115, {CUSTOM}:353-368",
        ),
        Stage(
            "min_p",
            {"m": "min_p"},
            {"equality": "kept", "above_one": "error", "ties": "lowest id", "least": 1},
            off_if="min_p == 0.0",
            note="Equality is kept.",
            source=f"{PRESETS}:116, {CUSTOM}:499-510",
        ),
        Stage(
            "top_k",
            {"k": "top_k"},
            {"ties": "lowest id", "zero": "error", "beyond": "all", "least": 1},
            off_if="top_k <= 0",
            order="sorted",
            note="The first tokens of a descending sort that is not stable, so it is undefined "
            "which of several equal tokens are kept. The fused kernel keeps all equal "
            "tokens.",
            source=f"{PRESETS}:117, {CUSTOM}:432-438",
        ),
        Stage(
            "top_p",
            {"p": "top_p"},
            {
                "boundary": "within",
                "zero": "best",
                "ties": "lowest id",
                "base": "what is left",
                "least": 1,
                "walked": "downwards",
            },
            off_if="top_p == 1.0",
            order="sorted",
            note="The crossing token is dropped, unless it is the first, whatever the comment "
            "in the engine says. The fused kernel drops it with all equal tokens (within "
            "1/32768 of a logit), but keeps the first ones together.",
            source=f"{PRESETS}:118, {CUSTOM}:464-470, {FUSED}:409-473",
        ),
        Stage(
            "temperature",
            {"temperature": "temperature"},
            {"zero": "error", "added": 0},
            off_if="temp_last == False or temperature == 1.0",
            note="On probabilities: p ** (1 / temperature).",
            source=f"{PRESETS}:119, {CUSTOM}:361-368",
        ),
        Stage(
            "adaptive_p",
            {"target": "adaptive_target", "decay": "adaptive_decay"},
            {"width": "division"},
            off_if="adaptive_target == 1.0",
            note="The engine records the probability when it draws, not when the token is "
            "accepted, and never draws a token with less than 1e-8.",
            source=f"{PRESETS}:122-125, {CUSTOM}:887-924, {EXTRA}:36-50",
        ),
    ),
    draw=Draw(
        "Gumbel-max",
        noise="-log u",
        uniform="curand: 32 bits, in (0, 1], of Philox4x32-10",
        source=f"{BASIC}:16-129",
    ),
    greedy=Greedy(
        condition="temperature == 0.0 or top_k == 1",
        after=("logit_bias", "decaying_penalties"),
        note="torch.argmax: on a CPU the first of equal numbers.",
        source=f"{PRESETS}:109-112",
    ),
    notes=(
        "Logits have 16 bits; the steps calculate in 32.",
        (
            "These are the steps one by one. Unless EXL3_FUSED_SAMPLER=0 is set, one kernel "
            "does everything after the penalties, with other rules for ties "
            f"({CUSTOM}:278-343). Only the noise of a draw is here as in that kernel: it belongs "
            f"to a token ({FUSED}:722-727). The steps alone give it to a place in the sorted row."
        ),
        (
            "XTC, as an average over both outcomes, is a step of this engine but not part of "
            f"ComboSampler ({CUSTOM}:650-735)."
        ),
    ),
)
