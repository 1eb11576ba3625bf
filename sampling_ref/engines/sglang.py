"""SGLang: its PyTorch sampler, with the penalties of its overlapping scheduler."""

from sampling_ref.engines.profile import Draw, Greedy, Logprobs, Parameter, Profile, Stage

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
        Parameter("frequency_penalty", 0.0, "[-2, 2]", "f32", f"{PARAMS}:157"),
        Parameter("presence_penalty", 0.0, "[-2, 2]", "f32", f"{PARAMS}:157"),
        Parameter("min_new_tokens", 0, "whole [0, inf)", source=f"{PARAMS}:157"),
        Parameter("stop_token_ids", None, "token or tokens or None"),
        Parameter("repetition_penalty", 1.0, "(0, 2]", "f32", f"{PARAMS}:252"),
        Parameter("logit_bias", None, "token numbers or None", "f32", f"{PARAMS}:157"),
        Parameter("temperature", 1.0, "[0, inf)", "f32", f"{PARAMS}:244"),
        Parameter("top_k", -1, "whole [1, inf) or -1", source=f"{PARAMS}:252"),
        Parameter("top_p", 1.0, "(0, 1]", "f32", f"{PARAMS}:252"),
        Parameter("min_p", 0.0, "[0, 1]", "f32", f"{PARAMS}:252"),
    ),
    aliases={"eos_token_id": "stop_token_ids"},
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
            off_if="frequency_penalty == 0.0",
            note="A sum to which each token adds the penalty, in 32 bits. All additive penalties "
            "are summed first, then added to the logits.",
            source=f"{PENALTIES}/frequency_penalty.py",
        ),
        Stage(
            "presence_penalty",
            {"penalty": "presence_penalty"},
            {"method": "subtract", "scope": "output", "window": None, "skipped": 0},
            off_if="presence_penalty == 0.0",
            source=f"{PENALTIES}/presence_penalty.py",
        ),
        Stage(
            "min_new_tokens",
            {"count": "min_new_tokens", "ends": "stop_token_ids"},
            off_if="min_new_tokens == 0 or stop_token_ids is None",
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
            off_if="repetition_penalty == 1.0",
            note="Output tokens only. Without the overlap schedule, the order of the penalties "
            "is that of a Python set.",
            source=f"{PENALTIES}/repetition_penalty.py:11",
        ),
        Stage(
            "logit_bias",
            {"biases": "logit_bias"},
            {"limit": None},
            off_if="logit_bias is empty",
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
            off_if="top_k == -1",
            note="A descending sort that is not stable, so it is undefined which of several "
            "equal tokens are kept.",
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
            off_if="top_p == 1.0",
            order="sorted",
            note="Zero if the sum before a token exceeds p; probabilities remain those of the "
            "whole row.",
            source=f"{SAMPLER}:827",
        ),
        Stage(
            "min_p",
            {"m": "min_p"},
            {"equality": "kept", "above_one": "error", "ties": "lowest id", "least": 1},
            off_if="min_p == 0.0",
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
        condition=f"temperature < {LOWEST_TEMPERATURE} or top_k == 1",
        after=(
            *("frequency_penalty", "presence_penalty", "min_new_tokens"),
            *("repetition_penalty", "logit_bias"),
        ),
        note="The temperature becomes 1 and top_k 1: in a mixed batch the first of the sort, "
        "else argmax.",
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
