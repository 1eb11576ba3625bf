"""Questions about steps that change a row, and how closely their answers are judged.

A number that needs no rounding must be right to the last bit. Elsewhere several roundings are
legitimate: after every operation or once at the end, by division or by a reciprocal. Then the
verdict is generated: the reference answers once exactly and once with 32 bits after every
operation (`rounded_row`), and what may be apart is the largest distance of the two, and one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from types import MappingProxyType
from typing import Any, Final

from authoring.cases.sampling.draft import SamplerDraft, SamplerPurpose, gives
from sampling_ref import PROFILES, STEPS, SamplingError
from sampling_ref.candidates import Candidates, all_candidates
from sampling_ref.evaluation import apply_stage, is_greedy_instead, own_name, question_of
from sampling_ref.evaluation import read_parameters as read_parameters_of
from sampling_ref.numbers.binary32 import Binary32
from sampling_ref.random.sources import Given
from sampling_ref.row import ReadRow
from sampling_ref.steps.step import Situation
from sampling_ref.tracing import apply_step
from sampling_ref.twins.table import TWINS
from tokenref.answers import Ok
from tokenref.engines.reference_samplers import SamplerSession, with_functions
from tokenref.floats import Type, nearest, pack, type_of, units_apart, unpack
from tokenref.questions.sampling import pack_parameters, unpack_parameters
from tokenref.rules import choices_of
from tokenref.verdicts import Close, Exact, Verdict

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
MOST: Final = 64
"""No answer may be farther off: where two roundings are, the case is a bad one."""

IRRATIONAL: Final = frozenset({"lz", "dynamic_temperature"})
"""Steps with logarithms, whose last bits are the library's."""


def in_32_bits(value: Any) -> Any:
    """Return a parameter with each number in 32 bits, so that every engine holds the same one.

    >>> in_32_bits({0: 0.1})
    {0: 0.10000000149011612}
    """
    if isinstance(value, float):
        return nearest(value, "f32")
    if isinstance(value, Mapping):
        return {key: in_32_bits(entry) for key, entry in value.items()}
    return [in_32_bits(entry) for entry in value] if isinstance(value, list | tuple) else value


def row_request(
    logits: Sequence[float],
    history: Sequence[int] = (),
    *,
    prompt_length: Any = 0,
    dtype: Any = "f32",
    **params: Any,
) -> dict[str, Any]:
    """Return a question about a step, as a record has it.

    `prompt_length` is a number of tokens, `dtype` the name of a type.

    >>> row_request([0.5], [0], penalty=2.0)["params"]
    {'penalty': {'f32': '40000000'}}
    """
    return {
        "logits": pack([nearest(float(logit), dtype) for logit in logits], dtype),
        "history": list(history),
        "prompt_length": prompt_length,
        "params": pack_parameters(in_32_bits(params)),
    }


@dataclass(frozen=True)
class Topic:
    """What the cases of one file have in common."""

    name: str
    flags: tuple[str, ...]
    spec: str

    def case(
        self,
        op: str,
        slug: str,
        profile: str,
        request: Mapping[str, Any],
        why: str,
        *purposes: SamplerPurpose,
        flags: Sequence[str] = (),
        verdict: Verdict | None = None,
        spec: str = "",
    ) -> SamplerDraft:
        """Return a case; without a verdict of its own it is judged as closely as can be."""
        return SamplerDraft(
            op,
            self.name,
            slug,
            profile,
            request,
            why,
            tuple({*self.flags, *flags}),
            verdict_of_row(op, profile, request) if verdict is None else verdict,
            spec or self.spec,
            purposes,
        )


def verdict_of_row(op: str, profile: str, request: Mapping[str, Any]) -> Verdict:
    """Return how closely a row is judged: exactly where nothing is rounded.

    >>> verdict_of_row("temperature", "standard", row_request([1.0], temperature=2.0))
    Exact()
    >>> verdict_of_row("temperature", "standard", row_request([1.0], temperature=3.0))
    Close(ulp=1, floor=UNSET)
    """
    session = SamplerSession(profile)
    answer = session.answer(op, request)
    if not isinstance(answer, Ok):
        return Exact()
    dtype = type_of(request["logits"])
    right = unpack(answer.out["logits"])
    rounded = rounded_row(op, profile, request)
    wide = {**request, "logits": pack(unpack(request["logits"]), "f64")}
    wider = session.answer(op, wide)
    assert isinstance(wider, Ok)  # noqa: S101 - the same question in more digits
    needs_no_rounding = unpack(wider.out["logits"]) == right and op not in IRRATIONAL
    if rounded is None:
        return Exact() if needs_no_rounding else Close(ulp=1)
    there = [nearest(number, dtype) for number in rounded]
    apart = max(units_apart(a, b, dtype) for a, b in zip(right, there, strict=True))
    if apart == 0 and (needs_no_rounding or all(number in {0.0, -inf} for number in right)):
        return Exact()
    if op in IRRATIONAL:
        apart = 2 * apart + 2  # a logarithm of another library is another few units away
    if apart >= MOST:
        raise ValueError(f"{op} {profile}: roundings are {apart} units apart: {right}, {there}")
    return Close(ulp=int(apart) + 1)


def rounded_row(op: str, profile: str, request: Mapping[str, Any]) -> list[float] | None:
    """Return the row with 32 bits after every operation, or None where 32 bits do not do.

    >>> rounded_row("temperature", "standard", row_request([1.0], temperature=3.0))
    [0.3333333432674408]
    """
    logits = unpack(request["logits"])
    if any(nearest(logit, "f32") != logit for logit in logits):
        return None
    try:
        candidates = _rounded(op, profile, request, logits)
    except (SamplingError, OverflowError):
        return None
    row = [-inf] * len(logits)
    for token, logit in zip(candidates.tokens, candidates.logits, strict=True):
        row[token] = -inf if logit == -inf else float(logit * candidates.factor)
    return row


def _rounded(
    op: str, profile: str, request: Mapping[str, Any], logits: Sequence[float]
) -> Candidates:
    params = with_functions(unpack_parameters(request["params"]))
    history, prompt = request["history"], request["prompt_length"]
    if profile in PROFILES:
        record = PROFILES[profile]
        question = question_of(
            record,
            read_parameters_of(record, params),
            logits,
            history,
            prompt_length=prompt,
            randomness=Given([]),
            state={},
            precision="f32",
        )
        candidates = question.candidates
        for stage in record.stages_of(own_name(question, op)):
            if not (stage.is_off(question.parameters) or is_greedy_instead(question, stage)):
                candidates = apply_stage(question, stage, candidates).after
        return candidates
    step = TWINS[""].steps.get(op, STEPS[op])
    situation = Situation(len(logits), tuple(history), prompt, Given([]), {}, Binary32)
    values = {**params, **(choices_of(op, profile) or {})}
    applied = apply_step(step, values, all_candidates(ReadRow(logits)), situation)
    return applied.after


def with_slug(draft: SamplerDraft, slug: str) -> SamplerDraft:
    """Return a draft under another name."""
    return replace(draft, slug=slug)


def becomes(*logits: float, dtype: Type = "f32") -> SamplerPurpose:
    """Return the purpose "the row becomes this one", for numbers that a person knows.

    >>> becomes(1.0, 2.0)  # doctest: +ELLIPSIS
    <function ...>
    """
    return gives(logits=pack([float(logit) for logit in logits], dtype))
