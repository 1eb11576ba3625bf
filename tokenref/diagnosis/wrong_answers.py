"""Answers that a program gives if it goes wrong in a way that no other question shows.

To add one, write a function of a question, `Change`, that returns the parts of its right answer
that become others, and give it a name in `ANSWERS`.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate
from math import exp, fsum, inf, isinf, log, log2
from typing import Any, Final, TypeAlias

from sampling_ref import RowError, Use, chain
from sampling_ref.errors import UndecidedError
from sampling_ref.random.philox import philox_block
from sampling_ref.row import whole_numbers
from sampling_ref.speculative.shares import read_exactly, token_at
from tokenref.diagnosis.asked import (
    OF_PROMPTS,
    OF_SUMS,
    SUMMING,
    VARIANT,
    Asked,
    Change,
    Row,
    is_fused,
    possible,
)
from tokenref.diagnosis.misread_questions import ROUNDED, allowed_of
from tokenref.diagnosis.mistakes import COMPARED, Summed, weights_of
from tokenref.floats import Type, from_digits, is_numbers, nearest, pack, to_digits, type_of, unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.record import FILTER_OPS
from tokenref.rules import STANDARD

# ---- sums


def _with_sum(summed: Summed, asked: Asked) -> Row:
    """Return what is kept or drawn by another sum, which is fast also for long rows."""
    if not asked.is_plain:
        return {}
    enough = asked.share * summed(asked.weights, asked.sums)
    if asked.op == "draw":
        return _reached(asked, bisect_right(asked.sums, enough))
    return _reached(asked, bisect_left(asked.falling_sums, enough) + 1)


def _with_rounded_weights(dtype: Type, are_shares: bool, asked: Asked) -> Row:
    """Return what is kept or drawn if each weight is rounded before it is added."""
    if not asked.is_plain:
        return {}
    total = asked.sums[-1] if are_shares else 1.0
    weights = [nearest(weight / total, dtype) for weight in asked.weights]
    order = asked.falling if asked.op == "top_p" else range(len(weights))
    sums = [*accumulate(weights[token] for token in order)]
    reached = bisect_left if asked.op == "top_p" else bisect_right
    whole = 1.0 if are_shares else sums[-1]
    return _reached(asked, reached(sums, asked.share * whole) + 1)


def _by_rounded_number(rounded: Callable[[float], float], asked: Asked) -> Row:
    """Return what a rounded number draws, which is the last token of the row if it is 1."""
    if asked.op != "draw" or not asked.is_plain:
        return {}
    token = bisect_right(asked.sums, rounded(asked.share) * asked.sums[-1]) - 1
    return {"token": min(token, len(asked.weights) - 1)}


def _reached(asked: Asked, count: int) -> Row:
    """Return what is kept or drawn if this many tokens have a sum that is enough."""
    if asked.op == "draw":
        return {"token": min(count - 1, max(asked.falling))}
    least = unpack_parameters(asked.row["params"]).get("least", 1)
    return {"keep": sorted(asked.falling[: max(count, least)])}


def _absolute(asked: Asked) -> Row:
    """Return what min-p keeps if its threshold is not relative to the largest weight."""
    if asked.op != "min_p" or "probs" not in asked.row:
        return {}
    least = unpack_parameters(asked.row["params"]).get("m", 0.0)
    return _reached(asked, sum(weight >= least for weight in asked.weights if weight))


# ---- fused steps


After: TypeAlias = Callable[[Asked, int, Sequence[float]], Sequence[float]]
"""Returns what one of the steps of a question makes of logits."""


def _stepwise(after: After, asked: Asked, change: Change = lambda _: {}) -> Row:
    """Return what is left and drawn if each step makes something else of logits.

    The answer of the draw alone is changed, too.
    """
    if not is_fused(asked):
        return {}
    row: Sequence[float] = asked.numbers
    for at in range(len(asked.row["steps"])):
        row = after(asked, at, row)
    keep, weights = possible(row), weights_of(row)
    drawn = {**_drawn(asked, keep, weights)}
    if drawn:
        alone = {"probs": pack(weights, "f64"), "uniforms": asked.row["draw"]}
        drawn |= change(Asked("draw", asked.profile, [alone], 0, drawn, asked.ask))
    return {"keep": keep, **drawn}


def in_steps(change: Change, asked: Asked) -> Row:
    """Return what is left and drawn if the answers of filters and of the draw are changed."""

    def after(asked: Asked, at: int, row: Sequence[float]) -> Sequence[float]:
        step = asked.row["steps"][at]
        is_known = row is asked.made[at]
        right = asked.made[at + 1] if is_known else asked.after(step, row)
        if step["step"] not in FILTER_OPS:
            return right
        alone = asked.filters[at] if is_known else asked.of_filter(step, row, right)
        kept = {*change(alone).get("keep", alone.out["keep"])}
        if kept == {*alone.out["keep"]}:
            return right
        return [number if token in kept else -inf for token, number in enumerate(row)]

    try:
        return _stepwise(after, asked, change)
    except RowError:  # a later mask bans all that is kept
        return {}


def _with_finite_masks(asked: Asked, at: int, row: Sequence[float]) -> Sequence[float]:
    """Return a row in which masks make the numbers of banned tokens -1e9."""
    step = asked.row["steps"][at]
    if step["step"] != "token_mask":
        return asked.after(step, row)
    allowed = allowed_of(step["params"], len(row))
    return [number if token in allowed else -1e9 for token, number in enumerate(row)]


def _with_stale_counts(asked: Asked, at: int, row: Sequence[float]) -> Sequence[float]:
    """Return a row to which penalties count what those before them counted, too."""
    step, generated = asked.row["steps"][at], asked.row["history"][asked.row["prompt_length"] :]
    before = [each["step"] for each in asked.row["steps"][: at + 1] if "penalt" in each["step"]]
    if step["step"] not in before:
        return asked.after(step, row)
    counts = [asked.row["history"] if name in OF_PROMPTS else generated for name in before]
    use = Use(step["step"], **unpack_parameters(step["params"]))
    return chain([use], row, [token for each in counts for token in each]).row


def _with_penalty(which: str, name: str, choices: Row, asked: Asked) -> Row:
    """Return the answer with another step for a penalty, alone or as one of `penalties`."""

    def after(asked: Asked, at: int, row: Sequence[float]) -> Sequence[float]:
        step, params = asked.row["steps"][at], asked.row["steps"][at]["params"]
        if step["step"] == f"{which}_penalty":
            return asked.after({"step": name, "params": {**params, **choices}}, row)
        if step["step"] != "penalties" or which not in params:
            return asked.after(step, row)
        own = {"penalty": params[which], "window": params.get("window", 64), "scope": "all"}
        others = {**step, "params": {**params, which: 1 if which == "repetition" else 0}}
        steps = [{"step": name, "params": {**own, **choices}}, others]
        for each in steps if which == "repetition" else steps[::-1]:
            row = asked.after(each, row)
        return row

    if asked.profile != STANDARD or not ("penalt" in asked.op or asked.op == "steps"):
        return {}
    if asked.op == "steps":
        return _stepwise(after, asked)
    alone = {**asked.row, "steps": [{"step": asked.op, "params": asked.row["params"]}]}
    row = after(replace(asked, rows=[alone], place=0), 0, asked.numbers)
    dtype = type_of(asked.out["logits"])
    return {"logits": pack([nearest(number, dtype) for number in row], dtype)}


def _drawn(asked: Asked, order: Sequence[int], weights: Sequence[float]) -> Row:
    """Return the token that a question's number draws by weights of tokens in an order."""
    if not is_fused(asked) or "draw" not in asked.row:
        return {}
    sums = [*accumulate(weights[token] for token in order)]
    (number,) = unpack(asked.row["draw"])
    return {"token": order[min(bisect_right(sums, number * sums[-1]), len(order) - 1)]}


def _from_question(asked: Asked) -> Row:
    return _drawn(asked, asked.out["keep"], asked.weights) if is_fused(asked) else {}


def _from_sorted(asked: Asked) -> Row:
    if not is_fused(asked):
        return {}
    weights = asked.left[-1]
    order = sorted(asked.out["keep"], key=lambda token: (-weights[token], token))
    return _drawn(asked, order, weights)


# ---- numbers and tokens


def _zero_for_zero(asked: Asked) -> Row:
    number = asked.row.get("uniforms")
    is_zero = "token" in asked.out and number is not None and unpack(number) == [0.0]
    return {"token": 0} if is_zero else {}


def _all_for_zero(asked: Asked) -> Row:
    if asked.op != "min_p" or unpack_parameters(asked.row["params"]).get("m") != 0:
        return {}
    return {"keep": [*range(len(asked.weights))]}


def _logarithms(asked: Asked) -> Row:
    if asked.op != "logprobs":
        return {}
    dtype = type_of(asked.out["logprobs"])
    wide: Type = "f64" if dtype == "f64" else "f32"
    shares = [nearest(exp(number), wide) for number in unpack(asked.out["logprobs"])]
    return {"logprobs": pack([nearest(log(n), dtype) if n else -inf for n in shares], dtype)}


def _part(asked: Asked) -> str:
    """Return which part of an answer to logits has numbers, or nothing."""
    parts = (part for part in ("logits", "probs", "logprobs") if part in asked.out)
    return next(parts, "") if "logits" in asked.row else ""


def _cut_off(types: Container[Type], asked: Asked) -> Row:
    """Return numbers of these types that are cut off, not rounded."""
    part = _part(asked)
    if not part or (dtype := type_of(asked.out[part])) not in types or part not in asked.wide:
        return {}
    exact = unpack(asked.wide[part])
    return {part: pack([n if isinf(n) else _not_farther(n, dtype) for n in exact], dtype)}


def _not_farther(exact: float, dtype: Type) -> float:
    """Return the next number of a type that is not farther from 0."""
    if abs(right := nearest(exact, dtype)) <= abs(exact):
        return right
    return from_digits(f"{int(to_digits([right], dtype), 16) - 1:04x}", dtype)[0]


def _of_type(own: Type, other: Type, asked: Asked) -> Row:
    """Return the answer to rows whose bits are read as numbers of another type."""
    parts = [part for part in ("logits", "probs") if own in asked.row.get(part, ())]
    if not parts or asked.profile != STANDARD or asked.op == "token_mask":  # which copies bits
        return {}
    rows = {part: pack(unpack({other: asked.row[part][own]}), "f32") for part in parts}
    try:
        out = asked.ask({**asked.row, **rows}) or {}
    except UndecidedError:  # two numbers that are nearly equal
        return {}
    return {
        key: pack([nearest(number, own) for number in unpack(part)], own)
        if is_numbers(part)
        else part
        for key, part in out.items()
    }


_MOST_WORDS: Final = 256


def _without_carry(bits: int, asked: Asked) -> Row:
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


def _with_rounds(rounds: int, asked: Asked) -> Row:
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


Running: TypeAlias = Callable[[Type, Sequence[float]], Sequence[float]]
"""Returns the running sums that a program makes of weights, given the type of the row, or nothing
if they are right."""

Carried: TypeAlias = Callable[[float, float, float], float]
"""Returns the sum at the beginning of a block, given those at the end and at the beginning of the
block before, and its last weight."""

BEGINS: Final = "a sum that begins "
"""The beginning of mistakes of running sums that never reach the end of a row."""

_CARRIED: Final[Mapping[str, Carried]] = {
    BEGINS + "again in each block of": lambda *_: 0.0,
    "a sum that lacks the last token of each block of": lambda end, _, last: end - last,
    BEGINS + "with that of the block before alone, in blocks of": (
        lambda end, start, _: end - start
    ),
}


def _in_blocks(size: int, carried: Carried, _: Type, weights: Sequence[float]) -> Sequence[float]:
    """Return sums that are carried from block to block."""
    total = start = last = 0.0
    sums = list[float]()
    for at, weight in enumerate(weights if size < len(weights) else ()):
        if at and at % size == 0:
            total = start = carried(total, start, last)
        total, last = total + weight, weight
        sums.append(total)
    return sums


def _late(size: int, _: Type, weights: Sequence[float]) -> Sequence[float]:
    """Return sums that lack in each block the weights of the block before it."""
    until = [0.0, *accumulate(weights if size < len(weights) else ())]
    starts = (at // size * size for at in range(len(until) - 1))
    pairs = zip(until[1:], starts, strict=True)
    return [each - until[start] + until[max(start - size, 0)] for each, start in pairs]


def _rounded_sums(dtypes: Sequence[Type], own: Type, weights: Sequence[float]) -> Sequence[float]:
    """Return sums in the type of the row if that is one of these, or in the only one of them."""
    dtype = dtypes[0] if len(dtypes) == 1 else own
    rounded = accumulate(weights, lambda total, weight: nearest(total + weight, dtype), initial=0.0)
    return [*rounded][1:] if dtype in dtypes else ()


def _scanned(size: int, read: int, _: Type, weights: Sequence[float]) -> Sequence[float]:
    """Return sums of a scan of blocks, by doublings of which the last one is missing.

    So each thread, which reads the next numbers, lacks those before the last half of a block.
    """
    half, until, carry, sums = size // 2, [0.0, *accumulate(weights)], 0.0, list[float]()
    for start in range(0, len(weights) if half < len(weights) else 0, size):
        end = min(start + size, len(weights))
        lost = [until[start]] * half
        lost += [each for each in until[start : end - half : read] for _ in range(read)]
        pairs = zip(until[start + 1 : end + 1], lost, strict=False)
        sums += [carry + each - less for each, less in pairs]
        carry += until[end] - until[max(end - half, start)]
    return sums


@lru_cache(maxsize=2)  # for all whole sums
def _sums_of(running: Running, asked: Asked, by_id: bool) -> Sequence[float]:
    """Return the running sums that a program makes, by falling weight if they decide what stays."""
    order = range(len(asked.weights)) if by_id or asked.op == "draw" else asked.falling
    own = type_of(asked.row.get("logits") or asked.row["probs"])
    return running(own, [asked.weights[token] for token in order])


def _walked(running: Running, whole: int, asked: Asked) -> Row:
    """Return what is kept or drawn if the running sum, and perhaps the whole one, is another.

    The whole sum is right (0), or the last of these sums by weight (1) or by id (-1).
    """
    if not asked.is_plain:
        return {}
    sums = _sums_of(running, asked, by_id=False)
    by_id = sums if whole >= 0 or asked.op == "draw" else _sums_of(running, asked, by_id=True)
    if not sums or not by_id:
        return {}
    enough = asked.share * (by_id[-1] if whole else asked.sums[-1])
    if whole == 1 and asked.op == "draw":  # found by halvings, even if the sums do not rise
        return _reached(asked, bisect_right(sums, enough, 0, len(sums) - 1) + 1)
    is_exact = asked.op == "top_p"
    places = (at for at, each in enumerate(sums) if each > enough or (is_exact and each == enough))
    return _reached(asked, next(places, len(sums) - 1) + 1)


def _least_probable(asked: Asked) -> Row:
    """Return what top-p keeps if it begins with the least probable tokens, and the best ones."""
    if not asked.is_plain or asked.op != "top_p":
        return {}
    order = sorted(asked.falling, key=lambda token: (asked.weights[token], token))
    return _until(order, asked, asked.falling)


def _until(order: Sequence[int], asked: Asked, best: Sequence[int]) -> Row:
    """Return the first tokens of an order whose weights reach p, and as many as stay of others."""
    sums = [*accumulate(asked.weights[token] for token in order)]
    count = bisect_left(sums, asked.share * sums[-1]) + 1
    least = unpack_parameters(asked.row["params"]).get("least", 1)
    return {"keep": sorted({*order[:count], *best[:least]})}


Key: TypeAlias = Callable[[float], tuple[bool, float]]
"""Returns by what a number is sorted, the best first."""

_BY_BITS: Final[Sequence[Key]] = (
    lambda number: (False, -abs(number)),
    lambda number: (number >= 0, -abs(number)),  # as whole numbers
    lambda number: (number < 0, -abs(number)),  # as whole numbers with a sign
)
"""How programs sort numbers that forget to turn the bits of negative ones."""


def _falling(compared: Callable[[float], float], number: float) -> tuple[bool, float]:
    return False, -compared(number)


def _sorted_by(key: Key, asked: Asked) -> Row:
    """Return what is kept or chosen if numbers, or distances from the entropy, are sorted by it."""
    if asked.op == "typical":
        return _typical(lambda surprise, entropy: key(-abs(surprise - entropy)), asked)
    if asked.profile != STANDARD or not {"logits", "probs"} & asked.row.keys():
        return {}
    numbers = asked.numbers if "logits" in asked.row else asked.weights
    tokens = possible(numbers) if "logits" in asked.row else sorted(asked.falling)
    if key in _BY_BITS and min(numbers, default=0.0) >= 0:
        return {}
    order = sorted(tokens, key=lambda token: key(numbers[token]))
    if asked.op == "greedy":
        return {"token": order[0]}
    if asked.op == "top_p":
        return _until(order, asked, order) if asked.is_plain else {}
    if asked.op not in {"top_k", "min_p"}:
        return {}
    params = unpack_parameters(asked.row["params"])
    kept = order[: params["k"]] if asked.op == "top_k" else asked.out["keep"]
    return {"keep": sorted({*kept, *order[: params.get("least", 1)]})}


def _typical(distance: Callable[..., Any], asked: Asked, mean: int = 0, less: int = 0) -> Row:
    """Return what typical filtering keeps by another distance of surprises, or some tokens less."""
    params = unpack_parameters(asked.row["params"]) if asked.op == "typical" else {}
    if (
        not {"mass"} <= params.keys() <= {"mass", "least"}
        or asked.profile != STANDARD
        or not 0 < params["mass"] < 1
    ):
        return {}
    total = asked.sums[-1]
    surprise = {token: -log(asked.weights[token] / total) for token in asked.falling}
    entropy = fsum(asked.weights[token] / total * surprise[token] for token in asked.falling)
    if mean:
        entropy = fsum(surprise.values()) / len(asked.weights)
    far = {token: distance(each, entropy) for token, each in surprise.items()}
    order = sorted(far, key=lambda token: (far[token], token))
    sums = [*accumulate(asked.weights[token] for token in order)]
    count = max(bisect_left(sums, params["mass"] * total) + 1 - less, 1)
    last = far[order[min(count, len(order)) - 1]]
    kept = {token for token in order if far[token] <= last}
    return {"keep": sorted(kept.union(order[: params.get("least", 1)]))}


def _of_weights(change: Change, asked: Asked) -> Row:
    return change(asked) if "probs" in asked.row else {}


def _before_the_sum(asked: Asked) -> Row:
    """Return what is kept without the token whose weight makes the sum large enough."""
    if asked.op != "top_p" or asked.profile != STANDARD:
        return _typical(lambda surprise, entropy: abs(surprise - entropy), asked, less=1)
    return _reached(asked, len(asked.out["keep"]) - 1)


_DISTANCES: Final[Mapping[str, Callable[[float, float], float]]] = {
    "the entropy in bits, and surprises in nats": lambda s, entropy: abs(s - entropy / log(2)),
    "the entropy by logarithms to base 10, and surprises in nats": (
        lambda s, entropy: abs(s - entropy / log(10))
    ),
    "the surprise less the entropy, with its sign, not the distance": lambda s, e: s - e,
    "the entropy less the surprise, with its sign, not the distance": lambda s, e: e - s,
    "the tokens that are farthest from the entropy first": lambda s, entropy: -abs(s - entropy),
}
"""What programs take for the distance of a surprise from the entropy."""


_NARROW: Final[Sequence[Type]] = ("f16", "bf16")

_NARROW_NAMES: Final[Sequence[tuple[str, Type]]] = (("binary16", "f16"), ("bfloat16", "bf16"))


def _with_log_of_sum(
    of_sum: Callable[[Asked], float], asked: Asked, types: Sequence[Type] = ()
) -> Row:
    """Return probabilities or their logarithms with another logarithm of the sum."""
    part = _part(asked) if asked.op in SUMMING else ""
    if not part or (types and type_of(asked.row["logits"]) not in types):
        return {}
    dtype, largest, less = type_of(asked.out[part]), max(asked.numbers), of_sum(asked)
    logs = [n if isinf(n) else n - largest - less for n in asked.numbers]
    exact = logs if part == "logprobs" else map(exp, logs)
    return {part: pack([n if isinf(n) else nearest(n, dtype) for n in exact], dtype)}


def _with_rounded_exponents(dtype: Type, base: float, has_right_sum: bool, asked: Asked) -> Row:
    """Return probabilities whose exponents, to e or 2 by the logarithm of it, are rounded."""
    if asked.op != "softmax" or "logits" not in asked.row:
        return {}
    largest, own = max(asked.numbers), type_of(asked.out["probs"])
    weights = [exp(base * nearest((n - largest) / base, dtype)) for n in asked.numbers]
    total = fsum(asked.weights if has_right_sum else weights)
    return {"probs": pack([nearest(weight / total, own) for weight in weights], own)}


def _rounded_with_largest(asked: Asked, of_sum: float) -> float:
    largest = max(asked.numbers)
    is_wide = type_of(asked.row["logits"]) == "f32"
    return nearest(largest + of_sum, "f32") - largest if is_wide else of_sum


def _with_zeros(size: int, asked: Asked) -> float:
    """Return the logarithm of a sum with logit 0 for the tokens that the last block lacks."""
    more = -len(asked.numbers) % size
    return log(fsum(asked.weights) + more * exp(min(-max(asked.numbers), 600.0)))


def _ties_in_blocks(size: int, asked: Asked) -> Row:
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


def _searched(halvings: int, asked: Asked) -> Row:
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


def _narrow_sum(asked: Asked) -> float:
    """Return the logarithm of a sum that is rounded to the type of the row after each addition."""
    total, dtype = 0.0, type_of(asked.row["logits"])
    for weight in asked.weights:
        total = nearest(total + weight, dtype)
    return log(total)


# ---- drafts


def _target_row(asked: Asked) -> Row:
    """Return a residual, or what is drawn from one, with the target row instead."""
    if asked.op != "residual" or asked.profile != STANDARD:
        return _speculated(partial(_rejected, lambda *_: (-1,)), asked)
    dtype, row = type_of(asked.out["probs"]), unpack(asked.row["target"])
    return {"probs": pack([nearest(weight / fsum(row), dtype) for weight in row], dtype)}


def _one_draft_less(asked: Asked) -> Row:
    """Return one draft less if all are accepted."""
    count = len(asked.row["tokens"]) if asked.op == "speculative" else 0
    if not 0 < count == asked.out["accepted"]:
        return {}
    return {"accepted": count - 1, "tokens": asked.out["tokens"][:count]}


def _zero_at_the_end(asked: Asked) -> Row:
    drafts = asked.row["tokens"] if asked.op == "speculative" else ()
    return {"tokens": [*drafts, 0]} if asked.out.get("accepted") == len(drafts) else {}


def _with_least(least: float, asked: Asked) -> Row:
    """Return a residual of which no number is 0."""
    if asked.op != "residual" or asked.profile != STANDARD:
        return {}
    p, q = (unpack(asked.row[name]) for name in ("target", "draft"))
    of_p, of_q = fsum(p), fsum(q)
    left = [max(a / of_p - b / of_q, least) for a, b in zip(p, q, strict=True)]
    dtype, total = type_of(asked.out["probs"]), fsum(left)
    return {"probs": pack([nearest(number / total, dtype) for number in left], dtype)}


def _speculated(change: Callable[["_Drafts"], Sequence[int]], asked: Asked) -> Row:
    """Return what a program may make of drafts."""
    row = asked.row
    if asked.op != "speculative" or asked.profile != STANDARD or row["params"]:
        return {}
    if not row["tokens"] or len(row["draft"]) != len(row["tokens"]):
        return {}
    drafts = _Drafts(row)
    return drafts.answer(*change(drafts))


class _Drafts:
    """The whole numbers of which the shares of drafts are, and which drafts are accepted."""

    def __init__(self, row: Row) -> None:
        self.tokens = row["tokens"]
        self._p, self._q = (
            [whole_numbers(unpack(each))[0] for each in row[name]] for name in ("target", "draft")
        )
        self._u = read_exactly(unpack(row["uniforms"]), len(self.tokens) + 1)

    def accepted(
        self,
        of: Fraction | None = None,
        row: int = 0,
        number: int = 0,
        token: int | None = None,
        first: int = 0,
    ) -> int:
        """Return how many drafts are accepted if u < p / q, or `of` for q.

        They are judged by a target row and a number behind their own, by their token or that of
        one draft. Those before the `first` are accepted.
        """
        for at, own in enumerate(self.tokens[first:], first):
            token_id = own if token is None else self.tokens[token]
            p, q = self._p[at + row], self._q[at]
            share = of or Fraction(q[token_id], sum(q))
            if self._u[at + number] * share >= Fraction(p[token_id], sum(p)):
                return at
        return len(self.tokens)

    def answer(self, accepted: int, draft: int, target: int | None = None, number: int = -1) -> Row:
        """Return the answer with this many drafts accepted and a residual of one of their rows.

        It is of a target row, by default that behind the accepted drafts, and drawn with a random
        number, by default the last one. Without a draft's row (-1), the target row is drawn from,
        if it is -2 without the draft's token.
        """
        row = self._p[accepted if target is None else target]
        if accepted < len(self.tokens) and draft >= 0:
            other, of_row, of_draft = self._q[draft], sum(row), sum(self._q[draft])
            row = [max(p * of_draft - q * of_row, 0) for p, q in zip(row, other, strict=True)]
        elif draft == _NOT_THE_DRAFT:
            row = [p * (token != self.tokens[accepted]) for token, p in enumerate(row)]
        if not any(row):
            return {}
        token = token_at(row, self._u[number])
        return {"accepted": accepted, "tokens": [*self.tokens[:accepted], token]}


_NOT_THE_DRAFT: Final = -2


def _judged(by: Mapping[str, Any], drafts: _Drafts) -> tuple[int, int]:
    return (drafts.accepted(**by),) * 2


_Rejected: TypeAlias = Callable[[int, int], Sequence[int | None]]
"""Returns what is asked of `_Drafts.answer`, given the rejected draft and the last one."""


def _rejected(change: _Rejected, drafts: _Drafts) -> Sequence[Any]:
    right, last = drafts.accepted(), len(drafts.tokens) - 1
    return (right, right) if right > last else (right, *change(right, last))


def _one_too_few(drafts: _Drafts) -> Sequence[Any]:
    right = drafts.accepted()
    return (right - (0 < right < len(drafts.tokens)),) * 2


def _at_most_drafts(most: int, row: int, drafts: _Drafts) -> Sequence[Any]:
    """Accept at most a number of drafts, then draw from the residual, the next row or the last."""
    right = drafts.accepted()
    if right < most:
        return right, right
    return most, most if row == 0 else -1, len(drafts.tokens) if row < 0 else most


_JUDGED: Final[Mapping[str, Mapping[str, Any]]] = {
    "drafts that are accepted if u < p, not if u < p / q": {"of": Fraction(1)},
    "a first draft that is always accepted": {"first": 1},
    "drafts that are judged by the next target row": {"row": 1},
    "drafts that are judged with the next random number": {"number": 1},
    "drafts that are all judged by the token of the first": {"token": 0},
}

_REJECTED: Final[Mapping[str, _Rejected]] = {
    "the residual of the next target row": lambda at, _: (at, at + 1),
    "the next draft's random number for the residual": lambda at, _: (at, at, at + 1),
    "the residual of the first target row": lambda at, _: (at, 0),
    "the residual of the rows before": lambda at, _: (max(at - 1, 0), max(at - 1, 0)),
    "the target row without the draft's token for the residual": lambda *_: (_NOT_THE_DRAFT,),
    "the residual of the first draft's row": lambda *_: (0,),
    "the residual of the previous draft's row": lambda at, _: (max(at - 1, 0),),
    "the residual of the next draft's row": lambda at, last: (min(at + 1, last),),
    "the residual of the last draft's row": lambda _, last: (last,),
}


_TYPES: Final[Sequence[tuple[str, Sequence[Type]]]] = (
    ("f16", ("f16",)),
    ("bf16", ("bf16",)),
    ("16 bits", _NARROW),
)

_SCANNED: Final = "a scan of blocks of {:,} tokens without its last step, which adds {:,} before"

_RUNNING: Final[Sequence[tuple[str, Running]]] = (
    *(
        (f"{says} {size:,} tokens", partial(_in_blocks, size, carried))
        for says, carried in _CARRIED.items()
        for size in (32, 64, 128, 256, 512, 1024)
    ),
    *(
        (_SCANNED.format(size, size // 2), partial(_scanned, size, read))
        for read, sizes in ((1, (32, 256, 512, 1024)), (4, (1024, 2048, 4096)))
        for size in sizes
    ),
    *(
        (
            f"a running sum that lacks the block before, in blocks of {size:,} tokens",
            partial(_late, size),
        )
        for size in (32, 64, 128, 256, 512, 1024)
    ),
    *((f"a running sum rounded to {name}", partial(_rounded_sums, own)) for name, own in _TYPES),
)
"""Running sums that lack something."""

ANSWERS: Final[Mapping[str, Change]] = {
    "a finite number, as -1e9, for banned tokens, not -inf": partial(_stepwise, _with_finite_masks),
    "counts that the penalties before left in memory": partial(_stepwise, _with_stale_counts),
    **{
        f"a {which} penalty that {says}": partial(_with_penalty, which, f"{name}_penalty", choices)
        for which, says, name, choices in (
            ("repetition", "counts each occurrence", "repetition", {"counting": "each occurrence"}),
            ("repetition", "divides negative logits", "repetition", {"method": "divide"}),
            ("presence", "counts each occurrence", "frequency", {}),
        )
    },
    "a draw from the logits of the question": _from_question,
    "a draw of any token from the logits of the question": (
        lambda asked: (
            _drawn(asked, range(len(asked.weights)), asked.weights) if is_fused(asked) else {}
        )
    ),
    "a draw along the tokens by falling weight, not by id": _from_sorted,
    **{
        f"{what} rounded to {dtype}": partial(_with_rounded_weights, dtype, what == "probabilities")
        for what in ("weights", "probabilities")
        for dtype in _NARROW
    },
    "the least probable tokens until their sum reaches p": _least_probable,
    **{
        f"negative numbers in the wrong order, as their bits{VARIANT}{way}": partial(
            _sorted_by, key
        )
        for way, key in enumerate(_BY_BITS)
    },
    **{
        says: partial(_sorted_by, partial(_falling, compared))
        for says, compared in COMPARED.items()
    },
    **{says: partial(_typical, distance) for says, distance in _DISTANCES.items()},
    **{
        f"{says}{VARIANT}": partial(_of_weights, partial(_typical, distance))
        for says, distance in _DISTANCES.items()
        if "nats" in says  # logarithms of weights, which rows of logits do not need
    },
    **{
        f"exponents rounded to {name}{VARIANT}{base}, {has_right_sum}": partial(
            _with_rounded_exponents, dtype, base, has_right_sum
        )
        for name, dtype in _NARROW_NAMES
        for base in (1.0, log(2))
        for has_right_sum in (True, False)
    },
    "the token left out that makes the sum large enough": _before_the_sum,
    "the mean of all surprises for the entropy": partial(
        _typical, lambda s, mean: abs(s - mean), mean=1
    ),
    **{
        f"logit 0 for the tokens that the last block of {size:,} lacks": partial(
            _with_log_of_sum, partial(_with_zeros, size)
        )
        for size in (32, 64, 128, 256, 512, 1024)
    },
    "the sum of row 0 for all rows": partial(
        _with_log_of_sum, lambda asked: log(fsum(weights_of(unpack(asked.rows[0]["logits"]))))
    ),
    **{says: partial(_with_sum, summed) for says, summed in OF_SUMS.items()},
    **{
        f"{says}{VARIANT}": partial(_by_rounded_number, rounded)
        for says, rounded in ROUNDED.items()
    },
    "token 0 for the random number 0": _zero_for_zero,
    "a threshold of min-p that is not multiplied by the largest probability": _absolute,
    "every token kept for the threshold 0": _all_for_zero,
    "the logarithm of a rounded probability": _logarithms,
    "the largest logit added to the logarithm of the sum, and rounded": partial(
        _with_log_of_sum, lambda asked: _rounded_with_largest(asked, log(fsum(asked.weights)))
    ),
    "the logarithm of the sum to base 2": (
        lambda asked: (
            _with_log_of_sum(lambda asked: log2(fsum(asked.weights)), asked)
            if asked.op == "logprobs"
            else {}
        )
    ),
    **{
        f"numbers of {name} cut off, not rounded": partial(_cut_off, types)
        for name, types in _TYPES
    },
    **{
        f"{says}{VARIANT}{at}, {whole}": partial(_walked, running, whole)
        for at, (says, running) in enumerate(_RUNNING)
        for whole in (0, 1, -1)
    },
    **{
        f"equal tokens counted anew in each block of {size:,}": partial(_ties_in_blocks, size)
        for size in (32, 64, 128, 256, 512, 1024)
    },
    **{
        f"tokens above a threshold for p that {count} halvings found": partial(_searched, count)
        for count in (8, 10, 12, 14, 16, 18)  # more of them find the weight itself
    },
    "a sum in 16 bits": partial(_with_log_of_sum, _narrow_sum, types=_NARROW),
    **{
        f"a counter of {bits} bits, without a carry": partial(_without_carry, bits)
        for bits in (32, 64, 128)
    },
    **{f"{n} rounds of Philox, not 10": partial(_with_rounds, n) for n in (6, 7, 8, 9)},
    "the target row for the residual": _target_row,
    "one draft less if all are accepted": _one_draft_less,
    "one draft less if one is rejected": partial(_speculated, _one_too_few),
    "token 0 behind drafts that are all accepted": _zero_at_the_end,
    **{
        f"a residual of at least {least:g}": partial(_with_least, least)
        for least in (1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-12)
    },
    "rows of f16 read as bf16": partial(_of_type, "f16", "bf16"),
    "rows of bf16 read as f16": partial(_of_type, "bf16", "f16"),
    **{says: partial(_speculated, partial(_judged, by)) for says, by in _JUDGED.items()},
    **{says: partial(_speculated, partial(_rejected, way)) for says, way in _REJECTED.items()},
    **{
        f"at most {most} drafts{and_then}": partial(
            _speculated, partial(_at_most_drafts, most, row)
        )
        for most in (1, 2, 3, 4, 5, 8, 16)
        for and_then, row in (
            ("", 1),
            (", and then the last target row", -1),
            (", and then a residual", 0),
        )
    },
}
"""Changed answers."""
