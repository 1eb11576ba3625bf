"""`tokenref profiles` and `tokenref sample`: what engines do with a row of logits."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tokenref.commands.paths import InputError

if TYPE_CHECKING:
    from sampling_ref import Profile
    from sampling_ref.engines.draws import Draw
    from sampling_ref.engines.profile import Parameter, Stage

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


@click.command(context_settings={"ignore_unknown_options": True})  # a first logit may be negative
@click.argument("profile", metavar="PROFILE")
@click.argument("logits", metavar="LOGITS")
@click.option("--history", default="", help="Token ids so far, oldest first: 1,2,3.")
@click.option(
    "--prompt-length",
    default=0,
    show_default=True,
    help="How many tokens of the history are the prompt.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a parameter; may be repeated.",
)
@click.option(
    "--uniform",
    "uniforms",
    multiple=True,
    type=float,
    help="A random number in [0, 1); may be repeated.",
)
@click.option("--seed", type=int, help="Draw with the engine's own generator, from this seed.")
@click.option(
    "--precision",
    type=click.Choice(["exact", "f32"]),
    default="exact",
    show_default=True,
    help="Exact real numbers, or every operation rounded to 32 bits.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the probabilities and the token as JSON."
)
def sample(
    profile: str,
    logits: str,
    history: str,
    prompt_length: int,
    settings: tuple[str, ...],
    uniforms: tuple[float, ...],
    seed: int | None,
    precision: str,
    *,
    as_json: bool,
) -> None:
    """Show step by step what an engine does with a row of logits.

    LOGITS are numbers separated by commas, or a file that contains a JSON list. Use `-inf`
    (in JSON, "-inf" or null) for an impossible token. Parameters have the engine's own names
    (see `tokenref profiles PROFILE`), and their values are JSON: --set top_p=0.9.
    """
    from sampling_ref import Sampler
    from sampling_ref.evaluation import evaluation, read_profile

    record = read_profile(profile)
    row = _read_row(logits)
    tokens = _read_tokens(history)
    params = dict(_read_setting(setting, record) for setting in settings)
    evaluated = evaluation(
        record,
        row,
        tokens,
        params,
        prompt_length=prompt_length,
        uniforms=uniforms,
        precision=precision,
    )
    run = evaluated.run()
    shares = evaluated.probabilities(run.candidates)
    token = None
    if seed is not None:
        token = Sampler(profile, seed, tokens, **params).sample(row)
    elif uniforms or evaluated.is_greedy:
        token = evaluated.draw(run)
    if as_json:
        click.echo(json.dumps({"probabilities": shares, "token": token}))
        return
    click.echo(str(run.trace))
    likeliest = sorted(range(len(shares)), key=shares.__getitem__, reverse=True)[:SHOWN]
    click.echo("\nprobabilities")
    for likely in likeliest:
        if shares[likely]:
            click.echo(f"  {likely:>8}  {shares[likely]!r}")
    if token is not None:
        click.echo(f"\ndrawn: {token}")


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
        read = value
    if isinstance(read, dict):
        read = {int(token): number for token, number in read.items() if token.isdigit()}
    return parameter.name, read
