"""Where two engines part on the same row, in words.

    compare(one, other, logits, ...)      which stages differ, and why; printed, in words

How the causes are found is in `causes.py`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from math import inf
from types import MappingProxyType
from typing import Any, Final

from sampling_ref.causes import (
    Compared,
    Difference,
    Engines,
    Present,
    alike_on,
    differences_of,
    differing,
    fresh,
    moved_before,
    orders_of,
    units_of,
    values_of,
)
from sampling_ref.engines.draws import walk
from sampling_ref.engines.profile import Profile, Stage, holds
from sampling_ref.errors import ParameterError, UnknownNameError
from sampling_ref.evaluation import OTHER_NAMES, Precision, Run, evaluation, read_profile, stages_of
from sampling_ref.parameters import is_finite
from sampling_ref.random.sources import Given, Randomness, Uniforms
from sampling_ref.row import AnyHistory, AnyRow, Candidates
from sampling_ref.sampler import own_stream
from sampling_ref.tracing import RACES, RULES, SORTED, Applied, draw_in_words, shortly

SHOWN: Final = 10
"""Number of logits of a row that are printed."""


@dataclass(frozen=True)
class Comparison:
    """What two engines do with a row, and the stages that cause them to leave different rows.

    Without these stages both leave the same row. Printed, it is what `tokenref compare` prints:
    the first difference, its choices and sources.
    """

    engines: Engines
    differences: tuple[Difference, ...]
    notes: tuple[str, ...] = ()
    """Which parameters were set for one engine only, although the other has them, too."""

    def __repr__(self) -> str:
        """Return the names of the engines, and the differences."""
        names = " and ".join(made.profile.name for made, _, _ in self.engines)
        return f"<Comparison of {names}, differences: {list(self.differences)}>"

    def __str__(self) -> str:
        """Return the lines about the first difference."""
        return "\n".join(self.lines())

    def lines(self, *, every: bool = False) -> Iterator[str]:
        """Yield the first difference, or every one, with the choices and sources that cause it."""
        yield from self.notes
        (first, run, token), (second, other_run, other_token) = self.engines
        names = first.profile.name, second.profile.name
        if first.is_greedy != second.is_greedy:
            yield from _greedy_lines(self.engines, every=every)
            return
        for found in self.differences if every else self.differences[:1]:
            yield from _difference_lines(self.engines, found)
        if self.differences:
            if token is not None and other_token is not None:
                yield f"{names[0]} draws {token}, and {names[1]} draws {other_token}"
            return
        size = first.situation.size
        rows = [each.candidates.row(size) for each in (run, other_run)]
        if rows[0] == rows[1]:
            yield "all stages leave the same row in both engines"
        else:
            yield "all stages leave the same row in both engines, but for rounding"
            yield from _rounding_lines(self.engines)
            tokens = [token for token in range(size) if rows[0][token] != rows[1][token]]
            for name, row in zip(names, rows, strict=True):
                yield f"  {name} leaves {_some_logits(tokens, row, repr)}"
        if token != other_token:
            yield f"but {names[0]} draws {token}, and {names[1]} draws {other_token}"
        elif token is not None and not first.is_greedy:
            yield f"both draw {token}"
        yield from _draws_lines(self.engines)

    def as_dict(self) -> dict[str, Any]:
        """Return everything in types that JSON has.

        For each difference these are the kind, the stages of each engine, and the choices and
        parameters that differ, with whether they decide.
        """
        return {
            "engines": [
                {
                    "name": made.profile.name,
                    "greedy": made.is_greedy,
                    "probabilities": made.probabilities(run.candidates),
                    "token": token,
                }
                for made, run, token in self.engines
            ],
            "notes": list(self.notes),
            "differences": [
                {
                    "kind": found.kind,
                    "stages": [
                        [_as_dict(run, *present) for present in side]
                        for (_, run, _), side in zip(self.engines, found.unit, strict=True)
                    ],
                    "values": [
                        {"name": name, "values": list(map(_plain, values)), "decides": decides}
                        for name, values, decides in values_of(self.engines, found)
                    ],
                }
                for found in self.differences
            ],
        }


def _as_dict(run: Run, applied: Applied, stage: Stage) -> dict[str, Any]:
    return {
        "step": applied.step,
        "place": next(place for place, each in enumerate(run.applied, 1) if each is applied),
        "parameters": {name: _plain(value) for name, value in applied.parameters.items()},
        "kept": applied.kept,
        "why": applied.why,
        "source": stage.source,
    }


def _plain(value: Any) -> Any:
    """Return a value in a type that JSON has: numbers, texts, and what is left as text."""
    is_json = value is None or isinstance(value, str | int) or is_finite(value)
    return value if is_json else shortly(value)


def compare(
    one: str,
    other: str,
    logits: AnyRow,
    history: AnyHistory = (),
    *,
    prompt_length: int = 0,
    uniforms: Uniforms = (),
    seed: int | None = None,
    precision: Precision = "exact",
    own: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    **params: Any,
) -> Comparison:
    """Return where two engines part on a row, and the choices that cause it.

    Each engine gets those of the parameters that it has, under its own names; `notes` has those
    that one of them calls by another name. `own` has parameters of one engine only, by its name;
    they replace the others. With `uniforms`, or with a `seed`
    if the random streams of both are known, the tokens that they draw are compared, too.
    `prompt_length` and `precision` are those of `step`.

    >>> own = {"llama.cpp": {"temp": 1}}
    >>> found = compare("vllm", "llama.cpp", [1.0, 2.0, 2.0], top_k=1, own=own)
    >>> found.differences
    (<Difference 'rule', ['top_k'] and ['top_k']>,)
    >>> print(found)
    they differ at top_k
      choice ties: all in vllm, the first after its sort (libstdc++; here 1 before 2) in llama.cpp
    ...
    """
    records = read_profile(one), read_profile(other)
    first, second = apply_engines(
        records,
        logits,
        history,
        params,
        own,
        prompt_length=prompt_length,
        uniforms=uniforms,
        seed=seed,
        precision=precision,
    )
    return replace(comparison(first, second), notes=tuple(set_for_one(records, params, own)))


def set_for_one(
    records: Sequence[Profile], params: Mapping[str, Any], own: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    """Yield a sentence about each parameter that one engine has, but not under the given name.

    >>> [said] = set_for_one([read_profile("vllm"), read_profile("llama.cpp")], {"temp": 1}, {})
    >>> said
    'temp was set for llama.cpp only; vllm calls it temperature'
    """
    given = parameters_of(records, params, own)
    for record, values, other in zip(records, given, reversed(records), strict=True):
        known = {record.parameter(name).name for name in values}
        for name in params:
            if name not in record.by_name:
                theirs = other.parameter(name).name
                same = {what for what, taken in _parts(other) if taken == theirs}
                called = {taken for what, taken in _parts(record) if what in same}
                if called and not called & known:
                    names = " and ".join(sorted(called))
                    yield f"{name} was set for {other.name} only; {record.name} calls it {names}"


def _parts(record: Profile) -> Iterator[tuple[str, str]]:
    """Yield what each parameter is to a step, and what the engine calls it."""
    for stage in record.stages:
        for name, taken in stage.takes.items():
            usual = _usual_name(stage.step, name)
            yield usual or f"{stage.step} {name}", taken.partition(".")[0]


def _usual_name(step: str, name: str) -> str | None:
    """Return the usual name of a penalty, given a step and its parameter, or None for another."""
    usual = step if name == "penalty" else f"{name}_penalty"
    return usual if usual in OTHER_NAMES else None


def apply_engines(
    records: Sequence[Profile],
    logits: AnyRow,
    history: AnyHistory,
    params: Mapping[str, Any],
    own: Mapping[str, Mapping[str, Any]],
    *,
    prompt_length: int,
    uniforms: Uniforms,
    seed: int | None,
    precision: Precision,
    races: bool = True,
) -> list[Compared]:
    """Return what each engine does with a row, and the token that it draws.

    The arguments are those of `compare`. Without random numbers only a greedy engine draws, and
    without `races` none that needs a number for each token.
    """
    numbers = uniforms if isinstance(uniforms, Randomness) else Given(uniforms)
    is_given = not isinstance(numbers, Given) or numbers.left() > 0
    found = []
    for record, values in zip(records, parameters_of(records, params, own), strict=True):
        read = partial(evaluation, record, logits, history, values, prompt_length)
        try:
            made = read(numbers if seed is None else own_stream(record, seed), None, precision)
            used = fresh(made)
            run, token = used.run(), None
            if seed is not None:  # the engine itself draws in 32 bits
                rounded = read(own_stream(record, seed), None, "f32")
                token = rounded.draw(rounded.run())
            elif made.is_greedy or (is_given and (races or run.draw.method not in RACES)):
                token = used.draw(run)
        except ParameterError as error:
            if len(records) == 1:
                raise
            name = f"{record.name}: {error.name}"
            raise ParameterError(name, error.value, error.requirement) from None
        found.append(Compared(made, run, token))
    return found


def parameters_of(
    records: Sequence[Profile], params: Mapping[str, Any], own: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the parameters of each engine. Raise an error for a name that none has.

    >>> vllm, sglang = read_profile("vllm"), read_profile("sglang")
    >>> parameters_of([vllm, sglang], {"top_k": 1, "min_tokens": 0}, {"sglang": {"top_k": 2}})
    [{'top_k': 1, 'min_tokens': 0}, {'top_k': 2}]
    """
    for name in params:
        if not any(name in record.by_name for record in records):
            records[0].parameter(name)  # raises an error
    names = [record.name for record in records]
    if not isinstance(own, Mapping) or not all(isinstance(each, Mapping) for each in own.values()):
        raise ParameterError("own", own, "must map names of engines to their parameters")
    for name in own:
        if name not in names:
            raise UnknownNameError("engine in own", name, names)
    found = []
    for record in records:
        ours = {record.parameter(name).name for name in own.get(record.name, {})}
        shared = {
            name: value
            for name, value in params.items()
            if name in record.by_name and record.parameter(name).name not in ours
        }
        found.append({**shared, **own.get(record.name, {})})
    return found


def comparison(one: Compared, other: Compared) -> Comparison:
    """Return where two engines part, which were applied to the same row."""
    return Comparison((one, other), tuple(differences_of(one, other)))


def _greedy_lines(engines: Engines, *, every: bool) -> Iterator[str]:
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
    differences = differences_of(*deciding)
    if differences:
        name = drawing.profile.name
        yield f"the most probable token of {name} is {best[0]}, because the rows differ, too"
    for found in differences if every else differences[:1]:
        yield from _difference_lines(deciding, found)


def _most_probable(candidates: Candidates) -> list[int]:
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
    return Compared(deciding, fresh(deciding).run(), token)


def _draws_lines(engines: Engines) -> Iterable[str]:
    """Yield how two engines draw from the same row."""
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


def _walk(run: Run) -> list[int]:
    """Return the tokens in the order in which a draw looks at them, if it has one."""
    left = run.candidates
    if run.draw.method in RACES:
        return []
    places = walk(left, run.draw.order)
    return [left.tokens[place] for place in places if left.logits[place] != -inf]


def _usual_names(applied: Applied) -> set[str]:
    """Return the usual names of what a step does; of several penalties in one, those not off."""
    usual = [name for name, others in OTHER_NAMES.items() if applied.step in others]
    if len(usual) > 1:
        defaults, amounts = applied.rule.parameters, applied.values
        parts = {name: name.removesuffix("_penalty") for name in usual}
        usual = [name for name, part in parts.items() if amounts[part] != defaults[part]]
    return {*usual} or {applied.step}


def absence(engine: Compared, applied: Applied) -> str:
    """Return why an engine does not apply a step of another one, or where it does."""
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


def _difference_lines(engines: Engines, found: Difference) -> Iterable[str]:
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


def _cause_lines(engines: Engines, found: Difference) -> Iterable[str]:
    names = [made.profile.name for made, _, _ in engines]
    (one, other), kind = found
    steps = [", ".join(each) for each in found.steps]
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
        for name, order in zip(names, orders_of(engines), strict=True):
            yield f"  order in {name}: {', '.join(order)}"
        yield from _rows_in_words(engines, found)
    elif kind == "rounding":
        yield f"{heading}, because the rows before it differ by rounding"
    else:
        yield heading
    if kind != "missing":
        yield from _value_lines(engines, found)


def _some_logits(tokens: Sequence[int], row: Sequence[Any], shown: Callable[[Any], str]) -> str:
    kept = " ".join(f"{token}:{shown(row[token])}" for token in tokens[:SHOWN])
    return kept + (f" and {len(tokens) - SHOWN} more" if len(tokens) > SHOWN else "")


def _rows_in_words(engines: Engines, found: Difference) -> Iterator[str]:
    """Yield in one sentence which rows a stage gets if the order of stages is the cause."""
    moved = moved_before(engines, found)
    if not any(moved):
        return
    firsts = [side[0][0] for side in found.unit]
    laws = [
        sorted(filter(None, map(float, made.situation.numbers.law(first.before))), reverse=True)
        for (made, _, _), first in zip(engines, firsts, strict=True)
    ]
    clauses = []
    for (made, _, _), first, law, other, before in zip(
        engines, firsts, laws, laws[::-1], moved, strict=True
    ):
        shown = ", ".join(f"{share:.3g}" for share in law[:4]) + ", ..." * (len(law) > 4)
        row = "the row"
        if before and len(law) == len(other) and law[0] != other[0]:
            row = "the flatter row" if law[0] < other[0] else "the steeper row"
        after = f"is after {' and '.join(each.step for each in before)}, and " if before else ""
        clauses.append(
            f"{first.step} of {made.profile.name} {after}gets {row} with the probabilities {shown}"
        )
    yield f"  {'; '.join(clauses)}"


def _value_lines(engines: Engines, found: Difference) -> Iterable[str]:
    """Yield the choices and parameters of a step that differ; last those without effect here."""
    names = [made.profile.name for made, _, _ in engines]
    if found.steps[0] != found.steps[1]:
        yield from _call_lines(names, found)
        return
    [one], [other] = found.unit
    idle, causes, is_idle = [], 0, all(alike_on(engines, found.unit))
    for name, values, matters in differing(engines, one, other):
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
    found = {}
    for applied, _ in side:
        for name, value in applied.given.items():
            usual = _usual_name(applied.step, name)
            if usual is None:
                found[name] = value
            elif value != applied.rule.parameters[name]:
                found[usual] = value
    return found


def _rounding_lines(engines: Engines, found: Difference | None = None) -> Iterable[str]:
    """Yield the parameters that differ in digits that are not shown otherwise."""
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
