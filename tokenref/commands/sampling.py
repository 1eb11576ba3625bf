"""`tokenref profiles` and `sample`: what engines do with a row of logits."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import click

from tokenref.commands.endings import standard_input
from tokenref.commands.paths import Decorator, options_as
from tokenref.errors import InputError
from tokenref.files import LARGEST, read_bytes, text_of

if TYPE_CHECKING:
    from sampling_ref import Profile
    from sampling_ref.engines.profile import Draw, Parameter, Stage
    from sampling_ref.evaluation import Evaluation, Run
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
    called: str = "LOGITS"
    """What help calls the row."""

    @cached_property
    def row(self) -> list[float]:
        """The row. Standard input is read only once."""
        return read_row(self.logits, self.called)


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
    if token is None:
        seeded = " or --seed 1" if made.profile.draw.own_stream else ""
        why = f"no random number was given: add --uniform 0.5{seeded}"
        click.echo(f"tokenref: no token was chosen, because {why}", err=True)
    else:
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

SORTED: Final = "sorted before"
RULES: Final = ("ties", "base", "boundary", "walked", "equality", "cut")


def rules_of(applied: "Applied", stage: "Stage") -> "dict[str, Any]":
    """Return the choices of a filter that decide about ties and boundaries."""
    rules = {name: applied.values[name] for name in RULES if name in applied.values}
    if "ties" in rules:
        rules["ties"] = _ties_in_words(stage, rules["ties"], tied_at_the_border(applied))
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


def tied_at_the_border(applied: "Applied") -> str:
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
    from sampling_ref import ParameterError
    from sampling_ref.evaluation import read_profile

    records = [_with_chain(read_profile(name), (chains or {}).get(name)) for name in engines]
    found = []
    for record, params in zip(records, _settings_of(records, asked.settings), strict=True):
        try:
            found.append(_compared(record, params, asked, races))
        except ParameterError as error:
            if len(records) == 1:
                raise
            rule = error.requirement
            takers = [each.name for each in records if error.name in each.by_name]
            for name in takers:
                if name != record.name and record.name in takers:
                    rule += f" (--set {name}:{error.name}=... sets it for {name} alone)"
            raise ParameterError(f"{record.name}: {error.name}", error.value, rule) from None
    return found


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
    used = fresh(made)
    with _what_to_type(evaluated, asked.uniforms):
        run = used.run()
        draws = asked.uniforms and (races or run.draw.method not in RACES)
        drawn = used.draw(run) if draws or made.is_greedy else None
    return made, run, drawn


def _settings_of(
    records: "Sequence[Profile]", settings: Sequence[str]
) -> "Sequence[dict[str, Any]]":
    """Return the parameters of each engine; what is set for one engine replaces what is for all.

    Raises an error for a name that none has, and for one that is set twice.
    """
    from sampling_ref import UnknownNameError

    found: list[dict[str, Any]] = [{} for _ in records]
    typed = [setting.partition("=")[0].strip() for setting in settings]
    for name in typed:
        if typed.count(name) > 1:
            raise InputError(
                f"--set must be given once for {name}, got it {typed.count(name)} times"
            )
    for setting in sorted(settings, key=lambda setting: ":" in setting.partition("=")[0]):
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


def fresh(made: "Evaluation", **changed: Any) -> "Evaluation":
    """Return an engine that has taken none of its random numbers yet."""
    situation = replace(made.situation, randomness=copy(made.situation.randomness))
    return replace(made, situation=situation, **changed)


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
        has = f"got {text!r}" if "," in text else f"but there is no file {text!r}"
        raise InputError(f"{name} must be numbers separated by commas, or a file, {has}")
    rule = "must contain a JSON list of numbers"
    try:
        numbers = json.loads(content)
    except (ValueError, RecursionError) as error:
        is_json = content.lstrip().startswith(("[", "{"))
        wrong = f": {error}" if is_json else f" such as [1, 2.5, null], got {content.strip()!r:.60}"
        raise InputError(f"{where} {rule}{wrong}") from None
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
