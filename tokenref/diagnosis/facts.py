"""Facts about a wrong answer that suggest what a program does wrong.

A fact is found by comparing the answer with the right one: the sum lacks what one block of tokens
weighs, a row of a batch has the answer of another row, a list ends at a round number. It is no
diagnosis: a fact is named only if it holds for most failures of an operation that have no known
cause.

To add a fact, yield it from the function about its kind of answer: `_of_batch` for the rows of a
batch, `_of_counts` for draws, and in `row_facts` `_of_numbers` for numbers, `_of_kept` for lists of
tokens, `_of_token` for one token.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from math import ceil, gcd, log
from typing import Any, Final

import msgspec

from tokenref.answers import Answer, Crashed, Malformed, Ok, Refused, TimedOut
from tokenref.diagnosis import try_hint
from tokenref.diagnosis.mistakes import GROUPS, OTHER_ROWS, weights_of
from tokenref.diagnosis.row_facts import AS_BEFORE, INEXACT, NO_FILTER, WRONG_RANK, near, of_row
from tokenref.floats import Floats, cut_floats, is_numbers, numbers_of, unpack
from tokenref.judge import FAILURES
from tokenref.judging_samplers import row_of
from tokenref.questions.sampling import BatchInput, tokens_of
from tokenref.record import Case, op_of
from tokenref.result import Result, answer_digest
from tokenref.verdicts import Judgement, MustRefuse, Row, Rows, Set

REFUSED: Final = "a valid input is refused with "
"""The beginning of a fact that does not say why."""

DIFFERS: Final = (
    "the answers to one question differ: the program is not deterministic, "
    "or keeps something of the question before"
)
"""A fact about answers to a question that was asked several times."""

ORDERED: Final = "rows lie in another order in memory: perhaps `order` is ignored"
"""A fact about batches with a layout."""

PADDED: Final = (
    "rows are padded, and lie in another order in memory: perhaps `vocab_size` or `order` is "
    "ignored"
)
"""The same fact about batches that have padding, too."""

VAGUE: Final = frozenset(
    {
        "one token more is kept",
        "one token less is kept",
        "tokens that equal the last kept one are missing",
        "the token is the next one",
        "the token is the one before",
        AS_BEFORE,
        *NO_FILTER,
        PADDED,
        ORDERED,
    }
)
"""Facts that hold for many mistakes, and are said after all others."""


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
        milliseconds = answer.seconds * 1000 if isinstance(answer, TimedOut) else milliseconds
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
    return tuple(f for f in facts if f != INEXACT or WRONG_RANK not in facts) or otherwise


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
        yield from of_row(right, out, msgspec.to_builtins(case.input))
        return
    asked = [
        {**row, "logits": _logits(batch, row)} if "logits" in row else row for row in batch.rows
    ]
    yield from _of_batch(right["rows"], out["rows"], asked)
    order = [] if batch.layout is msgspec.UNSET else batch.layout.order
    if order != sorted(order):
        yield from [PADDED] * (batch.vocab_size is not msgspec.UNSET)
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


_USED_AGAIN: Final = "each random number is used several times"


def _of_counts(counts: Mapping[int, int], asked: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with random numbers, given how often they drew each token."""
    if len(counts) == 1:
        yield "every draw gives the same token"
    elif len(counts) * log(gcd(*counts.values())) > _LIKELIER:  # which is no chance
        yield _USED_AGAIN
    each, chance, is_again = asked["draws"] / 256, 0.0, True  # how often a number is used
    for count in counts.values():
        numbers = max(1, round(count / each))
        within = 2 * numbers**0.5 + 1  # as some numbers are used once more
        is_again &= abs(count - numbers * each) <= within
        chance += log(min(1.0, 2 * within / each))
    if is_again and chance < -_LIKELIER / 2:
        yield "random numbers come again after 256 of them"
    weights = unpack(asked["probs"]) if "probs" in asked else weights_of(unpack(asked["logits"]))
    if asked["params"] or not 0 <= min(counts) <= max(counts) < len(weights):
        return
    sums = [0.0, *accumulate(weights)]
    until = [each / sums[-1] for each in sums]
    law = [end - start for start, end in pairwise(until)]
    for says, narrowed in _OTHER_NUMBERS.items():
        other = [end - start for start, end in pairwise(map(narrowed, until))]
        pairs = [(counts.get(token, 0), asked["draws"] * each) for token, each in enumerate(other)]
        if any(count and not wanted for count, wanted in pairs):
            continue
        far = sum((count - wanted) ** 2 / wanted for count, wanted in pairs if wanted)
        possible = sum(wanted > 0 for _, wanted in pairs)
        likelier = sum(count * log(other[t] / law[t]) for t, count in counts.items())
        if far < possible + 5 * (2 * possible) ** 0.5 and likelier > _LIKELIER:
            yield f"random numbers seem to {says}"


def _until(end: float, number: float) -> float:
    return min(number / end, 1.0)


def _in_bits(bits: int, number: float) -> float:
    return ceil(number * 2.0**bits) / 2.0**bits


_OTHER_NUMBERS: Final[Mapping[str, Callable[[float], float]]] = {
    **{f"have {bits} bits": partial(_in_bits, bits) for bits in (8, 10, 11, 16)},
    **{f"end at {end}": partial(_until, end) for end in (0.999, 0.99, 0.95, 0.9, 0.75, 0.5)},
}
"""Which share of the random numbers of a program is less than a number."""

_LIKELIER: Final = 10
"""The logarithm of how much likelier counts must be by another law."""


# ---- batches


def _of_own_draws(calls: Sequence[Sequence[int]]) -> Iterator[str]:
    """Yield whether rows always draw the same tokens as other rows, or calls as other calls."""
    if all([*row] == [*calls[0]] for row in calls):
        yield "every call draws the tokens of the first one"
    elif all(len({*row}) == 1 < len(row) for row in calls):
        yield "all rows of a call draw the same token"
    elif all(len(row) > 2 and _are_in_pairs(row) for row in calls):
        yield "two neighbouring rows share their random numbers"
    elif all([*one] == [*later] for one, later in zip(calls[::2], calls[1::2], strict=False)):
        yield _USED_AGAIN
    elif all([*one[1:]] == [*later[:-1]] != [] for one, later in pairwise(calls)):
        yield "a call draws the tokens of the call before, moved by one row"
    for size in (4, 8, 16, *GROUPS):  # the smallest that fits says most
        if all(len(row) > size and [*row[size:]] == [*row[:-size]] for row in calls):
            yield f"row r draws the token of row r modulo {size}"


def _are_in_pairs(row: Sequence[int]) -> bool:
    """Return whether each second token is the one before, from the first or the second pair on."""
    return any([*row[at + 1 :: 2]] == [*row[at:-1:2]] for at in (0, 1))


def _of_seeds(
    asked: Sequence[Sequence[int | None]], batches: Sequence[Sequence[Sequence[int]]]
) -> Iterator[str]:
    """Yield whether rows that have the same seed draw other tokens each time, or elsewhere."""
    drawn: dict[int | None, list[tuple[int, tuple[int, ...]]]] = {}
    for seeds, rows in zip(asked, batches, strict=True):
        for place, (seed, row) in enumerate(zip(seeds, rows, strict=True)):
            drawn.setdefault(seed, []).append((place, tuple(row)))
    again = [pairs for seed, pairs in drawn.items() if seed is not None and len(pairs) > 1]
    counts = [[len({*pairs}), *(len({*x}) for x in zip(*pairs, strict=True))] for pairs in again]
    if any(each[0] > 1 for each in counts) and all(len({*each}) == 1 for each in counts):
        yield "what a seed draws depends on the row's place in the batch"
    if again and all(each[-1] == len(p) for each, p in zip(counts, again, strict=True)):
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
        yield from [DIFFERS, INEXACT] if differ else [INEXACT]
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
    elif wrong[0] and all(first) and not any("penalty" in row.get("params", ()) for row in asked):
        yield "only the first numbers of a row are wrong, as if the row before were written too far"
    most = max(1, _MOST_TOKENS // 10 // max(1, tokens_of(asked[:1])))
    pairs = ((right[row], have[row], asked[row % len(asked)]) for row in wrong[:most])
    yield from _in_common(dict.fromkeys(of_row(*each)) for each in pairs)


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
    wrong = next((place for place, pair in enumerate(pairs) if near(*pair)), len(pairs))
    is_first = wrong <= _AT_ONCE and all(near(*pair) for pair in pairs[wrong:])
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
