"""A question and the reference's answer as a golden record."""

from typing import Final

import msgspec

from sampling_ref.steps.table import STEPS
from tokenref.answers import Answer, Ok, Refused
from tokenref.errors import InputError
from tokenref.fuzzing.plan import Question
from tokenref.goldens import GoldensError, golden, right_answer
from tokenref.record import SAMPLER_OPS, Case
from tokenref.rounding.verdicts import sampler_verdict

_SPECS: Final = {
    "docs/bpe.md#pieces": "pieces",
    "docs/bpe.md#definition": "encode",
    "docs/bpe.md#counting": "count",
    "docs/bpe.md#special-tokens": "special",
    "docs/bpe.md#decoding": "decode",
    "docs/bpe.md#several-calls": "session",
    "docs/streaming.md#certain": "stream detokenize_stream",
    "docs/streaming.md#offsets": "offsets",
    "docs/cutting.md#growing": "append prepend eager intervals",
    "docs/cutting.md#cutting": "limit split chunks",
    "docs/cutting.md#completions": "completions",
    "docs/cutting.md#canonical": "canonical",
    "docs/sampling.md#grammar-masks": "grammar_mask",
    "docs/tokenizers.md#pipeline": "tokenize",
    "docs/tokenizers.md#decoders": "detokenize",
    "docs/sampling.md#chains": "chain distribution sample sequence",
    "docs/sampling.md#random-numbers-and-draws": "draw random_words uniforms",
    "docs/sampling.md#speculative-decoding": "speculative residual",
    "docs/sampling.md#processors-in-the-loop": "speculative_steps",
    "docs/sampling.md#reported-log-probabilities": "top_logprobs prompt_logprobs",
    "docs/sampling.md#the-steps": " ".join(STEPS),
}
"""Where the rules of operations are written down."""

SPEC_OF: Final = {op: spec for spec, ops in _SPECS.items() for op in ops.split()}

_DRAFT_WHY: Final = "A question that a campaign drew; nobody has said yet why it matters."


def case_of(
    question: Question, right: Answer, *, slug: str = "", why: str = _DRAFT_WHY
) -> Case | None:
    """Return the record of a question and the reference's answer to it.

    Return None if rounding may decide the answer, so that other answers are not wrong. The
    slug is the beginning of the record's sum unless another one is given.
    """
    if not isinstance(right, Ok | Refused):
        return None
    op, verdict, area = question.op, None, "bpe"
    if op in SAMPLER_OPS:
        verdict, area = sampler_verdict(op, question.profile, question.request, right), "sampling"
        if verdict is None and not isinstance(right, Refused):
            return None
    case = golden(
        op,
        question.subject,
        question.request,
        right,
        id=f"{area}/{op}/regress/draft",
        profile=question.profile,
        why=why,
        flags=["Random"],
        spec=SPEC_OF.get(op, "docs/sampling.md"),
        verdict=verdict,
    )
    slug = slug or case.sum.removeprefix("sha256:")[:12]
    return msgspec.structs.replace(case, id=f"{area}/{op}/regress/{slug}")


def answered_anew(question: Question, name: str, *, slug: str, why: str) -> Case:
    """Return the record of a question. Raises `InputError`, which begins with `name`.

    >>> from tokenref.subjects import SAMPLERS
    >>> request = {"probs": {"f32": "3f0000003f000000"}, "params": {"k": 1}}
    >>> question = Question("top_k", "standard", SAMPLERS, "", request)
    >>> answered_anew(question, "one", slug="one", why="Of two equal tokens the first stays.").out
    KeepOutput(keep=[0])
    """
    answer = right_answer_to(question, name)
    try:
        case = case_of(question, answer, slug=slug, why=why)
    except (msgspec.ValidationError, ValueError) as error:
        raise InputError(f"{name}: it is no question: {error}") from None
    if case is None:
        raise InputError(f"{name}: rounding decides the answer, so that it is no golden")
    return case


def right_answer_to(question: Question, name: str) -> Ok | Refused:
    """Return the reference's answer. Raise `InputError`, beginning with `name`, if none."""
    try:
        return right_answer(question.op, question.profile, question.subject, name, question.request)
    except GoldensError as error:
        raise InputError(f"{name}: {error}") from None
