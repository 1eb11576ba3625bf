"""What a program answers if it misreads a question in a way that is frequent.

The reference answers again: with a sum of weights that is forgotten or lacks its last block, with
histories that are counted otherwise, with rounded random numbers, with a part of another row of the
batch, with steps in another order. A misreading is named if it gives the wrong answers, and if the
records that pass would still do so.

To add one, write a function of a question, `Change`, that returns the parts of the question or of
its right answer that become others, and give it a name in `_QUESTIONS` or `_ANSWERS`. It is called
only if it is wanted, because a row may have many tokens. Wrong sums and misread masks need only a
line in the tables of `mistakes`.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import accumulate, pairwise, product
from math import copysign, exp, fsum, inf, isinf, log, log2
from operator import ne
from sys import float_info
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from sampling_ref import Use, chain
from sampling_ref.random.philox import philox_block
from sampling_ref.speculative.shares import read_exactly, read_shares, token_at
from tokenref.answers import Answer, Ok
from tokenref.diagnosis import try_hint
from tokenref.diagnosis.mistakes import MASKS, NOT_RESCALED, OTHER_ROWS, SUMS, Allowed, Summed
from tokenref.diagnosis.signatures import Reference
from tokenref.floats import (
    SMALLEST_NORMAL,
    Type,
    cut_floats,
    from_digits,
    is_numbers,
    nearest,
    pack,
    to_digits,
    type_of,
    unpack,
)
from tokenref.questions.sampling import BatchInput, tokens_of, unpack_parameters
from tokenref.record import FILTER_OPS, Case, op_of
from tokenref.rules import STANDARD

MOST_AGAIN: Final = 100_000
"""The tokens of the largest question that is answered again."""

Row: TypeAlias = Mapping[str, Any]
"""A question, alone or in a batch."""

SUMMING: Final = frozenset({"softmax", "logprobs"})
"""Operations whose answers show a wrong sum at once."""

_BELOW_1: Final = 1 - 2.0**-53
"""The largest share and the largest random number."""


@dataclass
class _Asked:
    """A question about one row, and its right answer if that is misread."""

    op: str
    profile: str
    rows: Sequence[Row]
    """All rows of the batch."""

    place: int
    out: Row
    ask: Callable[[Row], Row | None]

    @property
    def row(self) -> Row:
        """The question."""
        return self.rows[self.place]

    @cached_property
    def weights(self) -> list[float]:
        """The weights of the row."""
        return unpack(self.row["probs"]) if "probs" in self.row else _weights(self.numbers)

    @cached_property
    def sums(self) -> list[float]:
        """The sums of the weights until each token."""
        return [0.0, *accumulate(self.weights)]

    @cached_property
    def falling(self) -> list[int]:
        """The possible tokens by falling weight."""
        weights = self.weights
        order = sorted(range(len(weights)), key=lambda token: (-weights[token], token))
        return [token for token in order if weights[token]]

    @cached_property
    def falling_sums(self) -> list[float]:
        """The sums of the falling weights."""
        return [*accumulate(self.weights[token] for token in self.falling)]

    @cached_property
    def is_plain(self) -> bool:
        """Whether a sum decides which tokens top-p keeps, or which one is drawn."""
        row, params = self.row, unpack_parameters(self.row.get("params", {}))
        if self.profile != STANDARD or self.op not in {"top_p", "draw"}:
            return False
        if self.op == "top_p":
            return params.keys() <= {"p", "least"} and params.get("p", 1) < 1 and "keep" in self.out
        return not {"count", "order"} & row.keys() and len(unpack(row["uniforms"])) == 1

    @cached_property
    def share(self) -> float:
        """The share of the sum that is enough to keep or draw a token, if the question is plain."""
        if self.op == "draw":
            return unpack(self.row["uniforms"])[0]
        return float(unpack_parameters(self.row["params"])["p"])

    @cached_property
    def numbers(self) -> list[float]:
        """The logits of the row."""
        return unpack(self.row["logits"])

    @cached_property
    def left(self) -> Sequence[Sequence[float]]:
        """The weights that the first steps leave, for each number of steps."""
        rows: list[Sequence[float]] = [self.numbers]
        for step in self.row["steps"]:
            rows.append(self.after(step, rows[-1]))
        return [*map(_weights, rows)]

    def after(self, step: Row, numbers: Sequence[float]) -> Sequence[float]:
        """Return what a step makes of logits."""
        use = Use(step["step"], **unpack_parameters(step["params"]))
        history, start = self.row["history"], self.row["prompt_length"]
        return chain([use], numbers, history, prompt_length=start).row

    @cached_property
    def wide(self) -> Row:
        """The answer in 64 bits to a row of numbers of 16 bits, or nothing."""
        return self.ask({**self.row, "logits": pack(self.numbers, "f64")}) or {}


Change: TypeAlias = Callable[[_Asked], Row]
"""Return the parts of a question, or of its answer, that change; nothing if none does."""


class Misreading(NamedTuple):
    """A way to misread questions."""

    name: str
    change: Change
    is_question: bool = True
    """Whether the question changes, and not the answer."""


Misreadings: TypeAlias = Callable[[str, Sequence[Row]], Iterable[Misreading]]
"""Returns ways to misread questions, given their operation and rows."""


def misread(
    case: Case,
    reference: Reference,
    ways: Misreadings,
    only: Container[str] | None = None,
    most: int = MOST_AGAIN,
) -> Iterator[tuple[str, Answer, int]]:
    """Yield how a program may misread a question, its answer if it is another one then, and more.

    The third part is the number of rows whose answers differ. With `only`, nothing else is
    answered. A question of more than `most` tokens is left out.
    """
    question, rows = _rows_of(case)
    is_batch = isinstance(case.input, BatchInput)
    op = question["op"] if is_batch else op_of(case)
    if tokens_of(rows) > most:
        return

    def ask(rows: Sequence[Row]) -> Answer:
        return reference(case, {**question, "rows": rows} if is_batch else rows[0])

    def ask_one(row: Row) -> Row | None:
        answer = ask([row])
        return outs_of(answer)[0] if isinstance(answer, Ok) else None

    def outs_of(answer: Ok) -> Sequence[Row]:
        return answer.out["rows"] if is_batch else [answer.out]

    right = ask(rows)
    outs = outs_of(right) if isinstance(right, Ok) else []
    asked = [
        _Asked(op, case.profile, rows, at % len(rows), out, ask_one) for at, out in enumerate(outs)
    ]
    known: list[tuple[Sequence[Row], Answer]] = [(rows, right)]
    for way in ways(op, rows) if asked else ():
        is_other = way.name.startswith(NOT_RESCALED) and "probs" in rows[0]  # without a maximum
        if is_other or (only is not None and way.name not in only):
            continue
        if way.is_question:
            changed = [{**each.row, **_changed(way, each)} for each in asked[: len(rows)]]
            answer = next((answer for asked, answer in known if asked == changed), None)
            if answer is None:
                answer = ask(changed)
                known.append((changed, answer))
        else:
            wrong = [{**each.out, **_changed(way, each)} for each in asked]
            answer = Ok({"rows": wrong} if is_batch else wrong[0])
        if answer != right:
            differ = sum(map(ne, outs, outs_of(answer))) if isinstance(answer, Ok) else len(outs)
            yield way.name, answer, differ


def _changed(way: Misreading, asked: _Asked) -> Row:
    return try_hint(lambda: way.change(asked)) or {}


def _rows_of(case: Case) -> tuple[dict[str, Any], Sequence[Row]]:
    """Return a question and its rows without padding."""
    question = msgspec.to_builtins(case.input)
    if not isinstance(case.input, BatchInput):
        return question, [question]
    rows = question["rows"]
    if size := question.pop("vocab_size", None):
        question.pop("layout", None)
        cut = ({"logits": cut_floats(r["logits"], size)} if "logits" in r else {} for r in rows)
        rows = [{**row, **each} for row, each in zip(rows, cut, strict=True)]
    return question, rows


# ---- the sum of the weights


def _weights(row: Sequence[float]) -> list[float]:
    largest = max(row)
    return [exp(logit - largest) for logit in row]


def _share(summed: Summed, weights: Sequence[float]) -> float:
    return summed(weights, [0.0, *accumulate(weights)]) / fsum(weights)


def _by_sum(summed: Summed, asked: _Asked) -> Row:
    """Return a share or a random number that has the effect of another sum."""
    row = asked.row
    if asked.op == "top_p" and not asked.is_plain:
        return {"params": _with_p(row["params"], _share(summed, asked.weights))}
    if not _is_fused(asked):
        return {}
    steps = [
        {**step, "params": _with_p(step["params"], _share(summed, asked.left[at]))}
        if step["step"] == "top_p"
        else step
        for at, step in enumerate(row["steps"])
    ]
    draw = _smaller_draw(row, _share(summed, asked.left[-1])) if "draw" in row else {}
    return {"steps": steps, **draw}


def _with_sum(summed: Summed, asked: _Asked) -> Row:
    """Return what is kept or drawn by another sum, which is fast also for long rows."""
    if not asked.is_plain:
        return {}
    enough = asked.share * summed(asked.weights, asked.sums)
    if asked.op == "draw":
        return _reached(asked, bisect_right(asked.sums, enough))
    return _reached(asked, bisect_left(asked.falling_sums, enough) + 1)


def _reached(asked: _Asked, count: int) -> Row:
    """Return what is kept or drawn if this many tokens have a sum that is enough."""
    if asked.op == "draw":
        return {"token": min(count - 1, max(asked.falling))}
    least = unpack_parameters(asked.row["params"]).get("least", 1)
    return {"keep": sorted(asked.falling[: max(count, least)])}


def changes_sum(says: str, case: Case) -> bool:
    """Return whether a wrong sum of weights would show in the numbers of a question's answer."""
    rows = [row for row in _rows_of(case)[1] if "logits" in row]
    weights = (_weights(unpack(row["logits"])) for row in rows)
    return any(abs(_share(SUMS[says], each) - 1) > _SHOWN for each in weights)


_SHOWN: Final = 0.01
"""How much a sum must differ for its effect to show whatever the type of numbers."""


def _early(place: int, asked: _Asked) -> Row:
    """Return a random number for the sum before a step."""
    if not _is_fused(asked) or "draw" not in asked.row:
        return {}
    return _smaller_draw(asked.row, fsum(asked.left[place]) / fsum(asked.left[-1]))


def _smaller_draw(row: Row, factor: float) -> Row:
    (number,) = unpack(row["draw"])
    return {"draw": pack([min(number * factor, _BELOW_1)], "f64")}


def _with_p(params: Row, factor: float) -> Row:
    """Return parameters whose p, if it has this name, is a share of another sum."""
    p = unpack_parameters(params).get("p", 1)
    return {**params, "p": pack([min(p * factor, _BELOW_1)], "f64")} if p < 1 else params


Part: TypeAlias = Callable[[int, Sequence[float]], Sequence[float]]
"""Returns a part of weights, given the size of blocks."""

_PARTS: Final[Mapping[str, Part]] = {
    "whole blocks of {:,} tokens": lambda size, weights: weights[: len(weights) // size * size],
    "the first {:,} tokens": lambda size, weights: weights[:size],
    "the last block of {:,} tokens": (
        lambda size, weights: weights[(len(weights) - 1) // size * size :]
    ),
}


def _partial_maximum(part: Part, size: int, asked: _Asked) -> Row:
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


_LONG: Final = (64, 256, 1024, 4096)

_COUNTED: Final[Mapping[str, Callable[[Tokens], Tokens]]] = {
    "each token counted once": partial(_at_most, 1),
    **{f"each token counted once in {n} tokens": partial(_once_in, n) for n in (32, 64, 128, 256)},
    "counts of repeated tokens that are too small by 1": _one_less,
    **{f"counts that end at {most}": partial(_at_most, most) for most in (127, 255)},
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


def _recounted(counted: Callable[[Tokens, Tokens], tuple[Tokens, Tokens]], asked: _Asked) -> Row:
    history = asked.row.get("history")
    if not history:
        return {}
    start = asked.row["prompt_length"]
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
            lambda n, number, count: number % n or count,
            _NARROW_ENDS,
        ),  # 0 leaves it out
        ("{name} modulo {:,}, and at least 1", lambda n, number, _: number % n or 1, _NARROW_ENDS),
        (
            "{name} of at most the number of tokens less {}",
            lambda by, number, count: min(number, max(count - by, 1)),
            (1,),
        ),
        ("{name} of at most {:,}", lambda n, number, _: min(number, n), _MOST),
    ),
    "real": (
        ("{name} rounded to {}", lambda dtype, number, _: nearest(number, dtype), ("f16", "bf16")),
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
            (65_536,),
        ),
        ("the first {:,} {name}", lambda n, pairs, _: pairs[:n], _MOST),
    ),
}
"""What programs make of a whole number, of another one and of numbers for tokens, given these and
the number of all tokens, each with some sizes or types."""

_DEFAULTS: Final[Mapping[str, Row]] = {"penalties": {"window": 64}}
"""Whole numbers of operations that need not be given."""


def _perturbed(op: str, rows: Sequence[Row]) -> Iterator["Misreading"]:
    """Yield that one parameter, alone or of a step, is another one."""
    steps = (step for row in rows for step in row.get("steps", ()) if isinstance(step, dict))
    given = [{**_DEFAULTS.get(op, {}), **row.get("params", {})} for row in rows]
    given += [{**_DEFAULTS.get(step["step"], {}), **step["params"]} for step in steps]
    for name, packed in {name: value for each in given for name, value in each.items()}.items():
        kind = "whole" if isinstance(packed, int) else "real" if is_numbers(packed) else "map"
        is_known = kind == "whole" or isinstance(packed, dict)
        for says, change, sizes in _PERTURBED[kind] if is_known else ():
            for size in sizes:
                changed = partial(_with_parameter, name, partial(change, size), type(packed))
                yield Misreading(_name(says.format(size, name=name)), changed)


def _with_parameter(name: str, change: Callable[[Any, int], Any], kind: type, asked: _Asked) -> Row:
    """Return a question whose parameter of this name and type is another one."""
    row, count = asked.row, tokens_of([asked.row])

    def changed(op: str, params: Row) -> Row:
        packed = {**_DEFAULTS.get(op, {}), **params}.get(name)
        if not isinstance(packed, kind) or isinstance(packed, bool):
            return params
        if not isinstance(packed, dict):
            return {**params, name: change(packed, count)}
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


def _without_each(size: int, asked: _Asked) -> Row:
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


def _with_masks(misread: Allowed, asked: _Asked) -> Row:
    """Return masks that are misread."""
    if asked.op not in {"token_mask", "steps"}:
        return {}
    row, size = asked.row, len(asked.numbers)

    def changed(params: Row) -> Row:
        rest = {"vocab_size": params["vocab_size"]} if "vocab_size" in params else {}
        if params.keys() == rest.keys():
            return params
        found = misread(_allowed_of(params, size), rest.get("vocab_size", size))
        return {**rest, "words": _words(found, size)}

    if asked.op == "token_mask":
        return {"params": changed(row["params"])}
    pairs = [(step, step["step"] == "token_mask") for step in row["steps"]]
    return {
        "steps": [{**s, "params": changed(s["params"])} if is_mask else s for s, is_mask in pairs]
    }


def _without_vocab_size(asked: _Asked) -> Row:
    """Return steps whose masks allow tokens behind the vocabulary, too."""
    steps = asked.row["steps"] if asked.op == "steps" else ()
    every = {"words": _words(range(len(asked.numbers)), len(asked.numbers))} if steps else {}
    short = [step for step in steps if "vocab_size" in step["params"]]

    def longer(params: Row) -> Row:
        return {name: part for name, part in params.items() if name != "vocab_size"} or every

    changed = [{**s, "params": longer(s["params"])} if s in short else s for s in steps]
    return {"steps": changed} if short else {}


def _allowed_of(packed: Row, size: int) -> set[int]:
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


def _words(allowed: Iterable[int], size: int) -> list[int]:
    words = [0] * -(-size // 32)
    for token in allowed:
        if token < 32 * len(words):
            words[token // 32] |= 1 << token % 32
    return words


def _with_finite_masks(asked: _Asked) -> Row:
    """Return what is left if masks make the numbers of banned tokens -1e9."""
    if not _is_fused(asked):
        return {}
    row = asked.numbers
    for step in asked.row["steps"]:
        allowed = _allowed_of(step["params"], len(row)) if step["step"] == "token_mask" else None
        if allowed is None:
            row = [*asked.after(step, row)]
        else:
            row = [number if token in allowed else -1e9 for token, number in enumerate(row)]
    keep = [token for token, number in enumerate(row) if number != -inf]
    return {"keep": keep, **_drawn(asked, keep, _weights(row))}


# ---- fused steps


def _is_fused(asked: _Asked) -> bool:
    """Return whether a question has steps that can be applied here, none of which is a function."""
    return asked.op == "steps" and all(
        step["step"] != "prefix_allowed_tokens" for step in asked.row["steps"]
    )


def _drawn(asked: _Asked, order: Sequence[int], weights: Sequence[float]) -> Row:
    """Return the token that a question's number draws by weights of tokens in an order."""
    if not _is_fused(asked) or "draw" not in asked.row:
        return {}
    sums = [*accumulate(weights[token] for token in order)]
    (number,) = unpack(asked.row["draw"])
    return {"token": order[min(bisect_right(sums, number * sums[-1]), len(order) - 1)]}


def _from_question(asked: _Asked) -> Row:
    return _drawn(asked, asked.out["keep"], asked.weights) if _is_fused(asked) else {}


def _from_sorted(asked: _Asked) -> Row:
    if not _is_fused(asked):
        return {}
    weights = asked.left[-1]
    order = sorted(asked.out["keep"], key=lambda token: (-weights[token], token))
    return _drawn(asked, order, weights)


def _filters_of_question(asked: _Asked) -> Row:
    """Return steps whose filters, now masks, allow what they keep of the question's logits."""
    if not _is_fused(asked):
        return {}

    def as_mask(step: Row) -> Row:
        row = asked.after(step, asked.numbers)
        allowed = (token for token, number in enumerate(row) if number != -inf)
        return {"step": "token_mask", "params": {"words": _words(allowed, len(row))}}

    steps = asked.row["steps"]
    return {"steps": [as_mask(step) if step["step"] in FILTER_OPS else step for step in steps]}


# ---- numbers


def _truncated(number: float) -> float:
    return from_digits(to_digits([nearest(number, "f32")], "f32")[:4] + "0000", "f32")[0]


_ROUNDED: Final[Mapping[str, Callable[[float], float]]] = {
    "random numbers truncated to bfloat16": _truncated,
    "random numbers rounded to bfloat16": lambda number: nearest(number, "bf16"),
    "random numbers rounded to binary16": lambda number: nearest(number, "f16"),
    "random numbers rounded to binary32": lambda number: nearest(number, "f32"),
}


def _with_rounded(rounded: Callable[[float], float], asked: _Asked) -> Row:
    name = "draw" if asked.op == "steps" else "uniforms"
    if name not in asked.row or asked.op == "uniforms":
        return {}
    numbers = unpack(asked.row[name])
    changed = [min(rounded(number), _BELOW_1) for number in numbers]
    return {name: pack(changed, "f64")} if changed != numbers else {}


def _one_coin(asked: _Asked) -> Row:
    """Return the first random number for all drafts."""
    count = len(asked.row.get("tokens", ())) if asked.op.startswith("speculative") else 0
    if not count or not (uniforms := unpack(asked.row["uniforms"])):
        return {}
    return {"uniforms": pack([*uniforms[:1] * count, *uniforms[count:]], "f64")}


def _flushed(dtype: Type, asked: _Asked) -> Row:
    """Return rows without subnormal numbers."""
    return {
        part: pack(_normal(unpack(asked.row[part]), dtype), dtype)
        for part in ("logits", "probs")
        if part in asked.row and type_of(asked.row[part]) == dtype
    }


def _normal(numbers: Sequence[float], dtype: Type) -> list[float]:
    return [copysign(0.0, n) if abs(n) < SMALLEST_NORMAL[dtype] else n for n in numbers]


def _name(says: str) -> str:
    return says if says in SUMS else f"answers with {says}"


_OF_SUMS: Final[Mapping[str, Summed]] = {
    "p or a random number that is not multiplied by the sum": lambda _, __: 1.0,
    **SUMS,
}

_QUESTIONS: Final[Mapping[str, Change]] = {
    "a draw by the sum of the weights before the last step": partial(_early, -2),
    "a draw by the sum of the weights before all steps": partial(_early, 0),
    "filters that see the logits of the question": _filters_of_question,
    **{says: partial(_by_sum, summed) for says, summed in _OF_SUMS.items()},
    **{
        f"the largest number of {says.format(size)}": partial(_partial_maximum, part, size)
        for says, part in _PARTS.items()
        for size in (4, 8, 16, 32, 64, 128, 256, 512, 1024)
    },
    **{says: partial(_recounted, counted) for says, counted in _HISTORIES.items()},
    **{
        f"a history without the last of each {n} tokens": partial(_without_each, n)
        for n in (32, 64, 128, 256)
    },
    **{f"masks of which {says}": partial(_with_masks, misread) for says, misread in MASKS.items()},
    "masks without their vocab_size": _without_vocab_size,
    "one random number for all drafts": _one_coin,
    **{says: partial(_with_rounded, rounded) for says, rounded in _ROUNDED.items()},
    **{
        f"0 for subnormal numbers of rows in {dtype}": partial(_flushed, dtype)
        for dtype in SMALLEST_NORMAL
    },
}
"""Changed questions."""


# ---- changed answers


def _zero_for_zero(asked: _Asked) -> Row:
    number = asked.row.get("draw" if asked.op == "steps" else "uniforms")
    is_zero = "token" in asked.out and number is not None and unpack(number) == [0.0]
    return {"token": 0} if is_zero else {}


def _all_for_zero(asked: _Asked) -> Row:
    if asked.op != "min_p" or unpack_parameters(asked.row["params"]).get("m") != 0:
        return {}
    return {"keep": [*range(len(asked.weights))]}


def _logarithms(asked: _Asked) -> Row:
    if asked.op != "logprobs":
        return {}
    dtype = type_of(asked.out["logprobs"])
    wide: Type = "f64" if dtype == "f64" else "f32"
    shares = [nearest(exp(number), wide) for number in unpack(asked.out["logprobs"])]
    return {"logprobs": pack([nearest(log(n), dtype) if n else -inf for n in shares], dtype)}


def _part(asked: _Asked) -> str:
    """Return which part of an answer to logits has numbers, or nothing."""
    parts = (part for part in ("logits", "probs", "logprobs") if part in asked.out)
    return next(parts, "") if "logits" in asked.row else ""


def _rounded_otherwise(
    types: Container[Type], rounded: Callable[[float, float, Type], float], asked: _Asked
) -> Row:
    """Return numbers of 16 bits that are rounded otherwise."""
    part = _part(asked)
    if not part or (dtype := type_of(asked.out[part])) not in types or part not in asked.wide:
        return {}
    exact = unpack(asked.wide[part])
    numbers = [n if isinf(n) else rounded(n, nearest(n, dtype), dtype) for n in exact]
    return {part: pack(numbers, dtype)}


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


_MOST_WORDS: Final = 256


def _without_carry(bits: int, asked: _Asked) -> Row:
    """Return words of counters whose lower half, or whose lowest word, is never carried over."""
    row = asked.row
    if asked.op != "random_words" or "counter" not in row or row["count"] > _MOST_WORDS:
        return {}
    counter, size = row["counter"], len(row["counter"])
    width, value = 4 * len(counter[0]), int("".join(reversed(counter)), 16)
    if bits not in {width, width * size // 2}:
        return {}
    words, end = list[Any](), 1 << bits
    for at in range(row["taken"], row["taken"] + row["count"]):
        moved = value // end * end + (value + at // size) % end
        digits = f"{moved:0{size * width // 4}x}"
        parts = [digits[i : i + width // 4] for i in range(0, len(digits), width // 4)][::-1]
        answer = asked.ask({**row, "counter": parts, "taken": at % size, "count": 1})
        words += answer["words"] if answer else []
    return {"words": words}


def _with_rounds(rounds: int, asked: _Asked) -> Row:
    """Return words of Philox with another number of rounds."""
    row = asked.row
    if (asked.op, asked.profile) != ("random_words", "philox4x32-10") or row["count"] > _MOST_WORDS:
        return {}
    blocks, skipped = divmod(row["taken"], 4)
    start = int("".join(reversed(row.get("counter", ["0"]))), 16) + blocks
    key, words = [int(word, 16) for word in row["key"]], list[int]()
    while len(words) < skipped + row["count"]:
        counter = [start + len(words) // 4 >> 32 * place & 2**32 - 1 for place in range(4)]
        words += philox_block(counter, key, rounds=rounds)
    return {"words": [f"{word:08x}" for word in words[skipped : skipped + row["count"]]]}


Carried: TypeAlias = Callable[[float, float, float], float]
"""Returns the sum at the beginning of a block, given those at the end and at the beginning of the
block before, and its last weight."""

_CARRIED: Final[Mapping[str, Carried]] = {
    "a sum that begins again in each block of": lambda *_: 0.0,
    "a sum that lacks the last token of each block of": lambda end, _, last: end - last,
    "a sum that begins with that of the block before alone, in blocks of": (
        lambda end, start, _: end - start
    ),
}


def _walked(size: int, carried: Carried, dtypes: Sequence[Type], asked: _Asked) -> Row:
    """Return what is kept or drawn if the running sum is another one.

    It is carried from block to block, and rounded to the type of the row if that is one of
    `dtypes`, or to the only one of them.
    """
    if not asked.is_plain:
        return {}
    order = asked.falling if asked.op == "top_p" else range(len(asked.weights))
    enough = asked.share * asked.sums[-1]
    own = type_of(asked.row.get("logits") or asked.row["probs"])
    dtype = dtypes[0] if len(dtypes) == 1 else own
    is_rounded = dtype in dtypes
    if size >= len(order) and not is_rounded:
        return {}
    total = start = last = 0.0
    for at, token in enumerate(order):
        if at and at % size == 0:
            total = start = carried(total, start, last)
        last = asked.weights[token]
        total = nearest(total + last, dtype) if is_rounded else total + last
        if total > enough or (total == enough and asked.op == "top_p"):
            return _reached(asked, at + 1)
    return _reached(asked, len(order))


def _least_probable(asked: _Asked) -> Row:
    """Return what top-p keeps if it begins with the least probable tokens, and the best ones."""
    if not asked.is_plain or asked.op != "top_p":
        return {}
    order = sorted(asked.falling, key=lambda token: (asked.weights[token], token))
    sums = [*accumulate(asked.weights[token] for token in order)]
    least = unpack_parameters(asked.row["params"]).get("least", 1)
    count = bisect_left(sums, asked.share * sums[-1]) + 1
    return {"keep": sorted({*order[:count], *asked.falling[:least]})}


def _typical(distance: Callable[[float, float], float], asked: _Asked) -> Row:
    """Return what typical filtering keeps by another distance of surprises from the entropy."""
    params = unpack_parameters(asked.row["params"]) if asked.op == "typical" else {}
    if params.keys() != {"mass"} or asked.profile != STANDARD or not 0 < params["mass"] < 1:
        return {}
    total = asked.sums[-1]
    surprise = {token: -log(asked.weights[token] / total) for token in asked.falling}
    entropy = fsum(asked.weights[token] / total * surprise[token] for token in asked.falling)
    far = {token: distance(each, entropy) for token, each in surprise.items()}
    order = sorted(far, key=lambda token: far[token])
    sums = [*accumulate(asked.weights[token] for token in order)]
    count = bisect_left(sums, params["mass"] * total) + 1
    last = far[order[min(count, len(order)) - 1]]
    return {"keep": sorted(token for token in order if far[token] <= last)}


def _with_log_of_sum(of_sum: Callable[[_Asked], float], asked: _Asked) -> Row:
    """Return probabilities or their logarithms with another logarithm of the sum."""
    part = _part(asked) if asked.op in SUMMING else ""
    if not part:
        return {}
    dtype, largest, less = type_of(asked.out[part]), max(asked.numbers), of_sum(asked)
    logs = [n if isinf(n) else n - largest - less for n in asked.numbers]
    exact = logs if part == "logprobs" else map(exp, logs)
    return {part: pack([n if isinf(n) else nearest(n, dtype) for n in exact], dtype)}


def _with_zeros(size: int, asked: _Asked) -> float:
    """Return the logarithm of a sum with logit 0 for the tokens that the last block lacks."""
    more = -len(asked.numbers) % size
    return log(fsum(asked.weights) + more * exp(min(-max(asked.numbers), 600.0)))


def _ties_in_blocks(size: int, asked: _Asked) -> Row:
    """Return what top-k keeps if equal tokens are counted anew in each block."""
    params = unpack_parameters(asked.row["params"]) if asked.op == "top_k" else {}
    if params.keys() != {"k"} or asked.profile != STANDARD or "keep" not in asked.out:
        return {}
    numbers = unpack(asked.row.get("logits") or asked.row["probs"])
    kept = asked.out["keep"]
    if not 0 < params["k"] == len(kept) or size >= len(numbers):
        return {}
    cut = min(numbers[token] for token in kept)
    most, seen, keep = sum(numbers[token] == cut for token in kept), Counter[int](), list[int]()
    for token, number in enumerate(numbers):
        if number > cut or (number == cut and seen[token // size] < most):
            seen[token // size] += number == cut
            keep.append(token)
    return {"keep": keep}


def _searched(halvings: int, asked: _Asked) -> Row:
    """Return what top-p keeps if a few halvings search the smallest weight that stays."""
    params = unpack_parameters(asked.row["params"]) if asked.op == "top_p" else {}
    if not asked.is_plain or params.keys() != {"p"}:
        return {}
    weights, sums = asked.weights, [0.0, *asked.falling_sums]
    rising, enough = [-weights[token] for token in asked.falling], asked.share * sums[-1]
    low, high = 0.0, -rising[0]
    for _ in range(halvings):
        middle = (low + high) / 2
        is_enough = sums[bisect_right(rising, -middle)] >= enough
        low, high = (middle, high) if is_enough else (low, middle)
    return {"keep": [token for token, weight in enumerate(weights) if weight and weight >= low]}


def _narrow_sum(asked: _Asked) -> Row:
    """Return the answer to a row of 16 bits with a sum that is rounded after each addition."""
    part = _part(asked) if asked.op in SUMMING else ""
    if not part or (dtype := type_of(asked.out[part])) not in _NARROW:
        return {}
    total, largest = 0.0, max(asked.numbers)
    for weight in asked.weights:
        total = nearest(total + weight, dtype)
    if part == "probs":
        return {part: pack([nearest(weight / total, dtype) for weight in asked.weights], dtype)}
    of_sum = log(total)
    logs = [n if isinf(n) else nearest(n - largest - of_sum, dtype) for n in asked.numbers]
    return {part: pack(logs, dtype)}


_NARROW: Final = ("f16", "bf16")


# ---- drafts


def _speculated(change: Callable[["_Drafts"], Sequence[int]], asked: _Asked) -> Row:
    """Return what a program may make of drafts."""
    row = asked.row
    if asked.op != "speculative" or asked.profile != STANDARD or row["params"]:
        return {}
    if not row["tokens"] or len(row["draft"]) != len(row["tokens"]):
        return {}
    drafts = _Drafts(row)
    return drafts.answer(*change(drafts))


class _Drafts:
    """The shares of drafts, and which of them are accepted."""

    def __init__(self, row: Row) -> None:
        self.tokens = row["tokens"]
        self._p, self._q = (
            [read_shares(unpack(each)) for each in row[name]] for name in ("target", "draft")
        )
        self._u = read_exactly(unpack(row["uniforms"]), len(self.tokens) + 1)

    def accepted(self, *, divided: bool) -> int:
        """Return how many drafts are accepted if u < p / q, or if u < p."""
        shares = zip(self._u, self._p, self._q, self.tokens, strict=False)
        rejected = [u * (q[token] if divided else 1) >= p[token] for u, p, q, token in shares]
        return [*rejected, True].index(True)

    def answer(self, accepted: int, draft: int, target: int | None = None, number: int = -1) -> Row:
        """Return the answer with this many drafts accepted and a residual of one of their rows.

        It is of a target row, by default that behind the accepted drafts, and drawn with a random
        number, by default the last one. Without a draft's row (-1), the target row is drawn from.
        """
        row = self._p[accepted if target is None else target]
        if accepted < len(self.tokens) and draft >= 0:
            left = [max(a - b, Fraction(0)) for a, b in zip(row, self._q[draft], strict=True)]
            if not any(left):
                return {}
            row = [each / sum(left) for each in left]
        token = token_at(row, self._u[number])
        return {"accepted": accepted, "tokens": [*self.tokens[:accepted], token]}


def _by_p(drafts: _Drafts) -> tuple[int, int]:
    return (drafts.accepted(divided=False),) * 2


def _residual_of(place: Callable[[int, int], int], drafts: _Drafts) -> tuple[int, int]:
    right = drafts.accepted(divided=True)
    return right, place(right, len(drafts.tokens) - 1)


def _rejected(target: int, number: int | None, drafts: _Drafts) -> Sequence[int]:
    """Return a residual of a target row behind the rejected one, drawn with another number."""
    right = drafts.accepted(divided=True)
    if right == len(drafts.tokens):
        return right, right
    return right, right, right + target, -1 if number is None else right + number


def _at_most_drafts(most: int, is_last: bool, drafts: _Drafts) -> Sequence[int]:
    """Return that at most so many drafts are accepted, and then a target row is drawn from."""
    right = drafts.accepted(divided=True)
    if right < most:
        return right, right
    return most, -1, len(drafts.tokens) if is_last else most


_TYPES: Final[Sequence[tuple[str, Sequence[Type]]]] = (
    ("f16", ("f16",)),
    ("bf16", ("bf16",)),
    ("16 bits", _NARROW),
)

_ANSWERS: Final[Mapping[str, Change]] = {
    "a finite number, as -1e9, for banned tokens, not -inf": _with_finite_masks,
    "a draw from the logits of the question": _from_question,
    "a draw of any token from the logits of the question": (
        lambda asked: (
            _drawn(asked, range(len(asked.weights)), asked.weights) if _is_fused(asked) else {}
        )
    ),
    "a draw along the tokens by falling weight, not by id": _from_sorted,
    "the least probable tokens until their sum reaches p": _least_probable,
    "the entropy in bits, and surprises in nats": partial(
        _typical, lambda surprise, entropy: abs(surprise - entropy / log(2))
    ),
    "the surprise less the entropy, with its sign, not the distance": partial(
        _typical, lambda surprise, entropy: surprise - entropy
    ),
    **{
        f"logit 0 for the tokens that the last block of {size:,} lacks": partial(
            _with_log_of_sum, partial(_with_zeros, size)
        )
        for size in (32, 64, 128, 256, 512, 1024)
    },
    "the sum of row 0 for all rows": partial(
        _with_log_of_sum, lambda asked: log(fsum(_weights(unpack(asked.rows[0]["logits"]))))
    ),
    **{says: partial(_with_sum, summed) for says, summed in _OF_SUMS.items()},
    "token 0 for the random number 0": _zero_for_zero,
    "every token kept for the threshold 0": _all_for_zero,
    "the logarithm of a rounded probability": _logarithms,
    "the logarithm of the sum to base 2": (
        lambda asked: (
            _with_log_of_sum(lambda asked: log2(fsum(asked.weights)), asked)
            if asked.op == "logprobs"
            else {}
        )
    ),
    **{
        f"numbers of {name} {says}": partial(_rounded_otherwise, types, rounded)
        for name, types in _TYPES
        for says, rounded in (
            ("cut off, not rounded", _cut_off),
            ("with halves rounded away from zero", _away),
        )
    },
    **{
        f"{says} {size:,} tokens": partial(_walked, size, carried, ())
        for says, carried in _CARRIED.items()
        for size in (32, 64, 128, 256, 512, 1024)
    },
    **{
        f"a running sum rounded to {name}": partial(_walked, MOST_AGAIN, max, dtypes)
        for name, dtypes in _TYPES
    },
    **{
        f"equal tokens counted anew in each block of {size:,}": partial(_ties_in_blocks, size)
        for size in (32, 64, 128, 256, 512, 1024)
    },
    **{
        f"tokens above a threshold for p that {count} halvings found": partial(_searched, count)
        for count in (8, 10, 12, 14, 16, 18)  # more of them find the weight itself
    },
    "a sum in 16 bits": _narrow_sum,
    **{
        f"a counter of {bits} bits, without a carry": partial(_without_carry, bits)
        for bits in (32, 64, 128)
    },
    **{f"{n} rounds of Philox, not 10": partial(_with_rounds, n) for n in (6, 7, 8, 9)},
    "drafts that are accepted if u < p, not if u < p / q": partial(_speculated, _by_p),
    "the residual of the next target row": partial(_speculated, partial(_rejected, 1, None)),
    "the next draft's random number for the residual": partial(
        _speculated, partial(_rejected, 0, 1)
    ),
    **{
        f"at most {most} drafts{and_then}": partial(
            _speculated, partial(_at_most_drafts, most, is_last)
        )
        for most in (1, 2, 3, 4, 5, 8, 16)
        for and_then, is_last in (("", False), (", and then the last target row", True))
    },
    **{
        f"the residual of the {which} draft's row": partial(
            _speculated, partial(_residual_of, place)
        )
        for which, place in (
            ("first", lambda _, __: 0),
            ("previous", lambda right, _: max(right - 1, 0)),
            ("next", lambda right, last: min(right + 1, last)),
            ("last", lambda _, last: last),
        )
    },
}
"""Changed answers."""

_USUAL: Final = (
    *(Misreading(_name(says), change) for says, change in _QUESTIONS.items()),
    *(Misreading(_name(says), change, is_question=False) for says, change in _ANSWERS.items()),
)


def usual(op: str, rows: Sequence[Row]) -> Iterator[Misreading]:
    """Yield all changed questions and answers."""
    yield from _USUAL
    yield from _perturbed(op, rows)


# ---- other rows and other steps


def exchanged(op: str, rows: Sequence[Row]) -> Iterator[Misreading]:
    """Yield that each row has a part of another one, or that steps are others or in another order.

    For example, each row has the parameters of the next row, or one step is applied twice.
    """
    if len(rows) > 1:
        for part in dict.fromkeys(part for row in rows for part in _parts(row)):
            together = [[part], *[[part, "prompt_length"]] * (part == "history")]
            for (other, place), parts in product(OTHER_ROWS, together):
                yield Misreading(f"{part} of {other}", partial(_with_parts, parts, place))
    steps = (name for row in rows for name, _ in _other_steps(row)) if op == "steps" else ()
    for name in dict.fromkeys(steps):
        yield Misreading(name, partial(_with_steps, name))


def said_of(name: str) -> str:
    """Return what wrong answers resemble, or have in common, given the name of a misreading."""
    is_plain = name in SUMS or name.startswith(("answers with ", "steps "))
    return name if is_plain else f"batches with the {name}"


def _parts(row: Row) -> list[str]:
    steps = [step["step"] for step in row.get("steps", []) if isinstance(step, dict)]
    return [*(part for part in row if part != "prompt_length"), *steps]


def _with_parts(parts: Sequence[str], place: Callable[[int, int], int], asked: _Asked) -> Row:
    """Return parts of another row, or one of its steps, if both rows have them."""
    row, other = asked.row, asked.rows[place(asked.place, len(asked.rows))]
    found = {part: other[part] for part in parts if part in row and part in other}
    steps = {step["step"]: step for step in other.get("steps", []) if step["step"] in parts}
    if steps:
        found["steps"] = [steps.get(step["step"], step) for step in row["steps"]]
    return found


def _with_steps(name: str, asked: _Asked) -> Row:
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
    for name in dict.fromkeys(step["step"] for step in steps):
        own = [step for step in steps if step["step"] == name]
        rest = [step for step in steps if step["step"] != name]
        yield f"steps with {name} at the end", [*rest, *own]
        yield f"steps with {name} in front", [*own, *rest]
        yield f"steps with {name} twice", [s for s in steps for _ in range(1 + (s in own))]
        if rest:
            yield f"steps without {name}", rest
    for at, (first, second) in enumerate(pairwise(steps)):
        if first["step"] != second["step"]:
            swapped = [*steps[:at], second, first, *steps[at + 2 :]]
            yield f"steps with {second['step']} before {first['step']}", swapped
