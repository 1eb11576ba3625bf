"""ChatStream: the three penalties of the published article, and the scenario around them."""

from sampling_ref.engines.draws import Draw
from sampling_ref.engines.profile import (
    Condition,
    Interval,
    OneOf,
    OrNone,
    Parameter,
    Profile,
    Stage,
    Whole,
)

ARTICLE = "Three penalties for LLM sampling (Qualiteg)"
CODE = f"{ARTICLE}, the processors' code"
SCALAR = "Any number; here a divisor must be above 0."
MULTIPLICATIVE = Condition("penalty_method", "==", "multiplicative")
SUBTRACTIVE = Condition("penalty_method", "==", "subtractive")
REPETITION = {"counting": "distinct", "arithmetic": "division"}


def _penalty(step: str, method: str, unless: Condition, **more: str) -> Stage:
    return Stage(
        step,
        {"penalty": step},
        {"method": method, "scope": "all", "window": None, "skipped": 0, **more},
        off_if=((Condition(step, "is None"),), (unless,)),
        source=CODE,
    )


CHATSTREAM = Profile(
    name="chatstream",
    title="ChatStream",
    repository="the published article",
    version=ARTICLE,
    parameters=(
        Parameter(
            "penalty_method",
            "multiplicative",
            OneOf(("multiplicative", "subtractive")),
            engine_rule="Each processor has its own.",
            source=CODE,
        ),
        Parameter(
            "repetition_penalty", None, OrNone(Interval()), "f64", engine_rule=SCALAR, source=CODE
        ),
        Parameter(
            "frequency_penalty", None, OrNone(Interval()), "f64", engine_rule=SCALAR, source=CODE
        ),
        Parameter(
            "presence_penalty", None, OrNone(Interval()), "f64", engine_rule=SCALAR, source=CODE
        ),
        Parameter(
            "temperature",
            1.0,
            Interval(0, low_open=True),
            "f64",
            source=f"{ARTICLE}, scenario, step 3",
        ),
        Parameter("top_k", None, OrNone(Whole(1)), source=f"{ARTICLE}, scenario, step 4"),
        Parameter(
            "top_p", None, OrNone(Interval(0, 1)), "f64", source=f"{ARTICLE}, scenario, step 5"
        ),
    ),
    stages=(
        _penalty("repetition_penalty", "divide", SUBTRACTIVE, **REPETITION),
        _penalty("repetition_penalty", "subtract", MULTIPLICATIVE, **REPETITION),
        _penalty("frequency_penalty", "divide", SUBTRACTIVE, arithmetic="at once"),
        _penalty("frequency_penalty", "subtract", MULTIPLICATIVE, arithmetic="at once"),
        _penalty("presence_penalty", "divide", SUBTRACTIVE),
        _penalty("presence_penalty", "subtract", MULTIPLICATIVE),
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
            off_if=((Condition("top_k", "is None"),),),
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
            off_if=((Condition("top_p", "is None"),),),
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
