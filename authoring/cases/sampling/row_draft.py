"""Cases about steps that change a row, one by one or as a table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from authoring.cases.sampling.draft import (
    SamplerDraft,
    SamplerPurpose,
    VerdictOfAnswer,
    differs_from,
    gives,
)
from tokenref.floats import Type, nearest, pack
from tokenref.questions.sampling import pack_parameters
from tokenref.rounding.rows import row_verdict
from tokenref.rules import rule_name
from tokenref.verdicts import Verdict

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


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
        verdict: Verdict | VerdictOfAnswer | None = None,
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
            row_verdict(op, profile, request) if verdict is None else verdict,
            spec or self.spec,
            purposes,
        )


def becomes(*logits: float, dtype: Type = "f32") -> SamplerPurpose:
    """Return the purpose "the row becomes this one", for numbers that a person knows.

    >>> becomes(1.0, 2.0)  # doctest: +ELLIPSIS
    <function ...>
    """
    return gives(logits=pack([float(logit) for logit in logits], dtype))


# ---- tables of cases about the rules of a step


class Row(NamedTuple):
    """A question, the row that it becomes, and why it is asked."""

    slug: str
    params: Mapping[str, Any]
    logits: Sequence[float]
    history: Sequence[int]
    answer: Sequence[float] | None
    why: str
    choices: Mapping[str, str] = NOTHING
    prompt: int = 0
    flags: tuple[str, ...] = ()
    rival: str = ""
    dtype: Any = "f32"


def tabled(op: str, topic: Topic, rows: Sequence[Row]) -> Iterator[SamplerDraft]:
    """Yield the cases of a table, each with the purpose that its row is."""
    for row in rows:
        purposes = []
        if row.answer is not None:
            purposes.append(becomes(*row.answer, dtype=row.dtype))
        if row.rival:
            purposes.append(differs_from(row.rival))
        request = row_request(
            row.logits, row.history, prompt_length=row.prompt, dtype=row.dtype, **row.params
        )
        profile = rule_name(op, **row.choices)
        yield topic.case(op, row.slug, profile, request, row.why, *purposes, flags=row.flags)
