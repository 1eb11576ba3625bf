"""TensorRT-LLM: the PyTorch sampler, with the penalties of the C++ layers before it."""

from sampling_ref.engines.profile import Draw, Greedy, Parameter, Profile, Stage

TORCH = "tensorrt_llm/_torch/pyexecutor/sampling_utils.py"
PARAMS = "tensorrt_llm/sampling_params.py"
KERNEL = "cpp/tensorrt_llm/kernels/penaltyKernels.cu"
RESOLVE = f"{TORCH}: resolve_sampling_strategy"
FILTERS = f"{TORCH}: top_k_top_p_sampling_batch"
FIELDS = f"{PARAMS}: SamplingParams"
PENALTY = f"{KERNEL}: batchApplyPenalty"

TENSORRT_LLM = Profile(
    name="tensorrt-llm",
    title="TensorRT-LLM",
    repository="https://github.com/NVIDIA/TensorRT-LLM",
    version=f"{TORCH} at 053c42c9, {PARAMS} at a98a9061, {KERNEL} at 249d93d5",
    parameters=(
        Parameter("embedding_bias", None, "token numbers or None", "f32", FIELDS),
        Parameter("repetition_penalty", None, "(0, inf) or None", "f32", FIELDS),
        Parameter("presence_penalty", None, "number or None", "f32", FIELDS),
        Parameter("frequency_penalty", None, "number or None", "f32", FIELDS),
        Parameter("prompt_ignore_length", 0, "whole [0, inf)", source=FIELDS),
        Parameter("min_tokens", None, "whole [0, inf) or None", source=FIELDS),
        Parameter("end_id", None, "token or tokens or None", source=FIELDS),
        Parameter("no_repeat_ngram_size", None, "whole [1, inf) or None", source=FIELDS),
        Parameter("temperature", None, "[0, inf) or None", "f32", f"{FIELDS}, {FILTERS}"),
        Parameter("top_k", None, "whole [0, inf) or None", source=f"{FIELDS}, {RESOLVE}"),
        Parameter("top_p", None, "[0, 1] or None", "f32", f"{FIELDS}, {RESOLVE}"),
    ),
    aliases={"logit_bias": "embedding_bias", "eos_token_id": "end_id"},
    engine_rules={
        "embedding_bias": "A row of numbers, one for each token.",
        "repetition_penalty": "Checked by the C++ validator only.",
        "prompt_ignore_length": "At most the length of the prompt is skipped; None is 0.",
        "temperature": "At least 1e-5 if not 0. The C++ layers use 1 / (temperature + 1e-6).",
        "top_p": "The C++ validator refuses 0.",
    },
    stages=(
        Stage(
            "logit_bias",
            {"biases": "embedding_bias"},
            {"limit": None},
            off_if="embedding_bias is empty",
            source=PENALTY,
        ),
        Stage(
            "repetition_penalty",
            {"penalty": "repetition_penalty"},
            {
                "method": "by sign",
                "counting": "distinct",
                "arithmetic": "division",
                "scope": "all",
                "window": None,
                "skipped": 0,
            },
            off_if="repetition_penalty is None or repetition_penalty == 1.0",
            note="Prompt and output, once. In the C++ layers all penalties follow the temperature.",
            source=PENALTY,
        ),
        Stage(
            "presence_penalty",
            {"penalty": "presence_penalty", "skipped": "prompt_ignore_length"},
            {"scope": "all", "method": "subtract", "window": None},
            off_if="presence_penalty is None or presence_penalty == 0.0",
            note="The prompt counts, except for the tokens to be ignored.",
            source=PENALTY,
        ),
        Stage(
            "frequency_penalty",
            {"penalty": "frequency_penalty", "skipped": "prompt_ignore_length"},
            {"scope": "all", "method": "subtract", "arithmetic": "at once", "window": None},
            off_if="frequency_penalty is None or frequency_penalty == 0.0",
            note="The prompt counts, except for the tokens to be ignored.",
            source=PENALTY,
        ),
        Stage(
            "min_new_tokens",
            {"count": "min_tokens", "ends": "end_id"},
            off_if="min_tokens is None or end_id is None",
            note="The engine sets the smallest number of 32 bits, not minus infinity.",
            source=PENALTY,
        ),
        Stage(
            "no_repeat_ngram",
            {"ngram_size": "no_repeat_ngram_size"},
            off_if="no_repeat_ngram_size is None",
            source=f"{FIELDS}: no_repeat_ngram_size",
        ),
        Stage(
            "temperature",
            {"temperature": "temperature"},
            {"zero": "error", "added": 0},
            off_if="temperature is None or temperature == 1.0",
            note="At least 1e-5, which is not reproduced.",
            source=FILTERS,
        ),
        Stage(
            "top_k",
            {"k": "top_k"},
            {"ties": "all", "zero": "error", "beyond": "all", "least": 1},
            off_if="top_k is None or top_k == 0",
            note="Removed if the logit is below the k-th.",
            source=FILTERS,
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
            off_if="top_p is None or top_p >= 1.0",
            note="Removed if the sum before a token exceeds p. The C++ kernel draws below p, so "
            "its crossing token only gets the part up to p.",
            source=FILTERS,
        ),
    ),
    draw=Draw("exponential race", noise="-log u", uniform="torch.multinomial", source=FILTERS),
    greedy=Greedy(
        condition="temperature is None and top_k is None and top_p is None or temperature == 0.0 "
        "or top_k == 1 or top_p == 0.0",
        after=(
            *("logit_bias", "repetition_penalty", "presence_penalty", "frequency_penalty"),
            *("min_new_tokens", "no_repeat_ngram"),
        ),
        note="torch.argmax: on a CPU the first of equal numbers.",
        source=f"{PARAMS}: params_imply_greedy_decoding, {RESOLVE}",
    ),
    notes=(
        (
            "Three files at three different commits; the penalties are those of the C++ layers, "
            "because the PyTorch sampler has none at that commit. prompt_ignore_length was "
            "added to the C++ layers later (pull request 8127); what it skips follows "
            "SamplingParams."
        ),
        (
            "min_p, top_p_decay and its companions are fields of SamplingParams that this "
            "sampler ignores."
        ),
        (
            "To reject drafts, it compares a random number with min(1, p / q). If both are 0, "
            "the quotient is NaN, and the draft is accepted."
        ),
    ),
)
