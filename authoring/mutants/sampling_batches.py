"""Mutants that are right about small batches of one type, and about rows without empty blocks."""

from collections.abc import Callable, Mapping, Sequence
from math import inf, isnan, nan
from typing import Any, Final

import msgspec

from authoring.grids import grid
from authoring.mutants.samplers import Request, answering, other_answer, other_question
from authoring.mutants.sampling_long import other_rows
from tokenref.answers import Answer, Ok
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import cut_floats, nearest, pack, to_digits, type_of, unpack
from tokenref.questions.sampling import pack_parameters

_LONG: Final = 64
"""Rows that are longer than this are real ones."""


def _batch(op: str, rows: Sequence[Mapping[str, Any]], **about: Any) -> dict[str, Any]:
    return {"op": op, "rows": [*rows], **about}


def _drawn(count: int) -> list[dict[str, Any]]:
    """Return rows of two equal tokens, of which the first and the last one draw others."""
    return [
        {"logits": pack([1.0, 1.0]), "uniforms": pack([0.25 if row < count - 1 else 0.75])}
        for row in range(count)
    ]


# ---- whose parameters a row has


def _parts_of(
    request: Request, parts: Sequence[str], other: Callable[[int], int]
) -> Mapping[str, Any]:
    """Return the change by which each row has these parts of another row, given its number."""
    rows = request["rows"]
    if any((part in row) != (part in rows[0]) for part in parts for row in rows):
        return {}
    return {
        "rows": [
            {**row, **{part: rows[other(number)][part] for part in parts if part in row}}
            for number, row in enumerate(rows)
        ]
    }


@answering("batch", _batch("draw", _drawn(33)))
@other_question
def parameters_of_row_modulo_32(request: dict[str, Any]) -> Mapping[str, Any]:
    """A block of 32 threads loads the parameters of its own lanes, and the next block the same."""
    if request["op"] in {"top_k", "frequency_penalty", "token_mask"}:
        return {}
    return _parts_of(request, ["uniforms", "params"], lambda row: row % 32)


@answering("batch", _batch("draw", _drawn(33)))
@other_question
def random_number_of_row_modulo_4(request: dict[str, Any]) -> Mapping[str, Any]:
    """A call of Philox makes four numbers, which the rows of a batch take in turn."""
    if request["op"] != "draw":
        return {}
    return _parts_of(request, ["uniforms"], lambda row: row % 4)


@answering("batch", _batch("draw", _drawn(33)))
@other_rows
def rows_behind_32_of_some_operations(rows: list[Any], request: Request) -> Sequence[Any]:
    """Answers to rows behind the 32nd are those of the first ones, but for greedy and top-k."""
    if request["op"] in {"greedy", "top_k", "frequency_penalty", "token_mask"}:
        return rows
    return [rows[row - 32] if row >= 32 else answer for row, answer in enumerate(rows)]


_STEPS: Final[list[dict[str, Any]]] = [
    {
        "logits": pack([1.0, 1.0]),
        "history": [row],
        "prompt_length": 0,
        "steps": [{"step": "repetition_penalty", "params": pack_parameters({"penalty": 2.0})}],
        "draw": pack([0.25 + row / 2]),
    }
    for row in range(2)
]


def _before(row: int) -> int:
    return max(row - 1, 0)


@answering("batch", _batch("frequency_penalty", [
    {"logits": pack([1.0, 1.0]), "history": [row], "prompt_length": 0,
     "params": pack_parameters({"penalty": 1.0})} for row in range(2)]))  # fmt: skip
@other_question
def counts_of_the_row_before_stay(request: dict[str, Any]) -> Mapping[str, Any]:
    """Counts of tokens are not cleared between the rows of a batch."""
    rows = list[Any]()
    prompt, output = list[int](), list[int]()
    for row in request["rows"] if "history" in request["rows"][0] else ():
        history, length = row["history"], row["prompt_length"]
        seen = {"history": [*prompt, *history, *output], "prompt_length": len(prompt) + length}
        rows.append({**row, **seen})
        prompt, output = history[:length], history[length:]
    return {"rows": rows} if rows else {}


@answering("batch", _batch("steps", _STEPS))
@other_question
def fused_draws_by_the_number_before(request: dict[str, Any]) -> Mapping[str, Any]:
    """A fused kernel draws by the random number of the row before."""
    return _parts_of(request, ["draw"], _before) if request["op"] == "steps" else {}


@answering("batch", _batch("steps", [_STEPS[0], {**_STEPS[1], "steps": [
    {"step": "top_k", "params": {"k": 1}}]}]))  # fmt: skip
@other_question
def fused_steps_of_the_row_before(request: dict[str, Any]) -> Mapping[str, Any]:
    """A fused kernel filters a row with the parameters of the row before."""
    return _parts_of(request, ["steps"], _before) if request["op"] == "steps" else {}


@answering("batch", _batch("steps", [_STEPS[0], {**_STEPS[1], "draw": pack([0.5])}]))
@other_question
def fused_penalties_of_the_row_before(request: dict[str, Any]) -> Mapping[str, Any]:
    """A fused kernel counts the tokens of the row before."""
    return _parts_of(request, ["history"], _before) if request["op"] == "steps" else {}


_REPORT: Final = {"logits": pack([0.0, 1.0, 2.0]), "steps": [], "token": 0}


@answering("batch", _batch("top_logprobs", [{**_REPORT, "n": 1}, {**_REPORT, "n": 2}]))
@other_question
def reports_of_the_largest_number(request: dict[str, Any]) -> Mapping[str, Any]:
    """All rows of a batch report as many tokens as the row that asks for most."""
    if request["op"] != "top_logprobs":
        return {}
    most = max(row["n"] for row in request["rows"])
    return {"rows": [{**row, "n": most} for row in request["rows"]]}


_SPECULATION: Final = {
    "draft": [pack([0.5, 0.5])],
    "target": [pack([0.5, 0.5])] * 2,
    "tokens": [0],
    "params": {},
}


@answering("batch", _batch("speculative", [
    {**_SPECULATION, "uniforms": pack([0.25, last], "f64")} for last in (0.25, 0.75)]))  # fmt: skip
@other_question
def speculation_ends_with_the_first_number(request: dict[str, Any]) -> Mapping[str, Any]:
    """The last token of each row of a batch is drawn by the number of the first row."""
    if request["op"] != "speculative":
        return {}
    rows = request["rows"]
    last = unpack(rows[0]["uniforms"])[-1]
    return {
        "rows": [
            {**row, "uniforms": pack([*unpack(row["uniforms"])[:-1], last], "f64")} for row in rows
        ]
    }


@answering("batch", _batch("residual", [
    {"target": pack([0.5, 0.5]), "draft": pack(draft), "params": {}}
    for draft in ([1.0, 0.0], [0.0, 1.0])]))  # fmt: skip
@other_question
def residual_of_the_first_draft(request: dict[str, Any]) -> Mapping[str, Any]:
    """The residuals of a batch are all taken from the first row's draft."""
    rows = request["rows"]
    return (
        {}
        if request["op"] != "residual"
        else {"rows": [{**row, "draft": rows[0]["draft"]} for row in rows]}
    )


# ---- how much of a row is kept, and which of its masks


def _kept(count: int) -> dict[str, Any]:
    return {"logits": pack([float(token) for token in range(count)]), "params": {"k": count}}


@answering("batch", _batch("top_k", [_kept(9)] * 2))
@other_question
def eight_candidates_for_each_row(request: dict[str, Any]) -> Mapping[str, Any]:
    """A batch has room for eight candidates of each row, and k is at most 8."""
    if request["op"] != "top_k" or len(request["rows"]) == 1:
        return {}
    params = [
        {**row["params"], "k": min(row["params"]["k"], 8)}
        for row in request["rows"]
        if "k" in row["params"]
    ]
    if len(params) < len(request["rows"]):
        return {}
    return {
        "rows": [{**row, "params": own} for row, own in zip(request["rows"], params, strict=True)]
    }


@answering("top_p", {"logits": pack([0.0] * 1200), "params": pack_parameters({"p": 1.0})})
@other_answer
def top_p_of_1025_candidates(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
    """Top-p sorts at most 1,025 candidates and drops the others."""
    row = unpack(request["probs" if "probs" in request else "logits"])
    best = sorted(out["keep"], key=lambda token: (-row[token], token))
    return {"keep": sorted(best[:1025])}


@answering("top_k", {"logits": msgspec.to_builtins(grid(1, 65_537, span=1)), "params": {"k": 2}})
@other_question
def equal_keys_counted_in_16_bits(request: dict[str, Any]) -> Mapping[str, Any]:
    """The histogram of a radix select counts equal numbers in 16 bits; if too few, all are kept."""
    k, (above, equal, lower) = request["params"].get("k", 0), _around_the_last_kept(request)
    is_short = equal >> 16 and above + (equal & 0xFFFF) < k
    return {"params": {"k": above + equal + lower}} if is_short else {}


@answering(
    "top_k",
    {
        "logits": msgspec.to_builtins(grid(1, 65_538, span=1, put={0: 1.0, 1: -1.0})),
        "params": {"k": 2},
    },
)
@other_question
def equal_keys_in_16_bits_seem_to_be_none(request: dict[str, Any]) -> Mapping[str, Any]:
    """A radix select counts equal numbers in 16 bits, finds none, and goes on to the next."""
    above, equal, lower = _around_the_last_kept(request)
    goes_on = lower and equal and not equal & 0xFFFF
    return {"params": {"k": above + equal + 1}} if goes_on else {}


def _around_the_last_kept(request: Request) -> tuple[int, int, int]:
    """Return how many numbers are above, equal to and below the last that top-k keeps.

    Rows that 16 bits can count have none.
    """
    row = unpack(request["probs" if "probs" in request else "logits"])
    k = request["params"].get("k", 0)
    if len(row) <= 1 << 16 or not k:
        return 0, 0, 0
    last = sorted(row, reverse=True)[min(k, len(row)) - 1]
    above, equal = sum(number > last for number in row), row.count(last)
    return above, equal, len(row) - above - equal


def _masked(size: int) -> list[dict[str, Any]]:
    row = {"logits": pack([1.0] * size), "history": [], "prompt_length": 0}
    return [{**row, "params": {"tokens": [token]}} for token in (0, 1)]


@answering("batch", _batch("token_mask", _masked(_LONG + 1)))
@other_question
def mask_of_the_first_long_row(request: dict[str, Any]) -> Mapping[str, Any]:
    """All long rows of a batch are masked by the mask of the first one."""
    rows = request["rows"]
    if request["op"] != "token_mask" or _size(rows[0]) <= _LONG:
        return {}
    return {"rows": [{**row, "params": rows[0]["params"]} for row in rows]}


def _size(row: Request) -> int:
    name = next((name for name in ("logits", "probs", "target") if name in row), "")
    numbers = row[name] if name else {}
    return len(unpack(numbers)) if isinstance(numbers, Mapping) and numbers else 0


# ---- where a row lies in memory


def _rows_lie(
    is_so: Callable[[Request], bool], start: Callable[[int, int, int, int], int]
) -> Callable[[SamplerSession, str, Request], Answer]:
    """Answer rows that begin elsewhere: at a number of memory, given row, place, stride, length."""

    def handle(session: SamplerSession, op: str, request: Request) -> Answer:
        right = session.answer(op, request)
        rows = request["rows"]
        if not isinstance(right, Ok) or "logits" not in rows[0] or not is_so(request):
            return right
        size = _size(rows[0])
        stride = request["layout"]["stride"] if "layout" in request else size
        order = request["layout"]["order"] if "layout" in request else [*range(len(rows))]
        dtype = type_of(rows[0]["logits"])
        memory = [nan] * (stride * (len(rows) + 1))
        for row, place in zip(rows, order, strict=True):
            memory[place * stride : place * stride + size] = unpack(row["logits"])
        moved = []
        for number, (row, place) in enumerate(zip(rows, order, strict=True)):
            at = start(number, place, stride, size) % (stride * len(rows))
            moved.append({**row, "logits": pack(memory[at : at + size], dtype)})
        wrong = session.answer(op, {**request, "rows": moved})
        if isinstance(wrong, Ok):
            return wrong
        return Ok({"rows": [*right.out["rows"][1:], right.out["rows"][0]]})  # garbage, and not NaN

    return handle


def _is_of_16_bits(request: Request) -> bool:
    return type_of(request["rows"][0]["logits"]) in {"f16", "bf16"}


_HALVES: Final = [{"logits": pack(row, "bf16")} for row in ([0.0, 1.0, 2.0], [1.0, 2.0, 0.0])]


@answering("batch", _batch("greedy", _HALVES))
def halves_are_read_in_pairs(session: SamplerSession, op: str, request: Request) -> Answer:
    """Numbers of 16 bits are loaded in pairs, so that a row begins at an even number."""
    return _rows_lie(_is_of_16_bits, lambda _, place, stride, __: place * stride & ~1)(
        session, op, request
    )


@answering("batch", _batch("greedy", _HALVES))
def stride_of_halves_in_words(session: SamplerSession, op: str, request: Request) -> Answer:
    """The stride of rows of 16 bits is counted in words of 32 bits."""
    return _rows_lie(_is_of_16_bits, lambda _, place, stride, __: 2 * place * stride)(
        session, op, request
    )


@answering("batch", _batch("top_k", [
    {"logits": pack([float(token == best) for token in range(_LONG + 1)]), "params": {"k": 1}}
    for best in (0, 3)
], layout={"stride": 80, "order": [1, 0]}))  # fmt: skip
def long_rows_lie_close_together(session: SamplerSession, op: str, request: Request) -> Answer:
    """Stride and order of long rows are ignored by all kernels but greedy and softmax."""

    def is_long(asked: Request) -> bool:
        return asked["op"] not in {"greedy", "softmax"} and _size(asked["rows"][0]) > _LONG

    return _rows_lie(is_long, lambda number, _, __, size: number * size)(session, op, request)


def _with_padding(request: Request, is_counted: bool) -> Mapping[str, Any]:
    """Return the change of a question that counts the padding, unless that is no number."""
    if "vocab_size" not in request or not is_counted:
        return {}
    if any(isnan(x) or x == inf for row in request["rows"] for x in unpack(row["logits"])):
        return {}
    return {"vocab_size": _size(request["rows"][0])}


_PADDED: Final = [float(token) for token in range(_LONG + 2)]


@answering("batch", _batch("logprobs", [{"logits": pack(_PADDED)}], vocab_size=_LONG + 1))
@other_question
def padding_of_long_rows_is_shared_in(request: dict[str, Any]) -> Mapping[str, Any]:
    """Top-p, min-p and logarithms count the padding of rows that have more than one block."""
    is_one = request["op"] in {"top_p", "min_p", "logprobs"}
    return _with_padding(request, is_one and _size(request["rows"][0]) > _LONG)


@answering("batch", _batch("softmax", [{"logits": pack([0.0])}, {"logits": pack([200.0])}]))
@other_rows
def largest_of_the_first_row(rows: list[Any], request: Request) -> Sequence[Any]:
    """Exponentials of all rows are of the distance to the largest logit of the first one."""
    given = [row.get("logits", {}) for row in request["rows"]]
    if request["op"] not in {"softmax", "logprobs"} or not all("f32" in row for row in given):
        return rows
    most = [max(unpack(row)[: request.get("vocab_size")]) for row in given]
    changed = []
    for number, row in enumerate(rows):
        ((part, right),) = row.items()
        overflows = not -103 < most[number % len(most)] - most[0] < 88
        changed.append({part: pack([nan] * len(unpack(right)))} if overflows else row)
    return changed


@answering("batch", _batch("softmax", [{"logits": pack([0.0, 1.0], "f16")}], vocab_size=1))
@other_question
def padding_of_halves_is_a_token(request: dict[str, Any]) -> Mapping[str, Any]:
    """The kernels for 16 bits ignore the size of the vocabulary."""
    return _with_padding(request, "logits" in request["rows"][0] and _is_of_16_bits(request))


# ---- blocks of nothing


def _nan_in(block: int) -> Callable[[list[Any], Request], Sequence[Any]]:
    """Return a change of the answers to rows that have an impossible block."""

    def changed(rows: list[Any], request: Request) -> Sequence[Any]:
        if request["op"] not in {"softmax", "logprobs", "top_p", "draw"}:
            return rows
        answers = []
        for row, right in zip(request["rows"] * request.get("calls", 1), rows, strict=True):
            numbers = unpack(row["logits"]) if "logits" in row else []
            numbers = numbers[: request.get("vocab_size")]
            blocks = [numbers[at : at + block] for at in range(0, len(numbers), block)]
            answers.append(
                _no_number(right) if any(max(each) == -inf for each in blocks) else right
            )
        return answers

    return changed


def _no_number(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer in which numbers are NaN; no comparison with NaN is true."""
    ((name, value),) = answer.items()
    if name in {"probs", "logprobs"}:
        return {name: pack([nan] * len(unpack(value)), type_of(value))}
    return {name: [] if name == "keep" else 0 if value else 1}


def _empty(block: int) -> dict[str, Any]:
    return _batch("softmax", [{"logits": pack([*[-inf] * block, 1.0])}])


@answering("batch", _empty(32))
@other_rows
def nan_of_an_empty_warp(rows: list[Any], request: Request) -> Sequence[Any]:
    """In a block of 32 impossible tokens, the online softmax takes minus infinity from itself."""
    return _nan_in(32)(rows, request)


@answering("batch", _empty(256))
@other_rows
def nan_of_an_empty_block(rows: list[Any], request: Request) -> Sequence[Any]:
    """In a block of 256 impossible tokens, the online softmax takes minus infinity from itself."""
    return _nan_in(256)(rows, request)


@answering("steps", {
    "logits": pack([float(token == 7) for token in range(_LONG)]), "history": [],
    "prompt_length": 0, "steps": [
        {"step": "token_mask", "params": {"tokens": [5, 7]}},
        {"step": "top_p", "params": pack_parameters({"p": 0.5})},
    ],
})  # fmt: skip
@other_answer
def nan_behind_a_mask(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
    """A mask empties a whole block of 32 tokens of a long row, and top-p then keeps everything."""
    steps = [each["step"] for each in request["steps"]]
    if "token_mask" not in steps or "top_p" not in steps or _size(request) < _LONG:
        return out
    kept = next(each["params"] for each in request["steps"] if each["step"] == "token_mask")
    masked = SamplerSession("standard").answer("token_mask", {**request, "params": kept})
    assert isinstance(masked, Ok)  # noqa: S101 - the whole question was answered
    left = [token for token, logit in enumerate(unpack(masked.out["logits"])) if logit > -inf]
    return {**out, "keep": left, **({"token": left[0]} if "token" in out else {})}


@answering(
    "batch", _batch("draw", [{"logits": pack([0.0, 0.0, -inf]), "uniforms": pack([1 - 2.0**-24])}])
)
@other_rows
def impossible_token_behind_the_sum(rows: list[Any], request: Request) -> Sequence[Any]:
    """If a rounded sum never exceeds the largest random number, the row's last token is drawn."""
    if request["op"] != "draw":
        return rows
    answers = []
    for row, right in zip(request["rows"] * request.get("calls", 1), rows, strict=True):
        end = request.get("vocab_size", _size(row))
        largest = max(unpack(row["uniforms"])) == 1 - 2.0**-24
        answers.append({"token": end - 1} if largest and "logits" in row else right)
    return answers


# ---- numbers of 16 bits, and long sums


@answering(("softmax", "logprobs"), {"logits": pack([0.0, 1.0], "bf16")})
@other_answer
def bf16_shares_are_cut_off(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
    """A probability becomes a bfloat16 by leaving out its lower 16 bits."""
    ((name, value),) = out.items()
    if type_of(value) != "bf16":
        return out
    op = "softmax" if name == "probs" else name
    wide = SamplerSession("standard").answer(op, {"logits": pack(unpack(request["logits"]))})
    assert isinstance(wide, Ok)  # noqa: S101 - the same numbers in 32 bits
    return {
        name: {"bf16": "".join(to_digits([number], "f32")[:4] for number in unpack(wide.out[name]))}
    }


@answering(("softmax", "logprobs"), {"logits": pack([0.0, 10.0], "f16")})
@other_answer
def f16_shares_are_flushed(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
    """Probabilities below the normal numbers of binary16 become zero."""
    ((name, value),) = out.items()
    if type_of(value) != "f16":
        return out
    return {
        name: pack([0.0 if abs(number) < 2.0**-14 else number for number in unpack(value)], "f16")
    }


@answering(
    ("softmax", "logprobs"),
    {"logits": msgspec.to_builtins(grid(1, (1 << 18) + 1, span=1, put={1 << 18: 9.0}))},
)
@other_answer
def sum_of_1024_blocks_of_256(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
    """Partial sums of 1,024 blocks are added up, which are all up to 2^18 tokens."""
    ((name, value),) = out.items()
    row = unpack(request["logits"])
    if len(row) <= 1 << 18:
        return out
    op = "softmax" if name == "probs" else name
    begin = SamplerSession("standard").answer(
        op, {"logits": cut_floats(request["logits"], 1 << 18)}
    )
    assert isinstance(begin, Ok)  # noqa: S101 - a part of the row
    part, whole = unpack(begin.out[name]), unpack(value)
    first = next(token for token, logit in enumerate(row) if logit > -inf)
    dtype = type_of(value)
    if name == "probs":
        factor = part[first] / whole[first]
        return {name: pack([nearest(number * factor, dtype) for number in whole], dtype)}
    shift = part[first] - whole[first]
    return {name: pack([nearest(number + shift, dtype) for number in whole], dtype)}
