"""The smallest question that still fails in the same way.

Greedy: of all questions that are one step smaller, boldest first, take the first
one that still fails; begin again; stop where none does. First the request, then
what it is about, then both once more. An engine that takes many questions at
once is given a whole batch of smaller ones in one message (for a device a message
costs as much as a question), any other one is asked one by one.

Still failing means: the same status, and the reference still gives an answer (or
still refuses). So a wrong token does not become a question that makes no sense.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import Final, TypeAlias

import msgspec

from bpe_ref import Vocabulary
from tokenref.fuzzing.comparing import MANY, Comparer, Outcome
from tokenref.fuzzing.question import Question
from tokenref.fuzzing.smaller_questions import smaller_requests
from tokenref.fuzzing.smaller_rows import hardness
from tokenref.fuzzing.smaller_vocabularies import (
    plainer_letters,
    shorter_words,
    size_of,
    smaller_vocabularies,
)
from tokenref.record import OPERATIONS, SAMPLER_OPS, canonical_json

Steps: TypeAlias = Callable[[Question], Iterator[Question]]
"""What yields the questions that are one step smaller."""

MOST_TRIES: Final = 4_000
"""Questions that are asked for one failure at most."""


def shrunk(failed: Outcome, comparer: Comparer, most: int = MOST_TRIES) -> Outcome:
    """Return the smallest outcome that fails as this one does; it may be this one.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> from tokenref.engines.table import engine
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"c": 2, b"aba": 3})
    >>> question = Question("encode", "definition", vocabulary, "", {"text": "ccababacab"})
    >>> comparer = Comparer(engine("greedy"))
    >>> outcome = shrunk(comparer.compare([question])[0], comparer)
    >>> outcome.question.request, list(outcome.question.subject.tokens.values())
    ({'text': 'aba'}, [b'a', b'b', b'aba'])
    """
    search = _Search(comparer, failed, most)
    best = failed
    while True:
        before = best
        best = search.smallest(best, _requests)
        best = search.smallest(best, _vocabularies)
        if best is before:
            return best


def _requests(question: Question) -> Iterator[Question]:
    for request in smaller_requests(question.op, question.request):
        yield replace(question, request=request)


def _vocabularies(question: Question) -> Iterator[Question]:
    if isinstance(question.subject, Vocabulary):
        for vocabulary in smaller_vocabularies(question.subject, question.request):
            yield replace(question, subject=vocabulary, name="")
        together = (plainer_letters, shorter_words)
        for vocabulary, request in chain.from_iterable(
            step(question.subject, question.request) for step in together
        ):
            yield replace(question, subject=vocabulary, name="", request=request)


class _Search:
    """Tries that are left, and what was tried."""

    def __init__(self, comparer: Comparer, failed: Outcome, most: int) -> None:
        self._comparer = comparer
        self._kind = failed.kind
        self._left = most

    def smallest(self, best: Outcome, steps: Steps) -> Outcome:
        """Return the outcome from which no step leads to a smaller one that still fails."""
        seen: set[bytes] = set()
        while True:
            smaller = self._first_failing(self._worth(best.question, steps, seen))
            if smaller is None:
                return best
            best = smaller

    def _worth(self, question: Question, steps: Steps, seen: set[bytes]) -> Iterator[Question]:
        """Yield the smaller questions that make sense and were not asked before."""
        size = _size(question)
        for smaller in steps(question):
            if _size(smaller) >= size or not _is_well_formed(smaller):
                continue
            key = _key(smaller)
            if key not in seen:
                seen.add(key)
                yield smaller

    def _first_failing(self, questions: Iterable[Question]) -> Outcome | None:
        waiting = iter(questions)
        while self._left > 0:
            many = MANY if self._comparer.takes_many else 1
            batch = list(islice(waiting, min(many, self._left)))
            if not batch:
                return None
            self._left -= len(batch)
            for outcome in self._comparer.compare(batch):
                if outcome.fate == "failed" and outcome.kind == self._kind:
                    return outcome
        return None


def _size(question: Question) -> tuple[object, ...]:
    """Return what must get smaller with each step, so that shrinking ends."""
    request = canonical_json(question.request)
    about = size_of(question.subject) if isinstance(question.subject, Vocabulary) else (0,)
    plain = hardness(question.request) if question.op in SAMPLER_OPS else 0.0
    return len(request) + about[0], plain, request, about


def _is_well_formed(question: Question) -> bool:
    try:
        msgspec.convert(dict(question.request), OPERATIONS[question.op].question)
    except (msgspec.ValidationError, ValueError):
        return False
    return True


def _key(question: Question) -> bytes:
    about = question.subject.digest() if isinstance(question.subject, Vocabulary) else ""
    return canonical_json([question.request, about])
