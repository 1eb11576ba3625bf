"""Tables of questions about a step by its rules: what goes in, what comes out, and why."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from authoring.cases.sampling.draft import SamplerDraft, differs_from
from authoring.cases.sampling.rows_asking import NOTHING, Topic, becomes, row_request
from tokenref.rules import rule_name


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
