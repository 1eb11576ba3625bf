"""A right engine that draws its own random numbers, as a basis for mutants.

The reference draws with given numbers, so it cannot answer questions about an engine's own
numbers. This engine can, with Python's generator; it leaves everything else to the reference.
Each question starts a stream that depends on the question, so runs can be repeated.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random
from typing import Any, TypeAlias

from sampling_ref.errors import ParameterError, RowError
from tokenref.answers import Answer, Ok, Refused, Unsupported
from tokenref.engines.reference import ReferenceEngine
from tokenref.engines.reference_laws import Shares, shares_of_logits, shares_of_row
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.record import OWN_DRAW_OPS, canonical_json
from tokenref.rules import STANDARD, all_choices, choices_of

Request: TypeAlias = Mapping[str, Any]
Numbers: TypeAlias = Callable[[], float]
"""Returns the next random number, in [0, 1)."""

RowLaw: TypeAlias = Callable[[Sequence[float], Mapping[str, Any]], Shares]
"""Returns the distribution of a row of logits with these parameters."""


class Wheel:
    """A row to draw from with one number, by its running sums.

    >>> Wheel([0.5, 0.0, 0.5]).draw(0.75), Wheel([0.5, 0.0, 0.5]).draw(0.25)
    (2, 0)
    """

    def __init__(self, weights: Sequence[Any]) -> None:
        """Sum up the weights; a number of tokens in one row of 64 bits."""
        self.weights = list(map(float, weights))
        self._sums = list(accumulate(self.weights))
        self._last = max((t for t, w in enumerate(self.weights) if w), default=0)

    def draw(self, number: float) -> int:
        """Return the first token at which the running sum is more than the number's share."""
        return min(bisect_right(self._sums, number * self._sums[-1]), self._last)


@dataclass(frozen=True)
class Step:
    """A step of speculative decoding that can be taken many times."""

    method: str
    offered: Sequence[Wheel]
    """The rows that drafts are drawn from."""

    judged: Sequence[Wheel]
    """The rows that drafts are judged by: the same in a right engine."""

    target: Sequence[Wheel]
    left: Sequence[Wheel]
    """The rows that replace a rejected draft."""


def taken(step: Step, number: Numbers) -> list[int]:
    """Return the tokens of a step, with one random number per decision."""
    drafts = [row.draw(number()) for row in step.offered]
    if step.method == "block":
        return _block(step, drafts, number)
    for place, draft in enumerate(drafts):
        if step.method == "matching":
            token = step.target[place].draw(number())
            if token != draft:
                return [*drafts[:place], token]
        elif not is_accepted(step, place, draft, number()):
            return [*drafts[:place], step.left[place].draw(number())]
    return [*drafts, step.target[-1].draw(number())]


def _block(step: Step, drafts: list[int], number: Numbers) -> list[int]:
    """Accept the longest beginning that is acceptable; what replaces the rest is in excess."""
    products = [1.0]
    for place, draft in enumerate(drafts):
        ratio = step.target[place].weights[draft] / step.judged[place].weights[draft]
        products.append(min(1.0, products[-1] * ratio))
    accepted = 0
    for length, product in enumerate(products[1:], start=1):
        chance = product
        if length < len(drafts):
            excess = sum(_excess(step, length, product))
            chance = excess / (excess + 1 - product) if excess + 1 - product else 1.0
        if number() < chance:
            accepted = length
    if accepted == len(drafts):
        return [*drafts, step.target[-1].draw(number())]
    left = Wheel(_excess(step, accepted, products[accepted]))
    return [*drafts[:accepted], left.draw(number())]


def _excess(step: Step, place: int, product: float) -> list[float]:
    rows = zip(step.target[place].weights, step.judged[place].weights, strict=True)
    return [max(product * mine - its, 0.0) for mine, its in rows]


def is_accepted(step: Step, place: int, draft: int, number: float) -> bool:
    """Return whether a draft is accepted: with probability min(1, target / judged).

    >>> even, sure, target = Wheel([0.5, 0.5]), Wheel([1.0, 0.0]), Wheel([0.25, 0.75])
    >>> step = Step("chain", [sure], [even], [target, target], [target])
    >>> is_accepted(step, 0, 0, 0.375), is_accepted(step, 0, 0, 0.5)
    (True, False)
    """
    return number * step.judged[place].weights[draft] < step.target[place].weights[draft]


def batches_of(number: Numbers, rows: int, calls: int) -> Iterator[Sequence[float]]:
    """Yield the random numbers of each call, one per row."""
    for _ in range(calls):
        yield [number() for _ in range(rows)]


def streams_of(number: Numbers, seeds: Sequence[int | None]) -> list[Numbers]:
    """Return the stream of each row of a batch: that of its seed, or a shared one."""
    return [number if seed is None else Random(seed).random for seed in seeds]


@dataclass(frozen=True)
class Habits:
    """How an engine draws. A mutant replaces one habit."""

    shares: Callable[[Sequence[float]], Sequence[float]] = list
    """What a row of probabilities is drawn by, of counts of single draws."""

    number: Callable[[float], float] = float
    """What becomes of a random number, of counts of single draws."""

    row: Callable[[Request], Shares] = shares_of_row
    """The law of a row by the standard rules, of counts, batches and seeds."""

    offered: RowLaw = shares_of_logits
    judged: RowLaw = shares_of_logits
    taken: Callable[[Step, Numbers], list[int]] = taken
    batches: Callable[[Numbers, int, int], Iterator[Sequence[float]]] = batches_of
    streams: Callable[[Numbers, Sequence[int | None]], list[Numbers]] = streams_of


@dataclass(frozen=True)
class OwnNumbersEngine(ReferenceEngine):
    """The reference with random numbers of its own.

    >>> session = OwnNumbersEngine().load_profile("standard")
    >>> session.answer("stat", {"probs": {"f32": "000000003f800000"}, "params": {}, "draws": 9})
    Ok(out={'counts': [[1, 9]]})
    """

    habits: Habits = field(default_factory=Habits)

    def load_profile(self, profile: str) -> "OwnNumbersSession":
        """Load a profile of samplers."""
        return OwnNumbersSession(SamplerSession(profile, self.sampler_tools), self.habits)


@dataclass(frozen=True)
class OwnNumbersSession:
    """A profile, ready for questions."""

    right: SamplerSession
    habits: Habits

    def answer(self, op: str, request: Request) -> Answer:
        """Answer one request."""
        if op not in OWN_DRAW_OPS:
            return self.right.answer(op, request)
        choices = choices_of(op, self.right.profile)
        if choices is None and op != "stat":
            return Unsupported(f"knows no rule {self.right.profile!r} of {op}")
        number = Random(canonical_json([op, request])).random
        try:
            if op == "stat":
                return self._stat(request, number)
            if op == "stat_speculative":
                step = self._step(request, all_choices(op, choices or {})["method"])
                outs = (tuple(self.habits.taken(step, number)) for _ in range(request["draws"]))
                return Ok({"counts": [[list(out), n] for out, n in sorted(Counter(outs).items())]})
            wheel = Wheel(self.habits.row(request))
        except ParameterError as error:
            return Refused("INVALID_PARAMETER", str(error))
        except RowError as error:
            return Refused("INVALID_ROW", str(error))
        if op == "stat_batch":
            calls = self.habits.batches(number, request["rows"], request["draws"])
            return Ok({"tokens": [list(map(wheel.draw, numbers)) for numbers in calls]})
        return Ok({"batches": [self._rows(wheel, batch, request["tokens"], number)
                               for batch in request["batches"]]})  # fmt: skip

    def _stat(self, request: Request, number: Numbers) -> Answer:
        if self.right.profile == STANDARD:
            law: Sequence[Any] = self.habits.row(request)
        else:
            asked = {**request, "history": [], "prompt_length": 0}
            answer = self.right.answer("distribution", asked)
            if not isinstance(answer, Ok):
                return answer
            law = unpack(answer.out["probs"])
        wheel = Wheel(self.habits.shares(list(map(float, law))))
        numbers = (self.habits.number(number()) for _ in range(request["draws"]))
        counts = Counter(map(wheel.draw, numbers))
        return Ok({"counts": [[token, n] for token, n in sorted(counts.items())]})

    def _step(self, request: Request, method: str) -> Step:
        of_draft = unpack_parameters(request["draft_params"])
        rows = [unpack(row) for row in request["draft"]]
        offered, judged = (
            [Wheel(law(row, of_draft)) for row in rows]
            for law in (self.habits.offered, self.habits.judged)
        )
        params = unpack_parameters(request["params"])
        target = [Wheel(shares_of_logits(unpack(row), params)) for row in request["target"]]
        left = [
            Wheel([max(p - q, 0.0) for p, q in zip(mine.weights, its.weights, strict=True)])
            for mine, its in zip(target, judged, strict=False)
        ]
        return Step(method, offered, judged, target, left)

    def _rows(
        self, wheel: Wheel, seeds: Sequence[int | None], count: int, number: Numbers
    ) -> list[list[int]]:
        streams = self.habits.streams(number, seeds)
        drawn = [[wheel.draw(stream()) for stream in streams] for _ in range(count)]
        return [list(row) for row in zip(*drawn, strict=True)]
