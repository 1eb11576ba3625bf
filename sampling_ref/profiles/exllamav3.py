"""exllamav3: `ComboSampler`, its steps one by one."""

from sampling_ref.profiles.domains import Flag, Interval, OrNone, TokenNumbers, Whole
from sampling_ref.profiles.model import (
    Condition,
    Draw,
    Greedy,
    Parameter,
    Profile,
    Stage,
    at_most,
    equals,
    is_empty,
)

CUSTOM = "exllamav3/generator/sampler/custom.py"
PRESETS = "exllamav3/generator/sampler/presets.py"
PENALTY = "exllamav3/exllamav3_ext/generator/rep_pen.cu"
BASIC = "exllamav3/exllamav3_ext/generator/sampling_basic.cu"

EXLLAMAV3 = Profile(
    name="exllamav3",
    title="exllamav3",
    repository="https://github.com/turboderp-org/exllamav3",
    version="1.4.1, 4f8ad012 (2026-08-08)",
    parameters=(
        Parameter("logit_bias", None, OrNone(TokenNumbers()), "f32", source=f"{CUSTOM}:586"),
        Parameter(
            "rep_p",
            1.0,
            Interval(0, low_open=True),
            "f32",
            aliases=("repetition_penalty",),
            source=f"{PRESETS}:82",
        ),
        Parameter("rep_sustain_range", 10**8, Whole(0), source=f"{PRESETS}:82"),
        Parameter("rep_decay_range", 0, Whole(0), source=f"{PRESETS}:82"),
        Parameter(
            "freq_p", 0.0, Interval(), "f32", aliases=("frequency_penalty",), source=f"{PRESETS}:82"
        ),
        Parameter(
            "pres_p", 0.0, Interval(), "f32", aliases=("presence_penalty",), source=f"{PRESETS}:82"
        ),
        Parameter(
            "temperature",
            1.0,
            Interval(0),
            "f32",
            engine_rule="Not checked.",
            source=f"{PRESETS}:82",
        ),
        Parameter("temp_last", default=False, domain=Flag(), source=f"{PRESETS}:82"),
        Parameter("min_p", 0.0, Interval(0, 1), "f32", source=f"{CUSTOM}:497"),
        Parameter("top_k", 0, Whole(), source=f"{CUSTOM}:429"),
        Parameter("top_p", 1.0, Interval(0, 1), "f32", source=f"{CUSTOM}:462"),
        Parameter("adaptive_target", 1.0, Interval(0, 1), "f32", source=f"{PRESETS}:82"),
        Parameter("adaptive_decay", 0.9, Interval(0, 0.99), "f32", source=f"{PRESETS}:82"),
    ),
    stages=(
        Stage(
            "logit_bias",
            {"biases": "logit_bias"},
            off_if=(is_empty("logit_bias"),),
            source=f"{CUSTOM}:586",
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
            off_if=(
                (
                    Condition("rep_p", "==", 1.0),
                    Condition("freq_p", "==", 0.0),
                    Condition("pres_p", "==", 0.0),
                ),
                (
                    Condition("rep_sustain_range", "<=", 0),
                    Condition("rep_decay_range", "<=", 0),
                ),
            ),
            note="Without a decay the oldest token of the range is not seen.",
            source=f"{PENALTY}:51",
        ),
        Stage(
            "temperature",
            {"temperature": "temperature"},
            off_if=(equals("temp_last", value=True), equals("temperature", 1.0)),
            source=f"{PRESETS}:82",
        ),
        Stage(
            "min_p",
            {"m": "min_p"},
            off_if=(equals("min_p", 0.0),),
            source=f"{CUSTOM}:502",
        ),
        Stage(
            "top_k",
            {"k": "top_k"},
            off_if=(at_most("top_k", 0),),
            order="sorted",
            note="The fused kernel keeps all equals.",
            source=f"{CUSTOM}:429",
        ),
        Stage(
            "top_p",
            {"p": "top_p"},
            {"boundary": "within", "zero": "best"},
            off_if=(equals("top_p", 1.0),),
            order="sorted",
            note="The crossing token is dropped; the fused kernel keeps it.",
            source=f"{CUSTOM}:467",
        ),
        Stage(
            "temperature",
            {"temperature": "temperature"},
            off_if=(equals("temp_last", value=False), equals("temperature", 1.0)),
            source=f"{PRESETS}:82",
        ),
        Stage(
            "adaptive_p",
            {"target": "adaptive_target", "decay": "adaptive_decay"},
            off_if=(equals("adaptive_target", 1.0),),
            source=f"{PRESETS}:82",
        ),
    ),
    draw=Draw(
        "Gumbel-max",
        noise="-log u",
        uniform="curand: 32 bits, in (0, 1], of Philox4x32-10",
        source=f"{BASIC}:16",
    ),
    greedy=Greedy(
        if_any=(equals("temperature", 0.0), equals("top_k", 1)),
        after=("logit_bias", "decaying_penalties"),
        source=f"{PRESETS}:82",
    ),
    notes=("Logits come in 16 bits; the steps calculate in 32.",),
)
