"""Find the smallest question that still fails in the same way.

The search is greedy. Of all questions that are one step smaller, largest steps first, take the
first that still fails, and repeat until none does. First the request is made smaller, then its
subject, then both once more. An engine that takes many questions at once gets a whole batch of
smaller ones in one message (for a device a message costs as much as a question). Other engines
are asked one by one, and so is every engine about a crash or a hang, because each question that
fails then costs a restart.

A question fails in the same way if it has the same status and the reference still answers it, or
still refuses it with the same code. So shrinking does not lead to a question that makes no sense.

An answer may depend on earlier questions. So the smallest question is asked once more in a new
process. If it does not fail there, the search begins anew with a new process for each question.
If the first question does not fail alone either, the finding says so.

The number of questions and the time are limited. When a limit is reached, or on Ctrl-C, the
smallest failure so far is kept and can be shrunk further later.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from operator import attrgetter
from typing import Final

import msgspec

from bpe_ref import Vocabulary
from tokenref.floats import pack, unpack
from tokenref.fuzzing.comparing import Comparer, Outcome
from tokenref.fuzzing.plan import Limits, Question
from tokenref.fuzzing.smaller_questions import (
    hardness,
    numbers_in,
    size_of,
    smaller_requests,
    smaller_vocabularies,
)
from tokenref.record import OPERATIONS, SAMPLER_OPS, canonical_json

MOST_TRIES: Final = 4_000
"""Maximum number of questions for one failure."""

LARGEST: Final = 20_000
"""Maximum tokens of a vocabulary that is made smaller and stored; a larger one needs a name."""


@dataclass(frozen=True)
class Shrunk:
    """What a failure became."""

    outcome: Outcome
    is_finished: bool = True
    """Whether nothing that is one step smaller fails; else a limit was reached before."""

    was_interrupted: bool = False
    """Whether Ctrl-C ended it."""

    fails_again: bool = True
    """Whether it failed once more when it was asked once more."""

    fails_alone: bool = True
    """Whether it fails as the first question of a new process, if the engine has one."""

    @property
    def question(self) -> Question:
        """The smallest question that was found."""
        return self.outcome.question


def shrunk(
    failed: Outcome,
    comparer: Comparer,
    limits: Limits | None = None,
    kind: Callable[[Outcome], object] = attrgetter("kind"),
    most: int = MOST_TRIES,
) -> Shrunk:
    """Return the smallest outcome that fails as this one does; it may be this one.

    That is with the same `kind` of failure.

    `KeyboardInterrupt` does not pass through: it ends the search.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> from tokenref.engines.table import engine
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"c": 2, b"aba": 3})
    >>> question = Question("encode", "definition", vocabulary, "", {"text": "ccababacab"})
    >>> comparer = Comparer(engine("greedy"))
    >>> smallest = shrunk(comparer.compare([question])[0], comparer)
    >>> smallest.question.request, list(smallest.question.subject.tokens.values())
    ({'text': 'aba'}, [b'a', b'b', b'aba'])
    >>> smallest.is_finished
    True
    """
    search = _Search(comparer, failed, most, time.monotonic() + (limits or Limits()).left(), kind)
    fails_alone = True
    try:
        fails_again = search.fails_again()
        if fails_again and search.run():
            fails_again = search.fails_again()
        if fails_again and not search.fails_alone():
            fails_alone = search.run_alone(failed)
    except KeyboardInterrupt:
        return Shrunk(search.best, is_finished=False, was_interrupted=True)
    finished = not (fails_again and search.is_over())
    return Shrunk(search.best, finished, fails_again=fails_again, fails_alone=fails_alone)


def _requests(question: Question) -> Iterator[Question]:
    for request in smaller_requests(question.op, question.request):
        yield replace(question, request=request)


def _vocabularies(question: Question) -> Iterator[Question]:
    """Yield questions about smaller vocabularies, unless theirs is too large to be stored."""
    if isinstance(question.subject, Vocabulary) and len(question.subject.tokens) <= LARGEST:
        for vocabulary, request in smaller_vocabularies(question.subject, question.request):
            yield replace(question, subject=vocabulary, name="", request=request)


class _Search:
    """The smallest failure so far, what was tried, and what is left of tries and of time."""

    def __init__(
        self,
        comparer: Comparer,
        failed: Outcome,
        most: int,
        end: float,
        kind: Callable[..., object],
    ) -> None:
        self.best = failed
        self._comparer = comparer
        self._kind_of, self._kind = kind, kind(failed)
        self._left = most
        self._end = end
        restarts = failed.judgement.status in {"crash", "timeout"}
        self._is_alone = False
        self._many = 1 if restarts else comparer.most_at_once

    def fails_again(self) -> bool:
        """Ask the smallest question once more; what fails now and then is not made smaller."""
        return self.is_over() or self._first_failing([self.best.question]) is not None

    def run(self) -> bool:
        """Search until nothing is smaller, or until a limit is reached; return whether any is."""
        first, before = self.best, None
        while before is not self.best and not self.is_over():
            before = self.best
            self._descend(_requests)
            self._descend(_vocabularies)
        return self.best is not first

    def fails_alone(self) -> bool:
        """Return whether the smallest question fails in a new process, if the engine has one."""
        if not self._comparer.restart():
            return True
        (outcome,) = self._comparer.compare([self.best.question])
        return outcome.fate == "failed"

    def run_alone(self, first: Outcome) -> bool:
        """Search again with a new process for each question; return whether the first one fails.

        What was found needs earlier questions. If the first one does, too, it is kept.
        """
        found, self.best, self._is_alone, self._many = self.best, first, True, 1
        if self.fails_alone():
            self.run()
            return True
        self.best = found
        return False

    def is_over(self) -> bool:
        """Return whether a limit was reached."""
        return self._left <= 0 or time.monotonic() >= self._end

    def _descend(self, steps: Callable[[Question], Iterator[Question]]) -> None:
        """Take smaller steps while one of them still fails."""
        seen: set[bytes] = set()
        while True:
            worth = self._worth(steps(self.best.question), seen)
            smaller = self._first_failing(worth, self._many if steps is _requests else 1)
            if smaller is None:
                return
            self.best = smaller

    def _worth(self, questions: Iterable[Question], seen: set[bytes]) -> Iterator[Question]:
        """Yield the smaller questions that make sense and were not asked before."""
        size = _size(self.best.question)
        for smaller in questions:
            if self.is_over():
                return
            subject = smaller.subject
            about = subject.digest() if isinstance(subject, Vocabulary) else ""
            key = canonical_json([smaller.request, about])
            if key in seen:
                continue
            seen.add(key)
            if _size(smaller) < size and _is_well_formed(smaller):
                yield smaller

    def _first_failing(self, questions: Iterable[Question], many: int = 1) -> Outcome | None:
        waiting = iter(questions)
        while not self.is_over():
            batch = list(islice(waiting, min(many, self._left)))
            if not batch:
                return None
            self._left -= len(batch)
            if self._is_alone:
                self._comparer.restart()
            for outcome in self._comparer.compare(batch):
                if outcome.fate == "failed" and self._kind_of(outcome) == self._kind:
                    return outcome
        return None


def _size(question: Question) -> tuple[object, ...]:
    """Return what must get smaller with each step, so that shrinking ends."""
    request = canonical_json(question.request).replace(b"true", b"true  ")  # more than false
    about = question.subject.remember(size_of) if isinstance(question.subject, Vocabulary) else (0,)
    if question.op not in SAMPLER_OPS:
        return len(request) + about[0], request, about
    rows = [row for _, row in numbers_in(question.request)]
    # In 32 bits, the length of a row does not depend on the type of its numbers.
    plain = [pack([0.0] * len(unpack(row))) for row in rows]
    more = sum(len(canonical_json(row)) for row in rows) - sum(
        len(canonical_json(row)) for row in plain
    )
    odd = sum("f32" not in row for row in rows)
    return len(request) - more, odd, hardness(question.request), request


def _is_well_formed(question: Question) -> bool:
    try:
        msgspec.convert(dict(question.request), OPERATIONS[question.op].question)
    except (msgspec.ValidationError, ValueError):
        return False
    return True
