"""A question and the reference's answer as a golden record."""

from types import MappingProxyType
from typing import Any, Final

import msgspec

from sampling_ref import STEPS
from tokenref.answers import Answer, Ok, Refused
from tokenref.fuzzing.question import Question
from tokenref.fuzzing.sampler_verdicts import sampler_verdict
from tokenref.record import (
    OPERATIONS,
    SAMPLER_OPS,
    Case,
    Exact,
    MustRefuse,
    Verdict,
    answer_type,
    make_case,
)
from tokenref.subjects import Samplers

_DRAWS: Final = "docs/sampling.md#random-numbers-and-draws"

SPECS: Final = MappingProxyType(
    {
        "pieces": "docs/bpe.md#pieces",
        "encode": "docs/bpe.md#definition",
        "count": "docs/bpe.md#counting",
        "special": "docs/bpe.md#special-tokens",
        "decode": "docs/bpe.md#decoding",
        "stream": "docs/streaming.md#certain",
        "offsets": "docs/streaming.md#offsets",
        **dict.fromkeys(("append", "prepend", "eager", "intervals"), "docs/cutting.md#growing"),
        **dict.fromkeys(("limit", "split", "chunks"), "docs/cutting.md#cutting"),
        "completions": "docs/cutting.md#completions",
        "canonical": "docs/cutting.md#canonical",
        "session": "docs/bpe.md#several-calls",
        "tokenize": "docs/tokenizers.md#pipeline",
        "detokenize": "docs/tokenizers.md#decoders",
        "detokenize_stream": "docs/streaming.md#certain",
        **dict.fromkeys(("chain", "distribution", "sample", "sequence"), "docs/sampling.md#chains"),
        **dict.fromkeys(("draw", "random_words", "uniforms"), _DRAWS),
        **dict.fromkeys(("speculative", "residual"), "docs/sampling.md#speculative-decoding"),
    }
)
"""Where the rule of each operation is written down, steps of samplers aside."""

DRAFT_WHY: Final = "A question that a campaign drew; nobody has said yet why it matters."


def case_of(
    question: Question,
    right: Answer,
    *,
    slug: str = "",
    why: str = DRAFT_WHY,
) -> Case | None:
    """Return the record of a question and the reference's answer to it.

    None where the answer cannot be asked of others: rounding may decide it. The
    slug is the beginning of the record's sum unless another one is given.
    """
    verdict = _verdict(question, right)
    if verdict is None:
        return None
    op, area = question.op, "sampling" if question.op in SAMPLER_OPS else "bpe"
    parts: dict[str, Any] = {
        "profile": question.profile,
        "why": why,
        "flags": ["Random"],
        "spec": spec_of(op),
        "verdict": verdict,
        "input": msgspec.convert(dict(question.request), OPERATIONS[op].question),
    }
    if not isinstance(question.subject, Samplers):
        parts["vocab"] = question.subject.digest()
    if isinstance(right, Ok):
        parts["out"] = msgspec.convert(dict(right.out), answer_type(op))
    case = make_case(op, id=f"{area}/{op}/regress/draft", **parts)
    slug = slug or case.sum.removeprefix("sha256:")[:12]
    return msgspec.structs.replace(case, id=f"{area}/{op}/regress/{slug}")


def spec_of(op: str) -> str:
    """Return where the rule of an operation is written down.

    >>> spec_of("pieces"), spec_of("top_p"), spec_of("draw")
    ('docs/bpe.md#pieces', 'docs/sampling.md#the-steps', '...-numbers-and-draws')
    """
    if op in STEPS:
        return "docs/sampling.md#the-steps"
    return SPECS.get(op, "docs/sampling.md")


def _verdict(question: Question, right: Answer) -> Verdict | None:
    if isinstance(right, Refused):
        return MustRefuse(codes=[right.code])
    if question.op in SAMPLER_OPS:
        return sampler_verdict(question, right)
    return Exact()
