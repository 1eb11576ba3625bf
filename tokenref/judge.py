"""Judge one answer by one record: the status, and where the answer first differs."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import groupby, zip_longest
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import UNSET

from bpe_ref import TokenIdError, Tokenizer, Vocabulary
from bpe_ref.vocabulary.byte_alphabet import from_letters
from tokenref.answers import (
    UNDECLARED,
    Answer,
    Crashed,
    Declared,
    Malformed,
    NotAsked,
    Ok,
    Refused,
    Skipped,
    TimedOut,
    Unsupported,
    as_text,
    why_none,
)
from tokenref.catalogue import CANARY
from tokenref.judging_samplers import compare
from tokenref.readable import readable
from tokenref.record import Case
from tokenref.subjects import Samplers, Subject, TokenizerSubject, read_tokenizer
from tokenref.verdicts import Judgement, MustRefuse, Status, judged

FAILURES: Final = frozenset({"fail", "wrong_error", "crash", "timeout", "xpass"})
"""The statuses that make a run end with exit code 1."""

IDS_ALONE: Final = "the ids are right, but there are no "
"""How the detail of an answer begins that has right ids and nothing else."""

SAME_IDS: Final = " (same ids)"
"""What a detail says behind a place in another field of an encoding, as ids are compared first."""

_STAGES: Final = ("pieces", "merges")  # in the order in which they happen


PASS: Final = Judgement("pass")


Strings: TypeAlias = Sequence[str] | Vocabulary | None
"""Strings of the expected tokens, or the vocabulary that has them; None if they are not known."""


def judge(
    case: Case,
    answer: Answer,
    subject: Subject,
    declared: Declared = UNDECLARED,
    before: Strings = (),
) -> Judgement:
    """Return the judgement of an answer. Error codes are compared, error messages are not.

    `declared` is what the engine declared about its arithmetic and its ties (see
    `judging_samplers`), and about its stages: an answer that passes fails if it lacks a declared
    stage that the record has. A record of a long text has none. If it declared fields, only these
    are compared, but those of a canary all are: a wrong answer must not pass. `before` has the
    expected tokens if the subject replaces that of the record.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> from tokenref.answers import Ok
    >>> from tokenref.questions.text import CountOutput, TextInput
    >>> from tokenref.record import make_case
    >>> from tokenref.verdicts import Exact
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0})
    >>> case = make_case("count", id="bpe/count/a", profile="definition", vocab=vocabulary.digest(),
    ...     why="An example for the documentation.", flags=[], spec="definition",
    ...     verdict=Exact(), input=TextInput(text="a"), out=CountOutput(count=1))
    >>> judge(case, Ok({"count": 2}), vocabulary)
    Judgement(status='fail', detail='count: expected 1, got 2', remark='', ulp=None)
    """
    if not isinstance(answer, Ok | Refused):
        return Judgement(_STATUS[type(answer)], why_none(answer))
    if isinstance(answer, Malformed):
        return Judgement("fail", answer.why)
    if isinstance(case.verdict, MustRefuse):
        codes = " or ".join(case.verdict.codes)
        if isinstance(answer, Refused):
            if answer.code in case.verdict.codes:
                return PASS
            return Judgement("wrong_error", f"expected {codes}, got {answer.code}")
        shown = {key: readable(value) for key, value in answer.out.items() if key != "stages"}
        answered = ", ".join(f"{key} {value!r:.80}" for key, value in shown.items())
        return Judgement("fail", f"expected {codes}, got an answer: {answered}")
    if isinstance(answer, Refused):
        return Judgement("wrong_error", f"a valid input was refused: {answer.message}")
    if case.vocab is None:
        judgement = compare(case, answer.out, declared)
    else:
        expected = _plain(msgspec.to_builtins(case.out))
        strings, remark = expected.get("tokens", before), ""
        if declared.fields is not None and not case.id.startswith(CANARY):
            expected = {key: expected[key] for key in declared.fields}
            remark = f"only {', '.join(declared.fields)}"
        detail = _difference(expected, answer.out, subject, strings) or ""
        judgement = judged(detail, "" if detail else remark)
    missing = _missing_stage(case, answer.out, declared) if judgement.status == "pass" else ""
    if missing:
        return Judgement("fail", f"stage {missing}: declared in hello but missing in the answer")
    return judgement


_STATUS: Final[Mapping[type, Status]] = {
    Unsupported: "unsupported",
    Skipped: "skip",
    NotAsked: "not_run",
    TimedOut: "timeout",
    Crashed: "crash",
}
"""The status of a question without an answer."""


def _difference(
    expected: Mapping[str, Any], got: Mapping[str, Any], subject: Subject, strings: Strings
) -> str | None:
    """Return where two answers first differ, stage by stage, or None."""
    stages, got_stages = expected.get("stages", {}), got.get("stages", {})
    for stage in _STAGES:
        if stage in stages and stage in got_stages and stages[stage] != _plain(got_stages[stage]):
            return f"stage {stage}, " + _first_difference(stages[stage], _plain(got_stages[stage]))
    if "runs" in expected or "runs" in got:
        right_runs, got_runs = runs_of(expected), runs_of(got)
        if got_runs == right_runs:
            return None
        return "runs of tokens, " + _first_difference(right_runs, got_runs)
    behind = SAME_IDS if "ids" in expected else ""
    differences = (
        _field_difference(key, value, got, subject, strings, behind)
        for key, value in expected.items()
        if key != "stages"
    )
    return next(filter(None, differences), None)


def runs_of(out: Mapping[str, Any]) -> list[list[int]]:
    """Return the tokens of an answer as runs. Adjacent equal runs are joined.

    >>> runs_of({"ids": [5, 5, 7]}), runs_of({"runs": [[5, 1], [5, 1], [7, 1]]})
    ([[5, 2], [7, 1]], [[5, 2], [7, 1]])
    """
    if "runs" not in out:
        return [[token, len(list(run))] for token, run in groupby(out.get("ids", []))]
    joined: list[list[int]] = []
    for token, times in _plain(out["runs"]):
        if joined and joined[-1][0] == token and min(times, joined[-1][1]) > 0:
            joined[-1][1] += times
        else:
            joined.append([token, times])
    return joined


def _field_difference(
    key: str, value: Any, got: Mapping[str, Any], subject: Subject, strings: Strings, behind: str
) -> str | None:
    """Return where one field of two answers first differs, or None. `behind` follows the place."""
    if key not in got and got.keys() == {"ids"}:
        how = 'only ids are compared with --ids-only, or with "ids_only": true in hello\'s impl'
        return f"{IDS_ALONE}{key}: {how}"
    if value is None and key not in got:
        return f"{key}: expected null, got nothing"
    got_value = _plain(got.get(key))
    if got_value == value and type(got_value) is type(value):
        return None
    if key == "ids" and not isinstance(subject, Samplers):
        return _token_difference(value, got_value, subject, strings)
    detail = f"{key}: expected {value!r:.120}, got {got_value!r:.120}"
    if isinstance(value, list) and isinstance(got_value, list):
        detail = f"{key}, {_first_difference(value, got_value)}"
    return detail.replace(": ", f"{behind}: ", 1)


def _token_difference(
    expected: list[int], got: Any, subject: TokenizerSubject, strings: Strings
) -> str:
    """Return which token differs first, and where in a text of bytes it starts.

    Expected tokens have the `strings`: the subject may be one that replaces the record's.
    """
    if not isinstance(got, list) or not all(type(token) is int for token in got):
        return f"ids: expected a list of whole numbers, got {got!r:.120}"
    at = first_difference(expected, got)
    place = f"ids, from token {at}"
    tokens: Vocabulary | Tokenizer
    if isinstance(subject, Vocabulary):
        tokens = subject
        with suppress(TokenIdError):  # expected of the vocabulary that this one replaces
            place += f" (byte {sum(len(subject.token_bytes(token)) for token in expected[:at])})"
    else:
        tokens = read_tokenizer(subject.content, subject.name, "hugging-face")
    if isinstance(strings, Vocabulary):
        right = _tokens(expected[at:], strings)
    elif strings is None:
        right = ", ".join(map(str, expected[at:][:3])) + ", ..." * (len(expected) > at + 3)
    else:
        right = _tokens(expected[at:], tokens, strings[at:])
    return f"{place}: expected {right}, got {_tokens(got[at:], tokens)}"


def _tokens(
    ids: Sequence[int], vocabulary: Vocabulary | Tokenizer, strings: Sequence[str] = ()
) -> str:
    """Return the first few tokens with their text, by `strings` if given, or their bytes."""
    if not ids:
        return "the end"
    shown = []
    for token, string in zip_longest(ids[:3], strings[:3]):
        content: str | bytes = string or ""
        try:
            if string is None:
                content = vocabulary.token_bytes(token)
            elif isinstance(vocabulary, Tokenizer) and vocabulary.has_letters:
                with suppress(KeyError):  # an added token with other characters
                    content = from_letters(string)
            text = as_text(content)
            shown.append(f"{token} {content if text is None else text!r}")
        except TokenIdError:
            shown.append(f"{token} (no such token)")
    return ", ".join(shown) + (", ..." if len(ids) > len(shown) else "")


def _first_difference(expected: Sequence[Any], got: Sequence[Any]) -> str:
    """Return which entry of two lists differs first."""
    at = first_difference(expected, got)
    want = repr(expected[at])[:120] if at < len(expected) else "the end"
    have = repr(got[at])[:120] if at < len(got) else "the end"
    return f"entry {at}: expected {want}, got {have}"


def first_difference(expected: Sequence[Any], got: Sequence[Any]) -> int:
    """Return the first index at which two sequences differ, or the length of the shorter.

    >>> first_difference([1, 2, 3], [1, 5]), first_difference("ab", "abc")
    (1, 2)
    """
    pairs = enumerate(zip(expected, got, strict=False))
    return next((at for at, (want, have) in pairs if want != have), min(len(expected), len(got)))


def _plain(value: Any) -> Any:
    """Return tuples as lists, because in-process engines may answer with either."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value


def _missing_stage(case: Case, out: Mapping[str, Any], declared: Declared) -> str:
    """Return a declared stage that the record has and the answer lacks, or an empty string."""
    expected, got = getattr(case.out, "stages", UNSET), out.get("stages") or {}
    for stage in declared.stages:
        if getattr(expected, stage, UNSET) is not UNSET and stage not in got:
            return stage
    return ""
