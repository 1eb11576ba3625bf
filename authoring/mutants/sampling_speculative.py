"""Mutants of speculative decoding whose penalties and masks see other tokens than they should."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from math import inf, log
from typing import Any, Final, TypeAlias

from authoring.mutants.samplers import Request, SamplerHandler, answering, other_question
from sampling_ref import SamplingError, chain
from sampling_ref.numbers.softmax import softmax
from sampling_ref.speculative import processed_targets
from sampling_ref.speculative.residual import subtract
from sampling_ref.speculative.shares import read_exactly, read_shares, token_at
from tokenref.answers import Answer, Ok, Refused
from tokenref.engines.reference_samplers import SamplerSession, uses_of
from tokenref.floats import pack, unpack
from tokenref.questions.sampling import pack_parameters
from tokenref.rules import choices_of, rule_name

OP: Final = "speculative_steps"

_FREQUENCY: Final = [{"step": "frequency_penalty", "params": pack_parameters({"penalty": 4.0})}]
_SMALL: Final = [{"step": "frequency_penalty", "params": pack_parameters({"penalty": 1.0})}]
_LENGTH: Final = [{"step": "min_length", "params": {"length": 2, "ends": [0]}}]
_ROW: Final = pack([2.0, 0.0])


def _asked(
    tokens: Sequence[int],
    uniforms: Sequence[float],
    steps: Sequence[Mapping[str, Any]] = _FREQUENCY,
    history: Sequence[int] = (),
) -> dict[str, Any]:
    return {
        "target": [_ROW] * (len(tokens) + 1),
        "draft": [pack([0.5, 0.5])] * len(tokens),
        "tokens": [*tokens],
        "history": [*history],
        "prompt_length": 0,
        "steps": [*steps],
        "uniforms": pack(uniforms),
    }


_TWICE: Final = _asked([0, 0], [0.5, 0.75, 0.5])
_BONUS: Final = _asked([0], [0.5, 0.5])
_COLD: Final = [{"step": "temperature", "params": pack_parameters({"temperature": 0.5})}]
_UNEVEN: Final = {**_asked([1], [0.125, 0.5], _COLD), "draft": [pack([0.75, 0.25])]}

Show: TypeAlias = Callable[[Request, int], Sequence[int]]
"""Returns the drafts that steps see at a place of a question."""

Process: TypeAlias = Callable[[Request, int, Sequence[float], list[int]], Sequence[float]]
"""Returns the row of a place, given the question, the place, the row, and what steps should see."""


def _after_steps(
    request: Request, row: Sequence[float], seen: Sequence[int], prompt_length: int | None = None
) -> list[float]:
    length = request["prompt_length"] if prompt_length is None else prompt_length
    return chain(uses_of(request["steps"]), row, seen, prompt_length=length).row


def _targets(request: Request, process: Process) -> list[list[float]]:
    before = len(request["history"])
    return processed_targets(
        [unpack(row) for row in request["target"]],
        request["tokens"],
        lambda row, seen: process(request, len(seen) - before, row, seen),
        request["history"],
    )


def _other_rows(process: Process) -> SamplerHandler:
    """Answer with other rows of the target. What is refused is refused."""

    @wraps(process)
    def handle(session: SamplerSession, op: str, request: Request) -> Answer:
        right = session.answer(op, request)
        if not isinstance(right, Ok):
            return right
        try:
            rows = _targets(request, process)
        except SamplingError as error:
            return Refused("INVALID_ROW", str(error))
        asked = {name: request[name] for name in ("draft", "tokens", "uniforms")}
        rule = rule_name("speculative", **(choices_of(op, session.profile) or {}))
        targets = [pack(row, "f64") for row in rows]
        return SamplerSession(rule).answer(
            "speculative", {**asked, "target": targets, "params": {}}
        )

    return handle


def _shown(show: Show) -> SamplerHandler:
    """Answer with steps that see other drafts."""

    @wraps(show)
    def process(
        request: Request, place: int, row: Sequence[float], _: list[int]
    ) -> Sequence[float]:
        return _after_steps(request, row, [*request["history"], *show(request, place)])

    return _other_rows(process)


@answering(OP, _TWICE)
@_shown
def steps_see_no_draft(_request: Request, _place: int) -> Sequence[int]:
    """Penalties and masks see the history alone, at each place."""
    return ()


@answering(OP, _TWICE)
@_shown
def steps_see_all_drafts(request: Request, _place: int) -> Sequence[int]:
    """All rows are processed at once, after the drafts were put into the history."""
    return list(request["tokens"])


@answering(OP, _TWICE)
@_shown
def steps_see_drafts_late(request: Request, place: int) -> Sequence[int]:
    """Each draft is put into the history after the next row was processed."""
    return list(request["tokens"][: max(place - 1, 0)])


@answering(OP, _asked([0, 0, 1], [0.125, 0.125, 0.5, 0.5], history=[1]))
@_shown
def steps_see_the_last_draft(request: Request, place: int) -> Sequence[int]:
    """Only the last accepted draft is put into the history, as at a step without drafts."""
    return list(request["tokens"][:place][-1:])


@answering(OP, _asked([0], [0.0625, 0.5], _SMALL))
@_shown
def steps_see_the_last_draft_twice(request: Request, place: int) -> Sequence[int]:
    """The last draft is counted when it is offered and again when it is accepted."""
    return [*request["tokens"][:place], *request["tokens"][:place][-1:]]


@answering(OP, _BONUS)
@_other_rows
def bonus_row_as_it_came(
    request: Request, place: int, row: Sequence[float], seen: list[int]
) -> Sequence[float]:
    """The row after the last draft is not processed."""
    return row if place == len(request["tokens"]) else _after_steps(request, row, seen)


@answering(OP, _BONUS)
@_other_rows
def bonus_row_without_drafts(
    request: Request, place: int, row: Sequence[float], seen: list[int]
) -> Sequence[float]:
    """The row after the last draft is processed with the history alone."""
    history = request["history"] if place == len(request["tokens"]) else seen
    return _after_steps(request, row, history)


@answering(OP, _asked([0], [0.5, 0.5], history=[0, 0]))
@_other_rows
def only_the_bonus_row_is_processed(
    request: Request, place: int, row: Sequence[float], seen: list[int]
) -> Sequence[float]:
    """Drafts are judged by the rows as they came."""
    return _after_steps(request, row, seen) if place == len(request["tokens"]) else row


@answering(OP, _BONUS)
@_other_rows
def drafts_are_prompt(
    request: Request, _place: int, row: Sequence[float], seen: list[int]
) -> Sequence[float]:
    """Drafts count as prompt, so that penalties of the output leave them out."""
    return _after_steps(request, row, seen, prompt_length=len(seen))


@answering(OP, _asked([1], [0.125, 0.5], _LENGTH, history=[1]))
@_other_rows
def least_length_without_drafts(
    request: Request, _place: int, row: Sequence[float], seen: list[int]
) -> Sequence[float]:
    """The least length is compared with the length of the text before the drafts."""
    lengths = [each for each in request["steps"] if each["step"].startswith("min_")]
    others = [each for each in request["steps"] if not each["step"].startswith("min_")]
    if lengths:
        row = _after_steps({**request, "steps": lengths}, row, request["history"])
    return _after_steps({**request, "steps": others}, row, seen) if others else row


@answering(OP, _UNEVEN)
def draft_rows_are_processed(session: SamplerSession, op: str, request: Request) -> Answer:
    """The steps change the draft's rows, too, though its tokens were drawn before them."""
    right = session.answer(op, request)
    if not isinstance(right, Ok):
        return right
    rows = [
        [log(weight) if weight > 0 else -inf for weight in unpack(row)] for row in request["draft"]
    ]
    history, tokens = request["history"], request["tokens"]
    try:
        changed = [
            softmax(_after_steps(request, row, [*history, *tokens[:place]]))
            for place, row in enumerate(rows)
        ]
    except SamplingError as error:
        return Refused("INVALID_ROW", str(error))
    return session.answer(op, {**request, "draft": [pack(row, "f64") for row in changed]})


@answering(OP, _asked([0], [0.9375, 0.25], history=[0, 0]))
def residual_of_the_row_as_it_came(session: SamplerSession, op: str, request: Request) -> Answer:
    """The token that replaces a draft is drawn from the residual of the row before the steps."""
    right = session.answer(op, request)
    if not isinstance(right, Ok) or not request["draft"]:
        return right
    accepted = right.out["accepted"]
    if accepted == len(request["tokens"]):
        return right
    target = read_shares(softmax(unpack(request["target"][accepted])))
    left = subtract(target, read_shares(unpack(request["draft"][accepted])), "target")
    number = read_exactly(unpack(request["uniforms"]), len(request["tokens"]) + 1)[-1]
    return Ok({**right.out, "tokens": [*right.out["tokens"][:-1], token_at(left, number)]})


# ---- batches


def _batched(change: Callable[[list[dict[str, Any]]], None]) -> SamplerHandler:
    """Change the rows of a batch of drafts before it is answered."""

    @wraps(change)
    def handle(session: SamplerSession, op: str, request: Request) -> Answer:
        right = session.answer(op, request)
        if not isinstance(right, Ok) or request["op"] != OP:
            return right
        rows = [dict(row) for row in request["rows"]]
        change(rows)
        return session.answer(op, {**request, "rows": rows})

    return handle


def _batch(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"op": OP, "rows": [_TWICE, row]}


@answering("batch", _batch(_asked([], [0.9375])))
@_batched
def random_numbers_of_rows_of_one_length(rows: list[dict[str, Any]]) -> None:
    """The random numbers of all rows lie in one buffer, read as if all rows had equal numbers."""
    numbers = [number for row in rows for number in unpack(row["uniforms"])]
    for place, row in enumerate(rows):
        count = len(row["tokens"]) + 1
        first = min(place * count, len(numbers) - count)
        row["uniforms"] = pack(numbers[first : first + count], "f64")


@answering("batch", _batch(_asked([], [0.5])))
@_batched
def drafts_of_the_row_before_are_seen(rows: list[dict[str, Any]]) -> None:
    """The drafts of the row before are still in the history."""
    sizes = [len(unpack(row["target"][0])) for row in rows]
    for place in range(len(rows) - 1, 0, -1):
        stale = [token for token in rows[place - 1]["tokens"] if token < sizes[place]]
        rows[place]["history"] = [*rows[place]["history"], *stale]


@answering("batch", _batch({**_asked([], [0.5], history=[0]), "prompt_length": 1}))
@_batched
def prompt_length_of_the_row_before(rows: list[dict[str, Any]]) -> None:
    """The prompt of each row is as long as that of the row before."""
    lengths = [row["prompt_length"] for row in rows]
    for row, length in zip(rows, [lengths[-1], *lengths], strict=False):
        row["prompt_length"] = min(length, len(row["history"]))


@answering("batch", _batch(_asked([], [0.0625], history=[0, 0])))
@_batched
def rows_without_drafts_are_not_processed(rows: list[dict[str, Any]]) -> None:
    """A row without drafts takes another way through the program, on which steps are left out."""
    for row in rows:
        if not row["tokens"]:
            row["steps"] = [{"step": "temperature", "params": {"temperature": 1}}]


@answering(
    OP,
    {
        **_asked([], [0.5], [*_FREQUENCY, {"step": "top_k", "params": {"k": 1}}], [0]),
        "target": [pack([2.0, 1.0])],
    },
    profile=rule_name(OP, method="matching"),
)
@other_question
def filters_before_the_penalties(request: dict[str, Any]) -> Mapping[str, Any]:
    """Filters run before penalties, on the row as the model gave it."""
    filters = [each for each in request["steps"] if each["step"] in {"top_k", "top_p"}]
    return {"steps": [*filters, *(each for each in request["steps"] if each not in filters)]}
