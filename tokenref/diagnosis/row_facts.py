"""Facts about a wrong answer to a question about one row: numbers, kept tokens, or one token."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from math import exp, inf, isnan
from typing import Any, Final

from tokenref.diagnosis.mistakes import BLOCKS, COMPARED, FIRST_BLOCK, HALVED, MASKS, SUMS, USUAL
from tokenref.floats import (
    DIGITS,
    SMALLEST_NORMAL,
    Type,
    from_digits,
    is_numbers,
    nearest,
    numbers_of,
    type_of,
    unpack,
)
from tokenref.judging_samplers import are_ids

CLOSE: Final = 1e-3
"""The relative distance up to which numbers count for equal but for rounding."""

NEARLY_ALL: Final = 0.9
"""The share of wrong numbers that one mistake explains."""

ALIKE: Final = 1e-5
"""The relative distance up to which ratios are one ratio."""

AT_THE_END: Final = "the answer is the last token of the row"
"""A fact that holds for any sum that is too large."""

AS_BEFORE: Final = "the wrong numbers are those of the question: the step does not reach them"
"""A fact that holds for many mistakes."""

NO_FILTER: Final = ("no token is kept", "all possible tokens are kept: the filter removes none")
"""Facts that hold for many mistakes, too."""

ALL_WRONG: Final = "all wrong numbers are "
"""The beginning of a fact that one failure alone does not show."""

OF_ANY_SUM: Final = "the sum is too "
"""The end of facts that are said if nothing else is known about a wrong sum."""

ROUGHLY: Final = "roughly, "
"""The beginning of facts that are said only if nothing else is."""

WRONG_RANK: Final = "the rank is wrong"
"""A fact about the rank in a report, whatever its numbers are."""

NOT_WRITTEN: Final = "the wrong numbers are NaN with all bits set: they were not written"
"""A fact about what skeletons fill an output with."""

INEXACT: Final = (
    "all numbers are within 0.1 % of the right ones: something is calculated with too few bits, or "
    "a sum lacks a light token"
)
"""A fact about numbers of which none is far off."""


def of_row(
    want: Mapping[str, Any], have: Mapping[str, Any], asked: Mapping[str, Any]
) -> Iterator[str]:
    """Yield facts about the answer to a question, given the right one."""
    given = asked.get("logits", asked.get("probs"))
    row = unpack(given) if given else []
    for key, value in want.items():
        other: Any = have.get(key)
        if is_numbers(value) and is_numbers(other):
            numbers, others = numbers_of(value) or [], numbers_of(other) or []
            if len(numbers) == len(others) and numbers != others:
                yield from _of_bytes(numbers, others, other)
                yield from _of_banned(numbers, others, asked)
                yield from _of_numbers(key, numbers, others, row)
        elif key == "keep" and are_ids(value) and are_ids(other):
            if value != other and sorted(value) == sorted(other):
                yield "kept tokens are not in ascending order"
            if has_mask(asked):
                yield from _of_bits(set(value), set(other), len(row))
            yield from _of_kept(set(value), set(other), row, asked)
        elif key == "token" and are_ids([value, other]) and value != other:
            yield from ["all logits are negative"] * (asked.keys() == {"logits"} and max(row) < 0)
            yield from _of_token(value, other, row)
        elif "logprobs" in want:
            yield from _of_report(key, value, other)


_MASK_STEPS: Final = frozenset({"token_mask", "allowed_tokens", "prefix_allowed_tokens"})


def has_mask(asked: Mapping[str, Any]) -> bool:
    """Return whether a question has a mask, alone or as a step."""
    steps = asked.get("steps", ())
    names = {"words", "booleans", "tokens", "allowed"}
    return not names.isdisjoint(asked.get("params", ())) or any(
        s["step"] in _MASK_STEPS for s in steps
    )


def _possible(numbers: Sequence[float], none: float = -inf) -> set[int]:
    return {place for place, number in enumerate(numbers) if number != none}


def _of_banned(
    want: Sequence[float], have: Sequence[float], asked: Mapping[str, Any]
) -> Iterator[str]:
    """Yield what is wrong with padding or with a mask."""
    end = asked.get("params", {}).get("vocab_size", len(want))
    if end < len(want) and all(map(near, want[:end], have)):
        yield "only numbers from `vocab_size` on are wrong: they must be -inf"
    if -inf in want and has_mask(asked):
        yield from _of_bits(_possible(want), _possible(have), len(want))


def _of_bytes(
    want: Sequence[float], have: Sequence[float], packed: Mapping[str, str]
) -> Iterator[str]:
    """Yield whether numbers are not written, or are right with their bytes in the other order."""
    dtype = type_of(packed)
    digits, width = packed[dtype], DIGITS[dtype]
    each = [digits[at : at + width] for at in range(0, len(digits), width)]
    wrong = (own for own, a, b in zip(each, want, have, strict=True) if not near(a, b))
    if {*wrong} == {width * "f"}:  # no calculation ends in this NaN
        yield NOT_WRITTEN
    turned = from_digits(b"".join(bytes.fromhex(own)[::-1] for own in each).hex(), dtype)
    if all(map(near, want, turned)):
        yield "the bytes of each number are in the other order: digits begin with the highest byte"


def _of_report(key: str, want: Any, have: Any) -> Iterator[str]:
    """Yield what is wrong with the tokens or the rank of a report."""
    if key == "tokens" and are_ids(have) and len(set(have)) < len(have):
        yield "a token is listed twice"
    if key == "rank" and isinstance(have, int) and have != want:
        if FIRST_BLOCK <= have < want and have & (have - 1) == 0:
            yield f"the rank ends at {have:,}"
        yield WRONG_RANK


def _of_numbers(
    key: str, want: Sequence[float], have: Sequence[float], row: Sequence[float]
) -> Iterator[str]:
    wrong = [
        place
        for place, (a, b) in enumerate(zip(want, have, strict=True))
        if a != b and not (near(a, b) or (isnan(a) and isnan(b)))
    ]
    banned = [place for place in wrong if want[place] == -inf]
    if banned and len(banned) == len(wrong):
        numbers = {have[place] for place in wrong}
        yield f"numbers that must be -inf are {numbers.pop() if len(numbers) == 1 else 'finite'}"
    if wrong and all(isnan(have[place]) for place in wrong):
        yield from _of_empty_blocks(row)
    zeros = [place for place in wrong if want[place] == 0]
    if zeros and key == "probs" and len(zeros) >= len(wrong) * NEARLY_ALL and min(have) > 0:
        yield "probabilities that must be 0 are positive"
    if wrong and all(have[p] == 0 and abs(want[p]) < SMALLEST_NORMAL["f32"] for p in wrong):
        yield "subnormal numbers are written as 0"
    if wrong and len(row) == len(have):
        yield from _of_steps(wrong, have, row)
    if want[2**16 :] != want[: -(2**16)] and [*have[2**16 :]] == [*have[: -(2**16)]] != []:
        yield "each number is that of the token modulo 65,536"
    if key in {"probs", "logprobs"}:
        yield from _of_sums(key, want, have)
    if key == "probs" and row:
        yield from _of_maxima(want, have)
    if not wrong:
        yield INEXACT
        return
    yield from _of_wrong(wrong, have)


def _of_steps(wrong: Sequence[int], have: Sequence[float], row: Sequence[float]) -> Iterator[str]:
    """Yield which wrong numbers of a row a step does not reach, or reaches by a wrong id."""
    moved = {place for place in wrong if have[place] != row[place]}
    if not moved:
        yield AS_BEFORE
    elif max(moved) < 2**16 <= max(wrong) and moved >= {p % 2**16 for p in {*wrong} - moved}:
        yield "ids of tokens are taken modulo 65,536"


def _of_empty_blocks(row: Sequence[float]) -> Iterator[str]:
    """Yield the sizes of blocks without a possible token, if the answer is NaN."""
    for size in reversed(BLOCKS):
        starts = range(0, len(row), size) if FIRST_BLOCK <= size < len(row) else ()
        if any(max(row[at : at + size]) == -inf for at in starts):
            yield f"numbers are NaN, and no token of a block of {size:,} is possible"


def _of_wrong(wrong: Sequence[int], have: Sequence[float]) -> Iterator[str]:
    """Yield what the places of the wrong numbers, and these, have in common."""
    first, count = wrong[0], len(have)
    if first >= FIRST_BLOCK and first & (first - 1) == 0:
        yield f"the first wrong number is that of token {first:,}"
    for size in BLOCKS:
        if first >= (count - 1) // size * size >= FIRST_BLOCK and count % size:
            yield f"only numbers of the last block of {size:,}, which is incomplete, are wrong"
    first_number = str(have[first])
    if len(wrong) > 1 and all(str(have[place]) == first_number for place in wrong):
        yield f"{ALL_WRONG}{have[first]!r}"


def near(a: float, b: float) -> bool:
    """Return whether two numbers are equal but for rounding."""
    return a == b or -inf < -CLOSE * max(abs(a), abs(b)) <= a - b <= CLOSE * max(abs(a), abs(b))


def _of_maxima(want: Sequence[float], have: Sequence[float]) -> Iterator[str]:
    """Yield the sizes of blocks whose probabilities are off by the block's maximum."""
    for size in USUAL if max(want) > 0 else ():
        most = [max(want[at : at + size]) for at in range(0, len(want), size)]
        pairs = enumerate(zip(want, have, strict=True))
        factors = [b / a * most[at // size] for at, (a, b) in pairs if a]
        if len({*most}) > 1 and max(factors) - min(factors) <= CLOSE * max(factors) < inf:
            yield f"each block of {size:,} subtracts its own maximum"


def _of_sums(key: str, want: Sequence[float], have: Sequence[float]) -> Iterator[str]:
    """Yield what is wrong with the sum, if all numbers are divided by one wrong sum."""
    is_log, zero = key == "logprobs", -inf if key == "logprobs" else 0.0
    pairs = [(a, b) for a, b in zip(want, have, strict=True) if zero < a < inf]
    factors = [exp(min(b - a, 700.0)) if is_log else b / a for a, b in pairs]
    fewest = 3
    if len(factors) < fewest or not all(0 < each < inf for each in factors):
        return
    least, most = min(factors), max(factors)
    named = "log-probabilities are off by one number"
    named = named if is_log else "probabilities are off by one factor"
    if most - least > CLOSE * most:  # which may be the rounding to 16 bits
        if most - least < _IN_16_BITS_EACH * most and not least <= 1 <= most:
            yield f"{ROUGHLY}all {named}: {OF_ANY_SUM}{'small' if least > 1 else 'large'}"
        return
    factor = sorted(factors)[len(factors) // 2]
    near = 10 * ALIKE if not is_log and max(want) < CLOSE else ALIKE
    if abs(factor - 1) < near:
        return
    probs = [exp(number) for number in want] if is_log else want
    named = "log-probabilities are off by one number"
    named = named if is_log else "probabilities are off by one factor"
    lacks, until = 1 - 1 / factor, [0.0, *accumulate(probs)]
    within = max(CLOSE * abs(lacks), most - least)
    if lacks > 0:
        yield from _of_block(until, lacks, within)
    for says, summed in SUMS.items() if len(probs) <= _LONGEST_SUMMED else ():
        if abs(summed(probs, until) / until[-1] - 1 / factor) <= within:
            yield says
    yield from _of_threads(probs, lacks, within) if lacks > 0 else ()
    if abs(factor - 1) < _IN_16_BITS:
        yield f"all {named}: {OF_ANY_SUM}inexact, perhaps it has 16 bits"
    yield f"all {named}: {OF_ANY_SUM}{'small' if lacks > 0 else 'large'}"


def _of_threads(probs: Sequence[float], lacks: float, within: float) -> Iterator[str]:
    """Yield which threads of a block read what a sum lacks. Each reads the next numbers in turn."""
    for read in (4, 1, 8, 2):
        for size in HALVED if FIRST_BLOCK * read < len(probs) <= _LONGEST_SUMMED else ():
            starts = range(0, min(len(probs), size * read), read)
            threads = [sum(sum(probs[at + n :: size * read]) for n in range(read)) for at in starts]
            firsts, last = sum(threads[32::32]), sum(threads[size - 32 :])
            at_once = f"{size:,} threads" + f" that read {read} at once" * (read > 1)
            if firsts and abs(firsts - lacks) <= within:
                yield f"the sum lacks the first lane of each warp but one, of {at_once}"
            if last and abs(last - lacks) <= within:
                yield f"the sum lacks the last warp of each block of {at_once}"


_IN_16_BITS_EACH: Final = 0.1
"""The largest relative distance of the factors of numbers that have 16 bits."""

_IN_16_BITS: Final = 0.02
"""The largest relative error of a sum of many weights in 16 bits that is named."""

_LONGEST_SUMMED: Final = 1 << 19
"""The tokens of the longest row of which other sums are calculated."""


def _of_block(until: Sequence[float], lacks: float, within: float) -> Iterator[str]:
    """Yield which block of tokens weighs what a sum lacks, given the sums until each token.

    Smaller blocks come first. Of those smaller than `FIRST_BLOCK`, only one that is incomplete
    at the end of the row counts, because several others weigh the same by chance.
    """
    count = len(until) - 1
    for size in BLOCKS:
        last = (count - 1) // size * size
        starts = range(0, count, size) if size >= FIRST_BLOCK else [last] * (count % size > 0)
        found = [
            start
            for start in starts
            if abs(until[min(start + size, count)] - until[start] - lacks) <= within
        ]
        if not last or not found:
            continue
        which = (
            {0: "the first", last: "the last"}.get(found[0], "one") if len(found) == 1 else "one"
        )
        yield f"the sum lacks {which} block of {size:,} tokens"
    for place in range(FIRST_BLOCK, count, FIRST_BLOCK):
        if abs(1 - until[place] - lacks) <= within:
            yield f"the sum lacks all tokens from {place:,} on"


def _of_kept(
    want: set[int], have: set[int], row: Sequence[float], asked: Mapping[str, Any]
) -> Iterator[str]:
    """Yield what is wrong with a list of tokens; steps have changed the row of some before."""
    missing, foreign, count = want - have, have - want, len(row)
    if not missing and not foreign:
        return
    yield from NO_FILTER[:1] * (not have)
    if row and "steps" not in asked and want and 0 <= min(want | have) <= max(want | have) < count:
        none = 0.0 if "probs" in asked else -inf
        if {row[token] for token in foreign} == {none}:
            yield "tokens are kept that are impossible"
        yield from NO_FILTER[1:] * (len(foreign) > 1 and have == _possible(row, none))
        yield from _of_equals(missing, foreign, row, have)
    if not foreign:
        p = asked.get("params", {}).get("p")
        if is_numbers(p) and max(numbers_of(p) or ()) >= 1:
            yield "tokens are missing, though p = 1 keeps all that are possible"
        yield from _of_missing(missing, have, count)
    yield from (
        f"no token from {2**power:,} on is kept"
        for power in range(17, 15 if foreign else 7, -1)
        if max(have, default=-1) < 2**power <= min(missing, default=0)
    )
    for size in HALVED if missing else ():
        held = Counter(token // size for token in have)
        most = max(held.values(), default=0)
        is_limit = FIRST_BLOCK // 8 <= most < size and most & (most - 1) == 0
        if is_limit and all(held[token // size] == most for token in missing):
            yield f"at most {most:,} tokens of each block of {size:,} are kept"
    yield from ["one token more is kept"] * (not missing and len(foreign) == 1)
    if not missing and len(foreign) % 256 == 0:
        yield "a multiple of 256 tokens more is kept: perhaps a counter has 8 bits"


def _of_missing(missing: set[int], have: set[int], count: int) -> Iterator[str]:
    """Yield what the missing tokens of a list have in common."""
    if len(have) >= FIRST_BLOCK and len(have) & (len(have) - 1) == 0:
        yield f"the list ends after {len(have):,} tokens"
    for size in BLOCKS:
        if min(missing) >= (count - 1) // size * size >= FIRST_BLOCK and count % size:
            yield f"tokens of the last block of {size:,}, which is incomplete, are missing"
    if len(missing) == 1:
        yield "one token less is kept"


def _of_equals(
    missing: set[int], foreign: set[int], row: Sequence[float], kept: set[int]
) -> Iterator[str]:
    """Yield whether only tokens that equal the last kept one are wrong, or others than these."""
    cut = min(row[each] for each in kept - foreign | missing)
    lost, more = ([row[each] for each in sorted(tokens)] for tokens in (missing, foreign))
    if more and not lost and set(more) == {cut}:
        is_every = row.count(cut) == sum(row[each] == cut for each in kept)
        every = "all" if is_every else "more"
        yield f"{every} tokens that equal the last kept one are kept"
    is_equal = len(lost) > 1 or any(row[each] == cut for each in kept)
    if lost and not more and set(lost) == {cut} and is_equal:
        yield "tokens that equal the last kept one are missing"
    if lost and lost == more:
        if {*lost} == {0.0} and {*map(str, lost)} != {*map(str, more)}:
            yield "0 and -0 are taken for different numbers"
        yield "other tokens of those that are equal are kept"
    yield from _of_rounded(lost, more)


_NARROW: Final[Sequence[tuple[str, Type]]] = (("binary16", "f16"), ("bfloat16", "bf16"))


def _of_rounded(lost: Sequence[float], more: Sequence[float]) -> Iterator[str]:
    """Yield why numbers of tokens that are confused may be taken for one number."""
    if not lost or not more or {*lost} == {*more}:
        return
    if all(abs(number) < SMALLEST_NORMAL["f32"] for number in (*lost, *more)):
        yield "only subnormal numbers are confused: perhaps they are taken for 0"
    for says, compared in COMPARED.items():
        numbers = {compared(number) for number in (*lost, *more)}
        if len(numbers) == 1 and numbers != {-inf}:
            yield says


def _of_bits(want: set[int], have: set[int], count: int) -> Iterator[str]:
    """Yield how a mask is misread, if it is."""
    if have == want:
        return
    for power in range(16, 7, -1):
        if (
            have > want
            and {each for each in want if each < 2**power} | {*range(2**power, count)} == have
        ):
            yield f"all tokens from {2**power:,} on are allowed, whatever the mask"
    for says, allowed in MASKS.items():
        if have == {token for token in allowed(want, count) if token < count}:
            yield f"{says}, if the mask is one of words"


def _of_token(want: int, have: int, row: Sequence[float]) -> Iterator[str]:
    for bits in range(16, 7, -1):  # the largest that all wrong tokens share is the first
        if want - have >= 2**bits and (want - have) % 2**bits == 0:
            yield f"the token is right modulo {2**bits:,}"
    for name, dtype in _NARROW:
        if abs(want - have) > 1 and nearest(float(want), dtype) == have:
            yield f"the id is rounded to {name}"
    if 0 <= min(want, have) <= max(want, have) < len(row):
        if row[want] == row[have]:
            yield "another one of equal tokens is chosen"
        else:
            yield from _of_rounded([row[want]], [row[have]])
    yield from _of_place(want, have, len(row))


_MANY: Final = 32_768
"""The number of tokens from which an incomplete block says less than a limit."""


def _of_place(want: int, have: int, count: int) -> Iterator[str]:
    """Yield what the places of the right token and the answer have in common."""
    limits = [
        f"the right token is one from {2**power:,} on, and the answer is one before"
        for power in range(17, 7, -1)
        if have < 2**power <= want
    ]
    yield from limits[:1] * (want >= _MANY)
    for size in BLOCKS:
        last = (count - 1) // size * size
        if want >= last > have and count % size and size >= FIRST_BLOCK:
            yield f"the right token is in the last block of {size:,}, which is incomplete"
    yield from limits
    if want == count - 1:
        yield "the right token is the last one of the row: it is left out"
    if count > FIRST_BLOCK and have == count - 1:
        yield AT_THE_END
    if count > FIRST_BLOCK and have == 0:
        yield "the answer is token 0"
    if have == want + 1:
        ends = (size for size in reversed(USUAL) if have % size == 0)
        yield from (f"the last token of a block of {size:,} is left out" for size in ends)
        yield "the token is the next one"
    if have == want - 1:
        yield "the token is the one before"
