"""Causes that show in which questions fail, whatever the answers are.

To add one, write a function of a question and a line in `PROPERTIES`.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from math import inf
from typing import Any, Final

import msgspec

from tokenref.diagnosis.row_facts import has_mask
from tokenref.diagnosis.signatures import FEWEST, Diagnosis, by_place
from tokenref.floats import type_of, unpack
from tokenref.questions.sampling import tokens_of
from tokenref.questions.text import TextInput
from tokenref.record import Case, op_of, rows_op
from tokenref.result import Result, length, row_questions
from tokenref.verdicts import MustRefuse

_BY_CHANCE: Final = 0.05
"""How likely it may be that all failures have a property by chance."""

_Rows = Sequence[Mapping[str, Any]]


def _are_apart(parts: Mapping[str, Any], rows: _Rows) -> bool:
    lengths = [tokens_of([row]) for row in rows]
    end = int(parts.get("vocab_size", min(lengths)))
    return any(each > end for each in (parts.get("layout", {}).get("stride", 0), *lengths))


def _is_narrow(_: object, rows: _Rows) -> bool:
    given = (row.get("logits", row.get("probs")) for row in rows)
    return all(isinstance(each, Mapping) and type_of(each) in {"f16", "bf16"} for each in given)


def _is_multiple(size: int, parts: Mapping[str, Any], rows: _Rows) -> bool:
    count = tokens_of(rows[:1])
    return count > 0 and int(parts.get("vocab_size", count)) % size == 0


def _is_negative(_: object, rows: _Rows) -> bool:
    given = (row["logits"] for row in rows if isinstance(row.get("logits"), Mapping))
    return any(max(unpack(each), default=0.0) < 0 for each in given)


def _is_impossible(_: object, rows: _Rows) -> bool:
    return any(
        isinstance(row.get(name), Mapping) and none in unpack(row[name])
        for row in rows
        if "mass" in row.get("params", ())  # of typical filtering, which has an entropy
        for name, none in (("logits", -inf), ("probs", 0.0))
    )


def _starts(parts: Mapping[str, Any], rows: _Rows) -> list[int]:
    """Return at which number of a batch each row begins."""
    layout = parts.get("layout", {})
    stride = max([layout.get("stride", 0), *(tokens_of([row]) for row in rows)])
    return [place * stride for place in layout.get("order", range(len(rows)))]


def _is_odd(size: int, parts: Mapping[str, Any], rows: _Rows) -> bool:
    return any(start % size for start in _starts(parts, rows))


def _has_more_rows(parts: Mapping[str, Any], _: object) -> bool:
    rows = parts.get("rows", 0)  # of one law, or each another question
    count = rows if isinstance(rows, int) else len(rows)
    return count > 32 and count % 32 > 0


def _has_own_histories(_: object, rows: _Rows) -> bool:
    return len({len(row.get("history", ())) for row in rows}) > 1


def _has_cut_masks(_: object, rows: _Rows) -> bool:
    return len(rows) > 1 and tokens_of(rows[:1]) % 32 > 0 and any(map(has_mask, rows))


_VECTORS: Final = (4, 2, 8, 16)

_SIZES: Final = (1024, 512, 256, 128, 64, 32)

PROPERTIES: Final[Mapping[str, Callable[[Mapping[str, Any], _Rows], bool]]] = {
    "rows are padded or lie apart, and all others pass: perhaps `vocab_size` or `stride` is "
    "ignored": _are_apart,
    "rows have numbers of 16 bits, and all others pass": _is_narrow,
    "rows have negative logits only: perhaps a maximum begins at 0, or the sign is lost": (
        _is_negative
    ),
    "rows have impossible tokens: perhaps 0 times the logarithm of 0 is NaN": _is_impossible,
    **{
        f"rows have a multiple of {size:,} tokens, and all others pass": partial(_is_multiple, size)
        for size in _SIZES
    },
    **{
        f"rows begin at numbers that are no multiples of {size}, and all others pass: perhaps they "
        "are read from the last multiple on": partial(_is_odd, size)
        for size in _VECTORS
    },
    "rows begin behind the first 65,536 numbers, and all others pass: perhaps by 16 bits": (
        lambda parts, rows: max(_starts(parts, rows)) >= 2**16
    ),
    "more than 32 rows, whose number is no multiple of 32, and all others pass": _has_more_rows,
    "rows have histories of several lengths, and all others pass: perhaps they begin elsewhere": (
        _has_own_histories
    ),
    "several masks have an incomplete last word, and all others pass: perhaps they begin "
    "elsewhere": _has_cut_masks,
}
"""Properties of questions about samplers, which only failures may have."""


def property_of_failures(
    failed: Mapping[str, Result], passed: Iterable[Case], ops: Collection[str]
) -> dict[str, str]:
    """Return what all failures of an operation have that few questions have, by operation.

    If only batches fail, all of them together come first, whatever is asked of their rows. One or
    two failures in all have a property by chance.
    """
    seen = [each.case for here in by_place(failed).values() for each in here.values()]
    wrong = [case for case in seen if case.vocab is None]
    right = [case for case in passed if not isinstance(case.verdict, MustRefuse)]
    if not wrong:
        pairs = ((op, _from_a_length_on(op, seen, right)) for op in ops)
        return {op: says for op, says in pairs if says}
    if len(wrong) < FEWEST:
        return {}
    if all(op_of(case) in {"batch", "stat_batch"} for case in wrong):
        batches = [case for case in right if op_of(case) in {"batch", "stat_batch"}]
        if says := _property_of(wrong, batches):
            return dict.fromkeys(ops, says)
    of_op: dict[str, tuple[list[Case], list[Case]]] = {op: ([], []) for op in ops}
    for is_right, cases in enumerate((wrong, right)):
        for case in cases:
            if (op := rows_op(case)) in ops:
                of_op[op][is_right].append(case)
    found = {op: _property_of(*cases) for op, cases in of_op.items()}
    counts: Counter[str] = Counter()
    for op, says in found.items():
        counts[says] += len(of_op[op][0])
    return {op: says for op, says in found.items() if says and counts[says] >= FEWEST}


def _from_a_length_on(op: str, wrong: Sequence[Case], right: Sequence[Case]) -> str:
    """Return from which length on all texts fail, if none that is shorter does."""
    late, early = ([length(c) for c in cases if op_of(c) == op] for cases in (wrong, right))
    if min(len(late), len(early)) < _MANY_TEXTS or min(late) <= max(early):
        return ""
    return f"all texts of {min(late):,} or more characters fail, and all shorter ones pass"


_MANY_TEXTS: Final = 5


def _property_of(wrong: Sequence[Case], right: Sequence[Case]) -> str:
    """Return what all these failures have and few questions that are answered right, or nothing."""
    asked = [(msgspec.to_builtins(c.input), row_questions(c)) for c in (*wrong, *right)]
    found, best = "", _BY_CHANCE
    for says, has in PROPERTIES.items() if wrong else ():
        if all(has(*each) for each in asked[: len(wrong)]):
            share = sum(has(*each) for each in asked) / len(asked)
            tries = len(_SIZES) if isinstance(has, partial) else 1
            if share < 1 and (chance := tries * share ** len(wrong)) < best:
                found, best = says, chance
    return found


# ---- time


def too_slow(results: Iterable[Result]) -> Diagnosis | None:
    """Return the timeouts on long texts, if running time appears to be quadratic.

    It does if the engine gave up at a length that it would have reached in time if its running time
    were proportional to the length.
    """
    timed = [
        (length(each.case), each.milliseconds / 1000, each)
        for each in results
        if isinstance(each.case.input, TextInput)
    ]
    # A known wrong answer is an answer, too.
    answered = [
        (size, time) for size, time, each in timed if each.status in {"pass", "fail"} or each.got
    ]
    longest = max((size for size, _ in answered), default=0)
    late = [(size, time, each) for size, time, each in timed if each.status == "timeout"]
    beyond = [(size, time) for size, time, _ in late if size > longest]
    if not longest or not beyond:
        return None
    # Questions in one message share its time, so the shortest time says most.
    seconds = min(time for size, time in answered if size > longest / 2)
    shortest, waited = min(beyond)[0], max(time for _, time in beyond)
    if waited < seconds * (shortest / longest) ** _ABOVE_LINEAR:
        return None
    texts = f"{len(late):,} texts" if len(late) > 1 else "1 text"
    texts += f" of {shortest:,} or more characters"
    but = f"but one of {longest:,}"
    if waited > seconds * (2 * shortest / longest) ** _ABOVE_ANY:
        name = "no answer"
        sentence = f"{texts} got no answer in time, {but} took only {seconds:.2g} s"
    else:
        name = "quadratic time"
        sentence = f"Running time appears to be quadratic: {texts} took too long, {but} only "
        sentence += f"{seconds:.2g} s"
    return Diagnosis(name, sentence, [each.case.id for _, _, each in late])


_ABOVE_LINEAR: Final = 1.4
"""The exponent from which growth is taken to be quadratic, because measured times are inexact."""

_ABOVE_ANY: Final = 4
"""The exponent above which a program hangs rather than being slow. The shorter of the texts that
were answered may have taken the shortest time, so lengths are compared with half of the longest."""
