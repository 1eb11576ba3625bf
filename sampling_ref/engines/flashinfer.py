"""FlashInfer: the sampling kernels, as engines call them on probabilities."""

from sampling_ref.engines.profile import Draw, Parameter, Profile, Stage

PYTHON = "flashinfer/sampling.py"
KERNELS = "include/flashinfer/sampling.cuh"

FLASHINFER = Profile(
    name="flashinfer",
    title="FlashInfer",
    repository="https://github.com/flashinfer-ai/flashinfer",
    version="fb28d724 (2026-08-22)",
    parameters=(
        Parameter("temperature", 1.0, "(0, inf)", "f32", f"{PYTHON}:737"),
        Parameter("top_k", None, "whole [1, inf) or None", source=f"{PYTHON}:1579"),
        Parameter("top_p", None, "(0, 1] or None", "f32", f"{PYTHON}:1579"),
        Parameter("min_p", None, "[0, 1] or None", "f32", f"{PYTHON}:1216"),
        Parameter(
            "filter_apply_order",
            "top_k_first",
            "one of top_k_first, joint",
            source=f"{PYTHON}:1584, 1738",
        ),
    ),
    engine_rules={
        "temperature": "0 is accepted, and makes all logits 0: the uniform distribution.",
        "top_k": "Not checked; with 0 or less nothing is accepted until the fallback.",
        "top_p": "Not checked; with 0 or less nothing is accepted.",
    },
    stages=(
        Stage(
            "temperature",
            {"temperature": "temperature"},
            {"zero": "error", "added": 0},
            off_if="temperature == 1.0",
            note="Multiplies by the rounded 1 / temperature.",
            source=f"{KERNELS}:310, 430, 514",
        ),
        Stage(
            "top_k",
            {"k": "top_k"},
            {"ties": "all", "zero": "error", "beyond": "all", "least": 1},
            off_if="top_k is None",
            note="Accepted if fewer than k are larger. A path for a single k of at most 256 and "
            "65,536 or more tokens keeps exactly k.",
            source=f"{KERNELS}:957, {PYTHON}:1341-1412",
        ),
        Stage(
            "top_p",
            {"p": "top_p"},
            {
                "ties": "all",
                "boundary": "reach",
                "zero": "error",
                "base": "what is left",
                "least": 1,
                "walked": "downwards",
            },
            off_if="top_p is None or filter_apply_order == 'joint'",
            note="Accepted if the sum of larger probabilities is below p.",
            source=f"{KERNELS}:1083",
        ),
        Stage(
            "top_p",
            {"p": "top_p"},
            {
                "ties": "all",
                "base": "the whole row",
                "boundary": "reach",
                "zero": "error",
                "least": 1,
                "walked": "downwards",
            },
            off_if="top_p is None or filter_apply_order == 'top_k_first'",
            note="Both conditions use the probabilities of the whole row.",
            source=f"{KERNELS}:1310",
        ),
        Stage(
            "min_p",
            {"m": "min_p"},
            {"equality": "kept", "above_one": "error", "ties": "lowest id", "least": 1},
            off_if="min_p is None or min_p <= 0.0",
            note="A separate kernel, which callers apply to what the others left; equality is "
            "kept.",
            source=f"{KERNELS}:1132, 1147",
        ),
    ),
    draw=Draw(
        "inverse CDF",
        "vocabulary",
        "exceed",
        uniform="curand: 32 bits, in (0, 1], of Philox4x32-10",
        source=f"{KERNELS}:614, 827-838",
    ),
    notes=(
        (
            "The kernels draw by rejection, with a new number in each round. The distribution "
            "is that of an inverse CDF over the accepted tokens, but the token for given "
            "numbers is not."
        ),
        (
            "Renormalising functions and reference functions in the same repository have two "
            "other rules if a sum equals p exactly."
        ),
        f"From logits it draws by Gumbel-max ({KERNELS}:685-695).",
        (
            "With min_p = 0, the kernel treats tokens of probability 0 as valid. Its random "
            "number can be 1, and then it returns the last token of the row "
            f"({KERNELS}:1166-1196)."
        ),
        "For a row with NaN it returns token 0 and reports it as not valid.",
    ),
)
