"""A case about a sampler before it has an answer: its question, its reason and its verdict.

The reference computes the answer; it is never written by hand. The verdict is exact unless the
generator says otherwise; `tokenref.rounding` has the verdicts where rounding decides. A purpose
proves what the `why` claims, as for tokenizers.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import msgspec

from authoring.cases.draft import PurposeError
from tokenref.answers import Answer, Ok, Refused, guarded
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.goldens import GoldensError, golden, right_answer
from tokenref.judge import judge
from tokenref.record import OPERATIONS, Case
from tokenref.subjects import SAMPLERS
from tokenref.verdicts import Either, Exact, MustRefuse, Row, Rows, Seeds, Stat, Survey, Verdict

SamplerPurpose: TypeAlias = Callable[[Case], None]

VerdictOfAnswer: TypeAlias = Callable[[Mapping[str, Any], Ok], Verdict]

DEFAULT_SPEC: Final = "docs/sampling.md"


@dataclass(frozen=True)
class SamplerDraft:
    """A case about a sampler, without its answer: it has a rule and a verdict, no vocabulary."""

    op: str
    topic: str
    """The name of the file it goes to, and the second part of its id's middle."""

    slug: str
    profile: str
    """A rule's name, or an engine's."""

    request: Mapping[str, Any]
    """The question, as the record has it."""

    why: str
    flags: Sequence[str]
    verdict: Verdict | VerdictOfAnswer = field(default_factory=Exact)
    """How an answer is judged, or a function that tells it from the question and the answer."""

    spec: str = DEFAULT_SPEC
    purposes: Sequence[SamplerPurpose] = ()

    @property
    def id(self) -> str:
        """The permanent id: operation, topic, slug; the plus sign of a rule's name is a hyphen."""
        return f"sampling/{self.op}/{self.topic}/{self.slug.replace('+', '-')}"


def finish_sampler(draft: SamplerDraft) -> Case:
    """Answer a draft with the reference, and prove its purpose. Raises `PurposeError`.

    A verdict of its own must let the reference's answer pass.
    """
    op, verdict = draft.op, draft.verdict
    question = msgspec.to_builtins(msgspec.convert(dict(draft.request), OPERATIONS[op].question))
    right = None if isinstance(verdict, Seeds | Stat | Survey) else _right(draft, question)
    if callable(verdict):
        assert isinstance(right, Ok)  # noqa: S101 - only an exact record may be refused
        verdict = verdict(question, right)
    case = golden(
        op,
        SAMPLERS,
        question,
        Ok(verdict.alternatives[0].out)
        if isinstance(verdict, Either)
        else None
        if isinstance(verdict, Row | Rows)
        else right,
        id=draft.id,
        profile=draft.profile,
        why=draft.why,
        flags=sorted(draft.flags),
        spec=draft.spec,
        verdict=verdict,
    )
    if isinstance(right, Ok):
        judgement = judge(case, right, SAMPLERS)
        if judgement.status != "pass":
            raise PurposeError(f"{draft.id}: the reference itself fails: {judgement.detail}")
    for purpose in draft.purposes:
        purpose(case)
    return case


def _right(draft: SamplerDraft, question: Mapping[str, Any]) -> Ok | Refused:
    try:
        right = right_answer(draft.op, draft.profile, SAMPLERS, "", question)
    except GoldensError as error:
        raise PurposeError(f"{draft.id}: {error}") from None
    if isinstance(right, Refused) and not isinstance(draft.verdict, Exact):
        raise PurposeError(f"{draft.id}: the reference refuses: {right.message}")
    return right


def refuses(code: str) -> SamplerPurpose:
    """Return the purpose "the input is refused for this reason".

    >>> refuses("INVALID_ROW")  # doctest: +ELLIPSIS
    <function ...>
    """

    def check(case: Case) -> None:
        if not isinstance(case.verdict, MustRefuse) or case.verdict.codes != [code]:
            raise PurposeError(f"{case.id}: must be refused with {code}, got {case.verdict}")

    return check


def gives(**parts: Any) -> SamplerPurpose:
    """Return the purpose "the answer has these parts", for those that a person knows.

    >>> gives(keep=[0, 1])  # doctest: +ELLIPSIS
    <function ...>
    """

    def check(case: Case) -> None:
        out = msgspec.to_builtins(case.out) or {}
        for name, value in parts.items():
            if out.get(name) != value:
                raise PurposeError(f"{case.id}: {name} must be {value}, got {out.get(name)}")

    return check


def differs_from(profile: str, *, why: str = "") -> SamplerPurpose:
    """Return the purpose "another rule or engine answers otherwise", so that the case decides.

    >>> differs_from("boundary.exceed")  # doctest: +ELLIPSIS
    <function ...>
    """

    def check(case: Case) -> None:
        request = msgspec.to_builtins(case.input)
        op = str(type(case).__struct_config__.tag)
        answer: Answer = guarded(lambda: SamplerSession(profile).answer(op, request))
        if not isinstance(answer, Ok | Refused):
            raise PurposeError(f"{case.id}: {profile} cannot be asked this: {answer}")
        if judge(case, answer, SAMPLERS).status == "pass":
            raise PurposeError(f"{case.id}: must tell {profile} apart{why and f', {why}'}")

    return check


# ---- sentences of cases that ask the same in several ways


def asked_as(why: str, *ways: str) -> str:
    """Return the sentence with what tells the case from those beside it.

    >>> asked_as("The number 0 draws the first token.", "reach", "f64")
    'The number 0 draws the first token (reach, f64).'
    """
    return f"{why.removesuffix('.')} ({', '.join(ways)})."


def told_apart(drafts: Iterable[SamplerDraft]) -> Iterator[SamplerDraft]:
    """Yield drafts, each with a sentence of its own: where one has several, with their names."""
    every = list(drafts)
    groups = defaultdict(list)
    for draft in every:
        groups[draft.why].append((draft.op, draft.topic))
    for draft in every:
        ops, topics = zip(*groups[draft.why], strict=True)
        if len(ops) == 1:
            yield draft
            continue
        parts = [draft.op] if len(set(ops)) > 1 else []
        parts += [draft.topic] if len(set(topics)) > 1 else []
        ways = [part.replace("_", " ") for part in parts] + [draft.slug.replace("-", " ")]
        yield replace(draft, why=asked_as(draft.why, *ways))
