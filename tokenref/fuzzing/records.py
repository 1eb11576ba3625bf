"""A question and the reference's answer as a golden record."""

from types import MappingProxyType
from typing import Final

import msgspec

from sampling_ref.steps.table import STEPS
from tokenref.answers import Answer, Ok, Refused
from tokenref.fuzzing.plan import CampaignError, Question
from tokenref.goldens import GoldensError, golden, right_answer
from tokenref.record import SAMPLER_OPS, Case
from tokenref.rounding.verdicts import sampler_verdict

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
    question: Question, right: Answer, *, slug: str = "", why: str = DRAFT_WHY
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
        spec=spec_of(op),
        verdict=verdict,
    )
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


def answered_anew(question: Question, name: str, *, slug: str, why: str) -> Case:
    """Return the record of a question. Raises `CampaignError`, which begins with `name`.

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
        raise CampaignError(f"{name}: it is no question: {error}") from None
    if case is None:
        raise CampaignError(f"{name}: rounding decides the answer, so that it is no golden")
    return case


def right_answer_to(question: Question, name: str) -> Ok | Refused:
    """Return the reference's answer. Raise `CampaignError`, beginning with `name`, if none."""
    try:
        return right_answer(question.op, question.profile, question.subject, name, question.request)
    except GoldensError as error:
        raise CampaignError(f"{name}: {error}") from None
