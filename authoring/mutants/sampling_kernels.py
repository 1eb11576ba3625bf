"""Mutants with too small buffers, too few bits, or calls and rows that read what others wrote."""

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from math import exp, floor, inf, isfinite, isnan, log, nan
from typing import Any, Final

import msgspec

from authoring.grids import grid
from authoring.mutants.mutant import Mutant, named
from authoring.mutants.samplers import (
    Request,
    SamplerHandler,
    answering,
    other_answer,
    other_question,
    other_row,
)
from authoring.mutants.sampling_long import before_filters, other_rows, wraps_steps
from tokenref.answers import Answer, Ok, Refused
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import Type, from_digits, is_numbers, nearest, pack, to_digits, type_of, unpack
from tokenref.questions.sampling import pack_parameters, unpack_parameters
from tokenref.record import FILTER_OPS

_HISTORY: Final[dict[str, Any]] = {"history": [], "prompt_length": 0}


def _step(name: str, **params: Any) -> dict[str, Any]:
    return {"step": name, "params": pack_parameters(params)}


def _steps(logits: Sequence[float], *steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"logits": pack(logits), **_HISTORY, "steps": [*steps], **more}


def _batch(op: str, *rows: Mapping[str, Any], **about: Any) -> dict[str, Any]:
    return {"op": op, "rows": [*rows], **about}


def of_each_row(op: str, change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> SamplerHandler:
    """Answer another question about each row of a batch of one operation, or about a single row."""

    @wraps(change)
    def changed(request: dict[str, Any]) -> Mapping[str, Any]:
        if "rows" not in request:
            return change(request)
        if request["op"] != op:
            return {}
        return {"rows": [{**row, **change(row)} for row in request["rows"]]}

    return other_question(changed)


def fused(change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> SamplerHandler:
    """Answer another question where a kernel does all steps and the draw."""

    @wraps(change)
    def changed(row: dict[str, Any]) -> Mapping[str, Any]:
        return change(row) if "draw" in row else {}

    return of_each_row("steps", changed)


def _with(
    row: Request, name: str, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> Mapping[str, Any]:
    """Return the steps of a row in which the parameters of those of a name are changed."""
    return {
        "steps": [
            {**each, "params": pack_parameters(change(unpack_parameters(each["params"])))}
            if each["step"] == name
            else each
            for each in row["steps"]
        ]
    }


# ---- blocks and buffers


@answering(("steps", "batch"), _steps([0.0] * 256 + [9.0], _step("top_k", k=2), draw=pack([0.5])))
@fused
def fused_partial_block_of_256(row: dict[str, Any]) -> Mapping[str, Any]:
    """A fused kernel leaves out the last block of 256 tokens if it is not whole."""
    values = unpack(row["logits"])
    whole = len(values) // 256 * 256
    if not whole or max(values[:whole]) == -inf:
        return {}
    return {
        "logits": pack([*values[:whole], *[-inf] * (len(values) - whole)], type_of(row["logits"]))
    }


def _capped(most: int) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda given: {**given, "k": min(given["k"], most)}


@answering(
    ("steps", "batch"),
    _steps([0.0] * 300, _step("top_k", k=300), draw=pack([1 - 2.0**-10])),
    op="steps",
)
@fused
def fused_k_at_most_256(row: dict[str, Any]) -> Mapping[str, Any]:
    """A fused kernel has 256 places for candidates."""
    return _with(row, "top_k", _capped(256))


@answering(
    ("steps", "batch"),
    _steps([0.0] * 1100, _step("top_k", k=1100), draw=pack([1 - 2.0**-10])),
    op="steps",
)
@fused
def fused_k_at_most_1024(row: dict[str, Any]) -> Mapping[str, Any]:
    """A fused kernel has 1,024 places for candidates."""
    return _with(row, "top_k", _capped(1024))


@answering("batch", _batch("steps", _steps([0.0] * 900, _step("top_k", k=900), draw=pack([0.875]))))
@other_rows
def fused_draw_without_the_carry(rows: list[Any], request: Request) -> Sequence[Any]:
    """The scan of a fused draw loses the sum of a block: the token 256 places before is drawn."""
    if request["op"] != "steps":
        return rows
    changed = []
    for row in rows:
        place = row["keep"].index(row["token"]) if "token" in row else 0
        changed.append(row if place < 512 else {**row, "token": row["keep"][place - 256]})
    return changed


def _heaviest(row: Request, keep: Sequence[int], most: int) -> list[int]:
    """Return the heaviest of the tokens kept, those of a buffer of this size."""
    values = unpack(row["probs" if "probs" in row else "logits"])
    return sorted(sorted(keep, key=lambda token: (-values[token], token))[:most])


@answering("top_p", {"logits": pack([0.0] * 2100), "params": pack_parameters({"p": 1 - 2.0**-10})})
@other_answer
def top_p_of_2048_candidates(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
    """Top-p has a buffer for 2,048 candidates."""
    return {"keep": _heaviest(request, out["keep"], 2048)}


@answering("top_p", {"logits": pack([0.0] * 400, "bf16"), "params": pack_parameters({"p": 0.75})})
def top_p_sums_in_the_type_of_the_row(session: SamplerSession, op: str, request: Request) -> Answer:
    """The running sum has the type of the row, as a cumsum of a tensor in bf16 or f16 has."""
    right, p = session.answer(op, request), unpack_parameters(request["params"]).get("p", 1.0)
    if "logits" not in request or p >= 1 or not isinstance(right, Ok):
        return right
    row, dtype = unpack(request["logits"]), type_of(request["logits"])
    if dtype not in {"f16", "bf16"}:
        return right
    largest, total, kept = max(row), 0.0, list[int]()
    whole = sum(exp(number - largest) for number in row)
    for token in sorted(range(len(row)), key=lambda token: -row[token]):
        if total < p and row[token] > -inf:
            share = nearest(exp(row[token] - largest) / whole, dtype)
            total = nearest(total + share, dtype)
            kept.append(token)
    return Ok({"keep": sorted(kept)})


def _batch_of_candidates(most: int) -> SamplerHandler:
    def changed(rows: list[Any], request: Request) -> Sequence[Any]:
        if request["op"] != "top_p":
            return rows
        pairs = zip(rows, request["rows"] * request.get("calls", 1), strict=True)
        return [{"keep": _heaviest(row, out["keep"], most)} for out, row in pairs]

    return other_rows(changed)


_FLAT: Final = {"params": pack_parameters({"p": 1 - 2.0**-10})}


@answering("batch", _batch("top_p", {"logits": pack([0.0] * 300), **_FLAT}))
def batched_top_p_of_256_candidates(session: SamplerSession, op: str, request: Request) -> Answer:
    """Top-p of a batch has a buffer for 256 candidates of each row."""
    return _batch_of_candidates(256)(session, op, request)


@answering("batch", _batch("top_p", {"logits": pack([0.0] * 4200), **_FLAT}))
def batched_top_p_of_4096_candidates(session: SamplerSession, op: str, request: Request) -> Answer:
    """Top-p of a batch has a buffer for 4,096 candidates of each row."""
    return _batch_of_candidates(4096)(session, op, request)


@answering(
    "speculative_steps",
    {
        **_HISTORY,
        "target": [pack([0.0] * 4098)] * 2,
        "draft": [pack([0.0] * 4096 + [1.0, 0.0])],
        "tokens": [4096],
        "uniforms": pack([0.0, 0.5]),
        "steps": [_step("top_p", p=1 - 2.0**-20)],
    },
)
@other_question
def speculative_top_p_of_4096_candidates(request: dict[str, Any]) -> Mapping[str, Any]:
    """Top-p of a target's row has a buffer for 4,096 candidates."""
    capped = [_step("top_k", k=4096)]
    return {
        "steps": [
            each
            for step in request["steps"]
            for each in (capped * (step["step"] == "top_p") + [step])
        ]
    }


@answering("top_k", {"logits": pack([1.0 + at / 2**20 for at in range(5000)]), "params": {"k": 1}})
def top_k_bin_of_4096(session: SamplerSession, op: str, request: Request) -> Answer:
    """A radix sort has room for 4,096 tokens with the highest 11 bits of the last one kept."""
    right = session.answer(op, request)
    row = request.get("logits", {})
    if not isinstance(right, Ok) or not row or type_of(row) != "f32":
        return right
    values = unpack(row)
    if len(values) <= 4096:
        return right
    bits = struct.unpack(f">{len(values)}I", bytes.fromhex(to_digits(values, "f32")))
    bins = [number >> 21 for number in bits]
    least = min(right.out["keep"], key=values.__getitem__)
    full = {*[token for token, number in enumerate(bins) if number == bins[least]][4096:]}
    left = [-inf if token in full else value for token, value in enumerate(values)]
    return session.answer(op, {**request, "logits": pack(left)}) if full else right


@answering(
    "top_p",
    {"logits": pack([0.0, 1.0, 1.0 + 2.0**-20]), **_FLAT, "params": pack_parameters({"p": 0.25})},
)
def top_p_sorts_by_16_bits(session: SamplerSession, op: str, request: Request) -> Answer:
    """Top-p sorts short rows by keys in binary16, and nearly equal logits by their ids."""
    right = session.answer(op, request)
    values = unpack(request.get("logits", {"f32": ""}))
    if not isinstance(right, Ok) or not 0 < len(values) <= 1024:
        return right
    keys = [nearest(value, "f16") if abs(value) < 60_000 else value for value in values]
    order = sorted(range(len(values)), key=lambda token: (-keys[token], token))
    if order == sorted(order, key=lambda token: (-values[token], token)):
        return right
    largest = max(values)
    weights = {token: exp(values[token] - largest) for token in order}
    left, total = unpack_parameters(request["params"])["p"] * sum(weights.values()), 0.0
    keep = []
    for token in order:
        keep.append(token)
        total += weights[token]
        if total >= left:
            break
    return Ok({"keep": sorted(keep)})


# ---- numbers


@answering("softmax", {"logits": pack([0.0, -30.0])})
@other_row
def softmax_ends_at_minus_20(
    row: list[float], out: list[float], request: Request
) -> Sequence[float]:
    """The exponential of a number below -20 is 0."""
    largest = max(row)
    return [share if logit - largest >= -20 else 0.0 for logit, share in zip(row, out, strict=True)]


@answering(("softmax", "logprobs"), {"logits": pack([-20_000.0, -20_001.0])})
@other_row
def largest_logit_is_at_least_minus_1e4(
    row: list[float], out: list[float], request: Request
) -> Sequence[float]:
    """The search for the largest logit starts at -10,000: all exponentials of a lower row are 0."""
    if max(row) >= -1e4:
        return out
    return [-inf if "-" in f"{max(out)}" else 0.0] * len(out)


@answering("draw", {"probs": pack([1.0, 2.0**26]), "uniforms": pack([2.0**-25])})
@other_question
def random_number_of_24_bits(request: dict[str, Any]) -> Mapping[str, Any]:
    """Random numbers are multiples of 2^-24."""
    numbers = [floor(u * 2**24) / 2**24 for u in unpack(request["uniforms"])]
    return {"uniforms": pack(numbers, "f64")}


@answering(
    ("softmax", "logprobs", "greedy", "top_k", "top_p", "min_p", "draw"),
    {"logits": pack([0.0] * 256 + [nan])},
)
def nan_behind_256_is_impossible(session: SamplerSession, op: str, request: Request) -> Answer:
    """Only the first 256 numbers of a row are checked for NaN; later ones count as impossible."""
    return session.answer(op, _without_nan(request, 256))


@answering(
    ("greedy", "softmax", "logprobs", "top_k", "top_p", "min_p", "draw"),
    {"logits": msgspec.to_builtins(grid(1, 32_769, span=1, put={32_768: nan}))},
)
def nan_behind_32768_is_impossible(session: SamplerSession, op: str, request: Request) -> Answer:
    """Only the first 32,768 numbers of a row are checked for NaN; later ones are impossible."""
    return session.answer(op, _without_nan(request, 32_768))


def _without_nan(request: Request, size: int) -> Request:
    """Return a question in which NaN behind the first numbers makes all NaN impossible."""
    values = unpack(request["logits"]) if "logits" in request else []
    if not any(map(isnan, values[size:])):
        return request
    left = [-inf if isnan(value) else value for value in values]
    return {**request, "logits": pack(left, type_of(request["logits"]))}


# ---- several calls


def _again(change: Callable[[list[Any], Request], Sequence[Any]]) -> SamplerHandler:
    """Change the answers of all calls but the first."""

    @wraps(change)
    def changed(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
        count = len(request["rows"])
        later = change(list(out["rows"][:count]), request)
        return {"rows": [*out["rows"][:count], *[*later] * (request.get("calls", 1) - 1)]}

    return other_answer(changed)


_TWICE: Final = {**_HISTORY, "logits": pack([1.0]), "params": pack_parameters({"temperature": 2.0})}


@answering("batch", _batch("temperature", _TWICE, calls=2))
def calls_change_the_row_in_place(session: SamplerSession, op: str, request: Request) -> Answer:
    """A step writes into the row that it reads, and the next call changes it once more."""

    def twice(rows: list[Any], asked: Request) -> Sequence[Any]:
        if not all("logits" in out for out in rows):
            return rows
        changed = [{**row, **out} for row, out in zip(asked["rows"], rows, strict=True)]
        again = session.answer("batch", {**asked, "rows": changed, "calls": 1})
        return again.out["rows"] if isinstance(again, Ok) else rows

    return _again(twice)(session, op, request)


_HALF: Final = {"logits": pack([1.0, 1.0, 1.0, 1.0]), "params": pack_parameters({"p": 0.5})}


@answering("batch", _batch("top_p", _HALF, calls=2))
def calls_filter_what_is_left(session: SamplerSession, op: str, request: Request) -> Answer:
    """A filter writes minus infinity into the row, and the next call filters what is left."""

    def left(rows: list[Any], asked: Request) -> Sequence[Any]:
        if asked["op"] not in {"top_k", "top_p", "min_p"} or "probs" in asked["rows"][0]:
            return rows
        changed = []
        for row, out in zip(asked["rows"], rows, strict=True):
            kept = {*out["keep"]}
            values = [
                value if token in kept else -inf
                for token, value in enumerate(unpack(row["logits"]))
            ]
            changed.append({**row, "logits": pack(values, type_of(row["logits"]))})
        again = session.answer("batch", {**asked, "rows": changed, "calls": 1})
        return again.out["rows"] if isinstance(again, Ok) else rows

    return _again(left)(session, op, request)


_EVEN: Final = [{"logits": pack([0.0, 0.0]), "uniforms": pack([u])} for u in (0.25, 0.75)]


@answering("batch", _batch("draw", *_EVEN, calls=2))
def calls_draw_by_the_next_number(session: SamplerSession, op: str, request: Request) -> Answer:
    """The place in the list of random numbers is not reset before the next call."""

    def moved(rows: list[Any], asked: Request) -> Sequence[Any]:
        if asked["op"] != "draw":
            return rows
        numbers = [row["uniforms"] for row in asked["rows"]]
        pairs = zip(asked["rows"], [*numbers[1:], *numbers[:1]], strict=True)
        changed = [{**row, "uniforms": number} for row, number in pairs]
        again = session.answer("batch", {**asked, "rows": changed, "calls": 1})
        return again.out["rows"] if isinstance(again, Ok) else rows

    return _again(moved)(session, op, request)


_EQUAL: Final = {"logits": pack([1.0] * 300), "params": {"k": 2}}


@answering("batch", _batch("top_k", _EQUAL, calls=2))
@_again
def calls_race_for_equal_tokens(rows: list[Any], request: Request) -> Sequence[Any]:
    """Which of several equal tokens are kept depends on the block that is done first."""
    if request["op"] != "top_k":
        return rows
    kept = []
    for row, out in zip(request["rows"], rows, strict=True):
        values = unpack(row["probs" if "probs" in row else "logits"])
        least = min(values[token] for token in out["keep"])
        equal = [token for token, value in enumerate(values) if value == least]
        count = sum(values[token] == least for token in out["keep"])
        others = sorted(equal, key=lambda token: (token < 256, token))[:count]
        kept.append(
            {"keep": sorted({token for token in out["keep"] if values[token] > least} | {*others})}
        )
    return kept


# ---- ids and places


_WIDE: Final = {"logits": pack([1.0] * 65_538), "history": [65_537], "prompt_length": 0}


@answering(
    "batch", _batch("repetition_penalty", {**_WIDE, "params": pack_parameters({"penalty": 2.0})})
)
@other_question
def batched_history_in_16_bits(request: dict[str, Any]) -> Mapping[str, Any]:
    """The histories of a batch of penalties are kept in 16 bits."""
    if "penalt" not in request["op"]:
        return {}
    return {
        "rows": [
            {**row, "history": [token & 0xFFFF for token in row["history"]]}
            for row in request["rows"]
        ]
    }


@answering(
    ("steps", "batch"),
    {
        **_WIDE,
        "steps": [_step("repetition_penalty", penalty=2.0), _step("top_k", k=65_537)],
        "draw": pack([0.5]),
    },
)
@fused
def fused_history_in_16_bits(row: dict[str, Any]) -> Mapping[str, Any]:
    """A fused kernel keeps the tokens of the history in 16 bits."""
    return {"history": [token & 0xFFFF for token in row["history"]]}


@answering(
    ("steps", "batch"),
    {
        **_WIDE,
        "steps": [_step("logit_bias", biases={65_537: 1.0}), _step("top_k", k=1)],
        "draw": pack([0.5]),
    },
)
@fused
def fused_biases_in_16_bits(row: dict[str, Any]) -> Mapping[str, Any]:
    """A fused kernel keeps the tokens of biases in 16 bits."""
    return _with(
        row,
        "logit_bias",
        lambda given: {"biases": {token & 0xFFFF: bias for token, bias in given["biases"].items()}},
    )


@answering(
    "token_mask",
    {
        **_HISTORY,
        "logits": pack([0.0] * 131_073),
        "params": pack_parameters({"tokens": [1, 131_072]}),
    },
)
@other_row
def mask_of_4096_words(row: list[float], out: list[float], request: Request) -> Sequence[float]:
    """The number of a mask's word has 12 bits, and token 131,072 has the bit of token 0."""
    return (
        [-inf if out[token % 131_072] == -inf else row[token] for token in range(len(row))]
        if max(out[:131_072]) > -inf and len(row) > 131_072
        else out
    )


_FAR: Final = [{"logits": pack([float(row), 0.5])} for row in range(2)]


@answering("batch", _batch("greedy", *_FAR, layout={"stride": 1 << 24, "order": [0, 1]}))
@other_rows
def rows_at_24_bits(rows: list[Any], request: Request) -> Sequence[Any]:
    """Where a row begins is kept in 24 bits: behind 2^24 numbers there is the first row again."""
    stride, order = (request.get("layout", {}).get(name, ()) for name in ("stride", "order"))
    return [
        rows[order.index(0)] if stride and order[row] * stride >= 1 << 24 else out
        for row, out in enumerate(rows)
    ]


# ---- whose parameters and histories a row has


def _of_row(
    op: str, part: str, other: Callable[[int], int]
) -> Callable[[dict[str, Any]], Mapping[str, Any]]:
    def changed(request: dict[str, Any]) -> Mapping[str, Any]:
        rows = request["rows"]
        if request["op"] != op or any(part not in row for row in rows):
            return {}
        return {
            "rows": [{**row, part: rows[other(number)][part]} for number, row in enumerate(rows)]
        }

    return changed


def _penalised(count: int) -> list[dict[str, Any]]:
    last = {
        "logits": pack([1.0, 2.0]),
        "history": [1, 1],
        "prompt_length": 1,
        "params": pack_parameters({"penalty": 0.5}),
    }
    return [{**last, "history": [0, 0], "prompt_length": 0}] * (count - 1) + [last]


@answering("batch", _batch("frequency_penalty", *_penalised(65)))
@other_question
def histories_of_64_rows(request: dict[str, Any]) -> Mapping[str, Any]:
    """There are histories for 64 rows; row 64 has that of the first one."""
    return _of_row("frequency_penalty", "history", lambda row: row % 64)(request)


@answering("batch", _batch("frequency_penalty", *_penalised(2)))
@other_question
def one_prompt_length(request: dict[str, Any]) -> Mapping[str, Any]:
    """All rows have the length of the first row's prompt."""
    return _of_row("frequency_penalty", "prompt_length", lambda _: 0)(request)


def _fused_of_row_0(name: str) -> Callable[[dict[str, Any]], Mapping[str, Any]]:
    def changed(request: dict[str, Any]) -> Mapping[str, Any]:
        if request["op"] != "steps":
            return {}
        first = [each for each in request["rows"][0]["steps"] if each["step"] == name]
        return {
            "rows": [
                {
                    **row,
                    "steps": [
                        first[0] if first and each["step"] == name else each
                        for each in row["steps"]
                    ],
                }
                for row in request["rows"]
            ]
        }

    return changed


def _two(name: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    steps = [_step(name, **first), _step(name, **second)]
    return _batch("steps", *(_steps([1.0, 0.5], each, draw=pack([0.875])) for each in steps))


@answering("batch", _two("logit_bias", {"biases": {0: 9.0}}, {"biases": {1: 9.0}}))
@other_question
def fused_biases_of_the_first_row(request: dict[str, Any]) -> Mapping[str, Any]:
    """A fused kernel adds the biases of the first row to all rows."""
    return _fused_of_row_0("logit_bias")(request)


@answering("batch", _two("min_p", {"m": 1.0}, {"m": 0.125}))
@other_question
def fused_min_p_of_the_first_row(request: dict[str, Any]) -> Mapping[str, Any]:
    """A fused kernel filters all rows by the first row's min-p."""
    return _fused_of_row_0("min_p")(request)


_PENALISED: Final = [
    {**_steps([1.0, 0.5], _step("penalties", presence=presence), draw=pack([0.5])), "history": [0]}
    for presence in (9.0, 0.0)
]


@answering("batch", _batch("steps", *_PENALISED))
@other_question
def fused_penalties_of_the_first_row(request: dict[str, Any]) -> Mapping[str, Any]:
    """A fused kernel has one set of penalties for all rows."""
    return _fused_of_row_0("penalties")(request)


@answering(
    "batch", _batch("steps", _steps([1.0, 1.0, 0.0], _step("top_p", p=0.25), draw=pack([0.5])))
)
@other_rows
def fused_top_p_keeps_all_equals(rows: list[Any], request: Request) -> Sequence[Any]:
    """Top-p of a fused kernel keeps what reaches a threshold, and so all of equal tokens."""
    if request["op"] != "steps":
        return rows
    kept = []
    for row, out in zip(request["rows"], rows, strict=False):
        values = unpack(row["logits"])
        if {each["step"] for each in row["steps"]} <= {"top_k", "top_p"}:
            least = min(values[token] for token in out["keep"])
            equal = [token for token, value in enumerate(values) if value >= least]
            kept.append({**out, "keep": equal})
        else:
            kept.append(out)
    return [*kept, *rows[len(kept) :]]


_COINS: Final = [
    {"probs": pack([0.5, 0.5]), "uniforms": pack([0.25 if row < 128 else 0.75])}
    for row in range(129)
]


@answering("batch", _batch("draw", *_COINS))
@other_question
def random_numbers_of_128_rows(request: dict[str, Any]) -> Mapping[str, Any]:
    """There are random numbers for 128 rows; row 128 draws by that of the first one."""
    return _of_row("draw", "uniforms", lambda row: row % 128)(request)


@answering(
    "batch",
    _batch("token_mask", {**_HISTORY, "logits": pack([0.0, 1.0]), "params": {}}, vocab_size=1),
)
@other_rows
def masked_rows_have_their_padding(rows: list[Any], request: Request) -> Sequence[Any]:
    """A masked row comes back with its padding, which is impossible."""
    if request["op"] != "token_mask" or "vocab_size" not in request:
        return rows
    changed = []
    for row, out in zip(request["rows"], rows, strict=True):
        dtype, values = type_of(out["logits"]), unpack(out["logits"])
        more = len(unpack(row["logits"])) - len(values)
        changed.append({"logits": pack([*values, *[-inf] * more], dtype)})
    return changed


# ---- reports


_REPORT: Final[dict[str, Any]] = {"steps": [], "token": 1, "n": 30}


@answering("top_logprobs", {**_REPORT, "logits": pack([1.0, 1.0 + 2.0**-14])})
@other_answer
def rank_of_numbers_in_16_bits(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
    """The rank compares logits that were rounded to binary16."""
    values, drawn = unpack(request["logits"]), request["token"]
    keys = [nearest(value, "f16") if abs(value) < 60_000 else value for value in values]
    more = sum(key >= keys[drawn] for key in keys) - sum(value >= values[drawn] for value in values)
    return {**out, "rank": out["rank"] + more}


@answering("top_logprobs", {**_REPORT, "logits": pack([float(token) for token in range(40)])})
@other_question
def reports_of_at_most_20(request: dict[str, Any]) -> Mapping[str, Any]:
    """At most 20 tokens are reported, as many as an interface allows."""
    return {"n": min(request["n"], 20)}


# ---- types of 16 bits


def _as_f16(row: dict[str, Any]) -> Any:
    """Return a row of bf16 whose bits were read as binary16, if these are numbers."""
    if "bf16" not in row:
        return row
    values = from_digits(row["bf16"], "f16")
    return pack(values, "f16") if all(map(isfinite, values)) else row


@answering(
    ("steps", "batch"),
    {**_steps([1.0], _step("top_k", k=2), draw=pack([0.0625])), "logits": pack([0.0, 4.0], "bf16")},
    op="steps",
)
@fused
def fused_bf16_is_read_as_f16(row: dict[str, Any]) -> Mapping[str, Any]:
    """A fused kernel has one 16-bit type, and reads bf16 as binary16."""
    return {"logits": _as_f16(row["logits"])}


_OF_ROWS: Final = (
    *("softmax", "logprobs", "temperature", "token_mask", "top_k", "top_p", "min_p", "greedy"),
    *("draw", "repetition_penalty", "frequency_penalty", "presence_penalty", "logit_bias"),
)
"""Operations of kernels, alone and in batches."""


def _every_row(
    request: dict[str, Any], change: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """Return a question whose rows of numbers are other ones."""
    rows: dict[str, Any] = {
        name: change(request[name]) for name in ("logits", "probs") if name in request
    }
    if "rows" in request:
        rows["rows"] = [_every_row(row, change) for row in request["rows"]]
    return {**request, **rows}


@answering((*_OF_ROWS, "batch"), {"logits": pack([1.0, 2.0], "bf16")})
def bf16_is_read_as_f16(session: SamplerSession, op: str, request: Request) -> Answer:
    """Kernels for 16 bits read bfloat16 as binary16, and write bfloat16."""

    def read(row: dict[str, Any]) -> dict[str, Any]:
        if type_of(row) != "bf16":
            return row
        return pack(from_digits(to_digits(unpack(row), "bf16"), "f16"), "f32")

    def written(row: dict[str, Any]) -> dict[str, Any]:
        return pack([nearest(number, "bf16") for number in unpack(row)], "bf16")

    return _in_other_numbers(session, op, request, read, written)


def _in_other_numbers(
    session: SamplerSession,
    op: str,
    request: Request,
    read: Callable[[dict[str, Any]], dict[str, Any]],
    written: Callable[[dict[str, Any]], dict[str, Any]],
) -> Answer:
    """Answer a question whose rows are read as other ones; `written` makes those of the answer."""
    changed = _every_row(dict(request), read)
    right = session.answer(op, request)
    if changed == request or not isinstance(right, Ok):
        return right
    wrong = session.answer(op, changed)
    if not isinstance(wrong, Ok):
        return wrong
    rows = wrong.out.get("rows", [wrong.out])
    made = [
        {name: written(part) if is_numbers(part) else part for name, part in row.items()}
        for row in rows
    ]
    return Ok({"rows": made} if "rows" in wrong.out else made[0])


_CHANGED: Final = (
    *("logit_bias", "temperature", "softmax", "logprobs"),
    *("repetition_penalty", "frequency_penalty", "presence_penalty"),
)
"""Operations of kernels whose answers are numbers that may be rounded."""


def _halves_up(dtype: Type, lost: int) -> Mutant:
    """Return a mutant that rounds to 16 bits by adding half of the bits that are lost."""

    def rounded(number: float) -> float:
        if isnan(number) or not 2.0**-14 <= abs(number) < 2.0**15:
            return nearest(number, dtype)
        (bits,) = struct.unpack(">I", struct.pack(">f", number))
        bits = (bits + (1 << lost - 1)) >> lost << lost
        return float(struct.unpack(">f", struct.pack(">I", bits))[0])

    def read(row: dict[str, Any]) -> dict[str, Any]:
        return pack(unpack(row), "f32") if type_of(row) == dtype else row

    def written(row: dict[str, Any]) -> dict[str, Any]:
        return pack([rounded(number) for number in unpack(row)], dtype)

    def handle(session: SamplerSession, op: str, request: Request) -> Answer:
        return _in_other_numbers(session, op, request, read, written)

    says = f"Numbers halfway between two of {dtype} are rounded away from zero, not to an even one."
    biases = {"params": pack_parameters({"biases": {0: 2.0 ** (lost - 24)}})}
    witness = {"logits": pack([1.0], dtype), **_HISTORY, **biases}
    return answering(_CHANGED, witness)(named(f"halves-of-{dtype}-are-rounded-up", says, handle))


HALVES: Final = (_halves_up("f16", 13), _halves_up("bf16", 16))


@answering(_OF_ROWS, {"logits": pack([0.0, 2.0**-149])}, op="greedy")
def subnormal_numbers_are_zero(session: SamplerSession, op: str, request: Request) -> Answer:
    """Subnormal numbers of 32 bits become zero where they are read and where they are written."""

    def flushed(row: dict[str, Any]) -> dict[str, Any]:
        if type_of(row) != "f32" or "gen" in row:
            return row
        return pack([x * 0.0 if abs(x) < 2.0**-126 else x for x in unpack(row)], "f32")

    right = session.answer(op, request)
    if not isinstance(right, Ok):
        return right
    wrong = session.answer(op, _every_row(dict(request), flushed))
    if not isinstance(wrong, Ok):
        return wrong
    return Ok({n: flushed(part) if is_numbers(part) else part for n, part in wrong.out.items()})


@answering("speculative", {
    "draft": [pack([0.5, 0.5], "bf16")], "target": [pack([0.25, 0.75], "bf16")] * 2, "tokens": [0],
    "uniforms": pack([0.75, 0.5], "f64"), "params": {},
})  # fmt: skip
@other_question
def speculative_bf16_is_read_as_f16(request: dict[str, Any]) -> Mapping[str, Any]:
    """Rows of bf16 are read as binary16 where drafts are judged."""
    return {part: [*map(_as_f16, request[part])] for part in ("draft", "target")}


_ONE_DRAFT: Final[dict[str, Any]] = {"tokens": [0], "params": {}}


@answering("speculative", {
    "draft": [pack([1.0, 0.0])], "target": [pack([2.0**-21, 1 - 2.0**-21]), pack([0.5, 0.5])],
    "uniforms": pack([0.0, 0.25]), **_ONE_DRAFT,
})  # fmt: skip
@other_question
def speculative_targets_below_a_millionth_are_0(request: dict[str, Any]) -> Mapping[str, Any]:
    """Probabilities of the target below 10^-6 count as 0."""
    rows = [(unpack(row), type_of(row)) for row in request["target"]]
    return {"target": [pack([x if x >= 1e-6 else 0.0 for x in row], dtype) for row, dtype in rows]}


@answering("batch", _batch("speculative", *({
    "draft": [pack([0.5, 0.5])], "target": [pack([0.25, 0.75]), pack([0.5, 0.5])],
    "uniforms": pack([number] * 2), **_ONE_DRAFT,
} for number in (0.25, 0.75))))  # fmt: skip
@other_question
def random_numbers_of_as_many_drafts(request: dict[str, Any]) -> Mapping[str, Any]:
    """A row of a batch has the random numbers of the first row with as many drafts."""
    if request["op"] != "speculative":
        return {}
    first: dict[int, Any] = {}
    for row in request["rows"]:
        first.setdefault(len(row["tokens"]), row["uniforms"])
    rows = [(row, first[len(row["tokens"])]) for row in request["rows"]]
    same = all(len(unpack(row["uniforms"])) == len(unpack(numbers)) for row, numbers in rows)
    return {"rows": [{**row, "uniforms": numbers} for row, numbers in rows]} if same else {}


_COUNTED: Final[dict[str, Any]] = {
    **_steps([2.0, 3.0, 2.5], _step("frequency_penalty", penalty=0.375), _step("top_k", k=1)),
    "history": [2, 1, 1],
    "prompt_length": 1,
}


@answering(
    ("steps", "batch"),
    _steps([2.0, 3.0, 2.5], _step("top_k", k=1), _step("top_k", k=2)),
    op="steps",
)
@partial(of_each_row, "steps")
def steps_are_kept_by_name(row: dict[str, Any]) -> Mapping[str, Any]:
    """Of two filters of one name, the last one takes the place of the first."""
    by_name = {}
    for number, each in enumerate(row["steps"]):
        by_name[number if each["step"] == "token_mask" else each["step"]] = each
    return {"steps": [*by_name.values()]}


@answering(
    ("steps", "batch"), _steps([2.0, 1.0], _step("top_k", k=2), _step("top_k", k=1)), op="steps"
)
@partial(of_each_row, "steps")
def steps_have_the_first_parameters(row: dict[str, Any]) -> Mapping[str, Any]:
    """A step that comes twice has the parameters that it has where it comes first."""
    first: dict[str, Any] = {}
    for each in row["steps"]:
        first.setdefault(each["step"], each)
    return {"steps": [first[each["step"]] for each in row["steps"]]}


@answering(
    ("steps", "batch"),
    _steps([0.0, 2.0**-7], _step("temperature", temperature=2.0**-10), _step("min_p", m=0.25)),
    op="steps",
)
@partial(of_each_row, "steps")
def fused_temperature_of_at_least_a_hundredth(row: dict[str, Any]) -> Mapping[str, Any]:
    """A fused kernel divides by no temperature below 0.01."""
    return _with(row, "temperature", lambda given: {"temperature": max(given["temperature"], 0.01)})


@answering(
    ("steps", "batch"),
    {**_steps([], _step("top_k", k=1)), "logits": pack([1.0, 1 + 2.0**-40], "f64")},
    op="steps",
)
@partial(of_each_row, "steps")
def steps_have_keys_of_32_bits(row: dict[str, Any]) -> Mapping[str, Any]:
    """A fused kernel sorts logits of 64 bits by keys of 32 bits."""
    if type_of(row["logits"]) != "f64":
        return {}
    return {"logits": pack([nearest(number, "f32") for number in unpack(row["logits"])], "f64")}


def _near_1(params: dict[str, Any]) -> dict[str, Any]:
    given = unpack_parameters(params)
    near = [name for name in given.keys() & {"temp", "temperature"} if abs(given[name] - 1) < 0.001]
    return pack_parameters({**given, **dict.fromkeys(near, 1.0)}) if near else params


@answering(
    ("temperature", "batch"),
    {**_TWICE, "params": pack_parameters({"temperature": 1 - 2.0**-11})},
    op="temperature",
)
@partial(of_each_row, "temperature")
def temperatures_near_1_are_skipped(row: dict[str, Any]) -> Mapping[str, Any]:
    """A temperature within 0.001 of 1 changes nothing."""
    return {"params": _near_1(row["params"])}


@answering("batch", _batch("repetition_penalty", *(
    {"logits": pack([2.0]), "history": [0], "prompt_length": 0,
     "params": pack_parameters({"penalty": 2.0, "window": int(number == 32)})}
    for number in range(33)
)))  # fmt: skip
@other_question
def windows_of_rows_modulo_32(request: dict[str, Any]) -> Mapping[str, Any]:
    """A row of a batch has the window of its number modulo 32."""
    rows = request["rows"]
    if not all("window" in row.get("params", ()) for row in rows):
        return {}
    windows = [rows[number % 32]["params"]["window"] for number in range(len(rows))]
    pairs = zip(rows, windows, strict=True)
    return {"rows": [{**row, "params": {**row["params"], "window": w}} for row, w in pairs]}


@answering(("steps", "batch"), _COUNTED, op="steps")
@partial(of_each_row, "steps")
def steps_count_each_token_once(row: dict[str, Any]) -> Mapping[str, Any]:
    """A fused frequency penalty knows only which tokens are in the output."""
    prompt, output = row["history"][: row["prompt_length"]], row["history"][row["prompt_length"] :]
    return {"history": [*prompt, *dict.fromkeys(output)]}


@answering(("steps", "batch"), {**_COUNTED, "history": [1, 1], "prompt_length": 2}, op="steps")
@partial(of_each_row, "steps")
def steps_count_the_prompt(_: dict[str, Any]) -> Mapping[str, Any]:
    """A fused frequency penalty counts the prompt, too."""
    return {"prompt_length": 0}


# ---- weights and steps in 16 bits


def _narrowed(logits: Mapping[str, Any], dtype: Type) -> Mapping[str, Any]:
    """Return logits of weights that were kept in a type."""
    values = unpack(logits)
    largest = max(values)
    weights = [nearest(exp(value - largest), dtype) for value in values]
    return {"logits": pack([log(each) if each else -inf for each in weights], "f64")}


def _narrow_weights(op: str, dtype: Type, other: float, number: float) -> Mutant:
    """Return a mutant that keeps the weights of logits, their exponentials, in 16 bits.

    The logits 0 and `other` show it, with a random number, p or m that is hardly right.
    """
    packed = pack([nearest(number, "f32")])
    parameter = {"top_p": "p", "min_p": "m"}.get(op)
    more = {"uniforms": packed} if parameter is None else {"params": {parameter: packed}}

    def narrow(row: dict[str, Any]) -> Mapping[str, Any]:
        return _narrowed(row["logits"], dtype) if "logits" in row else {}

    says = f"The exponentials of logits are kept in {'binary16' if dtype == 'f16' else 'bfloat16'}."
    name = f"{op.replace('_', '-')}-weights-in-{dtype}"
    return answering(op, {"logits": pack([0.0, other]), **more})(
        other_question(named(name, says, narrow))
    )


NARROW_WEIGHTS: Final = (
    _narrow_weights("draw", "f16", -265 / 512, 0.626536),
    _narrow_weights("draw", "bf16", -105 / 512, 0.550814),
    _narrow_weights("top_p", "f16", -265 / 512, 0.626536),
    _narrow_weights("top_p", "bf16", -105 / 512, 0.550814),
    _narrow_weights("min_p", "f16", -47 / 256, 0.83215),
    _narrow_weights("min_p", "bf16", -63 / 512, 0.8835),
)


@answering(
    ("steps", "batch"),
    {
        **_steps([], _step("logit_bias", biases={1: 0.5}), _step("top_k", k=1)),
        "logits": pack([2048.0, 2048.0], "f16"),
    },
)
@wraps_steps
def steps_round_in_between(session: SamplerSession, request: Request) -> Answer:
    """Each step rounds the logits to the type of 16 bits that they came in."""
    logits, steps = before_filters(session, request, type_of(request["logits"]))
    return session.answer("steps", {**request, "logits": logits, "steps": steps})


@answering(
    "steps",
    _steps(
        [1.0, 0.0],
        _step("temperature", temperature=0.5),
        _step("logit_bias", biases={0: -1.5}),
        _step("top_k", k=1),
    ),
)
@wraps_steps
def bias_on_the_logit_of_the_question(session: SamplerSession, request: Request) -> Answer:
    """A bias is added to the logit of the question, whatever earlier steps made of it."""
    names = [each["step"] for each in request["steps"]]
    place = names.index("logit_bias") if "logit_bias" in names else 0
    before, after = request["steps"][:place], request["steps"][place + 1 :]
    if not before or any(name in FILTER_OPS for name in names[:place]):
        return session.answer("steps", request)
    logits, _ = before_filters(session, {**request, "steps": before}, "f64")
    row, given = unpack(logits), unpack(request["logits"])
    for token, bias in unpack_parameters(request["steps"][place]["params"])["biases"].items():
        row[token] = given[token] + bias
    return session.answer("steps", {**request, "logits": pack(row, "f64"), "steps": after})


@answering(("softmax", "logprobs"), {"logits": pack([17.0, 17.0, -17.125], "bf16")})
@other_question
def differences_in_16_bits(request: dict[str, Any]) -> Mapping[str, Any]:
    """The differences to the largest logit of a row of 16 bits are kept in 16 bits."""
    dtype = type_of(request["logits"]) if "logits" in request else "f32"
    if dtype not in {"f16", "bf16"}:
        return {}
    row = unpack(request["logits"])
    largest = max(row)
    return {"logits": pack([nearest(logit - largest, dtype) for logit in row], dtype)}


@answering("softmax", {"logits": pack([0.0, -84.0])})
@other_question
def exponentials_below_minus_80_are_0(request: dict[str, Any]) -> Mapping[str, Any]:
    """An exponential is 0 for every number below -80, so small probabilities are lost."""
    row = unpack(request["logits"])
    least = max(row, default=0.0) - 80
    kept = [-inf if logit < least else logit for logit in row]
    return {"logits": pack(kept, type_of(request["logits"]))}


@answering(("greedy", "batch"), {"logits": pack([-2.0, -1.0], "f16")})
@partial(of_each_row, "greedy")
def greedy_sorts_bits_of_16(row: dict[str, Any]) -> Mapping[str, Any]:
    """Logits of 16 bits are compared as whole numbers with a sign."""
    dtype = type_of(row["logits"])
    if dtype not in {"f16", "bf16"}:
        return {}
    bits = bytes.fromhex(to_digits(unpack(row["logits"]), dtype))
    return {"logits": pack([*map(float, struct.unpack(f">{len(bits) // 2}h", bits))])}


@answering(("greedy", "top_k"), {"logits": pack([1.0, 1 + 2.0**-40], "f64")})
@other_question
def f64_is_compared_in_f32(request: dict[str, Any]) -> Mapping[str, Any]:
    """Logits of 64 bits are compared in 32."""
    if "logits" not in request or type_of(request["logits"]) != "f64":
        return {}
    return {"logits": pack([nearest(logit, "f32") for logit in unpack(request["logits"])])}


@answering("draw", {"logits": {"bf16": "0000becd"}, "uniforms": {"f32": "3f19346d"}})
@other_question
def draw_weights_in_the_row_s_type(request: dict[str, Any]) -> Mapping[str, Any]:
    """The weights of logits of 16 bits are kept in 16 bits."""
    dtype = type_of(request["logits"]) if "logits" in request else "f32"
    return _narrowed(request["logits"], dtype) if dtype in {"f16", "bf16"} else {}


@answering(
    ("steps", "batch"),
    {
        **_steps([], _step("temperature", temperature=nearest(1.97, "f32")), _step("top_k", k=1)),
        "logits": pack([15.875, 15.9375], "bf16"),
    },
)
@wraps_steps
def steps_round_after_temperature(session: SamplerSession, request: Request) -> Answer:
    """A first step of temperature rounds the logits to the type that they came in."""
    first, *others = request["steps"]
    if first["step"] == "temperature" and others:
        after = session.answer("temperature", {**request, "params": first["params"]})
        if isinstance(after, Ok):
            request = {**request, "logits": after.out["logits"], "steps": others}
    return session.answer("steps", request)


# ---- possible tokens behind the first block


@answering(
    ("softmax", "logprobs", "greedy", "top_k", "top_p", "min_p", "draw", "token_mask"),
    {"logits": pack([*[-inf] * 256, 1.0])},
)
def empty_first_256_is_invalid(session: SamplerSession, op: str, request: Request) -> Answer:
    """A row is invalid if none of its first 256 tokens is possible."""
    right = session.answer(op, request)
    row = right.out.get("logits", request.get("logits")) if isinstance(right, Ok) else None
    if row is not None and max(unpack(row)[:256]) == -inf:
        return Refused("INVALID_ROW", "no token is possible")
    return right


# ---- parameters that a kernel takes once for a batch, and shares of 16 bits


@answering(
    "batch",
    _batch(
        "top_p",
        *(
            {"probs": pack([0.5, 0.5]), "params": pack_parameters({"p": 0.25, "least": least})}
            for least in (1, 2)
        ),
    ),
)
@other_question
def seldom_parameters_of_the_first_row(request: dict[str, Any]) -> Mapping[str, Any]:
    """A window, a least number, a mass, and how many tokens are skipped are taken from row 0."""
    rows, names = request["rows"], {"window", "least", "mass", "skipped"}
    shared = {name: rows[0]["params"][name] for name in names & {*rows[0].get("params", {})}}
    if not all(names & {*row.get("params", {})} == {*shared} for row in rows):
        return {}
    return {"rows": [{**row, "params": {**row.get("params", {}), **shared}} for row in rows]}


@answering(
    "repetition_penalty",
    {
        "logits": pack([2.0, 2.0]),
        "history": [0, 1],
        "prompt_length": 0,
        "params": pack_parameters({"penalty": 2.0, "skipped": 1, "window": 1}),
    },
)
@other_question
def skips_in_the_window(request: dict[str, Any]) -> Mapping[str, Any]:
    """Tokens are skipped from the beginning of the window, not of the history."""
    given = unpack_parameters(request["params"])
    if given.get("window") is None or not given.get("skipped"):
        return {}
    begin = max(len(request["history"]) - given["window"], 0)
    others = {name: value for name, value in request["params"].items() if name != "window"}
    length = max(request["prompt_length"] - begin, 0)
    return {"history": request["history"][begin:], "prompt_length": length, "params": others}


@answering(
    "speculative",
    {
        "draft": [pack([0.5, 0.5])],
        "target": [pack([0.25 + 2.0**-13, 0.75 - 2.0**-13]), pack([0.5, 0.5])],
        "tokens": [0],
        "uniforms": pack([0.5 + 2.0**-13, 0.25]),
        "params": {},
    },
)
@other_question
def targets_of_drafts_in_f16(request: dict[str, Any]) -> Mapping[str, Any]:
    """The probabilities of the target are rounded to binary16."""
    rows = [unpack(row) for row in request["target"]]
    return {"target": [pack([nearest(share, "f16") for share in row]) for row in rows]}


@answering("steps", {**_steps([0.0, -265 / 512], _step("top_p", p=nearest(0.626536, "f32")))})
@other_question
def fused_weights_in_f16(request: dict[str, Any]) -> Mapping[str, Any]:
    """The weights of a row that is not long are kept in binary16 when all steps are one kernel."""
    row = unpack(request["logits"])
    return _narrowed(request["logits"], "f16") if 0 < len(row) <= 1000 else {}
