"""vLLM: the sampler of its engine version 1, PyTorch path."""

from sampling_ref.engines.profile import Draw, Greedy, Logprobs, Parameter, Profile, Stage

PARAMS = "vllm/sampling_params.py"
SAMPLER = "vllm/v1/sample/sampler.py"
FILTERS = "vllm/v1/sample/ops/topk_topp_sampler.py"
PENALTIES = "vllm/model_executor/layers/utils.py"
PROCESSORS = "vllm/v1/sample/logits_processor/builtin.py"

LOWEST_TEMPERATURE = 0.009999999776482582
"""0.01 in 32 bits."""

VLLM = Profile(
    name="vllm",
    title="vLLM",
    repository="https://github.com/vllm-project/vllm",
    version="0.33.0",
    parameters=(
        Parameter("allowed_token_ids", None, "tokens or None", source=f"{PARAMS}:412"),
        Parameter("bad_words", None, "words or None", source=f"{PARAMS}:420"),
        Parameter("min_tokens", 0, "whole [0, inf)", source=f"{PARAMS}:339"),
        Parameter("stop_token_ids", None, "token or tokens or None"),
        Parameter("logit_bias", None, "token numbers or None", "f32", f"{PARAMS}:409"),
        Parameter("repetition_penalty", 1.0, "(0, inf)", "f32", f"{PARAMS}:304"),
        Parameter("frequency_penalty", 0.0, "[-2, 2]", "f32", f"{PARAMS}:300"),
        Parameter("presence_penalty", 0.0, "[-2, 2]", "f32", f"{PARAMS}:296"),
        Parameter("temperature", 1.0, "[0, 2]", "f32", f"{PARAMS}:308"),
        Parameter("min_p", 0.0, "[0, 1]", "f32", f"{PARAMS}:321"),
        Parameter("top_k", 0, "whole [-1, inf)", source=f"{PARAMS}:318"),
        Parameter("top_p", 1.0, "(0, 1]", "f32", f"{PARAMS}:315"),
    ),
    aliases={"eos_token_id": "stop_token_ids"},
    engine_rules={
        "bad_words": "The engine takes words and tokenizes each with and without a space.",
        "logit_bias": "Clamped to [-100, 100] when requests are read, and nowhere else.",
        "temperature": "Between 0 and 0.01 it is raised to 0.01 with a warning; below 2**-150, "
        "which is 0 in 32 bits, it is 0 here.",
    },
    stages=(
        Stage(
            "allowed_tokens",
            {"tokens": "allowed_token_ids"},
            off_if="allowed_token_ids is None",
            note="First, so no bias can revive a token.",
            source=f"{SAMPLER}:480",
        ),
        Stage(
            "bad_words",
            {"words": "bad_words"},
            {"scope": "output", "ends": ()},
            off_if="bad_words is empty",
            source="vllm/v1/sample/ops/bad_words.py:9",
        ),
        Stage(
            "min_new_tokens",
            {"count": "min_tokens", "ends": "stop_token_ids"},
            off_if="min_tokens == 0 or stop_token_ids is None",
            source=PROCESSORS,
        ),
        Stage(
            "logit_bias",
            {"biases": "logit_bias"},
            {"limit": None},
            off_if="logit_bias is empty",
            source=PROCESSORS,
        ),
        Stage(
            "repetition_penalty",
            {"penalty": "repetition_penalty"},
            {
                "arithmetic": "reciprocal",
                "method": "by sign",
                "counting": "distinct",
                "scope": "all",
                "window": None,
                "skipped": 0,
            },
            off_if="repetition_penalty == 1.0",
            note="Prompt or output, once; multiplies by the rounded 1 / penalty.",
            source="vllm/_custom_ops.py:372",
        ),
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
            source=f"{PENALTIES}:78",
        ),
        Stage(
            "presence_penalty",
            {"penalty": "presence_penalty"},
            {"method": "subtract", "scope": "output", "window": None, "skipped": 0},
            off_if="presence_penalty == 0.0",
            source=f"{PENALTIES}:79",
        ),
        Stage(
            "temperature",
            {"temperature": "temperature"},
            {"zero": "error", "added": 0},
            off_if=f"temperature < {LOWEST_TEMPERATURE}",
            source=f"{SAMPLER}:148",
        ),
        Stage(
            "temperature",
            choices={"temperature": LOWEST_TEMPERATURE, "zero": "error", "added": 0},
            off_if=f"temperature >= {LOWEST_TEMPERATURE}",
            note="Lower temperatures are raised.",
            source=f"{PARAMS}:560",
        ),
        Stage(
            "min_p",
            {"m": "min_p"},
            {"equality": "kept", "above_one": "error", "ties": "lowest id", "least": 1},
            off_if="min_p == 0.0",
            note="Before top-k and top-p.",
            source=f"{PROCESSORS}:98",
        ),
        Stage(
            "top_k",
            {"k": "top_k"},
            {"ties": "all", "zero": "error", "beyond": "all", "least": 1},
            off_if="top_k <= 0",
            note="The Triton kernel, used from 8 rows on, keeps exactly k.",
            source=f"{FILTERS}:547",
        ),
        Stage(
            "top_p",
            {"p": "top_p"},
            {
                "ties": "highest id",
                "zero": "best",
                "boundary": "reach",
                "base": "what is left",
                "least": 1,
                "walked": "downwards",
            },
            off_if="top_p == 1.0",
            note="The engine sorts upwards and removes tokens while their sum is at most 1 - p, "
            "which keeps the same tokens as this walk. The sort is not stable in rows longer "
            "than 16, so it is undefined which of several equal tokens are "
            "kept. The Triton kernel differs.",
            source=f"{FILTERS}:555",
        ),
    ),
    draw=Draw(
        "exponential race",
        noise="-log u",
        uniform="torch's exponential, one for each token, 32-bit",
        source=f"{FILTERS}:590",
    ),
    greedy=Greedy(
        condition="temperature == 0.0",
        after=(
            *("allowed_tokens", "bad_words", "min_new_tokens", "logit_bias"),
            *("repetition_penalty", "frequency_penalty", "presence_penalty"),
        ),
        note="torch.argmax: on a CPU the first of equal numbers. The sampler tests for less "
        "than 1e-5, but requests leave nothing between 0 and 0.01.",
        source=f"{SAMPLER}:148",
    ),
    logprobs=(
        Logprobs("raw_logprobs", "nothing", f"{SAMPLER}:148"),
        Logprobs("processed_logprobs", "everything", f"{SAMPLER}:148"),
    ),
    notes=(
        (
            "The batch determines which kernel filters: PyTorch, Triton, or FlashInfer, with "
            "different rules for ties."
        ),
        "With speculative decoding, min_p and logit_bias are refused.",
    ),
)
