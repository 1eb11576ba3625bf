"""OpenAI: what the documentation of its interface says about sampling."""

from sampling_ref.engines.profile import Draw, Greedy, Parameter, Profile, Stage

REFERENCE = "https://platform.openai.com/docs/api-reference/chat/create"
FORMULA = "https://platform.openai.com/docs/advanced-usage#frequency-and-presence-penalties"

OPENAI = Profile(
    name="openai",
    title="OpenAI",
    repository="the published documentation",
    version="2026-08",
    parameters=(
        Parameter("temperature", 1.0, "[0, 2]", "f64", REFERENCE),
        Parameter("top_p", 1.0, "[0, 1]", "f64", REFERENCE),
        Parameter("frequency_penalty", 0.0, "[-2, 2]", "f64", REFERENCE),
        Parameter("presence_penalty", 0.0, "[-2, 2]", "f64", REFERENCE),
        Parameter("logit_bias", {}, "token numbers [-100, 100]", "f64", REFERENCE),
    ),
    stages=(
        Stage(
            "frequency_penalty",
            {"penalty": "frequency_penalty"},
            {
                "scope": "output",
                "method": "subtract",
                "arithmetic": "at once",
                "window": None,
                "skipped": 0,
            },
            off_if="frequency_penalty == 0.0",
            note="The formula counts sampled tokens, so not the prompt.",
            source=FORMULA,
        ),
        Stage(
            "presence_penalty",
            {"penalty": "presence_penalty"},
            {"scope": "output", "method": "subtract", "window": None, "skipped": 0},
            off_if="presence_penalty == 0.0",
            source=FORMULA,
        ),
        Stage(
            "logit_bias",
            {"biases": "logit_bias"},
            {"limit": None},
            off_if="logit_bias is empty",
            note="Added to the logits before sampling; the order of the three sums does not "
            "matter.",
            source=REFERENCE,
        ),
        Stage(
            "temperature",
            {"temperature": "temperature"},
            {"zero": "error", "added": 0},
            off_if="temperature == 1.0",
            source=REFERENCE,
        ),
        Stage(
            "top_p",
            {"p": "top_p"},
            {
                "zero": "best",
                "boundary": "reach",
                "ties": "lowest id",
                "base": "what is left",
                "least": 1,
                "walked": "downwards",
            },
            off_if="top_p >= 1.0",
            note="'The tokens comprising the top_p probability mass': the definition's reading.",
            source=REFERENCE,
        ),
    ),
    draw=Draw("inverse CDF", uniform="not published"),
    greedy=Greedy(
        condition="temperature == 0.0",
        after=("frequency_penalty", "presence_penalty", "logit_bias"),
        note="Not published; this is how a temperature of 0 is commonly understood.",
    ),
    notes=("Only the formula is published; what the servers do cannot be observed.",),
)
