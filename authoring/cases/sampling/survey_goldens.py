"""The numbers in engines' own tests, as records.

llama.cpp
    tests/test-sampling.cpp at 07e4038f (https://github.com/ggml-org/llama.cpp), tolerance 1e-5.
candle
    candle-transformers/tests/generation_tests.rs at 2a13b0f3, seeds included.
mistral.rs
    the tests in mistralrs-core/src/sampler.rs at 9e922623.
exllamav3
    tests/test_sampler.py at 4f8ad012; the rows of many equals are shortened.

The reference must give those numbers, and its own are then the answer, judged more closely.
"""

# A question, its answer and why it is asked stand in one line of a table.

from collections.abc import Iterator, Sequence
from itertools import islice
from math import inf, log
from typing import Any, Final

import msgspec

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.chain_draft import ChainTopic, alone, chain_request
from authoring.cases.sampling.draft import SamplerDraft, SamplerPurpose, gives, refuses
from authoring.cases.sampling.row_draft import Topic, becomes, row_request
from sampling_ref.random.chacha import chacha_by_seed
from sampling_ref.random.uniforms import rust_weighted_index
from tokenref.floats import nearest, unpack
from tokenref.record import Case

FLAGS: Final = ("EngineProfile", "Published")
LLAMA: Final = ChainTopic("goldens", FLAGS, "docs/engines.md#llamacpp")
CANDLE: Final = ChainTopic("goldens", FLAGS, "docs/engines.md#candle")
MISTRAL: Final = ChainTopic("goldens", FLAGS, "docs/engines.md#mistralrs")
EXLLAMA: Final = ChainTopic("goldens", FLAGS, "docs/engines.md#exllamav3")
ROWS: Final = Topic("goldens", FLAGS, "docs/engines.md#exllamav3")

TOLERANCE: Final = 1.1e-5
"""That of llama.cpp's tests, and a digit of the numbers as they are printed."""

TENTHS: Final = (0.1, 0.2, 0.3, 0.4)
FALLING: Final = (0.4, 0.3, 0.2, 0.1)
FOUR: Final = (0.25,) * 4
FIVE: Final = (0.2,) * 5


def logf(shares: Sequence[float]) -> list[float]:
    """Return 32-bit logarithms of 32-bit shares, as llama.cpp's tests do.

    >>> logf([1.0])
    [0.0]
    """
    return [nearest(log(nearest(share, "f32")), "f32") for share in shares]


def law_is(shares: Sequence[float], *, falling: bool = False) -> SamplerPurpose:
    """Return the purpose "these are the probabilities, to five digits", perhaps sorted."""

    def check(case: Case) -> None:
        found = unpack(msgspec.to_builtins(case.out)["probs"])
        if falling:
            found = sorted((share for share in found if share > 0), reverse=True)
        wanted = sorted(shares, reverse=True) if falling else shares
        if len(found) != len(wanted) or any(
            abs(a - b) > TOLERANCE for a, b in zip(found, wanted, strict=True)
        ):
            raise PurposeError(f"{case.id}: the law must be {wanted}, got {found}")

    return check


FILTERS: Final[Sequence[tuple[str, dict[str, Any], Sequence[float]]]] = (
    ("temp-1", {"temp": 1.0}, TENTHS),
    ("temp-0", {"temp": 0.0}, (1.0,)),
    ("top-k-1", {"top_k": 1}, (1.0,)),
    ("top-k-3", {"top_k": 3}, (0.44444, 0.33333, 0.22222)),
    ("top-k-4", {"top_k": 4}, TENTHS),
    ("top-k-0", {"top_k": 0}, TENTHS),
    ("top-p-0", {"top_p": 0.0}, (1.0,)),
    ("top-p-1", {"top_p": 1.0}, TENTHS),
    ("min-p-0", {"min_p": 0.0}, TENTHS),
    ("min-p-24", {"min_p": 0.24}, TENTHS),
    ("min-p-26", {"min_p": 0.26}, (2 / 9, 3 / 9, 4 / 9)),
    ("min-p-49", {"min_p": 0.49}, (2 / 9, 3 / 9, 4 / 9)),
    ("min-p-51", {"min_p": 0.51}, (3 / 7, 4 / 7)),
    ("min-p-74", {"min_p": 0.74}, (3 / 7, 4 / 7)),
    ("min-p-76", {"min_p": 0.76}, (1.0,)),
    ("min-p-100", {"min_p": 1.0}, (1.0,)),
    ("min-p-105", {"min_p": 1.05}, (1.0,)),
    ("top-n-sigma-1", {"top_n_sigma": 1.0}, (0.428571, 0.571429)),
    ("top-n-sigma-0", {"top_n_sigma": 0.0}, TENTHS),
    ("top-n-sigma-3", {"top_n_sigma": 3.0}, TENTHS),
)

PENALTIES: Final = (
    ([0], (50.0, 0.0, 0.0), [0, 0.25, 0.25, 0.25, 0.25]),
    ([0, 1, 2], (50.0, 0.0, 0.0), [0, 0, 0, 0.5, 0.5]),
    ([0, 1, 2, 0, 0], (50.0, 0.0, 0.0), [0, 0, 0, 0.5, 0.5]),
    ([0], (1.0, 5.0, 5.0), [0.000011, *[0.249997] * 4]),
    ([0, 1, 2], (1.0, 5.0, 5.0), [*[0.000023] * 3, 0.499966, 0.499966]),
    ([0, 1, 2, 0, 0], (1.0, 5.0, 5.0), [0, 0.000023, 0.000023, 0.499977, 0.499977]),
)

DRY: Final[Sequence[tuple[Sequence[float], list[int], float, int, int, list[list[int]], Sequence[float]]]] = (
    (FOUR, [0, 1], 1.0, 2, 4, [], FOUR),
    (FOUR, [0, 1, 2, 0, 1], 1.0, 2, 5, [], [0.296923, 0.296923, 0.109232, 0.296923]),
    (FIVE, [0, 1, 3, 4, 0, 1], 1.0, 2, 6, [[3]], FIVE),
    (FIVE, [0, 1, 2, 0, 1], 2.0, 2, 5, [], [*[0.241818] * 2, 0.032727, *[0.241818] * 2]),
    (FIVE, [0, 1, 2, 3, 4, 0, 1], 1.0, 4, 7, [], FIVE),
)  # fmt: skip

QUEUE_SIZE: Final = 60
QUEUES: Final = (
    (20, 0.8125, 0.125),
    (40, 0.625, 0.0625),
    (60, 0.9375, 0.53125),
    (60, 0.4375, 0.90625),
)


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from _llama_cpp()
    yield from _queues()
    yield from _candle()
    yield from _mistral_rs()
    yield from _exllamav3()


def _llama_cpp() -> Iterator[SamplerDraft]:
    for slug, params, law in FILTERS:
        yield LLAMA.case(
            "distribution", f"llama.{slug}", "llama.cpp",
            chain_request(logf(TENTHS), alone("llama.cpp", **params)),
            f"llama.cpp's own test on shares of 1, 2, 3 and 4 tenths: {slug}.",
            law_is(law, falling=True), meets=slug == "min-p-100",
        )  # fmt: skip
    for p, count in ((0.7, 2), (0.8, 3)):
        yield LLAMA.case(
            "chain", f"llama.top-p-{int(p * 10)}", "llama.cpp",
            chain_request(logf(TENTHS), alone("llama.cpp", top_p=p)),
            f"llama.cpp's own test keeps {count} of 1, 2, 3 and 4 tenths by top-p {p}, which a sum meets but for rounding.",
            hangs=True,
        )  # fmt: skip
    for threshold, kept in ((0.09, [3]), (0.19, [2, 3]), (0.29, [1, 2, 3]), (0.39, [0, 1, 2, 3])):
        yield LLAMA.case(
            "chain", f"llama.xtc-{round(threshold * 100)}", "llama.cpp",
            chain_request(
                logf(FALLING),
                alone("llama.cpp", xtc_probability=0.99, xtc_threshold=threshold),
                uniforms=[0.5],
            ),
            f"llama.cpp's own test of XTC with threshold {threshold} on 4, 3, 2 and 1 tenths.",
            gives(keep=kept), flags=("Coin",),
        )  # fmt: skip
    for slug, four, kept in (
        ("peaked", (0.97, 0.01, 0.01, 0.01), [0]),
        ("flat", (0.4, 0.2, 0.2, 0.2), [1, 2, 3]),
    ):
        yield LLAMA.case(
            "chain", f"llama.typical-{slug}", "llama.cpp",
            chain_request(logf(four), alone("llama.cpp", typical_p=0.5)),
            f"llama.cpp's own test of typical with mass one half on a {slug} row.",
            gives(keep=kept), meets=True,
        )  # fmt: skip
    for number, (history, (repeat, frequency, presence), law) in enumerate(PENALTIES):
        yield LLAMA.case(
            "distribution", f"llama.penalties-{number}", "llama.cpp",
            chain_request(
                logf(FIVE),
                alone(
                    "llama.cpp", repeat_last_n=len(history), repeat_penalty=repeat,
                    frequency_penalty=frequency, presence_penalty=presence,
                ),
                history,
            ),
            f"llama.cpp's own test of penalties on five equal tokens after {history}: {repeat}, {frequency}, {presence}.",
            law_is(law), flags=("PenaltyOrder",), spec="docs/engines.md#penalties",
        )  # fmt: skip
    for number, (shares, past, multiplier, allowed, last_n, breakers, law) in enumerate(DRY):
        yield LLAMA.case(
            "distribution", f"llama.dry-{number}", "llama.cpp",
            chain_request(
                logf(shares),
                alone(
                    "llama.cpp", dry_multiplier=multiplier, dry_base=1.1,
                    dry_allowed_length=allowed, dry_penalty_last_n=last_n,
                    dry_sequence_breakers=breakers,
                ),
                past,
            ),
            f"llama.cpp's own test of DRY, number {number + 1}: after {past}, {allowed} tokens allowed.",
            law_is(law), flags=("Dry",), spec="docs/engines.md#dry",
        )  # fmt: skip


def _queues() -> Iterator[SamplerDraft]:
    """Yield chains on tokens whose weights are their own ids, as llama.cpp's sampler queue."""
    row = [-inf, *(log(token) for token in range(1, QUEUE_SIZE))]
    for k, p, m in QUEUES:
        lowest = max(QUEUE_SIZE - k, 1)
        total, required = 0, sum(range(lowest, QUEUE_SIZE)) * p
        token = QUEUE_SIZE
        while total < required:
            token -= 1
            total += token
        lowest = max(token, -int(-m * (QUEUE_SIZE - 1) // 1))
        yield LLAMA.case(
            "chain", f"llama.queue-{k}-{int(p * 16)}-{int(m * 32)}", "llama.cpp",
            chain_request(row, alone("llama.cpp", top_k=k, top_p=p, min_p=m)),
            f"Sixty tokens whose weights are their ids, through top-k {k}, top-p {p} and min-p {m}, as in llama.cpp's test of queues.",
            gives(keep=list(range(lowest, QUEUE_SIZE))), flags=("ChainOrder",),
        )  # fmt: skip


def _candle() -> Iterator[SamplerDraft]:
    for slug, params, tokens in (
        ("greedy", {"temperature": None}, [3]),
        ("temperature", {"temperature": 0.9}, [0]),
        ("top-p", {"temperature": 1.0, "top_p": 0.5}, [2]),
        ("top-k-1", {"temperature": 1.0, "top_k": 1}, [3]),
        ("top-k-2", {"temperature": 1.0, "top_k": 2}, [3, 2]),
    ):
        for number, (word, token) in enumerate(
            zip(islice(chacha_by_seed(42), len(tokens)), tokens, strict=True)
        ):
            yield CANDLE.case(
                "sample", f"candle.{slug}-{number}", "candle",
                chain_request(TENTHS, params, uniforms=[float(rust_weighted_index(word))]),
                f"candle's own test with seed 42: {slug}, draw {number + 1}.",
                gives(token=token), flags=("DrawGivenNumber",),
            )  # fmt: skip


def _mistral_rs() -> Iterator[SamplerDraft]:
    for number, (row, token) in enumerate(
        (([-3.0, -1.0, -2.0], 1), ([-2.0, 4.0, 4.0, 1.0], 1), ([-inf, -3.0, 2.0], 2))
    ):
        yield MISTRAL.case(
            "sample", f"mistral.greedy-{number}", "mistral.rs",
            chain_request(row, {"temperature": None}, uniforms=[]),
            f"mistral.rs's own test: the first maximum of {row}.", gives(token=token),
            flags=("GreedyTie",), meets=True,
        )  # fmt: skip
    for slug, row in (("nan", [0.0, float("nan")]), ("inf", [0.0, inf]), ("none", [-inf, -inf])):
        yield MISTRAL.case(
            "sample", f"mistral.refused-{slug}", "mistral.rs",
            chain_request(row, {"temperature": None}, uniforms=[]),
            f"mistral.rs's own test: a row with {slug} for its logits is refused.",
            refuses("INVALID_ROW"), flags=("InvalidRow",), spec="docs/sampling.md#rows",
        )  # fmt: skip
    for slug, weights, params, law in (
        ("min-p", (1, 2, 4), {"top_k": 3, "top_p": 1.0, "min_p": 0.4}, [0, 1 / 3, 2 / 3]),
        (
            "top-k",
            (1, 2.718281828, 7.389056099),
            {"top_k": 1, "top_p": 1.0, "min_p": 0.0},
            [0, 0, 1],
        ),
    ):
        yield MISTRAL.case(
            "distribution", f"mistral.{slug}", "mistral.rs",
            chain_request([log(weight) for weight in weights], params),
            f"mistral.rs's own test of its filters: {slug}.", law_is(law),
        )  # fmt: skip
    yield MISTRAL.case(
        "sample", "mistral.suppressed", "mistral.rs",
        chain_request([0.0, 1.0, 10.0], {"temperature": None, "logits_bias": {2: -1.0e9}}, uniforms=[]),
        "mistral.rs's own test: a bias of minus a thousand million suppresses the best token.",
        gives(token=1), flags=("LogitBias",),
    )  # fmt: skip


def _exllamav3() -> Iterator[SamplerDraft]:
    tests: tuple[tuple[list[float], list[int], dict[str, Any], list[float]], ...] = (
        ([2.0] * 5, [0, 1, 2, 4, 1], {"pres_p": 0.5, "freq_p": 0.5}, [1, 0.5, 1, 2, 1]),
        ([10.0] * 10, [0, 0, 0, 1, 1, 1, 1, 1, 1, 9], {"pres_p": 1.0, "freq_p": 1.0}, [6, 3, 10, 10, 10, 10, 10, 10, 10, 8]),
        ([2.0] * 10, list(range(10)), {"pres_p": 1.0, "rep_sustain_range": 4, "rep_decay_range": 4}, [2, 2, 2, 1.75, 1.5, 1.25, 1, 1, 1, 1]),
        ([2.0] * 5, [0, 1, 2, 4], {"rep_p": 2.0}, [1, 1, 1, 2, 1]),
        ([2.0] * 10, list(range(10)), {"rep_p": 2.0, "rep_sustain_range": 4, "rep_decay_range": 4}, [2, 2, 2, 1.75, 1.5, 1.25, 1, 1, 1, 1]),
        ([2.0, 2.0, -2.0, 2.0, 2.0, 2.0], [1, 2, 3], {"rep_p": 2.0}, [2, 1, -4, 1, 2, 2]),
    )  # fmt: skip
    for number, (row, history, params, answer) in enumerate(tests):
        yield ROWS.case(
            "decaying_penalties", f"exllamav3-{number}", "exllamav3",
            row_request(row, history, **params),
            f"exllamav3's own test of penalties, number {number + 1}: {', '.join(params)}.",
            becomes(*answer), flags=("PenaltyFading",), spec="docs/engines.md#decaying_penalties",
        )  # fmt: skip
    for slug, row, params, law in (
        (
            "top-p",
            [5.0, 3, 2.5, 1, 4, 2, 1.5],
            {"temperature": 0.75, "top_p": 0.95},
            [0.79139, 0, 0, 0, 0.20861, 0, 0],
        ),
        (
            "min-p",
            [3, 3.5, 4, 4.5, 5, 5.5],
            {"min_p": 0.16},
            [0, 0, 0.10154, 0.16741, 0.27600, 0.45505],
        ),
    ):
        yield EXLLAMA.case(
            "distribution", f"exllamav3.{slug}", "exllamav3", chain_request(row, params),
            f"exllamav3's own test of {slug} and its law.", law_is(law),
        )  # fmt: skip
    ten = [3.0, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7, 2.8, 2.9]
    yield EXLLAMA.case(
        "chain", "exllamav3.top-k", "exllamav3", chain_request(ten, {"top_k": 5}),
        "exllamav3's own test of top-k 5.", gives(keep=[0, 6, 7, 8, 9]),
    )  # fmt: skip
    for slug, row, bias, biased in (
        ("bias", [1.0] * 5, {1: 5.0, 3: -2.0}, [1, 6, 1, -1, 1]),
        ("ban", [1.0, 2.0], {1: -inf}, [1, -inf]),
    ):
        yield ROWS.case(
            "logit_bias", f"exllamav3-{slug}", "exllamav3", row_request(row, logit_bias=bias),
            f"exllamav3's own test of logit biases: {slug}.", becomes(*biased),
            flags=("LogitBias",), spec="docs/engines.md#logit_bias",
        )  # fmt: skip
