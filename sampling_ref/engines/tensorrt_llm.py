"""TensorRT-LLM: the PyTorch sampler, with the penalties of the C++ layers before it."""

from sampling_ref.engines.draws import Draw
from sampling_ref.engines.profile import (
    Condition,
    Greedy,
    Interval,
    OrNone,
    Parameter,
    Profile,
    Stage,
    TokenNumbers,
    Tokens,
    Whole,
    at_least,
    equals,
    is_empty,
    is_none,
)

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
        Parameter(
            "embedding_bias",
            None,
            OrNone(TokenNumbers()),
            "f32",
            aliases=("logit_bias",),
            engine_rule="A row of numbers, one for each token.",
            source=FIELDS,
        ),
        Parameter(
            "repetition_penalty",
            None,
            OrNone(Interval(0, low_open=True)),
            "f32",
            engine_rule="Checked by the C++ validator only.",
            source=FIELDS,
        ),
        Parameter("presence_penalty", None, OrNone(Interval()), "f32", source=FIELDS),
        Parameter("frequency_penalty", None, OrNone(Interval()), "f32", source=FIELDS),
        Parameter(
            "prompt_ignore_length",
            0,
            Whole(0),
            engine_rule="At most the length of the prompt is skipped; None is 0.",
            source=FIELDS,
        ),
        Parameter("min_tokens", None, OrNone(Whole(0)), source=FIELDS),
        Parameter(
            "end_id", None, OrNone(Tokens(single=True)), aliases=("eos_token_id",), source=FIELDS
        ),
        Parameter("no_repeat_ngram_size", None, OrNone(Whole(1)), source=FIELDS),
        Parameter(
            "temperature",
            None,
            OrNone(Interval(0)),
            "f32",
            engine_rule="At least 1e-5 if not 0. The C++ layers use 1 / (temperature + 1e-6).",
            source=f"{FIELDS}, {FILTERS}",
        ),
        Parameter("top_k", None, OrNone(Whole(0)), source=f"{FIELDS}, {RESOLVE}"),
        Parameter(
            "top_p",
            None,
            OrNone(Interval(0, 1)),
            "f32",
            engine_rule="The C++ validator refuses 0.",
            source=f"{FIELDS}, {RESOLVE}",
        ),
    ),
    stages=(
        Stage(
            "logit_bias",
            {"biases": "embedding_bias"},
            {"limit": None},
            off_if=(is_empty("embedding_bias"),),
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
            off_if=(is_none("repetition_penalty"), equals("repetition_penalty", 1.0)),
            note="Prompt and output, once. In the C++ layers all penalties follow the temperature.",
            source=PENALTY,
        ),
        Stage(
            "presence_penalty",
            {"penalty": "presence_penalty", "skipped": "prompt_ignore_length"},
            {"scope": "all", "method": "subtract", "window": None},
            off_if=(is_none("presence_penalty"), equals("presence_penalty", 0.0)),
            note="The prompt counts, except for the tokens to be ignored.",
            source=PENALTY,
        ),
        Stage(
            "frequency_penalty",
            {"penalty": "frequency_penalty", "skipped": "prompt_ignore_length"},
            {"scope": "all", "method": "subtract", "arithmetic": "at once", "window": None},
            off_if=(is_none("frequency_penalty"), equals("frequency_penalty", 0.0)),
            note="The prompt counts, except for the tokens to be ignored.",
            source=PENALTY,
        ),
        Stage(
            "min_new_tokens",
            {"count": "min_tokens", "ends": "end_id"},
            off_if=(is_none("min_tokens"), is_none("end_id")),
            note="The engine sets the smallest number of 32 bits, not minus infinity.",
            source=PENALTY,
        ),
        Stage(
            "no_repeat_ngram",
            {"ngram_size": "no_repeat_ngram_size"},
            off_if=(is_none("no_repeat_ngram_size"),),
            source=f"{FIELDS}: no_repeat_ngram_size",
        ),
        Stage(
            "temperature",
            {"temperature": "temperature"},
            {"zero": "error", "added": 0},
            off_if=(is_none("temperature"), equals("temperature", 1.0)),
            note="At least 1e-5, which is not reproduced.",
            source=FILTERS,
        ),
        Stage(
            "top_k",
            {"k": "top_k"},
            {"ties": "all", "zero": "error", "beyond": "all", "least": 1},
            off_if=(is_none("top_k"), equals("top_k", 0)),
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
            off_if=(is_none("top_p"), at_least("top_p", 1.0)),
            note="Removed if the sum before a token exceeds p. The C++ kernel draws below p, so "
            "its crossing token only gets the part up to p.",
            source=FILTERS,
        ),
    ),
    draw=Draw("exponential race", noise="-log u", uniform="torch.multinomial", source=FILTERS),
    greedy=Greedy(
        if_any=(
            (
                Condition("temperature", "is None"),
                Condition("top_k", "is None"),
                Condition("top_p", "is None"),
            ),
            equals("temperature", 0.0),
            equals("top_k", 1),
            equals("top_p", 0.0),
        ),
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
