"""The result of a record: what was judged, the answer in short, and facts about it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from sys import intern
from typing import Any, Final

import msgspec

from tokenref.answers import Answer, Crashed, Ok, Refused, TimedOut, request_text
from tokenref.floats import numbers_of
from tokenref.hints import facts_of, tokens_of
from tokenref.judge import FAILURES, runs_of
from tokenref.questions.sampling import BatchInput
from tokenref.questions.text import DecodeInput, SpecialInput, TextInput
from tokenref.record import OWN_DRAW_OPS, Case, canonical_json, op_of
from tokenref.verdicts import Judgement, Status


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one case."""

    case: Case
    judgement: Judgement
    milliseconds: float = 0.0
    """The time it took; for cases asked together, the mean."""

    got: str = ""
    """The answer as JSON if it is wrong, truncated if it is long."""

    log: str = ""
    """The last part of the engine's standard error, if it crashed or timed out."""

    answer: str = ""
    """The digest of the answer if it is wrong."""

    facts: Sequence[str] = ()
    """Facts about the answer if it is wrong; see `tokenref.hints`."""

    @property
    def status(self) -> Status:
        """The status of the judgement."""
        return self.judgement.status


def digest(content: str | bytes, size: int = 4) -> str:
    """Return a short digest in hexadecimal.

    >>> digest("bpe/encode/example")
    '205f4bd2'
    """
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    return blake2b(data, digest_size=size).hexdigest()


def answer_digest(op: str, answer: Answer) -> str:
    """Return the digest of an answer without its stages, with numbers rounded to three digits.

    >>> same = [{"probs": {"f32": "3eaaaaab"}}, {"probs": {"f64": "3fd5555555555555"}}]
    >>> len({answer_digest("softmax", Ok(out)) for out in same})
    1
    """
    if isinstance(answer, Refused):
        return digest(answer.code, 2)
    if not isinstance(answer, Ok) or op in OWN_DRAW_OPS:  # draws are never the same twice
        return digest(type(answer).__name__, 2)
    try:
        out = {key: _rounded(part) for key, part in answer.out.items() if key != "stages"}
        if "ids" in out or "runs" in out:
            out = {"runs": runs_of(out)} | {k: out[k] for k in out if k not in {"ids", "runs"}}
        return digest(canonical_json(out), 2)
    except (TypeError, ValueError, RecursionError):
        return digest("not an answer", 2)


def _rounded(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_rounded(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    numbers = numbers_of(value)
    if numbers is not None:
        return [intern(f"{number:.3g}") for number in numbers]
    return {key: _rounded(entry) for key, entry in value.items()}


def length(case: Case) -> int:
    """Return the length of a question in characters, bytes or ids, else as JSON."""
    match case.input:
        case DecodeInput(ids=ids):
            return len(ids)
        case TextInput() as given:
            return len(request_text(msgspec.to_builtins(given)))
        case SpecialInput(text=text):
            return len(text)
    return len(canonical_json(msgspec.to_builtins(case.input)))


def place_of(case: Case) -> str:
    """Return the operation of a case, for a batch also that of its rows."""
    return f"batches of {case.input.op}" if isinstance(case.input, BatchInput) else op_of(case)


def size(case: Case) -> tuple[int, int]:
    """Return the number of tokens of the rows of a question, and its length."""
    question = msgspec.to_builtins(case.input)
    return tokens_of(question.get("rows", [question])), length(case)


_LONGEST_GOT: Final = 2000
"""Maximum length of an answer in the report, in characters."""


def result_of(
    case: Case, answer: Answer, judgement: Judgement, milliseconds: float = 0.0
) -> Result:
    """Return the result of a case: its judgement and the relevant parts of the answer."""
    got = log = wrong = ""
    facts: Sequence[str] = ()
    if judgement.status in FAILURES:
        wrong, facts = answer_digest(op_of(case), answer), facts_of(case, answer)
    if isinstance(answer, Crashed | TimedOut):
        log = answer.log
    elif isinstance(answer, Ok) and judgement.status in FAILURES:
        got = _text(answer.out)
    return Result(case, judgement, milliseconds, got, log, wrong, facts)


def _text(out: Mapping[str, Any]) -> str:
    """Return an answer as JSON as far as possible, truncated if it is long."""
    try:
        text = json.dumps(out, default=repr)
    except (ValueError, RecursionError) as error:
        text = f"cannot be written as JSON: {error}"
    return (
        text if len(text) <= _LONGEST_GOT else f"{text[:_LONGEST_GOT]} ... ({len(text)} characters)"
    )
