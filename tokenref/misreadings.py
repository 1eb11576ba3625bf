"""What a program answers if it misreads a question in a way that is frequent.

The reference answers again: with a sum of weights that is forgotten or lacks its last block, with
histories that are counted otherwise, with rounded random numbers. `tokenref.diagnosis` names a
misreading if it gives the wrong answers, and if the records that pass would still do so.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import copysign, exp, fsum, inf, isinf, log
from typing import Any, Final, TypeAlias

import msgspec

from sampling_ref import Use, chain
from sampling_ref.speculative.shares import read_exactly, read_shares, token_at
from tokenref.answers import Answer, Ok, Refused
from tokenref.floats import (
    SMALLEST_NORMAL,
    Type,
    cut_floats,
    from_digits,
    nearest,
    pack,
    to_digits,
    type_of,
    unpack,
)
from tokenref.hints import BLOCKS, FIRST_BLOCK, MOST_AGAIN, Reference, tokens_of
from tokenref.questions.sampling import BatchInput, unpack_parameters
from tokenref.record import Case, op_of
from tokenref.rules import STANDARD

Row: TypeAlias = Mapping[str, Any]
"""A question, alone or in a batch."""

Changes: TypeAlias = Iterator[tuple[str, Row]]
"""What a program may make of a question, and the parts of it or of the answer that change."""

_BELOW_1: Final = 1 - 2.0**-53
"""The largest share and the largest random number."""


IS_FACT: Final = "the sum lacks"
"""The beginning of misreadings that `tokenref.hints` finds in rows of numbers, too."""


def misread(
    case: Case, reference: Reference, only: Container[str] | None = None, most: int = MOST_AGAIN
) -> Iterator[tuple[str, Answer]]:
    """Yield what a program may make of a question, and its answer if it is another one then.

    With `only`, nothing else is answered. A question of more than `most` tokens is left out.
    """
    question = msgspec.to_builtins(case.input)
    is_batch = isinstance(case.input, BatchInput)
    rows, op = (question["rows"], question["op"]) if is_batch else ([question], op_of(case))
    if tokens_of(rows) > most:
        return
    if size := question.pop("vocab_size", None) if is_batch else None:
        question.pop("layout", None)
        rows = [
            {**row, "logits": cut_floats(row["logits"], size)} if "logits" in row else row
            for row in rows
        ]

    def ask(rows: Sequence[Row]) -> Answer:
        return reference(case, {**question, "rows": rows} if is_batch else rows[0])

    def ask_one(row: Row) -> Answer:
        answer = ask([row])
        return Ok(answer.out["rows"][0]) if is_batch and isinstance(answer, Ok) else answer

    right = ask(rows)
    if not isinstance(right, Ok):
        return
    outs = right.out["rows"] if is_batch else [right.out]
    asked = [dict(_changes(op, row)) for row in rows]
    said = [
        dict(_changed_answers(op, case.profile, rows[at % len(rows)], out, ask_one))
        for at, out in enumerate(outs)
    ]
    for says in dict.fromkeys(says for each in (*asked, *said) for says in each):
        name = says if says.startswith(IS_FACT) else f"answers with {says}"
        if only is not None and name not in only:
            continue
        if any(says in each for each in asked):
            pairs = zip(rows, asked, strict=True)
            answer = ask([{**row, **each.get(says, {})} for row, each in pairs])
        else:
            wrong = [each.get(says, out) for out, each in zip(outs, said, strict=True)]
            answer = Ok({"rows": wrong} if is_batch else wrong[0])
        if answer != right:
            yield name, answer


# ---- changed questions


def _changes(op: str, row: Row) -> Changes:
    """Yield what a program may make of a question, and the parts that it changes."""
    if op == "steps":
        yield from _changed_steps(row)
    elif op in {"top_p", "draw"} and not {"count", "order"} & row.keys():
        weights = unpack(row["probs"]) if "probs" in row else _weights(unpack(row["logits"]))
        for says, changed in _SUMS:
            factor = changed(weights) / fsum(weights)
            if op == "top_p":
                yield says, {"params": _with_p(row["params"], factor)}
            elif len(numbers := unpack(row["uniforms"])) == 1:
                yield says, {"uniforms": pack([min(numbers[0] * factor, _BELOW_1)], "f64")}
    for says, counted in _HISTORIES if row.get("history") else ():
        start = row["prompt_length"]
        before, after = counted(row["history"][:start], row["history"][start:])
        yield says, {"history": [*before, *after], "prompt_length": len(before)}
    drafts = row.get("tokens", ()) if op.startswith("speculative") else ()
    if drafts and (uniforms := unpack(row["uniforms"])):
        first, *numbers = uniforms
        same = [*[first] * len(drafts), *numbers[len(drafts) - 1 :]]
        yield "one random number for all drafts", {"uniforms": pack(same, "f64")}
    yield from _changed_numbers(op, row)


def _changed_numbers(op: str, row: Row) -> Changes:
    """Yield rounded random numbers, and rows without subnormal numbers."""
    name = "draw" if op == "steps" else "uniforms"
    for says, rounded in _ROUNDED if name in row and op != "uniforms" else ():
        numbers = [min(rounded(number), _BELOW_1) for number in unpack(row[name])]
        yield says, {name: pack(numbers, "f64")}
    for part in {"logits", "probs"} & row.keys():
        numbers, dtype = unpack(row[part]), type_of(row[part])
        normal = [copysign(0.0, n) if abs(n) < SMALLEST_NORMAL[dtype] else n for n in numbers]
        if normal != numbers:
            yield f"0 for subnormal numbers of rows in {dtype}", {part: pack(normal, dtype)}


def _weights(row: Sequence[float]) -> list[float]:
    largest = max(row)
    return [exp(logit - largest) for logit in row]


def _without_last(size: int, weights: Sequence[float]) -> float:
    """Return the sum of the whole blocks, or of all weights if there is none."""
    return fsum(weights[: len(weights) // size * size] or weights)


_SUMS: Final[Sequence[tuple[str, Callable[[Sequence[float]], float]]]] = (
    ("p that is not multiplied by the sum of the weights", lambda _: 1.0),
    *(
        (f"the sum lacks the last block of {size:,} tokens", partial(_without_last, size))
        for size in BLOCKS
        if size >= FIRST_BLOCK
    ),
)
"""Wrong sums of weights. The tokens that reach a share of one are those of another share."""


def _with_p(params: Row, factor: float) -> Row:
    """Return parameters whose p, if it has this name, is a share of another sum."""
    p = unpack_parameters(params).get("p", 1)
    return {**params, "p": pack([min(p * factor, _BELOW_1)], "f64")} if p < 1 else params


def _changed_steps(row: Row) -> Changes:
    """Yield fused steps, and draws after them, with another sum of the weights."""
    steps = row["steps"]
    if any(step["step"] == "prefix_allowed_tokens" for step in steps):
        return  # it takes a function
    places = [place for place, step in enumerate(steps) if step["step"] == "top_p"]
    left = {place: _left(row, place) for place in places}
    if "draw" in row:
        (number,), last = unpack(row["draw"]), len(steps)
        left |= {last: _left(row, last)}
        before, after = fsum(_left(row, last - 1)), fsum(left[last])
        early = {"draw": pack([min(number * before / after, _BELOW_1)], "f64")}
        yield "a draw by the sum of the weights before the last step", early
    for says, changed in _SUMS if left else ():
        factors = {place: changed(weights) / fsum(weights) for place, weights in left.items()}
        other: dict[str, Any] = {
            "steps": [
                {**step, "params": _with_p(step["params"], factors[place])}
                if step["step"] == "top_p"
                else step
                for place, step in enumerate(steps)
            ]
        }
        if "draw" in row:
            other["draw"] = pack([min(number * factors[last], _BELOW_1)], "f64")
        yield says, other


def _left(row: Row, count: int) -> list[float]:
    """Return the weights that the first steps leave."""
    logits = unpack(row["logits"])
    steps = [Use(s["step"], **unpack_parameters(s["params"])) for s in row["steps"][:count]]
    if steps:
        logits = chain(steps, logits, row["history"], prompt_length=row["prompt_length"]).row
    return _weights(logits)


Tokens: TypeAlias = list[int]


def _at_most(most: int, tokens: Tokens) -> Tokens:
    """Return tokens without what occurs more often than a counter can count."""
    seen: Counter[int] = Counter()
    return [token for token in tokens if not (seen.update([token]) or seen[token] > most)]


def _once_in(size: int, tokens: Tokens) -> Tokens:
    """Return tokens of which each occurs once in a group."""
    groups = [tokens[at : at + size] for at in range(0, len(tokens), size)]
    return [token for group in groups for token in dict.fromkeys(group)]


def _one_less(tokens: Tokens) -> Tokens:
    """Return tokens of which each that is repeated occurs once less."""
    counts = Counter(tokens)
    return [t for t in dict.fromkeys(tokens) for _ in range(max(1, counts[t] - 1))]


def _first(most: int, prompt: Tokens, generated: Tokens) -> tuple[Tokens, Tokens]:
    return prompt[:most], generated[: max(0, most - len(prompt))]


def _last(most: int, prompt: Tokens, generated: Tokens) -> tuple[Tokens, Tokens]:
    return prompt[max(0, len(prompt) + len(generated) - most) :], generated[-most:]


_LONG: Final = (64, 256, 1024, 4096)

_HISTORIES: Final[Sequence[tuple[str, Callable[[Tokens, Tokens], tuple[Tokens, Tokens]]]]] = (
    ("each token counted once", lambda p, g: (p, _at_most(1, g))),
    *(
        (f"each token counted once in {n} tokens", lambda p, g, n=n: (p, _once_in(n, g)))
        for n in (32, 64, 128, 256)
    ),
    ("counts of repeated tokens that are too small by 1", lambda p, g: (p, _one_less(g))),
    *(
        (f"counts that end at {most}", lambda p, g, most=most: (p, _at_most(most, g)))
        for most in (127, 255)
    ),
    ("the prompt counted as generated", lambda p, g: ([], p + g)),
    ("a history without the prompt", lambda _, g: ([], g)),
    ("a history without its last token", lambda p, g: (p, g[:-1]) if g else (p[:-1], g)),
    *((f"the first {n:,} tokens of the history", partial(_first, n)) for n in _LONG),
    *((f"the last {n:,} tokens of the history", partial(_last, n)) for n in _LONG),
)
"""What programs make of the tokens of a prompt and those that were generated."""


def _truncated(number: float) -> float:
    return from_digits(to_digits([nearest(number, "f32")], "f32")[:4] + "0000", "f32")[0]


_ROUNDED: Final[Sequence[tuple[str, Callable[[float], float]]]] = (
    ("random numbers truncated to bfloat16", _truncated),
    ("random numbers rounded to bfloat16", lambda number: nearest(number, "bf16")),
    ("random numbers rounded to binary16", lambda number: nearest(number, "f16")),
    ("random numbers rounded to binary32", lambda number: nearest(number, "f32")),
)


# ---- changed answers


def _changed_answers(
    op: str, profile: str, row: Row, out: Row, ask: Callable[[Row], Answer]
) -> Changes:
    """Yield what a program may make of the right answer to a question."""
    number = row.get("draw" if op == "steps" else "uniforms") if "token" in out else None
    if number is not None and unpack(number) == [0.0]:
        yield "token 0 for the random number 0", {**out, "token": 0}
    if op == "min_p" and unpack_parameters(row["params"]).get("m") == 0:
        count = len(unpack(row.get("logits", row.get("probs"))))
        yield "every token kept for the threshold 0", {"keep": [*range(count)]}
    if op == "logprobs":
        dtype = type_of(out["logprobs"])
        wide: Type = "f64" if dtype == "f64" else "f32"
        shares = [nearest(exp(number), wide) for number in unpack(out["logprobs"])]
        logarithms = [nearest(log(share), dtype) if share else -inf for share in shares]
        yield "the logarithm of a rounded probability", {"logprobs": pack(logarithms, dtype)}
    yield from _rounded_otherwise(row, out, ask)
    if op == "random_words" and "counter" in row:
        yield from _without_carry(row, ask)
    if op == "speculative" and profile == STANDARD and not row["params"]:
        for says, answer in _speculated(row):
            if isinstance(answer, Ok):
                yield says, answer.out


def _rounded_otherwise(row: Row, out: Row, ask: Callable[[Row], Answer]) -> Changes:
    """Yield numbers of 16 bits that are rounded otherwise."""
    part = next((part for part in ("logits", "probs", "logprobs") if part in out), "")
    if not part or (dtype := type_of(out[part])) not in {"f16", "bf16"} or "logits" not in row:
        return
    wide = ask({**row, "logits": pack(unpack(row["logits"]), "f64")})
    if not isinstance(wide, Ok):
        return
    exact = unpack(wide.out[part])
    for says, rounded in _OF_16_BITS:
        numbers = [n if isinf(n) else rounded(n, nearest(n, dtype), dtype) for n in exact]
        for types in (dtype, "16 bits"):  # of one type only, or of both
            yield f"numbers of {types} {says}", {**out, part: pack(numbers, dtype)}


def _cut_off(exact: float, right: float, dtype: Type) -> float:
    """Return the next number of a type that is not farther from 0."""
    return right if abs(right) <= abs(exact) else _next(right, -1, dtype)


def _away(exact: float, right: float, dtype: Type) -> float:
    """Return the nearest number of a type, of two the one farther from 0."""
    other = _next(right, 1, dtype)
    return other if abs(other) - abs(exact) == abs(exact) - abs(right) else right


def _next(number: float, by: int, dtype: Type) -> float:
    """Return the number of a type that is `by` units farther from 0."""
    digits = to_digits([number], dtype)
    return from_digits(f"{int(digits, 16) + by:04x}", dtype)[0]


_OF_16_BITS: Final[Sequence[tuple[str, Callable[[float, float, Type], float]]]] = (
    ("cut off, not rounded", _cut_off),
    ("with halves rounded away from zero", _away),
)

_MOST_WORDS: Final = 256


def _without_carry(row: Row, ask: Callable[[Row], Answer]) -> Changes:
    """Yield words of counters whose lower half, or whose lowest word, is never carried over."""
    counter, size = row["counter"], len(row["counter"])
    width, value = 4 * len(counter[0]), int("".join(reversed(counter)), 16)
    if row["count"] > _MOST_WORDS:
        return
    for bits in (width, width * size // 2):
        words, end = list[Any](), 1 << bits
        for at in range(row["taken"], row["taken"] + row["count"]):
            moved = value // end * end + (value + at // size) % end
            digits = f"{moved:0{size * width // 4}x}"
            parts = [digits[i : i + width // 4] for i in range(0, len(digits), width // 4)][::-1]
            answer = ask({**row, "counter": parts, "taken": at % size, "count": 1})
            words += answer.out["words"] if isinstance(answer, Ok) else []
        yield f"a counter of {bits} bits, without a carry", {"words": words}


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
