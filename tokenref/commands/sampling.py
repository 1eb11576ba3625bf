"""`tokenref profiles`, `sample` and `compare`: what engines do with a row of logits."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, takewhile
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

import click

from tokenref.commands.endings import standard_input
from tokenref.commands.paths import Decorator, options_as
from tokenref.errors import InputError
from tokenref.files import LARGEST, read_bytes, text_of

if TYPE_CHECKING:
    from sampling_ref import Profile
    from sampling_ref.engines.profile import Draw, Parameter, Stage
    from sampling_ref.evaluation import Evaluation, Run
    from sampling_ref.row import Candidates
    from sampling_ref.tracing import Applied, Share

SHOWN: Final = 10
"""Number of tokens of a distribution that are printed."""

RACES: Final = ("Gumbel-max", "exponential race")
"""The methods of drawing that need a random number for each token."""


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
        ("choices", stage_choices_in_words(stage)),
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
    if draw.method in RACES:
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


def stage_choices_in_words(stage: "Stage") -> str:
    """Return the choices of a stage; where a sort decides between equal tokens, that it does.

    >>> from sampling_ref import PROFILES
    >>> stages = {stage.step: stage for stage in PROFILES["llama.cpp"].stages}
    >>> stage_choices_in_words(stages["top_k"])
    'ties: the first after its sort (libstdc++); zero: error; beyond: all; least: 1'
    """
    choices = {name: (value,) for name, value in stage.choices.items()}
    if "ties" in choices:
        choices["ties"] = (_ties_in_words(stage, stage.choices["ties"]),)
    return choices_in_words(choices)


def _ties_in_words(stage: "Stage", ties: str, here: str = "") -> str:
    """Return which of equal tokens a stage takes; `here` says it of one row."""
    if stage.order != "libstdc++":
        return ties
    place = "last" if ties == "highest id" else "first"
    return f"the {place} after its sort ({stage.order}{here})"


@dataclass(frozen=True)
class Asked:
    """What is asked about a row, as it was typed."""

    logits: str
    history: str = ""
    prompt_length: int = 0
    settings: Sequence[str] = ()
    uniforms: Sequence[float] = ()
    precision: str = "exact"
    seed: int | None = None

    @cached_property
    def row(self) -> list[float]:
        """The row. Standard input is read only once."""
        return read_row(self.logits)


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
            type=click.IntRange(min=0),
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


class RowCommand(click.Command):
    """A command about a row, whose first logit may look like an option."""

    ignore_unknown_options = True

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments. An error about too many says how rows and parameters are typed."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            takes_settings = any(each.name == "settings" for each in self.params)
            if takes_settings and "unexpected extra argument" in error.message:
                how = "parameters are --set NAME=VALUE, a row has commas and no spaces"
                raise click.UsageError(f"{error.message}: {how}", ctx) from None
            raise


@click.command(cls=RowCommand)
@click.argument("profile", metavar="PROFILE")
@asked_options("LOGITS", "NAME=VALUE", "Set a parameter; may be repeated.")
@click.option(
    "--seed",
    type=int,
    help="Take random numbers from the engine's own generator with this seed, for llama.cpp and "
    "transformers.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the probabilities and the token as JSON."
)
def sample(profile: str, asked: Asked, seed: int | None, *, as_json: bool) -> None:
    """Show step by step what an engine does with a row of logits.

    LOGITS are numbers separated by commas, or a file that contains a JSON list, or `-` for such a
    list from standard input. Use `-inf` (in JSON, "-inf" or null) for an impossible token.
    Parameters have the engine's own names (see `tokenref profiles PROFILE`), and their values are
    JSON: --set top_p=0.9.

    Each filter and the draw are shown with the probabilities, their running sums, and the
    rules for ties and boundaries. Numbers have six digits, or all digits if two that differ
    would look alike, or like a parameter; --json always prints all digits. 3:1.5 is token 3
    with the logit 1.5, and `least` is the number of tokens that a filter always keeps.
    `tokenref compare` shows where two engines differ.
    """
    if seed is not None:
        _must_take_seeds(profile, asked)
        asked = replace(asked, seed=seed)
    # The chain is printed before the numbers for a race are counted.
    [(made, run, token)] = compared_engines([profile], asked, races=as_json)
    shares = made.probabilities(run.candidates)
    if as_json:
        click.echo(json.dumps({"probabilities": shares, "token": token}))
        return
    for line in _sample_lines(made, run, shares, asked.uniforms):
        click.echo(line)
    if token is None and asked.uniforms:
        [(_, _, token)] = compared_engines([profile], asked)
    if token is not None:
        click.echo(f"\ndrawn: {token}")


def _must_take_seeds(profile: str, asked: Asked) -> None:
    """Raise an error unless the random numbers of an engine can be made from a seed."""
    from sampling_ref import PROFILES
    from sampling_ref.evaluation import read_profile

    if asked.uniforms:
        raise click.UsageError("give at most one of --seed and --uniform")
    seeded = [each.name for each in PROFILES.values() if each.draw.own_stream]
    if read_profile(profile).name not in seeded:
        names = " and ".join(seeded)
        raise InputError(
            f"--seed works for {names}, whose generators are known here, not for {profile}: give "
            "--uniform"
        )


def _sample_lines(
    made: "Evaluation", run: "Run", shares: Sequence[float], uniforms: Sequence[float]
) -> Iterable[str]:
    """Yield what each step did, what decided, the probabilities, and how the engine draws."""
    yield str(run.trace)
    for applied, stage in zip(run.applied, run.stages, strict=True):
        yield from _deciding_lines(made, applied, stage)
    likeliest = sorted(range(len(shares)), key=shares.__getitem__, reverse=True)[:SHOWN]
    yield "\nprobabilities"
    shown = _in_digits([shares[likely] for likely in likeliest])
    for likely, share in zip(likeliest, shown, strict=True):
        if shares[likely]:
            yield f"  {likely:>8}  {share}"
    yield from _draw_lines(made, run, uniforms)


def _in_digits(numbers: Sequence[float], beside: Sequence[float] = ()) -> list[str]:
    """Return numbers with six digits, or with all if numbers that differ would look alike.

    Those `beside` them are shown elsewhere, and must not look like one of them.

    >>> _in_digits([0.45505423392341127, 1.0])
    ['0.455054', '1']
    >>> _in_digits([0.1, 0.1 + 0.2], beside=[0.3])
    ['0.1', '0.30000000000000004']
    """
    different = {*numbers, *beside}
    if len({f"{number:g}" for number in different}) < len(different):
        return [repr(number) for number in numbers]
    return [f"{number:g}" for number in numbers]


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
        sentence = str(error).partition(": give ")[0]  # in Python, and not here
        seeded = "; `tokenref sample` also takes --seed 1" * bool(plenty.profile.draw.own_stream)
        raise InputError(f"{sentence}: add {typed}, or other numbers in [0, 1){seeded}") from None


_MOST_TYPED: Final = 8
WORDS: Final[Mapping[str, str]] = {
    "reach": "kept up to the token at which the running sum reaches the threshold",
    "exceed": "kept up to the token at which the running sum exceeds the threshold",
    "within": "kept while the running sum is at most the threshold",
    "fitting": "tokens are taken in their order, and the smallest leaves while the sum exceeds p",
    "short": "the token that reaches the threshold is removed",
    "upwards": "removed while the running sum is at most 1 - p",
    "kept": "a token exactly at the threshold is kept",
    "removed": "a token exactly at the threshold is removed",
    "counts": "a token exactly at the threshold reaches it",
    "does not": "a token exactly at the threshold does not reach it",
    "the whole row": "p is a share of the whole row before all filters",
}
"""What a choice about ties and boundaries means. A choice that goes without saying is missing."""

_SORTED: Final = "sorted before"
_RULES: Final = ("ties", "base", "boundary", "walked", "equality", "cut")


def rules_of(applied: "Applied", stage: "Stage") -> "dict[str, Any]":
    """Return the choices of a filter that decide about ties and boundaries."""
    rules = {name: applied.values[name] for name in _RULES if name in applied.values}
    if "ties" in rules:
        rules["ties"] = _ties_in_words(stage, rules["ties"], _tied_at_the_border(applied))
    if rules.get("boundary") == "fitting":
        rules["ties"] = "those taken last"
    return rules


def first_looked_at(applied: "Applied") -> str:
    """Return in which order a filter looks at the tokens."""
    if applied.values.get("boundary") == "fitting":
        return "as they stand"
    if applied.step == "typical":
        return "most typical first"
    upwards = applied.values.get("walked") == "upwards"
    return "least probable first" if upwards else "most probable first"


def _tied_at_the_border(applied: "Applied") -> str:
    """Return the order of equal tokens that a filter kept and removed, if it did both."""
    from sampling_ref.tracing import shortly

    row = applied.row_before
    ties = {row[token] for token in applied.kept} & {row[token] for token in applied.removed}
    if not ties or applied.changed:
        return ""
    kept, removed = (
        [token for token in tokens if row[token] in ties]
        for tokens in (applied.kept, applied.removed)
    )
    first, last = (kept, removed) if applied.values["ties"] != "highest id" else (removed, kept)
    return f"; here {shortly(first)} before {shortly(last)}"


def _deciding_lines(made: "Evaluation", applied: "Applied", stage: "Stage") -> Iterable[str]:
    """Yield the probabilities that decide a filter, and its rules for ties and boundaries."""
    from sampling_ref.tracing import deciding_walk, running_shares, shortly

    rules = rules_of(applied, stage)
    if not rules or applied.changed or not applied.kept:
        return
    parameters = ", ".join(f"{name}={shortly(each)}" for name, each in applied.parameters.items())
    yield f"\n{applied.step}({parameters})"
    before = applied.before
    shares = made.situation.numbers.law(before)
    upwards = rules.get("walked") == "upwards"
    order = first_looked_at(applied)
    sums = running_shares(before.tokens, shares, deciding_walk(applied, shares))
    removed = set(applied.removed)
    beyond = set(applied.kept) if upwards else removed
    border = next((at for at, each in enumerate(sums) if each.token in beyond), len(sums))
    beside = [each for each in applied.parameters.values() if isinstance(each, float)]
    yield from _share_lines(
        sums, border, order, lambda token: "removed" if token in removed else "kept", beside
    )
    if rules.get("base") == "the whole row" and before.whole is not None:
        yield "  p is a share of the whole row before all filters, not of these probabilities"
    yield f"  ties: {rules.get('ties', 'cannot decide')}"
    name = next((name for name in ("boundary", "equality", "cut") if name in rules), None)
    chosen = str(rules["walked" if upwards else name]) if name else ""
    boundary = WORDS.get(chosen, f"{name} {chosen}") if name else "none, a number of tokens is kept"
    yield f"  boundary: {boundary}"


def _share_lines(
    sums: "Sequence[Share]",
    border: int,
    order: str,
    fate: "Callable[[int], str]",
    beside: Sequence[float],
) -> Iterable[str]:
    """Yield a line for each token near the border, with its probability and the running sum."""
    first = 0 if border <= SHOWN else border - SHOWN // 2
    last = max(first + SHOWN, border + 2)
    near = sums[first:last]
    shares, totals = (
        _in_digits(column, beside)
        for column in ([each.share for each in near], [each.total for each in near])
    )
    wide = max(map(len, ["probability", *shares, *totals]))
    yield f"  {'token':>8}  {'probability':<{wide}}  {'running sum':<{wide}}  {order}"
    if first:
        yield f"  {'...':>8}"
    for each, share, total in zip(near, shares, totals, strict=True):
        line = f"  {each.token:>8}  {share:<{wide}}  {total:<{wide}}  {fate(each.token)}"
        yield line.rstrip()
    if len(sums) > last:
        yield f"  {'...':>8}"


def _draw_lines(made: "Evaluation", run: "Run", uniforms: Sequence[float]) -> Iterable[str]:
    """Yield how a token is drawn: the running sums, or what else decides."""
    from sampling_ref.engines.draws import walk
    from sampling_ref.tracing import running_shares

    if made.is_greedy:
        yield f"\ndraw: greedy, the largest logit; of equals: {made.profile.greedy.ties}"
        return
    yield f"\ndraw: {draw_in_words(run.draw)}"
    if run.draw.method in RACES:
        return
    shares = made.situation.numbers.law(run.candidates)
    places = walk(run.candidates, run.draw.order)
    tokens = [run.candidates.tokens[place] for place in places]
    sums = running_shares(run.candidates.tokens, shares, tokens)
    yield from _share_lines(sums, 0, "in the order of the draw", lambda _: "", uniforms)


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
    for line in comparison_lines(*compared_engines([one, other], asked)):
        click.echo(line)


def compared_engines(
    engines: Sequence[str],
    asked: Asked,
    chains: Mapping[str, Sequence[int]] | None = None,
    *,
    races: bool = True,
) -> "list[Compared]":
    """Return what each engine does with a row, and the token that it draws.

    `chains` has the stages of an engine that are applied, as indices into its own, in order.
    Without `races`, an engine that needs a random number for each token draws none.
    """
    from sampling_ref.evaluation import read_profile

    records = [_with_chain(read_profile(name), (chains or {}).get(name)) for name in engines]
    settings = _settings_of(records, asked.settings)
    return [_compared(*pair, asked, races) for pair in zip(records, settings, strict=True)]


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


def _compared(
    record: "Profile", params: Mapping[str, Any], asked: Asked, races: bool
) -> "Compared":
    from sampling_ref.evaluation import evaluation
    from sampling_ref.sampler import own_stream

    row, tokens = asked.row, _read_tokens(asked.history)
    if asked.prompt_length > len(tokens):
        rule = f"must be at most the number of tokens of --history, {len(tokens)}"
        raise InputError(f"--prompt-length {rule}, got {asked.prompt_length}")

    def evaluated(numbers: Any, precision: Any = asked.precision) -> "Evaluation":
        how = {"prompt_length": asked.prompt_length, "precision": precision}
        return evaluation(record, row, tokens, params, uniforms=numbers, **how)

    if asked.seed is not None:  # the engine itself draws in 32 bits
        made, rounded = (
            evaluated(own_stream(record, asked.seed), precision)
            for precision in (asked.precision, "f32")
        )
        return made, made.run(), rounded.draw(rounded.run())
    made = evaluated(asked.uniforms)
    used = _fresh(made)
    with _what_to_type(evaluated, asked.uniforms):
        run = used.run()
        draws = asked.uniforms and (races or run.draw.method not in RACES)
        drawn = used.draw(run) if draws or made.is_greedy else None
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


def comparison_lines(one: Compared, other: Compared) -> Iterable[str]:
    """Yield the first difference of two engines, with the choices and sources that cause it."""
    engines = one, other
    (first, run, token), (second, other_run, other_token) = engines
    names = first.profile.name, second.profile.name
    if first.is_greedy != second.is_greedy:
        yield from _greedy_lines(engines)
        return
    found = first_difference(one, other)
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


def _fresh(made: "Evaluation", **changed: Any) -> "Evaluation":
    """Return an engine that has taken none of its random numbers yet."""
    situation = replace(made.situation, randomness=copy(made.situation.randomness))
    return replace(made, situation=situation, **changed)


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

    engine, left = _fresh(made), before
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
        engine = _fresh(made, profile=replace(made.profile, stages=tuple(left)))
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
        kind = "choice" if name in {*one[0].rule.choices, *_RULES} else "parameter"
        shown = [shortly(value) for value in values]
        if matters and shown[0] == shown[1]:
            shown = [repr(value) for value in values]
        line = f"{shown[0]} in {names[0]}, {shown[1]} in {names[1]}"
        if matters and not is_idle:
            causes += 1
            yield f"  {kind} {name}: {line}" if name != _SORTED else f"  {name}: {line}"
        elif shown[0] != shown[1] and name != _SORTED:
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
    values = [{**each[0].values, **rules_of(*each), _SORTED: each[1].order} for each in sides]
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
                tried = [bool(_tied_at_the_border(applied)) for applied, _ in sides]
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
    elif name == _SORTED:
        plain, tried = downwards, replace(downwards, order=source[1].order)
    else:
        plain, tried = downwards, replace(downwards, takes=takes, choices=choices)
    try:
        here = applied if plain is stage else _fresh(made).apply(plain, applied.before)
        # An engine that carries probabilities along would not look at what is left.
        before = replace(applied.before, weights=None) if name == "base" else applied.before
        there = _fresh(made).apply(tried, before)
    except RandomNumberError:
        return True
    except (ParameterError, NotImplementedError):  # the engine's arithmetic has no such choice
        return None
    return not _same(there.row_after, here.row_after)


Number = TypeVar("Number", int, float)


def read_numbers(text: str, kind: Callable[[str], Number]) -> list[Number]:
    """Return numbers that are separated by commas. Raises `ValueError`.

    >>> read_numbers("1, -inf,2.5", float)
    [1.0, -inf, 2.5]
    >>> read_numbers("1_0", int)
    Traceback (most recent call last):
    ValueError: numbers must be written in ASCII and without underscores, got '1_0'
    """
    if not text.isascii() or "_" in text:  # Python would read these
        rule = "numbers must be written in ASCII and without underscores"
        raise ValueError(f"{rule}, got {text!r:.40}")
    return [kind(number) for number in text.split(",")]


def read_row(text: str, name: str = "LOGITS") -> list[float]:
    """Return a typed row, or that of a file. Raises `InputError`, which calls the row by `name`."""
    try:
        return read_numbers(text.strip("[]"), float)
    except ValueError:
        pass
    path, where = Path(text), "standard input" if text == "-" else text
    if text == "-":
        content = text_of(standard_input().read(LARGEST + 1), where)
    elif path.is_file():
        content = text_of(read_bytes(path), where)
    else:
        raise InputError(f"{name} must be numbers separated by commas, or a file, got {text!r}")
    rule = "must contain a JSON list of numbers"
    try:
        numbers = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} {rule}: {error}") from None
    if not isinstance(numbers, list):
        raise InputError(f"{where} {rule}, got {json.dumps(numbers):.60}")
    return [
        _logit(number, f"{where} {rule}, but its item {at}") for at, number in enumerate(numbers)
    ]


def _logit(number: object, what: str) -> float:
    """Return a number of a JSON list; null and "-inf" are minus infinity. Raises `InputError`."""
    if number is None or number == "-inf":
        return float("-inf")
    if not isinstance(number, int | float) or isinstance(number, bool):
        raise InputError(f'{what} must be a number, null or "-inf", got {json.dumps(number):.60}')
    try:
        return float(number)
    except OverflowError:
        raise InputError(f"{what} is too large for a float") from None


def _read_tokens(text: str) -> list[int]:
    try:
        return read_numbers(text.strip(" ,"), int) if text.strip(" ,") else []
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
