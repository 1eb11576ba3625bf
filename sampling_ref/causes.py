"""The choices that cause two engines to leave different rows.

Stages that do the same are put side by side. Those without which both engines leave the same row
are the causes.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from itertools import chain
from math import inf
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from sampling_ref.engines.profile import Stage
from sampling_ref.errors import ParameterError, RandomNumberError, SamplingError
from sampling_ref.evaluation import OTHER_NAMES, Evaluation, Run, related
from sampling_ref.row import Candidates, TokenId, to_float
from sampling_ref.tracing import SORTED, Applied, rules_of, tied_at_the_border


class Compared(NamedTuple):
    """An engine with its parameters, what its stages did, and the token it drew, if it drew one."""

    made: Evaluation
    run: Run
    token: TokenId | None


Engines: TypeAlias = tuple[Compared, Compared]

Present: TypeAlias = tuple[Applied, Stage]
"""A stage that an engine applied, and what it did."""

Side: TypeAlias = Present | None
"""The same; None if an engine does not apply the stage."""

Unit: TypeAlias = tuple[Sequence[Present], Sequence[Present]]
"""The stages of two engines that do the same, of one engine perhaps none."""

ROUNDING: Final = 2.0**-20
"""Logits that differ by no more than this part of the largest one, or of 1, differ by rounding."""


class Difference(NamedTuple):
    """Stages that differ, and in what.

    They are "missing" in one engine, they do something else on the same row ("rule"), or they would
    do the same, but get other rows because of the "order" of stages, or because of "rounding".
    """

    unit: Unit
    kind: Literal["missing", "rule", "order", "rounding"]

    def __repr__(self) -> str:
        """Return the kind, and the steps of each engine."""
        return f"<Difference {self.kind!r}, {self.steps[0]} and {self.steps[1]}>"

    @property
    def steps(self) -> tuple[list[str], list[str]]:
        """The names of the steps of each engine."""
        one, other = ([applied.step for applied, _ in side] for side in self.unit)
        return one, other


def fresh(made: Evaluation, **changed: Any) -> Evaluation:
    """Return an engine that has taken none of its random numbers yet."""
    situation = replace(made.situation, randomness=copy(made.situation.randomness))
    return replace(made, situation=situation, **changed)


def differences_of(one: Compared, other: Compared) -> list[Difference]:
    """Return the stages that cause two engines to leave different rows.

    Stages are a cause if the engines leave the same row without them and the other causes, and do
    not if they are put back: this is a smallest set of them. So stages that differ are no cause
    where other stages make up for it. They are in the order of the engine whose name is first in
    the alphabet, so the answer does not depend on the order of the arguments. The order of the
    stages is the last cause, after those that are missing or do something else.
    """
    if one[0].profile.name > other[0].profile.name:
        return [Difference(each.unit[::-1], each.kind) for each in differences_of(other, one)]
    engines, size = (one, other), one[0].situation.size
    if _same(*(run.candidates.row(size) for _, run, _ in engines)):
        return []
    units = units_of(one[1], other[1])
    alike = [alike_on(engines, unit) for unit in units]
    causes = _smallest_causes(engines, units, alike)
    found: list[Difference] = []
    moved: list[Unit] = []
    for place in causes:
        unit = units[place]
        if all(unit) and any(alike[place]):
            moved.append(unit)
        elif all(unit):
            found.append(Difference(unit, "rule"))
        elif any(each.removed or each.changed for each, _ in chain(*unit)):
            found.append(Difference(unit, "missing"))
    if moved and any(orders_of(engines)):
        found.append(Difference(moved[0], "order"))
    if found:
        return found
    # A stage without an effect of its own may sort the tokens.
    return [Difference(moved[0], "rounding") if moved else Difference(units[causes[0]], "missing")]


def _smallest_causes(
    engines: Engines, units: Sequence[Unit], alike: Sequence[Sequence[bool]]
) -> list[int]:
    """Return the places of the stages without which two engines leave the same row."""
    causes = [*range(len(units))]

    def last(place: int) -> tuple[bool, bool, int]:
        return not all(alike[place]), not any(alike[place]), -place

    # What does the same in both engines is put back first: it is no cause, unless it has another
    # place. Of the others the last ones are, so that the first ones stay. What cannot be put back
    # may be later, when others are.
    count = 0
    while count != len(causes):
        count = len(causes)
        for place in sorted(causes, key=last):
            without = [cause for cause in causes if cause != place]
            if _agree_without(engines, [units[cause] for cause in without]):
                causes = without
    return causes


def units_of(one: Run, other: Run) -> list[Unit]:
    """Return the stages of two engines in order, side by side where they do the same.

    They do if they have the same step, or if they are all the penalties of an engine and the other
    engine has them in fewer steps or in one that only some engines have. They are in the order of
    the first engine. What only the other one has is before what follows it there.
    """
    sides = [list(zip(run.applied, run.stages, strict=True)) for run in (one, other)]
    applied = [{each.step for each, _ in side} for side in sides]
    special = {step for others in OTHER_NAMES.values() for step in others}

    def named(step: str) -> str:
        theirs = [steps & related(step) for steps in applied]
        is_special = theirs[0] != theirs[1] and special.intersection(*[theirs[0] | theirs[1]])
        return min(related(step)) if is_special else step

    orders = [list(dict.fromkeys(named(each.step) for each, _ in side)) for side in sides]
    order: list[str] = []
    for name in orders[0]:
        if name in orders[1]:
            before = orders[1][: orders[1].index(name)]
            order += [each for each in before if each not in {*orders[0], *order}]
        order.append(name)
    order += [name for name in orders[1] if name not in order]
    found: list[Unit] = []
    for name in order:
        left, right = ([each for each in side if named(each[0].step) == name] for side in sides)
        found.append((left, right))
    return found


def _same(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Return whether two rows have the same tokens and the same logits but for rounding.

    >>> _same([1.0, float("-inf")], [1.0 + 2**-30, float("-inf")]), _same([1.0], [1.001])
    (True, False)
    """
    if one == other or len(one) != len(other):
        return one == other
    pairs = list(zip(one, other, strict=True))
    if any((left == -inf) != (right == -inf) for left, right in pairs):
        return False
    possible = [pair for pair in pairs if pair[0] != -inf]
    most = ROUNDING * max(1, *(abs(to_float(logit)) for pair in possible for logit in pair))
    return all(left == right or abs(left - right) <= most < inf for left, right in possible)


def alike_on(engines: Engines, unit: Unit) -> list[bool]:
    """Return whether stages do the same in both engines, on the row that each of these gets.

    If it is the same row, each engine has it in its own order. Nothing is tried if an engine
    carries along probabilities of tokens that were removed, which the row of the other one lacks.
    """
    if not all(unit):
        return [False]
    pairs = list(zip([made for made, _, _ in engines], unit, strict=True))
    befores = [side[0][0].before for side in unit]
    if _same(*(side[0][0].row_before for side in unit)):
        return [_same(*(_left_by(*pair, own) for pair, own in zip(pairs, befores, strict=True)))]
    rows = [each.logits for each in (engines[0][0].candidates, *befores)]
    left = {sum(logit != -inf for logit in row) for row in rows}
    if len(left) > 1 and len({before.weights is None for before in befores}) > 1:
        return [False]
    return [_same(*(_left_by(*pair, before) for pair in pairs)) for before in befores]


def _left_by(made: Evaluation, side: Sequence[Present], before: Candidates) -> list[Any]:
    """Return the row that some stages of an engine leave; none if they cannot be applied."""
    engine, left = fresh(made), before
    try:
        for _, stage in side:
            left = engine.apply(stage, left).after
    except SamplingError:
        return []
    return left.row(made.situation.size)


def _agree_without(engines: Engines, units: Sequence[Unit]) -> bool:
    """Return whether two engines leave the same row without some of their stages."""
    rows = []
    for place, (made, _, _) in enumerate(engines):
        gone = [stage for unit in units for _, stage in unit[place]]
        left = [stage for stage in made.profile.stages if all(stage is not each for each in gone)]
        engine = fresh(made, profile=replace(made.profile, stages=tuple(left)))
        try:
            rows.append(engine.run().candidates.row(made.situation.size))
        except SamplingError:
            return False
    return _same(*rows)


def orders_of(engines: Engines) -> list[list[str]]:
    """Return the stages with an effect whose order differs, in the order of each engine."""
    moving = [
        unit
        for unit in units_of(*(run for _, run, _ in engines))
        if all(unit) and any(each.removed or each.changed for side in unit for each, _ in side)
    ]
    orders = []
    for side, (_, run, _) in enumerate(engines):
        places = {id(applied): place for place, applied in enumerate(run.applied)}
        firsts = [places[id(unit[side][0][0])] for unit in moving]
        orders.append(sorted(range(len(moving)), key=firsts.__getitem__))
    for end in (0, -1):
        while orders[0] and orders[0][end] == orders[1][end]:
            orders = [order[1:] if end == 0 else order[:-1] for order in orders]
    return [
        [applied.step for place in order for applied, _ in moving[place][side]]
        for side, order in enumerate(orders)
    ]


def moved_before(engines: Engines, found: Difference | None) -> Sequence[Sequence[Applied]]:
    """Return the stages with an effect that only one engine has before a difference.

    They are the cause if two engines differ in the order of their stages; otherwise there are none.
    """
    if found is None or found.kind != "order":
        return [[], []]
    befores: list[list[Applied]] = []
    for (_, run, _), side in zip(engines, found.unit, strict=True):
        at = next(place for place, each in enumerate(run.applied) if each is side[0][0])
        befores.append([*run.applied[:at]])
    units = units_of(*(run for _, run, _ in engines))
    places = {id(each): at for at, unit in enumerate(units) for each, _ in chain(*unit)}
    sets = [{places[id(each)] for each in before} for before in befores]
    return [
        [
            each
            for each in before
            if (each.removed or each.changed) and places[id(each)] not in others
        ]
        for before, others in zip(befores, sets[::-1], strict=True)
    ]


def differing(
    engines: Engines, one: Present, other: Present
) -> Iterator[tuple[str, list[Any], bool]]:
    """Yield the values of a step that differ, and whether one engine's changes the other's row."""
    sides = (one, other)
    values = [{**each[0].values, **rules_of(*each), SORTED: each[1].order} for each in sides]
    # If a sort decides between equal tokens, another rule for ties cannot be tried: it matters if
    # some equal tokens are kept and others removed.
    sorts = any(made.situation.numbers.sorts for made, _, _ in engines)
    sorts = sorts or any(stage.order != "as they stand" for _, stage in sides)
    for name in {**values[0], **values[1]}:
        theirs = [each.get(name, "-") for each in values]
        if theirs[0] != theirs[1]:
            tried: list[bool | None] = [
                _changes(made, side, source, name)
                for (made, _, _), side, source in zip(engines, sides, sides[::-1], strict=True)
            ]
            if name == "ties" and sorts:
                tried = [bool(tied_at_the_border(applied)) for applied, _ in sides]
            yield name, theirs, True in tried or tried == [None, None]


def _changes(made: Evaluation, side: Present, source: Present, name: str) -> bool | None:
    """Return whether a stage leaves another row if one of its values is that of another engine.

    None if that cannot be tried. A stage that walks upwards has its own rules for ties and the
    boundary. So it is tried as one that walks downwards with these rules, which keeps the same
    tokens but for rounding, and no other stage is made to walk upwards. What needs a random number
    matters.
    """
    applied, stage = side
    downwards = stage
    if applied.values.get("walked") == "upwards":
        downwards = replace(stage, choices={**stage.choices, "walked": "downwards"})
    takes = {ours: theirs for ours, theirs in stage.takes.items() if ours != name}
    choices = {**downwards.choices, name: source[0].values.get(name)}
    if name == "walked":
        if downwards is stage:
            return None
        plain, tried = stage, downwards
    elif name == SORTED:
        plain, tried = downwards, replace(downwards, order=source[1].order)
    else:
        plain, tried = downwards, replace(downwards, takes=takes, choices=choices)
    try:
        here = applied if plain is stage else fresh(made).apply(plain, applied.before)
        # An engine that carries probabilities along would not look at what is left.
        before = replace(applied.before, weights=None) if name == "base" else applied.before
        there = fresh(made).apply(tried, before)
    except RandomNumberError:
        return True
    except (ParameterError, NotImplementedError):  # the engine's arithmetic has no such choice
        return None
    return not _same(there.row_after, here.row_after)


def values_of(engines: Engines, found: Difference) -> Iterator[tuple[str, list[Any], bool]]:
    """Yield the values of a step that differ, and whether they decide."""
    if found.steps[0] == found.steps[1]:
        [one], [other] = found.unit
        is_idle = all(alike_on(engines, found.unit))
        for name, values, matters in differing(engines, one, other):
            yield name, values, matters and not is_idle
