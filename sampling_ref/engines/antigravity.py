"""Antigravity: the published sample() of a Rust runner for Llama 3.2."""

from sampling_ref.engines.domains import Interval, Whole
from sampling_ref.engines.profile import Condition, Draw, Greedy, Parameter, Profile, Stage

TEXT = "Antigravity, chapter 5, Tokenizer and Sampling"

ANTIGRAVITY = Profile(
    name="antigravity",
    title="Antigravity",
    repository="the published text",
    version=TEXT,
    parameters=(
        Parameter("temperature", 0.8, Interval(0), "f32", source=f"{TEXT}, 5.4"),
        Parameter(
            "top_p",
            0.9,
            Interval(0, 1),
            "f32",
            engine_rule=(
                "Not checked; above 1 it keeps everything that top_k kept, below 0 the first token."
            ),
            source=f"{TEXT}, 5.4",
        ),
        Parameter("top_k", 40, Whole(1), source=f"{TEXT}, 5.4"),
        Parameter(
            "repetition_penalty",
            1.1,
            Interval(0, low_open=True),
            "f32",
            source=f"{TEXT}, 5.4",
        ),
        Parameter("repetition_window", 64, Whole(0), source=f"{TEXT}, 5.4"),
    ),
    stages=(
        Stage(
            "repetition_penalty",
            {"penalty": "repetition_penalty", "window": "repetition_window"},
            {
                "counting": "each occurrence",
                "method": "by sign",
                "arithmetic": "division",
                "scope": "all",
                "skipped": 0,
            },
            source=f"{TEXT}, 5.3, step 1",
        ),
        Stage(
            "temperature",
            {"temperature": "temperature"},
            {"zero": "error", "added": 0},
            source=f"{TEXT}, 5.3, step 2",
        ),
        Stage(
            "top_k",
            {"k": "top_k"},
            {"ties": "lowest id", "zero": "error", "beyond": "all", "least": 1},
            order="sorted",
            note="On probabilities: in 32 bits, logits with equal probabilities are equal.",
            source=f"{TEXT}, 5.3, step 4",
        ),
        Stage(
            "top_p",
            {"p": "top_p"},
            {
                "boundary": "exceed",
                "base": "the whole row",
                "zero": "best",
                "ties": "lowest id",
                "least": 1,
            },
            source=f"{TEXT}, 5.3, step 5",
        ),
    ),
    draw=Draw(
        "subtraction",
        "candidates",
        "reach",
        "as walked",
        uniform="f32 in [0, 1), 24 bits",
        source=f"{TEXT}, 5.3, step 6",
    ),
    greedy=Greedy(
        if_any=((Condition("temperature", "==", 0.0),),),
        ties="last in total order",
        after=("repetition_penalty",),
        source=f"{TEXT}, 5.3, step 2",
    ),
    twins="antigravity",
    notes=(
        (
            "If the 32-bit subtraction leaves a positive rest after the last candidate, the "
            "text returns no token, and a program made from it returned the first candidate. "
            "Here the last one is taken."
        ),
        "In the text, top_k = 0 leaves no token; here it is an error.",
        ("In the text, NaN logits have a place in Rust's total order; a profile refuses NaN."),
    ),
)
