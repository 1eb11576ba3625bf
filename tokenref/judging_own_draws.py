"""Judge what an engine drew with its own random numbers: counts, batches of rows, and seeds.

Counts must fit a probability distribution. Two rows of one batch, or of two consecutive calls,
must be independent: the pairs of their tokens must fit the product of their distributions. Rows
with the same seed must have the same tokens; all other rows must differ.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, product
from math import log
from typing import Any, Final, TypeAlias

import msgspec

from tokenref.floats import unpack
from tokenref.readable import readable
from tokenref.record import Case, op_of
from tokenref.verdicts import Seeds, Stat

Found: TypeAlias = tuple[str, str]
"""What is wrong, if anything, and a remark about a correct answer."""

_PAIR: Final = 2


def compare_own_draws(case: Case, verdict: Stat | Seeds, got: Mapping[str, Any]) -> Found:
    """Return what is wrong with an answer, or a remark about a correct one."""
    if isinstance(verdict, Seeds):
        return _compare_seeds(case, got.get("batches"))
    if op_of(case) == "stat_batch":
        return _compare_batches(case, verdict, got.get("tokens"))
    counts, wrong = _read_counts(got.get("counts"), case, verdict)
    if wrong:
        return f"counts: {wrong}", ""
    detail, statistic = _compare_counts(verdict, counts, case.input.draws)
    if detail:
        return f"counts: {detail}", ""
    (limit,), (least,) = verdict.limit.values(), verdict.least.values()
    if statistic < least:
        return "", f"too good to be true: G is {statistic:.4g}"
    return "", f"G is {statistic:.4g}, at most {limit:.4g}"


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


def _read_counts(counts: Any, case: Case, verdict: Stat) -> tuple[dict[int, int], str]:
    """Return the counts of an answer by outcome, and why they are invalid, if so."""
    lists = not isinstance(verdict.outcomes, msgspec.UnsetType)
    noun, where = ("tokens", "possible list") if lists else ("token", "token of the row")
    place = _place(case, verdict)
    read: dict[int, int] = {}
    if not isinstance(counts, list):
        return read, f"expected a list of [{noun}, count], got {short(counts)}"
    for pair in counts:
        if (
            not isinstance(pair, list | tuple)
            or len(pair) != _PAIR
            or type(pair[1]) is not int
            or pair[1] < 0
        ):
            return read, f"expected [{noun}, count], each {where} once, got {short(pair)}"
        outcome = place(pair[0])
        if lists and outcome is None and pair[1]:
            return read, f"expected {short(pair[0])}, which is impossible, never to come"
        if outcome in read or (outcome is None and not lists):
            return read, f"expected [{noun}, count], each {where} once, got {short(pair)}"
        if outcome is not None:
            read[outcome] = pair[1]
    if sum(read.values()) != case.input.draws:
        return read, f"expected {case.input.draws} draws in all, got {sum(read.values())}"
    return read, ""


def _place(case: Case, verdict: Stat) -> Callable[[Any], int | None]:
    """Return a function that returns the number of an outcome: a token or a list of tokens."""
    if isinstance(verdict.outcomes, msgspec.UnsetType):
        size = _size(case)
        return lambda token: token if type(token) is int and 0 <= token < size else None
    numbers = {tuple(tokens): number for number, tokens in enumerate(verdict.outcomes)}

    def of_list(value: Any) -> int | None:
        tokens = _tokens(value)
        return None if tokens is None else numbers.get(tuple(tokens))

    return of_list


def _tokens(value: Any) -> list[int] | None:
    """Return a list or tuple of tokens as a list, or None for anything else."""
    tokens = list(value) if isinstance(value, tuple) else value
    return tokens if are_ids(tokens) else None


def _size(case: Case) -> int:
    row = case.input.logits if isinstance(case.input.probs, msgspec.UnsetType) else case.input.probs
    return len(unpack(msgspec.to_builtins(row)))


# ---- batches of one row


def _compare_batches(case: Case, verdict: Stat, calls: Any) -> Found:
    """Compare the rows of a call in pairs, and each with each row of the next call."""
    rows, draws = case.input.rows, case.input.draws
    if not isinstance(calls, list | tuple) or len(calls) != draws:
        return f"tokens: expected a list of {draws} calls, got {short(calls)}", ""
    for call in calls:
        tokens = _tokens(call)
        if tokens is None or len(tokens) != rows:
            return f"tokens: expected {rows} tokens in each call, got {short(call)}", ""
    place = _place(case, verdict)
    largest = 0.0
    for name, pairs in _pairs([list(row) for row in zip(*calls, strict=True)]):
        counts: dict[int, int] = {}
        for pair, times in Counter(pairs).items():
            outcome = place(pair)
            if outcome is None:
                return f"tokens: {name}: expected {list(pair)}, which is impossible, never", ""
            counts[outcome] = times
        times = sum(counts.values())
        detail, statistic = _compare_counts(verdict, counts, times)
        if detail:
            return f"tokens: {name}, as pairs of independent rows: {detail}", ""
        largest = max(largest, statistic)
    (limit,) = verdict.limit.values()
    return "", f"the largest G is {largest:.4g}, at most {limit:.4g}"


def _pairs(rows: Sequence[Sequence[int]]) -> Iterator[tuple[str, Iterator[tuple[int, int]]]]:
    """Yield the pairs of tokens of two rows of a call, then of rows of consecutive calls."""
    for one, other in combinations(range(len(rows)), _PAIR):
        yield f"rows {one} and {other} of a call", zip(rows[one], rows[other], strict=True)
    for one, other in product(range(len(rows)), repeat=_PAIR):
        pairs = zip(rows[one][::2], rows[other][1::2], strict=False)  # each call in one pair only
        yield f"row {one} of a call and row {other} of the next", pairs


# ---- seeds


def _compare_seeds(case: Case, batches: Any) -> Found:
    """Compare rows with the same seed, and rows with different seeds or none."""
    wrong = _wrong_batches(case, batches)
    if wrong:
        return f"batches: {wrong}", ""
    of_seed: dict[int, tuple[str, list[int]]] = {}
    of_tokens: dict[tuple[int, ...], tuple[str, int | None]] = {}
    seeds = case.input.batches
    for number, (given, rows) in enumerate(zip(seeds, batches, strict=True)):
        for place, (seed, row) in enumerate(zip(given, rows, strict=True)):
            name, tokens = f"row {place} of batch {number}", list(row)
            name += " (without a seed)" if seed is None else f" (seed {seed})"
            if seed is not None:
                first, expected = of_seed.setdefault(seed, (name, tokens))
                if tokens != expected:
                    return f"batches: {name}: expected the tokens of {first}, got others", ""
            other, its = of_tokens.setdefault(tuple(tokens), (name, seed))
            if other != name and (seed is None or its != seed):
                return f"batches: {name}: expected other tokens than those of {other}", ""
            if len(tokens) > 1 and len(set(tokens)) == 1:
                return f"batches: {name}: expected tokens that change, got {ids(tokens)}", ""
    return "", f"{len(of_tokens)} rows that differ, {len(of_seed)} seeds"


def _wrong_batches(case: Case, batches: Any) -> str:
    """Return why an answer is not a list of tokens per row and batch, or an empty string."""
    size, length = _size(case), case.input.tokens
    if not isinstance(batches, list | tuple) or len(batches) != len(case.input.batches):
        return f"expected {len(case.input.batches)} batches, got {short(batches)}"
    for given, rows in zip(case.input.batches, batches, strict=True):
        if not isinstance(rows, list | tuple) or len(rows) != len(given):
            return f"expected {len(given)} rows in a batch, got {short(rows)}"
        for row in rows:
            tokens = _tokens(row)
            if tokens is None or len(tokens) != length:
                return f"expected {length} tokens for each row, got {short(row)}"
            if not all(0 <= token < size for token in tokens):
                return f"expected tokens from 0 to {size - 1}, got {short(row)}"
    return ""


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
