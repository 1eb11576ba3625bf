"""A chain: an ordered list of steps, applied to a row one after the other.

The order is the list's own. What each step did is in the trace. A link is a step with its
parameters (`Use`), or a function of your own that takes a row and a history and returns a
row.

Rounding
    Penalties, biases and temperatures round nothing on the way. A step that makes
    irrational numbers (LZ penalty, dynamic temperature, adaptive-p) hands on the nearest
    floats, and so does a function of your own.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from sampling_ref.candidates import Candidates, all_candidates
from sampling_ref.errors import ParameterError, RowError, UnknownNameError
from sampling_ref.history import part_of, read_history
from sampling_ref.random_numbers import read_uniforms
from sampling_ref.randomness import Given
from sampling_ref.row import Number, ReadRow, TokenId, read_logits
from sampling_ref.situation import Situation
from sampling_ref.steps.step import Step, Use, Values, with_row
from sampling_ref.steps.table import STEPS
from sampling_ref.trace import Trace, apply_step

Own: TypeAlias = Callable[[list[Number], list[TokenId]], Sequence[Number]]
"""A step of one's own: from a row of logits and a history to a row."""


def chain(
    links: Iterable[Use | Own],
    logits: Any,
    history: Any = (),
    *,
    prompt_length: int = 0,
    uniforms: Any = (),
    state: Mapping[str, Any] | None = None,
) -> Trace:
    """Apply steps to a row of logits, in their order, and return the trace.

    >>> links = [Use("temperature", temperature=0.5), Use("top_k", k=2)]
    >>> trace = chain(links, [1.0, 3.0, 2.0])
    >>> trace.row
    [-inf, 6.0, 4.0]
    >>> print(trace)
    step                          left  removed  changed  likeliest: logit  why
    temperature(temperature=0.5)  3     -        0 1 2    1:6 2:4 0:2       divided by 0.5
    top_k(k=2)                    2     0        -        1:6 2:4           the 2 largest are kept
    """
    row = ReadRow(read_logits(logits))
    tokens = read_history(history, len(row))
    part_of(tokens, prompt_length, "prompt")
    randomness = Given(read_uniforms(uniforms))
    situation = Situation(len(row), tokens, prompt_length, randomness, state or {})
    candidates, applied = all_candidates(row), []
    for link in links:
        done = apply_step(*_read(link), candidates, situation)
        candidates = done.after
        applied.append(done)
    return Trace(tuple(applied))


def _read(link: Use | Own) -> tuple[Step, Values]:
    if isinstance(link, Use):
        if link.step not in STEPS:
            raise UnknownNameError("step", link.step, STEPS)
        return STEPS[link.step], link.values
    if not callable(link):
        raise ParameterError("link", link, "must be a Use, or a function of a row and a history")
    return _own_step(link), {}


def _own_step(function: Own) -> Step:
    name = getattr(function, "__name__", type(function).__name__)

    def apply(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
        row = candidates.row(situation.size)
        changed = read_logits(function(row, list(situation.history)), f"the row of {name}")
        if len(changed) != len(row):
            raise RowError(f"the row of {name} must have {len(row)} numbers, got {len(changed)}")
        return with_row(Candidates(candidates.tokens, candidates.logits), changed)

    return Step(name, apply, why="a function of one's own")
