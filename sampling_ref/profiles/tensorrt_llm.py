"""TensorRT-LLM: the PyTorch sampler, with the penalties of the C++ layers before it."""

from sampling_ref.profiles.domains import Interval, OrNone, TokenNumbers, Tokens, Whole
from sampling_ref.profiles.model import (
    Condition,
    Draw,
    Greedy,
    Parameter,
    Profile,
    Stage,
    at_least,
    equals,
    is_empty,
    is_none,
)

TORCH = "tensorrt_llm/_torch/pyexecutor/sampling_utils.py"
PARAMS = "tensorrt_llm/sampling_params.py"
KERNEL = "cpp/tensorrt_llm/kernels/penaltyKernels.cu"

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
            source=PARAMS,
        ),
        Parameter(
            "repetition_penalty",
            None,
            OrNone(Interval(0, low_open=True)),
            "f32",
            source=PARAMS,
        ),
        Parameter("prompt_ignore_length", 0, Whole(0), source=PARAMS),
        Parameter("presence_penalty", None, OrNone(Interval()), "f32", source=PARAMS),
        Parameter("frequency_penalty", None, OrNone(Interval()), "f32", source=PARAMS),
        Parameter("min_tokens", None, OrNone(Whole(0)), source=PARAMS),
        Parameter("end_id", None, OrNone(Tokens(single=True)), aliases=("eos_token_id",)),
        Parameter("no_repeat_ngram_size", None, OrNone(Whole(1)), source=PARAMS),
        Parameter(
            "temperature",
            None,
            OrNone(Interval(0)),
            "f32",
            engine_rule="The C++ layers take 1 / (temperature + 1e-6).",
            source=PARAMS,
        ),
        Parameter("top_k", None, OrNone(Whole(0)), source=PARAMS),
        Parameter(
            "top_p",
            None,
            OrNone(Interval(0, 1)),
            "f32",
            engine_rule="The C++ validator refuses 0.",
            source=PARAMS,
        ),
    ),
    stages=(
        Stage(
            "logit_bias",
            {"biases": "embedding_bias"},
            off_if=(is_empty("embedding_bias"),),
            source=KERNEL,
        ),
        Stage(
            "repetition_penalty",
            {"penalty": "repetition_penalty", "skipped": "prompt_ignore_length"},
            off_if=(is_none("repetition_penalty"), equals("repetition_penalty", 1.0)),
            note="Prompt and output. In the C++ layers all penalties follow the temperature.",
            source=KERNEL,
        ),
        Stage(
            "presence_penalty",
            {"penalty": "presence_penalty"},
            {"scope": "all"},
            off_if=(is_none("presence_penalty"), equals("presence_penalty", 0.0)),
            note="The prompt counts.",
            source=KERNEL,
        ),
        Stage(
            "frequency_penalty",
            {"penalty": "frequency_penalty"},
            {"scope": "all"},
            off_if=(is_none("frequency_penalty"), equals("frequency_penalty", 0.0)),
            note="The prompt counts.",
            source=KERNEL,
        ),
        Stage(
            "min_new_tokens",
            {"count": "min_tokens", "ends": "end_id"},
            off_if=(is_none("min_tokens"), is_none("end_id")),
            note="The engine sets the smallest number of 32 bits, not minus infinity.",
            source=KERNEL,
        ),
        Stage(
            "no_repeat_ngram",
            {"ngram_size": "no_repeat_ngram_size"},
            off_if=(is_none("no_repeat_ngram_size"),),
            source=KERNEL,
        ),
        Stage(
            "temperature",
            {"temperature": "temperature"},
            off_if=(is_none("temperature"), equals("temperature", 1.0)),
            note="At least 1e-5.",
            source=TORCH,
        ),
        Stage(
            "top_k",
            {"k": "top_k"},
            {"ties": "all"},
            off_if=(is_none("top_k"), equals("top_k", 0)),
            source=TORCH,
        ),
        Stage(
            "top_p",
            {"p": "top_p"},
            {"boundary": "exceed", "zero": "best"},
            off_if=(is_none("top_p"), at_least("top_p", 1.0)),
            note="Removed where the sum before a token exceeds p. The C++ kernel draws below p, "
            "so that its crossing token gets only what is missing to p.",
            source=TORCH,
        ),
    ),
    draw=Draw(
        "exponential race",
        noise="-log u",
        uniform="torch.multinomial",
        source=TORCH,
    ),
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
        source=PARAMS,
    ),
    notes=(
        (
            "Three single files at three commits; the penalties are those of the C++ layers, "
            "because the PyTorch sampler has none at that commit."
        ),
    ),
)
