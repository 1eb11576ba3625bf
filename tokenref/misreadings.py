"""What a program answers if it misreads a question in a way that is frequent.

The reference answers again: with a sum of weights that is forgotten, with counts that end at 127,
with one random number for all drafts. `tokenref.diagnosis` names a misreading if it gives the wrong
answers of an operation, and if the records that pass would still do so.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import exp, fsum
from typing import Any, Final, TypeAlias

import msgspec

from sampling_ref import Use, chain
from sampling_ref.speculative.shares import read_exactly, read_shares, token_at
from tokenref.answers import Answer, Ok, Refused
from tokenref.floats import pack, unpack
from tokenref.hints import MOST_AGAIN, Reference, tokens_of
from tokenref.questions.sampling import BatchInput, unpack_parameters
from tokenref.record import Case, op_of
from tokenref.rules import STANDARD

Row: TypeAlias = Mapping[str, Any]
"""A question, alone or in a batch."""

_MISREAD: Final = ("top_p", "steps", "speculative", "speculative_steps")

_BELOW_1: Final = 1 - 2.0**-53
"""The largest share and the largest random number."""

_COUNTS: Final = (127, 255)
"""The largest numbers of occurrences in a byte."""


def misread(case: Case, reference: Reference) -> Iterator[tuple[str, Answer, int]]:
    """Yield what a program may make of a question, its answer, and how many rows differ."""
    question = msgspec.to_builtins(case.input)
    is_batch = isinstance(case.input, BatchInput)
    rows, op = (question["rows"], question["op"]) if is_batch else ([question], op_of(case))
    is_worth_asking = op in _MISREAD or "history" in rows[0]
    if not is_worth_asking or tokens_of(rows) > MOST_AGAIN:
        return
    right = reference(case, question)
    if not isinstance(right, Ok):
        return
    others = [dict(_changes(op, row)) for row in rows]
    for says in dict.fromkeys(says for each in others for says in each):
        changed = [{**row, **each.get(says, {})} for row, each in zip(rows, others, strict=True)]
        answer = reference(case, {**question, "rows": changed} if is_batch else changed[0])
        if answer != right:
            yield f"answers with {says}", answer, sum(says in each for each in others)
    if op_of(case) == "speculative" and case.profile == STANDARD and not question["params"]:
        for says, answer in _speculated(question):
            if answer != right:
                yield f"answers with {says}", answer, 1


def _changes(op: str, row: Row) -> Iterator[tuple[str, Row]]:
    """Yield what a program may make of a question, and the parts that it changes."""
    if op == "top_p" and "p" in row["params"]:
        weights = unpack(row["probs"]) if "probs" in row else _weights(unpack(row["logits"]))
        yield _UNSCALED, {"params": {**row["params"], **_unscaled(row["params"], weights)}}
    if op == "steps":
        yield from _changed_steps(row)
    for most in _COUNTS:
        yield f"counts that end at {most}", {"history": _counted(row, most)}
    drafts = row.get("tokens", ()) if op.startswith("speculative") else ()
    if drafts and (uniforms := unpack(row["uniforms"])):
        first, *numbers = uniforms
        same = [*[first] * len(drafts), *numbers[len(drafts) - 1 :]]
        yield "one random number for all drafts", {"uniforms": pack(same, "f64")}


_UNSCALED: Final = "p that is not multiplied by the sum of the weights"


def _weights(row: Sequence[float]) -> list[float]:
    largest = max(row)
    return [exp(logit - largest) for logit in row]


def _unscaled(params: Row, weights: Sequence[float]) -> Row:
    """Return p so that its share of the sum is p itself."""
    (p,) = unpack(params["p"])
    return {"p": pack([min(p / fsum(weights), _BELOW_1)], "f64")} if p < 1 else {}


def _counted(row: Row, most: int) -> list[int]:
    """Return a history without what was generated more often than a counter can count."""
    history, place = row.get("history", []), row.get("prompt_length", 0)
    seen: Counter[int] = Counter()
    counted: list[int] = history[:place]
    for token in history[place:]:
        seen[token] += 1
        counted += [token] * (seen[token] <= most)
    return counted


def _changed_steps(row: Row) -> Iterator[tuple[str, Row]]:
    """Yield fused steps, and draws after them, with another sum of the weights."""
    steps = row["steps"]
    if any(step["step"] == "prefix_allowed_tokens" for step in steps):
        return  # it takes a function
    if any(step["step"] == "top_p" for step in steps):
        changed = [
            {**step, "params": {**step["params"], **_unscaled(step["params"], _left(row, place))}}
            if step["step"] == "top_p"
            else step
            for place, step in enumerate(steps)
        ]
        yield _UNSCALED, {"steps": changed}
    if "draw" in row:
        (number,) = unpack(row["draw"])
        before, after = (fsum(_left(row, len(steps) - back)) for back in (1, 0))
        early = {"draw": pack([min(number * before / after, _BELOW_1)], "f64")}
        yield "a draw by the sum of the weights before the last step", early


def _left(row: Row, count: int) -> list[float]:
    """Return the weights that the first steps leave."""
    logits = unpack(row["logits"])
    steps = [Use(s["step"], **unpack_parameters(s["params"])) for s in row["steps"][:count]]
    if steps:
        logits = chain(steps, logits, row["history"], prompt_length=row["prompt_length"]).row
    return _weights(logits)


# ---- drafts


def _speculated(question: Row) -> Iterator[tuple[str, Answer]]:
    """Yield what a program may make of drafts, and its answers."""
    tokens = question["tokens"]
    if not tokens or len(question["draft"]) != len(tokens):
        return
    p, q = ([read_shares(unpack(row)) for row in question[name]] for name in ("target", "draft"))
    u = read_exactly(unpack(question["uniforms"]), len(tokens) + 1)

    def answer(accepted: int, draft: int) -> Answer:
        row = p[accepted]
        if accepted < len(tokens):
            left = [max(a - b, Fraction(0)) for a, b in zip(row, q[draft], strict=True)]
            if not any(left):
                return Refused("INVALID_ROW", "nothing is left")
            total = sum(left)
            row = [each / total for each in left]
        return Ok({"accepted": accepted, "tokens": [*tokens[:accepted], token_at(row, u[-1])]})

    def first(is_rejected: Sequence[bool]) -> int:
        return [*is_rejected, True].index(True)

    pairs = [(p[place][token], q[place][token]) for place, token in enumerate(tokens)]
    without = first([u[place] >= a for place, (a, _) in enumerate(pairs)])
    yield "drafts that are accepted if u < p, not if u < p / q", answer(without, without)
    right = first([u[place] * b >= a for place, (a, b) in enumerate(pairs)])
    last = len(tokens) - 1
    for which, draft in (("first", 0), ("next", min(right + 1, last)), ("last", last)):
        yield f"the residual of the {which} draft's row", answer(right, draft)
