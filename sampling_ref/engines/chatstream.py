"""ChatStream: the three penalties of the published article, and the scenario around them."""

from sampling_ref.engines.draws import Draw
from sampling_ref.engines.profile import Parameter, Profile, Stage

ARTICLE = "Three penalties for LLM sampling (Qualiteg)"
CODE = f"{ARTICLE}, the processors' code"
SCALAR = "Any number; here a divisor must be above 0."
REPETITION = {"counting": "distinct", "arithmetic": "division"}


def _penalty(step: str, method: str, unless: str, **more: str) -> Stage:
    return Stage(
        step,
        {"penalty": step},
        {"method": method, "scope": "all", "window": None, "skipped": 0, **more},
        off_if=f"{step} is None or penalty_method == '{unless}'",
        source=CODE,
    )


CHATSTREAM = Profile(
    name="chatstream",
    title="ChatStream",
    repository="the published article",
    version=ARTICLE,
    parameters=(
        Parameter(
            "penalty_method", "multiplicative", "one of multiplicative, subtractive", source=CODE
        ),
        Parameter("repetition_penalty", None, "(-inf, inf) or None", "f64", source=CODE),
        Parameter("frequency_penalty", None, "(-inf, inf) or None", "f64", source=CODE),
        Parameter("presence_penalty", None, "(-inf, inf) or None", "f64", source=CODE),
        Parameter("temperature", 1.0, "(0, inf)", "f64", source=f"{ARTICLE}, scenario, step 3"),
        Parameter("top_k", None, "whole [1, inf) or None", source=f"{ARTICLE}, scenario, step 4"),
        Parameter("top_p", None, "[0, 1] or None", "f64", source=f"{ARTICLE}, scenario, step 5"),
    ),
    engine_rules={
        "penalty_method": "Each processor has its own.",
        "repetition_penalty": SCALAR,
        "frequency_penalty": SCALAR,
        "presence_penalty": SCALAR,
    },
    stages=(
        _penalty("repetition_penalty", "divide", "subtractive", **REPETITION),
        _penalty("repetition_penalty", "subtract", "multiplicative", **REPETITION),
        _penalty("frequency_penalty", "divide", "subtractive", arithmetic="at once"),
        _penalty("frequency_penalty", "subtract", "multiplicative", arithmetic="at once"),
        _penalty("presence_penalty", "divide", "subtractive"),
        _penalty("presence_penalty", "subtract", "multiplicative"),
        Stage(
            "temperature",
            {"temperature": "temperature"},
            {"zero": "error", "added": 0},
            source=f"{ARTICLE}, scenario, step 3",
        ),
        Stage(
            "top_k",
            {"k": "top_k"},
            {"ties": "lowest id", "zero": "error", "beyond": "all", "least": 1},
            off_if="top_k is None",
            source=f"{ARTICLE}, scenario, step 4",
        ),
        Stage(
            "top_p",
            {"p": "top_p"},
            {
                "boundary": "exceed",
                "zero": "best",
                "ties": "lowest id",
                "base": "what is left",
                "least": 1,
                "walked": "downwards",
            },
            off_if="top_p is None",
            note="Tokens are chosen until the running sum exceeds p.",
            source=f"{ARTICLE}, scenario, step 5",
        ),
    ),
    draw=Draw("inverse CDF", uniform="not said", source=f"{ARTICLE}, scenario, step 6"),
    notes=(
        (
            "Dividing by a penalty makes a token with a negative logit more likely; the code "
            "divides whatever the sign."
        ),
        (
            "The frequency penalty divides by penalty ** count; the article's example multiplies "
            "instead (`sampling_ref.chatstream` reproduces both)."
        ),
        "The processors can be combined in any order; this is the order of the example.",
    ),
)
