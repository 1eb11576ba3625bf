"""`tokenref compare`: the first stage at which two engines part, and the choice that causes it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, takewhile
from math import inf
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

import click

from tokenref.commands.sampling import (
    RACES,
    RULES,
    SHOWN,
    SORTED,
    Asked,
    Compared,
    RowCommand,
    asked_options,
    compared_engines,
    draw_in_words,
    fresh,
    rules_of,
    tied_at_the_border,
)

if TYPE_CHECKING:
    from sampling_ref.engines.profile import Stage
    from sampling_ref.evaluation import Evaluation, Run
    from sampling_ref.row import Candidates
    from sampling_ref.tracing import Applied

Present: TypeAlias = "tuple[Applied, Stage]"
"""A stage that an engine applied, and what it did."""

Side: TypeAlias = "Present | None"
"""The same; None if an engine does not apply the stage."""

Unit: TypeAlias = tuple[Sequence[Present], Sequence[Present]]
"""The stages of two engines that do the same, of one engine perhaps none."""

ROUNDING: Final = 2.0**-20
"""Logits that differ by no more than this part of the largest one, or of 1, differ by rounding."""


class Difference(NamedTuple):
    """The first stages that differ, and in what.

    They are "missing" in one engine, they do something else on the same row ("rule"), or they would
    do the same, but get other rows because of the "order" of stages, or because of "rounding".
    """

    unit: Unit
    kind: Literal["missing", "rule", "order", "rounding"]


def comparison_lines(one: Compared, other: Compared, *, found: Difference | None) -> Iterable[str]:
    """Yield the first difference that was found, with the choices and sources that cause it."""
    engines = one, other
    (first, run, token), (second, other_run, other_token) = engines
    names = first.profile.name, second.profile.name
    if first.is_greedy != second.is_greedy:
        yield from _greedy_lines(engines)
        return
    if found is not None:
        yield from _difference_lines(engines, found)
        return
    size = first.situation.size
    rows = [each.candidates.row(size) for each in (run, other_run)]
    if rows[0] == rows[1]:
        yield "all stages leave the same row in both engines"
    else:
        yield "all stages leave the same row in both engines, but for rounding"
        yield from _rounding_lines(engines)
        tokens = [token for token in range(size) if rows[0][token] != rows[1][token]]
        for name, row in zip(names, rows, strict=True):
            yield f"  {name} leaves {_some_logits(tokens, row, repr)}"
    if token != other_token:
        yield f"but {names[0]} draws {token}, and {names[1]} draws {other_token}"
    yield from _draws_lines(engines)


def _greedy_lines(engines: "tuple[Compared, Compared]") -> Iterable[str]:
    """Yield why only one of two engines takes the largest logit."""
    (greedy, _, token), (drawing, run, _) = sorted(engines, key=lambda each: not each[0].is_greedy)
    rule = greedy.profile.greedy
    line = f"{greedy.profile.name} takes the largest logit because {rule.condition}, "
    line += f"{drawing.profile.name} draws"
    logits = zip(run.candidates.tokens, run.candidates.logits, strict=True)
    if [each for each, logit in logits if logit != -inf] == [token]:
        line += f", but has only the same token {token} left"
    yield line
    yield f"  source of {greedy.profile.name}: {rule.source or 'see the profile'}"
    best = _most_probable(run.candidates)
    if token in best:
        return
    # A stage that leaves the best tokens as they are, such as a filter, decides nothing here.
    one, other = engines
    deciding = _only_deciding(one, other), _only_deciding(other, one)
    found = first_difference(*deciding)
    if found is not None:
        name = drawing.profile.name
        yield f"the most probable token of {name} is {best[0]}, because the rows differ, too"
        yield from _difference_lines(deciding, found)


def _most_probable(candidates: "Candidates") -> list[int]:
    """Return the tokens with the largest logit."""
    largest = max(candidates.logits)
    pairs = zip(candidates.tokens, candidates.logits, strict=True)
    return [token for token, logit in pairs if logit == largest]


def _only_deciding(engine: Compared, other: Compared) -> Compared:
    """Return an engine without stages that the other one lacks and that move no largest logit."""
    made, run, token = engine
    idle = [
        stage
        for own, others in units_of(run, other[1])
        for applied, stage in own
        if not others and _most_probable(applied.before) == _most_probable(applied.after)
    ]
    left = tuple(each for each in made.profile.stages if all(each is not stage for stage in idle))
    deciding = fresh(made, profile=replace(made.profile, stages=left))
    return deciding, fresh(deciding).run(), token


def _draws_lines(engines: "tuple[Compared, Compared]") -> Iterable[str]:
    """Yield how two engines draw from the same row."""
    from sampling_ref.tracing import shortly

    names = [made.profile.name for made, _, _ in engines]
    walks: list[Sequence[int]] = []
    if engines[0][0].is_greedy:
        rules = [made.profile.greedy for made, _, _ in engines]
        shown = [f"the largest logit, of equals: {rule.ties}" for rule in rules]
        sources = [rule.source for rule in rules]
    else:
        draws = [run.draw for _, run, _ in engines]
        shown = [draw_in_words(replace(draw, uniform="")) for draw in draws]
        sources = [draw.source for draw in draws]
        walks = [_walk(run) for _, run, _ in engines]
    if shown[0] == shown[1] and all(each == walks[0] for each in walks):
        yield f"both draw alike: {shown[0]}"
        return
    if shown[0] == shown[1]:
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*walks, strict=True)))
        begin = "... " if same else ""
        shown = [f"{shown[0]}: {begin}{shortly(tokens[same:])}" for tokens in walks]
    for name, words, source in zip(names, shown, sources, strict=True):
        yield f"  draw of {name}: {words}; source: {source or 'see the profile'}"


def _walk(run: "Run") -> list[int]:
    """Return the tokens in the order in which a draw looks at them, if it has one."""
    from sampling_ref.engines.draws import walk

    left = run.candidates
    if run.draw.method in RACES:
        return []
    places = walk(left, run.draw.order)
    return [left.tokens[place] for place in places if left.logits[place] != -inf]


def first_difference(one: Compared, other: Compared) -> Difference | None:
    """Return the first stages that cause two engines to leave different rows, or None.

    Stages are a cause if the engines leave the same row without them and the other causes, and do
    not if they are put back: this is a smallest set of them. So stages that differ are no cause
    where other stages make up for it. "First" is in the order of the engine whose name is first in
    the alphabet, so the answer does not depend on the order of the arguments. Only if no cause is
    missing or does something else is it the order of the stages.
    """
    if one[0].profile.name > other[0].profile.name:
        found = first_difference(other, one)
        return found and Difference(found.unit[::-1], found.kind)
    engines, size = (one, other), one[0].situation.size
    if _same(*(run.candidates.row(size) for _, run, _ in engines)):
        return None
    units = units_of(one[1], other[1])
    alike = [_alike(engines, unit) for unit in units]
    causes = _smallest_causes(engines, units, alike)
    for place in causes:
        unit = units[place]
        if all(unit) and not any(alike[place]):
            return Difference(unit, "rule")
        if not all(unit) and any(each.removed or each.changed for each, _ in chain(*unit)):
            return Difference(unit, "missing")
    # A stage without an effect of its own may sort the tokens.
    both = [units[place] for place in causes if all(units[place])]
    if not both:
        return Difference(units[causes[0]], "missing")
    return Difference(both[0], "order" if any(_orders(engines)) else "rounding")


def _smallest_causes(
    engines: tuple[Compared, Compared], units: Sequence[Unit], alike: Sequence[Sequence[bool]]
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


def units_of(one: "Run", other: "Run") -> list[Unit]:
    """Return the stages of two engines in order, side by side where they do the same.

    They do if they have the same step, or if they are all the penalties of an engine and the other
    engine has them in fewer steps or in one that only some engines have. They are in the order of
    the first engine. What only the other one has is before what follows it there.
    """
    from sampling_ref.evaluation import OTHER_NAMES, related

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
    from sampling_ref.row import to_float

    if one == other or len(one) != len(other):
        return one == other
    pairs = list(zip(one, other, strict=True))
    if any((left == -inf) != (right == -inf) for left, right in pairs):
        return False
    possible = [pair for pair in pairs if pair[0] != -inf]
    most = ROUNDING * max(1, *(abs(to_float(logit)) for pair in possible for logit in pair))
    return all(left == right or abs(left - right) <= most < inf for left, right in possible)


def _alike(engines: tuple[Compared, Compared], unit: Unit) -> list[bool]:
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


def _left_by(made: "Evaluation", side: Sequence[Present], before: "Candidates") -> list[Any]:
    """Return the row that some stages of an engine leave; none if they cannot be applied."""
    from sampling_ref import SamplingError

    engine, left = fresh(made), before
    try:
        for _, stage in side:
            left = engine.apply(stage, left).after
    except SamplingError:
        return []
    return left.row(made.situation.size)


def _agree_without(engines: tuple[Compared, Compared], units: Sequence[Unit]) -> bool:
    """Return whether two engines leave the same row without some of their stages."""
    from sampling_ref import SamplingError

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


def _usual_names(applied: "Applied") -> set[str]:
    """Return the usual names of what a step does; of several penalties in one, those not off."""
    from sampling_ref.evaluation import OTHER_NAMES

    usual = [name for name, others in OTHER_NAMES.items() if applied.step in others]
    if len(usual) > 1:
        defaults, amounts = applied.rule.parameters, applied.values
        parts = {name: name.removesuffix("_penalty") for name in usual}
        usual = [name for name, part in parts.items() if amounts[part] != defaults[part]]
    return {*usual} or {applied.step}


def absence(engine: Compared, applied: "Applied") -> str:
    """Return why an engine does not apply a step of another one, or where it does."""
    from sampling_ref import UnknownNameError
    from sampling_ref.engines.profile import holds
    from sampling_ref.evaluation import stages_of

    made, run, _ = engine
    name = made.profile.name
    steps = _usual_names(applied)
    for place, own in enumerate(run.applied, 1):
        if steps & _usual_names(own):
            return f"{name} applies {own.step} at stage {place}"
    found = []
    for step in sorted(steps):
        try:
            stages = stages_of(made.profile, step)
        except UnknownNameError:
            found.append(f"{name} has no stage {step}")
            continue
        off = [stage for stage in stages if holds(stage.off_if, made.parameters)]
        why = [f"{stage.step} is off in {name}, because {stage.off_if}" for stage in off[:1]]
        found += why or [f"{step} is off in {name}"]
    return "; ".join(found)


def _difference_lines(engines: tuple[Compared, Compared], found: Difference) -> Iterable[str]:
    from sampling_ref.tracing import shortly

    names = [made.profile.name for made, _, _ in engines]
    yield from _cause_lines(engines, found)
    yield from _rounding_lines(engines, found)
    for name, side in zip(names, found.unit, strict=True):
        for applied, stage in side:
            kept = _some_logits(applied.kept, applied.row_after, shortly)
            yield f"  {name} leaves {kept} (token:logit) after {applied.step}"
            yield f"    {applied.why}; source: {stage.source or 'see the profile'}"
            if stage.note:
                yield f"    note: {stage.note}"


def _cause_lines(engines: tuple[Compared, Compared], found: Difference) -> Iterable[str]:
    names = [made.profile.name for made, _, _ in engines]
    (one, other), kind = found
    steps = [", ".join(applied.step for applied, _ in side) for side in (one, other)]
    heading = f"they differ at {steps[0]}"
    if steps[0] != steps[1]:
        heading = f"they differ at {steps[0]} in {names[0]}, {steps[1]} in {names[1]}"
    if kind == "missing":
        has, lacks = (0, 1) if one else (1, 0)
        yield f"they differ at {steps[has]}: {names[has]} applies it here, {names[lacks]} does not"
        for applied, _ in one or other:
            yield f"  {absence(engines[lacks], applied)}"
    elif kind == "order":
        yield "they differ in the order of their stages"
        for name, order in zip(names, _orders(engines), strict=True):
            yield f"  order in {name}: {', '.join(order)}"
    elif kind == "rounding":
        yield f"{heading}, because the rows before it differ by rounding"
    else:
        yield heading
    if kind != "missing":
        yield from _value_lines(engines, found)


def _some_logits(tokens: Sequence[int], row: Sequence[Any], shown: "Callable[[Any], str]") -> str:
    kept = " ".join(f"{token}:{shown(row[token])}" for token in tokens[:SHOWN])
    return kept + (f" and {len(tokens) - SHOWN} more" if len(tokens) > SHOWN else "")


def _orders(engines: tuple[Compared, Compared]) -> list[list[str]]:
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


def _value_lines(engines: tuple[Compared, Compared], found: Difference) -> Iterable[str]:
    """Yield the choices and parameters of a step that differ; last those without effect here."""
    from sampling_ref.tracing import shortly

    names = [made.profile.name for made, _, _ in engines]
    if [each.step for each, _ in found.unit[0]] != [each.step for each, _ in found.unit[1]]:
        yield from _call_lines(names, found)
        return
    [one], [other] = found.unit
    idle, causes, is_idle = [], 0, all(_alike(engines, found.unit))
    for name, values, matters in _differing(engines, one, other):
        kind = "choice" if name in {*one[0].rule.choices, *RULES} else "parameter"
        shown = [shortly(value) for value in values]
        if matters and shown[0] == shown[1]:
            shown = [repr(value) for value in values]
        line = f"{shown[0]} in {names[0]}, {shown[1]} in {names[1]}"
        if matters and not is_idle:
            causes += 1
            yield f"  {kind} {name}: {line}" if name != SORTED else f"  {name}: {line}"
        elif shown[0] != shown[1] and name != SORTED:
            idle.append(f"{kind} {name}: {line}")
    if idle:
        about = "other differences, without effect here"
        if not causes and not is_idle:
            about = "other differences" if found.kind == "order" else "differences, together"
        yield f"  {about}: {'; '.join(idle)}"
    elif found.kind == "rule" and not causes:
        yield "  no choice differs, only how the engines calculate"


def _call_lines(names: Sequence[str], found: Difference) -> Iterable[str]:
    """Yield what each engine gives to stages that have different names."""
    from sampling_ref.tracing import shortly

    if found.kind != "rule":
        return
    amounts = [_amounts(side) for side in found.unit]
    for name in {**amounts[0], **amounts[1]}:
        shown = [shortly(each.get(name, "off")) for each in amounts]
        if name.endswith("_penalty") and shown[0] != shown[1]:
            yield f"  parameter {name}: {shown[0]} in {names[0]}, {shown[1]} in {names[1]}"
    for engine, side in zip(names, found.unit, strict=True):
        for applied, _ in side:
            values = (f"{name}={shortly(value)}" for name, value in applied.values.items())
            yield f"  {engine} applies {applied.step}({', '.join(values)})"


def _amounts(side: Sequence[Present]) -> dict[str, Any]:
    """Return the parameters of some stages; those of penalties that are on by their usual names."""
    from sampling_ref.evaluation import OTHER_NAMES

    found = {}
    for applied, _ in side:
        for name, value in applied.given.items():
            usual = applied.step if name == "penalty" else f"{name}_penalty"
            if usual not in OTHER_NAMES:
                found[name] = value
            elif value != applied.rule.parameters[name]:
                found[usual] = value
    return found


def _rounding_lines(
    engines: tuple[Compared, Compared], found: Difference | None = None
) -> Iterable[str]:
    """Yield the parameters that differ in digits that are not shown otherwise."""
    from sampling_ref.tracing import shortly

    names = [made.profile.name for made, _, _ in engines]
    blamed = [side[0][0] for side in found.unit] if found and found.kind == "rule" else []
    lines = []
    for unit in units_of(*(run for _, run, _ in engines)):
        one, other = map(_amounts, unit)
        if any(applied is blamed[0] for side in unit for applied, _ in side if blamed):
            continue
        for name in one:
            values = [one[name], other.get(name)]
            if values[0] != values[1] and shortly(values[0]) == shortly(values[1]):
                lines.append(f"{name}: {values[0]} in {names[0]}, {values[1]} in {names[1]}")
    if lines:
        yield f"  differences of rounding: {'; '.join(lines)}"


def _differing(
    engines: tuple[Compared, Compared], one: Present, other: Present
) -> "Iterator[tuple[str, list[Any], bool]]":
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


def _changes(made: "Evaluation", side: Present, source: Present, name: str) -> bool | None:
    """Return whether a stage leaves another row if one of its values is that of another engine.

    None if that cannot be tried. A stage that walks upwards has its own rules for ties and the
    boundary. So it is tried as one that walks downwards with these rules, which keeps the same
    tokens but for rounding, and no other stage is made to walk upwards. What needs a random number
    matters.
    """
    from sampling_ref import ParameterError, RandomNumberError

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


@click.command(cls=RowCommand)
@click.argument("one", metavar="ENGINE")
@click.argument("other", metavar="ENGINE")
@asked_options(
    "ROW",
    "[ENGINE:]NAME=VALUE",
    "Set a parameter of each engine that has it, or of one engine; may be repeated.",
)
def compare(one: str, other: str, asked: Asked) -> None:
    """Show where and why two engines part on a row.

    ROW is as for `tokenref sample`. For the first stage after which the rows differ, the choices
    and parameters that differ are printed, with the source of each engine. Parameters that are
    not set have the defaults of their engine.
    """
    engines = compared_engines([one, other], replace(asked, called="ROW"))
    for line in comparison_lines(*engines, found=first_difference(*engines)):
        click.echo(line)
