"""SGLang: its PyTorch sampler, with the penalties of its overlapping scheduler."""

from sampling_ref.engines.draws import Draw
from sampling_ref.engines.profile import (
    Greedy,
    Interval,
    Logprobs,
    OrNone,
    Parameter,
    Profile,
    Stage,
    TokenNumbers,
    Tokens,
    Whole,
    below,
    equals,
    is_empty,
    is_none,
)

PARAMS = "python/sglang/srt/sampling/sampling_params.py"
BATCH = "python/sglang/srt/sampling/sampling_batch_info.py"
SAMPLER = "python/sglang/srt/layers/sampler.py"
PENALTIES = "python/sglang/srt/sampling/penaltylib"

LOWEST_TEMPERATURE = 9.999999974752427e-07
"""0.000001 in 32 bits."""

SGLANG = Profile(
    name="sglang",
    title="SGLang",
    repository="https://github.com/sgl-project/sglang",
    version="0.5.23",
    parameters=(
        Parameter("frequency_penalty", 0.0, Interval(-2, 2), "f32", source=f"{PARAMS}:157"),
        Parameter("presence_penalty", 0.0, Interval(-2, 2), "f32", source=f"{PARAMS}:157"),
        Parameter("min_new_tokens", 0, Whole(0), source=f"{PARAMS}:157"),
        Parameter("stop_token_ids", None, OrNone(Tokens(single=True)), aliases=("eos_token_id",)),
        Parameter(
            "repetition_penalty", 1.0, Interval(0, 2, low_open=True), "f32", source=f"{PARAMS}:252"
        ),
        Parameter("logit_bias", None, OrNone(TokenNumbers()), "f32", source=f"{PARAMS}:157"),
        Parameter("temperature", 1.0, Interval(0), "f32", source=f"{PARAMS}:244"),
        Parameter("top_k", -1, Whole(1, also=-1), source=f"{PARAMS}:252"),
        Parameter("top_p", 1.0, Interval(0, 1, low_open=True), "f32", source=f"{PARAMS}:252"),
        Parameter("min_p", 0.0, Interval(0, 1), "f32", source=f"{PARAMS}:252"),
    ),
    stages=(
        Stage(
            "frequency_penalty",
            {"penalty": "frequency_penalty"},
            {
                "method": "subtract",
                "arithmetic": "at once",
                "scope": "output",
                "window": None,
                "skipped": 0,
            },
            off_if=(equals("frequency_penalty", 0.0),),
            note="A sum to which each token adds the penalty, in 32 bits. All additive penalties "
            "are summed first, then added to the logits.",
            source=f"{PENALTIES}/frequency_penalty.py",
        ),
        Stage(
            "presence_penalty",
            {"penalty": "presence_penalty"},
            {"method": "subtract", "scope": "output", "window": None, "skipped": 0},
            off_if=(equals("presence_penalty", 0.0),),
            source=f"{PENALTIES}/presence_penalty.py",
        ),
        Stage(
            "min_new_tokens",
            {"count": "min_new_tokens", "ends": "stop_token_ids"},
            off_if=(equals("min_new_tokens", 0), is_none("stop_token_ids")),
            source=f"{PENALTIES}/min_new_tokens.py",
        ),
        Stage(
            "repetition_penalty",
            {"penalty": "repetition_penalty"},
            {
                "scope": "output",
                "method": "by sign",
                "counting": "distinct",
                "arithmetic": "division",
                "window": None,
                "skipped": 0,
            },
            off_if=(equals("repetition_penalty", 1.0),),
            note="Output tokens only. Without the overlap schedule, the order of the penalties "
            "is that of a Python set.",
            source=f"{PENALTIES}/repetition_penalty.py:11",
        ),
        Stage(
            "logit_bias",
            {"biases": "logit_bias"},
            {"limit": None},
            off_if=(is_empty("logit_bias"),),
            note="After the grammar's mask, so no bias can revive a token.",
            source=f"{BATCH}:443",
        ),
        Stage(
            "temperature",
            {"temperature": "temperature"},
            {"zero": "error", "added": 0},
            source=f"{SAMPLER}:275",
        ),
        Stage(
            "top_k",
            {"k": "top_k"},
            {"ties": "lowest id", "zero": "error", "beyond": "all", "least": 1},
            off_if=(equals("top_k", -1),),
            note=(
                "A descending sort that is not stable, so it is undefined which of several "
                "equal tokens are kept."
            ),
            source=f"{SAMPLER}:823",
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
                "walked": "downwards",
            },
            off_if=(equals("top_p", 1.0),),
            order="sorted",
            note="Zero if the sum before a token exceeds p; probabilities remain those of the "
            "whole row.",
            source=f"{SAMPLER}:827",
        ),
        Stage(
            "min_p",
            {"m": "min_p"},
            {"equality": "kept", "above_one": "error", "ties": "lowest id", "least": 1},
            off_if=(equals("min_p", 0.0),),
            source=f"{SAMPLER}:785",
        ),
    ),
    draw=Draw(
        "exponential race",
        noise="-log u",
        uniform="torch's exponential, one for each token; with a filter torch.multinomial, one "
        "for each place of the sorted row",
        source=f"{SAMPLER}:785",
    ),
    greedy=Greedy(
        if_any=(below("temperature", LOWEST_TEMPERATURE), equals("top_k", 1)),
        after=(
            *("frequency_penalty", "presence_penalty", "min_new_tokens"),
            *("repetition_penalty", "logit_bias"),
        ),
        note=(
            "The temperature becomes 1 and top_k 1: in a mixed batch the first of the sort, "
            "else argmax."
        ),
        source=f"{PARAMS}:244",
    ),
    logprobs=(
        Logprobs("with the temperature", ("temperature",), f"{SAMPLER}:275"),
        Logprobs("original", ("logit_bias",), f"{SAMPLER}:275"),
    ),
    notes=(
        (
            "In a batch where any row filters, top_p is applied to all rows, and 32-bit sums "
            "above 1 remove tails even at top_p = 1."
        ),
        (
            "The FlashInfer path has other rules for ties, and filters jointly or one after the "
            "other, depending on whether any row has a min_p."
        ),
    ),
)
