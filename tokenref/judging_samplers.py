"""Judge one answer about a sampler by one record, according to the record's verdict.

Tokens are always compared exactly. Numbers are compared in the type of the question: bit by bit
if the verdict is exact, within a number of units in the last place if it is close.

Counts of draws with an engine's own random numbers must fit a probability distribution. Two rows of
one batch, or of two consecutive calls, must be independent: the pairs of their tokens must fit the
product of their distributions. Rows with the same seed must have the same tokens; all other rows
must differ.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations, product
from math import ceil, copysign, exp, fsum, inf, isnan, log, ulp
from typing import Any, Final, TypeAlias

import msgspec

from tokenref.answers import Declared, PartialSums
from tokenref.floats import (
    DIGITS,
    Floats,
    Type,
    cut_floats,
    from_digits,
    is_numbers,
    to_digits,
    type_of,
    units_apart,
)
from tokenref.questions.sampling import BatchInput
from tokenref.readable import readable
from tokenref.record import (
    KINDS,
    OPERATIONS,
    Case,
    RecordError,
    form_of,
    op_of,
    reason_and_place,
    rows_op,
)
from tokenref.verdicts import Close, Either, Judgement, Row, Rows, Seeds, Set, Stat, Survey, judged


def compare(case: Case, got: Mapping[str, Any], declared: Declared) -> Judgement:
    """Return how an answer differs from a record about a sampler.

    `declared` is what the engine declared about its arithmetic and its ties. If one of the
    alternatives has that label, only that alternative is accepted.
    """
    if isinstance(case.verdict, Survey):
        return judged(remark="only recorded")
    try:
        return _compare(case, _in_its_form(case, got), declared)
    except msgspec.ValidationError as error:
        reason, place = reason_and_place(str(error))
        where = place.removeprefix("$").removeprefix(".") or "the answer"
        words = re.sub(r"`(\w+)`", lambda kind: KINDS.get(kind[1], kind[0]), reason)
        form = form_of(rows_op(case))
        expected = f'{{"rows":[{form}]}}' if isinstance(case.input, BatchInput) else form
        return judged(f"{where}: {words[0].lower()}{words[1:]}; the form is {expected}")


def _compare(case: Case, got: dict[str, Any], declared: Declared) -> Judgement:
    """Return how an answer of the right form differs from a record about a sampler."""
    verdict = case.verdict
    if isinstance(verdict, Stat | Seeds):
        return compare_own_draws(case, verdict, got)
    if isinstance(verdict, Set):
        return judged(set_difference(verdict, got["keep"], _row(case)))
    if isinstance(verdict, Either):
        return _compare_alternatives(verdict, got, declared)
    if isinstance(verdict, Rows):
        return _compare_rows(verdict, case.input, got, declared.arithmetic)
    if isinstance(verdict, Row):
        row = case.input.target if op_of(case) == "residual" else case.input.logits
        return _compare_row(verdict, row, got, declared.arithmetic)
    expected = msgspec.to_builtins(case.out)
    if op_of(case) in {"chain", "steps"}:
        stage = _stage_difference(expected.pop("stages", None), got.get("stages"))
        if stage:
            return judged(stage)
        _allow_fused(expected, got)
    elif op_of(case) == "batch" and case.input.op == "steps":
        for want, have in zip(expected["rows"], got["rows"], strict=False):
            _allow_fused(want, have)
    return _compare_values(expected, got, verdict if isinstance(verdict, Close) else None)


def _in_its_form(case: Case, got: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer as plain data. Raises `ValidationError` if it has not the right form."""

    def checked(op: str, answer: Any) -> dict[str, Any]:
        read: dict[str, Any] = msgspec.to_builtins(msgspec.convert(answer, OPERATIONS[op].answer))
        return read

    read = checked(op_of(case), got)
    if isinstance(case.input, BatchInput):
        read["rows"] = [checked(case.input.op, row) for row in read["rows"]]
    return read


def _allow_fused(expected: dict[str, Any], got: Mapping[str, Any]) -> None:
    """Expect no kept tokens of a fused kernel, which returns only the token that it drew."""
    if "token" in expected and "keep" not in got:
        del expected["keep"]


def _compare_alternatives(verdict: Either, got: Mapping[str, Any], declared: Declared) -> Judgement:
    labels = {declared.arithmetic, declared.tie}
    allowed = [each for each in verdict.alternatives if each.label in labels]
    differences = []
    for each in allowed or verdict.alternatives:
        difference = _compare_values(each.out, got, None)
        if not difference.detail:
            return judged(remark=each.label)
        differences.append(f"for {each.label}, {difference.detail}")
    return judged("; ".join(differences))


# ---- long rows


def row_of(verdict: Row, question: Floats) -> dict[str, Any]:
    """Return the answer that a verdict about a long row describes.

    Raises `RecordError` if the verdict does not fit the question.

    >>> verdict = Row(part="probs", changed=[(1, "4000")], values=[("3c00", "3800")])
    >>> row_of(verdict, Floats(f16="3c003c003c00"))
    {'probs': {'f16': '380040003800'}}
    """
    digits, width = question.digits(), DIGITS[question.type]
    row = [digits[at : at + width] for at in range(0, len(digits), width)]
    if verdict.values is not msgspec.UNSET:
        values = dict(verdict.values)
        row = [values.get(each, "") for each in row]
    for place, number in verdict.changed:
        if place >= len(row):
            raise RecordError(f"a verdict changes number {place} of a row of {len(row)}")
        row[place] = number
    if not {width}.issuperset(map(len, row)):
        raise RecordError("a verdict about a row must have a number for each of the question")
    return {verdict.part: {question.type: "".join(row)}}


_Sums: TypeAlias = str | PartialSums | None

_OTHER: Final = 8
"""Units for an exponential, its argument, and a division or a reciprocal and a product."""


def probs_units(apart: float) -> int:
    """Return by how many units in 32 bits a probability may be off, if a row's sum is.

    `apart` is the largest relative distance of the sum from the exact one.

    >>> probs_units(0.0), probs_units(2.0**-20)
    (8, 24)
    """
    return ceil(apart * 2**24) + _OTHER


def logprobs_units(row: Sequence[float], apart: float) -> int:
    """Return by how many units in 32 bits the logarithm of a probability of a row may be off.

    The logarithm of the sum is off by the sum's relative distance `apart`, whatever the token. A
    unit is that of the logarithm nearest to zero.

    >>> logprobs_units([0.0, 0.0], 0.0), logprobs_units([0.0, 0.0], 2.0**-20)
    (5, 21)
    """
    counts = Counter(row)
    counts.pop(-inf, None)
    largest = max(counts)
    of_sum = log(fsum(count * exp(logit - largest) for logit, count in counts.items()))
    unit = ulp(min(abs(logit - largest - of_sum) for logit in counts)) * 2**29
    rounding = ulp(max(abs(largest) + of_sum, largest - min(counts) + of_sum)) * 2**29
    return ceil((apart + 3 * rounding) / unit) + 2


def sum_apart(sums: PartialSums, length: int) -> float:
    """Return the largest relative error of a sum in 32 bits of numbers that are not negative.

    Each number goes through a limited number of additions, each of which is off by 2**-24 at most.

    >>> sum_apart(PartialSums(size=1), 2) == 2**-24 / (1 - 2**-24)
    True
    """
    additions = sums.additions(length) * 2.0**-24
    return additions / (1 - additions)


def _compare_row(verdict: Row, row: Floats, got: Mapping[str, Any], sums: _Sums) -> Judgement:
    close = None
    if verdict.ulp is not msgspec.UNSET:
        close = Close(ulp=_units(verdict, row, sums) or verdict.ulp, floor=verdict.floor)
    return _compare_values(row_of(verdict, row), got, close)


def _units(verdict: Row, row: Floats, sums: _Sums) -> int | None:
    """Return the limit that follows from declared partial sums, if they matter for this row."""
    if not isinstance(sums, PartialSums) or row.type != "f32":
        return None
    values = row.values()
    apart = sum_apart(sums, len(values))
    if verdict.part == "probs":
        return probs_units(apart)
    return logprobs_units(values, apart) if verdict.part == "logprobs" else None


def _compare_rows(
    verdict: Rows, batch: BatchInput, got: Mapping[str, Any], sums: _Sums
) -> Judgement:
    """Compare the rows of a batch, each with its verdict; those of later calls are equal."""
    calls = 1 if batch.calls is msgspec.UNSET else batch.calls
    verdicts = verdict.rows * calls
    answers = got["rows"]
    if len(answers) != len(verdicts):
        return judged(f"rows: expected {len(verdicts)} answers, got {len(answers)}")
    first = len(batch.rows)
    for number, answer in enumerate(answers):
        if answer != answers[number % first]:
            call = number // first + 1
            return judged(f"row {number % first}: call {call} must have the bits of the first")
    largest = 0
    for number, (each, asked, answer) in enumerate(
        zip(verdicts, batch.rows * calls, answers, strict=True)
    ):
        logits = asked["logits"]
        if batch.vocab_size is not msgspec.UNSET:
            logits = cut_floats(logits, batch.vocab_size)
        difference = _compare_row(each, msgspec.convert(logits, Floats), answer, sums)
        if difference.detail:
            return replace(difference, detail=f"row {number}: {difference.detail}")
        largest = max(largest, difference.ulp or 0)
    return judged(ulp=largest)


# ---- sets of kept tokens


def set_difference(verdict: Set, keep: Sequence[int], row: Sequence[float]) -> str:
    """Return what is wrong with the kept tokens of a row, or an empty string.

    >>> verdict = Set(must=[0], may=[0, 1], sizes=[1, 2], reason="An example of what a tie is.")
    >>> set_difference(verdict, [0], [0.5, 0.5]), set_difference(verdict, [1], [0.5, 0.5])
    ('', 'keep: expected [0] to be kept too, got [1]')
    """
    kept = set(keep)
    if len(kept) != len(keep):
        return f"keep: expected each token once, got {short(keep)}"
    missing = sorted(set(verdict.must) - kept)
    if missing:
        return f"keep: expected {ids(missing)} to be kept too, got {ids(sorted(kept))}"
    foreign = sorted(kept - set(verdict.may))
    if foreign:
        return f"keep: expected {ids(foreign)} to be removed, got {ids(sorted(kept))}"
    if len(kept) not in verdict.sizes:
        sizes = " or ".join(map(str, verdict.sizes))
        return f"keep: expected {sizes} tokens, got {len(kept)}"
    lightest = min(kept, key=row.__getitem__)
    heavier = next(
        (token for token in range(len(row)) if token not in kept and row[token] > row[lightest]),
        None,
    )
    if heavier is not None:
        return (
            f"keep: expected no removed token to be heavier than a kept one, "
            f"got {lightest} ({row[lightest]!r}) without {heavier} ({row[heavier]!r})"
        )
    return ""


def _row(case: Case) -> list[float]:
    probs = getattr(case.input, "probs", msgspec.UNSET)
    row: Floats = case.input.logits if probs is msgspec.UNSET else probs
    return row.values()


# ---- stages of a chain


def _stage_difference(expected: Any, got: Any) -> str:
    """Return the first stage of a chain that differs, if the answer has stages."""
    if expected is None or got is None:
        return ""
    if len(got) != len(expected):
        names = [stage["step"] for stage in got]
        want = [stage["step"] for stage in expected]
        return f"stages: expected {short(want)}, got {short(names)}"
    for want, have in zip(expected, got, strict=True):
        if want["step"] != have["step"]:
            return f"stages: expected {want['step']} next, got {short(have['step'])}"
        difference = _value_difference(want["keep"], have["keep"])
        if difference:
            return f"stage {want['step']}, keep: {difference}"
    return ""


# ---- values, one by one


def _compare_values(
    expected: Mapping[str, Any], got: Mapping[str, Any], close: Close | None
) -> Judgement:
    """Compare two answers part by part, numbers within the allowed distance."""
    largest = 0
    for place, want, have in _parts(expected, got, ""):
        if not is_numbers(want):
            is_drawn = place.rpartition(".")[2] == "tokens"
            difference = (_first_difference if is_drawn else _value_difference)(want, have)
            if difference:
                return judged(f"{place}: {difference}")
            continue
        distance, difference = _compare_floats(want, have, close)
        if difference:
            return judged(f"{place}{difference}", ulp=distance)
        largest = max(largest, distance or 0)
    return judged(ulp=largest if close is not None else None)


def _parts(expected: Any, got: Any, place: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the corresponding parts of an expected answer and an answer, with their place."""
    if isinstance(expected, Mapping) and not is_numbers(expected) and isinstance(got, Mapping):
        for key, value in expected.items():
            if key != "stages" or key in got:  # an answer need not have stages
                yield from _parts(value, got.get(key), f"{place}.{key}" if place else key)
        for key in got.keys() - expected.keys():
            if key != "stages":
                yield f"{place}.{key}" if place else key, None, got[key]
    elif (
        isinstance(expected, list)
        and isinstance(got, list)
        and len(got) == len(expected)
        and any(isinstance(value, Mapping) for value in expected)
    ):
        for number, (value, other) in enumerate(zip(expected, got, strict=True)):
            yield from _parts(value, other, f"{place}[{number}]")
    else:
        yield place, expected, got


def _compare_floats(
    expected: Mapping[str, str], got: Any, close: Close | None
) -> tuple[int | None, str]:
    """Return the largest distance between two lists of numbers, and where it is too large."""
    dtype = type_of(expected)
    if not isinstance(got, Mapping) or dtype not in got:
        return None, f": expected {{{dtype!r}: digits}}, got {short(got)}"
    if got[dtype] == expected[dtype]:
        return 0, ""
    width = DIGITS[dtype]
    want, have = (
        [digits[at : at + width] for at in range(0, len(digits), width)]
        for digits in (expected[dtype], got[dtype])
    )
    if len(want) != len(have):
        return None, f": expected {len(want)} numbers, got {len(have)}"
    allowed = close.ulp if close is not None else 0
    largest = 0
    gone = to_digits([-inf], dtype)
    left = [[token for token, each in enumerate(row) if each != gone] for row in (want, have)]
    # Rows that lack different tokens are compared as ids.
    if left[0] != left[1] and not any(map(isnan, from_digits(got[dtype], dtype))):
        return None, f", tokens above -inf: {_value_difference(*left)}"
    for pair in dict.fromkeys(zip(want, have, strict=True)):  # a long row has few different ones
        (first,), (second,) = (from_digits(each, dtype) for each in pair)
        distance = _distance(first, second, dtype, close)
        if distance > allowed:
            place = [*zip(want, have, strict=True)].index(pair)
            apart = "of another kind" if distance == inf else f"{distance} units in the last place"
            return None if distance == inf else int(distance), (
                f"[{place}]: expected {first!r}, got {second!r} ({apart})"
            )
        largest = max(largest, int(distance))
    return largest, ""


def _distance(first: float, second: float, dtype: Type, close: Close | None) -> float:
    """Return the distance of two numbers in units; below the floor all but zero are equal.

    A minus zero is a logarithm that is a little below 0, so it is no exact zero.
    """
    if close is not None and close.floor is not msgspec.UNSET:
        (floor,) = close.floor.values()
        is_exactly_zero = first == 0 and copysign(1.0, first) > 0
        if not is_exactly_zero and abs(first) <= floor and abs(second) <= floor:
            return 0
    return units_apart(first, second, dtype)


def _value_difference(expected: Any, got: Any) -> str:
    """Return how two values other than rows of numbers differ, or an empty string."""
    if got == expected:
        return ""
    if not are_ids(expected) or not are_ids(got):
        return f"expected {short(expected)}, got {short(got)}"
    missing, foreign = sorted(set(expected) - set(got)), sorted(set(got) - set(expected))
    says = [f"without {ids(missing)}"] if missing else []
    says += [f"with {ids(foreign)} as well"] if foreign else []
    if not says:
        says = ["in another order, or repeated"]
    return f"expected {ids(expected)}, got {ids(got)}: {' and '.join(says)}"


def _first_difference(expected: Any, got: Any) -> str:
    """Return how two sequences of tokens differ, with the first place, or an empty string."""
    if got == expected or not are_ids(expected) or not are_ids(got):
        return _value_difference(expected, got)
    pairs = enumerate(zip(expected, got, strict=False))
    lengths = f"{len(got)} tokens instead of {len(expected)}"
    first = next((f"{b} instead of {a} at place {at}" for at, (a, b) in pairs if a != b), lengths)
    return f"expected {ids(expected)}, got {ids(got)}: {first}"


# ---- draws with an engine's own random numbers

_PAIR: Final = 2


def compare_own_draws(case: Case, verdict: Stat | Seeds, got: Mapping[str, Any]) -> Judgement:
    """Return what is wrong with an answer, or a remark about a correct one."""
    if isinstance(verdict, Seeds):
        return _compare_seeds(case, got["batches"])
    if op_of(case) == "stat_batch":
        return _compare_batches(case, verdict, got["tokens"])
    counts, wrong = _read_counts(got["counts"], case, verdict)
    if wrong:
        return judged(f"counts: {wrong}")
    detail, statistic = _compare_counts(verdict, counts, case.input.draws)
    if detail:
        return judged(f"counts: {detail}")
    (limit,), (least,) = verdict.limit.values(), verdict.least.values()
    if statistic < least:
        return judged(remark=f"too good to be true: G is {statistic:.4g}")
    return judged(remark=f"G is {statistic:.4g}, at most {limit:.4g}")


# ---- counts


def _compare_counts(verdict: Stat, counts: Mapping[int, int], draws: int) -> tuple[str, float]:
    """Return what is wrong with the counts of outcomes, and G if it is defined."""
    drawn = sorted(outcome for outcome in verdict.never if counts.get(outcome))
    if drawn:
        return f"expected {_named(verdict, drawn)}, of probability 0, never to be drawn", 0.0
    missed = sorted(outcome for outcome in verdict.must if not counts.get(outcome))
    if missed:
        return f"expected {_named(verdict, missed)} to be drawn, got none of them", 0.0
    statistic = _statistic(verdict, counts, draws)
    (limit,) = verdict.limit.values()
    if statistic > limit:
        detail = f"expected G of at most {limit:.4g} (alpha {verdict.alpha}), got {statistic:.4g}"
        return detail, statistic
    return "", statistic


def _statistic(verdict: Stat, counts: Mapping[int, int], draws: int) -> float:
    """Return G: the sum over all bins of 2 O ln(O / E)."""
    statistic = 0.0
    for outcomes, share in zip(verdict.bins, verdict.shares.values(), strict=True):
        seen = sum(counts.get(outcome, 0) for outcome in outcomes)
        if seen:
            statistic += 2 * seen * log(seen / (share * draws))
    return max(statistic, 0.0)  # rounding may make it negative for counts that fit exactly


def _named(verdict: Stat, outcomes: Sequence[int]) -> str:
    """Return outcomes in the form for messages: tokens, or lists of tokens."""
    if isinstance(verdict.outcomes, msgspec.UnsetType):
        return ids(outcomes)
    return short([verdict.outcomes[outcome] for outcome in outcomes])


def _read_counts(
    counts: Sequence[tuple[Any, int]], case: Case, verdict: Stat
) -> tuple[dict[int, int], str]:
    """Return the counts of an answer by outcome, and why they are invalid, if so."""
    lists = not isinstance(verdict.outcomes, msgspec.UnsetType)
    noun, where = ("tokens", "possible list") if lists else ("token", "token of the row")
    place = _place(case, verdict)
    read: dict[int, int] = {}
    for drawn, times in counts:
        outcome = place(drawn)
        if lists and outcome is None and times:
            return read, f"expected {short(drawn)}, which is impossible, never to come"
        if outcome in read or (outcome is None and not lists):
            pair = short([drawn, times])
            return read, f"expected [{noun}, count], each {where} once, got {pair}"
        if outcome is not None:
            read[outcome] = times
    if sum(read.values()) != case.input.draws:
        return read, f"expected {case.input.draws} draws in all, got {sum(read.values())}"
    return read, ""


def _place(case: Case, verdict: Stat) -> Callable[[Any], int | None]:
    """Return a function that returns the number of an outcome: a token or a list of tokens."""
    if isinstance(verdict.outcomes, msgspec.UnsetType):
        size = len(_row(case))
        return lambda token: token if token < size else None
    numbers = {tuple(tokens): number for number, tokens in enumerate(verdict.outcomes)}
    return lambda tokens: numbers.get(tuple(tokens))


# ---- batches of one row


def _compare_batches(case: Case, verdict: Stat, calls: Sequence[Sequence[int]]) -> Judgement:
    """Compare the rows of a call in pairs, and each with each row of the next call."""
    rows, draws = case.input.rows, case.input.draws
    if len(calls) != draws:
        return judged(f"tokens: expected {draws} calls, got {len(calls)}")
    for tokens in calls:
        if len(tokens) != rows:
            return judged(f"tokens: expected {rows} tokens in each call, got {short(tokens)}")
    place = _place(case, verdict)
    largest = 0.0
    for name, pairs in _pairs([list(row) for row in zip(*calls, strict=True)]):
        counts: dict[int, int] = {}
        for pair, times in Counter(pairs).items():
            outcome = place(pair)
            if outcome is None:
                return judged(f"tokens: {name}: expected {list(pair)}, which is impossible, never")
            counts[outcome] = times
        times = sum(counts.values())
        detail, statistic = _compare_counts(verdict, counts, times)
        if detail:
            return judged(f"tokens: {name}, as pairs of independent rows: {detail}")
        largest = max(largest, statistic)
    (limit,) = verdict.limit.values()
    return judged(remark=f"the largest G is {largest:.4g}, at most {limit:.4g}")


def _pairs(rows: Sequence[Sequence[int]]) -> Iterator[tuple[str, Iterator[tuple[int, int]]]]:
    """Yield the pairs of tokens of two rows of a call, then of rows of consecutive calls."""
    for one, other in combinations(range(len(rows)), _PAIR):
        yield f"rows {one} and {other} of a call", zip(rows[one], rows[other], strict=True)
    for one, other in product(range(len(rows)), repeat=_PAIR):
        pairs = zip(rows[one][::2], rows[other][1::2], strict=False)  # each call in one pair only
        yield f"row {one} of a call and row {other} of the next", pairs


# ---- seeds


def _compare_seeds(case: Case, batches: Sequence[Sequence[list[int]]]) -> Judgement:
    """Compare rows with the same seed, and rows with different seeds or none."""
    wrong = _wrong_batches(case, batches)
    if wrong:
        return judged(f"batches: {wrong}")
    of_seed: dict[int, tuple[str, list[int]]] = {}
    of_tokens: dict[tuple[int, ...], tuple[str, int | None]] = {}
    seeds = case.input.batches
    for number, (given, rows) in enumerate(zip(seeds, batches, strict=True)):
        for place, (seed, tokens) in enumerate(zip(given, rows, strict=True)):
            name = f"row {place} of batch {number}"
            name += " (without a seed)" if seed is None else f" (seed {seed})"
            if seed is not None:
                first, expected = of_seed.setdefault(seed, (name, tokens))
                if tokens != expected:
                    return judged(f"batches: {name}: expected the tokens of {first}, got others")
            other, its = of_tokens.setdefault(tuple(tokens), (name, seed))
            if other != name and (seed is None or its != seed):
                return judged(f"batches: {name}: expected other tokens than those of {other}")
            if len(tokens) > 1 and len(set(tokens)) == 1:
                return judged(f"batches: {name}: expected tokens that change, got {ids(tokens)}")
    return judged(remark=f"{len(of_tokens)} rows that differ, {len(of_seed)} seeds")


def _wrong_batches(case: Case, batches: Sequence[Sequence[Sequence[int]]]) -> str:
    """Return why an answer does not have the tokens of all rows, or an empty string."""
    size, length, sizes = len(_row(case)), case.input.tokens, [*map(len, case.input.batches)]
    if [*map(len, batches)] != sizes:
        return f"expected batches of {sizes} rows, got {[*map(len, batches)]}"
    for row in chain.from_iterable(batches):
        if len(row) != length:
            return f"expected {length} tokens for each row, got {short(row)}"
        if max(row) >= size:
            return f"expected tokens from 0 to {size - 1}, got {short(row)}"
    return ""


# ---- values in messages

_SHOWN: Final = 120
"""Maximum length of a value in a message, in characters."""

_MOST_IDS: Final = 12
"""Maximum number of tokens in a message."""


def are_ids(value: Any) -> bool:
    """Return whether a value is a list of integers. A bool does not count as one.

    >>> are_ids([0, 1]), are_ids([True]), are_ids("01")
    (True, False, False)
    """
    return isinstance(value, list) and all(type(token) is int for token in value)


def ids(tokens: Sequence[int]) -> str:
    """Return tokens as a list, truncated if there are many.

    >>> ids([3, 5]), ids(range(20))
    ('[3, 5]', '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ... 20 in all]')
    """
    shown = ", ".join(map(str, tokens[:_MOST_IDS]))
    return f"[{shown}]" if len(tokens) <= _MOST_IDS else f"[{shown}, ... {len(tokens)} in all]"


def short(value: Any) -> str:
    """Return the beginning of a value's repr, with floats in decimal instead of bits.

    >>> short([1, None]), len(short("a" * 1000)), short({"f32": "3f000000"})
    ('[1, None]', 123, "{'f32': [0.5]}")
    """
    text = repr(readable(value))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
