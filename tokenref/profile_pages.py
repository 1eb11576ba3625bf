"""What engines do, from their records: side by side in one page, or one engine in a terminal."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from sampling_ref import PROFILES, STEPS, Profile
from sampling_ref.engines.profile import Draw, Parameter, Stage

PAGE: Final = "docs/engines.md"

BEGINNING: Final = """\
# How engines sample

Every engine here is a record in `sampling_ref/engines`: frozen data, with the place in
the engine's source from which each line was taken. This page is written from these records
by `tokenref profiles --page`; nothing in it is written by hand.

A step has one name on this page, whatever the engine calls it. `sampling_ref.step`,
`distribution`, `sample` and `Sampler` apply the records; parameters carry the engine's own
names there.
"""

OPEN_POINTS: Final = """\
What a step leaves open, and what each engine does. Every choice is listed, including those
that are the step's default (see the names of the steps, below).
"""

CLOSED_LIST: Final = """\
This list is closed. A chain of one's own (`sampling_ref.chain`) takes these steps with the
parameters and choices named here.
"""


def page(profiles: Mapping[str, Profile] = PROFILES) -> str:
    """Return the page that shows all profiles side by side."""
    records = list(profiles.values())
    parts = [
        BEGINNING,
        _heading("What was read"),
        _table(
            ("profile", "engine", "repository", "version"),
            [(f"`{one.name}`", one.title, one.repository, one.version) for one in records],
        ),
        _heading("The order of the steps"),
        _table(
            ("profile", "steps, first to last", "draw"),
            [(f"`{one.name}`", _order(one), _draw_in_words(one.draw)) for one in records],
        ),
        _heading("When an engine draws nothing"),
        _table(
            ("profile", "greedy if", "of equals it takes", "steps that it applies still"),
            [
                (
                    f"`{one.name}`",
                    one.greedy.in_words(),
                    one.greedy.ties,
                    ", ".join(one.greedy.after) or "none",
                )
                for one in records
                if one.greedy.if_any
            ],
        ),
        _heading("Which log-probabilities are reported"),
        _table(
            ("profile", "name, the default first", "of the logits after", "source"),
            [
                (
                    f"`{one.name}`",
                    way.name,
                    way.after if isinstance(way.after, str) else ", ".join(way.after),
                    way.source,
                )
                for one in records
                for way in one.logprobs
            ],
        ),
        _heading("The same step in different engines"),
        OPEN_POINTS,
        *(_step_section(name, records) for name in STEPS),
        _heading("Parameters"),
        *(_parameter_section(one) for one in records),
        _heading("The names of the steps"),
        CLOSED_LIST,
        _table(
            ("step", "parameters", "choices, the default first", "what it does"),
            [
                (
                    f"`{step.name}`",
                    ", ".join(f"`{name}`" for name in step.parameters) or "none",
                    _choices(step.choices) or "none",
                    step.why.replace("{", "").replace("}", ""),
                )
                for step in STEPS.values()
            ],
        ),
    ]
    return "\n".join(parts)


def one_profile(profile: Profile) -> str:
    """Return one profile as text for a terminal."""
    lines = [
        f"{profile.title}: {profile.version}",
        profile.repository,
        "",
        "parameters",
        *(f"  {_parameter_line(parameter)}" for parameter in profile.parameters),
        "",
        "stages, in order",
        *(line for stage in profile.stages for line in _stage_lines(stage)),
        "",
        f"greedy: {profile.greedy.in_words()}; of equals: {profile.greedy.ties}",
        f"draw: {_draw_in_words(profile.draw)}",
        *(f"note: {note}" for note in profile.notes),
    ]
    return "\n".join(lines)


def _parameter_line(parameter: Parameter) -> str:
    other = f" (also {', '.join(parameter.aliases)})" if parameter.aliases else ""
    return f"{parameter.name} = {_default(parameter)}{other}: {parameter.domain}"


def _default(parameter: Parameter) -> str:
    is_mapping = isinstance(parameter.default, Mapping)
    return repr(dict(parameter.default) if is_mapping else parameter.default)


def _stage_lines(stage: Stage) -> Iterable[str]:
    takes = ", ".join(f"{ours}={theirs}" for ours, theirs in stage.takes.items())
    yield f"  {stage.step}({takes})"
    for label, text in (
        ("choices", _choices({name: (value,) for name, value in stage.choices.items()})),
        ("sorted before", "" if stage.order == "as they stand" else stage.order),
        ("off if", stage.off_in_words()),
        ("note", stage.note),
        ("source", stage.source),
    ):
        if text:
            yield f"      {label}: {text}"


def _order(profile: Profile) -> str:
    steps: list[str] = []
    for stage in profile.stages:
        if not steps or steps[-1] != stage.step:
            steps.append(stage.step)
    return " → ".join(steps)


def _draw_in_words(draw: Draw) -> str:
    words: list[str] = [draw.method]
    if draw.method in {"Gumbel-max", "exponential race"}:
        words.append(f"noise from {draw.noise}")
    else:
        words.append(f"in the order: {draw.order}")
        words.append("the running sum must " + ("exceed" if draw.boundary == "exceed" else "reach"))
    if draw.uniform:
        words.append(f"uniform number: {draw.uniform}")
    return ", ".join(words)


def _step_section(name: str, profiles: Sequence[Profile]) -> str:
    rows = [
        (
            f"`{profile.name}`",
            ", ".join(f"{ours}: `{theirs}`" for ours, theirs in stage.takes.items()) or "none",
            _choices({key: (value,) for key, value in stage.choices.items()}) or "none",
            stage.off_in_words() or "never",
            " ".join(part for part in (stage.note, stage.source) if part),
        )
        for profile in profiles
        for stage in profile.stages
        if stage.step == name
    ]
    if not rows:
        return ""
    columns = ("profile", "parameters", "choices", "left out if", "note and source")
    return f"### `{name}`\n\n{_table(columns, rows)}"


def _parameter_section(profile: Profile) -> str:
    rows = [
        (
            f"`{parameter.name}`",
            ", ".join(f"`{alias}`" for alias in parameter.aliases) or "none",
            f"`{_default(parameter)}`",
            str(parameter.domain),
            parameter.width,
            " ".join(part for part in (parameter.engine_rule, parameter.source) if part),
        )
        for parameter in profile.parameters
    ]
    columns = (
        "parameter",
        "also",
        "default",
        "rule here",
        "held as",
        "the engine's own rule, source",
    )
    notes = "".join(f"\n{note}\n" for note in profile.notes)
    return f"### {profile.title}\n\n{_table(columns, rows)}{notes}"


def _choices(choices: Mapping[str, Sequence[Any]]) -> str:
    return "; ".join(f"{name}: {', '.join(map(str, values))}" for name, values in choices.items())


def _heading(text: str) -> str:
    return f"\n## {text}\n"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(columns) + " |", "| " + " | ".join("---" for _ in columns) + " |"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"
