"""`tokenref profiles`, `sample` and `compare`: what engines do with a row of logits."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from tokenref.commands.paths import Decorator, options_as
from tokenref.errors import InputError

if TYPE_CHECKING:
    from sampling_ref import Profile
    from sampling_ref.engines.profile import Draw, Parameter, Stage
    from sampling_ref.evaluation import Evaluation, Run
    from sampling_ref.tracing import Applied, Share

SHOWN: Final = 10
"""Number of tokens of a distribution that are printed."""


@click.command()
@click.argument("name", required=False)
def profiles(name: str | None) -> None:
    """List the sampling engines, or show the profile of one."""
    from sampling_ref import PROFILES
    from sampling_ref.evaluation import read_profile

    if name is not None:
        click.echo(_profile_in_words(read_profile(name)))
        return
    for profile in PROFILES.values():
        click.echo(f"{profile.name:14} {profile.title}, {profile.version}")


def _profile_in_words(profile: "Profile") -> str:
    """Return one profile as text for a terminal."""
    lines = [
        f"{profile.title}: {profile.version}",
        profile.repository,
        "",
        "parameters",
        *(f"  {_parameter_line(parameter, profile)}" for parameter in profile.parameters),
        "",
        "stages, in order",
        *(line for stage in profile.stages for line in _stage_lines(stage)),
        "",
        f"greedy: {profile.greedy.condition or 'never'}; of equals: {profile.greedy.ties}",
        f"draw: {draw_in_words(profile.draw)}",
        *(f"note: {note}" for note in profile.notes),
    ]
    return "\n".join(lines)


def _parameter_line(parameter: "Parameter", profile: "Profile") -> str:
    aliases = ", ".join(profile.aliases_of(parameter.name))
    other = f" (also {aliases})" if aliases else ""
    return f"{parameter.name} = {default_in_words(parameter)}{other}: {parameter.domain}"


def default_in_words(parameter: "Parameter") -> str:
    """Return the default as Python writes it."""
    is_mapping = isinstance(parameter.default, Mapping)
    return repr(dict(parameter.default) if is_mapping else parameter.default)


def _stage_lines(stage: "Stage") -> Iterable[str]:
    takes = ", ".join(f"{ours}={theirs}" for ours, theirs in stage.takes.items())
    yield f"  {stage.step}({takes})"
    for label, text in (
        ("choices", choices_in_words({name: (value,) for name, value in stage.choices.items()})),
        ("sorted before", "" if stage.order == "as they stand" else stage.order),
        ("off if", stage.off_if),
        ("note", stage.note),
        ("source", stage.source),
    ):
        if text:
            yield f"      {label}: {text}"


def draw_in_words(draw: "Draw") -> str:
    """Return how a token is drawn."""
    words: list[str] = [draw.method]
    if draw.method in {"Gumbel-max", "exponential race"}:
        words.append(f"noise from {draw.noise}")
    else:
        words.append(f"in the order: {draw.order}")
        words.append("the running sum must " + ("exceed" if draw.boundary == "exceed" else "reach"))
    if draw.uniform:
        words.append(f"uniform number: {draw.uniform}")
    return ", ".join(words)


def choices_in_words(choices: Mapping[str, Sequence[Any]]) -> str:
    """Return choices and their values, separated by semicolons."""
    return "; ".join(f"{name}: {', '.join(map(str, values))}" for name, values in choices.items())


@dataclass(frozen=True)
class Asked:
    """What is asked about a row, as it was typed."""

    logits: str
    history: str = ""
    prompt_length: int = 0
    settings: Sequence[str] = ()
    uniforms: Sequence[float] = ()
    precision: str = "exact"


def asked_options(row: str, setting: str, about: str) -> Decorator:
    """Return a decorator: the command receives what is asked about a row as the argument `asked`.

    `row` and `setting` are the placeholders that help shows.
    """
    return options_as(
        "asked",
        Asked,
        logits=click.argument("logits", metavar=row),
        history=click.option(
            "--history", default="", help="Token ids so far, oldest first: 1,2,3."
        ),
        prompt_length=click.option(
            "--prompt-length",
            default=0,
            show_default=True,
            help="How many tokens of the history are the prompt.",
        ),
        settings=click.option("--set", "settings", multiple=True, metavar=setting, help=about),
        uniforms=click.option(
            "--uniform",
            "uniforms",
            multiple=True,
            type=float,
            help="A random number in [0, 1); may be repeated. The steps take theirs first, then "
            "the draw.",
        ),
        precision=click.option(
            "--precision",
            type=click.Choice(["exact", "f32"]),
            default="exact",
            show_default=True,
            help="Exact real numbers, or every operation rounded to 32 bits.",
        ),
    )


@click.command(context_settings={"ignore_unknown_options": True})  # a first logit may be negative
@click.argument("profile", metavar="PROFILE")
@asked_options("LOGITS", "NAME=VALUE", "Set a parameter; may be repeated.")
@click.option("--seed", type=int, help="Draw with the engine's own generator, from this seed.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the probabilities and the token as JSON."
)
def sample(profile: str, asked: Asked, seed: int | None, *, as_json: bool) -> None:
    """Show step by step what an engine does with a row of logits.

    LOGITS are numbers separated by commas, or a file that contains a JSON list. Use `-inf`
    (in JSON, "-inf" or null) for an impossible token. Parameters have the engine's own names
    (see `tokenref profiles PROFILE`), and their values are JSON: --set top_p=0.9.

    Each filter and the draw are shown with the probabilities, their running sums, and the
    rules for ties and boundaries. `tokenref compare` shows where two engines differ.
    """
    from sampling_ref import Sampler

    [(made, run, token)] = compared_engines([profile], asked)
    shares = made.probabilities(run.candidates)
    if seed is not None:
        [params] = _settings_of([made.profile], asked.settings)
        sampler = Sampler(profile, seed, _read_tokens(asked.history), **params)
        token = sampler.sample(_read_row(asked.logits))
    if as_json:
        click.echo(json.dumps({"probabilities": shares, "token": token}))
        return
    for line in _sample_lines(made, run, shares):
        click.echo(line)
    if token is not None:
        click.echo(f"\ndrawn: {token}")


def _sample_lines(made: "Evaluation", run: "Run", shares: Sequence[float]) -> Iterable[str]:
    """Yield what each step did, what decided, the probabilities, and how the engine draws."""
    yield str(run.trace)
    for applied, stage in zip(run.applied, run.stages, strict=True):
        yield from _deciding_lines(made, applied, stage)
    likeliest = sorted(range(len(shares)), key=shares.__getitem__, reverse=True)[:SHOWN]
    yield "\nprobabilities"
    for likely in likeliest:
        if shares[likely]:
            yield f"  {likely:>8}  {shares[likely]!r}"
    yield from _draw_lines(made, run)


@contextmanager
def _what_to_type(
    evaluated: "Callable[[Any], Evaluation]", uniforms: Sequence[float]
) -> Iterator[None]:
    """Within this context, say which options to add where random numbers are missing."""
    from sampling_ref import RandomNumberError
    from sampling_ref.random.sources import Counted

    try:
        yield
    except RandomNumberError as error:
        counted = Counted()
        plenty = evaluated(counted)
        plenty.draw(plenty.run())
        needed = counted.taken()
        missing = needed - len(uniforms)
        if missing <= 0:
            raise
        typed = " ".join(["--uniform 0.5"] * missing)
        if missing > _MOST_TYPED:
            typed = f"--uniform 0.5 and {missing - 1} more of these options"
        raise InputError(f"{error}: add {typed}, or other numbers in [0, 1)") from None


_MOST_TYPED: Final = 8
_BOUNDARIES: Final = (
    ("boundary", "{}"),
    ("walked", "walked {}"),
    ("equality", "a token exactly at the threshold: {}"),
    ("cut", "cut {}"),
)
_RULES: Final = ("ties", "base", *(name for name, _ in _BOUNDARIES))


def rules_of(applied: "Applied") -> "dict[str, Any]":
    """Return the choices of a filter that decide about ties and boundaries."""
    return {name: applied.values[name] for name in _RULES if name in applied.values}


def _deciding_lines(made: "Evaluation", applied: "Applied", stage: "Stage") -> Iterable[str]:
    """Yield the probabilities that decide a filter, and its rules for ties and boundaries."""
    from sampling_ref.tracing import deciding_walk, running_shares, shortly

    rules = rules_of(applied)
    if not rules or applied.changed or not applied.kept:
        return
    parameters = ", ".join(f"{name}={shortly(each)}" for name, each in applied.parameters.items())
    yield f"\n{applied.step}({parameters})"
    before = applied.before
    shares = made.situation.numbers.law(before)
    order = "typical first" if applied.step == "typical" else "most probable first"
    sums = running_shares(before.tokens, shares, deciding_walk(applied, shares))
    removed = set(applied.removed)
    border = next((at for at, each in enumerate(sums) if each.token in removed), len(sums))
    yield from _share_lines(
        sums, border, order, lambda token: "removed" if token in removed else "kept"
    )
    if rules.get("base") == "the whole row" and before.whole is not None:
        yield "  p is a share of the whole row before all filters, not of these probabilities"
    yield f"  ties: {rules.get('ties', 'cannot decide')}" + (
        f" (candidates are ordered by {stage.order})" if stage.order == "libstdc++" else ""
    )
    boundary = "; ".join(words.format(rules[name]) for name, words in _BOUNDARIES if name in rules)
    yield f"  boundary: {boundary or 'none, a number of tokens is kept'}"


def _share_lines(
    sums: "Sequence[Share]", border: int, order: str, fate: "Callable[[int], str]"
) -> Iterable[str]:
    """Yield a line for each token near the border, with its probability and the running sum."""
    first = 0 if border <= SHOWN else border - SHOWN // 2
    last = max(first + SHOWN, border + 2)
    yield f"  {'token':>8}  {'probability':<20}  {'running sum':<20}  {order}"
    if first:
        yield f"  {'...':>8}"
    for each in sums[first:last]:
        line = f"  {each.token:>8}  {each.share!r:<20}  {each.total!r:<20}  {fate(each.token)}"
        yield line.rstrip()
    if len(sums) > last:
        yield f"  {'...':>8}"


def _draw_lines(made: "Evaluation", run: "Run") -> Iterable[str]:
    """Yield how a token is drawn: the running sums, or what else decides."""
    from sampling_ref.engines.draws import walk
    from sampling_ref.tracing import running_shares

    if made.is_greedy:
        yield f"\ndraw: greedy, the largest logit; of equals: {made.profile.greedy.ties}"
        return
    yield f"\ndraw: {draw_in_words(run.draw)}"
    if run.draw.method in {"Gumbel-max", "exponential race"}:
        return
    shares = made.situation.numbers.law(run.candidates)
    places = walk(run.candidates, run.draw.order)
    tokens = [run.candidates.tokens[place] for place in places]
    sums = running_shares(run.candidates.tokens, shares, tokens)
    yield from _share_lines(sums, 0, "in the order of the draw", lambda _: "")


@click.command(context_settings={"ignore_unknown_options": True})
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
    for line in comparison_lines(*compared_engines([one, other], asked)):
        click.echo(line)


def compared_engines(
    engines: Sequence[str], asked: Asked, chains: Mapping[str, Sequence[int]] | None = None
) -> "list[Compared]":
    """Return what each engine does with a row, and the token that it draws.

    `chains` has the stages of an engine that are applied, as indices into its own, in order.
    """
    from sampling_ref.evaluation import read_profile

    records = [_with_chain(read_profile(name), (chains or {}).get(name)) for name in engines]
    settings = _settings_of(records, asked.settings)
    return [_compared(*pair, asked) for pair in zip(records, settings, strict=True)]


def _with_chain(record: "Profile", chain: Sequence[int] | None) -> "Profile":
    """Return an engine with some of its stages, in another order."""
    if chain is None:
        return record
    last = len(record.stages) - 1
    if len(set(chain)) < len(chain) or not all(0 <= place <= last for place in chain):
        raise InputError(
            f"the stages of {record.name} must be different numbers from 0 to {last}, "
            f"got {', '.join(map(str, chain)):.60}"
        )
    return replace(record, stages=tuple(record.stages[place] for place in chain))


def _compared(record: "Profile", params: Mapping[str, Any], asked: Asked) -> "Compared":
    from sampling_ref.evaluation import evaluation

    row, tokens = _read_row(asked.logits), _read_tokens(asked.history)

    def evaluated(numbers: Any) -> "Evaluation":
        how = {"prompt_length": asked.prompt_length, "precision": asked.precision}
        return evaluation(record, row, tokens, params, uniforms=numbers, **how)

    made = evaluated(asked.uniforms)
    with _what_to_type(evaluated, asked.uniforms):
        run = made.run()
        drawn = made.draw(run) if asked.uniforms or made.is_greedy else None
    return made, run, drawn


def _settings_of(
    records: "Sequence[Profile]", settings: Sequence[str]
) -> "Sequence[dict[str, Any]]":
    """Return the parameters of each engine. Raises an error for a name that none has."""
    from sampling_ref import UnknownNameError

    found: list[dict[str, Any]] = [{} for _ in records]
    for setting in settings:
        engine, colon, rest = setting.partition("=")[0].rpartition(":")
        if colon and engine not in {record.name for record in records}:
            raise UnknownNameError("engine in --set", engine, [record.name for record in records])
        own = setting.removeprefix(f"{engine}:") if colon else setting
        name = rest.strip()
        chosen = [
            (record, params)
            for record, params in zip(records, found, strict=True)
            if (record.name == engine if colon else name in record.by_name)
        ]
        for record, params in chosen or [(records[0], found[0])]:  # reports an unknown name
            key, value = _read_setting(own, record)
            params[key] = value
    return found


Compared: TypeAlias = "tuple[Evaluation, Run, int | None]"
"""An engine with its parameters, what its stages did, and the token it drew, if it drew one."""


def comparison_lines(one: Compared, other: Compared) -> Iterable[str]:
    """Yield the first difference of two engines, with the choices and sources that cause it."""
    (first, run, token), (second, other_run, other_token) = one, other
    names = first.profile.name, second.profile.name
    if first.is_greedy != second.is_greedy:
        greedy = first if first.is_greedy else second
        drawing = second if first.is_greedy else first
        rule = greedy.profile.greedy
        yield (
            f"{greedy.profile.name} takes the largest logit because {rule.condition}, "
            f"{drawing.profile.name} draws"
        )
        yield f"  source of {greedy.profile.name}: {rule.source or 'see the profile'}"
        return
    found = first_difference(run, other_run)
    if found is not None:
        yield from _difference_lines(names, *found)
        return
    yield "all stages leave the same row in both engines"
    if token != other_token:
        yield f"but {names[0]} draws {token}, and {names[1]} draws {other_token}"
    if first.is_greedy:
        ties = first.profile.greedy.ties, second.profile.greedy.ties
        shown = [f"the largest logit, of equals: {each}" for each in ties]
        sources = [each.profile.greedy.source for each in (first, second)]
    else:
        shown = [_drawing(each.draw) for each in (run, other_run)]
        sources = [each.draw.source for each in (run, other_run)]
    if shown[0] == shown[1]:
        yield f"both draw alike: {shown[0]}"
        return
    for name, words, source in zip(names, shown, sources, strict=True):
        yield f"  draw of {name}: {words}; source: {source or 'see the profile'}"


def _drawing(rule: "Draw") -> str:
    """Return what decides a draw, whatever the source of its random numbers."""
    return draw_in_words(replace(rule, uniform=""))


Side: TypeAlias = "tuple[Applied, Stage] | None"
"""A stage that an engine applied; None if it has no such stage."""


def first_difference(one: "Run", other: "Run") -> "tuple[Side, Side] | None":
    """Return the first stages that differ in what they do, or None if the rows end equal.

    Stages with the same step are compared, in the order of the first engine. A stage that the
    other engine lacks differs if it changed the row.
    """
    if not one.applied and not other.applied:
        return None
    rows = [
        run.candidates.row((run.applied or (one.applied + other.applied))[0].size)
        for run in (one, other)
    ]
    if rows[0] == rows[1]:
        return None
    for left, right in aligned(one, other):
        sides = [side[0] for side in (left, right) if side is not None]
        if len(sides) == 1 and (sides[0].removed or sides[0].changed):
            return left, right
        if len(sides) > 1 and _differs(sides[0], sides[1]):
            return left, right
    return None


def aligned(one: "Run", other: "Run") -> "Iterator[tuple[Side, Side]]":
    """Yield the stages of two engines in order, side by side where both have the step."""
    waiting = list(zip(other.applied, other.stages, strict=True))
    for left in zip(one.applied, one.stages, strict=True):
        steps = [applied.step for applied, _ in waiting]
        if left[0].step not in steps:
            yield left, None
            continue
        yield left, waiting.pop(steps.index(left[0].step))
    for right in waiting:
        yield None, right


def _differs(one: "Applied", other: "Applied") -> bool:
    """Return whether a step did something else in another engine."""
    if one.row_before == other.row_before:
        return one.row_after != other.row_after
    if one.changed or other.changed:
        return dict(one.values) != dict(other.values)
    return bool({*one.removed} & {*other.kept} or {*other.removed} & {*one.kept})


def _difference_lines(names: tuple[str, str], one: Side, other: Side) -> Iterable[str]:
    from sampling_ref.tracing import shortly

    sides = [
        (name, *side) for name, side in zip(names, (one, other), strict=True) if side is not None
    ]
    step = sides[0][1].step
    if len(sides) == 1:
        lacking = names[1] if one is not None else names[0]
        yield f"they differ at {step}: {sides[0][0]} applies it here, {lacking} does not"
    else:
        yield f"they differ at {step}"
        values = sides[0][1].values, sides[1][1].values
        differing = [
            name
            for name in {**values[0], **values[1]}
            if values[0].get(name, "-") != values[1].get(name, "-")
        ]
        for name in differing:
            shown = [shortly(each.get(name, "-")) for each in values]
            kind = "choice" if name in sides[0][1].rule.choices else "parameter"
            yield f"  {kind} {name}: {shown[0]} in {names[0]}, {shown[1]} in {names[1]}"
        if sides[0][1].row_before != sides[1][1].row_before:
            yield "  the row before it differs, because the stages have another order"
        if sides[0][2].order != sides[1][2].order:
            orders = [side[2].order for side in sides]
            yield f"  order before it: {orders[0]} in {names[0]}, {orders[1]} in {names[1]}"
    for name, applied, stage in sides:
        row = applied.row_after
        kept = " ".join(f"{token}:{shortly(row[token])}" for token in applied.kept[:SHOWN])
        more = f" and {len(applied.kept) - SHOWN} more" if len(applied.kept) > SHOWN else ""
        yield f"  {name} leaves {kept}{more}"
        yield f"    {applied.why}; source: {stage.source or 'see the profile'}"
        if stage.note:
            yield f"    note: {stage.note}"


def _read_row(text: str) -> list[float]:
    try:
        return [float(number) for number in text.strip("[]").split(",")]
    except ValueError:
        pass
    path = Path(text)
    if not path.is_file():
        raise InputError(f"LOGITS must be numbers separated by commas, or a file, got {text!r}")
    try:
        numbers = json.loads(path.read_text(encoding="utf-8"))
        return [float("-inf") if number is None else float(number) for number in numbers]
    except (ValueError, TypeError) as error:
        raise InputError(f"{path} must contain a JSON list of numbers: {error}") from None


def _read_tokens(text: str) -> list[int]:
    try:
        return [int(token) for token in text.split(",") if token.strip()]
    except ValueError:
        raise InputError(f"--history must be token ids separated by commas, got {text!r}") from None


def _read_setting(text: str, profile: "Profile") -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--set must be NAME=VALUE, got {text!r}")
    parameter = profile.parameter(name)
    try:
        read = json.loads(value)
    except ValueError:
        read = _number_or_text(value)
    if isinstance(read, dict):
        read = {int(token): number for token, number in read.items() if token.isdigit()}
    return parameter.name, read


def _number_or_text(value: str) -> float | str:
    """Return a number that JSON does not know, such as .5, or the text itself."""
    try:
        return float(value)
    except ValueError:
        return value
