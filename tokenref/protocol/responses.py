"""Judge a file of responses, line by line, in bounded memory.

Every answer is judged against every record that asks its question. If a question has several
answers, the worst one counts. Only that judgement is kept, so a million answers need no more
memory than the records.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec
from msgspec import UNSET

from bpe_ref import Vocabulary
from tokenref.answers import Answer, Crashed, Declared, NotAsked, Ok, Unsupported
from tokenref.catalogue import Catalogue
from tokenref.diagnosis import Result as CaseResult
from tokenref.diagnosis import result_of
from tokenref.errors import InvalidRunError
from tokenref.files import lines_of
from tokenref.judge import FAILURES, Judgement, judge
from tokenref.protocol.channel import LONGEST_LINE
from tokenref.protocol.messages import HelloAnswer, Response
from tokenref.protocol.reading import (
    ProtocolError,
    decode,
    load_outcome,
    read_hello,
    read_result,
    said,
)
from tokenref.protocol.requests import Questions
from tokenref.record import Case, op_of
from tokenref.subjects import SAMPLERS

_SHOWN: Final = 5
"""How many wrong lines are listed; the others are counted."""

_WORST: Final = (
    *("crash", "timeout", "fail", "wrong_error", "not_run", "skip", "unsupported", "pass"),
)
"""Statuses from worst to best: the worst judgement of a case counts."""

_RANK: Final = {status: rank for rank, status in enumerate(_WORST)}


_RESPONSE: Final = msgspec.json.Decoder(Response)


@dataclass
class Verdicts:
    """The results of all cases, and what is wrong with the responses."""

    hello: HelloAnswer
    results: list[CaseResult] = field(default_factory=list)
    canaries: list[CaseResult] = field(default_factory=list)
    """The results of canaries whose wrong answers were given."""

    trouble: list[str] = field(default_factory=list)


class _Tally:
    """The worst judgement of each case so far, and the problems found."""

    def __init__(self, questions: Questions, catalogue: Catalogue, hello: HelloAnswer) -> None:
        self.questions = questions
        self.catalogue = catalogue
        self.hello = hello
        self.answered = bytearray(len(questions.of_key))
        self.worst: dict[str, CaseResult] = {}  # which has no long answers
        self.problems: list[str] = []
        self.problem_count = 0
        self.unloaded: dict[str, Answer] = {}

    def problem(self, sentence: str) -> None:
        """Note a wrong line. Only the first few are kept."""
        self.problem_count += 1
        if len(self.problems) < _SHOWN:
            self.problems.append(sentence)

    def foreign(self, key: str, at: int, line: bytes) -> None:
        """Note a key that was not asked. A line may contain a million of them."""
        sentence = f"the key {key!r:.80} was not asked"
        if self.problem_count < _SHOWN:
            sentence = str(ProtocolError(sentence, f"$.results[{at}].k", line, "run"))
        self.problem(sentence)

    def take(self, key: int, answer: Answer) -> None:
        """Judge an answer to a question."""
        if self.answered[key]:
            answer = Crashed(f"the key '{key}' is answered twice")
        self.answered[key] = 1
        for case in self.questions.cases[self.questions.of_key[key]]:
            self.note(case, answer)

    def note(self, case: Case, answer: Answer) -> None:
        """Judge an answer by one record, and keep the judgement if it is the worst."""
        ability = self.hello.ops.get(op_of(case))
        declared = ability.declared() if ability else Declared()
        judgement = judge(case, answer, SAMPLERS, declared)
        before = self.worst.get(case.id)
        if before is None or _RANK[judgement.status] < _RANK[before.status]:
            self.worst[case.id] = _case_result(self.catalogue, case, judgement, answer)


def judge_responses(path: Path, questions: Questions, catalogue: Catalogue) -> Verdicts:
    """Judge a file of responses. Raises `InvalidRunError` if it does not begin with hello."""
    lines = lines_of(path, LONGEST_LINE)
    first = next(lines, None)
    if first is None:
        raise InvalidRunError(f"{path}: the file is empty")
    try:
        hello = read_hello(first[1])
    except ProtocolError as error:
        raise InvalidRunError(f"{path}, line 1: not an answer to hello: {error}") from None
    tally = _Tally(questions, catalogue, hello)
    for number, line in lines:
        try:
            _take_line(tally, line)
        except ProtocolError as error:
            tally.problem(f"{path}, line {number}: {error}")
    return _conclude(tally)


def _take_line(tally: _Tally, line: bytes) -> None:
    """Take one line of responses. Raises `ProtocolError`."""
    if not line.endswith(b"\n"):
        raise ProtocolError("the line is truncated", "", line)
    response = decode(_RESPONSE, line, "run")
    questions = tally.questions
    if response.id.startswith("l"):
        at = _number(response.id[1:], len(questions.loads))
        if at is None or response.results is not UNSET:
            raise ProtocolError(f"nothing was loaded as {response.id!r:.80}", "$.id", line, "load")
        instead = load_outcome(response)
        if instead is not None:
            tally.unloaded[questions.loads[at]] = instead
        return
    run = _number(response.id[1:], len(questions.runs) - 1) if response.id[:1] == "b" else None
    if run is None or (response.ok, response.err) != (UNSET, UNSET):
        raise ProtocolError(f"no run had the id {response.id!r:.80}", "$.id", line, "run")
    if response.results is UNSET:
        whole = said(response) or Crashed("")  # one of the two is there
        for key in range(questions.runs[run], questions.runs[run + 1]):
            tally.take(key, whole)
        return
    for at, result in enumerate(response.results):
        asked = _number(result.k, len(questions.of_key))
        if asked is None:
            tally.foreign(result.k, at, line)
            continue
        question = questions.cases[questions.of_key[asked]]
        tally.take(asked, read_result(result, op_of(question[0])))


def _number(text: str, below: int) -> int | None:
    """Return the number of a key or an id, or None if it was never given.

    >>> _number("7", 8), _number("8", 8), _number("07", 8), _number("x", 8)
    (7, None, None, None)
    """
    if not (text.isascii() and text.isdecimal() and len(text) < 18):
        return None
    number = int(text)
    return number if number < below and str(number) == text else None


def _conclude(tally: _Tally) -> Verdicts:
    """Return the results of all cases."""
    questions, hello = tally.questions, tally.hello
    missing = 0
    found = Verdicts(hello)
    lacking = bytearray(len(questions.cases))
    for key, question in enumerate(questions.of_key):
        if not tally.answered[key]:
            lacking[question] = 1
            missing += _instead(tally, questions.cases[question][0]) is None
    canaries = {case.id for case in tally.catalogue.canaries}
    for number, cases in enumerate(questions.cases):
        for case in cases:
            instead = _instead(tally, case)
            if instead is None and lacking[number]:
                tally.note(case, NotAsked("no answer"))
            result = (
                tally.worst[case.id]
                if instead is None
                else result_of(case, instead, judge(case, instead, SAMPLERS))
            )
            if case.id not in canaries:
                found.results.append(result)
            elif result.status == "pass":
                found.canaries.append(result)
    found.trouble += tally.problems
    if tally.problem_count > len(tally.problems):
        found.trouble.append(f"and {tally.problem_count - len(tally.problems):,} more wrong lines")
    if missing:
        found.trouble.append(f"{missing:,} of {len(questions.of_key):,} questions have no answer")
    return found


def _instead(tally: _Tally, case: Case) -> Answer | None:
    """Return the answer to all questions, if hello or load already determined it."""
    op = op_of(case)
    ability = tally.hello.ops.get(op)
    if ability is None:
        return Unsupported(f"does not declare the operation {op}")
    if case.profile not in ability.profiles:
        return Unsupported(f"does not declare the profile {case.profile}")
    return tally.unloaded.get(case.vocab) if case.vocab is not None else None


def _case_result(
    catalogue: Catalogue, case: Case, judgement: Judgement, answer: Answer
) -> CaseResult:
    """Return the result of a case. If ids differ, the detail shows their bytes."""
    if judgement.status in FAILURES and isinstance(answer, Ok) and case.vocab is not None:
        subject = catalogue.subject(case.vocab)
        if isinstance(subject, Vocabulary):
            detailed = judge(case, answer, subject)
            judgement = detailed if detailed.status != "pass" else judgement
    return result_of(case, answer, judgement)
