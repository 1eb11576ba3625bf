"""The result of a record: what was judged, the answer in short, and facts about it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from sys import intern
from typing import Any, Final

import msgspec

from tokenref.answers import Answer, Ok, Refused, request_text, without_log
from tokenref.floats import numbers_of
from tokenref.judge import runs_of
from tokenref.questions.sampling import BatchInput, tokens_of
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
    """Facts about the answer if it is wrong; see `tokenref.diagnosis.facts`."""

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


def row_questions(case: Case) -> list[dict[str, Any]]:
    """Return a question as plain data, or that about each row of a batch."""
    question = msgspec.to_builtins(case.input)
    return list(question["rows"]) if isinstance(case.input, BatchInput) else [question]


def size(case: Case) -> tuple[int, int]:
    """Return the number of tokens of the rows of a question, and its length."""
    return tokens_of(row_questions(case)), length(case)


_VARIES: Final = re.compile(
    r"'[^']*'|\"[^\"]*\"|0[xX][0-9a-fA-F]+|\[[^\]]*\]|-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
)
"""What varies between messages: quoted texts, numbers, lists."""


_LOG: Final = re.compile(r"(standard error: )(['\"])(.*)\2")


def without_values(text: str, longest: int | None = 120) -> str:
    """Return the beginning of a message without what varies. A quoted log is no quoted word.

    >>> without_values("KeyError: 'abc' at 12; its last line on standard error: 'no GPU 1'")
    'KeyError: * at *; its last line on standard error: no GPU *'
    """
    return _VARIES.sub("*", _LOG.sub(r"\1\3", text))[:longest]


_FAULT: Final = re.compile(
    r"(after bye, [^;]*|.*?(?= in a batch of | once, at ))[^;]*(.*)", re.DOTALL
)


def fault_of(incident: str) -> tuple[str, str]:
    """Return what happened and the last words, which are equal for all incidents of one fault.

    The words are without what varies. Of a sentence about something else, there are only words.

    >>> fault_of("it ended once, at a; on standard error: 'no GPU 1'; ask again with --id a")
    ('it ended', '; on standard error: no GPU *')
    """
    said = without_log(incident).partition("; ask again with ")[0]
    found = _FAULT.fullmatch(said)
    return (found[1], without_values(found[2], None)) if found else ("", said)


def condensed(incidents: Iterable[str]) -> list[str]:
    """Return one sentence for each fault, and how many more there are.

    >>> condensed(["it ended once, at a", "it ended once, at b"])
    ['it ended once, at a; and 1 more like it']
    """
    found: dict[tuple[str, str], list[str]] = {}
    for each in incidents:
        found.setdefault(fault_of(each), []).append(without_log(each))
    more = (f"; and {len(alike) - 1:,} more like it" * (len(alike) > 1) for alike in found.values())
    return [f"{alike[0]}{also}" for alike, also in zip(found.values(), more, strict=True)]
