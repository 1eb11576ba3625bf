"""Facts about a wrong answer that suggest what a program does wrong.

A fact is found by comparing the answer with the right one: the sum lacks what one block of tokens
weighs, a row of a batch has the answer of another row, a list ends at a round number. It is no
diagnosis: a fact is named only if it holds for most failures of an operation that have no known
cause.

To add a fact, yield it from the function about its kind of answer: `_of_batch` for the rows of a
batch, `_of_numbers` for numbers, `_of_kept` for lists of tokens, `_of_token` for one token.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from math import ceil, exp, inf, isnan, log
from typing import Any, Final

import msgspec

from tokenref.answers import Answer, Crashed, Malformed, Ok, Refused, TimedOut
from tokenref.diagnosis import try_hint
from tokenref.diagnosis.asked import weights_of
from tokenref.diagnosis.mistakes import (
    BLOCKS,
    COMPARED,
    FIRST_BLOCK,
    GROUPS,
    HALVED,
    MASKS,
    OTHER_ROWS,
    SUMS,
    USUAL,
)
from tokenref.floats import (
    DIGITS,
    SMALLEST_NORMAL,
    Floats,
    Type,
    cut_floats,
    from_digits,
    is_numbers,
    nearest,
    numbers_of,
    type_of,
    unpack,
)
from tokenref.judge import FAILURES
from tokenref.judging_samplers import are_ids, row_of
from tokenref.questions.sampling import BatchInput, tokens_of
from tokenref.record import Case, op_of
from tokenref.result import Result, answer_digest
from tokenref.verdicts import Judgement, MustRefuse, Row, Rows, Set

CLOSE: Final = 1e-3
"""The relative distance up to which numbers count for equal but for rounding."""

NEARLY_ALL: Final = 0.9
"""The share of wrong numbers that one mistake explains."""

ALIKE: Final = 1e-5
"""The relative distance up to which ratios are one ratio."""

AT_THE_END: Final = "the answer is the last token of the row"
"""A fact that holds for any sum that is too large."""

REFUSED: Final = "a valid input is refused with "
"""The beginning of a fact that does not say why."""

DIFFERS: Final = (
    "the answers to one question differ: the program is not deterministic, "
    "or keeps something of the question before"
)
"""A fact about answers to a question that was asked several times."""

ORDERED: Final = "rows lie in another order in memory: perhaps `order` is ignored"
"""A fact about batches with a layout."""

_AS_BEFORE: Final = "the wrong numbers are those of the question: the step does not reach them"

VAGUE: Final = frozenset(
    {
        "one token more is kept",
        "one token less is kept",
        "tokens that equal the last kept one are missing",
        "the token is the next one",
        "the token is the one before",
        _AS_BEFORE,
        ORDERED,
    }
)
"""Facts that hold for many mistakes, and are said after all others."""

ALL_WRONG: Final = "all wrong numbers are "
"""The beginning of a fact that one failure alone does not show."""

OF_ANY_SUM: Final = "the sum is too "
"""The end of facts that are said if nothing else is known about a wrong sum."""


def result_of(
    case: Case, answer: Answer, judgement: Judgement, milliseconds: float = 0.0
) -> Result:
    """Return the result of a case: its judgement and the relevant parts of the answer."""
    got = log = wrong = ""
    facts: Sequence[str] = ()
    if judgement.status in FAILURES:
        wrong = answer_digest(op_of(case), answer)
        facts = try_hint(lambda: facts_of(case, answer)) or ()
    if isinstance(answer, Crashed | TimedOut):
        log = answer.log
    elif isinstance(answer, Ok) and judgement.status in FAILURES:
        got = _text(answer.out)
    return Result(case, judgement, milliseconds, got, log, wrong, facts)


_LONGEST_GOT: Final = 2000
"""Maximum length of an answer in the report, in characters."""


def _text(out: Mapping[str, Any]) -> str:
    """Return an answer as JSON as far as possible, truncated if it is long."""
    try:
        text = json.dumps(out, default=repr)
    except (ValueError, RecursionError) as error:
        text = f"cannot be written as JSON: {error}"
    return (
        text if len(text) <= _LONGEST_GOT else f"{text[:_LONGEST_GOT]} ... ({len(text)} characters)"
    )


def facts_of(case: Case, answer: Answer) -> tuple[str, ...]:
    """Return facts about a wrong answer to a question about a sampler, the most telling first."""
    otherwise = ("the answer has another form",) if isinstance(answer, Malformed) else ()
    if case.vocab is not None:
        return otherwise
    if isinstance(answer, Refused):
        is_valid = not isinstance(case.verdict, MustRefuse)
        return (f"{REFUSED}{answer.code}",) if is_valid else ()
    if not isinstance(answer, Ok):
        return ()
    try:
        facts = list(dict.fromkeys(_facts(case, answer.out)))
    except (TypeError, ValueError, AttributeError, KeyError):
        return otherwise
    return tuple(f for f in facts if f != _INEXACT or _WRONG_RANK not in facts) or otherwise


def _facts(case: Case, out: Mapping[str, Any]) -> Iterator[str]:
    batch = case.input if isinstance(case.input, BatchInput) else None
    if batch is not None and tokens_of(batch.rows) > _MOST_TOKENS:
        return
    if op_of(case) == "stat_batch":
        yield from _of_own_draws(out["tokens"])
    if op_of(case) == "seeds":
        yield from _of_seeds(case.input.batches, out["batches"])
    if op_of(case) == "stat":
        yield from _of_counts(dict(out["counts"]), msgspec.to_builtins(case.input))
    right = _right(case)
    if right is None:
        return
    if batch is None:
        yield from _of_row(right, out, msgspec.to_builtins(case.input))
        return
    asked = [
        {**row, "logits": _logits(batch, row)} if "logits" in row else row for row in batch.rows
    ]
    yield from _of_batch(right["rows"], out["rows"], asked)
    order = [] if batch.layout is msgspec.UNSET else batch.layout.order
    if order != sorted(order):
        yield ORDERED


def _logits(batch: BatchInput, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the logits of a row of a batch without padding."""
    size = batch.vocab_size
    return row["logits"] if size is msgspec.UNSET else cut_floats(row["logits"], size)


def _right(case: Case) -> Mapping[str, Any] | None:
    """Return the right answer, if there is only one."""
    verdict = case.verdict
    if isinstance(verdict, Set):
        return {"keep": verdict.must} if len(verdict.must) in verdict.sizes else None
    if isinstance(verdict, Row):
        return row_of(
            verdict, case.input.target if op_of(case) == "residual" else case.input.logits
        )
    if isinstance(verdict, Rows):
        pairs = zip(verdict.rows, case.input.rows, strict=True)
        rows = [(each, msgspec.convert(_logits(case.input, row), Floats)) for each, row in pairs]
        return {"rows": [row_of(*row) for row in rows]}
    return None if case.out is None else dict(msgspec.to_builtins(case.out))


# ---- own random numbers


def _of_counts(counts: Mapping[int, int], asked: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with random numbers, given how often they drew each token."""
    if len(counts) == 1:
        yield "every draw gives the same token"
    weights = unpack(asked["probs"]) if "probs" in asked else weights_of(unpack(asked["logits"]))
    if asked["params"] or not 0 <= min(counts) <= max(counts) < len(weights):
        return
    sums = [0.0, *accumulate(weights)]
    until = [each / sums[-1] for each in sums]
    law = [end - start for start, end in pairwise(until)]
    for bits in (8, 10, 11, 16):
        starts = (ceil(each * 2**bits) for each in until)
        other = [(end - start) / 2**bits for start, end in pairwise(starts)]
        pairs = [(counts.get(token, 0), asked["draws"] * each) for token, each in enumerate(other)]
        if any(count and not wanted for count, wanted in pairs):
            continue
        far = sum((count - wanted) ** 2 / wanted for count, wanted in pairs if wanted)
        possible = sum(wanted > 0 for _, wanted in pairs)
        likelier = sum(count * log(other[t] / law[t]) for t, count in counts.items())
        if far < possible + 5 * (2 * possible) ** 0.5 and likelier > _LIKELIER:
            yield f"random numbers seem to have {bits} bits"


_LIKELIER: Final = 10
"""The logarithm of how much likelier counts must be by another law."""


# ---- batches


def _of_own_draws(calls: Sequence[Sequence[int]]) -> Iterator[str]:
    """Yield whether rows always draw the same tokens as other rows, or calls as other calls."""
    if all([*row] == [*calls[0]] for row in calls):
        yield "every call draws the tokens of the first one"
    elif all(len({*row}) == 1 < len(row) for row in calls):
        yield "all rows of a call draw the same token"
    elif all([*one[1:]] == [*later[:-1]] != [] for one, later in pairwise(calls)):
        yield "a call draws the tokens of the call before, moved by one row"
    for size in GROUPS:
        if all(len(row) > size and [*row[size:]] == [*row[:-size]] for row in calls):
            yield f"row r draws the token of row r modulo {size}"


def _of_seeds(
    asked: Sequence[Sequence[int | None]], batches: Sequence[Sequence[Sequence[int]]]
) -> Iterator[str]:
    """Yield whether rows that have the same seed draw other tokens each time."""
    drawn: dict[int | None, list[tuple[int, ...]]] = {}
    for seeds, rows in zip(asked, batches, strict=True):
        for seed, row in zip(seeds, rows, strict=True):
            drawn.setdefault(seed, []).append(tuple(row))
    again = [rows for seed, rows in drawn.items() if seed is not None and len(rows) > 1]
    if again and all(len({*rows}) == len(rows) for rows in again):
        yield "rows of one seed never draw the same tokens: a seed is ignored, or goes on"


def _of_batch(
    want: Sequence[Any], have: Sequence[Any], asked: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield what holds for all wrong rows of a batch."""
    calls = len(have) // len(asked)
    right = [*want] * calls if len(want) < len(have) else want
    if len(right) != len(have):
        yield f"only {len(have)} of {len(right)} rows have an answer"
        return
    rough = [_rough(row) for row in right], [_rough(row) for row in have]
    wrong = [row for row, (a, b) in enumerate(zip(*rough, strict=True)) if a != b]
    if not wrong:
        differ = any(row != have[number % len(asked)] for number, row in enumerate(have))
        yield from [DIFFERS, _INEXACT] if differ else [_INEXACT]
        return
    are_two = len({repr(row) for row in rough[0]}) <= 2  # each wrong answer is that of other rows
    all_equal = len({repr(row) for row in rough[1]}) == 1
    for says, other in [] if are_two and all_equal else OTHER_ROWS:
        places = [other(row, len(right)) for row in range(len(right))]
        if all(
            rough[1][row] == rough[0][places[row]]
            for row in (range(len(right)) if are_two else wrong)
        ):
            yield f"row r has the right answer of {says}"
    if wrong[0] >= len(asked):
        yield "only later calls are wrong"
    elif any(
        rough[1][row] != rough[1][row % len(asked)] and want == rough[0][row % len(asked)]
        for row, want in enumerate(rough[0])
    ):
        yield DIFFERS
    elif wrong[0] in GROUPS:
        yield f"the first wrong row is row {wrong[0]}"
    first = [_first_wrong(right[row], have[row]) for row in wrong]
    if set(first) == {1} and all("history" in asked[row % len(asked)] for row in wrong):
        yield "only the number of token 0 is wrong, as if histories were padded with it"
    elif wrong[0] and all(first):
        yield "only the first numbers of a row are wrong, as if the row before were written too far"
    most = max(1, _MOST_TOKENS // 10 // max(1, tokens_of(asked[:1])))
    pairs = ((right[row], have[row], asked[row % len(asked)]) for row in wrong[:most])
    yield from _in_common(dict.fromkeys(_of_row(*each)) for each in pairs)


def _in_common(facts: Iterator[dict[str, None]]) -> Sequence[str]:
    """Return the facts that all rows have in common, in the order of the first row."""
    common = list(next(facts))
    for each in facts:
        common = [fact for fact in common if fact in each]
        if not common:
            break
    return common


def _first_wrong(want: Mapping[str, Any], have: Mapping[str, Any]) -> int:
    """Return how many numbers at the beginning of a row are wrong, or 0 if these are not all."""
    ((key, value),) = want.items() if len(want) == 1 else [("", None)]
    if not is_numbers(value) or not is_numbers(have.get(key)):
        return 0
    pairs = list(zip(numbers_of(value) or [], numbers_of(have[key]) or [], strict=False))
    wrong = next((place for place, pair in enumerate(pairs) if _near(*pair)), len(pairs))
    is_first = wrong <= _AT_ONCE and all(_near(*pair) for pair in pairs[wrong:])
    return wrong if is_first and wrong < len(pairs) else 0


_AT_ONCE: Final = 16
"""How many numbers are written at once, at most."""


def _rough(answer: Any) -> Any:
    """Return an answer with a hash of rounded numbers instead of them, as a value to compare."""
    if is_numbers(answer):
        return hash(tuple(f"{number:.3g}" for number in numbers_of(answer) or ()))
    if isinstance(answer, Mapping):
        return {key: _rough(value) for key, value in answer.items()}
    return answer


_MOST_TOKENS: Final = 1_000_000
"""The tokens of the largest batch that is compared row by row."""


# ---- one row

_WRONG_RANK: Final = "the rank is wrong"
_INEXACT: Final = (
    "all numbers are within 0.1 % of the right ones: something is calculated with too few bits"
)


def _of_row(
    want: Mapping[str, Any], have: Mapping[str, Any], asked: Mapping[str, Any]
) -> Iterator[str]:
    given = asked.get("logits", asked.get("probs"))
    row = unpack(given) if given else []
    for key, value in want.items():
        other: Any = have.get(key)
        if is_numbers(value) and is_numbers(other):
            numbers, others = numbers_of(value) or [], numbers_of(other) or []
            if len(numbers) == len(others) and numbers != others:
                yield from _of_byte_order(numbers, other)
                if -inf in numbers and has_mask(asked):
                    yield from _of_bits(_possible(numbers), _possible(others), len(numbers))
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


def _possible(numbers: Sequence[float]) -> set[int]:
    return {place for place, number in enumerate(numbers) if number != -inf}


def _of_byte_order(want: Sequence[float], have: Mapping[str, str]) -> Iterator[str]:
    """Yield whether numbers are right with their bytes in the other order."""
    dtype = type_of(have)
    digits, width = have[dtype], DIGITS[dtype]
    turned = (bytes.fromhex(digits[at : at + width])[::-1] for at in range(0, len(digits), width))
    if all(map(_near, want, from_digits(b"".join(turned).hex(), dtype))):
        yield "the bytes of each number are in the other order: digits begin with the highest byte"


def _of_report(key: str, want: Any, have: Any) -> Iterator[str]:
    """Yield what is wrong with the tokens or the rank of a report."""
    if key == "tokens" and are_ids(have) and len(set(have)) < len(have):
        yield "a token is listed twice"
    if key == "rank" and isinstance(have, int) and have != want:
        if FIRST_BLOCK <= have < want and have & (have - 1) == 0:
            yield f"the rank ends at {have:,}"
        yield _WRONG_RANK


def _of_numbers(
    key: str, want: Sequence[float], have: Sequence[float], row: Sequence[float]
) -> Iterator[str]:
    wrong = [
        place
        for place, (a, b) in enumerate(zip(want, have, strict=True))
        if a != b and not (_near(a, b) or (isnan(a) and isnan(b)))
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
    if key in {"probs", "logprobs"}:
        yield from _of_sums(key, want, have)
    if key == "probs":
        yield from _of_maxima(want, have)
    if not wrong:
        yield _INEXACT
        return
    yield from _of_wrong(wrong, have)


def _of_steps(wrong: Sequence[int], have: Sequence[float], row: Sequence[float]) -> Iterator[str]:
    """Yield which wrong numbers of a row a step does not reach, or reaches by a wrong id."""
    moved = {place for place in wrong if have[place] != row[place]}
    if not moved:
        yield _AS_BEFORE
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


def _near(a: float, b: float) -> bool:
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
    if most - least > CLOSE * most:
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
    if abs(factor - 1) < _IN_16_BITS:
        yield f"all {named}: {OF_ANY_SUM}inexact, perhaps it has 16 bits"
    yield f"all {named}: {OF_ANY_SUM}{'small' if lacks > 0 else 'large'}"


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
    if row and "steps" not in asked and want and 0 <= min(want | have) <= max(want | have) < count:
        if {row[token] for token in foreign} == {0.0 if "probs" in asked else -inf}:
            yield "tokens are kept that are impossible"
        yield from _of_equals(missing, foreign, row, have)
    if not foreign:
        p = asked.get("params", {}).get("p")
        if is_numbers(p) and max(numbers_of(p) or ()) >= 1:
            yield "tokens are missing, though p = 1 keeps all that are possible"
        yield from _of_missing(missing, have, count)
    for size in HALVED if missing else ():
        held = Counter(token // size for token in have)
        most = max(held.values(), default=0)
        is_limit = FIRST_BLOCK // 8 <= most < size and most & (most - 1) == 0
        if is_limit and all(held[token // size] == most for token in missing):
            yield f"at most {most:,} tokens of each block of {size:,} are kept"
    if not missing and len(foreign) == 1:
        yield "one token more is kept"


def _of_missing(missing: set[int], have: set[int], count: int) -> Iterator[str]:
    """Yield what the missing tokens of a list have in common."""
    if len(have) >= FIRST_BLOCK and len(have) & (len(have) - 1) == 0:
        yield f"the list ends after {len(have):,} tokens"
    for size in BLOCKS:
        if min(missing) >= (count - 1) // size * size >= FIRST_BLOCK and count % size:
            yield f"tokens of the last block of {size:,}, which is incomplete, are missing"
    for power in range(16, 7, -1):
        if max(have, default=-1) < 2**power <= min(missing):
            yield f"no token from {2**power:,} on is kept"
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
    for bits in (16, 15, 8):
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
        for power in range(16, 7, -1)
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
        yield "the token is the next one"
    if have == want - 1:
        yield "the token is the one before"
