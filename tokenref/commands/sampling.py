"""`tokenref profiles`, `sample` and `compare`: what engines do with a row of logits."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Any, Final, TypeVar

import click

from bpe_ref.registry import MODELS, REGISTRY
from sampling_ref import (
    PROFILES,
    HistoryError,
    ParameterError,
    Profile,
    RandomNumberError,
    RowError,
    UnknownNameError,
    comparing,
)
from sampling_ref.causes import Compared
from sampling_ref.comparing import SHOWN, apply_engines, parameters_of
from sampling_ref.engines.draws import walk
from sampling_ref.engines.profile import Parameter, Stage
from sampling_ref.evaluation import Evaluation, Run, evaluation, read_profile
from sampling_ref.random.sources import Counted
from sampling_ref.tracing import (
    RACES,
    Applied,
    Share,
    deciding_walk,
    draw_in_words,
    first_looked_at,
    rules_of,
    running_shares,
    shortly,
    surprises,
    ties_in_words,
)
from tokenref.commands.paths import Decorator, options_as, say
from tokenref.commands.text import Source
from tokenref.errors import InputError


@click.command()
@click.argument("name", required=False)
def profiles(name: str | None) -> None:
    """List the sampling engines, or show the profile of one."""
    if name is not None:
        click.echo(_profile_in_words(read_profile(name)))
        return
    for profile in PROFILES.values():
        click.echo(f"{profile.name:14} {profile.title}, {profile.version}")


def _profile_in_words(profile: Profile) -> str:
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


def _parameter_line(parameter: Parameter, profile: Profile) -> str:
    aliases = ", ".join(profile.aliases_of(parameter.name))
    other = f" (also {aliases})" if aliases else ""
    return f"{parameter.name} = {default_in_words(parameter)}{other}: {parameter.domain}"


def default_in_words(parameter: Parameter) -> str:
    """Return the default as Python writes it."""
    is_mapping = isinstance(parameter.default, Mapping)
    return repr(dict(parameter.default) if is_mapping else parameter.default)


def _stage_lines(stage: Stage) -> Iterable[str]:
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


def choices_in_words(choices: Mapping[str, Sequence[Any]]) -> str:
    """Return choices and their values, separated by semicolons."""
    return "; ".join(f"{name}: {', '.join(map(str, values))}" for name, values in choices.items())


def stage_choices_in_words(stage: Stage) -> str:
    """Return the choices of a stage; where a sort decides between equal tokens, that it does.

    >>> from sampling_ref import PROFILES
    >>> stages = {stage.step: stage for stage in PROFILES["llama.cpp"].stages}
    >>> stage_choices_in_words(stages["top_k"])
    'ties: the first after its sort (libstdc++); zero: error; beyond: all; least: 1'
    """
    choices = {name: (value,) for name, value in stage.choices.items()}
    if "ties" in choices:
        choices["ties"] = (ties_in_words(stage, stage.choices["ties"]),)
    return choices_in_words(choices)


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


def _uniforms(_: click.Context, __: click.Parameter, typed: Sequence[str]) -> Sequence[float]:
    """Return the numbers of all options --uniform. Raises `InputError`."""
    return [number for each in typed for number in read_row(each, "--uniform")]


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
            callback=_uniforms,
            help="Random numbers in [0, 1), separated by commas, or a file with a JSON list; may "
            "be repeated. The steps take theirs first, then the draw.",
        ),
        precision=click.option(
            "--precision",
            type=click.Choice(["exact", "f32"]),
            default="exact",
            show_default=True,
            help="Exact real numbers, or every operation rounded to 32 bits.",
        ),
    )


SEED: Final = click.option(
    "--seed",
    type=int,
    help="Take random numbers from the engine's own generator with this seed, for llama.cpp and "
    "transformers.",
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
@SEED
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
    asked = _seeded([profile], asked, seed)
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
        with _as_typed([made.profile], asked) as given:
            say(f"to draw a token, too, {_numbers_to_type([made.profile], given)}")
    else:
        click.echo(f"\ndrawn: {token}")
        if learned := next_mu_in_words(Compared(made, run, token)):
            click.echo(learned)


@click.command(cls=RowCommand)
@click.argument("one", metavar="ENGINE")
@click.argument("other", metavar="ENGINE")
@asked_options(
    "ROW",
    "[ENGINE:]NAME=VALUE",
    "Set a parameter of each engine that has it, or of one engine; may be repeated.",
)
@SEED
@click.option("--all", "every", is_flag=True, help="Show every difference, not only the first.")
@click.option("--json", "as_json", is_flag=True, help="Print every difference as JSON.")
def compare(
    one: str, other: str, asked: Asked, seed: int | None, *, every: bool, as_json: bool
) -> None:
    """Show where and why two engines part on a row.

    ROW is as for `tokenref sample`. For the first stage that causes the rows to differ, the choices
    and parameters that differ are printed, with the source of each engine. Parameters that are
    not set have the defaults of their engine. `sampling_ref.compare` does the same in Python.
    The exit code is 1 if rows or drawn tokens differ, or if only one engine is greedy; rows that
    differ by rounding alone count as the same.
    """
    from tokenref.fetching import packaged_files

    for name in (one, other):
        if name in {"tiny", *REGISTRY, *MODELS, *packaged_files()} or Path(name).is_file():
            raise InputError(
                f"{name} is a vocabulary, but compare is about samplers; this is for vocabularies: "
                f"tokenref vocabulary compare {quote(one)} {quote(other)}"
            )
    asked = _seeded([one, other], replace(asked, called="ROW"), seed)
    with _as_typed([read_profile(one), read_profile(other)], asked) as given:
        params = given.pop("params")
        found = comparing.compare(one, other, **given, **params)
    more = len(found.differences) - 1
    draw_alike = len({each.made.is_greedy for each in found.engines}) == 1
    for line in [json.dumps(found.as_dict())] if as_json else found.lines(every=every):
        click.echo(line)
    if more > 0 and draw_alike and not (every or as_json):
        click.echo(f"{more} more difference{'s' * (more > 1)}: see --all")
    tokens = {each.token for each in found.engines}
    click.get_current_context().exit(int(more >= 0 or not draw_alike or len(tokens) > 1))


def _seeded(engines: Sequence[str], asked: Asked, seed: int | None) -> Asked:
    """Return what is asked, with the seed. Raise an error unless all engines can use one."""
    if seed is not None and asked.uniforms:
        raise click.UsageError("give at most one of --seed and --uniform")
    known = [each.name for each in PROFILES.values() if each.draw.own_stream]
    for name in engines:
        if seed is not None and read_profile(name).name not in known:
            raise InputError(
                f"--seed works for {' and '.join(known)}, whose generators are known here, not for "
                f"{name}: give --uniform"
            )
    return replace(asked, seed=seed)


def _sample_lines(
    made: Evaluation, run: Run, shares: Sequence[float], uniforms: Sequence[float]
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
def _as_typed(records: Sequence[Profile], asked: Asked) -> Iterator[dict[str, Any]]:
    """Yield the arguments of `compare`. Errors within this context name what was typed."""
    tokens = read_tokens(asked.history)
    if asked.prompt_length > len(tokens):
        rule = f"must be at most the number of tokens of --history, {len(tokens)}"
        raise InputError(f"--prompt-length {rule}, got {asked.prompt_length}")
    params, own = _settings_of(records, asked.settings)
    parameters_of(records, params, own)  # so that no argument below is taken for a parameter
    given = {
        "logits": asked.row,
        "history": tokens,
        "prompt_length": asked.prompt_length,
        "uniforms": asked.uniforms,
        "seed": asked.seed,
        "precision": asked.precision,
        "params": params,
        "own": own,
    }
    try:
        yield dict(given)
    except ParameterError as error:
        engine, _, name = error.name.rpartition(": ")
        rule = error.requirement + _hints(records, engine, name, error.value)
        typed = _typed(f"{error.name} ", asked).rstrip()
        raise ParameterError(typed, error.value, rule) from None
    except (HistoryError, RowError) as error:
        raise InputError(_typed(str(error), asked)) from None
    except RandomNumberError as error:
        sentence = _typed(str(error), asked)
        if sentence == str(error):
            why = sentence.partition(": give ")[0].replace("uniforms has", "--uniform has")
            sentence = f"{why}: {_numbers_to_type(records, given)}"
        raise InputError(sentence) from None


def _hints(records: Sequence[Profile], engine: str, name: str, value: object) -> str:
    """Return what can be typed instead, if a value is refused by one of several engines."""
    for each in records if name == "temperature" and value == 0 else ():
        flag = re.fullmatch(r"(\w+) == False", each.greedy.condition)
        if flag and engine in {"", each.name}:
            return f" (--set {flag[1]}=false takes the largest logit)"
    others = [each.name for each in records if each.name != engine and name in each.by_name]
    hints = [f" (--set {each}:{name}=... sets it for {each} alone)" for each in others]
    return "".join(hints if engine else [])


def _typed(sentence: str, asked: Asked) -> str:
    """Return an error about an argument in Python as one about what was typed.

    >>> _typed("history[2] must be a token id below 2, got 3", Asked("1,2"))
    'item 2 (counted from 0) of --history must be a token id below 2, got 3'
    """
    names = {"history": "--history", "logits": asked.called, "uniforms": "--uniform"}
    names["seed"] = "--seed"
    found = re.match(rf"((?:\S+: )?)({'|'.join(names)})(?:\[(\d+)\])? ", sentence)
    if found is None:
        return sentence
    engine, name, place = found.groups()
    item = "" if place is None else f"item {place} (counted from 0) of "
    return f"{engine}{item}{names[name]} {sentence[found.end() :]}"


def _numbers_to_type(records: Sequence[Profile], given: Mapping[str, Any]) -> str:
    """Return which options to add where random numbers are missing."""
    needed = 0
    for record, params in zip(
        records, parameters_of(records, given["params"], given["own"]), strict=True
    ):
        counted = Counted()
        about = given["logits"], given["history"], params, given["prompt_length"]
        made = evaluation(record, *about, counted, None, given["precision"])
        made.draw(made.run())
        needed = max(needed, counted.taken())
    missing = needed - len(given["uniforms"])
    typed = f"--uniform {','.join(['0.5'] * missing)}, or other"
    if missing > _MOST_TYPED:
        typed = f"--uniform FILE, with a JSON list of {missing:,}"
    seeded = "; `tokenref sample` also takes --seed 1"
    is_seeded = all(record.draw.own_stream for record in records)
    return f"add {typed} numbers in [0, 1){seeded * is_seeded}"


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


def _deciding_lines(made: Evaluation, applied: Applied, stage: Stage) -> Iterable[str]:
    """Yield the probabilities that decide a filter, and its rules for ties and boundaries.

    Where surprises decide, they are added, and what they are compared with.
    """
    rules = rules_of(applied, stage)
    is_mirostat = applied.step.startswith("mirostat")
    if not (rules or is_mirostat) or applied.changed or not applied.kept:
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
    measure, value, surprise = surprises(applied, shares)

    def fate(token: int) -> str:
        if not measure:
            return "removed" if token in removed else "kept"
        away = "" if is_mirostat else f", {abs(surprise[token] - value):g} from the entropy"
        return f"{'removed' if token in removed else 'kept':7}  surprise {surprise[token]:g}{away}"

    yield from _share_lines(sums, border, order, fate, beside)
    if measure:
        yield f"  {measure}: {value:g} {'bits' if is_mirostat else 'nats'}"
    if rules.get("base") == "the whole row" and before.whole is not None:
        yield "  p is a share of the whole row before all filters, not of these probabilities"
    if is_mirostat:
        return
    yield f"  ties: {rules.get('ties', 'cannot decide')}"
    name = next((name for name in ("boundary", "equality", "cut") if name in rules), None)
    chosen = str(rules["walked" if upwards else name]) if name else ""
    boundary = WORDS.get(chosen, f"{name} {chosen}") if name else "none, a number of tokens is kept"
    yield f"  boundary: {boundary}"


def _share_lines(
    sums: Sequence[Share],
    border: int,
    order: str,
    fate: Callable[[int], str],
    beside: Sequence[float],
) -> Iterable[str]:
    """Yield a line for each token near the border, with its probability and the running sum."""
    first = 0 if border <= SHOWN else border - SHOWN // 2
    last = max(first + SHOWN, border + 2)
    near = sums[first:last]
    shares = _in_digits([each.share for each in near], beside)
    totals = _in_digits([each.total for each in near], beside)
    wide = max(map(len, ["probability", *shares, *totals]))
    yield f"  {'token':>8}  {'probability':<{wide}}  {'running sum':<{wide}}  {order}"
    if first:
        yield f"  {'...':>8}"
    for each, share, total in zip(near, shares, totals, strict=True):
        line = f"  {each.token:>8}  {share:<{wide}}  {total:<{wide}}  {fate(each.token)}"
        yield line.rstrip()
    if len(sums) > last:
        yield f"  {'...':>8}"


def next_mu_in_words(engine: Compared) -> str:
    """Return how mirostat learns from the drawn token; nothing without mirostat or a token."""
    made, run, token = engine
    applied = next((each for each in run.applied if each.step.startswith("mirostat")), None)
    if applied is None or applied.rule.remember is None:
        return ""
    if token is None or token not in applied.after.tokens:  # 32 bits may have kept another
        return ""
    is_kept = applied.values["whose"] == "kept"
    among = applied.after if is_kept else applied.before
    surprise = made.situation.numbers.of(among).surprise(list(among.tokens).index(token))
    about = applied.before, applied.after, made.situation, applied.values
    after = applied.rule.remember(*about, token)["mu"]
    tau, eta = applied.values["tau"], applied.values["eta"]
    becomes = f"{shortly(2 * tau)} - {shortly(eta)} * ({surprise:g} - {shortly(tau)}) = {after:g}"
    its = "its surprise among the kept tokens" if is_kept else "its surprise"
    return f"{its} is {surprise:g} bits, so mu becomes {becomes}"


def _draw_lines(made: Evaluation, run: Run, uniforms: Sequence[float]) -> Iterable[str]:
    """Yield how a token is drawn: the running sums, or what else decides."""
    if made.is_greedy:
        yield f"\ndraw: greedy, the largest logit; of equals: {made.profile.greedy.ties}"
        return
    yield f"\ndraw: {draw_in_words(run.draw)}"
    if run.draw.method in RACES:
        return
    shares = made.situation.numbers.law(run.candidates)
    tokens = [run.candidates.tokens[place] for place in walk(run.candidates, run.draw.order)]
    sums = running_shares(run.candidates.tokens, shares, tokens)
    yield from _share_lines(sums, 0, "in the order of the draw", lambda _: "", uniforms)


def compared_engines(
    engines: Sequence[str],
    asked: Asked,
    chains: Mapping[str, Sequence[int]] | None = None,
    *,
    races: bool = True,
) -> list[Compared]:
    """Return what each engine does with a row, and the token that it draws.

    `chains` has the stages of an engine that are applied, as indices into its own, in order.
    Without `races`, an engine that needs a random number for each token draws none.
    """
    records = [_with_chain(read_profile(name), (chains or {}).get(name)) for name in engines]
    with _as_typed(records, asked) as given:
        return apply_engines(records, **given, races=races)


def notes_about(engines: Sequence[str], settings: Sequence[str]) -> list[str]:
    """Return a sentence about each parameter that was set for one of two engines only.

    >>> notes_about(["vllm", "llama.cpp"], ["temp=1"])
    ['temp was set for llama.cpp only; vllm calls it temperature']
    """
    records = [read_profile(name) for name in engines]
    return list(comparing.set_for_one(records, *_settings_of(records, settings)))


def _with_chain(record: Profile, chain: Sequence[int] | None) -> Profile:
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


def _settings_of(
    records: Sequence[Profile], settings: Sequence[str]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the parameters that are set for all engines, and those of one engine by its name.

    Raises an error for an engine that is not asked, and for a parameter that is set twice.
    """
    params: dict[str, Any] = {}
    own: dict[str, dict[str, Any]] = {}
    typed = [setting.partition("=")[0].strip() for setting in settings]
    for name, setting in zip(typed, settings, strict=True):
        engine, colon, rest = name.rpartition(":")
        if (times := typed.count(name)) > 1:
            raise InputError(f"--set must be given once for {name}, got it {times} times")
        if "=" not in setting:
            raise InputError(f"--set must be NAME=VALUE, got {setting!r}")
        if colon and engine not in {record.name for record in records}:
            raise UnknownNameError("engine in --set", engine, [record.name for record in records])
        if rest in _OPTIONS and not any(rest in record.by_name for record in records):
            raise InputError(f"--set must name a parameter of an engine, got {rest}: use --{rest}")
        value = _read_value(setting.partition("=")[2])
        (own.setdefault(engine, {}) if colon else params)[rest.strip()] = value
    return params, own


_OPTIONS: Final = ("history", "precision", "seed", "uniform")
"""Options that are easily taken for parameters."""

Number = TypeVar("Number", int, float)


def read_numbers(text: str, kind: Callable[[str], Number]) -> list[Number]:
    """Return numbers that are separated by commas or spaces. Raises `ValueError`.

    >>> read_numbers("1, -inf,2.5 3", float)
    [1.0, -inf, 2.5, 3.0]
    >>> read_numbers("1_0", int)
    Traceback (most recent call last):
    ValueError: numbers must be written in ASCII and without underscores, got '1_0'
    """
    if not text.isascii() or "_" in text:  # Python would read these
        rule = "numbers must be written in ASCII and without underscores"
        raise ValueError(f"{rule}, got {text!r:.40}")
    return [kind(number) for number in re.split(r" *, *| +", text.strip())]


def read_row(text: str, name: str = "LOGITS") -> list[float]:
    """Return a typed row, or that of a file. Raises `InputError`, which calls the row by `name`."""
    try:
        return read_numbers(text.strip("[]"), float)
    except ValueError:
        pass
    where = "standard input" if text == "-" else text
    if text != "-" and not Path(text).is_file():
        has = f"got {text!r}" if "," in text else f"but there is no file {text!r}"
        raise InputError(f"{name} must be numbers separated by commas, or a file, {has}")
    content = Source(path=None if text == "-" else Path(text)).text()
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


def read_tokens(text: str, name: str = "--history") -> list[int]:
    """Return typed token ids. Raises `InputError`, which calls them by `name`."""
    try:
        return read_numbers(text.strip(" ,[]"), int) if text.strip(" ,[]") else []
    except ValueError:
        rule = "must be token ids separated by commas"
        raise InputError(f"{name} {rule}, got {text!r:.40}") from None


def _read_value(value: str) -> Any:
    """Return the value of a parameter, which is JSON; otherwise a number, such as .5, or text."""
    try:
        read = json.loads(value)
    except ValueError:
        try:
            return float(value)
        except ValueError:
            return value
    if isinstance(read, dict):
        return {int(key) if key.isdecimal() else key: each for key, each in read.items()}
    return read
