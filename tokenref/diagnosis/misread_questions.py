"""Questions that a program may have read instead of its own.

To add one, write a function of a question, `Change`, that returns the parts of it that become
others, and give it a name in `QUESTIONS`. It is called only if it is wanted, because a row may have
many tokens. Parameters need only a line in `_PERTURBED`; wrong sums and misread masks one in the
tables of `mistakes`.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, groupby, pairwise, product
from math import copysign, exp, floor, fsum, inf, log, nextafter
from sys import float_info
from typing import Any, Final, TypeAlias

from tokenref.diagnosis.asked import (
    BELOW_1,
    OF_PROMPTS,
    OF_SUMS,
    VARIANT,
    Asked,
    Change,
    Misreading,
    Row,
    is_fused,
    named,
    rows_of,
)
from tokenref.diagnosis.mistakes import (
    MASKS,
    OTHER_ROWS,
    SUMS,
    Allowed,
    Summed,
    truncated,
    weights_of,
)
from tokenref.floats import SMALLEST_NORMAL, Type, is_numbers, nearest, pack, type_of, unpack
from tokenref.questions.sampling import tokens_of, unpack_parameters
from tokenref.record import FILTER_OPS, Case
from tokenref.rules import STANDARD

# ---- the sum of the weights


def _share(summed: Summed, weights: Sequence[float]) -> float:
    return summed(weights, [0.0, *accumulate(weights)]) / fsum(weights)


def _by_sum(summed: Summed, asked: Asked) -> Row:
    """Return a share that has the effect of another sum, if the question is not plain."""
    if asked.op != "top_p" or asked.is_plain:
        return {}
    return {"params": _with_p(asked.row["params"], _share(summed, asked.weights))}


def changes_sum(says: str, case: Case) -> bool:
    """Return whether a wrong sum of weights would show in the numbers of a question's answer."""
    rows = [row for row in rows_of(case)[1] if "logits" in row]
    weights = (weights_of(unpack(row["logits"])) for row in rows)
    return any(abs(_share(SUMS[says], each) - 1) > _SHOWN for each in weights)


_SHOWN: Final = 0.01
"""How much a sum must differ for its effect to show whatever the type of numbers."""


def _early(place: int, asked: Asked) -> Row:
    """Return a random number for the sum before a step."""
    if not is_fused(asked) or "draw" not in asked.row:
        return {}
    (number,) = unpack(asked.row["draw"])
    number *= fsum(asked.left[place]) / fsum(asked.left[-1])
    return {"draw": pack([min(number, BELOW_1)], "f64")}


def _p_of_all(is_first: bool, asked: Asked) -> Row:
    """Return steps whose top-p takes shares of all tokens, also of those removed before it.

    Their sum is that of the question, or of what the steps before it that remove none make.
    """
    if not is_fused(asked):
        return {}
    whole: Sequence[float] = asked.numbers
    steps = list[Row]()
    for step, row in zip(asked.row["steps"], asked.made, strict=False):
        largest = max(row if is_first else whole)
        factor = fsum(weights_of(whole)) / fsum(exp(number - largest) for number in row)
        is_p = step["step"] == "top_p"
        steps.append({**step, "params": _with_p(step["params"], factor)} if is_p else step)
        if not is_first and step["step"] not in {*FILTER_OPS, "token_mask"}:
            whole = asked.after(step, whole)
    return {"steps": steps}


def _with_p(params: Row, factor: float) -> Row:
    """Return parameters whose p, if it has this name, is a share of another sum."""
    p = unpack_parameters(params).get("p", 1)
    return {**params, "p": pack([min(p * factor, BELOW_1)], "f64")} if p < 1 else params


Part: TypeAlias = Callable[[int, Sequence[float]], Sequence[float]]
"""Returns a part of weights, given the size of blocks."""

_PARTS: Final[Mapping[str, Part]] = {
    "whole blocks of {:,} tokens": lambda size, weights: weights[: len(weights) // size * size],
    "the first {:,} tokens": lambda size, weights: weights[:size],
    "the last block of {:,} tokens": (
        lambda size, weights: weights[(len(weights) - 1) // size * size :]
    ),
    "a row without every second group of {:,} tokens": (
        lambda size, weights: [w for at, w in enumerate(weights) if at // size % 2 == 0]
    ),
}


def _partial_maximum(part: Part, size: int, asked: Asked) -> Row:
    """Return a threshold of min-p that is relative to the largest number of a part."""
    if asked.op != "min_p":
        return {}
    weights, params = asked.weights, asked.row["params"]
    whole = max(part(size, weights) or weights) / max(weights)
    m = unpack_parameters(params).get("m", 0.0)
    return {"params": {**params, "m": pack([m * whole], "f64")}} if m and 0 < whole < 1 else {}


# ---- histories

Tokens: TypeAlias = list[int]


def _at_most(most: int, tokens: Tokens) -> Tokens:
    """Return tokens without what occurs more often than a counter can count."""
    seen: Counter[int] = Counter()
    return [token for token in tokens if not (seen.update([token]) or seen[token] > most)]


def _modulo(size: int, tokens: Tokens) -> Tokens:
    """Return tokens without each `size` of one of them, which a narrow counter does not see."""
    return [t for t, count in Counter(tokens).items() for _ in range(count % size)]


def _once_in(size: int, tokens: Tokens) -> Tokens:
    """Return tokens of which each occurs once in a group."""
    groups = [tokens[at : at + size] for at in range(0, len(tokens), size)]
    return [token for group in groups for token in dict.fromkeys(group)]


def _one_less(tokens: Tokens) -> Tokens:
    """Return tokens of which each that is repeated occurs once less."""
    counts = Counter(tokens)
    return [t for t in dict.fromkeys(tokens) for _ in range(max(1, counts[t] - 1))]


def _generated(
    change: Callable[[Tokens], Tokens], prompt: Tokens, generated: Tokens
) -> tuple[Tokens, Tokens]:
    return prompt, change(generated)


def _first(most: int, prompt: Tokens, generated: Tokens) -> tuple[Tokens, Tokens]:
    return prompt[:most], generated[: max(0, most - len(prompt))]


def _last(most: int, prompt: Tokens, generated: Tokens) -> tuple[Tokens, Tokens]:
    return prompt[max(0, len(prompt) + len(generated) - most) :], generated[-most:]


_LONG: Final = (64, 256, 512, 1024, 4096)

_COUNTED: Final[Mapping[str, Callable[[Tokens], Tokens]]] = {
    "each token counted once": partial(_at_most, 1),
    **{f"each token counted once in {n} tokens": partial(_once_in, n) for n in (32, 64, 128, 256)},
    "counts of repeated tokens that are too small by 1": _one_less,
    **{f"counts that end at {most}": partial(_at_most, most) for most in (15, 127, 255)},
    **{f"counts modulo {size}": partial(_modulo, size) for size in (16, 256)},
    "equal neighbours counted once": lambda tokens: [t for t, _ in groupby(tokens)],
}
"""What programs count of the tokens that were generated."""

_HISTORIES: Final[Mapping[str, Callable[[Tokens, Tokens], tuple[Tokens, Tokens]]]] = {
    **{says: partial(_generated, counted) for says, counted in _COUNTED.items()},
    "the prompt counted as generated": lambda p, g: ([], p + g),
    "a history without the prompt": lambda _, g: ([], g),
    "a prompt that is too short by 1": lambda p, g: (p[:-1], p[-1:] + g),
    "a prompt that is too long by 1": lambda p, g: (p + g[:1], g[1:]),
    "the ids of the history modulo 65,536": (
        lambda p, g: ([t % 65_536 for t in p], [t % 65_536 for t in g])
    ),
    "a history without its last token": lambda p, g: (p, g[:-1]) if g else (p[:-1], g),
    **{f"the first {n:,} tokens of the history": partial(_first, n) for n in _LONG},
    **{f"the last {n:,} tokens of the history": partial(_last, n) for n in _LONG},
}
"""What programs make of the tokens of a prompt and those that were generated."""


def _recounted(
    counted: Callable[[Tokens, Tokens], tuple[Tokens, Tokens]], is_count: bool, asked: Asked
) -> Row:
    """Return another history, for counts of what is in the window."""
    history = asked.row.get("history")
    if not history:
        return {}
    is_one = is_count and asked.op in OF_PROMPTS and asked.profile == STANDARD  # one count of all
    start = 0 if is_one else asked.row["prompt_length"]
    params = {**_DEFAULTS.get(asked.op, {}), **asked.row.get("params", {})}
    window = params.get("window") if is_count else None
    if window is not None:
        end = max(0, len(history) - window)
        history, start = history[end:], max(0, start - end)
    before, after = counted(history[:start], history[start:])
    return {"history": [*before, *after], "prompt_length": len(before)}


# ---- parameters

_NARROW_ENDS: Final = (256, 65_536)

_MOST: Final = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)

_PERTURBED: Final[Mapping[str, Sequence[tuple[str, Callable[..., Any], Sequence[float | str]]]]] = {
    "whole": (
        ("{name} too large by {}", lambda by, number, _: number + by, (1,)),
        ("{name} too small by {}", lambda by, number, _: max(number - by, 0), (1,)),
        (
            "{name} modulo {:,}",
            lambda n, number, count: number and (number % n or count),
            _NARROW_ENDS,
        ),  # 0 leaves it out
        ("{name} modulo {:,}" + VARIANT + "0", lambda n, number, _: number % n, _NARROW_ENDS),
        (
            "{name} of which only the lowest {} bits are read, and a sign, and at least 1",
            lambda bits, number, _: max((number + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1), 1),
            (32,),
        ),
        ("{name} modulo {:,}, and at least 1", lambda n, number, _: number % n or 1, _NARROW_ENDS),
        (
            "{name} of at most the number of tokens less {}",
            lambda by, number, count: min(number, max(count - by, 1)),
            (1,),
        ),
        (
            "{name} above the number of tokens taken for {}",
            lambda n, number, count: n if number > count else number,
            (1,),
        ),
        ("{name} left out", lambda *_: None, (0,)),
        ("{name} {} taken for all", lambda _, number, __: number or 2**20, (0,)),
        ("{name} of at most {:,}", lambda n, number, _: min(number, n), _MOST),
    ),
    "real": (
        ("{name} rounded to {}", lambda dtype, number, _: nearest(number, dtype), ("f16", "bf16")),
        (
            "the logarithm of {name} rounded to {}",
            lambda dtype, number, _: exp(nearest(log(number), dtype)) if number > 0 else number,
            ("f16", "bf16"),
        ),
        (
            "{name} in steps of 1 / {}",
            lambda n, number, _: round(number * n) / n or number,
            (255, 256),
        ),
        (
            "{name} of at least {:g}",
            lambda least, number, _: max(number, least),
            (1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.1),
        ),
        (
            "{name} of {:g} or more taken for 1",
            lambda least, number, _: 1.0 if least <= number < 1 else number,
            (0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999),
        ),
    ),
    "map": (
        (
            "ids of {name} modulo {:,}",
            lambda n, pairs, _: [[t % n if isinstance(t, int) else t, x] for t, x in pairs],
            _NARROW_ENDS,
        ),
        ("the first of {name} alone", lambda n, pairs, _: pairs[:n], (1,)),
        ("the first {:,} {name}", lambda n, pairs, _: pairs[:n], _MOST),
    ),
}
"""What programs make of a whole number, of another one and of numbers for tokens, given these and
the number of all tokens, each with some sizes or types."""

_DEFAULTS: Final[Mapping[str, Row]] = {"penalties": {"window": 64}}
"""Whole numbers of operations that need not be given."""

_UNLIMITED: Final = 2**63 - 1
"""What programs take for a window that is not given."""


def perturbed(op: str, rows: Sequence[Row]) -> Iterator["Misreading"]:
    """Yield that one parameter, alone or of a step, is another one."""
    steps = (step for row in rows for step in row.get("steps", ()) if isinstance(step, dict))
    given = [{**_DEFAULTS.get(op, {}), **row.get("params", {})} for row in rows]
    given += [{**_DEFAULTS.get(step["step"], {}), **step["params"]} for step in steps]
    given += [{"window": _UNLIMITED}] if any("history" in row for row in rows) else []
    for name, packed in {name: value for each in given for name, value in each.items()}.items():
        kind = "whole" if isinstance(packed, int) else "real" if is_numbers(packed) else "map"
        is_known = kind == "whole" or isinstance(packed, dict)
        for says, change, sizes in _PERTURBED[kind] if is_known else ():
            for size, absent in product(sizes, (None, _UNLIMITED)[: 1 + (name == "window")]):
                changed = partial(
                    _with_parameter, name, partial(change, size), type(packed), absent=absent
                )
                yield Misreading(f"{named(says.format(size, name=name))}{VARIANT}{absent}", changed)


def _with_parameter(
    name: str,
    change: Callable[[Any, int], Any],
    kind: type,
    asked: Asked,
    absent: int | None = None,
) -> Row:
    """Return a question whose parameter of this name and type is another one.

    Penalties of the standard profile without it have the `absent` one.
    """
    row, is_history = asked.row, name in {"window", "skipped"}
    count = len(row.get("history") or []) if is_history else tokens_of([row])

    def changed(op: str, params: Row) -> Row:
        packed = {**_DEFAULTS.get(op, {}), **params}.get(name)
        if packed is None and "penalt" in op and asked.profile == STANDARD:
            packed = absent
        if not isinstance(packed, kind) or isinstance(packed, bool):
            return params
        if not isinstance(packed, dict):
            number = change(packed, count)
            rest = {each: value for each, value in params.items() if each != name}
            return rest if number is None else {**rest, name: number}
        if "map" in packed:
            return {**params, name: {"map": change(packed["map"], count)}}
        (number,) = unpack(packed)
        other = min(change(number, count), float_info.max)  # no rule allows an infinite number
        return params if other == number else {**params, name: pack([other], "f64")}

    if "steps" in row:
        steps = [
            {**each, "params": changed(each["step"], each["params"])}
            if isinstance(each, dict)
            else each
            for each in row["steps"]
        ]
        return {"steps": steps}
    return {"params": changed(asked.op, row["params"])} if "params" in row else {}


def _without_each(size: int, asked: Asked) -> Row:
    """Return a history without the last of each `size` tokens, and windows that end as before."""
    history = asked.row.get("history") or []
    kept = [at for at in range(len(history)) if at % size != size - 1]
    if len(kept) == len(history):
        return {}

    def window(number: int, _: int) -> int:
        return sum(at >= len(history) - number for at in kept)

    return {
        **_with_parameter("window", window, int, asked),
        "history": [history[at] for at in kept],
        "prompt_length": sum(at < asked.row["prompt_length"] for at in kept),
    }


# ---- masks


def _with_masks(misread: Allowed, asked: Asked) -> Row:
    """Return masks that are misread."""
    if asked.op not in {"token_mask", "steps"}:
        return {}
    row, size = asked.row, len(asked.numbers)

    def changed(params: Row) -> Row:
        rest = {"vocab_size": params["vocab_size"]} if "vocab_size" in params else {}
        if params.keys() == rest.keys():
            return params
        found = misread(allowed_of(params, size), rest.get("vocab_size", size))
        return {**rest, "words": words_of(found, size)}

    if asked.op == "token_mask":
        return {"params": changed(row["params"])}
    pairs = [(step, step["step"] == "token_mask") for step in row["steps"]]
    return {
        "steps": [{**s, "params": changed(s["params"])} if is_mask else s for s, is_mask in pairs]
    }


def allowed_of(packed: Row, size: int) -> set[int]:
    """Return the tokens that a mask allows."""
    params = unpack_parameters(packed)
    count = params.get("vocab_size", size)
    if "tokens" in params:
        return {*params["tokens"]}
    given = params.get("booleans", params.get("words"))
    if given is None:
        return {*range(count)}
    pairs = [*(given.items() if isinstance(given, dict) else enumerate(given))]
    if "booleans" in params:
        return {at for at, each in pairs if each is True}
    last = 31 if params.get("bits") == "high first" else 0
    return {32 * at + (bit ^ last) for at, word in pairs for bit in range(32) if word >> bit & 1}


def words_of(allowed: Iterable[int], size: int) -> list[int]:
    """Return a mask, in words of 32 bits, that allows these tokens of a row."""
    words = [0] * -(-size // 32)
    for token in allowed:
        if token < 32 * len(words):
            words[token // 32] |= 1 << token % 32
    return words


def _filters_of_question(asked: Asked) -> Row:
    """Return steps whose filters, now masks, allow what they keep of the question's logits."""
    if not is_fused(asked):
        return {}

    def as_mask(step: Row) -> Row:
        row = asked.after(step, asked.numbers)
        allowed = (token for token, number in enumerate(row) if number != -inf)
        return {"step": "token_mask", "params": {"words": words_of(allowed, len(row))}}

    steps = asked.row["steps"]
    return {"steps": [as_mask(step) if step["step"] in FILTER_OPS else step for step in steps]}


# ---- numbers


ROUNDED: Final[Mapping[str, Callable[[float], float]]] = {
    "random numbers truncated to bfloat16": lambda number: truncated(number, 16),
    "random numbers rounded to bfloat16": lambda number: nearest(number, "bf16"),
    "random numbers rounded to binary16": lambda number: nearest(number, "f16"),
    "random numbers rounded to binary32": lambda number: nearest(number, "f32"),
    "random numbers cut off after 16 bits": lambda number: floor(number * 2.0**16) / 2.0**16,
    "1 - u for the random number u": lambda number: 1 - number,
}


def _with_rounded(rounded: Callable[[float], float], asked: Asked) -> Row:
    name = "draw" if asked.op == "steps" else "uniforms"
    if name not in asked.row or asked.op == "uniforms":
        return {}
    numbers = unpack(asked.row[name])
    changed = [min(rounded(number), BELOW_1) for number in numbers]
    return {name: pack(changed, "f64")} if changed != numbers else {}


_Numbers: TypeAlias = Callable[[Sequence[float]], Sequence[float]]
"""Returns the random numbers that a program uses, given those of all drafts and the last one."""


def _drafts_with(used: _Numbers, asked: Asked) -> Row:
    """Return other random numbers of drafts, and of the token behind them."""
    count = len(asked.row.get("tokens", ())) if asked.op.startswith("speculative") else 0
    numbers = unpack(asked.row["uniforms"]) if count else []
    if len(numbers) != count + 1:
        return {}
    changed = [min(number, BELOW_1) for number in used(numbers)]
    return {"uniforms": pack(changed, "f64")} if changed != numbers else {}


_DRAFTED: Final[Mapping[str, _Numbers]] = {
    "one random number for all drafts": lambda u: [*[u[0]] * (len(u) - 1), u[-1]],
    "drafts that are judged with the random number of the next draft": lambda u: [
        *u[1:-1],
        *u[-2:],
    ],
    "drafts that are accepted only if p >= q": lambda u: [*[BELOW_1] * (len(u) - 1), u[-1]],
    "the first draft's random number behind the drafts": lambda u: [*u[:-1], u[0]],
    "1 - u for the number u behind the drafts": lambda u: [*u[:-1], 1 - u[-1]],
    "a token behind drafts whose sum only reaches the number": lambda u: [
        *u[:-1],
        nextafter(u[-1], 0.0),
    ],
}


def _last_draft_row(asked: Asked) -> Row:
    """Return the last row of the drafts for the target row behind them."""
    if asked.op != "speculative" or not asked.row["draft"]:
        return {}
    return {"target": [*asked.row["target"][:-1], asked.row["draft"][-1]]}


def _loaded(types: Container[str], change: Callable[[Type, float], float], asked: Asked) -> Row:
    """Return rows of these types with other numbers, given their type and each number."""
    rows = {part: asked.row[part] for part in ("logits", "probs") if part in asked.row}
    return {
        part: pack([nearest(change(dtype, n), dtype) for n in unpack(row)], dtype)
        for part, row in rows.items()
        if (dtype := type_of(row)) in types
    }


def _flushed(has_sign: bool, dtype: Type, number: float) -> float:
    is_none = abs(number) < SMALLEST_NORMAL[dtype]
    return (copysign(0.0, number) if has_sign else 0.0) if is_none else number


def _taken_for_logits(asked: Asked) -> Row:
    is_taken = "probs" in asked.row and asked.op != "top_k"  # where only impossible tokens differ
    weights = unpack(asked.row["probs"]) if is_taken else ()
    return {"probs": pack([exp(min(p, 700.0)) for p in weights], "f64")} if weights else {}


Places: TypeAlias = Callable[[int], Sequence[int]]
"""Returns which numbers of a row are read, of which -1 is impossible, -2 is 0 and -3 is minus
infinity, given how many it has."""


def _without_end(size: int, count: int) -> list[int]:
    return [at if at < (count // size * size or count) else -1 for at in range(count)]


def _without_ends(size: int, lost: int, first: int, count: int) -> list[int]:
    return [at if at < first or at % size < size - lost else -1 for at in range(count)]


def _read(places: Places, asked: Asked) -> Row:
    """Return a row of which other numbers are read."""
    part = next((part for part in ("probs", "logits") if part in asked.row), "")
    none = 0.0 if part == "probs" else -inf
    numbers = [*unpack(asked.row[part]), -inf, 0.0, none] if part else []
    row = [numbers[at] for at in places(len(numbers) - 3)]
    return {part: pack(row, type_of(asked.row[part]))} if row != numbers[:-3] else {}


def _without_tail(read: int, asked: Asked) -> Row:
    """Return a row that is read by 16 bytes, with another number (0: one before) for the rest."""
    row = asked.row.get("probs") or asked.row.get("logits")
    whole = {"f64": 2, "f32": 4}.get(type_of(row), 8) if row else 1

    def places(count: int) -> list[int]:
        end = count // whole * whole
        return [at if at < end else read or at - whole * (end > 0) for at in range(count)]

    return _read(places, asked)


def _without_last(size: int, is_summed: bool, asked: Asked) -> Row:
    """Return a row whose last block is impossible if it is incomplete, or is only summed."""
    row = _read(partial(_without_end, size), asked)
    if not row or not is_summed or asked.op != "top_p":
        return row
    rest = asked.sums[len(asked.weights) // size * size]
    return {**row, "params": _with_p(asked.row["params"], asked.sums[-1] / rest if rest else inf)}


def _padded(size: int, asked: Asked) -> Row:
    """Return a history with token 0 behind it, to a multiple of a size, also behind windows."""
    history = asked.row.get("history") or []
    more = -len(history) % size
    if not more:
        return {}
    wider = _with_parameter("window", lambda window, _: window + more, int, asked)
    return {**wider, "history": [*history, *[0] * more]}


QUESTIONS: Final[Mapping[str, Change]] = {
    "probabilities that are taken for logits": _taken_for_logits,
    **{
        f"the last block of 16 bytes, if it is incomplete, {says}": partial(_without_tail, read)
        for says, read in (
            ("left out", -1),
            (f"left out{VARIANT}", -3),
            ("read as 0", -2),
            ("read from the block before", 0),
        )
    },
    **{
        f"the last block of {size:,} tokens, if it is incomplete, left out{VARIANT}{is_summed}": (
            partial(_without_last, size, is_summed)
        )
        for size in (4, 8, 16, 32, 64, 128, 256, 512, 1024)
        for is_summed in (False, True)
    },
    **{
        f"the last {says} of each block of {size:,} left out{VARIANT}{first}": partial(
            _read, partial(_without_ends, size, lost, first)
        )
        for size in (256, 512, 1024)
        for says, lost in (("token", 1), ("32 tokens", 32))
        for first in (0, size)  # where it begins
    },
    "a draw by the sum of the weights before the last step": partial(_early, -2),
    "a draw by the sum of the weights before all steps": partial(_early, 0),
    **{
        f"p as a share of all tokens, also of those removed before{VARIANT}{is_first}": (
            partial(_p_of_all, is_first)
        )
        for is_first in (True, False)
    },
    "filters that see the logits of the question": _filters_of_question,
    **{says: partial(_by_sum, summed) for says, summed in OF_SUMS.items()},
    **{
        f"the largest number of {says.format(size)}": partial(_partial_maximum, part, size)
        for says, part in _PARTS.items()
        for size in (4, 8, 16, 32, 64, 128, 256, 512, 1024)
    },
    **{
        says: partial(_recounted, counted, says in _COUNTED) for says, counted in _HISTORIES.items()
    },
    **{
        f"a history padded with token 0 to a multiple of {n}": partial(_padded, n)
        for n in (2, 4, 8, 16, 32, 64)
    },
    **{
        f"a history without the last of each {n} tokens": partial(_without_each, n)
        for n in (32, 64, 128, 256)
    },
    **{f"masks of which {says}": partial(_with_masks, misread) for says, misread in MASKS.items()},
    **{says: partial(_drafts_with, used) for says, used in _DRAFTED.items()},
    "the last row of drafts for the target row behind them": _last_draft_row,
    **{says: partial(_with_rounded, rounded) for says, rounded in ROUNDED.items()},
    **{
        f"0 for subnormal numbers of rows{says}": partial(_loaded, types, partial(_flushed, sign))
        for says, sign in ((VARIANT, True), (", and for -0", False))
        for says, types in (
            (says, SMALLEST_NORMAL),
            *((f" in {dtype}{says}", {dtype}) for dtype in SMALLEST_NORMAL),
        )
    },
    **{
        f"numbers of the row rounded to bfloat16{VARIANT}{types}": partial(
            _loaded, types, lambda _, number: nearest(number, "bf16")
        )
        for types in (("f32",), ("f16",), ("f32", "f16"))
    },
}
"""Changed questions."""

# ---- other rows and other steps


def exchanged(op: str, rows: Sequence[Row]) -> Iterator[Misreading]:
    """Yield that each row has a part of another one, or that steps are others or in another order.

    For example, each row has the parameters of the next row, or one step is applied twice.
    """
    if len(rows) > 1:
        for part in dict.fromkeys(part for row in rows for part in _parts(row)):
            ways: list[Callable[..., Row]] = [partial(_with_parts, [part])]
            if part == "history":
                ways += [partial(_with_parts, [part, "prompt_length"]), _with_history_at]
            for at, ((other, place), change) in enumerate(product(OTHER_ROWS, ways)):
                yield Misreading(f"{part} of {other}{VARIANT}{at}", partial(change, place))
            for at, change in enumerate(ways):
                says = f"{part} of row n for the row at place n in memory{VARIANT}{at}"
                yield Misreading(says, partial(_by_place, change))
    steps = (name for row in rows for name, _ in _other_steps(row)) if op == "steps" else ()
    for name in dict.fromkeys(steps):
        yield Misreading(name, partial(_with_steps, name))


def _parts(row: Row) -> list[str]:
    steps = [step for step in row.get("steps", []) if isinstance(step, dict)]
    own, *others = (
        [name for name in each.get("params", ()) if name != "vocab_size"] for each in (row, *steps)
    )
    names = [name for each in others for name in each]
    names += own if len(own) > 1 else []  # a parameter alone is all of them
    return [*row, *(step["step"] for step in steps), *names]


def _with_parts(parts: Sequence[str], place: Callable[[int, int], int], asked: Asked) -> Row:
    """Return a row with parts, steps or parameters of another one."""
    other = asked.rows[place(asked.place, len(asked.rows))]

    def mixed(own: Row, others: Row) -> dict[str, Any]:
        return {**own, **{name: others[name] for name in parts if name in others}}

    found = mixed(asked.row, other)
    if "params" in found:
        found["params"] = mixed(found["params"], other["params"])
    if "steps" in found:
        twins = {step["step"]: step for step in other["steps"]}
        found["steps"] = [
            twin
            if twin["step"] in parts
            else {**step, "params": mixed(step["params"], twin["params"])}
            for step in found["steps"]
            for twin in [twins.get(step["step"], step)]
        ]
    if "prompt_length" in found:
        found["prompt_length"] = min(found["prompt_length"], len(found["history"] or []))
    return found


def _by_place(change: Callable[..., Row], asked: Asked) -> Row:
    """Return a row with the part of the row whose number is its place in memory."""
    return change(lambda row, _: asked.order[row], asked) if asked.order else {}


def _with_history_at(place: Callable[[int, int], int], asked: Asked) -> Row:
    """Return a history of the right length that begins where another row's does, in one buffer."""
    histories = [row.get("history") or [] for row in asked.rows]
    at = place(asked.place, len(histories))
    history = [token for each in histories[at:] for token in each][: len(histories[asked.place])]
    start = asked.row.get("prompt_length", 0)
    return {"history": history, "prompt_length": min(start, len(history))}


def _with_steps(name: str, asked: Asked) -> Row:
    steps = dict(_other_steps(asked.row)).get(name)
    return {} if steps is None else {"steps": steps}


def _other_steps(row: Row) -> Iterator[tuple[str, Sequence[Row]]]:
    """Yield what can be wrong about the order of steps, and the steps."""
    steps = row["steps"]
    yield "steps in the reverse order", steps[::-1]
    filters = [step for step in steps if step["step"] in FILTER_OPS]
    rest = [step for step in steps if step["step"] not in FILTER_OPS]
    if len(filters) > 1:
        fewer = [step for step in steps if step in rest or step is filters[0]]
        yield "steps without all filters but the first: what it keeps stays", fewer
    yield "steps with all filters in front", [*filters, *rest]
    late = [step for step in steps if step["step"] == "logit_bias" or "penalty" in step["step"]]
    yield (
        "steps with all penalties and biases at the end",
        [s for s in steps if s not in late] + late,
    )
    for least in range(2, min(len(steps), 4) + 1):  # some programs have two or three places
        yield f"steps without the last one{VARIANT}{least}", steps[:-1]
    for name in dict.fromkeys(step["step"] for step in steps):
        own = [step for step in steps if step["step"] == name]
        rest = [step for step in steps if step["step"] != name]
        yield f"steps with {name} at the end", [*rest, *own]
        yield f"steps with {name} in front", [*own, *rest]
        yield f"steps with {name} twice", [s for s in steps for _ in range(1 + (s in own))]
        if rest:
            yield f"steps without {name}", rest
        yield (
            f"steps without {name} unless it is the first",
            [step for at, step in enumerate(steps) if not at or step["step"] != name],
        )
    for at, (first, second) in enumerate(pairwise(steps)):
        if first["step"] != second["step"]:
            swapped = [*steps[:at], second, first, *steps[at + 2 :]]
            yield f"steps with {second['step']} before {first['step']}", swapped
