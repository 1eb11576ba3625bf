"""Mutants of samplers that are right about rows of some hundred tokens, not about a vocabulary."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from itertools import accumulate
from math import exp, fsum, inf, isinf, log
from typing import Any, Final

import msgspec

from authoring.grids import grid
from authoring.mutants.mutant import Mutant
from authoring.mutants.samplers import (
    Request,
    SamplerHandler,
    answering,
    other_answer,
    other_parameters,
    other_question,
    other_row,
)
from tokenref.answers import Answer, Ok
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import Type, cut_floats, from_digits, nearest, pack, to_digits, type_of, unpack
from tokenref.questions.sampling import pack_parameters
from tokenref.record import FILTER_OPS

SHARES: Final = ("softmax", "logprobs")
CHANGED: Final = ("temperature", "repetition_penalty", "penalties", "logit_bias")
_BEYOND: Final = 65_536


def wraps_steps(change: Callable[[SamplerSession, Request], Answer]) -> SamplerHandler:
    """Answer `steps` in another way, also each row of a batch.

    The stages are the right ones. What cannot be answered in this way is answered rightly.
    """

    def of_row(session: SamplerSession, request: Request, right: Mapping[str, Any]) -> Any:
        wrong = change(session, request)
        if not isinstance(wrong, Ok):
            return right
        return {**right, **{name: wrong.out[name] for name in right if name != "stages"}}

    @wraps(change)
    def handle(session: SamplerSession, op: str, request: Request) -> Answer:
        right = session.answer(op, request)
        if not isinstance(right, Ok):
            return right
        if op == "steps":
            return Ok(of_row(session, request, right.out))
        if request["op"] != "steps":
            return right
        count = request.get("vocab_size")
        rows = [
            row if count is None else {**row, "logits": cut_floats(row["logits"], count)}
            for row in request["rows"] * request.get("calls", 1)
        ]
        pairs = zip(rows, right.out["rows"], strict=True)
        return Ok({"rows": [of_row(session, row, out) for row, out in pairs]})

    return handle


def before_filters(
    session: SamplerSession, request: Request, dtype: Type
) -> tuple[dict[str, str], list[Any]]:
    """Return the logits behind the steps in front of the first filter, and the other steps.

    Each step rounds the logits to the type.
    """
    logits, steps = pack(unpack(request["logits"]), dtype), list(request["steps"])
    while steps and steps[0]["step"] not in FILTER_OPS:
        asked = {**request, "logits": logits, "params": steps[0]["params"]}
        after = session.answer(steps[0]["step"], asked)
        if not isinstance(after, Ok):  # the step has a choice of its own
            break
        logits = after.out["logits"]
        del steps[0]
    return logits, steps or [{"step": "top_k", "params": {"k": 1 << 20}}]


def _row(size: int, **put: float) -> dict[str, Any]:
    at = {int(place[1:]): number for place, number in put.items()}
    return {"logits": msgspec.to_builtins(grid(1, size, span=8, put=at))}


def _asked(size: int, history: Sequence[int] = (), **params: Any) -> dict[str, Any]:
    row = _row(size, **{f"_{size - 1}": 2.0})
    packed = pack_parameters(params)
    return {**row, "history": list(history), "prompt_length": 0, "params": packed}


# ---- sums over a row


def _summing(row: Sequence[float], summed: Sequence[float], out: Sequence[float]) -> list[float]:
    """Return probabilities, or their logarithms, by the sum of other logits than the row's."""
    largest = max(row)
    total = fsum(exp(logit - largest) for logit in summed)
    if not total:
        return list(out)
    if max(out) > 0:
        return [exp(logit - largest) / total for logit in row]
    return [logit - largest - log(total) for logit in row]


def _padded(row: Sequence[float], size: int, last: float) -> list[float]:
    return [*row, *[last] * (-len(row) % size)]


@answering(SHARES, _row(4097, _2=1.0))
@other_row
def sum_without_the_second_block(row: list[float], out: list[float], _: Request) -> list[float]:
    """Of two atomic additions of blocks of 1,024 tokens at the same time, one is lost."""
    return _summing(row, row[:1024] + row[2048:], out)


@answering(SHARES, _row(257, _2=1.0))
@other_row
def sum_of_a_padded_row(row: list[float], out: list[float], _: Request) -> list[float]:
    """The last block is filled up with zeros, which count as logits."""
    return _summing(row, _padded(row, 256, 0.0) if len(row) > 256 else row, out)


@answering(SHARES, _row(257, _2=1.0))
@other_row
def sum_with_the_last_token_again(row: list[float], out: list[float], _: Request) -> list[float]:
    """Threads behind the end of the row read its last token again."""
    return _summing(row, _padded(row, 256, row[-1]) if len(row) > 256 else row, out)


@answering(SHARES, _row(70_000, _69999=1.0))
@other_row
def sum_of_the_first_65536(row: list[float], out: list[float], request: Request) -> list[float]:
    """The length of a row is at most 2^16 tokens, what is behind them is not added."""
    return _summing(row, row[:_BEYOND], out)


@answering(SHARES, _row(262_144, _262143=1.0))
@other_row
def sum_of_1024_threads_of_128(row: list[float], out: list[float], _: Request) -> list[float]:
    """Each of 1,024 threads adds up at most 128 numbers: a row of 2^17, not of 2^18."""
    return _summing(row, row[: 1 << 17], out)


# ---- rows that are changed in part


def _left_behind(size: int, row: Sequence[float], out: Sequence[float]) -> list[float]:
    return [*out[:size], *row[size:]] if size else list(out)


@answering(CHANGED, _asked(1025, [1024], temperature=0.5))
@other_row
def change_of_whole_blocks(row: list[float], out: list[float], request: Request) -> list[float]:
    """Only whole blocks of 1,024 tokens are changed, the tokens behind the last one stay."""
    return _left_behind(len(row) // 1024 * 1024, row, out)


@answering(CHANGED, _asked(70_000, [69_999], temperature=0.5))
@other_row
def change_of_the_first_65536(row: list[float], out: list[float], request: Request) -> list[float]:
    """The number of blocks is kept in 8 bits, and 256 blocks of 256 tokens are changed at most."""
    return _left_behind(_BEYOND, row, out)


@answering(("allowed_tokens", "forced_eos"), _asked(70_000, [], tokens=[3]))
@other_row
def ban_of_the_first_65536(row: list[float], out: list[float], request: Request) -> list[float]:
    """Minus infinity is written to at most 2^16 tokens."""
    return _left_behind(_BEYOND, row, out)


@answering("allowed_tokens", _asked(33, [], tokens=[0, 32]))
@other_row
def allowed_words_of_32_bits(row: list[float], out: list[float], request: Request) -> list[float]:
    """The mask has one word for 32 tokens, rounded down: the last tokens are never allowed."""
    whole = len(row) // 32 * 32
    some = any(number > -inf for number in out[:whole])
    return [*out[:whole], *[-inf] * (len(row) - whole)] if some else out


# ---- ids


def _in_16_bits(value: Any) -> Any:
    """Return ids in 16 bits, whatever holds them."""
    if isinstance(value, bool | float) or value is None:
        return value
    if isinstance(value, int):
        return value & 0xFFFF
    if isinstance(value, Mapping):
        return {_in_16_bits(key): entry for key, entry in value.items()}
    return type(value)(map(_in_16_bits, value))


@answering(
    ("repetition_penalty", "frequency_penalty", "presence_penalty", "penalties", "no_repeat_ngram"),
    _asked(70_000, [69_999], penalty=2.0),
)
@other_question
def history_in_16_bits(request: dict[str, Any]) -> Mapping[str, Any]:
    """The tokens of the history are kept in 16 bits."""
    return {"history": [token & 0xFFFF for token in request["history"]]}


@answering(
    ("logit_bias", "suppress", "allowed_tokens", "bad_words", "sequence_bias"),
    _asked(70_000, [], biases={69_999: 1.0}),
)
@other_parameters
def ids_of_lists_in_16_bits(given: dict[str, Any]) -> Mapping[str, Any]:
    """The tokens of lists, words and biases are kept in 16 bits."""
    return {name: _in_16_bits(value) for name, value in given.items()}


@answering(("min_length", "forced_eos"), _asked(70_000, [], length=5, ends=69_999))
@other_parameters
def ends_in_16_bits(given: dict[str, Any]) -> Mapping[str, Any]:
    """The tokens that end a text are kept in 16 bits."""
    return {"ends": _in_16_bits(given["ends"])} if "ends" in given else {}


# ---- speculative decoding


def _two(size: int) -> dict[str, Any]:
    draft = msgspec.to_builtins(grid(1, size, span=1, put={0: 1.0}))
    target = msgspec.to_builtins(grid(1, size, span=1, put={size - 1: 1.0}))
    return {"target": target, "draft": draft, "params": {}}


@answering("residual", _two(257))
@other_answer
def residual_of_whole_blocks(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
    """Only whole blocks of 256 tokens have a residual, those behind the last one have none."""
    dtype = type_of(out["probs"])
    row = unpack(out["probs"])
    whole = len(row) // 256 * 256
    left = [*row[:whole], *[0.0] * (len(row) - whole)] if whole else row
    return {"probs": pack(left, dtype)}


@answering(
    "speculative",
    {
        "draft": [_two(70_000)["draft"]],
        "target": [_two(70_000)["target"]] * 2,
        "tokens": [0],
        "uniforms": {"f64": "3fe0000000000000" * 2},
        "params": {},
    },
    profile="standard",
)
@other_answer
def recovered_token_in_16_bits(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
    """The token that takes the place of a rejected one is kept in 16 bits."""
    return {**out, "tokens": [token & 0xFFFF for token in out["tokens"]]}


# ---- batches


def _greedy_batch(rows: Sequence[Sequence[float]], **about: Any) -> dict[str, Any]:
    return {"op": "greedy", "rows": [{"logits": pack(row)} for row in rows], **about}


_DIFFERENT: Final = [[float(token == number % 7) for token in range(7)] for number in range(300)]


def other_rows(change: Callable[[list[Any], Request], Sequence[Any]]) -> SamplerHandler:
    """Change the answers of a batch's rows, knowing the batch."""

    @wraps(change)
    def changed(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
        return {"rows": list(change(list(out["rows"]), request))}

    return other_answer(changed)


@answering("batch", _greedy_batch(_DIFFERENT))
@other_rows
def batches_of_128(rows: list[Any], request: Request) -> Sequence[Any]:
    """A batch has at most 128 rows, and the buffer of the others holds the answer of the first."""
    return [*rows[:128], *[rows[0]] * len(rows[128:])]


@answering("batch", _greedy_batch(_DIFFERENT[:33]))
@other_rows
def warps_of_32_rows(rows: list[Any], request: Request) -> Sequence[Any]:
    """A warp takes 32 rows, and the rows behind the last whole warp get those of the first."""
    whole = len(rows) // 32 * 32
    return [*rows[:whole], *rows[: len(rows) - whole]] if whole else rows


@answering("batch", _greedy_batch([[0.0, 1.0, 2.0]], vocab_size=2))
@other_question
def padding_is_a_token(request: dict[str, Any]) -> Mapping[str, Any]:
    """The size of the vocabulary is ignored, the padding is part of the row."""
    if "vocab_size" not in request or any(map(_has_no_law, request["rows"])):
        return {}
    return {"vocab_size": _size(request["rows"][0])}


def _size(row: Request) -> int:
    return len(unpack(row["probs" if "probs" in row else "logits"]))


def _has_no_law(row: Request) -> bool:
    numbers = unpack(row["probs" if "probs" in row else "logits"])
    return any(number != number or number == inf for number in numbers)  # noqa: PLR0124


@answering("batch", _greedy_batch([[0.0, 1.0, *[2.0] * 70, 3.0]], vocab_size=2))
@other_question
def padding_of_up_to_64_is_a_token(request: dict[str, Any]) -> Mapping[str, Any]:
    """A vocabulary's size is rounded up to a multiple of 64, and the rest counts."""
    if "vocab_size" not in request or any(map(_has_no_law, request["rows"])):
        return {}
    return {"vocab_size": min(-(-request["vocab_size"] // 64) * 64, _size(request["rows"][0]))}


@answering("batch", _greedy_batch(_DIFFERENT[:3], layout={"stride": 8, "order": [1, 2, 0]}))
@other_rows
def order_of_rows_in_memory(rows: list[Any], request: Request) -> Sequence[Any]:
    """Answers are returned in the order in which rows lie in memory."""
    if "layout" not in request:
        return rows
    order = request["layout"]["order"]
    return [rows[order.index(number)] for number in range(len(rows))]


@answering("batch", _greedy_batch(_DIFFERENT[:3], layout={"stride": 14, "order": [0, 1, 2]}))
@other_rows
def rows_lie_close_together(rows: list[Any], request: Request) -> Sequence[Any]:
    """Rows are read one behind the other, whatever their distance: the second one is garbage."""
    far = "layout" in request and request["layout"]["stride"] > _size(request["rows"][0])
    return [rows[0]] * len(rows) if far else rows


def _cut(*rows: Sequence[float], **about: Any) -> dict[str, Any]:
    """Return a batch of top-k whose rows have k = 1, 2, ..."""
    asked = [
        {"logits": pack(row), "params": {"k": number}} for number, row in enumerate(rows, start=1)
    ]
    return {"op": "top_k", "rows": asked, **about}


@answering("batch", _cut([1.0, 2.0], [2.0, 1.0], layout={"stride": 2, "order": [1, 0]}))
@other_question
def parameters_by_the_place_in_memory(request: dict[str, Any]) -> Mapping[str, Any]:
    """A row's parameters and random numbers are looked up by its place in memory."""
    rows = request["rows"]
    order = request["layout"]["order"] if "layout" in request else range(len(rows))
    own = ("params", "uniforms", "history")
    return {
        "rows": [
            {name: (rows[place] if name in own else row)[name] for name in row}
            for row, place in zip(rows, order, strict=True)
        ]
    }


def _the_other_way_round(
    step: str, histories: Sequence[Sequence[int]], *params: Any
) -> dict[str, Any]:
    """Return a batch of two rows that lie in memory the other way round."""
    rows = [
        {
            "logits": pack([0.0, 1.0, 2.0]),
            "history": history,
            "prompt_length": 0,
            "params": pack_parameters(each),
        }
        for history, each in zip(histories, params, strict=True)
    ]
    return {"op": step, "rows": rows, "layout": {"stride": 3, "order": [1, 0]}}


@answering("batch", _the_other_way_round("frequency_penalty", [[2], [1]], *[{"penalty": 2.0}] * 2))
@other_question
def history_by_the_place_in_memory(request: dict[str, Any]) -> Mapping[str, Any]:
    """Where a row's history begins is looked up by its place in memory, its length by the row."""
    if "layout" not in request or "history" not in request["rows"][0]:
        return {}
    histories = [row["history"] for row in request["rows"]]
    changed = []
    for row, place in zip(request["rows"], request["layout"]["order"], strict=True):
        behind = [token for each in histories[place:] for token in each]
        changed.append({**row, "history": behind[: len(row["history"])]})
    return {"rows": changed}


@answering(
    "batch", _the_other_way_round("logit_bias", [[], []], *({"biases": {at: 4.0}} for at in (0, 1)))
)
@other_question
def biases_by_the_place_in_memory(request: dict[str, Any]) -> Mapping[str, Any]:
    """A row's biases are looked up by its place in memory."""
    rows = request["rows"]
    if "layout" not in request:
        return {}
    changed = []
    for row, place in zip(rows, request["layout"]["order"], strict=True):
        wrong: dict[str, Any] = {}
        if request["op"] == "logit_bias":
            wrong = {"params": rows[place]["params"]}
        elif request["op"] == "steps":
            bias = {s["step"]: s for s in rows[place]["steps"] if s["step"] == "logit_bias"}
            wrong = {"steps": [bias.get(step["step"], step) for step in row["steps"]]}
        changed.append({**row, **wrong})
    return {"rows": changed}


@answering("batch", _cut([0.0, 1.0, 2.0], vocab_size=2) | {"op": "min_p"} | {"rows": [
    {"logits": pack([0.0, 1.0, 2.0]), "params": pack_parameters({"m": 0.5})}
]})  # fmt: skip
@other_question
def padding_is_a_token_of_filters(request: dict[str, Any]) -> Mapping[str, Any]:
    """Top-p and min-p, and logarithms, ignore the size of the vocabulary."""
    given = request["op"] in {"top_p", "min_p", "logprobs"} and "vocab_size" in request
    if not given or any(map(_has_no_law, request["rows"])):
        return {}
    return {"vocab_size": _size(request["rows"][0])}


def _with_late_nan(size: int) -> dict[str, Any]:
    row = pack([0.0] * (size - 1) + [float("nan")])
    return {"op": "softmax", "rows": [{"logits": row}]}


@answering("batch", _with_late_nan(257))
def nan_behind_256(session: SamplerSession, op: str, request: Request) -> Answer:
    """Only the first 256 numbers of a row are searched for NaN."""
    right = session.answer(op, request)
    if isinstance(right, Ok) or "vocab_size" in request:
        return right
    rows = []
    for row in request["rows"]:
        name = "probs" if "probs" in row else "logits"
        numbers = unpack(row[name])
        ends = [0.0 if number != number else number for number in numbers[256:]]  # noqa: PLR0124
        rows.append({**row, name: pack([*numbers[:256], *ends], type_of(row[name]))})
    return session.answer(op, {**request, "rows": rows})


def _highest_equals(least: int, most: int) -> SamplerHandler:
    """Keep the highest ids of equal tokens where top-k has a k of this size."""

    def of_row(row: Mapping[str, Any], out: Mapping[str, Any], end: int | None) -> Any:
        if not least <= row["params"].get("k", 0) <= most or "keep" not in out:
            return out
        numbers = unpack(row["probs" if "probs" in row else "logits"])[:end]
        order = sorted(range(len(numbers)), key=lambda token: (-numbers[token], -token))
        return {"keep": sorted(order[: len(out["keep"])])}

    def handle(session: SamplerSession, op: str, request: Request) -> Answer:
        right = session.answer(op, request)
        if not isinstance(right, Ok) or "top_k" not in {op, request.get("op")}:
            return right
        if op == "top_k":
            return Ok(of_row(request, right.out, None))
        rows = request["rows"] * request.get("calls", 1)
        pairs = zip(rows, right.out["rows"], strict=True)
        return Ok({"rows": [of_row(row, out, request.get("vocab_size")) for row, out in pairs]})

    return handle


def _equals(size: int, k: int) -> dict[str, Any]:
    return {"logits": pack([0.0] * size), "params": {"k": k}}


@answering(("top_k", "batch"), _equals(20, 17), op="top_k")
def top_k_of_17_to_256_keeps_highest_equals(
    session: SamplerSession, op: str, request: Request
) -> Answer:
    """Top-k of 17 to 256 tokens keeps the highest ids of equal tokens, by another sort."""
    return _highest_equals(17, 256)(session, op, request)


@answering(("top_k", "batch"), _equals(70, 65), op="top_k")
def top_k_of_65_to_1024_keeps_highest_equals(
    session: SamplerSession, op: str, request: Request
) -> Answer:
    """Top-k of 65 to 1,024 tokens keeps the highest ids of equal tokens, by another sort."""
    return _highest_equals(65, 1024)(session, op, request)


@answering("top_k", {"logits": {"f32": "3f8000003f800001"}, "params": {"k": 1}})
@other_question
def select_by_24_bits(request: dict[str, Any]) -> Mapping[str, Any]:
    """A radix select looks at the upper 24 bits of each number."""
    if "f32" not in request.get("logits", {}):
        return {}
    digits = request["logits"]["f32"]
    kept = [digits[at : at + 6] + "00" for at in range(0, len(digits), 8)]
    plain = all(number == number and number != inf for number in unpack(request["logits"]))  # noqa: PLR0124
    return {"logits": {"f32": "".join(kept)}} if plain else {}


def _rounded_otherwise(dtype: Type, change: Callable[[float, float], float]) -> SamplerHandler:
    """Answer by 64 bits, rounded by `change`: of a number, and of the nearest of the type."""

    def handle(session: SamplerSession, op: str, request: Request) -> Answer:
        right = session.answer(op, request)
        if not isinstance(right, Ok) or type_of(request["logits"]) != dtype:
            return right
        wide = session.answer(op, {**request, "logits": pack(unpack(request["logits"]), "f64")})
        assert isinstance(wide, Ok)  # noqa: S101 - the same numbers
        exact, near = unpack(wide.out["logits"]), unpack(right.out["logits"])
        pairs = zip(exact, near, strict=True)
        return Ok({"logits": pack([change(a, b) for a, b in pairs], dtype)})

    return handle


@answering("temperature", {**_asked(3, temperature=3.0), "logits": {"bf16": "3f80"}})
def bf16_is_cut_off(session: SamplerSession, op: str, request: Request) -> Answer:
    """A number becomes a bfloat16 by leaving out its lower 16 bits."""

    def cut(exact: float, near: float) -> float:
        upper = to_digits([nearest(exact, "f32")], "f32")[:4]
        return near if exact == near else from_digits(upper, "bf16")[0]

    return _rounded_otherwise("bf16", cut)(session, op, request)


@answering("temperature", {**_asked(3, temperature=2.0), "logits": {"f16": "0003"}})
def f16_is_flushed(session: SamplerSession, op: str, request: Request) -> Answer:
    """Subnormal answers in binary16 become zero."""
    return _rounded_otherwise("f16", lambda _, near: near if abs(near) >= 2.0**-14 else near * 0.0)(
        session, op, request
    )


@answering("temperature", {**_asked(3, temperature=0.5), "logits": {"f16": "7bff"}})
def f16_saturates(session: SamplerSession, op: str, request: Request) -> Answer:
    """Answers beyond the largest number of binary16 become that number."""

    def held(exact: float, near: float) -> float:
        return near if isinf(exact) else max(min(near, 65504.0), -65504.0)

    return _rounded_otherwise("f16", held)(session, op, request)


@answering("batch", {**_greedy_batch([[0.0, 1.0]]), "op": "softmax", "calls": 2})
@other_rows
def second_call_in_another_order(rows: list[Any], request: Request) -> Sequence[Any]:
    """Atomic additions make other last bits in the second call."""
    half = len(request["rows"])
    if len(rows) == half:
        return rows
    return [*rows[:half], *[_one_bit_off(row) for row in rows[half:]]]


def _one_bit_off(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an answer with another last bit in the first number of each list of numbers."""
    return {
        name: {dtype: _flipped(digits) for dtype, digits in part.items()}
        if isinstance(part, Mapping)
        else part
        for name, part in row.items()
    }


def _flipped(digits: str) -> str:
    return f"{digits[:7]}{int(digits[7], 16) ^ 1:x}{digits[8:]}"


@answering(
    "batch",
    {"op": "frequency_penalty", "rows": [_asked(4, [2], penalty=1.0), _asked(4, penalty=1.0)]},
)
@other_question
def empty_history_is_that_of_the_row_before(request: dict[str, Any]) -> Mapping[str, Any]:
    """The buffer of a row with an empty history still has the history of the row before."""
    rows = list(request["rows"])
    for number, row in enumerate(rows[1:], start=1):
        if row.get("history") == []:
            rows[number] = {**row, "history": rows[number - 1]["history"]}
    return {"rows": rows}


# ---- fused steps

_TWO_STEPS: Final = [
    {"step": "top_k", "params": {"k": 2}},
    {"step": "top_p", "params": pack_parameters({"p": 0.5})},
]
_FUSED: Final[dict[str, Any]] = {
    "logits": pack([3.0, 2.0, 2.5, 1.5]),
    "history": [],
    "prompt_length": 0,
    "steps": _TWO_STEPS,
}
_DRAWN: Final = {**_FUSED, "steps": _TWO_STEPS[:1], "draw": pack([0.5], "f64")}


def _fused(witness: Request) -> Callable[[Callable[[SamplerSession, Request], Answer]], Mutant]:
    """Return a decorator: the function answers steps, alone and in batches."""
    return lambda change: answering(("steps", "batch"), witness)(wraps_steps(change))


def _with(request: Request, steps: Iterable[Any], **other: Any) -> dict[str, Any]:
    return {**request, "steps": list(steps), **other}


def _first(steps: Sequence[Any], name: str) -> list[Any]:
    """Return steps with those of a name in front."""
    return sorted(steps, key=lambda each: each["step"] != name)


@_fused(_FUSED)
def top_p_shares_out_the_whole_row(session: SamplerSession, request: Request) -> Answer:
    """Top-p takes shares of the whole row, also behind top-k, as if it were in front."""
    logits, _ = before_filters(session, request, "f64")

    def mask(step: Mapping[str, Any]) -> Mapping[str, Any]:
        if step["step"] != "top_p":
            return step
        kept = session.answer("top_p", {"logits": logits, "params": step["params"]})
        if not isinstance(kept, Ok):  # the step has a choice of its own
            return step
        return {"step": "token_mask", "params": {"tokens": kept.out["keep"]}}

    return session.answer("steps", _with(request, map(mask, request["steps"])))


@_fused({**_FUSED, "steps": [{"step": "top_k", "params": {"k": 1}}, _TWO_STEPS[1]]})
def only_the_last_filter(session: SamplerSession, request: Request) -> Answer:
    """Each filter starts from the whole row, and the last one overwrites what others removed."""
    return session.answer("steps", _with(request, request["steps"][-1:]))


@_fused(
    _with(
        _FUSED,
        [
            {"step": "temperature", "params": pack_parameters({"temperature": 4.0})},
            {"step": "min_p", "params": pack_parameters({"m": 0.75})},
        ],
    )
)
def min_p_in_front_of_all(session: SamplerSession, request: Request) -> Answer:
    """Min-p compares the logits before they are divided by the temperature."""
    return session.answer("steps", _with(request, _first(request["steps"], "min_p")))


@_fused(_DRAWN)
def draw_from_the_whole_row(session: SamplerSession, request: Request) -> Answer:
    """The random number is a share of the whole row, not of the tokens that the filters left."""
    right = session.answer("steps", request)
    if not isinstance(right, Ok) or "token" not in right.out:
        return right
    changes = [each for each in request["steps"] if each["step"] not in FILTER_OPS]
    row = unpack(before_filters(session, _with(request, changes), "f64")[0])
    largest = max(row)
    weights = [exp(logit - largest) for logit in row]
    (number,) = unpack(request["draw"])
    keep = right.out["keep"]
    sums = zip(keep, accumulate(weights[token] for token in keep), strict=True)
    token = next((token for token, each in sums if each > number * sum(weights)), keep[-1])
    return Ok({**right.out, "token": token})


@_fused({**_DRAWN, "draw": pack([0.0625], "f64"), **_row(4, _3=2.0)})
def draw_in_falling_order(session: SamplerSession, request: Request) -> Answer:
    """The draw walks from the most probable token down, as top-p left them."""
    right = session.answer("steps", request)
    if not isinstance(right, Ok) or "token" not in right.out:
        return right
    (number,) = unpack(request["draw"])
    mirrored = session.answer("steps", {**request, "draw": pack([1 - number or 0.5], "f64")})
    return Ok({**right.out, "token": mirrored.out["token"]}) if isinstance(mirrored, Ok) else right


@_fused(
    _with(
        _FUSED,
        [
            {"step": "frequency_penalty", "params": pack_parameters({"penalty": 1.0})},
            {"step": "temperature", "params": pack_parameters({"temperature": 0.25})},
            {"step": "top_p", "params": pack_parameters({"p": 0.75})},
        ],
        history=[0],
    )
)
def temperature_before_the_penalties(session: SamplerSession, request: Request) -> Answer:
    """The temperature is applied with the scaling of the logits, before all penalties."""
    return session.answer("steps", _with(request, _first(request["steps"], "temperature")))
