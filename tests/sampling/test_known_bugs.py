"""Bugs that samplers have had: for each a call, the right answer, and what the bug answers.

The references are threads of the engines' trackers, or places in their sources. A bug is
stated through a choice of this package where one does just that, and in a line of its own
otherwise, so that each row also proves that its input tells the two apart.

Not here are bugs that no row of logits can show: strides, aliasing on a device, batches,
random offsets of a kernel, sentences of messages.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from math import exp, frexp, inf, ldexp, log, nan
from typing import Any, Literal, NamedTuple

import pytest

from sampling_ref import (
    WEIGHTS,
    Sampler,
    SamplingError,
    distribution,
    explain,
    logprobs,
    sample,
    step,
)
from sampling_ref.draws.exponential_race import exponential_race
from sampling_ref.draws.gumbel_max import gumbel_max
from sampling_ref.draws.inverse_cdf import inverse_cdf
from sampling_ref.numbers.binary32 import to_binary32
from sampling_ref.speculative import accept, acceptance_rate, law_of, residual, verify_chain
from sampling_ref.steps.dry import dry
from sampling_ref.steps.frequency_penalty import frequency_penalty
from sampling_ref.steps.lz import lz_penalty
from sampling_ref.steps.penalties import penalties
from sampling_ref.steps.presence_penalty import presence_penalty
from sampling_ref.steps.repetition_penalty import repetition_penalty
from tests.sampling.filtering import min_p, top_k_logits, top_p, top_p_logits, typical_logits, xtc
from tests.sampling.records import alone, kept, kept_of_weights, logs, support
from tests.sampling.steering import mirostat_1_kept, step_of_mirostat_2

YES, NO = True, False
HALVES = (0.5, 0.25, 0.125, 0.125)
MIXED = (0.125, 0.5, 0.25, 0.125)
EVEN = (0.25, 0.25, 0.25, 0.25)
FALLING = (0.4, 0.3, 0.2, 0.1)
WITH_NONE = [4.0, 4.0, 0.0, 0.0, -inf]
LOOP = [1, 2, 3] * 33 + [1]
HUGE, SMALLEST_NORMAL = 1e9, 2.0**-126

Answer = Callable[[], object]


class Bug(NamedTuple):
    """One bug: who reported it, and what is right and wrong."""

    name: str
    reference: str
    ask: Answer
    right: object
    bug: Answer
    wrong: object


def failure_of(call: Answer) -> str:
    """Return the name of the exception that a call ends with."""
    try:
        call()
    except (SamplingError, ArithmeticError, LookupError, ValueError) as failure:
        return type(failure).__name__
    return "none"


def after(name: str, row: Sequence[float], history: Sequence[int], **params: Any) -> list[float]:
    """Return the row after the steps of an engine that are not switched off."""
    numbers = [float(logit) for logit in row]
    return explain(name, numbers, history, **alone(name, **params)).row or numbers


def rising_above(shares: tuple[float, ...], p: float) -> set[int]:
    """Return the ids whose rising 32-bit sum is above 1 - p, without a least number."""
    order = sorted(range(len(shares)), key=shares.__getitem__)
    sums = accumulate(shares[token] for token in order)
    least = to_binary32(1 - p)
    return {token for token, total in zip(order, sums, strict=True) if total > least}


def flushed(number: float) -> float:
    """Return a number of 32 bits, and 0 for a subnormal one."""
    return number if number >= SMALLEST_NORMAL else 0.0


def eight_bit_sum(count: int) -> float:
    """Return the sum of `count` equal shares of 1, with 8 significant bits after every sum."""
    total = 0.0
    for _ in range(count):
        mantissa, exponent = frexp(total + 1 / count)
        total = ldexp(round(mantissa * 256), exponent - 8)
    return total


def entropy_as_it_comes(shares: Sequence[float]) -> float:
    """Return the entropy by the formula, where 0 times minus infinity is no number."""
    return -sum(share * (log(share) if share else -inf) for share in shares)


def averaged_xtc(shares: Sequence[float], threshold: float, probability: float) -> list[float]:
    """Return what exllamav2 makes of shares: it looks at the next one, and spares none."""
    top = [share for share in shares if share >= threshold]
    mass = sum(top) - min(top)
    after_next = [*shares[1:], 0.0]
    return [
        share * (1 - probability if following >= threshold else 1 + probability * mass / (1 - mass))
        for share, following in zip(shares, after_next, strict=True)
    ]


def mean_of_both_outcomes(
    shares: Sequence[float], threshold: float, probability: float
) -> list[float]:
    """Return the law of XTC's coin."""
    staying = xtc(shares, threshold)
    left = sum(shares[token] for token in staying)
    return [
        (1 - probability) * share + probability * (share / left if token in staying else 0)
        for token, share in enumerate(shares)
    ]


def law_of_shared_numbers(target: list[Fraction], draft: int) -> list[Fraction]:
    """Return the law if one number both judges a certain draft and draws from what is left."""
    rest = [share if token != draft else Fraction(0) for token, share in enumerate(target)]
    ends = [Fraction(0), *accumulate(share / sum(rest) for share in rest)]

    def run(numbers: Any) -> int:
        if numbers[0] < target[draft]:
            return draft
        return next(token for token in range(3) if ends[token] <= numbers[0] < ends[token + 1])

    law = law_of(run, [[target[draft], *ends]])
    return [law.get(token, Fraction(0)) for token in range(3)]


def law_of_a_chain(target: list[Fraction], drawn: list[Fraction], told: list[Fraction]) -> Any:
    """Return the law of one token whose draft was drawn from one row and told as another."""
    points = sorted({Fraction(0), *target, *told, *accumulate(residual(target, told))})
    ratios = [[p / q for p, q in zip(target, told, strict=True) if q], [*points]]
    law = [Fraction(0)] * len(target)
    for token, share in enumerate(drawn):
        if not share:
            continue

        def run(numbers: Any, token: int = token) -> int:
            return verify_chain([target, target], [told], [token], numbers).tokens[0]

        for answer, probability in law_of(run, ratios).items():
            law[answer] += share * probability
    return law


def truncated_crossing(shares: tuple[float, ...], p: float) -> list[Fraction]:
    """Return the law of a number below p that walks the falling shares."""
    ends = [Fraction(0), *accumulate(Fraction(share) for share in shares)]
    below = [min(end, Fraction(p)) for end in ends]
    return [(b - a) / Fraction(p) for a, b in pairwise(below)]


HALF = Fraction(1, 2)
THREE = [HALF, Fraction(1, 4), Fraction(1, 4)]

PENALTIES = [
    Bug(
        "division makes a negative logit likelier",
        "huggingface/transformers#2302, NVIDIA/NeMo#8194",
        lambda: after("transformers", [-2, -0.0, 0, 2], [0, 1, 2, 3], repetition_penalty=2.0),
        [-4, 0, 0, 1],
        lambda: repetition_penalty([-2.0, -0.0, 0.0, 2.0], [0, 1, 2, 3], 2, method="divide"),
        [-1, 0, 0, 1],
    ),
    Bug(
        "division is not invariant under a shift of all logits; subtraction is",
        "oobabooga/text-generation-webui#3627",
        lambda: [
            distribution("transformers", row, [0], top_k=0, repetition_penalty=2.0) == [0.5, 0.5]
            for row in ([2.0, 1.0], [4.0, 3.0])
        ],
        [True, False],
        lambda: [presence_penalty(row, [0], 1) == [row[1]] * 2 for row in ([2.0, 1.0], [4.0, 3.0])],
        [True, True],
    ),
    Bug(
        "the prompt is penalised, or not",
        "huggingface/transformers#36642",
        lambda: after("transformers", [2, 2], [0, 1], prompt_length=1, repetition_penalty=2.0),
        [1, 1],
        lambda: after("sglang", [2, 2], [0, 1], prompt_length=1, repetition_penalty=2.0),
        [2, 1],
    ),
    Bug(
        "the penalty compounds with every occurrence",
        "ohdearquant/lattice#312, huggingface/transformers.js#1062, private-mind#255",
        lambda: after("transformers", [8, 0], [0, 0, 0], repetition_penalty=2.0),
        [4, 0],
        lambda: repetition_penalty([8.0, 0.0], [0, 0, 0], 2, counting="each occurrence"),
        [1, 0],
    ),
    Bug(
        "padding is counted",
        "huggingface/text-generation-inference#1765",
        lambda: after(
            "transformers", [2, 2], [0, 0, 1], repetition_penalty=2.0, prompt_ignore_length=2
        ),
        [2, 1],
        lambda: after("transformers", [2, 2], [0, 0, 1], repetition_penalty=2.0),
        [1, 1],
    ),
    Bug(
        "additive penalties see the prompt, and only twenty tokens",
        "osaurus-ai/vmlx-swift#294, #295, #296",
        lambda: after("vllm", [0, 0], [1] * 10 + [0] * 30, prompt_length=10, frequency_penalty=0.5),
        [-15, 0],
        lambda: frequency_penalty([0.0, 0.0], [1] * 10 + [0] * 30, 0.5, window=20),
        [-10, 0],
    ),
    Bug(
        "prompt and output are taken for each other",
        "vllm-project/vllm-metal#69",
        lambda: after(
            "vllm", [2, 2], [0, 1], prompt_length=1, repetition_penalty=2.0, frequency_penalty=1.0
        ),
        [1, 0],
        lambda: penalties([2.0, 2.0], [0, 1], 2, 1),
        [0, 0],
    ),
    Bug(
        "accepted drafts are not in the history",
        "vllm-project/vllm#18902",
        lambda: after("vllm", [1, 1], [1, 0], frequency_penalty=1.0),
        [0, 0],
        lambda: after("vllm", [1, 1], [1], frequency_penalty=1.0),
        [1, 0],
    ),
    Bug(
        "the repetition penalty does nothing",
        "sgl-project/sglang#28179",
        lambda: after("sglang", [2, 2], [0], repetition_penalty=2.0),
        [1, 2],
        lambda: [2, 2],
        [2, 2],
    ),
    Bug(
        "frequency and presence penalty do nothing",
        "raullenchai/Rapid-MLX#470, youssofal/MTPLX#120, EricLBuehler/mistral.rs#158",
        lambda: [
            after(name, [2, 2], [0, 0], frequency_penalty=0.5, presence_penalty=0.25)
            for name in ("mlx-lm", "mistral.rs")
        ],
        [[0.75, 2], [0.75, 2]],
        lambda: [[2, 2], [2, 2]],
        [[2, 2], [2, 2]],
    ),
    Bug(
        "the penalty is applied twice",
        "sgl-project/sglang-omni#1360",
        lambda: after("sglang", [2, 2], [0], repetition_penalty=2.0),
        [1, 2],
        lambda: repetition_penalty(repetition_penalty([2.0, 2.0], [0], 2), [0], 2),
        [0.5, 2],
    ),
    Bug(
        "a window sees the first tokens instead of the last",
        "abetlen/llama-cpp-python#1295",
        lambda: after("llama.cpp", [2, 2, 2], [0, 1, 2], repeat_penalty=2.0, repeat_last_n=2),
        [2, 1, 1],
        lambda: repetition_penalty([2.0, 2.0, 2.0], [0, 1, 2][:2], 2),
        [1, 1, 2],
    ),
    Bug(
        "an argument lands in the place of the next",
        "NVIDIA/TensorRT-LLM#13633",
        lambda: after("tensorrt-llm", [1, 0], [0], prompt_length=1, presence_penalty=0.5),
        [0.5, 0],
        lambda: presence_penalty([1.0, 0.0], [0], 0.5, scope="all", skipped=1, prompt_length=1),
        [1, 0],
    ),
    Bug(
        "the order of penalties is that of a set",
        "sglang/srt/sampling/penaltylib, without overlap",
        lambda: after(
            "sglang",
            [2, -2],
            [0, 0, 1],
            frequency_penalty=1.0,
            presence_penalty=0.5,
            repetition_penalty=2.0,
        ),
        [-1, -7],
        lambda: penalties([2.0, -2.0], [0, 0, 1], 2, 1, 0.5),
        [-1.5, -5.5],
    ),
    Bug(
        "a range without a decay loses its oldest token",
        "exllamav3/exllamav3_ext/generator/rep_pen.cu:51",
        lambda: after(
            "exllamav2", [2, 2], [0, 1], token_repetition_penalty=2.0, token_repetition_range=2
        ),
        [1, 1],
        lambda: after("exllamav3", [2, 2], [0, 1], rep_p=2.0, rep_sustain_range=2),
        [2, 1],
    ),
    Bug(
        "a penalty of 0 switches itself off",
        "mlx_lm/sample_utils.py",
        lambda: failure_of(lambda: after("vllm", [2, 2], [0], repetition_penalty=0.0)),
        "ParameterError",
        lambda: after("mlx-lm", [2, 2], [0], repetition_penalty=0.0),
        [2, 2],
    ),
    Bug(
        "the end is forbidden for one token too long",
        "1Cat-vLLM#533",
        lambda: after("vllm", [2, 2], [1, 1, 1], prompt_length=1, min_tokens=2, stop_token_ids=[0]),
        [2, 2],
        lambda: after("vllm", [2, 2], [1, 1], prompt_length=1, min_tokens=2, stop_token_ids=[0]),
        [-inf, 2],
    ),
    Bug(
        "bad words look at the history without the newest token",
        "vllm-project/vllm#33433",
        lambda: after("vllm", [2, 2, 2], [0, 1], bad_words=[[0, 1, 2]]),
        [2, 2, -inf],
        lambda: after("vllm", [2, 2, 2], [0], bad_words=[[0, 1, 2]]),
        [2, 2, 2],
    ),
    Bug(
        "DRY's exponent is off by one",
        "paiml/aprender#2160",
        lambda: after(
            "llama.cpp",
            [8, 8, 8],
            [0, 1, 2, 0, 1],
            dry_multiplier=1.0,
            dry_base=2.0,
            dry_allowed_length=1,
        ),
        [8, 8, 6],
        lambda: [8, 8, 8 - 1.0 * 2.0 ** (2 - 1 + 1)],
        [8, 8, 4],
    ),
    Bug(
        "DRY's breakers are not looked at",
        "EricLBuehler/mistral.rs#1679, lablup/mlxcel#1128",
        lambda: after(
            "llama.cpp", [8, 8, 8], [0, 1, 2, 0, 1], dry_multiplier=1.0, dry_sequence_breakers=[[0]]
        ),
        [8, 8, 8],
        lambda: dry([8.0, 8.0, 8.0], [0, 1, 2, 0, 1], 1.0),
        [8, 8, 7],
    ),
    Bug(
        "the last token may be a breaker",
        "mistralrs-core/src/sampler.rs:1778",
        lambda: after(
            "llama.cpp",
            [8, 8, 8],
            [1, 2, 0, 1],
            dry_multiplier=1.0,
            dry_allowed_length=1,
            dry_sequence_breakers=[[1]],
        ),
        [8, 8, 8],
        lambda: after(
            "mistral.rs",
            [8, 8, 8],
            [1, 2, 0, 1],
            dry_multiplier=1.0,
            dry_allowed_length=1,
            dry_sequence_breakers=[1],
        ),
        [8, 8, 7],
    ),
    Bug(
        "a copy takes DRY's base from its allowed length",
        "exllamav2/generator/sampler.py:129",
        lambda: after("exllamav2", [8, 8, 8, 8], [0, 1, 2, 3, 0, 1, 2], dry_multiplier=1.0),
        [8, 8, 8, 6.25],
        lambda: after(
            "exllamav2", [8, 8, 8, 8], [0, 1, 2, 3, 0, 1, 2], dry_multiplier=1.0, dry_base=2.0
        ),
        [8, 8, 8, 6],
    ),
    Bug(
        "the LZ penalty pushes a loop forward",
        "tginart/lz-penalty, test_script.py",
        lambda: continued_against_novel("corrected"),
        "less likely",
        lambda: continued_against_novel("script"),
        "likelier",
    ),
]

FILTERS = [
    Bug(
        "the token that crosses top-p is lost",
        "ggml-org/llama.cpp#1953, Biohub/esm#360, thu-nics/C2C#21, fishaudio/fish-speech#1171, "
        "rasbt/reasoning-from-scratch#164",
        lambda: kept_of_weights("llama.cpp", "top_p", HALVES, top_p=0.6),
        {0, 1},
        lambda: top_p(HALVES, 0.6, boundary="within"),
        {0},
    ),
    Bug(
        "the token that crosses top-p is lost, and smaller ones come in",
        "exllamav2/exllamav2_ext/cpp/sampling.cpp:524",
        lambda: kept_of_weights("llama.cpp", "top_p", HALVES, top_p=0.625),
        {0, 1},
        lambda: kept_of_weights("exllamav2", "top_p", HALVES, top_p=0.625),
        {0, 3},
    ),
    Bug(
        "one token too many where the sum meets top-p",
        "huggingface/transformers#18976",
        lambda: kept_of_weights("transformers", "top_p", HALVES, top_p=0.75),
        {0, 1},
        lambda: top_p(HALVES, 0.75, boundary="exceed"),
        {0, 1, 2},
    ),
    Bug(
        "top-p of 1 means the largest only",
        "BlinkDL/ChatRWKV#170",
        lambda: support(distribution("candle", logs(HALVES), temperature=1.0, top_p=1.0)),
        {0, 1, 2, 3},
        lambda: set(range([total > 1 for total in accumulate(HALVES)].count(True) + 1)),
        {0},
    ),
    Bug(
        "top-p is taken for its complement",
        "Aleph-Alpha/magma#29",
        lambda: kept_of_weights("transformers", "top_p", HALVES, top_p=0.75),
        {0, 1},
        lambda: top_p(HALVES, 1 - 0.75),
        {0},
    ),
    Bug(
        "top-p without a sort",
        "dmlc/gluon-nlp#1481",
        lambda: kept_of_weights("transformers", "top_p", MIXED, top_p=0.5),
        {1},
        lambda: {
            place for place, total in enumerate(accumulate(MIXED)) if total - MIXED[place] < 0.5
        },
        {0, 1},
    ),
    Bug(
        "logarithms are summed instead of probabilities",
        "skyzh/tiny-llm#32",
        lambda: kept_of_weights("mlx-lm", "top_p", HALVES, **alone("mlx-lm", top_p=0.6)),
        {0, 1},
        lambda: {place for place, total in enumerate(accumulate(logs(HALVES))) if total < 0.6},
        {0, 1, 2, 3},
    ),
    Bug(
        "top-p of 0 empties the mask, and token 0 comes out",
        "google-deepmind/simply#42",
        lambda: support(distribution("transformers", logs(MIXED), top_k=0, top_p=0.0)),
        {1},
        lambda: {token for token in range(4) if sum(MIXED[:token]) < 0} or {0},
        {0},
    ),
    Bug(
        "a tiny top-p removes everything",
        "ml-explore/mlx-lm#1912",
        lambda: kept_of_weights("mlx-lm", "top_p", MIXED, **alone("mlx-lm", top_p=1e-9)),
        {1},
        lambda: rising_above(MIXED, 1e-9),
        set(),
    ),
    Bug(
        "top-p on what top-k left, not made up for, removes everything",
        "ml-explore/mlx-lm#388",
        lambda: support(distribution("vllm", logs(FALLING), top_k=2, top_p=0.2)),
        {0},
        lambda: rising_above(FALLING[:2], 0.2),
        set(),
    ),
    Bug(
        "sums of 8 significant bits stand still",
        "NVIDIA/Megatron-LM#7182, tenstorrent/tt-metal#41635",
        lambda: len(top_p_logits([0.0] * 1024, 0.75)),
        768,
        lambda: 1024 if eight_bit_sum(1024) < 0.75 else 768,
        1024,
    ),
    Bug(
        "one kernel keeps equals of the k-th, the other does not",
        "vllm-project/vllm#50979, sgl-project/sglang#33539",
        lambda: kept(step("vllm", "top_k", [1.0, 2.0, 2.0, 2.0, 3.0], top_k=3)),
        {1, 2, 3, 4},
        lambda: top_k_logits([1.0, 2.0, 2.0, 2.0, 3.0], 3),
        {1, 2, 4},
    ),
    Bug(
        "the fused kernel keeps equals, the single steps do not",
        "exllamav3/exllamav3_ext/generator/sampling_fused.cu",
        lambda: kept(step("exllamav3", "top_k", [1.0, 2.0, 2.0, 2.0, 3.0], top_k=3)),
        {1, 2, 4},
        lambda: top_k_logits([1.0, 2.0, 2.0, 2.0, 3.0], 3, ties="all"),
        {1, 2, 3, 4},
    ),
    Bug(
        "equals at the pivot are all accepted",
        "flashinfer-ai/flashinfer#3774",
        lambda: kept_of_weights("openai", "top_p", EVEN, top_p=0.5),
        {0, 1},
        lambda: kept_of_weights("flashinfer", "top_p", EVEN, top_p=0.5),
        {0, 1, 2, 3},
    ),
    Bug(
        "what is exactly min_p times the largest goes",
        "ggml-org/llama.cpp#17004",
        lambda: kept_of_weights("llama.cpp", "min_p", (0.5, 0.25, 0.25), min_p=0.5),
        {0, 1, 2},
        lambda: kept_of_weights("mistral.rs", "min_p", (0.5, 0.25, 0.25), min_p=0.5),
        {0},
    ),
    Bug(
        "min_p of 1 removes the largest too",
        "llama.cpp's samplers on a device",
        lambda: kept_of_weights("llama.cpp", "min_p", MIXED, min_p=1.0),
        {1},
        lambda: min_p(MIXED, 1.0, equality="removed", least=0),
        set(),
    ),
    Bug(
        "min_p above 1 leaves nothing",
        "ggml-org/llama.cpp#13822",
        lambda: support(distribution("llama.cpp", logs(MIXED), **alone("llama.cpp", min_p=1.05))),
        {1},
        lambda: {token for token in range(4) if MIXED[token] >= 1.05 * max(MIXED)},
        set(),
    ),
    Bug(
        "min_p compares logits",
        "sgl-project/sglang-jax#1563",
        lambda: kept(step("sglang", "min_p", [2.0, 1.0, -1.0], min_p=0.5)),
        {0},
        lambda: {token for token, logit in enumerate([2.0, 1.0, -1.0]) if logit >= 0.5 * 2.0},
        {0, 1},
    ),
    Bug(
        "the top token falls to the filter",
        "alibaba/rtp-llm#932",
        lambda: kept_of_weights("exllamav3", "top_p", HALVES, top_p=0.3),
        {0},
        lambda: top_p(HALVES, 0.3, boundary="within", least=0),
        set(),
    ),
    Bug(
        "impossible tokens make mean and deviation no numbers",
        "ggml-org/llama.cpp#13344",
        lambda: kept(step("llama.cpp", "top_n_sigma", WITH_NONE, top_n_sigma=1.75)),
        {0, 1},
        lambda: {
            token for token, logit in enumerate(WITH_NONE) if not logit < 4.0 - 1.75 * (-inf - -inf)
        },
        {0, 1, 2, 3, 4},
    ),
    Bug(
        "top-n-sigma takes the place of the whole chain",
        "ggml-org/llama.cpp#13264, #11223",
        lambda: support(
            distribution("llama.cpp", logs(HALVES), **alone("llama.cpp", top_n_sigma=9.0, top_k=1))
        ),
        {0},
        lambda: kept(step("llama.cpp", "top_n_sigma", logs(HALVES), top_n_sigma=9.0)),
        {0, 1, 2, 3},
    ),
    Bug(
        "the entropy of a row with an impossible token is no number",
        "llama.cpp's typical, huggingface/trl#7221",
        lambda: kept(step("transformers", "typical", [1.0, 0.0, -inf], typical_p=0.9)),
        {0, 1},
        lambda: {
            token
            for token, share in enumerate((0.731, 0.269))
            if abs(-log(share) - entropy_as_it_comes((0.731, 0.269, 0.0))) <= HUGE
        },
        set(),
    ),
    Bug(
        "typical looks beyond its row where the mass is never reached",
        "huggingface/transformers#26579",
        lambda: typical_logits([0.0, -1.0], 1.0),
        {0, 1},
        lambda: failure_of(lambda: [0, 1][sum(total < 1.0 for total in (0.73, 0.99))]),
        "IndexError",
    ),
    Bug(
        "typical ends before the token that carries it to its mass",
        "exllamav2/exllamav2_ext/cpp/sampling.cpp:797",
        lambda: kept(step("transformers", "typical", logs((0.4, 0.2, 0.2, 0.2)), typical_p=0.5)),
        {1, 2, 3},
        lambda: kept(step("exllamav2", "typical", logs((0.4, 0.2, 0.2, 0.2)), typical=0.5)),
        {1, 2},
    ),
    Bug(
        "XTC removes the least likely of the top tokens too",
        "paiml/aprender#2131",
        lambda: kept(
            step(
                "llama.cpp",
                "xtc",
                logs(FALLING),
                uniforms=[0.5],
                xtc_probability=1.0,
                xtc_threshold=0.15,
            )
        ),
        {2, 3},
        lambda: {token for token, share in enumerate(FALLING) if share < 0.15},
        {3},
    ),
    Bug(
        "an XTC threshold of 0 is no threshold, but also not off",
        "ml-explore/mlx-lm#1036, #1040, #1372",
        lambda: kept(
            step(
                "mlx-lm",
                "xtc",
                logs(FALLING),
                uniforms=[0.5],
                xtc_probability=1.0,
                xtc_threshold=0.0,
            )
        ),
        {3},
        lambda: xtc(FALLING, 0.1, probability=0),
        {0, 1, 2, 3},
    ),
    Bug(
        "the mean of XTC's outcomes looks at the wrong token",
        "exllamav2/exllamav2_ext/cpp/sampling.cpp:856",
        lambda: mean_of_both_outcomes(MIXED, 0.25, 0.5),
        [0.1875, 0.25, 0.375, 0.1875],
        lambda: averaged_xtc(MIXED, 0.25, 0.5),
        [0.0625, 0.25, 0.375, 0.1875],
    ),
    Bug(
        "one coin for a whole batch",
        "mlx_lm/sample_utils.py: apply_xtc",
        lambda: [len(xtc(FALLING, 0.15, probability=0.5, uniform=u)) for u in (0.25, 0.75)],
        [2, 4],
        lambda: [len(xtc(FALLING, 0.15, probability=0.5, uniform=0.25)) for _ in range(2)],
        [2, 2],
    ),
    Bug(
        "equally likely tokens have no exponent",
        "llama.cpp's mirostat 1",
        lambda: sorted(mirostat_1_kept([0.0] * 4, 3.0)),
        [0, 1, 2, 3],
        lambda: failure_of(lambda: (-1 * 2**3 / (1 - 4)) ** (1 / 0)),
        "ZeroDivisionError",
    ),
]

ORDER = [
    Bug(
        "the temperature comes first, or last",
        "ggml-org/llama.cpp#4091, lablup/mlxcel#1379",
        lambda: [
            support(distribution(name, logs((0.8, 0.2)), **alone(name, min_p=0.3, temp=2.0)))
            for name in ("llama.cpp", "mlx-lm")
        ],
        [{0}, {0}],
        lambda: [support(distribution("vllm", logs((0.8, 0.2)), min_p=0.3, temperature=2.0))] * 2,
        [{0, 1}, {0, 1}],
    ),
    Bug(
        "the temperature comes after top-p",
        "fishaudio/fish-speech#1150, sgl-project/sglang-jax#289",
        lambda: support(distribution("vllm", logs((0.64, 0.36)), top_p=0.6, temperature=2.0)),
        {0, 1},
        lambda: support(
            distribution("llama.cpp", logs((0.64, 0.36)), **alone("llama.cpp", top_p=0.6, temp=2.0))
        ),
        {0},
    ),
    Bug(
        "the temperature is applied twice",
        "RL-Align/RL-Kernel#81",
        lambda: after("vllm", [4, 2], [], temperature=2.0),
        [2, 1],
        lambda: after("vllm", after("vllm", [4, 2], [], temperature=2.0), [], temperature=2.0),
        [1, 0.5],
    ),
    Bug(
        "k of 1 is not greedy where maxima are equal",
        "vllm-project/tpu-inference#3590",
        lambda: support(distribution("vllm", [0.0, 2.0, 2.0], temperature=0.0)),
        {1},
        lambda: support(distribution("vllm", [0.0, 2.0, 2.0], top_k=1)),
        {1, 2},
    ),
    Bug(
        "of equal maxima the last is taken",
        "tenstorrent/tt-metal#50687",
        lambda: support(distribution("vllm", [0.0, 2.0, 2.0], temperature=0.0)),
        {1},
        lambda: support(distribution("antigravity", [0.0, 2.0, 2.0], temperature=0.0)),
        {2},
    ),
    Bug(
        "a place among sorted candidates is taken for an id",
        "turboderp-org/exllamav3#256",
        lambda: sample("llama.cpp", [0.0, 1.0, 2.0], uniforms=[0.25]),
        2,
        lambda: explain("llama.cpp", [0.0, 1.0, 2.0]).steps[-1].after.tokens.index(2),
        0,
    ),
    Bug(
        "NaN is passed on, or becomes token 0",
        "flashinfer-ai/flashinfer#1575, #2402, #2456",
        lambda: failure_of(lambda: sample("flashinfer", [0.0, nan], uniforms=[0.5])),
        "RowError",
        lambda: next((place for place, total in enumerate((nan, nan)) if total > HALF), 0),
        0,
    ),
    Bug(
        "a row without possible tokens becomes uniform",
        "sglang/srt/layers/sampler.py: sanitize",
        lambda: failure_of(lambda: distribution("sglang", [-inf, -inf])),
        "RowError",
        lambda: distribution("sglang", [-1e30, -1e30]),
        [0.5, 0.5],
    ),
    Bug(
        "numbers below the normal ones are zero",
        "flashinfer-ai/flashinfer#769",
        lambda: distribution("flashinfer", [0.0, -100.0])[1] > 0,
        YES,
        lambda: flushed(2.0**-144) > 0,
        NO,
    ),
    Bug(
        "log-probabilities divided by the temperature are not normalised, and need not be",
        "MoonshotAI/Kimi-Audio#161, a control",
        lambda: distribution("vllm", logprobs("vllm", [3.0, 1.0]), temperature=0.5),
        pytest.approx(distribution("vllm", [3.0, 1.0], temperature=0.5)),
        lambda: [exp(value / 0.5) for value in logprobs("vllm", [3.0, 1.0])],
        pytest.approx([0.775803, 0.014209], abs=1e-5),
    ),
]

DRAWS = [
    Bug(
        "a number of 0 draws a first token without weight",
        "pytorch/pytorch#4858, #13867, #48841, llama.cpp's dist",
        lambda: sample("openai", [-inf, 0.0, 0.0], uniforms=[0.0]),
        1,
        lambda: sample("llama.cpp", [-inf, 0.0, 0.0], uniforms=[0.0], **alone("llama.cpp")),
        0,
    ),
    Bug(
        "tokens without weight are drawn",
        "pytorch/pytorch#192812, Lightning-AI/litgpt#2323, NVIDIA/TensorRT-LLM#1590",
        lambda: [
            inverse_cdf([0.0, 1.0, 0.0, 1.0, 0.0], u, numbers=WEIGHTS)
            for u in (0.0, 0.5, 1 - 2.0**-53)
        ],
        [1, 3, 3],
        lambda: [
            next(token for token, total in enumerate((0, 1, 1, 2, 2, 2)) if total >= u)
            for u in (0.0, 2.0, 2.0)
        ],
        [0, 3, 3],
    ),
    Bug(
        "the last sum is below 1, and the number above it",
        "NVIDIA/TensorRT-LLM#19485, #19496, flashinfer-ai/flashinfer#384",
        lambda: inverse_cdf([0.25, 0.25, 0.25, 0.25 - 2.0**-20], 1 - 2.0**-24, numbers=WEIGHTS),
        3,
        lambda: sum(
            total <= 1 - 2.0**-24 for total in accumulate([0.25, 0.25, 0.25, 0.25 - 2.0**-20])
        ),
        4,
    ),
    Bug(
        "exponential noise has a floor, and the tail is never drawn",
        "vllm-project/vllm#43150, #34854, #37798",
        lambda: exponential_race([1.0, 2.0**-30], [0.5, 2.0**-40], noise="-log(1-u)"),
        1,
        lambda: exponential_race([1.0, 2.0**-30], [0.5, 2.0**-24], noise="-log(1-u)"),
        0,
    ),
    Bug(
        "Gumbel noise between -2.78 and 6.91 never draws what lies 9.69 below",
        "candle-nn/src/sampling.rs:9",
        lambda: gumbel_max([0.0, -10.0], [1e-7, 1 - 1e-9]),
        1,
        lambda: gumbel_max([0.0, -10.0], [1e-7, 0.999]),
        0,
    ),
    Bug(
        "noise belongs to the rank, not to the token",
        "sgl-project/sglang#35697",
        lambda: sample("vllm", [0.0, 1.0, 2.0], uniforms=[0.9, 0.1, 0.2]),
        0,
        lambda: [2, 1, 0][gumbel_max([2.0, 1.0, 0.0], [0.9, 0.1, 0.2])],
        2,
    ),
    Bug(
        "the sampler is seeded anew for every token",
        "software-mansion-labs/private-mind#255",
        lambda: len(set(many_draws(Sampler("llama.cpp", seed=1)))) > 1,
        YES,
        lambda: len({Sampler("llama.cpp", seed=1).sample([0.0] * 30) for _ in range(9)}) > 1,
        NO,
    ),
    Bug(
        "top-p's crossing token gets only what is missing to p",
        "TensorRT-LLM's samplingTopPKernels.cu",
        lambda: distribution("llama.cpp", [log(3), 0.0], **alone("llama.cpp", top_p=0.875)),
        pytest.approx([0.75, 0.25]),
        lambda: [float(share) for share in truncated_crossing((0.75, 0.25), 0.875)],
        pytest.approx([6 / 7, 1 / 7]),
    ),
    Bug(
        "surprise in nats, its target in bits",
        "paiml/aprender#2142",
        lambda: step_of_mirostat_2([0.0] * 4, 4.0, tau=1.0, eta=0.5, uniform=0.5)[1],
        3.5,
        lambda: round(4.0 - 0.5 * (log(4) - 1.0), 3),
        3.807,
    ),
    Bug(
        "mu begins anew with every token",
        "abetlen/llama-cpp-python#914, SciSharp/LLamaSharp#71",
        lambda: mus_of(3, remembers=True),
        [5.9, 5.8, 5.7],
        lambda: mus_of(3, remembers=False),
        [5.9, 5.9, 5.9],
    ),
]

DRAFTS = [
    Bug(
        "a number of 0 accepts an impossible draft",
        "sgl-project/sglang#35771, #35788, transformers' _speculative_sampling",
        lambda: accept([0, 1], [HALF, HALF], 0, 0),
        NO,
        lambda: accept([0, 1], [HALF, HALF], 0, 0, equality="accept"),
        YES,
    ),
    Bug(
        "nothing is left to draw from where target and draft are equal",
        "transformers' _speculative_sampling",
        lambda: failure_of(lambda: residual([1, 1], [1, 1])),
        "RowError",
        lambda: failure_of(lambda: [share / sum((0, 0)) for share in (0, 0)]),
        "ZeroDivisionError",
    ),
    Bug(
        "the draft was drawn from another row than it says",
        "huggingface/transformers#47932, deepseek-ai/DeepSpec#31",
        lambda: law_of_a_chain([HALF, HALF], *[[Fraction(3, 4), Fraction(1, 4)]] * 2),
        [HALF, HALF],
        lambda: law_of_a_chain(
            [HALF, HALF], [Fraction(1), Fraction(0)], [Fraction(3, 4), Fraction(1, 4)]
        ),
        [Fraction(2, 3), Fraction(1, 3)],
    ),
    Bug(
        "judging and drawing share their number",
        "vllm-project/vllm#47386, #54282",
        lambda: law_of_a_chain(THREE, *[[Fraction(1), Fraction(0), Fraction(0)]] * 2),
        THREE,
        lambda: law_of_shared_numbers(THREE, 0),
        [HALF, 0, HALF],
    ),
    Bug(
        "what is left is subtracted place by place of two different lists",
        "llama.cpp's examples/speculative",
        lambda: residual([HALF, HALF], [0, 1]),
        [1, 0],
        lambda: [max(HALF - q, Fraction(0)) / HALF for q in (1, 0)],
        [0, 1],
    ),
    Bug(
        "0/0 is no number, and no number is above it",
        "TensorRT-LLM's sampling_utils.py: get_rejected_indices",
        lambda: accept([0, 1], [0, 1], 0, HALF),
        NO,
        lambda: not inf - inf < HALF,
        YES,
    ),
    Bug(
        "drawing from the target and matching accepts less than rejection, and is as right",
        "ml-explore/mlx-swift-lm#459, ggml-org/llama.cpp#27694, a control",
        lambda: acceptance_rate(THREE, [Fraction(1, 4), HALF, Fraction(1, 4)]),
        Fraction(3, 4),
        lambda: sum(p * q for p, q in zip(THREE, [Fraction(1, 4), HALF, HALF / 2], strict=True)),
        Fraction(5, 16),
    ),
]


def continued_against_novel(variant: Literal["corrected", "script"]) -> str:
    """Say what becomes of the token that goes on with a loop, against one that is new."""
    row = lz_penalty([0.0] * 50, LOOP, variant=variant)
    return "less likely" if row[2] < row[7] else "likelier"


def many_draws(sampler: Sampler) -> list[int]:
    return [sampler.sample([0.0] * 30) for _ in range(9)]


def mus_of(count: int, *, remembers: bool) -> list[float]:
    """Return mu after each of some tokens of a row of two that can be told from each other."""
    sampler, found = Sampler("llama.cpp", mirostat=2, mirostat_tau=3.0), []
    for _ in range(count):
        if not remembers:
            sampler = Sampler("llama.cpp", mirostat=2, mirostat_tau=3.0)
        sampler.sample([0.0] * 16, [0.5])
        found.append(round(float(sampler.state["mu"]), 6))
    return found


BUGS = [*PENALTIES, *FILTERS, *ORDER, *DRAWS, *DRAFTS]


@pytest.mark.parametrize("bug", BUGS, ids=[bug.name.replace(" ", "-") for bug in BUGS])
def test_the_right_answer_is_not_the_bugs(bug: Bug) -> None:
    right, wrong = bug.ask(), bug.bug()
    assert right == bug.right
    assert wrong == bug.wrong
    assert right != wrong


def test_no_bug_is_named_twice() -> None:
    assert len({bug.name for bug in BUGS}) == len(BUGS)
